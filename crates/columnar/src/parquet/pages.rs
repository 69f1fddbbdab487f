//! The pages of a column, one row group after the other.

use crate::decode_error::DecodeError;
use crate::file::Counted;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::sync::Arc;

/// The chunks of a column: it has one in each row group.
pub(super) struct Chunks {
    file: Arc<Counted<File>>,
    metadata: Arc<ParquetMetaData>,
    leaf: usize,
    next: usize,
}

impl Chunks {
    pub(super) fn new(
        file: Arc<Counted<File>>,
        metadata: Arc<ParquetMetaData>,
        leaf: usize,
    ) -> Self {
        Self { file, metadata, leaf, next: 0 }
    }

    pub(super) fn column(&self) -> ColumnDescPtr {
        self.metadata.file_metadata().schema_descr().column(self.leaf)
    }

    /// The pages of the next chunk, or `None` if there is none.
    pub(super) fn next(&mut self) -> Result<Option<Pages>, DecodeError> {
        let Some(group) = self.metadata.row_groups().get(self.next) else { return Ok(None) };
        self.next += 1;
        let rows = group.num_rows() as usize;
        let file = Arc::clone(&self.file);
        let pages = SerializedPageReader::new(file, group.column(self.leaf), rows, None)?;
        let pages = pages.map(|page| page.and_then(check_dictionary));
        // To the decoder, a page without values would be the end.
        let pages = pages.filter(|page| page.as_ref().map_or(true, has_values));
        Ok(Some(Pages::new(pages)))
    }
}

/// Refuses a dictionary that says it has more values than bytes. The decoder would make room for
/// all of them first.
fn check_dictionary(page: Page) -> ParquetResult<Page> {
    match &page {
        Page::DictionaryPage { buf, num_values, .. } if *num_values as usize > buf.len() => {
            let said = format!("{num_values} values in a dictionary of {} bytes", buf.len());
            Err(ParquetError::General(said))
        }
        _ => Ok(page),
    }
}

fn has_values(page: &Page) -> bool {
    page.is_dictionary_page() || page.num_values() > 0
}

/// Pages from front to back.
pub(super) struct Pages(Box<dyn Iterator<Item = ParquetResult<Page>> + Send>);

impl Pages {
    pub(super) fn new(pages: impl Iterator<Item = ParquetResult<Page>> + Send + 'static) -> Self {
        Self(Box::new(pages))
    }
}

impl Iterator for Pages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        self.next().transpose()
    }

    /// This and the next function are for readers that leave rows out.
    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Err(ParquetError::NYI("pages are read from front to back".to_owned()))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.next().transpose().map(drop)
    }
}
