//! The best mistake bound of the Perceptron, over all comparators instead of one chosen beforehand.
//!
//! For every u the Perceptron makes at most H(u) + (‖u‖X)²/2 + ‖u‖X√(H(u) + (‖u‖X)²/4) mistakes,
//! with H the hinge loss of u and X = max ‖x_t‖. For a given norm r the best u is the one with the
//! least hinge loss in the ball of radius r. So only r is left to search for, from √T/X, where the
//! bound says nothing any more, downwards. A mistake is a mistake however much its example counts,
//! so H leaves importances aside.

use crate::passes::{AnyPasses, Failed, Passes, solve_over};
use crate::problem::{Options, Problem, Start};
use crate::rounding::{TINY, norm_above};
use crate::solve::solve;
use rueful_core::loss::Hinge;
use rueful_core::set::Ball;
use rueful_core::{NonNegative, Positive, Rows};

/// The number of halvings of the radius in the first look.
const OCTAVES: i32 = 12;

/// The number of times that the interval around the best radius is cut.
const CUTS: u32 = 10;

/// The least bound that was found, and the comparator that proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct BestMistakeBound {
    /// No Perceptron makes more mistakes than this on the data.
    pub bound: f64,
    /// The norm ‖u‖.
    pub norm: f64,
    /// The hinge loss H(u), rounded up.
    pub hinge: f64,
    /// The comparator u.
    pub comparator: Vec<f64>,
    /// The number of passes over the data that the search took.
    pub passes: u64,
}

/// H + (‖u‖X)²/2 + ‖u‖X√(H + (‖u‖X)²/4), rounded up.
///
/// ```
/// use rueful_hindsight::mistake_bound;
/// // A comparator that separates: (‖u‖X)².
/// assert!((4.0..4.0001).contains(&mistake_bound(0.0, 2.0, 1.0)));
/// // The zero comparator: every round may be a mistake.
/// assert!((10.0..10.0001).contains(&mistake_bound(10.0, 0.0, 1.0)));
/// ```
pub fn mistake_bound(hinge: f64, norm: f64, example_norm_max: f64) -> f64 {
    let ux = norm * example_norm_max;
    (hinge + ux * ux / 2.0 + ux * (hinge + ux * ux / 4.0).sqrt()) * (1.0 + 1e-12) + TINY
}

/// Looks for the comparator with the least mistake bound. `example_norm_max` is X, which must be at
/// least the largest ‖x_t‖ of the data. The options are those of each [`solve`] on the way.
pub fn best_mistake_bound<P: Passes + ?Sized>(
    data: &mut P,
    example_norm_max: f64,
    options: &Options,
) -> Result<BestMistakeBound, P::Error> {
    solve_over(data, |data| {
        let data = &mut Alike { data };
        let mut rounds = 0;
        data.pass(&mut |rows| rounds += rows.len() as u64)?;
        let nothing = BestMistakeBound {
            bound: rounds as f64,
            norm: 0.0,
            hinge: rounds as f64,
            comparator: Vec::new(),
            passes: 1,
        };
        let mut search = Search { data, example_norm_max, options, best: nothing };
        if rounds > 0 && example_norm_max > 0.0 {
            search.run((rounds as f64).sqrt() / example_norm_max)?;
        }
        Ok(search.best)
    })
}

/// The same data, with all examples counting alike.
struct Alike<'a> {
    data: &'a mut AnyPasses<'a>,
}

impl Passes for Alike<'_> {
    type Error = Failed;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Failed> {
        self.data.pass(&mut |rows| visit(rows.alike()))
    }

    fn held(&self) -> Option<Vec<Rows<'_>>> {
        Some(self.data.held()?.iter().map(Rows::alike).collect())
    }
}

/// A search over the logarithm of the radius.
struct Search<'a> {
    data: &'a mut Alike<'a>,
    example_norm_max: f64,
    options: &'a Options,
    best: BestMistakeBound,
}

impl Search<'_> {
    /// Goes down from the largest radius in octaves, and then cuts around the best by golden
    /// sections.
    fn run(&mut self, largest: f64) -> Result<(), Failed> {
        let mut lowest = (f64::INFINITY, 0);
        for octave in 0..=OCTAVES {
            let bound = self.at(largest * 2.0_f64.powi(-octave))?;
            if bound < lowest.0 {
                lowest = (bound, octave);
            }
        }
        let middle = -f64::from(lowest.1);
        self.golden(largest, middle - 1.0, middle + 1.0)
    }

    /// Cuts the interval [low, high] of log₂ of the radius over the largest again and again.
    fn golden(&mut self, largest: f64, mut low: f64, mut high: f64) -> Result<(), Failed> {
        let share = (5.0_f64.sqrt() - 1.0) / 2.0;
        let (mut left, mut right) = (high - share * (high - low), low + share * (high - low));
        let mut at_left = self.at(largest * left.exp2())?;
        let mut at_right = self.at(largest * right.exp2())?;
        for _ in 0..CUTS {
            if at_left <= at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - share * (high - low);
                at_left = self.at(largest * left.exp2())?;
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + share * (high - low);
                at_right = self.at(largest * right.exp2())?;
            }
        }
        Ok(())
    }

    /// The bound from the best comparator in the ball of this radius.
    fn at(&mut self, radius: f64) -> Result<f64, Failed> {
        let Ok(radius) = Positive::new(radius) else { return Ok(f64::INFINITY) };
        let comparators = Ball { radius }.into();
        let problem = Problem { loss: Hinge {}, sigma: NonNegative::ZERO, comparators };
        let solution =
            solve(&problem, self.data, Start::default(), self.options, &mut crate::unwatched)?;
        self.best.passes += solution.passes;
        let norm = norm_above(solution.comparator.iter().copied());
        let bound = mistake_bound(solution.upper, norm, self.example_norm_max);
        if bound < self.best.bound {
            let passes = self.best.passes;
            let (hinge, comparator) = (solution.upper, solution.comparator);
            self.best = BestMistakeBound { bound, norm, hinge, comparator, passes };
        }
        Ok(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exact;
    use rueful_checks::Rng;

    /// A comparator without hinge loss has the bound (‖u‖X)².
    #[test]
    fn mistake_bounds_are_never_too_small() {
        let rng = &mut Rng::new(3);
        let exact = |norm: f64, most: f64| {
            let ux = Exact::from(norm) * Exact::from(most);
            ux.clone() * ux
        };
        for _ in 0..300 {
            let (norm, most) = (1.0 + rng.unit(), 1.0 + rng.unit());
            let bound = mistake_bound(0.0, norm, most);
            assert!(exact(norm, most) <= Exact::from(bound), "{norm} {most} {bound}");
            assert!(bound < 1.000_001 * (norm * most).powi(2));
        }
        // The square underflows.
        assert!(exact(1e-100, 1e-100) <= Exact::from(mistake_bound(0.0, 1e-100, 1e-100)));
    }
}
