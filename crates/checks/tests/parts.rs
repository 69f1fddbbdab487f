//! Ledgers of parts of a stream: merged they give the whole. Windows have tallies of their own,
//! which have certificates.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, cases, positive, sided_box};
use proptest::prelude::*;
use rueful_checks::Rng;
use rueful_checks::exact::{Enclosed, comparator_losses, suffered_losses};
use rueful_checks::reference::best_in_hindsight;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{Learner, Ogd, Perceptron};
use rueful_core::ledger::{Minorant, Tally};
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
    Ogd::new(objective, steps, set).learn_rows(batch.rows(), &mut rounds);
    rounds
}

fn ledger(sigma: NonNegative) -> Ledger {
    Ledger::regularized(Logistic {}, sigma, ball(2.0))
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

/// Merges the parts in random order.
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

/// The part of the certificate that allows for rounding.
fn slack(ledger: &Ledger, set: &AnySet) -> f64 {
    ledger.slack(&set.clone().into(), ledger.coordinates())
}

/// Asserts that the two differ by no more than both allow for.
fn assert_same(one: &Ledger, other: &Ledger) {
    assert_eq!((one.rounds(), one.mistakes()), (other.rounds(), other.mistakes()));
    assert_eq!(one.gradient_norm_max(), other.gradient_norm_max());
    assert_eq!(one.example_norm_max(), other.example_norm_max());
    let grain = 4.0 * f64::EPSILON * one.loss().abs();
    assert!((one.loss() - other.loss()).abs() <= grain);
    assert!((one.sequential_risk() - other.sequential_risk()).abs() <= grain);
    assert!((one.penalty() - other.penalty()).abs() <= grain);
    for set in sets() {
        let (a, b) = (one.certificate(&set.clone().into()), other.certificate(&set.clone().into()));
        let slack = slack(one, &set) + slack(other, &set);
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
        whole.record_rows(batch.rows(), &rounds).unwrap();
        let merged = gather(deal(&batch, &rounds, &ledger(sigma), count, rng), rng);
        assert_same(&whole, &merged);
        // The allowances for rounding must not get lost on the way.
        for set in sets() {
            let (allowed, kept) = (slack(&whole, &set), slack(&merged, &set));
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

/// Ends of windows at random rounds, the first and the last among them.
fn marks(rng: &mut Rng) -> Vec<usize> {
    let mut marks: Vec<usize> = (0..4).map(|_| rng.below(ROUNDS)).chain([0, ROUNDS]).collect();
    marks.sort_unstable();
    marks
}

/// A point of a set, as far out as it goes.
fn rival(set: &AnySet, rng: &mut Rng) -> Vec<f64> {
    let reach = set.reach(DIMENSION.into());
    let size = if reach.is_finite() { 10.0 * reach } else { 1.0 };
    let mut u: Vec<f64> = rng.direction(DIMENSION).iter().map(|u| size * u).collect();
    set.project_dense(&mut u);
    u.iter().map(|u| u * (1.0 - 4.0 * f64::EPSILON)).collect()
}

/// Plays the stream window by window. Each is entered in the ledger and in a tally of its own.
fn tallies(batch: &Batch, rounds: &[Round], stops: &[usize], ledger: &mut Ledger) -> Vec<Tally> {
    let mut buffer = Vec::new();
    let sigma = ledger.minorant().sigma();
    let tally = |window: &[usize]| {
        let range = window[0]..window[1];
        let rows = ledger.enter(batch.rows().slice(range.clone()), &mut buffer);
        ledger.record_entered(rows, &rounds[range.clone()]).unwrap();
        let mut tally = Tally::new(sigma);
        tally.record_rows(rows, &rounds[range]);
        tally
    };
    stops.windows(2).map(tally).collect()
}

fn check_windows(batch: &Batch, rounds: &[Round], sigma: NonNegative, rng: &mut Rng) {
    let stops = marks(rng);
    let mut ledger = ledger(sigma);
    let tallies = tallies(batch, rounds, &stops, &mut ledger);
    let suffered = suffered_losses(&Logistic {}, batch, rounds);
    for (window, part) in stops.windows(2).zip(&tallies) {
        assert_eq!(part.rounds(), (window[1] - window[0]) as u64);
        for set in sets() {
            let u = rival(&set, rng);
            let theirs = comparator_losses(&Logistic {}, sigma.get(), batch, &u);
            let regret = between(&suffered, window) - between(&theirs, window);
            let certificate = part.certificate(&set.clone().into(), ledger.coordinates());
            // Reported penalties are known to a relative 1e-9, which the certificate includes.
            assert!(regret.lower() <= certificate, "{set:?}: {regret:?} above {certificate:e}");
        }
    }
    check_sum(&tallies, &ledger);
}

/// Checks that the tallies of disjoint windows add up to that of the whole.
fn check_sum(tallies: &[Tally], whole: &Ledger) {
    let mut sum = Tally::new(whole.minorant().sigma());
    tallies.iter().for_each(|tally| sum.merge(tally));
    assert_eq!((sum.rounds(), sum.mistakes()), (whole.rounds(), whole.mistakes()));
    assert!((sum.loss() - whole.loss()).abs() <= 1e-14 * whole.loss().abs());
    assert!((sum.penalty() - whole.penalty()).abs() <= 1e-14 * whole.penalty());
    let size: f64 = sum.minorant().slopes().iter().map(|s| s.abs()).sum();
    for (total, s) in sum.minorant().slopes().iter().zip(whole.minorant().slopes()) {
        assert!((total - s).abs() <= 1e-12 * size);
    }
    for set in sets() {
        let (a, b) = (
            sum.certificate(&set.clone().into(), whole.coordinates()),
            whole.certificate(&set.clone().into()),
        );
        let slack = sum.slack(&set.clone().into(), whole.coordinates()) + slack(whole, &set);
        assert!((a - b).abs() <= slack || a == b, "{set:?}: {a:e} and {b:e}, slack {slack:e}");
    }
}

/// The part of running sums that belongs to a window of rounds.
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
    one.record_rows(batch.rows(), &play(&batch, plain)).unwrap();
    other.record_rows(batch.rows(), &play(&batch, curved)).unwrap();
    let before = one.clone();
    assert_eq!(one.merge(&other), Err(LedgerError::DifferentSigma { own: plain, other: curved }));
    assert_eq!(one, before, "a refused merge changes nothing");

    let refused =
        one.certificate_with(&ball(1.0).clone().into(), one.coordinates(), [other.minorant()]);
    assert_eq!(refused, Err(LedgerError::DifferentSigma { own: plain, other: curved }));
    let early = Minorant::new(plain);
    let refused = one.certificate_with(&ball(1.0).clone().into(), one.coordinates(), [&early]);
    let own = one.rounds();
    assert_eq!(refused, Err(LedgerError::DifferentRounds { own, other: 0 }));
}

/// A window of a merged ledger is the sum of windows of its parts, wherever they were entered.
#[test]
fn a_window_can_span_a_merge() {
    let batch = stream(StreamKind::Drifting, 3);
    let rounds = play(&batch, NonNegative::ZERO);
    let (mut front, mut back) = (ledger(NonNegative::ZERO), ledger(NonNegative::ZERO));
    let early = tallies(&batch, &rounds, &[0, 30, 70], &mut front);
    let late = tallies(&batch, &rounds, &[70, 110, ROUNDS], &mut back);
    front.merge(&back).unwrap();
    let mut across = early[1].clone();
    across.merge(&late[0]);
    let mut direct = ledger(NonNegative::ZERO);
    (30..110).for_each(|row| direct.record(&batch.get(row), &rounds[row]).unwrap());
    check_sum(&[across], &direct);
    check_sum(&[early, late].concat(), &front);
}

/// Several learners predict one stream, and each is measured with the others as witnesses.
#[test]
fn witnesses_only_help() {
    for (kind, seed) in StreamKind::ALL.into_iter().flat_map(|k| (0..4).map(move |s| (k, s))) {
        let batch = stream(kind, seed);
        let runs = [play_hinge(&batch, 1.0), play_hinge(&batch, 0.05), play_perceptron(&batch)];
        let ledgers: Vec<Ledger> = runs
            .iter()
            .map(|rounds| {
                let mut ledger = Ledger::new(Hinge {}, ball(2.0));
                ledger.record_rows(batch.rows(), rounds).unwrap();
                ledger
            })
            .collect();
        for (ledger, rounds) in ledgers.iter().zip(&runs) {
            let suffered = suffered_losses(&Hinge {}, &batch, rounds);
            for set in sets().into_iter().filter(|set| set.reach(DIMENSION.into()).is_finite()) {
                let witnesses = ledgers.iter().map(|ledger| ledger.minorant());
                let sharper = ledger
                    .certificate_with(&set.clone().into(), ledger.coordinates(), witnesses)
                    .unwrap();
                assert!(sharper <= ledger.certificate(&set.clone().into()), "{kind}");
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
    own.record_rows(batch.rows(), &rounds).unwrap();
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
    let sharper = own.certificate_with(&set.clone().into(), own.coordinates(), [&witness]).unwrap();
    assert!(regret.lower() <= sharper);
    assert!(sharper <= regret.upper() * (1.0 + 1e-3), "{sharper} above {regret:?}");
    assert!(
        sharper < 0.8 * own.certificate(&set.clone().into()),
        "{sharper} {}",
        own.certificate(&set.clone().into())
    );
}

fn play_hinge(batch: &Batch, eta: f64) -> Vec<Round> {
    let steps = InverseSqrt { eta: positive(eta) };
    let set = Ball { radius: positive(2.0) };
    let mut rounds = Vec::new();
    Ogd::new(Objective::plain(Hinge {}), steps, set).learn_rows(batch.rows(), &mut rounds);
    rounds
}

fn play_perceptron(batch: &Batch) -> Vec<Round> {
    let mut rounds = Vec::new();
    Perceptron::new(Hinge {}, positive(0.1)).learn_rows(batch.rows(), &mut rounds);
    rounds
}
