//! Banks that learned side by side: merged they are one bank, whose witnesses speak of all rounds.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{positive, quantile};
use rueful_checks::Rng;
use rueful_core::learner::{Bank, BankPart, Learner, MergeError, Resumable};
use rueful_core::ledger::Testimony;
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Logistic, Square};
use rueful_core::{Batch, Importance, Ledger, Round, UnitFree};

const DIMENSION: usize = 12;

/// The losses, and whether their labels are signs.
fn losses() -> [(AnyLoss, bool); 5] {
    [
        (Logistic {}.into(), true),
        (Hinge {}.into(), true),
        (Square {}.into(), false),
        (Absolute {}.into(), false),
        (quantile(0.9).into(), false),
    ]
}

/// Rows of some features out of `DIMENSION`, the first of which is always 1. Scales may grow by 10^12 on the way, labels by 10^20,
/// and importances are of any size.
fn stream(rows: u32, signs: bool, hostile: bool, seed: u64) -> Batch {
    let rng = &mut Rng::new(seed);
    let mut batch = Batch::default();
    for t in 0..rows {
        let share = f64::from(t) / f64::from(rows);
        let grown = if hostile { 10_f64.powf(12.0 * share) } else { 1.0 };
        let here: Vec<u32> = (0..DIMENSION as u32)
            .filter(|i| i.is_multiple_of(4) || rng.chance(0.3 + 0.05 * share))
            .collect();
        let value = |i: &u32, rng: &mut Rng| match i {
            0 => 1.0,
            _ => rng.bell() * if i.is_multiple_of(3) { grown } else { 1.0 } + 1e-9,
        };
        let values: Vec<f32> = here.iter().map(|i| value(i, rng) as f32).collect();
        let fourth = here.iter().position(|&i| i == 4).unwrap();
        let score = 0.5 + f64::from(values[fourth]) + 0.3 * rng.bell();
        let label = if signs { 1_f64.copysign(score) } else { score };
        let far = if hostile && !signs && (t + 1).is_multiple_of(97) { 1e20 } else { 1.0 };
        let importance = if hostile { 10_f64.powf(4.0 * rng.unit() - 2.0) } else { 1.0 };
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&here, &values, far * label, importance).unwrap();
    }
    batch
}

fn bytes(bank: &Bank) -> Vec<u8> {
    postcard::to_stdvec(bank).unwrap()
}

fn part(bank: Bank) -> BankPart {
    BankPart { bank, slices: 1 }
}

/// A base that learned from the first rows, and parts that went on with the others.
fn learned(loss: AnyLoss, batch: &Batch, parts: usize) -> (Bank, Vec<BankPart>, Vec<Round>) {
    let (mut base, mut rounds) = (Bank::new(loss).unwrap(), Vec::new());
    let rows = batch.rows();
    let cut = |k: usize| 20 + (rows.len() - 20) * k / parts;
    base.grow(DIMENSION);
    base.learn_rows(rows.slice(0..20), &mut rounds);
    let (mut all, mut played) = (rounds.clone(), Vec::new());
    for k in 0..parts {
        let mut bank = base.clone();
        bank.learn_rows(rows.slice(cut(k)..cut(k + 1)), &mut rounds);
        all.extend_from_slice(&rounds);
        played.push(part(bank));
    }
    (base, played, all)
}

#[test]
fn one_part_is_the_sequence() {
    for (loss, signs) in losses() {
        let batch = stream(300, signs, true, 1);
        let (base, parts, _) = learned(loss, &batch, 1);
        let (mut whole, mut rounds) = (Bank::new(loss).unwrap(), Vec::new());
        whole.grow(DIMENSION);
        whole.learn_rows(batch.rows(), &mut rounds);
        assert!(bytes(&base.merged(parts).unwrap()) == bytes(&whole), "{}", loss.name());
    }
}

#[test]
fn parts_without_rounds_change_nothing() {
    for (loss, signs) in losses() {
        let batch = stream(300, signs, false, 2);
        let (base, parts, _) = learned(loss, &batch, 2);
        let mut more = parts.clone();
        more.insert(1, part(base.clone()));
        let expected = bytes(&base.merged(parts).unwrap());
        assert!(bytes(&base.merged(more).unwrap()) == expected, "{}", loss.name());
        let idle = vec![part(base.clone()), part(base.clone())];
        assert!(bytes(&base.merged(idle).unwrap()) == bytes(&base));
        assert!(bytes(&base.merged(Vec::new()).unwrap()) == bytes(&base));
    }
}

#[test]
fn the_numbering_of_features_makes_no_difference() {
    let forth: Vec<u32> = (0..DIMENSION as u32).map(|i| (5 * i + 3) % DIMENSION as u32).collect();
    let back: Vec<u32> =
        (0..DIMENSION as u32).map(|i| forth.iter().position(|&f| f == i).unwrap() as u32).collect();
    for (loss, signs) in losses() {
        let (mut base, mut parts, _) = learned(loss, &stream(300, signs, false, 3), 3);
        let expected = bytes(&base.merged(parts.clone()).unwrap());
        base.rearrange(&forth);
        parts.iter_mut().for_each(|part| part.bank.rearrange(&forth));
        let mut merged = base.merged(parts).unwrap();
        merged.rearrange(&back);
        assert!(bytes(&merged) == expected, "{}", loss.name());
    }
}

/// Merged banks are sound on any stream, go on when they are stored, and can be merged again.
#[test]
fn merged_banks_go_on_whatever_comes() {
    for (loss, signs) in losses() {
        for seed in 4..8 {
            let fresh = Bank::new(loss).unwrap();
            let mut bank = learned(loss, &stream(40, signs, true, seed), 1).1.remove(0).bank;
            for round in 0..6 {
                let parts = (0..5).map(|k| {
                    let mut bank = bank.clone();
                    let rows = stream(30 << round, signs, true, seed + 10 * k + 100 * round);
                    bank.learn_rows(rows.rows(), &mut Vec::new());
                    part(bank)
                });
                bank = bank.merged(parts.collect()).unwrap();
                assert!(bank.continues(&fresh), "{} {seed} {round}", loss.name());
            }
            let mut restored: Bank = postcard::from_bytes(&bytes(&bank)).unwrap();
            let (mut one, mut other) = (Vec::new(), Vec::new());
            let rows = stream(50, signs, true, seed);
            bank.learn_rows(rows.rows(), &mut one);
            restored.learn_rows(rows.rows(), &mut other);
            assert_eq!(one, other);
            assert!(one.iter().all(Round::is_finite), "{}", loss.name());
            assert!(bytes(&bank) == bytes(&restored));
        }
    }
}

/// A random u on the surface of the ball.
fn comparator(ledger: &Ledger, radius: f64, rng: &mut Rng) -> Vec<f64> {
    let ruler = ledger.coordinates().ruler().unwrap();
    let direction = rng.direction(DIMENSION);
    let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt() * (1.0 + 1e-12);
    let scale = |(d, &n): (&f64, &f32)| radius * d / length / f64::from(n);
    direction.iter().zip(ruler.largest()).map(scale).collect()
}

/// What the witnesses of merged banks say is true of all rounds, in one level and in two.
#[test]
fn merged_witnesses_speak_of_all_rounds() {
    for (loss, signs) in losses() {
        for hostile in [false, true] {
            let batch = stream(420, signs, hostile, 9);
            let (base, parts, rounds) = learned(loss, &batch, 8);
            let groups = parts.chunks(3).map(|group| {
                let bank = base.merged(group.to_vec()).unwrap();
                BankPart { bank, slices: group.len() as u64 }
            });
            let levels = base.merged(groups.collect()).unwrap();
            let flat = base.merged(parts.clone()).unwrap();
            for bank in [flat, levels] {
                assert_eq!(bank.rounds(), 420);
                let rng = &mut Rng::new(11);
                for radius in [0.3, 1.0, 3.0, 10.0, 30.0] {
                    let ball = UnitFree { radius: positive(radius) };
                    let mut ledger = Ledger::new(loss, ball);
                    ledger.record_rows(batch.rows(), &rounds).unwrap();
                    let said = bank.testify(ledger.comparators(), ledger.coordinates());
                    let floor = said.iter().map(Testimony::floor).fold(f64::MIN, f64::max);
                    for _ in 0..30 {
                        let largest =
                            if signs { 1.0 } else { ledger.coordinates().ruler().unwrap().label() };
                        let u = comparator(&ledger, radius * largest, rng);
                        let lost: f64 = batch
                            .iter()
                            .map(|row| Round::on(&loss, row.features.dot(&u), &row).value)
                            .sum();
                        assert!(
                            floor <= lost * (1.0 + 1e-12),
                            "{} {radius}: {floor} {lost}",
                            loss.name()
                        );
                    }
                }
                assert!(bank.promise_within(1.0).theorem.is_err() && bank.mixing_cost().is_none());
            }
        }
    }
}

/// Sums that are really of all rounds: the slopes of the merged witnesses are those of the base and
/// of what every part has added.
#[test]
fn merged_slopes_are_the_sum_over_all_parts() {
    let (base, parts, _) = learned(Logistic {}.into(), &stream(300, true, false, 12), 4);
    let merged = base.merged(parts.clone()).unwrap();
    for (witness, minorant) in merged.witnesses().enumerate() {
        let of = |bank: &Bank| bank.witnesses().nth(witness).unwrap();
        let from = of(&base);
        for cell in 0..DIMENSION {
            let at = |bank: &Bank| of(bank).slopes()[cell];
            let added: f64 = parts.iter().map(|part| at(&part.bank) - from.slopes()[cell]).sum();
            let (sum, found) = (from.slopes()[cell] + added, minorant.slopes()[cell]);
            assert!((sum - found).abs() < 1e-9 * (1.0 + sum.abs()), "{sum} {found}");
        }
        let added: f64 = parts.iter().map(|part| of(&part.bank).offset() - from.offset()).sum();
        assert!((minorant.offset() - from.offset() - added).abs() < 1e-9);
    }
}

/// Parts merged in rounds predict new rows nearly as well as the sequence does.
#[test]
fn merging_costs_little() {
    for (loss, signs) in losses() {
        let (rows, test) = (stream(4000, signs, false, 13), stream(1000, signs, false, 14));
        let mut whole = Bank::new(loss).unwrap();
        whole.learn_rows(rows.rows(), &mut Vec::new());
        let mut merged = Bank::new(loss).unwrap();
        merged.learn_rows(rows.rows().slice(0..96), &mut Vec::new());
        for (from, length) in [(96, 61), (584, 122), (1560, 305)] {
            let parts = (0..8).map(|k| {
                let mut bank = merged.clone();
                let slice = from + k * length..from + (k + 1) * length;
                bank.learn_rows(rows.rows().slice(slice), &mut Vec::new());
                part(bank)
            });
            merged = merged.merged(parts.collect()).unwrap();
        }
        assert_eq!(merged.rounds(), 4000);
        let risk = |bank: &Bank| -> f64 {
            let lost =
                test.iter().map(|row| Round::on(&loss, bank.predict(&row.features), &row).value);
            lost.sum::<f64>() / 1000.0
        };
        let (own, best) = (risk(&merged), risk(&whole));
        assert!(own < 1.03 * best, "{}: {own} against {best}", loss.name());
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let (base, parts, _) = learned(Logistic {}.into(), &stream(100, true, false, 15), 2);
    let other = learned(Square {}.into(), &stream(100, false, false, 15), 2);
    assert_eq!(base.merged(other.1.clone()).unwrap_err(), MergeError::DifferentLoss);
    assert_eq!(parts[0].bank.merged(vec![part(base)]).unwrap_err(), MergeError::DifferentBase);
    let fresh = Bank::new(Square {}.into()).unwrap();
    assert_eq!(
        fresh
            .merged(vec![other.1[0].clone(), {
                let mut bank = fresh.clone();
                bank.learn_rows(stream(9, false, false, 16).rows(), &mut Vec::new());
                part(bank)
            }])
            .unwrap_err(),
        MergeError::NoFirstLabel
    );
}
