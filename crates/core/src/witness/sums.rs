//! The sums over the witnesses' rounds.

use super::{Each, WITNESSES};
use crate::sum::{FourSums, Sum};
use serde::{Deserialize, Serialize};

/// Sums over the rounds, for each witness.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) rounds: u64,
    /// The running value of ‖S/N‖², and below E.
    pub(super) square: Each,
    pub(super) energy: Each,
    /// Σ a²‖x/N‖²/D.
    pub(super) paid: Each,
    /// The further amounts that the theorem pays: first for importances that came late, then for a
    /// running ‖S/N‖² that was below 0 and was raised to 0.
    pub(super) excess: Each,
    pub(super) lifted: Each,
    /// The largest |y|, if labels are numbers.
    pub(super) label: f64,
    pub(super) losses: FourSums,
    /// The parts of a minorant.
    pub(super) offset: FourSums,
    pub(super) magnitude: Each,
    pub(super) length: Each,
    pub(super) breadth: Each,
}

impl Sums {
    pub(super) fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.label = self.label.max(other.label);
        self.losses.merge(other.losses);
        self.offset.merge(other.offset);
        for witness in 0..WITNESSES {
            self.energy[witness] += other.energy[witness];
            self.paid[witness] += other.paid[witness];
            self.excess[witness] += other.excess[witness];
            self.lifted[witness] += other.lifted[witness];
            self.magnitude[witness] += other.magnitude[witness];
            self.length[witness] += other.length[witness];
            self.breadth[witness] += other.breadth[witness];
        }
    }

    /// The sums of a base and of the rounds that parts of it have added. The theorem is about one
    /// learner, so it pays without limit from then on.
    pub(super) fn of_parts(base: &Self, parts: &[&Self], shares: &[f64]) -> Self {
        // E is that of the mean, from which they predict.
        let energy = |witness: usize| {
            let from = base.energy[witness];
            let moves = parts.iter().zip(shares).map(|(part, s)| s * (part.energy[witness] - from));
            (from + moves.sum::<f64>()).max(0.0)
        };
        let each = |of: fn(&Self) -> &Each| {
            std::array::from_fn(|witness| {
                let terms = parts.iter().map(|part| of(part)[witness] - of(base)[witness]);
                terms.fold(of(base)[witness], |sum, term| sum + term.max(0.0))
            })
        };
        let all = |of: fn(&Self) -> FourSums| {
            let from = <[Sum; WITNESSES]>::from(of(base));
            let mut sums = from;
            for part in parts {
                let added = <[Sum; WITNESSES]>::from(of(part)).into_iter().zip(from);
                let added = added.map(|(part, base)| part.since(base));
                sums.iter_mut().zip(added).for_each(|(sum, added)| sum.merge(added));
            }
            sums.into()
        };
        let more = parts.iter().map(|part| part.rounds - base.rounds);
        Self {
            rounds: base.rounds + more.sum::<u64>(),
            square: base.square,
            energy: std::array::from_fn(energy),
            paid: each(|sums| &sums.paid),
            excess: [f64::INFINITY; WITNESSES],
            lifted: each(|sums| &sums.lifted),
            label: parts.iter().fold(base.label, |most, part| most.max(part.label)),
            losses: all(|sums| sums.losses),
            offset: all(|sums| sums.offset),
            magnitude: each(|sums| &sums.magnitude),
            length: each(|sums| &sums.length),
            breadth: each(|sums| &sums.breadth),
        }
    }

    /// Whether they were made by `of_parts`, once or earlier.
    pub(super) fn are_of_parts(&self) -> bool {
        self.excess[0] == f64::INFINITY
    }

    pub(super) fn are_sound(&self) -> bool {
        let sizes = [
            &self.square,
            &self.energy,
            &self.paid,
            &self.excess,
            &self.lifted,
            &self.magnitude,
            &self.length,
            &self.breadth,
        ];
        let is_size = |size: &f64| (0.0..=f64::INFINITY).contains(size);
        let is_number = |sums: FourSums| (0..WITNESSES).all(|k| !sums.get(k).value().is_nan());
        sizes.into_iter().flatten().all(is_size)
            && (0.0..=f64::MAX).contains(&self.label)
            && is_number(self.losses)
            && is_number(self.offset)
    }

    /// Pays for a running ‖S/N‖² that came out below 0 and is raised to 0. By the concavity of the
    /// root, raising D² by m costs at most m/(2D) where the proof is about the tangent at D, and at most
    /// √m where it is about the root itself.
    #[cold]
    #[inline(never)]
    pub(super) fn lift(&mut self, square: Each, roots: &Each) {
        for ((lifted, square), root) in self.lifted.iter_mut().zip(square).zip(roots) {
            *lifted += raised(-square, *root);
        }
    }
}

/// What it costs to raise D² by so much. It is 0 if that is not positive, and where D is 0, all
/// predictions are 0 and there is no tangent.
pub(crate) fn raised(more: f64, root: f64) -> f64 {
    if more <= 0.0 {
        return 0.0;
    }
    if root > 0.0 { more.sqrt().max(0.5 * more / root) } else { more.sqrt() }
}
