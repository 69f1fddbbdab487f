//! The targets: everything that rueful reads.
//!
//! A target is a name, good inputs, the tokens of its format, and a check.

use crate::columnar;
use crate::models;
use crate::packed::{gzip, is_packed, zip, zstd};
use crate::promises::{FILE, Known, Pieces, check_error, check_source, check_words, pattern};
use crate::random::Random;
use rueful_columnar::Format;
use rueful_core::Batch;
use rueful_data::{
    Bits, CacheWriter, Cached, Column, Columns, DataError, Delayed, Expansion, Follow,
    FormatSettings, Grams, Input, Interactions, KnownColumns, NamespaceRules, PredictionColumns,
    Predictions, Provenance, Purpose, Reader, Reading, Recognized, Role, Schema, Separator, Source,
    Table, TermScale, TextFiles, Waiting, open_inputs, recognize,
};
use rueful_spec_file::{Notation, parse, to_text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// A format or a file that is read.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Good inputs, and some that failed once.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// The tokens of the format.
    pub(crate) tokens: &'static [&'static str],
    /// The check, which panics where a promise is broken, and returns the kind of outcome.
    pub(crate) check: fn(&[u8]) -> String,
}

/// All targets.
pub(crate) const ALL: &[Target] = &[
    Target {
        name: "libsvm",
        seeds: || texts(&LIBSVM),
        tokens: &["1:", "2:1", " 3:0.5", "#", "qid:1", "+1 ", "-1 ", "65536:1", "65537:1", "0:1"],
        check: |bytes| check_schema(bytes, &Schema::Libsvm {}, Known::Lines),
    },
    Target {
        name: "vw",
        seeds: || texts(&VW),
        tokens: &[
            "|", " |f ", "|f:2 ", "a:", "a ", ":1", " 'tag", "tag|", "1 ", "^", "12:3", "a:b",
        ],
        check: |bytes| check_schema(bytes, &vw(&[]), Known::Lines),
    },
    Target {
        name: "interactions",
        seeds: || texts(&VW),
        tokens: &["|", " |f ", "|g:2 ", "| ", "a:", "a ", ":1", "1e30 ", "1 ", "12:3", "a:b"],
        check: |bytes| check_schema(bytes, &vw(&["fg", "f:", "::", " f:"]), Known::Lines),
    },
    Target {
        name: "namespaces",
        seeds: || texts(&VW),
        tokens: &[
            "|", " |f ", "|g:2 ", "|h ", "| ", "a:", "A ", ":1", "é ", "b ", "1 ", "12:3", "a:b",
        ],
        check: |bytes| check_schema(bytes, &vw_text(), Known::Lines),
    },
    Target {
        name: "csv",
        seeds: || texts(&CSV),
        tokens: TABLE,
        // A record with quotes may begin before the line that has the error.
        check: |bytes| check_schema(bytes, &table(Separator::Comma, true), Known::Format),
    },
    Target {
        name: "crosses",
        seeds: || texts(&CSV),
        tokens: TABLE,
        check: |bytes| check_schema(bytes, &crossed_table(), Known::Format),
    },
    Target {
        name: "curves",
        seeds: || texts(&CSV),
        tokens: TABLE,
        check: |bytes| check_schema(bytes, &curve_table(), Known::Format),
    },
    Target {
        name: "grams",
        seeds: || texts(&CSV),
        tokens: TABLE,
        check: |bytes| check_schema(bytes, &gram_table(), Known::Format),
    },
    Target {
        name: "tsv",
        seeds: || CSV.iter().map(|text| text.replace(',', "\t").into_bytes()).collect(),
        tokens: TABLE,
        check: |bytes| check_schema(bytes, &table(Separator::Tab, false), Known::Lines),
    },
    Target {
        name: "arff",
        seeds: || texts(&ARFF),
        tokens: &[
            "@data",
            "@attribute b real\n",
            "{",
            "}",
            "'",
            "%",
            "?",
            ",",
            "0 1,",
            "\\'",
            "red",
        ],
        // Without all of its declarations a file is read in another way.
        check: |bytes| check_schema(bytes, &schema_of(ARFF[0]), Known::Format),
    },
    Target {
        name: "jsonl",
        seeds: || texts(&JSONL),
        tokens: JSON,
        check: |bytes| check_schema(bytes, &schema_of(JSONL[0]), Known::Lines),
    },
    Target {
        name: "csv-roles",
        seeds: || texts(&ROLES_CSV),
        tokens: ROLES,
        check: |bytes| check_schema(bytes, &roles_table(), Known::Format),
    },
    Target {
        name: "csv-ids",
        seeds: || texts(&["y,i,b\n,1,u\n1,1,\n-1,2,v\n", "y,i,b\n,1,u\n,2,v\n1,2,\n"]),
        tokens: TABLE,
        check: |bytes| check_delayed(bytes, &ids_table()),
    },
    Target {
        name: "vw-ids",
        seeds: || texts(&["'a |f x\n1 'a |\n-1 'b |f y\n"]),
        tokens: &["|", " |f ", "x ", "'a ", "'b |f ", "1 'a |\n", "\n'a |f x\n", "1 ", "1 0 "],
        check: |bytes| check_delayed(bytes, &vw_tags()),
    },
    Target {
        name: "jsonl-roles",
        seeds: || texts(&ROLES_JSONL),
        tokens: ROLES,
        check: |bytes| check_schema(bytes, &roles_of(ROLES_JSONL[0]), Known::Lines),
    },
    Target {
        name: "arff-roles",
        seeds: || texts(&ROLES_ARFF),
        tokens: ROLES,
        check: |bytes| check_schema(bytes, &roles_of(ROLES_ARFF[0]), Known::Format),
    },
    Target {
        name: "csv-dates",
        seeds: || texts(&DATES_CSV),
        tokens: DATES,
        check: |bytes| check_schema(bytes, &schema_of(DATES_CSV[0]), Known::Format),
    },
    Target {
        name: "jsonl-dates",
        seeds: || texts(&DATES_JSONL),
        tokens: DATES,
        check: |bytes| check_schema(bytes, &schema_of(DATES_JSONL[0]), Known::Lines),
    },
    Target {
        name: "fitted",
        seeds: || texts(&[&CSV[..], &ARFF, &JSONL, &OTHERS, &FITTED].concat()),
        tokens: TABLE,
        check: check_fitted,
    },
    Target {
        name: "unknown",
        seeds: || texts(&[&LIBSVM[..], &VW, &CSV, &ARFF, &JSONL, &OTHERS].concat()),
        tokens: TABLE,
        check: check_unknown,
    },
    Target {
        name: "gzip",
        seeds: || LIBSVM.iter().map(|text| gzip(text.as_bytes())).collect(),
        tokens: &["\u{1f}\u{8b}"],
        check: |bytes| check_schema(bytes, &Schema::Libsvm {}, Known::Lines),
    },
    Target {
        name: "zstd",
        seeds: || LIBSVM.iter().map(|text| zstd(text.as_bytes())).collect(),
        tokens: &[],
        check: |bytes| check_schema(bytes, &Schema::Libsvm {}, Known::Lines),
    },
    Target {
        name: "zip",
        seeds: || LIBSVM.iter().flat_map(|text| [false, true].map(|is| zip(text, is))).collect(),
        tokens: &[
            "PK\u{3}\u{4}",
            "PK\u{1}\u{2}",
            "PK\u{5}\u{6}",
            "PK\u{7}\u{8}",
            "__MACOSX/",
            "a/",
        ],
        check: |bytes| check_schema(bytes, &Schema::Libsvm {}, Known::Lines),
    },
    Target { name: "model", seeds: models::seeds, tokens: &[], check: models::check },
    Target {
        name: "parquet",
        seeds: columnar::parquet_seeds,
        tokens: &["PAR1"],
        check: |bytes| columnar::check(bytes, Format::Parquet),
    },
    Target {
        name: "arrow",
        seeds: columnar::arrow_seeds,
        tokens: &["ARROW1"],
        check: |bytes| columnar::check(bytes, Format::Arrow),
    },
    Target {
        name: "cache",
        seeds: || LIBSVM.iter().map(|text| cache_of(text)).collect(),
        tokens: &[],
        // The bytes behind its checksums are seldom reached.
        check: |bytes| check_source(bytes, Known::Format, &open_cache),
    },
    Target {
        name: "predictions",
        seeds: || [texts(&PREDICTIONS), vec![long_name()]].concat(),
        tokens: &[",", "\"", "\"\"", "p", "p,q", "\t", ";", "\n0.5"],
        check: check_predictions,
    },
    Target {
        name: "spec",
        seeds: || specs(Notation::Json),
        tokens: JSON,
        check: |bytes| check_spec(bytes, Notation::Json),
    },
    Target {
        name: "spec-toml",
        seeds: || specs(Notation::Toml),
        tokens: TOML,
        check: |bytes| check_spec(bytes, Notation::Toml),
    },
    Target { name: "schema", seeds: || texts(&SCHEMAS), tokens: JSON, check: check_json::<Schema> },
];

const LIBSVM: [&str; 4] = [
    "+1 1:0.5 3:-2e-1\n-1\t2:.25   4:1.\t\n",
    "1 1:1\n-1 2:12 # a comment\n\n1\n",
    "0 1:1 2:0 5:3.4e38\r\n1 7:1\r\n",
    "2.5 1:1 65536:1\n-3e2 9:1e-40",
];

const VW: [&str; 5] = [
    "1 | a b:2 c:0.5\n-1 |f 12:0.25 13:1\n",
    "0.5 1 PFF/2009|T PFF |f t1:-0.02 r5:0.7\n0.25 1 'tag |T x\n",
    "1 |n:2 city:paris a|m :1 :2\n\n-1 | 1:1 2:0.5 65536:2 65537:1\n",
    "0 1 0 |a\r\n1 |b a a:2 |b a\r\n",
    "spam |text hello world\nham |text bye\n",
];

const CSV: [&str; 7] = [
    "\n\"",
    "\n@",
    "y,,b,\r\r\n1,,,2\",\"",
    "y,a,b,c,d\n1,0.5,red,some words,x\n-1,2,blue,\"more, words\",\n",
    "y,a,b,c,d\r\n1,,NA,\"two\nlines\",?\r\n0,1e-3,\"a \"\"b\"\"\",,\r\n",
    "y,a,b,c,d\n1,1,1,1,1\n\n1,2,2,2,2",
    "\u{feff}y,a,b,c,d\n2.5,-1e3,é,Ärger im Büro,0\n",
];

const ARFF: [&str; 3] = [
    "@relation r\n@attribute y {-1,1}\n@attribute a numeric\n@attribute 'b c' {red,'dark blue'}\n\
     @data\n1,0.5,red\n-1,?,'dark blue'\n",
    "% why\n@RELATION r\n\n@ATTRIBUTE y {-1, 1}\n@ATTRIBUTE a NUMERIC\n\
     @ATTRIBUTE 'b c' {red, 'dark blue'}\n@DATA\n{0 1, 1 2.5}\r\n{0 -1, 2 'dark blue'}\n",
    "\n@data\r",
];

const JSONL: [&str; 3] = [
    "{\"y\": 1, \"a\": 0.5, \"b\": \"red\"}\n{\"y\": -1, \"a\": null, \"b\": \"blue\"}\n",
    "{\"a\": {\"c\": [1, 2.5e-3], \"d\": true}, \"y\": \"1\"}\r\n\n{\"y\": 0}\n",
    "{\"y\":2.5,\"\\u00e9\\n\":\"a \\\"b\\\"\"}",
];

/// Rows with importances and with the predictions of two models.
const ROLES_CSV: [&str; 3] = [
    "y,w,p,b,q\n1,2,0.5,red,-1\n-1,0,1e300,blue,0\n1,1e-30,-0,NA,4\n",
    "y,w,p,b,q\r\n1,1e30,1,\"two\nlines\",2\r\n0,0.0,0,,0\r\n",
    "y,w,p,b,q\n2.5,1e-31,1,a,1\n3,-0,2,b,2\n",
];

const ROLES_JSONL: [&str; 2] = [
    "{\"y\": 1, \"w\": 0.25, \"p\": 0.5, \"b\": \"red\", \"q\": -1}\n\
     {\"y\": -1, \"w\": 0, \"p\": 1, \"q\": \"2\"}\n",
    "{\"q\": 1, \"p\": null, \"w\": [1], \"y\": 0}\r\n{\"y\": 1, \"w\": true}\n",
];

const ROLES_ARFF: [&str; 2] = [
    "@relation r\n@attribute y {-1,1}\n@attribute w numeric\n@attribute p numeric\n\
     @attribute b {red,blue}\n@attribute q numeric\n@data\n1,2,0.5,red,-1\n-1,0,1,blue,0\n",
    "@relation r\n@attribute y {-1,1}\n@attribute w numeric\n@attribute p numeric\n\
     @attribute b {red,blue}\n@attribute q numeric\n@data\n{0 1, 1 2.5, 4 3}\n{0 -1, 2 7}\n",
];

const ROLES: &[&str] = &[
    ",",
    "0",
    "-0",
    "1e30",
    "1e31",
    "1e-30",
    "1e-31",
    "nan",
    "inf",
    "?",
    "\"w\": ",
    "\"p\": ",
    "null",
    "\n1,0,1,red,1\n",
    "\n{0 1, 1 1, 2 1}\n",
    "\n{\"y\": 1, \"w\": 0, \"p\": 1, \"q\": 1}\n",
];

const DATES_CSV: [&str; 2] = [
    "y,d,a\n1,2026-11-16,true\n0,2026-11-16 13:05:00.25,False\n1,,NA\n",
    "y,d,a\r1,1969/12/31T23:59:60+01:00,1\r0,0000-02-29 00:00Z,0\r",
];

const DATES_JSONL: [&str; 2] = [
    "{\"y\": 1, \"d\": \"2026-11-16\", \"a\": true}\n{\"y\": 0, \"d\": null, \"a\": 2}\n",
    "{\"y\": false, \"d\": \"1999-12-31 23:59-0130\"}\n{\"y\": true, \"d\": [\"12:30\", \"\"]}\n",
];

const DATES: &[&str] = &[
    "2000-02-29",
    "1900-02-29",
    " 24:00",
    "T00:00",
    ":60",
    ".5",
    ",5",
    "Z",
    "+01:00",
    "-2359",
    "9999-12-31",
    "0000-01-01",
    "12:30",
    "/",
    "NA",
    "true",
    "False",
    "\r",
    "\n1,2026-11-16,1\n",
    "\n{\"y\":1,\"d\":\"2026-11-16\"}\n",
];

/// Files with the columns of the table in another order, or without the label.
const FITTED: [&str; 4] = [
    "d,c,x,b,a,y\nq,some words,1,red,0.5,1\n,,2,NA,true,0\n",
    "a;c;b;d\n1;w w;blue;\n",
    "{\"a\": \"0.5\", \"b\": 3, \"c\": \"w\", \"x\": [1], \"y\": 1}\n{\"a\": \"NA\"}\n",
    "@relation r\n@attribute c string\n@attribute b {1,2}\n@attribute a real\n\
     @attribute y {0,1}\n@data\n'w',1,0.5,1\n{2 3, 3 1}\n",
];

/// Files that are none of the formats above.
const OTHERS: [&str; 7] = [
    "y;a\n1;0,5\n0;1\n",
    "ham\tSee you, then\nspam\tWIN NOW\n",
    "PAR1 and so on",
    "ARROW1 and so on",
    "%PDF-1.4",
    "just words\nand more\n",
    "1 2 3\n4 5 6\n",
];

const TABLE: &[&str] = &[
    ",",
    "\"",
    "\"\"",
    "\",\"",
    "\t",
    ";",
    "|",
    "NA",
    "?",
    "red",
    "some words",
    "y,a,b,c,d\n",
    "\n1,2,3,4,5\n",
    "@data\n",
    "@relation x\n",
    "@attribute y {0,1}\n",
    "{\"y\":1}\n",
    "{",
    "}",
    "[",
];

const PREDICTIONS: [&str; 4] =
    ["0.5\n-1e3\n2\n", "p\n0.5\n1\n", "day,p,\"q, \"\"r\"\"\"\n1,0.5,2\n2,1,-1\n", "p\tq\n1\t2\n"];

const SPECS: [&str; 3] = [
    r#"{"data":{"files":["a"],"schema":{"format":"libsvm"},"constant":true},
    "loss":{"name":"softmax"},"learner":{"name":"bank"},
    "comparators":{"name":"unit-free","radius":10.0}}"#,
    r#"{"data":{"files":["a"],"schema":{"format":"libsvm"},"constant":true},
    "loss":{"name":"square"},"sigma":0.1,
    "learner":{"name":"ogd","schedule":{"name":"inverse-sqrt","eta":0.5},
    "set":{"name":"ball","radius":1.0},"gradient_bound":null},"comparators":{"name":"whole-space"}}"#,
    r#"{"data":{"files":["b","-"],"schema":{"format":"jsonl","bits":9,
    "columns":[{"name":"y","role":"label"}]},"positive":"yes","constant":false,
    "class_weights":{"positive":2}},"loss":{"name":"quantile","tau":0.5},
    "learner":{"name":"erm","set":{"name":"box","rest":[-1,2]}},
    "comparators":{"name":"ball","radius":2}}"#,
];

const TOML: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "[data]\n",
    "[loss]",
    "=",
    " = ",
    ".",
    "\"",
    "'",
    "\"\"\"",
    "\'\'\'",
    "\n",
    "#",
    "{",
    "}",
    ",",
    "inf",
    "nan",
    "-1",
    "1e999",
    "0x10",
    "1_000",
    "1979-05-27",
    "\\u0000",
    "name = ",
    "\"ball\"",
    "eta = 1\n",
    "[spec]\n",
    "[[[[[[[[[[[[[[[[",
];

const SCHEMAS: [&str; 3] = [
    r#"{"format":"libsvm"}"#,
    r#"{"format":"vw","bits":22}"#,
    r#"{"format":"csv","separator":"comma","quotes":true,"header":false,"bits":8,
    "columns":[{"name":"y","role":"label"},{"name":"a","role":"number"}]}"#,
];

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "\"name\":",
    "\\u0000",
    "\\ud800",
    "1e999",
    "-1",
    "{}",
    "\"ball\"",
    "\"square\"",
    "\"eta\":1",
    "[[[[[[[[[[[[[[[[",
];

fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// A table with a name that does not fit in an error.
fn long_name() -> Vec<u8> {
    format!("{}\n1\nx\n", "p".repeat(2000)).into_bytes()
}

/// Vowpal Wabbit text with these interactions.
fn vw(interactions: &[&str]) -> Schema {
    let interactions: Vec<_> = interactions.iter().map(|&letters| letters.to_owned()).collect();
    let interactions = Interactions::try_from(interactions).expect("they are interactions");
    Schema::Vw { bits: few_bits(), interactions, namespaces: NamespaceRules::default(), id: false }
}

/// Vowpal Wabbit text whose tags are ids.
pub(crate) fn vw_tags() -> Schema {
    serde_json::from_str(r#"{"format":"vw","bits":8,"id":true}"#).expect("it is a schema")
}

/// Vowpal Wabbit text of whose words n-grams are made.
fn vw_text() -> Schema {
    let schema = r#"{"format":"vw","bits":8,"interactions":["fg"],"namespaces":{
        "ngram":["2","f3"],"skips":["1"],"ignore":"h","lowercase":true,"tf":"log"}}"#;
    serde_json::from_str(schema).expect("it is a schema")
}

/// The fewest bits, so that names collide.
fn few_bits() -> Bits {
    Bits::try_from(*Bits::RANGE.start()).unwrap_or_default()
}

/// A table whose columns are known.
fn table(separator: Separator, quotes: bool) -> Schema {
    let roles = [Role::Label, Role::Number, Role::Category, Role::Text, Role::Drop];
    let columns = ["y", "a", "b", "c", "d"].into_iter().zip(roles);
    let columns: Vec<_> =
        columns.map(|(name, role)| Column { name: name.to_owned(), role }).collect();
    let columns = Columns::try_from(columns).expect("their names differ, and one is the label");
    Schema::Csv(Table { separator, quotes, header: true, bits: few_bits(), columns })
}

/// The same table, with features from crosses and from missing cells.
fn crossed_table() -> Schema {
    let Schema::Csv(mut table) = table(Separator::Comma, true) else { unreachable!() };
    let crosses = [&["a", "b"][..], &["a", "a"], &["b", "c", "c"]];
    let named = |cross: &&[&str]| cross.iter().map(|&column| column.to_owned()).collect();
    let crosses = crosses.iter().map(named).collect();
    let expansion = Expansion { missing: true, crosses, ..Expansion::default() };
    table.columns = table.columns.expanded(expansion);
    Schema::Csv(table)
}

/// The same table, with curves of its numbers, which are crossed as well.
fn curve_table() -> Schema {
    let schema = r#"{"format":"csv","separator":"comma","quotes":true,"header":true,"bits":8,
        "columns":{"list":[{"name":"y","role":"label"},{"name":"a","role":"number"},
        {"name":"b","role":"category"},{"name":"c","role":"number"},{"name":"d","role":"drop"}],
        "expansion":{"missing":true,"crosses":[["a","b"],["a","c"]],"curves":[
        {"column":"a","shape":{"bins":[-1.5,0,1e30]}},
        {"column":"a","shape":{"waves":{"period":1e-20,"harmonics":3}}},
        {"column":"c","shape":{"spline":[-3e38,1,3e38]}}]}}}"#;
    serde_json::from_str(schema).expect("it is a schema")
}

/// The same table, with n-grams of its running text, which are crossed as well.
fn gram_table() -> Schema {
    let Schema::Csv(mut table) = table(Separator::Comma, true) else { unreachable!() };
    let crosses = vec![["b", "c"].map(str::to_owned).to_vec()];
    let grams = Grams::new(3, 2).expect("they are n-grams");
    let expansion = Expansion { crosses, grams, tf: TermScale::Log, ..Expansion::default() };
    table.columns = table.columns.expanded(expansion);
    Schema::Csv(table)
}

/// A table with all roles that are not features.
fn roles_table() -> Schema {
    let roles = [Role::Label, Role::Importance, Role::Prediction, Role::Category, Role::Prediction];
    let columns = ["y", "w", "p", "b", "q"].into_iter().zip(roles);
    let columns: Vec<_> =
        columns.map(|(name, role)| Column { name: name.to_owned(), role }).collect();
    let columns = Columns::try_from(columns).expect("their names differ, and one is the label");
    let separator = Separator::Comma;
    Schema::Csv(Table { separator, quotes: true, header: true, bits: few_bits(), columns })
}

/// The schema of a file like this one.
fn schema_of(text: &str) -> Schema {
    recognized(text, &FormatSettings { label: Some("y".to_owned()), ..FormatSettings::default() })
}

/// The schema of a file with a column of importances and two columns of predictions.
fn roles_of(text: &str) -> Schema {
    let format_settings = FormatSettings {
        label: Some("y".to_owned()),
        importance: Some("w".to_owned()),
        predictions: vec!["p".to_owned(), "q".to_owned()],
        ..FormatSettings::default()
    };
    recognized(text, &format_settings)
}

fn recognized(text: &str, format_settings: &FormatSettings) -> Schema {
    match recognize(FILE, text.as_bytes(), true, format_settings) {
        Ok(Recognized::Text { schema, .. }) => schema,
        other => panic!("not a file to begin with: {other:?}"),
    }
}

/// Checks a file whose format is known. A compressed file has its lines inside.
fn check_schema(bytes: &[u8], schema: &Schema, known: Known) -> String {
    let known = if is_packed(bytes) { Known::Format } else { known };
    check_source(bytes, known, &|input, reading| {
        Ok(Box::new(Reader::new(vec![input], schema, reading)))
    })
}

/// Checks a file whose rows have ids, joined with labels that come later.
fn check_delayed(bytes: &[u8], schema: &Schema) -> String {
    check_source(bytes, Known::Format, &|input, reading| {
        let rows = Box::new(Reader::new(vec![input], schema, reading));
        Ok(Box::new(Delayed::new(rows, FILE, Waiting::default(), 3)))
    })
}

/// A table with a column of ids.
fn ids_table() -> Schema {
    let roles = [Role::Label, Role::Id, Role::Category];
    let columns = ["y", "i", "b"].into_iter().zip(roles);
    let columns: Vec<_> =
        columns.map(|(name, role)| Column { name: name.to_owned(), role }).collect();
    let columns = Columns::try_from(columns).expect("their names differ, and one is the label");
    let separator = Separator::Comma;
    Schema::Csv(Table { separator, quotes: true, header: true, bits: few_bits(), columns })
}

/// The cache of LIBSVM text.
fn cache_of(text: &str) -> Vec<u8> {
    let schema = Schema::Libsvm {};
    let provenance = Provenance::look(&[], &schema, None, 1 << 16).expect("no file is looked at");
    let kept = Kept::default();
    let write = || {
        let input = Input::new(FILE, Cursor::new(text.as_bytes().to_vec()), &Follow::No)?;
        let reading = Reading { constant: false, ..Reading::new(provenance.label_rule()) };
        let mut reader = Reader::new(vec![input], &schema, &reading);
        let mut writer = CacheWriter::new(FILE, kept.clone(), &provenance)?;
        let mut batch = Batch::default();
        while reader.fill(&mut batch)? {
            writer.append(&batch, false)?;
        }
        writer.finish(reader.names(), reader.labels(), reader.missing())
    };
    write().expect("the text is all right");
    kept.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Bytes that are kept after they were written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn open_cache(mut input: Input, reading: &Reading) -> Result<Box<dyn Source>, DataError> {
    let mut bytes = Vec::new();
    let read = input.read_to_end(&mut bytes);
    read.map_err(|error| DataError::Read { file: FILE.to_owned(), error })?;
    Ok(Box::new(Cached::from_bytes(FILE, bytes, reading)?))
}

/// Checks a file of which nothing is known, and one of which only the label is known.
fn check_unknown(bytes: &[u8]) -> String {
    let mut kinds = String::new();
    for (label, unlabelled) in [(None, false), (None, true), (Some("y"), false), (Some("1"), false)]
    {
        let label = label.map(str::to_owned);
        let format_settings = FormatSettings { label, unlabelled, ..FormatSettings::default() };
        kinds += &check_source(bytes, Known::Nothing, &|input, reading| {
            let opened = open_inputs(vec![input], &format_settings, reading)?;
            opened.notes.iter().for_each(|note| check_words(&note.to_string()));
            let text = serde_json::to_string(&opened.schema).expect("a schema can be written");
            check_json::<Schema>(text.as_bytes());
            Ok(Box::new(opened.reader))
        });
    }
    kinds
}

/// Checks a file in which columns are found that are known by their names.
fn check_fitted(bytes: &[u8]) -> String {
    let own = table(Separator::Comma, true);
    let known = KnownColumns::of(&own);
    let mut kinds = String::new();
    for purpose in [Purpose::Learn, Purpose::Compare, Purpose::Predict] {
        kinds += &check_source(bytes, Known::Nothing, &|input, reading| {
            let fitted = TextFiles::fit_inputs(vec![input], Some(&own), known.as_ref(), purpose)?;
            Ok(Box::new(fitted.read(reading)))
        });
    }
    kinds
}

/// Checks predictions in all three ways of reading them.
fn check_predictions(bytes: &[u8]) -> String {
    let mut kinds = String::new();
    for columns in [
        PredictionColumns::Bare,
        PredictionColumns::All,
        PredictionColumns::Named(vec!["p".to_owned()]),
    ] {
        let whole = predictions(Cursor::new(bytes.to_vec()), &columns);
        let random = Random::new(bytes.len() as u64);
        let pieces = Pieces { rest: Cursor::new(bytes.to_vec()), random };
        assert_eq!(whole, predictions(pieces, &columns), "in pieces, {columns:?}");
        kinds += &format!("{:?} {}; ", whole.0.len().checked_ilog2(), pattern(&whole.1));
    }
    kinds
}

/// The rows of predictions, to the last bit, and the error.
fn predictions(
    reader: impl Read + Send + 'static,
    columns: &PredictionColumns,
) -> (Vec<Vec<u64>>, String) {
    let mut rows = Vec::new();
    let all = || {
        let mut predictions = Predictions::new(Input::new(FILE, reader, &Follow::No)?, columns)?;
        let mut row = Vec::new();
        while predictions.next_row(&mut row)? {
            assert!(row.iter().all(|number| number.is_finite()));
            rows.push(row.iter().map(|number| number.to_bits()).collect());
        }
        Ok(())
    };
    let error = all().err().map(|error| {
        check_error(&error);
        error.to_string()
    });
    (rows, error.unwrap_or_default())
}

/// The good descriptions in a notation.
fn specs(notation: Notation) -> Vec<Vec<u8>> {
    let written = |text: &&str| {
        let spec = parse(FILE, text, Notation::Json).expect("a good description");
        to_text(&spec, notation).expect("what was read can be written").into_bytes()
    };
    SPECS.iter().map(written).collect()
}

/// Checks a description of a run. A description that was read can be written and read again, and an
/// error in it is told in words.
fn check_spec(bytes: &[u8], notation: Notation) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "not text".to_owned() };
    match parse(FILE, text, notation) {
        Ok(spec) => {
            let text = to_text(&spec, notation).expect("what was read can be written");
            let again = parse(FILE, &text, notation);
            assert!(again.as_ref().is_ok_and(|again| *again == spec), "{text}: {again:?}");
            "read".to_owned()
        }
        Err(error) => {
            check_words(&error.to_string());
            pattern(&error.to_string())
        }
    }
}

/// Checks a schema in JSON. A schema that was read can be written and read again.
fn check_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) -> String {
    match serde_json::from_slice::<T>(bytes) {
        Ok(value) => {
            let text = serde_json::to_string(&value).expect("what was read can be written");
            let again = serde_json::from_str::<T>(&text);
            assert!(again.as_ref().is_ok_and(|again| *again == value), "{text}: {again:?}");
            "read".to_owned()
        }
        Err(error) => pattern(&error.to_string()),
    }
}
