//! Tests of how rows are delivered: groups, compressions, files, threads, counts.

use super::*;
use arrow_array::{Array, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use parquet::basic::{GzipLevel, ZstdLevel};
use rueful_columnar::{inspect, open_batches};
use rueful_data::LabelsSeen;
use std::sync::Arc;

const JOBS: [&str; 3] = ["clerk", "smith", "a rather long profession"];

/// A table of `len` rows, beginning with row `start`.
fn people(start: i64, len: i64) -> RecordBatch {
    let numbers = start..start + len;
    table(vec![
        ("id", Arc::new(Int64Array::from_iter_values(numbers.clone()))),
        (
            "age",
            Arc::new(Float64Array::from_iter(
                numbers.clone().map(|n| (n % 7 != 0).then_some(n as f64 / 4.0)),
            )),
        ),
        (
            "job",
            Arc::new(StringArray::from_iter(numbers.clone().map(|n| JOBS.get(n as usize % 4)))),
        ),
        ("y", Arc::new(Int64Array::from_iter_values(numbers.map(|n| n % 2)))),
    ])
}

fn format_settings() -> FormatSettings {
    FormatSettings { drop: vec!["id".to_owned()], ..labelled("y") }
}

fn expected(len: i64) -> Vec<Row> {
    let one = |n: i64| {
        let mut features = Vec::new();
        features.push(match n % 7 {
            0 => ("age·missing".to_owned(), 1.0),
            _ => ("age".to_owned(), (n as f64 / 4.0) as f32),
        });
        features.push(match JOBS.get(n as usize % 4) {
            Some(job) => (format!("job={job}"), 1.0),
            None => ("job·missing".to_owned(), 1.0),
        });
        ((n % 2) as f64, features)
    };
    (0..len).map(one).collect()
}

/// Batches may have any size, and may be empty. The large one is cut.
#[test]
fn batches_in_memory_give_the_rows_of_a_file() {
    let sizes = [0, 100, 0, 20_000, 1];
    let mut start = 0;
    let batches = sizes.map(|len| {
        start += len;
        people(start - len, len)
    });
    let handed_over = || {
        let batches = batches.clone().into_iter().map(Ok);
        Box::new(RecordBatchIterator::new(batches, people(0, 0).schema()))
    };
    let reading = reading(LabelRule::Numbers);
    let mut opened = open_batches("X", handed_over(), &format_settings(), &reading).unwrap();
    let again = Columnar::of_batches("X", handed_over(), &opened.layout, &reading);
    for source in [&mut opened.source, &mut again.unwrap()] {
        let (rows, error) = drain(source);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(rows, expected(20_101));
    }
    assert_eq!(opened.layout.format, Format::Arrow);
    let other = Columnar::of_batches("X", handed_over(), &opened.layout, &reading);
    assert_eq!(other.unwrap().bytes_read(), 0);
}

#[test]
fn all_compressions_and_groups_give_the_same_rows() {
    let batches = [people(0, 100), people(100, 50), people(150, 1)];
    let parquet = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ];
    let parquet =
        parquet.into_iter().flat_map(|codec| [1, 40, 1000].map(|n| Saved::Parquet(codec, n)));
    let arrow = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    for saved in parquet.chain(arrow.map(Saved::File)).chain([Saved::Stream]) {
        let path = file(&saved.bytes(&batches));
        for threads in [1, 2] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let reading = Reading { threads, ..reading(LabelRule::Numbers) };
            let opened = open(&[name(&path)], saved.format(), &format_settings(), &reading);
            let mut source = opened.unwrap().source;
            let (rows, error) = drain(&mut source);
            assert!(error.is_none(), "{saved:?}: {error:?}");
            assert_eq!(rows, expected(151), "{saved:?}");
            assert_eq!(source.missing(), [0, 22, 37], "{saved:?}");
            assert_eq!(source.census().features, 6);
            assert_eq!(source.bytes_read(), std::fs::metadata(&path).unwrap().len());
        }
    }
}

#[test]
fn many_rows_come_in_small_batches() {
    let batch = people(0, 40_000);
    for saved in Saved::ALL {
        let mut source = open_saved(saved, &batch, &format_settings()).unwrap().source;
        let (mut largest, mut rows, mut batch) = (0, 0, Batch::default());
        while source.fill(&mut batch).unwrap() {
            largest = largest.max(batch.nonzeros() + batch.len());
            rows += batch.len();
        }
        assert_eq!(rows, 40_000);
        assert!(largest < (1 << 14) + 4, "{largest}");
    }
}

#[test]
fn files_come_one_after_the_other() {
    for saved in Saved::ALL {
        let paths = [people(0, 10), people(10, 5)].map(|batch| file(&saved.bytes(&[batch])));
        let files = [name(&paths[0]), name(&paths[1])];
        let reading = reading(LabelRule::Signs);
        let mut opened = open(&files, saved.format(), &format_settings(), &reading).unwrap();
        let (rows, error) = drain(&mut opened.source);
        assert!(error.is_none(), "{error:?}");
        let signed = |(label, features): Row| (2.0 * label - 1.0, features);
        let expected: Vec<_> = expected(15).into_iter().map(signed).collect();
        assert_eq!(rows, expected);
        let counts = vec![("0".to_owned(), 8), ("1".to_owned(), 7)];
        assert_eq!(opened.source.labels(), LabelsSeen { counts, is_cut: false });
        // The layout reads the files again, and its JSON is complete.
        let mut again = reopened(&[&paths[0], &paths[1]], &opened, &reading);
        assert_eq!(drain(&mut again).0, rows);
        let json = serde_json::to_string(&opened.layout).unwrap();
        assert_eq!(serde_json::from_str::<rueful_columnar::Layout>(&json).unwrap(), opened.layout);
        assert!(json.contains(&format!("\"format\":\"{}\"", saved.format().name())), "{json}");
    }
}

#[test]
fn what_was_found_is_told() {
    let notes =
        |saved, batch: &RecordBatch| open_saved(saved, batch, &format_settings()).unwrap().notes;
    let batch = people(0, 10);
    let groups = Saved::Parquet(Compression::SNAPPY, 4);
    assert_eq!(notes(groups, &batch), ["Parquet, 4 columns, 10 rows in 3 groups"]);
    assert_eq!(notes(Saved::File(None), &batch), ["Arrow, 4 columns"]);
    let index: ArrayRef = Arc::new(Int64Array::from(vec![0, 1]));
    let columns = vec![("id", Arc::clone(&index)), ("y", Arc::clone(&index))];
    let batch = table([columns, vec![("__index_level_0__", index)]].concat());
    assert_eq!(
        notes(Saved::Stream, &batch)[1],
        "column \"__index_level_0__\" holds the row labels of pandas: drop __index_level_0__ \
         leaves it out"
    );
}

#[test]
fn types_can_be_looked_at() {
    let path = file(&Saved::PLAIN.bytes(&[people(0, 1)]));
    let found = inspect(&name(&path), Format::Parquet).unwrap();
    let found: Vec<_> = found.iter().map(|c| (c.name.as_str(), c.kind.as_str())).collect();
    assert_eq!(found, [("id", "Int64"), ("age", "Float64"), ("job", "Utf8"), ("y", "Int64")]);
}

/// A dropped column costs nothing, because it is not decoded. So damage in it is not even noticed.
#[test]
fn what_is_dropped_is_not_decoded() {
    let noise: StringArray = (0..2000).map(|n| Some(format!("{n:x}{}", n * 7919))).collect();
    let labels = Int64Array::from_iter_values((0..2000).map(|n| n % 2));
    let batch = table(vec![("noise", Arc::new(noise) as Arc<dyn Array>), ("y", Arc::new(labels))]);
    let mut bytes = Saved::Parquet(Compression::SNAPPY, 1 << 20).bytes(&[batch]);
    bytes[100..4000].fill(0xff);
    let path = file(&bytes);
    let read = |format_settings: &FormatSettings| {
        let reading = reading(LabelRule::Numbers);
        let opened = open(&[name(&path)], Format::Parquet, format_settings, &reading);
        drain(&mut opened.unwrap().source)
    };
    assert!(read(&labelled("y")).1.is_some());
    let (rows, error) = read(&FormatSettings { drop: vec!["noise".to_owned()], ..labelled("y") });
    assert!(error.is_none() && rows.len() == 2000, "{error:?}");
}

#[test]
fn the_first_labels_are_told_and_nothing_is_lost() {
    let batch = table(vec![
        ("a", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0])) as _),
        ("n", Arc::new(Float64Array::from(vec![0.0, 1.0, 1.0, 1.0])) as _),
        ("y", Arc::new(StringArray::from(vec!["maybe", "yes", "no", "yes"])) as _),
    ]);
    let format_settings = FormatSettings { importance: Some("n".to_owned()), ..labelled("y") };
    for saved in Saved::ALL {
        let mut source = open_saved(saved, &batch, &format_settings).unwrap().source;
        let first = source.first_labels();
        let counts = [("yes".to_owned(), 2), ("no".to_owned(), 1)];
        assert_eq!((first.rows, &first.labels.counts[..]), (3, &counts[..]), "{saved:?}");
        source.set_labels(LabelRule::Positive("no".to_owned()));
        let (rows, error) = drain(&mut source);
        assert!(error.is_none(), "{saved:?}: {error:?}");
        let expected = [(-1.0, 2.0), (1.0, 3.0), (-1.0, 4.0)];
        assert_eq!(rows, expected.map(|(label, a)| row(label, &[("a", a)])), "{saved:?}");
    }
}
