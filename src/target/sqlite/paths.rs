//! Which fields a write changed, for the operation log: places, never values.

use serde_json::Value;

use crate::base::pointer::Pointer;
use crate::inventory::MOST_FIELDS;

/// What the target itself sets.
const OWN: [&str; 5] = ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"];

/// The places that differ, down to single values, as many as a line of the log may have; of lists of other lengths the list. Below the places in `cut` none is
/// told apart.
pub(super) fn changed(before: &Value, after: &Value, cut: &[Pointer]) -> Vec<Pointer> {
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
        match (before, after) {
            (Value::Object(before), Value::Object(after)) if !is_cut => {
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
}
