//! Names of files as text. A name is bytes on most systems, and these need not be UTF-8.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// The character before the two digits of a byte that is not text.
const MARK: char = char::REPLACEMENT_CHARACTER;

/// Returns the name of a file as text that a person can read and that [`path_of`] turns back. A
/// byte that is not UTF-8 becomes `�` and its two hexadecimal digits. So do the three bytes of a
/// `�` in the name itself.
///
/// ```
/// use rueful_data::{name_of, path_of};
/// # #[cfg(unix)] {
/// use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
///
/// let latin = OsStr::from_bytes(b"caf\xe9.csv");
/// assert_eq!(name_of(latin), "caf�E9.csv");
/// assert_eq!(path_of("caf�E9.csv").as_os_str(), latin);
/// # }
/// assert_eq!(name_of("café.csv".as_ref()), "café.csv");
/// ```
pub fn name_of(path: &OsStr) -> String {
    let mut name = String::new();
    for chunk in path.as_encoded_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                MARK => escape(&mut name, MARK.encode_utf8(&mut [0; 4]).as_bytes()),
                letter => name.push(letter),
            }
        }
        escape(&mut name, chunk.invalid());
    }
    name
}

fn escape(name: &mut String, bytes: &[u8]) {
    for byte in bytes {
        name.push_str(&format!("{MARK}{byte:02X}"));
    }
}

/// Returns the path of the file that [`name_of`] names.
pub fn path_of(name: &str) -> Cow<'_, Path> {
    if !name.contains(MARK) {
        return Cow::Borrowed(Path::new(name));
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        let (found, len) = match escaped(rest) {
            Some(byte) => (byte, MARK.len_utf8() + 2),
            None => {
                bytes.extend_from_slice(&rest.as_bytes()[..letter.len_utf8()]);
                rest = &rest[letter.len_utf8()..];
                continue;
            }
        };
        bytes.push(found);
        rest = &rest[len..];
    }
    path_of_bytes(bytes).map_or_else(|| Cow::Borrowed(Path::new(name)), Cow::Owned)
}

/// Returns the byte that a text begins with, if it is written with two digits.
fn escaped(text: &str) -> Option<u8> {
    let digits = text.strip_prefix(MARK)?.get(..2)?;
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    are_digits.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(unix)]
fn path_of_bytes(bytes: Vec<u8>) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

/// Elsewhere only text can be turned back.
#[cfg(not(unix))]
fn path_of_bytes(bytes: Vec<u8>) -> Option<std::path::PathBuf> {
    String::from_utf8(bytes).ok().map(Into::into)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_name_that_is_text_stays_as_it_is() {
        for name in ["data.csv", "-", "übung/Ωμέγα.csv", "a b\nc", ""] {
            assert_eq!(name_of(name.as_ref()), name);
            assert_eq!(path_of(name), Path::new(name));
        }
    }

    #[test]
    fn a_mark_without_digits_is_a_character() {
        assert_eq!(path_of("�.csv"), Path::new("�.csv"));
        assert_eq!(path_of("�+1"), Path::new("�+1"));
        assert_eq!(path_of("�é"), Path::new("�é"));
    }

    proptest! {
        #[test]
        fn every_name_comes_back(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), prop::sample::select(b"\xef\xbf\xbdE9".to_vec())], 0..24),
        ) {
            let path = OsStr::from_bytes(&bytes);
            let name = name_of(path);
            let found = path_of(&name);
            prop_assert_eq!(found.as_os_str(), path);
        }
    }
}
