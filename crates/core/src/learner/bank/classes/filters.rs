//! The full filters for many classes: three for every class, as long as features are few.
//!
//! They are kept as long as at most 64 features were seen and C·d² is small enough. The expensive
//! part of a filter is P x̃. So it is computed only for classes that some filter thinks likely, and
//! for the true class when it is learned. The other classes have scores, but no variance.

use super::super::eight::{Eight, dot};
use super::super::filter::{Dense, Filter, Listed, WIDEST};
use super::super::filters::{FILTERS, NOWHERE, PRIORS, cells_of, slots_of, united};
use super::super::lanes::gather;
use super::super::merge::Parts;
use super::softmax::softmax;
use rueful_machine::Eights;
use serde::{Deserialize, Serialize};

/// The most features, the most classes, and the largest C·d².
const MOST_FEATURES: usize = 64;
const MOST_CLASSES: usize = 256;
const BUDGET: usize = 1 << 17;
/// The variance is not computed for a class that no filter gives more than this.
const UNLIKELY: f32 = 1e-3;

/// The filters of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OfClass {
    filters: [Filter; FILTERS],
    /// The scores that they start from.
    offset: Eight,
}

/// The filters of all classes. They are empty once the filters have retired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClassFilters {
    are_alive: bool,
    classes: Vec<OfClass>,
    /// The slot of every feature, and the number of slots in use.
    slots: Vec<u16>,
    used: usize,
}

impl Default for ClassFilters {
    fn default() -> Self {
        Self { are_alive: true, classes: Vec::new(), slots: Vec::new(), used: 0 }
    }
}

/// Buffers for a row, and the filters' results for it. The first three of every eight places are
/// used.
#[derive(Debug, Clone)]
pub(super) struct FilterDesk {
    x: Dense,
    listed: Vec<(u16, f32)>,
    /// The same features as one filter is shown them.
    stretched: Vec<(u16, f32)>,
    /// Growths of units, by slot. They are not applied yet while the row is only predicted.
    growths: Vec<(u16, f32)>,
    /// f and s by class, whether P x̃ has been computed, and P x̃.
    pub(super) scores: Vec<Eight>,
    pub(super) variances: Vec<Eight>,
    pub(super) are_seen: Vec<bool>,
    products: Vec<[Box<Dense>; FILTERS]>,
    /// The probabilities that the filters give to the classes, before they are moderated.
    pub(super) shares: Vec<Eight>,
}

impl Default for FilterDesk {
    fn default() -> Self {
        Self {
            x: [Eight::ZERO; WIDEST],
            listed: Vec::new(),
            stretched: Vec::new(),
            growths: Vec::new(),
            scores: Vec::new(),
            variances: Vec::new(),
            are_seen: Vec::new(),
            products: Vec::new(),
            shares: Vec::new(),
        }
    }
}

impl FilterDesk {
    /// Makes room for this many classes.
    fn fit(&mut self, classes: usize) {
        self.scores.resize(classes, Eight::ZERO);
        self.shares.resize(classes, Eight::ZERO);
        self.variances.clear();
        self.variances.resize(classes, Eight::ZERO);
        self.are_seen.clear();
        self.are_seen.resize(classes, false);
        while self.products.len() < classes {
            self.products.push(std::array::from_fn(|_| Box::new([Eight::ZERO; WIDEST])));
        }
    }
}

impl FilterDesk {
    /// Adds a class that came with the row on the desk. Only its scores are known.
    pub(super) fn open(&mut self, scores: Eight) {
        self.scores.push(scores);
        self.shares.push(Eight::ZERO);
        self.variances.push(Eight::ZERO);
        self.are_seen.push(false);
        self.products.push(std::array::from_fn(|_| Box::new([Eight::ZERO; WIDEST])));
    }
}

impl ClassFilters {
    #[inline(always)]
    pub(super) fn are_alive(&self) -> bool {
        self.are_alive
    }

    pub(super) fn grow(&mut self, dimension: usize) {
        if self.are_alive && dimension > self.slots.len() {
            self.slots.resize(dimension, NOWHERE);
        }
    }

    /// Whether the filters can handle this many features and classes.
    fn is_within(features: usize, classes: usize) -> bool {
        features <= MOST_FEATURES
            && classes <= MOST_CLASSES
            && features * features * classes <= BUDGET
    }

    /// Gives a new feature a slot. Returns whether all filters retired because of it.
    #[cold]
    pub(super) fn admit(&mut self, cell: usize) -> bool {
        if !self.are_alive || self.slots[cell] != NOWHERE {
            return false;
        }
        if !Self::is_within(self.used + 1, self.classes.len()) {
            self.retire();
            return true;
        }
        self.slots[cell] = self.used as u16;
        let filters = self.classes.iter_mut().flat_map(|class| &mut class.filters);
        filters.for_each(|filter| filter.open(self.used));
        self.used += 1;
        false
    }

    /// Adds a class, with these scores to start from. Returns whether all filters retired because
    /// of it.
    pub(super) fn open(&mut self, offset: Eight) -> bool {
        if !self.are_alive {
            return false;
        }
        if !Self::is_within(self.used, self.classes.len() + 1) {
            self.retire();
            return true;
        }
        self.classes.push(self.fresh_class(offset));
        false
    }

    /// Filters that have learned nothing, with these scores to start from.
    fn fresh_class(&self, offset: Eight) -> OfClass {
        let mut filters = PRIORS.map(|(prior, drift)| Filter::new(prior, drift));
        for filter in &mut filters {
            (0..self.used).for_each(|slot| filter.open(slot));
        }
        OfClass { filters, offset }
    }

    pub(super) fn retire(&mut self) {
        *self = Self { are_alive: false, classes: Vec::new(), slots: Vec::new(), used: 0 };
    }

    /// Updates the filters for a feature whose unit grows.
    pub(super) fn stretch(&mut self, cell: usize, growth: f32) {
        if !self.are_alive || self.slots[cell] == NOWHERE {
            return;
        }
        let slot = usize::from(self.slots[cell]);
        let filters = self.classes.iter_mut().flat_map(|class| &mut class.filters);
        filters.for_each(|filter| filter.stretch(slot, growth));
    }

    /// Puts a row on the desk. `scaled` is x̃, and `growths` has the units that grow, by place in
    /// the row.
    #[inline(always)]
    pub(super) fn lay_out(
        &self,
        indices: &[u32],
        scaled: &[f32],
        growths: &[(u32, f32)],
        desk: &mut FilterDesk,
    ) {
        desk.x[..self.used.div_ceil(8)].fill(Eight::ZERO);
        desk.listed.clear();
        desk.growths.clear();
        for (&index, &value) in indices.iter().zip(scaled) {
            let slot = self.slots[index as usize];
            if slot != NOWHERE {
                desk.x[usize::from(slot) / 8].0[usize::from(slot) % 8] = value;
                desk.listed.push((slot, value));
            }
        }
        for &(place, growth) in growths {
            let slot = self.slots[indices[place as usize] as usize];
            if slot != NOWHERE {
                desk.growths.push((slot, growth));
            }
        }
    }

    /// Computes the scores of all classes for the row on the desk, and the variances of likely
    /// classes.
    #[inline(always)]
    pub(super) fn see<V: Eights>(&self, desk: &mut FilterDesk) {
        desk.fit(self.classes.len());
        if !desk.growths.is_empty() {
            return self.see_growing(desk);
        }
        let width = self.used.div_ceil(8);
        for (class, score) in self.classes.iter().zip(&mut desk.scores) {
            *score = class.offset;
            for (k, filter) in class.filters.iter().enumerate() {
                score.0[k] += dot::<V>(filter.means(), &desk.x[..width]);
            }
        }
        softmax::<V>(&desk.scores, &mut desk.shares);
        for slot in 0..self.classes.len() {
            if desk.shares[slot].0[..FILTERS].iter().any(|&share| share > UNLIKELY) {
                self.see_class::<V>(slot, desk);
            }
        }
    }

    /// Computes P x̃ and the variances of one class.
    #[inline(always)]
    pub(super) fn see_class<V: Eights>(&self, slot: usize, desk: &mut FilterDesk) {
        if desk.are_seen[slot] {
            return;
        }
        desk.are_seen[slot] = true;
        let filters = self.classes[slot].filters.iter().zip(&mut desk.products[slot]);
        for (k, (filter, product)) in filters.enumerate() {
            let seen = filter.see::<V>(Listed::Some(&desk.listed), &desk.x, product);
            desk.variances[slot].0[k] = seen.variance;
        }
    }

    /// Does the work of `see` before units have grown. If D holds the factors by which the weights
    /// will be multiplied, P becomes DPD, and each filter is shown D x̃.
    #[cold]
    #[inline(never)]
    fn see_growing(&self, desk: &mut FilterDesk) {
        type V = rueful_machine::Array<f32, 8>;
        let mut listed = std::mem::take(&mut desk.stretched);
        for (slot, class) in self.classes.iter().enumerate() {
            desk.scores[slot] = class.offset;
            desk.are_seen[slot] = true;
            for (k, filter) in class.filters.iter().enumerate() {
                let mut x = desk.x;
                listed.clone_from(&desk.listed);
                for &(at, growth) in &desk.growths {
                    let stretch = filter.stretch_of(at.into(), growth);
                    x[usize::from(at) / 8].0[usize::from(at) % 8] *= stretch;
                    listed.iter_mut().filter(|one| one.0 == at).for_each(|one| one.1 *= stretch);
                }
                let seen = filter.see::<V>(Listed::Some(&listed), &x, &mut desk.products[slot][k]);
                desk.scores[slot].0[k] += seen.mean;
                desk.variances[slot].0[k] = seen.variance;
            }
        }
        desk.stretched = listed;
        softmax::<V>(&desk.scores, &mut desk.shares);
    }

    /// Adds the variance of this many unseen features.
    pub(super) fn doubt(unseen: usize, desk: &mut FilterDesk) {
        for (variances, _) in
            desk.variances.iter_mut().zip(&desk.are_seen).filter(|(_, seen)| **seen)
        {
            for (variance, (prior, _)) in variances.0.iter_mut().zip(PRIORS) {
                *variance += unseen as f32 * prior;
            }
        }
    }

    /// Learns from the row on the desk, by the slopes and curvatures of the classes.
    #[inline(always)]
    pub(super) fn learn<V: Eights>(
        &mut self,
        slopes: &[Eight],
        curvatures: &[Eight],
        desk: &FilterDesk,
    ) {
        for (slot, class) in self.classes.iter_mut().enumerate() {
            if !desk.are_seen[slot] {
                continue;
            }
            let filters = class.filters.iter_mut().zip(&desk.products[slot]);
            for (k, (filter, product)) in filters.enumerate() {
                let variance = desk.variances[slot].0[k];
                let seen = super::super::filter::Glance { mean: desk.scores[slot].0[k], variance };
                filter.learn::<V>(slopes[slot].0[k], curvatures[slot].0[k], seen, product);
            }
        }
    }

    /// The weights of a feature for a class, one for each filter.
    pub(super) fn weights(&self, cell: usize, slot: usize) -> [f32; FILTERS] {
        match (self.slots.get(cell), self.classes.get(slot)) {
            (Some(&at), Some(class)) if at != NOWHERE => {
                std::array::from_fn(|k| class.filters[k].weight(at.into()))
            }
            _ => [0.0; FILTERS],
        }
    }

    /// Gives the classes other slots: that of slot i becomes `to[i]`. There are `classes` of them,
    /// and filters of a class that has none are fresh.
    pub(super) fn renumber(&mut self, to: &[u32], classes: usize) {
        if !self.are_alive {
            return;
        }
        let known = std::mem::take(&mut self.classes);
        self.classes = vec![self.fresh_class(Eight::ZERO); classes];
        known.into_iter().zip(to).for_each(|(class, &slot)| self.classes[slot as usize] = class);
    }

    /// The cells by slot.
    fn cells(&self) -> Vec<usize> {
        cells_of(&self.slots, self.used)
    }

    /// The cells of all, those of the base first, then the new ones of each part.
    fn all_cells(parts: &Parts<'_, Self>) -> Vec<usize> {
        united(parts.base.cells(), parts.parts.iter().flat_map(|(part, _)| part.cells()))
    }

    /// Whether the filters go on when these are merged, all of which have the same classes.
    pub(super) fn go_on(parts: &Parts<'_, Self>) -> bool {
        parts.base.are_alive
            && parts.parts.iter().all(|(part, _)| part.are_alive)
            && Self::is_within(Self::all_cells(parts).len(), parts.base.classes.len())
    }

    /// Lets the units of all features grow by these factors, by cell. It goes by slots, because it
    /// rounds, and cells may be numbered in any way.
    pub(super) fn lengthen(&mut self, growths: &[f32]) {
        for cell in if self.are_alive { self.cells() } else { Vec::new() } {
            if growths[cell] > 1.0 {
                self.stretch(cell, growths[cell]);
            }
        }
    }

    /// The filters that several make, with the same cells and classes. All of them are alive, or none
    /// is. `knows` tells whether a part has seen a class. Parts that have not, or whose filters of the
    /// class are those of the base, have no say about it.
    pub(super) fn merged(parts: &Parts<'_, Self>, knows: impl Fn(usize, usize) -> bool) -> Self {
        if !parts.base.are_alive {
            return parts.base.clone();
        }
        let cells = Self::all_cells(parts);
        let base = slots_of(&cells, &parts.base.slots);
        let slots = |(part, _): &(&Self, f64)| slots_of(&cells, &part.slots);
        let all: Vec<_> = parts.parts.iter().map(slots).collect();
        let class = |place: usize| {
            let own = parts.of(|one| &one.classes[place]);
            let has_learned: Vec<bool> = (own.parts.iter().enumerate())
                .map(|(part, (class, _))| knows(part, place) && *class != own.base)
                .collect();
            let own = own.only(|part| has_learned[part]);
            if own.parts.is_empty() {
                // The cells of the base come first.
                let mut class = own.base.clone();
                let new = parts.base.used..cells.len();
                let filters = class.filters.iter_mut();
                filters.for_each(|filter| new.clone().for_each(|slot| filter.open(slot)));
                return class;
            }
            let slots = Parts { base: &base, parts: all.iter().map(|one| (one, 1.0)).collect() };
            let slots = slots.only(|part| has_learned[part]);
            let filter = |k: usize| Filter::merged(&own.of(|class| &class.filters[k]), &slots);
            let offset = Eight::of(|k| own.mean(|class| class.offset.0[k].into()) as f32);
            OfClass { filters: std::array::from_fn(filter), offset }
        };
        let mut slots = vec![NOWHERE; parts.base.slots.len()];
        (0..).zip(&cells).for_each(|(slot, &cell)| slots[cell] = slot);
        let classes = (0..parts.base.classes.len()).map(class).collect();
        Self { are_alive: true, classes, slots, used: cells.len() }
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        if self.are_alive {
            self.slots = gather(&self.slots, from, NOWHERE);
        }
    }

    /// Whether this can be a later state of fresh filters, for this many features and classes.
    pub(super) fn is_sound(&self, cells: usize, classes: usize) -> bool {
        if !self.are_alive {
            return *self == Self { are_alive: false, ..Self::default() };
        }
        let mut slots: Vec<u16> = self.slots.iter().copied().filter(|&s| s != NOWHERE).collect();
        slots.sort_unstable();
        let is_class = |class: &OfClass| {
            let fresh = PRIORS.map(|(prior, drift)| Filter::new(prior, drift));
            let filters = class.filters.iter().zip(&fresh);
            class.offset.is_finite()
                && filters.clone().all(|(filter, fresh)| filter.continues(fresh, self.used))
        };
        self.classes.len() == classes
            && self.slots.len() == cells
            && Self::is_within(self.used, classes)
            && slots.into_iter().eq((0..self.used).map(|slot| slot as u16))
            && self.classes.iter().all(is_class)
    }
}
