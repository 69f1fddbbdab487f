//! Runs the program and records its output.

use serde_json::Value;
use snapbox::{Assert, Data};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The stream in the repository, as a path from its root.
pub(crate) const DATA: &str = "data/phishing.libsvm";

/// The exit code and the output of a program that has ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The root of the repository. [`ask`] runs commands there.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program, without the environment variables that a terminal may have set.
pub(crate) fn program(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rueful"));
    command.current_dir(directory);
    for variable in ["COLUMNS", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    command
}

/// Runs `rueful` with the words of `line` in the root of the repository.
pub(crate) fn ask(line: &str) -> Said {
    ask_in(&root(), line)
}

/// Runs `rueful` with the words of `line` in `directory`.
pub(crate) fn ask_in(directory: &Path, line: &str) -> Said {
    let words = line.split_whitespace();
    let output = program(directory).args(words).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The flags, with the hinge loss added unless they name a loss.
pub(crate) fn hinge(flags: &str) -> String {
    let loss = if flags.contains("--loss") { "" } else { "--loss hinge" };
    format!("{flags} {loss}").trim().to_owned()
}

impl Said {
    /// The notes on the standard error, without the lines of progress.
    pub(crate) fn notes(&self) -> String {
        let notes = self.stderr.lines().filter(|line| line.starts_with("note: "));
        notes.map(|line| format!("{line}\n")).collect()
    }

    /// The output of a command that must have succeeded.
    #[track_caller]
    pub(crate) fn result(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// The output of a command that must have succeeded, as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.result()).expect("the output is JSON")
    }

    /// The error message of a command that must have failed. It must print nothing to the standard
    /// output, and it must not panic.
    #[track_caller]
    pub(crate) fn refusal(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{}", self.stderr);
        // Notes about the data and lines of progress come before the error.
        let mut complaint = &*self.stderr;
        while let Some((first, rest)) = complaint.split_once('\n')
            && !first.starts_with("error: ")
            && !rest.is_empty()
        {
            complaint = rest;
        }
        assert!(complaint.starts_with("error: "), "{}", self.stderr);
        assert!(!complaint.contains("panicked"), "{}", self.stderr);
        complaint.to_owned()
    }

    /// The error message of a command that must have failed with exit code 1. It is one line, as
    /// all messages are but those of the flag parser.
    #[track_caller]
    pub(crate) fn one_line(self) -> String {
        let text = self.refusal(1);
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        text.trim_end().to_owned()
    }
}

/// Compares text with the file of that name in `tests/snapshots`.
#[track_caller]
pub(crate) fn assert_snapshot(name: &str, actual: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let expected = Data::read_from(&folder.join(name).with_extension("txt"), None);
    // A backslash in a message is an escape and not part of a path, so paths are not normalised.
    let assert = Assert::new().action_env("SNAPSHOTS").normalize_paths(false);
    assert.eq(actual.to_owned(), expected);
}

/// The number under a key of a JSON object.
#[track_caller]
pub(crate) fn number(object: &Value, key: &str) -> f64 {
    let value = &object[key];
    assert!(value.is_number(), "{key} is {value} in {object}");
    value.as_f64().expect("a number")
}
