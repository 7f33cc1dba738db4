//! `holdfast man`.

use clap::{Command, CommandFactory};

use crate::cli::args::Cli;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;

/// Prints the manual: the program's page, then one for each command.
pub(crate) fn run(output: &Output) -> Result<Exit, Stop> {
    let mut root = Cli::command();
    root.build();
    let mut text = Vec::new();
    page(&root, &mut text).map_err(|e| Failure::fault(format!("the manual can't be written: {e}")))?;
    output.data(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// A page of a command and those of the commands below it; they are named `holdfast-plan` and so on.
fn page(command: &Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(text)?;
    // What `help` says of a command is that command's own page.
    command.get_subcommands().filter(|below| below.get_name() != "help").try_for_each(|below| page(below, text))
}
