//! Admission webhooks, as far as a dry run meets them: those that the plan itself writes, and those that take none.
//!
//! Whether a webhook is called for an object is told in three answers: where a part of its conditions can't be known here,
//! nobody knows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::discovery::Served;
use crate::base::resource::ResourceId;
use crate::target::{Asked, Write};

/// The API group of webhooks.
pub(super) const GROUP: &str = "admissionregistration.k8s.io";
/// The kinds of their configurations.
pub(super) const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
/// The label that the API server gives every Namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Whether an object is a configuration of webhooks; no webhook is called for one.
fn is_configuration(id: &ResourceId) -> bool {
    id.group == GROUP && KINDS.contains(&id.kind.as_str())
}

/// Labels, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels {
    known: BTreeMap<String, String>,
    /// Whether there may be others.
    more: bool,
}

impl Labels {
    /// Those that an object has.
    pub(super) fn of(object: &Value) -> Self {
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        Self { known: labels.into_iter().flatten().filter_map(text).collect(), more: false }
    }

    /// Those that a write declares; of an object that is there others may hold more.
    fn declared(write: &Write) -> Self {
        let known = write.declared().map(Self::of).unwrap_or_default();
        Self { more: matches!(write, Write::Apply { .. }), ..known }
    }

    fn named(mut self, namespace: &str) -> Self {
        self.known.insert(NAME_LABEL.to_owned(), namespace.to_owned());
        self
    }

    /// Whether a label selector takes them; `None` where that depends on what isn't known.
    fn fit(&self, selector: Option<&Value>) -> Option<bool> {
        let empty = Value::Null;
        let selector = selector.unwrap_or(&empty);
        let equal = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        let equal = equal.map(|(key, value)| self.fits(key, "In", &[value.as_str().unwrap_or_default()]));
        let rules = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        let rules = rules.map(|rule| {
            let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
            let values = texts(rule, "values");
            self.fits(text("key"), text("operator"), &values)
        });
        all(equal.chain(rules))
    }

    fn fits(&self, key: &str, operator: &str, values: &[&str]) -> Option<bool> {
        let value = self.known.get(key).map(String::as_str);
        if value.is_none() && self.more {
            return None;
        }
        match operator {
            "In" => Some(value.is_some_and(|value| values.contains(&value))),
            "NotIn" => Some(value.is_none_or(|value| !values.contains(&value))),
            "Exists" => Some(value.is_some()),
            "DoesNotExist" => Some(value.is_none()),
            _ => None,
        }
    }
}

/// A write as webhooks see it.
pub(super) struct Subject<'s> {
    pub(super) write: &'s Write,
    pub(super) served: &'s Served,
    /// The labels of its Namespace; `None` if it is in none.
    pub(super) namespace: Option<&'s Labels>,
}

impl Subject<'_> {
    /// Whether a webhook is called for it; `None` where that can't be told.
    pub(super) fn meets(&self, webhook: &Value) -> Option<bool> {
        let id = self.write.id();
        if is_configuration(id) {
            return Some(false);
        }
        let rules = webhook.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let labels = Labels::declared(self.write);
        let namespace = match self.namespace {
            None if id.is_namespace() => labels.clone().named(&id.name).fit(webhook.get("namespaceSelector")),
            None => Some(true),
            Some(namespace) => namespace.fit(webhook.get("namespaceSelector")),
        };
        let conditions = webhook.get("matchConditions").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        all([
            Some(rules.iter().any(|rule| self.is_named(rule))),
            namespace,
            labels.fit(webhook.get("objectSelector")),
            if conditions { None } else { Some(true) },
        ]
        .into_iter())
    }

    /// Whether a rule names its kind and what is done. Of its versions each stands for all (`matchPolicy: Equivalent`).
    fn is_named(&self, rule: &Value) -> bool {
        let operation = if matches!(self.write, Write::Apply { .. }) { "UPDATE" } else { "CREATE" };
        let one_of = |key: &str, wanted: &[&str]| texts(rule, key).iter().any(|text| wanted.contains(text));
        let scope = rule.get("scope").and_then(Value::as_str).unwrap_or("*");
        one_of("apiGroups", &["*", &self.served.group])
            && one_of("resources", &["*", "*/*", &self.served.plural])
            && one_of("operations", &["*", operation])
            && (scope == "*" || (scope == "Namespaced") == self.served.namespaced)
    }
}

/// The webhooks that a plan writes, each with the place of its configuration among the writes.
pub(super) struct Planned<'w> {
    all: Vec<(usize, &'w str, &'w Value)>,
    /// The labels of the Namespaces that it writes, too.
    namespaces: BTreeMap<&'w str, Labels>,
}

impl<'w> Planned<'w> {
    pub(super) fn of(writes: &'w [Asked]) -> Self {
        let (mut all, mut namespaces) = (Vec::new(), BTreeMap::new());
        for (place, Asked { write, .. }) in writes.iter().enumerate() {
            let id = write.id();
            if id.is_namespace() {
                namespaces.insert(id.name.as_str(), Labels::declared(write).named(&id.name));
            }
            if let Some(object) = write.declared().filter(|_| is_configuration(id)) {
                all.extend(webhooks(object).map(|(name, webhook)| (place, name, webhook)));
            }
        }
        Self { all, namespaces }
    }

    /// The labels of a Namespace, as far as the plan tells.
    pub(super) fn namespace(&self, name: &str) -> Labels {
        let unknown = || Labels { more: true, ..Labels::default() }.named(name);
        self.namespaces.get(name).cloned().unwrap_or_else(unknown)
    }

    /// Whether one of them may be called for the subject once it is there: a dry run doesn't hear it as it will be.
    pub(super) fn guard(&self, subject: &Subject<'_>) -> bool {
        self.all.iter().any(|(_, _, webhook)| subject.meets(webhook) != Some(false))
    }

    /// Whether a webhook is another one by the time that the write at `place` is done.
    pub(super) fn change(&self, webhook: &str, place: usize) -> bool {
        self.all.iter().any(|(at, name, _)| *at < place && *name == webhook)
    }
}

/// The webhooks of a configuration by their names.
fn webhooks(configuration: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = configuration.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|webhook| Some((webhook.get("name")?.as_str()?, webhook)))
}

/// The names of those webhooks of a configuration that take no dry run and are certainly called for the subject.
pub(super) fn deaf<'c>(configuration: &'c Value, subject: &Subject<'_>) -> Vec<&'c str> {
    let takes =
        |webhook: &Value| matches!(webhook.get("sideEffects").and_then(Value::as_str), Some("None" | "NoneOnDryRun"));
    let of = webhooks(configuration).filter(|(_, webhook)| !takes(webhook) && subject.meets(webhook) == Some(true));
    of.map(|(name, _)| name).collect()
}

fn texts<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// No, if one says so; else nobody knows, if one doesn't.
fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut joined = Some(true);
    for answer in answers {
        match answer {
            Some(false) => return Some(false),
            Some(true) => {}
            None => joined = None,
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subject(write: &Write, namespace: &Labels, webhook: &Value) -> Option<bool> {
        let served = Served {
            group: String::new(),
            version: "v1".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
            verbs: Vec::new(),
            singular: String::new(),
            short_names: Vec::new(),
        };
        Subject { write, served: &served, namespace: Some(namespace) }.meets(webhook)
    }

    #[test]
    fn a_webhook_is_called_for_what_its_rules_and_selectors_name() {
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"app": "x"}}});
        let id = ResourceId::parse("ConfigMap/shop/c").unwrap();
        let create = Write::Create { id, declared: object };
        let webhook = |more: Value| {
            let mut all = json!({"name": "w", "rules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["configmaps"]}]});
            more.as_object().unwrap().iter().for_each(|(key, value)| all[key.as_str()] = value.clone());
            all
        };
        let nobody = Labels { more: true, ..Labels::default() }.named("shop");
        let rule = |key: &str, value: &str| {
            let mut all = webhook(json!({}));
            all["rules"][0][key] = json!([value]);
            all
        };
        let by = |label: &str, value: &str| json!({"matchLabels": {label: value}});
        let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
        for (webhook, is) in [
            (webhook(json!({})), Some(true)),
            (rule("resources", "*"), Some(true)),
            (rule("resources", "configmaps/status"), Some(false)),
            (rule("operations", "UPDATE"), Some(false)),
            (rule("apiGroups", "apps"), Some(false)),
            (webhook(json!({"namespaceSelector": by(NAME_LABEL, "shop")})), Some(true)),
            (webhook(json!({"namespaceSelector": by(NAME_LABEL, "other")})), Some(false)),
            (webhook(json!({"namespaceSelector": by("team", "a")})), None),
            (webhook(json!({"objectSelector": by("app", "x")})), Some(true)),
            (webhook(json!({"objectSelector": by("app", "y")})), Some(false)),
            (webhook(json!({"objectSelector": expression("NotIn", json!(["x"]))})), Some(false)),
            (webhook(json!({"objectSelector": expression("Exists", json!([]))})), Some(true)),
            (webhook(json!({"objectSelector": expression("DoesNotExist", json!([]))})), Some(false)),
            (webhook(json!({"matchConditions": [{"name": "m", "expression": "true"}]})), None),
        ] {
            assert_eq!(subject(&create, &nobody, &webhook), is, "{webhook}");
        }
    }
}
