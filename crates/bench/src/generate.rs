//! Generated data sets, cut into batches as a reader would cut them.
//!
//! Both come from a noisy linear model: y = sign(u·x + noise). So a learner has something to find,
//! and keeps making mistakes in some 10 to 20 % of the rounds.

use crate::random::Random;
use anyhow::Result;
use rueful_core::{Batch, Importance};

/// A batch is full when it has this many nonzeros.
const BATCH_NONZEROS: usize = 16 * 1024;
/// A batch is also full when it has this many rows.
const BATCH_ROWS: usize = 4096;

/// The exponent-1 Zipf law is flattened for the most frequent ranks: p(rank) ∝ 1/(rank + this).
const ZIPF_OFFSET: f64 = 10.0;

/// About this many of the most frequent features matter for the label.
const MODEL_RANKS: f64 = 300.0;

/// The size of a data set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The number of rows.
    pub(crate) rows: usize,
    /// The number of features that there are.
    pub(crate) features: u32,
    /// The number of features in every row.
    pub(crate) per_row: usize,
}

/// A data set in memory.
pub(crate) struct Data {
    /// The name in the report.
    pub(crate) name: String,
    /// The rows.
    pub(crate) batches: Vec<Batch>,
    /// A suitable radius: the ball holds a good predictor.
    pub(crate) radius: f64,
}

impl Data {
    /// A suitable step size: the η of η/√t.
    pub(crate) fn eta(&self) -> f64 {
        0.1 * self.radius
    }

    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(Batch::len).sum()
    }

    /// Whether all labels are −1 or +1.
    pub(crate) fn has_signs(&self) -> bool {
        self.batches.iter().flat_map(Batch::labels).all(|label| label.abs() == 1.0)
    }

    pub(crate) fn nonzeros(&self) -> usize {
        self.batches.iter().map(Batch::nonzeros).sum()
    }

    pub(crate) fn dimension(&self) -> usize {
        self.batches.iter().map(Batch::dimension).max().unwrap_or(0)
    }
}

/// Rows like text: few features of many, the frequent ones in most rows, and rows of norm 1.
///
/// Ranks follow Zipf's law and are scattered over the indices, as in a vocabulary that is not
/// sorted by frequency. Values are positive and, like word weights, larger for rare features.
pub(crate) fn sparse(shape: Shape, seed: u64) -> Result<Data> {
    let Shape { rows, features, per_row } = shape;
    let mut random = Random::new(seed);
    let index_of_rank = random.permutation(features);
    let mut model = vec![0.0; features as usize];
    for (rank, &index) in index_of_rank.iter().enumerate() {
        // Values are positive, so opposite signs side by side keep the labels in balance.
        let side = if rank % 2 == 0 { 1.0 } else { -1.0 };
        model[index as usize] = side * random.normal().abs() / (1.0 + rank as f64 / MODEL_RANKS);
    }
    let spread = (f64::from(features) + ZIPF_OFFSET) / ZIPF_OFFSET;

    let mut batches = Batches::default();
    let mut row: Vec<(u32, f64)> = Vec::with_capacity(per_row);
    for _ in 0..rows {
        row.clear();
        while row.len() < per_row {
            for _ in row.len()..per_row {
                let rank = ZIPF_OFFSET * (spread.powf(random.uniform()) - 1.0);
                let rarity = 1.0 + (1.0 + rank / ZIPF_OFFSET).ln();
                row.push((index_of_rank[rank as usize], rarity * (0.5 + random.uniform())));
            }
            row.sort_unstable_by_key(|&(index, _)| index);
            row.dedup_by_key(|&mut (index, _)| index);
        }
        let norm = row.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
        row.iter_mut().for_each(|(_, value)| *value /= norm);

        let score: f64 = row.iter().map(|&(index, value)| model[index as usize] * value).sum();
        batches.push(&row, sign(score + 0.1 * random.normal()))?;
    }
    Ok(Data { name: "sparse".to_owned(), batches: batches.finish(), radius: 100.0 })
}

/// Rows like measurements: every feature in every row, with standard normal values.
pub(crate) fn dense(shape: Shape, seed: u64) -> Result<Data> {
    let Shape { rows, features, per_row } = shape;
    let mut random = Random::new(seed);
    let model: Vec<f64> =
        (0..features).map(|_| random.normal() / f64::from(features).sqrt()).collect();

    let mut batches = Batches::default();
    let mut row: Vec<(u32, f64)> = Vec::with_capacity(per_row);
    for _ in 0..rows {
        row.clear();
        row.extend((0..features).map(|index| (index, random.normal())));
        let score: f64 = row.iter().zip(&model).map(|((_, value), u)| u * value).sum();
        batches.push(&row, sign(score + 0.45 * random.normal()))?;
    }
    Ok(Data { name: "dense".to_owned(), batches: batches.finish(), radius: 5.0 })
}

fn sign(score: f64) -> f64 {
    if score < 0.0 { -1.0 } else { 1.0 }
}

/// Rows on their way into batches.
#[derive(Default)]
struct Batches {
    full: Vec<Batch>,
    open: Batch,
}

impl Batches {
    fn push(&mut self, row: &[(u32, f64)], label: f64) -> Result<()> {
        let mut open = self.open.open_row(row.len());
        for &(index, value) in row {
            // A stored 0 would be an absent feature.
            let value = if value as f32 == 0.0 { f32::MIN_POSITIVE } else { value as f32 };
            open.push(index, value)?;
        }
        open.finish(label, Importance::ONE);
        if self.open.nonzeros() >= BATCH_NONZEROS || self.open.len() == BATCH_ROWS {
            self.full.push(std::mem::take(&mut self.open));
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<Batch> {
        if !self.open.is_empty() {
            self.full.push(self.open);
        }
        self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::Example;

    const SPARSE: Shape = Shape { rows: 700, features: 3000, per_row: 40 };
    const DENSE: Shape = Shape { rows: 5000, features: 7, per_row: 7 };

    fn has_shape(data: &Data, shape: Shape) {
        assert_eq!(data.rows(), shape.rows);
        assert_eq!(data.nonzeros(), shape.rows * shape.per_row);
        assert!(data.dimension() <= shape.features as usize);
        for row in data.batches.iter().flat_map(Batch::iter) {
            has_promised_features(&row, shape);
        }
        let positive = data.batches.iter().flat_map(Batch::iter).filter(|row| row.label > 0.0);
        let share = positive.count() as f64 / shape.rows as f64;
        assert!((0.3..0.7).contains(&share), "{share} of the labels are +1");
    }

    fn has_promised_features(row: &Example<'_>, shape: Shape) {
        let (indices, values) = (row.features.indices(), row.features.values());
        assert_eq!(indices.len(), shape.per_row);
        assert!(indices.is_sorted_by(|a, b| a < b));
        assert!(indices.iter().all(|&index| index < shape.features));
        assert!(values.iter().all(|value| value.is_finite() && *value != 0.0));
        assert!(row.label == 1.0 || row.label == -1.0);
    }

    fn fits_the_batches(data: &Data, per_row: usize) {
        for batch in &data.batches {
            assert!(!batch.is_empty() && batch.len() <= BATCH_ROWS);
            assert!(batch.nonzeros() < BATCH_NONZEROS + per_row);
        }
    }

    #[test]
    fn sparse_rows_have_the_promised_shape() {
        let data = sparse(SPARSE, 1).unwrap();
        has_shape(&data, SPARSE);
        fits_the_batches(&data, SPARSE.per_row);
        for row in data.batches.iter().flat_map(Batch::iter) {
            assert!((row.features.norm_sq() - 1.0).abs() < 1e-5);
            assert!(row.features.values().iter().all(|&value| value > 0.0));
        }
    }

    #[test]
    fn frequent_features_are_much_more_frequent() {
        let data = sparse(SPARSE, 2).unwrap();
        let mut counts = vec![0; SPARSE.features as usize];
        for &index in data.batches.iter().flat_map(Batch::indices) {
            counts[index as usize] += 1;
        }
        counts.sort_unstable();
        counts.reverse();
        assert!(counts[0] <= SPARSE.rows && counts[0] > SPARSE.rows / 4);
        assert!(counts[..30].iter().sum::<usize>() > data.nonzeros() / 8);
    }

    #[test]
    fn dense_rows_have_the_promised_shape() {
        let data = dense(DENSE, 3).unwrap();
        has_shape(&data, DENSE);
        fits_the_batches(&data, DENSE.per_row);
        assert_eq!(data.dimension(), 7);
    }

    #[test]
    fn the_same_seed_makes_the_same_data() {
        assert_eq!(sparse(SPARSE, 4).unwrap().batches, sparse(SPARSE, 4).unwrap().batches);
        assert_ne!(dense(DENSE, 4).unwrap().batches, dense(DENSE, 5).unwrap().batches);
    }
}
