//! The settings with which a person asks for features to be made.

use super::cross::Cross;
use super::namespaces::{NamespaceRules, Parts};
use super::{CurveSettings, Expansion, Grams, Interactions, TermScale, is_feature};
use crate::schema::{Columns, Role, find};
use crate::{DataError, Phrase};

/// The settings with which a person asks for features to be made. Each of them may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpansionSettings {
    /// Whether missing cells make no features.
    pub no_missing: bool,
    /// Crosses, each as its columns between commas.
    pub crosses: Vec<String>,
    /// Interactions of namespaces, each as the first letters of their names.
    pub interactions: Vec<String>,
    /// The largest order of n-grams. For one of the namespaces of Vowpal Wabbit text, it comes after
    /// the namespace's first letter.
    pub ngram: Vec<String>,
    /// The number of words that n-grams may skip, written likewise.
    pub skips: Vec<String>,
    /// The first letters of the namespaces that are left out.
    pub ignore_namespaces: String,
    /// The first letters of the only namespaces that are read.
    pub keep_namespaces: String,
    /// Whether the names of features of Vowpal Wabbit text are lower-cased.
    pub lowercase: bool,
    /// The value of a word or n-gram that is repeated.
    pub tf: TermScale,
    /// Columns of numbers that become several features.
    pub curves: CurveSettings,
}

impl ExpansionSettings {
    /// The first setting that is given and needs columns.
    pub(crate) fn of_columns(&self) -> Option<&'static [&'static str]> {
        let curve = self.curves.first();
        let given: [(&[&str], bool); 5] = [
            (&["cross"], !self.crosses.is_empty()),
            (&["no-missing"], self.no_missing),
            (&["bins"], curve == Some("bins")),
            (&["spline"], curve == Some("spline")),
            (&["periodic"], curve == Some("periodic")),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(settings, _)| settings)
    }

    /// The first setting that is given and needs namespaces, and why a table has no use for it.
    fn of_namespaces(&self) -> Option<(&'static [&'static str], &'static str)> {
        let crossed = "its columns are no namespaces, and are crossed by their names";
        let left_out = "its columns are no namespaces, and are left out by their names";
        let lowered = "the words of running text are lower-cased in any case";
        let given: [(&[&str], bool, &str); 4] = [
            (&["interactions"], !self.interactions.is_empty(), crossed),
            (&["ignore-namespace"], !self.ignore_namespaces.is_empty(), left_out),
            (&["keep-namespace"], !self.keep_namespaces.is_empty(), left_out),
            (&["lowercase"], self.lowercase, lowered),
        ];
        given.into_iter().find(|given| given.1).map(|(settings, _, reason)| (settings, reason))
    }

    /// The first setting that is given and needs names or words.
    pub(crate) fn of_words(&self) -> Option<&'static [&'static str]> {
        let given: [(&[&str], bool); 3] = [
            (&["ngram"], !self.ngram.is_empty()),
            (&["skips"], !self.skips.is_empty()),
            (&["tf"], !self.tf.is_count()),
        ];
        let found = given.into_iter().find(|(_, is_given)| *is_given).map(|(settings, _)| settings);
        found.or_else(|| self.of_namespaces().map(|(settings, _)| settings))
    }

    /// The interactions and the use of namespaces that the settings ask for, or what is wrong with
    /// them.
    pub(crate) fn namespaces(&self) -> Result<(Interactions, NamespaceRules), String> {
        let interactions = Interactions::try_from(self.interactions.clone())?;
        let parts = Parts {
            ngram: self.ngram.clone(),
            skips: self.skips.clone(),
            ignore: self.ignore_namespaces.clone(),
            keep: self.keep_namespaces.clone(),
            lowercase: self.lowercase,
            tf: self.tf,
        };
        Ok((interactions, parts.try_into()?))
    }

    /// The n-grams of the running text of a table.
    fn grams(&self, file: &str, columns: &Columns) -> Result<Grams, DataError> {
        let number = |settings: &[String]| match settings.last() {
            Some(number) => number.parse::<u8>().map(Some).map_err(|_| number.clone()),
            None => Ok(None),
        };
        let unsuitable = |found: String, expected: String| DataError::Unsuitable {
            file: file.to_owned(),
            found,
            expected: expected.into(),
        };
        let wrong = |found: String| {
            let found = format!("\"{}\" words", crate::error::excerpt(found.as_bytes()));
            unsuitable(found, "a number of words such as 2".to_owned())
        };
        let order = number(&self.ngram).map_err(wrong)?;
        let skips = number(&self.skips).map_err(wrong)?;
        let grams = Grams::new(order.unwrap_or(1), skips.unwrap_or(0));
        let found = || "settings that make no n-grams".to_owned();
        let grams = grams.map_err(|expected| unsuitable(found(), expected))?;
        let has_text = columns.iter().any(|column| column.role == Role::Text);
        if let (false, Some(settings)) = (has_text, self.of_words()) {
            let reason =
                "it has no column of running text, and categories are not split into words";
            let file = file.to_owned();
            return Err(DataError::Useless { file, settings, format: "this table", reason });
        }
        Ok(grams)
    }

    /// The columns that the settings mention, each after the name of its setting.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let crossed = self.crosses.iter().flat_map(|cross| cross.split(','));
        crossed.map(|column| ("cross", column.trim())).chain(self.curves.columns())
    }

    /// The expansion of a table with these columns. Curves are decided when values are there.
    pub(crate) fn expansion(
        &self,
        file: &str,
        columns: &Columns,
        notes: &mut Vec<Phrase>,
    ) -> Result<Expansion, DataError> {
        if let Some((settings, reason)) = self.of_namespaces() {
            let file = file.to_owned();
            return Err(DataError::Useless { file, settings, format: "a table", reason });
        }
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut crosses = Vec::new();
        for cross in &self.crosses {
            let mut named = Vec::new();
            for wished in cross.split(',').map(str::trim) {
                let column = &columns[find(file, &names, "cross", wished, notes)?];
                if !is_feature(column) {
                    let (column, other) = (column.name.clone(), column.role.setting());
                    return Err(DataError::Contradiction { column, setting: "cross", other });
                }
                named.push(column.name.clone());
            }
            check_count(file, cross, named.len())?;
            named.sort();
            crosses.push(named);
        }
        crosses.sort();
        crosses.dedup();
        let grams = self.grams(file, columns)?;
        let (missing, curves) = (!self.no_missing, Vec::new());
        Ok(Expansion { missing, crosses, curves, grams, tf: self.tf })
    }
}

fn check_count(file: &str, cross: &str, count: usize) -> Result<(), DataError> {
    if (2..=Cross::MOST).contains(&count) {
        return Ok(());
    }
    let expected = format!("from 2 to {} columns, with commas between them", Cross::MOST);
    Err(DataError::Unsuitable {
        file: file.to_owned(),
        found: format!("a cross of \"{}\"", crate::error::excerpt(cross.as_bytes())),
        expected: expected.into(),
    })
}
