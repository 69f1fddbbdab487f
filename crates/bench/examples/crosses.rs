//! Measures how fast crossed rows are read, beside rows that have as many features written out.
//!
//! Each text is made in memory and read by one thread, several times. The best time counts. The
//! report is one JSON object per text.

use anyhow::Result;
use rueful_core::Batch;
use rueful_data::{
    ExpansionSettings, Follow, FormatSettings, Input, LabelRule, Reading, Source, open_inputs,
};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{Cursor, Write};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

const ROWS: u64 = 100_000;
const REPETITIONS: usize = 5;

#[derive(Serialize)]
struct Report {
    text: &'static str,
    rows: u64,
    features_per_row: f64,
    rows_per_second: f64,
    megabytes: f64,
}

/// A value of the column with this number, one of 50.
fn value(row: u64, column: u64) -> u64 {
    let mixed = (row ^ (column << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) % 50
}

/// A table of categories.
fn table(columns: u64) -> Result<String> {
    let mut text = (0..columns).map(|column| format!("c{column},")).collect::<String>() + "y\n";
    for row in 0..ROWS {
        for column in 0..columns {
            write!(text, "value{},", value(row, column))?;
        }
        writeln!(text, "{}", row % 7)?;
    }
    Ok(text)
}

/// Lines with two namespaces of so many features each.
fn lines(features: u64) -> Result<String> {
    let mut text = String::new();
    for row in 0..ROWS {
        write!(text, "{}", row % 7)?;
        for (name, first) in [("a", 0), ("b", features)] {
            write!(text, " |{name}")?;
            for column in first..first + features {
                write!(text, " c{column}_{}", value(row, column))?;
            }
        }
        text.push('\n');
    }
    Ok(text)
}

/// Reads a text once. Returns the time and the number of nonzeros.
fn read(text: &str, file: &str, settings: &FormatSettings) -> Result<(Duration, u64)> {
    let input = Input::new(file, Cursor::new(text.to_owned()), &Follow::No)?;
    let reading =
        Reading { constant: false, threads: NonZeroUsize::MIN, ..Reading::new(LabelRule::Numbers) };
    let start = Instant::now();
    let mut reader = open_inputs(vec![input], settings, &reading)?.reader;
    let (mut batch, mut nonzeros) = (Batch::default(), 0);
    while reader.fill(&mut batch)? {
        nonzeros += batch.nonzeros() as u64;
    }
    Ok((start.elapsed(), nonzeros))
}

fn measure(
    name: &'static str,
    file: &str,
    text: &str,
    expansion: ExpansionSettings,
) -> Result<Report> {
    let label = file.ends_with("csv").then(|| "y".to_owned());
    let settings = FormatSettings { label, expansion, ..FormatSettings::default() };
    let mut best = read(text, file, &settings)?;
    for _ in 1..REPETITIONS {
        best = best.min(read(text, file, &settings)?);
    }
    Ok(Report {
        text: name,
        rows: ROWS,
        features_per_row: best.1 as f64 / ROWS as f64,
        rows_per_second: ROWS as f64 / best.0.as_secs_f64(),
        megabytes: text.len() as f64 / 1e6,
    })
}

fn main() -> Result<()> {
    let crosses = (0..10).map(|column| format!("c{column},c{}", (column + 1) % 10)).collect();
    let crossed = ExpansionSettings { crosses, ..ExpansionSettings::default() };
    let interactions = vec!["ab".to_owned()];
    let interacting = ExpansionSettings { interactions, ..ExpansionSettings::default() };
    let none = ExpansionSettings::default;
    let (ten, four) = (table(10)?, lines(4)?);
    let reports = [
        measure("10 columns", "t.csv", &ten, none())?,
        measure("10 columns and 10 crosses", "t.csv", &ten, crossed)?,
        measure("20 columns", "t.csv", &table(20)?, none())?,
        measure("2 namespaces of 4", "t.vw", &four, none())?,
        measure("2 namespaces of 4 that interact", "t.vw", &four, interacting)?,
        measure("2 namespaces of 12", "t.vw", &lines(12)?, none())?,
    ];
    let mut out = std::io::stdout().lock();
    for report in &reports {
        writeln!(out, "{}", serde_json::to_string(report)?)?;
    }
    Ok(())
}
