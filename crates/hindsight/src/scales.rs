//! The units that the data is measured in.

use crate::rounding::{norm_above, sum_above};
use rueful_core::{Features, Positive};

/// The size of every column and of the labels. With them, a ball of comparators has no units.
///
/// With N_i the largest |x_i| of a stream and Y its largest |y|, the **unit-free ball** of radius U
/// is
///
/// ```text
/// B(U) = { u : Σ (N_i u_i)² ≤ (U·Y)² },      sup over u in B(U) of −u·S = U·Y·‖S/N‖
/// ```
///
/// If a column and its N are multiplied by the same number, nothing changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scales {
    /// N_i by column. It is 0 for a column that was not seen, and for all columns beyond the last
    /// one. Comparators are 0 there. A negative or infinite entry counts as 0.
    pub columns: Vec<f32>,
    /// Y, which is 1 where labels are classes.
    pub label: f64,
}

impl Scales {
    /// Scales that leave columns in their own units.
    pub(crate) fn ones(columns: usize) -> Self {
        Self { columns: vec![1.0; columns], label: 1.0 }
    }

    /// The scale N_i.
    #[inline]
    pub(crate) fn column(&self, i: usize) -> f64 {
        let size = self.columns.get(i).copied().unwrap_or(0.0);
        if size > 0.0 && size.is_finite() { size.into() } else { 0.0 }
    }

    /// The smallest N_i that is not 0. It is infinite if there is none.
    pub(crate) fn smallest(&self) -> f64 {
        let sizes = (0..self.columns.len()).map(|i| self.column(i));
        sizes.filter(|&size| size > 0.0).fold(f64::INFINITY, f64::min)
    }

    /// The radius U·Y, rounded down and rounded up.
    pub(crate) fn radii(&self, radius: Positive) -> (f64, f64) {
        let product = radius.get() * self.label.abs();
        if self.label == 0.0 {
            (0.0, 0.0)
        } else if product.is_nan() {
            (0.0, f64::INFINITY)
        } else {
            (product.next_down().max(0.0), product.next_up())
        }
    }

    /// v_i = N_i u_i.
    pub(crate) fn without_units(&self, u: &[f64]) -> Vec<f64> {
        u.iter().enumerate().map(|(i, u)| self.column(i) * u).collect()
    }

    /// u_i = v_i/N_i, certainly inside the unit-free ball of this radius.
    pub(crate) fn with_units(&self, v: &[f64], radius: f64) -> Vec<f64> {
        let quotient = |(i, &v): (usize, &f64)| quotient(v, self.column(i));
        let mut u: Vec<f64> = v.iter().enumerate().map(quotient).collect();
        self.make_feasible(&mut u, radius);
        u
    }

    /// Shortens u until it is certainly inside. Entries that are not finite, or whose column has no
    /// scale, become 0.
    pub(crate) fn make_feasible(&self, u: &mut [f64], radius: f64) {
        for (i, u) in u.iter_mut().enumerate() {
            if !u.is_finite() || self.column(i) == 0.0 {
                *u = 0.0;
            }
        }
        for _ in 0..8 {
            let norm = self.norm_above(u);
            if norm <= radius {
                return;
            }
            // The root is applied twice, because the quotient can underflow where neither of the
            // two factors does.
            let root = (radius / norm).sqrt() * (1.0 - 2.0 * f64::EPSILON);
            u.iter_mut().for_each(|u| *u = *u * root * root);
        }
        u.fill(0.0);
    }

    /// ‖N·u‖, rounded up. Products that underflow are included.
    pub(crate) fn norm_above(&self, u: &[f64]) -> f64 {
        if u.iter().all(|&u| u == 0.0) {
            return 0.0;
        }
        let norm = norm_above(u.iter().enumerate().map(|(i, u)| self.column(i) * u));
        sum_above(norm, f64::from_bits(1) * u.len() as f64)
    }

    /// ‖S/N‖, rounded up except for quotients that underflow. Every entry may be off by a rounding
    /// of itself. It is infinite where a column without a scale has a slope.
    pub(crate) fn norm_of_slopes_above(&self, s: &[f64]) -> f64 {
        norm_above(s.iter().enumerate().map(|(i, &s)| quotient(s, self.column(i))))
    }

    /// ‖x/N‖. It is infinite where a column without a scale occurs.
    #[inline]
    pub(crate) fn norm_of(&self, x: &Features<'_>) -> f64 {
        let squares = x.iter().map(|(i, x)| quotient(x, self.column(i)).powi(2));
        squares.sum::<f64>().sqrt()
    }
}

/// a/b, where 0 divided by anything is 0.
#[inline]
pub(crate) fn quotient(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Exact, norm_sq};
    use rueful_checks::Rng;

    fn any_size(rng: &mut Rng, k: f64) -> f64 {
        rng.between(-k, k).exp2() * (1.0 + rng.unit())
    }

    #[test]
    fn radii_lie_on_either_side_of_the_product() {
        let rng = &mut Rng::new(1);
        for _ in 0..1000 {
            let (radius, label) = (any_size(rng, 300.0), any_size(rng, 300.0));
            let scales = Scales { columns: Vec::new(), label };
            let (inside, outside) = scales.radii(Positive::new(radius).unwrap());
            let product = Exact::from(radius) * label.into();
            assert!(Exact::from(inside) <= product && product <= outside.into());
        }
        let radii = |radius: f64, label: f64| {
            Scales { columns: Vec::new(), label }.radii(Positive::new(radius).unwrap())
        };
        assert_eq!(radii(1.0, 0.0), (0.0, 0.0));
        assert!(radii(1e-100, 1e-300).1 > 0.0);
        assert_eq!(radii(1e100, 1e300), (f64::MAX, f64::INFINITY));
        assert_eq!(radii(1.0, f64::NAN), (0.0, f64::INFINITY));
    }

    #[test]
    fn what_is_made_feasible_is_and_hardly_shorter() {
        let rng = &mut Rng::new(2);
        for round in 0..2000 {
            let columns: Vec<f32> =
                (0..1 + round % 5).map(|_| any_size(rng, 120.0) as f32).collect();
            let scales = Scales { columns, label: 1.0 };
            let radius = any_size(rng, if round % 2 == 0 { 3.0 } else { 300.0 });
            let v: Vec<f64> = scales.columns.iter().map(|_| 2.0 * radius * rng.bell()).collect();
            let u = scales.with_units(&v, radius);
            let square = u.iter().zip(&scales.columns).fold(Exact::zero(), |sum, (&u, &n)| {
                let v = Exact::from(f64::from(n)) * u.into();
                sum + v.clone() * v
            });
            let limit = Exact::from(radius) * radius.into();
            assert!(square <= limit, "{u:?}");
            if norm_sq(&v) > limit {
                assert!(square >= Exact::from(1.0 - 1e-13) * limit, "{u:?}");
            }
        }
        // 10⁻³⁸ times 10⁻²⁹⁰ underflows, but the norm is not 0.
        let scales = Scales { columns: vec![1e-38, 1.0], label: 1.0 };
        assert!(scales.norm_above(&[1e-290, 0.0]) > 0.0);
        assert_eq!(scales.with_units(&[f64::NAN, f64::INFINITY, 1.0], 1.0), [0.0; 3]);
    }
}
