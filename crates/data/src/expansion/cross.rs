//! Crosses: one feature for each way to take one feature from each of several columns.
//!
//! The cross of `age` and `job` has the feature `age×job=clerk`, whose value is the product of the
//! values of `age` and `job=clerk`. A column may be crossed with itself. Then each choice of its
//! features is taken once, in whatever order, and a feature may be chosen again: `age×age` is the
//! square of `age`. Names are in the order of the columns' names, so the order in which columns are
//! named or stand in the file makes no difference.
//!
//! The features of the crossed columns are kept until the row ends, with their hashes and names.
//! A cross combines hashes, which is as fast as hashing a short name. The name itself is put
//! together only when it is new.

use crate::names::{Prefix, fold};
use crate::rows::{FeatureSink, Rows, Space};

/// The most features that the crosses of one row may make.
const MADE_MAX: usize = 1 << 20;

/// The text between the names of features that are crossed.
pub(crate) const TIMES: &str = "×";

/// A cross, as the groups of which one feature each is taken. The same group comes again right
/// after itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cross(Vec<usize>);

/// The reason why the crosses of a row cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrossFault {
    /// They would be too many.
    Many,
    /// A product is too large for single precision.
    Large,
}

impl CrossFault {
    /// A description of the row that should have been there.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Many => format!("a row whose crosses make at most {MADE_MAX} features"),
            Self::Large => "crossed numbers whose product fits in single precision".to_owned(),
        }
    }
}

/// A feature of a column or namespace that is crossed.
#[derive(Debug, Clone, Copy)]
struct Part {
    hash: u64,
    value: f32,
    /// The place of its name.
    start: usize,
    end: usize,
}

/// The features of the current row, in groups that crosses take them from.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    parts: Vec<Vec<Part>>,
    names: Vec<u8>,
}

impl Groups {
    /// Empty groups.
    pub(crate) fn new(count: usize) -> Self {
        Self { parts: (0..count).map(|_| Vec::new()).collect(), names: Vec::new() }
    }

    /// Adds an empty group, and returns its number.
    pub(crate) fn add(&mut self) -> usize {
        self.parts.push(Vec::new());
        self.parts.len() - 1
    }

    /// Whether a group has features.
    pub(crate) fn has(&self, group: usize) -> bool {
        !self.parts[group].is_empty()
    }

    /// Forgets the features of the row before.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.parts.iter_mut().for_each(Vec::clear);
        self.names.clear();
    }

    /// Adds a feature to a group.
    pub(crate) fn push(&mut self, group: usize, prefix: &Prefix, name: &[u8], value: f32) {
        self.push_hashed(group, prefix.hash(name), value, |names| {
            names.extend_from_slice(prefix.text());
            names.extend_from_slice(name);
        });
    }

    /// Adds a feature whose name has this hash to a group. `write` appends the name.
    fn push_hashed(&mut self, group: usize, hash: u64, value: f32, write: impl Fn(&mut Vec<u8>)) {
        if value != 0.0 {
            let start = self.names.len();
            write(&mut self.names);
            self.parts[group].push(Part { hash, value, start, end: self.names.len() });
        }
    }

    /// A sink that adds features to the row, and to a group.
    pub(crate) fn recorder<'a>(&'a mut self, group: usize, rows: &'a mut Rows) -> Recorder<'a> {
        Recorder { groups: self, group, rows }
    }

    /// Adds the features of crosses to the row.
    pub(crate) fn cross_all(
        &self,
        crosses: &[Cross],
        space: &Space,
        rows: &mut Rows,
    ) -> Result<(), CrossFault> {
        let count = crosses.iter().fold(0, |all: usize, one| all.saturating_add(self.count(one)));
        if count > MADE_MAX {
            return Err(CrossFault::Many);
        }
        crosses.iter().try_for_each(|cross| self.cross(cross, space, rows))
    }

    /// Adds the features of a cross to the row.
    fn cross(&self, cross: &Cross, space: &Space, rows: &mut Rows) -> Result<(), CrossFault> {
        let mut chosen = [0; Cross::MOST];
        let chosen = &mut chosen[..cross.0.len()];
        if cross.0.iter().any(|&group| self.parts[group].is_empty()) {
            return Ok(());
        }
        loop {
            self.last_place(cross, chosen, space, rows)?;
            if !self.advance(cross, chosen) {
                return Ok(());
            }
        }
    }

    /// An upper bound for the number of features that a cross makes.
    fn count(&self, cross: &Cross) -> usize {
        cross.0.iter().fold(1, |all: usize, &group| all.saturating_mul(self.parts[group].len()))
    }

    /// Adds the features for every choice at the last place, given the choices before it.
    fn last_place(
        &self,
        cross: &Cross,
        chosen: &[usize],
        space: &Space,
        rows: &mut Rows,
    ) -> Result<(), CrossFault> {
        let (&last, groups) = cross.0.split_last().unwrap_or((&0, &[]));
        let part = |place: usize| self.parts[groups[place]][chosen[place]];
        let first = part(0);
        let (mut hash, mut value) = (first.hash, first.value);
        for place in 1..groups.len() {
            (hash, value) = (fold(hash, part(place).hash), value * part(place).value);
        }
        let start = cross.start(chosen, groups.len());
        for other in &self.parts[last][start..] {
            let (hash, value) = (fold(hash, other.hash), value * other.value);
            if !value.is_finite() {
                return Err(CrossFault::Large);
            }
            rows.add_hashed(space, hash, value, |name| {
                for place in 0..groups.len() {
                    self.write(&part(place), name);
                    name.extend_from_slice(TIMES.as_bytes());
                }
                self.write(other, name);
            });
        }
        Ok(())
    }

    #[cold]
    fn write(&self, part: &Part, name: &mut Vec<u8>) {
        name.extend_from_slice(&self.names[part.start..part.end]);
    }

    /// Moves on to the next choices before the last place. Returns whether there are any.
    fn advance(&self, cross: &Cross, chosen: &mut [usize]) -> bool {
        let before_last = cross.0.len() - 1;
        for place in (0..before_last).rev() {
            chosen[place] += 1;
            if chosen[place] < self.parts[cross.0[place]].len() {
                for later in place + 1..before_last {
                    chosen[later] = cross.start(chosen, later);
                }
                return true;
            }
        }
        false
    }
}

impl Cross {
    /// The most columns or namespaces in a cross.
    pub(crate) const MOST: usize = 8;

    /// A cross of groups. Returns none if there are too few or too many of them.
    pub(crate) fn new(mut groups: Vec<usize>) -> Option<Self> {
        let order: Vec<usize> = groups.clone();
        groups.sort_by_key(|group| order.iter().position(|first| first == group));
        (2..=Self::MOST).contains(&groups.len()).then_some(Self(groups))
    }

    /// The first choice at a place: the one before it if that is of the same group, so that each
    /// choice of features is taken once.
    fn start(&self, chosen: &[usize], place: usize) -> usize {
        if place > 0 && self.0[place] == self.0[place - 1] { chosen[place - 1] } else { 0 }
    }
}

/// Adds features to a row and to a group at the same time.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    groups: &'a mut Groups,
    group: usize,
    rows: &'a mut Rows,
}

impl FeatureSink for Recorder<'_> {
    fn add_named(&mut self, space: &Space, prefix: &Prefix, name: &[u8], value: f32) {
        self.rows.add_named(space, prefix, name, value);
        self.groups.push(self.group, prefix, name, value);
    }

    fn add_hashed(&mut self, space: &Space, hash: u64, value: f32, write: impl Fn(&mut Vec<u8>)) {
        self.rows.add_hashed(space, hash, value, &write);
        self.groups.push_hashed(self.group, hash, value, write);
    }

    fn add_index(&mut self, index: u32, hash: u64, value: f32, write: impl Fn(&mut Vec<u8>)) {
        self.rows.add(index, value);
        self.groups.push_hashed(self.group, hash, value, write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{Bits, Names};
    use rueful_core::Importance;

    /// The names and values of the features that a cross makes of groups of named values.
    fn crossed(groups: &[&[(&str, f32)]], cross: &[usize]) -> Vec<(String, f32)> {
        let space = Space { bits: Bits::default(), max_index: 1000 };
        let mut all = Groups::new(groups.len());
        let mut rows = Rows::default();
        rows.begin(false);
        for (group, features) in groups.iter().enumerate() {
            for &(name, value) in *features {
                all.push(group, &Prefix::NONE, name.as_bytes(), value);
            }
        }
        all.cross_all(&[Cross::new(cross.to_vec()).unwrap()], &space, &mut rows).unwrap();
        rows.finish(1.0, Importance::ONE).unwrap();
        let mut names = Names::default();
        names.learn(&rows.names);
        let x = rows.batch.get(0).features;
        let pairs = x.indices().iter().zip(x.values());
        let mut made: Vec<_> =
            pairs.map(|(&index, &value)| (names.get(index).unwrap(), value)).collect();
        made.sort_by(|one, other| one.0.cmp(&other.0));
        made
    }

    fn named(made: &[(&str, f32)]) -> Vec<(String, f32)> {
        made.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn a_cross_takes_one_feature_from_each_group() {
        let (a, b): (&[_], &[_]) = (&[("a", 2.0), ("b", 3.0)], &[("c", 5.0), ("d", -1.0)]);
        let made = named(&[("a×c", 10.0), ("a×d", -2.0), ("b×c", 15.0), ("b×d", -3.0)]);
        assert_eq!(crossed(&[a, b], &[0, 1]), made);
        let three = crossed(&[a, b, &[("e", 2.0)]], &[0, 1, 2]);
        let made = [("a×c×e", 20.0), ("a×d×e", -4.0), ("b×c×e", 30.0), ("b×d×e", -6.0)];
        assert_eq!(three, named(&made));
        assert_eq!(crossed(&[a, &[]], &[0, 1]), []);
    }

    #[test]
    fn a_group_with_itself_makes_each_choice_once() {
        let a: &[_] = &[("a", 2.0), ("b", 3.0), ("c", 5.0)];
        let squares = [("a×a", 4.0), ("a×b", 6.0), ("a×c", 10.0)];
        let made = named(&[&squares[..], &[("b×b", 9.0), ("b×c", 15.0), ("c×c", 25.0)]].concat());
        assert_eq!(crossed(&[a], &[0, 0]), made);
        // There are 10 ways to choose 3 of 3 if a choice may be repeated.
        assert_eq!(crossed(&[a], &[0, 0, 0]).len(), 10);
        // Repetitions count as one run, wherever they stand.
        let b: &[_] = &[("d", 7.0)];
        assert_eq!(crossed(&[a, b], &[0, 1, 0]), crossed(&[a, b], &[0, 0, 1]));
        assert_eq!(crossed(&[a, b], &[0, 1, 0]).len(), 6);
    }

    #[test]
    fn crosses_without_bound_are_refused() {
        let space = Space { bits: Bits::default(), max_index: 1000 };
        let mut groups = Groups::new(1);
        (0..1025).for_each(|_| groups.push(0, &Prefix::NONE, b"x", 1e20));
        let mut rows = Rows::default();
        let pair = [Cross::new(vec![0, 0]).unwrap()];
        assert_eq!(groups.cross_all(&pair, &space, &mut rows), Err(CrossFault::Many));
        groups.clear();
        groups.push(0, &Prefix::NONE, b"x", 1e20);
        assert_eq!(groups.cross_all(&pair, &space, &mut rows), Err(CrossFault::Large));
        assert_eq!(Cross::new(vec![0]), None);
        assert_eq!(Cross::new(vec![0; 9]), None);
    }
}
