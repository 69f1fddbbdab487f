//! The rules of the format, one by one.

use crate::common::{NUMBERS, drain, expect, input, labelled, named, open, reader, row};
use rueful_data::{
    Column, FormatSettings, LabelRule, Reader, Reading, Role, Schema, Source, open_inputs,
};

/// The rows of a text without faults.
fn rows(text: &str, format_settings: &FormatSettings) -> Vec<crate::common::Named> {
    let mut opened = open("data.csv", text, format_settings).unwrap();
    let (rows, error) = named(&mut opened.reader);
    assert!(error.is_none(), "{}", error.unwrap());
    rows
}

/// The words in which a text is refused, and the number of rows before the fault.
fn refusal(text: &str, format_settings: &FormatSettings) -> (usize, String) {
    let mut opened = open("data.csv", text, format_settings).unwrap();
    let (rows, error) = drain(&mut opened.reader);
    (rows.len(), error.expect("an error").to_string())
}

fn y() -> FormatSettings {
    labelled("y")
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn numbers_are_features_and_words_are_categories() {
    assert_eq!(
        rows("age,job,y\n31,clerk,1\n-4.5e1,\"fire man\",2\n0, clerk ,3\n", &y()),
        [
            expect(1.0, &[("age", 31.0), ("job=clerk", 1.0)]),
            expect(2.0, &[("age", -45.0), ("job=fire man", 1.0)]),
            expect(3.0, &[("job=clerk", 1.0)]),
        ]
    );
}

#[test]
fn without_a_header_columns_have_numbers() {
    let mut opened = open("data.csv", "M,0.5,0.25,15\nF,1,2,7\n", &labelled("4")).unwrap();
    assert_eq!(
        named(&mut opened.reader).0,
        [
            expect(15.0, &[("1=M", 1.0), ("2", 0.5), ("3", 0.25)]),
            expect(7.0, &[("1=F", 1.0), ("2", 1.0), ("3", 2.0)]),
        ]
    );
    // Names that are numbers are the indices themselves.
    let text = "0.5,2,1\n";
    let mut opened = open("data.csv", text, &labelled("3")).unwrap();
    assert_eq!(drain(&mut opened.reader).0, [row(1.0, &[(1, 0.5), (2, 2.0)])]);
}

#[test]
fn missing_cells_are_counted_and_make_a_feature() {
    let text = "a,b,y\n1,x,1\n,?,2\nNA,N/A,3\nNaN,nan,4\nnull,NULL,5\nNone, ,6\n\"\",\"?\",7\n";
    let mut opened = open("data.csv", text, &y()).unwrap();
    let rows = named(&mut opened.reader).0;
    assert_eq!(rows[0], expect(1.0, &[("a", 1.0), ("b=x", 1.0)]));
    let missing = [("a·missing", 1.0), ("b·missing", 1.0)];
    for (row, label) in rows[1..].iter().zip(2_u8..) {
        assert_eq!(*row, expect(label.into(), &missing));
    }
    assert_eq!(rows.len(), 7);
    assert_eq!(opened.reader.missing(), [6, 6]);
}

#[test]
fn quotes_hold_separators_quotes_and_line_ends() {
    let text = "a,y\n\"x, \"\"y\"\"\nz\",1\r\n\"\"\"\",\"2\"\r\n\"1\" ,3\nb\"c\",4\n";
    assert_eq!(
        rows(text, &y()),
        [
            expect(1.0, &[("a=x, \"y\"\nz", 1.0)]),
            expect(2.0, &[("a=\"", 1.0)]),
            expect(3.0, &[("a=1", 1.0)]),
            expect(4.0, &[("a=b\"c\"", 1.0)]),
        ]
    );
    assert_eq!(
        refusal("a,y\nx,1\n\"x\"z,1\n", &y()),
        (
            1,
            "data.csv:3:4: found \"z,1\", expected the end of the cell after its closing quote; a \
             quote within quotes is written twice"
                .to_owned()
        )
    );
    assert_eq!(
        refusal("a,y\nx,1\n\"x,1\nz,2\n", &y()),
        (1, "data.csv:3:1: found \"\\\"x,1\", expected a quote that closes this one".to_owned())
    );
}

#[test]
fn tabs_know_no_quotes() {
    let format_settings = FormatSettings { text: list(&["2"]), ..labelled("1") };
    let text = "1\tI said \"no\n0\t\"Never, no\n";
    let mut opened = open("data.tsv", text, &format_settings).unwrap();
    assert_eq!(opened.schema.name(), "tsv");
    assert_eq!(
        named(&mut opened.reader).0,
        [
            expect(1.0, &[("2:i", 1.0), ("2:said", 1.0), ("2:no", 1.0)]),
            expect(0.0, &[("2:never", 1.0), ("2:no", 1.0)]),
        ]
    );
}

#[test]
fn words_are_counted() {
    let format_settings = FormatSettings { text: list(&["t"]), ..y() };
    assert_eq!(
        rows("t,y\n\"The cat, the hat; Ça\",1\n?!,2\nNA,3\n", &format_settings),
        [
            expect(1.0, &[("t:the", 2.0), ("t:cat", 1.0), ("t:hat", 1.0), ("t:ça", 1.0)]),
            expect(2.0, &[]),
            expect(3.0, &[("t:na", 1.0)]),
        ]
    );
}

#[test]
fn every_record_has_as_many_cells() {
    let text = "a,b,y\n1,2,3\n";
    for (line, cells) in [("1,2", 2), ("1,2,3,4", 4), ("1,2,3,", 4), ("1", 1), ("x,y", 2)] {
        assert_eq!(
            refusal(&format!("{text}{line}\n"), &y()),
            (1, format!("data.csv:3:1: found \"{line}\", expected 3 cells, not {cells}"))
        );
    }
    assert_eq!(rows("\n\na,y\n\n1,2\r\n\r\n\n3,4", &y()).len(), 2);
}

#[test]
fn a_word_among_numbers_is_refused() {
    let text = "a,my b,y\n".to_owned() + &"1,2,3\n".repeat(60_000);
    assert_eq!(
        refusal(&format!("{text}1,x,2\n"), &y()),
        (
            60_000,
            "data.csv:60002:3: found \"x\", expected a finite number in column \"my b\"; \
             categorical 'my b' takes its values as names, drop 'my b' leaves it out, an \
             empty cell is a missing value"
                .to_owned()
        )
    );
    let format_settings = FormatSettings { categorical: list(&["my b"]), ..y() };
    let rows = rows(&format!("{text}1,x,2\n"), &format_settings);
    assert_eq!(rows[60_000], expect(2.0, &[("a", 1.0), ("my b=x", 1.0)]));
    assert_eq!(rows[0], expect(3.0, &[("a", 1.0), ("my b=2", 1.0)]));
}

#[test]
fn one_bad_cell_does_not_make_names_of_numbers() {
    let text = "a,y\n".to_owned() + &"1.5,3\n".repeat(30) + "1.5O,3\n" + &"2,3\n".repeat(20_000);
    let (before, message) = refusal(&text, &y());
    assert_eq!(before, 30);
    assert!(message.starts_with("data.csv:32:1: found \"1.5O\", expected a finite"), "{message}");
    assert!(message.contains("categorical a takes its values as names"), "{message}");
    let names = FormatSettings { categorical: list(&["a"]), ..y() };
    assert_eq!(rows(&text, &names)[30], expect(3.0, &[("a=1.5O", 1.0)]));

    // Words in one cell of ten are not mistakes, unless a setting says that they are.
    let text = "a,y\n".to_owned() + &(("1,3\n".repeat(9) + "x,3\n").repeat(20));
    assert_eq!(rows(&text, &y())[9], expect(3.0, &[("a=x", 1.0)]));
    let numbers = FormatSettings { numeric: list(&["a"]), ..y() };
    assert!(refusal(&text, &numbers).1.starts_with("data.csv:11:1: found \"x\""));
}

#[test]
fn truths_are_one_and_zero() {
    for [yes, no] in [["true", "false"], ["True", "False"], ["TRUE", "FALSE"]] {
        let text = format!("a,y\n{yes},3\n{no},4\n,5\n{yes},6\n");
        let one = |label| expect(label, &[("a", 1.0)]);
        let missing = expect(5.0, &[("a·missing", 1.0)]);
        assert_eq!(rows(&text, &y()), [one(3.0), expect(4.0, &[]), missing, one(6.0)]);
    }
    let text = "a,y\ntrue,3\nmaybe,4\n";
    assert_eq!(rows(text, &y())[0], expect(3.0, &[("a=true", 1.0)]));
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    for cell in ["1e39", "-1e999", "\"1e39\""] {
        let shown = cell.trim_matches('"');
        let column = if shown == cell { 1 } else { 2 };
        assert_eq!(
            refusal(&format!("a,y\n1,1\n{cell},1\n"), &y()),
            (
                1,
                format!(
                    "data.csv:3:{column}: found \"{shown}\", expected a number that fits in single \
                     precision (at most 3.4028235e38 in size)"
                )
            )
        );
    }
    for cell in ["inf", "-Infinity"] {
        assert_eq!(
            refusal(&format!("a,y\n1,1\n{cell},1\n"), &y()),
            (
                1,
                format!(
                    "data.csv:3:1: found \"{cell}\", expected a finite number in column \"a\"; an \
                     infinite value cannot be learned from"
                )
            )
        );
    }
}

#[test]
fn labels_follow_their_rule() {
    assert_eq!(
        refusal("a,y\n1,1\n1,\n", &y()),
        (
            1,
            "data.csv:3:3: found \"\", expected a label in column \"y\"; a row without a label \
             teaches nothing"
                .to_owned()
        )
    );
    assert_eq!(
        refusal("a,y\n1,1\n1,up\n", &y()),
        (1, "data.csv:3:3: found \"up\", expected a label that is a finite number".to_owned())
    );
    assert_eq!(
        refusal("a,y\n1,1\n1,1e39\n", &y()),
        (
            1,
            "data.csv:3:3: found \"1e39\", expected a number that fits in single precision (at \
             most 3.4028235e38 in size)"
                .to_owned()
        )
    );
    let reading = Reading { labels: LabelRule::Positive("up".to_owned()), ..NUMBERS };
    let text = "a,y\n1,up\n2,\"down\"\n3,up\n4,flat\n";
    let mut opened = open_inputs(vec![input("data.csv", text)], &y(), &reading).unwrap();
    let (rows, error) = named(&mut opened.reader);
    let labels: Vec<f64> = rows.iter().map(|row| row.0).collect();
    assert_eq!(labels, [1.0, -1.0, 1.0, -1.0]);
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn the_constant_and_colliding_columns() {
    let schema = |bits: u8| {
        let format_settings = FormatSettings { bits: bits.try_into().unwrap(), ..y() };
        let text = (0..300).map(|n| format!("c{n},")).collect::<String>() + "y\n";
        let text = text + &"1,".repeat(300) + "2\n";
        (open("data.csv", &text, &format_settings).unwrap().schema, text)
    };
    // There are only 255 indices for 300 columns, so some columns share one and their values add
    // up.
    let (small, text) = schema(8);
    let reading = Reading { constant: true, ..NUMBERS };
    let mut source = reader(&[text.as_bytes()], &small, &reading);
    let (rows, _) = drain(&mut source);
    let values: Vec<f32> = rows[0].1.iter().map(|feature| f32::from_bits(feature.1)).collect();
    assert_eq!(values.iter().sum::<f32>(), 301.0);
    assert_eq!(rows[0].1[0], (0, 1f32.to_bits()));
    assert!(source.names().collisions() > 45);
    let (_, error) =
        drain(&mut reader(&[text.replace(",1", ",3e38").as_bytes()], &small, &reading));
    let error = error.unwrap().to_string();
    assert!(error.contains("features whose sum fits in single precision"), "{error}");
    let (large, _) = schema(22);
    assert_eq!(drain(&mut reader(&[text.as_bytes()], &large, &reading)).0[0].1.len(), 301);
}

#[test]
fn all_files_have_the_same_header() {
    let schema = open("1", "a,b,y\n1,2,3\n", &y()).unwrap().schema;
    let read = |second: &[u8]| {
        let (rows, error) = named(&mut reader(&[b"a,b,y\n1,2,3\n", second], &schema, &NUMBERS));
        (rows.len(), error.map(|error| error.to_string()))
    };
    assert_eq!(read(b"\xef\xbb\xbf\"a\",b,y\r\n4,5,6\n"), (2, None));
    let hint = "all files must begin with the same header";
    assert_eq!(
        read(b"a,c,y\n1,2,3\n"),
        (1, Some(format!("2:1:3: found \"c\", expected \"b\", the name of column 2; {hint}")))
    );
    assert_eq!(
        read(b"4,5,6\n"),
        (1, Some(format!("2:1:1: found \"4\", expected \"a\", the name of column 1; {hint}")))
    );
    assert_eq!(
        read(b"a,b,y,z\n4,5,6,7\n"),
        (1, Some(format!("2:1:1: found \"a,b,y,z\", expected 3 cells, not 4; {hint}")))
    );
    let empty = "2: expected examples, found none in the whole file";
    assert_eq!(read(b"a,b,y\n"), (1, Some(empty.to_owned())));
    assert_eq!(read(b""), (1, Some(empty.to_owned())));
}

#[test]
fn columns_are_dropped() {
    let format_settings = FormatSettings { drop: list(&["a", "3"]), ..y() };
    let text = "a,b,c,y\nx,1,\"p,\nq\",1\n,2,,2\n";
    assert_eq!(
        rows(text, &format_settings),
        [expect(1.0, &[("b", 1.0)]), expect(2.0, &[("b", 2.0)])]
    );
}

#[test]
fn a_schema_is_written_and_read() {
    let format_settings = FormatSettings { text: list(&["t"]), drop: list(&["id"]), ..y() };
    let text = "id;t;n;c;y\n1;a b;2;x;1\n2;c d;3;y;0\n";
    let schema = open("data.csv", text, &format_settings).unwrap().schema;
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(
        json,
        r#"{"format":"csv","separator":"semicolon","quotes":true,"header":true,"bits":22,"columns":{"list":[{"name":"id","role":"drop"},{"name":"t","role":"text"},{"name":"n","role":"number"},{"name":"c","role":"category"},{"name":"y","role":"label"}],"expansion":{"missing":true}}}"#
    );
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    assert_eq!(schema.name(), "csv");
    assert_eq!(schema.columns()[2], Column { name: "n".to_owned(), role: Role::Number });
    let refused = |from: &str, to: &str| {
        serde_json::from_str::<Schema>(&json.replace(from, to)).unwrap_err().to_string()
    };
    assert!(refused("label", "drop").contains("one column with the role of the label, not 0"));
    assert!(
        refused("\"n\"", "\"t\"").contains("columns with different names, not two named \"t\"")
    );
    assert!(refused("\"bits\":22", "\"bits\":50").contains("50 is not a number from 8 to 26"));
    assert!(refused("\"quotes\"", "\"quote\"").contains("unknown field `quote`"));
    let mut again = Reader::new(vec![input("data.csv", text)], &schema, &NUMBERS);
    assert_eq!(drain(&mut again).0.len(), 2);
}

#[test]
fn a_record_can_be_too_long() {
    let mut reading = NUMBERS;
    reading.limits.max_line_bytes = 20;
    let schema = open("data.csv", "a,y\n1,2\n", &y()).unwrap().schema;
    for text in ["a,y\n1,2\n1234567890123456789012,3\n", "a,y\n1,2\n\"12345678901234\n567890\",3\n"]
    {
        let (rows, error) = drain(&mut reader(&[text.as_bytes()], &schema, &reading));
        assert_eq!(rows.len(), 1);
        assert_eq!(
            error.unwrap().to_string(),
            "1:3: found a line of more than 20 bytes, expected at most that many"
        );
    }
}
