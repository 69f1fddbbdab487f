//! One pass at a matrix of weights: what it loses, and what the probabilities there prove.

use super::frame::Frame;
use crate::hessian::Hessian;
use crate::rounding::{gain_above, grain, or_nothing_above, or_nothing_below, sum_above};
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
    rounds: u64,
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
        self.sizes.rounds += 1;
        self.sizes.weights += weight;
        self.sizes.values += weight * (at.value + at.at_zero);
        self.sizes.charged += weight * 2.0 * error;
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
        let allowance = self.sizes.charged + self.off_values();
        (or_nothing_above(sum_above(self.value.value(), allowance)), allowance)
    }

    /// The lower bound that the probabilities prove, and how much of it was given up for rounding.
    fn floor(&self, norm: f64) -> (f64, f64) {
        let (radius, allowance) = (self.frame.outside, self.off_values());
        let (gain, plain) =
            (gain_above(radius, sum_above(norm, self.off_slopes()), 0.0), radius * norm);
        let ceiling = sum_above(sum_above(-self.offset.value(), allowance), gain);
        (or_nothing_below(-ceiling), allowance + (gain - plain))
    }

    /// How far off the sums of values and of entropies can be. Each of these has as many roundings as
    /// there are classes, and they are relative to 1 as well.
    fn off_values(&self) -> f64 {
        let Sizes { rounds, weights, values, .. } = self.sizes;
        self.frame.roundings() * grain(rounds) * (weights + values)
    }

    /// How far off S can be, in norm. It has T additions, each off by half a unit in the last place of
    /// sums that are no longer than Σ ‖g‖‖x/N‖. Probabilities have as many roundings as there are
    /// classes, and miss a sum of 1 by as much. This is also far more than what is lost where products
    /// underflow, because importances are at least 1e-30.
    fn off_slopes(&self) -> f64 {
        let Sizes { rounds, lengths, breadths, .. } = self.sizes;
        let classes = 16.0 * self.frame.roundings();
        f64::EPSILON * (rounds as f64 * lengths + classes * breadths)
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

    /// Many classes.
    const MANY: u32 = 1 << 16;

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
        // The loss is ln(1 + 65535e^{−t}), and the sum has as many roundings. Where the last 2¹⁵ terms
        // are added, a unit in the last place is 2⁻³⁷. Terms of 1 − 0.55·2⁻³⁷ are all rounded
        // downwards, and those of 1 − 1.45·2⁻³⁷ upwards.
        let most = 16.0 * LN_2;
        let above = |loss: f64| loss * (1.0 + 4.0 * f64::EPSILON);
        let at = |t: f64| visited((ClassLoss::Softmax {}, MANY), (2.0 * t, &[t]), &[(0.0, 1.0)]);
        let t = 0.55 * (-37_f64).exp2();
        let upper = at(t).upper;
        assert!(upper >= above(most - 0.9999 * t), "{}", upper - most);
        assert!(upper <= most + 1e-9);
        // The best comparator has a lead of 2t.
        let t = 1.45 * (-37_f64).exp2();
        let (floor, _) = at(t).floor;
        assert!(floor <= above(most - 0.9999 * 2.0 * t), "{}", floor - most);
        assert!(floor >= most - 1e-9);
    }

    #[test]
    fn probabilities_that_miss_a_sum_of_1_have_their_allowance() {
        // Scores that are all larger by the same lose the same. But by so much as the sum of the
        // probabilities misses 1, the slopes take this for a change. Terms as above make it miss much.
        for (t, share) in [(0.55, 1e6), (1.45, -1e6)] {
            let t = t * (-37_f64).exp2();
            let mut batch = Batch::default();
            batch.push(&[0], &[1.0], 0.0).unwrap();
            let ball = Ball { radius: Positive::new(1e9).unwrap() }.into();
            let frame = Frame::new(ClassLoss::Softmax {}, &ball, (0..MANY).collect(), &[1.0]);
            let mut u = vec![0.0; MANY as usize];
            u[0] = t;
            let mut visit = Visit::new(&frame, u, 1.0, None);
            visit.observe(batch.rows());
            let all: Sum = visit.slopes.iter().copied().collect();
            let here = visit.offset.value() + visit.slopes[0] * t + share * all.value();
            let norm = 256.0 * share.abs();
            let claimed = here - visit.off_values() - visit.off_slopes() * norm;
            assert!(claimed <= 16.0 * LN_2, "{all:?} {claimed}");
        }
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
