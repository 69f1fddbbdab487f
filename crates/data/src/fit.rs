//! Finds known columns by name in another file.
//!
//! The roles of the columns were decided when the first file was read. The next file may have
//! another format, another order of columns, and further columns. Its own content only says where
//! each column is.

use crate::json::Json;
use crate::recognize::recognize_as;
use crate::schema::{Column, Columns, FormatSettings, Role, Schema, listed_up_to};
use crate::table::{Table, header_in};
use crate::{Bits, DataError};
use std::collections::{HashMap, HashSet};

/// The number of columns that an error about a missing column shows.
const SHOWN: usize = 8;

/// The purpose of the rows of a file, which decides what columns the file must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The rows are learned from. Label, importance and predictions are needed.
    Learn,
    /// The rows are predicted, and a label is compared with the prediction if there is one.
    Compare,
    /// The rows are predicted, and a label is ignored.
    Predict,
}

impl Purpose {
    /// The role that a column of the role `known` gets for this purpose.
    fn role(self, known: Role) -> Role {
        match (self, known) {
            (Self::Compare, Role::Prediction | Role::Id) => Role::Drop,
            (Self::Predict, known) if !known.is_for_predicting() => Role::Drop,
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

/// Columns whose roles were decided before, by whichever file came first.
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
    /// Whether other columns are features as well, like the keys of JSON lines.
    is_open: bool,
    /// Whether the columns are known by their position alone, like those of a table without a
    /// header.
    is_positional: bool,
}

impl KnownColumns {
    /// These columns, and no others.
    pub fn new(columns: Columns, bits: Bits) -> Self {
        Self { columns, bits, is_open: false, is_positional: false }
    }

    /// The columns of a format. Returns none if the format has no columns.
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

    /// The number of bits in the index of a feature that has a name.
    pub fn bits(&self) -> Bits {
        self.bits
    }

    /// Gives each column of a file the role that is known for its name.
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
        let expansion = self.columns.expansion().clone();
        Ok(Columns::unlabelled(fitted.collect()).expanded(expansion))
    }

    /// The first difference that rows read with `other` would show: names that go to another number
    /// of indices, a column that is a feature in only one of the two, or a column in another role.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.bits != other.bits {
            return Some(format!("names that go to 2^{} indices", u8::from(other.bits)));
        }
        let features = |known: &Self| -> HashMap<String, Role> {
            let features = known.columns.iter().filter(|column| column.role.is_feature());
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
        });
        let Some(name) = name else {
            return self.columns.expansion().difference(other.columns.expansion());
        };
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

    /// Finds out from its beginning how a text with these columns is read. `own` is the format of
    /// the first file. A text that is written like it is read in the same way, without a second
    /// look.
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
            Schema::Csv(table) if self.is_positional => {
                let width = table.columns.len();
                let fitted = self.fit_width(&table, width, purpose);
                fitted.map(Schema::Csv).ok_or_else(|| self.other_width(text.file, width))
            }
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

    /// The table with the separator, quotes and header of `own`, if the text has the known columns
    /// when it is read like that.
    fn fit_own(&self, own: &Table, text: &Beginning<'_>, purpose: Purpose) -> Option<Table> {
        let names = header_in(text.bytes, text.is_whole, own)?;
        if !own.header {
            return self.fit_width(own, names.len(), purpose);
        }
        Columns::repeated(&names).is_none().then_some(())?;
        let found = names.into_iter().map(|name| Column { name, role: Role::Drop });
        let columns = self.fit(text.file, &found.collect::<Vec<_>>(), purpose).ok()?;
        Some(Table { columns, ..own.clone() })
    }

    /// A table of `width` columns without names. They are all known columns, or all but the label,
    /// or all but those that only learning needs.
    fn fit_width(&self, table: &Table, width: usize, purpose: Purpose) -> Option<Table> {
        let whole = self.columns.with_roles(|column| purpose.role(column.role));
        let is_label = |column: &Column| column.role == Role::Label;
        let unlabelled = self.columns.iter().filter(|column| !is_label(column)).cloned();
        let unlabelled = Columns::unlabelled(unlabelled.collect());
        let unlabelled = unlabelled.expanded(self.columns.expansion().clone());
        let unlabelled = unlabelled.with_roles(|column| purpose.role(column.role));
        let choices = [whole, unlabelled, self.columns.without_label()];
        let choices = if purpose == Purpose::Learn { &choices[..1] } else { &choices[..] };
        let columns = choices.iter().find(|columns| columns.len() == width)?.clone();
        Some(Table { columns, ..table.clone() })
    }

    #[cold]
    fn other_width(&self, file: &str, width: usize) -> DataError {
        DataError::Unsuitable {
            file: file.to_owned(),
            found: format!("{width} columns without names"),
            expected: format!("{}, as there were before", self.columns.len()).into(),
        }
    }

    /// Lines of JSON, whose keys are the columns. If no other keys are features, some line at the
    /// beginning must have each column that the purpose needs.
    fn fit_keys(&self, text: &Beginning<'_>, purpose: Purpose) -> Result<Schema, DataError> {
        let keys = crate::json::keys_in(text.bytes);
        let is_there = |name: &str| crate::json::is_key(&keys, name);
        let named = |column: &&Column| is_there(&column.name);
        let names: Vec<_> = match self.is_open {
            // A rare key may come later. Whether the label is there says whether the file has
            // labels.
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

/// The beginning of a file that is text.
pub(crate) struct Beginning<'a> {
    /// The name of the file, and the name of the data in it.
    pub(crate) file: &'a str,
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) is_whole: bool,
}

impl Beginning<'_> {
    /// The name of the earlier format, if this text begins like it. Then neither extension nor
    /// content need be looked at.
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
