//! What is declared but left as it is on the target.

use serde_json::Value;

use super::checked::{Checked, CheckedSet};
use crate::base::fault::{RuleId, Warning};
use crate::base::pointer::Pointer;
use crate::merge::ManagedFields;
use crate::source::scope::matches_name;
use crate::source::spec::IgnoreDrift;
use crate::target::Live;

/// A declared field that is left as it is.
pub const LEFT_ALONE: RuleId = RuleId::new("left-alone");

/// The declared fields of a live object that are left as they are, each with the warning that says why.
///
/// `autoscalers` are the live HorizontalPodAutoscalers of the object's namespace; those of the commit come from `set`.
/// Everything here holds for objects that exist: when one is made, it is made as declared.
pub fn left_alone(
    checked: &Checked,
    live: &Value,
    ignore: &[IgnoreDrift],
    set: &CheckedSet,
    autoscalers: &[Live],
) -> Vec<(Pointer, Warning)> {
    let mut found = Vec::new();
    let mut leave = |path: Pointer, text: String| {
        if found.iter().any(|(known, _): &(Pointer, Warning)| path.is_within(known)) {
            return;
        }
        let warning = Warning::new(LEFT_ALONE, text).at(checked.locate(&checked.as_written(&path)));
        let warning = warning.path(path.clone()).id(checked.id().clone());
        found.push((path, warning));
    };
    let declared = checked.declared();
    if let Some(text) = replicas(checked, set, autoscalers) {
        leave(Pointer::of(["spec", "replicas"]), text);
    }
    let id = checked.id();
    if id.is("rbac.authorization.k8s.io", "ClusterRole")
        && declared.get("rules").is_some()
        && declared.get("aggregationRule").is_some_and(|rule| !rule.is_null())
    {
        let text = format!("the rules of {id} are left alone: the control plane gathers them by its aggregationRule");
        leave(Pointer::of(["rules"]), text);
    }
    for path in bundles(checked, live) {
        leave(path, format!("the live caBundle of {id} is kept: the declared one is empty or a placeholder"));
    }
    for (path, manager) in ignored(checked, live, ignore) {
        let by = manager.map_or_else(String::new, |manager| format!(" while {manager} holds it"));
        leave(path.clone(), format!("{path} of {id} is left alone{by}: the Source's ignoreDrift says so"));
    }
    found
}

/// Whether an autoscaler, of the commit or live, decides about the replicas of an object.
fn replicas(checked: &Checked, set: &CheckedSet, autoscalers: &[Live]) -> Option<String> {
    let declared = checked.declared();
    let replicas = declared.pointer("/spec/replicas")?;
    let id = checked.id();
    let targets = |autoscaler: &Value, namespace: Option<&str>| {
        let text = |key: &str| autoscaler.pointer("/spec/scaleTargetRef")?.get(key)?.as_str();
        let api_version = text("apiVersion").unwrap_or_default();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        namespace == id.namespace.as_deref()
            && text("kind") == Some(id.kind.as_str())
            && text("name") == Some(id.name.as_str())
            && group == id.group
    };
    let of_commit =
        set.autoscalers().find(|hpa| targets(hpa.declared(), hpa.id().namespace.as_deref())).map(Checked::id);
    let live = || {
        autoscalers
            .iter()
            .find(|hpa| {
                // What the commit says of an autoscaler comes before what it still is.
                set.get(&hpa.head.id).is_none() && targets(&hpa.object, hpa.head.id.namespace.as_deref())
            })
            .map(|hpa| &hpa.head.id)
    };
    let autoscaler = of_commit.or_else(live)?;
    Some(format!(
        "spec.replicas ({replicas}) of {id} is left alone: {autoscaler} scales it; take replicas out of the manifest"
    ))
}

/// Certificate bundles that somebody else fills in.
fn bundles(checked: &Checked, live: &Value) -> Vec<Pointer> {
    let declared = checked.declared();
    let id = checked.id();
    let mut found = Vec::new();
    let mut one = |path: Pointer, declared: Option<&Value>, live: Option<&Value>| {
        let has_value = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|text| !is_placeholder(text));
        if declared.and_then(Value::as_str).is_some_and(is_placeholder) && has_value(live) {
            found.push(path);
        }
    };
    match (id.group.as_str(), id.kind.as_str()) {
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            for (index, webhook) in webhooks(declared).iter().enumerate() {
                let same = webhooks(live).iter().find(|other| other.get("name") == webhook.get("name"));
                let path = Pointer::of(["webhooks"]).index(index).key("clientConfig").key("caBundle");
                let bundle = "/clientConfig/caBundle";
                one(path, webhook.pointer(bundle), same.and_then(|same| same.pointer(bundle)));
            }
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            let path = "/spec/conversion/webhook/clientConfig/caBundle";
            one(Pointer::of(path.split('/').skip(1)), declared.pointer(path), live.pointer(path));
        }
        ("apiregistration.k8s.io", "APIService") => {
            let path = "/spec/caBundle";
            one(Pointer::of(path.split('/').skip(1)), declared.pointer(path), live.pointer(path));
        }
        _ => {}
    }
    found
}

fn webhooks(object: &Value) -> &[Value] {
    object.get("webhooks").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a bundle holds no certificate: nothing, or what manifests carry where a controller fills it in (`Cg==` is a
/// line end). A PEM certificate has some hundred bytes.
fn is_placeholder(text: &str) -> bool {
    text.len() < 64
}

/// Fields that the Source's `ignoreDrift` leaves alone, with the manager that has to hold them.
fn ignored<'i>(checked: &Checked, live: &Value, ignore: &'i [IgnoreDrift]) -> Vec<(Pointer, Option<&'i str>)> {
    let id = checked.id();
    let mut found = Vec::new();
    for rule in ignore {
        let fits = rule.kind.group == id.group
            && rule.kind.kind == id.kind
            && rule.name.as_ref().is_none_or(|pattern| matches_name(pattern, &id.name))
            && rule.namespace.as_ref().is_none_or(|namespace| id.namespace.as_ref() == Some(namespace));
        if !fits {
            continue;
        }
        for pointer in &rule.pointers {
            if checked.declared().pointer(pointer.as_str()).is_none() {
                continue;
            }
            match &rule.manager {
                None => found.push((pointer.clone(), None)),
                Some(manager) if holds(live, manager.as_str(), pointer) => {
                    found.push((pointer.clone(), Some(manager.as_str())));
                }
                Some(_) => {}
            }
        }
    }
    found
}

/// Whether a manager holds a field, something in it, or what it lies in. What can't be read holds nothing.
fn holds(live: &Value, manager: &str, pointer: &Pointer) -> bool {
    let Ok(fields) = ManagedFields::of(live) else { return false };
    fields
        .entries
        .iter()
        .filter(|entry| entry.manager.as_str() == manager)
        .any(|entry| entry.fields.pointers(live).iter().any(|held| held.overlaps(pointer)))
}
