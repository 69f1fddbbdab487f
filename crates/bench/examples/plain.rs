//! Measures how fast rows are read of which nothing is made: features that others ask for must cost
//! them nothing.
//!
//! Each text is made in memory and read by one thread, several times. The best time counts. The
//! report is one JSON object per text. To compare two versions, build the example in both and run
//! them in turns.

use anyhow::Result;
use rueful_core::Batch;
use rueful_data::{Follow, FormatSettings, Input, LabelRule, Reading, Source, open_inputs};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{Cursor, Write};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

const ROWS: u64 = 50_000;
const COLUMNS: u64 = 10;
const REPETITIONS: usize = 9;

#[derive(Serialize)]
struct Report {
    text: &'static str,
    rows_per_second: f64,
    megabytes_per_second: f64,
}

/// A value of the column with this number, one of 50.
fn value(row: u64, column: u64) -> u64 {
    let mixed = (row ^ (column << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) % 50
}

/// A text. Every row is `before`, its cells, each written by `cell`, its label, and `after`.
fn text(
    before: &str,
    after: &str,
    cell: impl Fn(&mut String, u64, u64) -> std::fmt::Result,
) -> Result<String> {
    let mut text = String::new();
    for row in 0..ROWS {
        text += before;
        (0..COLUMNS).try_for_each(|column| cell(&mut text, row, column))?;
        write!(text, "{}{after}", row % 7)?;
    }
    Ok(text)
}

fn header() -> String {
    (0..COLUMNS).map(|column| format!("c{column},")).collect::<String>() + "y\n"
}

/// Reads a text once.
fn read(text: &str, file: &str, settings: &FormatSettings) -> Result<Duration> {
    let input = Input::new(file, Cursor::new(text.to_owned()), &Follow::No)?;
    let reading =
        Reading { constant: false, threads: NonZeroUsize::MIN, ..Reading::new(LabelRule::Numbers) };
    let start = Instant::now();
    let mut reader = open_inputs(vec![input], settings, &reading)?.reader;
    let mut batch = Batch::default();
    while reader.fill(&mut batch)? {}
    Ok(start.elapsed())
}

fn measure(name: &'static str, file: &str, text: &str) -> Result<Report> {
    let label = (!file.ends_with("vw")).then(|| "y".to_owned());
    let settings = FormatSettings { label, ..FormatSettings::default() };
    let mut best = read(text, file, &settings)?;
    for _ in 1..REPETITIONS {
        best = best.min(read(text, file, &settings)?);
    }
    let seconds = best.as_secs_f64();
    Ok(Report {
        text: name,
        rows_per_second: ROWS as f64 / seconds,
        megabytes_per_second: text.len() as f64 / 1e6 / seconds,
    })
}

fn main() -> Result<()> {
    let numbers = text("", "\n", |to, row, column| write!(to, "{}.5,", value(row, column)))?;
    let words = text("", "\n", |to, row, column| write!(to, "v{},", value(row, column)))?;
    let json = text("{", "}\n", |to, row, column| {
        write!(to, "\"c{column}\":{}.5,", value(row, column))?;
        if column + 1 == COLUMNS { write!(to, "\"y\":") } else { Ok(()) }
    })?;
    let lines =
        text("1 |a ", "\n", |to, row, column| write!(to, "c{column}_{}:0.5 ", value(row, column)))?;
    let reports = [
        measure("numbers, CSV", "t.csv", &(header() + &numbers))?,
        measure("categories, CSV", "t.csv", &(header() + &words))?,
        measure("numbers, JSON lines", "t.jsonl", &json)?,
        measure("features, Vowpal Wabbit", "t.vw", &lines)?,
    ];
    let mut out = std::io::stdout().lock();
    for report in &reports {
        writeln!(out, "{}", serde_json::to_string(report)?)?;
    }
    Ok(())
}
