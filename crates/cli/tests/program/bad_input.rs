//! Files that cannot be learned from. The message is one line that names the file, the place and
//! the remedy. Nothing is printed to the standard output, and the exit code is 1.

use crate::harness::{ask_in, assert_snapshot, hinge};
use std::fs;
use tempfile::TempDir;

/// A broken file.
struct Broken {
    /// Its name, which says what is wrong with it.
    name: &'static str,
    bytes: &'static [u8],
    /// The line and column of the fault, as the message gives them.
    at: &'static str,
    /// Further words that the message must contain.
    says: &'static str,
    flags: &'static str,
}

const fn broken(
    name: &'static str,
    bytes: &'static [u8],
    at: &'static str,
    says: &'static str,
) -> Broken {
    Broken { name, bytes, at, says, flags: "" }
}

const FILES: [Broken; 28] = [
    broken("nan", b"+1 1:nan\n", ":1:4: ", "a finite number"),
    broken("infinite", b"+1 1:0\n-1 1:1 2:-inf\n", ":2:8: ", "a finite number"),
    broken("overflowing", b"+1 1:1e39\n", ":1:4: ", "single precision"),
    broken("nan-label", b"nan 1:1\n", ":1:1: ", "-1 or +1"),
    broken("index-zero", b"+1 1:1\n-1 0:1\n", ":2:4: ", "indices start at 1"),
    broken("index-negative", b"+1 -1:1\n", ":1:4: ", "an integer index of at least 1"),
    broken("index-word", b"+1 age:1\n", ":1:4: ", "an integer index of at least 1"),
    broken("decreasing", b"+1 3:1 2:1\n", ":1:8: ", "must increase along a line"),
    broken("repeated", b"+1 3:1 3:1\n", ":1:8: ", "index 3 is repeated"),
    broken("huge-index", b"+1 1:1 99999999999:1\n", ":1:8: ", "at most 67108864"),
    broken("just-too-large-index", b"+1 67108865:1\n", ":1:4: ", "at most 67108864"),
    broken("three-labels", b"1 1:1\n0 1:1\n-1 1:1\n", ":3:1: ", "-1 and 0 both appear"),
    broken(
        "class-numbers",
        b"1 1:1\n2 1:1\n3 1:1\n",
        ":2:1: ",
        "say which is +1 with --positive LABEL",
    ),
    broken("real-labels", b"2.5 1:1\n", ":1:1: ", "regression losses such as square"),
    Broken {
        flags: "--loss square",
        ..broken("word-label", b"spam 1:1\n", ":1:1: ", "found \"spam\"")
    },
    broken("first-line", b"spam\n+1 1:1\n-1 1:1\n", ":1:1: ", "say which is +1"),
    broken("last-line", b"+1 1:1\n\n# a comment\n-1 1:2:", ":4:4: ", "a finite number"),
    broken("no-value", b"+1 1:\n", ":1:4: ", "a finite number"),
    broken("no-colon", b"+1 1:1\n+1 1\n", ":2:4: ", "index:value"),
    broken("no-format", b"+1 1\n", ": ", "say which with --format"),
    broken("binary", b"\x00\x01\xff\xfe\x80 \x1b[2J\n", ": ", "expected text"),
    broken("table.csv", b"age,job,label\n1,2,3\n", ": ", "the columns are: age, job, label"),
    broken("numbers.csv", b"1,0.5,2\n", ": ", "Add --label NAME"),
    broken("object.json", b"{\"y\": 1}\n", ": ", "Add --label NAME"),
    broken("archive.7z", b"7z\xbc\xaf\x27\x1c\0\x04", ": ", "a 7-Zip archive"),
    broken("empty", b"", ": ", "expected examples"),
    broken("only-comments", b"\n  \n# nothing\n", ": ", "expected examples"),
    Broken {
        // This learner makes two passes, and the first of them finds the fault.
        flags: "--learner minimax",
        ..broken("surveyed", b"+1 1:1\n-1 1:one\n", ":2:4: ", "a finite number")
    },
];

#[test]
fn broken_files_are_explained() {
    let directory = TempDir::new().expect("a directory");
    let mut page = String::new();
    for file in FILES {
        let Broken { name, bytes, at, says, flags } = file;
        fs::write(directory.path().join(name), bytes).expect("the file is written");
        let line = format!("run {name} {}", hinge(flags));
        let text = ask_in(directory.path(), &line).one_line();
        assert!(text.starts_with(&format!("error: {name}{at}")), "{text}");
        assert!(text.contains(says), "{text}");
        assert!(!text.contains(|char: char| char.is_control()), "{text:?}");
        page += &format!("$ rueful {}\n{text}\n\n", line.trim_end());
    }
    assert_snapshot("bad-input", &page);
}

/// A refusal is the same with and without `--json`.
#[test]
fn a_report_in_json_is_not_begun() {
    let directory = TempDir::new().expect("a directory");
    fs::write(directory.path().join("file"), "+1 1:1\n-1 1:nan\n").expect("the file is written");
    let plain = ask_in(directory.path(), "run file").one_line();
    assert_eq!(ask_in(directory.path(), "run file --json").one_line(), plain);
}

#[test]
fn what_is_no_file_is_named() {
    let directory = TempDir::new().expect("a directory");
    fs::create_dir(directory.path().join("folder")).expect("the folder is made");
    for learner in ["ogd", "minimax"] {
        let ask = |file: &str| {
            ask_in(directory.path(), &format!("run {file} --learner {learner}")).one_line()
        };
        assert!(ask("missing").starts_with("error: cannot open missing: "));
        assert!(ask("folder").starts_with("error: cannot open folder: "));
        assert!(ask("folder").contains("directory"));
    }
}

/// The program reads the format as other programs write it.
#[test]
fn unusual_but_good_files_are_read() {
    let directory = TempDir::new().expect("a directory");
    let count = |bytes: &str, flags: &str| {
        fs::write(directory.path().join("file"), bytes).expect("the file is written");
        let report = ask_in(directory.path(), &format!("run file --json {flags}")).json();
        ["examples", "features", "nonzeros"].map(|key| report[key].as_u64().expect("a count"))
    };
    let plain = count("+1 1:0.5\n-1 2:1\n", "");
    assert_eq!(plain, [2, 3, 4]);
    assert_eq!(count("+1 1:0.5\n-1 2:1", ""), plain, "no newline at the end");
    assert_eq!(count("1 1:.5\r\n-1 2:1e0\r\n", ""), plain, "Windows line ends");
    assert_eq!(count("\u{feff}+1\t1:0.5 # why\n\n-1.0 2:1", ""), plain, "comments, blanks, tabs");
    assert_eq!(count("+1 1:0.5 7:0\n-1 2:1 9:-0\n", ""), plain, "zeros that are written out");
    assert_eq!(count("+1\n-1 1:1\n", "--no-constant"), [2, 1, 1], "a row without features");
    assert_eq!(count("0.5 1:1\n-17 1:2\n", "--loss absolute"), [2, 2, 4], "any number");
}
