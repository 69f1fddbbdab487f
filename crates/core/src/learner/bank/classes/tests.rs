use super::*;
use crate::batch::Batch;
use crate::number::Importance;
use rueful_machine::Plainly;

/// Rows of few features out of many, with this many classes that appear one after the other. If
/// there are many features, filters retire on the way. Units grow.
fn stream(rows: u32, dimension: u32, classes: u32) -> Batch {
    let mut batch = Batch::default();
    for t in 0..rows {
        let indices: Vec<u32> = (0..dimension).filter(|i| (t * (i + 7) + i * i) % 5 < 2).collect();
        let value = |i: &u32| ((t * 31 + i * 17) % 101) as f32 / 10.0 - 4.95;
        let values: Vec<f32> = indices.iter().map(value).collect();
        let class = (t * t + t / 3) % classes.min(1 + t / 4);
        let importance = if t % 11 == 5 { 2.5 } else { 1.0 };
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&indices, &values, f64::from(class), importance).unwrap();
    }
    batch
}

fn learned(batch: &Batch) -> (SoftmaxBank, Vec<ClassRound>) {
    let (mut bank, mut rounds) = (SoftmaxBank::new(), Vec::new());
    bank.learn_rows(batch.rows(), &mut rounds).unwrap();
    (bank, rounds)
}

fn bits(rounds: &[ClassRound]) -> Vec<(Option<u32>, u64, u64)> {
    let one = |r: &ClassRound| (r.predicted, r.probability.to_bits(), r.loss.to_bits());
    rounds.iter().map(one).collect()
}

/// Numbers of features and classes. Both may be small, and either may be large.
const SHAPES: [(u32, u32); 4] = [(3, 4), (30, 9), (100, 3), (40, 60)];

#[test]
fn wide_registers_change_no_bit() {
    for (dimension, classes) in SHAPES {
        let batch = stream(300, dimension, classes);
        let (wide, with) = learned(&batch);
        let (mut plain, mut without) = (SoftmaxBank::new(), Vec::new());
        plain.learn_rows_by::<Plainly>(batch.rows(), |_, round, _| without.push(*round)).unwrap();
        assert_eq!(bits(&with), bits(&without), "{dimension} features, {classes} classes");
        let json = |bank: &SoftmaxBank| serde_json::to_string(bank).unwrap();
        assert_eq!(json(&wide), json(&plain));
        assert!(wide.continues(&SoftmaxBank::new()));
    }
}

/// The results are the same in one go, row by row, and from a bank that was saved in the middle.
#[test]
fn pieces_and_pauses_change_no_bit() {
    for (dimension, classes) in SHAPES {
        let batch = stream(240, dimension, classes);
        let (whole, rounds) = learned(&batch);
        let (mut bank, mut found, mut buffer) = (SoftmaxBank::new(), Vec::new(), Vec::new());
        for row in 0..batch.len() {
            let said = bank.predict(&batch.get(row).features);
            bank.learn_rows(batch.rows().slice(row..row + 1), &mut buffer).unwrap();
            let given = said.of(batch.labels()[row] as u32);
            if given > 0.0 {
                assert_eq!(given.to_bits(), buffer[0].probability.to_bits(), "row {row}");
            }
            assert_eq!(said.likeliest(), buffer[0].predicted);
            let all: f64 = said.shares.iter().sum::<f64>() + said.unseen;
            assert!((all - 1.0).abs() < 1e-12, "{all}");
            found.append(&mut buffer);
            if row % 50 == 17 {
                let stored = serde_json::to_string(&bank).unwrap();
                bank = serde_json::from_str(&stored).unwrap();
                assert!(bank.continues(&SoftmaxBank::new()));
            }
        }
        assert_eq!(bits(&rounds), bits(&found));
        assert_eq!(whole, bank);
    }
}

#[test]
fn numbers_of_classes_and_units_of_columns_change_no_bit() {
    for (dimension, classes) in SHAPES {
        let batch = stream(240, dimension, classes);
        let mut other = Batch::default();
        let renamed = |class: f64| (class * 7.0 + 3.0) % f64::from(7 * classes + 10);
        for example in batch.iter() {
            let values =
                example.features.iter().map(|(i, x)| x as f32 * 2.0_f32.powi(i as i32 % 40 - 20));
            let values: Vec<f32> = values.collect();
            let indices = example.features.indices();
            other
                .push_weighted(indices, &values, renamed(example.label), example.importance)
                .unwrap();
        }
        let ((_, plain), (bank, scaled)) = (learned(&batch), learned(&other));
        for (one, two) in plain.iter().zip(&scaled) {
            assert_eq!(one.probability.to_bits(), two.probability.to_bits());
            assert_eq!(one.predicted.map(|c| renamed(c.into()) as u32), two.predicted);
        }
        assert!(bank.continues(&SoftmaxBank::new()));
    }
}

#[test]
fn a_row_that_does_not_count_is_not_there() {
    let batch = stream(120, 5, 4);
    let mut with_idle = Batch::default();
    for (row, example) in batch.iter().enumerate() {
        let (indices, values) = (example.features.indices(), example.features.values());
        if row % 3 == 1 {
            let class = f64::from(row as u32 % 2) * 900.0;
            with_idle.push_weighted(&[7], &[1e6], class, Importance::ZERO).unwrap();
        }
        with_idle.push_weighted(indices, values, example.label, example.importance).unwrap();
    }
    let ((plain, rounds), (idle, all)) = (learned(&batch), learned(&with_idle));
    let counted: Vec<ClassRound> = all
        .into_iter()
        .zip(with_idle.iter())
        .filter(|(_, e)| !e.importance.is_zero())
        .map(|(r, _)| r)
        .collect();
    assert_eq!(bits(&rounds), bits(&counted));
    assert_eq!(plain.classes(), idle.classes());
}

#[test]
fn new_classes_cost_what_is_said() {
    let mut batch = Batch::default();
    for class in [0.0, 0.0, 1.0, 0.0, 2.0] {
        batch.push(&[0], &[1.0], class).unwrap();
    }
    let (_, rounds) = learned(&batch);
    let escapes = [1.0, 1.5 / 2.0, 0.5 / 3.0, 1.5 / 4.0, 1.5 / 5.0];
    for row in [0, 2, 4] {
        assert!((rounds[row].probability - escapes[row]).abs() < 1e-15, "row {row}");
        assert!((rounds[row].loss + escapes[row].ln()).abs() < 1e-14);
        assert_ne!(rounds[row].predicted.map(f64::from), Some(batch.labels()[row]));
    }
    assert!((rounds[1].probability - (1.0 - escapes[1])).abs() < 1e-15, "there was one class only");
    let (mut bank, mut rounds) = (SoftmaxBank::expecting(3), Vec::new());
    bank.learn_rows(batch.rows(), &mut rounds).unwrap();
    assert!((rounds[2].probability - escapes[2] / 2.0).abs() < 1e-15);
    assert!((rounds[4].probability - escapes[4]).abs() < 1e-15);
    assert_eq!(bank.predict(&batch.get(0).features).unseen, 0.0);
    let mut more = Batch::default();
    more.push(&[0], &[1.0], 3.0).unwrap();
    let refused = bank.clone().learn_rows(more.rows(), &mut rounds);
    assert_eq!(refused, Err(ClassError::Unexpected { row: 0, class: 3, expected: 3 }));
    more.clear();
    more.push(&[0], &[1.0], 0.5).unwrap();
    assert!(matches!(bank.learn_rows(more.rows(), &mut rounds), Err(ClassError::Label { .. })));
}

/// Rows that were never seen are predicted one by one and all at once, before the first class and
/// after.
#[test]
fn many_rows_are_predicted_as_one_by_one() {
    for (dimension, classes) in SHAPES {
        let (bank, _) = learned(&stream(100, dimension, classes));
        let others = stream(40, dimension + 7, classes);
        for bank in [SoftmaxBank::new(), bank] {
            let mut seen = 0;
            bank.predict_rows(others.rows(), |example, (classes, shares), unseen| {
                let alone = bank.predict(&example.features);
                assert_eq!((alone.classes.as_slice(), alone.unseen), (classes, unseen));
                let all = shares.iter().map(|share| share * (1.0 - unseen));
                assert!(all.eq(alone.shares));
                seen += 1;
            });
            assert_eq!(seen, 40);
        }
    }
}

#[test]
fn contributions_add_up() {
    for (dimension, classes) in SHAPES {
        let batch = stream(200, dimension, classes);
        let (bank, _) = learned(&batch);
        for example in batch.iter().take(20) {
            let said = bank.predict(&example.features);
            for &class in bank.classes() {
                let added = bank.contributions(&example.features, class).unwrap();
                assert_eq!(added.len(), example.features.len() + 1);
                let share = said.of(class);
                let odds = (share / (1.0 - share)).ln();
                assert!((added.iter().sum::<f64>() - odds).abs() < 1e-6, "{odds}");
            }
        }
        assert_eq!(bank.contributions(&batch.get(0).features, 5000), None);
    }
}

/// The one feature that tells the classes apart adds the most to the right class.
#[test]
fn contributions_tell_what_matters() {
    let mut batch = Batch::default();
    for t in 0..400_u32 {
        let class = t * 7 % 5 % 3;
        let noise = ((t * 31) % 17) as f32 / 8.0 - 1.03;
        let mut values = [noise, 0.1, 0.1, 0.1, 1.0];
        values[1 + class as usize] = 1.0;
        batch.push(&[0, 1, 2, 3, 4], &values, f64::from(class)).unwrap();
    }
    let (bank, _) = learned(&batch);
    for row in 390..400 {
        let example = batch.get(row);
        let added = bank.contributions(&example.features, example.label as u32).unwrap();
        let most = (0..5).max_by(|&a, &b| added[a].total_cmp(&added[b]));
        assert_eq!(most, Some(1 + example.label as usize), "{added:?}");
    }
}

/// The weights tell the classes apart that the features do.
#[test]
fn weights_tell_what_matters() {
    let mut batch = Batch::default();
    for t in 0..400_u32 {
        let class = t * 7 % 5 % 3;
        let mut values = [0.1, 0.1, 0.1, 1.0];
        values[class as usize] = 100.0;
        batch.push(&[0, 1, 2, 3], &values, f64::from(class)).unwrap();
    }
    let (bank, _) = learned(&batch);
    let weights: Vec<_> = (0..3).map(|class| bank.weights(class).unwrap()).collect();
    for example in batch.iter().skip(300) {
        let score =
            |class: usize| example.features.iter().map(|(i, x)| weights[class][i] * x).sum();
        let scores: [f64; 3] = std::array::from_fn(score);
        let best = (0..3).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        assert_eq!(best, Some(example.label as usize), "{scores:?}");
    }
    assert_eq!(bank.weights(3), None);
}

/// Values, importances and classes of any size and in any order leave every number finite.
#[test]
fn hostile_streams_leave_it_sound() {
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    for shape in 0..6 {
        let mut batch = Batch::default();
        for _ in 0..400 {
            let dimension = [2, 6, 90][shape % 3];
            let (mut indices, mut values) = (Vec::new(), Vec::new());
            for index in 0..dimension {
                let power = (random() % 250) as i32 - 125;
                let value = 2.0_f64.powi(power) as f32 * if random() % 2 == 0 { 1.0 } else { -1.0 };
                if random() % 3 > 0 && value != 0.0 {
                    indices.push(index);
                    values.push(if shape < 3 { value } else { value.signum() });
                }
            }
            let power = (random() % 60) as i32 - 30;
            let importance = Importance::new(10.0_f64.powi(power.clamp(-29, 29))).unwrap();
            let class = random() % [2, 5, 40][shape % 3];
            batch.push_weighted(&indices, &values, class as f64, importance).unwrap();
        }
        let (bank, rounds) = learned(&batch);
        let wrong = rounds.iter().position(|r| !(r.loss.is_finite() && r.probability > 0.0));
        assert_eq!(wrong, None, "shape {shape}: {:?}", wrong.map(|at| rounds[at]));
        assert!(bank.continues(&SoftmaxBank::new()), "shape {shape}");
    }
}

/// The data-dependent bound, for comparators of radius 1 without units.
fn promised(bank: &SoftmaxBank) -> f64 {
    let radius = crate::number::Positive::ONE;
    bank.promise(&crate::comparators::UnitFree { radius }.into()).data.unwrap().total
}

/// Rows without features of the classes 0 and 1.
fn two_classes() -> SoftmaxBank {
    let mut batch = Batch::default();
    (0..20_u32).for_each(|t| batch.push(&[], &[], f64::from(t % 2)).unwrap());
    learned(&batch).0
}

/// A class that comes late, with a large importance, costs far more than equal probabilities would.
#[test]
fn new_classes_are_paid_for() {
    let mut batch = Batch::default();
    (0..40).for_each(|_| batch.push(&[], &[], 0.0).unwrap());
    batch.push_weighted(&[], &[], 1.0, Importance::new(1000.0).unwrap()).unwrap();
    let (bank, rounds) = learned(&batch);
    let lost: f64 = rounds.iter().map(|round| round.loss).sum();
    // u = 0 loses ln 2 at most.
    let regret = lost - 1040.0 * std::f64::consts::LN_2;
    assert!(regret > 1000.0 && promised(&bank) >= regret, "{regret} {}", promised(&bank));
}

/// After ten million rounds in which a witness was certain and right, the bank has lost half of the
/// pinch more than the witness in each.
#[test]
fn pinches_are_paid_for() {
    let mut bank = two_classes();
    bank.rounds += 10_000_000;
    bank.costs.pinches -= 1e7 * ln(1.0 - PINCH);
    assert!(promised(&bank) >= 0.5 * PINCH * 1e7, "{}", promised(&bank));
}

/// The same for mixtures that were a unit in the last place of singles too small, for 2³⁴ rounds.
#[test]
fn singles_are_paid_for() {
    let mut bank = two_classes();
    let (rounds, unit) = (1_u64 << 34, f64::from(f32::EPSILON));
    bank.rounds += rounds;
    bank.costs.roundings -= rounds as f64 * ln(1.0 - unit);
    assert!(promised(&bank) >= rounds as f64 * unit, "{}", promised(&bank));
}

/// If the mixture of every round is half a unit in the last place too small, that makes more in the
/// end than ln(1/π) + ln T.
#[test]
fn a_rounding_in_every_round_is_allowed_for() {
    let mut bank = two_classes();
    bank.rounds = 1 << 62;
    assert!(promised(&bank) >= 0.5 * f64::EPSILON * bank.rounds as f64, "{}", promised(&bank));
}
