//! `holdfast source list`.

use serde_json::{Value, json};

use crate::base::columns::Columns;
use crate::base::text::escape;
use crate::cli::args::{Fetching, Format, Global};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::inventory::SourceRecord;
use crate::target::sqlite::Access;

/// Lists the Sources that the target knows, removed ones too.
pub(crate) fn list(global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let session = Session::open(global, &Fetching::default(), Access::Read, env, output)?;
    let reader = session.target().reader()?;
    let mut records = reader.sources()?;
    records.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    let counts =
        records.iter().map(|r| Ok(reader.inventory(&r.id)?.rows.len())).collect::<Result<Vec<usize>, Stop>>()?;
    let is_configured = |record: &SourceRecord| record.removed_at.is_none() && session.has_source(&record.name);
    if format == Format::Json {
        let sources: Vec<Value> =
            records.iter().zip(&counts).map(|(record, n)| described(record, *n, is_configured(record))).collect();
        output.json(&json!({"formatVersion": 1, "sources": sources}))?;
        return Ok(Exit::Done);
    }
    let mut columns = Columns::new(["NAME", "COMMIT", "OBJECTS", "APPLIED", "REPOSITORY", "PATH", "NOTE", "ID"]);
    for (record, n) in records.iter().zip(&counts) {
        columns.push([
            record.name.to_string(),
            record.commit.short().to_owned(),
            n.to_string(),
            record.applied_at.rfc3339(),
            escape(&record.binding.repository).into_owned(),
            escape(&record.binding.path).into_owned(),
            match record.removed_at {
                Some(at) => format!("removed {}", at.rfc3339()),
                None if is_configured(record) => String::new(),
                None => "without configuration".to_owned(),
            },
            record.id.to_string(),
        ]);
    }
    output.data(&(columns.lines().join("\n") + "\n"))?;
    Ok(Exit::Done)
}

fn described(record: &SourceRecord, objects: usize, configured: bool) -> Value {
    json!({
        "name": record.name,
        "id": record.id,
        "commit": record.commit,
        "plan": record.plan,
        "apply": record.apply,
        "appliedAt": record.applied_at.rfc3339(),
        "serial": record.serial,
        "objects": objects,
        "repository": record.binding.repository,
        "path": record.binding.path,
        "configured": configured,
        "formerNames": record.former_names.iter().map(|former| &former.name).collect::<Vec<_>>(),
        "removedAt": record.removed_at.map(|at| at.rfc3339()),
    })
}
