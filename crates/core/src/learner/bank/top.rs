//! What is above the lanes: who mixes them, and what they are told to learn.

use super::super::Plain;
use super::experts::{EachWitness, Expert};
use super::filter::Glance;
use super::filters::FILTERS;
use super::lanes::{Lesson, Seen};
use rueful_machine::{Kernel, Registers, Runner};

/// What lanes and filters see in one example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    /// f and s of the lanes, the gain of the first included.
    pub(super) lanes: Seen,
    /// f and s of the filters, and how many there are.
    pub(super) filters: [Glance; FILTERS],
    pub(super) alive: usize,
}

impl View {
    /// f of the filters.
    #[inline(always)]
    pub(super) fn filter_means(&self) -> [f32; FILTERS] {
        self.filters.map(|seen| seen.mean)
    }
}

/// A label as it came: with its importance, in a round counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Label {
    pub(super) value: f64,
    pub(super) importance: f64,
    pub(super) round: f64,
}

/// What lanes and filters are to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lessons {
    pub(super) lanes: Lesson,
    pub(super) slopes: [f32; FILTERS],
    pub(super) curvatures: [f32; FILTERS],
}

/// What mixing costs at most over an expert: as it was, and as it can be for so many rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    pub(super) data: f64,
    pub(super) theorem: f64,
}

/// The part of a bank that depends on the loss.
pub(super) trait Top: Plain + std::fmt::Debug + Send + Sync + 'static {
    /// What it made of a view.
    type Opinion: Copy;

    /// The unit of labels, which the first lane's weights are measured in.
    fn spread(&self) -> f64;

    /// What is predicted, and what each expert says. Changes nothing.
    fn opine<R: Registers>(&self, view: &View, witnesses: &EachWitness) -> Self::Opinion;

    /// The prediction of an opinion.
    fn prediction(opinion: &Self::Opinion) -> f64;

    /// What all weights must be multiplied by before this label is learned from, where the unit of
    /// labels is far too small for it; 1 as a rule.
    #[inline(always)]
    fn stretch_for(&self, _label: f64) -> f32 {
        1.0
    }

    /// The unit of labels changes by that much.
    fn stretch(&mut self, _factor: f32) {}

    /// Learns from the label, and says what lanes and filters are to learn. The view is that of
    /// all features; the opinion may have been made without those that were new.
    fn learn<R: Registers>(
        &mut self,
        opinion: &Self::Opinion,
        view: &View,
        witnesses: &EachWitness,
        label: &Label,
    ) -> Lessons;

    /// Only so many filters remain.
    fn retire(&mut self, filters: usize);

    /// What the mixer makes of the lanes and filters, in units of the prediction.
    fn mixing_weights(&self) -> [f64; super::mixer::MIXED];

    /// The experts, whose losses are averaged over so much importance.
    fn experts(&self, importance: f64) -> Vec<Expert>;

    /// What mixing is proved to cost at most over the best expert, after so many rounds.
    fn mixing_cost(&self, rounds: f64) -> f64;

    /// What the bank has lost at most beyond what a witness said: mixing, clipping and rounding.
    fn cost_over_witness(&self, witness: usize, rounds: f64) -> Cost;

    /// Where that is proved.
    const PROOF: &'static str;

    /// Whether it can be a later state of a fresh one, where so many filters remain.
    fn is_sound(&self, filters: usize) -> bool;
}

/// What a top makes of a view. All who ask for it share one copy of the code for each kind of register.
pub(super) fn opinion<W: Runner, T: Top>(
    top: &T,
    view: &View,
    witnesses: &EachWitness,
) -> T::Opinion {
    W::run(Opine { top, view, witnesses })
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
        self.top.opine::<R>(self.view, self.witnesses)
    }
}
