//! The merge key `<<`, with kubectl's reading of it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The keys of a mapping that `<<` has set and no key of its own since.
pub(super) type Merged = BTreeSet<String>;

/// Merges a value into a mapping. kubectl sets the keys where `<<` stands, over earlier ones; returned are those that the
/// mapping had set itself, which it would lose.
///
/// In a list of mappings the earlier ones win. An alias must name a mapping, not a list of them.
pub(super) fn merge(
    map: &mut Map<String, Value>,
    merged: &mut Merged,
    value: Value,
    by_alias: bool,
) -> Result<Vec<String>, &'static str> {
    const WANTED: &str = "<< needs a mapping, or a list of mappings";
    let parts = match value {
        Value::Object(part) => vec![part],
        Value::Array(list) if !by_alias => {
            let mut parts = Vec::with_capacity(list.len());
            for entry in list.into_iter().rev() {
                let Value::Object(part) = entry else { return Err(WANTED) };
                parts.push(part);
            }
            parts
        }
        _ => return Err(WANTED),
    };
    let mut clashes = BTreeSet::new();
    for (key, value) in parts.into_iter().flatten() {
        if map.contains_key(&key) && !merged.contains(&key) {
            clashes.insert(key);
            continue;
        }
        merged.insert(key.clone());
        map.insert(key, value);
    }
    Ok(clashes.into_iter().collect())
}
