//! The bench: witnesses that judge rounds, whichever learner played them.
//!
//! They see features and labels only. Witnesses price the comparators of every loss. For the square
//! loss of few features the sufficient statistics know the price itself: the least loss of the
//! comparators of any radius, and with it the exact regret.

use crate::judged::radii;
use crate::statistics::Statistics;
use rueful_core::ledger::{Minorant, Testimony};
use rueful_core::loss::{AnyLoss, Loss};
use rueful_core::{Comparators, Coordinates, Judge, Ledger, NonNegative, Positive, Rows};
use rueful_hindsight::{Gram, LeastLoss};

/// The most features whose square loss is judged by its statistics.
pub(crate) const SQUARE_FEATURES: usize = 256;

/// The most features where many benches sit side by side.
pub(crate) const SQUARE_FEATURES_EACH: usize = 64;

/// The witnesses that judge some rounds, by the cells of the ledger that has the rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Bench {
    judge: Option<Judge>,
    statistics: Option<Statistics>,
    /// The most features that the statistics may have.
    features_max: usize,
}

impl Bench {
    /// A bench that has seen nothing. `None` where no one on it could say anything.
    pub(crate) fn new(
        loss: &AnyLoss,
        comparators: &Comparators,
        judge: Option<Judge>,
        features_max: usize,
    ) -> Option<Self> {
        let is_square = loss.is_square() && comparators.radius().is_some();
        let statistics = is_square.then(|| Statistics::new(Gram::new(NonNegative::ZERO), 0));
        let bench = Self { judge, statistics, features_max };
        (bench.judge.is_some() || is_square).then_some(bench)
    }

    /// Takes in rows that were played.
    pub(crate) fn observe_rows(&mut self, rows: Rows<'_>) {
        self.judge.iter_mut().for_each(|judge| judge.observe_rows(rows));
        let most = self.features_max;
        let goes_on = |own: &mut Statistics| own.observe_each(rows, most, |_, _| ());
        if self.statistics.as_mut().is_some_and(|own| !goes_on(own)) {
            self.statistics = None;
        }
    }

    /// The testimonies of all witnesses about comparators, measured by these coordinates.
    pub(crate) fn testify(
        &self,
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
    ) -> Vec<Testimony> {
        let exact = self.prices(coordinates).zip(comparators.radius());
        let exact = exact.map(|(prices, radius)| prices.tangent(radius));
        let exact = exact.map(|tangent| tangent.testify(comparators, coordinates));
        self.witnesses_testify(comparators, coordinates).chain(exact).collect()
    }

    /// The testimonies about the comparators of a ledger with the same rounds, for every radius.
    pub(crate) fn testify_for_all(&self, ledger: &Ledger) -> Vec<Testimony> {
        let (comparators, coordinates) = (ledger.comparators(), ledger.coordinates());
        let testify = |witness: Minorant| witness.testify(comparators, coordinates);
        let mut all: Vec<Testimony> = self.witnesses_testify(comparators, coordinates).collect();
        if let Some((prices, radius)) = self.prices(coordinates).zip(comparators.radius()) {
            all.extend(radii(radius).map(|radius| testify(prices.tangent(radius))));
            let floor = prices.least.everywhere();
            all.extend(floor.map(|floor| Testimony::everywhere(ledger.rounds(), floor)));
            for loss in [ledger.loss_interval().1, 0.0] {
                meet(&prices, loss, ledger, &mut all);
            }
        }
        all
    }

    fn witnesses_testify(
        &self,
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
    ) -> impl Iterator<Item = Testimony> {
        self.judge.iter().flat_map(move |judge| judge.testify(comparators, coordinates))
    }

    /// The least loss of comparators by their radius, if there are statistics.
    fn prices(&self, coordinates: Coordinates<'_>) -> Option<Prices<'_>> {
        let statistics = self.statistics.as_ref()?;
        let scales = coordinates.ruler().map(|ruler| statistics.scales(ruler));
        let least = statistics.gram().least_loss(scales.as_ref());
        Some(Prices { least, cells: statistics.features() })
    }

    /// Puts the cells in other places: place i gets the cell `from[i]`.
    pub(crate) fn rearrange(&mut self, from: &[u32]) {
        self.judge.iter_mut().for_each(|judge| judge.rearrange(from));
        self.statistics = self.statistics.take().and_then(|own| own.renamed(&inverse(from)));
    }

    /// Takes in a bench of other rounds, by the same cells.
    pub(crate) fn merge(&mut self, other: &Self) {
        if let (Some(own), Some(theirs)) = (&mut self.judge, &other.judge) {
            own.merge(theirs);
        }
        let most = self.features_max;
        let merged = self.statistics.take().zip(other.statistics.as_ref());
        self.statistics =
            merged.and_then(|(mut own, theirs)| own.merge(theirs, most).then_some(own));
    }

    /// A bench with a judge alone.
    pub(crate) fn of(judge: Judge) -> Self {
        Self { judge: Some(judge), statistics: None, features_max: 0 }
    }

    pub(crate) fn judge(&self) -> Option<&Judge> {
        self.judge.as_ref()
    }

    pub(crate) fn into_judge(self) -> Option<Judge> {
        self.judge
    }

    /// The statistics, as long as there are some.
    pub(crate) fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }

    /// The same bench with a judge and statistics that were read from somewhere.
    pub(crate) fn taking(self, judge: Option<Judge>, statistics: Option<Statistics>) -> Self {
        Self { judge, statistics, ..self }
    }

    /// A later state of this fresh bench, after so many rounds, with a judge and statistics that
    /// were read from somewhere and know so many features. `None` if they cannot be such a state.
    pub(crate) fn continued(
        &self,
        judge: Option<Judge>,
        statistics: Option<Statistics>,
        rounds: u64,
        features: usize,
    ) -> Option<Self> {
        let is_judge = match (&judge, &self.judge) {
            (None, None) => true,
            (Some(own), Some(fresh)) => own.continues(fresh, rounds),
            _ => false,
        };
        let may_be = |own: &Statistics| {
            self.statistics.is_some()
                && own.gram().rounds() == rounds
                && own.features().len() <= self.features_max
                && own.features().iter().all(|&feature| (feature as usize) < features)
        };
        let is_whole = is_judge && statistics.as_ref().is_none_or(may_be);
        is_whole.then(|| self.clone().taking(judge, statistics))
    }

    /// The number of bytes that a cell takes.
    pub(crate) fn bytes_per_cell(&self) -> usize {
        self.judge.as_ref().map_or(0, Judge::bytes_per_cell)
    }
}

/// The least loss by radius, in terms of the cells of a ledger.
struct Prices<'a> {
    least: LeastLoss<'a>,
    cells: Vec<u32>,
}

impl Prices<'_> {
    fn tangent(&self, radius: Positive) -> Minorant {
        let mut tangent = self.least.tangent(radius);
        tangent.rearrange(&inverse(&self.cells));
        tangent
    }
}

/// Looks for the radius where the least loss is as large as a given one. The least loss is convex
/// in the radius and falls. So its tangents meet the level before the radius that is looked for,
/// and nearer each time.
fn meet(prices: &Prices<'_>, loss: f64, ledger: &Ledger, all: &mut Vec<Testimony>) {
    let (comparators, coordinates) = (ledger.comparators(), ledger.coordinates());
    let reach = |one: &Testimony| one.line().and_then(|line| line.above_up_to(loss));
    let mut farthest = all.iter().filter_map(reach).fold(0.0, f64::max);
    for _ in 0..STEPS {
        let Some(radius) = Positive::new(farthest).ok().filter(|_| farthest.is_finite()) else {
            return;
        };
        let tangent = prices.tangent(radius).testify(comparators, coordinates);
        let next = reach(&tangent).unwrap_or(0.0);
        all.push(tangent);
        if next <= farthest * (1.0 + ENOUGH) {
            return;
        }
        farthest = next;
    }
}

/// The most steps. Newton's method doubles the digits in every step.
const STEPS: usize = 30;

/// The relative gain in radius that is worth another step.
const ENOUGH: f64 = 1e-9;

/// The place of every cell, where place i gets the cell `from[i]`.
fn inverse(from: &[u32]) -> Vec<u32> {
    let count = from.iter().filter(|&&cell| cell != u32::MAX).max().map_or(0, |&cell| cell + 1);
    let mut places = vec![u32::MAX; count as usize];
    for (place, &cell) in (0..).zip(from) {
        if let Some(slot) = places.get_mut(cell as usize) {
            *slot = place;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, Run, Settings};
    use rueful_core::{Batch, Importance, Ruler};
    use rueful_hindsight::{InMemory, Options, Scales, Start, solve_unit_free};

    fn run(radius: f64, learner: &str) -> Run {
        let settings = Settings {
            learner: Some(learner.to_owned()),
            loss: Some("square".to_owned()),
            radius: Some(radius),
            comparators: Some("unit-free".to_owned()),
            judge: Some(true),
            ..Settings::default()
        };
        let resolved =
            settings.resolve(DataSpec::libsvm(""), &mut |_| Ok(Default::default())).unwrap();
        Run::new(resolved.spec.task()).unwrap()
    }

    /// Rows of columns of very different sizes, far apart. Some rows do not count.
    fn rows(from: u32, to: u32, columns: u32) -> Batch {
        let mut batch = Batch::default();
        for t in from..to {
            let wave = |k: u32| f64::from(t * k % 101) / 50.0 - 1.0;
            let indices = [0, 1 + t % columns, 900_000 + 7 * (t % 5)];
            let values = [1.0, (1e3 * wave(7)) as f32, (1e-3 * wave(13)) as f32];
            let label = 40.0 + 3.0 * wave(7) + f64::from(t % 5) + wave(29);
            let importance = Importance::new(f64::from(t % 4)).unwrap();
            batch.push_weighted(&indices, &values, label, importance).unwrap();
        }
        batch
    }

    /// The regret, by a solver that goes through the rows.
    fn solved(batch: &Batch, radius: f64, loss: f64) -> (f64, f64) {
        let counted = Batch::default();
        let mut counted = batch.rows().iter().fold(counted, |mut all, example| {
            if !example.importance.is_zero() {
                let x = &example.features;
                all.push_weighted(x.indices(), x.values(), example.label, example.importance)
                    .unwrap();
            }
            all
        });
        let mut ruler = Ruler::new(&rueful_core::loss::Square {});
        ruler.observe_rows(counted.rows());
        let scales = Scales { columns: ruler.largest().to_vec(), label: ruler.label() };
        let options = Options { tolerance: 1e-8, ..Options::default() };
        let mut data = InMemory { batches: std::slice::from_mut(&mut counted) };
        let Ok(found) = solve_unit_free(
            rueful_core::loss::Square {},
            Positive::new(radius).unwrap(),
            &scales,
            &mut data,
            Start::default(),
            &options,
            &mut rueful_hindsight::unwatched,
        );
        (loss - found.upper, loss - found.lower)
    }

    #[test]
    fn the_certificate_of_the_square_loss_is_the_regret() {
        let batch = rows(0, 600, 9);
        for radius in [0.1, 1.0, 10.0] {
            for learner in ["bank", "ogd"] {
                let mut run = run(radius, learner);
                run.learn(batch.rows()).unwrap();
                let point = run.point();
                let (lower, upper) = solved(&batch, radius, run.ledger().loss());
                let certificate = point.certificate_total();
                assert!(certificate >= lower, "{learner} {radius}: {certificate} < {lower}");
                let loss = run.ledger().loss() + lower.abs();
                assert!(upper - lower <= 1e-6 * loss, "{lower} {upper} of {loss}");
                assert!(certificate <= upper + 1e-9 * loss, "{learner} {radius}: {certificate}");
            }
        }
    }

    #[test]
    fn the_radius_up_to_which_all_are_beaten_is_where_the_regret_is_nothing() {
        let batch = rows(0, 600, 9);
        let mut run = run(1.0, "bank");
        run.learn(batch.rows()).unwrap();
        let reach = run.point().beats_up_to().unwrap();
        assert!(reach > 0.1, "{reach}");
        for (factor, is_beaten) in [(1.0 - 1e-6, true), (1.0 + 1e-6, false)] {
            let (lower, upper) = solved(&batch, factor * reach, run.ledger().loss());
            assert!(if is_beaten { lower < 0.0 } else { upper > 0.0 }, "{factor}: {lower} {upper}");
        }
    }

    #[test]
    fn how_rows_come_changes_nothing_and_too_many_features_end_it() {
        for columns in [9, 400] {
            let batch = rows(0, 700, columns);
            let mut whole = run(10.0, "bank");
            whole.learn(batch.rows()).unwrap();
            let statistics = whole.jury().unwrap().statistics();
            assert_eq!(statistics.is_some(), columns == 9);
            for piece in [1, 50] {
                let mut parts = run(10.0, "bank");
                for from in (0..batch.len()).step_by(piece) {
                    let to = batch.len().min(from + piece);
                    parts.learn(batch.rows().slice(from..to)).unwrap();
                }
                assert_eq!(parts.report(), whole.report());
                assert_eq!(parts.jury(), whole.jury());
            }
        }
    }

    #[test]
    fn merged_is_whole() {
        let (first, second) = (rows(0, 300, 5), rows(300, 700, 9));
        let mut merged = run(1.0, "ogd");
        merged.learn(first.rows()).unwrap();
        let mut other = run(1.0, "ogd");
        other.learn(second.rows()).unwrap();
        merged.merge(&other).unwrap();
        let loss = merged.ledger().loss();
        let mut all = first;
        all.append(second.rows());
        let (lower, upper) = solved(&all, 1.0, loss);
        let certificate = merged.point().certificate_total();
        let is_regret = lower <= certificate && certificate <= upper + 1e-9 * loss;
        assert!(is_regret && upper - lower <= 1e-6 * loss, "{certificate}: {lower} to {upper}");
    }
}
