//! Fields that the server owns and that exported objects carry: they are left out of what is declared.

use serde_json::{Map, Value};

use crate::base::pointer::Pointer;
use crate::base::server_owned::METADATA;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Takes them out, and tells which had a value. A null (`creationTimestamp: null`, as generators write it) goes silently.
/// `status` is another's matter: [`take_status`].
pub(super) fn drop_server_owned(object: &mut Map<String, Value>) -> Vec<Pointer> {
    let mut dropped = Vec::new();
    let had_value = |value: Option<Value>| value.is_some_and(|v| !v.is_null());
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let path = || Pointer::root().key("metadata");
        // Nearly no manifest has any.
        if metadata.keys().any(|key| METADATA.contains(&key.as_str())) {
            for key in METADATA {
                if had_value(metadata.remove(key)) {
                    dropped.push(path().key(key));
                }
            }
        }
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
            && annotations.remove(LAST_APPLIED).is_some()
        {
            dropped.push(path().key("annotations").key(LAST_APPLIED));
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        drop_template_nulls(spec);
    }
    dropped
}

/// Takes the `status` out: the server's in nearly all kinds, the author's in a custom resource without that subresource.
pub(super) fn take_status(object: &mut Map<String, Value>) -> Option<Box<Value>> {
    object.remove("status").filter(|status| !status.is_null()).map(Box::new)
}

/// The metadata of templates inside a spec is written by the same generators.
fn drop_template_nulls(spec: &mut Map<String, Value>) {
    for key in ["template", "jobTemplate"] {
        if let Some(Value::Object(template)) = spec.get_mut(key) {
            drop_null_timestamp(template);
            if let Some(Value::Object(inner)) = template.get_mut("spec") {
                drop_template_nulls(inner);
            }
        }
    }
    if let Some(Value::Array(claims)) = spec.get_mut("volumeClaimTemplates") {
        claims.iter_mut().filter_map(Value::as_object_mut).for_each(drop_null_timestamp);
    }
}

fn drop_null_timestamp(template: &mut Map<String, Value>) {
    if let Some(Value::Object(metadata)) = template.get_mut("metadata")
        && metadata.get("creationTimestamp").is_some_and(Value::is_null)
    {
        metadata.remove("creationTimestamp");
    }
}
