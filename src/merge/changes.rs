//! The fields that differ between two versions of an object, for people.

use serde_json::{Map, Value};

use super::element::Element;
use super::identity::Level;
use super::shape::{self, Shape};
use crate::base::pointer::Pointer;
use crate::schema::{Node, meaning};

/// One field that changes.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// The field; entries of lists by the index they have after the change, of what goes by the one before.
    pub path: Pointer,
    /// Where the live value stands in the live object: lists may have it at another index.
    pub before_path: Pointer,
    /// The live value.
    pub before: Option<Value>,
    /// The value afterwards.
    pub after: Option<Value>,
}

/// The deepest places that differ in meaning. A keyed entry that comes or goes is one change, and so is a list that is
/// in another order.
pub(super) fn between(node: &Node, before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut walk = Walk { before_path: Pointer::root(), path: Pointer::root(), found: Vec::new() };
    walk.both(node, before, after, Level::Root);
    walk.found
}

struct Walk {
    before_path: Pointer,
    path: Pointer,
    found: Vec<FieldChange>,
}

impl Walk {
    fn both(&mut self, node: &Node, before: &Value, after: &Value, level: Level) {
        if before == after {
            return;
        }
        match (before, after) {
            (Value::Object(a), Value::Object(b)) => self.map(node, a, b, level),
            (Value::Array(a), Value::Array(b)) => self.list(node, a, b, before, after),
            _ if meaning::equal(node, before, after) => {}
            _ => self.found.push(FieldChange {
                path: self.path.clone(),
                before_path: self.before_path.clone(),
                before: Some(before.clone()),
                after: Some(after.clone()),
            }),
        }
    }

    fn map(&mut self, node: &Node, before: &Map<String, Value>, after: &Map<String, Value>, level: Level) {
        for (key, old) in before {
            if level.is_nobodys(key) {
                continue;
            }
            self.push_key(key);
            match after.get(key) {
                Some(new) if shape::is_same_resource(node, key, old, new) => {}
                Some(new) => self.both(shape::below(node, key), old, new, level.below(key)),
                None if shape::is_absent(node, key, old) => {}
                None => self.one(shape::below(node, key), old, true),
            }
            self.pop();
        }
        for (key, new) in after {
            if level.is_nobodys(key) || before.contains_key(key) || shape::is_absent(node, key, new) {
                continue;
            }
            self.push_key(key);
            self.one(shape::below(node, key), new, false);
            self.pop();
        }
    }

    /// A value that comes or goes.
    fn one(&mut self, node: &Node, value: &Value, goes: bool) {
        if let (Shape::Map, Value::Object(map)) = (shape::of(node, value), value)
            && !map.is_empty()
        {
            for (key, value) in map {
                self.push_key(key);
                self.one(shape::below(node, key), value, goes);
                self.pop();
            }
            return;
        }
        self.found.push(if goes {
            let path = self.before_path.clone();
            FieldChange { before_path: path.clone(), path, before: Some(value.clone()), after: None }
        } else {
            let path = self.path.clone();
            FieldChange { before_path: path.clone(), path, before: None, after: Some(value.clone()) }
        });
    }

    fn list(&mut self, node: &Node, a: &[Value], b: &[Value], before: &Value, after: &Value) {
        let items = shape::items(node);
        let shape = shape::of(node, after);
        let whole = |walk: &mut Self| {
            if !meaning::equal(node, before, after) {
                walk.found.push(FieldChange {
                    path: walk.path.clone(),
                    before_path: walk.before_path.clone(),
                    before: Some(before.clone()),
                    after: Some(after.clone()),
                });
            }
        };
        let (Some(left), Some(right)) = (shape::elements(shape, items, a), shape::elements(shape, items, b)) else {
            // One value, but of the same length: the entry that differs says more.
            if a.len() != b.len() {
                return whole(self);
            }
            return (0..a.len()).for_each(|at| self.entry(items, (at, &a[at]), (at, &b[at])));
        };
        let Some(pairs) = pairs(&left, &right) else {
            return whole(self);
        };
        for (i, j) in pairs {
            match (i, j) {
                (Some(i), Some(j)) => self.entry(items, (i, &a[i]), (j, &b[j])),
                (Some(i), None) => {
                    let path = self.before_path.index(i);
                    let before_path = path.clone();
                    self.found.push(FieldChange { path, before_path, before: Some(a[i].clone()), after: None });
                }
                (None, Some(j)) => {
                    let path = self.path.index(j);
                    let before_path = path.clone();
                    self.found.push(FieldChange { path, before_path, before: None, after: Some(b[j].clone()) });
                }
                (None, None) => {}
            }
        }
    }

    fn entry(&mut self, items: &Node, (i, before): (usize, &Value), (j, after): (usize, &Value)) {
        self.before_path.push_index(i);
        self.path.push_index(j);
        self.both(items, before, after, Level::Deep);
        self.pop();
    }

    fn push_key(&mut self, key: &str) {
        self.before_path.push_key(key);
        self.path.push_key(key);
    }

    fn pop(&mut self) {
        self.before_path.pop();
        self.path.pop();
    }
}

/// Which entries belong together; `None` if what stays is in another order, or an entry is there twice.
#[allow(clippy::type_complexity)]
fn pairs(left: &[Element], right: &[Element]) -> Option<Vec<(Option<usize>, Option<usize>)>> {
    let index = |list: &[Element]| {
        let mut sorted: Vec<usize> = (0..list.len()).collect();
        sorted.sort_by(|a, b| list[*a].cmp(&list[*b]));
        let twice = sorted.windows(2).any(|w| list[w[0]] == list[w[1]]);
        (!twice).then_some(sorted)
    };
    let (by_left, by_right) = (index(left)?, index(right)?);
    let find =
        |list: &[Element], by: &[usize], e: &Element| by.binary_search_by(|at| list[*at].cmp(e)).ok().map(|n| by[n]);
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let mut last = None;
    for (i, element) in left.iter().enumerate() {
        let j = find(right, &by_right, element);
        if j.is_some() && j < last {
            return None;
        }
        last = j.or(last);
        out.push((Some(i), j));
    }
    out.extend((0..right.len()).filter(|j| find(left, &by_left, &right[*j]).is_none()).map(|j| (None, Some(j))));
    Some(out)
}
