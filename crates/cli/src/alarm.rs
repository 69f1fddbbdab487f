//! `--alarm`: the messages about windows in which some predictor was provably better, and the exit
//! code.

use crate::numbers::{Figure, at_least, count, counted, measured};
use crate::view;
use anyhow::bail;
use rueful_run::{Alarm, AlarmReport, WindowReport};
use serde::Serialize;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::process::ExitCode;

/// The exit code of a command that raised an alarm.
const RAISED: u8 = 4;

/// The report lists at most this many windows.
const LISTED: usize = 20;

/// Checks `--alarm` and `--window`, and returns the alarm if one is asked for.
pub(crate) fn asked(
    threshold: Option<f64>,
    window: Option<NonZeroU64>,
) -> anyhow::Result<Option<Alarm>> {
    match (threshold, window) {
        (None, _) => Ok(None),
        (Some(threshold), _) if !threshold.is_finite() => {
            bail!("--alarm: {threshold} is not a regret per round, which is a finite number")
        }
        (Some(_), None) => bail!("--alarm watches windows: say how long they are, with --window N"),
        (Some(threshold), Some(window)) => Ok(Some(Alarm { threshold, window })),
    }
}

/// Prints to the standard error that a window raised an alarm.
pub(crate) fn say(alarm: &Alarm, raised: &AlarmReport) {
    let of = raised.model.as_ref().map_or(String::new(), |model| format!("{model}, "));
    let (from, to) = (count(raised.from), count(raised.to));
    let (lower, threshold) = (at_least(raised.regret.lower), measured(alarm.threshold));
    // A lost line must not stop a run.
    let _ = writeln!(
        io::stderr(),
        "alarm: {of}rounds {from} to {to}: the regret is at least {lower} per round, above {threshold}"
    );
}

/// Prints the alarms of windows as the windows close.
pub(crate) struct Teller {
    alarm: Alarm,
    told: usize,
}

impl Teller {
    /// Makes a teller for the windows that close after these.
    pub(crate) fn new(alarm: Alarm, closed: &[WindowReport]) -> Self {
        Self { alarm, told: closed.len() }
    }

    /// Prints the alarms of the windows that have closed since the last call.
    pub(crate) fn tell(&mut self, closed: &[WindowReport]) {
        let raised = closed[self.told..].iter();
        raised.filter_map(|window| self.alarm.raised_by(window)).for_each(|raised| {
            say(&self.alarm, &raised);
        });
        self.told = closed.len();
    }
}

/// A report together with its windows, alarms and groups, for JSON.
#[derive(Serialize)]
pub(crate) struct Watched<'a, R, G> {
    #[serde(flatten)]
    pub(crate) report: &'a R,
    /// Present if the report itself has no windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) windows: Option<&'a [WindowReport]>,
    /// Present if an alarm was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alarms: Option<&'a [AlarmReport]>,
    /// Present if examples are grouped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) groups: Option<&'a [G]>,
}

/// The exit code of a command that raised these alarms. A resumed run ignores windows within its
/// first `before` examples, because an earlier command has raised their alarms.
pub(crate) fn code(raised: Option<&[AlarmReport]>, before: u64, otherwise: ExitCode) -> ExitCode {
    let is_new = |raised: &AlarmReport| raised.to > before;
    if raised.is_some_and(|raised| raised.iter().any(is_new)) { RAISED.into() } else { otherwise }
}

/// The section of the report that lists the windows that raised an alarm.
pub(crate) fn section(alarm: &Alarm, raised: &[AlarmReport]) -> String {
    let (length, threshold) = (counted(alarm.window.get(), "example"), measured(alarm.threshold));
    let title =
        format!("Alarm: windows of {length} with an exact regret above {threshold} per round");
    if raised.is_empty() {
        return format!("{title}\n  none\n\n");
    }
    let mut rows = vec![["examples", "at least", "at most", ""].map(str::to_owned).to_vec()];
    rows.extend(raised.iter().take(LISTED).map(|raised| {
        vec![
            format!("{} to {}", count(raised.from), count(raised.to)),
            Figure::at_least(raised.regret.lower).to_string(),
            Figure::at_most(raised.regret.upper).to_string(),
            raised.model.clone().unwrap_or_default(),
        ]
    }));
    if raised.len() > LISTED {
        let more = count((raised.len() - LISTED) as u64);
        rows.push(vec![format!("and {more} more; --json lists all")]);
    }
    view::headed(&title, &view::numbers_table(rows, 1..=2))
}
