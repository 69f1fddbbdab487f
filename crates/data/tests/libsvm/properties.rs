//! Properties that hold for random input.

use crate::common::{line_of, readings, whole_text};
use crate::{NUMBERS, Pieces, Row, drain, read_from, reference, row, rows, source};
use proptest::prelude::*;
use rueful_data::{DataError, Limits, Reading};
use std::fmt::Write;
use std::io::Cursor;

type Valid = (f64, Vec<(u32, f32)>);

fn valid_rows() -> impl Strategy<Value = Vec<Valid>> {
    let value = prop_oneof![
        (-1000i32..1000).prop_map(|n| n as f32 / 8.0),
        any::<f32>().prop_filter("finite", |value| value.is_finite()),
    ];
    let features = prop::collection::btree_map(1u32..=1 << 26, value, 0..8);
    let label = prop_oneof![Just(1.0), -1e6f64..1e6, (-9i32..9).prop_map(f64::from)];
    let row = (label, features).prop_map(|(label, map)| (label, map.into_iter().collect()));
    prop::collection::vec(row, 1..12)
}

/// Rows as text that holds every bit of them.
fn written(rows: &[Valid], line_end: &str) -> String {
    let mut text = String::new();
    for (label, features) in rows {
        write!(text, "{label}").unwrap();
        for (index, value) in features {
            write!(text, " {index}:{value}").unwrap();
        }
        text.push_str(line_end);
    }
    text
}

fn expected(rows: &[Valid]) -> Vec<Row> {
    let nonzero = |features: &[(u32, f32)]| -> Vec<(u32, f32)> {
        features.iter().copied().filter(|&(_, value)| value != 0.0).collect()
    };
    rows.iter().map(|(label, features)| row(*label, &nonzero(features))).collect()
}

/// Lines that are mostly right, with pieces in them that are sometimes right and sometimes not.
fn soup() -> impl Strategy<Value = String> {
    let number = "[+-]?[0-9]{1,3}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{1,2})?";
    let odd_number = prop_oneof!["[-+.eE0-9]{0,6}", "nan|inf|-inf|infinity|NaN|1e999|0x1f|1_0"];
    let value = prop_oneof![30 => number, 1 => odd_number];
    let index = prop_oneof![
        60 => (1u64..40).prop_map(|step| step.to_string()),
        1 => "0|00|-1|\\+1|1\\.0|",
        1 => "[0-9]{1,25}",
    ];
    let label = prop_oneof![20 => "[+-]?1", 4 => number, 1 => "[-+.eE0-9naif:]{0,5}"];
    let blank = prop_oneof![9 => Just(" "), 1 => Just("\t"), 1 => Just("  ")];
    let extra = prop_oneof![
        40 => "",
        3 => " ?#[ -~é]{0,5}",
        1 => "[-+.:#0-9a-z \t\r\u{b}\u{a0}]{0,5}",
    ];
    let feature = (blank, index, value);
    let line = (label, prop::collection::vec(feature, 0..6), extra, "(\r?\n){0,2}");
    let line = line.prop_map(|(label, features, extra, end)| {
        let mut text = label;
        let mut sum = 0;
        for (blank, index, value) in features {
            // Plain indices are taken as steps, so that most lines increase, unless a step is 0.
            // The odd indices stay as they are.
            let index = match index.parse::<u64>() {
                Ok(step) if (1..40).contains(&step) && !index.starts_with('0') => {
                    sum += step % 39;
                    sum.to_string()
                }
                _ => index,
            };
            write!(text, "{blank}{index}:{value}").unwrap();
        }
        text + &extra + if end.is_empty() { "\n" } else { &end }
    });
    whole_text(line)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn rows_come_back_whatever_pieces_they_arrive_in(
        valid in valid_rows(),
        sizes in prop::collection::vec(0usize..9, 0..6),
        line_end in prop_oneof![Just("\n"), Just("\r\n"), Just(" # end\n")],
    ) {
        let text = written(&valid, line_end);
        let pieces = Pieces { rest: Cursor::new(text.clone().into_bytes()), sizes, turn: 0 };
        let (found, error) = read_from(pieces, &NUMBERS);
        prop_assert!(error.is_none());
        prop_assert_eq!(&found, &expected(&valid));
        prop_assert_eq!(rows(text, &NUMBERS), found);
    }

    #[test]
    fn the_beginning_of_a_file_and_noise_do_no_harm(
        valid in valid_rows(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        limit in prop_oneof![Just(1 << 20), 0usize..80],
    ) {
        let mut bytes = written(&valid, "\n").into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let limits = Limits { max_line_bytes: limit, ..Limits::default() };
        check_survival(&bytes, &Reading { limits, ..NUMBERS })?;
    }
}

proptest! {
    // Each case has as many cuts as its text has bytes.
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_cut_gives_an_error_or_a_prefix(valid in valid_rows(), crlf in any::<bool>()) {
        let text = written(&valid, if crlf { "\r\n" } else { "\n" });
        let whole = expected(&valid);
        for cut in 0..text.len() {
            let (found, error) = drain(&mut source(&text[..cut], &NUMBERS));
            let (reference, broken_line) = reference::read(&text[..cut], &NUMBERS);
            // Only the cut line can be read differently, and only as the text that is left of it.
            let ended = text[..cut].matches('\n').count();
            prop_assert_eq!(&found[..ended], &whole[..ended]);
            prop_assert!(found.len() <= ended + 1);
            prop_assert_eq!(&found, &reference);
            prop_assert_eq!(error.is_some(), broken_line.is_some() || found.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn the_fast_reader_agrees_with_the_obvious_one(text in soup(), reading in readings()) {
        let (found, error) = drain(&mut source(&text, &reading));
        let (expected, broken_line) = reference::read(&text, &reading);
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(error.as_ref().and_then(line_of), broken_line);
        let is_empty = matches!(error, Some(DataError::EmptyFile { .. }));
        prop_assert_eq!(is_empty, expected.is_empty() && broken_line.is_none());
    }

    #[test]
    fn random_bytes_do_no_harm(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"0123456789:. \n-+e#"[..])], 0..80
        ),
        reading in readings(),
    ) {
        check_survival(&bytes, &reading)?;
    }
}

/// Reading must end, either in rows or in a printable error of one line.
fn check_survival(bytes: &[u8], reading: &Reading) -> Result<(), TestCaseError> {
    let (rows, error) = drain(&mut source(bytes, reading));
    prop_assert!(error.is_some() || !rows.is_empty());
    if let Some(error) = error {
        let text = error.to_string();
        prop_assert!(!text.chars().any(char::is_control), "{text:?}");
        prop_assert!(text.len() < 600, "{text:?}");
    }
    Ok(())
}

/// Agreement means little if almost everything is refused.
#[test]
fn the_soup_is_rich() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut good, mut bad) = (0, 0);
    for _ in 0..2000 {
        let text = soup().new_tree(&mut runner).unwrap().current();
        match reference::read(&text, &NUMBERS) {
            (_, Some(_)) => bad += 1,
            (rows, None) => good += usize::from(!rows.is_empty()),
        }
    }
    assert!(good > 400 && bad > 400, "{good} {bad}");
}
