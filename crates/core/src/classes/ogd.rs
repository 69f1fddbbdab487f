//! Online gradient descent on matrices, for the multiclass hinge.
//!
//! A matrix w has a row of weights for every class, and gives the classes the scores z = w x. Its
//! loss is that of Crammer and Singer, [1 + max_{c≠y} z_c − z_y]₊. It is 0 if the true class is
//! ahead of all others by at least 1. Otherwise, with r the other class of the largest score,
//!
//! ```text
//! w ← w − η_t (e_r − e_y) x_tᵀ,    then projected onto ‖w‖_F ≤ U,    η_t = 2U/√(2 Σ_{s≤t} ‖g_s‖²)
//! ```
//!
//! **Theorem**: for every u with ‖u‖_F ≤ U, with D = 2U the diameter of the ball,
//!
//! ```text
//! R_T(u) ≤ D²/(2η_T) + ½ Σ η_t‖g_t‖² ≤ D√(2 Σ‖g_t‖²) ≤ D·G√(2T),    ‖g_t‖ ≤ G
//! ```
//!
//! The proof is the one for vectors, because a matrix is a vector: projections only shorten
//! distances, η never grows, and Σ ‖g_t‖²/√(Σ_{s≤t} ‖g_s‖²) ≤ 2√(Σ ‖g_t‖²). Classes that have not
//! been seen have the score 0 and are never the rival. That does not increase the learner's loss,
//! and its slopes are still those of tangents.

use super::ledger::HingeRound;
use super::slopes::{ClassSlopes, OverClasses};
use super::{ClassError, MOST_CLASSES, class_of};
use crate::bound::{Bound, NoBound, Promise};
use crate::comparators::Comparators;
use crate::features::{Example, Features};
use crate::number::Positive;
use crate::rows::Rows;
use serde::{Deserialize, Serialize};

/// ‖w‖ is recomputed after this many rounds.
const REFRESH: u64 = 256;
/// The common factor is multiplied into the weights when it falls below this.
const SMALLEST: f64 = 1e-60;

/// Projected online gradient descent on matrices, in the multiclass hinge.
///
/// ```
/// use rueful_core::{Batch, Positive, set::Ball};
/// use rueful_core::classes::{ClassLedger, ClassOgd};
///
/// let mut stream = Batch::default();
/// for t in 0..600_u16 {
///     let class = t * 7 % 3;
///     stream.push(&[u32::from(class), 3], &[1.0, 1.0], f64::from(class))?;
/// }
/// let radius = Positive::new(5.0)?;
/// let (mut learner, mut ledger) = (ClassOgd::new(radius), ClassLedger::new(Ball { radius }));
/// let mut rounds = Vec::new();
/// let mut buffer = Vec::new();
/// let rows = ledger.enter(stream.rows(), &mut buffer);
/// learner.learn_rows(rows, &mut rounds)?;
/// for (example, round) in rows.iter().zip(&rounds) {
///     ledger.record_hinge(&example, round);
/// }
/// let ladder = ledger.ladder(learner.promise(ledger.comparators()), None);
/// assert!(ladder.is_in_order() && ledger.tally().mistakes() < 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassOgd {
    /// U
    radius: Positive,
    /// w = factor·weights.
    factor: f64,
    weights: ClassSlopes<[f64; 1]>,
    norm_sq: f64,
    rounds: u64,
    /// One more than the largest class so far.
    classes: u32,
    /// Σ‖g‖², Σ η‖g‖², the last η and the largest ‖g‖.
    gradients_sq: f64,
    paid: f64,
    step: f64,
    steepest: f64,
    #[serde(skip)]
    desk: Desk,
}

/// Buffers for one row.
#[derive(Debug, Clone, Default)]
struct Desk {
    scores: Vec<[f64; 1]>,
    steps: Vec<[f64; 1]>,
    slope: OverClasses<[f64; 1]>,
}

impl PartialEq for Desk {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl ClassOgd {
    /// A learner with w = 0, which stays in the ball of this radius.
    pub fn new(radius: Positive) -> Self {
        Self {
            radius,
            factor: 1.0,
            weights: ClassSlopes::new(),
            norm_sq: 0.0,
            rounds: 0,
            classes: 0,
            gradients_sq: 0.0,
            paid: 0.0,
            step: 0.0,
            steepest: 0.0,
            desk: Desk::default(),
        }
    }

    /// The number of rounds.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// One more than the largest class so far.
    pub fn classes(&self) -> u32 {
        self.classes
    }

    /// How many features have a place.
    pub fn features(&self) -> usize {
        self.weights.len()
    }

    /// The scores of the classes 0, 1, 2, … for an example. Learns nothing.
    pub fn predict(&self, x: &Features<'_>) -> Vec<f64> {
        let mut desk = Desk::default();
        self.score(&x.below(self.weights.len()), &mut desk);
        desk.scores.into_iter().map(|[score]| score).collect()
    }

    fn score(&self, x: &Features<'_>, desk: &mut Desk) {
        desk.scores.clear();
        desk.scores.resize(self.classes as usize, [0.0]);
        desk.steps.resize(self.classes as usize + 1, [0.0]);
        for (index, value) in x.iter() {
            let value = self.factor * value;
            self.weights.add_feature(index, value, &mut desk.scores, &mut desk.steps);
        }
    }

    /// Plays a round for every row. Labels must be numbers of classes. If one is not, nothing is
    /// learned from any row. A row of importance 0 is predicted, and otherwise ignored.
    pub fn learn_rows(
        &mut self,
        rows: Rows<'_>,
        rounds: &mut Vec<HingeRound>,
    ) -> Result<(), ClassError> {
        for (row, &label) in rows.labels().iter().enumerate() {
            class_of(label).ok_or(ClassError::Label { row, label })?;
        }
        self.weights.grow(rows.dimension());
        rounds.clear();
        let mut desk = std::mem::take(&mut self.desk);
        for example in rows.iter() {
            self.score(&example.features, &mut desk);
            let (class, importance) = (example.label as u32, example.importance.get());
            let scores = &desk.scores;
            let round = HingeRound::of(scores.len(), |at| scores[at][0], class, importance);
            if !example.importance.is_zero() {
                self.learn(&example, &round, &mut desk);
            }
            rounds.push(round);
        }
        self.desk = desk;
        Ok(())
    }

    fn learn(&mut self, example: &Example<'_>, round: &HingeRound, desk: &mut Desk) {
        let (truth, importance) = (example.label as u32, example.importance.get());
        self.rounds += 1;
        self.classes = self.classes.max(truth + 1);
        let gradient_sq = 2.0 * importance * importance * example.features.norm_sq();
        if let Some(rival) = round.rival.filter(|_| gradient_sq > 0.0) {
            let score = |class: u32| desk.scores.get(class as usize).map_or(0.0, |score| score[0]);
            let ahead = importance * (score(rival) - score(truth));
            self.step_against(gradient_sq, ahead);
            let by = -self.step * importance / self.factor;
            desk.slope.listed.clear();
            *desk.slope.listed_mut(rival) = [by];
            *desk.slope.listed_mut(truth) = [-by];
            self.weights.add(&desk.slope, &example.features);
            self.project();
        }
        if self.rounds.is_multiple_of(REFRESH) {
            self.refresh();
        }
    }

    /// Computes the next step size, and ‖w‖² after the step. `inner` is ⟨g, w⟩.
    fn step_against(&mut self, gradient_sq: f64, inner: f64) {
        self.gradients_sq += gradient_sq;
        self.steepest = self.steepest.max(gradient_sq.sqrt());
        self.step = self.diameter() / (2.0 * self.gradients_sq).sqrt();
        self.paid += self.step * gradient_sq;
        let next = self.norm_sq - 2.0 * self.step * inner + self.step * self.step * gradient_sq;
        self.norm_sq = next.max(0.0);
    }

    fn project(&mut self) {
        let most = self.radius.get();
        if self.norm_sq > most * most {
            self.factor *= most / self.norm_sq.sqrt();
            self.norm_sq = most * most;
        }
    }

    /// Multiplies the common factor into the weights if it is small, and recomputes ‖w‖.
    fn refresh(&mut self) {
        if self.factor < SMALLEST {
            self.weights.scale(self.factor);
            self.factor = 1.0;
        }
        self.norm_sq = (self.factor * self.weights.norm(0, |_| 1.0)).powi(2);
        self.project();
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius.get()
    }

    /// The learner's theorem. It needs comparators in a ball within its own, in the data's own
    /// units.
    pub fn promise(&self, comparators: &Comparators) -> Promise {
        let is_inside = comparators.radius().is_some_and(|radius| radius <= self.radius);
        if comparators.is_unit_free() || !is_inside {
            let radius = self.radius;
            return Promise::none(format!("its theorem is about matrices with ‖u‖ ≤ {radius}"));
        }
        let diameter = self.diameter();
        let data = if self.step > 0.0 {
            diameter * diameter / (2.0 * self.step) + 0.5 * self.paid
        } else {
            0.0
        };
        let theorem = diameter * self.steepest * (2.0 * self.rounds as f64).sqrt();
        let bound = |total: f64, formula: &str| {
            if total.is_finite() {
                Ok(Bound::new(total, formula))
            } else {
                NoBound::because("its numbers are beyond what doubles hold")
            }
        };
        Promise {
            data: bound(data, "D²/(2η_T) + ½Ση‖g‖², D = 2U"),
            theorem: bound(theorem, "D·G√(2T), D = 2U"),
        }
    }

    /// The weights of the features for the score of a class.
    pub fn weights(&self, class: u32) -> Vec<f64> {
        let mut scores = vec![[0.0]; self.classes as usize];
        let mut steps = vec![[0.0]; self.classes as usize + 1];
        let mut of = |feature: usize| {
            scores.fill([0.0]);
            self.weights.add_feature(feature, self.factor, &mut scores, &mut steps);
            scores.get(class as usize).map_or(0.0, |score| score[0])
        };
        (0..self.weights.len()).map(&mut of).collect()
    }

    /// The amounts that the features of an example add to the score of a class. They add up to the
    /// score.
    pub fn contributions(&self, x: &Features<'_>, class: u32) -> Vec<f64> {
        let known = x.below(self.weights.len());
        let mut scores = vec![[0.0]; self.classes as usize];
        let mut steps = vec![[0.0]; self.classes as usize + 1];
        let mut of = |(index, value): (usize, f64)| {
            scores.fill([0.0]);
            self.weights.add_feature(index, self.factor * value, &mut scores, &mut steps);
            scores.get(class as usize).map_or(0.0, |score| score[0])
        };
        let mut added: Vec<f64> = known.iter().map(&mut of).collect();
        added.resize(x.len(), 0.0);
        added
    }

    /// Reorders the features: place i gets the content of place `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        self.weights.rearrange(from);
    }

    /// Whether this learner, which was read from a file, can be a later state of `fresh`.
    pub fn continues(&self, fresh: &Self) -> bool {
        let sizes = [self.norm_sq, self.gradients_sq, self.paid, self.step, self.steepest];
        self.radius == fresh.radius
            && self.factor > 0.0
            && self.factor <= 1.0
            && self.classes <= MOST_CLASSES
            && self.weights.is_sound(self.classes)
            && sizes.iter().all(|size| (0.0..=f64::MAX).contains(size))
    }
}
