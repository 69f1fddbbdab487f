//! The rules of the format, one by one.

use crate::{NUMBERS, SIGNS, drain, read_from, refusal, row, rows, source};
use rueful_core::Batch;
use rueful_data::{DataError, Follow, LabelRule, Limits, Reader, Reading, Schema, Source, survey};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

const NO_SIGN: &str = "expected a label that is -1 or +1, or 0 or 1; of two other labels, say \
                       which is +1 with positive LABEL; regression losses such as square take \
                       any number";

/// The error for a line after a good one.
fn broken(line: &str, reading: &Reading) -> String {
    let (before, error) = refusal(format!("1 1:1\n{line}\n"), reading);
    assert_eq!(before, 1, "{error}");
    error
}

#[test]
fn a_line_is_a_label_and_features() {
    assert_eq!(
        rows("+1 1:0.5 3:-2e-1\n-1\t2:.25   4:1.\t\n", &SIGNS),
        [row(1.0, &[(1, 0.5), (3, -0.2)]), row(-1.0, &[(2, 0.25), (4, 1.0)])]
    );
    assert_eq!(rows("  -3.25e2 67108864:+1", &NUMBERS), [row(-325.0, &[(1 << 26, 1.0)])]);
    assert_eq!(rows("1 007:1", &NUMBERS), [row(1.0, &[(7, 1.0)])]);
}

#[test]
fn a_label_alone_is_a_row() {
    assert_eq!(
        rows("1\n-1 \n1 # nothing\n", &SIGNS),
        [row(1.0, &[]), row(-1.0, &[]), row(1.0, &[])]
    );
}

#[test]
fn comments_and_lines_without_a_row_are_passed_over() {
    let text = b"# a header: 1:2\n\n  \t\n1 1:1 # 1:1 nan \xff\n \t# more\n-1 1:2# close\r\n\n";
    assert_eq!(rows(text, &SIGNS), [row(1.0, &[(1, 1.0)]), row(-1.0, &[(1, 2.0)])]);
    assert_eq!(rows("-1#\n", &SIGNS), [row(-1.0, &[])]);
}

#[test]
fn lines_end_in_either_way_or_not_at_all() {
    let both = [row(1.0, &[(1, 1.0)]), row(-1.0, &[(2, 12.0)])];
    for text in [
        "1 1:1\n-1 2:12\n",
        "1 1:1\n-1 2:12",
        "1 1:1\r\n-1 2:12\r\n",
        "1 1:1\r\n-1 2:12\r",
        "1 1:1 \r\n-1 2:12 ",
        "\u{feff}1 1:1\n-1 2:12\n",
        "\u{feff}\r\n1 1:1\n-1 2:12\n",
    ] {
        assert_eq!(rows(text, &SIGNS), both, "{text:?}");
    }
}

#[test]
fn a_carriage_return_within_a_line_separates_nothing() {
    assert_eq!(
        broken("1 1:2\r-1 1:3", &SIGNS),
        r#"data.txt:2:3: found "1:2\r-1", expected a finite number after "1:""#
    );
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    assert_eq!(
        broken("\u{feff}1 1:1", &SIGNS),
        format!("data.txt:2:1: found \"\\u{{feff}}1\", {NO_SIGN}")
    );
}

#[test]
fn the_constant_comes_first() {
    let reading = Reading { constant: true, ..NUMBERS };
    let expected = [row(2.0, &[(0, 1.0), (1, 5.0)]), row(3.0, &[(0, 1.0)])];
    assert_eq!(rows("2 1:5\n3\n", &reading), expected);
}

#[test]
fn explicit_zeros_are_absent_and_keep_their_place_in_the_order() {
    assert_eq!(rows("1 1:0 2:-0 3:1e-60 4:1 9:0\n", &NUMBERS), [row(1.0, &[(4, 1.0)])]);
    assert_eq!(
        broken("1 5:0 5:1", &NUMBERS),
        "data.txt:2:7: found \"5:1\", expected an index above 5; index 5 is repeated: each may be \
         given once on a line"
    );
    assert_eq!(
        broken("1 5:0 4:1", &NUMBERS),
        "data.txt:2:7: found \"4:1\", expected an index above 5; index 4 follows index 5: they \
         must increase along a line"
    );
}

#[test]
fn values_that_are_not_finite_numbers_are_refused() {
    for value in ["nan", "NaN", "-nan", "inf", "+inf", "-inf", "Infinity", "0x10", "abc", "1,5"] {
        assert_eq!(
            broken(&format!("1 1:1 3:{value} 4:1"), &NUMBERS),
            format!("data.txt:2:7: found \"3:{value}\", expected a finite number after \"3:\"")
        );
    }
    for value in ["", "-", "+", ".", "1e", "1e+", "--1", "1.2.3", "1:2", ":", "1_0", "1f"] {
        assert_eq!(
            broken(&format!("1 3:{value}"), &NUMBERS),
            format!("data.txt:2:3: found \"3:{value}\", expected a finite number after \"3:\"")
        );
    }
    assert_eq!(
        broken("1 3: 4", &NUMBERS),
        "data.txt:2:3: found \"3:\", expected a finite number after \"3:\""
    );
}

#[test]
fn values_that_do_not_fit_are_refused() {
    for value in ["1e39", "-1e39", "3.4028236e38", "1e400"] {
        assert_eq!(
            broken(&format!("1 3:{value}"), &NUMBERS),
            format!(
                "data.txt:2:3: found \"3:{value}\", expected a number that fits in single \
                 precision (at most 3.4028235e38 in size)"
            )
        );
    }
    assert_eq!(rows("1 1:3.4028235e38 2:1e-400", &NUMBERS), [row(1.0, &[(1, f32::MAX)])]);
}

#[test]
fn values_are_rounded_once() {
    // The number is just above the middle of two singles. The nearest double is the middle itself.
    let above = f32::from_bits(1.0_f32.to_bits() + 1);
    assert_eq!(
        rows("1 1:1.00000005960464477540 2:1.0000000596046448 3:0.1 4:16777217", &NUMBERS),
        [row(1.0, &[(1, above), (2, above), (3, 0.1), (4, 16_777_216.0)])]
    );
}

#[test]
fn indices_start_at_one_and_end_at_the_limit() {
    assert_eq!(
        broken("1 0:1", &NUMBERS),
        "data.txt:2:3: found \"0:1\", expected an index of at least 1; LIBSVM indices start at 1"
    );
    assert_eq!(
        broken("1 1:1 67108865:1", &NUMBERS),
        "data.txt:2:7: found \"67108865:1\", expected an index of at most 67108864, the limit"
    );
    assert_eq!(
        broken("1 123456789012345678901234567890123456789:1", &NUMBERS),
        "data.txt:2:3: found \"123456789012345678901234567890123456789:…\", expected an index of \
         at most 67108864, the limit"
    );
    let wide = Limits { max_index: u32::MAX, ..NUMBERS.limits };
    let mut reader = source("1 4294967296:1", &Reading { limits: wide, ..NUMBERS });
    assert!(drain(&mut reader).1.unwrap().to_string().contains("at most 4294967295"));
}

#[test]
fn indices_increase() {
    assert_eq!(
        broken("1 2:1 2:1", &NUMBERS),
        "data.txt:2:7: found \"2:1\", expected an index above 2; index 2 is repeated: each may be \
         given once on a line"
    );
    assert_eq!(
        broken("1 1:1 7:1 3:1", &NUMBERS),
        "data.txt:2:11: found \"3:1\", expected an index above 7; index 3 follows index 7: they \
         must increase along a line"
    );
}

#[test]
fn what_is_no_feature_is_refused() {
    for token in ["3", "abc", "-1:2", "+1:2", ":2", "x:1", "1.0:2", "3;1", "é:1"] {
        assert_eq!(
            broken(&format!("1 {token} 5:1"), &NUMBERS),
            format!(
                "data.txt:2:3: found \"{token}\", expected index:value, with an integer index of \
                 at least 1"
            )
        );
    }
    assert_eq!(
        broken("1 qid:3 1:1", &NUMBERS),
        "data.txt:2:3: found \"qid:3\", expected index:value, with an integer index of at least 1; \
         ranking data is not supported; without its qid a row is an ordinary example"
    );
}

#[test]
fn labels_must_suit_the_loss() {
    for label in ["2", "0.5", "-1.0000000001", "spam", "1,2"] {
        assert_eq!(
            broken(&format!("{label} 1:1"), &SIGNS),
            format!("data.txt:2:1: found \"{label}\", {NO_SIGN}")
        );
    }
    assert_eq!(
        broken("1:2 3:4", &SIGNS),
        "data.txt:2:1: found \"1:2\", expected a label that is -1 or +1, or 0 or 1; a line is: \
         label index:value index:value …"
    );
    assert_eq!(rows("+1\n1\n1.0\n10e-1\n-1\n", &SIGNS).len(), 5);
    for label in ["nan", "-inf", "spam", "1:2", "1,2", "0x1", "--1", "+"] {
        assert_eq!(
            broken(&format!("{label} 1:1"), &NUMBERS),
            format!(
                "data.txt:2:1: found \"{label}\", expected a label that is a finite number; a \
                 line is: label index:value index:value …"
            )
        );
    }
    for label in ["3.4028236e38", "-1e39", "1e999"] {
        assert_eq!(
            broken(&format!("{label} 1:1"), &NUMBERS),
            format!(
                "data.txt:2:1: found \"{label}\", expected a number that fits in single precision \
                 (at most 3.4028235e38 in size)"
            )
        );
    }
    assert_eq!(rows("0.1\n-3.4028234e38", &NUMBERS), [row(0.1, &[]), row(-3.4028234e38, &[])]);
}

#[test]
fn zero_and_one_are_signs_too_but_not_beside_minus_one() {
    assert_eq!(rows("0\n1\n0.0\n", &SIGNS), [row(-1.0, &[]), row(1.0, &[]), row(-1.0, &[])]);
    let (before, error) = refusal("1\n0\n1\n-1\n", &SIGNS);
    assert_eq!(before, 3);
    assert_eq!(
        error,
        "data.txt:4:1: found \"-1\", expected a label that is -1 or +1, or 0 or 1; -1 and 0 both \
         appear: say which label is +1, as in positive 1, if there are two labels; three are too \
         many"
    );
}

#[test]
fn any_labels_will_do_if_one_is_said_to_be_positive() {
    let positive = |label: &str| Reading { labels: LabelRule::Positive(label.into()), ..SIGNS };
    let signs = [row(1.0, &[]), row(-1.0, &[]), row(1.0, &[])];
    assert_eq!(rows("4\n2\n4.0\n", &positive("4")), signs);
    assert_eq!(rows("spam\nham\nspam\n", &positive("spam")), signs);
    let three = [row(1.0, &[]), row(-1.0, &[]), row(-1.0, &[(1, 2.0)])];
    assert_eq!(rows("spam\n\nham\neggs 1:2\n", &positive("spam")), three);
    let (before, error) = refusal("spam\nham\neggs 1:2\n", &positive("Spam"));
    assert_eq!(before, 3);
    assert_eq!(
        error,
        "data.txt: found the labels \"spam\", \"ham\", \"eggs\", expected one that is \"Spam\", \
         as positive says"
    );
    assert_eq!(rows("ham\nham\n", &positive("spam")).len(), 2);
}

#[test]
fn columns_count_bytes_from_the_start_of_the_line() {
    assert_eq!(
        broken("  é 1:1", &NUMBERS),
        "data.txt:2:3: found \"é\", expected a label that is a finite number; a line is: label \
         index:value index:value …"
    );
    assert!(broken("1\t\t 1:1   2:x", &NUMBERS).starts_with("data.txt:2:11: found \"2:x\""));
    assert!(refusal("\u{feff}1 1:x", &NUMBERS).1.starts_with("data.txt:1:3: found \"1:x\""));
}

#[test]
fn binary_junk_does_not_reach_the_terminal() {
    let (_, error) = refusal(b"1 1:1\n1 1:\x1b[2J\x00\xff\xfe\x07\n", &NUMBERS);
    assert_eq!(
        error,
        r#"data.txt:2:3: found "1:\u{1b}[2J\0\xff\xfe\u{7}", expected a finite number after "1:""#
    );
}

#[test]
fn the_first_and_the_last_line_may_be_the_broken_ones() {
    assert_eq!(
        refusal("1 1:x\n1 1:1\n", &SIGNS),
        (0, "data.txt:1:3: found \"1:x\", expected a finite number after \"1:\"".to_owned())
    );
    assert_eq!(
        refusal("1 1:1\n-1 2:2\n1 3:", &SIGNS),
        (2, "data.txt:3:3: found \"3:\", expected a finite number after \"3:\"".to_owned())
    );
}

#[test]
fn rows_before_an_error_are_delivered_first() {
    let mut reader = source(&b"1 1:1\n-1 2:2 3:3\nhello\n1 1:1\n"[..], &SIGNS);
    let mut batch = Batch::default();
    assert!(reader.fill(&mut batch).unwrap());
    assert_eq!((batch.len(), batch.nonzeros()), (2, 3));
    let error = reader.fill(&mut batch).unwrap_err();
    assert!(batch.is_empty());
    assert_eq!(error.to_string(), format!("data.txt:3:1: found \"hello\", {NO_SIGN}"));
    let DataError::Parse { file, line, column, found, .. } = error else { panic!("{error}") };
    assert_eq!((file.as_str(), line, column, found.as_str()), ("data.txt", 3, 1, "hello"));
    assert!(!reader.fill(&mut batch).unwrap());
}

#[test]
fn a_broken_row_leaves_nothing_behind() {
    let mut reader = source(&b"1 1:1\n1 2:1 3:1 4:x\n"[..], &SIGNS);
    let mut batch = Batch::default();
    assert!(reader.fill(&mut batch).unwrap());
    assert_eq!((batch.len(), batch.nonzeros()), (1, 1));
    assert_eq!((reader.census().nonzeros, reader.census().features), (1, 1));
}

#[test]
fn a_file_without_examples_is_an_error() {
    for text in ["", "\n", " \t\r\n\n", "# only\n# comments", "\u{feff}"] {
        let (before, error) = refusal(text, &SIGNS);
        assert_eq!(
            (before, error.as_str()),
            (0, "data.txt: expected examples, found none in the whole file")
        );
    }
}

#[test]
fn a_line_beyond_the_limit_is_refused() {
    let limits = Limits { max_line_bytes: 10, ..NUMBERS.limits };
    let reading = Reading { limits, ..NUMBERS };
    assert_eq!(rows("1 1:123456\r\n2 1:123456", &reading).len(), 2);
    for text in ["1 1:1\n1 1:1234567\n", "1 1:1\n1 1:1234567"] {
        assert_eq!(
            refusal(text, &reading),
            (
                1,
                "data.txt:2: found a line of more than 10 bytes, expected at most that many".into()
            )
        );
    }
}

#[test]
fn an_endless_line_is_refused_before_it_fills_the_memory() {
    let (rows, error) = read_from(b"1 1:1\n".chain(io::repeat(b'1')), &NUMBERS);
    assert_eq!(rows.len(), 1);
    assert!(matches!(error, Some(DataError::LineTooLong { line: 2, limit: 16_777_216, .. })));
}

#[test]
fn a_long_line_is_read_whole() {
    let features: String = (1..=300_000).map(|index| format!(" {index}:1")).collect();
    let rows = rows(format!("1{features}\n-1 1:1\n"), &NUMBERS);
    assert_eq!(rows.iter().map(|(_, features)| features.len()).collect::<Vec<_>>(), [300_000, 1]);
}

#[test]
fn the_census_counts_what_was_delivered() {
    let text = "1 1:1 5:2\n-1 5:1 70:0\n1\n";
    let mut reader = source(text.as_bytes(), &SIGNS);
    drain(&mut reader);
    let census = reader.census();
    assert_eq!((census.examples, census.nonzeros, census.features), (3, 3, 2));
    assert_eq!(census.dimension, 6);
    assert_eq!(reader.bytes_read(), text.len() as u64);

    let reading = Reading { constant: true, ..SIGNS };
    let mut reader = source(text, &reading);
    drain(&mut reader);
    let census = reader.census();
    assert_eq!((census.examples, census.nonzeros, census.features), (3, 6, 3));
}

#[test]
fn a_survey_knows_length_and_size() {
    let mut reader = source(&b"-7 1:3 2:-4\n2 1:1\n0\n"[..], &NUMBERS);
    let found = survey(&mut reader).unwrap();
    assert_eq!((found.examples, found.example_norm_max, found.label_abs_max), (3, 5.0, 7.0));
    let mut reader = source(&b"1 1:1\n1 1:x\n"[..], &NUMBERS);
    assert!(matches!(survey(&mut reader), Err(DataError::Parse { line: 2, .. })));
}

fn open(path: &Path) -> Result<Reader, DataError> {
    Reader::open(&[path.display().to_string()], &Schema::Libsvm {}, &SIGNS, &Follow::No)
}

#[test]
fn files_are_opened_by_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.txt");
    fs::write(&path, "1 1:1\n1 2:x\n").unwrap();
    let (rows, error) = drain(&mut open(&path).unwrap());
    assert_eq!(rows, [row(1.0, &[(1, 1.0)])]);
    let expected =
        format!("{}:2:3: found \"2:x\", expected a finite number after \"2:\"", path.display());
    assert_eq!(error.unwrap().to_string(), expected);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let refused = |path: &Path| open(path).unwrap_err().to_string();
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.txt");
    let error = refused(&missing);
    assert!(error.starts_with(&format!("cannot open {}: ", missing.display())), "{error}");
    // Some systems refuse to open a directory before its kind can be asked.
    let error = refused(folder.path());
    assert!(error.starts_with(&format!("cannot open {}: ", folder.path().display())), "{error}");
    #[cfg(unix)]
    assert!(error.ends_with(": it is a directory, not a file"), "{error}");
}

#[test]
fn an_input_that_fails_is_named_after_the_rows_before() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let (rows, error) = read_from(b"1 1:1\n-1 1:2".chain(Broken), &SIGNS);
    assert_eq!(rows.len(), 1);
    assert_eq!(error.unwrap().to_string(), "cannot read data.txt: the disk is gone");
}
