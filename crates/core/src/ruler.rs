//! How large features and labels were. These are the units of unit-free comparators.

use crate::features::Features;
use crate::loss::{Labels, Loss};
use crate::rows::Rows;
use rueful_machine::{Kernel, Registers, widest};
use serde::{Deserialize, Serialize};

/// N_i = max_t |x_{t,i}| by cell, and Y = max_t |y_t| for labels that are numbers (1 for classes
/// and for the linear loss). Rows of importance 0 are not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ruler {
    largest: Vec<f32>,
    label: f64,
    measures_labels: bool,
}

/// Y, and whether it is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LabelSize {
    pub(crate) largest: f64,
    pub(crate) is_measured: bool,
}

/// Measures rows.
struct Measure<'a> {
    ruler: &'a mut Ruler,
    rows: Rows<'a>,
}

impl Kernel for Measure<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        for row in 0..self.rows.len() {
            let example = self.rows.get(row);
            if !example.importance.is_zero() {
                self.ruler.measure(&example.features);
                self.ruler.measure_label(example.label);
            }
        }
    }
}

impl Ruler {
    /// A ruler that has measured nothing so far.
    pub fn new(loss: &impl Loss) -> Self {
        let measures_labels = loss.labels() == Labels::Numbers && !loss.is_linear();
        let label = if measures_labels { 0.0 } else { 1.0 };
        Self { largest: Vec::new(), label, measures_labels }
    }

    /// A ruler of sizes that were measured elsewhere.
    pub(crate) fn of_parts(largest: Vec<f32>, label: LabelSize) -> Self {
        Self { largest, label: label.largest, measures_labels: label.is_measured }
    }

    /// Y, and whether it is measured.
    pub(crate) fn label_size(&self) -> LabelSize {
        LabelSize { largest: self.label, is_measured: self.measures_labels }
    }

    /// Takes in rows, by cell. Rows of importance 0 are not measured.
    pub fn observe_rows(&mut self, rows: Rows<'_>) {
        self.grow(rows.dimension());
        widest(Measure { ruler: self, rows });
    }

    /// Makes room for features below `dimension`.
    pub(crate) fn grow(&mut self, dimension: usize) {
        if dimension > self.largest.len() {
            self.largest.resize(dimension, 0.0);
        }
    }

    /// Takes in the features of a row.
    #[inline(always)] // It is called in the loop over rows.
    pub(crate) fn measure(&mut self, x: &Features<'_>) {
        if let Some(run) = x.run() {
            for (largest, &value) in self.largest[run].iter_mut().zip(x.values()) {
                *largest = larger(*largest, value);
            }
        } else {
            for (&i, &value) in x.indices().iter().zip(x.values()) {
                let largest = &mut self.largest[i as usize];
                *largest = larger(*largest, value);
            }
        }
    }

    /// Takes in a label, and returns whether it is the largest so far.
    #[inline]
    pub(crate) fn measure_label(&mut self, label: f64) -> bool {
        let is_larger = self.measures_labels && label.abs() > self.label;
        if is_larger {
            self.label = label.abs();
        }
        is_larger
    }

    /// N by cell. It is 0 where only 0 was seen.
    pub fn largest(&self) -> &[f32] {
        &self.largest
    }

    /// Y
    #[inline]
    pub fn label(&self) -> f64 {
        self.label
    }

    /// Moves the cells: cell i gets the value at `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        let at = |&from: &u32| self.largest.get(from as usize).copied().unwrap_or(0.0);
        self.largest = from.iter().map(at).collect();
    }

    /// Takes in the sizes of other rows, by the same cells.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.grow(other.largest.len());
        for (own, &theirs) in self.largest.iter_mut().zip(&other.largest) {
            *own = own.max(theirs);
        }
        self.label = self.label.max(other.label);
    }

    /// Whether this, which may be read from anywhere, can be a later state of a fresh ruler.
    pub fn continues(&self, fresh: &Self) -> bool {
        let is_size = |size: &f32| (0.0..=f32::MAX).contains(size);
        self.measures_labels == fresh.measures_labels
            && (self.measures_labels || self.label == 1.0)
            && (0.0..=f64::MAX).contains(&self.label)
            && self.largest.iter().all(is_size)
    }
}

#[inline(always)]
fn larger(largest: f32, value: f32) -> f32 {
    let size = value.abs();
    if size > largest { size } else { largest }
}
