//! Labels that come later than their rows: predict now, learn when the label comes.

use crate::harness::{ask_in, number};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// An event of a stream: a row that is asked about, or the label of such a row.
#[derive(Clone, Copy)]
enum Event {
    Ask(usize),
    Label(usize),
}

/// The age, the job and the label of a row.
fn row(t: usize) -> (usize, &'static str, usize) {
    let age = 18 + t * 37 % 60;
    let job = ["clerk", "cook", "smith"][t * t % 7 % 3];
    (age, job, usize::from((age > 50) ^ (job == "cook") ^ (t.is_multiple_of(11))))
}

/// Rows whose labels come after `delay` more rows, the first of two in the place of the second.
fn events(rows: usize, delay: usize) -> Vec<Event> {
    let mut events = Vec::new();
    for t in 0..rows {
        events.push(Event::Ask(t));
        let due = t.checked_sub(delay).map(|due| if delay > 2 { due ^ 1 } else { due });
        events.extend(due.filter(|&due| due <= t).map(Event::Label));
    }
    events
}

fn csv(events: &[Event]) -> String {
    let line = |event: &Event| match *event {
        Event::Ask(t) => format!("r{t},{},{},\n", row(t).0, row(t).1),
        Event::Label(t) => format!("r{t},,,{}\n", row(t).2),
    };
    "id,age,job,clicked\n".to_owned() + &events.iter().map(line).collect::<String>()
}

fn jsonl(events: &[Event]) -> String {
    let line = |event: &Event| match *event {
        Event::Ask(t) => {
            format!("{{\"id\": \"r{t}\", \"age\": {}, \"job\": \"{}\"}}\n", row(t).0, row(t).1)
        }
        Event::Label(t) => format!("{{\"id\": \"r{t}\", \"clicked\": {}}}\n", row(t).2),
    };
    events.iter().map(line).collect()
}

fn vw(events: &[Event]) -> String {
    let line = |event: &Event| match *event {
        Event::Ask(t) => format!("'r{t} | age:{} job={}\n", row(t).0, row(t).1),
        Event::Label(t) => format!("{} 'r{t} |\n", row(t).2),
    };
    events.iter().map(line).collect()
}

/// The rows whose labels came, in the order of the labels, as an ordinary table.
fn in_turn(events: &[Event]) -> String {
    let line = |event: &Event| match *event {
        Event::Ask(_) => String::new(),
        Event::Label(t) => format!("{},{},{}\n", row(t).0, row(t).1, row(t).2),
    };
    "age,job,clicked\n".to_owned() + &events.iter().map(line).collect::<String>()
}

fn desk(files: &[(&str, String)]) -> TempDir {
    let folder = TempDir::new().expect("a directory");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the file is written");
    }
    folder
}

/// A report without everything that says that labels came late.
fn figures(mut report: Value) -> Value {
    let keys = report.as_object_mut().expect("an object");
    for key in ["spec", "delayed_labels", "bound", "mixing_cost", "risk_bound", "experts"] {
        keys.remove(key);
    }
    report
}

fn lines(desk: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(desk.join(name)).expect("a file");
    text.lines().map(str::to_owned).collect()
}

const LEARNERS: [&str; 4] = [
    "--learner bank",
    "--learner ogd --loss hinge",
    "--loss softmax",
    "--learner ogd --loss multiclass-hinge",
];

#[test]
fn labels_that_come_at_once_are_an_ordinary_run() {
    let all = events(300, 0);
    let desk = desk(&[("late.csv", csv(&all)), ("turn.csv", in_turn(&all))]);
    for learner in LEARNERS {
        let run = format!("{learner} --label clicked -q --json");
        let late = ask_in(desk.path(), &format!("run late.csv --id id {run}")).json();
        let turn = ask_in(desk.path(), &format!("run turn.csv {run}")).json();
        assert_eq!(late["delayed_labels"], serde_json::json!({"late": 300, "waiting": 0}));
        assert_eq!(figures(late), figures(turn), "{learner}");
    }
}

#[test]
fn the_prediction_that_was_made_is_charged() {
    let all = events(400, 30);
    let desk = desk(&[("late.csv", csv(&all))]);
    let run = "run late.csv --label clicked --id id -q --json --predictions said.txt";
    let report = ask_in(desk.path(), run).json();
    assert_eq!(number(&report["delayed_labels"], "late"), 370.0);
    assert_eq!(number(&report["delayed_labels"], "waiting"), 30.0);
    let said = lines(desk.path(), "said.txt");
    assert_eq!(said.len(), all.len());
    let mut made = vec![""; 400];
    let mut total = 0.0;
    for (event, said) in all.iter().zip(&said) {
        match *event {
            Event::Ask(t) => made[t] = said,
            Event::Label(t) => {
                assert_eq!(made[t], said, "row {t}");
                let y = 2.0 * row(t).2 as f64 - 1.0;
                total += (-y * said.parse::<f64>().expect("a number")).exp().ln_1p();
            }
        }
    }
    let risk = number(&report, "sequential_risk");
    assert!((risk - total / 370.0).abs() < 1e-12, "{risk} {total}");
    assert_eq!(report["bound"]["theorem"], Value::Null);
    let why = report["bound"]["why"].as_str().expect("a reason");
    assert!(why.contains("370 of the predictions were made before"), "{why}");
    assert!(report.get("risk_bound").is_none() && report.get("mixing_cost").is_none());
}

#[test]
fn learning_goes_in_the_order_of_the_labels() {
    let all = events(400, 30);
    let desk = desk(&[("late.csv", csv(&all)), ("turn.csv", in_turn(&all))]);
    for learner in LEARNERS {
        let run = format!("{learner} --label clicked -q --json --save");
        let late = ask_in(desk.path(), &format!("run late.csv --id id {run} late.rueful")).json();
        let turn = ask_in(desk.path(), &format!("run turn.csv {run} turn.rueful")).json();
        let predict = |model: &str| {
            ask_in(desk.path(), &format!("predict {model}.rueful turn.csv -q --as score"))
        };
        assert_eq!(predict("late").result(), predict("turn").result(), "{learner}");
        for key in ["examples", "features", "nonzeros"] {
            assert_eq!(late[key], turn[key], "{learner}");
        }
        assert_ne!(late["sequential_risk"], turn["sequential_risk"], "{learner}");
    }
}

#[test]
fn the_certificate_holds_for_what_was_said() {
    let all = events(400, 30);
    let desk = desk(&[("late.csv", csv(&all)), ("turn.csv", in_turn(&all))]);
    for learner in &LEARNERS[..2] {
        let run = format!("{learner} --label clicked -q --json --hindsight --radius 3");
        let late = ask_in(desk.path(), &format!("run late.csv --id id {run}")).json();
        let turn = ask_in(desk.path(), &format!("run turn.csv {run}")).json();
        // The examples are the same, so what is proved of the best predictor overlaps.
        let (late_best, turn_best) = (&late["comparator"], &turn["comparator"]);
        assert!(number(late_best, "lower") <= number(turn_best, "upper"), "{learner}");
        assert!(number(turn_best, "lower") <= number(late_best, "upper"), "{learner}");
        assert!(number(&late["regret"], "lower") <= number(&late, "certificate"), "{learner}");
    }
}

#[test]
fn a_stream_that_was_stopped_ends_like_one_that_was_not() {
    let all = events(300, 20);
    let text = csv(&all);
    let header = text.find('\n').expect("a header") + 1;
    for learner in LEARNERS {
        for stop in [3, 30, 77, 400] {
            let end = text.match_indices('\n').nth(stop).map_or(text.len(), |(at, _)| at + 1);
            let desk = desk(&[
                ("whole.csv", text.clone()),
                ("first.csv", text[..end].to_owned()),
                ("rest.csv", text[..header].to_owned() + &text[end..]),
                ("grows.csv", text[..end].to_owned()),
            ]);
            let flags = format!("{learner} --label clicked --id id -q --json");
            let flags = flags.replace("--learner bank", "--learner bank --loss logistic");
            let ask = |asked: String| ask_in(desk.path(), &asked).json();
            let whole = ask(format!("run whole.csv {flags} --save whole.rueful"));
            ask(format!("run first.csv {flags} --save first.rueful"));
            let parts = ask("run rest.csv --resume first.rueful -q --json --save p.rueful".into());
            // The shares of experts are looked at by place, and everything else is the same.
            let same = |report: Value| {
                let mut report = report;
                let keys = report.as_object_mut().expect("an object");
                keys.retain(|key, _| !["spec", "resumed"].contains(&key.as_str()));
                report
            };
            assert_eq!(same(parts), same(whole.clone()), "{learner} {stop}");
            ask(format!("run grows.csv {flags} --save grows.rueful"));
            fs::write(desk.path().join("grows.csv"), &text).expect("the rest is written");
            let grown = ask("run --resume grows.rueful -q --json --save grown.rueful".into());
            assert_eq!(same(grown), same(whole), "{learner} {stop}");
        }
    }
}

#[test]
fn every_format_with_ids_gives_the_same() {
    let all = events(200, 9);
    let desk = desk(&[("late.csv", csv(&all)), ("late.jsonl", jsonl(&all)), ("late.vw", vw(&all))]);
    let ask = |asked: &str| ask_in(desk.path(), &format!("run {asked} -q --json")).json();
    let csv = ask("late.csv --label clicked --id id --threads 1");
    for other in
        ["late.csv --label clicked --id id --threads 5", "late.jsonl --label clicked --id id"]
    {
        assert_eq!(figures(ask(other)), figures(csv.clone()), "{other}");
    }
    // The names are others there, so features come in another order within a row.
    let vw = ask("late.vw --id tag");
    for key in ["sequential_risk", "certificate"] {
        assert!((number(&vw, key) / number(&csv, key) - 1.0).abs() < 1e-6, "{key}");
    }
    assert_eq!(vw["delayed_labels"], csv["delayed_labels"]);
}

/// What is made of a row is made of one that waits, and keeps its name.
#[test]
fn made_features_wait_with_their_rows() {
    let all = events(120, 7);
    let desk = desk(&[("late.csv", csv(&all)), ("turn.csv", in_turn(&all)), ("late.vw", vw(&all))]);
    let weights = |asked: &str, model: &str| {
        ask_in(desk.path(), &format!("run {asked} -q --save {model}")).result();
        let listed = ask_in(desk.path(), &format!("weights {model} --all --json")).json();
        let names = listed["weights"].as_array().expect("an array").iter();
        let names = names.map(|weight| weight["name"].as_str().expect("a name").to_owned());
        names.collect::<BTreeSet<String>>()
    };
    let made = "--label clicked --cross age,job --bins age:30,50";
    let turn = weights(&format!("turn.csv {made}"), "turn.rueful");
    assert!(turn.iter().any(|name| name.contains('×')), "{turn:?}");
    assert_eq!(weights(&format!("late.csv --id id {made}"), "late.rueful"), turn);
    let grams = weights("late.vw --id tag --ngram 2", "vw.rueful");
    assert!(grams.iter().any(|name| name.contains("job=cook")), "{grams:?}");
}

#[test]
fn the_importance_comes_with_the_label() {
    let all = events(200, 9);
    let weighted = csv(&all).replace("clicked\n", "clicked,w\n");
    let line = |line: &str| match line.ends_with("clicked,w") {
        true => line.to_owned() + "\n",
        false => format!("{line},{}\n", if line.ends_with(',') { "" } else { "2" }),
    };
    let weighted: String = weighted.lines().map(line).collect();
    let desk = desk(&[("late.csv", csv(&all)), ("twice.csv", weighted)]);
    let flags = "--label clicked --id id -q --json --learner perceptron";
    let once = ask_in(desk.path(), &format!("run late.csv {flags}")).json();
    let twice = ask_in(desk.path(), &format!("run twice.csv --importance w {flags}")).json();
    assert_eq!(once["mistake_rate"], twice["mistake_rate"]);
    let ratio = number(&twice, "sequential_risk") / number(&once, "sequential_risk");
    assert!((ratio - 2.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn mistakes_are_told_with_their_place_and_nothing_is_lost() {
    let table = |rows: &str| format!("id,age,clicked\n{rows}");
    let desk = desk(&[
        ("twice.csv", table("a,1,\nb,2,1\na,3,\n")),
        ("nobody.csv", table("a,1,\na,,1\nb,3,0\na,,1\n")),
        ("many.csv", table("a,1,\nb,2,\nc,3,\nb,,1\n")),
        ("no_id.csv", table("a,1,\n,2,\n")),
        ("fine.csv", table("a,1,\na,,1\nb,2,0\n")),
        ("no_tag.vw", "'a | x\n1 | y\n".to_owned()),
        ("a.libsvm", "1 1:1\n-1 2:1\n".to_owned()),
        ("none.csv", table("a,1,\nb,2,\n")),
    ]);
    let flags = "--label clicked --id id --loss logistic -q";
    let cases = [
        (
            format!("run twice.csv {flags}"),
            "error: twice.csv:4: found a second row without a label that has the id \"a\", \
             expected an id of its own for every row that waits, or the label of the first",
        ),
        (
            format!("run nobody.csv {flags}"),
            "error: nobody.csv:5: found a label for the id \"a\", and no row that waits for it, \
             expected a row with features and this id before its label, and one label for it",
        ),
        (
            format!("run many.csv {flags} --pending 2"),
            "error: many.csv:4: found one row more than the 2 that may wait for a label, expected \
             fewer, or a larger --pending",
        ),
        (
            format!("run no_id.csv {flags}"),
            "error: no_id.csv:3:1: found \"\", expected an id in column \"id\"; a label finds its \
             row by its id",
        ),
        ("run no_tag.vw --id tag -q".to_owned(), "a tag before the |, the id of the row"),
        ("run no_tag.vw --id name -q".to_owned(), "its ids are tags: say tag"),
        ("run a.libsvm --id id -q".to_owned(), "it has no ids"),
        (format!("run fine.csv {flags} --cache"), "a cache stores no ids"),
        (format!("run fine.csv {flags} --passes 2"), "a stream that is read once"),
        (
            format!("run fine.csv {flags} --sigma 0.1 --learner strongly-convex-ogd"),
            "with sigma above 0",
        ),
        ("run fine.csv --label clicked --pending 3".to_owned(), "--id"),
        ("run fine.csv --label clicked --id clicked".to_owned(), "--label and --id both name"),
        ("run fine.csv --label clicked --id nr".to_owned(), "--id names \"nr\""),
    ];
    for (asked, expected) in cases {
        let said = ask_in(desk.path(), &asked);
        assert!(matches!(said.code, Some(1 | 2)) && said.stdout.is_empty(), "{said:?}");
        assert!(said.stderr.contains(expected), "{asked}\n{}", said.stderr);
    }
    let saved = ask_in(desk.path(), &format!("run nobody.csv {flags} --save n.rueful"));
    assert!(saved.one_line().contains("nobody.csv:5"));
    let kept = ask_in(desk.path(), "inspect n.rueful --json").json();
    assert_eq!((number(&kept, "examples"), number(&kept, "position")), (2.0, 2.0));
    let wait = format!("run many.csv {flags} --save w.rueful");
    ask_in(desk.path(), &wait).result();
    let told = ask_in(desk.path(), "inspect w.rueful").result();
    assert!(told.contains("examples         1; 2 rows wait for their labels"), "{told}");
    // A table none of whose rows has a label has taught nothing yet.
    let none = ask_in(desk.path(), &format!("run none.csv {flags} --json")).json();
    assert_eq!((number(&none, "examples"), number(&none["delayed_labels"], "waiting")), (0.0, 2.0));
    let text = ask_in(desk.path(), &format!("run fine.csv {flags}")).result();
    assert!(text.contains("1 came late, and the prediction made before is charged; no row waits"));
}
