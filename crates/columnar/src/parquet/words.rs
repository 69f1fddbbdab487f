//! Decodes strings of a Parquet file: from pages to dictionaries.
//!
//! A writer puts the strings that repeat into a dictionary, and their numbers into the pages. This
//! module lets the decoder read these numbers as whole numbers, and hands them on with views of the
//! dictionary. However long a string is, it lies in memory once. A page of plain strings is its own
//! dictionary, in which every string is there for one row. Strings in other encodings are copied
//! from their page, and numbered as they come.

use crate::decode_error::DecodeError;
use crate::parquet::column::Run;
use crate::parquet::pages::{Chunks, Pages};
use arrow_array::builder::StringViewBuilder;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, StringViewArray};
use arrow_buffer::Buffer;
use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::Page;
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, Type};
use std::sync::Arc;

/// A column of strings that is being decoded.
pub(super) struct Words {
    chunks: Chunks,
    /// The column as if it held the numbers of its strings.
    numbered: ColumnDescPtr,
    /// The pages of the current chunk that are still to come, and its dictionary.
    pages: Option<Pages>,
    dictionary: Option<Arc<Dictionary>>,
    page: Option<OnePage>,
}

/// A page that is being decoded.
enum OnePage {
    Numbers(ColumnReaderImpl<Int32Type>, Arc<Dictionary>),
    Words(ColumnReaderImpl<ByteArrayType>),
}

impl Words {
    pub(super) fn new(chunks: Chunks) -> Result<Self, DecodeError> {
        let column = chunks.column();
        let kind = Type::primitive_type_builder(column.name(), PhysicalType::INT32).build()?;
        let (definition, repetition) = (column.max_def_level(), column.max_rep_level());
        let path = column.path().clone();
        let numbered = ColumnDescriptor::new(Arc::new(kind), definition, repetition, path);
        let numbered = Arc::new(numbered);
        Ok(Self { chunks, numbered, pages: None, dictionary: None, page: None })
    }

    /// Decodes the next rows, at most this many. There are fewer of them only at the end.
    pub(super) fn next(&mut self, rows: usize) -> Result<ArrayRef, DecodeError> {
        let (mut levels, mut numbers, mut names) = (Vec::new(), Vec::new(), Names::default());
        let mut read = 0;
        while read < rows {
            let (wanted, start) = (rows - read, numbers.len());
            let levels = Some(&mut levels);
            let more = match &mut self.page {
                Some(OnePage::Numbers(reader, dictionary)) => {
                    let (more, ..) = reader.read_records(wanted, levels, None, &mut numbers)?;
                    let first = names.add_dictionary(dictionary)?;
                    numbers[start..].iter_mut().for_each(|number| *number += first);
                    more
                }
                Some(OnePage::Words(reader)) => {
                    let mut words = Vec::new();
                    let (more, ..) = reader.read_records(wanted, levels, None, &mut words)?;
                    let first = names.add_words(&words)?;
                    numbers.extend((first..).take(words.len()));
                    more
                }
                None => 0,
            };
            read += more;
            if more == 0 {
                self.page = self.next_page()?;
                if self.page.is_none() {
                    break;
                }
            }
        }
        let Run { values, nulls } = Run::new(numbers, &levels, &0);
        let numbers = Int32Array::try_new(values.into(), nulls)?;
        Ok(Arc::new(DictionaryArray::try_new(numbers, Arc::new(names.finish()))?))
    }

    fn next_page(&mut self) -> Result<Option<OnePage>, DecodeError> {
        loop {
            let Some(pages) = &mut self.pages else {
                (self.pages, self.dictionary) = (self.chunks.next()?, None);
                match self.pages {
                    Some(_) => continue,
                    None => return Ok(None),
                }
            };
            match pages.next().transpose()? {
                None => self.pages = None,
                Some(Page::DictionaryPage { buf, num_values, .. }) => {
                    self.dictionary = Some(Arc::new(Dictionary::new(&buf, num_values)?));
                }
                Some(page) => return self.open(page).map(Some),
            }
        }
    }

    fn open(&self, page: Page) -> Result<OnePage, DecodeError> {
        let end = end_of_levels(&page, &self.numbered);
        let (dictionary, pages) = match (page.encoding(), end) {
            (Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY, _) => {
                let dictionary = self.dictionary.clone();
                let dictionary = dictionary.ok_or_else(|| DecodeError::new("a lost dictionary"))?;
                let pages = vec![dictionary.page(), page];
                (dictionary, pages)
            }
            (Encoding::PLAIN, Some(end)) => {
                let (levels, words) = halves(page.buffer(), end)?;
                let dictionary = Dictionary::of(words_in(&words, page.num_values())?);
                let numbers = [&levels[..], &dictionary.numbers].concat();
                (Arc::new(dictionary), vec![with_buffer(page, numbers.into())])
            }
            _ => return Ok(OnePage::Words(reader(self.chunks.column(), vec![page]))),
        };
        Ok(OnePage::Numbers(reader(Arc::clone(&self.numbered), pages), dictionary))
    }
}

/// The end of the levels of a page, behind which its values begin. `None` if the levels are in an
/// encoding of old that does not say it.
fn end_of_levels(page: &Page, column: &ColumnDescriptor) -> Option<usize> {
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            Some(*def_levels_byte_len as usize + *rep_levels_byte_len as usize)
        }
        Page::DataPage { .. } if column.max_def_level() == 0 => Some(0),
        Page::DataPage { buf, def_level_encoding: Encoding::RLE, .. } => {
            let length = buf.first_chunk().map(|length| u32::from_le_bytes(*length));
            Some(size_of::<u32>() + length? as usize)
        }
        _ => None,
    }
}

fn halves(buffer: &Bytes, end: usize) -> Result<(Bytes, Bytes), DecodeError> {
    if end > buffer.len() {
        return Err(DecodeError::new("levels beyond their page"));
    }
    Ok((buffer.slice(..end), buffer.slice(end..)))
}

/// The same page with other values.
fn with_buffer(mut page: Page, buffer: Bytes) -> Page {
    match &mut page {
        Page::DataPage { buf, .. }
        | Page::DataPageV2 { buf, .. }
        | Page::DictionaryPage { buf, .. } => *buf = buffer,
    }
    page
}

fn reader<T: DataType>(column: ColumnDescPtr, pages: Vec<Page>) -> ColumnReaderImpl<T> {
    let pages = Pages::new(pages.into_iter().map(Ok));
    get_typed_column_reader(get_column_reader(column, Box::new(pages)))
}

/// The strings of some rows. Those of several dictionaries have their numbers one after the other.
#[derive(Default)]
struct Names {
    parts: Vec<StringViewArray>,
    len: usize,
    /// The dictionary that was added last, and the number of its first string.
    last: Option<(Arc<Dictionary>, i32)>,
}

impl Names {
    /// Adds a dictionary, unless it was just added. Returns the number of its first string.
    fn add_dictionary(&mut self, dictionary: &Arc<Dictionary>) -> Result<i32, DecodeError> {
        match &self.last {
            Some((last, first)) if Arc::ptr_eq(last, dictionary) => Ok(*first),
            _ => {
                let first = self.add(dictionary.words.clone())?;
                self.last = Some((Arc::clone(dictionary), first));
                Ok(first)
            }
        }
    }

    fn add_words(&mut self, words: &[ByteArray]) -> Result<i32, DecodeError> {
        let mut views = StringViewBuilder::with_capacity(words.len());
        for word in words {
            views.try_append_value(word.as_utf8()?)?;
        }
        self.add(views.finish())
    }

    fn add(&mut self, words: StringViewArray) -> Result<i32, DecodeError> {
        let first = self.len;
        self.len += words.len();
        self.parts.push(words);
        // The last number must fit too.
        i32::try_from(self.len).map_err(|_| DecodeError::new("too many words"))?;
        Ok(first as i32)
    }

    fn finish(mut self) -> StringViewArray {
        if let [_] = self.parts[..] {
            return self.parts.remove(0);
        }
        let mut all = StringViewBuilder::with_capacity(self.len);
        self.parts.iter().for_each(|part| all.append_array(part));
        all.finish()
    }
}

/// Views of the strings in a page, at most this many. The length of a string is before it, in four
/// bytes.
fn words_in(page: &Bytes, most: u32) -> Result<StringViewArray, DecodeError> {
    let mut views = StringViewBuilder::with_capacity((most as usize).min(page.len()));
    let block = views.append_block(Buffer::from(page.clone()));
    let mut rest = &page[..];
    for _ in 0..most {
        if rest.is_empty() {
            break;
        }
        let word = rest
            .split_first_chunk()
            .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize));
        let (word, after) = word.ok_or_else(|| DecodeError::new("half a word"))?;
        // Pages have at most 2 GiB.
        let start = page.len() - after.len() - word.len();
        views.try_append_view(block, start as u32, word.len() as u32)?;
        rest = after;
    }
    Ok(views.finish())
}

/// The strings that the numbers in the pages stand for.
struct Dictionary {
    words: StringViewArray,
    /// The numbers from 0 on, as they would be in the dictionary of a column of numbers.
    numbers: Bytes,
}

impl Dictionary {
    /// Reads the page of a dictionary.
    fn new(page: &Bytes, count: u32) -> Result<Self, DecodeError> {
        let words = words_in(page, count)?;
        match words.len() == count as usize {
            true => Ok(Self::of(words)),
            false => Err(DecodeError::new("half a dictionary")),
        }
    }

    fn of(words: StringViewArray) -> Self {
        let numbers: Vec<u8> = (0..words.len() as u32).flat_map(u32::to_le_bytes).collect();
        Self { words, numbers: numbers.into() }
    }

    /// The page of the dictionary of a column of numbers.
    fn page(&self) -> Page {
        Page::DictionaryPage {
            buf: self.numbers.clone(),
            num_values: self.words.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        }
    }
}
