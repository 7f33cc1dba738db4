//! The order of a plan: waves, then what depends on what, then kinds, then names. Deletes last, in reverse.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::document::Undo;
use super::kinds;
use crate::base::map::HashMap;
use crate::base::resource::ResourceId;

/// What ordering needs to know of one write.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// The resource.
    pub(super) id: &'a ResourceId,
    /// Its wave.
    pub(super) wave: i32,
    /// What must come before it, as its manifest says.
    pub(super) depends_on: &'a [ResourceId],
    /// How it could be undone: what can't goes last in its wave.
    pub(super) undo: Undo,
    /// Whether it is a replace: those go last in their wave too.
    pub(super) replaces: bool,
    /// The group and kind that it defines, if it is a CustomResourceDefinition.
    pub(super) defines: Option<(&'a str, &'a str)>,
}

/// Resources that depend on each other in a circle, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cycle(pub(super) Vec<ResourceId>);

/// Orders writes; the answer has indexes into `items` with the wave that each falls into.
///
/// A wave is a floor: what depends on a later wave's object is written in that wave.
///
/// # Errors
/// If `depends-on` leads back to where it came from.
pub(super) fn order(items: &[Item<'_>]) -> Result<Vec<(usize, i32)>, Cycle> {
    // Most sets say nothing of what depends on what.
    let depends = items.iter().any(|item| !item.depends_on.is_empty());
    let by_id: HashMap<&ResourceId, usize> =
        items.iter().enumerate().filter(|_| depends).map(|(i, item)| (item.id, i)).collect();
    let by_kind: HashMap<(&str, &str), usize> =
        items.iter().enumerate().filter_map(|(i, item)| item.defines.map(|d| (d, i))).collect();
    let namespaces: HashMap<&str, usize> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.id.is_namespace())
        .map(|(i, item)| (item.id.name.as_str(), i))
        .collect();

    let mut after: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    let mut waiting_for: Vec<usize> = vec![0; items.len()];
    let mut first: Vec<usize> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        first.extend(item.depends_on.iter().filter_map(|id| by_id.get(id)));
        first.extend(item.id.namespace.as_deref().and_then(|ns| namespaces.get(ns)));
        first.extend(by_kind.get(&(item.id.group.as_str(), item.id.kind.as_str())));
        first.sort_unstable();
        first.dedup();
        waiting_for[index] = first.len();
        for dependency in first.drain(..) {
            after[dependency].push(index);
        }
    }

    // The place of each among all names: numbers are compared faster.
    let mut by_name: Vec<usize> = (0..items.len()).collect();
    by_name.sort_by_key(|&index| items[index].id);
    let mut place = vec![0; items.len()];
    for (at, index) in by_name.into_iter().enumerate() {
        place[index] = at;
    }
    let key = |index: usize, wave: i32| {
        let item = &items[index];
        let last = item.replaces || item.undo == Undo::None;
        Reverse((wave, last, kinds::rank(item.id), place[index], index))
    };
    let mut waves: Vec<i32> = items.iter().map(|item| item.wave).collect();
    let mut ready: BinaryHeap<_> =
        (0..items.len()).filter(|&i| waiting_for[i] == 0).map(|i| key(i, waves[i])).collect();
    let mut ordered = Vec::with_capacity(items.len());
    while let Some(Reverse((wave, .., index))) = ready.pop() {
        ordered.push((index, wave));
        for &next in &after[index] {
            waves[next] = waves[next].max(wave);
            waiting_for[next] -= 1;
            if waiting_for[next] == 0 {
                ready.push(key(next, waves[next]));
            }
        }
    }
    if ordered.len() < items.len() {
        let done: BTreeSet<usize> = ordered.iter().map(|(i, _)| *i).collect();
        let mut left: Vec<ResourceId> =
            (0..items.len()).filter(|i| !done.contains(i)).map(|i| items[i].id.clone()).collect();
        left.sort();
        return Err(Cycle(left));
    }
    Ok(ordered)
}

/// The sort key of a delete: the reverse of how it would have been applied, contents before what holds them.
pub(super) fn delete_key(id: &ResourceId, wave: i32) -> impl Ord + use<> {
    let container = u8::from(id.is_definition()) + 2 * u8::from(id.is_namespace());
    (container, Reverse(wave), Reverse(kinds::rank(id)), Reverse(id.clone()))
}
