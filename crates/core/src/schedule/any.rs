//! Implements [`Schedule`] for [`AnySchedule`].

use super::{AnySchedule, Schedule, StepFacts, with_schedule};
use crate::number::NonNegative;

impl Schedule for AnySchedule {
    fn reference(&self) -> &'static str {
        with_schedule!(self, schedule => schedule.reference())
    }

    #[inline]
    fn inverse_step(&self, round: u64, gradients_sq: f64) -> f64 {
        with_schedule!(self, schedule => schedule.inverse_step(round, gradients_sq))
    }

    fn energy(&self, run: &StepFacts) -> f64 {
        with_schedule!(self, schedule => schedule.energy(run))
    }

    fn lagged_energy(&self, run: &StepFacts) -> f64 {
        with_schedule!(self, schedule => schedule.lagged_energy(run))
    }

    fn check(&self, sigma: NonNegative) -> Result<(), String> {
        with_schedule!(self, schedule => schedule.check(sigma))
    }

    fn steps(&self) -> String {
        with_schedule!(self, schedule => schedule.steps())
    }

    fn alphas(&self) -> String {
        with_schedule!(self, schedule => schedule.alphas())
    }
}
