//! One description of a run, the types it stands for, and the loop that runs it.
//!
//! [`Settings`] are what a person says: a few names and numbers, the rest left to defaults.
//! [`Spec`] is what is run: complete, checked, and the same whoever runs it. [`Run`] pulls batches
//! from a source through a learner into a ledger; [`Report`] is what can be said afterwards.

mod dispatch;
mod report;
mod run;
mod settings;
mod spec;

pub use dispatch::build;
pub use report::{BoundReport, CurveReport, Report};
pub use run::{Progress, Run, RunError};
pub use settings::{Resolved, Settings, SettingsError};
pub use spec::{DataSpec, LearnerSpec, LossSpec, ScheduleSpec, Spec, SpecError};
