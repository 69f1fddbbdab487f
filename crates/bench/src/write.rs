//! Data sets as text, for programs that read files.

use crate::generate::Data;
use anyhow::{Context, Result};
use rueful_core::Batch;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// The format `label index:value …`.
    Libsvm,
    /// The format `label | index:value …`, for Vowpal Wabbit.
    Vw,
}

impl Text {
    fn extension(self) -> &'static str {
        match self {
            Self::Libsvm => "libsvm",
            Self::Vw => "vw",
        }
    }
}

/// Writes `directory/NAME.libsvm` or `.vw` and returns that path.
///
/// Indices count from 1. Values are written with enough digits to read the same numbers back, so a
/// data set has the same bytes on every machine.
pub(crate) fn write(data: &Data, text: Text, directory: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the folder {}", directory.display()))?;
    let path = directory.join(format!("{}.{}", data.name, text.extension()));
    let told = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(&path).with_context(told)?);
    rows(data, text, &mut file).and_then(|()| file.flush()).with_context(told)?;
    Ok(path)
}

fn rows(data: &Data, text: Text, out: &mut impl Write) -> std::io::Result<()> {
    for row in data.batches.iter().flat_map(Batch::iter) {
        let bar = if text == Text::Vw { " |" } else { "" };
        write!(out, "{}{bar}", if row.label > 0.0 { "+1" } else { "-1" })?;
        for (index, value) in row.features.indices().iter().zip(row.features.values()) {
            write!(out, " {}:{value}", index + 1)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Shape, dense, sparse};

    #[test]
    fn what_is_written_can_be_read_back() {
        let shape = Shape { rows: 50, features: 40, per_row: 6 };
        let data = sparse(shape, 1).unwrap();
        let mut text = Vec::new();
        rows(&data, Text::Libsvm, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 50);
        let examples = data.batches.iter().flat_map(Batch::iter);
        for (line, row) in text.lines().zip(examples) {
            let mut words = line.split(' ');
            assert_eq!(words.next().unwrap().parse::<f64>().unwrap(), row.label);
            for (index, value) in row.features.indices().iter().zip(row.features.values()) {
                let (i, x) = words.next().unwrap().split_once(':').unwrap();
                assert_eq!(
                    (i.parse::<u32>().unwrap(), x.parse::<f32>().unwrap()),
                    (index + 1, *value)
                );
            }
            assert_eq!(words.next(), None);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let data = dense(Shape { rows: 3, features: 2, per_row: 2 }, 1).unwrap();
        let error = write(&data, Text::Vw, Path::new("Cargo.toml/inside")).unwrap_err();
        assert_eq!(error.to_string(), "cannot make the folder Cargo.toml/inside");
    }
}
