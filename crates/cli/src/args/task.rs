//! Flags for the task of a learner or a model, and for the tuning of learners.

use clap::Args;
use clap::builder::PossibleValuesParser;
use rueful_core::Comparators;
use rueful_run::{AnySchedule, ClassLoss, Settings};

/// The loss and the comparators.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Task")]
pub(crate) struct TaskArgs {
    /// The loss [default: logistic for two labels, square for other numbers, softmax for more than
    /// two names].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(ClassLoss::WITH_OTHERS))]
    pub(crate) loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    pub(crate) tau: Option<f64>,

    /// U: compare with all linear predictors of norm at most U. The weights of the notes' learners
    /// stay within it too [default: 10; every norm for strongly-convex-ogd, and for hindsight
    /// with --sigma].
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    pub(crate) radius: Option<f64>,

    /// How the norm of these predictors is measured: unit-free (weights on columns scaled to ±1,
    /// and labels to ±1) or ball (‖u‖ ≤ U in the data's own units) [default: unit-free; ball with
    /// --sigma, and if one of the notes' learners runs alone].
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(Comparators::BALLS))]
    pub(crate) comparators: Option<String>,
}

/// Whether witnesses judge the regret.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Task")]
pub(crate) struct JudgeArgs {
    /// Whether witnesses bound the loss of these predictors from below. Certificates are then
    /// tighter, and learning does not change [default: on; off if one of the notes' learners runs
    /// alone].
    #[arg(long, value_name = "on|off", value_parser = switch)]
    pub(crate) judge: Option<bool>,
}

/// The settings of the notes' learners.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Tuning")]
pub(crate) struct TuningArgs {
    /// G: the gradients have norm at most G. The steps are tuned to it, and the run checks it.
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    gradient_bound: Option<f64>,

    /// σ: adds (σ/2)‖w‖² to every loss [default: 0; 0.01 for strongly-convex-ogd].
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    sigma: Option<f64>,

    /// α: a fixed regularisation (α/2)‖w‖² for regularized-erm [default: grows].
    #[arg(long, value_name = "ALPHA", allow_negative_numbers = true)]
    alpha: Option<f64>,

    /// λ: adds λ‖w‖₁ to what ftrl minimises, so that weights become 0 [default: 0].
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true)]
    l1: Option<f64>,

    /// C: how far the passive-aggressive learners go for one example [default: 1].
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    c: Option<f64>,

    /// Step sizes [default: inverse-sqrt when η or G is given, adagrad-norm otherwise].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AnySchedule::NAMES))]
    schedule: Option<String>,

    /// T for minimax and the horizon schedule [default: the examples are counted first].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    horizon: Option<u64>,
}

impl TuningArgs {
    /// The settings of a task, without the name of a learner and without η.
    pub(crate) fn settings(&self, task: &TaskArgs, judge: &JudgeArgs) -> Settings {
        let TaskArgs { loss, tau, radius, comparators } = task.clone();
        let Self { gradient_bound, sigma, alpha, l1, c, schedule, horizon } = self.clone();
        Settings {
            learner: None,
            loss,
            tau,
            radius,
            comparators,
            judge: judge.judge,
            eta: None,
            gradient_bound,
            sigma,
            alpha,
            l1,
            c,
            schedule,
            horizon,
        }
    }
}

/// On or off.
fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}
