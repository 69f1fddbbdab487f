//! The terms of a text: its words, and the n-grams of words that follow each other.
//!
//! With n-grams up to the order N, a text has all runs of 2, 3, … N words as features of their own:
//! `not good` is the bigram `not^good`. If K words may be skipped, a run may leave out up to K of the
//! words between its first and its last. These are the n-grams and skip-grams of Vowpal Wabbit.
//!
//! A term that occurs c times has the value c, or what a [`TermScale`] makes of it.

use crate::names::{Prefix, fold};
use crate::rows::{FeatureSink, Space};
use serde::{Deserialize, Serialize};

/// The most n-grams that one text, or one line of Vowpal Wabbit text, may have.
const GRAMS_MAX: usize = 1 << 20;

/// The hash that the words of an n-gram are added to, so that an n-gram is no cross.
const GRAM: u64 = 0x8ebc_6af0_9c88_c6e3;

/// The text between the words of an n-gram.
pub(crate) const THEN: &[u8] = b"^";

/// The value of a term that occurs c times in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TermScale {
    /// c
    #[default]
    Count,
    /// 1 + ln c
    Log,
    /// 1
    Binary,
}

impl TermScale {
    /// The names of the scales.
    pub const NAMES: [&'static str; 3] = ["count", "log", "binary"];

    /// The scale with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Count, Self::Log, Self::Binary];
        all.into_iter().zip(Self::NAMES).find(|(_, own)| *own == name).map(|(scale, _)| scale)
    }

    /// Whether terms keep their counts.
    pub(crate) fn is_count(&self) -> bool {
        *self == Self::Count
    }

    /// The value of a term that occurs `count` times, for one of the value 1.
    fn of(self, count: u32) -> f32 {
        match self {
            Self::Count => count as f32,
            Self::Log => (1.0 + f64::from(count).ln()) as f32,
            Self::Binary => 1.0,
        }
    }
}

/// The n-grams that are made of texts: all orders from 2 to `order`, with at most `skips` words left
/// out between the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Grams {
    order: u8,
    skips: u8,
}

/// The fields of [`Grams`] before they are checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    order: u8,
    #[serde(default)]
    skips: u8,
}

impl Grams {
    /// The largest order.
    pub const ORDER_MAX: u8 = 8;
    /// The most words that may be skipped.
    pub const SKIPS_MAX: u8 = 8;
    /// No n-grams.
    pub const NONE: Self = Self { order: 1, skips: 0 };

    /// N-grams up to this order, with so many words skipped.
    pub fn new(order: u8, skips: u8) -> Result<Self, String> {
        let (most, skips_most) = (Self::ORDER_MAX, Self::SKIPS_MAX);
        if !(1..=most).contains(&order) {
            return Err(format!("n-grams of 1 to {most} words, not {order}"));
        }
        if skips > skips_most {
            return Err(format!("at most {skips_most} words that are skipped, not {skips}"));
        }
        if order == 1 && skips > 0 {
            return Err("n-grams of 2 or more words, if words are skipped".to_owned());
        }
        Ok(Self { order, skips })
    }

    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// For each n-gram that begins at a word, the places of its words from that word on.
    fn masks(self) -> Vec<Vec<usize>> {
        let mut masks = Vec::new();
        for order in 2..=self.order {
            extend(&mut vec![0], order.into(), self.skips.into(), &mut masks);
        }
        masks
    }
}

impl Default for Grams {
    fn default() -> Self {
        Self::NONE
    }
}

impl TryFrom<Parts> for Grams {
    type Error = String;

    fn try_from(Parts { order, skips }: Parts) -> Result<Self, String> {
        Self::new(order, skips)
    }
}

impl From<Grams> for Parts {
    fn from(Grams { order, skips }: Grams) -> Self {
        Self { order, skips }
    }
}

/// Adds every mask of `order` places that begins like `mask` and skips at most `skips` places more.
fn extend(mask: &mut Vec<usize>, order: usize, skips: usize, masks: &mut Vec<Vec<usize>>) {
    if mask.len() == order {
        masks.push(mask.clone());
        return;
    }
    let last = mask.last().copied().unwrap_or(0);
    for skipped in 0..=skips {
        mask.push(last + 1 + skipped);
        extend(mask, order, skips - skipped, masks);
        mask.pop();
    }
}

/// The rules by which words become terms, worked out before the first row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TermRules {
    masks: Vec<Vec<usize>>,
    scale: TermScale,
}

impl TermRules {
    pub(crate) fn new(grams: Grams, scale: TermScale) -> Self {
        Self { masks: grams.masks(), scale }
    }

    /// Whether every word is a term by itself, whatever the others are.
    pub(crate) fn is_plain(&self) -> bool {
        self.masks.is_empty() && self.scale.is_count()
    }

    /// The number of n-grams of a text with so many words.
    fn gram_count(&self, words: usize) -> usize {
        let of_mask = |mask: &Vec<usize>| words.saturating_sub(mask.last().copied().unwrap_or(0));
        self.masks.iter().fold(0, |all: usize, mask| all.saturating_add(of_mask(mask)))
    }
}

/// A text has too many n-grams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ManyGrams;

impl ManyGrams {
    /// A description of the text that should have been there.
    pub(crate) fn expected() -> String {
        format!("a text with at most {GRAMS_MAX} n-grams")
    }
}

/// A word of a text.
#[derive(Debug, Clone, Copy)]
struct Word {
    hash: u64,
    value: f32,
    /// The index that its name stands for, if it is a number.
    index: Option<u32>,
    /// Whether its occurrences are counted, because it has no value of its own.
    is_counted: bool,
    /// The places of its prefix and of its name.
    prefix: (usize, usize),
    name: (usize, usize),
}

/// A term: the word with this number, or an n-gram that begins with it.
#[derive(Debug, Clone, Copy)]
struct Term {
    hash: u64,
    value: f32,
    word: usize,
    /// The number of its mask, if it is an n-gram.
    mask: Option<usize>,
}

/// The words of one text in their order, and the memory that its terms need.
#[derive(Debug, Default)]
pub(crate) struct WordList {
    words: Vec<Word>,
    names: Vec<u8>,
    terms: Vec<Term>,
}

impl WordList {
    /// Forgets the words of the text before.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.names.clear();
    }

    /// Adds a word that counts 1.
    pub(crate) fn push(&mut self, prefix: &Prefix, name: &[u8]) {
        self.push_with(prefix.hash(name), None, 1.0, true, prefix.text(), name);
    }

    /// Adds a word whose name has this hash. `index` is the index that its name stands for.
    pub(crate) fn push_with(
        &mut self,
        hash: u64,
        index: Option<u32>,
        value: f32,
        is_counted: bool,
        prefix: &[u8],
        name: &[u8],
    ) {
        // Most words have the prefix of the word before.
        let known = self.words.last().map(|word| word.prefix);
        let prefix = match known.filter(|&(start, end)| self.names[start..end] == *prefix) {
            Some(place) => place,
            None => self.keep(prefix),
        };
        let name = self.keep(name);
        self.words.push(Word { hash, value, index, is_counted, prefix, name });
    }

    /// Keeps a text. Returns its place.
    fn keep(&mut self, text: &[u8]) -> (usize, usize) {
        let start = self.names.len();
        self.names.extend_from_slice(text);
        (start, self.names.len())
    }

    /// Adds the terms of the text to a row.
    pub(crate) fn add_to(
        &mut self,
        rules: &TermRules,
        space: &Space,
        rows: &mut impl FeatureSink,
    ) -> Result<(), ManyGrams> {
        if rules.gram_count(self.words.len()) > GRAMS_MAX {
            return Err(ManyGrams);
        }
        if rules.scale.is_count() {
            self.each_term(rules, |term| self.add(rules, term, space, rows));
            return Ok(());
        }
        let mut terms = std::mem::take(&mut self.terms);
        terms.clear();
        self.each_term(rules, |term| terms.push(*term));
        terms.sort_by_key(|term| term.hash);
        for same in terms.chunk_by(|one, other| one.hash == other.hash) {
            self.add_scaled(rules, same, space, rows);
        }
        self.terms = terms;
        Ok(())
    }

    /// Adds a term for all its occurrences. Those that have a value of their own are added as they
    /// are.
    fn add_scaled(
        &self,
        rules: &TermRules,
        same: &[Term],
        space: &Space,
        rows: &mut impl FeatureSink,
    ) {
        let (mut count, mut sum, mut counted) = (0, 0.0, None);
        for term in same {
            if term.mask.is_some() || self.words[term.word].is_counted {
                (count, sum, counted) = (count + 1, sum + term.value, Some(term));
            } else {
                self.add(rules, term, space, rows);
            }
        }
        if let Some(term) = counted {
            let value = sum / count as f32 * rules.scale.of(count);
            self.add(rules, &Term { value, ..*term }, space, rows);
        }
    }

    /// Calls `take` with every word and every n-gram.
    fn each_term(&self, rules: &TermRules, mut take: impl FnMut(&Term)) {
        for (number, word) in self.words.iter().enumerate() {
            take(&Term { hash: word.hash, value: word.value, word: number, mask: None });
        }
        for (number, mask) in rules.masks.iter().enumerate() {
            let last = mask.last().copied().unwrap_or(0);
            for first in 0..self.words.len().saturating_sub(last) {
                let hash = |hash, &place: &usize| fold(hash, self.words[first + place].hash);
                let hash = mask.iter().fold(GRAM, hash);
                take(&Term { hash, value: 1.0, word: first, mask: Some(number) });
            }
        }
    }

    /// Adds one term to a row.
    fn add(&self, rules: &TermRules, term: &Term, space: &Space, rows: &mut impl FeatureSink) {
        let word = &self.words[term.word];
        let write = |name: &mut Vec<u8>| self.write(rules, term, name);
        match word.index.filter(|_| term.mask.is_none()) {
            Some(index) => rows.add_index(index, term.hash, term.value, write),
            None => rows.add_hashed(space, term.hash, term.value, write),
        }
    }

    /// Appends the name of a term: the prefix of its first word, and the names of all its words.
    #[cold]
    fn write(&self, rules: &TermRules, term: &Term, name: &mut Vec<u8>) {
        let first = &self.words[term.word];
        let text = |(start, end): (usize, usize)| &self.names[start..end];
        name.extend_from_slice(text(first.prefix));
        let mask = term.mask.map_or(&[0][..], |mask| &rules.masks[mask]);
        for (number, place) in mask.iter().enumerate() {
            if number > 0 {
                name.extend_from_slice(THEN);
            }
            name.extend_from_slice(text(self.words[term.word + place].name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{Bits, Names};
    use crate::rows::Rows;
    use rueful_core::Importance;

    /// The terms of a text, with their values, in the order of their names.
    fn terms(text: &str, rules: &TermRules) -> Vec<(String, f32)> {
        let space = Space { bits: Bits::default(), max_index: 1000 };
        let (mut rows, mut list) = (Rows::default(), WordList::default());
        rows.begin(false);
        text.split(' ').for_each(|word| list.push(&Prefix::new("t:"), word.as_bytes()));
        list.add_to(rules, &space, &mut rows).unwrap();
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

    fn rules(order: u8, skips: u8, scale: TermScale) -> TermRules {
        TermRules::new(Grams::new(order, skips).unwrap(), scale)
    }

    fn names(text: &str, order: u8, skips: u8) -> Vec<String> {
        let terms = terms(text, &rules(order, skips, TermScale::Count));
        terms.into_iter().map(|(name, _)| name).filter(|name| name.contains('^')).collect()
    }

    #[test]
    fn n_grams_are_runs_of_words() {
        assert_eq!(names("a b c", 1, 0), [""; 0]);
        assert_eq!(names("a b c", 2, 0), ["t:a^b", "t:b^c"]);
        assert_eq!(names("a b c", 3, 0), ["t:a^b", "t:a^b^c", "t:b^c"]);
        assert_eq!(names("a b c", 2, 1), ["t:a^b", "t:a^c", "t:b^c"]);
        let three = ["t:a^b", "t:a^b^c", "t:a^b^d", "t:a^c", "t:a^c^d"];
        assert_eq!(
            names("a b c d", 3, 1),
            [&three[..], &["t:b^c", "t:b^c^d", "t:b^d", "t:c^d"]].concat()
        );
        assert_eq!(names("a", 5, 3), [""; 0]);
    }

    #[test]
    fn repeated_terms_add_up_before_they_are_scaled() {
        let count = terms("to be or not to be", &rules(2, 0, TermScale::Count));
        let log = terms("to be or not to be", &rules(2, 0, TermScale::Log));
        let binary = terms("to be or not to be", &rules(2, 0, TermScale::Binary));
        let twice = ["t:be", "t:to", "t:to^be"];
        for ((counted, log), binary) in count.iter().zip(&log).zip(&binary) {
            let is_twice = twice.contains(&&*counted.0);
            let values = [counted.1, log.1, binary.1];
            let log_2 = (1.0 + std::f64::consts::LN_2) as f32;
            assert_eq!(values, if is_twice { [2.0, log_2, 1.0] } else { [1.0; 3] }, "{counted:?}");
            assert!(counted.0 == log.0 && log.0 == binary.0);
        }
        assert_eq!(count.len(), 8);
    }

    #[test]
    fn texts_without_bound_are_refused() {
        let mut list = WordList::default();
        (0..300_000).for_each(|_| list.push(&Prefix::NONE, b"x"));
        let space = Space { bits: Bits::default(), max_index: 1000 };
        let mut rows = Rows::default();
        let five = rules(5, 0, TermScale::Count);
        assert_eq!(list.add_to(&five, &space, &mut rows), Err(ManyGrams));
        assert_eq!(list.add_to(&rules(4, 0, TermScale::Log), &space, &mut rows), Ok(()));
        assert!(
            Grams::new(9, 0).is_err() && Grams::new(0, 0).is_err() && Grams::new(1, 1).is_err()
        );
        assert!(Grams::new(2, 9).is_err());
    }

    #[test]
    fn an_n_gram_is_no_cross() {
        let (a, b) = (Prefix::NONE.hash(b"a"), Prefix::NONE.hash(b"b"));
        assert_ne!([a, b].into_iter().fold(GRAM, fold), fold(a, b));
    }
}
