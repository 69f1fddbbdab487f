//! No bytes upset the reader. It returns rows or an error, whatever comes.

use super::*;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, DictionaryArray, Float64Array, Int64Array, StringArray};
use parquet::basic::ZstdLevel;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

fn small() -> RecordBatch {
    let words = (0..40).map(|n| (n % 5 != 0).then(|| format!("word {}", n % 11)));
    let jobs = (0..40).map(|n| if n % 3 == 0 { "clerk" } else { "a rather long profession" });
    table(vec![
        ("x", Arc::new(Float64Array::from_iter_values((0..40).map(f64::from))) as Arc<dyn Array>),
        ("n", Arc::new((0..40).map(|n| (n % 4 != 0).then_some(n)).collect::<Int64Array>())),
        ("word", Arc::new(words.collect::<StringArray>())),
        ("job", Arc::new(jobs.collect::<DictionaryArray<Int32Type>>())),
        ("ok", Arc::new(BooleanArray::from_iter((0..40).map(|n| Some(n % 2 == 0))))),
        ("y", Arc::new(Int64Array::from_iter_values((0..40).map(|n| n % 2)))),
    ])
}

const ALL: [Saved; 6] = [
    Saved::Parquet(Compression::UNCOMPRESSED, 16),
    Saved::Parquet(Compression::SNAPPY, 1 << 20),
    Saved::File(None),
    Saved::File(Some(CompressionType::LZ4_FRAME)),
    Saved::File(Some(CompressionType::ZSTD)),
    Saved::Stream,
];

/// A file that is overwritten again and again. Creating new files, or truncating this one, takes
/// longer than reading them.
struct Slate(TempPath);

impl Slate {
    fn new() -> Self {
        Self(file(&[]))
    }

    /// Reads arbitrary bytes. Returns how many rows came, and the error.
    fn read(&self, bytes: &[u8], format: Format) -> (usize, Option<String>) {
        let mut file = File::options().write(true).open(&self.0).unwrap();
        file.write_all(bytes).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        self.read_again(format)
    }

    fn read_again(&self, format: Format) -> (usize, Option<String>) {
        match open(&[name(&self.0)], format, &labelled("y"), &reading(LabelRule::Any)) {
            Err(error) => (0, Some(error.to_string())),
            Ok(mut opened) => {
                let (rows, error) = drain(&mut opened.source);
                (rows.len(), error.map(|error| error.to_string()))
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let slate = Slate::new();
    for saved in ALL {
        let batch = small().project(&[2, 3, 5]).unwrap().slice(0, 12);
        let bytes = saved.bytes(&[batch]);
        assert_eq!(slate.read(&bytes, saved.format()), (12, None));
        let file = File::options().write(true).open(&slate.0).unwrap();
        for end in (0..bytes.len()).rev() {
            file.set_len(end as u64).unwrap();
            let (rows, error) = slate.read_again(saved.format());
            // A stream may end after any message, so a cut one can have all its rows and no error.
            let is_whole = saved == Saved::Stream && rows == 12;
            let error = if is_whole { "one line".to_owned() } else { error.unwrap() };
            assert!(!error.contains('\n'), "{saved:?} cut at {end}: {error}");
        }
    }
}

/// A random generator that is good enough to choose bytes: splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % end as u64) as usize
    }
}

#[test]
fn damaged_files_give_an_error_or_rows() {
    let (slate, mut dice) = (Slate::new(), Dice(7));
    for saved in [&ALL[..], &[Saved::Parquet(Compression::ZSTD(ZstdLevel::default()), 16)]].concat()
    {
        let whole = saved.bytes(&[small()]);
        for _ in 0..500 {
            let mut bytes = whole.clone();
            for _ in 0..=dice.below(3) {
                let at = dice.below(bytes.len());
                bytes[at] = match dice.below(3) {
                    0 => 0xff,
                    1 => bytes[at] ^ 1 << dice.below(8),
                    _ => dice.below(256) as u8,
                };
            }
            let (rows, error) = slate.read(&bytes, saved.format());
            // Damaged lengths must not give more rows than this.
            assert!(rows <= 1 << 20, "{rows}");
            assert!(error.is_none_or(|error| !error.contains('\n')));
        }
    }
}

/// A buffer that claims to unpack to a thousand terabytes is refused before memory is allocated.
#[test]
fn sizes_that_cannot_be_are_refused() {
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let zeros = Float64Array::from(vec![0.0; 1000]);
        let batch = table(vec![("y", Arc::new(zeros) as Arc<dyn Array>)]);
        let mut bytes = Saved::File(Some(codec)).bytes(&[batch]);
        let size = 8000_i64.to_le_bytes();
        let at = bytes.windows(8).position(|window| window == size).unwrap();
        bytes[at..at + 8].copy_from_slice(&(1_i64 << 50).to_le_bytes());
        let (_, error) = Slate::new().read(&bytes, Format::Arrow);
        let error = error.unwrap();
        assert!(error.contains("found a record batch of 11258999"), "{error}");
    }
}

#[test]
fn any_bytes_behind_the_mark_are_refused() {
    let (slate, mut dice) = (Slate::new(), Dice(11));
    for (format, head, tail) in [
        (Format::Parquet, &b"PAR1"[..], &b"PAR1"[..]),
        (Format::Arrow, b"ARROW1\0\0", b"ARROW1"),
        (Format::Arrow, b"\xff\xff\xff\xff", b""),
    ] {
        for _ in 0..300 {
            let mut bytes = head.to_vec();
            bytes.extend((0..dice.below(200)).map(|_| dice.below(256) as u8));
            if dice.below(2) == 0 {
                let length = dice.below(bytes.len()) as u32;
                bytes.extend(length.to_le_bytes());
                bytes.extend(tail);
            }
            assert!(slate.read(&bytes, format).1.is_some());
        }
    }
}

/// A description of columns within columns within columns must not exhaust the stack.
#[test]
fn a_deep_schema_is_refused() {
    let mut footer = b"\x15\x04\x19\xfc".to_vec();
    let depth = 200_000_u32;
    let mut count = depth + 1;
    while count > 0x7f {
        footer.push(count as u8 | 0x80);
        count >>= 7;
    }
    footer.push(count as u8);
    (0..depth).for_each(|_| footer.extend(b"\x35\x00\x18\x01a\x15\x02\x00"));
    footer.extend(b"\x15\x02\x25\x00\x18\x01a\x00");
    footer.extend(b"\x16\x00\x19\x0c\x00");
    let length = (footer.len() as u32).to_le_bytes();
    let bytes = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
    let (_, error) = Slate::new().read(&bytes, Format::Parquet);
    let error = error.unwrap();
    assert!(
        error.ends_with("found columns within columns, expected at most 128 levels"),
        "{error}"
    );
}
