//! The digest of what decides a plan in a Source.

use serde_json::{Value, json};

use crate::base::digest::of_value;
use crate::base::ids::Digest;

use super::scope::{ClusterKinds, Namespaces};
use super::spec::{Policy, SourceSpec};

/// Raised whenever the form below changes its meaning.
const FORM: u64 = 1;

pub(super) fn of_spec(spec: &SourceSpec) -> Digest {
    // Taken apart field by field, so that a new field must be placed on one side or the other.
    let SourceSpec {
        name,
        repository: _,
        ref_: _,
        path,
        target: _,
        namespaces,
        default_namespace,
        cluster_kinds,
        kinds,
        ignore,
        permit_in_git,
        prune,
        prune_budget,
        drift: _,
        ignore_drift,
        sensitive,
        ambiguous_scalars,
        policies,
        interval: _,
        apply: _,
        health_timeout: _,
        allow_rewind: _,
        service_account,
    } = spec;
    let ignore_drift: Vec<Value> = ignore_drift
        .iter()
        .map(|i| {
            json!({"kind": i.kind.to_string(), "name": i.name, "namespace": i.namespace, "pointers": i.pointers,
                "manager": i.manager})
        })
        .collect();
    let sensitive: Vec<Value> =
        sensitive.iter().map(|s| json!({"kind": s.kind.to_string(), "pointers": s.pointers})).collect();
    of_value(&json!({
        "form": FORM,
        "name": name,
        // As a list of numbers, since a path may be no text.
        "path": path.as_bytes(),
        "namespaces": match namespaces { Namespaces::Any => json!("*"), Namespaces::Some(names) => json!(names) },
        "defaultNamespace": default_namespace,
        "clusterKinds": cluster(cluster_kinds),
        "allow": texts(&kinds.allow),
        "deny": texts(&kinds.deny),
        "ignore": ignore,
        "permitInGit": permit_in_git.iter().map(|p| p.as_str()).collect::<Vec<_>>(),
        "prune": prune,
        "pruneBudget": [prune_budget.objects, u64::from(prune_budget.percent)],
        "ignoreDrift": ignore_drift,
        "sensitive": sensitive,
        "ambiguousScalars": ambiguous_scalars.as_str(),
        "policies": policies.iter().map(policy).collect::<Vec<_>>(),
        "serviceAccount": service_account.as_ref().map(|a| json!([a.namespace, a.name])),
    }))
}

/// Where a Source's commits come from.
pub(super) fn of_origin(spec: &SourceSpec) -> Digest {
    of_value(&json!({"form": FORM, "repository": spec.repository.named(), "path": spec.path.as_bytes()}))
}

fn texts<T: ToString>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

fn cluster(kinds: &ClusterKinds) -> Value {
    match kinds {
        ClusterKinds::Any => json!("*"),
        ClusterKinds::Some(kinds) => {
            // The order means nothing, so it must not make a plan stale.
            let mut kinds: Vec<_> = kinds.iter().collect();
            kinds.sort();
            kinds.iter().map(|k| json!({"kind": k.kind.to_string(), "names": k.names})).collect()
        }
    }
}

fn policy(policy: &Policy) -> Value {
    match policy {
        Policy::Named { rule, effect } => json!({"rule": rule, "effect": effect.as_str()}),
        Policy::Cel { name, kinds, cel, message, effect } => json!({
            "name": name, "kinds": texts(kinds), "cel": cel, "message": message, "effect": effect.as_str(),
        }),
    }
}
