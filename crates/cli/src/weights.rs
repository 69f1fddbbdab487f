//! `rueful weights`

use crate::args::WeightsArgs;
use crate::numbers::{count, counted, measured};
use crate::{output, view};
use rueful_run::{AnyModel, Weight};
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
    let all = match AnyModel::open(&args.model)? {
        AnyModel::Score(model) => model.weights(),
        AnyModel::Classes(model) => model.weights(),
    };
    let norm = all.iter().map(|entry| entry.weight * entry.weight).sum::<f64>().sqrt();
    let shown = if args.all { &all[..] } else { &all[..all.len().min(args.top)] };
    if args.json {
        return output::print_json(&Listed { nonzero: all.len(), norm, weights: shown });
    }
    let rows: Vec<Vec<String>> = shown.iter().map(cells).collect();
    let last = rows.first().map_or(1, |row| row.len() - 1);
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
    output::print(&view::headed(&title, &view::numbers_table(rows, last..=last)))
}

/// A weight in a table: its feature, its class if there are many, and the weight.
pub(crate) fn cells(entry: &Weight) -> Vec<String> {
    let feature = name(entry.name.as_deref(), entry.index.into());
    let class = entry.class.as_deref().map(rueful_data::printable);
    [Some(feature), class, Some(measured(entry.weight))].into_iter().flatten().collect()
}

/// The name of a feature in a table.
pub(crate) fn name(name: Option<&str>, index: u64) -> String {
    name.map_or_else(|| format!("feature {index}"), rueful_data::printable)
}
