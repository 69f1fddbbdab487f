//! The report of a run, under the names that it keeps in JSON. All values are per round.

use crate::classes::ClassesReport;
use crate::contradiction::{Claim, Contradiction};
use crate::figures::FiguresReport;
use crate::hindsight::{HindsightReport, Interval, MistakeReport};
use crate::judged::JudgedReport;
use crate::passes::PassesReport;
use crate::pending::DelayReport;
use crate::run::Run;
use crate::task::Described;
use rueful_core::classes::ClassTally;
use rueful_core::learner::Expert;
use rueful_core::ledger::CurvePoint;
use rueful_core::loss::{Labels, Loss};
use rueful_core::{Bound, Ladder, Ledger, NoBound, RiskBound};
use serde::{Deserialize, Serialize};

/// The report of a run. Its keys are stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// T, the number of examples.
    pub examples: u64,
    /// How many of the examples were learned from before the run was resumed; present if the run
    /// was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<u64>,
    /// The passes over the data; present if there are several, or if rows are held out. All other
    /// numbers are about the first pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<PassesReport>,
    /// The labels that came later than their rows; present if rows have ids, by which such labels
    /// find them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_labels: Option<DelayReport>,
    /// The number of distinct feature indices that were seen, including the constant feature.
    pub features: u64,
    /// The number of stored feature values, including those of the constant feature.
    pub nonzeros: u64,
    /// How many names share their index with an earlier name, as far as names are kept; present if
    /// features have names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collisions: Option<u64>,
    /// (1/T) Σ ℓ_t(w_t)
    pub sequential_risk: f64,
    /// The part of the sequential risk that is (σ/2)‖w_t‖²; null if nothing is regularised.
    pub penalty: Option<f64>,
    /// The share of predictions with the wrong sign; null for regression.
    pub mistake_rate: Option<f64>,
    /// The usual figures on how good the predictions were; left out before the first round.
    #[serde(flatten)]
    pub figures: Option<FiguresReport>,
    /// The classes, where labels name many of them.
    #[serde(flatten)]
    pub classes: Option<ClassesReport>,
    /// The certificate: no comparator was better by more than this per round. It is null if it is
    /// unbounded.
    pub certificate: Option<f64>,
    /// The certificate from the learner's own predictions, without witnesses.
    pub certificate_own: Option<f64>,
    /// The certificate at other radii, if the comparators are a ball.
    #[serde(flatten)]
    pub judged: JudgedReport,
    /// The learners in the mixture, and how well each of them does; empty without a mixture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experts: Vec<Expert>,
    /// A proved upper bound on the cost of mixing, compared with the best of these learners, per
    /// round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixing_cost: Option<f64>,
    /// An upper bound on the mean error rate of the run's predictors on other examples, if examples
    /// are independent draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_bound: Option<RiskBoundReport>,
    /// The rungs above the certificate.
    pub bound: BoundReport,
    /// The loss of the best comparator; present if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparator: Option<Interval>,
    /// The exact regret; present if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Interval>,
    /// How the comparator was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindsight: Option<HindsightReport>,
    /// The Perceptron's mistakes and their best bound; present if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mistake_bound: Option<MistakeReport>,
    /// max ‖g_t‖
    pub gradient_norm_max: f64,
    /// max ‖x_t‖
    pub example_norm_max: f64,
    /// The run at t = 1, 2, 4, 8, … and at the end.
    pub curve: Vec<CurveReport>,
    /// Proofs that contradict each other. The list is empty unless something is wrong with the
    /// program or with the machine. The numbers in question are withheld.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// The description of the run.
    pub spec: Described,
}

/// An upper bound on the mean risk of the predictors of a run. It holds for independent examples
/// from one distribution, at all times at once, with probability 1 − δ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskBoundReport {
    /// The upper bound on the mean risk.
    pub value: f64,
    /// δ, the probability with which the bound may fail.
    pub delta: f64,
    /// The quantity that is bounded, in words.
    pub of: String,
}

/// The δ of every [`RiskBoundReport`].
const DELTA: f64 = 0.05;

impl RiskBoundReport {
    pub(crate) fn new(mistakes: &RiskBound) -> Self {
        Self { value: mistakes.upper(DELTA), delta: DELTA, of: "error rate".to_owned() }
    }
}

/// The learner's own bounds, per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundReport {
    /// The bound from the run's own steps and gradients.
    pub data: Option<f64>,
    /// The bound from the parameters and a bound on the gradients.
    pub theorem: Option<f64>,
    /// The reference for the proof of the theorem.
    pub reference: Option<String>,
    /// The reason why a bound is missing.
    pub why: Option<String>,
}

/// One point of the curve, per round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurveReport {
    /// The round.
    pub t: u64,
    /// The sequential risk up to this round.
    pub sequential_risk: f64,
    /// The certificate up to this round; null if unbounded.
    pub certificate: Option<f64>,
    /// The loss of the best comparator up to this round; present if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparator: Option<Interval>,
    /// The exact regret up to this round; present if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Interval>,
}

impl Report {
    pub(crate) fn new(
        run: &Run,
        ladder: &Ladder,
        point: &CurvePoint,
        curve: &[CurvePoint],
    ) -> Self {
        let (task, ledger, seen) = (run.task(), run.ledger(), run.seen());
        let classifies = task.loss.labels() == Labels::Signs;
        let names = &seen.names;
        let claim = |(what, total)| Claim::from((what, ledger.per_round(total)));
        let disorder = ladder.disorder.iter();
        let mut report = Self {
            examples: ledger.rounds(),
            resumed: None,
            passes: None,
            delayed_labels: None,
            features: ledger.cells().count() as u64,
            nonzeros: seen.census.nonzeros,
            collisions: (!names.is_empty()).then(|| names.collisions() as u64),
            sequential_risk: ledger.sequential_risk(),
            penalty: (task.sigma.get() > 0.0).then(|| ledger.per_round(ledger.penalty())),
            mistake_rate: classifies.then(|| ledger.per_round(ledger.mistakes() as f64)),
            figures: FiguresReport::new(run.scorecard(), ledger.rounds()),
            classes: None,
            certificate: finite(ledger.at_most_per_round(ladder.certificate)),
            certificate_own: finite(point.own_certificate()),
            judged: JudgedReport::new(task.loss.is_nonnegative(), &task.comparators, point),
            experts: run.learner().experts(),
            mixing_cost: run
                .learner()
                .mixing_cost()
                .filter(|_| run.late() == 0)
                .and_then(|total| finite(ledger.at_most_per_round(total))),
            risk_bound: run.mistakes().filter(|all| all.rounds() > 0).map(RiskBoundReport::new),
            bound: BoundReport::new(|total| ledger.at_most_per_round(total), ladder),
            comparator: None,
            regret: None,
            hindsight: None,
            mistake_bound: None,
            gradient_norm_max: ledger.gradient_norm_max(),
            example_norm_max: ledger.example_norm_max(),
            curve: curve.iter().map(CurveReport::new).collect(),
            contradictions: disorder
                .map(|rungs| Contradiction { lower: claim(rungs.lower), upper: claim(rungs.upper) })
                .collect(),
            spec: task.into(),
        };
        report.withhold_parts();
        report
    }

    /// Withholds all parts of the certificate, and the point of the curve where it stands once more,
    /// if the certificate itself is withheld.
    pub(crate) fn withhold_parts(&mut self) {
        if self.certificate.is_none() && !self.contradictions.is_empty() {
            self.certificate_own = None;
            self.judged = JudgedReport::nothing();
            withhold_end(&mut self.curve, self.examples);
        }
    }

    /// Adds the result of the solver. It is a contradiction if the regret is above a bound on it,
    /// or if the ends of an interval cross. The numbers in question are then withheld.
    pub fn add_hindsight(&mut self, found: HindsightReport, ledger: &Ledger) {
        let regret = found.regret(ledger);
        self.add_solved(found, regret);
    }

    /// Adds the result of the solver for rounds of many classes.
    pub fn add_class_hindsight(&mut self, found: HindsightReport, tally: &ClassTally) {
        let regret = found.regret_between(tally.loss_interval(), tally.rounds());
        self.add_solved(found, regret);
    }

    fn add_solved(&mut self, found: HindsightReport, regret: Option<Interval>) {
        self.contradictions.extend(found.contradiction.clone());
        self.regret = regret;
        self.comparator = found.comparator;
        self.hindsight = Some(found);
        let Some(regret) = self.regret else { return };
        let bounds = [
            ("the certificate", &mut self.certificate),
            ("the data-dependent bound", &mut self.bound.data),
            ("the theorem", &mut self.bound.theorem),
        ];
        for (name, bound) in bounds {
            if let Some(crossed) = Contradiction::between(regret, name, *bound) {
                self.contradictions.push(crossed);
                (*bound, self.regret, self.comparator) = (None, None, None);
            }
        }
        if let Some(regret) = self.regret {
            self.judged.hear_solved(regret, &self.spec.comparators);
        }
        self.withhold_parts();
    }

    /// Adds the comparator's loss at every point of the curve, and the regret. A regret that is above
    /// the certificate of its point is a contradiction, and neither is shown.
    pub fn add_curve(&mut self, points: &[CurvePoint], comparators: &[Interval]) {
        let (mut crossed, end) = (Vec::new(), self.examples);
        for ((shown, point), &comparator) in self.curve.iter_mut().zip(points).zip(comparators) {
            let regret = comparator.regret_between(point.loss_interval(), point.rounds());
            let name = format!("the certificate after {} rounds", shown.t);
            match Contradiction::between(regret, &name, shown.certificate) {
                None => (shown.comparator, shown.regret) = (Some(comparator), Some(regret)),
                Some(found) => {
                    shown.certificate = None;
                    self.certificate = self.certificate.filter(|_| shown.t != end);
                    crossed.push(found);
                }
            }
        }
        self.contradictions.append(&mut crossed);
        self.withhold_parts();
    }

    /// Adds the bound on the mistakes of a Perceptron. If there are more mistakes, that is a
    /// contradiction, and the bound is not shown.
    pub fn add_mistake_bound(&mut self, found: MistakeReport) {
        if found.bound >= found.mistakes as f64 {
            self.mistake_bound = Some(found);
            return;
        }
        let rounds = self.examples.max(1) as f64;
        self.contradictions.push(Contradiction {
            lower: ("the number of mistakes", found.mistakes as f64 / rounds).into(),
            upper: ("the bound on it", found.bound / rounds).into(),
        });
    }
}

/// Withholds the certificate at the end of the curve, which is after so many rounds.
pub(crate) fn withhold_end(curve: &mut [CurveReport], rounds: u64) {
    curve.iter_mut().filter(|point| point.t == rounds).for_each(|point| point.certificate = None);
}

impl BoundReport {
    pub(crate) fn new(per_round: impl Fn(f64) -> f64, ladder: &Ladder) -> Self {
        let value = |rung: &Result<Bound, NoBound>| Some(per_round(rung.as_ref().ok()?.total));
        Self {
            data: value(&ladder.data),
            theorem: value(&ladder.theorem),
            reference: ladder.theorem.as_ref().ok().map(|bound| bound.reference.clone()),
            why: why(&ladder.data, &ladder.theorem),
        }
    }
}

/// Returns the reasons for missing rungs, each only once.
fn why(data: &Result<Bound, NoBound>, theorem: &Result<Bound, NoBound>) -> Option<String> {
    let mut reasons: Vec<&str> =
        [data, theorem].iter().filter_map(|rung| Some(&*rung.as_ref().err()?.why)).collect();
    reasons.dedup();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

impl CurveReport {
    pub(crate) fn new(point: &CurvePoint) -> Self {
        Self {
            t: point.rounds(),
            sequential_risk: point.sequential_risk(),
            certificate: finite(point.certificate()),
            comparator: None,
            regret: None,
        }
    }
}

/// Returns a number if JSON can hold it, which means that it is finite.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, Settings};
    use rueful_core::Batch;
    use rueful_data::Survey;
    use rueful_hindsight::Method;

    fn run() -> Run {
        run_of(&Settings::default(), |_| 1.0)
    }

    fn run_of(settings: &Settings, label: impl Fn(u32) -> f64) -> Run {
        let survey = &mut |_: &_| Ok(Survey::default());
        let resolved = settings.clone().resolve(DataSpec::libsvm(""), survey).unwrap();
        let mut run = Run::new(resolved.spec.task()).unwrap();
        let mut rows = Batch::default();
        (0..20).for_each(|t| rows.push(&[t % 3], &[1.0], label(t)).unwrap());
        run.learn(rows.rows()).unwrap();
        run
    }

    /// Makes the answer of a solver that says that the best comparator loses between these per
    /// round.
    fn found(lower: f64, upper: f64) -> HindsightReport {
        HindsightReport {
            examples: 20,
            comparator: Some(Interval { lower, upper }),
            contradiction: None,
            norm: 1.0,
            relative_gap: 0.0,
            converged: true,
            tolerance: 1e-4,
            passes: 1,
            method: Method::Newton,
            largest_weights: Vec::new(),
        }
    }

    #[test]
    fn a_regret_above_its_bounds_is_withheld_with_them_and_told() {
        let run = run();
        let mut sound = run.report();
        sound.add_hindsight(found(0.0, 0.0), run.ledger());
        assert!(sound.contradictions.is_empty() && sound.regret.is_some());

        let mut report = run.report();
        let (certificate, theorem) = (report.certificate.unwrap(), report.bound.theorem.unwrap());
        let false_claim = report.sequential_risk - theorem - 1.0;
        report.add_hindsight(found(false_claim, false_claim), run.ledger());
        assert_eq!((report.regret, report.comparator, report.certificate), (None, None, None));
        assert_eq!((report.bound.data, report.bound.theorem), (None, None));
        let told: Vec<String> = report.contradictions.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3);
        assert!(told[0].contains("the exact regret, at least"), "{told:?}");
        assert!(told[0].contains(&format!("the certificate ({certificate:e} per round)")));
    }

    /// Losses that cancel leave a sum that rounding decides, and the curve allows for it as the end
    /// does.
    #[test]
    fn the_curve_ends_with_the_regret_of_the_end() {
        let settings = Settings {
            learner: Some("ogd".to_owned()),
            loss: Some("linear".to_owned()),
            ..Settings::default()
        };
        let run = run_of(&settings, |t| if t % 2 == 0 { 1e16 } else { -1e16 });
        for comparator in [0.0, -3.0] {
            let mut report = run.report();
            report.add_hindsight(found(comparator, comparator), run.ledger());
            let all = vec![Interval { lower: comparator, upper: comparator }; report.curve.len()];
            report.add_curve(&run.ledger().curve(), &all);
            let (end, regret) = (report.curve.last().unwrap(), report.regret.unwrap());
            assert_eq!((end.t, end.regret), (20, Some(regret)));
            assert!(regret.upper - regret.lower > 1.0, "{regret:?}");
        }
    }

    #[test]
    fn a_regret_above_the_certificate_of_its_point_is_withheld_with_it_and_told() {
        let run = run();
        let mut report = run.report();
        let points = run.ledger().curve();
        let mut all = vec![Interval { lower: 0.0, upper: 0.0 }; points.len()];
        (all[1].lower, all[1].upper) = (-1e9, -1e9);
        report.add_curve(&points, &all);
        assert!(report.curve[0].regret.is_some() && report.certificate.is_some());
        let crossed = report.curve[1];
        assert_eq!((crossed.certificate, crossed.regret, crossed.comparator), (None, None, None));
        assert_eq!(report.contradictions.len(), 1);
        assert_eq!(report.contradictions[0].upper.what, "the certificate after 2 rounds");
        // What is false at the end is false for the run.
        all.fill(Interval { lower: -1e9, upper: -1e9 });
        report.add_curve(&points, &all);
        assert_eq!((report.certificate, report.certificate_own), (None, None));
        assert!(report.judged.radii.is_empty());
        assert!(report.curve.iter().all(|point| point.certificate.is_none()));
    }

    #[test]
    fn more_mistakes_than_their_bound_are_told() {
        let mut report = run().report();
        let bound = MistakeReport { mistakes: 3, bound: 3.5, norm: 1.0, hinge: 0.0 };
        report.add_mistake_bound(bound);
        assert!(report.mistake_bound.take().is_some() && report.contradictions.is_empty());
        report.add_mistake_bound(MistakeReport { mistakes: 4, ..bound });
        assert!(report.mistake_bound.is_none());
        assert_eq!(report.contradictions[0].lower.value, 0.2);
    }
}
