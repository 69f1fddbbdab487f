//! `rueful completions` and `rueful man`: completions for shells, and manual pages.
//!
//! Both are made from the definition of the flags, so they are always up to date.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::output;
use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;
use std::path::Path;

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rueful", &mut script);
    output::print(&String::from_utf8(script)?)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<()> {
    match &args.out {
        Some(folder) => {
            write_pages(folder).with_context(|| format!("cannot write to {}", folder.display()))
        }
        None => {
            let mut page = Vec::new();
            Man::new(Cli::command().disable_help_subcommand(true)).render(&mut page)?;
            output::print(&String::from_utf8(page)?)
        }
    }
}

/// Writes one page for every command.
fn write_pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
}
