//! Without a constant feature, nothing changes if features are multiplied by 2^k and comparators by
//! 2^−k.

use crate::figures::{Agree, assert_scaled, assert_solved_alike};
use crate::harness::Desk;
use crate::stream::{LOSSES, Labels, Loss, libsvm, own, predictions, scaled, stream};
use serde_json::{Value, json};

/// The factors by which examples are multiplied and radii are divided.
pub(crate) const FACTORS: [f64; 2] = [1024.0, 0.125];

/// The factor of each figure. Norms of examples are in the units of examples, and radii are in the
/// units of weights.
pub(crate) fn norms(factor: f64) -> impl Fn(&str) -> f64 {
    let is_radius = |path: &str| {
        [".radius", "beats_up_to", "says_nothing_from"].iter().any(|end| path.ends_with(end))
    };
    move |path| match path {
        _ if path.ends_with("norm_max") => factor,
        _ if is_radius(path) => 1.0 / factor,
        _ => 1.0,
    }
}

/// The factor of each figure if comparators have no units. Then only norms of examples have units.
pub(crate) fn examples(factor: f64) -> impl Fn(&str) -> f64 {
    move |path| if path.ends_with("norm_max") { factor } else { 1.0 }
}

fn both_scales(desk: &Desk, labels: Labels, factor: f64, seed: u64) {
    let rows = stream(labels, 60, seed);
    desk.put("one", libsvm(&rows, own));
    desk.put("other", libsvm(&scaled(&rows, factor as f32), own));
    desk.put("predictions", predictions(&rows));
}

/// The settings of learners for examples that are multiplied by the factor. η, C and 1/α are weights
/// per gradient, σ is a loss per squared weight, and G is a loss per weight. FTRL-proximal is left
/// out, because its β = 1 is a loss per weight that cannot be set.
fn learners(loss: Loss, factor: f64) -> Vec<String> {
    let (radius, square) = (2.0 / factor, factor * factor);
    let mut all = vec![
        format!("--learner ogd --radius {radius}"),
        format!("--learner ogd --radius {radius} --gradient-bound {}", 8.0 * factor),
        format!("--learner ogd --radius {radius} --schedule constant --eta {}", 0.25 / square),
        format!("--learner ogd --radius {radius} --schedule horizon"),
        format!("--learner ogd --radius {radius} --sigma {}", 0.25 * square),
        format!("--learner strongly-convex-ogd --sigma {}", 0.25 * square),
        format!("--learner erm --radius {radius}"),
        format!("--learner regularized-erm --radius {radius}"),
        format!("--learner regularized-erm --radius {radius} --alpha {}", 4.0 * square),
        format!("--learner minimax --radius {radius}"),
    ];
    let step = 0.5 / square;
    for learner in crate::stream::learners(loss) {
        all.extend(match learner {
            "perceptron" => Some(format!("--learner perceptron --radius {radius} --eta {step}")),
            "passive-aggressive-1" | "passive-aggressive-2" => {
                Some(format!("--learner {learner} --radius {radius} --c {step}"))
            }
            _ => None,
        });
    }
    all
}

#[test]
fn runs_have_no_units_of_their_own() {
    for loss in LOSSES {
        for factor in FACTORS {
            let desk = Desk::new();
            both_scales(&desk, loss.labels, factor, 41);
            let other = learners(loss, factor);
            for (one, other) in learners(loss, 1.0).into_iter().zip(other) {
                let flags = format!("{} --no-constant", loss.flags);
                let told = desk.run(&format!("one {flags} {one}"));
                let again = desk.run(&format!("other {flags} {other}"));
                let what = format!("{flags} {one}, then {other}");
                assert_scaled(&told, &again, Agree::Exactly, norms(factor), &what);
            }
        }
    }
}

/// A box with sides for the first columns, in the units of weights.
fn sides(factor: f64) -> Value {
    let interval = |low: f64, high: f64| [low / factor, high / factor];
    let sides = [interval(0.0, 0.0), interval(-0.5, 1.0), interval(-2.0, 0.25)];
    json!({ "name": "box", "sides": sides, "rest": interval(-1.0, 1.0) })
}

/// Learners that stay in a box.
fn boxed(factor: f64) -> [String; 3] {
    let square = factor * factor;
    [
        format!("ogd --schedule constant --eta {}", 0.25 / square),
        format!("regularized-erm --alpha {}", 4.0 * square),
        "erm".to_owned(),
    ]
}

#[test]
fn boxes_have_no_units_of_their_own() {
    for loss in LOSSES {
        for factor in FACTORS {
            let desk = Desk::new();
            both_scales(&desk, loss.labels, factor, 44);
            let run = |file: &str, factor: f64, learner: &str| {
                let flags = format!("{} --no-constant --learner {learner}", loss.flags);
                let mut spec = desk.json(&format!("run {file} {flags} --print-spec"));
                spec["comparators"] = sides(factor);
                spec["learner"]["set"] = sides(factor);
                desk.put("spec.json", spec.to_string());
                desk.run("--spec spec.json --hindsight --tolerance 1e-6")
            };
            for learner in [0, 1, 2] {
                let one = run("one", 1.0, &boxed(1.0)[learner]);
                let other = run("other", factor, &boxed(factor)[learner]);
                let what = format!("{} {}", loss.flags, boxed(factor)[learner]);
                assert_solved_alike(&one, &other, &what);
                for key in ["sequential_risk", "certificate", "bound"] {
                    assert_eq!(one[key], other[key], "{what}: {key}");
                }
            }
        }
    }
}

#[test]
fn audits_have_no_units_of_their_own() {
    for loss in LOSSES {
        for factor in FACTORS {
            let desk = Desk::new();
            both_scales(&desk, loss.labels, factor, 42);
            let flags = format!(
                "{} --no-constant --predictions predictions --comparators ball",
                loss.flags
            );
            let one = desk.json(&format!("audit one {flags} --window 9 --radius 2"));
            let radius = 2.0 / factor;
            let other = desk.json(&format!("audit other {flags} --window 9 --radius {radius}"));
            assert_scaled(&one, &other, Agree::Exactly, norms(factor), &flags);
        }
    }
}

/// Comparators without units do not depend on the factor, and neither does a learner without units.
#[test]
fn without_units_nothing_is_to_be_said_about_them() {
    for loss in LOSSES {
        for factor in FACTORS {
            let desk = Desk::new();
            both_scales(&desk, loss.labels, factor, 45);
            let audit =
                format!("{} --no-constant --predictions predictions --window 9", loss.flags);
            let [one, other] =
                ["one", "other"].map(|file| desk.json(&format!("audit {file} {audit}")));
            assert_scaled(&one, &other, Agree::Exactly, examples(factor), &audit);
            if ["linear", "perceptron"].iter().any(|name| loss.flags.contains(name)) {
                continue;
            }
            let run = format!("{} --no-constant", loss.flags);
            let [one, other] = ["one", "other"].map(|file| desk.run(&format!("{file} {run}")));
            assert_eq!(one["spec"]["learner"]["name"], "bank");
            assert_scaled(&one, &other, Agree::Exactly, examples(factor), &run);
        }
    }
}

#[test]
fn the_best_predictor_has_no_units_of_its_own() {
    for loss in LOSSES {
        for factor in FACTORS {
            let desk = Desk::new();
            both_scales(&desk, loss.labels, factor, 43);
            let flags = format!("{} --no-constant --tolerance 1e-6", loss.flags);
            for (set, one, other) in
                [("radius", 2.0, 2.0 / factor), ("sigma", 0.25, 0.25 * factor * factor)]
            {
                let flags = match set {
                    "radius" => format!("{flags} --comparators ball"),
                    _ => flags.clone(),
                };
                let one = desk.json(&format!("hindsight one {flags} --{set} {one}"));
                let other = desk.json(&format!("hindsight other {flags} --{set} {other}"));
                assert_solved_alike(&one, &other, &format!("{flags}, {set} times {factor}"));
            }
        }
    }
}
