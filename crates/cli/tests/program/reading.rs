//! Files of every format, given to the program as a person would give them.

use crate::harness::{DATA, Said, ask, ask_in, number, program, root};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

const TABLE: &str = "\
age,job,pay,bought
31,clerk,2100,yes
47,,3400,no
25,smith,?,yes
52,clerk,4100,no
";

/// A folder with the same few examples in several formats.
fn desk() -> TempDir {
    let folder = TempDir::new().expect("a directory");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("the file is written");
    };
    write("table.csv", TABLE);
    write("table.tsv", &TABLE.replace(',', "\t"));
    write("plain.libsvm", "1 1:0.5 2:1\n0 2:2\n1 1:1\n");
    write("named.vw", "1 |a x:0.5 y\n-1 |a y:2 |b z\n");
    write("mail.tsv", "spam\tWin money, WIN now\nham\tsee you now\n");
    write(
        "rows.jsonl",
        "{\"y\": 1, \"age\": 31, \"job\": \"clerk\"}\n{\"y\": -1, \"age\": 47, \"job\": null}\n",
    );
    folder
}

/// Runs `rueful` with `input` on its standard input.
fn ask_with_input(directory: &Path, line: &str, input: &[u8]) -> Said {
    let mut child = program(directory)
        .args(line.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("the input is taken");
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn counts(look: &Value) -> (f64, f64, f64, f64) {
    let count = |key| number(look, key);
    (count("examples"), count("nonzeros"), count("features"), count("missing"))
}

#[test]
fn every_format_is_looked_at() {
    let desk = desk();
    let look = |line: &str| ask_in(desk.path(), &format!("data {line} --json")).json();
    // The nonzeros are four constants, four ages, three jobs and three pays, and two features of
    // missing cells. There are two different jobs.
    for table in ["table.csv", "table.tsv"] {
        let found = look(&format!("{table} --label bought --positive yes"));
        assert_eq!(counts(&found), (4.0, 16.0, 7.0, 2.0), "{found}");
        assert_eq!(number(&found, "label_sum"), 0.0);
        assert_eq!(found["columns"][1]["role"], "category");
    }
    assert_eq!(counts(&look("plain.libsvm")), (3.0, 7.0, 3.0, 0.0));
    assert_eq!(counts(&look("named.vw")), (2.0, 6.0, 4.0, 0.0));
    assert_eq!(counts(&look("mail.tsv --label 1 --text 2")), (2.0, 8.0, 6.0, 0.0));
    assert_eq!(counts(&look("rows.jsonl --label y")), (2.0, 6.0, 4.0, 1.0));
    let names = look("mail.tsv --label 1 --text 2");
    assert_eq!(names["label_sum"], Value::Null);
    assert_eq!(names["labels"][0]["label"], "spam");
    assert!(names["first"][0].to_string().contains("\"2:win\""), "{names}");
}

#[test]
fn no_constant_means_one_nonzero_less_for_each() {
    let with = ask(&format!("data {DATA} --json")).json();
    let without = ask(&format!("data {DATA} --no-constant --json")).json();
    assert_eq!(number(&with, "nonzeros") - number(&without, "nonzeros"), 1250.0);
    assert_eq!(number(&with, "features") - number(&without, "features"), 1.0);
}

#[test]
fn what_is_missing_is_asked_for() {
    let desk = desk();
    let refusal = |line: &str| ask_in(desk.path(), line).one_line();
    let text = refusal("run table.csv");
    assert!(text.contains("--label NAME") && text.contains("age, job, pay, bought"), "{text}");
    let text = refusal("run table.csv --label job");
    assert!(text.contains("expected a label in column \"job\""), "{text}");
    let text = refusal("run table.csv --label bought --positive maybe");
    assert!(text.contains("expected one that is \"maybe\", as --positive says"), "{text}");
    let text = refusal("run plain.libsvm --label y");
    assert!(text.contains("--label means nothing for"), "{text}");
    let text = refusal("run table.csv --label price");
    assert!(text.contains("--label names \"price\""), "{text}");
}

/// Standard input, several files, compression and any number of threads give the same stream.
#[test]
fn the_same_bytes_give_the_same_report() {
    let folder = TempDir::new().expect("a directory");
    let text = fs::read(root().join(DATA)).expect("the data is there");
    let cut = text.len() / 2 + text[text.len() / 2..].iter().position(|&b| b == b'\n').unwrap() + 1;
    fs::write(folder.path().join("one"), &text[..cut]).unwrap();
    fs::write(folder.path().join("two"), &text[cut..]).unwrap();
    fs::write(folder.path().join("all"), &text).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).unwrap();
    fs::write(folder.path().join("all.gz"), gzip.finish().unwrap()).unwrap();
    let report = |line: &str| {
        let mut report = ask_in(folder.path(), line).json();
        report["spec"]["data"]["files"] = Value::Null;
        report
    };
    let expected = report("run all --json");
    assert_eq!(number(&expected, "examples"), 1250.0);
    for line in [
        "run one two --json",
        "run all.gz --json",
        "run all --threads 1 --json",
        "run all --threads 5 --json",
        "run all --format libsvm --json",
    ] {
        assert_eq!(report(line), expected, "{line}");
    }
    let mut piped = ask_with_input(folder.path(), "run - --json", &text).json();
    piped["spec"]["data"]["files"] = Value::Null;
    assert_eq!(piped, expected);
}

#[test]
fn standard_input_is_read_once_and_that_is_said() {
    let text = fs::read(root().join(DATA)).expect("the data is there");
    let said = ask_with_input(&root(), "run - --learner minimax", &text).one_line();
    assert!(said.contains("standard input can be read only once: give --horizon"), "{said}");
    // Data that fits in memory need not be read twice, so standard input can be solved for.
    let solved = ask_with_input(&root(), "run - --hindsight --json", &text).json();
    assert_eq!(solved["regret"], ask(&format!("run {DATA} --hindsight --json")).json()["regret"]);
    let said = ask_with_input(&root(), "hindsight - --keep 0", &text).one_line();
    assert!(said.contains("standard input can be read only once"), "{said}");
}

/// With a schema the next file is read as the first one was, although it looks different.
#[test]
fn a_schema_reads_the_next_file_in_the_same_way() {
    let desk = desk();
    let line = "data table.csv --label bought --positive yes --write-schema schema.json --json";
    ask_in(desk.path(), line).json();
    // The jobs of this file are numbers. Without the schema they would be read as a column of
    // numbers.
    fs::write(desk.path().join("next.csv"), "age,job,pay,bought\n31,7,1,yes\n47,8,2,no\n").unwrap();
    let read = "next.csv --schema schema.json --positive yes --json";
    let next = ask_in(desk.path(), &format!("data {read}")).json();
    assert_eq!(next["columns"][1]["role"], "category");
    assert_eq!(counts(&next), (2.0, 8.0, 5.0, 0.0));
    let text = ask_in(desk.path(), &format!("data {read} --label age")).one_line();
    assert!(text.contains("leave out --format, --label"), "{text}");
    fs::write(desk.path().join("odd.json"), "{\"format\": \"odd\"}").unwrap();
    let text = ask_in(desk.path(), "data next.csv --schema odd.json").one_line();
    assert!(text.contains("odd.json is not a schema"), "{text}");
}

/// The description of a run repeats the run, and includes the format of its data.
#[test]
fn a_spec_repeats_a_run_on_a_table() {
    let desk = desk();
    let line = "run table.csv --label bought --positive yes --drop age --bits 12 --json";
    let report = ask_in(desk.path(), line).json();
    fs::write(desk.path().join("report.json"), report.to_string()).unwrap();
    assert_eq!(ask_in(desk.path(), "run --spec report.json --json").json(), report);
}

/// One table may hold the examples and the predictions of a model.
#[test]
fn predictions_may_be_columns_of_the_examples() {
    let folder = TempDir::new().expect("a directory");
    let table = "x,score,y\n0.5,0.25,1\n-1,-0.5,-1\n2,0.75,1\n";
    fs::write(folder.path().join("log.csv"), table).unwrap();
    fs::write(folder.path().join("x.csv"), "x,y\n0.5,1\n-1,-1\n2,1\n").unwrap();
    fs::write(folder.path().join("p.txt"), "0.25\n-0.5\n0.75\n").unwrap();
    let one = ask_in(folder.path(), "audit log.csv --label y --prediction-column score --json");
    let two = ask_in(folder.path(), "audit x.csv --label y --predictions p.txt --json");
    let (one, two) = (one.json(), two.json());
    for key in ["examples", "sequential_risk", "certificate", "features", "nonzeros"] {
        let value = |report: &Value| {
            let model = if report[key].is_null() { &report["models"][0] } else { report };
            model[key].clone()
        };
        assert!(!value(&one).is_null(), "{key} is missing: {one}");
        assert_eq!(value(&one), value(&two), "{key}");
    }
}

/// The program learns from a growing file until it is interrupted, and the interrupt is no failure.
#[cfg(unix)]
#[test]
fn a_growing_file_is_learned_from_until_interrupted() {
    let folder = TempDir::new().expect("a directory");
    let path = folder.path().join("growing");
    fs::write(&path, "1 1:1\n-1 2:1\n").unwrap();
    let mut child = program(folder.path())
        .args(["run", "growing", "--follow", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The program says when it is ready to be interrupted. It still reads everything that was
    // written before the interrupt.
    let mut ready = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("interrupt"), "{ready}");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    for _ in 0..5 {
        file.write_all(b"1 1:2\n").unwrap();
    }
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill is there");
    assert!(interrupted.success());
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(number(&report, "examples"), 7.0);
}

/// The report counts the names that share an index.
#[test]
fn a_report_tells_of_names_that_meet() {
    let folder = TempDir::new().expect("a directory");
    let words: Vec<String> = (0..100).map(|word| format!("word{word}")).collect();
    fs::write(folder.path().join("words.vw"), format!("1 | {}\n", words.join(" "))).unwrap();
    let ask_for = |command: &str, bits: u8| {
        ask_in(folder.path(), &format!("{command} words.vw --bits {bits}"))
    };
    let collisions = number(&ask_for("data --json", 8).json(), "collisions");
    let report = ask_for("run --json", 8).json();
    assert!(collisions > 1.0 && number(&report, "collisions") == collisions, "{report}");
    assert_eq!(number(&report, "features"), 101.0 - collisions);
    let text = ask_for("run", 8).result();
    let told = format!("nonzeros; {collisions} names share an index with another\n");
    assert!(text.contains(&told), "{text}");
    assert_eq!(number(&ask_for("run --json", 22).json(), "collisions"), 0.0);
    assert!(ask_for("run", 22).result().contains("nonzeros; no two names share an index\n"));
    let plain = ask(&format!("run {DATA} --json")).json();
    assert!(plain.get("collisions").is_none(), "{plain}");
}
