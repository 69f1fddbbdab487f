//! One pass over a part of the data at a matrix of weights, for engines that keep the data on many
//! machines.
//!
//! A matrix is a vector, so the sums of a pass are those of one score: a cost, and a proof over all
//! numbers of the matrix. The loss of an example lies above its tangent
//!
//! ```text
//! w·at_zero + Σ_c g_c (u_c·x),    g = w(p − e_y)
//! ```
//!
//! for any probabilities p, and p is taken from the matrix that is visited.

use super::frame::Frame;
use super::visit::NEGLIGIBLE;
use crate::hessian::Hessian;
use crate::pass::{Pass, PassError, Visit};
use crate::proof::ClassLine;
use rueful_core::Rows;
use rueful_core::classes::ClassLoss;

/// The temperature at which the kinks of the multiclass hinge are smoothed to choose a tangent.
const COLD: f64 = 1e-9;

impl Frame {
    /// A visit at the matrix u, or at its nearest multiple in the ball. Numbers beyond the end of u
    /// are 0.
    pub fn visit(&self, u: Vec<f64>) -> Visit<'_> {
        Visit::within(&self.scales, (self.inside, self.outside), u)
    }

    /// How many roundings values of the loss may have, in units of what sums of values allow for.
    pub(super) fn roundings(&self) -> f64 {
        (self.classes() as f64 + 32.0) / 16.0
    }
}

impl Pass {
    /// Visits some rows of many classes at a matrix. Rows of importance 0 do not count.
    pub fn add_classes(
        &mut self,
        frame: &Frame,
        visit: &Visit<'_>,
        rows: Rows<'_>,
    ) -> Result<(), PassError> {
        let (classes, u) = (frame.classes(), visit.comparator());
        if rows.dimension().saturating_mul(classes) > u.len() {
            return Err(PassError::UnknownColumn(rows.dimension() - 1));
        }
        let temperature = match frame.loss {
            ClassLoss::Softmax {} => 1.0,
            ClassLoss::MulticlassHinge {} => COLD,
        };
        let mut hessian = (!self.hessian.is_empty()).then(|| Hessian::new(u.len()));
        let (mut shares, mut slopes) = (vec![0.0; classes], vec![0.0; classes]);
        for example in rows.iter().filter(|example| !example.importance.is_zero()) {
            let y = frame.known_place(&example).ok_or(PassError::UnknownClass)?;
            let (x, weight) = (&example.features, example.importance.get());
            frame.margins(u, x, y, &mut shares);
            let at = frame.loss.tangent(&mut shares, y, temperature);
            let norm = frame.norm_of(x);
            // Every score is off by this at most, and a margin is the difference of two.
            let entries = x.len() as f64 + 4.0;
            let error = f64::EPSILON * entries * frame.outside * norm;
            self.cost.charge(weight, at.value, 2.0 * error, frame.roundings());
            slopes.iter_mut().zip(&shares).for_each(|(slope, share)| *slope = weight * share);
            slopes[y] = weight * (shares[y] - 1.0);
            let line = ClassLine { weight, value: at.value, at_zero: at.at_zero, slopes: &slopes };
            self.proof.add_classes(line, x, norm, frame.roundings());
            if let Some(hessian) = &mut hessian {
                let alive: Vec<usize> = (0..classes).filter(|&c| shares[c] > NEGLIGIBLE).collect();
                for (place, (i, x_i)) in x.iter().enumerate() {
                    for (j, x_j) in x.iter().take(place + 1) {
                        let block = (i * classes, j * classes);
                        hessian.add_block(block, weight * x_i * x_j, &alive, &shares);
                    }
                }
            }
        }
        self.add_hessian(hessian);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ClassProblem, ClassSolution, solve_classes};
    use super::*;
    use crate::passes::InMemory;
    use crate::problem::Options;
    use rueful_checks::Rng;
    use rueful_core::set::Ball;
    use rueful_core::{Batch, Comparators, Importance, Positive, UnitFree};

    const SIZES: [f32; 3] = [1.0, 4.0, 1e6];

    fn rows(rng: &mut Rng, number: usize) -> Batch {
        let mut batch = Batch::default();
        for t in 0..number {
            let class = (t % 3) as f64;
            let x =
                [1.0, 0.3 * rng.bell().clamp(-4.0, 4.0) + class, 1e6 * (2.0 * rng.unit() - 1.0)];
            let importance = Importance::new(0.5 + rng.unit()).unwrap();
            batch.push_weighted(&[0, 1, 2], &x.map(|x| x as f32), class, importance).unwrap();
        }
        batch
    }

    fn pass(frame: &Frame, visit: &Visit<'_>, batches: &[Batch]) -> Pass {
        let mut whole = Pass::new(visit, true);
        for batch in batches {
            let mut part = Pass::new(visit, true);
            part.add_classes(frame, visit, batch.rows()).unwrap();
            whole.merge(&part).unwrap();
        }
        whole
    }

    fn solved(loss: ClassLoss, comparators: &Comparators, batch: &Batch) -> ClassSolution {
        let comparators = comparators.clone();
        let scales = Some(SIZES.to_vec());
        let problem = ClassProblem { loss, comparators, classes: 3, scales };
        let mut data = InMemory { batches: std::slice::from_ref(batch) };
        let Ok(best) =
            solve_classes(&problem, &mut data, None, &Options::default(), &mut crate::unwatched);
        best
    }

    #[test]
    fn parts_are_the_whole_and_bracket_the_least_loss() {
        let rng = &mut Rng::new(3);
        let batches = [rows(rng, 40), rows(rng, 2), Batch::default(), rows(rng, 25)];
        let mut whole = Batch::default();
        batches.iter().for_each(|batch| whole.append(batch.rows()));
        let radius = Positive::new(2.0).unwrap();
        let balls = [Comparators::from(UnitFree { radius }), Ball { radius }.into()];
        for loss in [ClassLoss::Softmax {}, ClassLoss::MulticlassHinge {}] {
            for comparators in &balls {
                let ClassSolution { solution: best, .. } = solved(loss, comparators, &whole);
                let frame = Frame::new(loss, comparators, vec![0, 1, 2], &SIZES);
                for _ in 0..20 {
                    let scales = [1.0, 0.3, 1e-6, 1e-8];
                    let u = (0..9).map(|place| scales[place / 3] * rng.bell()).collect();
                    let visit = frame.visit(u);
                    let parts = pass(&frame, &visit, &batches);
                    let once = pass(&frame, &visit, std::slice::from_ref(&whole));
                    assert_eq!(parts.examples(), 67);
                    assert!((parts.upper() - once.upper()).abs() < 1e-12 * once.upper());
                    let floors = [parts.floor(&visit), once.floor(&visit)];
                    assert!((floors[0] - floors[1]).abs() < 1e-9 * (1.0 + floors[1].abs()));
                    assert!(parts.upper() >= best.lower && floors[0] <= best.upper);
                }
                // At the best matrix itself, the two bounds on a smooth loss meet.
                let visit = frame.visit(best.comparator.clone());
                let there = pass(&frame, &visit, &batches);
                assert!(there.upper() <= best.upper * (1.0 + 1e-9) + 1e-9);
                let is_smooth = loss == ClassLoss::Softmax {};
                assert!(!is_smooth || there.upper() - there.floor(&visit) < 0.01 * there.upper());
            }
        }
    }

    #[test]
    fn slopes_and_second_derivatives_are_those_of_the_loss() {
        let rng = &mut Rng::new(5);
        let batch = [rows(rng, 30)];
        let radius = Positive::new(5.0).unwrap();
        let comparators = UnitFree { radius }.into();
        let frame = Frame::new(ClassLoss::Softmax {}, &comparators, vec![0, 1, 2], &SIZES);
        let sizes = [1.0, 0.2, 1e-6];
        let u: Vec<f64> = (0..9).map(|place| 0.5 * sizes[place / 3] * rng.bell()).collect();
        let here = pass(&frame, &frame.visit(u.clone()), &batch);
        let (slopes, offset) = here.minorant();
        let along: f64 = slopes.iter().zip(&u).map(|(s, u)| s * u).sum();
        assert!((offset + along - here.upper()).abs() < 1e-9 * here.upper());
        for place in 0..9 {
            let step = [1e-4, 1e-4, 1e-10][place / 3];
            let at = |sign: f64| {
                let mut moved = u.clone();
                moved[place] += sign * step;
                pass(&frame, &frame.visit(moved), &batch)
            };
            let (low, high) = (at(-1.0), at(1.0));
            let slope = (high.upper() - low.upper()) / (2.0 * step);
            let size = slopes.iter().fold(0.0_f64, |most, s| most.max(s.abs()));
            assert!((slope - slopes[place]).abs() < 1e-4 * size, "{slope} {}", slopes[place]);
            for other in 0..9 {
                let bend = (high.minorant().0[other] - low.minorant().0[other]) / (2.0 * step);
                let (row, column) = (place.max(other), place.min(other));
                let found = here.hessian()[row * 9 + column];
                let scale = (here.hessian()[place * 10] * here.hessian()[other * 10]).sqrt();
                assert!((bend - found).abs() < 1e-4 * scale, "{place} {other} {bend} {found}");
            }
        }
    }

    #[test]
    fn sums_of_slopes_that_cancel_are_exact() {
        // Two huge examples of both classes cancel, and a small one between them is what is left.
        let mut batch = Batch::default();
        for (x, class) in [(1e30, 0.0), (1.0, 0.0), (1e30, 1.0)] {
            batch.push(&[0], &[x], class).unwrap();
        }
        let radius = Positive::new(1e30).unwrap();
        let comparators = UnitFree { radius }.into();
        let frame = Frame::new(ClassLoss::Softmax {}, &comparators, vec![0, 1], &[1e30]);
        assert_eq!(pass(&frame, &frame.visit(Vec::new()), &[batch]).minorant().0, [-0.5, 0.5]);
    }

    #[test]
    fn scores_that_cancel_are_charged_with_where_they_can_be() {
        // The exact score of class 1 is 1. It comes out as 0.
        let radius = Positive::new(1e17).unwrap();
        let comparators = Ball { radius }.into();
        let frame = Frame::new(ClassLoss::Softmax {}, &comparators, vec![0, 1], &[1.0; 3]);
        let visit = frame.visit(vec![0.0, 1e16, 0.0, 1.0, 0.0, -1e16]);
        let mut batch = Batch::default();
        batch.push(&[0, 1, 2], &[1.0; 3], 0.0).unwrap();
        assert!(pass(&frame, &visit, &[batch]).upper() >= (1.0 + 1_f64.exp()).ln());
    }

    #[test]
    fn values_are_never_too_small() {
        // All scores are 0, and ln 2 and ln 4 are no doubles: both ends of the interval lie outside.
        for classes in [2, 4] {
            let radius = Positive::new(1.0).unwrap();
            let all = (0..classes).collect();
            let frame = Frame::new(ClassLoss::Softmax {}, &Ball { radius }.into(), all, &[]);
            let mut batch = Batch::default();
            batch.push(&[], &[], 1.0).unwrap();
            let visit = frame.visit(Vec::new());
            let there = pass(&frame, &visit, &[batch]);
            let least = f64::from(classes).ln();
            assert!(there.upper() > least && there.floor(&visit) < least);
            assert!(there.upper() - there.floor(&visit) < 1e-13);
        }
    }

    #[test]
    fn what_was_not_counted_is_refused() {
        let radius = Positive::new(1.0).unwrap();
        let frame =
            Frame::new(ClassLoss::Softmax {}, &UnitFree { radius }.into(), vec![0, 2], &[1.0]);
        let visit = frame.visit(vec![3.0; 4]);
        assert!(visit.comparator().iter().map(|u| u * u).sum::<f64>() <= 1.0);
        let mut one = Pass::new(&visit, false);
        for (label, column, error) in [
            (1.0, 0, PassError::UnknownClass),
            (7.0, 0, PassError::UnknownClass),
            (0.5, 0, PassError::UnknownClass),
            (2.0, 1, PassError::UnknownColumn(1)),
        ] {
            let mut batch = Batch::default();
            batch.push(&[column], &[1.0], label).unwrap();
            assert_eq!(one.add_classes(&frame, &visit, batch.rows()), Err(error));
        }
        assert_eq!(one.examples(), 0);
    }

    /// A pass over an example of the first of 4096 classes, at a lead of t for its score, in a ball
    /// of radius 2t.
    fn pass_over_many_classes(t: f64) -> (Pass, f64) {
        let comparators = Ball { radius: Positive::new(2.0 * t).unwrap() }.into();
        let frame = Frame::new(ClassLoss::Softmax {}, &comparators, (0..4096).collect(), &[1.0]);
        let visit = frame.visit(vec![t]);
        let mut batch = Batch::default();
        batch.push(&[0], &[1.0], 0.0).unwrap();
        let mut pass = Pass::new(&visit, false);
        pass.add_classes(&frame, &visit, batch.rows()).unwrap();
        let floor = pass.floor(&visit);
        (pass, floor)
    }

    #[test]
    fn sums_over_many_classes_have_their_allowance() {
        // The loss is ln(1 + 4095e^{−t}), and the sum has as many roundings. Where the last 2048
        // terms are added, a unit in the last place is 2⁻⁴¹. Terms of 1 − 0.55·2⁻⁴¹ are all rounded
        // downwards, and those of 1 − 1.45·2⁻⁴¹ upwards.
        let ln_4096 = 12.0 * std::f64::consts::LN_2;
        let above = |loss: f64| loss * (1.0 + 4.0 * f64::EPSILON);
        let t = 0.55 * (-41_f64).exp2();
        let (pass, _) = pass_over_many_classes(t);
        assert!(pass.upper() >= above(ln_4096 - 0.9995 * t), "{}", pass.upper() - ln_4096);
        assert!(pass.upper() <= ln_4096 + 1e-10);
        // The best comparator has a lead of 2t.
        let t = 1.45 * (-41_f64).exp2();
        let (_, floor) = pass_over_many_classes(t);
        assert!(floor <= above(ln_4096 - 0.9995 * 2.0 * t), "{}", floor - ln_4096);
        assert!(floor >= ln_4096 - 1e-10);
    }
}
