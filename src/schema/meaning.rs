//! When two values are the same to the API server.

use serde_json::Value;

use super::node::Node;

/// Whether two values of a shape mean the same.
pub fn equal(node: &Node, a: &Value, b: &Value) -> bool {
    a == b || canonical(node, a) == canonical(node, b)
}

/// The one form of all values that mean the same.
pub fn canonical(_node: &Node, value: &Value) -> Value {
    value.clone()
}
