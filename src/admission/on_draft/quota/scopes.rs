//! Which pods a quota with scopes counts (`pkg/quota/v1/evaluator/core`, `podMatchesScopeFunc`).

use serde_json::Value;

struct Selector<'v> {
    scope: &'v str,
    operator: &'v str,
    values: Vec<&'v str>,
}

fn selectors(quota: &Value) -> Vec<Selector<'_>> {
    let named = quota.pointer("/spec/scopes").and_then(Value::as_array).into_iter().flatten();
    let mut all: Vec<Selector<'_>> = named
        .filter_map(Value::as_str)
        .map(|scope| Selector { scope, operator: "Exists", values: Vec::new() })
        .collect();
    let selected = quota.pointer("/spec/scopeSelector/matchExpressions").and_then(Value::as_array);
    for expression in selected.into_iter().flatten() {
        let text = |key: &str| expression.get(key).and_then(Value::as_str).unwrap_or_default();
        let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        all.push(Selector {
            scope: text("scopeName"),
            operator: text("operator"),
            values: values.filter_map(Value::as_str).collect(),
        });
    }
    all
}

/// Whether a quota counts some objects only.
pub(super) fn is_scoped(quota: &Value) -> bool {
    !selectors(quota).is_empty()
}

/// Whether a quota counts pods of this specification.
pub(super) fn has_pod(quota: &Value, spec: &Value) -> bool {
    selectors(quota).iter().all(|selector| match selector.scope {
        "Terminating" => has_deadline(spec),
        "NotTerminating" => !has_deadline(spec),
        "BestEffort" => is_best_effort(spec),
        "NotBestEffort" => !is_best_effort(spec),
        "PriorityClass" => by_name(selector, spec.get("priorityClassName").and_then(Value::as_str)),
        "CrossNamespacePodAffinity" => crosses_namespaces(spec),
        // VolumeAttributesClass, and whatever comes later: no pods.
        _ => false,
    })
}

/// Whether a quota counts this claim.
pub(super) fn has_claim(quota: &Value, claim: &Value) -> bool {
    let class = claim.pointer("/spec/volumeAttributesClassName").and_then(Value::as_str);
    selectors(quota).iter().all(|selector| selector.scope == "VolumeAttributesClass" && by_name(selector, class))
}

fn by_name(selector: &Selector<'_>, name: Option<&str>) -> bool {
    let name = name.filter(|name| !name.is_empty());
    match selector.operator {
        "In" => name.is_some_and(|name| selector.values.contains(&name)),
        "NotIn" => name.is_none_or(|name| !selector.values.contains(&name)),
        "DoesNotExist" => name.is_none(),
        _ => name.is_some(),
    }
}

fn has_deadline(spec: &Value) -> bool {
    spec.get("activeDeadlineSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds >= 0)
}

/// Whether no container asks for cpu or memory.
fn is_best_effort(spec: &Value) -> bool {
    let asks = |holder: &Value| {
        ["requests", "limits"].iter().any(|part| {
            let resources = holder.get("resources").and_then(|r| r.get(part)).and_then(Value::as_object);
            resources.is_some_and(|r| r.contains_key("cpu") || r.contains_key("memory"))
        })
    };
    let containers = ["containers", "initContainers"].into_iter().filter_map(|key| spec.get(key)?.as_array()).flatten();
    !asks(spec) && !containers.into_iter().any(asks)
}

fn crosses_namespaces(spec: &Value) -> bool {
    fn term(term: &Value) -> bool {
        let names = term.get("namespaces").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        names || term.get("namespaceSelector").is_some_and(|s| !s.is_null())
    }
    ["podAffinity", "podAntiAffinity"].iter().filter_map(|kind| spec.get("affinity")?.get(kind)).any(|affinity| {
        let list = |key: &str| affinity.get(key).and_then(Value::as_array).into_iter().flatten();
        list("requiredDuringSchedulingIgnoredDuringExecution").any(term)
            || list("preferredDuringSchedulingIgnoredDuringExecution")
                .any(|weighted| weighted.get("podAffinityTerm").is_some_and(term))
    })
}
