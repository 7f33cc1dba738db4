//! Lays a declared value over a live one.

use serde_json::{Map, Value};

use super::element::Element;
use super::error::MergeError;
use super::identity::{Level, is_server_owned};
use super::shape::{self, Shape};
use crate::base::map::HashMap;
use crate::base::pointer::Pointer;
use crate::schema::{Node, meaning};

/// A live object with what is declared laid over it; `None` if that changes nothing.
///
/// What means the same stays as the live value spells it. `defaults` are values of keys of the object itself that mean
/// the same as none there.
pub(super) fn object(
    node: &Node,
    live: &Value,
    declared: &Value,
    defaults: &[(&str, &str)],
) -> Result<Option<Value>, MergeError> {
    Combine { defaults }.value(node, live, declared, Level::Root)
}

/// A declared value as it is stored where nothing is live: without the nulls that are no values and without what only
/// the server writes.
pub(super) fn created(node: &Node, declared: &Value) -> Value {
    clean(node, declared, Level::Root)
}

#[derive(Clone, Copy)]
struct Combine<'a> {
    defaults: &'a [(&'a str, &'a str)],
}

impl Combine<'_> {
    fn value(self, node: &Node, live: &Value, declared: &Value, level: Level) -> Result<Option<Value>, MergeError> {
        match (shape::of(node, declared), live, declared) {
            (Shape::Map, Value::Object(live), Value::Object(declared)) => self.map(node, live, declared, level),
            (shape @ (Shape::Keyed(_) | Shape::Set), Value::Array(live), Value::Array(declared)) => {
                self.list(shape, node, live, declared)
            }
            _ if meaning::equal(node, live, declared) => Ok(None),
            _ => Ok(Some(clean(node, declared, level))),
        }
    }

    fn map(
        self,
        node: &Node,
        live: &Map<String, Value>,
        declared: &Map<String, Value>,
        level: Level,
    ) -> Result<Option<Value>, MergeError> {
        let mut changed: Vec<(&String, Value)> = Vec::new();
        for (key, value) in declared {
            if level.is_nobodys(key) {
                continue;
            }
            let new = match live.get(key) {
                Some(old) if old == value => None,
                _ if shape::is_no_value(node, key, value) => None,
                None if shape::is_absent(node, key, value) || self.is_default(level, key, value) => None,
                None => Some(clean(shape::below(node, key), value, level.below(key))),
                Some(old) if shape::is_same_resource(node, key, old, value) => None,
                Some(old) => {
                    self.value(shape::below(node, key), old, value, level.below(key)).map_err(|e| e.below(key))?
                }
            };
            changed.extend(new.map(|new| (key, new)));
        }
        if changed.is_empty() {
            return Ok(None);
        }
        // Both are sorted; what is replaced is not copied first.
        let stays = |key: &String| changed.binary_search_by(|(new, _)| (*new).cmp(key)).is_err();
        let mut out: Map<String, Value> =
            live.iter().filter(|(key, _)| stays(key)).map(|(key, old)| (key.clone(), old.clone())).collect();
        out.extend(changed.into_iter().map(|(key, new)| (key.clone(), new)));
        Ok(Some(Value::Object(out)))
    }

    fn is_default(&self, level: Level, key: &str, value: &Value) -> bool {
        level == Level::Root && self.defaults.iter().any(|(k, v)| *k == key && value.as_str() == Some(v))
    }

    fn list(
        self,
        shape: Shape<'_>,
        node: &Node,
        live: &[Value],
        declared: &[Value],
    ) -> Result<Option<Value>, MergeError> {
        let items = shape::items(node);
        let aligned = live.len() == declared.len()
            && live.iter().zip(declared).all(|(a, b)| shape::same_entry(shape, items, a, b));
        if aligned {
            return self.aligned(items, live, declared);
        }
        let (Some(left), Some(right)) = (shape::elements(shape, items, live), shape::elements(shape, items, declared))
        else {
            let equal = meaning::equal(node, &Value::from(live), &Value::from(declared));
            return Ok((!equal).then(|| Value::from(declared)));
        };
        let mut of_right: HashMap<&Element, usize> = HashMap::with_capacity_and_hasher(right.len(), Default::default());
        for (index, element) in right.iter().enumerate() {
            if of_right.insert(element, index).is_some() {
                return Err(MergeError::RepeatedEntry { path: Pointer::root().index(index) });
            }
        }
        // Of an entry that is there twice none is merged with: the declared one takes the place of both.
        let mut of_left: HashMap<&Element, Option<usize>> =
            HashMap::with_capacity_and_hasher(left.len(), Default::default());
        for (index, element) in left.iter().enumerate() {
            of_left.entry(element).and_modify(|at| *at = None).or_insert(Some(index));
        }
        let mut out = Vec::with_capacity(left.len().max(right.len()));
        for step in order(&left, &right, &of_left, &of_right) {
            out.push(match step {
                Step::Live(at) => live[at].clone(),
                Step::Declared(at) => match of_left.get(&right[at]).copied().flatten() {
                    None => clean(items, &declared[at], Level::Deep),
                    Some(old) => {
                        let new = self.value(items, &live[old], &declared[at], Level::Deep);
                        let new = new.map_err(|e| e.below(&at.to_string()))?;
                        new.unwrap_or_else(|| live[old].clone())
                    }
                },
            });
        }
        // Live entries without a declared partner keep their place, so the list may still be as it was.
        Ok((out != live).then_some(Value::Array(out)))
    }

    /// Lists with the same entries in the same order, which is nearly always so.
    fn aligned(self, items: &Node, live: &[Value], declared: &[Value]) -> Result<Option<Value>, MergeError> {
        let mut out: Option<Vec<Value>> = None;
        for (index, (old, value)) in live.iter().zip(declared).enumerate() {
            let new = self.value(items, old, value, Level::Deep).map_err(|e| e.below(&index.to_string()))?;
            match (new, &mut out) {
                (None, None) => {}
                (new, Some(out)) => out.push(new.unwrap_or_else(|| old.clone())),
                (Some(new), None) => {
                    let mut list = Vec::with_capacity(live.len());
                    list.extend_from_slice(&live[..index]);
                    list.push(new);
                    out = Some(list);
                }
            }
        }
        Ok(out.map(Value::Array))
    }
}

enum Step {
    /// A live entry that isn't declared.
    Live(usize),
    /// A declared entry.
    Declared(usize),
}

/// The order of a merged list, by structured merge's own rule: declared entries in the declared order; live-only entries
/// stay behind the entry that they followed, as far as that holds.
fn order(
    left: &[Element],
    right: &[Element],
    of_left: &HashMap<&Element, Option<usize>>,
    of_right: &HashMap<&Element, usize>,
) -> Vec<Step> {
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let mut shared = right.iter().filter(|e| of_left.contains_key(e));
    let mut next_shared = shared.next();
    let mut merged = vec![false; right.len()];
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if l < left.len() && r < right.len() {
            if left[l] == right[r] {
                merged[r] = true;
                out.push(Step::Declared(r));
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            if of_right.contains_key(&left[l]) && next_shared.is_some_and(|next| *next != left[l]) {
                // Declared too, but its turn comes elsewhere.
                l += 1;
                continue;
            }
        }
        if l < left.len() {
            match of_right.get(&left[l]) {
                None => {
                    out.push(Step::Live(l));
                    l += 1;
                    continue;
                }
                Some(at) if merged[*at] => l += 1,
                Some(_) => {}
            }
        }
        if r < right.len() {
            merged[r] = true;
            out.push(Step::Declared(r));
            if next_shared.is_some_and(|next| *next == right[r]) {
                next_shared = shared.next();
            }
            r += 1;
        }
    }
    out
}

fn clean(node: &Node, value: &Value, level: Level) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(key, _)| level != Level::Metadata || !is_server_owned(key))
                .filter(|(key, value)| !shape::is_no_value(node, key, value))
                .map(|(key, value)| (key.clone(), clean(shape::below(node, key), value, level.below(key))))
                .collect(),
        ),
        Value::Array(list) => {
            let items = shape::items(node);
            Value::Array(list.iter().map(|entry| clean(items, entry, Level::Deep)).collect())
        }
        scalar => scalar.clone(),
    }
}
