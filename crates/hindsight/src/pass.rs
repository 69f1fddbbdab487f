//! One pass over a part of the data, for engines that keep the data on many machines.
//!
//! Every machine visits its rows at the same comparator u, and the passes of all machines add up.
//! The sum tells what u costs, and the slopes at u prove a lower bound. Whoever chooses the next u
//! only steers: both bounds hold, rounding included, for any sequence of comparators. For many
//! classes u is a matrix, whose numbers lie side by side (`classes/pass.rs`).

use crate::cost::{Cost, careful_dot};
use crate::counted::Counted;
use crate::hessian::Hessian;
use crate::proof::Proof;
use crate::scales::Scales;
use rueful_core::loss::Loss;
use rueful_core::{NonNegative, Positive, Rows};
use serde::{Deserialize, Serialize};

/// The sums of a pass at a comparator u, over some of the examples.
///
/// ```
/// use rueful_core::{Batch, Positive, loss::Absolute};
/// use rueful_hindsight::{Pass, Scales, Visit};
///
/// // The median of three labels, two of which are on another machine.
/// let scales = Scales { columns: vec![1.0], label: 6.0 };
/// let visit = Visit::new(&scales, Positive::ONE, vec![2.0]);
/// let pass = |labels: &[f64]| {
///     let mut batch = Batch::default();
///     labels.iter().try_for_each(|&label| batch.push(&[0], &[1.0], label))?;
///     let mut pass = Pass::new(&visit, false);
///     pass.add(&Absolute {}, &visit, batch.rows())?;
///     Ok::<_, Box<dyn std::error::Error>>(pass)
/// };
/// let mut whole = pass(&[1.0])?;
/// whole.merge(&pass(&[2.0, 6.0])?)?;
/// assert!(whole.upper() >= 5.0 && whole.upper() < 5.0 + 1e-9);
/// assert!(whole.floor(&visit) <= 5.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    pub(crate) cost: Cost,
    pub(crate) proof: Proof,
    /// The lower triangle of the second derivatives, row by row. It is empty if nobody wants it.
    pub(crate) hessian: Vec<f64>,
}

/// The comparator of a pass, and the ball that it belongs to.
#[derive(Debug, Clone)]
pub struct Visit<'a> {
    scales: &'a Scales,
    u: Vec<f64>,
    /// The radius of the ball, rounded up.
    outside: f64,
}

/// The ways in which a pass can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassError {
    /// A row has a feature in a column that nobody measured.
    UnknownColumn(usize),
    /// A row has a class that nobody counted.
    UnknownClass,
    /// Two passes are over other columns.
    OtherColumns,
}

impl std::fmt::Display for PassError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownColumn(column) => write!(f, "column {column} was not measured before"),
            Self::UnknownClass => f.write_str("a row has a class that was not counted before"),
            Self::OtherColumns => f.write_str("the passes are over other columns"),
        }
    }
}

impl std::error::Error for PassError {}

impl<'a> Visit<'a> {
    /// A visit at u, or at the nearest multiple of u in the unit-free ball of this radius. Columns
    /// beyond the end of u have a weight of 0.
    pub fn new(scales: &'a Scales, radius: Positive, u: Vec<f64>) -> Self {
        Self::within(scales, scales.radii(radius), u)
    }

    /// The same for a radius that was rounded down and up.
    pub(crate) fn within(
        scales: &'a Scales,
        (inside, outside): (f64, f64),
        mut u: Vec<f64>,
    ) -> Self {
        u.resize(scales.columns.len(), 0.0);
        scales.make_feasible(&mut u, inside);
        Self { scales, u, outside }
    }

    /// The comparator, which is certainly in the ball.
    pub fn comparator(&self) -> &[f64] {
        &self.u
    }
}

impl Pass {
    /// A pass over no rows. It may collect second derivatives, for losses that have them.
    pub fn new(visit: &Visit<'_>, wants_hessian: bool) -> Self {
        let columns = visit.u.len();
        Self {
            cost: Cost::at(&visit.u, true),
            proof: Proof::new(NonNegative::ZERO, columns, true),
            hessian: if wants_hessian { vec![0.0; columns * columns] } else { Vec::new() },
        }
    }

    /// Visits some rows. Rows of importance 0 do not count.
    pub fn add<L: Loss>(
        &mut self,
        loss: &L,
        visit: &Visit<'_>,
        rows: Rows<'_>,
    ) -> Result<(), PassError> {
        if rows.dimension() > visit.u.len() {
            return Err(PassError::UnknownColumn(rows.dimension() - 1));
        }
        let mut hessian = (!self.hessian.is_empty()).then(|| Hessian::new(visit.u.len()));
        for example in rows.iter().filter(|example| !example.importance.is_zero()) {
            let x = &example.features;
            let (p, size) =
                (careful_dot(&visit.u, x), x.iter().map(|(i, x)| (visit.u[i] * x).abs()));
            let at = self.cost.add_sized(loss, &example, p, size.sum());
            self.proof.add_sized(loss, &example, at.slope, visit.scales.norm_of(x));
            if let Some(hessian) = &mut hessian {
                hessian.add(Counted::new(*loss, &example).curvature(p), x);
            }
        }
        self.add_hessian(hessian);
        Ok(())
    }

    pub(crate) fn add_hessian(&mut self, hessian: Option<Hessian>) {
        let own = hessian.map(Hessian::into_entries).unwrap_or_default();
        self.hessian.iter_mut().zip(own).for_each(|(sum, entry)| *sum += entry);
    }

    /// Adds a pass at the same comparator over other rows.
    pub fn merge(&mut self, other: &Self) -> Result<(), PassError> {
        if !self.goes_with(other) {
            return Err(PassError::OtherColumns);
        }
        self.cost.merge(&other.cost);
        self.proof.merge(&other.proof);
        self.hessian.iter_mut().zip(&other.hessian).for_each(|(own, theirs)| *own += theirs);
        Ok(())
    }

    fn goes_with(&self, other: &Self) -> bool {
        self.hessian.len() == other.hessian.len()
            && self.cost.is_at(&other.cost)
            && self.proof.has_room_of(&other.proof)
    }

    /// The number of examples.
    pub fn examples(&self) -> u64 {
        self.cost.rounds()
    }

    /// The comparator loses at most this, rounding included.
    pub fn upper(&self) -> f64 {
        self.cost.upper(0.0)
    }

    /// No comparator of the ball loses less than this, rounding included.
    pub fn floor(&self, visit: &Visit<'_>) -> f64 {
        Self::mixed_floor(&[(1.0, self)], visit)
    }

    /// The lower bound that several passes over the same examples prove together. The shares are
    /// multiples of 2⁻³⁰ that add up to 1. Otherwise nothing is proved, and it is minus infinity.
    pub fn mixed_floor(passes: &[(f64, &Self)], visit: &Visit<'_>) -> f64 {
        let unit = 2.0_f64.powi(30);
        let is_share = |share: f64| (0.0..=1.0).contains(&share) && (share * unit).fract() == 0.0;
        let total: f64 = passes.iter().map(|(share, _)| share).sum();
        let are_of_the_same = passes.iter().all(|(share, pass)| {
            is_share(*share)
                && pass.examples() == passes[0].1.examples()
                && pass.proof.has_room_of(&passes[0].1.proof)
        });
        if total != 1.0 || !are_of_the_same {
            return f64::NEG_INFINITY;
        }
        let proofs: Vec<(f64, &Proof)> =
            passes.iter().map(|(share, pass)| (*share, &pass.proof)).collect();
        Proof::mixed_floor(&proofs, visit.scales, visit.outside)
    }

    /// The gradient S at the comparator, and the value of the minorant at 0. Neither has an
    /// allowance for rounding: they are for whoever chooses the next comparator.
    pub fn minorant(&self) -> (Vec<f64>, f64) {
        (self.proof.summed(), self.proof.offset())
    }

    /// The lower triangle of the second derivatives, row by row. It is empty if it was not wanted.
    pub fn hessian(&self) -> &[f64] {
        &self.hessian
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::InMemory;
    use crate::problem::{Options, Start};
    use crate::unit_free::solve_unit_free;
    use rueful_checks::Rng;
    use rueful_core::Batch;
    use rueful_core::loss::{Absolute, Logistic};

    fn rows(rng: &mut Rng, number: usize) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..number {
            let x = [1.0, rng.bell() as f32, 1e6 * rng.bell() as f32];
            let label = if f64::from(x[1]) + rng.bell() > 0.0 { 1.0 } else { -1.0 };
            batch.push(&[0, 1, 2], &x, label).unwrap();
        }
        batch
    }

    fn scales() -> Scales {
        Scales { columns: vec![1.0, 5.0, 5e6], label: 1.0 }
    }

    fn pass<L: Loss>(loss: &L, visit: &Visit<'_>, batches: &[Batch]) -> Pass {
        let mut whole = Pass::new(visit, true);
        for batch in batches {
            let mut part = Pass::new(visit, true);
            part.add(loss, visit, batch.rows()).unwrap();
            whole.merge(&part).unwrap();
        }
        whole
    }

    #[test]
    fn parts_are_the_whole_and_bracket_the_least_loss() {
        let (rng, scales) = (&mut Rng::new(3), scales());
        let batches = [rows(rng, 40), rows(rng, 1), Batch::default(), rows(rng, 25)];
        let mut joined = Batch::default();
        batches.iter().for_each(|batch| joined.append(batch.rows()));
        let whole = [joined];
        let radius = Positive::new(2.0).unwrap();
        let (mut data, options) = (InMemory { batches: &whole }, Options::default());
        let Ok(best) = solve_unit_free(
            Logistic {},
            radius,
            &scales,
            &mut data,
            Start::default(),
            &options,
            &mut crate::unwatched,
        );
        for _ in 0..30 {
            let u = vec![rng.bell(), 0.1 * rng.bell(), 1e-7 * rng.bell()];
            let visit = Visit::new(&scales, radius, u);
            let (parts, once) =
                (pass(&Logistic {}, &visit, &batches), pass(&Logistic {}, &visit, &whole));
            assert_eq!(parts.examples(), 66);
            assert!((parts.upper() - once.upper()).abs() < 1e-12 * once.upper());
            assert!((parts.floor(&visit) - once.floor(&visit)).abs() < 1e-9);
            assert!(parts.upper() >= best.lower && parts.floor(&visit) <= best.upper);
            assert!(
                parts
                    .hessian()
                    .iter()
                    .zip(once.hessian())
                    .all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs())
            );
        }
        // At the best comparator itself, the two bounds meet.
        let visit = Visit::new(&scales, radius, best.comparator.clone());
        let there = pass(&Logistic {}, &visit, &batches);
        assert!(there.upper() - there.floor(&visit) < 0.01 * there.upper());
    }

    #[test]
    fn mixtures_prove_what_no_single_pass_does() {
        // |u − 1| + |u + 1| over [−3, 3]: slopes at ±2 point out of the ball, their mixture is flat.
        let scales = Scales { columns: vec![1.0], label: 1.0 };
        let radius = Positive::new(3.0).unwrap();
        let mut batch = Batch::default();
        batch.push(&[0], &[1.0], 1.0).unwrap();
        batch.push(&[0], &[1.0], -1.0).unwrap();
        let batches = [batch];
        let at = |u: f64| {
            let visit = Visit::new(&scales, radius, vec![u]);
            (pass(&Absolute {}, &visit, &batches), visit)
        };
        let ((low, visit), (high, _)) = (at(-2.0), at(2.0));
        assert!(low.floor(&visit) < -5.9 && high.floor(&visit) < -5.9);
        let floor = |share: f64| Pass::mixed_floor(&[(share, &low), (1.0 - share, &high)], &visit);
        assert!((-1e-12..=0.0).contains(&floor(0.5)), "{}", floor(0.5));
        assert!(floor(0.25) < -2.9);
        // Shares that do not add up to 1 prove nothing, and neither do passes over other rows.
        let wrong = Pass::mixed_floor(&[(0.5, &low), (0.25, &high)], &visit);
        assert_eq!((wrong, floor(0.1)), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        let other = pass(&Absolute {}, &visit, &[]);
        let wrong = Pass::mixed_floor(&[(0.5, &low), (0.5, &other)], &visit);
        assert_eq!(wrong, f64::NEG_INFINITY);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let scales = scales();
        let visit = Visit::new(&scales, Positive::ONE, vec![1.0]);
        let mut far = Batch::default();
        far.push(&[3], &[1.0], 1.0).unwrap();
        let mut one = Pass::new(&visit, false);
        assert_eq!(one.add(&Logistic {}, &visit, far.rows()), Err(PassError::UnknownColumn(3)));
        assert_eq!(one.merge(&Pass::new(&visit, true)), Err(PassError::OtherColumns));
        let elsewhere = Visit::new(&scales, Positive::ONE, vec![0.5]);
        assert_eq!(one.merge(&Pass::new(&elsewhere, false)), Err(PassError::OtherColumns));
        assert!(Visit::new(&scales, Positive::ONE, vec![9.0]).comparator()[0] <= 1.0);
    }
}
