//! JSON lines: one object per line.
//!
//! A number is a feature under its key. `true` is 1 and `false` is 0. A string makes the feature
//! `key=string`, and `null` is missing. Keys within objects are joined with a point, as in
//! `user.age`. The elements of an array are numbered, as in `scores.0`, except for strings, each of
//! which makes a feature `key=string`. A role that a setting gives to a key holds for everything
//! below that key. A key that occurs twice in one row is an error.

mod keys;
mod parse;

pub(crate) use keys::{is_key, keys_in};

use crate::error::excerpt;
use crate::expansion::cross::Groups;
use crate::expansion::terms::ManyGrams;
use crate::expansion::{Expander, MISSING, PART, is_indicated};
use crate::format::{Fault, Format, quoted};
use crate::labels::LabelRule;
use crate::moment::{Moment, MomentNames};
use crate::names::Prefix;
use crate::number::{double_at, single_at};
use crate::rows::{FeatureSink, IMPORTANCE, NO_LABEL_YET, Rows, Space, importance};
use crate::schema::{Column, Columns, FormatSettings, Role};
use crate::source::Reading;
use crate::table::date_note;
use crate::table::plan::{
    date_fault, gram_fault, is_missing, number_fault, number_in, size_expected,
};
use crate::table::words::Words;
use crate::text::{Text, lines};
use crate::{Bits, DataError, Phrase};
use parse::{Parser, Scratch, Sink};
use rueful_core::Importance;
use serde::{Deserialize, Serialize};

/// The roles of the values of JSON lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Json {
    /// The number of bits in the index of a feature that has a name.
    pub bits: Bits,
    /// Whether other keys are ignored, as they are if the keys are the columns of a table. Values
    /// are then treated like cells: a string may be a number, or missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// The keys whose role does not follow from their values: the label, and those that settings
    /// mention. Missing values under other keys are counted together, after those of these columns.
    pub columns: Columns,
}

impl Json {
    /// Infers the roles for lines that begin like these.
    pub(crate) fn infer(
        file: &str,
        beginning: &[u8],
        format_settings: &FormatSettings,
    ) -> Result<(Self, Vec<Phrase>), DataError> {
        if format_settings.label.is_none() && !format_settings.unlabelled {
            let columns = keys::listed(beginning);
            return Err(DataError::NoLabel { file: file.to_owned(), columns });
        }
        let mut columns: Vec<Column> = Vec::new();
        for (role, setting, names) in format_settings.wished() {
            for name in names {
                match columns.iter().find(|column| column.name == *name) {
                    Some(known) if known.role == role => {}
                    Some(known) => {
                        let (column, other) = (name.clone(), known.role.setting());
                        return Err(DataError::Contradiction { column, setting, other });
                    }
                    None => columns.push(Column { name: name.clone(), role }),
                }
            }
        }
        let mut notes = vec![Phrase::from("JSON lines")];
        for name in keys::dates(beginning, &columns) {
            notes.push(date_note(&name));
            columns.push(Column { name, role: Role::Date });
        }
        keys::add_columns(file, beginning, &format_settings.expansion, &mut columns)?;
        let columns = Columns::checked(columns).map_err(|expected| DataError::Unsuitable {
            file: file.to_owned(),
            found: "keys that do not go together".to_owned(),
            expected: expected.into(),
        })?;
        let expansion = format_settings.expansion.expansion(file, &columns, &mut notes)?;
        let columns = columns.expanded(expansion);
        notes.extend(keys::notes(beginning, &columns).into_iter().map(Phrase::from));
        Ok((Self { bits: format_settings.bits, closed: false, columns }, notes))
    }
}

/// The format, and how its rows are read.
#[derive(Debug)]
pub(crate) struct JsonFormat {
    /// The hash and the number of each column, in the order of the hashes.
    roles: Vec<(u64, usize)>,
    columns: Columns,
    /// The numbers of the columns that a row must have beside its label: the importance and the
    /// predictions.
    importance: Option<usize>,
    predictions: Vec<usize>,
    /// The number of the column of ids, if rows without a label wait for one.
    id: Option<usize>,
    /// The names of the features that are made from dates, for the columns that hold dates.
    dates: Vec<Option<MomentNames>>,
    expander: Expander,
    /// Whether a null makes a feature that says so.
    indicates: bool,
    space: Space,
    rule: LabelRule,
    constant: bool,
    /// Whether rows of importance 0 are delivered.
    idle_rows: bool,
    /// Whether keys that are not columns are ignored.
    closed: bool,
    /// Whether rows need no label.
    unlabelled: bool,
}

impl JsonFormat {
    pub(crate) fn new(json: &Json, reading: &Reading) -> Self {
        let hash = |(number, column): (usize, &Column)| {
            (Prefix::NONE.hash(column.name.as_bytes()), number)
        };
        let mut roles: Vec<_> = json.columns.iter().enumerate().map(hash).collect();
        roles.sort_unstable();
        let with_role = |role| {
            let columns = json.columns.iter().enumerate();
            columns.filter(move |(_, column)| column.role == role).map(|(number, _)| number)
        };
        Self {
            importance: with_role(Role::Importance).next(),
            predictions: with_role(Role::Prediction).collect(),
            id: with_role(Role::Id).next(),
            dates: json.columns.iter().map(date_names).collect(),
            expander: Expander::new(&json.columns),
            indicates: json.columns.expansion().missing,
            roles,
            columns: json.columns.clone(),
            space: Space { bits: json.bits, max_index: reading.limits.max_index },
            rule: reading.labels.clone(),
            constant: reading.constant,
            idle_rows: reading.idle_rows,
            closed: json.closed,
            unlabelled: reading.labels == LabelRule::Ignored || !json.columns.has_label(),
        }
    }

    /// The column for a key.
    #[inline]
    fn find(&self, key: &[u8], hash: u64) -> Option<usize> {
        let place = self.roles.binary_search_by_key(&hash, |entry| entry.0).ok()?;
        let column = self.roles[place].1;
        (self.columns[column].name.as_bytes() == key).then_some(column)
    }
}

/// The names of the features of a column, if it holds dates.
fn date_names(column: &Column) -> Option<MomentNames> {
    (column.role == Role::Date).then(|| MomentNames::new(&column.name))
}

impl Format for JsonFormat {
    fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
        match self.expander.has_made() {
            true => self.read_rows::<true>(text, rows),
            false => self.read_rows::<false>(text, rows),
        }
    }
}

impl JsonFormat {
    /// Adds the rows of a text. `MADE` says whether features are made of numbers or of several
    /// columns.
    fn read_rows<const MADE: bool>(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
        let bytes = text.bytes();
        let mut scratch = Scratch::default();
        let mut filler = Filler::<MADE> {
            format: self,
            rows,
            label: None,
            importance: None,
            predictions: vec![None; self.predictions.len()],
            id: None,
            nulls: 0,
            given: vec![false; if self.indicates && self.closed { self.columns.len() } else { 0 }],
            groups: self.expander.row_groups(),
            prefix: Prefix::NONE,
            words: Words::new(self.columns.expansion().terms()),
        };
        for (start, line) in lines(bytes) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let line = &bytes[..start + line.len()];
            filler.begin();
            Parser { text: line, at: start, scratch: &mut scratch }.row(&mut filler)?;
            filler.finish(line, start)?;
        }
        Ok(())
    }
}

/// The text before the name of a feature.
#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    /// The current prefix, which begins with the key.
    Key,
}

/// Puts a row together.
struct Filler<'a, const MADE: bool> {
    format: &'a JsonFormat,
    rows: &'a mut Rows,
    label: Option<f64>,
    importance: Option<Importance>,
    predictions: Vec<Option<f64>>,
    id: Option<Vec<u8>>,
    /// The number of features that say that a key has no value.
    nulls: usize,
    /// Which columns the row has, if the keys are the columns of a table. A column that it lacks has
    /// no value.
    given: Vec<bool>,
    /// The features of crossed columns.
    groups: Groups,
    prefix: Prefix,
    words: Words,
}

impl<const MADE: bool> Filler<'_, MADE> {
    fn begin(&mut self) {
        (self.label, self.importance) = (None, None);
        self.predictions.fill(None);
        (self.id, self.nulls) = (None, 0);
        self.given.fill(false);
        if MADE {
            self.groups.clear();
        }
        self.rows.begin(self.format.constant);
        if self.format.importance.is_some() || self.format.id.is_some() {
            self.rows.mark();
        }
    }

    /// Takes a number that is not a feature, for the column of the importances or a column of
    /// predictions.
    fn quantity(
        &mut self,
        mark: Option<usize>,
        number: Option<f64>,
        found: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        let column = mark.unwrap_or(0);
        let place = self.format.predictions.iter().position(|&prediction| prediction == column);
        let is_taken = match place {
            Some(place) => {
                self.predictions[place] = number.filter(|number| number.is_finite());
                self.predictions[place].is_some()
            }
            None => {
                self.importance = number.and_then(importance);
                self.importance.is_some()
            }
        };
        if is_taken { Ok(()) } else { Err(self.quantity_fault(column, found, at)) }
    }

    #[cold]
    fn quantity_fault(&self, column: usize, found: &[u8], at: usize) -> Fault {
        let column = &self.format.columns[column];
        let expected = match column.role {
            Role::Importance => IMPORTANCE,
            _ => "a prediction, a finite number",
        };
        Fault::new(at, found, format!("{expected}, under the key {}", quoted(&column.name)))
    }

    /// Refuses a row without its importance or a prediction.
    fn check_quantities(&self, line: &[u8], start: usize) -> Result<(), Fault> {
        let format = self.format;
        let importance = format.importance.filter(|_| self.importance.is_none());
        let predictions = format.predictions.iter().zip(&self.predictions);
        let mut missing =
            predictions.filter(|(_, number)| number.is_none()).map(|(&column, _)| column);
        match importance.or_else(|| missing.next()) {
            Some(column) => Err(self.quantity_fault(column, &line[start..], start)),
            None => Ok(()),
        }
    }

    fn role(&self, column: Option<usize>) -> Option<Role> {
        let unnamed = self.format.closed.then_some(Role::Drop);
        column.map(|column| self.format.columns[column].role).or(unnamed)
    }

    /// Takes a string in a column of numbers.
    fn number_in(
        &mut self,
        key: &[u8],
        mark: Option<usize>,
        value: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        match number_in(value) {
            Some(number) => {
                self.number_feature(mark, key, number);
                Ok(())
            }
            None => {
                let name = self.format.columns.get(mark.unwrap_or(0)).map_or("", |c| &c.name);
                Err(number_fault(name, value, at))
            }
        }
    }

    /// Takes a date.
    fn date(
        &mut self,
        key: &[u8],
        mark: Option<usize>,
        value: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        let format = self.format;
        let column = mark.unwrap_or(0);
        let names = format.dates.get(column).and_then(Option::as_ref);
        match (Moment::parse(value), names, self.group(mark)) {
            (Some(moment), Some(names), Some(group)) => {
                names.add(moment, &format.space, &mut self.groups.recorder(group, self.rows));
            }
            (Some(moment), Some(names), None) => names.add(moment, &format.space, self.rows),
            _ => return Err(date_fault(&String::from_utf8_lossy(key), value, at)),
        }
        Ok(())
    }

    /// The group of a column in the crosses.
    #[inline]
    fn group(&self, mark: Option<usize>) -> Option<usize> {
        if MADE { self.format.expander.group(mark?) } else { None }
    }

    /// Adds a feature of the column `mark`.
    #[inline]
    fn feature(&mut self, mark: Option<usize>, before: Before, name: &[u8], value: f32) {
        let space = &self.format.space;
        let prefix = match before {
            Before::Nothing => &Prefix::NONE,
            Before::Key => &self.prefix,
        };
        match self.group(mark) {
            Some(group) => {
                self.groups.recorder(group, self.rows).add_named(space, prefix, name, value);
            }
            None => self.rows.add_named(space, prefix, name, value),
        }
    }

    /// Adds the features of a number in the column `mark`.
    #[inline]
    fn number_feature(&mut self, mark: Option<usize>, key: &[u8], value: f32) {
        let format = self.format;
        let curves =
            if MADE { mark.and_then(|column| format.expander.curves(column)) } else { None };
        let Some(curves) = curves else {
            return self.feature(mark, Before::Nothing, key, value);
        };
        self.prefix.set(&[key, PART.as_bytes()]);
        match self.group(mark) {
            Some(group) => {
                let mut sink = self.groups.recorder(group, self.rows);
                curves.add(&self.prefix, key, value, &format.space, &mut sink);
            }
            None => curves.add(&self.prefix, key, value, &format.space, self.rows),
        }
    }

    /// Adds the features of columns that the row lacks, and of crosses.
    fn expand(&mut self, line: &[u8], start: usize) -> Result<(), Fault> {
        let Self { format, rows, given, groups, .. } = self;
        for (column, _) in given.iter().enumerate().filter(|(_, is_given)| !**is_given) {
            if format.expander.indicates(column) {
                rows.miss(column);
                format.expander.indicate(column, &format.space, groups, rows);
            }
        }
        let crossed = format.expander.cross(groups, &format.space, rows);
        crossed.map_err(|fault| Fault::new(start, &line[start..], fault.expected()))
    }

    /// Whether a string stands for a missing value, as it would in a cell of a table.
    fn is_missing(&self, mark: Option<usize>, value: &[u8]) -> bool {
        match self.role(mark) {
            Some(Role::Date) => is_missing(value),
            Some(Role::Category | Role::Number) => self.format.closed && is_missing(value),
            Some(Role::Text) => self.format.closed && value.is_empty(),
            _ => false,
        }
    }

    /// Takes a feature `key=value`.
    fn category(&mut self, key: &[u8], mark: Option<usize>, value: &[u8]) {
        self.prefix.set(&[key, b"="]);
        self.feature(mark, Before::Key, value, 1.0);
    }

    /// Takes running text.
    fn text(
        &mut self,
        key: &[u8],
        mark: Option<usize>,
        value: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        self.prefix.set(&[key, b":"]);
        let space = &self.format.space;
        let added = match self.group(mark) {
            Some(group) => {
                let mut sink = self.groups.recorder(group, self.rows);
                self.words.add(space, &self.prefix, value, &mut sink)
            }
            None => self.words.add(space, &self.prefix, value, self.rows),
        };
        added.map_err(|ManyGrams| gram_fault(value, at))
    }

    fn label(&mut self, label: Option<f64>, found: &[u8], at: usize) -> Result<(), Fault> {
        self.label = Some(label.ok_or_else(|| self.label_fault(found, at))?);
        Ok(())
    }

    fn finish(&mut self, line: &[u8], start: usize) -> Result<(), Fault> {
        if self.format.id.is_some() && self.identify(line, start)? {
            return Ok(());
        }
        let unlabelled = self.format.unlabelled.then_some(0.0);
        let Some(label) = self.label.or(unlabelled) else {
            let expected = format!("a label under the key {}", quoted(self.format.columns.label()));
            return Err(Fault::new(start, &line[start..], expected));
        };
        self.check_quantities(line, start)?;
        let importance = self.importance.unwrap_or(Importance::ONE);
        if importance.is_zero() && !self.format.idle_rows && self.format.id.is_none() {
            self.rows.forget_row();
            return Ok(());
        }
        if MADE || !self.given.is_empty() {
            self.expand(line, start)?;
        }
        self.rows.finish(label, importance).map_err(|_| {
            let expected = "features whose sum fits in single precision where their indices meet";
            Fault::new(start, &line[start..], expected)
        })?;
        if !self.predictions.is_empty() {
            self.rows.predictions.extend(self.predictions.iter().flatten());
        }
        if !self.predictions.is_empty() || self.format.id.is_some() {
            self.rows.starts.push(start);
        }
        Ok(())
    }

    /// Reports the id of the row. A row without a label waits for one. Returns whether the row is
    /// finished, because it has nothing but a label.
    fn identify(&mut self, line: &[u8], start: usize) -> Result<bool, Fault> {
        let Some(id) = &self.id else {
            let name = self.format.id.map_or("", |column| &self.format.columns[column].name);
            let expected = format!("an id under the key {}", quoted(name));
            let fault = Fault::new(start, &line[start..], expected);
            return Err(fault.hint("a label finds its row by its id"));
        };
        self.rows.ids.push(id, self.label.is_some());
        let Some(label) = self.label else {
            (self.label, self.importance) = (Some(NO_LABEL_YET), Some(Importance::ZERO));
            self.rows.keep_waiting();
            return Ok(false);
        };
        let is_bare = self.rows.features(self.format.constant) == self.nulls;
        if is_bare {
            self.check_quantities(line, start)?;
            self.rows.finish_bare(label, self.importance.unwrap_or(Importance::ONE));
            self.rows.starts.push(start);
        }
        Ok(is_bare)
    }

    #[cold]
    fn label_fault(&self, found: &[u8], at: usize) -> Fault {
        let rule = &self.format.rule;
        let fault = Fault::new(at, found, rule.expected());
        match rule.hint() {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}

impl<const MADE: bool> Sink for Filler<'_, MADE> {
    /// The column whose role holds at this place.
    type Mark = Option<usize>;

    #[inline]
    fn enter(&mut self, key: &[u8], hash: u64, outer: Self::Mark) -> Self::Mark {
        let found = self.format.find(key, hash);
        if let Some(given) = found.and_then(|column| self.given.get_mut(column)) {
            *given = true;
        }
        found.or(outer)
    }

    fn number(
        &mut self,
        key: &[u8],
        mark: Self::Mark,
        written: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        match self.role(mark) {
            Some(Role::Drop) => {}
            Some(Role::Category) => self.category(key, mark, written),
            Some(Role::Label) => {
                let number = double_at(written, 0).map_or(f64::NAN, |(number, _)| number);
                let row = self.rows.batch.len();
                let label = self.rows.labels.take_number(&self.format.rule, number, row, at);
                self.label(label, written, at)?;
            }
            Some(Role::Importance | Role::Prediction) => {
                let number = double_at(written, 0).map(|(number, _)| number);
                self.quantity(mark, number, written, at)?;
            }
            Some(Role::Text | Role::Date) => self.string(key, mark, written, at)?,
            Some(Role::Id) => self.id = Some(written.to_vec()),
            Some(Role::Number) | None => {
                let value = single_at(written, 0).map_or(f32::NAN, |(value, _)| value);
                if !value.is_finite() {
                    return Err(Fault::new(at, written, size_expected()));
                }
                self.number_feature(mark, key, value);
            }
        }
        Ok(())
    }

    fn string(
        &mut self,
        key: &[u8],
        mark: Self::Mark,
        value: &[u8],
        at: usize,
    ) -> Result<(), Fault> {
        if self.is_missing(mark, value) {
            return self.null(key, mark, at);
        }
        match self.role(mark) {
            Some(Role::Drop) => {}
            Some(Role::Label) => {
                let row = self.rows.batch.len();
                let label = self.rows.labels.take(&self.format.rule, value, row, at);
                self.label(label, value, at)?;
            }
            Some(Role::Importance | Role::Prediction) => {
                let number = double_at(value, 0).filter(|&(_, end)| end == value.len());
                self.quantity(mark, number.map(|(number, _)| number), value, at)?;
            }
            Some(Role::Id) => self.id = Some(value.to_vec()),
            Some(Role::Date) => self.date(key, mark, value, at)?,
            Some(Role::Text) => self.text(key, mark, value, at)?,
            Some(Role::Number) => self.number_in(key, mark, value, at)?,
            Some(Role::Category) | None => self.category(key, mark, value),
        }
        Ok(())
    }

    fn boolean(
        &mut self,
        key: &[u8],
        mark: Self::Mark,
        value: bool,
        at: usize,
    ) -> Result<(), Fault> {
        let word: &[u8] = if value { b"true" } else { b"false" };
        match (self.role(mark), self.format.rule.takes_numbers()) {
            (Some(Role::Label), true) => {
                let row = self.rows.batch.len();
                let number = f64::from(u8::from(value));
                let label = self.rows.labels.take_number(&self.format.rule, number, row, at);
                self.label(label, word, at)
            }
            (Some(Role::Importance | Role::Prediction), _) => self.quantity(mark, None, word, at),
            (Some(Role::Label | Role::Category | Role::Text | Role::Date), _)
            | (Some(Role::Drop | Role::Id), _) => self.string(key, mark, word, at),
            (Some(Role::Number) | None, _) => {
                self.number_feature(mark, key, f32::from(u8::from(value)));
                Ok(())
            }
        }
    }

    fn null(&mut self, key: &[u8], mark: Self::Mark, at: usize) -> Result<(), Fault> {
        match self.role(mark) {
            Some(Role::Drop | Role::Id) => Ok(()),
            Some(Role::Label | Role::Importance) if self.format.id.is_some() => Ok(()),
            Some(Role::Importance | Role::Prediction) => self.quantity(mark, None, b"null", at),
            Some(Role::Label) => {
                let expected =
                    format!("a label under the key {}", quoted(self.format.columns.label()));
                Err(Fault::new(at, b"null", expected).hint("a row without a label teaches nothing"))
            }
            _ => {
                self.rows.miss(mark.unwrap_or(self.format.columns.len()));
                if self.format.indicates && self.role(mark).is_none_or(is_indicated) {
                    self.prefix.set(&[key, PART.as_bytes()]);
                    self.feature(mark, Before::Key, MISSING.as_bytes(), 1.0);
                    self.nulls += 1;
                }
                Ok(())
            }
        }
    }

    fn open(&mut self, mark: Self::Mark, found: &[u8], at: usize) -> Result<(), Fault> {
        if self.role(mark) == Some(Role::Label) {
            let label = excerpt(self.format.columns.label().as_bytes());
            let expected = format!("a label under the key \"{label}\": a number, word or truth");
            return Err(Fault::new(at, found, expected));
        }
        match self.role(mark) {
            Some(Role::Importance | Role::Prediction) => self.quantity(mark, None, found, at),
            _ => Ok(()),
        }
    }
}
