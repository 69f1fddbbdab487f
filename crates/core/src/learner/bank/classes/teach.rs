//! How everybody in the bank learns the class of one row.

use super::opine::exponentials;
use super::pool;
use super::softmax::{ln_eight, others, softmax, squares};
use super::{Desk, FARTHEST, GAIN, SoftmaxBank};
use crate::elementary::{ln, sigmoid_eight};
use crate::learner::bank::eight::{Eight, within};
use crate::learner::bank::experts::weighted_each;
use crate::learner::bank::filters::FILTERS;
use crate::learner::bank::lanes::LANES;
use crate::learner::bank::steps;
use rueful_machine::{Eights, Kernel, Numbers, Registers};

/// Lets the pool and Bayes' rule learn the class of a row.
pub(super) struct LearnTop<'a> {
    pub(super) bank: &'a mut SoftmaxBank,
    pub(super) truth: usize,
    pub(super) importance: f64,
    pub(super) desk: &'a mut Desk,
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
pub(super) struct SeeAgain<'a> {
    pub(super) bank: &'a SoftmaxBank,
    pub(super) indices: &'a [u32],
    pub(super) desk: &'a mut Desk,
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
pub(super) struct Open<'a> {
    pub(super) bank: &'a mut SoftmaxBank,
    pub(super) class: u32,
    pub(super) desk: &'a mut Desk,
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
pub(super) struct Teach<'a> {
    pub(super) bank: &'a mut SoftmaxBank,
    pub(super) truth: usize,
    pub(super) importance: f32,
    pub(super) indices: &'a [u32],
    pub(super) desk: &'a mut Desk,
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
