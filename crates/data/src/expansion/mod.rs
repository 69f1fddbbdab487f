//! Features that are made from the cells of a row, beside those that every cell makes by itself.
//!
//! | made from | feature | value |
//! |---|---|---|
//! | a cell without a value | `age·missing` | 1 |
//! | a [cross](cross) of columns | `age×job=clerk` | the product of the values |
//! | an [interaction](interactions) of namespaces | `a^age×b^clerk` | the product of the values |
//! | a [curve](curves) of a column of numbers | `age·30..45` | 1 |
//! | [words](terms) that follow each other | `text:not^good` | how often they do |
//!
//! An [`Expansion`] is decided once, from the settings of a person and the beginning of the first
//! file. It is saved with the columns, so that every later file is expanded in the same way. What is
//! made of a row depends on the row alone.

pub(crate) mod cross;
mod curve_settings;
pub(crate) mod curves;
mod expander;
pub(crate) mod interactions;
pub(crate) mod namespaces;
mod settings;
pub(crate) mod terms;

use crate::schema::{Column, Role};
pub use curve_settings::{CurveSettings, KNOT_ROWS};
pub use curves::{Curve, Knots, Shape, Waves};
pub(crate) use expander::Expander;
pub use interactions::Interactions;
pub use namespaces::NamespaceRules;
use serde::{Deserialize, Serialize};
pub use settings::ExpansionSettings;
use terms::TermRules;
pub use terms::{Grams, TermScale};

/// The text between the name of a column and the name of a part of it.
pub(crate) const PART: &str = "·";

/// The name of the part that says that a cell has no value.
pub(crate) const MISSING: &str = "missing";

/// The features that are made from the columns of a table, beside those that every cell makes by
/// itself.
///
/// Columns are known by their names. Those that a table does not have, or does not learn from, make
/// no features.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expansion {
    /// Whether a missing number, category or date makes a feature that says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// The crosses. The names in each of them are in order, and so are the crosses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crosses: Vec<Vec<String>>,
    /// The columns of numbers that become several features, in the order of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// The n-grams of columns of running text.
    #[serde(skip_serializing_if = "Grams::is_none")]
    pub grams: Grams,
    /// The value of a word or n-gram of running text that is repeated.
    #[serde(skip_serializing_if = "TermScale::is_count")]
    pub tf: TermScale,
}

impl Expansion {
    /// Whether nothing is made.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The rules by which running text makes features.
    pub(crate) fn terms(&self) -> TermRules {
        TermRules::new(self.grams, self.tf)
    }

    /// The column that a feature of a curve belongs to, if the name is that of one.
    pub fn curve_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        let (column, _) = name.rsplit_once(PART).filter(|_| !self.curves.is_empty())?;
        let is_of = |curve: &Curve| {
            let rest = column.strip_prefix(&*curve.column);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.curves.iter().any(is_of).then_some(column)
    }

    /// Whether the number of a column is no feature by itself, because others take its place.
    pub(crate) fn replaces(&self, column: &str) -> bool {
        self.curves.iter().any(|curve| curve.column == column && curve.shape.replaces())
    }

    /// Whether a column takes part in a cross.
    pub(crate) fn crosses_column(&self, name: &str) -> bool {
        self.crosses.iter().flatten().any(|column| column == name)
    }

    /// Whether the name of a feature is that of a cross: the names of its columns occur in it, in
    /// their order.
    pub(crate) fn has_crossed(&self, name: &str) -> bool {
        let is_crossed = |columns: &Vec<String>| {
            let (first, others) = columns.split_first()?;
            others.iter().try_fold(name.strip_prefix(first.as_str())?, |rest, column| {
                rest.split_once(&format!("{}{column}", cross::TIMES)).map(|(_, rest)| rest)
            })
        };
        self.crosses.iter().any(|columns| is_crossed(columns).is_some())
    }

    /// The first difference that rows with another expansion would show.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if self.missing != other.missing {
            let with = if other.missing { "with" } else { "without" };
            return Some(format!("rows {with} features for missing cells"));
        }
        if self.curves != other.curves {
            return Some("rows with other curves of numbers".to_owned());
        }
        if (self.grams, self.tf) != (other.grams, other.tf) {
            return Some("rows with other features of running text".to_owned());
        }
        (self != other).then(|| "rows with other crosses".to_owned())
    }
}

/// Whether a missing cell of a column in this role makes a feature.
pub(crate) fn is_indicated(role: Role) -> bool {
    matches!(role, Role::Number | Role::Category | Role::Date)
}

/// Whether the cells of a column become features.
pub(crate) fn is_feature(column: &Column) -> bool {
    matches!(column.role, Role::Number | Role::Category | Role::Date | Role::Text)
}
