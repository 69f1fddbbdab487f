//! The shares of the learners that a run mixes, over time: which of them was trusted when.

use rueful_core::learner::Expert;
use serde::{Deserialize, Serialize};

/// The number of moments at which every other moment is forgotten.
const MOMENTS_MAX: usize = 128;

/// The shares at evenly spaced moments. Where the stream changes, they move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharesReport {
    /// The names of the learners.
    pub names: Vec<String>,
    /// The moments, in order.
    pub moments: Vec<Moment>,
}

/// The shares at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The number of rounds so far.
    pub t: u64,
    /// The share of every learner, in the order of the names.
    pub shares: Vec<f64>,
}

/// The shares so far, and the stride between moments. A moment is recorded whenever the number of
/// rounds is a multiple of the stride, however the rows come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shares {
    stride: u64,
    report: SharesReport,
}

impl Shares {
    /// The shares of a run before its first round.
    pub(crate) fn new() -> Self {
        Self { stride: 1, report: SharesReport { names: Vec::new(), moments: Vec::new() } }
    }

    /// The number of rounds until the next moment.
    pub(crate) fn until_next(&self, rounds: u64) -> u64 {
        self.stride - rounds % self.stride
    }

    /// Records the shares after so many rounds, if this is a moment.
    pub(crate) fn look(&mut self, rounds: u64, experts: impl FnOnce() -> Vec<Expert>) {
        // Rows of importance 0 are no rounds, and a moment is recorded only once.
        let latest = self.report.moments.last().map_or(0, |moment| moment.t);
        if rounds <= latest || !rounds.is_multiple_of(self.stride) {
            return;
        }
        self.report.add(rounds, &experts());
        if self.report.moments.len() >= MOMENTS_MAX {
            self.stride *= 2;
            let stride = self.stride;
            self.report.moments.retain(|moment| moment.t.is_multiple_of(stride));
        }
    }

    /// All moments, and the last round.
    pub(crate) fn report(&self, rounds: u64, experts: &[Expert]) -> SharesReport {
        let mut report = self.report.clone();
        if rounds > report.moments.last().map_or(0, |moment| moment.t) {
            report.add(rounds, experts);
        }
        report
    }

    /// Whether these shares, read from somewhere, can be those of a run of so many rounds.
    pub(crate) fn is_sound(&self, rounds: u64) -> bool {
        let SharesReport { names, moments } = &self.report;
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        let is_moment = |moment: &Moment| {
            moment.shares.len() == names.len() && moment.shares.iter().all(is_share)
        };
        self.stride.is_power_of_two()
            && moments.len() < MOMENTS_MAX
            && moments.iter().all(is_moment)
            && moments.iter().all(|moment| moment.t.is_multiple_of(self.stride))
            && moments.is_sorted_by(|a, b| a.t < b.t)
            && moments.last().is_none_or(|moment| moment.t <= rounds)
    }
}

impl SharesReport {
    /// Adds a moment. Learners come and go: one that is not there has the share 0.
    fn add(&mut self, t: u64, experts: &[Expert]) {
        for expert in experts {
            if !self.names.contains(&expert.name) {
                self.names.push(expert.name.clone());
                self.moments.iter_mut().for_each(|moment| moment.shares.push(0.0));
            }
        }
        let share = |name: &String| {
            let found = experts.iter().find(|expert| expert.name == *name);
            let is_share = |share: &f64| (0.0..=1.0).contains(share);
            found.map(|expert| expert.share).filter(is_share).unwrap_or(0.0)
        };
        self.moments.push(Moment { t, shares: self.names.iter().map(share).collect() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expert(name: &str, share: f64) -> Expert {
        Expert { name: name.to_owned(), share, sequential_risk: 1.0 }
    }

    #[test]
    fn moments_are_even_and_bounded_and_newcomers_had_no_share() {
        let mut shares = Shares::new();
        for t in 1..=10_000 {
            let late = (t > 5000).then(|| expert("late", 0.25));
            shares.look(t, || [expert("early", 0.75)].into_iter().chain(late).collect());
            assert_eq!(shares.until_next(t) + t, (t / shares.stride + 1) * shares.stride);
        }
        assert!(shares.is_sound(10_000) && !shares.is_sound(5000));
        let report = shares.report(10_001, &[expert("late", 1.0)]);
        assert_eq!(report.names, ["early", "late"]);
        assert!((60..=MOMENTS_MAX).contains(&report.moments.len()));
        assert_eq!(report.moments[0].shares, [0.75, 0.0]);
        assert_eq!(report.moments.last().unwrap().shares, [0.0, 1.0]);
    }
}
