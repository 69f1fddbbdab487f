//! The lower bound that slopes prove, computed quickly or carefully.
//!
//! Slopes a_t prove that no comparator loses less than −Σ φ_t*(a_t) − sup_u (−u·S − (σT/2)‖u‖²)
//! with S = Σ a_t x_t. Added up plainly, S is off by at most T roundings of Σ|a_t|‖x_t‖. Each of
//! them counts with the reach of the comparators, so in a large set the allowance hides everything
//! else. Then S is added up without error: a slope is cut into two numbers whose products with a
//! single fit into a double, and the products are added with compensation.

use crate::line::Line;
use crate::rounding::{
    TINY, curvatures, gain_above, grain, norm_above, or_nothing_below, sum_above,
};
use crate::scales::Scales;
use rueful_core::loss::Loss;
use rueful_core::set::{AnySet, BoxSet, FeasibleSet};
use rueful_core::{Example, Features, NonNegative, Sum};
use serde::{Deserialize, Serialize};

/// The sums over slopes that make a lower bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Proof {
    sigma: f64,
    rounds: u64,
    /// −Σ φ_t*(a_t).
    offset: Sum,
    /// The size that the rounding of the offset is relative to.
    offset_size: f64,
    /// T plus the importances: how often a value can have underflowed.
    chances: f64,
    /// S. In a careful proof it is filled in by `finish`.
    slopes: Vec<f64>,
    /// The exact sums for S, in a careful proof.
    exact: Option<Vec<Sum>>,
    /// The number of slopes that were not 0. The next field is Σ|a_t|‖x_t‖.
    steep: f64,
    size: f64,
    /// The sum of ‖x_t‖ times the distance of a_t from the slope of the line that is proved.
    apart: f64,
}

/// A tangent of the loss of an example of many classes that counts `weight` times, and the value of
/// the loss where it touches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassLine<'a> {
    pub(crate) weight: f64,
    pub(crate) value: f64,
    pub(crate) at_zero: f64,
    /// The slopes of all classes, with the weight.
    pub(crate) slopes: &'a [f64],
}

impl Proof {
    pub(crate) fn new(sigma: NonNegative, dimension: usize, careful: bool) -> Self {
        let mut proof = Self {
            sigma: sigma.get(),
            rounds: 0,
            offset: Sum::default(),
            offset_size: 0.0,
            chances: 0.0,
            slopes: Vec::new(),
            exact: careful.then(Vec::new),
            steep: 0.0,
            size: 0.0,
            apart: 0.0,
        };
        proof.grow(dimension);
        proof
    }

    /// Makes room for features below `dimension`.
    pub(crate) fn grow(&mut self, dimension: usize) {
        if dimension > self.slopes.len() {
            self.slopes.resize(dimension, 0.0);
            if let Some(exact) = &mut self.exact {
                exact.resize(dimension, Sum::default());
            }
        }
    }

    /// Takes in the slope of an example.
    #[inline]
    pub(crate) fn add<L: Loss>(&mut self, loss: &L, example: &Example<'_>, slope: f64) {
        self.add_sized(loss, example, slope, example.features.norm_sq().sqrt());
    }

    /// Like `add`, for comparators that measure an example with a norm of their own.
    #[inline]
    pub(crate) fn add_sized<L: Loss>(
        &mut self,
        loss: &L,
        example: &Example<'_>,
        slope: f64,
        norm: f64,
    ) {
        let line = Line::new(loss, example, slope);
        self.rounds += 1;
        self.offset.add(-line.conjugate);
        self.offset_size += line.size;
        self.chances += 1.0 + example.importance.get();
        if slope != 0.0 {
            self.size += slope.abs() * norm;
            self.apart += line.apart * norm;
            self.add_slope(&example.features, slope);
        }
    }

    #[inline]
    fn add_slope(&mut self, x: &Features<'_>, slope: f64) {
        self.steep += 1.0;
        let Some(exact) = &mut self.exact else { return x.add_to(&mut self.slopes, slope) };
        let (head, tail) = halves(slope);
        for (i, x) in x.iter() {
            exact[i].add(head * x);
            exact[i].add(tail * x);
        }
    }

    /// Takes in a tangent for an example of many classes. S has the numbers of a column, one for each
    /// class, side by side. Values have more roundings than others, by this factor, and so have
    /// probabilities.
    pub(crate) fn add_classes(
        &mut self,
        line: ClassLine<'_>,
        x: &Features<'_>,
        norm: f64,
        roundings: f64,
    ) {
        let ClassLine { weight, value, at_zero, slopes } = line;
        self.rounds += 1;
        self.offset.add(weight * at_zero);
        self.offset_size += 2.0 * roundings * weight * (1.0 + value + at_zero);
        self.chances += 1.0 + weight;
        let square: f64 = slopes.iter().map(|slope| slope * slope).sum();
        if slopes.iter().all(|&slope| slope == 0.0) {
            return;
        }
        self.steep += 1.0;
        self.size += square.sqrt() * norm;
        self.apart += 16.0 * f64::EPSILON * roundings * weight * norm;
        for (i, x) in x.iter() {
            for (c, &slope) in slopes.iter().enumerate().filter(|(_, slope)| **slope != 0.0) {
                self.add_product(i * slopes.len() + c, slope, x);
            }
        }
    }

    /// S_i ← S_i + slope·x.
    #[inline]
    fn add_product(&mut self, i: usize, slope: f64, x: f64) {
        let Some(exact) = &mut self.exact else {
            self.slopes[i] += slope * x;
            return;
        };
        let (head, tail) = halves(slope);
        exact[i].add(head * x);
        exact[i].add(tail * x);
    }

    /// Adds the slopes of other examples, over the same columns.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.offset.merge(other.offset);
        self.offset_size += other.offset_size;
        self.chances += other.chances;
        self.steep += other.steep;
        self.size += other.size;
        self.apart += other.apart;
        self.slopes.iter_mut().zip(&other.slopes).for_each(|(own, theirs)| *own += theirs);
        let exact = self.exact.iter_mut().flatten().zip(other.exact.iter().flatten());
        exact.for_each(|(own, theirs)| own.merge(*theirs));
    }

    /// Whether another proof is over as many columns, and as careful.
    pub(crate) fn has_room_of(&self, other: &Self) -> bool {
        let room = |proof: &Self| (proof.slopes.len(), proof.exact.as_ref().map(Vec::len));
        room(self) == room(other)
    }

    /// −Σ φ_t*(a_t), without an allowance for rounding.
    pub(crate) fn offset(&self) -> f64 {
        self.offset.value()
    }

    /// Completes the sums. It must be called after the last example.
    pub(crate) fn finish(&mut self) {
        if let Some(exact) = &self.exact {
            self.slopes.iter_mut().zip(exact).for_each(|(s, sum)| *s = sum.value());
        }
    }

    /// The sum S so far.
    pub(crate) fn summed(&self) -> Vec<f64> {
        let exact = |exact: &Vec<Sum>| exact.iter().map(|sum| sum.value()).collect();
        self.exact.as_ref().map_or_else(|| self.slopes.clone(), exact)
    }

    /// The sum S.
    pub(crate) fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// The curvature σT.
    pub(crate) fn curvature(&self) -> f64 {
        self.sigma * self.rounds as f64
    }

    /// The curvature σT, rounded down and rounded up.
    pub(crate) fn curvatures(&self) -> (f64, f64) {
        curvatures(self.sigma, self.rounds)
    }

    /// The lower bound, and how much of it was given up for rounding.
    pub(crate) fn floor(&self, set: &AnySet) -> (f64, f64) {
        let (curvature, _) = self.curvatures();
        let underflow = TINY * self.steep * (self.slopes.len() as f64).sqrt();
        self.floor_by(underflow, |off| support_above(set, &self.slopes, off, curvature))
    }

    /// The lower bound over the unit-free ball of at most this radius, and how much of it was given
    /// up for rounding. S is measured in the units of its columns, and so is everything that was
    /// given to `add_sized`.
    pub(crate) fn floor_unit_free(&self, scales: &Scales, radius: f64) -> (f64, f64) {
        let columns = (self.slopes.len() as f64).sqrt();
        // An error by underflow is larger in units of the smallest column.
        let underflow = TINY * (self.steep + 1.0) * columns / scales.smallest().min(1.0);
        let norm = scales.norm_of_slopes_above(&self.slopes);
        self.floor_by(underflow, |off| gain_above(radius, sum_above(norm, off), 0.0))
    }

    /// The lower bound over the unit-free ball that a mixture of several proofs about the same
    /// examples makes. The shares add up to 1.
    ///
    /// The mixture of lower bounds on a function is a lower bound on it. Every product and every sum
    /// here is rounded, by so many roundings of numbers that are no larger than the mixture of sizes.
    pub(crate) fn mixed_floor(proofs: &[(f64, &Self)], scales: &Scales, radius: f64) -> f64 {
        let columns = proofs.iter().map(|(_, proof)| proof.slopes.len()).max().unwrap_or(0);
        let (mut mixed, mut off, mut ceiling, mut size) =
            (vec![0.0; columns], Sum::default(), Sum::default(), Sum::default());
        let root = (columns as f64).sqrt() / scales.smallest().min(1.0);
        let roundings = f64::EPSILON * (proofs.len() as f64 + 8.0);
        for &(share, proof) in proofs {
            let slopes = proof.summed();
            mixed.iter_mut().zip(&slopes).for_each(|(sum, s)| *sum += share * s);
            let norm = scales.norm_of_slopes_above(&slopes);
            let underflow = TINY * (proof.steep + 2.0) * root;
            off.add(share * (proof.error() + underflow + roundings * norm));
            let allowance = grain(proof.rounds) * proof.offset_size + TINY * proof.chances;
            ceiling.add(share * (allowance - proof.offset.value()));
            size.add(share * (allowance + proof.offset.value().abs()));
        }
        let off = sum_above(off.value() * (1.0 + roundings), TINY);
        let longest = sum_above(scales.norm_of_slopes_above(&mixed), off);
        let ceiling = sum_above(ceiling.value(), 2.0 * roundings * size.value() + TINY);
        or_nothing_below(-sum_above(ceiling, gain_above(radius, longest, 0.0)))
    }

    /// The offset less the support function of the comparators, at an S that may be off by its
    /// error and by `underflow`.
    fn floor_by(&self, underflow: f64, support: impl Fn(f64) -> f64) -> (f64, f64) {
        let (gain, plain) = (support(self.error() + underflow), support(0.0));
        let allowance = grain(self.rounds) * self.offset_size + TINY * self.chances;
        let ceiling = sum_above(sum_above(-self.offset.value(), allowance), gain);
        (or_nothing_below(-ceiling), allowance + (gain - plain))
    }

    /// A bound on ‖S − Σ s_t b_t x_t‖ with the slopes b_t whose lines were proved. It has two
    /// parts: T roundings of Σ|a_t|‖x_t‖, or in a careful proof errors of errors (the rounding of S
    /// itself is part of its norm); and the distances between slopes and their lines. Underflow
    /// comes on top.
    fn error(&self) -> f64 {
        let rounds = self.rounds as f64;
        let rounding = if self.exact.is_some() {
            let second = 2.0 * (rounds + 1.0) * f64::EPSILON;
            second * second * self.size
        } else {
            f64::EPSILON * (rounds + 8.0) * self.size
        };
        2.0 * self.apart + rounding
    }
}

/// sup over u in the set of −u·s − (κ/2)‖u‖², rounded up, for an s that may be off by `off` in
/// norm.
pub(crate) fn support_above(set: &AnySet, s: &[f64], off: f64, curvature: f64) -> f64 {
    let longest = sum_above(norm_above(s.iter().copied()), off);
    // The norm at which the curvature stops the best comparator of the true s, which may be longer.
    let free = if curvature > 0.0 { (longest / curvature).next_up() } else { f64::INFINITY };
    match set {
        AnySet::Ball(ball) => gain_above(ball.radius.get(), longest, curvature),
        AnySet::WholeSpace(_) => gain_above(f64::INFINITY, longest, curvature),
        AnySet::Box(sides) => {
            let ends = (0..s.len()).map(|i| sides.extent(i));
            let reach = norm_above(ends.map(|(lower, upper)| upper.max(-lower))).min(free);
            sum_above(gain_in_box(sides, s, curvature), above(reach, off))
        }
    }
}

/// sup over the box of −u·s − (κ/2)‖u‖², rounded up.
fn gain_in_box(sides: &BoxSet, s: &[f64], curvature: f64) -> f64 {
    let gains = s.iter().enumerate().map(|(i, &s)| {
        let (lower, upper) = sides.extent(i);
        gain_above(if s > 0.0 { -lower } else { upper }, s.abs(), curvature)
    });
    let total = gains.collect::<Sum>().value();
    above(total, 1.0 + grain(s.len() as u64))
}

/// a·b rounded up, where 0 times anything is 0.
fn above(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { (a * b).next_up() }
}

/// Splits a number into the sum of two numbers with 29 and 24 bits. Their products with a single
/// are exact.
#[inline]
pub(crate) fn halves(number: f64) -> (f64, f64) {
    let head = f64::from_bits(number.to_bits() & !0xFF_FFFF);
    (head, number - head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exact;
    use rueful_checks::Rng;
    use rueful_core::loss::{Absolute, Linear, Square};
    use rueful_core::set::{Ball, WholeSpace};
    use rueful_core::{Importance, Positive};

    /// The lower bound for linear losses on one feature x. Each loss is given by its slope c and
    /// its importance.
    fn floor(x: f32, slopes: &[(f64, f64)], sigma: f64, careful: bool, set: &AnySet) -> f64 {
        let mut proof = Proof::new(NonNegative::new(sigma).unwrap(), 1, careful);
        for &(label, importance) in slopes {
            let features = Features::new(&[0], std::slice::from_ref(&x)).unwrap();
            let importance = Importance::new(importance).unwrap();
            let example = Example { features, label, importance };
            proof.add(&Linear {}, &example, importance.get() * label);
        }
        proof.finish();
        proof.floor(set).0
    }

    fn ball(radius: f64) -> AnySet {
        Ball { radius: Positive::new(radius).unwrap() }.into()
    }

    fn cube(radius: f64) -> AnySet {
        BoxSet::cube(Positive::new(radius).unwrap()).into()
    }

    #[test]
    fn the_support_of_a_box_is_never_too_small() {
        let rng = &mut Rng::new(6);
        for round in 0..3000 {
            let s: Vec<f64> = (0..1 + round % 9).map(|_| 1.9 + 0.1 * rng.unit()).collect();
            let side = 1.0 + rng.unit();
            // Every entry may be a rounding longer than it looks.
            let rounding = Exact::from(1.0) + Exact::from(0.5 * f64::EPSILON);
            let sum = s.iter().fold(Exact::zero(), |sum, &s| sum + s.into());
            let exact = rounding * Exact::from(side) * sum;
            let found = support_above(&cube(side), &s, 0.0, 0.0);
            assert!(exact <= found.into(), "{s:?} {side}");
            assert!(Exact::from(found * (1.0 - 1e-14)) <= exact);
        }
    }

    /// The exact S of these slopes is 1, and it comes out as 0.
    const CANCEL: [(f64, f64); 3] = [(1e16, 1.0), (1.0, 1.0), (-1e16, 1.0)];

    #[test]
    fn a_sum_that_cancelled_has_its_allowance() {
        for set in [ball(1.0), cube(1.0)] {
            let least = floor(1.0, &CANCEL, 0.0, false, &set);
            assert!((-200.0..=-1.0).contains(&least), "{least}");
            assert_eq!(floor(1.0, &CANCEL, 0.0, true, &set).round(), -1.0);
        }
        // The minimum is −S²/(2σT).
        for set in [WholeSpace {}.into(), ball(1e9), cube(1e9)] {
            assert!(floor(1.0, &CANCEL, 0.01, false, &set) <= -1.0 / 0.06, "{set:?}");
            assert_eq!(floor(1.0, &CANCEL, 0.01, true, &set).round(), -17.0);
        }
    }

    #[test]
    fn a_careful_sum_has_its_errors_of_errors() {
        let (large, middle) = (120_f64.exp2(), 60_f64.exp2());
        let slopes = [large, middle, 1.0, -large, -middle].map(|slope| (slope, 1.0));
        for set in [ball(1.0), cube(1.0)] {
            assert!(floor(1.0, &slopes, 0.0, true, &set) <= -1.0);
        }
    }

    #[test]
    fn products_that_underflow_count_with_the_radius() {
        for careful in [false, true] {
            for set in [ball(1e100), cube(1e100)] {
                let least = floor(1e-38, &[(1e-290, 1.0)], 0.0, careful, &set);
                assert!((-1e-190..=-1.1e-228).contains(&least), "{least}");
            }
        }
        // Scores of ±400 have slopes of about 10⁻¹⁷⁴. Their squares underflow, but they do not.
        let slopes = [(1e-158, 1.0), (1e-174, 1.0), (-1e-158, 1.0)];
        assert!(floor(1.0, &slopes, 0.0, false, &ball(1.0)) <= -1e-174);
    }

    #[test]
    fn what_underflows_counts_in_units_of_its_column() {
        // In the first case S is 10⁻³²⁸ and comes out as 0, and S/N is 10⁻²⁹⁰. In the second the
        // quotient S/N underflows.
        for (x, slope, size, least) in [(1e-38, 1e-290, 1e-38, 1e-290), (1.0, 1e-300, 1e38, 1e-338)]
        {
            let features = Features::new(&[0], std::slice::from_ref(&x)).unwrap();
            let scales = Scales { columns: vec![size], label: 1.0 };
            let mut proof = Proof::new(NonNegative::ZERO, 1, true);
            let example = Example::new(features, slope);
            proof.add_sized(&Linear {}, &example, slope, scales.norm_of(&features));
            proof.finish();
            let (floor, _) = proof.floor_unit_free(&scales, 1e100);
            assert!((-1e-160..=-1e100 * least).contains(&floor) && floor < 0.0, "{floor}");
        }
    }

    #[test]
    fn a_slope_that_was_rounded_is_apart_from_its_line() {
        let rng = &mut Rng::new(4);
        for _ in 0..100 {
            let (label, importance) = (rng.bell(), 3.0 + rng.unit());
            let rounded = importance * label;
            // The computed S is 0, but the sum that it stands for is not.
            let off = Exact::from(importance) * label.into() - rounded.into();
            let slopes = [(label, importance), (-rounded, 1.0)];
            let least = floor(1.0, &slopes, 0.0, true, &ball(1.0));
            assert!(Exact::from(least) <= -off.abs(), "{label} {importance}");
            assert!(least >= -4e-15 * (1.0 + rounded.abs()));
        }
    }

    /// The proved −Σ s·φ*(b) of rows without features, where S is 0.
    fn offset(loss: &impl Loss, rows: &[(f64, f64)]) -> f64 {
        let mut proof = Proof::new(NonNegative::ZERO, 0, false);
        for &(slope, label) in rows {
            let features = Features::new(&[], &[]).unwrap();
            proof.add(loss, &Example::new(features, label), slope);
        }
        proof.floor(&ball(1.0)).0
    }

    #[test]
    fn conjugates_are_never_too_small() {
        let rng = &mut Rng::new(5);
        for _ in 0..2000 {
            let label = rng.bell();
            // The terms a²/4 and a·y cancel.
            let slope = -4.0 * label * (1.0 + 1e-8 * rng.bell());
            let exact = Exact::from(0.25) * Exact::from(slope) * slope.into()
                + Exact::from(slope) * label.into();
            let proved = offset(&Square {}, &[(slope, label)]);
            assert!(Exact::from(proved) <= -exact, "{slope} {label}");
            let rows = [0; 3].map(|_| (rng.between(-1.0, 1.0), rng.bell()));
            let exact = rows.iter().fold(Exact::zero(), |sum, &(slope, label)| {
                sum + Exact::from(slope) * label.into()
            });
            assert!(Exact::from(offset(&Absolute {}, &rows)) <= -exact, "{rows:?}");
        }
        // The product is 10⁻⁴⁰⁰.
        assert!(offset(&Absolute {}, &[(1e-200, 1e-200)]) < 0.0);
    }

    /// A careful proof of one example, with one feature or none, in units of its column.
    fn proof_of(loss: &impl Loss, x: &[f32], size: f32, row: (f64, f64, f64)) -> Proof {
        let (slope, label, importance) = row;
        let features = Features::new(&[0][..x.len()], x).unwrap();
        let importance = Importance::new(importance).unwrap();
        let mut proof = Proof::new(NonNegative::ZERO, 1, true);
        let scales = Scales { columns: vec![size], label: 1.0 };
        let example = Example { features, label, importance };
        proof.add_sized(loss, &example, slope, scales.norm_of(&features));
        proof
    }

    #[test]
    fn mixtures_of_proofs_allow_for_what_each_of_them_lost() {
        let ones = Scales::ones(1);
        let rng = &mut Rng::new(7);
        for _ in 0..2000 {
            let share = rng.unit();
            let rows = [share, 1.0 - share].map(|share| {
                let label = rng.bell();
                // The terms a²/4 and a·y cancel.
                (share, -4.0 * label * (1.0 + 1e-8 * rng.bell()), label)
            });
            let proofs = rows.map(|(_, a, y)| proof_of(&Square {}, &[], 1.0, (a, y, 1.0)));
            let exact = rows.iter().fold(Exact::zero(), |sum, &(share, a, y)| {
                let conjugate =
                    Exact::from(0.25) * Exact::from(a) * a.into() + Exact::from(a) * y.into();
                sum + Exact::from(share) * -conjugate
            });
            let mixture = [(share, &proofs[0]), (1.0 - share, &proofs[1])];
            assert!(Exact::from(Proof::mixed_floor(&mixture, &ones, 1.0)) <= exact, "{rows:?}");
        }
        // 0.6 of the least double is rounded up to the least double, and counts 10³⁰ times.
        let (least, most) = (f64::from_bits(1), 1e30);
        let proof = proof_of(&Absolute {}, &[], 1.0, (0.6 * most, -least, most));
        let floor = Proof::mixed_floor(&[(1.0, &proof)], &ones, 1.0);
        assert!(Exact::from(floor) <= Exact::from(0.6 * most) * least.into(), "{floor:e}");
    }

    #[test]
    fn mixtures_of_slopes_that_cancel_or_underflow_have_their_allowance() {
        let rng = &mut Rng::new(8);
        for _ in 0..2000 {
            let (share, slope) = (0.1 + 0.8 * rng.unit(), 1.0 + rng.unit());
            let rest = 1.0 - share;
            let slopes = [slope, -(share * slope / rest)];
            let proofs = slopes.map(|slope| proof_of(&Linear {}, &[1.0], 1.0, (slope, slope, 1.0)));
            let mixture = [(share, &proofs[0]), (rest, &proofs[1])];
            let floor = Proof::mixed_floor(&mixture, &Scales::ones(1), 1.0);
            let sum = Exact::from(share) * slopes[0].into() + Exact::from(rest) * slopes[1].into();
            assert!(Exact::from(floor) <= -sum.abs(), "{share} {slopes:?}");
            assert!(floor >= -1e-13, "{floor}");
        }
        for (x, slope, size, least) in [(1e-38, 1e-290, 1e-38, 1e-290), (1.0, 1e-300, 1e38, 1e-338)]
        {
            let proof = proof_of(&Linear {}, &[x], size, (slope, slope, 1.0));
            let scales = Scales { columns: vec![size], label: 1.0 };
            let floor = Proof::mixed_floor(&[(1.0, &proof)], &scales, 1e100);
            assert!((-1e-160..=-1e100 * least).contains(&floor) && floor < 0.0, "{floor}");
        }
    }

    #[test]
    fn what_is_not_a_number_proves_nothing() {
        let infinite = offset(&Square {}, &[(1e200, 1.0), (-1e200, -1.0)]);
        assert_eq!(infinite, f64::NEG_INFINITY);
        let slopes = [(1e300, 1.0), (1e300, 1.0), (-1e300, 1.0)];
        for careful in [false, true] {
            let least = floor(1e38, &slopes, 0.0, careful, &ball(1.0));
            assert_eq!(least, f64::NEG_INFINITY, "{careful}");
        }
    }

    #[test]
    fn what_may_be_off_in_a_box_counts_where_its_product_underflows() {
        // S comes out as 0. In truth it may be 10⁻³⁰⁰, and a side of 10⁻¹⁰⁰ gains 10⁻⁴⁰⁰.
        assert!(support_above(&cube(1e-100), &[0.0], 1e-300, 0.0) > 0.0);
        // With so much curvature the best comparator is 10⁻⁴⁰⁰, and gains 10⁻⁷⁰⁰/2.
        assert!(support_above(&cube(1.0), &[0.0], 1e-300, 1e100) > 0.0);
    }

    #[test]
    fn a_slope_whose_quotient_underflows_is_apart_from_its_line() {
        // The quotient of 10⁻³⁰⁵ and 10²⁰ comes out as 0, which is a line that does not rise. The
        // slopes cancel, but the lines do not: the comparator 10³⁰ loses nothing.
        let far = 1e30;
        let features = Features::new(&[0], &[1.0]).unwrap();
        let mut proof = Proof::new(NonNegative::ZERO, 1, true);
        for (slope, importance) in [(1e-305, 1e20), (-1e-305, 1.0)] {
            let importance = Importance::new(importance).unwrap();
            let example = Example { features, label: far, importance };
            proof.add(&Absolute {}, &example, slope);
        }
        proof.finish();
        assert_eq!(proof.slopes(), [0.0]);
        let (floor, _) = proof.floor(&ball(far));
        assert!(floor <= 0.0, "{floor:e}");
    }

    #[test]
    fn slopes_of_classes_that_were_rounded_are_apart_from_their_lines() {
        let rng = &mut Rng::new(9);
        let features = Features::new(&[0], &[1.0]).unwrap();
        for _ in 0..100 {
            // Two classes, of which the first has the probability p. The slopes ±wp are rounded.
            // Those of the second example, of the other class, are the same numbers and exact.
            let (weight, p) = (3.0 + rng.unit(), 0.5 + 0.4 * rng.unit());
            let rounded = weight * p;
            let off = Exact::from(weight) * p.into() - rounded.into();
            let mut proof = Proof::new(NonNegative::ZERO, 2, true);
            for (weight, slopes) in [(weight, [rounded, -rounded]), (4.0, [-rounded, rounded])] {
                let line = ClassLine { weight, value: 0.0, at_zero: 0.0, slopes: &slopes };
                proof.add_classes(line, &features, 1.0, 1.0);
            }
            proof.finish();
            assert_eq!(proof.slopes(), [0.0; 2]);
            // The sum of the two lines falls by √2 times what is off.
            let (floor, _) = proof.floor(&ball(1e6));
            assert!(Exact::from(floor) <= -(Exact::from(1.4e6) * off.abs()), "{weight} {p}");
            assert!(floor >= -1e-7, "{floor}");
        }
    }
}
