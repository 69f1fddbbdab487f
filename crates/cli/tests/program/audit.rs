//! `rueful audit`: verdicts on models whose predictions alone are known.

use crate::harness::{DATA, Said, ask, ask_in, assert_snapshot, hinge, number, root};
use rueful_core::Batch;
use rueful_data::{Follow, LabelRule, Reader, Reading, Schema, Source};
use rueful_run::{DataSpec, Settings, build};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const MODELS: &str = "data/phishing-models.csv";
const XOR: &str = "+1 1:1 2:1\n-1 1:1 2:-1\n-1 1:-1 2:1\n+1 1:-1 2:-1\n";

/// A directory with a stream and predictions for it.
struct Desk(TempDir);

impl Desk {
    fn new(stream: &str, predictions: &str) -> Self {
        let desk = Self(TempDir::new().expect("a directory"));
        desk.put("stream", stream);
        desk.put("predictions", predictions);
        desk
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("the file is written");
    }

    fn audit(&self, flags: &str) -> Said {
        let flags = hinge(flags);
        ask_in(self.0.path(), &format!("audit stream --predictions predictions {flags}"))
    }

    fn report(&self, flags: &str) -> Value {
        self.audit(&format!("--json {flags}")).json()
    }
}

fn lines(numbers: &[f64]) -> String {
    numbers.iter().map(|number| format!("{number}\n")).collect()
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9, "found {found}, expected {expected}");
}

fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> =
        object.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn list<'a>(object: &'a Value, key: &str) -> &'a Vec<Value> {
    object[key].as_array().expect("a list")
}

/// The slopes are −1, +1 and 0. So A = −0.5 − 0.5, and with the constant S = (0, −1, 2).
#[test]
fn a_small_case_by_hand() {
    let desk = Desk::new("+1 1:1\n-1 2:2\n+1 1:3 2:3\n", "0.5\n-0.5\n2\n");
    let report = desk.report("--radius 2 --comparators ball --judge off");
    assert_close(number(&report, "sequential_risk"), 1.0 / 3.0);
    assert_close(number(&report, "mistake_rate"), 0.0);
    assert_close(number(&report, "certificate"), (-1.0 + 2.0 * 5_f64.sqrt()) / 3.0);
    assert_close(number(&report, "gradient_norm_max"), 5_f64.sqrt());
    assert_close(number(&report, "example_norm_max"), 19_f64.sqrt());
    assert_eq!(report["beats_every_linear_predictor"], false);
    assert_eq!([&report["examples"], &report["features"], &report["nonzeros"]], [3, 3, 7]);
}

#[test]
fn a_rule_that_is_not_linear_beats_all_that_are() {
    let desk = Desk::new(&XOR.repeat(25), &"1\n-1\n-1\n1\n".repeat(25));
    let report = desk.report("--radius 1000");
    assert_eq!(report["beats_every_linear_predictor"], true);
    assert_close(number(&report, "certificate"), -1.0);
    let text = desk.audit("--radius 1000").result();
    let told =
        "it beat every linear predictor with weights on columns scaled to ±1, norm at most 1000,";
    assert!(text.contains(told), "{text}");
    let raw = desk.audit("--radius 1000 --comparators ball").result();
    assert!(raw.contains("it beat every linear predictor with ‖u‖ ≤ 1000,"), "{raw}");
    // Without rounding, predictors of every norm would be beaten. The report looks only as far as a
    // million times the radius.
    assert_close(number(&report, "beats_up_to"), 1e9);
    // With the opposite predictions, u = 0 is better by 1, and the certificate says so.
    desk.put("predictions", &"-1\n1\n1\n-1\n".repeat(25));
    assert_close(number(&desk.report("--radius 1000"), "certificate"), 1.0);
}

/// The predictions of the default learner on the stream in the repository. Each is made before the
/// example is learned from.
fn own_predictions(loss: &str) -> Vec<f64> {
    let settings = Settings { loss: Some(loss.to_owned()), ..Settings::default() };
    let resolved = settings.resolve(DataSpec::libsvm(DATA), &mut |_| panic!("nothing to survey"));
    let spec = resolved.expect("the defaults fit").spec;
    let reading = Reading::new(LabelRule::new(spec.loss.labels(), None));
    let path = root().join(DATA).display().to_string();
    let source = Reader::open(&[path], &Schema::Libsvm {}, &reading, &Follow::No);
    let mut source = source.expect("the data is there");
    let mut learner = build(&spec.task()).expect("a learner");
    let (mut batch, mut rounds, mut all) = (Batch::default(), Vec::new(), Vec::new());
    while source.fill(&mut batch).expect("rows") {
        learner.learn_rows(batch.rows(), &mut rounds);
        all.extend(rounds.iter().map(|round| round.prediction));
    }
    all
}

/// An audit depends on the predictions alone: the predictions of `rueful run` give the numbers of
/// the run.
#[test]
fn the_audit_of_a_run_is_the_run() {
    for loss in ["hinge", "logistic", "square"] {
        let desk = Desk::new("", &lines(&own_predictions(loss)));
        let stream = root().join(DATA);
        let line =
            format!("audit {} --predictions predictions --loss {loss} --json", stream.display());
        let audit = ask_in(desk.0.path(), &line).json();
        let run = ask(&format!("run {DATA} --loss {loss} --json")).json();
        for key in [
            "examples",
            "features",
            "nonzeros",
            "sequential_risk",
            "mistake_rate",
            "certificate",
            "gradient_norm_max",
            "example_norm_max",
            "curve",
        ] {
            assert_eq!(audit[key], run[key], "{loss}: {key}");
        }
        assert_eq!(audit["loss"], run["spec"]["loss"]);
    }
}

/// A small generator of numbers between −1 and 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// x in three dimensions, y and ŷ.
type Event = ([f64; 3], f64, f64);

fn random_events(count: usize) -> Vec<Event> {
    let mut numbers = Numbers(7);
    let mut event = || {
        let x = [0.0; 3].map(|_| f64::from((2.0 * numbers.next()) as f32));
        let y = if x[0] + 0.5 * numbers.next() > 0.0 { 1.0 } else { -1.0 };
        (x, y, x[0] - x[1] * x[2] + 0.3 * numbers.next())
    };
    (0..count).map(|_| event()).collect()
}

fn stream_of(events: &[Event]) -> String {
    let line = |&(x, y, _): &Event| format!("{y} 1:{} 2:{} 3:{}\n", x[0], x[1], x[2]);
    events.iter().map(line).collect()
}

fn logistic(prediction: f64, label: f64) -> f64 {
    (-label * prediction).exp().ln_1p()
}

/// Checks a certificate by the definition of regret, for many u in the ball.
fn check_certificate(events: &[Event], found: &Value, radius: f64) {
    let count = events.len() as f64;
    let risk: f64 = events.iter().map(|&(_, y, p)| logistic(p, y)).sum::<f64>() / count;
    assert_close(number(found, "sequential_risk"), risk);
    let mistakes = events.iter().filter(|&&(_, y, p)| y * p <= 0.0).count() as f64;
    assert_close(number(found, "mistake_rate"), mistakes / count);
    let certificate = number(found, "certificate");
    let mut numbers = Numbers(3);
    for _ in 0..200 {
        let direction = [0.0; 3].map(|_| numbers.next());
        let norm = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        let u = direction.map(|d| d * radius * numbers.next().abs().sqrt() / norm);
        let score = |x: &[f64; 3]| -> f64 { u.iter().zip(x).map(|(u, x)| u * x).sum() };
        let loss: f64 = events.iter().map(|(x, y, _)| logistic(score(x), *y)).sum();
        assert!(risk - loss / count <= certificate + 1e-12, "{u:?}");
    }
}

#[test]
fn no_linear_predictor_escapes_in_the_whole_or_in_a_window() {
    let events = random_events(500);
    let predictions: Vec<f64> = events.iter().map(|event| event.2).collect();
    let desk = Desk::new(&stream_of(&events), &lines(&predictions));
    for radius in [0.5, 3.0] {
        let flags = format!(
            "--loss logistic --radius {radius} --comparators ball --no-constant --window 60"
        );
        let report = desk.report(&flags);
        check_certificate(&events, &report, radius);
        let windows = list(&report, "windows");
        assert_eq!(windows.len(), 9);
        for (window, events) in windows.iter().zip(events.chunks(60)) {
            assert_eq!(window["examples"], events.len());
            check_certificate(events, window, radius);
        }
    }
}

fn models(flags: &str) -> Said {
    let line = format!("audit {DATA} --predictions {MODELS} --link logistic --loss logistic");
    ask(&format!("{line} --radius 2 {flags}"))
}

/// Windows of any size add up to the whole, and their certificates add up to no less than its
/// certificate.
#[test]
fn windows_add_up_to_the_whole() {
    let whole = models("--prediction-column votes --json").json();
    assert_eq!(whole["windows"], Value::Array(Vec::new()));
    for size in [1, 7, 250, 1249, 1250, 5000] {
        let report = models(&format!("--prediction-column votes --json --window {size}")).json();
        for key in ["sequential_risk", "certificate", "mistake_rate", "curve"] {
            assert_eq!(report[key], whole[key], "{key}");
        }
        let windows = list(&report, "windows");
        assert_eq!(windows.len(), 1250_usize.div_ceil(size));
        let mut next = 1;
        for window in windows {
            assert_eq!(window["from"], next);
            next = window["to"].as_u64().expect("a number") + 1;
            assert_eq!(
                window["examples"].as_u64().map(|n| number(window, "from") as u64 + n),
                Some(next)
            );
        }
        assert_eq!(next, 1251);
        let total = |key| -> f64 {
            windows.iter().map(|window| number(window, key) * number(window, "examples")).sum()
        };
        assert_close(total("sequential_risk") / 1250.0, number(&whole, "sequential_risk"));
        assert_close(total("mistake_rate") / 1250.0, number(&whole, "mistake_rate"));
        assert!(total("certificate") / 1250.0 >= number(&whole, "certificate") - 1e-9);
    }
    assert_eq!(
        models("--prediction-column votes --every 250").result(),
        models("--prediction-column votes --window 250").result()
    );
}

/// Models, windows and groups whose certificate is no smaller than their risk are all said to be
/// judged in vain.
#[test]
fn a_certificate_that_says_nothing_is_called_that() {
    let is_empty = |one: &&Value| number(one, "certificate") >= number(one, "sequential_risk");
    for radius in ["0.5", "40", "1e4"] {
        let line = format!(
            "audit {DATA} --predictions data/phishing-models.csv --link logistic --loss logistic \
             --prediction-column all --window 250 --radius {radius}"
        );
        let report = ask(&format!("{line} --json")).json();
        let mut all: Vec<&Value> = list(&report, "models").iter().collect();
        all.extend(list(&report, "models").iter().flat_map(|model| list(model, "windows")));
        let empty = all.iter().copied().filter(is_empty).count();
        let text = ask(&line).result();
        assert_eq!(text.matches("  says nothing").count(), empty, "{text}");
        assert_eq!(
            empty,
            match radius {
                "0.5" => 0,
                "1e4" => 12,
                _ => empty,
            }
        );
    }
    let groups = "audit docs/visits.csv --label bought --prediction-column score --by country";
    let text = ask(&format!("{groups} --radius 1e4")).result();
    assert_eq!(text.matches("  says nothing").count(), 3, "{text}");
}

const MODEL_KEYS: [&str; 13] = [
    "beats_every_linear_predictor",
    "beats_up_to",
    "certificate",
    "certificate_own",
    "curve",
    "example_norm_max",
    "examples",
    "gradient_norm_max",
    "mistake_rate",
    "radii",
    "says_nothing_from",
    "sequential_risk",
    "windows",
];

/// The figures that are one number each, or an interval.
const RATE_KEYS: [&str; 10] = [
    "auc",
    "brier",
    "error_rate",
    "explained",
    "f1",
    "log_loss",
    "majority_error_rate",
    "precision",
    "r_squared",
    "recall",
];

/// The other figures of a model.
const FIGURE_KEYS: [&str; 6] =
    ["best_constant", "calibration", "calibration_error", "confusion", "counted", "remarks"];

#[test]
fn every_key_is_there() {
    let report = models("--prediction-column all --window 500 --json").json();
    let of_model = [&MODEL_KEYS[..], &RATE_KEYS, &FIGURE_KEYS].concat();
    let mut expected = of_model.clone();
    expected.extend([
        "data",
        "features",
        "link",
        "loss",
        "models",
        "nonzeros",
        "predictions",
        "comparators",
        "judge",
        "window",
    ]);
    expected.sort_unstable();
    assert_eq!(keys(&report), expected);
    assert_eq!(report["loss"]["name"], "logistic");
    assert_eq!(report["link"], "logistic");
    assert_eq!(report["comparators"], serde_json::json!({ "name": "unit-free", "radius": 2.0 }));

    let mut expected = of_model;
    expected.push("name");
    expected.sort_unstable();
    assert!(list(&report, "models").iter().all(|model| keys(model) == expected));
    let mut expected = vec![
        "beats_every_linear_predictor",
        "certificate",
        "examples",
        "from",
        "mistake_rate",
        "sequential_risk",
        "to",
    ];
    expected.extend(RATE_KEYS);
    expected.sort_unstable();
    assert_eq!(keys(&report["windows"][0]), expected);
    // Regression has no mistakes, and a file without columns has no names of models.
    let desk = Desk::new("3 1:1\n", "2\n");
    let report = desk.report("--loss square");
    assert!(report["mistake_rate"].is_null() && list(&report, "models").is_empty());
}

#[test]
fn columns_are_judged_as_if_alone() {
    let both = models("--prediction-column unplugged --prediction-column votes --json").json();
    for (place, name) in ["unplugged", "votes"].into_iter().enumerate() {
        let alone = models(&format!("--prediction-column {name} --json")).json();
        let model = &both["models"][place];
        assert_eq!(model["name"], name);
        let keys = [&MODEL_KEYS[..], &RATE_KEYS, &FIGURE_KEYS].concat();
        assert!(keys.iter().all(|key| model[*key] == alone[*key]));
    }
    assert!(MODEL_KEYS.iter().all(|key| both[*key] == both["models"][0][*key]));
    let all = models("--prediction-column all --json").json();
    assert_eq!([&all["models"][0], &all["models"][1]], [&both["models"][1], &both["models"][0]]);
}

#[test]
fn probabilities_are_scores_in_other_words() {
    let probabilities = [0.9, 0.2, 0.35, 0.999];
    let scores = probabilities.map(|p: f64| p.ln() - (-p).ln_1p());
    let desk = Desk::new(XOR, &lines(&probabilities));
    for loss in ["logistic", "hinge", "square"] {
        desk.put("predictions", &lines(&probabilities));
        let linked = desk.report(&format!("--loss {loss} --link logistic"));
        desk.put("predictions", &lines(&scores));
        let plain = desk.report(&format!("--loss {loss} --link identity"));
        assert!(MODEL_KEYS.iter().all(|key| linked[*key] == plain[*key]), "{loss}");
        assert_eq!(plain, desk.report(&format!("--loss {loss}")));
    }
}

/// Predictions that are refused, each with the flags that it is refused with.
const REFUSED: [(&str, &str); 18] = [
    ("1\n\n1\n1\n", ""),
    ("1\nnan\n1\n1\n", ""),
    ("1\n1\n-inf\n1\n", ""),
    ("1\n1\nhigh\n1\n", ""),
    ("a,b\n1,2\n", ""),
    ("1\n# two\n1\n1\n", ""),
    ("", ""),
    ("1\n1\n1\n", ""),
    ("1\n1\n1\n1\n1\n", ""),
    ("1\n1\n1\n1\n\n", ""),
    ("0.5\n1\n0.5\n0.5\n", "--link logistic"),
    ("0\n0.5\n0.5\n0.5\n", "--link logistic"),
    ("0.5\n0.5\n-2\n0.5\n", "--link logistic"),
    ("1\n1\n1e200\n1\n", "--loss square"),
    ("a,b\n1,2\n", "--prediction-column c"),
    ("a,b\n1,2\n3,x\n", "--prediction-column b"),
    ("a,b\n1,2\n3\n", "--prediction-column a"),
    ("a,b\n1,2\n3,4\n", "--prediction-column all"),
];

const CONTRADICTIONS: [&str; 4] = [
    "--window 0",
    "--prediction-column a --prediction-column a",
    "--prediction-column all --prediction-column a",
    "--prediction-column a --prediction-column all",
];

/// Flags that an audit shares with a run are checked by the same rules, with the same messages.
#[test]
fn shared_flags_are_refused_alike() {
    for flags in ["--radius 0", "--radius nan", "--tau 0.5", "--loss quantile --tau 1"] {
        let audit = ask(&format!("audit nowhere --predictions nothing {flags}")).one_line();
        assert_eq!(audit, ask(&format!("run nowhere {flags}")).one_line());
    }
}

#[test]
fn what_is_refused_is_explained() {
    let desk = Desk::new(XOR, "");
    let mut page = String::new();
    for (predictions, flags) in REFUSED {
        desk.put("predictions", predictions);
        let text = desk.audit(flags).one_line();
        assert!(text.starts_with("error: predictions:"), "{text}");
        assert_eq!(desk.audit(&format!("{flags} --json")).one_line(), text);
        let shown = predictions.escape_default();
        page += &format!("# predictions: {shown}\n");
        page += format!("$ rueful audit stream --predictions predictions {flags}").trim_end();
        page += &format!("\n{text}\n\n");
    }
    for flags in CONTRADICTIONS {
        let line = format!("audit nowhere --predictions nothing {flags}");
        let text = ask(&line).one_line();
        assert!(!text.contains("nowhere") && !text.contains("nothing"), "{text}");
        page += &format!("$ rueful {line}\n{text}\n\n");
    }
    assert_snapshot("bad-audit", &page);
}

#[test]
fn every_column_is_one_of_a_file_of_predictions() {
    let desk = Desk::new("y,x,all\n1,2,0.5\n-1,1,-0.5\n", "");
    let line = "audit stream --format csv --label y --prediction-column all";
    let text = ask_in(desk.0.path(), line).one_line();
    let meaning = "--prediction-column all means every column of the file that --predictions names";
    assert!(text.starts_with(&format!("error: {meaning}")), "{text}");
}

#[test]
fn what_is_no_file_is_named() {
    let desk = Desk::new(XOR, "1\n1\n1\n1\n");
    fs::create_dir(desk.0.path().join("folder")).expect("the folder is made");
    let ask = |stream: &str, predictions: &str| {
        let line = format!("audit {stream} --predictions {predictions}");
        ask_in(desk.0.path(), &line).one_line()
    };
    assert!(ask("missing", "predictions").starts_with("error: cannot open missing: "));
    assert!(ask("stream", "missing").starts_with("error: cannot open missing: "));
    assert!(ask("stream", "folder").starts_with("error: cannot open folder: "));
    // A file of numbers can be read as labels without features, but a file of examples cannot be
    // read as predictions.
    assert!(ask("predictions", "stream").starts_with("error: stream:1:1: found \"+1 1:1 2:1\""));
}

#[test]
fn the_flag_parser_knows_its_part() {
    for flags in ["", "--predictions", "--predictions p --link log", "--predictions p --window -1"]
    {
        ask(&format!("audit {DATA} {flags}")).refusal(2);
    }
}

/// The stream has more examples than one batch holds, and windows do not begin where batches do.
#[test]
fn long_streams_are_read_batch_by_batch() {
    let desk = Desk::new(&XOR.repeat(2500), &"1\n-1\n-1\n0.5\n".repeat(2500));
    let report = desk.report("--window 3000 --radius 1");
    let ends: Vec<&Value> = list(&report, "windows").iter().map(|window| &window["to"]).collect();
    assert_eq!(ends, [3000, 6000, 9000, 10_000]);
    assert_close(number(&report, "sequential_risk"), 0.125);
    desk.put("predictions", &"1\n".repeat(9_999));
    let expected = "error: predictions:9999: the file ends here, after 9999 predictions; stream \
                    goes on, and its example 10000 has none";
    assert_eq!(desk.audit("").one_line(), expected);
}

fn pin(name: &str, flags: &str) {
    let line = format!("audit {DATA} --predictions {MODELS} {}", hinge(flags));
    let text = ask(&line).result();
    assert_eq!(ask(&line).result(), text, "the same question gets the same bytes");
    assert_snapshot(name, &format!("$ rueful {line}\n{text}"));
}

#[test]
fn reports_that_people_read() {
    let linked = "--link logistic --loss logistic";
    pin("audit-one", &format!("--prediction-column votes {linked} --radius 5"));
    pin("audit-models", &format!("--prediction-column all {linked} --radius 2 --window 250"));
    pin("audit-windows", &format!("--prediction-column votes {linked} --window 10"));
    pin("audit-regression", "--prediction-column all --loss absolute --no-constant --radius 0.5");
    assert_snapshot(
        "help-audit",
        &format!("$ rueful audit --help\n{}", ask("audit --help").result()),
    );
}

/// The table of predictions fits the stream, and is still what the script beside it writes.
#[test]
fn the_carried_predictions_are_in_order() {
    let read = |name: &str| fs::read_to_string(Path::new(&root()).join(name)).expect("the file");
    let table = read(MODELS);
    assert!(table.starts_with("votes,unplugged\n0.500000,0.500000\n"));
    assert_eq!(table.lines().count(), read(DATA).lines().count() + 1);
    // The two models agree until one of them loses a feature.
    let same = |line: &&str| line.split_once(',').is_some_and(|(votes, other)| votes == other);
    assert_eq!(table.lines().skip(1).take_while(same).count(), 750);
}

#[test]
fn an_audit_is_a_page_for_one_model_and_for_several() {
    let desk = Desk::new(&XOR.repeat(25), &"1\n-1\n-1\n1\n".repeat(25));
    let report = desk.report("--radius 1000 --window 20 --report one.html --plot one.svg");
    let read = |name: &str| fs::read_to_string(desk.0.path().join(name)).expect("it is there");
    let page = read("one.html");
    let certificate = format!("{:?}", number(&report, "certificate")).replace('-', "−");
    let certificate = format!("<bdi>{certificate}</bdi>");
    assert!(page.contains(&certificate) && page.contains("Proved: on these examples it beat"));
    assert!(page.contains("Window by window") && read("one.svg").starts_with("<svg"));

    let folder = TempDir::new().expect("a directory");
    let path = folder.path().join("several.html");
    let asked = format!("--prediction-column all --window 250 --report {}", path.display());
    let audit = format!("audit {DATA} --predictions {MODELS} --loss logistic --json {asked}");
    let report = ask_in(&root(), &audit).json();
    let page = fs::read_to_string(path).expect("the file is written");
    assert!(list(&report, "models").len() > 1);
    for model in list(&report, "models") {
        let cell = format!("<bdi>{:?}</bdi>", number(model, "certificate"));
        assert!(page.contains(&cell), "{cell}");
        let name = model["name"].as_str().expect("a name");
        assert!(page.contains(&format!("<bdi>{name}</bdi>")), "{name}");
    }
    assert!(page.contains("Side by side") && page.contains("Window by window"));
}
