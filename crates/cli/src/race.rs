//! `rueful race`

use crate::args::RaceArgs;
use crate::chart::{self, Series};
use crate::figures::{self, Goodness};
use crate::hindsight::{self, Question};
use crate::numbers::{Figure, at_most, count, counted, percent};
use crate::page::Document;
use crate::{data, interrupt, output, page, view};
use anyhow::bail;
use comfy_table::Table;
use rueful_core::loss::{Labels, Loss};
use rueful_data::{DataError, Source, survey_again};
use rueful_hindsight::{Options, Start};
use rueful_page::{Comparison, Rival};
use rueful_run::{
    AnyLoss, Data, DataSpec, Described, HindsightReport, LabelUse, Race, RaceReport, RaceSpec,
    RacerReport, RatesReport, ReadingOptions, Replay, SettingsError,
};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::available_parallelism;

/// The marks of learners in a chart. The learner with the smallest risk gets the first mark.
/// Learners for which there is no mark left are not drawn.
const MARKS: [char; 6] = ['●', '○', '×', '△', '□', '+'];

pub(crate) fn race(args: &RaceArgs) -> anyhow::Result<ExitCode> {
    let options = hindsight::options(&args.solver, args.hindsight)?;
    args.pictures.check()?;
    let stop = interrupt::listen()?;
    let reading_options = args.reading.options();
    let Ready { spec: RaceSpec { learners, notes }, data: read, labels, mut source } =
        ready(args, &reading_options)?;
    let reopen = || data::reopen(&read, labels, &reading_options);
    let comparators = learners[0].comparators.clone();
    let mut replay = Replay::new(&reopen, hindsight::kept_nonzeros(&args.solver), &comparators);
    let threads = reading_options.threads.or_else(|| available_parallelism().ok());
    let mut race = Race::new(&learners, threads.unwrap_or(NonZeroUsize::MIN))?;

    let bar = data::progress_bar(&read);
    let mut was_interrupted = false;
    while !was_interrupted && race.advance(&mut *source)? {
        if args.hindsight {
            replay.keep(race.last());
        }
        bar.set_position(source.bytes_read());
        was_interrupted = stop.is_told();
    }
    bar.finish_and_clear();
    if was_interrupted {
        let examples = counted(race.report(None).examples, "example");
        output::note(&format!("interrupted: this is about the first {examples}"));
    }
    let found = if args.hindsight && (replay.is_kept() || !was_interrupted) {
        solve(&race, &mut replay, &*source, &options)?
    } else {
        None
    };
    let report = race.report(found);
    page::write_all(&Document::Several(&comparison(&report)), &args.pictures)?;
    if args.json {
        notes.iter().for_each(|note| output::note(note));
        output::print_json(&report)?;
    } else {
        output::print(&render(&report, &notes))?;
    }
    let code = if was_interrupted { stop.exit_code() } else { ExitCode::SUCCESS };
    Ok(output::disagree(&report.contradictions, code))
}

/// A race that is ready to begin.
struct Ready {
    spec: RaceSpec,
    data: DataSpec,
    labels: LabelUse,
    source: Box<dyn Source>,
}

fn ready(args: &RaceArgs, reading_options: &ReadingOptions) -> anyhow::Result<Ready> {
    let mut settings = args.settings();
    settings.check()?;
    let labels = settings.shared.labels()?;
    let reading = args.weights.weigh(args.format.settings(&args.files)?)?;
    let Data { spec: data, mut source, loss, .. } =
        data::open(&reading, &args.reading, reading_options, labels)?;
    data::refuse_ids(&data, "a race")?;
    settings.shared.loss = settings.shared.loss.or(loss.map(str::to_owned));
    let labels = LabelUse::Learn(settings.shared.loss()?.labels());
    let mut look_ahead = |_: &AnyLoss| {
        survey_again(&mut *data::reopen(&data, labels, reading_options)?, &mut *source)
    };
    let resolved = settings.resolve(&data, &mut look_ahead);
    if let Err(SettingsError::Data(DataError::OnceOnly { file })) = &resolved {
        let file = if file == "-" { "standard input" } else { file };
        bail!("{file} can be read only once: give --horizon and --gradient-bound");
    }
    Ok(Ready { spec: resolved?, data, labels, source })
}

/// Solves for the best comparator, once for all learners. The solver starts from the weights of the
/// best learner.
fn solve(
    race: &Race,
    replay: &mut Replay<'_>,
    source: &dyn Source,
    options: &Options,
) -> anyhow::Result<Option<HindsightReport>> {
    let Some(leader) = race.leader() else { return Ok(None) };
    replay.settle(source.census());
    let task = leader.task();
    let question = Question { loss: &task.loss, sigma: task.sigma, comparators: &task.comparators };
    let start = Start { lower: race.floor(), ..Start::default() };
    let found = question.answer(replay, &leader.weights(), start, options)?;
    Ok(Some(found.named(source.names())))
}

/// The report as a person reads it.
fn render(report: &RaceReport, notes: &[String]) -> String {
    let them = report.comparators.words(report.loss.labels() == Labels::Numbers);
    let mut text = view::headed("Race", &about(report, notes));
    text += &view::headed(&format!("Learners against {them}"), &compared(report));
    for racer in &report.learners {
        if let Some(why) = &racer.diverged {
            text += &format!("{} is out: {why}\n\n", racer.name);
        }
    }
    let chart = chart::draw(&series(&report.learners));
    if !chart.is_empty() {
        text += &format!("Sequential risk over time\n{chart}");
    }
    format!("{}\n", text.trim_end())
}

fn about(report: &RaceReport, notes: &[String]) -> Table {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("data", report.data.name()),
        row("loss", loss(report)),
        row("examples", count(report.examples)),
    ];
    rows.extend(
        report.data.class_weights.as_ref().map(|weights| row("weights", weights.to_string())),
    );
    let best = report.comparator.map(|best| at_most(best.upper));
    rows.extend(best.map(|best| row("best fixed", format!("loses at most {best} per round"))));
    rows.extend(notes.iter().map(|note| row("note", note.clone())));
    view::plain(rows)
}

fn loss(report: &RaceReport) -> String {
    if report.sigma.get() > 0.0 {
        format!("{} + (σ/2)‖w‖², σ = {}", report.loss, report.sigma)
    } else {
        report.loss.to_string()
    }
}

/// A table with a row for every learner, the best first.
fn compared(report: &RaceReport) -> Table {
    let classifies = report.learners.iter().any(|racer| racer.mistake_rate.is_some());
    let is_exact = report.learners.iter().any(|racer| racer.regret.is_some());
    let goodness = Goodness::of(report.learners.iter().filter_map(rates));
    let mut title = vec!["  learner", "risk"];
    title.extend(classifies.then_some("mistakes"));
    title.extend(goodness.map(Goodness::name));
    title.extend(is_exact.then_some("exact regret"));
    title.push("certificate");
    let numbers = title.len() - 1;
    let is_told = report.learners.iter().any(|racer| !proved(report, racer).is_empty());
    title.extend(is_told.then_some(""));
    title.extend(["", ""]);
    let mut rows = vec![title.into_iter().map(str::to_owned).collect()];
    rows.extend(report.learners.iter().enumerate().map(|(place, racer)| {
        let mark = MARKS.get(place).filter(|_| racer.diverged.is_none()).unwrap_or(&' ');
        let risk = shown(racer.sequential_risk.map(Figure::measured));
        let mut row = vec![format!("{mark} {}", racer.name), risk];
        row.extend(classifies.then(|| racer.mistake_rate.map_or("–".to_owned(), percent)));
        row.extend(goodness.map(|goodness| goodness.told(rates(racer))));
        let regret = racer.regret.map(|regret| Figure::at_most(regret.upper));
        row.extend(is_exact.then(|| shown(regret)));
        row.push(shown(racer.certificate.map(Figure::at_most)));
        row.extend(is_told.then(|| proved(report, racer).to_owned()));
        row.push(standing(place, racer).to_owned());
        row.push(racer.spec.learner.words(racer.spec.sigma));
        row
    }));
    view::numbers_table(rows, 1..=numbers)
}

fn rates(racer: &RacerReport) -> Option<&RatesReport> {
    racer.figures.as_ref().map(|figures| &figures.rates)
}

/// The race as a page.
fn comparison(report: &RaceReport) -> Comparison {
    let files = report.data.files.join(", ");
    let examples = counted(report.examples, "example");
    let best = report.comparator.map(|best| at_most(best.upper));
    let specs: Vec<&Described> = report.learners.iter().map(|racer| &racer.spec).collect();
    Comparison {
        title: format!("Race on {}", page::file_title(&report.data)),
        subtitle: format!("Loss: {}. {examples}, read once by all.", loss(report)),
        comparators: report.comparators.words(report.loss.labels() == Labels::Numbers),
        is_nonnegative: report.loss.is_nonnegative(),
        facts: Vec::new(),
        rivals: report.learners.iter().filter_map(|racer| rival(report, racer)).collect(),
        parameters: best
            .map(|best| {
                ("best fixed predictor".to_owned(), format!("loses at most {best} per round"))
            })
            .into_iter()
            .collect(),
        data: vec![("files".to_owned(), files), ("examples".to_owned(), examples)],
        notes: page::disagreements(&report.contradictions),
        origin: page::origin(&specs),
    }
}

/// The entry of a learner on the page, or none if it diverged. If several learners have the same
/// name, their entries are told apart by η.
fn rival(report: &RaceReport, racer: &RacerReport) -> Option<Rival> {
    let what = racer.spec.learner.words(racer.spec.sigma);
    let is_alone = report.learners.iter().filter(|other| other.name == racer.name).count() == 1;
    Some(Rival {
        name: if is_alone { racer.name.clone() } else { with_eta(&racer.name, &what) },
        what,
        risk: racer.sequential_risk.filter(|_| racer.diverged.is_none())?,
        mistake_rate: racer.mistake_rate,
        figures: racer.figures.as_ref().map_or_else(Vec::new, figures::values),
        certificate: racer.certificate,
        regret: racer.regret.map(page::interval),
        curve: racer.curve.iter().map(|point| (point.t, point.sequential_risk)).collect(),
        windows: Vec::new(),
    })
}

/// The name of a learner and its η, which is taken from its description. η is the only setting for
/// which a race tries several values.
fn with_eta(name: &str, what: &str) -> String {
    let eta = what.split_once("η = ").and_then(|(_, rest)| rest.split(',').next());
    eta.map_or_else(|| name.to_owned(), |eta| format!("{name}, η = {eta}"))
}

/// What the bounds on a learner's regret prove about all comparators at once.
fn proved(report: &RaceReport, racer: &RacerReport) -> &'static str {
    let bounds = || racer.regret.map(|regret| regret.upper).into_iter().chain(racer.certificate);
    let has_beaten = bounds().any(|bound| bound < 0.0);
    view::standing(has_beaten, says_nothing(report, racer))
}

/// Whether a certificate is no smaller than the risk, in a loss that is never negative.
fn says_nothing(report: &RaceReport, racer: &RacerReport) -> bool {
    let known = racer.certificate.zip(racer.sequential_risk);
    report.loss.is_nonnegative() && known.is_some_and(|(certificate, risk)| certificate >= risk)
}

fn standing(place: usize, racer: &RacerReport) -> &'static str {
    match (&racer.diverged, place) {
        (Some(_), _) => "diverged",
        (None, 0) => "best",
        (None, _) => "",
    }
}

fn shown(value: Option<Figure>) -> String {
    value.map_or("–".to_owned(), |value| value.to_string())
}

/// The risks over time of the best learners, each with a mark of its own.
fn series(learners: &[RacerReport]) -> Vec<Series<'_>> {
    let drawn = learners.iter().filter(|racer| racer.diverged.is_none()).zip(MARKS);
    drawn
        .map(|(racer, mark)| Series {
            name: &racer.name,
            mark,
            points: racer.curve.iter().map(|point| (point.t, point.sequential_risk)).collect(),
        })
        .collect()
}
