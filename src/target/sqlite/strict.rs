//! What the target refuses by itself, as an API server without webhooks would.

use std::sync::Arc;

use serde_json::Value;

use super::object::meta_text;
use crate::base::fault::{Fault, RuleId};
use crate::base::pointer::Pointer;
use crate::base::resource::{GroupVersionKind, ResourceId};
use crate::schema::crd::Crd;
use crate::schema::{Catalog, KindSchema, SchemaFault, check_update, names, rule};

/// A document that is no object.
pub const NOT_A_MANIFEST: RuleId = RuleId::new("not-a-manifest");
/// An object without a name.
pub const GENERATE_NAME: RuleId = RuleId::new("generate-name");
/// A cluster-scoped object with a namespace.
pub const SCOPE: RuleId = RuleId::new("scope-violation");
/// A Namespace that isn't there.
pub const MISSING_NAMESPACE: RuleId = RuleId::new("missing-namespace");
/// A UID or resourceVersion in the body that the live object doesn't have.
pub const CONFLICT: RuleId = RuleId::new("conflict");
/// An object that isn't there.
pub const NOT_FOUND: RuleId = RuleId::new("not-found");
/// A Namespace that a cluster can't be without.
pub const SYSTEM_OBJECT: RuleId = RuleId::new("system-object");

/// Namespaces that no API server deletes (its admission plugin NamespaceLifecycle).
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Which resource an object put by hand is, and its schema. One in no namespace is in `default`, as kubectl has it.
pub(super) fn identify(catalog: &Catalog, object: &Value) -> Result<(ResourceId, Arc<KindSchema>), Vec<Fault>> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("apiVersion"), text("kind"), meta_text(object, "name"));
    if !object.is_object() || api_version.is_empty() || kind.is_empty() {
        return Err(vec![Fault::new(NOT_A_MANIFEST, "an object has apiVersion, kind and metadata.name")]);
    }
    let gvk = GroupVersionKind::new(api_version, kind);
    let namespace = meta_text(object, "namespace");
    let mut id = ResourceId {
        group: gvk.group.clone(),
        kind: gvk.kind.clone(),
        namespace: Some(namespace.to_owned()).filter(|n| !n.is_empty()),
        name: name.to_owned(),
    };
    if name.is_empty() {
        let generated = !meta_text(object, "generateName").is_empty();
        let text = if generated { "generateName makes a new object each time; give a name" } else { "it has no name" };
        return Err(vec![Fault::new(if generated { GENERATE_NAME } else { NOT_A_MANIFEST }, text)]);
    }
    let schema = served(catalog, &gvk).map_err(|fault| vec![fault.id(id.clone())])?;
    if !schema.namespaced && id.namespace.is_some() {
        let at = Pointer::of(["metadata", "namespace"]);
        return Err(vec![Fault::new(SCOPE, "its kind is cluster-scoped: it has no namespace").path(at).id(id)]);
    }
    if schema.namespaced && id.namespace.is_none() {
        id.namespace = Some("default".to_owned());
    }
    Ok((id, schema))
}

/// The schema of a kind whose objects are stored.
pub(super) fn served(catalog: &Catalog, gvk: &GroupVersionKind) -> Result<Arc<KindSchema>, Box<Fault>> {
    match catalog.resolve(gvk) {
        Ok(schema) if schema.is_stored() => Ok(schema),
        Ok(_) => Err(Box::new(Fault::new(rule::UNKNOWN_KIND, format!("{} is answered and never stored", gvk.kind)))),
        Err(unknown) => Err(Box::new(Fault::from(SchemaFault::from(unknown)))),
    }
}

/// Everything that is wrong in an object as it would be stored.
pub(super) fn judge(schema: &KindSchema, id: &ResourceId, object: &Value, live: Option<&Value>) -> Vec<Fault> {
    let mut faults: Vec<SchemaFault> = check_update(schema, object, live);
    if let Err(bad) = names::check(&id.group_kind(), &id.name) {
        faults.push(SchemaFault::new(rule::BAD_NAME, Pointer::of(["metadata", "name"]), bad.to_string()));
    }
    if id.is_definition()
        && faults.is_empty()
        && let Err(bad) = Crd::read(object)
    {
        faults.extend(bad);
    }
    faults.into_iter().map(|fault| Fault::from(fault).id(id.clone())).collect()
}

/// That an object's Namespace isn't there.
pub(super) fn missing_namespace(id: &ResourceId) -> Fault {
    let namespace = id.namespace.as_deref().unwrap_or_default();
    let at = Pointer::of(["metadata", "namespace"]);
    Fault::new(MISSING_NAMESPACE, format!("there is no Namespace {namespace}")).path(at).id(id.clone())
}

/// Whether an object can't be deleted at all.
pub(super) fn is_immortal(id: &ResourceId) -> bool {
    id.is_namespace() && IMMORTAL.contains(&id.name.as_str())
}
