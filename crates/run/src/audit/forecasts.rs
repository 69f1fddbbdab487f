//! The predictions that an audit judges, beside the examples or in a file of their own.

use crate::data::DataSpec;
use rueful_data::{DataError, PredictionColumns, PredictionOrder, Predictions, Source, printable};

/// The predictions of the models that an audit judges.
#[derive(Debug)]
pub enum Forecasts {
    /// They have a file of their own, with a row for every example.
    Apart(Box<Apart>),
    /// They are columns of the examples' table, and come with the examples.
    Beside(Beside),
}

/// Predictions in a file of their own.
#[derive(Debug)]
pub struct Apart {
    predictions: Predictions,
    row: Vec<f64>,
    /// The lines of the rows that were read last.
    lines: Vec<u64>,
}

/// Predictions in columns of the examples' table.
#[derive(Debug)]
pub struct Beside {
    file: String,
    order: PredictionOrder,
}

impl Forecasts {
    /// Opens the file of the predictions. `-` is standard input.
    pub fn open(path: &str, columns: &PredictionColumns) -> Result<Self, DataError> {
        Predictions::open(path, columns).map(Self::from)
    }

    /// The wished columns of the examples' own table. All that have the role of a prediction must be
    /// wished.
    pub fn beside(examples: &DataSpec, wished: &[String]) -> Result<Self, DataError> {
        let file = examples.name();
        let order = PredictionOrder::find(&file, examples.schema.columns(), wished)?;
        Ok(Self::Beside(Beside { file, order }))
    }

    /// The names of the columns. There are none if the file is not a table.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Apart(apart) => apart.predictions.names(),
            Self::Beside(beside) => &beside.order.names,
        }
    }

    /// The file, as errors call it.
    pub(crate) fn file(&self) -> &str {
        match self {
            Self::Apart(apart) => apart.predictions.name(),
            Self::Beside(beside) => &beside.file,
        }
    }

    /// Replaces `said` by the predictions for the last rows of the source, row after row. Returns the
    /// number of rows that have predictions.
    pub(crate) fn read(
        &mut self,
        source: &dyn Source,
        rows: usize,
        said: &mut Vec<f64>,
    ) -> Result<usize, DataError> {
        said.clear();
        match self {
            Self::Apart(apart) => apart.read(rows, said),
            Self::Beside(Beside { order, .. }) => {
                for row in source.predictions().chunks_exact(order.width.max(1)) {
                    said.extend(order.order.iter().map(|&place| row[place]));
                }
                Ok(said.len() / order.names.len().max(1))
            }
        }
    }

    /// Whether there are predictions after those that were read.
    pub(crate) fn go_on(&mut self) -> Result<bool, DataError> {
        match self {
            Self::Apart(apart) => Ok(apart.read(1, &mut Vec::new())? == 1),
            Self::Beside(_) => Ok(false),
        }
    }

    /// The last line that was read from the predictions' own file.
    pub(crate) fn line(&self) -> u64 {
        match self {
            Self::Apart(apart) => apart.predictions.line(),
            Self::Beside(_) => 0,
        }
    }

    /// The place of the predictions for one of the last rows of the source, for errors.
    pub(crate) fn place(&self, source: &dyn Source, row: usize) -> String {
        let place = match self {
            Self::Apart(apart) => apart.place(row),
            Self::Beside(_) => source.place(row),
        };
        place.unwrap_or_else(|| printable(self.file()))
    }
}

impl Apart {
    fn read(&mut self, rows: usize, said: &mut Vec<f64>) -> Result<usize, DataError> {
        self.lines.clear();
        while self.lines.len() < rows && self.predictions.next_row(&mut self.row)? {
            said.extend_from_slice(&self.row);
            self.lines.push(self.predictions.line());
        }
        Ok(self.lines.len())
    }

    fn place(&self, row: usize) -> Option<String> {
        let line = self.lines.get(row)?;
        Some(format!("{}:{line}", printable(self.predictions.name())))
    }
}

impl From<Predictions> for Forecasts {
    fn from(predictions: Predictions) -> Self {
        Self::Apart(Box::new(Apart { predictions, row: Vec::new(), lines: Vec::new() }))
    }
}
