//! Reads the header of an ARFF file.

use super::AttributeKind;
use super::row::{Word, is_blank, skip_blanks, word_at};
use crate::format::Fault;
use crate::schema::Columns;
use crate::text::lines;

/// A header with more attributes than this is refused.
const MAX_ATTRIBUTES: usize = 1 << 20;

/// A header, and the places of its parts.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) attributes: Vec<Attribute>,
    /// The place of `@data`, and the place where the rows begin.
    pub(super) data: usize,
    pub(super) rows: usize,
}

/// The declaration of an attribute.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) kind: AttributeKind,
}

/// Whether the beginning of a file holds all of its header.
pub(crate) fn has_data(text: &[u8]) -> bool {
    lines(text).any(|(start, line)| {
        // A carriage return that is the last byte may still be followed by anything.
        let rest = &text[start + line.len()..];
        let has_end = rest.starts_with(b"\n") || rest.starts_with(b"\r\n");
        has_end && keyword(line.trim_ascii()) == Some(Keyword::Data)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keyword {
    Relation,
    Attribute,
    Data,
}

/// The keyword that a line begins with.
fn keyword(line: &[u8]) -> Option<Keyword> {
    let word = line.split(|&byte| is_blank(byte) || byte == b'%').next()?;
    [
        (&b"@relation"[..], Keyword::Relation),
        (b"@attribute", Keyword::Attribute),
        (b"@data", Keyword::Data),
    ]
    .into_iter()
    .find_map(|(name, keyword)| word.eq_ignore_ascii_case(name).then_some(keyword))
}

impl Head {
    /// Reads the header of a text that begins with one.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Fault> {
        let mut attributes: Vec<Attribute> = Vec::new();
        for (start, line) in lines(text) {
            let at = skip_blanks(text, start);
            let end = start + line.len();
            let rest = &text[at.min(end)..end];
            if rest.is_empty() || rest.starts_with(b"%") {
                continue;
            }
            match keyword(rest) {
                Some(Keyword::Relation) => {}
                Some(Keyword::Attribute) if attributes.len() == MAX_ATTRIBUTES => {
                    let expected = format!("at most {MAX_ATTRIBUTES} attributes");
                    return Err(Fault::new(at, rest, expected));
                }
                Some(Keyword::Attribute) => {
                    attributes.push(attribute(text, at + b"@attribute".len(), end)?);
                }
                Some(Keyword::Data) => {
                    check_names(&attributes, at)?;
                    let rows = text[end..].iter().position(|&byte| byte == b'\n');
                    let rows = rows.map_or(text.len(), |line_end| end + line_end + 1);
                    return Ok(Self { attributes, data: at, rows });
                }
                None => {
                    let expected = "@attribute or @data at the beginning of the line";
                    return Err(Fault::new(at, rest, expected));
                }
            }
        }
        Err(Fault::new(text.len(), b"", "@data, where the rows begin"))
    }
}

fn check_names(attributes: &[Attribute], at: usize) -> Result<(), Fault> {
    if attributes.is_empty() {
        return Err(Fault::new(at, b"@data", "@attribute before it"));
    }
    let names: Vec<_> = attributes.iter().map(|attribute| attribute.name.clone()).collect();
    match Columns::repeated(&names) {
        None => Ok(()),
        Some(name) => {
            let again = attributes.iter().rfind(|attribute| attribute.name == name);
            let at = again.map_or(at, |attribute| attribute.at);
            Err(Fault::new(at, name.as_bytes(), "a name that no attribute before it has"))
        }
    }
}

/// Reads the declaration whose name and type are in a part of the text.
fn attribute(text: &[u8], from: usize, end: usize) -> Result<Attribute, Fault> {
    let text = &text[..end];
    let at = skip_blanks(text, from);
    let mut buffer = Vec::new();
    let name = declared_word(text, at, "the name of an attribute")?;
    let is_empty = name.end == at;
    if is_empty {
        return Err(Fault::new(at, &text[at..], "the name of an attribute"));
    }
    let content = String::from_utf8_lossy(name.content(text, &mut buffer)).into_owned();
    let kind = kind(text, skip_blanks(text, name.end))?;
    Ok(Attribute { at, name: content, kind })
}

fn declared_word(text: &[u8], at: usize, expected: &str) -> Result<Word, Fault> {
    word_at(text, at).ok_or_else(|| {
        Fault::new(at, &text[at..], format!("{expected}, with a quote that closes the first"))
    })
}

fn kind(text: &[u8], at: usize) -> Result<AttributeKind, Fault> {
    if text.get(at) == Some(&b'{') {
        return nominal(text, at);
    }
    let word = declared_word(text, at, "a type")?;
    let name = text[word.start..word.stop].to_ascii_lowercase();
    match name.as_slice() {
        b"numeric" | b"real" | b"integer" => Ok(AttributeKind::Numeric),
        b"string" => Ok(AttributeKind::String),
        b"date" => Ok(AttributeKind::Date),
        _ => Err(Fault::new(
            at,
            &text[at..],
            "a type: numeric, real, integer, string, date, or values in braces",
        )),
    }
}

fn nominal(text: &[u8], open: usize) -> Result<AttributeKind, Fault> {
    let mut values = Vec::new();
    let mut buffer = Vec::new();
    let mut at = open + 1;
    loop {
        at = skip_blanks(text, at);
        match text.get(at) {
            Some(b'}') => return Ok(AttributeKind::Nominal(values)),
            Some(b',') => at += 1,
            None | Some(b'%' | b'{') => {
                let found = &text[at.min(text.len())..];
                return Err(Fault::new(at, found, "a brace that closes the values"));
            }
            Some(_) => {
                let word = declared_word(text, at, "a value")?;
                let content = word.content(text, &mut buffer);
                values.push(String::from_utf8_lossy(content).into_owned());
                at = word.end;
            }
        }
    }
}
