//! Measures the bank for many classes on LIBSVM text: its loss, its time and its memory.
//!
//! Labels are any words, numbered as they appear. A constant feature of 1 is added to every row.
//! Every prediction is made before its row is learned from. The file is read piece by piece, so
//! that the memory is that of the bank. The report is one JSON object.

use anyhow::{Context, Result, ensure};
use rueful_core::classes::ClassLedger;
use rueful_core::learner::SoftmaxBank;
use rueful_core::ledger::CurvePoint;
use rueful_core::{Batch, Comparators, Positive, UnitFree};
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

/// The number of rows that are read at a time.
const PIECE: usize = 500;

#[derive(Serialize)]
struct Report {
    rows: u64,
    classes: usize,
    /// The loss per round. The error is the share of wrong classes.
    log_loss: f64,
    error: f64,
    /// Processor time of the bank with its witnesses and of the ledger; on the clock where the system does
    /// not tell.
    ns_per_row: f64,
    peak_megabytes: f64,
    /// Pairs of a feature and a class that the bank has weights for, and its witnesses have slopes for.
    cells: usize,
    judged_cells: usize,
    /// The certificates per round for U = 1, 3, 10, 30, and the radius up to which every matrix is
    /// beaten.
    certificates: Vec<f64>,
    own_certificates: Vec<f64>,
    beats_up_to: Option<f64>,
    /// Per round, for U = 10.
    theorem: Option<f64>,
    probabilities: Option<Vec<f64>>,
}

/// Reads rows, and numbers the classes.
struct Reader {
    lines: std::io::Lines<BufReader<File>>,
    classes: HashMap<String, u32>,
}

impl Reader {
    fn open(path: &str) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("{path} cannot be opened"))?;
        Ok(Self { lines: BufReader::new(file).lines(), classes: HashMap::new() })
    }

    /// Reads some more rows. The batch is empty at the end.
    fn next_piece(&mut self) -> Result<Batch> {
        let mut batch = Batch::default();
        while batch.labels().len() < PIECE {
            let Some(line) = self.lines.next().transpose()? else { break };
            self.push(&line, &mut batch).with_context(|| format!("in the row “{line}”"))?;
        }
        Ok(batch)
    }

    fn push(&mut self, line: &str, batch: &mut Batch) -> Result<()> {
        let mut words = line.split_ascii_whitespace();
        let next = u32::try_from(self.classes.len())?;
        let label = words.next().context("a label is missing")?.to_owned();
        let class = *self.classes.entry(label).or_insert(next);
        let (mut indices, mut values) = (vec![0], vec![1.0]);
        for word in words {
            let (index, value) = word.split_once(':').context("expected index:value")?;
            indices.push(index.parse()?);
            values.push(value.parse()?);
        }
        Ok(batch.push(&indices, &values, f64::from(class))?)
    }
}

fn classes_of(path: &str) -> Result<u32> {
    let mut reader = Reader::open(path)?;
    while !reader.next_piece()?.is_empty() {}
    Ok(u32::try_from(reader.classes.len())?)
}

fn measure(path: &str, is_known: bool, shows: bool) -> Result<Report> {
    let classes = classes_of(path)?;
    let mut bank = if is_known { SoftmaxBank::expecting(classes) } else { SoftmaxBank::new() };
    let ball = Comparators::from(UnitFree { radius: Positive::new(10.0)? });
    let mut ledger = ClassLedger::new(ball);
    let (mut reader, mut cells) = (Reader::open(path)?, Vec::new());
    let mut time = Duration::ZERO;
    let mut probabilities = shows.then(Vec::new);
    loop {
        let batch = reader.next_piece()?;
        if batch.is_empty() {
            break;
        }
        let entered = ledger.enter(batch.rows(), &mut cells);
        let start = (Instant::now(), processor_time());
        bank.learn_rows_with(entered, |example, round, said| {
            ledger.record(example, round, said);
            if let Some(all) = &mut probabilities {
                all.push(round.probability);
            }
        })?;
        let spent = processor_time().zip(start.1).map(|(end, start)| end - start);
        time += spent.unwrap_or_else(|| start.0.elapsed());
    }
    let rows = ledger.rounds() as f64;
    ensure!(rows > 0.0, "{path} has no rows");
    let (point, own) = (ledger.point(Some(bank.judge())), ledger.point(None));
    let radii = [1.0, 3.0, 10.0, 30.0].map(Positive::new);
    let radii: Vec<Positive> = radii.into_iter().collect::<Result<_, _>>()?;
    let within = |point: &CurvePoint| radii.iter().map(|&u| point.certificate_for(u)).collect();
    Ok(Report {
        rows: ledger.rounds(),
        classes: bank.classes().len(),
        log_loss: ledger.tally().sequential_risk(),
        error: ledger.tally().mistakes() as f64 / rows,
        ns_per_row: time.as_nanos() as f64 / rows,
        peak_megabytes: peak_megabytes(),
        cells: bank.cells(),
        judged_cells: bank.judge().cells(),
        certificates: within(&point),
        own_certificates: within(&own),
        beats_up_to: point.beats_up_to(),
        theorem: bank.promise(ledger.comparators()).theorem.ok().map(|bound| bound.total / rows),
        probabilities,
    })
}

/// How long the process was on a processor, where the system says so.
fn processor_time() -> Option<Duration> {
    let status = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    status.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The most memory that the process has had, where the system says so.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next());
    kilobytes.and_then(|number| number.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

fn main() -> Result<()> {
    let (flags, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let known = ["--known", "--probabilities"];
    ensure!(
        files.len() == 1 && flags.iter().all(|flag| known.contains(&flag.as_str())),
        "usage: classes FILE [--known] [--probabilities]: --known tells the bank how many classes \
         there are, as others are told"
    );
    let report = measure(&files[0], has("--known"), has("--probabilities"))?;
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string(&report)?)?)
}
