//! The record of a stream. It is saved with the model, and extended by later parts of the stream.

use crate::names::Names;
use crate::{Census, LabelsSeen, Source};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Counts, names, labels and missing cells of the rows so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Counts of rows, features and indices.
    pub census: Census,
    /// The names of the features that have names.
    pub names: Names,
    /// The labels as they are written, as far as they are counted one by one.
    pub labels: LabelsSeen,
    /// The number of cells without a value, by column.
    pub missing: Vec<u64>,
}

impl Seen {
    /// The record of the rows that a source has delivered so far.
    pub fn of(source: &dyn Source) -> Self {
        Self {
            census: source.census().clone(),
            names: source.names().clone(),
            labels: source.labels(),
            missing: source.missing().to_vec(),
        }
    }

    /// Adds the record of a later part of the stream.
    pub fn extend(&mut self, later: &Self) {
        self.census.extend(&later.census);
        self.names.extend(&later.names);
        self.labels.extend(&later.labels);
        if self.missing.len() < later.missing.len() {
            self.missing.resize(later.missing.len(), 0);
        }
        self.missing.iter_mut().zip(&later.missing).for_each(|(sum, count)| *sum += count);
    }
}

impl LabelsSeen {
    fn extend(&mut self, later: &Self) {
        let known = self.counts.iter().enumerate();
        let mut places: HashMap<String, usize> =
            known.map(|(place, (label, _))| (label.clone(), place)).collect();
        for (label, count) in &later.counts {
            let place = *places.entry(label.clone()).or_insert_with(|| {
                self.counts.push((label.clone(), 0));
                self.counts.len() - 1
            });
            self.counts[place].1 += count;
        }
        self.is_cut |= later.is_cut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Follow, Input, Interactions, LabelRule, NamespaceRules, Reader, Reading, Schema};
    use proptest::prelude::*;
    use rueful_core::Batch;

    fn read(text: &str) -> Seen {
        let input = Input::new("text", text.as_bytes().to_vec().leak() as &[u8], &Follow::No);
        let schema = Schema::Vw {
            bits: 8.try_into().unwrap(),
            interactions: Interactions::default(),
            id: false,
            namespaces: NamespaceRules::default(),
        };
        let reading = Reading::new(LabelRule::Numbers);
        let mut reader = Reader::new(vec![input.unwrap()], &schema, &reading);
        let mut batch = Batch::default();
        while reader.fill(&mut batch).unwrap() {}
        Seen::of(&reader)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// There are only 255 indices, so names collide.
        #[test]
        fn parts_put_together_are_the_whole(
            rows in prop::collection::vec(prop::collection::vec(0_u16..400, 0..12), 2..40),
            middle in any::<prop::sample::Index>(),
        ) {
            let line = |row: &Vec<u16>| {
                let names: Vec<String> = row.iter().map(|name| format!("n{name}")).collect();
                format!("1 | {}\n", names.join(" "))
            };
            let text = |rows: &[Vec<u16>]| rows.iter().map(line).collect::<String>();
            let middle = 1 + middle.index(rows.len() - 1);
            let mut parts = read(&text(&rows[..middle]));
            parts.extend(&read(&text(&rows[middle..])));
            prop_assert_eq!(&parts, &read(&text(&rows)));
            parts.census.label_sum = rueful_core::Sum::default();
            let bytes = postcard::to_allocvec(&parts).unwrap();
            prop_assert_eq!(&postcard::from_bytes::<Seen>(&bytes).unwrap(), &parts);
            let json = serde_json::to_string(&parts).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Seen>(&json).unwrap(), &parts);
        }
    }

    #[test]
    fn a_census_that_contradicts_itself_is_refused() {
        let mut seen = read("1 | a b\n");
        seen.census.features += 1;
        let bytes = postcard::to_allocvec(&seen).unwrap();
        assert!(postcard::from_bytes::<Seen>(&bytes).is_err());
    }
}
