//! Live changes as a patch to the manifests that they belong to.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::finding::Drifted;
use super::inspect::Inspection;
use super::patch::patch;
use super::standing::Standing;
use crate::admission::Checked;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::base::sensitive;
use crate::manifest::{self, Change, Document, Limits, SourceFile};
use crate::merge::same_place;

/// What could not be brought into the manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The resource.
    pub id: ResourceId,
    /// The field; the root pointer is the whole object.
    pub path: Pointer,
    /// Why, for people.
    pub reason: String,
}

/// Live changes as a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Export {
    /// The patch, from the repository's root; empty if there is nothing.
    pub patch: String,
    /// What is in it, with the file.
    pub exported: Vec<(ResourceId, Pointer, String)>,
    /// What isn't.
    pub left: Vec<Left>,
}

/// One object's change, and the fields that it brings.
struct Edited {
    id: ResourceId,
    paths: Vec<Pointer>,
    change: Change,
}

/// Writes the drift of the objects that are `shown` as a patch to the manifests of the last applied commit; with `added`
/// what others added beside what is declared, too. Sensitive values are left out.
pub fn export(found: &Inspection, shown: &dyn Fn(&ResourceId) -> bool, added: bool, limits: &Limits) -> Export {
    let mut out = Export::default();
    let mut files: BTreeMap<Vec<u8>, (Arc<SourceFile>, Vec<Edited>)> = BTreeMap::new();
    let Some(set) = &found.set else { return out };
    for checked in set.manifests().iter().filter(|checked| shown(checked.id())) {
        let id = checked.id();
        let drifted = found.drift_of(id);
        let additions: Vec<&Pointer> =
            found.added.iter().filter(|(of, _)| added && of == id).map(|(_, added)| &added.path).collect();
        if drifted.is_none() && additions.is_empty() {
            continue;
        }
        match edited(found, checked, drifted, &additions, limits, &mut out.left) {
            Some(edited) => {
                let file = &checked.document().file;
                let entry = files.entry(file.path.as_bytes().to_vec());
                entry.or_insert_with(|| (Arc::clone(file), Vec::new())).1.push(edited);
            }
            None => continue,
        }
    }
    for (path, (file, all)) in files {
        let changes: Vec<Change> = all.iter().map(|edited| edited.change.clone()).collect();
        let rewritten = manifest::rewrite(&file, &changes, limits);
        let name = file.path.to_string();
        for (at, edited) in all.into_iter().enumerate() {
            let failed = rewritten.failed.iter().find(|(failed, _)| *failed == at);
            for path in edited.paths {
                match failed {
                    None => out.exported.push((edited.id.clone(), path, name.clone())),
                    Some((_, reason)) => out.left.push(Left { id: edited.id.clone(), path, reason: reason.clone() }),
                }
            }
        }
        // A file that is no UTF-8 is never rewritten.
        let Ok(old) = std::str::from_utf8(&file.text) else { continue };
        match rewritten.text.map(String::from_utf8) {
            None => out.patch.push_str(&patch(&path, old, None)),
            Some(Ok(new)) if new != old => out.patch.push_str(&patch(&path, old, Some(&new))),
            Some(_) => {}
        }
    }
    out
}

/// The object as its manifest would have to say; what can't be said goes to `left`.
fn edited(
    found: &Inspection,
    checked: &Checked,
    drifted: Option<&Drifted>,
    additions: &[&Pointer],
    limits: &Limits,
    left: &mut Vec<Left>,
) -> Option<Edited> {
    let (id, document) = (checked.id(), checked.document());
    let mut leave = |path: &Pointer, reason: &str| {
        left.push(Left { id: id.clone(), path: path.clone(), reason: reason.to_owned() });
    };
    let change = |becomes| Change { index: document.index, item: document.item.clone(), becomes };
    match drifted.map(|drifted| &drifted.standing) {
        None | Some(Standing::Ours) => {}
        Some(Standing::Missing) if !found.inventory.rows.contains_key(id) => {
            leave(&Pointer::root(), "this Source never made it");
            return None;
        }
        Some(Standing::Missing) => {
            return Some(Edited { id: id.clone(), paths: vec![Pointer::root()], change: change(None) });
        }
        Some(other) => {
            let text = other.text().unwrap_or_default();
            leave(&Pointer::root(), &format!("{text}: whose it is isn't for a manifest to say"));
            return None;
        }
    }
    let live = &found.live.get(id)?.object;
    let Some(written) = as_written(document, limits) else {
        leave(&Pointer::root(), "its manifest can't be read again");
        return None;
    };
    let mut hidden = sensitive::pointers(live, checked.sensitive());
    hidden.extend(sensitive::pointers(checked.declared(), checked.sensitive()));
    let is_hidden = |path: &Pointer| hidden.iter().any(|hidden| hidden.overlaps(path));
    const SENSITIVE: &str = "it is or holds a sensitive value, which is not written into a file";

    let (mut new, mut paths, mut removed) = (written.clone(), Vec::new(), Vec::new());
    let restored = found.restored.get(id).unwrap_or(live);
    for field in drifted.into_iter().flat_map(|drifted| &drifted.fields) {
        let path = &field.path;
        let place = |other: &Value| same_place(checked.schema(), restored, path, other);
        let (in_live, in_declared) = (place(live), place(checked.declared()));
        let value = in_live.as_ref().and_then(|at| live.pointer(at.as_str()));
        if sensitive::is_secret(live) || is_hidden(path) || in_live.as_ref().is_some_and(is_hidden) {
            leave(path, SENSITIVE);
            continue;
        }
        let Some(at) = in_declared.map(|at| checked.as_written(&at)) else {
            leave(path, "the manifest doesn't declare it");
            continue;
        };
        match value {
            Some(value) if put(&mut new, &at, value) => paths.push(path.clone()),
            None if new.pointer(at.as_str()).is_some() => {
                removed.push(at);
                paths.push(path.clone());
            }
            _ => leave(path, "the manifest has no such place"),
        }
    }
    // From the last entry of a list to the first, so that none moves before its turn.
    removed.sort_by(|a, b| by_segments(b, a));
    removed.iter().for_each(|at| remove(&mut new, at));
    for path in additions {
        if sensitive::is_secret(live) || is_hidden(path) {
            leave(path, SENSITIVE);
        } else if add(&mut new, checked, live, path) {
            paths.push((*path).clone());
        } else {
            leave(path, "the manifest has no such place");
        }
    }
    (new != written).then(|| Edited { id: id.clone(), paths, change: change(Some(new)) })
}

/// The object as its file has it: what was checked is a form of that.
fn as_written(document: &Document, limits: &Limits) -> Option<Value> {
    let reading = manifest::as_written(&document.file, limits);
    let found = reading.documents.into_iter().find(|d| d.index == document.index && d.item == document.item);
    found.map(|found| found.value)
}

/// Writes a value at a place, making the maps that lead to it.
fn put(object: &mut Value, at: &Pointer, value: &Value) -> bool {
    let mut slot = object;
    for segment in at.segments() {
        if slot.is_null() {
            *slot = Value::Object(Map::new());
        }
        let next = match slot {
            Value::Object(map) => Some(map.entry(segment).or_insert(Value::Null)),
            Value::Array(list) => segment.parse::<usize>().ok().and_then(|at| list.get_mut(at)),
            _ => None,
        };
        let Some(next) = next else { return false };
        slot = next;
    }
    *slot = value.clone();
    true
}

fn remove(object: &mut Value, at: &Pointer) {
    let (Some(parent), Some(last)) = (at.parent(), at.segments().last()) else { return };
    match object.pointer_mut(parent.as_str()) {
        Some(Value::Object(map)) => drop(map.remove(&last)),
        Some(Value::Array(list)) => {
            if let Ok(at) = last.parse::<usize>()
                && at < list.len()
            {
                list.remove(at);
            }
        }
        _ => {}
    }
}

/// Brings what is live at a place into the manifest: below what both have, the rest is made.
fn add(object: &mut Value, checked: &Checked, live: &Value, path: &Pointer) -> bool {
    let Some(value) = live.pointer(path.as_str()) else { return false };
    let mut above = path.parent();
    while let Some(parent) = above {
        if let Some(at) = same_place(checked.schema(), live, &parent, checked.declared()) {
            let at = checked.as_written(&at);
            let below: Vec<String> = path.segments().skip(parent.segments().count()).collect();
            if let Some(Value::Array(list)) = object.pointer_mut(at.as_str()) {
                return below.len() == 1 && {
                    list.push(value.clone());
                    true
                };
            }
            let place = below.iter().fold(at, |at, segment| at.key(segment));
            return put(object, &place, value);
        }
        above = parent.parent();
    }
    false
}

/// Segment by segment, numbers by their value.
fn by_segments(a: &Pointer, b: &Pointer) -> Ordering {
    let key = |segment: String| (segment.parse::<usize>().ok(), segment);
    a.segments().map(key).cmp(b.segments().map(key))
}
