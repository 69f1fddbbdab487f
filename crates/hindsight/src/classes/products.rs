//! Steps over the ball for matrices with many numbers: conjugate gradients, each of which multiplies
//! the second derivatives by a matrix in one pass over the data.

use super::frame::Frame;
use super::visit::{Point, Standing};
use crate::passes::Passes;

/// How many times the multiplier of the ball is improved in a step, and the most products that a
/// system of equations may take.
const MULTIPLIERS: usize = 4;
const MOST_PRODUCTS: usize = 500;

/// The second derivatives at a point, which are multiplied by matrices pass by pass.
pub(super) struct Bend<'a, P> {
    pub(super) frame: &'a Frame,
    pub(super) data: &'a mut P,
    pub(super) standing: &'a Standing,
    /// What is added to the diagonal.
    pub(super) shift: f64,
    /// How accurately systems of equations are solved, relative to the error at their start.
    pub(super) precision: f64,
    /// The number of products so far, and how many there may be.
    pub(super) products: u64,
    pub(super) most: u64,
}

impl<P: Passes> Bend<'_, P> {
    /// The minimum of the quadratic model over the ball, near enough, from the matrix v in units of
    /// the columns. At the best matrix v on the ball's surface the gradient is −ν·v, so ‖gradient‖/U
    /// is where the search for the multiplier ν begins.
    pub(super) fn minimise(&mut self, v: &[f64]) -> Result<Vec<f64>, P::Error> {
        let (radius, gradient) = (self.frame.inside, &self.standing.gradient);
        let mut multiplier = dot(gradient, gradient).sqrt() / radius;
        let bent = self.product(v, 0.0)?;
        let gradient = &self.standing.gradient;
        let right: Vec<f64> = bent.iter().zip(gradient).map(|(bent, g)| bent - g).collect();
        let mut found = v.to_vec();
        for _ in 0..MULTIPLIERS {
            self.solve(&right, &mut found, multiplier)?;
            let length = dot(&found, &found).sqrt();
            let is_inside = length <= radius && multiplier == 0.0;
            let is_near = (length - radius).abs() < self.precision * distance(&found, v);
            if is_inside || is_near || self.is_exhausted() {
                break;
            }
            let mut bend = vec![0.0; found.len()];
            self.solve(&found, &mut bend, multiplier)?;
            let step = length * length / dot(&found, &bend) * (length - radius) / radius;
            let next = (multiplier + step).max(0.0);
            if !next.is_finite() || next == multiplier {
                break;
            }
            multiplier = next;
        }
        let length = dot(&found, &found).sqrt();
        if length > radius {
            found.iter_mut().for_each(|v| *v *= radius / length);
        }
        Ok(found)
    }

    fn is_exhausted(&self) -> bool {
        self.products >= self.most
    }

    /// Solves (H + shift + multiplier)·x = right by conjugate gradients, preconditioned by the
    /// diagonal, from the x that is given.
    fn solve(&mut self, right: &[f64], x: &mut [f64], multiplier: f64) -> Result<(), P::Error> {
        let ease: Vec<f64> = self
            .standing
            .diagonal
            .iter()
            .map(|own| 1.0 / (own + self.shift + multiplier).max(f64::MIN_POSITIVE))
            .collect();
        let start = if x.iter().all(|&x| x == 0.0) {
            vec![0.0; x.len()]
        } else {
            self.product(x, multiplier)?
        };
        let mut rest: Vec<f64> = right.iter().zip(&start).map(|(b, a)| b - a).collect();
        let eased =
            |rest: &[f64]| -> Vec<f64> { rest.iter().zip(&ease).map(|(r, e)| r * e).collect() };
        let mut direction = eased(&rest);
        let mut size = dot(&rest, &direction);
        let enough = self.precision * self.precision * size;
        for _ in 0..MOST_PRODUCTS {
            if size <= enough || self.is_exhausted() {
                break;
            }
            let bent = self.product(&direction, multiplier)?;
            let step = size / dot(&direction, &bent);
            if !step.is_finite() || step <= 0.0 {
                break;
            }
            x.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
            rest.iter_mut().zip(&bent).for_each(|(r, b)| *r -= step * b);
            let next = eased(&rest);
            let next_size = dot(&rest, &next);
            let keep = next_size / size;
            direction.iter_mut().zip(&next).for_each(|(d, n)| *d = n + keep * *d);
            size = next_size;
        }
        Ok(())
    }

    /// (H + shift + multiplier)·d, in units of the columns.
    fn product(&mut self, d: &[f64], multiplier: f64) -> Result<Vec<f64>, P::Error> {
        self.products += 1;
        let (frame, point) = (self.frame, &self.standing.point);
        let classes = frame.classes();
        let mut product: Vec<f64> = d.iter().map(|d| (self.shift + multiplier) * d).collect();
        let (mut moved, mut shares, mut round) = (vec![0.0; classes], vec![0.0; classes], 0);
        self.data.pass(&mut |rows| {
            for example in rows.iter() {
                let x = &example.features;
                let kept = point
                    .shares
                    .as_ref()
                    .and_then(|all| all.get(round * classes..)?.get(..classes));
                match kept {
                    Some(kept) => shares.copy_from_slice(kept),
                    None => shares_at(frame, point, &example, &mut shares),
                }
                round += 1;
                if shares.contains(&1.0) {
                    continue;
                }
                moved.fill(0.0);
                for (i, x) in x.iter() {
                    let (own, scaled) = (&d[i * classes..][..classes], x * frame.per_unit(i));
                    moved.iter_mut().zip(own).for_each(|(moved, d)| *moved += d * scaled);
                }
                let mean = dot(&shares, &moved);
                let factor = example.importance.get() / point.temperature;
                moved.iter_mut().zip(&shares).for_each(|(m, p)| *m = factor * p * (*m - mean));
                for (i, x) in x.iter() {
                    let (own, scaled) =
                        (&mut product[i * classes..][..classes], x * frame.per_unit(i));
                    own.iter_mut().zip(&moved).for_each(|(sum, moved)| *sum += moved * scaled);
                }
            }
        })?;
        Ok(product)
    }
}

/// The probabilities of an example at a point.
fn shares_at(frame: &Frame, point: &Point, example: &rueful_core::Example<'_>, shares: &mut [f64]) {
    let y = frame.place(example);
    frame.margins(&point.u, &example.features, y, shares);
    frame.loss.tangent(shares, y, point.temperature);
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
