//! Products of full rows, kept from one of Newton's systems to the next.
//!
//! Y E⁻¹Yᵀ is most of the work of a system: n²d/2 multiplications for n rows. From one step to the
//! next few rows come and few columns change sides, and from one round to the next the others
//! change in proportion. So the products of all rows that were met are kept, and follow E:
//!
//! ```text
//! Y E'⁻¹Yᵀ = c·Y E⁻¹Yᵀ + Σ (1/e'_i − c/e_i) y_i y_iᵀ
//! ```
//!
//! The sum is over the columns i that do not follow the common ratio c. A term that is taken away
//! again leaves its rounding behind. The products only steer, and a caller that finds them poor
//! forgets them.

use nalgebra::DMatrix;
use rueful_core::Features;

/// The number of columns (or rows) that are multiplied at once.
pub(crate) const STRIP: usize = 256;

/// The most rows that are kept. They take 8 bytes times the square, and once more for the factor.
const MAX_KEPT: usize = 2800;

/// A column follows the common ratio if it does so up to this relative error.
const SAME: f64 = 1e-9;

/// The number of columns that are turned to rows at once.
const FEW: usize = 16;

/// Columns are looked up one by one where they are at least this many times fewer than the columns
/// in their range.
const SPARSE: usize = 8;

/// The mark for no row.
const NONE: u32 = u32::MAX;

/// An example that takes part in a system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a> {
    /// The position of the example in the data.
    pub(crate) place: usize,
    pub(crate) features: Features<'a>,
    /// The weight w.
    pub(crate) weight: f64,
}

/// Y E⁻¹Yᵀ for the rows that were met.
#[derive(Debug, Clone)]
pub(crate) struct Products<'a> {
    rows: Vec<(usize, Features<'a>)>,
    /// The inverses 1/e.
    inverse: Vec<f64>,
    /// The table of products. Only the lower triangle counts, of as many rows and columns as there
    /// are rows.
    table: DMatrix<f64>,
}

impl<'a> Products<'a> {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new(), inverse: Vec::new(), table: DMatrix::zeros(0, 0) }
    }

    /// Whether nothing is kept, so that rounding cannot have spoilt anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn forget(&mut self) {
        self.rows.clear();
    }

    /// The lower triangle of Y E⁻¹Yᵀ for these members. They are put in the order of its rows.
    pub(crate) fn of(&mut self, members: &mut [Member<'a>], inverse: &[f64]) -> DMatrix<f64> {
        if members.len() > MAX_KEPT {
            self.forget();
        }
        self.follow(inverse);
        self.make_room(members);
        let slots = self.admit(members);
        members.sort_unstable_by_key(|member| slots[member.place]);
        if members.len() > MAX_KEPT {
            self.forget();
            return std::mem::replace(&mut self.table, DMatrix::zeros(0, 0));
        }
        let slots: Vec<usize> = members.iter().map(|m| slots[m.place] as usize).collect();
        pick(&self.table, &slots)
    }

    /// Updates the products to another E.
    fn follow(&mut self, inverse: &[f64]) {
        if self.rows.is_empty() {
            self.inverse = inverse.to_vec();
            return;
        }
        let ratio = common_ratio(&self.inverse, inverse);
        let change = |i: usize| inverse[i] - ratio * self.inverse[i];
        let changed: Vec<usize> =
            (0..inverse.len()).filter(|&i| change(i).abs() > SAME * inverse[i]).collect();
        if 2 * changed.len() > inverse.len() {
            self.forget();
        } else {
            let n = self.rows.len();
            if ratio != 1.0 {
                self.table.view_mut((0, 0), (n, n)).iter_mut().for_each(|k| *k *= ratio);
            }
            let changes: Vec<f64> = changed.iter().map(|&i| change(i)).collect();
            for (columns, changes) in changed.chunks(STRIP).zip(changes.chunks(STRIP)) {
                self.add_columns(columns, changes, 0);
            }
        }
        self.inverse.copy_from_slice(inverse);
    }

    /// Drops the rows that take no part, where they are many.
    fn make_room(&mut self, members: &[Member<'_>]) {
        let mut takes_part = vec![false; places(&self.rows, members)];
        members.iter().for_each(|member| takes_part[member.place] = true);
        let stay: Vec<usize> =
            (0..self.rows.len()).filter(|&row| takes_part[self.rows[row].0]).collect();
        let idle = self.rows.len() - stay.len();
        if idle > 0 && (2 * idle > members.len() || idle + members.len() > MAX_KEPT) {
            self.table = pick(&self.table, &stay);
            self.rows = stay.iter().map(|&row| self.rows[row]).collect();
        }
    }

    /// Gives every member a row, and returns the rows by the members' places.
    fn admit(&mut self, members: &[Member<'a>]) -> Vec<u32> {
        let mut slots = vec![NONE; places(&self.rows, members)];
        for (row, (place, _)) in self.rows.iter().enumerate() {
            slots[*place] = row as u32;
        }
        let old = self.rows.len();
        for member in members.iter().filter(|member| slots[member.place] == NONE) {
            self.rows.push((member.place, member.features));
        }
        for (row, (place, _)) in self.rows.iter().enumerate().skip(old) {
            slots[*place] = row as u32;
        }
        self.grow(old);
        if self.rows.len() > old {
            let columns: Vec<usize> = (0..self.inverse.len()).collect();
            let inverse = std::mem::take(&mut self.inverse);
            for (columns, inverse) in columns.chunks(STRIP).zip(inverse.chunks(STRIP)) {
                self.add_columns(columns, inverse, old);
            }
            self.inverse = inverse;
        }
        slots
    }

    /// Makes room in the table for all rows and some more, and fills the new rows with zeros.
    fn grow(&mut self, old: usize) {
        let n = self.rows.len();
        if n > self.table.nrows() {
            let room = if n > MAX_KEPT { n } else { n + n / 8 };
            let mut table = DMatrix::zeros(room, room);
            table.view_mut((0, 0), (old, old)).copy_from(&self.table.view((0, 0), (old, old)));
            self.table = table;
        } else {
            self.table.view_mut((old, 0), (n - old, n)).fill(0.0);
        }
    }

    /// Adds Σ k_i y_i y_iᵀ over some columns, in the rows from `first` on.
    fn add_columns(&mut self, columns: &[usize], factors: &[f64], first: usize) {
        let n = self.rows.len();
        let mut scaled = strip(&self.rows, columns);
        let strip = turned(&scaled);
        for mut row in scaled.column_iter_mut() {
            row.iter_mut().zip(factors).for_each(|(x, k)| *x *= k);
        }
        for from in (0..n).step_by(STRIP) {
            let (width, top) = (STRIP.min(n - from), from.max(first));
            if top < n {
                self.table.view_mut((top, from), (n - top, width)).gemm(
                    1.0,
                    &strip.rows(top, n - top),
                    &scaled.columns(from, width),
                    1.0,
                );
            }
        }
    }
}

/// One more than the largest place.
fn places(rows: &[(usize, Features<'_>)], members: &[Member<'_>]) -> usize {
    let all = rows.iter().map(|row| row.0).chain(members.iter().map(|member| member.place));
    all.max().map_or(0, |last| last + 1)
}

/// Some columns of rows. The columns must increase. The rows stand upright, so that they are
/// written from front to back.
fn strip(rows: &[(usize, Features<'_>)], columns: &[usize]) -> DMatrix<f64> {
    let mut strip = DMatrix::zeros(columns.len(), rows.len());
    let (Some(&first), Some(&last)) = (columns.first(), columns.last()) else { return strip };
    let upright = rows.iter().zip(strip.as_mut_slice().chunks_mut(columns.len()));
    if SPARSE * columns.len() <= last - first {
        upright.for_each(|((_, features), row)| look_up(features, columns, row));
        return strip;
    }
    let mut at = vec![NONE; last - first + 1];
    columns.iter().enumerate().for_each(|(k, column)| at[column - first] = k as u32);
    for ((_, features), row) in upright {
        let from = position(features.indices(), first);
        let rest = features.indices()[from..].iter().zip(&features.values()[from..]);
        for (&i, &value) in rest {
            let Some(&column) = at.get(i as usize - first) else { break };
            if column != NONE {
                row[column as usize] = f64::from(value);
            }
        }
    }
    strip
}

/// Does the work of [`strip`] for one row, column by column.
fn look_up(features: &Features<'_>, columns: &[usize], row: &mut [f64]) {
    for (x, &column) in row.iter_mut().zip(columns) {
        let at = position(features.indices(), column);
        if features.indices().get(at) == Some(&(column as u32)) {
            *x = f64::from(features.values()[at]);
        }
    }
}

/// The position where an index is, or would be. In a row without gaps it is known beforehand.
fn position(indices: &[u32], index: usize) -> usize {
    if indices.get(index) == Some(&(index as u32)) {
        return index;
    }
    indices.partition_point(|&i| (i as usize) < index)
}

/// Aᵀ, computed a few columns of A at a time, so that the caches hold everything that is read and
/// written.
fn turned(a: &DMatrix<f64>) -> DMatrix<f64> {
    let (height, width) = a.shape();
    let mut turned = DMatrix::zeros(width, height);
    for first in (0..width).step_by(FEW) {
        let few = FEW.min(width - first);
        for i in 0..height {
            let to = &mut turned.as_mut_slice()[i * width + first..][..few];
            to.iter_mut().enumerate().for_each(|(j, to)| *to = a[(i, first + j)]);
        }
    }
    turned
}

/// The lower triangle of some rows and columns, which must increase.
fn pick(table: &DMatrix<f64>, slots: &[usize]) -> DMatrix<f64> {
    let n = slots.len();
    let mut picked = DMatrix::zeros(n, n);
    for (j, &column) in slots.iter().enumerate() {
        let from = table.column(column);
        let mut to = picked.column_mut(j);
        for i in j..n {
            to[i] = from[slots[i]];
        }
    }
    picked
}

/// The median ratio of new to old numbers.
fn common_ratio(old: &[f64], new: &[f64]) -> f64 {
    let mut ratios: Vec<f64> = old.iter().zip(new).map(|(old, new)| new / old).collect();
    let middle = ratios.len() / 2;
    if ratios.is_empty() { 1.0 } else { *ratios.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rueful_checks::Rng;
    use rueful_core::Batch;

    /// Rows with a few gaps.
    fn batch(rng: &mut Rng, rows: usize, columns: u32) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..rows {
            let indices: Vec<u32> = (0..columns).filter(|_| rng.chance(0.8)).collect();
            let values: Vec<f32> = indices.iter().map(|_| rng.bell() as f32).collect();
            batch.push(&indices, &values, 1.0).unwrap();
        }
        batch
    }

    fn members<'a>(batch: &'a Batch, mut takes_part: impl FnMut() -> bool) -> Vec<Member<'a>> {
        let all = batch.iter().enumerate();
        let all = all.map(|(place, x)| Member { place, features: x.features, weight: 1.0 });
        all.filter(|_| takes_part()).collect()
    }

    /// The largest difference from products that are made one by one, relative to the largest
    /// product.
    fn error(found: &DMatrix<f64>, members: &[Member<'_>], inverse: &[f64]) -> f64 {
        assert_eq!(found.nrows(), members.len());
        let (mut error, mut size) = (0.0_f64, 0.0_f64);
        let mut spread = vec![0.0; inverse.len()];
        for (j, member) in members.iter().enumerate() {
            spread.fill(0.0);
            member.features.iter().for_each(|(i, x)| spread[i] = inverse[i] * x);
            for (i, other) in members.iter().enumerate().skip(j) {
                let product = other.features.dot(&spread);
                error = error.max((found[(i, j)] - product).abs());
                size = size.max(product.abs());
            }
        }
        error / size
    }

    #[test]
    fn products_follow_rows_that_come_and_go_and_columns_that_change_sides() {
        let rng = &mut Rng::new(5);
        let batch = batch(rng, 60, 600);
        let mut kept = Products::new();
        let mut beyond: Vec<bool> = (0..600).map(|_| rng.chance(0.7)).collect();
        for step in 0..60 {
            let width = 0.5_f64.powi(step / 6);
            let flips = if step % 20 == 19 { 400 } else { 10 };
            (0..flips).for_each(|_| beyond[rng.below(600)] ^= true);
            let inverse: Vec<f64> =
                beyond.iter().map(|&beyond| if beyond { width } else { 10.0 / width }).collect();
            // In the end there are so few members that the other rows are dropped.
            let share = if step < 50 { 0.8 } else { 0.2 };
            let mut members = members(&batch, || rng.chance(share));
            let found = kept.of(&mut members, &inverse);
            let error = error(&found, &members, &inverse);
            assert!(error < 1e-11, "step {step}: {error}");
            assert!(kept.rows.len() <= 1 + 3 * members.len() / 2, "step {step}");
        }
    }

    #[test]
    fn more_rows_than_are_kept_have_products_all_the_same() {
        let rng = &mut Rng::new(6);
        let batch = batch(rng, MAX_KEPT + 5, 4);
        let mut kept = Products::new();
        for inverse in [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0]] {
            let mut members = members(&batch, || true);
            let found = kept.of(&mut members, &inverse);
            assert!(error(&found, &members, &inverse) < 1e-14);
            assert!(kept.is_empty());
        }
    }

    #[test]
    fn no_rows_have_no_products() {
        let mut kept = Products::new();
        assert!(kept.of(&mut [], &[1.0, 2.0]).is_empty());
        assert!(kept.of(&mut [], &[2.0, 2.0]).is_empty());
    }
}
