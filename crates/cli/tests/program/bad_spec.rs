//! Spec files that do not describe a run, or describe a run that fails.

use crate::harness::{DATA, Said, ask};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// Runs the program on a spec file with this text.
fn ask_about(text: &[u8]) -> Said {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("spec.json");
    fs::write(&path, text).expect("the spec is written");
    ask(&format!("run --spec {}", path.display()))
}

/// Runs the program on a spec in TOML.
fn ask_about_toml(text: &str) -> Said {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("spec.toml");
    fs::write(&path, text).expect("the spec is written");
    ask(&format!("run --spec {}", path.display()))
}

/// A good spec, which the tests then spoil.
fn good() -> Value {
    json!({
        "data": { "files": [DATA], "schema": { "format": "libsvm" }, "constant": true },
        "loss": { "name": "hinge" },
        "sigma": 0.0,
        "learner": {
            "name": "ogd",
            "schedule": { "name": "constant", "eta": 0.1 },
            "set": { "name": "ball", "radius": 1.0 },
            "gradient_bound": null,
        },
        "comparators": { "name": "ball", "radius": 1.0 },
    })
}

/// The error message for the good spec after a change at one place.
fn spoilt(place: &str, value: Value) -> String {
    let mut spec = good();
    let (parent, key) = place.rsplit_once('/').expect("a pointer");
    let parent = spec.pointer_mut(parent).expect("the place is there");
    parent[key] = value;
    ask_about(spec.to_string().as_bytes()).one_line()
}

#[test]
fn the_good_spec_runs() {
    assert!(ask_about(good().to_string().as_bytes()).result().starts_with("Run\n"));
    let mut short = good();
    short.as_object_mut().expect("an object").remove("sigma");
    assert!(ask_about(short.to_string().as_bytes()).result().starts_with("Run\n"), "σ may be 0");
}

#[test]
fn what_is_unknown_is_named() {
    for (place, value, says) in [
        ("/seed", json!(1), "unknown field `seed`"),
        (
            "/data/skip",
            json!(1),
            "unknown field `skip`, expected one of `files`, `schema`, `positive`, `constant`, ",
        ),
        ("/loss/tau", json!(0.5), "unknown field `tau`"),
        ("/loss/name", json!("bent"), "unknown variant `bent`, expected one of"),
        ("/learner/eta", json!(1), "unknown field `eta`"),
        ("/learner/name", json!("sgd"), "unknown variant `sgd`, expected one of"),
        ("/learner/schedule/tau", json!(1), "unknown field `tau`, expected `eta`"),
        ("/learner/schedule/eta", json!(-1), "-1 is not a number between 1e-100 and 1e100"),
        ("/learner/schedule/eta", json!("1"), "invalid type: string \"1\""),
        ("/comparators/radius", json!(0), "0 is not a number between 1e-100 and 1e100"),
        ("/sigma", json!(-0.5), "-0.5 is not 0, or a number between 1e-100 and 1e100"),
    ] {
        let text = spoilt(place, value);
        assert!(text.contains("spec.json does not describe a run: "), "{text}");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let ball = json!({ "name": "ball", "radius": 1.0 });
    let everywhere = json!({ "name": "whole-space" });
    for (place, value, says) in [
        ("/learner", json!({ "name": "erm", "set": everywhere }), "erm needs a bounded set"),
        ("/learner", json!({ "name": "strongly-convex-ogd" }), "needs a sigma above 0"),
        ("/sigma", json!(20), "choose eta below 1/sigma = 0.05"),
    ] {
        let text = spoilt(place, value);
        assert!(text.contains(says), "{text}");
    }
    let mut spec = good();
    spec["learner"] = json!({ "name": "erm", "set": ball });
    spec["sigma"] = json!(1);
    let text = ask_about(spec.to_string().as_bytes()).one_line();
    assert!(text.contains("the learner erm does not take sigma"), "{text}");
    spec["sigma"] = json!(0);
    spec["learner"] = json!({ "name": "perceptron", "eta": 1 });
    spec["loss"]["name"] = json!("square");
    let text = ask_about(spec.to_string().as_bytes()).one_line();
    assert!(text.contains("the Perceptron classifies"), "{text}");
}

#[test]
fn what_is_no_spec_at_all_is_refused() {
    for (text, says) in [
        (&b""[..], "spec.json is not JSON: "),
        (b"{", "spec.json is not JSON: "),
        (b"{\"data\": }", "is not JSON: expected value at line 1 column 10"),
        (b"+1 1:0.5\n", "spec.json is not JSON: "),
        (b"{} {}", "spec.json is not JSON: trailing characters"),
        (b"{}", "does not describe a run: missing field `data`"),
        (b"{\"spec\": {}}", "does not describe a run: missing field `data`"),
        (b"3", "spec.json does not describe a run: "),
        (b"\xff\xfe", "spec.json: "),
    ] {
        let text = ask_about(text).one_line();
        assert!(text.contains(says), "{text}");
    }
    let text = ask("run --spec nowhere.json").one_line();
    assert!(text.starts_with("error: cannot read nowhere.json: "), "{text}");
    let text = spoilt("/data/files", json!(["nowhere"]));
    assert!(text.starts_with("error: cannot open nowhere: "), "{text}");
}

/// Without a projection, long constant steps on the square loss diverge.
#[test]
fn a_run_that_diverges_says_so_and_what_to_do() {
    let mut spec = good();
    spec["loss"]["name"] = json!("square");
    spec["learner"]["set"] = json!({ "name": "whole-space" });
    spec["learner"]["schedule"]["eta"] = json!(1000);
    let text = ask_about(spec.to_string().as_bytes()).one_line();
    assert!(text.starts_with("error: the run diverged: round 43 "), "{text}");
    for remedy in ["smaller steps", "a bounded set", "scaled features"] {
        assert!(text.contains(remedy), "{text}");
    }
}

/// The data that this spec names do not exist, so an error that names them shows that the spec was
/// checked late.
const TOML: &str = "\
sigma = 0

[data]
files = [\"nowhere\"]
constant = true
schema = { format = \"libsvm\" }

[loss]
name = \"hinge\"

[learner]
name = \"ogd\"
schedule = { name = \"constant\", eta = 0.1 }
set = { name = \"ball\", radius = 1 }

[comparators]
name = \"box\"
rest = [-1, 1]
";

#[test]
fn toml_is_refused_before_data_is_opened() {
    let text = ask_about_toml(TOML).one_line();
    assert!(text.starts_with("error: cannot open nowhere: "), "{text}");
    for (from, to, says) in [
        ("sigma = 0", "sigma = 20", "describes a run that is not possible: a constant step of 0.1"),
        ("sigma = 0", "sigma = -1", "sigma: -1 is not 0, or a number between"),
        ("sigma = 0", "sigma == 0", "is not TOML: "),
        ("sigma = 0", "sigma = 0\nsigma = 0", " at line 2 column 1"),
        ("sigma = 0", "seed = 1", "unknown field `seed`, expected one of `data`"),
        ("constant = true", "", "data: missing field `constant`"),
        ("constant = true", "constant = 1", "data.constant: invalid type: integer `1`"),
        ("\"libsvm\"", "\"word\"", "data.schema: unknown variant `word`"),
        ("eta = 0.1", "eta = inf", "learner.schedule.eta: inf is not a finite number"),
        ("eta = 0.1", "eta = 0.1, tau = 1", "learner: unknown field `tau`, expected `eta`"),
        ("\"ogd\"", "\"sgd\"", "learner.name: unknown variant `sgd`, expected one of"),
        ("[-1, 1]", "[1, -1]", "comparators: [1, -1] is not an interval around 0"),
        ("[-1, 1]", "[-1, 1", "spec.toml is not TOML: "),
    ] {
        let text = ask_about_toml(&TOML.replace(from, to)).one_line();
        assert!(text.contains(says), "{to}: {text}");
        assert!(text.contains("spec.toml"), "{text}");
        assert!(!text.contains("cannot open"), "{text}");
    }
}
