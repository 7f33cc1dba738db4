//! The part of an object that lies at given fields, as it stands there.

use serde_json::{Map, Value};

use super::element::{Element, key_value};
use super::fieldset::FieldSet;
use super::identity::Level;
use super::shape::{self, Shape};
use crate::schema::{KindSchema, Node};

/// The values at these fields alone, spelled as they are; entries of keyed lists have their keys. What applied by its own
/// manager declares exactly these fields.
pub fn extract(schema: Option<&KindSchema>, object: &Value, fields: &FieldSet) -> Value {
    let node = schema.map_or_else(|| shape::unknown(), KindSchema::root);
    value(node, object, fields, Level::Root).unwrap_or_else(|| Value::Object(Map::new()))
}

fn value(node: &Node, object: &Value, fields: &FieldSet, level: Level) -> Option<Value> {
    match (shape::of(node, object), object) {
        (Shape::Map, Value::Object(map)) => {
            let found = keys(node, map, fields, level);
            (fields.member || !found.is_empty() || level == Level::Root).then_some(Value::Object(found))
        }
        (shape @ (Shape::Keyed(_) | Shape::Set), Value::Array(list)) => {
            let items = shape::items(node);
            match shape::elements(shape, items, list) {
                Some(elements) => {
                    let found = entries(shape, items, list, &elements, fields);
                    (fields.member || !found.is_empty()).then_some(Value::Array(found))
                }
                None => Some(object.clone()),
            }
        }
        _ => Some(object.clone()),
    }
}

fn keys(node: &Node, map: &Map<String, Value>, fields: &FieldSet, level: Level) -> Map<String, Value> {
    let mut out = Map::new();
    for (element, below) in &fields.children {
        let Element::Field(key) = element else { continue };
        let Some((key, found)) = map.get_key_value(&**key) else { continue };
        if level.is_nobodys(key) {
            continue;
        }
        if let Some(found) = value(shape::below(node, key), found, below, level.below(key)) {
            out.insert(key.clone(), found);
        }
    }
    out
}

fn entries(shape: Shape<'_>, items: &Node, list: &[Value], elements: &[Element], fields: &FieldSet) -> Vec<Value> {
    let mut out = Vec::new();
    for (element, entry) in elements.iter().zip(list) {
        let Some(below) = fields.get(element) else { continue };
        let Some(mut found) = value(items, entry, below, Level::Deep) else { continue };
        if let (Shape::Keyed(keys), Value::Object(found), Value::Object(entry)) = (shape, &mut found, entry) {
            for key in keys {
                if let Some(value) = key_value(items, entry, key) {
                    found.insert(key.to_string(), value.clone());
                }
            }
        }
        out.push(found);
    }
    out
}
