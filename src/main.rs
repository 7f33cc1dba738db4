//! The `holdfast` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    holdfast::cli::main()
}
