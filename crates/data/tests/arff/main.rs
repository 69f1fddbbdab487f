//! ARFF: the tests say what is declared, what is read, and what is refused in which words.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

#[path = "../common/mod.rs"]
mod common;

use common::{
    NUMBERS, Named, check_survival, check_threads, drain, expect, input, labelled, named, open,
    reader, real,
};
use proptest::prelude::*;
use rueful_data::{
    AttributeKind, Follow, FormatSettings, LabelRule, Reading, Role, Schema, Source,
    open as open_files, open_inputs,
};

const HEAD: &str = "% weather\n@RELATION 'the weather'\n\n@attribute temp numeric\n\
                    @Attribute \"out look\" {sunny, 'over cast',rainy} % values\n\
                    @attribute note string\n@attribute y real\n@data\n";

fn with_head(rows: &str) -> String {
    format!("{HEAD}{rows}")
}

fn rows(rows: &str) -> Vec<Named> {
    let mut opened = open("w.arff", with_head(rows), &labelled("y")).unwrap();
    let (rows, error) = named(&mut opened.reader);
    assert!(error.is_none(), "{}", error.unwrap());
    rows
}

/// The error for a row after a good one.
fn broken(row: &str) -> String {
    let text = with_head(&format!("1,sunny,a,1\n{row}\n"));
    let mut opened = open("w.arff", text, &labelled("y")).unwrap();
    let (rows, error) = drain(&mut opened.reader);
    assert_eq!(rows.len(), 1);
    error.expect("an error").to_string()
}

fn refused(text: &str, format_settings: &FormatSettings) -> String {
    open("w.arff", text, format_settings).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn rows_are_values_in_order() {
    assert_eq!(
        rows(
            "71.5, 'over cast' ,\"it\\'s a \\\"test\\\"\", 1\r\n\n% comment\n  -1e1\trainy x 2 % end\n"
        ),
        [
            expect(
                1.0,
                &[("temp", 71.5), ("out look=over cast", 1.0), ("note=it's a \"test\"", 1.0)]
            ),
            expect(2.0, &[("temp", -10.0), ("out look=rainy", 1.0), ("note=x", 1.0)]),
        ]
    );
}

#[test]
fn sparse_rows_leave_out_zeros() {
    assert_eq!(
        rows("{0 5, 1 rainy,2 'a b', 3 7}\n{ 3 1 }\n{}\n{2 ?}\n"),
        [
            expect(7.0, &[("temp", 5.0), ("out look=rainy", 1.0), ("note=a b", 1.0)]),
            // An attribute that is left out is 0, or the first value declared.
            expect(1.0, &[("out look=sunny", 1.0), ("note·missing", 1.0)]),
            expect(0.0, &[("out look=sunny", 1.0), ("note·missing", 1.0)]),
            expect(0.0, &[("out look=sunny", 1.0), ("note·missing", 1.0)]),
        ]
    );
}

#[test]
fn a_question_mark_is_missing() {
    let text = with_head("?,?,?,1\n1,sunny,'?',2\n1,rainy,NA,3\n");
    let mut opened = open("w.arff", text, &labelled("y")).unwrap();
    let (rows, _) = named(&mut opened.reader);
    let missing = [("temp·missing", 1.0), ("out look·missing", 1.0), ("note·missing", 1.0)];
    assert_eq!(rows[0], expect(1.0, &missing));
    assert_eq!(rows[1], expect(2.0, &[("temp", 1.0), ("out look=sunny", 1.0), ("note=?", 1.0)]));
    assert_eq!(rows[2], expect(3.0, &[("temp", 1.0), ("out look=rainy", 1.0), ("note=NA", 1.0)]));
    assert_eq!(opened.reader.missing(), [1, 1, 1]);
}

#[test]
fn broken_rows_are_refused() {
    for (row, message) in [
        ("1,sunny,a", "w.arff:10:1: found \"1,sunny,a\", expected 4 values, not 3"),
        ("1,sunny,a,1,2", "w.arff:10:1: found \"1,sunny,a,1,2\", expected 4 values, not 5"),
        (
            "1,snowy,a,1",
            "w.arff:10:3: found \"snowy\", expected one of the values declared for attribute \"out \
             look\"",
        ),
        (
            "x,sunny,a,1",
            "w.arff:10:1: found \"x\", expected a finite number in column \"temp\"; categorical \
             temp takes its values as names, drop temp leaves it out, an empty cell is a \
             missing value",
        ),
        ("1,sunny,,1", "w.arff:10:9: found \",1\", expected a value, or ? for a missing one"),
        (
            "1,'sunny,a,1",
            "w.arff:10:3: found \"'sunny,a,1\", expected a quote that closes this one",
        ),
        ("1,'sunny'a,1,1", "w.arff:10:10: found \"a,1,1\", expected a comma after the value"),
        (
            "1,sunny,a,?",
            "w.arff:10:11: found \"?\", expected a label in column \"y\"; a row without a label \
             teaches nothing",
        ),
        ("1,sunny,a,up", "w.arff:10:11: found \"up\", expected a label that is a finite number"),
        (
            "{3 1, 1 rainy}",
            "w.arff:10:7: found \"1 rainy}\", expected an attribute from 4 to 3, in order",
        ),
        ("{4 1}", "w.arff:10:2: found \"4 1}\", expected an attribute from 0 to 3, in order"),
        (
            "{y 1}",
            "w.arff:10:2: found \"y 1}\", expected the number of an attribute, a blank, and its \
             value",
        ),
        ("{3 1", "w.arff:10:5: found \"\", expected a comma, or the brace that closes the row"),
        ("{3 1}, {5}", "w.arff:10:6: found \", {5}\", expected the end of the line after the row"),
    ] {
        assert_eq!(broken(row), message, "{row}");
    }
}

#[test]
fn broken_headers_are_refused() {
    for (text, message) in [
        (
            "@relation x\n@attribute a numeric\n",
            "w.arff:3:1: found \"\", expected @data, where the rows begin",
        ),
        ("@relation x\n@data\n1\n", "w.arff:2:1: found \"@data\", expected @attribute before it"),
        (
            "@relation x\n@attribute a complex\n@data\n",
            "w.arff:2:14: found \"complex\", expected a type: numeric, real, integer, string, date, \
             or values in braces",
        ),
        (
            "@relation x\n@attribute a {b, c\n@data\n",
            "w.arff:2:19: found \"\", expected a brace that closes the values",
        ),
        (
            "@relation x\n@attribute a real\n@attribute a real\n@data\n",
            "w.arff:3:12: found \"a\", expected a name that no attribute before it has",
        ),
        (
            "@relation x\nattribute a real\n@data\n",
            "w.arff:2:1: found \"attribute a real\", expected @attribute or @data at the beginning \
             of the line",
        ),
        (
            "@relation x\n@attribute\n@data\n",
            "w.arff:2:11: found \"\", expected the name of an attribute",
        ),
    ] {
        assert_eq!(refused(text, &labelled("a")), message, "{text}");
    }
}

#[test]
fn roles_come_from_declarations_and_wishes() {
    let format_settings = FormatSettings {
        text: vec!["note".to_owned()],
        categorical: vec!["1".to_owned()],
        ..labelled("y")
    };
    let mut opened = open("w.arff", with_head("1,sunny,'Hi hi',2\n"), &format_settings).unwrap();
    let roles: Vec<_> = opened.schema.columns().iter().map(|column| column.role).collect();
    assert_eq!(roles, [Role::Category, Role::Category, Role::Text, Role::Label]);
    assert_eq!(
        named(&mut opened.reader).0,
        [expect(2.0, &[("temp=1", 1.0), ("out look=sunny", 1.0), ("note:hi", 2.0)])]
    );
    let Schema::Arff(arff) = &opened.schema else { panic!() };
    assert_eq!(arff.kinds()[3], AttributeKind::Numeric);
    let notes = open("w.arff", HEAD, &labelled("y")).unwrap().notes;
    assert_eq!(
        notes,
        [
            "ARFF, 4 attributes",
            "attribute \"note\" is a string, taken for categories: text note takes its words for \
             features, drop note leaves it out"
        ]
    );
    assert_eq!(
        refused(HEAD, &FormatSettings::default()),
        "w.arff: which column is the label? Add label NAME, or label and a number from 1 on; \
         the columns are: temp, out look, note, y"
    );
    let dated = "@relation x\n@attribute d date 'yyyy-MM-dd'\n@attribute y real\n@data\n";
    let text = format!("{dated}'2000-01-01',3\n?,4\n");
    let mut opened = open("w.arff", text, &labelled("y")).unwrap();
    let parts = [("d·month=1", 1.0), ("d·weekday=saturday", 1.0)];
    assert_eq!(
        named(&mut opened.reader).0,
        [expect(3.0, &parts), expect(4.0, &[("d·missing", 1.0)])]
    );
    let format_settings = FormatSettings { drop: vec!["d".to_owned()], ..labelled("y") };
    let mut opened = open("w.arff", format!("{dated}'2020-01-01',3\n"), &format_settings).unwrap();
    assert_eq!(named(&mut opened.reader).0, [expect(3.0, &[])]);
    assert_eq!(
        refused(HEAD, &FormatSettings { header: Some(true), ..labelled("y") }),
        "w.arff: header means nothing for ARFF: its attributes have names already"
    );
}

#[test]
fn all_files_declare_the_same() {
    let first = with_head("1,sunny,a,1\n");
    let schema = open("1", &first, &labelled("y")).unwrap().schema;
    let read = |second: &str| {
        let mut source = reader(&[first.as_bytes(), second.as_bytes()], &schema, &NUMBERS);
        let (rows, error) = drain(&mut source);
        (rows.len(), error.map(|error| error.to_string()))
    };
    assert_eq!(read(&with_head("2,rainy,b,3\n").replace("% weather", "%")), (2, None));
    assert_eq!(
        read(&first.replace("sunny, ", "sunny, cold, ")),
        (
            1,
            Some(
                "2:5:12: found \"out look\", expected the attribute \"out look\" as declared \
                 before; all files must declare the same attributes"
                    .to_owned()
            )
        )
    );
    assert_eq!(
        read(&first.replace("@data", "@attribute z real\n@data")),
        (
            1,
            Some(
                "2:9:1: found \"@data\", expected 4 attributes before it, not 5; all files must \
                 declare the same attributes"
                    .to_owned()
            )
        )
    );
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    let broken = json.replace("\"kinds\":[\"numeric\",", "\"kinds\":[");
    let error = serde_json::from_str::<Schema>(&broken).unwrap_err().to_string();
    assert!(error.contains("as many kinds as columns, not 3 for 4"), "{error}");
}

#[test]
fn a_long_header_is_read() {
    let attributes: String = (0..40_000).map(|n| format!("@attribute a{n} numeric\n")).collect();
    let text = format!("@relation long\n{attributes}@data\n{{3 1, 39999 2}}\n");
    let mut opened = open("long", text, &labelled("a39999")).unwrap();
    assert_eq!(named(&mut opened.reader).0, [expect(2.0, &[("a3", 1.0)])]);
}

#[test]
fn electricity() {
    let Some(path) = real("stream/electricity.arff.zip") else { return };
    let reading = Reading { labels: LabelRule::Positive("UP".to_owned()), ..NUMBERS };
    let mut opened = open_files(&[path], &labelled("class"), &reading, &Follow::No).unwrap();
    let (_, error) = drain(&mut opened.reader);
    assert!(error.is_none(), "{}", error.unwrap());
    let census = opened.reader.census();
    assert_eq!((census.examples, census.nonzeros, census.features), (45_312, 361_437, 14));
    assert_eq!(census.label_sum.value(), 19_237.0 - 26_075.0);
    assert!(opened.reader.missing().iter().all(|&count| count == 0));
}

fn soup() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        6 => "[0-9]{1,3}(\\.[0-9]{1,3})?",
        3 => "sunny|rainy|'over cast'",
        2 => "'[a-z \\\\']{0,4}'|\"[a-z%]{0,3}\"",
        1 => "[?,%{}'\"\\\\a-z 0-9]{0,4}",
    ];
    let dense = ("[0-9]{1,2}|\\?", "sunny|rainy|'over cast'|\\?", value.clone(), "[0-9]{1,2}")
        .prop_map(|(a, b, c, d)| format!("{a},{b},{c},{d}"));
    let sparse = prop::collection::vec((0..5, value.clone()), 0..4).prop_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(n, value)| format!("{n} {value}")).collect();
        format!("{{{}}}", pairs.join(", "))
    });
    let random = prop::collection::vec(value, 0..6).prop_map(|values| values.join(","));
    let row = prop_oneof![8 => dense, 2 => sparse, 1 => random];
    prop::collection::vec(row, 0..6).prop_map(|rows| rows.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_bytes_do_harm(
        rows in soup(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut text = with_head(&rows).into_bytes();
        for (place, byte) in changes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        text.truncate(cut.index(text.len() + 1));
        check_survival("w.arff", &text, &labelled("y"), &NUMBERS);
    }

    #[test]
    fn a_cut_gives_an_error_or_a_prefix(rows in soup(), cut in any::<prop::sample::Index>()) {
        let text = with_head(&rows);
        let schema = open_inputs(vec![input("w", HEAD)], &labelled("y"), &NUMBERS).unwrap().schema;
        let (whole, _) = drain(&mut reader(&[text.as_bytes()], &schema, &NUMBERS));
        let cut = cut.index(text.len());
        let (found, _) = drain(&mut reader(&[&text.as_bytes()[..cut]], &schema, &NUMBERS));
        let sure = found.len().saturating_sub(1);
        prop_assert_eq!(&found[..sure], &whole[..sure]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pieces_and_threads_make_no_difference(rows in soup(), times in 1usize..2000) {
        let text = with_head(&(rows + "\n").repeat(times));
        let schema = open_inputs(vec![input("w", HEAD)], &labelled("y"), &NUMBERS).unwrap().schema;
        check_threads(text.as_bytes(), &schema, &Reading { labels: LabelRule::Any, ..NUMBERS });
    }
}
