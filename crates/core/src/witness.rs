//! Witnesses: predictors that price the comparators, whoever the model is.
//!
//! The minimax strategy of the linear game made anytime and free of units: dual averaging whose
//! whole state is S = Σ a_s x_s. With N_t including x_t (features are known before the prediction),
//! E = Σ a_s²‖x_s/N_s‖² and G_t = (Lipschitz constant)·max_{s≤t} ‖x_s/N_s‖,
//!
//! ```text
//! p_t = −U·Y·⟨S/N_t, x_t/N_t⟩ / D_t,    D_t² = ‖S/N_t‖² + E + G_t²
//! ```
//!
//! **Theorem**, for classes, and for numbers if no label raises Y once S is not 0: for every u with
//! ‖N_T u‖ ≤ U·Y, however the N_i grew,
//!
//! ```text
//! R_T(u) ≤ U·Y·(Σ a_t²‖x_t/N_t‖²/D_t + G_T) ≤ U·Y·(2√E_T + G_T)
//! ```
//!
//! Proof. Let Φ_t = UY√(‖S_t/N_t‖² + E_t + G_t²). ‖S+g‖² = ‖S‖² + 2S·g + ‖g‖² and the concavity of
//! the root give Φ_t ≤ UY·D_t − a_t p_t + UY·a_t²‖x_t/N_t‖²/D_t; a growing N only lowers D; the growth
//! of G sums to G_T; D_t² is at least the E of the next round, so the last terms sum to 2√E_T; and
//! Φ_T ≥ UY‖S_T/N_T‖. In the data's own units N = 1, and Y = 1 is no part of the ball.
//!
//! An importance multiplies the slope of its round and is not known before the label, as weights of
//! classes are not: G_t is made with the largest importance so far. Where one exceeds that, the
//! theorem pays for what D_t lacked. So it does for features that are seen for the first time: they
//! weigh nothing, in D_t as in S.

use crate::features::{Example, Features};
use crate::ledger::Minorant;
use crate::loss::Loss;
use crate::ruler::Ruler;
use crate::sum::Sum;
use crate::vector;
use rueful_machine::prefetch;
use serde::{Deserialize, Serialize};

/// How many witnesses go side by side.
pub const WITNESSES: usize = 4;

/// A number for each witness.
type Each = [f64; WITNESSES];

/// Witnesses of four radii side by side, and what they prove.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Witnesses<L> {
    loss: L,
    radii: Each,
    /// N and 1/N by cell; nothing in the data's own units.
    units: Option<Units>,
    /// S by cell.
    slopes: Vec<Each>,
    /// max ‖x_s/N_s‖, and the largest importance.
    reach: f64,
    importance: f64,
    sums: Sums,
    /// Whether a label raised Y when S was not 0.
    label_rose: bool,
    /// The round that is being played.
    #[serde(skip)]
    row: Row,
}

/// What is scaled by what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Units {
    ruler: Ruler,
    /// 1/N by cell, rounded; the witnesses see these units, which is for them to choose.
    inverse: Vec<f32>,
}

/// Sums over the rounds, for each witness.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    rounds: u64,
    /// ‖S/N‖² as it is carried along, and E.
    square: Each,
    energy: Each,
    /// Σ a²‖x/N‖²/D.
    paid: Each,
    /// What the theorem pays beyond that: for importances that came late, and for a carried ‖S/N‖²
    /// that was below 0 and lifted to it, by its root.
    excess: Each,
    lifted: Each,
    /// Largest |y|, where labels are numbers.
    label: f64,
    losses: [Sum; WITNESSES],
    /// What a minorant is made of.
    offset: [Sum; WITNESSES],
    magnitude: Each,
    length: Each,
    breadth: Each,
}

/// What `foresee` leaves for `learn`, and what is nothing between rounds.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    predictions: Each,
    /// ⟨S/N, x/N⟩, D and G.
    inner: Each,
    root: Each,
    steepest: Each,
    /// ‖x/N‖²
    square: f64,
    /// Whether D was made without features that are new.
    is_short: bool,
}

impl PartialEq for Row {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// What a witness answers for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WitnessPromise {
    /// U
    pub radius: f64,
    /// Σ of its own losses.
    pub loss: f64,
    /// U·Y·(Σ a²‖x/N‖²/D + G), with what rounding and importances add.
    pub data: f64,
    /// U·Y·(2√E + G), with the same.
    pub theorem: f64,
}

impl<L: Loss> Witnesses<L> {
    /// Witnesses of these radii, in no units or in those of the data.
    pub fn new(loss: L, is_unit_free: bool, radii: Each) -> Self {
        let ruler = Ruler::new(&loss);
        Self {
            loss,
            radii,
            units: is_unit_free.then(|| Units { ruler, inverse: Vec::new() }),
            slopes: Vec::new(),
            reach: 0.0,
            importance: 0.0,
            sums: Sums::default(),
            label_rose: false,
            row: Row::default(),
        }
    }

    /// Makes room for features below `dimension`.
    pub fn grow(&mut self, dimension: usize) {
        if dimension > self.slopes.len() {
            self.slopes.resize(dimension, [0.0; WITNESSES]);
        }
        if let Some(units) = &mut self.units
            && dimension > units.inverse.len()
        {
            units.ruler.grow(dimension);
            units.inverse.resize(dimension, 0.0);
        }
    }

    /// The radii.
    pub fn radii(&self) -> Each {
        self.radii
    }

    /// How many rounds they have played.
    pub fn rounds(&self) -> u64 {
        self.sums.rounds
    }

    /// Asks for the cell of a feature that is going to be seen.
    #[inline(always)]
    pub(crate) fn fetch(&self, index: u32) {
        if let Some(slopes) = self.slopes.get(index as usize) {
            prefetch(slopes);
        }
    }

    /// What each would predict next, for features there is room for. Changes nothing.
    pub fn predict(&self, x: &Features<'_>) -> Each {
        let mut square = self.sums.square;
        let row = match &self.units {
            None => self.dot_raw(x),
            Some(units) => {
                let after = |i: usize, x: f32| units.inverse_after(i, x);
                for (&i, &x) in x.indices().iter().zip(x.values()) {
                    let (i, lifted) = (i as usize, &mut [0.0; WITNESSES]);
                    shrink(&mut square, lifted, &self.slopes[i], units.inverse[i], after(i, x));
                }
                dot(x, &self.slopes, after)
            }
        };
        let reach = self.reach.max(row.1.sqrt());
        self.row(row, &square, reach).predictions
    }

    /// What each predicts for the features of a row that is going to be learned from.
    #[inline(always)] // The loop over rows of a learner is made of it.
    pub fn foresee(&mut self, x: &Features<'_>) -> Each {
        let mut known = None;
        let row = match &mut self.units {
            None => self.dot_raw(x),
            Some(units) => {
                known = units.measure(x, &self.slopes, &mut self.sums);
                dot(x, &self.slopes, |i, _| units.inverse[i])
            }
        };
        let reach = self.reach.max(known.unwrap_or(row.1).sqrt());
        self.reach = self.reach.max(row.1.sqrt());
        self.row = self.row(row, &self.sums.square, reach);
        self.row.is_short = self.reach > reach;
        self.row.predictions
    }

    /// The rest of the round: the label of the row that was foreseen.
    #[inline(always)] // The loop over rows of a learner is made of it.
    pub fn learn(&mut self, example: &Example<'_>) {
        let importance = example.importance.get();
        let rises = example.label.abs() > self.sums.label;
        if rises || importance > self.importance || self.row.is_short {
            self.widen(example.label, importance);
        }
        let sizes = Minorant::lengths_of(&example.features);
        let mut slopes = [0.0; WITNESSES];
        for (witness, slope) in slopes.iter_mut().enumerate() {
            *slope = self.record(witness, example.label, importance, sizes);
        }
        self.sums.rounds += 1;
        if slopes.iter().any(|&slope| slope != 0.0) {
            add(&mut self.slopes, &slopes, &example.features);
        }
    }

    /// Both at once.
    #[inline]
    pub fn observe(&mut self, example: &Example<'_>) {
        self.foresee(&example.features);
        self.learn(example);
    }

    /// ⟨S, x⟩ and ‖x‖², in the data's own units.
    #[inline(always)]
    fn dot_raw(&self, x: &Features<'_>) -> (Each, f64) {
        let mut inner = [0.0; WITNESSES];
        for (&i, &x) in x.indices().iter().zip(x.values()) {
            let slopes = &self.slopes[i as usize];
            for (inner, slope) in inner.iter_mut().zip(slopes) {
                *inner += slope * f64::from(x);
            }
        }
        (inner, x.norm_sq())
    }

    /// Predictions of a row with ⟨S/N, x/N⟩ and ‖x/N‖².
    #[inline(always)]
    fn row(&self, (inner, norm_sq): (Each, f64), square: &Each, reach: f64) -> Row {
        let label = self.label_unit();
        let mut row = Row { inner, square: norm_sq, ..Row::default() };
        for witness in 0..WITNESSES {
            let radius = self.radii[witness] * label;
            let slope = self.steepest_slope(witness, reach);
            let steepest = finite(slope * reach * self.importance);
            let root_sq = square[witness] + self.sums.energy[witness] + steepest * steepest;
            row.steepest[witness] = steepest;
            row.root[witness] = root_sq.sqrt();
            row.predictions[witness] = -finite(radius * (inner[witness] / row.root[witness]));
        }
        row
    }

    /// Y as the ball has it.
    #[inline(always)]
    fn label_unit(&self) -> f64 {
        self.units.as_ref().map_or(1.0, |units| units.ruler.label())
    }

    /// A label or an importance beyond all before, or new features: G was too small for this round,
    /// and with it D.
    /// The theorem pays |a p|(1 − D/D') for that, and with the steepest slope at most this.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, label: f64, importance: f64) {
        self.notice_label(label);
        self.importance = self.importance.max(importance);
        for witness in 0..WITNESSES {
            let slope = self.steepest_slope(witness, self.reach);
            let steepest = finite(slope * self.reach * self.importance);
            let row = &mut self.row;
            let more = (steepest - row.steepest[witness]) * (steepest + row.steepest[witness]);
            let root = (row.root[witness] * row.root[witness] + more.max(0.0)).sqrt();
            let share = if root > 0.0 { 1.0 - row.root[witness] / root } else { 0.0 };
            let most = self.importance * slope * row.predictions[witness].abs();
            self.sums.excess[witness] += finite(most * share.max(0.0)) * (1.0 + 1e-12);
            row.root[witness] = root;
        }
    }

    fn notice_label(&mut self, label: f64) {
        if label.abs() <= self.sums.label {
            return;
        }
        let rises = self.units.as_mut().is_some_and(|units| units.ruler.measure_label(label));
        // The slopes of the square loss grow with labels, and D was made for smaller ones.
        let is_steeper = self.loss.lipschitz().is_none();
        let has_moved = self.sums.energy.iter().any(|&energy| energy > 0.0);
        self.label_rose |= (rises || is_steeper) && has_moved;
        self.sums.label = label.abs();
    }

    /// The steepest slope of a witness where ‖x/N‖ is at most this.
    #[inline(always)]
    fn steepest_slope(&self, witness: usize, reach: f64) -> f64 {
        let radius = self.radii[witness] * self.label_unit();
        self.loss.steepest(radius * reach, self.sums.label)
    }

    /// Enters a witness's round, and answers its slope.
    #[inline(always)]
    fn record(&mut self, witness: usize, label: f64, importance: f64, sizes: (f64, f64)) -> f64 {
        let row = &self.row;
        let prediction = row.predictions[witness];
        let tangent = self.loss.at(prediction, label);
        let (value, slope) = (importance * tangent.value, importance * tangent.slope);
        let at_zero = slope * prediction;
        let gradient_sq = slope * (slope * row.square);

        let sums = &mut self.sums;
        sums.losses[witness].add(value);
        sums.offset[witness].add(value - at_zero);
        sums.magnitude[witness] += Minorant::size_of(value, at_zero, prediction);
        sums.length[witness] += slope.abs() * sizes.0;
        sums.breadth[witness] += slope.abs() * sizes.1;

        sums.energy[witness] += gradient_sq;
        if gradient_sq > 0.0 {
            sums.paid[witness] += gradient_sq / row.root[witness];
        }
        let square = sums.square[witness] + (2.0 * slope * row.inner[witness] + gradient_sq);
        sums.square[witness] = square.max(0.0);
        if square < 0.0 {
            sums.lifted[witness] += (-square).sqrt();
        }
        slope
    }

    /// The rounds of a witness as a function below the past.
    pub fn minorant(&self, witness: usize) -> Minorant {
        let sums = &self.sums;
        Minorant::of_parts(
            sums.rounds,
            sums.offset[witness],
            self.slopes.iter().map(|slopes| slopes[witness]).collect(),
            (sums.length[witness], sums.breadth[witness]),
            sums.magnitude[witness],
        )
    }

    /// All of them.
    pub fn minorants(&self) -> impl Iterator<Item = Minorant> {
        (0..WITNESSES).map(|witness| self.minorant(witness))
    }

    /// What the theorem says of a witness's regret, for comparators of its radius; nothing where
    /// a label raised Y on the way, for then it is false.
    pub fn promise(&self, witness: usize) -> Option<WitnessPromise> {
        if self.label_rose {
            return None;
        }
        let sums = &self.sums;
        let radius = self.radii[witness] * self.label_unit();
        let steepest = self.steepest_slope(witness, self.reach) * self.reach * self.importance;
        // The theorem ends at ‖S/N‖ as it was carried along, in units that were rounded.
        let lacks = (self.length(witness) - sums.square[witness].sqrt()).max(0.0);
        let beyond = radius * (lacks + sums.lifted[witness]) + sums.excess[witness];
        Some(WitnessPromise {
            radius: self.radii[witness],
            loss: sums.losses[witness].value(),
            data: radius * (sums.paid[witness] + steepest) + beyond,
            theorem: radius * (2.0 * sums.energy[witness].sqrt() + steepest) + beyond,
        })
    }

    /// ‖S/N‖, computed anew.
    fn length(&self, witness: usize) -> f64 {
        let slopes: Vec<f64> = self.slopes.iter().map(|slopes| slopes[witness]).collect();
        match &self.units {
            None => vector::norm(slopes.iter().copied()),
            Some(units) => vector::norm(units.ruler.scaled(&slopes)),
        }
    }

    /// Puts the cells in other places: place i gets what is at `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        let at = |&from: &u32| self.slopes.get(from as usize).copied().unwrap_or_default();
        self.slopes = from.iter().map(at).collect();
        if let Some(units) = &mut self.units {
            units.ruler.rearrange(from);
            units.measure_inverse();
        }
    }

    /// Takes in the rounds of witnesses of the same radii that saw other rows, by the same cells.
    /// What they prove adds up; their theorem does not.
    pub fn merge(&mut self, other: &Self) {
        self.grow(other.slopes.len());
        for (own, theirs) in self.slopes.iter_mut().zip(&other.slopes) {
            (0..WITNESSES).for_each(|witness| own[witness] += theirs[witness]);
        }
        if let (Some(own), Some(theirs)) = (&mut self.units, &other.units) {
            own.ruler.merge(&theirs.ruler);
            own.measure_inverse();
        }
        self.reach = self.reach.max(other.reach);
        self.importance = self.importance.max(other.importance);
        self.label_rose = true;
        self.sums.merge(&other.sums);
        for witness in 0..WITNESSES {
            self.sums.square[witness] = self.length(witness).powi(2);
        }
    }

    /// Whether this, read from somewhere, can be a later state of `fresh`.
    pub fn continues(&self, fresh: &Self) -> bool
    where
        L: PartialEq,
    {
        let units_go_together = match (&self.units, &fresh.units) {
            (None, None) => true,
            (Some(own), Some(fresh)) => own.continues(fresh, self.slopes.len()),
            _ => false,
        };
        let is_size = |size: f64| (0.0..=f64::MAX).contains(&size);
        self.loss == fresh.loss
            && self.radii == fresh.radii
            && units_go_together
            && self.slopes.iter().flatten().all(|slope| slope.is_finite())
            && is_size(self.reach)
            && is_size(self.importance)
            && self.sums.are_sound()
    }
}

impl Units {
    /// N grows where a value is beyond all before, and ‖S/N‖² shrinks with it. Where that happens,
    /// ‖x/N‖² over the features that are not new.
    #[inline(always)]
    fn measure(&mut self, x: &Features<'_>, slopes: &[Each], sums: &mut Sums) -> Option<f64> {
        let largest = self.ruler.largest();
        let is_larger = |(&i, &x): (&u32, &f32)| x.abs() > largest[i as usize];
        let grows = x.indices().iter().zip(x.values()).fold(false, |any, at| any | is_larger(at));
        grows.then(|| self.lengthen(x, slopes, sums))
    }

    #[cold]
    #[inline(never)]
    fn lengthen(&mut self, x: &Features<'_>, slopes: &[Each], sums: &mut Sums) -> f64 {
        let mut known = 0.0;
        for (&i, &value) in x.indices().iter().zip(x.values()) {
            let i = i as usize;
            let scaled = f64::from(value) * f64::from(self.inverse_after(i, value));
            known += scaled * scaled;
            if value.abs() > self.ruler.largest()[i] {
                let old = std::mem::replace(&mut self.inverse[i], inverse(value));
                let Sums { square, lifted, .. } = &mut *sums;
                shrink(square, lifted, &slopes[i], old, self.inverse[i]);
            }
        }
        self.ruler.measure(x);
        known
    }

    /// 1/N of a cell, once a value of it is taken in; 0 where it is the first.
    fn inverse_after(&self, i: usize, value: f32) -> f32 {
        let largest = self.ruler.largest()[i];
        if largest > 0.0 && value.abs() > largest { inverse(value) } else { self.inverse[i] }
    }

    fn measure_inverse(&mut self) {
        let of = |&n: &f32| if n > 0.0 { inverse(n) } else { 0.0 };
        self.inverse = self.ruler.largest().iter().map(of).collect();
    }

    fn continues(&self, fresh: &Self, cells: usize) -> bool {
        let mut anew = self.clone();
        anew.measure_inverse();
        self.ruler.continues(&fresh.ruler) && self.inverse.len() == cells && *self == anew
    }
}

impl Sums {
    fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.label = self.label.max(other.label);
        for witness in 0..WITNESSES {
            self.energy[witness] += other.energy[witness];
            self.paid[witness] += other.paid[witness];
            self.excess[witness] += other.excess[witness];
            self.lifted[witness] += other.lifted[witness];
            self.losses[witness].merge(other.losses[witness]);
            self.offset[witness].merge(other.offset[witness]);
            self.magnitude[witness] += other.magnitude[witness];
            self.length[witness] += other.length[witness];
            self.breadth[witness] += other.breadth[witness];
        }
    }

    fn are_sound(&self) -> bool {
        let sizes = [
            &self.square,
            &self.energy,
            &self.paid,
            &self.excess,
            &self.lifted,
            &self.magnitude,
            &self.length,
            &self.breadth,
        ];
        let is_size = |size: &f64| (0.0..=f64::INFINITY).contains(size);
        sizes.into_iter().flatten().all(is_size)
            && (0.0..=f64::MAX).contains(&self.label)
            && self.losses.iter().chain(&self.offset).all(|sum| !sum.value().is_nan())
    }
}

/// 1/|x|; a column of nothing but the least of numbers is measured with a longer ruler.
fn inverse(x: f32) -> f32 {
    (1.0 / x.abs()).min(f32::MAX)
}

/// ⟨S/N, x/N⟩ and ‖x/N‖², where 1/N of a cell is what `inverse` says. One sum, in the order of the
/// features: those that add nothing make no difference to a bit.
#[inline(always)]
fn dot(x: &Features<'_>, slopes: &[Each], inverse: impl Fn(usize, f32) -> f32) -> (Each, f64) {
    let (mut inner, mut norm_sq) = ([0.0; WITNESSES], 0.0);
    for (&i, &value) in x.indices().iter().zip(x.values()) {
        let i = i as usize;
        add_scaled(&mut inner, &mut norm_sq, &slopes[i], value, inverse(i, value));
    }
    (inner, norm_sq)
}

/// Adds one coordinate to ⟨S/N, x/N⟩ and ‖x/N‖².
#[inline(always)]
fn add_scaled(inner: &mut Each, norm_sq: &mut f64, slopes: &Each, x: f32, inverse: f32) {
    let inverse = f64::from(inverse);
    let scaled = f64::from(x) * inverse;
    *norm_sq += scaled * scaled;
    let factor = scaled * inverse;
    for witness in 0..WITNESSES {
        inner[witness] += slopes[witness] * factor;
    }
}

/// What ‖S/N‖² becomes when 1/N of a coordinate goes from one number to a smaller one.
fn shrink(square: &mut Each, lifted: &mut Each, slopes: &Each, old: f32, new: f32) {
    let (old, new) = (f64::from(old), f64::from(new));
    for witness in 0..WITNESSES {
        let (before, after) = (slopes[witness] * old, slopes[witness] * new);
        let shrunk = square[witness] - (before - after) * (before + after);
        square[witness] = shrunk.max(0.0);
        if shrunk < 0.0 {
            lifted[witness] += (-shrunk).sqrt();
        }
    }
}

/// S ← S + a·x
#[inline(always)]
fn add(all: &mut [Each], slopes: &Each, x: &Features<'_>) {
    for (&i, &value) in x.indices().iter().zip(x.values()) {
        let at = &mut all[i as usize];
        for witness in 0..WITNESSES {
            at[witness] += slopes[witness] * f64::from(value);
        }
    }
}

/// A number, and 0 where there is none: what has no bound predicts nothing.
#[inline(always)]
fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

/// The radii of witnesses in no units.
pub const UNIT_FREE_RADII: Each = [1.0, 3.0, 10.0, 30.0];

#[cfg(test)]
mod tests;
