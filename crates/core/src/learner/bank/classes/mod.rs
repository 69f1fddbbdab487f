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

mod filters;
mod lanes;
mod pool;
mod rates;
mod softmax;

use super::bayes::Bayes;
use super::eight::{Eight, within};
use super::experts::{BASE, EXPERTS, Each, Expert, MIXER, WITNESS, described, weighted_each};
use super::filters::FILTERS;
use super::lanes::{LANES, gather};
use super::log_risks::LogRisks;
use super::scale::Scale;
use super::steps;
use crate::bound::{Bound, NoBound, Promise};
use crate::classes::{ClassError, ClassJudge, ClassRound, JudgeDesk, Probabilities, class_of};
use crate::comparators::Comparators;
use crate::elementary::{exp_eight, ln, sigmoid_eight};
use crate::features::{Example, Features};
use crate::rows::Rows;
use crate::witness::WITNESSES;
use filters::{ClassFilters, FilterDesk};
use lanes::{ClassLanes, ClassLesson};
use pool::Pool;
use rates::{RATES, Rates};
use rueful_machine::{Eights, Kernel, Numbers, Registers, Runner, Widest};
use serde::{Deserialize, Serialize};
use softmax::{ln_eight, others, softmax, squares};

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
        let probability = known.unwrap_or_else(|| self.new_class(escape));
        ClassRound {
            predicted: self.classes.get(best).copied(),
            probability,
            loss: if importance == 0.0 { 0.0 } else { -importance * ln(probability) },
        }
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

    /// The learners that the bank mixes. Their risks are over the rounds whose class had been seen
    /// before.
    pub fn experts(&self) -> Vec<Expert> {
        let (sums, all) = (self.risks.sums(), if self.judged > 0.0 { self.judged } else { 1.0 });
        let risk = |place: usize| sums[place] / all;
        let mut experts = described(self.bayes.prior(), self.bayes.weights(), risk);
        let names = ["recent rate, 0.8 kept", "recent rate, 0.98 kept"];
        let last = experts.len() - names.len();
        for (expert, name) in experts[last..].iter_mut().zip(names) {
            name.clone_into(&mut expert.name);
        }
        let pool = experts.iter_mut().find(|expert| expert.name == "mixer");
        pool.into_iter().for_each(|pool| "pool".clone_into(&mut pool.name));
        experts
    }

    /// The bank's theorem, for comparators without units.
    pub fn promise(&self, comparators: &Comparators) -> Promise {
        match comparators {
            Comparators::UnitFree(ball) => self.promise_within(ball.radius.get()),
            Comparators::Set(_) => {
                Promise::none("the bank's theorem is about comparators without units")
            }
        }
    }

    fn promise_within(&self, radius: f64) -> Promise {
        let radii = self.witnesses.radii();
        let reaching = (0..WITNESSES).filter(|&witness| radii[witness] >= radius);
        let promises: Vec<[f64; 2]> = reaching.map(|witness| self.promise_of(witness)).collect();
        let best = |place: usize, formula: &str| {
            let total = promises.iter().map(|both| both[place]).reduce(f64::min);
            match total.filter(|total| total.is_finite()) {
                Some(total) => Ok(Bound::new(total, formula)),
                None if promises.is_empty() => {
                    let reach = radii[WITNESSES - 1];
                    NoBound::because(format!("the bank's theorem reaches to U = {reach} only"))
                }
                None => NoBound::because("its numbers are beyond what doubles hold"),
            }
        };
        Promise {
            data: best(0, "a witness: U(Σ‖g‖²/D + G), and c(ln(1/π) + ln T) for mixing"),
            theorem: best(1, "a witness: U(2√Σ‖g‖² + G), and c(ln(1/π) + ln T) for mixing"),
        }
    }

    /// The data-dependent bound and the theorem, by way of one witness.
    fn promise_of(&self, witness: usize) -> [f64; 2] {
        let own = self.witnesses.promise(witness);
        let rounds = self.rounds as f64;
        let mixing = self.bayes.cost(prior(true)[WITNESS + witness], rounds);
        let Costs { news, pinches, roundings } = self.costs;
        // A softmax in doubles is off by some units in the last place for every class.
        let grain = (128.0 + 4.0 * self.classes.len() as f64) * f64::EPSILON;
        let rounded = grain * self.bayes.largest() * rounds;
        [own.data, own.theorem].map(|own| own + mixing + news + pinches + roundings + rounded)
    }

    /// An upper bound on the total cost of mixing over the best expert.
    pub fn mixing_cost(&self) -> f64 {
        let (sums, now) = (self.risks.sums(), self.bayes.prior());
        let present = (0..EXPERTS).filter(|&place| now[place] > 0.0);
        let best = present.min_by(|&a, &b| sums[a].total_cmp(&sums[b])).unwrap_or(MIXER);
        self.bayes.cost(prior(true)[best], self.rounds as f64)
    }

    /// The amounts that the features of an example add to ln(p/(1 − p)), the log-odds of a class
    /// against all others. The last number is the rest, so that all of them add up to the log-odds.
    /// It is `None` if the class has not been seen.
    ///
    /// Lanes and filters are linear in the features, and the pool is linear in their scores. So a
    /// feature adds Σ_k β_k (w_kic − Σ_{j≠c} r_j w_kij) x̃_i, where r are the probabilities of the
    /// others among themselves.
    pub fn contributions(&self, x: &Features<'_>, class: u32) -> Option<Vec<f64>> {
        let slot = self.slot(class)?;
        let known = x.below(self.lanes.len());
        let mut desk = Desk::default();
        self.opine::<Widest>(&known, x.len() - known.len(), &mut desk);
        let factors = self.pooled_factors(&desk);
        let mut against = desk.mixed.clone();
        against[slot] = 0.0;
        let rest: f64 = against.iter().sum();
        against.iter_mut().for_each(|share| *share /= -rest.max(f64::MIN_POSITIVE));
        against[slot] = 1.0;
        let mut added: Vec<f64> = (0..known.len())
            .map(|place| {
                let feature = known.indices()[place] as usize;
                let said = |slot: usize| self.said_by_unit(feature, slot, &factors);
                let sides = against.iter().enumerate().filter(|(_, share)| **share != 0.0);
                let unit: f64 = sides.map(|(slot, share)| share * said(slot)).sum();
                unit * f64::from(desk.scaled[place])
            })
            .collect();
        added.resize(x.len(), 0.0);
        let escape = self.escape();
        let others = (1.0 - escape) * rest + escape;
        let odds = (1.0 - escape) * desk.mixed[slot] / others.max(f64::MIN_POSITIVE);
        added.push(ln(odds) - added.iter().sum::<f64>());
        Some(added)
    }

    /// The pool's factors of the scores of lanes and filters.
    fn pooled_factors(&self, desk: &Desk) -> [f64; LANES + FILTERS] {
        let weights = self.pool.weights();
        std::array::from_fn(|k| {
            if k < LANES {
                let gain = if k == 0 { f64::from(self.gain(desk.norm_sq)) } else { 1.0 };
                let doubt = SHARED_MODERATION * desk.variance.0[k];
                weights[k] * gain / f64::from(1.0 + doubt).sqrt()
            } else {
                weights[k]
            }
        })
    }

    fn said_by_unit(&self, feature: usize, slot: usize, factors: &[f64; LANES + FILTERS]) -> f64 {
        let (lanes, filters) =
            (self.lanes.weights(feature, slot), self.filters.weights(feature, slot));
        let all = lanes.0.iter().chain(&filters).zip(factors);
        all.map(|(&weight, factor)| f64::from(weight) * factor).sum()
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

/// Computes all predictions for a row whose features are scaled.
struct Opine<'a> {
    bank: &'a SoftmaxBank,
    x: &'a Features<'a>,
    /// The number of features that have no place.
    unseen: usize,
    desk: &'a mut Desk,
}

impl Kernel for Opine<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { bank, x, unseen, desk } = self;
        let (indices, classes) = (x.indices(), bank.classes.len());
        bank.witnesses.foresee::<R::Four>(x, unseen, &mut desk.witnesses);
        desk.moderated.resize(classes, Eight::ZERO);
        desk.shares.resize(classes, Eight::ZERO);
        desk.filter_shares.resize(classes, Eight::ZERO);
        desk.logs.resize(classes, [Eight::ZERO; 2]);
        desk.mixed.clear();
        if classes == 0 {
            return;
        }
        let floor = ln(f64::from(FAINTEST) / classes as f64) as f32;
        bank.see_by_lanes::<R::Eight>(indices, desk);
        bank.moderate_lanes::<R::Eight>(desk, floor);
        if bank.filters.are_alive() {
            bank.see_by_filters::<R::Eight>(indices, desk);
            moderate_filters::<R::Eight>(desk, floor);
        }
        bank.hear_rates(desk, floor);
        bank.pool_all::<R::Eight>(desk);
        bank.mix::<R::Eight>(desk);
    }
}

impl SoftmaxBank {
    #[inline(always)]
    fn see_by_lanes<V: Eights>(&self, indices: &[u32], desk: &mut Desk) {
        let gain = self.gain(desk.norm_sq);
        let variance = self.lanes.see::<V>(indices, &desk.scaled, gain, &mut desk.scores);
        desk.variance = Eight::of_register(variance + ClassLanes::doubt::<V>(desk.unseen));
    }

    /// Moderates the lanes' scores. A lane has one factor, because all classes have the same
    /// variance.
    #[inline(always)]
    fn moderate_lanes<V: Eights>(&self, desk: &mut Desk, floor: f32) {
        let doubt = V::all(1.0) + V::all(SHARED_MODERATION) * desk.variance.load::<V>();
        let factor = V::all(1.0) / doubt.sqrt();
        for (score, moderated) in desk.scores.iter().zip(&mut desk.moderated) {
            (score.load::<V>() * factor).store(&mut moderated.0);
        }
        let log_sum = softmax::<V>(&desk.moderated, &mut desk.shares).log_sum();
        for (moderated, logs) in desk.moderated.iter().zip(&mut desk.logs) {
            (moderated.load::<V>() - log_sum).max(V::all(floor)).store(&mut logs[0].0);
        }
    }

    #[inline(always)]
    fn see_by_filters<V: Eights>(&self, indices: &[u32], desk: &mut Desk) {
        let Desk { scaled, growths, filters, .. } = desk;
        self.filters.lay_out(indices, scaled, growths, filters);
        self.filters.see::<V>(filters);
        if desk.unseen > 0 {
            ClassFilters::doubt(desk.unseen, &mut desk.filters);
        }
    }

    #[inline(always)]
    fn hear_rates(&self, desk: &mut Desk, floor: f32) {
        let ln_total = self.rates.ln_total();
        for (slot, logs) in desk.logs.iter_mut().enumerate() {
            for (k, log) in self.rates.logs(slot, ln_total).into_iter().enumerate() {
                logs[1].0[FILTERS + k] = log.max(floor);
            }
        }
    }

    #[inline(always)]
    fn pool_all<V: Eights>(&self, desk: &mut Desk) {
        let weights = self.pool.weights();
        let eight = |from: usize| Eight::of(|k| weights[from + k] as f32).load::<V>();
        let (first, second) = (eight(0), eight(8));
        desk.pooled.clear();
        for logs in &desk.logs {
            desk.pooled.push((first * logs[0].load() + second * logs[1].load()).sum());
        }
        desk.pool_shares.clear();
        exponentials::<V>(&desk.pooled, None, &mut desk.pool_shares);
        let inverse = 1.0 / desk.pool_shares.iter().sum::<f32>();
        desk.pool_shares.iter_mut().for_each(|share| *share *= inverse);
    }

    /// Mixes everybody's probabilities by Bayes' rule.
    #[inline(always)]
    fn mix<V: Eights>(&self, desk: &mut Desk) {
        let weights = self.bayes.weights();
        let lanes = Eight::of(|k| weights[k] as f32).load::<V>();
        let filters: [f32; FILTERS] = std::array::from_fn(|k| weights[LANES + k] as f32);
        let (kept, added) = self.pinch(desk.shares.len());
        let mut total = 0.0;
        for (slot, share) in desk.shares.iter().enumerate() {
            let mut sum = (lanes * share.load::<V>()).sum();
            for (k, filter) in filters.iter().enumerate() {
                sum += filter * desk.filter_shares[slot].0[k];
            }
            let mut mixed = f64::from(sum) + weights[MIXER] * f64::from(desk.pool_shares[slot]);
            for (k, rate) in self.rates.shares(slot).into_iter().enumerate() {
                mixed += weights[BASE + k] * f64::from(rate);
            }
            for (k, witness) in desk.witnesses.shares[slot].iter().enumerate() {
                mixed += weights[WITNESS + k] * witness;
            }
            let mixed = mixed * kept + added;
            total += mixed;
            desk.mixed.push(mixed);
        }
        desk.mixed.iter_mut().for_each(|mixed| *mixed /= total);
    }

    /// The probabilities that the experts gave a class.
    #[inline(always)]
    fn given(&self, slot: usize, desk: &Desk) -> Each {
        let (kept, added) = self.pinch(self.classes.len());
        let mut given = [0.0; EXPERTS];
        for (k, share) in desk.shares[slot].0.into_iter().enumerate() {
            given[k] = f64::from(share);
        }
        for (k, share) in desk.filter_shares[slot].0[..FILTERS].iter().enumerate() {
            given[LANES + k] = f64::from(*share);
        }
        given[MIXER] = f64::from(desk.pool_shares[slot]);
        given[WITNESS..BASE].copy_from_slice(&desk.witnesses.shares[slot]);
        for (k, rate) in self.rates.shares(slot).into_iter().enumerate() {
            given[BASE + k] = f64::from(rate);
        }
        for (given, &prior) in given.iter_mut().zip(self.bayes.prior()) {
            *given = if prior > 0.0 { (*given * kept + added).min(1.0) } else { 0.0 };
        }
        given
    }
}

/// Moderates the filters' scores less their mean, by the variances of both:
/// (f_c − f̄)/√(1 + π(s_c + s̄)/8).
#[inline(always)]
fn moderate_filters<V: Eights>(desk: &mut Desk, floor: f32) {
    let Desk { filters, filter_shares, moderated, logs, .. } = desk;
    let (mut mean, mut variance) = (V::all(0.0), V::all(0.0));
    for ((share, score), own) in filters.shares.iter().zip(&filters.scores).zip(&filters.variances)
    {
        mean = mean + share.load::<V>() * score.load();
        variance = variance + share.load::<V>() * own.load();
    }
    let scores = filters.scores.iter().zip(&filters.variances).zip(&mut *moderated);
    for ((score, own), moderated) in scores {
        let doubt = V::all(1.0) + V::all(MODERATION) * (own.load::<V>() + variance);
        ((score.load::<V>() - mean) / doubt.sqrt()).store(&mut moderated.0);
    }
    let log_sum = softmax::<V>(moderated, filter_shares).log_sum();
    for (moderated, logs) in moderated.iter().zip(logs) {
        (moderated.load::<V>() - log_sum).max(V::all(floor)).store(&mut logs[1].0);
    }
}

/// Appends e^{x − largest} of all numbers. One can be left out, and is 0 then. Returns the largest.
#[inline(always)]
fn exponentials<V: Eights>(of: &[f32], without: Option<usize>, to: &mut Vec<f32>) -> f32 {
    let mut largest = f32::MIN;
    for (at, &x) in of.iter().enumerate() {
        largest = if Some(at) != without && x > largest { x } else { largest };
    }
    for eight in of.chunks(8) {
        let mut numbers = [0.0; 8];
        numbers[..eight.len()].copy_from_slice(eight);
        let e = exp_eight(V::load(&numbers) - V::all(largest)).array();
        to.extend_from_slice(&e[..eight.len()]);
    }
    if let Some(at) = without {
        to[at] = 0.0;
    }
    largest
}

/// Lets the pool and Bayes' rule learn the class of a row.
struct LearnTop<'a> {
    bank: &'a mut SoftmaxBank,
    truth: usize,
    importance: f64,
    desk: &'a mut Desk,
}

impl Kernel for LearnTop<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { bank, truth, importance, desk } = self;
        let given = bank.given(truth, desk);
        let mixture = weighted_each::<R::Four>(bank.bayes.weights(), &given);
        bank.costs.roundings += importance * ln(mixture / desk.mixed[truth]).max(0.0);
        bank.costs.pinches -= importance * ln(bank.pinch(1).0);
        bank.judged += importance;
        bank.risks.add::<R::Four>(&given, importance);
        bank.bayes.learn::<R::Four>(&given, importance, (bank.rounds + 1) as f64);
        let (difference, z) = difference::<R::Eight>(truth, bank.filters.are_alive(), desk);
        bank.pool.learn(&difference, z, importance);
    }
}

/// ln p_y − Σ r_c ln p_c for everything that is pooled, and the pool's log-odds of the true class.
#[inline(always)]
fn difference<V: Eights>(truth: usize, has_filters: bool, desk: &mut Desk) -> (pool::Inputs, f64) {
    desk.pool_shares.clear();
    let largest = exponentials::<V>(&desk.pooled, Some(truth), &mut desk.pool_shares);
    let (mut sums, mut total) = ([V::all(0.0); 2], 0.0_f32);
    for (&e, logs) in desk.pool_shares.iter().zip(&desk.logs) {
        total += e;
        sums = [sums[0] + V::all(e) * logs[0].load(), sums[1] + V::all(e) * logs[1].load()];
    }
    let logs = &desk.logs[truth];
    let inverse = V::all(1.0 / total);
    let eights = [0, 1].map(|half| (logs[half].load::<V>() - sums[half] * inverse).array());
    let mut difference = pool::Inputs::default();
    for k in 0..pool::POOLED {
        let is_retired = (LANES..LANES + FILTERS).contains(&k) && !has_filters;
        difference[k] = if is_retired { 0.0 } else { f64::from(eights[k / 8][k % 8]) };
    }
    (difference, f64::from(desk.pooled[truth] - largest) - ln(f64::from(total)))
}

/// Lets lanes and filters see a row again whose features have just been admitted.
struct SeeAgain<'a> {
    bank: &'a SoftmaxBank,
    indices: &'a [u32],
    desk: &'a mut Desk,
}

impl Kernel for SeeAgain<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { bank, indices, desk } = self;
        desk.growths.clear();
        desk.unseen = 0;
        // The reach already includes the row.
        let gain = (GAIN / bank.reach.max(1e-30)) as f32;
        let variance = bank.lanes.see::<R::Eight>(indices, &desk.scaled, gain, &mut desk.scores);
        desk.variance = Eight::of_register(variance);
        if bank.filters.are_alive() {
            bank.see_by_filters::<R::Eight>(indices, desk);
        }
    }
}

/// Gives a new class its slot. Its scores start so that it has about the probability 1/t.
struct Open<'a> {
    bank: &'a mut SoftmaxBank,
    class: u32,
    desk: &'a mut Desk,
}

impl Kernel for Open<'_> {
    type Out = usize;

    #[inline(always)]
    fn run<R: Registers>(self) -> usize {
        let Self { bank, class, desk } = self;
        let less = R::Eight::all(ln(bank.rounds as f64) as f32);
        let begin = |scores: &[Eight], shares: &mut [Eight]| {
            if scores.is_empty() {
                return Eight::ZERO;
            }
            Eight::of_register(softmax::<R::Eight>(scores, shares).log_sum() - less)
        };
        let Desk { scores, shares, filters, .. } = desk;
        let has_filters = bank.filters.are_alive();
        let lanes = begin(scores, shares);
        let of_filters =
            if has_filters { begin(&filters.scores, &mut filters.shares) } else { Eight::ZERO };
        scores.push(lanes);
        if has_filters {
            filters.open(of_filters);
        }
        bank.open(class, [lanes, of_filters])
    }
}

/// Lets lanes and filters learn the class of a row.
struct Teach<'a> {
    bank: &'a mut SoftmaxBank,
    truth: usize,
    importance: f32,
    indices: &'a [u32],
    desk: &'a mut Desk,
}

impl Kernel for Teach<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { bank, truth, importance, indices, desk } = self;
        prepare_lanes::<R::Eight>(truth, importance, desk);
        desk.lesson.sort(truth);
        bank.lanes.teach::<R::Eight>(indices, &desk.scaled, &mut desk.lesson);
        if bank.filters.are_alive() {
            bank.filters.see_class::<R::Eight>(truth, &mut desk.filters);
            prepare_filters::<R::Eight>(truth, importance, desk);
            let Desk { filter_slopes, filter_curvatures, filters, .. } = desk;
            bank.filters.learn::<R::Eight>(filter_slopes, filter_curvatures, filters);
        }
    }
}

/// Computes the lanes' slopes of all classes, and the largest curvature of a class.
#[inline(always)]
fn prepare_lanes<V: Eights>(truth: usize, importance: f32, desk: &mut Desk) {
    let Desk { scores, variance, lesson, .. } = desk;
    let slopes = &mut lesson.slopes;
    slopes.resize(scores.len(), Eight::ZERO);
    let rest = others::<V>(scores, truth, slopes);
    let inverse = V::all(1.0) / rest.sum;
    let z = scores[truth].load::<V>() - rest.largest - ln_eight(rest.sum);
    let z = within(z, FARTHEST);
    let spread = V::all(1.0) + squares::<V>(slopes) * inverse * inverse;
    let variance = variance.load::<V>() * spread;
    let step = steps::logistic(z, variance, 1.0, importance);
    let factor = V::all(0.0) - step.slope * inverse;
    for slope in slopes.iter_mut() {
        (slope.load::<V>() * factor).store(&mut slope.0);
    }
    step.slope.store(&mut slopes[truth].0);
    let one = V::all(1.0);
    let q = sigmoid_eight(z + variance * step.slope);
    let other = (one - q) * inverse;
    let curvature = (q * (one - q)).max(other * (one - other));
    lesson.curvature = Eight::of_register(V::all(importance) * curvature);
}

/// Computes the filters' slopes and curvatures. Each class has its own variance and curvature.
#[inline(always)]
fn prepare_filters<V: Eights>(truth: usize, importance: f32, desk: &mut Desk) {
    let Desk { filters, filter_slopes: slopes, filter_curvatures: curvatures, .. } = desk;
    let classes = filters.scores.len();
    slopes.resize(classes, Eight::ZERO);
    curvatures.resize(classes, Eight::ZERO);
    let rest = others::<V>(&filters.scores, truth, slopes);
    let inverse = V::all(1.0) / rest.sum;
    let mut variance = filters.variances[truth].load::<V>();
    for (slope, own) in slopes.iter_mut().zip(&filters.variances) {
        let r = slope.load::<V>() * inverse;
        variance = variance + r * r * own.load();
        r.store(&mut slope.0);
    }
    let z = filters.scores[truth].load::<V>() - rest.largest - ln_eight(rest.sum);
    let step = steps::logistic(within(z, FARTHEST), variance, 1.0, importance);
    for (slot, slope) in slopes.iter_mut().enumerate() {
        let other = V::all(0.0) - step.slope * slope.load::<V>();
        (if slot == truth { step.slope } else { other }).store(&mut slope.0);
    }
    // Curvatures are taken at the scores after the step.
    for (slot, curvature) in curvatures.iter_mut().enumerate() {
        let moved = filters.variances[slot].load::<V>() * slopes[slot].load::<V>();
        (filters.scores[slot].load::<V>() + moved).store(&mut curvature.0);
    }
    let Desk { moderated, .. } = desk;
    moderated.clone_from(curvatures);
    softmax::<V>(moderated, curvatures);
    for curvature in curvatures.iter_mut() {
        let q = curvature.load::<V>();
        (V::all(importance) * q * (V::all(1.0) - q)).store(&mut curvature.0);
    }
}

const _: () = assert!(RECENT + 2 <= EXPERTS);

#[cfg(test)]
mod tests;
