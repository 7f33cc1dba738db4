//! What the API server serves: kinds, their versions and names in URLs, and the groups that can't be asked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::request::{Ask, Failed, TIMEOUT, escaped, send};
use crate::base::resource::{GroupKind, ResourceId};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// One version of a kind, as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    pub(super) verbs: Vec<String>,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
}

impl Served {
    /// The URL of all objects of the kind, in a namespace or all.
    pub(super) fn list_url(&self, namespace: Option<&str>) -> String {
        let base = if self.group.is_empty() {
            format!("/api/{}", escaped(&self.version))
        } else {
            format!("/apis/{}/{}", escaped(&self.group), escaped(&self.version))
        };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{base}/namespaces/{}/{}", escaped(namespace), escaped(&self.plural)),
            None => format!("{base}/{}", escaped(&self.plural)),
        }
    }

    /// The URL of one object.
    pub(super) fn url(&self, id: &ResourceId) -> String {
        format!("{}/{}", self.list_url(id.namespace.as_deref()), escaped(&id.name))
    }

    /// The `apiVersion` of its objects.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether something can be done with its objects.
    pub(super) fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }
}

/// Everything that is served.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    kinds: BTreeMap<GroupKind, Vec<Served>>,
    /// Groups of which at least one version could not be asked what it serves.
    broken: BTreeSet<String>,
}

impl Discovery {
    /// Asks the API server.
    pub(super) async fn read(client: &kube::Client) -> Result<Self, Failed> {
        let mut found = Self::default();
        for url in ["/api", "/apis"] {
            let answer = send(client, &Ask::get(url, AGGREGATED), TIMEOUT).await?;
            let list: Value = serde_json::from_slice(&answer.body)
                .map_err(|e| Failed::Lost(format!("what it serves can't be read: {e}")))?;
            if list.get("kind").and_then(Value::as_str) != Some("APIGroupDiscoveryList") {
                return Err(Failed::Lost(
                    "the server has no aggregated discovery: it is older than Kubernetes 1.30".into(),
                ));
            }
            found.group_list(&list);
        }
        Ok(found)
    }

    fn group_list(&mut self, list: &Value) {
        for group in array(list, "items") {
            let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            for version in array(group, "versions") {
                if text(version, "freshness") == "Stale" {
                    self.broken.insert(name.to_owned());
                }
                for resource in array(version, "resources") {
                    let kind = resource.get("responseKind").map(|kind| text(kind, "kind")).unwrap_or_default();
                    let verbs = array(resource, "verbs").iter().filter_map(Value::as_str);
                    let served = Served {
                        group: name.to_owned(),
                        version: text(version, "version").to_owned(),
                        plural: text(resource, "resource").to_owned(),
                        namespaced: text(resource, "scope") == "Namespaced",
                        verbs: verbs.map(str::to_owned).collect(),
                        singular: text(resource, "singularResource").to_owned(),
                        short_names: array(resource, "shortNames")
                            .iter()
                            .filter_map(Value::as_str)
                            .map(str::to_owned)
                            .collect(),
                    };
                    self.kinds.entry(GroupKind::new(name, kind)).or_default().push(served);
                }
            }
        }
    }

    /// A kind in a version, or in the one that the server prefers; `None` if it isn't served.
    pub(super) fn find(&self, kind: &GroupKind, api_version: Option<&str>) -> Option<&Served> {
        let all = self.kinds.get(kind)?;
        match api_version {
            Some(wanted) => all.iter().find(|served| served.api_version() == wanted).or(all.first()),
            None => all.first(),
        }
    }

    /// Whether exactly this is served.
    pub(super) fn serves(&self, wanted: &Served) -> bool {
        self.kinds.values().flatten().any(|served| served == wanted)
    }

    /// A kind in exactly this version.
    pub(super) fn exactly(&self, kind: &GroupKind, api_version: &str) -> Option<&Served> {
        self.kinds.get(kind)?.iter().find(|served| served.api_version() == api_version)
    }

    /// Every kind with its versions, the one that the server prefers first.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&GroupKind, &[Served])> {
        self.kinds.iter().map(|(kind, all)| (kind, all.as_slice()))
    }

    /// Every kind whose objects live in namespaces and can be listed, in the version that the server prefers.
    pub(super) fn namespaced(&self) -> impl Iterator<Item = (&GroupKind, &Served)> {
        let first = self.kinds.iter().filter_map(|(kind, all)| Some((kind, all.first()?)));
        first.filter(|(_, served)| served.namespaced && served.can("list"))
    }

    /// Whether a group could not be asked what it serves.
    pub(super) fn is_broken(&self, group: &str) -> bool {
        self.broken.contains(group)
    }

    /// Groups that could not be asked what they serve.
    pub(super) fn broken(&self) -> impl Iterator<Item = &str> {
        self.broken.iter().map(String::as_str)
    }
}

fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
