//! Compressed files.

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use std::io::Write;

/// Whether bytes begin like a compressed file.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    let marks = [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd", b"PK\x03\x04"];
    marks.iter().any(|mark| bytes.starts_with(mark))
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("memory takes everything")
}

/// A zip archive with one file, deflated or not.
pub(crate) fn zip(text: &str, is_deflated: bool) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes everything");
    let deflated = encoder.finish().expect("memory takes everything");
    let (method, body) = if is_deflated { (8, &deflated[..]) } else { (0, text.as_bytes()) };
    let name = b"a.txt";

    // This header stands before the file, and again in the directory.
    let halves = [20_u16, 0, method, 0, 0];
    let words = [crc32fast::hash(text.as_bytes()), body.len() as u32, text.len() as u32];
    let about: Vec<u8> = halves
        .into_iter()
        .flat_map(u16::to_le_bytes)
        .chain(words.into_iter().flat_map(u32::to_le_bytes))
        .chain([name.len() as u8, 0, 0, 0])
        .collect();
    let file = [&b"PK\x03\x04"[..], &about, name, body].concat();
    let directory = [&b"PK\x01\x02\x14\0"[..], &about, &[0; 14], name].concat();
    let places = [directory.len() as u32, file.len() as u32].map(u32::to_le_bytes).concat();
    let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &places, &[0, 0]].concat();
    [file, directory, end].concat()
}
