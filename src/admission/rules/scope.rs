//! What a Source may write: namespaces, cluster-scoped kinds, kinds at all.

use serde_json::Value;

use super::{Finding, Findings};
use crate::base::fault::RuleId;
use crate::base::json;
use crate::base::pointer::Pointer;
use crate::base::resource::GroupVersionKind;
use crate::base::text::escape;
use crate::schema::{KindSchema, names};
use crate::source::spec::SourceSpec;

/// Outside of what the Source may write.
const SCOPE: RuleId = RuleId::new("scope-violation");
/// A namespace on a cluster-scoped object.
const CLUSTER_SCOPED: RuleId = RuleId::new("cluster-scoped");
const BAD_NAME: RuleId = RuleId::new("bad-name");

/// Refuses Holdfast's own kinds; whether the kind is one.
pub(in crate::admission) fn is_own_kind(gvk: &GroupVersionKind, findings: &mut Findings) -> bool {
    if gvk.group != "holdfast.dev" {
        return false;
    }
    let text = format!("{} is Holdfast's own configuration: a Source can't write it", escape(&gvk.kind));
    let hint = "keep it outside of the Source's path, or list it under `ignore`";
    findings.fault(Finding::new(SCOPE, Pointer::of(["kind"]), text).hint(hint));
    true
}

/// The namespace that the object goes into; `Err` if it can't be told.
pub(in crate::admission) fn namespace(
    object: &Value,
    schema: &KindSchema,
    spec: &SourceSpec,
    findings: &mut Findings,
) -> Result<Option<String>, ()> {
    let path = || Pointer::of(["metadata", "namespace"]);
    let given = match json::below(object, &["metadata", "namespace"]) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.as_str()).filter(|text| !text.is_empty()),
        // The schema says that it must be a text.
        Some(_) => return Err(()),
    };
    if !schema.namespaced {
        if let Some(given) = given {
            let text = format!("a {} has no namespace: {} is left out", schema.gvk.kind, escape(given));
            findings.warn(Finding::new(CLUSTER_SCOPED, path(), text));
        }
        return Ok(None);
    }
    let Some(given) = given else {
        let Some(default) = &spec.default_namespace else {
            let text = "the object names no namespace, and the Source has no defaultNamespace";
            findings.fault(Finding::new(SCOPE, Pointer::of(["metadata"]), text).hint("name it in the manifest"));
            return Err(());
        };
        if !spec.may_write_namespace(default) {
            let text = format!("the Source's defaultNamespace {default} is none of its namespaces");
            findings.fault(Finding::new(SCOPE, Pointer::of(["metadata"]), text));
        }
        return Ok(Some(default.clone()));
    };
    if !spec.may_write_namespace(given) {
        let text = format!("the Source {} may not write into namespace {}", spec.name, escape(given));
        let hint = "list it under the Source's `namespaces`, or move the object";
        findings.fault(Finding::new(SCOPE, path(), text).hint(hint));
    } else if let Err(bad) = names::label(given) {
        findings.fault(Finding::new(BAD_NAME, path(), format!("{} can't be a namespace: {bad}", escape(given))));
        return Err(());
    }
    Ok(Some(given.to_owned()))
}

/// Whether the kind, and of a cluster-scoped one the name, is the Source's to write.
pub(in crate::admission) fn kind(schema: &KindSchema, name: Option<&str>, spec: &SourceSpec, findings: &mut Findings) {
    let kind = schema.gvk.group_kind();
    let path = || Pointer::of(["kind"]);
    if !spec.allows_kind(&kind) {
        let text = format!("the Source {} may not write objects of kind {kind}", spec.name);
        findings.fault(Finding::new(SCOPE, path(), text).hint("see the Source's `kinds`"));
        return;
    }
    // Without a name the kind as a whole is asked for, by a name that no pattern but `*` takes.
    if !schema.namespaced && !spec.may_write_cluster(&kind, name.unwrap_or_default()) {
        let what = name.map_or_else(String::new, |name| format!(" named {}", escape(name)));
        let text = format!("the Source {} may not write a cluster-scoped {kind}{what}", spec.name);
        findings
            .fault(Finding::new(SCOPE, path(), text).hint(format!("list {kind} under the Source's `clusterKinds`")));
    }
}
