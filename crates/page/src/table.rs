//! Tables in HTML.

use crate::escape::escape;
use std::borrow::Cow;

/// The name of a column, and whether it holds numbers.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    pub(crate) numbers: bool,
}

/// A column of numbers.
pub(crate) fn numbers(name: impl Into<Cow<'static, str>>) -> Column {
    Column { name: name.into(), numbers: true }
}

/// A column of words.
pub(crate) fn words(name: impl Into<Cow<'static, str>>) -> Column {
    Column { name: name.into(), numbers: false }
}

/// A table with a header row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn html(&self) -> String {
        let head: String = self.columns.iter().map(Column::head).collect();
        let rows: String = self.rows.iter().map(|row| self.row(row)).collect();
        format!(
            "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\
             </table></div>\n"
        )
    }

    fn row(&self, cells: &[String]) -> String {
        let cells = self.columns.iter().zip(cells).map(|(column, cell)| column.cell(cell));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    }
}

impl Column {
    fn head(&self) -> String {
        format!("<th scope=\"col\"{}>{}</th>", self.class(), escape(&self.name))
    }

    fn cell(&self, text: &str) -> String {
        format!("<td{}><bdi>{}</bdi></td>", self.class(), escape(text))
    }

    fn class(&self) -> &'static str {
        if self.numbers { " class=\"number\"" } else { "" }
    }
}

/// A table of names and values, one line for each pair.
pub(crate) fn pairs(pairs: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        let (name, value) = (escape(name), escape(value));
        format!("<div><dt><bdi>{name}</bdi></dt><dd><bdi>{value}</bdi></dd></div>\n")
    };
    format!("<dl class=\"pairs\">\n{}</dl>\n", pairs.iter().map(row).collect::<String>())
}
