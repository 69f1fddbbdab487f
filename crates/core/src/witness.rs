//! Witnesses: predictors that bound the loss of the comparators from below, whatever the model is.
//!
//! They play the minimax strategy of the linear game, made anytime and unit-free: dual averaging
//! whose whole state is S = Σ a_s x_s. With N_t including x_t (features are known before the
//! prediction), E = Σ a_s²‖x_s/N_s‖² and G_t = (Lipschitz constant)·max_{s≤t} ‖x_s/N_s‖,
//!
//! ```text
//! p_t = −U·Y·⟨S/N_t, x_t/N_t⟩ / D_t,    D_t² = ‖S/N_t‖² + E + G_t²
//! ```
//!
//! **Theorem.** For classes, and for numbers if no label raises Y once S is not 0, this holds for
//! every u with ‖N_T u‖ ≤ U·Y, however the N_i grew:
//!
//! ```text
//! R_T(u) ≤ U·Y·(Σ a_t²‖x_t/N_t‖²/D_t + G_T) ≤ U·Y·(2√E_T + G_T)
//! ```
//!
//! Proof. Let Φ_t = UY√(‖S_t/N_t‖² + E_t + G_t²). ‖S+g‖² = ‖S‖² + 2S·g + ‖g‖² and the concavity of
//! the root give Φ_t ≤ UY·D_t − a_t p_t + UY·a_t²‖x_t/N_t‖²/D_t. A growing N only lowers D. The
//! growth of G sums to G_T. D_t² is at least the E of the next round, so the last terms sum to
//! 2√E_T. And Φ_T ≥ UY‖S_T/N_T‖. In the data's own units N = 1, and Y = 1 because the ball does not
//! depend on Y.
//!
//! **Implicit steps.** If the loss is smooth, S gets a slope that has seen the label. Let p(a) be the
//! prediction from S + a·x, with D(a)² = ‖(S + a·x)/N_t‖² + E_{t+1} + G_t². The slope a that solves
//! a = φ'(p(a)) minimises φ*(a) + UY·D(a): it is one exact step of dual ascent, and at large radii
//! the lower bound is much better for it. The predictions are still those before the step, E has
//! their slopes a', and both bounds hold: with φ(p_t) + φ*(a') = a' p_t, a step whose φ*(a) + UY·D(a)
//! is at most that of a' raises the potential by no more than the explicit step would. A slope that
//! is only nearly a solution is as good if it is the slope of some prediction p, because then
//! −φ*(a) = φ(p) − a p. So Newton's method takes one step, and where the sum above is not smaller
//! for it, the slope is a'.
//!
//! An importance multiplies the slope of its round and is not known before the label, just as
//! weights of classes are not. So G_t is made with the largest importance so far. If a later
//! importance exceeds that, the theorem pays for the amount by which D_t was too small. It also
//! pays for features that are seen for the first time: they count for nothing in D_t and in S.

mod sums;
mod units;

pub use units::{Measure, Measured};

use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::features::{Example, Features};
use crate::ledger::{Minorant, Testimony};
use crate::loss::Loss;
use crate::norms::{self, Quads};
use crate::sum::Sum;
use rueful_machine::{Fours, Lines, Plain, Registers, prefetch};
use serde::{Deserialize, Serialize};
use sums::Sums;
pub(crate) use sums::raised;
use units::{Units, shrink};

/// How many witnesses run side by side.
pub const WITNESSES: usize = 4;

/// A number for each witness.
type Each = [f64; WITNESSES];

/// S of one feature, for each witness. The alignment keeps it within one cache line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[repr(align(32))]
pub(crate) struct Slopes(Each);

impl Slopes {
    /// S ← S + a·x
    #[inline(always)]
    pub(crate) fn add<F: Fours>(&mut self, slopes: F, value: f32) {
        (F::load(&self.0) + slopes * F::all_of_single(value)).store(&mut self.0);
    }
}

/// The running ‖S/N‖², while units grow.
pub(crate) struct Shrinking<'a> {
    square: &'a mut Each,
}

impl Shrinking<'_> {
    /// Increases N of a feature that was seen before, if a value is larger than N. ‖S/N‖² shrinks
    /// with it.
    #[cold]
    #[inline(never)]
    pub(crate) fn lengthen(&mut self, measure: &mut Measure, slopes: &Slopes, value: f32) {
        let after = measure.after(value);
        let before = std::mem::replace(measure, after);
        if before != after {
            shrink(self.square, slopes, (before, after));
        }
    }
}

/// Witnesses of four radii side by side, and the sums that their proofs need. `M` is the record
/// that is kept for one feature. It contains the measure of the feature, and it may contain more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored<L, M>", try_from = "Stored<L, M>")]
#[serde(bound(
    serialize = "L: Clone + Serialize, M: Measured",
    deserialize = "L: Deserialize<'de>, M: Measured"
))]
pub struct Witnesses<L, M = Measure> {
    loss: L,
    radii: Each,
    /// N and 1/N by cell, and Y. `None` in the data's own units.
    units: Option<Units<M>>,
    /// The S from which they predict, by cell. It is Σ a_s x_s, unless they were merged.
    slopes: Lines<Slopes>,
    /// Σ a_s x_s of all rounds minus that S, by cell, if they were merged. Otherwise it is empty.
    apart: Vec<Slopes>,
    /// max ‖x_s/N_s‖, and below the largest importance.
    reach: f64,
    importance: f64,
    sums: Sums,
    /// Whether a label raised Y while S was not 0.
    label_rose: bool,
    /// The round that is being played.
    row: Row,
}

/// The stored form of witnesses.
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "L: Serialize, M: Measured",
    deserialize = "L: Deserialize<'de>, M: Measured"
))]
struct Stored<L, M> {
    loss: L,
    radii: Each,
    units: Option<Units<M>>,
    /// The S from which they predict, by cell. If they were merged, then the rest of Σ a_s x_s, too.
    slopes: Vec<Slopes>,
    reach: f64,
    importance: f64,
    sums: Sums,
    label_rose: bool,
}

impl<L, M: Measured> From<Witnesses<L, M>> for Stored<L, M> {
    fn from(witnesses: Witnesses<L, M>) -> Self {
        let Witnesses { loss, radii, units, slopes, apart, .. } = witnesses;
        let slopes = [&slopes[..], &apart].concat();
        let Witnesses { reach, importance, sums, label_rose, .. } = witnesses;
        Self { loss, radii, units, slopes, reach, importance, sums, label_rose }
    }
}

impl<L, M: Measured> TryFrom<Stored<L, M>> for Witnesses<L, M> {
    type Error = &'static str;

    fn try_from(stored: Stored<L, M>) -> Result<Self, Self::Error> {
        let Stored { loss, radii, units, mut slopes, reach, importance, sums, label_rose } = stored;
        let mut apart = Vec::new();
        if sums.are_of_parts() {
            if !slopes.len().is_multiple_of(2) {
                return Err("merged witnesses have two slopes for every feature");
            }
            apart = slopes.split_off(slopes.len() / 2);
        }
        let (slopes, row) = (Lines::from(&slopes[..]), Row::default());
        Ok(Self { loss, radii, units, slopes, apart, reach, importance, sums, label_rose, row })
    }
}

/// ⟨S/N, x/N⟩ and ‖x/N‖² as running sums. Each is one sum in the order of the features, so features
/// that add nothing do not change a bit.
#[derive(Clone, Copy)]
pub(crate) struct Inner<F> {
    products: F,
    norm_sq: f64,
}

impl<F: Fours> Inner<F> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { products: F::all(0.0), norm_sq: 0.0 }
    }

    /// Adds one more feature.
    #[inline(always)]
    pub(crate) fn add(&mut self, slopes: &Slopes, measure: &Measure, value: f32) {
        let (scaled, inverse) = measure.scaled(value);
        self.norm_sq += scaled * scaled;
        self.products = self.products + F::load(&slopes.0) * F::all(scaled * inverse);
    }

    #[inline(always)]
    pub(crate) fn foreseen(self) -> Foreseen {
        Foreseen { inner: self.products.array(), known_sq: self.norm_sq, new_sq: 0.0 }
    }
}

/// The facts about a row that are known before it is predicted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Foreseen {
    /// ⟨S/N, x/N⟩
    inner: Each,
    /// ‖x/N‖² over the features that were seen before, and below over the new ones.
    known_sq: f64,
    pub(crate) new_sq: f64,
}

/// The numbers that a prediction leaves for `record`. They have no meaning between rounds.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    predictions: Each,
    /// ⟨S/N, x/N⟩, D and G.
    inner: Each,
    root: Each,
    steepest: Each,
    /// ‖x/N‖²
    square: f64,
    /// Whether D was made without the new features.
    is_short: bool,
    /// The values and slopes of the losses at the predictions, and the predictions after an implicit
    /// step.
    values: Each,
    slopes: Each,
    stepped: Each,
}

impl PartialEq for Row {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// The tangents of the losses of one round, one for each witness.
#[derive(Clone, Copy)]
struct Tangents<F> {
    prediction: F,
    value: F,
    slope: F,
}

/// Predictions for a row after a step with a slope a: p(a) = −U·Y·⟨(S + a·x)/N, x/N⟩/D(a), where
/// D(a)² = ‖(S + a·x)/N‖² + E + G², and E has the explicit slope of the round.
struct After<F> {
    radius: F,
    inner: F,
    /// ‖x/N‖²
    square: F,
    /// D(0)²
    root_sq: F,
}

impl<F: Fours> After<F> {
    #[inline(always)]
    fn new(row: &Row, radius: F, explicit: F) -> Self {
        let (square, root) = (F::all(row.square), F::load(&row.root));
        let root_sq = root * root + explicit * (explicit * square);
        Self { radius, inner: F::load(&row.inner), square, root_sq }
    }

    /// D(a)
    #[inline(always)]
    fn root(&self, slope: F) -> F {
        let root_sq = self.root_sq + slope * (self.inner + self.inner + slope * self.square);
        root_sq.max(F::all(0.0)).sqrt()
    }

    /// p(a), and how fast it falls with a, given D(a).
    #[inline(always)]
    fn prediction(&self, root: F, slope: F) -> (F, F) {
        let per_root = F::all(1.0) / root;
        let share = (self.inner + slope * self.square) * per_root;
        let rate = self.radius * ((self.square - share * share) * per_root);
        (F::all(-1.0) * finite(self.radius * share), rate)
    }

    /// φ*(a) + U·Y·D(a) for the slope of a tangent.
    #[inline(always)]
    fn potential(&self, tangent: &Tangents<F>) -> F {
        let conjugate = tangent.slope * tangent.prediction - tangent.value;
        conjugate + self.radius * self.root(tangent.slope)
    }
}

/// The bounds on the regret of one witness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WitnessPromise {
    /// U
    pub radius: f64,
    /// The sum of its own losses.
    pub loss: f64,
    /// U·Y·(Σ a²‖x/N‖²/D + G), plus the allowances for rounding and for late importances.
    pub data: f64,
    /// U·Y·(2√E + G), plus the same allowances.
    pub theorem: f64,
}

impl<L: Loss, M: Measured> Witnesses<L, M> {
    /// Witnesses of these radii, unit-free or in the data's own units.
    pub fn new(loss: L, is_unit_free: bool, radii: Each) -> Self {
        Self {
            loss,
            radii,
            units: is_unit_free.then(|| Units::new(&loss)),
            slopes: Lines::default(),
            apart: Vec::new(),
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
            self.slopes.resize(dimension, Slopes::default());
            if self.are_of_parts() {
                self.apart.resize(dimension, Slopes::default());
            }
        }
        if let Some(units) = &mut self.units {
            units.grow(dimension);
        }
    }

    /// The radii.
    pub fn radii(&self) -> Each {
        self.radii
    }

    /// How many rounds they played.
    pub fn rounds(&self) -> u64 {
        self.sums.rounds
    }

    /// How many features there is room for.
    pub(crate) fn dimension(&self) -> usize {
        self.slopes.len()
    }

    /// The records of all features. Empty in the data's own units.
    #[inline(always)]
    pub(crate) fn measures(&self) -> &[M] {
        self.units.as_ref().map_or(&[], |units| &units.measures)
    }

    /// The records of all features and S, both mutable.
    #[inline(always)]
    pub(crate) fn cells_mut(&mut self) -> (&mut [M], &mut [Slopes]) {
        let (measures, slopes, _) = self.growing();
        (measures, slopes)
    }

    /// The same, and the ‖S/N‖² that shrinks when units grow.
    #[inline(always)]
    pub(crate) fn growing(&mut self) -> (&mut [M], &mut [Slopes], Shrinking<'_>) {
        let measures = self.units.as_mut().map_or(&mut [][..], |units| &mut units.measures);
        (measures, &mut self.slopes, Shrinking { square: &mut self.sums.square })
    }

    /// The prediction that each would make next, for features there is room for. It changes
    /// nothing.
    pub fn predict(&self, x: &Features<'_>) -> Each {
        type F = <Plain as Registers>::Four;
        let mut square = self.sums.square;
        let foreseen = match &self.units {
            None => self.foresee_raw::<F>(x),
            Some(units) => {
                let mut inner = Inner::<F>::new();
                for (&i, &value) in x.indices().iter().zip(x.values()) {
                    let (slopes, now) = (&self.slopes[i as usize], units.measure(i as usize));
                    let after = now.after(value);
                    if after != *now {
                        shrink(&mut square, slopes, (*now, after));
                    }
                    inner.add(slopes, &after, value);
                }
                inner.foreseen()
            }
        };
        let reach = self.reach.max(foreseen.known_sq.sqrt());
        self.row::<F>(&foreseen, &square, reach).predictions
    }

    /// Plays the round of a row, label included. Meanwhile, what it keeps for the features `ahead`
    /// is fetched.
    #[inline(always)] // It is called in the loop over rows.
    pub(crate) fn observe<F: Fours>(&mut self, example: &Example<'_>, ahead: &[u32]) {
        let foreseen = self.foresee::<F>(&example.features);
        self.prepare::<F>(&foreseen);
        let slopes = F::load(&self.learn::<F>(example));
        let mut ahead = ahead.iter();
        for (&i, &value) in example.features.indices().iter().zip(example.features.values()) {
            ahead.next().into_iter().for_each(|&next| self.fetch(next));
            self.slopes[i as usize].add(slopes, value);
        }
        ahead.for_each(|&next| self.fetch(next));
    }

    /// Asks for what is kept for a feature.
    #[inline(always)]
    fn fetch(&self, index: u32) {
        self.slopes.get(index as usize).into_iter().for_each(prefetch);
        self.measures().get(index as usize).into_iter().for_each(prefetch);
    }

    /// Looks at the features of a row that will be learned from. What is larger than all before
    /// makes its unit grow on the way. What is new is taken in, and counts for nothing in D and in
    /// S.
    #[inline(always)]
    fn foresee<F: Fours>(&mut self, x: &Features<'_>) -> Foreseen {
        if self.units.is_none() {
            return self.foresee_raw::<F>(x);
        }
        let (measures, slopes, mut shrinking) = self.growing();
        let (mut inner, mut new_sq) = (Inner::<F>::new(), 0.0);
        for (&i, &value) in x.indices().iter().zip(x.values()) {
            let (measure, slopes) = (measures[i as usize].measure_mut(), &slopes[i as usize]);
            if measure.is_below(value) {
                if measure.is_new() {
                    new_sq += measure.begin(value);
                    continue;
                }
                shrinking.lengthen(measure, slopes, value);
            }
            inner.add(slopes, measure, value);
        }
        Foreseen { new_sq, ..inner.foreseen() }
    }

    /// `foresee` in the data's own units.
    #[inline(always)]
    fn foresee_raw<F: Fours>(&self, x: &Features<'_>) -> Foreseen {
        let mut products = F::all(0.0);
        for (&i, &value) in x.indices().iter().zip(x.values()) {
            products = products + F::load(&self.slopes[i as usize].0) * F::all_of_single(value);
        }
        Foreseen { inner: products.array(), known_sq: x.norm_sq(), new_sq: 0.0 }
    }

    /// Increases N of a feature that was seen before, if a value is larger than N.
    #[inline]
    pub(crate) fn lengthen_one(&mut self, cell: usize, value: f32) {
        let (measures, slopes, mut shrinking) = self.growing();
        if let Some(measured) = measures.get_mut(cell) {
            shrinking.lengthen(measured.measure_mut(), &slopes[cell], value);
        }
    }

    /// Takes in the first value of a feature, and returns (x/N)². Returns 0 if the feature was seen
    /// before.
    pub(crate) fn begin_one(&mut self, cell: usize, value: f32) -> f64 {
        let Some(units) = &mut self.units else { return 0.0 };
        let measure = units.measures[cell].measure_mut();
        if measure.largest == 0.0 && value != 0.0 { measure.begin(value) } else { 0.0 }
    }

    /// Makes the predictions for a row after `foresee`.
    #[inline(always)]
    pub(crate) fn prepare<F: Fours>(&mut self, foreseen: &Foreseen) {
        let reach = self.reach.max(foreseen.known_sq.sqrt());
        self.row = self.row::<F>(foreseen, &self.sums.square, reach);
        self.reach = self.reach.max(self.row.square.sqrt());
        self.row.is_short = self.reach > reach;
    }

    /// The predictions for the row that was prepared.
    #[inline(always)]
    pub(crate) fn predictions(&self) -> &Each {
        &self.row.predictions
    }

    #[inline(always)]
    fn row<F: Fours>(&self, foreseen: &Foreseen, square: &Each, reach: f64) -> Row {
        let (radius, slope) = self.steepest_slopes::<F>(reach);
        let steepest = finite(slope * F::all(reach) * F::all(self.importance));
        let root_sq = F::load(square) + F::load(&self.sums.energy) + steepest * steepest;
        let (root, inner) = (root_sq.sqrt(), F::load(&foreseen.inner));
        Row {
            predictions: (F::all(-1.0) * finite(radius * (inner / root))).array(),
            inner: foreseen.inner,
            root: root.array(),
            steepest: steepest.array(),
            square: foreseen.known_sq + foreseen.new_sq,
            ..Row::default()
        }
    }

    /// Y as it enters the ball: 1 in the data's own units.
    #[inline(always)]
    fn label_unit(&self) -> f64 {
        self.units.as_ref().map_or(1.0, |units| units.label.largest)
    }

    /// Handles a label or an importance that is larger than all before, and new features. In these
    /// cases G, and with it D, was too small for this round. The theorem pays |a p|(1 − D/D') for
    /// that, which the steepest slope bounds from above.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, label: f64, importance: f64) {
        self.notice_label(label);
        self.importance = self.importance.max(importance);
        for witness in 0..WITNESSES {
            let slope = self.steepest_slope(witness, self.reach);
            let steepest = slope * self.reach * self.importance;
            let steepest = if steepest.is_finite() { steepest } else { 0.0 };
            let row = &mut self.row;
            let more = (steepest - row.steepest[witness]) * (steepest + row.steepest[witness]);
            let root = (row.root[witness] * row.root[witness] + more.max(0.0)).sqrt();
            let share = if root > 0.0 { 1.0 - row.root[witness] / root } else { 0.0 };
            let most = self.importance * slope * row.predictions[witness].abs() * share.max(0.0);
            let excess = if most.is_finite() { most } else { 0.0 };
            self.sums.excess[witness] += excess;
            row.root[witness] = root;
        }
    }

    fn notice_label(&mut self, label: f64) {
        if label.abs() <= self.sums.label {
            return;
        }
        let rises = self.units.as_mut().is_some_and(|units| units.measure_label(label));
        // The slopes of the square loss grow with the labels, and D was made for smaller labels.
        let is_steeper = self.loss.lipschitz().is_none();
        let has_moved = self.sums.energy.iter().any(|&energy| energy > 0.0);
        self.label_rose |= (rises || is_steeper) && has_moved;
        self.sums.label = label.abs();
    }

    /// The steepest slope of a witness if ‖x/N‖ is at most `reach`.
    #[inline(always)]
    fn steepest_slope(&self, witness: usize, reach: f64) -> f64 {
        let radius = self.radii[witness] * self.label_unit();
        self.loss.steepest(radius * reach, self.sums.label)
    }

    /// The radii in units of the labels, and the steepest slopes of all witnesses.
    #[inline(always)]
    fn steepest_slopes<F: Fours>(&self, reach: f64) -> (F, F) {
        let radius = F::load(&self.radii) * F::all(self.label_unit());
        let mut slopes = [0.0; WITNESSES];
        for (witness, slope) in slopes.iter_mut().enumerate() {
            *slope = self.steepest_slope(witness, reach);
        }
        (radius, F::load(&slopes))
    }

    /// Plays the rest of the round once its label is known, and returns the slopes. It is in three
    /// parts, each of which is a chain of operations that wait for one another. Whoever has other work
    /// puts it between them.
    #[inline(always)]
    pub(crate) fn learn<F: Fours>(&mut self, example: &Example<'_>) -> Each {
        self.face::<F>(example);
        self.step::<F>(example);
        self.record::<F>(example)
    }

    /// First, the witnesses face the label: the losses of their predictions.
    #[inline(always)]
    pub(crate) fn face<F: Fours>(&mut self, example: &Example<'_>) {
        let (label, importance) = (example.label, example.importance.get());
        if label.abs() > self.sums.label || importance > self.importance || self.row.is_short {
            self.widen(label, importance);
        }
        let explicit = self.tangents(F::load(&self.row.predictions), label, importance);
        explicit.value.store(&mut self.row.values);
        explicit.slope.store(&mut self.row.slopes);
    }

    /// Then they make an implicit step, if the loss is smooth.
    ///
    /// The root lies between the prediction before the step and about the one after the explicit
    /// step. From the bend of the loss at 0, or from the end nearest to it, Newton's method
    /// approaches the root from one side, and its first step is a long one.
    #[inline(always)]
    pub(crate) fn step<F: Fours>(&mut self, example: &Example<'_>) {
        let explicit = F::load(&self.row.slopes);
        if self.loss.curvature_at_slopes(explicit).is_none() {
            return;
        }
        let (label, importance) = (example.label, F::all(example.importance.get()));
        let (zero, after) = (F::all(0.0), self.after(explicit));
        let here = F::load(&self.row.predictions);
        let (_, rate) = after.prediction(F::load(&self.row.root), zero);
        let there = here - finite(explicit * rate);
        let start = here.min(there).max(here.max(there).min(zero));
        let (_, slope) = self.loss.at_each(start, label);
        let curvature = self.loss.curvature_at_slopes(slope).unwrap_or(zero);
        let slope = importance * slope;
        let (next, rate) = after.prediction(after.root(slope), slope);
        let speed = F::all(1.0) + rate * (importance * curvature);
        finite(start - (start - next) / speed).store(&mut self.row.stepped);
    }

    /// Last, they record the round. Returns the slopes.
    #[inline(always)]
    pub(crate) fn record<F: Fours>(&mut self, example: &Example<'_>) -> Each {
        let (label, importance) = (example.label, example.importance.get());
        let (length, breadth) = Minorant::lengths_of(&example.features);
        let (all, zero) = (F::all, F::all(0.0));
        let explicit = Tangents {
            prediction: F::load(&self.row.predictions),
            value: F::load(&self.row.values),
            slope: F::load(&self.row.slopes),
        };
        let taken = self.taken(explicit, label, importance);
        let (row, sums) = (&self.row, &mut self.sums);
        let at_zero = taken.slope * taken.prediction;

        sums.rounds += 1;
        sums.losses.add(explicit.value);
        sums.offset.add(taken.value - at_zero);
        enter(&mut sums.magnitude, Minorant::sizes_of(taken.value, at_zero, taken.prediction));
        enter(&mut sums.length, taken.slope.abs() * all(length));
        enter(&mut sums.breadth, taken.slope.abs() * all(breadth));

        let gradient_sq = explicit.slope * (explicit.slope * all(row.square));
        enter(&mut sums.energy, gradient_sq);
        let paid = gradient_sq / F::load(&row.root);
        enter(&mut sums.paid, gradient_sq.above(zero, paid, zero));
        let step_sq = taken.slope * (taken.slope * all(row.square));
        let growth = all(2.0) * taken.slope * F::load(&row.inner) + step_sq;
        let square = F::load(&sums.square) + growth;
        square.max(zero).store(&mut sums.square);
        if zero.above(square, all(1.0), zero).sum() > 0.0 {
            sums.lift(square.array(), &row.root);
        }
        taken.slope.array()
    }

    /// The tangents of c·φ at some predictions.
    #[inline(always)]
    fn tangents<F: Fours>(&self, prediction: F, label: f64, importance: f64) -> Tangents<F> {
        let (value, slope) = self.loss.at_each(prediction, label);
        let importance = F::all(importance);
        Tangents { prediction, value: importance * value, slope: importance * slope }
    }

    /// Predictions for the row after a step, where the explicit slopes are given.
    #[inline(always)]
    fn after<F: Fours>(&self, explicit: F) -> After<F> {
        let radius = F::load(&self.radii) * F::all(self.label_unit());
        After::new(&self.row, radius, explicit)
    }

    /// The tangents with which the round enters S: for a smooth loss those of the implicit step, where
    /// they lower the potential, and otherwise the explicit ones.
    #[inline(always)]
    fn taken<F: Fours>(&self, explicit: Tangents<F>, label: f64, importance: f64) -> Tangents<F> {
        if self.loss.curvature_at_slopes(explicit.slope).is_none() {
            return explicit;
        }
        let after = self.after(explicit.slope);
        let found = self.tangents(F::load(&self.row.stepped), label, importance);
        let (most, own) = (after.potential(&explicit), after.potential(&found));
        let choose = |implicit: F, explicit: F| most.above(own, implicit, explicit);
        Tangents {
            prediction: choose(found.prediction, explicit.prediction),
            value: choose(found.value, explicit.value),
            slope: choose(found.slope, explicit.slope),
        }
    }

    /// The minorant of the rounds of a witness.
    pub fn minorant(&self, witness: usize) -> Minorant {
        self.minorant_of(witness, self.slopes_of(witness))
    }

    /// `minorant` with a given S.
    fn minorant_of(&self, witness: usize, slopes: Vec<f64>) -> Minorant {
        let sums = &self.sums;
        Minorant::of_parts(
            sums.rounds,
            sums.offset.get(witness),
            slopes,
            (sums.length[witness], sums.breadth[witness]),
            sums.magnitude[witness],
        )
    }

    /// Σ a_s x_s of a witness.
    fn slopes_of(&self, witness: usize) -> Vec<f64> {
        (0..self.slopes.len()).map(|cell| self.slope(cell, witness)).collect()
    }

    /// Σ a_s x_s of a witness at a cell. It is 0 beyond the cells.
    #[inline]
    fn slope(&self, cell: usize, witness: usize) -> f64 {
        let of = |all: &[Slopes]| all.get(cell).map_or(0.0, |slopes| slopes.0[witness]);
        of(&self.slopes) + of(&self.apart)
    }

    /// The lower bounds of all witnesses for the comparators.
    pub fn testify(
        &self,
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
    ) -> Vec<Testimony> {
        let unit_free = comparators.radius().filter(|_| comparators.is_unit_free());
        let (Some(radius), Some(ruler)) = (unit_free, coordinates.ruler()) else {
            let all = self.minorants();
            return all.map(|witness| witness.testify(comparators, coordinates)).collect();
        };
        let testify = |(witness, norm)| {
            self.minorant_of(witness, Vec::new()).testify_unit_free(radius, norm, ruler.label())
        };
        self.norms_in(ruler.largest()).into_iter().enumerate().map(testify).collect()
    }

    /// ‖S/N‖ of all witnesses, for S = Σ a_s x_s and N by cell.
    fn norms_in(&self, units: &[f32]) -> Each {
        let slopes = &self.slopes[..self.slopes.len().min(units.len())];
        let unit = |cell: usize| units[cell];
        norms::norms_of_four(ScaledSlopes { slopes, apart: &self.apart, unit })
    }

    /// The minorants of all witnesses.
    pub fn minorants(&self) -> impl Iterator<Item = Minorant> {
        (0..WITNESSES).map(|witness| self.minorant(witness))
    }

    /// The bounds of the theorem on a witness's regret, for comparators of its radius. `None` if a
    /// label raised Y on the way, because the theorem does not hold then.
    pub fn promise(&self, witness: usize) -> Option<WitnessPromise> {
        if self.label_rose {
            return None;
        }
        let sums = &self.sums;
        let radius = self.radii[witness] * self.label_unit();
        let steepest = self.steepest_slope(witness, self.reach) * self.reach * self.importance;
        // The proof ends at the running value of ‖S/N‖, in rounded units. This is the amount by
        // which that value falls short.
        let lacks = (self.lengths()[witness] - sums.square[witness].sqrt()).max(0.0);
        let beyond = radius * (lacks + sums.lifted[witness]) + sums.excess[witness];
        Some(WitnessPromise {
            radius: self.radii[witness],
            loss: sums.losses.get(witness).value(),
            data: radius * (sums.paid[witness] + steepest) + beyond,
            theorem: radius * (2.0 * sums.energy[witness].sqrt() + steepest) + beyond,
        })
    }

    /// ‖S/N‖ of the S from which each predicts, computed from scratch.
    fn lengths(&self) -> Each {
        // In the data's own units N = 1.
        let unit =
            |cell: usize| self.units.as_ref().map_or(1.0, |units| units.measure(cell).largest);
        norms::norms_of_four(ScaledSlopes { slopes: &self.slopes, apart: &[], unit })
    }

    /// Moves the cells: cell i gets the value at `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        let moved = |all: &[Slopes]| {
            let at = |&from: &u32| all.get(from as usize).copied().unwrap_or_default();
            from.iter().map(at).collect::<Vec<_>>()
        };
        self.slopes = Lines::from(&moved(&self.slopes)[..]);
        if self.are_of_parts() {
            self.apart = moved(&self.apart);
        }
        if let Some(units) = &mut self.units {
            units.rearrange(from);
        }
    }

    /// Takes in the rounds of witnesses of the same radii that saw other rows, by the same cells.
    /// The lower bounds add up, but the theorem no longer holds.
    pub fn merge(&mut self, other: &Self) {
        self.grow(other.slopes.len());
        for (own, theirs) in self.slopes.iter_mut().zip(&*other.slopes) {
            (0..WITNESSES).for_each(|witness| own.0[witness] += theirs.0[witness]);
        }
        if let (Some(own), Some(theirs)) = (&mut self.units, &other.units) {
            own.merge(theirs);
        }
        self.reach = self.reach.max(other.reach);
        self.importance = self.importance.max(other.importance);
        self.label_rose = true;
        self.sums.merge(&other.sums);
        self.sums.square = self.lengths().map(|length| length.powi(2));
    }

    /// Witnesses of all rounds of a base and of parts that went on from copies of it, by the same
    /// cells. `shares` are the shares of the parts in their mean. The lower bounds are those of all
    /// rounds, but the theorem, which is about one learner, does not hold.
    ///
    /// If they predicted from the sum of what all parts have added to S, every part would make up
    /// for the same errors in the next round, and S would swing ever farther. So they predict from
    /// the mean, and the rest of the sum is kept apart.
    pub(crate) fn of_parts(base: &Self, parts: &[&Self], shares: &[f64]) -> Self {
        let mut merged = base.clone();
        for part in parts {
            merged.grow(part.slopes.len());
            if let (Some(own), Some(theirs)) = (&mut merged.units, &part.units) {
                own.merge(theirs);
            }
            merged.reach = merged.reach.max(part.reach);
            merged.importance = merged.importance.max(part.importance);
            merged.label_rose |= part.label_rose;
        }
        merged.apart = vec![Slopes::default(); merged.slopes.len()];
        for cell in 0..merged.slopes.len() {
            for witness in 0..WITNESSES {
                let mean = mean_at(base, parts, shares, (cell, witness));
                merged.slopes[cell].0[witness] = mean;
                merged.apart[cell].0[witness] = sum_at(base, parts, cell, witness) - mean;
            }
        }
        let sums: Vec<&Sums> = parts.iter().map(|part| &part.sums).collect();
        merged.sums = Sums::of_parts(&base.sums, &sums, shares);
        merged.sums.square = merged.lengths().map(|length| length.powi(2));
        merged
    }

    /// Whether they were merged from parts that played side by side. Then the theorem, which is
    /// about one learner, says nothing.
    pub(crate) fn are_of_parts(&self) -> bool {
        self.sums.are_of_parts()
    }

    /// Whether this, which may be read from anywhere, can be a later state of `fresh`.
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
            && self.slopes.iter().chain(&self.apart).flat_map(|slopes| slopes.0).all(f64::is_finite)
            && self.apart.len() == if self.are_of_parts() { self.slopes.len() } else { 0 }
            && is_size(self.reach)
            && is_size(self.importance)
            && self.sums.are_sound()
    }
}

/// S/N of all witnesses, by cell, where `unit` tells N.
#[derive(Clone, Copy)]
struct ScaledSlopes<'a, N> {
    slopes: &'a [Slopes],
    apart: &'a [Slopes],
    unit: N,
}

impl<N: Fn(usize) -> f32 + Copy> Quads for ScaledSlopes<'_, N> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.slopes.len()
    }

    #[inline(always)]
    fn quad<F: Fours>(&self, at: usize) -> F {
        let slopes = F::load(&self.slopes[at].0);
        let apart = self.apart.get(at).map_or(F::all(0.0), |apart| F::load(&apart.0));
        norms::divided(slopes + apart, F::all_of_single((self.unit)(at)))
    }
}

/// The mean of the S from which parts predict, over those parts that have touched the cell.
fn mean_at<L, M>(
    base: &Witnesses<L, M>,
    parts: &[&Witnesses<L, M>],
    shares: &[f64],
    (cell, witness): (usize, usize),
) -> f64 {
    let at = |one: &Witnesses<L, M>| one.slopes.get(cell).map_or(0.0, |slopes| slopes.0[witness]);
    let from = at(base);
    let moves = parts.iter().map(|part| at(part) - from).zip(shares);
    let touched = moves.filter(|(moved, _)| *moved != 0.0);
    let (sum, all) =
        touched.fold((0.0, 0.0), |(sum, all), (moved, share)| (sum + share * moved, all + share));
    if all > 0.0 { from + sum / all } else { from }
}

/// Σ a_s x_s at a cell over the rounds of a base and those that parts have added. The terms are S
/// and the rest of it, and the sum is rounded once.
fn sum_at<L, M>(
    base: &Witnesses<L, M>,
    parts: &[&Witnesses<L, M>],
    cell: usize,
    witness: usize,
) -> f64 {
    let terms = |one: &Witnesses<L, M>| {
        let of = |all: &[Slopes]| all.get(cell).map_or(0.0, |slopes| slopes.0[witness]);
        [of(&one.slopes), of(&one.apart)]
    };
    let from = terms(base);
    let added = parts.iter().flat_map(|part| terms(part).into_iter().chain(from.map(|x| -x)));
    from.into_iter().chain(added).collect::<Sum>().value()
}

/// Adds a term to the sum of each witness.
#[inline(always)]
fn enter<F: Fours>(sum: &mut Each, terms: F) {
    (F::load(sum) + terms).store(sum);
}

/// The numbers, with 0 in place of those that are not finite: a witness without a bound predicts 0.
#[inline(always)]
fn finite<F: Fours>(numbers: F) -> F {
    F::all(f64::INFINITY).above(numbers.abs(), numbers, F::all(0.0))
}

/// The radii of the unit-free witnesses.
pub const UNIT_FREE_RADII: Each = [1.0, 3.0, 10.0, 30.0];

#[cfg(test)]
mod tests;
