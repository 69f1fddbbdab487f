//! The command `rueful data`, and the functions that open data for the other commands.

use crate::args::{DataArgs, ReadingArgs};
use crate::numbers::{count, counted, measured};
use crate::{output, view};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use rueful_core::{Batch, Example};
use rueful_data::{
    ColumnProfile, DataError, FarApart, Names, NamesSettings, Oddity, Role, Source, argument,
    path_of, printable,
};
use rueful_run::{Data, DataSettings, DataSpec, LabelUse, ReadingOptions};
use serde::Serialize;

/// The largest numbers of features of an example, and of labels, that are shown.
const FEATURES_SHOWN: usize = 12;
const LABELS_SHOWN: usize = 12;

/// Everything that `rueful data` shows.
#[derive(Serialize)]
struct Look {
    examples: u64,
    nonzeros: u64,
    features: u64,
    /// The sum of the labels; null if labels are names.
    label_sum: Option<f64>,
    labels: Vec<LabelLook>,
    /// Whether there are more labels than are listed.
    more_labels: bool,
    /// The loss that is chosen if none is named; null if none follows from the labels.
    loss: Option<&'static str>,
    missing: u64,
    collisions: usize,
    columns: Vec<ColumnProfile>,
    /// Two columns of numbers whose sizes are far apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    far_apart: Option<FarApart>,
    first: Vec<ExampleLook>,
    notes: Vec<String>,
    data: DataSpec,
}

#[derive(Serialize)]
struct LabelLook {
    label: String,
    count: u64,
}

#[derive(Serialize)]
struct ExampleLook {
    /// The label; null if there are no labels.
    label: Option<f64>,
    features: Vec<FeatureLook>,
}

#[derive(Serialize)]
struct FeatureLook {
    index: u32,
    name: Option<String>,
    value: f32,
}

pub(crate) fn data(args: &DataArgs) -> anyhow::Result<()> {
    let Data { spec, notes, loss, label_notes, mut source } =
        args.format.settings(&args.files)?.open(LabelUse::Look, &args.reading.options())?;
    write_schema(&args.reading, &spec)?;
    let bar = progress_bar(&spec);
    let mut batch = Batch::default();
    let mut first: Vec<ExampleLook> = Vec::new();
    let mut profile = spec.schema.profile();
    let has_labels = spec.schema.has_label();
    while source.fill(&mut batch)? {
        let wanted = args.show.saturating_sub(first.len());
        let look = |example: Example<'_>| ExampleLook::new(&example, has_labels);
        first.extend(batch.iter().take(wanted).map(look));
        profile.iter_mut().for_each(|profile| profile.see(batch.rows(), source.names()));
        bar.set_position(source.bytes_read());
    }
    bar.finish_and_clear();
    for feature in first.iter_mut().flat_map(|example| &mut example.features) {
        feature.name = name_of(source.names(), spec.constant, feature.index);
    }
    let notes = notes.iter().chain(&label_notes).map(|note| note.text(&output::flag)).collect();
    let loss = loss.filter(|_| has_labels);
    let mut look = Look { loss, ..Look::new(&*source, spec, first, notes) };
    look.columns = profile.as_ref().map_or(Vec::new(), |p| p.columns(source.missing()));
    look.far_apart = profile.and_then(|profile| profile.far_apart());
    if args.json { output::print_json(&look) } else { output::print(&look.render()) }
}

/// Returns the name of a feature, if it has one.
pub(crate) fn name_of(names: &Names, constant: bool, index: u32) -> Option<String> {
    if index == 0 && constant { Some("constant".to_owned()) } else { names.get(index) }
}

/// Opens the data that a command learns from, and prints what was inferred.
pub(crate) fn open(
    settings: &DataSettings,
    reading_args: &ReadingArgs,
    reading_options: &ReadingOptions,
    labels: LabelUse,
) -> anyhow::Result<Data> {
    let data = settings.open(labels, reading_options)?;
    tell(&data);
    write_schema(reading_args, &data.spec)?;
    Ok(data)
}

/// Prints what was inferred from the labels, and from the columns if there are any. Without
/// columns, the only note is the name of the format, which is not worth printing.
pub(crate) fn tell(data: &Data) {
    let has_columns = !data.spec.schema.columns().is_empty();
    let of_columns = data.notes.iter().filter(|_| has_columns);
    of_columns.chain(&data.label_notes).for_each(|note| output::note(&note.text(&output::flag)));
}

/// Opens data once more. Data that can be read only once, such as standard input, are refused.
pub(crate) fn reopen(
    spec: &DataSpec,
    labels: LabelUse,
    reading_options: &ReadingOptions,
) -> Result<Box<dyn Source>, DataError> {
    match spec.once_only() {
        Some(file) => Err(DataError::OnceOnly { file: file.to_owned() }),
        None => spec.open(labels, reading_options),
    }
}

/// Refuses rows that wait for their labels, in a command for which every row must be whole.
pub(crate) fn refuse_ids(spec: &DataSpec, what: &str) -> anyhow::Result<()> {
    if !spec.schema.has_ids() {
        return Ok(());
    }
    bail!(
        "the schema has ids, by which labels that come late find their rows: {what} compares \
         predictions that are made in turn, so drop the column of ids"
    )
}

pub(crate) fn write_schema(args: &ReadingArgs, spec: &DataSpec) -> anyhow::Result<()> {
    let Some(path) = &args.write_schema else { return Ok(()) };
    if !spec.schema.has_label() {
        bail!("--write-schema: which column is the label? A schema says it: add --label COLUMN");
    }
    let text = serde_json::to_string_pretty(&spec.schema)? + "\n";
    let written = rueful_data::replace_file(path, text.as_bytes());
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a progress bar over the bytes of the files. It is visible only on a terminal.
pub(crate) fn progress_bar(spec: &DataSpec) -> ProgressBar {
    let size = |file: &String| std::fs::metadata(path_of(file)).map_or(0, |found| found.len());
    let style = ProgressStyle::with_template(
        "{bar:30} {percent}%  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {msg}",
    );
    let total = spec.files.iter().map(size).sum();
    if output::is_quiet() {
        return ProgressBar::hidden();
    }
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

impl ExampleLook {
    fn new(example: &Example<'_>, has_label: bool) -> Self {
        let x = &example.features;
        let pairs = x.indices().iter().zip(x.values());
        let features = pairs.map(|(&index, &value)| FeatureLook { index, name: None, value });
        Self { label: has_label.then_some(example.label), features: features.collect() }
    }
}

impl Look {
    fn new(
        source: &dyn Source,
        data: DataSpec,
        first: Vec<ExampleLook>,
        notes: Vec<String>,
    ) -> Self {
        let census = source.census();
        let found = source.labels();
        let is_number = |label: &str| label.parse::<f64>().is_ok();
        let has_names = found.counts.iter().any(|(label, _)| !is_number(label));
        let is_mapped = data.positive.is_some();
        let missing = source.missing();
        let labels =
            found.counts.into_iter().map(|(label, count)| LabelLook { label, count }).collect();
        Self {
            examples: census.examples,
            nonzeros: census.nonzeros,
            features: census.features,
            label_sum: (is_mapped || !has_names).then(|| census.label_sum.value()),
            labels,
            more_labels: found.is_cut,
            loss: None,
            missing: missing.iter().sum(),
            collisions: source.names().collisions(),
            columns: Vec::new(),
            far_apart: None,
            first,
            notes,
            data,
        }
    }

    fn render(&self) -> String {
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let constant = if self.data.constant { ", the constant included" } else { "" };
        let mut rows = vec![
            row("data", self.data.name()),
            row("format", self.data.schema.name().to_owned()),
            row("examples", count(self.examples)),
            row(
                "features",
                format!(
                    "{}{constant}; {}",
                    count(self.features),
                    counted(self.nonzeros, "nonzero")
                ),
            ),
            row("labels", self.labels_in_words()),
            row("missing", format!("{} cells", count(self.missing))),
        ];
        if self.data.schema.has_label() {
            let loss = self.loss.unwrap_or("none, unless it is named").to_owned();
            rows.insert(rows.len() - 1, row("loss", loss));
        }
        if self.collisions > 0 {
            let text = format!(
                "{} names share an index with another: --bits spreads them",
                count(self.collisions as u64)
            );
            rows.push(row("collisions", text));
        }
        let mut text = view::headed("Data", &view::plain(rows));
        if !self.notes.is_empty() {
            let notes = self.notes.iter().map(|note| vec![note.clone()]).collect();
            text += &view::headed("What was inferred", &view::plain(notes));
        }
        if !self.columns.is_empty() {
            text += &view::headed("Columns", &view::numbers_table(self.column_rows(), 2..=5));
        }
        let odd: Vec<_> = self.oddities().into_iter().map(|line| vec![line]).collect();
        if !odd.is_empty() {
            text += &view::headed("Worth a look", &view::plain(odd));
        }
        text + &view::headed("First examples", &view::plain(self.example_rows()))
    }

    fn labels_in_words(&self) -> String {
        if !self.data.schema.has_label() {
            return "none yet: --label COLUMN says which column is the label".to_owned();
        }
        let shown: Vec<_> = self.labels.iter().take(LABELS_SHOWN).collect();
        let is_long = self.more_labels || self.labels.len() > shown.len();
        if is_long && let Some(sum) = self.label_sum {
            return format!("many numbers; mean {}", measured(sum / self.examples as f64));
        }
        let list: Vec<_> = shown
            .iter()
            .map(|entry| format!("{} ({})", printable(&entry.label), count(entry.count)))
            .collect();
        list.join(", ") + if is_long { ", …" } else { "" }
    }

    fn column_rows(&self) -> Vec<Vec<String>> {
        let becomes = |role| match role {
            Role::Label => "the label",
            Role::Importance => "how much the row counts",
            Role::Id => "the id of the row",
            Role::Prediction => "another model's prediction",
            Role::Number => "a number",
            Role::Category => "a feature for each value",
            Role::Date => "years, month, weekday, hour",
            Role::Text => "a feature for each word",
            Role::Drop => "nothing",
        };
        let head = ["", "becomes", "from", "to", "distinct", "missing"];
        let rows = self.columns.iter().map(|look| {
            let number = |value: Option<f64>| value.map_or(String::new(), measured);
            let reach = (number(look.least), number(look.most));
            let (least, most) = look.dates().unwrap_or(reach);
            let name = printable(&look.column.name);
            let becomes = becomes(look.column.role).to_owned();
            vec![name, becomes, least, most, distinct_in_words(look), missing_in_words(look)]
        });
        std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
    }

    /// Returns remarks on oddities that are worth a look before learning.
    fn oddities(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.columns.iter().filter_map(oddity_in_words).collect();
        lines.extend(self.far_apart.as_ref().map(far_apart_in_words));
        if let [only] = &self.labels[..]
            && !self.more_labels
        {
            lines.push(format!(
                "all labels are {}: there is nothing to tell apart",
                printable(&only.label)
            ));
        }
        lines
    }

    fn example_rows(&self) -> Vec<Vec<String>> {
        let feature = |feature: &FeatureLook| match &feature.name {
            Some(name) => format!("{}:{}", printable(name), feature.value),
            None => format!("{}:{}", feature.index, feature.value),
        };
        let rows = self.first.iter().map(|example| {
            let mut features: Vec<_> =
                example.features.iter().take(FEATURES_SHOWN).map(feature).collect();
            if example.features.len() > FEATURES_SHOWN {
                features.push(format!("… ({} in all)", example.features.len()));
            }
            let label = example.label.map_or("–".to_owned(), |label| label.to_string());
            vec![label, features.join(" ")]
        });
        rows.collect()
    }
}

fn distinct_in_words(look: &ColumnProfile) -> String {
    match (look.distinct, look.distinct_is_cut) {
        (None, _) => String::new(),
        (Some(distinct), false) => count(distinct),
        (Some(distinct), true) => format!("more than {}", count(distinct)),
    }
}

fn missing_in_words(look: &ColumnProfile) -> String {
    if look.missing == 0 { String::new() } else { count(look.missing) }
}

/// Says what is odd about a column, and what to do about it.
fn oddity_in_words(look: &ColumnProfile) -> Option<String> {
    let (name, word) = (printable(&look.column.name), argument(&look.column.name));
    let said = match look.oddity? {
        Oddity::Constant => "has one value in every row, and so tells nothing",
        Oddity::NearlyAllMissing => "has a value in fewer than one row in twenty",
        Oddity::Identifier => "has another value in every row, like an identifier",
    };
    Some(format!("column \"{name}\" {said}: --drop {word} leaves it out"))
}

/// Says what it means that the sizes of two columns are far apart.
fn far_apart_in_words(far: &FarApart) -> String {
    let told =
        |(name, size): &(String, f64)| format!("\"{}\" up to {}", printable(name), measured(*size));
    format!(
        "column {} and column {} are far apart. The bank and its certificate have no units, so for \
         them it makes no difference; for --learner ogd and others of the notes, and for \
         --comparators ball, columns should be of one size",
        told(&far.large),
        told(&far.small)
    )
}
