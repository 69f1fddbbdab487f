//! Properties that hold for any data: soundness, repeatability, streams, prefixes, awkward inputs.

#![allow(clippy::unwrap_used)]

mod common;

use common::{ball, cost, cube, dual, noisy, solve_to};
use proptest::prelude::*;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::ledger::Minorant;
use rueful_core::loss::{
    Absolute, AnyLoss, Hinge, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square,
};
use rueful_core::set::{AnySet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, NonNegative, OpenUnit, Rows};
use rueful_hindsight::{
    InMemory, Options, Passes, Prefix, Problem, Solution, Start, solve, unwatched,
};
use std::convert::Infallible;

fn problem<L: Loss + Into<AnyLoss>>(loss: L, comparators: AnySet) -> Problem<L> {
    Problem { loss, sigma: NonNegative::ZERO, comparators }
}

fn run<L: Loss + Into<AnyLoss>>(
    problem: &Problem<L>,
    data: &mut impl Passes<Error = Infallible>,
) -> Solution {
    let options = Options { tolerance: 1e-6, ..Options::default() };
    let Ok(solution) = solve(problem, data, Start::default(), &options, &mut unwatched);
    solution
}

fn every_loss(signs: &Batch, numbers: &Batch, check: &mut impl FnMut(Solution)) {
    let quantile = Quantile { tau: OpenUnit::new(0.8).unwrap() };
    for size in [1e-6, 1.0, 1e6] {
        for set in [ball(size), cube(size)] {
            check(solve_to(Hinge {}, 0.0, &set, signs, 1e-6));
            check(solve_to(PerceptronLoss {}, 0.0, &set, signs, 1e-6));
            check(solve_to(Logistic {}, 0.0, &set, signs, 1e-6));
            check(solve_to(Square {}, 0.0, &set, numbers, 1e-6));
            check(solve_to(Absolute {}, 0.0, &set, numbers, 1e-6));
            check(solve_to(quantile, 0.0, &set, numbers, 1e-6));
            check(solve_to(Linear {}, 0.0, &set, numbers, 1e-6));
        }
    }
    check(solve_to(Hinge {}, 0.1, &WholeSpace {}.into(), signs, 1e-6));
}

#[test]
fn awkward_streams_leave_a_sound_interval() {
    for kind in StreamKind::ALL {
        let recipe = |targets| Recipe { targets, rounds: 30, dimension: 4, seed: 9 };
        let signs = kind.batch(&recipe(Targets::Signs));
        let numbers = kind.batch(&recipe(Targets::Numbers));
        every_loss(&signs, &numbers, &mut |_| ());
    }
}

#[test]
fn the_smallest_data_there_is() {
    let mut one = Batch::default();
    one.push(&[2], &[3.0], 1.0).unwrap();
    every_loss(&one, &one, &mut |solution| assert!(solution.converged, "{solution:?}"));
    let mut zero = Batch::default();
    zero.push(&[], &[], 1.0).unwrap();
    every_loss(&zero, &zero, &mut |solution| assert!(solution.converged, "{solution:?}"));
    every_loss(&Batch::default(), &Batch::default(), &mut |solution| {
        assert_eq!((solution.lower, solution.upper), (0.0, 0.0));
    });
}

#[test]
fn labels_of_a_million_and_columns_of_every_scale() {
    let mut rng = rueful_checks::Rng::new(5);
    let mut batch = Batch::default();
    for _ in 0..200 {
        let values = [1e-3, 1.0, 1e3, 1e6].map(|scale| (scale * rng.bell()) as f32);
        batch.push(&[0, 1, 2, 3], &values, 1e6 * rng.bell()).unwrap();
    }
    for set in [ball(10.0), cube(10.0)] {
        for solution in [
            solve_to(Square {}, 0.0, &set, &batch, 1e-6),
            solve_to(Absolute {}, 0.0, &set, &batch, 1e-6),
        ] {
            assert!(solution.converged, "{solution:?}");
        }
    }
}

#[test]
fn the_same_bits_twice() {
    for (rows, columns) in [(300, 8), (200, 1000)] {
        let batch = noisy(rows, 8, columns, true, 1);
        let problem = problem(Hinge {}, ball(3.0));
        let batches = std::slice::from_ref(&batch);
        let (first, second) =
            (run(&problem, &mut InMemory { batches }), run(&problem, &mut InMemory { batches }));
        assert_eq!(first, second);
    }
}

/// Data that is made anew in every pass, in one buffer.
struct Made {
    source: Batch,
    buffer: Batch,
    size: usize,
}

impl Passes for Made {
    type Error = Infallible;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Infallible> {
        let examples: Vec<_> = self.source.iter().collect();
        for chunk in examples.chunks(self.size) {
            self.buffer.clear();
            for example in chunk {
                let x = &example.features;
                self.buffer.push(x.indices(), x.values(), example.label).unwrap();
            }
            visit(self.buffer.rows());
        }
        Ok(())
    }
}

fn first_rows(batch: &Batch, rounds: usize) -> Batch {
    let mut rows = Batch::default();
    for example in batch.iter().take(rounds) {
        let x = &example.features;
        rows.push(x.indices(), x.values(), example.label).unwrap();
    }
    rows
}

#[test]
fn memory_gives_the_same_however_it_is_divided_and_a_prefix_what_its_rows_give() {
    for columns in [6, 900] {
        let batch = noisy(150, 6, columns, true, 2);
        let problem = problem(Logistic {}, ball(2.0));
        for rounds in [0, 1, 63, 64, 65, 150, 999] {
            let whole = first_rows(&batch, rounds);
            let whole = run(&problem, &mut InMemory { batches: &[whole] });
            for size in [1, 7, 64] {
                let mut batches = Vec::new();
                let mut made = Made { source: batch.clone(), buffer: Batch::default(), size };
                made.pass(&mut |rows| {
                    let mut batch = Batch::default();
                    batch.append(rows);
                    batches.push(batch);
                })
                .unwrap();
                let mut divided = InMemory { batches: &batches };
                let cut = run(&problem, &mut Prefix { data: &mut divided, rounds: rounds as u64 });
                assert_eq!(cut, whole, "{rounds} {size}");
            }
        }
    }
}

/// Ascent visits a stream in its own order, and data in memory in random orders, so it takes other
/// steps.
#[test]
fn a_stream_gives_what_its_rows_give_and_agrees_with_memory() {
    for columns in [6, 900] {
        let batch = noisy(150, 6, columns, true, 2);
        let problem = problem(Logistic {}, ball(2.0));
        for rounds in [0, 1, 63, 64, 65, 150, 999] {
            let rows = first_rows(&batch, rounds);
            let memory = run(&problem, &mut InMemory { batches: std::slice::from_ref(&rows) });
            let mut made = Made { source: rows, buffer: Batch::default(), size: 150 };
            let whole = run(&problem, &mut made);
            assert!(whole.converged && memory.converged);
            assert!(whole.lower <= memory.upper && memory.lower <= whole.upper);
            for size in [1, 7, 64] {
                let mut made = Made { source: batch.clone(), buffer: Batch::default(), size };
                let cut = run(&problem, &mut Prefix { data: &mut made, rounds: rounds as u64 });
                assert_eq!(cut, whole, "{rounds} {size}");
            }
        }
    }
}

#[test]
fn a_pass_limit_is_kept_and_leaves_an_interval() {
    let batch = noisy(200, 9, 2000, false, 3);
    let problem = problem(Absolute {}, ball(5.0));
    for max_passes in [1, 2, 3, 5, 9, 20] {
        let options = Options { tolerance: 1e-9, max_passes: Some(max_passes) };
        let batches = std::slice::from_ref(&batch);
        let Ok(solution) =
            solve(&problem, &mut InMemory { batches }, Start::default(), &options, &mut unwatched);
        assert!(solution.lower <= solution.upper);
        assert!(!solution.converged || max_passes > 5, "{max_passes}");
        assert!(solution.passes <= max_passes, "{} of {max_passes}", solution.passes);
    }
}

fn holds_everywhere<L: Loss + Into<AnyLoss>>(
    loss: L,
    set: &AnySet,
    batch: &Batch,
    points: &[Vec<f64>],
) {
    let solution = solve_to(loss, 0.0, set, batch, 1e-6);
    for point in points {
        let mut u = point.clone();
        u.resize(batch.dimension(), 0.0);
        set.project_dense(&mut u);
        let cost = cost(loss, 0.0, batch, &u);
        assert!(cost >= solution.lower - 1e-12 * cost.abs(), "{cost} < {}", solution.lower);
    }
}

/// Asserts that a learner's regret lies between the bound that the solver proves and the learner's
/// own certificate.
fn is_below_the_certificate<L: Loss + Into<AnyLoss>>(loss: L, radius: f64, batch: &Batch) {
    let set = ball(radius);
    let mut w = vec![0.0; batch.dimension()];
    let mut minorant = Minorant::new(NonNegative::ZERO);
    minorant.grow(w.len());
    let mut suffered = 0.0;
    for (t, example) in batch.iter().enumerate() {
        let at = loss.at(example.features.dot(&w), example.label);
        suffered += at.value;
        minorant.record(&example.features, &dual(&loss, example.label, at.slope));
        example.features.add_to(&mut w, -at.slope * radius / (t as f64 + 1.0).sqrt());
        set.project_dense(&mut w);
    }
    let floor = minorant.floor(&set.clone().into(), minorant.slopes().len().into());
    let problem = problem(loss, set);
    let start = Start { lower: Some(floor), ..Start::default() };
    let batches = std::slice::from_ref(batch);
    let options = Options::default();
    let Ok(solution) = solve(&problem, &mut InMemory { batches }, start, &options, &mut unwatched);
    assert!(suffered - solution.lower <= suffered - floor);
    assert!(solution.upper >= solution.lower);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_feasible_point_costs_less_than_the_lower_end(
        seed in 0..1000u64, rows in 1..40usize, columns in 1..8usize, size in 0.01..20.0f64,
        points in prop::collection::vec(prop::collection::vec(-9.0..9.0f64, 8), 10),
    ) {
        let (signs, numbers) =
            (noisy(rows, 4, columns, true, seed), noisy(rows, 4, columns, false, seed));
        for set in [ball(size), cube(size)] {
            let points: Vec<Vec<f64>> = points.iter().map(|p| p[..columns].to_vec()).collect();
            let fit = |batch: &Batch| -> Vec<Vec<f64>> {
                points.iter().map(|p| p[..batch.dimension().min(p.len())].to_vec()).collect()
            };
            holds_everywhere(Hinge {}, &set, &signs, &fit(&signs));
            holds_everywhere(Logistic {}, &set, &signs, &fit(&signs));
            holds_everywhere(Square {}, &set, &numbers, &fit(&numbers));
            holds_everywhere(Absolute {}, &set, &numbers, &fit(&numbers));
            holds_everywhere(Linear {}, &set, &numbers, &fit(&numbers));
        }
        is_below_the_certificate(Hinge {}, size, &signs);
        is_below_the_certificate(Logistic {}, size, &signs);
        is_below_the_certificate(Square {}, size, &numbers);
    }
}
