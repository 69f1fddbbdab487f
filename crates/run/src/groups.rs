//! The group of every example: a day, a country, the version of a model.
//!
//! The groups are the values of a column, read in a separate pass beside the examples, so that no
//! group is a feature. Each group is judged by itself, with a ledger and a judge of its own.

use crate::data::{Data, DataSettings, DataSpec, LabelUse, Layout, ReadingOptions};
use crate::settings::SettingsError;
use rueful_core::Batch;
use rueful_data::{Column, DataError, Expansion, FormatSettings, Role, Source, printable};
use std::collections::HashMap;
use thiserror::Error;

/// The most groups that there may be. Each has vectors of its own for all features.
pub const GROUPS_MAX: usize = 1000;

/// The group of an example without a value.
const MISSING: &str = "";

/// The reason why examples cannot be grouped.
#[derive(Debug, Error)]
pub enum GroupError {
    /// The column could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// There is no column of that name.
    #[error(
        "{}: found no column {column:?} to group by, expected one of {columns}",
        printable(file)
    )]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The columns that there are.
        columns: String,
    },
    /// The data have no columns.
    #[error("{}: {format} has no columns to group by, expected a table", printable(file))]
    NoTable {
        /// The file.
        file: String,
        /// Its format.
        format: &'static str,
    },
    /// There are more groups than can be judged at once.
    #[error(
        "{}: found more than {GROUPS_MAX} groups in the column {column:?}, expected fewer: each is \
         judged with vectors of its own",
        printable(file)
    )]
    TooMany {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// Two values are read as one.
    #[error(
        "{}: two values of the column {column:?} are read as one: give another number of bits",
        printable(file)
    )]
    Collision {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// The file of groups is shorter than that of the examples.
    #[error("{}: the groups end after {count} rows, and the examples go on", printable(file))]
    TooFew {
        /// The file.
        file: String,
        /// The number of rows in the file of groups.
        count: u64,
    },
}

/// A reader that returns the group of every example.
pub struct GroupReader {
    source: Box<dyn Source>,
    file: String,
    column: String,
    /// The text `column=`, with which the names of its values begin.
    prefix: String,
    /// The groups in the order in which they came. The map gives the group of an index, and `None`
    /// where the index belongs to another column.
    groups: Vec<String>,
    known: HashMap<u32, Option<usize>>,
    missing: Option<usize>,
    batch: Batch,
    next: usize,
    rows: u64,
}

impl GroupReader {
    /// Reads a column of a table, by its name or by its number from 1 on.
    pub fn open(
        data: &DataSpec,
        column: &str,
        reading_options: &ReadingOptions,
    ) -> Result<Self, GroupError> {
        Ok(Self::read(data, find(data, column)?, reading_options)?)
    }

    fn read(
        data: &DataSpec,
        column: String,
        reading_options: &ReadingOptions,
    ) -> Result<Self, DataError> {
        let file = data.name();
        let schema = only(&data.schema, &column);
        let data = DataSpec { schema, constant: false, class_weights: None, ..data.clone() };
        let reading_options =
            ReadingOptions { cache: false, idle_rows: true, ..reading_options.clone() };
        Ok(Self {
            source: data.open(LabelUse::Ignore, &reading_options)?,
            file,
            prefix: format!("{column}="),
            column,
            groups: Vec::new(),
            known: HashMap::new(),
            missing: None,
            batch: Batch::default(),
            next: 0,
            rows: 0,
        })
    }

    /// Reads a column of a table of predictions, if it has such a column. Returns the names of the
    /// other columns, too.
    pub fn beside_predictions(
        file: &str,
        column: &str,
        reading_options: &ReadingOptions,
    ) -> Result<Option<(Self, Vec<String>)>, SettingsError> {
        // A table needs a label to be understood, and none is read.
        let format_settings = FormatSettings {
            label: Some("1".to_owned()),
            header: Some(true),
            ..FormatSettings::default()
        };
        let settings =
            DataSettings { files: vec![file.to_owned()], format_settings, ..Default::default() };
        let reading_options = &ReadingOptions { cache: false, ..reading_options.clone() };
        let Data { spec, .. } = settings.open(LabelUse::Ignore, reading_options)?;
        let columns = spec.schema.columns();
        if !columns.iter().any(|one| one.name == column) {
            return Ok(None);
        }
        let others = columns.iter().filter(|one| one.name != column);
        let others = others.map(|one| one.name.clone()).collect();
        Ok(Some((Self::read(&spec, column.to_owned(), reading_options)?, others)))
    }

    /// The groups so far, in the order in which they came.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// The name of the column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The group of the next example.
    pub(crate) fn next_group(&mut self) -> Result<usize, GroupError> {
        if self.next == self.batch.len() {
            self.next = 0;
            if !self.source.fill(&mut self.batch)? {
                let (file, count) = (self.file.clone(), self.rows);
                return Err(GroupError::TooFew { file, count });
            }
            self.check_names()?;
        }
        let group = self.group_of(self.next)?;
        self.next += 1;
        self.rows += 1;
        Ok(group)
    }

    fn group_of(&mut self, row: usize) -> Result<usize, GroupError> {
        for place in 0..self.batch.get(row).features.len() {
            let index = self.batch.get(row).features.indices()[place];
            let group = match self.known.get(&index) {
                Some(&group) => group,
                None => self.meet(index)?,
            };
            if let Some(group) = group {
                return Ok(group);
            }
        }
        match self.missing {
            Some(group) => Ok(group),
            None => {
                let group = self.add(MISSING.to_owned())?;
                Ok(*self.missing.insert(group))
            }
        }
    }

    /// The group of an index that was not met before. `None` if the index belongs to another
    /// column.
    #[cold]
    fn meet(&mut self, index: u32) -> Result<Option<usize>, GroupError> {
        let name = self.source.names().get(index).unwrap_or_default();
        let value = name.strip_prefix(&self.prefix).map(str::to_owned);
        let group = value.map(|value| self.add(value)).transpose()?;
        self.known.insert(index, group);
        Ok(group)
    }

    fn add(&mut self, group: String) -> Result<usize, GroupError> {
        if self.groups.len() == GROUPS_MAX {
            let (file, column) = (self.file.clone(), self.column.clone());
            return Err(GroupError::TooMany { file, column });
        }
        self.groups.push(group);
        Ok(self.groups.len() - 1)
    }

    /// Refuses two names with the same index, which would be one group.
    fn check_names(&self) -> Result<(), GroupError> {
        if self.source.names().collisions() == 0 {
            return Ok(());
        }
        let (file, column) = (self.file.clone(), self.column.clone());
        Err(GroupError::Collision { file, column })
    }
}

/// The name of the column that is meant: the one of that name, or else the one of that number.
fn find(data: &DataSpec, wished: &str) -> Result<String, GroupError> {
    let columns = data.schema.columns();
    if columns.is_empty() {
        return Err(GroupError::NoTable { file: data.name(), format: data.schema.name() });
    }
    let number = wished.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let named = columns.iter().find(|column| column.name == wished);
    let found = named.or_else(|| columns.get(number?));
    found.map(|column| column.name.clone()).ok_or_else(|| GroupError::NoColumn {
        file: data.name(),
        column: wished.to_owned(),
        columns: columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(", "),
    })
}

/// The same layout, of which only one column is read. Its values are names.
fn only(layout: &Layout, column: &str) -> Layout {
    let role = |one: &Column| if one.name == column { Role::Category } else { Role::Drop };
    match layout {
        Layout::Text(schema) => Layout::Text(schema.unexpanded().with_roles(role)),
        Layout::Columnar(layout) => {
            let columns = layout.columns.with_roles(role).expanded(Expansion::default());
            Layout::Columnar(rueful_columnar::Layout { columns, ..layout.clone() })
        }
        Layout::Cache(cache) => Layout::Cache(cache.clone()),
    }
}
