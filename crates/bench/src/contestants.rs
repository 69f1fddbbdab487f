//! The contestants: the bare loops, and every learner as a run would build it.

use crate::bare::{self, Bare};
use crate::generate::Data;
use anyhow::Result;
use rueful_core::learner::{
    FollowTheLeader, Learner, Minimax, Ogd, Perceptron, RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Logistic, Loss, Square};
use rueful_core::schedule::{AdaGradNorm, AnySchedule, InverseSqrt};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Ledger, Objective, Positive};
use std::num::NonZeroU64;

/// One line of the table.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) runner: Runner,
}

/// The way in which a contestant goes over the data. Each pass starts afresh.
pub(crate) enum Runner {
    /// A bare loop.
    Bare(fn(&Data) -> Box<dyn Bare>),
    /// A learner and the ledger that certifies it, chosen once per pass as a run does.
    Learner(Box<dyn Fn() -> Pair>),
}

/// The two parts of a run.
pub(crate) struct Pair {
    pub(crate) learner: Box<dyn Learner>,
    pub(crate) ledger: Ledger,
}

/// All contestants, the floor first.
pub(crate) fn all(data: &Data) -> Result<Vec<Contestant>> {
    let mut all = bare_loops();
    all.extend(descents(data)?);
    all.extend(others(data)?);
    Ok(all)
}

fn bare_loops() -> Vec<Contestant> {
    let bare = |name, run| Contestant { name, runner: Runner::Bare(run) };
    vec![
        bare("bare hinge loop (the floor)", bare::hinge),
        bare("bare hinge loop, f32 weights", bare::hinge_in_singles),
        bare("bare square loop", bare::square),
        bare("bare logistic loop", bare::logistic),
    ]
}

/// Projected OGD with different losses, steps and sets.
fn descents(data: &Data) -> Result<Vec<Contestant>> {
    let ball = Ball { radius: Positive::new(data.radius)? };
    let tight = Ball { radius: Positive::new(data.radius / 20.0)? };
    let adaptive = adaptive(data)?;
    let shrinking = shrinking(data)?;
    let gentle = InverseSqrt { eta: Positive::new(0.2 * data.eta())? };
    Ok(vec![
        ogd("OGD hinge, AdaGradNorm, ball", Hinge {}, adaptive, ball),
        ogd("OGD hinge, InverseSqrt, ball", Hinge {}, shrinking, ball),
        ogd("OGD logistic, AdaGradNorm, ball", Logistic {}, adaptive, ball),
        ogd("OGD logistic, InverseSqrt, ball", Logistic {}, shrinking, ball),
        ogd("OGD square, AdaGradNorm, ball", Square {}, adaptive, ball),
        ogd("OGD square, InverseSqrt, ball", Square {}, gentle, ball),
        ogd("OGD absolute, AdaGradNorm, ball", AnyLoss::from(Absolute {}), adaptive, ball),
        // This ball is so tight that most steps end in a projection.
        ogd("OGD hinge, AdaGradNorm, tight ball", Hinge {}, adaptive, tight),
        ogd("OGD hinge, AdaGradNorm, box", Hinge {}, adaptive, AnySet::from(cube(data)?)),
    ])
}

/// The other learners, most of them with the hinge loss.
fn others(data: &Data) -> Result<Vec<Contestant>> {
    let ball = Ball { radius: Positive::new(data.radius)? };
    let horizon = NonZeroU64::try_from(data.rows() as u64)?;
    let sigma = Positive::new(1e-4)?;
    let adaptive = adaptive(data)?;
    let hinge = AnyLoss::from(Hinge {});
    Ok(vec![
        strongly_convex("strongly convex OGD, hinge", Hinge {}, sigma),
        strongly_convex("strongly convex OGD, logistic", Logistic {}, sigma),
        contestant("Perceptron", hinge, ball, move || Perceptron::new(hinge, Positive::ONE)),
        contestant("follow the leader, ball", hinge, ball, move || {
            FollowTheLeader::new(hinge, ball)
        }),
        regularized("regularised ERM, InverseSqrt, ball", Hinge {}, shrinking(data)?, ball),
        regularized("regularised ERM, AdaGradNorm, ball", Hinge {}, adaptive, ball),
        regularized(
            "regularised ERM, AdaGradNorm, box",
            hinge,
            adaptive,
            AnySet::from(cube(data)?),
        ),
        contestant("minimax", hinge, ball, move || {
            Minimax::new(hinge, ball, Positive::ONE, horizon)
        }),
    ])
}

fn adaptive(data: &Data) -> Result<AdaGradNorm> {
    Ok(AdaGradNorm { diameter: Positive::new(2.0 * data.radius)? })
}

fn shrinking(data: &Data) -> Result<InverseSqrt> {
    Ok(InverseSqrt { eta: Positive::new(data.eta())? })
}

fn cube(data: &Data) -> Result<BoxSet> {
    Ok(BoxSet::cube(Positive::new(0.1 * data.radius)?))
}

/// A learner, certified against `comparators`.
fn contestant<A: Learner + 'static>(
    name: &'static str,
    loss: impl Into<AnyLoss>,
    comparators: impl Into<AnySet>,
    learner: impl Fn() -> A + 'static,
) -> Contestant {
    certified(name, Ledger::new(loss, comparators), learner)
}

fn certified<A: Learner + 'static>(
    name: &'static str,
    ledger: Ledger,
    learner: impl Fn() -> A + 'static,
) -> Contestant {
    let pair = move || Pair { learner: Box::new(learner()), ledger: ledger.clone() };
    Contestant { name, runner: Runner::Learner(Box::new(pair)) }
}

fn ogd<L: Loss + Into<AnyLoss>, W: FeasibleSet + Into<AnySet>>(
    name: &'static str,
    loss: L,
    schedule: impl Into<AnySchedule>,
    set: W,
) -> Contestant {
    let (objective, schedule) = (Objective::plain(loss), schedule.into());
    contestant(name, loss, set.clone(), move || Ogd::new(objective, schedule, set.clone()))
}

fn regularized<W: FeasibleSet + Into<AnySet>>(
    name: &'static str,
    loss: impl Into<AnyLoss>,
    schedule: impl Into<AnySchedule>,
    set: W,
) -> Contestant {
    let (loss, schedule) = (loss.into(), schedule.into());
    contestant(name, loss, set.clone(), move || RegularizedErm::new(loss, schedule, set.clone()))
}

fn strongly_convex<L: Loss + Into<AnyLoss>>(
    name: &'static str,
    loss: L,
    sigma: Positive,
) -> Contestant {
    let ledger = Ledger::regularized(loss, sigma.into(), WholeSpace {});
    certified(name, ledger, move || StronglyConvexOgd::new(loss, sigma))
}
