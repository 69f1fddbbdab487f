use super::*;
use crate::bound::{Bound, Promise};
use crate::comparators::UnitFree;
use crate::features::Features;
use crate::loss::{Absolute, Hinge, Linear, Logistic, Loss, Quantile, Square};
use crate::number::{Importance, OpenUnit, Positive};
use crate::set::{Ball, BoxSet, FeasibleSet, Interval, WholeSpace};
use crate::{Batch, ExactSum};
use proptest::prelude::*;

/// x, ŷ, and whether the label is positive.
type Event = ([f32; 2], f64, bool);

fn ball(radius: f64) -> Ball {
    Ball { radius: Positive::new(radius).unwrap() }
}

fn sign(positive: bool) -> f64 {
    if positive { 1.0 } else { -1.0 }
}

fn watch(ledger: &mut Ledger, (x, prediction, positive): Event) {
    let x = Features::new(&[0, 1], &x).unwrap();
    ledger.observe(&Example::new(x, sign(positive)), prediction).unwrap();
}

fn audited(loss: impl Into<AnyLoss>, events: &[Event]) -> Ledger {
    let mut ledger = Ledger::new(loss, ball(2.0));
    events.iter().for_each(|&event| watch(&mut ledger, event));
    ledger
}

/// The regret against one u, per round, straight from its definition.
fn regret(loss: &AnyLoss, events: &[Event], u: [f64; 2]) -> f64 {
    let saved = events.iter().map(|&(x, prediction, positive)| {
        let theirs = u[0] * f64::from(x[0]) + u[1] * f64::from(x[1]);
        let cost = |p| loss.at(p, sign(positive)).value;
        cost(prediction) - cost(theirs)
    });
    saved.sum::<f64>() / events.len() as f64
}

/// Many predictors with ‖u‖ ≤ 2.
fn comparators() -> impl Iterator<Item = [f64; 2]> {
    let turns = (0..24).map(|k| f64::from(k) * std::f64::consts::TAU / 24.0);
    turns.flat_map(|turn| {
        [0.0, 0.3, 1.0, 1.7, 2.0].map(|length| [length * turn.cos(), length * turn.sin()])
    })
}

fn check_against_all(loss: impl Into<AnyLoss>, events: &[Event]) {
    let loss = loss.into();
    let ledger = audited(loss, events);
    check_verdict(&loss, events, ledger.verdict());
    let mut tallies = Tally::new(NonNegative::ZERO);
    for window in events.chunks(7) {
        let part = audited(loss, window);
        check_verdict(&loss, window, ledger.verdict_on(&part, &[], ledger.coordinates()));
        tallies.merge(&part);
    }
    check_verdict(&loss, events, ledger.verdict_on(&tallies, &[], ledger.coordinates()));
    let mut growing = Ledger::new(loss, ball(2.0));
    for window in events.chunks(7) {
        let before = growing.clone();
        window.iter().for_each(|&event| watch(&mut growing, event));
        check_verdict(&loss, window, growing.verdict_since(&before).unwrap());
    }
}

fn check_verdict(loss: &AnyLoss, events: &[Event], verdict: Verdict) {
    assert_eq!(verdict.rounds, events.len() as u64);
    for u in comparators() {
        let regret = regret(loss, events, u);
        assert!(regret <= verdict.certificate + 1e-12, "{u:?}: {regret} {verdict:?}");
        assert!(!verdict.beats_every_comparator() || regret < 0.0);
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let x = prop::array::uniform2(-2.0..2.0_f32);
    prop::collection::vec((x, -3.0..3.0_f64, any::<bool>()), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_comparator_escapes_in_the_whole_or_in_a_window(events in events()) {
        check_against_all(Hinge {}, &events);
        check_against_all(Logistic {}, &events);
        check_against_all(Square {}, &events);
        check_against_all(Absolute {}, &events);
        check_against_all(Quantile { tau: OpenUnit::new(0.2).unwrap() }, &events);
    }

    #[test]
    fn parts_add_up(events in events(), cut in 0..40_usize) {
        let (front, back) = events.split_at(cut.min(events.len()));
        let whole = audited(Logistic {}, &events);
        let mut merged = audited(Logistic {}, front);
        merged.merge(&audited(Logistic {}, back)).unwrap();
        let (merged, whole) = (merged.verdict(), whole.verdict());
        prop_assert_eq!(merged.rounds, whole.rounds);
        prop_assert_eq!(merged.mistake_rate, whole.mistake_rate);
        prop_assert!((merged.sequential_risk - whole.sequential_risk).abs() < 1e-12);
        prop_assert!((merged.certificate - whole.certificate).abs() < 1e-11);
    }

    /// The result does not depend on where features lie, near or far, or in which order.
    #[test]
    fn where_columns_lie_changes_no_bit(
        events in events(), near in 0..9_u32, gap in 1..70_000_000_u32, cut in 0..40_usize,
    ) {
        let spread = |events: &[Event], indices: [u32; 2]| {
            let mut ledger = Ledger::new(Logistic {}, BoxSet::interval(-1.0, 2.0).unwrap());
            for &(x, prediction, positive) in events {
                let x = Features::new(&indices, &x).unwrap();
                ledger.observe(&Example::new(x, sign(positive)), prediction).unwrap();
            }
            ledger
        };
        let far = [near, near + gap];
        let (plain, moved) = (spread(&events, [0, 1]), spread(&events, far));
        prop_assert_eq!(plain.verdict(), moved.verdict());
        prop_assert_eq!(plain.curve(), moved.curve());
        prop_assert_eq!(moved.cells().features(), far);
        prop_assert!(moved.cells().len() <= (1 << 16) + 2);

        let (front, back) = events.split_at(cut.min(events.len()));
        let mut merged = spread(front, far);
        merged.merge(&spread(back, far)).unwrap();
        let mut merged_plain = spread(front, [0, 1]);
        merged_plain.merge(&spread(back, [0, 1])).unwrap();
        prop_assert_eq!(merged.verdict(), merged_plain.verdict());
        let bytes = serde_json::to_string(&merged).unwrap();
        prop_assert_eq!(serde_json::from_str::<Ledger>(&bytes).unwrap(), merged);
    }

    #[test]
    fn a_row_that_counts_twice_is_there_twice(events in events(), doubled in 0..40_usize) {
        let (mut weighted, mut repeated) = (audited(Logistic {}, &[]), audited(Logistic {}, &[]));
        for (t, &(x, prediction, positive)) in events.iter().enumerate() {
            let x = Features::new(&[0, 1], &x).unwrap();
            let (once, count) = (Example::new(x, sign(positive)), if t == doubled { 2 } else { 1 });
            let importance = Importance::new(f64::from(count)).unwrap();
            weighted.observe(&Example { importance, ..once }, prediction).unwrap();
            (0..count).for_each(|_| repeated.observe(&once, prediction).unwrap());
            let nothing = Example { importance: Importance::ZERO, ..once };
            weighted.observe(&nothing, prediction).unwrap();
        }
        prop_assert_eq!(weighted.rounds(), events.len() as u64);
        prop_assert!((weighted.loss() - repeated.loss()).abs() <= 1e-14 * weighted.loss());
        let certificate = |ledger: &Ledger| ledger.certificate(ledger.comparators());
        prop_assert!((certificate(&weighted) - certificate(&repeated)).abs() <= 1e-11);
    }
}

#[test]
fn a_small_case_by_hand() {
    // The slopes are −1, +1 and 0 (beyond the margin): A = −0.5 − 0.5 = −1, S = (−1, 2) + …
    let events = [([1.0, 0.0], 0.5, true), ([0.0, 2.0], -0.5, false), ([3.0, 3.0], 2.0, true)];
    let verdict = audited(Hinge {}, &events).verdict();
    assert_eq!((verdict.rounds, verdict.mistake_rate), (3, Some(0.0)));
    assert!((verdict.sequential_risk - 1.0 / 3.0).abs() < 1e-15);
    let exact = (-1.0 + 2.0 * 5_f64.sqrt()) / 3.0;
    assert!((verdict.certificate - exact).abs() < 1e-12, "{verdict:?}");
    assert!(verdict.certificate >= exact);
}

#[test]
fn any_radius_may_be_asked_for_afterwards() {
    let ledger = audited(Hinge {}, &[([3.0, 4.0], 0.25, true)]);
    assert!((ledger.certificate(&ball(2.0).into()) - 9.75).abs() < 1e-12);
    assert!((ledger.certificate(&ball(0.01).into()) - -0.2).abs() < 1e-12);
    assert_eq!(ledger.verdict().certificate, ledger.certificate(&ball(2.0).into()));
}

#[test]
fn what_is_refused_does_not_count() {
    let mut ledger = audited(Hinge {}, &[([1.0, 0.0], 0.5, true)]);
    let before = ledger.clone();
    let x = Features::new(&[5], &[1.0]).unwrap();
    assert_eq!(
        ledger.observe(&Example::new(x, 0.0), 0.5).unwrap_err().to_string(),
        "round 2 has the label 0e0, expected -1 or +1"
    );
    for prediction in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = ledger.observe(&Example::new(x, 1.0), prediction).unwrap_err();
        assert!(matches!(error, LedgerError::NotFinite { round: 2, .. }));
    }
    let idle = Example { importance: Importance::ZERO, ..Example::new(x, 1.0) };
    ledger.observe(&idle, 0.5).unwrap();
    assert_eq!(ledger, before);
}

/// If rows are recorded together, those before a refused one count as seen.
#[test]
fn rows_up_to_a_refused_one_were_seen() {
    let mut batch = Batch::default();
    let rows = [3, 1, 70_000_000, 5].map(|index| [index]);
    rows.iter().for_each(|row| batch.push(row, &[1.0], 1.0).unwrap());
    let mut rounds = [Round::of(&Hinge {}, 0.5, 1.0); 4];
    rounds[2].prediction = f64::NAN;
    let mut ledger = audited(Hinge {}, &[]);
    assert!(ledger.record_rows(batch.rows(), &rounds).is_err());
    assert_eq!((ledger.rounds(), ledger.cells().features()), (2, vec![1, 3]));
}

#[test]
fn ledgers_in_different_measures_stay_apart() {
    let quantile = |tau| Quantile { tau: OpenUnit::new(tau).unwrap() };
    let mut median = audited(quantile(0.5), &[]);
    let tail = audited(quantile(0.9), &[]);
    assert_eq!(median.merge(&tail), Err(LedgerError::DifferentLoss));
    assert!(!tail.continues(&median) && median.continues(&median.clone()));
    assert_eq!(*median.loss_function(), quantile(0.5).into());
}

#[test]
fn a_ledger_is_stored_and_goes_on() {
    let events = [([1.0, -0.5], 0.3, true), ([0.1, 2.0], -0.7, true), ([1.0, 0.0], 0.0, false)];
    let text = serde_json::to_string(&audited(Logistic {}, &events[..2])).unwrap();
    let mut resumed: Ledger = serde_json::from_str(&text).unwrap();
    watch(&mut resumed, events[2]);
    assert_eq!(resumed, audited(Logistic {}, &events));
}

/// The certificate of rounds whose exact figures are known.
fn certificate_of(
    loss: impl Into<AnyLoss>,
    sigma: f64,
    set: impl Into<Comparators>,
    rounds: &[(f32, f64, f64)],
) -> f64 {
    let mut ledger = Ledger::regularized(loss, NonNegative::new(sigma).unwrap(), set);
    for (x, prediction, label) in rounds {
        let values = [*x];
        let example = Example::new(Features::new(&[0], &values).unwrap(), *label);
        ledger.observe(&example, *prediction).unwrap();
    }
    ledger.certificate(ledger.comparators())
}

/// At a score of 400 the slope is about 1e-174, and its square is too small for a double. u = −10
/// saves about 5e-173, and the certificate must allow for that.
#[test]
fn slopes_whose_squares_are_too_small_count() {
    let certificate = certificate_of(Logistic {}, 0.0, ball(10.0), &[(1.0, 400.0, -1.0); 3]);
    assert!(certificate > 3.0 * 399.0);
    let tiny = (-400.0_f64).exp();
    let certificate = certificate_of(Logistic {}, 0.0, ball(1000.0), &[(1.0, 400.0, 1.0); 2]);
    // u = 1000 loses nothing; the predictions lost 2·e^−400.
    assert!(certificate >= 2.0 * tiny, "{certificate:e}");
}

#[test]
fn tiny_linear_losses_count() {
    // ŷ = 0 loses nothing, and u = −1 loses −1e-300·1e-38, which is smaller than any double.
    for (x, label) in [(1e-38_f32, 1e-300), (1.0, 1e-200), (1e30, 5e-324)] {
        let certificate = certificate_of(Linear {}, 0.0, ball(1.0), &[(x, 0.0, label)]);
        assert!(certificate > 0.0 && certificate >= f64::from(x) * label, "{x} {label}");
    }
}

/// S is 0 in doubles but not in truth: 2⁶⁰ and −2⁶⁰ cancel, and swallowed a 1 in between.
#[test]
fn sums_that_cancelled_are_allowed_for() {
    let large = 2_f64.powi(60);
    let rounds = [(1.0, 0.0, large), (1.0, 0.0, 1.0), (1.0, 0.0, -large)];
    for sigma in [0.0, 0.01] {
        // u·1 + (3σ/2)u² is least at u = −1/(3σ), or at the end of the ball.
        let u: f64 = if sigma == 0.0 { -1.0 } else { -1.0 / (3.0 * sigma) };
        let regret = -(u + 1.5 * sigma * u * u);
        let set: Comparators = if sigma == 0.0 { ball(1.0).into() } else { WholeSpace {}.into() };
        let certificate = certificate_of(Linear {}, sigma, set, &rounds);
        assert!(certificate >= regret, "{certificate} {regret}");
        let cube = BoxSet::interval(-40.0, 40.0).unwrap();
        assert!(certificate_of(Linear {}, sigma, cube, &rounds) >= regret);
    }
}

/// A penalty may be off by a billionth, because the running norm in it may be.
#[test]
fn a_penalty_that_is_a_billionth_short_is_allowed_for() {
    let mut ledger = Ledger::regularized(Linear {}, NonNegative::new(1.0).unwrap(), ball(1e-9));
    let x = Features::new(&[0], &[1.0]).unwrap();
    let (truth, off) = (1000.0, 0.9e-9);
    let round = Round { penalty: truth * (1.0 - off), ..Round::idle(0.0) };
    ledger.record(&Example::new(x, 0.0), &round).unwrap();
    // Against u = 0 the regret is the true penalty.
    assert!(ledger.certificate(ledger.comparators()) >= truth);
}

/// A bound that a run attains is not contradicted by its certificate, even if the penalty came out a
/// billionth too large and the certificate allows for as much again.
#[test]
fn bounds_are_lifted_by_what_penalties_may_be_off() {
    let mut ledger = Ledger::regularized(Linear {}, NonNegative::new(1.0).unwrap(), ball(1e-9));
    let x = Features::new(&[0], &[1.0]).unwrap();
    let (truth, off) = (1000.0, 0.9e-9);
    let round = Round { penalty: truth * (1.0 + off), ..Round::idle(0.0) };
    ledger.record(&Example::new(x, 0.0), &round).unwrap();
    // Against u = 0 the regret is the true penalty.
    let attained = || Ok(Bound::new(truth, "the regret itself"));
    let ladder = ledger.ladder(Promise { data: attained(), theorem: attained() });
    assert!(ladder.is_in_order() && ladder.data.is_ok(), "{ladder:?}");
}

/// Values that nearly cancel: the products of the slope 1/3 with the predictions are rounded, and
/// the exact sum of φ − a·p is known.
#[test]
fn roundings_of_values_are_allowed_for() {
    // φ = a·p for the linear loss, so φ − a·p is 0 in exact arithmetic and the certificate at U → 0
    // is Σ a·p. The computed value may differ by one rounding per term.
    let (label, prediction) = (1.0 / 3.0, 3.0_f64.next_up());
    let rounds = vec![(1.0_f32, prediction, label); 1000];
    let certificate = certificate_of(Linear {}, 0.0, ball(1e-100), &rounds);
    let mut exact = ExactSum::default();
    rounds.iter().for_each(|&(_, p, a)| exact.add_product(a, p));
    exact.add(-certificate);
    assert!(exact.value() <= 0.0, "{:e}", exact.value());
}

/// A box tells its first coordinates apart, wherever the other features lie.
#[test]
fn the_sides_of_a_box_stay_with_their_features() {
    let side = |end: f64| Interval::new(-end, end).unwrap();
    let set = BoxSet::new(vec![side(1.0), side(5.0), side(0.25)], side(2.0));
    let mut ledger = Ledger::new(Linear {}, set);
    for (index, slope) in [(60_000_000, 7.0), (2, 4.0), (1, 1.0), (30_000_000, 3.0)] {
        let indices = [index];
        let x = Features::new(&indices, &[1.0]).unwrap();
        ledger.observe(&Example::new(x, slope), 0.0).unwrap();
    }
    let certificate = ledger.certificate(ledger.comparators());
    let exact = 2.0 * 7.0 + 0.25 * 4.0 + 5.0 + 2.0 * 3.0;
    assert!(certificate >= exact && certificate < exact + 1e-10, "{certificate}");
    let reach = ledger.comparators().set().unwrap().reach(ledger.coordinates());
    assert_eq!(reach, (4.0_f64 + 0.0625 + 25.0 + 4.0).sqrt());
}

/// The loss of a window does not depend on the rounds before it.
#[test]
fn a_window_after_enormous_losses_keeps_its_risk() {
    let mut ledger = Ledger::new(Square {}, ball(1.0));
    let x = Features::new(&[0], &[1.0]).unwrap();
    ledger.observe(&Example::new(x, 1e20), 0.0).unwrap();
    let mut window = Tally::new(NonNegative::ZERO);
    let example = Example::new(x, 3.0);
    let round = ledger.round_of(&example, 1.0).unwrap();
    ledger.record(&example, &round).unwrap();
    let mut batch = Batch::default();
    batch.push(&[0], &[1.0], 3.0).unwrap();
    window.record_rows(batch.rows(), &[round]);
    assert_eq!(ledger.verdict_on(&window, &[], ledger.coordinates()).sequential_risk, 4.0);
}

/// The ledger of rounds with x = 0, where every u has the same loss. A round is given as
/// prediction, label and importance. In so small a ball the allowance for slopes is next to
/// nothing.
fn without_features(loss: impl Into<AnyLoss>, rounds: &[(f64, f64, f64)]) -> Ledger {
    let mut ledger = Ledger::new(loss, ball(1e-100));
    for &(prediction, label, importance) in rounds {
        let nothing = Features::new(&[], &[]).unwrap();
        let importance = Importance::new(importance).unwrap();
        let example = Example { importance, ..Example::new(nothing, label) };
        ledger.observe(&example, prediction).unwrap();
    }
    ledger
}

fn floor_at_zero(ledger: &Ledger) -> f64 {
    ledger.floor(ledger.comparators())
}

/// Where x = 0 the hinge loss of every u is 1, and fl(1 − p) + p is 1 up to two roundings.
#[test]
fn no_floor_is_above_the_loss_of_zero() {
    for k in 1..1000 {
        let part = without_features(Hinge {}, &[(f64::from(k) / -777.0, 1.0, 1.0); 100]);
        let mut merged = without_features(Hinge {}, &[]);
        merged.merge(&part).unwrap();
        for ledger in [part, merged] {
            let floor = floor_at_zero(&ledger);
            assert!((99.999..=100.0).contains(&floor), "{k}: {floor}");
        }
    }
}

/// Values and slopes below the range of doubles, as they are and multiplied by the largest
/// importance. The floor must not be above the loss of any u.
#[test]
fn what_is_lost_below_the_range_of_doubles_is_allowed_for() {
    let (least, most) = (f64::from_bits(1), 1e30);
    let floor_of = |loss: AnyLoss, round| floor_at_zero(&without_features(loss, &[round]));
    assert!(Importance::new(1.001 * most).is_err());
    // 0.6 of the least double is rounded up to the least double.
    assert!(floor_of(Absolute {}.into(), (0.0, least, 0.6)) < least);
    // The slope, 0.4 of the least double, is rounded to 0, but its product with the prediction is
    // not.
    assert!(floor_of(Linear {}.into(), (1e300, least, 0.4)) <= 0.0);
    // A value of 0.6 of the least double is rounded, and then counts 1e30 times.
    assert!(floor_of(Linear {}.into(), (0.6, least, most)) <= 0.0);
}

/// At a score of 745 the slope is 0.57 of the least double and is rounded up to the least double.
/// So it seems to save nearly twice as much as it does against scores of 744.9.
#[test]
fn a_slope_that_was_rounded_up_proves_no_more_than_is_true() {
    let (p, rival, size) = (745.0_f64, 744.9_f64, [1e38_f32]);
    let mut ledger = Ledger::new(Logistic {}, ball(rival / f64::from(size[0])));
    let example = Example::new(Features::new(&[0], &size).unwrap(), 1.0);
    let importance = Importance::new(1e30).unwrap();
    ledger.observe(&Example { importance, ..example }, p).unwrap();
    let scaled = |score: f64| (1e30_f64.ln() - score).exp();
    let regret = scaled(p) - scaled(rival);
    assert!(ledger.certificate(ledger.comparators()) >= regret, "{regret:e}");
}

/// 2⁵³ + 1 is 2⁵³ in doubles. So 3000 slopes of 1 are lost, one rounding each, whether they are
/// recorded one after the other or merged.
#[test]
fn every_addition_is_allowed_for() {
    let large = 2_f64.powi(53);
    let x = Features::new(&[0], &[1.0]).unwrap();
    let recorded = |slope: f64, count: usize| {
        let mut ledger = Ledger::new(Linear {}, ball(1.0));
        (0..count).for_each(|_| ledger.observe(&Example::new(x, slope), 0.0).unwrap());
        ledger
    };
    let (mut whole, mut merged) = (recorded(large, 1), recorded(large, 1));
    for _ in 0..3000 {
        whole.observe(&Example::new(x, 1.0), 0.0).unwrap();
        merged.merge(&recorded(1.0, 1)).unwrap();
    }
    for ledger in [whole, merged] {
        let certificate = ledger.certificate(ledger.comparators());
        assert!(certificate >= large + 3000.0, "{}", certificate - large);
    }
    // Once the 2⁵³ is subtracted again, the sum is 0 and not 1.
    let mut merged = recorded(1.0, 0);
    [recorded(large, 1), recorded(1.0, 1), recorded(-large, 1)]
        .iter()
        .for_each(|part| drop(merged.merge(part).unwrap()));
    assert_eq!(merged.minorant().slopes(), [0.0]);
    assert!(merged.certificate(merged.comparators()) >= 1.0);
}

/// Without units as well. 4·2⁵³ + 4 is 4·2⁵³ in doubles.
#[test]
fn every_addition_is_allowed_for_without_units() {
    let large = 2_f64.powi(53);
    let mut ledger = Ledger::new(Linear {}, UnitFree { radius: Positive::ONE });
    let x = Features::new(&[0], &[4.0]).unwrap();
    ledger.observe(&Example::new(x, large), 0.0).unwrap();
    (0..3000).for_each(|_| ledger.observe(&Example::new(x, 1.0), 0.0).unwrap());
    assert_eq!(ledger.minorant().slopes(), [4.0 * large]);
    // u = −¼ has the predictions −1.
    let certificate = ledger.certificate(ledger.comparators());
    assert!(certificate >= large + 3000.0, "{}", certificate - large);
}

/// One round of slope 1 at 0. The regret is U‖x‖ exactly, and its computation takes a root, a
/// product and a sum. U·x_i is exact for a U of few digits.
#[test]
fn the_roundings_of_the_support_function_are_allowed_for() {
    for k in 1..4000_u16 {
        let radius = f64::from(k);
        let x = [1.0 + f32::from(k) / 4096.0, 1.0 + f32::from(k.reverse_bits()) / 65536.0];
        let mut ledger = Ledger::new(Linear {}, ball(radius));
        ledger.observe(&Example::new(Features::new(&[0, 1], &x).unwrap(), 1.0), 0.0).unwrap();
        let certificate = ledger.certificate(ledger.comparators());
        let mut room = ExactSum::default();
        room.add_product(certificate, certificate);
        for x in x.map(|x| radius * f64::from(x)) {
            room.remove_product(x, x);
        }
        assert!(room.value() >= 0.0, "{k}: {certificate}");
    }
}

/// 0.4 of the least double becomes a slope of 0. For comparators of a large norm this makes a
/// difference.
#[test]
fn slopes_too_small_for_a_double_count_far_out() {
    let (least, size) = (f64::from_bits(1), [3e38_f32]);
    let mut ledger = Ledger::new(Linear {}, ball(1e100));
    let example = Example::new(Features::new(&[0], &size).unwrap(), least);
    let importance = Importance::new(0.4).unwrap();
    ledger.observe(&Example { importance, ..example }, 0.0).unwrap();
    let regret = 0.4 * (least * (f64::from(size[0]) * 1e100));
    assert!(ledger.certificate(ledger.comparators()) >= regret, "{regret:e}");
}

/// The same without units: there u·x may be as large as U, however small x is.
#[test]
fn slopes_too_small_for_a_double_count_without_units() {
    let (least, size) = (f64::from_bits(1), [1e-30_f32]);
    let mut ledger = Ledger::new(Linear {}, UnitFree { radius: Positive::new(1e100).unwrap() });
    let example = Example::new(Features::new(&[0], &size).unwrap(), least);
    let importance = Importance::new(0.4).unwrap();
    ledger.observe(&Example { importance, ..example }, 0.0).unwrap();
    let regret = 0.4 * (least * 1e100);
    assert!(ledger.certificate(ledger.comparators()) >= regret, "{regret:e}");
}

/// ‖w‖ = 1e-162 has a square that is too small for a double, and σ = 1e100 makes it count.
#[test]
fn penalties_too_small_for_a_double_are_allowed_for() {
    let (sigma, norm) = (1e100, 1e-162_f64);
    let mut ledger = Ledger::regularized(Linear {}, NonNegative::new(sigma).unwrap(), ball(1.0));
    let x = Features::new(&[0], &[1.0]).unwrap();
    let round = Round { penalty: 0.5 * sigma * (norm * norm), ..Round::idle(0.0) };
    assert_eq!(round.penalty, 0.0);
    ledger.record(&Example::new(x, 0.0), &round).unwrap();
    // Against u = 0 the regret is the true penalty.
    let regret = 0.5 * (sigma * norm) * norm;
    assert!(regret > 0.0 && ledger.certificate(ledger.comparators()) >= regret);
}

/// Losses that were all rounded down and that cancel, their exact sum, and a witness. Its values are 0,
/// so its floor does not allow for these roundings.
fn losses_rounded_down() -> (Ledger, ExactSum, Minorant) {
    let mut ledger = Ledger::new(Linear {}, ball(1e-100));
    let mut witness = Minorant::new(NonNegative::ZERO);
    witness.grow(1);
    let x = Features::new(&[0], &[1.0]).unwrap();
    let (mut exact, mut sign) = (ExactSum::default(), 1.0);
    for k in 1..2000 {
        let (prediction, label) = (sign * (1.0 + f64::from(k) / 3001.0), 0.7);
        if prediction.mul_add(label, -(prediction * label)) > 0.0 {
            let example = Example::new(x, label);
            ledger.observe(&example, prediction).unwrap();
            witness.record(&x, &Round::on(&Linear {}, 0.0, &example));
            exact.add_product(prediction, label);
            sign = -sign;
        }
    }
    assert!(ledger.rounds() > 500 && ledger.loss().abs() < 2.0, "{:?}", ledger.verdict());
    (ledger, exact, witness)
}

#[test]
fn a_witness_does_not_hide_the_roundings_of_the_losses() {
    let (ledger, mut exact, witness) = losses_rounded_down();
    let comparators = ledger.comparators();
    let found = ledger.certificate_with(comparators, ledger.coordinates(), [&witness]).unwrap();
    // Against u = 0 the regret is the exact sum of the losses.
    exact.add(-found);
    assert!(exact.value() <= 0.0, "{:e}", exact.value());
    let (least, most) = ledger.loss_interval();
    exact.add(found);
    assert!(least <= exact.value() && exact.value() <= most);
}

/// Neither does a point of the curve, for any radius that it is asked for.
#[test]
fn a_curve_does_not_hide_the_roundings_of_the_losses() {
    let (ledger, exact, witness) = losses_rounded_down();
    let point = ledger.point(&[witness.testify(ledger.comparators(), ledger.coordinates())]);
    let per_round = point.certificate_for(Positive::new(1e-100).unwrap());
    for (found, count) in [(point.certificate_total(), 1.0), (per_round, ledger.rounds() as f64)] {
        let mut regret = exact.clone();
        regret.add_product(-found, count);
        assert!(regret.value() <= 0.0, "{:e}", regret.value());
    }
}

/// Where x = 0 nobody can lose less than anybody else. The witness has fl(1 − p) + p, which is above 1,
/// so that its predictions seem to prove that every u lost more than 1.
#[test]
fn a_rounding_of_a_witness_beats_nobody() {
    let ledger = without_features(Hinge {}, &[(0.0, 1.0, 1.0); 100]);
    assert_eq!(ledger.loss(), 100.0);
    let mut rounded_up = 0;
    for k in 1..100 {
        // 1 − p is above 2²⁰, where doubles are half as dense as below.
        let p = 1.0 - 2_f64.powi(20) - f64::from(k) / 777.0;
        rounded_up += i32::from((1.0 - p) + p > 1.0);
        let witness = without_features(Hinge {}, &[(p, 1.0, 1.0); 100]);
        let testimony = witness.minorant().testify(ledger.comparators(), ledger.coordinates());
        assert_eq!(ledger.point(&[testimony]).beats_up_to(), None, "{k}");
    }
    assert!(rounded_up > 20, "{rounded_up}");
}

/// The slopes of 1 are lost in 2⁵³. The predictions lost −2⁵³, and u = −r loses −r(2⁵³ + 3000).
#[test]
fn nobody_is_beaten_beyond_the_slopes_that_were_lost() {
    let large = 2_f64.powi(53);
    let mut ledger = Ledger::new(Linear {}, ball(1.0));
    let x = Features::new(&[0], &[1.0]).unwrap();
    ledger.observe(&Example::new(x, large), -1.0).unwrap();
    (0..3000).for_each(|_| ledger.observe(&Example::new(x, 1.0), 0.0).unwrap());
    assert_eq!((ledger.loss(), ledger.minorant().slopes()), (-large, &[large][..]));
    let beaten = ledger.point(&[]).beats_up_to().unwrap();
    let mut more = ExactSum::default();
    more.add(large);
    more.add_product(-beaten, large + 3000.0);
    assert!(more.value() >= 0.0 && beaten > 0.999, "{beaten}");
}

/// A slope of 1e-200 has a square that is too small for a double, and it is the longest gradient.
#[test]
fn no_gradient_is_longer_than_the_longest() {
    let mut batch = Batch::default();
    batch.push(&[0], &[1.0], 1e-200).unwrap();
    let (example, fresh) = (batch.get(0), Ledger::new(Linear {}, ball(1.0)));
    let round = Round::on(&Linear {}, 0.0, &example);
    let (mut singly, mut together) = (fresh.clone(), fresh);
    singly.record(&example, &round).unwrap();
    together.record_rows(batch.rows(), &[round]).unwrap();
    for ledger in [singly, together] {
        assert!(ledger.gradient_norm_max() >= 1e-200, "{:e}", ledger.gradient_norm_max());
    }
}

#[test]
fn rounds_since_an_earlier_state_are_judged_alone() {
    let rows = |from: u32, to: u32| {
        (from..to).map(|t| ([1.0, (t % 5) as f32], 0.1 * f64::from(t % 3), t % 2 == 0))
    };
    let watch = |ledger: &mut Ledger, (x, prediction, positive): Event| {
        // Far features get cells in the order in which they are seen.
        let indices = [1, if ledger.rounds() < 30 { 9_000_000 } else { 8_000_000 }];
        let x = Features::new(&indices, &x).unwrap();
        ledger.observe(&Example::new(x, sign(positive)), prediction).unwrap();
    };
    let comparators = || Comparators::from(UnitFree { radius: Positive::new(2.0).unwrap() });
    let mut before = Ledger::new(Logistic {}, comparators());
    rows(0, 40).for_each(|event| watch(&mut before, event));
    let mut part = before.opened_anew();
    rows(40, 60).for_each(|event| watch(&mut part, event));
    let mut after = before.clone();
    after.merge(&part).unwrap();
    // The same ledger with other cells is a later state all the same.
    let mut turned = Ledger::new(Logistic {}, comparators());
    turned.merge(&part).unwrap();
    turned.merge(&before).unwrap();
    for later in [&after, &turned] {
        let (since, alone) = (later.verdict_since(&before).unwrap(), part.verdict());
        assert_eq!((since.rounds, since.mistake_rate), (20, alone.mistake_rate));
        assert!((since.sequential_risk - alone.sequential_risk).abs() < 1e-14);
        assert!((since.certificate - alone.certificate).abs() < 1e-10);
        assert!(since.certificate >= alone.certificate - 1e-15);
    }
    assert!(before.verdict_since(&after).is_none());
    assert!(after.verdict_since(&Ledger::new(Hinge {}, comparators())).is_none());
    assert_eq!(after.verdict_since(&after).unwrap().certificate, 0.0);
}

/// 2¹⁰⁶ and 2⁵³ come first. After them the sum of the losses is 2¹⁰⁶, and what it lost is 2⁵³, whether or
/// not losses of 1 are added.
#[test]
fn losses_of_a_part_that_were_lost_are_allowed_for() {
    let mut ledger = Ledger::new(Linear {}, ball(1.0));
    let nothing = Features::new(&[], &[]).unwrap();
    let lose = |ledger: &mut Ledger, loss| {
        ledger.observe(&Example::new(nothing, loss), 1.0).unwrap();
    };
    [2_f64.powi(106), 2_f64.powi(53)].into_iter().for_each(|loss| lose(&mut ledger, loss));
    let before = ledger.clone();
    (0..3000).for_each(|_| lose(&mut ledger, 1.0));
    let since = ledger.verdict_since(&before).unwrap();
    assert_eq!((since.rounds, since.sequential_risk), (3000, 0.0));
    // Where x = 0 every u loses nothing.
    assert!(since.certificate >= 1.0, "{since:?}");
}

/// Slopes of 1 leave no trace in S after one of 2⁵³.
#[test]
fn slopes_of_a_part_that_were_lost_are_allowed_for() {
    let free = Comparators::from(UnitFree { radius: Positive::ONE });
    for comparators in [ball(1.0).into(), free] {
        let mut ledger = Ledger::new(Linear {}, comparators);
        let x = Features::new(&[0], &[1.0]).unwrap();
        ledger.observe(&Example::new(x, 2_f64.powi(53)), 0.0).unwrap();
        let before = ledger.clone();
        (0..3000).for_each(|_| ledger.observe(&Example::new(x, 1.0), 0.0).unwrap());
        let since = ledger.verdict_since(&before).unwrap();
        // u = −1 loses −1 in every round.
        assert!(since.rounds == 3000 && since.certificate >= 1.0, "{since:?}");
    }
}

/// Rows of all kinds: with and without gaps, without features, and some with slope 0.
fn many_rows(count: u32, weigh: bool) -> (Batch, Vec<Round>) {
    let (mut batch, mut rounds) = (Batch::default(), Vec::new());
    for t in 0..count {
        let stride = 1 + t % 2;
        let indices: Vec<u32> = (0..t % 21).map(|i| 3 + stride * i).collect();
        let value = |&i: &u32| (0.1 + f64::from(t * 31 + i * 17).sin()) as f32;
        let values: Vec<f32> = indices.iter().map(value).collect();
        let importance = if weigh { f64::from(t % 4) / 2.0 } else { 1.0 };
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&indices, &values, sign(t % 3 == 0), importance).unwrap();
        let prediction = 3.0 * f64::from(t * t).sin();
        let round = Round::on(&Hinge {}, prediction, &batch.get(t as usize));
        rounds.push(Round { penalty: f64::from(t % 5) * importance.get(), ..round });
    }
    (batch, rounds)
}

#[test]
fn rows_at_once_are_rows_one_by_one_to_the_bit() {
    let sigma = NonNegative::new(0.25).unwrap();
    let free = Comparators::from(UnitFree { radius: Positive::ONE });
    for (comparators, weigh) in [(ball(2.0).into(), false), (ball(2.0).into(), true), (free, false)]
    {
        let (batch, rounds) = many_rows(1500, weigh);
        let fresh = Ledger::regularized(Hinge {}, sigma, comparators);
        let mut singly = fresh.clone();
        let each = batch.iter().zip(&rounds);
        each.for_each(|(example, round)| singly.record(&example, round).unwrap());
        let singly = serde_json::to_string(&singly).unwrap();
        for length in [1, 255, 256, 700, 1500] {
            let mut together = fresh.clone();
            for from in (0..1500).step_by(length) {
                let rows = batch.rows().slice(from..1500.min(from + length));
                together.record_rows(rows, &rounds[from..]).unwrap();
            }
            assert_eq!(serde_json::to_string(&together).unwrap(), singly, "{length}");
        }
    }
}

#[test]
fn wide_and_plain_registers_give_the_same_sums() {
    let (batch, rounds) = many_rows(900, false);
    let [mut wide, mut plain] = [0, 1].map(|_| Tally::new(NonNegative::ZERO));
    wide.record_rows(batch.rows(), &rounds);
    plain.record_rows_by::<rueful_machine::Plainly>(batch.rows(), &rounds);
    assert_eq!(serde_json::to_string(&wide).unwrap(), serde_json::to_string(&plain).unwrap());
}

/// Beside 2⁶⁰ a one is lost, so ten later rows leave S as it is. But u = 1 loses nothing on them.
#[test]
fn rounds_since_an_earlier_state_may_be_lost_beside_it() {
    let (mut ledger, mut batch) = (Ledger::new(Hinge {}, ball(1.0)), Batch::default());
    [60_f32.exp2(), 1.0].into_iter().for_each(|x| batch.push(&[0], &[x], 1.0).unwrap());
    ledger.observe(&batch.rows().get(0), 0.0).unwrap();
    let earlier = ledger.clone();
    (0..10).for_each(|_| ledger.observe(&batch.rows().get(1), 0.0).unwrap());
    assert_eq!(ledger.minorant().slopes(), earlier.minorant().slopes());
    let certificate = ledger.verdict_since(&earlier).unwrap().certificate;
    assert!(certificate >= 1.0, "{certificate}");
}
