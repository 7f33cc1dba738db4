//! Which fields a write changed, for the operation log: places, never values.

use serde_json::{Map, Value};

use crate::base::pointer::Pointer;
use crate::inventory::MOST_FIELDS;

/// What the target itself sets.
const OWN: [&str; 5] = ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"];

/// The places that differ, down to single values also in what is new or gone, as many as a line of the log may have; of lists of other lengths the list. Below the places in `cut` none is
/// told apart.
pub(in crate::target) fn changed(before: &Value, after: &Value, cut: &[Pointer]) -> Vec<Pointer> {
    let mut walk = Walk { at: Pointer::root(), cut, found: Vec::new() };
    walk.value(before, after);
    walk.found
}

struct Walk<'a> {
    at: Pointer,
    cut: &'a [Pointer],
    found: Vec<Pointer>,
}

impl Walk<'_> {
    fn value(&mut self, before: &Value, after: &Value) {
        if before == after || self.found.len() >= MOST_FIELDS {
            return;
        }
        let is_cut = self.cut.contains(&self.at);
        let none = Map::new();
        let maps = match (before, after) {
            (Value::Object(before), Value::Object(after)) => Some((before, after)),
            // Who adds the first entry of a map wrote that entry, and not all that may come into the map.
            (Value::Null, Value::Object(after)) if !after.is_empty() => Some((&none, after)),
            (Value::Object(before), Value::Null) if !before.is_empty() => Some((before, &none)),
            _ => None,
        };
        if let (Some((before, after)), false) = (maps, is_cut) {
            self.map(before, after);
            return;
        }
        match (before, after) {
            (Value::Array(before), Value::Array(after)) if !is_cut && before.len() == after.len() => {
                for (index, (before, after)) in before.iter().zip(after).enumerate() {
                    self.at.push_index(index);
                    self.value(before, after);
                    self.at.pop();
                }
            }
            _ => self.found.push(self.at.clone()),
        }
    }

    fn map(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        let own = self.at.as_str() == "/metadata";
        let both = before.iter().map(|(key, value)| (key, value, after.get(key).unwrap_or(&Value::Null)));
        let new = after.iter().filter(|(key, _)| !before.contains_key(*key));
        let all: Vec<_> = both.chain(new.map(|(key, value)| (key, &Value::Null, value))).collect();
        for (key, before, after) in all {
            if !(own && OWN.contains(&key.as_str())) {
                self.at.push_key(key);
                self.value(before, after);
                self.at.pop();
            }
        }
    }
}
