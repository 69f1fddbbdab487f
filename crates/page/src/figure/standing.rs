//! Several rivals on one stream: their losses, and how much of these could have been saved.

use super::{Section, range};
use crate::chart::{Area, Chart, Series, narrow};
use crate::number::{count, drawable, exact_or_dash, short};
use crate::scale::{Kind, Scale};
use crate::svg::{Canvas, Marker, TEXT, shortened};
use crate::table::{Table, numbers, words};
use crate::{Comparison, Figure, Interval, Rival, Window};

const STANDING: &str = "What each cost per round, and what could have been saved of it. The \
    certificate is the most that any of the compared predictors could have saved, proved for this \
    very stream. A bar to the left of zero is a proof that all of them were beaten. A pale certificate is no \
    smaller than the risk, and says nothing.";
const OVER_TIME: &str = "The average loss of each over all rounds up to t.";
const WINDOWS: &str = "Every step is a stretch of the stream judged alone: the certificate against \
    the best predictor for just that stretch. Where it rises, a fixed predictor may have done better \
    there, and the stream may have drifted.";
/// The colours and markers. In pictures over time, the first rivals have one each.
const COLOURS: [(&str, Marker); 5] = [
    ("certificate", Marker::Square),
    ("regret", Marker::Diamond),
    ("comparator", Marker::Triangle),
    ("risk", Marker::Circle),
    ("bound", Marker::Bar),
];
/// The room for a name beside the end of a line.
const NAME: f64 = 80.0;

/// All pictures, in the order of the page.
pub(crate) fn all(page: &Comparison) -> Vec<Section> {
    [standing(page), over_time(page), windows(page)].into_iter().flatten().collect()
}

fn standing(page: &Comparison) -> Option<Section> {
    page.rivals.first()?;
    let figure = Section {
        id: "standing",
        heading: "Side by side",
        finding: finding(page),
        caption: STANDING,
        numbers: table(&page.rivals),
        ..Section::default()
    };
    Some(figure.drawn(|width| draw(page, width)))
}

/// Says who did best, against which comparators all are judged, and whose certificate says nothing.
fn finding(page: &Comparison) -> String {
    let them =
        if page.comparators.is_empty() { "every fixed predictor" } else { &page.comparators };
    let by_risk = |a: &&Rival, b: &&Rival| a.risk.total_cmp(&b.risk);
    let best = page.rivals.iter().filter(|rival| drawable(rival.risk)).min_by(by_risk);
    let best = best.map(|best| {
        let (risk, name) = (short(Figure::measured(best.risk)), name(&best.name));
        format!("The least risk, {risk}, is that of {name}")
    });
    let judged = format!("They are judged against {them}");
    let sentences: Vec<String> = [Some(judged), best, empty(page)].into_iter().flatten().collect();
    sentences.join(". ")
}

/// Says whose certificate says nothing.
fn empty(page: &Comparison) -> Option<String> {
    let is_one = |rival: &&Rival| says_nothing(page, rival);
    let those: Vec<_> = page.rivals.iter().filter(is_one).map(|one| name(&one.name)).collect();
    match &those[..] {
        [] => None,
        [one] => {
            Some(format!("The certificate of {one} says nothing: it is no smaller than the risk"))
        }
        all => Some(format!(
            "The certificates of {} say nothing: they are no smaller than the risk",
            all.join(", ")
        )),
    }
}

/// Whether the certificate of a rival says nothing. If losses are never negative, no predictor can
/// save more than the whole risk.
fn says_nothing(page: &Comparison, rival: &Rival) -> bool {
    page.is_nonnegative && rival.certificate.is_some_and(|certificate| certificate >= rival.risk)
}

fn name(name: &str) -> String {
    shortened(name, TEXT, 400.0)
}

/// The bars of one rival. Each has a colour, a text and a value.
fn bars(page: &Comparison, rival: &Rival) -> Vec<(&'static str, String, Interval)> {
    let mut bars =
        vec![("risk", format!("risk {}", short(Figure::measured(rival.risk))), rival.risk.into())];
    bars.extend(rival.regret.map(|it| ("regret", format!("exact regret {}", range(it)), it)));
    let class = if says_nothing(page, rival) { "certificate unsure" } else { "certificate" };
    let told = |it: f64| format!("certificate {}", short(Figure::at_most(it)));
    bars.extend(rival.certificate.map(|it| (class, told(it), it.into())));
    bars
}

const LINE: f64 = 17.0;

fn draw(page: &Comparison, width: f64) -> Canvas {
    let rivals = &page.rivals[..];
    let height = |rival: &Rival| LINE * (bars(page, rival).len() + 1) as f64 + 12.0;
    let mut canvas = Canvas::new(width, rivals.iter().map(height).sum());
    let all = rivals.iter().flat_map(|rival| bars(page, rival));
    let ends = all.flat_map(|(_, _, it)| [it.lower, it.upper]);
    let ends: Vec<f64> = ends.filter(|end| drawable(*end)).chain([0.0]).collect();
    let left = if narrow(width) { 150.0 } else { 190.0 };
    let scale = Scale::tight(Kind::Linear, &ends, (left, width - 4.0));
    let mut top = 0.0;
    for rival in rivals {
        canvas.open(&rival.what);
        canvas.text((0.0, top + 13.0), "strong", &shortened(&rival.name, TEXT, width - 8.0));
        canvas.close();
        for (line, (class, told, value)) in (1..).map(f64::from).zip(bars(page, rival)) {
            let y = top + LINE * line;
            canvas.text((0.0, y + 13.0), "small soft", &shortened(&told, 11.0, left - 8.0));
            bar(&mut canvas, &scale, value, class, y + 3.0);
        }
        top += height(rival);
    }
    canvas
}

/// Draws a bar from zero to the upper end.
fn bar(canvas: &mut Canvas, scale: &Scale, value: Interval, class: &str, top: f64) {
    if let (Some(zero), Some(end)) = (scale.place(0.0), scale.place(value.upper)) {
        canvas.rect((zero, top), (end, top + 11.0), class);
        canvas.line((zero, top - 2.0), (zero, top + 14.0), "zero");
    }
}

fn table(rivals: &[Rival]) -> Table {
    let figures = figure_names(rivals);
    let mut columns = vec![
        words("name"),
        numbers("sequential risk"),
        numbers("mistake rate"),
        numbers("exact regret ≥"),
        numbers("exact regret ≤"),
        numbers("certificate"),
    ];
    columns.extend(figures.iter().map(|&name| numbers(name.to_owned())));
    columns.push(words("what it is"));
    let row = |rival: &Rival| {
        let mut row = vec![
            rival.name.clone(),
            exact_or_dash(Some(rival.risk)),
            exact_or_dash(rival.mistake_rate),
            exact_or_dash(rival.regret.map(|regret| regret.lower)),
            exact_or_dash(rival.regret.map(|regret| regret.upper)),
            exact_or_dash(rival.certificate),
        ];
        row.extend(figures.iter().map(|name| figure_or_dash(rival, name)));
        row.push(rival.what.clone());
        row
    };
    Table { columns, rows: rivals.iter().map(row).collect() }
}

/// The names of all figures that a rival has, in the order in which they first appear.
fn figure_names(rivals: &[Rival]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rivals.iter().flat_map(|rival| &rival.figures) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    names
}

fn figure_or_dash(rival: &Rival, wanted: &str) -> String {
    let found = rival.figures.iter().find(|(name, _)| name == wanted);
    found.map_or_else(|| "–".to_owned(), |(_, value)| value.clone())
}

fn over_time(page: &Comparison) -> Option<Section> {
    page.rivals.iter().find(|rival| rival.curve.len() > 1)?;
    let figure = Section {
        id: "over-time",
        heading: "Risk over time",
        finding: drawn(page.rivals.len()),
        caption: OVER_TIME,
        numbers: risks(&page.rivals),
        ..Section::default()
    };
    Some(figure.drawn(|width| {
        let mut canvas = Canvas::new(width, if narrow(width) { 320.0 } else { 400.0 });
        draw_over_time(page, &mut canvas, 0.0, 0.0);
        canvas
    }))
}

/// Draws the risks below a header of some height and within a margin.
pub(crate) fn draw_over_time(page: &Comparison, canvas: &mut Canvas, above: f64, margin: f64) {
    let mut series: Vec<Series> = page.rivals.iter().zip(COLOURS).map(risk_of).collect();
    series.retain(Series::is_visible);
    let area = Area::within(canvas, above, margin);
    let Some(chart) = Chart::of(canvas, &series, area, Kind::Log) else {
        return;
    };
    chart.axes(canvas, "rounds t", "risk per round");
    chart.lines(canvas, &series);
    chart.labels(canvas, &series);
}

fn risk_of((rival, (class, marker)): (&Rival, (&'static str, Marker))) -> Series {
    let curve = rival.curve.iter().filter(|point| point.0 > 0);
    let points = curve.map(|&(t, risk)| (t as f64, Some(Interval::from(risk))));
    let name = shortened(&rival.name, TEXT, NAME);
    Series::new((&name, class), marker, points, Figure::measured)
}

/// Says how many of the rivals are drawn.
fn drawn(rivals: usize) -> String {
    match rivals {
        1 => String::new(),
        2..=5 => format!("All {rivals} are drawn."),
        _ => format!("The first {} of {rivals} are drawn; the numbers have all.", COLOURS.len()),
    }
}

fn risks(rivals: &[Rival]) -> Table {
    let columns = vec![words("name"), numbers("t"), numbers("sequential risk")];
    let rows = rivals.iter().flat_map(|rival| {
        let row = |&(t, risk): &(u64, f64)| {
            vec![rival.name.clone(), t.to_string(), exact_or_dash(Some(risk))]
        };
        rival.curve.iter().map(row)
    });
    Table { columns, rows: rows.collect() }
}

fn windows(page: &Comparison) -> Option<Section> {
    page.rivals.iter().find(|rival| rival.windows.len() > 1)?;
    let figure = Section {
        id: "windows",
        heading: "Window by window",
        finding: worst(&page.rivals),
        caption: WINDOWS,
        numbers: stretches(&page.rivals),
        ..Section::default()
    };
    Some(figure.drawn(|width| {
        let mut canvas = Canvas::new(width, if narrow(width) { 270.0 } else { 300.0 });
        let mut series: Vec<Series> = page.rivals.iter().zip(COLOURS).map(certificates).collect();
        series.retain(Series::is_visible);
        let area = Area::within(&canvas, 0.0, 0.0);
        if let Some(chart) = Chart::of(&mut canvas, &series, area, Kind::Linear) {
            chart.axes(&mut canvas, "rounds t", "certificate per round");
            chart.steps(&mut canvas, &series);
            chart.labels(&mut canvas, &series);
        }
        canvas
    }))
}

fn certificates((rival, (class, marker)): (&Rival, (&'static str, Marker))) -> Series {
    let ends = |window: &Window| {
        let certificate = window.certificate.map(Interval::from);
        [window.from.saturating_sub(1), window.to].map(|t| (t as f64, certificate))
    };
    let name = shortened(&rival.name, TEXT, NAME);
    Series::new((&name, class), marker, rival.windows.iter().flat_map(ends), Figure::at_most)
}

fn worst(rivals: &[Rival]) -> String {
    let all = rivals.iter().flat_map(|rival| rival.windows.iter().map(move |one| (rival, one)));
    let told = all.filter_map(|(rival, one)| Some((rival, one, one.certificate?)));
    match told.filter(|it| drawable(it.2)).max_by(|a, b| a.2.total_cmp(&b.2)) {
        None => "No window has a certificate that can be shown.".to_owned(),
        Some((rival, one, certificate)) => format!(
            "The certificate was highest, {}, in rounds {} to {}, for {}",
            short(Figure::at_most(certificate)),
            count(one.from),
            count(one.to),
            name(&rival.name)
        ),
    }
}

fn stretches(rivals: &[Rival]) -> Table {
    let columns = vec![
        words("name"),
        numbers("from"),
        numbers("to"),
        numbers("sequential risk"),
        numbers("certificate"),
    ];
    let rows = rivals.iter().flat_map(|rival| {
        let row = |one: &Window| {
            vec![
                rival.name.clone(),
                one.from.to_string(),
                one.to.to_string(),
                exact_or_dash(Some(one.risk)),
                exact_or_dash(one.certificate),
            ]
        };
        rival.windows.iter().map(row)
    });
    Table { columns, rows: rows.collect() }
}
