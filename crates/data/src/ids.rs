//! The ids of rows. A row without a label waits, and a later row with its id brings the label.

/// The ids of some rows, and which of the rows have a label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids {
    /// All ids, one after the other.
    bytes: Vec<u8>,
    rows: Vec<IdOfRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IdOfRow {
    end: usize,
    is_labelled: bool,
}

impl Ids {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The id of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before].end);
        &self.bytes[start..self.rows[row].end]
    }

    /// Whether a row has a label.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn is_labelled(&self, row: usize) -> bool {
        self.rows[row].is_labelled
    }

    pub(crate) fn push(&mut self, id: &[u8], is_labelled: bool) {
        self.bytes.extend_from_slice(id);
        self.rows.push(IdOfRow { end: self.bytes.len(), is_labelled });
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// Keeps only the first `rows` rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.bytes.truncate(self.rows.last().map_or(0, |last| last.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_id() {
        let mut ids = Ids::default();
        for (id, is_labelled) in [("a7", false), ("", true), ("b", true)] {
            ids.push(id.as_bytes(), is_labelled);
        }
        assert_eq!((ids.get(0), ids.get(1), ids.get(2)), (&b"a7"[..], &b""[..], &b"b"[..]));
        assert_eq!((ids.is_labelled(0), ids.is_labelled(2)), (false, true));
        ids.truncate(1);
        ids.push(b"c", true);
        assert_eq!((ids.len(), ids.get(1)), (2, &b"c"[..]));
        ids.truncate(0);
        assert!(ids.is_empty() && ids.bytes.is_empty());
    }
}
