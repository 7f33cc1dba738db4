//! Kinds that a CustomResourceDefinition defines.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::catalog::{KindSchema, Origin};
use super::fault::{SchemaFault, rule};
use super::names;
use super::path::{Out, Path};
use crate::base::resource::{GroupKind, GroupVersionKind};

mod junctor;
mod structural;

/// What can be done with objects of any CRD.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A CustomResourceDefinition, read.
#[derive(Debug, Clone)]
pub struct Crd {
    name: String,
    group: String,
    kind: String,
    plural: String,
    namespaced: bool,
    others: Vec<String>,
    storage: String,
    served: Vec<Arc<KindSchema>>,
}

/// The kind that a CustomResourceDefinition, even a broken one, says that it defines.
pub fn defined_kind(definition: &Value) -> Option<GroupKind> {
    let text = |at: &str| definition.pointer(at).and_then(Value::as_str);
    Some(GroupKind::new(text("/spec/group")?, text("/spec/names/kind")?))
}

impl Crd {
    /// Reads a CustomResourceDefinition (`apiextensions.k8s.io/v1`). Its shape is judged by [`super::check`] as that of
    /// any object; this judges what makes it a definition.
    ///
    /// # Errors
    /// Everything that keeps it from being served: names, scope, versions, schemas that aren't structural.
    pub fn read(value: &Value) -> Result<Self, Vec<SchemaFault>> {
        let mut out = Out::default();
        let crd = read(value, &mut out);
        match crd {
            Some(crd) if out.faults.is_empty() => Ok(crd),
            _ => {
                if out.faults.is_empty() {
                    out.add(rule::BAD_CRD, &Path::ROOT, "the definition has no spec that can be read");
                }
                Err(out.faults)
            }
        }
    }

    /// The name of the definition itself, such as `widgets.example.com`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The group and kind that it defines.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    /// The group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name in URLs.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// Whether its objects live in namespaces.
    pub fn namespaced(&self) -> bool {
        self.namespaced
    }

    /// The version that the target stores.
    pub fn storage_version(&self) -> &str {
        &self.storage
    }

    /// A version, if it is served.
    pub fn version(&self, version: &str) -> Option<&Arc<KindSchema>> {
        self.served.iter().find(|kind| kind.gvk.version == version)
    }

    /// The names of the versions that are served.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.served.iter().map(|kind| kind.gvk.version.as_str())
    }

    /// The versions that are served, the stored one first.
    pub fn served(&self) -> Vec<Arc<KindSchema>> {
        let mut served = self.served.clone();
        served.sort_by_key(|kind| kind.gvk.version != self.storage);
        served
    }

    /// Plural, singular and short names.
    pub(super) fn other_names(&self) -> impl Iterator<Item = &str> {
        self.others.iter().map(String::as_str)
    }
}

/// A text that must be there. That it is missing is said by the check of its shape.
fn text<'v>(map: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    map.get(key).and_then(Value::as_str)
}

fn read(value: &Value, out: &mut Out) -> Option<Crd> {
    let at = Path::ROOT.key("spec");
    let spec = value.get("spec")?.as_object()?;
    let names = spec.get("names")?.as_object()?;
    let (group, kind, plural) = (text(spec, "group")?, text(names, "kind")?, text(names, "plural")?);
    named(names::subdomain(group), &at.key("group"), out);
    if !group.contains('.') {
        out.add(rule::BAD_CRD, &at.key("group"), "the group of a CRD has at least one dot in it");
    }
    let at_names = at.key("names");
    named(names::label_1035(plural), &at_names.key("plural"), out);
    named(names::label_1035(&kind.to_ascii_lowercase()), &at_names.key("kind"), out);

    let metadata = value.get("metadata").and_then(Value::as_object);
    let name = metadata.and_then(|m| text(m, "name")).unwrap_or_default();
    if name != format!("{plural}.{group}") {
        let at = Path::ROOT.key("metadata");
        out.add(rule::BAD_NAME, &at.key("name"), format!("the name of this CRD must be {plural}.{group}"));
    }
    approved(group, metadata, out);
    let namespaced = match text(spec, "scope")? {
        "Namespaced" => true,
        "Cluster" => false,
        _ => {
            out.add(rule::OUT_OF_RANGE, &at.key("scope"), "scope must be Namespaced or Cluster");
            false
        }
    };
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(true)) {
        out.add(rule::BAD_CRD, &at.key("preserveUnknownFields"), "preserveUnknownFields must be false in v1");
    }

    let singular = text(names, "singular").map_or_else(|| kind.to_ascii_lowercase(), str::to_owned);
    let shorts = names.get("shortNames").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let others = [plural.to_owned(), singular].into_iter().chain(shorts.map(str::to_owned)).collect();
    let mut crd = Crd {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        namespaced,
        others,
        storage: String::new(),
        served: Vec::new(),
    };
    versions(&mut crd, spec.get("versions")?.as_array()?, &at.key("versions"), out);
    Some(crd)
}

fn named(good: Result<(), names::BadName>, path: &Path<'_>, out: &mut Out) {
    if let Err(why) = good {
        out.add(rule::BAD_NAME, path, why.to_string());
    }
}

/// Groups of the community need an approval in an annotation (apiextensions, `ValidateCustomResourceDefinition`).
fn approved(group: &str, metadata: Option<&Map<String, Value>>, out: &mut Out) {
    const APPROVED: &str = "api-approved.kubernetes.io";
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|top| group == *top || group.strip_suffix(top).is_some_and(|rest| rest.ends_with('.')));
    let has = metadata.and_then(|m| m.get("annotations")).is_some_and(|a| a.get(APPROVED).is_some());
    if protected && !has {
        let text = format!("the group {group} belongs to Kubernetes: the annotation {APPROVED} is required");
        out.add(rule::BAD_CRD, &Path::ROOT.key("metadata"), text);
    }
}

fn versions(crd: &mut Crd, list: &[Value], path: &Path<'_>, out: &mut Out) {
    let mut seen: Vec<&str> = Vec::new();
    let mut stored = 0;
    for (index, version) in list.iter().enumerate() {
        let at = path.index(index);
        let Some(map) = version.as_object() else { continue };
        let Some(name) = text(map, "name") else { continue };
        named(names::label_1035(name), &at.key("name"), out);
        if seen.contains(&name) {
            out.add(rule::DUPLICATE_LIST_KEY, &at.key("name"), format!("the version {name} is there twice"));
        }
        seen.push(name);
        if map.get("storage") == Some(&Value::Bool(true)) {
            stored += 1;
            name.clone_into(&mut crd.storage);
        }
        let at_schema = at.key("schema");
        let Some(schema) = version.pointer("/schema/openAPIV3Schema").filter(|s| s.is_object()) else {
            out.add(rule::BAD_CRD, &at, format!("the version {name} has no schema.openAPIV3Schema"));
            continue;
        };
        let root = structural::root(schema, &at_schema.key("openAPIV3Schema"), out);
        if map.get("served") != Some(&Value::Bool(true)) {
            continue;
        }
        crd.served.push(Arc::new(KindSchema {
            gvk: GroupVersionKind { group: crd.group.clone(), version: name.to_owned(), kind: crd.kind.clone() },
            plural: crd.plural.clone(),
            namespaced: crd.namespaced,
            root: root.into(),
            origin: Origin::Crd,
            verbs: VERBS.iter().map(|verb| (*verb).to_owned()).collect(),
            has_status: version.pointer("/subresources/status").is_some_and(|s| !s.is_null()),
        }));
    }
    if stored != 1 {
        let text = format!("{stored} versions have storage: true and exactly one must");
        out.add(rule::BAD_CRD, path, text);
    }
}
