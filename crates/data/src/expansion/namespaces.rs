//! The use of the namespaces of Vowpal Wabbit text: which of them are read, and what is made of the
//! words in them.
//!
//! A namespace is known by the first letter of its name, and namespaces that begin with the same
//! letter are one text. This is what Vowpal Wabbit does for `--ngram`, `--skips`, `--ignore` and
//! `--keep`.

use super::interactions::first_letter;
use super::terms::{Grams, TermRules, TermScale};
use crate::error::excerpt;
use serde::{Deserialize, Serialize};

/// The use of the namespaces of Vowpal Wabbit text. Settings are written as a person gives them, and
/// are known to be right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct NamespaceRules(Parts);

/// The fields of [`NamespaceRules`] before they are checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parts {
    /// The order of n-grams, each after the letter of a namespace if it is not for all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ngram: Vec<String>,
    /// The number of words that may be skipped, written likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) skips: Vec<String>,
    /// The first letters of namespaces that are not read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) ignore: String,
    /// The first letters of the only namespaces that are read, if there are any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) keep: String,
    /// Whether the names of features are lower-cased.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lowercase: bool,
    /// The value of a word or n-gram that is repeated.
    #[serde(skip_serializing_if = "TermScale::is_count")]
    pub(crate) tf: TermScale,
}

impl NamespaceRules {
    /// Whether namespaces are read as they are.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl From<NamespaceRules> for Parts {
    fn from(rules: NamespaceRules) -> Self {
        rules.0
    }
}

impl TryFrom<Parts> for NamespaceRules {
    type Error = String;

    fn try_from(parts: Parts) -> Result<Self, String> {
        for letters in [&parts.ignore, &parts.keep] {
            check_letters(letters)?;
        }
        for letter in 0..=u8::MAX {
            parts.grams(letter)?;
        }
        if let (true, Some(skips)) = (parts.ngram.is_empty(), parts.skips.first()) {
            let found = excerpt(skips.as_bytes());
            return Err(format!("n-grams of which words can be skipped, for skips \"{found}\""));
        }
        Ok(Self(parts))
    }
}

fn check_letters(letters: &str) -> Result<(), String> {
    match letters.chars().find(|letter| !letter.is_ascii()) {
        None => Ok(()),
        Some(other) => Err(format!("first letters of namespaces in ASCII, not \"{other}\"")),
    }
}

impl Parts {
    /// The n-grams of the namespaces that begin with this letter.
    fn grams(&self, letter: u8) -> Result<Grams, String> {
        let order = of_letter(&self.ngram, letter)?.unwrap_or(1);
        let is_own = has_own(&self.skips, letter);
        match of_letter(&self.skips, letter)? {
            // Skips for all namespaces say nothing about one that has no n-grams.
            Some(_) if order == 1 && !is_own => Grams::new(order, 0),
            skips => Grams::new(order, skips.unwrap_or(0)),
        }
    }
}

/// Whether one of the settings is for this letter alone.
fn has_own(settings: &[String], letter: u8) -> bool {
    settings.iter().any(|setting| split(setting).0 == Some(letter))
}

/// The letter that a setting is for, if it has one, and the rest of the setting.
fn split(setting: &str) -> (Option<u8>, &str) {
    match setting.chars().next() {
        Some(first) if first.is_ascii() && !first.is_ascii_digit() => {
            (Some(first as u8), &setting[1..])
        }
        _ => (None, setting),
    }
}

/// The number that settings such as `2` and `a3` have for a letter. The last one counts, and one with
/// a letter counts more than one without.
fn of_letter(settings: &[String], letter: u8) -> Result<Option<u8>, String> {
    let (mut general, mut own) = (None, None);
    for setting in settings {
        let (wished, number) = split(setting);
        let number: u8 = number.parse().map_err(|_| {
            let found = excerpt(setting.as_bytes());
            format!("a number such as 2, or a3 for namespaces that begin with a, not \"{found}\"")
        })?;
        match wished {
            None => general = Some(number),
            Some(wished) if wished == letter => own = Some(number),
            Some(_) => {}
        }
    }
    Ok(own.or(general))
}

/// The use of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Its features are read one by one.
    Plain,
    /// Its features are the words of a text, whose terms are made by the rules of this number.
    Text(usize),
    /// It is not read.
    Ignored,
}

/// The rules, worked out for every first letter.
#[derive(Debug, Clone)]
pub(crate) struct NamespacePlan {
    uses: Vec<Use>,
    rules: Vec<TermRules>,
    pub(crate) lowercase: bool,
}

impl NamespacePlan {
    pub(crate) fn new(NamespaceRules(parts): &NamespaceRules) -> Self {
        let mut rules: Vec<TermRules> = Vec::new();
        let mut use_of = |letter: u8| {
            let is_kept = parts.keep.is_empty() || parts.keep.as_bytes().contains(&letter);
            if !is_kept || parts.ignore.as_bytes().contains(&letter) {
                return Use::Ignored;
            }
            let own = TermRules::new(parts.grams(letter).unwrap_or_default(), parts.tf);
            if own.is_plain() {
                return Use::Plain;
            }
            let known = rules.iter().position(|known| *known == own);
            Use::Text(known.unwrap_or_else(|| {
                rules.push(own);
                rules.len() - 1
            }))
        };
        let uses = (0..=u8::MAX).map(&mut use_of).collect();
        Self { uses, rules, lowercase: parts.lowercase }
    }

    /// The use of a namespace.
    pub(crate) fn use_of(&self, namespace: &[u8]) -> Use {
        self.uses[usize::from(first_letter(namespace))]
    }

    /// The rules with this number.
    pub(crate) fn rules(&self, number: usize) -> &TermRules {
        &self.rules[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(ngram: &[&str], skips: &[&str]) -> Result<NamespaceRules, String> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Parts { ngram: words(ngram), skips: words(skips), ..Parts::default() }.try_into()
    }

    #[test]
    fn a_letter_counts_more_than_a_number_alone() {
        let NamespaceRules(parts) = rules(&["a3", "2"], &["1", "b2"]).unwrap();
        assert_eq!(parts.grams(b'a'), Grams::new(3, 1));
        assert_eq!(parts.grams(b'b'), Grams::new(2, 2));
        assert_eq!(parts.grams(b'c'), Grams::new(2, 1));
        let NamespaceRules(parts) = rules(&["a3"], &["1"]).unwrap();
        assert_eq!(parts.grams(b'a'), Grams::new(3, 1));
        assert_eq!(parts.grams(b'b'), Ok(Grams::NONE));
    }

    #[test]
    fn rules_that_mean_nothing_are_refused() {
        for (ngram, skips) in [
            (&["x"][..], &[][..]),
            (&["9"], &[]),
            (&["2"], &["9"]),
            (&[], &["1"]),
            (&["a2"], &["b1"]),
        ] {
            assert!(rules(ngram, skips).is_err(), "{ngram:?} {skips:?}");
        }
        let keep = Parts { keep: "é".to_owned(), ..Parts::default() };
        assert!(NamespaceRules::try_from(keep).is_err());
    }
}
