//! One step of a path in a field set, as Kubernetes' fieldsV1 writes it.

use std::fmt;

use serde_json::{Map, Value};

use crate::base::digest;
use crate::schema::Node;

/// One step of a path.
///
/// The order of the variants is that of their texts in fieldsV1, so that a sorted JSON map is read in order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Element {
    /// `f:NAME`: the value of a key of a map.
    Field(Box<str>),
    /// `i:N`: an entry of a list by its place.
    Index(i64),
    /// `k:{"key":value}`: an entry of a keyed list; canonical JSON.
    Key(Box<str>),
    /// `v:VALUE`: an entry of a set; canonical JSON.
    Value(Box<str>),
}

impl Element {
    /// Reads one key of fieldsV1; `Ok(None)` of a kind of step that this version doesn't know, which is passed over as
    /// the API server does.
    pub(super) fn read(text: &str) -> Result<Option<Self>, &'static str> {
        let Some((kind, rest)) = text.split_once(':') else {
            return Err("a key without a colon");
        };
        Ok(Some(match kind {
            "f" => Self::Field(rest.into()),
            "i" => Self::Index(rest.parse().map_err(|_| "an index that is no number")?),
            "k" => Self::Key(canonical_key(rest)?),
            "v" => {
                let value: Value = serde_json::from_str(rest).map_err(|_| "an entry of a set that is no JSON")?;
                Self::Value(canonical(&value))
            }
            _ => return Ok(None),
        }))
    }

    /// The step to an entry of a keyed list; `None` if it is no map or lacks a key that has no default.
    pub(super) fn of_item(keys: &[Box<str>], items: &Node, entry: &Value) -> Option<Self> {
        let map = entry.as_object()?;
        let mut out = Vec::with_capacity(32);
        let sorted;
        let keys = if keys.is_sorted() {
            keys
        } else {
            sorted = {
                let mut keys = keys.to_vec();
                keys.sort();
                keys
            };
            &sorted
        };
        out.push(b'{');
        for (i, key) in keys.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            string(key, &mut out);
            out.push(b':');
            digest::canonical(key_value(items, map, key)?, &mut out);
        }
        out.push(b'}');
        String::from_utf8(out).ok().map(|text| Self::Key(text.into()))
    }

    /// The step to an entry of a set; `None` if it is no scalar.
    pub(super) fn of_scalar(entry: &Value) -> Option<Self> {
        match entry {
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            scalar => Some(Self::Value(canonical(scalar))),
        }
    }
}

impl fmt::Display for Element {
    /// Writes the key of fieldsV1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, "f:{name}"),
            Self::Index(n) => write!(f, "i:{n}"),
            Self::Key(text) => write!(f, "k:{text}"),
            Self::Value(text) => write!(f, "v:{text}"),
        }
    }
}

/// The value of a key of an entry, or the default of its field.
pub(super) fn key_value<'a>(items: &'a Node, entry: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    match entry.get(key) {
        Some(value) if !value.is_null() => Some(value),
        _ => items.properties.get(key)?.default.as_ref(),
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    let plain = text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        digest::canonical(&Value::from(text), out);
    }
}

fn canonical(value: &Value) -> Box<str> {
    let mut out = Vec::with_capacity(24);
    digest::canonical(value, &mut out);
    String::from_utf8_lossy(&out).into()
}

fn canonical_key(text: &str) -> Result<Box<str>, &'static str> {
    if is_one_plain_pair(text) {
        return Ok(text.into());
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(canonical(&value)),
        _ => Err("keys of an entry that are no JSON object"),
    }
}

/// Whether the text is `{"key":"value"}` without escapes, which nearly all are: canonical as it stands.
fn is_one_plain_pair(text: &str) -> bool {
    let mut parts = text.split('"');
    let shape = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
    matches!(shape, (Some("{"), Some(_), Some(":"), Some(_), Some("}"), None))
        && text.bytes().all(|b| b >= 0x20 && b != b'\\')
}
