//! Certificates for many classes against an independent conic solver: no lower bound is above the
//! loss of the best matrix of weights, in the softmax loss and in the multiclass hinge.

#![allow(clippy::unwrap_used)]

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use proptest::prelude::*;
use rueful_core::classes::{ClassJudge, ClassLedger, ClassOgd};
use rueful_core::learner::SoftmaxBank;
use rueful_core::set::Ball;
use rueful_core::{Batch, Comparators, Example, Importance, Positive, UnitFree};

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
        self.price(&u, |margins| {
            let most = margins.iter().copied().fold(0.0, f64::max);
            most + (margins.iter().map(|z| (z - most).exp()).sum::<f64>() + (-most).exp()).ln()
        })
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
        self.price(&u, |margins| margins.iter().fold(0.0, |most: f64, z| most.max(1.0 + z)))
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
