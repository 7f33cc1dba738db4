//! What of a live object a plan has seen: a change of it makes the plan stale, a change of anything else doesn't.

use serde_json::{Map, Value};

use super::element::Element;
use super::fieldset::FieldSet;
use super::identity::Level;
use super::shape::{self, Shape};
use crate::base::pointer::Pointer;
use crate::schema::{KindSchema, Node, meaning};

/// The live values of these fields alone, in the one form of all that mean the same; places in `hidden` (sensitive ones,
/// as they stand in the live object) are left out.
///
/// Entries of keyed lists keep their order and have their keys; entries of others don't show.
pub fn seen(schema: Option<&KindSchema>, live: &Value, fields: &FieldSet, hidden: &[Pointer]) -> Value {
    let node = schema.map_or_else(|| shape::unknown(), KindSchema::root);
    let mut walk = Walk { at: Pointer::root(), hidden };
    walk.value(node, live, fields, Level::Root).unwrap_or_else(|| Value::Object(Map::new()))
}

struct Walk<'a> {
    at: Pointer,
    hidden: &'a [Pointer],
}

impl Walk<'_> {
    fn value(&mut self, node: &Node, live: &Value, fields: &FieldSet, level: Level) -> Option<Value> {
        if self.hidden.contains(&self.at) {
            return None;
        }
        match (shape::of(node, live), live) {
            (Shape::Map, Value::Object(map)) => Some(Value::Object(self.map(node, map, fields, level))),
            (shape @ (Shape::Keyed(_) | Shape::Set), Value::Array(list)) => {
                let items = shape::items(node);
                match shape::elements(shape, items, list) {
                    Some(elements) => Some(self.list(shape, items, list, &elements, fields)),
                    None => self.whole(node, live),
                }
            }
            _ => self.whole(node, live),
        }
    }

    /// One value; what is hidden in it is taken out of a copy.
    fn whole(&self, node: &Node, live: &Value) -> Option<Value> {
        let mut inside = self.hidden.iter().filter(|hidden| hidden.is_within(&self.at)).peekable();
        if inside.peek().is_none() {
            return Some(meaning::canonical(node, live));
        }
        let mut copy = live.clone();
        for hidden in inside {
            if let Some(slot) = copy.pointer_mut(&hidden.as_str()[self.at.as_str().len()..]) {
                *slot = Value::Null;
            }
        }
        Some(meaning::canonical(node, &copy))
    }

    fn map(&mut self, node: &Node, map: &Map<String, Value>, fields: &FieldSet, level: Level) -> Map<String, Value> {
        let mut out = Map::new();
        for (element, below) in &fields.children {
            let Element::Field(key) = element else { continue };
            let Some((key, value)) = map.get_key_value(&**key) else { continue };
            if level.is_nobodys(key) || shape::is_absent(node, key, value) {
                continue;
            }
            self.at.push_key(key);
            if let Some(value) = self.value(shape::below(node, key), value, below, level.below(key)) {
                // What is empty because all in it is others' counts as not there, unless it was declared as it is.
                let is_nothing =
                    if below.member { shape::is_absent(node, key, &value) } else { shape::is_empty(&value) };
                if !is_nothing {
                    out.insert(key.clone(), value);
                }
            }
            self.at.pop();
        }
        out
    }

    fn list(
        &mut self,
        shape: Shape<'_>,
        items: &Node,
        list: &[Value],
        elements: &[Element],
        fields: &FieldSet,
    ) -> Value {
        let mut out = Vec::new();
        for (index, (element, entry)) in elements.iter().zip(list).enumerate() {
            let Some(below) = fields.get(element) else { continue };
            self.at.push_index(index);
            if let Some(mut value) = self.value(items, entry, below, Level::Deep) {
                if let (Shape::Keyed(keys), Value::Object(value), Value::Object(entry)) = (shape, &mut value, entry) {
                    for key in keys {
                        if let Some(found) = super::element::key_value(items, entry, key) {
                            value.insert(key.to_string(), found.clone());
                        }
                    }
                }
                out.push(value);
            }
            self.at.pop();
        }
        Value::Array(out)
    }
}
