//! Shows a run as one HTML page or as one SVG picture, for people to read and to pass on. It can
//! also show several learners or models side by side.
//!
//! The caller fills a [`Page`], or a [`Comparison`], with the values that are known. Unknown values
//! stay empty, and their part of the page is left out or says that they are missing. Both files
//! stand alone: they need no network, no fonts and no scripts. Text is escaped, and numbers that
//! are not finite are not drawn.
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

/// Everything that a page shows. Values are per round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The title of the page, usually the name of the data.
    pub title: String,
    /// The learner, the loss and the data, in words.
    pub subtitle: String,
    /// The comparators of the certificate, in words: “every linear predictor with ‖u‖ ≤ 10”.
    pub comparators: String,
    /// The headline numbers.
    pub facts: Vec<Fact>,
    /// The names and values of further figures.
    pub figures: Vec<(String, String)>,
    /// The run over time, in the order of the rounds.
    pub curve: Vec<Point>,
    /// The loss of the best constant prediction for the whole stream, if it is known.
    pub baseline: Option<Interval>,
    /// Whether losses are never negative. If so, a certificate that is no smaller than the risk
    /// says nothing.
    pub is_nonnegative: bool,
    /// The regret, the certificate and the bounds at the end, the smallest first.
    pub ladder: Vec<Rung>,
    /// The certificate against predictors of other norms.
    pub radii: Vec<Radius>,
    /// The radius of the run itself, if there is one.
    pub own_radius: Option<f64>,
    /// The largest norm up to which no predictor was better, if there is one. It is infinite if no
    /// predictor of any norm was better.
    pub beaten_up_to: Option<f64>,
    /// The norm from which on the certificate says nothing, if there is one.
    pub says_nothing_from: Option<f64>,
    /// The windows of the stream, each judged alone.
    pub windows: Vec<Window>,
    /// Predicted probabilities beside observed frequencies. It is empty if there are no
    /// probabilities.
    pub calibration: Vec<Bin>,
    /// The learners that are mixed, and the share of each over time. It is empty if none are mixed.
    pub shares: Vec<Share>,
    /// The largest weights, in any order.
    pub weights: Vec<Weight>,
    /// How many other weights are not 0.
    pub weights_left_out: u64,
    /// The names and values of the settings.
    pub parameters: Vec<(String, String)>,
    /// The names and values that describe the data.
    pub data: Vec<(String, String)>,
    /// Further notes for the reader, one sentence each.
    pub notes: Vec<String>,
    /// The version, command and description behind the page.
    pub origin: Origin,
}

/// The version, command and description that a page was made with. Empty texts are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// The version of the program.
    pub version: String,
    /// The command that was given.
    pub command: String,
    /// The description of the run, in the form that the program reads.
    pub spec: String,
}

/// Several learners or models on one stream. Values are per round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// The title of the page, usually the name of the data.
    pub title: String,
    /// The loss and the data, in words.
    pub subtitle: String,
    /// The comparators that all rivals are judged against: “every linear predictor with ‖u‖ ≤ 10”.
    pub comparators: String,
    /// Whether losses are never negative. If so, a certificate that is no smaller than the risk
    /// says nothing.
    pub is_nonnegative: bool,
    /// The headline numbers.
    pub facts: Vec<Fact>,
    /// The learners or models that are compared, in the order in which they are shown.
    pub rivals: Vec<Rival>,
    /// The names and values of the settings.
    pub parameters: Vec<(String, String)>,
    /// The names and values that describe the data.
    pub data: Vec<(String, String)>,
    /// Further notes for the reader, one sentence each.
    pub notes: Vec<String>,
    /// The version, command and description behind the page.
    pub origin: Origin,
}

/// One of the learners or models that are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rival {
    /// Its name.
    pub name: String,
    /// A description in words.
    pub what: String,
    /// The sequential risk.
    pub risk: f64,
    /// The share of mistakes, if it classifies.
    pub mistake_rate: Option<f64>,
    /// The names and printed values of further figures.
    pub figures: Vec<(String, String)>,
    /// The certificate, if it is finite.
    pub certificate: Option<f64>,
    /// The exact regret, if the best comparator was computed.
    pub regret: Option<Interval>,
    /// Rounds, and the sequential risk after each, in order.
    pub curve: Vec<(u64, f64)>,
    /// The windows of the stream, each judged alone.
    pub windows: Vec<Window>,
}

/// A headline number, in its printed form: see [`Figure`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fact {
    /// The name of the number: “sequential risk”.
    pub label: String,
    /// The number: “0.3519”.
    pub value: String,
    /// A short explanation.
    pub note: Option<String>,
}

/// A number that is known to lie between two others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// The number is at least this.
    pub lower: f64,
    /// The number is at most this.
    pub upper: f64,
}

impl From<f64> for Interval {
    fn from(value: f64) -> Self {
        Self { lower: value, upper: value }
    }
}

/// The state of the run after round t.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    /// The round, counted from 1.
    pub t: u64,
    /// The sequential risk.
    pub risk: f64,
    /// The certificate, if it is finite.
    pub certificate: Option<f64>,
    /// The loss of the best comparator, if it was computed.
    pub comparator: Option<Interval>,
    /// The exact regret, if the best comparator was computed.
    pub regret: Option<Interval>,
}

/// One rung of the ladder: regret ≤ certificate ≤ data-dependent bound ≤ theorem.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Which rung it is.
    pub kind: RungKind,
    /// Its value, or `None` if it is withheld.
    pub value: Option<Interval>,
    /// Where the value comes from, or why it is withheld.
    pub meaning: String,
}

/// The kinds of rungs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RungKind {
    /// How much less the best comparator would have lost.
    Regret,
    /// The bound that is proved for this very stream.
    Certificate,
    /// The theorem with the run's own steps and gradients put in.
    Data,
    /// The bound that the learner promises beforehand.
    Theorem,
}

impl RungKind {
    /// The printed name.
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
    /// The largest norm of the predictors.
    pub radius: f64,
    /// The certificate.
    pub certificate: f64,
}

/// A window: a stretch of consecutive rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Window {
    /// Its first round.
    pub from: u64,
    /// Its last round.
    pub to: u64,
    /// The average loss in the window.
    pub risk: f64,
    /// The certificate for the window alone.
    pub certificate: Option<f64>,
}

/// The examples whose probability of the positive label lies between two numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
    /// The total importance of the examples.
    pub weight: f64,
    /// Their mean probability.
    pub predicted: f64,
    /// The share of them that are positive.
    pub observed: f64,
}

/// How much one of the mixed learners was trusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Share {
    /// The name of the learner.
    pub name: String,
    /// Rounds, and the share after each, in order. All learners have the same rounds.
    pub points: Vec<(u64, f64)>,
}

/// A weight at the end of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Weight {
    /// The name of its feature.
    pub name: String,
    /// The weight.
    pub value: f64,
}

/// The whole page, as HTML.
pub fn html(page: &Page) -> String {
    document::html(page)
}

/// The main picture of a page as an SVG file: the risk and the ladder over time.
pub fn svg(page: &Page) -> String {
    document::svg(page)
}

/// The whole page of a comparison, as HTML.
pub fn comparison_html(page: &Comparison) -> String {
    document::comparison_html(page)
}

/// The main picture of a comparison as an SVG file: the risks over time.
pub fn comparison_svg(page: &Comparison) -> String {
    document::comparison_svg(page)
}
