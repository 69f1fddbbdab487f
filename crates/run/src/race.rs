//! A race: several learners on one stream, which is read once.
//!
//! Every learner has a [`Run`] of its own, and nothing of one reaches another: each predicts and
//! learns exactly as it would alone. They share only what does not depend on them: the reader, the
//! judge, and the best comparator in hindsight.

use crate::bench::Bench;
use crate::contradiction::Contradiction;
use crate::data::DataSpec;
use crate::figures::FiguresReport;
use crate::hindsight::{HindsightReport, Interval};
use crate::report::{CurveReport, Report};
use crate::run::{Run, RunError};
use crate::session::SessionError;
use crate::settings::{Resolved, Settings, SettingsError};
use crate::spec::{AnyLoss, LearnerSpec, Spec, SpecError};
use crate::task::Described;
use rueful_core::ledger::Testimony;
use rueful_core::request::Refusal;
use rueful_core::words::either;
use rueful_core::{Batch, Cells, Comparators, NonNegative, Rows, UnitFree};
use rueful_data::{DataError, Phrase, Source, Survey};
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of nonzeros that are learned from at a time. It is large enough that threads are
/// worth starting.
const ENOUGH: usize = 1 << 17;

/// Rows with fewer nonzeros are not worth a thread.
const FEW: usize = 1 << 12;

/// The settings of a race.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RaceSettings {
    /// Names of [`LearnerSpec::NAMES`]. If there are none, `ogd` races alone.
    pub learners: Vec<String>,
    /// Step sizes η. A learner that uses η races once with each.
    pub etas: Vec<f64>,
    /// All other settings, each for the learners that use it. Unless the settings say otherwise,
    /// comparators are `unit-free` and judged, and with σ > 0 they are a `ball`.
    pub shared: Settings,
}

/// The description of a race.
#[derive(Debug, Clone, PartialEq)]
pub struct RaceSpec {
    /// One description for each learner. All have the same data, loss, σ and comparators.
    pub learners: Vec<Spec>,
    /// The facts that were measured in a first pass over the data, in words.
    pub notes: Vec<String>,
}

impl RaceSettings {
    /// Completes the settings. `survey` is called at most once, and only when a learner must know
    /// the horizon or a gradient bound that was not given.
    pub fn resolve(
        &self,
        data: &DataSpec,
        survey: &mut dyn FnMut(&AnyLoss) -> Result<Survey, DataError>,
    ) -> Result<RaceSpec, SettingsError> {
        self.refuse_idle()?;
        let mut known: Option<Survey> = None;
        let mut once = |loss: &AnyLoss| match known {
            Some(found) => Ok(found),
            None => survey(loss).map(|found| *known.insert(found)),
        };
        let (mut learners, mut notes) = (Vec::new(), Vec::new());
        for settings in self.each()? {
            let resolved = self.resolve_one(&settings, data, &mut once)?;
            notes.extend(resolved.notes);
            learners.push(resolved.spec);
        }
        notes.sort();
        notes.dedup();
        refuse_different_losses(&learners)?;
        Ok(RaceSpec { learners, notes })
    }

    /// Refuses settings that contradict themselves, whatever the data.
    pub fn check(&self) -> Result<(), SettingsError> {
        let plausible = Survey {
            examples: 1,
            example_norm_max: 1.0,
            weighted_norm_max: 1.0,
            label_abs_max: 1.0,
        };
        self.resolve(&DataSpec::libsvm(""), &mut |_| Ok(plausible)).map(|_| ())
    }

    fn names(&self) -> Vec<&str> {
        if self.learners.is_empty() {
            return vec!["ogd"];
        }
        self.learners.iter().map(String::as_str).collect()
    }

    /// The settings of every learner: the ones that it uses.
    fn each(&self) -> Result<Vec<Settings>, SettingsError> {
        let mut all: Vec<Settings> = Vec::new();
        for name in self.names() {
            let uses = LearnerSpec::settings_of(name)?;
            let etas: Vec<Option<f64>> = match &self.etas[..] {
                etas if uses.contains(&"eta") && !etas.is_empty() => {
                    etas.iter().copied().map(Some).collect()
                }
                _ => vec![None],
            };
            for eta in etas {
                let settings = self.settings_of(name, uses, eta);
                if all.contains(&settings) {
                    let told = eta.map_or(String::new(), |eta| format!(" with η = {eta}"));
                    let twice = format!("{name}{told} is in the race twice");
                    return Err(SettingsError::Contradiction(twice.into()));
                }
                all.push(settings);
            }
        }
        Ok(all)
    }

    fn settings_of(&self, name: &str, uses: &[&str], eta: Option<f64>) -> Settings {
        let from = &self.shared;
        let knows = |setting: &str| uses.contains(&setting);
        Settings {
            learner: Some(name.to_owned()),
            eta,
            gradient_bound: from.gradient_bound.filter(|_| knows("gradient-bound")),
            sigma: from.sigma.filter(|_| knows("sigma")),
            alpha: from.alpha.filter(|_| knows("alpha")),
            l1: from.l1.filter(|_| knows("l1")),
            c: from.c.filter(|_| knows("c")),
            schedule: from.schedule.clone().filter(|_| knows("schedule")),
            horizon: from.horizon.filter(|_| knows("horizon")),
            comparators: from.comparators.clone().or(Some("ball".to_owned())),
            judge: from.judge.or(Some(true)),
            ..from.clone()
        }
    }

    fn resolve_one(
        &self,
        settings: &Settings,
        data: &DataSpec,
        survey: &mut dyn FnMut(&AnyLoss) -> Result<Survey, DataError>,
    ) -> Result<Resolved, SettingsError> {
        let mut resolved = settings.resolve(data.clone(), survey)?;
        let spec = &mut resolved.spec;
        let is_penalised = spec.sigma > NonNegative::ZERO;
        if is_penalised && spec.comparators.is_unit_free() {
            return Err(Refusal::Rule(
                "{comparators} unit-free has no penalty on weights, which have units: leave out \
                 learners with {sigma}",
            )
            .into());
        }
        if let (None, Some(radius), false) =
            (&self.shared.comparators, spec.comparators.radius(), is_penalised)
        {
            spec.comparators = UnitFree { radius }.into();
        }
        Ok(resolved)
    }

    /// Refuses settings that no learner of the race uses.
    fn refuse_idle(&self) -> Result<(), SettingsError> {
        let from = &self.shared;
        let given = [
            ("eta", !self.etas.is_empty()),
            ("gradient-bound", from.gradient_bound.is_some()),
            ("sigma", from.sigma.is_some_and(|sigma| sigma != 0.0)),
            ("alpha", from.alpha.is_some()),
            ("l1", from.l1.is_some()),
            ("c", from.c.is_some()),
            ("schedule", from.schedule.is_some()),
            ("horizon", from.horizon.is_some()),
        ];
        let mut used = Vec::new();
        for name in self.names() {
            used.extend_from_slice(LearnerSpec::settings_of(name)?);
        }
        match given.iter().find(|(setting, given)| *given && !used.contains(setting)) {
            Some((setting, _)) => {
                Err(Refusal::NoEffect { setting, on: either(&self.names()) }.into())
            }
            None => Ok(()),
        }
    }
}

/// Refuses learners of different losses, because risks can be compared under one loss only.
fn refuse_different_losses(learners: &[Spec]) -> Result<(), SettingsError> {
    let Some(first) = learners.first() else { return Ok(()) };
    match learners.iter().find(|spec| spec.sigma != first.sigma) {
        None => Ok(()),
        Some(other) => {
            let sigma = |spec: &Spec| format!("{} has σ = {}", spec.learner.name(), spec.sigma);
            let said = format!(
                "a race is about one loss, and (σ/2)‖w‖² is part of it: {}, {}",
                sigma(first),
                sigma(other)
            );
            let advice = "; race learners that take ";
            Err(SettingsError::Contradiction(
                Phrase::from(said + advice).setting("sigma").and(", all with the same"),
            ))
        }
    }
}

/// A race under way.
///
/// ```
/// use rueful_core::Batch;
/// use rueful_run::{DataSpec, Race, RaceSettings};
/// use std::num::NonZeroUsize;
///
/// let settings = RaceSettings { etas: vec![0.1, 10.0], ..RaceSettings::default() };
/// let spec = settings.resolve(&DataSpec::libsvm(""), &mut |_| Ok(Default::default()))?;
/// let mut race = Race::new(&spec.learners, NonZeroUsize::MIN)?;
/// let mut rows = Batch::default();
/// (0..100).try_for_each(|t| rows.push(&[t % 2], &[1.0], if t % 2 == 0 { 1.0 } else { -1.0 }))?;
/// race.learn(rows.rows())?;
/// // On a stream where nothing needs to be forgotten, larger steps arrive sooner.
/// let report = race.report(None);
/// assert_eq!(report.learners[0].spec.learner, spec.learners[1].learner);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Race {
    racers: Vec<Racer>,
    bench: Option<SharedBench>,
    threads: NonZeroUsize,
    data: DataSpec,
    batch: Batch,
    spare: Batch,
}

/// A learner of a race.
struct Racer {
    run: Run,
    /// The result of learning from the last rows.
    outcome: Result<(), RunError>,
}

impl Racer {
    fn learn(&mut self, rows: Rows<'_>) {
        self.outcome = self.run.learn_counted(rows).map(|_| ());
    }

    fn is_running(&self) -> bool {
        !self.run.is_diverged()
    }
}

/// The testimonies of the witnesses that the learner of a run has itself.
fn own_witnesses(run: &Run) -> Vec<Testimony> {
    let ledger = run.ledger();
    run.learner().testify(ledger.comparators(), ledger.coordinates())
}

/// The bench that judges all racers. It sees the rows by the cells that all ledgers of the race
/// have.
struct SharedBench {
    bench: Bench,
    cells: Cells,
    buffer: Vec<u32>,
}

impl SharedBench {
    fn observe(&mut self, rows: Rows<'_>) {
        self.bench.observe_rows(self.cells.enter(rows, &mut self.buffer));
    }
}

/// A piece of work for one thread.
enum Job<'a> {
    Learn(&'a mut Racer),
    Judge(&'a mut SharedBench),
}

impl Job<'_> {
    fn work(self, rows: Rows<'_>) {
        match self {
            Self::Learn(racer) => racer.learn(rows),
            Self::Judge(bench) => bench.observe(rows),
        }
    }
}

impl Race {
    /// A race before its first row, of learners that agree in data, loss and comparators. It runs
    /// on at most `threads` threads. The results are the same for any number of them.
    pub fn new(learners: &[Spec], threads: NonZeroUsize) -> Result<Self, SpecError> {
        let Some(first) = learners.first() else {
            return Err(SpecError::new("a race needs a learner"));
        };
        let agrees = |other: &Spec| {
            (&other.data, other.loss, other.sigma, &other.comparators, other.judge)
                == (&first.data, first.loss, first.sigma, &first.comparators, first.judge)
        };
        if !learners.iter().all(agrees) {
            let what = "learners of a race agree in data, loss, sigma, comparators and judge";
            return Err(SpecError::new(what));
        }
        let racer = |spec: &Spec| {
            spec.check()?;
            let run = Run::new(spec.task())?.judged_elsewhere();
            Ok(Racer { run, outcome: Ok(()) })
        };
        let racers = learners.iter().map(racer).collect::<Result<Vec<_>, SpecError>>()?;
        let named = racers.iter().map(|racer| racer.run.ledger().cells().pinned()).max();
        let cells = || Cells::pinning(named.unwrap_or(0));
        let shared = |bench| SharedBench { bench, cells: cells(), buffer: Vec::new() };
        Ok(Self {
            racers,
            bench: first.task().bench_alone().map(shared),
            threads,
            data: first.data.clone(),
            batch: Batch::default(),
            spare: Batch::default(),
        })
    }

    /// Lets every learner learn from the next rows of a source. Returns whether there were any
    /// rows, and any learner to learn from them.
    pub fn advance(&mut self, source: &mut dyn Source) -> Result<bool, SessionError> {
        let is_over = !self.racers.iter().any(Racer::is_running);
        if is_over || !source.fill(&mut self.batch)? {
            return Ok(false);
        }
        while self.batch.nonzeros() < ENOUGH && source.fill(&mut self.spare)? {
            self.batch.append(self.spare.rows());
        }
        let batch = std::mem::take(&mut self.batch);
        let learned = self.learn(batch.rows());
        self.batch = batch;
        Ok(learned.map(|()| true)?)
    }

    /// The rows that were learned from last, if they came from a source.
    pub fn last(&self) -> Rows<'_> {
        self.batch.rows()
    }

    /// Lets every learner learn from some rows. A learner that diverges learns no more, and the
    /// others go on.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<(), RunError> {
        let mut from = 0;
        while let Some(until_mark) = self.until_mark().filter(|_| from < rows.len()) {
            // It goes up to each point of the curve, so that the judge can speak there.
            let rest = rows.slice(from..rows.len());
            let part = rest.slice(0..rest.until(until_mark));
            self.play(part)?;
            self.speak();
            from += part.len();
        }
        Ok(())
    }

    /// The number of rounds until the next point of the curve, if a learner gets there.
    fn until_mark(&self) -> Option<u64> {
        let running = self.racers.iter().find(|racer| racer.is_running())?;
        Some(running.run.ledger().until_mark())
    }

    /// Lets every learner learn from the same rows, on as many threads as there may be.
    fn play(&mut self, rows: Rows<'_>) -> Result<(), RunError> {
        let racers = self.racers.iter_mut().filter(|racer| racer.is_running()).map(Job::Learn);
        let jobs: Vec<Job<'_>> = self.bench.iter_mut().map(Job::Judge).chain(racers).collect();
        let threads = if rows.nonzeros() < FEW { 1 } else { self.threads.get().min(jobs.len()) };
        let jobs = Mutex::new(jobs.into_iter());
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || std::iter::from_fn(next).for_each(|job| job.work(rows));
        thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        for racer in &mut self.racers {
            if racer.is_running() {
                std::mem::replace(&mut racer.outcome, Ok(()))?;
            }
        }
        Ok(())
    }

    /// At a point of the curve, lets the judge add the bounds that it can prove.
    fn speak(&mut self) {
        if !self.running().any(|run| run.ledger().is_at_mark()) {
            return;
        }
        let witnesses = self.witnesses();
        let running = self.racers.iter_mut().filter(|racer| racer.is_running());
        running.for_each(|Racer { run, .. }| {
            run.hear(&witnesses);
            if self.bench.is_some() {
                run.hear(&own_witnesses(run));
            }
        });
    }

    /// The testimonies of the bench about all rounds so far.
    fn witnesses(&self) -> Vec<Testimony> {
        let running = self.running().next().zip(self.bench.as_ref());
        running.map_or_else(Vec::new, |(run, shared)| {
            let ledger = run.ledger();
            shared.bench.testify(ledger.comparators(), ledger.coordinates())
        })
    }

    /// The testimonies of the bench for comparators of every radius, measured against the loss of
    /// one run, and those of the learner's own witnesses.
    fn witnesses_for(&self, run: &Run) -> Vec<Testimony> {
        let Some(shared) = &self.bench else { return Vec::new() };
        let mut all = shared.bench.testify_for_all(run.ledger());
        all.append(&mut own_witnesses(run));
        all
    }

    fn running(&self) -> impl Iterator<Item = &Run> {
        self.racers.iter().filter(|racer| racer.is_running()).map(|racer| &racer.run)
    }

    /// The learner with the least risk so far, unless all have diverged.
    pub fn leader(&self) -> Option<&Run> {
        let risk = |run: &&Run| run.ledger().sequential_risk();
        self.running().min_by(|a, b| risk(a).total_cmp(&risk(b)))
    }

    /// The best lower bound on the total loss of every comparator.
    pub fn floor(&self) -> Option<f64> {
        let witnesses = self.witnesses();
        let floors = self.running().map(|run| run.floor_hearing(&witnesses));
        floors.reduce(f64::max)
    }

    /// The report so far, best learner first, with the best comparator if it was solved for.
    pub fn report(&self, found: Option<HindsightReport>) -> RaceReport {
        let mut contradictions = Vec::new();
        let mut learners = Vec::new();
        for racer in &self.racers {
            // The bench speaks of all rounds, and a learner that diverged has not seen all.
            let is_heard = racer.is_running();
            let heard = if is_heard { self.witnesses_for(&racer.run) } else { Vec::new() };
            let mut report = racer.run.report_hearing(&heard);
            if let Some(found) = found.clone().filter(|_| racer.is_running()) {
                report.add_hindsight(found, racer.run.ledger());
            }
            report.spec.data = Some(self.data.clone());
            contradictions.append(&mut report.contradictions);
            learners.push(RacerReport::new(report, racer));
        }
        contradictions.dedup();
        learners.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
        // There is always at least one racer.
        let task = self.racers[0].run.task();
        RaceReport {
            examples: self.running().map(|run| run.ledger().rounds()).max().unwrap_or(0),
            learners,
            comparator: found.as_ref().and_then(|found| found.comparator),
            hindsight: found,
            contradictions,
            loss: task.loss,
            sigma: task.sigma,
            comparators: task.comparators.clone(),
            is_judged: self.bench.is_some(),
            data: self.data.clone(),
        }
    }
}

/// The report of a race. Its keys are stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RaceReport {
    /// The number T of examples.
    pub examples: u64,
    /// The learners, that with the least risk first. Those that diverged come last.
    pub learners: Vec<RacerReport>,
    /// The loss of the best comparator, per round, if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparator: Option<Interval>,
    /// The solver's report on the comparator, if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindsight: Option<HindsightReport>,
    /// Proofs that contradict each other. Empty unless something is wrong with the program or with
    /// the machine. The numbers that they are about are withheld.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// The loss φ.
    pub loss: AnyLoss,
    /// The strength σ of the penalty: each loss is φ + (σ/2)‖w‖².
    pub sigma: NonNegative,
    /// The predictors that the regret is measured against.
    pub comparators: Comparators,
    /// Whether witnesses judged.
    #[serde(rename = "judge")]
    pub is_judged: bool,
    /// The data that were read, and how they were read.
    pub data: DataSpec,
}

/// The report on one learner of a race, per round. A learner that diverged has only its description
/// and the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RacerReport {
    /// The name of the learner.
    pub name: String,
    /// The description that repeats its run, with the data.
    pub spec: Described,
    /// The reason why it could not go on, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverged: Option<String>,
    /// The sequential risk (1/T) Σ ℓ_t(w_t).
    pub sequential_risk: Option<f64>,
    /// The share of predictions with the wrong sign. Null for regression.
    pub mistake_rate: Option<f64>,
    /// The figures that people ask for, about the learner's predictions.
    #[serde(flatten)]
    pub figures: Option<FiguresReport>,
    /// The certificate: no comparator was better by more than this. Null if unbounded.
    pub certificate: Option<f64>,
    /// The certificate that the learner's own predictions make, without witnesses.
    pub certificate_own: Option<f64>,
    /// The exact regret, if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Interval>,
    /// The run at t = 1, 2, 4, 8, … and at the end.
    pub curve: Vec<CurveReport>,
}

impl RacerReport {
    fn new(report: Report, racer: &Racer) -> Self {
        let is_running = racer.is_running();
        let trouble = racer.run.trouble().map(|error| error.to_string());
        Self {
            name: report.spec.learner.name().to_owned(),
            spec: report.spec,
            diverged: trouble,
            sequential_risk: Some(report.sequential_risk).filter(|_| is_running),
            mistake_rate: report.mistake_rate.filter(|_| is_running),
            figures: report.figures.filter(|_| is_running),
            certificate: report.certificate.filter(|_| is_running),
            certificate_own: report.certificate_own.filter(|_| is_running),
            regret: report.regret,
            curve: if is_running { report.curve } else { Vec::new() },
        }
    }

    /// The number by which learners are ordered.
    fn rank(&self) -> f64 {
        self.sequential_risk.unwrap_or(f64::INFINITY)
    }
}
