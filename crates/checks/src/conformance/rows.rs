//! Checks that it makes no difference how rows come to a learner: where their features lie, in what
//! portions they come, from whose memory, with what rows in between that do not count, and whether
//! the run was saved on the way.

use rueful_core::learner::Learner;
use rueful_core::ledger::{CurvePoint, Verdict};
use rueful_core::{Batch, Door, Importance, Ledger, Promise, Round, Rows};

/// Checks that a learner and the ledger of its rounds have the same rounds, weights, promise,
/// certificate and curve, bit for bit,
///
/// - with the features spread out, near or far, or near first and then far: all but the first,
///   where these have names in the ledger's comparators;
/// - with rows of importance 0 in between, which have features of their own;
/// - one row at a time, or in portions of any size;
/// - when the run is saved after any portion, by features in increasing order, and restored;
/// - from a matrix in somebody else's memory, with or without zeros.
///
/// `fresh` is the ledger of no rounds, and `stored` saves a ledger and restores it.
pub fn check_rows(
    name: &str,
    make: impl Fn() -> Box<dyn Learner>,
    fresh: &Ledger,
    stored: impl Fn(&Ledger) -> Ledger,
    batch: &Batch,
) {
    let named = fresh.comparators().named_coordinates() as u32;
    let start = || Play { learner: make(), ledger: fresh.clone(), rounds: Vec::new() };
    let plain = start().through(&[batch.rows()]);
    let same = |how: &str, other: &Outcome| {
        assert_eq!(&plain, other, "{name}, {:?}: {how}", fresh.comparators());
    };
    for size in [1, 2, 7, 50] {
        same("in portions", &start().through(&portions(batch, size)));
    }
    for (how, place) in PLACES {
        let spread = spread(batch, |i| if i < named { i } else { place(i) });
        same(how, &start().through(&[Batch::default().rows(), spread.rows()]));
        same(how, &start().through(&portions(&spread, 20)));
        let mut play = start();
        for portion in portions(&spread, 30) {
            play.enter(portion);
            play.put_away(&stored);
        }
        same("put away", &play.outcome());
    }
    same("with rows that do not count", &check_idle_rows(name, &start, batch));
    check_matrix(name, &start, batch);
}

/// A way to place features that keeps their order.
type Place = fn(u32) -> u32;

/// The ways to place the features.
const PLACES: [(&str, Place); 3] = [
    ("spread out", |i| 1000 * i + 7),
    ("far out", |i| 70_000 * i + 7),
    ("near and far", |i| if i < 5 { 1000 * i + 7 } else { 400_000_000 * (i / 5) + i }),
];

/// The results of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    rounds: Vec<Round>,
    /// The weights of the features that were seen, in the order of the features.
    weights: Vec<f64>,
    promise: Promise,
    verdict: Verdict,
    curve: Vec<CurvePoint>,
}

/// A run as the program does it: the ledger says where features are kept, and both work there.
struct Play {
    learner: Box<dyn Learner>,
    ledger: Ledger,
    rounds: Vec<Round>,
}

impl Play {
    fn enter(&mut self, rows: Rows<'_>) {
        let (mut cells, mut rounds) = (Vec::new(), Vec::new());
        let rows = self.ledger.enter(rows, &mut cells);
        self.learner.learn_rows(rows, &mut rounds);
        self.ledger.record_entered(rows, &rounds).expect("finite rounds");
        self.rounds.append(&mut rounds);
    }

    fn through(mut self, portions: &[Rows<'_>]) -> Outcome {
        portions.iter().for_each(|rows| self.enter(*rows));
        self.outcome()
    }

    /// Saves the run with the weights in the order of the features, and restores them to where they
    /// are kept afterwards.
    fn put_away(&mut self, stored: impl Fn(&Ledger) -> Ledger) {
        self.learner.rearrange(&self.ledger.cells().in_order());
        self.ledger = stored(&self.ledger);
        self.learner.rearrange(&self.ledger.cells().places());
    }

    fn outcome(self) -> Outcome {
        let Self { learner, ledger, rounds } = self;
        Outcome {
            rounds,
            weights: ledger.cells().gather(&learner.weights()),
            promise: learner.promise(ledger.comparators(), ledger.coordinates()),
            verdict: ledger.verdict(),
            curve: ledger.curve(),
        }
    }
}

fn portions(batch: &Batch, size: usize) -> Vec<Rows<'_>> {
    let starts = (0..batch.len()).step_by(size);
    starts.map(|from| batch.rows().slice(from..batch.len().min(from + size))).collect()
}

/// The same rows with their features at other indices, in the same order.
fn spread(batch: &Batch, place: impl Fn(u32) -> u32) -> Batch {
    let mut spread = Batch::default();
    for example in batch.iter() {
        let indices: Vec<u32> = example.features.indices().iter().map(|&i| place(i)).collect();
        let values = example.features.values();
        spread
            .push_weighted(&indices, values, example.label, example.importance)
            .expect("places increase");
    }
    spread
}

/// Plays the rows with others in between that do not count, near and far. Each of these must be
/// predicted as at that moment, and otherwise have no effect.
fn check_idle_rows(name: &str, start: &impl Fn() -> Play, batch: &Batch) -> Outcome {
    let (mut mixed, mut counts) = (Batch::default(), Vec::new());
    let mut push = |indices: &[u32], values: &[f32], label: f64, importance: Importance| {
        mixed.push_weighted(indices, values, label, importance).expect("a row");
        counts.push(!importance.is_zero());
    };
    for (t, example) in batch.iter().enumerate() {
        let x = example.features;
        if t % 3 == 0 {
            push(x.indices(), x.values(), -example.label, Importance::ZERO);
        }
        if t % 7 == 0 {
            push(&[1, 60_000, 9_000_000], &[1.0, 1e30, -3.0], 1.0, Importance::ZERO);
        }
        push(x.indices(), x.values(), example.label, example.importance);
    }
    let mut outcome = start().through(&portions(&mixed, 40));
    let mut watched = start();
    for (row, _) in counts.iter().enumerate().filter(|(_, counts)| !**counts) {
        watched.enter(mixed.rows().slice(watched.rounds.len()..row));
        let round = outcome.rounds[row];
        assert_eq!(round, Round::idle(round.prediction), "{name}: row {row} is not idle");
        let before = watched.ledger.clone();
        let mut cells = Vec::new();
        let rows = watched.ledger.enter(mixed.rows().slice(row..row + 1), &mut cells);
        watched.learner.grow(rows.dimension());
        let predicted = watched.learner.predict(&rows.get(0).features);
        assert_eq!(round.prediction, predicted, "{name}: an idle row's prediction");
        assert_eq!(watched.ledger, before, "{name}: an idle row left a trace");
        watched.rounds.push(round);
    }
    let mut counts = counts.iter();
    outcome.rounds.retain(|_| *counts.next().expect("as many rounds as rows"));
    outcome
}

/// Plays the rows as a matrix: all of them with zeros where features are absent, and then those
/// without zeros alone.
fn check_matrix(name: &str, start: &impl Fn() -> Play, batch: &Batch) {
    let width = batch.dimension();
    let mut full = Batch::default();
    for example in batch.iter().filter(|example| example.features.len() == width) {
        let (x, label) = (example.features, example.label);
        full.push_weighted(x.indices(), x.values(), label, example.importance).expect("a row");
    }
    for batch in [batch, &full] {
        let mut matrix = vec![0.0; width * batch.len()];
        for (row, example) in matrix.chunks_mut(width.max(1)).zip(batch.iter()) {
            let x = example.features;
            x.indices().iter().zip(x.values()).for_each(|(&i, &x)| row[i as usize] = x);
        }
        let importances: Vec<Importance> = batch.iter().map(|e| e.importance).collect();
        let mut door = Door::default();
        let rows = door.dense(width, &matrix, batch.labels(), &importances).expect("a matrix");
        let whole = start().through(&[rows]);
        assert_eq!(whole, start().through(&[batch.rows()]), "{name}: from a matrix");
        let half = rows.len() / 2;
        let halves = [rows.slice(0..half), rows.slice(half..rows.len())];
        assert_eq!(whole, start().through(&halves), "{name}: from halves of a matrix");
    }
}
