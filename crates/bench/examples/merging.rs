//! Measures what merging costs: a bank learns a file in parts, side by side and in rounds, and the
//! losses are compared with those of a bank that learned in sequence.
//!
//! Each part has a stretch of the file. The first part learns its first slice alone. From then on
//! all parts learn from their next slices, each from a copy of the bank, and the banks are merged.
//! Slices double from round to round, unless a round shows some times what was seen. Every prediction is made before its row is learned from.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use rueful_core::learner::{Bank, BankPart, Learner};
use rueful_core::loss::{AnyLoss, Logistic, Loss, Square};
use rueful_core::{Batch, Cells, Features, FoundFeatures};
use rueful_data::{Follow, FormatSettings, LabelRule, Reading, Source, open};
use std::io::Write;
use std::ops::Range;

/// Measures what merging costs.
#[derive(Parser)]
struct Args {
    /// The file to learn from.
    file: String,
    /// A file of other rows, which the learned bank predicts.
    #[arg(long)]
    test: Option<String>,
    /// The column of the label, if the file is a table.
    #[arg(long)]
    label: Option<String>,
    /// The label that becomes +1. Without it, labels are signs, or numbers with --numbers.
    #[arg(long)]
    positive: Option<String>,
    /// Labels are numbers, and the loss is the square loss.
    #[arg(long)]
    numbers: bool,
    /// Rows are taken in an order that a fixed seed makes.
    #[arg(long)]
    shuffle: bool,
    /// The numbers of parts.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64")]
    parts: Vec<usize>,
    /// The length of the first slice of each part.
    #[arg(long, default_value_t = 64)]
    first: usize,
    /// A round shows all parts together so many times the rows seen before. Without it, the slices
    /// of every part double.
    #[arg(long)]
    times: Option<usize>,
    /// How many banks are merged at once; more are merged in levels.
    #[arg(long, default_value_t = 64)]
    fan: usize,
}

impl Args {
    fn rows(&self, file: &str) -> Result<Batch> {
        let labels = match &self.positive {
            Some(positive) => LabelRule::Positive(positive.clone()),
            None if self.numbers => LabelRule::Numbers,
            None => LabelRule::Signs,
        };
        let settings = FormatSettings { label: self.label.clone(), ..FormatSettings::default() };
        let reading = Reading::new(labels);
        let mut source = open(&[file.to_owned()], &settings, &reading, &Follow::No)?.reader;
        let (mut batch, mut rows) = (Batch::default(), Batch::default());
        while source.fill(&mut batch)? {
            for row in batch.iter() {
                rows.push(row.features.indices(), row.features.values(), row.label)?;
            }
        }
        ensure!(!rows.labels().is_empty(), "{file} has no rows");
        Ok(if self.shuffle { shuffled(&rows)? } else { rows })
    }

    fn loss(&self) -> AnyLoss {
        if self.numbers { Square {}.into() } else { Logistic {}.into() }
    }
}

/// The rows in an order that is the same every time.
fn shuffled(rows: &Batch) -> Result<Batch> {
    let key = |row: usize| {
        let mixed = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let mut order: Vec<usize> = (0..rows.labels().len()).collect();
    order.sort_by_key(|&row| key(row));
    let mut shuffled = Batch::default();
    for row in order {
        let row = rows.get(row);
        shuffled.push(row.features.indices(), row.features.values(), row.label)?;
    }
    Ok(shuffled)
}

/// What a number of parts came to.
struct Outcome {
    rounds: usize,
    progressive: f64,
    bank: Bank,
}

/// The slices of each round: a range of rows for every part that has rows left.
fn rounds(rows: usize, parts: usize, first: usize, times: Option<usize>) -> Vec<Vec<Range<usize>>> {
    let mut left: Vec<Range<usize>> =
        (0..parts).map(|k| rows * k / parts..rows * (k + 1) / parts).collect();
    let mut take = |part: usize, length: usize| {
        let start = left[part].start;
        let end = (start + length).min(left[part].end);
        left[part].start = end;
        start..end
    };
    let mut all = vec![vec![take(0, first)]];
    let (mut length, mut seen) = (first, all[0][0].len());
    loop {
        if let Some(times) = times {
            length = (times * seen).div_ceil(parts);
        }
        let slices: Vec<_> =
            (0..parts).map(|part| take(part, length)).filter(|s| !s.is_empty()).collect();
        if slices.is_empty() {
            return all;
        }
        seen += slices.iter().map(Range::len).sum::<usize>();
        all.push(slices);
        length *= 2;
    }
}

fn learn(args: &Args, rows: &Batch, parts: usize) -> Result<Outcome> {
    let mut cells = Cells::default();
    let mut buffer = Vec::new();
    let entered = cells.enter(rows.rows(), &mut buffer);
    let mut bank = Bank::new(args.loss()).map_err(anyhow::Error::msg)?;
    bank.grow(entered.dimension());
    let (mut loss, mut played) = (0.0, Vec::new());
    let rounds = rounds(rows.labels().len(), parts, args.first, args.times);
    for slices in &rounds {
        let mut learned = Vec::new();
        for slice in slices {
            let mut part = bank.clone();
            part.learn_rows(entered.slice(slice.clone()), &mut played);
            loss += played.iter().map(|round| round.value).sum::<f64>();
            learned.push(BankPart { bank: part, slices: 1 });
        }
        bank = merged(&bank, learned, args.fan)?;
    }
    Ok(Outcome { rounds: rounds.len(), progressive: loss / rows.labels().len() as f64, bank })
}

/// The bank that parts make, merged in levels of at most `fan` at once.
fn merged(base: &Bank, mut parts: Vec<BankPart>, fan: usize) -> Result<Bank> {
    while parts.len() > fan {
        let groups = parts.chunks(fan).map(|group| {
            let slices = group.iter().map(|part| part.slices).sum();
            Ok(BankPart { bank: base.merged(group.to_vec())?, slices })
        });
        parts = groups.collect::<Result<_>>()?;
    }
    Ok(base.merged(parts)?)
}

fn test_loss(args: &Args, rows: &Batch, learned: &Batch, bank: &Bank) -> f64 {
    let mut cells = Cells::default();
    let mut buffer = Vec::new();
    cells.enter(learned.rows(), &mut buffer);
    let mut found = FoundFeatures::default();
    let mut lost = |x: &Features<'_>, label: f64| {
        let known = cells.find(x, &mut found);
        args.loss().at(bank.predict_beside(&known, x.len() - known.len()), label).value
    };
    let total: f64 = rows.iter().map(|row| lost(&row.features, row.label)).sum();
    total / rows.labels().len() as f64
}

fn main() -> Result<()> {
    let args = Args::parse();
    let rows = args.rows(&args.file).with_context(|| args.file.clone())?;
    let test = args.test.as_ref().map(|file| args.rows(file)).transpose()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "parts rounds progressive test")?;
    for &parts in &args.parts {
        let outcome = learn(&args, &rows, parts)?;
        let tested = test.as_ref().map(|test| test_loss(&args, test, &rows, &outcome.bank));
        let tested = tested.map_or_else(|| "-".to_owned(), |loss| format!("{loss:.5}"));
        writeln!(out, "{parts:5} {:6} {:11.5} {tested}", outcome.rounds, outcome.progressive)?;
    }
    Ok(())
}
