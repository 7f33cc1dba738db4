//! Lists whose entries have keys, and sets.

use std::borrow::Cow;

use serde_json::Value;

use crate::base::text::{escape, shorten};
use crate::schema::fault::rule;
use crate::schema::node::{ListType, Node};
use crate::schema::path::{Out, Path};

/// From how many entries on keys are sorted rather than compared with each other.
const FEW: usize = 12;

/// The value of a key in an entry, or the default that it has without.
fn key_of<'v>(node: &'v Node, key: &str, entry: &'v Value) -> Option<&'v Value> {
    let given = entry.get(key).filter(|v| !v.is_null());
    given.or_else(|| node.items.as_ref()?.properties.get(key)?.default.as_ref())
}

fn same_keys(node: &Node, keys: &[Box<str>], a: &Value, b: &Value) -> bool {
    keys.iter().all(|key| key_of(node, key, a) == key_of(node, key, b))
}

/// Whether an entry has a key of its own at all; entries without are missing fields, not duplicates.
fn has_key(keys: &[Box<str>], entry: &Value) -> bool {
    keys.iter().any(|key| entry.get(&**key).is_some_and(|v| !v.is_null()))
}

pub(super) fn map(node: &Node, keys: &[Box<str>], list: &[Value], path: &Path<'_>, out: &mut Out) {
    for_repeats(
        list,
        |a, b| same_keys(node, keys, a, b),
        |entry| {
            let parts: Vec<String> =
                keys.iter().map(|k| key_of(node, k, entry).map_or_else(String::new, Value::to_string)).collect();
            parts.join("\u{0}")
        },
        |first, second| {
            if !has_key(keys, &list[second]) {
                return;
            }
            let said: Vec<String> =
                keys.iter().filter_map(|k| Some(format!("{k} {}", shown(key_of(node, k, &list[second])?)))).collect();
            let text = format!("entry {second} has the same key as entry {first}: {}", said.join(", "));
            out.add(rule::DUPLICATE_LIST_KEY, &path.index(second), text);
        },
    );
}

pub(super) fn set(list: &[Value], path: &Path<'_>, out: &mut Out) {
    for_repeats(
        list,
        |a, b| a == b,
        Value::to_string,
        |first, second| {
            let text = format!("entry {second} repeats entry {first}, and this list is a set");
            out.add(rule::DUPLICATE_LIST_KEY, &path.index(second), text);
        },
    );
}

/// Calls back for each entry that equals an earlier one.
fn for_repeats(
    list: &[Value],
    same: impl Fn(&Value, &Value) -> bool,
    text: impl Fn(&Value) -> String,
    mut found: impl FnMut(usize, usize),
) {
    if list.len() <= FEW {
        for second in 1..list.len() {
            if let Some(first) = (0..second).find(|&first| same(&list[first], &list[second])) {
                found(first, second);
            }
        }
        return;
    }
    let mut sorted: Vec<(String, usize)> = list.iter().enumerate().map(|(i, entry)| (text(entry), i)).collect();
    sorted.sort();
    let mut repeats: Vec<(usize, usize)> =
        sorted.chunk_by(|a, b| a.0 == b.0).flat_map(|same| same[1..].iter().map(|s| (s.1, same[0].1))).collect();
    repeats.sort_unstable();
    repeats.into_iter().for_each(|(second, first)| found(first, second));
}

fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Owned(shorten(&escape(text), 80).into_owned()),
        other => Cow::Owned(other.to_string()),
    }
}

/// The entry of an old list that a new one stands for: by key, else none.
pub(super) fn old_entry<'v>(node: &Node, old: &'v Value, entry: &Value) -> Option<&'v Value> {
    let ListType::Map(keys) = &node.list else { return None };
    old.as_array()?.iter().find(|was| same_keys(node, keys, was, entry))
}
