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

/// v/n, where 0/0 counts as 0.
#[inline(always)]
pub(crate) fn quotient(v: f64, n: f32) -> f64 {
    if v == 0.0 { 0.0 } else { v / f64::from(n) }
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

    /// The least N of all features that were seen, or the largest single if there are none.
    pub(crate) fn least(&self) -> f32 {
        let lesser = |least: f32, n: f32| if n > 0.0 && n < least { n } else { least };
        let (eights, rest) = self.largest.as_chunks::<8>();
        // Eight at a time, so that none of them waits for the one before.
        let mut least = [f32::MAX; 8];
        for eight in eights {
            for (least, &n) in least.iter_mut().zip(eight) {
                *least = lesser(*least, n);
            }
        }
        least.iter().chain(rest).copied().fold(f32::MAX, lesser)
    }

    /// v_i/N_i for a vector by cell, where 0/0 counts as 0.
    pub fn scaled<'a>(
        &'a self,
        v: impl Iterator<Item = f64> + Clone + 'a,
    ) -> impl Iterator<Item = f64> + Clone + 'a {
        v.zip(&self.largest).map(|(v, &n)| quotient(v, n))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Hinge;

    #[test]
    fn the_least_size_is_that_of_a_feature_that_was_seen() {
        for count in [0, 1, 7, 8, 9, 40] {
            let mut ruler = Ruler::new(&Hinge {});
            ruler.largest =
                (0..count).map(|i| if i % 3 == 1 { 0.0 } else { 50.0 - i as f32 }).collect();
            let seen = ruler.largest.iter().copied().filter(|&n| n > 0.0);
            assert_eq!(ruler.least(), seen.fold(f32::MAX, f32::min), "{count}");
        }
    }
}
