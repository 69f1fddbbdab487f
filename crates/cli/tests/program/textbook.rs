//! A run of `ogd` with its default settings, once more in the plainest code. It has dense vectors
//! and one line per formula, and shares nothing with the program.

use crate::harness::{DATA, ask, number, root};
use std::fs;

/// The constant feature, and nine others after it.
const DIMENSION: usize = 10;
/// U, the default radius.
const RADIUS: f64 = 10.0;

struct Row {
    x: [f64; DIMENSION],
    y: f64,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join(DATA)).expect("the data is there");
    text.lines().map(row).collect()
}

fn row(line: &str) -> Row {
    let mut words = line.split(' ');
    let y = words.next().and_then(|label| label.parse().ok()).expect("a label");
    let mut x = [0.0; DIMENSION];
    x[0] = 1.0;
    for (index, value) in words.filter_map(|word| word.split_once(':')) {
        x[index.parse::<usize>().expect("an index")] = value.parse().expect("a value");
    }
    Row { x, y }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn hinge(w: &[f64], row: &Row) -> f64 {
    (1.0 - row.y * dot(w, &row.x)).max(0.0)
}

/// The state of a run of projected OGD on the hinge loss with AdaGrad-norm steps.
#[derive(Default)]
struct Run {
    w: [f64; DIMENSION],
    /// Σ ℓ_t(w_t)
    loss: f64,
    mistakes: f64,
    /// A = Σ a_t ŷ_t
    a: f64,
    /// S = Σ a_t x_t
    s: [f64; DIMENSION],
    /// Σ ‖g_t‖²
    gradients_sq: f64,
    /// Σ η_t‖g_t‖²
    energy: f64,
    first_eta: f64,
    last_eta: f64,
}

impl Run {
    fn learn(&mut self, row: &Row) {
        let prediction = dot(&self.w, &row.x);
        let slope = if row.y * prediction <= 1.0 { -row.y } else { 0.0 };
        self.loss += hinge(&self.w, row);
        self.mistakes += f64::from(row.y * prediction <= 0.0);
        self.a += slope * prediction;
        for (s, x) in self.s.iter_mut().zip(row.x) {
            *s += slope * x;
        }
        self.step(slope, &row.x);
    }

    fn step(&mut self, slope: f64, x: &[f64]) {
        let gradient_sq = slope * slope * dot(x, x);
        self.gradients_sq += gradient_sq;
        let eta = 2.0 * RADIUS / (2.0 * self.gradients_sq).sqrt();
        self.energy += eta * gradient_sq;
        self.last_eta = eta;
        if self.first_eta == 0.0 {
            self.first_eta = eta;
        }
        for (w, x) in self.w.iter_mut().zip(x) {
            *w -= eta * slope * x;
        }
        let shrink = (RADIUS / norm(&self.w)).min(1.0);
        self.w.iter_mut().for_each(|w| *w *= shrink);
    }

    /// R_T ≤ A + U‖S‖
    fn certificate(&self) -> f64 {
        self.a + RADIUS * norm(&self.s)
    }

    /// U²/(2η_1) + 2U²(1/η_T − 1/η_1) + ½ Σ η_t‖g_t‖²
    fn data_bound(&self) -> f64 {
        let distances = 0.5 / self.first_eta + 2.0 * (1.0 / self.last_eta - 1.0 / self.first_eta);
        RADIUS * RADIUS * distances + 0.5 * self.energy
    }

    /// D√(2Σ‖g_t‖²) on a set of diameter D = 2U
    fn theorem(&self) -> f64 {
        2.0 * RADIUS * (2.0 * self.gradients_sq).sqrt()
    }
}

fn learn(rows: &[Row]) -> Run {
    let mut run = Run::default();
    rows.iter().for_each(|row| run.learn(row));
    run
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9, "found {found}, expected {expected}");
}

#[test]
fn the_report_says_what_the_textbook_says() {
    let rows = rows();
    let run = learn(&rows);
    let report = ask(&format!("run {DATA} --json --loss hinge --learner ogd")).json();

    let stored = rows.iter().flat_map(|row| row.x).filter(|x| *x != 0.0).count();
    let seen = (0..DIMENSION).filter(|&i| rows.iter().any(|row| row.x[i] != 0.0)).count();
    assert_eq!(report["examples"], rows.len());
    assert_eq!(report["nonzeros"], stored);
    assert_eq!(report["features"], seen);

    let rounds = rows.len() as f64;
    assert_close(number(&report, "sequential_risk"), run.loss / rounds);
    assert_close(number(&report, "mistake_rate"), run.mistakes / rounds);
    assert_close(number(&report, "certificate"), run.certificate() / rounds);
    assert_close(number(&report["bound"], "data"), run.data_bound() / rounds);
    assert_close(number(&report["bound"], "theorem"), run.theorem() / rounds);
    let largest = rows.iter().map(|row| norm(&row.x)).fold(0.0, f64::max);
    assert_close(number(&report, "example_norm_max"), largest);
    assert_close(number(&report, "gradient_norm_max"), largest);
}

/// The certificate holds for every comparator, and this test tries some of them.
#[test]
fn no_comparator_escapes_the_certificate() {
    let rows = rows();
    let run = learn(&rows);
    let certificate = number(
        &ask(&format!("run {DATA} --json --loss hinge --learner ogd")).json(),
        "certificate",
    );

    let mut comparators = vec![[0.0; DIMENSION], run.w, run.s.map(|s| -s)];
    for i in 0..DIMENSION {
        for sign in [-1.0, 1.0] {
            let mut u = [0.0; DIMENSION];
            u[i] = sign;
            comparators.push(u);
        }
    }
    for direction in comparators {
        let unit = direction.map(|u| u / norm(&direction).max(1e-300));
        for length in [0.1, 1.0, 5.0, RADIUS] {
            let u = unit.map(|u| length * u);
            let loss: f64 = rows.iter().map(|row| hinge(&u, row)).sum();
            let regret = (run.loss - loss) / rows.len() as f64;
            assert!(regret <= certificate + 1e-12, "{u:?}: {regret} > {certificate}");
        }
    }
}
