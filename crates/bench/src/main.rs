//! Measurements of rueful, alone and beside other programs.
//!
//! `rueful-bench` measures learning from memory: how many examples and features per second each
//! learner takes in, with and without the ledger, beside the barest loop that learns at all. All
//! take turns in one run, and medians are reported. The bank is measured part by part, so that the
//! cost of proving can be seen beside the cost of learning. Whole runs are measured as well, with
//! figures and census. With a file, the bank and the runs are measured on its rows. With `--write` it writes its data sets as text, for the scripts that race other
//! programs.

mod bank;
mod bare;
mod contestants;
mod floor;
mod generate;
mod measure;
mod random;
mod read;
mod report;
mod run;
mod write;

use anyhow::{Result, ensure};
use bank::Named;
use clap::Parser;
use contestants::Contestant;
use generate::{Data, Shape};
use measure::Measured;
use std::io::Write;
use std::path::{Path, PathBuf};
use write::Text;

/// Measure how fast the learners learn from memory, with and without the ledger.
#[derive(Debug, Parser)]
#[command(name = "rueful-bench", version)]
struct Options {
    /// Small data sets and two repetitions: shows that everything runs, not how fast
    #[arg(long)]
    quick: bool,

    /// Print the measurements as JSON instead of tables
    #[arg(long)]
    json: bool,

    /// How often each contestant runs; more is steadier [default: 15, quick: 2]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    repetitions: Option<u16>,

    /// Measure only contestants whose name contains this (and the floor)
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// Measure only on this data set
    #[arg(long, value_enum)]
    data: Option<DataSet>,

    /// Measure nothing: write the data sets into this folder, as LIBSVM text and for Vowpal
    /// Wabbit: sparse.libsvm, sparse.vw (0.2 GB each), dense.libsvm and dense.vw (0.4 GB each)
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["json", "repetitions", "only"])]
    write: Option<PathBuf>,

    /// Measure nothing: do one part of reading FILE and nothing else, for others to time
    #[arg(long, value_name = "PART", requires = "file", conflicts_with = "write")]
    floor: Option<floor::Part>,

    /// Measure the bank on the rows of this file, in place of the data sets; or the file that --floor
    /// reads
    #[arg(value_name = "FILE", conflicts_with_all = ["write", "data"])]
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum DataSet {
    /// 200,000 rows with 75 of 47,000 features
    Sparse,
    /// 1,000,000 rows with all of 28 features
    Dense,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if let (Some(part), Some(file)) = (options.floor, &options.file) {
        return floor::floor(part, file);
    }
    if let Some(folder) = &options.write {
        return options.data_sets().try_for_each(|set| options.write(set, folder));
    }
    let measured = match &options.file {
        Some(file) => vec![options.measure_file(file)?],
        None => options.data_sets().map(|set| options.measure(set)).collect::<Result<_>>()?,
    };
    let report = if options.json {
        serde_json::to_string_pretty(&measured)?
    } else {
        let tables: Vec<String> = measured.iter().map(report::table).collect();
        format!("{}\n\n{LEGEND}", tables.join("\n\n"))
    };
    Ok(writeln!(std::io::stdout(), "{report}")?)
}

/// Whether a line of that name is wanted.
fn is_wanted(only: Option<&str>, name: &str) -> bool {
    only.is_none_or(|text| name.contains(text))
}

const LEGEND: &str = "\
time / floor      time of the learner without ledger, over that of the bare hinge loop
ledger / learner  time the ledger adds, over that of the learner
witnesses         those that the bank mixes in, measured beside it; the rest is the bank without them
run               learner, ledger, figures and census, as the program and the Python package run them
cells             the cells of the features, on which the bank and the ledger work
proving / rest    witnesses and ledger together, over the rest of the bank
proving / bank    a judge and the ledger together, over the bank with its witnesses: at most 1 is the aim";

impl Options {
    fn data_sets(&self) -> impl Iterator<Item = DataSet> {
        [DataSet::Sparse, DataSet::Dense]
            .into_iter()
            .filter(|set| self.data.is_none_or(|only| only == *set))
    }

    fn write(&self, set: DataSet, folder: &Path) -> Result<()> {
        let mut told = std::io::stderr();
        writeln!(told, "making {set:?}")?;
        let data = set.generate(self.quick)?;
        for format in [Text::Libsvm, Text::Vw] {
            let path = write::write(&data, format, folder)?;
            writeln!(told, "wrote {} rows to {}", data.rows(), path.display())?;
        }
        Ok(())
    }

    fn measure(&self, set: DataSet) -> Result<Measured> {
        let data = set.generate(self.quick)?;
        let contestants = self.contestants(&data)?;
        self.measured(&data, &contestants)
    }

    fn measure_file(&self, file: &Path) -> Result<Measured> {
        let data = read::read(file)?;
        self.measured(&data, &[])
    }

    fn measured(&self, data: &Data, contestants: &[Contestant]) -> Result<Measured> {
        let repetitions = self.repetitions();
        let mut measured = measure::measure(data, contestants, &self.banks(data), repetitions)?;
        if data.has_signs() {
            let wanted = |name: &str| is_wanted(self.only.as_deref(), name);
            measured.runs = run::measure(data, wanted, repetitions)?;
        }
        Ok(measured)
    }

    /// The losses in which the bank is wanted.
    fn banks(&self, data: &Data) -> Vec<Named> {
        let mut losses = bank::losses(data);
        losses.retain(|(name, _)| is_wanted(self.only.as_deref(), name));
        losses
    }

    fn repetitions(&self) -> usize {
        self.repetitions.unwrap_or(if self.quick { 2 } else { 15 }).into()
    }

    /// The floor, and the contestants that are wanted.
    fn contestants(&self, data: &Data) -> Result<Vec<Contestant>> {
        let mut all = contestants::all(data)?;
        self.check_wanted(&all)?;
        let mut place = 0..;
        all.retain(|contestant| {
            place.next() == Some(0) || is_wanted(self.only.as_deref(), contestant.name)
        });
        Ok(all)
    }

    /// Refuses a text that is in no contestant's name.
    fn check_wanted(&self, all: &[Contestant]) -> Result<()> {
        let of_the_bank = bank::all().map(|(name, _)| name);
        let names = all.iter().map(|one| one.name).chain(of_the_bank).chain(run::names());
        let names: Vec<_> = names.collect();
        let only = self.only.as_deref();
        ensure!(
            names.iter().any(|name| is_wanted(only, name)),
            "no contestant has {:?} in its name; there are: {}",
            only.unwrap_or_default(),
            names.join("; ")
        );
        Ok(())
    }
}

impl DataSet {
    fn generate(self, quick: bool) -> Result<Data> {
        let rows = |full| if quick { full / 50 } else { full };
        match self {
            Self::Sparse => {
                let shape = Shape { rows: rows(200_000), features: 47_000, per_row: 75 };
                generate::sparse(shape, 1)
            }
            Self::Dense => {
                let shape = Shape { rows: rows(1_000_000), features: 28, per_row: 28 };
                generate::dense(shape, 2)
            }
        }
    }
}
