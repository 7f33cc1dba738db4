//! A cluster as the target of the cases: written and read by somebody outside, and emptied between two worlds.

use std::collections::BTreeSet;
use std::path::Path;

use holdfast::base::path::RepoPath;
use holdfast::manifest::{Limits, read_objects};
use http::Method;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::hand::Hand;
use crate::ids::Id;
use crate::verdict::{Done, Stop};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A control plane, and what it had when it was new.
pub(crate) struct Cluster {
    plane: ControlPlane,
    hand: Hand,
    built_in: BTreeSet<String>,
}

/// A kind as it is served.
struct Served {
    group: String,
    kind: String,
    base: String,
    plural: String,
    namespaced: bool,
    has_status: bool,
    verbs: Vec<String>,
}

impl Served {
    fn collection(&self, namespace: &str) -> String {
        if self.namespaced && !namespace.is_empty() {
            format!("{}/namespaces/{namespace}/{}", self.base, self.plural)
        } else {
            format!("{}/{}", self.base, self.plural)
        }
    }

    fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether all that differs in an object was written by the cluster's own controllers.
pub(crate) fn is_controllers_work(before: &Value, now: &Value) -> bool {
    let entries = |object: &Value| list(&object["metadata"], "managedFields").to_vec();
    let (before, now) = (entries(before), entries(now));
    let differing = || {
        let gone = before.iter().filter(|entry| !now.contains(entry));
        gone.chain(now.iter().filter(|entry| !before.contains(entry)))
    };
    differing().next().is_some() && differing().all(|entry| entry["manager"] == "kube-controller-manager")
}

impl Cluster {
    /// Starts one; `None` where there can be none.
    pub(crate) fn start() -> Option<Self> {
        let plane = ControlPlane::start()?;
        let hand = plane.hand();
        hand.until("the cluster has its own objects", || hand.get("/api/v1/namespaces/default").is_some());
        let mut cluster = Self { plane, hand, built_in: BTreeSet::new() };
        cluster.built_in = cluster.cluster_scoped().into_iter().collect();
        Some(cluster)
    }

    /// Its kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.plane.kubeconfig
    }

    fn ask(&self, method: Method, url: &str, body: Option<&Value>) -> (u16, Value) {
        self.hand.ask(method, url, "application/json", body).unwrap_or((0, Value::Null))
    }

    fn kinds(&self) -> Vec<Served> {
        let mut found = Vec::new();
        for root in ["/api", "/apis"] {
            let answer = self.hand.accepting(root, AGGREGATED);
            let Some((200, groups)) = answer else { panic!("{root}: {answer:?}") };
            for group in list(&groups, "items") {
                let name = text(group, "/metadata/name");
                for version in list(group, "versions") {
                    let base = match name {
                        "" => format!("/api/{}", text(version, "/version")),
                        name => format!("/apis/{name}/{}", text(version, "/version")),
                    };
                    for resource in list(version, "resources") {
                        let status = list(resource, "subresources").iter().any(|s| text(s, "/subresource") == "status");
                        found.push(Served {
                            group: name.to_owned(),
                            kind: text(resource, "/responseKind/kind").to_owned(),
                            base: base.clone(),
                            plural: text(resource, "/resource").to_owned(),
                            namespaced: text(resource, "/scope") == "Namespaced",
                            has_status: status,
                            verbs: list(resource, "verbs")
                                .iter()
                                .filter_map(Value::as_str)
                                .map(str::to_owned)
                                .collect(),
                        });
                    }
                }
            }
        }
        found
    }

    fn kind_of(&self, object: &Value) -> Done<Served> {
        let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let base = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let found = self.kinds().into_iter().find(|served| served.base == base && served.kind == kind);
        found.ok_or_else(|| Stop::Failed(format!("the cluster doesn't serve {version} {kind}")))
    }

    fn url(&self, id: &Id) -> Option<String> {
        let group = if id.group == "core" { "" } else { id.group.as_str() };
        let namespace = if id.namespace == "-" { "" } else { id.namespace.as_str() };
        let served = self.kinds().into_iter().find(|served| served.group == group && served.kind == id.kind)?;
        Some(format!("{}/{}", served.collection(namespace), id.name))
    }

    /// A live object.
    pub(crate) fn get(&self, id: &Id) -> Done<Option<Value>> {
        let Some(url) = self.url(id) else { return Ok(None) };
        match self.ask(Method::GET, &url, None) {
            (200, object) => Ok(Some(object)),
            (404, _) => Ok(None),
            (code, answer) => Err(Stop::Failed(format!("{url}: {code} {answer}"))),
        }
    }

    /// Makes or replaces the objects of files.
    pub(crate) fn put(&self, files: &[std::path::PathBuf], actor: &str) -> Done {
        for file in files {
            let name = RepoPath::from(file.to_string_lossy().as_ref());
            let reading = read_objects(&name, std::fs::read(file)?, &Limits::default());
            for document in reading.documents {
                self.put_one(&document.value, actor)?;
            }
        }
        Ok(())
    }

    fn put_one(&self, object: &Value, actor: &str) -> Done {
        let served = self.kind_of(object)?;
        let collection = served.collection(text(object, "/metadata/namespace"));
        let url = format!("{collection}/{}", text(object, "/metadata/name"));
        let mut new = object.clone();
        let metadata = new["metadata"].as_object_mut().ok_or_else(|| "an object without metadata".to_owned())?;
        for key in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(key);
        }
        let there = self.ask(Method::GET, &url, None);
        let (code, answer) = if there.0 == 200 {
            new["metadata"]["resourceVersion"] = there.1["metadata"]["resourceVersion"].clone();
            self.ask(Method::PUT, &format!("{url}?fieldManager={actor}"), Some(&new))
        } else {
            self.ask(Method::POST, &format!("{collection}?fieldManager={actor}"), Some(&new))
        };
        if code >= 300 || code == 0 {
            return Err(Stop::Failed(format!("put {url}: {code} {answer}")));
        }
        if let (true, Some(status)) = (served.has_status, object.get("status")) {
            let mut with = answer.clone();
            with["status"] = status.clone();
            self.ask(Method::PUT, &format!("{url}/status?fieldManager={actor}"), Some(&with));
        }
        if text(object, "/kind") == "CustomResourceDefinition" {
            let kind = text(object, "/spec/names/kind");
            self.hand.until("the definition is served", || self.kinds().iter().any(|served| served.kind == kind));
        }
        Ok(())
    }

    /// Deletes objects, and waits until they are gone.
    pub(crate) fn delete(&self, ids: &[Id]) -> Done {
        for id in ids {
            let url = self.url(id).ok_or_else(|| Stop::Failed(format!("{id}: its kind isn't served")))?;
            self.hand.delete(&url);
        }
        Ok(())
    }

    /// Everything that somebody made, without what moves by itself.
    pub(crate) fn all(&self) -> Value {
        let mut items = Vec::new();
        for served in self.kinds().into_iter().filter(|served| served.can("list") && served.can("delete")) {
            if matches!(served.kind.as_str(), "Event" | "Lease" | "EndpointSlice" | "Endpoints") {
                continue;
            }
            for mut item in self.items(&served) {
                let namespace = text(&item, "/metadata/namespace").to_owned();
                let of_itself =
                    namespace.starts_with("kube-") || namespace == "default" || namespace.starts_with("holdfast-");
                let name = text(&item, "/metadata/name").to_owned();
                let url = format!("{}/{name}", served.collection(""));
                let holdfasts = served.kind == "Namespace" && name.starts_with("holdfast-");
                // What controllers make and change by themselves.
                let controlled =
                    list(&item["metadata"], "ownerReferences").iter().any(|owner| owner["controller"] == true)
                        || name == "kube-root-ca.crt"
                        || (served.kind == "ServiceAccount" && name == "default");
                if of_itself || holdfasts || controlled || (namespace.is_empty() && self.built_in.contains(&url)) {
                    continue;
                }
                item["apiVersion"] = served.base.trim_start_matches("/apis/").trim_start_matches("/api/").into();
                item["kind"] = served.kind.as_str().into();
                item.as_object_mut().map(|map| map.remove("status"));
                if let Some(metadata) = item["metadata"].as_object_mut() {
                    metadata.remove("resourceVersion");
                }
                items.push(item);
            }
        }
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }

    /// The URLs of all objects that are in no namespace.
    fn cluster_scoped(&self) -> Vec<String> {
        let mut urls = Vec::new();
        for served in self.kinds().iter().filter(|s| !s.namespaced && s.can("list") && s.can("delete")) {
            let found = self.items(served);
            let names = found.iter().map(|item| text(item, "/metadata/name"));
            urls.extend(names.map(|name| format!("{}/{name}", served.collection(""))));
        }
        urls
    }

    /// Takes away everything that somebody made, over and over: what a killed command had asked for may still come.
    pub(crate) fn empty(&self) {
        let mut looks = 0;
        self.hand.until_none("of what somebody made", || {
            looks += 1;
            self.clear(looks > 20)
        });
    }

    /// Asks for everything that somebody made to go, and tells what there was. With `force` nothing may hold it.
    fn clear(&self, force: bool) -> Vec<String> {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
        let made: Vec<String> = self.cluster_scoped().into_iter().filter(|url| !self.built_in.contains(url)).collect();
        let namespaces: Vec<&str> = made.iter().filter_map(|url| url.strip_prefix("/api/v1/namespaces/")).collect();
        // What judges writes goes first.
        let (judges, others): (Vec<&String>, Vec<&String>) =
            made.iter().partition(|url| url.contains("admissionregistration"));
        for url in judges.into_iter().chain(others.iter().copied().filter(|url| url.contains("/namespaces/"))) {
            self.ask(Method::DELETE, url, Some(&options));
        }
        // A Namespace that is let go too early leaves in the store what is still in it.
        let inside: Vec<String> = match namespaces.is_empty() {
            true => Vec::new(),
            false => self.kinds().iter().flat_map(|served| self.inside(served, &namespaces)).collect(),
        };
        for url in &inside {
            self.ask(Method::DELETE, url, Some(&options));
            if force {
                let free = json!({"metadata": {"finalizers": null}});
                self.hand.ask(Method::PATCH, url, "application/merge-patch+json", Some(&free));
            }
        }
        if inside.is_empty() {
            for namespace in &namespaces {
                let bare = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}, "spec": {"finalizers": []}});
                self.ask(Method::PUT, &format!("/api/v1/namespaces/{namespace}/finalize"), Some(&bare));
            }
            for url in others.iter().filter(|url| !url.contains("/namespaces/")) {
                self.ask(Method::DELETE, url, Some(&options));
            }
        }
        inside.into_iter().chain(made).collect()
    }

    /// The URLs of what there is of a kind in these Namespaces.
    fn inside(&self, served: &Served, namespaces: &[&str]) -> Vec<String> {
        if !served.namespaced || !served.can("list") || !served.can("delete") {
            return Vec::new();
        }
        let place = |item: &Value| {
            let (namespace, name) = (text(item, "/metadata/namespace"), text(item, "/metadata/name"));
            namespaces.contains(&namespace).then(|| format!("{}/{name}", served.collection(namespace)))
        };
        self.items(served).iter().filter_map(place).collect()
    }

    /// What there is of a kind; nothing where it was served no longer.
    fn items(&self, served: &Served) -> Vec<Value> {
        let url = served.collection("");
        let mut items = Vec::new();
        self.hand.until(&url, || match self.ask(Method::GET, &url, None) {
            (200, found) => {
                items = list(&found, "items").to_vec();
                true
            }
            (404, _) => true,
            // The store of a new definition isn't there at once.
            (429, _) => false,
            (code, answer) => panic!("{url}: {code} {answer}"),
        });
        items
    }
}
