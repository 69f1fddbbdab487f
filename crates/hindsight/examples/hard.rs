//! Solves hard problems, and shows how long they take and what comes out.
//!
//! ```console
//! $ cargo run --release -p rueful-hindsight --example hard -- hinge:ball:1:FILE absolute:ball:10:FILE
//! ```
//!
//! A set is a `ball`, a `box`, or `unit-free`: the ball that compares weights on columns scaled to ±1.
//! An argument that is a number is the relative gap to ask for, 1e-4 if there is none. Generated
//! problems need no argument. An argument that is not a problem about a file picks the generated
//! problems whose name contains it. A file is LIBSVM text, or a table whose name ends in `.csv`.
//! The label of a table is the last column, or the one named behind `@`, and every other column of
//! numbers is a feature. All have a constant feature.

#![allow(clippy::print_stdout)] // it is a program

use rueful_checks::Rng;
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Logistic, Loss, Square};
use rueful_core::set::{AnySet, Ball, BoxSet};
use rueful_core::{Batch, Comparators, NonNegative, Positive, UnitFree};
use rueful_hindsight::{
    InMemory, Options, Problem, Scales, Solution, Start, solve, solve_unit_free, unwatched,
};
use std::error::Error;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    println!("| problem | rows × columns | seconds | relative gap | passes | method |");
    println!("|---|---|---|---|---|---|");
    let (numbers, others): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.parse::<f64>().is_ok());
    let asked = numbers.first().map_or(Ok(Options::default().tolerance), |gap| gap.parse())?;
    let (files, names): (Vec<String>, Vec<String>) =
        others.into_iter().partition(|argument| argument.matches(':').count() == 3);
    for file in &files {
        let [loss, set, size, path] = file.splitn(4, ':').collect::<Vec<_>>()[..] else { continue };
        let batch = read(path, loss)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        report(
            &format!("{name}, {loss}, {set} of {size}"),
            loss,
            &set_of(set, size)?,
            &batch,
            asked,
        )?;
    }
    let picked = |name: &str| {
        if names.is_empty() { files.is_empty() } else { names.iter().any(|n| name.contains(n)) }
    };
    for (name, make) in GENERATED {
        for (loss, set, size) in [
            ("hinge", "ball", "1"),
            ("hinge", "ball", "1000"),
            ("hinge", "ball", "1000000"),
            ("hinge", "box", "0.01"),
            ("hinge", "box", "1"),
            ("absolute", "ball", "1000000"),
            ("logistic", "ball", "1000"),
            ("hinge", "unit-free", "1000000"),
            ("absolute", "unit-free", "1000000"),
            ("logistic", "unit-free", "1000000"),
        ] {
            let name = format!("{name}, {loss}, {set} of {size}");
            if picked(&name) {
                report(&name, loss, &set_of(set, size)?, &make()?, asked)?;
            }
        }
    }
    Ok(())
}

fn set_of(set: &str, size: &str) -> Result<Comparators> {
    let radius = Positive::new(size.parse()?)?;
    match set {
        "ball" => Ok(AnySet::from(Ball { radius }).into()),
        "box" => Ok(AnySet::from(BoxSet::cube(radius)).into()),
        "unit-free" => Ok(UnitFree { radius }.into()),
        other => Err(format!("no set is called {other}").into()),
    }
}

fn report(name: &str, loss: &str, set: &Comparators, batch: &Batch, gap: f64) -> Result<()> {
    let start = Instant::now();
    let solution = match loss {
        "hinge" => run(Hinge {}, set, batch, gap),
        "logistic" => run(Logistic {}, set, batch, gap),
        "absolute" => run(Absolute {}, set, batch, gap),
        "square" => run(Square {}, set, batch, gap),
        other => return Err(format!("no loss is called {other}").into()),
    };
    let seconds = start.elapsed().as_secs_f64();
    let (rows, columns) = (batch.len(), batch.dimension());
    let Solution { relative_gap, passes, method, .. } = solution;
    println!(
        "| {name} | {rows} × {columns} | {seconds:.2} | {relative_gap:.1e} | {passes} | {method:?} |"
    );
    Ok(())
}

fn run<L: Loss + Into<AnyLoss>>(
    loss: L,
    comparators: &Comparators,
    batch: &Batch,
    tolerance: f64,
) -> Solution {
    let data = &mut InMemory { batches: std::slice::from_ref(batch) };
    let (start, options) = (Start::default(), Options { tolerance, ..Options::default() });
    let Ok(solution) = match comparators {
        Comparators::Set(set) => {
            let problem = Problem { loss, sigma: NonNegative::ZERO, comparators: set.clone() };
            solve(&problem, data, start, &options, &mut unwatched)
        }
        Comparators::UnitFree(ball) => {
            let scales = scales_of(batch);
            solve_unit_free(loss, ball.radius, &scales, data, start, &options, &mut unwatched)
        }
    };
    solution
}

/// The largest |x| of every column, and the largest |y|.
fn scales_of(batch: &Batch) -> Scales {
    let mut columns = vec![0.0_f32; batch.dimension()];
    for example in batch.iter() {
        let x = &example.features;
        for (&i, value) in x.indices().iter().zip(x.values()) {
            columns[i as usize] = columns[i as usize].max(value.abs());
        }
    }
    Scales { columns, label: batch.labels().iter().fold(0.0, |most, y| most.max(y.abs())) }
}

type Made = fn() -> Result<Batch>;

const GENERATED: [(&str, Made); 5] = [
    ("separable", || dense(2000, 50, true, |_| ())),
    ("collinear", || {
        dense(2000, 12, false, |row| {
            row[3] = row[0];
            row[4] = 3.0 * row[0];
            row[5] = row[0] + row[1];
            row[6] = 1e-3 * row[1] - row[2];
        })
    }),
    ("raw", || {
        dense(2000, 12, false, |row| {
            for (i, x) in row.iter_mut().enumerate() {
                *x *= 10_f64.powi(i as i32 % 6);
            }
        })
    }),
    ("wide", || dense(3000, 5000, false, |_| ())),
    ("wide sparse", || sparse(3000, 5000, 50)),
];

/// Standard normal rows, after a change. The labels are those of a linear model, with noise unless
/// they should be separable.
fn dense(rows: usize, columns: usize, separable: bool, change: fn(&mut [f64])) -> Result<Batch> {
    let rng = &mut Rng::new(1);
    let target = rng.direction(columns);
    let indices: Vec<u32> = (0..columns as u32).collect();
    let mut batch = Batch::default();
    for _ in 0..rows {
        let mut row: Vec<f64> = (0..columns).map(|_| rng.bell()).collect();
        let score: f64 = row.iter().zip(&target).map(|(x, u)| x * u).sum();
        let noise = if separable { 0.0 } else { rng.bell() };
        change(&mut row);
        let values: Vec<f32> = row.iter().map(|&x| x as f32).collect();
        batch.push(&indices, &values, (score + noise).signum())?;
    }
    Ok(batch)
}

/// Rows with at most `per_row` nonzeros.
fn sparse(rows: usize, columns: usize, per_row: usize) -> Result<Batch> {
    let rng = &mut Rng::new(2);
    let target = rng.direction(columns);
    let mut batch = Batch::default();
    for _ in 0..rows {
        let mut indices: Vec<u32> = (0..per_row).map(|_| rng.below(columns) as u32).collect();
        indices.sort_unstable();
        indices.dedup();
        let values: Vec<f32> = indices.iter().map(|_| rng.bell() as f32).collect();
        let score: f64 =
            indices.iter().zip(&values).map(|(&i, &x)| target[i as usize] * f64::from(x)).sum();
        batch.push(&indices, &values, (score + 0.05 * rng.bell()).signum())?;
    }
    Ok(batch)
}

fn read(path: &str, loss: &str) -> Result<Batch> {
    let classes = loss == "hinge" || loss == "logistic";
    let (path, label) = path.split_once('@').unwrap_or((path, ""));
    let text = std::fs::read_to_string(path)?;
    let mut batch = if path.ends_with(".csv") { table(&text, label)? } else { libsvm(&text)? };
    if classes {
        let mut signs = Batch::default();
        for example in batch.iter() {
            let x = &example.features;
            signs.push(x.indices(), x.values(), if example.label > 0.0 { 1.0 } else { -1.0 })?;
        }
        batch = signs;
    }
    Ok(batch)
}

fn libsvm(text: &str) -> Result<Batch> {
    let mut batch = Batch::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(label) = words.next() else { continue };
        let (mut indices, mut values) = (vec![0], vec![1.0]);
        for (index, value) in words.filter_map(|word| word.split_once(':')) {
            indices.push(index.parse()?);
            values.push(value.parse()?);
        }
        // Two classes may be called 2 and 4.
        let label: f64 = label.parse()?;
        batch.push(&indices, &values, if label == 2.0 { -1.0 } else { label })?;
    }
    Ok(batch)
}

fn table(text: &str, label: &str) -> Result<Batch> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().ok_or("no header")?.split(',').collect();
    let at = names.iter().position(|name| *name == label).unwrap_or(names.len() - 1);
    let mut batch = Batch::default();
    for line in lines {
        let cells: Vec<Option<f32>> = line.split(',').map(|cell| cell.parse().ok()).collect();
        let (mut indices, mut values) = (vec![0], vec![1.0]);
        for (i, cell) in cells.iter().enumerate().filter(|(i, _)| *i != at) {
            if let Some(value) = cell {
                indices.push(1 + i as u32);
                values.push(*value);
            }
        }
        batch.push(&indices, &values, cells[at].ok_or("a label that is no number")?.into())?;
    }
    Ok(batch)
}
