//! The rows of a table, kept in memory so that they can be read several times.

use crate::error::{Outcome, PythonError};
use crate::kind::Kind;
use crate::side::{Side, Visit};
use crate::table::{Told, View, Way};
use rueful_core::{Batch, Rows};
use rueful_data::{Census, DataError, LabelsSeen, Names, Seen, Source};
use rueful_run::DataSpec;
use std::sync::Arc;

/// The rows of a table.
pub(crate) struct Memory {
    batches: Vec<Batch>,
    told: Told,
    /// The labels that were announced before the first row.
    announced: LabelsSeen,
    /// Counts the labels of some rows.
    count: fn(&mut Seen, Rows<'_>),
}

impl Memory {
    /// Copies the rows of a table, for a run of this kind.
    pub(crate) fn of<R: Kind>(
        view: View<'_>,
        way: &Way<'_>,
        side: &Side<'_>,
        announced: LabelsSeen,
    ) -> Outcome<Arc<Self>> {
        let mut batches = Vec::new();
        let told = view.each(way, Some(side), &mut |rows| {
            batches.push(copied(rows)?);
            Ok(())
        })?;
        Ok(Arc::new(Self { batches, told, announced, count: R::count_labels }))
    }

    /// Returns a source of the rows, from the first on.
    pub(crate) fn read(self: &Arc<Self>) -> Box<dyn Source> {
        let seen = Seen { labels: self.announced.clone(), ..Seen::default() };
        Box::new(Reader { memory: Arc::clone(self), next: 0, seen })
    }
}

/// Shows the rows of a table to `visit` as a run over such data is shown them: those that are held
/// out have importance 0.
pub(crate) fn each_counted<R: Kind>(
    data: &DataSpec,
    view: View<'_>,
    way: &Way<'_>,
    side: &Side<'_>,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    if data.passes.is_none() {
        return view.each(way, Some(side), visit);
    }
    let memory = Memory::of::<R>(view, way, side, LabelsSeen::default())?;
    let (mut source, mut batch) = (data.hold_out(memory.read()), Batch::default());
    while source.fill(&mut batch)? {
        visit(batch.rows())?;
    }
    Ok(Told { names: memory.told.names.clone(), missing: memory.told.missing.clone() })
}

fn copied(rows: Rows<'_>) -> Outcome<Batch> {
    let mut batch = Batch::default();
    for example in rows.iter() {
        let x = &example.features;
        let mut open = batch.open_row(x.len());
        for (&index, &value) in x.indices().iter().zip(x.values()) {
            open.push(index, value).map_err(|why| PythonError::value(format!("X: {why}")))?;
        }
        open.finish(example.label, example.importance);
    }
    Ok(batch)
}

/// A reader of the rows.
struct Reader {
    memory: Arc<Memory>,
    next: usize,
    /// What was seen of the rows so far, apart from names.
    seen: Seen,
}

impl Source for Reader {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.clear();
        let Some(next) = self.memory.batches.get(self.next) else { return Ok(false) };
        batch.clone_from(next);
        self.next += 1;
        self.seen.census.count(batch.rows());
        (self.memory.count)(&mut self.seen, batch.rows());
        Ok(true)
    }

    fn census(&self) -> &Census {
        &self.seen.census
    }

    fn bytes_read(&self) -> u64 {
        0
    }

    fn names(&self) -> &Names {
        &self.memory.told.names
    }

    fn labels(&self) -> LabelsSeen {
        self.seen.labels.clone()
    }

    fn class(&self, number: u32) -> Option<&str> {
        let (name, _) = self.seen.labels.counts.get(number as usize)?;
        Some(name)
    }

    fn missing(&self) -> &[u64] {
        &self.memory.told.missing
    }
}
