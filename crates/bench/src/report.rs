//! The tables of the report.

use crate::bank::Parts;
use crate::measure::{Line, Measured};
use crate::run::Whole;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

const HEADER: [&str; 9] = [
    "learner",
    "mistakes",
    "M features/s",
    "(best)",
    "M examples/s",
    "ns/feature",
    "time / floor",
    "ledger / learner",
    "M features/s with ledger",
];

const BANK_HEADER: [&str; 9] = [
    "ns per row",
    "loss",
    "bank",
    "its witnesses",
    "the rest",
    "cells",
    "ledger",
    "proving / rest",
    "proving / bank",
];

const RUN_HEADER: [&str; 3] = ["ns per row", "loss", "run"];

/// The tables of one data set as plain text.
pub(crate) fn table(measured: &Measured) -> String {
    let mut parts = vec![title(measured)];
    if !measured.lines.is_empty() {
        let lines = measured.lines.iter().map(|line| cells(line, measured.nonzeros));
        parts.push(aligned(HEADER, lines));
    }
    if !measured.banks.is_empty() {
        parts.push(aligned(BANK_HEADER, measured.banks.iter().map(bank_cells)));
    }
    if !measured.runs.is_empty() {
        let cells = |run: &Whole| {
            [run.name.to_owned(), format!("{:.4}", run.risk), format!("{:.0}", run.nanoseconds)]
        };
        parts.push(aligned(RUN_HEADER, measured.runs.iter().map(cells)));
    }
    parts.join("\n\n")
}

/// A table whose first column is aligned to the left and whose others are aligned to the right.
fn aligned<const N: usize>(header: [&str; N], lines: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header).add_rows(lines);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn bank_cells(parts: &Parts) -> [String; 9] {
    let nanoseconds = [parts.bank, parts.witnesses, parts.rest(), parts.cells, parts.ledger];
    let [bank, witnesses, rest, cells, ledger] = nanoseconds.map(|time| format!("{time:.0}"));
    let (risk, proving) = (parts.risk, parts.proving_over_bank());
    let over_rest = parts.proving_over_learning();
    [
        parts.name.to_owned(),
        format!("{risk:.4}"),
        bank,
        witnesses,
        rest,
        cells,
        ledger,
        format!("{over_rest:.2}"),
        format!("{proving:.2}"),
    ]
}

fn title(measured: &Measured) -> String {
    format!(
        "{}: {} rows, {} features a row of {}, median of {} repetitions",
        measured.data,
        measured.rows,
        measured.nonzeros / measured.rows.max(1),
        measured.dimension,
        measured.repetitions,
    )
}

fn cells(line: &Line, nonzeros: usize) -> [String; 9] {
    let ledger = |show: fn(f64, f64) -> String| match &line.ledger {
        Some(cost) => show(cost.times_learner, cost.features_per_second),
        None => "-".to_owned(),
    };
    [
        line.name.to_owned(),
        format!("{:.1} %", 100.0 * line.mistake_rate),
        format!("{:.0}", line.features_per_second / 1e6),
        format!("{:.0}", nonzeros as f64 / line.learner.least / 1e6),
        format!("{:.2}", line.examples_per_second / 1e6),
        format!("{:.2}", line.nanoseconds_per_feature),
        format!("{:.2}", line.times_floor),
        ledger(|times_learner, _| format!("{times_learner:.2}")),
        ledger(|_, speed| format!("{:.0}", speed / 1e6)),
    ]
}
