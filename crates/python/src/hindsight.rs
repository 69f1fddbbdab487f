//! Solves for the best fixed predictor of a table, and for the exact regret of a run over it.

use crate::error::{Outcome, PythonError};
use crate::held::way;
use crate::labels;
use crate::memory::each_counted;
use crate::model::table_alone;
use crate::settings::{Asked, AskedColumns};
use crate::side::Side;
use crate::table::{Table, Told, View};
use crate::watch::Watch;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rueful_cli::{HindsightAnswer, hindsight_text};
use rueful_core::{Comparators, NonNegative, Rows};
use rueful_data::{Census, DataError, Seen, Source};
use rueful_hindsight::{Options, Start};
use rueful_run::{
    AnyLoss, ClassLoss, ClassRun, ClassTask, DataSpec, HindsightReport, LearnerSpec, Replay,
    Report, Run, Settings, SettingsError, SquareWatch, Task, best_classes_in_hindsight,
    bound_mistakes,
};

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
    data: &DataSpec,
    side: &Side<'_>,
    options: &Options,
) -> Outcome<(Report, Run)> {
    let mut run = Run::new(task)?;
    let task = run.task().clone();
    let mut replay = Replay::new(&never, u64::MAX, &task.comparators);
    let (mut slopes, mut census) = (Vec::new(), Census::default());
    let mut watch = Watch::new(None);
    let mut square = SquareWatch::new(&task);
    let Told { names, missing } = each_counted::<Run>(data, view, &way(data), side, &mut |rows| {
        run.learn_counted(rows)?;
        replay.keep(rows);
        census.count(rows);
        let counted = rows.iter().zip(run.rounds()).filter(|(row, _)| !row.importance.is_zero());
        slopes.extend(counted.map(|(_, round)| round.slope));
        square.iter_mut().for_each(|square| square.observe(rows, false));
        watch.look(|| (0, 0, 0.0))
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

/// Runs a task of many classes again over a table, and then solves for the best matrix of weights. The
/// labels are numbers of classes, which are counted in the order in which they come.
pub(crate) fn replayed_classes(
    task: ClassTask,
    view: View<'_>,
    data: &DataSpec,
    side: &Side<'_>,
    names_of_classes: &[String],
    options: &Options,
) -> Outcome<(Report, ClassRun)> {
    let mut run = ClassRun::new(task)?;
    let ClassTask { loss, comparators, .. } = run.task().clone();
    let mut replay = Replay::new(&never, u64::MAX, &comparators);
    let mut seen = Seen::default();
    labels::announce(&mut seen.labels, names_of_classes);
    let mut watch = Watch::new(None);
    let mut visit = |rows: Rows<'_>| -> Outcome<()> {
        run.learn_counted(rows)?;
        replay.keep(rows);
        seen.census.count(rows);
        labels::count_classes(&mut seen, rows);
        watch.look(|| (0, 0, 0.0))
    };
    let told = each_counted::<ClassRun>(data, view, &way(data), side, &mut visit)?;
    replay.settle(&seen.census);
    (seen.names, seen.missing) = (told.names, told.missing);
    run.saw(seen);
    let question = ClassQuestion { loss, among: &comparators, names: names_of_classes };
    let found = question.answer(&mut replay, run.floor(), options)?;
    let mut report = run.report();
    report.add_class_hindsight(found.named(&run.seen().names), run.ledger().tally());
    Ok((report, run))
}

/// The question that the solver answers for many classes.
struct ClassQuestion<'a> {
    loss: ClassLoss,
    among: &'a Comparators,
    /// The names of the classes, by number.
    names: &'a [String],
}

impl ClassQuestion<'_> {
    fn answer(
        &self,
        replay: &mut Replay<'_>,
        lower: Option<f64>,
        options: &Options,
    ) -> Outcome<HindsightReport> {
        let Self { loss, among, names } = *self;
        let found = Watch::new(None).over(|watch| {
            Ok(best_classes_in_hindsight((loss, 0), among, replay, lower, options, watch)?)
        })?;
        let name_of = |class: u32| match names.get(class as usize) {
            Some(name) => name.clone(),
            None => class.to_string(),
        };
        Ok(HindsightReport::of_classes(&found, replay.columns(), options, name_of))
    }
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
        let solution = Watch::new(None).over(|watch| {
            Ok(rueful_run::best_in_hindsight(loss, sigma, among, replay, start, options, watch)?)
        })?;
        Ok(HindsightReport::new(&solution, replay.columns(), options))
    }
}

/// Returns an answer as JSON, and as `rueful hindsight` prints it.
pub(crate) fn told(answer: &HindsightAnswer) -> PyResult<(String, String)> {
    let json = serde_json::to_string(answer);
    let json = json.map_err(|error| PythonError::Runtime(error.to_string()))?;
    Ok((json, hindsight_text(answer)))
}

/// Returns the best fixed predictor of a table, as JSON and as text. Labels of a loss of many classes are numbers,
/// and `classes` are their names.
#[pyfunction]
#[pyo3(signature = (settings, columns, table, labels, *, constant, names=None, importances=None, tolerance=None, max_passes=None, classes=Vec::new()))]
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
    classes: Vec<String>,
) -> PyResult<(String, String)> {
    let options = options(tolerance, max_passes)?;
    let table = Table::of(table)?;
    let (data, dicts) = table_alone(&table, columns, names, constant)?;
    let view = table.view(&dicts)?;
    let side = Side::new(&labels, importances.as_ref())?;
    let settings = Settings::from(settings);
    let asked = match settings.class_loss() {
        Some(loss) => AnyQuestion::Classes(loss, settings.class_comparison(loss)),
        None => AnyQuestion::Score(settings.comparison()),
    };
    told(&py.detach(|| asked.answer(view, &data, &side, &classes, &options))?)
}

/// A question about one score or about many classes, if the settings make sense.
enum AnyQuestion {
    Score(Result<(AnyLoss, NonNegative, Comparators), SettingsError>),
    Classes(ClassLoss, Result<Comparators, SettingsError>),
}

impl AnyQuestion {
    /// Solves for the best predictor of a table.
    fn answer(
        self,
        view: View<'_>,
        data: &DataSpec,
        side: &Side<'_>,
        classes: &[String],
        options: &Options,
    ) -> Outcome<HindsightAnswer> {
        let keep = |comparators: &Comparators, accepts: &dyn Fn(&[f64]) -> Outcome<()>| {
            let mut replay = Replay::new(&never, u64::MAX, comparators);
            let mut census = Census::default();
            let Told { names, .. } = view.each(&way(data), Some(side), &mut |rows| {
                accepts(rows.labels())?;
                replay.keep(rows);
                census.count(rows);
                Ok(())
            })?;
            replay.settle(&census);
            Ok::<_, PythonError>((replay, names))
        };
        let constant = data.constant;
        match self {
            Self::Score(asked) => {
                let (loss, sigma, comparators) = asked?;
                let (mut replay, names) =
                    keep(&comparators, &|labels| check_labels(&loss, labels))?;
                let question = Question { loss: &loss, sigma, among: &comparators };
                let found = question.answer(&mut replay, &[], Start::default(), options)?;
                let found = found.named(&names);
                let (loss, sigma) = (loss.into(), sigma.get());
                Ok(HindsightAnswer { found, loss, sigma, comparators, constant, data: None })
            }
            Self::Classes(loss, asked) => {
                let comparators = asked?;
                let (mut replay, names) = keep(&comparators, &|_| Ok(()))?;
                let question = ClassQuestion { loss, among: &comparators, names: classes };
                let found = question.answer(&mut replay, None, options)?.named(&names);
                let (loss, sigma) = (loss.into(), 0.0);
                Ok(HindsightAnswer { found, loss, sigma, comparators, constant, data: None })
            }
        }
    }
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
