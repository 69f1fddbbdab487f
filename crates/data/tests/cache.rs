//! Caches: they give the same rows to the last bit, and damaged bytes are not read as rows.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

use proptest::prelude::*;
use rueful_core::{Batch, Importance};
use rueful_data::{
    CacheFault, CacheWriter, Cached, Census, DataError, Follow, FormatSettings, Input,
    Interactions, LabelRule, LabelsSeen, Limits, Names, NamespaceRules, Provenance, Reader,
    Reading, Schema, Source, SourceFile, open_inputs, write_cache,
};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The bits of a row: its label, its features, its norm and its importance.
type Row = (u64, Vec<(u32, u32)>, u64, u64);

fn reading(labels: LabelRule, constant: bool, threads: usize) -> Reading {
    let threads = NonZeroUsize::new(threads).unwrap();
    Reading { constant, threads, ..Reading::new(labels) }
}

fn numbers() -> Reading {
    reading(LabelRule::Numbers, false, 1)
}

fn provenance() -> Provenance {
    let source = SourceFile { name: "data.txt".to_owned(), bytes: Some(9), modified: Some(7) };
    let sources = vec![source];
    let schema = serde_json::to_value(Schema::Libsvm {}).unwrap();
    Provenance { sources, schema, positive: None, max_index: 1 << 26 }
}

/// A writer that keeps its bytes, so that they can be looked at afterwards.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The cache of some batches, with names.
fn written(provenance: &Provenance, batches: &[Batch], constant: bool, names: &Names) -> Vec<u8> {
    let kept = Kept::default();
    let mut writer = CacheWriter::new("cache", kept.clone(), provenance).unwrap();
    batches.iter().for_each(|batch| writer.append(batch, constant).unwrap());
    writer.finish(names, LabelsSeen::default(), &[]).unwrap();
    kept.bytes()
}

fn cache_of(batch: &Batch) -> Vec<u8> {
    written(&provenance(), std::slice::from_ref(batch), false, &Names::default())
}

/// The cache of LIBSVM text.
fn cache_of_text(text: &str) -> Vec<u8> {
    let mut batch = Batch::default();
    let mut all = Batch::default();
    let mut source = text_reader(text, &Schema::Libsvm {}, &numbers());
    while source.fill(&mut batch).unwrap() {
        append(&mut all, &batch);
    }
    cache_of(&all)
}

fn append(all: &mut Batch, batch: &Batch) {
    for row in batch.iter() {
        all.push(row.features.indices(), row.features.values(), row.label).unwrap();
    }
}

fn text_reader(text: &str, schema: &Schema, reading: &Reading) -> Reader {
    let bytes = io::Cursor::new(text.as_bytes().to_vec());
    Reader::new(vec![Input::new("data.txt", bytes, &Follow::No).unwrap()], schema, reading)
}

fn rows_of(batch: &Batch) -> Vec<Row> {
    let bits = |(&index, value): (&u32, &f32)| (index, value.to_bits());
    let row = |row: rueful_core::Example<'_>| {
        let x = row.features;
        let features = x.indices().iter().zip(x.values()).map(bits).collect();
        (row.label.to_bits(), features, x.norm_sq().to_bits(), row.importance.get().to_bits())
    };
    batch.iter().map(row).collect()
}

/// Reads to the end or to an error, and checks the promises of a source about both.
fn drain(source: &mut Cached) -> (Vec<Row>, Option<DataError>) {
    let mut census = Census::default();
    let outcome = drain_with(source, |source, batch| {
        census.count(batch.rows());
        assert_eq!(*source.census(), census);
    });
    assert_eq!(*source.census(), census);
    outcome
}

fn drain_text(source: &mut Reader) -> (Vec<Row>, Option<DataError>) {
    drain_with(source, |_, _| {})
}

fn drain_with<S: Source>(
    source: &mut S,
    mut check: impl FnMut(&S, &Batch),
) -> (Vec<Row>, Option<DataError>) {
    let mut batch = Batch::default();
    let mut rows = Vec::new();
    let error = loop {
        match source.fill(&mut batch) {
            Ok(true) => {
                assert!(!batch.is_empty());
                rows.extend(rows_of(&batch));
                check(source, &batch);
            }
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(batch.is_empty());
    assert!(!source.fill(&mut batch).unwrap(), "a stream that is over stays over");
    (rows, error)
}

fn read(bytes: &[u8], reading: &Reading) -> Result<Vec<Row>, String> {
    let mut source =
        Cached::from_bytes("cache", bytes.to_vec(), reading).map_err(|error| error.to_string())?;
    match drain(&mut source) {
        (rows, None) => Ok(rows),
        (_, Some(error)) => Err(error.to_string()),
    }
}

/// The words in which a cache is refused, and the number of rows before the fault.
fn refusal(bytes: &[u8], reading: &Reading) -> (usize, String) {
    let (rows, error) = drain(&mut Cached::from_bytes("cache", bytes.to_vec(), reading).unwrap());
    (rows.len(), error.expect("an error").to_string())
}

type Plain = (f64, Vec<(u32, f32)>);

fn batch(rows: &[Plain], constant: bool) -> Batch {
    let mut batch = Batch::default();
    for (label, features) in rows {
        let first = constant.then_some((0, 1.0));
        let (indices, values): (Vec<_>, Vec<_>) =
            first.into_iter().chain(features.iter().copied()).unzip();
        let mut row = batch.open_row(indices.len());
        indices.iter().zip(&values).for_each(|(&index, &value)| row.push(index, value).unwrap());
        let importance = if label.abs() > 100.0 { (label.abs() / 64.0).min(1e29) } else { 1.0 };
        row.finish(*label, Importance::new(importance).unwrap());
    }
    batch
}

/// Rows of every kind that is stored in its own way. Rows with large labels have a larger
/// importance.
fn any_rows() -> impl Strategy<Value = Vec<Plain>> {
    let value = prop_oneof![
        Just(1.0f32),
        any::<f32>().prop_filter("a value", |value| value.is_finite() && *value != 0.0),
    ];
    let kinds = (0..4u8, 0..3u8, any::<bool>(), 0..3000usize, any::<u64>());
    (kinds, prop::collection::vec(value, 64)).prop_map(|(kinds, values)| {
        let (indices, labels, ones, count, seed) = kinds;
        let mut random = Random(seed | 1);
        let count = if random.below(2) == 0 { count % 12 } else { count };
        let mut row = |_| {
            let label = match labels {
                0 => [1.0, -1.0][random.below(2)],
                1 => random.below(250) as f64 - 125.0,
                _ => random.below(1 << 30) as f64 / 1024.0 - 3e5,
            };
            let (length, step) = match indices {
                0 => (7, 1),
                1 => (random.below(12), 20),
                2 => (random.below(300) % 40, 3000),
                _ => (random.below(40), 1 << 20),
            };
            let mut last = 0;
            let features = (0..length).map(|_| {
                last += 1 + random.below(step) as u32;
                (last, if ones { 1.0 } else { values[random.below(values.len())] })
            });
            (label, features.collect())
        };
        (0..count).map(&mut row).collect()
    })
}

/// Pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_come_back_to_the_last_bit(
        rows in any_rows(),
        had_constant in any::<bool>(),
        cut in 1usize..400,
    ) {
        let pieces: Vec<Batch> = rows.chunks(cut).map(|rows| batch(rows, had_constant)).collect();
        let bytes = written(&provenance(), &pieces, had_constant, &Names::default());
        let whole = written(&provenance(), &[batch(&rows, false)], false, &Names::default());
        prop_assert!(bytes == whole, "the bytes depend on the rows alone");
        for (constant, threads) in [(false, 1), (true, 1), (true, 2), (false, 4)] {
            let reading = reading(LabelRule::Numbers, constant, threads);
            let mut source = Cached::from_bytes("cache", bytes.clone(), &reading).unwrap();
            let (found, error) = drain(&mut source);
            let expected = batch(&rows, constant);
            prop_assert_eq!(found, rows_of(&expected));
            prop_assert_eq!(error.is_some(), rows.is_empty());
            let mut census = Census::default();
            census.count(expected.rows());
            prop_assert_eq!(source.census(), &census);
            prop_assert_eq!(source.summary().examples, rows.len() as u64);
        }
    }

    #[test]
    fn whatever_the_bytes_are_reading_ends(
        rows in any_rows(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        constant in any::<bool>(),
    ) {
        let mut bytes = cache_of(&batch(&rows[..rows.len().min(40)], false));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // The checksums are put right, so that the checks behind them are reached.
        seal(&mut bytes);
        check_survival(&bytes, constant);
    }

    #[test]
    fn bytes_of_any_kind_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let error = Cached::from_bytes("cache", bytes, &numbers()).unwrap_err();
        prop_assert!(error.to_string().contains("expected a rueful cache"));
    }
}

fn check_survival(bytes: &[u8], constant: bool) {
    let reading = reading(LabelRule::Any, constant, 1);
    let error = match Cached::from_bytes("cache", bytes.to_vec(), &reading) {
        Err(error) => Some(error),
        Ok(mut source) => {
            let mut batch = Batch::default();
            loop {
                match source.fill(&mut batch) {
                    Ok(true) => batch.iter().for_each(|row| {
                        let x = row.features;
                        rueful_core::Features::new(x.indices(), x.values()).unwrap();
                        assert!(x.values().iter().all(|&value| value != 0.0));
                        assert!(row.label.is_finite());
                    }),
                    Ok(false) => break None,
                    Err(error) => break Some(error),
                }
            }
        }
    };
    if let Some(error) = error {
        let text = error.to_string();
        assert!(!text.chars().any(char::is_control) && text.len() < 2500, "{text:?}");
    }
}

fn number_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap()) as usize)
}

/// Puts the checksums right, as far as the parts can be found.
fn seal(bytes: &mut [u8]) {
    let put = |bytes: &mut [u8], pieces: [std::ops::Range<usize>; 2], at: usize| {
        let mut hasher = crc32fast::Hasher::new();
        for piece in pieces {
            match bytes.get(piece) {
                Some(piece) => hasher.update(piece),
                None => return,
            }
        }
        let crc = hasher.finalize().to_le_bytes();
        if let Some(place) = bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&crc);
        }
    };
    let header = 24 + number_at(bytes, 16);
    put(bytes, [0..20, 24..header], 20);
    let mut at = header;
    while bytes.get(at..at + 4) == Some(b"rows") {
        let end = at + 32 + number_at(bytes, at + 4);
        put(bytes, [at..at + 28, at + 32..end], at + 28);
        at = end;
    }
    let end = bytes.len() - 12;
    let footer = number_at(bytes, end - 8);
    put(bytes, [footer..end, 0..0], end);
}

const SMALL: &str = "+1 1:0.5 3:-2 900:1\n-1 2:0.25\n+1\n2.5 1:1 70000:1e-40\n";

/// A small cache in which everything occurs.
fn small() -> (Vec<u8>, Vec<Row>) {
    let names = open_names();
    let mut source = text_reader(SMALL, &Schema::Libsvm {}, &numbers());
    let mut rows = Batch::default();
    source.fill(&mut rows).unwrap();
    (written(&provenance(), &[rows.clone()], false, &names), rows_of(&rows))
}

fn open_names() -> Names {
    let format_settings =
        FormatSettings { label: Some("y".to_owned()), ..FormatSettings::default() };
    let text = "y,job,age\n1,clerk,3\n-1,smith,4\n";
    let input = Input::new("data.csv", text.as_bytes(), &Follow::No).unwrap();
    let mut reader = open_inputs(vec![input], &format_settings, &numbers()).unwrap().reader;
    drain_text(&mut reader);
    assert_eq!(reader.names().len(), 3);
    reader.names().clone()
}

#[test]
fn every_truncation_is_an_error() {
    let (bytes, rows) = small();
    assert_eq!(read(&bytes, &numbers()), Ok(rows));
    for length in 0..bytes.len() {
        let error = Cached::from_bytes("cache", bytes[..length].to_vec(), &numbers()).unwrap_err();
        let expected = if length == 0 { CacheFault::NotACache } else { CacheFault::Partial };
        assert!(
            matches!(&error, DataError::Cache { file, fault } if file == "cache" && *fault == expected),
            "{length}: {error}"
        );
    }
    let mut longer = bytes;
    longer.push(b'\n');
    let error = Cached::from_bytes("cache", longer, &numbers()).unwrap_err();
    assert!(error.to_string().contains("written only in part"), "{error}");
}

#[test]
fn every_flipped_bit_is_an_error() {
    let (bytes, _) = small();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let error = read(&flipped, &numbers()).unwrap_err();
            assert!(error.starts_with("cache: found "), "byte {at}, bit {bit}: {error}");
        }
    }
}

#[test]
fn every_byte_with_its_checksum_put_right_is_survived() {
    let (bytes, _) = small();
    for at in 0..bytes.len() {
        for byte in [0, 1, 2, 4, 7, 8, 0x7f, 0x80, 0xff, bytes[at].wrapping_add(1)] {
            let mut changed = bytes.clone();
            changed[at] = byte;
            seal(&mut changed);
            check_survival(&changed, at % 2 == 0);
        }
    }
}

#[test]
fn other_files_and_other_versions_are_told_apart() {
    let refused =
        |bytes: &[u8]| Cached::from_bytes("x", bytes.to_vec(), &numbers()).unwrap_err().to_string();
    assert_eq!(refused(b""), "x: found something else, expected a rueful cache");
    assert_eq!(refused(b"+1 1:1\n"), "x: found something else, expected a rueful cache");
    let (mut bytes, _) = small();
    bytes[12] = 99;
    assert_eq!(
        refused(&bytes),
        "x: found a rueful cache of version 99, expected version 2: it was written by a \
         newer rueful; make it anew"
    );
    assert!(refused(&bytes[..30]).contains("version 99"), "a version is told from the start");
    bytes[12] = 1;
    assert_eq!(
        refused(&bytes),
        "x: found a rueful cache of version 1, expected version 2: it was written by an older \
         rueful, which kept importances in single precision; make it anew"
    );
}

/// Checks the bytes of a small cache one by one. If they change, the version must change.
#[test]
fn the_bytes_are_frozen() {
    let (bytes, rows) = small();
    assert_eq!(&bytes[..16], b"\x8drueful\r\n\x1a\n\0\x02\0\0\0");
    let header = 24 + number_at(&bytes, 16);
    let text = std::str::from_utf8(&bytes[24..header]).unwrap();
    assert_eq!(
        text,
        r#"{"sources":[{"name":"data.txt","bytes":9,"modified":7}],"schema":{"format":"libsvm"},"positive":null,"max_index":67108864}"#
    );
    let block = &bytes[header..];
    assert_eq!(&block[..4], b"rows");
    let counts: Vec<_> = [4, 8, 12, 16].map(|at| number_at(block, at)).to_vec();
    // 4 labels of 8 bytes, 4 lengths of 1, 6 indices of 4, 6 values of 4, 5 new indices of 4.
    assert_eq!(counts, [32 + 4 + 24 + 24 + 20, 4, 6, 5]);
    assert_eq!(block[20..28], [8, 1, 4, 4, 0, 0, 0, 0]);
    assert_eq!(crc32fast::hash(&bytes), 0xde3b_5fcd, "{rows:?}");
}

/// Checks that a text and its cache give the same rows, counts, names and labels.
fn check_text(text: &str, schema: &Schema, positive: Option<&str>, rules: &[LabelRule]) {
    let schema_said = serde_json::to_value(schema).unwrap();
    let provenance = Provenance { schema: schema_said, ..provenance() };
    let provenance = Provenance { positive: positive.map(str::to_owned), ..provenance };
    let kept = Kept::default();
    let stored = Reading { idle_rows: true, ..reading(provenance.label_rule(), true, 2) };
    let mut source = text_reader(text, schema, &stored);
    let mut writer = CacheWriter::new("cache", kept.clone(), &provenance).unwrap();
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        writer.append(&batch, true).unwrap();
    }
    writer.finish(source.names(), source.labels(), source.missing()).unwrap();
    let bytes = kept.bytes();
    for rule in rules {
        for (constant, threads) in [(true, 2), (false, 1)] {
            let reading = reading(rule.clone(), constant, threads);
            let mut expected = text_reader(text, schema, &reading);
            let mut found = Cached::from_bytes("cache", bytes.clone(), &reading).unwrap();
            assert_eq!(found.provenance(), &provenance);
            let (expected_rows, expected_error) = drain_text(&mut expected);
            let (rows, error) = drain(&mut found);
            assert!(rows == expected_rows, "{rule:?}");
            assert_eq!(error.is_some(), expected_error.is_some(), "{rule:?}");
            if error.is_none() {
                assert_eq!(found.census(), expected.census());
                assert_eq!(found.names(), expected.names());
                assert_eq!(found.labels(), expected.labels());
                assert_eq!(found.missing(), expected.missing());
            }
        }
    }
}

fn positive(label: &str) -> LabelRule {
    LabelRule::Positive(label.to_owned())
}

/// Rows as in a9a: 14 or so of 123 features, all of value 1.
fn a9a(labels: [&str; 2]) -> String {
    let mut random = Random(42);
    let mut text = String::new();
    for _ in 0..9000 {
        text.push_str(labels[random.below(2)]);
        let mut index = 0;
        for _ in 0..13 + random.below(2) {
            index += 1 + random.below(8);
            write!(text, " {index}:1").unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn a_cache_of_text_is_the_text() {
    let all = [LabelRule::Signs, LabelRule::Numbers, LabelRule::Any, positive("1"), positive("-1")];
    let schema = Schema::Libsvm {};
    check_text(&a9a(["+1", "-1"]), &schema, None, &all);
    check_text(&a9a(["1", "0"]), &schema, None, &all);
    check_text(
        &a9a(["2", "4"]),
        &schema,
        None,
        &[LabelRule::Numbers, positive("4"), LabelRule::Any],
    );
    check_text(&a9a(["2", "4"]), &schema, Some("4"), &[positive("4"), positive("4.0")]);
    check_text("0.5 1:3\n-7e20 2:1\n0.25\n", &schema, None, &[LabelRule::Numbers, LabelRule::Any]);
    let bytes = cache_of_text(&a9a(["+1", "-1"])).len() as f64;
    assert!(bytes / (9000.0 * 13.5) < 1.3, "a byte for each feature, and little else");
}

#[test]
fn importance_is_kept() {
    let mut text = "1 |f a b:2\n".repeat(5000);
    text.push_str(&"-1 0.25 |f a c\n1 3 |g d\n-1 |f a\n".repeat(3000));
    let schema = Schema::Vw {
        bits: 12.try_into().unwrap(),
        interactions: Interactions::default(),
        id: false,
        namespaces: NamespaceRules::default(),
    };
    check_text(&text, &schema, None, &[LabelRule::Signs, LabelRule::Numbers]);
    let extremes = "1 1e30 |f a\n1 1e-30 |f a\n1 0.1 |f a\n1 0 |f b\n";
    check_text(extremes, &schema, None, &[LabelRule::Signs]);
}

#[test]
fn names_and_missing_cells_are_kept() {
    let mut text = "spam,job,age\n".to_owned();
    let mut random = Random(3);
    for row in 0..4000 {
        let age = if row % 7 == 0 { String::new() } else { random.below(90).to_string() };
        let label = ["yes", "no"][random.below(2)];
        writeln!(text, "{label},job {},{age}", random.below(500)).unwrap();
    }
    let bits = 8.try_into().unwrap();
    let format_settings =
        FormatSettings { label: Some("spam".to_owned()), bits, ..FormatSettings::default() };
    let input = Input::new("data.csv", io::Cursor::new(text.clone()), &Follow::No).unwrap();
    let schema = open_inputs(vec![input], &format_settings, &numbers()).unwrap().schema;
    check_text(&text, &schema, Some("yes"), &[positive("yes")]);
}

#[test]
fn labels_are_refused_as_in_text() {
    let signs = reading(LabelRule::Signs, true, 1);
    let hint = "of two other labels, say which is +1 with positive LABEL; regression losses such \
                as square take any number";
    for two in ["2", "2.5"] {
        let (rows, error) = refusal(&cache_of_text(&format!("1 1:1\n-1 9:1\n{two} 3:1\n")), &signs);
        assert_eq!(rows, 2);
        let expected = "a label that is -1 or +1, or 0 or 1";
        assert_eq!(error, format!("cache: row 3: found \"{two}\", expected {expected}; {hint}"));
    }
    // The conflict is in the second block, with rows before it.
    let many = "1 1:1\n-1 1:1\n".repeat(2100) + "1 1:1\n0 2:1\n-1 1:1\n";
    let (rows, error) = refusal(&cache_of_text(&many), &signs);
    assert_eq!(rows, 4201);
    assert!(error.starts_with("cache: row 4202: found \"0\", expected a label that is"), "{error}");
    assert!(error.contains("-1 and 0 both appear"), "{error}");
    let (rows, error) = refusal(&cache_of_text("1\n2\n1\n3\n"), &reading(positive("4"), false, 2));
    assert_eq!(rows, 4);
    let expected = "one that is \"4\", as positive says";
    assert_eq!(error, format!("cache: found the labels \"1\", \"2\", \"3\", expected {expected}"));
}

#[test]
fn indices_are_kept_to_the_limit() {
    let limits = Limits { max_index: 100, ..Limits::default() };
    let limited = Reading { limits, ..reading(LabelRule::Signs, true, 1) };
    let bytes = cache_of_text("1 100:1\n-1 99:1 101:1\n1 5:1\n");
    assert_eq!(
        refusal(&bytes, &limited),
        (1, "cache: row 2: found \"101\", expected an index of at most 100, the limit".to_owned())
    );
    // If there are two faults, the first one is reported.
    let bytes = cache_of_text("1 100:1\n7 99:1\n1 101:1\n");
    assert!(refusal(&bytes, &limited).1.contains("row 2: found \"7\""));
    let bytes = cache_of_text("1 100:1\n1 101:1\n7 99:1\n");
    assert!(refusal(&bytes, &limited).1.contains("row 2: found \"101\""));
}

#[test]
fn a_cache_knows_its_positive_label() {
    let made = Provenance { positive: Some("spam".to_owned()), ..provenance() };
    let rows = batch(&[(1.0, vec![(1, 1.0)]), (-1.0, vec![])], false);
    let bytes = written(&made, &[rows], false, &Names::default());
    for rule in [positive("spam"), LabelRule::Signs, LabelRule::Numbers, LabelRule::Any] {
        assert_eq!(read(&bytes, &reading(rule, false, 1)).unwrap().len(), 2);
    }
    assert_eq!(
        read(&bytes, &reading(positive("ham"), false, 1)).unwrap_err(),
        "cache: found a rueful cache made with positive spam, expected one made with positive \
         ham; make it anew, or leave positive out"
    );
}

#[test]
fn rows_that_cannot_be_stored_are_refused() {
    let mut writer = CacheWriter::new("cache", io::sink(), &provenance()).unwrap();
    let with = batch(&[(1.0, vec![(1, 2.0)])], true);
    let without = batch(&[(1.0, vec![(1, 2.0)])], false);
    assert!(writer.append(&with, false).unwrap_err().to_string().contains("row 1"));
    assert!(writer.append(&without, true).is_err());
    assert!(writer.append(&batch(&[(f64::NAN, vec![])], false), false).is_err());
    writer.append(&with, true).unwrap();
    writer.append(&without, false).unwrap();
    assert_eq!(writer.finish(&Names::default(), LabelsSeen::default(), &[]).unwrap().examples, 2);
}

#[test]
fn a_cache_without_rows_is_an_empty_file() {
    let bytes = cache_of(&Batch::default());
    let expected = "cache: expected examples, found none in the whole file";
    assert_eq!(read(&bytes, &numbers()), Err(expected.to_owned()));
}

fn path_of(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

fn write_file(folder: &Path, text: &str) -> (String, String, Provenance) {
    let (data, cache) = (path_of(folder, "a.txt"), path_of(folder, "a.rueful-cache"));
    std::fs::write(&data, text).unwrap();
    let paths = [data.clone()];
    let made = Provenance::look(&paths, &Schema::Libsvm {}, None, 1 << 26).unwrap();
    let mut source = Reader::open(&paths, &Schema::Libsvm {}, &numbers(), &Follow::No).unwrap();
    write_cache(&cache, &made, &mut source, false).unwrap();
    (data, cache, made)
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_comes_back_and_knows_when_it_is_stale() {
    let folder = tempfile::tempdir().unwrap();
    let (data, cache, made) = write_file(folder.path(), SMALL);
    assert_eq!(names_in(folder.path()), ["a.rueful-cache", "a.txt"]);
    for threads in [1, 2, 4] {
        let mut source =
            Cached::open(&cache, &reading(LabelRule::Numbers, false, threads)).unwrap();
        assert_eq!(drain(&mut source).0, small().1);
        let size = std::fs::metadata(&cache).unwrap().len();
        assert!(source.bytes_read() < size && source.bytes_read() > size / 3);
    }
    let then = Cached::open(&cache, &numbers()).unwrap().provenance().clone();
    let look = |paths: &[String], schema: &Schema, positive: Option<&str>, max_index| {
        then.difference(&Provenance::look(paths, schema, positive, max_index).unwrap())
    };
    let (paths, libsvm, limit) = (vec![data.clone()], Schema::Libsvm {}, made.max_index);
    assert_eq!(look(&paths, &libsvm, None, limit), None);
    assert_eq!(look(&paths, &libsvm, Some("1"), limit).unwrap(), "it was made without positive");
    assert!(look(&paths, &libsvm, None, 9).unwrap().to_string().contains("indices of at most"));
    let vw = Schema::Vw {
        bits: 9.try_into().unwrap(),
        interactions: Interactions::default(),
        id: false,
        namespaces: NamespaceRules::default(),
    };
    assert_eq!(look(&paths, &vw, None, limit).unwrap(), "the files were read in another way");
    let two = [data.clone(), data.clone()];
    assert_eq!(look(&two, &libsvm, None, limit).unwrap(), "it was made from a.txt");
    std::fs::write(&data, SMALL.to_owned() + "1\n").unwrap();
    assert_eq!(look(&paths, &libsvm, None, limit).unwrap(), "a.txt has changed since");
    let missing = Provenance::look(&[path_of(folder.path(), "b")], &libsvm, None, 1).unwrap_err();
    assert!(missing.to_string().starts_with("cannot open "), "{missing}");
}

#[test]
fn what_is_not_finished_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (_, cache, made) = write_file(folder.path(), SMALL);
    let before = std::fs::read(&cache).unwrap();
    let mut writer = CacheWriter::create(&cache, &made).unwrap();
    writer.append(&batch(&vec![(1.0, vec![(1, 1.0)]); 9999], false), false).unwrap();
    assert_eq!(names_in(folder.path()).len(), 3);
    drop(writer);
    assert_eq!(names_in(folder.path()), ["a.rueful-cache", "a.txt"]);
    assert_eq!(std::fs::read(&cache).unwrap(), before);
    // A source that breaks off does not become a cache.
    let mut source = text_reader("1 1:1\nx\n", &Schema::Libsvm {}, &numbers());
    assert!(write_cache(&cache, &made, &mut source, false).is_err());
    assert_eq!(std::fs::read(&cache).unwrap(), before);
    assert_eq!(names_in(folder.path()), ["a.rueful-cache", "a.txt"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let error = CacheWriter::create("/dev/full", &provenance()).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /dev/full: No space left"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let nowhere = path_of(folder.path(), "missing/a.rueful-cache");
    let error = CacheWriter::create(&nowhere, &provenance()).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot write {nowhere}: ")), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (_, cache, made) = write_file(folder.path(), SMALL);
    let link = path_of(folder.path(), "link");
    std::os::unix::fs::symlink(&cache, &link).unwrap();
    let mut source = text_reader("1 1:1\n", &Schema::Libsvm {}, &numbers());
    write_cache(&link, &made, &mut source, false).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(drain(&mut Cached::open(&cache, &numbers()).unwrap()).0.len(), 1);
}

#[cfg(unix)]
#[test]
fn a_file_cut_short_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (_, cache, _) = write_file(folder.path(), &"1 1:1 7:0.5\n".repeat(100_000));
    let mut source = Cached::open(&cache, &numbers()).unwrap();
    let mut batch = Batch::default();
    assert!(source.fill(&mut batch).unwrap());
    std::fs::File::options().write(true).open(&cache).unwrap().set_len(9000).unwrap();
    let error = loop {
        match source.fill(&mut batch) {
            Ok(goes_on) => assert!(goes_on, "an error before the end"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("it was cut short while it was read"));
}

#[test]
fn a_row_may_be_longer_than_a_block() {
    let long: Vec<(u32, f32)> = (1..=100_000).map(|index| (index * 3, 0.5)).collect();
    let rows = batch(&[(1.0, vec![]), (1.0, long), (-1.0, vec![])], false);
    for constant in [false, true] {
        let found = read(&cache_of(&rows), &reading(LabelRule::Signs, constant, 1)).unwrap();
        assert_eq!(found[1].1.len(), 100_000 + usize::from(constant));
    }
    assert_eq!(read(&cache_of(&rows), &numbers()).unwrap(), rows_of(&rows));
}
