//! Messages that mention settings, each in the words of the program that shows them.

use std::fmt;

/// A message that mentions settings, in the words of the program that shows it.
///
/// A library knows a setting by its name alone. The command line calls the setting `label` by its
/// flag `--label`, a notebook by its argument, and a spec file by its key. So each of them says how
/// a name is shown.
///
/// ```
/// use rueful_data::{DataError, NamesSettings};
///
/// let error = DataError::UnknownFormat { format: "xls".to_owned() };
/// assert!(error.to_string().starts_with("format: found \"xls\""));
/// assert!(error.text(&|name| format!("--{name}")).starts_with("--format: found \"xls\""));
/// ```
pub trait NamesSettings {
    /// The message, in which `name` turns the name of a setting into the words to show. `Display`
    /// writes this text with the plain names.
    fn text(&self, name: &dyn Fn(&str) -> String) -> String;
}

/// The name of a setting as it is.
pub(crate) fn plain(name: &str) -> String {
    name.to_owned()
}

/// Words that mention settings by name.
///
/// ```
/// use rueful_data::{NamesSettings, Phrase};
///
/// let hint = Phrase::from("another ").setting("bits").and(" parts them");
/// assert_eq!(hint.to_string(), "another bits parts them");
/// assert_eq!(hint.text(&|name| format!("--{name}")), "another --bits parts them");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phrase(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(String),
    Setting(&'static str),
}

impl Phrase {
    /// The phrase, followed by a setting.
    #[must_use]
    pub fn setting(mut self, name: &'static str) -> Self {
        self.0.push(Part::Setting(name));
        self
    }

    /// The phrase, followed by more words.
    #[must_use]
    pub fn and(mut self, words: impl Into<String>) -> Self {
        self.0.push(Part::Words(words.into()));
        self
    }

    /// Whether it mentions a setting.
    pub fn names_settings(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Setting(_)))
    }

    /// The phrase, followed by another phrase.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.0.extend_from_slice(&other.0);
        self
    }
}

impl From<String> for Phrase {
    fn from(words: String) -> Self {
        Self(vec![Part::Words(words)])
    }
}

impl From<&str> for Phrase {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

/// A phrase equals the words that it displays.
impl PartialEq<&str> for Phrase {
    fn eq(&self, words: &&str) -> bool {
        self.text(&plain).as_str() == *words
    }
}

impl NamesSettings for Phrase {
    fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        let part = |part: &Part| match part {
            Part::Words(words) => words.clone(),
            Part::Setting(setting) => name(setting),
        };
        self.0.iter().map(part).collect()
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&plain))
    }
}

/// A list of settings: `label, drop and bits`.
pub(crate) fn listed(settings: &[&str], name: &dyn Fn(&str) -> String) -> String {
    let names: Vec<_> = settings.iter().map(|setting| name(setting)).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
