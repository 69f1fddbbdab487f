//! What must hold of the program whatever it is given: every command, loss, learner, set and format, on
//! streams from a seed. Each property compares what is said about two forms of the same stream.

mod columns;
mod extremes;
mod figures;
mod formats;
mod harness;
mod ladder;
mod models;
mod printing;
mod rounding;
mod scale;
mod setups;
mod stream;
mod weights;
