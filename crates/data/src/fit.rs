//! Known columns, found again by name in another file.
//!
//! What becomes of a column was decided when the first file was read. The next file may be of
//! another format, have its columns in another order and have others beside them: what it is itself
//! only says where each column is.

use crate::json::Json;
use crate::recognize::recognize_as;
use crate::schema::{Column, Columns, FormatSettings, Role, Schema, listed_up_to};
use crate::table::{Table, header_in};
use crate::{Bits, DataError};
use std::collections::{HashMap, HashSet};

/// So many columns are told where one is missing.
const SHOWN: usize = 8;

/// What the rows of a file are for, which decides what columns it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// They are learned from: label, importance and predictions are needed.
    Learn,
    /// They are predicted, and the label is compared with the prediction where there is one.
    Compare,
    /// They are predicted, and a label is passed over.
    Predict,
}

impl Purpose {
    /// What becomes of a column that is known to have this role.
    fn role(self, known: Role) -> Role {
        match (self, known) {
            (Self::Compare, Role::Prediction) => Role::Drop,
            (Self::Predict, Role::Label | Role::Importance | Role::Prediction) => Role::Drop,
            (_, known) => known,
        }
    }

    /// Whether a file must have a column of this role.
    fn needs(self, known: Role) -> bool {
        match known {
            Role::Drop => false,
            known => self == Self::Learn || known.is_for_predicting(),
        }
    }
}

/// Columns whose roles were decided before, by whatever file came first.
///
/// ```
/// use rueful_data::{Bits, Column, Columns, KnownColumns, Purpose, Role};
/// let column = |name: &str, role| Column { name: name.to_owned(), role };
/// let columns = vec![column("age", Role::Number), column("y", Role::Label)];
/// let known = KnownColumns::new(Columns::try_from(columns)?, Bits::default());
///
/// let found = [column("note", Role::Category), column("age", Role::Category)];
/// let fitted = known.fit("new.csv", &found, Purpose::Compare).unwrap();
/// assert_eq!((fitted[0].role, fitted[1].role), (Role::Drop, Role::Number));
/// assert!(!fitted.has_label());
///
/// let error = known.fit("new.csv", &found[..1], Purpose::Compare).unwrap_err();
/// assert!(error.to_string().starts_with("new.csv: found no column \"age\""), "{error}");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownColumns {
    columns: Columns,
    bits: Bits,
    /// Whether other columns are features as well, as the keys of JSON lines are.
    is_open: bool,
    /// Whether they are known by their position alone, as those of a table without a header.
    is_positional: bool,
}

impl KnownColumns {
    /// Columns that are all there are.
    pub fn new(columns: Columns, bits: Bits) -> Self {
        Self { columns, bits, is_open: false, is_positional: false }
    }

    /// The columns that a format knows; none if it has no columns.
    pub fn of(schema: &Schema) -> Option<Self> {
        match schema {
            Schema::Csv(table) => Some(Self {
                is_positional: !table.header,
                ..Self::new(table.columns.clone(), table.bits)
            }),
            Schema::Arff(arff) => Some(Self::new(arff.columns.clone(), arff.bits)),
            Schema::Jsonl(json) => {
                let is_open = !json.closed;
                Some(Self { is_open, ..Self::new(json.columns.clone(), json.bits) })
            }
            Schema::Libsvm {} | Schema::Vw { .. } => None,
        }
    }

    /// The columns.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Whether other columns are features as well.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// How many bits the index of a feature by name has.
    pub fn bits(&self) -> Bits {
        self.bits
    }

    /// What becomes of the columns that a file has: what is known about each by its name.
    pub fn fit(
        &self,
        file: &str,
        found: &[Column],
        purpose: Purpose,
    ) -> Result<Columns, DataError> {
        let names: Vec<String> = found.iter().map(|column| column.name.clone()).collect();
        self.check(file, &names, purpose)?;
        let known: HashMap<&str, Role> =
            self.columns.iter().map(|column| (&*column.name, column.role)).collect();
        let role = |column: &Column| match known.get(&*column.name) {
            Some(&role) => purpose.role(role),
            None if self.is_open => column.role,
            None => Role::Drop,
        };
        let fitted = found.iter().map(|column| Column { role: role(column), ..column.clone() });
        Ok(Columns::unlabelled(fitted.collect()))
    }

    /// The first thing that rows read in another way would tell apart: a column that is a feature
    /// here and not there, or there and not here, or another one.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.bits != other.bits {
            return Some(format!("names that go to 2^{} indices", u8::from(other.bits)));
        }
        let features = |known: &Self| -> HashMap<String, Role> {
            let features = known.columns.iter().filter(|column| is_feature(column.role));
            features.map(|column| (column.name.clone(), column.role)).collect()
        };
        let (here, there) = (features(self), features(other));
        let mut names: Vec<_> = here.keys().chain(there.keys()).collect();
        names.sort_unstable();
        let name = names.into_iter().find(|&name| match (here.get(name), there.get(name)) {
            (Some(one), Some(other)) => one != other,
            (None, Some(_)) => !self.is_open,
            (Some(_), None) => !other.is_open,
            (None, None) => false,
        })?;
        let is_there = |features: &HashMap<String, Role>| features.contains_key(name);
        let shown = crate::format::quoted(name);
        Some(match (is_there(&here), is_there(&there)) {
            (true, false) => format!("rows without the column {shown}"),
            (false, true) => format!("rows with the column {shown}"),
            _ => format!("rows with the column {shown} in another role"),
        })
    }

    /// Refuses a file that lacks a column.
    fn check(&self, file: &str, names: &[String], purpose: Purpose) -> Result<(), DataError> {
        let there: HashSet<&str> = names.iter().map(String::as_str).collect();
        let is_missing = |column: &&Column| {
            let is_needed = purpose.needs(column.role);
            is_needed && !there.contains(&*column.name)
        };
        let missing: Vec<_> = self.columns.iter().filter(is_missing).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let columns = listed_up_to(SHOWN, names);
        Err(DataError::MissingColumns { file: file.to_owned(), missing, columns })
    }

    /// How a text is read that has these columns, found by its beginning. Where it is written like
    /// `own`, how the first file was, it is taken for that without a second look.
    pub(crate) fn fit_text(
        &self,
        own: Option<&Schema>,
        text: &Beginning<'_>,
        purpose: Purpose,
    ) -> Result<Schema, DataError> {
        if let Some(Schema::Csv(table)) = own
            && let Some(fitted) = self.fit_own(table, text, purpose)
        {
            return Ok(Schema::Csv(fitted));
        }
        let format_settings = FormatSettings {
            unlabelled: true,
            header: Some(!self.is_positional),
            format: text.begins_as(own).map(str::to_owned),
            bits: self.bits,
            ..FormatSettings::default()
        };
        match text.recognize(&format_settings)? {
            Schema::Csv(table) if self.is_positional => self.fit_width(&table, text.file, purpose),
            Schema::Csv(table) => {
                let columns = self.fit(text.file, &table.columns, purpose)?;
                Ok(Schema::Csv(Table { columns, ..table }))
            }
            Schema::Arff(arff) => {
                let columns = self.fit(text.file, &arff.columns, purpose)?;
                Ok(Schema::Arff(arff.with_columns(columns)))
            }
            Schema::Jsonl(_) => self.fit_keys(text, purpose),
            other => Err(self.no_table(text.file, &other)),
        }
    }

    /// The table as it was written before, if this one has the columns where its own way of writing
    /// puts them.
    fn fit_own(&self, own: &Table, text: &Beginning<'_>, purpose: Purpose) -> Option<Table> {
        if !own.header {
            return None;
        }
        let names = header_in(text.bytes, text.is_whole, own)?;
        Columns::repeated(&names).is_none().then_some(())?;
        let found = names.into_iter().map(|name| Column { name, role: Role::Drop });
        let columns = self.fit(text.file, &found.collect::<Vec<_>>(), purpose).ok()?;
        Some(Table { columns, ..own.clone() })
    }

    /// A table without a header: all columns, or all but those that only learning needs.
    fn fit_width(&self, table: &Table, file: &str, purpose: Purpose) -> Result<Schema, DataError> {
        let width = table.columns.len();
        let whole = self.columns.with_roles(|column| purpose.role(column.role));
        let is_label = |column: &Column| column.role == Role::Label;
        let unlabelled: Vec<_> = whole.iter().filter(|c| !is_label(c)).cloned().collect();
        let choices = [whole, Columns::unlabelled(unlabelled), self.columns.without_label()];
        let choices = if purpose == Purpose::Learn { &choices[..1] } else { &choices[..] };
        match choices.iter().find(|columns| columns.len() == width) {
            Some(columns) => Ok(Schema::Csv(Table { columns: columns.clone(), ..table.clone() })),
            None => Err(DataError::Unsuitable {
                file: file.to_owned(),
                found: format!("{width} columns without names"),
                expected: format!("{}, as there were before", self.columns.len()).into(),
            }),
        }
    }

    /// Lines of JSON, whose keys are the columns. One that no line at the beginning has is missing,
    /// if other lines had to have it.
    fn fit_keys(&self, text: &Beginning<'_>, purpose: Purpose) -> Result<Schema, DataError> {
        let keys = crate::json::keys_in(text.bytes);
        let is_there = |name: &str| crate::json::is_key(&keys, name);
        let named = |column: &&Column| is_there(&column.name);
        let names: Vec<_> = match self.is_open {
            // A key that is seldom there may come later; the label says whether there are labels.
            true => self.columns.iter().map(|column| column.name.clone()).collect(),
            false => self.columns.iter().filter(named).map(|column| column.name.clone()).collect(),
        };
        self.check(text.file, &names, purpose)?;
        let role = |column: &Column| match purpose.role(column.role) {
            Role::Label if purpose == Purpose::Compare && !is_there(&column.name) => Role::Drop,
            Role::Importance if purpose == Purpose::Compare && !is_there(&column.name) => {
                Role::Drop
            }
            role => role,
        };
        let columns = self.columns.with_roles(role);
        Ok(Schema::Jsonl(Json { bits: self.bits, closed: !self.is_open, columns }))
    }

    #[cold]
    fn no_table(&self, file: &str, found: &Schema) -> DataError {
        let names: Vec<_> = self.columns.iter().map(|column| column.name.clone()).collect();
        DataError::Unsuitable {
            file: file.to_owned(),
            found: format!("{} text", found.name()),
            expected: format!("a table with the columns {}", listed_up_to(SHOWN, &names)).into(),
        }
    }
}

fn is_feature(role: Role) -> bool {
    role.is_for_predicting() && role != Role::Drop
}

/// The beginning of a file that is text.
pub(crate) struct Beginning<'a> {
    /// What the file is called, and the data in it.
    pub(crate) file: &'a str,
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) is_whole: bool,
}

impl Beginning<'_> {
    /// The name of the format that was read before, if this begins as it does: then neither
    /// extension nor content need tell.
    fn begins_as(&self, own: Option<&Schema>) -> Option<&'static str> {
        let start = self.bytes.trim_ascii_start().first().copied();
        match own? {
            Schema::Jsonl(_) if start == Some(b'{') => Some("jsonl"),
            Schema::Csv(table) if !table.header && start != Some(b'{') => Some("csv"),
            _ => None,
        }
    }

    fn recognize(&self, format_settings: &FormatSettings) -> Result<Schema, DataError> {
        let recognize = |format_settings: &FormatSettings| {
            recognize_as(self.file, self.name, self.bytes, self.is_whole, format_settings)
        };
        let found = match recognize(format_settings) {
            // Only tables of text have a header line.
            Err(DataError::Useless { settings: &["header"], .. }) => {
                recognize(&FormatSettings { header: None, ..format_settings.clone() })?
            }
            found => found?,
        };
        found.into_schema(self.file)
    }
}
