//! The names and the numbers of columns do not change the results.

use crate::figures::{Agree, ROUNDING, assert_same, assert_solved_alike};
use crate::harness::Desk;
use crate::ladder::assert_in_order;
use crate::setups::{Setup, setups};
use crate::stream::{
    LOSSES, Labels, Loss, csv, libsvm, own, predictions, race, spread, stream, vw, weighted,
};

/// Writes a stream whose columns have the numbers 1, 2, 3, …, the same stream with numbers far
/// apart, and predictions for it.
fn near_and_far(desk: &Desk, labels: Labels, seed: u64) {
    let rows = stream(labels, 50, seed);
    desk.put("near", libsvm(&rows, own));
    desk.put("far", libsvm(&rows, spread));
    desk.put("predictions", predictions(&rows));
}

/// All runs whose set does not grow with the numbers of the columns.
fn same_anywhere(loss: Loss) -> impl Iterator<Item = Setup> {
    setups(loss).into_iter().filter(|setup| !setup.fills_space())
}

#[test]
fn runs_do_not_mind_columns_that_lie_far_apart() {
    for loss in LOSSES {
        let desk = Desk::new();
        near_and_far(&desk, loss.labels, 21);
        for setup in same_anywhere(loss) {
            let near = desk.run(&setup.line(&desk, "near", own));
            let far = desk.run(&setup.line(&desk, "far", spread));
            assert_same(&near, &far, ROUNDING, &format!("{setup:?}"));
        }
    }
}

#[test]
fn nor_do_looks_back() {
    for loss in LOSSES {
        let desk = Desk::new();
        near_and_far(&desk, loss.labels, 22);
        for setup in same_anywhere(loss).filter(|setup| !setup.has_sides()) {
            let back = "--hindsight --curve-hindsight";
            let near = desk.run(&format!("{} {back}", setup.line(&desk, "near", own)));
            let far = desk.run(&format!("{} {back}", setup.line(&desk, "far", spread)));
            assert_solved_alike(&near, &far, &format!("{setup:?}"));
            assert_in_order(&far, &format!("{setup:?}"));
        }
        for set in ["--radius 2", "--sigma 0.25", "--radius 2 --keep 0", "--radius 2 --no-constant"]
        {
            let [near, far] = ["near", "far"]
                .map(|file| desk.json(&format!("hindsight {file} {} {set}", loss.flags)));
            // Without a constant, the numbers of the columns begin at 1 in one file. The solver is
            // shown no column 0.
            assert_same(&near, &far, Agree::Exactly, &format!("{} {set}", loss.flags));
        }
    }
}

#[test]
fn nor_do_audits() {
    for loss in LOSSES {
        let desk = Desk::new();
        near_and_far(&desk, loss.labels, 23);
        let flags = format!("--predictions predictions {} --radius 2 --window 7", loss.flags);
        for more in ["", "--no-constant", "--hindsight"] {
            let [near, far] =
                ["near", "far"].map(|file| desk.json(&format!("audit {file} {flags} {more}")));
            assert_same(&near, &far, ROUNDING, &format!("{flags} {more}"));
        }
    }
}

#[test]
fn nor_do_predictions() {
    let desk = Desk::new();
    near_and_far(&desk, Labels::Classes, 24);
    let [near, far] = ["near", "far"].map(|file| {
        desk.text(&format!("run {file} --save model -q"));
        desk.text(&format!("predict model {file}"))
    });
    assert_eq!(near, far);
}

fn letters(column: u32) -> String {
    ["a", "b", "c", "d", "e"][column as usize - 1].to_owned()
}

/// Other names, whose order is different by hash and by the alphabet.
pub(crate) fn others(column: u32) -> String {
    format!("the-{}th", 17 * (9 - column))
}

/// Checks that two files that differ in names only give the same figures.
fn assert_names_do_not_matter(desk: &Desk, files: [&str; 2], labels: Labels, read: &str) {
    for loss in LOSSES.into_iter().filter(|loss| loss.labels == labels) {
        for setup in same_anywhere(loss).filter(|setup| !setup.has_sides()) {
            let [one, other] =
                files.map(|file| desk.run(&setup.line(desk, &format!("{file} {read}"), own)));
            assert_same(&one, &other, setup.in_any_order(), &format!("{setup:?}"));
        }
        let flags = format!("--predictions predictions {} --radius 2 --window 7", loss.flags);
        let [one, other] = files.map(|file| desk.json(&format!("audit {file} {read} {flags}")));
        assert_same(&one, &other, ROUNDING, &flags);
    }
}

#[test]
fn names_of_features_do_not_matter() {
    for labels in [Labels::Classes, Labels::Numbers] {
        let desk = Desk::new();
        let rows = weighted(stream(labels, 50, 25));
        desk.put("one.vw", vw(&rows, letters));
        desk.put("other.vw", vw(&rows, others));
        desk.put("predictions", predictions(&rows));
        assert_names_do_not_matter(&desk, ["one.vw", "other.vw"], labels, "--bits 12");
    }
}

#[test]
fn names_of_columns_do_not_matter() {
    for labels in [Labels::Classes, Labels::Numbers] {
        let desk = Desk::new();
        let rows = stream(labels, 50, 26);
        desk.put("one.csv", csv(&rows, letters));
        desk.put("other.csv", csv(&rows, others));
        desk.put("predictions", predictions(&rows));
        assert_names_do_not_matter(&desk, ["one.csv", "other.csv"], labels, "--label y --bits 12");
    }
}

/// Norms are sums over all coordinates. Zeros between the coordinates must not change the last bit.
#[test]
fn figures_of_columns_far_apart_are_the_same_to_the_last_bit() {
    for loss in LOSSES {
        let desk = Desk::new();
        near_and_far(&desk, loss.labels, 61);
        for setup in same_anywhere(loss) {
            let near = desk.run(&setup.line(&desk, "near", own));
            let far = desk.run(&setup.line(&desk, "far", spread));
            assert_same(&near, &far, Agree::Exactly, &format!("{setup:?}"));
        }
        let flags = format!("--predictions predictions {} --radius 2 --window 7", loss.flags);
        let [near, far] = ["near", "far"].map(|file| desk.json(&format!("audit {file} {flags}")));
        assert_same(&near, &far, Agree::Exactly, &flags);
        let [near, far] =
            ["near", "far"].map(|file| desk.json(&format!("race {file} {}", race(loss))));
        assert_same(&near, &far, Agree::Exactly, &race(loss));
    }
}

#[test]
fn looks_back_at_columns_far_apart_are_the_same_to_the_last_bit() {
    for loss in LOSSES {
        let desk = Desk::new();
        near_and_far(&desk, loss.labels, 65);
        for setup in same_anywhere(loss).filter(|setup| !setup.has_sides()) {
            let back = "--hindsight --curve-hindsight";
            let near = desk.run(&format!("{} {back}", setup.line(&desk, "near", own)));
            let far = desk.run(&format!("{} {back}", setup.line(&desk, "far", spread)));
            assert_same(&near, &far, Agree::Exactly, &format!("{setup:?}"));
        }
    }
}

/// A box also has coordinates that no column uses, and the promise of a learner must not depend on
/// them.
#[test]
fn a_box_is_measured_where_columns_are() {
    for loss in LOSSES {
        let desk = Desk::new();
        near_and_far(&desk, loss.labels, 64);
        for setup in setups(loss).iter().filter(|setup| setup.fills_space()) {
            let near = desk.run(&setup.line(&desk, "near", own));
            let far = desk.run(&setup.line(&desk, "far", spread));
            assert_same(&near, &far, ROUNDING, &format!("{setup:?}"));
        }
    }
}

/// The sides of a box stay with their columns.
#[test]
fn sides_of_a_box_stay_with_columns_far_apart() {
    for loss in LOSSES {
        let desk = Desk::new();
        near_and_far(&desk, loss.labels, 62);
        for setup in setups(loss).iter().filter(|setup| setup.has_sides()) {
            let back = "--hindsight --curve-hindsight --tolerance 1e-6";
            let near = desk.run(&format!("{} {back}", setup.line(&desk, "near", own)));
            let far = desk.run(&format!("{} {back}", setup.line(&desk, "far", spread)));
            assert_solved_alike(&near, &far, &format!("{setup:?}"));
            assert_in_order(&far, &format!("{setup:?}"));
        }
    }
}

/// Rows whose columns lie far apart keep their importances and the weights of their classes.
#[test]
fn rows_count_as_much_with_columns_far_apart() {
    for loss in LOSSES {
        let desk = Desk::new();
        let rows = weighted(stream(loss.labels, 50, 63));
        let far = |column| spread(column).to_string();
        desk.put("near.vw", vw(&rows, |column| column.to_string()));
        desk.put("far.vw", vw(&rows, far));
        let mut weights = vec![""];
        weights.extend((loss.labels == Labels::Classes).then_some("--positive-weight 3"));
        for weights in weights {
            let flags = format!("{} --radius 2 {weights} --tolerance 1e-6", loss.flags);
            let [near, far] =
                ["near.vw", "far.vw"].map(|file| desk.json(&format!("hindsight {file} {flags}")));
            assert_solved_alike(&near, &far, &flags);
        }
    }
}
