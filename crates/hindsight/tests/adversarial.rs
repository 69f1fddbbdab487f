//! Data made to break proofs: scales from 10⁻³⁸ to 10³⁸, importances from 10⁻²⁰ to 10²⁰, labels up
//! to 10³⁰, columns and rows that repeat one another, and sets from tiny to huge. All claims about
//! them are checked with arithmetic that does not round.

#![allow(clippy::unwrap_used)]

mod common;

use common::exact::{self, Exact};
use common::weighed;
use rueful_checks::Rng;
use rueful_core::loss::{
    Absolute, AnyLoss, Hinge, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square,
};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, NonNegative, OpenUnit, Positive};
use rueful_hindsight::{InMemory, Options, Problem, Solution, Source, Start, solve, unwatched};

/// A problem without its loss.
struct Case {
    batch: Batch,
    sigma: f64,
    set: AnySet,
    options: Options,
}

/// 10^e for a random e.
fn power(rng: &mut Rng, least: f64, most: f64) -> f64 {
    10_f64.powf(rng.between(least, most))
}

/// The nearest value that a single can hold.
fn single(value: f64) -> f32 {
    value.clamp(-3e38, 3e38) as f32
}

fn set(rng: &mut Rng, sigma: f64) -> AnySet {
    let spread = [0.0, 2.0, 8.0, 30.0][rng.below(4)];
    let size = Positive::new(power(rng, -spread, spread)).unwrap();
    match rng.below(if sigma > 0.0 { 3 } else { 2 }) {
        0 => Ball { radius: size }.into(),
        1 => BoxSet::cube(size).into(),
        _ => WholeSpace {}.into(),
    }
}

/// Rows in which each column is a multiple of the first, small integers, or noise of its own scale.
fn rows(rng: &mut Rng, columns: usize) -> Vec<Vec<f32>> {
    let wide = [0.0, 3.0, 12.0, 37.0][rng.below(4)];
    let scales: Vec<f64> = (0..columns).map(|_| power(rng, -wide, wide)).collect();
    let kinds: Vec<usize> = (0..columns).map(|_| rng.below(4)).collect();
    let mut rows: Vec<Vec<f32>> = Vec::new();
    for _ in 0..1 + rng.below(24) {
        let first = rng.bell();
        let value = |rng: &mut Rng, i: usize| match kinds[i] {
            0 => single(scales[i] * first),
            1 => single(scales[i] * f64::from(rng.integer(-2, 2))),
            2 => single(scales[0] * first),
            _ => single(scales[i] * rng.bell()),
        };
        let row: Vec<f32> = (0..columns).map(|i| value(rng, i)).collect();
        rows.push(if rng.chance(0.2) && !rows.is_empty() {
            rows[rng.below(rows.len())].clone()
        } else {
            row
        });
    }
    rows
}

fn case(rng: &mut Rng, signs: bool) -> Case {
    let columns = 1 + rng.below(5);
    let indices: Vec<u32> = (0..columns as u32).collect();
    let loud = [0.0, 0.0, 6.0, 29.0][rng.below(4)];
    let target: Vec<f64> = (0..columns).map(|_| rng.bell()).collect();
    let fits = rng.chance(0.3);
    let mut batch = Batch::default();
    for row in rows(rng, columns) {
        let score: f64 = row.iter().zip(&target).map(|(&x, u)| f64::from(x) * u).sum();
        let label = if fits { score } else { power(rng, -loud, loud) * rng.bell() };
        let label = label.clamp(-1e30, 1e30);
        let label = if signs { if label > 0.0 { 1.0 } else { -1.0 } } else { label };
        batch.push(&indices, &row, label).unwrap();
    }
    let heavy = [0.0, 0.0, 3.0, 20.0][rng.below(4)];
    if heavy > 0.0 {
        batch = weighed(&batch, || power(rng, -heavy, heavy));
    }
    let sigma = if rng.chance(0.5) { 0.0 } else { power(rng, -9.0, 9.0) };
    let tolerance = [1e-4, 1e-8, 1e-12][rng.below(3)];
    let options = Options { tolerance, max_passes: Some([1, 12, 60][rng.below(3)]) };
    let set = set(rng, sigma);
    Case { batch, sigma, set, options }
}

impl Case {
    fn solve<L: Loss + Into<AnyLoss>>(&self, loss: L, start: Start) -> Solution {
        let sigma = NonNegative::new(self.sigma).unwrap();
        let problem = Problem { loss, sigma, comparators: self.set.clone() };
        let batches = std::slice::from_ref(&self.batch);
        let Ok(solution) =
            solve(&problem, &mut InMemory { batches }, start, &self.options, &mut unwatched);
        solution
    }

    /// Whether u is in the set, without rounding.
    fn holds(&self, u: &[f64]) -> bool {
        match &self.set {
            AnySet::Ball(ball) => {
                let radius = Exact::from(ball.radius.get());
                exact::norm_sq(u) <= radius.clone() * radius
            }
            set => u.iter().enumerate().all(|(i, u)| {
                let (lower, upper) = set.extent(i);
                (lower..=upper).contains(u)
            }),
        }
    }

    /// Points of the set: around the one that was found, towards the ends, and anywhere.
    fn points(&self, rng: &mut Rng, found: &[f64]) -> Vec<Vec<f64>> {
        let d = self.batch.dimension();
        let reach = self.set.reach(d.into()).min(1e6);
        let mut points = vec![vec![0.0; d], found.to_vec()];
        for round in 0..12 {
            let way = rng.direction(d);
            let size = reach * [1.0, 1e-3, 1e-9][round % 3];
            points.push(way.iter().map(|w| size * w).collect());
            points.push(found.iter().zip(&way).map(|(u, w)| u * (1.0 + 1e-3 * w)).collect());
            points.push(found.iter().zip(&way).map(|(u, w)| u + size * 1e-6 * w).collect());
        }
        for point in &mut points {
            if !self.holds(point) {
                self.set.project_dense(point);
                point.iter_mut().for_each(|u| *u *= 1.0 - 1e-12);
            }
        }
        points.retain(|point| self.holds(point));
        points
    }
}

/// Checks the claims of the solver against the truth. `cost` returns bounds on the cost of a point.
fn judge<L: Loss + Into<AnyLoss>>(
    loss: L,
    case: &Case,
    rng: &mut Rng,
    cost: &dyn Fn(&[f64]) -> (Exact, Exact),
) {
    let what = |solution: &Solution| format!("{:?} {:?} {solution:?}", case.set, case.options);
    let mut found = case.solve(loss, Start::default());
    let points = case.points(rng, &found.comparator);
    for round in 0..2 {
        let told = what(&found);
        assert!(case.holds(&found.comparator), "not in the set: {told}");
        assert!(found.contradiction.is_none(), "{told}");
        assert!(!found.lower.is_nan() && !found.upper.is_nan(), "{told}");
        let (least, _) = cost(&found.comparator);
        assert!(found.upper == f64::INFINITY || least <= found.upper.into(), "upper: {told}");
        for point in &points {
            let (_, most) = cost(point);
            let holds = found.lower == f64::NEG_INFINITY || Exact::from(found.lower) <= most;
            assert!(holds, "{point:?} costs {:e}: {told}", most.near());
        }
        if round == 0 {
            let comparator = points[rng.below(points.len())].clone();
            found = case.solve(loss, Start { comparator, ..Start::default() });
        }
    }
}

fn judge_exactly<L: Loss + Into<AnyLoss>>(
    loss: L,
    signs: bool,
    rng: &mut Rng,
    exact: impl Fn(Exact, f64) -> Exact,
) {
    let case = case(rng, signs);
    judge(loss, &case, rng, &|u: &[f64]| {
        let cost = exact::cost(&exact, case.sigma, &case.batch, u);
        (cost.clone(), cost)
    });
}

/// The logistic loss has no exact value. It is computed in doubles, with some roundings either way.
fn judge_logistic(rng: &mut Rng) {
    let case = case(rng, true);
    judge(Logistic {}, &case, rng, &|u: &[f64]| {
        let bound = |slack: f64| {
            let logistic = |p: Exact, y: f64| {
                let away = slack * 1e-15 * p.near().abs();
                let value = Logistic {}.at(p.near() - y * away, y).value;
                Exact::from(value * (1.0 + slack * 1e-15))
            };
            exact::cost(logistic, case.sigma, &case.batch, u)
        };
        (bound(-4.0), bound(4.0))
    });
}

fn search(rounds: usize, seed: u64) {
    let rng = &mut Rng::new(seed);
    let tau = 0.3;
    for _ in 0..rounds {
        judge_exactly(Hinge {}, true, rng, exact::hinge);
        judge_exactly(PerceptronLoss {}, true, rng, exact::perceptron);
        judge_exactly(Absolute {}, false, rng, exact::absolute);
        judge_exactly(Square {}, false, rng, exact::square);
        judge_exactly(Linear {}, false, rng, exact::linear);
        let quantile = Quantile { tau: OpenUnit::new(tau).unwrap() };
        judge_exactly(quantile, false, rng, exact::quantile(tau));
        judge_logistic(rng);
    }
}

#[test]
fn what_is_claimed_is_true() {
    search(60, 1);
}

#[test]
#[ignore = "takes minutes: cargo test -p rueful-hindsight --test adversarial -- --ignored"]
fn what_is_claimed_is_true_of_ten_thousand_more() {
    search(1500, 2);
}

#[test]
fn bounds_that_cross_are_told() {
    let mut batch = Batch::default();
    for label in [1.0, 2.0, 6.0] {
        batch.push(&[0], &[1.0], label).unwrap();
    }
    let options = Options { tolerance: 1e-6, max_passes: None };
    let set = Ball { radius: Positive::new(10.0).unwrap() }.into();
    let case = Case { batch, sigma: 0.0, set, options };
    // The minimum is 5, and u = 0 costs 9.
    for false_bound in [5.001, 8.0, 9.5, f64::INFINITY] {
        let start = Start { lower: Some(false_bound), ..Start::default() };
        let solution = case.solve(Absolute {}, start);
        let told = solution.contradiction.unwrap();
        assert_eq!((told.lower_from, told.upper_from), (Source::Start, Source::Primal));
        assert_eq!((told.lower, told.upper), (solution.lower, solution.upper));
        assert_eq!(solution.lower, false_bound);
        assert!(solution.upper < false_bound && solution.upper >= 5.0, "{solution:?}");
        assert!(!solution.converged && solution.relative_gap == f64::INFINITY, "{solution:?}");
    }
    for true_bound in [-1.0, 0.0, 4.9, 5.0] {
        let start = Start { lower: Some(true_bound), ..Start::default() };
        let solution = case.solve(Absolute {}, start);
        assert!(solution.converged && solution.contradiction.is_none(), "{solution:?}");
    }
    let nothing = Start { lower: Some(f64::NAN), ..Start::default() };
    assert!(case.solve(Absolute {}, nothing).converged);
}

#[test]
fn a_start_that_is_not_a_number_is_no_start() {
    let mut batch = Batch::default();
    batch.push(&[0, 1], &[1.0, 2.0], 1.0).unwrap();
    let set = Ball { radius: Positive::new(10.0).unwrap() }.into();
    let case = Case { batch, sigma: 0.0, set, options: Options::default() };
    let start =
        Start { comparator: vec![f64::NAN, f64::INFINITY], slopes: vec![f64::NAN], lower: None };
    let solution = case.solve(Hinge {}, start);
    assert!(solution.converged && solution.upper < 1e-6, "{solution:?}");
}

#[test]
fn absurd_values_leave_no_bound_rather_than_a_false_one() {
    let mut batch = Batch::default();
    for label in [1e200, -1e200, 1e-200] {
        batch.push(&[0, 1], &[3e38, -3e38], label).unwrap();
    }
    for sigma in [0.0, 1e100] {
        for radius in [1e-100, 1.0, 1e100] {
            let set = Ball { radius: Positive::new(radius).unwrap() }.into();
            let case = Case { batch: batch.clone(), sigma, set, options: Options::default() };
            let square = case.solve(Square {}, Start::default());
            assert!(square.lower <= 0.0 && square.upper == f64::INFINITY, "{square:?}");
            let linear = case.solve(Linear {}, Start::default());
            assert!(linear.lower <= linear.upper && !linear.lower.is_nan(), "{linear:?}");
        }
    }
}

/// The domain of a conjugate ends where the slopes end. Beyond it there is no line below the loss.
#[test]
fn conjugates_end_where_slopes_do() {
    let outside = 1.0 + f64::EPSILON;
    for y in [1.0, -1.0] {
        for slope in [-y, -y * 0.5, 0.0] {
            assert_eq!(Hinge {}.conjugate(slope, y), slope * y);
            assert_eq!(PerceptronLoss {}.conjugate(slope, y), 0.0);
        }
        for slope in [-y * outside, y * f64::MIN_POSITIVE] {
            assert_eq!(Hinge {}.conjugate(slope, y), f64::INFINITY);
            assert_eq!(PerceptronLoss {}.conjugate(slope, y), f64::INFINITY);
            assert_eq!(Logistic {}.conjugate(slope, y), f64::INFINITY);
        }
        assert_eq!(Absolute {}.conjugate(y * outside, 3.0), f64::INFINITY);
    }
    let quantile = Quantile { tau: OpenUnit::new(0.25).unwrap() };
    assert_eq!(quantile.conjugate(-0.25, 4.0), -1.0);
    assert_eq!(quantile.conjugate(0.75, 4.0), 3.0);
    assert_eq!(quantile.conjugate(-0.25 * outside, 4.0), f64::INFINITY);
    assert_eq!(quantile.conjugate(0.75 * outside, 4.0), f64::INFINITY);
}

/// b and b ln b + (1 − b) ln(1 − b) at both ends, computed with 700 digits.
const ENTROPIES: [(f64, f64); 7] = [
    (1e-290, -6.687496769682734e-288),
    (1e-17, -4.0143946580898777e-16),
    (0.25, -0.5623351446188084),
    (0.9999999999999999, -4.189626486814324e-15),
    (0.9999999999999989, -3.9339881881742596e-14),
    (0.999999999, -2.1723265250352427e-08),
    (0.999, -0.007907255112232094),
];

#[test]
fn the_logistic_conjugate_keeps_its_digits_at_both_ends() {
    for (b, entropy) in ENTROPIES {
        for y in [1.0, -1.0] {
            let found = Logistic {}.conjugate(-b * y, y);
            assert!((found - entropy).abs() <= 4e-16 * entropy.abs(), "{b}: {found} {entropy}");
        }
    }
    assert_eq!(Logistic {}.conjugate(-1.0, 1.0), 0.0);
    assert_eq!(Logistic {}.conjugate(0.0, 1.0), 0.0);
}
