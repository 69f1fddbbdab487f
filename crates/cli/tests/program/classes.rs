//! Labels of many classes, from the file to the report, the model and the prediction.

use crate::harness::{Said, ask_in, number};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// A folder with files.
fn desk(files: &[(&str, String)]) -> TempDir {
    let folder = TempDir::new().expect("a directory");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the file is written");
    }
    folder
}

/// Rows of three features and a class, which depends on the first two. The last class comes late.
fn rows(count: usize) -> Vec<([f64; 3], usize)> {
    let row = |t: usize| {
        let (a, b) = ((t * 37 % 101) as f64 / 10.0, (t * 61 % 89) as f64 / 10.0);
        let class = usize::from(a > 5.0) + usize::from(t > count / 2 && b > 4.0) * 2;
        ([a, b, (t % 7) as f64], class)
    };
    (0..count).map(row).collect()
}

fn csv(count: usize, names: &[&str]) -> String {
    let line =
        |(x, class): ([f64; 3], usize)| format!("{},{},{},{}\n", x[0], x[1], x[2], names[class]);
    let lines: String = rows(count).into_iter().map(line).collect();
    format!("f1,f2,f3,y\n{lines}")
}

fn libsvm(count: usize) -> String {
    let line =
        |(x, class): ([f64; 3], usize)| format!("{} 1:{} 2:{} 3:{}\n", class + 1, x[0], x[1], x[2]);
    rows(count).into_iter().map(line).collect()
}

const NAMES: [&str; 4] = ["lily", "rose", "iris", "aster"];

/// The report without the names of classes and the description.
fn figures(report: &Value) -> Value {
    let mut figures = report.clone();
    let object = figures.as_object_mut().expect("an object");
    object.remove("spec");
    object.remove("collisions");
    for class in object["classes"].as_array_mut().expect("classes") {
        class.as_object_mut().expect("a class").remove("label");
    }
    for pair in object["confusion_matrix"].as_array_mut().expect("pairs") {
        pair["label"] = Value::Null;
        pair["predicted"] = Value::Bool(pair["predicted"].is_null());
    }
    figures
}

#[test]
fn names_are_learned_certified_and_counted() {
    let folder = desk(&[("rows.csv", csv(600, &NAMES))]);
    let report = ask_in(folder.path(), "run rows.csv --label y -q --json").json();
    assert_eq!(report["spec"]["loss"]["name"], "softmax");
    let classes = report["classes"].as_array().expect("classes");
    let sum: u64 = classes.iter().map(|class| class["examples"].as_u64().unwrap()).sum();
    assert_eq!((classes.len(), sum), (4, 600));
    let pairs = report["confusion_matrix"].as_array().expect("pairs");
    let wrong = pairs.iter().filter(|pair| pair["label"] != pair["predicted"]);
    let wrong: u64 = wrong.map(|pair| pair["examples"].as_u64().unwrap()).sum();
    assert!((number(&report, "mistake_rate") - wrong as f64 / 600.0).abs() < 1e-12);
    assert!(wrong >= 4, "the first sight of a class is a mistake");
    assert!(number(&report, "sequential_risk") < number(&report["best_constant"]["loss"], "lower"));
    assert!(number(&report, "certificate") <= number(&report["bound"], "theorem"));
    assert!(number(&report, "error_rate") < number(&report, "majority_error_rate"));
    let text = ask_in(folder.path(), "run rows.csv --label y -q").result();
    for expected in ["\nClasses\n", "\nConfusion: ", "  lily", "  loss      softmax"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}

#[test]
fn names_make_no_difference_to_figures() {
    let renamed = ["zz", "a b", "1", "-7.5"];
    let folder = desk(&[("one.csv", csv(300, &NAMES)), ("two.csv", csv(300, &renamed))]);
    let run = |file: &str| {
        let line = format!("run {file} --label y -q --json --loss softmax");
        ask_in(folder.path(), &line).json()
    };
    let (one, two) = (run("one.csv"), run("two.csv"));
    assert_eq!(figures(&one), figures(&two));
    assert_eq!(two["classes"][0]["label"], "zz");
}

#[test]
fn formats_and_threads_make_no_difference() {
    let vw: String = libsvm(4000)
        .lines()
        .map(|line| {
            let (label, features) = line.split_once(' ').expect("a label");
            format!("{label} | {features}\n")
        })
        .collect();
    let files = [("rows.libsvm", libsvm(4000)), ("rows.vw", vw)];
    let folder =
        desk(&[files[0].clone(), files[1].clone(), ("rows.csv", csv(4000, &["1", "2", "3", "4"]))]);
    let run = |line: &str| {
        let line = format!("run {line} -q --json --loss softmax");
        figures(&ask_in(folder.path(), &line).json())
    };
    let expected = run("rows.libsvm --threads 1");
    for line in ["rows.libsvm --threads 7", "rows.libsvm --cache", "rows.vw --threads 3"] {
        assert_eq!(run(line), expected, "{line}");
    }
    let table = run("rows.csv --label y");
    for key in ["examples", "mistake_rate", "error_rate"] {
        assert_eq!(table[key], expected[key], "{key}");
    }
    let first: Said = ask_in(folder.path(), "run rows.csv --label y -q --loss softmax --threads 1");
    let other = ask_in(folder.path(), "run rows.csv --label y -q --loss softmax --threads 5");
    assert_eq!(first, other);
}

#[test]
fn a_run_that_is_resumed_is_one_that_never_stopped() {
    let whole = csv(400, &NAMES);
    let (head, rest) = whole.split_once('\n').expect("a head");
    let lines: Vec<&str> = rest.lines().collect();
    let part = |lines: &[&str]| format!("{head}\n{}\n", lines.join("\n"));
    let folder = desk(&[
        ("whole.csv", whole.clone()),
        ("one.csv", part(&lines[..150])),
        ("two.csv", part(&lines[150..])),
    ]);
    let ask = |line: &str| ask_in(folder.path(), line);
    for loss in ["softmax", "multiclass-hinge"] {
        ask(&format!("run whole.csv --label y -q --loss {loss} --save whole.rueful")).result();
        ask(&format!("run one.csv --label y -q --loss {loss} --save parts.rueful")).result();
        let resumed = ask("run two.csv -q --resume parts.rueful --save parts.rueful --json").json();
        assert_eq!(resumed["resumed"], 150);
        let never =
            ask(&format!("run whole.csv --label y -q --loss {loss} --json --threads 3")).json();
        for key in ["sequential_risk", "certificate", "classes", "confusion_matrix", "curve"] {
            assert_eq!(resumed[key], never[key], "{loss} {key}");
        }
        let predicted =
            |model: &str| ask(&format!("predict {model} whole.csv --as score")).result();
        assert_eq!(predicted("parts.rueful"), predicted("whole.rueful"));
    }
}

#[test]
fn predictions_have_a_column_for_every_class() {
    let new = csv(40, &["lily", "rose", "iris", "daisy"]);
    let folder = desk(&[("rows.csv", csv(600, &NAMES)), ("new.csv", new)]);
    let ask = |line: &str| ask_in(folder.path(), line);
    ask("run rows.csv --label y -q --save m.rueful --predictions p.txt --report r.html").result();
    let told = fs::read_to_string(folder.path().join("p.txt")).expect("predictions");
    assert_eq!((told.lines().count(), told.lines().next()), (600, Some("")));
    let page = fs::read_to_string(folder.path().join("r.html")).expect("a page");
    assert!(page.contains("class aster"));
    let shares = ask("predict m.rueful new.csv --as probability").result();
    let mut lines = shares.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    assert_eq!(head.len(), 4);
    for line in lines {
        let sum: f64 = line.split(',').map(|cell| cell.parse::<f64>().expect("a number")).sum();
        assert!(sum > 0.9 && sum <= 1.0 + 1e-9, "{line}");
    }
    let labels = ask("predict m.rueful new.csv").result();
    assert!(labels.lines().all(|label| NAMES.contains(&label)));
    let json = ask("predict m.rueful new.csv --json").result();
    let first: Value = serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert!(first["probabilities"]["rose"].is_number() && first["unseen"].is_number());
    let why = ask("explain m.rueful new.csv --row 3 --class iris --json").json();
    let added = why["contributions"].as_array().expect("contributions").iter();
    let sum = added.map(|one| number(one, "contribution")).sum::<f64>() + number(&why, "rest");
    let p = number(&why["probabilities"], "iris");
    assert!((sum - (p / (1.0 - p)).ln()).abs() < 1e-6, "{why}");
    assert!(ask("explain m.rueful new.csv --class daisy").one_line().contains("\"daisy\""));
    let inside = ask("inspect m.rueful --json").json();
    assert_eq!(
        (&inside["examples"], inside["labels"].as_array().map(Vec::len)),
        (&600.into(), Some(4))
    );
}

#[test]
fn rows_of_weight_0_leave_no_trace() {
    let weighted = |extra: bool| {
        let mut text = "w,f1,f2,f3,y\n".to_owned();
        for (t, (x, class)) in rows(200).into_iter().enumerate() {
            if extra && t % 3 == 0 {
                text += &format!("0,{},1,2,never{}\n", t, t % 5);
            }
            text += &format!("1,{},{},{},{}\n", x[0], x[1], x[2], NAMES[class]);
        }
        text
    };
    let folder = desk(&[("with.csv", weighted(true)), ("without.csv", weighted(false))]);
    let run = |file: &str| {
        let line = format!("run {file} --label y --importance w -q --json");
        let mut report = ask_in(folder.path(), &line).json();
        report.as_object_mut().expect("an object").remove("spec");
        report
    };
    assert_eq!(run("with.csv"), run("without.csv"));
}

#[test]
fn a_description_repeats_the_run() {
    let folder = desk(&[("rows.csv", csv(200, &NAMES))]);
    let ask = |line: &str| ask_in(folder.path(), line);
    let spec = ask("run rows.csv --label y -q --loss multiclass-hinge --print-spec").result();
    fs::write(folder.path().join("run.toml"), spec).expect("the spec is written");
    let again = ask("run --spec run.toml -q --json").json();
    let first = ask("run rows.csv --label y -q --loss multiclass-hinge --json").json();
    assert_eq!(again, first);
}

#[test]
fn what_many_classes_do_not_do_yet_is_said_in_a_sentence() {
    let folder = desk(&[("rows.csv", csv(60, &NAMES))]);
    let refusal = |line: &str| ask_in(folder.path(), line).one_line();
    let race = refusal("race rows.csv --label y --learner bank --learner ogd");
    assert!(race.contains("--loss softmax is for many classes"), "{race}");
    for (flag, said) in [
        ("--loss softmax --positive lily", "--positive is for two classes"),
        ("--loss softmax --learner ogd", "the softmax loss is learned by the learner bank"),
        ("--loss softmax --eta 0.1", "--eta has no effect on the softmax loss"),
    ] {
        let error = refusal(&format!("run rows.csv --label y {flag}"));
        assert!(error.contains(said), "{error}");
    }
}

/// Whether an interval in a report contains a number, or another interval overlaps it.
fn overlap(a: &Value, b: &Value) -> bool {
    number(a, "lower") <= number(b, "upper") && number(b, "lower") <= number(a, "upper")
}

#[test]
fn the_exact_regret_lies_below_the_certificate() {
    let folder = desk(&[("rows.csv", csv(300, &NAMES))]);
    let ask = |line: &str| ask_in(folder.path(), line);
    for (loss, more) in [("softmax", ""), ("multiclass-hinge", "--comparators ball")] {
        let task = format!("rows.csv --label y -q --loss {loss} --radius 3 {more} --json");
        let report = ask(&format!("run {task} --hindsight --curve-hindsight")).json();
        assert_eq!(report["hindsight"]["converged"], true, "{loss}");
        let (regret, best) = (&report["regret"], &report["comparator"]);
        assert!(number(regret, "lower") <= number(&report, "certificate"), "{loss}");
        let exact = number(&report, "sequential_risk") - number(best, "upper");
        assert!((number(regret, "lower") - exact).abs() < 1e-9, "{loss}");
        for point in report["curve"].as_array().expect("a curve") {
            assert!(number(&point["regret"], "lower") <= number(point, "certificate"), "{point}");
        }
        // The same question without a run, from memory and from the file.
        for keep in ["", "--keep 0"] {
            let alone = ask(&format!("hindsight {task} {keep}")).json();
            assert!(overlap(&alone["comparator"], best), "{loss} {keep}");
            let weights = alone["largest_weights"].as_array().expect("weights");
            assert!(
                weights.iter().all(|weight| NAMES.contains(&weight["class"].as_str().unwrap()))
            );
        }
        let text = ask(&format!("run {task} --hindsight").replace("--json", "")).result();
        assert!(text.contains("exact regret, at least") && text.contains("≤ certificate"));
    }
}

#[test]
fn importance_two_is_the_row_twice_in_hindsight() {
    let line = |weight: u8, (x, class): ([f64; 3], usize)| {
        format!("{weight},{},{},{},{}\n", x[0], x[1], x[2], NAMES[class])
    };
    let head = "w,f1,f2,f3,y\n".to_owned();
    let double: String = rows(90).into_iter().map(|row| line(2, row)).collect();
    let twice: String = rows(90).into_iter().map(|row| line(1, row).repeat(2)).collect();
    let folder = desk(&[("double.csv", head.clone() + &double), ("twice.csv", head + &twice)]);
    for loss in ["softmax", "multiclass-hinge"] {
        let best = |file: &str| {
            let flags = format!("--label y --importance w --loss {loss} --radius 2 -q --json");
            let found = ask_in(folder.path(), &format!("hindsight {file} {flags}")).json();
            let rounds = number(&found, "examples");
            ["lower", "upper"].map(|end| rounds * number(&found["comparator"], end))
        };
        let ([low, high], [other_low, other_high]) = (best("double.csv"), best("twice.csv"));
        assert!(low <= other_high && other_low <= high, "{loss}");
    }
}

#[test]
fn windows_add_up_and_raise_alarms_that_are_proved() {
    let folder = desk(&[("rows.csv", csv(300, &NAMES))]);
    for loss in ["softmax", "multiclass-hinge"] {
        let line = format!("run rows.csv --label y -q --loss {loss} --window 40 --json");
        let said = ask_in(folder.path(), &format!("{line} --alarm 0.05 --report r.html"));
        assert_eq!(said.code, Some(4), "{loss}: {}", said.stderr);
        let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let windows = report["windows"].as_array().expect("windows");
        let examples: Vec<u64> =
            windows.iter().map(|window| window["examples"].as_u64().unwrap()).collect();
        assert_eq!(examples, [40, 40, 40, 40, 40, 40, 40, 20]);
        let cost = |window: &Value| number(window, "sequential_risk") * number(window, "examples");
        let total: f64 = windows.iter().map(cost).sum();
        assert!((total - 300.0 * number(&report, "sequential_risk")).abs() < 1e-6, "{loss}");
        for window in windows {
            let lower = number(&window["regret"], "lower");
            assert!(lower <= number(window, "certificate"), "{loss} {window}");
        }
        let is_raised =
            |window: &&Value| window["examples"] == 40 && number(&window["regret"], "lower") > 0.05;
        let raised = report["alarms"].as_array().expect("alarms").len();
        assert_eq!(raised, windows.iter().filter(is_raised).count(), "{loss}");
        assert_eq!(said.stderr.lines().filter(|line| line.starts_with("alarm: ")).count(), raised);
        let quiet = ask_in(folder.path(), &format!("{line} --alarm 100"));
        assert_eq!((quiet.code, &*quiet.stderr), (Some(0), ""), "{loss}");
    }
}

#[test]
fn windows_of_a_resumed_run_are_those_of_one_that_never_stopped() {
    let whole = csv(300, &NAMES);
    let (head, rest) = whole.split_once('\n').expect("a head");
    let lines: Vec<&str> = rest.lines().collect();
    let part = |lines: &[&str]| format!("{head}\n{}\n", lines.join("\n"));
    let folder = desk(&[
        ("whole.csv", whole.clone()),
        ("one.csv", part(&lines[..130])),
        ("two.csv", part(&lines[130..])),
    ]);
    let windows = |line: &str| {
        let said = ask_in(folder.path(), line);
        let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
        report["windows"].clone()
    };
    for loss in ["softmax", "multiclass-hinge"] {
        let flags = "-q --window 40 --alarm 0.5 --json";
        let never = windows(&format!("run whole.csv --label y --loss {loss} {flags}"));
        windows(&format!("run one.csv --label y --loss {loss} {flags} --save m.rueful"));
        assert_eq!(windows(&format!("run two.csv --resume m.rueful {flags}")), never, "{loss}");
    }
}

#[test]
fn weights_have_a_class_each() {
    let folder = desk(&[("rows.csv", csv(300, &NAMES))]);
    let ask = |line: &str| ask_in(folder.path(), line);
    for loss in ["softmax", "multiclass-hinge"] {
        let flags = format!("--label y -q --loss {loss} --save m.rueful");
        ask(&format!("run rows.csv {flags}")).result();
        let listed = ask("weights m.rueful --all --json").json();
        let weights = listed["weights"].as_array().expect("weights");
        assert_eq!(weights.len(), 16, "three features and the constant one, for four classes");
        assert_eq!(listed["nonzero"], 16);
        assert!(ask("weights m.rueful").result().contains("iris"));
        if loss == "softmax" {
            continue;
        }
        // The scores of gradient descent are those of its weights.
        let scores = ask("predict m.rueful rows.csv --as score").result();
        let of = |name: &str, class: &str| {
            let is_it = |one: &&Value| {
                one["class"] == class && one["name"].as_str().unwrap_or("constant") == name
            };
            weights.iter().find(is_it).map_or(0.0, |one| number(one, "weight"))
        };
        let (head, first) = (scores.lines().next().unwrap(), scores.lines().nth(1).unwrap());
        let (x, _) = rows(300)[0];
        for (class, score) in head.split(',').zip(first.split(',')) {
            let score: f64 = score.parse().expect("a number");
            let parts = ["f1", "f2", "f3"].iter().zip(x).map(|(name, x)| x * of(name, class));
            let sum = of("constant", class) + parts.sum::<f64>();
            assert!((sum - score).abs() < 1e-5 * (1.0 + score.abs()), "{class}: {sum} {score}");
        }
    }
}

#[test]
fn several_passes_and_rows_held_out_are_for_classes_too() {
    let folder = desk(&[("rows.csv", csv(300, &NAMES))]);
    let ask = |line: &str| ask_in(folder.path(), line);
    let flags = "rows.csv --label y -q --json --report r.html";
    let once = ask(&format!("run {flags}")).json();
    let thrice = ask(&format!("run {flags} --passes 3 --save m.rueful")).json();
    assert_eq!(thrice["passes"]["made"], 3, "{thrice}");
    for key in ["sequential_risk", "certificate", "confusion_matrix"] {
        assert_eq!(once[key], thrice[key], "proofs are about the first pass: {key}");
    }
    let held = ask(&format!("run {flags} --passes 2 --holdout 5 --hindsight")).json();
    assert!(number(&held, "examples") < 300.0);
    assert!(number(&held["regret"], "lower") <= number(&held, "certificate"));
    let better = |model: &str| {
        let figures = format!("predict {model} rows.csv --figures f.json --out p.txt");
        ask(&figures).result();
        let text = fs::read_to_string(folder.path().join("f.json")).expect("figures");
        number(&serde_json::from_str(&text).expect("JSON"), "log_loss")
    };
    ask(&format!("run {flags} --save once.rueful")).result();
    assert!(better("m.rueful") < better("once.rueful"));
}

/// The numbers of a table that `rueful predict` wrote, and its head.
fn table(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut lines = text.lines();
    let head = lines.next().expect("a head").split(',').map(str::to_owned).collect();
    let row = |line: &str| line.split(',').map(|cell| cell.parse().expect("a number")).collect();
    (head, lines.map(row).collect())
}

#[test]
fn anybodys_probabilities_and_scores_are_audited() {
    let folder = desk(&[("old.csv", csv(500, &NAMES)), ("rows.csv", csv(240, &NAMES))]);
    let ask = |line: &str| ask_in(folder.path(), line);
    let labels: Vec<&str> = rows(240).iter().map(|(_, class)| NAMES[*class]).collect();
    for (loss, kind) in [("softmax", "probability"), ("multiclass-hinge", "score")] {
        ask(&format!("run old.csv --label y -q --loss {loss} --save m.rueful")).result();
        ask(&format!("predict m.rueful rows.csv --as {kind} --out said.csv -q")).result();
        let text = fs::read_to_string(folder.path().join("said.csv")).expect("predictions");
        let (head, said) = table(&text);
        let losses = said.iter().zip(&labels).map(|(row, label)| {
            let own = row[head.iter().position(|name| name == label).expect("a column")];
            let others = head.iter().zip(row).filter(|(name, _)| name != label);
            let rival = others.map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
            if loss == "softmax" { -own.ln() } else { (1.0 + rival - own).max(0.0) }
        });
        let risk = losses.sum::<f64>() / 240.0;
        let flags = format!("rows.csv --label y --loss {loss} --predictions said.csv --json");
        let report = ask(&format!("audit {flags} --hindsight --window 60 -q")).json();
        assert!((number(&report, "sequential_risk") - risk).abs() < 2e-3 * risk, "{loss} {risk}");
        assert!(number(&report["regret"], "lower") <= number(&report, "certificate"), "{loss}");
        let best = ask("hindsight rows.csv --label y --loss LOSS --json -q"
            .replace("LOSS", loss)
            .as_str());
        assert!(overlap(&report["comparator"], &best.json()["comparator"]), "{loss}");
        assert_eq!(report["windows"].as_array().map(Vec::len), Some(4));
        assert_eq!(report["classes"].as_array().map(Vec::len), Some(4));
        let page = "audit rows.csv --label y --predictions said.csv -q --report a.html --loss ";
        let text = ask(&format!("{page}{loss}")).result();
        assert!(text.contains("\nClasses\n") && text.contains("\nVerdict\n"), "{text}");
    }
}

#[test]
fn predictions_that_cannot_be_audited_are_refused_with_their_line() {
    let uneven = "lily,rose,iris,aster\n0.1,0.1,0.1,0.1\n".to_owned();
    let few = "lily,rose\n0.5,0.5\n".to_owned() + &"0.5,0.5\n".repeat(59);
    let none = "lily,rose,iris,aster\n".to_owned() + &"0,1,0,0\n".repeat(60);
    let short = "lily,rose,iris,aster\n0.4,0.2,0.2,0.2\n".to_owned();
    let folder = desk(&[
        ("rows.csv", csv(60, &NAMES)),
        ("uneven.csv", uneven),
        ("few.csv", few),
        ("none.csv", none),
        ("short.csv", short),
    ]);
    for (file, said) in [
        ("uneven.csv", "uneven.csv:2: row 0 has probabilities that add up to 0.4"),
        ("few.csv", "\", expected a class with a column of predictions"),
        ("none.csv", "which was given the probability 0"),
        ("short.csv", "its example 2 has none"),
    ] {
        let line = format!("audit rows.csv --label y --loss softmax --predictions {file}");
        let error = ask_in(folder.path(), &line).one_line();
        assert!(error.contains(said), "{file}: {error}");
    }
    for (flag, said) in [("--link logistic", "--link has no effect"), ("--by f1", "--by judges")] {
        let line = format!("audit rows.csv --label y --loss softmax --predictions none.csv {flag}");
        let error = ask_in(folder.path(), &line).one_line();
        assert!(error.contains(said), "{error}");
    }
}

/// The predictions may be columns of the examples, by name or by number, and what was inferred is said
/// once.
#[test]
fn predictions_of_classes_are_columns_of_the_examples() {
    let table = "x,y,a,b,c\n1,a,.7,.2,.1\n2,b,.2,.5,.3\n3,c,.1,.2,.7\n1,a,.6,.3,.1\n";
    let alone = "x,y\n1,a\n2,b\n3,c\n1,a\n";
    let said = "a,b,c\n.7,.2,.1\n.2,.5,.3\n.1,.2,.7\n.6,.3,.1\n";
    let folder = desk(&[
        ("k.csv", table.to_owned()),
        ("alone.csv", alone.to_owned()),
        ("said.csv", said.to_owned()),
    ]);
    let verdict = |line: &str| {
        let asked = ask_in(folder.path(), &format!("audit {line} --label y --json"));
        let notes = asked.notes();
        assert_eq!(notes.matches("comma-separated").count(), 1, "{notes}");
        let report = asked.json();
        ["sequential_risk", "certificate", "mistake_rate"].map(|key| number(&report, key))
    };
    let columns =
        |names: [&str; 3]| names.map(|name| format!("--prediction-column {name}")).join(" ");
    let apart = verdict("alone.csv --predictions said.csv");
    for names in [["a", "b", "c"], ["c", "a", "b"], ["3", "4", "5"]] {
        assert_eq!(verdict(&format!("k.csv {}", columns(names))), apart, "{names:?}");
    }
}

#[test]
fn the_weight_of_a_class_is_the_importance_of_its_rows() {
    let line = |weight: f64, (x, class): ([f64; 3], usize)| {
        let weight = if class == 1 { 2.5 * weight } else { weight };
        format!("{weight},{},{},{},{}\n", x[0], x[1], x[2], NAMES[class])
    };
    let importances: String = rows(200).into_iter().map(|row| line(1.0, row)).collect();
    let weighted = "w,f1,f2,f3,y\n".to_owned() + &importances;
    let folder = desk(&[("rows.csv", csv(200, &NAMES)), ("weighted.csv", weighted)]);
    let figures_of = |line: &str| {
        let mut report = ask_in(folder.path(), line).json();
        let object = report.as_object_mut().expect("an object");
        ["spec", "data"].iter().for_each(|key| drop(object.remove(*key)));
        report
    };
    for (command, loss) in
        [("run", "softmax"), ("run", "multiclass-hinge"), ("hindsight", "softmax")]
    {
        let flags = format!("--label y -q --json --loss {loss}");
        let by_flag =
            figures_of(&format!("{command} rows.csv {flags} --class-weight {}=2.5", NAMES[1]));
        let by_column = figures_of(&format!("{command} weighted.csv {flags} --importance w"));
        assert_eq!(by_flag, by_column, "{command} {loss}");
    }
    let none = figures_of("run rows.csv --label y -q --json --class-weight lily=0");
    let classes = none["classes"].as_array().expect("classes");
    assert!(classes.iter().all(|class| class["label"] != "lily"), "{classes:?}");
    let ask = |line: &str| ask_in(folder.path(), line);
    let spec = ask("run rows.csv --label y -q --class-weight rose=3 --print-spec").result();
    fs::write(folder.path().join("run.toml"), &spec).expect("the spec is written");
    assert!(ask("run --spec run.toml -q").result().contains("rose counts 3"), "{spec}");
    for (flags, said) in [
        ("--class-weight rose", "--class-weight: found \"rose\", expected a label and its weight"),
        ("--class-weight rose=-1", "--class-weight: -1 is not 0, or a number"),
        ("--class-weight rose=1 --class-weight rose=2", "is given twice for \"rose\""),
        ("--positive-weight 2", "--positive-weight is for two classes"),
        ("--class-weight rose=2 --positive rose", "the weights of labels are for many classes"),
    ] {
        let error = ask(&format!("run rows.csv --label y {flags}")).one_line();
        assert!(error.contains(said), "{flags}: {error}");
    }
}
