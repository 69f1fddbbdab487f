//! Ledgers of parts of a stream: merged they give the whole, and windows between marks certify
//! themselves.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, cases, positive, sided_box};
use proptest::prelude::*;
use rueful_checks::Rng;
use rueful_checks::exact::{Enclosed, comparator_losses, suffered_losses};
use rueful_checks::reference::best_in_hindsight;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{Learner, Ogd, Perceptron};
use rueful_core::ledger::Minorant;
use rueful_core::loss::{Hinge, Logistic};
use rueful_core::schedule::{AdaGradNorm, InverseSqrt};
use rueful_core::set::{AnySet, Ball, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Ledger, LedgerError, NonNegative, Objective, Round};

const DIMENSION: usize = 6;
const ROUNDS: usize = 150;

fn kinds() -> impl Strategy<Value = StreamKind> {
    prop::sample::select(StreamKind::ALL.to_vec())
}

fn stream(kind: StreamKind, seed: u64) -> Batch {
    kind.batch(&Recipe { targets: Targets::Signs, rounds: ROUNDS, dimension: DIMENSION, seed })
}

/// The rounds of regularised OGD with the logistic loss.
fn play(batch: &Batch, sigma: NonNegative) -> Vec<Round> {
    let steps = AdaGradNorm { diameter: positive(4.0) };
    let set = Ball { radius: positive(2.0) };
    let mut rounds = Vec::new();
    let objective = Objective { loss: Logistic {}, sigma };
    Ogd::new(objective, steps, set).learn_batch(batch, &mut rounds);
    rounds
}

fn ledger(sigma: NonNegative) -> Ledger {
    Ledger::regularized(ball(2.0), sigma)
}

/// Deals the rounds to `count` ledgers at random.
fn deal(
    batch: &Batch,
    rounds: &[Round],
    start: &Ledger,
    count: usize,
    rng: &mut Rng,
) -> Vec<Ledger> {
    let mut parts = vec![start.clone(); count];
    for (example, round) in batch.iter().zip(rounds) {
        parts[rng.below(count)].record(&example, round).unwrap();
    }
    parts
}

/// Puts the parts together in random order.
fn gather(mut parts: Vec<Ledger>, rng: &mut Rng) -> Ledger {
    let mut whole = parts.swap_remove(rng.below(parts.len()));
    while !parts.is_empty() {
        whole.merge(&parts.swap_remove(rng.below(parts.len()))).unwrap();
    }
    whole
}

fn sets() -> Vec<AnySet> {
    vec![ball(2.0), ball(1e-3), ball(50.0), sided_box().into(), WholeSpace {}.into()]
}

/// The two differ by no more than both allow for.
fn assert_same(one: &Ledger, other: &Ledger) {
    assert_eq!((one.rounds(), one.mistakes()), (other.rounds(), other.mistakes()));
    assert_eq!(one.gradient_norm_max(), other.gradient_norm_max());
    assert_eq!(one.example_norm_max(), other.example_norm_max());
    let grain = 4.0 * f64::EPSILON * one.loss().abs();
    assert!((one.loss() - other.loss()).abs() <= grain);
    assert!((one.sequential_risk() - other.sequential_risk()).abs() <= grain);
    assert!((one.penalty() - other.penalty()).abs() <= grain);
    for set in sets() {
        let (a, b) = (one.certificate(&set), other.certificate(&set));
        let slack = one.slack(&set) + other.slack(&set);
        assert!((a - b).abs() <= slack || a == b, "{set:?}: {a:e} and {b:e}, slack {slack:e}");
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn merged_parts_are_the_whole(
        kind in kinds(),
        seed in any::<u64>(),
        count in 1..6_usize,
        curved: bool,
    ) {
        let sigma = NonNegative::new(if curved { 0.1 } else { 0.0 }).unwrap();
        let rng = &mut Rng::new(seed);
        let batch = stream(kind, seed);
        let rounds = play(&batch, sigma);
        let mut whole = ledger(sigma);
        whole.record_batch(&batch, &rounds).unwrap();
        let merged = gather(deal(&batch, &rounds, &ledger(sigma), count, rng), rng);
        assert_same(&whole, &merged);
        // What is known of rounding must not get lost on the way.
        for set in sets() {
            let (allowed, kept) = (whole.slack(&set), merged.slack(&set));
            assert!(kept >= allowed * (1.0 - 1e-12), "{set:?}: {kept:e} of {allowed:e}");
        }
    }

    #[test]
    fn windows_certify_themselves(kind in kinds(), seed in any::<u64>(), curved: bool) {
        let sigma = NonNegative::new(if curved { 0.1 } else { 0.0 }).unwrap();
        let batch = stream(kind, seed);
        let rounds = play(&batch, sigma);
        check_windows(&batch, &rounds, sigma, &mut Rng::new(seed));
    }
}

/// Marks at random rounds, the first and the last among them.
fn marks(rng: &mut Rng) -> Vec<usize> {
    let mut marks: Vec<usize> = (0..4).map(|_| rng.below(ROUNDS)).chain([0, ROUNDS]).collect();
    marks.sort_unstable();
    marks
}

/// A point of a set, as far out as it goes.
fn rival(set: &AnySet, rng: &mut Rng) -> Vec<f64> {
    let reach = set.reach(DIMENSION);
    let size = if reach.is_finite() { 10.0 * reach } else { 1.0 };
    let mut u: Vec<f64> = rng.direction(DIMENSION).iter().map(|u| size * u).collect();
    set.project_dense(&mut u);
    u.iter().map(|u| u * (1.0 - 4.0 * f64::EPSILON)).collect()
}

fn check_windows(batch: &Batch, rounds: &[Round], sigma: NonNegative, rng: &mut Rng) {
    let stops = marks(rng);
    let mut ledger = ledger(sigma);
    let mut loss = 0.0;
    let mut slopes = [0.0; DIMENSION];
    let suffered = suffered_losses(&Logistic {}, batch, rounds);
    for window in stops.windows(2) {
        let mark = ledger.mark();
        (window[0]..window[1])
            .for_each(|row| ledger.record(&batch.get(row), &rounds[row]).unwrap());
        let part = ledger.since(&mark).unwrap();
        assert_eq!(part.rounds(), (window[1] - window[0]) as u64);
        loss += part.loss();
        slopes.iter_mut().zip(part.minorant().slopes()).for_each(|(total, s)| *total += s);

        for set in sets() {
            let u = rival(&set, rng);
            let theirs = comparator_losses(&Logistic {}, sigma.get(), batch, &u);
            let regret = between(&suffered, window) - between(&theirs, window);
            let certificate = part.certificate(&set);
            // Reported penalties are known to a relative 1e-9, which the certificate includes.
            assert!(regret.lower() <= certificate, "{set:?}: {regret:?} above {certificate:e}");
        }
    }
    assert!((loss - ledger.loss()).abs() <= 1e-14 * ledger.loss().abs());
    let size: f64 = slopes.iter().map(|s| s.abs()).sum();
    for (total, s) in slopes.iter().zip(ledger.minorant().slopes()) {
        assert!((total - s).abs() <= 1e-12 * size);
    }
    let whole = ledger.since(&self::ledger(sigma).mark()).unwrap();
    assert_eq!(whole.loss(), ledger.loss());
}

/// Of running sums, the part that belongs to a window of rounds.
fn between(sums: &[Enclosed], window: &[usize]) -> Enclosed {
    let at = |t: usize| if t == 0 { Enclosed::default() } else { sums[t - 1] };
    at(window[1]) - at(window[0])
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let batch = stream(StreamKind::Noisy, 1);
    let (plain, curved) = (NonNegative::ZERO, NonNegative::new(0.5).unwrap());
    let mut one = ledger(plain);
    let mut other = ledger(curved);
    one.record_batch(&batch, &play(&batch, plain)).unwrap();
    other.record_batch(&batch, &play(&batch, curved)).unwrap();
    let before = one.clone();
    assert_eq!(one.merge(&other), Err(LedgerError::DifferentSigma { own: plain, other: curved }));
    assert_eq!(one, before, "a refused merge changes nothing");

    let ahead = one.mark();
    let rounds = one.rounds();
    assert_eq!(
        ledger(plain).since(&ahead).unwrap_err(),
        LedgerError::MarkAhead { mark: rounds, rounds: 0 }
    );
}

/// A mark of another ledger cannot always be told apart, but whatever does not add up is an error.
#[test]
fn a_mark_of_another_ledger_is_refused_where_it_shows() {
    let batch = stream(StreamKind::Noisy, 1);
    let mut wrong = ledger(NonNegative::ZERO);
    let mut right = ledger(NonNegative::ZERO);
    for example in batch.iter().take(3) {
        wrong.record(&example, &Round::of(&Hinge {}, -example.label, example.label)).unwrap();
    }
    for example in batch.iter().take(5) {
        right.record(&example, &Round::of(&Hinge {}, example.label, example.label)).unwrap();
    }
    assert_eq!((wrong.mistakes(), right.mistakes()), (3, 0));
    assert!(right.since(&wrong.mark()).is_err(), "3 of 5 mistakes before, 0 of 5 after");
}

/// The same for a mark with another σ.
#[test]
fn a_mark_with_another_sigma_is_refused() {
    let batch = stream(StreamKind::Noisy, 1);
    let curved = NonNegative::new(0.5).unwrap();
    let mut plain = ledger(NonNegative::ZERO);
    plain.record_batch(&batch, &play(&batch, NonNegative::ZERO)).unwrap();
    assert!(plain.since(&ledger(curved).mark()).is_err());
}

/// A window of a merged ledger: marks and merging together.
#[test]
fn a_window_can_span_a_merge() {
    let batch = stream(StreamKind::Drifting, 3);
    let rounds = play(&batch, NonNegative::ZERO);
    let (front, back) = (0..70, 70..ROUNDS);
    let ledger_of = |rows: std::ops::Range<usize>| {
        let mut part = ledger(NonNegative::ZERO);
        rows.for_each(|row| part.record(&batch.get(row), &rounds[row]).unwrap());
        part
    };
    let mut whole = ledger_of(front);
    let mark = whole.mark();
    let other = ledger_of(back);
    whole.merge(&other).unwrap();
    let window = whole.since(&mark).unwrap();
    assert_eq!(window.rounds(), other.rounds());
    assert_eq!(window.mistakes(), other.mistakes());
    for set in sets() {
        let (a, b) = (window.certificate(&set), other.certificate(&set));
        let slack = window.slack(&set) + other.slack(&set);
        assert!((a - b).abs() <= slack || a == b, "{a:e} and {b:e}");
    }
}

/// Predictions of several learners of one stream, each measured with the others as witnesses.
#[test]
fn witnesses_only_help() {
    for (kind, seed) in StreamKind::ALL.into_iter().flat_map(|k| (0..4).map(move |s| (k, s))) {
        let batch = stream(kind, seed);
        let runs = [play_hinge(&batch, 1.0), play_hinge(&batch, 0.05), play_perceptron(&batch)];
        let ledgers: Vec<Ledger> = runs
            .iter()
            .map(|rounds| {
                let mut ledger = ledger(NonNegative::ZERO);
                ledger.record_batch(&batch, rounds).unwrap();
                ledger
            })
            .collect();
        for (ledger, rounds) in ledgers.iter().zip(&runs) {
            let suffered = suffered_losses(&Hinge {}, &batch, rounds);
            for set in sets().into_iter().filter(|set| set.reach(DIMENSION).is_finite()) {
                let witnesses = ledgers.iter().map(|ledger| ledger.minorant());
                let sharper = ledger.certificate_with(&set, witnesses).unwrap();
                assert!(sharper <= ledger.certificate(&set), "{kind}");
                let rng = &mut Rng::new(seed);
                for u in [vec![0.0; DIMENSION], rival(&set, rng), rival(&set, rng)] {
                    let theirs = comparator_losses(&Hinge {}, 0.0, &batch, &u);
                    let regret = suffered[ROUNDS - 1] - theirs[ROUNDS - 1];
                    assert!(regret.lower() <= sharper, "{kind}: {regret:?} above {sharper:e}");
                }
            }
        }
    }
}

/// The tangents at the best predictor in hindsight are the best witness: with them the certificate
/// of a smooth loss is the regret itself.
#[test]
fn the_best_in_hindsight_is_the_best_witness() {
    let batch = stream(StreamKind::Noisy, 5);
    let plain = NonNegative::ZERO;
    let rounds = play(&batch, plain);
    let mut own = ledger(plain);
    own.record_batch(&batch, &rounds).unwrap();
    let set = ball(2.0);
    let best = best_in_hindsight(&Objective::plain(Logistic {}), &set, &batch, DIMENSION);
    let mut witness = Minorant::new(plain);
    witness.grow(DIMENSION);
    for example in batch.iter() {
        let prediction = example.features.iter().map(|(i, x)| best[i] * x).sum();
        witness.record(&example.features, &Round::of(&Logistic {}, prediction, example.label));
    }
    let theirs = comparator_losses(&Logistic {}, 0.0, &batch, &best);
    let regret = suffered_losses(&Logistic {}, &batch, &rounds)[ROUNDS - 1] - theirs[ROUNDS - 1];
    let sharper = own.certificate_with(&set, [&witness]).unwrap();
    assert!(regret.lower() <= sharper);
    assert!(sharper <= regret.upper() * (1.0 + 1e-3), "{sharper} above {regret:?}");
    assert!(sharper < 0.8 * own.certificate(&set), "{sharper} {}", own.certificate(&set));
}

fn play_hinge(batch: &Batch, eta: f64) -> Vec<Round> {
    let steps = InverseSqrt { eta: positive(eta) };
    let set = Ball { radius: positive(2.0) };
    let mut rounds = Vec::new();
    Ogd::new(Objective::plain(Hinge {}), steps, set).learn_batch(batch, &mut rounds);
    rounds
}

fn play_perceptron(batch: &Batch) -> Vec<Round> {
    let mut rounds = Vec::new();
    Perceptron::new(Hinge {}, positive(0.1)).learn_batch(batch, &mut rounds);
    rounds
}
