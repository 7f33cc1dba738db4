//! What needs something of the machine: a server for ssh, a terminal, file systems of a test's own.
//!
//! A test that can't run here is counted as ignored and printed with the reason; it never counts as passed.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub, dead_code)]

mod disks;
mod https;
#[path = "../scenarios/lab.rs"]
mod lab;
mod ssh;
mod terminal;
mod unknown;

use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Completion, Trial};

/// Why a test can't run here; `None` if it can.
type Needs = fn() -> Option<String>;

/// A test and what it needs.
pub fn trial(name: &str, needs: Needs, test: fn()) -> Trial {
    Trial::ignorable_test(name, move || match needs() {
        Some(why) => Ok(Completion::ignored_with(why)),
        None => {
            test();
            Ok(Completion::Completed)
        }
    })
}

/// Says what is missing unless a program runs.
pub fn needs_program(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    match command.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Some(format!("{program} {} doesn't work here: {said}", arguments.join(" ")))
        }
        Err(error) => Some(format!("there is no {program}: {error}")),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = [ssh::trials(), https::trials(), disks::trials(), terminal::trials(), unknown::trials()]
        .into_iter()
        .flatten()
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    println!(
        "machine: {} passed, {} failed, {} skipped",
        conclusion.num_passed, conclusion.num_failed, conclusion.num_ignored
    );
    conclusion.exit_code()
}
