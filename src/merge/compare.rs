//! What differs between two versions of an object, as field sets: the ground on which owners gain and lose fields.

use serde_json::{Map, Value};

use super::element::Element;
use super::fieldset::FieldSet;
use super::identity::Level;
use super::shape::{self, Shape};
use crate::schema::{KindSchema, Node, meaning};

/// What differs.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    /// Compares two objects; `None` is one that isn't there.
    pub(super) fn of(node: &Node, before: Option<&Value>, after: &Value) -> Self {
        let mut walk = Walk { path: Vec::new(), found: Self::default() };
        let nothing = Value::Object(Map::new());
        walk.value(node, Some(before.unwrap_or(&nothing)), Some(after), Level::Root);
        walk.found
    }

    /// What has a new value.
    pub(super) fn written(&self) -> FieldSet {
        self.modified.union(&self.added)
    }
}

/// The fields in which two objects of a kind differ.
pub fn differing(schema: Option<&KindSchema>, a: &Value, b: &Value) -> FieldSet {
    let comparison = Comparison::of(schema.map_or_else(|| shape::unknown(), KindSchema::root), Some(a), b);
    comparison.written().union(&comparison.removed)
}

struct Walk {
    path: Vec<Element>,
    found: Comparison,
}

impl Walk {
    fn value(&mut self, node: &Node, before: Option<&Value>, after: Option<&Value>, level: Level) {
        let (Some(some), other) = (before.or(after), before.and(after)) else { return };
        let shape = shape::of(node, some);
        let same_shape = other.is_none_or(|other| {
            std::mem::discriminant(&shape::of(node, other)) == std::mem::discriminant(&shape)
                && (some.is_object() == other.is_object() && some.is_array() == other.is_array())
        });
        if same_shape {
            match shape {
                Shape::Leaf => return self.leaf(node, before, after),
                Shape::Map => {
                    let (a, b) = (before.and_then(Value::as_object), after.and_then(Value::as_object));
                    if a.is_none_or(Map::is_empty) && b.is_none_or(Map::is_empty) {
                        return self.leaf(node, before, after);
                    }
                    self.map(node, a, b, level);
                }
                Shape::Keyed(_) | Shape::Set => {
                    let (a, b) = (list(before), list(after));
                    if a.is_empty() && b.is_empty() {
                        return self.leaf(node, before, after);
                    }
                    if !self.list(shape, node, a, b) {
                        return self.leaf(node, before, after);
                    }
                }
            }
            match (before, after) {
                // Nobody holds `metadata` as such.
                _ if level == Level::Metadata => {}
                (None, Some(_)) => self.found.added.insert(&self.path),
                (Some(_), None) => self.found.removed.insert(&self.path),
                _ => {}
            }
        } else {
            // Another kind of value altogether: all of the one goes, all of the other comes.
            self.value(node, before, None, level);
            self.value(node, None, after, level);
            self.found.modified.insert(&self.path);
        }
    }

    fn leaf(&mut self, node: &Node, before: Option<&Value>, after: Option<&Value>) {
        match (before, after) {
            (None, Some(_)) => self.found.added.insert(&self.path),
            (Some(_), None) => self.found.removed.insert(&self.path),
            (Some(a), Some(b)) if !meaning::equal(node, a, b) => self.found.modified.insert(&self.path),
            _ => {}
        }
    }

    fn map(
        &mut self,
        node: &Node,
        before: Option<&Map<String, Value>>,
        after: Option<&Map<String, Value>>,
        level: Level,
    ) {
        let old = before.into_iter().flatten().map(|(key, value)| (key, Some(value), after.and_then(|m| m.get(key))));
        let new = after.into_iter().flatten().map(|(key, value)| (key, None, Some(value)));
        let new = new.filter(|(key, ..)| before.is_none_or(|m| !m.contains_key(*key)));
        for (key, a, b) in old.chain(new) {
            let same = a.zip(b).is_some_and(|(a, b)| a == b || shape::is_same_resource(node, key, a, b));
            if level.is_nobodys(key) || same {
                continue;
            }
            self.path.push(Element::Field(key.as_str().into()));
            self.value(shape::below(node, key), a, b, level.below(key));
            self.path.pop();
        }
    }

    /// `false` if an entry of either has no step to it.
    fn list(&mut self, shape: Shape<'_>, node: &Node, before: &[Value], after: &[Value]) -> bool {
        let items = shape::items(node);
        let (Some(left), Some(right)) = (entries(shape, items, before), entries(shape, items, after)) else {
            return false;
        };
        let (mut i, mut j) = (0, 0);
        while i < left.len() || j < right.len() {
            let element = match (left.get(i), right.get(j)) {
                (Some((a, _)), Some((b, _))) => a.min(b),
                (Some((one, _)), None) | (None, Some((one, _))) => one,
                (None, None) => break,
            };
            let (from, to) = (i, j);
            while left.get(i).is_some_and(|(e, _)| e == element) {
                i += 1;
            }
            while right.get(j).is_some_and(|(e, _)| e == element) {
                j += 1;
            }
            self.path.push(element.clone());
            self.entry(items, &left[from..i], &right[to..j]);
            self.path.pop();
        }
        true
    }

    /// Compares the entries of one key; more than one of them count as one whole.
    fn entry(&mut self, items: &Node, before: &[(Element, &Value)], after: &[(Element, &Value)]) {
        match (before, after) {
            ([] | [_], [] | [_]) => {
                let (a, b) = (before.first().map(|e| e.1), after.first().map(|e| e.1));
                self.value(items, a, b, Level::Deep);
            }
            ([_, _, ..], [_, _, ..]) => {
                if !before.iter().map(|e| e.1).eq(after.iter().map(|e| e.1)) {
                    self.found.modified.insert(&self.path);
                }
            }
            ([_, _, ..], _) => {
                self.value(items, None, after.first().map(|e| e.1), Level::Deep);
                self.found.removed.insert(&self.path);
            }
            (_, [_, _, ..]) => {
                self.value(items, before.first().map(|e| e.1), None, Level::Deep);
                self.found.added.insert(&self.path);
            }
        }
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The entries with the steps to them, sorted by these; the order among the same is kept.
fn entries<'v>(shape: Shape<'_>, items: &Node, list: &'v [Value]) -> Option<Vec<(Element, &'v Value)>> {
    let mut entries: Vec<_> = shape::elements(shape, items, list)?.into_iter().zip(list).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Some(entries)
}
