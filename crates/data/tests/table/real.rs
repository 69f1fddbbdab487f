//! Real files, read with nothing but the label given. The numbers were counted by a program that
//! shares nothing with this one.

use crate::common::{NUMBERS, check_threads, drain, labelled, real};
use rueful_data::{Follow, FormatSettings, LabelRule, Reading, Role, Source, open};

struct Truth<'a> {
    file: &'a str,
    label: &'a str,
    positive: Option<&'a str>,
    rows: u64,
    nonzeros: u64,
    features: u64,
    missing: &'a [(&'a str, u64)],
    categories: &'a [&'a str],
    label_sum: f64,
}

fn check(truth: &Truth<'_>, format_settings: FormatSettings) {
    let Some(path) = real(truth.file) else { return };
    let labels = match truth.positive {
        Some(positive) => LabelRule::Positive(positive.to_owned()),
        None => LabelRule::Numbers,
    };
    let reading = Reading { labels, ..NUMBERS };
    let format_settings = FormatSettings { label: Some(truth.label.to_owned()), ..format_settings };
    let mut opened =
        open(std::slice::from_ref(&path), &format_settings, &reading, &Follow::No).unwrap();
    let (_, error) = drain(&mut opened.reader);
    assert!(error.is_none(), "{}", error.unwrap());
    let census = opened.reader.census();
    assert_eq!(census.examples, truth.rows, "{}", truth.file);
    // Every cell without a value makes a feature that says so.
    let (cells, indicators) =
        (truth.missing.iter().map(|(_, cells)| cells).sum::<u64>(), truth.missing.len() as u64);
    assert_eq!(census.nonzeros, truth.nonzeros + cells, "{}", truth.file);
    let collisions = opened.reader.names().collisions() as u64;
    assert_eq!(census.features + collisions, truth.features + indicators, "{}", truth.file);
    assert_eq!(census.label_sum.value(), truth.label_sum, "{}", truth.file);
    let columns = opened.schema.columns();
    let missing = columns.iter().zip(opened.reader.missing()).filter(|(_, count)| **count > 0);
    let missing: Vec<_> = missing.map(|(column, &count)| (column.name.as_str(), count)).collect();
    assert_eq!(missing, truth.missing, "{}", truth.file);
    let categories = columns.iter().filter(|column| column.role == Role::Category);
    let categories: Vec<_> = categories.map(|column| column.name.as_str()).collect();
    assert_eq!(categories, truth.categories, "{}", truth.file);
    let text = std::fs::read(path).unwrap();
    check_threads(&text, &opened.schema, &reading);
}

#[test]
fn tables() {
    for truth in [
        Truth {
            file: "binary/phishing46.csv",
            label: "target",
            positive: None,
            rows: 11_055,
            nonzeros: 182_929,
            features: 46,
            missing: &[],
            categories: &[],
            label_sum: 6157.0,
        },
        Truth {
            file: "regression/abalone.csv",
            label: "9",
            positive: None,
            rows: 4177,
            nonzeros: 33_414,
            features: 10,
            missing: &[],
            categories: &["1"],
            label_sum: 41_493.0,
        },
        Truth {
            file: "regression/california_housing.csv",
            label: "median_house_value",
            positive: None,
            rows: 20_640,
            nonzeros: 185_553,
            features: 13,
            missing: &[("total_bedrooms", 207)],
            categories: &["ocean_proximity"],
            label_sum: 4_269_504_061.0,
        },
        Truth {
            file: "regression/bikeshare.csv",
            label: "bikers",
            positive: None,
            rows: 8645,
            nonzeros: 106_298,
            features: 28,
            missing: &[],
            categories: &["mnth", "weathersit"],
            label_sum: 1_243_103.0,
        },
        Truth {
            file: "stream/noaa_weather.csv",
            label: "target",
            positive: Some("1"),
            rows: 18_159,
            nonzeros: 145_212,
            features: 8,
            missing: &[],
            categories: &[],
            label_sum: 5698.0 - 12_461.0,
        },
        Truth {
            file: "text/sms_spam.tsv",
            label: "1",
            positive: Some("spam"),
            rows: 5574,
            nonzeros: 5574,
            features: 5160,
            missing: &[],
            categories: &["2"],
            label_sum: 747.0 - 4827.0,
        },
    ] {
        check(&truth, FormatSettings::default());
    }
}

#[test]
fn messages_as_words() {
    let format_settings = FormatSettings { text: vec!["2".to_owned()], ..labelled("1") };
    let truth = Truth {
        file: "text/sms_spam.tsv",
        label: "1",
        positive: Some("spam"),
        rows: 5574,
        nonzeros: 81_962,
        features: 8749,
        missing: &[],
        categories: &[],
        label_sum: 747.0 - 4827.0,
    };
    check(&truth, format_settings);
}
