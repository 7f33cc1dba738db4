//! `holdfast object`: the embedded control plane by hand, as somebody outside would.

use std::fs;
use std::io::Read;

use serde_json::{Value, json};

use crate::base::columns::Columns;
use crate::base::fault::Fault;
use crate::base::path::RepoPath;
use crate::base::resource::ResourceId;
use crate::base::sensitive;
use crate::base::text::escape;
use crate::cli::args::{Fetching, Format, Global, ObjectCommand};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::manifest::{Limits, read_objects};
use crate::target::Live;
use crate::target::sqlite::{Access, Ask, PutResult};

/// Lists, prints, writes or deletes objects.
pub(crate) fn run(command: &ObjectCommand, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let session = Session::open(global, &Fetching::default(), Access::Create, env, output)?;
    match command {
        ObjectCommand::List { system } => list(*system, &session, output),
        ObjectCommand::Get { id } => get(&resource(id)?, &session, output),
        ObjectCommand::Put { files, actor } => put(files, actor.as_deref().unwrap_or(&env.user), &session, output),
        ObjectCommand::Delete { ids, actor } => delete(ids, actor.as_deref().unwrap_or(&env.user), &session, output),
    }
}

fn resource(text: &str) -> Result<ResourceId, Failure> {
    ResourceId::parse(text).map_err(|error| Failure::usage(error.to_string()))
}

/// An object as it is shown.
fn shown(live: &Live, secrets: bool) -> Value {
    if secrets { live.object.clone() } else { sensitive::mask(&live.object, &[]) }
}

fn list(system: bool, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json, Format::Yaml])?;
    let secrets = output.secrets()?;
    let found = session.target().hand("").list(&Ask { system, ..Ask::default() })?;
    if format != Format::Table {
        let items: Vec<Value> = found.iter().map(|live| shown(live, secrets)).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        if format == Format::Json {
            output.json(&list)?
        } else {
            output.yaml(&list)?
        }
        return Ok(Exit::Done);
    }
    let mut columns = Columns::new(["KIND", "NAME", "OWNER", "UID", "VERSION"]);
    for live in &found {
        let (head, id) = (&live.head, &live.head.id);
        let name = id.namespace.as_ref().map_or_else(|| id.name.clone(), |ns| format!("{ns}/{}", id.name));
        let owner = match &head.mark {
            Ok(Some(mark)) => mark.source.to_string(),
            Ok(None) => String::new(),
            Err(_) => "(a mark that can't be read)".to_owned(),
        };
        columns.push([
            escape(&id.group_kind().to_string()).into_owned(),
            escape(&name).into_owned(),
            owner,
            escape(head.uid.as_str()).into_owned(),
            escape(&head.version).into_owned(),
        ]);
    }
    output.data(&(columns.lines().join("\n") + "\n"))?;
    Ok(Exit::Done)
}

fn get(id: &ResourceId, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Yaml, Format::Json])?;
    let secrets = output.secrets()?;
    let found = session.target().hand("").get(id)?;
    let live = found.ok_or_else(|| Failure::refused(format!("{id} isn't there")))?;
    let object = shown(&live, secrets);
    if format == Format::Json {
        output.json(&object)?
    } else {
        output.yaml(&object)?
    }
    Ok(Exit::Done)
}

fn put(files: &[String], actor: &str, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let mut faults: Vec<Fault> = Vec::new();
    let mut objects = Vec::new();
    for file in files {
        let reading = read_objects(&RepoPath::from(file.as_str()), bytes(file)?, &Limits::default());
        faults.extend(reading.faults);
        objects.extend(reading.documents.into_iter().map(|document| document.value));
    }
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let done = session.target().hand(actor).put(&objects, session.now())?;
    let word = |result| match result {
        PutResult::Created => "created",
        PutResult::Configured => "configured",
        PutResult::Unchanged => "unchanged",
    };
    if format == Format::Json {
        let objects: Vec<Value> = done
            .iter()
            .map(|put| json!({"id": put.id, "result": word(put.result), "uid": put.uid, "version": put.version}))
            .collect();
        output.json(&json!({"formatVersion": 1, "objects": objects}))?;
    } else {
        let lines: Vec<String> =
            done.iter().map(|put| format!("{} {}\n", escape(&put.id.to_string()), word(put.result))).collect();
        output.data(&lines.concat())?;
    }
    Ok(Exit::Done)
}

/// A file's bytes, or those of standard input; no more than a manifest may have.
fn bytes(file: &str) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| Failure::refused(format!("{file} can't be read: {e}")).hint("nothing was written");
    let limit = Limits::default().file_bytes as u64 + 1;
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        fs::File::open(file).map_err(failed)?.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    }
    Ok(bytes)
}

fn delete(ids: &[String], actor: &str, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let ids = ids.iter().map(|id| resource(id)).collect::<Result<Vec<ResourceId>, _>>()?;
    let gone = session.target().hand(actor).delete(&ids, session.now())?;
    if format == Format::Json {
        output.json(&json!({"formatVersion": 1, "deleted": gone}))?;
    } else {
        let lines: Vec<String> = gone.iter().map(|id| format!("{} deleted\n", escape(&id.to_string()))).collect();
        output.data(&lines.concat())?;
    }
    Ok(Exit::Done)
}
