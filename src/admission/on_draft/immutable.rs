//! Fields that the API server lets nobody change: what would have to be made anew.

mod table;

use serde_json::Value;

use super::{Considered, RULE_IMMUTABLE, declared_place};
use crate::base::fault::Fault;
use crate::base::pointer::Pointer;
use crate::base::resource::GroupKind;
use crate::plan::document::Action;
use crate::schema::quantity::Quantity;
use crate::schema::{KindSchema, Node, meaning};

use table::{Absent, Compare, Field, Rest, Row};

/// A field that would change and can't.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The field, as a whole.
    pub path: Pointer,
    /// Where the API server decides it.
    pub source: &'static str,
    /// One sentence.
    pub text: String,
}

/// The kinds that have immutable fields, with where the API server decides it; for the documentation.
pub fn kinds() -> impl Iterator<Item = (GroupKind, &'static str)> {
    table::TABLE.iter().map(|row| (GroupKind::new(row.group, row.kind), row.source))
}

/// Every immutable field that differs between the live object and the object as it would be, in the table's order.
pub fn changes(schema: &KindSchema, live: &Value, after: &Value) -> Vec<Change> {
    let gvk = &schema.gvk;
    let Some(row) = table::TABLE.iter().find(|row| row.group == gvk.group && row.kind == gvk.kind) else {
        return Vec::new();
    };
    let mut found: Vec<Change> = row
        .fields
        .iter()
        .filter(|field| field.when.is_none_or(|when| when(live, after)))
        .filter_map(|field| judge_field(schema, row, field, live, after))
        .collect();
    if let Some(rest) = &row.rest {
        judge_rest(schema, row, rest, live, after, &mut found);
    }
    if row.kind == "CustomResourceDefinition" {
        stored_versions(row, live, after, &mut found);
    }
    found
}

/// Judges what is written over a live object.
pub fn judge(considered: &Considered<'_>) -> Vec<Fault> {
    let writes = matches!(considered.action, Action::Update | Action::Own | Action::Adopt | Action::Transfer);
    let (Some(checked), Some(live), Some(after), true) =
        (considered.checked, considered.live, considered.after, writes)
    else {
        return Vec::new();
    };
    changes(checked.schema(), live, after)
        .into_iter()
        .map(|change| {
            let (path, at) = declared_place(checked, &change.path);
            Fault::new(RULE_IMMUTABLE, change.text).at(at).path(path).id(considered.id.clone()).hint(format!(
                "put the old value back, or let it be deleted and made anew: --allow {} or {}",
                considered.id, "the annotation holdfast.dev/replace where permitInGit lists it"
            ))
        })
        .collect()
}

fn text_of(path: &str, kind: &str) -> String {
    let field = path.trim_start_matches('/').replace('/', ".");
    format!("{field} of a {kind} can't change once it is made")
}

fn change(row: &Row, path: &str, text: String) -> Change {
    // The table's paths are pointers; a test reads each.
    Change { path: Pointer::parse(path).unwrap_or_default(), source: row.source, text }
}

fn judge_field(schema: &KindSchema, row: &Row, field: &Field, live: &Value, after: &Value) -> Option<Change> {
    let (was, will) = (filled(live.pointer(field.path), field), filled(after.pointer(field.path), field));
    let (mut was, mut will) = (was, will);
    if let Some(without) = field.without {
        without(&mut was);
        without(&mut will);
    }
    let node = node_at(schema, field.path);
    let same = match field.compare {
        Compare::Whole => equal(node, &was, &will),
        Compare::OnceSet => is_absent(&was) || is_absent(&will) || equal(node, &was, &will),
        Compare::Covered => is_covered(node, &will, &was),
        Compare::Grows => return shrinks(row, field, live, &was, &will),
    };
    (!same).then(|| change(row, field.path, text_of(field.path, row.kind)))
}

fn filled(value: Option<&Value>, field: &Field) -> Value {
    match (value, field.absent) {
        (Some(value), _) if !value.is_null() => value.clone(),
        (_, Absent::Nothing) => Value::Null,
        (_, Absent::Text(text)) => Value::from(text),
        (_, Absent::Number(number)) => Value::from(number),
        (_, Absent::True) => Value::Bool(true),
    }
}

fn is_absent(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn equal(node: Option<&Node>, a: &Value, b: &Value) -> bool {
    a == b || (is_nothing(a) && is_nothing(b)) || node.is_some_and(|node| meaning::equal(node, a, b))
}

/// Whether all that is in `part` is in `whole` as well.
fn is_covered(node: Option<&Node>, part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(key, value)| {
            is_covered(node.and_then(|n| n.below(key)), value, whole.get(key).unwrap_or(&Value::Null))
        }),
        (Value::Array(part), Value::Array(whole)) => {
            let items = node.and_then(|n| n.items.as_deref());
            part.len() == whole.len() && part.iter().zip(whole).all(|(a, b)| is_covered(items, a, b))
        }
        _ => equal(node, part, whole),
    }
}

fn shrinks(row: &Row, field: &Field, live: &Value, was: &Value, will: &Value) -> Option<Change> {
    // What the volume really has is the limit, where the target knows it.
    let was = live.pointer("/status/capacity/storage").unwrap_or(was);
    let (was, will) = (Quantity::of_value(was).ok()?, Quantity::of_value(will).ok()?);
    (will < was)
        .then(|| change(row, field.path, format!("a {} can grow, but not shrink from {was} to {will}", row.kind)))
}

fn judge_rest(schema: &KindSchema, row: &Row, rest: &Rest, live: &Value, after: &Value, found: &mut Vec<Change>) {
    let (was, will) = (live.pointer(rest.parent), after.pointer(rest.parent));
    let keys = |value: Option<&Value>| -> Vec<String> {
        value.and_then(Value::as_object).map(|map| map.keys().cloned().collect()).unwrap_or_default()
    };
    let mut all = keys(was);
    all.extend(keys(will));
    all.sort();
    all.dedup();
    for key in all {
        let path = format!("{}/{key}", rest.parent);
        if rest.but.contains(&key.as_str()) || row.fields.iter().any(|field| field.path == path) {
            continue;
        }
        let nothing = Value::Null;
        let was = was.and_then(|v| v.get(&key)).unwrap_or(&nothing);
        let will = will.and_then(|v| v.get(&key)).unwrap_or(&nothing);
        if !equal(node_at(schema, &path), was, will) {
            found.push(Change {
                path: Pointer::parse(rest.parent).unwrap_or_default().key(&key),
                source: row.source,
                text: text_of(&path, row.kind),
            });
        }
    }
}

/// A version that objects are stored in can't go while the definition says that some are.
fn stored_versions(row: &Row, live: &Value, after: &Value, found: &mut Vec<Change>) {
    let stored = live.pointer("/status/storedVersions").and_then(Value::as_array);
    let versions = after.pointer("/spec/versions").and_then(Value::as_array);
    let (Some(stored), Some(versions)) = (stored, versions) else { return };
    for version in stored.iter().filter_map(Value::as_str) {
        if !versions.iter().any(|v| v.get("name").and_then(Value::as_str) == Some(version)) {
            let text = format!("version {version} can't go: objects are stored in it (status.storedVersions)");
            found.push(change(row, "/spec/versions", text));
        }
    }
}

fn node_at<'s>(schema: &'s KindSchema, path: &str) -> Option<&'s Node> {
    path.split('/').skip(1).try_fold(schema.root(), |node, key| {
        if key.bytes().all(|b| b.is_ascii_digit()) { node.items.as_deref() } else { node.below(key) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Catalog;

    #[test]
    fn every_row_names_a_kind_and_fields_that_exist() {
        let catalog = Catalog::builtin();
        for row in table::TABLE {
            let kinds = catalog.by_group_kind(&GroupKind::new(row.group, row.kind));
            let schema = kinds.first().unwrap_or_else(|| panic!("{} is no kind", row.kind));
            for path in row.fields.iter().map(|f| f.path).chain(row.rest.map(|r| r.parent)) {
                Pointer::parse(path).unwrap();
                assert!(node_at(schema, path).is_some(), "{} has no {path}", row.kind);
            }
            for key in row.rest.into_iter().flat_map(|r| r.but) {
                let path = format!("{}/{key}", row.rest.unwrap().parent);
                assert!(node_at(schema, &path).is_some(), "{} has no {path}", row.kind);
            }
        }
    }
}
