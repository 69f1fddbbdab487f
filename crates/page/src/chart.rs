//! Draws lines over two axes. Each line is labelled where it ends.

use crate::number::{drawable, px, short, tick};
use crate::scale::{Kind, Scale};
use crate::svg::{Canvas, Marker, width};
use crate::{Figure, Interval};

/// A line of this many points or more is drawn without markers.
const MANY: usize = 60;

/// The place of a chart in its picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Area {
    /// The area of a picture without a header and a margin. It leaves room for the axes, and for
    /// labels at the right.
    pub(crate) fn within(canvas: &Canvas, above: f64, margin: f64) -> Self {
        let labels = if narrow(canvas.width) { 92.0 } else { 142.0 };
        Self {
            left: margin + 46.0,
            right: canvas.width - margin - labels,
            top: above + 30.0,
            bottom: canvas.height - margin - 40.0,
        }
    }
}

/// Whether a picture is for a small screen.
pub(crate) fn narrow(width: f64) -> bool {
    width < 500.0
}

/// A line: its points in order, its name and its looks.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) class: &'static str,
    pub(crate) marker: Marker,
    /// The points: x, and the lower and upper end of y.
    pub(crate) points: Vec<(f64, f64, f64)>,
    /// How the upper ends are rounded.
    figure: fn(f64) -> Figure,
    /// The text at the end of the line, if it is not the value there.
    said: Option<String>,
    /// Whether the line has no label at its end.
    is_quiet: bool,
}

impl Series {
    /// A line with a name and a style class. It is interrupted where a value is missing.
    pub(crate) fn new(
        (name, class): (&str, &'static str),
        marker: Marker,
        points: impl Iterator<Item = (f64, Option<Interval>)>,
        figure: fn(f64) -> Figure,
    ) -> Self {
        let missing = Interval::from(f64::NAN);
        let point = |(x, y): (f64, Option<Interval>)| (x, y.unwrap_or(missing));
        let points: Vec<_> = points.map(point).map(|(x, y)| (x, y.lower, y.upper)).collect();
        Self { name: name.to_owned(), class, marker, points, figure, said: None, is_quiet: false }
    }

    /// The same line with other words at its end.
    pub(crate) fn saying(self, words: String) -> Self {
        Self { said: Some(words), ..self }
    }

    /// The same line without a label at its end, because another line continues it.
    pub(crate) fn quiet(self) -> Self {
        Self { is_quiet: true, ..self }
    }

    /// The text at the end of the line.
    fn value(&self) -> String {
        let at_end = || self.visible().next_back().map(|point| self.told(point));
        self.said.clone().or_else(at_end).unwrap_or_default()
    }

    /// The upper end of a point. It is marked with ≤ if the lower end differs.
    fn told(&self, (_, lower, upper): (f64, f64, f64)) -> String {
        let upper_end = short((self.figure)(upper));
        if lower == upper { upper_end } else { format!("≤ {upper_end}") }
    }

    /// Whether there is anything to draw.
    pub(crate) fn is_visible(&self) -> bool {
        self.visible().next().is_some()
    }

    /// The points that can be drawn.
    fn visible(&self) -> impl DoubleEndedIterator<Item = (f64, f64, f64)> {
        let drawn = |p: &&(f64, f64, f64)| drawable(p.0) && drawable(p.1) && drawable(p.2);
        self.points.iter().filter(drawn).copied()
    }

    fn is_interval(&self) -> bool {
        self.visible().any(|(_, low, high)| low != high)
    }
}

/// All values of some series, for each of the two axes.
fn values(series: &[Series]) -> (Vec<f64>, Vec<f64>) {
    let visible = || series.iter().flat_map(Series::visible);
    (visible().map(|p| p.0).collect(), visible().flat_map(|p| [p.1, p.2]).collect())
}

/// Two axes and their place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chart {
    pub(crate) area: Area,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
}

impl Chart {
    /// Axes that hold all of the series, with a horizontal axis of this kind. If there is nothing
    /// to draw, the picture says so and there is no chart.
    pub(crate) fn of(canvas: &mut Canvas, series: &[Series], area: Area, x: Kind) -> Option<Self> {
        let (xs, ys) = values(series);
        if xs.is_empty() {
            canvas.text((area.left - 46.0, area.top), "soft", "There is nothing to draw.");
            return None;
        }
        let x = Scale::tight(x, &xs, (area.left, area.right));
        let y = Scale::fit(Kind::of(&ys), &ys, (area.bottom, area.top));
        Some(Self { area, x, y })
    }

    /// The pixels of a point, or `None` if the point has no place.
    pub(crate) fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.place(x)?, self.y.place(y)?))
    }

    /// Draws the grid, the ticks and the names of the axes.
    pub(crate) fn axes(&self, canvas: &mut Canvas, x_name: &str, y_name: &str) {
        let Area { left, right, top, bottom } = self.area;
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for (value, y) in self.y.ticks(((bottom - top) / 36.0) as usize) {
            let class = if value == 0.0 { "zero" } else { "grid" };
            canvas.line((left, y), (right, y), class);
            if claim(&mut rows, y, 13.0) {
                canvas.text((left - 8.0, y + 4.0), "small soft end", &tick(value));
            }
        }
        canvas.line((left, bottom), (right, bottom), "axis");
        for (value, x) in self.x.ticks(((right - left) / 40.0) as usize) {
            canvas.line((x, bottom), (x, bottom + 5.0), "axis");
            let text = tick(value);
            if claim(&mut columns, x, width(&text, 11.0) + 8.0) {
                canvas.text((x, bottom + 18.0), "small soft middle", &text);
            }
        }
        let names = [(top - 16.0, y_name, self.y.kind), (bottom + 36.0, x_name, self.x.kind)];
        for (y, name, kind) in names {
            canvas.text((left - 46.0, y), "small soft", &format!("{name}, {}", kind.words()));
        }
    }

    /// Draws the lines with their bands and points.
    pub(crate) fn lines(&self, canvas: &mut Canvas, series: &[Series]) {
        for one in series.iter().rev() {
            self.band(canvas, one);
            self.trace(canvas, one, "curve");
        }
        for one in series.iter().rev().filter(|one| one.points.len() < MANY) {
            self.markers(canvas, one);
        }
    }

    /// Draws the bands between the ends of intervals, each with an edge along its top.
    pub(crate) fn bands(&self, canvas: &mut Canvas, series: &[Series]) {
        for one in series.iter().rev() {
            self.band(canvas, one);
            self.trace(canvas, one, "edge");
        }
    }

    /// Draws steps instead of lines. Every value has two points, one at each end of its stretch.
    pub(crate) fn steps(&self, canvas: &mut Canvas, series: &[Series]) {
        for one in series.iter().rev() {
            self.trace(canvas, one, "curve step");
        }
    }

    /// Draws a path through the upper ends. It is interrupted where there is nothing to draw.
    fn trace(&self, canvas: &mut Canvas, series: &Series, class: &str) {
        let mut path = String::new();
        let mut pen = 'M';
        for &(x, _, y) in &series.points {
            let Some((x, y)) = self.place(x, y) else {
                pen = 'M';
                continue;
            };
            path += &format!("{pen}{} {}", px(x), px(y));
            pen = 'L';
        }
        if !path.is_empty() {
            canvas.path(&path, &format!("{class} {}", series.class));
        }
    }

    fn band(&self, canvas: &mut Canvas, series: &Series) {
        if !series.is_interval() {
            return;
        }
        let upper = series.visible().filter_map(|(x, _, high)| self.place(x, high));
        let lower = series.visible().rev().filter_map(|(x, low, _)| self.place(x, low));
        let corners: Vec<String> =
            upper.chain(lower).map(|(x, y)| format!("{} {}", px(x), px(y))).collect();
        if !corners.is_empty() {
            canvas.path(&format!("M{}Z", corners.join("L")), &format!("band {}", series.class));
        }
    }

    fn markers(&self, canvas: &mut Canvas, series: &Series) {
        for point in series.visible() {
            if let Some(at) = self.place(point.0, point.2) {
                let tip = format!("{} {} at {}", series.name, series.told(point), tick(point.0));
                canvas.marker(at, series.marker, series.class, &tip);
            }
        }
    }

    /// Writes the name and value of every line beside its end, and moves labels apart that would
    /// overlap.
    pub(crate) fn labels(&self, canvas: &mut Canvas, series: &[Series]) {
        let end = |one: &Series| one.visible().filter_map(|(x, _, y)| self.place(x, y)).next_back();
        let told = series.iter().filter(|one| !one.is_quiet);
        let mut ends: Vec<_> = told.filter_map(|one| Some((end(one)?, one))).collect();
        ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
        let gap = if narrow(canvas.width) { 30.0 } else { 17.0 };
        let wanted: Vec<f64> = ends.iter().map(|(at, _)| at.1).collect();
        let places = spread(&wanted, gap, (self.area.top - 6.0, self.area.bottom));
        for ((at, one), y) in ends.into_iter().zip(places) {
            let x = self.area.right + 12.0;
            canvas.line((at.0 + 5.0, at.1), (x - 3.0, y), "leader");
            label(canvas, (x, y), one);
        }
    }
}

fn label(canvas: &mut Canvas, (x, y): (f64, f64), series: &Series) {
    if !narrow(canvas.width) {
        return canvas.named((x, y + 4.0), series.class, &series.name, &series.value());
    }
    canvas.text((x, y), &format!("strong {}", series.class), &series.name);
    canvas.text((x, y + 13.0), "small", &series.value());
}

/// Reserves a place of some size around a middle. Returns whether it was free.
fn claim(taken: &mut Vec<(f64, f64)>, middle: f64, size: f64) -> bool {
    let (from, to) = (middle - size / 2.0, middle + size / 2.0);
    let free = taken.iter().all(|&(start, end)| to <= start || end <= from);
    if free {
        taken.push((from, to));
    }
    free
}

/// Places near the wanted ones, which must increase. They are at least a gap apart, and within the
/// limits if they fit.
fn spread(wanted: &[f64], gap: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let mut places = wanted.to_vec();
    let mut floor = low;
    for place in &mut places {
        *place = place.max(floor);
        floor = *place + gap;
    }
    let mut ceiling = high;
    for place in places.iter_mut().rev() {
        *place = place.min(ceiling);
        ceiling = *place - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_move_apart() {
        assert_eq!(spread(&[10.0, 50.0], 15.0, (0.0, 100.0)), [10.0, 50.0]);
        assert_eq!(spread(&[10.0, 12.0, 13.0], 15.0, (0.0, 100.0)), [10.0, 25.0, 40.0]);
        assert_eq!(spread(&[95.0, 99.0, 99.0], 15.0, (0.0, 100.0)), [70.0, 85.0, 100.0]);
        assert!(spread(&[], 15.0, (0.0, 100.0)).is_empty());
    }
}
