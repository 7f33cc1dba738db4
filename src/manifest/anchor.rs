//! Anchors and aliases: each alias is a copy, and the copies have a budget.

use serde_json::Value;

use super::limits::Limits;
use crate::base::map::HashMap;
use crate::base::pointer::Pointer;

/// A plain scalar whose JSON is not what its text looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surprise {
    /// The field.
    pub pointer: Pointer,
    /// The text in the file; `None` where it could be a secret.
    pub raw: Option<String>,
    /// Whether digits were lost (`12345678901234567890`).
    pub precision_lost: bool,
}

/// Memory of a scalar besides its text, by estimate.
pub(super) const SCALAR_MEMORY: usize = 64;
/// Memory of a mapping: the first node of its tree has room for eleven entries.
pub(super) const MAP_MEMORY: usize = 640;

/// What an anchor names.
#[derive(Debug, Clone)]
pub(super) struct Anchored {
    pub(super) value: Value,
    pub(super) surprises: Vec<Surprise>,
    nodes: usize,
    bytes: usize,
    height: usize,
}

/// What a file has used up: what its aliases add, and the memory of its values by estimate.
#[derive(Debug, Default)]
pub(super) struct Spent {
    nodes: usize,
    bytes: usize,
    pub(super) memory: usize,
}

/// The anchors of one document.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    by_name: HashMap<String, Option<Anchored>>,
    /// Nodes that came from aliases of this document.
    aliased: usize,
}

/// Why an alias is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadAlias {
    Unknown,
    Itself,
    TooMuch,
    TooDeep,
}

impl Anchors {
    /// From here on the name means a value that is not complete yet.
    pub(super) fn open(&mut self, name: &str) {
        self.by_name.insert(name.to_owned(), None);
    }

    /// The value of an anchor is complete. The copy counts as one alias: nested anchors would copy without bound.
    pub(super) fn close(
        &mut self,
        name: String,
        value: &Value,
        surprises: Vec<Surprise>,
        limits: &Limits,
        spent: &mut Spent,
    ) -> Result<(), BadAlias> {
        let mut anchored = Anchored { value: Value::Null, surprises, nodes: 0, bytes: 0, height: 0 };
        (anchored.nodes, anchored.bytes, anchored.height) = measure(value);
        spent.charge(anchored.nodes, anchored.bytes, limits)?;
        anchored.value = value.clone();
        self.by_name.insert(name, Some(anchored));
        Ok(())
    }

    /// What an alias stands for. `nodes` were read in this document so far, `depth` collections are open.
    pub(super) fn resolve(
        &mut self,
        name: &str,
        nodes: usize,
        depth: usize,
        limits: &Limits,
        spent: &mut Spent,
    ) -> Result<Anchored, BadAlias> {
        let anchored = self.by_name.get(name).ok_or(BadAlias::Unknown)?.as_ref().ok_or(BadAlias::Itself)?;
        if depth + anchored.height > limits.depth {
            return Err(BadAlias::TooDeep);
        }
        spent.charge(anchored.nodes, anchored.bytes, limits)?;
        self.aliased += anchored.nodes;
        // kubectl's own bound on documents that are nearly all aliases.
        let decoded = nodes + self.aliased;
        if self.aliased > 100 && decoded > 1000 && self.aliased * 100 > decoded * 99 {
            return Err(BadAlias::TooMuch);
        }
        Ok(anchored.clone())
    }
}

impl Spent {
    fn charge(&mut self, nodes: usize, bytes: usize, limits: &Limits) -> Result<(), BadAlias> {
        self.nodes += nodes;
        self.bytes += bytes;
        self.memory += nodes * SCALAR_MEMORY + bytes;
        if self.nodes > limits.alias_nodes || self.bytes > limits.alias_bytes { Err(BadAlias::TooMuch) } else { Ok(()) }
    }
}

/// Nodes (keys too), bytes of text, and how many collections lie inside each other.
fn measure(value: &Value) -> (usize, usize, usize) {
    let (mut nodes, mut bytes, mut height) = (1, 0, 0);
    let mut add = |value: &Value| {
        let (n, b, h) = measure(value);
        nodes += n;
        bytes += b;
        height = height.max(h);
    };
    match value {
        Value::String(text) => return (1, text.len(), 0),
        Value::Array(list) => list.iter().for_each(&mut add),
        Value::Object(map) => {
            map.values().for_each(&mut add);
            nodes += map.len();
            bytes += map.keys().map(String::len).sum::<usize>();
        }
        _ => return (1, 0, 0),
    }
    (nodes, bytes, height + 1)
}
