//! The Perceptron's mistake bounds for a comparator that is chosen beforehand.
//!
//! Let M be the number of mistakes, H = Σ_t [1 − y_t u·x_t]₊ over the whole stream, H_M the same
//! sum over the mistakes, X = max ‖x_t‖ and w_M = Σ_{mistakes} y_t x_t. Then for every u:
//!
//! ```text
//! M ≤ H_M + ‖u‖‖w_M‖                                   run time
//!   ≤ H + (‖u‖X)²/2 + ‖u‖X √(H + (‖u‖X)²/4)            solved exactly
//!   ≤ H + (‖u‖X)² + ‖u‖X√H                             as in the notes
//! ```
//!
//! When y_t u·x_t ≥ 1 throughout, H = 0 and M ≤ (‖u‖X)².

use crate::features::{Example, Features};
use crate::loss::{Hinge, Loss, ZeroOne};
use crate::norms;
use crate::sum::Sum;
use crate::vector;
use serde::{Deserialize, Serialize};

/// The bounds are rounded up by this much, relatively. Some of them are attained, and a rounding
/// error must not put one below the truth.
const ROUNDING: f64 = 1e-12;

/// Follows the Perceptron's predictions together with a fixed comparator u.
///
/// ```
/// use rueful_core::{Batch, Positive, ledger::MistakeWatch, loss::Hinge};
/// use rueful_core::learner::{Learner, Perceptron};
///
/// let mut stream = Batch::default();
/// stream.push(&[0], &[2.0], 1.0)?;
/// stream.push(&[1], &[2.0], -1.0)?;
/// let mut watch = MistakeWatch::new(vec![0.5, -0.5]); // separates with margin 1
/// let mut perceptron = Perceptron::new(Hinge {}, Positive::ONE);
/// let mut rounds = Vec::new();
/// perceptron.learn_rows(stream.rows(), &mut rounds);
/// for (example, round) in stream.iter().zip(&rounds) {
///     watch.observe(&example, round.prediction);
/// }
/// let bounds = watch.bounds();
/// assert_eq!(bounds.mistakes, 2);
/// assert!(bounds.separable.is_some_and(|bound| (2.0..2.000001).contains(&bound)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MistakeWatch {
    comparator: Vec<f64>,
    mistakes: u64,
    hinge: Sum,
    hinge_on_mistakes: Sum,
    example_sq_max: f64,
    /// w_M, and below Σ ‖x_t‖ over the mistakes, to which the allowance for its rounding is
    /// proportional.
    sums: Vec<Sum>,
    size: f64,
}

/// The bounds on the number of mistakes, from the sharpest to the simplest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MistakeBounds {
    /// M
    pub mistakes: u64,
    /// H, the comparator's hinge loss on the stream.
    pub hinge: f64,
    /// ‖u‖
    pub norm: f64,
    /// H_M + ‖u‖‖w_M‖
    pub run_time: f64,
    /// H + (‖u‖X)²/2 + ‖u‖X√(H + (‖u‖X)²/4)
    pub solved: f64,
    /// H + (‖u‖X)² + ‖u‖X√H
    pub closed_form: f64,
    /// (‖u‖X)², if u separates the stream.
    pub separable: Option<f64>,
}

impl MistakeWatch {
    /// Watches the comparator u.
    pub fn new(comparator: Vec<f64>) -> Self {
        Self {
            comparator,
            mistakes: 0,
            hinge: Sum::default(),
            hinge_on_mistakes: Sum::default(),
            example_sq_max: 0.0,
            sums: Vec::new(),
            size: 0.0,
        }
    }

    /// Records one round of the Perceptron.
    pub fn observe(&mut self, example: &Example<'_>, prediction: f64) {
        let x = &example.features;
        let hinge = Hinge {}.at(self.score(x), example.label).value;
        self.hinge.add(hinge);
        self.example_sq_max = self.example_sq_max.max(x.norm_sq());
        if (ZeroOne {}).is_mistake(prediction, example.label) {
            self.mistakes += 1;
            self.hinge_on_mistakes.add(hinge);
            self.add_mistake(example.label, x);
        }
    }

    /// The bounds for the rounds so far.
    pub fn bounds(&self) -> MistakeBounds {
        let above = |bound: f64| bound * (1.0 + ROUNDING);
        let (norm, hinge) = (norms::norm(&self.comparator), self.hinge.value());
        let ux = norm * self.example_sq_max.sqrt();
        MistakeBounds {
            mistakes: self.mistakes,
            hinge,
            norm,
            run_time: above(self.hinge_on_mistakes.value() + norm * self.learned_norm()),
            solved: above(hinge + ux * ux / 2.0 + ux * (hinge + ux * ux / 4.0).sqrt()),
            closed_form: above(hinge + ux * ux + ux * hinge.sqrt()),
            separable: (hinge == 0.0).then_some(above(ux * ux)),
        }
    }

    /// w_M ← w_M + y·x
    fn add_mistake(&mut self, label: f64, x: &Features<'_>) {
        if x.dimension() > self.sums.len() {
            self.sums.resize(x.dimension(), Sum::default());
        }
        for (i, x) in x.iter() {
            self.sums[i].add(label * x);
        }
        self.size += x.norm_sq().sqrt();
    }

    /// ‖w_M‖. Examples may nearly cancel, so the sums are compensated, and an allowance for the
    /// remaining error is added.
    fn learned_norm(&self) -> f64 {
        let norm = vector::norm(self.sums.iter().map(|sum| sum.value()));
        norm + 4.0 * self.mistakes as f64 * f64::EPSILON * f64::EPSILON * self.size
    }

    /// u·x
    fn score(&self, x: &Features<'_>) -> f64 {
        vector::dot(&self.comparator, &x.below(self.comparator.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds for rounds that are all mistakes, with labels +1.
    fn bounds(comparator: Vec<f64>, rows: &[(Vec<u32>, Vec<f32>)]) -> MistakeBounds {
        let mut watch = MistakeWatch::new(comparator);
        for (indices, values) in rows {
            watch.observe(&Example::new(Features::new(indices, values).unwrap(), 1.0), 0.0);
        }
        watch.bounds()
    }

    /// On the unit vectors u = (1, …, 1) has margin 1. There are d mistakes, and (‖u‖X)² = d,
    /// although the square of a rounded root can be less.
    #[test]
    fn bounds_that_are_attained_are_not_missed() {
        for d in 1..200_u32 {
            let rows: Vec<_> = (0..d).map(|i| (vec![i], vec![1.0])).collect();
            let bounds = bounds(vec![1.0; d as usize], &rows);
            let count = f64::from(d);
            let all = [bounds.run_time, bounds.solved, bounds.closed_form];
            assert!(all.iter().all(|&bound| bound >= count), "{bounds:?}");
            assert!(bounds.separable.is_some_and(|bound| bound >= count), "{bounds:?}");
        }
    }

    /// 2¹⁰⁰ and 2⁴⁰ are added, then 2⁻²⁰, and then the first two are subtracted. Even a compensated
    /// sum is 0 then. The margins are 0, except for the one of 2⁻²⁰.
    #[test]
    fn what_compensated_sums_lose_is_allowed_for() {
        let [large, middle, small] = [100, 40, -20].map(|power| 2_f32.powi(power));
        let pair = |size: f32| (vec![0, 1], vec![size, -size]);
        let rows = [pair(large), pair(middle), (vec![0], vec![small]), pair(-large), pair(-middle)];
        let bounds = bounds(vec![1.0, 1.0], &rows);
        assert_eq!(bounds.mistakes, 5);
        assert!(bounds.hinge < 5.0 && bounds.run_time >= 5.0, "{bounds:?}");
    }
}
