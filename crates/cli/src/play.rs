//! `rueful play`: plays the games of the notes and shows the results.

use crate::args::{AdversaryArgs, AdversaryName, ErmArgs};
use crate::chart::{self, Series};
use crate::numbers::{Figure, at_most, count, measured};
use crate::{output, view};
use anyhow::{Context, bail};
use rueful_checks::adversary::{self, Adversary, Orthogonal, Sign};
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::bound::game_value;
use rueful_core::learner::{ErmSpec, OgdSpec, RegularizedErmSpec};
use rueful_core::loss::Linear;
use rueful_core::schedule::{Constant, InverseSqrt};
use rueful_core::set::{AnySet, BoxSet};
use rueful_core::{Batch, Ledger, NonNegative, Positive};
use rueful_run::{DataSpec, LearnerSpec, Settings, Spec, build};
use serde::Serialize;

/// The result of ERM, regularised ERM and OGD on the stream that defeats ERM.
#[derive(Serialize)]
struct ErmResult {
    rounds: u64,
    /// The loss of the best w ∈ [−1, 1] in hindsight.
    comparator_loss: f64,
    learners: Vec<Player>,
}

#[derive(Serialize)]
struct Player {
    learner: String,
    loss: f64,
    regret: f64,
    /// The bound of its theorem. It is null for ERM, which has none.
    theorem: Option<f64>,
    /// The cumulative losses at t = 1, 2, 4, 8, … and at the end.
    curve: Vec<Standing>,
}

#[derive(Serialize)]
struct Standing {
    t: u64,
    loss: f64,
}

pub(crate) fn erm(args: &ErmArgs) -> anyhow::Result<()> {
    let stream = counterexample(args.rounds)?;
    let interval: AnySet = BoxSet::interval(-1.0, 1.0)?.into();
    let alpha = (args.rounds as f64).sqrt();
    let fixed = Constant { eta: Positive::new(1.0 / alpha)? };
    // This η is tuned for |g| ≤ 1 and |w| ≤ 1.
    let shrinking = InverseSqrt { eta: Positive::new(2_f64.sqrt())? };
    let players = [
        ("ERM", ErmSpec { set: interval.clone() }.into()),
        (
            "regularised ERM, α = √T",
            RegularizedErmSpec {
                schedule: fixed.into(),
                set: interval.clone(),
                gradient_bound: None,
            }
            .into(),
        ),
        (
            "projected OGD, η = √2/√t",
            OgdSpec {
                schedule: shrinking.into(),
                set: interval.clone(),
                gradient_bound: Some(Positive::ONE),
            }
            .into(),
        ),
    ];
    let learners = players
        .into_iter()
        .map(|(name, learner)| play_erm(name, learner, &interval, &stream))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let slopes: f64 = stream.iter().map(|example| example.label).sum();
    let result = ErmResult { rounds: args.rounds, comparator_loss: -slopes.abs(), learners };
    if args.json { output::print_json(&result) } else { output::print(&show_erm(&result)) }
}

fn counterexample(rounds: u64) -> anyhow::Result<Batch> {
    let rounds = usize::try_from(rounds).context("that many rounds do not fit in memory")?;
    let recipe = Recipe { targets: Targets::Slopes, rounds, dimension: 1, seed: 0 };
    Ok(StreamKind::Counterexample.batch(&recipe))
}

fn play_erm(
    name: &str,
    learner: LearnerSpec,
    interval: &AnySet,
    stream: &Batch,
) -> anyhow::Result<Player> {
    let mut learner = build(&linear_game(learner, interval.clone()).task())?;
    let mut ledger = Ledger::new(Linear {}, interval.clone());
    let mut rounds = Vec::new();
    learner.learn_rows(stream.rows(), &mut rounds);
    ledger.record_rows(stream.rows(), &rounds)?;
    let slopes: f64 = stream.iter().map(|example| example.label).sum();
    let ladder = ledger.ladder(learner.promise(&interval.clone().into(), ledger.coordinates()));
    let curve = ledger.curve();
    Ok(Player {
        learner: name.to_owned(),
        loss: ledger.loss(),
        regret: ledger.loss() + slopes.abs(),
        theorem: ladder.theorem.ok().map(|bound| bound.total),
        curve: curve
            .iter()
            .map(|point| Standing { t: point.rounds(), loss: point.loss() })
            .collect(),
    })
}

/// The description of a game with linear losses.
fn linear_game(learner: LearnerSpec, comparators: AnySet) -> Spec {
    Spec {
        data: DataSpec::libsvm(""),
        loss: Linear {}.into(),
        sigma: NonNegative::ZERO,
        learner,
        comparators: comparators.into(),
        judge: None,
    }
}

fn show_erm(result: &ErmResult) -> String {
    let mut rows = vec![["", "loss", "regret", "theorem"].map(str::to_owned).to_vec()];
    for player in &result.learners {
        rows.push(vec![
            player.learner.clone(),
            measured(player.loss),
            measured(player.regret),
            player.theorem.map_or("none".to_owned(), at_most),
        ]);
    }
    let marks = ['●', '○', '+'];
    let series: Vec<Series<'_>> = result
        .learners
        .iter()
        .zip(marks)
        .map(|(player, mark)| Series {
            name: &player.learner,
            mark,
            points: player.curve.iter().map(|at| (at.t, at.loss)).collect(),
        })
        .collect();
    let title = format!(
        "T = {} on W = [−1, 1] with the losses w/2, −w, +w, −w, …; the best w in hindsight \
         loses {}",
        count(result.rounds),
        measured(result.comparator_loss),
    );
    let table = view::headed(&title, &view::numbers_table(rows, 1..=3));
    match chart::draw(&series) {
        chart if chart.is_empty() => table,
        chart => format!("{table}Cumulative loss\n{chart}"),
    }
}

/// The result of a learner against an adversary.
#[derive(Serialize)]
struct AdversaryResult {
    learner: String,
    adversary: String,
    dimension: u32,
    rounds: u64,
    radius: f64,
    gradient_bound: f64,
    /// The exact total regret against the ball.
    regret: f64,
    /// The value of the game: UG√T.
    game_value: f64,
    /// The regret as a multiple of UG√T.
    ratio: f64,
    /// The bound of the learner's theorem on the total regret. It is null if there is none.
    theorem: Option<f64>,
    /// The bound of the theorem as a multiple of UG√T.
    theorem_ratio: Option<f64>,
    why: Option<String>,
    spec: Spec,
}

pub(crate) fn adversary(args: &AdversaryArgs) -> anyhow::Result<()> {
    let spec = adversary_spec(args)?;
    let task = spec.task();
    let (mut learner, mut ledger) = (build(&task)?, task.ledger());
    let mut opponent = opponent(args)?;
    adversary::play(&mut *learner, &mut *opponent, args.rounds, &mut ledger)?;

    // The tangent of a linear loss is the loss itself, so the minorant is exact. The certificate
    // without its allowance for rounding is therefore the exact regret.
    let regret = ledger.certificate(&task.comparators)
        - ledger.slack(&task.comparators, ledger.coordinates());
    let value = game_value(args.radius, 1.0, args.rounds as f64);
    let ladder = ledger.ladder(learner.promise(&task.comparators, ledger.coordinates()));
    let theorem = ladder.theorem.as_ref().ok().map(|bound| bound.total);
    let result = AdversaryResult {
        learner: spec.learner.name().to_owned(),
        adversary: format!("{:?}", args.adversary).to_lowercase(),
        dimension: args.dimension,
        rounds: args.rounds,
        radius: args.radius,
        gradient_bound: 1.0,
        regret,
        game_value: value,
        ratio: regret / value,
        theorem,
        theorem_ratio: theorem.map(|bound| bound / value),
        why: ladder.theorem.err().map(|missing| missing.why),
        spec,
    };
    if args.json { output::print_json(&result) } else { output::print(&show_adversary(&result)) }
}

fn adversary_spec(args: &AdversaryArgs) -> anyhow::Result<Spec> {
    if args.learner == "perceptron" {
        bail!("the Perceptron learns from labels ±1 and has no part in the game of linear losses");
    }
    let tuned = ["ogd", "regularized-erm", "minimax"].contains(&&*args.learner);
    let settings = Settings {
        learner: Some(args.learner.clone()),
        loss: Some("linear".to_owned()),
        radius: Some(args.radius),
        gradient_bound: tuned.then_some(1.0),
        horizon: (args.learner == "minimax").then_some(args.rounds),
        sigma: (args.learner == "strongly-convex-ogd").then_some(1.0),
        ..Settings::default()
    };
    let resolved = settings
        .resolve(DataSpec::libsvm(""), &mut |_| unreachable!("all that is needed is given"))?;
    Ok(resolved.spec)
}

fn opponent(args: &AdversaryArgs) -> anyhow::Result<Box<dyn Adversary>> {
    let dimension = args.dimension as usize;
    Ok(match args.adversary {
        AdversaryName::Orthogonal => Box::new(Orthogonal::new(dimension, Positive::ONE)?),
        AdversaryName::Sign => Box::new(Sign::new(dimension, Positive::ONE)),
    })
}

fn show_adversary(result: &AdversaryResult) -> String {
    let (how, value) = if result.spec.sigma.get() > 0.0 {
        ("exact: the losses are linear plus (σ/2)‖w‖²", "UG√T, of the game without (σ/2)‖w‖²")
    } else {
        ("exact: the losses are linear", "UG√T: no learner can promise less")
    };
    let row = |name: &str, total: Figure, ratio: Figure, says: String| {
        vec![name.to_owned(), total.to_string(), ratio.decimals(4), says]
    };
    let exact = Figure::measured;
    let mut rows = vec![
        vec![String::new(), "total".to_owned(), "× UG√T".to_owned(), String::new()],
        row("measured regret", exact(result.regret), exact(result.ratio), how.to_owned()),
        row("value of the game", exact(result.game_value), exact(1.0), value.to_owned()),
    ];
    match (result.theorem, result.theorem_ratio, &result.why) {
        (Some(theorem), Some(ratio), _) => {
            let (theorem, ratio) = (Figure::at_most(theorem), Figure::at_most(ratio));
            rows.push(row("theorem", theorem, ratio, "what the learner promises".into()));
        }
        (.., why) => rows.push(vec![
            "theorem".to_owned(),
            "–".to_owned(),
            "–".to_owned(),
            why.clone().unwrap_or_default(),
        ]),
    }
    let title = format!(
        "{} against the {} adversary: T = {} in dimension {}, U = {}, G = {}",
        result.learner,
        result.adversary,
        count(result.rounds),
        count(result.dimension.into()),
        result.radius,
        result.gradient_bound
    );
    view::headed(&title, &view::numbers_table(rows, 1..=2))
}
