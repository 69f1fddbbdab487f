//! A vector whose elements lie on cache lines, and which grows without a second copy of itself.
//!
//! A `Vec` of elements that are aligned to more than 16 bytes allocates anew when it grows, copies
//! everything and then frees the old memory, so that for a moment it needs twice as much. Memory
//! that is aligned to 16 bytes is instead enlarged by the system, which moves large pieces without
//! copying them. So the elements here lie in such memory, from the first place on that has their
//! alignment.
#![allow(unsafe_code, reason = "elements are kept in memory that has a smaller alignment")]

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

/// The bytes of a cache line.
const LINE: usize = 64;

/// A part of the memory. All systems align allocations to its size.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Piece(#[allow(dead_code, reason = "it is read as something else")] [MaybeUninit<u8>; 16]);

const PIECE: usize = size_of::<Piece>();
/// There is room for so many pieces before the first element.
const SLACK: usize = LINE / PIECE - 1;

/// A vector of plain elements, the first of which is aligned to 64 bytes.
///
/// ```
/// let mut lines = rueful_machine::Lines::default();
/// lines.resize(1000, [0.0_f32; 8]);
/// lines[999][3] = 1.5;
/// assert_eq!(lines.as_ptr() as usize % 64, 0);
/// assert_eq!(lines.len(), 1000);
/// ```
pub struct Lines<T> {
    /// Its length is that of the pieces before the first element and of all elements.
    memory: Vec<Piece>,
    /// How many pieces are before the first element.
    start: usize,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Copy> Lines<T> {
    /// How many pieces an element has.
    const PER_ELEMENT: usize = {
        assert!(
            align_of::<T>() <= LINE && size_of::<T>() > 0 && size_of::<T>().is_multiple_of(PIECE)
        );
        size_of::<T>() / PIECE
    };

    /// Makes the vector so long. New elements have this value.
    pub fn resize(&mut self, len: usize, value: T) {
        if len <= self.len {
            self.len = len;
            return;
        }
        let (old_start, old_len) = (self.start, self.len);
        let pieces = len * Self::PER_ELEMENT;
        self.memory.reserve((pieces + SLACK).saturating_sub(self.memory.len()));
        let base = self.memory.as_mut_ptr();
        self.start = (LINE - base.addr() % LINE) % LINE / PIECE;
        // SAFETY: there is room for `SLACK`, which is at least `start`, and `pieces`. The elements
        // so far lie from `old_start` on, as they were written, because enlarging memory keeps the
        // first `memory.len()` pieces. The first of the new places is aligned for `T`, and all
        // others follow at multiples of its size. Pieces need no initial value.
        unsafe {
            if self.start != old_start {
                let from = base.add(old_start).cast_const();
                std::ptr::copy(from, base.add(self.start), old_len * Self::PER_ELEMENT);
            }
            let first = base.add(self.start).cast::<T>();
            (old_len..len).for_each(|place| first.add(place).write(value));
            self.memory.set_len(self.start + pieces);
        }
        self.len = len;
    }
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { memory: Vec::new(), start: 0, len: 0, elements: PhantomData }
    }
}

impl<T: Copy> Deref for Lines<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `resize` has written so many elements from this place on, which is aligned.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(self.start).cast(), self.len) }
    }
}

impl<T: Copy> DerefMut for Lines<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as above, and the borrow of `self` is exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.memory.as_mut_ptr().add(self.start).cast(),
                self.len,
            )
        }
    }
}

impl<T: Copy> From<&[T]> for Lines<T> {
    fn from(elements: &[T]) -> Self {
        let mut lines = Self::default();
        if let Some(&first) = elements.first() {
            lines.resize(elements.len(), first);
            lines.copy_from_slice(elements);
        }
        lines
    }
}

// The alignment may differ in other memory, so a clone is not a copy of the pieces.
impl<T: Copy> Clone for Lines<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<T: Copy + PartialEq> PartialEq for Lines<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(align(32))]
    struct Four([f64; 4]);

    /// The elements are those of a vector that is treated in the same way, and they stay aligned.
    #[test]
    fn it_is_a_vector() {
        let (mut lines, mut vector) = (Lines::default(), Vec::new());
        assert!(lines.is_empty());
        for (step, len) in [1, 2, 3, 7, 5, 8, 100, 99, 1000, 5000, 40_000].into_iter().enumerate() {
            // Other allocations in between, so that memory is moved.
            let between = vec![step; 100 * step];
            lines.resize(len, Four([step as f64; 4]));
            vector.resize(len, Four([step as f64; 4]));
            lines[len / 2].0[1] = between.len() as f64;
            vector[len / 2].0[1] = between.len() as f64;
            assert_eq!(lines.as_ptr().addr() % LINE, 0);
            assert_eq!(*lines, *vector);
            let cloned = lines.clone();
            assert_eq!(cloned.as_ptr().addr() % LINE, 0);
            assert_eq!(cloned, lines);
        }
        assert_eq!(*Lines::from(&vector[..]), *vector);
        assert!(Lines::<Four>::from(&[][..]).is_empty());
    }

    #[test]
    fn it_can_be_sent_and_moved() {
        let mut lines = Lines::default();
        lines.resize(3, [7_u32; 16]);
        let sent = std::thread::spawn(move || lines).join().unwrap();
        assert_eq!(**Box::new(sent), [[7; 16]; 3]);
    }
}
