//! Says in one sentence what is wrong with flags that cannot be understood.

use crate::args::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit code of a command whose flags are wrong.
const WRONG_FLAGS: u8 = 2;

/// Parses the arguments. If they are wrong, it prints what is wrong and returns the exit code. If
/// help was asked for, it prints the help and returns the exit code 0.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, ExitCode> {
    if let Some(letters) = quadratic(arguments) {
        anstream::eprintln!("error: there is no file {letters}{QUADRATIC}");
        return Err(WRONG_FLAGS.into());
    }
    Cli::try_parse_from(arguments).map_err(|error| {
        let Some(sentence) = Mistake { error: &error, arguments }.sentence() else {
            let code = if error.use_stderr() { WRONG_FLAGS } else { 0 };
            // If the help cannot be printed, an error message cannot be printed either.
            let _ = error.print();
            return code.into();
        };
        let command = command(arguments);
        anstream::eprintln!(
            "error: {sentence}\n\n`{command} --help` lists all flags, with examples"
        );
        WRONG_FLAGS.into()
    })
}

/// The hint for those who know -q from Vowpal Wabbit.
const QUADRATIC: &str =
    ". -q is --quiet here; namespaces are crossed by --interactions, as in --interactions ab";

/// Whether a flag is -q and the argument after it is no file, but two letters that name namespaces
/// for Vowpal Wabbit.
fn quadratic(arguments: &[OsString]) -> Option<&str> {
    let pair = arguments.windows(2).find(|pair| pair[0] == "-q")?;
    let letters = pair[1].to_str().filter(|letters| letters.chars().count() == 2)?;
    (!letters.starts_with('-') && !std::path::Path::new(letters).exists()).then_some(letters)
}

/// The program and its command, as they were typed.
fn command(arguments: &[OsString]) -> String {
    let known = Cli::command();
    let is_command = |name: &&str| known.find_subcommand(name).is_some();
    let given = arguments.get(1).and_then(|name| name.to_str()).filter(is_command);
    given.map_or_else(|| "rueful".to_owned(), |name| format!("rueful {name}"))
}

/// An error of clap, and the arguments that were typed.
struct Mistake<'a> {
    error: &'a clap::Error,
    arguments: &'a [OsString],
}

impl Mistake<'_> {
    /// Says what is wrong. It returns none for help that was asked for, and for errors for which
    /// clap's own words are used.
    fn sentence(&self) -> Option<String> {
        match self.error.kind() {
            ErrorKind::InvalidValue => self.not_one_of(),
            ErrorKind::ValueValidation => self.not_a_value(),
            ErrorKind::UnknownArgument => self.unknown("flag", ContextKind::InvalidArg),
            ErrorKind::InvalidSubcommand => self.unknown("command", ContextKind::InvalidSubcommand),
            ErrorKind::ArgumentConflict => self.conflict(),
            ErrorKind::MissingRequiredArgument => self.missing(),
            _ => None,
        }
    }

    fn texts(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    fn text(&self, kind: ContextKind) -> Option<String> {
        self.texts(kind).into_iter().next()
    }

    fn not_one_of(&self) -> Option<String> {
        let flag = name(&self.text(ContextKind::InvalidArg)?);
        let value = self.text(ContextKind::InvalidValue)?;
        let valid = self.texts(ContextKind::ValidValue).join(", ");
        if value.is_empty() {
            let of = if valid.is_empty() { valid } else { format!(": one of {valid}") };
            return Some(format!("{flag} needs a value{of}"));
        }
        let similar = self.similar(ContextKind::SuggestedValue);
        Some(format!("{flag}: {value:?} is none of {valid}{similar}"))
    }

    fn not_a_value(&self) -> Option<String> {
        let argument = self.text(ContextKind::InvalidArg)?;
        let value = self.text(ContextKind::InvalidValue)?;
        let why = std::error::Error::source(self.error)?.to_string();
        let why = match why.as_str() {
            "invalid float literal" => "is not a number".to_owned(),
            "invalid digit found in string" => "is not a whole number".to_owned(),
            "number would be zero for non-zero type" => "is too small: at least 1".to_owned(),
            "cannot parse integer from empty string" | "cannot parse float from empty string" => {
                return Some(format!("{} needs a number", name(&argument)));
            }
            why if why.starts_with("number too large") => "is too large".to_owned(),
            why => format!("is not valid: {why}"),
        };
        Some(format!("{}: {value} {why}", name(&argument)))
    }

    fn unknown(&self, what: &str, kind: ContextKind) -> Option<String> {
        let given = self.text(kind)?;
        let suggested = if what == "flag" {
            self.similar(ContextKind::SuggestedArg)
        } else {
            self.similar(ContextKind::SuggestedSubcommand)
        };
        let hint = if self.is_like_quadratic() { QUADRATIC } else { "" };
        Some(format!("there is no {what} {given}{suggested}{hint}"))
    }

    /// Whether letters follow -q at once, as namespaces do for Vowpal Wabbit.
    fn is_like_quadratic(&self) -> bool {
        let letters =
            |given: &str| given.strip_prefix("-q").map_or(0, |letters| letters.chars().count());
        self.arguments.iter().filter_map(|given| given.to_str()).any(|given| letters(given) == 2)
    }

    fn similar(&self, kind: ContextKind) -> String {
        let similar = self.text(kind);
        similar.map_or_else(String::new, |name| format!(". Did you mean {name}?"))
    }

    /// Names the flags that do not go together. clap lists all flags that conflict with one, and of
    /// these only the ones that were typed are named.
    fn conflict(&self) -> Option<String> {
        let one = name(&self.text(ContextKind::InvalidArg)?);
        let others = self.texts(ContextKind::PriorArg);
        let others: Vec<String> = others.iter().map(|other| name(other)).collect();
        let mut given: Vec<&str> =
            others.iter().map(String::as_str).filter(|other| self.is_given(other)).collect();
        if given.is_empty() {
            given = others.iter().map(String::as_str).collect();
        }
        if given.contains(&one.as_str()) || given.is_empty() {
            return Some(format!("{one} is given more than once"));
        }
        let both = format!("{one} and {} do not go together", given.join(", "));
        let is_about = |flag: &str| one == flag || given.contains(&flag);
        Some(match () {
            () if is_about("--resume") => format!("{both}: a model has its own settings and data"),
            () if is_about("--spec") => format!("{both}: a spec has its own settings"),
            () => both,
        })
    }

    fn is_given(&self, flag: &str) -> bool {
        let is_it = |given: &str| given == flag || given.starts_with(&format!("{flag}="));
        self.arguments.iter().filter_map(|given| given.to_str()).any(is_it)
    }

    fn missing(&self) -> Option<String> {
        let missing = self.texts(ContextKind::InvalidArg);
        let missing: Vec<String> = missing.iter().map(|one| spelled(one)).collect();
        Some(format!("this command needs {}", missing.join(" and ")))
    }
}

/// A flag without the name of its value, or an argument without its brackets.
fn name(argument: &str) -> String {
    let flag = argument.split([' ', '=']).next().unwrap_or(argument);
    flag.trim_matches(['<', '>', '[', ']', '.']).to_owned()
}

/// A missing argument, as a person would type it. clap writes `<--a <A>|--b <B>>` for one of two
/// flags.
fn spelled(argument: &str) -> String {
    if let Some(choice) = argument.strip_prefix("<--") {
        let choice = choice.strip_suffix('>').unwrap_or(choice);
        return format!("--{}", choice.replace('|', " or ")).replace(['<', '>'], "");
    }
    argument.replace(['<', '>'], "").replace("...", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(line: &str) -> String {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Cli::try_parse_from(&arguments).expect_err("it is wrong");
        Mistake { error: &error, arguments: &arguments }.sentence().expect("it has a sentence")
    }

    #[test]
    fn mistakes_are_said_in_one_sentence() {
        let cases = [
            ("rueful run f --losss hinge", "there is no flag --losss. Did you mean --loss?"),
            ("rueful rum f", "there is no command rum. Did you mean run?"),
            ("rueful run f --radius abc", "--radius: abc is not a number"),
            ("rueful run f --report r --window 0", "--window: 0 is too small: at least 1"),
            ("rueful run", "this command needs FILE"),
            ("rueful run f --window 3", "this command needs --report HTML or --alarm REGRET"),
            (
                "rueful run --resume m --loss=hinge",
                "--resume and --loss do not go together: a model has its own settings and data",
            ),
            ("rueful run f --radius 1 --radius 2", "--radius is given more than once"),
            (
                "rueful audit f --link log --predictions p",
                "--link: \"log\" is none of identity, \
                logistic. Did you mean logistic?",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(sentence(line), expected, "{line}");
        }
    }
}
