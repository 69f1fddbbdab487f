//! Sequential risk, best comparator, regret and certificate over the rounds.

use super::{Figure, at_most};
use crate::chart::{Area, Chart, Series, narrow};
use crate::number::{count, exact, exact_or_dash, short};
use crate::scale::Kind;
use crate::svg::{Canvas, Marker};
use crate::table::{Table, numbers};
use crate::{Interval, Page, Point, RungKind};

pub(crate) const HEADING: &str = "Risk and regret over time";
pub(crate) const CAPTION: &str = "Each point is an average over all rounds up to t. The sequential \
    risk is what the predictions cost; the certificate is the most that any of the compared \
    predictors could have saved of it, proved for this very stream. A certificate that falls \
    means that the learner catches up with the best of them. The bounds are known at the end only.";

pub(crate) fn figure(page: &Page) -> Option<Figure> {
    let last = page.curve.last()?;
    let figure = Figure {
        id: "curve",
        heading: HEADING,
        finding: finding(page, last),
        caption: CAPTION,
        numbers: table(&page.curve),
        ..Figure::default()
    };
    Some(figure.drawn(|width| {
        let mut canvas = Canvas::new(width, if narrow(width) { 320.0 } else { 400.0 });
        draw(page, &mut canvas, 0.0, 0.0);
        canvas
    }))
}

/// Draws below a header of some height and within a margin.
pub(crate) fn draw(page: &Page, canvas: &mut Canvas, above: f64, margin: f64) {
    let series = series(page);
    let area = Area::within(canvas, above, margin);
    let Some(chart) = Chart::of(canvas, &series, area, Kind::Log) else {
        return;
    };
    chart.axes(canvas, "rounds t", "per round");
    chart.lines(canvas, &series);
    chart.labels(canvas, &series);
}

fn series(page: &Page) -> Vec<Series> {
    let mut series = vec![
        line(page, "risk", "risk", Marker::Circle, |p| Some(p.risk.into())),
        line(page, "certificate", "certificate", Marker::Square, |p| Some(p.certificate?.into())),
        line(page, "regret", "regret", Marker::Diamond, |p| p.regret),
        line(page, "best fixed", "comparator", Marker::Triangle, |p| p.comparator),
        bound(page, RungKind::Data, "data bound"),
        bound(page, RungKind::Theorem, "theorem"),
    ];
    series.retain(|one| !one.points.is_empty());
    series
}

fn line(
    page: &Page,
    name: &'static str,
    class: &'static str,
    marker: Marker,
    of: impl Fn(&Point) -> Option<Interval>,
) -> Series {
    // Round 0 has no place on a logarithmic axis.
    let rounds = page.curve.iter().filter(|p| p.t > 0);
    let points: Vec<_> =
        rounds.filter_map(|p| of(p).map(|value| (p.t as f64, value.lower, value.upper))).collect();
    let value = points.last().map(|&(_, lower, upper)| at_most(lower, upper)).unwrap_or_default();
    Series { name, class, marker, points, value }
}

/// A bound is one point, at the last round.
fn bound(page: &Page, kind: RungKind, name: &'static str) -> Series {
    let rung = page.ladder.iter().find(|rung| rung.kind == kind).and_then(|rung| rung.value);
    let end = page.curve.last().filter(|p| p.t > 0);
    let points: Vec<_> = end
        .zip(rung)
        .map(|(p, value)| (p.t as f64, value.upper, value.upper))
        .into_iter()
        .collect();
    let value = rung.map(|value| short(value.upper)).unwrap_or_default();
    Series { name, class: "bound", marker: Marker::Bar, points, value }
}

/// What the end of the curve says, in words.
pub(crate) fn finding(page: &Page, last: &Point) -> String {
    let risk = format!("After {} rounds the risk is {}.", count(last.t), short(last.risk));
    match last.certificate {
        Some(bound) if bound < 0.0 => format!(
            "{risk} The predictions beat {} by at least {} per round.",
            comparators(page),
            short(-bound)
        ),
        Some(bound) if bound.is_finite() => format!(
            "{risk} Against {}, the regret is at most {} per round.",
            comparators(page),
            short(bound)
        ),
        _ => risk,
    }
}

fn comparators(page: &Page) -> &str {
    if page.comparators.is_empty() { "every fixed predictor" } else { &page.comparators }
}

fn table(curve: &[Point]) -> Table {
    let solved = curve.iter().any(|p| p.comparator.is_some() || p.regret.is_some());
    let mut columns = vec![numbers("t"), numbers("sequential risk"), numbers("certificate")];
    if solved {
        columns.extend([numbers("best fixed ≥"), numbers("≤")]);
        columns.extend([numbers("regret ≥"), numbers("≤")]);
    }
    // Cells beyond the last column are not shown.
    Table { columns, rows: curve.iter().map(row).collect() }
}

fn row(p: &Point) -> Vec<String> {
    let ends = [p.comparator, p.regret].map(|value| value.map(|v| [v.lower, v.upper]));
    let ends = ends.into_iter().flat_map(|pair| pair.map_or([None, None], |pair| pair.map(Some)));
    let first = [p.t.to_string(), exact(p.risk), exact_or_dash(p.certificate)];
    first.into_iter().chain(ends.map(exact_or_dash)).collect()
}
