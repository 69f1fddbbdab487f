//! The solver against LIBLINEAR, an independent program for the same problem in another form.
//!
//! `liblinear-train -s 3 -B 1 -c C` minimises ½‖w‖² + C Σ [1 − y w·x]₊. Divided by CT that is the
//! mean hinge loss with a penalty (σ/2)‖w‖², σ = 1/(CT), over all w. The solver brackets it with
//! this σ. The weights that LIBLINEAR finds are priced here, so its own stopping rule does not
//! matter.

#![allow(clippy::unwrap_used)]

mod common;

use common::{cost, solve_to};
use rueful_core::Batch;
use rueful_core::loss::Hinge;
use rueful_core::set::WholeSpace;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file below the workspace's folder.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// LIBSVM text with labels +1 and −1, and a constant feature in the place of index 0.
fn read(path: &Path) -> Batch {
    let mut batch = Batch::default();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let mut words = line.split_whitespace();
        let label: f64 = words.next().unwrap().parse().unwrap();
        let (mut indices, mut values) = (vec![0], vec![1.0]);
        for (index, value) in words.map(|word| word.split_once(':').unwrap()) {
            indices.push(index.parse().unwrap());
            values.push(value.parse().unwrap());
        }
        batch.push(&indices, &values, label.signum()).unwrap();
    }
    batch
}

/// The weights that LIBLINEAR finds, the constant first. `None` if it is not installed.
fn liblinear(path: &Path, c: f64) -> Option<Vec<f64>> {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    let ran = Command::new("liblinear-train")
        .args(["-q", "-s", "3", "-B", "1", "-e", "1e-6", "-c", &c.to_string()])
        .args([path, &model])
        .output();
    let ran = ran.ok()?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = std::fs::read_to_string(model).unwrap();
    let (head, weights) = text.split_once("\nw\n").unwrap();
    let first = head.lines().find_map(|line| line.strip_prefix("label ")).unwrap();
    let sign = if first.starts_with('-') { -1.0 } else { 1.0 };
    let mut weights: Vec<f64> =
        weights.split_whitespace().map(|w| sign * w.parse::<f64>().unwrap()).collect();
    weights.rotate_right(1);
    Some(weights)
}

fn agrees(path: &Path, c: f64) {
    let batch = read(path);
    let Some(w) = liblinear(path, c) else {
        let skipped = format!("skipped: liblinear-train is not installed ({})\n", path.display());
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return;
    };
    let sigma = 1.0 / (c * batch.len() as f64);
    let solution = solve_to(Hinge {}, sigma, &WholeSpace {}.into(), &batch, 1e-8);
    assert!(solution.converged, "{:e}", solution.relative_gap);
    let theirs = cost(Hinge {}, sigma, &batch, &w);
    // Its weights never cost less than the proved bound, and its minimum is that of the solver.
    assert!(theirs >= solution.lower, "{theirs} < {}", solution.lower);
    assert!(theirs <= solution.upper * (1.0 + 1e-4), "{theirs} > {}", solution.upper);
}

#[test]
fn liblinear_finds_nothing_better_on_phishing() {
    for c in [0.01, 1.0] {
        agrees(&file("data/phishing.libsvm"), c);
    }
}

#[test]
fn liblinear_finds_nothing_better_on_a9a() {
    let path = file("../shared/data/binary/a9a.libsvm");
    if path.exists() {
        agrees(&path, 0.003);
    }
}
