//! The digest of what a plan has seen of a live object.

use serde_json::{Value, json};

use super::mark::OwnerMark;
use crate::base::digest::of_value;
use crate::base::ids::Digest;
use crate::base::pointer::Pointer;
use crate::base::sensitive;
use crate::merge::{self, FieldSet};
use crate::schema::KindSchema;

/// Digests what a plan has seen: the UID, the owner mark without its apply, and the live values of `fields`.
///
/// Sensitive values are in no digest, not even their own: a Secret with such fields counts by its resourceVersion, any other
/// object by its generation. `extra` is what the Source's `sensitive` names.
pub fn seen_digest(schema: Option<&KindSchema>, live: &Value, fields: &FieldSet, extra: &[Pointer]) -> Digest {
    let hidden = sensitive::pointers(live, extra);
    let values = merge::seen(schema, live, fields, &hidden);
    let moved = if hidden.is_empty() {
        Value::Null
    } else {
        let clock = if sensitive::is_secret(live) { "resourceVersion" } else { "generation" };
        live.pointer("/metadata").and_then(|m| m.get(clock)).cloned().unwrap_or_default()
    };
    let mark = match OwnerMark::of(live) {
        Ok(Some(mark)) => json!([mark.source, mark.resource]),
        Ok(None) => Value::Null,
        Err(_) => json!("unreadable"),
    };
    let uid = live.pointer("/metadata/uid").cloned().unwrap_or_default();
    of_value(&json!([uid, mark, moved, values]))
}
