//! Shows the progress of a run. On a terminal it is a bar. Elsewhere it is a line at rounds 1, 2,
//! 4, 8, …, in the form that users of Vowpal Wabbit know.

use crate::predictions::Told;
use crate::{data, output};
use indicatif::ProgressBar;
use rueful_data::Source;
use rueful_run::Session;
use std::io::{self, IsTerminal, Write};

/// Shows the progress of a run in one of these ways.
pub(crate) enum Watch {
    Quiet,
    Bar(ProgressBar),
    Lines(Lines),
}

impl Watch {
    pub(crate) fn new<R: Told>(session: &Session<R>, is_quiet: bool) -> Self {
        if is_quiet || output::is_quiet() {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            Self::Bar(data::progress_bar(session.data()))
        } else {
            Self::Lines(Lines::new(session))
        }
    }

    /// Shows the progress after the last batch.
    pub(crate) fn tell<R: Told>(&mut self, session: &Session<R>, source: &dyn Source) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => {
                let progress = session.progress(source);
                bar.set_position(progress.bytes);
                bar.set_message(format!("average loss {:.4}", progress.sequential_risk));
            }
            Self::Lines(lines) => lines.tell(session, source),
        }
    }

    pub(crate) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// A round and the cumulative loss up to it.
#[derive(Debug, Clone, Copy)]
struct Moment {
    round: u64,
    loss: f64,
}

/// Prints lines at rounds that are powers of two.
pub(crate) struct Lines {
    next: u64,
    /// The round of the line before, or the round at which the run began.
    last: Moment,
    has_begun: bool,
}

const HEAD: &str = "\
average    since         example        current        current  current
loss       last          counter          label     prediction features";

impl Lines {
    fn new<R: Told>(session: &Session<R>) -> Self {
        let round = session.run().examples();
        let last = Moment { round, loss: session.run().total_loss() };
        Self { next: (round + 1).next_power_of_two(), last, has_begun: false }
    }

    fn tell<R: Told>(&mut self, session: &Session<R>, source: &dyn Source) {
        let (run, rows) = (session.run(), session.last_rows());
        let end = Moment { round: run.examples(), loss: run.total_loss() };
        if self.next > end.round {
            return;
        }
        let counted = rows.iter().enumerate().filter(|(_, row)| !row.importance.is_zero());
        let played: Vec<_> = counted.collect();
        let first = end.round + 1 - played.len() as u64;
        while (first..=end.round).contains(&self.next) {
            let at = (self.next - first) as usize;
            let after: f64 = played[at + 1..].iter().map(|(row, _)| run.loss_of(*row)).sum();
            let now = Moment { round: self.next, loss: end.loss - after };
            let (row, example) = &played[at];
            let shown = run.shown(*row, example.label, source);
            self.say(now, &shown, example.features.len());
            self.next *= 2;
        }
    }

    fn say(&mut self, now: Moment, (label, prediction): &(String, String), features: usize) {
        let average = now.loss / now.round as f64;
        let since = (now.loss - self.last.loss) / (now.round - self.last.round) as f64;
        let head = if self.has_begun { String::new() } else { format!("{HEAD}\n") };
        let line = format!(
            "{average:<10.6} {since:<10.6} {:>10} {label:>14} {prediction:>14} {features:>8}",
            now.round
        );
        // A lost line must not stop a run.
        let _ = writeln!(io::stderr(), "{head}{line}");
        (self.last, self.has_begun) = (now, true);
    }
}
