//! Interactions of namespaces, as Vowpal Wabbit has them.
//!
//! An interaction is a few letters. Each stands for all namespaces whose names begin with it, and
//! `:` for every namespace. A namespace without a name begins with a space. The interaction `ab` is
//! the [cross](super::cross) of the features of `a` and those of `b`. The order of its letters makes
//! no difference. The interaction `aa` takes each pair of features once, and each feature with
//! itself.

use super::cross::{Cross, CrossFault, Groups};
use crate::rows::{Rows, Space};
use serde::{Deserialize, Serialize};

/// The letter that stands for every namespace.
const ANY: u8 = b':';

/// The first letter of a namespace without a name.
const NAMELESS: u8 = b' ';

/// The most crosses that the interactions of one row may come to.
const CROSSES_MAX: usize = 1 << 12;

/// The interactions of namespaces from which features are made. They are in order, and so are the
/// letters of each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Interactions(Vec<String>);

impl Interactions {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the features of namespaces that begin with this letter are crossed.
    fn has(&self, letter: u8) -> bool {
        self.0.iter().any(|letters| letters.bytes().any(|other| other == letter || other == ANY))
    }

    /// The crosses of the namespaces that begin with these letters, each as its letters.
    fn crosses(&self, letters: &[u8]) -> Result<Vec<Vec<u8>>, CrossFault> {
        let mut crosses = Vec::new();
        for interaction in &self.0 {
            crosses.extend(choices(interaction.as_bytes(), letters)?);
        }
        crosses.sort();
        crosses.dedup();
        Ok(crosses)
    }
}

impl From<Interactions> for Vec<String> {
    fn from(interactions: Interactions) -> Self {
        interactions.0
    }
}

impl TryFrom<Vec<String>> for Interactions {
    type Error = String;

    fn try_from(interactions: Vec<String>) -> Result<Self, String> {
        let all = interactions.iter().map(|letters| in_order(letters));
        let mut all = all.collect::<Result<Vec<_>, _>>()?;
        all.sort();
        all.dedup();
        Ok(Self(all))
    }
}

/// The letter that a namespace is known by.
pub(crate) fn first_letter(namespace: &[u8]) -> u8 {
    namespace.first().copied().unwrap_or(NAMELESS)
}

/// The letters of an interaction in order.
fn in_order(letters: &str) -> Result<String, String> {
    let most = Cross::MOST;
    if !letters.is_ascii() || !(2..=most).contains(&letters.len()) {
        let found = crate::error::excerpt(letters.as_bytes());
        return Err(format!(
            "\"{found}\" is not an interaction: from 2 to {most} first letters of namespaces, such \
             as ab, where : stands for every namespace"
        ));
    }
    let mut letters: Vec<char> = letters.chars().collect();
    letters.sort_unstable();
    Ok(letters.into_iter().collect())
}

/// Every way to put one of `letters` in the place of each `:`, in order and without repetition.
/// There is none if another letter is not among them.
fn choices(interaction: &[u8], letters: &[u8]) -> Result<Vec<Vec<u8>>, CrossFault> {
    let mut all = vec![Vec::new()];
    for wished in interaction {
        let fitting = letters.iter().filter(|&letter| letter == wished || *wished == ANY);
        let longer = |chosen: &Vec<u8>| {
            let chosen = chosen.clone();
            fitting.clone().map(move |&letter| {
                let mut chosen = [&chosen[..], &[letter]].concat();
                chosen.sort_unstable();
                chosen
            })
        };
        let mut next: Vec<_> = all.iter().flat_map(longer).collect();
        next.sort();
        next.dedup();
        if next.len() > CROSSES_MAX {
            return Err(CrossFault::Many);
        }
        all = next;
    }
    Ok(all)
}

/// The features of the current row whose namespaces interact, and the crosses that they make.
#[derive(Debug)]
pub(crate) struct Interacting<'a> {
    interactions: &'a Interactions,
    pub(crate) groups: Groups,
    /// The first letter of the namespaces of each group.
    letters: Vec<u8>,
    /// The crosses of all groups, unless they are too many to keep.
    crosses: Option<Vec<Cross>>,
    /// The number of groups for which the crosses were worked out.
    known: usize,
}

impl<'a> Interacting<'a> {
    pub(crate) fn new(interactions: &'a Interactions) -> Self {
        let (groups, letters, crosses) = (Groups::new(0), Vec::new(), None);
        Self { interactions, groups, letters, crosses, known: 0 }
    }

    /// The group of a namespace, if it interacts.
    pub(crate) fn group(&mut self, namespace: &[u8]) -> Option<usize> {
        let letter = first_letter(namespace);
        let known = self.letters.iter().position(|other| *other == letter);
        if known.is_some() || !self.interactions.has(letter) {
            return known;
        }
        self.letters.push(letter);
        Some(self.groups.add())
    }

    /// Adds the features of all interactions to the row.
    pub(crate) fn cross(&mut self, space: &Space, rows: &mut Rows) -> Result<(), CrossFault> {
        if self.known < self.letters.len() {
            self.crosses = self.crosses_of(&self.letters).ok();
            self.known = self.letters.len();
        }
        match &self.crosses {
            Some(crosses) => self.groups.cross_all(crosses, space, rows),
            None => self.groups.cross_all(&self.crosses_of(&self.letters_here())?, space, rows),
        }
    }

    /// The letters of the namespaces that have features in this row.
    fn letters_here(&self) -> Vec<u8> {
        let letters = self.letters.iter().enumerate();
        letters.filter(|(group, _)| self.groups.has(*group)).map(|(_, letter)| *letter).collect()
    }

    fn crosses_of(&self, letters: &[u8]) -> Result<Vec<Cross>, CrossFault> {
        let group = |letter: &u8| self.letters.iter().position(|other| other == letter);
        let cross = |letters: &Vec<u8>| Cross::new(letters.iter().filter_map(group).collect());
        Ok(self.interactions.crosses(letters)?.iter().filter_map(cross).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crosses(interactions: &[&str], letters: &str) -> Vec<String> {
        let interactions: Vec<_> = interactions.iter().map(|&one| one.to_owned()).collect();
        let crosses = Interactions::try_from(interactions).unwrap().crosses(letters.as_bytes());
        crosses.unwrap().into_iter().map(|cross| String::from_utf8(cross).unwrap()).collect()
    }

    #[test]
    fn a_colon_stands_for_every_namespace() {
        assert_eq!(crosses(&["ba", "ab"], "ab"), ["ab"]);
        assert_eq!(crosses(&["ab"], "a"), [""; 0]);
        assert_eq!(crosses(&["::"], "ba"), ["aa", "ab", "bb"]);
        assert_eq!(crosses(&["a:", "b:"], "ab"), ["aa", "ab", "bb"]);
        assert_eq!(crosses(&[":::"], "ab"), ["aaa", "aab", "abb", "bbb"]);
    }

    #[test]
    fn interactions_without_bound_are_refused() {
        let letters: Vec<u8> = (b'A'..=b'Z').collect();
        let all = Interactions::try_from(vec!["::::".to_owned()]).unwrap();
        assert_eq!(all.crosses(&letters), Err(CrossFault::Many));
        for wrong in ["", "a", "abcdefghi", "aé"] {
            assert!(Interactions::try_from(vec![wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
