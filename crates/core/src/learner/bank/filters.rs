//! The full filters, while there are few features.
//!
//! There are three, (v₀, q) = (1, 10⁻⁹), (10, 10⁻⁵), (100, 10⁻³), as long as at most 64 features
//! were seen. The first goes on up to 256. Features have slots in the order in which they were
//! first seen.

use super::eight::Eight;
use super::filter::{Dense, Filter, Glance, Listed, WIDEST};
use super::lanes::gather;
use super::merge::Parts;
use super::scale::Scaled;
use rueful_machine::{Eights, Kernel, Plain, Registers, Runner};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How many filters there are.
pub(super) const FILTERS: usize = 3;

/// (v₀, q) of each.
pub(super) const PRIORS: [(f32, f32); FILTERS] = [(1.0, 1e-9), (10.0, 1e-5), (100.0, 1e-3)];

/// The names of the filters for people.
pub(super) const NAMES: [&str; FILTERS] =
    ["full kalman 1", "full kalman 10, drift 0.00001", "full kalman 100, drift 0.001"];

/// The most features for all three, and below for the first.
const MANY: usize = 64;
const MOST: usize = 8 * WIDEST;

/// The number that stands for no slot.
pub(super) const NOWHERE: u16 = u16::MAX;

/// All filters, and the slots of the features by cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Filters {
    /// Three filters, one, or none.
    filters: Vec<Filter>,
    slots: Vec<u16>,
    used: usize,
}

/// f and s of every filter. They are side by side in the first places, as registers have them: what is
/// written number by number cannot be loaded at once until long after.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Glances {
    pub(super) mean: Eight,
    pub(super) variance: Eight,
}

/// 1 at the place of a filter, and 0 at all others.
const PLACES: [[f32; 8]; FILTERS] = {
    let mut places = [[0.0; 8]; FILTERS];
    let mut which = 0;
    while which < FILTERS {
        places[which][which] = 1.0;
        which += 1;
    }
    places
};

impl Glances {
    /// The same, with another glance in one of the places.
    #[inline(always)]
    fn with<V: Eights>(self, which: usize, seen: Glance) -> Self {
        let (here, nothing) = (V::load(&PLACES[which]), V::all(0.0));
        let put = |number: f32, all: Eight| {
            Eight::of_register(here.above(nothing, V::all(number), all.load()))
        };
        Self { mean: put(seen.mean, self.mean), variance: put(seen.variance, self.variance) }
    }

    /// f and s of one filter.
    #[inline(always)]
    pub(super) fn get(&self, which: usize) -> Glance {
        Glance { mean: self.mean.0[which], variance: self.variance.0[which] }
    }
}

/// A buffer for one example, laid out by slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Desk {
    x: Dense,
    /// The slots with their values, in the order of the row.
    listed: [(u16, f32); MOST],
    len: usize,
    /// Whether these are the first slots in their order.
    is_table: bool,
    products: [Dense; FILTERS],
}

impl Default for Desk {
    fn default() -> Self {
        let dense = [Eight::ZERO; WIDEST];
        Self {
            x: dense,
            listed: [(0, 0.0); MOST],
            len: 0,
            is_table: false,
            products: [dense; FILTERS],
        }
    }
}

impl Default for Filters {
    fn default() -> Self {
        let filters = PRIORS.map(|(prior, drift)| Filter::new(prior, drift)).into();
        Self { filters, slots: Vec::new(), used: 0 }
    }
}

impl Filters {
    /// How many filters still learn.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.filters.len()
    }

    fn most(&self) -> usize {
        match self.len() {
            FILTERS => MANY,
            0 => 0,
            _ => MOST,
        }
    }

    /// Makes room for features below `dimension`.
    pub(super) fn grow(&mut self, dimension: usize) {
        if self.len() == 0 || dimension <= self.slots.len() {
            return;
        }
        self.slots.resize(dimension, NOWHERE);
    }

    /// Gives a feature that is seen for the first time a slot. Returns whether filters retired
    /// because of it.
    #[cold]
    #[inline(never)]
    pub(super) fn admit(&mut self, cell: usize) -> bool {
        if self.len() == 0 || self.slots[cell] != NOWHERE {
            return false;
        }
        let retires = self.used == self.most();
        if retires {
            self.retire();
        }
        if self.len() > 0 {
            self.slots[cell] = self.used as u16;
            self.filters.iter_mut().for_each(|filter| filter.open(self.used));
            self.used += 1;
        }
        retires
    }

    fn retire(&mut self) {
        self.filters.truncate(usize::from(self.len() == FILTERS));
        if self.len() == 0 {
            (self.slots, self.used) = (Vec::new(), 0);
        }
    }

    /// Lays out an example. `scaled` gives x̃ by the place in the row. Features without a slot are
    /// left out.
    #[inline(always)]
    pub(super) fn lay_out(&self, indices: &[u32], scaled: impl Fn(usize) -> f32, desk: &mut Desk) {
        let width = self.used.div_ceil(8);
        desk.x[..width].fill(Eight::ZERO);
        let mut len = 0;
        desk.is_table = false;
        for (place, &index) in indices.iter().enumerate() {
            let slot = self.slots[index as usize];
            if slot != NOWHERE {
                let value = scaled(place);
                desk.x[usize::from(slot) / 8].0[usize::from(slot) % 8] = value;
                desk.listed[len] = (slot, value);
                len += 1;
            }
        }
        desk.len = len;
    }

    /// `lay_out` for an example whose features are the first cells with the first slots, as in every
    /// row of a table. Returns whether it is one.
    #[inline(always)]
    pub(super) fn lay_out_table(&self, indices: &[u32], scaled: &[f32], desk: &mut Desk) -> bool {
        let slots = &self.slots[..indices.len().min(self.used)];
        // Loops without a way out in the middle are compiled to wide registers.
        let is_table = indices.len() <= self.used
            && (0..).zip(indices).fold(true, |yes, (place, &index)| yes & (index == place))
            && (0..).zip(slots).fold(true, |yes, (place, &slot)| yes & (slot == place));
        if is_table {
            let (eights, rest) = scaled.as_chunks();
            let room = self.filters.first().map_or(0, Filter::room);
            let (full, others) = desk.x[..room].split_at_mut(eights.len());
            full.iter_mut().zip(eights).for_each(|(x, eight)| x.0 = *eight);
            others.fill(Eight::ZERO);
            others.first_mut().into_iter().for_each(|x| x.0[..rest.len()].copy_from_slice(rest));
            desk.len = indices.len();
            desk.is_table = true;
        }
        is_table
    }

    /// Lays out an example with these x̃.
    pub(super) fn lay_out_row<W: Runner>(&self, indices: &[u32], scaled: &[f32], desk: &mut Desk) {
        W::run(LayOut { filters: self, indices, scaled, desk });
    }

    /// f and s of each filter for the example on the desk.
    pub(super) fn see<W: Runner>(&self, desk: &mut Desk) -> Glances {
        W::run(See { filters: self, desk })
    }

    /// `see` before units have grown: each filter sees what it will see after the growth. If D are
    /// the factors for its weights, P becomes DPD, which is the same as showing it D x̃.
    #[cold]
    #[inline(never)]
    pub(super) fn foresee_growth(
        &self,
        indices: &[u32],
        scaled: &dyn Fn(usize) -> Scaled,
        desk: &mut Desk,
    ) -> Glances {
        type V = <Plain as Registers>::Eight;
        let mut seen = Glances::default();
        for (which, (filter, product)) in self.filters.iter().zip(&mut desk.products).enumerate() {
            let (mut x, mut listed) = (desk.x, desk.listed);
            let growths = indices.iter().enumerate().filter_map(|(place, &index)| {
                let slot = self.slots[index as usize];
                (slot != NOWHERE).then(|| (usize::from(slot), scaled(place).growth))
            });
            for ((slot, growth), (_, value)) in growths.zip(&mut listed) {
                if growth > 1.0 {
                    *value *= filter.stretch_of(slot, growth);
                    x[slot / 8].0[slot % 8] = *value;
                }
            }
            let listed = Listed::Some(&listed[..desk.len]);
            seen = seen.with::<V>(which, filter.see::<V>(listed, &x, product));
        }
        seen
    }

    /// Adds the variance of features that were never seen. `norm_sq` is their Σx̃².
    #[inline(always)]
    pub(super) fn doubt(&self, norm_sq: f32, seen: &mut Glances) {
        for (variance, (prior, _)) in seen.variance.0.iter_mut().zip(PRIORS).take(self.len()) {
            *variance += norm_sq * prior;
        }
    }

    /// Learns from the example on the desk, with a slope and a curvature for each filter.
    pub(super) fn learn<W: Runner>(
        &mut self,
        slopes: [f32; FILTERS],
        curvatures: [f32; FILTERS],
        seen: &Glances,
        desk: &Desk,
    ) {
        W::run(Learn { filters: self, slopes, curvatures, seen, desk });
    }

    /// Lets the unit of a feature grow.
    pub(super) fn stretch(&mut self, cell: usize, growth: f32) {
        if self.len() == 0 || self.slots[cell] == NOWHERE {
            return;
        }
        let slot = usize::from(self.slots[cell]);
        self.filters.iter_mut().for_each(|filter| filter.stretch(slot, growth));
    }

    /// Lets the units of all features grow by these factors, by cell. It goes by slots, because it
    /// rounds, and cells may be numbered in any way.
    pub(super) fn lengthen(&mut self, growths: &[f32]) {
        for cell in self.cells() {
            if growths[cell] > 1.0 {
                self.stretch(cell, growths[cell]);
            }
        }
    }

    /// Changes the unit of the labels.
    pub(super) fn stretch_all(&mut self, factor: f32) {
        self.filters.iter_mut().for_each(|filter| filter.stretch_all(factor));
    }

    /// The weights of a feature, by filter.
    pub(super) fn weights(&self, cell: usize) -> [f32; FILTERS] {
        let mut weights = [0.0; FILTERS];
        if let Some(&slot) = self.slots.get(cell).filter(|&&slot| slot != NOWHERE) {
            for (weight, filter) in weights.iter_mut().zip(&self.filters) {
                *weight = filter.weight(slot.into());
            }
        }
        weights
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        if self.len() > 0 {
            self.slots = gather(&self.slots, from, NOWHERE);
        }
    }

    /// The cells by slot.
    fn cells(&self) -> Vec<usize> {
        cells_of(&self.slots, self.used)
    }

    /// The cells of all, those of the base first, then the new ones of each part.
    fn all_cells(parts: &Parts<'_, Self>) -> Vec<usize> {
        united(parts.base.cells(), parts.parts.iter().flat_map(|(part, _)| part.cells()))
    }

    /// How many filters can go on when these are merged.
    pub(super) fn remaining(parts: &Parts<'_, Self>) -> usize {
        let least = parts.least(|filters| filters.len() as f64) as usize;
        if least == 0 {
            return 0;
        }
        match Self::all_cells(parts).len() {
            0..=MANY => least,
            len if len <= MOST => 1,
            _ => 0,
        }
    }

    /// Lets the filters retire that would retire next.
    pub(super) fn retire_some(&mut self) {
        self.retire();
    }

    /// The filters that several make. All must have the same number of cells and of filters.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        if parts.base.len() == 0 {
            return parts.base.clone();
        }
        let cells = Self::all_cells(parts);
        let base = slots_of(&cells, &parts.base.slots);
        let slots = |(part, _): &(&Self, f64)| slots_of(&cells, &part.slots);
        let all: Vec<_> = parts.parts.iter().map(slots).collect();
        let slots = Parts { base: &base, parts: all.iter().map(|slots| (slots, 1.0)).collect() };
        let filters = (0..parts.base.len())
            .map(|k| Filter::merged(&parts.of(|one| &one.filters[k]), &slots))
            .collect();
        let mut merged = vec![NOWHERE; parts.base.slots.len()];
        (0..).zip(&cells).for_each(|(slot, &cell)| merged[cell] = slot);
        Self { filters, slots: merged, used: cells.len() }
    }

    /// Whether this can be a later state of fresh filters, with so many cells.
    pub(super) fn continues(&self, fresh: &Self, cells: usize) -> bool {
        let is_one = |(filter, fresh): (&Filter, &Filter)| filter.continues(fresh, self.used);
        [0, 1, FILTERS].contains(&self.len())
            && self.slots.len() == if self.len() == 0 { 0 } else { cells }
            && self.used <= self.most()
            && self.slots_are_distinct()
            && self.filters.iter().zip(&fresh.filters).all(is_one)
    }

    fn slots_are_distinct(&self) -> bool {
        let mut slots: Vec<u16> = self.slots.iter().copied().filter(|&s| s != NOWHERE).collect();
        slots.sort_unstable();
        slots.into_iter().eq((0..self.used).map(|slot| slot as u16))
    }
}

/// The cells by slot, where so many slots are used.
pub(super) fn cells_of(slots: &[u16], used: usize) -> Vec<usize> {
    let mut cells = vec![0; used];
    let known = slots.iter().enumerate().filter(|(_, slot)| **slot != NOWHERE);
    known.for_each(|(cell, &slot)| cells[usize::from(slot)] = cell);
    cells
}

/// The slots of some cells, as far as they have any.
pub(super) fn slots_of(cells: &[usize], slots: &[u16]) -> Vec<Option<usize>> {
    let slot = |&cell: &usize| Some(slots[cell]).filter(|&slot| slot != NOWHERE);
    cells.iter().map(|cell| slot(cell).map(usize::from)).collect()
}

/// Some cells, and behind them those of others that are not among them.
pub(super) fn united(mut cells: Vec<usize>, others: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut known: HashSet<usize> = cells.iter().copied().collect();
    cells.extend(others.filter(|&cell| known.insert(cell)));
    cells
}

/// Lays out an example.
struct LayOut<'a> {
    filters: &'a Filters,
    indices: &'a [u32],
    scaled: &'a [f32],
    desk: &'a mut Desk,
}

impl Kernel for LayOut<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { filters, indices, scaled, desk } = self;
        if !filters.lay_out_table(indices, scaled, desk) {
            filters.lay_out(indices, |place| scaled[place], desk);
        }
    }
}

/// The filters' loops are large. So they are compiled for wide registers separately, once for all
/// banks.
struct See<'a> {
    filters: &'a Filters,
    desk: &'a mut Desk,
}

impl Kernel for See<'_> {
    type Out = Glances;

    #[inline(always)]
    fn run<R: Registers>(self) -> Glances {
        let Self { filters, desk } = self;
        let listed = if desk.is_table {
            Listed::First(desk.len)
        } else {
            Listed::Some(&desk.listed[..desk.len])
        };
        let mut seen = Glances::default();
        for (which, filter) in filters.filters.iter().enumerate().take(FILTERS) {
            let one = filter.see::<R::Eight>(listed, &desk.x, &mut desk.products[which]);
            seen = seen.with::<R::Eight>(which, one);
        }
        seen
    }
}

struct Learn<'a> {
    filters: &'a mut Filters,
    slopes: [f32; FILTERS],
    curvatures: [f32; FILTERS],
    seen: &'a Glances,
    desk: &'a Desk,
}

impl Kernel for Learn<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { filters, slopes, curvatures, seen, desk } = self;
        for (k, filter) in filters.filters.iter_mut().enumerate() {
            filter.learn::<R::Eight>(slopes[k], curvatures[k], seen.get(k), &desk.products[k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_machine::Plainly;

    fn glances(seen: &Glances) -> [Glance; FILTERS] {
        std::array::from_fn(|which| seen.get(which))
    }

    #[test]
    fn filters_retire_when_features_are_many() {
        let mut filters = Filters::default();
        filters.grow(400);
        let mut retired = Vec::new();
        for cell in (0..300).rev() {
            if filters.admit(cell) {
                retired.push((300 - cell, filters.len()));
            }
            assert!(!filters.admit(cell), "a feature has one slot");
        }
        assert_eq!(retired, [(65, 1), (257, 0)]);
        assert!(filters.continues(&Filters::default(), 400));
    }

    /// A row whose features have the first slots in their order is seen alike, to the bit, however
    /// it is laid out.
    #[test]
    fn rows_of_a_table_are_seen_as_all_others() {
        for width in [1, 7, 8, 13, 40] {
            let mut filters = Filters::default();
            let [mut table, mut listed] = [Desk::default(), Desk::default()];
            filters.grow(width);
            (0..width).for_each(|cell| assert!(!filters.admit(cell)));
            let cells: Vec<u32> = (0..).take(width).collect();
            for t in 0..60 {
                let x: Vec<f32> =
                    cells.iter().map(|&i| ((i * 7 + t * 5) % 11) as f32 / 5.0 - 1.0).collect();
                let some = if t % 5 == 0 { width.div_ceil(2) } else { width };
                assert!(filters.lay_out_table(&cells[..some], &x[..some], &mut table));
                filters.lay_out(&cells[..some], |place| x[place], &mut listed);
                let seen = filters.see::<Plainly>(&mut table);
                assert_eq!(seen, filters.see::<Plainly>(&mut listed));
                assert_eq!((table.x, table.products), (listed.x, listed.products));
                let slopes = glances(&seen).map(|seen| (0.9 - seen.mean) / (1.0 + seen.variance));
                filters.learn::<Plainly>(slopes, [1.0; FILTERS], &seen, &table);
            }
            let turned: Vec<u32> = cells.iter().rev().copied().collect();
            assert_eq!(filters.lay_out_table(&turned, &vec![1.0; width], &mut table), width == 1);
        }
    }

    /// `foresee_growth` sees what `see` sees after the unit has grown.
    #[test]
    fn growth_is_foreseen() {
        let (mut filters, mut desk) = (Filters::default(), Desk::default());
        filters.grow(3);
        (0..3).for_each(|cell| assert!(!filters.admit(cell)));
        for t in 0..40 {
            let x = [0.5, (t % 3) as f32 / 2.0, -1.0];
            filters.lay_out(&[0, 1, 2], |place| x[place], &mut desk);
            let seen = filters.see::<Plainly>(&mut desk);
            filters.learn::<Plainly>(
                glances(&seen).map(|seen| 0.9 - seen.mean),
                [0.25; FILTERS],
                &seen,
                &desk,
            );
        }
        let x = [1.0, 0.25, -0.5];
        let growth = [4.0, 1.0, 1.5];
        filters.lay_out(&[0, 1, 2], |place| x[place], &mut desk);
        let scaled = |place: usize| Scaled { value: x[place], growth: growth[place] };
        let foreseen = filters.foresee_growth(&[0, 1, 2], &scaled, &mut desk);
        (0..3)
            .filter(|&cell| growth[cell] > 1.0)
            .for_each(|cell| filters.stretch(cell, growth[cell]));
        let seen = filters.see::<Plainly>(&mut desk);
        for (foreseen, seen) in glances(&foreseen).iter().zip(&glances(&seen)) {
            assert!((foreseen.mean - seen.mean).abs() < 1e-5 * (1.0 + seen.mean.abs()));
            assert!((foreseen.variance - seen.variance).abs() < 1e-4 * (1.0 + seen.variance));
        }
    }
}
