//! Field sets in Kubernetes' fieldsV1: as a value, and straight to and from JSON text.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::element::Element;
use super::fieldset::FieldSet;

/// How deep a set may go: deeper than manifests may nest (200), less than JSON is read.
const MAX_DEPTH: usize = 256;

/// A fieldsV1 that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no fieldsV1: it is no map of steps all the way down, or too deep")]
pub struct BadFields;

impl FieldSet {
    /// Reads fieldsV1.
    ///
    /// # Errors
    /// If it is no map of steps all the way down, or too deep. Steps of a kind that isn't known are passed over.
    pub fn from_fields_v1(value: &Value) -> Result<Self, BadFields> {
        // What serde says would quote the value.
        Self::deserialize(value).map_err(|_| BadFields)
    }

    /// Writes fieldsV1, always the same for the same set.
    pub fn to_fields_v1(&self) -> Value {
        let mut map = Map::new();
        for (element, below) in &self.children {
            let mut child = below.to_fields_v1();
            if let (true, Value::Object(inner)) = (below.is_named_above(), &mut child) {
                inner.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(element.to_string(), child);
        }
        Value::Object(map)
    }

    /// Whether it is a member that leads to others: a mark says so, since a member alone is an empty map.
    fn is_named_above(&self) -> bool {
        self.member && !self.children.is_empty()
    }
}

impl Serialize for FieldSet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if self.is_named_above() {
            map.serialize_entry(".", &Map::<String, Value>::new())?;
        }
        for (element, below) in &self.children {
            map.serialize_entry(&format_args!("{element}"), below)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for FieldSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut set = Below { depth: 0 }.deserialize(from)?;
        set.member = false;
        Ok(set)
    }
}

/// Reads what lies below a step.
struct Below {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Below {
    type Value = FieldSet;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<FieldSet, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Below {
    type Value = FieldSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of steps")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldSet, A::Error> {
        if self.depth > MAX_DEPTH {
            return Err(A::Error::custom("it is too deep"));
        }
        let mut set = FieldSet::default();
        let (mut is_empty, mut is_marked) = (true, false);
        while let Some(step) = map.next_key_seed(StepKey)? {
            is_empty = false;
            match step {
                Step::To(element) => set.push(element, map.next_value_seed(Below { depth: self.depth + 1 })?),
                Step::Here | Step::Unknown => {
                    is_marked |= matches!(step, Step::Here);
                    map.next_value::<Map<String, Value>>()?;
                }
            }
        }
        set.member = is_empty || is_marked;
        set.restore_order();
        Ok(set)
    }
}

/// A key of fieldsV1.
enum Step {
    /// `.`: the place itself.
    Here,
    To(Element),
    /// Of a kind that this version doesn't know.
    Unknown,
}

/// Reads a key without a copy of its text.
struct StepKey;

impl<'de> DeserializeSeed<'de> for StepKey {
    type Value = Step;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Step, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for StepKey {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Step, E> {
        if text == "." {
            return Ok(Step::Here);
        }
        Ok(Element::read(text).map_err(E::custom)?.map_or(Step::Unknown, Step::To))
    }
}
