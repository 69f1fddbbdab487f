//! The part of a bank above the lanes: it mixes them, and it says what they are to learn.

use super::super::Plain;
use super::experts::{EachWitness, Expert};
use super::filters::{FILTERS, Glances};
use super::lanes::{Lesson, Seen};
use super::merge::Parts;
use super::targets::Targets;
use rueful_machine::{Kernel, Registers, Runner};

/// The view of one example by lanes and filters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    /// f and s of the lanes, including the gain of the first.
    pub(super) lanes: Seen,
    /// f and s of the filters, and below how many filters there are.
    pub(super) filters: Glances,
    pub(super) alive: usize,
}

/// A label with its importance and its round, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Label {
    pub(super) value: f64,
    pub(super) importance: f64,
    pub(super) round: f64,
}

/// The slopes and curvatures that lanes and filters are to learn from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lessons {
    pub(super) lanes: Lesson,
    pub(super) slopes: [f32; FILTERS],
    pub(super) curvatures: [f32; FILTERS],
}

/// Upper bounds on the cost of mixing over an expert: one from the run itself, and one for any run
/// of so many rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    pub(super) data: f64,
    pub(super) theorem: f64,
}

/// The part of a bank that depends on the loss.
pub(super) trait Top: Plain + std::fmt::Debug + Send + Sync + 'static {
    /// The predictions that are made from a view.
    type Opinion: Copy;

    /// The unit of labels, in which the first lane's weights are measured.
    fn spread(&self) -> f64;

    /// The prediction of the bank and those of the experts. It changes nothing.
    ///
    /// `meanwhile` is work that has nothing to do with it. An opinion is a long chain of operations
    /// that wait for one another, so the processor has time for the work if it stands in the middle.
    fn opine<R: Registers>(
        &self,
        view: &View,
        witnesses: &EachWitness,
        meanwhile: impl Kernel<Out = ()>,
    ) -> Self::Opinion;

    /// The prediction of an opinion.
    fn prediction(opinion: &Self::Opinion) -> f64;

    /// The factor for all weights before this label is learned from, if the unit of labels is far
    /// too small for it. It is 1 as a rule.
    #[inline(always)]
    fn stretch_for(&self, _label: f64) -> f32 {
        1.0
    }

    /// Changes the unit of labels by this factor.
    fn stretch(&mut self, _factor: f32) {}

    /// Learns from the label, and returns what lanes and filters are to learn. The view is that of
    /// all features. The opinion may have been made without the new ones. `meanwhile` is done in the
    /// middle, as in `opine`.
    fn learn<R: Registers, K: Kernel>(
        &mut self,
        opinion: &Self::Opinion,
        view: &View,
        witnesses: &EachWitness,
        label: &Label,
        meanwhile: K,
    ) -> (Lessons, K::Out);

    /// The labels so far, if they are numbers.
    fn targets(&self) -> Option<&Targets> {
        None
    }

    /// The labels so far, mutable, if they are numbers.
    fn targets_mut(&mut self) -> Option<&mut Targets> {
        None
    }

    /// The top that several make, after so many rounds of all. All have the same filters, and
    /// measure labels alike.
    fn merged(parts: &Parts<'_, Self>, rounds: f64) -> Self;

    /// Retires filters, so that only so many remain.
    fn retire(&mut self, filters: usize);

    /// The mixer's weights of lanes and filters, in units of the prediction.
    fn mixing_weights(&self) -> [f64; super::mixer::MIXED];

    /// The experts. Their losses are averaged over so much importance.
    fn experts(&self, importance: f64) -> Vec<Expert>;

    /// A proved bound on the cost of mixing over the best expert, after so many rounds.
    fn mixing_cost(&self, rounds: f64) -> f64;

    /// A bound on the bank's loss beyond that of a witness: for mixing, clipping and rounding.
    fn cost_over_witness(&self, witness: usize, rounds: f64) -> Cost;

    /// A description of the proof of that bound.
    const PROOF: &'static str;

    /// Whether it can be a later state of a fresh top, if so many filters remain.
    fn is_sound(&self, filters: usize) -> bool;
}

/// The opinion of a top on a view. All callers share one copy of the code for each kind of
/// register.
pub(super) fn opinion<W: Runner, T: Top>(
    top: &T,
    view: &View,
    witnesses: &EachWitness,
) -> T::Opinion {
    W::run(Opine { top, view, witnesses })
}

/// No work.
struct Nothing;

impl Kernel for Nothing {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {}
}

struct Opine<'a, T> {
    top: &'a T,
    view: &'a View,
    witnesses: &'a EachWitness,
}

impl<T: Top> Kernel for Opine<'_, T> {
    type Out = T::Opinion;

    #[inline(always)]
    fn run<R: Registers>(self) -> T::Opinion {
        self.top.opine::<R>(self.view, self.witnesses, Nothing)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::eight::Eight;
    use super::super::experts::RADII;
    use super::*;

    /// Plays with a top of numbers that sees no features. The labels are two neighbouring doubles, so
    /// what lies between them is rounded to one of the two, and the label is always the other one. In
    /// exact arithmetic predictions in between would have lost half as much. What the top lost must be
    /// within its cost over every witness.
    pub(in super::super) fn rounded_to_the_wrong_label<T: Top>(
        mut top: T,
        lost: fn(f64, f64) -> f64,
    ) {
        let rounds = 400;
        let lanes = Seen { mean: Eight::ZERO, variance: Eight::ZERO, norm_sq: 0.0 };
        let view = View { lanes, filters: Glances::default(), alive: FILTERS };
        let ends = [30_f64.exp2(), 30_f64.exp2().next_up()];
        let (mut own, mut alone) = (0.0, [0.0; RADII.len()]);
        for round in 1..=rounds {
            // Before the first label everybody predicts 0, and loses the same.
            let is_first = round == 1;
            let said = if is_first { [0.0; 4] } else { [ends[0], ends[1], ends[0], ends[1]] };
            let opinion = top.opine::<rueful_machine::Plain>(&view, &said, Nothing);
            let prediction = T::prediction(&opinion);
            let value = if !is_first && prediction < ends[1] { ends[1] } else { ends[0] };
            if !is_first {
                own += lost(prediction, value);
                alone.iter_mut().zip(said).for_each(|(sum, said)| *sum += lost(said, value));
            }
            let label = Label { value, importance: 1.0, round: f64::from(round) };
            top.learn::<rueful_machine::Plain, _>(&opinion, &view, &said, &label, Nothing);
        }
        // In units of their distance, every label costs 1.
        assert_eq!(own, f64::from(rounds - 1) * lost(ends[0], ends[1]));
        for (witness, alone) in alone.into_iter().enumerate() {
            let cost = top.cost_over_witness(witness, rounds.into());
            assert!(
                own <= alone + cost.data && cost.data <= cost.theorem,
                "{own} {alone} {cost:?}"
            );
        }
    }
}
