//! Features of namespaces of which something is made: interactions, n-grams, other names.
//!
//! Files of which nothing is made are read by other functions, and pay for none of this.

use super::Vw;
use super::line::{Lines, Namespace, Value};
use crate::expansion::cross::CrossFault;
use crate::expansion::interactions::{Interacting, first_letter};
use crate::expansion::namespaces::Use;
use crate::expansion::terms::{ManyGrams, THEN, WordList};
use crate::format::Fault;
use crate::rows::{FeatureSink, Rows};
use std::ops::Range;

/// The place where the features of a namespace go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// They go to the row.
    Row,
    /// They go to the row, and to the group of this number, which interacts with others.
    Group(usize),
    /// They are words of the text with this number.
    Text(usize),
    /// They are not read.
    Nowhere,
}

/// The words of all namespaces that begin with the same letter.
#[derive(Debug)]
struct NamespaceText {
    letter: u8,
    /// The rules by which its terms are made.
    rules: usize,
    /// Its group, if it interacts with others.
    group: Option<usize>,
    words: WordList,
}

/// The features of the current line of which something is made.
pub(super) struct Made<'a> {
    format: &'a Vw,
    interacting: Interacting<'a>,
    /// The texts so far, in the order of their letters. So the order of the terms of a line does not
    /// depend on the lines before it.
    texts: Vec<NamespaceText>,
    /// The name of the current feature.
    name: Vec<u8>,
}

impl<'a> Made<'a> {
    pub(super) fn new(format: &'a Vw) -> Self {
        let interacting = Interacting::new(&format.interactions);
        Self { format, interacting, texts: Vec::new(), name: Vec::new() }
    }

    /// Forgets the features of the line before.
    pub(super) fn clear(&mut self) {
        self.interacting.groups.clear();
        self.texts.iter_mut().for_each(|text| text.words.clear());
    }

    /// The place where the features of a namespace go.
    pub(super) fn destination(&mut self, namespace: &[u8]) -> Destination {
        match self.format.namespaces.use_of(namespace) {
            Use::Ignored => Destination::Nowhere,
            Use::Text(rules) => Destination::Text(self.text(namespace, rules)),
            Use::Plain => match self.interacting.group(namespace) {
                Some(group) => Destination::Group(group),
                None => Destination::Row,
            },
        }
    }

    /// The number of the text that a namespace belongs to.
    fn text(&mut self, namespace: &[u8], rules: usize) -> usize {
        let letter = first_letter(namespace);
        let known = self.texts.binary_search_by_key(&letter, |text| text.letter);
        known.unwrap_or_else(|place| {
            let group = self.interacting.group(namespace);
            let text = NamespaceText { letter, rules, group, words: WordList::default() };
            self.texts.insert(place, text);
            place
        })
    }

    /// Adds the terms of all texts, and all interactions, to the row. An error is a description of
    /// the line that should have been there.
    pub(super) fn add_to(&mut self, rows: &mut Rows) -> Result<(), String> {
        let Self { format, interacting, texts, .. } = self;
        for NamespaceText { rules, group, words, .. } in texts {
            let (rules, space) = (format.namespaces.rules(*rules), &format.space);
            let added = match group {
                Some(group) => {
                    words.add_to(rules, space, &mut interacting.groups.recorder(*group, rows))
                }
                None => words.add_to(rules, space, rows),
            };
            added.map_err(|ManyGrams| ManyGrams::expected())?;
        }
        interacting.cross(&format.space, rows).map_err(CrossFault::expected)
    }
}

/// A feature that was read.
struct Feature {
    /// The index that its name stands for, if there is one.
    index: Option<u32>,
    hash: u64,
    value: f32,
    /// Whether no value is written for it.
    is_word: bool,
    end: usize,
}

impl Lines<'_> {
    /// Takes the feature at `at`, of which something is made. Returns where it ends.
    pub(super) fn read_made(
        &mut self,
        at: usize,
        namespace: &mut Namespace,
        rows: &mut Rows,
    ) -> Result<usize, Fault> {
        let feature = self.feature(at, namespace)?;
        let Feature { index, hash, value, is_word, end } = feature;
        let (space, prefix) = (&self.format.space, self.prefix.text());
        let Made { interacting, texts, name, .. } = &mut self.made;
        let write = |to: &mut Vec<u8>| {
            to.extend_from_slice(prefix);
            to.extend_from_slice(name);
        };
        match namespace.destination {
            Destination::Nowhere => {}
            // A value of 0 is no feature, and no word.
            Destination::Text(text) if value != 0.0 => {
                texts[text].words.push_with(hash, index, value, is_word, prefix, name);
            }
            Destination::Group(group) => {
                let mut sink = interacting.groups.recorder(group, rows);
                match index {
                    Some(index) => sink.add_index(index, hash, value, write),
                    None => sink.add_hashed(space, hash, value, write),
                }
            }
            Destination::Row | Destination::Text(_) => match index {
                Some(index) => rows.add(index, value),
                None => rows.add_hashed(space, hash, value, write),
            },
        }
        Ok(end)
    }

    /// Reads the feature at `at`, and puts its name together.
    fn feature(&mut self, at: usize, namespace: &mut Namespace) -> Result<Feature, Fault> {
        let index = if namespace.is_nameless { self.index(at) } else { None };
        let name = at..index.map_or_else(|| self.name_end(at), |(_, end)| end);
        match self.value(name.clone())? {
            Value::Word(word) => {
                let end = word.end;
                let hash = self.join(name, word);
                Ok(Feature { index: None, hash, value: 1.0, is_word: true, end })
            }
            Value::Number(value, end) => {
                let value = self.scaled(value, namespace, at)?;
                let is_word = end == name.end;
                self.set_name(name, namespace);
                let hash = self.prefix.hash(&self.made.name);
                Ok(Feature { index: index.map(|(index, _)| index), hash, value, is_word, end })
            }
        }
    }

    /// Makes the name of a feature the current one. A feature without a name is called by its number.
    fn set_name(&mut self, name: Range<usize>, namespace: &mut Namespace) {
        self.made.name.clear();
        if name.is_empty() {
            namespace.unnamed += 1;
            self.made.name.extend_from_slice(format!(":{}", namespace.unnamed).as_bytes());
        } else {
            self.made.push(&self.text.padded()[name]);
        }
    }

    /// Makes a name, and the word that is its value, the current name. Returns its hash.
    fn join(&mut self, name: Range<usize>, word: Range<usize>) -> u64 {
        let (text, Self { made, inner, prefix, .. }) = (self.text.padded(), self);
        made.name.clear();
        made.push(&text[name]);
        made.name.extend_from_slice(THEN);
        let start = made.name.len();
        made.push(&text[word]);
        inner.set(&[prefix.text(), &made.name[..start]]);
        inner.hash(&made.name[start..])
    }
}

impl Made<'_> {
    /// Appends a text to the current name, lower-cased if that was asked for.
    fn push(&mut self, text: &[u8]) {
        if !self.format.namespaces.lowercase {
            self.name.extend_from_slice(text);
            return;
        }
        let mut bytes = [0; 4];
        for chunk in text.utf8_chunks() {
            for char in chunk.valid().chars().flat_map(char::to_lowercase) {
                self.name.extend_from_slice(char.encode_utf8(&mut bytes).as_bytes());
            }
            self.name.extend_from_slice(chunk.invalid());
        }
    }
}
