//! Banks for many classes that learned side by side: merged they are one bank, whose witnesses speak
//! of all rounds.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use rueful_checks::Rng;
use rueful_core::classes::{ClassLedger, ClassRound};
use rueful_core::learner::{BankPart, MergeError, SoftmaxBank};
use rueful_core::{Batch, Comparators, Importance, Positive, Rows, UnitFree};

const DIMENSION: usize = 12;

/// Rows of some features out of `DIMENSION`, the first of which is always 1. Classes come one after
/// another. On hostile streams scales grow by 10^12, and importances are of any size.
fn stream(rows: u32, classes: u32, hostile: bool, seed: u64) -> Batch {
    let rng = &mut Rng::new(seed);
    let mut batch = Batch::default();
    for t in 0..rows {
        let share = f64::from(t) / f64::from(rows);
        let grown = if hostile { 10_f64.powf(12.0 * share) } else { 1.0 };
        let here: Vec<u32> =
            (0..DIMENSION as u32).filter(|i| i.is_multiple_of(4) || rng.chance(0.4)).collect();
        let value = |i: &u32, rng: &mut Rng| match i {
            0 => 1.0,
            _ => rng.bell() * if i.is_multiple_of(3) { grown } else { 1.0 } + 1e-9,
        };
        let values: Vec<f32> = here.iter().map(|i| value(i, rng) as f32).collect();
        let fourth = here.iter().position(|&i| i == 4).unwrap();
        let score = f64::from(values[fourth]) + 0.3 * rng.bell();
        let most = f64::from(classes.min(1 + 2 * classes * (t + 1) / rows));
        let class = ((0.5 + score / 4.0).clamp(0.0, 0.999) * most).floor();
        let importance = if hostile { 10_f64.powf(4.0 * rng.unit() - 2.0) } else { 1.0 };
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&here, &values, class, importance).unwrap();
    }
    batch
}

fn bytes(bank: &SoftmaxBank) -> Vec<u8> {
    postcard::to_stdvec(bank).unwrap()
}

fn part(bank: SoftmaxBank) -> BankPart<SoftmaxBank> {
    BankPart { bank, slices: 1 }
}

fn taught(bank: &SoftmaxBank, rows: Rows<'_>) -> SoftmaxBank {
    let mut bank = bank.clone();
    bank.learn_rows(rows, &mut Vec::new()).unwrap();
    bank
}

/// A base that learned from the first rows, and parts that went on with the others.
fn learned(batch: &Batch, parts: usize) -> (SoftmaxBank, Vec<BankPart<SoftmaxBank>>) {
    let rows = batch.rows();
    let cut = |k: usize| 20 + (rows.len() - 20) * k / parts;
    let mut base = SoftmaxBank::new();
    base.grow(DIMENSION);
    let base = taught(&base, rows.slice(0..20));
    let each = |k: usize| part(taught(&base, rows.slice(cut(k)..cut(k + 1))));
    let parts = (0..parts).map(each).collect();
    (base, parts)
}

#[test]
fn one_part_is_the_sequence() {
    for classes in [3, 8, 50] {
        let batch = stream(300, classes, true, 1);
        let (base, mut parts) = learned(&batch, 1);
        parts.push(part(base.clone()));
        let mut whole = SoftmaxBank::new();
        whole.grow(DIMENSION);
        let whole = taught(&whole, batch.rows());
        assert!(bytes(&base.merged(parts).unwrap()) == bytes(&whole), "{classes}");
        assert!(bytes(&base.merged(Vec::new()).unwrap()) == bytes(&base));
    }
}

#[test]
fn the_numbering_of_features_and_classes_makes_no_difference() {
    let forth: Vec<u32> = (0..DIMENSION as u32).map(|i| (5 * i + 3) % DIMENSION as u32).collect();
    let back: Vec<u32> =
        (0..DIMENSION as u32).map(|i| forth.iter().position(|&f| f == i).unwrap() as u32).collect();
    for classes in [3, 50] {
        let batch = stream(300, classes, false, 3);
        let (mut base, mut parts) = learned(&batch, 3);
        let expected = base.merged(parts.clone()).unwrap();
        base.rearrange(&forth);
        parts.iter_mut().for_each(|part| part.bank.rearrange(&forth));
        let mut merged = base.merged(parts).unwrap();
        merged.rearrange(&back);
        assert!(bytes(&merged) == bytes(&expected), "{classes}");
        let mut renamed = Batch::default();
        for row in batch.iter() {
            let label = f64::from(classes) - 1.0 - row.label;
            renamed.push(row.features.indices(), row.features.values(), label).unwrap();
        }
        let (base, parts) = learned(&renamed, 3);
        let other = base.merged(parts).unwrap();
        let x = batch.get(7).features;
        let (one, other) = (expected.predict(&x), other.predict(&x));
        assert_eq!(one.shares, other.shares);
    }
}

/// Merged banks are sound on any stream, go on when they are stored, and can be merged again.
#[test]
fn merged_banks_go_on_whatever_comes() {
    let fresh = SoftmaxBank::new();
    for (seed, classes) in [(4, 2), (5, 5), (6, 40)] {
        let mut bank = learned(&stream(40, classes, true, seed), 1).1.remove(0).bank;
        for round in 0..5 {
            let each = |k: u64| {
                let rows = stream(30 << round, classes, true, seed + 10 * k + 100 * round);
                part(taught(&bank, rows.rows()))
            };
            let parts: Vec<_> = (0..4).map(each).collect();
            bank = bank.merged(parts).unwrap();
            assert!(bank.continues(&fresh), "{classes} {seed} {round}");
        }
        let restored: SoftmaxBank = postcard::from_bytes(&bytes(&bank)).unwrap();
        assert!(restored.continues(&fresh) && bytes(&restored) == bytes(&bank));
        let rows = stream(50, classes, true, seed);
        let (one, other) = (taught(&bank, rows.rows()), taught(&restored, rows.rows()));
        assert!(bytes(&one) == bytes(&other));
        assert!(one.predict(&rows.get(3).features).shares.iter().all(|p| p.is_finite()));
    }
}

/// The loss of a matrix of weights in units of the ledger, of norm `radius`.
fn lost(batch: &Batch, ledger: &ClassLedger, radius: f64, classes: u32, rng: &mut Rng) -> f64 {
    let direction = rng.direction(DIMENSION * classes as usize);
    let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt() * (1.0 + 1e-12);
    let largest = ledger.ruler().unwrap().largest();
    let weight = |class: usize, i: u32| {
        radius * direction[class * DIMENSION + i as usize] / length / f64::from(largest[i as usize])
    };
    let of_row = |row: rueful_core::Example<'_>| {
        let x = || row.features.indices().iter().zip(row.features.values());
        let score = |class: usize| -> f64 {
            x().map(|(&i, &value)| weight(class, i) * f64::from(value)).sum()
        };
        let scores: Vec<f64> = (0..classes as usize).map(score).collect();
        let most = scores.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = scores.iter().map(|z| (z - most).exp()).sum();
        row.importance.get() * (most + sum.ln() - scores[row.label as usize])
    };
    batch.iter().map(of_row).sum()
}

/// What the witnesses of merged banks say is true of all rounds, in one level and in two.
#[test]
fn merged_witnesses_speak_of_all_rounds() {
    for (classes, hostile) in [(3, false), (4, true), (40, false), (36, true)] {
        let batch = stream(420, classes, hostile, 9);
        let (base, parts) = learned(&batch, 8);
        let groups = parts.chunks(3).map(|group| {
            let bank = base.merged(group.to_vec()).unwrap();
            BankPart { bank, slices: group.len() as u64 }
        });
        let levels = base.merged(groups.collect()).unwrap();
        let flat = base.merged(parts.clone()).unwrap();
        let ball = Comparators::from(UnitFree { radius: Positive::new(10.0).unwrap() });
        let mut ledger = ClassLedger::new(ball);
        let mut cells = Vec::new();
        let entered = ledger.enter(batch.rows(), &mut cells);
        let mut ruled = SoftmaxBank::new();
        let record =
            |example: &rueful_core::Example<'_>, round: &ClassRound, said: (&[u32], &[f64])| {
                ledger.record(example, round, said);
            };
        ruled.learn_rows_with(entered, record).unwrap();
        for bank in [flat, levels] {
            assert_eq!((bank.rounds(), bank.judge().rounds()), (420, 420));
            assert!(bank.mixing_cost().is_none());
            assert!(bank.promise(ledger.comparators()).theorem.is_err());
            let point = ledger.point(Some(bank.judge()));
            let rng = &mut Rng::new(11);
            for radius in [0.3, 1.0, 3.0, 10.0, 30.0] {
                let floor = point.floor(Positive::new(radius).unwrap());
                assert!(floor > f64::MIN);
                for _ in 0..20 {
                    let lost = lost(&batch, &ledger, radius, classes, rng);
                    assert!(floor <= lost * (1.0 + 1e-12), "{classes} {radius}: {floor} {lost}");
                }
            }
        }
    }
}

/// Parts merged in rounds predict new rows nearly as well as the sequence does.
#[test]
fn merging_costs_little() {
    for classes in [3, 6] {
        let (rows, test) = (stream(4000, classes, false, 13), stream(1000, classes, false, 14));
        let whole = taught(&SoftmaxBank::new(), rows.rows());
        let mut merged = taught(&SoftmaxBank::new(), rows.rows().slice(0..160));
        let (mut from, mut length) = (160, 80);
        while from < 4000 {
            let cut = |k: usize| (from + length * k).min(4000);
            let each = |k: usize| part(taught(&merged, rows.rows().slice(cut(k)..cut(k + 1))));
            let parts: Vec<_> = (0..4).map(each).collect();
            merged = merged.merged(parts).unwrap();
            (from, length) = (from + 4 * length, 2 * length);
        }
        let lost = |bank: &SoftmaxBank| -> f64 {
            let of =
                |row: rueful_core::Example<'_>| bank.predict(&row.features).of(row.label as u32);
            test.iter().map(|row| -of(row).ln()).sum::<f64>() / 1000.0
        };
        assert!(lost(&merged) < 1.05 * lost(&whole), "{} {}", lost(&merged), lost(&whole));
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (base, parts) = learned(&stream(300, 4, false, 1), 2);
    let older = SoftmaxBank::new();
    assert_eq!(base.merged(vec![part(older)]), Err(MergeError::DifferentBase));
    let other = learned(&stream(300, 4, false, 2), 1).1.remove(0);
    let other = BankPart { bank: SoftmaxBank::expecting(9), ..other };
    assert_eq!(parts[0].bank.merged(vec![other]), Err(MergeError::DifferentBase));
}
