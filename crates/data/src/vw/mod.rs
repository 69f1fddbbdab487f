//! Vowpal Wabbit text: one example per line,
//! `label [importance [base]] ['tag]|namespace[:scale] name[:value] … |namespace …`.
//!
//! - Before the first `|` come the label, its importance (1 if left out) and a base prediction,
//!   which can only be 0. The last word is a tag if it touches the `|` or begins with `'`. It is
//!   the id of the row if the setting says so, and otherwise ignored. Words are separated by spaces. A tab is refused, because Vowpal Wabbit drops the
//!   text before one.
//! - A namespace touches its `|`. Without one, the features belong to the namespace without a name.
//!   The same namespace may come again. Its scale multiplies the values of its features.
//! - A feature is a name and a value, which is 1 if left out. A value that is not a number, and
//!   does not begin like one, is part of the name: `city:paris` is the feature `city^paris` of
//!   value 1, whatever the scale. The n-th feature without a name in a namespace, as in `:0.5`, is
//!   called `:n`.
//! - Feature `name` of namespace `space` is the feature `space^name`. In the namespace without a
//!   name it is `name`, and a whole number is the index itself. Values of features that share an
//!   index are added up.
//! - Empty lines and lines of blanks are skipped. A line without a label is refused, unless it has
//!   an id or rows are only looked at or predicted.
//!
//! Vowpal Wabbit counts a feature each time it is written with a value other than 0. A row here has
//! it once, so there are fewer features if a name is repeated in a line.

mod faults;
pub(crate) mod head;
mod line;
mod made;

use crate::expansion::Interactions;
use crate::expansion::namespaces::NamespacePlan;
use crate::format::{Fault, Format};
use crate::labels::LabelRule;
use crate::names::Prefix;
use crate::rows::{Rows, Space};
use crate::text::Text;
use line::Lines;
use made::Made;

/// The format, and how its rows are read.
#[derive(Debug, Clone)]
pub(crate) struct Vw {
    pub(crate) rule: LabelRule,
    pub(crate) constant: bool,
    /// Whether rows of importance 0 are delivered.
    pub(crate) idle_rows: bool,
    pub(crate) space: Space,
    pub(crate) interactions: Interactions,
    /// Whether tags are ids, and rows without a label wait for one.
    pub(crate) id: bool,
    pub(crate) namespaces: NamespacePlan,
    /// Whether every feature is read as it is, and nothing is made of several.
    pub(crate) is_plain: bool,
}

impl Format for Vw {
    fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
        match self.is_plain {
            true => self.read_lines::<false>(text, rows),
            false => self.read_lines::<true>(text, rows),
        }
    }
}

impl Vw {
    /// Adds the rows of a text. `MADE` says that features are not simply read as they are.
    fn read_lines<const MADE: bool>(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
        let (prefix, inner) = (Prefix::NONE, Prefix::NONE);
        let mut lines = Lines { text, format: self, prefix, inner, made: Made::new(self) };
        let mut at = 0;
        while at < text.len() {
            at = lines.read_line::<MADE>(at, rows)?;
        }
        Ok(())
    }
}
