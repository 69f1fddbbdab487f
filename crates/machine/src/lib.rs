//! All code that needs `unsafe`, behind functions that are safe to call.
//!
//! - [`pairs_at`] reads tokens `index:value` with vector instructions, if the processor has them. A
//!   second version uses ordinary registers, for every other processor. Tests compare the two to
//!   the bit.
//! - [`widest`] runs code that is written for any [`Registers`], with wide ones if the processor
//!   has them. [`prefetch`] asks the processor to fetch something that will be read soon.
//! - [`Lines`] is a vector whose elements lie on cache lines.
//! - [`MappedFile`] copies bytes out of a file that is mapped into memory.
//!
//! Every other crate forbids `unsafe`.

mod lines;
mod map;
mod pair;
mod vector;
mod wide;

pub use lines::Lines;
pub use map::MappedFile;
pub use pair::{pairs_at, rounds_like_its_neighbours};
pub use vector::{Array, Eights, Fours, Numbers, Plain, Registers};
pub use wide::{Here, Kernel, Plainly, Runner, Widest, plainly, prefetch, widest};
