//! Files whose names are no valid text. They are read and written like any others.
#![cfg(unix)]

use crate::harness::{DATA, program, root};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// `é` in Latin-1.
const ODD: &[u8] = b"caf\xe9";

/// Runs the program in a folder. A `~` in a word stands for the odd name.
fn tell(folder: &Path, line: &str) -> Output {
    let words = line.split(' ').map(|word| {
        let parts: Vec<&[u8]> = word.split('~').map(str::as_bytes).collect();
        OsStr::from_bytes(&parts.join(ODD)).to_owned()
    });
    program(folder).args(words).output().expect("the program starts")
}

fn succeed(folder: &Path, line: &str) -> String {
    let output = tell(folder, line);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{line}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn desk() -> TempDir {
    let folder = TempDir::new().expect("a directory");
    let odd = folder.path().join(OsStr::from_bytes(&[ODD, b".libsvm"].concat()));
    fs::copy(root().join(DATA), &odd).expect("the stream is there");
    fs::copy(odd, folder.path().join("plain.libsvm")).expect("a copy");
    folder
}

#[test]
fn an_odd_name_changes_nothing_but_the_name() {
    let desk = desk();
    let folder = desk.path();
    let odd = succeed(folder, "run ~.libsvm --json -q --save ~.rueful --predictions ~.txt");
    let plain = succeed(folder, "run plain.libsvm --json -q --save plain.rueful");
    let [odd, plain] = [odd, plain].map(|json| {
        let mut report: Value = serde_json::from_str(&json).expect("JSON");
        let spec = report.as_object_mut().expect("an object").remove("spec").expect("a spec");
        (report, spec["data"]["files"][0].clone())
    });
    assert_eq!(odd.0, plain.0);
    assert_eq!((odd.1.as_str(), plain.1.as_str()), (Some("caf�E9.libsvm"), Some("plain.libsvm")));
    let foretold = succeed(folder, "predict ~.rueful ~.libsvm -q");
    assert_eq!(foretold, succeed(folder, "predict plain.rueful plain.libsvm -q"));
}

#[test]
fn a_spec_and_a_cache_find_the_file_again() {
    let desk = desk();
    let folder = desk.path();
    let json = succeed(folder, "run ~.libsvm --json -q");
    let report: Value = serde_json::from_str(&json).expect("JSON");
    fs::write(folder.join("spec.json"), report["spec"].to_string()).expect("a file");
    assert_eq!(json, succeed(folder, "run --spec spec.json --json -q"));
    succeed(folder, "convert ~.libsvm --out ~.rueful-cache -q");
    let cached = succeed(folder, "run ~.rueful-cache --json -q");
    let cached: Value = serde_json::from_str(&cached).expect("JSON");
    assert_eq!(cached["sequential_risk"], report["sequential_risk"]);
}

#[test]
fn a_page_an_audit_and_a_look_take_it_too() {
    let desk = desk();
    let folder = desk.path();
    succeed(folder, "run ~.libsvm -q --report ~.html --predictions ~.txt");
    succeed(folder, "audit ~.libsvm --predictions ~.txt -q --report audit.html");
    for page in [OsStr::from_bytes(&[ODD, b".html"].concat()), OsStr::new("audit.html")] {
        let page = fs::read_to_string(folder.join(page)).expect("a page");
        assert!(page.contains("caf�E9.libsvm"));
    }
    assert!(succeed(folder, "data ~.libsvm").contains("caf�E9.libsvm"));
}

#[test]
fn an_error_names_it_and_nothing_is_overwritten() {
    let desk = desk();
    let folder = desk.path();
    let missing = tell(folder, "run ~.csv");
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("caf�E9.csv"));
    let before = fs::read(folder.join("plain.libsvm")).expect("a file");
    let onto_itself = tell(folder, "run ~.libsvm --report ~.libsvm");
    assert_eq!(onto_itself.status.code(), Some(1), "{onto_itself:?}");
    let odd = folder.join(OsStr::from_bytes(&[ODD, b".libsvm"].concat()));
    assert_eq!(fs::read(odd).expect("a file"), before);
}
