//! Runs whose labels name classes: any number of them, and new ones may come at any time.
//!
//! [`ClassSpec`] is the description of such a run, and [`ClassTask`] the same without the data. A
//! [`ClassRun`] learns, and keeps its ledger. Sessions, models and reports are those of every run.

mod audit;
mod auditor;
mod card;
mod hindsight;
mod late;
mod learner;
mod loss;
mod parts;
mod predict;
mod report;
mod run;
mod stored;
mod task;
mod windows;

pub use audit::{ClassAudit, ClassAuditSpec};
pub use auditor::{ClassAuditor, ClassAuditorReport};
pub use card::ClassCard;
pub use hindsight::{best_classes_in_hindsight, class_curve_in_hindsight};
pub use late::ClassSaid;
pub use loss::TaskLoss;
pub use predict::{ClassExplanation, ClassScored};
pub use report::{ClassReport, ClassesReport, ConfusedReport};
pub use rueful_core::classes::ClassLoss;
pub use run::{ClassOutcome, ClassRun};
pub use task::{AnySpec, ClassSpec, ClassTask};
pub use windows::ClassWindows;
