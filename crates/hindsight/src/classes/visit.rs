//! One pass at a matrix of weights: what it loses, and what the probabilities there prove.

use super::frame::Frame;
use crate::hessian::Hessian;
use crate::rounding::{TINY, gain_above, or_nothing_above, or_nothing_below, sum_above};
use rueful_core::{Example, Rows, Sum};

/// The least probability that counts in the second derivatives.
pub(super) const NEGLIGIBLE: f64 = 1e-18;

/// A pass at one matrix. Everything that is proved is added up with allowances for rounding.
pub(super) struct Visit<'a> {
    frame: &'a Frame,
    pub(super) u: Vec<f64>,
    temperature: f64,
    /// Σ w ℓ, Σ of the smoothed losses, and Σ w h(p).
    value: Sum,
    smoothed: Sum,
    offset: Sum,
    /// S in the data's units.
    slopes: Vec<f64>,
    /// The diagonal of the second derivatives in units of the columns.
    diagonal: Vec<f64>,
    hessian: Option<Hessian>,
    /// The probabilities of all rounds, as long as they are few.
    shares: Option<Vec<f64>>,
    sizes: Sizes,
    margins: Vec<f64>,
    slope: Vec<f64>,
}

/// What allowances for rounding are relative to.
#[derive(Debug, Clone, Copy, Default)]
struct Sizes {
    rounds: f64,
    /// Σ w
    weights: f64,
    /// Σ w(ℓ + h)
    values: f64,
    /// How much the errors of scores can have taken from the loss.
    charged: f64,
    /// Σ ‖g‖‖x/N‖ and Σ w‖x/N‖.
    lengths: f64,
    breadths: f64,
}

/// The most probabilities that are kept.
const KEPT: usize = 1 << 22;

impl<'a> Visit<'a> {
    /// A pass before its first row. The probabilities of all rounds are kept for
    /// [`product`](super::products) if there is no Hessian.
    pub(super) fn new(
        frame: &'a Frame,
        u: Vec<f64>,
        temperature: f64,
        hessian: Option<Hessian>,
    ) -> Self {
        let (numbers, classes) = (frame.len(), frame.classes());
        Self {
            frame,
            u,
            temperature,
            value: Sum::default(),
            smoothed: Sum::default(),
            offset: Sum::default(),
            slopes: vec![0.0; numbers],
            diagonal: vec![0.0; if hessian.is_some() { 0 } else { numbers }],
            shares: hessian.is_none().then(Vec::new),
            hessian,
            sizes: Sizes::default(),
            margins: vec![0.0; classes],
            slope: vec![0.0; classes],
        }
    }

    pub(super) fn observe(&mut self, rows: Rows<'_>) {
        rows.iter().for_each(|example| self.add(&example));
    }

    fn add(&mut self, example: &Example<'_>) {
        let (frame, x, weight) = (self.frame, &example.features, example.importance.get());
        let y = frame.place(example);
        frame.margins(&self.u, x, y, &mut self.margins);
        let at = frame.loss.tangent(&mut self.margins, y, self.temperature);
        self.value.add(weight * at.value);
        self.smoothed.add(weight * at.smoothed);
        self.offset.add(weight * at.at_zero);
        let size = frame.size_of(x);
        let error = f64::EPSILON * (x.len() as f64 + 4.0) * frame.outside * size;
        self.sizes.rounds += 1.0;
        self.sizes.weights += weight;
        self.sizes.values += weight * (at.value + at.at_zero);
        self.sizes.charged += weight * 2.0 * (error + TINY * (x.len() as f64 + 1.0));
        self.sizes.breadths += weight * size;
        self.sizes.lengths += self.add_slope(example, y) * size;
        self.bend(example);
        self.keep_shares();
    }

    /// S ← S + w(p − e_y)xᵀ. Returns the norm of w(p − e_y).
    fn add_slope(&mut self, example: &Example<'_>, y: usize) -> f64 {
        let weight = example.importance.get();
        let mut square = 0.0;
        for (place, (slope, share)) in self.slope.iter_mut().zip(&self.margins).enumerate() {
            *slope = weight * if place == y { share - 1.0 } else { *share };
            square += *slope * *slope;
        }
        if square == 0.0 {
            return 0.0;
        }
        for (i, x) in example.features.iter() {
            let row = &mut self.slopes[i * self.slope.len()..][..self.slope.len()];
            row.iter_mut().zip(&self.slope).for_each(|(sum, slope)| *sum += slope * x);
        }
        square.sqrt()
    }

    /// Adds the second derivatives: (w/μ)(diag p − ppᵀ) for every two columns.
    fn bend(&mut self, example: &Example<'_>) {
        let (classes, frame) = (self.margins.len(), self.frame);
        let factor = example.importance.get() / self.temperature;
        let is_alive = |&place: &usize| self.margins[place] > NEGLIGIBLE;
        if self.margins.contains(&1.0) {
            return;
        }
        let Some(hessian) = &mut self.hessian else {
            for (i, x) in example.features.iter() {
                let scaled = x * frame.per_unit(i);
                let row = &mut self.diagonal[i * classes..][..classes];
                for (sum, p) in row.iter_mut().zip(&self.margins) {
                    *sum += factor * p * (1.0 - p) * scaled * scaled;
                }
            }
            return;
        };
        let alive: Vec<usize> = (0..classes).filter(is_alive).collect();
        let row: Vec<(usize, f64)> =
            example.features.iter().map(|(i, x)| (i * classes, x * frame.per_unit(i))).collect();
        for (place, &(own, x)) in row.iter().enumerate() {
            for &(other, other_x) in &row[..=place] {
                hessian.add_block((own, other), factor * x * other_x, &alive, &self.margins);
            }
        }
    }

    fn keep_shares(&mut self) {
        if let Some(shares) = &mut self.shares {
            if shares.len() + self.margins.len() <= KEPT {
                shares.extend_from_slice(&self.margins);
            } else {
                self.shares = None;
            }
        }
    }

    /// What the pass found.
    pub(super) fn finish(self) -> Standing {
        let frame = self.frame;
        let norm = frame.scales.norm_of_slopes_above(&self.slopes);
        let (upper, charged) = self.upper();
        let floor = self.floor(norm);
        let along: Sum = self.slopes.iter().zip(&self.u).map(|(s, u)| s * u).collect();
        let gain = (along.value() + frame.outside * norm).max(0.0);
        let kinks = self.value.value() - self.offset.value() - along.value();
        let quotient = |(i, s): (usize, &f64)| crate::scales::quotient(*s, frame.scales.column(i));
        let gradient = self.slopes.iter().enumerate().map(quotient).collect();
        let smoothed = self.smoothed.value();
        let Self { u, diagonal, hessian, shares, temperature, .. } = self;
        let point = Point { u, temperature, shares };
        Standing {
            upper,
            charged,
            floor,
            smoothed,
            gain,
            kinks,
            gradient,
            diagonal,
            hessian,
            point,
        }
    }

    /// The loss of the matrix, rounded up, and how much of it allows for rounding.
    fn upper(&self) -> (f64, f64) {
        let Sizes { weights, values, charged, rounds, .. } = self.sizes;
        let per_value =
            f64::EPSILON * (self.margins.len() as f64 + 32.0 + f64::EPSILON * rounds * rounds);
        let allowance =
            charged * (1.0 + 1e-9) + per_value * (weights + values) + TINY * (rounds + weights);
        (or_nothing_above(sum_above(self.value.value(), allowance)), allowance)
    }

    /// The lower bound that the probabilities prove, and how much of it was given up for rounding.
    /// Probabilities miss a sum of 1 by some units in the last place, entropies have as many
    /// roundings, and S has T additions.
    fn floor(&self, norm: f64) -> (f64, f64) {
        let Sizes { rounds, weights, values, lengths, breadths, .. } = self.sizes;
        let classes = self.margins.len() as f64 + 32.0;
        let per_value = 2.0 * f64::EPSILON * (classes + f64::EPSILON * rounds * rounds);
        let allowance = per_value * (weights + values) + TINY * (rounds + weights);
        let rounding = f64::EPSILON * ((rounds + 16.0) * lengths + classes * breadths);
        let numbers = (self.slopes.len() as f64).sqrt();
        let underflow = TINY * (rounds + 1.0) * numbers / self.frame.scales.smallest().min(1.0);
        let off = sum_above(1.000_001 * rounding, underflow);
        let radius = self.frame.outside;
        let (gain, plain) = (gain_above(radius, sum_above(norm, off), 0.0), radius * norm);
        let ceiling = sum_above(sum_above(-self.offset.value(), allowance), gain);
        (or_nothing_below(-ceiling), allowance + (gain - plain))
    }
}

/// A matrix, and what the products with the second derivatives there need.
pub(super) struct Point {
    pub(super) u: Vec<f64>,
    pub(super) temperature: f64,
    pub(super) shares: Option<Vec<f64>>,
}

/// The results of a pass at one matrix.
pub(super) struct Standing {
    /// The most that the matrix loses, and how much of it allows for rounding.
    pub(super) upper: f64,
    pub(super) charged: f64,
    /// The lower bound, and how much of it was given up for rounding.
    pub(super) floor: (f64, f64),
    /// The smoothed loss.
    pub(super) smoothed: f64,
    /// How much the smoothed loss could gain at most, and how much its tangents lie below the loss.
    pub(super) gain: f64,
    pub(super) kinks: f64,
    /// The gradient in units of the columns, and the second derivatives: all, or their diagonal.
    pub(super) gradient: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
    pub(super) hessian: Option<Hessian>,
    pub(super) point: Point,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::classes::ClassLoss;
    use rueful_core::set::Ball;
    use rueful_core::{Batch, Importance, Positive};
    use std::f64::consts::LN_2;

    /// What a visit at a matrix finds out about rows of one feature, which is 1, in a ball of a
    /// radius. Each row is given by its class and its importance.
    fn visited(
        (loss, classes): (ClassLoss, u32),
        (radius, u): (f64, &[f64]),
        rows: &[(f64, f64)],
    ) -> Standing {
        let mut batch = Batch::default();
        for &(class, importance) in rows {
            let importance = Importance::new(importance).unwrap();
            batch.push_weighted(&[0], &[1.0], class, importance).unwrap();
        }
        let comparators = Ball { radius: Positive::new(radius).unwrap() }.into();
        let frame = Frame::new(loss, &comparators, (0..classes).collect(), &[1.0]);
        let mut matrix = u.to_vec();
        matrix.resize(frame.len(), 0.0);
        let temperature = if loss == (ClassLoss::Softmax {}) { 1.0 } else { 1e-9 };
        let mut visit = Visit::new(&frame, matrix, temperature, None);
        visit.observe(batch.rows());
        visit.finish()
    }

    #[test]
    fn sums_over_many_classes_have_their_allowance() {
        // The loss is ln(1 + 4095e^{−t}), and the sum has as many roundings. Where the last 2048
        // terms are added, a unit in the last place is 2⁻⁴¹. Terms of 1 − 0.55·2⁻⁴¹ are all rounded
        // downwards, and those of 1 − 1.45·2⁻⁴¹ upwards.
        let ln_4096 = 12.0 * LN_2;
        let above = |loss: f64| loss * (1.0 + 4.0 * f64::EPSILON);
        let at = |t: f64| visited((ClassLoss::Softmax {}, 4096), (2.0 * t, &[t]), &[(0.0, 1.0)]);
        let t = 0.55 * (-41_f64).exp2();
        let upper = at(t).upper;
        assert!(upper >= above(ln_4096 - 0.9995 * t), "{}", upper - ln_4096);
        assert!(upper <= ln_4096 + 1e-10);
        // The best comparator has a lead of 2t.
        let t = 1.45 * (-41_f64).exp2();
        let (floor, _) = at(t).floor;
        assert!(floor <= above(ln_4096 - 0.9995 * 2.0 * t), "{}", floor - ln_4096);
        assert!(floor >= ln_4096 - 1e-10);
    }

    #[test]
    fn every_addition_to_the_slopes_is_allowed_for() {
        // Importances of less than half a unit in the last place of S are lost one by one. A last row
        // of the other class makes S come out as 0. With a lead of 1 for the first class, all rows
        // lose nothing but the last one, which loses 2.
        let small = 0.49 * f64::EPSILON;
        let mut rows = vec![(0.0, small); 2001];
        rows[0].1 = 1.0;
        rows.push((1.0, 1.0));
        let found = visited((ClassLoss::MulticlassHinge {}, 2), (1.0, &[]), &rows);
        assert_eq!(found.gradient, [0.0; 2]);
        assert!((2.0 - 1e-11..=2.0).contains(&found.floor.0), "{}", found.floor.0 - 2.0);
    }
}
