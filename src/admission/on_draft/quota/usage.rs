//! What the objects of a namespace use of a quota.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::pods::{self, Defaults, plus};
use super::scopes;
use crate::base::map::HashSet;
use crate::base::resource::ResourceId;
use crate::schema::Catalog;
use crate::schema::quantity::Quantity;

/// All objects of one namespace at one time.
pub(super) struct World<'a> {
    objects: Vec<(&'a ResourceId, &'a Value)>,
    /// UIDs of workloads whose pods are counted with them.
    workloads: HashSet<&'a str>,
    defaults: Defaults,
    catalog: &'a Catalog,
}

/// Amounts by resource and object.
#[derive(Default)]
pub(super) struct Usage<'a> {
    amounts: BTreeMap<String, BTreeMap<&'a ResourceId, Quantity>>,
}

impl<'a> Usage<'a> {
    fn add(&mut self, names: &BTreeSet<&str>, name: &str, id: &'a ResourceId, amount: Quantity) {
        if names.contains(name) && amount != Quantity::ZERO {
            let of_name = self.amounts.entry(name.to_owned()).or_default();
            plus(of_name.entry(id).or_insert(Quantity::ZERO), amount);
        }
    }

    /// The sum of a resource.
    pub(super) fn total(&self, name: &str) -> Quantity {
        let mut sum = Quantity::ZERO;
        self.by_object(name).for_each(|(_, amount)| plus(&mut sum, amount));
        sum
    }

    /// What each object uses of a resource, by resource ID.
    pub(super) fn by_object(&self, name: &str) -> impl Iterator<Item = (&'a ResourceId, Quantity)> {
        self.amounts.get(name).into_iter().flatten().map(|(id, amount)| (*id, *amount))
    }

    /// What one object uses of a resource.
    pub(super) fn of(&self, name: &str, id: &ResourceId) -> Quantity {
        self.amounts.get(name).and_then(|of_name| of_name.get(id)).copied().unwrap_or(Quantity::ZERO)
    }
}

impl<'a> World<'a> {
    pub(super) fn new(all: &BTreeMap<&'a ResourceId, &'a Value>, namespace: &str, catalog: &'a Catalog) -> Self {
        let objects: Vec<(&ResourceId, &Value)> = all
            .iter()
            .filter(|(id, _)| id.namespace.as_deref() == Some(namespace))
            .map(|(id, object)| (*id, *object))
            .collect();
        let mut defaults = Defaults::default();
        for (_, range) in objects.iter().filter(|(id, _)| id.is("", "LimitRange")) {
            defaults.add(range);
        }
        let workloads = objects
            .iter()
            .filter(|(id, object)| !id.is("", "Pod") && pods::template(id, object).is_some())
            .filter_map(|(_, object)| object.pointer("/metadata/uid")?.as_str())
            .collect();
        Self { objects, workloads, defaults, catalog }
    }

    /// Containers of a pod and what they don't say of what has to be said.
    pub(super) fn unsaid<'n>(&self, spec: &Value, names: &[&'n str]) -> Vec<(usize, &'n str)> {
        let whole = Defaults::default().of_container(spec);
        let mut missing = Vec::new();
        for (index, container) in spec.get("containers").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let needs = self.defaults.of_container(container);
            for &name in names {
                let said = match name.strip_prefix("limits.") {
                    Some(resource) => needs.limits.contains_key(resource) || whole.limits.contains_key(resource),
                    None => {
                        let resource = name.trim_start_matches("requests.");
                        needs.requests.contains_key(resource) || whole.requests.contains_key(resource)
                    }
                };
                if !said {
                    missing.push((index, name));
                }
            }
        }
        missing
    }

    /// What the objects use of the resources named, as far as the quota counts them.
    pub(super) fn usage(&self, quota: &Value, names: &BTreeSet<&str>) -> Usage<'a> {
        let mut usage = Usage::default();
        let scoped = scopes::is_scoped(quota);
        for &(id, object) in &self.objects {
            if !scoped && !id.is("", "Pod") {
                self.objects_of(&mut usage, names, id, object);
            }
            if id.is("", "PersistentVolumeClaim") && scopes::has_claim(quota, object) {
                claim(&mut usage, names, id, object, 1);
            }
            self.pods_of(&mut usage, names, id, object, quota);
            if id.is("apps", "StatefulSet") {
                self.claims_of(&mut usage, names, id, object, quota);
            }
        }
        usage
    }

    fn objects_of(&self, usage: &mut Usage<'a>, names: &BTreeSet<&str>, id: &'a ResourceId, object: &Value) {
        let one = whole(1);
        // What isn't counted by anybody needs no plural.
        if names.iter().any(|name| name.starts_with("count/")) {
            let kinds = self.catalog.by_group_kind(&id.group_kind());
            let plural = kinds.first().map_or_else(|| format!("{}s", id.kind.to_lowercase()), |k| k.plural.clone());
            let name =
                if id.group.is_empty() { format!("count/{plural}") } else { format!("count/{plural}.{}", id.group) };
            usage.add(names, &name, id, one);
        }
        if !id.group.is_empty() {
            return;
        }
        match id.kind.as_str() {
            "ConfigMap" => usage.add(names, "configmaps", id, one),
            "Secret" => usage.add(names, "secrets", id, one),
            "ReplicationController" => usage.add(names, "replicationcontrollers", id, one),
            "ResourceQuota" => usage.add(names, "resourcequotas", id, one),
            "Service" => {
                usage.add(names, "services", id, one);
                let (ports, balancers) = service(object);
                usage.add(names, "services.nodeports", id, whole(ports));
                usage.add(names, "services.loadbalancers", id, whole(balancers));
            }
            _ => {}
        }
    }

    fn pods_of(
        &self,
        usage: &mut Usage<'a>,
        names: &BTreeSet<&str>,
        id: &'a ResourceId,
        object: &Value,
        quota: &Value,
    ) {
        let Some((_, spec)) = pods::template(id, object) else { return };
        let controller = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
        let mut controllers = controller.filter(|o| o.get("controller") == Some(&Value::Bool(true)));
        let counted =
            |owner: &Value| owner.get("uid").and_then(Value::as_str).is_some_and(|u| self.workloads.contains(u));
        if controllers.any(counted) || !scopes::has_pod(quota, spec) {
            return;
        }
        let count = pods::count(id, object).max(0);
        usage.add(names, "count/pods", id, whole(count));
        if id.is("", "Pod") && pods::has_ended(object) {
            return;
        }
        usage.add(names, "pods", id, whole(count));
        let needs = self.defaults.of_pod(spec);
        for (resource, amount) in needs.requests {
            let amount = amount.checked_mul(count).unwrap_or(amount);
            usage.add(names, &format!("requests.{resource}"), id, amount);
            if matches!(resource.as_str(), "cpu" | "memory" | "ephemeral-storage") || resource.starts_with("hugepages-")
            {
                usage.add(names, &resource, id, amount);
            }
        }
        for (resource, amount) in needs.limits {
            usage.add(names, &format!("limits.{resource}"), id, amount.checked_mul(count).unwrap_or(amount));
        }
    }

    /// The claims that a StatefulSet makes, but for those that are there already.
    fn claims_of(
        &self,
        usage: &mut Usage<'a>,
        names: &BTreeSet<&str>,
        id: &'a ResourceId,
        object: &Value,
        quota: &Value,
    ) {
        let replicas = pods::count(id, object).clamp(0, 10_000);
        let first = object.pointer("/spec/ordinals/start").and_then(Value::as_i64).unwrap_or(0);
        for template in object.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = template.pointer("/metadata/name").and_then(Value::as_str) else { continue };
            if !scopes::has_claim(quota, template) {
                continue;
            }
            let prefix = format!("{name}-{}-", id.name);
            let there = self.objects.iter().filter(|(other, _)| {
                other.is("", "PersistentVolumeClaim")
                    && other
                        .name
                        .strip_prefix(&prefix)
                        .and_then(|n| n.parse::<i64>().ok())
                        .is_some_and(|ordinal| (first..first.saturating_add(replicas)).contains(&ordinal))
            });
            let there = i64::try_from(there.count()).unwrap_or(replicas);
            claim(usage, names, id, template, (replicas - there).max(0));
        }
    }
}

fn whole(count: i64) -> Quantity {
    Quantity::of_value(&Value::from(count)).unwrap_or(Quantity::ZERO)
}

fn claim<'a>(usage: &mut Usage<'a>, names: &BTreeSet<&str>, id: &'a ResourceId, claim: &Value, count: i64) {
    let storage = claim.pointer("/spec/resources/requests/storage").and_then(|v| Quantity::of_value(v).ok());
    let storage = storage.and_then(|s| s.checked_mul(count)).unwrap_or(Quantity::ZERO);
    usage.add(names, "persistentvolumeclaims", id, whole(count));
    usage.add(names, "requests.storage", id, storage);
    if !id.is("", "PersistentVolumeClaim") {
        usage.add(names, "count/persistentvolumeclaims", id, whole(count));
    }
    let annotation = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";
    let class = claim.pointer(annotation).or_else(|| claim.pointer("/spec/storageClassName")).and_then(Value::as_str);
    if let Some(class) = class {
        let of_class = format!("{class}.storageclass.storage.k8s.io");
        usage.add(names, &format!("{of_class}/persistentvolumeclaims"), id, whole(count));
        usage.add(names, &format!("{of_class}/requests.storage"), id, storage);
    }
}

/// The node ports and load balancers that a Service takes.
fn service(object: &Value) -> (i64, i64) {
    let ports = object.pointer("/spec/ports").and_then(Value::as_array);
    let all = ports.map_or(0, |list| i64::try_from(list.len()).unwrap_or(i64::MAX));
    match object.pointer("/spec/type").and_then(Value::as_str) {
        Some("NodePort") => (all, 0),
        Some("LoadBalancer") if object.pointer("/spec/allocateLoadBalancerNodePorts") == Some(&Value::Bool(false)) => {
            let asked =
                ports.into_iter().flatten().filter(|p| p.get("nodePort").and_then(Value::as_i64).unwrap_or(0) > 0);
            (i64::try_from(asked.count()).unwrap_or(i64::MAX), 1)
        }
        Some("LoadBalancer") => (all, 1),
        _ => (0, 0),
    }
}
