//! `--alarm`: windows in which some predictor was provably better.

use crate::harness::{DATA, Said, ask, ask_in, number, program, root};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const MODELS: &str = "--predictions data/phishing-models.csv --link logistic --loss logistic";

fn list<'a>(object: &'a Value, key: &str) -> &'a Vec<Value> {
    object[key].as_array().expect("a list")
}

/// Runs a command with an alarm. Returns its JSON, its exit code and its standard error.
fn watched(line: &str) -> (Value, Option<i32>, String) {
    let Said { code, stdout, stderr } = ask(line);
    (serde_json::from_str(&stdout).expect("the output is JSON"), code, stderr)
}

/// Checks that the exact regret of every window is below its certificate, and that the alarms are
/// the full windows whose regret is proved to be above the threshold.
fn assert_alarms(report: &Value, windows: &[Value], alarms: &[Value], threshold: f64, length: u64) {
    for window in windows {
        let (lower, upper) =
            (number(&window["regret"], "lower"), number(&window["regret"], "upper"));
        assert!(lower <= upper && upper <= number(window, "sequential_risk") + 1e-9, "{window}");
        assert!(lower <= number(window, "certificate"), "{window}");
    }
    let is_one = |window: &&Value| {
        number(&window["regret"], "lower") > threshold
            && number(window, "examples") == length as f64
    };
    let expected: Vec<(&Value, &Value, &Value)> = windows
        .iter()
        .filter(is_one)
        .map(|window| (&window["from"], &window["to"], &window["regret"]))
        .collect();
    let found: Vec<_> =
        alarms.iter().map(|alarm| (&alarm["from"], &alarm["to"], &alarm["regret"])).collect();
    assert_eq!(found, expected, "{report}");
}

#[test]
fn a_run_tells_of_windows_with_regret() {
    for comparators in ["ball", "unit-free"] {
        let of_ogd = "--loss hinge --learner ogd";
        let run =
            format!("run {DATA} {of_ogd} --window 200 --comparators {comparators} --json --alarm");
        let (report, code, said) = watched(&format!("{run} 0.15"));
        let (windows, alarms) = (list(&report, "windows"), list(&report, "alarms"));
        assert_eq!(windows.len(), 7, "six full windows, and one of 50");
        assert_alarms(&report, windows, alarms, 0.15, 200);
        assert!(!alarms.is_empty() && alarms.len() < 6, "{alarms:?}");
        assert_eq!(code, Some(4));
        assert_eq!(said.lines().count(), alarms.len(), "{said}");
        assert!(said.starts_with("alarm: rounds 1 to 200: the regret is at least "), "{said}");
        assert!(said.contains(" per round, above 0.1500\n"), "{said}");

        let (report, code, said) = watched(&format!("{run} 100"));
        assert!(list(&report, "alarms").is_empty() && list(&report, "windows").len() == 7);
        assert_eq!((code, &*said), (Some(0), ""), "quiet where there is nothing to say");
    }
}

/// A job that mails the standard error must not get notes about the format of a table.
#[test]
fn without_an_alarm_nothing_is_said() {
    let folder = TempDir::new().expect("a directory");
    let rows: String = (0..100).map(|t| format!("{},{},0.5\n", t % 2 * 2 - 1, t % 7)).collect();
    fs::write(folder.path().join("x.csv"), format!("y,a,score\n{rows}")).expect("the file");
    for line in
        ["run x.csv --label y --drop score", "audit x.csv --label y --prediction-column score"]
    {
        let said = ask_in(folder.path(), &format!("{line} --window 10 --alarm 1e9"));
        assert_eq!((said.code, &*said.stderr), (Some(0), ""), "{line}");
        let told = ask_in(folder.path(), line);
        assert!(told.stderr.contains("note: comma-separated text"), "{line}");
    }
}

/// The exact regret of a window is the regret against the best predictor of its own rows.
#[test]
fn a_window_is_solved_as_its_rows_alone_would_be() {
    let folder = TempDir::new().expect("a directory");
    let text = fs::read_to_string(root().join(DATA)).expect("the data");
    let lines: Vec<&str> = text.lines().collect();
    let (report, ..) =
        watched(&format!("run {DATA} --loss logistic --window 500 --alarm 1 --json"));
    let windows = list(&report, "windows");
    assert_eq!(windows.len(), 3);
    for window in windows {
        let (from, to) = (number(window, "from") as usize, number(window, "to") as usize);
        let rows = lines[from - 1..to].join("\n");
        fs::write(folder.path().join("rows"), rows).expect("the file is written");
        let alone = "hindsight rows --loss logistic --comparators ball --json";
        let best = ask_in(folder.path(), alone).json();
        let (least, most) =
            (number(&best["comparator"], "lower"), number(&best["comparator"], "upper"));
        let risk = number(window, "sequential_risk");
        let (lower, upper) =
            (number(&window["regret"], "lower"), number(&window["regret"], "upper"));
        assert!(lower <= risk - least && risk - most <= upper, "{window} {best}");
        assert!(upper - lower < 1e-3 * risk, "a loose interval: {window}");
    }
}

#[test]
fn an_audit_tells_of_windows_with_regret() {
    let audit = format!("audit {DATA} {MODELS} --window 250 --json");
    let (report, code, said) =
        watched(&format!("{audit} --prediction-column unplugged --alarm 0.13"));
    let alarms = list(&report, "alarms");
    assert_alarms(&report, list(&report, "windows"), alarms, 0.13, 250);
    assert!(code == Some(4) && !alarms.is_empty(), "{report}");
    assert_eq!(
        said.lines().filter(|line| line.starts_with("alarm: rounds ")).count(),
        alarms.len()
    );

    let (report, _, said) = watched(&format!("{audit} --prediction-column all --alarm 0.13"));
    for model in list(&report, "models") {
        let mine = |alarm: &&Value| alarm["model"] == model["name"];
        let alarms: Vec<Value> = list(&report, "alarms").iter().filter(mine).cloned().collect();
        assert_alarms(&report, list(model, "windows"), &alarms, 0.13, 250);
    }
    assert!(said.contains("alarm: unplugged, rounds "), "{said}");
}

/// A last window that is not full raises no alarm, however large its regret is.
#[test]
fn a_window_that_is_not_full_raises_none() {
    let (report, code, said) = watched(&format!("run {DATA} --window 1249 --alarm -5 --json"));
    let alarms = list(&report, "alarms");
    assert_eq!((alarms.len(), code), (1, Some(4)), "{said}");
    assert_eq!((number(&alarms[0], "from"), number(&alarms[0], "to")), (1.0, 1249.0));
    assert!(list(&report, "windows")[1]["regret"].is_object());
}

#[test]
fn the_text_lists_the_windows() {
    let run = format!("run {DATA} --loss hinge --learner ogd --window 200 --alarm");
    let said = ask(&format!("{run} 0.15"));
    let title = "Alarm: windows of 200 examples with an exact regret above 0.1500 per round\n";
    assert!(said.stdout.contains(title) && said.stdout.contains("\n  1 to 200 "), "{said:?}");
    let quiet = ask(&format!("{run} 100")).result();
    assert!(quiet.ends_with("regret above 100.0 per round\n  none\n"), "{quiet}");
}

/// With a file that still grows, the line comes when the window closes, and not when the run ends.
#[cfg(unix)]
#[test]
fn a_line_comes_when_its_window_closes() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let folder = TempDir::new().expect("a directory");
    let path = folder.path().join("growing");
    fs::write(&path, "1 1:1\n").expect("the file is written");
    let mut child = program(folder.path())
        .args(["run", "growing", "--follow", "--window", "4", "--alarm", "0.2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut said = BufReader::new(child.stderr.take().expect("its standard error")).lines();
    let mut next = || said.next().expect("a line").expect("text");
    assert!(next().contains("interrupt"));
    let mut file = fs::OpenOptions::new().append(true).open(&path).expect("the file");
    file.write_all(b"-1 2:1\n1 3:1\n-1 4:1\n1 1:1\n").expect("it is written to");
    let line = next();
    assert!(line.starts_with("alarm: rounds 1 to 4: "), "{line}");
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill is there").success());
    assert_eq!(child.wait().expect("the program ends").code(), Some(4));
}

#[test]
fn alarms_that_cannot_be_are_refused() {
    for (line, told) in [
        (
            "run {DATA} --alarm 0.1",
            "--alarm watches windows: say how long they are, with --window N",
        ),
        ("run {DATA} --alarm nan --window 9", "--alarm: NaN is not a regret per round"),
        ("audit {DATA} --predictions p --alarm inf --window 9", "--alarm: inf is not a regret"),
        ("audit {DATA} --predictions p --alarm 1", "--alarm watches windows"),
        ("run {DATA} --window 9 --alarm 1 --tolerance 2", "--tolerance: 2 is not a number"),
    ] {
        let refusal = ask(&line.replace("{DATA}", DATA)).one_line();
        assert!(refusal.contains(told), "{line}: {refusal}");
    }
    let unused = ask(&format!("run {DATA} --window 9")).refusal(2);
    assert!(unused.contains("--alarm") && unused.contains("--report"), "{unused}");
}
