//! All that needs `unsafe`, behind functions that are safe to call.
//!
//! - [`pairs_at`] reads tokens `index:value` with vector instructions, where the processor has
//!   them. Beside them stands the same in ordinary registers, for every other processor; tests
//!   compare the two to the bit.
//! - [`widest`] runs code that is written for any [`Registers`], with wide ones where the processor has
//!   them; [`prefetch`] asks for something that is going to be read.
//! - [`MappedFile`] copies bytes out of a file that is mapped into memory.
//!
//! Every other crate forbids `unsafe`.

mod map;
mod pair;
mod vector;
mod wide;

pub use map::MappedFile;
pub use pair::{pairs_at, rounds_like_its_neighbours};
pub use vector::{Array, Eights, Fours, Numbers, Plain, Registers};
pub use wide::{Kernel, Plainly, Runner, Widest, plainly, prefetch, widest};
