//! The passes of a run after the first.

use crate::numbers::{count, counted, measured, percent};
use crate::output;
use crate::view::{headed, numbers_table};
use anyhow::bail;
use rueful_data::{DataError, Source};
use rueful_run::{DataSpec, Learning, PassReport, PassesReport, Report, Session};

/// Refuses several passes over data that can be read only once.
pub(crate) fn check(data: &DataSpec, follows: bool) -> anyhow::Result<()> {
    if !data.passes.is_some_and(|passes| passes.are_several()) {
        return Ok(());
    }
    if follows {
        bail!("--passes reads the data several times, and a stream that is followed has no end");
    }
    if let Some(file) = data.once_only() {
        let file = if file == "-" { "standard input" } else { file };
        bail!("--passes reads the data several times, and {file} can be read only once");
    }
    Ok(())
}

/// Learns from the data in further passes, until there are enough or `is_told` returns true.
pub(crate) fn go_on<R: Learning + Clone>(
    session: &mut Session<R>,
    mut reopen: impl FnMut() -> Result<Box<dyn Source>, DataError>,
    is_told: impl Fn() -> bool,
) -> anyhow::Result<()> {
    while !is_told() && session.next_pass() {
        let mut source = reopen()?;
        while session.study(&mut *source)? {
            if is_told() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The section of a report about its passes.
pub(crate) fn section(report: &Report) -> String {
    let Some(passes) = &report.passes else { return String::new() };
    let mut text = format!("Passes\n  {}\n", sentence(passes));
    if !passes.held_out.is_empty() {
        text += &headed(&held_out_title(passes), &table(passes));
    }
    text + "\n"
}

fn sentence(passes: &PassesReport) -> String {
    let first = "all numbers above are about the first pass";
    match (passes.made, passes.best) {
        (1, _) => "one pass".to_owned(),
        (made, Some(best)) => {
            let early = if passes.stopped_early { ", no more of them helped" } else { "" };
            format!(
                "{made} of {} made{early}; the model is that of pass {best}; {first}",
                passes.planned
            )
        }
        (made, None) => format!(
            "{made} of {} made; {first}, and no rows are held out that could judge the model",
            passes.planned
        ),
    }
}

fn held_out_title(passes: &PassesReport) -> String {
    let every = passes.every.map_or(0, std::num::NonZeroU64::get);
    format!(
        "One row of {} was held out, predicted in its turn, and never learned from",
        count(every)
    )
}

fn table(passes: &PassesReport) -> comfy_table::Table {
    let classifies = passes.held_out.iter().any(|pass| pass.error_rate.is_some());
    let mut title = vec!["pass".to_owned(), "rows".to_owned(), "loss".to_owned()];
    title.extend(classifies.then(|| "errors".to_owned()));
    let row = |pass: &PassReport| {
        let shown = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let loss = shown(pass.loss.map(measured));
        let mut row = vec![pass.pass.to_string(), count(pass.examples), loss];
        row.extend(classifies.then(|| shown(pass.error_rate.map(percent))));
        row
    };
    let mut rows = vec![title];
    rows.extend(passes.held_out.iter().map(row));
    let last = 2 + usize::from(classifies);
    numbers_table(rows, 0..=last)
}

/// Tells how far a run has come that was interrupted.
pub(crate) fn tell_interrupted(report: &Report) {
    output::note(&match report.passes.as_ref().filter(|passes| passes.made > 1) {
        Some(passes) => format!("interrupted in pass {} of {}", passes.made, passes.planned),
        None => {
            let examples = counted(report.examples, "example");
            format!("interrupted: this is about the first {examples}")
        }
    });
}
