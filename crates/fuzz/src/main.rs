//! Hostile input for everything that rueful reads.
//!
//! This is a mutational fuzzer for the stable toolchain. It changes good inputs in ways that a
//! format does not expect, and checks the promises of the readers for every one. Inputs with a new
//! kind of outcome are changed further. The same seed gives the same inputs.
#![allow(clippy::print_stdout, clippy::print_stderr)] // It is a program.

mod campaign;
mod columnar;
mod minimize;
mod models;
mod mutate;
mod packed;
mod promises;
mod random;
mod targets;

use anyhow::{Context, bail};
use campaign::{Budget, Campaign};
use clap::Parser;
use peak_alloc::PeakAlloc;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use targets::Target;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Hostile input for everything that rueful reads
#[derive(Debug, Parser)]
struct Arguments {
    /// The targets to try; all if left out
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// How long to go on with each target
    #[arg(long, value_name = "S", default_value_t = 10, conflicts_with = "iterations")]
    seconds: u64,
    /// How many inputs to try on each target, instead of a time: the same ones every time
    #[arg(long, value_name = "N")]
    iterations: Option<u64>,
    /// The seed of the random inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A folder with more inputs to begin with, one folder for each target; inputs worth keeping
    /// are written there, too
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Reads one file, to see what happens
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seconds", "iterations", "corpus"])]
    replay: Option<PathBuf>,
    /// Lists the targets
    #[arg(long)]
    list: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let targets = chosen(&arguments.targets)?;
    if arguments.list {
        targets.iter().for_each(|target| println!("{}", target.name));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.replay {
        let [target] = targets[..] else { bail!("--replay needs one target") };
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        println!("{}", (target.check)(&bytes));
        return Ok(ExitCode::SUCCESS);
    }
    let budget = match arguments.iterations {
        Some(count) => Budget::Inputs(count),
        None => Budget::Time(Duration::from_secs(arguments.seconds)),
    };
    campaign::catch_quietly();
    let mut is_good = true;
    for target in targets {
        let campaign = Campaign { target, seed: arguments.seed, corpus: arguments.corpus.clone() };
        is_good &= campaign.run(budget)?;
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The targets with these names, or all if there are none.
fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(targets::ALL.iter().collect());
    }
    let find = |name: &String| targets::ALL.iter().find(|target| target.name == name);
    let found = names.iter().map(|name| find(name).with_context(|| unknown(name)));
    found.collect()
}

fn unknown(name: &str) -> String {
    let all: Vec<_> = targets::ALL.iter().map(|target| target.name).collect();
    format!("found the target {name:?}, expected one of {}", all.join(", "))
}
