//! `holdfast history` and `holdfast history show ID`.

use serde_json::{Value, json};

use crate::base::columns::Columns;
use crate::base::text::escape;
use crate::cli::args::{Fetching, Format, Global, HistoryArgs, HistoryCommand};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::report;
use crate::cli::session::Session;
use crate::target::sqlite::Access;
use crate::target::{History, HistoryEntry};

/// Lists the operation log, or shows one entry of it.
pub(crate) fn run(args: &HistoryArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let session = Session::open(global, &Fetching::default(), Access::Read, env, output)?;
    match &args.command {
        Some(HistoryCommand::Show { id }) => show(id, &session, output),
        None => list(args.limit, &session, output),
    }
}

fn list(limit: usize, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let entries = session.target().reader()?.history(&History { limit })?;
    if format == Format::Json {
        let entries = entries.iter().map(described).collect::<Result<Vec<Value>, _>>()?;
        output.json(&json!({"formatVersion": 1, "entries": entries}))?;
        return Ok(Exit::Done);
    }
    let mut columns = Columns::new(["WHEN", "ID", "WHO", "DID", "RESULT", "SOURCES", "COMMITS", "OBJECTS"]);
    for entry in &entries {
        let commits: Vec<&str> = entry.commits.iter().map(|id| id.get(..10).unwrap_or(id)).collect();
        let objects: Vec<String> = entry.objects.iter().map(ToString::to_string).collect();
        columns.push([
            entry.at.rfc3339(),
            entry.id.clone(),
            escape(&entry.actor).into_owned(),
            escape(&entry.operation).into_owned(),
            escape(&entry.result).into_owned(),
            escape(&entry.sources.join(",")).into_owned(),
            commits.join(","),
            escape(&objects.join(",")).into_owned(),
        ]);
    }
    output.data(&(columns.lines().join("\n") + "\n"))?;
    Ok(Exit::Done)
}

fn show(id: &str, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json, Format::Yaml])?;
    let Some((entry, details)) = session.target().reader()?.receipt(id)? else {
        return Err(Failure::refused(format!("the operation log has no one entry whose ID begins with {id:?}"))
            .hint("holdfast history lists them")
            .into());
    };
    let whole = json!({"formatVersion": 1, "entry": described(&entry)?, "details": details});
    match format {
        Format::Json => output.json(&whole)?,
        Format::Table if details.get("changes").is_some() => output.data(&report::receipt(&details))?,
        _ => output.yaml(&whole)?,
    }
    Ok(Exit::Done)
}

/// An entry with its time as people write it.
fn described(entry: &HistoryEntry) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(entry)?;
    value["at"] = json!(entry.at.rfc3339());
    Ok(value)
}
