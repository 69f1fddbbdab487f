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
use crate::scales::{Scales, quotient};
use crate::set::{dot, make_feasible, norm};
use nalgebra::DMatrix;
use rueful_core::ledger::{Minorant, OffBy};
use rueful_core::set::{AnySet, Ball};
use rueful_core::{Example, NonNegative, Positive, Rows, Sum};
use serde::{Deserialize, Serialize};

/// How many examples are added up plainly before their sum is added with compensation.
const BLOCK: u64 = 256;

/// The relative gap that counts as converged, in the units of the rows and in none.
const TOLERANCE: f64 = 1e-8;
const UNIT_FREE_TOLERANCE: f64 = 1e-9;

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

    /// The sums at some places, and sums of nothing where there is none.
    fn picked(&self, places: impl Iterator<Item = Option<usize>>) -> Self {
        let at = |place: usize| (self.recent[place], self.total[place]);
        let (recent, total) = places.map(|place| place.map_or_else(Default::default, at)).unzip();
        Self { recent, total }
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
        let parabola = self.parabola();
        let feasible = |v: &mut Vec<f64>| make_feasible(comparators, v);
        parabola.minimise(comparators, comparators, TOLERANCE, &feasible)
    }

    /// The best comparator in the unit-free ball { u : Σ (N_i u_i)² ≤ (U·Y)² }, in the units of the rows,
    /// with a proved interval around what it loses: see [`Scales`].
    ///
    /// ```
    /// use rueful_core::{Batch, NonNegative, Positive};
    /// use rueful_hindsight::{Gram, Scales};
    ///
    /// let mut batch = Batch::default();
    /// batch.push(&[0], &[2000.0], 3.0)?;
    /// batch.push(&[0], &[2000.0], 5.0)?;
    /// let mut gram = Gram::new(NonNegative::ZERO);
    /// gram.observe_rows(batch.rows());
    /// let scales = Scales { columns: vec![2000.0], label: 5.0 };
    /// let best = gram.solve_unit_free(Positive::ONE, &scales);
    /// assert!((2000.0 * best.comparator[0] - 4.0).abs() < 1e-6);
    /// assert!(best.lower <= 2.0 && 2.0 <= best.upper && best.upper - best.lower < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn solve_unit_free(&self, radius: Positive, scales: &Scales) -> Solution {
        let (inside, outside) = scales.radii(radius);
        let parabola = self.parabola().scaled(scales);
        let Ok(ends) = Positive::new(inside).and_then(|r| Ok((r, Positive::new(outside)?))) else {
            return parabola.in_a_point(outside);
        };
        let [inner, outer] = [ends.0, ends.1].map(|radius| AnySet::from(Ball { radius }));
        // The v that is priced is N·u for the very u that is returned, but for a rounding of it.
        let feasible = |v: &mut Vec<f64>| *v = scales.without_units(&scales.with_units(v, inside));
        let mut best = parabola.minimise(&inner, &outer, UNIT_FREE_TOLERANCE, &feasible);
        best.comparator = scales.with_units(&best.comparator, inside);
        best
    }

    /// The least loss of comparators as a function of their radius: in the units of the rows, or with
    /// scales in none.
    pub fn least_loss(&self, scales: Option<&Scales>) -> LeastLoss {
        let in_own_units = || Scales { columns: vec![1.0; self.dimension()], label: 1.0 };
        let is_unit_free = scales.is_some();
        let scales = scales.cloned().unwrap_or_else(in_own_units);
        let parabola = self.parabola().scaled(&scales);
        let second_derivatives = parabola.second_derivatives();
        LeastLoss { parabola, second_derivatives, scales, is_unit_free }
    }

    /// Whether this, read from somewhere, can be the statistics of so many rounds and columns.
    pub fn is_sound(&self, rounds: u64, columns: usize) -> bool {
        let Self { products, moments, .. } = self;
        let is_size = |length: usize, block: &Block| {
            block.recent.len() == length && block.total.len() == length
        };
        self.rounds == rounds
            && is_size(columns, moments)
            && is_size(columns * (columns + 1) / 2, products)
    }

    /// Puts the columns in other places: place i gets what is at `from[i]`, and nothing where that is
    /// no column.
    #[must_use]
    pub fn rearranged(&self, from: &[usize]) -> Self {
        let place = |i: usize, j: usize| {
            let (high, low) = (from[i].max(from[j]), from[i].min(from[j]));
            (high < self.dimension()).then(|| high * (high + 1) / 2 + low)
        };
        let pairs = (0..from.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Self {
            products: self.products.picked(pairs.map(|(i, j)| place(i, j))),
            moments: self
                .moments
                .picked(from.iter().map(|&column| (column < self.dimension()).then_some(column))),
            ..self.clone()
        }
    }

    /// What a comparator costs.
    fn parabola(&self) -> Parabola {
        let d = self.dimension();
        let g = DMatrix::from_fn(d, d, |i, j| {
            if i < j { 0.0 } else { self.products.value(i * (i + 1) / 2 + j) }
        });
        Parabola {
            rounds: self.rounds,
            curvatures: curvatures(self.sigma.get(), self.rounds),
            g,
            b: (0..d).map(|i| self.moments.value(i)).collect(),
            labels: self.labels.value(),
            unit: 1.0,
        }
    }

    fn grow(&mut self, dimension: usize) {
        self.products.grow(dimension * (dimension + 1) / 2);
        self.moments.grow(dimension);
    }
}

/// uᵀGu − 2b·u + c + (κ/2)‖u‖², in the units of the rows or in others.
struct Parabola {
    rounds: u64,
    /// κ = σT, rounded down and up.
    curvatures: (f64, f64),
    /// The lower triangle of G.
    g: DMatrix<f64>,
    b: Vec<f64>,
    /// c
    labels: f64,
    /// How much larger what underflowed can have become in these units.
    unit: f64,
}

impl Parabola {
    /// In units of the scales: for v = N·u it has G_ij/(N_i N_j) and b_i/N_i. A penalty becomes a part
    /// of G.
    fn scaled(mut self, scales: &Scales) -> Self {
        let size = |i: usize| scales.column(i);
        let (_, penalty) = self.curvatures;
        for j in 0..self.b.len() {
            if size(j) > 0.0 {
                self.g[(j, j)] += 0.5 * penalty;
            }
            for i in j..self.b.len() {
                // The product of two singles is exact.
                self.g[(i, j)] = quotient(self.g[(i, j)], size(i) * size(j));
            }
            self.b[j] = quotient(self.b[j], size(j));
        }
        self.curvatures = (0.0, 0.0);
        self.unit = scales.largest().max(1.0 / scales.smallest()).max(1.0).powi(2);
        self
    }

    /// Narrows the interval until the gap is small or stays. Points are taken from `inside`, and what
    /// is proved holds for `outside`, which contains it; `feasible` has the last word on a point.
    fn minimise(
        &self,
        inside: &AnySet,
        outside: &AnySet,
        tolerance: f64,
        feasible: &dyn Fn(&mut Vec<f64>),
    ) -> Solution {
        let mut best = self.at_zero();
        let a = self.second_derivatives();
        let mut u = vec![0.0; self.b.len()];
        let mut gap = f64::INFINITY;
        while gap > tolerance && !u.is_empty() {
            let Some(mut v) = self.improve(&a, &u, inside) else { break };
            feasible(&mut v);
            u = v;
            self.tell(&u, outside, &mut best);
            let now = self.relative_gap(&best);
            if now >= 0.5 * gap {
                break;
            }
            gap = now;
        }
        self.judged(best, tolerance)
    }

    /// Where u = 0 is the only comparator, but for one that rounding may let in.
    fn in_a_point(&self, outside: f64) -> Solution {
        let mut best = self.at_zero();
        let nowhere = vec![0.0; self.b.len()];
        match Positive::new(outside) {
            Ok(radius) => self.tell(&nowhere, &Ball { radius }.into(), &mut best),
            Err(_) if outside == 0.0 => best.lower = self.labels - self.label_allowance(),
            Err(_) => (),
        }
        best.lower = or_nothing_below(best.lower).max(0.0);
        self.judged(best, UNIT_FREE_TOLERANCE)
    }

    fn judged(&self, mut best: Solution, tolerance: f64) -> Solution {
        best.relative_gap = self.relative_gap(&best);
        best.converged = best.relative_gap <= tolerance;
        best.contradiction = (best.lower > best.upper).then_some(Contradiction {
            lower: best.lower,
            lower_from: Source::Dual,
            upper: best.upper,
            upper_from: Source::Primal,
        });
        best
    }

    fn at_zero(&self) -> Solution {
        Solution {
            lower: 0.0,
            upper: or_nothing_above(self.labels + self.label_allowance()),
            relative_gap: f64::INFINITY,
            comparator: vec![0.0; self.b.len()],
            examples: self.rounds,
            passes: 0,
            method: Method::SufficientStatistics,
            converged: false,
            contradiction: None,
        }
    }

    /// As for [`solve`](crate::solve): relative to the minimum, or to a millionth of F(0).
    fn relative_gap(&self, best: &Solution) -> f64 {
        let scale = best.upper.max(LEAST_SCALE * self.labels).max(NOTHING);
        relative_gap(best.lower, best.upper, scale)
    }

    /// 2G + κI, its lower triangle.
    fn second_derivatives(&self) -> DMatrix<f64> {
        let mut a = &self.g * 2.0;
        for i in 0..a.nrows() {
            a[(i, i)] += self.curvatures.1;
        }
        a
    }

    /// The minimum of the cost, damped as much as it takes; the damping pulls towards u, so that
    /// doing it again takes its effect away.
    fn improve(&self, a: &DMatrix<f64>, u: &[f64], comparators: &AnySet) -> Option<Vec<f64>> {
        let mut gradient = symmetric_product(a, u);
        gradient.iter_mut().zip(&self.b).for_each(|(g, b)| *g -= 2.0 * b);
        let mean = a.trace() / a.nrows() as f64;
        [1e-13, 1e-10, 1e-7].iter().find_map(|damping| {
            let mut damped = a.clone();
            for i in 0..a.nrows() {
                let own = a[(i, i)].max(1e-18 * mean).max(1e-200);
                damped[(i, i)] = own + damping * own;
            }
            minimise(&damped, gradient.as_slice(), u, comparators)
        })
    }

    /// Both ends of the interval at u.
    fn tell(&self, u: &[f64], comparators: &AnySet, best: &mut Solution) {
        let product = symmetric_product(&self.g, u);
        let (linear, quadratic) = (dot(u, &self.b), dot(u, product.as_slice()));
        let slopes: Vec<f64> = product.iter().zip(&self.b).map(|(p, b)| 2.0 * (p - b)).collect();
        let (least, most) = self.curvatures;
        let rounding = self.rounding(u);

        let upper = quadratic - 2.0 * linear + self.labels + rounding.value;
        let penalty = penalty_above(most, norm_above(u.iter().copied()));
        let upper = or_nothing_above(sum_above(upper, penalty));
        let gain = support_above(comparators, &slopes, rounding.gradient, least);
        let lower = or_nothing_below(-sum_above(quadratic - self.labels + rounding.value, gain));
        if upper < best.upper {
            best.upper = upper;
            best.comparator.copy_from_slice(u);
        }
        best.lower = best.lower.max(lower);
    }

    /// How far rounding can have moved what `tell` computes. An entry of G went through a block's
    /// additions and a few more, each relative to Σ|x_i x_j|, which is at most √(G_ii G_jj): so
    /// Σ_ij |u_i||u_j| Σ|x_i x_j| is at most (Σ|u_i|√G_ii)². The products with u add a rounding a
    /// column; other units, and a u that was rounded, a few more. The same for b and c.
    fn rounding(&self, u: &[f64]) -> Rounding {
        let d = u.len() as f64;
        // A rounding is half of ε; those of the columns are counted twice.
        let grain = f64::EPSILON * (0.5 * BLOCK as f64 + 2.0 * d + 32.0);
        let columns: Vec<f64> = self.g.diagonal().iter().map(|g| g.sqrt()).collect();
        // A label whose square underflows still counts in b.
        let labels = (self.labels + TINY * (self.rounds as f64 + 1.0)).sqrt();
        let size: f64 = u.iter().zip(&columns).map(|(u, c)| u.abs() * c).sum();
        let rows = norm(&columns);
        let long = norm_above(u.iter().copied());
        let underflow = TINY * self.unit * (self.rounds as f64 + 1.0) * (1.0 + long) * (d + 1.0);
        Rounding {
            value: grain * size * (size + 2.0 * labels)
                + self.label_allowance()
                + underflow * (1.0 + long),
            gradient: 2.0 * grain * rows * (size + labels) + underflow,
        }
    }

    /// How far rounding can have moved c.
    fn label_allowance(&self) -> f64 {
        grain(self.rounds) * self.labels + TINY * self.rounds as f64
    }
}

/// The least loss of the comparators in a ball as a function of its radius: a convex curve, of which
/// every comparator proves a line that lies below it.
pub struct LeastLoss {
    parabola: Parabola,
    second_derivatives: DMatrix<f64>,
    scales: Scales,
    is_unit_free: bool,
}

impl LeastLoss {
    /// What the best comparator of a radius proves about those of every radius. At this radius it is
    /// all there is to prove, but for rounding.
    pub fn tangent(&self, radius: Positive) -> Minorant {
        let (parabola, scales) = (&self.parabola, &self.scales);
        let v = self.best(scales.radii(radius).1);
        let product = symmetric_product(&parabola.g, &v);
        let slopes: Vec<f64> =
            product.iter().zip(&parabola.b).map(|(p, b)| 2.0 * (p - b)).collect();
        let rounding = parabola.rounding(&v);
        // The slopes are given in the units of the rows, and divided by them once more.
        let length = norm_above(slopes.iter().copied());
        let off = (rounding.gradient + 4.0 * f64::EPSILON * length).next_up();
        let off = OffBy {
            offset: rounding.value,
            slopes: (off * scales.largest()).next_up(),
            scaled_slopes: if self.is_unit_free { off } else { f64::INFINITY },
        };
        let in_units = slopes.iter().enumerate().map(|(i, slope)| slope * scales.column(i));
        let offset = parabola.labels - dot(&v, product.as_slice());
        Minorant::of_sums(parabola.rounds, offset, in_units.collect(), off)
    }

    /// The best v = N·u of norm at most `radius`, as far as it can be found.
    fn best(&self, radius: f64) -> Vec<f64> {
        let nowhere = vec![0.0; self.parabola.b.len()];
        let Ok(radius) = Positive::new(radius) else { return nowhere };
        let ball = Ball { radius }.into();
        let found = self.parabola.improve(&self.second_derivatives, &nowhere, &ball);
        found.unwrap_or(nowhere)
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
        let parabola = gram.parabola();
        let mut best = parabola.at_zero();
        (best.lower, best.upper) = (f64::NEG_INFINITY, f64::INFINITY);
        parabola.tell(u, set, &mut best);
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
