//! Output to readers that close the pipe early, and to full disks.

use crate::harness::{DATA, Said, program, root};
use std::process::Stdio;

/// Runs the program with an output pipe that is closed.
fn ask_nobody(line: &str) -> Said {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    finish(line, writer.into())
}

fn finish(line: &str, stdout: Stdio) -> Said {
    let words = line.split_whitespace();
    let output = program(&root()).args(words).stdout(stdout).output().expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("the program writes UTF-8");
    Said { code: output.status.code(), stdout: String::new(), stderr }
}

#[test]
fn a_reader_who_has_heard_enough_is_no_error() {
    for line in [
        &*format!("run {DATA} --loss hinge -q"),
        &*format!("run {DATA} --loss hinge --json -q"),
        "play erm",
        "play adversary --json",
        "--help",
        "run --help",
    ] {
        let said = ask_nobody(line);
        assert_eq!((said.code, &*said.stderr), (Some(0), ""), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let said = finish(&format!("run {DATA}"), full.into());
    assert!(said.one_line().starts_with("error: No space left on device"));
}
