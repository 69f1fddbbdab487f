//! The format of a file, and the errors about files that have none.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

#[path = "../common/mod.rs"]
mod common;

use common::{NUMBERS, check_survival, drain, labelled, open};
use flate2::write::DeflateEncoder;
use proptest::prelude::*;
use rueful_data::{
    Binary, DataError, Follow, FormatSettings, Input, Recognized, Source, open_inputs, recognize,
};
use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// The format of a file, or the error about it.
fn format(
    name: &str,
    text: &[u8],
    format_settings: &FormatSettings,
) -> Result<&'static str, String> {
    match recognize(name, text, true, format_settings) {
        Ok(Recognized::Text { schema, .. }) => Ok(schema.name()),
        Ok(Recognized::Binary(Binary::Parquet)) => Ok("parquet"),
        Ok(Recognized::Binary(Binary::Arrow)) => Ok("arrow"),
        Ok(Recognized::Binary(Binary::Cache)) => Ok("cache"),
        Err(error) => Err(error.to_string()),
    }
}

fn format_settings(format: &str) -> FormatSettings {
    FormatSettings { format: Some(format.to_owned()), ..FormatSettings::default() }
}

#[test]
fn formats_are_recognised_by_content() {
    let none = FormatSettings::default();
    let label = labelled("1");
    for (text, expected, format_settings) in [
        (&b"+1 1:0.5 3:2\n"[..], "libsvm", &none),
        (b"# a comment\n\n-1\t2:1\n", "libsvm", &none),
        (b"1\n-1 2:1\n", "libsvm", &none),
        (b"1 1:0,5 2:x\n", "libsvm", &none),
        (b"1 |f a:0.5 b\n", "vw", &none),
        (b"| a b\n", "vw", &none),
        (b"1 2 'tag|x a\n-1 |x b\n", "vw", &none),
        (b"1 1.0 tag|x a\n", "vw", &none),
        (b"a|b|c\n1|2|3\n", "csv", &label),
        (b"age,job\n1,2\n", "csv", &label),
        (b"2020-01-01 12:30:00,5\n2020-01-01 12:31:00,6\n", "csv", &label),
        (b"ham\tSee you at 12:30 \nspam\tx\n", "tsv", &label),
        (b"1;0.5;2\n", "csv", &label),
        (b"[id],[name]\n1,[x]\n", "csv", &label),
        (b"{\"1\":2}\n", "jsonl", &label),
        (b"@RELATION x\n@attribute a real\n@data\n", "arff", &label),
        (b"% one\n%\n@relation x\n@attribute a real\n@data\n", "arff", &label),
        (b"PAR1\x15\x04", "parquet", &none),
        (b"ARROW1\0\0", "arrow", &none),
        (b"\xef\xbb\xbf1 1:1\n", "libsvm", &none),
    ] {
        assert_eq!(
            format("data", text, format_settings),
            Ok(expected),
            "{:?}",
            text.escape_ascii()
        );
    }
}

#[test]
fn a_wish_or_an_extension_decides() {
    let label = labelled("1");
    assert_eq!(format("a/b.CSV", b"1 1:2\n", &label), Ok("csv"));
    assert_eq!(format("x.tsv.gz", b"1,2\t3\n", &label), Ok("tsv"));
    assert_eq!(format("x.psv", b"1|2\n", &label), Ok("csv"));
    assert_eq!(format("x.svm", b"1,2\n", &FormatSettings::default()), Ok("libsvm"));
    assert_eq!(format("x.vw", b"1 a\n", &FormatSettings::default()), Ok("vw"));
    assert_eq!(format("x.ndjson.zst", b"", &label), Ok("jsonl"));
    assert_eq!(format("x.csv", b"1 |a\n", &format_settings("vw")), Ok("vw"));
    assert_eq!(format("x.csv", b"", &format_settings("parquet")), Ok("parquet"));
    assert_eq!(
        format("x", b"", &format_settings("excel")).unwrap_err(),
        "format: found \"excel\", expected one of libsvm, vw, csv, tsv, jsonl, arff"
    );
}

#[test]
fn other_files_are_refused_with_advice() {
    let none = FormatSettings::default();
    for (text, message) in [
        (&b"BZh91AY&SY\x01"[..], "found a bzip2 file, expected text: bzcat FILE | rueful … -"),
        (b"\xfd7zXZ\0", "found an xz file, expected text: xzcat FILE | rueful … -"),
        (
            b"\xff\xfe1\0 \0",
            "found UTF-16 text, expected UTF-8: iconv -f UTF-16 -t UTF-8 FILE | rueful … -",
        ),
        (b"<!DOCTYPE html>\n", "found an HTML page, expected data; a download may have failed"),
        (b"1 1:2\0\0\n", "found bytes that are not text, expected text, Parquet or Arrow"),
        (
            b"0.5 1.5 2\n",
            "found \"0.5 1.5 2\" in a format that is not known, expected one of libsvm, vw, csv, \
             tsv, jsonl, arff; say which with format",
        ),
    ] {
        assert_eq!(format("x", text, &none), Err(format!("x: {message}")));
    }
    let empty = "x: expected examples, found none in the whole file";
    assert_eq!(format("x", b"", &none), Err(empty.to_owned()));
    assert!(format("x", b"\n \n# nothing\n", &none).unwrap_err().contains("found none"));
}

#[test]
fn settings_without_a_meaning_are_refused() {
    let list = || vec!["a".to_owned()];
    let none = FormatSettings::default;
    for (format_settings, message) in [
        (labelled("y"), "label means nothing for LIBSVM text: the label comes first on every line"),
        (
            FormatSettings { drop: list(), ..none() },
            "drop means nothing for LIBSVM text: it has no columns; leave the setting out",
        ),
        (
            FormatSettings { predictions: list(), ..none() },
            "prediction-column means nothing for LIBSVM text: it has no columns; give the \
             predictions in a file of their own",
        ),
        (
            FormatSettings { text: list(), ..none() },
            "text means nothing for LIBSVM text: it has no columns; leave the setting out",
        ),
        (
            FormatSettings { header: Some(false), ..none() },
            "header means nothing for LIBSVM text: it has no columns; leave the setting out",
        ),
        (
            FormatSettings { bits: 18.try_into().unwrap(), ..none() },
            "bits means nothing for LIBSVM text: its features have numbers, not names",
        ),
    ] {
        assert_eq!(format("x", b"1 1:2\n", &format_settings), Err(format!("x: {message}")));
    }
    assert_eq!(
        format("x", b"1 |a b\n", &labelled("y")),
        Err("x: label means nothing for Vowpal Wabbit text: the label comes first on every line"
            .to_owned())
    );
    let bits = FormatSettings { bits: 18.try_into().unwrap(), ..none() };
    assert_eq!(format("x", b"1 |a b\n", &bits), Ok("vw"));
}

#[test]
fn what_is_not_text_is_told_apart() {
    let error = open("x", b"PAR1....", &FormatSettings::default()).map(|_| ()).unwrap_err();
    assert!(matches!(&error, DataError::Binary { kind: Binary::Parquet, file } if file == "x"));
    assert_eq!(error.to_string(), "x: found a Parquet file, expected text");
    let error =
        open_inputs(Vec::new(), &FormatSettings::default(), &NUMBERS).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "found no file to read, expected at least one");
}

/// A reader of the pieces that are sent to it. It ends when no piece is waiting.
struct Sent(Receiver<Vec<u8>>, Cursor<Vec<u8>>);

impl Read for Sent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.read(buffer)?;
        if count > 0 {
            return Ok(count);
        }
        self.1 = Cursor::new(self.0.try_recv().unwrap_or_default());
        self.1.read(buffer)
    }
}

#[test]
fn what_grows_is_not_waited_for() {
    for (name, format_settings, first, second) in [
        ("a.libsvm", FormatSettings::default(), "1 1:2\n", "1 1:3\n"),
        ("a", FormatSettings::default(), "1 1:2\n", "1 1:3\n"),
        ("a", labelled("y"), "{\"y\":1}\n", "{\"y\":2}\n"),
        ("a", labelled("y"), "x,y\n1,2\n", "3,4\n"),
    ] {
        let (sender, receiver) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let follow = Follow::Until(Arc::clone(&stop));
        sender.send(first.as_bytes().to_vec()).unwrap();
        let source = Sent(receiver, Cursor::new(Vec::new()));
        let input = Input::new(name, source, &follow).unwrap();
        let mut opened = open_inputs(vec![input], &format_settings, &NUMBERS).unwrap();
        let mut batch = rueful_core::Batch::default();
        assert!(opened.reader.fill(&mut batch).unwrap());
        let before = batch.len();
        sender.send(second.as_bytes().to_vec()).unwrap();
        assert!(opened.reader.fill(&mut batch).unwrap());
        assert_eq!(batch.len(), 1);
        stop.store(true, Ordering::Relaxed);
        assert!(!opened.reader.fill(&mut batch).unwrap());
        assert_eq!(opened.reader.census().examples, before as u64 + 1);
    }
}

/// An archive of files: name, content, whether it is packed, and whether the sizes come later.
fn archive(files: &[(&str, &[u8], bool, bool)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(name, content, packs, later) in files {
        let mut packed = content.to_vec();
        if packs {
            let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).unwrap();
            packed = encoder.finish().unwrap();
        }
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let sums = [crc.sum(), packed.len() as u32, content.len() as u32];
        let head = if later { [0; 3] } else { sums };
        bytes.extend(b"PK\x03\x04\x14\0");
        bytes.extend([if later { 8 } else { 0 }, 0, if packs { 8 } else { 0 }, 0]);
        bytes.extend([0; 4]);
        head.iter().for_each(|sum| bytes.extend(sum.to_le_bytes()));
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(name.as_bytes());
        bytes.extend(packed);
        if later {
            bytes.extend(b"PK\x07\x08");
            sums.iter().for_each(|sum| bytes.extend(sum.to_le_bytes()));
        }
    }
    bytes.extend(b"PK\x01\x02 and so on");
    bytes
}

fn unzipped(bytes: Vec<u8>) -> Result<usize, String> {
    let input = Input::new("x.zip", Cursor::new(bytes), &Follow::No).map_err(|e| e.to_string())?;
    let mut opened =
        open_inputs(vec![input], &labelled("y"), &NUMBERS).map_err(|error| error.to_string())?;
    match drain(&mut opened.reader) {
        (rows, None) => Ok(rows.len()),
        (_, Some(error)) => Err(error.to_string()),
    }
}

#[test]
fn an_archive_of_one_file_is_that_file() {
    let text = "x,y\n".to_owned() + &"1,2\n".repeat(100_000);
    let text = text.as_bytes();
    for (packs, later) in [(false, false), (true, false), (true, true)] {
        assert_eq!(unzipped(archive(&[("a.csv", text, packs, later)])), Ok(100_000));
    }
    let folder = ("data/", &b""[..], false, false);
    let shadow = ("__MACOSX/._a.csv", &b"\0\x05"[..], true, true);
    let file = ("data/a.csv", text, true, false);
    assert_eq!(unzipped(archive(&[folder, file, shadow])), Ok(100_000));
}

#[test]
fn other_archives_are_refused() {
    let text: &[u8] = b"x,y\n1,2\n";
    let file = ("a.csv", text, true, false);
    let many = "cannot read x.zip: the archive holds more than one file: unpack it, or choose one \
                with unzip -p";
    assert_eq!(unzipped(archive(&[file, file])).unwrap_err(), many);
    let mut locked = archive(&[file]);
    locked[6] |= 1;
    let message = "cannot read x.zip: the archive is encrypted: unpack it first";
    assert_eq!(unzipped(locked).unwrap_err(), message);
    let mut damaged = archive(&[("a.csv", text, false, false)]);
    let place = damaged.windows(3).position(|bytes| bytes == b"1,2").unwrap();
    damaged[place] = b'3';
    let message = "cannot read x.zip: the archive is damaged: the checksum is wrong";
    assert_eq!(unzipped(damaged).unwrap_err(), message);
    assert_eq!(
        unzipped(b"PK\x05\x06".repeat(6)).unwrap_err(),
        "x.zip: found an empty zip archive, expected one with a file in it"
    );
    let whole = archive(&[file]);
    for cut in 4..whole.len() - 12 {
        assert!(unzipped(whole[..cut].to_vec()).is_err(), "{cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_archives_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        packs in any::<bool>(),
        later in any::<bool>(),
    ) {
        let mut bytes = archive(&[("a.csv", b"x,y\n1,2\n", packs, later)]);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if Input::new("x", Cursor::new(bytes.clone()), &Follow::No).is_ok() {
            check_survival("x", &bytes, &labelled("y"), &NUMBERS);
        }
    }

    #[test]
    fn random_beginnings_do_no_harm(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"1:,\t|\n{@%#\" "[..])], 0..60
        ),
        label in any::<bool>(),
    ) {
        let format_settings = if label { labelled("1") } else { FormatSettings::default() };
        prop_assume!(Input::new("x", Cursor::new(bytes.clone()), &Follow::No).is_ok());
        check_survival("x", &bytes, &format_settings, &NUMBERS);
    }
}
