//! The way down to a value, kept on the stack: nothing is allocated until a fault asks for it.

use serde_json::Value;

use super::fault::SchemaFault;
use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;

/// Faults of one object that are kept; a hostile object could have millions.
const MOST_FAULTS: usize = 500;

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

/// A place in the value that is checked.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    up: Option<&'a Path<'a>>,
    step: Step<'a>,
}

impl<'a> Path<'a> {
    pub(super) const ROOT: Path<'static> = Path { up: None, step: Step::Root };

    pub(super) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { up: Some(self), step: Step::Key(key) }
    }

    pub(super) fn index(&'a self, index: usize) -> Path<'a> {
        Path { up: Some(self), step: Step::Index(index) }
    }

    /// The key that leads here; empty for list entries and the root.
    pub(super) fn last_key(&self) -> &'a str {
        match self.step {
            Step::Key(key) => key,
            Step::Root | Step::Index(_) => "",
        }
    }

    pub(super) fn pointer(&self) -> Pointer {
        let mut pointer = self.up.map_or_else(Pointer::root, Path::pointer);
        match self.step {
            Step::Root => {}
            Step::Key(key) => pointer.push_key(key),
            Step::Index(index) => pointer.push_index(index),
        }
        pointer
    }
}

/// What a walk has found.
#[derive(Default)]
pub(super) struct Out {
    pub(super) faults: Vec<SchemaFault>,
}

impl Out {
    pub(super) fn add(&mut self, rule: RuleId, path: &Path<'_>, text: impl Into<String>) {
        self.push(SchemaFault::new(rule, path.pointer(), text));
    }

    pub(super) fn add_hint(&mut self, rule: RuleId, path: &Path<'_>, text: impl Into<String>, hint: impl Into<String>) {
        self.push(SchemaFault::new(rule, path.pointer(), text).hint(hint));
    }

    pub(super) fn push(&mut self, fault: SchemaFault) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(fault);
        }
    }
}

/// What a value is, in words.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(n) if n.is_f64() => "a number with a fraction or exponent",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
