//! The digest of what was seen of a live object: while it stands, a plan that was made on it still applies.

use serde_json::{Value, json};

use super::mark::{OWNER_ANNOTATION, OwnerMark};
use crate::base::digest;
use crate::base::ids::Digest;
use crate::base::pointer::Pointer;
use crate::base::sensitive;
use crate::merge::{self, FieldSet};
use crate::schema::KindSchema;

/// The digest over the UID, the owner mark without its apply's ID, and the live values of these fields.
///
/// A sensitive value is in no digest, since short ones could be guessed from it; where one lies within the fields, the
/// `generation` stands for it, of a Secret the `resourceVersion`.
pub fn seen_digest(schema: Option<&KindSchema>, live: &Value, fields: &FieldSet, extra: &[Pointer]) -> Digest {
    let sensitive = sensitive::pointers(live, extra);
    let mark = Pointer::of(["metadata", "annotations", OWNER_ANNOTATION]);
    let metadata = |key: &str| live.get("metadata").and_then(|m| m.get(key)).cloned().unwrap_or_default();
    let mut hidden = vec![mark];
    hidden.extend(sensitive.iter().cloned());
    let values = merge::seen(schema, live, fields, &hidden);
    let stamp = if sensitive.is_empty() || merge::seen(schema, live, fields, &hidden[..1]) == values {
        Value::Null
    } else if sensitive::is_secret(live) {
        metadata("resourceVersion")
    } else {
        metadata("generation")
    };
    // Put together by hand: the macro would copy the values.
    let seen = [("uid", metadata("uid")), ("mark", owner(live)), ("stamp", stamp), ("values", values)];
    digest::of_value(&Value::Object(seen.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()))
}

/// The mark without its apply's ID. One that can't be read counts as it stands.
fn owner(live: &Value) -> Value {
    match OwnerMark::of(live) {
        Ok(None) => Value::Null,
        Ok(Some(mark)) => json!([mark.source.as_str(), mark.resource.to_string()]),
        Err(_) => live.pointer("/metadata/annotations").and_then(|a| a.get(OWNER_ANNOTATION)).cloned().into(),
    }
}
