//! The same properties where labels name more than two classes.

use crate::columns::others;
use crate::figures::{
    Agree, ROUNDING, assert_overlap, assert_same, assert_scaled, assert_solved_alike, comparator,
    number, total,
};
use crate::harness::Desk;
use crate::ladder::assert_in_order;
use crate::scale::{FACTORS, examples, norms};
use crate::setups::setups_of_kinds;
use crate::stream::{
    Labels, Row, haunted, libsvm, own, repeated, scaled, shares, spread, stream, times, vw,
    weighted,
};
use crate::weights::{in_losses, scattered, side_by_side};

fn kinds(count: usize, seed: u64) -> Vec<Row> {
    stream(Labels::Kinds, count, seed)
}

/// Writes two forms of a stream as Vowpal Wabbit text, and the probabilities that a model gave.
fn two_forms(desk: &Desk, forms: [&[Row]; 2], names: [fn(u32) -> String; 2]) {
    for ((file, rows), name) in ["one", "other"].into_iter().zip(forms).zip(names) {
        desk.put(&format!("{file}.vw"), vw(rows, name));
        desk.put(&format!("{file}.csv"), shares(rows));
    }
}

/// What a command says about both forms.
fn of_both(desk: &Desk, command: &str, flags: &str) -> [serde_json::Value; 2] {
    ["one", "other"].map(|file| {
        let audit =
            if command == "audit" { format!("--predictions {file}.csv") } else { String::new() };
        desk.json(&format!("{command} {file}.vw --bits 12 {audit} {flags}"))
    })
}

#[test]
fn a_row_of_weight_2_is_the_row_twice() {
    let rows = weighted(kinds(40, 81));
    for name in [side_by_side as fn(u32) -> String, scattered] {
        let desk = Desk::new();
        two_forms(&desk, [&rows, &repeated(&rows)], [name; 2]);
        for setup in setups_of_kinds() {
            let flags = &setup.flags;
            let [one, other] = of_both(&desk, "hindsight", flags);
            assert_solved_alike(&one, &other, flags);
            let [one, other] = of_both(&desk, "run -q --hindsight", flags);
            assert_solved_alike(&one, &other, flags);
            let [one, other] = of_both(&desk, "audit", &format!("{flags} --hindsight"));
            assert_solved_alike(&one, &other, flags);
            for figure in ["sequential_risk", "certificate_own"] {
                let (one, other) = (total(&one, figure), total(&other, figure));
                assert!(ROUNDING.on(one, other), "{flags}\n{figure}: {one} and {other}");
            }
        }
    }
}

#[test]
fn a_weight_for_all_rows_is_another_unit_of_loss() {
    let (desk, rows) = (Desk::new(), weighted(kinds(60, 82)));
    two_forms(&desk, [&rows, &times(&rows, 4.0)], [side_by_side; 2]);
    let unit = |path: &str| if in_losses(path) { 4.0 } else { 1.0 };
    for setup in setups_of_kinds() {
        let flags = &setup.flags;
        let [one, other] = of_both(&desk, "audit", &format!("{flags} --window 7"));
        assert_scaled(&one, &other, Agree::Exactly, unit, flags);
        // To the bank, a row that counts four times is the evidence of four.
        if flags.contains("hinge") {
            let [one, other] = of_both(&desk, "run -q", flags);
            assert_scaled(&one, &other, Agree::Exactly, unit, flags);
        }
        let [one, other] = of_both(&desk, "hindsight", flags);
        assert_eq!([&one["converged"], &other["converged"]], [true, true], "{flags}");
        let (lower, upper) = comparator(&one);
        assert_overlap((4.0 * lower, 4.0 * upper), comparator(&other), flags);
    }
}

#[test]
fn a_row_of_weight_0_is_no_row() {
    let (desk, rows) = (Desk::new(), weighted(kinds(40, 83)));
    two_forms(&desk, [&rows, &haunted(&rows, Labels::Kinds)], [scattered; 2]);
    for setup in setups_of_kinds() {
        for command in ["run -q --hindsight", "hindsight", "audit --hindsight --window 7"] {
            let (command, more) = command.split_once(' ').unwrap_or((command, ""));
            let flags = format!("{} {more}", setup.flags);
            let [one, other] = of_both(&desk, command, &flags);
            assert_same(&one, &other, Agree::Exactly, &format!("{command} {flags}"));
        }
    }
}

#[test]
fn names_and_numbers_of_columns_do_not_matter() {
    let rows = weighted(kinds(50, 84));
    let far = |column| spread(column).to_string();
    for (name, is_in_order) in
        [(far as fn(u32) -> String, true), (others as fn(u32) -> String, false)]
    {
        let desk = Desk::new();
        two_forms(&desk, [&rows, &rows], [side_by_side, name]);
        for setup in setups_of_kinds() {
            let (flags, agree) = (&setup.flags, setup.in_any_order());
            let [one, other] = of_both(&desk, "run -q", flags);
            assert_same(&one, &other, if is_in_order { ROUNDING } else { agree }, flags);
            let [one, other] = of_both(&desk, "audit", &format!("{flags} --window 7"));
            assert_same(&one, &other, ROUNDING, flags);
            let [one, other] = of_both(&desk, "hindsight", flags);
            assert_solved_alike(&one, &other, flags);
        }
    }
}

#[test]
fn examples_have_no_units() {
    for factor in FACTORS {
        let (desk, rows) = (Desk::new(), kinds(60, 85));
        two_forms(&desk, [&rows, &scaled(&rows, factor as f32)], [side_by_side; 2]);
        for loss in ["softmax", "multiclass-hinge"] {
            for (command, more) in [("run", "-q"), ("audit", "--window 9")] {
                let said = |file: &str, radius: f64, ball: &str| {
                    let said = if command == "audit" { "--predictions one.csv" } else { "" };
                    let flags = format!("--comparators {ball} --radius {radius} --no-constant");
                    desk.json(&format!("{command} {file}.vw --loss {loss} {flags} {said} {more}"))
                };
                let what = format!("{command}, {loss}, times {factor}");
                let (one, other) = (said("one", 2.0, "ball"), said("other", 2.0 / factor, "ball"));
                assert_scaled(&one, &other, Agree::Exactly, norms(factor), &what);
                // Gradient descent has units.
                if loss == "softmax" || command == "audit" {
                    let [one, other] = ["one", "other"].map(|file| said(file, 2.0, "unit-free"));
                    assert_scaled(&one, &other, Agree::Exactly, examples(factor), &what);
                }
            }
            let best = |file: &str, flags: String| {
                desk.json(&format!("hindsight {file}.vw --loss {loss} --no-constant {flags}"))
            };
            for (ball, radius) in [("ball", 2.0 / factor), ("unit-free", 2.0)] {
                let one = best("one", format!("--comparators {ball} --radius 2"));
                let other = best("other", format!("--comparators {ball} --radius {radius}"));
                assert_solved_alike(&one, &other, &format!("{loss}, {ball}, times {factor}"));
            }
        }
    }
}

#[test]
fn rungs_are_in_order() {
    let (plain, heavy) = (kinds(50, 86), times(&weighted(kinds(50, 87)), 50.0));
    for rows in [plain, heavy] {
        let desk = Desk::new();
        two_forms(&desk, [&rows, &rows], [side_by_side, scattered]);
        let mut climbed = 0;
        for setup in setups_of_kinds() {
            let flags = &setup.flags;
            for report in of_both(&desk, "run -q --hindsight --curve-hindsight", flags) {
                climbed += assert_in_order(&report, flags);
            }
            for report in of_both(&desk, "audit", &format!("{flags} --hindsight")) {
                assert!(
                    number(&report, "regret.lower") <= number(&report, "certificate"),
                    "{flags}"
                );
            }
        }
        // The bank's theorem is about a ball without units, and that of gradient descent about one with
        // units.
        assert_eq!(climbed, 2 * (4 + 2 + 2 + 4));
    }
}

/// LIBSVM text has classes, too, and columns that lie far apart.
#[test]
fn columns_far_apart_have_the_same_best_matrix() {
    let (desk, rows) = (Desk::new(), kinds(50, 88));
    desk.put("near", libsvm(&rows, own));
    desk.put("far", libsvm(&rows, spread));
    for setup in setups_of_kinds() {
        for more in ["", "--keep 0", "--no-constant"] {
            let [near, far] = ["near", "far"]
                .map(|file| desk.json(&format!("hindsight {file} {} {more}", setup.flags)));
            assert_same(&near, &far, Agree::Exactly, &format!("{} {more}", setup.flags));
        }
    }
}
