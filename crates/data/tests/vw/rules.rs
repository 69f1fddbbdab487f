//! The rules of the format, one by one.

use crate::{NUMBERS, SIGNS, drain, named, refusal, row, rows, source, source_from};
use rueful_core::Batch;
use rueful_data::{
    Bits, DataError, Interactions, LabelRule, Limits, NamespaceRules, Reading, Schema, Source,
};
use std::io::{self, Read};

const FORM: &str = "a line is: label [importance] ['tag]|namespace name:value name …";

/// The error for a line after a good one.
fn broken(line: &str, reading: &Reading) -> String {
    let (before, error) = refusal(format!("1 | a\n{line}\n"), reading);
    assert_eq!(before, 1, "{error}");
    error
}

/// Checks the features of the only line, by name.
fn expect(line: &str, expected: &[(&str, f32)]) {
    let expected: Vec<_> = expected.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(named(line, &NUMBERS), [(1.0, expected)], "{line:?}");
}

#[test]
fn a_line_is_a_label_a_bar_and_features() {
    expect("1 | a b:2.5 c:-1e-1", &[("a", 1.0), ("b", 2.5), ("c", -0.1)]);
    expect("  1 |\ta\t\tb  ", &[("a", 1.0), ("b", 1.0)]);
    expect("1 |", &[]);
    expect("1 | ", &[]);
    expect("1 |space", &[]);
    assert_eq!(rows("-3.25e2 | 7:+1", &NUMBERS), [row(-325.0, &[(7, 1.0)])]);
}

#[test]
fn a_name_may_hold_anything_but_blanks_bars_and_colons() {
    expect("1 | naïve", &[("naïve", 1.0)]);
    expect("1 | a=b^c,'\"#%", &[("a=b^c,'\"#%", 1.0)]);
    expect("1 |sp'^ce -1.5:2", &[("sp'^ce^-1.5", 2.0)]);
    let mut source = source(b"1 | \xff\xfe\n", &NUMBERS);
    assert_eq!(drain(&mut source).0.len(), 1);
}

#[test]
fn namespaces_come_before_names() {
    expect("1 |user age:30 |item age:2", &[("item^age", 2.0), ("user^age", 30.0)]);
    expect("1 |a x| x |a y", &[("a^x", 1.0), ("a^y", 1.0), ("x", 1.0)]);
    expect("1 |a|b|c z", &[("c^z", 1.0)]);
    expect("1 ||| z", &[("z", 1.0)]);
}

#[test]
fn a_namespace_may_have_a_scale() {
    expect("1 |a:2 x:3 y |b x:3", &[("a^x", 6.0), ("a^y", 2.0), ("b^x", 3.0)]);
    expect("1 |a:-.5 x:3|a x", &[("a^x", -0.5)]);
    expect("1 |a:0 x:3 y", &[]);
    expect("1 |a:2", &[]);
    for scale in ["", "x", "nan", "inf", "1,5", "1:2", "-"] {
        assert_eq!(
            broken(&format!("1 |ns:{scale} x"), &NUMBERS),
            format!("data.vw:2:4: found \"ns:{scale}\", expected a finite number after \"ns:\"")
        );
    }
    assert_eq!(
        broken("1 |ns:1e39 x", &NUMBERS),
        "data.vw:2:4: found \"ns:1e39\", expected a number that fits in single precision (at most \
         3.4028235e38 in size)"
    );
    assert_eq!(
        broken("1 |:2 x", &NUMBERS),
        "data.vw:2:3: found \"|:2\", expected a namespace or a space after the |"
    );
}

#[test]
fn numbers_in_the_namespace_without_a_name_are_indices() {
    assert_eq!(
        rows("1 | 3:0.5 67108864 1:2", &NUMBERS),
        [row(1.0, &[(1, 2.0), (3, 0.5), (1 << 26, 1.0)])]
    );
    expect("1 |a 3:0.5", &[("a^3", 0.5)]);
    expect("1 | 0 007 67108865", &[("0", 1.0), ("007", 1.0), ("67108865", 1.0)]);
    let limits = Limits { max_index: 10, ..NUMBERS.limits };
    let reading = Reading { limits, ..NUMBERS };
    let mut source = source("1 | 10 11", &reading);
    drain(&mut source);
    assert_eq!((source.census().has(10), source.names().len()), (true, 1));
}

#[test]
fn the_same_feature_again_is_added() {
    expect("1 | a a:0.5 b |c a", &[("a", 1.5), ("b", 1.0), ("c^a", 1.0)]);
    expect("1 |c a |d |c a:-1 b", &[("c^b", 1.0)]);
    assert_eq!(rows("1 | 5:1 3:2 5:1", &NUMBERS), [row(1.0, &[(3, 2.0), (5, 2.0)])]);
    assert_eq!(
        broken("1 | a:3e38 b a:3e38", &NUMBERS),
        "data.vw:2:1: found \"1 | a:3e38 b a:3e38\", expected values that add up, for each \
         feature, to a number that fits in single precision (at most 3.4028235e38 in size)"
    );
}

#[test]
fn a_feature_without_a_name_is_called_by_its_place() {
    expect("1 | :0.5 a :0 :2 |b :3", &[(":1", 0.5), (":3", 2.0), ("a", 1.0), ("b^:1", 3.0)]);
}

#[test]
fn a_word_for_a_value_is_part_of_the_name() {
    expect("1 |place city:paris", &[("place^city^paris", 1.0)]);
    expect("1 |place:9 city:paris pop:2", &[("place^city^paris", 1.0), ("place^pop", 18.0)]);
    expect(
        "1 | url:http://x.org/ 12:a :b",
        &[("12^a", 1.0), ("^b", 1.0), ("url^http://x.org/", 1.0)],
    );
    assert_eq!(
        rows("1 |city paris\n1 | city:paris\n", &NUMBERS)[0],
        rows("1 |city paris\n1 | city:paris\n", &NUMBERS)[1],
    );
}

#[test]
fn zeros_are_absent() {
    expect("1 | a:0 b:-0 c:1e-60 d:1", &[("d", 1.0)]);
}

#[test]
fn values_that_are_not_finite_numbers_are_refused() {
    for value in ["nan", "NaN", "inf", "INFINITY", "0x10", "1,5", "-x", ".", "1.2.3", "12:30", ":"]
    {
        assert_eq!(
            broken(&format!("1 | ok a:{value} b"), &NUMBERS),
            format!("data.vw:2:8: found \"a:{value}\", expected a finite number after \"a:\"")
        );
    }
    for line in ["1 |n a: 5", "1 |n a:|m b", "1 |n a:"] {
        assert_eq!(
            broken(line, &NUMBERS),
            "data.vw:2:6: found \"a:\", expected a finite number after \"a:\""
        );
    }
    assert_eq!(
        broken("1 | 12:1e", &NUMBERS),
        "data.vw:2:5: found \"12:1e\", expected a finite number after \"12:\""
    );
}

#[test]
fn values_that_do_not_fit_are_refused() {
    const SIZE: &str = "a number that fits in single precision (at most 3.4028235e38 in size)";
    for name in ["a", "12", ""] {
        for value in ["1e39", "-1e39", "3.4028236e38", "1e400"] {
            assert_eq!(
                broken(&format!("1 | {name}:{value} b"), &NUMBERS),
                format!("data.vw:2:5: found \"{name}:{value}\", expected {SIZE}")
            );
        }
    }
    assert_eq!(
        broken("1 |n:-10 a:2e38", &NUMBERS),
        format!(
            "data.vw:2:10: found \"a:2e38\", expected {SIZE}; the namespace multiplies it by -10"
        )
    );
    expect("1 |n:0.1 a:3e38", &[("n^a", 3e38 * 0.1)]);
}

#[test]
fn tags_are_read_and_mean_nothing() {
    for line in [
        "1 'tag | a",
        "1 1 'tag| a",
        "1 tag| a",
        "1 '| a",
        "1 ' | a",
        "1 1 tag| a",
        "1 1 0 tag| a",
        "1 1 0 'tag | a",
        "1  '1  | a",
        "1 2.5| a",
        "1 a:b'c| a",
    ] {
        expect(line, &[("a", 1.0)]);
    }
}

#[test]
fn a_tag_is_not_an_importance() {
    for word in ["tag", "x:1", "1,5", "nan", "inf"] {
        assert_eq!(
            broken(&format!("1 {word} | a"), &NUMBERS),
            format!(
                "data.vw:2:3: found \"{word}\", expected an importance that is 0, or a number \
                 from 1e-30 to 1e30; a tag touches the | or begins with '"
            )
        );
    }
    for word in ["-1", "1.1e30", "-1e-9", "9e-31"] {
        assert_eq!(
            broken(&format!("1 {word} 'x | a"), &NUMBERS),
            format!(
                "data.vw:2:3: found \"{word}\", expected an importance that is 0, or a number \
                 from 1e-30 to 1e30"
            )
        );
    }
    assert_eq!(
        broken("1 1 0 5 'x | a", &NUMBERS),
        "data.vw:2:7: found \"5\", expected at most three numbers before the |: label, importance \
         and base; a tag touches the | or begins with '"
    );
    assert!(broken("1 1 0 5 6 7| a", &NUMBERS).starts_with("data.vw:2:7: found \"5\""));
}

#[test]
fn examples_count_as_much_as_is_said() {
    let mut source = source("1 | a\n1 2.5 |n a\n-1 0 |n a b\n-1 0.5 'x| b\n", &NUMBERS);
    let mut batch = Batch::default();
    assert!(source.fill(&mut batch).unwrap());
    let all: Vec<_> =
        batch.iter().map(|example| (example.label, example.importance.get())).collect();
    // The row of importance 0 leaves no trace.
    assert_eq!(all, [(1.0, 1.0), (1.0, 2.5), (-1.0, 0.5)]);
    assert!(broken("1 0 x | a", &NUMBERS).starts_with("data.vw:2:5"), "though it must be right");
}

#[test]
fn a_base_prediction_is_refused_unless_it_is_nothing() {
    expect("1 1 0.0 | a", &[("a", 1.0)]);
    for word in ["0.5", "-1", "x"] {
        assert_eq!(
            broken(&format!("1 1 {word} |n a"), &NUMBERS),
            format!(
                "data.vw:2:5: found \"{word}\", expected no base prediction, the third number, \
                 other than 0; the predictions that are certified are those of the learner alone"
            )
        );
    }
}

#[test]
fn a_line_without_a_label_is_refused_unless_rows_are_only_looked_at() {
    const HINT: &str =
        "Vowpal Wabbit only predicts where there is none; here every line is learned from";
    for (line, found) in [("|f a", "|f"), (" | a", "|"), ("'tag |f a", "'tag"), ("'t|f a", "'t")] {
        let error = broken(line, &SIGNS);
        assert!(error.contains(&format!("found \"{found}")), "{error}");
        assert!(error.ends_with(&format!("expected a label before the |; {HINT}")), "{error}");
    }
    assert_eq!(
        broken("1|f a", &SIGNS),
        "data.vw:2:1: found \"1|f\", expected a label before the |; what touches the | is a tag: \
         between a label and the | there is a space"
    );
    let looking = Reading { labels: LabelRule::Any, ..NUMBERS };
    let mut source = source("1 | 5\n| 6\n'tag | 7\nspam | 8\n", &looking);
    let (rows, error) = drain(&mut source);
    assert!(error.is_none());
    assert_eq!(rows[1], row(0.0, &[(6, 1.0)]));
    let labels = [("1", 1), ("(none)", 2), ("spam", 1)];
    assert_eq!(source.labels().counts, labels.map(|(label, count)| (label.to_owned(), count)));
}

#[test]
fn labels_must_suit_the_loss() {
    assert_eq!(
        broken("2 | a", &SIGNS),
        "data.vw:2:1: found \"2\", expected a label that is -1 or +1, or 0 or 1; of two other \
         labels, say which is +1 with positive LABEL; regression losses such as square take any \
         number"
    );
    for label in ["spam", "nan", "1:2", "1,2", "0x1"] {
        assert_eq!(
            broken(&format!("{label} | a"), &NUMBERS),
            format!(
                "data.vw:2:1: found \"{label}\", expected a label that is a finite number; {FORM}"
            )
        );
    }
    assert_eq!(
        broken("1:2:0.5 | a", &SIGNS),
        format!(
            "data.vw:2:1: found \"1:2:0.5\", expected a label that is -1 or +1, or 0 or 1; {FORM}"
        )
    );
    assert_eq!(
        broken("1e39 | a", &NUMBERS),
        "data.vw:2:1: found \"1e39\", expected a number that fits in single precision (at most \
         3.4028235e38 in size)"
    );
    assert_eq!(rows("0 |\n1 |\n", &SIGNS), [row(-1.0, &[]), row(1.0, &[])]);
    let positive = Reading { labels: LabelRule::Positive("spam".into()), ..SIGNS };
    assert_eq!(rows("spam |\nham 'x |\n", &positive), [row(1.0, &[]), row(-1.0, &[])]);
    let (before, error) = refusal("bacon |\nham |\neggs |\n", &positive);
    assert_eq!(before, 3);
    assert!(error.ends_with("expected one that is \"spam\", as positive says"), "{error}");
}

#[test]
fn a_tab_before_the_bar_is_refused() {
    expect("\t1 | a", &[("a", 1.0)]);
    for (line, column, found) in
        [("1\t|f a", 1, "1\\t"), ("id\t1 |f a", 1, "id\\t1 "), ("1 1\t|f", 3, "1\\t")]
    {
        assert_eq!(
            broken(line, &NUMBERS),
            format!(
                "data.vw:2:{column}: found \"{found}\", expected spaces and no tab before the first \
                 |; Vowpal Wabbit passes over what comes before a tab there"
            )
        );
    }
}

#[test]
fn a_line_has_a_bar() {
    for line in ["1", "1 a:2", "1 5:1 7:2"] {
        assert_eq!(
            broken(line, &NUMBERS),
            format!("data.vw:2:1: found \"{line}\", expected a | before the features; {FORM}")
        );
    }
}

#[test]
fn lines_end_in_either_way_or_not_at_all() {
    let both = [row(1.0, &[(1, 1.0)]), row(-1.0, &[(2, 12.0)])];
    for text in [
        "1 | 1:1\n-1 | 2:12\n",
        "1 | 1:1\n-1 | 2:12",
        "1 | 1\r\n-1 | 2:12\r\n",
        "1 | 1:1\r\n-1 | 2:12\r",
        "1 | 1 \r\n-1 | 2:12 ",
        "\u{feff}1 | 1:1\n-1 | 2:12\n",
        "\n\n1 | 1:1\n\r\n \t \n-1 | 2:12\n\n\n",
    ] {
        assert_eq!(rows(text, &SIGNS), both, "{text:?}");
    }
}

#[test]
fn a_carriage_return_within_a_line_is_refused() {
    for (line, column, found) in [
        ("1 |f a\r1 |f b", 7, "\\r1"),
        ("1 |f a:2\rb", 9, "\\rb"),
        ("1\r|f a", 2, "\\r"),
        ("1 |f\ra", 5, "\\ra"),
        ("1 |f:2\ra", 7, "\\ra"),
    ] {
        assert_eq!(
            broken(line, &NUMBERS),
            format!(
                "data.vw:2:{column}: found \"{found}\", expected no carriage return within a line"
            )
        );
    }
    assert!(broken("\r1 |f a", &NUMBERS).contains("carriage return"));
}

#[test]
fn the_constant_is_index_zero() {
    let reading = Reading { constant: true, ..NUMBERS };
    let expected = [row(2.0, &[(0, 1.0), (1, 5.0)]), row(3.0, &[(0, 1.0)])];
    assert_eq!(rows("2 | 1:5\n3 |\n", &reading), expected);
}

#[test]
fn fewer_bits_make_smaller_indices() {
    let text: String = (0..1000).map(|number| format!("1 | name{number}\n")).collect();
    let input = rueful_data::Input::new(
        "data.vw",
        io::Cursor::new(text.into_bytes()),
        &rueful_data::Follow::No,
    );
    let schema = Schema::Vw {
        bits: Bits::try_from(8).unwrap(),
        interactions: Interactions::default(),
        id: false,
        namespaces: NamespaceRules::default(),
    };
    let mut reader = rueful_data::Reader::new(vec![input.unwrap()], &schema, &NUMBERS);
    drain(&mut reader);
    assert!(reader.census().dimension <= 256);
    assert_eq!(reader.names().len(), 1000);
    assert!(reader.names().collisions() >= 745);
}

#[test]
fn a_broken_row_leaves_nothing_behind() {
    let mut reader = source("1 | 1:1\n1 | 2:1 3:1 4:1e39\n", &SIGNS);
    let (rows, _) = drain(&mut reader);
    assert_eq!(rows, [row(1.0, &[(1, 1.0)])]);
    assert_eq!((reader.census().nonzeros, reader.census().features), (1, 1));
}

#[test]
fn a_file_without_examples_is_an_error() {
    for text in ["", "\n", " \t\r\n\n", "\u{feff}"] {
        assert_eq!(
            refusal(text, &SIGNS),
            (0, "data.vw: expected examples, found none in the whole file".to_owned())
        );
    }
}

#[test]
fn an_endless_line_is_refused_before_it_fills_the_memory() {
    let endless = b"1 | 1:1\n1 |".chain(io::repeat(b'x'));
    let (rows, error) = drain(&mut source_from(endless, &NUMBERS));
    assert_eq!(rows.len(), 1);
    assert!(matches!(error, Some(DataError::LineTooLong { line: 2, limit: 16_777_216, .. })));
}

#[test]
fn binary_junk_does_not_reach_the_terminal() {
    let (_, error) = refusal(b"1 | a\n1 \x1b[2J\x00\xff |\x07\n", &NUMBERS);
    assert!(error.starts_with(r#"data.vw:2:3: found "\u{1b}[2J\0\xff", expected an importance"#));
}
