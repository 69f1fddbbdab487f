//! Many classes against an independent conic solver, in the softmax loss and in the multiclass hinge:
//! the solver finds the same minimum, and no certificate is below the exact regret.

#![allow(clippy::unwrap_used)]

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use proptest::prelude::*;
use rueful_checks::Rng;
use rueful_core::classes::{ClassJudge, ClassLedger, ClassLoss, ClassOgd};
use rueful_core::learner::SoftmaxBank;
use rueful_core::set::Ball;
use rueful_core::{Batch, Comparators, Example, Importance, Positive, UnitFree};
use rueful_hindsight::{
    ClassProblem, ClassSolution, InMemory, Options, Solution, solve_classes, unwatched,
};

/// Rows of A with their right-hand sides, s = b − Ax.
#[derive(Default)]
struct Rows {
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Rows {
    fn push(&mut self, entries: &[(usize, f64)], right: f64) {
        let row = self.right.len();
        self.entries.extend(entries.iter().map(|&(column, value)| (row, column, value)));
        self.right.push(right);
    }
}

/// A small problem: rows, the number of their classes, and the units and the radius of the ball.
struct Problem<'a> {
    batch: &'a Batch,
    classes: usize,
    units: Vec<f64>,
    radius: f64,
}

impl Problem<'_> {
    fn dimension(&self) -> usize {
        self.batch.dimension()
    }

    /// The coefficients of z_c − z_y in the matrix, which comes class by class.
    fn margin(&self, example: &Example<'_>, class: usize) -> Vec<(usize, f64)> {
        let y = example.label as usize;
        if class == y {
            return Vec::new();
        }
        let of = |class: usize, sign: f64| {
            let at = move |(i, x): (usize, f64)| (class * self.dimension() + i, sign * x);
            example.features.iter().map(at)
        };
        of(class, 1.0).chain(of(y, -1.0)).collect()
    }

    /// The best matrix in the ball according to the oracle. `state` puts z_c − z_y of every class
    /// into cones. It is given the number of the first variable of a round.
    fn ask(
        &self,
        per_round: usize,
        state: impl Fn(&Self, &Example<'_>, usize, &mut Rows),
    ) -> Vec<Vec<f64>> {
        let weights = self.classes * self.dimension();
        let variables = weights + per_round * self.batch.len();
        let (mut linear, mut rows) = (vec![0.0; variables], Rows::default());
        for (round, example) in self.batch.iter().enumerate() {
            let first = weights + per_round * round;
            linear[first] = example.importance.get();
            state(self, &example, first, &mut rows);
        }
        rows.push(&[], self.radius);
        for at in 0..weights {
            rows.push(&[(at, -self.units[at % self.dimension()])], 0.0);
        }
        rows.cones.push(SupportedConeT::SecondOrderConeT(weights + 1));
        let (i, rest): (Vec<_>, Vec<_>) = rows.entries.iter().map(|&(i, j, v)| (i, (j, v))).unzip();
        let (j, v) = rest.into_iter().unzip();
        let matrix = CscMatrix::new_from_triplets(rows.right.len(), variables, i, j, v);
        let nothing = CscMatrix::zeros((variables, variables));
        let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
        let mut solver =
            DefaultSolver::new(&nothing, &linear, &matrix, &rows.right, &rows.cones, settings)
                .unwrap();
        solver.solve();
        let done = [SolverStatus::Solved, SolverStatus::AlmostSolved];
        assert!(done.contains(&solver.solution.status), "{:?}", solver.solution.status);
        self.inside(&solver.solution.x[..weights])
    }

    /// Brings the oracle's point into the ball. None of its answers is taken at its word.
    fn inside(&self, found: &[f64]) -> Vec<Vec<f64>> {
        let scaled = found.iter().enumerate().map(|(at, w)| w * self.units[at % self.dimension()]);
        let norm = scaled.map(|w| w * w).sum::<f64>().sqrt();
        let shrink = (self.radius / norm).min(1.0) * (1.0 - 1e-15);
        let rows = found.chunks(self.dimension().max(1));
        rows.map(|row| row.iter().map(|w| shrink * w).collect()).collect()
    }

    fn softmax_best(&self) -> f64 {
        // The variables are τ, then one v for every class: e^{z_c − z_y − τ} ≤ v_c, Σ v_c ≤ 1.
        let u = self.ask(1 + self.classes, |problem, example, first, rows| {
            for class in 0..problem.classes {
                let mut row: Vec<_> =
                    problem.margin(example, class).into_iter().map(|(at, x)| (at, -x)).collect();
                row.push((first, 1.0));
                rows.push(&row, 0.0);
                rows.push(&[], 1.0);
                rows.push(&[(first + 1 + class, -1.0)], 0.0);
                rows.cones.push(SupportedConeT::ExponentialConeT());
            }
            let all: Vec<_> = (0..problem.classes).map(|class| (first + 1 + class, 1.0)).collect();
            rows.push(&all, 1.0);
            rows.cones.push(SupportedConeT::NonnegativeConeT(1));
        });
        self.price(&u, softmax)
    }

    fn hinge_best(&self) -> f64 {
        // The constraints are ξ ≥ 0 and ξ ≥ 1 + z_c − z_y.
        let u = self.ask(1, |problem, example, first, rows| {
            rows.push(&[(first, -1.0)], 0.0);
            for class in (0..problem.classes).filter(|&class| class != example.label as usize) {
                let mut row = problem.margin(example, class);
                row.push((first, -1.0));
                rows.push(&row, -1.0);
            }
            rows.cones.push(SupportedConeT::NonnegativeConeT(problem.classes));
        });
        self.price(&u, hinge)
    }

    /// The total loss of a matrix, where `loss` is given z_c − z_y of the other classes.
    fn price(&self, u: &[Vec<f64>], loss: impl Fn(&[f64]) -> f64) -> f64 {
        let price = |example: Example<'_>| {
            let mut z: Vec<f64> = u.iter().map(|row| example.features.dot(row)).collect();
            let own = z.swap_remove(example.label as usize);
            z.iter_mut().for_each(|z| *z -= own);
            example.importance.get() * loss(&z)
        };
        self.batch.iter().map(price).sum()
    }
}

/// The softmax loss of z_c − z_y of the other classes.
fn softmax(margins: &[f64]) -> f64 {
    let most = margins.iter().copied().fold(0.0, f64::max);
    most + (margins.iter().map(|z| (z - most).exp()).sum::<f64>() + (-most).exp()).ln()
}

/// The multiclass hinge of z_c − z_y of the other classes.
fn hinge(margins: &[f64]) -> f64 {
    margins.iter().fold(0.0, |most: f64, z| most.max(1.0 + z))
}

fn rows() -> impl Strategy<Value = (Batch, usize)> {
    (2..5usize, 1..4usize, 1..24usize).prop_flat_map(|(classes, dimension, rows)| {
        let row = (0..classes, prop::collection::vec(-2.0..2.0f32, dimension), 0.25..4.0f64);
        prop::collection::vec(row, rows).prop_map(move |rows| {
            let mut batch = Batch::default();
            let indices: Vec<u32> = (0..dimension as u32).collect();
            for (class, values, importance) in rows {
                let importance = Importance::new(importance).unwrap();
                batch.push_weighted(&indices, &values, class as f64, importance).unwrap();
            }
            (batch, classes)
        })
    })
}

fn units_of(batch: &Batch) -> Vec<f64> {
    let mut units = vec![1e-9_f64; batch.dimension()];
    for example in batch.iter() {
        example.features.iter().for_each(|(i, x)| units[i] = units[i].max(x.abs()));
    }
    units
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_certificate_of_a_softmax_is_below_the_exact_regret((batch, classes) in rows(), power in -1.0..1.5f64) {
        let radius = 10.0_f64.powf(power);
        let problem = Problem { batch: &batch, classes, units: units_of(&batch), radius };
        let best = problem.softmax_best();
        let equal: f64 = batch.iter().map(|e| e.importance.get() * (classes as f64).ln()).sum();
        prop_assert!(best <= equal * (1.0 + 1e-6), "the oracle is no worse than u = 0");
        let comparators = Comparators::from(UnitFree { radius: Positive::new(radius).unwrap() });
        let (mut ledger, mut judge) = (ClassLedger::new(comparators.clone()), ClassJudge::new(&comparators).unwrap());
        let (mut bank, mut buffer, mut lost) = (SoftmaxBank::new(), Vec::new(), 0.0);
        let rows = ledger.enter(batch.rows(), &mut buffer);
        bank.learn_rows_with(rows, |example, round, said| {
            ledger.record(example, round, said);
            lost += round.loss;
        }).unwrap();
        judge.observe_rows(rows);
        let certificate = ledger.point(Some(&judge)).certificate_total();
        prop_assert!(certificate >= lost - best - 1e-12 * (1.0 + lost), "{certificate} {}", lost - best);
        for line in judge.lines() {
            prop_assert!(line.floor(Positive::new(radius).unwrap()) <= best + 1e-12 * (1.0 + best));
        }
    }

    #[test]
    fn no_certificate_of_a_hinge_is_below_the_exact_regret((batch, classes) in rows(), power in -1.0..1.0f64) {
        let radius = Positive::new(10.0_f64.powf(power)).unwrap();
        let units = vec![1.0; batch.dimension()];
        let problem = Problem { batch: &batch, classes, units, radius: radius.get() };
        let best = problem.hinge_best();
        let (mut ledger, mut learner) = (ClassLedger::new(Ball { radius }), ClassOgd::new(radius));
        let (mut buffer, mut rounds) = (Vec::new(), Vec::new());
        let rows = ledger.enter(batch.rows(), &mut buffer);
        learner.learn_rows(rows, &mut rounds).unwrap();
        rows.iter().zip(&rounds).for_each(|(example, round)| ledger.record_hinge(&example, round));
        let lost: f64 = rounds.iter().map(|round| round.loss).sum();
        let certificate = ledger.point(None).certificate_total();
        prop_assert!(certificate >= lost - best - 1e-9 * (1.0 + lost), "{certificate} {}", lost - best);
        let ladder = ledger.ladder(learner.promise(ledger.comparators()), None);
        prop_assert!(ladder.is_in_order(), "{:?}", ladder);
    }
}

/// Solves, and compares with the best matrix of the oracle.
fn compare(
    problem: &Problem<'_>,
    loss: ClassLoss,
    comparators: Comparators,
) -> Result<(), TestCaseError> {
    let best = match loss {
        ClassLoss::Softmax {} => problem.softmax_best(),
        ClassLoss::MulticlassHinge {} => problem.hinge_best(),
    };
    let question =
        ClassProblem { loss, comparators, classes: problem.classes as u32, scales: None };
    let found = solve_batch(&question, problem.batch, 1e-6);
    let Solution { lower, upper, converged, .. } = found.solution;
    prop_assert!(
        lower <= upper && lower <= best * (1.0 + 1e-12) + 1e-300,
        "{lower} {upper} {best}"
    );
    prop_assert!(converged, "{loss} {lower} {upper} {best} {}", found.solution.passes);
    let scale = problem.batch.iter().map(|e| e.importance.get()).sum::<f64>();
    prop_assert!(upper <= best + 1e-6 * best + 1e-11 * scale, "{upper} {best}");
    // The comparator is in the ball, and loses no more than is claimed.
    let rows: Vec<Vec<f64>> = (0..problem.classes)
        .map(|class| {
            found.solution.comparator.iter().skip(class).step_by(problem.classes).copied().collect()
        })
        .collect();
    let inside = problem.inside(&rows.concat());
    prop_assert!(
        inside.concat().iter().zip(rows.concat()).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs())
    );
    let price = match loss {
        ClassLoss::Softmax {} => problem.price(&rows, softmax),
        ClassLoss::MulticlassHinge {} => problem.price(&rows, hinge),
    };
    prop_assert!(
        price <= upper * (1.0 + 1e-12) && upper <= price + 1e-9 * (price + scale),
        "{price} {upper}"
    );
    Ok(())
}

fn solve_batch(problem: &ClassProblem, batch: &Batch, tolerance: f64) -> ClassSolution {
    let options = Options { tolerance, ..Options::default() };
    let mut data = InMemory { batches: std::slice::from_ref(batch) };
    let Ok(found) = solve_classes(problem, &mut data, None, &options, &mut unwatched);
    found
}

const LOSSES: [ClassLoss; 2] = [ClassLoss::Softmax {}, ClassLoss::MulticlassHinge {}];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_solver_finds_what_the_oracle_finds((batch, classes) in rows(), power in -1.0..1.5f64) {
        let radius = Positive::new(10.0_f64.powf(power)).unwrap();
        for loss in LOSSES {
            let units = vec![1.0; batch.dimension()];
            let plain = Problem { batch: &batch, classes, units, radius: radius.get() };
            compare(&plain, loss, Ball { radius }.into())?;
            let unit_free = Problem { units: units_of(&batch), ..plain };
            compare(&unit_free, loss, UnitFree { radius }.into())?;
        }
    }

    #[test]
    fn importance_two_is_the_row_twice_and_units_do_not_matter((batch, _) in rows(), power in -1.0..1.0f64) {
        let radius = Positive::new(10.0_f64.powf(power)).unwrap();
        let (mut twice, mut double, mut rescaled) = (Batch::default(), Batch::default(), Batch::default());
        for example in batch.iter() {
            let (x, label) = (&example.features, example.label);
            for _ in 0..2 {
                twice.push(x.indices(), x.values(), label).unwrap();
            }
            double.push_weighted(x.indices(), x.values(), label, Importance::new(2.0).unwrap()).unwrap();
            let values: Vec<f32> = x.iter().map(|(i, x)| x as f32 * 2_f32.powi(7 * i as i32 - 9)).collect();
            rescaled.push_weighted(x.indices(), &values, label, Importance::new(2.0).unwrap()).unwrap();
        }
        for loss in LOSSES {
            let problem = ClassProblem { loss, comparators: UnitFree { radius }.into(), classes: 0, scales: None };
            let found = [&twice, &double, &rescaled].map(|batch| solve_batch(&problem, batch, 1e-6).solution);
            // The gap of classes that are told apart is relative to a millionth of F(0), and a closer one
            // is below the allowance for rounding.
            let [first, others @ ..] = &found;
            for other in others {
                prop_assert!(other.lower <= first.upper && first.lower <= other.upper);
                prop_assert!(other.converged, "{loss} {other:?}");
            }
            prop_assert_eq!(found[1].upper, found[2].upper, "powers of two change no bit");
        }
    }
}

/// Rows of classes that overlap, with more numbers in the matrix than factors are made for.
fn wide(classes: usize, columns: usize, rows: usize) -> Batch {
    let (mut rng, mut batch) = (Rng::new(7), Batch::default());
    for _ in 0..rows {
        let class = rng.below(classes);
        let mut indices: Vec<u32> = (0..6).map(|_| rng.below(columns - 1) as u32 + 1).collect();
        indices.push(1 + class as u32 % (columns as u32 - 1));
        indices.sort_unstable();
        indices.dedup();
        let values: Vec<f32> = indices.iter().map(|_| 0.2 + rng.unit() as f32).collect();
        let (indices, values) = ([&[0], &*indices].concat(), [&[1.0], &*values].concat());
        batch.push(&indices, &values, class as f64).unwrap();
    }
    batch
}

#[test]
fn matrices_with_many_numbers_are_solved_by_products() {
    let batch = wide(30, 40, 600);
    // Conjugate gradients take long where little of the smoothing is left, so the hinge is asked for
    // less.
    let asked = [(1e-4, &[0.0, 1.0, 2.0][..]), (1e-3, &[0.0, 1.0])];
    for (loss, (tolerance, powers)) in LOSSES.into_iter().zip(asked) {
        for &power in powers {
            let radius = Positive::new(10.0_f64.powf(power)).unwrap();
            let problem = ClassProblem {
                loss,
                comparators: UnitFree { radius }.into(),
                classes: 0,
                scales: None,
            };
            let found = solve_batch(&problem, &batch, tolerance).solution;
            assert!(
                found.converged,
                "{loss} {power}: {} {} {}",
                found.lower, found.upper, found.passes
            );
        }
    }
}

#[test]
fn separable_classes_lose_nothing_in_a_large_ball() {
    let mut batch = Batch::default();
    (0..30_u32).for_each(|t| batch.push(&[t % 3], &[1.0], f64::from(t % 3)).unwrap());
    let radius = Positive::new(1e3).unwrap();
    let of =
        |loss| ClassProblem { loss, comparators: Ball { radius }.into(), classes: 0, scales: None };
    let hinge = solve_batch(&of(ClassLoss::MulticlassHinge {}), &batch, 1e-4).solution;
    assert!(hinge.converged && hinge.upper < 1e-9, "{}", hinge.upper);
    let softmax = solve_batch(&of(ClassLoss::Softmax {}), &batch, 1e-4).solution;
    assert!(softmax.converged && softmax.upper < 1e-6, "{}", softmax.upper);
}

#[test]
fn one_class_and_no_examples_have_an_answer() {
    for loss in LOSSES {
        let ball = Ball { radius: Positive::new(0.5).unwrap() };
        let problem = ClassProblem { loss, comparators: ball.into(), classes: 0, scales: None };
        let mut batch = Batch::default();
        let none = solve_batch(&problem, &batch, 1e-4).solution;
        assert_eq!((none.lower, none.upper, none.examples), (0.0, 0.0, 0));
        batch.push(&[3], &[1.0], 5.0).unwrap();
        let one = solve_batch(&problem, &batch, 1e-4);
        assert_eq!((one.solution.lower, one.solution.upper), (0.0, 0.0));
        assert_eq!(one.classes, [5]);
        let three = solve_batch(&ClassProblem { classes: 3, ..problem }, &batch, 1e-4);
        assert_eq!(three.classes, [0, 1, 2, 5]);
        assert!(three.solution.converged && three.solution.lower > 0.0);
    }
}
