//! `--report` and `--plot`: these write a run as a page and as a picture.

use crate::args::PictureArgs;
use crate::numbers::{at_least, at_most, count, counted, measured, percent};
use crate::{classes, figures, view, weights};
use anyhow::Context;
use rueful_core::Positive;
use rueful_core::figures::CalibrationBin;
use rueful_core::ledger::CurvePoint;
use rueful_data::{Seen, can_replace_file, replace_file};
use rueful_page::{
    Bin, Comparison, Fact, Interval, Origin, Page, Point, Radius, Rung, RungKind, Share, Weight,
    Window,
};
use rueful_run::{
    ClassRun, Contradiction, DataSpec, Described, FiguresReport, Reach, Report, Run, SharesReport,
    WindowReport, Windows,
};
use serde::Serialize;
use std::ffi::OsString;
use std::iter;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The command that is being run. It is empty if the library is used without a command.
static COMMAND: Mutex<String> = Mutex::new(String::new());

/// The largest number of weights that are shown, and the least share of the largest weight that a
/// weight must have to be shown.
const WEIGHTS: usize = 30;
const WORTH_SHOWING: f64 = 0.01;

/// Refuses a path that cannot be written to. This is checked before anything is learned.
pub(crate) fn check_place(path: &Path) -> anyhow::Result<()> {
    can_replace_file(path).with_context(|| format!("cannot write {}", path.display()))
}

/// The subject of a page.
pub(crate) enum Document<'a> {
    /// One learner or model.
    One(&'a Page),
    /// Several learners or models, side by side.
    Several(&'a Comparison),
}

impl Document<'_> {
    fn html(&self) -> String {
        match self {
            Self::One(page) => rueful_page::html(page),
            Self::Several(page) => rueful_page::comparison_html(page),
        }
    }

    fn svg(&self) -> String {
        match self {
            Self::One(page) => rueful_page::svg(page),
            Self::Several(page) => rueful_page::comparison_svg(page),
        }
    }
}

/// Writes the page and the picture, each only if it was asked for.
pub(crate) fn write_all(document: &Document<'_>, asked: &PictureArgs) -> anyhow::Result<()> {
    asked.report.as_deref().map_or(Ok(()), |path| write(path, &document.html()))?;
    asked.plot.as_deref().map_or(Ok(()), |path| write(path, &document.svg()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    replace_file(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Collects everything that the page of a run shows.
pub(crate) fn page(report: &Report, run: &Run, windows: Option<&Windows>) -> Page {
    let (weights, weights_left_out) = largest(report, run);
    let windows = windows
        .map_or(Vec::new(), |windows| windows.reports(run.ledger()).iter().map(window).collect());
    let shared = shared(report, &run.point(), run.shares().as_ref(), run.seen());
    Page { windows, weights, weights_left_out, ..shared }
}

/// Collects everything that the page of a run of many classes shows.
pub(crate) fn class_page(report: &Report, run: &ClassRun) -> Page {
    let mut page = shared(report, &run.point(), run.shares().as_ref(), run.seen());
    page.figures.extend(report.classes.as_ref().map_or_else(Vec::new, classes::pairs));
    let windows = run.windows().map(|windows| windows.reports(run.ledger()));
    page.windows = windows.unwrap_or_default().iter().map(window).collect();
    page
}

/// The parts of a page that every run has.
fn shared(report: &Report, point: &CurvePoint, of: Option<&SharesReport>, seen: &Seen) -> Page {
    let spec = &report.spec;
    let figures = report.figures.as_ref();
    let own_radius = spec.comparators.radius();
    Page {
        title: title(spec),
        subtitle: format!(
            "{}; loss: {}. {}, {}.",
            view::learner(spec),
            view::loss(spec),
            counted(report.examples, "example"),
            counted(report.features, "feature")
        ),
        facts: facts(report),
        figures: figures.map_or_else(Vec::new, figures::pairs),
        curve: view::since_a_loss(report).iter().map(self::point).collect(),
        baseline: figures.and_then(baseline),
        is_nonnegative: spec.loss.is_nonnegative(),
        ladder: ladder(report),
        radii: own_radius.map_or_else(Vec::new, |own| radii(own, point)),
        own_radius: own_radius.map(Positive::get),
        beaten_up_to: report.judged.beats_up_to.map(reach),
        says_nothing_from: report.judged.says_nothing_from,
        windows: Vec::new(),
        shares: of.map_or_else(Vec::new, shares),
        calibration: figures.map_or_else(Vec::new, calibration),
        weights: Vec::new(),
        weights_left_out: 0,
        origin: origin(spec),
        parameters: parameters(report),
        data: data(report, seen),
        notes: notes(report),
        comparators: view::comparators(spec),
    }
}

/// Returns the loss of the best constant, if it is known.
pub(crate) fn baseline(figures: &FiguresReport) -> Option<Interval> {
    Some(interval(figures.best_constant?.loss))
}

pub(crate) fn calibration(figures: &FiguresReport) -> Vec<Bin> {
    let bin = |&CalibrationBin { from, to, weight, predicted, observed }: &CalibrationBin| Bin {
        from,
        to,
        weight,
        predicted,
        observed,
    };
    figures.calibration.iter().map(bin).collect()
}

/// Returns the origin of a page: version, command and description.
pub(crate) fn origin(spec: &impl Serialize) -> Origin {
    let command = COMMAND.lock().unwrap_or_else(PoisonError::into_inner);
    Origin {
        version: concat!("rueful ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: command.clone(),
        spec: serde_json::to_string_pretty(spec).unwrap_or_default(),
    }
}

/// Stores the command that is being run, for the pages that it writes.
pub(crate) fn remember_command(args: &[OsString]) {
    let words = args.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let words: Vec<String> = iter::once("rueful".to_owned()).chain(words).collect();
    *COMMAND.lock().unwrap_or_else(PoisonError::into_inner) = words.join(" ");
}

/// Quotes a word so that a shell reads it back unchanged.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the title of the page.
fn title(spec: &Described) -> String {
    spec.data.as_ref().map_or_else(|| "rueful".to_owned(), file_title)
}

/// Returns the name of the file, without its folder.
pub(crate) fn file_title(data: &DataSpec) -> String {
    match &data.files[..] {
        [file] if file != "-" => {
            let name = Path::new(file).file_name();
            name.map_or_else(|| file.clone(), |name| name.to_string_lossy().into_owned())
        }
        _ => data.name(),
    }
}

pub(crate) fn window(window: &WindowReport) -> Window {
    Window {
        from: window.from,
        to: window.to,
        risk: window.sequential_risk,
        certificate: window.certificate,
    }
}

fn facts(report: &Report) -> Vec<Fact> {
    let fact = |label: &str, value: String, note: String| Fact {
        label: label.to_owned(),
        value,
        note: Some(note),
    };
    let loss = report.spec.loss.name();
    let mut facts = vec![fact(
        "sequential risk",
        measured(report.sequential_risk),
        format!("average {loss} loss, each prediction before its label"),
    )];
    let is_empty = view::says_nothing(report);
    facts.extend(report.certificate.map(|certificate| certified(certificate, is_empty)));
    facts.extend(report.regret.map(|regret| regretted(regret.upper)));
    facts.extend(report.mistake_rate.map(|rate| {
        let mistakes = (rate * report.examples as f64).round() as u64;
        let note = format!("{} of {}", count(mistakes), count(report.examples));
        fact("mistakes", percent(rate), note)
    }));
    facts
}

/// Shows the certificate. If it is negative, this is the amount by which every comparator was
/// beaten. If it is empty, it says nothing.
pub(crate) fn certified(certificate: f64, is_empty: bool) -> Fact {
    let note = |note: &str| Some(note.to_owned());
    if certificate < 0.0 {
        return Fact {
            label: "beat every one by at least".to_owned(),
            value: at_least(-certificate),
            note: note("per round, proved for every comparator"),
        };
    }
    Fact {
        label: "certificate".to_owned(),
        value: at_most(certificate),
        note: note(if is_empty {
            "says nothing: it is no smaller than the risk itself"
        } else {
            "no comparator saved more per round"
        }),
    }
}

/// Shows an upper bound on the exact regret. If it is negative, this is the amount by which the
/// best comparator was beaten.
pub(crate) fn regretted(regret: f64) -> Fact {
    let note = |note: &str| Some(note.to_owned());
    if regret < 0.0 {
        return Fact {
            label: "beat the best of them by at least".to_owned(),
            value: at_least(-regret),
            note: note("per round, solved for afterwards"),
        };
    }
    Fact {
        label: "exact regret".to_owned(),
        value: at_most(regret),
        note: note("at most, solved for afterwards"),
    }
}

pub(crate) fn interval(interval: rueful_run::Interval) -> Interval {
    Interval { lower: interval.lower, upper: interval.upper }
}

pub(crate) fn point(point: &rueful_run::CurveReport) -> Point {
    Point {
        t: point.t,
        risk: point.sequential_risk,
        certificate: point.certificate,
        comparator: point.comparator.map(interval),
        regret: point.regret.map(interval),
    }
}

fn ladder(report: &Report) -> Vec<Rung> {
    let bound = &report.bound;
    let why = bound.why.clone().unwrap_or_default();
    let rung = |kind, value: Option<Interval>, meaning: String| Rung { kind, value, meaning };
    let mut rungs = Vec::new();
    rungs.extend(report.regret.map(|regret| {
        let meaning = "against the best of them, solved for afterwards".to_owned();
        rung(RungKind::Regret, Some(interval(regret)), meaning)
    }));
    let proved = if view::says_nothing(report) {
        "says nothing: it is no smaller than the risk itself".to_owned()
    } else {
        "proved for this very stream, whatever made it".to_owned()
    };
    rungs.push(rung(RungKind::Certificate, report.certificate.map(Interval::from), proved));
    let own = "from the run's own steps and gradients".to_owned();
    let meaning = if bound.data.is_some() { own } else { why.clone() };
    rungs.push(rung(RungKind::Data, bound.data.map(Interval::from), meaning));
    let meaning = bound.reference.clone().unwrap_or(why);
    rungs.push(rung(RungKind::Theorem, bound.theorem.map(Interval::from), meaning));
    rungs
}

/// Returns a reach as a radius, which is infinite if there is no end.
pub(crate) fn reach(reach: Reach) -> f64 {
    match reach {
        Reach::UpTo(radius) => radius,
        Reach::Every(_) => f64::INFINITY,
    }
}

/// Returns certificates at radii up to two decades on both sides of the run's own radius, four
/// points in each decade.
fn radii(own: Positive, point: &CurvePoint) -> Vec<Radius> {
    let certificate = |radius: f64| {
        let certificate = point.certificate_for(Positive::new(radius).ok()?);
        certificate.is_finite().then_some(Radius { radius, certificate })
    };
    let at = |step: i32| own.get() * 10_f64.powf(f64::from(step) / 4.0);
    (-8..=8).filter_map(|step| certificate(at(step))).collect()
}

/// Returns the shares of the learners in the mixture, over time.
fn shares(report: &SharesReport) -> Vec<Share> {
    let points = |place: usize| {
        let moments = report.moments.iter();
        moments.map(|moment| (moment.t, moment.shares[place])).collect()
    };
    let named = report.names.iter().enumerate();
    named.map(|(place, name)| Share { name: name.clone(), points: points(place) }).collect()
}

/// Returns the weights that are worth showing, and how many other weights are not 0.
fn largest(report: &Report, run: &Run) -> (Vec<Weight>, u64) {
    let mut all = run.weights();
    all.retain(|&(_, weight)| weight != 0.0);
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let constant = report.spec.data.as_ref().is_some_and(|data| data.constant);
    let names = &run.seen().names;
    let named = |(index, value): (u32, f64)| {
        let name = crate::data::name_of(names, constant, index);
        Weight { name: weights::name(name.as_deref(), index.into()), value }
    };
    let first = all.first().map_or(0.0, |largest| largest.1.abs());
    let shown = all.iter().take_while(|weight| weight.1.abs() >= WORTH_SHOWING * first).count();
    let left_out = all.split_off(shown.min(WEIGHTS)).len() as u64;
    (all.into_iter().map(named).collect(), left_out)
}

fn parameters(report: &Report) -> Vec<(String, String)> {
    let spec = &report.spec;
    let mut rows = vec![
        ("learner".to_owned(), view::learner(spec)),
        ("loss".to_owned(), view::loss(spec)),
        ("comparators".to_owned(), view::comparators(spec)),
        ("largest gradient".to_owned(), measured(report.gradient_norm_max)),
        ("largest example".to_owned(), measured(report.example_norm_max)),
    ];
    rows.extend(report.hindsight.as_ref().map(|found| {
        let told =
            format!("{} after {}", at_most(found.relative_gap), counted(found.passes, "pass"));
        ("relative gap of the best comparator".to_owned(), told)
    }));
    rows
}

fn data(report: &Report, seen: &Seen) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some(data) = &report.spec.data {
        rows.push(("files".to_owned(), data.files.join(", ")));
        rows.push(("format".to_owned(), data.schema.name().to_owned()));
    }
    rows.push(("examples".to_owned(), count(report.examples)));
    rows.push(("features".to_owned(), view::features(report)));
    if !seen.labels.counts.is_empty() {
        rows.push(("labels".to_owned(), labels(&seen.labels.counts, str::to_owned)));
    }
    let missing: u64 = seen.missing.iter().sum();
    if missing > 0 {
        rows.push(("cells without a value".to_owned(), count(missing)));
    }
    rows
}

/// The number of labels that are listed one by one.
const LABELS: usize = 64;

/// Lists labels and their counts in a line, where `shown` writes a label.
pub(crate) fn labels(counts: &[(String, u64)], shown: impl Fn(&str) -> String) -> String {
    let told = |(label, times): &(String, u64)| format!("{} ({})", shown(label), count(*times));
    let mut all: Vec<String> = counts.iter().take(LABELS).map(told).collect();
    if counts.len() > LABELS {
        all.push(format!("and {} others", count((counts.len() - LABELS) as u64)));
    }
    all.join(", ")
}

/// Returns one sentence for each pair of proofs that contradict each other.
pub(crate) fn disagreements(all: &[Contradiction]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes =
        vec!["What is printed holds for the run in doubles; roundings are allowed for.".to_owned()];
    notes.extend(
        report
            .resumed
            .map(|before| format!("The run was resumed after {}.", counted(before, "example"))),
    );
    notes.extend(report.delayed_labels.map(|delays| format!("Labels: {}.", view::late(&delays))));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_needs_it() {
        assert_eq!(quoted("data/a9a.libsvm"), "data/a9a.libsvm");
        assert_eq!(quoted("two words"), "'two words'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn what_was_beaten_is_said_with_a_positive_number() {
        assert_eq!(certified(-0.25, false).value, "0.2500");
        assert_eq!(certified(0.25, false).label, "certificate");
        assert_eq!(regretted(-0.123_49).value, "0.1234");
    }
}
