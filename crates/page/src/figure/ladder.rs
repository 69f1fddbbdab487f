//! The ladder at the end: regret ≤ certificate ≤ data-dependent bound ≤ theorem.

use super::{Section, curve, range};
use crate::number::{drawable, exact_or_dash, short};
use crate::scale::{Kind, Scale, extent};
use crate::svg::{Canvas, wrapped};
use crate::table::{Table, numbers, words};
use crate::{Figure, Interval, Page, Rung, RungKind};

const CAPTION: &str = "Every bar is an upper bound on the one above it, per round, drawn from zero \
    to one linear scale. The distance between the bars shows how much kinder this stream was than \
    the worst one that the theorem allows for.";
/// The size of the text that explains a rung.
const SMALL: f64 = 11.0;

pub(crate) fn figure(page: &Page) -> Option<Section> {
    if page.ladder.is_empty() {
        return None;
    }
    let figure = Section {
        id: "ladder",
        heading: "The ladder",
        finding: finding(page),
        caption: CAPTION,
        numbers: table(&page.ladder),
        ..Section::default()
    };
    Some(figure.drawn(|width| draw(&page.ladder, width)))
}

fn draw(ladder: &[Rung], width: f64) -> Canvas {
    let room = width - 8.0;
    let meanings: Vec<Vec<String>> =
        ladder.iter().map(|rung| wrapped(&rung.meaning, SMALL, room, 3)).collect();
    let height =
        |(rung, lines): (&Rung, &Vec<String>)| head(rung) + 15.0 * lines.len() as f64 + 20.0;
    let heights = ladder.iter().zip(&meanings).map(height);
    let mut canvas = Canvas::new(width, heights.sum::<f64>() - 14.0);
    let scale = scale(ladder, room);
    let mut top = 0.0;
    for (rung, lines) in ladder.iter().zip(&meanings) {
        draw_rung(&mut canvas, &scale, rung, top);
        for (i, line) in lines.iter().enumerate() {
            canvas.text((0.0, top + head(rung) + 15.0 * (i + 1) as f64), "small soft", line);
        }
        top += height((rung, lines));
    }
    canvas
}

/// The height of a rung's name and bar. A withheld rung has no bar.
fn head(rung: &Rung) -> f64 {
    if rung.value.is_some() { 35.0 } else { 17.0 }
}

fn scale(ladder: &[Rung], room: f64) -> Scale {
    let ends = ladder.iter().filter_map(|rung| rung.value).flat_map(|v| [v.lower, v.upper]);
    let ends: Vec<f64> = ends.filter(|end| drawable(*end)).chain([0.0]).collect();
    Scale::tight(Kind::Linear, &ends, (0.5, room))
}

fn draw_rung(canvas: &mut Canvas, scale: &Scale, rung: &Rung, top: f64) {
    let class = class(rung.kind);
    let value = rung.value.map_or_else(|| "withheld".to_owned(), |value| told(rung.kind, value));
    canvas.open(&format!("{}: {value}", rung.kind.name()));
    canvas.named((0.0, top + 15.0), class, rung.kind.name(), &value);
    if let Some(value) = rung.value {
        bar(canvas, scale, value, class, top + 22.0);
    }
    canvas.close();
}

/// The value of a rung in words. Only the regret itself is known from both sides.
fn told(kind: RungKind, value: Interval) -> String {
    match kind {
        RungKind::Regret => range(value),
        _ => short(Figure::at_most(value.upper)),
    }
}

/// Draws a bar that is solid up to the certain part of the value and pale up to the possible part.
fn bar(canvas: &mut Canvas, scale: &Scale, value: Interval, class: &str, top: f64) {
    let (near, far) = extent(&[value.lower, value.upper]);
    let (near, far) = if far <= 0.0 { (far, near) } else { (near.max(0.0), far) };
    let (Some(zero), Some(near), Some(far)) =
        (scale.place(0.0), scale.place(near), scale.place(far))
    else {
        return;
    };
    canvas.line((zero, top - 3.0), (zero, top + 15.0), "zero");
    canvas.rect((zero, top), (near, top + 12.0), class);
    canvas.rect((near, top), (far, top + 12.0), &format!("{class} unsure"));
}

fn class(kind: RungKind) -> &'static str {
    match kind {
        RungKind::Regret => "regret",
        RungKind::Certificate => "certificate",
        RungKind::Data | RungKind::Theorem => "bound",
    }
}

/// Says how far the certificate lies below the highest rung, and above the regret.
fn finding(page: &Page) -> String {
    let rungs = || page.ladder.iter();
    let value = |kind| rungs().find(|rung| rung.kind == kind).and_then(|rung| rung.value);
    let Some(certificate) = value(RungKind::Certificate).map(|v| v.upper) else {
        return "There is no certificate.".to_owned();
    };
    let above = [RungKind::Theorem, RungKind::Data].into_iter().find_map(|k| Some((k, value(k)?)));
    let is_empty = page.curve.last().is_some_and(|last| curve::is_empty(page, last));
    let mut text = certified(certificate);
    if is_empty {
        text += " It says nothing: it is no smaller than the risk itself.";
    }
    if let Some((kind, bound)) = above.filter(|(_, v)| more(v.upper, certificate)) {
        text += &format!(" The {} allows {}.", kind.name(), times(bound.upper, certificate));
    }
    if let Some(regret) = value(RungKind::Regret) {
        text += &format!(" The exact regret is {}.", range(regret));
    }
    text
}

/// Puts the certificate in words. If it is negative, every comparator was beaten.
fn certified(certificate: f64) -> String {
    if certificate < 0.0 {
        let by = short(Figure::at_least(-certificate));
        return format!("Every comparator was beaten by at least {by} per round.");
    }
    let at_most = short(Figure::at_most(certificate));
    format!("The certificate bounds the regret by {at_most} per round.")
}

/// Whether the ratio of two values is worth printing.
fn more(a: f64, b: f64) -> bool {
    b > 0.0 && (a / b).is_finite() && a / b >= 1.05
}

fn times(a: f64, b: f64) -> String {
    match a / b {
        ratio @ 0.0..10.0 => format!("{ratio:.1} times as much"),
        ratio => format!("{} times as much", crate::number::tick(ratio.round())),
    }
}

fn table(ladder: &[Rung]) -> Table {
    let columns = vec![words("rung"), numbers("at least"), numbers("at most"), words("meaning")];
    Table { columns, rows: ladder.iter().map(row).collect() }
}

/// A row of the table. Every rung is an upper bound, and only the regret is also known from below.
fn row(rung: &Rung) -> Vec<String> {
    let lower = rung.value.filter(|_| rung.kind == RungKind::Regret);
    vec![
        rung.kind.name().to_owned(),
        exact_or_dash(lower.map(|value| value.lower)),
        exact_or_dash(rung.value.map(|value| value.upper)),
        rung.meaning.clone(),
    ]
}
