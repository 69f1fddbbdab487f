//! Tests for all figures: weights act as repetitions, parts add up, and data read back is checked.

use super::*;
use crate::batch::Batch;
use crate::loss::{Absolute, Hinge, Square};
use crate::number::Importance;

/// Rows of two classes or of numbers, with importances 0, 1, 2 and 3, and a score for each.
fn rows(labels: Labels, count: u32) -> (Batch, Vec<f64>) {
    let (mut rows, mut scores) = (Batch::default(), Vec::new());
    for t in 0..count {
        let die = t.wrapping_mul(2_654_435_761) >> 8;
        let label = match labels {
            Labels::Signs => f64::from(die % 2) * 2.0 - 1.0,
            Labels::Numbers => f64::from(die % 1000) / 8.0,
        };
        let importance = Importance::new(f64::from(t % 4)).unwrap();
        rows.push_weighted(&[0], &[1.0], label, importance).unwrap();
        scores.push(f64::from(die % 29) / 4.0 - 3.0 + 0.2 * label);
    }
    (rows, scores)
}

/// The same rows, each repeated as often as its importance says.
fn repeated((rows, scores): &(Batch, Vec<f64>)) -> (Batch, Vec<f64>) {
    let (mut each, mut said) = (Batch::default(), Vec::new());
    for (row, &score) in rows.iter().zip(scores) {
        for _ in 0..row.importance.get() as usize {
            each.push(&[0], &[1.0], row.label).unwrap();
            said.push(score);
        }
    }
    (each, said)
}

fn card(fresh: &Scorecard, (rows, scores): &(Batch, Vec<f64>)) -> Scorecard {
    let mut card = fresh.clone();
    let rounds = rounds(&fresh.loss, rows, scores);
    card.observe_rows(rows.rows(), &rounds);
    card
}

fn rounds(loss: &AnyLoss, rows: &Batch, scores: &[f64]) -> Vec<Round> {
    rows.iter().zip(scores).map(|(row, &score)| Round::on(loss, score, &row)).collect()
}

fn fresh() -> Vec<Scorecard> {
    let all = [AnyLoss::from(Hinge {}), Logistic {}.into(), Square {}.into(), Absolute {}.into()];
    all.into_iter().map(|loss| Scorecard::new(loss).with_sketches()).collect()
}

/// Every number that a scorecard gives.
fn said(card: &Scorecard) -> Vec<f64> {
    let mut all = vec![card.weight(), card.lost()];
    all.extend(card.best_constant().iter().flat_map(|b| [b.value, b.loss.lower, b.loss.upper]));
    all.extend(card.predictions().iter().flat_map(|&(low, high)| [low, high]));
    if let Some(all_outcomes) = card.outcomes() {
        let rates = [Outcomes::error_rate, Outcomes::precision, Outcomes::recall, Outcomes::f1];
        all.extend(rates.iter().filter_map(|rate| rate(&all_outcomes)));
        all.extend(all_outcomes.majority_error_rate());
        all.push(all_outcomes.ties);
    }
    all.extend(card.auc().iter().flat_map(|auc| [auc.lower, auc.upper]));
    if let Some(calibration) = card.calibration() {
        all.extend([calibration.log_loss(), calibration.brier(), calibration.error()]);
        all.extend(calibration.bins().iter().flat_map(|b| [b.weight, b.predicted, b.observed]));
    }
    all
}

fn assert_alike(one: &Scorecard, other: &Scorecard, what: &str) {
    let (one, other) = (said(one), said(other));
    assert_eq!(one.len(), other.len(), "{what}");
    for (a, b) in one.iter().zip(&other) {
        assert!((a - b).abs() <= 1e-12 * a.abs().max(1e-3), "{what}: {a} {b}");
    }
}

#[test]
fn a_row_of_importance_two_is_the_row_twice_in_every_figure() {
    for fresh in fresh() {
        let rows = rows(fresh.loss.labels(), 600);
        let (one, other) = (card(&fresh, &rows), card(&fresh, &repeated(&rows)));
        assert_eq!((one.examples(), other.examples()), (450, 900));
        assert_alike(&one, &other, &fresh.loss.to_string());
    }
}

#[test]
fn parts_add_up_to_the_whole() {
    for fresh in fresh() {
        let all = repeated(&rows(fresh.loss.labels(), 600));
        let whole = card(&fresh, &all);
        let (mut front, mut back) = (fresh.clone(), fresh.clone());
        let rounds = rounds(&fresh.loss, &all.0, &all.1);
        front.observe_rows(all.0.rows().slice(0..250), &rounds[..250]);
        back.observe_rows(all.0.rows().slice(250..900), &rounds[250..]);
        front.merge(&back);
        assert_eq!(front.examples(), whole.examples());
        assert_eq!(front.outcomes(), whole.outcomes());
        assert_alike(&front, &whole, &fresh.loss.to_string());
    }
}

#[test]
fn how_rows_come_makes_no_difference() {
    for fresh in fresh() {
        let all = rows(fresh.loss.labels(), 9000);
        let rounds = rounds(&fresh.loss, &all.0, &all.1);
        let mut pieces = fresh.clone();
        for from in (0..9000).step_by(7) {
            let to = (from + 7).min(9000);
            pieces.observe_rows(all.0.rows().slice(from..to), &rounds[from..to]);
        }
        assert_eq!(pieces, card(&fresh, &all));
    }
}

#[test]
fn what_is_read_back_is_compared_with_what_began() {
    let all = fresh();
    for (place, begun) in all.iter().enumerate() {
        let state = card(begun, &rows(begun.loss.labels(), 100));
        assert!(state.continues(begun, 75) && !state.continues(begun, 74));
        for (other, fresh) in all.iter().enumerate() {
            assert_eq!(state.continues(fresh, 75), place == other);
        }
        assert!(!state.continues(&Scorecard::new(begun.loss), 75) || begun.loss.is_square());
    }
}

#[test]
fn probabilities_are_judged_whatever_the_loss() {
    let rows = rows(Labels::Signs, 300);
    let by_hinge = card(&Scorecard::new(Hinge {}).with_probabilities(), &rows);
    let by_logistic = card(&Scorecard::new(Logistic {}), &rows);
    let (one, other) = (by_hinge.calibration().unwrap(), by_logistic.calibration().unwrap());
    assert!((one.log_loss() - other.log_loss()).abs() < 1e-14);
    assert!((one.brier() - other.brier()).abs() < 1e-14);
    assert!((by_logistic.lost() / by_logistic.weight() - other.log_loss()).abs() < 1e-14);
    assert_eq!(card(&Scorecard::new(Hinge {}), &rows).calibration(), None);
}

/// Counts are added up in integers where they are whole numbers, and one by one where a weight was
/// not. However rows are cut, the bits are the same.
#[test]
fn how_rows_are_cut_changes_no_count() {
    let (ones, mut said) = repeated(&rows(Labels::Signs, 400));
    said[5] = 0.0;
    let mut odd = Batch::default();
    let third = Importance::new(1.0 / 3.0).unwrap();
    for (row, importance) in ones.iter().zip([third, Importance::ONE].into_iter().cycle()) {
        odd.push_weighted(&[0], &[1.0], row.label, importance).unwrap();
    }
    let loss = AnyLoss::from(Hinge {});
    let (plain, weighed) = (rounds(&loss, &ones, &said), rounds(&loss, &odd, &said));
    for has_odd in [false, true] {
        let cut = |piece: usize| {
            let mut card = Scorecard::new(loss);
            if has_odd {
                card.observe_rows(odd.rows(), &weighed);
            }
            for from in (0..ones.len()).step_by(piece) {
                let to = ones.len().min(from + piece);
                card.observe_rows(ones.rows().slice(from..to), &plain[from..to]);
            }
            card
        };
        assert_eq!(cut(ones.len()), cut(1));
        assert_eq!(cut(7), cut(1));
        assert!(cut(1).outcomes().unwrap().ties > 0.0);
    }
}
