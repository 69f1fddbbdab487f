//! Bounds, and the ladder that they form: certificate ≤ data-dependent bound ≤ theorem.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An upper bound on the total regret R_T, with a reference to its proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The bound on R_T. Divide by T for the regret per round.
    pub total: f64,
    /// A reference to the proof.
    pub reference: String,
}

/// The reason why a bound does not apply to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[error("{why}")]
pub struct NoBound {
    /// The assumption that is not met, in words.
    pub why: String,
}

/// The bounds that a learner promises for its own regret, in exact arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// The bound from the run's own step sizes and gradients.
    pub data: Result<Bound, NoBound>,
    /// The bound from the parameters, T and a bound on the gradients.
    pub theorem: Result<Bound, NoBound>,
}

impl Bound {
    /// A bound with its reference.
    pub fn new(total: f64, reference: impl Into<String>) -> Self {
        Self { total, reference: reference.into() }
    }
}

impl NoBound {
    /// The reason as an error.
    pub fn because<T>(why: impl Into<String>) -> Result<T, Self> {
        Err(Self { why: why.into() })
    }
}

impl Promise {
    /// No bound at all, for one reason.
    pub fn none(why: impl Into<String>) -> Self {
        let missing: Result<Bound, _> = NoBound::because(why);
        Self { data: missing.clone(), theorem: missing }
    }
}

/// The bounds above the exact regret, with rounding included. Each is an upper bound on the regret
/// of this very run, and each is at most the next. They are totals; divide by the rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// The ledger's certificate. It is infinite if the comparators are unbounded.
    pub certificate: f64,
    /// The learner's data-dependent bound.
    pub data: Result<Bound, NoBound>,
    /// The learner's theorem.
    pub theorem: Result<Bound, NoBound>,
    /// Pairs of bounds that came out in the wrong order.
    pub disorder: Vec<Disorder>,
}

/// A bound that lies below one that it was proved to be above. One of the two proofs is false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disorder {
    /// The bound that should be the smaller one, and its total.
    pub lower: (&'static str, f64),
    /// The bound that should be the larger one, and its total.
    pub upper: (&'static str, f64),
}

const CERTIFICATE: &str = "the certificate";
const DATA: &str = "the data-dependent bound";
const THEOREM: &str = "the theorem";

impl Ladder {
    /// Puts a promise above a certificate.
    ///
    /// The promise is proved in exact arithmetic, but the run was made in doubles. Each of T rounds
    /// adds a relative rounding error. The certificate's own arithmetic may have moved it by
    /// `slack`, before `slack` was added for safety. Both allowances are added to the bounds of the
    /// promise. If a bound still comes out below another one that it was proved to be above, both
    /// are withheld, and the disorder is recorded: two proofs that contradict each other are never
    /// reconciled in silence.
    pub fn new(rounds: u64, certificate: f64, slack: f64, promise: Promise) -> Self {
        let grain = 16.0 * f64::EPSILON * (rounds as f64 + 16.0);
        let allow = |bound: Bound| Bound {
            total: bound.total + grain * bound.total.abs() + 2.0 * slack,
            ..bound
        };
        let mut ladder = Self {
            certificate,
            data: promise.data.map(allow),
            theorem: promise.theorem.map(allow),
            disorder: Vec::new(),
        };
        // If the two are equal, the roundings of their formulas must not make a difference.
        if let (Ok(data), Ok(theorem)) = (&ladder.data, &mut ladder.theorem)
            && theorem.total < data.total
            && data.total <= theorem.total + grain * theorem.total.abs()
        {
            theorem.total = data.total;
        }
        ladder.check();
        ladder
    }

    fn check(&mut self) {
        let rungs = [
            (CERTIFICATE, Some(self.certificate)),
            (DATA, total(&self.data)),
            (THEOREM, total(&self.theorem)),
        ];
        for (place, &(name, rung)) in rungs.iter().enumerate() {
            for &(lower_name, lower) in &rungs[..place] {
                if let (Some(lower), Some(upper)) = (lower, rung)
                    && upper < lower
                {
                    let (lower, upper) = ((lower_name, lower), (name, upper));
                    self.disorder.push(Disorder { lower, upper });
                }
            }
        }
        self.withhold();
    }

    /// Withholds both bounds of every pair in disorder: it is not known which of the two proofs is
    /// false.
    fn withhold(&mut self) {
        for Disorder { lower: (lower, _), upper: (upper, _) } in self.disorder.clone() {
            for (name, other) in [(lower, upper), (upper, lower)] {
                let why = format!("withheld: it and {other} contradict each other");
                match name {
                    DATA => self.data = NoBound::because(why),
                    THEOREM => self.theorem = NoBound::because(why),
                    _ => self.certificate = f64::INFINITY,
                }
            }
        }
    }

    /// Whether all existing bounds are in order.
    pub fn is_in_order(&self) -> bool {
        let rungs = [Some(self.certificate), total(&self.data), total(&self.theorem)];
        self.disorder.is_empty() && rungs.iter().flatten().is_sorted()
    }
}

fn total(bound: &Result<Bound, NoBound>) -> Option<f64> {
    bound.as_ref().ok().map(|bound| bound.total)
}

/// UG√(8T), (9): projected OGD with η = √2·U/G.
pub fn projected_ogd(radius: f64, gradient_bound: f64, rounds: f64) -> f64 {
    radius * gradient_bound * (8.0 * rounds).sqrt()
}

/// 2U²√T/η + G²η√T: projected OGD with any η.
pub fn projected_ogd_with_step(radius: f64, gradient_bound: f64, rounds: f64, eta: f64) -> f64 {
    (2.0 * radius * radius / eta + gradient_bound * gradient_bound * eta) * rounds.sqrt()
}

/// 8(UX)²√(2T): projected OGD on the square loss, where G = 4UX².
pub fn square_loss(radius: f64, example_norm: f64, rounds: f64) -> f64 {
    8.0 * (radius * example_norm).powi(2) * (2.0 * rounds).sqrt()
}

/// (G²/2σ)(1 + ln T): OGD for σ-strongly convex losses.
pub fn strongly_convex(gradient_bound: f64, sigma: f64, rounds: f64) -> f64 {
    gradient_bound * gradient_bound / (2.0 * sigma) * (1.0 + rounds.ln())
}

/// UG√T: the value of the linear game on a ball, attained by the minimax strategy.
pub fn game_value(radius: f64, gradient_bound: f64, rounds: f64) -> f64 {
    radius * gradient_bound * rounds.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_forms_agree_where_they_meet() {
        let (u, g, t) = (3.0, 0.7, 12_345.0);
        let tuned = projected_ogd_with_step(u, g, t, 2_f64.sqrt() * u / g);
        assert!((tuned / projected_ogd(u, g, t) - 1.0).abs() < 1e-14);
        let x = 1.3;
        let square = projected_ogd(u, 4.0 * u * x * x, t);
        assert!((square / square_loss(u, x, t) - 1.0).abs() < 1e-14);
        assert!((projected_ogd(u, g, t) / game_value(u, g, t) - 8_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn a_rung_below_the_certificate_is_withheld_and_so_is_the_certificate() {
        let promise =
            Promise { data: Ok(Bound::new(1.0, "low")), theorem: Ok(Bound::new(3.0, "high")) };
        let ladder = Ladder::new(10, 2.0, 0.0, promise);
        assert!(ladder.data.is_err() && ladder.certificate == f64::INFINITY);
        assert!(ladder.theorem.is_ok() && !ladder.is_in_order());
        let [disorder] = ladder.disorder[..] else { panic!("{ladder:?}") };
        assert_eq!(disorder.lower, ("the certificate", 2.0));
        assert_eq!(disorder.upper.0, "the data-dependent bound");
    }

    #[test]
    fn a_theorem_below_the_data_dependent_bound_is_withheld_with_it() {
        let promise =
            Promise { data: Ok(Bound::new(3.0, "high")), theorem: Ok(Bound::new(2.5, "low")) };
        let ladder = Ladder::new(10, 2.0, 0.0, promise);
        assert!(ladder.data.is_err() && ladder.theorem.is_err() && ladder.certificate == 2.0);
        assert_eq!(ladder.disorder.len(), 1);
    }

    fn both(data: f64, theorem: f64) -> Promise {
        let [data, theorem] = [data, theorem].map(|total| Ok(Bound::new(total, "here")));
        Promise { data, theorem }
    }

    /// A run in doubles is off by some roundings per round, and the certificate by its own slack,
    /// before the slack is added. For either reason a certificate may be above a bound that it
    /// attains.
    #[test]
    fn rungs_are_lifted_by_what_rounding_can_do_and_no_more() {
        let rounding = 1000.0 * f64::EPSILON;
        let slack = 1e-6;
        for (certificate, slack, holds) in [
            (3.0 + 3.0 * rounding, 0.0, true),
            (3.0 + 100.0 * rounding, 0.0, false),
            (3.0 + 2.0 * slack, slack, true),
            (3.0 + 2.1 * slack, slack, false),
            (-3.0 + 3.0 * rounding, 0.0, true),
        ] {
            let total = certificate.round();
            let ladder = Ladder::new(1000, certificate, slack, both(total, total));
            assert_eq!(ladder.disorder.is_empty(), holds, "{ladder:?}");
            assert_eq!((ladder.data.is_ok(), ladder.theorem.is_ok()), (holds, holds));
        }
    }

    /// Two bounds that are equal but come from different formulas.
    #[test]
    fn a_rounding_between_data_and_theorem_is_no_disorder() {
        let data = 3.0 + 1000.0 * f64::EPSILON;
        let ladder = Ladder::new(1000, 1.0, 0.0, both(data, 3.0));
        assert!(ladder.disorder.is_empty() && ladder.is_in_order());
        assert_eq!(ladder.theorem.unwrap().total, ladder.data.unwrap().total);
        assert!(!Ladder::new(1000, 1.0, 0.0, both(3.1, 3.0)).disorder.is_empty());
    }
}
