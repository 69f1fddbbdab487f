//! Runs the program in a folder of its own and records its output.

use serde_json::Value;
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with files.
pub(crate) struct Desk(TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), content).expect("the file is written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).expect("the file is there")
    }

    /// Runs `rueful` with the words of `line`, without the environment variables that a terminal
    /// may have set.
    pub(crate) fn say(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rueful"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        for variable in ["COLUMNS", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "RUST_BACKTRACE"] {
            command.env_remove(variable);
        }
        command.output().expect("the program starts")
    }

    /// The output of a command that must succeed.
    #[track_caller]
    pub(crate) fn text(&self, line: &str) -> String {
        let output = self.say(line);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "rueful {line}\n{complaint}");
        String::from_utf8(output.stdout).expect("the program writes UTF-8")
    }

    /// The output of a command that must succeed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        let text = self.text(&format!("{line} --json"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// The report of `rueful run` as JSON, without progress.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> Value {
        self.json(&format!("run {line} -q"))
    }
}
