//! The windows of the stream, each judged alone. They show where the data changed.

use super::Section;
use crate::chart::{Area, Chart, Series, narrow};
use crate::number::{count, drawable, exact, exact_or_dash, short};
use crate::scale::Kind;
use crate::svg::{Canvas, Marker};
use crate::table::{Table, numbers};
use crate::{Figure, Interval, Page, Window};

const HEADING: &str = "Window by window";
const CAPTION: &str = "Every step is a stretch of the stream judged alone: its average loss, and \
    the certificate against the best predictor for just that stretch. Where the risk rises and \
    the certificate with it, a fixed predictor may have done better there, and the stream may \
    have drifted. Where the certificate stays low, the stretch was hard for all of them.";

pub(crate) fn figure(page: &Page) -> Option<Section> {
    let figure = Section { id: "windows", heading: HEADING, ..Section::default() };
    if page.windows.len() < 2 {
        let finding = "The stream was not cut into windows, so drift is not shown.".to_owned();
        return Some(Section { finding, ..figure });
    }
    let finding = finding(&page.windows);
    let figure = Section { finding, caption: CAPTION, numbers: table(&page.windows), ..figure };
    Some(figure.drawn(|width| draw(&page.windows, width)))
}

fn draw(windows: &[Window], width: f64) -> Canvas {
    let mut canvas = Canvas::new(width, if narrow(width) { 270.0 } else { 300.0 });
    let mut series = vec![
        steps(windows, "risk", Marker::Circle, Figure::measured, |w| Some(w.risk)),
        steps(windows, "certificate", Marker::Square, Figure::at_most, |w| w.certificate),
    ];
    series.retain(Series::is_visible);
    let area = Area::within(&canvas, 0.0, 0.0);
    let Some(chart) = Chart::of(&mut canvas, &series, area, Kind::Linear) else {
        return canvas;
    };
    chart.axes(&mut canvas, "rounds t", "per round");
    chart.steps(&mut canvas, &series);
    chart.labels(&mut canvas, &series);
    tips(&mut canvas, &chart, windows);
    canvas
}

/// Two points for every window, one at each end.
fn steps(
    windows: &[Window],
    name: &'static str,
    marker: Marker,
    figure: fn(f64) -> Figure,
    of: impl Fn(&Window) -> Option<f64>,
) -> Series {
    let value = |w: &Window| of(w).map(Interval::from);
    let points = windows.iter().flat_map(|w| ends(w).map(|t| (t, value(w))));
    Series::new((name, name), marker, points, figure)
}

/// The ends of a window. It begins after the last round of the window before it.
fn ends(window: &Window) -> [f64; 2] {
    [window.from.saturating_sub(1) as f64, window.to as f64]
}

/// Draws invisible columns whose tooltips have the numbers of their window.
fn tips(canvas: &mut Canvas, chart: &Chart, windows: &[Window]) {
    for window in windows {
        if let [Some(from), Some(to)] = ends(window).map(|t| chart.x.place(t)) {
            canvas.open(&tip(window));
            canvas.rect((from, chart.area.top), (to, chart.area.bottom), "hit");
            canvas.close();
        }
    }
}

fn tip(window: &Window) -> String {
    let risk = format!("rounds {}: risk {}", rounds(window), short(Figure::measured(window.risk)));
    match window.certificate {
        Some(certificate) => format!("{risk}, certificate {}", short(Figure::at_most(certificate))),
        None => risk,
    }
}

fn rounds(window: &Window) -> String {
    format!("{} to {}", count(window.from), count(window.to))
}

fn finding(windows: &[Window]) -> String {
    let by_risk = |a: &&Window, b: &&Window| a.risk.total_cmp(&b.risk);
    let seen = || windows.iter().filter(|w| drawable(w.risk));
    let (Some(low), Some(high)) = (seen().min_by(by_risk), seen().max_by(by_risk)) else {
        return "No window has a risk that can be shown.".to_owned();
    };
    format!(
        "The risk was lowest, {}, in rounds {}, and highest, {}, in rounds {}.",
        short(Figure::measured(low.risk)),
        rounds(low),
        short(Figure::measured(high.risk)),
        rounds(high)
    )
}

fn table(windows: &[Window]) -> Table {
    let columns =
        vec![numbers("from"), numbers("to"), numbers("sequential risk"), numbers("certificate")];
    Table { columns, rows: windows.iter().map(row).collect() }
}

fn row(w: &Window) -> Vec<String> {
    vec![w.from.to_string(), w.to.to_string(), exact(w.risk), exact_or_dash(w.certificate)]
}
