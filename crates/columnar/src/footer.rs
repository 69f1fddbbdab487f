//! Checks how deep the columns of a Parquet file are nested.
//!
//! The decoder calls itself for columns within columns, as often as the file's footer says. A level
//! costs the footer only a few bytes, so a small file could exhaust the decoder's stack. That is
//! why this module reads the footer first. The footer is a struct in Thrift's compact protocol. Its
//! field 2 lists the columns, parents before their children. Field 5 of each column says how many
//! children it has.

use crate::decode_error::DecodeError;

/// Columns that are nested deeper than this are refused. A list within a list takes four levels.
const MAX_DEPTH: usize = 128;
/// Other values that are nested deeper than this are refused.
const MAX_VALUE_DEPTH: usize = 32;

const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// The types of values, as the compact protocol numbers them.
const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Refuses a footer whose columns are nested too deeply.
pub(crate) fn check(footer: &[u8]) -> Result<(), DecodeError> {
    let mut thrift = Thrift { rest: footer };
    thrift.fields(|thrift, id, kind| match (id, kind) {
        (SCHEMA, LIST) => thrift.schema(),
        _ => thrift.skip(kind, 0),
    })
}

/// The part of a footer that has not been read yet.
struct Thrift<'a> {
    rest: &'a [u8],
}

impl Thrift<'_> {
    /// Passes over a struct, field by field. `pass` gets the number and the type of each field, and
    /// must pass over its value.
    fn fields(
        &mut self,
        mut pass: impl FnMut(&mut Self, i64, u8) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut id: i64 = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 0xf;
            if kind == STOP {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.signed()?,
                step => id.saturating_add(step.into()),
            };
            pass(self, id, kind)?;
        }
    }

    /// Passes over the list of columns, and keeps track of their depth.
    fn schema(&mut self) -> Result<(), DecodeError> {
        let (kind, count) = self.list()?;
        // How many children are still to come, on each level.
        let mut levels: Vec<i64> = Vec::new();
        for _ in 0..count {
            let mut children = 0;
            if kind != STRUCT {
                return Err(damaged());
            }
            self.fields(|thrift, id, kind| match (id, kind) {
                (CHILDREN, I16..=I64) => {
                    children = thrift.signed()?;
                    Ok(())
                }
                _ => thrift.skip(kind, 0),
            })?;
            if let Some(left) = levels.last_mut() {
                *left -= 1;
            }
            if children > 0 {
                levels.push(children);
            }
            while levels.last() == Some(&0) {
                levels.pop();
            }
            if levels.len() > MAX_DEPTH {
                let expected = format!("at most {MAX_DEPTH} levels");
                return Err(DecodeError::unsuitable("columns within columns", expected));
            }
        }
        Ok(())
    }

    /// Passes over a value.
    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), DecodeError> {
        if depth > MAX_VALUE_DEPTH {
            return Err(damaged());
        }
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.bytes(1),
            I16..=I64 => self.unsigned().map(drop),
            DOUBLE => self.bytes(8),
            BINARY => {
                let length = self.unsigned()?;
                self.bytes(length)
            }
            LIST | SET => {
                let (kind, count) = self.list()?;
                self.skip_elements(&[kind], count, depth)
            }
            MAP => match self.unsigned()? {
                0 => Ok(()),
                count => {
                    let kinds = self.byte()?;
                    self.skip_elements(&[kinds >> 4, kinds & 0xf], count, depth)
                }
            },
            STRUCT => self.fields(|thrift, _, kind| thrift.skip(kind, depth + 1)),
            _ => Err(damaged()),
        }
    }

    /// Passes over the elements of a list or map. A boolean among them takes one byte.
    fn skip_elements(&mut self, kinds: &[u8], count: u64, depth: usize) -> Result<(), DecodeError> {
        for _ in 0..count {
            for &kind in kinds {
                let kind = if matches!(kind, TRUE | FALSE) { BYTE } else { kind };
                self.skip(kind, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The type and number of the elements of a list.
    fn list(&mut self) -> Result<(u8, u64), DecodeError> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.unsigned()?,
            count => count.into(),
        };
        Ok((head & 0xf, count))
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&first, rest) = self.rest.split_first().ok_or_else(damaged)?;
        self.rest = rest;
        Ok(first)
    }

    fn bytes(&mut self, count: u64) -> Result<(), DecodeError> {
        let count = usize::try_from(count).map_err(|_| damaged())?;
        self.rest = self.rest.get(count..).ok_or_else(damaged)?;
        Ok(())
    }

    /// An unsigned number, stored with seven bits to a byte, the lowest first.
    fn unsigned(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// A signed number, stored as 0, −1, 1, −2, 2 and so on (zigzag).
    fn signed(&mut self) -> Result<i64, DecodeError> {
        let number = self.unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

fn damaged() -> DecodeError {
    DecodeError::new("a footer that makes no sense")
}
