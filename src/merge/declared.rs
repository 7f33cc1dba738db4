//! Which fields a value declares.

use serde_json::{Map, Value};

use super::element::Element;
use super::fieldset::FieldSet;
use super::identity::Level;
use super::shape::{self, Shape};
use crate::schema::Node;

impl FieldSet {
    /// The fields that an apply of this value declares, as structured merge has it: scalars, atomic things whole, keys
    /// of free maps, keyed entries with what is in them, maps that are empty. Null where it is no value declares nothing.
    pub fn of_value(self, node: &Node, value: &Value) -> Self {
        let mut set = Walk { empty_lists: false }.of_value(node, value, Level::Deep);
        set.member = false;
        set
    }

    /// The same of a whole object, without what it is called and what only the server writes.
    pub fn of_object(node: &Node, object: &Value) -> Self {
        let mut set = Walk { empty_lists: false }.of_value(node, object, Level::Root);
        set.member = false;
        set
    }

    /// The same with keyed lists and sets that are empty. Declaring one holds nothing, but it isn't taken away.
    pub(super) fn places_of(node: &Node, object: &Value) -> Self {
        let mut set = Walk { empty_lists: true }.of_value(node, object, Level::Root);
        set.member = false;
        set
    }
}

#[derive(Clone, Copy)]
struct Walk {
    empty_lists: bool,
}

impl Walk {
    fn of_value(self, node: &Node, value: &Value, level: Level) -> FieldSet {
        match (shape::of(node, value), value) {
            (Shape::Map, Value::Object(map)) => self.of_map(node, map, level),
            (shape @ (Shape::Keyed(_) | Shape::Set), Value::Array(list)) => self.of_list(shape, node, list),
            _ => FieldSet::leaf(),
        }
    }

    fn of_map(self, node: &Node, map: &Map<String, Value>, level: Level) -> FieldSet {
        let mut set = FieldSet { member: false, children: Vec::with_capacity(map.len()) };
        for (key, value) in map {
            if level.is_nobodys(key) {
                continue;
            }
            let (child, is_field) = shape::field(node, key);
            let level = level.below(key);
            if shape::is_no_value(node, key, value) {
                continue;
            }
            let mut below = self.of_value(child, value, level);
            let is_empty = shape::is_empty(value) && (self.empty_lists || value.is_object());
            if level != Level::Metadata && (is_empty || !is_field) {
                below.member = true;
            }
            set.push(Element::Field(key.as_str().into()), below);
        }
        set
    }

    fn of_list(self, shape: Shape<'_>, node: &Node, list: &[Value]) -> FieldSet {
        let items = shape::items(node);
        let Some(elements) = shape::elements(shape, items, list) else {
            return FieldSet::leaf();
        };
        let mut set = FieldSet { member: false, children: Vec::with_capacity(list.len()) };
        for (element, entry) in elements.into_iter().zip(list) {
            let mut below = self.of_value(items, entry, Level::Deep);
            below.member = true;
            set.push(element, below);
        }
        // Entries that are there twice count as one whole, as the API server has it.
        if !set.children.is_sorted_by(|a, b| a.0 < b.0) {
            set.children.sort_by(|a, b| a.0.cmp(&b.0));
            set.children.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    kept.1.children.clear();
                }
                same
            });
        }
        set
    }
}
