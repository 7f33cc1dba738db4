//! Fields that are declared but left alone.

use std::borrow::Cow;

use serde_json::Value;

use super::fieldset::FieldSet;
use super::shape::{self, Shape};
use super::unions::take_out;
use crate::base::pointer::Pointer;
use crate::schema::{KindSchema, Node};

/// The declared object with what is left alone as it is live if we hold it, and else without it.
///
/// Simply leaving it out would take away a field that is ours: it would then be declared before and no longer.
pub(super) fn effective<'a>(
    node: &Node,
    live: Option<&Value>,
    declared: &'a Value,
    last: Option<&FieldSet>,
    left_alone: &[Pointer],
) -> Cow<'a, Value> {
    let mut out = Cow::Borrowed(declared);
    // From the back, so that an entry taken out of a list moves no other that is named.
    let mut pointers: Vec<&Pointer> = left_alone.iter().filter(|p| !p.is_root()).collect();
    pointers.sort_by_key(|p| std::cmp::Reverse(p.segments().map(by_number).collect::<Vec<_>>()));
    for pointer in pointers {
        if declared.pointer(pointer.as_str()).is_none() {
            continue;
        }
        let ours = live.and_then(|live| ours(node, live, declared, last, pointer));
        match ours {
            Some(value) => {
                if let Some(slot) = out.to_mut().pointer_mut(pointer.as_str()) {
                    *slot = value.clone();
                }
            }
            None => take_out_whole(out.to_mut(), pointer),
        }
    }
    out
}

/// Takes a field out, and with it every map and list around it of which nothing else is declared: an empty one would
/// be declared in its place, and become ours.
fn take_out_whole(declared: &mut Value, pointer: &Pointer) {
    take_out(declared, pointer);
    let mut around = pointer.parent();
    while let Some(at) = around.filter(|at| !at.is_root()) {
        let is_field = at.parent().and_then(|p| declared.pointer(p.as_str())).is_some_and(Value::is_object);
        if !is_field || !declared.pointer(at.as_str()).is_some_and(shape::is_empty) {
            return;
        }
        take_out(declared, &at);
        around = at.parent();
    }
}

/// The fields that a value declares and that are not left alone.
pub fn counted(schema: &KindSchema, declared: &Value, left_alone: &[Pointer]) -> FieldSet {
    let node = schema.root();
    let all = FieldSet::of_object(node, declared);
    let rest = effective(node, None, declared, None, left_alone);
    // What became empty by taking out is no field of its own.
    all.intersection(&FieldSet::of_object(node, &rest))
}

/// Sorts indexes as numbers.
fn by_number(segment: String) -> (usize, String) {
    (segment.parse().map_or(0, |n: usize| n + 1), segment)
}

/// The live value of a declared field, if our last apply declared it or something in it.
fn ours<'v>(
    node: &Node,
    live: &'v Value,
    declared: &Value,
    last: Option<&FieldSet>,
    pointer: &Pointer,
) -> Option<&'v Value> {
    let (mut node, mut live, mut declared, mut set) = (node, live, declared, last?);
    for segment in pointer.segments() {
        match (shape::of(node, declared), declared) {
            (Shape::Map, Value::Object(map)) => {
                set = set.field(&segment)?;
                node = shape::below(node, &segment);
                declared = map.get(&segment)?;
                live = live.get(&segment)?;
            }
            (shape @ (Shape::Keyed(_) | Shape::Set), Value::Array(list)) => {
                let entry = list.get(segment.parse::<usize>().ok()?)?;
                let items = shape::items(node);
                let element = shape::elements(shape, items, std::slice::from_ref(entry))?.pop()?;
                set = set.get(&element)?;
                live = live.as_array()?.iter().find(|other| shape::same_entry(shape, items, other, entry))?;
                (node, declared) = (items, entry);
            }
            // In something that is one value: no part of it can be left alone by itself but its live value.
            (_, Value::Object(map)) => {
                live = live.get(&segment)?;
                declared = map.get(&segment)?;
                node = shape::below(node, &segment);
            }
            (_, Value::Array(list)) => {
                let at = segment.parse::<usize>().ok()?;
                live = live.get(at)?;
                declared = list.get(at)?;
                node = shape::items(node);
            }
            _ => return None,
        }
    }
    Some(live)
}
