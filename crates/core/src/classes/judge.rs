//! Witnesses for many classes: predictors that price the comparators, whoever the model is.
//!
//! They are those of two classes with matrices in the place of vectors. With N including x_t, S = Σ g_s x_sᵀ,
//! E = Σ ‖g_s‖²‖x_s/N_s‖² and G = √2·max c‖x/N‖, a witness of radius U gives the classes the scores
//!
//! ```text
//! z_t = −U·S(x_t/N²)/D_t,    D_t² = ‖S/N‖² + E + G²
//! ```
//!
//! and predicts their softmax. Where classes are many, those that no witness thinks likely are all given
//! what they have on average.

use super::class_of;
use super::minorant::{ClassMinorants, Tangents};
use crate::comparators::Comparators;
use crate::elementary::exp_of_negatives;
use crate::features::{Example, Features};
use crate::ledger::Line;
use crate::rows::Rows;
use crate::ruler::{LabelSize, Ruler};
use crate::witness::{UNIT_FREE_RADII, WITNESSES};
use rueful_machine::{Fours, Kernel, Registers, Runner, Widest};
use serde::{Deserialize, Serialize};

/// A number for each witness.
type Each = [f64; WITNESSES];

/// No slope over classes is steeper: √2.
const STEEPEST: f64 = std::f64::consts::SQRT_2;

/// Witnesses of four radii side by side that belong to no learner, for labels of many classes in the
/// logarithmic loss.
///
/// They see features and labels only, so the same judge serves a run, an audit of somebody else's model,
/// and a part of either.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassJudge {
    radii: Each,
    /// N; nothing in the data's own units.
    ruler: Option<Ruler>,
    /// One more than the largest class so far.
    classes: u32,
    minorants: ClassMinorants<Each>,
    /// ‖S/N‖² as it is carried along, and E.
    square: Each,
    energy: Each,
    /// max ‖x/N‖, and the largest importance.
    reach: f64,
    importance: f64,
    #[serde(skip)]
    desk: Desk,
}

/// Room for one row.
#[derive(Debug, Clone, Default)]
struct Desk {
    /// ⟨S/N, x/N⟩ by class, and levels of it that wait.
    inner: Vec<Each>,
    steps: Vec<Each>,
    shares: Vec<Each>,
    tangents: Tangents<Each>,
}

impl PartialEq for Desk {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// A ruler for features alone.
pub(super) fn feature_ruler() -> Ruler {
    Ruler::of_parts(Vec::new(), LabelSize { largest: 1.0, is_measured: false })
}

/// Takes in some rows.
struct Observe<'a, 'b> {
    judge: &'a mut ClassJudge,
    rows: Rows<'b>,
}

impl Kernel for Observe<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        for example in self.rows.iter() {
            if let Some(class) = class_of(example.label).filter(|_| !example.importance.is_zero()) {
                self.judge.observe::<R::Four>(&example, class);
            }
        }
    }
}

impl ClassJudge {
    /// A judge of regret against these comparators, which must be a ball. In no units it has the radii 1, 3,
    /// 10, 30; in the data's own units U/10, U/3, U, 3U.
    pub fn new(comparators: &Comparators) -> Option<Self> {
        let radius = comparators.radius()?.get();
        let radii = if comparators.is_unit_free() {
            UNIT_FREE_RADII
        } else {
            [0.1, 1.0 / 3.0, 1.0, 3.0].map(|factor| factor * radius)
        };
        Some(Self {
            radii,
            ruler: comparators.is_unit_free().then(feature_ruler),
            classes: 0,
            minorants: ClassMinorants::new(),
            square: [0.0; WITNESSES],
            energy: [0.0; WITNESSES],
            reach: 0.0,
            importance: 0.0,
            desk: Desk::default(),
        })
    }

    /// Takes in rows by the cells of the ledger that it judges with. Their labels are numbers of classes;
    /// whoever made the predictions has refused others.
    pub fn observe_rows(&mut self, rows: Rows<'_>) {
        self.observe_rows_by::<Widest>(rows);
    }

    fn observe_rows_by<W: Runner>(&mut self, rows: Rows<'_>) {
        self.minorants.grow(rows.dimension());
        if let Some(ruler) = &mut self.ruler {
            ruler.grow(rows.dimension());
        }
        W::run(Observe { judge: self, rows });
    }

    #[inline(always)]
    fn observe<F: Fours>(&mut self, example: &Example<'_>, class: u32) {
        let (x, importance) = (&example.features, example.importance.get());
        let mut desk = std::mem::take(&mut self.desk);
        self.lengthen(x);
        // Before the first class there is nothing to give probabilities to.
        if self.classes == 0 {
            self.classes = class + 1;
        }
        let square = self.look(x, &mut desk);
        self.reach = self.reach.max(square.sqrt());
        self.importance = self.importance.max(importance);
        self.predict::<F>(&mut desk);
        desk.tangents.of_probabilities(&desk.shares, class, importance);
        self.learn(&desk, square);
        self.minorants.record(x, &desk.tangents, importance);
        self.classes = self.classes.max(class + 1);
        self.desk = desk;
    }

    /// N grows where a value is beyond all before, and ‖S/N‖² shrinks with it.
    #[inline(always)]
    fn lengthen(&mut self, x: &Features<'_>) {
        let Some(ruler) = &mut self.ruler else { return };
        for (&index, &value) in x.indices().iter().zip(x.values()) {
            let before = f64::from(ruler.largest()[index as usize]);
            if f64::from(value.abs()) > before && before > 0.0 {
                let (feature, after) = (index as usize, f64::from(value.abs()));
                for (witness, square) in self.square.iter_mut().enumerate() {
                    let own = self.minorants.slopes().feature_square(feature, witness);
                    let less = own / before / before - own / after / after;
                    *square = (*square - less).max(0.0);
                }
            }
        }
        ruler.measure(x);
    }

    /// ⟨S/N, x/N⟩ of every class; says ‖x/N‖².
    #[inline(always)]
    fn look(&self, x: &Features<'_>, desk: &mut Desk) -> f64 {
        let classes = self.classes as usize;
        desk.inner.clear();
        desk.inner.resize(classes, [0.0; WITNESSES]);
        desk.steps.clear();
        desk.steps.resize(classes + 1, [0.0; WITNESSES]);
        let mut square = 0.0;
        for (&index, &value) in x.indices().iter().zip(x.values()) {
            let feature = index as usize;
            let unit = self.ruler.as_ref().map_or(1.0, |r| f64::from(r.largest()[feature]));
            let scaled = f64::from(value) / unit;
            square += scaled * scaled;
            let slopes = self.minorants.slopes();
            slopes.add_feature(feature, scaled / unit, &mut desk.inner, &mut desk.steps);
        }
        let mut waiting = [0.0; WITNESSES];
        for class in (0..classes).rev() {
            (0..WITNESSES).for_each(|k| waiting[k] += desk.steps[class + 1][k]);
            (0..WITNESSES).for_each(|k| desk.inner[class][k] += waiting[k]);
        }
        square
    }

    /// The softmax of −U·S(x/N²)/D.
    #[inline(always)]
    fn predict<F: Fours>(&self, desk: &mut Desk) {
        let steepest = STEEPEST * self.importance * self.reach;
        let root_sq = F::load(&self.square) + F::load(&self.energy) + F::all(steepest * steepest);
        let factor = F::all(0.0) - F::load(&self.radii) / root_sq.sqrt();
        // Where D is 0 or beyond doubles nothing is known.
        let factor = F::all(f64::MAX).above(factor.abs(), factor, F::all(0.0));
        let score = |inner: &Each| {
            let z = F::load(inner) * factor;
            F::all(f64::MAX).above(z.abs(), z, F::all(0.0))
        };
        let most = |most: F, inner: &Each| most.max(score(inner));
        let largest = desk.inner.iter().fold(F::all(f64::MIN), most);
        let mut sum = F::all(0.0);
        desk.shares.clear();
        for inner in &desk.inner {
            let e = exp_of_negatives(score(inner) - largest);
            sum = sum + e;
            desk.shares.push(e.array());
        }
        for share in &mut desk.shares {
            (F::load(share) / sum).store(share);
        }
    }

    /// E, and ‖S/N‖² as it will be.
    #[inline(always)]
    fn learn(&mut self, desk: &Desk, norm_sq: f64) {
        let slope = &desk.tangents.slope;
        for witness in 0..WITNESSES {
            let level = slope.level[witness];
            let among = slope.among as usize;
            let mut product: f64 = desk.inner.iter().take(among).map(|z| level * z[witness]).sum();
            let mut square = f64::from(slope.among) * level * level;
            for (class, more) in &slope.listed {
                let own = desk.inner.get(*class as usize).map_or(0.0, |z| z[witness]);
                let beneath = if *class < slope.among { level } else { 0.0 };
                product += more[witness] * own;
                square += more[witness] * (more[witness] + 2.0 * beneath);
            }
            let gradient_sq = square.max(0.0) * norm_sq;
            self.energy[witness] += gradient_sq;
            let next = self.square[witness] + 2.0 * product + gradient_sq;
            self.square[witness] = if next > 0.0 { next } else { 0.0 };
        }
    }

    /// What each witness says of balls of every radius, from all rounds so far.
    pub fn lines(&self) -> Vec<Line> {
        self.lines_by(self.ruler.as_ref())
    }

    /// The same where features are as large as this says.
    pub(super) fn lines_by(&self, ruler: Option<&Ruler>) -> Vec<Line> {
        (0..WITNESSES).map(|witness| self.minorants.line(witness, ruler)).collect()
    }

    /// How many rounds it has seen.
    pub fn rounds(&self) -> u64 {
        self.minorants.rounds()
    }

    /// How many pairs of a feature and a class it keeps: what its memory follows.
    pub fn cells(&self) -> usize {
        self.minorants.slopes().cells()
    }

    /// Puts the cells in other places: place i gets what is at `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        self.minorants.rearrange(from);
        self.ruler.iter_mut().for_each(|ruler| ruler.rearrange(from));
    }

    /// Takes in a judge of other rounds, by the same cells.
    pub fn merge(&mut self, other: &Self) {
        self.minorants.merge(&other.minorants);
        if let (Some(own), Some(theirs)) = (&mut self.ruler, &other.ruler) {
            own.merge(theirs);
        }
        self.classes = self.classes.max(other.classes);
        self.reach = self.reach.max(other.reach);
        self.importance = self.importance.max(other.importance);
        for witness in 0..WITNESSES {
            self.energy[witness] += other.energy[witness];
            let unit = |f: usize| self.ruler.as_ref().map_or(1.0, |r| f64::from(r.largest()[f]));
            self.square[witness] = self.minorants.slopes().norm(witness, unit).powi(2);
        }
    }

    /// Whether this, read from somewhere, can be a later state of `fresh`, after so many rounds.
    pub fn continues(&self, fresh: &Self, rounds: u64) -> bool {
        let is_size = |size: &f64| (0.0..=f64::MAX).contains(size);
        let rulers = match (&self.ruler, &fresh.ruler) {
            (None, None) => true,
            (Some(own), Some(fresh)) => {
                own.continues(fresh) && own.largest().len() == self.minorants.slopes().len()
            }
            _ => false,
        };
        self.radii == fresh.radii
            && rulers
            && self.classes <= super::MOST_CLASSES
            && self.rounds() == rounds
            && self.minorants.is_sound(self.classes)
            && self.square.iter().chain(&self.energy).all(is_size)
            && [self.reach, self.importance].iter().all(is_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::comparators::UnitFree;
    use crate::number::Positive;
    use rueful_machine::Plainly;

    fn stream(classes: u32) -> Batch {
        let mut batch = Batch::default();
        for t in 0..200_u32 {
            let value = |i: u32| ((t * 31 + i * 17) % 101) as f32 / 10.0 - 4.95;
            let class = (t * t + t / 3) % classes.min(1 + t / 4);
            batch.push(&[0, 1, 2], &[1.0, value(1), value(2)], f64::from(class)).unwrap();
        }
        batch
    }

    /// What is carried along is what is computed anew, and wide registers change no bit.
    #[test]
    fn norms_are_carried_along() {
        let ball = Comparators::from(UnitFree { radius: Positive::ONE });
        for classes in [2, 5, 40] {
            let (mut judge, batch) = (ClassJudge::new(&ball).unwrap(), stream(classes));
            let mut plain = judge.clone();
            judge.observe_rows(batch.rows());
            plain.observe_rows_by::<Plainly>(batch.rows());
            assert_eq!(judge, plain);
            for (witness, square) in judge.square.iter().enumerate() {
                let unit = |f: usize| f64::from(judge.ruler.as_ref().unwrap().largest()[f]);
                let anew = judge.minorants.slopes().norm(witness, unit).powi(2);
                assert!((square - anew).abs() < 1e-9 * (1.0 + anew), "{classes}: {square} {anew}");
            }
            assert!(judge.continues(&ClassJudge::new(&ball).unwrap(), 200));
        }
    }
}
