//! JSON Pointers: reading, changing, and the bank's rule for when two fields match.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pointer(String);

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let rest = text.replace("~0", "").replace("~1", "");
        if (text.is_empty() || text.starts_with('/')) && !rest.contains('~') {
            Ok(Self(text))
        } else {
            Err(format!("{text:?} is no JSON Pointer"))
        }
    }
}

impl Pointer {
    /// The pointer as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The value there; null counts as nothing.
    pub(crate) fn get<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        value.pointer(&self.0).filter(|found| !found.is_null())
    }

    fn tokens(&self) -> Vec<String> {
        self.0.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
    }

    /// Puts a value there; parents are made as needed.
    pub(crate) fn set(&self, root: &mut Value, new: Value) -> Result<(), String> {
        *self.place(root)? = new;
        Ok(())
    }

    /// Adds a value to the list there, which is made as needed.
    pub(crate) fn append(&self, root: &mut Value, new: Value) -> Result<(), String> {
        let place = self.place(root)?;
        if place.is_null() {
            *place = Value::Array(Vec::new());
        }
        place.as_array_mut().ok_or_else(|| format!("{} is no list", self.0))?.push(new);
        Ok(())
    }

    /// Takes the value there away.
    pub(crate) fn unset(&self, root: &mut Value) -> Result<(), String> {
        let missing = || format!("nothing at {}", self.0);
        let (parent, last) = self.0.rsplit_once('/').ok_or_else(missing)?;
        let last = last.replace("~1", "/").replace("~0", "~");
        match root.pointer_mut(parent) {
            Some(Value::Object(map)) => map.remove(&last).map(|_| ()).ok_or_else(missing),
            Some(Value::Array(items)) => match last.parse::<usize>() {
                Ok(index) if index < items.len() => {
                    items.remove(index);
                    Ok(())
                }
                _ => Err(missing()),
            },
            _ => Err(missing()),
        }
    }

    fn place<'a>(&self, root: &'a mut Value) -> Result<&'a mut Value, String> {
        let mut place = root;
        for token in self.tokens() {
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            place = match place {
                Value::Object(map) => map.entry(token).or_insert(Value::Null),
                Value::Array(items) => token
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get_mut(index))
                    .ok_or_else(|| format!("no entry {token} on the way to {}", self.0))?,
                _ => return Err(format!("{} leads through a plain value", self.0)),
            };
        }
        Ok(place)
    }
}

/// A field as the tool reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reported {
    /// The JSON Pointer.
    pub(crate) path: String,
    /// Whether a list is reported whole there.
    pub(crate) list: bool,
}

/// The bank's rule: equal, the reported one below the listed one, or the listed one below a list reported whole.
pub(crate) fn fields_match(listed: &str, reported: &Reported) -> bool {
    let below = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    listed == reported.path || below(&reported.path, listed) || (reported.list && below(listed, &reported.path))
}

/// Equality of values: integers exactly within 64 bits, other numbers as doubles.
pub(crate) fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_value(a, b)))
        }
        _ => a == b,
    }
}

/// Whole numbers of 64 bits, as the API's own `int64`; beyond them a number is a double.
fn integer(number: &serde_json::Number) -> Option<i64> {
    number.as_i64()
}
