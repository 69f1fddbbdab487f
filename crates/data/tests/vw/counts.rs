//! Compares counts with those of Vowpal Wabbit itself: examples, features, and the sum of the
//! labels.

use crate::{NUMBERS, drain, source};
use rueful_data::{Reading, Source};
use std::path::Path;

/// A file of the collection, and Vowpal Wabbit's counts for it, including the constant.
///
/// Vowpal Wabbit reads and adds labels in single precision, more or less. Its sum for the first
/// file differs from the exact one, 526.517588, in the fifth place.
struct Case {
    file: &'static str,
    examples: u64,
    features: u64,
    label_sum: f64,
}

const fn case(file: &'static str, examples: u64, features: u64, label_sum: f64) -> Case {
    Case { file, examples, features, label_sum }
}

const CASES: [Case; 7] = [
    case("0002.dat", 1000, 14996, 526.517528),
    case("0002_25.dat", 25, 374, 12.754523),
    case("0001_25.dat", 25, 2109, 9.0),
    case("single_empty_lines.txt", 1, 2, 1.0),
    case("audit.dat", 4, 8, 10.0),
    case("rcv1_small.dat", 1000, 78739, -82.0),
    case("rcv1_small_test.data", 500, 39948, -10.0),
];

/// Examples and features, with the constant and without, and the sum of the labels.
fn counts(text: &[u8]) -> ([(u64, u64); 2], f64) {
    let mut label_sum = 0.0;
    let counts = [true, false].map(|constant| {
        let mut source = source(text, &Reading { constant, ..NUMBERS });
        let error = drain(&mut source).1;
        assert!(error.is_none(), "{}", error.unwrap());
        let census = source.census();
        label_sum = census.label_sum.value();
        (census.examples, census.nonzeros)
    });
    (counts, label_sum)
}

fn check(name: &str, text: &[u8], examples: u64, features: u64, label_sum: f64) {
    let (found, found_sum) = counts(text);
    assert_eq!(found, [(examples, features), (examples, features - examples)], "{name}");
    let allowed = f64::from(f32::EPSILON) * label_sum.abs();
    assert!((found_sum - label_sum).abs() <= allowed, "{name}: {found_sum}");
}

#[test]
fn files_have_the_counts_that_vowpal_wabbit_gives() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/vw");
    for Case { file, examples, features, label_sum } in CASES {
        // The collection is not part of this repository.
        if let Ok(text) = std::fs::read(folder.join(file)) {
            check(file, &text, examples, features, label_sum);
        }
    }
}

/// Lines of the same kinds, which Vowpal Wabbit has counted too.
#[test]
fn lines_have_the_counts_that_vowpal_wabbit_gives() {
    for (text, examples, features, label_sum) in [
        // A value of 0 is not a feature.
        (
            "0.521144 1 PFF/20091028|T PFF |f t1:-0.0236849 t5:0 r5:0.727735\n\
             0.535251 1 WIP/20091028|T WIP |f t1:-0.00195191 t5:-0.112359 r5:0.0279508\n",
            2,
            9,
            1.056395,
        ),
        ("1 |features 13:3.9656971e-02 24:3.4781646e-02\n0 |features 9:8.56e-02\n", 2, 5, 1.0),
        ("1 | x:1\n\n\n\n\n\n\n\n\n", 1, 2, 1.0),
        ("1 | feature\n2 |namespace feature\n3 | :1\n4 |other_namespace :1\n", 4, 8, 10.0),
        ("1 | :1 :2 :0 :3\n", 1, 4, 1.0),
        ("1 |n city:paris\n", 1, 2, 1.0),
        ("1 |n:0 city:paris a\n", 1, 2, 1.0),
        ("1 |f:0 a b\n", 1, 1, 1.0),
        ("1 |f a|g b\n", 1, 3, 1.0),
        ("1 |\n", 1, 1, 1.0),
    ] {
        check(text, text.as_bytes(), examples, features, label_sum);
    }
}

/// Vowpal Wabbit counts 4 here. It keeps both features, and learns from their sum.
#[test]
fn a_name_that_is_repeated_is_one_feature() {
    assert_eq!(counts(b"1 | a a b:0 c:1\n"), ([(1, 3), (1, 2)], 1.0));
}
