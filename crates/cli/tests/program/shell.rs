//! Completions for every shell, and manual pages for every command.

use crate::harness::{ask, ask_in};
use std::collections::BTreeSet;
use std::fs;
use tempfile::TempDir;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "powershell", "elvish"];

/// The commands that `rueful --help` lists.
fn commands() -> Vec<String> {
    let help = ask("--help").result();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn the_help_lists_the_commands() {
    let commands = commands();
    for command in ["run", "data", "convert", "hindsight", "audit", "play", "completions", "man"] {
        assert!(commands.iter().any(|name| name == command), "{command}: {commands:?}");
    }
}

#[test]
fn every_shell_is_told_every_command_and_flag() {
    for shell in SHELLS {
        let script = ask(&format!("completions {shell}")).result();
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        for word in ["print-spec", "adversary", "regularized-erm", "predictions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(ask("completions tcsh").refusal(2).contains("is none of bash, elvish, fish"));
}

#[test]
fn the_main_page_names_every_command() {
    let page = ask("man").result();
    assert!(page.contains(".TH rueful 1"), "{page}");
    for command in commands() {
        assert!(page.contains(&format!("rueful\\-{command}(1)")), "{command}: {page}");
    }
}

#[test]
fn every_command_has_its_page() {
    let folder = TempDir::new().expect("a directory");
    assert_eq!(ask_in(folder.path(), "man --out share/man1").result(), "");
    let entries = fs::read_dir(folder.path().join("share/man1")).expect("the folder is there");
    let written: BTreeSet<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let mut expected: BTreeSet<String> =
        commands().iter().map(|command| format!("rueful-{command}.1")).collect();
    expected
        .extend(["rueful.1", "rueful-play-erm.1", "rueful-play-adversary.1"].map(str::to_owned));
    assert_eq!(written, expected);
    for name in written {
        let page = fs::read_to_string(folder.path().join("share/man1").join(&name)).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let main = fs::read_to_string(folder.path().join("share/man1/rueful.1")).unwrap();
    assert_eq!(main, ask("man").result());
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let folder = TempDir::new().expect("a directory");
    fs::write(folder.path().join("file"), "").expect("the file is written");
    let text = ask_in(folder.path(), "man --out file/man1").one_line();
    assert!(text.starts_with("error: cannot write to file/man1: "), "{text}");
}
