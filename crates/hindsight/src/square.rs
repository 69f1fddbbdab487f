//! The square loss from its sufficient statistics: the best comparator so far, without the data.
//!
//! With G = Σ x xᵀ, b = Σ y x and c = Σ y², the cost of u is uᵀGu − 2b·u + c. The slopes
//! 2(u·x_t − y_t) of any u prove that no comparator in W loses less than
//!
//! ```text
//! c − uᵀGu − sup_{v∈W} (−v·S − (σT/2)‖v‖²),    S = 2(Gu − b)
//! ```
//!
//! So both ends of the interval come from d² numbers. Where columns are nearly collinear, u is long
//! and nearly everything cancels. So G, b and c are kept in twice the usual precision, and the
//! bounds of u are computed in it. Memory is O(d²), which is fine for up to some 2,000 columns.

use crate::bracket::{LEAST_SCALE, NOTHING, relative_gap};
use crate::double::{Double, Doubles};
use crate::problem::{Contradiction, Method, Solution, Source};
use crate::proof::support_above;
use crate::quadratic::{minimise, minimise_near_ball};
use crate::rounding::{
    TINY, curvatures, norm_above, or_nothing_above, or_nothing_below, penalty_above, sum_above,
};
use crate::scales::{Scales, quotient};
use crate::set::make_feasible;
use nalgebra::{Cholesky, DMatrix};
use rueful_core::ledger::{Minorant, OffBy};
use rueful_core::set::{AnySet, Ball, WholeSpace};
use rueful_core::{Example, Features, NonNegative, Positive, Rows};
use serde::{Deserialize, Serialize};

/// The relative gap that counts as converged.
const TOLERANCE: f64 = 1e-9;

/// A relative gap, or gain, that is not worth another step.
const ENOUGH: f64 = 1e-14;

/// The most times that a comparator is improved.
const STEPS: usize = 20;

/// The statistics G, b and c of a stream. They grow with its columns, and can be merged with those
/// of other parts of the stream.
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
    /// Whether an example counted more or less than once. Then products were rounded.
    is_weighted: bool,
    /// The lower triangle of G, row after row. Row i has i + 1 entries, so that G can grow.
    products: Doubles,
    /// The vector b.
    moments: Doubles,
    /// The number c.
    labels: Double,
}

impl Gram {
    /// Statistics without examples. With σ > 0 each loss includes (σ/2)‖u‖².
    pub fn new(sigma: NonNegative) -> Self {
        Self {
            sigma,
            rounds: 0,
            is_weighted: false,
            products: Doubles::default(),
            moments: Doubles::default(),
            labels: Double::default(),
        }
    }

    /// Takes in one example, in O(nnz(x)²).
    pub fn observe(&mut self, example: &Example<'_>) {
        let x = &example.features;
        self.grow(x.dimension());
        let weight = example.importance.get();
        self.is_weighted |= weight != 1.0;
        self.add_products(x, weight);
        let label = Double::product(weight, example.label);
        for (i, x) in x.iter() {
            let [high, low] = [label.high, label.low].map(|part| Double::product(part, x));
            self.moments.add(i, high.plus(low));
        }
        let [high, low] = [label.high, label.low].map(|part| Double::product(part, example.label));
        self.labels = self.labels.plus(high).plus(low);
        self.rounds += 1;
    }

    /// Adds s·x xᵀ to G. The product of two singles fits into a double, but sums of products do
    /// not.
    fn add_products(&mut self, x: &Features<'_>, weight: f64) {
        let (indices, values) = (x.indices(), x.values());
        let first = x.run().map(|run| run.start);
        for (k, (i, xi)) in x.iter().enumerate() {
            let (row, xi) = (i * (i + 1) / 2, weight * xi);
            if let Some(first) = first {
                self.products.add_multiple(row + first, xi, &values[..=k]);
                continue;
            }
            for (&j, &xj) in indices[..=k].iter().zip(values) {
                let j = j as usize;
                let place = if j <= i { row + j } else { j * (j + 1) / 2 + i };
                self.products.add_number(place, xi * f64::from(xj));
            }
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
        self.labels = self.labels.plus(other.labels);
        self.rounds += other.rounds;
        self.is_weighted |= other.is_weighted;
    }

    /// The number T of examples.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The number d of columns: one more than the largest index seen.
    pub fn dimension(&self) -> usize {
        self.moments.len()
    }

    /// The best comparator of the rounds so far, with a proved interval around its loss.
    pub fn solve(&self, comparators: &AnySet) -> Solution {
        match comparators {
            AnySet::Ball(ball) if self.sigma == NonNegative::ZERO => {
                self.least_loss(None).solve(ball.radius)
            }
            _ => self.solve_in(comparators),
        }
    }

    fn solve_in(&self, comparators: &AnySet) -> Solution {
        let (least, most) = curvatures(self.sigma.get(), self.rounds);
        let second_derivatives = self.second_derivatives(&Scales::ones(self.dimension()), most);
        let mut best = self.at_zero();
        let mut u = best.comparator.clone();
        for _ in 0..STEPS {
            let before = self.relative_gap(&best);
            let priced = self.price(&u, 0.0);
            let gain = support_above(comparators, &priced.slopes, priced.off_slopes(), least);
            let penalty = penalty_above(most, norm_above(u.iter().copied()));
            best.take(priced.lower(gain), priced.upper(penalty), &u);
            let gap = self.relative_gap(&best);
            if gap <= ENOUGH || gap >= 0.5 * before && u.iter().any(|&u| u != 0.0) {
                break;
            }
            let penalised = u.iter().zip(&priced.slopes).map(|(u, s)| s + most * u);
            let gradient: Vec<f64> = penalised.collect();
            let inside = |a: &DMatrix<f64>| minimise(a, &gradient, &u, comparators);
            let Some(mut next) = damped(&second_derivatives, inside) else { break };
            make_feasible(comparators, &mut next);
            u = next;
        }
        self.judged(best)
    }

    /// The best comparator in the unit-free ball { u : Σ (N_i u_i)² ≤ (U·Y)² }, in the units of the
    /// rows, with a proved interval around its loss: see [`Scales`].
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
        let (_, curvature) = curvatures(self.sigma.get(), self.rounds);
        self.least_loss_with(Some(scales), curvature).solve(radius)
    }

    /// The least loss of comparators as a function of their radius. The radius is in the units of
    /// the rows, or with scales without units. The penalty is left out.
    pub fn least_loss(&self, scales: Option<&Scales>) -> LeastLoss<'_> {
        self.least_loss_with(scales, 0.0)
    }

    /// Like [`Gram::least_loss`], with the penalty (κ/2)‖u‖².
    fn least_loss_with(&self, scales: Option<&Scales>, curvature: f64) -> LeastLoss<'_> {
        let given = scales.cloned().unwrap_or_else(|| Scales::ones(self.dimension()));
        LeastLoss {
            second_derivatives: self.second_derivatives(&given, curvature),
            scales: given,
            is_unit_free: scales.is_some(),
            curvature,
            gram: self,
        }
    }

    /// Whether these statistics, read from somewhere, can be those of so many rounds and columns.
    pub fn is_sound(&self, rounds: u64, columns: usize) -> bool {
        self.rounds == rounds
            && self.moments.is_of(columns)
            && self.products.is_of(columns * (columns + 1) / 2)
    }

    /// Puts the columns in other places. Place i gets the column `from[i]`, and zeros if there is
    /// no such column.
    #[must_use]
    pub fn rearranged(&self, from: &[usize]) -> Self {
        let d = self.dimension();
        let place = |i: usize, j: usize| {
            let (high, low) = (from[i].max(from[j]), from[i].min(from[j]));
            (high < d).then(|| high * (high + 1) / 2 + low)
        };
        let pairs = (0..from.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let columns = from.iter().map(|&column| (column < d).then_some(column));
        Self {
            products: self.products.picked(pairs.map(|(i, j)| place(i, j))),
            moments: self.moments.picked(columns),
            ..self.clone()
        }
    }

    fn grow(&mut self, dimension: usize) {
        self.products.grow(dimension * (dimension + 1) / 2);
        self.moments.grow(dimension);
    }

    /// The entry G_ij for j ≤ i.
    fn product(&self, i: usize, j: usize) -> Double {
        self.products.get(i * (i + 1) / 2 + j)
    }

    /// The norm √G_ii of a column.
    fn column_norm(&self, i: usize) -> f64 {
        self.product(i, i).value().max(0.0).sqrt()
    }

    /// The lower triangle of (2G_ij + κ[i = j])/(N_i N_j).
    fn second_derivatives(&self, scales: &Scales, curvature: f64) -> DMatrix<f64> {
        let d = self.dimension();
        DMatrix::from_fn(d, d, |i, j| {
            if i < j {
                return 0.0;
            }
            let unit = scales.column(i) * scales.column(j);
            let penalty = if i == j { curvature } else { 0.0 };
            quotient(2.0 * self.product(i, j).value() + penalty, unit)
        })
    }

    /// The cost of u and the bound that it proves, where a penalty (κ/2)‖u‖² is part of the loss.
    fn price(&self, u: &[f64], curvature: f64) -> Priced {
        let d = self.dimension();
        let mut slopes = vec![Double::default(); d];
        for i in 0..d {
            for j in 0..=i {
                let entry = self.product(i, j);
                slopes[i] = slopes[i].plus(entry.times(u[j]));
                if j < i {
                    slopes[j] = slopes[j].plus(entry.times(u[i]));
                }
            }
        }
        let (mut quadratic, mut linear) = (Double::default(), Double::default());
        for i in 0..d {
            let moment = self.moments.get(i);
            if curvature > 0.0 {
                slopes[i] = slopes[i].plus(Double::product(0.5 * curvature, u[i]));
            }
            quadratic = quadratic.plus(slopes[i].times(u[i]));
            linear = linear.plus(moment.times(u[i]));
            slopes[i] = slopes[i].plus(moment.times(-1.0)).times(2.0);
        }
        let off = self.allowance(u);
        // The curvature κ was rounded up. So the cost is not too small and the offset is not too large, but
        // S is off.
        let penalty = |i: usize| 2.0 * f64::EPSILON * curvature * u[i].abs();
        Priced {
            cost: self.labels.plus(quadratic).plus(linear.times(-2.0)).value(),
            offset: self.labels.plus(quadratic.times(-1.0)).value(),
            off: off.0,
            off_each: (0..d).map(|i| off.1 * self.column_norm(i) + off.2 + penalty(i)).collect(),
            slopes: slopes.into_iter().map(Double::value).collect(),
        }
    }

    /// How far rounding can have moved the cost of u and S. The first number is for the cost. The
    /// other two are for every entry of S: relative to √G_ii, and besides. Σ|x_i x_j| is at most
    /// √(G_ii G_jj), so Σ_ij |u_i||u_j| Σ|x_i x_j| is at most (Σ|u_i|√G_ii)². For b and c the
    /// bounds are alike.
    ///
    /// Sums of T numbers in twice the precision are off by T²ε²/4, and products with u by a few ε²
    /// for every column. Importances are rounded into products, a few ε each.
    fn allowance(&self, u: &[f64]) -> (f64, f64, f64) {
        if self.rounds == 0 {
            return (0.0, 0.0, 0.0);
        }
        let (d, rounds) = (u.len() as f64, self.rounds as f64);
        let grain = self.grain() + f64::EPSILON * f64::EPSILON * 16.0 * d;
        // A label whose square underflows still counts in b.
        let labels = (self.labels.value() + TINY * (rounds + 1.0)).sqrt();
        let size: f64 = u.iter().enumerate().map(|(i, u)| u.abs() * self.column_norm(i)).sum();
        let long = norm_above(u.iter().copied());
        let underflow = TINY * (rounds + 1.0) * (1.0 + long) * (d + 1.0);
        let value = grain * (size + labels) * (size + labels) + underflow * (1.0 + long);
        (value, 2.0 * grain * (size + labels), 2.0 * underflow)
    }

    /// How far off an entry of G can be, relative to √(G_ii G_jj).
    fn grain(&self) -> f64 {
        let rounds = self.rounds as f64;
        let products = if self.is_weighted { 8.0 } else { 0.0 };
        f64::EPSILON * (products + f64::EPSILON * (rounds * rounds + 64.0))
    }

    fn at_zero(&self) -> Solution {
        let nowhere = vec![0.0; self.dimension()];
        Solution {
            lower: 0.0,
            upper: self.price(&nowhere, 0.0).upper(0.0),
            relative_gap: f64::INFINITY,
            comparator: nowhere,
            examples: self.rounds,
            passes: 0,
            method: Method::SufficientStatistics,
            converged: false,
            contradiction: None,
        }
    }

    /// The relative gap as for [`solve`](crate::solve): relative to the minimum, or to a millionth
    /// of F(0).
    fn relative_gap(&self, best: &Solution) -> f64 {
        let scale = best.upper.max(LEAST_SCALE * self.labels.value()).max(NOTHING);
        relative_gap(best.lower, best.upper, scale)
    }

    fn judged(&self, mut best: Solution) -> Solution {
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
}

impl Solution {
    /// Takes in the ends of the interval at u.
    fn take(&mut self, lower: f64, upper: f64, u: &[f64]) {
        if upper < self.upper {
            self.upper = upper;
            self.comparator.copy_from_slice(u);
        }
        self.lower = self.lower.max(lower);
    }
}

/// The cost of a comparator and the bound that it proves, in the units of the rows.
struct Priced {
    /// uᵀGu − 2b·u + c.
    cost: f64,
    /// c − uᵀGu.
    offset: f64,
    /// How far each of the two is off, except for its last rounding.
    off: f64,
    /// The slopes S.
    slopes: Vec<f64>,
    /// How far each entry of S is off, except for its last rounding.
    off_each: Vec<f64>,
}

impl Priced {
    /// An upper bound on the cost of the comparator.
    fn upper(&self, penalty: f64) -> f64 {
        or_nothing_above(sum_above(self.above(self.cost), penalty))
    }

    /// A lower bound on the cost of every comparator, if none gains more than `gain` along S.
    fn lower(&self, gain: f64) -> f64 {
        or_nothing_below(-sum_above(self.above(-self.offset), gain))
    }

    /// An upper bound on a value that was rounded last. Without examples nothing is rounded.
    fn above(&self, value: f64) -> f64 {
        if self.off == 0.0 { value } else { sum_above(value.next_up(), self.off) }
    }

    /// How far off S is in norm. The roundings of its entries are not included: [`norm_above`]
    /// allows for them.
    fn off_slopes(&self) -> f64 {
        norm_above(self.off_each.iter().copied())
    }

    /// How far off S/N is in norm. A column without a scale was never seen, and its slope is 0.
    fn off_scaled_slopes(&self, scales: &Scales) -> f64 {
        let is_seen = |i: usize| scales.column(i) > 0.0;
        let off = self.off_each.iter().enumerate();
        let off: Vec<f64> = off.map(|(i, &off)| if is_seen(i) { off } else { 0.0 }).collect();
        scales.norm_of_slopes_above(&off)
    }

    /// sup −u·S over the unit-free ball, rounded up.
    fn gain_unit_free(&self, scales: &Scales, radius: f64) -> f64 {
        let norm = scales.norm_of_slopes_above(&self.slopes);
        let longest = sum_above(norm, self.off_scaled_slopes(scales));
        if longest == 0.0 || radius == 0.0 { 0.0 } else { (longest * radius).next_up() }
    }
}

/// The minimum of a quadratic, with as much damping as it takes. The damping pulls towards the
/// current point, so repeating the step takes its effect away.
fn damped(
    a: &DMatrix<f64>,
    minimise: impl Fn(&DMatrix<f64>) -> Option<Vec<f64>>,
) -> Option<Vec<f64>> {
    let mean = a.trace() / a.nrows() as f64;
    [1e-13, 1e-10, 1e-7].iter().find_map(|damping| {
        let mut damped = a.clone();
        for i in 0..a.nrows() {
            let own = a[(i, i)].max(1e-18 * mean).max(1e-200);
            damped[(i, i)] = own + damping * own;
        }
        minimise(&damped)
    })
}

/// The least loss of the comparators in a ball as a function of its radius. It is a convex curve,
/// and every comparator proves a line that lies below it.
pub struct LeastLoss<'a> {
    gram: &'a Gram,
    /// The second derivatives in v = N·u.
    second_derivatives: DMatrix<f64>,
    scales: Scales,
    is_unit_free: bool,
    /// The curvature κ of the penalty.
    curvature: f64,
}

impl LeastLoss<'_> {
    /// The best comparator of a radius, with a proved interval around its loss.
    fn solve(&self, radius: Positive) -> Solution {
        let (inside, outside) = self.scales.radii(radius);
        let mut best = self.gram.at_zero();
        self.search(radius, &mut |priced, u| {
            let before = self.gram.relative_gap(&best);
            let mut feasible = u.to_vec();
            self.scales.make_feasible(&mut feasible, inside);
            let lower = priced.lower(priced.gain_unit_free(&self.scales, outside));
            best.take(lower, self.gram.price(&feasible, self.curvature).upper(0.0), &feasible);
            let gap = self.gram.relative_gap(&best);
            gap > ENOUGH && (gap < 0.5 * before || u.iter().all(|&u| u == 0.0))
        });
        self.gram.judged(best)
    }

    /// The lower bound for every radius that the best comparator of one radius proves. At this
    /// radius it is the best there is, except for rounding.
    pub fn tangent(&self, radius: Positive) -> Minorant {
        let (_, outside) = self.scales.radii(radius);
        let (mut floor, mut best) = (f64::NEG_INFINITY, None);
        self.search(radius, &mut |priced, _| {
            let lower = priced.lower(priced.gain_unit_free(&self.scales, outside));
            let is_better = best.is_none() || lower > floor;
            let gained = lower - floor;
            if is_better {
                (floor, best) = (lower, Some(self.minorant(priced)));
            }
            is_better && gained > ENOUGH * floor.abs()
        });
        best.unwrap_or_else(|| {
            self.minorant(&self.gram.price(&vec![0.0; self.gram.dimension()], 0.0))
        })
    }

    /// A lower bound on the loss of every comparator, however long it is. The least second
    /// derivative m of the loss in v = N·u is known to be positive where a Cholesky decomposition
    /// goes through with less on the diagonal. Then no comparator loses less than
    /// cost(u) − ‖S/N‖²/(2m). `None` where columns are collinear, as far as rounding lets one see.
    pub fn everywhere(&self) -> Option<f64> {
        let curvature = self.curvature_below()?;
        let anywhere = AnySet::from(WholeSpace {});
        let mut u = vec![0.0; self.gram.dimension()];
        let mut floor = f64::NEG_INFINITY;
        for _ in 0..3 {
            let priced = self.gram.price(&u, self.curvature);
            let slope = sum_above(
                self.scales.norm_of_slopes_above(&priced.slopes),
                priced.off_scaled_slopes(&self.scales),
            );
            let gain = (slope * (slope / curvature).next_up()).next_up();
            let cost = -sum_above(priced.above(-priced.cost), 0.5 * gain);
            floor = floor.max(or_nothing_below(cost));
            let v = self.scales.without_units(&u);
            let gradient = self.gradient(&priced);
            let free = |a: &DMatrix<f64>| minimise(a, &gradient, &v, &anywhere);
            u = self.with_units(&damped(&self.second_derivatives, free)?);
        }
        floor.is_finite().then_some(floor)
    }

    /// A positive lower bound on the second derivatives of the loss in v, if one can be proved.
    fn curvature_below(&self) -> Option<f64> {
        let mut a = self.second_derivatives.clone();
        let trace = a.trace();
        for i in 0..a.nrows() {
            if self.scales.column(i) == 0.0 {
                // The loss does not depend on columns that were never seen.
                a[(i, i)] = trace;
            }
        }
        let trace = a.trace();
        // This covers the errors of the entries, and the error that a decomposition which goes
        // through can hide.
        let hidden = (self.gram.grain() + f64::EPSILON * (4.0 * a.nrows() as f64 + 16.0)) * trace;
        let mut shift = trace / (a.nrows().max(1) as f64);
        while shift > 4.0 * hidden && trace.is_finite() {
            let mut lowered = a.clone();
            (0..a.nrows()).for_each(|i| lowered[(i, i)] -= shift);
            // This is the textbook's decomposition, column by column: the error that it can hide is
            // known.
            if Cholesky::new(lowered).is_some() {
                return Some(shift - hidden);
            }
            shift *= 0.25;
        }
        None
    }

    /// The gradient S/N.
    fn gradient(&self, priced: &Priced) -> Vec<f64> {
        let slopes = priced.slopes.iter().enumerate();
        slopes.map(|(i, &slope)| quotient(slope, self.scales.column(i))).collect()
    }

    /// u = v/N.
    fn with_units(&self, v: &[f64]) -> Vec<f64> {
        v.iter().enumerate().map(|(i, &v)| quotient(v, self.scales.column(i))).collect()
    }

    fn minorant(&self, priced: &Priced) -> Minorant {
        // Every entry was rounded once, by half a unit in the last place, and is divided by its scale
        // once.
        let norm = norm_above(priced.slopes.iter().copied());
        let scaled = || self.scales.norm_of_slopes_above(&priced.slopes);
        let off = OffBy {
            offset: sum_above(priced.off, f64::EPSILON * priced.offset.abs()),
            slopes: sum_above(priced.off_slopes(), f64::EPSILON * norm),
            scaled_slopes: match self.is_unit_free {
                true => sum_above(priced.off_scaled_slopes(&self.scales), f64::EPSILON * scaled()),
                false => f64::INFINITY,
            },
        };
        Minorant::of_sums(self.gram.rounds, priced.offset, priced.slopes.clone(), off)
    }

    /// Shows better and better comparators of a radius with their prices, as long as `look` returns
    /// that there is something to gain. They may be a little too long. The bounds that they prove
    /// hold all the same, and shortening them can spoil these.
    fn search(&self, radius: Positive, look: &mut dyn FnMut(&Priced, &[f64]) -> bool) {
        let (inside, _) = self.scales.radii(radius);
        let ball = Positive::new(inside).map(|radius| Ball { radius });
        let mut u = vec![0.0; self.gram.dimension()];
        for _ in 0..STEPS {
            let priced = self.gram.price(&u, self.curvature);
            if !look(&priced, &u) {
                return;
            }
            let Ok(ball) = &ball else { return };
            let gradient = self.gradient(&priced);
            let v = self.scales.without_units(&u);
            let near = |a: &DMatrix<f64>| minimise_near_ball(a, &gradient, &v, ball);
            let Some(v) = damped(&self.second_derivatives, near) else { return };
            u = self.with_units(&v);
        }
    }
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

    /// The interval that u proves.
    fn told(gram: &Gram, u: &[f64], set: &AnySet) -> Solution {
        let (least, most) = curvatures(gram.sigma.get(), gram.rounds);
        let priced = gram.price(u, 0.0);
        let gain = support_above(set, &priced.slopes, priced.off_slopes(), least);
        let penalty = penalty_above(most, norm_above(u.iter().copied()));
        Solution { lower: priced.lower(gain), upper: priced.upper(penalty), ..gram.at_zero() }
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
        // Σ y·x is 1 and comes out as 0, and so does S at u = 0. It counts with the radius.
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

    /// Rows with collinear columns of any size, and their scales.
    fn rows(rng: &mut Rng, weighted: bool) -> (Batch, Scales) {
        let sizes = [1.0, 1e6, 1e-4];
        let mut batch = Batch::default();
        let mut scales = Scales { columns: vec![0.0; 3], label: 0.0 };
        for _ in 0..20 {
            let (a, b) = (rng.bell(), rng.bell());
            let x = [a, sizes[1] * (a + 1e-4 * b), sizes[2] * rng.bell()].map(|x| x as f32);
            let label = 3.0 * a + rng.bell();
            let importance = if weighted { 0.1 + rng.unit() } else { 1.0 };
            batch
                .push_weighted(&[0, 1, 2], &x, label, Importance::new(importance).unwrap())
                .unwrap();
            let columns = scales.columns.iter_mut().zip(x);
            columns.for_each(|(scale, x)| *scale = scale.max(x.abs()));
            scales.label = scales.label.max(label.abs());
        }
        (batch, scales)
    }

    /// The lower bound of a minorant over the unit-free ball, as a ledger computes it.
    fn floor(tangent: &Minorant, batch: &Batch, radius: f64) -> f64 {
        let ball = rueful_core::UnitFree { radius: Positive::new(radius).unwrap() };
        let mut ledger = rueful_core::Ledger::new(rueful_core::loss::Square {}, ball);
        batch.rows().iter().for_each(|example| ledger.observe(&example, 0.0).unwrap());
        tangent.floor(ledger.comparators(), ledger.coordinates())
    }

    #[test]
    fn tangents_are_below_every_comparator_and_touch_the_best() {
        let rng = &mut Rng::new(5);
        for round in 0..60 {
            let (batch, scales) = rows(rng, round % 2 == 1);
            let gram = gram(&batch, 0.0);
            let least = gram.least_loss(Some(&scales));
            for radius in [0.01, 1.0, 10.0] {
                let radius_given = Positive::new(radius).unwrap();
                let best = gram.solve_unit_free(radius_given, &scales);
                assert!(best.converged && best.contradiction.is_none(), "{best:?}");
                let exact = cost(square, 0.0, &batch, &best.comparator);
                for touching in [radius, 3.0 * radius] {
                    let tangent = least.tangent(Positive::new(touching).unwrap());
                    assert!(Exact::from(floor(&tangent, &batch, radius)) <= exact, "{radius}");
                }
                let touching = floor(&least.tangent(radius_given), &batch, radius);
                let gap = best.upper - touching;
                assert!(gap <= 1e-9 * best.upper, "{radius}: {gap} of {}", best.upper);
            }
        }
    }

    #[test]
    fn what_holds_everywhere_is_below_the_best_and_touches_it() {
        let rng = &mut Rng::new(7);
        let mut proved = 0;
        for round in 0..60 {
            let (batch, scales) = rows(rng, round % 2 == 1);
            let gram = gram(&batch, 0.0);
            let least = gram.least_loss(Some(&scales));
            let far = gram.solve_unit_free(Positive::new(1e6).unwrap(), &scales);
            let exact = cost(square, 0.0, &batch, &far.comparator);
            let Some(floor) = least.everywhere() else { continue };
            proved += 1;
            assert!(Exact::from(floor) <= exact, "{floor}");
            assert!(far.lower - floor <= 1e-6 * far.upper, "{floor} {}", far.lower);
        }
        assert!(proved > 50, "{proved}");
    }

    #[test]
    fn nothing_holds_everywhere_where_columns_are_the_same() {
        let mut batch = Batch::default();
        for t in 0..9_u8 {
            let x = f32::from(t);
            batch.push(&[0, 1], &[x, 2.0 * x], f64::from(t % 3)).unwrap();
        }
        let scales = Scales { columns: vec![8.0, 16.0], label: 2.0 };
        assert!(gram(&batch, 0.0).least_loss(Some(&scales)).everywhere().is_none());
    }

    #[test]
    fn columns_that_look_independent_by_rounding_prove_nothing_everywhere() {
        // Two columns that differ by a last place of one row. Their least second derivative is
        // 10⁻¹⁴, and far less than the rounding of the largest. The comparator (−2²³, 2²³) loses
        // nothing.
        for large in 1000..1100_u16 {
            let x = f32::from(large);
            let mut batch = Batch::default();
            batch.push(&[0, 1], &[x, x], 0.0).unwrap();
            batch.push(&[0, 1], &[1.0, 1.0 + f32::EPSILON], 1.0).unwrap();
            assert_eq!(cost(square, 0.0, &batch, &[-8_388_608.0, 8_388_608.0]), Exact::zero());
            let floor = gram(&batch, 0.0).least_loss(None).everywhere();
            assert!(floor.is_none_or(|floor| floor <= 0.0), "{large} {floor:?}");
        }
    }

    #[test]
    fn rearranged_statistics_are_those_of_rearranged_columns() {
        let (batch, _) = rows(&mut Rng::new(6), false);
        let mut turned = Batch::default();
        for example in batch.rows().iter() {
            let x = example.features.values();
            turned.push(&[0, 1, 3], &[x[2], x[0], x[1]], example.label).unwrap();
        }
        let expected = gram(&turned, 0.0);
        let rearranged = gram(&batch, 0.0).rearranged(&[2, 0, usize::MAX, 1]);
        assert_eq!(rearranged, expected);
        assert!(rearranged.is_sound(20, 4) && !rearranged.is_sound(19, 4));
        assert!(!rearranged.is_sound(20, 3));
    }

    #[test]
    fn a_curvature_that_was_rounded_up_has_its_allowance() {
        // In units of 2⁻⁷⁴, 3σ is 2⁵⁴ + 14, and comes out as 2⁵⁴ + 20. With this curvature the best
        // comparator is u, which costs about (κ/2)u². The lower bound touches its cost, so it is too
        // large for the true curvature.
        let u = 45.0 / 32.0;
        let sigma = 6_004_799_503_160_666.0 * (-74_f64).exp2();
        let (_, most) = curvatures(sigma, 3);
        assert_eq!(most, (54_f64.exp2() + 20.0) * (-74_f64).exp2());
        for eighth in 0..8 {
            let mut batch = Batch::default();
            batch.push(&[0], &[1.0], u * (1.0 + (-21_f64).exp2())).unwrap();
            batch.push(&[0], &[(-50_f32).exp2()], 225.0 * (-28_f64).exp2()).unwrap();
            // The last label decides in which direction the cost itself is rounded.
            batch.push(&[], &[], f64::from(eighth) * (-39_f64).exp2()).unwrap();
            let priced = gram(&batch, sigma).price(&[u], most);
            let lower = priced.lower(priced.gain_unit_free(&Scales::ones(1), 2.0));
            let exact = cost(square, sigma, &batch, &[u]);
            assert!(Exact::from(lower) <= exact, "{eighth} {lower}");
            assert!(Exact::from(lower * (1.0 + 1e-14)) >= exact, "{eighth} {lower}");
        }
    }

    #[test]
    fn long_sums_have_the_errors_of_their_errors() {
        // Beside the square of 2²⁷, the squares that follow are errors of the sum. These are added
        // up in one double, and every addition is rounded.
        let mut batch = Batch::default();
        for t in 0..1000 {
            let x = if t == 0 { 27_f32.exp2() } else { 0.9 };
            batch.push(&[0], &[x], 3.0 * f64::from(x)).unwrap();
        }
        let told = told(&gram(&batch, 0.0), &[3.0], &ball(10.0));
        assert!(told.lower <= 0.0 && 0.0 <= told.upper, "{told:?}");
    }

    #[test]
    fn slopes_of_tangents_that_cancelled_have_their_allowance() {
        // Σ y·x is 1 and comes out as 0, also in twice the precision. The tangent at 0 is 5 − 2u.
        let [large, middle] = [120_f32, 60.0].map(f32::exp2);
        let mut batch = Batch::default();
        for x in [large, middle, 1.0, -large, -middle] {
            batch.push(&[0], &[x], 1.0).unwrap();
        }
        let gram = gram(&batch, 0.0);
        let priced = gram.price(&[0.0], 0.0);
        assert_eq!(priced.slopes, [0.0]);
        let tangent = gram.least_loss(None).minorant(&priced);
        for radius in [1.0, 1e20] {
            let ball = Ball { radius: Positive::new(radius).unwrap() };
            let ledger = rueful_core::Ledger::new(rueful_core::loss::Square {}, ball);
            let floor = tangent.floor(ledger.comparators(), ledger.coordinates());
            assert!(floor <= 5.0 - 2.0 * radius, "{floor}");
        }
        let scales = Scales { columns: vec![large], label: 1.0 };
        let tangent = gram.least_loss(Some(&scales)).minorant(&priced);
        for radius in [1.0, 1e40] {
            let floor = floor(&tangent, &batch, radius);
            assert!(floor <= 5.0 - 2.0 * radius / f64::from(large), "{floor}");
        }
    }

    /// A price with this slope, where everything may be off by so much.
    fn priced(slope: f64, off: f64) -> Priced {
        Priced { cost: 0.0, offset: 0.0, off, slopes: vec![slope], off_each: vec![0.0] }
    }

    #[test]
    fn a_value_may_be_a_rounding_and_its_error_larger_than_it_looks() {
        // The sum with the error is rounded to −1, below which doubles are farther apart than above.
        let value = -1.0 - f64::EPSILON;
        let off = 1.125 * f64::EPSILON;
        let most = Exact::from(value) + Exact::from(0.5 * f64::EPSILON) + off.into();
        assert!(most <= priced(0.0, off).above(value).into());
    }

    #[test]
    fn a_gain_that_underflows_is_a_gain() {
        // A comparator of 10⁻²⁰⁰ gains 10⁻⁴⁰⁰.
        assert!(priced(1e-200, 0.0).gain_unit_free(&Scales::ones(1), 1e-200) > 0.0);
    }
}
