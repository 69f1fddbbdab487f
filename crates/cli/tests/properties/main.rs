//! Properties of the program that must hold for every command, loss, learner, set and format, on
//! streams from a seed. Most of them compare the reports on two forms of the same stream.

mod columns;
mod extremes;
mod figures;
mod formats;
mod harness;
mod kinds;
mod ladder;
mod models;
mod printing;
mod rounding;
mod scale;
mod setups;
mod stream;
mod weights;
