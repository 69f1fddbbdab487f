//! From the names of files to a source of rows.

use crate::recognize::{Recognized, has_enough, recognize_as};
use crate::{DataError, Follow, Input, Phrase, Reader, Reading, Schema, Wishes};

/// How much of a file is looked at to find out how it is to be read.
const SAMPLE: usize = 1 << 18;

/// A source of rows, and what was found out about it.
#[derive(Debug)]
pub struct Opened {
    /// How it is read: [`Reader::open`] reads the same files, or others, in the same way.
    pub schema: Schema,
    /// What was inferred, in words.
    pub notes: Vec<Phrase>,
    /// The rows.
    pub reader: Reader,
}

/// Opens files, `-` being standard input, to be read one after the other. How, the first of them
/// tells by its beginning, as far as the wishes leave it open.
pub fn open(
    paths: &[String],
    wishes: &Wishes,
    reading: &Reading,
    follow: &Follow,
) -> Result<Opened, DataError> {
    let inputs = paths.iter().map(|path| Input::open(path, follow)).collect::<Result<_, _>>()?;
    open_inputs(inputs, wishes, reading)
}

/// The same for inputs that are open already.
///
/// ```
/// use rueful_data::{Follow, Input, LabelRule, Reading, Source, Wishes, open_inputs, survey};
/// let table = "age,job,income\n31,clerk,2100\n47,,3400\n";
/// let input = Input::new("data.csv", table.as_bytes(), &Follow::No)?;
/// let wishes = Wishes { label: Some("income".to_owned()), ..Wishes::default() };
/// let mut opened = open_inputs(vec![input], &wishes, &Reading::new(LabelRule::Numbers))?;
/// assert_eq!(opened.schema.name(), "csv");
/// assert_eq!(survey(&mut opened.reader)?.label_abs_max, 3400.0);
/// assert_eq!(opened.reader.missing(), [0, 1]);
/// # Ok::<(), rueful_data::DataError>(())
/// ```
pub fn open_inputs(
    mut inputs: Vec<Input>,
    wishes: &Wishes,
    reading: &Reading,
) -> Result<Opened, DataError> {
    let first = inputs.first_mut().ok_or(DataError::NoInput)?;
    let (schema, notes) = look(first, wishes, reading)?;
    let reader = Reader::new(inputs, &schema, reading);
    Ok(Opened { schema, notes, reader })
}

/// Finds out how an input is to be read.
fn look(
    input: &mut Input,
    wishes: &Wishes,
    reading: &Reading,
) -> Result<(Schema, Vec<Phrase>), DataError> {
    let file = input.name().to_owned();
    let name = input.data_name().to_owned();
    let limit = reading.limits.max_line_bytes;
    let (beginning, is_whole) = input
        .peek(SAMPLE, limit.saturating_add(2), |beginning| has_enough(&name, beginning, wishes))?;
    match recognize_as(&file, &name, beginning, is_whole, wishes) {
        Ok(Recognized::Text { schema, notes }) => Ok((schema, notes)),
        Ok(Recognized::Binary(kind)) => Err(DataError::Binary { file, kind }),
        Err(DataError::EmptyFile { .. }) if !is_whole => {
            Err(DataError::LineTooLong { file, line: 1, limit })
        }
        Err(error) => Err(error),
    }
}
