//! Comparators without units: results that do not depend on units, and proofs for the rows as they
//! are.

#![allow(clippy::unwrap_used)]

mod common;

use common::exact::{self, Exact};
use common::{cost, noisy, scales_of, weighed};
use proptest::prelude::*;
use rueful_checks::Rng;
use rueful_core::loss::{
    Absolute, AnyLoss, Hinge, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square,
};
use rueful_core::{Batch, FeatureError, NonNegative, OpenUnit, Positive, Rows};
use rueful_hindsight::{
    Gram, InMemory, Options, Passes, Scales, Solution, Source, Start, solve_unit_free, unwatched,
};
use std::convert::Infallible;

/// The same rows with every column and every label multiplied by a number.
fn times(batch: &Batch, column: impl Fn(u32) -> f32, label: f64) -> Batch {
    let mut changed = Batch::default();
    for example in batch.iter() {
        let x = example.features;
        let values: Vec<f32> =
            x.indices().iter().zip(x.values()).map(|(&i, x)| column(i) * x).collect();
        changed
            .push_weighted(x.indices(), &values, label * example.label, example.importance)
            .unwrap();
    }
    changed
}

struct Asked {
    radius: f64,
    tolerance: f64,
    max_passes: Option<u64>,
}

impl Asked {
    fn to(radius: f64, tolerance: f64) -> Self {
        Self { radius, tolerance, max_passes: Some(4000) }
    }

    fn solve_from<L: Loss + Into<AnyLoss>>(
        &self,
        loss: L,
        scales: &Scales,
        data: &mut impl Passes<Error = Infallible>,
        start: Start,
    ) -> Solution {
        let options = Options { tolerance: self.tolerance, max_passes: self.max_passes };
        let radius = Positive::new(self.radius).unwrap();
        let Ok(solution) =
            solve_unit_free(loss, radius, scales, data, start, &options, &mut unwatched);
        solution
    }

    fn solve<L: Loss + Into<AnyLoss>>(&self, loss: L, scales: &Scales, batch: &Batch) -> Solution {
        let batches = std::slice::from_ref(batch);
        let solution = self.solve_from(loss, scales, &mut InMemory { batches }, Start::default());
        assert!(holds(&solution.comparator, self.radius, scales), "{solution:?}");
        assert!(solution.contradiction.is_none(), "{solution:?}");
        solution
    }
}

/// Whether Σ (N_i u_i)² ≤ (U·Y)², without rounding.
fn holds(u: &[f64], radius: f64, scales: &Scales) -> bool {
    let size = |i: usize| f64::from(scales.columns.get(i).copied().unwrap_or(0.0));
    let squares = u.iter().enumerate().map(|(i, &u)| {
        let v = Exact::from(size(i)) * u.into();
        v.clone() * v
    });
    let total = squares.fold(Exact::zero(), |total, square| total + square);
    let radius = Exact::from(radius) * scales.label.into();
    let has_units = u.iter().enumerate().all(|(i, &u)| u == 0.0 || size(i) > 0.0);
    has_units && total <= radius.clone() * radius
}

const TAU: f64 = 0.3;

fn quantile() -> Quantile {
    Quantile { tau: OpenUnit::new(TAU).unwrap() }
}

/// 2^k with a k for every column between −most and most.
fn power(i: u32, most: i32) -> f32 {
    2_f32.powi((i as i32 * 7 + 3) % (2 * most + 1) - most)
}

fn same_bits<L: Loss + Into<AnyLoss>>(loss: L, asked: &Asked, batch: &Batch, classes: bool) {
    let other = times(batch, |i| power(i, 40), 1.0);
    let one = asked.solve(loss, &scales_of(batch, classes), batch);
    let two = asked.solve(loss, &scales_of(&other, classes), &other);
    assert_eq!((one.lower, one.upper, one.passes), (two.lower, two.upper, two.passes));
    assert!(one.converged, "{one:?}");
    for (i, (one, two)) in one.comparator.iter().zip(&two.comparator).enumerate() {
        assert_eq!(*one, f64::from(power(i as u32, 40)) * two);
    }
}

#[test]
fn columns_times_powers_of_two_give_the_same_bits() {
    for (columns, radii) in [(6, [0.3, 3.0]), (900, [0.05, 0.2])] {
        let (signs, numbers) = (noisy(120, 6, columns, true, 1), noisy(120, 6, columns, false, 2));
        for radius in radii {
            let asked = Asked::to(radius, 1e-5);
            same_bits(Hinge {}, &asked, &signs, true);
            same_bits(PerceptronLoss {}, &asked, &signs, true);
            same_bits(Logistic {}, &asked, &signs, true);
            same_bits(Absolute {}, &asked, &numbers, false);
            same_bits(quantile(), &asked, &numbers, false);
            same_bits(Square {}, &asked, &numbers, false);
            same_bits(Linear {}, &asked, &numbers, true);
        }
    }
}

/// Rows of small integers, which can be multiplied by 3 without rounding.
fn integers(rows: usize, columns: u32, signs: bool, seed: u64) -> Batch {
    let rng = &mut Rng::new(seed);
    let indices: Vec<u32> = (0..columns).collect();
    let mut batch = Batch::default();
    for _ in 0..rows {
        let values: Vec<f32> = indices.iter().map(|_| rng.integer(-60, 60) as f32).collect();
        let score = f64::from(values[0] - 0.5 * values[1]) + 20.0 * rng.bell();
        let label = if signs { score.signum() } else { (8.0 * score).round() };
        batch.push(&indices, &values, label).unwrap();
    }
    batch
}

/// Asserts that two proved intervals can hold the same number, and that both converged.
fn meet(one: &Solution, two: &Solution, factor: f64) {
    let what = format!("{one:?} {two:?} {factor}");
    assert!(one.lower * factor <= two.upper * (1.0 + 1e-15), "{what}");
    assert!(two.lower <= one.upper * factor * (1.0 + 1e-15), "{what}");
    assert!(one.converged && two.converged, "{what}");
}

fn same_interval<L: Loss + Into<AnyLoss>>(loss: L, radius: f64, batch: &Batch, classes: bool) {
    let asked = Asked::to(radius, 1e-5);
    let one = asked.solve(loss, &scales_of(batch, classes), batch);
    let other = times(batch, |i| 3_f32.powi(i as i32 % 4), 1.0);
    meet(&one, &asked.solve(loss, &scales_of(&other, classes), &other), 1.0);
}

#[test]
fn columns_times_three_give_the_same_number() {
    let (signs, numbers) = (integers(150, 5, true, 1), integers(150, 5, false, 2));
    for radius in [0.1, 1.0, 10.0] {
        same_interval(Hinge {}, radius, &signs, true);
        same_interval(Logistic {}, radius, &signs, true);
        same_interval(Absolute {}, radius, &numbers, false);
        same_interval(Square {}, radius, &numbers, false);
        same_interval(Linear {}, radius, &numbers, true);
    }
}

/// Asserts that if labels are multiplied by c, the loss and its interval are multiplied by c or its
/// square.
fn follows_labels<L: Loss + Into<AnyLoss>>(loss: L, degree: i32, batch: &Batch) {
    let asked = Asked::to(1.0, 1e-5);
    let one = asked.solve(loss, &scales_of(batch, false), batch);
    for c in [4.0, 0.125, 1_048_576.0] {
        let other = times(batch, |_| 1.0, c);
        let two = asked.solve(loss, &scales_of(&other, false), &other);
        let factor = c.powi(degree);
        assert_eq!((one.lower * factor, one.upper * factor), (two.lower, two.upper), "{c}");
    }
    for c in [3.0, 1000.0] {
        let other = times(batch, |_| 1.0, c);
        meet(&one, &asked.solve(loss, &scales_of(&other, false), &other), c.powi(degree));
    }
}

#[test]
fn labels_times_a_number() {
    let batch = integers(150, 5, false, 3);
    follows_labels(Absolute {}, 1, &batch);
    follows_labels(quantile(), 1, &batch);
    follows_labels(Square {}, 2, &batch);
}

/// A hostile batch: columns of any scale that a single can have, some beside their own rounding,
/// and labels and importances of all sizes.
fn hostile(rng: &mut Rng, signs: bool) -> Batch {
    let columns = 1 + rng.below(5);
    let indices: Vec<u32> = (0..columns as u32).collect();
    let wide = [0.0, 3.0, 12.0, 38.0][rng.below(4)];
    let any = |rng: &mut Rng, wide: f64| 10_f64.powf(rng.between(-wide, wide));
    let sizes: Vec<f64> = (0..columns).map(|_| any(rng, wide)).collect();
    let loud = [0.0, 6.0, 29.0][rng.below(3)];
    let mut batch = Batch::default();
    for _ in 0..1 + rng.below(20) {
        let first = rng.bell();
        let value = |rng: &mut Rng, i: usize| {
            let within = if rng.chance(0.3) { first } else { rng.bell() };
            // A column also has values that are far below its largest.
            let within = if rng.chance(0.1) { within * any(rng, 30.0).min(1.0) } else { within };
            (sizes[i] * within).clamp(-3e38, 3e38) as f32
        };
        let row: Vec<f32> = (0..columns).map(|i| value(rng, i)).collect();
        let label = (any(rng, loud) * rng.bell()).clamp(-1e30, 1e30);
        let label = if !signs {
            label
        } else if label > 0.0 {
            1.0
        } else {
            -1.0
        };
        batch.push(&indices, &row, label).unwrap();
    }
    let heavy = [0.0, 3.0, 20.0][rng.below(3)];
    weighed(&batch, || any(rng, heavy))
}

type ExactLoss<'a> = &'a dyn Fn(Exact, f64) -> Exact;

/// Checks all claims with arithmetic that does not round.
fn is_true<L: Loss + Into<AnyLoss>>(loss: L, exactly: ExactLoss<'_>, signs: bool, rng: &mut Rng) {
    let batch = hostile(rng, signs);
    let scales = scales_of(&batch, signs);
    let spread = [0.0, 1.0, 6.0, 20.0][rng.below(4)];
    let radius = 10_f64.powf(rng.between(-spread, spread));
    let asked = Asked { radius, tolerance: 1e-6, max_passes: Some([1, 3, 60, 600][rng.below(4)]) };
    let found = asked.solve(loss, &scales, &batch);
    let what = format!("{scales:?} {radius} {found:?}");
    let price = |u: &[f64]| exact::cost(exactly, 0.0, &batch, u);
    assert!(found.passes <= asked.max_passes.unwrap(), "{what}");
    assert!(
        found.upper == f64::INFINITY || price(&found.comparator) <= found.upper.into(),
        "{what}"
    );
    if found.lower == f64::NEG_INFINITY {
        return;
    }
    let reach = radius * scales.label;
    for round in 0..30 {
        let way = rng.direction(batch.dimension());
        let size = reach * [1.0, 1e-3, 1e-9][round % 3];
        let near = f64::from(u8::from(round % 2 == 0));
        let point = (0..way.len()).map(|i| {
            let unit = f64::from(scales.columns[i]);
            let v = near * found.comparator[i] * unit + size * way[i];
            if unit > 0.0 { v / unit * (1.0 - 1e-12) } else { 0.0 }
        });
        let mut point: Vec<f64> = point.collect();
        if !holds(&point, radius, &scales) {
            point.iter_mut().for_each(|u| *u *= 0.4);
        }
        if holds(&point, radius, &scales) {
            assert!(Exact::from(found.lower) <= price(&point), "{point:?} {what}");
        }
    }
}

fn search(rounds: usize, seed: u64) {
    let rng = &mut Rng::new(seed);
    for _ in 0..rounds {
        is_true(Hinge {}, &exact::hinge, true, rng);
        is_true(PerceptronLoss {}, &exact::perceptron, true, rng);
        is_true(Absolute {}, &exact::absolute, false, rng);
        is_true(quantile(), &exact::quantile(TAU), false, rng);
        is_true(Square {}, &exact::square, false, rng);
        is_true(Linear {}, &exact::linear, false, rng);
    }
}

#[test]
fn what_is_claimed_is_true_at_every_scale() {
    search(80, 1);
}

#[test]
#[ignore = "takes minutes: cargo test -p rueful-hindsight --test unit_free -- --ignored"]
fn what_is_claimed_is_true_of_ten_thousand_more() {
    search(2000, 2);
}

/// At the largest and the smallest singles quotients underflow, such as x/N for x = 10⁻³⁸ and
/// N = 10³⁸.
#[test]
fn quotients_that_underflow_lose_nothing_that_is_proved() {
    let mut batch = Batch::default();
    for (x, label) in [([3e38, 1e-45], 1.0), ([1e-38, 1e-38], 1.0), ([-1e-45, 3e-39], -1.0)] {
        batch.push(&[0, 1], &x, label).unwrap();
    }
    let scales = scales_of(&batch, true);
    // If c and s are the parts of U on the two columns, the loss is 3 − c − 0.7s, and at last 1.3.
    for (radius, least) in
        [(1e-3, 3.0 - 1e-3 * 1.49_f64.sqrt()), (1.0, 3.0 - 1.49_f64.sqrt()), (1e30, 1.3)]
    {
        let found = Asked::to(radius, 1e-6).solve(Hinge {}, &scales, &batch);
        let price = exact::cost(exact::hinge, 0.0, &batch, &found.comparator);
        assert!(price <= found.upper.into() && Exact::from(found.lower) <= price, "{found:?}");
        assert!((found.upper - least).abs() < 1e-5, "{least} {found:?}");
        // A rounding counts U times. In the largest ball nothing is left of the slopes.
        assert!(found.converged || radius > 1.0, "{found:?}");
    }
}

#[test]
fn a_column_without_units_is_not_for_comparators_to_use() {
    let mut batch = Batch::default();
    batch.push(&[0, 1], &[0.0, 2.0], 1.0).unwrap();
    batch.push(&[1], &[1.0], -1.0).unwrap();
    let batches = std::slice::from_ref(&batch);
    let asked = Asked::to(1.0, 1e-6);
    for columns in [vec![0.0, 2.0], vec![f32::NAN, 2.0], vec![-1.0, 2.0, 0.0, 7.0]] {
        let scales = Scales { columns, label: 1.0 };
        let found =
            asked.solve_from(Hinge {}, &scales, &mut InMemory { batches }, Start::default());
        assert!(found.converged && found.comparator[0] == 0.0, "{found:?}");
    }
    // A column that occurs but has no scale would allow any comparator. Nothing is proved except
    // the sign.
    let lost = Scales { columns: vec![1.0], label: 1.0 };
    let found = asked.solve_from(Hinge {}, &lost, &mut InMemory { batches }, Start::default());
    assert_eq!((found.lower, found.comparator), (0.0, vec![0.0, 0.0]));
    assert!((found.upper - 2.0).abs() < 1e-12, "{}", found.upper);
    let found = asked.solve_from(Linear {}, &lost, &mut InMemory { batches }, Start::default());
    assert_eq!(found.lower, f64::NEG_INFINITY);
}

#[test]
fn labels_that_are_all_nothing_leave_one_comparator() {
    let mut batch = Batch::default();
    batch.push(&[0], &[2.0], 0.0).unwrap();
    let scales = scales_of(&batch, false);
    let found = Asked::to(1.0, 1e-9).solve(Absolute {}, &scales, &batch);
    assert!(found.lower == 0.0 && found.upper < 1e-300 && found.converged, "{found:?}");
    let other = times(&batch, |_| 1.0, 1.0);
    let mut labelled = Batch::default();
    labelled.append(other.rows());
    labelled.push(&[0], &[1.0], 3.0).unwrap();
    // The scales say Y = 0, whatever the labels are, so u = 0 is the only comparator, and loses 3.
    let found = Asked::to(1.0, 1e-9).solve(Absolute {}, &scales, &labelled);
    assert!(found.converged && found.lower <= 3.0 && 3.0 <= found.upper, "{found:?}");
    let empty = Asked::to(1.0, 1e-9).solve(Hinge {}, &scales_of(&batch, true), &Batch::default());
    assert_eq!((empty.lower, empty.upper, empty.converged), (0.0, 0.0, true));
}

#[test]
fn what_is_known_beforehand_is_about_the_rows_as_they_are() {
    let batch = times(&integers(200, 4, true, 4), |i| 10_f32.powi(i as i32), 1.0);
    let scales = scales_of(&batch, true);
    let asked = Asked::to(2.0, 1e-7);
    let best = asked.solve(Hinge {}, &scales, &batch);
    let batches = std::slice::from_ref(&batch);
    let again = |start| {
        let one = Asked { max_passes: Some(1), ..Asked::to(2.0, 1e-7) };
        one.solve_from(Hinge {}, &scales, &mut InMemory { batches }, start)
    };
    // The comparator is priced, and the bound is taken at its word.
    let start =
        Start { comparator: best.comparator.clone(), lower: Some(best.lower), ..Start::default() };
    let found = again(start);
    assert_eq!((found.lower, found.upper, found.passes), (best.lower, best.upper, 1));
    assert!(found.converged);
    let false_bound =
        Start { lower: Some(best.upper * 1.01), comparator: best.comparator, ..Start::default() };
    let told = again(false_bound).contradiction.unwrap();
    assert_eq!((told.lower_from, told.upper_from), (Source::Start, Source::Primal));
    let nonsense = Start { comparator: vec![f64::NAN; 9], slopes: vec![f64::NAN; 9], lower: None };
    assert!(again(nonsense).upper <= 200.0 * (1.0 + 1e-12));
}

/// Data that is not in memory.
struct Streamed<'a>(&'a Batch);

impl Passes for Streamed<'_> {
    type Error = Infallible;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Infallible> {
        visit(self.0.rows());
        Ok(())
    }
}

#[test]
fn a_stream_that_fits_into_memory_gives_the_same_bits() {
    let batch = noisy(150, 6, 900, true, 5);
    let scales = scales_of(&batch, true);
    let asked = Asked::to(2.0, 1e-6);
    let streamed = asked.solve_from(Hinge {}, &scales, &mut Streamed(&batch), Start::default());
    assert_eq!(streamed, asked.solve(Hinge {}, &scales, &batch));
}

fn gram(batch: &Batch, sigma: f64) -> Gram {
    let mut gram = Gram::new(NonNegative::new(sigma).unwrap());
    gram.observe_rows(batch.rows());
    gram
}

#[test]
fn sufficient_statistics_agree_whatever_the_units() {
    for (rows, columns) in [(40, 3), (400, 9), (300, 40)] {
        let batch = noisy(rows, columns, columns, false, 8);
        let scales = scales_of(&batch, false);
        let other = times(&batch, |i| power(i, 40), 1.0);
        for radius in [0.1, 1.0, 10.0] {
            let asked = Positive::new(radius).unwrap();
            let best = gram(&batch, 0.0).solve_unit_free(asked, &scales);
            // Roundings of sums count with the radius.
            assert!(best.relative_gap <= if radius > 1.0 { 1e-8 } else { 1e-9 }, "{best:?}");
            assert!(holds(&best.comparator, radius, &scales));
            let price = exact::cost(exact::square, 0.0, &batch, &best.comparator);
            assert!(Exact::from(best.lower) <= price && price <= best.upper.into(), "{best:?}");
            let solved = Asked::to(radius, 1e-5).solve(Square {}, &scales, &batch);
            assert!(best.lower <= solved.upper && solved.lower <= best.upper, "{solved:?}");
            assert!(solved.converged, "{solved:?}");
            let moved = gram(&other, 0.0).solve_unit_free(asked, &scales_of(&other, false));
            assert_eq!((best.lower, best.upper), (moved.lower, moved.upper));
        }
    }
}

#[test]
fn sufficient_statistics_hold_at_every_scale() {
    let rng = &mut Rng::new(3);
    for round in 0..600 {
        let batch = hostile(rng, false);
        let scales = scales_of(&batch, false);
        let radius = 10_f64.powf(rng.between(-3.0, 3.0));
        let sigma = if round % 3 == 0 { 10_f64.powf(rng.between(-6.0, 2.0)) } else { 0.0 };
        let best = gram(&batch, sigma).solve_unit_free(Positive::new(radius).unwrap(), &scales);
        assert!(holds(&best.comparator, radius, &scales), "{best:?}");
        let price = exact::cost(exact::square, sigma, &batch, &best.comparator);
        assert!(best.upper == f64::INFINITY || price <= best.upper.into(), "{best:?}");
        assert!(Exact::from(best.lower) <= price, "{best:?}");
        assert!(best.contradiction.is_none(), "{best:?}");
    }
}

#[test]
fn statistics_without_labels_or_examples() {
    let mut batch = Batch::default();
    batch.push(&[0], &[2.0], 0.0).unwrap();
    let best = gram(&batch, 0.0).solve_unit_free(Positive::ONE, &scales_of(&batch, false));
    assert_eq!((best.lower, best.upper.round(), best.converged), (0.0, 0.0, true));
    batch.push(&[0], &[1.0], 3.0).unwrap();
    let nothing = Scales { columns: vec![2.0], label: 0.0 };
    let best = gram(&batch, 0.0).solve_unit_free(Positive::ONE, &nothing);
    assert!(best.converged && best.lower <= 9.0 && 9.0 <= best.upper, "{best:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_comparator_costs_less_than_the_lower_end(
        seed in 0..1000u64, rows in 1..40usize, columns in 1..8usize, radius in 0.01..20.0f64,
        sizes in prop::collection::vec(-12..12i32, 8),
        points in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 8), 10),
    ) {
        let units = |i: u32| 10_f32.powi(sizes[i as usize]);
        let signs = times(&noisy(rows, 4, columns, true, seed), units, 1.0);
        let scales = scales_of(&signs, true);
        let asked = Asked::to(radius, 1e-5);
        let (hinge, logistic) =
            (asked.solve(Hinge {}, &scales, &signs), asked.solve(Logistic {}, &scales, &signs));
        for found in [&hinge, &logistic] {
            prop_assert!(found.converged, "{found:?}");
        }
        for point in &points {
            let norm = point.iter().map(|v| v * v).sum::<f64>().sqrt();
            let along = |(&v, &n): (&f64, &f32)| if n > 0.0 { v / f64::from(n) } else { 0.0 };
            let u: Vec<f64> = point.iter().zip(&scales.columns).map(along)
                .map(|u| u * radius / norm.max(1.0) * (1.0 - 1e-12)).collect();
            let costs = (cost(Hinge {}, 0.0, &signs, &u), cost(Logistic {}, 0.0, &signs, &u));
            prop_assert!(costs.0 >= hinge.lower * (1.0 - 1e-12));
            prop_assert!(costs.1 >= logistic.lower * (1.0 - 1e-12));
        }
    }
}

/// Margins of exactly 1 on rounded rows are missed by a rounding on the rows as they are. A comparator
/// that is a little longer misses none of them.
#[test]
fn rows_that_can_be_separated_are_separated() {
    for seed in 0..300 {
        let (rows, columns) = (1 + seed as usize % 4, 1 + seed as usize % 7);
        let units = |i: u32| 10_f32.powi((i * 5 + seed as u32) as i32 % 12 - 6);
        let signs = times(&noisy(rows, 4, columns, true, seed), units, 1.0);
        let found = Asked::to(10.0, 1e-5).solve(Hinge {}, &scales_of(&signs, true), &signs);
        assert!(found.lower > 0.0 || found.converged, "{seed}: {found:?}");
    }
}

/// The margins are small differences of large terms, so they are missed by far more than a rounding.
#[test]
fn rows_that_can_hardly_be_separated_are_separated() {
    for (seed, apart) in (0..40).zip([0.1_f32, 0.03, 0.01, 0.003].into_iter().cycle()) {
        let rng = &mut Rng::new(seed);
        let mut batch = Batch::default();
        for (label, other) in [(1.0, 1.0 - apart), (-1.0, 1.0)] {
            let first = 3.0 + rng.unit() as f32;
            batch.push(&[0, 1], &[first, 7.0 * first * other], label).unwrap();
        }
        // A row whose values are the largest makes quotients that are no singles.
        batch.push(&[0, 1], &[9.7, -71.3], 1.0).unwrap();
        let radius = 100.0 / f64::from(apart);
        let found = Asked::to(radius, 1e-5).solve(Hinge {}, &scales_of(&batch, true), &batch);
        assert!(found.converged && found.lower == 0.0, "{seed}: {found:?}");
    }
}

/// Scales that are computed from a batch work for every batch, also one without features.
#[test]
fn rows_without_features_have_no_scales() -> Result<(), FeatureError> {
    let mut batch = Batch::default();
    batch.push(&[], &[], 1.0)?;
    let found = Asked::to(1.0, 1e-9).solve(Hinge {}, &scales_of(&batch, true), &batch);
    assert!(found.lower <= 1.0 && 1.0 <= found.upper && found.converged, "{found:?}");
    Ok(())
}
