//! The core of rueful: losses, feasible sets, step-size schedules, online learners, and the ledger,
//! which certifies an upper bound on the regret of any predictions. The crate does no input and no
//! output, and it reads no clock.
//!
//! The protocol and the theorems are those of "the notes": the lecture notes *Online Gradient
//! Descent* of Nicolò Cesa-Bianchi's course *Statistical Methods for Machine Learning*, version of
//! April 2025. Numbers like (8) refer to formulas in the notes. In each round an example (x_t, y_t)
//! arrives. The learner first predicts ŷ_t = w_t·x_t and suffers ℓ_t(w_t), then it updates its
//! weights. Its regret against u is R_T(u) = Σ ℓ_t(w_t) − Σ ℓ_t(u).
//!
//! ```
//! use rueful_core::{Batch, Ladder, Ledger, Objective, Positive};
//! use rueful_core::learner::{Learner, Ogd};
//! use rueful_core::{loss::Hinge, schedule::AdaGradNorm, set::Ball};
//!
//! let mut stream = Batch::default();
//! for round in 0..1000 {
//!     let side = if round % 3 == 0 { 1.0 } else { -1.0 };
//!     stream.push(&[0, 1], &[1.0, side], f64::from(side))?;
//! }
//!
//! let ball = Ball { radius: Positive::new(2.0)? };
//! let steps = AdaGradNorm { diameter: Positive::new(4.0)? };
//! let mut learner = Ogd::new(Objective::plain(Hinge {}), steps, ball);
//! let mut ledger = Ledger::new(Hinge {}, ball);
//!
//! let mut rounds = Vec::new();
//! learner.learn_rows(stream.rows(), &mut rounds);
//! ledger.record_rows(stream.rows(), &rounds)?;
//!
//! let ladder = ledger.ladder(learner.promise(ledger.comparators(), ledger.coordinates()));
//! assert!(ledger.mistakes() <= 2);
//! assert!(ladder.certificate / 1000.0 < 0.05);  // regret per round, proved for this stream
//! assert!(ladder.is_in_order());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
mod family;

mod batch;
pub mod bound;
mod bulk;
mod cells;
pub mod classes;
mod comparators;
mod confidence;
mod elementary;
mod exact;
mod features;
pub mod figures;
mod grid;
mod judge;
pub mod learner;
pub mod ledger;
mod lines;
pub mod loss;
mod norms;
mod number;
pub mod request;
mod round;
mod rows;
mod ruler;
pub mod schedule;
pub mod set;
mod sum;
mod vector;
mod weights;
mod witness;
pub mod words;

pub use batch::{Batch, NewRow, OpenRow};
pub use bound::{Bound, Disorder, Ladder, NoBound, Promise};
pub use cells::{Cells, Coordinates, FoundFeatures};
pub use comparators::{Comparators, UnitFree};
pub use confidence::RiskBound;
pub use exact::ExactSum;
pub use features::{Example, FeatureError, Features};
pub use grid::Grid;
pub use judge::Judge;
pub use ledger::{Ledger, LedgerError};
pub use number::{Importance, NonNegative, OpenUnit, OutOfRange, Positive};
pub use round::{Objective, Round};
pub use rows::{Door, RowError, Rows};
pub use ruler::Ruler;
pub use sum::Sum;
pub use weights::Weights;
pub use witness::{Measure, Measured, UNIT_FREE_RADII, WITNESSES, WitnessPromise, Witnesses};
