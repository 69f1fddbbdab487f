//! Bounds hold for numbers of any size: very small ones, very large ones, and sums that cancel.

use crate::figures::{Agree, assert_overlap, comparator, number, total};
use crate::harness::Desk;
use crate::stream::{Labels, libsvm, own, predictions, stream};

/// ln(1 + e^(−score)) for a score above 40, where it is e^(−score) to the last bit.
fn small_logistic_loss(score: f64) -> f64 {
    (-score).exp()
}

/// The scores are so large that the squares of their slopes underflow. A predictor with even larger
/// scores loses less.
#[test]
fn sure_scores_do_not_beat_surer_ones() {
    for sign in [1.0, -1.0] {
        for scores in [&[400.0][..], &[380.0, 390.0, 400.0], &[360.0, 700.0]] {
            let desk = Desk::new();
            desk.put("rows", format!("{sign} 1:{sign}\n").repeat(scores.len()));
            let said: String = scores.iter().map(|score| format!("{}\n", sign * score)).collect();
            desk.put("said", said);
            let flags = "--loss logistic --radius 1000 --no-constant --window 1 --hindsight";
            let report = desk.json(&format!("audit rows --predictions said {flags}"));
            let lost: f64 = scores.iter().map(|&score| small_logistic_loss(score)).sum();
            // u = 1000 loses less than the smallest double in every row.
            assert!(total(&report, "certificate") >= 0.999 * lost, "{scores:?}: {report}");
            assert!(total(&report, "regret.upper") >= 0.999 * lost, "{scores:?}: {report}");
            assert_eq!(report["beats_every_linear_predictor"], false, "{scores:?}");
            for window in report["windows"].as_array().expect("windows") {
                assert!(number(window, "certificate") >= 0.0, "{scores:?}: {window}");
            }
        }
    }
}

/// The regret of linear losses, Σ c_t p_t + U‖Σ c_t x_t‖, without a constant feature.
fn linear_regret(rows: &[crate::stream::Row], radius: f64) -> f64 {
    let lost: f64 = rows.iter().map(|row| row.label * row.prediction).sum();
    let slope = |column| {
        let terms = rows.iter().map(|row| row.label * f64::from(crate::stream::cell(row, column)));
        terms.sum::<f64>()
    };
    let slopes = (1..=crate::stream::COLUMNS).map(slope);
    lost + radius * slopes.map(|slope| slope * slope).sum::<f64>().sqrt()
}

/// If labels are multiplied by a power of two, losses are in another unit, however small or large
/// it is.
#[test]
fn linear_losses_of_any_size_are_regretted_in_proportion() {
    let rows = stream(Labels::Numbers, 40, 81);
    let regret = linear_regret(&rows, 2.0);
    for exponent in [-900, -660, -500, 0, 100] {
        let unit = 2_f64.powi(exponent);
        let mut rows = rows.clone();
        rows.iter_mut().for_each(|row| row.label *= unit);
        let desk = Desk::new();
        desk.put("rows", libsvm(&rows, own));
        desk.put("said", predictions(&rows));
        let flags = "--loss linear --radius 2 --comparators ball --no-constant --hindsight";
        let report = desk.json(&format!("audit rows --predictions said {flags}"));
        let [proved, lower, upper] =
            ["certificate", "regret.lower", "regret.upper"].map(|key| total(&report, key) / unit);
        let what = format!("2^{exponent}: {regret} in [{lower}, {upper}], at most {proved}");
        assert!(proved >= regret * (1.0 - 1e-12), "{what}");
        assert_overlap((lower, upper), (regret, regret), &what);
        // The certificate must be close to the regret, so allowances for rounding must be small.
        // Only for tiny numbers they may be larger, because importances can multiply underflow
        // errors.
        assert!(unit < 1e-230 || Agree::Within(1e-6).on(proved, regret), "{what}");
    }
}

/// S = 10^17 + 1 − 10^17 is 1, and the best predictor loses −S²/(2σT).
#[test]
fn slopes_that_cancel_are_allowed_for_where_nothing_bounds_the_comparators() {
    let truth = -1.0 / (2.0 * 0.01 * 3.0);
    let desk = Desk::new();
    desk.put("rows", "1e17 1:1\n1 1:1\n-1e17 1:1\n");
    let flags = "--loss linear --sigma 0.01 --no-constant";
    let found = desk.json(&format!("hindsight rows {flags}"));
    assert_overlap(comparator(&found), (truth, truth), "hindsight");
    let report = desk.run(&format!("rows {flags} --learner strongly-convex-ogd --hindsight"));
    assert_overlap(comparator(&report), (truth, truth), "run");
}

/// The figures of a window do not suffer from large losses in earlier windows.
#[test]
fn a_window_is_not_lost_behind_large_losses() {
    for size in [1e10, 1e17, 1e40] {
        let desk = Desk::new();
        desk.put("rows", "0 1:1\n".repeat(16));
        let said = |row: u32| if row < 8 { size * (1.1 + f64::from(row)) } else { 1.0 };
        desk.put("said", (0..16).map(|row| format!("{}\n", said(row))).collect::<String>());
        let flags = "--loss square --window 4 --radius 1";
        let report = desk.json(&format!("audit rows --predictions said {flags}"));
        for window in &report["windows"].as_array().expect("windows")[2..] {
            let risk = number(window, "sequential_risk");
            assert!(Agree::Within(1e-9).on(risk, 1.0), "after losses of {size}²: {window}");
            // u = 0 loses nothing, and the model loses 1 in every round.
            assert!(number(window, "certificate") >= 1.0, "after losses of {size}²: {window}");
        }
    }
}
