//! Decodes Arrow's IPC formats: from messages to record batches.
//!
//! A stream is a schema followed by messages. Each message has a short description and a body. A
//! file is a stream between two marks, with a footer that says where its messages are.

use crate::decode_error::DecodeError;
use crate::file::{Counted, Meter};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, read_record_batch};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use rueful_data::standard_input_again;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::vec;

const MAGIC: &[u8] = b"ARROW1";
/// The length of the mark that begins a file, with its padding to eight bytes.
const HEAD: usize = 8;
/// A mark with its padding is not longer than this.
const PADDING_MAX: usize = 64;
/// The length of the end of a file: the footer's length and the mark.
const TAIL: usize = 10;
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Descriptions that are longer than this are refused.
const MAX_DESCRIPTION: u64 = 1 << 28;
/// Bodies that are longer than this are refused, whether compressed or not.
const MAX_BODY: u64 = 1 << 31;
/// At most this much memory is allocated before the bytes have arrived.
const MAX_AHEAD: u64 = 1 << 24;

/// An open file or stream.
pub(crate) struct Ipc {
    messages: Messages,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The current record batch, and how many of its rows have been handed out.
    current: Option<(RecordBatch, usize)>,
}

/// The place that messages come from.
enum Messages {
    /// A file, and the positions of its messages that are still to be read.
    File(BufReader<Counted<File>>, vec::IntoIter<u64>),
    Stream(Box<dyn Read + Send>),
}

/// A message: its description and its body.
type Message = (Vec<u8>, Buffer);

impl Ipc {
    pub(crate) fn open(path: &str) -> Result<(Self, Meter), DecodeError> {
        if path == "-" {
            let input = Counted::new(standard_input_again());
            let meter = input.meter.clone();
            return Ok((Self::stream(Box::new(BufReader::new(input)))?, meter));
        }
        let mut file = Counted::open(path)?;
        let meter = file.meter.clone();
        let mut start = [0; HEAD];
        if file.length() >= HEAD as u64 {
            file.read_exact(&mut start)?;
            file.rewind()?;
        }
        let opened = if start.starts_with(MAGIC) {
            Self::file(file)?
        } else if start.starts_with(&CONTINUATION) {
            Self::stream(Box::new(BufReader::new(file)))?
        } else {
            let found = "a file that does not begin as Arrow's do";
            return Err(DecodeError::unsuitable(found, "an Arrow file or stream"));
        };
        Ok((opened, meter))
    }

    /// Opens a stream, or a file that has to be read as a stream.
    fn stream(mut reader: Box<dyn Read + Send>) -> Result<Self, DecodeError> {
        let mut head = [0; HEAD];
        reader.read_exact(&mut head)?;
        if head.starts_with(MAGIC) {
            head = [0; HEAD];
            // The mark is padded to eight bytes or more.
            for _ in 0..PADDING_MAX / HEAD {
                if head != [0; HEAD] {
                    break;
                }
                reader.read_exact(&mut head)?;
            }
        }
        reader = Box::new(io::Cursor::new(head).chain(reader));
        let (description, _) =
            message(&mut reader)?.ok_or_else(|| DecodeError::new("a stream of nothing"))?;
        let message = root_as_message(&description).map_err(invalid)?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| DecodeError::new("a stream without a schema"))?;
        Self::new(Messages::Stream(reader), schema)
    }

    fn file(mut file: Counted<File>) -> Result<Self, DecodeError> {
        let end = file.length().checked_sub(TAIL as u64);
        let end = end.ok_or_else(|| DecodeError::new("a file without a footer"))?;
        let mut tail = [0; TAIL];
        file.seek(SeekFrom::Start(end))?;
        file.read_exact(&mut tail)?;
        let length = read_footer_length(tail)? as u64;
        let start = end.checked_sub(length);
        let start = start.ok_or_else(|| DecodeError::new("a footer larger than the file"))?;
        file.seek(SeekFrom::Start(start))?;
        let footer = exactly(&mut file, length)?;
        let footer = root_as_footer(&footer).map_err(invalid)?;
        let place = |block: &Block| {
            let place = u64::try_from(block.offset());
            place.map_err(|_| DecodeError::new("a message before the beginning"))
        };
        let dictionaries = footer.dictionaries().into_iter().flatten();
        let batches = footer.recordBatches().into_iter().flatten();
        let places = dictionaries.chain(batches).map(place).collect::<Result<Vec<_>, _>>()?;
        let messages = Messages::File(BufReader::new(file), places.into_iter());
        let schema = footer.schema().ok_or_else(|| DecodeError::new("a file without a schema"))?;
        Self::new(messages, schema)
    }

    fn new(messages: Messages, schema: arrow_ipc::Schema<'_>) -> Result<Self, DecodeError> {
        if !schema.endianness().equals_to_target_endianness() {
            return Err(DecodeError::new("numbers with their bytes in another order"));
        }
        let schema = Arc::new(try_fb_to_schema(schema)?);
        Ok(Self { messages, schema, dictionaries: HashMap::new(), current: None })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Decodes the next rows, at most this many, of the columns in the projection.
    pub(crate) fn next(
        &mut self,
        projection: &[usize],
        rows: usize,
    ) -> Result<Option<RecordBatch>, DecodeError> {
        loop {
            if let Some((batch, start)) = &mut self.current {
                let count = rows.min(batch.num_rows() - *start);
                if count > 0 {
                    let piece = batch.slice(*start, count);
                    *start += count;
                    return Ok(Some(piece));
                }
            }
            self.current = None;
            let Some(message) = self.messages.next()? else { return Ok(None) };
            self.current = self.take(&message, projection)?.map(|batch| (batch, 0));
        }
    }

    /// Decodes a message. Returns its record batch if it has one.
    fn take(
        &mut self,
        (description, body): &Message,
        projection: &[usize],
    ) -> Result<Option<RecordBatch>, DecodeError> {
        let message = root_as_message(description).map_err(invalid)?;
        let version = message.version();
        match message.header_type() {
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch().ok_or_else(missing)?;
                check_sizes(&batch.data().ok_or_else(missing)?, body)?;
                read_dictionary(body, batch, &self.schema, &mut self.dictionaries, &version)?;
                Ok(None)
            }
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(missing)?;
                check_sizes(&batch, body)?;
                let schema = Arc::clone(&self.schema);
                let projection = Some(projection);
                let dictionaries = &self.dictionaries;
                Ok(Some(read_record_batch(
                    body,
                    batch,
                    schema,
                    dictionaries,
                    projection,
                    &version,
                )?))
            }
            other => Err(DecodeError::new(format!("a message that is {other:?}"))),
        }
    }
}

impl Messages {
    fn next(&mut self) -> Result<Option<Message>, DecodeError> {
        match self {
            Self::Stream(reader) => message(reader),
            Self::File(reader, places) => {
                let Some(place) = places.next() else { return Ok(None) };
                reader.seek(SeekFrom::Start(place))?;
                message(reader)?.ok_or_else(missing).map(Some)
            }
        }
    }
}

/// Reads the message that begins here. Returns `None` at the end of the stream.
fn message(reader: &mut impl Read) -> Result<Option<Message>, DecodeError> {
    let start = up_to(reader, 4)?;
    let mut length: [u8; 4] = match start[..] {
        [] => return Ok(None),
        [a, b, c, d] => [a, b, c, d],
        _ => return Err(DecodeError::new("the end within a message")),
    };
    if length == CONTINUATION {
        reader.read_exact(&mut length)?;
    }
    let length = u64::from(u32::from_le_bytes(length));
    if length == 0 {
        return Ok(None);
    }
    if length > MAX_DESCRIPTION {
        return Err(DecodeError::new(format!("a description of {length} bytes")));
    }
    let description = exactly(reader, length)?;
    let body = root_as_message(&description).map_err(invalid)?.bodyLength();
    let body = u64::try_from(body).map_err(|_| DecodeError::new("a body of less than nothing"))?;
    check_size(body)?;
    let body = exactly(reader, body)?;
    Ok(Some((description, Buffer::from_vec(body))))
}

/// Refuses two kinds of bad buffers. The decoder would take a buffer beyond the body for a mistake
/// of its own. For a compressed buffer that claims to be larger than allowed, it would allocate the
/// memory first.
fn check_sizes(batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer) -> Result<(), DecodeError> {
    let mut total: u64 = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let length = usize::try_from(buffer.length()).ok();
        let bytes = start.and_then(|start| body.get(start..)?.get(..length?));
        let bytes = bytes.ok_or_else(|| DecodeError::new("a buffer beyond its message"))?;
        if let (Some(_), Some(size)) = (batch.compression(), bytes.first_chunk()) {
            // −1 says that the buffer is not compressed after all. Other negative sizes are refused
            // later.
            total = total.saturating_add(i64::from_le_bytes(*size).max(0) as u64);
        }
    }
    check_size(total)
}

fn check_size(bytes: u64) -> Result<(), DecodeError> {
    if bytes > MAX_BODY {
        let found = format!("a record batch of {bytes} bytes");
        return Err(DecodeError::unsuitable(found, format!("at most {MAX_BODY} in each")));
    }
    Ok(())
}

/// Reads exactly this many bytes.
fn exactly(reader: &mut impl Read, length: u64) -> Result<Vec<u8>, DecodeError> {
    let bytes = up_to(reader, length)?;
    if bytes.len() as u64 != length {
        return Err(DecodeError::new("the end within a message"));
    }
    Ok(bytes)
}

/// Reads this many bytes, or all there are. Memory is allocated as the bytes arrive.
fn up_to(reader: &mut impl Read, length: u64) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = Vec::with_capacity(length.min(MAX_AHEAD) as usize);
    reader.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn missing() -> DecodeError {
    DecodeError::new("a message without content")
}

fn invalid(error: impl std::fmt::Display) -> DecodeError {
    DecodeError::new(error.to_string())
}
