//! FTRL-proximal: a step size for every coordinate, and weights that are exactly 0.
//!
//! ```text
//! w_{t+1} = argmin_w  Σ_{s≤t} g_s·w + λ‖w‖₁ + ½ Σ_i ((β/α) w_i² + Σ_{s≤t} σ_{s,i} (w_i − w_{s,i})²)
//! σ_{t,i} = (r_{t,i} − r_{t−1,i})/α,    r_{t,i} = √(Σ_{s≤t} g_{s,i}²),    β = 1
//! ```
//!
//! (McMahan et al., *Ad Click Prediction*, 2013.) The problem separates into coordinates. With
//! z_i = Σ (g_{s,i} − σ_{s,i} w_{s,i}) and the rate η_i = α/(β + r_i), w_i is 0 where |z_i| ≤ λ,
//! and η_i(±λ − z_i), with the sign of z_i, elsewhere. A round changes only the coordinates of x.
//!
//! The following is proved about the loss without λ‖w‖₁, for every u, with P = Σ_{t,i} σ_{t,i}
//! w_{t,i}²:
//!
//! ```text
//! R_T(u) ≤ λ‖u‖₁ + ½(√(Σ_i u_i²/η_{T,i}) + √P)² + ½ Σ_{t,i} η_{t,i} g_{t,i}²
//! ```
//!
//! Let h_t be the function that w_{t+1} minimises. Beside g_t·w, round t adds terms whose minimum
//! is at w_t. So g_t is a slope of h_t at w_t. Since h_t has curvature 1/η_{t,i}, it follows that
//! h_t(w_t) − h_t(w_{t+1}) ≤ ½ Σ_i η_{t,i} g_{t,i}². The sum over all rounds gives
//! h_T(u) ≥ h_T(w_{T+1}) ≥ Σ g_t·w_t − ½ Σ η_{t,i} g_{t,i}². Here h_T(u) is the sum of Σ g_t·u, of
//! λ‖u‖₁ (once, not in every round) and of half of (β/α)‖u‖² + Σ σ(u − w)², which by Minkowski's
//! inequality is at most the square above.
//!
//! There is no bound from α, T and G alone: P depends on the run's own weights, and no set keeps
//! them small.

use super::steps::finite_bound;
use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round, Take,
};
use crate::bound::{Bound, NoBound};
use crate::exact::ExactSum;
use crate::loss::{AnyLoss, Loss, with_usual_loss};
use crate::number::{NonNegative, Positive};
use crate::request::{Asked, Refusal, Request};
use crate::round::Objective;
use crate::set::FeasibleSet;
use crate::sum::Sum;
use crate::vector;
use serde::{Deserialize, Serialize};

/// β, in the units of a gradient. Before the first gradients the rate is α/β.
const BETA: f64 = 1.0;

/// FTRL-proximal with per-coordinate rates α/(β + √Σg²) and the regulariser λ‖w‖₁.
///
/// ```
/// use rueful_core::{Batch, NonNegative, Positive, learner::{Ftrl, Learner}, loss::Linear};
///
/// let mut stream = Batch::default();
/// stream.push(&[0, 1], &[3.0, 1.0], -1.0)?;
/// let mut ftrl = Ftrl::new(Linear {}, Positive::new(2.0)?, NonNegative::new(1.0)?);
/// ftrl.grow(stream.dimension());
/// ftrl.learn(&stream.get(0));
/// assert_eq!(ftrl.weights(), [1.0, 0.0]); // (3 − λ)·α/(β + 3), and a sum that is not above λ
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ftrl<L> {
    loss: L,
    alpha: Positive,
    l1: NonNegative,
    /// w_t, which is a function of the cells.
    weights: Vec<f64>,
    cells: Vec<Cell>,
    rounds: u64,
    /// P = Σ σ_{t,i} w_{t,i}²
    drawn: Sum,
    /// Σ η_{t,i} g_{t,i}²
    energy: Sum,
}

/// The state of one coordinate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Cell {
    /// z = Σ (g_t − σ_t w_t)
    sum: f64,
    /// r = √Σ g_t²
    root: f64,
}

impl Cell {
    /// Whether this coordinate ever had a gradient.
    fn is_touched(&self) -> bool {
        *self != Self::default()
    }

    fn is_sound(&self) -> bool {
        self.sum.is_finite() && (0.0..=f64::MAX).contains(&self.root)
    }
}

impl<L: Loss> Ftrl<L> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, alpha: Positive, l1: NonNegative) -> Self {
        Self {
            loss,
            alpha,
            l1,
            weights: Vec::new(),
            cells: Vec::new(),
            rounds: 0,
            drawn: Sum::default(),
            energy: Sum::default(),
        }
    }

    /// η = α/(β + r)
    #[inline]
    fn rate(&self, root: f64) -> f64 {
        self.alpha.get() / (BETA + root)
    }

    /// The weight that belongs to a sum z and a rate η.
    #[inline]
    fn weight(&self, sum: f64, rate: f64) -> f64 {
        let l1 = self.l1.get();
        if sum.abs() <= l1 { 0.0 } else { rate * (l1.copysign(sum) - sum) }
    }

    /// Updates with the gradient a·x, coordinate by coordinate.
    #[inline]
    fn step(&mut self, slope: f64, x: &Features<'_>) {
        let inverse_alpha = 1.0 / self.alpha.get();
        let (mut drawn, mut energy) = (0.0, 0.0);
        for (i, x) in x.iter() {
            let (Cell { sum, root: before }, w) = (self.cells[i], self.weights[i]);
            let g = slope * x;
            // Rounding must not make a root smaller. The proof needs σ ≥ 0, and it needs nothing
            // else of σ.
            let root = (before * before + g * g).sqrt().max(before);
            let growth = (root - before) * inverse_alpha;
            let rate = self.rate(root);
            drawn += growth * w * w;
            energy += rate * g * g;
            let sum = sum + (g - growth * w);
            self.cells[i] = Cell { sum, root };
            self.weights[i] = self.weight(sum, rate);
        }
        self.drawn.add(drawn);
        self.energy.add(energy);
    }

    /// The largest ‖u‖₁ and the largest √(Σ u_i²/η_i) over the comparators, on the coordinates that
    /// had a gradient. The other coordinates do not matter, since u_i = 0 is as good there. Each of
    /// the two is the smaller of two bounds: one from the norms of the comparators, one from the
    /// extents of their coordinates.
    fn farthest(&self, comparators: &AnySet, reach: f64) -> (f64, f64) {
        let (mut count, mut steepest) = (0_u64, 0.0_f64);
        let (mut lengths, mut stretches) = (ExactSum::default(), ExactSum::default());
        for (i, cell) in self.cells.iter().enumerate().filter(|(_, cell)| cell.is_touched()) {
            let (lower, upper) = comparators.extent(i);
            let size = lower.abs().max(upper.abs());
            let inverse_rate = 1.0 / self.rate(cell.root);
            count += 1;
            steepest = steepest.max(inverse_rate);
            lengths.add(size);
            stretches.add_product(size * inverse_rate, size);
        }
        let length = (reach * (count as f64).sqrt()).min(lengths.value());
        (length, (reach * steepest.sqrt()).min(stretches.root()))
    }

    /// The bound above, for the worst u.
    fn data_bound(&self, comparators: &AnySet, reach: f64) -> Result<Bound, NoBound> {
        let (drawn, energy) = (self.drawn.value(), self.energy.value());
        if !(drawn + energy).is_finite() {
            return NoBound::because("the squares of some gradients are too large for a number");
        }
        let (length, stretch) = self.farthest(comparators, reach);
        let l1 = self.l1.get();
        let penalty = if l1 == 0.0 { 0.0 } else { l1 * length };
        let distance = stretch + drawn.sqrt();
        finite_bound(
            penalty + 0.5 * distance * distance + 0.5 * energy,
            "FTRL-proximal with the run's own rates, weights and gradients",
            "the comparators are not bounded",
        )
    }
}

impl<L: Loss> Learner for Ftrl<L> {
    #[inline]
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = &example.features;
        let round = Round::on(&self.loss, vector::dot(&self.weights, x), example);
        self.rounds += 1;
        if round.slope != 0.0 {
            self.step(round.slope, x);
        }
        round
    }

    fn grow(&mut self, dimension: usize) {
        if dimension > self.cells.len() {
            vector::grow(&mut self.weights, dimension);
            self.cells.resize(self.weights.len(), Cell::default());
        }
    }

    fn rearrange(&mut self, from: &[u32]) {
        let cell = |&from: &u32| self.cells.get(from as usize).copied().unwrap_or_default();
        let weight = |&from: &u32| self.weights.get(from as usize).copied().unwrap_or_default();
        self.weights = from.iter().map(weight).collect();
        self.cells = from.iter().map(cell).collect();
    }

    fn predict(&self, x: &Features<'_>) -> f64 {
        vector::dot(&self.weights, &x.below(self.weights.len()))
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise {
        Promise {
            data: self.data_bound(comparators, comparators.reach(coordinates)),
            theorem: NoBound::because(
                "FTRL-proximal keeps its weights in no set, so its bound needs the weights that \
                 the run had, not only its rates, rounds and gradients",
            ),
        }
    }
}

/// The parameters of FTRL-proximal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtrlSpec {
    /// α of the rates α/(β + √Σg²).
    pub eta: Positive,
    /// λ
    pub l1: NonNegative,
}

impl Asked for FtrlSpec {
    const SETTINGS: &'static [&'static str] = &["eta", "l1"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        let eta = request.eta.map_or_else(|| Refusal::derived("eta", DEFAULT_ALPHA), Ok)?;
        Ok(Self { eta, l1: request.l1.unwrap_or(NonNegative::ZERO) })
    }
}

/// The default α. Values from 0.01 to 2 were tried, and this one was never far from the best on
/// words and on 0/1 features.
const DEFAULT_ALPHA: f64 = 0.5;

impl Recipe for FtrlSpec {
    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        Ok(with_usual_loss!(objective.loss, loss => take.take(Ftrl::new(loss, self.eta, self.l1))))
    }

    fn advice(&self) -> &'static str {
        "smaller rates (eta) or scaled features and labels keep it finite"
    }

    fn words(&self, _sigma: NonNegative) -> String {
        let penalty = match self.l1.get() {
            0.0 => String::new(),
            l1 => format!(", {l1}‖w‖₁"),
        };
        format!("FTRL-proximal: rates {}/(1 + √Σg²) by coordinate{penalty}", self.eta)
    }
}

impl<L: Loss + Plain> Resumable for Ftrl<L> {
    fn continues(&self, fresh: &Self) -> bool {
        let follows = |(cell, &w): (&Cell, &f64)| {
            cell.is_sound() && w.is_finite() && w == self.weight(cell.sum, self.rate(cell.root))
        };
        let parameters = |ftrl: &Self| (ftrl.loss, ftrl.alpha, ftrl.l1);
        parameters(self) == parameters(fresh)
            && self.weights.len() == self.cells.len()
            && self.cells.iter().zip(&self.weights).all(follows)
            && [self.drawn, self.energy].iter().all(|sum| (0.0..=f64::MAX).contains(&sum.value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Batch;
    use crate::loss::Linear;

    fn fresh(l1: f64) -> Ftrl<Linear> {
        Ftrl::new(Linear {}, Positive::ONE, NonNegative::new(l1).unwrap())
    }

    fn played(l1: f64) -> Ftrl<Linear> {
        let mut stream = Batch::default();
        for (x, slope) in [([1.0, 0.1], -1.0), ([2.0, -0.1], -0.5), ([-1.0, 0.2], 1.0)] {
            stream.push(&[0, 1], &x, slope).unwrap();
        }
        let mut ftrl = fresh(l1);
        ftrl.learn_rows(stream.rows(), &mut Vec::new());
        ftrl
    }

    #[test]
    fn weights_are_exactly_0_until_their_gradients_add_up() {
        assert!(played(0.0).weights().iter().all(|&w| w != 0.0));
        let [first, second] = played(0.5).weights()[..] else { panic!("two features") };
        assert!(first > 0.0 && second.to_bits() == 0);
        assert_eq!(played(100.0).weights(), [0.0, 0.0]);
    }

    /// A state from anywhere is accepted only if its numbers are consistent.
    #[test]
    fn hostile_states_are_refused() {
        let good = played(0.1);
        assert!(good.continues(&fresh(0.1)) && fresh(0.1).continues(&fresh(0.1)));
        assert!(!good.continues(&fresh(0.2)), "another λ");
        let bad = |change: fn(&mut Ftrl<Linear>)| {
            let mut bad = good.clone();
            change(&mut bad);
            !bad.continues(&fresh(0.1))
        };
        assert!(bad(|ftrl| ftrl.weights[0] += 1e-9));
        assert!(bad(|ftrl| ftrl.weights[1] = f64::NAN));
        assert!(bad(|ftrl| ftrl.weights.push(0.0)));
        assert!(bad(|ftrl| ftrl.cells[0].sum = f64::INFINITY));
        assert!(bad(|ftrl| ftrl.cells[1].root = -1.0));
        assert!(bad(|ftrl| ftrl.drawn.add(f64::INFINITY)));
        assert!(bad(|ftrl| ftrl.energy = [-1.0].into_iter().collect()));
    }

    /// Where squares leave the range of doubles there is no bound, and the reason given says so.
    #[test]
    fn gradients_beyond_all_bounds_leave_no_bound() {
        let mut stream = Batch::default();
        stream.push(&[0], &[1.0], 1e200).unwrap();
        let mut ftrl = fresh(0.0);
        ftrl.learn_rows(stream.rows(), &mut Vec::new());
        let ball: AnySet = crate::set::Ball { radius: Positive::ONE }.into();
        let missing = ftrl.promise_in(&ball, 1.into()).data.unwrap_err();
        assert!(missing.why.contains("too large"), "{missing}");
    }
}
