//! Tries the same few thousand hostile inputs on every reader.

use std::process::Command;

#[test]
fn nothing_comes_of_a_few_thousand_hostile_inputs() {
    let output = Command::new(env!("CARGO_BIN_EXE_rueful-fuzz"))
        .args(["--iterations", "2000"])
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaint}");
}
