//! `holdfast init`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use crate::cli::config::FILE_NAME;
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;

/// What is written: a configuration that works once its repository is named.
const TEMPLATE: &str = include_str!("init.yaml");

/// Writes a commented configuration; never over an existing file.
pub(crate) fn run(env: &Env, output: &Output) -> Result<Exit, Stop> {
    let path = env.folder.join(FILE_NAME);
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::AlreadyExists => {
            Failure::refused(format!("there is a {} already; it stays as it is", path.display()))
                .hint("take it away first, or write another one by hand")
        }
        _ => Failure::refused(format!("{} can't be written: {e}", path.display())),
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
    file.write_all(TEMPLATE.as_bytes()).map_err(failed)?;
    output.note(&format!("written: {}", path.display()));
    output.note("next: name your repository in it, then run holdfast plan");
    Ok(Exit::Done)
}
