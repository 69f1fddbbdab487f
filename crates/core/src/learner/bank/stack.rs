//! One bank, for one loss: scales, lanes, filters, and the top that mixes them.
//!
//! A round goes from the bottom to the top and back. What is predicted is a function of the state
//! and the features ([`Stack::predict`]); what is then learned begins from the same view, unless the
//! row has something new in it: a feature seen for the first time, or a value beyond all before.
//! Such rows are rare. They are predicted first, then admitted, and then seen again.

use super::experts::{EachWitness, Expert, RADII};
use super::explain::sensitivities;
use super::filter::Glance;
use super::filters::{Desk, FILTERS, Filters};
use super::lanes::{LANES, Lanes, Seen, gather};
use super::mixer::MIXED;
use super::scale::{Scale, Scaled};
use super::top::{Label, Top, View};
use crate::bound::{Bound, NoBound, Promise};
use crate::features::{Example, Features};
use crate::ledger::Minorant;
use crate::loss::Loss;
use crate::round::Round;
use crate::rows::Rows;
use crate::witness::{WITNESSES, Witnesses};
use rueful_machine::{Kernel, wide};
use serde::{Deserialize, Serialize};

/// The first lane's weights are 4·(unit of labels)·θi/R.
const GAIN: f64 = 4.0;
/// Room is made beforehand for rows of so many features; longer ones make it when they come.
const LONGEST_ROW: usize = 1 << 12;

/// A bank in the loss L.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stack<L, T> {
    loss: L,
    top: T,
    scales: Vec<Scale>,
    lanes: Lanes,
    filters: Filters,
    witnesses: Witnesses<L>,
    rounds: u64,
    importance: f64,
    /// Σ‖x̃‖², and R: the largest root of its mean so far.
    norms_sq: f64,
    reach: f64,
    #[serde(skip)]
    scratch: Scratch,
}

/// Room for the row that is being learned from. Nothing in it outlives the row.
#[derive(Debug, Clone, Default)]
struct Scratch {
    /// x̃ of the row, and where in it features are that were never seen before.
    scaled: Vec<f32>,
    news: Vec<u32>,
    /// Nothing before there are features, and while it is in use.
    desk: Option<Box<Desk>>,
}

/// What is in use while rows are learned from.
struct Hands {
    scaled: Vec<f32>,
    news: Vec<u32>,
    desk: Box<Desk>,
}

impl PartialEq for Scratch {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<L: Loss, T: Top> Stack<L, T> {
    pub(super) fn new(loss: L, top: T) -> Self {
        Self {
            loss,
            top,
            scales: Vec::new(),
            lanes: Lanes::default(),
            filters: Filters::default(),
            witnesses: Witnesses::new(loss, true, RADII),
            rounds: 0,
            importance: 0.0,
            norms_sq: 0.0,
            reach: 0.0,
            scratch: Scratch::default(),
        }
    }

    /// Makes room for features below `dimension`.
    pub(super) fn grow(&mut self, dimension: usize) {
        if dimension <= self.scales.len() {
            return;
        }
        self.scales.resize(dimension, Scale::default());
        self.lanes.grow(dimension);
        self.filters.grow(dimension);
        self.witnesses.grow(dimension);
        let longest = dimension.min(LONGEST_ROW);
        self.scratch.desk.get_or_insert_default();
        self.scratch.scaled.reserve(longest);
        self.scratch.news.reserve(longest);
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        self.scales = gather(&self.scales, from, Scale::default());
        self.lanes.rearrange(from);
        self.filters.rearrange(from);
        self.witnesses.rearrange(from);
    }

    /// A round for every row, with wide registers where there are any.
    pub(super) fn learn_rows(&mut self, rows: Rows<'_>, rounds: &mut Vec<Round>) {
        if let Err(rest) = wide(LearnRows { stack: self, rows, rounds }) {
            rest.run_plainly();
        }
    }

    pub(super) fn learn(&mut self, example: &Example<'_>) -> Round {
        let mut hands = self.lend();
        let round = self.learn_plainly(example, &mut hands);
        self.take_back(hands);
        round
    }

    /// A round without wide registers.
    #[inline(never)]
    fn learn_plainly(&mut self, example: &Example<'_>, hands: &mut Hands) -> Round {
        self.learn_row(example, hands)
    }

    pub(super) fn predict(&self, x: &Features<'_>, unseen: usize) -> f64 {
        let known = x.below(self.scales.len());
        let unseen = unseen + x.len() - known.len();
        T::prediction(&self.opinion_on(&known, unseen).0)
    }

    #[inline(always)]
    fn learn_row(&mut self, example: &Example<'_>, hands: &mut Hands) -> Round {
        let x = &example.features;
        let is_plain = self.scale_row(x, &mut hands.scaled);
        let witnesses = self.witnesses.foresee(x);
        let round = if is_plain || self.filters.len() == 0 {
            self.learn_lean(example, is_plain, &witnesses, hands)
        } else {
            self.learn_novel(example, &witnesses, hands)
        };
        self.witnesses.learn(example);
        round
    }

    /// A round in which nothing is new, or only lanes have to know of it: their weights stay when a
    /// unit grows, and what is new adds to their variance.
    #[inline(always)]
    fn learn_lean(
        &mut self,
        example: &Example<'_>,
        is_plain: bool,
        witnesses: &EachWitness,
        hands: &mut Hands,
    ) -> Round {
        let x = &example.features;
        if !is_plain {
            self.admit_known(x, hands);
        }
        let scaled = &hands.scaled[..];
        let seen = self.see(x.indices(), |place| scaled[place], &mut hands.desk);
        let mut view = seen;
        if !is_plain {
            view.lanes.variance = view.lanes.variance + self.lanes.doubt(hands.news.len() as f32);
        }
        let opinion = self.top.opine(&view, witnesses);
        let round = Round::on(&self.loss, T::prediction(&opinion), example);
        view = seen;
        if !is_plain {
            let norm_sq = self.admit_news(x, hands);
            view.lanes.variance = view.lanes.variance + self.lanes.doubt(norm_sq);
            view.lanes.norm_sq += norm_sq;
        }
        if self.top.stretch_for(example.label) == 1.0 {
            self.learn_seen(example, &opinion, view, witnesses, hands);
        } else {
            self.learn_anew(example, opinion, witnesses, hands);
        }
        round
    }

    /// Takes in values beyond all before, and notes which features are new.
    #[cold]
    #[inline(never)]
    fn admit_known(&mut self, x: &Features<'_>, hands: &mut Hands) {
        hands.news.clear();
        for (place, (&index, &value)) in (0..).zip(x.indices().iter().zip(x.values())) {
            let scale = &mut self.scales[index as usize];
            if scale.is_new() {
                hands.news.push(place);
            } else {
                hands.scaled[place as usize] = scale.admit(value).value;
            }
        }
    }

    /// Takes in the features that are new, and says Σx̃² of them.
    #[cold]
    #[inline(never)]
    fn admit_news(&mut self, x: &Features<'_>, hands: &mut Hands) -> f32 {
        let mut norm_sq = 0.0;
        for &place in &hands.news {
            let place = place as usize;
            let Scaled { value, .. } =
                self.scales[x.indices()[place] as usize].admit(x.values()[place]);
            hands.scaled[place] = value;
            norm_sq += value * value;
        }
        norm_sq
    }

    /// Lends out the scratch for some rounds.
    #[inline(always)]
    fn lend(&mut self) -> Hands {
        let Scratch { scaled, news, desk } = std::mem::take(&mut self.scratch);
        Hands { scaled, news, desk: desk.unwrap_or_default() }
    }

    #[inline(always)]
    fn take_back(&mut self, Hands { scaled, news, desk }: Hands) {
        self.scratch = Scratch { scaled, news, desk: Some(desk) };
    }

    /// A round with something new in it that filters have to know of: predicted without, admitted,
    /// and seen again.
    #[cold]
    #[inline(never)]
    fn learn_novel(
        &mut self,
        example: &Example<'_>,
        witnesses: &EachWitness,
        hands: &mut Hands,
    ) -> Round {
        let x = &example.features;
        let (indices, values) = (x.indices(), x.values());
        let scaled =
            |place: usize| self.scales[indices[place] as usize].scaled_once_counted(values[place]);
        let view = self.foresee(indices, scaled, 0, &mut hands.desk);
        let opinion = self.opine_plainly(&view, witnesses);
        let round = Round::on(&self.loss, T::prediction(&opinion), example);
        self.admit(x, &mut hands.scaled);
        self.learn_anew(example, opinion, witnesses, hands);
        round
    }

    /// x̃ of a row that is being learned from. Says whether that is all: whether nothing is new.
    #[inline(always)]
    fn scale_row(&mut self, x: &Features<'_>, scaled: &mut Vec<f32>) -> bool {
        scaled.resize(x.len(), 0.0);
        let mut is_plain = true;
        for ((&index, &value), scaled) in x.indices().iter().zip(x.values()).zip(scaled) {
            self.lanes.fetch(index);
            self.witnesses.fetch(index);
            let (value, plain) = self.scales[index as usize].count_scaled(value);
            *scaled = value;
            is_plain &= plain;
        }
        is_plain
    }

    /// What lanes and filters see.
    #[inline(always)]
    fn see(&self, indices: &[u32], scaled: impl Fn(usize) -> f32 + Copy, desk: &mut Desk) -> View {
        let lanes = self.lanes.see(indices, scaled);
        let mut filters = [Glance::default(); FILTERS];
        if self.filters.len() > 0 {
            self.filters.lay_out(indices, scaled, desk);
            filters = self.filters.see(desk);
        }
        self.view(lanes, filters)
    }

    /// What they will see when what is new has been admitted. Features that were not seen, and so
    /// many others, weigh nothing, and add their prior variance.
    #[inline(always)]
    fn foresee(
        &self,
        indices: &[u32],
        scaled: impl Fn(usize) -> Scaled + Copy,
        others: usize,
        desk: &mut Desk,
    ) -> View {
        let value = |place| scaled(place).value;
        let lanes = self.lanes.see(indices, value);
        let mut filters = [Glance::default(); FILTERS];
        if self.filters.len() > 0 {
            self.filters.lay_out(indices, value, desk);
            let grows = (0..indices.len()).any(|place| scaled(place).growth > 1.0);
            filters = if grows {
                self.filters.foresee_growth(indices, scaled, desk)
            } else {
                self.filters.see(desk)
            };
        }
        let mut view = self.view(lanes, filters);
        let is_new = |&&index: &&u32| self.scales[index as usize].is_new();
        let unseen = others + indices.iter().filter(is_new).count();
        if unseen > 0 {
            view.lanes.variance = view.lanes.variance + self.lanes.doubt(unseen as f32);
            self.filters.doubt(unseen as f32, &mut view.filters);
        }
        view
    }

    #[inline(always)]
    fn view(&self, mut lanes: Seen, filters: [Glance; FILTERS]) -> View {
        let (_, reach) = self.reach_with(lanes.norm_sq);
        let gain = GAIN * self.top.spread() / reach.max(1e-30);
        lanes.mean.0[0] = (f64::from(lanes.mean.0[0]) * gain) as f32;
        View { lanes, filters, alive: self.filters.len() }
    }

    /// Σ‖x̃‖² and R with one more row.
    #[inline(always)]
    fn reach_with(&self, norm_sq: f32) -> (f64, f64) {
        let norms_sq = self.norms_sq + f64::from(norm_sq);
        let mean = norms_sq / (self.rounds + 1) as f64;
        (norms_sq, if mean > self.reach * self.reach { mean.sqrt() } else { self.reach })
    }

    /// Takes in what is new in a row that was counted.
    #[cold]
    #[inline(never)]
    fn admit(&mut self, x: &Features<'_>, scaled: &mut [f32]) {
        for ((&index, &value), scaled) in x.indices().iter().zip(x.values()).zip(scaled) {
            let cell = index as usize;
            if self.scales[cell].is_new() && value != 0.0 && self.filters.admit(cell) {
                self.top.retire(self.filters.len());
            }
            let admitted = self.scales[cell].admit(value);
            *scaled = admitted.value;
            if admitted.growth > 1.0 {
                self.filters.stretch(cell, admitted.growth);
            }
        }
    }

    /// The rest of a round whose features have just been admitted, or whose label is far beyond all
    /// before: all is seen once more, in units that are large enough.
    #[cold]
    #[inline(never)]
    fn learn_anew(
        &mut self,
        example: &Example<'_>,
        mut opinion: T::Opinion,
        witnesses: &EachWitness,
        hands: &mut Hands,
    ) {
        let mut factor = self.top.stretch_for(example.label);
        let is_stretched = factor != 1.0;
        while factor != 1.0 {
            self.lanes.stretch(factor);
            self.filters.stretch_all(factor);
            self.top.stretch(factor);
            factor = self.top.stretch_for(example.label);
        }
        let scaled = &hands.scaled[..];
        let view = self.see(example.features.indices(), |place| scaled[place], &mut hands.desk);
        if is_stretched {
            opinion = self.opine_plainly(&view, witnesses);
        }
        self.learn_seen(example, &opinion, view, witnesses, hands);
    }

    /// The rest of the round.
    #[inline(always)]
    fn learn_seen(
        &mut self,
        example: &Example<'_>,
        opinion: &T::Opinion,
        view: View,
        witnesses: &EachWitness,
        hands: &mut Hands,
    ) {
        let importance = example.importance.get();
        (self.norms_sq, self.reach) = self.reach_with(view.lanes.norm_sq);
        self.rounds += 1;
        self.importance += importance;
        let label = Label { value: example.label, importance, round: self.rounds as f64 };
        let lessons = self.top.learn(opinion, &view, witnesses, &label);
        self.lanes.learn(example.features.indices(), &hands.scaled, &lessons.lanes);
        if self.filters.len() > 0 {
            let (slopes, curvatures) = (lessons.slopes, lessons.curvatures);
            self.filters.learn(slopes, curvatures, &view.filters, &hands.desk);
        }
    }

    #[inline(never)]
    fn opine_plainly(&self, view: &View, witnesses: &EachWitness) -> T::Opinion {
        self.top.opine(view, witnesses)
    }

    /// What would be predicted next, and what it is made of. Changes nothing.
    #[inline(never)]
    fn opinion_on(&self, x: &Features<'_>, unseen: usize) -> (T::Opinion, View) {
        let (indices, values) = (x.indices(), x.values());
        let scaled = |place: usize| self.scales[indices[place] as usize].scaled(values[place]);
        let view = self.foresee(indices, scaled, unseen, &mut Desk::default());
        let witnesses = self.witnesses.predict(x);
        (self.opine_plainly(&view, &witnesses), view)
    }

    /// The weights of the mixture of lanes and filters, in the data's own units.
    pub(super) fn weights(&self) -> Vec<f64> {
        let mixing = self.top.mixing_weights();
        let gain = GAIN * self.top.spread() / self.reach.max(1e-30);
        let weight = |(cell, scale): (usize, &Scale)| {
            let said = self.said_by_unit(cell, gain);
            let mixed: f64 = said.iter().zip(mixing).map(|(said, mixing)| said * mixing).sum();
            mixed * f64::from(scale.inverse())
        };
        self.scales.iter().enumerate().map(weight).collect()
    }

    /// What each feature adds to the prediction, and last what is left.
    pub(super) fn contributions(&self, x: &Features<'_>) -> Vec<f64> {
        let known = x.below(self.scales.len());
        let (opinion, view) = self.opinion_on(&known, x.len() - known.len());
        let witnesses = self.witnesses.predict(&known);
        let sensitivities = sensitivities(&self.top, &view, &witnesses);
        let (_, reach) = self.reach_with(view.lanes.norm_sq);
        let gain = GAIN * self.top.spread() / reach.max(1e-30);
        let added = |(&index, &value): (&u32, &f32)| {
            let Some(scale) = self.scales.get(index as usize) else { return 0.0 };
            let x = f64::from(scale.scaled(value).value);
            let said = self.said_by_unit(index as usize, gain);
            said.iter().zip(sensitivities).map(|(said, sensitivity)| said * sensitivity * x).sum()
        };
        let mut all: Vec<f64> = x.indices().iter().zip(x.values()).map(added).collect();
        let rest = T::prediction(&opinion) - all.iter().sum::<f64>();
        all.push(rest);
        all
    }

    /// What lanes and filters say of x̃_i = 1, where this is the gain of the first lane.
    fn said_by_unit(&self, cell: usize, gain: f64) -> [f64; MIXED] {
        let (lanes, filters) = (self.lanes.weights(cell), self.filters.weights(cell));
        std::array::from_fn(|k| match k {
            0 => gain * f64::from(lanes.0[0]),
            _ if k < LANES => lanes.0[k].into(),
            _ => filters[k - LANES].into(),
        })
    }

    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    pub(super) fn experts(&self) -> Vec<Expert> {
        self.top.experts(if self.rounds == 0 { 1.0 } else { self.importance })
    }

    pub(super) fn mixing_cost(&self) -> f64 {
        self.top.mixing_cost(self.rounds as f64)
    }

    /// What the witnesses prove about all rounds so far.
    pub(super) fn witness_minorants(&self) -> Vec<Minorant> {
        self.witnesses.minorants().collect()
    }

    /// R_T(u) ≤ U_j(2√E_j + G) + what mixing cost over witness j, for the best j whose ball holds u.
    pub(super) fn promise_within(&self, radius: f64) -> Promise {
        let reaching = (0..WITNESSES).filter(|&j| RADII[j] >= radius);
        let promises: Vec<Promise> = reaching.map(|j| self.promise_of(j)).collect();
        let best = |of: fn(&Promise) -> &Result<Bound, NoBound>| {
            let smaller = |a: Result<Bound, NoBound>, b: &Result<Bound, NoBound>| match (&a, b) {
                (Ok(one), Ok(other)) if other.total < one.total => b.clone(),
                _ => a,
            };
            let reach = RADII[WITNESSES - 1];
            promises
                .iter()
                .map(of)
                .fold(None, |best, next| {
                    Some(best.map_or_else(|| next.clone(), |best| smaller(best, next)))
                })
                .unwrap_or_else(|| {
                    NoBound::because(format!("the bank's theorem reaches to U = {reach} only"))
                })
        };
        Promise { data: best(|promise| &promise.data), theorem: best(|promise| &promise.theorem) }
    }

    /// The same by one witness.
    fn promise_of(&self, witness: usize) -> Promise {
        let Some(own) = self.witnesses.promise(witness) else {
            return Promise::none(
                "a label was larger than all before it, and the theorem holds where the largest \
                 label comes first",
            );
        };
        let cost = self.top.cost_over_witness(witness, self.rounds as f64);
        let name = format!("the witness of U = {}", RADII[witness]);
        let proof = T::PROOF;
        let bound = |formula: &str, regret: f64, cost: f64| {
            let total = regret + cost;
            if total.is_finite() {
                Ok(Bound::new(total, format!("{name}: {formula}, {proof}")))
            } else {
                NoBound::because("its numbers are beyond what doubles hold")
            }
        };
        Promise {
            data: bound("U·Y(Σ‖g‖²/D + G)", own.data, cost.data),
            theorem: bound("U·Y(2√Σ‖g‖² + G)", own.theorem, cost.theorem),
        }
    }

    /// Whether this can be a later state of a fresh one.
    pub(super) fn continues(&self, fresh: &Self) -> bool
    where
        L: PartialEq,
    {
        let cells = self.scales.len();
        self.loss == fresh.loss
            && self.lanes.len() == cells
            && self.witnesses.minorant(0).slopes().len() == cells
            && self.witnesses.continues(&fresh.witnesses)
            && self.witnesses.rounds() == self.rounds
            && self.scales.iter().all(Scale::is_sound)
            && self.lanes.is_sound()
            && self.filters.continues(&fresh.filters, cells)
            && self.top.is_sound(self.filters.len())
            && [self.importance, self.norms_sq, self.reach]
                .iter()
                .all(|x| x.is_finite() && *x >= 0.0)
    }
}

struct LearnRows<'a, 'b, L, T> {
    stack: &'a mut Stack<L, T>,
    rows: Rows<'b>,
    rounds: &'a mut Vec<Round>,
}

impl<L: Loss, T: Top> Kernel for LearnRows<'_, '_, L, T> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { stack, rows, rounds } = self;
        rounds.clear();
        rounds.reserve(rows.len());
        let mut hands = stack.lend();
        for row in 0..rows.len() {
            let example = rows.get(row);
            rounds.push(if example.importance.is_zero() {
                stack.idle_round(&example)
            } else {
                stack.learn_row(&example, &mut hands)
            });
        }
        stack.take_back(hands);
    }
}

impl<L: Loss, T: Top> LearnRows<'_, '_, L, T> {
    /// The same without wide registers.
    fn run_plainly(self) {
        let Self { stack, rows, rounds } = self;
        rounds.clear();
        let mut hands = stack.lend();
        rounds.extend(rows.iter().map(|example| {
            if example.importance.is_zero() {
                stack.idle_round(&example)
            } else {
                stack.learn_plainly(&example, &mut hands)
            }
        }));
        stack.take_back(hands);
    }
}

impl<L: Loss, T: Top> Stack<L, T> {
    #[cold]
    #[inline(never)]
    fn idle_round(&self, example: &Example<'_>) -> Round {
        Round::idle(self.predict(&example.features, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::Log;
    use super::super::pinball::Pinball;
    use super::super::square::SquareTop;
    use super::*;
    use crate::batch::Batch;
    use crate::loss::{Absolute, Logistic, Square};

    /// Rows of few features out of many: filters retire on the way, and units grow.
    fn stream(rows: u32, dimension: u32) -> Batch {
        let mut batch = Batch::default();
        for t in 0..rows {
            let indices: Vec<u32> =
                (0..dimension).filter(|i| (t * (i + 7) + i * i) % 5 < 2).collect();
            let value = |i: &u32| ((t * 31 + i * 17) % 101) as f32 / 10.0 - 4.95;
            let values: Vec<f32> = indices.iter().map(value).collect();
            let label = if (t * t + t / 3) % 7 < 3 { 1.0 } else { -1.0 };
            batch.push(&indices, &values, label).unwrap();
        }
        batch
    }

    /// The same stream with wide registers and without: the same rounds, and the same state to the
    /// bit, as bytes show it.
    fn wide_is_plain<L, T>(fresh: &Stack<L, T>)
    where
        L: Loss + PartialEq + std::fmt::Debug + Serialize,
        T: Top,
    {
        for dimension in [3, 30, 100, 300] {
            let batch = stream(150, dimension);
            let (mut wide, mut plain) = (fresh.clone(), fresh.clone());
            let (mut with, mut without) = (Vec::new(), Vec::new());
            wide.grow(dimension as usize);
            plain.grow(dimension as usize);
            wide.learn_rows(batch.rows(), &mut with);
            LearnRows { stack: &mut plain, rows: batch.rows(), rounds: &mut without }.run_plainly();
            assert_eq!(with, without, "{dimension} features");
            assert_eq!(
                serde_json::to_string(&wide).unwrap(),
                serde_json::to_string(&plain).unwrap()
            );
            for example in batch.iter() {
                let x = &example.features;
                let alone = plain.predict(x, 2);
                assert_eq!(wide.predict(x, 2).to_bits(), alone.to_bits());
            }
        }
    }

    #[test]
    fn wide_registers_change_no_bit() {
        wide_is_plain(&Stack::new(Logistic {}, Log::new()));
        wide_is_plain(&Stack::new(Square {}, SquareTop::new()));
        wide_is_plain(&Stack::new(Absolute {}, Pinball::new(0.5, 2.0)));
    }
}
