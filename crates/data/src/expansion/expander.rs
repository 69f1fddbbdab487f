//! An expansion, worked out for the columns of a table before the first row.

use super::cross::{Cross, CrossFault, Groups};
use super::curves::ColumnCurves;
use super::{MISSING, PART, is_feature, is_indicated};
use crate::names::Prefix;
use crate::rows::{FeatureSink, Rows, Space};
use crate::schema::{Column, Columns, Role};

/// An expansion, worked out for the columns of a table.
#[derive(Debug)]
pub(crate) struct Expander {
    /// For each column, the beginning of the name of the feature that says that a cell has no
    /// value, if there is such a feature.
    indicators: Vec<Option<Prefix>>,
    /// For each column, its group in the crosses.
    groups: Vec<Option<usize>>,
    group_count: usize,
    crosses: Vec<Cross>,
    /// For each column, its curves.
    curves: Vec<Option<ColumnCurves>>,
}

impl Expander {
    pub(crate) fn new(columns: &Columns) -> Self {
        let expansion = columns.expansion();
        let indicator = |column: &Column| {
            let is_wished = expansion.missing && is_indicated(column.role);
            is_wished.then(|| Prefix::new(format!("{}{PART}", column.name)))
        };
        let curves = |column: &Column| {
            let is_number = column.role == Role::Number;
            is_number.then(|| ColumnCurves::new(&expansion.curves, &column.name)).flatten()
        };
        let mut places = 0..;
        let mut group = |column: &Column| {
            let is_crossed = is_feature(column) && expansion.crosses_column(&column.name);
            is_crossed.then(|| places.next()).flatten()
        };
        let groups: Vec<_> = columns.iter().map(&mut group).collect();
        let group_of = |name: &String| {
            let column = columns.iter().position(|column| column.name == *name)?;
            groups[column]
        };
        let cross = |names: &Vec<String>| {
            let groups = names.iter().map(group_of).collect::<Option<Vec<_>>>()?;
            Cross::new(groups)
        };
        Self {
            indicators: columns.iter().map(indicator).collect(),
            group_count: groups.iter().flatten().count(),
            crosses: expansion.crosses.iter().filter_map(cross).collect(),
            groups,
            curves: columns.iter().map(curves).collect(),
        }
    }

    /// The curves of a column of numbers.
    pub(crate) fn curves(&self, column: usize) -> Option<&ColumnCurves> {
        self.curves[column].as_ref()
    }

    /// Whether features are made of numbers, or of several columns.
    pub(crate) fn has_made(&self) -> bool {
        self.has_crosses() || self.curves.iter().any(Option::is_some)
    }

    /// The group of a column in the crosses.
    #[inline]
    pub(crate) fn group(&self, column: usize) -> Option<usize> {
        self.groups[column]
    }

    /// Whether columns are crossed.
    #[inline]
    pub(crate) fn has_crosses(&self) -> bool {
        self.group_count > 0
    }

    /// Empty groups for the features of a row.
    pub(crate) fn row_groups(&self) -> Groups {
        Groups::new(self.group_count)
    }

    /// Whether a missing cell of a column makes a feature.
    pub(crate) fn indicates(&self, column: usize) -> bool {
        self.indicators[column].is_some()
    }

    /// Adds the feature which says that a cell of a column has no value.
    pub(crate) fn indicate(
        &self,
        column: usize,
        space: &Space,
        groups: &mut Groups,
        rows: &mut Rows,
    ) {
        let Some(prefix) = &self.indicators[column] else { return };
        match self.groups[column] {
            Some(group) => {
                groups.recorder(group, rows).add_named(space, prefix, MISSING.as_bytes(), 1.0);
            }
            None => rows.add_named(space, prefix, MISSING.as_bytes(), 1.0),
        }
    }

    /// Adds the features of all crosses to the row.
    pub(crate) fn cross(
        &self,
        groups: &Groups,
        space: &Space,
        rows: &mut Rows,
    ) -> Result<(), CrossFault> {
        groups.cross_all(&self.crosses, space, rows)
    }
}
