//! Makes rows from typed cells, for files that are tables but not text.
//!
//! The rules are those of tables as text: the same names go to the same indices, the same cells are
//! missing, the same labels are taken, and errors have the same words. So a table has the same rows
//! however it was saved. Typed cells differ in two ways. A number needs no parsing. A boolean is 1
//! or 0, or `true` or `false` where a name is wanted.

use crate::error::excerpt;
use crate::format::{Fault, FaultFacts};
use crate::ids::Ids;
use crate::labels::{LabelCounts, LabelRule};
use crate::rows::{Rows, Space, importance};
use crate::schema::{Column, Columns, FormatSettings, Role};
use crate::source::{LabelsSeen, Reading};
use crate::table::plan::{self, Action, Filler, Plan};
use crate::{Bits, Census, DataError, Moment, Names, Phrase};
use rueful_core::Batch;
use std::mem;

/// The content of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// There is no value.
    Missing,
    /// A number. NaN means that there is no value.
    Number(f64),
    /// A boolean.
    Truth(bool),
    /// A date, a time or both, in a column of the role [`Role::Date`].
    Moment(Moment),
    /// Text, as it would be in a table of text. `NA` and the like mean that there is no value.
    Text(&'a str),
}

/// The fault of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// The number of the row, counted from 0 and from the last [`take`](Assembler::take) on.
    pub row: usize,
    /// The text that was found. Long text is cut after its beginning, and characters that could
    /// upset a terminal are escaped.
    pub found: String,
    /// A description of the value that should have been there.
    pub expected: String,
    /// A way to put it right, if one is known.
    pub hint: Option<Phrase>,
}

impl RowError {
    /// The error about this row, in a file that had `before` rows before the last take.
    pub fn error(self, file: &str, before: u64) -> DataError {
        DataError::Row {
            file: file.to_owned(),
            row: before + self.row as u64 + 1,
            found: self.found,
            expected: self.expected,
            hint: self.hint,
        }
    }
}

/// Puts rows together from cells, and counts them.
///
/// ```
/// use rueful_core::Batch;
/// use rueful_data::{Assembler, Bits, Cell, Column, Columns, LabelRule, Reading, Role};
/// let column = |name: &str, role| Column { name: name.to_owned(), role };
/// let columns = vec![column("age", Role::Number), column("y", Role::Label)];
/// let columns = Columns::try_from(columns)?;
/// let reading = Reading { constant: false, ..Reading::new(LabelRule::Signs) };
/// let mut assembler = Assembler::new(&columns, Bits::default(), &reading);
///
/// let mut batch = Batch::default();
/// for (age, y) in [(Cell::Number(31.0), true), (Cell::Missing, false)] {
///     assembler.cell(0, age).unwrap();
///     assembler.cell(1, Cell::Truth(y)).unwrap();
///     assembler.finish_row().unwrap();
/// }
/// assembler.take(&mut batch).unwrap();
/// assert_eq!(batch.labels(), [1.0, -1.0]);
/// assert_eq!(batch.get(0).features.values(), [31.0]);
/// assert_eq!(assembler.missing(), [1]);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Assembler {
    plan: Plan,
    rule: LabelRule,
    /// The row being put together.
    filler: Filler,
    is_begun: bool,
    /// The columns that every row must have (label, importance and predictions), and which columns
    /// this row has so far.
    needed: Vec<usize>,
    given: Vec<bool>,
    /// The rows since the last take.
    rows: Rows,
    /// The labels, names and counts of all rows that were taken.
    labels: LabelCounts,
    names: Names,
    missing: Vec<u64>,
    census: Census,
    /// The number of rows finished since the last take, including those of importance 0.
    finished: usize,
    /// The predictions and ids that came with the rows of the last take, and the number of each row.
    predictions: Vec<f64>,
    ids: Ids,
    numbers: Vec<usize>,
}

/// The columns that every row must have. A row with an id may wait for its label.
fn needed(columns: &Columns, reading: &Reading) -> Vec<usize> {
    let has_id = columns.iter().any(|column| column.role == Role::Id);
    let is_needed = |role| match role {
        Role::Label => reading.labels != LabelRule::Ignored && !has_id,
        Role::Importance => !has_id,
        Role::Prediction | Role::Id => true,
        Role::Number | Role::Category | Role::Text | Role::Date | Role::Drop => false,
    };
    let columns = columns.iter().enumerate();
    columns.filter(|(_, column)| is_needed(column.role)).map(|(number, _)| number).collect()
}

impl Assembler {
    /// An assembler for a table of these columns.
    pub fn new(columns: &Columns, bits: Bits, reading: &Reading) -> Self {
        let space = Space { bits, max_index: reading.limits.max_index };
        let plan = Plan::new(columns, space, reading);
        let mut rows = Rows::default();
        let filler = plan.filler(&mut rows);
        Self {
            plan,
            rule: reading.labels.clone(),
            filler,
            is_begun: false,
            given: vec![false; columns.len()],
            needed: needed(columns, reading),
            rows,
            labels: LabelCounts::after(&reading.known_labels, &reading.labels),
            names: Names::default(),
            missing: Vec::new(),
            census: Census::default(),
            finished: 0,
            predictions: Vec::new(),
            ids: Ids::default(),
            numbers: Vec::new(),
        }
    }

    /// Takes the next cell of a row, in any order of the columns. Columns that are dropped may be
    /// left out, and every other column gets one cell. If a cell is wrong, the whole row is
    /// forgotten.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline]
    pub fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), RowError> {
        if !self.is_begun {
            self.begin();
        }
        if let (Cell::Number(number), Action::Number(place)) = (cell, &self.plan.actions[column]) {
            let value = number as f32;
            if value.is_finite() {
                self.filler.numbers[*place] += value;
                return Ok(());
            }
        }
        self.any_cell(column, cell).map_err(|fault| self.wrong(fault))
    }

    fn begin(&mut self) {
        self.plan.begin(&mut self.filler, &mut self.rows);
        self.is_begun = true;
        self.given.fill(false);
    }

    fn any_cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), Fault> {
        let Self { plan, filler, rows, rule, given, finished: at, .. } = self;
        let (action, at) = (&plan.actions[column], *at);
        given[column] = true;
        let number = match (cell, action, rule.takes_numbers()) {
            (Cell::Missing, ..) => return plan.missing(filler, rows, column, b"null", at),
            (Cell::Number(number), ..) if number.is_nan() => {
                return plan.missing(filler, rows, column, b"NaN", at);
            }
            (Cell::Text(text), ..) => {
                return plan.cell(filler, rows, column, text.as_bytes(), at);
            }
            (Cell::Moment(moment), ..) => return plan.moment(filler, rows, column, moment, at),
            (Cell::Number(number), ..) => number,
            (Cell::Truth(truth), Action::Number(_), _)
            | (Cell::Truth(truth), Action::Label, true) => f64::from(u8::from(truth)),
            (Cell::Truth(truth), ..) => {
                let word: &[u8] = if truth { b"true" } else { b"false" };
                return plan.value(filler, rows, column, word, at);
            }
        };
        match action {
            Action::Number(place) if (number as f32).is_finite() => {
                filler.numbers[*place] += number as f32;
            }
            Action::Label => {
                match rows.labels.take_number(rule, number, rows.batch.len(), at) {
                    Some(label) => filler.label = label,
                    // The plan words the fault.
                    None => plan.value(filler, rows, column, written(number).as_bytes(), at)?,
                }
            }
            Action::Importance => match importance(number) {
                Some(importance) => filler.importance = importance,
                None => plan.value(filler, rows, column, written(number).as_bytes(), at)?,
            },
            Action::Prediction(model) if number.is_finite() => filler.predictions[*model] = number,
            _ => plan.value(filler, rows, column, written(number).as_bytes(), at)?,
        }
        Ok(())
    }

    /// Ends the row.
    pub fn finish_row(&mut self) -> Result<(), RowError> {
        if !self.is_begun {
            self.begin();
        }
        if let Some(&column) = self.needed.iter().find(|&&column| !self.given[column]) {
            self.cell(column, Cell::Missing)?;
        }
        let number = self.finished;
        let finished = self.plan.finish(&mut self.filler, &mut self.rows, number, b"this row");
        finished.map_err(|fault| self.wrong(fault))?;
        self.is_begun = false;
        self.finished += 1;
        Ok(())
    }

    #[cold]
    fn wrong(&mut self, fault: Fault) -> RowError {
        self.is_begun = false;
        let FaultFacts { found, expected, hint, .. } = fault.facts();
        RowError { row: self.finished, found, expected, hint }
    }

    /// The number of rows since the last take.
    pub fn rows(&self) -> usize {
        self.rows.batch.len()
    }

    /// The number of rows finished since the last take. Rows of importance 0 count here, even if
    /// they were left out.
    pub fn finished(&self) -> usize {
        self.finished
    }

    /// The number of features that the rows since the last take have together.
    pub fn nonzeros(&self) -> usize {
        self.rows.batch.nonzeros()
    }

    /// Replaces the content of the batch with the rows since the last take, and counts them. If a
    /// label contradicts earlier ones, the rows end before the row that has it.
    pub fn take(&mut self, batch: &mut Batch) -> Result<(), RowError> {
        let result = self.labels.absorb(&self.rows.labels, &self.rule, &mut self.rows.batch);
        let result = result.map_err(|conflict| {
            self.rows.truncate(conflict.row);
            RowError {
                row: conflict.at,
                found: excerpt(conflict.label.as_bytes()),
                expected: self.rule.expected(),
                hint: Some(conflict.hint),
            }
        });
        self.rows.survey_indices();
        self.names.learn(&self.rows.names);
        self.census.count_with(self.rows.batch.rows(), Some(self.rows.indices.iter().copied()));
        self.missing.resize(self.missing.len().max(self.rows.missing.len()), 0);
        self.missing.iter_mut().zip(&self.rows.missing).for_each(|(sum, count)| *sum += count);
        batch.clear();
        mem::swap(batch, &mut self.rows.batch);
        mem::swap(&mut self.predictions, &mut self.rows.predictions);
        mem::swap(&mut self.ids, &mut self.rows.ids);
        mem::swap(&mut self.numbers, &mut self.rows.starts);
        self.finished = 0;
        self.rows.clear();
        self.is_begun = false;
        result
    }

    /// To be asked at the end of the data. If one label should have become +1 and none did, returns
    /// the labels and what was expected.
    pub fn without_positive(&self) -> Option<(String, Phrase)> {
        self.labels.without_positive(&self.rule)
    }

    /// Counts over the rows that were taken.
    pub fn census(&self) -> &Census {
        &self.census
    }

    /// The names of the features of the rows that were taken.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The name of a class, given its number, if labels name classes.
    pub fn class(&self, number: u32) -> Option<&str> {
        self.labels.class(number)
    }

    /// The labels of the rows that were taken, as they are written, as far as they are counted one
    /// by one.
    pub fn labels(&self) -> LabelsSeen {
        self.labels.seen()
    }

    /// The predictions of other models for the rows of the last take: row after row, and within a
    /// row in the order of the columns.
    pub fn predictions(&self) -> &[f64] {
        &self.predictions
    }

    /// The ids of the rows of the last take, if they have ids.
    pub fn ids(&self) -> Option<&Ids> {
        (!self.ids.is_empty()).then_some(&self.ids)
    }

    /// The number of a row of the last take, if it has predictions or an id. It is counted from 0 and from
    /// the previous take on, and rows of importance 0 that were left out count.
    pub fn number(&self, row: usize) -> Option<usize> {
        self.numbers.get(row).copied()
    }

    /// The number of cells without a value in the rows that were taken, by column.
    pub fn missing(&self) -> &[u64] {
        &self.missing
    }
}

/// A number as a person would write it.
fn written(number: f64) -> String {
    if number.abs() < 1e16 { number.to_string() } else { format!("{number:?}") }
}

impl Columns {
    /// The columns called `names`. The role of each is the one that the settings ask for, or else
    /// the one that `usual` gives. There must be a label, unless the settings say that the data may
    /// lack one. `notes` receives how ambiguous wishes were understood.
    pub fn wished(
        file: &str,
        names: &[String],
        format_settings: &FormatSettings,
        notes: &mut Vec<Phrase>,
        mut usual: impl FnMut(usize) -> Role,
    ) -> Result<Self, DataError> {
        let unsuitable = |found: String, expected: &str| DataError::Unsuitable {
            file: file.to_owned(),
            found,
            expected: expected.into(),
        };
        if let Some(twice) = Self::repeated(names) {
            let found = format!("two columns named \"{}\"", excerpt(twice.as_bytes()));
            return Err(unsuitable(found, "different names"));
        }
        let roles = format_settings.roles(file, names, notes)?;
        let columns = names.iter().zip(roles).enumerate().map(|(number, (name, wished))| Column {
            name: name.clone(),
            role: wished.unwrap_or_else(|| usual(number)),
        });
        let columns = Self::checked(columns.collect::<Vec<_>>()).map_err(|expected| {
            unsuitable("columns that do not go together".to_owned(), &expected)
        })?;
        let expansion = format_settings.expansion.expansion(file, &columns, notes)?;
        Ok(columns.expanded(expansion))
    }
}

/// The name of a column as an argument on a command line.
pub fn argument(name: &str) -> String {
    plan::argument(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Follow, Input, Schema, Separator, Source, Table};
    use proptest::prelude::*;

    const ROLES: [(&str, Role); 5] = [
        ("y", Role::Label),
        ("a", Role::Number),
        ("7", Role::Number),
        ("job", Role::Category),
        ("note", Role::Text),
    ];

    fn columns() -> Columns {
        let column = |&(name, role): &(&str, Role)| Column { name: name.to_owned(), role };
        Columns::try_from(ROLES.iter().map(column).collect::<Vec<_>>()).unwrap()
    }

    fn assembler(labels: LabelRule) -> Assembler {
        Assembler::new(&columns(), Bits::default(), &Reading::new(labels))
    }

    fn add(assembler: &mut Assembler, cells: &[Cell<'_>]) -> Result<(), RowError> {
        for (column, &cell) in cells.iter().enumerate() {
            assembler.cell(column, cell)?;
        }
        assembler.finish_row()
    }

    fn message(labels: LabelRule, cells: &[Cell<'_>]) -> String {
        let wrong = add(&mut assembler(labels), cells).unwrap_err();
        wrong.error("data.parquet", 10).to_string()
    }

    #[test]
    fn what_is_wrong_is_told_as_for_text() {
        use Cell::{Missing, Number, Text, Truth};
        let signs = || LabelRule::Signs;
        assert_eq!(
            message(signs(), &[Number(3.0)]),
            "data.parquet: row 11: found \"3\", expected a label that is -1 or +1, or 0 or 1; of \
             two other labels, say which is +1 with positive LABEL; regression losses such as \
             square take any number"
        );
        for (cell, found) in [(Missing, "null"), (Number(f64::NAN), "NaN"), (Text("NA"), "NA")] {
            assert_eq!(
                message(signs(), &[cell]),
                format!(
                    "data.parquet: row 11: found \"{found}\", expected a label in column \"y\"; \
                     a row without a label teaches nothing"
                )
            );
        }
        assert_eq!(
            message(signs(), &[Truth(true), Number(f64::NEG_INFINITY)]),
            "data.parquet: row 11: found \"-inf\", expected a finite number in column \"a\"; an \
             infinite value cannot be learned from"
        );
        assert_eq!(
            message(signs(), &[Truth(true), Number(-1e39)]),
            "data.parquet: row 11: found \"-1e39\", expected a number that fits in single \
             precision (at most 3.4028235e38 in size)"
        );
        assert_eq!(
            message(signs(), &[Truth(true), Text("x")]),
            "data.parquet: row 11: found \"x\", expected a finite number in column \"a\"; \
             categorical a takes its values as names, drop a leaves it out, an empty cell is a \
             missing value"
        );
        let mut none = assembler(signs());
        none.cell(1, Number(1.0)).unwrap();
        assert_eq!(none.finish_row().unwrap_err().found, "null");
        none.cell(0, Number(1.0)).unwrap();
        none.finish_row().unwrap();
        assert_eq!(none.nonzeros(), 1, "nothing is left of the row before");
    }

    #[test]
    fn labels_that_do_not_go_together_end_the_rows() {
        let mut both = assembler(LabelRule::Signs);
        for label in [1.0, 0.0, -1.0, 1.0] {
            add(&mut both, &[Cell::Number(label)]).unwrap();
        }
        let mut batch = Batch::default();
        let wrong = both.take(&mut batch).unwrap_err();
        assert_eq!((wrong.row, wrong.found.as_str(), batch.len()), (2, "-1", 2));
        assert!(wrong.hint.unwrap().to_string().starts_with("-1 and 0 both appear"));
        assert_eq!((both.census().examples, both.rows()), (2, 0));
    }

    #[test]
    fn a_truth_is_a_number_or_a_name() {
        let mut all = assembler(LabelRule::Positive("true".to_owned()));
        let yes = Cell::Truth(true);
        add(&mut all, &[yes, yes, Cell::Truth(false), yes, yes]).unwrap();
        add(&mut all, &[Cell::Truth(false)]).unwrap();
        let mut batch = Batch::default();
        all.take(&mut batch).unwrap();
        assert_eq!(batch.labels(), [1.0, -1.0]);
        let x = batch.get(0).features;
        let mut names: Vec<_> = x.indices().iter().filter_map(|&i| all.names().get(i)).collect();
        names.sort();
        assert_eq!(names, ["a", "job=true", "note:true"]);
        let counts = [("true".to_owned(), 1), ("false".to_owned(), 1)];
        assert_eq!(all.labels().counts, counts);
    }

    #[derive(Debug, Clone)]
    struct Row {
        label: f64,
        numbers: [Option<f64>; 2],
        job: Option<String>,
        note: String,
    }

    fn row() -> impl Strategy<Value = Row> {
        let number = prop_oneof![
            Just(None),
            (-1e3..1e3).prop_map(Some),
            (-9i32..9).prop_map(|n| Some(f64::from(n)))
        ];
        let job = prop_oneof![Just(None), "[a-z]{1,3}|NA|[?]".prop_map(Some)];
        ((-5i32..5).prop_map(f64::from), [number.clone(), number], job, "[a-c ]{0,9}|NA")
            .prop_map(|(label, numbers, job, note)| Row { label, numbers, job, note })
    }

    fn text(rows: &[Row]) -> String {
        let number = |n: Option<f64>| n.map(|n| n.to_string()).unwrap_or_default();
        let line = |row: &Row| {
            let job = row.job.as_deref().unwrap_or_default();
            let [a, b] = row.numbers.map(number);
            format!("{},{a},{b},{job},\"{}\"\n", row.label, row.note)
        };
        rows.iter().map(line).collect()
    }

    proptest! {
        #[test]
        fn a_table_has_the_same_rows_as_text(rows in prop::collection::vec(row(), 1..20)) {
            let reading = Reading::new(LabelRule::Any);
            let mut typed = Assembler::new(&columns(), Bits::default(), &reading);
            let number = |n: Option<f64>| n.map_or(Cell::Missing, Cell::Number);
            for row in &rows {
                let [a, b] = row.numbers.map(number);
                let job = row.job.as_deref().map_or(Cell::Missing, Cell::Text);
                let cells = [Cell::Number(row.label), a, b, job, Cell::Text(&row.note)];
                add(&mut typed, &cells).unwrap();
            }
            let mut batch = Batch::default();
            typed.take(&mut batch).unwrap();

            let table = Table {
                separator: Separator::Comma,
                quotes: true,
                header: false,
                bits: Bits::default(),
                columns: columns(),
            };
            let input = Input::new("text", std::io::Cursor::new(text(&rows)), &Follow::No).unwrap();
            let mut source = crate::Reader::new(vec![input], &Schema::Csv(table), &reading);
            let mut expected = Batch::default();
            source.fill(&mut expected).unwrap();
            prop_assert_eq!(batch.labels(), expected.labels());
            for (one, other) in batch.iter().zip(expected.iter()) {
                prop_assert_eq!(one.features.indices(), other.features.indices());
                prop_assert_eq!(one.features.values(), other.features.values());
            }
            prop_assert_eq!(typed.census(), source.census());
            prop_assert_eq!(typed.names(), source.names());
            prop_assert_eq!(typed.labels(), source.labels());
            prop_assert_eq!(typed.missing(), source.missing());
        }
    }
}
