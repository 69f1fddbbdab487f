//! The labels and importances that come beside a table.

use crate::error::{Outcome, PythonError};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rueful_core::{Importance, Rows};
use std::borrow::Cow;
use std::ops::Range;

/// The labels and importances of all rows.
pub(crate) struct Side<'a> {
    /// The labels. They are borrowed if they lie side by side in memory, and copied otherwise.
    pub(crate) labels: Cow<'a, [f64]>,
    /// The importances; empty if all rows count 1.
    pub(crate) importances: Vec<Importance>,
}

impl<'a> Side<'a> {
    /// Takes the arrays that Python holds.
    pub(crate) fn new(
        labels: &'a PyReadonlyArray1<'_, f64>,
        importances: Option<&PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let labels = match labels.as_slice() {
            Ok(labels) => Cow::Borrowed(labels),
            Err(_) => Cow::Owned(labels.as_array().to_vec()),
        };
        let importances = match importances {
            None => Vec::new(),
            Some(all) if all.len() == labels.len() => importances_of(all)?,
            Some(all) => {
                let (found, wanted) = (all.len(), labels.len());
                let what = format!("sample_weight has {found} numbers, expected {wanted}");
                return Err(PythonError::value(what).into());
            }
        };
        Ok(Self { labels, importances })
    }

    /// Makes labels and importances for rows about which nothing is known: labels of 0, and all
    /// rows count 1.
    pub(crate) fn unknown(rows: usize) -> Self {
        Self { labels: Cow::Owned(vec![0.0; rows]), importances: Vec::new() }
    }

    /// Returns how much a row counts.
    pub(crate) fn importance(&self, row: usize) -> Importance {
        self.importances.get(row).copied().unwrap_or(Importance::ONE)
    }

    /// Returns the labels and the importances of some rows.
    pub(crate) fn part(&self, rows: Range<usize>) -> (&[f64], &[Importance]) {
        let importances = self.importances.get(rows.clone()).unwrap_or_default();
        (&self.labels[rows], importances)
    }

    /// Refuses a table whose number of rows differs.
    pub(crate) fn check(&self, rows: usize) -> Outcome<()> {
        let labels = self.labels.len();
        if rows == labels {
            return Ok(());
        }
        Err(PythonError::value(format!("X has {rows} rows and y has {labels}")))
    }
}

/// Returns the importance of one row.
pub(crate) fn importance_of(weight: f64) -> Outcome<Importance> {
    Importance::new(weight).map_err(|why| PythonError::value(format!("w: {why}")))
}

fn importances_of(all: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<Importance>> {
    let one = |(row, &weight): (usize, &f64)| {
        let wrong = |why| PythonError::value(format!("sample_weight, row {row}: {why}"));
        Importance::new(weight).map_err(wrong)
    };
    Ok(all.as_array().iter().enumerate().map(one).collect::<Outcome<Vec<_>>>()?)
}

/// A function that is shown rows, some at a time.
pub(crate) type Visit<'a> = dyn FnMut(Rows<'_>) -> Outcome<()> + 'a;
