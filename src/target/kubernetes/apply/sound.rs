//! A journal is a claim: recovery believes of it only what an apply of its Sources could have written.

use serde_json::Value;

use super::journal::{Act, Body, Head, Step, mark};
use crate::base::ids::SourceId;
use crate::base::resource::{GroupVersionKind, ResourceId};
use crate::inventory::OwnerMark;
use crate::source::spec::SourceSpec;

/// What is unsound about a journal, in a sentence.
///
/// Every step must name one resource throughout, outside of the state namespace, and bear the marks of the journal's own
/// apply and Sources; only what bore such a mark is deleted or made anew.
pub(super) fn unsound(head: &Head, body: &Body, state_namespace: &str) -> Option<String> {
    if body.apply != head.apply {
        return Some("its body is another apply's".to_owned());
    }
    body.steps
        .iter()
        .find(|step| !is_sound(head, step, state_namespace))
        .map(|step| format!("what it says of {} can't be an apply of its Sources", step.id))
}

/// Why an apply can't be taken back under this configuration, in a sentence: what is put back lies in the scope that one of
/// its Sources has there, as whose account it is put back. What goes for good has to bear its mark live.
pub(super) fn out_of_scope(head: &Head, body: &Body, sources: &[SourceSpec]) -> Option<String> {
    let is_named = |spec: &&SourceSpec| head.names.iter().any(|name| name == spec.name.as_str());
    let known: Vec<&SourceSpec> = sources.iter().filter(is_named).collect();
    let mut steps = body.steps.iter().filter(|step| match step.act {
        Act::Create | Act::Apply | Act::Replace => true,
        // A Source that is removed may have left the configuration.
        Act::Unmark => !known.is_empty(),
        Act::Delete => false,
    });
    if known.is_empty() {
        let names = head.names.join(", ");
        let text = format!("this configuration doesn't have its Sources ({names}): recover with the one that has");
        return steps.next().map(|_| text);
    }
    let outside = steps.find(|step| !known.iter().any(|spec| reaches(spec, step)));
    outside
        .map(|step| format!("{} is out of the scope of its Sources, or would be written as another account", step.id))
}

/// Whether a Source may write what a step does, as the step says.
fn reaches(spec: &SourceSpec, step: &Step) -> bool {
    let (id, kind) = (&step.id, step.id.group_kind());
    let scope = match &id.namespace {
        Some(namespace) => spec.namespaces.contains(namespace),
        None => spec.cluster_kinds.contains(&kind, &id.name),
    };
    scope && spec.kinds.allows(&kind) && step.account == spec.service_account
}

fn is_sound(head: &Head, step: &Step, state_namespace: &str) -> bool {
    let id = &step.id;
    let in_state = id.namespace.as_deref() == Some(state_namespace)
        || (id.is_namespace() && (id.name == state_namespace || id.name.starts_with("kube-")));
    let ours = |object: Option<&Value>| {
        object.and_then(|object| marked(object, id)).is_some_and(|mark| is_of(head, &mark.source))
    };
    let declared = step.declared.as_ref();
    let new = declared.and_then(|object| marked(object, id)).is_some_and(|mark| mark.apply == head.apply);
    let named = [declared, step.before.as_ref()].into_iter().flatten().all(|object| names(object, id));
    let by_act = match step.act {
        Act::Create => step.before.is_none() && new && ours(declared),
        Act::Apply => step.before.is_some() && new && ours(declared),
        Act::Replace => new && ours(declared) && ours(step.before.as_ref()),
        Act::Unmark => declared.is_none() && ours(step.before.as_ref()),
        Act::Delete => {
            declared.is_none()
                && ours(step.before.as_ref())
                && step.source.as_ref().is_some_and(|source| is_of(head, source))
        }
    };
    !in_state && named && by_act
}

fn is_of(head: &Head, source: &SourceId) -> bool {
    head.sources.contains(source)
}

/// The mark of an object that was made for this resource.
fn marked(object: &Value, id: &ResourceId) -> Option<OwnerMark> {
    OwnerMark::parse(mark(object)?).ok().filter(|mark| mark.resource == *id)
}

/// Whether an object is what the step says.
fn names(object: &Value, id: &ResourceId) -> bool {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let kind = GroupVersionKind::of(object);
    id.is(&kind.group, &kind.kind)
        && text("/metadata/name") == id.name
        && text("/metadata/namespace") == id.namespace.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::clock::Moment;
    use crate::base::ids::ApplyId;
    use crate::target::kubernetes::apply::journal::Phase;

    const APPLY: &str = "01a22c54-3cfd-733b-b371-b6ef9e6924ab";
    const OURS: &str = "dc42dd67-450c-585d-af26-e2089823d015";

    fn object(name: &str, namespace: &str, mark: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace,
            "annotations": {"holdfast.dev/owner": mark}}})
    }

    fn judged(act: Act, id: &str, before: Option<Value>, declared: Option<Value>) -> bool {
        let ours = SourceId::parse(OURS).unwrap();
        let apply = ApplyId::parse(APPLY).unwrap();
        let at = Moment::from_millis(0);
        let sources = vec![ours.clone()];
        let head = Head {
            apply: apply.clone(),
            phase: Phase::Applying,
            sources,
            names: vec![],
            at,
            closing: false,
            body: None,
            outcome: None,
        };
        let step = Step {
            act,
            id: ResourceId::parse(id).unwrap(),
            group: 0,
            before,
            declared,
            source: Some(ours),
            relieves: Vec::new(),
            sensitive: Vec::new(),
            account: None,
        };
        let body = Body { apply, at, actor: String::new(), operation: String::new(), plan: None, steps: vec![step] };
        unsound(&head, &body, "holdfast-system").is_none()
    }

    #[test]
    fn a_journal_that_no_apply_of_its_sources_wrote_is_not_believed() {
        let mark = |source: &str, name: &str| format!("{source} ConfigMap/shop/{name} {APPLY}");
        let other = "11111111-450c-585d-af26-e2089823d015";
        let good = || Some(object("a", "shop", &mark(OURS, "a")));
        assert!(judged(Act::Create, "ConfigMap/shop/a", None, good()));
        assert!(judged(Act::Replace, "ConfigMap/shop/a", good(), good()));
        assert!(judged(Act::Delete, "ConfigMap/shop/a", good(), None));
        // Another name, namespace, Source or apply; and what is made anew or deleted bore no mark of ours.
        assert!(!judged(Act::Create, "ConfigMap/shop/b", None, good()));
        assert!(!judged(Act::Create, "ConfigMap/shop/a", None, Some(object("a", "kube-system", &mark(OURS, "a")))));
        assert!(!judged(Act::Create, "ConfigMap/shop/a", None, Some(object("a", "shop", &mark(other, "a")))));
        assert!(!judged(
            Act::Apply,
            "ConfigMap/shop/a",
            good(),
            Some(object("a", "shop", &mark(OURS, "a").replace("01a2", "02a2")))
        ));
        assert!(!judged(Act::Replace, "ConfigMap/shop/a", Some(object("a", "shop", "")), good()));
        assert!(!judged(Act::Delete, "ConfigMap/shop/a", Some(object("a", "shop", &mark(other, "a"))), None));
        let state = format!("{OURS} ConfigMap/holdfast-system/a {APPLY}");
        assert!(!judged(
            Act::Create,
            "ConfigMap/holdfast-system/a",
            None,
            Some(object("a", "holdfast-system", &state))
        ));
    }
}
