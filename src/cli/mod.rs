//! The command line: wiring, the only room that names adapters, reads the environment and prints.

mod args;
mod commands;
mod config;
mod env;
mod exit;
mod interrupt;
mod invocation;
mod look;
mod output;
mod panics;
mod planfile;
mod progress;
mod report;
mod session;
mod target;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::base::failpoint;

use exit::Exit;

/// Runs the program with the process's own arguments and environment.
pub fn main() -> ExitCode {
    let env = env::Env::of_process();
    if let Some(exit) = env.failpoint.as_deref().and_then(failpoint) {
        return exit.code();
    }
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let output = output::Output::new(&cli.global, &env);
    let run = || commands::run(&cli, &env, &output).unwrap_or_else(|stop| output.stop(&stop));
    panics::guard(run).unwrap_or_else(|failure| output.stop(&failure.into())).code()
}

/// `HOLDFAST_FAILPOINT`, for crash tests: `list` prints the places, `NAME:N` makes the process die at the n-th passing,
/// `NAME:N:stop` makes it stop there until it is let go on.
fn failpoint(asked: &str) -> Option<Exit> {
    if asked == "list" {
        let names = failpoint::NAMES.join("\n") + "\n";
        // Nobody reads it any more: nothing to do about it.
        let _ = std::io::stdout().lock().write_all(names.as_bytes());
        return Some(Exit::Done);
    }
    let (asked, act) = match asked.strip_suffix(":stop") {
        Some(asked) => (asked, failpoint::Act::Stop),
        None => (asked, failpoint::Act::Abort),
    };
    let (name, nth) = asked.split_once(':').unwrap_or((asked, "1"));
    let armed = nth.parse().ok().and_then(|nth| failpoint::arm(name, nth, act).ok());
    // A crash test that doesn't crash would prove nothing.
    if armed.is_none() { Some(Exit::Usage) } else { None }
}

/// Help and version are asked for and go to stdout; everything else is a usage error.
fn usage(error: &clap::Error) -> ExitCode {
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
    // A closed pipe is no fault of the one who asked for help.
    let _ = error.print();
    exit.code()
}
