use super::*;
use crate::loss::{Absolute, AnyLoss, Hinge, Logistic, Quantile, Square};
use crate::number::{Importance, OpenUnit, Positive};
use crate::{Batch, Ledger, UnitFree, set::Ball};
use proptest::prelude::*;
use rueful_machine::Numbers;

type F = <Plain as Registers>::Four;

/// A stream whose columns have different scales, some of which grow by 10^12 on the way.
fn stream(seed: u64, rows: usize, growth: f64, is_classes: bool, weighted: bool) -> Batch {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut batch = Batch::default();
    for t in 0..rows {
        let at = t as f64 / rows as f64;
        let mut indices = Vec::new();
        let mut values = Vec::new();
        for i in 0..5_u32 {
            if uniform() < 0.7 {
                let scale = 10_f64.powf(f64::from(i) - 2.0) * growth.powf(at * f64::from(i % 2));
                let value = (scale * (2.0 * uniform() - 1.0)) as f32;
                if value != 0.0 {
                    indices.push(i);
                    values.push(value);
                }
            }
        }
        let side = if uniform() < 0.3 + 0.4 * (4.0 * at).sin().abs() { 1.0 } else { -1.0 };
        // The first label is the largest, so that Y is known from then on.
        let number = if t == 0 { 3.0 } else { 6.0 * uniform() - 3.0 };
        let label = if is_classes { side } else { number };
        let importance = if weighted { 10_f64.powf(3.0 * uniform() - 2.0) } else { 1.0 };
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&indices, &values, label, importance).unwrap();
    }
    batch
}

fn losses() -> Vec<AnyLoss> {
    let tau = OpenUnit::new(0.1).unwrap();
    vec![
        Logistic {}.into(),
        Hinge {}.into(),
        Square {}.into(),
        Absolute {}.into(),
        Quantile { tau }.into(),
    ]
}

fn is_classes(loss: &AnyLoss) -> bool {
    loss.labels() == crate::loss::Labels::Signs
}

/// The witnesses of a stream, and a ledger of the predictions of the first of them.
fn play(loss: AnyLoss, is_unit_free: bool, stream: &Batch) -> (Witnesses<AnyLoss>, Ledger) {
    let mut witnesses = Witnesses::new(loss, is_unit_free, [0.5, 1.0, 3.0, 30.0]);
    let mut ledger = if is_unit_free {
        Ledger::new(loss, UnitFree { radius: Positive::ONE })
    } else {
        Ledger::new(loss, Ball { radius: Positive::ONE })
    };
    witnesses.grow(stream.dimension());
    for example in stream.rows().iter() {
        let before = witnesses.predict(&example.features);
        witnesses.observe::<F>(&example, &[]);
        let predictions = *witnesses.predictions();
        assert_eq!(before, predictions, "foreseeing is predicting");
        ledger.observe(&example, predictions[0]).unwrap();
    }
    (witnesses, ledger)
}

/// The loss of a comparator on a stream.
fn cost(loss: &AnyLoss, stream: &Batch, u: &[f64]) -> f64 {
    let of = |example: Example<'_>| {
        let p: f64 = example.features.iter().map(|(i, x)| u[i] * x).sum();
        example.importance.get() * loss.at(p, example.label).value
    };
    stream.rows().iter().map(of).sum()
}

/// Points of the ball of a radius: towards −S of a witness, where its regret is largest, and the
/// ends of the axes.
fn comparators(witnesses: &Witnesses<AnyLoss>, radius: f64) -> Vec<Vec<f64>> {
    let n = |i: usize| witnesses.units.as_ref().map_or(1.0, |u| f64::from(u.measure(i).largest));
    let reach = radius * witnesses.label_unit();
    let dimension = witnesses.slopes.len();
    let mut points = vec![vec![0.0; dimension]];
    for witness in 0..WITNESSES {
        let scaled: Vec<f64> =
            (0..dimension).map(|i| witnesses.slopes[i].0[witness] / n(i)).collect();
        let norm = norms::norm(&scaled);
        if norm > 0.0 {
            points.push((0..dimension).map(|i| -reach * scaled[i] / norm / n(i)).collect());
        }
    }
    for i in 0..dimension {
        for side in [1.0, -1.0] {
            let mut point = vec![0.0; dimension];
            point[i] = side * reach / n(i);
            points.push(point);
        }
    }
    points
}

fn check(loss: AnyLoss, is_unit_free: bool, stream: &Batch) {
    let (witnesses, ledger) = play(loss, is_unit_free, stream);
    for witness in 0..WITNESSES {
        let promise = witnesses.promise(witness).expect("no label rose");
        assert!(promise.data <= promise.theorem * (1.0 + 1e-12), "{promise:?}");
        for u in comparators(&witnesses, promise.radius) {
            let regret = promise.loss - cost(&loss, stream, &u);
            let grain = 1e-12 * (promise.loss + 1.0);
            assert!(regret <= promise.data + grain, "{loss}: {regret} {promise:?}");
        }
    }
    // The rung between certificate and theorem: the lower bound of a witness is at least its own loss
    // minus its theorem. So a certificate from it is at most what its judge's loss is above its own,
    // plus the theorem.
    for (witness, minorant) in witnesses.minorants().enumerate() {
        let promise = witnesses.promise(witness).expect("no label rose");
        let radius = Positive::new(promise.radius).unwrap();
        let ball = if is_unit_free { UnitFree { radius }.into() } else { Ball { radius }.into() };
        let floor = minorant.floor(&ball, ledger.coordinates());
        let slack = minorant.slack(&ball, ledger.coordinates()) + 1e-12 * (promise.loss + 1.0);
        let regret = promise.loss - floor;
        assert!(regret <= promise.data + 2.0 * slack, "{loss}: {regret} {promise:?} {slack}");
    }
    // The lower bounds of witnesses hold for every radius, not only for their own.
    for radius in [0.01, 0.5, 2.0, 100.0] {
        let radius = Positive::new(radius).unwrap();
        let ball = if is_unit_free { UnitFree { radius }.into() } else { Ball { radius }.into() };
        for minorant in witnesses.minorants() {
            let floor = minorant.floor(&ball, ledger.coordinates());
            for u in comparators(&witnesses, radius.get()) {
                let cost = cost(&loss, stream, &u);
                assert!(floor <= cost * (1.0 + 1e-12), "{loss} {radius}: {floor} {cost}");
            }
        }
        let line = witnesses.minorant(2).line_for(&ball, ledger.coordinates()).unwrap();
        let floor = witnesses.minorant(2).floor(&ball, ledger.coordinates());
        assert_eq!(line.floor(radius), floor);
    }
    // The ledger recorded the first witness. So both have the same sums, each computed in its own
    // way, unless the steps are implicit.
    let own = ledger.floor(ledger.comparators());
    let theirs = witnesses.minorant(0).floor(ledger.comparators(), ledger.coordinates());
    let is_explicit = loss.curvature_at_slopes(F::all(0.0)).is_none();
    assert!(!is_explicit || (own - theirs).abs() <= 1e-12 * (own.abs() + 1.0), "{own} {theirs}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_theorem_and_the_floors_hold(
        seed: u64, rows in 1..300_usize, growth in prop::sample::select(vec![1.0, 1e3, 1e12]),
        weighted: bool, is_unit_free: bool,
    ) {
        for loss in losses() {
            let stream = stream(seed, rows, growth, is_classes(&loss), weighted);
            check(loss, is_unit_free, &stream);
        }
    }

    /// Changing the units of columns by powers of 2 changes no bit of the predictions.
    #[test]
    fn columns_have_no_units(seed: u64, rows in 1..200_usize, weighted: bool) {
        let plain = stream(seed, rows, 1.0, true, weighted);
        let factors = [2_f32.powi(40), 2_f32.powi(-30), 1.0, 1024.0, 0.125];
        let mut scaled = Batch::default();
        for example in plain.rows().iter() {
            let x = &example.features;
            let value = |(&i, &x): (&u32, &f32)| x * factors[i as usize];
            let values: Vec<f32> = x.indices().iter().zip(x.values()).map(value).collect();
            scaled.push_weighted(x.indices(), &values, example.label, example.importance).unwrap();
        }
        let (one, one_ledger) = play(Logistic {}.into(), true, &plain);
        let (two, two_ledger) = play(Logistic {}.into(), true, &scaled);
        prop_assert_eq!(&one.sums.losses, &two.sums.losses);
        let all = one_ledger.comparators();
        prop_assert_eq!(
            one.minorant(1).floor(all, one_ledger.coordinates()),
            two.minorant(1).floor(all, two_ledger.coordinates())
        );
    }
}

/// Implicit steps are those of dual ascent: no other slope of the round lowers the potential much
/// more, and large radii get a better lower bound than that of the tangents at the predictions.
#[test]
fn implicit_steps_raise_the_floor() {
    let (rows, loss) = (400, Logistic {});
    let stream = stream(5, rows, 1.0, true, false);
    let mut witnesses: Witnesses<Logistic> = Witnesses::new(loss, true, UNIT_FREE_RADII);
    witnesses.grow(stream.dimension());
    let ball = |radius| UnitFree { radius: Positive::new(radius).unwrap() };
    let mut ledgers = UNIT_FREE_RADII.map(|radius| Ledger::new(loss, ball(radius)));
    for example in stream.rows().iter() {
        let foreseen = witnesses.foresee::<F>(&example.features);
        witnesses.prepare::<F>(&foreseen);
        let explicit = witnesses.tangents(F::load(witnesses.predictions()), example.label, 1.0);
        witnesses.face::<F>(&example);
        witnesses.step::<F>(&example);
        let found = witnesses.taken(explicit, example.label, 1.0);
        let after = After::new(&witnesses.row, F::load(&UNIT_FREE_RADII), explicit.slope);
        let least = (1..200).map(|k| {
            let slopes = F::all(f64::from(k) / 200.0) * explicit.slope;
            let conjugates = slopes.array().map(|slope| loss.conjugate(slope, example.label));
            (F::load(&conjugates) + F::load(&UNIT_FREE_RADII) * after.root(slopes)).array()
        });
        let least = least.fold([f64::INFINITY; 4], |a, b| std::array::from_fn(|k| a[k].min(b[k])));
        let (most, own) = (after.potential(&explicit).array(), after.potential(&found).array());
        for witness in 0..WITNESSES {
            let (most, own) = (most[witness], own[witness]);
            assert!(own <= most, "{own} {most}");
            // One step of Newton's method finds most of what there is to find.
            let is_near = most - own >= 0.75 * (most - least[witness]) - 1e-9;
            assert!(is_near, "U = {}: {own} of {least:?}, {most}", UNIT_FREE_RADII[witness]);
        }
        witnesses.observe::<F>(&example, &[]);
        for (ledger, prediction) in ledgers.iter_mut().zip(*witnesses.predictions()) {
            ledger.observe(&example, prediction).unwrap();
        }
    }
    for (witness, ledger) in ledgers.iter().enumerate().skip(2) {
        let tangents = ledger.floor(ledger.comparators());
        let floor = witnesses.minorant(witness).floor(ledger.comparators(), ledger.coordinates());
        assert!(floor > tangents, "{floor} {tangents}");
    }
}

/// Predictions are in the units of the labels.
#[test]
fn labels_have_no_units() {
    for loss in [AnyLoss::from(Square {}), Absolute {}.into()] {
        let plain = stream(7, 200, 1.0, false, false);
        let mut scaled = Batch::default();
        for example in plain.rows().iter() {
            let x = &example.features;
            scaled.push(x.indices(), x.values(), 1024.0 * example.label).unwrap();
        }
        let (one, ledger) = play(loss, true, &plain);
        let (two, _) = play(loss, true, &scaled);
        let factor = if loss.is_square() { 1024.0 * 1024.0 } else { 1024.0 };
        for witness in 0..WITNESSES {
            let (a, b) =
                (one.sums.losses.get(witness).value(), two.sums.losses.get(witness).value());
            assert_eq!(factor * a, b);
        }
        assert!(ledger.floor(ledger.comparators()).is_finite());
    }
}

/// Once a late label is far larger than all before, the regret is linear in T, and no theorem is
/// claimed.
#[test]
fn a_label_that_rises_late_takes_the_theorem_away() {
    let mut batch = Batch::default();
    for t in 0..50 {
        batch.push(&[0], &[1.0], if t < 25 { 1.0 } else { 100.0 }).unwrap();
    }
    let (witnesses, _) = play(Absolute {}.into(), true, &batch);
    assert_eq!(witnesses.promise(0), None);
    // In the data's own units the ball does not depend on labels, and the slopes of the absolute
    // loss do not change.
    let (witnesses, _) = play(Absolute {}.into(), false, &batch);
    assert!(witnesses.promise(0).is_some());
    let (witnesses, _) = play(Square {}.into(), false, &batch);
    assert_eq!(witnesses.promise(0), None);
}

#[test]
fn witnesses_of_parts_prove_what_they_prove_together() {
    let whole = stream(3, 300, 1e3, true, true);
    let rows = whole.rows();
    let part = |range: std::ops::Range<usize>| {
        let mut batch = Batch::default();
        batch.append(rows.slice(range));
        play(Logistic {}.into(), true, &batch)
    };
    let (mut front, mut ledger) = part(0..120);
    let (back, back_ledger) = part(120..300);
    front.merge(&back);
    ledger.merge(&back_ledger).unwrap();
    assert_eq!((front.rounds(), front.promise(0)), (300, None));
    for minorant in front.minorants() {
        let floor = minorant.floor(ledger.comparators(), ledger.coordinates());
        for u in comparators(&front, 1.0) {
            assert!(floor <= cost(&Logistic {}.into(), &whole, &u));
        }
    }
}

/// The largest and the smallest numbers lead to no result that is not a number.
#[test]
fn extremes_stay_numbers() {
    let loss = AnyLoss::from(Logistic {});
    let mut batch = Batch::default();
    let tiny = f32::from_bits(1);
    for t in 0..40 {
        let label = if t % 3 == 0 { 1.0 } else { -1.0 };
        let importance = Importance::new([1e-30, 1.0, 1e30][t % 3]).unwrap();
        let values = [f32::MAX, -tiny, if t < 20 { tiny } else { f32::MAX }];
        batch.push_weighted(&[0, 1, 2], &values, label, importance).unwrap();
    }
    for is_unit_free in [true, false] {
        let (witnesses, ledger) = play(loss, is_unit_free, &batch);
        let fresh = Witnesses::new(loss, is_unit_free, witnesses.radii);
        assert!(witnesses.continues(&fresh), "{witnesses:?}");
        for minorant in witnesses.minorants() {
            assert!(minorant.floor(ledger.comparators(), ledger.coordinates()).is_finite());
        }
    }
}

/// 0.6 of the least double is rounded up to the least double. No witness may prove that u = 0 loses as
/// much.
#[test]
fn losses_below_the_range_of_doubles_are_allowed_for() {
    let (least, mut batch) = (f64::from_bits(1), Batch::default());
    batch.push_weighted(&[], &[], least, Importance::new(0.6).unwrap()).unwrap();
    let (witnesses, ledger) = play(Absolute {}.into(), false, &batch);
    let ball = Ball { radius: Positive::new(1e-100).unwrap() }.into();
    for minorant in witnesses.minorants() {
        assert_eq!(minorant.offset(), least);
        let floor = minorant.floor(&ball, ledger.coordinates());
        assert!(floor < least, "{floor:e}");
    }
}

/// 1/N of the smallest N is beyond singles, so witnesses measure such features in a unit that is far
/// too large. To comparators they are features like any other.
#[test]
fn features_that_are_too_small_for_their_units_are_allowed_for() {
    let mut batch = Batch::default();
    for t in 0..100 {
        let values = [f32::from_bits(1), f32::from_bits(t % 3)];
        batch.push(&[0, 1], &values, if t % 10 == 0 { -1.0 } else { 1.0 }).unwrap();
    }
    for loss in losses() {
        check(loss, true, &batch);
    }
}

/// The roundings of some 2⁵³ rounds could make the running ‖S‖² anything. Here it is set to 0 when S is
/// 1000, and every later round puts it below 0 and undoes a part of S.
#[test]
fn a_norm_that_is_raised_to_0_is_paid_for() {
    let loss = Hinge {};
    let mut witnesses: Witnesses<Hinge> = Witnesses::new(loss, false, [1.0, 0.5, 0.1, 0.01]);
    witnesses.grow(1);
    let play = |witnesses: &mut Witnesses<Hinge>, rounds, label, importance| {
        let mut batch = Batch::default();
        batch.push_weighted(&[0], &[1.0], label, Importance::new(importance).unwrap()).unwrap();
        (0..rounds).for_each(|_| witnesses.observe::<F>(&batch.rows().get(0), &[]));
    };
    play(&mut witnesses, 100_000, -1.0, 0.01);
    witnesses.sums.square = [0.0; WITNESSES];
    play(&mut witnesses, 1000, 1.0, 1.0);
    for witness in 0..WITNESSES {
        let promise = witnesses.promise(witness).unwrap();
        let regret = promise.loss - 2000.0; // u = 0 loses 1 per importance
        assert!(regret > 100.0 * promise.radius, "{promise:?}");
        assert!(regret <= promise.data && promise.data <= promise.theorem, "{promise:?}");
    }
}
