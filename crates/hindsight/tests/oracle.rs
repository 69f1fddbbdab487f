//! The solver against an independent conic one, whose points and multipliers are priced and proved
//! here.

#![allow(clippy::unwrap_used)]

mod common;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use common::{ball, cost, cube, dual, noisy, solve_to};
use rueful_core::ledger::Minorant;
use rueful_core::loss::{
    Absolute, AnyLoss, Hinge, Kink, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square,
};
use rueful_core::set::{AnySet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Example, NonNegative, OpenUnit, Positive};
use rueful_hindsight::{InMemory, Options, Scales, Start, solve_unit_free, unwatched};

/// The way in which a loss is put into cones.
#[derive(Debug, Clone, Copy)]
enum Form {
    Lines(fn(f64) -> Kink),
    Square,
    Logistic,
    Linear,
}

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

/// A point near the minimum, and slopes near the best ones, according to the oracle.
struct Found {
    u: Vec<f64>,
    slopes: Vec<f64>,
}

/// Asks the oracle. None of its answers is taken at its word: its point is brought into the set and
/// priced here, its slopes are brought into the domain of the conjugates, and the bound that they
/// prove is computed here. So its own accuracy (it stops at 1e-8 relative to norms of its own) does
/// not matter. A ball is Σ (N_i u_i)² ≤ U², with all N_i = 1 for the plain one.
fn oracle(form: Form, sigma: f64, set: &AnySet, units: &[f64], batch: &Batch) -> Found {
    let (d, t) = (batch.dimension(), batch.len());
    let variables = d + 3 * t;
    let mut linear = vec![0.0; variables];
    let mut quadratic = vec![0.0; variables];
    let mut rows = Rows::default();
    quadratic[..d].fill(sigma * t as f64);
    for (round, example) in batch.iter().enumerate() {
        let x: Vec<(usize, f64)> = example.features.iter().collect();
        let scaled = |k: f64| x.iter().map(|&(i, x)| (i, k * x)).collect::<Vec<_>>();
        let z = d + round;
        let y = example.label;
        match form {
            Form::Lines(kink) => {
                linear[z] = 1.0;
                let Kink { at, low, high } = kink(y);
                for slope in [low, high] {
                    let mut row = scaled(slope);
                    row.push((z, -1.0));
                    rows.push(&row, slope * at);
                    rows.cones.push(SupportedConeT::NonnegativeConeT(1));
                }
            }
            Form::Square => {
                quadratic[z] = 2.0;
                let mut row = scaled(1.0);
                row.push((z, -1.0));
                rows.push(&row, y);
                rows.cones.push(SupportedConeT::ZeroConeT(1));
            }
            Form::Logistic => {
                // The cones are e^{−z} ≤ v, e^{−yp−z} ≤ w and v + w ≤ 1.
                linear[z] = 1.0;
                let (v, w) = (d + t + round, d + 2 * t + round);
                for (extra, slack) in [(0.0, v), (y, w)] {
                    let mut row = scaled(extra);
                    row.push((z, 1.0));
                    rows.push(&row, 0.0);
                    rows.push(&[], 1.0);
                    rows.push(&[(slack, -1.0)], 0.0);
                    rows.cones.push(SupportedConeT::ExponentialConeT());
                }
                rows.push(&[(v, 1.0), (w, 1.0)], 1.0);
                rows.cones.push(SupportedConeT::NonnegativeConeT(1));
            }
            Form::Linear => x.iter().for_each(|&(i, x)| linear[i] += y * x),
        }
    }
    match set {
        AnySet::Ball(ball) => {
            rows.push(&[], ball.radius.get());
            (0..d).for_each(|i| rows.push(&[(i, -units[i])], 0.0));
            rows.cones.push(SupportedConeT::SecondOrderConeT(d + 1));
        }
        AnySet::Box(sides) => {
            for i in 0..d {
                let (lower, upper) = sides.extent(i);
                rows.push(&[(i, 1.0)], upper);
                rows.push(&[(i, -1.0)], -lower);
            }
            rows.cones.push(SupportedConeT::NonnegativeConeT(2 * d));
        }
        AnySet::WholeSpace(_) => (),
    }
    let sparse = |rows: usize, entries: &[(usize, usize, f64)]| {
        let (i, rest): (Vec<_>, Vec<_>) = entries.iter().map(|&(i, j, v)| (i, (j, v))).unzip();
        let (j, v) = rest.into_iter().unzip();
        CscMatrix::new_from_triplets(rows, variables, i, j, v)
    };
    let diagonal: Vec<_> = quadratic.iter().enumerate().map(|(i, &q)| (i, i, q)).collect();
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-10)
        .tol_gap_rel(1e-10)
        .tol_feas(1e-10)
        .build()
        .unwrap();
    let (p, a) = (sparse(variables, &diagonal), sparse(rows.right.len(), &rows.entries));
    let mut solver =
        DefaultSolver::new(&p, &linear, &a, &rows.right, &rows.cones, settings).unwrap();
    solver.solve();
    let status = solver.solution.status;
    assert!(matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved), "{status:?}");
    let z = &solver.solution.z;
    let slope = |(round, example): (usize, Example<'_>)| match form {
        // The multipliers of z ≥ low·r and z ≥ high·r mix the two slopes.
        Form::Lines(kink) => {
            let Kink { low, high, .. } = kink(example.label);
            z[2 * round] * low + z[2 * round + 1] * high
        }
        Form::Square => z[round],
        // Each example has seven rows, and the fourth holds y·p.
        Form::Logistic => example.label * z[7 * round + 3].clamp(-1.0, 0.0),
        Form::Linear => example.label,
    };
    let slopes = batch.iter().enumerate().map(slope).collect();
    Found { u: solver.solution.x[..d].to_vec(), slopes }
}

/// Asserts that no point of the oracle is below the lower end, and that no bound it proves is above
/// the upper end. Both are computed here. The only tolerance is that of adding up in doubles.
fn agrees<L: Loss + Into<AnyLoss>>(
    name: &str,
    loss: L,
    form: Form,
    sigma: f64,
    set: &AnySet,
    batch: &Batch,
) {
    let solution = solve_to(loss, sigma, set, batch, 1e-8);
    let found = oracle(form, sigma, set, &vec![1.0; batch.dimension()], batch);
    let what = format!("{name} {set:?} σ={sigma} T={} {solution:?}", batch.len());
    let mut u = found.u;
    set.project_dense(&mut u);
    let cost = cost(loss, sigma, batch, &u);
    assert!(solution.lower <= cost + 1e-13 * cost.abs(), "{what} above {cost}");
    let mut minorant = Minorant::new(NonNegative::new(sigma).unwrap());
    minorant.grow(batch.dimension());
    for (example, slope) in batch.iter().zip(found.slopes) {
        let slope = repaired(form, example.label, slope);
        minorant.record(&example.features, &dual(&loss, example.label, slope));
    }
    let proved = minorant.floor(&set.clone().into(), minorant.slopes().len().into());
    assert!(solution.upper >= proved, "{what} below {proved}");
    // Both must also come close, so that the comparison says something.
    let close = 1e-5 * (cost.abs() + 1e-3 * batch.len() as f64);
    assert!(cost - proved <= close, "{what}: the oracle knows only [{proved}, {cost}]");
    assert!(solution.converged, "{what}");
}

/// The oracle's slope brought into the domain of the conjugate.
fn repaired(form: Form, label: f64, slope: f64) -> f64 {
    match form {
        Form::Lines(kink) => {
            let Kink { low, high, .. } = kink(label);
            slope.clamp(low, high)
        }
        _ => slope,
    }
}

fn half_kink(y: f64) -> Kink {
    Kink { at: y, low: -0.3, high: 0.7 }
}

fn hinge_kink(y: f64) -> Kink {
    if y > 0.0 {
        Kink { at: 1.0, low: -1.0, high: 0.0 }
    } else {
        Kink { at: -1.0, low: 0.0, high: 1.0 }
    }
}

fn absolute_kink(y: f64) -> Kink {
    Kink { at: y, low: -1.0, high: 1.0 }
}

fn all_agree(set: &AnySet, sigma: f64, signs: &Batch, numbers: &Batch) {
    let perceptron: fn(f64) -> Kink = |y| {
        if y > 0.0 {
            Kink { at: 0.0, low: -1.0, high: 0.0 }
        } else {
            Kink { at: 0.0, low: 0.0, high: 1.0 }
        }
    };
    let quantile = Quantile { tau: OpenUnit::new(0.3).unwrap() };
    agrees("hinge", Hinge {}, Form::Lines(hinge_kink), sigma, set, signs);
    agrees("perceptron", PerceptronLoss {}, Form::Lines(perceptron), sigma, set, signs);
    agrees("logistic", Logistic {}, Form::Logistic, sigma, set, signs);
    agrees("absolute", Absolute {}, Form::Lines(absolute_kink), sigma, set, numbers);
    agrees("quantile", quantile, Form::Lines(half_kink), sigma, set, numbers);
    agrees("square", Square {}, Form::Square, sigma, set, numbers);
    agrees("linear", Linear {}, Form::Linear, sigma, set, numbers);
}

/// The sizes of the sets: in small ones the minimum is on the boundary, and in large ones inside.
const SIZES: [f64; 3] = [0.05, 1.0, 30.0];

#[test]
fn few_columns() {
    for seed in 0..4 {
        let (signs, numbers) = (noisy(60, 6, 6, true, seed), noisy(60, 6, 6, false, seed + 50));
        for size in SIZES {
            for set in [ball(size), cube(size)] {
                all_agree(&set, 0.0, &signs, &numbers);
            }
        }
    }
}

#[test]
fn many_columns() {
    let (signs, numbers) = (noisy(120, 12, 900, true, 3), noisy(120, 12, 900, false, 4));
    let dense = (noisy(300, 12, 760, true, 5), noisy(300, 12, 760, false, 6));
    for size in SIZES {
        for set in [ball(size), cube(size)] {
            all_agree(&set, 0.0, &signs, &numbers);
            all_agree(&set, 0.0, &dense.0, &dense.1);
        }
    }
}

/// Newton's systems have a hundred rows and more here. Their products are kept from one system to
/// the next.
#[test]
fn full_rows_in_a_box() {
    let batch = noisy(400, 500, 500, true, 7);
    agrees("hinge", Hinge {}, Form::Lines(hinge_kink), 0.0, &cube(0.02), &batch);
}

#[test]
fn more_columns_than_rows_but_few() {
    let (signs, numbers) = (noisy(15, 5, 40, true, 1), noisy(15, 5, 40, false, 2));
    for size in SIZES {
        for set in [ball(size), cube(size)] {
            all_agree(&set, 0.0, &signs, &numbers);
        }
    }
}

#[test]
fn regularised_over_the_whole_space() {
    for (rows, columns) in [(60, 5), (80, 800)] {
        let (signs, numbers) =
            (noisy(rows, 8, columns, true, 7), noisy(rows, 8, columns, false, 8));
        for sigma in [1e-3, 0.1, 10.0] {
            all_agree(&WholeSpace {}.into(), sigma, &signs, &numbers);
            all_agree(&ball(0.5), sigma, &signs, &numbers);
            all_agree(&cube(0.2), sigma, &signs, &numbers);
        }
    }
}

#[test]
fn duplicates_and_empty_rows() {
    let (mut signs, mut numbers) = (Batch::default(), Batch::default());
    for round in 0..40 {
        let sign = if round % 5 == 0 { -1.0 } else { 1.0 };
        let indices: &[u32] = if round % 2 == 0 { &[1, 700] } else { &[] };
        let values: &[f32] = if round % 2 == 0 { &[0.5, 2.0] } else { &[] };
        signs.push(indices, values, sign).unwrap();
        numbers.push(indices, values, 3.0 * sign).unwrap();
    }
    for size in SIZES {
        for set in [ball(size), cube(size)] {
            all_agree(&set, 0.0, &signs, &numbers);
        }
    }
}

/// Like [`agrees`] over the unit-free ball. Columns are in units from a hundredth to a hundred.
fn agrees_without_units<L: Loss + Into<AnyLoss>>(
    loss: L,
    form: Form,
    radius: f64,
    classes: bool,
    seed: u64,
) {
    let mut batch = Batch::default();
    for example in noisy(60, 5, 5, classes, seed).iter() {
        let x = example.features;
        let unit = |(&i, &x): (&u32, &f32)| x * 10_f32.powi(i as i32 - 2);
        let values: Vec<f32> = x.indices().iter().zip(x.values()).map(unit).collect();
        batch.push(x.indices(), &values, example.label).unwrap();
    }
    let mut columns = vec![0.0_f32; batch.dimension()];
    for (i, x) in batch.iter().flat_map(|example| example.features.iter().collect::<Vec<_>>()) {
        columns[i] = columns[i].max(x.abs() as f32);
    }
    let numbers = batch.labels().iter().fold(0.0_f64, |most, y| most.max(y.abs()));
    let scales = Scales { columns, label: if classes { 1.0 } else { numbers } };
    let reach = radius * scales.label;
    // A rounding of x̂ counts U times, so 1e-6 is out of reach for a U of 30.
    let options = Options { tolerance: 1e-5, max_passes: None };
    let mut data = InMemory { batches: std::slice::from_ref(&batch) };
    let (given, start) = (Positive::new(radius).unwrap(), Start::default());
    let Ok(solution) =
        solve_unit_free(loss, given, &scales, &mut data, start, &options, &mut unwatched);
    let units: Vec<f64> = scales.columns.iter().map(|&n| n.into()).collect();
    let Found { mut u, slopes } = oracle(form, 0.0, &ball(reach), &units, &batch);
    let norm =
        |v: &dyn Fn(usize) -> f64| (0..units.len()).map(|i| v(i).powi(2)).sum::<f64>().sqrt();
    let long = norm(&|i| units[i] * u[i]);
    u.iter_mut().for_each(|u| *u *= (reach / long).min(1.0));
    let cost = cost(loss, 0.0, &batch, &u);
    let (mut offset, mut sums) = (0.0, vec![0.0; units.len()]);
    for (example, slope) in batch.iter().zip(slopes) {
        let slope = repaired(form, example.label, slope);
        offset -= loss.conjugate(slope, example.label);
        example.features.add_to(&mut sums, slope);
    }
    let proved = offset - reach * norm(&|i| sums[i] / units[i]);
    let what = format!("{form:?} {radius} {seed} {solution:?} [{proved}, {cost}]");
    assert!(solution.lower <= cost + 1e-13 * cost.abs(), "{what}");
    assert!(solution.upper >= proved - 1e-13 * proved.abs(), "{what}");
    assert!(cost - proved <= 1e-5 * (cost.abs() + 1e-3 * batch.len() as f64), "{what}");
    assert!(solution.converged, "{what}");
}

#[test]
fn comparators_without_units() {
    for seed in 0..4 {
        for radius in SIZES {
            agrees_without_units(Hinge {}, Form::Lines(hinge_kink), radius, true, seed);
            agrees_without_units(Logistic {}, Form::Logistic, radius, true, seed);
            agrees_without_units(Absolute {}, Form::Lines(absolute_kink), radius, false, seed);
            agrees_without_units(Square {}, Form::Square, radius, false, seed);
            agrees_without_units(Linear {}, Form::Linear, radius, true, seed);
        }
    }
}
