//! `rueful weights`

use crate::args::WeightsArgs;
use crate::numbers::{count, counted, measured};
use crate::{output, view};
use rueful_run::{Model, Weight};
use serde::Serialize;

/// The weights of a model, for JSON.
#[derive(Serialize)]
struct Listed<'a> {
    /// The number of weights that are not 0.
    nonzero: usize,
    /// ‖w‖
    norm: f64,
    weights: &'a [Weight],
}

pub(crate) fn weights(args: &WeightsArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let all = model.weights();
    let norm = all.iter().map(|entry| entry.weight * entry.weight).sum::<f64>().sqrt();
    let shown = if args.all { &all[..] } else { &all[..all.len().min(args.top)] };
    if args.json {
        return output::print_json(&Listed { nonzero: all.len(), norm, weights: shown });
    }
    let rows = shown
        .iter()
        .map(|entry| vec![name(entry.name.as_deref(), entry.index as u64), measured(entry.weight)]);
    let title = match all.len() - shown.len() {
        0 => {
            format!(
                "All {} that are not 0; ‖w‖ = {}",
                counted(all.len() as u64, "weight"),
                measured(norm)
            )
        }
        _ => format!(
            "The largest {} of {} that are not 0; ‖w‖ = {}",
            count(shown.len() as u64),
            counted(all.len() as u64, "weight"),
            measured(norm)
        ),
    };
    output::print(&view::headed(&title, &view::numbers_table(rows.collect(), 1..=1)))
}

/// The name of a feature in a table.
pub(crate) fn name(name: Option<&str>, index: u64) -> String {
    name.map_or_else(|| format!("feature {index}"), rueful_data::printable)
}
