//! `holdfast source rename OLD NEW`.

use crate::apply::{ApplyOptions, rename};
use crate::base::ids::SourceName;
use crate::cli::args::{Fetching, Format, Global, RenameArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::target::sqlite::Access;

/// Gives a Source another name, and says what has to be changed in the configuration.
pub(crate) fn run(args: &RenameArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let name = |text: &str| SourceName::parse(text).map_err(|e| Failure::usage(e.to_string()));
    let (old, new) = (name(&args.old)?, name(&args.new)?);
    if old == new {
        return Err(Failure::usage("OLD and NEW are the same name").into());
    }
    let session = Session::open(global, &Fetching::default(), Access::Write, env, output)?;
    let options = ApplyOptions {
        actor: env.user.clone(),
        apply: session.new_apply(),
        lock_timeout: args.locking.lock_timeout,
        allow_unmerged: false,
        while_paused: false,
        reason: None,
        single_use: false,
    };
    let receipt = rename(&session.context(), &old, &new, &options)?;
    if format == Format::Json {
        output.json(receipt.as_json())?;
    } else {
        let id = receipt.as_json().pointer("/sources/0/id").and_then(serde_json::Value::as_str).unwrap_or_default();
        output.data(&format!("Source {old} is {new} now (ID {id}); no object was written\n"))?;
    }
    let origin = session.origin();
    match (session.has_source(&old), session.has_source(&new)) {
        (true, false) => output.note(&format!(
            "next: in {origin} change the Source's metadata.name from {old} to {new}; until then {old} is a new Source there, \
             and what {new} owns is refused to it"
        )),
        (true, true) => output.note(&format!(
            "next: take Source {old} out of {origin}; it is a new Source there, and what {new} owns is refused to it"
        )),
        (false, false) => output.note(&format!("{origin} names neither {old} nor {new}")),
        (false, true) => {}
    }
    Ok(Exit::Done)
}
