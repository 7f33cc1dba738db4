//! `holdfast completions SHELL`.

use clap::CommandFactory;

use crate::cli::args::Cli;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;

/// Prints the completions of a shell.
pub(crate) fn run(shell: clap_complete::Shell, output: &Output) -> Result<Exit, Stop> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "holdfast", &mut text);
    output.data(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
