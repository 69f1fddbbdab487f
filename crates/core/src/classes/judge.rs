//! Witnesses for many classes. They are predictors that bound the loss of the comparators, whoever
//! made the model.
//!
//! They are the witnesses for two classes with matrices in place of vectors. Let N include x_t, and
//! let S = Σ g_s x_sᵀ, E = Σ ‖g_s‖²‖x_s/N_s‖² and G_t = √2·max c·max ‖x/N‖. A witness of radius U
//! then gives the classes the scores
//!
//! ```text
//! z_t = −U·S(x_t/N²)/D_t,    D_t² = ‖S/N_t‖² + E + G_t²
//! ```
//!
//! and predicts their softmax. If there are many classes, its slope gives all classes that no
//! witness thinks likely their average probability.
//!
//! **Theorem**: for every matrix u with ‖u N_T‖_F ≤ U, however the N_i grew,
//!
//! ```text
//! Σ ⟨g_t, z_t − u x_t⟩ ≤ U·(Σ ‖g_t‖²‖x_t/N_t‖²/D_t + G_T) ≤ U·(2√E_T + G_T)
//! ```
//!
//! The proof is the one for vectors. A tangent at z_t lies below the loss. So the left side is at
//! least the loss of the witness minus that of u, except for the difference between its slope and
//! that of its own softmax. These differences are summed and added to the bound. An importance is
//! not known before the label, so G_t uses the largest one so far. If a later one exceeds it, the
//! theorem adds what D_t lacked.

use super::class_of;
use super::minorant::{ClassMinorants, Tangents};
use super::slopes::ClassSlopes;
use crate::comparators::Comparators;
use crate::elementary::{exp_of_negatives, ln};
use crate::features::{Example, Features};
use crate::ledger::Line;
use crate::rows::Rows;
use crate::ruler::{LabelSize, Ruler};
use crate::witness::{UNIT_FREE_RADII, WITNESSES, raised};
use rueful_machine::{Fours, Kernel, Registers, Runner, Widest};
use serde::{Deserialize, Serialize};

/// One number for each witness.
type Each = [f64; WITNESSES];

/// The largest norm of a slope over classes: √2.
const STEEPEST: f64 = std::f64::consts::SQRT_2;

/// Witnesses of four radii side by side that belong to no learner. They are for labels of many
/// classes and the logarithmic loss.
///
/// They see only features and labels. So the same judge serves a run, an audit of somebody else's
/// model, and a part of either.
///
/// Judges that went on side by side from copies of one judge are merged. The merged ones predict from
/// the mean of what the parts have added to S. If they predicted from the sum, every part would make
/// up for the same errors in the next round, and S would swing ever farther. The rest of the sum is
/// kept apart. The theorem, which is about one learner, does not hold for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct ClassJudge {
    radii: Each,
    /// N, or `None` in the data's own units.
    ruler: Option<Ruler>,
    /// One more than the largest class so far.
    classes: u32,
    /// The sums over the rounds. Their S is that from which is predicted.
    minorants: ClassMinorants<Each>,
    /// S of all rounds minus that S, if judges were merged. Otherwise it is empty.
    apart: ClassSlopes<Each>,
    /// ‖S/N‖² as it is updated from round to round, and E.
    square: Each,
    energy: Each,
    /// max ‖x/N‖, and the largest importance.
    reach: f64,
    importance: f64,
    /// The terms of the theorem. `paid` is Σ ‖g‖²‖x/N‖²/D. `excess` is for importances that came
    /// late. `lifted` is for updates of ‖S/N‖² that fell below 0 and were raised to it. `strayed` is for
    /// slopes that differ from those of the softmax.
    paid: Each,
    excess: Each,
    lifted: Each,
    strayed: Each,
    desk: JudgeDesk,
}

/// The stored form of a judge.
#[derive(Serialize, Deserialize)]
struct Stored {
    radii: Each,
    ruler: Option<Ruler>,
    classes: u32,
    /// If judges were merged, then the rest of S is there too, behind the features of S.
    minorants: ClassMinorants<Each>,
    square: Each,
    energy: Each,
    reach: f64,
    importance: f64,
    paid: Each,
    excess: Each,
    lifted: Each,
    strayed: Each,
}

impl From<ClassJudge> for Stored {
    fn from(judge: ClassJudge) -> Self {
        let ClassJudge { radii, ruler, classes, mut minorants, apart, square, energy, .. } = judge;
        minorants.append_slopes(apart);
        let ClassJudge { reach, importance, paid, excess, lifted, strayed, .. } = judge;
        Self {
            radii,
            ruler,
            classes,
            minorants,
            square,
            energy,
            reach,
            importance,
            paid,
            excess,
            lifted,
            strayed,
        }
    }
}

impl TryFrom<Stored> for ClassJudge {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { radii, ruler, classes, mut minorants, square, energy, .. } = stored;
        let Stored { reach, importance, paid, excess, lifted, strayed, .. } = stored;
        let mut apart = ClassSlopes::new();
        if are_of_parts(&excess) {
            let both = minorants.slopes().len();
            if !both.is_multiple_of(2) {
                return Err("merged witnesses have two slopes for every feature");
            }
            apart = minorants.split_slopes(both / 2);
        }
        let desk = JudgeDesk::default();
        Ok(Self {
            radii,
            ruler,
            classes,
            minorants,
            apart,
            square,
            energy,
            reach,
            importance,
            paid,
            excess,
            lifted,
            strayed,
            desk,
        })
    }
}

/// Whether witnesses were merged from parts that played side by side. Then the theorem pays without
/// limit.
fn are_of_parts(excess: &Each) -> bool {
    excess[0] == f64::INFINITY
}

/// Buffers for one row, and the witnesses' predictions for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct JudgeDesk {
    /// ⟨S/N, x/N⟩ by class, and the levels that have not been added to it yet.
    inner: Vec<Each>,
    steps: Vec<Each>,
    /// The softmax of the scores, by class.
    pub(crate) shares: Vec<Each>,
    /// The factor from inner products to scores, ln Σ e^z, D, and G.
    factor: Each,
    log_sum: Each,
    root: Each,
    steepest: f64,
    /// ‖S/N‖² in the units of this row.
    square: Each,
    /// ‖x/N‖², and the largest ‖x/N‖ including this row.
    norm_sq: f64,
    reach: f64,
    tangents: Tangents<Each>,
}

/// The guarantee of one witness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JudgePromise {
    /// U·(Σ‖g‖²‖x/N‖²/D + G), plus the terms for rounding, importances and slopes that strayed.
    pub(crate) data: f64,
    /// U·(2√E + G), plus the same terms.
    pub(crate) theorem: f64,
}

impl PartialEq for JudgeDesk {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// A ruler that measures only features.
pub(super) fn feature_ruler() -> Ruler {
    Ruler::of_parts(Vec::new(), LabelSize { largest: 1.0, is_measured: false })
}

/// Observes some rows.
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
    /// A judge of regret against these comparators. It is `None` if they are not a ball. For a ball
    /// without units it has the radii 1, 3, 10, 30. In the data's own units it has U/10, U/3, U,
    /// 3U.
    pub fn new(comparators: &Comparators) -> Option<Self> {
        let radius = comparators.radius()?.get();
        if comparators.is_unit_free() {
            return Some(Self::unit_free());
        }
        let radii = [0.1, 1.0 / 3.0, 1.0, 3.0].map(|factor| factor * radius);
        Some(Self::with(radii, None))
    }

    /// A judge of the radii 1, 3, 10, 30 without units.
    pub fn unit_free() -> Self {
        Self::with(UNIT_FREE_RADII, Some(feature_ruler()))
    }

    fn with(radii: Each, ruler: Option<Ruler>) -> Self {
        Self {
            radii,
            ruler,
            classes: 0,
            minorants: ClassMinorants::new(),
            apart: ClassSlopes::new(),
            square: [0.0; WITNESSES],
            energy: [0.0; WITNESSES],
            reach: 0.0,
            importance: 0.0,
            paid: [0.0; WITNESSES],
            excess: [0.0; WITNESSES],
            lifted: [0.0; WITNESSES],
            strayed: [0.0; WITNESSES],
            desk: JudgeDesk::default(),
        }
    }

    /// Makes room for features below `dimension`.
    pub(crate) fn grow(&mut self, dimension: usize) {
        self.minorants.grow(dimension);
        if self.is_of_parts() {
            self.apart.grow(dimension);
        }
        if let Some(ruler) = &mut self.ruler {
            ruler.grow(dimension);
        }
    }

    /// Observes rows, whose features must be the cells of the ledger that uses this judge. Rows
    /// whose labels are not numbers of classes are passed over.
    pub fn observe_rows(&mut self, rows: Rows<'_>) {
        self.observe_rows_by::<Widest>(rows);
    }

    fn observe_rows_by<W: Runner>(&mut self, rows: Rows<'_>) {
        self.grow(rows.dimension());
        W::run(Observe { judge: self, rows });
    }

    #[inline(always)]
    fn observe<F: Fours>(&mut self, example: &Example<'_>, class: u32) {
        let mut desk = std::mem::take(&mut self.desk);
        self.foresee::<F>(&example.features, 0, &mut desk);
        self.learn(example, class, &mut desk);
        self.desk = desk;
    }

    /// Computes the witnesses' predictions for features that have a place, and for `unseen` other
    /// features. Changes nothing but the desk.
    #[inline(always)]
    pub(crate) fn foresee<F: Fours>(&self, x: &Features<'_>, unseen: usize, desk: &mut JudgeDesk) {
        let new = self.look(x, desk) + unseen;
        desk.norm_sq += new as f64;
        desk.reach = self.reach.max(desk.norm_sq.sqrt());
        desk.steepest = STEEPEST * self.importance * desk.reach;
        self.predict::<F>(desk);
    }

    /// Computes ⟨S/N, x/N⟩ for every class, in units that include this row. Returns how many
    /// features are new. For these, x/N is ±1.
    #[inline(always)]
    fn look(&self, x: &Features<'_>, desk: &mut JudgeDesk) -> usize {
        let classes = self.classes as usize;
        desk.inner.clear();
        desk.inner.resize(classes, [0.0; WITNESSES]);
        desk.steps.clear();
        desk.steps.resize(classes + 1, [0.0; WITNESSES]);
        (desk.square, desk.norm_sq) = (self.square, 0.0);
        let mut new = 0;
        for (&index, &value) in x.indices().iter().zip(x.values()) {
            let feature = index as usize;
            let known = self.ruler.as_ref().map_or(1.0, |ruler| ruler.largest()[feature]);
            if known == 0.0 {
                new += usize::from(value != 0.0);
                continue;
            }
            let unit = if self.ruler.is_some() && value.abs() > known {
                self.shrink(feature, (known, value.abs()), desk);
                f64::from(value.abs())
            } else {
                f64::from(known)
            };
            let scaled = f64::from(value) / unit;
            desk.norm_sq += scaled * scaled;
            let slopes = self.minorants.slopes();
            slopes.add_feature(feature, scaled / unit, &mut desk.inner, &mut desk.steps);
        }
        let mut waiting = [0.0; WITNESSES];
        for class in (0..classes).rev() {
            (0..WITNESSES).for_each(|k| waiting[k] += desk.steps[class + 1][k]);
            (0..WITNESSES).for_each(|k| desk.inner[class][k] += waiting[k]);
        }
        new
    }

    /// Updates ‖S/N‖², which shrinks because N of a feature is about to grow. What rounding puts below
    /// 0 is raised to it, and is still less than before.
    #[cold]
    #[inline(never)]
    fn shrink(&self, feature: usize, (before, after): (f32, f32), desk: &mut JudgeDesk) {
        let (before, after) = (f64::from(before), f64::from(after));
        for witness in 0..WITNESSES {
            let own = self.minorants.slopes().feature_square(feature, witness);
            let shrunk = desk.square[witness] - (own / before / before - own / after / after);
            desk.square[witness] = shrunk.max(0.0);
        }
    }

    /// Computes the softmax of −U·S(x/N²)/D.
    #[inline(always)]
    fn predict<F: Fours>(&self, desk: &mut JudgeDesk) {
        let steepest = F::all(desk.steepest * desk.steepest);
        let root = (F::load(&desk.square) + F::load(&self.energy) + steepest).sqrt();
        let factor = F::all(0.0) - F::load(&self.radii) / root;
        // If D is 0 or not finite, all scores are 0.
        let factor = F::all(f64::MAX).above(factor.abs(), factor, F::all(0.0));
        (desk.root, desk.factor) = (root.array(), factor.array());
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
        let (largest, sum) = (largest.array(), sum.array());
        (0..WITNESSES).for_each(|k| desk.log_sum[k] = largest[k] + ln(sum[k].max(1.0)));
    }

    /// Completes the round when its class is known.
    pub(crate) fn learn(&mut self, example: &Example<'_>, class: u32, desk: &mut JudgeDesk) {
        let importance = example.importance.get();
        if desk.shares.is_empty() {
            // Before the first class nothing was predicted, and any probabilities will do.
            let equal = 1.0 / f64::from(class + 1);
            desk.shares.resize(class as usize + 1, [equal; WITNESSES]);
        }
        desk.tangents.of_probabilities(&desk.shares, class, importance);
        (self.square, self.reach) = (desk.square, desk.reach);
        self.importance = self.importance.max(importance);
        for witness in 0..WITNESSES {
            self.learn_one(witness, class, importance, desk);
        }
        if let Some(ruler) = &mut self.ruler {
            ruler.measure(&example.features);
        }
        self.minorants.record(&example.features, &desk.tangents, importance);
        self.classes = self.classes.max(class + 1);
    }

    /// Updates E, ‖S/N‖² and the terms of the theorem.
    #[inline(always)]
    fn learn_one(&mut self, witness: usize, class: u32, importance: f64, desk: &JudgeDesk) {
        let (product, square) = products(witness, desk);
        let gradient_sq = square * desk.norm_sq;
        let steepest = STEEPEST * self.importance * desk.reach;
        let more = (steepest - desk.steepest) * (steepest + desk.steepest);
        let root = (desk.root[witness] * desk.root[witness] + more.max(0.0)).sqrt();
        let along = desk.factor[witness] * product;
        self.excess[witness] += finite(along.max(0.0) * (1.0 - desk.root[witness] / root).max(0.0));
        self.paid[witness] += finite(gradient_sq / root);
        // The amount by which the loss of the softmax exceeds the tangent. It is not counted when a
        // class is first seen, because that is paid for elsewhere.
        let own = desk.inner.get(class as usize).map(|inner| desk.factor[witness] * inner[witness]);
        let lost = own.map_or(0.0, |z| importance * (desk.log_sum[witness] - z));
        let tangent = desk.tangents.at_zero[witness] + along;
        self.strayed[witness] += finite((lost - tangent).max(0.0));
        self.energy[witness] += gradient_sq;
        let next = self.square[witness] + 2.0 * product + gradient_sq;
        self.square[witness] = next.max(0.0);
        self.lifted[witness] += raised(-next, root);
    }

    /// The theorem of one witness, against matrices of its radius.
    pub(crate) fn promise(&self, witness: usize) -> JudgePromise {
        let radius = self.radii[witness];
        let steepest = STEEPEST * self.importance * self.reach;
        // The theorem is about ‖S/N‖ as it was updated, so the difference from the true one is
        // added.
        let lacks = (self.length(witness) - self.square[witness].sqrt()).max(0.0);
        let beyond =
            radius * (lacks + self.lifted[witness]) + self.excess[witness] + self.strayed[witness];
        JudgePromise {
            data: radius * (self.paid[witness] + steepest) + beyond,
            theorem: radius * (2.0 * self.energy[witness].sqrt() + steepest) + beyond,
        }
    }

    /// ‖S/N‖, computed from S.
    fn length(&self, witness: usize) -> f64 {
        let unit = |f: usize| self.ruler.as_ref().map_or(1.0, |r| f64::from(r.largest()[f]));
        self.minorants.slopes().norm(witness, unit)
    }

    /// The radii of the witnesses' balls.
    pub(crate) fn radii(&self) -> Each {
        self.radii
    }

    /// The bound of each witness for balls of every radius, from all rounds so far.
    pub fn lines(&self) -> Vec<Line> {
        self.lines_by(self.ruler.as_ref())
    }

    /// The same bounds with the largest values of this ruler.
    pub(super) fn lines_by(&self, ruler: Option<&Ruler>) -> Vec<Line> {
        if !self.is_of_parts() {
            return (0..WITNESSES).map(|witness| self.minorants.line(witness, ruler)).collect();
        }
        let mut slopes = self.minorants.slopes().clone();
        slopes.merge(&self.apart);
        let line = |witness| self.minorants.line_by(witness, &slopes, ruler);
        (0..WITNESSES).map(line).collect()
    }

    /// Whether this was merged from judges that went on side by side. Then the theorem, which is
    /// about one learner, says nothing.
    pub(crate) fn is_of_parts(&self) -> bool {
        are_of_parts(&self.excess)
    }

    /// One more than the largest class so far.
    pub(crate) fn classes(&self) -> u32 {
        self.classes
    }

    /// The number of rounds that it has seen.
    pub fn rounds(&self) -> u64 {
        self.minorants.rounds()
    }

    /// How many numbers it keeps for features and classes. Its memory is proportional to this.
    pub fn cells(&self) -> usize {
        self.minorants.slopes().cells() + self.apart.cells()
    }

    /// Reorders the cells: place i gets the content of place `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        self.minorants.rearrange(from);
        if self.is_of_parts() {
            self.apart.rearrange(from);
        }
        self.ruler.iter_mut().for_each(|ruler| ruler.rearrange(from));
    }

    /// Adds a judge of other rounds, which must have the same cells.
    pub fn merge(&mut self, other: &Self) {
        self.minorants.merge(&other.minorants);
        self.apart.merge(&other.apart);
        if let (Some(own), Some(theirs)) = (&mut self.ruler, &other.ruler) {
            own.merge(theirs);
        }
        self.classes = self.classes.max(other.classes);
        self.reach = self.reach.max(other.reach);
        self.importance = self.importance.max(other.importance);
        for witness in 0..WITNESSES {
            self.energy[witness] += other.energy[witness];
            self.paid[witness] += other.paid[witness];
            self.excess[witness] += other.excess[witness];
            self.lifted[witness] += other.lifted[witness];
            self.strayed[witness] += other.strayed[witness];
            self.square[witness] = self.length(witness).powi(2);
        }
        if self.is_of_parts() {
            self.apart.grow(self.minorants.slopes().len());
        }
    }

    /// Gives the classes other numbers: class i becomes `to[i]`, and there are `classes` of them. The
    /// first `same` of them keep theirs.
    pub(crate) fn renumber(&mut self, to: &[u32], same: u32, classes: u32) {
        self.minorants.renumber(to, same);
        self.apart.renumber(to, same);
        self.classes = classes;
    }

    /// The judge of all rounds of a base and of parts that went on from copies of it, by the same cells
    /// and classes. `shares` are the shares of the parts in their mean.
    pub(crate) fn of_parts(base: &Self, parts: &[&Self], shares: &[f64]) -> Self {
        let mut merged = base.clone();
        for part in parts {
            if let (Some(own), Some(theirs)) = (&mut merged.ruler, &part.ruler) {
                own.merge(theirs);
            }
            merged.classes = merged.classes.max(part.classes);
            merged.reach = merged.reach.max(part.reach);
            merged.importance = merged.importance.max(part.importance);
        }
        let all: Vec<_> = parts.iter().map(|part| (&part.minorants, &part.apart)).collect();
        (merged.minorants, merged.apart) =
            ClassMinorants::of_parts((&base.minorants, &base.apart), &all, shares);
        for witness in 0..WITNESSES {
            // E is that of the mean, from which they predict.
            let from = base.energy[witness];
            let moves = parts.iter().zip(shares).map(|(part, s)| s * (part.energy[witness] - from));
            merged.energy[witness] = (from + moves.sum::<f64>()).max(0.0);
            merged.square[witness] = merged.length(witness).powi(2);
        }
        merged.excess = [f64::INFINITY; WITNESSES];
        merged
    }

    /// Whether this judge, which was read from a file, can be a later state of `fresh` after
    /// exactly this many rounds.
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
            && self.apart.is_sound(self.classes)
            && self.apart.len()
                == if self.is_of_parts() { self.minorants.slopes().len() } else { 0 }
            && self.excess.iter().all(|&e| e >= 0.0 && (self.is_of_parts() || e <= f64::MAX))
            && [&self.square, &self.energy, &self.paid, &self.lifted, &self.strayed]
                .into_iter()
                .flatten()
                .all(is_size)
            && [self.reach, self.importance].iter().all(is_size)
    }
}

/// ⟨g, S(x/N²)⟩ and ‖g‖² of a witness.
#[inline(always)]
fn products(witness: usize, desk: &JudgeDesk) -> (f64, f64) {
    let slope = &desk.tangents.slope;
    let level = slope.level[witness];
    let leveled = desk.inner.iter().take(slope.among as usize);
    let mut product: f64 = leveled.map(|inner| level * inner[witness]).sum();
    let mut square = f64::from(slope.among) * level * level;
    for (class, more) in &slope.listed {
        let own = desk.inner.get(*class as usize).map_or(0.0, |inner| inner[witness]);
        let beneath = if *class < slope.among { level } else { 0.0 };
        product += more[witness] * own;
        square += more[witness] * (more[witness] + 2.0 * beneath);
    }
    (product, square.max(0.0))
}

/// The number, or 0 if it is not finite. In particular, 0/0 costs nothing.
#[inline(always)]
fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
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

    /// The updated norms agree with those computed from S, and wide registers change no bit.
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

    /// Rows of one class.
    fn rows(count: usize, class: f64, values: &[f32]) -> Batch {
        let mut batch = Batch::default();
        let indices: Vec<u32> = (0..values.len() as u32).collect();
        (0..count).for_each(|_| batch.push(&indices, values, class).unwrap());
        batch
    }

    /// Shows rows to a judge in the data's own units, and returns Σ ⟨g_t, z_t⟩ of a witness.
    fn play(judge: &mut ClassJudge, witness: usize, batch: &Batch) -> f64 {
        let (mut sum, mut desk) = (0.0, JudgeDesk::default());
        judge.grow(batch.dimension());
        for example in batch.rows().iter() {
            judge.foresee::<<rueful_machine::Plain as Registers>::Four>(
                &example.features,
                0,
                &mut desk,
            );
            let scores: Vec<f64> =
                desk.inner.iter().map(|i| desk.factor[witness] * i[witness]).collect();
            judge.learn(&example, example.label as u32, &mut desk);
            // Few classes are all listed.
            let slopes = desk.tangents.slope.listed.iter();
            sum += slopes
                .filter_map(|(c, g)| Some(g[witness] * scores.get(*c as usize)?))
                .sum::<f64>();
        }
        sum
    }

    /// A judge after 1000 rows of each of two classes that cancel, and 1000 rows of the first. Then the
    /// running ‖S‖² is set to a number that is as far off as the roundings of some 2⁵³ rounds
    /// could make it. Later rows undo S, or a part of it, with a D that is far too small.
    fn astray(share: f64, later: &Batch) -> (f64, JudgePromise) {
        let ball = crate::set::Ball { radius: Positive::new(1e-3).unwrap() };
        let (mut judge, witness) = (ClassJudge::new(&ball.into()).unwrap(), 2);
        let mut along = play(&mut judge, witness, &rows(1, 1.0, &[1.0]));
        along += play(&mut judge, witness, &rows(1000, 0.0, &[1.0]));
        judge.square = judge.square.map(|square| share * square);
        along += play(&mut judge, witness, later);
        let regret = along + judge.radii[witness] * judge.length(witness);
        (regret, judge.promise(witness))
    }

    /// The proof is about ‖S‖ as it was updated. Here a tenth of ‖S‖² was left, and rows at an angle
    /// lower it, but hardly the true ‖S‖.
    #[test]
    fn a_norm_that_came_out_too_small_is_allowed_for() {
        let (regret, promise) = astray(0.1, &rows(90, 1.0, &[0.5, 0.75_f32.sqrt()]));
        assert!(regret > 0.1, "{regret}");
        assert!(regret <= promise.data && promise.data <= promise.theorem, "{regret} {promise:?}");
    }

    /// Here nothing of ‖S‖² was left, so every row that undoes S puts it below 0.
    #[test]
    fn a_norm_that_is_raised_to_0_is_paid_for() {
        let (regret, promise) = astray(0.0, &rows(1000, 1.0, &[1.0]));
        assert!(regret > 1.0, "{regret}");
        assert!(regret <= promise.data && promise.data <= promise.theorem, "{regret} {promise:?}");
    }
}
