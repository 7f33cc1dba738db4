//! Which other tool made a live object, read off the marks that it leaves, and whether it would still act on it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::Manager;
use crate::merge::{ManagedFields, MergeError, Operation};

/// A tool that brings objects to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// It acts when somebody runs it, and claims nothing.
    Kubectl,
    /// A release, which the next upgrade writes and an uninstall deletes.
    Helm,
    /// An Application, whose controller writes and prunes.
    Argocd,
    /// A Kustomization or HelmRelease, whose controller writes and prunes.
    Flux,
}

impl Tool {
    /// The word in plans and permissions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl",
            Self::Helm => "helm",
            Self::Argocd => "argocd",
            Self::Flux => "flux",
        }
    }

    /// The field managers under which it writes whole objects. People's edits (`kubectl edit`, `scale`) are not among them.
    fn managers(self) -> &'static [&'static str] {
        match self {
            Self::Kubectl => {
                &["kubectl", "kubectl-client-side-apply", "kubectl-create", "kubectl-last-applied", "kubectl-replace"]
            }
            Self::Helm => &["helm"],
            Self::Argocd => &["argocd-application-controller", "argocd-controller"],
            Self::Flux => &["helm-controller", "kustomize-controller"],
        }
    }
}

/// A tool that made or keeps a live object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keeper {
    /// Which.
    pub tool: Tool,
    /// What of it: how kubectl was used, a release, an Application, a Kustomization or HelmRelease; absent where the marks
    /// don't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Keeper {
    fn new(tool: Tool, name: Option<String>) -> Self {
        Self { tool, name }
    }

    /// As people know it: `Helm (release shop/web)`.
    pub fn shown(&self) -> String {
        let (tool, of) = match self.tool {
            Tool::Kubectl => ("kubectl", ""),
            Tool::Helm => ("Helm", "release "),
            Tool::Argocd => ("Argo CD", "Application "),
            Tool::Flux => ("Flux", ""),
        };
        let name = self.name.as_ref().map(|name| match self.tool {
            Tool::Flux => name.replacen('/', " ", 1),
            _ => name.clone(),
        });
        name.map_or_else(|| tool.to_owned(), |name| format!("{tool} ({of}{name})"))
    }

    /// Whether it would write or delete the object again without anybody asking for this object.
    pub fn claims(&self) -> bool {
        self.tool != Tool::Kubectl
    }
}

/// As permissions name it: `helm/shop/web`, `argocd/shop`, `flux/Kustomization/flux-system/apps`.
impl fmt::Display for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tool.as_str())?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, "/{name}"))
    }
}

/// The tools that made or keep a live object, sorted; none where it bears no marks of any.
///
/// # Errors
/// If its field owners can't be read.
pub fn keepers(live: &Value) -> Result<Vec<Keeper>, MergeError> {
    let owners = ManagedFields::of(live)?;
    let wrote = |names: &[&str]| owners.entries.iter().any(|e| names.contains(&e.manager.as_str()));
    let applied =
        |name: &str| owners.entries.iter().any(|e| e.operation == Operation::Apply && e.manager.as_str() == name);
    let mut found = Vec::new();

    for (kind, mark, manager) in [
        ("Kustomization", "kustomize.toolkit.fluxcd.io", "kustomize-controller"),
        ("HelmRelease", "helm.toolkit.fluxcd.io", "helm-controller"),
    ] {
        let part = |key: &str| text(live, "labels", &format!("{mark}/{key}"));
        let name = named(&[Some(kind), part("namespace"), part("name")]);
        if name.is_some() || wrote(&[manager]) {
            found.push(Keeper::new(Tool::Flux, name));
        }
    }
    // A HelmRelease drives Helm, which marks the object too: it is told once.
    let by_helm = text(live, "annotations", "meta.helm.sh/release-name");
    if found.iter().all(|keeper| !is_helm_release(keeper)) && (by_helm.is_some() || wrote(Tool::Helm.managers())) {
        let name = named(&[text(live, "annotations", "meta.helm.sh/release-namespace"), by_helm]);
        found.push(Keeper::new(Tool::Helm, name));
    }
    let by_argocd = wrote(Tool::Argocd.managers());
    let application = text(live, "annotations", "argocd.argoproj.io/tracking-id")
        .and_then(|id| id.split(':').next())
        .or_else(|| text(live, "labels", "argocd.argoproj.io/instance"))
        // The label that Argo CD uses by default is anybody's.
        .or_else(|| text(live, "labels", "app.kubernetes.io/instance").filter(|_| by_argocd));
    if application.is_some() || by_argocd {
        found.push(Keeper::new(Tool::Argocd, named(&[application])));
    }
    let last_applied = text(live, "annotations", "kubectl.kubernetes.io/last-applied-configuration").is_some();
    let how = [
        // Others leave that annotation too.
        ("client-side apply", wrote(&["kubectl-client-side-apply"]) || (last_applied && found.is_empty())),
        ("server-side apply", applied("kubectl")),
        ("create", wrote(&["kubectl-create", "kubectl-replace"])),
    ];
    for (name, _) in how.into_iter().filter(|(_, is)| *is) {
        found.push(Keeper::new(Tool::Kubectl, Some(name.to_owned())));
    }
    found.sort();
    Ok(found)
}

/// The managers whose hold on what is declared ends when it is taken over from these, as far as the object names them.
pub fn managers_of(keepers: &[Keeper], live: &Value) -> Result<Vec<Manager>, MergeError> {
    let names = |keeper: &Keeper| {
        let drives_helm = if is_helm_release(keeper) { Tool::Helm.managers() } else { &[] };
        [keeper.tool.managers(), drives_helm].concat()
    };
    let all: Vec<&str> = keepers.iter().flat_map(names).collect();
    let owners = ManagedFields::of(live)?;
    let mut held: Vec<Manager> = owners
        .entries
        .into_iter()
        .filter(|entry| entry.subresource.is_empty() && all.contains(&entry.manager.as_str()))
        .map(|entry| entry.manager)
        .collect();
    held.sort();
    held.dedup();
    Ok(held)
}

fn is_helm_release(keeper: &Keeper) -> bool {
    keeper.tool == Tool::Flux && keeper.name.as_ref().is_none_or(|name| name.starts_with("HelmRelease/"))
}

fn text<'v>(live: &'v Value, map: &str, key: &str) -> Option<&'v str> {
    live.get("metadata")?.get(map)?.get(key)?.as_str()
}

/// The parts as one name; `None` if one is missing or is no name: it is outside text, and ends up on command lines.
fn named(parts: &[Option<&str>]) -> Option<String> {
    let plain = |part: &&str| {
        !part.is_empty()
            && part.len() <= 253
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
    };
    let parts: Option<Vec<&str>> = parts.iter().map(|part| part.filter(plain)).collect();
    parts.map(|parts| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(labels: Value, annotations: Value, managers: &[(&str, &str)]) -> Vec<String> {
        let managers: Vec<Value> = managers
            .iter()
            .map(|(manager, operation)| {
                json!({"manager": manager, "operation": operation, "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}})
            })
            .collect();
        let live = json!({"metadata": {"labels": labels, "annotations": annotations, "managedFields": managers}});
        keepers(&live).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_tool_is_told_by_its_marks_and_nobody_where_there_are_none() {
        let none = || json!({});
        let last = || json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
        let csa = ("kubectl-client-side-apply", "Update");
        assert_eq!(told(none(), last(), &[csa]), ["kubectl/client-side apply"]);
        assert_eq!(told(none(), last(), &[]), ["kubectl/client-side apply"]);
        assert_eq!(told(none(), none(), &[("kubectl", "Apply")]), ["kubectl/server-side apply"]);
        let helm = json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"});
        assert_eq!(told(json!({"app.kubernetes.io/managed-by": "Helm"}), helm.clone(), &[]), ["helm/shop/web"]);
        let tracked = json!({"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"});
        assert_eq!(told(none(), tracked, &[]), ["argocd/shop"]);
        // Argo CD writes that annotation of kubectl too.
        assert_eq!(told(json!({"argocd.argoproj.io/instance": "shop"}), last(), &[]), ["argocd/shop"]);
        let instance = || json!({"app.kubernetes.io/instance": "shop"});
        assert_eq!(told(instance(), none(), &[("argocd-controller", "Apply")]), ["argocd/shop"]);
        let flux = json!({"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "fs"});
        assert_eq!(told(flux, none(), &[]), ["flux/Kustomization/fs/apps"]);
        let release = json!({"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop"});
        assert_eq!(told(release, helm, &[]), ["flux/HelmRelease/shop/web"]);
        // What anybody writes: the recommended labels, an edit, a scale.
        let edits = [("kubectl-edit", "Update"), ("kubectl", "Update"), ("holdfast", "Apply")];
        let anybodys = json!({"app.kubernetes.io/instance": "shop", "app.kubernetes.io/managed-by": "Helm"});
        assert_eq!(told(anybodys, none(), &edits), [""; 0]);
        // A name that is none is not told.
        assert_eq!(told(json!({"argocd.argoproj.io/instance": "a b\u{202e}"}), none(), &[]), ["argocd"]);
    }
}
