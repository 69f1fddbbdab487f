//! Turns cells into rows. The action for every column is worked out before the first row.
//!
//! The features of number columns are the same in every row, so their indices are hashed and sorted
//! once. A row then only fills in the values. Features from categories and words come in any order,
//! and only rows with such columns pay for sorting.

use super::words::Words;
use crate::error::excerpt;
use crate::expansion::Expander;
use crate::expansion::cross::Groups;
use crate::expansion::curves::ColumnCurves;
use crate::expansion::terms::ManyGrams;
use crate::format::{Fault, quoted};
use crate::labels::LabelRule;
use crate::moment::{Moment, MomentNames};
use crate::names::{Prefix, numeric};
use crate::number::{double_at, single_at};
use crate::phrase::Phrase;
use crate::rows::{FeatureSink, IMPORTANCE, NO_LABEL_YET, Rows, Space, importance};
use crate::schema::{Column, Columns, Role};
use crate::source::Reading;
use rueful_core::Importance;

/// The cells that hold no value, besides the empty one.
const MISSING: [&[u8]; 8] = [b"?", b"NA", b"N/A", b"NaN", b"nan", b"null", b"NULL", b"None"];

/// Whether a cell holds no value.
#[inline]
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    cell.is_empty() || (cell.len() <= 4 && MISSING.contains(&cell))
}

/// The actions for the cells of a table.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    columns: Columns,
    /// The indices of the number columns, in increasing order.
    indices: Vec<u32>,
    /// The index, hash and name of each number column whose name is to be reported.
    names: Vec<(u32, u64, String)>,
    /// Whether some column adds features that differ from row to row.
    has_loose: bool,
    /// Whether some column holds importances.
    has_importance: bool,
    /// The number of columns that hold predictions.
    predictions: usize,
    /// The number of columns that make features, if some column holds ids.
    identified: Option<usize>,
    expander: Expander,
    /// The columns of numbers that are expanded. Their numbers come after those of `indices`.
    expanded: Vec<ExpandedNumber>,
    space: Space,
    rule: LabelRule,
    constant: bool,
    /// Whether rows of importance 0 are delivered.
    idle_rows: bool,
}

/// The action for a cell.
#[derive(Debug)]
pub(crate) enum Action {
    /// It is the label.
    Label,
    /// It is the importance of the row.
    Importance,
    /// It is the prediction of the model with this number.
    Prediction(usize),
    /// It is the id of the row.
    Id,
    /// It is a number, which goes to this place among the numbers.
    Number(usize),
    /// Its features are also crossed with others.
    Crossed(Box<Crossed>),
    /// Its value becomes a feature.
    Category(Prefix),
    /// Its words become features.
    Text(Prefix),
    /// The parts of its date become features.
    Date(Box<MomentNames>),
    /// It is ignored.
    Drop,
}

/// A column that is crossed and does not hold numbers.
#[derive(Debug)]
pub(crate) struct Crossed {
    group: usize,
    action: Action,
}

/// A column of numbers that is crossed, or becomes several features.
#[derive(Debug)]
struct ExpandedNumber {
    column: usize,
    name: String,
    /// The text before the names of the features of its curves.
    prefix: Prefix,
    group: Option<usize>,
}

/// The row being put together, and the memory that this needs.
#[derive(Debug)]
pub(crate) struct Filler {
    pub(crate) numbers: Vec<f32>,
    pub(crate) label: f64,
    pub(crate) importance: Importance,
    pub(crate) predictions: Vec<f64>,
    id: Vec<u8>,
    /// The place of the importance if it has no value, in a row that may lack one.
    no_importance: Option<(usize, usize)>,
    words: Words,
    is_sparse: bool,
    /// The columns without a value, as far as features say so.
    absent: Vec<usize>,
    /// The features of crossed columns.
    groups: Groups,
}

impl Plan {
    pub(crate) fn new(columns: &Columns, space: Space, reading: &Reading) -> Self {
        let mut names = Vec::new();
        let index_of = |name: &str| match numeric(name.as_bytes(), space.max_index) {
            Some(index) => (index, None),
            None => {
                let hash = Prefix::NONE.hash(name.as_bytes());
                (space.bits.index(hash), Some(hash))
            }
        };
        let expander = Expander::new(columns);
        let (mut indices, mut expanded) = (Vec::new(), Vec::new());
        let numbers = columns.iter().enumerate().filter(|(_, c)| c.role == Role::Number);
        for (number, column) in numbers {
            let group = expander.group(number);
            if group.is_some() || expander.curves(number).is_some() {
                let (name, prefix) = (column.name.clone(), ColumnCurves::prefix(&column.name));
                expanded.push(ExpandedNumber { column: number, name, prefix, group });
                continue;
            }
            let (index, hash) = index_of(&column.name);
            indices.push(index);
            names.extend(hash.map(|hash| (index, hash, column.name.clone())));
        }
        indices.sort_unstable();
        indices.dedup();
        let slot = |name: &str| match expanded.iter().position(|number| number.name == name) {
            Some(place) => indices.len() + place,
            None => indices.binary_search(&index_of(name).0).unwrap_or(0),
        };
        let mut predictions = 0..;
        let mut action = |column: &Column| match column.role {
            Role::Label => Action::Label,
            Role::Importance => Action::Importance,
            Role::Prediction => Action::Prediction(predictions.next().unwrap_or(0)),
            Role::Id => Action::Id,
            Role::Number => Action::Number(slot(&column.name)),
            Role::Category => Action::Category(Prefix::new(format!("{}=", column.name))),
            Role::Text => Action::Text(Prefix::new(format!("{}:", column.name))),
            Role::Date => Action::Date(Box::new(MomentNames::new(&column.name))),
            Role::Drop => Action::Drop,
        };
        let actions = columns.iter().enumerate().map(|(number, column)| {
            match (action(column), expander.group(number)) {
                (action @ Action::Number(_), _) | (action, None) => action,
                (action, Some(group)) => Action::Crossed(Box::new(Crossed { group, action })),
            }
        });
        let actions: Vec<_> = actions.collect();
        let is_loose = |action: &Action| {
            use Action::{Category, Crossed, Date, Text};
            matches!(action, Category(_) | Text(_) | Date(_) | Crossed(_))
        };
        let has_loose = actions.iter().any(is_loose) || !expanded.is_empty();
        Self {
            expander,
            expanded,
            has_importance: columns.iter().any(|column| column.role == Role::Importance),
            predictions: columns.predictions().count(),
            identified: identified(columns),
            actions,
            columns: columns.clone(),
            indices,
            names,
            has_loose,
            space,
            rule: reading.labels.clone(),
            constant: reading.constant,
            idle_rows: reading.idle_rows,
        }
    }

    /// Begins to fill rows, and reports the names of the number columns.
    pub(crate) fn filler(&self, rows: &mut Rows) -> Filler {
        for (index, hash, name) in &self.names {
            rows.names.note(*index, *hash, &Prefix::NONE, name.as_bytes());
        }
        Filler {
            numbers: vec![0.0; self.indices.len() + self.expanded.len()],
            label: 0.0,
            importance: Importance::ONE,
            predictions: vec![0.0; self.predictions],
            id: Vec::new(),
            no_importance: None,
            words: Words::new(self.columns.expansion().terms()),
            is_sparse: false,
            absent: Vec::new(),
            groups: self.expander.row_groups(),
        }
    }

    /// Whether a row is one prediction and nothing else.
    #[inline]
    pub(crate) fn is_one_prediction(&self) -> bool {
        matches!(self.actions[..], [Action::Prediction(_)])
    }

    pub(crate) fn name(&self, column: usize) -> &str {
        &self.columns[column].name
    }

    /// Begins a row that mentions few of its columns. Numbers are added in the order in which they
    /// come.
    pub(crate) fn begin_sparse(&self, filler: &mut Filler, rows: &mut Rows) {
        filler.is_sparse = true;
        rows.begin(self.constant);
        filler.numbers[self.indices.len()..].fill(0.0);
        self.begin_marked(filler, rows);
    }

    /// Begins a row.
    #[inline]
    pub(crate) fn begin(&self, filler: &mut Filler, rows: &mut Rows) {
        filler.is_sparse = false;
        filler.numbers.fill(0.0);
        if self.has_loose {
            rows.begin(self.constant);
        }
        self.begin_marked(filler, rows);
    }

    /// Begins the parts of a row that only some tables have.
    #[inline]
    fn begin_marked(&self, filler: &mut Filler, rows: &mut Rows) {
        self.begin_expanding(filler);
        if self.identified.is_some() {
            filler.id.clear();
            // A number that no label is: the row has no label so far.
            filler.label = f64::NAN;
            filler.importance = Importance::ONE;
            filler.no_importance = None;
            rows.mark();
        } else if self.has_importance {
            rows.mark();
        }
    }

    /// Forgets what the row before left to expand.
    #[inline]
    fn begin_expanding(&self, filler: &mut Filler) {
        filler.absent.clear();
        if self.expander.has_crosses() {
            filler.groups.clear();
        }
    }

    /// Takes the number at `at` in `text`, if `is_end` says that it ends where its cell does.
    /// Returns where that is.
    #[inline(always)]
    pub(crate) fn number_at(
        &self,
        filler: &mut Filler,
        place: usize,
        text: &[u8],
        at: usize,
        is_end: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (value, end) = single_at(text, at)?;
        if !is_end(end) || !value.is_finite() {
            return None;
        }
        filler.numbers[place] += value;
        Some(end)
    }

    /// Takes the label at `at` in `text`, if it is a number and `is_end` says that it ends where
    /// its cell does. Returns where that is.
    #[inline]
    pub(crate) fn label_at(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        text: &[u8],
        at: usize,
        is_end: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (number, end) = double_at(text, at)?;
        if !is_end(end) {
            return None;
        }
        filler.label = rows.labels.take_number(&self.rule, number, rows.batch.len(), at)?;
        Some(end)
    }

    /// Takes the content of a cell that begins at `at`, whether it is a value or not.
    pub(crate) fn cell(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        column: usize,
        cell: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        let is_missing = if self.is_text(column) { cell.is_empty() } else { is_missing(cell) };
        if is_missing {
            self.missing(filler, rows, column, cell, at)
        } else {
            self.value(filler, rows, column, cell, at)
        }
    }

    /// Whether a column holds running text.
    fn is_text(&self, column: usize) -> bool {
        match &self.actions[column] {
            Action::Text(_) => true,
            Action::Crossed(crossed) => matches!(crossed.action, Action::Text(_)),
            _ => false,
        }
    }

    /// Takes a cell without a value.
    pub(crate) fn missing(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        column: usize,
        cell: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        match self.actions[column] {
            Action::Drop => {}
            Action::Label if self.identified.is_some() => {}
            Action::Label => return Err(self.no_label_fault(cell, at)),
            Action::Id => return Err(self.id_fault(column, cell, at)),
            Action::Importance if self.identified.is_some() => {
                filler.no_importance = Some((column, at));
            }
            Action::Importance => return Err(self.importance_fault(column, cell, at)),
            Action::Prediction(_) => return Err(self.prediction_fault(column, cell, at)),
            ref other => {
                if let Action::Number(place) = other
                    && *place >= self.indices.len()
                {
                    filler.numbers[*place] = f32::NAN;
                }
                rows.miss(column);
                if self.expander.indicates(column) {
                    filler.absent.push(column);
                }
            }
        }
        Ok(())
    }

    /// Takes a cell that has a value.
    pub(crate) fn value(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        column: usize,
        value: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        match &self.actions[column] {
            Action::Drop => {}
            Action::Label => {
                let label = rows.labels.take(&self.rule, value, rows.batch.len(), at);
                filler.label = label.ok_or_else(|| self.label_fault(value, at))?;
            }
            Action::Importance => {
                let counts = whole_number(value).and_then(importance);
                filler.importance =
                    counts.ok_or_else(|| self.importance_fault(column, value, at))?;
            }
            Action::Prediction(model) => {
                let number = whole_number(value).filter(|number| number.is_finite());
                filler.predictions[*model] =
                    number.ok_or_else(|| self.prediction_fault(column, value, at))?;
            }
            Action::Id => {
                filler.id.clear();
                filler.id.extend_from_slice(value);
            }
            Action::Text(prefix) => {
                let added = filler.words.add(&self.space, prefix, value, rows);
                added.map_err(|ManyGrams| gram_fault(value, at))?;
            }
            Action::Category(prefix) => rows.add_named(&self.space, prefix, value, 1.0),
            Action::Date(names) => match Moment::parse(value) {
                Some(moment) => names.add(moment, &self.space, rows),
                None => return Err(date_fault(self.name(column), value, at)),
            },
            Action::Number(place) => match (number_in(value), self.indices.get(*place)) {
                (Some(number), Some(&index)) if filler.is_sparse => rows.add(index, number),
                (Some(number), _) => filler.numbers[*place] += number,
                (None, _) => return Err(number_fault(self.name(column), value, at)),
            },
            Action::Crossed(crossed) => self.crossed(filler, rows, crossed, column, value, at)?,
        }
        Ok(())
    }

    /// Takes a value whose features are crossed.
    fn crossed(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        crossed: &Crossed,
        column: usize,
        value: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        let mut sink = filler.groups.recorder(crossed.group, rows);
        match &crossed.action {
            Action::Text(prefix) => {
                let added = filler.words.add(&self.space, prefix, value, &mut sink);
                added.map_err(|ManyGrams| gram_fault(value, at))?;
            }
            Action::Category(prefix) => sink.add_named(&self.space, prefix, value, 1.0),
            Action::Date(names) => match Moment::parse(value) {
                Some(moment) => names.add(moment, &self.space, &mut sink),
                None => return Err(date_fault(self.name(column), value, at)),
            },
            _ => {}
        }
        Ok(())
    }

    /// Takes a date or time that needs no parsing.
    pub(crate) fn moment(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        column: usize,
        moment: Moment,
        at: usize,
    ) -> Result<(), Fault> {
        if let Action::Date(names) = &self.actions[column] {
            names.add(moment, &self.space, rows);
            return Ok(());
        }
        if let Action::Crossed(crossed) = &self.actions[column]
            && let Action::Date(names) = &crossed.action
        {
            let mut sink = filler.groups.recorder(crossed.group, rows);
            names.add(moment, &self.space, &mut sink);
            return Ok(());
        }
        Err(number_fault(self.name(column), b"a date", at))
    }

    /// Ends the row that began at `start`. `line` is its text.
    #[inline]
    pub(crate) fn finish(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        start: usize,
        line: &[u8],
    ) -> Result<(), Fault> {
        if let Some(features) = self.identified {
            if self.identify(filler, rows, features)? {
                rows.starts.push(start);
                return Ok(());
            }
        } else if filler.importance.is_zero() && !self.idle_rows {
            rows.forget_row();
            return Ok(());
        }
        let result = if filler.is_sparse {
            self.expand(filler, rows, start, line)?;
            rows.finish(filler.label, filler.importance).is_ok()
        } else if self.has_loose || !filler.absent.is_empty() {
            if !self.has_loose {
                rows.begin(self.constant);
            }
            self.expand(filler, rows, start, line)?;
            for (&index, &value) in self.indices.iter().zip(&filler.numbers) {
                if value != 0.0 {
                    rows.add(index, value);
                }
            }
            rows.finish(filler.label, filler.importance).is_ok()
        } else {
            self.finish_numbers(filler, rows)
        };
        if !result {
            return Err(sum_fault(line, start));
        }
        if self.predictions > 0 {
            rows.predictions.extend_from_slice(&filler.predictions);
        }
        if self.predictions > 0 || self.identified.is_some() {
            rows.starts.push(start);
        }
        Ok(())
    }

    /// Reports the id of a row, of whose table `features` columns make features. A row without a
    /// label waits for one. Returns whether the row is finished, because it has nothing but a label.
    fn identify(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        features: usize,
    ) -> Result<bool, Fault> {
        let is_labelled = !filler.label.is_nan();
        if is_labelled && let Some((column, at)) = filler.no_importance {
            return Err(self.importance_fault(column, b"", at));
        }
        rows.ids.push(&filler.id, is_labelled);
        if !is_labelled {
            (filler.label, filler.importance) = (NO_LABEL_YET, Importance::ZERO);
            rows.keep_waiting();
            return Ok(false);
        }
        let is_bare = rows.missed() == features;
        if is_bare {
            rows.finish_bare(filler.label, filler.importance);
        }
        Ok(is_bare)
    }

    /// Adds the features of expanded numbers, of cells without a value, and of crosses.
    fn expand(
        &self,
        filler: &mut Filler,
        rows: &mut Rows,
        start: usize,
        line: &[u8],
    ) -> Result<(), Fault> {
        let Filler { numbers, absent, groups, .. } = filler;
        for &column in &*absent {
            self.expander.indicate(column, &self.space, groups, rows);
        }
        for (number, &value) in self.expanded.iter().zip(&numbers[self.indices.len()..]) {
            // A cell without a value is NaN.
            match number.group {
                _ if value.is_nan() => {}
                Some(group) => self.number(number, value, &mut groups.recorder(group, rows)),
                None => self.number(number, value, rows),
            }
        }
        let crossed = self.expander.cross(groups, &self.space, rows);
        crossed.map_err(|fault| Fault::new(start, line, fault.expected()))
    }

    /// Adds the features of a number that is expanded.
    fn number(&self, number: &ExpandedNumber, value: f32, rows: &mut impl FeatureSink) {
        let (space, name) = (&self.space, number.name.as_bytes());
        match self.expander.curves(number.column) {
            Some(curves) => curves.add(&number.prefix, name, value, space, rows),
            None if value != 0.0 => rows.add_named(space, &Prefix::NONE, name, value),
            None => {}
        }
    }

    #[inline]
    fn finish_numbers(&self, filler: &Filler, rows: &mut Rows) -> bool {
        let mut row = rows.batch.open_row(self.indices.len() + 1);
        if self.constant && row.push(0, 1.0).is_err() {
            return false;
        }
        for (&index, &value) in self.indices.iter().zip(&filler.numbers) {
            if row.push(index, value).is_err() {
                return false;
            }
        }
        row.finish(filler.label, filler.importance);
        if filler.importance.is_zero() {
            rows.forget_row();
        }
        true
    }
}

/// The number of columns that make features, if some column holds ids.
fn identified(columns: &Columns) -> Option<usize> {
    let has_id = columns.iter().any(|column| column.role == Role::Id);
    let features = columns.iter().filter(|column| column.role.is_feature());
    has_id.then(|| features.count())
}

/// The faults, with explanations.
impl Plan {
    #[cold]
    fn no_label_fault(&self, cell: &[u8], at: usize) -> Fault {
        let expected = format!("a label in column {}", quoted(self.columns.label()));
        Fault::new(at, cell, expected).hint("a row without a label teaches nothing")
    }

    #[cold]
    fn importance_fault(&self, column: usize, cell: &[u8], at: usize) -> Fault {
        let expected = format!("{IMPORTANCE}, in column {}", quoted(self.name(column)));
        Fault::new(at, cell, expected)
    }

    #[cold]
    fn id_fault(&self, column: usize, cell: &[u8], at: usize) -> Fault {
        let expected = format!("an id in column {}", quoted(self.name(column)));
        Fault::new(at, cell, expected).hint("a label finds its row by its id")
    }

    #[cold]
    fn prediction_fault(&self, column: usize, cell: &[u8], at: usize) -> Fault {
        let name = quoted(self.name(column));
        let fault =
            Fault::new(at, cell, format!("a prediction, a finite number, in column {name}"));
        if cell.is_empty() {
            return fault.hint("every row has one, in the order of the examples");
        }
        fault
    }

    #[cold]
    fn label_fault(&self, cell: &[u8], at: usize) -> Fault {
        let is_large = double_at(cell, 0)
            .is_some_and(|(number, end)| end == cell.len() && number.abs() > f64::from(f32::MAX));
        if is_large {
            return Fault::new(at, cell, size_expected());
        }
        let fault = Fault::new(at, cell, self.rule.expected());
        match self.rule.hint() {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}

/// The fault of a cell that is not a date in a column of dates, with the settings that would read
/// it.
#[cold]
pub(crate) fn date_fault(name: &str, cell: &[u8], at: usize) -> Fault {
    let expected = "a date such as 2026-11-16 or 2026-11-16 13:05:00";
    let fault = Fault::new(at, cell, format!("{expected} in column {}", quoted(name)));
    fault.hint(other_readings(name))
}

/// The fault of a text that has too many n-grams.
#[cold]
pub(crate) fn gram_fault(text: &[u8], at: usize) -> Fault {
    Fault::new(at, text, ManyGrams::expected())
}

/// The settings that read a column in another way.
fn other_readings(name: &str) -> Phrase {
    let word = argument(name);
    Phrase::default()
        .setting("categorical")
        .and(format!(" {word} takes its values as names, "))
        .setting("drop")
        .and(format!(" {word} leaves it out, an empty cell is a missing value"))
}

/// The number in a cell. A boolean is 1 or 0.
pub(crate) fn number_in(cell: &[u8]) -> Option<f32> {
    match single_at(cell, 0) {
        Some((number, end)) if end == cell.len() && number.is_finite() => Some(number),
        Some((_, end)) if end == cell.len() => None,
        _ => truth_in(cell).map(|truth| f32::from(u8::from(truth))),
    }
}

/// The boolean that a word stands for.
pub(crate) fn truth_in(cell: &[u8]) -> Option<bool> {
    match cell {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// The fault of a cell that is not a number in a column of numbers, with the settings that would
/// read it.
#[cold]
pub(crate) fn number_fault(name: &str, cell: &[u8], at: usize) -> Fault {
    let is_large = double_at(cell, 0).is_some_and(|(_, end)| end == cell.len());
    if is_large {
        return Fault::new(at, cell, size_expected());
    }
    let fault = Fault::new(at, cell, format!("a finite number in column {}", quoted(name)));
    if is_infinite(cell) {
        return fault.hint("an infinite value cannot be learned from");
    }
    fault.hint(other_readings(name))
}

#[cold]
fn sum_fault(line: &[u8], start: usize) -> Fault {
    let expected = "features whose sum fits in single precision where their indices meet";
    let hint = Phrase::from("their names meet by chance in the same place: another ");
    Fault::new(start, line, expected).hint(hint.setting("bits").and(" parts them"))
}

/// The number in a cell, if the whole cell is a number.
fn whole_number(cell: &[u8]) -> Option<f64> {
    double_at(cell, 0).filter(|&(_, end)| end == cell.len()).map(|(number, _)| number)
}

/// The description of a number that fits, for one that is too large.
pub(crate) fn size_expected() -> String {
    format!("a number that fits in single precision (at most {:e} in size)", f32::MAX)
}

/// Whether a cell is a word for an infinite number.
pub(crate) fn is_infinite(cell: &[u8]) -> bool {
    let word = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
    word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"infinity")
}

/// A name as an argument on a command line.
pub(crate) fn argument(name: &str) -> String {
    // A name that is cut or has escapes is no longer the name, but it harms no terminal.
    let name = excerpt(name.as_bytes());
    let is_plain = |c: char| c.is_alphanumeric() || "_-.+:/@%=,".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        name
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}
