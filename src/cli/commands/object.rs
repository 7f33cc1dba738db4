//! `holdfast object`.
use crate::cli::args::{Global, ObjectCommand};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
pub(crate) fn run(_c: &ObjectCommand, _g: &Global, _e: &Env, _o: &Output) -> Result<Exit, Stop> {
    Ok(Exit::Done)
}
