//! Where a field of one object stands in another of the same kind.

use serde_json::Value;

use super::shape::{self, Shape};
use crate::base::pointer::Pointer;
use crate::schema::KindSchema;

/// The place in `other` of what stands at `path` in `object`: entries of keyed lists and sets are found by what they are,
/// not by their index. `None` if `other` has no such field.
pub fn same_place(schema: &KindSchema, object: &Value, path: &Pointer, other: &Value) -> Option<Pointer> {
    let (mut node, mut object, mut other) = (schema.root(), object, other);
    let mut place = Pointer::root();
    for segment in path.segments() {
        match (shape::of(node, object), object) {
            (shape @ (Shape::Keyed(_) | Shape::Set), Value::Array(list)) => {
                let entry = list.get(segment.parse::<usize>().ok()?)?;
                let items = shape::items(node);
                let others = other.as_array()?;
                let at = others.iter().position(|candidate| shape::same_entry(shape, items, candidate, entry))?;
                place.push_index(at);
                (node, object, other) = (items, entry, others.get(at)?);
            }
            (_, Value::Array(list)) => {
                let at = segment.parse::<usize>().ok()?;
                place.push_index(at);
                (node, object, other) = (shape::items(node), list.get(at)?, other.as_array()?.get(at)?);
            }
            (_, Value::Object(map)) => {
                place.push_key(&segment);
                node = shape::below(node, &segment);
                other = other.get(&segment)?;
                object = map.get(&segment)?;
            }
            _ => return None,
        }
    }
    Some(place)
}
