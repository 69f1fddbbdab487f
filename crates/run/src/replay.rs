//! Data that solvers can go through again: kept in memory while it fits, read anew otherwise.

use rueful_core::Batch;
use rueful_data::{DataError, Source};
use rueful_hindsight::Passes;

/// How a source is opened once more.
pub type Open<'a> = dyn Fn() -> Result<Box<dyn Source>, DataError> + 'a;

/// A stream that can be replayed.
pub struct Replay<'a> {
    open: &'a Open<'a>,
    kept: Vec<Batch>,
    nonzeros: u64,
    limit: u64,
    /// Where batches go when the source is read anew.
    batch: Batch,
}

impl<'a> Replay<'a> {
    /// Nothing kept so far. Up to `limit` nonzeros are held in memory; data beyond that is read
    /// from its source in every pass.
    pub fn new(open: &'a Open<'a>, limit: u64) -> Self {
        Self { open, kept: Vec::new(), nonzeros: 0, limit, batch: Batch::default() }
    }

    /// Reads the whole source, keeping what fits.
    pub fn read(open: &'a Open<'a>, limit: u64) -> Result<Self, DataError> {
        let mut replay = Self::new(open, limit);
        let mut source = open()?;
        let mut batch = Batch::default();
        while source.fill(&mut batch)? {
            replay.keep(&batch);
            if !replay.is_kept() {
                break;
            }
        }
        Ok(replay)
    }

    /// Keeps the next batch of the stream, as long as all of it fits.
    pub fn keep(&mut self, batch: &Batch) {
        self.nonzeros += batch.nonzeros() as u64;
        if self.is_kept() {
            self.kept.push(batch.clone());
        } else {
            self.kept = Vec::new();
        }
    }

    /// Whether the data is in memory.
    pub fn is_kept(&self) -> bool {
        self.nonzeros <= self.limit
    }
}

impl Passes for Replay<'_> {
    type Error = DataError;

    fn pass(&mut self, visit: &mut dyn FnMut(&Batch, usize)) -> Result<(), DataError> {
        if self.is_kept() {
            self.kept.iter().for_each(|batch| visit(batch, batch.len()));
            return Ok(());
        }
        let mut source = (self.open)()?;
        while source.fill(&mut self.batch)? {
            visit(&self.batch, self.batch.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema};

    const TEXT: &str = "1 1:2 3:1\n-1 2:1\n1\n-1 1:4\n";

    fn open() -> Result<Box<dyn Source>, DataError> {
        let input = Input::new("text", TEXT.as_bytes(), &Follow::No)?;
        let reading = Reading::new(LabelRule::Signs);
        Ok(Box::new(Reader::new(vec![input], &Schema::Libsvm {}, &reading)))
    }

    fn labels(replay: &mut Replay<'_>) -> Vec<f64> {
        let mut labels = Vec::new();
        let passed = replay.pass(&mut |batch, rows| {
            labels.extend((0..rows).map(|row| batch.get(row).label));
        });
        passed.unwrap();
        labels
    }

    #[test]
    fn memory_and_file_show_the_same() {
        let mut kept = Replay::read(&open, 100).unwrap();
        let mut streamed = Replay::read(&open, 2).unwrap();
        assert!(kept.is_kept() && !streamed.is_kept());
        for _ in 0..2 {
            assert_eq!(labels(&mut kept), [1.0, -1.0, 1.0, -1.0]);
            assert_eq!(labels(&mut streamed), [1.0, -1.0, 1.0, -1.0]);
        }
    }
}
