//! Workloads: selectors and templates, Jobs, autoscalers, budgets.

use serde_json::{Map, Value};

use super::{given, pod, structs, text};
use crate::base::json;
use crate::schema::fault::rule;
use crate::schema::path::{Out, Path};

/// Of Deployments, ReplicaSets, DaemonSets and StatefulSets: the selector is not empty and matches the template's
/// labels, and Pods restart always.
pub(super) fn always_restarted(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    selector(map, path, out);
    template(map, path, out);
    let policy = map.get("template").and_then(|t| json::below(t, &["spec", "restartPolicy"])).and_then(Value::as_str);
    if policy.is_some_and(|policy| matches!(policy, "Never" | "OnFailure")) {
        let template = path.key("template");
        let spec = template.key("spec");
        out.add(rule::OUT_OF_RANGE, &spec.key("restartPolicy"), "the Pods of this kind must restart Always");
    }
}

fn selector(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let Some(selector) = map.get("selector").and_then(Value::as_object) else { return };
    let labels = map.get("template").and_then(|t| json::below(t, &["metadata", "labels"])).and_then(Value::as_object);
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let has_expressions =
        selector.get("matchExpressions").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let at = path.key("selector");
    if wanted.is_none_or(Map::is_empty) && !has_expressions {
        out.add(rule::MISSING_FIELD, &at, "the selector is empty: it would select every Pod");
    }
    for (key, value) in wanted.into_iter().flatten() {
        if labels.and_then(|l| l.get(key)) != Some(value) {
            let text = format!("the labels of the template don't have {key} with this value");
            let matched = at.key("matchLabels");
            out.add(rule::CONFLICTING_FIELDS, &matched.key(key), text);
        }
    }
    for (index, requirement) in structs(selector, "matchExpressions") {
        let label = text(requirement, "key").and_then(|key| labels?.get(key));
        let listed =
            || requirement.get("values").and_then(Value::as_array).zip(label).is_some_and(|(v, l)| v.contains(l));
        let fits = match text(requirement, "operator") {
            Some("In") => listed(),
            Some("NotIn") => !listed(),
            Some("Exists") => label.is_some(),
            Some("DoesNotExist") => label.is_none(),
            _ => true,
        };
        if !fits {
            let list = at.key("matchExpressions");
            out.add(rule::CONFLICTING_FIELDS, &list.index(index), "the labels of the template don't fit this");
        }
    }
}

/// Mounts name volumes of the template, or of the claims that a StatefulSet makes.
fn template(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let Some(spec) = map.get("template").and_then(|t| t.get("spec")).and_then(Value::as_object) else { return };
    let claims: Vec<&str> = structs(map, "volumeClaimTemplates")
        .filter_map(|(_, claim)| claim.get("metadata")?.get("name")?.as_str())
        .collect();
    let at = path.key("template");
    pod::mounts(spec, &claims, &at.key("spec"), out);
}

/// validateJobSpec: Pods of a Job end.
pub(super) fn job(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    template(map, path, out);
    let Some(spec) = map.get("template").and_then(|t| t.get("spec")).and_then(Value::as_object) else { return };
    if !matches!(text(spec, "restartPolicy"), Some("Never" | "OnFailure")) {
        let at = path.key("template");
        let at = at.key("spec");
        let said = "the Pods of a Job need restartPolicy Never or OnFailure";
        match given(spec, "restartPolicy") {
            Some(_) => out.add(rule::OUT_OF_RANGE, &at.key("restartPolicy"), said),
            None => out.add(rule::MISSING_FIELD, &at, said),
        }
    }
}

/// ValidateHorizontalPodAutoscalerSpec.
pub(super) fn autoscaler(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    let number = |key: &str| map.get(key).and_then(Value::as_i64);
    if let (Some(min), Some(max)) = (number("minReplicas"), number("maxReplicas"))
        && min > max
    {
        let text = format!("maxReplicas ({max}) is below minReplicas ({min})");
        out.add(rule::CONFLICTING_FIELDS, &path.key("maxReplicas"), text);
    }
}

/// ValidatePodDisruptionBudgetSpec.
pub(super) fn disruption_budget(map: &Map<String, Value>, path: &Path<'_>, out: &mut Out) {
    if given(map, "minAvailable").is_some() && given(map, "maxUnavailable").is_some() {
        let text = "a budget has minAvailable or maxUnavailable, not both";
        out.add(rule::CONFLICTING_FIELDS, &path.key("maxUnavailable"), text);
    }
}
