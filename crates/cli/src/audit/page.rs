//! `--report` and `--plot`: the audit as a page and as a picture.

use super::view::{comparators, has_files, says_nothing, verdict};
use crate::args::PictureArgs;
use crate::figures;
use crate::numbers::{count, counted, measured, percent};
use crate::page::{self, Document, disagreements, file_title};
use rueful_core::Positive;
use rueful_page::{Comparison, Fact, Interval, Page, Radius, Rival, Rung, RungKind};
use rueful_run::{AuditReport, ModelReport, NamedReport};

/// Collects everything that the page of an audit of one model shows.
pub(super) fn only(report: &AuditReport) -> Page {
    one(report, &report.first)
}

/// Writes the page and the picture that are asked for.
pub(super) fn write(report: &AuditReport, asked: &PictureArgs) -> anyhow::Result<()> {
    match &report.models[..] {
        [] => page::write_all(&Document::One(&only(report)), asked),
        [only] => page::write_all(&Document::One(&one(report, &only.report)), asked),
        models => page::write_all(&Document::Several(&several(report, models)), asked),
    }
}

fn title(report: &AuditReport) -> String {
    if has_files(report) {
        format!("Audit on {}", file_title(&report.data))
    } else {
        "Audit".to_owned()
    }
}

fn subtitle(report: &AuditReport) -> String {
    let (loss, examples) = (&report.loss, counted(report.first.examples, "example"));
    if has_files(report) {
        format!("Predictions of {}; loss: {loss}. {examples}.", report.predictions)
    } else {
        format!("Loss: {loss}. {examples}.")
    }
}

/// Returns everything that the audit was asked for.
fn spec(report: &AuditReport) -> serde_json::Value {
    let AuditReport { loss, link, comparators, is_judged, window, data, predictions, .. } = report;
    let mut spec = serde_json::json!({
        "loss": loss, "link": link, "comparators": comparators, "judge": is_judged,
        "window": window,
    });
    if has_files(report) {
        spec["data"] = serde_json::json!(data);
        spec["predictions"] = serde_json::json!(predictions);
    }
    spec
}

fn data(report: &AuditReport) -> Vec<(String, String)> {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let mut rows = Vec::new();
    if has_files(report) {
        rows.push(row("files", report.data.files.join(", ")));
        rows.push(row("predictions", report.predictions.clone()));
        rows.push(row("format", report.data.schema.name().to_owned()));
    }
    rows.push(row("examples", count(report.first.examples)));
    rows.push(row("features", count(report.features)));
    rows
}

fn several(report: &AuditReport, models: &[NamedReport]) -> Comparison {
    let mut rivals: Vec<Rival> = models.iter().map(|model| rival(report, model)).collect();
    rivals.sort_by(|a, b| a.risk.total_cmp(&b.risk));
    Comparison {
        title: title(report),
        subtitle: subtitle(report),
        comparators: comparators(report),
        is_nonnegative: report.loss.is_nonnegative(),
        facts: Vec::new(),
        rivals,
        parameters: Vec::new(),
        data: data(report),
        notes: disagreements(&report.contradictions),
        origin: page::origin(&spec(report)),
    }
}

fn rival(report: &AuditReport, NamedReport { name, report: model }: &NamedReport) -> Rival {
    Rival {
        name: name.clone(),
        what: in_one_line(&verdict(report, model)),
        risk: model.sequential_risk,
        mistake_rate: model.mistake_rate,
        figures: model.figures.as_ref().map_or_else(Vec::new, figures::values),
        certificate: model.certificate,
        regret: model.regret.map(page::interval),
        curve: model.curve.iter().map(|point| (point.t, point.sequential_risk)).collect(),
        windows: model.windows.iter().map(page::window).collect(),
    }
}

/// Joins the lines of a verdict, which is broken into lines for a terminal.
pub(super) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn one(report: &AuditReport, model: &ModelReport) -> Page {
    let mut notes = vec![in_one_line(&verdict(report, model))];
    notes.extend(disagreements(&report.contradictions));
    Page {
        title: title(report),
        subtitle: subtitle(report),
        comparators: comparators(report),
        facts: facts(report, model),
        figures: [
            model.figures.as_ref().map_or_else(Vec::new, figures::pairs),
            report.classes.as_ref().map_or_else(Vec::new, crate::classes::pairs),
        ]
        .concat(),
        curve: model.curve.iter().map(page::point).collect(),
        baseline: model.figures.as_ref().and_then(page::baseline),
        is_nonnegative: report.loss.is_nonnegative(),
        calibration: model.figures.as_ref().map_or_else(Vec::new, page::calibration),
        origin: page::origin(&spec(report)),
        ladder: ladder(report, model),
        radii: radii(model),
        own_radius: report.comparators.radius().map(Positive::get),
        beaten_up_to: model.judged.beats_up_to.map(page::reach),
        says_nothing_from: model.judged.says_nothing_from,
        windows: model.windows.iter().map(page::window).collect(),
        data: data(report),
        notes,
        ..Page::default()
    }
}

fn facts(report: &AuditReport, model: &ModelReport) -> Vec<Fact> {
    let fact = |label: &str, value: String, note: &str| Fact {
        label: label.to_owned(),
        value,
        note: Some(note.to_owned()),
    };
    let note = format!("average {} loss, as the predictions were written", report.loss.name());
    let mut facts = vec![fact("sequential risk", measured(model.sequential_risk), &note)];
    let is_empty = says_nothing(report, model);
    facts.extend(model.certificate.map(|certificate| page::certified(certificate, is_empty)));
    facts.extend(model.regret.map(|regret| page::regretted(regret.upper)));
    facts.extend(model.mistake_rate.map(|rate| {
        let mistakes = (rate * model.examples as f64).round() as u64;
        let note = format!("{} of {}", count(mistakes), count(model.examples));
        fact("mistakes", percent(rate), &note)
    }));
    facts
}

/// The exact regret and the certificate. There is no rung above them, because nothing is known
/// about how the model learns.
fn ladder(report: &AuditReport, model: &ModelReport) -> Vec<Rung> {
    let rung = |kind, value, meaning: &str| Rung { kind, value, meaning: meaning.to_owned() };
    let regret = model.regret.map(|regret| {
        let meaning = "against the best of them, solved for afterwards";
        rung(RungKind::Regret, Some(page::interval(regret)), meaning)
    });
    let proved = if says_nothing(report, model) {
        "says nothing: it is no smaller than the risk itself"
    } else {
        "proved for these very predictions, whatever made them"
    };
    let certificate = model.certificate.map(Interval::from);
    regret.into_iter().chain([rung(RungKind::Certificate, certificate, proved)]).collect()
}

fn radii(model: &ModelReport) -> Vec<Radius> {
    let certified = model.judged.radii.iter();
    certified
        .filter_map(|one| Some(Radius { radius: one.radius, certificate: one.certificate? }))
        .collect()
}
