//! The command line: wiring, the only room that names adapters, reads the environment and prints.

mod args;
mod commands;
mod config;
mod env;
mod exit;
mod interrupt;
mod output;
mod progress;
mod session;
mod target;

use std::process::ExitCode;

use clap::Parser;

pub use exit::Exit;

/// Runs the program with the process's own arguments and environment.
pub fn main() -> ExitCode {
    let env = env::Env::of_process();
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let output = output::Output::new(&cli.global, &env);
    let exit = match commands::run(&cli, &env, &output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.failure(&failure);
            failure.exit()
        }
    };
    exit.code()
}

/// Help and version are asked for and go to stdout; everything else is a usage error.
fn usage(error: &clap::Error) -> ExitCode {
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
    // A closed pipe is no fault of the one who asked for help.
    let _ = error.print();
    exit.code()
}
