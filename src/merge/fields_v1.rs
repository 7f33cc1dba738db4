//! Field sets in Kubernetes' fieldsV1.

use serde_json::{Map, Value};

use super::element::Element;
use super::fieldset::FieldSet;

/// How deep a set may go: deeper than manifests may nest (200), less than JSON is read.
const MAX_DEPTH: usize = 256;

/// A fieldsV1 that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no fieldsV1: {0}")]
pub struct BadFields(&'static str);

impl FieldSet {
    /// Reads fieldsV1.
    ///
    /// # Errors
    /// If it is no map of steps all the way down, or too deep. Steps of a kind that isn't known are passed over.
    pub fn from_fields_v1(value: &Value) -> Result<Self, BadFields> {
        let Value::Object(map) = value else {
            return Err(BadFields("it is no map"));
        };
        let mut set = read(map, 0)?;
        set.member = false;
        Ok(set)
    }

    /// Writes fieldsV1, always the same for the same set.
    pub fn to_fields_v1(&self) -> Value {
        let mut map = Map::new();
        for (element, below) in &self.children {
            let mut child = below.to_fields_v1();
            if let (true, Value::Object(inner)) = (below.member && !below.children.is_empty(), &mut child) {
                inner.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(element.write(), child);
        }
        Value::Object(map)
    }
}

fn read(map: &Map<String, Value>, depth: usize) -> Result<FieldSet, BadFields> {
    if depth > MAX_DEPTH {
        return Err(BadFields("it is too deep"));
    }
    let mut set = FieldSet { member: map.is_empty(), children: Vec::with_capacity(map.len()) };
    for (key, value) in map {
        let Value::Object(below) = value else {
            return Err(BadFields("a step that leads to no map"));
        };
        if key == "." {
            set.member = true;
        } else if let Some(element) = Element::read(key).map_err(BadFields)? {
            set.push(element, read(below, depth + 1)?);
        }
    }
    set.restore_order();
    Ok(set)
}
