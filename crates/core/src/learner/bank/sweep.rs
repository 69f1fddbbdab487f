//! The loops over the features of a row, which are the same for all losses.
//!
//! The numbers that are kept for a feature are in three places: its [`Gauge`], the [`Cell`] of the
//! lanes and the [`Slopes`] of the witnesses. There are two loops over a row: to measure and see
//! it, and to learn from it. All slices over the features are cut to one length first, so that each
//! index is checked once.

use super::gauge::Gauge;
use super::lanes::{Cell, Lesson, Seeing, Seen, Teaching};
use crate::witness::{Foreseen, Inner, Measured, Shrinking, Slopes};
use rueful_machine::{Kernel, Numbers, Registers, prefetch};

/// The view of a row by lanes and witnesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sight {
    pub(super) lanes: Seen,
    pub(super) witnesses: Foreseen,
}

/// What is done about a feature that is new, or whose value is larger than all before.
pub(super) trait Meet {
    /// Meets such a feature, which was counted. Returns the x̃ that is seen.
    fn meet(&mut self, place: u32, gauge: &mut Gauge, slopes: &Slopes, value: f32) -> f32;
}

/// Notes the places of all such features, and leaves them as they are.
pub(super) struct Note<'a>(pub(super) &'a mut Vec<u32>);

impl Meet for Note<'_> {
    #[cold]
    #[inline(never)]
    fn meet(&mut self, place: u32, _gauge: &mut Gauge, _slopes: &Slopes, _value: f32) -> f32 {
        self.0.push(place);
        0.0
    }
}

/// Lets the units of known features grow, and notes the places of new ones.
pub(super) struct Lengthen<'a> {
    pub(super) news: &'a mut Vec<u32>,
    /// ‖S/N‖² of the witnesses, which shrinks with 1/N.
    pub(super) shrinking: Shrinking<'a>,
}

impl Meet for Lengthen<'_> {
    #[cold]
    #[inline(never)]
    fn meet(&mut self, place: u32, gauge: &mut Gauge, slopes: &Slopes, value: f32) -> f32 {
        if gauge.scale.is_new() {
            self.news.push(place);
            return 0.0;
        }
        self.shrinking.lengthen(gauge.measure_mut(), slopes, value);
        gauge.scale.admit(value).value
    }
}

/// Measures a row, and sees it.
pub(super) struct Measure<'a, M> {
    pub(super) gauges: &'a mut [Gauge],
    pub(super) cells: &'a [Cell],
    pub(super) slopes: &'a [Slopes],
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [f32],
    /// The buffer for x̃, as long as the row.
    pub(super) scaled: &'a mut [f32],
    pub(super) meet: M,
}

impl<M: Meet> Kernel for Measure<'_, M> {
    type Out = Sight;

    #[inline(always)]
    fn run<R: Registers>(self) -> Sight {
        let Self { gauges, mut meet, .. } = self;
        let (cells, slopes) = (&self.cells[..gauges.len()], &self.slopes[..gauges.len()]);
        let (mut lanes, mut witnesses) = (Seeing::<R::Eight>::new(), Inner::<R::Four>::new());
        let row = self.indices.iter().zip(self.values).zip(self.scaled);
        for (place, ((&index, &value), scaled)) in (0..).zip(row) {
            let cell = index as usize;
            let gauge = &mut gauges[cell];
            *scaled = match gauge.count_scaled(value) {
                Some(scaled) => scaled,
                None => meet.meet(place, gauge, &slopes[cell], value),
            };
            lanes.add(&cells[cell], *scaled);
            witnesses.add(&slopes[cell], gauge.measure(), value);
        }
        Sight { lanes: lanes.seen(), witnesses: witnesses.foreseen() }
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

/// Fetches everything that is kept for some features. All slices have one length.
#[inline(always)]
fn fetch(indices: &[u32], gauges: &[Gauge], cells: &[Cell], slopes: &[Slopes]) {
    let (cells, slopes) = (&cells[..gauges.len()], &slopes[..gauges.len()]);
    for &index in indices {
        let cell = index as usize;
        if let Some(gauge) = gauges.get(cell) {
            prefetch(gauge);
            prefetch(&cells[cell]);
            prefetch(&slopes[cell]);
        }
    }
}

impl Kernel for Teach<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let teaching = Teaching::<R::Eight>::new(self.lesson);
        let witnesses = R::Four::load(self.witnesses);
        let gauges = self.ahead.gauges;
        let (cells, slopes) = (&mut self.cells[..gauges.len()], &mut self.slopes[..gauges.len()]);
        let (indices, few_indices) = self.indices.as_chunks::<8>();
        let (values, few_values) = self.values.as_chunks::<8>();
        let (scaled, few_scaled) = self.scaled.as_chunks::<8>();
        let (ahead, few_ahead) = self.ahead.indices.as_chunks::<8>();
        let mut ahead = ahead.iter();
        for ((indices, values), scaled) in indices.iter().zip(values).zip(scaled) {
            if let Some(ahead) = ahead.next() {
                fetch(ahead, gauges, cells, slopes);
            }
            let firsts = teaching.firsts(indices.map(|i| &cells[i as usize]), scaled);
            for k in 0..8 {
                let cell = indices[k] as usize;
                teaching.teach_with(&mut cells[cell], scaled[k], firsts[k]);
                slopes[cell].add(witnesses, values[k]);
            }
        }
        for ((&index, &value), &scaled) in few_indices.iter().zip(few_values).zip(few_scaled) {
            teaching.teach(&mut cells[index as usize], scaled);
            slopes[index as usize].add(witnesses, value);
        }
        ahead.for_each(|indices| fetch(indices, gauges, cells, slopes));
        fetch(few_ahead, gauges, cells, slopes);
    }
}
