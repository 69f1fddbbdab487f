//! Predicted probabilities beside observed frequencies.

use super::Section;
use crate::chart::{Area, Chart, Series, narrow};
use crate::number::{drawable, exact, short};
use crate::scale::{Kind, Scale};
use crate::svg::{Canvas, Marker};
use crate::table::{Table, numbers};
use crate::{Bin, Figure, Page};

const CAPTION: &str = "Examples are put together by tenths of the probability that their positive \
    label was given. A point on the dashed line came as often as it was said to; above the line it \
    came more often, below it less often. The columns at the bottom show how many examples there \
    are of each probability.";
/// The share of the picture's height that the highest column takes.
const COLUMN: f64 = 0.18;

pub(crate) fn figure(page: &Page) -> Option<Section> {
    let bins: Vec<&Bin> = page.calibration.iter().filter(|bin| is_drawable(bin)).collect();
    let finding = finding(&bins)?;
    let figure = Section {
        id: "calibration",
        heading: "Calibration",
        finding,
        caption: CAPTION,
        numbers: table(&page.calibration),
        ..Section::default()
    };
    Some(figure.drawn(|width| draw(&bins, width)))
}

fn is_drawable(bin: &Bin) -> bool {
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    let shares = [bin.from, bin.to, bin.predicted, bin.observed];
    shares.into_iter().all(is_share) && bin.weight > 0.0 && drawable(bin.weight)
}

/// Names the bin with the largest gap between probability and frequency, weighted by its examples.
fn finding(bins: &[&Bin]) -> Option<String> {
    let off = |bin: &Bin| bin.weight * (bin.predicted - bin.observed).abs();
    let worst = bins.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    let [said, came] = [worst.predicted, worst.observed].map(|it| Figure::measured(it).percent());
    Some(format!("Most was missed where {said} were said on average, and {came} came."))
}

fn draw(bins: &[&Bin], width: f64) -> Canvas {
    let mut canvas = Canvas::new(width, if narrow(width) { 290.0 } else { 340.0 });
    let area = Area::within(&canvas, 0.0, 0.0);
    let ends = [0.0, 1.0];
    let chart = Chart {
        area,
        x: Scale::tight(Kind::Linear, &ends, (area.left, area.right)),
        y: Scale::tight(Kind::Linear, &ends, (area.bottom, area.top)),
    };
    columns(&mut canvas, &chart, bins);
    chart.axes(&mut canvas, "probability that was said", "share that came");
    if let (Some(from), Some(to)) = (chart.place(0.0, 0.0), chart.place(1.0, 1.0)) {
        canvas.line(from, to, "own");
    }
    let points = bins.iter().map(|bin| (bin.predicted, Some(bin.observed.into())));
    let series = Series::new(("came", "certificate"), Marker::Circle, points, Figure::measured);
    chart.lines(&mut canvas, &[series]);
    canvas
}

/// Draws how many examples every bin has, relative to the largest bin.
fn columns(canvas: &mut Canvas, chart: &Chart, bins: &[&Bin]) {
    let most = bins.iter().map(|bin| bin.weight).fold(f64::MIN_POSITIVE, f64::max);
    let ground = chart.area.bottom;
    for bin in bins {
        if let (Some(from), Some(to)) = (chart.x.place(bin.from), chart.x.place(bin.to)) {
            let height = COLUMN * (ground - chart.area.top) * (bin.weight / most);
            canvas.open(&format!("weight {}", short(Figure::measured(bin.weight))));
            canvas.rect((from + 1.0, ground - height), (to - 1.0, ground), "column");
            canvas.close();
        }
    }
}

fn table(bins: &[Bin]) -> Table {
    let row = |bin: &Bin| [bin.from, bin.to, bin.weight, bin.predicted, bin.observed].map(exact);
    let columns = ["from", "to", "weight", "said on average", "share that came"].map(numbers);
    Table { columns: columns.to_vec(), rows: bins.iter().map(|bin| row(bin).to_vec()).collect() }
}
