//! One description of a run, the types it stands for, and the loop that runs it.
//!
//! [`Settings`] are what a person says: a few names and numbers, the rest left to defaults.
//! [`Spec`] is what is run: complete, checked, and the same whoever runs it. [`Run`] pulls batches
//! from a source through a learner into a ledger; [`Report`] is what can be said afterwards.

mod audit;
mod cache;
mod columns;
mod data;
mod dispatch;
mod hindsight;
mod model;
mod predict;
mod replay;
mod report;
mod run;
mod settings;
mod spec;
mod spec_file;
mod weighted;

pub use audit::{
    AuditReport, AuditRun, AuditRunError, AuditSettings, AuditSpec, Link, ModelReport, NamedReport,
    WindowReport,
};
pub use columns::Columns;
pub use data::{CacheLayout, Data, DataSettings, DataSpec, LabelUse, Layout, Manner};
pub use dispatch::{SavedLearner, build};
pub use hindsight::{
    HindsightReport, Interval, MistakeReport, SquareWatch, Weight, best_in_hindsight,
    bound_mistakes, curve_in_hindsight,
};
pub use model::{Model, ModelError, Stream, check_place};
pub use predict::{Contribution, Explanation, Scored};
pub use replay::{Open, Replay};
pub use report::{BoundReport, CurveReport, Report};
pub use rueful_core::schedule::AnySchedule;
pub use run::{Progress, Run, RunError};
pub use settings::{Resolved, Settings, SettingsError};
pub use spec::{AnyLoss, LearnerSpec, Spec, SpecError};
pub use spec_file::{Notation, SpecFileError};
pub use weighted::{ClassWeight, ClassWeights};
