//! Games against opponents that see the weights: the opponent forces the value of the game, and no
//! learner loses more than its theorem says.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, positive};
use rueful_checks::Rng;
use rueful_checks::adversary::{Adversary, Game, Orthogonal, Sign, play};
use rueful_checks::exact::{Double, norm_sq};
use rueful_core::learner::{
    FollowTheLeader, Learner, Minimax, Ogd, RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::Linear;
use rueful_core::schedule::{AdaGradNorm, Constant, Horizon, InverseSqrt, InverseTime};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Example, Ledger, Objective, Positive};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::num::NonZeroU64;

const ROUNDS: [u64; 3] = [100, 1000, 10_000];

fn horizon(rounds: u64) -> NonZeroU64 {
    NonZeroU64::new(rounds).unwrap()
}

fn gradient(example: &Example<'_>, dimension: usize) -> Vec<Double> {
    let mut g = vec![Double::ZERO; dimension];
    for (i, x) in example.features.iter() {
        g[i] = Double::product(example.label, x);
    }
    g
}

fn length_sq(g: &[Double]) -> Double {
    g.iter().fold(Double::ZERO, |sum, &g| sum + g * g)
}

/// Checks the contract of an opponent: ‖g_t‖ ≤ G with no tolerance, and not far below.
fn check_adversary(mut adversary: impl Adversary) {
    let rng = &mut Rng::new(1);
    let (d, g) = (adversary.dimension(), adversary.gradient_bound().get());
    for _ in 0..500 {
        let weights: Vec<f64> = rng.direction(d).iter().map(|w| w * rng.heavy()).collect();
        let spent = length_sq(&gradient(&adversary.next(&weights), d));
        assert!((spent - Double::product(g, g)).value() <= 0.0, "a gradient beyond G = {g}");
        assert!(spent.value() >= g * g * (1.0 - 1e-11), "a gradient below G = {g}");
    }
}

#[test]
fn gradients_keep_to_their_bound() {
    for g in [1e-6, 0.3, 1.0, 3.7, 1e6].map(positive) {
        for d in [1, 2, 3, 10] {
            check_adversary(Sign::new(d, g));
        }
        for d in [3, 4, 5, 11] {
            check_adversary(Orthogonal::new(d, g).unwrap());
        }
    }
}

#[test]
fn the_sign_adversary_is_exact_in_one_dimension() {
    let mut adversary = Sign::new(1, positive(0.3));
    for (w, slope) in [(0.0, 0.3), (-0.0, 0.3), (2.0, 0.3), (-1e-9, -0.3)] {
        let example = adversary.next(&[w]);
        let x = f64::from(example.features.values()[0]);
        assert_eq!(example.label * x, slope, "at {w}");
    }
}

#[test]
fn orthogonal_gradients_are_orthogonal() {
    let rng = &mut Rng::new(2);
    for d in [3, 4, 10] {
        let mut adversary = Orthogonal::new(d, positive(0.7)).unwrap();
        let mut sums = vec![0.0; d];
        for _ in 0..1000 {
            let parallel = rng.chance(0.5);
            let weights: Vec<f64> =
                sums.iter().map(|s| if parallel { -0.1 * s } else { rng.bell() }).collect();
            let g: Vec<f64> =
                gradient(&adversary.next(&weights), d).iter().map(|g| g.value()).collect();
            for v in [&weights, &sums] {
                let inner: f64 = g.iter().zip(v).map(|(g, v)| g * v).sum();
                assert!(inner.abs() <= 2e-7 * 0.7 * norm_sq(v).value().sqrt(), "{inner:e}");
            }
            sums.iter_mut().zip(&g).for_each(|(s, g)| *s += g);
        }
    }
}

/// The learners that are tuned for the game on a ball. The minimax strategy is the last.
fn tuned(ball: Ball, g: Positive, rounds: u64) -> Vec<(&'static str, Box<dyn Learner>)> {
    let (u, linear) = (ball.radius.get(), Objective::plain(Linear {}));
    let steep = InverseSqrt { eta: positive(SQRT_2 * u / g.get()) };
    let gentle = InverseSqrt { eta: positive(u * FRAC_1_SQRT_2 / g.get()) };
    vec![
        ("ogd", Box::new(Ogd::new(linear, steep, ball))),
        ("erm", Box::new(RegularizedErm::new(Linear {}, gentle, ball))),
        ("minimax", Box::new(Minimax::new(Linear {}, ball, g, horizon(rounds)))),
    ]
}

#[test]
fn the_value_of_the_game_is_exacted_and_hardly_more() {
    for (u, g) in [(1.0, 1.0), (5.0, 0.3), (1e-3, 1e3)] {
        let (set, g) = (Ball { radius: positive(u) }, positive(g));
        for (rounds, d) in ROUNDS.into_iter().flat_map(|t| [(t, 3), (t, 4), (t, 10)]) {
            for (name, mut learner) in tuned(set, g, rounds) {
                let mut adversary = Orthogonal::new(d, g).unwrap();
                let mut ledger = Ledger::new(Linear {}, set);
                let game = play(&mut *learner, &mut adversary, rounds, &mut ledger);
                let ratio = game.unwrap().ratio(&set);
                let most = if name == "minimax" { 1.001 } else { 8_f64.sqrt() };
                assert!((0.999..=most).contains(&ratio), "{name}, {rounds} rounds in {d}: {ratio}");
            }
        }
    }
}

/// Plays a game, and checks that the exact regret is below every rung.
fn check_game(name: &str, learner: &mut dyn Learner, set: &AnySet, d: usize, rounds: u64) -> Game {
    let mut ledger = Ledger::new(Linear {}, set.clone());
    let game = play(learner, &mut Sign::new(d, Positive::ONE), rounds, &mut ledger).unwrap();
    let regret = game.regret(set);
    let ladder = ledger.ladder(learner.promise(&set.clone().into(), ledger.coordinates()));
    assert!(regret <= ladder.certificate, "{name}: {regret} above {ladder:?}");
    for rung in [&ladder.data, &ladder.theorem] {
        let bound = rung.as_ref().unwrap_or_else(|why| panic!("{name} in dimension {d}: {why}"));
        assert!(regret <= bound.total, "{name} in dimension {d}: {regret} above {bound:?}");
    }
    game
}

#[test]
fn under_the_sign_adversary_nobody_exceeds_their_theorem() {
    let linear = Objective::plain(Linear {});
    let cube = AnySet::from(BoxSet::cube(positive(0.5)));
    for (rounds, d) in ROUNDS.into_iter().flat_map(|t| [(t, 1), (t, 2), (t, 5)]) {
        for set in [ball(1.0), ball(20.0), cube.clone(), WholeSpace {}.into()] {
            let bounded = set.reach(d.into()).is_finite();
            let against = if bounded { set.clone() } else { ball(1.0) };
            let check = |name: &str, mut learner: Box<dyn Learner>| {
                check_game(&format!("{name} on {set:?}"), &mut *learner, &against, d, rounds);
            };
            let reach = against.reach(d.into());
            let known = Horizon {
                radius: positive(reach),
                gradient_bound: Positive::ONE,
                rounds: horizon(rounds),
            };
            let eta = positive(0.3);
            let slower = InverseSqrt { eta: positive(reach) };
            let falling = InverseTime { sigma: positive(0.2) };
            check("ogd, horizon", Box::new(Ogd::new(linear, known, set.clone())));
            check("ogd, constant", Box::new(Ogd::new(linear, Constant { eta }, set.clone())));
            check("erm, horizon", Box::new(RegularizedErm::new(Linear {}, known, set.clone())));
            check("erm, 1/√t", Box::new(RegularizedErm::new(Linear {}, slower, set.clone())));
            check("erm, 1/t", Box::new(RegularizedErm::new(Linear {}, falling, set.clone())));
            if bounded {
                let own = AdaGradNorm { diameter: positive(set.diameter(d.into())) };
                check("ogd, 1/√t", Box::new(Ogd::new(linear, slower, set.clone())));
                check("ogd, 1/t", Box::new(Ogd::new(linear, falling, set.clone())));
                check("ogd, adagrad", Box::new(Ogd::new(linear, own, set.clone())));
                check("erm, adagrad", Box::new(RegularizedErm::new(Linear {}, own, set.clone())));
            }
        }
        let set = Ball { radius: positive(3.0) };
        for (name, mut learner) in tuned(set, Positive::ONE, rounds) {
            let game = check_game(name, &mut *learner, &set.into(), d, rounds);
            let most = if name == "minimax" { 1.0 + 1e-9 } else { 8_f64.sqrt() };
            assert!(game.ratio(&set) <= most, "{name}: {}", game.ratio(&set));
        }
    }
}

/// With (σ/2)‖w‖² in every loss the best comparator of all R^d is −S/(σT), so the regret is exact.
#[test]
fn strongly_convex_learning_keeps_to_its_logarithm_under_attack() {
    for (d, sigma) in [(1, 0.01), (1, 3.0), (2, 1.0), (5, 0.1)] {
        let mut learner = StronglyConvexOgd::new(Linear {}, positive(sigma));
        let everywhere = AnySet::from(WholeSpace {});
        let mut ledger = Ledger::regularized(Linear {}, positive(sigma).into(), everywhere.clone());
        let mut adversary = Sign::new(d, Positive::ONE);
        let game = play(&mut learner, &mut adversary, 2000, &mut ledger).unwrap();
        let gained = norm_sq(&game.slopes).value() / (2.0 * sigma * 2000.0);
        let ladder =
            ledger.ladder(learner.promise(&everywhere.clone().into(), ledger.coordinates()));
        assert!(game.loss + gained <= ladder.certificate);
        assert!(ladder.data.is_ok() && ladder.theorem.is_ok() && ladder.is_in_order());
    }
}

/// Follow the leader has no theorem, and loses in every round. Its certificate says so.
#[test]
fn the_leader_loses_everything_and_its_certificate_knows() {
    let set = BoxSet::interval(-1.0, 1.0).unwrap();
    let mut learner = FollowTheLeader::new(Linear {}, set.clone());
    let mut ledger = Ledger::new(Linear {}, set.clone());
    let game = play(&mut learner, &mut Sign::new(1, Positive::ONE), 1000, &mut ledger).unwrap();
    assert!(game.loss >= 499.0, "{}", game.loss);
    assert!(game.regret(&set) <= ledger.certificate(&set.into()));
}
