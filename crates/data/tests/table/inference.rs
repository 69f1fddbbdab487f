//! Facts that are inferred from the beginning of a table, and the notes about them.

use crate::common::{drain, labelled, named, open};
use rueful_data::{DataError, FormatSettings, Role, Schema, Separator, Source, Table};

fn table(name: &str, text: &str, format_settings: &FormatSettings) -> (Table, Vec<String>) {
    let opened = open(name, text, format_settings).unwrap();
    let Schema::Csv(table) = opened.schema else { panic!("{:?}", opened.schema) };
    (table, opened.notes.iter().map(ToString::to_string).collect())
}

fn error(text: &str, format_settings: &FormatSettings) -> String {
    open("data.csv", text, format_settings).map(|_| ()).unwrap_err().to_string()
}

fn header(text: &str, label: &str) -> bool {
    table("data.csv", text, &labelled(label)).0.header
}

#[test]
fn separators_are_recognised() {
    for (text, separator) in [
        ("a,b\n1,2\n", Separator::Comma),
        ("a;b\n1,5;2\n", Separator::Semicolon),
        ("a\tb\nx, y; z\t2\n", Separator::Tab),
        ("a|b\n1|2\n", Separator::Bar),
        ("a b,c\n\"1;2;3\",2\n", Separator::Comma),
    ] {
        assert_eq!(table("data.csv", text, &labelled("1")).0.separator, separator, "{text:?}");
    }
    let format_settings = FormatSettings { format: Some("csv".to_owned()), ..labelled("2") };
    assert_eq!(table("data", "a|b\n1|2\n", &format_settings).0.separator, Separator::Bar);
    assert_eq!(table("data", "1\t2\n3\t4\n", &labelled("2")).0.separator, Separator::Tab);
}

#[test]
fn headers_are_recognised() {
    // There is a word above numbers.
    assert!(header("age,job\n31,clerk\n", "1"));
    assert!(header("0,1,target\n0.5,1,0\n", "target"));
    assert!(header("0,1,target\n0.5,1,0\n", "3"));
    assert!(header(",x\n0,1.5\n1,2.5\n", "x"));
    // There are numbers above numbers, and words above words.
    assert!(!header("1,2\n3,4\n", "1"));
    assert!(!header("M,0.5\nF,0.25\n", "2"));
    assert!(!header("0.5,word\n2,1\n3,2\n", "1"));
    // There are words everywhere. Names occur once, and values occur again.
    assert!(header("class,color\nyes,red\nno,red\nyes,blue\n", "1"));
    assert!(!header("yes,red\nno,red\nyes,blue\n", "1"));
    assert!(!header("ham,one\nspam,two\n", "1"));
    // A setting that names a column says that there are names.
    assert!(header("ham,one\nspam,two\n", "ham"));
    assert!(header("2019,2020\n3,4\n", "2020"));
    // The setting `header` decides.
    let format_settings = FormatSettings { header: Some(false), ..labelled("1") };
    assert!(!table("data.csv", "age,job\n31,clerk\n", &format_settings).0.header);
    let format_settings = FormatSettings { header: Some(true), ..labelled("1") };
    assert!(table("data.csv", "1,2\n3,4\n", &format_settings).0.header);
}

#[test]
fn what_is_inferred_is_said() {
    let text = "age,id,note,y\n".to_owned()
        + &(0..30).map(|n| format!("{n},u{n},some words in a row,1\n")).collect::<String>();
    let (table, notes) = table("data.csv", &text, &labelled("y"));
    let roles: Vec<_> = table.columns.iter().map(|column| column.role).collect();
    assert_eq!(roles, [Role::Number, Role::Category, Role::Category, Role::Label]);
    assert_eq!(table.columns.label(), "y");
    assert_eq!(
        notes,
        [
            "comma-separated text, 4 columns, named by the first line (no-header: it is a row)",
            "column \"id\" has a new value in almost every row, like an identifier or free text: \
             drop id or text id",
            "column \"note\" looks like running text: text note takes its words for features",
        ]
    );
}

#[test]
fn odd_columns_are_mentioned() {
    let rows = (0..30).map(|n| format!("{n};0,5;;{};{n}\n", if n % 7 == 0 { "x" } else { "1" }));
    let text = format!(";d;e;m;y\n{}", rows.collect::<String>());
    let (_, notes) = table("data.csv", &text, &labelled("y"));
    assert_eq!(
        notes[1..],
        [
            "column 1 has no name, as row numbers have: drop 1 leaves it out",
            "column \"d\" has decimal commas and is taken for categories: write points to have \
             numbers",
            "column \"e\" has no value in the first 30 rows: taken for numbers",
            "column \"m\" has numbers in most cells and is taken for categories because of \
             \"x\": numeric m takes it for numbers",
        ]
    );
    let (table, notes) = table("data.csv", "0,1,t\n5,6,7\n", &labelled("1"));
    assert_eq!(table.columns.label(), "1");
    assert_eq!(notes[1..], ["label 1 means column 2, which has that name"]);
}

#[test]
fn wishes_must_fit() {
    let text = "age,job,pay\n31,clerk,7\n";
    assert_eq!(
        error(text, &FormatSettings::default()),
        "data.csv: which column is the label? Add label NAME, or label and a number from 1 on; \
         the columns are: age, job, pay"
    );
    assert_eq!(
        error(text, &labelled("wage")),
        "data.csv: label names \"wage\", expected a column; the columns are: age, job, pay"
    );
    for number in ["0", "4", "-1"] {
        assert!(matches!(
            open("data.csv", text, &labelled(number)),
            Err(DataError::NoColumn { setting: "label", .. })
        ));
    }
    let both = FormatSettings {
        drop: vec!["1".to_owned()],
        text: vec!["age".to_owned()],
        ..labelled("3")
    };
    assert_eq!(error(text, &both), "drop and text both name column \"age\", expected one of them");
    let label = FormatSettings { drop: vec!["pay".to_owned()], ..labelled("3") };
    assert_eq!(
        error(text, &label),
        "label and drop both name column \"pay\", expected one of them"
    );
    for header in [Some(true), None] {
        assert_eq!(
            error("a,b,a\n1,2,3\n", &FormatSettings { header, ..labelled("b") }),
            "data.csv: found columns 1, 3 named \"a\", expected different names in the header; \
             no-header takes the first line for a row"
        );
    }
    let unnamed = FormatSettings { unlabelled: true, ..FormatSettings::default() };
    assert!(error("a,b,a\n1,2,3\n", &unnamed).contains("named \"a\""));
    let columns: Vec<_> = (0..100).map(|n| format!("c{n}")).collect();
    let message = error(&(columns.join(",") + "\n"), &FormatSettings::default());
    assert!(message.ends_with(", 22, 23, … (76 more), 100"), "{message}");
}

#[test]
fn the_sample_does_not_bound_the_header() {
    let names: Vec<_> = (0..60_000).map(|n| format!("column{n}")).collect();
    let text = names.join(",") + "\n" + &"1,".repeat(59_999) + "2\n";
    let mut opened = open("data.csv", &text, &labelled("column59999")).unwrap();
    let (rows, error) = drain(&mut opened.reader);
    assert!(error.is_none());
    assert_eq!(f64::from_bits(rows[0].0), 2.0);
    assert!(opened.reader.names().len() > 59_000);
    let (rows, _) = named(&mut open("data.csv", "a,y\n1,2", &labelled("y")).unwrap().reader);
    assert_eq!(rows.len(), 1);
}

#[test]
fn a_first_row_beyond_the_sample_is_waited_for() {
    let long = "line of words\n".repeat(40_000);
    let text = format!("t,y\n\"{long}\",1\n\"{long}\",2\n");
    let mut opened = open("data.csv", &text, &labelled("y")).unwrap();
    assert_eq!(opened.schema.columns()[0].role, Role::Category);
    let (rows, error) = drain(&mut opened.reader);
    assert!(error.is_none(), "{}", error.unwrap());
    assert_eq!(rows.len(), 2);
}

#[test]
fn there_is_a_limit_to_columns() {
    let text = ",".repeat(1 << 20) + "\n";
    assert_eq!(
        error(&text, &labelled("1")),
        "data.csv: found more than 1048576 columns, expected at most that many"
    );
}
