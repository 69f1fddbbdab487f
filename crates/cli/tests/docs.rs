//! Tests that the documentation is true. Every command in a `console` block of the README and of
//! `docs/` is run and must print the text below it. The commands of a page are run one after the
//! other in a folder that holds only `data/`, `docs/` and `Cargo.toml`. A command can read the
//! files that an earlier one has written.
//!
//! In such a block a line that starts with `$ ` is a command. The lines up to the next command are
//! its output, in which `...` stands for any number of lines. Rust blocks of the README are run by
//! the documentation tests of the crate `rueful`.

use rueful_run::{AnySchedule, ClassLoss, LearnerSpec};
use snapbox::{Assert, IntoData};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Commands that build or test everything. They are not run from within a test.
const NOT_RUN: [&str; 2] = ["make run", "make test"];

/// The languages of blocks. rustdoc would take a block without a language for Rust. Blocks of Python
/// are run by the tests of the Python package.
const LANGUAGES: [&str; 6] = ["console", "rust", "text", "json", "toml", "python"];

struct Document {
    name: String,
    text: String,
}

/// The text between two fences.
struct Block<'a> {
    language: &'a str,
    /// The number of the line with its first fence, counted from 1.
    line: usize,
    text: Vec<&'a str>,
}

/// A command and the output that it should print.
struct Scene<'a> {
    command: &'a str,
    output: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<Document> {
    let mut paths = vec![root().join("README.md")];
    if let Ok(entries) = fs::read_dir(root().join("docs")) {
        paths.extend(entries.map(|entry| entry.expect("an entry of docs/").path()));
    }
    paths.sort();
    let pages = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages
        .map(|path| Document {
            name: path.file_name().expect("a name").to_string_lossy().into_owned(),
            text: fs::read_to_string(path).expect("a page of text"),
        })
        .collect()
}

impl Document {
    /// The fenced blocks, in order.
    fn blocks(&self) -> Vec<Block<'_>> {
        let mut lines = self.text.lines().enumerate();
        let mut blocks = Vec::new();
        while let Some((number, line)) = lines.next() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                let inside = lines.by_ref().map(|(_, line)| line);
                let text = inside.take_while(|line| line.trim() != "```").collect();
                blocks.push(Block { language, line: number + 1, text });
            }
        }
        blocks
    }

    /// The text outside the blocks.
    fn prose(&self) -> String {
        let parts = self.text.split("```").step_by(2);
        parts.collect()
    }
}

impl Block<'_> {
    fn scenes(&self) -> Vec<Scene<'_>> {
        let mut scenes: Vec<Scene<'_>> = Vec::new();
        for line in &self.text {
            match (line.strip_prefix("$ "), scenes.last_mut()) {
                (Some(command), _) => scenes.push(Scene { command, output: String::new() }),
                (None, Some(scene)) => scene.output += &format!("{line}\n"),
                (None, None) => panic!("a console block begins with a command, not with {line:?}"),
            }
        }
        scenes
    }
}

/// Makes a folder for the commands of a page.
fn stage() -> TempDir {
    let stage = TempDir::new().expect("a directory");
    for name in ["data", "docs"] {
        let folder = stage.path().join(name);
        fs::create_dir(&folder).expect("a folder in it");
        for entry in fs::read_dir(root().join(name)).expect("the folder") {
            let path = entry.expect("an entry of it").path();
            // What is for maintainers has no commands, and is read by none.
            if path.is_file() {
                fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a copy");
            }
        }
    }
    fs::copy(root().join("Cargo.toml"), stage.path().join("Cargo.toml")).expect("a copy");
    stage
}

/// The standard error as a person sees it at the end. On a terminal, progress is a bar that
/// disappears, so the lines of progress are left out.
fn seen(stderr: &str) -> String {
    let is_progress = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let is_head = line.starts_with("average    since") || line.starts_with("loss       last");
        // The label and the prediction in the middle may be names of classes.
        let is_number = |place: usize| cells[place].parse::<f64>().is_ok();
        is_head || cells.len() == 6 && [0, 1, 2, 5].into_iter().all(is_number)
    };
    stderr.lines().filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect()
}

/// Runs a command and compares its output. Blank lines at the end make no difference.
fn perform(stage: &TempDir, place: &str, scene: &Scene<'_>) {
    let mut words = scene.command.split_whitespace();
    assert_eq!(words.next(), Some("rueful"), "{place}: only the program can be run");
    let output = Command::new(env!("CARGO_BIN_EXE_rueful"))
        .args(words)
        .current_dir(stage.path())
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    let actual = text(output.stdout) + &seen(&text(output.stderr));
    let fails = scene.output.starts_with("error: ") || scene.output.contains("\nalarm: ");
    assert_eq!(!output.status.success(), fails, "{place}: {actual}");

    let trimmed = |text: &str| format!("{}\n", text.trim_end_matches('\n')).into_data();
    let expected = trimmed(&scene.output);
    let verdict = Assert::new().normalize_paths(false).try_eq(
        Some(&scene.command),
        trimmed(&actual),
        expected,
    );
    if let Err(difference) = verdict {
        panic!("{place} is out of date\n{difference}");
    }
}

#[test]
fn every_command_prints_what_is_written_below_it() {
    let mut not_run = Vec::new();
    for page in documents() {
        let stage = stage();
        for block in page.blocks().iter().filter(|block| block.language == "console") {
            for scene in block.scenes() {
                let place = format!("{}, block at line {}", page.name, block.line);
                if NOT_RUN.contains(&scene.command) {
                    assert_eq!(scene.output, "", "{place}: output that nobody checks");
                    not_run.push(scene.command.to_owned());
                } else {
                    perform(&stage, &place, &scene);
                }
            }
        }
    }
    assert_eq!(not_run, NOT_RUN);
}

#[test]
fn every_block_says_its_language() {
    for page in documents() {
        for Block { language, line, .. } in page.blocks() {
            assert!(LANGUAGES.contains(&language), "{}:{line}: {language:?}", page.name);
        }
    }
}

/// The report on the front page is that of `make run`.
#[test]
fn the_first_report_is_that_of_make_run() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile");
    let pages = documents();
    let readme = pages.iter().find(|page| page.name == "README.md").expect("the README");
    let blocks = readme.blocks();
    let mut scenes = blocks.iter().filter(|block| block.language == "console");
    let first = scenes.nth(1).expect("a second console block").scenes();
    let command = format!("./target/release/{}\n", first[0].command);
    assert!(makefile.contains(&command), "{command}");
    assert!(readme.text.contains(concat!("Rust, ", env!("CARGO_PKG_RUST_VERSION"))));
}

/// A number in the prose with many decimals must occur in the output of a command on the page. On
/// the front page it may also occur on the page about other programs.
#[test]
fn measured_numbers_in_the_prose_stand_in_a_report() {
    const DECIMALS: usize = 3;
    for page in documents() {
        let blocks = page.blocks();
        let printed: Vec<&str> = blocks.iter().flat_map(|block| block.text.clone()).collect();
        let rivals = fs::read_to_string(root().join("crates/bench/rivals/README.md"));
        let rivals = rivals.expect("the rivals' page");
        let prose = page.prose();
        let is_printed = |number: &str| {
            let is_about_rivals = page.name == "README.md" && rivals.contains(number);
            is_about_rivals || printed.iter().any(|line| line.contains(number))
        };
        let numbers = prose.split(|char: char| !char.is_ascii_digit() && char != '.');
        for number in numbers.map(|number| number.trim_end_matches('.')) {
            let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            if decimals >= DECIMALS {
                assert!(is_printed(number), "{}: {number}", page.name);
            }
        }
    }
}

/// The picture on the front page is the one that the program draws.
#[test]
fn the_picture_is_that_of_the_first_run() {
    let stage = stage();
    let drawn = stage.path().join("drawn.svg");
    let output = Command::new(env!("CARGO_BIN_EXE_rueful"))
        .args(["run", "data/phishing.libsvm", "--quiet", "--plot", "drawn.svg"])
        .current_dir(stage.path())
        .output();
    assert!(output.expect("the program starts").status.success());
    let drawn = fs::read_to_string(drawn).expect("a picture");
    let kept = root().join("docs/phishing.svg");
    let assert = Assert::new().action_env("SNAPSHOTS").normalize_paths(false);
    assert.eq(drawn, snapbox::Data::read_from(&kept, None).raw());
}

/// The files that the links of a text lead to.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    files.map(|target| target.split('#').next().unwrap_or_default())
}

#[test]
fn every_page_is_linked_and_every_link_leads_somewhere() {
    let docs = root().join("docs");
    for (folder, index) in [(root(), "README.md"), (docs.clone(), "docs/README.md")] {
        let text = fs::read_to_string(root().join(index)).expect("an index");
        let linked: Vec<PathBuf> = links(&text).map(|link| folder.join(link)).collect();
        for entry in fs::read_dir(&docs).expect("the pages") {
            let page = entry.expect("a page").path();
            let is_page = page.extension().is_some_and(|end| end == "md") && !page.ends_with(index);
            assert!(!is_page || linked.contains(&page), "{} is not in {index}", page.display());
        }
        for link in linked {
            assert!(link.exists(), "{index}: {}", link.display());
        }
    }
    for page in documents().iter().filter(|page| page.name != "README.md") {
        for link in links(&page.prose()) {
            assert!(docs.join(link).exists(), "{}: {link}", page.name);
        }
    }
}

/// The table on the front page lists all learners, losses and schedules, in the order of the
/// program.
#[test]
fn the_table_has_every_name() {
    let pages = documents();
    let readme = pages.iter().find(|page| page.name == "README.md").expect("the README");
    let rows = readme.text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split(" | ").nth(1)?.strip_prefix('`'));
    let listed: Vec<&str> = cells.map(|cell| cell.trim_end_matches('`')).collect();
    let known = [&LearnerSpec::NAMES[..], &ClassLoss::WITH_OTHERS, &AnySchedule::NAMES].concat();
    assert_eq!(listed, known);
}

/// The other crates that the manifest of a crate names as what it needs to run.
fn needs(manifest: &str) -> Vec<&str> {
    let needed = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let lines = needed.lines().take_while(|line| !line.starts_with('['));
    let mut names: Vec<&str> =
        lines.filter_map(|line| line.strip_prefix("rueful-")?.split(['.', ' ']).next()).collect();
    names.sort_unstable();
    names
}

/// The map of the crates has all of them, with what each depends on.
#[test]
fn the_map_has_every_crate_and_what_it_depends_on() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map");
    for entry in fs::read_dir(root().join("crates")).expect("the crates") {
        let folder = entry.expect("a crate").path();
        let name = folder.file_name().expect("a name").to_string_lossy();
        let row = map.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in ARCHITECTURE.md"));
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().expect("the last cell");
        let mut told: Vec<&str> = cell.split(", ").filter(|name| *name != "–").collect();
        told.sort_unstable();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        assert_eq!(told, needs(&manifest), "{name} in ARCHITECTURE.md");
    }
}
