//! The full filters for many classes, while there are few features: three for every class.
//!
//! They are kept while at most 64 features were seen and C·d² is small enough. What is dear about a filter
//! is P x̃. So it is computed for the classes that some filter thinks likely, and for the true one when it
//! is learned; the others have their scores, and no variance.

use super::super::eight::{Eight, dot};
use super::super::filter::{Dense, Filter, WIDEST};
use super::super::filters::{FILTERS, NOWHERE, PRIORS};
use super::super::lanes::gather;
use super::softmax::softmax;
use rueful_machine::Eights;
use serde::{Deserialize, Serialize};

/// The most features, the most classes, and the most of C·d².
const MOST_FEATURES: usize = 64;
const MOST_CLASSES: usize = 256;
const BUDGET: usize = 1 << 17;
/// A class that no filter gives more than this is not looked at closely.
const UNLIKELY: f32 = 1e-3;

/// The filters of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OfClass {
    filters: [Filter; FILTERS],
    /// What their scores begin with.
    offset: Eight,
}

/// All filters; none once they retired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClassFilters {
    are_alive: bool,
    classes: Vec<OfClass>,
    /// The slot of every feature, and how many there are.
    slots: Vec<u16>,
    used: usize,
}

impl Default for ClassFilters {
    fn default() -> Self {
        Self { are_alive: true, classes: Vec::new(), slots: Vec::new(), used: 0 }
    }
}

/// Room for a row, and what the filters see in it. The first three places of every eight are in use.
#[derive(Debug, Clone)]
pub(super) struct FilterDesk {
    x: Dense,
    listed: Vec<(u16, f32)>,
    /// Units that are going to grow, by slot, while the row is only predicted for.
    growths: Vec<(u16, f32)>,
    /// f and s by class, whether P x̃ is known, and P x̃.
    pub(super) scores: Vec<Eight>,
    pub(super) variances: Vec<Eight>,
    pub(super) are_seen: Vec<bool>,
    products: Vec<[Box<Dense>; FILTERS]>,
    /// The probabilities that the filters give the classes, before they are moderated.
    pub(super) shares: Vec<Eight>,
}

impl Default for FilterDesk {
    fn default() -> Self {
        Self {
            x: [Eight::ZERO; WIDEST],
            listed: Vec::new(),
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
    /// Makes room for so many classes.
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
    /// A class that came with the row on the desk: its scores, and nothing seen of it so far.
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

    /// Whether there may be so many features and classes.
    fn is_within(features: usize, classes: usize) -> bool {
        features <= MOST_FEATURES
            && classes <= MOST_CLASSES
            && features * features * classes <= BUDGET
    }

    /// Gives a feature that is seen for the first time a slot. Says whether all retired for it.
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

    /// Takes one more class in, with these scores where nothing is known. Says whether all retired.
    pub(super) fn open(&mut self, offset: Eight) -> bool {
        if !self.are_alive {
            return false;
        }
        if !Self::is_within(self.used, self.classes.len() + 1) {
            self.retire();
            return true;
        }
        let mut filters = PRIORS.map(|(prior, drift)| Filter::new(prior, drift));
        for filter in &mut filters {
            (0..self.used).for_each(|slot| filter.open(slot));
        }
        self.classes.push(OfClass { filters, offset });
        false
    }

    fn retire(&mut self) {
        *self = Self { are_alive: false, classes: Vec::new(), slots: Vec::new(), used: 0 };
    }

    /// The unit of a feature grows.
    pub(super) fn stretch(&mut self, cell: usize, growth: f32) {
        if !self.are_alive || self.slots[cell] == NOWHERE {
            return;
        }
        let slot = usize::from(self.slots[cell]);
        let filters = self.classes.iter_mut().flat_map(|class| &mut class.filters);
        filters.for_each(|filter| filter.stretch(slot, growth));
    }

    /// Lays out a row: x̃ and the growth of its unit by the place in the row.
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

    /// Sees the row on the desk: scores of all classes, variances of those that are likely.
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

    /// P x̃ and the variances of one class.
    #[inline(always)]
    pub(super) fn see_class<V: Eights>(&self, slot: usize, desk: &mut FilterDesk) {
        if desk.are_seen[slot] {
            return;
        }
        desk.are_seen[slot] = true;
        let filters = self.classes[slot].filters.iter().zip(&mut desk.products[slot]);
        for (k, (filter, product)) in filters.enumerate() {
            let seen = filter.see::<V>(&desk.listed, &desk.x, product);
            desk.variances[slot].0[k] = seen.variance;
        }
    }

    /// The same before units have grown: with D for what the weights will be multiplied by, P becomes DPD,
    /// and each filter is shown D x̃.
    #[cold]
    #[inline(never)]
    fn see_growing(&self, desk: &mut FilterDesk) {
        type V = rueful_machine::Array<f32, 8>;
        for (slot, class) in self.classes.iter().enumerate() {
            desk.scores[slot] = class.offset;
            desk.are_seen[slot] = true;
            for (k, filter) in class.filters.iter().enumerate() {
                let (mut x, mut listed) = (desk.x, desk.listed.clone());
                for &(at, growth) in &desk.growths {
                    let stretch = filter.stretch_of(at.into(), growth);
                    x[usize::from(at) / 8].0[usize::from(at) % 8] *= stretch;
                    listed.iter_mut().filter(|one| one.0 == at).for_each(|one| one.1 *= stretch);
                }
                let seen = filter.see::<V>(&listed, &x, &mut desk.products[slot][k]);
                desk.scores[slot].0[k] += seen.mean;
                desk.variances[slot].0[k] = seen.variance;
            }
        }
        softmax::<V>(&desk.scores, &mut desk.shares);
    }

    /// The variance that so many unseen features add.
    pub(super) fn doubt(unseen: usize, desk: &mut FilterDesk) {
        for (variances, _) in
            desk.variances.iter_mut().zip(&desk.are_seen).filter(|(_, seen)| **seen)
        {
            for (variance, (prior, _)) in variances.0.iter_mut().zip(PRIORS) {
                *variance += unseen as f32 * prior;
            }
        }
    }

    /// Learns from the row on the desk: slopes and curvatures of the classes.
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

    /// The weights of a feature for a class, by filter.
    pub(super) fn weights(&self, cell: usize, slot: usize) -> [f32; FILTERS] {
        match (self.slots.get(cell), self.classes.get(slot)) {
            (Some(&at), Some(class)) if at != NOWHERE => {
                std::array::from_fn(|k| class.filters[k].weight(at.into()))
            }
            _ => [0.0; FILTERS],
        }
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        if self.are_alive {
            self.slots = gather(&self.slots, from, NOWHERE);
        }
    }

    /// Whether this can be a later state of fresh filters, for so many features and classes.
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
