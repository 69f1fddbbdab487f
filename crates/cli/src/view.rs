//! The report in the form that people read.

use crate::chart::{self, Series};
use crate::numbers::{Figure, at_least, at_most, count, counted, measured, percent};
use crate::{classes, figures, passes};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use rueful_core::learner::Expert;
use rueful_hindsight::Method;
use rueful_run::{
    CurveReport, DelayReport, Described, HindsightReport, JudgedReport, Reach, Report,
};

/// Returns the whole report as text.
pub(crate) fn report(report: &Report, notes: &[String]) -> String {
    let mut text = String::new();
    text += &headed("Run", &about(report, notes));
    text += &headed("What it cost", &costs(report));
    if let Some(bound) = &report.risk_bound {
        let sure = percent(1.0 - bound.delta);
        let told =
            format!("* with probability {sure}, if examples are independent draws from one source");
        text = format!("{}\n  {told}\n\n", text.trim_end());
    }
    text += &figures::section("How well it predicted", report.figures.as_ref());
    text += &report.classes.as_ref().map_or_else(String::new, classes::section);
    text += &headed(&format!("Regret against {}", comparators(&report.spec)), &ladder(report));
    let proved: Vec<String> = saved(report).into_iter().chain(reach(&report.judged)).collect();
    if !proved.is_empty() {
        text = format!("{}\n  {}\n\n", text.trim_end(), proved.join("\n  "));
    }
    if !report.experts.is_empty() {
        text += &experts(report);
    }
    let curve = curve(since_a_loss(report));
    if !curve.is_empty() {
        text += &format!("Over time, per round\n{curve}");
    }
    let passes = passes::section(report);
    if passes.is_empty() { text } else { format!("{}\n\n{passes}", text.trim_end()) }
}

pub(crate) fn headed(title: &str, table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{title}\n{}\n\n", lines.join("\n"))
}

/// Makes a table without rules. Its first column is indented.
pub(crate) fn plain(rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(100)
        .add_rows(rows);
    if let Some(names) = table.column_mut(0) {
        names.set_padding((2, 1));
    }
    table
}

/// Makes a table like [`plain`], in which some columns hold numbers and are aligned right.
pub(crate) fn numbers_table(
    rows: Vec<Vec<String>>,
    numbers: std::ops::RangeInclusive<usize>,
) -> Table {
    let mut table = plain(rows);
    right_align(&mut table, numbers);
    table
}

fn right_align(table: &mut Table, columns: std::ops::RangeInclusive<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn about(report: &Report, notes: &[String]) -> Table {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let spec = &report.spec;
    let data = spec.data.as_ref();
    let mut rows: Vec<_> = data.map(|data| row("data", data.name())).into_iter().collect();
    rows.extend([
        row("learner", learner(spec)),
        row("loss", loss(spec)),
        row("examples", count(report.examples)),
        row("features", features(report)),
        row("norms", norms(report)),
    ]);
    rows.extend(report.delayed_labels.map(|delays| row("labels", late(&delays))));
    let weights = data.and_then(|data| data.class_weights.as_ref());
    rows.extend(weights.map(|weights| row("weights", weights.to_string())));
    rows.extend(notes.iter().map(|note| row("note", note.clone())));
    let resumed = |before| row("resumed", format!("after {}", counted(before, "example")));
    rows.extend(report.resumed.map(resumed));
    plain(rows)
}

/// Tells how many labels came late, and how many rows still wait.
pub(crate) fn late(delays: &DelayReport) -> String {
    let waiting = match delays.waiting {
        0 => "no row waits".to_owned(),
        1 => "1 row waits".to_owned(),
        rows => format!("{} rows wait", count(rows)),
    };
    format!(
        "{} came late, and the prediction made before is charged; {waiting}",
        count(delays.late)
    )
}

pub(crate) fn features(report: &Report) -> String {
    let has_constant = report.spec.data.as_ref().is_some_and(|data| data.constant);
    let constant = if has_constant { ", a constant one included" } else { "" };
    let (features, nonzeros) = (count(report.features), counted(report.nonzeros, "nonzero"));
    let collisions = match report.collisions {
        None => String::new(),
        Some(0) => "; no two names share an index".to_owned(),
        Some(1) => "; 1 name shares an index with another".to_owned(),
        Some(names) => format!("; {} names share an index with another", count(names)),
    };
    format!("{features}{constant}; {nonzeros}{collisions}")
}

fn norms(report: &Report) -> String {
    let (x, g) = (measured(report.example_norm_max), measured(report.gradient_norm_max));
    format!("largest example {x}, largest gradient {g}")
}

pub(crate) fn learner(spec: &Described) -> String {
    spec.learner.words(spec.sigma)
}

pub(crate) fn loss(spec: &Described) -> String {
    if spec.sigma.get() > 0.0 {
        format!("{} + (σ/2)‖w‖², σ = {}", spec.loss, spec.sigma)
    } else {
        spec.loss.to_string()
    }
}

pub(crate) fn comparators(spec: &Described) -> String {
    spec.comparators.words(spec.loss.takes_numbers())
}

fn costs(report: &Report) -> Table {
    let row = |name: &str, per_round: Figure| {
        let total = per_round.times(report.examples);
        vec![name.to_owned(), per_round.to_string(), total.to_string()]
    };
    let mut rows = vec![
        vec![String::new(), "per round".to_owned(), "total".to_owned()],
        row("sequential risk", Figure::measured(report.sequential_risk)),
    ];
    let penalty = report.penalty.map(Figure::measured);
    rows.extend(penalty.map(|penalty| row("of it (σ/2)‖w‖²", penalty)));
    let constant = report.figures.as_ref().and_then(|figures| figures.best_constant);
    rows.extend(constant.map(|best| row("best constant", Figure::measured(best.loss.upper))));
    let best = report.comparator.map(|best| Figure::at_most(best.upper));
    rows.extend(best.map(|best| row("best in hindsight", best)));
    rows.extend(report.mistake_rate.map(|rate| {
        let mistakes = (rate * report.examples as f64).round() as u64;
        vec!["mistakes".to_owned(), percent(rate), count(mistakes)]
    }));
    rows.extend(report.risk_bound.as_ref().map(|bound| {
        let name = format!("{} on other examples, at most", bound.of);
        vec![name, Figure::at_most(bound.value).percent(), "*".to_owned()]
    }));
    rows.extend(report.mistake_bound.map(|found| {
        let bound = Figure::at_most(found.bound);
        let name = format!("at most, by a u of norm {}", measured(found.norm));
        vec![name, bound.over(report.examples).percent(), bound.to_string()]
    }));
    numbers_table(rows, 1..=2)
}

fn ladder(report: &Report) -> Table {
    let bound = &report.bound;
    let rung = |name: &str, per_round: Option<Figure>, says: &str| {
        let total = per_round.map(|value| value.times(report.examples));
        let shown =
            |value: Option<Figure>| value.map_or("–".to_owned(), |value| value.to_string());
        vec![name.to_owned(), shown(per_round), shown(total), says.to_owned()]
    };
    let upper = |value: Option<f64>| value.map(Figure::at_most);
    // The reason for a missing bound is given only once.
    let why = bound.why.as_deref().unwrap_or_default();
    let (data, theorem) = match (bound.data, &bound.reference) {
        (Some(_), Some(reference)) => ("from the run's own steps and gradients", &**reference),
        (Some(_), None) => ("from the run's own steps and gradients", why),
        (None, Some(reference)) => (why, &**reference),
        (None, None) => (why, ""),
    };
    let certificate = match report.certificate {
        Some(value) if value < 0.0 => "negative: it beat every one of them, by at least this much",
        Some(_) if says_nothing(report) => "says nothing: it is no smaller than the risk itself",
        Some(_) => "proved for this very stream, whatever made it",
        None if !report.contradictions.is_empty() => {
            "withheld, because it contradicts another proof"
        }
        None => "the comparators are not bounded",
    };
    let mut rows =
        vec![vec![String::new(), "per round".to_owned(), "total".to_owned(), String::new()]];
    let name = if let (Some(regret), Some(found)) = (report.regret, &report.hindsight) {
        rows.push(rung(
            "exact regret, at least",
            Some(Figure::at_least(regret.lower)),
            &solved(found),
        ));
        rows.push(rung("and at most", Some(Figure::at_most(regret.upper)), ""));
        "≤ certificate"
    } else {
        "certificate"
    };
    rows.push(rung(name, upper(report.certificate), certificate));
    if report.certificate_own != report.certificate {
        let own = "the same from its own predictions, without witnesses";
        rows.push(rung("  its own", upper(report.certificate_own), own));
    }
    rows.push(rung("≤ data-dependent bound", upper(bound.data), data));
    rows.push(rung("≤ theorem", upper(bound.theorem), theorem));
    numbers_table(rows, 1..=2)
}

/// Lists the learners in the mixture whose share is worth naming, the largest share first.
fn experts(report: &Report) -> String {
    let mut heard: Vec<&Expert> = report.experts.iter().collect();
    heard.sort_by(|a, b| b.share.total_cmp(&a.share));
    let shown = heard.iter().filter(|expert| expert.share >= 0.005).count().clamp(1, 8);
    let row = |expert: &&Expert| {
        vec![expert.name.clone(), percent(expert.share), measured(expert.sequential_risk)]
    };
    let head = ["", "share now", "its own risk"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    rows.extend(heard[..shown].iter().map(row));
    let rest = &heard[shown..];
    if !rest.is_empty() {
        let share = rest.iter().map(|expert| expert.share).sum();
        rows.push(vec![format!("{} others", rest.len()), percent(share), String::new()]);
    }
    let cost = report
        .mixing_cost
        .map_or(String::new(), |cost| format!("; mixing cost at most {} per round", at_most(cost)));
    headed(&format!("Experts{cost}"), &numbers_table(rows, 1..=2))
}

/// Whether losses are never negative and the certificate is no smaller than the risk. Such a
/// certificate says nothing, because no comparator can save more than the risk.
pub(crate) fn says_nothing(report: &Report) -> bool {
    let is_empty = |certificate: f64| certificate >= report.sequential_risk;
    report.spec.loss.is_nonnegative() && report.certificate.is_some_and(is_empty)
}

/// What is proved about all comparators at once: that they were beaten, or nothing, because a bound
/// is no smaller than the whole risk. Empty text otherwise: some of the risk cannot be saved.
pub(crate) fn standing(has_beaten: bool, is_empty: bool) -> &'static str {
    match (has_beaten, is_empty) {
        (true, _) => "beat them all",
        (false, true) => "says nothing",
        (false, false) => "",
    }
}

/// Says how much the best comparator would have saved, if that was solved for and is not nothing.
fn saved(report: &Report) -> Option<String> {
    let least = report.regret.map(|regret| regret.lower).filter(|lower| *lower > 0.0)?;
    let least = at_least(least);
    Some(format!("Proved: one such predictor would have saved at least {least} per round."))
}

/// Says in a sentence or two what is proved at other radii. The result is empty if there is no
/// radius.
pub(crate) fn reach(judged: &JudgedReport) -> Vec<String> {
    let beaten = judged.beats_up_to.map(|reach| match reach {
        Reach::UpTo(radius) => {
            format!("Proved: it beat every such predictor of norm up to {}.", at_least(radius))
        }
        Reach::Every(_) => "Proved: it beat every such predictor, whatever its norm.".to_owned(),
    });
    let empty = judged.says_nothing_from.map(|radius| {
        format!(
            "From norm {} on the certificate says nothing: it is the whole risk.",
            measured(radius)
        )
    });
    beaten.into_iter().chain(empty).collect()
}

/// Says how an exact regret was found.
fn solved(found: &HindsightReport) -> String {
    let gap = at_most(found.relative_gap);
    let kept = if found.converged { "" } else { ", short of what was asked for" };
    format!("gap {gap} after {} of {}{kept}", counted(found.passes, "pass"), method(found.method))
}

/// Returns the name of a solver's method in words.
pub(crate) fn method(method: Method) -> &'static str {
    match method {
        Method::ClosedForm => "a closed form",
        Method::Newton => "Newton's method",
        Method::Multipliers => "the method of multipliers",
        Method::InteriorPoint => "an interior-point method",
        Method::DualCoordinateAscent => "dual coordinate ascent",
        Method::SufficientStatistics => "sufficient statistics",
        Method::Smoothing => "Newton's method on smoothed losses",
        Method::QuasiNewton => "a quasi-Newton method",
        Method::Bundle => "a bundle method",
    }
}

/// The points of the curve, for many classes from the first loss on: the first class costs nothing,
/// and a logarithmic axis has no 0.
pub(crate) fn since_a_loss(report: &Report) -> &[CurveReport] {
    let is_left_out =
        |point: &CurveReport| report.classes.is_some() && point.sequential_risk <= 0.0;
    let first = report.curve.iter().position(|point| !is_left_out(point));
    &report.curve[first.unwrap_or(report.curve.len())..]
}

fn curve(points: &[CurveReport]) -> String {
    let series = |name, mark, value: fn(&CurveReport) -> Option<f64>| Series {
        name,
        mark,
        points: points.iter().filter_map(|point| Some((point.t, value(point)?))).collect(),
    };
    chart::draw(&[
        series("sequential risk", '●', |point| Some(point.sequential_risk)),
        series("certificate", '○', |point| point.certificate),
        series("exact regret", '×', |point| Some(point.regret?.upper)),
    ])
}
