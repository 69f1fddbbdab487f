//! One pass of the bank over a file: the average loss of its predictions, each made before its row was
//! learned from, and the time that learning takes.
//!
//! ```sh
//! cargo run --release -p rueful-bench --example bank -- a9a.libsvm --loss logistic
//! cargo run --release -p rueful-bench --example bank -- table.csv --label price --loss square --columns 6
//! ```

use anyhow::{Result, ensure};
use clap::Parser;
use rueful_core::learner::{Bank, Learner};
use rueful_core::loss::{AnyLoss, Labels};
use rueful_core::request::Request;
use rueful_core::set::Ball;
use rueful_core::{Batch, Cells, OpenUnit, Positive};
use rueful_data::{Follow, LabelRule, Reading, Source, Wishes, open};
use std::io::Write;
use std::time::Instant;

/// Run the bank over a file.
#[derive(Debug, Parser)]
struct Options {
    /// The file
    file: String,

    /// The loss
    #[arg(long, default_value = "logistic")]
    loss: String,

    /// τ of the quantile loss
    #[arg(long)]
    tau: Option<f64>,

    /// The column of the labels
    #[arg(long)]
    label: Option<String>,

    /// The label that becomes +1
    #[arg(long)]
    positive: Option<String>,

    /// Columns to leave out
    #[arg(long, value_delimiter = ',')]
    drop: Vec<String>,

    /// Columns whose numbers are names
    #[arg(long, value_delimiter = ',')]
    categorical: Vec<String>,

    /// Columns of running text
    #[arg(long, value_delimiter = ',')]
    text: Vec<String>,

    /// Multiply the columns by 10^p and 10^−p in turn
    #[arg(long, value_name = "P", default_value_t = 0)]
    columns: i32,

    /// Multiply numeric labels by 10^p
    #[arg(long, value_name = "P", default_value_t = 0, allow_negative_numbers = true)]
    labels: i32,

    /// Multiply so many values, drawn from the rows after the hundredth, by a million
    #[arg(long, default_value_t = 0)]
    corrupt: usize,

    /// The seed of that draw
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How often to learn, for the time
    #[arg(long, default_value_t = 1)]
    passes: u32,

    /// Also list the experts
    #[arg(long)]
    experts: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let loss = options.loss()?;
    let batches = options.batches(&loss)?;
    let mut least = f64::INFINITY;
    for _ in 0..options.passes {
        least = least.min(learn(&batches, loss)?.seconds);
    }
    let Learned { bank, total, rows, .. } = learn(&batches, loss)?;
    let out = &mut std::io::stdout();
    writeln!(
        out,
        "{} {} {:.6} per row, {:.0} ns",
        options.file,
        rows,
        total / rows,
        1e9 * least / rows
    )?;
    if options.experts {
        for expert in bank.experts() {
            writeln!(
                out,
                "  {:30} {:.4} {:.6}",
                expert.name, expert.share, expert.sequential_risk
            )?;
        }
        writeln!(out, "  mixing costs at most {:?}", bank.mixing_cost())?;
    }
    Ok(())
}

struct Learned {
    bank: Bank,
    total: f64,
    rows: f64,
    seconds: f64,
}

/// One pass.
fn learn(batches: &[Batch], loss: AnyLoss) -> Result<Learned> {
    let mut bank = Bank::new(loss).map_err(anyhow::Error::msg)?;
    let (mut cells, mut buffer, mut rounds) = (Cells::default(), Vec::new(), Vec::new());
    let (mut total, mut rows, mut seconds) = (0.0, 0, 0.0);
    for batch in batches {
        let entered = cells.enter(batch.rows(), &mut buffer);
        let start = Instant::now();
        bank.learn_rows(entered, &mut rounds);
        seconds += start.elapsed().as_secs_f64();
        total += rounds.iter().map(|round| round.value).sum::<f64>();
        rows += rounds.len();
    }
    ensure!(rows > 0, "there are no rows");
    Ok(Learned { bank, total, rows: rows as f64, seconds })
}

impl Options {
    fn loss(&self) -> Result<AnyLoss> {
        let tau = self.tau.map(OpenUnit::new).transpose()?;
        let request = Request { tau, ..Request::within(Ball { radius: Positive::ONE }) };
        AnyLoss::ask(&self.loss, &request)
            .map_err(|refusal| anyhow::Error::msg(refusal.to_string()))
    }

    fn batches(&self, loss: &AnyLoss) -> Result<Vec<Batch>> {
        let wishes = Wishes {
            label: self.label.clone(),
            drop: self.drop.clone(),
            categorical: self.categorical.clone(),
            text: self.text.clone(),
            ..Wishes::default()
        };
        let reading = Reading::new(LabelRule::new(loss.labels(), self.positive.as_deref()));
        let mut source =
            open(std::slice::from_ref(&self.file), &wishes, &reading, &Follow::No)?.reader;
        let (mut batch, mut batches) = (Batch::default(), Vec::new());
        let labels = if loss.labels() == Labels::Numbers { 10_f64.powi(self.labels) } else { 1.0 };
        while source.fill(&mut batch)? {
            batches.push(self.stretched(&batch, labels)?);
        }
        self.corrupted(&batches)
    }

    /// The same rows in other units.
    fn stretched(&self, batch: &Batch, labels: f64) -> Result<Batch> {
        let mut stretched = Batch::default();
        let factor =
            |i: u32| 10_f64.powi(if i.is_multiple_of(2) { self.columns } else { -self.columns });
        for example in batch.iter() {
            let x = example.features;
            let pairs = x.indices().iter().zip(x.values());
            let values: Vec<f32> =
                pairs.map(|(&i, &x)| (f64::from(x) * factor(i)) as f32).collect();
            stretched.push(x.indices(), &values, labels * example.label)?;
        }
        Ok(stretched)
    }

    /// The same rows with some values a million times too large.
    fn corrupted(&self, batches: &[Batch]) -> Result<Vec<Batch>> {
        let places: Vec<(usize, usize)> = batches
            .iter()
            .enumerate()
            .flat_map(|(b, batch)| (0..batch.len()).map(move |r| (b, r)))
            .collect();
        let mut state = self.seed;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut hit = std::collections::HashMap::new();
        while hit.len() < self.corrupt {
            let place = places[100 + random(places.len() - 100)];
            hit.insert(place, random(usize::MAX >> 32));
        }
        let mut corrupted = Vec::new();
        for (b, batch) in batches.iter().enumerate() {
            let mut copy = Batch::default();
            for (r, example) in batch.iter().enumerate() {
                let mut values = example.features.values().to_vec();
                if let Some(draw) = hit.get(&(b, r)) {
                    let at = draw % values.len();
                    values[at] *= 1e6;
                }
                copy.push(example.features.indices(), &values, example.label)?;
            }
            corrupted.push(copy);
        }
        Ok(corrupted)
    }
}
