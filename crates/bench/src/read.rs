//! Reads a data set from a file as it is: labels are numbers, and the format is recognised.

use crate::generate::Data;
use anyhow::{Result, ensure};
use rueful_core::Batch;
use rueful_data::{Follow, FormatSettings, LabelRule, Reading, Source, open};
use std::path::Path;

/// Reads the rows of a file.
pub(crate) fn read(path: &Path) -> Result<Data> {
    let files = [path.display().to_string()];
    let reading = Reading::new(LabelRule::Numbers);
    let mut source = open(&files, &FormatSettings::default(), &reading, &Follow::No)?.reader;
    let (mut batch, mut batches) = (Batch::default(), Vec::new());
    while source.fill(&mut batch)? {
        batches.push(batch.clone());
    }
    ensure!(!batches.is_empty(), "{} has no rows", path.display());
    let [name] = files;
    Ok(Data { name, batches, radius: 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank;

    #[test]
    fn the_bank_is_measured_in_the_losses_that_take_the_labels() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/phishing.libsvm");
        let mut data = read(&path).unwrap();
        assert_eq!(data.rows(), 1250);
        assert_eq!(bank::losses(&data).len(), 4);
        let parts = bank::measure(&data, bank::losses(&data)[0], 1).unwrap();
        assert!((parts.risk - 0.2656).abs() < 1e-4, "{}", parts.risk);
        data.batches[0].push(&[1], &[1.0], 3.0).unwrap();
        assert_eq!(bank::losses(&data).len(), 2);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = read(Path::new("nowhere.libsvm")).err().unwrap();
        assert!(format!("{error:#}").contains("nowhere.libsvm"), "{error:#}");
    }
}
