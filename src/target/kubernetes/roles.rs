//! The least roles that a Source needs: one set for its objects, one for Holdfast's own state.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::base::resource::GroupKind;
use crate::schema::Catalog;
use crate::source::scope::{ClusterKind, ClusterKinds, Namespaces};
use crate::source::spec::SourceSpec;

const READS: [&str; 3] = ["get", "list", "watch"];
/// What an apply of an object takes, and what taking it back takes.
const WRITES: [&str; 3] = ["create", "patch", "delete"];

/// Two sets of roles.
#[derive(Debug, Clone, PartialEq)]
pub struct Roles {
    /// For the account that reads, dry-runs and writes a Source's objects, with bindings where that account is known.
    pub objects: Vec<Value>,
    /// For the account that keeps Holdfast's own state.
    pub state: Vec<Value>,
}

/// A kind of a Source that nobody defines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nobody defines the kind {0}, so its name in URLs isn't known")]
pub struct UnknownKind(pub String);

/// The least roles of a Source; with `read_only` those of a plan that sends nothing, of drift and of status.
///
/// # Errors
/// If the Source names a kind that the catalogue lacks.
pub fn roles(
    spec: &SourceSpec,
    catalog: &Catalog,
    state_namespace: &str,
    read_only: bool,
) -> Result<Roles, UnknownKind> {
    let scope = Scope { spec, catalog, read_only };
    let mut state = scope.state(state_namespace);
    state.extend(scope.own());
    Ok(Roles { objects: scope.objects()?, state })
}

/// Kinds by their API group, as rules name them.
type ByGroup = BTreeMap<String, BTreeSet<String>>;

struct Scope<'a> {
    spec: &'a SourceSpec,
    catalog: &'a Catalog,
    read_only: bool,
}

impl Scope<'_> {
    fn objects(&self) -> Result<Vec<Value>, UnknownKind> {
        let mut inside = Vec::new();
        let mut cluster = self.cluster_kinds()?;
        if self.spec.service_account.is_some() {
            inside.extend(self.events()?);
            inside.extend(rules(&self.namespaced()?, &self.verbs(), None));
        } else {
            let (around, of_cluster) = self.around();
            inside.extend(around);
            cluster.extend(of_cluster);
            if !self.read_only {
                inside.extend(self.events()?);
                inside.extend(rules(&self.namespaced()?, &WRITES, None));
            }
        }
        Ok(self.roles(&format!("holdfast-{}", self.spec.name), inside, cluster))
    }

    /// What is read beside the objects themselves, in the Source's Namespaces and in the cluster: what a delete would take
    /// along, what a quota counts, and what the cluster defines.
    fn around(&self) -> (Vec<Value>, Vec<Value>) {
        let everything = || json!({"apiGroups": ["*"], "resources": ["*"], "verbs": READS});
        let definitions =
            json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": READS});
        let mut namespaces = json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": READS});
        // A list can't be narrowed to names.
        if let Namespaces::Some(names) = &self.spec.namespaces
            && (1..=super::objects::BY_NAME).contains(&names.len())
        {
            namespaces["resourceNames"] = json!(names);
            namespaces["verbs"] = json!(["get"]);
        }
        let mut cluster = vec![definitions, namespaces];
        let is_container =
            |kind: &ClusterKind| ["Namespace", "CustomResourceDefinition"].contains(&kind.kind.kind.as_str());
        let contains = match &self.spec.cluster_kinds {
            ClusterKinds::Any => true,
            ClusterKinds::Some(kinds) => kinds.iter().any(is_container),
        };
        if contains {
            // What goes along with a Namespace or a definition lies anywhere.
            cluster.push(everything());
        }
        (vec![everything()], cluster)
    }

    fn roles(&self, name: &str, inside: Vec<Value>, mut cluster: Vec<Value>) -> Vec<Value> {
        let mut roles = Vec::new();
        match &self.spec.namespaces {
            Namespaces::Any => cluster.extend(inside),
            Namespaces::Some(names) => {
                for namespace in names {
                    roles.extend(self.bound("Role", name, Some(namespace), &inside));
                }
            }
        }
        roles.extend(self.bound("ClusterRole", name, None, &cluster));
        roles
    }

    /// The right to tell at objects, where that is not among the others.
    fn events(&self) -> Result<Option<Value>, UnknownKind> {
        Ok((!self.read_only && !self.namespaced()?.contains_key("*")).then(events))
    }

    fn verbs(&self) -> Vec<&'static str> {
        if self.read_only { READS.to_vec() } else { READS.into_iter().chain(WRITES).collect() }
    }

    fn cluster_kinds(&self) -> Result<Vec<Value>, UnknownKind> {
        let named: Vec<(GroupKind, Option<&Vec<String>>)> = match &self.spec.cluster_kinds {
            ClusterKinds::Any => self.stored(false).into_iter().map(|kind| (kind, None)).collect(),
            ClusterKinds::Some(kinds) => kinds.iter().map(|kind| (kind.kind.clone(), kind.names.as_ref())).collect(),
        };
        let (mut whole, mut few) = (ByGroup::new(), Vec::new());
        for (kind, names) in named.into_iter().filter(|(kind, _)| self.spec.kinds.allows(kind)) {
            let plural = self.plural(&kind)?;
            // RBAC knows no patterns: such a kind is given whole.
            match names.filter(|names| names.iter().all(|name| !name.contains('*'))) {
                Some(names) => few.push((kind.group, plural, names)),
                None => drop(whole.entry(kind.group).or_default().insert(plural)),
            }
        }
        let mut rules = self::rules(&whole, &self.verbs(), None);
        for (group, plural, names) in few {
            let one = ByGroup::from([(group, BTreeSet::from([plural]))]);
            rules.extend(self::rules(&one, &READS, None));
            if !self.read_only {
                rules.extend(self::rules(&one, &WRITES, Some(names)));
            }
        }
        Ok(rules)
    }

    /// The kinds inside Namespaces that the Source may write.
    fn namespaced(&self) -> Result<ByGroup, UnknownKind> {
        let kinds = &self.spec.kinds;
        let everything = kinds.allow.is_empty() && kinds.deny.is_empty();
        if everything && matches!(self.spec.namespaces, Namespaces::Some(_)) {
            return Ok(ByGroup::from([("*".to_owned(), BTreeSet::from(["*".to_owned()]))]));
        }
        let all = if kinds.allow.is_empty() { self.stored(true) } else { kinds.allow.iter().cloned().collect() };
        let mut found = ByGroup::new();
        for kind in all.into_iter().filter(|kind| kinds.allows(kind)) {
            let plural = self.plural(&kind)?;
            if self.catalog.names_of(&kind).is_some_and(|(_, namespaced)| namespaced) {
                found.entry(kind.group).or_default().insert(plural);
            }
        }
        Ok(found)
    }

    fn stored(&self, namespaced: bool) -> Vec<GroupKind> {
        let is = |kind: &GroupKind| self.catalog.names_of(kind).is_some_and(|(_, inside)| inside == namespaced);
        self.catalog.stored_kinds().into_iter().filter(is).collect()
    }

    fn plural(&self, kind: &GroupKind) -> Result<String, UnknownKind> {
        let found = self.catalog.names_of(kind).map(|(plural, _)| plural.to_owned());
        found.ok_or_else(|| UnknownKind(kind.to_string()))
    }

    fn state(&self, namespace: &str) -> Vec<Value> {
        let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
        let name = "holdfast-state";
        let known = json!({"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system", namespace], "verbs": ["get"]});
        if self.read_only {
            let inside = [rule("", "configmaps", &["get", "list"])];
            return vec![role("Role", name, Some(namespace), &inside), role("ClusterRole", name, None, &[known])];
        }
        let inside = [
            rule("", "configmaps", &["get", "list", "create", "update", "delete"]),
            // The journal's body, which may hold values of objects; gone when the apply is.
            rule("", "secrets", &["get", "create", "deletecollection"]),
            rule("coordination.k8s.io", "leases", &["get", "create", "update"]),
            events(),
        ];
        // The first apply makes the Namespace of the state.
        let cluster = [known, rule("", "namespaces", &["create"])];
        vec![role("Role", name, Some(namespace), &inside), role("ClusterRole", name, None, &cluster)]
    }

    /// What Holdfast's own account does for a Source that has one of its own: it reads what is around the objects, and acts as
    /// that account.
    fn own(&self) -> Vec<Value> {
        let Some(account) = &self.spec.service_account else { return Vec::new() };
        let (inside, cluster) = self.around();
        let name = format!("holdfast-{}-own", self.spec.name);
        let unbound = Scope { spec: &SourceSpec { service_account: None, ..self.spec.clone() }, ..*self };
        let mut roles = unbound.roles(&name, inside, cluster);
        let acts = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": [account.name], "verbs": ["impersonate"]});
        roles.push(role("Role", &format!("{name}-acts"), Some(&account.namespace), &[acts]));
        roles
    }

    /// A role, and where the Source names its account, the binding to it.
    fn bound(&self, kind: &str, name: &str, namespace: Option<&str>, rules: &[Value]) -> Vec<Value> {
        if rules.is_empty() {
            return Vec::new();
        }
        let mut both = vec![role(kind, name, namespace, rules)];
        if let Some(account) = &self.spec.service_account {
            let mut binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": format!("{kind}Binding"),
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
            });
            if let Some(namespace) = namespace {
                binding["metadata"]["namespace"] = namespace.into();
            }
            both.push(binding);
        }
        both
    }
}

fn role(kind: &str, name: &str, namespace: Option<&str>, rules: &[Value]) -> Value {
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "rules": rules,
    });
    if let Some(namespace) = namespace {
        role["metadata"]["namespace"] = namespace.into();
    }
    role
}

/// What an apply and the loop tell.
fn events() -> Value {
    json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["get", "create", "patch"]})
}

fn rules(kinds: &ByGroup, verbs: &[&str], names: Option<&Vec<String>>) -> Vec<Value> {
    let rule = |(group, resources): (&String, &BTreeSet<String>)| {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if let Some(names) = names {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    kinds.iter().map(rule).collect()
}
