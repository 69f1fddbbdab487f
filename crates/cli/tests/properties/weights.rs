//! A row of weight 2 counts like the same row twice. A weight for all rows changes the unit of
//! losses. A row of weight 0 does not count.

use crate::figures::{
    Agree, ROUNDING, assert_overlap, assert_same, assert_scaled, assert_solved_alike, comparator,
    number, total,
};
use crate::harness::Desk;
use crate::setups::{Setup, setups};
use crate::stream::{
    LOSSES, Labels, Row, haunted, learners, own, predictions, race, repeated, stream, times, vw,
    weighted,
};

/// Names of columns that are their numbers, so that the columns lie side by side.
pub(crate) fn side_by_side(column: u32) -> String {
    column.to_string()
}

/// Names of columns that are hashed, so that the columns lie scattered.
pub(crate) fn scattered(column: u32) -> String {
    format!("column{column}")
}

/// The file of weighted rows and the file of repeated rows, with the flags to read them. Few bits
/// make a small space of indices, for speed.
const BOTH: [&str; 2] = ["weighted.vw --bits 12", "repeated.vw --bits 12"];

/// Writes a file of rows with weights of 1, 2 and 3, a file in which each row is repeated as often
/// as it counts, and the predictions for both.
fn twice(desk: &Desk, labels: Labels, seed: u64, name: fn(u32) -> String) -> (Vec<Row>, Vec<Row>) {
    let rows = weighted(stream(labels, 40, seed));
    let each = repeated(&rows);
    for (file, rows) in [("weighted", &rows), ("repeated", &each)] {
        desk.put(&format!("{file}.vw"), vw(rows, name));
        desk.put(&format!("{file}.txt"), predictions(rows));
    }
    (rows, each)
}

/// Checks that both files have the same best predictor, in a ball, and over all predictors with
/// (σ/2)‖u‖² added to every loss. The file of repeated rows has more losses, so σ is smaller there.
fn assert_best_is_alike(seed: u64, name: fn(u32) -> String) {
    for loss in LOSSES {
        let desk = Desk::new();
        let (rows, each) = twice(&desk, loss.labels, seed, name);
        let sigmas = [0.25, 0.25 * rows.len() as f64 / each.len() as f64];
        let settings = [["--radius 2".to_owned(), "--radius 2".to_owned()]]
            .into_iter()
            .chain([sigmas.map(|sigma| format!("--sigma {sigma}"))]);
        for [one, other] in settings {
            // The data are kept in memory, or read anew in every pass.
            for keep in ["", "--keep 0"] {
                let flags = format!("{} --tolerance 1e-6 {keep}", loss.flags);
                let one = desk.json(&format!("hindsight {} {flags} {one}", BOTH[0]));
                let other = desk.json(&format!("hindsight {} {flags} {other}", BOTH[1]));
                assert_solved_alike(&one, &other, &flags);
            }
        }
    }
}

#[test]
fn the_best_predictor_of_rows_that_count_is_that_of_rows_repeated() {
    assert_best_is_alike(11, side_by_side);
}

/// Checks that runs on both files find the same best comparator, whatever the learner and the set
/// are.
fn assert_runs_look_back_alike(seed: u64, name: fn(u32) -> String) {
    for loss in LOSSES {
        let desk = Desk::new();
        twice(&desk, loss.labels, seed, name);
        // Setups with σ are left out, because (σ/2)‖u‖² counts once for each row.
        for setup in setups(loss).iter().filter(|setup| {
            !setup.flags.contains("sigma") && !setup.flags.contains("strongly-convex")
        }) {
            let [one, other] = BOTH.map(|file| {
                desk.run(&format!("{} --hindsight --tolerance 1e-6", setup.line(&desk, file, own)))
            });
            assert_solved_alike(&one, &other, &format!("{setup:?}"));
        }
    }
}

#[test]
fn runs_look_back_at_rows_that_count_as_at_rows_repeated() {
    assert_runs_look_back_alike(12, side_by_side);
}

/// The learners whose steps follow the size of the gradients. Learners with a σ do not, and neither
/// does FTRL-proximal, whose β = 1 is the size of a gradient. Importances multiply the C of
/// passive-aggressive learners. To the bank, a row that counts four times is the evidence of four.
fn scale_free(loss: crate::stream::Loss) -> impl Iterator<Item = Setup> {
    let with_units = ["strongly-convex-ogd", "ftrl", "bank"];
    let has_units = move |learner: &&str| {
        with_units.contains(learner) || learner.starts_with("passive-aggressive")
    };
    let learners = learners(loss).filter(move |learner| !has_units(learner));
    learners
        .map(move |learner| Setup::flags(format!("{} --learner {learner} --radius 2", loss.flags)))
}

/// Whether a figure is measured in units of loss. Rates, norms of examples and counts are not.
pub(crate) fn in_losses(path: &str) -> bool {
    [
        "sequential_risk",
        "certificate",
        "certificate_own",
        "bound.data",
        "bound.theorem",
        "gradient_norm_max",
        "mixing_cost",
        "counted.weight",
        "best_constant.loss.lower",
        "best_constant.loss.upper",
    ]
    .iter()
    .any(|unit| path.ends_with(unit))
        || path.contains(".confusion.")
        || (path.contains(".calibration.") && path.ends_with(".weight"))
}

#[test]
fn a_weight_for_all_rows_is_another_unit_of_loss() {
    for loss in LOSSES {
        let desk = Desk::new();
        let rows = weighted(stream(loss.labels, 60, 13));
        desk.put("once.vw", vw(&rows, side_by_side));
        for factor in [4.0, 0.5] {
            desk.put("times.vw", vw(&times(&rows, factor), side_by_side));
            let unit = |path: &str| if in_losses(path) { factor } else { 1.0 };
            for setup in scale_free(loss) {
                let [one, other] =
                    ["once.vw", "times.vw"].map(|file| desk.run(&setup.line(&desk, file, own)));
                assert_scaled(&one, &other, Agree::Exactly, unit, &format!("{setup:?}"));
            }
        }
    }
}

#[test]
fn a_weight_for_both_classes_is_another_unit_of_loss() {
    let desk = Desk::new();
    desk.put("data.vw", vw(&weighted(stream(Labels::Classes, 60, 14)), side_by_side));
    let unit = |path: &str| if in_losses(path) { 8.0 } else { 1.0 };
    for loss in LOSSES.into_iter().filter(|loss| loss.labels == Labels::Classes) {
        for Setup { flags, .. } in scale_free(loss) {
            let one = desk.run(&format!("data.vw {flags}"));
            let both = "--positive-weight 8 --negative-weight 8";
            let other = desk.run(&format!("data.vw {flags} {both}"));
            assert_scaled(&one, &other, Agree::Exactly, unit, &flags);
        }
    }
}

#[test]
fn the_best_predictor_loses_in_that_unit() {
    for loss in LOSSES {
        let desk = Desk::new();
        let rows = weighted(stream(loss.labels, 60, 15));
        desk.put("once.vw", vw(&rows, side_by_side));
        desk.put("times.vw", vw(&times(&rows, 4.0), side_by_side));
        let flags = format!("{} --radius 2 --tolerance 1e-6", loss.flags);
        let one = desk.json(&format!("hindsight once.vw {flags}"));
        let other = desk.json(&format!("hindsight times.vw {flags}"));
        assert_eq!([&one["converged"], &other["converged"]], [true, true], "{flags}");
        let (lower, upper) = comparator(&one);
        assert_overlap((4.0 * lower, 4.0 * upper), comparator(&other), &flags);
    }
}

/// The file without rows of weight 0 and the file with them, with the flags to read them.
const HAUNTED: [&str; 2] = ["without.vw --bits 12", "with.vw --bits 12"];

/// Writes files with and without rows of weight 0, and predictions for all rows of each.
fn with_and_without(desk: &Desk, labels: Labels, seed: u64) {
    let rows = weighted(stream(labels, 40, seed));
    for (file, rows) in [("without", &rows), ("with", &haunted(&rows, labels))] {
        desk.put(&format!("{file}.vw"), vw(rows, scattered));
        desk.put(&format!("{file}.txt"), predictions(rows));
    }
}

#[test]
fn a_run_does_not_see_rows_that_do_not_count() {
    for loss in LOSSES {
        let desk = Desk::new();
        with_and_without(&desk, loss.labels, 16);
        for setup in setups(loss).iter().filter(|setup| !setup.has_sides()) {
            let [one, other] = HAUNTED
                .map(|file| desk.run(&format!("{} --hindsight", setup.line(&desk, file, own))));
            assert_same(&one, &other, Agree::Exactly, &format!("{setup:?}"));
        }
    }
}

#[test]
fn a_class_that_does_not_count_is_not_there() {
    let desk = Desk::new();
    let rows = weighted(stream(Labels::Classes, 60, 17));
    let left: Vec<Row> = rows.iter().filter(|row| row.label < 0.0).cloned().collect();
    desk.put("all.vw", vw(&rows, side_by_side));
    desk.put("left.vw", vw(&left, side_by_side));
    for loss in LOSSES.into_iter().filter(|loss| loss.labels == Labels::Classes) {
        for learner in learners(loss) {
            let flags = format!("{} --learner {learner}", loss.flags);
            let one = desk.run(&format!("left.vw {flags}"));
            let other = desk.run(&format!("all.vw {flags} --positive-weight 0"));
            assert_same(&one, &other, Agree::Exactly, &flags);
        }
        let [one, other] = ["left.vw", "all.vw --positive-weight 0"]
            .map(|file| desk.json(&format!("hindsight {file} {} --radius 2", loss.flags)));
        assert_same(&one, &other, Agree::Exactly, loss.flags);
    }
}

#[test]
fn the_best_predictor_does_not_see_rows_that_do_not_count() {
    for loss in LOSSES {
        let desk = Desk::new();
        with_and_without(&desk, loss.labels, 18);
        for set in ["--radius 2", "--sigma 0.25"] {
            let [one, other] =
                HAUNTED.map(|file| desk.json(&format!("hindsight {file} {} {set}", loss.flags)));
            assert_same(&one, &other, Agree::Exactly, &format!("{} {set}", loss.flags));
        }
    }
}

#[test]
fn a_cache_does_not_keep_rows_that_do_not_count() {
    let desk = Desk::new();
    with_and_without(&desk, Labels::Classes, 19);
    desk.text("convert with.vw --bits 12 --out with.rueful-cache");
    for command in ["run -q", "hindsight", "data"] {
        let (command, quiet) = command.split_once(' ').unwrap_or((command, ""));
        let one = desk.json(&format!("{command} without.vw --bits 12 {quiet}"));
        let other = desk.json(&format!("{command} with.rueful-cache {quiet}"));
        if command == "data" {
            for key in ["examples", "features", "nonzeros"] {
                assert_eq!(one[key], other[key], "{key}");
            }
        } else {
            assert_same(&one, &other, Agree::Exactly, command);
        }
    }
}

#[test]
fn rows_that_do_not_count_are_predicted_and_not_judged() {
    let desk = Desk::new();
    with_and_without(&desk, Labels::Classes, 20);
    desk.text("run without.vw --bits 12 --loss logistic --save model -q");
    for form in ["", "--as label", "--as probability", "--json"] {
        let [one, other] = ["without.vw", "with.vw"].map(|file| {
            let output = desk.say(&format!("predict model {file} {form}"));
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
            (text(output.stdout), text(output.stderr))
        });
        assert!(!one.0.is_empty());
        assert!(other.0.lines().count() > one.0.lines().count(), "{form}: a line for every row");
        let mut others = other.0.lines();
        assert!(one.0.lines().all(|line| others.any(|other| other == line)), "{form}");
        let judged = |said: &str| said.split_once(':').map(|(_, judged)| judged.to_owned());
        assert_eq!(judged(&one.1), judged(&other.1), "{form}");
    }
}

#[test]
fn the_best_predictor_counts_rows_under_any_names() {
    assert_best_is_alike(51, scattered);
}

#[test]
fn runs_look_back_at_rows_that_count_under_any_names() {
    assert_runs_look_back_alike(52, scattered);
}

/// The loss of a model, its own certificate and its regret are the same for weighted and for
/// repeated rows.
#[test]
fn an_audit_of_rows_that_count_is_that_of_rows_repeated() {
    for loss in LOSSES {
        for name in [side_by_side, scattered] {
            let desk = Desk::new();
            twice(&desk, loss.labels, 53, name);
            let [one, other] = ["weighted", "repeated"].map(|file| {
                let flags = format!("{} --radius 2 --hindsight --tolerance 1e-6", loss.flags);
                desk.json(&format!("audit {file}.vw --bits 12 --predictions {file}.txt {flags}"))
            });
            // The certificate of the witnesses is not compared: a witness makes one step for a row
            // of weight 2 and two steps for two rows.
            for figure in ["sequential_risk", "certificate_own"] {
                let (one, other) = (total(&one, figure), total(&other, figure));
                assert!(ROUNDING.on(one, other), "{}\n{figure}: {one} and {other}", loss.flags);
            }
            assert_solved_alike(&one, &other, loss.flags);
            assert!(number(&one, "regret.lower") <= number(&one, "certificate"), "{}", loss.flags);
        }
    }
}

/// An audit of a run's predictions gives the figures of the run, to the last bit.
#[test]
fn an_audit_of_a_run_counts_rows_as_the_run_does() {
    for loss in LOSSES {
        let desk = Desk::new();
        desk.put("data.vw", vw(&weighted(stream(loss.labels, 60, 54)), side_by_side));
        let mut weights = vec![""];
        weights.extend((loss.labels == Labels::Classes).then_some("--positive-weight 3"));
        for weights in weights {
            let judged = "--comparators unit-free --judge on";
            let flags = format!("{} --radius 2 {judged} {weights}", loss.flags);
            let run = desk.run(&format!("data.vw {flags} --predictions own.txt"));
            let audit = desk.json(&format!("audit data.vw {flags} --predictions own.txt"));
            for key in ["sequential_risk", "certificate", "mistake_rate", "curve"] {
                assert_eq!(run[key], audit[key], "{flags}: {key}");
            }
        }
    }
}

#[test]
fn a_weight_for_all_rows_is_another_unit_in_an_audit() {
    for loss in LOSSES {
        let desk = Desk::new();
        let rows = weighted(stream(loss.labels, 60, 55));
        desk.put("once.vw", vw(&rows, side_by_side));
        desk.put("times.vw", vw(&times(&rows, 4.0), side_by_side));
        desk.put("said", predictions(&rows));
        let flags = format!("--predictions said {} --radius 2 --window 7", loss.flags);
        let one = desk.json(&format!("audit once.vw {flags}"));
        let mut forms = vec!["times.vw"];
        let flagged = "once.vw --positive-weight 4 --negative-weight 4";
        forms.extend((loss.labels == Labels::Classes).then_some(flagged));
        for form in forms {
            let other = desk.json(&format!("audit {form} {flags}"));
            let unit = |path: &str| if in_losses(path) { 4.0 } else { 1.0 };
            assert_scaled(&one, &other, Agree::Exactly, unit, &format!("{form} {flags}"));
        }
    }
}

/// The predictions for rows of weight 0 are in the file, and the audit ignores them.
#[test]
fn an_audit_does_not_see_rows_that_do_not_count() {
    for loss in LOSSES {
        let desk = Desk::new();
        with_and_without(&desk, loss.labels, 56);
        let [one, other] = ["without", "with"].map(|file| {
            let flags = format!("{} --radius 2 --window 7 --hindsight", loss.flags);
            desk.json(&format!("audit {file}.vw --bits 12 --predictions {file}.txt {flags}"))
        });
        assert_same(&one, &other, Agree::Exactly, loss.flags);
    }
}

#[test]
fn a_race_does_not_see_rows_that_do_not_count() {
    for loss in LOSSES {
        let desk = Desk::new();
        with_and_without(&desk, loss.labels, 59);
        for comparators in ["unit-free", "ball"] {
            let flags = format!("{} --comparators {comparators} --hindsight", race(loss));
            let [one, other] = HAUNTED.map(|file| desk.json(&format!("race {file} {flags}")));
            assert_same(&one, &other, Agree::Exactly, &flags);
        }
    }
}

/// Which rows are held out does not depend on rows of weight 0.
#[test]
fn later_passes_do_not_see_rows_that_do_not_count() {
    let desk = Desk::new();
    with_and_without(&desk, Labels::Classes, 58);
    for by in ["row", "hash"] {
        let flags = format!("--loss logistic --passes 3 --holdout 4 --holdout-by {by} -q");
        let [one, other] = HAUNTED.map(|file| desk.json(&format!("run {file} {flags}")));
        assert!(one["passes"].is_object() || one["passes"].is_array(), "{one}");
        assert_same(&one, &other, Agree::Exactly, by);
    }
}

/// A group of rows of weight 0 is none, and such rows do not come first.
#[test]
fn groups_do_not_see_rows_that_do_not_count() {
    let desk = Desk::new();
    let head = "x,weight,day,said,y\n";
    let counting = ["2,1,friday,0.5,-1", "1,3,monday,0.1,1", "3,2,friday,-0.2,1"];
    let idle = ["1,0,monday,0.5,1", "7,0,never,0.3,-1"];
    desk.put("without.csv", format!("{head}{}\n", counting.join("\n")));
    desk.put("with.csv", format!("{head}{}\n{}\n", idle.join("\n"), counting.join("\n")));
    let [one, other] = ["without.csv", "with.csv"].map(|file| {
        let roles = "--label y --importance weight --prediction-column said --by day";
        desk.json(&format!("audit {file} {roles} --loss logistic"))
    });
    let days = |report: &serde_json::Value| -> Vec<String> {
        let groups = report["groups"].as_array().expect("groups").iter();
        groups.map(|group| group["group"].to_string()).collect()
    };
    assert_eq!(days(&one), ["\"friday\"", "\"monday\""]);
    assert_eq!(days(&other), days(&one));
    assert_same(&one["groups"], &other["groups"], Agree::Exactly, "groups");
}

#[test]
fn labels_of_rows_that_do_not_count_are_not_counted() {
    for labels in [Labels::Classes, Labels::Numbers] {
        let desk = Desk::new();
        with_and_without(&desk, labels, 57);
        let [one, other] = HAUNTED.map(|file| desk.json(&format!("data {file}")));
        assert_same(&one, &other, Agree::Exactly, &format!("{labels:?}"));
    }
}

/// The double 0.1 is not a single, so this weight would be rounded if weights were singles.
#[test]
fn a_weight_of_a_class_counts_to_the_last_digit() {
    let desk = Desk::new();
    desk.put("one", "1 1:1\n");
    let report = desk.run("one --loss hinge --positive-weight 0.1");
    assert_eq!(number(&report, "sequential_risk"), 0.1);
}
