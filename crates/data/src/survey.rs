//! One pass over the data for learners that must know the horizon before they begin.

use crate::{DataError, Source};
use rueful_core::{Batch, Example};

/// The facts that theorems need before the first round: the length of the stream and its sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Survey {
    /// T, the number of examples.
    pub examples: u64,
    /// max ‖x_t‖.
    pub example_norm_max: f64,
    /// max c_t‖x_t‖, where c_t is the importance of the example.
    pub weighted_norm_max: f64,
    /// max |y_t|.
    pub label_abs_max: f64,
}

/// Reads a source to its end.
///
/// ```
/// use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema, survey};
/// let input = Input::new("data.txt", "2 1:3 2:4\n-7 5:1\n".as_bytes(), &Follow::No)?;
/// let reading = Reading { constant: false, ..Reading::new(LabelRule::Numbers) };
/// let mut source = Reader::new(vec![input], &Schema::Libsvm {}, &reading);
/// let survey = survey(&mut source)?;
/// assert_eq!(survey.examples, 2);
/// assert_eq!((survey.example_norm_max, survey.label_abs_max), (5.0, 7.0));
/// # Ok::<(), rueful_data::DataError>(())
/// ```
pub fn survey(source: &mut dyn Source) -> Result<Survey, DataError> {
    let mut survey = Survey::default();
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        let examples = batch.iter().filter(|example| !example.importance.is_zero());
        examples.for_each(|example| survey.see(&example));
    }
    Ok(survey)
}

/// Surveys a source that was opened once more, `again`, before the `first` one is read. The first
/// may know why its labels are read as they are, so if a row is refused, its own error is returned.
pub fn survey_again(again: &mut dyn Source, first: &mut dyn Source) -> Result<Survey, DataError> {
    survey(again).or_else(|error| survey(first).and(Err(error)))
}

impl Survey {
    fn see(&mut self, example: &Example<'_>) {
        self.examples += 1;
        let norm = example.features.norm_sq().sqrt();
        self.example_norm_max = self.example_norm_max.max(norm);
        self.weighted_norm_max = self.weighted_norm_max.max(example.importance.get() * norm);
        self.label_abs_max = self.label_abs_max.max(example.label.abs());
    }
}
