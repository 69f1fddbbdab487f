//! JSON lines: the tests say what is read, and what is refused in which words. The reader must
//! agree with another library.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

#[path = "../common/mod.rs"]
mod common;

use common::{
    NUMBERS, Named, check_survival, check_threads, drain, expect, input, labelled, named, open,
    reader,
};
use proptest::prelude::*;
use rueful_data::{DataError, FormatSettings, LabelRule, Reading, Schema, Source, open_inputs};
use serde_json::Value;
use std::collections::BTreeSet;

fn y() -> FormatSettings {
    labelled("y")
}

fn rows(text: &str, format_settings: &FormatSettings) -> Vec<Named> {
    let mut opened = open("data.jsonl", text, format_settings).unwrap();
    let (rows, error) = named(&mut opened.reader);
    assert!(error.is_none(), "{}", error.unwrap());
    rows
}

/// The error for a line after a good one.
fn broken(line: &str) -> String {
    let mut opened = open("data.jsonl", format!("{{\"y\":1}}\n{line}\n"), &y()).unwrap();
    let (rows, error) = drain(&mut opened.reader);
    assert_eq!(rows.len(), 1, "{line}");
    error.expect("an error").to_string()
}

#[test]
fn values_are_features_under_their_keys() {
    let text = r#" { "age" : 31.5, "job":"clerk", "ok":true, "no":false, "y": 1e1, "7": 2 } "#;
    assert_eq!(
        rows(text, &y()),
        [expect(10.0, &[("age", 31.5), ("job=clerk", 1.0), ("ok", 1.0), ("7", 2.0)])]
    );
    let text = r#"{"u":{"age":3,"tags":["a","b","a"],"at":[1,0,[2.5],{"x":"z"}]},"y":-0.0}"#;
    assert_eq!(
        rows(text, &y()),
        [expect(
            0.0,
            &[
                ("u.age", 3.0),
                ("u.tags=a", 2.0),
                ("u.tags=b", 1.0),
                ("u.at.0", 1.0),
                ("u.at.2.0", 2.5),
                ("u.at.3.x=z", 1.0)
            ]
        )]
    );
    assert_eq!(rows("\n{\"y\":1}\r\n  \n{\"y\":2,\"a\":{},\"b\":[]}", &y()).len(), 2);
}

#[test]
fn escapes_are_undone() {
    let text = r#"{"a\"\\\/\b\f\n\r\tb":1,"c":"\u00e9\ud83d\ude00x","y":0}"#;
    assert_eq!(
        rows(text, &y()),
        [expect(0.0, &[("a\"\\/\u{8}\u{c}\n\r\tb", 1.0), ("c=é😀x", 1.0)])]
    );
}

#[test]
fn wishes_hold_for_what_is_below() {
    let format_settings = FormatSettings {
        drop: vec!["d".to_owned()],
        categorical: vec!["zip".to_owned(), "b".to_owned()],
        text: vec!["m.t".to_owned()],
        ..labelled("m.y")
    };
    let text =
        r#"{"d":{"x":1,"z":[null]},"zip":[80331,1.50],"b":false,"m":{"t":"Hi HI","y":3},"n":null}"#;
    let mut opened = open("data", text, &format_settings).unwrap();
    assert_eq!(
        named(&mut opened.reader).0,
        [expect(
            3.0,
            &[
                ("zip.0=80331", 1.0),
                ("zip.1=1.50", 1.0),
                ("b=false", 1.0),
                ("m.t:hi", 2.0),
                ("n·missing", 1.0)
            ]
        )]
    );
    // There is one count for each column, and one for all other keys.
    assert_eq!(opened.reader.missing(), [0, 0, 0, 0, 0, 1]);
    let json = serde_json::to_string(&opened.schema).unwrap();
    assert_eq!(
        json,
        r#"{"format":"jsonl","bits":22,"columns":{"list":[{"name":"m.y","role":"label"},{"name":"d","role":"drop"},{"name":"zip","role":"category"},{"name":"b","role":"category"},{"name":"m.t","role":"text"}],"expansion":{"missing":true}}}"#
    );
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), opened.schema);
}

#[test]
fn labels_follow_their_rule() {
    let read = |text: &str, rule: LabelRule| {
        let reading = Reading { labels: rule, ..NUMBERS };
        let mut opened = open_inputs(vec![input("d", text)], &y(), &reading).unwrap();
        let (rows, error) = named(&mut opened.reader);
        let labels: Vec<f64> = rows.iter().map(|row| row.0).collect();
        (labels, error.map(|error| error.to_string()))
    };
    let bools = "{\"y\":true}\n{\"y\":false}\n";
    assert_eq!(read(bools, LabelRule::Signs), (vec![1.0, -1.0], None));
    assert_eq!(read(bools, LabelRule::Numbers), (vec![1.0, 0.0], None));
    assert_eq!(read(bools, LabelRule::Positive("false".to_owned())), (vec![-1.0, 1.0], None));
    let words = "{\"y\":\"up\"}\n{\"y\":\"down\"}\n";
    assert_eq!(read(words, LabelRule::Positive("up".to_owned())), (vec![1.0, -1.0], None));
    let (labels, error) = read("{\"y\":1}\n{\"y\":\"x\"}\n", LabelRule::Numbers);
    assert_eq!(labels, [1.0]);
    assert_eq!(error.unwrap(), "d:2:6: found \"x\", expected a label that is a finite number");
}

#[test]
fn what_is_inferred_is_said() {
    let text = "{\"a\":1,\"b\":\"x\",\"c\":{\"d\":2},\"y\":1}\n{\"e\":true,\"y\":0}\n";
    assert_eq!(
        open("data", text, &y()).unwrap().notes,
        ["JSON lines", "numbers in the first lines: a, c.d, e", "categories in the first lines: b"]
    );
    let format_settings = FormatSettings { drop: vec!["c".to_owned(), "q".to_owned()], ..y() };
    assert_eq!(
        open("data", text, &format_settings).unwrap().notes[1..],
        [
            "numbers in the first lines: a, e",
            "categories in the first lines: b",
            "the key \"q\" is not in the first lines"
        ]
    );
    assert_eq!(
        open("data", text, &FormatSettings::default()).map(|_| ()).unwrap_err().to_string(),
        "data: which column is the label? Add label NAME, or label and a number from 1 on; \
         the columns are: a, b, c.d, y, e"
    );
    let both = FormatSettings { drop: vec!["y".to_owned()], ..y() };
    assert!(matches!(open("data", text, &both), Err(DataError::Contradiction { .. })));
    assert_eq!(
        open("data", "[{\"a\":1},\n{\"a\":2}]\n", &y()).map(|_| ()).unwrap_err().to_string(),
        "data: found a JSON array, expected one object per line: jq -c '.[]' FILE | rueful … -"
    );
}

#[test]
fn broken_lines_are_refused() {
    let one_line = "an object must be on one line: jq -c . FILE writes it so";
    for (line, message) in [
        ("7", "2:1: found \"7\", expected an object: {\"key\": value, …}; jq -c . FILE writes one object per line".to_owned()),
        ("{", format!("2:2: found \"\", expected a key in double quotes; {one_line}")),
        ("{\"a\":1", format!("2:7: found \"\", expected a comma, or the brace that closes the object; {one_line}")),
        ("{\"a\":1,}", "2:8: found \"}\", expected a key in double quotes".to_owned()),
        ("{a:1}", "2:2: found \"a:1}\", expected a key in double quotes".to_owned()),
        ("{\"a\" 1}", "2:6: found \"1}\", expected a colon after the key".to_owned()),
        ("{\"a\":}", "2:6: found \"}\", expected a value".to_owned()),
        ("{\"a\":01}", "2:6: found \"01}\", expected a number".to_owned()),
        ("{\"a\":1.}", "2:6: found \"1.}\", expected a number".to_owned()),
        ("{\"a\":+1}", "2:6: found \"+1}\", expected a value".to_owned()),
        ("{\"a\":NaN}", "2:6: found \"NaN}\", expected a value".to_owned()),
        ("{\"a\":1e39}", "2:6: found \"1e39\", expected a number that fits in single precision (at most 3.4028235e38 in size)".to_owned()),
        ("{\"a\":[1,2}", "2:10: found \"}\", expected a comma, or the bracket that closes the array".to_owned()),
        ("{\"a\":\"x}", "2:6: found \"\\\"x}\", expected a double quote that closes this one".to_owned()),
        ("{\"a\":\"\\x\"}", "2:7: found \"\\\\x\\\"}\", expected an escape such as \\n, \\\" or \\u00e9".to_owned()),
        ("{\"a\":\"\\ud800\"}", "2:7: found \"\\\\ud800\\\"}\", expected an escape such as \\n, \\\" or \\u00e9".to_owned()),
        ("{\"y\":1} {}", "2:9: found \"{}\", expected the end of the line after the object".to_owned()),
        ("{\"y\":1,\"a\":1,\"a\":2}", "2:14: found \"\\\"a\\\":2}\", expected a key that is not in the row yet".to_owned()),
        ("{\"y\":1,\"a\":{\"b\":1},\"a.b\":2}", "2:20: found \"\\\"a.b\\\":2}\", expected a key that is not in the row yet".to_owned()),
        ("{\"a\":1}", "2:1: found \"{\\\"a\\\":1}\", expected a label under the key \"y\"".to_owned()),
        ("{\"y\":null}", "2:6: found \"null\", expected a label under the key \"y\"; a row without a label teaches nothing".to_owned()),
        ("{\"y\":[1]}", "2:6: found \"[1]}\", expected a label under the key \"y\": a number, word or truth".to_owned()),
    ] {
        assert_eq!(broken(line), format!("data.jsonl:{message}"), "{line}");
    }
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(70), "]".repeat(70));
    assert!(broken(&deep).contains("expected at most 64 objects and arrays within each other"));
    let deepest = format!("{{\"y\":1,\"a\":{}1{}}}", "[".repeat(63), "]".repeat(63));
    assert_eq!(rows(&deepest, &y()).len(), 1);
}

/// The obvious reader of one line, built on another library.
fn obvious(line: &str) -> Option<Named> {
    let Ok(Value::Object(object)) = serde_json::from_str(line) else { return None };
    let mut features = Vec::new();
    for (key, value) in &object {
        if key != "y" {
            flatten(key, value, &mut features)?;
        }
    }
    let label = match object.get("y")? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.parse().ok()?,
        Value::Bool(is) => f64::from(u8::from(*is)),
        _ => return None,
    };
    features.retain(|(_, value)| *value != 0.0);
    features.sort_by(|a, b| a.0.cmp(&b.0));
    (label.abs() <= f64::from(f32::MAX)).then_some((label + 0.0, features))
}

fn flatten(key: &str, value: &Value, features: &mut Vec<(String, f32)>) -> Option<()> {
    let mut add = |name: String, value: f32| match features.iter_mut().find(|f| f.0 == name) {
        Some((_, sum)) => *sum += value,
        None => features.push((name, value)),
    };
    match value {
        Value::Null => {}
        Value::Bool(is) => add(key.to_owned(), f32::from(u8::from(*is))),
        Value::Number(number) => {
            let value = number.as_f64()? as f32;
            if !value.is_finite() {
                return None;
            }
            add(key.to_owned(), value);
        }
        Value::String(text) => add(format!("{key}={text}"), 1.0),
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                if value.is_string() {
                    flatten(key, value, features)?;
                } else {
                    flatten(&format!("{key}.{number}"), value, features)?;
                }
            }
        }
        Value::Object(object) => {
            for (inner, value) in object {
                flatten(&format!("{key}.{inner}"), value, features)?;
            }
        }
    }
    Some(())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-1000i32..1000).prop_map(|n| Value::from(f64::from(n) / 8.0)),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter_map("a number", |n| serde_json::Number::from_f64(n).map(Value::from)),
        "[a-zé\"\\\\\n😀]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]{1,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Lines that are mostly right, with changes that may make them wrong.
fn soup() -> impl Strategy<Value = String> {
    let label = prop_oneof![
        8 => (-9i32..9).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    let object = prop::collection::btree_map("[a-d1-3]{1,2}|é", value(), 0..4);
    let line = (label, object).prop_map(|(label, map)| {
        let mut map: serde_json::Map<_, _> = map.into_iter().collect();
        map.insert("y".to_owned(), label);
        Value::Object(map).to_string()
    });
    let change = prop::sample::select(
        &[
            "", "\"", "{", "}", "[", "]", ",", ":", "\\", "0", "1", "-", ".", "e", " ", "\\u00e9",
            "null", "\t", "x",
        ][..],
    );
    (line, prop::collection::vec((any::<prop::sample::Index>(), change, any::<bool>()), 0..3))
        .prop_map(|(mut line, changes)| {
            for (place, text, replaces) in changes {
                let mut place = place.index(line.len());
                while !line.is_char_boundary(place) {
                    place -= 1;
                }
                let length = line[place..].chars().next().map_or(0, char::len_utf8);
                let end = if replaces { place + length } else { place };
                line.replace_range(place..end, text);
            }
            line
        })
}

/// Whether two keys are written alike, anywhere in a line. The other library forgets the first of
/// two equal keys in one object, whatever its value is.
fn has_equal_keys(line: &str) -> bool {
    let mut known = BTreeSet::new();
    let pieces: Vec<&str> = line.split("\":").collect();
    let keys = pieces[..pieces.len() - 1].iter().filter_map(|piece| piece.rsplit('"').next());
    keys.into_iter().any(|key| !known.insert(key))
}

fn schema() -> Schema {
    serde_json::from_str(r#"{"format":"jsonl","bits":26,"columns":[{"name":"y","role":"label"}]}"#)
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_reader_agrees_with_another_library(line in soup()) {
        prop_assume!(!line.trim().is_empty());
        let mut source = reader(&[line.as_bytes()], &schema(), &NUMBERS);
        let (found, error) = named(&mut source);
        prop_assume!(source.names().collisions() == 0);
        let is_repeated = error
            .as_ref()
            .is_some_and(|error| error.to_string().contains("a key that is not in the row yet"));
        // A key below a key that is a number by itself has a name. The other library takes the last
        // of two equal keys.
        if !is_repeated && !has_equal_keys(&line) {
            let expected: Vec<Named> = obvious(&line).into_iter().collect();
            prop_assert_eq!(&found, &expected, "{:?}", error);
            prop_assert_eq!(error.is_some(), expected.is_empty());
        }
    }

    #[test]
    fn random_bytes_do_no_harm(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"{}[]\",:\\u0189.e-ytrunl\n "[..])],
            0..60
        ),
        line in soup(),
        place in any::<prop::sample::Index>(),
    ) {
        check_survival("data.jsonl", &bytes, &y(), &NUMBERS);
        let mut text = line.into_bytes();
        let place = place.index(text.len() + 1);
        text.splice(place..place, bytes);
        check_survival("data.jsonl", &text, &y(), &NUMBERS);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_cut_gives_an_error_or_a_prefix(lines in prop::collection::vec(soup(), 1..5)) {
        // A text that is not an object may become one when it is cut: `{"y":0}}`.
        let lines: Vec<_> = lines.into_iter().filter(|line| obvious(line).is_some()).collect();
        let text = lines.join("\n");
        let (whole, _) = drain(&mut reader(&[text.as_bytes()], &schema(), &NUMBERS));
        for cut in 0..text.len() {
            let (found, _) = drain(&mut reader(&[&text.as_bytes()[..cut]], &schema(), &NUMBERS));
            // An object that is cut is not an object, so nothing can be read differently.
            prop_assert!(found.len() <= whole.len());
            prop_assert_eq!(&found[..], &whole[..found.len()]);
        }
    }

    #[test]
    fn pieces_and_threads_make_no_difference(
        lines in prop::collection::vec(soup(), 1..30),
        times in 1usize..60,
    ) {
        let text = (lines.join("\n") + "\n").repeat(times);
        check_threads(text.as_bytes(), &schema(), &Reading { labels: LabelRule::Any, ..NUMBERS });
    }
}

/// Agreement means little if almost everything is refused.
#[test]
fn the_soup_is_rich() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let lines = (0..2000).map(|_| soup().new_tree(&mut runner).unwrap().current());
    let good = lines.filter(|line| obvious(line).is_some()).count();
    assert!((400..1600).contains(&good), "{good}");
}
