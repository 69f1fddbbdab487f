//! Eight simple learners side by side, each with its own learning rate.
//!
//! They read x̃, the features in their own units ([`Scale`]). The first is AdaGrad by coordinate in
//! its dual-averaging form. With i = 1/√(1 + A) it keeps
//!
//! ```text
//! θ ← θ + a x̃,    A ← A + a² x̃²,    f = gain · Σ θ i x̃
//! ```
//!
//! The others are diagonal Kalman filters with a prior variance v₀ and a drift q:
//!
//! ```text
//! f = Σ w x̃,    s = Σ v x̃²,    w ← w + a v x̃,    v ← v/(1 + h v x̃²),    v ← v + q(v₀ − v)
//! ```
//!
//! where the slope a and the curvature h come from the loss. A cell holds the two numbers that each
//! of the eight lanes keeps for a feature: 64 bytes that are read and written together.

use super::eight::Eight;
use super::merge::Parts;
use rueful_machine::{Eights, Lines};
use serde::{Deserialize, Serialize};

/// How many lanes there are.
pub(super) const LANES: usize = 8;

/// v₀ of every lane. The first lane begins with i = 1.
pub(super) const PRIOR: Eight = Eight([1.0, 0.1, 1.0, 1.0, 10.0, 100.0, 0.1, 1.0]);
/// q of every lane.
pub(super) const DRIFT: Eight = Eight([0.0, 0.0, 0.0, 1e-3, 1e-3, 1e-3, 1.0, 1.0]);

/// The names of the lanes for people.
pub(super) const NAMES: [&str; LANES] = [
    "adagrad",
    "kalman 0.1",
    "kalman 1",
    "kalman 1, drift 0.001",
    "kalman 10, drift 0.001",
    "kalman 100, drift 0.001",
    "kalman 0.1, drift 1",
    "kalman 1, drift 1",
];

/// The numbers that the lanes keep for one feature: w and v, or θ and i.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[repr(align(64))]
pub(super) struct Cell {
    pub(super) mean: Eight,
    pub(super) variance: Eight,
}

const FRESH: Cell = Cell { mean: Eight::ZERO, variance: PRIOR };

/// The lanes' view of an example.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seen {
    /// f, where that of the first lane is without its gain.
    pub(super) mean: Eight,
    /// s, which is 0 for the first lane.
    pub(super) variance: Eight,
    /// ‖x̃‖²
    pub(super) norm_sq: f32,
}

impl Seen {
    /// Adds the variance of features that were never seen. `norm_sq` is their Σx̃².
    #[inline(always)]
    pub(super) fn add_doubt(&mut self, norm_sq: f32) {
        self.variance = self.variance + Eight::all(norm_sq) * PRIOR.with_first(0.0);
    }
}

/// The lanes' view as running sums.
#[derive(Clone, Copy)]
pub(super) struct Seeing<V> {
    mean: V,
    variance: V,
    norm_sq: f32,
}

impl<V: Eights> Seeing<V> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { mean: V::all(0.0), variance: V::all(0.0), norm_sq: 0.0 }
    }

    /// Adds one more feature. Each is one sum in the order of the row, so features that add nothing
    /// do not change a bit.
    #[inline(always)]
    pub(super) fn add(&mut self, cell: &Cell, value: f32) {
        let (x, v, w) = (V::all(value), cell.variance.load::<V>(), cell.mean.load::<V>());
        self.mean = self.mean + x * w.with_first(w * v);
        self.variance = self.variance + x * x * v;
        self.norm_sq += value * value;
    }

    #[inline(always)]
    pub(super) fn seen(self) -> Seen {
        Seen {
            mean: Eight::of_register(self.mean),
            variance: Eight::of_register(self.variance.with_first(V::all(0.0))),
            norm_sq: self.norm_sq,
        }
    }
}

/// The slopes and curvatures from which the lanes learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lesson {
    /// a
    pub(super) slope: Eight,
    /// h
    pub(super) curvature: Eight,
}

/// The slopes and curvatures in registers.
#[derive(Clone, Copy)]
pub(super) struct Teaching<V> {
    slope: V,
    curvature: V,
    /// 1 − q, and below q v₀.
    kept: V,
    refilled: V,
}

impl<V: Eights> Teaching<V> {
    #[inline(always)]
    pub(super) fn new(lesson: &Lesson) -> Self {
        let (slope, drift) = (lesson.slope.load::<V>(), DRIFT.load::<V>());
        Self {
            slope,
            curvature: lesson.curvature.load(),
            kept: V::all(1.0) - drift,
            refilled: drift * PRIOR.load(),
        }
    }

    /// The new i of the first lane for one feature, from the old i and x̃.
    #[inline(always)]
    fn first(&self, i: f32, value: f32) -> f32 {
        let a = self.slope.array()[0];
        i / (1.0 + i * i * (a * a * (value * value))).sqrt()
    }

    /// `first` for eight features at once, because roots are expensive.
    #[inline(always)]
    pub(super) fn firsts(&self, cells: [&Cell; 8], values: &[f32; 8]) -> [f32; 8] {
        let (a, x) = (V::all(self.slope.array()[0]), V::load(values));
        let i = V::load(&cells.map(|cell| cell.variance.0[0]));
        (i / (V::all(1.0) + i * i * (a * a * (x * x))).sqrt()).array()
    }

    /// Updates the cell of a feature.
    #[inline(always)]
    pub(super) fn teach(&self, cell: &mut Cell, value: f32) {
        let first = self.first(cell.variance.0[0], value);
        self.teach_with(cell, value, first);
    }

    /// `teach`, where i of the first lane is known.
    #[inline(always)]
    pub(super) fn teach_with(&self, cell: &mut Cell, value: f32, first: f32) {
        let (v, x, one) = (cell.variance.load::<V>(), V::all(value), V::all(1.0));
        let mean = cell.mean.load::<V>() + v.with_first(one) * (self.slope * x);
        let variance = v / (one + v * (self.curvature * (x * x))) * self.kept + self.refilled;
        mean.store(&mut cell.mean.0);
        variance.with_first(V::all(first)).store(&mut cell.variance.0);
    }
}

/// The cells of all features.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Lanes {
    #[serde(with = "crate::lines")]
    cells: Lines<Cell>,
}

impl Lanes {
    /// Makes room for features below `dimension`.
    pub(super) fn grow(&mut self, dimension: usize) {
        if dimension > self.cells.len() {
            self.cells.resize(dimension, FRESH);
        }
    }

    /// f and s for features there is room for. `scaled` gives their values by the place in the row.
    #[inline(always)]
    pub(super) fn see<V: Eights>(&self, indices: &[u32], scaled: impl Fn(usize) -> f32) -> Seen {
        let mut seeing = Seeing::<V>::new();
        for (place, &index) in indices.iter().enumerate() {
            seeing.add(&self.cells[index as usize], scaled(place));
        }
        seeing.seen()
    }

    /// The cells.
    #[inline(always)]
    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cells, mutable.
    #[inline(always)]
    pub(super) fn cells_mut(&mut self) -> &mut [Cell] {
        &mut self.cells
    }

    /// The weights of a feature on x̃, by lane.
    pub(super) fn weights(&self, cell: usize) -> Eight {
        let Cell { mean, variance } = self.cells[cell];
        mean.with_first(mean.0[0] * variance.0[0])
    }

    /// Multiplies all weights that are in units of the labels.
    pub(super) fn stretch(&mut self, factor: f32) {
        for cell in self.cells.iter_mut() {
            let theta = cell.mean.0[0];
            cell.mean = (cell.mean * Eight::all(factor)).with_first(theta);
        }
    }

    /// Lets the unit of a feature grow, so that lanes with other units can be merged with it. No
    /// variance grows beyond its prior.
    pub(super) fn lengthen(&mut self, cell: usize, growth: f32) {
        let Cell { mean, variance } = &mut self.cells[cell];
        *mean = *mean * lengthened(variance, growth);
    }

    /// The lanes that several make, in the same units and with the same cells.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        let cells =
            (0..parts.base.len()).map(|at| merged_cell(&parts.of(|lanes| &lanes.cells[at])));
        Self { cells: Lines::from(&cells.collect::<Vec<_>>()[..]) }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        self.cells = Lines::from(&gather(&self.cells, from, FRESH)[..]);
    }

    pub(super) fn is_sound(&self) -> bool {
        let in_range = |v: Eight| v.0.iter().zip(PRIOR.0).all(|(&v, most)| v >= 0.0 && v <= most);
        self.cells.iter().all(|cell| cell.mean.is_finite() && in_range(cell.variance))
    }
}

/// Lets the variances of a feature grow with its unit, none beyond its prior. Returns the factors of
/// its weights.
pub(super) fn lengthened(variance: &mut Eight, growth: f32) -> Eight {
    let mut factors = Eight::all(growth);
    for k in 1..LANES {
        factors.0[k] = growth.min((PRIOR.0[k] / variance.0[k].max(1e-30)).sqrt());
        variance.0[k] = (variance.0[k] * factors.0[k] * factors.0[k]).min(PRIOR.0[k]);
    }
    factors
}

/// The cell that several make. Parts that have not touched it have no say.
fn merged_cell(parts: &Parts<'_, Cell>) -> Cell {
    let base = parts.base;
    let touched = parts.parts.iter().copied().filter(|(part, _)| *part != base);
    let parts = Parts { base, parts: touched.collect() };
    match parts.parts[..] {
        [] => *base,
        [(only, _)] => *only,
        _ => merged_touched(&parts),
    }
}

/// The cell that several make, all of which have touched it.
pub(super) fn merged_touched(parts: &Parts<'_, Cell>) -> Cell {
    let mut merged = *parts.base;
    // A = 1/i² − 1 adds up, and the weights θi are the mean.
    let inverse_sq = |cell: &Cell| 1.0 / f64::from(cell.variance.0[0].max(1e-18)).powi(2);
    let first = parts.added(inverse_sq).max(1.0).sqrt().recip();
    let weight = parts.moved(|cell| f64::from(cell.mean.0[0]) * f64::from(cell.variance.0[0]));
    merged.variance.0[0] = first as f32;
    merged.mean.0[0] = (weight / first) as f32;
    for k in 1..LANES {
        let (mean, variance) = merged_lane(parts, k);
        merged.mean.0[k] = mean as f32;
        merged.variance.0[k] = (variance as f32).min(PRIOR.0[k]);
    }
    merged
}

/// w and v of one lane that several make. With a drift, both are the mean by precisions. Without
/// one, the precisions that the parts have added add up. By natural parameters, the steps of the
/// parts would add up, too, but a diagonal filter does not know which features go together, and
/// together they would go too far. The step is the geometric mean of that sum and of the mean.
fn merged_lane(parts: &Parts<'_, Cell>, lane: usize) -> (f64, f64) {
    let precision = |cell: &Cell| 1.0 / f64::from(cell.variance.0[lane].max(1e-30));
    let weight = |cell: &Cell| f64::from(cell.mean.0[lane]);
    let from = weight(parts.base);
    let mean = parts.mean(precision);
    let step = parts.mean(|cell| precision(cell) * (weight(cell) - from)) / mean;
    if DRIFT.0[lane] > 0.0 {
        return (from + step, 1.0 / mean);
    }
    let total = parts.added(precision).max(precision(parts.base));
    let slices: f64 = parts.parts.iter().map(|(_, slices)| slices).sum();
    (from + step * (slices * mean / total).max(1.0).sqrt(), 1.0 / total)
}

/// A vector whose place i gets the value at `from[i]`, or `fresh` if there is none.
pub(super) fn gather<T: Copy>(all: &[T], from: &[u32], fresh: T) -> Vec<T> {
    from.iter().map(|&place| all.get(place as usize).copied().unwrap_or(fresh)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type V = rueful_machine::Array<f32, 8>;

    /// One feature, compared with the formulas in doubles.
    #[test]
    fn the_lanes_follow_their_formulas() {
        let mut lanes = Lanes::default();
        lanes.grow(2);
        let (mut theta, mut squares) = (0.0, 0.0);
        let (mut w, mut v) = ([0.0; LANES], PRIOR.0.map(f64::from));
        for t in 0..200 {
            let x = 1.0 - (t % 7) as f32 / 4.0;
            let a = Eight::of(|k| ((t * (k + 3)) % 11) as f32 / 11.0 - 0.4);
            let h = Eight::of(|k| 0.05 * (k + 1) as f32);
            let seen = lanes.see::<V>(&[1], |_| x);
            let x_exact = f64::from(x);
            let dual = theta * x_exact / (1.0_f64 + squares).sqrt();
            assert!((f64::from(seen.mean.0[0]) - dual).abs() < 1e-4, "adagrad in round {t}");
            for k in 1..LANES {
                let (mean, variance) = (w[k] * x_exact, v[k] * x_exact * x_exact);
                assert!((f64::from(seen.mean.0[k]) - mean).abs() < 1e-3 * (1.0 + mean.abs()));
                assert!((f64::from(seen.variance.0[k]) - variance).abs() < 1e-4 * (0.1 + variance));
            }
            let lesson = Lesson { slope: a, curvature: h };
            Teaching::<V>::new(&lesson).teach(&mut lanes.cells_mut()[1], x);
            theta += f64::from(a.0[0]) * x_exact;
            squares += (f64::from(a.0[0]) * x_exact).powi(2);
            for k in 1..LANES {
                let (a, h) = (f64::from(a.0[k]), f64::from(h.0[k]));
                w[k] += a * v[k] * x_exact;
                v[k] /= 1.0 + h * v[k] * x_exact * x_exact;
                v[k] += f64::from(DRIFT.0[k]) * (f64::from(PRIOR.0[k]) - v[k]);
            }
        }
        assert!(lanes.is_sound());
        assert_eq!(lanes.weights(0), Eight::ZERO);
    }
}
