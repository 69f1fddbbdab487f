//! A long file takes no more memory than a short one.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use peak_alloc::PeakAlloc;
use rueful_columnar::{Format, open};
use rueful_core::Batch;
use rueful_data::{FormatSettings, LabelRule, Reading, Source};
use std::fs::File;
use std::sync::Arc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const ROWS: i64 = 1_000_000;

fn write(file: File) {
    let batch = |start: i64| {
        let rows = start..start + 10_000;
        let noise = |n: i64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 20) as f64;
        let columns: [(&str, ArrayRef); 4] = [
            ("a", Arc::new(Float64Array::from_iter_values(rows.clone().map(noise)))),
            ("b", Arc::new(Float64Array::from_iter_values(rows.clone().map(|n| noise(n + 1))))),
            (
                "job",
                Arc::new(StringArray::from_iter_values(rows.clone().map(|n| JOBS[n as usize % 2]))),
            ),
            ("y", Arc::new(Int64Array::from_iter_values(rows.map(|n| n % 2)))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(500_000)).build();
    let mut writer = ArrowWriter::try_new(file, batch(0).schema(), Some(properties)).unwrap();
    (0..ROWS).step_by(10_000).for_each(|start| writer.write(&batch(start)).unwrap());
    writer.close().unwrap();
}

const JOBS: [&str; 2] = ["clerk", "a rather long profession"];

#[test]
fn a_million_rows_are_read_in_little_memory() {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.reopen().unwrap());
    let size = file.path().metadata().unwrap().len() as usize;
    assert!(size > 10 << 20, "{size}");
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let format_settings =
        FormatSettings { label: Some("y".to_owned()), ..FormatSettings::default() };
    let path = file.path().to_str().unwrap().to_owned();
    let reading = Reading::new(LabelRule::Signs);
    let mut source = open(&[path], Format::Parquet, &format_settings, &reading).unwrap().source;
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {}
    assert_eq!(source.census().examples, ROWS as u64);
    let peak = MEMORY.peak_usage() - before;
    // Beside the pieces there are the index of reported names and the bits of seen indices.
    assert!(peak < 12 << 20, "{peak} bytes for a file of {size}");
}
