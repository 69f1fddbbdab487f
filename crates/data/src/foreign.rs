//! Recognising files of another kind, so that the error can say what was probably meant.

use memchr::memchr;

/// How files begin whose kind is known by their first bytes.
const BEGINNINGS: [(&[u8], &str); 10] = [
    (b"\x1f\x8b", "a gzip file, to be decompressed first"),
    (b"PK\x03\x04", "a zip archive, to be unpacked first"),
    (b"\x28\xb5\x2f\xfd", "a zstd file, to be decompressed first"),
    (b"BZh", "a bzip2 file, to be decompressed first"),
    (b"\xfd7zXZ", "an xz file, to be decompressed first"),
    (b"PAR1", "a Parquet file"),
    (b"\xff\xfe", "UTF-16 text, to be saved as UTF-8"),
    (b"\xfe\xff", "UTF-16 text, to be saved as UTF-8"),
    (b"{", "JSON"),
    (b"[", "JSON"),
];

/// A hint for a file whose first row, on line `line`, is not LIBSVM text.
pub(crate) fn hint(line: &[u8]) -> Option<String> {
    let kind = looks_like(line.trim_ascii_start())?;
    Some(format!("this looks like {kind}, and LIBSVM text is expected: label index:value …"))
}

fn looks_like(line: &[u8]) -> Option<&'static str> {
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(bytes, _)| line.starts_with(bytes)) {
        return Some(kind);
    }
    let text = &line[..memchr(b'#', line).unwrap_or(line.len())];
    let has = |byte| memchr(byte, text).is_some();
    if is_arff(text) {
        Some("ARFF")
    } else if has(b'|') {
        Some("Vowpal Wabbit text")
    } else if has_feature(text) {
        None
    } else if has(b'\t') {
        Some("tab-separated text")
    } else if has(b',') || has(b';') {
        Some("CSV")
    } else {
        None
    }
}

/// ARFF begins with its relation, often after comments that start with a percent sign.
fn is_arff(text: &[u8]) -> bool {
    let relation = b"@relation";
    let is_relation =
        text.get(..relation.len()).is_some_and(|start| start.eq_ignore_ascii_case(relation));
    is_relation || text.starts_with(b"% ")
}

/// Whether some token after the first begins like a feature, with an index and a colon.
fn has_feature(text: &[u8]) -> bool {
    let tokens = text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|token| !token.is_empty());
    tokens.skip(1).any(|token| {
        let digits = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && token.get(digits) == Some(&b':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_recognised() {
        for (line, kind) in [
            (&b"\x1f\x8b\x08\0\0"[..], "a gzip file, to be decompressed first"),
            (b"PK\x03\x04\x14", "a zip archive, to be unpacked first"),
            (b"\x28\xb5\x2f\xfd\x04", "a zstd file, to be decompressed first"),
            (b"PAR1\x15\x04", "a Parquet file"),
            (b"\xff\xfe1\0 \0", "UTF-16 text, to be saved as UTF-8"),
            (b"  {\"y\": 1}", "JSON"),
            (b"[1, 2]", "JSON"),
            (b"@RELATION electricity", "ARFF"),
            (b"% 1. Title", "ARFF"),
            (b"1 |f a:0.5 b", "Vowpal Wabbit text"),
            (b"age,job,y", "CSV"),
            (b"1;0.5;2", "CSV"),
            (b"12:30:00, 5", "CSV"),
            (b"ham\tSee you, then", "tab-separated text"),
        ] {
            assert_eq!(looks_like(line.trim_ascii_start()), Some(kind), "{line:?}");
        }
    }

    #[test]
    fn broken_libsvm_text_is_not_taken_for_another_kind() {
        for line in [&b"1 1:0,5"[..], b"1,3 2:1", b"1 1:x # a|b, c", b"spam\t1:1", b"", b"%"] {
            assert_eq!(looks_like(line), None, "{line:?}");
        }
    }
}
