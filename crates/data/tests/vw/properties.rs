//! Properties that hold for random input.

use crate::common::{line_of, readings, whole_text};
use crate::{NUMBERS, Pieces, Row, drain, reference, source, source_from};
use proptest::prelude::*;
use rueful_data::{DataError, Names, Reading, Source};
use std::fmt::Write;
use std::io::Cursor;
use std::num::NonZeroUsize;

/// Lines that are mostly right, with pieces in them that are sometimes right and sometimes not.
fn soup() -> impl Strategy<Value = String> {
    let number = "[+-]?[0-9]{1,3}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{1,2})?";
    let odd_number = prop_oneof!["[-+.eE0-9]{0,6}", "nan|inf|-inf|infinity|NaN|1e999|0x1f|1_0"];
    let value = prop_oneof![
        20 => "",
        40 => number.prop_map(|value| format!(":{value}")),
        2 => "[a-z/:]{1,4}".prop_map(|word| format!(":{word}")),
        1 => odd_number.prop_map(|value| format!(":{value}")),
    ];
    let name = prop_oneof![
        20 => "[a-c]",
        20 => "[1-9][0-9]{0,2}",
        5 => "",
        3 => "[a-z0-9^=']{1,20}",
        1 => "[0-9]{1,25}",
    ];
    let feature = (name, value).prop_map(|(name, value)| name + &value);
    let blank = prop_oneof![60 => Just(" "), 4 => Just("\t"), 4 => Just("  "), 1 => Just("")];
    let features = prop::collection::vec((blank, feature), 0..5).prop_map(|all| {
        all.into_iter().map(|(blank, feature)| blank.to_owned() + &feature).collect::<String>()
    });
    let namespace = prop_oneof![
        30 => "",
        30 => "[a-c]",
        9 => "[a-z']{1,5}:-?[0-9]{1,2}(\\.5)?",
        1 => "[a-c]?:[0-9a-z.]{0,3}",
    ];
    let namespaces = prop::collection::vec((namespace, features), 1..4).prop_map(|all| {
        all.into_iter().map(|(name, features)| format!("|{name}{features}")).collect::<String>()
    });
    let label = prop_oneof![60 => "[+-]?1", 9 => number, 1 => "[-+.eE0-9naif:]{0,5}"];
    let importance =
        prop_oneof![60 => "", 20 => " [012](\\.[05])?", 1 => " 1 0", 1 => " [0-9.a-z-]{1,3}"];
    let tag =
        prop_oneof![20 => " ", 5 => " '[a-z]{0,3} ?", 5 => " [a-z]{1,3}", 1 => "[ \t\ra-z']{0,3}"];
    let extra = prop_oneof![40 => "", 1 => "[-+.:|0-9a-z \t\r\u{b}\u{a0}]{0,5}"];
    let line = (label, importance, tag, namespaces, extra, "(\r?\n){0,2}");
    let line = line.prop_map(|(label, importance, tag, namespaces, extra, end)| {
        let end = if end.is_empty() { "\n" } else { &end };
        format!("{label}{importance}{tag}{namespaces}{extra}{end}")
    });
    whole_text(line)
}

fn outcome(source: &mut rueful_data::Reader) -> (Vec<Row>, Option<String>, Names) {
    let (rows, error) = drain(source);
    (rows, error.map(|error| error.to_string()), source.names().clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pieces_make_no_difference(
        text in soup(),
        sizes in prop::collection::vec(0usize..9, 0..6),
        threads in prop::sample::select(&[1, 2, 4][..]),
        reading in readings(),
    ) {
        let whole = outcome(&mut source(&text, &reading));
        let pieces = Pieces { rest: Cursor::new(text.into_bytes()), sizes, turn: 0 };
        let threads = NonZeroUsize::new(threads).unwrap();
        let found = outcome(&mut source_from(pieces, &Reading { threads, ..reading }));
        prop_assert_eq!(found, whole);
    }
}

proptest! {
    // Each case has as many cuts as its text has bytes.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_cut_gives_an_error_or_a_prefix(text in soup(), reading in readings()) {
        let whole = drain(&mut source(&text, &reading)).0;
        for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let (found, error) = drain(&mut source(&text[..cut], &reading));
            let (reference, broken_line) = reference::read(&text[..cut], &reading);
            // Only the cut line can be read differently, and only as the text that is left of it.
            let shared = found.len().min(whole.len()).saturating_sub(1);
            prop_assert_eq!(&found[..shared], &whole[..shared]);
            prop_assert!(found.len() <= whole.len() + 1);
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
        prop_assert_eq!(error.as_ref().and_then(line_of), broken_line, "{:?}", error);
        let is_empty = matches!(error, Some(DataError::EmptyFile { .. }));
        prop_assert_eq!(is_empty, expected.is_empty() && broken_line.is_none());
    }

    #[test]
    fn random_bytes_do_no_harm(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"0123456789:. \n-+e|'ab\t\r"[..])],
            0..80
        ),
        reading in readings(),
    ) {
        let (rows, error) = drain(&mut source(&bytes, &reading));
        prop_assert!(error.is_some() || !rows.is_empty());
        if let Some(error) = error {
            let text = error.to_string();
            prop_assert!(!text.chars().any(char::is_control), "{text:?}");
            prop_assert!(text.len() < 600, "{text:?}");
        }
    }
}

/// A text of many pieces, with a new name from time to time, and a fault at its end.
#[test]
fn threads_make_no_difference() {
    let mut text = String::new();
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for row in 0..20_000 {
        write!(text, "{} 'row{row}|a", random(2)).unwrap();
        for _ in 0..random(8) {
            write!(text, " w{}:{}", random(300_000), random(100) as f64 / 8.0).unwrap();
        }
        writeln!(text, " |b:0.5 {} x{}", random(1000), random(50_000)).unwrap();
    }
    let reading = |threads| Reading { threads: NonZeroUsize::new(threads).unwrap(), ..NUMBERS };
    for end in ["", "1 | a:1e39\n"] {
        let text = text.clone() + end;
        let one = outcome(&mut source(&text, &reading(1)));
        assert_eq!((one.0.len(), one.1.is_some()), (20_000, !end.is_empty()));
        assert!(one.2.len() > 50_000);
        for threads in [2, 4] {
            assert!(outcome(&mut source(&text, &reading(threads))) == one, "{threads} threads");
        }
    }
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
