//! The flags of `rueful completions` and `rueful man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Print a script that teaches a shell the commands and flags.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful completions bash > ~/.local/share/bash-completion/completions/rueful
  rueful completions zsh > ~/.zfunc/_rueful
  rueful completions fish > ~/.config/fish/completions/rueful.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write one for every command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful man | man -l -
      the main page, at once
  rueful man --out ~/.local/share/man/man1
      all pages, for man rueful and man rueful-run")]
pub(crate) struct ManArgs {
    /// Write rueful.1 and a page for every command to this folder, which is made if it does not
    /// exist.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
