//! A run in windows, each judged alone.
//!
//! How long a stream is nobody knows beforehand. So windows begin short, and whenever there are too
//! many, each two become one: ledgers of neighbouring parts add up. Windows of a length that was
//! asked for stay as they are.

use crate::args::RunArgs;
use rueful_core::ledger::Ledger;
use rueful_core::{Batch, Round};
use rueful_page::Window;
use rueful_run::Run;
use std::num::NonZeroU64;

/// The most windows whose length is not asked for, and how many bytes their ledgers may take
/// before there are fewer.
const WINDOWS_MAX: usize = 30;
const WINDOWS_MIN: usize = 4;
const BYTES_MAX: usize = 64 << 20;

/// How long windows are in the beginning.
const SHORTEST: u64 = 10;

/// The windows of a run.
pub(crate) struct Windows {
    length: u64,
    is_fixed: bool,
    fresh: Ledger,
    /// The window that is being filled, and the round before its first.
    open: Ledger,
    start: u64,
    /// Windows that may still be put together.
    loose: Vec<Part>,
    closed: Vec<Window>,
}

struct Part {
    from: u64,
    to: u64,
    ledger: Ledger,
}

impl Part {
    fn window(&self) -> Window {
        let ledger = &self.ledger;
        let certificate = ledger.per_round(ledger.certificate(ledger.comparators()));
        Window {
            from: self.from,
            to: self.to,
            risk: ledger.sequential_risk(),
            certificate: certificate.is_finite().then_some(certificate),
        }
    }
}

impl Windows {
    /// Nothing, if there is no page to show them.
    pub(crate) fn new(run: &Run, args: &RunArgs) -> Option<Self> {
        let length = args.keep.window.map(NonZeroU64::get);
        let spec = run.spec();
        let fresh = Ledger::regularized(spec.comparators.clone(), spec.sigma);
        args.keep.report.as_ref().map(|_| Self {
            length: length.unwrap_or(SHORTEST),
            is_fixed: length.is_some(),
            open: fresh.clone(),
            fresh,
            start: run.ledger().rounds(),
            loose: Vec::new(),
            closed: Vec::new(),
        })
    }

    /// Takes in the rounds of a batch, which are finite, for the ledger of the run took them.
    pub(crate) fn tell(&mut self, batch: &Batch, rounds: &[Round]) {
        for (example, round) in batch.iter().zip(rounds) {
            if self.open.record(&example, round).is_ok() && self.open.rounds() >= self.length {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let ledger = std::mem::replace(&mut self.open, self.fresh.clone());
        let (from, to) = (self.start + 1, self.start + ledger.rounds());
        self.start = to;
        let part = Part { from, to, ledger };
        if self.is_fixed {
            self.closed.push(part.window());
            return;
        }
        self.loose.push(part);
        if self.loose.len() >= self.most() {
            self.put_together();
        }
    }

    /// How many windows there may be.
    fn most(&self) -> usize {
        let largest = self.loose.iter().map(|part| part.ledger.minorant().slopes().len()).max();
        (BYTES_MAX / (8 * largest.unwrap_or(1).max(1))).clamp(WINDOWS_MIN, WINDOWS_MAX)
    }

    /// Of each two windows one is made.
    fn put_together(&mut self) {
        let mut parts = std::mem::take(&mut self.loose).into_iter();
        while let Some(mut part) = parts.next() {
            if let Some(next) = parts.next() {
                join(&mut part, &next);
            }
            self.loose.push(part);
        }
        self.length *= 2;
    }

    /// The windows; what is left over at the end is added to the last one if it is short.
    pub(crate) fn finish(mut self) -> Vec<Window> {
        let is_short = self.open.rounds() < self.length / 2;
        if self.open.rounds() > 0 {
            self.close();
        }
        if is_short && let (true, Some(rest)) = (self.loose.len() > 1, self.loose.pop()) {
            self.loose.iter_mut().next_back().into_iter().for_each(|last| join(last, &rest));
        }
        self.closed.extend(self.loose.iter().map(Part::window));
        self.closed
    }
}

fn join(part: &mut Part, next: &Part) {
    // Of the same run, ledgers have the same σ.
    if part.ledger.merge(&next.ledger).is_ok() {
        part.to = next.to;
    }
}
