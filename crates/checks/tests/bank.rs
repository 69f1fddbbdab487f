//! The bank: it satisfies the contract of every learner. It also needs no units, forgets nothing
//! when it is saved, survives any input, and its theorem holds.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{cases, positive, quantile};
use proptest::prelude::*;
use rueful_checks::Rng;
use rueful_checks::conformance::{check_mixing_learner, check_rows};
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{Bank, Learner, Resumable};
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Linear, Logistic, PerceptronLoss, Square};
use rueful_core::{Batch, Example, Features, Importance, Ledger, Round, UnitFree};

/// The losses that it learns, and the labels that they take.
fn losses() -> [(AnyLoss, Targets); 6] {
    [
        (Logistic {}.into(), Targets::Signs),
        (Hinge {}.into(), Targets::Signs),
        (Square {}.into(), Targets::Numbers),
        (Absolute {}.into(), Targets::Numbers),
        (quantile(0.1).into(), Targets::Numbers),
        (quantile(0.9).into(), Targets::Numbers),
    ]
}

fn bank(loss: AnyLoss) -> Bank {
    Bank::new(loss).unwrap()
}

fn play(bank: &mut Bank, batch: &Batch) -> Vec<Round> {
    let mut rounds = Vec::new();
    bank.learn_rows(batch.rows(), &mut rounds);
    rounds
}

fn stream(kind: StreamKind, targets: Targets, rounds: usize, seed: u64) -> Batch {
    kind.batch(&Recipe { targets, rounds, dimension: 9, seed })
}

/// The same rows, with values, label and importance rewritten.
fn rewritten(batch: &Batch, row: impl Fn(usize, &Example<'_>) -> (Vec<f32>, f64, f64)) -> Batch {
    let mut copy = Batch::default();
    for (t, example) in batch.iter().enumerate() {
        let (values, label, importance) = row(t, &example);
        let importance = Importance::new(importance).unwrap();
        copy.push_weighted(example.features.indices(), &values, label, importance).unwrap();
    }
    copy
}

fn unit_free(radius: f64) -> UnitFree {
    UnitFree { radius: positive(radius) }
}

#[test]
fn the_contract_of_learners() {
    let stored = |ledger: &Ledger| -> Ledger {
        postcard::from_bytes(&postcard::to_stdvec(ledger).unwrap()).unwrap()
    };
    for (loss, targets) in losses() {
        for kind in StreamKind::ALL {
            let batch = stream(kind, targets, 60, 3);
            let name = format!("bank, {} on {}", loss.name(), kind.name());
            let make = || -> Box<dyn Learner> { Box::new(bank(loss)) };
            check_mixing_learner(&name, &loss, make, &batch);
            if [StreamKind::Sparse, StreamKind::ZeroRows, StreamKind::Weighted].contains(&kind) {
                check_rows(&name, make, &Ledger::new(loss, unit_free(3.0)), stored, &batch);
            }
        }
    }
}

#[test]
fn losses_that_it_does_not_take_are_refused_in_words() {
    for loss in [AnyLoss::from(Linear {}), PerceptronLoss {}.into()] {
        let refusal = Bank::new(loss).unwrap_err();
        assert!(refusal.contains(loss.name()), "{refusal}");
    }
}

/// A stream with many features, so that filters retire on the way.
fn wide(targets: Targets, rounds: usize, dimension: usize, seed: u64) -> Batch {
    StreamKind::Sparse.batch(&Recipe { targets, rounds, dimension, seed })
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn a_bank_that_was_put_away_is_one_that_never_stopped(seed in 0..1000_u64, dimension in 5..90_usize) {
        for (loss, targets) in losses() {
            let batch = wide(targets, 120, dimension, seed);
            let (front, back) = (batch.rows().slice(0..70), batch.rows().slice(70..120));
            let (mut steady, mut rounds) = (bank(loss), Vec::new());
            steady.learn_rows(front, &mut rounds);
            let json = serde_json::to_string(&steady).unwrap();
            let bytes = postcard::to_stdvec(&steady).unwrap();
            steady.learn_rows(back, &mut rounds);
            let restored: [Bank; 2] =
                [serde_json::from_str(&json).unwrap(), postcard::from_bytes(&bytes).unwrap()];
            for mut restored in restored {
                prop_assert!(restored.continues(&bank(loss)));
                let mut again = Vec::new();
                restored.learn_rows(back, &mut again);
                prop_assert_eq!(&again, &rounds);
                prop_assert_eq!(&restored, &steady);
            }
        }
    }

    /// Powers of two change no bit, and other units change next to nothing.
    #[test]
    fn columns_have_no_unit(seed in 0..1000_u64) {
        for (loss, targets) in losses() {
            let batch = stream(StreamKind::Noisy, targets, 150, seed);
            let in_units = |base: f32, power: fn(u32) -> i32| {
                let batch = rewritten(&batch, |_, example| {
                    let x = example.features;
                    let pairs = x.indices().iter().zip(x.values());
                    let values = pairs.map(|(&i, &x)| x * base.powi(power(i))).collect();
                    (values, example.label, example.importance.get())
                });
                play(&mut bank(loss), &batch)
            };
            let plain = in_units(1.0, |_| 0);
            prop_assert_eq!(&in_units(2.0, |i| 7 * i as i32 - 30), &plain);
            let total = |rounds: &[Round]| rounds.iter().map(|round| round.value).sum::<f64>();
            let (metres, inches) = (total(&plain), total(&in_units(10.0, |i| if i % 2 == 0 { 6 } else { -6 })));
            prop_assert!((metres - inches).abs() <= 1e-3 * metres, "{}: {metres} {inches}", loss.name());
        }
    }

    /// Multiplying labels by a power of two multiplies predictions by it, to the bit.
    #[test]
    fn labels_have_no_unit(seed in 0..1000_u64, power in -200..200_i32) {
        for (loss, targets) in losses().into_iter().filter(|(_, targets)| *targets == Targets::Numbers) {
            let batch = stream(StreamKind::Noisy, targets, 100, seed);
            let factor = 2.0_f64.powi(power);
            let stretched = rewritten(&batch, |_, example| {
                (example.features.values().to_vec(), factor * example.label, 1.0)
            });
            let (plain, stretched) = (play(&mut bank(loss), &batch), play(&mut bank(loss), &stretched));
            for (plain, stretched) in plain.iter().zip(&stretched) {
                prop_assert_eq!(factor * plain.prediction, stretched.prediction);
            }
        }
    }

    /// Mixing never costs more than was proved, and shares are shares.
    #[test]
    fn experts_and_what_mixing_them_costs(seed in 0..1000_u64, weighted in any::<bool>()) {
        for (loss, targets) in losses() {
            let kind = if weighted { StreamKind::Weighted } else { StreamKind::Drifting };
            let batch = stream(kind, targets, 300, seed);
            let mut bank = bank(loss);
            let rounds = play(&mut bank, &batch);
            let importance: f64 = batch.iter().map(|example| example.importance.get()).sum();
            let experts = bank.experts();
            let shares: f64 = experts.iter().map(|expert| expert.share).sum();
            prop_assert!((shares - 1.0).abs() < 1e-9, "{}: {shares}", loss.name());
            let own: f64 = rounds.iter().map(|round| round.value).sum();
            let best = experts.iter().map(|expert| expert.sequential_risk).fold(f64::INFINITY, f64::min);
            let most = importance * best + bank.mixing_cost().unwrap();
            prop_assert!(own <= most * (1.0 + 1e-9), "{}: {own} above {most}", loss.name());
        }
    }
}

/// A stream with scales that grow by 10^12 on the way, labels that follow no rule, and importances
/// of any size.
fn hostile(targets: Targets, weighted: bool, seed: u64) -> Batch {
    let rng = &mut Rng::new(seed);
    let mut batch = Batch::default();
    for t in 0..400 {
        let grown = 10_f64.powf(12.0 * f64::from(t) / 400.0);
        let values: Vec<f32> = (0..5)
            .map(|i| (rng.bell() * if i % 2 == 0 { grown } else { 1.0 } + 1e-9) as f32)
            .collect();
        let sign = if rng.chance(0.4 + 0.2 * f64::from(t % 3)) { 1.0 } else { -1.0 };
        let label = if targets == Targets::Signs || t == 0 { sign } else { sign * rng.unit() };
        let importance = if weighted { 10_f64.powf(4.0 * rng.unit() - 2.0) } else { 1.0 };
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&[0, 1, 2, 3, 4], &values, label, importance).unwrap();
    }
    batch
}

/// A random u whose weights have sizes of about U/N.
fn comparator(batch: &Batch, radius: f64, rng: &mut Rng) -> Vec<f64> {
    let mut largest = vec![0.0_f64; batch.dimension()];
    for (i, x) in batch.iter().flat_map(|example| example.features.iter()) {
        largest[i] = largest[i].max(x.abs());
    }
    let direction = rng.direction(batch.dimension());
    direction.iter().zip(largest).map(|(d, n)| radius * d / n).collect()
}

fn loss_of(loss: &AnyLoss, batch: &Batch, u: &[f64]) -> f64 {
    batch.iter().map(|example| Round::on(loss, example.features.dot(u), &example).value).sum()
}

#[test]
fn the_theorem_holds_whatever_comes() {
    for (loss, targets) in losses() {
        for (seed, weighted) in [(1, false), (2, true), (3, false), (4, true)] {
            let batch = hostile(targets, weighted, seed);
            let mut bank = bank(loss);
            let rounds = play(&mut bank, &batch);
            let own: f64 = rounds.iter().map(|round| round.value).sum();
            let rng = &mut Rng::new(seed);
            for radius in [0.5, 1.0, 2.0, 10.0, 30.0] {
                let mut ledger = Ledger::new(loss, unit_free(radius));
                ledger.record_rows(batch.rows(), &rounds).unwrap();
                let promise = bank.promise(ledger.comparators(), ledger.coordinates());
                let (data, theorem) = (promise.data.unwrap().total, promise.theorem.unwrap().total);
                assert!(data <= theorem, "{}: {data} {theorem}", loss.name());
                for _ in 0..20 {
                    let u = comparator(&batch, radius, rng);
                    let regret = own - loss_of(&loss, &batch, &u);
                    assert!(regret <= data, "{}, U = {radius}: {regret} above {data}", loss.name());
                }
                let ladder =
                    ledger.ladder(bank.promise(ledger.comparators(), ledger.coordinates()));
                assert!(ladder.is_in_order(), "{}: {ladder:?}", loss.name());
            }
            assert!(bank.promise_within(31.0).theorem.is_err());
        }
    }
}

#[test]
fn where_a_label_rises_there_is_no_theorem() {
    let mut batch = Batch::default();
    [1.0, 0.5, 2.0].iter().for_each(|&label| batch.push(&[0], &[1.0], label).unwrap());
    let mut bank = bank(Square {}.into());
    play(&mut bank, &batch);
    let why = bank.promise_within(1.0).theorem.unwrap_err().why;
    assert!(why.contains("larger than all before"), "{why}");
}

/// Labels are at both ends of the doubles, values at both ends of the singles, and importances at
/// both ends.
#[test]
fn whatever_comes_the_state_is_finite() {
    for (loss, targets) in losses() {
        for (labels, values, importances) in [
            (200, 0, 0),
            (-200, 0, 0),
            (300, 38, 0),
            (0, 38, 30),
            (0, -38, 30),
            (150, 20, 30),
            (0, 0, 30),
        ] {
            for seed in 0..12 {
                let rng = &mut Rng::new(seed);
                let mut size =
                    |power: i32| 10_f64.powf(f64::from(power) * (2.0 * rng.unit() - 1.0));
                let mut batch = Batch::default();
                for t in 0..200_u32 {
                    let row: Vec<f32> = (0..4)
                        .map(|i| (size(values) * f64::from(i + t % 3)).min(f32::MAX.into()) as f32)
                        .collect();
                    let kept: Vec<(u32, f32)> =
                        (0..4).zip(row).filter(|(_, x)| *x != 0.0).collect();
                    let (indices, row): (Vec<u32>, Vec<f32>) = kept.into_iter().unzip();
                    let sign = if t % 2 == 0 { 1.0 } else { -1.0 };
                    let label = if targets == Targets::Signs { sign } else { sign * size(labels) };
                    // Where labels are large, all examples count alike, so that their loss is a
                    // finite number.
                    let importance =
                        if labels.abs() > 100 { 1.0 } else { size(importances).clamp(1e-30, 1e30) };
                    batch
                        .push_weighted(&indices, &row, label, Importance::new(importance).unwrap())
                        .unwrap();
                }
                let mut learner = bank(loss);
                let name = format!("{} {labels} {values} {importances}, seed {seed}", loss.name());
                learner.grow(4);
                let mut are_numbers = true;
                for example in batch.iter() {
                    let before = learner.predict(&example.features);
                    let round = learner.learn(&example);
                    assert!(before.is_finite() && round.prediction == before, "{name}: {before}");
                    are_numbers &= round.is_finite();
                }
                // A ledger stops a run whose losses are not finite, and with it the witnesses'
                // sums.
                assert!(
                    are_numbers || loss == Square {}.into() && labels.abs() >= 150,
                    "{name}: losses"
                );
                assert!(
                    !are_numbers || learner.continues(&bank(loss)),
                    "{name}: the state is not sound"
                );
                // Labels of 1e300 over columns of 1e-38 have weights beyond the doubles.
                let are_weights = learner.weights().iter().all(|w| w.is_finite());
                assert!(are_weights || labels == 300, "{name}: weights");
            }
        }
    }
}

#[test]
fn one_row_and_labels_that_are_all_alike() {
    for (loss, _) in losses() {
        let mut batch = Batch::default();
        (0..30).for_each(|_| batch.push(&[0, 1], &[1.0, 2.0], 1.0).unwrap());
        let mut learner = bank(loss);
        let rounds = play(&mut learner, &batch);
        let last = rounds.last().unwrap();
        assert!(last.value < 0.2 * rounds[0].value.max(0.1), "{}: {last:?}", loss.name());
        assert!(learner.continues(&bank(loss)));
    }
}

/// A state that was tampered with is refused, or does no harm.
#[test]
fn hostile_states_are_refused() {
    let batch = wide(Targets::Signs, 50, 20, 1);
    let mut saved = bank(Logistic {}.into());
    play(&mut saved, &batch);
    let text = serde_json::to_string(&saved).unwrap();
    let fresh = bank(Logistic {}.into());
    let mut refused = 0;
    for (from, to) in [
        ("\"used\":20", "\"used\":19"),
        ("\"waiting\":", "\"waiting\":9"),
        ("\"width\":3", "\"width\":30"),
        ("\"room\":4", "\"room\":2"),
        ("\"slots\":[", "\"slots\":[7,"),
        ("\"rounds\":50", "\"rounds\":51"),
        ("\"inverse\":", "\"inverse\":-"),
        (
            "\"cells\":[{",
            "\"cells\":[{\"mean\":[0,0,0,0,0,0,0,0],\"variance\":[1,0,0,0,0,0,0,0]},{",
        ),
    ] {
        assert!(text.contains(from), "{from} is not in a state");
        let Ok(mut other) = serde_json::from_str::<Bank>(&text.replacen(from, to, 1)) else {
            refused += 1;
            continue;
        };
        if other.continues(&fresh) {
            play(&mut other, &batch);
        } else {
            refused += 1;
        }
    }
    assert!(refused >= 7, "{refused} of 8 were refused");
    assert!(!saved.continues(&bank(Hinge {}.into())));
}

/// A feature that was never seen has weight 0, and makes the bank no surer than the same row
/// without it.
#[test]
fn unseen_features_make_it_careful() {
    let batch = stream(StreamKind::Separable, Targets::Signs, 200, 1);
    let mut learner = bank(Logistic {}.into());
    play(&mut learner, &batch);
    let x = batch.get(0).features;
    let (mut indices, mut values) = (x.indices().to_vec(), x.values().to_vec());
    indices.push(1000);
    values.push(5.0);
    let with = learner.predict(&Features::new(&indices, &values).unwrap());
    let without = learner.predict(&x);
    assert!(with.abs() < without.abs() && with * without > 0.0, "{with} {without}");
    assert_eq!(learner.predict_beside(&x, 1), with);
    let numbers = stream(StreamKind::Noisy, Targets::Numbers, 200, 1);
    let mut learner = bank(Square {}.into());
    play(&mut learner, &numbers);
    assert_eq!(
        learner.predict_beside(&numbers.get(0).features, 3),
        learner.predict(&numbers.get(0).features)
    );
}
