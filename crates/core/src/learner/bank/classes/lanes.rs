//! The eight lanes for many classes, with weights for every class and one variance for all of them.
//!
//! A lane has scores f_c = off_c + Σ w_ic x̃_i and one variance s = Σ v_i x̃_i². It learns the true
//! class y against the rest. Let r_c be the probabilities of the others among themselves. The score
//! of y exceeds that of the others together by z = f_y − ln Σ_{c≠y} e^{f_c}, whose variance is
//! S = s(1 + Σ r_c²). The update is
//! ```text
//! w_yi ← w_yi + α v_i x̃_i,    w_ci ← w_ci − α r_c v_i x̃_i,    v_i ← v_i/(1 + h v_i x̃_i²)
//! ```
//!
//! where α is the step of the logistic loss at (z, S), and h is the largest curvature of a class.
//!
//! A feature lists the classes that it has weights for. These are the classes that were the label
//! when the feature was there, and those that some lane then gave a slope of more than 0.03. Once
//! these are half of all classes, the feature has weights for every class. So memory follows the
//! features and classes that were seen together, and not features times classes.

use super::super::eight::Eight;
use super::super::lanes::{Cell, DRIFT, PRIOR, gather, lengthened, merged_touched};
use super::super::merge::Parts;
use rueful_machine::Eights;
use serde::{Deserialize, Serialize};

/// A weight is changed if the slope of some lane is larger than this.
const FAINT: f32 = 1e-3;
/// A feature gets weights for a class if the slope of some lane is larger than this.
const CLEAR: f32 = 0.03;

/// One weight for each of the eight lanes.
type Weights = [f32; 8];

/// The weights of a feature for one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Listed {
    slot: u32,
    weights: Weights,
}

/// The weights of a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum FeatureWeights {
    /// Weights for some classes, in the order in which the feature got them.
    Some(Vec<Listed>),
    /// Weights for all classes below some slot.
    All(Vec<Weights>),
}

const NO_WEIGHTS: FeatureWeights = FeatureWeights::Some(Vec::new());

impl FeatureWeights {
    /// Adds the feature's part to the scores. `values` has its value for each lane.
    #[inline(always)]
    fn add_to<V: Eights>(&self, scores: &mut [Eight], values: V) {
        let add = |score: &mut Eight, weights: &Weights| {
            (score.load::<V>() + values * V::load(weights)).store(&mut score.0);
        };
        match self {
            Self::All(all) => scores.iter_mut().zip(all).for_each(|(s, w)| add(s, w)),
            Self::Some(some) => {
                some.iter().for_each(|w| add(&mut scores[w.slot as usize], &w.weights));
            }
        }
    }

    /// Switches to weights for all classes if the list has half of them, and makes room for new
    /// classes.
    fn widen(&mut self, classes: usize) {
        match self {
            Self::Some(some) if 2 * some.len() >= classes => {
                let mut all = vec![[0.0; 8]; classes];
                some.iter().for_each(|listed| all[listed.slot as usize] = listed.weights);
                *self = Self::All(all);
            }
            Self::All(all) if all.len() < classes => {
                all.reserve_exact(classes - all.len());
                all.resize(classes, [0.0; 8]);
            }
            _ => {}
        }
    }

    /// Multiplies the weights for all classes.
    fn stretch(&mut self, factors: Eight) {
        let stretch = |weights: &mut Weights| *weights = (Eight(*weights) * factors).0;
        match self {
            Self::All(all) => all.iter_mut().for_each(stretch),
            Self::Some(some) => some.iter_mut().for_each(|listed| stretch(&mut listed.weights)),
        }
    }

    /// Gives the classes other slots: that of slot i becomes `to[i]`. There are `classes` of them.
    fn renumber(&mut self, to: &[u32], classes: usize) {
        match self {
            Self::All(all) => {
                let mut moved = vec![[0.0; 8]; classes];
                all.iter().zip(to).for_each(|(weights, &slot)| moved[slot as usize] = *weights);
                *all = moved;
            }
            Self::Some(some) => {
                some.iter_mut().for_each(|listed| listed.slot = to[listed.slot as usize]);
            }
        }
    }

    /// The slots of the classes that it has weights for.
    fn slots(&self) -> Vec<usize> {
        match self {
            Self::All(all) => (0..all.len()).collect(),
            Self::Some(some) => some.iter().map(|listed| listed.slot as usize).collect(),
        }
    }

    /// The weights for a class.
    fn of(&self, slot: usize) -> Weights {
        match self {
            Self::All(all) => all.get(slot).copied().unwrap_or_default(),
            Self::Some(some) => {
                let listed = some.iter().find(|listed| listed.slot as usize == slot);
                listed.map_or([0.0; 8], |listed| listed.weights)
            }
        }
    }

    fn is_sound(&self, classes: usize) -> bool {
        let is_finite = |weights: &Weights| weights.iter().all(|w| w.is_finite());
        match self {
            Self::All(all) => all.len() <= classes && all.iter().all(is_finite),
            Self::Some(some) => {
                let mut slots: Vec<u32> = some.iter().map(|listed| listed.slot).collect();
                slots.sort_unstable();
                slots.windows(2).all(|pair| pair[0] < pair[1])
                    && slots.last().is_none_or(|&last| (last as usize) < classes)
                    && some.iter().all(|listed| is_finite(&listed.weights))
            }
        }
    }
}

/// The state of the lanes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ClassLanes {
    /// v by feature. The first lane has i = 1/√(1 + A) in its place.
    variances: Vec<Eight>,
    features: Vec<FeatureWeights>,
    /// The offsets off_c, by class.
    offsets: Vec<Eight>,
}

/// The update that the lanes make for one row.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassLesson {
    /// The slope of every class, by slot.
    pub(super) slopes: Vec<Eight>,
    /// h
    pub(super) curvature: Eight,
    /// The largest slope of the first lane, over all classes.
    pub(super) steepest_first: f32,
    /// The classes whose slopes matter, and how much the slope of every class matters, by slot.
    active: Vec<u32>,
    kinds: Vec<Kind>,
    /// For each class, the last feature in whose list it was found.
    found: Vec<u32>,
    feature: u32,
}

/// How much the slope of a class matters.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Nothing,
    Faint,
    Clear,
}

impl ClassLesson {
    /// Classifies the slopes of the classes. That of the true class always matters.
    #[inline(always)]
    pub(super) fn sort(&mut self, truth: usize) {
        self.active.clear();
        self.kinds.clear();
        self.found.resize(self.slopes.len(), u32::MAX);
        self.steepest_first = 0.0;
        for (slot, slopes) in self.slopes.iter().enumerate() {
            let steepest = slopes.0.iter().fold(0.0_f32, |most, slope| most.max(slope.abs()));
            self.steepest_first = self.steepest_first.max(slopes.0[0].abs());
            let kind = match slot {
                _ if slot == truth || steepest > CLEAR => Kind::Clear,
                _ if steepest > FAINT => Kind::Faint,
                _ => Kind::Nothing,
            };
            self.kinds.push(kind);
            if kind != Kind::Nothing {
                self.active.push(slot as u32);
            }
        }
    }

    /// Starts with another feature.
    #[inline(always)]
    fn next_feature(&mut self) {
        self.feature = self.feature.wrapping_add(1);
        if self.feature == u32::MAX {
            self.feature = 0;
            self.found.fill(u32::MAX);
        }
    }

    /// Updates the weights of a feature. `step` is v x̃ for each lane, and x̃ for the first.
    #[inline(always)]
    fn teach<V: Eights>(&mut self, weights: &mut FeatureWeights, step: V) {
        let slopes = &self.slopes;
        let change = |weights: &mut Weights, slot: u32| {
            let next = V::load(weights) + slopes[slot as usize].load::<V>() * step;
            next.store(weights);
        };
        weights.widen(slopes.len());
        match weights {
            FeatureWeights::All(all) => {
                self.active.iter().for_each(|&slot| change(&mut all[slot as usize], slot));
            }
            FeatureWeights::Some(some) => {
                self.next_feature();
                let slopes = &self.slopes;
                for listed in some.iter_mut() {
                    if self.kinds[listed.slot as usize] != Kind::Nothing {
                        self.found[listed.slot as usize] = self.feature;
                        let slope = slopes[listed.slot as usize].load::<V>();
                        (V::load(&listed.weights) + slope * step).store(&mut listed.weights);
                    }
                }
                for &slot in &self.active {
                    let place = slot as usize;
                    if self.kinds[place] == Kind::Clear && self.found[place] != self.feature {
                        if some.len() == some.capacity() {
                            some.reserve_exact(1 + some.len() / 8);
                        }
                        let weights = (slopes[place].load::<V>() * step).array();
                        some.push(Listed { slot, weights });
                    }
                }
            }
        }
    }
}

impl ClassLanes {
    /// Makes room for features below `dimension`.
    pub(super) fn grow(&mut self, dimension: usize) {
        if dimension > self.variances.len() {
            self.variances.resize(dimension, PRIOR);
            self.features.resize(dimension, NO_WEIGHTS);
        }
    }

    /// The number of features that have a place.
    pub(super) fn len(&self) -> usize {
        self.variances.len()
    }

    /// Writes the scores of all classes, and returns s. `gain` is that of the first lane.
    #[inline(always)]
    pub(super) fn see<V: Eights>(
        &self,
        indices: &[u32],
        scaled: &[f32],
        gain: f32,
        scores: &mut Vec<Eight>,
    ) -> V {
        scores.clone_from(&self.offsets);
        let mut variance = V::all(0.0);
        for (&index, &value) in indices.iter().zip(scaled) {
            let (x, v) = (V::all(value), self.variances[index as usize].load::<V>());
            variance = variance + x * x * v;
            self.features[index as usize].add_to(scores, x.with_first(V::all(value * gain) * v));
        }
        variance.with_first(V::all(0.0))
    }

    /// The variance that this many unseen features add.
    #[inline(always)]
    pub(super) fn doubt<V: Eights>(unseen: usize) -> V {
        V::all(unseen as f32) * PRIOR.with_first(0.0).load::<V>()
    }

    /// Learns from a row.
    #[inline(always)]
    pub(super) fn teach<V: Eights>(
        &mut self,
        indices: &[u32],
        scaled: &[f32],
        lesson: &mut ClassLesson,
    ) {
        let (one, drift) = (V::all(1.0), DRIFT.load::<V>());
        let (kept, refilled) = (one - drift, drift * PRIOR.load::<V>());
        let curvature = lesson.curvature.load::<V>();
        let a = lesson.steepest_first;
        for (&index, &value) in indices.iter().zip(scaled) {
            let variances = &mut self.variances[index as usize];
            let (x, v) = (V::all(value), variances.load::<V>());
            lesson.teach(&mut self.features[index as usize], v.with_first(one) * x);
            let i = variances.0[0];
            let first = i / (1.0 + i * i * (a * a * (value * value))).sqrt();
            let next = v / (one + v * (curvature * (x * x))) * kept + refilled;
            next.with_first(V::all(first)).store(&mut variances.0);
        }
    }

    /// Adds a class, with these scores to start from.
    pub(super) fn open(&mut self, offset: Eight) {
        self.offsets.push(offset);
    }

    /// The weights of a feature for a class, as factors of x̃. That of the first lane is without
    /// its gain.
    pub(super) fn weights(&self, feature: usize, slot: usize) -> Eight {
        let (weights, variances) =
            (Eight(self.features[feature].of(slot)), self.variances[feature]);
        weights.with_first(weights.0[0] * variances.0[0])
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        self.variances = gather(&self.variances, from, PRIOR);
        let features = &mut self.features;
        let take = |&place: &u32| match features.get_mut(place as usize) {
            Some(weights) => std::mem::replace(weights, NO_WEIGHTS),
            None => NO_WEIGHTS,
        };
        self.features = from.iter().map(take).collect();
    }

    /// Gives the classes other slots: that of slot i becomes `to[i]`. There are `classes` of them.
    pub(super) fn renumber(&mut self, to: &[u32], classes: usize) {
        self.features.iter_mut().for_each(|weights| weights.renumber(to, classes));
        let mut offsets = vec![Eight::ZERO; classes];
        self.offsets.iter().zip(to).for_each(|(offset, &slot)| offsets[slot as usize] = *offset);
        self.offsets = offsets;
    }

    /// Lets the unit of a feature grow, so that lanes with other units can be merged with it.
    pub(super) fn lengthen(&mut self, feature: usize, growth: f32) {
        let factors = lengthened(&mut self.variances[feature], growth);
        self.features[feature].stretch(factors);
    }

    /// The lanes that several make, in the same units and with the same features and slots. `knows`
    /// tells whether a part has seen a class. Who has not has no say about it.
    pub(super) fn merged(parts: &Parts<'_, Self>, knows: impl Fn(usize, usize) -> bool) -> Self {
        let classes = parts.base.offsets.len();
        let (variances, features) =
            (0..parts.base.len()).map(|feature| merged_feature(parts, feature, &knows)).unzip();
        let offset = |slot: usize| {
            let own = parts.of(|lanes| &lanes.offsets[slot]).only(|part| knows(part, slot));
            if own.parts.is_empty() {
                *own.base
            } else {
                Eight::of(|k| own.mean(|e| e.0[k].into()) as f32)
            }
        };
        Self { variances, features, offsets: (0..classes).map(offset).collect() }
    }

    /// The numbers of a feature for one class.
    fn cell(&self, feature: usize, slot: usize) -> Cell {
        let mean = Eight(self.features[feature].of(slot));
        Cell { mean, variance: self.variances[feature] }
    }

    /// How many pairs of a feature and a class have weights.
    pub(super) fn cells(&self) -> usize {
        let cells = |weights: &FeatureWeights| match weights {
            FeatureWeights::Some(some) => some.len(),
            FeatureWeights::All(all) => all.len(),
        };
        self.features.iter().map(cells).sum()
    }

    pub(super) fn is_sound(&self, classes: usize) -> bool {
        let in_range = |v: &Eight| v.0.iter().zip(PRIOR.0).all(|(&v, most)| v >= 0.0 && v <= most);
        self.variances.len() == self.features.len()
            && self.offsets.len() == classes
            && self.offsets.iter().all(|offset| offset.is_finite())
            && self.variances.iter().all(in_range)
            && self.features.iter().all(|weights| weights.is_sound(classes))
    }
}

/// What several make of a feature. Parts that have not touched it have no say. The variances do not
/// depend on the class, and neither does whether a part has touched them.
fn merged_feature(
    parts: &Parts<'_, ClassLanes>,
    feature: usize,
    knows: impl Fn(usize, usize) -> bool,
) -> (Eight, FeatureWeights) {
    let both = |lanes: &ClassLanes| (lanes.variances[feature], lanes.features[feature].clone());
    let base = parts.base;
    let has_touched = |lanes: &ClassLanes| {
        lanes.variances[feature] != base.variances[feature]
            || lanes.features[feature] != base.features[feature]
    };
    let touched: Vec<usize> =
        (0..parts.parts.len()).filter(|&part| has_touched(parts.parts[part].0)).collect();
    match touched[..] {
        [] => return both(base),
        [only] => return both(parts.parts[only].0),
        _ => {}
    }
    let merged = |slot: usize, is_of: &dyn Fn(usize) -> bool| {
        let cell = |lanes: &ClassLanes| lanes.cell(feature, slot);
        let of = touched.iter().filter(|&&part| is_of(part)).map(|&part| parts.parts[part]);
        let cells: Vec<_> = of.map(|(lanes, slices)| (cell(lanes), slices)).collect();
        let cells = cells.iter().map(|(cell, slices)| (cell, *slices)).collect();
        merged_touched(&Parts { base: &cell(base), parts: cells })
    };
    let weights = |slot: usize| match touched.iter().any(|&part| knows(part, slot)) {
        true => merged(slot, &|part| knows(part, slot)).mean.0,
        false => base.features[feature].of(slot),
    };
    let all = || touched.iter().map(|&part| &parts.parts[part].0.features[feature]);
    let is_wide = |weights: &FeatureWeights| matches!(weights, FeatureWeights::All(_));
    let features = if all().any(is_wide) {
        FeatureWeights::All((0..base.offsets.len()).map(weights).collect())
    } else {
        let mut slots: Vec<usize> = all().flat_map(FeatureWeights::slots).collect();
        slots.sort_unstable();
        slots.dedup();
        let listed = |slot: usize| Listed { slot: slot as u32, weights: weights(slot) };
        FeatureWeights::Some(slots.into_iter().map(listed).collect())
    };
    (merged(0, &|_| true).variance, features)
}
