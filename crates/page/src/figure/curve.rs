//! Sequential risk, best comparator, regret and certificate over the rounds.

use super::Section;
use crate::chart::{Area, Chart, Series, narrow};
use crate::number::{count, exact, exact_or_dash, short};
use crate::scale::Kind;
use crate::svg::{Canvas, Marker};
use crate::table::{Table, numbers};
use crate::{Figure, Interval, Page, Point, RungKind};

pub(crate) const HEADING: &str = "Risk and regret over time";
const CAPTION: &str = "Each point is an average over all rounds up to t. The sequential risk is \
    what the predictions cost; the certificate is the most that any of the compared predictors \
    could have saved of it, proved for this very stream. A certificate that falls means that the \
    learner catches up with the best of them; where it is dotted it is no smaller than the risk, and \
    says nothing. The best constant is that of the whole stream, and the bounds are known at the end \
    only.";
const CAPTION_SOLVED: &str = "Each point is an average over all rounds up to t. The sequential \
    risk is what the predictions cost. Best fixed is what the best predictor for just these rounds \
    would have cost, found afterwards; the regret is the difference. The certificate bounds the \
    regret and needs no solving; where it is dotted it is no smaller than the risk, and says nothing. \
    The best constant is that of the whole stream, and the bounds are known at the end only.";

pub(crate) fn figure(page: &Page) -> Option<Section> {
    let last = page.curve.last()?;
    let figure = Section {
        id: "curve",
        heading: HEADING,
        finding: finding(page, last),
        caption: if solved(&page.curve) { CAPTION_SOLVED } else { CAPTION },
        numbers: table(&page.curve),
        ..Section::default()
    };
    Some(figure.drawn(|width| {
        let mut canvas = Canvas::new(width, if narrow(width) { 320.0 } else { 400.0 });
        draw(page, &mut canvas, 0.0, 0.0);
        canvas
    }))
}

/// Draws the curve below a header of some height and within a margin.
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
        risk(page),
        line(page, ("certificate", "certificate"), Marker::Square, |p| {
            p.certificate.filter(|_| !is_empty(page, p)).map(Interval::from)
        }),
        empty(page),
        baseline(page),
        line(page, ("regret", "regret"), Marker::Diamond, |p| p.regret),
        line(page, ("best fixed", "comparator"), Marker::Triangle, |p| p.comparator),
        bound(page, RungKind::Data, "data bound"),
        bound(page, RungKind::Theorem, "theorem"),
    ];
    series.retain(Series::is_visible);
    series
}

fn line(
    page: &Page,
    names: (&'static str, &'static str),
    marker: Marker,
    of: impl Fn(&Point) -> Option<Interval>,
) -> Series {
    Series::new(names, marker, points(page, of), Figure::at_most)
}

/// Whether a certificate says nothing. If losses are never negative, no predictor can save more
/// than the whole risk, so a certificate of that size is trivial.
pub(crate) fn is_empty(page: &Page, point: &Point) -> bool {
    page.is_nonnegative && point.certificate.is_some_and(|certificate| certificate >= point.risk)
}

/// The part of the certificate that says nothing, up to the point where it begins to say something.
fn empty(page: &Page) -> Series {
    let begins = |at: usize| {
        let next = page.curve.get(at + 1);
        is_empty(page, &page.curve[at])
            || (at > 0 && is_empty(page, &page.curve[at - 1]))
            || next.is_some_and(|next| is_empty(page, next))
    };
    let points = page.curve.iter().enumerate().filter(|(_, p)| p.t > 0);
    let points = points
        .map(|(at, p)| (p.t as f64, p.certificate.filter(|_| begins(at)).map(Interval::from)));
    let series = Series::new(("certificate", "empty"), Marker::Square, points, Figure::at_most);
    let ends_empty = page.curve.last().is_some_and(|last| is_empty(page, last));
    if ends_empty { series } else { series.quiet() }
}

/// The loss of the best constant, from the first round to the last.
fn baseline(page: &Page) -> Series {
    let ends = [page.curve.iter().find(|p| p.t > 0), page.curve.last()].into_iter().flatten();
    let points = ends.filter(|p| p.t > 0).map(|p| (p.t as f64, page.baseline));
    Series::new(("constant", "baseline"), Marker::Bar, points, Figure::measured)
}

/// The sequential risk. It was measured, and is not a bound.
fn risk(page: &Page) -> Series {
    let points = points(page, |p| Some(p.risk.into()));
    Series::new(("risk", "risk"), Marker::Circle, points, Figure::measured)
}

/// The points of a line, without round 0, which has no place on a logarithmic axis.
fn points(
    page: &Page,
    of: impl Fn(&Point) -> Option<Interval>,
) -> impl Iterator<Item = (f64, Option<Interval>)> {
    page.curve.iter().filter(|p| p.t > 0).map(move |p| (p.t as f64, of(p)))
}

/// A bound, which is one point at the last round.
fn bound(page: &Page, kind: RungKind, name: &'static str) -> Series {
    let rung = page.ladder.iter().find(|rung| rung.kind == kind).and_then(|rung| rung.value);
    let end = page.curve.last().filter(|p| p.t > 0);
    let point = end.map(|p| (p.t as f64, rung.map(|value| value.upper.into())));
    Series::new((name, "bound"), Marker::Bar, point.into_iter(), Figure::at_most)
}

/// A summary of the end of the curve, in words.
pub(crate) fn finding(page: &Page, last: &Point) -> String {
    let (t, risk) = (count(last.t), short(Figure::measured(last.risk)));
    let risk = format!("After {t} rounds the risk is {risk}.");
    match last.certificate {
        Some(bound) if bound < 0.0 => format!(
            "{risk} The predictions beat {} by at least {} per round.",
            comparators(page),
            short(Figure::at_least(-bound))
        ),
        Some(_) if is_empty(page, last) => format!(
            "{risk} Against {}, the certificate says nothing: it is no smaller than the risk itself.",
            comparators(page)
        ),
        Some(bound) if bound.is_finite() => format!(
            "{risk} Against {}, the regret is at most {} per round.",
            comparators(page),
            short(Figure::at_most(bound))
        ),
        _ => risk,
    }
}

fn comparators(page: &Page) -> &str {
    if page.comparators.is_empty() { "every fixed predictor" } else { &page.comparators }
}

/// Whether the best comparator is known at any point.
fn solved(curve: &[Point]) -> bool {
    curve.iter().any(|p| p.comparator.is_some() || p.regret.is_some())
}

fn table(curve: &[Point]) -> Table {
    let mut columns = vec![numbers("t"), numbers("sequential risk"), numbers("certificate")];
    if solved(curve) {
        columns.extend([numbers("best fixed ≥"), numbers("best fixed ≤")]);
        columns.extend([numbers("regret ≥"), numbers("regret ≤")]);
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
