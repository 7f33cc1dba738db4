//! Objects rebuilt from the fields that change: only those, under their parents.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::document::Field;
use crate::base::pointer::Pointer;
use crate::base::yaml;

/// Maps whose keys are free text: a key of digits alone is no list index there.
const FREE_KEYS: &[&str] =
    &["data", "stringData", "binaryData", "labels", "annotations", "matchLabels", "nodeSelector", "limits", "requests"];

/// One line of YAML and the field that it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) field: String,
}

#[derive(Debug)]
enum Node {
    Map(BTreeMap<String, Node>),
    List(BTreeMap<usize, Node>),
    Leaf { value: Value, changed: bool },
}

/// Which side of a Change to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// The lines of the object as far as its fields are known, on one side; empty if none of them is there.
pub(super) fn lines(fields: &[Field], side: Side) -> Vec<Line> {
    let mut root = None;
    for field in fields {
        let value = match side {
            Side::Before => &field.before,
            Side::After => &field.after,
        };
        let Some(value) = value else { continue };
        // Masked values of one length look the same: say that they are not.
        let changed = side == Side::After && field.before.as_ref() == Some(value);
        let segments: Vec<String> = field.path.segments().collect();
        insert(&mut root, &segments, "", Node::Leaf { value: Value::clone(value), changed });
    }
    let mut out = Vec::new();
    if let Some(node) = root {
        write(&node, 0, &Pointer::root(), &mut out);
    }
    out
}

fn insert(slot: &mut Option<Node>, segments: &[String], parent: &str, leaf: Node) {
    let Some((first, rest)) = segments.split_first() else {
        *slot = Some(leaf);
        return;
    };
    let index = first.parse::<usize>().ok().filter(|n| n.to_string() == *first && !FREE_KEYS.contains(&parent));
    let node = slot.get_or_insert_with(|| match index {
        Some(_) => Node::List(BTreeMap::new()),
        None => Node::Map(BTreeMap::new()),
    });
    if let (Node::List(list), None) = (&mut *node, index) {
        // Digits were keys after all.
        let map = std::mem::take(list).into_iter().map(|(key, below)| (key.to_string(), below)).collect();
        *node = Node::Map(map);
    }
    match (node, index) {
        (Node::List(list), Some(index)) => {
            let mut below = list.remove(&index);
            insert(&mut below, rest, first, leaf);
            list.extend(below.map(|below| (index, below)));
        }
        (Node::Map(map), _) => {
            let mut below = map.remove(first);
            insert(&mut below, rest, first, leaf);
            map.extend(below.map(|below| (first.clone(), below)));
        }
        // A field above it is shown whole already.
        (Node::Leaf { .. } | Node::List(_), _) => {}
    }
}

fn write(node: &Node, indent: usize, at: &Pointer, out: &mut Vec<Line>) {
    match node {
        Node::Leaf { value, changed } => {
            push(out, at, &yaml::to_yaml(value), *changed);
        }
        Node::Map(map) => {
            for (key, below) in map {
                let at = at.key(key);
                let mut text = String::new();
                yaml::pad(indent, &mut text);
                yaml::write_key(key, &mut text);
                match below {
                    Node::Leaf { value, changed } => {
                        yaml::after_key(value, indent, &mut text);
                        push(out, &at, &text, *changed);
                    }
                    Node::Map(_) => {
                        push(out, &at, &text, false);
                        write(below, indent + 2, &at, out);
                    }
                    Node::List(_) => {
                        push(out, &at, &text, false);
                        write(below, indent, &at, out);
                    }
                }
            }
        }
        Node::List(list) => {
            for (index, below) in list {
                let at = at.index(*index);
                let mut text = String::new();
                yaml::pad(indent, &mut text);
                text.push('-');
                match below {
                    Node::Leaf { value: value @ (Value::Object(_) | Value::Array(_)), changed } => {
                        text.push_str(&format!(" # [{index}]\n"));
                        push(out, &at, &text, *changed);
                        let mut body = String::new();
                        yaml::block(value, indent + 2, &mut body);
                        push(out, &at, &body, false);
                    }
                    Node::Leaf { value, changed } => {
                        yaml::after_dash(value, indent, &mut text);
                        push(out, &at, &text, *changed);
                    }
                    below => {
                        text.push_str(&format!(" # [{index}]"));
                        push(out, &at, &text, false);
                        write(below, indent + 2, &at, out);
                    }
                }
            }
        }
    }
}

fn push(out: &mut Vec<Line>, at: &Pointer, text: &str, changed: bool) {
    for (number, line) in text.lines().enumerate() {
        let mark = if changed && number == 0 { "  # changed" } else { "" };
        out.push(Line { text: format!("{line}{mark}"), field: at.as_str().to_owned() });
    }
}
