//! The square loss from its sufficient statistics.

#![allow(clippy::unwrap_used)]

mod common;

use common::{ball, cost, cube, noisy, solve_to};
use rueful_core::loss::Square;
use rueful_core::set::{AnySet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, NonNegative};
use rueful_hindsight::{Gram, Method};

fn gram(sigma: f64, batch: &Batch) -> Gram {
    let mut gram = Gram::new(NonNegative::new(sigma).unwrap());
    gram.observe_rows(batch.rows());
    gram
}

fn agrees(sigma: f64, set: &AnySet, batch: &Batch) {
    let (best, solved) =
        (gram(sigma, batch).solve(set), solve_to(Square {}, sigma, set, batch, 1e-9));
    assert_eq!((best.method, best.passes), (Method::SufficientStatistics, 0));
    // F(u) is a difference of sums as large as F(0), and cannot be told apart more finely than
    // their rounding.
    let at_zero = cost(Square {}, sigma, batch, &vec![0.0; batch.dimension()]);
    let width = best.upper - best.lower;
    assert!(width <= 1e-8 * best.upper + 1e-11 * at_zero, "{best:?} {solved:?}");
    assert!(best.converged || best.upper < 1e-4 * at_zero, "{best:?}");
    assert!(best.lower <= solved.upper && solved.lower <= best.upper, "{best:?} {solved:?}");
    assert!(cost(Square {}, sigma, batch, &best.comparator) <= best.upper);
    common::is_sound(&solved, set, Square {}, sigma, batch);
}

#[test]
fn the_solver_agrees() {
    for (rows, columns) in [(1, 1), (5, 9), (400, 9), (1000, 30)] {
        let batch = noisy(rows, 7, columns, false, 11);
        for size in [0.01, 1.0, 100.0] {
            agrees(0.0, &ball(size), &batch);
            agrees(0.0, &cube(size), &batch);
            agrees(0.2, &ball(size), &batch);
        }
        agrees(0.2, &WholeSpace {}.into(), &batch);
    }
}

#[test]
fn parts_add_up_in_any_order() {
    let (front, back) = (noisy(300, 5, 6, false, 1), noisy(77, 5, 12, false, 2));
    let mut whole = gram(0.0, &front);
    whole.observe_rows(back.rows());
    let mut merged = gram(0.0, &back);
    merged.merge(&gram(0.0, &front));
    assert_eq!((merged.rounds(), merged.dimension()), (377, whole.dimension()));
    let (one, other) = (whole.solve(&ball(2.0)), merged.solve(&ball(2.0)));
    assert!(one.lower <= other.upper && other.lower <= one.upper);
    assert!((one.upper - other.upper).abs() < 1e-9 * one.upper);
}

#[test]
fn no_examples_cost_nothing() {
    let best = Gram::new(NonNegative::ZERO).solve(&ball(1.0));
    assert_eq!((best.lower, best.upper, best.converged), (0.0, 0.0, true));
    let mut empty = Batch::default();
    empty.push(&[], &[], 2.0).unwrap();
    let best = gram(0.0, &empty).solve(&ball(1.0));
    assert!(best.lower <= 4.0 && 4.0 <= best.upper);
}

#[test]
fn saved_and_loaded_it_goes_on_as_before() {
    let (front, back) = (noisy(300, 5, 6, false, 1), noisy(77, 5, 12, false, 2));
    let mut whole = gram(0.1, &front);
    let mut loaded: Gram = serde_json::from_str(&serde_json::to_string(&whole).unwrap()).unwrap();
    assert_eq!(loaded, whole);
    whole.observe_rows(back.rows());
    loaded.observe_rows(back.rows());
    assert_eq!(loaded.solve(&ball(2.0)), whole.solve(&ball(2.0)));
}

/// This has 2,000 columns, the most that it is meant for. The interval holds the cost of the
/// comparator, added up example by example, and no point nearby costs less than the lower end.
#[test]
fn two_thousand_columns() {
    let batch = noisy(600, 30, 2000, false, 4);
    let best = gram(0.0, &batch).solve(&ball(5.0));
    assert!(best.converged, "{:e}", best.relative_gap);
    let brute = cost(Square {}, 0.0, &batch, &best.comparator);
    assert!(brute <= best.upper && best.lower <= brute, "{brute}");
    let mut rng = rueful_checks::Rng::new(6);
    for size in [1e-6, 1e-3, 1.0] {
        let mut u: Vec<f64> = best.comparator.iter().map(|u| u + size * rng.bell()).collect();
        ball(5.0).project_dense(&mut u);
        assert!(best.lower <= cost(Square {}, 0.0, &batch, &u));
    }
}
