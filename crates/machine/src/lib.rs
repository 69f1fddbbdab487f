//! All that needs `unsafe`, behind functions that are safe to call.
//!
//! - [`pairs_at`] reads tokens `index:value` with vector instructions, where the processor has
//!   them. Beside them stands the same in ordinary registers, for every other processor; tests
//!   compare the two to the bit.
//! - [`widest`] runs ordinary code, compiled once more for wide registers, where the processor has
//!   them; [`prefetch`] asks for something that is going to be read.
//! - [`MappedFile`] copies bytes out of a file that is mapped into memory.
//!
//! Every other crate forbids `unsafe`.

mod map;
mod pair;
mod wide;

pub use map::MappedFile;
pub use pair::{pairs_at, rounds_like_its_neighbours};
pub use wide::{Kernel, prefetch, wide, widest};
