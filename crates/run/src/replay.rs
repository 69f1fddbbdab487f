//! Data that solvers can read again: kept in memory while it fits, and otherwise read anew.

use crate::columns::Columns;
use rueful_core::{Batch, Comparators, Importance, Rows};
use rueful_data::{Census, DataError, Source};
use rueful_hindsight::Passes;

/// A function that opens a source once more.
pub type Open<'a> = dyn Fn() -> Result<Box<dyn Source>, DataError> + 'a;

/// Batches are joined up to this many nonzeros, because solvers jump about less easily in many
/// small ones.
const KEPT_TOGETHER: usize = 1 << 18;

/// A batch of so many nonzeros is large enough to be kept by itself.
const LARGE: usize = 1 << 12;

/// A stream that can be replayed.
///
/// Features by name lie scattered over a large space of indices. Solvers are shown them side by
/// side, in the same order: see [`Columns`].
pub struct Replay<'a> {
    open: &'a Open<'a>,
    kept: Vec<Batch>,
    nonzeros: u64,
    limit: u64,
    columns: Columns,
    /// The number of coordinates that the comparators tell apart.
    named: usize,
    /// Buffers for batches when the source is read anew, and when they are renumbered.
    batch: Batch,
    renumbered: Batch,
}

impl<'a> Replay<'a> {
    /// An empty replay. Up to `limit` nonzeros are held in memory. Data beyond that is read from
    /// its source in every pass. The comparators are those that it will be solved for.
    pub fn new(open: &'a Open<'a>, limit: u64, comparators: &Comparators) -> Self {
        Self {
            named: comparators.named_coordinates(),
            open,
            kept: Vec::new(),
            nonzeros: 0,
            limit,
            columns: Columns::All,
            batch: Batch::default(),
            renumbered: Batch::default(),
        }
    }

    /// Reads a whole source, and keeps it if it fits.
    pub fn read(
        source: &mut dyn Source,
        open: &'a Open<'a>,
        limit: u64,
        comparators: &Comparators,
    ) -> Result<Self, DataError> {
        let mut replay = Self::new(open, limit, comparators);
        let mut batch = Batch::default();
        while source.fill(&mut batch)? {
            replay.keep_whole(&mut batch);
        }
        replay.settle(source.census());
        Ok(replay)
    }

    /// Keeps the next batch of the stream, as long as all of the stream fits. A large batch is
    /// taken without a copy, which leaves an empty one behind.
    fn keep_whole(&mut self, batch: &mut Batch) {
        let nonzeros = batch.nonzeros();
        let is_idle = |importance: &Importance| importance.is_zero();
        let are_some_idle = batch.rows().importances().iter().any(is_idle);
        if nonzeros < LARGE || are_some_idle || self.nonzeros + nonzeros as u64 > self.limit {
            return self.keep(batch.rows());
        }
        self.nonzeros += nonzeros as u64;
        self.kept.push(std::mem::take(batch));
    }

    /// Keeps the next rows of the stream that count, as long as all of the stream fits.
    pub fn keep(&mut self, rows: Rows<'_>) {
        counting(rows).for_each(|rows| self.keep_all(rows));
    }

    fn keep_all(&mut self, rows: Rows<'_>) {
        self.nonzeros += rows.nonzeros() as u64;
        if !self.is_kept() {
            self.kept = Vec::new();
            return;
        }
        match self.kept.last_mut() {
            Some(last) if last.nonzeros() + rows.nonzeros() <= KEPT_TOGETHER => last.append(rows),
            _ => {
                let mut kept = Batch::default();
                kept.append(rows);
                self.kept.push(kept);
            }
        }
    }

    /// Ends the stream, whose census is given, and numbers the columns.
    pub fn settle(&mut self, census: &Census) {
        self.columns = Columns::of(census, self.named);
        if self.columns != Columns::All {
            for batch in &mut self.kept {
                self.columns.renumber(batch.rows(), &mut self.renumbered);
                std::mem::swap(batch, &mut self.renumbered);
            }
        }
    }

    /// The features that solvers are shown, and their numbers.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Whether the data is in memory.
    pub fn is_kept(&self) -> bool {
        self.nonzeros <= self.limit
    }
}

/// The runs of rows between those of importance 0, which are not examples.
pub(crate) fn counting(rows: Rows<'_>) -> impl Iterator<Item = Rows<'_>> {
    let is_idle = move |row: usize| rows.importances().get(row).is_some_and(|one| one.is_zero());
    let mut from = 0;
    std::iter::from_fn(move || {
        from += (from..rows.len()).take_while(|&row| is_idle(row)).count();
        let count = (from..rows.len()).take_while(|&row| !is_idle(row)).count();
        let part = rows.slice(from..from + count);
        from += count;
        (count > 0).then_some(part)
    })
}

impl Passes for Replay<'_> {
    type Error = DataError;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), DataError> {
        if self.is_kept() {
            self.kept.iter().for_each(|batch| visit(batch.rows()));
            return Ok(());
        }
        let mut source = (self.open)()?;
        while source.fill(&mut self.batch)? {
            for rows in counting(self.batch.rows()) {
                visit(self.columns.renumber(rows, &mut self.renumbered));
            }
        }
        Ok(())
    }

    fn held(&self) -> Option<Vec<Rows<'_>>> {
        self.is_kept().then(|| self.kept.iter().map(Batch::rows).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema};

    const TEXT: &str = "1 100:2 3000:1\n-1 200:1\n1\n-1 100:4\n";

    fn open() -> Result<Box<dyn Source>, DataError> {
        let input = Input::new("text", TEXT.as_bytes(), &Follow::No)?;
        let reading = Reading::new(LabelRule::Signs);
        Ok(Box::new(Reader::new(vec![input], &Schema::Libsvm {}, &reading)))
    }

    fn rows(replay: &mut Replay<'_>) -> Vec<(f64, Vec<u32>)> {
        let mut all = Vec::new();
        let passed = replay.pass(&mut |rows| {
            all.extend(rows.iter().map(|row| (row.label, row.features.indices().to_vec())));
        });
        passed.unwrap();
        all
    }

    #[test]
    fn memory_and_file_show_the_same() {
        let set = rueful_core::set::WholeSpace {}.into();
        let mut kept = Replay::read(&mut *open().unwrap(), &open, 100, &set).unwrap();
        let mut streamed = Replay::read(&mut *open().unwrap(), &open, 2, &set).unwrap();
        assert!(kept.is_kept() && !streamed.is_kept());
        let expected =
            [(1.0, vec![0, 1, 3]), (-1.0, vec![0, 2]), (1.0, vec![0]), (-1.0, vec![0, 1])];
        for _ in 0..2 {
            assert_eq!(rows(&mut kept), expected);
            assert_eq!(rows(&mut streamed), expected);
        }
        let columns = kept.columns();
        let u = columns.gather(&[(0, 0.5), (100, 1.0), (200, 2.0), (3000, 3.0)]);
        assert_eq!(u, [0.5, 1.0, 2.0, 3.0]);
        assert_eq!([0, 1, 2, 3].map(|column| columns.feature(column)), [0, 100, 200, 3000]);
    }
}
