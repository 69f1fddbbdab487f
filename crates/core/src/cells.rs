//! Where features are kept: side by side, so that memory grows with the number of features seen.
//!
//! Features by name are scattered over millions of indices, and only a few thousand of them are
//! ever seen. Every vector of a run (weights, slopes) therefore has one place, a *cell*, per
//! feature:
//!
//! - Small indices are their own cells, so data whose indices are already dense cost nothing extra.
//! - Every other feature gets the next free cell when it is first seen.
//!
//! No result depends on the numbering of the cells: features keep their order within a row, and
//! sums over all cells do not depend on the order of their terms. So renumbering or spreading the
//! columns changes no bit of a result.

use crate::features::Features;
use crate::rows::{Rows, Shape};
use crate::ruler::Ruler;
use rueful_machine::prefetch;

/// Indices below this limit can be their own cells.
const PLAIN_MAX: usize = 1 << 16;

/// The slot of a feature is asked for this many features before it is needed. With many features the
/// table is far from the processor.
const AHEAD: usize = 16;

/// The features of a stream so far, with a cell for each.
///
/// ```
/// use rueful_core::{Batch, Cells};
/// let mut batch = Batch::default();
/// batch.push(&[7, 40_000_000], &[1.0, 2.0], 1.0)?;
/// let mut cells = Cells::default();
/// let mut buffer = Vec::new();
/// let rows = cells.enter(batch.rows(), &mut buffer);
/// assert_eq!(rows.get(0).features.indices(), [0, 1]);
/// assert_eq!(cells.features(), [7, 40_000_000]);
/// # Ok::<(), rueful_core::FeatureError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cells {
    /// Indices below this are always their own cells.
    pinned: usize,
    /// Indices below this are their own cells.
    plain: usize,
    /// Whether `plain` is settled. The first rows settle it.
    is_settled: bool,
    /// How many cells there are.
    len: usize,
    /// For every cell, 1 if its feature was seen and 0 otherwise. A byte is read with one
    /// instruction, a bit would need several.
    seen: Vec<u8>,
    /// How many features were seen.
    count: usize,
    /// The cells of the features that were new in the rows of the last `place`.
    latest: Vec<u32>,
    /// All features below this cell were seen. Rows that have no others need not be searched for
    /// new ones.
    complete: usize,
    /// The features of the cells from `plain` on.
    far: Vec<u32>,
    /// The cells of these features.
    table: Table,
}

impl Cells {
    /// Cells without features so far. The indices below `pinned` will always be their own cells.
    pub fn pinning(pinned: usize) -> Self {
        Self { pinned, plain: pinned, ..Self::default() }
    }

    /// Like `pinning`, but every index from `pinned` on, however small, gets a cell when it is
    /// first seen.
    pub fn compact(pinned: usize) -> Self {
        Self { is_settled: true, ..Self::pinning(pinned) }
    }

    /// Compact cells of known features: they lie side by side in this order, behind the pinned
    /// cells. Returns `None` if a feature occurs twice.
    pub fn side_by_side(features: &[u32], pinned: usize) -> Option<Self> {
        let mut cells = Self::compact(pinned);
        for (next, &feature) in (pinned as u32..).zip(features) {
            let cell = cells.place_index(feature);
            if cell != next {
                return None;
            }
            cells.mark_cells(&[cell]);
        }
        cells.latest.clear();
        Some(cells)
    }

    /// Cells of known features in increasing order. Returns `None` if they are in another order.
    pub fn of(features: &[u32], pinned: usize) -> Option<Self> {
        if !features.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut cells = Self::pinning(pinned);
        cells.settle(features.last().map_or(0, |&last| last as usize + 1));
        for &feature in features {
            let cell = cells.place_index(feature);
            cells.mark_cells(&[cell]);
        }
        cells.latest.clear();
        Some(cells)
    }

    /// Takes in the features of some rows. Returns the rows with cells in place of indices. The
    /// cells are written into `buffer`, unless the indices are their own cells.
    pub fn enter<'a>(&mut self, rows: Rows<'a>, buffer: &'a mut Vec<u32>) -> Rows<'a> {
        let rows = self.place(rows, buffer);
        self.mark(rows);
        rows
    }

    /// Finds cells for the features of some rows. The features count as seen only after `mark`.
    pub(crate) fn place<'a>(&mut self, rows: Rows<'a>, buffer: &'a mut Vec<u32>) -> Rows<'a> {
        self.latest.clear();
        self.settle(rows.dimension());
        if rows.dimension() <= self.plain {
            self.grow(rows.dimension());
            return rows;
        }
        let start = match rows.shape {
            Shape::Ragged { start, .. } => start,
            Shape::Dense { .. } => 0,
        };
        // A row begins at the same place in the indices and in the buffer.
        buffer.clear();
        buffer.resize(start, 0);
        let indices = rows.distinct_indices();
        buffer.extend(indices.iter().enumerate().map(|(at, &index)| {
            indices.get(at + AHEAD).into_iter().for_each(|&next| self.table.fetch(next));
            self.place_index(index)
        }));
        self.entered(rows, buffer)
    }

    /// The rows by cell, if they were entered before and `buffer` is as `enter` left it.
    pub fn entered<'a>(&self, rows: Rows<'a>, buffer: &'a [u32]) -> Rows<'a> {
        if rows.dimension() <= self.plain {
            return rows;
        }
        Rows { indices: buffer, dimension: self.len(), are_increasing: false, ..rows }
    }

    /// Counts the features of rows, which are given by cell, as seen. Rows of importance 0 are left
    /// out.
    #[inline]
    pub(crate) fn mark(&mut self, rows: Rows<'_>) {
        if rows.dimension() <= self.complete {
            return;
        }
        if rows.importances().iter().any(|importance| importance.is_zero()) {
            let rows = rows.iter().filter(|row| !row.importance.is_zero());
            rows.for_each(|row| self.mark_cells(row.features.indices()));
        } else {
            self.mark_cells(rows.distinct_indices());
        }
        while self.complete < self.len && self.seen[self.complete] == 1 {
            self.complete += 1;
        }
    }

    fn mark_cells(&mut self, cells: &[u32]) {
        let (seen, latest) = (&mut self.seen[..], &mut self.latest);
        let mut mark = |seen: &mut [u8], cell: u32| {
            if std::mem::replace(&mut seen[cell as usize], 1) == 0 {
                latest.push(cell);
                self.count += 1;
            }
        };
        // After a while hardly any feature is new. Most cells are passed over eight at a time, and
        // are only read.
        let (eights, rest) = cells.as_chunks::<8>();
        for eight in eights {
            if eight.iter().fold(1, |all, &cell| all & seen[cell as usize]) == 0 {
                eight.iter().for_each(|&cell| mark(seen, cell));
            }
        }
        rest.iter().for_each(|&cell| mark(seen, cell));
    }

    /// Like `enter`, for one example.
    pub fn enter_one<'a>(&mut self, x: &Features<'a>, buffer: &'a mut Vec<u32>) -> Features<'a> {
        let dimension = x.dimension();
        self.latest.clear();
        self.settle(dimension);
        if dimension <= self.plain {
            self.grow(dimension);
            self.mark_cells(x.indices());
            return *x;
        }
        buffer.clear();
        buffer.extend(x.indices().iter().map(|&index| self.place_index(index)));
        self.mark_cells(buffer);
        Features::trusted(buffer, x.values(), x.norm_sq(), false)
    }

    /// Takes in the features of other cells. Returns, for every cell that exists now, the other's
    /// cell of the same feature, or [`NOWHERE`](Self::NOWHERE) if the other has none.
    pub fn merge(&mut self, other: &Self) -> Vec<u32> {
        let features = other.features();
        self.settle(features.last().map_or(0, |&last| last as usize + 1));
        let own: Vec<u32> = features.iter().map(|&feature| self.place_index(feature)).collect();
        self.mark_cells(&own);
        self.latest.clear();
        let mut from = vec![Self::NOWHERE; self.len()];
        for (own, theirs) in own.into_iter().zip(other.in_order()) {
            from[own as usize] = theirs;
        }
        from
    }

    /// The number that stands for no cell.
    pub const NOWHERE: u32 = u32::MAX;

    /// For every cell, the number of seen features with a smaller index, or `NOWHERE` if the
    /// feature of the cell was not seen. This is the inverse of `in_order`.
    pub fn places(&self) -> Vec<u32> {
        let mut places = vec![Self::NOWHERE; self.len()];
        for (place, cell) in (0..).zip(self.in_order()) {
            places[cell as usize] = place;
        }
        places
    }

    /// The features of an example that have a cell, with cells in place of indices.
    pub fn find<'a>(&self, x: &Features<'a>, buffer: &'a mut FoundFeatures) -> Features<'a> {
        if x.dimension() <= self.plain {
            return *x;
        }
        buffer.indices.clear();
        buffer.values.clear();
        for (&index, &value) in x.indices().iter().zip(x.values()) {
            if let Some(cell) = self.cell(index) {
                buffer.indices.push(cell as u32);
                buffer.values.push(value);
            }
        }
        Features::trusted(&buffer.indices, &buffer.values, x.norm_sq(), false)
    }

    /// Decides whether small indices are their own cells: they are if the first rows have no
    /// others.
    fn settle(&mut self, dimension: usize) {
        if !self.is_settled {
            self.is_settled = true;
            if dimension <= PLAIN_MAX {
                self.plain = self.plain.max(PLAIN_MAX);
            }
        }
    }

    /// Makes room for the cells below `cells`.
    #[inline]
    fn grow(&mut self, cells: usize) {
        if self.len < cells {
            self.len = cells;
            self.seen.resize(cells, 0);
        }
    }

    /// The cell of a feature. A new feature gets a new cell.
    #[inline]
    fn place_index(&mut self, index: u32) -> u32 {
        if (index as usize) < self.plain {
            self.grow(index as usize + 1);
            return index;
        }
        let next = (self.plain + self.far.len()) as u32;
        let cell = self.table.find_or_insert(index, next);
        if cell == next {
            self.far.push(index);
            self.grow(cell as usize + 1);
        }
        cell
    }

    /// The cell of a feature, or `None` if it was not seen.
    #[inline]
    pub fn cell(&self, index: u32) -> Option<usize> {
        let plain = index as usize;
        let cell = if plain < self.plain { plain } else { self.table.find(index)? as usize };
        (self.seen.get(cell) == Some(&1)).then_some(cell)
    }

    /// Indices below this are always their own cells.
    pub fn pinned(&self) -> usize {
        self.pinned
    }

    /// The number of entries that a vector over cells must have.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no feature was seen.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// How many features were seen.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The features that were new in the rows that were entered last.
    pub fn latest(&self) -> impl Iterator<Item = u32> {
        let feature =
            |&cell: &u32| (cell as usize).checked_sub(self.plain).map(|far| self.far[far]);
        self.latest.iter().map(move |cell| feature(cell).unwrap_or(*cell))
    }

    /// The features that were seen, in increasing order, each with its cell.
    fn sorted(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut far: Vec<(u32, u32)> = self.far.iter().copied().zip(self.plain as u32..).collect();
        far.sort_unstable();
        let plain = (0..self.plain.min(self.len) as u32).map(|index| (index, index));
        plain.chain(far).filter(|&(_, cell)| self.seen[cell as usize] == 1)
    }

    /// The feature of every cell.
    pub fn by_cell(&self) -> Vec<u32> {
        let plain = self.plain.min(self.len) as u32;
        (0..plain).chain(self.far.iter().copied()).collect()
    }

    /// The features that were seen, in increasing order.
    pub fn features(&self) -> Vec<u32> {
        self.sorted().map(|(feature, _)| feature).collect()
    }

    /// The cells of the features that were seen, in the order of the features.
    pub fn in_order(&self) -> Vec<u32> {
        self.sorted().map(|(_, cell)| cell).collect()
    }

    /// Turns a vector over cells into one over the features that were seen, in increasing order.
    pub fn gather(&self, by_cell: &[f64]) -> Vec<f64> {
        let value = |cell: u32| by_cell.get(cell as usize).copied().unwrap_or(0.0);
        self.in_order().into_iter().map(value).collect()
    }

    /// Turns a vector over cells into pairs of a feature and its value, in increasing order of
    /// features.
    pub fn by_feature(&self, by_cell: &[f64]) -> Vec<(u32, f64)> {
        self.features().into_iter().zip(self.gather(by_cell)).collect()
    }
}

/// Two `Cells` are equal if the same features were seen. Where they are kept makes no difference.
impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        self.features() == other.features()
    }
}

/// A buffer for an example whose features are looked up.
#[derive(Debug, Clone, Default)]
pub struct FoundFeatures {
    indices: Vec<u32>,
    values: Vec<f32>,
}

/// The coordinates that exist. Sets with a side for each coordinate need to know them.
#[derive(Debug, Clone, Copy)]
pub enum Coordinates<'a> {
    /// All coordinates below this number.
    Below(usize),
    /// The coordinates of the features that were seen.
    Seen(&'a Cells),
    /// The coordinates of the features that were seen, and how large their values were.
    Measured(&'a Cells, &'a Ruler),
}

impl<'a> Coordinates<'a> {
    /// The ruler, if the values were measured.
    pub fn ruler(self) -> Option<&'a Ruler> {
        match self {
            Self::Measured(_, ruler) => Some(ruler),
            Self::Below(_) | Self::Seen(_) => None,
        }
    }

    /// How many coordinates there are.
    pub fn count(self) -> usize {
        match self {
            Self::Below(dimension) => dimension,
            Self::Seen(cells) | Self::Measured(cells, _) => cells.count(),
        }
    }

    /// The coordinates below `end`, in increasing order.
    pub fn below(self, end: usize) -> impl Iterator<Item = usize> + use<'a> {
        let is_one = move |&i: &usize| match self {
            Self::Below(dimension) => i < dimension,
            Self::Seen(cells) | Self::Measured(cells, _) => cells.cell(i as u32).is_some(),
        };
        (0..end).filter(is_one)
    }
}

impl From<usize> for Coordinates<'_> {
    fn from(dimension: usize) -> Self {
        Self::Below(dimension)
    }
}

impl<'a> From<&'a Cells> for Coordinates<'a> {
    fn from(cells: &'a Cells) -> Self {
        Self::Seen(cells)
    }
}

/// A hash table from indices to cells, with open addressing. It is at most half full.
#[derive(Debug, Clone, Default)]
struct Table {
    /// An index in the upper half and its cell in the lower half, or `FREE`.
    slots: Vec<u64>,
    count: usize,
}

const FREE: u64 = u64::MAX;

impl Table {
    #[inline]
    fn find(&self, index: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        match self.slots[self.slot_of(index)] {
            FREE => None,
            slot => Some(slot as u32),
        }
    }

    /// The cell of an index. If it has none yet, it gets `cell`.
    #[inline]
    fn find_or_insert(&mut self, index: u32, cell: u32) -> u32 {
        if 2 * self.count >= self.slots.len() {
            self.lengthen();
        }
        let at = self.slot_of(index);
        if self.slots[at] == FREE {
            self.slots[at] = u64::from(index) << 32 | u64::from(cell);
            self.count += 1;
        }
        self.slots[at] as u32
    }

    /// The slot where an index is, or where it would go. The table must have slots, and one of them
    /// must be free.
    #[inline]
    fn slot_of(&self, index: u32) -> usize {
        let (mut at, mask) = (self.first_slot_of(index), self.slots.len() - 1);
        while self.slots[at] != FREE && (self.slots[at] >> 32) as u32 != index {
            at = (at + 1) & mask;
        }
        at
    }

    /// The slot where an index would go if all were free. The golden ratio spreads neighbours far
    /// apart, and the upper bits are mixed best. Because the slot is made of them, the slots of a
    /// table keep their order when it becomes longer, and moving them goes through memory once.
    #[inline]
    fn first_slot_of(&self, index: u32) -> usize {
        let mixed = u64::from(index).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (u64::BITS - self.slots.len().trailing_zeros())) as usize
    }

    /// Asks for the slot of an index.
    #[inline]
    fn fetch(&self, index: u32) {
        if !self.slots.is_empty() {
            prefetch(&self.slots[self.first_slot_of(index)]);
        }
    }

    #[cold]
    fn lengthen(&mut self) {
        let length = (2 * self.slots.len()).max(64);
        let old = std::mem::replace(&mut self.slots, vec![FREE; length]);
        for slot in old.into_iter().filter(|&slot| slot != FREE) {
            let at = self.slot_of((slot >> 32) as u32);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::number::Importance;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn batch(rows: &[BTreeSet<u32>]) -> Batch {
        let mut batch = Batch::default();
        for row in rows {
            let indices: Vec<u32> = row.iter().copied().collect();
            let values: Vec<f32> = row.iter().map(|&i| 0.5 + (i % 7) as f32).collect();
            batch.push(&indices, &values, 1.0).unwrap();
        }
        batch
    }

    /// Rows with small indices only, with large ones only, and mixed rows.
    fn streams() -> impl Strategy<Value = Vec<BTreeSet<u32>>> {
        let index = |range: std::ops::Range<u32>| prop::collection::btree_set(range, 0..12);
        let far = u32::MAX - 500..u32::MAX;
        let row = prop_oneof![index(0..300), index(65_400..65_700), index(far)];
        prop::collection::vec(row, 0..30)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn every_feature_has_one_cell_of_its_own(
            stream in streams(), cut in 0..30_usize, pinned in 0..400_usize,
        ) {
            let mut cells = Cells::pinning(pinned);
            let mut known: BTreeMap<u32, u32> = BTreeMap::new();
            let (front, back) = stream.split_at(cut.min(stream.len()));
            for part in [front, back] {
                let (batch, mut buffer) = (batch(part), Vec::new());
                let whole = cells.enter(batch.rows(), &mut buffer);
                prop_assert!(whole.dimension() <= cells.len());
                for (row, cell_row) in batch.iter().zip(whole.iter()) {
                    prop_assert_eq!(row.features.values(), cell_row.features.values());
                    let pairs = row.features.indices().iter().zip(cell_row.features.indices());
                    for (&index, &cell) in pairs {
                        prop_assert_eq!(*known.entry(index).or_insert(cell), cell);
                        prop_assert_eq!(cells.cell(index), Some(cell as usize));
                        prop_assert!(index as usize >= pinned || index == cell);
                    }
                }
            }
            let distinct: BTreeSet<u32> = known.values().copied().collect();
            prop_assert_eq!(distinct.len(), known.len());
            prop_assert_eq!(cells.count(), known.len());
            prop_assert_eq!(cells.features(), known.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(cells.in_order(), known.values().copied().collect::<Vec<_>>());
            let again = Cells::of(&cells.features(), pinned).unwrap();
            prop_assert_eq!(&again, &cells);
            let vector: Vec<f64> = (0..cells.len()).map(|cell| cell as f64 + 1.0).collect();
            let order = cells.in_order();
            for (cell, &place) in cells.places().iter().enumerate() {
                prop_assert!(place == Cells::NOWHERE || order[place as usize] == cell as u32);
            }
            prop_assert_eq!(cells.by_feature(&vector).len(), cells.count());
        }

        /// Rows that do not count get cells of their own like other rows, but their features are
        /// not seen.
        #[test]
        fn rows_that_do_not_count_are_not_seen(
            stream in streams(), idle in prop::collection::vec(any::<bool>(), 30), pinned in 0..400_usize,
        ) {
            let mut all = Batch::default();
            for (example, &idle) in batch(&stream).iter().zip(&idle) {
                let importance = if idle { Importance::ZERO } else { Importance::ONE };
                let x = example.features;
                all.push_weighted(x.indices(), x.values(), example.label, importance).unwrap();
            }
            let mut cells = Cells::pinning(pinned);
            for half in [0..all.len() / 2, all.len() / 2..all.len()] {
                let mut buffer = Vec::new();
                let entered = cells.enter(all.rows().slice(half.clone()), &mut buffer);
                for (row, cell_row) in half.zip(entered.iter()) {
                    let distinct: BTreeSet<u32> = cell_row.features.indices().iter().copied().collect();
                    prop_assert_eq!(distinct.len(), all.get(row).features.len());
                    prop_assert!(distinct.last().is_none_or(|&last| (last as usize) < cells.len()));
                }
            }
            let counted = stream.iter().zip(&idle).filter(|(_, idle)| !**idle).map(|(row, _)| row);
            let seen: Vec<u32> = counted.flatten().copied().collect::<BTreeSet<u32>>().into_iter().collect();
            prop_assert_eq!(cells.features(), &seen[..]);
            prop_assert_eq!(cells.count(), seen.len());
            prop_assert_eq!(cells.in_order().len(), seen.len());
            prop_assert!(seen.iter().all(|&index| cells.cell(index).is_some()));
        }

        #[test]
        fn an_example_is_found_as_far_as_it_was_seen(
            stream in streams(), new in prop::collection::btree_set(0..70_000_u32, 0..40),
        ) {
            let mut cells = Cells::default();
            let mut buffer = Vec::new();
            cells.enter(batch(&stream).rows(), &mut buffer);
            let one = batch(&[new]);
            let x = one.get(0).features;
            let mut found = FoundFeatures::default();
            let vector: Vec<f64> = (0..cells.len()).map(|cell| (cell as f64).sin()).collect();
            let direct: f64 = x.iter()
                .filter_map(|(i, x)| Some(vector[cells.cell(i as u32)?] * x))
                .sum();
            let found = cells.find(&x, &mut found);
            let kept: f64 = found.iter()
                .filter_map(|(cell, x)| Some(vector.get(cell)? * x))
                .sum();
            // Where indices are their own cells, features that were not seen are left in. Their
            // weight is 0.
            let is_plain = x.dimension() <= cells.plain;
            prop_assert!(is_plain || (kept - direct).abs() < 1e-9);
        }
    }

    #[test]
    fn state_costs_what_was_seen() {
        let mut cells = Cells::default();
        let mut buffer = Vec::new();
        let stream = [BTreeSet::from([3, 40_000_000, 60_000_000])];
        cells.enter(batch(&stream).rows(), &mut buffer);
        assert_eq!((cells.len(), cells.count()), (3, 3));
        assert_eq!(Cells::of(&[5, 5], 0), None);
    }

    #[test]
    fn the_latest_features_are_those_that_the_last_rows_brought() {
        let (mut cells, mut buffer) = (Cells::default(), Vec::new());
        let rows = [&[3, 9][..], &[3], &[9, 70_000, 80_000], &[5, 80_000], &[]];
        let news = [&[3, 9][..], &[], &[70_000, 80_000], &[5], &[]];
        for (row, new) in rows.iter().zip(news) {
            let mut batch = Batch::default();
            batch.push(row, &vec![1.0; row.len()], 1.0).unwrap();
            cells.enter(batch.rows(), &mut buffer);
            assert_eq!(cells.latest().collect::<Vec<_>>(), new, "{row:?}");
        }
        assert_eq!(Cells::of(&cells.features(), 0).unwrap().latest().count(), 0);
    }
}
