//! rueful: an online learner that knows its own regret.
//!
//! A Rust program depends on this crate. It gathers the public parts of the others:
//!
//! * the theory in code: [`loss`], [`set`], [`schedule`], [`learner`], [`ledger`], [`bound`];
//! * data: [`Batch`], [`Features`], and readers in [`data`];
//! * whole runs from one description, as the program `rueful` does them: [`run`].
//!
//! A program can learn from a stream and ask at any moment how much better it could have done:
//!
//! ```
//! use rueful::learner::{Learner, Ogd};
//! use rueful::{Batch, Ledger, Objective, Positive, loss::Logistic, schedule::AdaGradNorm, set::Ball};
//!
//! let ball = Ball { radius: Positive::new(1.0)? };
//! let steps = AdaGradNorm { diameter: Positive::new(2.0)? };
//! let mut learner = Ogd::new(Objective::plain(Logistic {}), steps, ball);
//! let mut ledger = Ledger::new(Logistic {}, ball);
//!
//! let mut clicks = Batch::default();
//! clicks.push(&[3, 17], &[1.0, 0.5], 1.0)?;
//! clicks.push(&[3, 40], &[1.0, 2.0], -1.0)?;
//!
//! let mut rounds = Vec::new();
//! learner.learn_rows(clicks.rows(), &mut rounds);
//! ledger.record_rows(clicks.rows(), &rounds)?;
//! let ladder = ledger.ladder(learner.promise(ledger.comparators(), ledger.coordinates()));
//! println!("risk {}, regret at most {}", ledger.sequential_risk(), ladder.certificate);
//! # assert!(ladder.is_in_order() && ladder.theorem.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It can also run everything that the command line runs:
//!
//! ```
//! use rueful::data::{Follow, Input, LabelRule, Reader, Reading, Schema};
//! use rueful::run::{DataSpec, Session, Settings};
//!
//! let text = "+1 1:0.5 3:1\n-1 2:1 3:0.5\n+1 1:1\n";
//! let settings = Settings { radius: Some(2.0), ..Settings::default() };
//! let spec = settings.resolve(DataSpec::libsvm("inline"), &mut |_| unreachable!("AdaGrad-norm looks at nothing"))?.spec;
//! let reading = Reading::new(LabelRule::new(spec.loss.labels(), None));
//! let input = Input::new("inline", text.as_bytes(), &Follow::No)?;
//! let mut source = Reader::new(vec![input], &Schema::Libsvm {}, &reading);
//! let mut session = Session::new(&spec)?;
//! while session.advance(&mut source)? {}
//! let report = session.report(&source);
//! assert_eq!((report.examples, report.features, report.nonzeros), (3, 4, 8));
//! assert!(report.certificate <= report.bound.data && report.bound.data <= report.bound.theorem);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use rueful_core::*;

/// Readers that turn bytes into batches.
pub mod data {
    pub use rueful_data::*;
}

/// The best fixed predictor in hindsight.
pub mod hindsight {
    pub use rueful_hindsight::*;
}

/// Whole runs: settings, descriptions, the loop, and the report.
pub mod run {
    pub use rueful_run::*;
}

/// Descriptions of runs in files.
pub mod spec_file {
    pub use rueful_spec_file::*;
}

/// The README's Rust blocks, run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
