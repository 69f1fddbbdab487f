//! The loops over the features of a row, which are the same for all losses.
//!
//! The numbers that are kept for a feature are in three places: its [`Gauge`], the [`Cell`] of the
//! lanes and the [`Slopes`] of the witnesses. There are three loops over a row: to measure it, to
//! see it, and to learn from it.

use super::gauge::Gauge;
use super::lanes::{Cell, Lesson, Seeing, Seen, Teaching};
use crate::witness::{Foreseen, Inner, Measured, Slopes};
use rueful_machine::{Kernel, Numbers, Registers, prefetch};

/// The view of a row by lanes and witnesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sight {
    pub(super) lanes: Seen,
    pub(super) witnesses: Foreseen,
}

/// Measures a row, and sees it if there is nothing odd about it.
pub(super) struct Measure<'a> {
    pub(super) gauges: &'a mut [Gauge],
    pub(super) cells: &'a [Cell],
    pub(super) slopes: &'a [Slopes],
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [f32],
    /// The buffer for x̃, and below the one for the places of features that are new or larger than
    /// all before. Both are as long as the row.
    pub(super) scaled: &'a mut [f32],
    pub(super) odd: &'a mut [u32],
}

impl Kernel for Measure<'_> {
    /// The view of the row, or the number of odd places if there are any.
    type Out = Result<Sight, usize>;

    #[inline(always)]
    fn run<R: Registers>(self) -> Self::Out {
        let mut count = 0;
        let row = self.indices.iter().zip(self.values).zip(&mut *self.scaled);
        for (place, ((&index, &value), scaled)) in (0..).zip(row) {
            let is_odd;
            (*scaled, is_odd) = self.gauges[index as usize].count_scaled(value);
            self.odd[count] = place;
            count += usize::from(is_odd);
        }
        if count > 0 {
            return Err(count);
        }
        let Self { gauges, cells, slopes, indices, values, scaled, .. } = self;
        Ok(See { gauges, cells, slopes, indices, values, scaled }.run::<R>())
    }
}

/// Sees a row that was measured.
pub(super) struct See<'a> {
    pub(super) gauges: &'a [Gauge],
    pub(super) cells: &'a [Cell],
    pub(super) slopes: &'a [Slopes],
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [f32],
    pub(super) scaled: &'a [f32],
}

impl Kernel for See<'_> {
    type Out = Sight;

    #[inline(always)]
    fn run<R: Registers>(self) -> Sight {
        let (mut lanes, mut witnesses) = (Seeing::<R::Eight>::new(), Inner::<R::Four>::new());
        let row = self.indices.iter().zip(self.values).zip(self.scaled);
        for ((&index, &value), &scaled) in row {
            let cell = index as usize;
            lanes.add(&self.cells[cell], scaled);
            witnesses.add(&self.slopes[cell], self.gauges[cell].measure(), value);
        }
        Sight { lanes: lanes.seen(), witnesses: witnesses.foreseen() }
    }
}

/// Lets lanes and witnesses learn from a row.
pub(super) struct Teach<'a> {
    pub(super) cells: &'a mut [Cell],
    pub(super) slopes: &'a mut [Slopes],
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [f32],
    pub(super) scaled: &'a [f32],
    /// The lesson for the lanes, and below the slopes of the witnesses.
    pub(super) lesson: &'a Lesson,
    pub(super) witnesses: &'a [f64; 4],
    /// The numbers of the next row are fetched meanwhile, because memory is slow and this loop
    /// needs it little: what it reads was read before.
    pub(super) ahead: Ahead<'a>,
}

/// The features of the next row, and what is kept for them apart from what `Teach` changes.
pub(super) struct Ahead<'a> {
    pub(super) gauges: &'a [Gauge],
    pub(super) indices: &'a [u32],
}

impl Ahead<'_> {
    /// Fetches everything that is kept for some features.
    #[inline(always)]
    fn fetch(&self, indices: &[u32], cells: &[Cell], slopes: &[Slopes]) {
        for &index in indices {
            let cell = index as usize;
            if let Some(gauge) = self.gauges.get(cell) {
                prefetch(gauge);
                prefetch(&cells[cell]);
                prefetch(&slopes[cell]);
            }
        }
    }
}

impl Kernel for Teach<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let teaching = Teaching::<R::Eight>::new(self.lesson);
        let witnesses = R::Four::load(self.witnesses);
        let (indices, few_indices) = self.indices.as_chunks::<8>();
        let (values, few_values) = self.values.as_chunks::<8>();
        let (scaled, few_scaled) = self.scaled.as_chunks::<8>();
        let mut ahead = self.ahead.indices.chunks(8);
        for ((indices, values), scaled) in indices.iter().zip(values).zip(scaled) {
            self.ahead.fetch(ahead.next().unwrap_or_default(), self.cells, self.slopes);
            let firsts = teaching.firsts(indices.map(|i| &self.cells[i as usize]), scaled);
            for k in 0..8 {
                let cell = indices[k] as usize;
                teaching.teach_with(&mut self.cells[cell], scaled[k], firsts[k]);
                self.slopes[cell].add(witnesses, values[k]);
            }
        }
        for ((&index, &value), &scaled) in few_indices.iter().zip(few_values).zip(few_scaled) {
            teaching.teach(&mut self.cells[index as usize], scaled);
            self.slopes[index as usize].add(witnesses, value);
        }
        ahead.for_each(|indices| self.ahead.fetch(indices, self.cells, self.slopes));
    }
}
