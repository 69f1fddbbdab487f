//! The bank for many classes.
//!
//! The idea is the same as for two classes. Many simple learners run side by side, each with scores
//! for all classes. A small learner pools them, and Bayes' rule mixes everything.
//!
//! - [`lanes`]: AdaGrad and seven diagonal Kalman filters, whose variances all classes share.
//! - [`filters`]: three full Kalman filters for every class, as long as features are few.
//! - [`rates`]: how often classes came, overall and lately, and how likely a new one is.
//! - [`pool`]: all of these, combined by a weighted sum of logarithms.
//! - Four witnesses ([`ClassJudge`]), which have a theorem, and which also serve as a judge.
//!
//! It is proved that mixing costs little over every expert. So for comparators without units,
//! ‖u N‖_F ≤ U ≤ U_j,
//!
//! ```text
//! R_T(u) ≤ U_j(2√E_j + G) + c_max(ln(1/π_j) + ln T) + what new classes cost
//! ```
//!
//! where the last term is the sum of −ln of the probabilities of seeing a new class, or of seeing
//! none.
//!
//! Classes may appear at any time. A new class has the probability (n₁ + ½)/(t + 1), where n₁ is
//! the number of classes that were seen once so far. The classes that were seen share the rest.
//!
//! Classes have slots in the order in which they were first learned from. All results depend on the
//! slots, and not on the numbers of the classes. So another numbering changes no bit.

mod explain;
mod filters;
mod lanes;
mod merged;
mod opine;
mod pool;
mod promise;
mod rates;
mod softmax;
mod teach;

use super::bayes::Bayes;
use super::eight::Eight;
use super::experts::{BASE, EXPERTS, Each, MIXER, WITNESS};
use super::filters::FILTERS;
use super::lanes::{LANES, gather};
use super::log_risks::LogRisks;
use super::scale::Scale;
use crate::classes::{
    ClassError, ClassJudge, ClassRound, JudgeDesk, NewClass, Probabilities, class_of, log_loss,
};
use crate::elementary::ln;
use crate::features::{Example, Features};
use crate::rows::Rows;
use crate::witness::WITNESSES;
use filters::{ClassFilters, FilterDesk};
use lanes::{ClassLanes, ClassLesson};
use opine::Opine;
use pool::Pool;
use rates::{RATES, Rates};
use rueful_machine::{Runner, Widest};
use serde::{Deserialize, Serialize};
use teach::{LearnTop, Open, SeeAgain, Teach};

/// The first lane's weights are 4·θi/R.
const GAIN: f64 = 4.0;
/// Every expert's probabilities are mixed with this share of equal ones, or with 1/t once that is
/// less.
const PINCH: f64 = 1e-4;
/// The pool gets no logarithm below that of this number divided by the number of classes.
const FAINTEST: f32 = 1e-4;
/// Scores of the true class against the others are kept within ± this.
const FARTHEST: f32 = 30.0;
/// π/4 and π/8. The first is for a variance that all classes share, the second for one of each
/// class.
const SHARED_MODERATION: f32 = std::f32::consts::FRAC_PI_4;
const MODERATION: f32 = std::f32::consts::FRAC_PI_8;
/// The place of the recent rates among the experts.
const RECENT: usize = BASE + 1;
/// The slot of a class that has not been seen.
const NOWHERE: u32 = u32::MAX;

/// The bank for labels of many classes, for the logarithmic loss.
///
/// ```
/// use rueful_core::{Batch, learner::SoftmaxBank};
///
/// let mut stream = Batch::default();
/// for round in 0..300_u16 {
///     let class = f32::from(round * 7 % 3);
///     stream.push(&[0, 1, 2], &[1.0, class, class * class], f64::from(class))?;
/// }
/// let mut bank = SoftmaxBank::new();
/// let mut rounds = Vec::new();
/// bank.learn_rows(stream.rows(), &mut rounds)?;
/// let mistakes = rounds.iter().zip(stream.labels()).filter(|(round, y)| {
///     round.predicted.map(f64::from) != Some(**y)
/// });
/// assert!(mistakes.count() < 10);
/// let last = bank.predict(&stream.rows().get(299).features);
/// assert!(last.of(2) > 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SoftmaxBank {
    /// How many classes there will be, if that is known.
    expected: Option<u32>,
    /// The number of each class, by slot, and the slot by number.
    classes: Vec<u32>,
    slots: Vec<u32>,
    scales: Vec<Scale>,
    lanes: ClassLanes,
    filters: ClassFilters,
    rates: Rates,
    pool: Pool,
    bayes: Bayes,
    risks: LogRisks,
    /// The witnesses know the classes by their slots.
    witnesses: ClassJudge,
    costs: Costs,
    rounds: u64,
    /// Σ of the importances of the rounds from which the pool and Bayes' rule learned.
    judged: f64,
    /// Σ‖x̃‖², and R: the largest root of its mean so far.
    norms_sq: f64,
    reach: f64,
    #[serde(skip)]
    desk: Desk,
}

/// The terms of the theorem beside mixing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Costs {
    /// The cost of new classes, and of the probability of one when none came.
    news: f64,
    /// The cost of mixing experts with equal probabilities.
    pinches: f64,
    /// The cost of rounding: the mixture is computed in singles in part, and may be below the exact
    /// one.
    roundings: f64,
}

/// Buffers for one row, and everybody's predictions for it. Nothing in it outlives the row.
#[derive(Debug, Clone, Default)]
struct Desk {
    /// x̃, ‖x̃‖², the places whose units grow, and the number of new features.
    scaled: Vec<f32>,
    norm_sq: f32,
    growths: Vec<(u32, f32)>,
    unseen: usize,
    /// The lanes' scores by slot, their common variance, moderated scores, and probabilities.
    scores: Vec<Eight>,
    variance: Eight,
    moderated: Vec<Eight>,
    shares: Vec<Eight>,
    filters: FilterDesk,
    filter_shares: Vec<Eight>,
    witnesses: JudgeDesk,
    /// The logarithms of all probabilities that are pooled, and the pool's scores and
    /// probabilities.
    logs: Vec<[Eight; 2]>,
    pooled: Vec<f32>,
    pool_shares: Vec<f32>,
    /// The prediction, by slot.
    mixed: Vec<f64>,
    lesson: ClassLesson,
    filter_slopes: Vec<Eight>,
    filter_curvatures: Vec<Eight>,
}

impl PartialEq for Desk {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// The prior. The pool has ½. Lanes, filters and rates share the rest, and a witness has half of a
/// share.
fn prior(has_filters: bool) -> Each {
    let filters = if has_filters { FILTERS } else { 0 };
    let part = 0.5 / ((LANES + filters + RATES) as f64 + 0.5 * WITNESSES as f64);
    let mut prior = [0.0; EXPERTS];
    prior[..LANES + filters].fill(part);
    prior[MIXER] = 0.5;
    prior[WITNESS..BASE].fill(0.5 * part);
    prior[BASE..BASE + RATES].fill(part);
    prior
}

impl Default for SoftmaxBank {
    fn default() -> Self {
        Self::new()
    }
}

impl SoftmaxBank {
    /// A bank that has seen nothing.
    pub fn new() -> Self {
        Self {
            expected: None,
            classes: Vec::new(),
            slots: Vec::new(),
            scales: Vec::new(),
            lanes: ClassLanes::default(),
            filters: ClassFilters::default(),
            rates: Rates::default(),
            pool: Pool::new(),
            bayes: Bayes::new(prior(true)),
            risks: LogRisks::new(),
            witnesses: ClassJudge::unit_free(),
            costs: Costs::default(),
            rounds: 0,
            judged: 0.0,
            norms_sq: 0.0,
            reach: 0.0,
            desk: Desk::default(),
        }
    }

    /// A bank that knows how many classes there will be. Those that have not been seen share the
    /// probability of a new class. Once all have been seen, there is no such probability.
    pub fn expecting(classes: u32) -> Self {
        Self { expected: Some(classes), ..Self::new() }
    }

    /// The classes that were seen, in the order in which they came.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The number of rounds that were learned from.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// How many pairs of a feature and a class have weights. The memory is proportional to this.
    pub fn cells(&self) -> usize {
        self.lanes.cells()
    }

    /// How many features have a place.
    pub fn features(&self) -> usize {
        self.lanes.len()
    }

    /// Makes room for features below `dimension`.
    pub fn grow(&mut self, dimension: usize) {
        if dimension > self.lanes.len() {
            self.scales.resize(dimension, Scale::default());
            self.lanes.grow(dimension);
            self.filters.grow(dimension);
            self.witnesses.grow(dimension);
        }
    }

    /// Reorders the features: place i gets the content of place `from[i]`, and is empty if there is
    /// no such place.
    pub fn rearrange(&mut self, from: &[u32]) {
        self.scales = gather(&self.scales, from, Scale::default());
        self.lanes.rearrange(from);
        self.filters.rearrange(from);
        self.witnesses.rearrange(from);
    }

    /// The bank's witnesses. They are a judge of all rounds so far, for comparators without units.
    pub fn judge(&self) -> &ClassJudge {
        &self.witnesses
    }

    /// The probabilities of all classes for an example. Learns nothing.
    pub fn predict(&self, x: &Features<'_>) -> Probabilities {
        self.predict_beside(x, 0)
    }

    /// The same as [`predict`](Self::predict), for an example with `unseen` further features that
    /// were never seen.
    pub fn predict_beside(&self, x: &Features<'_>, unseen: usize) -> Probabilities {
        let known = x.below(self.lanes.len());
        let mut desk = Desk::default();
        self.opine::<Widest>(&known, unseen + x.len() - known.len(), &mut desk);
        self.probabilities(desk.mixed)
    }

    /// Predicts many rows, and learns nothing. `show` gets each row, the classes that were seen
    /// with their probabilities, which add up to 1, and the probability of a new class.
    pub fn predict_rows(
        &self,
        rows: Rows<'_>,
        mut show: impl FnMut(&Example<'_>, (&[u32], &[f64]), f64),
    ) {
        let mut desk = Desk::default();
        for example in rows.iter() {
            let known = example.features.below(self.lanes.len());
            self.opine::<Widest>(&known, example.features.len() - known.len(), &mut desk);
            show(&example, (&self.classes, &desk.mixed), self.escape());
        }
    }

    fn probabilities(&self, mut shares: Vec<f64>) -> Probabilities {
        let unseen = self.escape();
        shares.iter_mut().for_each(|share| *share *= 1.0 - unseen);
        Probabilities { classes: self.classes.clone(), shares, unseen }
    }

    /// The probability that the next class is a new one.
    fn escape(&self) -> f64 {
        let all_seen = self.expected.is_some_and(|all| all as usize <= self.classes.len());
        if all_seen { 0.0 } else { self.rates.escape(self.rounds) }
    }

    /// Plays a round for every row. Labels must be numbers of classes: 0, 1, 2, …. If one is not,
    /// nothing is learned from any row. A row of importance 0 is predicted, and otherwise ignored.
    pub fn learn_rows(
        &mut self,
        rows: Rows<'_>,
        rounds: &mut Vec<ClassRound>,
    ) -> Result<(), ClassError> {
        rounds.clear();
        rounds.reserve(rows.len());
        self.learn_rows_with(rows, |_, round, _| rounds.push(*round))
    }

    /// The same as [`learn_rows`](Self::learn_rows), and calls `show` for every round. It gets the
    /// classes that were seen, and their predicted probabilities, which add up to 1 without that of
    /// a new class.
    pub fn learn_rows_with(
        &mut self,
        rows: Rows<'_>,
        show: impl FnMut(&Example<'_>, &ClassRound, (&[u32], &[f64])),
    ) -> Result<(), ClassError> {
        self.learn_rows_by::<Widest>(rows, show)
    }

    fn learn_rows_by<W: Runner>(
        &mut self,
        rows: Rows<'_>,
        mut show: impl FnMut(&Example<'_>, &ClassRound, (&[u32], &[f64])),
    ) -> Result<(), ClassError> {
        self.check(rows)?;
        self.grow(rows.dimension());
        let mut desk = std::mem::take(&mut self.desk);
        for example in rows.iter() {
            self.opine::<W>(&example.features, 0, &mut desk);
            let class = example.label as u32;
            let round = self.round(class, example.importance.get(), &desk);
            show(&example, &round, (&self.classes, &desk.mixed));
            if !example.importance.is_zero() {
                self.learn_row::<W>(&example, class, &mut desk);
            }
        }
        self.desk = desk;
        Ok(())
    }

    /// Checks that all labels are classes, and below the expected number.
    fn check(&self, rows: Rows<'_>) -> Result<(), ClassError> {
        for (row, &label) in rows.labels().iter().enumerate() {
            let class = class_of(label).ok_or(ClassError::Label { row, label })?;
            if let Some(expected) = self.expected.filter(|&expected| class >= expected) {
                return Err(ClassError::Unexpected { row, class, expected });
            }
        }
        Ok(())
    }

    /// The probability of one particular new class, if that of any new class is `escape`.
    fn new_class(&self, escape: f64) -> f64 {
        let left = self.expected.map_or(1, |all| all as usize - self.classes.len());
        escape / left as f64
    }

    fn slot(&self, class: u32) -> Option<usize> {
        let slot = self.slots.get(class as usize).filter(|&&slot| slot != NOWHERE);
        slot.map(|&slot| slot as usize)
    }

    fn round(&self, class: u32, importance: f64, desk: &Desk) -> ClassRound {
        let likeliest = |best: usize, slot: usize| {
            if desk.mixed[slot] > desk.mixed[best] { slot } else { best }
        };
        let best = (1..desk.mixed.len()).fold(0, likeliest);
        let escape = self.escape();
        let known = self.slot(class).map(|slot| (1.0 - escape) * desk.mixed[slot]);
        let new = NewClass { any: escape, each: self.new_class(escape) };
        let probability = known.unwrap_or(new.each);
        let predicted = self.classes.get(best).copied();
        ClassRound { predicted, probability, loss: log_loss(probability, importance), new }
    }

    /// Lets everybody predict a row, before the label is known. Changes nothing but the desk.
    #[inline(never)]
    fn opine<W: Runner>(&self, x: &Features<'_>, unseen: usize, desk: &mut Desk) {
        self.measure(x, unseen, desk);
        W::run(Opine { bank: self, x, unseen, desk });
    }

    /// Scales the features of a row to their units.
    fn measure(&self, x: &Features<'_>, unseen: usize, desk: &mut Desk) {
        desk.scaled.clear();
        desk.growths.clear();
        (desk.norm_sq, desk.unseen) = (0.0, unseen);
        for (place, (&index, &value)) in (0..).zip(x.indices().iter().zip(x.values())) {
            let scale = &self.scales[index as usize];
            let scaled = scale.scaled(value);
            desk.unseen += usize::from(scale.is_new());
            if scaled.growth > 1.0 {
                desk.growths.push((place, scaled.growth));
            }
            desk.norm_sq += scaled.value * scaled.value;
            desk.scaled.push(scaled.value);
        }
    }

    /// Σ‖x̃‖² and R, including one more row.
    fn reach_with(&self, norm_sq: f32) -> (f64, f64) {
        let norms_sq = self.norms_sq + f64::from(norm_sq);
        let mean = norms_sq / (self.rounds + 1) as f64;
        (norms_sq, if mean > self.reach * self.reach { mean.sqrt() } else { self.reach })
    }

    /// The factor of the first lane's weights.
    fn gain(&self, norm_sq: f32) -> f32 {
        (GAIN / self.reach_with(norm_sq).1.max(1e-30)) as f32
    }

    /// How experts are mixed with equal probabilities, for this many classes. The first number is
    /// the share that they keep of their own. The second is added to every class.
    fn pinch(&self, classes: usize) -> (f64, f64) {
        let pinch = PINCH.min(1.0 / (self.rounds as f64 + 1.0));
        (1.0 - pinch, pinch / classes.max(1) as f64)
    }

    /// Learns from a row that everybody has predicted.
    fn learn_row<W: Runner>(&mut self, example: &Example<'_>, class: u32, desk: &mut Desk) {
        let importance = example.importance.get();
        let known = self.slot(class);
        let escape = self.escape();
        let news = if known.is_some() { 1.0 - escape } else { self.new_class(escape) };
        self.costs.news -= importance * ln(news);
        if let Some(truth) = known.filter(|_| self.classes.len() > 1) {
            W::run(LearnTop { bank: self, truth, importance, desk });
        }
        if self.admit(&example.features, desk) {
            W::run(SeeAgain { bank: self, indices: example.features.indices(), desk });
        }
        self.rounds += 1;
        let truth = known.unwrap_or_else(|| W::run(Open { bank: self, class, desk }));
        if self.classes.len() > 1 {
            let indices = example.features.indices();
            W::run(Teach { bank: self, truth, importance: importance as f32, indices, desk });
        }
        self.rates.learn(truth, importance);
        self.witnesses.learn(example, truth as u32, &mut desk.witnesses);
    }

    /// Records the values of a row. Returns whether lanes and filters have to see the row again,
    /// because a feature is new or a unit has grown.
    fn admit(&mut self, x: &Features<'_>, desk: &mut Desk) -> bool {
        let mut is_new = false;
        for (place, (&index, &value)) in x.indices().iter().zip(x.values()).enumerate() {
            let cell = index as usize;
            if !self.scales[cell].count_scaled(value).1 {
                is_new |= self.admit_one(cell, value, &mut desk.scaled[place]);
            }
        }
        if is_new {
            desk.norm_sq = desk.scaled.iter().map(|x| x * x).sum();
        }
        (self.norms_sq, self.reach) = self.reach_with(desk.norm_sq);
        is_new
    }

    #[cold]
    #[inline(never)]
    fn admit_one(&mut self, cell: usize, value: f32, scaled: &mut f32) -> bool {
        let was_new = self.scales[cell].is_new();
        if was_new && value != 0.0 && self.filters.admit(cell) {
            self.retire();
        }
        let admitted = self.scales[cell].admit(value);
        *scaled = admitted.value;
        if admitted.growth > 1.0 {
            self.filters.stretch(cell, admitted.growth);
        }
        was_new || admitted.growth > 1.0
    }

    /// Removes the filters from the pool and from Bayes' rule.
    fn retire(&mut self) {
        self.pool.retire();
        self.bayes.retire(prior(false));
    }

    /// Gives a class its slot.
    fn open(&mut self, class: u32, [lanes, filters]: [Eight; 2]) -> usize {
        let slot = self.classes.len();
        self.classes.push(class);
        if self.slots.len() <= class as usize {
            self.slots.resize(class as usize + 1, NOWHERE);
        }
        self.slots[class as usize] = slot as u32;
        self.lanes.open(lanes);
        if self.filters.open(filters) {
            self.retire();
        }
        self.rates.open();
        slot
    }

    /// Whether this bank, which was read from a file, can be a later state of `fresh`, which has
    /// seen nothing.
    pub fn continues(&self, fresh: &Self) -> bool {
        let (cells, classes) = (self.lanes.len(), self.classes.len());
        let is_here = |(slot, &class): (usize, &u32)| self.slot(class) == Some(slot);
        let taken = self.slots.iter().filter(|&&slot| slot != NOWHERE).count();
        self.expected == fresh.expected
            && self.expected.is_none_or(|all| classes <= all as usize)
            && taken == classes
            && self.classes.iter().enumerate().all(is_here)
            && self.rounds >= classes as u64
            && self.scales.len() == cells
            && self.scales.iter().all(Scale::is_sound)
            && self.lanes.is_sound(classes)
            && self.filters.is_sound(cells, classes)
            && self.rates.len() == classes
            && self.rates.is_sound()
            && self.pool.is_sound()
            && self.bayes.is_sound(&prior(self.filters.are_alive()))
            && self.risks.is_sound()
            && self.witnesses.continues(&fresh.witnesses, self.rounds)
            && self.witnesses.classes() == classes as u32
            && [
                self.costs.news,
                self.costs.pinches,
                self.costs.roundings,
                self.judged,
                self.norms_sq,
                self.reach,
            ]
            .iter()
            .all(|x| x.is_finite() && *x >= 0.0)
    }
}

const _: () = assert!(RECENT + 2 <= EXPERTS);

#[cfg(test)]
mod tests;
