//! One description of a run, the types that it stands for, and the loop that runs it.
//!
//! [`Settings`] are a few names and numbers that a person gives. Everything else has a default. A
//! [`Spec`] is the complete and checked description of a run: a [`Task`] and the data. A [`Run`]
//! takes rows and returns rounds, and a [`Session`] reads the rows from files. A [`Report`] has the
//! results at any moment.

mod alarm;
mod audit;
mod bench;
mod cache;
mod classes;
mod columns;
mod companions;
mod contradiction;
mod data;
mod dispatch;
mod figures;
mod fit;
mod groups;
mod hindsight;
mod holdout;
mod judged;
mod jury;
mod learning;
mod loss_choice;
mod model;
mod passes;
mod pending;
mod predict;
mod race;
mod replay;
mod report;
mod run;
mod session;
mod settings;
mod shares;
mod spec;
mod statistics;
mod task;
mod weighted;
mod windows;

pub use alarm::{Alarm, AlarmReport, withhold_contradictions};
pub use audit::{
    AuditReport, AuditRun, AuditRunError, AuditSettings, AuditSpec, Auditor, AuditorReport,
    Forecasts, GroupReport, Link, ModelReport, NamedReport,
};
pub use bench::Bench;
pub use classes::{
    AnySpec, ClassAudit, ClassAuditSpec, ClassAuditor, ClassAuditorReport, ClassCard,
    ClassExplanation, ClassLoss, ClassOutcome, ClassReport, ClassRun, ClassSaid, ClassScored,
    ClassSpec, ClassTask, ClassWindows, ClassesReport, ConfusedReport, TaskLoss,
    best_classes_in_hindsight, class_curve_in_hindsight,
};
pub use columns::Columns;
pub use companions::Companions;
pub use contradiction::{Claim, Contradiction};
pub use data::{CacheLayout, Data, DataSettings, DataSpec, LabelUse, Layout, ReadingOptions};
pub use dispatch::{SavedLearner, build};
pub use figures::{ConstantReport, CountedReport, FiguresReport, RatesReport};
pub use fit::Unlearned;
pub use groups::{GROUPS_MAX, GroupError, GroupReader};
pub use hindsight::{
    HindsightReport, Interval, MistakeReport, SquareWatch, Weight, best_in_hindsight,
    bound_mistakes, curve_in_hindsight,
};
pub use holdout::{Holdout, HoldoutBy};
pub use judged::{Every, JudgedReport, RadiusReport, Reach};
pub use learning::{Late, Learning};
pub use loss_choice::LossChoice;
pub use model::{AnyModel, Model, ModelError, Sections, Stream, Tag, check_place};
pub use passes::{Course, HeldOutScore, PassReport, Passes, PassesReport, PassesSettings};
pub use pending::{DelayReport, Pending, USUAL_PENDING};
pub use predict::{Contribution, Explanation, Scored};
pub use race::{Race, RaceReport, RaceSettings, RaceSpec, RacerReport};
pub use replay::{Open, Replay};
pub use report::{BoundReport, CurveReport, Report, RiskBoundReport};
pub use rueful_core::schedule::AnySchedule;
pub use run::{Run, RunError};
pub use session::{Progress, Session, SessionError};
pub use settings::{Resolved, Settings, SettingsError};
pub(crate) use shares::Shares;
pub use shares::{Moment, SharesReport};
pub use spec::{AnyLoss, LearnerSpec, Spec, SpecError};
pub use task::{Described, Task};
pub use weighted::{ClassWeight, ClassWeights};
pub use windows::{WindowReport, Windows};
