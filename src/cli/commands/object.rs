//! `holdfast object`: the embedded control plane by hand, as somebody outside would.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use serde_json::{Value, json};

use crate::base::columns::Columns;
use crate::base::fault::Fault;
use crate::base::ids::SourceId;
use crate::base::map::HashMap;
use crate::base::path::RepoPath;
use crate::base::pointer::Pointer;
use crate::base::resource::{GroupKind, GroupVersionKind, ResourceId};
use crate::base::sensitive;
use crate::base::text::escape;
use crate::cli::args::{Fetching, Format, Global, ObjectCommand};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::manifest::{Limits, read_objects};
use crate::target::sqlite::{Access, Ask, Hand, PutResult};
use crate::target::{Live, TargetError};

/// Lists, prints, writes or deletes objects.
pub(crate) fn run(command: &ObjectCommand, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let session = Session::open(global, &Fetching::default(), Access::Create, env, output)?;
    match command {
        ObjectCommand::List { system } => list(*system, &session, output),
        ObjectCommand::Get { id } => get(&resource(id)?, &session, output),
        ObjectCommand::Put { files, actor } => put(files, actor.as_deref(), env, &session, output),
        ObjectCommand::Delete { ids, actor } => delete(ids, actor.as_deref(), env, &session, output),
    }
}

fn resource(text: &str) -> Result<ResourceId, Failure> {
    ResourceId::parse(text).map_err(|error| Failure::usage(error.to_string()))
}

/// An object as it is shown.
fn shown(live: &Live, secrets: bool, hidden: &Hidden<'_>) -> Value {
    if secrets { live.object.clone() } else { sensitive::mask(&live.object, &hidden.of(&live.head.id)) }
}

/// What Sources call sensitive: those of the configuration now, and at its last apply that of each object's owner.
struct Hidden<'s> {
    session: &'s Session,
    rows: HashMap<ResourceId, Vec<Pointer>>,
}

impl<'s> Hidden<'s> {
    fn new<'l>(session: &'s Session, shown: impl IntoIterator<Item = &'l Live>) -> Result<Self, TargetError> {
        let marks = shown.into_iter().filter_map(|live| live.head.mark.as_ref().ok()?.as_ref());
        let owners: BTreeSet<&SourceId> = marks.map(|mark| &mark.source).collect();
        let mut rows = HashMap::default();
        if !owners.is_empty() {
            let reader = session.target().reader()?;
            for owner in owners {
                let inventory = reader.inventory(owner)?;
                let named = inventory.rows.values().filter(|row| !row.sensitive.is_empty());
                rows.extend(named.map(|row| (row.id.clone(), row.sensitive.clone())));
            }
        }
        Ok(Self { session, rows })
    }

    fn of(&self, id: &ResourceId) -> Vec<Pointer> {
        let mut all = self.session.sensitive(&id.group_kind());
        all.extend(self.rows.get(id).into_iter().flatten().cloned());
        all
    }
}

fn list(system: bool, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json, Format::Yaml])?;
    let secrets = output.secrets()?;
    let found = session.embedded()?.hand("").list(&Ask { system, ..Ask::default() })?;
    if format != Format::Table {
        let hidden = Hidden::new(session, &found)?;
        let items: Vec<Value> = found.iter().map(|live| shown(live, secrets, &hidden)).collect();
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
    let found = session.embedded()?.hand("").get(id)?;
    let live = found.ok_or_else(|| Failure::refused(format!("{id} isn't there")))?;
    if format == Format::Json {
        // The object itself, for programs: what a get gave, a put takes back.
        output.json(&live.object)?
    } else {
        output.yaml(&shown(&live, secrets, &Hidden::new(session, [&live])?))?
    }
    Ok(Exit::Done)
}

/// The hand of whoever runs this, or of whom they name.
fn hand<'s>(session: &'s Session, named: Option<&str>, env: &Env) -> Result<Hand<'s>, Failure> {
    Ok(session.embedded()?.hand(named.unwrap_or(&env.user)).claimed(named.is_some()))
}

fn put(files: &[String], actor: Option<&str>, env: &Env, session: &Session, output: &Output) -> Result<Exit, Stop> {
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
    for object in &mut objects {
        unmask(object, session)?;
    }
    let done = hand(session, actor, env)?.put(&objects, session.now())?;
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

/// Puts live values back where the object bears what `get` shows instead of them, so that get, change, put keeps them.
fn unmask(object: &mut Value, session: &Session) -> Result<(), Stop> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let (Some(version), Some(kind), Some(name)) = (text("/apiVersion"), text("/kind"), text("/metadata/name")) else {
        return Ok(());
    };
    if !bears_placeholder(object) {
        return Ok(());
    }
    let GroupKind { group, kind } = GroupVersionKind::new(&version, &kind).group_kind();
    let id = ResourceId { group, kind, namespace: text("/metadata/namespace"), name };
    let Some(live) = session.embedded()?.hand("").get(&id)? else { return Ok(()) };
    let masked: Vec<Pointer> = sensitive::pointers(object, &Hidden::new(session, [&live])?.of(&id))
        .into_iter()
        .filter(|at| text(at.as_str()).is_some_and(|value| value.starts_with(PLACEHOLDER)))
        .collect();
    for at in masked {
        let value = live.object.pointer(at.as_str());
        if let (Some(value), Some(slot)) = (value, object.pointer_mut(at.as_str()))
            && *slot == Value::String(sensitive::placeholder(value))
        {
            *slot = value.clone();
        }
    }
    Ok(())
}

/// How what is shown instead of a value begins.
const PLACEHOLDER: &str = "(sensitive, ";

fn bears_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with(PLACEHOLDER),
        Value::Array(list) => list.iter().any(bears_placeholder),
        Value::Object(map) => map.values().any(bears_placeholder),
        _ => false,
    }
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

fn delete(ids: &[String], actor: Option<&str>, env: &Env, session: &Session, output: &Output) -> Result<Exit, Stop> {
    let format = output.format(&[Format::Table, Format::Json])?;
    let ids = ids.iter().map(|id| resource(id)).collect::<Result<Vec<ResourceId>, _>>()?;
    let gone = hand(session, actor, env)?.delete(&ids, session.now())?;
    if format == Format::Json {
        output.json(&json!({"formatVersion": 1, "deleted": gone}))?;
    } else {
        let lines: Vec<String> = gone.iter().map(|id| format!("{} deleted\n", escape(&id.to_string()))).collect();
        output.data(&lines.concat())?;
    }
    Ok(Exit::Done)
}
