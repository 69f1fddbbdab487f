//! A run as one HTML page, or as one SVG picture, for people to read and to pass on; and several
//! learners or models side by side.
//!
//! The caller fills a [`Page`], or a [`Comparison`], with what is known. What is not known is left empty, and its part of
//! the page is left out or says so. Both files stand alone: no network, no fonts, no scripts. Text
//! is escaped, and numbers that are not finite are not drawn.
//!
//! ```
//! use rueful_page::{Page, Point};
//!
//! let page = Page {
//!     title: "a9a.libsvm".to_owned(),
//!     curve: vec![Point { t: 1, risk: 1.0, ..Point::default() }],
//!     ..Page::default()
//! };
//! assert!(rueful_page::html(&page).starts_with("<!doctype html>"));
//! assert!(rueful_page::svg(&page).starts_with("<svg"));
//! ```

mod chart;
mod document;
mod escape;
mod figure;
mod number;
mod paint;
mod rounding;
mod scale;
mod svg;
mod table;

pub use rounding::Figure;

/// All that a page shows. Values are per round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// What the page is about, mostly the name of the data.
    pub title: String,
    /// Learner, loss and data in words.
    pub subtitle: String,
    /// Against whom there is no more regret than certified: “every linear predictor with ‖u‖ ≤ 10”.
    pub comparators: String,
    /// The headline numbers.
    pub facts: Vec<Fact>,
    /// Name and value of further figures.
    pub figures: Vec<(String, String)>,
    /// The run over time, in the order of the rounds.
    pub curve: Vec<Point>,
    /// What the best constant prediction of the whole stream loses, if it is known.
    pub baseline: Option<Interval>,
    /// Whether losses are never negative, so that a certificate no smaller than the risk says
    /// nothing.
    pub is_nonnegative: bool,
    /// Regret, certificate and bounds at the end, the smallest first.
    pub ladder: Vec<Rung>,
    /// The certificate against predictors of other norms.
    pub radii: Vec<Radius>,
    /// The radius of the run itself, if there is one.
    pub own_radius: Option<f64>,
    /// Stretches of the stream, each judged alone.
    pub windows: Vec<Window>,
    /// Probabilities beside what came; empty without probabilities.
    pub calibration: Vec<Bin>,
    /// The learners that are mixed, and the share of each over time; empty where none are.
    pub shares: Vec<Share>,
    /// The largest weights, in any order.
    pub weights: Vec<Weight>,
    /// How many further weights are not 0.
    pub weights_left_out: u64,
    /// Name and value of what was set.
    pub parameters: Vec<(String, String)>,
    /// Name and value of what the data are.
    pub data: Vec<(String, String)>,
    /// What else the reader should know, a sentence each.
    pub notes: Vec<String>,
    /// How the page came about.
    pub origin: Origin,
}

/// How a page came about; empty texts are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// The version of the program.
    pub version: String,
    /// The command that was given.
    pub command: String,
    /// The description of the run, as the program reads it.
    pub spec: String,
}

/// Several learners, or models, on one stream. Values are per round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// What the page is about, mostly the name of the data.
    pub title: String,
    /// Loss and data in words.
    pub subtitle: String,
    /// Against whom all are judged: “every linear predictor with ‖u‖ ≤ 10”.
    pub comparators: String,
    /// The headline numbers.
    pub facts: Vec<Fact>,
    /// Those that are compared, in the order they are to be shown.
    pub rivals: Vec<Rival>,
    /// Name and value of what was set.
    pub parameters: Vec<(String, String)>,
    /// Name and value of what the data are.
    pub data: Vec<(String, String)>,
    /// What else the reader should know, a sentence each.
    pub notes: Vec<String>,
    /// How the page came about.
    pub origin: Origin,
}

/// One of those that are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rival {
    /// What it is called.
    pub name: String,
    /// What it is, in words.
    pub what: String,
    /// The sequential risk.
    pub risk: f64,
    /// The share of mistakes, if it classifies.
    pub mistake_rate: Option<f64>,
    /// The certificate, if it is bounded.
    pub certificate: Option<f64>,
    /// The exact regret, if the best comparator was solved for.
    pub regret: Option<Interval>,
    /// Rounds and the sequential risk after each, in order.
    pub curve: Vec<(u64, f64)>,
    /// Stretches of the stream, each judged alone.
    pub windows: Vec<Window>,
}

/// A headline number, as it is to be printed: see [`Figure`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fact {
    /// What it is: “sequential risk”.
    pub label: String,
    /// The number: “0.3519”.
    pub value: String,
    /// A few words more.
    pub note: Option<String>,
}

/// A number known to lie between two others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// It is at least this.
    pub lower: f64,
    /// It is at most this.
    pub upper: f64,
}

impl From<f64> for Interval {
    fn from(value: f64) -> Self {
        Self { lower: value, upper: value }
    }
}

/// The run up to round t.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    /// The round, counted from 1.
    pub t: u64,
    /// The sequential risk.
    pub risk: f64,
    /// The certificate, if it is bounded.
    pub certificate: Option<f64>,
    /// The loss of the best comparator, if it was solved for.
    pub comparator: Option<Interval>,
    /// The exact regret, if the best comparator was solved for.
    pub regret: Option<Interval>,
}

/// One step of the ladder: regret ≤ certificate ≤ data-dependent bound ≤ theorem.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Which of them.
    pub kind: RungKind,
    /// Its value; none if it is withheld.
    pub value: Option<Interval>,
    /// Where it comes from, or why it is withheld.
    pub meaning: String,
}

/// The names of the rungs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RungKind {
    /// What the best comparator would have saved.
    Regret,
    /// What is proved for this very stream.
    Certificate,
    /// The theorem with the run's own steps and gradients.
    Data,
    /// What the learner promises beforehand.
    Theorem,
}

impl RungKind {
    /// The name that is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regret => "exact regret",
            Self::Certificate => "certificate",
            Self::Data => "data-dependent bound",
            Self::Theorem => "theorem",
        }
    }
}

/// The certificate against all predictors with ‖u‖ ≤ radius.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Radius {
    /// The largest norm.
    pub radius: f64,
    /// The certificate.
    pub certificate: f64,
}

/// A stretch of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Window {
    /// Its first round.
    pub from: u64,
    /// Its last round.
    pub to: u64,
    /// The average loss in it.
    pub risk: f64,
    /// The certificate for it alone.
    pub certificate: Option<f64>,
}

/// The examples whose probability of the positive label lies between two numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
    /// How much the examples count together.
    pub weight: f64,
    /// Their mean probability.
    pub predicted: f64,
    /// The share of them that are positive.
    pub observed: f64,
}

/// How far one of the learners that are mixed was trusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Share {
    /// The name of the learner.
    pub name: String,
    /// Rounds and the share after each, in order; the same rounds for all learners.
    pub points: Vec<(u64, f64)>,
}

/// A weight at the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Weight {
    /// The name of its feature.
    pub name: String,
    /// The weight.
    pub value: f64,
}

/// The whole page.
pub fn html(page: &Page) -> String {
    document::html(page)
}

/// The main picture, risk and ladder over time, as a file of its own.
pub fn svg(page: &Page) -> String {
    document::svg(page)
}

/// The whole page of a comparison.
pub fn comparison_html(page: &Comparison) -> String {
    document::comparison_html(page)
}

/// Its main picture, the risks over time, as a file of its own.
pub fn comparison_svg(page: &Comparison) -> String {
    document::comparison_svg(page)
}
