//! Runs that are saved, killed, resumed and inspected. Nothing that was learned may be lost.

use crate::harness::{DATA, Said, ask_in, program, root};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Every learner but the bank, with the settings that it needs to know beforehand.
const LEARNERS: [&str; 9] = [
    "ogd",
    "strongly-convex-ogd",
    "perceptron",
    "erm",
    "regularized-erm",
    "minimax --horizon 100000 --gradient-bound 4",
    "ftrl --l1 2",
    "passive-aggressive-1",
    "passive-aggressive-2",
];

/// A folder with the project's stream, in one piece and in two.
fn desk() -> TempDir {
    let folder = TempDir::new().expect("a directory");
    let text = fs::read_to_string(root().join(DATA)).expect("the stream is there");
    let middle = text.match_indices('\n').nth(599).expect("600 lines").0 + 1;
    write(&folder, "all.libsvm", &text);
    write(&folder, "one.libsvm", &text[..middle]);
    write(&folder, "two.libsvm", &text[middle..]);
    folder
}

fn write(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.path().join(name), text).expect("the file is written");
}

fn bytes(folder: &TempDir, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).expect("the file is there")
}

fn say(folder: &TempDir, line: &str) -> Said {
    ask_in(folder.path(), line)
}

/// A report without the keys that say how the run was started.
fn facts(mut report: Value) -> Value {
    let facts = report.as_object_mut().expect("an object");
    facts.remove("spec");
    facts.remove("resumed");
    report
}

#[test]
fn a_run_in_two_parts_is_the_run_of_both() {
    let desk = desk();
    for learner in LEARNERS {
        say(&desk, &format!("run one.libsvm --loss hinge --learner {learner} --save m.rueful -q"))
            .result();
        let second = "run two.libsvm --resume m.rueful --save m.rueful -q --json";
        let parts = say(&desk, second).json();
        let whole = format!(
            "run one.libsvm two.libsvm --loss hinge --learner {learner} --save w.rueful -q --json"
        );
        let whole = say(&desk, &whole).json();
        assert_eq!(parts["resumed"], 600);
        assert_eq!(facts(parts), facts(whole), "{learner}");
        let weights = |model| say(&desk, &format!("weights {model} --all --json")).result();
        assert_eq!(weights("m.rueful"), weights("w.rueful"), "{learner}");
    }
}

/// Writes a stream that repeats the same rows, so that a run takes long enough to be killed.
fn long_stream(folder: &TempDir) {
    let text = fs::read_to_string(root().join(DATA)).expect("the stream is there");
    write(folder, "long.libsvm", text.repeat(48));
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn start(folder: &TempDir, line: &str) -> Child {
    let mut command = program(folder.path());
    command.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

#[test]
fn killed_at_any_moment_a_run_goes_on_to_the_same_bytes() {
    let folder = TempDir::new().expect("a directory");
    long_stream(&folder);
    let mut dice = Dice(7);
    for learner in LEARNERS {
        let keeping = "--save m.rueful --checkpoint-every 1000 -q";
        let begin = format!("run long.libsvm --loss hinge --learner {learner} {keeping}");
        say(&folder, &begin).result();
        let unbroken = bytes(&folder, "m.rueful");
        fs::remove_file(folder.path().join("m.rueful")).expect("it was there");
        for _ in 0..8 {
            let has_model = folder.path().join("m.rueful").exists();
            let resume = format!("run --resume m.rueful {keeping}");
            let mut child = start(&folder, if has_model { &resume } else { &begin });
            thread::sleep(Duration::from_millis(dice.below(60)));
            let _ = child.kill();
            child.wait().expect("it ends");
            if folder.path().join("m.rueful").exists() {
                say(&folder, "inspect m.rueful").result();
            }
        }
        if folder.path().join("m.rueful").exists() {
            say(&folder, &format!("run --resume m.rueful {keeping}")).result();
        } else {
            say(&folder, &begin).result();
        }
        assert_eq!(bytes(&folder, "m.rueful"), unbroken, "{learner}");
        fs::remove_file(folder.path().join("m.rueful")).expect("it is there");
        // A program overwrites the partial file that a killed one has left.
        let left = fs::read_dir(folder.path()).expect("the folder").count();
        assert!(left <= 2, "{left} files");
        let _ = fs::remove_file(folder.path().join("m.rueful.part"));
    }
}

/// A limit on the size of files has the same effect as a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_model() {
    let desk = desk();
    say(&desk, "run one.libsvm --loss hinge --save m.rueful -q").result();
    let old = bytes(&desk, "m.rueful");
    let rueful = env!("CARGO_BIN_EXE_rueful");
    let line = "run two.libsvm --resume m.rueful --save m.rueful -q";
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {rueful} {line}");
    let output = Command::new("sh").args(["-c", &script]).current_dir(desk.path()).output();
    let output = output.expect("a shell");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("error: cannot save m.rueful: "), "{complaint}");
    assert!(complaint.contains("unharmed"), "{complaint}");
    assert_eq!(bytes(&desk, "m.rueful"), old);
    assert!(!desk.path().join("m.rueful.part").exists());
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_before_anything_is_learned() {
    let desk = desk();
    for place in ["missing/m.rueful", "."] {
        let said = say(&desk, &format!("run all.libsvm --loss hinge --save {place}"));
        let complaint = said.refusal(1);
        assert!(complaint.contains("cannot save"), "{complaint}");
    }
}

#[test]
fn what_was_learned_before_an_error_is_saved() {
    let desk = desk();
    let mut text = bytes(&desk, "one.libsvm");
    text.extend_from_slice(b"1 7:nonsense\n");
    write(&desk, "broken.libsvm", &text);
    let said = say(&desk, "run broken.libsvm --loss hinge --save m.rueful -q");
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("broken.libsvm:601:3"), "{}", said.stderr);
    assert!(said.stderr.contains("learned from 600 examples is in m.rueful"), "{}", said.stderr);
    say(&desk, "run one.libsvm --loss hinge --save one.rueful -q").result();
    let weights = |model| say(&desk, &format!("weights {model} --all --json")).result();
    assert_eq!(weights("m.rueful"), weights("one.rueful"));
}

#[test]
fn a_file_that_has_grown_is_gone_on_with() {
    let desk = desk();
    fs::copy(desk.path().join("one.libsvm"), desk.path().join("log.libsvm")).expect("a copy");
    say(&desk, "run log.libsvm --loss hinge --save m.rueful -q").result();
    fs::copy(desk.path().join("all.libsvm"), desk.path().join("log.libsvm")).expect("a copy");
    let grown = say(&desk, "run --resume m.rueful -q --json").json();
    assert_eq!((&grown["examples"], &grown["resumed"]), (&1250.into(), &600.into()));
    let whole = say(&desk, "run all.libsvm --loss hinge -q --json").json();
    assert_eq!(facts(grown), facts(whole));
    fs::copy(desk.path().join("two.libsvm"), desk.path().join("log.libsvm")).expect("a copy");
    say(&desk, "run two.libsvm --resume m.rueful --save m.rueful -q").result();
    write(&desk, "two.libsvm", "1 1:1\n");
    let complaint = say(&desk, "run --resume m.rueful -q").refusal(1);
    assert!(
        complaint.contains("learned from 650 rows of these data, and they have 1"),
        "{complaint}"
    );
}

#[test]
fn labels_must_go_with_those_before() {
    let desk = desk();
    write(&desk, "zeros.libsvm", "0 1:1\n1 2:1\n");
    say(&desk, "run one.libsvm --loss hinge --save m.rueful -q").result();
    let complaint = say(&desk, "run zeros.libsvm --resume m.rueful -q").refusal(1);
    assert!(complaint.contains("-1 and 0 both appear"), "{complaint}");
}

#[test]
fn predictions_are_those_an_audit_certifies() {
    let desk = desk();
    let run = say(&desk, "run all.libsvm --loss logistic --predictions p.txt -q --json").json();
    let line = "audit all.libsvm --loss logistic --radius 10 --predictions p.txt --json";
    let audit = say(&desk, line).json();
    assert_eq!(run["sequential_risk"], audit["sequential_risk"]);
    assert_eq!(run["certificate"], audit["certificate"]);
}

const TABLE: &str = "\
age,job,pay,bought
31,clerk,2100,yes
47,,3400,no
25,smith,?,yes
52,clerk,4100,no
";

#[test]
fn predictions_and_their_reasons() {
    let desk = desk();
    write(&desk, "table.csv", TABLE);
    let unlabeled: String = TABLE
        .lines()
        .map(|line| line.rsplit_once(',').expect("cells").0.to_owned() + "\n")
        .collect();
    write(&desk, "new.csv", unlabeled);
    let learn = "run table.csv --label bought --positive yes --loss logistic --save m.rueful -q";
    say(&desk, learn).result();
    let scores = say(&desk, "predict m.rueful table.csv");
    assert!(scores.stderr.contains("4 predictions: average logistic loss"), "{}", scores.stderr);
    let scores = scores.result();
    assert_eq!(scores.lines().count(), 4);
    let without = say(&desk, "predict m.rueful new.csv --no-label -q");
    assert_eq!((without.stdout.as_str(), without.stderr.as_str()), (scores.as_str(), ""));
    let labels = say(&desk, "predict m.rueful table.csv --as label -q").result();
    let expected: String = scores
        .lines()
        .map(|score| if score.parse::<f64>().expect("a number") > 0.0 { "yes\n" } else { "no\n" })
        .collect();
    assert_eq!(labels, expected);
    let all = say(&desk, "predict m.rueful table.csv --json -q").result();
    for (line, score) in all.lines().zip(scores.lines()) {
        let scored: Value = serde_json::from_str(line).expect("JSON");
        let score: f64 = score.parse().expect("a number");
        assert_eq!(scored["score"], score);
        let probability = scored["probability"].as_f64().expect("a number");
        assert!((probability - 1.0 / (1.0 + (-score).exp())).abs() < 1e-15);
    }
    for (row, score) in scores.lines().enumerate() {
        let line = format!("explain m.rueful table.csv --row {} --json", row + 1);
        let explained = say(&desk, &line).json();
        let parts = explained["contributions"].as_array().expect("an array");
        let sum: f64 =
            parts.iter().map(|part| part["contribution"].as_f64().expect("a number")).sum();
        let sum = sum + explained["rest"].as_f64().expect("a number");
        let score: f64 = score.parse().expect("a number");
        assert!((sum - score).abs() <= 1e-12 * (1.0 + score.abs()), "{explained}");
        assert!(parts.iter().any(|part| part["name"] == "age"), "{explained}");
    }
    let beyond = say(&desk, "explain m.rueful table.csv --row 5").refusal(1);
    assert!(beyond.contains("there is no row 5: the data have 4"), "{beyond}");
    let unlabelled = say(&desk, "predict m.rueful new.csv");
    assert_eq!(unlabelled.stderr, "note: 4 predictions\n");
    assert_eq!(unlabelled.result(), scores, "a table without the column needs no flag");
}

#[test]
fn classes_that_were_left_out_are_predicted() {
    let desk = desk();
    say(&desk, "run one.libsvm --loss hinge --positive-weight 0 --save m.rueful -q").result();
    assert_eq!(say(&desk, "predict m.rueful two.libsvm -q").result().lines().count(), 650);
    let resumed = say(&desk, "run two.libsvm --resume m.rueful -q --json").json();
    let whole =
        say(&desk, "run one.libsvm two.libsvm --loss hinge --positive-weight 0 -q --json").json();
    assert_eq!(facts(resumed), facts(whole));
}

#[test]
fn only_the_logistic_loss_has_probabilities() {
    let desk = desk();
    say(&desk, "run one.libsvm --loss hinge --save m.rueful -q").result();
    let complaint = say(&desk, "predict m.rueful two.libsvm --as probability").refusal(1);
    assert!(complaint.contains("learn with --loss logistic"), "{complaint}");
}

#[test]
fn a_model_says_what_is_in_it() {
    let desk = desk();
    let command = "run all.libsvm --loss hinge --learner ogd --save m.rueful -q --json";
    let report = say(&desk, command).json();
    let inside = say(&desk, "inspect m.rueful --json").json();
    for key in ["examples", "features", "nonzeros", "sequential_risk", "mistake_rate", "spec"] {
        assert_eq!(inside[key], report[key], "{key}");
    }
    assert_eq!(inside["certificate"], report["certificate"]);
    let text = say(&desk, "inspect m.rueful").result();
    assert!(text.contains("projected OGD") && text.contains("1,250"), "{text}");
}

#[test]
fn what_is_no_model_is_named_for_what_it_is() {
    let desk = desk();
    say(&desk, "run one.libsvm --loss hinge --save m.rueful -q").result();
    let model = bytes(&desk, "m.rueful");
    let refusal = |content: &[u8]| {
        write(&desk, "x.rueful", content);
        let complaints = ["inspect x.rueful", "weights x.rueful", "predict x.rueful two.libsvm"]
            .map(|line| say(&desk, line).refusal(1));
        let resumed = say(&desk, "run two.libsvm --resume x.rueful").refusal(1);
        assert!(complaints.iter().all(|complaint| *complaint == resumed), "{complaints:?}");
        resumed
    };
    assert!(refusal(&model[..model.len() / 2]).contains("cut short"));
    let mut flipped = model.clone();
    flipped[100] ^= 1;
    assert!(refusal(&flipped).contains("checksum"));
    let mut future = model.clone();
    future[12] = 9;
    assert!(refusal(&future).contains("of version 9"));
    assert!(refusal(b"{\"spec\": {}}").contains("looks like JSON"));
    assert!(refusal(b"").contains("is empty"));
    let missing = say(&desk, "inspect nowhere.rueful").refusal(1);
    assert!(missing.contains("cannot read nowhere.rueful"), "{missing}");
}

#[test]
fn a_model_settles_what_flags_would() {
    let desk = desk();
    say(&desk, "run one.libsvm --loss hinge --save m.rueful -q").result();
    for flag in ["--loss square", "--radius 3", "--label 1", "--hindsight", "--spec x.json"] {
        let said = say(&desk, &format!("run two.libsvm --resume m.rueful {flag}"));
        assert!(said.refusal(2).contains("--resume"), "{flag}");
    }
    let complaint = say(&desk, "run two.libsvm --loss hinge --checkpoint-every 10").refusal(2);
    assert!(complaint.contains("--save"), "{complaint}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_with_its_report_and_its_model() {
    check_signal("-INT", 130);
}

/// SIGTERM is the signal that `docker stop` and systemd send.
#[cfg(unix)]
#[test]
fn a_system_that_ends_a_run_gets_its_report_and_its_model() {
    check_signal("-TERM", 143);
}

/// Sends rows for as long as the program reads them. A signal then ends the run.
#[cfg(unix)]
fn check_signal(signal: &str, code: i32) {
    let desk = desk();
    let mut child = program(desk.path())
        .args(["run", "-", "--format", "libsvm", "--save", "m.rueful", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let rows = bytes(&desk, "all.libsvm");
    stdin.write_all(&rows).expect("it reads");
    let interrupt = || Command::new("kill").args([signal, &child.id().to_string()]).status();
    let begun = Instant::now();
    let mut is_told = false;
    // The signal is sent once, since a second one would end the program at once. It is sent late,
    // since the program must be listening by then.
    while stdin.write_all(&rows).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it goes on and on");
        if !is_told && begun.elapsed() > Duration::from_millis(500) {
            assert!(interrupt().expect("kill is there").success());
            is_told = true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let inside = ask_in(desk.path(), "inspect m.rueful --json").json();
    assert_eq!(report["examples"], inside["examples"]);
    assert!(complaint.contains("interrupted"), "{complaint}");
    assert!(Path::new(desk.path()).join("m.rueful").exists());
}

#[test]
fn progress_is_told_in_lines_that_come_ever_more_rarely() {
    let desk = desk();
    let said = say(&desk, "run all.libsvm --loss square --json");
    let told = said.stderr.clone();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("average") && lines[1].starts_with("loss"), "{lines:?}");
    let report = said.json();
    let counters: Vec<u64> = lines[2..]
        .iter()
        .map(|line| line.split_whitespace().nth(2).expect("a cell").parse().expect("a number"))
        .collect();
    assert_eq!(counters, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
    for (line, point) in lines[2..].iter().zip(report["curve"].as_array().expect("an array")) {
        let average: f64 =
            line.split_whitespace().next().expect("a cell").parse().expect("a number");
        let risk = point["sequential_risk"].as_f64().expect("a number");
        assert!((average - risk).abs() <= 1e-6 * (1.0 + risk), "{line}: {risk}");
    }
    let quiet = say(&desk, "run all.libsvm --loss hinge -q");
    assert_eq!(quiet.stderr, "");
}

/// The page needs no other file, and its figures are those of the JSON, to the last digit.
#[test]
fn a_page_shows_what_the_json_says() {
    let desk = desk();
    let line = "run all.libsvm --loss hinge --hindsight --curve-hindsight --report run.html --plot run.svg \
                --window 100 -q --json";
    let report = say(&desk, line).json();
    let html = String::from_utf8(bytes(&desk, "run.html")).expect("text");
    let shows = |value: &Value| {
        let number = value.as_f64().expect("a number");
        // The page has a minus sign where JSON has a hyphen.
        let number = format!("{number:?}").replace('-', "−");
        assert!(html.contains(&number), "{number}");
    };
    for point in report["curve"].as_array().expect("an array") {
        shows(&point["sequential_risk"]);
        shows(&point["certificate"]);
        shows(&point["regret"]["upper"]);
        shows(&point["comparator"]["lower"]);
    }
    for rung in [&report["certificate"], &report["bound"]["data"], &report["regret"]["lower"]] {
        shows(rung);
    }
    let line = "audit all.libsvm --loss hinge --radius 10 --predictions p.txt --window 100 --json";
    say(&desk, "run all.libsvm --loss hinge --predictions p.txt -q").result();
    // The windows of an audit may be rounded differently, so the figures need only be near.
    let numbers: Vec<f64> = html.split(['<', '>']).filter_map(|cell| cell.parse().ok()).collect();
    for window in say(&desk, line).json()["windows"].as_array().expect("an array") {
        for key in ["sequential_risk", "certificate"] {
            let number = window[key].as_f64().expect("a number");
            let is_near = |shown: &f64| (shown - number).abs() <= 1e-9 * (1.0 + number.abs());
            assert!(numbers.iter().any(is_near), "{key} {number}");
        }
    }
    let foreign = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!foreign.contains("http:") && !foreign.contains("https:"), "it stands alone");
    assert!(!foreign.contains("<script"), "it stands alone");
    let svg = String::from_utf8(bytes(&desk, "run.svg")).expect("text");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let complaint = say(&desk, "run all.libsvm --loss hinge --report missing/run.html").refusal(1);
    assert!(complaint.contains("cannot write missing/run.html"), "{complaint}");
}

/// The CRC-32 of a model, which covers everything but itself.
fn checksum(model: &[u8]) -> u32 {
    let bytes = model[..24].iter().chain(&model[28..]);
    !bytes.fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    })
}

/// The place of the section with this tag in a model.
fn section(model: &[u8], tag: &[u8; 4]) -> std::ops::Range<usize> {
    let mut at = 28;
    loop {
        let length = u64::from_le_bytes(model[at + 4..at + 12].try_into().expect("eight bytes"));
        let content = at + 12..at + 12 + length as usize;
        if model[at..at + 4] == *tag {
            return content;
        }
        at = content.end;
    }
}

/// The learner of a forged model records other steps than it took, so its theorem promises less
/// than the ledger proves. Nobody can tell which of the two was forged, so neither is shown.
#[test]
fn proofs_that_contradict_each_other_are_withheld_and_end_with_3() {
    let folder = desk();
    write(&folder, "more.libsvm", "+1 1:1\n");
    say(&folder, "run all.libsvm --loss hinge --learner ogd --save m").result();
    let model = bytes(&folder, "m");
    let (mut crossed, mut withheld) = (0, 0);
    for place in section(&model, b"Lrnr") {
        let mut forged = model.clone();
        let Some(number) = forged.get_mut(place..place + 8) else { break };
        let held = f64::from_le_bytes(number.try_into().expect("eight bytes"));
        if !(1.0..1e9).contains(&held) {
            continue;
        }
        number.copy_from_slice(&(1e-6 * held).to_le_bytes());
        let crc = checksum(&forged).to_le_bytes();
        forged[24..28].copy_from_slice(&crc);
        write(&folder, "forged", &forged);
        let said = say(&folder, "run more.libsvm --resume forged --json");
        assert!(matches!(said.code, Some(0 | 1 | 3)), "{said:?}");
        if said.code != Some(3) {
            continue;
        }
        crossed += 1;
        assert!(said.stderr.contains("one of the two proofs is false"), "{}", said.stderr);
        let report: Value = serde_json::from_str(&said.stdout).expect("the rest of the report");
        let bound = &report["bound"];
        let rungs = [&report["certificate"], &bound["data"], &bound["theorem"]];
        assert!(rungs.iter().filter(|rung| rung.is_null()).count() >= 2, "{rungs:?}");
        assert!(report["contradictions"][0]["lower"]["value"].is_number(), "{report}");
        if !report["certificate"].is_null() {
            continue;
        }
        withheld += 1;
        let end = report["curve"].as_array().and_then(|curve| curve.last()).expect("an end");
        assert!(end["certificate"].is_null() && report["certificate_own"].is_null(), "{report}");
        if withheld == 1 {
            let text = say(&folder, "run more.libsvm --resume forged").stdout;
            let line = text.lines().find(|line| line.trim_start().starts_with("certificate"));
            assert!(line.expect("a line").contains("withheld"), "{text}");
        }
    }
    assert!(crossed > 0 && withheld > 0, "{crossed} forgeries were seen through");
}

/// A command overwrites no file that it reads and no file of another flag, whatever path leads to
/// the file.
#[test]
fn what_is_read_is_never_written_over() {
    let folder = desk();
    say(&folder, "run all.libsvm --loss hinge --save m").result();
    let (data, model) = (bytes(&folder, "all.libsvm"), bytes(&folder, "m"));
    for (line, told) in [
        ("run all.libsvm --report all.libsvm", "--report all.libsvm would overwrite the data"),
        ("run all.libsvm --save ./all.libsvm", "--save ./all.libsvm would overwrite the data"),
        ("run all.libsvm --predictions all.libsvm", "--predictions"),
        ("run all.libsvm --write-schema all.libsvm", "--write-schema"),
        ("run --resume m --plot m", "--plot m would overwrite the model"),
        ("run --resume m --report all.libsvm", "--report all.libsvm would overwrite the data"),
        ("run all.libsvm --save new --report new", "--save and --report would both write new"),
        ("race all.libsvm --eta 1 --report all.libsvm", "--report"),
        ("convert all.libsvm --out all.libsvm --force", "--out"),
        ("predict m all.libsvm --out all.libsvm", "--out all.libsvm would overwrite the data"),
        ("predict m all.libsvm --out m", "--out m would overwrite the model"),
        ("audit all.libsvm --predictions m --plot m", "would overwrite the predictions"),
        ("data all.libsvm --write-schema all.libsvm", "--write-schema"),
        ("hindsight all.libsvm --write-schema all.libsvm", "--write-schema"),
    ] {
        let complaint = say(&folder, line).refusal(1);
        assert!(complaint.contains(told), "{line}: {complaint}");
        assert_eq!(
            (bytes(&folder, "all.libsvm"), bytes(&folder, "m")),
            (data.clone(), model.clone())
        );
        assert!(!folder.path().join("new").exists(), "{line}");
    }
    // A model may be saved to the file that it was resumed from.
    say(&folder, "run all.libsvm --resume m --save m").result();
    assert_ne!(bytes(&folder, "m"), model);
}

#[test]
fn predictions_that_fail_leave_the_old_ones() {
    let folder = desk();
    say(&folder, "run all.libsvm --loss hinge --save m").result();
    write(&folder, "keep.txt", "old\n");
    write(&folder, "broken.libsvm", "+1 1:1\n+1 1:x\n");
    say(&folder, "predict m broken.libsvm --out keep.txt").refusal(1);
    assert_eq!(bytes(&folder, "keep.txt"), b"old\n");
    say(&folder, "predict m all.libsvm --out keep.txt").result();
    assert!(bytes(&folder, "keep.txt").len() > 100);
    let names = fs::read_dir(folder.path()).expect("a folder");
    let parts = names.filter(|name| {
        name.as_ref().is_ok_and(|it| it.file_name().to_string_lossy().contains("part"))
    });
    assert_eq!(parts.count(), 0);
}

/// All output of a run.
struct Left {
    text: String,
    json: Value,
    page: String,
    predictions: String,
}

/// Leaves out the one line of a text that holds some words.
fn without(text: &str, words: &str) -> String {
    assert_eq!(text.matches(words).count(), 1, "{text}");
    let others = text.lines().filter(|line| !line.contains(words));
    others.map(|line| format!("{line}\n")).collect()
}

impl Left {
    /// Reads the files that the command has written to the folder, and adds its report as text and
    /// as JSON.
    fn by(folder: &TempDir, text: String, json: Value) -> Self {
        let read = |name| String::from_utf8(bytes(folder, name)).expect("it is text");
        let page = without(&read("r.html"), "<bdi>command</bdi>");
        Self { text, json, page, predictions: read("p.txt") }
    }

    /// Removes the lines that say that the run was resumed.
    fn unbroken(self) -> Self {
        let mut json = self.json;
        assert!(json.as_object_mut().expect("an object").remove("resumed").is_some());
        Self {
            text: without(&self.text, "  resumed "),
            page: without(&self.page, "The run was resumed after"),
            json,
            ..self
        }
    }
}

/// An error in the data ends a run in the middle of a window. Then the file is repaired, and the
/// run is resumed.
#[test]
fn a_run_that_broke_off_ends_like_one_that_never_did() {
    let settings = [
        ("--loss logistic", ""),
        ("--loss square", "--window 100"),
        ("--loss hinge --learner ogd --judge on", "--window 70 --alarm 0.3"),
        ("--loss absolute --gradient-bound 4", "--window 70 --alarm 9"),
    ];
    for (settings, flags) in settings {
        let desk = desk();
        let all = String::from_utf8(bytes(&desk, "all.libsvm")).expect("it is text");
        let place = all.match_indices('\n').nth(833).expect("834 lines").0 + 1;
        let broken = format!("{}1 broken\n{}", &all[..place], &all[place..]);
        write(&desk, "s.libsvm", &all);
        let keep = format!("{flags} -q --save m --report r.html --predictions p.txt");
        let said = |line: &str| {
            let said = say(&desk, line);
            assert!(matches!(said.code, Some(0 | 4)), "{said:?}");
            said.stdout
        };
        let text = said(&format!("run s.libsvm {settings} {keep}"));
        let json = said(&format!("run s.libsvm {settings} {keep} --json"));
        let json = serde_json::from_str(&json).expect("it is JSON");
        let whole = Left::by(&desk, text, json);

        let mut resumed = Vec::new();
        for as_json in ["", "--json"] {
            for file in ["m", "p.txt", "r.html"] {
                fs::remove_file(desk.path().join(file)).expect("it is there");
            }
            write(&desk, "s.libsvm", &broken);
            let error = say(&desk, &format!("run s.libsvm {settings} {keep}"));
            assert!(error.stderr.contains("s.libsvm:835:"), "{}", error.stderr);
            assert!(!desk.path().join("p.txt").exists());
            // A killed program may have written more predictions than its last model records.
            let part = desk.path().join("p.txt.part");
            let mut left = fs::OpenOptions::new().append(true).open(part).expect("it is left");
            left.write_all(b"0.123456\n0.1").expect("it grows");
            write(&desk, "s.libsvm", &all);
            resumed.push(said(&format!("run --resume m {keep} {as_json}")));
            assert!(!desk.path().join("p.txt.part").exists());
        }
        let json = serde_json::from_str(&resumed[1]).expect("it is JSON");
        let resumed = Left::by(&desk, resumed[0].clone(), json).unbroken();
        assert_eq!(resumed.text, whole.text, "{settings}");
        assert_eq!(resumed.json, whole.json, "{settings}");
        assert_eq!(resumed.page, whole.page, "{settings}");
        assert_eq!(resumed.predictions, whole.predictions, "{settings}");
        assert_eq!(whole.predictions.lines().count(), 1250);
    }
}

#[test]
fn predictions_of_somebody_else_are_not_continued() {
    let desk = desk();
    say(&desk, "run one.libsvm -q --save m --predictions p.txt").result();
    write(&desk, "p.txt", "mine\n");
    let refused = say(&desk, "run --resume m -q --save m --predictions p.txt").one_line();
    assert!(refused.contains("p.txt does not hold the predictions"), "{refused}");
    assert_eq!(bytes(&desk, "p.txt"), b"mine\n");
    // A run that goes on with other data begins a new file of predictions.
    say(&desk, "run two.libsvm --resume m -q --save m --predictions p.txt").result();
    assert_eq!(bytes(&desk, "p.txt").split(|&byte| byte == b'\n').count(), 651);
}

/// A run that fails without a model leaves no partial file, and does not touch an old one.
#[test]
fn a_failed_run_leaves_old_predictions_alone() {
    let desk = desk();
    write(&desk, "bad.libsvm", "1 1:1\n-1 2:1\n1 broken\n");
    write(&desk, "p.txt", "old\n");
    say(&desk, "run bad.libsvm --loss hinge -q --predictions p.txt").one_line();
    assert_eq!(bytes(&desk, "p.txt"), b"old\n");
    assert!(!desk.path().join("p.txt.part").exists());
}
