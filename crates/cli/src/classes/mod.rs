//! Everything that the program does for labels of many classes.

mod audit;
mod explain;
mod inspect;
mod look_back;
mod predict;
mod run;
mod view;

pub(crate) use audit::audit;
pub(crate) use explain::explain;
pub(crate) use inspect::inspect;
pub(crate) use look_back::Question;
pub(crate) use predict::predict;
pub(crate) use run::run;
pub(crate) use view::{pairs, section};
