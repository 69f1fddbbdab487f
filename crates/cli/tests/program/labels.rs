//! The loss follows from the labels, unless it is named.

use crate::harness::{Said, ask_in, program};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use tempfile::TempDir;

/// A folder with one file in it.
fn desk(name: &str, text: impl AsRef<[u8]>) -> TempDir {
    let folder = TempDir::new().expect("a directory");
    fs::write(folder.path().join(name), text).expect("the file is written");
    folder
}

/// Forty rows, whose labels are these in turn.
fn lines(labels: &[&str]) -> String {
    let row = |row: usize| format!("{} 1:{} 2:{}\n", labels[row % labels.len()], row % 7, row % 3);
    (0..40).map(row).collect()
}

/// The rows of [`lines`] as a table.
fn table(labels: &[&str]) -> String {
    let row = |row: usize| format!("{},{},{}\n", labels[row % labels.len()], row % 7, row % 3);
    (0..40).fold("y,a,b\n".to_owned(), |text, number| text + &row(number))
}

fn ask_of(name: &str, text: &str, line: &str) -> Said {
    ask_in(desk(name, text).path(), line)
}

/// The notes of a run over rows with these labels.
fn notes(labels: &[&str]) -> String {
    let said = ask_of("rows.libsvm", &lines(labels), "run rows.libsvm");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.notes()
}

/// The loss and the positive label of a report.
fn chosen(report: &Value) -> (Value, Value) {
    let spec = if report["spec"].is_null() { report } else { &report["spec"] };
    (spec["loss"]["name"].clone(), spec["data"]["positive"].clone())
}

fn choice(labels: &[&str], more: &str) -> (Value, Value) {
    let line = format!("run rows.libsvm -q --json {more}");
    chosen(&ask_of("rows.libsvm", &lines(labels), &line).json())
}

#[test]
fn two_labels_are_learned_with_the_logistic_loss() {
    let logistic = |positive: Value| (Value::from("logistic"), positive);
    assert_eq!(choice(&["-1", "+1"], ""), logistic(Value::Null));
    assert_eq!(choice(&["0", "1"], ""), logistic(Value::Null));
    assert_eq!(choice(&["2", "1"], ""), logistic("2".into()));
    assert_eq!(choice(&["yes", "no"], ""), logistic("yes".into()));
    assert_eq!(choice(&["spam", "ham"], ""), logistic("spam".into()));
    assert_eq!(choice(&["spam", "ham"], "--positive ham"), logistic("ham".into()));
    assert_eq!(choice(&["a", "b", "c"], "--positive b"), logistic("b".into()));
    assert_eq!(
        notes(&["1", "0"]),
        "note: labels are 0 and 1: learning their odds with the logistic loss, 1 counts as +1\n"
    );
}

#[test]
fn other_numbers_are_learned_with_the_square_loss() {
    let square = (Value::from("square"), Value::Null);
    assert_eq!(choice(&["0.5", "1", "2.5"], ""), square);
    assert_eq!(choice(&["1", "2", "3"], ""), square);
    assert_eq!(choice(&["7"], ""), square);
    let told = notes(&["0.5", "1", "2.5"]);
    assert_eq!(told, "note: labels are numbers: learning them with the square loss\n");
    let told = notes(&["1", "2", "3"]);
    assert!(told.contains("only 3 different ones") && told.contains("--positive LABEL"), "{told}");
}

#[test]
fn one_sign_alone_is_a_class() {
    for sign in ["-1", "0", "1"] {
        assert_eq!(choice(&[sign], ""), ("logistic".into(), Value::Null));
    }
    let text = lines(&["1"]) + &lines(&["-1"]);
    let report = ask_of("rows.libsvm", &text, "run rows.libsvm -q --json").json();
    assert_eq!(chosen(&report), ("logistic".into(), Value::Null));
}

#[test]
fn names_that_are_not_two_are_classes() {
    assert_eq!(choice(&["lily", "iris", "rose"], ""), ("softmax".into(), Value::Null));
    assert_eq!(
        notes(&["lily", "iris", "rose"]),
        "note: labels are \"iris\", \"lily\" and \"rose\": learning the probabilities of all of \
         them with the softmax loss\n"
    );
    assert_eq!(
        notes(&["ham"]),
        "note: the first 40 rows have only the label \"ham\": learning classes as they come with \
         the softmax loss; --positive LABEL learns one of them against the rest\n"
    );
}

#[test]
fn a_label_that_is_named_must_be_there() {
    let said = ask_of("rows.libsvm", &lines(&["ham", "spam"]), "run rows.libsvm --positive Spam");
    assert!(
        said.stderr
            .contains("note: the first 40 rows have none that is \"Spam\", as --positive says")
    );
    assert_eq!(
        said.one_line(),
        "error: rows.libsvm: found the labels \"ham\", \"spam\", expected one that is \"Spam\", as \
         --positive says"
    );
}

#[test]
fn a_loss_that_is_named_takes_two_labels() {
    let said = ask_of("rows.libsvm", &lines(&["2", "1"]), "run rows.libsvm --loss hinge --json");
    assert_eq!(
        said.notes(),
        "note: labels are 1 and 2: 2 counts as +1, unless --positive says otherwise\n"
    );
    assert_eq!(chosen(&said.json()), ("hinge".into(), "2".into()));
    let said = ask_of("rows.libsvm", &lines(&["0", "1"]), "run rows.libsvm -q --loss hinge");
    assert_eq!(said.stderr, "");
    let three = ask_of("rows.libsvm", &lines(&["1", "2", "3"]), "run rows.libsvm --loss hinge");
    assert!(three.one_line().contains("expected a label that is -1 or +1, or 0 or 1"));
}

/// More rows than the choice of a loss looks at, and then a row with another label. Also returns
/// the number of rows.
fn late(labels: &[&str], label: &str) -> (String, usize) {
    let text = lines(labels).repeat(1000);
    let rows = text.lines().count();
    (format!("{text}{label} 1:1\n"), rows + 1)
}

#[test]
fn a_later_label_that_contradicts_is_told_with_its_place() {
    let refusal = |(text, _): &(String, usize), more: &str| {
        ask_of("rows.libsvm", text, &format!("run rows.libsvm -q {more}")).one_line()
    };
    let numbers = late(&["0", "1"], "3");
    let error = refusal(&numbers, "");
    let place =
        format!("error: rows.libsvm:{}:1: found \"3\", expected 0 or 1; the first ", numbers.1);
    assert!(error.starts_with(&place), "{error}");
    assert!(
        error.ends_with(
            " rows have only 0 and 1, which was taken for two classes: --loss square takes any \
             number, --loss softmax any number of classes, --positive 1 one class against the rest"
        ),
        "{error}"
    );
    let names = late(&["no", "yes"], "maybe");
    let error = refusal(&names, "");
    assert!(error.contains("found \"maybe\", expected \"no\" or \"yes\"; the first "), "{error}");
    let error = refusal(&late(&["1", "2"], "3"), "--loss hinge");
    assert!(error.contains("expected 1 or 2; the first "), "{error}");
    assert!(error.contains("of which 2 was taken for +1: --positive 2 takes one"), "{error}");
    let error = refusal(&late(&["1.5", "2", "3"], "x"), "");
    assert!(error.contains("only numbers, which were taken for quantities"), "{error}");
    // A learner that measures the data first finds the label in that pass, and says the same.
    let ahead = refusal(&late(&["1.5", "2", "3"], "x"), "--learner minimax");
    assert_eq!(ahead, error);
    let error = refusal(&late(&["0"], "-1"), "");
    assert!(error.contains("have only 0, which was taken for one of two classes"), "{error}");
    for more in ["--loss square", "--positive 1"] {
        let folder = desk("rows.libsvm", &numbers.0);
        let line = format!("run rows.libsvm -q {more}");
        assert_eq!(ask_in(folder.path(), &line).code, Some(0), "{more}");
    }
}

#[test]
fn a_later_label_contradicts_in_a_cache_as_well() {
    for (labels, label) in [(["1", "2"], "3"), (["0", "1"], "3")] {
        let folder = desk("rows.libsvm", late(&labels, label).0);
        let error = ask_in(folder.path(), "run rows.libsvm -q --cache").one_line();
        assert!(error.contains("found") && error.contains("\"3\""), "{error}");
        assert!(error.contains("which was taken for two classes: --loss square"), "{error}");
    }
}

/// The figures of a report, without the parts that name labels.
fn figures(mut report: Value) -> Value {
    report["spec"] = Value::Null;
    report["labels"] = Value::Null;
    report
}

#[test]
fn what_labels_are_called_makes_no_difference() {
    let figures_of = |labels: &[&str], line: &str| {
        figures(
            ask_of("rows.csv", &table(labels), &format!("{line} rows.csv --label y --json")).json(),
        )
    };
    for line in ["run -q", "run -q --learner ftrl"] {
        let expected = figures_of(&["-1", "1"], line);
        for labels in [["0", "1"], ["1", "2"], ["no", "yes"], ["ham", "spam"]] {
            assert_eq!(figures_of(&labels, line), expected, "{line} {labels:?}");
        }
    }
}

#[test]
fn the_spec_that_results_repeats_the_run() {
    let folder = desk("rows.csv", table(&["no", "yes"]));
    let ask = |line: &str| ask_in(folder.path(), line);
    let spec = ask("run rows.csv --label y --print-spec").result();
    fs::write(folder.path().join("run.toml"), &spec).expect("the spec is written");
    assert!(spec.contains("positive = \"yes\"") && spec.contains("logistic"), "{spec}");
    let once = ask("run rows.csv --label y -q --json").json();
    let again = ask("run --spec run.toml -q --json");
    assert_eq!(again.stderr, "", "nothing is inferred");
    assert_eq!(again.json(), once);
}

#[test]
fn a_run_that_goes_on_keeps_its_loss() {
    let folder = desk("rows.csv", table(&["no", "yes"]));
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).expect(name);
    write("more.csv", table(&["yes"]));
    let ask = |line: &str| ask_in(folder.path(), line);
    ask("run rows.csv --label y -q --loss hinge --save model.rueful").result();
    let said = ask("run more.csv -q --resume model.rueful --json");
    assert_eq!(said.stderr, "", "nothing is inferred");
    assert_eq!(chosen(&said.json()), ("hinge".into(), "yes".into()));
}

#[test]
fn looking_tells_the_loss() {
    let look = |labels: &[&str], more: &str| {
        ask_of("rows.csv", &table(labels), &format!("data rows.csv --label y {more}")).result()
    };
    assert!(look(&["0", "1"], "").contains("  loss      logistic\n"));
    assert!(look(&["0", "1"], "").contains("1 counts as +1"));
    assert!(look(&["1", "5", "2"], "").contains("  loss      square\n"));
    let text = look(&["a", "b", "c"], "");
    assert!(text.contains("  loss      softmax\n"), "{text}");
    assert!(look(&["a", "b", "c"], "--positive b").contains("  loss      logistic\n"));
    let json: Value = serde_json::from_str(&look(&["a", "b"], "--json")).expect("JSON");
    assert_eq!(json["loss"], "logistic");
}

#[test]
fn audits_and_the_best_in_hindsight_have_the_same_rule() {
    let folder = desk("rows.csv", table(&["ham", "spam"]));
    fs::write(folder.path().join("p.txt"), "0.5\n".repeat(40)).expect("predictions");
    for (line, loss) in [
        ("audit rows.csv --label y --predictions p.txt --json", "logistic"),
        ("hindsight rows.csv --label y --json", "logistic"),
        ("hindsight rows.csv --label a --drop y --json", "square"),
    ] {
        let said = ask_in(folder.path(), line);
        assert!(said.stderr.contains(&format!("with the {loss} loss")), "{}", said.stderr);
        assert_eq!(chosen(&said.json()).0, loss, "{line}");
    }
}

/// Runs the program with rows on its standard input.
fn ask_with_input(line: &str, input: &[u8]) -> Said {
    let mut child = program(Path::new("."))
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

#[test]
fn standard_input_and_compressed_files_are_looked_at_too() {
    let text = lines(&["no", "yes"]);
    let expected = ask_of("rows.libsvm", &text, "run rows.libsvm -q --json").json();
    let piped = ask_with_input("run - --format libsvm -q --json", text.as_bytes()).json();
    assert_eq!(chosen(&piped), ("logistic".into(), "yes".into()));
    assert_eq!(piped["sequential_risk"], expected["sequential_risk"]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).expect("bytes are packed");
    let folder = desk("rows.libsvm.gz", packed.finish().expect("an end"));
    let unpacked = ask_in(folder.path(), "run rows.libsvm.gz -q --json").json();
    assert_eq!(chosen(&unpacked), ("logistic".into(), "yes".into()));
    assert_eq!(unpacked["sequential_risk"], expected["sequential_risk"]);
    let many =
        ask_with_input("run - --format libsvm -q --json", lines(&["a", "b", "c"]).as_bytes());
    assert_eq!(chosen(&many.json()), ("softmax".into(), Value::Null));
}

#[test]
fn every_format_has_the_same_rule() {
    let folder = desk("rows.csv", table(&["no", "yes"]));
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).expect(name);
    let row = |row: usize| (["no", "yes"][row % 2], row % 7, row % 3);
    let rows =
        |line: fn((&str, usize, usize)) -> String| (0..40).map(row).map(line).collect::<String>();
    write("rows.vw", rows(|(y, a, b)| format!("{y} | a:{a} b:{b}\n")));
    write("rows.jsonl", rows(|(y, a, b)| format!("{{\"y\":\"{y}\",\"a\":{a},\"b\":{b}}}\n")));
    write(
        "truths.jsonl",
        rows(|(y, a, b)| format!("{{\"y\":{},\"a\":{a},\"b\":{b}}}\n", y == "yes")),
    );
    let head =
        "@relation r\n@attribute y {no,yes}\n@attribute a numeric\n@attribute b numeric\n@data\n";
    write("rows.arff", head.to_owned() + &rows(|(y, a, b)| format!("{y},{a},{b}\n")));
    write_parquet(&folder.path().join("rows.parquet"));
    let ask = |line: &str| ask_in(folder.path(), line);
    ask("convert rows.csv --label y --positive yes --out rows.rueful-cache").result();
    let risk = ask("run rows.csv --label y -q --json").json()["sequential_risk"].clone();
    for (line, positive) in [
        ("rows.vw", "yes"),
        ("rows.jsonl --label y", "yes"),
        ("truths.jsonl --label y", "true"),
        ("rows.arff --label y", "yes"),
        ("rows.parquet --label y", "yes"),
        ("rows.rueful-cache", "yes"),
        ("rows.csv --label y --cache", "yes"),
    ] {
        let report = ask(&format!("run {line} -q --json")).json();
        assert_eq!(chosen(&report), ("logistic".into(), positive.into()), "{line}");
        assert_eq!(report["sequential_risk"], risk, "{line}");
    }
}

/// The table of `no` and `yes` in Parquet.
fn write_parquet(path: &Path) {
    let number = |divisor: usize| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..40).map(|row| (row % divisor) as f64)))
    };
    let labels = StringArray::from_iter_values((0..40).map(|row| ["no", "yes"][row % 2]));
    let columns: [(&str, ArrayRef); 3] =
        [("y", Arc::new(labels)), ("a", number(7)), ("b", number(3))];
    let batch = RecordBatch::try_from_iter(columns).expect("a table");
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("an end");
}

#[test]
fn rows_that_do_not_count_do_not_say_what_is_learned() {
    let text = "3 0 | a\n".to_owned() + &"1 1 | a\n2 1 | b\n".repeat(20);
    let said = ask_of("rows.vw", &text, "run rows.vw --json");
    assert!(said.notes().starts_with("note: labels are 1 and 2"), "{}", said.stderr);
}

#[test]
fn several_files_follow_the_first() {
    let folder = desk("a.libsvm", lines(&["1", "2"]));
    fs::write(folder.path().join("b.libsvm"), lines(&["2"])).expect("a file");
    fs::write(folder.path().join("c.libsvm"), lines(&["3"])).expect("a file");
    let report = ask_in(folder.path(), "run a.libsvm b.libsvm -q --json").json();
    assert_eq!(chosen(&report), ("logistic".into(), "2".into()));
    let error = ask_in(folder.path(), "run a.libsvm c.libsvm -q").one_line();
    assert!(error.starts_with("error: c.libsvm:1:1: found \"3\", expected 1 or 2"), "{error}");
}

#[test]
fn a_cache_is_made_of_two_names_without_a_flag() {
    let folder = TempDir::new().expect("a directory");
    let ask = |line: &str| ask_in(folder.path(), line);
    let write = |name: &str, text: String| {
        fs::write(folder.path().join(name), text).expect("the file is written");
    };
    let rows = |names: &[&str]| {
        let row =
            |t: usize| format!("{},{},{}\n", t % 7, (3 * t) % 5, names[(t + t / 4) % names.len()]);
        "a,b,y\n".to_owned() + &(0..60).map(row).collect::<String>()
    };
    write("two.csv", rows(&["ham", "spam"]));
    ask("convert two.csv --label y --out two.cache").result();
    let [text, cache] =
        ["two.csv --label y", "two.cache"].map(|data| ask(&format!("run {data} -q --json")).json());
    assert_eq!(text["sequential_risk"], cache["sequential_risk"]);
    assert_eq!(cache["spec"]["data"]["positive"], text["spec"]["data"]["positive"]);
    write("three.csv", rows(&["ham", "eggs", "spam"]));
    let complaint = ask("convert three.csv --label y --out three.cache").refusal(1);
    assert!(complaint.contains("three.csv: found the labels"), "{complaint}");
    assert!(complaint.contains("--positive LABEL"), "{complaint}");
}
