//! Drift as people and machines read it.

use serde_json::{Map, Value, json};

use crate::base::clock::Moment;
use crate::base::columns::Columns;
use crate::base::resource::ResourceId;
use crate::base::text::{escape, shorten};
use crate::cli::look::{Look, Seen};
use crate::drift::{Blame, Contest, Drifted, DriftedField, Inspection, Who};

/// Which resources are shown.
type Shown<'a> = &'a dyn Fn(&ResourceId) -> bool;

/// A value in a cell is cut at so many characters.
const CELL: usize = 40;

/// Whether anything that is shown drifted, or can't be told to be as it was applied.
pub(crate) fn is_drifted(look: &Look<'_>, shown: Shown<'_>) -> bool {
    let mut found = look.sources.iter().filter_map(|source| source.found.as_ref());
    found.any(|found| {
        found.declared.is_err()
            || found.drifted.iter().any(|drifted| shown(&drifted.id))
            || found.unknown.iter().any(|(id, _)| shown(id))
    })
}

/// The document of `-o json`.
pub(crate) fn json(look: &Look<'_>, shown: Shown<'_>) -> Value {
    let sources: Vec<Value> = look.sources.iter().map(|source| source_json(source, shown)).collect();
    json!({ "formatVersion": 1, "target": target(look), "sources": sources })
}

/// The target of a look.
pub(crate) fn target(look: &Look<'_>) -> Value {
    json!({ "kind": look.kind, "identity": look.identity, "version": look.version })
}

fn source_json(source: &Seen<'_>, shown: Shown<'_>) -> Value {
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(source.spec.name));
    map.insert("drifted".to_owned(), json!([]));
    let Some(found) = &source.found else { return Value::Object(map) };
    let record = &found.record;
    let unknown = found.unknown.iter().filter(|(id, _)| shown(id));
    let unknown: Vec<Value> = unknown.map(|(id, why)| json!({"id": id, "rule": why.rule, "text": why.text})).collect();
    let added = found.added.iter().filter(|(id, _)| shown(id)).map(|(id, added)| {
        json!({"id": id, "path": added.path, "who": who(&added.who), "at": added.at.map(Moment::rfc3339)})
    });
    let all = [
        ("id", json!(record.id)),
        ("appliedCommit", json!(record.commit)),
        ("appliedAt", json!(record.applied_at.rfc3339())),
        ("drifted", found.drifted.iter().filter(|d| shown(&d.id)).map(object_json).collect()),
        ("added", added.collect()),
        ("unknown", json!(unknown)),
    ];
    map.extend(all.into_iter().map(|(key, value)| (key.to_owned(), value)));
    if let Err(why) = &found.declared {
        map.insert("error".to_owned(), json!({"rule": why.rule, "text": why.text}));
    }
    Value::Object(map)
}

/// Puts a value in; one that isn't known is left out.
pub(super) fn put(map: &mut Map<String, Value>, key: &str, value: Value) {
    if !value.is_null() {
        map.insert(key.to_owned(), value);
    }
}

fn object_json(drifted: &Drifted) -> Value {
    let mut map = Map::new();
    put(&mut map, "id", json!(drifted.id));
    put(&mut map, "uid", json!(drifted.uid));
    put(&mut map, "file", json!(drifted.file));
    put(&mut map, "line", json!(drifted.line));
    put(&mut map, "state", json!(drifted.standing.as_str()));
    put(&mut map, "reason", json!(drifted.standing.text()));
    put(&mut map, "origin", json!(drifted.origin.as_str()));
    put(&mut map, "contested", contest_json(drifted.contest.as_ref()));
    put(&mut map, "fields", drifted.fields.iter().map(field_json).collect());
    blame_json(&drifted.blame, &mut map);
    put(&mut map, "since", json!(drifted.since().map(Moment::rfc3339)));
    Value::Object(map)
}

fn field_json(field: &DriftedField) -> Value {
    let mut map = Map::new();
    put(&mut map, "path", json!(field.path));
    put(&mut map, "declared", json!(field.declared));
    put(&mut map, "live", json!(field.live));
    put(&mut map, "origin", json!(field.origin.as_str()));
    put(&mut map, "contested", contest_json(field.contest.as_ref()));
    blame_json(&field.blame, &mut map);
    if field.is_recurring() {
        put(&mut map, "recurring", json!(true));
    }
    Value::Object(map)
}

fn blame_json(blame: &Blame, map: &mut Map<String, Value>) {
    put(map, "who", blame.who.as_ref().map(who).unwrap_or_default());
    put(map, "at", json!(blame.at.map(Moment::rfc3339)));
    put(map, "since", json!(blame.since.map(Moment::rfc3339)));
    put(map, "times", json!(blame.times));
}

fn contest_json(contest: Option<&Contest>) -> Value {
    contest.map_or(Value::Null, |c| json!({"by": c.by, "since": c.since.rfc3339(), "repairs": c.repairs}))
}

fn who(who: &Who) -> Value {
    json!({"name": who.name, "proven": who.proven})
}

/// For people.
pub(crate) fn text(look: &Look<'_>, shown: Shown<'_>) -> String {
    let mut columns = Columns::new(["SOURCE", "OBJECT", "FIELD", "DECLARED", "LIVE", "ORIGIN", "WHO", "SINCE", "NOTE"]);
    let mut added = Columns::new(["SOURCE", "OBJECT", "ADDED", "WHO", "AT"]);
    let (mut rows, mut additions) = (0, 0);
    for (name, found) in look.sources.iter().filter_map(|s| Some((s.spec.name.to_string(), s.found.as_ref()?))) {
        for drifted in found.drifted.iter().filter(|drifted| shown(&drifted.id)) {
            for row in object_rows(drifted) {
                let [field, declared, live, origin, who, since, note] = row;
                columns.push([name.clone(), id(&drifted.id), field, declared, live, origin, who, since, note]);
                rows += 1;
            }
        }
        for (of, one) in found.added.iter().filter(|(id, _)| shown(id)) {
            let (path, who) = (escape(one.path.as_str()).into_owned(), escape(&one.who.text()).into_owned());
            added.push([name.clone(), id(of), path, who, moment(one.at)]);
            additions += 1;
        }
    }
    let mut lines = if rows > 0 { columns.lines() } else { Vec::new() };
    let part = |lines: &mut Vec<String>, more: Vec<String>| {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(more);
    };
    if additions > 0 {
        part(&mut lines, vec!["Added by others to what is declared (no drift, not reverted):".to_owned()]);
        lines.extend(added.lines());
    }
    part(&mut lines, look.sources.iter().flat_map(|source| summary(source, shown)).collect());
    lines.join("\n") + "\n"
}

fn object_rows(drifted: &Drifted) -> Vec<[String; 7]> {
    let about = |blame: &Blame| {
        let who = blame.who.as_ref().map(Who::text).unwrap_or_default();
        (escape(&who).into_owned(), moment(blame.since))
    };
    if let Some(text) = drifted.standing.text() {
        let (who, since) = about(&drifted.blame);
        let note = notes(Some(text), drifted.contest.as_ref(), None);
        let origin = drifted.origin.as_str().to_owned();
        return vec![[String::new(), String::new(), String::new(), origin, who, since, note]];
    }
    let row = |field: &DriftedField| {
        let (who, since) = about(&field.blame);
        let note = notes(None, field.contest.as_ref(), field.is_recurring().then_some(field.blame.times));
        let origin = field.origin.as_str().to_owned();
        let path = escape(field.path.as_str()).into_owned();
        [path, value(field.declared.as_ref()), value(field.live.as_ref()), origin, who, since, note]
    };
    drifted.fields.iter().map(row).collect()
}

fn notes(text: Option<String>, contest: Option<&Contest>, times: Option<usize>) -> String {
    let contested = contest.map(|c| format!("Contested by {}: left alone", c.by.join(", ")));
    let recurring = times.map(|n| format!("drifted {n} times: git may be wrong"));
    let all: Vec<String> = [text, contested, recurring].into_iter().flatten().collect();
    escape(&all.join("; ")).into_owned()
}

fn value(value: Option<&Value>) -> String {
    let Some(value) = value else { return "(none)".to_owned() };
    let text = match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        other => other.to_string(),
    };
    escape(&shorten(&text, CELL)).into_owned()
}

/// A resource, escaped.
pub(crate) fn id(id: &ResourceId) -> String {
    escape(&id.to_string()).into_owned()
}

/// A moment, or nothing.
pub(crate) fn moment(moment: Option<Moment>) -> String {
    moment.map(Moment::rfc3339).unwrap_or_default()
}

fn summary(source: &Seen<'_>, shown: Shown<'_>) -> Vec<String> {
    let name = &source.spec.name;
    let Some(found) = &source.found else { return vec![format!("Source {name} was never applied here.")] };
    let applied =
        |found: &Inspection| format!("commit {}, applied {}", found.record.commit.short(), found.record.applied_at);
    if let Err(why) = &found.declared {
        let text = format!("whether Source {name} drifted can't be told: {}: {}", applied(found), why.text);
        return vec![escape(&text).into_owned()];
    }
    let mut lines = Vec::new();
    for (id, why) in found.unknown.iter().filter(|(id, _)| shown(id)) {
        lines.push(escape(&format!("whether {id} drifted can't be told: {}", why.text)).into_owned());
    }
    match found.drifted.iter().filter(|drifted| shown(&drifted.id)).count() {
        0 => lines.push(format!("Source {name}: no drift from {}.", applied(found))),
        n => {
            let objects = if n == 1 { "1 object differs".to_owned() } else { format!("{n} objects differ") };
            lines.push(format!("Source {name}: {objects} from {}.", applied(found)));
            lines.push(format!("Back to it: holdfast repair {name}   Into git: holdfast export-drift {name}"));
        }
    }
    lines
}
