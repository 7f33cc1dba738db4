//! What comes before what.

use super::Beside;
use crate::base::map::HashMap;
use crate::base::resource::ResourceId;
use crate::plan::document::{Action, ChangeEntry};
use crate::plan::input::SourceInput;

/// Writes by waves, then deletes, then what is only noted.
pub(super) fn stages(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let changes = &beside.plan.changes;
    let stage = |change: &ChangeEntry| match change.action {
        Action::Delete => 1,
        _ if beside.is_written(change) => 0,
        _ => 2,
    };
    if !changes.is_sorted_by_key(stage) {
        broken.push("a delete comes before a write".to_owned());
    }
    if !changes.iter().filter(|c| beside.is_written(c)).map(|c| c.wave).is_sorted() {
        broken.push("the waves are out of order".to_owned());
    }
}

/// A Namespace comes before its contents and a definition before its objects, and they are deleted after them.
pub(super) fn containers_enclose_contents(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let mut namespaces: HashMap<&str, (usize, &ChangeEntry)> = HashMap::default();
    let mut kinds: HashMap<(String, String), (usize, &ChangeEntry)> = HashMap::default();
    for (at, change) in beside.plan.changes.iter().enumerate() {
        if change.id.is_namespace() {
            namespaces.insert(&change.id.name, (at, change));
        }
        if let Some(kind) = defined(beside, &change.id) {
            kinds.insert(kind, (at, change));
        }
    }
    let of_kind = |id: &ResourceId| {
        if kinds.is_empty() { None } else { kinds.get(&(id.group.clone(), id.kind.clone())).copied() }
    };
    for (at, change) in beside.plan.changes.iter().enumerate() {
        let namespace = change.id.namespace.as_deref().and_then(|ns| namespaces.get(ns));
        for (place, container) in namespace.copied().into_iter().chain(of_kind(&change.id)) {
            let goes = container.action == Action::Delete;
            let wrong = match (beside.is_written(container), beside.is_written(change)) {
                (true, true) => at < place,
                (false, true) => goes,
                (false, false) => goes && change.action == Action::Delete && at > place,
                (true, false) => false,
            };
            if wrong {
                broken.push(format!("{} is on the wrong side of its Namespace or definition", change.id));
            }
        }
    }
}

/// The group and kind that a definition defines, as it is declared or live.
pub(super) fn defined(beside: &Beside<'_>, id: &ResourceId) -> Option<(String, String)> {
    if !id.is_definition() {
        return None;
    }
    let declared = beside.inputs.iter().find_map(|input| input.set.get(id)).map(|c| c.declared());
    let object = declared.or_else(|| beside.observed.objects.get(id).map(|live| &live.object))?;
    let text = |at: &str| object.pointer(at).and_then(|v| v.as_str()).map(str::to_owned);
    Some((text("/spec/group")?, text("/spec/names/kind")?))
}

pub(super) fn dependencies_come_first(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let depends = |input: &SourceInput<'_>| input.set.manifests().iter().any(|c| !c.wants().depends_on.is_empty());
    if !beside.inputs.iter().any(depends) {
        return;
    }
    let writes = beside.plan.changes.iter().enumerate().filter(|(_, c)| beside.is_written(c));
    let places: HashMap<&ResourceId, usize> = writes.clone().map(|(at, c)| (&c.id, at)).collect();
    for (at, change) in writes {
        let Some(checked) = beside.input(change).and_then(|input| input.set.get(&change.id)) else { continue };
        for needed in &checked.wants().depends_on {
            if places.get(needed).is_some_and(|before| *before >= at) {
                broken.push(format!("{} is written before {needed}, on which it depends", change.id));
            }
        }
    }
}
