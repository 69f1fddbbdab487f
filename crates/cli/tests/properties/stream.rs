//! Streams from a seed, and the formats to write them in.

use std::fmt::Write;

/// One example, and the prediction of some model for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) label: f64,
    pub(crate) weight: f64,
    /// The columns, counted from 1 and increasing, with their values.
    pub(crate) features: Vec<(u32, f32)>,
    pub(crate) prediction: f64,
}

/// The kind of labels that a loss takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Labels {
    /// −1 and 1.
    Classes,
    Numbers,
    /// Four classes, 1 to 4.
    Kinds,
}

/// A loss, with its flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub(crate) flags: &'static str,
    pub(crate) labels: Labels,
}

const fn loss(flags: &'static str, labels: Labels) -> Loss {
    Loss { flags, labels }
}

/// Every loss.
pub(crate) const LOSSES: [Loss; 7] = [
    loss("--loss hinge", Labels::Classes),
    loss("--loss logistic", Labels::Classes),
    loss("--loss perceptron", Labels::Classes),
    loss("--loss square", Labels::Numbers),
    loss("--loss absolute", Labels::Numbers),
    loss("--loss quantile --tau 0.3", Labels::Numbers),
    loss("--loss linear", Labels::Numbers),
];

/// Every learner that takes every loss.
const LEARNERS: [&str; 6] =
    ["ogd", "strongly-convex-ogd", "erm", "regularized-erm", "minimax", "ftrl"];

/// The learners that take some losses only, with the names of these.
const CHOOSY: [(&str, &[&str]); 4] = [
    ("perceptron", &["hinge", "logistic", "perceptron"]),
    ("bank", &["hinge", "logistic", "square", "absolute", "quantile"]),
    ("passive-aggressive-1", &["hinge", "absolute"]),
    ("passive-aggressive-2", &["hinge", "absolute"]),
];

impl Loss {
    fn is_one_of(&self, names: &[&str]) -> bool {
        self.flags.split(' ').any(|word| names.contains(&word))
    }
}

/// The learners that can learn from a loss.
pub(crate) fn learners(loss: Loss) -> impl Iterator<Item = &'static str> {
    let takes = CHOOSY.into_iter().filter(move |(_, losses)| loss.is_one_of(losses));
    LEARNERS.into_iter().chain(takes.map(|(learner, _)| learner))
}

/// The flags of a race of all learners that take this loss and have no σ.
pub(crate) fn race(loss: Loss) -> String {
    let all = learners(loss).filter(|learner| *learner != "strongly-convex-ogd");
    let flags: Vec<String> = all.map(|learner| format!("--learner {learner}")).collect();
    format!("{} {} --radius 2", flags.join(" "), loss.flags)
}

/// A generator of numbers that look random and depend only on the seed.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.bits() >> 16) % bound
    }

    /// A number between −1 and 1.
    fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// The number of columns of a stream.
pub(crate) const COLUMNS: u32 = 5;

/// A noisy stream in which every column occurs, and most rows lack some columns.
pub(crate) fn stream(labels: Labels, count: usize, seed: u64) -> Vec<Row> {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(1));
    (0..count).map(|number| row(&mut dice, labels, number)).collect()
}

fn row(dice: &mut Dice, labels: Labels, number: usize) -> Row {
    // The first rows have all columns, so that the columns are first seen in the order of their
    // numbers.
    let mut features: Vec<(u32, f32)> =
        (1..=COLUMNS).map(|column| (column, (2.0 * dice.number()) as f32)).collect();
    features.retain(|_| number < 2 || dice.below(10) < 7);
    let signal: f64 = features.iter().map(|&(i, x)| f64::from(x) / f64::from(i)).sum();
    let noisy = signal + 0.3 + dice.number();
    let label = match labels {
        Labels::Classes => noisy.signum(),
        Labels::Numbers => f64::from(noisy as f32),
        Labels::Kinds => 1.0 + [-0.5, 0.3, 1.0].iter().filter(|&&end| noisy > end).count() as f64,
    };
    Row { label, weight: 1.0, features, prediction: 0.5 * signal + 0.5 * dice.number() }
}

/// The rows with random weights of 1, 2 and 3.
pub(crate) fn weighted(mut rows: Vec<Row>) -> Vec<Row> {
    let mut dice = Dice(77);
    rows.iter_mut().for_each(|row| row.weight = (1 + dice.below(3)) as f64);
    rows
}

/// Every row repeated as often as it counts. The copies have weight 1.
pub(crate) fn repeated(rows: &[Row]) -> Vec<Row> {
    let once = |row: &Row| Row { weight: 1.0, ..row.clone() };
    rows.iter().flat_map(|row| std::iter::repeat_n(once(row), row.weight as usize)).collect()
}

/// The rows with all weights multiplied by a factor.
pub(crate) fn times(rows: &[Row], factor: f64) -> Vec<Row> {
    rows.iter().map(|row| Row { weight: factor * row.weight, ..row.clone() }).collect()
}

/// The rows with all values multiplied by a factor. The factor must be a power of two for the
/// values to stay exact.
pub(crate) fn scaled(rows: &[Row], factor: f32) -> Vec<Row> {
    let scale = |row: &Row| {
        let features = row.features.iter().map(|&(i, x)| (i, factor * x)).collect();
        Row { features, ..row.clone() }
    };
    rows.iter().map(scale).collect()
}

/// The rows with others of weight 0 at the front, in between and at the end. These have columns,
/// and if there are more than two labels also labels, that no other row has.
pub(crate) fn haunted(rows: &[Row], labels: Labels) -> Vec<Row> {
    let ghost = |number: usize| Row {
        label: match labels {
            Labels::Classes => [1.0, -1.0][number % 2],
            Labels::Numbers => 1e6,
            Labels::Kinds => 9.0,
        },
        weight: 0.0,
        features: vec![(1, 100.0), (COLUMNS + 1 + number as u32 % 3, -200.0)],
        prediction: 1e3,
    };
    let mut all = vec![ghost(0)];
    for (number, row) in rows.iter().enumerate() {
        all.push(row.clone());
        if number % 3 == 0 {
            all.push(ghost(number));
        }
    }
    all.extend([ghost(1), ghost(2)]);
    all
}

/// The rows as LIBSVM text. `index` gives the numbers of the columns.
pub(crate) fn libsvm(rows: &[Row], index: impl Fn(u32) -> u32) -> String {
    lines(rows, |text, row| {
        write!(text, "{}", row.label)?;
        row.features.iter().try_for_each(|&(i, x)| write!(text, " {}:{x}", index(i)))
    })
}

/// The rows as Vowpal Wabbit text. `name` gives the names of the columns.
pub(crate) fn vw(rows: &[Row], name: impl Fn(u32) -> String) -> String {
    lines(rows, |text, row| {
        write!(text, "{}", row.label)?;
        if row.weight != 1.0 {
            write!(text, " {}", row.weight)?;
        }
        write!(text, " |")?;
        row.features.iter().try_for_each(|&(i, x)| write!(text, " {}:{x}", name(i)))
    })
}

/// The value of a column. It is 0 if the row lacks the column.
pub(crate) fn cell(row: &Row, column: u32) -> f32 {
    row.features.iter().find(|&&(i, _)| i == column).map_or(0.0, |&(_, x)| x)
}

/// Whether rows do not all count once. A table then has a column `w` that says how much they count.
pub(crate) fn are_weighted(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.weight != 1.0)
}

/// The rows as CSV with the label in a column `y`.
pub(crate) fn csv(rows: &[Row], name: impl Fn(u32) -> String) -> String {
    let head: String = (1..=COLUMNS).map(|column| name(column) + ",").collect();
    let body = lines(rows, |text, row| {
        (1..=COLUMNS).try_for_each(|column| write!(text, "{},", cell(row, column)))?;
        write!(text, "{}", row.label)?;
        if are_weighted(rows) { write!(text, ",{}", row.weight) } else { Ok(()) }
    });
    let weight = if are_weighted(rows) { ",w" } else { "" };
    format!("{head}y{weight}\n{body}")
}

/// The rows as lines of JSON with the label under `y`.
pub(crate) fn json_lines(rows: &[Row], name: impl Fn(u32) -> String) -> String {
    lines(rows, |text, row| {
        write!(text, "{{\"y\": {}", row.label)?;
        let columns = 1..=COLUMNS;
        columns
            .into_iter()
            .try_for_each(|i| write!(text, ", \"{}\": {}", name(i), cell(row, i)))?;
        if are_weighted(rows) {
            write!(text, ", \"w\": {}", row.weight)?;
        }
        write!(text, "}}")
    })
}

/// The rows as ARFF with the label in an attribute `y`.
pub(crate) fn arff(rows: &[Row], name: impl Fn(u32) -> String) -> String {
    let attributes: String =
        (1..=COLUMNS).map(|i| format!("@attribute {} numeric\n", name(i))).collect();
    let csv = csv(rows, &name);
    let body = csv.split_once('\n').expect("a header").1;
    let weight = if are_weighted(rows) { "@attribute w numeric\n" } else { "" };
    format!("@relation stream\n{attributes}@attribute y numeric\n{weight}@data\n{body}")
}

/// A probability of every kind for each row, from a model's prediction of its number, as CSV.
pub(crate) fn shares(rows: &[Row]) -> String {
    let body = lines(rows, |text, row| {
        let score = |kind: u32| (-(row.prediction + 2.0 - f64::from(kind)).powi(2)).exp() + 0.1;
        let all: f64 = (1..=4).map(score).sum();
        let shares: Vec<String> = (1..=4).map(|kind| (score(kind) / all).to_string()).collect();
        write!(text, "{}", shares.join(","))
    });
    format!("1,2,3,4\n{body}")
}

/// The predictions of the model, one number on a line.
pub(crate) fn predictions(rows: &[Row]) -> String {
    lines(rows, |text, row| write!(text, "{}", row.prediction))
}

fn lines(rows: &[Row], line: impl Fn(&mut String, &Row) -> std::fmt::Result) -> String {
    let mut text = String::new();
    for row in rows {
        line(&mut text, row).expect("a string takes everything");
        text.push('\n');
    }
    text
}

/// The column's own number.
pub(crate) fn own(column: u32) -> u32 {
    column
}

/// A number for the column that is far from those of its neighbours.
pub(crate) fn spread(column: u32) -> u32 {
    1000 * column + 7
}
