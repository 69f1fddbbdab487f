//! One bank, for one loss: scales, lanes, filters, and the top that mixes them.
//!
//! A round goes from the bottom to the top and back. The prediction is a function of the state and
//! the features ([`Stack::predict`]). Learning begins from the same view, unless the row contains
//! something new: a feature that is seen for the first time, or a value that is larger than all
//! before. While there are filters, such rows are rare. They are predicted first, then admitted,
//! and then seen again. Without filters, what is new is admitted while the row is seen.

mod merged;

use super::eight::Eight;
use super::experts::{EachWitness, Expert, RADII};
use super::explain::sensitivities;

use super::filters::{Desk, Filters, Glances};
use super::gauge::Gauge;
use super::lanes::{Cell, LANES, Lanes, Seen};
use super::merge::OF_PARTS;
use super::mixer::MIXED;
use super::scale::{Scale, Scaled};
use super::sweep::{Ahead, Lengthen, Measure, Meet, Note, See, Sight, Teach};
use super::top::{self, Label, Lessons, Top, View, opinion};
use crate::bound::{Bound, NoBound, Promise};
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::features::{Example, Features};
use crate::ledger::{Minorant, Testimony};
use crate::loss::Loss;
use crate::round::Round;
use crate::rows::{Row, Rows};
use crate::witness::{Foreseen, Slopes, WITNESSES, Witnesses};
use rueful_machine::{
    Eights as _, Here, Kernel, Numbers as _, Plain, Plainly, Registers, Runner, Widest,
};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The first lane's weights are 4·(unit of labels)·θi/R.
const GAIN: f64 = 4.0;
/// Room for rows of so many features is made beforehand. Longer rows make room when they come.
const LONGEST_ROW: usize = 1 << 12;

/// A bank in the loss L.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored<L, T>", try_from = "Stored<L, T>")]
#[serde(bound(
    serialize = "L: Loss + Serialize, T: Top",
    deserialize = "L: Loss + Deserialize<'de>, T: Top"
))]
pub(super) struct Stack<L, T> {
    loss: L,
    top: T,
    lanes: Lanes,
    filters: Filters,
    /// The witnesses, which keep the units of all features.
    witnesses: Witnesses<L, Gauge>,
    rounds: u64,
    importance: f64,
    /// Σ‖x̃‖², and below R: the largest root of its mean so far.
    norms_sq: f64,
    reach: f64,
    scratch: Scratch,
}

/// The stored form of a bank.
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "L: Loss + Serialize, T: Top",
    deserialize = "L: Loss + Deserialize<'de>, T: Top"
))]
struct Stored<L, T> {
    loss: L,
    top: T,
    scales: Vec<Scale>,
    lanes: Lanes,
    filters: Filters,
    witnesses: Witnesses<L, Gauge>,
    rounds: u64,
    importance: f64,
    norms_sq: f64,
    reach: f64,
}

impl<L: Loss, T> From<Stack<L, T>> for Stored<L, T> {
    fn from(stack: Stack<L, T>) -> Self {
        let Stack { loss, top, lanes, filters, witnesses, rounds, importance, .. } = stack;
        let (norms_sq, reach) = (stack.norms_sq, stack.reach);
        let scales = witnesses.measures().iter().map(|gauge| gauge.scale).collect();
        Self { loss, top, scales, lanes, filters, witnesses, rounds, importance, norms_sq, reach }
    }
}

impl<L: Loss, T> TryFrom<Stored<L, T>> for Stack<L, T> {
    type Error = &'static str;

    fn try_from(stored: Stored<L, T>) -> Result<Self, Self::Error> {
        let Stored { loss, top, scales, lanes, filters, mut witnesses, .. } = stored;
        let gauges = witnesses.cells_mut().0;
        if gauges.len() != scales.len() {
            return Err("lanes and witnesses have units for different numbers of features");
        }
        gauges.iter_mut().zip(scales).for_each(|(gauge, scale)| gauge.scale = scale);
        let Stored { rounds, importance, norms_sq, reach, .. } = stored;
        let scratch = Scratch::default();
        Ok(Self {
            loss,
            top,
            lanes,
            filters,
            witnesses,
            rounds,
            importance,
            norms_sq,
            reach,
            scratch,
        })
    }
}

/// A buffer for the row that is being learned from. Nothing in it outlives the row.
#[derive(Debug, Clone, Default)]
struct Scratch {
    /// x̃ of the row, and below the places with new or larger values if there are filters. If there
    /// are none, only the places of features never seen before, in `news`.
    scaled: Vec<f32>,
    odd: Vec<u32>,
    news: Vec<u32>,
    /// `None` before there are features, and while it is in use.
    desk: Option<Box<Desk>>,
    /// For the round of an example that comes alone.
    rounds: Vec<Round>,
}

/// The buffers while rows are learned from.
struct Hands<'a> {
    scaled: Vec<f32>,
    odd: Vec<u32>,
    news: Vec<u32>,
    desk: Box<Desk>,
    /// The features of the next row, if it is worth while to fetch them early.
    ahead: &'a [u32],
}

impl Hands<'_> {
    /// Makes room for a row.
    #[inline(always)]
    fn fit(&mut self, len: usize) {
        self.scaled.resize(len, 0.0);
        self.odd.clear();
        self.news.clear();
    }
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
        if dimension <= self.dimension() {
            return;
        }
        self.lanes.grow(dimension);
        self.filters.grow(dimension);
        self.witnesses.grow(dimension);
        let longest = dimension.min(LONGEST_ROW);
        self.scratch.desk.get_or_insert_default();
        self.scratch.rounds.reserve(1);
        self.scratch.scaled.reserve(longest);
        self.scratch.odd.reserve(longest);
        self.scratch.news.reserve(longest);
    }

    fn dimension(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        self.lanes.rearrange(from);
        self.filters.rearrange(from);
        self.witnesses.rearrange(from);
    }

    /// Plays a round for every row, with wide registers if the processor has them.
    pub(super) fn learn_rows(&mut self, rows: Rows<'_>, rounds: &mut Vec<Round>) {
        self.learn_rows_by::<Widest>(rows, rounds);
    }

    fn learn_rows_by<W: Runner>(&mut self, rows: Rows<'_>, rounds: &mut Vec<Round>) {
        rounds.clear();
        rounds.reserve(rows.len());
        let mut hands = self.lend();
        let shared = PhantomData::<W>;
        W::run(Play { stack: self, rows, rounds, hands: &mut hands, shared });
        self.take_back(hands);
    }

    /// The features of a row that is learned from next. As long as there are filters, features are
    /// few, and all that is kept for them is near the processor anyway.
    #[inline(always)]
    fn ahead<'a>(&self, rows: Rows<'a>, row: usize) -> &'a [u32] {
        if self.filters.len() > 0 || row >= rows.len() {
            &[]
        } else {
            rows.get(row).features.indices()
        }
    }

    #[cold]
    #[inline(never)]
    fn idle_round(&self, example: &Example<'_>) -> Round {
        Round::idle(self.predict(&example.features, 0))
    }

    pub(super) fn learn(&mut self, example: &Example<'_>) -> Round {
        let mut rounds = std::mem::take(&mut self.scratch.rounds);
        self.learn_rows(Row::of(example).rows(), &mut rounds);
        let round = rounds[0];
        self.scratch.rounds = rounds;
        round
    }

    /// Lends out the scratch for some rounds.
    fn lend<'a>(&mut self) -> Hands<'a> {
        let Scratch { scaled, odd, news, desk, rounds } = std::mem::take(&mut self.scratch);
        self.scratch.rounds = rounds;
        Hands { scaled, odd, news, desk: desk.unwrap_or_default(), ahead: &[] }
    }

    fn take_back(&mut self, Hands { scaled, odd, news, desk, .. }: Hands<'_>) {
        let rounds = std::mem::take(&mut self.scratch.rounds);
        self.scratch = Scratch { scaled, odd, news, desk: Some(desk), rounds };
    }

    pub(super) fn predict(&self, x: &Features<'_>, unseen: usize) -> f64 {
        let known = x.below(self.dimension());
        let unseen = unseen + x.len() - known.len();
        T::prediction(&self.opinion_on(&known, unseen).0)
    }

    /// Plays a round. Without filters, what is new concerns only the lanes: their weights stay the same
    /// when a unit grows. `H` runs what is compiled into this for each loss, and `W` what all losses share.
    #[inline(always)]
    fn learn_row<W: Runner, H: Runner>(
        &mut self,
        example: &Example<'_>,
        hands: &mut Hands<'_>,
    ) -> Round {
        hands.fit(example.features.len());
        let sight = if self.filters.len() == 0 {
            let (gauges, slopes, shrinking) = self.witnesses.growing();
            let meet = Lengthen { news: &mut hands.news, shrinking };
            let cells = (gauges, &*slopes, self.lanes.cells());
            measure::<W, _>(example, cells, &mut hands.scaled, meet)
        } else {
            let (gauges, slopes) = self.witnesses.cells_mut();
            let meet = Note(&mut hands.odd);
            let cells = (gauges, &*slopes, self.lanes.cells());
            measure::<W, _>(example, cells, &mut hands.scaled, meet)
        };
        if !hands.news.is_empty() {
            return self.learn_news::<W>(example, sight, hands);
        }
        if !hands.odd.is_empty() {
            return self.learn_novel::<W>(example, hands);
        }
        let indices = example.features.indices();
        let filters = self.see_by_filters::<W>(indices, &hands.scaled, &mut hands.desk);
        let view = self.view::<H>(&sight.lanes, filters);
        let opinion = self.opine::<H>(&view, &sight.witnesses, example);
        self.learn_said::<W, H>(example, &opinion, &view, hands)
    }

    /// Sees a row that was measured.
    fn see<W: Runner>(&mut self, x: &Features<'_>, scaled: &[f32]) -> Sight {
        let (gauges, slopes) = self.witnesses.cells_mut();
        let (indices, values) = (x.indices(), x.values());
        W::run(See { gauges, slopes, cells: self.lanes.cells(), indices, values, scaled })
    }

    /// The filters' view of a row, if there are filters.
    fn see_by_filters<W: Runner>(
        &self,
        indices: &[u32],
        scaled: &[f32],
        desk: &mut Desk,
    ) -> Glances {
        if self.filters.len() == 0 {
            return Glances::default();
        }
        self.filters.lay_out_row::<W>(indices, scaled, desk);
        self.filters.see::<W>(desk)
    }

    /// Lets witnesses and top predict. The witnesses face the label at once, and nothing that the top
    /// can see.
    #[inline(always)]
    fn opine<H: Runner>(
        &mut self,
        view: &View,
        foreseen: &Foreseen,
        example: &Example<'_>,
    ) -> T::Opinion {
        let Self { top, witnesses, .. } = self;
        H::run(Opine { top, witnesses, view, foreseen, example })
    }

    fn round(&self, example: &Example<'_>, opinion: &T::Opinion) -> Round {
        Round::on(&self.loss, T::prediction(opinion), example)
    }

    /// Lets the units of the witnesses grow before they predict, except for new features.
    fn lengthen(&mut self, x: &Features<'_>, odd: &[u32]) {
        for &place in odd {
            let place = place as usize;
            self.witnesses.lengthen_one(x.indices()[place] as usize, x.values()[place]);
        }
    }

    /// The unit of a feature.
    fn scale(&self, cell: usize) -> &Scale {
        &self.witnesses.measures()[cell].scale
    }

    fn scale_mut(&mut self, cell: usize) -> &mut Scale {
        &mut self.witnesses.cells_mut().0[cell].scale
    }

    /// A round without filters that has new features. They concern only the lanes, to whose variance
    /// they add. So the row is seen once.
    #[inline(never)]
    fn learn_news<W: Runner>(
        &mut self,
        example: &Example<'_>,
        mut sight: Sight,
        hands: &mut Hands<'_>,
    ) -> Round {
        let x = &example.features;
        let seen = self.view::<W>(&sight.lanes, Glances::default());
        let mut view = seen;
        view.lanes.add_doubt(hands.news.len() as f32);
        sight.witnesses.new_sq = self.begin(x, &hands.news);
        let norm_sq = self.admit_news(x, hands);
        let opinion = self.opine::<W>(&view, &sight.witnesses, example);
        view = seen;
        view.lanes.add_doubt(norm_sq);
        view.lanes.norm_sq += norm_sq;
        self.learn_said::<W, W>(example, &opinion, &view, hands)
    }

    /// Takes in the new features, and returns Σx̃² over them.
    fn admit_news(&mut self, x: &Features<'_>, hands: &mut Hands<'_>) -> f32 {
        let mut norm_sq = 0.0;
        for &place in &hands.news {
            let place = place as usize;
            let (cell, value) = (x.indices()[place] as usize, x.values()[place]);
            let scaled = self.scale_mut(cell).admit(value).value;
            hands.scaled[place] = scaled;
            norm_sq += scaled * scaled;
        }
        norm_sq
    }

    /// A round with something new that concerns the filters: the row is predicted without it,
    /// admitted, and seen again.
    #[cold]
    #[inline(never)]
    fn learn_novel<W: Runner>(&mut self, example: &Example<'_>, hands: &mut Hands<'_>) -> Round {
        let x = &example.features;
        self.lengthen(x, &hands.odd);
        let (indices, values) = (x.indices(), x.values());
        let scaled =
            |place: usize| self.scale(indices[place] as usize).scaled_once_counted(values[place]);
        let view = self.foresee(indices, scaled, 0, &mut hands.desk);
        let mut foreseen = self.see::<W>(x, &hands.scaled).witnesses;
        foreseen.new_sq = self.begin(x, &hands.odd);
        let opinion = self.opine::<W>(&view, &foreseen, example);
        self.admit(x, hands);
        self.learn_anew::<W>(example, opinion, hands);
        self.round(example, &opinion)
    }

    /// The view of lanes and filters after the new features and values are admitted. Unseen
    /// features, here and `others` elsewhere, have weight 0 and add their prior variance.
    fn foresee(
        &self,
        indices: &[u32],
        scaled: impl Fn(usize) -> Scaled + Copy,
        others: usize,
        desk: &mut Desk,
    ) -> View {
        let value = |place| scaled(place).value;
        let lanes = self.lanes.see::<<Plain as Registers>::Eight>(indices, value);
        let mut filters = Glances::default();
        if self.filters.len() > 0 {
            self.filters.lay_out(indices, value, desk);
            let grows = (0..indices.len()).any(|place| scaled(place).growth > 1.0);
            filters = if grows {
                self.filters.foresee_growth(indices, &scaled, desk)
            } else {
                self.filters.see::<Widest>(desk)
            };
        }
        let mut view = self.view::<Plainly>(&lanes, filters);
        let is_new = |&&index: &&u32| self.scale(index as usize).is_new();
        let unseen = others + indices.iter().filter(is_new).count();
        if unseen > 0 {
            view.lanes.add_doubt(unseen as f32);
            self.filters.doubt(unseen as f32, &mut view.filters);
        }
        view
    }

    #[inline(always)]
    fn view<H: Runner>(&self, lanes: &Seen, filters: Glances) -> View {
        let (_, reach) = self.reach_with(lanes.norm_sq);
        let gain = GAIN * self.top.spread() / reach.max(1e-30);
        View { lanes: H::run(Gain { lanes, gain }), filters, alive: self.filters.len() }
    }

    /// Σ‖x̃‖² and R, with one more row.
    #[inline(always)]
    fn reach_with(&self, norm_sq: f32) -> (f64, f64) {
        let norms_sq = self.norms_sq + f64::from(norm_sq);
        let mean = norms_sq / (self.rounds + 1) as f64;
        (norms_sq, if mean > self.reach * self.reach { mean.sqrt() } else { self.reach })
    }

    /// Lets the witnesses take in the new features, and returns Σ(x/N)² over them.
    fn begin(&mut self, x: &Features<'_>, odd: &[u32]) -> f64 {
        let mut new_sq = 0.0;
        for &place in odd {
            let place = place as usize;
            new_sq += self.witnesses.begin_one(x.indices()[place] as usize, x.values()[place]);
        }
        new_sq
    }

    /// Takes in the new features and values of a row that was counted.
    fn admit(&mut self, x: &Features<'_>, hands: &mut Hands<'_>) {
        for &place in &hands.odd {
            let place = place as usize;
            let (cell, value) = (x.indices()[place] as usize, x.values()[place]);
            if self.scale(cell).is_new() && value != 0.0 && self.filters.admit(cell) {
                self.top.retire(self.filters.len());
            }
            let admitted = self.scale_mut(cell).admit(value);
            hands.scaled[place] = admitted.value;
            if admitted.growth > 1.0 {
                self.filters.stretch(cell, admitted.growth);
            }
        }
    }

    /// The rest of a round, once its prediction is made. What the prediction lost comes last: nothing
    /// here waits for it, and the next row can begin meanwhile.
    #[inline(always)]
    fn learn_said<W: Runner, H: Runner>(
        &mut self,
        example: &Example<'_>,
        opinion: &T::Opinion,
        view: &View,
        hands: &mut Hands<'_>,
    ) -> Round {
        if self.top.stretch_for(example.label) == 1.0 {
            self.learn_seen::<W, H>(example, opinion, view, hands);
        } else {
            self.learn_anew::<W>(example, *opinion, hands);
        }
        self.round(example, opinion)
    }

    /// The rest of a round whose features have just been admitted, or whose label is far larger
    /// than all before: everything is seen once more, in units that are large enough.
    #[cold]
    #[inline(never)]
    fn learn_anew<W: Runner>(
        &mut self,
        example: &Example<'_>,
        mut opinion: T::Opinion,
        hands: &mut Hands<'_>,
    ) {
        let mut factor = self.top.stretch_for(example.label);
        let is_stretched = factor != 1.0;
        while factor != 1.0 {
            self.lanes.stretch(factor);
            self.filters.stretch_all(factor);
            self.top.stretch(factor);
            factor = self.top.stretch_for(example.label);
        }
        let indices = example.features.indices();
        let lanes = self.see::<W>(&example.features, &hands.scaled).lanes;
        let filters = self.see_by_filters::<W>(indices, &hands.scaled, &mut hands.desk);
        let view = self.view::<W>(&lanes, filters);
        if is_stretched {
            opinion = top::opinion::<W, T>(&self.top, &view, self.witnesses.predictions());
        }
        self.learn_seen::<W, W>(example, &opinion, &view, hands);
    }

    /// The last part of a round: everything learns.
    #[inline(always)]
    fn learn_seen<W: Runner, H: Runner>(
        &mut self,
        example: &Example<'_>,
        opinion: &T::Opinion,
        view: &View,
        hands: &mut Hands<'_>,
    ) {
        let importance = example.importance.get();
        (self.norms_sq, self.reach) = self.reach_with(view.lanes.norm_sq);
        self.rounds += 1;
        self.importance += importance;
        let label = Label { value: example.label, importance, round: self.rounds as f64 };
        let Self { top, witnesses, .. } = self;
        let (lessons, slopes) =
            H::run(Learn { top, witnesses, opinion, view, label: &label, example });
        let (gauges, slopes_of_cells) = self.witnesses.cells_mut();
        W::run(Teach {
            cells: self.lanes.cells_mut(),
            slopes: slopes_of_cells,
            indices: example.features.indices(),
            values: example.features.values(),
            scaled: &hands.scaled,
            lesson: &lessons.lanes,
            witnesses: &slopes,
            ahead: Ahead { gauges, indices: hands.ahead },
        });
        if self.filters.len() > 0 {
            let (slopes, curvatures) = (lessons.slopes, lessons.curvatures);
            self.filters.learn::<W>(slopes, curvatures, &view.filters, &hands.desk);
        }
    }

    /// The next prediction for an example, and the view from which it is made. It changes nothing.
    #[inline(never)]
    fn opinion_on(&self, x: &Features<'_>, unseen: usize) -> (T::Opinion, View) {
        let (indices, values) = (x.indices(), x.values());
        let scaled = |place: usize| self.scale(indices[place] as usize).scaled(values[place]);
        let view = self.foresee(indices, scaled, unseen, &mut Desk::default());
        (opinion::<Widest, T>(&self.top, &view, &self.witnesses.predict(x)), view)
    }

    /// The weights of the mixture of lanes and filters, in the data's own units.
    pub(super) fn weights(&self) -> Vec<f64> {
        let mixing = self.top.mixing_weights();
        let gain = GAIN * self.top.spread() / self.reach.max(1e-30);
        let weight = |cell: usize| {
            let said = self.said_by_unit(cell, gain);
            let mixed: f64 = said.iter().zip(mixing).map(|(said, mixing)| said * mixing).sum();
            mixed * f64::from(self.scale(cell).inverse())
        };
        (0..self.dimension()).map(weight).collect()
    }

    /// The contribution of each feature to the prediction, and last the remainder.
    pub(super) fn contributions(&self, x: &Features<'_>) -> Vec<f64> {
        let known = x.below(self.dimension());
        let (opinion, view) = self.opinion_on(&known, x.len() - known.len());
        let witnesses = self.witnesses.predict(&known);
        let sensitivities = sensitivities(&self.top, &view, &witnesses);
        let (_, reach) = self.reach_with(view.lanes.norm_sq);
        let gain = GAIN * self.top.spread() / reach.max(1e-30);
        let added = |(&index, &value): (&u32, &f32)| {
            if index as usize >= self.dimension() {
                return 0.0;
            }
            let x = f64::from(self.scale(index as usize).scaled(value).value);
            let said = self.said_by_unit(index as usize, gain);
            said.iter().zip(sensitivities).map(|(said, sensitivity)| said * sensitivity * x).sum()
        };
        let mut all: Vec<f64> = x.indices().iter().zip(x.values()).map(added).collect();
        let rest = T::prediction(&opinion) - all.iter().sum::<f64>();
        all.push(rest);
        all
    }

    /// The predictions of lanes and filters for x̃_i = 1, where `gain` is the gain of the first
    /// lane.
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

    /// A proved bound on the cost of mixing. There is none for a bank that was merged.
    pub(super) fn mixing_cost(&self) -> Option<f64> {
        let is_proved = !self.witnesses.are_of_parts();
        is_proved.then(|| self.top.mixing_cost(self.rounds as f64))
    }

    /// The lower bounds of the witnesses for the comparators.
    pub(super) fn testify(
        &self,
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
    ) -> Vec<Testimony> {
        self.witnesses.testify(comparators, coordinates)
    }

    /// The minorants of the witnesses over all rounds so far.
    pub(super) fn witness_minorants(&self) -> impl Iterator<Item = Minorant> {
        self.witnesses.minorants()
    }

    /// R_T(u) ≤ U_j(2√E_j + G) + the cost of mixing over witness j, for the best j whose ball
    /// contains u.
    pub(super) fn promise_within(&self, radius: f64) -> Promise {
        if self.witnesses.are_of_parts() {
            return Promise::none(OF_PARTS);
        }
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

    /// `promise_within` for one witness.
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

    /// Whether this can be a later state of a fresh bank.
    pub(super) fn continues(&self, fresh: &Self) -> bool
    where
        L: PartialEq,
    {
        let (cells, gauges) = (self.dimension(), self.witnesses.measures());
        self.loss == fresh.loss
            && gauges.len() == cells
            && self.witnesses.dimension() == cells
            && self.witnesses.continues(&fresh.witnesses)
            && self.witnesses.rounds() == self.rounds
            && gauges.iter().all(|gauge| gauge.scale.is_sound())
            && self.lanes.is_sound()
            && self.filters.continues(&fresh.filters, cells)
            && self.top.is_sound(self.filters.len())
            && [self.importance, self.norms_sq, self.reach]
                .iter()
                .all(|x| x.is_finite() && *x >= 0.0)
    }
}

/// Measures a row with the gauges, slopes and cells of all features, and sees it.
fn measure<W: Runner, M: Meet>(
    example: &Example<'_>,
    (gauges, slopes, cells): (&mut [Gauge], &[Slopes], &[Cell]),
    scaled: &mut [f32],
    meet: M,
) -> Sight {
    let (indices, values) = (example.features.indices(), example.features.values());
    W::run(Measure { gauges, cells, slopes, indices, values, scaled, meet })
}

/// Plays a round for every row.
struct Play<'a, 'b, L, T, W> {
    stack: &'a mut Stack<L, T>,
    rows: Rows<'b>,
    rounds: &'a mut Vec<Round>,
    hands: &'a mut Hands<'b>,
    shared: PhantomData<W>,
}

impl<L: Loss, T: Top, W: Runner> Kernel for Play<'_, '_, L, T, W> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { stack, rows, rounds, hands, .. } = self;
        for row in 0..rows.len() {
            let example = rows.get(row);
            hands.ahead = stack.ahead(rows, row + 1);
            rounds.push(if example.importance.is_zero() {
                stack.idle_round(&example)
            } else {
                stack.learn_row::<W, Here<R>>(&example, hands)
            });
        }
    }
}

/// Multiplies the first lane by its gain.
struct Gain<'a> {
    lanes: &'a Seen,
    gain: f64,
}

impl Kernel for Gain<'_> {
    type Out = Seen;

    #[inline(always)]
    fn run<R: Registers>(self) -> Seen {
        let Seen { mean, variance, norm_sq } = *self.lanes;
        let first = (f64::from(mean.0[0]) * self.gain) as f32;
        let mean = mean.load::<R::Eight>().with_first(R::Eight::all(first));
        Seen { mean: Eight::of_register(mean), variance, norm_sq }
    }
}

/// Lets witnesses and top predict.
struct Opine<'a, L, T> {
    top: &'a T,
    witnesses: &'a mut Witnesses<L, Gauge>,
    view: &'a View,
    foreseen: &'a Foreseen,
    example: &'a Example<'a>,
}

impl<L: Loss, T: Top> Kernel for Opine<'_, L, T> {
    type Out = T::Opinion;

    #[inline(always)]
    fn run<R: Registers>(self) -> T::Opinion {
        let Self { top, witnesses, view, foreseen, example } = self;
        witnesses.prepare::<R::Four>(foreseen);
        witnesses.face::<R::Four>(example);
        let said = *witnesses.predictions();
        top.opine::<R>(view, &said, Step { witnesses, example })
    }
}

/// The second part of what the witnesses do with a label.
struct Step<'a, L> {
    witnesses: &'a mut Witnesses<L, Gauge>,
    example: &'a Example<'a>,
}

impl<L: Loss> Kernel for Step<'_, L> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        self.witnesses.step::<R::Four>(self.example);
    }
}

/// The last part of it. Returns the slopes.
struct Record<'a, L> {
    witnesses: &'a mut Witnesses<L, Gauge>,
    example: &'a Example<'a>,
}

impl<L: Loss> Kernel for Record<'_, L> {
    type Out = EachWitness;

    #[inline(always)]
    fn run<R: Registers>(self) -> EachWitness {
        self.witnesses.record::<R::Four>(self.example)
    }
}

/// Lets top and witnesses learn from a label. Returns the lessons for lanes and filters, and the
/// slopes of the witnesses.
struct Learn<'a, L, T: Top> {
    top: &'a mut T,
    witnesses: &'a mut Witnesses<L, Gauge>,
    opinion: &'a T::Opinion,
    view: &'a View,
    label: &'a Label,
    example: &'a Example<'a>,
}

impl<L: Loss, T: Top> Kernel for Learn<'_, L, T> {
    type Out = (Lessons, EachWitness);

    #[inline(always)]
    fn run<R: Registers>(self) -> Self::Out {
        let Self { top, witnesses, opinion, view, label, example } = self;
        let said = *witnesses.predictions();
        top.learn::<R, _>(opinion, view, &said, label, Record { witnesses, example })
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
    use rueful_machine::Plainly;

    /// Rows of few features out of many. Filters retire on the way, and units grow.
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

    /// Runs the same stream with wide registers and without. The rounds, and the state as bytes,
    /// must be the same to the bit.
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
            plain.learn_rows_by::<Plainly>(batch.rows(), &mut without);
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
