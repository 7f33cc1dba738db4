//! `holdfast recover`.

use serde_json::json;

use crate::cli::args::{Fetching, Format, Global};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::target::Target;
use crate::target::sqlite::Access;

/// Finishes or undoes an interrupted apply. The embedded target has none: an apply is one transaction.
pub(crate) fn run(global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let session = Session::open(global, &Fetching::default(), Access::Read, env, output)?;
    let target = session.target();
    // Reading it brings the file itself to where its log says it is.
    let revision = target.reader()?.revision()?;
    match format {
        Format::Json => output.json(&json!({"formatVersion": 1, "halfDone": [], "revision": revision}))?,
        _ => output.data(&format!(
            "Nothing is half done on {}: an apply is one transaction there, all of it or nothing. Nothing was written.\n",
            target.describe()
        ))?,
    }
    Ok(Exit::Done)
}
