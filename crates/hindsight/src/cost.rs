//! An upper bound on the loss of one comparator.

use crate::proof::halves;
use crate::rounding::{TINY, grain, norm_above, or_nothing_above, penalty_above, sum_above};
use rueful_core::loss::{Loss, Tangent};
use rueful_core::{Example, Features, Sum};
use serde::{Deserialize, Serialize};

/// Σ φ_t(u·x_t), bounded from above as it is added up.
///
/// A prediction p is off by at most an error e, and a convex φ is largest over [p − e, p + e] at
/// one of the ends. The larger of these two values is charged. It is computed from two doubles,
/// prediction and label, and is off by a few roundings of itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// ‖u‖, rounded up.
    norm: f64,
    careful: bool,
    sum: Sum,
    rounds: u64,
    /// Σ|φ_t|.
    size: f64,
    /// T plus the importances: how often a value can have underflowed.
    chances: f64,
    /// The total that was charged for the errors of the predictions.
    charged: f64,
}

impl Cost {
    /// The cost of u before the first example. Its predictions are computed carefully or quickly.
    pub(crate) fn at(u: &[f64], careful: bool) -> Self {
        let norm = norm_above(u.iter().copied());
        let (sum, rounds) = (Sum::default(), 0);
        Self { norm, careful, sum, rounds, size: 0.0, chances: 0.0, charged: 0.0 }
    }

    /// The prediction u·x.
    #[inline]
    pub(crate) fn predict(&self, u: &[f64], x: &Features<'_>) -> f64 {
        if self.careful { careful_dot(u, x) } else { x.dot(u) }
    }

    /// Adds s·φ for the prediction p = u·x that `predict` returned. Returns s·φ and its slope
    /// there.
    #[inline]
    pub(crate) fn add<L: Loss>(&mut self, loss: &L, example: &Example<'_>, p: f64) -> Tangent {
        let size = self.norm * example.features.norm_sq().sqrt();
        self.add_sized(loss, example, p, size)
    }

    /// Like `add`, where Σ|u_i x_i| is known to be at most `size`.
    #[inline]
    pub(crate) fn add_sized<L: Loss>(
        &mut self,
        loss: &L,
        example: &Example<'_>,
        p: f64,
        size: f64,
    ) -> Tangent {
        let (label, importance) = (example.label, example.importance.get());
        let at = loss.at(p, label);
        self.rounds += 1;
        if importance != 0.0 {
            let error = self.error(example.features.len(), size);
            let highest = highest(loss, label, p, error, at.value);
            self.sum.add(importance * highest);
            self.size += importance * highest.abs();
            self.chances += 1.0 + importance;
            self.charged += importance * (highest - at.value);
        }
        Tangent { value: importance * at.value, slope: importance * at.slope }
    }

    /// Adds the value of a loss of many classes, whose scores may be off so far that it is larger by
    /// `error`. The value has more roundings than others, by this factor, and they are relative to 1
    /// as well.
    pub(crate) fn charge(&mut self, importance: f64, value: f64, error: f64, roundings: f64) {
        self.rounds += 1;
        self.sum.add(importance * (value + error));
        self.size += roundings * importance * (1.0 + value + error);
        self.chances += 1.0 + importance;
        self.charged += importance * error;
    }

    /// Adds the cost of the same u on other examples.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.sum.merge(other.sum);
        self.rounds += other.rounds;
        self.size += other.size;
        self.chances += other.chances;
        self.charged += other.charged;
    }

    /// Whether another cost is that of a comparator as long as this one, and as careful.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        (self.norm, self.careful) == (other.norm, other.careful)
    }

    /// The number of examples.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// How far p can be off, except for one rounding of p itself, which `highest` takes care of. A
    /// quick dot product of n features is off by at most a rounding of Σ|u_i x_i| per feature. A
    /// careful one is off by errors of errors. Products can underflow in both.
    #[inline]
    fn error(&self, features: usize, size: f64) -> f64 {
        if self.norm == 0.0 {
            return 0.0;
        }
        let n = features as f64 + 2.0;
        let rounding = if self.careful {
            let second = 2.0 * n * f64::EPSILON;
            second * second * size
        } else {
            f64::EPSILON * n * size
        };
        rounding + n * TINY
    }

    /// An upper bound on the total with the penalty (κ/2)‖u‖².
    pub(crate) fn upper(&self, curvature: f64) -> f64 {
        let total = sum_above(self.sum.value(), self.allowance());
        or_nothing_above(sum_above(total, penalty_above(curvature, self.norm)))
    }

    /// The part of the upper bound that allows for rounding.
    pub(crate) fn slack(&self) -> f64 {
        self.allowance() + self.charged
    }

    /// The allowance for the roundings of the values and of their sum.
    fn allowance(&self) -> f64 {
        grain(self.rounds) * self.size + TINY * self.chances
    }
}

/// The largest φ for a prediction that may be off by `error`.
#[inline]
fn highest<L: Loss>(loss: &L, label: f64, p: f64, error: f64, value: f64) -> f64 {
    if error == 0.0 {
        return value;
    }
    // The next number beyond an end makes up for a rounding of p and for a rounding of the end.
    let low = loss.at((p - error).next_down(), label).value;
    let high = loss.at((p + error).next_up(), label).value;
    let highest = low.max(high);
    if (p.abs() + error + highest).is_finite() { highest } else { f64::INFINITY }
}

/// u·x from exact products, added with compensation.
pub(crate) fn careful_dot(u: &[f64], x: &Features<'_>) -> f64 {
    let mut sum = Sum::default();
    for (i, x) in x.iter() {
        let (head, tail) = halves(u[i]);
        sum.add(head * x);
        sum.add(tail * x);
    }
    sum.value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Exact, absolute, linear, norm_sq, square};
    use rueful_checks::Rng;
    use rueful_core::Importance;
    use rueful_core::loss::{Absolute, Linear, Logistic, Square};

    /// The upper bound on the cost of u on one example.
    fn upper<L: Loss>(
        loss: &L,
        u: &[f64],
        x: &[f32],
        label: f64,
        importance: f64,
        careful: bool,
    ) -> f64 {
        let indices: Vec<u32> = (0..x.len() as u32).collect();
        let features = Features::new(&indices, x).unwrap();
        let mut cost = Cost::at(u, careful);
        let p = cost.predict(u, &features);
        let importance = Importance::new(importance).unwrap();
        cost.add(loss, &Example { features, label, importance }, p);
        cost.upper(0.0)
    }

    #[test]
    fn a_prediction_beside_a_kink_is_charged_with_where_it_can_be() {
        // The exact u·x is 1. It comes out as 0, where |p| has no slope.
        let u = [1e16, 1.0, -1e16];
        let found = upper(&Absolute {}, &u, &[1.0; 3], 0.0, 1.0, false);
        assert!((1.0..100.0).contains(&found), "{found}");
        assert_eq!(upper(&Absolute {}, &u, &[1.0; 3], 0.0, 1.0, true).round(), 1.0);
    }

    #[test]
    fn a_careful_prediction_is_rounded_once_and_has_errors_of_errors() {
        let small = (-60_f64).exp2();
        let found = upper(&Absolute {}, &[1.0, small], &[1.0; 2], 1.0, 1.0, true);
        assert!((small..1e-14).contains(&found), "{found}");
        let (large, middle) = (120_f64.exp2(), 60_f64.exp2());
        let u = [large, middle, 1.0, -large, -middle];
        assert!(upper(&Absolute {}, &u, &[1.0; 5], 0.0, 1.0, true) >= 1.0);
    }

    #[test]
    fn products_that_underflow_are_charged() {
        for careful in [false, true] {
            // The product of 10⁻³²⁸ and 10³⁰.
            let found = upper(&Linear {}, &[1e-290], &[1e-38], 1e30, 1.0, careful);
            assert!((1e-298..1e-270).contains(&found), "{found}");
        }
        // The square of the label is 10⁻³⁴⁰.
        assert!(upper(&Square {}, &[], &[], 1e-170, 1.0, false) > 0.0);
    }

    #[test]
    fn values_are_never_too_small() {
        let rng = &mut Rng::new(1);
        for _ in 0..10_000 {
            let (label, importance) = (rng.bell(), 1.0 + rng.unit());
            let exact = |at_zero: Exact| at_zero * importance.into();
            let found = upper(&Square {}, &[], &[], label, importance, false);
            assert!(exact(square(Exact::zero(), label)) <= found.into(), "{label} {importance}");
            let (u, x) = ([rng.bell(), rng.bell()], [rng.bell() as f32, rng.bell() as f32]);
            let p = Exact::from(u[0]) * f64::from(x[0]).into()
                + Exact::from(u[1]) * f64::from(x[1]).into();
            for careful in [false, true] {
                let found = upper(&Absolute {}, &u, &x, label, importance, careful);
                assert!(exact(absolute(p.clone(), label)) <= found.into());
                let found = upper(&Linear {}, &u, &x, label, importance, careful);
                assert!(exact(linear(p.clone(), label)) <= found.into());
            }
        }
        // ln 2 is not a double: it lies above the nearest one.
        let found = upper(&Logistic {}, &[], &[], 1.0, 1.0, false);
        assert!(found > std::f64::consts::LN_2);
    }

    #[test]
    fn the_penalty_is_never_too_small() {
        let rng = &mut Rng::new(2);
        for _ in 0..2000 {
            let u = [0; 3].map(|_| rng.bell());
            let curvature = rng.unit();
            let cost = Cost::at(&u, false);
            let exact = Exact::from(0.5 * curvature) * norm_sq(&u);
            assert!(exact <= cost.upper(curvature).into(), "{u:?} {curvature}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_no_bargain() {
        for u in [f64::NAN, f64::INFINITY] {
            let found = upper(&rueful_core::loss::Hinge {}, &[u, -u], &[1.0; 2], 1.0, 1.0, false);
            assert_eq!(found, f64::INFINITY);
        }
        assert_eq!(upper(&Linear {}, &[1e10], &[1.0], -1e300, 1.0, false), f64::INFINITY);
        assert_eq!(upper(&Square {}, &[], &[], 1e200, 1.0, false), f64::INFINITY);
    }
}
