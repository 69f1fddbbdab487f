//! The contract that every learner must satisfy on any stream. The ladder of its bounds is checked
//! in an [`Arena`](super::Arena).

use super::assert_close;
use rueful_core::Comparators;
use rueful_core::learner::Learner;
use rueful_core::loss::Loss;
use rueful_core::set::Ball;
use rueful_core::{Batch, Features, Positive, Round};

/// How far a prediction may be from weights·x, relative to Σ|w_i x_i|. Running norms have this
/// accuracy.
const NORM: f64 = 1e-9;

/// Checks the contract of [`Learner`] on a stream of finite rounds, for the loss that the learner
/// is measured in:
///
/// - it starts from w_1 = 0, with no rounds played;
/// - `learn` predicts before it updates, and predicts what `predict` says, bit for bit;
/// - a prediction is w_t·x_t for the w_t that `weights` shows;
/// - value and slope are those of the loss at the prediction;
/// - features that have not been seen have weight 0;
/// - looking (`predict`, `weights`, `promise`) changes nothing;
/// - room made early or late, and rounds played one by one or as a batch, make no difference;
/// - every round is counted, empty rows included.
pub fn check_learner<L: Loss>(
    name: &str,
    loss: &L,
    make: impl Fn() -> Box<dyn Learner>,
    batch: &Batch,
) {
    check_any(name, loss, make, batch, Form::Linear);
}

/// Like [`check_learner`], for a learner whose predictions are not w·x, and which may be less sure
/// of an example with features that were never seen. The contributions of its features must add up
/// to the prediction.
pub fn check_mixing_learner<L: Loss>(
    name: &str,
    loss: &L,
    make: impl Fn() -> Box<dyn Learner>,
    batch: &Batch,
) {
    check_any(name, loss, make, batch, Form::Mixed);
}

/// The form of predictions.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Linear,
    Mixed,
}

fn check_any<L: Loss>(
    name: &str,
    loss: &L,
    make: impl Fn() -> Box<dyn Learner>,
    batch: &Batch,
    form: Form,
) {
    check_start(name, &*make());
    let watched = play_watched(name, loss, make(), batch, form);
    let quiet = play_quietly(make(), batch);
    let on_demand = play_on_demand(make(), batch);
    for (how, other) in [("as a batch", quiet), ("growing on demand", on_demand)] {
        assert_eq!(watched.rounds, other.rounds, "{name}: rounds differ when played {how}");
        assert_eq!(watched.weights, other.weights, "{name}: weights differ when played {how}");
    }
}

/// The rounds of a learner, and its weights at the end.
struct Played {
    rounds: Vec<Round>,
    weights: Vec<f64>,
}

impl Played {
    fn new(rounds: Vec<Round>, learner: &dyn Learner) -> Self {
        Self { rounds, weights: learner.weights() }
    }
}

fn check_start(name: &str, learner: &dyn Learner) {
    assert_eq!(learner.rounds(), 0, "{name} starts with rounds played");
    assert!(learner.weights().iter().all(|&w| w == 0.0), "{name} does not start at 0");
    let x = Features::new(&[0, 9], &[1.0, 2.0]).expect("a row");
    assert_eq!(learner.predict(&x), 0.0, "{name} predicts before it has learned");
}

/// Plays a stream and checks everything in every round.
fn play_watched<L: Loss>(
    name: &str,
    loss: &L,
    mut learner: Box<dyn Learner>,
    batch: &Batch,
    form: Form,
) -> Played {
    learner.grow(batch.dimension());
    let set: Comparators = Ball { radius: Positive::ONE }.into();
    let mut rounds = Vec::new();
    for (t, example) in (1..).zip(batch.iter()) {
        let weights = learner.weights();
        let predicted = learner.predict(&example.features);
        match form {
            Form::Linear => check_unseen(name, &*learner, &example.features, predicted),
            Form::Mixed => check_sum(name, &*learner, &example.features, predicted),
        }
        let promise = learner.promise(&set, batch.dimension().into());
        assert_eq!(
            promise,
            learner.promise(&set, batch.dimension().into()),
            "{name}: a promise changed by looking"
        );

        let round = learner.learn(&example);
        assert_eq!(round.prediction, predicted, "{name}: predict and learn differ in round {t}");
        if form == Form::Linear {
            check_dot(name, &weights, &example.features, predicted);
        }
        let at = loss.at(predicted, example.label);
        let importance = example.importance.get();
        let expected = (importance * at.value, importance * at.slope);
        assert_eq!((round.value, round.slope), expected, "{name}: loss in round {t}");
        assert_eq!(learner.rounds(), t, "{name} miscounts");
        rounds.push(round);
    }
    Played::new(rounds, &*learner)
}

fn check_dot(name: &str, weights: &[f64], x: &Features<'_>, predicted: f64) {
    let terms: Vec<f64> = x.iter().map(|(i, x)| weights[i] * x).collect();
    let size: f64 = terms.iter().map(|term| term.abs()).sum();
    assert_close(&format!("{name}: w·x"), predicted, terms.iter().sum(), NORM * size);
}

/// Checks that the contributions of features, with one number for the rest, add up to the
/// prediction.
fn check_sum(name: &str, learner: &dyn Learner, x: &Features<'_>, predicted: f64) {
    let added = learner.contributions(x);
    assert_eq!(added.len(), x.len() + 1, "{name}: one number for the rest");
    let size: f64 = added.iter().map(|added| added.abs()).sum();
    assert_close(&format!("{name}: sum"), predicted, added.iter().sum(), 1e-12 * (1.0 + size));
}

/// Checks that the prediction stays the same with a feature beyond all that were seen.
fn check_unseen(name: &str, learner: &dyn Learner, x: &Features<'_>, predicted: f64) {
    let beyond = learner.weights().len() as u32 + 3;
    let (mut indices, mut values) = (x.indices().to_vec(), x.values().to_vec());
    indices.push(beyond);
    values.push(7.0);
    let x = Features::new(&indices, &values).expect("a row");
    assert_eq!(learner.predict(&x), predicted, "{name}: an unseen feature weighs something");
}

fn play_quietly(mut learner: Box<dyn Learner>, batch: &Batch) -> Played {
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    Played::new(rounds, &*learner)
}

/// Plays a stream, and makes room only when a row needs it.
fn play_on_demand(mut learner: Box<dyn Learner>, batch: &Batch) -> Played {
    let rounds = batch.iter().map(|example| {
        learner.grow(example.features.dimension());
        learner.learn(&example)
    });
    let rounds = rounds.collect();
    learner.grow(batch.dimension());
    Played::new(rounds, &*learner)
}
