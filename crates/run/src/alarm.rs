//! The drift alarm: it reports a window in which a fixed predictor provably did better by more than
//! is allowed.
//!
//! A certificate says how little anyone could have saved. An alarm needs the other side. Each
//! window is kept until it is full, and then solved for its best fixed predictor u, so that its
//! exact regret lies in a proved interval,
//!
//! ```text
//! R = Σ φ(ŷ_t, y_t) − min_u Σ φ(u·x_t, y_t),    lower ≤ R ≤ upper
//! ```
//!
//! An alarm is raised only where even the lower end is above the threshold. No window raises an
//! alarm because it was short or noisy and its certificate therefore loose.

use crate::columns::Columns;
use crate::contradiction::Contradiction;
use crate::hindsight::{HindsightReport, Interval};
use crate::replay::counting;
use crate::windows::WindowReport;
use rueful_core::classes::{ClassLoss, ClassTally};
use rueful_core::ledger::Tally;
use rueful_core::{
    Batch, Cells, Comparators, Coordinates, Example, Importance, Ledger, Rows, Ruler,
};
use rueful_hindsight::{
    ClassProblem, InMemory, Options, Problem, Scales, Start, solve, solve_classes, solve_unit_free,
    unwatched,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::num::NonZeroU64;

/// The condition for an alarm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alarm {
    /// The regret per round that is allowed.
    pub threshold: f64,
    /// The number of examples in a window. A last window of fewer raises no alarm.
    pub window: NonZeroU64,
}

/// A window in which the best fixed predictor was provably better by more than is allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlarmReport {
    /// The name of the model that made the predictions, if several models are judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The first example of the window, counted from 1.
    pub from: u64,
    /// The last example of the window.
    pub to: u64,
    /// The exact regret in the window, per round.
    pub regret: Interval,
}

impl Alarm {
    /// The alarm of a window, if it raises one.
    pub fn raised_by(&self, window: &WindowReport) -> Option<AlarmReport> {
        let regret = window.regret.filter(|regret| regret.lower > self.threshold)?;
        let is_full = window.examples == self.window.get();
        is_full.then_some(AlarmReport { model: None, from: window.from, to: window.to, regret })
    }

    /// The alarms of all windows of a model's predictions.
    pub fn raised(&self, windows: &[WindowReport], model: Option<&str>) -> Vec<AlarmReport> {
        let all = windows.iter().filter_map(|window| self.raised_by(window));
        all.map(|alarm| AlarmReport { model: model.map(str::to_owned), ..alarm }).collect()
    }
}

/// Finds windows whose exact regret is proved to be above their certificate, which cannot be. Both
/// numbers are withheld.
pub fn withhold_contradictions(windows: &mut [WindowReport]) -> Vec<Contradiction> {
    let mut contradictions = Vec::new();
    for window in windows {
        let name = format!("the certificate of rounds {} to {}", window.from, window.to);
        let crossed = window
            .regret
            .and_then(|regret| Contradiction::between(regret, &name, window.certificate));
        if let Some(crossed) = crossed {
            (window.regret, window.certificate) = (None, None);
            window.beats_every_linear_predictor = false;
            contradictions.push(crossed);
        }
    }
    contradictions
}

/// The rows of the window that is being filled, and the options for solving it when it is full. It
/// takes memory for one window.
#[derive(Debug, Clone)]
pub(crate) struct WindowSolver {
    options: Options,
    /// The features of the window, side by side in the order in which they came.
    cells: Cells,
    kept: Batch,
    buffer: Vec<u32>,
    /// A row in the order of its columns.
    row: Vec<(u32, f32)>,
}

impl WindowSolver {
    pub(crate) fn new(comparators: &Comparators) -> Self {
        Self {
            options: Options::default(),
            cells: Cells::compact(comparators.named_coordinates()),
            kept: Batch::default(),
            buffer: Vec::new(),
            row: Vec::new(),
        }
    }

    /// The same solver with these options.
    pub(crate) fn with(self, options: &Options) -> Self {
        Self { options: *options, ..self }
    }

    /// The number of rows that are kept.
    pub(crate) fn kept(&self) -> u64 {
        self.kept.len() as u64
    }

    /// The rows in the form in which they are saved, where place i gets the cell `order[i]` of the
    /// ledger.
    pub(crate) fn stored(&self, order: &[u32]) -> StoredRows {
        let place_of: HashMap<u32, u32> = order.iter().copied().zip(0..).collect();
        let cells = self.cells.by_cell();
        let beyond = cells.get(self.cells.pinned()..).unwrap_or_default();
        StoredRows {
            // Rows that count were recorded, and every recorded feature has a place.
            columns: beyond.iter().filter_map(|cell| place_of.get(cell).copied()).collect(),
            rows: self.kept.iter().map(|example| StoredRow::of(&example)).collect(),
        }
    }

    /// The rows of a window that were saved, by the cells of a ledger. They may come from anywhere,
    /// so it is `None` if they cannot be such rows.
    pub(crate) fn restored(
        stored: StoredRows,
        comparators: &Comparators,
        cells: &Cells,
    ) -> Option<Self> {
        let (fresh, order) = (Self::new(comparators), cells.in_order());
        let cell = |place: &u32| order.get(*place as usize).copied();
        let columns: Vec<u32> = stored.columns.iter().map(cell).collect::<Option<_>>()?;
        let cells = Cells::side_by_side(&columns, fresh.cells.pinned())?;
        let count = cells.pinned() + columns.len();
        let mut kept = Batch::default();
        for StoredRow { features, label, importance } in stored.rows {
            let importance = Importance::new(importance).ok().filter(|one| !one.is_zero())?;
            if !label.is_finite() || features.iter().any(|&(at, _)| at as usize >= count) {
                return None;
            }
            let (columns, values): (Vec<u32>, Vec<f32>) = features.into_iter().unzip();
            kept.push_weighted(&columns, &values, label, importance).ok()?;
        }
        Some(Self { cells, kept, ..fresh })
    }

    /// Keeps rows of the window, by the cells of the ledger. Rows that do not count are left out.
    pub(crate) fn keep(&mut self, rows: Rows<'_>) {
        let Self { cells, kept, buffer, row, .. } = self;
        for rows in counting(rows) {
            for example in cells.enter(rows, buffer).iter() {
                keep_in_order(&example, row, kept);
            }
        }
    }

    /// The exact regret in the window per round, where `tally` has the loss of its rounds. `None`
    /// where the proofs of its ends contradict each other. Unit-free comparators are measured by
    /// the whole stream so far, as those of the window's certificate are.
    pub(crate) fn regret(
        &self,
        ledger: &Ledger,
        tally: &Tally,
        coordinates: Coordinates<'_>,
    ) -> Option<Interval> {
        let loss = *ledger.loss_function();
        let mut data = InMemory { batches: std::slice::from_ref(&self.kept) };
        let (data, start, options) = (&mut data, Start::default(), &self.options);
        let Ok(solution) = match ledger.comparators() {
            Comparators::Set(set) => {
                let sigma = ledger.minorant().sigma();
                let problem = Problem { loss, sigma, comparators: set.clone() };
                solve(&problem, data, start, options, &mut unwatched)
            }
            Comparators::UnitFree(ball) => {
                // A ledger with unit-free comparators has a ruler.
                let nothing = Ruler::new(&loss);
                let scales = self.scales(coordinates.ruler().unwrap_or(&nothing));
                solve_unit_free(loss, ball.radius, &scales, data, start, options, &mut unwatched)
            }
        };
        HindsightReport::new(&solution, &Columns::All, options).regret(tally)
    }

    /// The exact regret per round in a window of many classes, where `tally` has the loss of its
    /// rounds. All classes so far have weights, as those of the window's certificate do. `ruler` has
    /// measured the stream so far, if comparators have no units.
    pub(crate) fn class_regret(
        &self,
        (loss, classes): (ClassLoss, u32),
        comparators: &Comparators,
        tally: &ClassTally,
        ruler: Option<&Ruler>,
    ) -> Option<Interval> {
        let scales = ruler.map(|ruler| self.scales(ruler).columns);
        let problem = ClassProblem { loss, comparators: comparators.clone(), classes, scales };
        let mut data = InMemory { batches: std::slice::from_ref(&self.kept) };
        let Ok(found) = solve_classes(&problem, &mut data, None, &self.options, &mut unwatched);
        let report = HindsightReport::new(&found.solution, &Columns::All, &self.options);
        report.regret_between(tally.loss_interval(), tally.rounds())
    }

    /// Begins the next window.
    pub(crate) fn clear(&mut self) {
        self.cells = Cells::compact(self.cells.pinned());
        self.kept.clear();
    }

    /// The scales of the whole stream, for the columns of the window.
    fn scales(&self, ruler: &Ruler) -> Scales {
        let size = |&cell: &u32| ruler.largest().get(cell as usize).copied().unwrap_or(0.0);
        Scales { columns: self.cells.by_cell().iter().map(size).collect(), label: ruler.label() }
    }
}

/// The rows of a window as they are saved.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRows {
    /// The features of the columns that are not pinned, by their places among the features that
    /// were seen.
    columns: Vec<u32>,
    rows: Vec<StoredRow>,
}

#[derive(Serialize, Deserialize)]
struct StoredRow {
    /// The columns and values of the row.
    features: Vec<(u32, f32)>,
    label: f64,
    importance: f64,
}

impl StoredRow {
    fn of(example: &Example<'_>) -> Self {
        let x = &example.features;
        let features = x.indices().iter().copied().zip(x.values().iter().copied()).collect();
        Self { features, label: example.label, importance: example.importance.get() }
    }
}

/// Keeps an example with its features in the order of their columns, which solvers need.
fn keep_in_order(example: &Example<'_>, row: &mut Vec<(u32, f32)>, kept: &mut Batch) {
    let x = &example.features;
    row.clear();
    row.extend(x.indices().iter().copied().zip(x.values().iter().copied()));
    row.sort_unstable_by_key(|&(column, _)| column);
    let mut open = kept.open_row(row.len());
    let pushed = row.iter().try_for_each(|&(column, value)| open.push(column, value));
    debug_assert!(pushed.is_ok(), "features are distinct and finite");
    open.finish(example.label, example.importance);
}
