//! What somebody probably meant by a field that the schema doesn't have.

use serde_json::{Map, Value};

use crate::base::pointer::Pointer;
use crate::schema::fault::{SchemaFault, rule};
use crate::schema::nearest;
use crate::schema::node::{Field, Kind, Node};
use crate::schema::path::Path;

/// Levels below in which the field is looked for.
const LEVELS: usize = 3;

pub(super) fn unknown_field(
    root: &Node,
    node: &Node,
    map: &Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> SchemaFault {
    let at = path.pointer();
    let text = match path.last_key() {
        "" if at.is_root() => format!("there is no field {key}"),
        "" => format!("there is no field {key} in {at}"),
        parent => format!("there is no field {key} in {parent}"),
    };
    let fault = SchemaFault::new(rule::UNKNOWN_FIELD, at.key(key), text);
    let hint = below(node, map, key)
        .or_else(|| above(root, &at, key))
        .or_else(|| nearest::of(key, node.properties.keys().map(|k| &**k)).map(|name| format!("did you mean {name}?")));
    match hint {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

/// The field belongs into a field of this struct. Fields that the manifest has come first.
fn below(node: &Node, map: &Map<String, Value>, key: &str) -> Option<String> {
    let mut level: Vec<(String, &Node)> = Vec::new();
    let fields = |node: &'_ Node| node.properties.len();
    let present = node.properties.iter().filter(|(name, _)| map.contains_key(&***name));
    let absent = node.properties.iter().filter(|(name, _)| !map.contains_key(&***name));
    for (name, field) in present.chain(absent) {
        level.extend(step("", name, field));
    }
    for _ in 0..LEVELS {
        if let Some((place, _)) = level.iter().find(|(_, n)| n.properties.contains_key(key)) {
            return Some(format!("{key} belongs in {place}"));
        }
        let next: Vec<_> = level
            .iter()
            .filter(|(_, n)| fields(n) > 0)
            .flat_map(|(place, n)| n.properties.iter().filter_map(move |(name, field)| step(place, name, field)))
            .collect();
        level = next;
    }
    None
}

fn step<'n>(place: &str, name: &str, field: &'n Field) -> Option<(String, &'n Node)> {
    let dot = if place.is_empty() { "" } else { "." };
    match field.kind {
        // The status is the server's: nothing belongs there.
        Kind::Object if name != "status" => Some((format!("{place}{dot}{name}"), &field.node)),
        Kind::List => field.items.as_ref().map(|items| (format!("{place}{dot}{name}[]"), &**items)),
        _ => None,
    }
}

/// The field belongs into a struct that this one lies in: the indentation is too deep.
fn above(root: &Node, at: &Pointer, key: &str) -> Option<String> {
    let mut node = root;
    let mut place = Pointer::root();
    let mut found = None;
    for segment in at.segments() {
        if node.properties.contains_key(key) {
            found = Some(place.clone());
        }
        place.push_key(&segment);
        node = match &node.items {
            Some(items) => items,
            None => node.below(&segment)?,
        };
    }
    found.map(|place| match place.is_root() {
        true => format!("{key} belongs at the top, beside spec and metadata"),
        false => format!("{key} belongs in {place}"),
    })
}
