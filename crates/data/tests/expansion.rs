//! Features that are made from others: crosses of columns, interactions of namespaces, and the
//! features of missing cells.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

mod common;

use common::{NUMBERS, Named, check_threads, expect, labelled, named, open};
use proptest::prelude::*;
use rueful_data::{
    CurveSettings, ExpansionSettings, FormatSettings, KnownColumns, LabelRule, NamesSettings,
    Purpose, Reading, Schema, Source, TermScale, TextFiles,
};
use std::collections::{BTreeMap, BTreeSet};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The settings of a table whose label is `y`, with these crosses.
fn crossing(crosses: &[&str]) -> FormatSettings {
    let expansion = ExpansionSettings { crosses: words(crosses), ..ExpansionSettings::default() };
    FormatSettings { expansion, ..labelled("y") }
}

/// The settings of Vowpal Wabbit text with these interactions.
fn interacting(interactions: &[&str]) -> FormatSettings {
    let interactions = words(interactions);
    let expansion = ExpansionSettings { interactions, ..ExpansionSettings::default() };
    let format = Some("vw".to_owned());
    FormatSettings { format, expansion, ..FormatSettings::default() }
}

fn rows(file: &str, text: &str, settings: &FormatSettings) -> Vec<Named> {
    let (rows, error) = named(&mut open(file, text, settings).unwrap().reader);
    assert!(error.is_none(), "{file}: {error:?}");
    rows
}

fn refusal(file: &str, text: &str, settings: &FormatSettings) -> String {
    open(file, text, settings).unwrap_err().to_string()
}

/// A table with the columns `n` (numbers), `a`, `b` (categories) and the label, in the order of
/// `order`, as CSV.
fn csv(cells: &[[Option<String>; 4]], order: [usize; 4]) -> String {
    let names = ["n", "a", "b", "y"];
    let mut text = order.map(|column| names[column]).join(",") + "\n";
    for row in cells {
        text += &(order.map(|column| row[column].clone().unwrap_or_default()).join(",") + "\n");
    }
    text
}

fn jsonl(cells: &[[Option<String>; 4]]) -> String {
    let null = || "null".to_owned();
    let word = |cell: &Option<String>| cell.as_ref().map_or_else(null, |word| format!("{word:?}"));
    let line = |[n, a, b, y]: &[Option<String>; 4]| {
        let [n, y] = [n, y].map(|cell| cell.clone().unwrap_or_else(null));
        format!("{{\"n\":{n},\"a\":{},\"b\":{},\"y\":{y}}}\n", word(a), word(b))
    };
    cells.iter().map(line).collect()
}

fn arff(cells: &[[Option<String>; 4]]) -> String {
    let head = "@attribute n real\n@attribute a string\n@attribute b string\n@attribute y real\n";
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "?".to_owned());
    let line = |row: &[Option<String>; 4]| row.each_ref().map(cell).join(",") + "\n";
    format!("@relation x\n{head}@data\n{}", cells.iter().map(line).collect::<String>())
}

/// Rows of which the first has every value, so that every reader finds the same columns.
fn tables() -> impl Strategy<Value = Vec<[Option<String>; 4]>> {
    let cell = |values: Vec<&'static str>| {
        proptest::option::weighted(0.8, proptest::sample::select(values))
            .prop_map(|cell| cell.map(str::to_owned))
    };
    let label = proptest::sample::select(vec!["1", "2.5", "-3"]);
    let row = (
        cell(vec!["0", "0.5", "-2", "31"]),
        cell(vec!["x", "z", "some words"]),
        cell(vec!["p", "q", "r"]),
        label.prop_map(|label| Some(label.to_owned())),
    );
    let row = row.prop_map(|(n, a, b, y)| [n, a, b, y]);
    proptest::collection::vec(row, 1..20).prop_map(|mut rows| {
        rows.insert(0, ["7", "x", "p", "1"].map(|cell| Some(cell.to_owned())));
        rows
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_table_makes_the_same_features_in_every_format_and_order(cells in tables()) {
        let settings = crossing(&["n,a", "b,a", "a,b,n"]);
        let text = csv(&cells, [0, 1, 2, 3]);
        let expected = rows("data.csv", &text, &settings);
        prop_assert_eq!(&rows("data.csv", &csv(&cells, [3, 2, 0, 1]), &settings), &expected);
        let other = crossing(&["a,b", "a,n", "n,b,a", "b,a"]);
        prop_assert_eq!(&rows("data.csv", &text, &other), &expected);
        let arff = arff(&cells).replace("some words", "'some words'");
        prop_assert_eq!(&rows("data.arff", &arff, &settings), &expected);
        prop_assert_eq!(&rows("data.jsonl", &jsonl(&cells), &settings), &expected);
    }

    #[test]
    fn pieces_and_threads_make_no_difference(cells in tables()) {
        let settings = crossing(&["n,a", "a,b", "a,a"]);
        let text = csv(&cells, [0, 1, 2, 3]);
        let schema = open("data.csv", &text, &settings).unwrap().schema;
        let body = text.split_once('\n').unwrap().1.repeat(20);
        check_threads((csv(&[], [0, 1, 2, 3]) + &body).as_bytes(), &schema, &NUMBERS);
    }

    /// The cross of two categories is the category of both together: every feature of the cross
    /// stands where the value made by hand does.
    #[test]
    fn a_cross_of_categories_is_a_category_made_by_hand(cells in tables()) {
        let crossed = rows("data.csv", &csv(&cells, [0, 1, 2, 3]), &crossing(&["a,b"]));
        let value = |cell: &Option<String>, name: &str| match cell {
            Some(cell) => format!("{name}={cell}"),
            None => format!("{name}·missing"),
        };
        for (row, [_, a, b, _]) in crossed.iter().zip(&cells) {
            let made: Vec<_> = row.1.iter().filter(|(name, _)| name.contains('×')).collect();
            let by_hand = (format!("{}×{}", value(a, "a"), value(b, "b")), 1.0);
            prop_assert_eq!(made, [&by_hand]);
        }
    }
}

#[test]
fn a_cross_has_the_product_of_the_values() {
    let text = "age,job,text,y\n2,clerk,to be or not to be,1\n0,smith,,2\n,,to,3\n";
    let expansion = ExpansionSettings {
        crosses: words(&["job,age", "age,age", "text,job"]),
        ..ExpansionSettings::default()
    };
    let settings = FormatSettings { text: words(&["text"]), expansion, ..labelled("y") };
    let rows = rows("data.csv", text, &settings);
    let plain = [("age", 2.0), ("job=clerk", 1.0), ("age×job=clerk", 2.0), ("age×age", 4.0)];
    let count = |word: &str| if matches!(word, "to" | "be") { 2.0 } else { 1.0 };
    let names: Vec<_> = ["to", "be", "or", "not"]
        .iter()
        .flat_map(|word| {
            [format!("text:{word}"), format!("job=clerk×text:{word}")].map(|n| (n, count(word)))
        })
        .collect();
    let all: Vec<_> =
        plain.into_iter().chain(names.iter().map(|(name, count)| (&**name, *count))).collect();
    assert_eq!(rows[0], expect(1.0, &all));
    // A number of 0 makes no feature, so that it is crossed with nothing.
    assert_eq!(rows[1], expect(2.0, &[("job=smith", 1.0)]));
    let missing = [("age·missing", 1.0), ("job·missing", 1.0), ("text:to", 1.0)];
    let crossed = [("age·missing×job·missing", 1.0), ("age·missing×age·missing", 1.0)];
    let last = [("job·missing×text:to", 1.0)];
    assert_eq!(rows[2], expect(3.0, &[&missing[..], &crossed, &last].concat()));
}

#[test]
fn missing_cells_make_no_feature_if_none_is_wanted() {
    let expansion = ExpansionSettings { no_missing: true, ..ExpansionSettings::default() };
    let settings = FormatSettings { expansion, ..labelled("y") };
    let text = "a,b,y\n1,x,1\n,,2\n";
    let plain = [expect(1.0, &[("a", 1.0), ("b=x", 1.0)]), expect(2.0, &[])];
    assert_eq!(rows("data.csv", text, &settings), plain);
    let json = "{\"a\":1,\"b\":\"x\",\"y\":1}\n{\"a\":null,\"b\":null,\"y\":2}\n";
    assert_eq!(rows("data.jsonl", json, &settings), plain);
}

/// A schema holds what is made, so that the next file, in another order or format, makes the same.
#[test]
fn a_schema_makes_the_same_features_of_the_next_file() {
    let text = "age,job,y\n2,clerk,1\n,smith,2\n";
    let schema = open("data.csv", text, &crossing(&["age,job"])).unwrap().schema;
    let json = serde_json::to_string(&schema).unwrap();
    assert!(json.contains(r#""expansion":{"missing":true,"crosses":[["age","job"]]}"#), "{json}");
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    let known = KnownColumns::of(&schema).unwrap();
    let other = "job;other;age\nclerk;1;2\nsmith;2;\n";
    let input = common::input("next.csv", other);
    let fitted = TextFiles::fit_inputs(vec![input], Some(&schema), Some(&known), Purpose::Predict);
    let mut fitted = fitted.unwrap().read(&Reading { labels: LabelRule::Any, ..NUMBERS });
    let expected: Vec<_> =
        rows("data.csv", text, &crossing(&["age,job"])).into_iter().map(|row| row.1).collect();
    let found: Vec<_> = named(&mut fitted).0.into_iter().map(|row| row.1).collect();
    assert_eq!(found, expected);
}

#[test]
fn crosses_that_mean_nothing_are_refused() {
    let table = "age,job,y\n2,clerk,1\n3,smith,2\n";
    let refused = |crosses: &[&str]| refusal("data.csv", table, &crossing(crosses));
    assert_eq!(
        refused(&["age,jobs"]),
        "data.csv: cross names \"jobs\", expected a column; the columns are: age, job, y"
    );
    assert!(refused(&["age,y"]).contains("\"y\""), "{}", refused(&["age,y"]));
    assert!(refused(&["age"]).contains("from 2 to 8 columns"), "{}", refused(&["age"]));
    let lines = "1 |a x |b z\n";
    let vw = FormatSettings { label: None, ..crossing(&["a,b"]) };
    assert!(refusal("data.vw", lines, &vw).contains("it has namespaces in the place of columns"));
    let libsvm = refusal("data.libsvm", "1 1:1\n", &vw);
    assert!(libsvm.contains("its features have numbers, not names"), "{libsvm}");
    let interactions = refusal(
        "data.libsvm",
        "1 1:1\n",
        &FormatSettings { format: Some("libsvm".to_owned()), ..interacting(&["ab"]) },
    );
    assert!(interactions.contains("it has no namespaces"), "{interactions}");
    let expansion = interacting(&["ab"]).expansion;
    let in_table = refusal("data.csv", table, &FormatSettings { expansion, ..labelled("y") });
    assert!(in_table.contains("crossed by their names"), "{in_table}");
    assert!(refusal("data.vw", lines, &interacting(&["a"])).contains("is not an interaction"));
    let large = rows_error("1 |a x:1e30 |b y:1e30\n", &["ab"]);
    assert!(large.contains("whose product fits in single precision"), "{large}");
}

fn rows_error(text: &str, interactions: &[&str]) -> String {
    let mut opened = open("data.vw", text, &interacting(interactions)).unwrap();
    named(&mut opened.reader).1.unwrap().to_string()
}

/// The number of features that Vowpal Wabbit 9 reports for these lines, without the constant.
#[test]
fn interactions_make_as_many_features_as_vowpal_wabbit_counts() {
    for (interactions, line, count) in [
        (&["aa"][..], "1 |a x:2 y:3 z:5", 9),
        (&["aa"], "1 |a x y z", 9),
        (&["ab"], "1 |a x:2 y |b c d e", 11),
        (&["ba"], "1 |a x:2 y |b c d e", 11),
        (&["ab", "ba"], "1 |a x:2 y |b c d e", 11),
        (&["::"], "1 |a x:2 y |b c d e", 20),
        (&["::"], "1 | x:2 y |b c d e", 20),
        (&["aaa"], "1 |a x:2 y:3 z:5", 13),
        (&["aab"], "1 |a x:2 y:3 |b z:5 w", 10),
        (&["aba"], "1 |a x:2 y:3 |b z:5 w", 10),
        (&[":::"], "1 |a x:2 y:3 |b z:5 w", 24),
        (&["a:"], "1 |a x:2 y:3 |b z:5 w", 11),
        (&["aa"], "1 |ab x:2 y:3 |ac z:5 w", 14),
        (&["aa"], "1 |a x:2 |a y:3 z", 9),
        (&["ab"], "1 |a x:0 y |b z w", 5),
    ] {
        let rows = rows("data.vw", line, &interacting(interactions));
        assert_eq!(rows[0].1.len(), count, "{interactions:?} {line}");
    }
}

#[test]
fn interactions_have_names_and_products() {
    let line = "1 |age:2 x:3 |b job:clerk 7:0.5 | 9:4 z\n";
    let made = rows("data.vw", line, &interacting(&["ab", " a"]));
    let plain = [("age^x", 6.0), ("b^job^clerk", 1.0), ("b^7", 0.5), ("9", 4.0), ("z", 1.0)];
    let crossed = [("age^x×b^job^clerk", 6.0), ("age^x×b^7", 3.0)];
    let nameless = [("9×age^x", 24.0), ("z×age^x", 6.0)];
    assert_eq!(made, [expect(1.0, &[&plain[..], &crossed, &nameless].concat())]);
}

/// Names are told apart by their hashes, so that different combinations get different features.
#[test]
fn combinations_are_features_of_their_own() {
    let names: Vec<String> = (0..60).map(|n| format!("v{n}")).collect();
    let line = format!("1 |a {} |b {}\n", names.join(" "), names.join(" "));
    let made = &rows("data.vw", &line, &interacting(&["ab"]))[0].1;
    let distinct: BTreeSet<_> = made.iter().map(|(name, _)| name).collect();
    // Of 3,720 names among 2^22 indices, hardly any share an index.
    assert!(made.len() >= 3_715 && distinct.len() == made.len(), "{}", made.len());
}

#[test]
fn rows_of_any_namespaces_are_independent_of_each_other() {
    let lines = ["1 |a x y |b z\n", "2 |c w |a x\n", "3 | 5 |d q r\n", "4 |b z |c w |d q\n"];
    let settings = interacting(&["::", "a:b"]);
    let schema = open("data.vw", lines.concat(), &settings).unwrap().schema;
    let together = rows("data.vw", &lines.concat(), &settings);
    let apart: Vec<_> = lines.iter().flat_map(|line| rows("data.vw", line, &settings)).collect();
    assert_eq!(together, apart);
    check_threads(lines.concat().repeat(30).as_bytes(), &schema, &NUMBERS);
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(json, r#"{"format":"vw","bits":22,"interactions":["::",":ab"]}"#);
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    let by_name: BTreeMap<_, _> = together[1].1.iter().cloned().collect();
    assert_eq!(by_name["a^x×c^w"].to_bits(), 1.0_f32.to_bits());
}

/// The settings of Vowpal Wabbit text with n-grams.
fn chained(ngram: &[&str], skips: &[&str], interactions: &[&str]) -> FormatSettings {
    let (ngram, skips) = (words(ngram), words(skips));
    let settings = interacting(interactions);
    let expansion = ExpansionSettings { ngram, skips, ..settings.expansion };
    FormatSettings { expansion, ..settings }
}

/// The number of features that Vowpal Wabbit 9 reports for these lines, without the constant. All of
/// them are different here.
#[test]
fn n_grams_are_as_many_as_vowpal_wabbit_counts() {
    for (ngram, skips, interactions, line, count) in VW_GRAMS {
        let rows = rows("data.vw", line, &chained(ngram, skips, interactions));
        assert_eq!(rows[0].1.len(), *count, "{ngram:?} {skips:?} {interactions:?} {line}");
    }
}

type Words = &'static [&'static str];

const VW_GRAMS: &[(Words, Words, Words, &str, usize)] = &[
    (&["2"], &[], &[], "1 |a x y z w", 7),
    (&["3"], &[], &[], "1 |a x y z w", 9),
    (&["5"], &[], &[], "1 |a x y z w", 10),
    (&["2"], &["1"], &[], "1 |a x y z w v", 12),
    (&["3"], &["1"], &[], "1 |a x y z w v", 19),
    (&["3"], &["2"], &[], "1 |a x y z w v u", 34),
    (&["4"], &["3"], &[], "1 |a b c d e f g h", 90),
    (&["a2"], &[], &[], "1 |a x y z |b p q r", 8),
    (&["a2", "b3"], &["b1"], &[], "1 |a x y z |b p q r s", 18),
    (&["2"], &[], &[], "1 |ab x y |ac z w", 7),
    (&["2"], &[], &[], "1 |a x:0 y z", 3),
    (&["2"], &[], &[], "1 |a x:3 y:0.5 | z w", 6),
    (&["2"], &[], &["ab"], "1 |a x y z |b p q", 23),
    (&["a2"], &[], &["aa"], "1 |a x y z |b p q", 22),
    (&["a3"], &["a1"], &["ab"], "1 |a x y z w |b p q", 41),
    (&["2"], &[], &[], "1 |a city:paris x y", 5),
];

#[test]
fn namespaces_are_chosen_by_their_first_letters() {
    let line = "1 |ab X y |c Z:2 |d w\n";
    let made = |ignore: &str, keep: &str, lowercase| {
        let settings = interacting(&[]);
        let (ignore_namespaces, keep_namespaces) = (ignore.to_owned(), keep.to_owned());
        let expansion = ExpansionSettings {
            ignore_namespaces,
            keep_namespaces,
            lowercase,
            ..ExpansionSettings::default()
        };
        rows("data.vw", line, &FormatSettings { expansion, ..settings })
    };
    assert_eq!(made("ad", "", false), [expect(1.0, &[("c^Z", 2.0)])]);
    assert_eq!(made("", "ad", false), [expect(1.0, &[("ab^X", 1.0), ("ab^y", 1.0), ("d^w", 1.0)])]);
    assert_eq!(made("d", "cd", true), [expect(1.0, &[("c^z", 2.0)])]);
}

#[test]
fn words_of_namespaces_are_scaled_and_values_are_not() {
    let mut settings = chained(&["2"], &[], &[]);
    settings.expansion.tf = TermScale::Log;
    let made = rows("data.vw", "1 |a:2 x x |b 5 v:3 v:3 City:Paris\n", &settings);
    let log_2 = (1.0 + std::f64::consts::LN_2) as f32;
    let words = [("a^x", 2.0 * log_2), ("a^x^x", 1.0), ("b^5", 1.0), ("b^v", 6.0)];
    let grams = [("b^5^v", 1.0), ("b^v^v", 1.0), ("b^v^City^Paris", 1.0), ("b^City^Paris", 1.0)];
    assert_eq!(made, [expect(1.0, &[&words[..], &grams].concat())]);
}

/// Text in a table, of whose words n-grams are made.
fn gram_settings(crosses: &[&str]) -> FormatSettings {
    let expansion = ExpansionSettings {
        ngram: words(&["3"]),
        skips: words(&["1"]),
        tf: TermScale::Log,
        ..crossing(crosses).expansion
    };
    FormatSettings { text: words(&["t"]), expansion, ..labelled("y") }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn n_grams_are_the_same_in_every_format(
        texts in proptest::collection::vec("[a-cé ]{0,12}", 1..12),
    ) {
        let texts: Vec<_> = texts.iter().map(|text| format!("a{text}")).collect();
        let settings = gram_settings(&["j,t"]);
        let line = |make: fn(&str) -> String| texts.iter().map(|text| make(text)).collect::<String>();
        let csv = "t,j,y\n".to_owned() + &line(|text| format!("\"{text}\",k,1\n"));
        let other = "y;j;t\n".to_owned() + &line(|text| format!("1;k;\"{text}\"\n"));
        let json = line(|text| format!("{{\"t\":{text:?},\"y\":1,\"j\":\"k\"}}\n"));
        let head = "@relation x\n@attribute j string\n@attribute t string\n@attribute y real\n";
        let arff = format!("{head}@data\n{}", line(|text| format!("k,'{text}',1\n")));
        let expected = rows("data.csv", &csv, &settings);
        prop_assert_eq!(&rows("data.csv", &other, &settings), &expected);
        prop_assert_eq!(&rows("data.jsonl", &json, &settings), &expected);
        prop_assert_eq!(&rows("data.arff", &arff, &settings), &expected);
        let schema = open("data.csv", &csv, &settings).unwrap().schema;
        let body = csv.split_once('\n').unwrap().1.repeat(20);
        check_threads(format!("t,j,y\n{body}").as_bytes(), &schema, &NUMBERS);
    }

    /// A table that has a column for every pair of neighbours has the features of the bigrams.
    #[test]
    fn bigrams_are_the_pairs_of_neighbours(text in "[a-c]( [a-c]){0,8}") {
        let mut settings = gram_settings(&[]);
        settings.expansion = ExpansionSettings { ngram: words(&["2"]), ..ExpansionSettings::default() };
        let made = &rows("data.csv", &format!("t,y\n{text},1\n"), &settings)[0].1;
        let singles: Vec<_> = text.split(' ').map(str::to_owned).collect();
        let pairs = singles.windows(2).map(|pair| pair.join("^"));
        let mut counts = BTreeMap::new();
        for term in singles.iter().cloned().chain(pairs) {
            *counts.entry(format!("t:{term}")).or_insert(0.0) += 1.0;
        }
        prop_assert_eq!(made, &counts.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_schema_keeps_the_rules_of_texts() {
    let schema = open("data.csv", "t,j,y\na b,k,1\n", &gram_settings(&[])).unwrap().schema;
    let json = serde_json::to_string(&schema).unwrap();
    let kept = r#""expansion":{"missing":true,"grams":{"order":3,"skips":1},"tf":"log"}"#;
    assert!(json.contains(kept), "{json}");
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    assert!(serde_json::from_str::<Schema>(&json.replace("\"order\":3", "\"order\":9")).is_err());
    let schema = open("data.vw", "1 |a b\n", &chained(&["2", "a3"], &["1"], &[])).unwrap().schema;
    let json = serde_json::to_string(&schema).unwrap();
    let kept = r#"{"format":"vw","bits":22,"namespaces":{"ngram":["2","a3"],"skips":["1"]}}"#;
    assert_eq!(json, kept);
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    assert!(serde_json::from_str::<Schema>(&json.replace("a3", "a9")).is_err());
}

#[test]
fn text_settings_that_mean_nothing_are_refused() {
    let table = "t,j,y\na b,k,1\n";
    let with = |change: fn(&mut ExpansionSettings)| {
        let mut settings = FormatSettings { text: words(&["t"]), ..labelled("y") };
        change(&mut settings.expansion);
        settings
    };
    let refused = |change| refusal("data.csv", table, &with(change));
    for (said, expected) in [
        (refused(|e| e.skips = words(&["1"])), "n-grams of 2 or more words"),
        (refused(|e| e.ngram = words(&["9"])), "n-grams of 1 to 8 words, not 9"),
        (refused(|e| e.ngram = words(&["t2"])), "a number of words such as 2"),
        (refused(|e| e.lowercase = true), "lower-cased in any case"),
        (refused(|e| e.ignore_namespaces = "a".to_owned()), "left out by their names"),
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let settings = FormatSettings { text: Vec::new(), ..with(|e| e.ngram = words(&["2"])) };
    let said = refusal("data.csv", table, &settings);
    assert!(said.contains("no column of running text"), "{said}");
    let settings =
        FormatSettings { format: Some("libsvm".to_owned()), ..chained(&["2"], &[], &[]) };
    let said = refusal("data.libsvm", "1 1:1\n", &settings);
    assert!(said.contains("no words"), "{said}");
    let long = format!("t,y\n{},1\n", "a ".repeat(600_000));
    let settings = FormatSettings { text: words(&["t"]), ..with(|e| e.ngram = words(&["3"])) };
    let mut opened = open("data.csv", "t,y\na b,1\n", &settings).unwrap();
    opened.reader = common::reader(&[long.as_bytes()], &opened.schema, &NUMBERS);
    let said = named(&mut opened.reader).1.unwrap().to_string();
    assert!(said.contains("a text with at most 1048576 n-grams"), "{said}");
}

/// The settings of a table with curves.
fn curving(bins: &[&str], splines: &[&str], periodic: &[&str]) -> FormatSettings {
    let (bins, splines, periodic) = (words(bins), words(splines), words(periodic));
    let curves = CurveSettings { bins, splines, periodic };
    let expansion = ExpansionSettings { curves, ..ExpansionSettings::default() };
    FormatSettings { expansion, ..labelled("y") }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn curves_are_the_same_in_every_format_and_order(cells in tables()) {
        let mut settings = curving(&["n:3"], &["n:-2,0,31"], &["n:7:3"]);
        settings.expansion.crosses = words(&["n,a"]);
        // The decimals of the first row make sure that the column has two values.
        let cells = [&[["8", "x", "p", "1"].map(|cell| Some(cell.to_owned()))], &cells[..]].concat();
        let text = csv(&cells, [0, 1, 2, 3]);
        let expected = rows("data.csv", &text, &settings);
        prop_assert_eq!(&rows("data.csv", &csv(&cells, [3, 2, 0, 1]), &settings), &expected);
        let arff = arff(&cells).replace("some words", "'some words'");
        prop_assert_eq!(&rows("data.arff", &arff, &settings), &expected);
        prop_assert_eq!(&rows("data.jsonl", &jsonl(&cells), &settings), &expected);
        let schema = open("data.csv", &text, &settings).unwrap().schema;
        let body = text.split_once('\n').unwrap().1.repeat(20);
        check_threads((csv(&[], [0, 1, 2, 3]) + &body).as_bytes(), &schema, &NUMBERS);
        let json = serde_json::to_string(&schema).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    }

    /// Bins are the categories that one would make by hand: each number is replaced by the name of
    /// its bin, and every bin has a feature of its own.
    #[test]
    fn bins_are_categories_made_by_hand(numbers in proptest::collection::vec(-9.0_f32..9.0, 1..30)) {
        let line = |number: &f32| format!("{number},1\n");
        let text = "n,y\n0,1\n".to_owned() + &numbers.iter().map(line).collect::<String>();
        let made = rows("data.csv", &text, &curving(&["n:-3,0,4.5"], &[], &[]));
        for (number, row) in [0.0].iter().chain(&numbers).zip(&made) {
            let bin = match *number {
                x if x < -3.0 => "..-3",
                x if x < 0.0 => "-3..0",
                x if x < 4.5 => "0..4.5",
                _ => "4.5..",
            };
            prop_assert_eq!(&row.1, &[(format!("n·{bin}"), 1.0)]);
        }
    }
}

#[test]
fn knots_are_quantiles_of_the_first_rows() {
    let line = |number: u32| {
        format!("{},{number},1\n", if number == 7 { String::new() } else { number.to_string() })
    };
    let text = "n,i,y\n".to_owned() + &(0..2000).map(line).collect::<String>();
    let opened = open("data.csv", &text, &curving(&["n:4"], &["i:3"], &[])).unwrap();
    let json = serde_json::to_string(&opened.schema).unwrap();
    let kept = r#""curves":[{"column":"i","shape":{"spline":[0.0,500.0,999.0]}},{"column":"n","shape":{"bins":[251.0,500.0,750.0]}}]"#;
    assert!(json.contains(kept), "{json}");
    let said: Vec<_> =
        opened.notes.iter().map(|note| note.text(&|name: &str| name.to_owned())).collect();
    let note = "column \"n\" becomes 4 bins, parted at 251, 500, 750";
    assert!(said.iter().any(|line| line == note), "{said:?}");
}

#[test]
fn bins_take_the_place_of_their_number_and_splines_and_waves_do_not() {
    let text = "n,m,w,y\n0,0,6,1\n1,3,0,2\n,,,3\n";
    let made = rows("data.csv", text, &curving(&["n:0,1"], &["m:0,4"], &["w:24:1"]));
    let waves = |row: &Named| row.1.iter().filter(|(name, _)| name.contains("w·")).count();
    assert_eq!(made.iter().map(waves).collect::<Vec<_>>(), [2, 1, 1]);
    let rest = |row: &Named| -> Vec<(String, f32)> {
        row.1.iter().filter(|(name, _)| !name.starts_with("w·")).cloned().collect()
    };
    assert_eq!(rest(&made[0]), expect(1.0, &[("n·0..1", 1.0), ("m·@0", 1.0), ("w", 6.0)]).1);
    assert_eq!(
        rest(&made[1]),
        expect(2.0, &[("n·1..", 1.0), ("m", 3.0), ("m·@0", 0.25), ("m·@4", 0.75)]).1
    );
    assert_eq!(rest(&made[2]), expect(3.0, &[("n·missing", 1.0), ("m·missing", 1.0)]).1);
}

#[test]
fn crosses_of_a_curve_cross_its_parts() {
    let mut settings = curving(&["age:30,60"], &[], &[]);
    settings.expansion.crosses = words(&["age,job"]);
    let made = rows("data.csv", "age,job,y\n31,clerk,1\n0,cook,2\n,cook,3\n", &settings);
    let bin = [("age·30..60", 1.0), ("job=clerk", 1.0), ("age·30..60×job=clerk", 1.0)];
    assert_eq!(made[0], expect(1.0, &bin));
    let first = [("age·..30", 1.0), ("job=cook", 1.0), ("age·..30×job=cook", 1.0)];
    assert_eq!(made[1], expect(2.0, &first));
    let none = [("age·missing", 1.0), ("job=cook", 1.0), ("age·missing×job=cook", 1.0)];
    assert_eq!(made[2], expect(3.0, &none));
}

#[test]
fn curves_that_mean_nothing_are_refused() {
    let table = "age,job,a:5,y\n2,clerk,1,1\n3,smith,2,2\n";
    let refused = |settings: FormatSettings| refusal("data.csv", table, &settings);
    for (said, expected) in [
        (refused(curving(&["ages"], &[], &[])), "bins names \"ages\", expected a column"),
        (refused(curving(&["job"], &[], &[])), "column \"job\", which has no numbers"),
        (refused(curving(&["y"], &[], &[])), "a column of numbers for bins"),
        (refused(curving(&["age:1"], &[], &[])), "a whole number from 2 to 1000 for bins"),
        (refused(curving(&[], &["age:3,2"], &[])), "finite numbers that increase for spline"),
        (refused(curving(&["age", "age:3"], &[], &[])), "column \"age\" twice"),
        (refused(curving(&[], &[], &["age"])), "no period for column \"age\""),
        (refused(curving(&[], &[], &["age:0"])), "a period that is a positive number"),
        (refused(curving(&[], &[], &["age:24:0.5"])), "a whole number of harmonics"),
        (refused(curving(&[], &[], &["age:24:99"])), "from 1 to 32 harmonics, not 99"),
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let same = refusal("data.csv", "n,y\n1,1\n1,2\n", &curving(&["n"], &[], &[]));
    assert!(same.contains("whose first values do not differ"), "{same}");
    let lines = FormatSettings { label: None, ..curving(&["a"], &[], &[]) };
    assert!(refusal("data.vw", "1 |a x\n", &lines).contains("it has namespaces"));
    assert!(refusal("data.libsvm", "1 1:1\n", &lines).contains("have numbers, not names"));
    let json = refusal("data.jsonl", "{\"age\":1,\"y\":1}\n", &curving(&[], &["ages"], &[]));
    assert!(json.contains("spline names \"ages\", expected a column"), "{json}");
    // A name with a colon is a name.
    let made = rows("data.csv", table, &curving(&["a:5"], &[], &[]));
    assert!(made[0].1.iter().any(|(name, _)| name == "a:5·..2"), "{made:?}");
}

/// The terms of a line are made in the same order whatever the lines before it have. Where names share
/// an index, the first is kept, so the order shows.
#[test]
fn lines_before_do_not_change_the_order_of_terms() {
    let settings = chained(&["2"], &[], &[]);
    let settings = FormatSettings { bits: 8.try_into().unwrap(), ..settings };
    let names = |text: &str| {
        let mut opened = open("a.vw", text, &settings).unwrap();
        let (_, error) = named(&mut opened.reader);
        assert!(error.is_none(), "{error:?}");
        assert!(opened.reader.names().collisions() > 10);
        opened.reader.names().clone()
    };
    let words: String = (0..60).map(|word| format!(" w{word}")).collect();
    let line = format!("1 |f{words} |g{words} | {words}\n");
    assert!(names(&line) == names(&format!("1 |g | |f\n{line}")));
}
