//! The decisions about a file's format. They are kept so that the next file is read the same way.

use crate::arff::{Arff, ArffFormat};
use crate::error::excerpt;
use crate::expansion::namespaces::NamespacePlan;
use crate::expansion::{Expansion, ExpansionSettings, Interactions, NamespaceRules};
use crate::format::Format;
use crate::json::{Json, JsonFormat};
use crate::labels::LabelRule;
use crate::libsvm::Libsvm;
use crate::rows::Space;
use crate::source::Reading;
use crate::table::{Csv, Separator, Table};
use crate::vw::Vw;
use crate::{Bits, DataError, Phrase};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A format, and everything about it that the rows themselves do not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "format", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schema {
    /// LIBSVM or svmlight text.
    Libsvm {},
    /// Comma-separated values, or values with another separator.
    Csv(Table),
    /// ARFF, the format of Weka.
    Arff(Arff),
    /// JSON lines.
    Jsonl(Json),
    /// Vowpal Wabbit text.
    Vw {
        /// The number of bits in the index of a feature that has a name.
        #[serde(default)]
        bits: Bits,
        /// The interactions of namespaces.
        #[serde(default, skip_serializing_if = "Interactions::is_none")]
        interactions: Interactions,
        /// Whether the tag of a line is the id of its row.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        id: bool,
        /// The use of namespaces.
        #[serde(default, skip_serializing_if = "NamespaceRules::is_none")]
        namespaces: NamespaceRules,
    },
}

/// A column of a table, and how its cells are used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the header. Without a header, its number, counted from 1.
    pub name: String,
    /// How its cells are used.
    pub role: Role,
}

/// The columns of a table, and the [features](Expansion) that are made from several of them. Their
/// names are different, at most one of them is the label, and at most one holds the importances.
/// Columns that are converted from a list have exactly one label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Columns {
    list: Vec<Column>,
    expansion: Expansion,
}

/// Columns as they are written: a list, or a list and what is made from it.
#[derive(Serialize)]
#[serde(untagged)]
enum Written {
    List(Vec<Column>),
    Expanded(Expanded),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expanded {
    list: Vec<Column>,
    expansion: Expansion,
}

/// A list or a map. An error is about the one that was found.
impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of columns, or a list and its expansion")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Written, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Written::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
                Expanded::deserialize(MapAccessDeserializer::new(map)).map(Written::Expanded)
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

impl From<Columns> for Written {
    fn from(Columns { list, expansion }: Columns) -> Self {
        match expansion.is_none() {
            true => Self::List(list),
            false => Self::Expanded(Expanded { list, expansion }),
        }
    }
}

impl TryFrom<Written> for Columns {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::List(list) => Self::try_from(list),
            Written::Expanded(Expanded { list, expansion }) => {
                Ok(Self::try_from(list)?.expanded(expansion))
            }
        }
    }
}

impl Columns {
    /// The name of the label, or an empty string if there is no label.
    pub fn label(&self) -> &str {
        self.iter().find(|column| column.role == Role::Label).map_or("", |column| &column.name)
    }

    /// The features that are made from several columns or from missing cells.
    pub fn expansion(&self) -> &Expansion {
        &self.expansion
    }

    /// The same columns with another expansion.
    #[must_use]
    pub fn expanded(self, expansion: Expansion) -> Self {
        Self { expansion, ..self }
    }

    /// The same columns with the curves that the settings ask for. `values` returns the first
    /// [`KNOT_ROWS`](crate::KNOT_ROWS) numbers of the column with this number.
    pub fn curved(
        self,
        file: &str,
        format_settings: &FormatSettings,
        notes: &mut Vec<Phrase>,
        values: impl FnMut(usize) -> Vec<f32>,
    ) -> Result<Self, DataError> {
        let settings = &format_settings.expansion.curves;
        let curves = settings.curves(file, &self, notes, values)?;
        let expansion = Expansion { curves, ..self.expansion };
        Ok(Self { list: self.list, expansion })
    }

    /// The columns of the same table without those that only learning needs: labels, importances,
    /// and the predictions of other models.
    #[must_use]
    pub fn without_label(&self) -> Self {
        let list = self.iter().filter(|column| column.role.is_for_predicting()).cloned().collect();
        Self { list, expansion: self.expansion.clone() }
    }

    /// The same columns in other roles. None of them need be the label, so a caller can read
    /// something else from the same table.
    #[must_use]
    pub fn with_roles(&self, role: impl Fn(&Column) -> Role) -> Self {
        let column = |column: &Column| Column { name: column.name.clone(), role: role(column) };
        Self { list: self.iter().map(column).collect(), expansion: self.expansion.clone() }
    }

    /// Columns of which none need be the label, for files that hold something else or are only
    /// predicted.
    pub(crate) fn unlabelled(list: Vec<Column>) -> Self {
        Self { list, expansion: Expansion::default() }
    }

    /// Whether one of the columns is the label.
    pub fn has_label(&self) -> bool {
        self.iter().any(|column| column.role == Role::Label)
    }

    /// The names of the columns that hold predictions, in their order.
    pub fn predictions(&self) -> impl Iterator<Item = &str> {
        let columns = self.iter().filter(|column| column.role == Role::Prediction);
        columns.map(|column| column.name.as_str())
    }

    /// A name that occurs twice, if there is one.
    pub(crate) fn repeated(names: &[String]) -> Option<&str> {
        let mut seen = HashSet::new();
        names.iter().map(String::as_str).find(|&name| !seen.insert(name))
    }
}

impl std::ops::Deref for Columns {
    type Target = [Column];

    fn deref(&self) -> &[Column] {
        &self.list
    }
}

impl From<Columns> for Vec<Column> {
    fn from(columns: Columns) -> Self {
        columns.list
    }
}

impl TryFrom<Vec<Column>> for Columns {
    type Error = String;

    fn try_from(columns: Vec<Column>) -> Result<Self, String> {
        let columns = Self::checked(columns)?;
        match columns.has_label() {
            true => Ok(columns),
            false => Err("one column with the role of the label, not 0".to_owned()),
        }
    }
}

impl Columns {
    /// Checks that the names are different, that at most one column is the label, and that at most
    /// one column holds the importances.
    pub(crate) fn checked(columns: Vec<Column>) -> Result<Self, String> {
        let names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
        if let Some(name) = Self::repeated(&names) {
            return Err(format!("columns with different names, not two named {name:?}"));
        }
        let count = |role| columns.iter().filter(|column| column.role == role).count();
        match (count(Role::Label), count(Role::Importance)) {
            (0 | 1, 0 | 1) if count(Role::Id) > 1 => {
                Err("at most one column with the role of the id".to_owned())
            }
            (0 | 1, 0 | 1) => Ok(Self::unlabelled(columns)),
            (0 | 1, importances) => Err(format!(
                "at most one column with the role of the importance, not {importances}"
            )),
            (labels, _) => Err(format!("one column with the role of the label, not {labels}")),
        }
    }
}

/// How the cells of a column are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The label of the row.
    Label,
    /// The importance of the row: 0, or a number from 1e-30 to 1e30. A row of importance 0 is there
    /// to be predicted, and everything else ignores it.
    Importance,
    /// The number that another model predicted for the row. It is not a feature.
    Prediction,
    /// The id of the row. A row without a label is predicted and waits. A later row with the same
    /// id brings the label.
    Id,
    /// A feature with the column's name and this value.
    Number,
    /// A feature `column=value` with the value 1.
    Category,
    /// A date, a time or both. Its [parts](crate::Moment) become features.
    Date,
    /// A feature `column:word` for every word, lower-cased. Its value is the number of times that
    /// the word occurs.
    Text,
    /// The cells are ignored.
    Drop,
}

impl Role {
    /// Whether rows that are only predicted have a column of this role.
    pub(crate) fn is_for_predicting(self) -> bool {
        !matches!(self, Self::Label | Self::Importance | Self::Prediction | Self::Id)
    }

    /// Whether a column of this role makes features.
    pub fn is_feature(self) -> bool {
        self.is_for_predicting() && self != Self::Drop
    }

    /// The name of the setting that asks for this role.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Importance => "importance",
            Self::Prediction => "prediction-column",
            Self::Id => "id",
            Self::Number => "numeric",
            Self::Date => "no setting",
            Self::Category => "categorical",
            Self::Text => "text",
            Self::Drop => "drop",
        }
    }
}

/// The settings with which a person describes the data. Each of them may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatSettings {
    /// A name of [`Schema::NAMES`]. If it is left out, the format is recognised by content and
    /// extension.
    pub format: Option<String>,
    /// The column of the labels, by its name or by its number, counted from 1.
    pub label: Option<String>,
    /// Whether the data may lack a label, because they are only looked at or predicted.
    pub unlabelled: bool,
    /// The column that holds the importances.
    pub importance: Option<String>,
    /// Columns that hold the predictions of other models.
    pub predictions: Vec<String>,
    /// The column of the ids, by which a label that comes later finds its row. In Vowpal Wabbit
    /// text it is `tag`.
    pub id: Option<String>,
    /// Columns to leave out, by name or number.
    pub drop: Vec<String>,
    /// Columns whose numbers are names of categories.
    pub categorical: Vec<String>,
    /// Columns of numbers, even if the first rows do not look like numbers.
    pub numeric: Vec<String>,
    /// Columns of running text.
    pub text: Vec<String>,
    /// Whether the first line names the columns. If it is left out, this is inferred.
    pub header: Option<bool>,
    /// The number of bits in the index of a feature that has a name.
    pub bits: Bits,
    /// The features that are made from others.
    pub expansion: ExpansionSettings,
}

impl FormatSettings {
    /// The columns that the settings mention.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.predictions, &self.drop, &self.categorical, &self.numeric, &self.text];
        let single = self.label.iter().chain(&self.importance).chain(&self.id);
        let roles = single.chain(lists.into_iter().flatten()).map(String::as_str);
        roles.chain(self.expansion.columns().map(|(_, column)| column))
    }

    /// The wishes for columns: a role, the setting that asks for it, and the columns.
    pub(crate) fn wished(&self) -> [(Role, &'static str, &[String]); 8] {
        [
            (Role::Label, "label", self.label.as_slice()),
            (Role::Importance, "importance", self.importance.as_slice()),
            (Role::Prediction, "prediction-column", &self.predictions),
            (Role::Id, "id", self.id.as_slice()),
            (Role::Drop, "drop", &self.drop),
            (Role::Category, "categorical", &self.categorical),
            (Role::Number, "numeric", &self.numeric),
            (Role::Text, "text", &self.text),
        ]
    }

    /// The role that is wished for each of the columns called `names`. There must be a label,
    /// unless the settings say that the data may lack one.
    pub(crate) fn roles(
        &self,
        file: &str,
        names: &[String],
        notes: &mut Vec<Phrase>,
    ) -> Result<Vec<Option<Role>>, DataError> {
        if self.label.is_none() && !self.unlabelled {
            return Err(DataError::NoLabel { file: file.to_owned(), columns: listed(names) });
        }
        let mut roles: Vec<Option<Role>> = vec![None; names.len()];
        for (role, setting, wished) in self.wished() {
            for name in wished {
                let column = find(file, names, setting, name, notes)?;
                match roles[column] {
                    Some(other) if other != role => {
                        let name = names[column].clone();
                        let other = other.setting();
                        return Err(DataError::Contradiction { column: name, setting, other });
                    }
                    _ => roles[column] = Some(role),
                }
            }
        }
        Ok(roles)
    }
}

/// Finds the column that a person means: the one of that name, or else the one of that number.
pub(crate) fn find(
    file: &str,
    names: &[String],
    setting: &'static str,
    wished: &str,
    notes: &mut Vec<Phrase>,
) -> Result<usize, DataError> {
    let number = wished.parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
    let named = names.iter().position(|name| name == wished);
    if let (Some(named), Some(number)) = (named, number)
        && named + 1 != number
    {
        let is = named + 1;
        let said = format!(" {wished} means column {is}, which has that name");
        notes.push(Phrase::default().setting(setting).and(said));
    }
    named.or(number.map(|number| number - 1)).ok_or_else(|| DataError::NoColumn {
        file: file.to_owned(),
        setting,
        column: excerpt(wished.as_bytes()),
        columns: listed(names),
    })
}

/// Lists names for a person to choose from. The last one, often the label, is always included.
pub(crate) fn listed(names: &[String]) -> String {
    listed_up_to(24, names)
}

/// Lists at most `most` of the names. The last one is always included.
pub(crate) fn listed_up_to(most: usize, names: &[String]) -> String {
    let quoted = |names: &[String]| {
        names.iter().map(|name| excerpt(name.as_bytes())).collect::<Vec<_>>().join(", ")
    };
    if names.len() <= most {
        return quoted(names);
    }
    let (first, others) = names.split_at(most - 1);
    let (hidden, last) = others.split_at(others.len() - 1);
    format!("{}, … ({} more), {}", quoted(first), hidden.len(), quoted(last))
}

impl Schema {
    /// The same format with its columns in other [roles](Columns::with_roles).
    #[must_use]
    pub fn with_roles(&self, role: impl Fn(&Column) -> Role) -> Self {
        let mut schema = self.clone();
        match &mut schema {
            Self::Csv(table) => table.columns = table.columns.with_roles(role),
            Self::Arff(arff) => arff.columns = arff.columns.with_roles(role),
            Self::Jsonl(json) => json.columns = json.columns.with_roles(role),
            Self::Libsvm {} | Self::Vw { .. } => {}
        }
        schema
    }

    /// The same format, of whose rows nothing is made beside the features of single cells.
    #[must_use]
    pub fn unexpanded(&self) -> Self {
        let plain = |columns: &Columns| columns.clone().expanded(Expansion::default());
        let mut schema = self.clone();
        match &mut schema {
            Self::Csv(table) => table.columns = plain(&table.columns),
            Self::Arff(arff) => arff.columns = plain(&arff.columns),
            Self::Jsonl(json) => json.columns = plain(&json.columns),
            Self::Libsvm {} | Self::Vw { .. } => {}
        }
        schema
    }

    /// The names of the formats.
    pub const NAMES: [&'static str; 6] = ["libsvm", "vw", "csv", "tsv", "jsonl", "arff"];

    /// The name of this format.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Libsvm {} => "libsvm",
            Self::Csv(table) if table.separator == Separator::Tab => "tsv",
            Self::Csv(_) => "csv",
            Self::Arff(_) => "arff",
            Self::Jsonl(_) => "jsonl",
            Self::Vw { .. } => "vw",
        }
    }

    /// The number of bits in the index of a feature that has a name.
    pub(crate) fn bits(&self) -> Bits {
        match self {
            Self::Csv(table) => table.bits,
            Self::Arff(arff) => arff.bits,
            Self::Jsonl(json) => json.bits,
            Self::Vw { bits, .. } => *bits,
            Self::Libsvm {} => Bits::default(),
        }
    }

    /// The columns and the role of each. A format without columns has none.
    pub fn columns(&self) -> &[Column] {
        match self {
            Self::Csv(table) => &table.columns,
            Self::Arff(arff) => &arff.columns,
            Self::Jsonl(json) => &json.columns,
            Self::Libsvm {} | Self::Vw { .. } => &[],
        }
    }

    /// The features that are made of the columns. A format without columns has none.
    pub fn expansion(&self) -> Option<&Expansion> {
        match self {
            Self::Csv(table) => Some(table.columns.expansion()),
            Self::Arff(arff) => Some(arff.columns.expansion()),
            Self::Jsonl(json) => Some(json.columns.expansion()),
            Self::Libsvm {} | Self::Vw { .. } => None,
        }
    }

    /// The reader of rows of this format.
    pub(crate) fn format(&self, reading: &Reading) -> Arc<dyn Format> {
        match self {
            Self::Csv(table) => Arc::new(Csv::new(table, reading)),
            Self::Arff(arff) => Arc::new(ArffFormat::new(arff, reading)),
            Self::Jsonl(json) => Arc::new(JsonFormat::new(json, reading)),
            Self::Libsvm {} => Arc::new(Libsvm {
                rule: reading.labels.clone(),
                constant: reading.constant,
                max_index: reading.limits.max_index,
            }),
            Self::Vw { bits, interactions, namespaces, id } => Arc::new(Vw {
                id: *id && reading.labels != LabelRule::Ignored,
                interactions: interactions.clone(),
                is_plain: interactions.is_none() && namespaces.is_none(),
                namespaces: NamespacePlan::new(namespaces),
                rule: reading.labels.clone(),
                constant: reading.constant,
                idle_rows: reading.idle_rows,
                space: Space { bits: *bits, max_index: reading.limits.max_index },
            }),
        }
    }
}
