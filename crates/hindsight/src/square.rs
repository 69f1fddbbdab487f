//! The square loss from its sufficient statistics: the best comparator so far, without the data.
//!
//! With G = Σ x xᵀ, b = Σ y x and c = Σ y², the cost of u is uᵀGu − 2b·u + c, and the slopes
//! 2(u·x_t − y_t) of any u prove that no comparator in W loses less than
//!
//! ```text
//! c − uᵀGu − sup_{v∈W} (−v·S − (σT/2)‖v‖²),    S = 2(Gu − b)
//! ```
//!
//! so both ends of the interval come from d² numbers. Memory is O(d²): for up to some 2,000 columns.

use crate::bracket::{LEAST_SCALE, NOTHING, relative_gap};
use crate::problem::{Contradiction, Method, Solution, Source};
use crate::proof::support_above;
use crate::quadratic::{minimise, symmetric_product};
use crate::rounding::{
    TINY, curvatures, grain, norm_above, or_nothing_above, or_nothing_below, penalty_above,
    sum_above,
};
use crate::set::{dot, make_feasible};
use nalgebra::{DMatrix, DVector};
use rueful_core::set::AnySet;
use rueful_core::{Example, NonNegative, Rows, Sum};
use serde::{Deserialize, Serialize};

/// How many examples are added up plainly before their sum is added with compensation.
const BLOCK: u64 = 256;

/// The relative gap that counts as converged.
const TOLERANCE: f64 = 1e-8;

/// G, b and c of a stream. Grows with its columns, and merges with those of other parts of it.
///
/// ```
/// use rueful_core::{Batch, NonNegative, Positive, set::Ball};
/// use rueful_hindsight::Gram;
///
/// let mut batch = Batch::default();
/// batch.push(&[0], &[1.0], 3.0)?;
/// batch.push(&[0], &[1.0], 5.0)?;
/// let mut gram = Gram::new(NonNegative::ZERO);
/// gram.observe_rows(batch.rows());
/// // The mean is the best constant, and loses 1 on each of the two.
/// let best = gram.solve(&Ball { radius: Positive::new(10.0)? }.into());
/// assert!((best.comparator[0] - 4.0).abs() < 1e-6);
/// assert!(best.lower <= 2.0 && 2.0 <= best.upper && best.upper - best.lower < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gram {
    sigma: NonNegative,
    rounds: u64,
    /// The lower triangle of G, row after row: row i has i + 1 entries, so that G can grow.
    products: Block,
    /// b
    moments: Block,
    /// c
    labels: Sum,
}

/// Sums that are added up plainly for a while, then with compensation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Block {
    recent: Vec<f64>,
    total: Vec<Sum>,
}

impl Block {
    fn grow(&mut self, length: usize) {
        if length > self.recent.len() {
            self.recent.resize(length, 0.0);
            self.total.resize(length, Sum::default());
        }
    }

    fn settle(&mut self) {
        for (recent, total) in self.recent.iter_mut().zip(&mut self.total) {
            total.add(std::mem::take(recent));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.grow(other.total.len());
        for (total, (other, recent)) in
            self.total.iter_mut().zip(other.total.iter().zip(&other.recent))
        {
            total.merge(*other);
            total.add(*recent);
        }
    }

    fn value(&self, at: usize) -> f64 {
        self.total[at].value() + self.recent[at]
    }
}

impl Gram {
    /// No examples yet. With σ > 0 each loss includes (σ/2)‖u‖².
    pub fn new(sigma: NonNegative) -> Self {
        Self {
            sigma,
            rounds: 0,
            products: Block::default(),
            moments: Block::default(),
            labels: Sum::default(),
        }
    }

    /// Takes in one example: O(nnz(x)²).
    pub fn observe(&mut self, example: &Example<'_>) {
        let x = &example.features;
        self.grow(x.dimension());
        let (indices, values) = (x.indices(), x.values());
        let weight = example.importance.get();
        let is_ordered = indices.is_sorted();
        for (k, (i, xi)) in x.iter().enumerate() {
            let xi = weight * xi;
            let before = indices[..=k].iter().zip(values);
            // Products are exact for weight 1: that of two singles fits into a double.
            if is_ordered {
                let row = &mut self.products.recent[i * (i + 1) / 2..][..=i];
                before.for_each(|(&j, &xj)| row[j as usize] += xi * f64::from(xj));
            } else {
                for (&j, &xj) in before {
                    let (high, low) = (i.max(j as usize), i.min(j as usize));
                    self.products.recent[high * (high + 1) / 2 + low] += xi * f64::from(xj);
                }
            }
            self.moments.recent[i] += xi * example.label;
        }
        self.labels.add(weight * example.label * example.label);
        self.rounds += 1;
        if self.rounds.is_multiple_of(BLOCK) {
            self.products.settle();
            self.moments.settle();
        }
    }

    /// Takes in some rows.
    pub fn observe_rows(&mut self, rows: Rows<'_>) {
        rows.iter().for_each(|example| self.observe(&example));
    }

    /// Adds the statistics of another part of the stream.
    pub fn merge(&mut self, other: &Self) {
        self.grow(other.dimension());
        self.products.merge(&other.products);
        self.moments.merge(&other.moments);
        self.labels.merge(other.labels);
        self.rounds += other.rounds;
        self.products.settle();
        self.moments.settle();
    }

    /// T
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// d: one more than the largest index seen.
    pub fn dimension(&self) -> usize {
        self.moments.recent.len()
    }

    /// The best comparator of the rounds so far, with a proved interval around what it loses.
    pub fn solve(&self, comparators: &AnySet) -> Solution {
        let mut best = self.at_zero();
        let a = self.second_derivatives();
        let mut u = vec![0.0; self.dimension()];
        let mut gap = f64::INFINITY;
        while gap > TOLERANCE && !u.is_empty() {
            let Some(v) = self.improve(&a, &u, comparators) else { break };
            u = v;
            self.tell(&u, comparators, &mut best);
            let now = self.relative_gap(&best);
            if now >= 0.5 * gap {
                break;
            }
            gap = now;
        }
        best.relative_gap = self.relative_gap(&best);
        best.converged = best.relative_gap <= TOLERANCE;
        best.contradiction = (best.lower > best.upper).then_some(Contradiction {
            lower: best.lower,
            lower_from: Source::Dual,
            upper: best.upper,
            upper_from: Source::Primal,
        });
        best
    }

    fn grow(&mut self, dimension: usize) {
        self.products.grow(dimension * (dimension + 1) / 2);
        self.moments.grow(dimension);
    }

    /// σT
    fn curvature(&self) -> f64 {
        self.sigma.get() * self.rounds as f64
    }

    fn at_zero(&self) -> Solution {
        Solution {
            lower: 0.0,
            upper: or_nothing_above(self.labels.value() + self.label_allowance()),
            relative_gap: f64::INFINITY,
            comparator: vec![0.0; self.dimension()],
            examples: self.rounds,
            passes: 0,
            method: Method::SufficientStatistics,
            converged: false,
            contradiction: None,
        }
    }

    /// As for [`solve`](crate::solve): relative to the minimum, or to a millionth of F(0).
    fn relative_gap(&self, best: &Solution) -> f64 {
        let scale = best.upper.max(LEAST_SCALE * self.labels.value()).max(NOTHING);
        relative_gap(best.lower, best.upper, scale)
    }

    /// 2G + σT·I, its lower triangle.
    fn second_derivatives(&self) -> DMatrix<f64> {
        let d = self.dimension();
        let mut a = DMatrix::zeros(d, d);
        for i in 0..d {
            for j in 0..=i {
                a[(i, j)] = 2.0 * self.products.value(i * (i + 1) / 2 + j);
            }
            a[(i, i)] += self.curvature();
        }
        a
    }

    /// The minimum of the cost, damped as much as it takes; the damping pulls towards u, so that
    /// doing it again takes its effect away.
    fn improve(&self, a: &DMatrix<f64>, u: &[f64], comparators: &AnySet) -> Option<Vec<f64>> {
        let mut gradient = symmetric_product(a, u);
        for (i, g) in gradient.iter_mut().enumerate() {
            *g -= 2.0 * self.moments.value(i);
        }
        let mean = a.trace() / a.nrows() as f64;
        [1e-13, 1e-10, 1e-7].iter().find_map(|damping| {
            let mut damped = a.clone();
            for i in 0..a.nrows() {
                let own = a[(i, i)].max(1e-18 * mean).max(1e-200);
                damped[(i, i)] = own + damping * own;
            }
            let mut v = minimise(&damped, gradient.as_slice(), u, comparators)?;
            make_feasible(comparators, &mut v);
            Some(v)
        })
    }

    /// Both ends of the interval at u.
    fn tell(&self, u: &[f64], comparators: &AnySet, best: &mut Solution) {
        let product = self.apply(u);
        let (linear, labels) = (self.moment_of(u), self.labels.value());
        let quadratic = dot(u, product.as_slice());
        let slopes: Vec<f64> =
            product.iter().enumerate().map(|(i, p)| 2.0 * (p - self.moments.value(i))).collect();
        let (least, most) = curvatures(self.sigma.get(), self.rounds);
        let long = norm_above(u.iter().copied());
        let rounding = self.rounding(long, u.len());

        let upper = quadratic - 2.0 * linear + labels + rounding.value;
        let upper = or_nothing_above(sum_above(upper, penalty_above(most, long)));
        let gain = support_above(comparators, &slopes, rounding.gradient, least);
        let lower = or_nothing_below(-sum_above(quadratic - labels + rounding.value, gain));
        if upper < best.upper {
            best.upper = upper;
            best.comparator.copy_from_slice(u);
        }
        best.lower = best.lower.max(lower);
    }

    /// G·u
    fn apply(&self, u: &[f64]) -> DVector<f64> {
        let mut product = DVector::zeros(u.len());
        for i in 0..u.len() {
            let start = i * (i + 1) / 2;
            let mut own = self.products.value(start + i) * u[i];
            for j in 0..i {
                let entry = self.products.value(start + j);
                own += entry * u[j];
                product[j] += entry * u[i];
            }
            product[i] += own;
        }
        product
    }

    /// b·u
    fn moment_of(&self, u: &[f64]) -> f64 {
        u.iter().enumerate().map(|(i, u)| u * self.moments.value(i)).sum()
    }

    /// How far rounding can have moved what `tell` computes. An entry of G went through a block's
    /// additions and a few more, each relative to Σ|x_i x_j|, and Σ_ij |u_i||u_j| Σ|x_i x_j| is at
    /// most ‖u‖²·tr G; the products with u add a rounding a column. The same for b and c.
    fn rounding(&self, long: f64, d: usize) -> Rounding {
        let trace: f64 = (0..d).map(|i| self.products.value(i * (i + 1) / 2 + i)).sum();
        let grain = f64::EPSILON * (BLOCK as f64 + 4.0 * d as f64 + 64.0);
        // A label whose square underflows still counts in b.
        let labels = self.labels.value() + TINY * (self.rounds as f64 + 1.0);
        let (rows, labels) = (trace.sqrt(), labels.sqrt());
        let underflow = TINY * (self.rounds as f64 + 1.0) * (1.0 + long) * (d as f64 + 1.0);
        Rounding {
            value: grain * (long * rows) * (long * rows + 2.0 * labels)
                + self.label_allowance()
                + underflow * (1.0 + long),
            gradient: 2.0 * grain * rows * (long * rows + labels) + underflow,
        }
    }

    /// How far rounding can have moved c.
    fn label_allowance(&self) -> f64 {
        grain(self.rounds) * self.labels.value() + TINY * self.rounds as f64
    }
}

/// Allowances for what is computed from G, b and c.
struct Rounding {
    /// For the cost.
    value: f64,
    /// For the norm of its gradient.
    gradient: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Exact, cost, square};
    use rueful_checks::Rng;
    use rueful_core::set::Ball;
    use rueful_core::{Batch, Importance, Positive};

    fn ball(radius: f64) -> AnySet {
        Ball { radius: Positive::new(radius).unwrap() }.into()
    }

    fn gram(batch: &Batch, sigma: f64) -> Gram {
        let mut gram = Gram::new(NonNegative::new(sigma).unwrap());
        gram.observe_rows(batch.rows());
        gram
    }

    /// What is told of u.
    fn told(gram: &Gram, u: &[f64], set: &AnySet) -> Solution {
        let mut best = gram.at_zero();
        (best.lower, best.upper) = (f64::NEG_INFINITY, f64::INFINITY);
        gram.tell(u, set, &mut best);
        best
    }

    #[test]
    fn an_exact_fit_costs_at_least_nothing_and_at_most_something() {
        let rng = &mut Rng::new(1);
        for _ in 0..300 {
            let u = [rng.bell(), rng.bell()];
            let mut batch = Batch::default();
            for _ in 0..5 {
                let x = [rng.bell() as f32, rng.bell() as f32];
                let label = u[0] * f64::from(x[0]) + u[1] * f64::from(x[1]);
                batch.push(&[0, 1], &x, label).unwrap();
            }
            let exact = cost(square, 0.0, &batch, &u);
            let told = told(&gram(&batch, 0.0), &u, &ball(10.0));
            assert!(Exact::from(told.lower) <= exact && exact <= told.upper.into(), "{told:?}");
            assert!(told.upper - told.lower < 1e-9, "{told:?}");
        }
    }

    #[test]
    fn a_quadratic_that_cancelled_has_its_allowance() {
        let rng = &mut Rng::new(3);
        let mut batch = Batch::default();
        batch.push(&[0, 1], &[1.0, 1.0], 0.0).unwrap();
        for _ in 0..100 {
            let far = 1e8 * rng.bell();
            let u = [far, 1e-3 * rng.bell() - far];
            let exact = cost(square, 0.0, &batch, &u);
            let told = told(&gram(&batch, 0.0), &u, &ball(1e10));
            assert!(exact <= told.upper.into(), "{u:?}");
        }
    }

    #[test]
    fn squares_of_labels_are_never_too_small() {
        let rng = &mut Rng::new(4);
        for _ in 0..3000 {
            let mut batch = Batch::default();
            let importance = Importance::new(1.0 + rng.unit()).unwrap();
            batch.push_weighted(&[], &[], rng.bell(), importance).unwrap();
            let exact = cost(square, 0.0, &batch, &[]);
            assert!(exact <= gram(&batch, 0.0).solve(&ball(1.0)).upper.into(), "{batch:?}");
        }
    }

    #[test]
    fn slopes_that_cancelled_have_their_allowance() {
        // Σ y·x is 1 and comes out as 0; so does S at u = 0, and U counts it.
        let mut batch = Batch::default();
        for x in [16777216.0, 1.0, -16777216.0] {
            batch.push(&[0], &[x], if x == 1.0 { 1.0 } else { 1e9 }).unwrap();
        }
        for radius in [1.0, 1e20] {
            let told = told(&gram(&batch, 0.0), &[0.0], &ball(radius));
            let exact = Exact::from(2e18 + 1.0) - Exact::from(2.0 * radius);
            assert!(Exact::from(told.lower) <= exact, "{told:?}");
        }
    }

    #[test]
    fn labels_whose_squares_underflow_cost_something() {
        let mut batch = Batch::default();
        batch.push(&[0], &[1.0], 1e-170).unwrap();
        assert!(gram(&batch, 0.0).solve(&ball(1.0)).upper > 0.0);
        batch.push(&[0], &[1.0], 1e200).unwrap();
        let absurd = gram(&batch, 0.0).solve(&ball(1.0));
        assert!(absurd.lower <= 0.0 && absurd.upper == f64::INFINITY, "{absurd:?}");
    }

    #[test]
    fn a_penalty_is_never_too_small() {
        let rng = &mut Rng::new(2);
        for _ in 0..300 {
            let mut batch = Batch::default();
            batch.push(&[0, 1], &[0.0, 0.0], 0.0).unwrap();
            let (u, sigma) = ([rng.bell(), rng.bell()], rng.unit());
            let mut gram = gram(&batch, sigma);
            gram.grow(2);
            let exact = cost(square, sigma, &batch, &u);
            assert!(exact <= told(&gram, &u, &ball(10.0)).upper.into());
        }
    }
}
