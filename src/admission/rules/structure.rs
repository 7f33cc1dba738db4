//! apiVersion, kind, metadata and a fixed name.

use serde_json::Value;

use super::{Finding, Findings};
use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;
use crate::base::resource::GroupVersionKind;
use crate::base::text::escape;
use crate::manifest::rules::SERVER_OWNED;
use crate::manifest::{Document, TEMPLATE_HINT, looks_like_template};
use crate::schema::{KindSchema, Origin, names};

const NOT_A_MANIFEST: RuleId = RuleId::new("not-a-manifest");
/// An object that the control plane would name.
pub(crate) const GENERATE_NAME: RuleId = RuleId::new("generate-name");
const BAD_NAME: RuleId = RuleId::new("bad-name");
/// A kind whose objects are answered, never stored.
const NOT_STORED: RuleId = RuleId::new("not-stored");
const TYPE_MISMATCH: RuleId = RuleId::new("type-mismatch");

/// Group, version and kind; none, with the fault, if the document is no object.
pub(in crate::admission) fn kind_of(object: &Value, findings: &mut Findings) -> Option<GroupVersionKind> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        let text = "no Kubernetes object: apiVersion and kind are needed";
        findings.fault(Finding::new(NOT_A_MANIFEST, Pointer::root(), text));
        return None;
    };
    match object.get("metadata") {
        Some(Value::Object(_)) => Some(GroupVersionKind::new(api_version, kind)),
        Some(Value::Null) | None => {
            let text = "no Kubernetes object: metadata is missing";
            let hint = "if the file is meant for something else, list it under `ignore` or in .holdfastignore";
            findings.fault(Finding::new(NOT_A_MANIFEST, Pointer::root(), text).hint(hint));
            None
        }
        Some(_) => {
            findings.fault(Finding::new(TYPE_MISMATCH, Pointer::of(["metadata"]), "metadata must be a map"));
            None
        }
    }
}

/// Puts the `status` back where its definition has no such subresource: there it is a field like any other, and the API server
/// takes it from whoever writes the object. Anywhere else it is the server's, and left out.
pub(in crate::admission) fn status(document: &mut Document, schema: &KindSchema, findings: &mut Findings) {
    let Some(status) = document.status.take() else { return };
    let path = Pointer::of(["status"]);
    if schema.origin == Origin::Crd && !schema.has_status {
        if let Value::Object(object) = &mut document.value {
            object.insert("status".to_owned(), *status);
        }
        return;
    }
    document.surprising.retain(|surprise| !surprise.pointer.is_within(&path));
    let text = format!("{path} is the server's to write: it is left out");
    findings.warn(Finding::new(SERVER_OWNED, path, text));
}

/// Whether objects of the kind can be declared at all.
pub(in crate::admission) fn is_stored(schema: &KindSchema, findings: &mut Findings) -> bool {
    if schema.is_stored() {
        return true;
    }
    let text = format!("a {} is answered by the control plane and never stored: it can't be declared", schema.gvk.kind);
    findings.fault(Finding::new(NOT_STORED, Pointer::of(["kind"]), text));
    false
}

/// The name, if there is a good one.
pub(in crate::admission) fn name(object: &Value, schema: &KindSchema, findings: &mut Findings) -> Option<String> {
    let metadata = object.get("metadata")?;
    let (path, generate) = (Pointer::of(["metadata", "name"]), Pointer::of(["metadata", "generateName"]));
    let generated = metadata.get("generateName").and_then(Value::as_str).is_some_and(|prefix| !prefix.is_empty());
    match metadata.get("name") {
        Some(Value::String(name)) if !name.is_empty() => {
            if generated {
                let text = "generateName has no effect beside a name, and is left out";
                findings.warn(Finding::new(GENERATE_NAME, generate, text));
            }
            let bad = match names::check(&schema.gvk.group_kind(), name) {
                Ok(()) => return Some(name.clone()),
                Err(bad) => bad,
            };
            let finding = Finding::new(BAD_NAME, path, format!("{} can't be a name: {bad}", escape(name)));
            findings.fault(if looks_like_template(name) { finding.hint(TEMPLATE_HINT) } else { finding });
        }
        // The schema says that it must be a text.
        Some(value) if !value.is_null() && !value.is_string() => {}
        _ if generated => {
            let text = "the control plane would make up a name at each apply: such an object can't be found again";
            findings.fault(Finding::new(GENERATE_NAME, generate, text).hint("give it a fixed name"));
        }
        _ => findings.fault(Finding::new(BAD_NAME, path, "the object has no name")),
    }
    None
}
