//! The judge: a certificate that does not depend on how a model learns.
//!
//! The slopes of a good model leave ‖S‖ large, so its own tangents give a poor lower bound.
//! Witnesses that stay in the ball bound the loss of the comparators better, and the model's loss
//! is compared with that bound:
//! ```text
//! R_T(U) ≤ L_T − max_j ( Σ (φ(p_j) − a_j p_j) − U·Y·‖S_j/N‖ )
//! ```
//!
//! This holds for every U, even one that is chosen afterwards. The witnesses see only features and
//! labels, so the same judge serves a run, an audit of somebody else's model, and a part of either.

use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::ledger::Testimony;
use crate::loss::{AnyLoss, Loss};
use crate::rows::Rows;
use crate::witness::{UNIT_FREE_RADII, Witnesses};
use rueful_machine::{Kernel, Registers, widest};
use serde::{Deserialize, Serialize};

/// Witnesses of some rounds that do not belong to a learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judge {
    /// Each has four radii.
    witnesses: Vec<Witnesses<AnyLoss>>,
}

/// What witnesses keep for so many features is near the processor anyway.
const NEAR: usize = 1 << 10;

/// The loop that takes in some rows.
struct Observe<'a, 'b> {
    witnesses: &'a mut Witnesses<AnyLoss>,
    rows: Rows<'b>,
}

impl Kernel for Observe<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let is_far = self.witnesses.dimension() > NEAR;
        for row in 0..self.rows.len() {
            let example = self.rows.get(row);
            let is_next = is_far && row + 1 < self.rows.len();
            let ahead = if is_next { self.rows.get(row + 1).features.indices() } else { &[] };
            if !example.importance.is_zero() {
                self.witnesses.observe::<R::Four>(&example, ahead);
            }
        }
    }
}

impl Judge {
    /// A judge of the regret against these comparators. `has_usual` says that the usual witnesses
    /// exist already. `None` if the judge could add nothing, or if the comparators are not a ball.
    ///
    /// Unit-free, it has the radii 1, 3, 10, 30, and four more around a radius that is not among
    /// these. In the data's own units it has U/10, U/3, U, 3U.
    pub fn new(loss: &AnyLoss, comparators: &Comparators, has_usual: bool) -> Option<Self> {
        let radius = comparators.radius()?.get();
        let around = |factors: [f64; 4]| factors.map(|factor| factor * radius);
        let mut radii = Vec::new();
        if !comparators.is_unit_free() {
            radii.push(around([0.1, 1.0 / 3.0, 1.0, 3.0]));
        } else {
            if !has_usual {
                radii.push(UNIT_FREE_RADII);
            }
            if !UNIT_FREE_RADII.contains(&radius) {
                radii.push(around([0.5, 1.0, 2.0, 4.0]));
            }
        }
        // For linear losses the certificate is the regret itself.
        if radii.is_empty() || loss.is_linear() {
            return None;
        }
        let make = |radii| Witnesses::new(*loss, comparators.is_unit_free(), radii);
        Some(Self { witnesses: radii.into_iter().map(make).collect() })
    }

    /// Takes in rows by the cells of the ledger that it judges with.
    pub fn observe_rows(&mut self, rows: Rows<'_>) {
        for witnesses in &mut self.witnesses {
            witnesses.grow(rows.dimension());
            widest(Observe { witnesses, rows });
        }
    }

    /// The lower bounds that it proves for the comparators, from all rounds so far.
    pub fn testify(
        &self,
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
    ) -> Vec<Testimony> {
        let witnesses = self.witnesses.iter();
        witnesses.flat_map(|four| four.testify(comparators, coordinates)).collect()
    }

    /// Moves the cells: cell i gets the value at `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        self.witnesses.iter_mut().for_each(|witnesses| witnesses.rearrange(from));
    }

    /// Takes in a judge of other rounds, by the same cells.
    pub fn merge(&mut self, other: &Self) {
        for (own, theirs) in self.witnesses.iter_mut().zip(&other.witnesses) {
            own.merge(theirs);
        }
    }

    /// Whether this, which may be read from anywhere, can be a state of `fresh` after `rounds`
    /// rounds.
    pub fn continues(&self, fresh: &Self, rounds: u64) -> bool {
        let goes_on = |(own, fresh): (&Witnesses<AnyLoss>, &Witnesses<AnyLoss>)| {
            own.continues(fresh) && own.rounds() == rounds
        };
        self.witnesses.len() == fresh.witnesses.len()
            && self.witnesses.iter().zip(&fresh.witnesses).all(goes_on)
    }

    /// How many bytes a cell takes.
    pub fn bytes_per_cell(&self) -> usize {
        40 * self.witnesses.len()
    }
}
