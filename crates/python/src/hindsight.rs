//! Solves for the best fixed predictor of a table, and for the exact regret of a run over it.

use crate::error::{Outcome, PythonError};
use crate::held::way;
use crate::model::table_alone;
use crate::settings::{Asked, AskedColumns};
use crate::side::Side;
use crate::table::{Table, Told, View, Way};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rueful_core::{Comparators, NonNegative};
use rueful_data::{Census, DataError, Seen, Source};
use rueful_hindsight::{Options, Start};
use rueful_run::{
    AnyLoss, HindsightReport, LearnerSpec, Replay, Report, Run, Settings, SquareWatch, Task,
    bound_mistakes,
};
use serde::Serialize;

/// Returns the options that say when the solver stops.
pub(crate) fn options(tolerance: Option<f64>, max_passes: Option<u64>) -> Outcome<Options> {
    let mut options = Options::default();
    if let Some(tolerance) = tolerance {
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(PythonError::value(format!(
                "tolerance: {tolerance} is not a number between 0 and 1"
            )));
        }
        options.tolerance = tolerance;
    }
    if max_passes == Some(0) {
        return Err(PythonError::value(
            "max_passes: at least 1, for one pass gives an interval already",
        ));
    }
    options.max_passes = max_passes;
    Ok(options)
}

/// Refuses to open a table again. A table in memory never needs to be opened twice.
fn never() -> Result<Box<dyn Source>, DataError> {
    Err(DataError::OnceOnly { file: "X".to_owned() })
}

/// Runs a task again over a table, and then solves for the best predictor.
pub(crate) fn replayed(
    task: Task,
    view: View<'_>,
    way: &Way<'_>,
    side: &Side<'_>,
    options: &Options,
) -> Outcome<(Report, Run)> {
    let mut run = Run::new(task)?;
    let task = run.task().clone();
    let mut replay = Replay::new(&never, u64::MAX, &task.comparators);
    let (mut slopes, mut census) = (Vec::new(), Census::default());
    let mut square = SquareWatch::new(&task);
    let Told { names, missing } = view.each(way, Some(side), &mut |rows| {
        run.learn_counted(rows)?;
        replay.keep(rows);
        census.count(rows);
        let counted = rows.iter().zip(run.rounds()).filter(|(row, _)| !row.importance.is_zero());
        slopes.extend(counted.map(|(_, round)| round.slope));
        square.iter_mut().for_each(|square| square.observe(rows, false));
        Ok(())
    })?;
    replay.settle(&census);
    run.saw(Seen { census, names, missing, ..Seen::default() });
    let known = square.as_ref().and_then(|square| square.solution(options));
    let found = match known.zip(square.as_ref()) {
        Some((solution, square)) => HindsightReport::new(&solution, &square.columns(), options),
        None => {
            let start = Start { slopes, lower: Some(run.floor()), ..Start::default() };
            let question =
                Question { loss: &task.loss, sigma: task.sigma, among: &task.comparators };
            question.answer(&mut replay, &run.weights(), start, options)?
        }
    };
    let mut report = run.report();
    report.add_hindsight(found.named(&run.seen().names), run.ledger());
    if let LearnerSpec::Perceptron { .. } = task.learner {
        report.mistake_bound = Some(bound_mistakes(run.ledger(), &mut replay, options)?);
    }
    Ok((report, run))
}

/// The question that the solver answers.
struct Question<'a> {
    loss: &'a AnyLoss,
    sigma: NonNegative,
    among: &'a Comparators,
}

impl Question<'_> {
    fn answer(
        &self,
        replay: &mut Replay<'_>,
        near: &[(u32, f64)],
        start: Start,
        options: &Options,
    ) -> Outcome<HindsightReport> {
        let start = Start { comparator: replay.columns().gather(near), ..start };
        let Self { loss, sigma, among } = *self;
        let solution =
            rueful_run::best_in_hindsight(loss, sigma, among, replay, start, options, &mut |_| ())?;
        Ok(HindsightReport::new(&solution, replay.columns(), options))
    }
}

/// The solver's answer, with the question.
#[derive(Serialize)]
pub(crate) struct Answer {
    #[serde(flatten)]
    pub(crate) found: HindsightReport,
    pub(crate) loss: AnyLoss,
    pub(crate) sigma: f64,
    pub(crate) comparators: Comparators,
}

/// Returns the best fixed predictor of a table, as JSON.
#[pyfunction]
#[pyo3(signature = (settings, columns, table, labels, *, constant, names=None, importances=None, tolerance=None, max_passes=None))]
#[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
pub(crate) fn best_in_hindsight(
    py: Python<'_>,
    settings: Asked,
    columns: AskedColumns,
    table: &Bound<'_, PyAny>,
    labels: PyReadonlyArray1<'_, f64>,
    constant: bool,
    names: Option<Vec<String>>,
    importances: Option<PyReadonlyArray1<'_, f64>>,
    tolerance: Option<f64>,
    max_passes: Option<u64>,
) -> PyResult<String> {
    let options = options(tolerance, max_passes)?;
    let table = Table::of(table)?;
    let (data, dicts) = table_alone(&table, columns, names, constant)?;
    let view = table.view(&dicts)?;
    let side = Side::new(&labels, importances.as_ref())?;
    let settings = Settings::from(settings);
    let (loss, sigma, comparators) = settings.comparison().map_err(PythonError::from)?;
    let answer = py.detach(|| {
        let mut replay = Replay::new(&never, u64::MAX, &comparators);
        let mut census = Census::default();
        let Told { names, .. } = view.each(&way(&data), Some(&side), &mut |rows| {
            check_labels(&loss, rows.labels())?;
            replay.keep(rows);
            census.count(rows);
            Ok(())
        })?;
        replay.settle(&census);
        let question = Question { loss: &loss, sigma, among: &comparators };
        let found = question.answer(&mut replay, &[], Start::default(), &options)?;
        Ok::<_, PythonError>(found.named(&names))
    })?;
    let answer = Answer { found: answer, loss, sigma: sigma.get(), comparators };
    serde_json::to_string(&answer).map_err(|error| PythonError::Runtime(error.to_string()).into())
}

/// Refuses labels that a loss does not accept.
pub(crate) fn check_labels(loss: &AnyLoss, labels: &[f64]) -> Outcome<()> {
    let taken = loss.labels();
    match labels.iter().find(|&&label| !taken.accept(label)) {
        None => Ok(()),
        Some(label) => Err(PythonError::value(format!(
            "y has the label {label}, expected {}",
            taken.expected()
        ))),
    }
}
