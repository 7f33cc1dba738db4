//! The structured entries of Sources and Targets.

use std::collections::BTreeSet;
use std::path::Path;

use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::base::resource::GroupKind;

use super::super::rules;
use super::super::scope::{ClusterKind, ClusterKinds, Kinds, Namespaces};
use super::super::spec::{Effect, IgnoreDrift, NAMED_POLICIES, Policy, PruneBudget, Sensitive, ServiceAccount};
use super::super::target::{DEFAULT_STATE_NAMESPACE, TargetKind};
use super::cursor::{Cursor, Report, boolean, dns_label, is_dns_label, list, number, some_text, text, word};
use super::yaml::{Data, Node};

const EFFECTS: [(&str, Effect); 2] = [("deny", Effect::Deny), ("warn", Effect::Warn)];

pub(super) fn effect(node: &Node, report: &mut Report) -> Option<Effect> {
    word(node, report, &EFFECTS)
}

pub(super) fn namespaces(node: &Node, report: &mut Report) -> Option<Namespaces> {
    let entries = list(node, report, |entry, report| match text(entry, report)? {
        any if any == "*" => Some(any),
        _ => dns_label(entry, report),
    })?;
    if entries.iter().any(|entry| entry == "*") {
        if entries.len() > 1 {
            report.here(rules::TYPE_MISMATCH, node, "\"*\" stands for every namespace and stands alone");
        }
        return Some(Namespaces::Any);
    }
    Some(Namespaces::Some(entries.into_iter().collect()))
}

/// `Kind` or `Kind.group`.
pub(super) fn kind(node: &Node, report: &mut Report) -> Option<GroupKind> {
    let found = text(node, report)?;
    let kind = GroupKind::parse(&found);
    let letters =
        kind.kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.kind.chars().all(|c| c.is_ascii_alphanumeric());
    let group = (kind.group.is_empty() && !found.contains('.')) || kind.group.split('.').all(is_dns_label);
    if letters && group {
        return Some(kind);
    }
    let text = format!("{found:?} is no kind: write Kind or Kind.group, such as Deployment.apps");
    report.here(rules::TYPE_MISMATCH, node, text);
    None
}

pub(super) fn kind_set(node: &Node, report: &mut Report) -> Option<BTreeSet<GroupKind>> {
    list(node, report, kind).map(|kinds| kinds.into_iter().collect())
}

pub(super) fn cluster_kinds(node: &Node, report: &mut Report) -> Option<ClusterKinds> {
    let mut any = false;
    let kinds = list(node, report, |entry, report| match &entry.data {
        Data::Scalar { text, .. } if text == "*" => {
            any = true;
            None
        }
        Data::Scalar { .. } => Some(ClusterKind { kind: kind(entry, report)?, names: None }),
        _ => {
            let mut fields = Cursor::open(entry, report)?;
            let of = required(&mut fields, "kind", report, kind);
            let names = fields.read("names", report, |node, report| list(node, report, some_text));
            fields.close(report);
            Some(ClusterKind { kind: of?, names })
        }
    })?;
    if any && !kinds.is_empty() {
        report.here(rules::TYPE_MISMATCH, node, "\"*\" stands for every kind and stands alone");
    }
    Some(if any { ClusterKinds::Any } else { ClusterKinds::Some(kinds) })
}

pub(super) fn kinds(node: &Node, report: &mut Report) -> Option<Kinds> {
    let mut fields = Cursor::open(node, report)?;
    let allow = fields.read("allow", report, kind_set).unwrap_or_default();
    let deny = fields.read("deny", report, kind_set).unwrap_or_default();
    fields.close(report);
    Some(Kinds { allow, deny })
}

pub(super) fn prune_budget(node: &Node, report: &mut Report) -> Option<PruneBudget> {
    let mut fields = Cursor::open(node, report)?;
    let standard = PruneBudget::default();
    let objects = fields.read("objects", report, |node, report| number(node, report, u64::from(u32::MAX)));
    let percent = fields.read("percent", report, |node, report| number(node, report, 100));
    fields.close(report);
    Some(PruneBudget {
        objects: objects.unwrap_or(standard.objects),
        percent: percent.and_then(|p| u8::try_from(p).ok()).unwrap_or(standard.percent),
    })
}

fn pointers(node: &Node, report: &mut Report) -> Option<Vec<Pointer>> {
    list(node, report, |entry, report| {
        let found = text(entry, report)?;
        match Pointer::parse(&found) {
            Ok(pointer) if !pointer.is_root() => Some(pointer),
            Ok(_) => {
                report.here(rules::TYPE_MISMATCH, entry, "the whole object can't be named here, only fields");
                None
            }
            Err(error) => {
                report.here(rules::TYPE_MISMATCH, entry, error.to_string());
                None
            }
        }
    })
}

pub(super) fn ignore_drift(node: &Node, report: &mut Report) -> Option<IgnoreDrift> {
    let mut fields = Cursor::open(node, report)?;
    let of = required(&mut fields, "kind", report, kind);
    let name = fields.read("name", report, some_text);
    let namespace = fields.read("namespace", report, dns_label);
    let pointers = required(&mut fields, "pointers", report, pointers);
    let manager = fields.read("manager", report, some_text).map(|m| Manager::new(&m));
    fields.close(report);
    Some(IgnoreDrift { kind: of?, name, namespace, pointers: pointers?, manager })
}

pub(super) fn sensitive(node: &Node, report: &mut Report) -> Option<Sensitive> {
    let mut fields = Cursor::open(node, report)?;
    let of = required(&mut fields, "kind", report, kind);
    let pointers = required(&mut fields, "pointers", report, pointers);
    fields.close(report);
    Some(Sensitive { kind: of?, pointers: pointers? })
}

pub(super) fn policy(node: &Node, report: &mut Report) -> Option<Policy> {
    let mut fields = Cursor::open(node, report)?;
    let named = NAMED_POLICIES.map(|name| (name, name));
    // Decides which of the two forms it is, so that the other's fields are unknown in it.
    if fields.has("rule") {
        let rule = fields.read("rule", report, |node, report| word(node, report, &named));
        let effect = fields.read("effect", report, effect).unwrap_or(Effect::Deny);
        fields.close(report);
        return Some(Policy::Named { rule: rule?, effect });
    }
    let name = required(&mut fields, "name", report, dns_label);
    let kinds = fields.read("kinds", report, kind_set).unwrap_or_default();
    let cel = required(&mut fields, "cel", report, some_text);
    let message = fields.read("message", report, some_text);
    let effect = fields.read("effect", report, effect).unwrap_or(Effect::Deny);
    fields.close(report);
    let (name, cel) = (name?, cel?);
    if NAMED_POLICIES.contains(&name.as_str()) {
        report.here(rules::DUPLICATE_OBJECT, node, format!("{name:?} is the name of a built-in rule; choose another"));
    }
    Some(Policy::Cel { name, kinds, cel, message, effect })
}

pub(super) fn service_account(node: &Node, report: &mut Report) -> Option<ServiceAccount> {
    let found = text(node, report)?;
    match found.split_once('/') {
        Some((namespace, name)) if is_dns_label(namespace) && name.split('.').all(is_dns_label) => {
            Some(ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() })
        }
        _ => {
            report.here(rules::TYPE_MISMATCH, node, format!("{found:?} is no account: write NAMESPACE/NAME"));
            None
        }
    }
}

pub(super) fn target(node: &Node, base: &Path, report: &mut Report) -> Option<TargetKind> {
    report.key("spec", |report| {
        let mut fields = Cursor::open(node, report)?;
        let embedded = fields.read("embedded", report, |node, report| {
            let mut fields = Cursor::open(node, report)?;
            let path = required(&mut fields, "path", report, some_text);
            fields.close(report);
            Some(TargetKind::Embedded { path: base.join(path?) })
        });
        let kubernetes = fields.read("kubernetes", report, |node, report| {
            let mut fields = Cursor::open(node, report)?;
            let kubeconfig = fields.read("kubeconfig", report, some_text).map(|path| base.join(path));
            let context = fields.read("context", report, some_text);
            let state_namespace = fields.read("stateNamespace", report, dns_label);
            let single_tenant = fields.read("singleTenant", report, boolean).unwrap_or(false);
            fields.close(report);
            let state_namespace = state_namespace.unwrap_or_else(|| DEFAULT_STATE_NAMESPACE.to_owned());
            Some(TargetKind::Kubernetes { kubeconfig, context, state_namespace, single_tenant })
        });
        let given = ["embedded", "kubernetes"].into_iter().filter(|key| fields.has(key)).count();
        fields.close(report);
        if given != 1 {
            let rule = if given == 0 { rules::MISSING_FIELD } else { rules::TYPE_MISMATCH };
            report.here(rule, node, "exactly one of embedded and kubernetes is expected");
            return None;
        }
        embedded.or(kubernetes)
    })
}

fn required<T>(
    fields: &mut Cursor<'_>,
    key: &'static str,
    report: &mut Report,
    read: impl FnOnce(&Node, &mut Report) -> Option<T>,
) -> Option<T> {
    if fields.get(key).is_none() {
        fields.missing(key, report);
        return None;
    }
    fields.read(key, report, read)
}
