//! The best fixed predictor in hindsight, for small problems, by a slow search.
//!
//! It takes subgradient steps over the whole stream, and keeps the best point and the average. Then
//! it searches along the coordinates with shrinking steps. The result lies in the set, so it is a
//! valid comparator. On well-scaled problems it is also close to the best.

use super::{dot, norm, project};
use rueful_core::loss::Loss;
use rueful_core::set::{AnySet, FeasibleSet};
use rueful_core::{Batch, Objective};

const DESCENT_STEPS: usize = 200;
const POLISH_SWEEPS: usize = 60;

/// A point of `set` with a small Σ ℓ_t(u), where ℓ_t(u) = φ(u·x_t, y_t) + (σ/2)‖u‖².
pub fn best_in_hindsight<L: Loss>(
    objective: &Objective<L>,
    set: &AnySet,
    batch: &Batch,
    dimension: usize,
) -> Vec<f64> {
    let problem = Problem::new(objective, set, batch, dimension);
    let found = problem.descend();
    problem.polish(found)
}

struct Problem<'a, L> {
    objective: &'a Objective<L>,
    set: &'a AnySet,
    rows: Vec<Vec<f64>>,
    labels: Vec<f64>,
    importances: Vec<f64>,
    /// The length in which steps are measured.
    scale: f64,
    dimension: usize,
}

impl<'a, L: Loss> Problem<'a, L> {
    fn new(objective: &'a Objective<L>, set: &'a AnySet, batch: &Batch, dimension: usize) -> Self {
        let rows = batch.iter().map(|example| super::dense(&example, dimension)).collect();
        let labels = batch.iter().map(|example| example.label).collect();
        let importances = batch.iter().map(|example| example.importance.get()).collect();
        let mut problem = Self { objective, set, rows, labels, importances, scale: 1.0, dimension };
        problem.scale = problem.length();
        problem
    }

    /// The set's diameter, or the distance at which the curvature keeps the best point of an
    /// unbounded set.
    fn length(&self) -> f64 {
        let curvature = self.objective.sigma.get() * self.rows.len() as f64;
        let diameter = self.set.diameter(self.dimension.into());
        let free = 2.0 * norm(&self.gradient(&vec![0.0; self.dimension])) / curvature;
        let length = if curvature > 0.0 { diameter.min(free) } else { diameter };
        if length.is_finite() && length > 0.0 { length } else { 1.0 }
    }

    fn value(&self, u: &[f64]) -> f64 {
        let penalty = 0.5 * self.objective.sigma.get() * dot(u, u);
        let rows = self.rows.iter().zip(&self.labels).zip(&self.importances);
        rows.map(|((x, &y), c)| c * self.objective.loss.at(dot(u, x), y).value + penalty).sum()
    }

    fn gradient(&self, u: &[f64]) -> Vec<f64> {
        let curvature = self.objective.sigma.get() * self.rows.len() as f64;
        let mut gradient: Vec<f64> = u.iter().map(|u| curvature * u).collect();
        for ((x, &y), c) in self.rows.iter().zip(&self.labels).zip(&self.importances) {
            let slope = c * self.objective.loss.at(dot(u, x), y).slope;
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g += slope * x);
        }
        gradient
    }

    /// Takes steps of length scale/√t against the gradient. Returns the best of the points and
    /// their average.
    fn descend(&self) -> Vec<f64> {
        let mut u = vec![0.0; self.dimension];
        let mut average = u.clone();
        let mut best = (self.value(&u), u.clone());
        for step in 1..=DESCENT_STEPS {
            let gradient = self.gradient(&u);
            let length = norm(&gradient);
            if length == 0.0 || !length.is_finite() {
                break;
            }
            let advance = 0.5 * self.scale / (step as f64).sqrt() / length;
            u.iter_mut().zip(&gradient).for_each(|(u, g)| *u -= advance * g);
            project(self.set, &mut u);
            average.iter_mut().zip(&u).for_each(|(a, u)| *a += (u - *a) / (step as f64 + 1.0));
            self.improve(&mut best, &u);
        }
        self.improve(&mut best, &average);
        best.1
    }

    fn improve(&self, best: &mut (f64, Vec<f64>), u: &[f64]) -> bool {
        let value = self.value(u);
        let better = value < best.0;
        if better {
            *best = (value, u.to_vec());
        }
        better
    }

    /// Tries every coordinate both ways, and halves the step when nothing helps.
    fn polish(&self, start: Vec<f64>) -> Vec<f64> {
        let mut best = (self.value(&start), start);
        let mut step = 0.25 * self.scale;
        for _ in 0..POLISH_SWEEPS {
            let mut improved = false;
            for i in 0..self.dimension {
                for way in [step, -step] {
                    let mut tried = best.1.clone();
                    tried[i] += way;
                    project(self.set, &mut tried);
                    improved |= self.improve(&mut best, &tried);
                }
            }
            step = if improved { step } else { 0.5 * step };
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::Positive;
    use rueful_core::loss::{Absolute, Square};
    use rueful_core::set::{Ball, BoxSet};

    fn points(labels: &[f64]) -> Batch {
        let mut batch = Batch::default();
        labels.iter().for_each(|&y| batch.push(&[0], &[1.0], y).unwrap());
        batch
    }

    #[test]
    fn the_mean_the_median_and_the_nearest_end() {
        let batch = points(&[1.0, 2.0, 6.0]);
        let ball: AnySet = Ball { radius: Positive::new(10.0).unwrap() }.into();
        let mean = best_in_hindsight(&Objective::plain(Square {}), &ball, &batch, 1);
        assert!((mean[0] - 3.0).abs() < 1e-6, "{mean:?}");
        let median = best_in_hindsight(&Objective::plain(Absolute {}), &ball, &batch, 1);
        assert!((median[0] - 2.0).abs() < 1e-6, "{median:?}");
        let small: AnySet = BoxSet::interval(-1.0, 1.5).unwrap().into();
        let end = best_in_hindsight(&Objective::plain(Square {}), &small, &batch, 1);
        assert_eq!(end, [1.5]);
    }
}
