//! Running text: its words, lower-cased.
//!
//! A word is a run of letters and digits, as Unicode defines them. Everything else separates words.
//! So `Don't` is `don` and `t`, and `Über-App` is `über` and `app`.

use crate::expansion::terms::{ManyGrams, TermRules, WordList};
use crate::names::Prefix;
use crate::rows::{FeatureSink, Space};

/// Finds words, in buffers that are reused, and the terms that they make.
#[derive(Debug, Default)]
pub(crate) struct Words {
    word: Vec<u8>,
    list: WordList,
    rules: TermRules,
}

impl Words {
    /// Finds words that make terms by these rules.
    pub(crate) fn new(rules: TermRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Adds a feature for every term of `text`. The counts of a repeated term add up.
    pub(crate) fn add(
        &mut self,
        space: &Space,
        prefix: &Prefix,
        text: &[u8],
        rows: &mut impl FeatureSink,
    ) -> Result<(), ManyGrams> {
        if self.rules.is_plain() {
            self.each_word(text, |word| rows.add_named(space, prefix, word, 1.0));
            return Ok(());
        }
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        self.each_word(text, |word| list.push(prefix, word));
        let added = list.add_to(&self.rules, space, rows);
        self.list = list;
        added
    }

    fn each_word(&mut self, text: &[u8], take: impl FnMut(&[u8])) {
        if text.is_ascii() {
            self.each_ascii(text, take);
        } else {
            self.each(text, take);
        }
    }

    fn each_ascii(&mut self, text: &[u8], mut take: impl FnMut(&[u8])) {
        for run in text.split(|byte| !byte.is_ascii_alphanumeric()).filter(|run| !run.is_empty()) {
            self.word.clear();
            self.word.extend(run.iter().map(u8::to_ascii_lowercase));
            take(&self.word);
        }
    }

    /// Calls `take` with every word of any text. Bytes that are not UTF-8 separate words.
    fn each(&mut self, text: &[u8], mut take: impl FnMut(&[u8])) {
        for chunk in text.utf8_chunks() {
            let runs = chunk.valid().split(|char: char| !char.is_alphanumeric());
            for run in runs.filter(|run| !run.is_empty()) {
                self.word.clear();
                let mut bytes = [0; 4];
                for char in run.chars().flat_map(char::to_lowercase) {
                    self.word.extend_from_slice(char.encode_utf8(&mut bytes).as_bytes());
                }
                take(&self.word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        Words::default().each(text, |word| all.push(String::from_utf8_lossy(word).into_owned()));
        all
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(words(b"Don't PANIC, 42x!"), ["don", "t", "panic", "42x"]);
        assert_eq!(words("Über-App ΣΑΣ İx".as_bytes()), ["über", "app", "σασ", "i\u{307}x"]);
        assert_eq!(words(b"caf\xe9s"), ["caf", "s"]);
        assert!(words(b" -- ").is_empty());
    }

    proptest! {
        #[test]
        fn plain_text_has_the_same_words_both_ways(text in "[ -~\\t\\n]{0,40}") {
            let mut all = Vec::new();
            Words::default().each_ascii(text.as_bytes(), |word| {
                all.push(String::from_utf8_lossy(word).into_owned());
            });
            prop_assert_eq!(all, words(text.as_bytes()));
        }
    }
}
