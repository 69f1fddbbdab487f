//! Passes over parts of the data, for engines that look for the best predictor on many machines.

use crate::dicts::Dicts;
use crate::error::{Outcome, PythonError};
use crate::held::way;
use crate::hindsight::{check_labels, options};
use crate::labels;
use crate::model::{AnyHeld, Model, read};
use crate::side::Side;
use crate::table::{Room, Table, Told, Way};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rueful_cli::HindsightAnswer;
use rueful_core::classes::class_of;
use rueful_core::loss::{AnyLoss, Logistic, Loss};
use rueful_core::set::AnySet;
use rueful_core::{Batch, Cells, Comparators, Features, Positive, Rows, Ruler};
use rueful_data::{Bits, Seen};
use rueful_hindsight::{
    ClassFrame, ClassSolution, Contradiction, Method, Options, Scales, Solution, Source, Visit,
};
use rueful_run::{ClassLoss, Columns, DataSpec, HindsightReport, TaskLoss};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The part of what u = 0 loses below which a minimum counts as next to nothing.
const LEAST_SCALE: f64 = 1e-6;

/// What a model says of the question: how rows are read, the loss, the comparators, and the names of
/// classes that have a score each. Labels are then the places of these names.
struct Asked {
    data: DataSpec,
    loss: TaskLoss,
    comparators: Comparators,
    names: Vec<String>,
}

impl Asked {
    fn of(model: &Model) -> PyResult<Self> {
        Ok(match model.held() {
            AnyHeld::Score(held) => {
                let held = read(held)?;
                let (task, data) = (held.model.run.task(), held.model.data.clone());
                let comparators = task.comparators.clone();
                Self { data, loss: task.loss.into(), comparators, names: Vec::new() }
            }
            AnyHeld::Classes(held) => {
                let held = read(held)?;
                let (task, data) = (held.model.run.task(), held.model.data.clone());
                let (comparators, names) =
                    (task.comparators.clone(), labels::names(&held.model.stream));
                Self { data, loss: task.loss.into(), comparators, names }
            }
        })
    }

    fn ruler(&self) -> Ruler {
        match &self.loss {
            TaskLoss::Score(loss) => Ruler::new(loss),
            // Labels that are classes have the size 1.
            TaskLoss::Classes(_) => Ruler::new(&Logistic {}),
        }
    }

    /// Refuses labels that the loss does not take.
    fn check(&self, labels: &[f64]) -> Outcome<()> {
        if let TaskLoss::Score(loss) = &self.loss {
            return check_labels(loss, labels);
        }
        let is_known =
            |label: &f64| class_of(*label).is_some_and(|c| (c as usize) < self.names.len());
        match labels.iter().find(|label| !is_known(label)) {
            None => Ok(()),
            Some(label) => Err(PythonError::value(format!(
                "y has the label {label}, expected the place of one of {} classes",
                self.names.len()
            ))),
        }
    }
}

/// Shows the rows of a table in Python's memory, with labels and importances.
fn each_row(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    way: &Way<'_>,
    labels: &PyReadonlyArray1<'_, f64>,
    importances: Option<&PyReadonlyArray1<'_, f64>>,
    visit: &mut (dyn FnMut(Rows<'_>) -> Outcome<()> + Send),
) -> PyResult<Told> {
    let table = Table::of(table)?;
    let side = Side::new(labels, importances)?;
    let view = table.view(&Dicts::new(Bits::default(), false, false))?;
    Ok(py.detach(|| {
        let mut room = Room::default();
        view.checked(way, &side, &mut room)?.each(way, Some(&side), &mut |rows| visit(rows))
    })?)
}

fn to_bytes<'py>(py: Python<'py>, what: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = postcard::to_allocvec(what);
    let bytes = bytes.map_err(|error| PythonError::Runtime(error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

fn from_bytes<T: DeserializeOwned>(bytes: &Bound<'_, PyBytes>) -> PyResult<T> {
    let wrong = |_| PythonError::value("bytes: expected those that were made from another one");
    Ok(postcard::from_bytes(bytes.as_bytes()).map_err(wrong)?)
}

/// The features of some rows, with the largest value of each, and the largest label.
#[pyclass(module = "rueful._rueful")]
#[derive(Serialize, Deserialize)]
pub(crate) struct Sizes {
    seen: Seen,
    cells: Vec<(u32, f32)>,
    label: f64,
}

#[pymethods]
impl Sizes {
    /// Makes the sizes of no rows.
    #[new]
    fn new() -> Self {
        Self { seen: Seen::default(), cells: Vec::new(), label: 0.0 }
    }

    /// Measures the rows of a table, which a model knows how to read.
    #[pyo3(signature = (model, table, labels, importances=None))]
    fn add(
        &mut self,
        py: Python<'_>,
        model: &Model,
        table: &Bound<'_, PyAny>,
        labels: PyReadonlyArray1<'_, f64>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let asked = Asked::of(model)?;
        let (mut cells, mut ruler) = (Cells::pinning(0), asked.ruler());
        let (mut seen, mut buffer) = (Seen::default(), Vec::new());
        let is_of_many = !asked.names.is_empty();
        labels::announce(&mut seen.labels, &asked.names);
        let way = way(&asked.data);
        let told = each_row(py, table, &way, &labels, importances.as_ref(), &mut |rows| {
            asked.check(rows.labels())?;
            seen.census.count(rows);
            if is_of_many {
                labels::count_classes(&mut seen, rows);
            }
            ruler.observe_rows(cells.enter(rows, &mut buffer));
            Ok(())
        })?;
        (seen.names, seen.missing) = (told.names, told.missing);
        let largest = |cell: u32| ruler.largest().get(cell as usize).copied().unwrap_or(0.0);
        let sizes = cells.features().into_iter().zip(cells.in_order());
        let cells = sizes.map(|(feature, cell)| (feature, largest(cell))).collect();
        self.take(&Self { seen, cells, label: ruler.label() });
        Ok(())
    }

    /// Takes in the sizes of other rows.
    fn merge(&mut self, other: PyRef<'_, Self>) {
        self.take(&other);
    }

    fn examples(&self) -> u64 {
        self.seen.census.examples
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, self)
    }

    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<Self> {
        from_bytes(bytes)
    }
}

impl Sizes {
    fn take(&mut self, other: &Self) {
        self.seen.extend(&other.seen);
        self.label = self.label.max(other.label);
        self.cells.extend_from_slice(&other.cells);
        self.cells.sort_by_key(|&(feature, _)| feature);
        self.cells.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = kept.1.max(later.1);
            }
            is_same
        });
    }
}

/// The question for the best predictor of some data, with everything that a pass needs to know.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct Question {
    asked: Asked,
    radius: Positive,
    columns: Columns,
    compared: Compared,
}

/// The predictors that are compared: a weight for every column, or a matrix of them for many classes.
enum Compared {
    Weights(AnyLoss, Scales),
    Matrices(ClassFrame),
}

impl Compared {
    /// Takes the largest value of every column, and the largest label.
    fn new(asked: &Asked, sizes: &Sizes, mut sized: Vec<f32>) -> Self {
        match asked.loss {
            TaskLoss::Score(loss) if asked.comparators.is_unit_free() => {
                Self::Weights(loss, Scales { columns: sized, label: sizes.label })
            }
            TaskLoss::Score(loss) => {
                sized.fill(1.0);
                Self::Weights(loss, Scales { columns: sized, label: 1.0 })
            }
            TaskLoss::Classes(loss) => {
                // A class of which no row counts has no weights.
                let counts = (0..).zip(&sizes.seen.labels.counts);
                let there = counts.filter(|(_, (_, count))| *count > 0);
                let classes = there.map(|(class, _)| class).collect();
                Self::Matrices(ClassFrame::new(loss, &asked.comparators, classes, &sized))
            }
        }
    }

    fn scales(&self) -> &Scales {
        match self {
            Self::Weights(_, scales) => scales,
            Self::Matrices(frame) => frame.scales(),
        }
    }
}

#[pymethods]
impl Question {
    /// Asks for the best predictor of the data that were measured, by the loss and the ball of
    /// comparators of a model.
    #[new]
    fn new(model: &Model, sizes: PyRef<'_, Sizes>) -> PyResult<Self> {
        let asked = Asked::of(model)?;
        let columns = Columns::of(&sizes.seen.census, 0);
        let sized: Vec<(u32, f64)> =
            sizes.cells.iter().map(|&(feature, size)| (feature, size.into())).collect();
        let sized = columns.gather(&sized).iter().map(|&size| size as f32).collect();
        let radius = match &asked.comparators {
            Comparators::UnitFree(ball) => ball.radius,
            Comparators::Set(AnySet::Ball(ball)) => ball.radius,
            Comparators::Set(_) => {
                let what = "comparators: expected a ball, for the solver on many machines";
                return Err(PythonError::value(what).into());
            }
        };
        let compared = Compared::new(&asked, &sizes, sized);
        Ok(Self { asked, radius, columns, compared })
    }

    /// Returns the largest value of the column of every weight. They are the units of comparators.
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, &self.compared.scales().columns)
    }

    /// Returns the radius of the ball of comparators, in these units.
    fn radius(&self) -> f64 {
        self.radius.get() * self.compared.scales().label
    }

    /// Whether the loss has a kink, so that it has no second derivatives.
    fn is_kinked(&self) -> bool {
        match &self.asked.loss {
            TaskLoss::Score(loss) => loss.is_linear() || loss.kink(1.0).is_some(),
            TaskLoss::Classes(loss) => *loss == ClassLoss::MulticlassHinge {},
        }
    }

    /// Whether no loss is negative.
    fn is_nonnegative(&self) -> bool {
        self.asked.loss.is_nonnegative()
    }

    /// Begins a pass at the weights u, or at their nearest multiple in the ball.
    fn begin(&self, u: PyReadonlyArray1<'_, f64>, wants_hessian: bool) -> Pass {
        let visit = self.visit(u.as_array().to_vec());
        let sums = rueful_hindsight::Pass::new(&visit, wants_hessian);
        Pass { u: visit.comparator().to_vec(), sums }
    }

    /// Returns the lower bound that passes over all data prove together, each with its share.
    fn floor(&self, passes: Vec<PyRef<'_, Pass>>, shares: Vec<f64>) -> f64 {
        let passes: Vec<_> =
            shares.iter().copied().zip(passes.iter().map(|one| &one.sums)).collect();
        rueful_hindsight::Pass::mixed_floor(&passes, &self.visit(Vec::new()))
    }

    /// Returns the answer as JSON: the best of the passes, the lower bound that was proved, and
    /// what u = 0 loses.
    #[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
    #[pyo3(signature = (best, lower, *, at_zero, passes, tolerance, method, sizes))]
    fn answer(
        &self,
        best: PyRef<'_, Pass>,
        lower: f64,
        at_zero: f64,
        passes: u64,
        tolerance: f64,
        method: &str,
        sizes: PyRef<'_, Sizes>,
    ) -> PyResult<String> {
        let options = options(Some(tolerance), None)?;
        let method = match method {
            "newton" => Method::Newton,
            "quasi-newton" => Method::QuasiNewton,
            _ => Method::Bundle,
        };
        let upper = best.sums.upper();
        let relative_gap = (upper - lower) / upper.abs().max(LEAST_SCALE * at_zero.abs());
        let solution = Solution {
            lower,
            upper,
            relative_gap,
            comparator: best.u.clone(),
            examples: best.sums.examples(),
            passes,
            method,
            converged: (0.0..=tolerance).contains(&relative_gap),
            contradiction: (lower > upper).then_some(Contradiction {
                lower,
                lower_from: Source::Dual,
                upper,
                upper_from: Source::Primal,
            }),
        };
        let found = self.report(solution, &options).named(&sizes.seen.names);
        let comparators = self.asked.comparators.clone();
        let (loss, constant) = (self.asked.loss, self.asked.data.constant);
        let answer = HindsightAnswer { found, loss, sigma: 0.0, comparators, constant, data: None };
        let answer = serde_json::to_string(&answer);
        Ok(answer.map_err(|error| PythonError::Runtime(error.to_string()))?)
    }
}

impl Question {
    fn visit(&self, u: Vec<f64>) -> Visit<'_> {
        match &self.compared {
            Compared::Weights(_, scales) => Visit::new(scales, self.radius, u),
            Compared::Matrices(frame) => frame.visit(u),
        }
    }

    fn report(&self, solution: Solution, options: &Options) -> HindsightReport {
        let Compared::Matrices(frame) = &self.compared else {
            return HindsightReport::new(&solution, &self.columns, options);
        };
        let found = ClassSolution { solution, classes: frame.class_numbers().to_vec() };
        let name_of = |class: u32| self.asked.names[class as usize].clone();
        HindsightReport::of_classes(&found, &self.columns, options, name_of)
    }

    /// Refuses rows with features that were not there when the data were measured.
    fn check(&self, rows: Rows<'_>) -> Outcome<()> {
        let Columns::Seen(seen) = &self.columns else { return Ok(()) };
        let is_new = |index: &u32| seen.binary_search(index).is_err();
        let first_new = |x: Features<'_>| x.indices().iter().copied().find(is_new);
        match rows.iter().find_map(|example| first_new(example.features)) {
            None => Ok(()),
            Some(index) => Err(PythonError::value(format!(
                "feature {index} was not there in an earlier pass: the data must stay the same"
            ))),
        }
    }
}

/// A pass over some rows at one comparator. Passes over parts of the data add up.
#[pyclass(module = "rueful._rueful")]
pub(crate) struct Pass {
    u: Vec<f64>,
    sums: rueful_hindsight::Pass,
}

#[pymethods]
impl Pass {
    /// Visits the rows of a table.
    #[pyo3(signature = (question, table, labels, importances=None))]
    fn add(
        &mut self,
        py: Python<'_>,
        question: &Question,
        table: &Bound<'_, PyAny>,
        labels: PyReadonlyArray1<'_, f64>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let visit = question.visit(self.u.clone());
        let (sums, mut copy) = (&mut self.sums, Batch::default());
        let way = way(&question.asked.data);
        each_row(py, table, &way, &labels, importances.as_ref(), &mut |rows| {
            question.asked.check(rows.labels())?;
            question.check(rows)?;
            let rows = question.columns.renumber(rows, &mut copy);
            let added = match &question.compared {
                Compared::Weights(loss, _) => sums.add(loss, &visit, rows),
                Compared::Matrices(frame) => sums.add_classes(frame, &visit, rows),
            };
            added.map_err(|why| PythonError::value(why.to_string()))
        })?;
        Ok(())
    }

    /// Takes in a pass over other rows at the same comparator.
    fn merge(&mut self, other: PyRef<'_, Self>) -> PyResult<()> {
        let merged = self.sums.merge(&other.sums);
        Ok(merged.map_err(|why| PythonError::value(why.to_string()))?)
    }

    /// Returns the most that the comparator loses, rounding included.
    fn upper(&self) -> f64 {
        self.sums.upper()
    }

    fn examples(&self) -> u64 {
        self.sums.examples()
    }

    /// Returns the comparator.
    fn comparator<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.u)
    }

    /// Returns the gradient at the comparator, and the tangent's value at 0.
    fn minorant<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, f64) {
        let (slopes, offset) = self.sums.minorant();
        (PyArray1::from_vec(py, slopes), offset)
    }

    /// Returns the lower triangle of the second derivatives, row by row.
    fn hessian<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.sums.hessian())
    }

    /// Returns the sums as bytes, without the comparator, which whoever sent it knows.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &self.sums)
    }

    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<Self> {
        Ok(Self { u: Vec::new(), sums: from_bytes(bytes)? })
    }
}
