//! The program `rueful`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rueful_cli::main(std::env::args_os())
}
