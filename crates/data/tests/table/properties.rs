//! Properties that hold for random input.

use crate::common::{
    NUMBERS, Named, check_survival, check_threads, drain, input, labelled, named, reader,
};
use proptest::prelude::*;
use rueful_data::{Column, FormatSettings, LabelRule, Reading, Role, Schema, Source, open_inputs};

const MISSING: [&str; 9] = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"];

/// A schema with columns of all kinds: number, category, text, dropped, label.
fn schema(separator: &str, quotes: bool, header: bool) -> Schema {
    let json = format!(
        r#"{{"format":"csv","separator":"{separator}","quotes":{quotes},"header":{header},"bits":22,
        "columns":[{{"name":"n","role":"number"}},{{"name":"c","role":"category"}},
        {{"name":"t","role":"text"}},{{"name":"d","role":"drop"}},{{"name":"y","role":"label"}}]}}"#
    );
    serde_json::from_str(&json).unwrap()
}

/// The obvious reader: another library finds the records, and the rules are applied to them.
/// Returns the rows, and whether a record is wrong.
fn obvious(text: &str, separator: u8, quotes: bool, columns: &[Column]) -> (Vec<Named>, bool) {
    let mut rows = Vec::new();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .quoting(quotes)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    for record in reader.records() {
        let record = record.unwrap();
        match obvious_row(&record, columns) {
            Some(row) => rows.push(row),
            None => return (rows, true),
        }
    }
    (rows, false)
}

fn obvious_row(record: &csv::StringRecord, columns: &[Column]) -> Option<Named> {
    if record.len() != columns.len() {
        return None;
    }
    let mut label = None;
    let mut features: Vec<(String, f32)> = Vec::new();
    for (cell, Column { name, role }) in record.iter().zip(columns) {
        let is_missing = MISSING.contains(&cell);
        match role {
            Role::Drop | Role::Importance | Role::Prediction | Role::Id | Role::Date => {}
            Role::Label => label = number(cell),
            Role::Text => {
                let words = cell.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
                for word in words {
                    let name = format!("{name}:{}", word.to_lowercase());
                    match features.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, count)) => *count += 1.0,
                        None => features.push((name, 1.0)),
                    }
                }
            }
            _ if is_missing => {}
            Role::Category => features.push((format!("{name}={cell}"), 1.0)),
            Role::Number => {
                let value: f32 = number(cell).and_then(|_| cell.parse().ok())?;
                if !value.is_finite() {
                    return None;
                }
                features.push((name.clone(), value));
            }
        }
    }
    features.retain(|(_, value)| *value != 0.0);
    features.sort_by(|a, b| a.0.cmp(&b.0));
    Some((label.filter(|label| label.abs() <= f64::from(f32::MAX))? + 0.0, features))
}

fn number(text: &str) -> Option<f64> {
    let is_word = text.contains(|char: char| char.is_alphabetic() && !"eE".contains(char));
    if is_word { None } else { text.parse().ok() }
}

/// A cell as it is written. Libraries differ on blanks around cells and on text after a closing
/// quote, so these do not occur here.
fn cell(plain: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    (plain, 0..10)
        .prop_map(|(cell, how)| {
            let needs_quotes = cell.contains([',', '\n', '\r', '"']) || cell != cell.trim();
            let doubled = format!("\"{}\"", cell.replace('"', "\"\""));
            if needs_quotes || how == 0 { doubled } else { cell }
        })
        .boxed()
}

fn soup() -> impl Strategy<Value = String> {
    let number = || {
        prop_oneof![
            20 => "[+-]?[0-9]{1,3}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{1,2})?",
            3 => prop::sample::select(&MISSING[..]).prop_map(str::to_owned),
            1 => "[-+.eE0-9]{0,6}|1e999|x",
        ]
    };
    let label = prop_oneof![30 => "[+-]?[0-9]{1,3}(\\.[0-9]{0,3})?", 1 => "[a-z?]{0,2}"];
    let words = prop_oneof!["[a-cA-C]{1,3}", "[ -~éÜß\\n]{0,9}", "[a-c, \"\\r\\n]{0,6}"];
    let category = prop_oneof![
        6 => "[a-z]{1,3}",
        2 => "[ -~é\\n]{0,6}",
        1 => prop::sample::select(&MISSING[..]).prop_map(str::to_owned),
    ];
    let cells = (
        cell(number()),
        cell(category),
        cell(words.clone()),
        cell(words),
        cell(label),
        prop_oneof![40 => Just(0), 1 => Just(1), 1 => Just(2)],
        prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n")],
    );
    let record = cells.prop_map(|(n, c, t, d, y, odd, end)| match odd {
        0 => format!("{n},{c},{t},{d},{y}{end}"),
        1 => format!("{n},{c},{t},{d}{end}"),
        _ => format!("{n},{c},{t},{d},{y},{n}{end}"),
    });
    (prop::collection::vec(record, 0..6), any::<bool>()).prop_map(|(records, cut)| {
        let text = records.concat();
        if cut { text.trim_end_matches(['\n', '\r']).to_owned() } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_reader_agrees_with_another_library(text in soup()) {
        let schema = schema("comma", true, false);
        let mut source = reader(&[text.as_bytes()], &schema, &NUMBERS);
        let (found, error) = named(&mut source);
        prop_assume!(source.names().collisions() == 0);
        let (expected, is_broken) = obvious(&text, b',', true, schema.columns());
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(error.is_some(), is_broken || expected.is_empty());
    }

    #[test]
    fn without_quotes_too(text in soup()) {
        let text = text.replace(',', "\t").replace('\r', "");
        // In the other library, blanks around cells belong to them.
        let text: String = text.split('\n').map(|line| {
            let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
            cells.join("\t") + "\n"
        }).collect();
        let schema = schema("tab", false, false);
        let mut source = reader(&[text.as_bytes()], &schema, &NUMBERS);
        let (found, error) = named(&mut source);
        prop_assume!(source.names().collisions() == 0);
        let (expected, is_broken) = obvious(&text, b'\t', false, schema.columns());
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(error.is_some(), is_broken || expected.is_empty());
    }

    #[test]
    fn random_bytes_do_no_harm(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"01.,;\t\"\n\r-ea?"[..])], 0..80
        ),
        name in prop::sample::select(&["data.csv", "data.tsv", "data", "data.zip"][..]),
        header in any::<Option<bool>>(),
        limit in prop_oneof![Just(1 << 20), 0usize..40],
    ) {
        let mut reading = NUMBERS;
        reading.limits.max_line_bytes = limit;
        let format_settings = FormatSettings { header, ..labelled("1") };
        check_survival(name, &bytes, &format_settings, &reading);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_cut_gives_an_error_or_a_prefix(text in soup()) {
        let schema = schema("comma", true, false);
        let (whole, _) = named(&mut reader(&[text.as_bytes()], &schema, &NUMBERS));
        for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let (found, _) = named(&mut reader(&[&text.as_bytes()[..cut]], &schema, &NUMBERS));
            // The last record may be read as the text that is left of it.
            let sure = found.len().saturating_sub(1);
            prop_assert!(sure <= whole.len());
            prop_assert_eq!(&found[..sure], &whole[..sure]);
        }
    }

    #[test]
    fn pieces_and_threads_make_no_difference(
        records in prop::collection::vec(soup(), 1..40),
        times in 1usize..60,
    ) {
        let text = records.iter().map(|text| text.trim_end().to_owned() + "\n").collect::<String>();
        let text = text.repeat(times);
        let reading = Reading { labels: LabelRule::Any, ..NUMBERS };
        check_threads(text.as_bytes(), &schema("comma", true, false), &reading);
    }
}

/// Rows are read from the beginning, whatever is recognised.
#[test]
fn what_was_looked_at_is_read() {
    for rows in [1, 2, 1000, 50_000] {
        let text = "a,y\n".to_owned() + &"1,2\n".repeat(rows);
        let mut opened = open_inputs(vec![input("x", text)], &labelled("y"), &NUMBERS).unwrap();
        assert_eq!(drain(&mut opened.reader).0.len(), rows);
    }
}

/// Agreement means little if almost everything is refused.
#[test]
fn the_soup_is_rich() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let columns = schema("comma", true, false).columns().to_vec();
    let (mut good, mut bad) = (0, 0);
    for _ in 0..2000 {
        let text = soup().new_tree(&mut runner).unwrap().current();
        match obvious(&text, b',', true, &columns) {
            (_, true) => bad += 1,
            (rows, false) => good += usize::from(!rows.is_empty()),
        }
    }
    assert!(good > 400 && bad > 200, "{good} {bad}");
}
