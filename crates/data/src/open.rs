//! Turns the names of files into a source of rows.

use crate::fit::Beginning;
use crate::format::Format;
use crate::input::Enough;
use crate::recognize::{Recognized, binary, has_enough, recognize_as, without_mark};
use crate::rows::Rows;
use crate::text::{PADDING, Text};
use crate::vw::head::NO_LABEL;
use crate::{
    DataError, FirstLabels, Follow, FormatSettings, Input, KnownColumns, LabelRule, Limits, Phrase,
    Purpose, Reader, Reading, Schema,
};

/// The number of bytes that are looked at to find out how a file is read.
const SAMPLE: usize = 1 << 18;

/// A source of rows, and what was found out about it.
#[derive(Debug)]
pub struct Opened {
    /// How it is read. [`Reader::open`] reads the same files, or others, in the same way.
    pub schema: Schema,
    /// Notes on what was inferred, in words.
    pub notes: Vec<Phrase>,
    /// The rows.
    pub reader: Reader,
}

/// Opens files to be read one after the other. `-` is standard input. The beginning of the first
/// file decides how they are read, as far as the settings leave it open.
pub fn open(
    paths: &[String],
    format_settings: &FormatSettings,
    reading: &Reading,
    follow: &Follow,
) -> Result<Opened, DataError> {
    open_inputs(inputs(paths, follow)?, format_settings, reading)
}

/// Opens inputs as [`open`] opens files.
///
/// ```
/// use rueful_data::{Follow, Input, LabelRule, Reading, Source, FormatSettings, open_inputs, survey};
/// let table = "age,job,income\n31,clerk,2100\n47,,3400\n";
/// let input = Input::new("data.csv", table.as_bytes(), &Follow::No)?;
/// let format_settings = FormatSettings { label: Some("income".to_owned()), ..FormatSettings::default() };
/// let mut opened = open_inputs(vec![input], &format_settings, &Reading::new(LabelRule::Numbers))?;
/// assert_eq!(opened.schema.name(), "csv");
/// assert_eq!(survey(&mut opened.reader)?.label_abs_max, 3400.0);
/// assert_eq!(opened.reader.missing(), [0, 1]);
/// # Ok::<(), rueful_data::DataError>(())
/// ```
pub fn open_inputs(
    inputs: Vec<Input>,
    format_settings: &FormatSettings,
    reading: &Reading,
) -> Result<Opened, DataError> {
    let TextFiles { schema, notes, inputs } = TextFiles::look(inputs, format_settings, reading)?;
    let reader = Reader::new(inputs, &schema, reading);
    Ok(Opened { schema, notes, reader })
}

/// Open files whose first row is not read yet. Their first labels can still be looked at, and can
/// decide how the files are read.
///
/// ```
/// use rueful_data::{TextFiles, Follow, Input, LabelRule, Reading, FormatSettings, survey};
/// let input = Input::new("mail.vw", "ham | a\nspam | b\n".as_bytes(), &Follow::No)?;
/// let reading = Reading::new(LabelRule::Signs);
/// let mut files = TextFiles::look(vec![input], &FormatSettings::default(), &reading)?;
/// let first = files.first_labels(&reading)?;
/// assert_eq!(first.labels.counts, [("ham".to_owned(), 1), ("spam".to_owned(), 1)]);
///
/// let reading = Reading { labels: LabelRule::Positive("spam".to_owned()), ..reading };
/// assert_eq!(survey(&mut files.read(&reading))?.examples, 2);
/// # Ok::<(), rueful_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct TextFiles {
    /// How they are read.
    pub schema: Schema,
    /// Notes on what was inferred, in words.
    pub notes: Vec<Phrase>,
    inputs: Vec<Input>,
}

/// Opens files as [`open`] does, and reads no rows yet.
pub fn begin(
    paths: &[String],
    format_settings: &FormatSettings,
    reading: &Reading,
    follow: &Follow,
) -> Result<TextFiles, DataError> {
    TextFiles::look(inputs(paths, follow)?, format_settings, reading)
}

fn inputs(paths: &[String], follow: &Follow) -> Result<Vec<Input>, DataError> {
    paths.iter().map(|path| Input::open(path, follow)).collect()
}

impl TextFiles {
    /// Looks at open inputs. The beginning of the first one decides how they are read.
    pub fn look(
        mut inputs: Vec<Input>,
        format_settings: &FormatSettings,
        reading: &Reading,
    ) -> Result<Self, DataError> {
        let first = inputs.first_mut().ok_or(DataError::NoInput)?;
        let (schema, notes) = look(first, format_settings, reading)?;
        Ok(Self { schema, notes, inputs })
    }

    /// Opens files whose columns are known. The first file only says where each column is. `own` is
    /// the format of the earlier data, if that was text. A file that is not text is an error that
    /// says what it is. A file without columns is read like the earlier ones.
    pub fn fit(
        paths: &[String],
        own: Option<&Schema>,
        known: Option<&KnownColumns>,
        purpose: Purpose,
        follow: &Follow,
    ) -> Result<Self, DataError> {
        Self::fit_inputs(inputs(paths, follow)?, own, known, purpose)
    }

    /// Fits open inputs as [`fit`](Self::fit) fits files.
    pub fn fit_inputs(
        mut inputs: Vec<Input>,
        own: Option<&Schema>,
        known: Option<&KnownColumns>,
        purpose: Purpose,
    ) -> Result<Self, DataError> {
        let first = inputs.first_mut().ok_or(DataError::NoInput)?;
        let schema = fit(first, own, known, purpose)?;
        Ok(Self { schema, notes: Vec::new(), inputs })
    }

    /// The labels at the beginning of the first file. They depend only on its bytes, as far as
    /// these are there. A growing file is waited for only until there is a row.
    pub fn first_labels(&mut self, reading: &Reading) -> Result<FirstLabels, DataError> {
        let reading = Reading {
            labels: LabelRule::Any,
            idle_rows: false,
            constant: false,
            ..reading.clone()
        };
        let format = self.schema.format(&reading);
        let input = self.inputs.first_mut().ok_or(DataError::NoInput)?;
        let most = reading.limits.max_line_bytes.saturating_add(2);
        let mut found = None;
        let (beginning, is_whole) = input.peek(SAMPLE, most, |beginning| {
            found = labels_in(&*format, beginning, false);
            if found.is_some() { Enough::Yes } else { Enough::No }
        })?;
        if is_whole {
            found = labels_in(&*format, beginning, true);
        }
        Ok(found.unwrap_or_default())
    }

    /// The rows.
    pub fn read(self, reading: &Reading) -> Reader {
        Reader::new(self.inputs, &self.schema, reading)
    }
}

/// The labels of the rows at the beginning of a file. Returns none if there is neither a row nor a
/// fault yet. The reader reports faults.
fn labels_in(format: &dyn Format, beginning: &[u8], is_whole: bool) -> Option<FirstLabels> {
    let text = without_mark(beginning);
    let len = match is_whole {
        true => text.len(),
        false if format.has_head(text) => format.cut(text)?,
        false => return None,
    };
    let mut padded = text[..len].to_vec();
    padded.push(b'\n');
    padded.resize(len + PADDING, 0);
    let mut rows = Rows::default();
    let is_fine = format.read(Text::new(&padded, len, true), &mut rows).is_ok();
    if is_fine && rows.batch.is_empty() {
        return None;
    }
    let mut labels = rows.labels.seen();
    labels.counts.retain(|(label, _)| label.as_bytes() != NO_LABEL);
    Some(FirstLabels { rows: rows.batch.len() as u64, labels, positive: None })
}

/// Finds out where the known columns are in an input.
fn fit(
    input: &mut Input,
    own: Option<&Schema>,
    known: Option<&KnownColumns>,
    purpose: Purpose,
) -> Result<Schema, DataError> {
    let (file, name) = (input.name().to_owned(), input.data_name().to_owned());
    let limit = Limits::default().max_line_bytes;
    let format_settings = FormatSettings { unlabelled: true, ..FormatSettings::default() };
    let (beginning, is_whole) = input.peek(SAMPLE, limit.saturating_add(2), |beginning| {
        has_enough(&name, beginning, &format_settings)
    })?;
    let bytes = without_mark(beginning);
    if let Some(kind) = binary(bytes, &format_settings) {
        return Err(DataError::Binary { file, kind });
    }
    match (known, own) {
        (Some(known), _) => {
            let text = Beginning { file: &file, name: &name, bytes, is_whole };
            known.fit_text(own, &text, purpose)
        }
        (None, Some(own)) => Ok(own.clone()),
        (None, None) => Err(DataError::NoInput),
    }
}

/// Finds out how an input is to be read.
fn look(
    input: &mut Input,
    format_settings: &FormatSettings,
    reading: &Reading,
) -> Result<(Schema, Vec<Phrase>), DataError> {
    let file = input.name().to_owned();
    let name = input.data_name().to_owned();
    let limit = reading.limits.max_line_bytes;
    let (beginning, is_whole) = input.peek(SAMPLE, limit.saturating_add(2), |beginning| {
        has_enough(&name, beginning, format_settings)
    })?;
    match recognize_as(&file, &name, beginning, is_whole, format_settings) {
        Ok(Recognized::Text { schema, notes }) => Ok((schema, notes)),
        Ok(Recognized::Binary(kind)) => Err(DataError::Binary { file, kind }),
        Err(DataError::EmptyFile { .. }) if !is_whole => {
            Err(DataError::LineTooLong { file, line: 1, limit })
        }
        Err(error) => Err(error),
    }
}
