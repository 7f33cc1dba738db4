//! What is on the target: looking, comparing, and that reading changed nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cluster::is_controllers_work;
use crate::ids::Id;
use crate::pointer::same_value;
use crate::reading;
use crate::steps::Live;
use crate::verdict::{Done, Stop, none_of};
use crate::world::World;

/// Everything on the target, or that it has no store yet.
#[derive(Debug, Clone)]
pub(crate) struct Seen(Option<Value>);

/// Looks at every object.
pub(crate) fn look(world: &World<'_>) -> Done<Seen> {
    if !world.has_store() {
        return Ok(Seen(None));
    }
    let cached = world.seen.borrow().clone();
    let list = match cached {
        Some(list) => list,
        None => world.objects(true)?,
    };
    *world.seen.borrow_mut() = Some(list.clone());
    Ok(Seen(Some(list)))
}

/// Fails if any object is not as it was. A target that had no store may have the built-in objects of an empty one.
pub(crate) fn untouched(world: &World<'_>, before: &Seen) -> Done {
    if !world.has_store() {
        return match before.0 {
            None => Ok(()),
            Some(_) => Err(Stop::Failed("the target's store is gone".to_owned())),
        };
    }
    *world.seen.borrow_mut() = None;
    let Some(before) = &before.0 else {
        let now = world.objects(false)?;
        let made: Vec<String> = by_id(&now)?.keys().map(Id::to_string).collect();
        return none_of(made.iter().map(|id| format!("{id} was made, and nothing was to be written")).collect());
    };
    let Seen(now) = look(world)?;
    let now = now.unwrap_or_default();
    if *before == now {
        return Ok(());
    }
    let (before, now) = (by_id(before)?, by_id(&now)?);
    let ids: BTreeSet<&Id> = before.keys().chain(now.keys()).collect();
    none_of(
        ids.into_iter()
            .filter(|id| before.get(*id) != now.get(*id))
            .filter(|id| match (before.get(*id), now.get(*id)) {
                (Some(before), Some(now)) => !is_controllers_work(before, now),
                _ => true,
            })
            .map(|id| format!("{id} changed, and nothing was to be written"))
            .collect(),
    )
}

fn by_id(list: &Value) -> Done<BTreeMap<Id, &Value>> {
    Ok(reading::items(list)?.iter().filter_map(|item| Some((Id::of_object(item)?, item))).collect())
}

/// Compares objects on the target with what is expected.
pub(crate) fn compare(world: &World<'_>, expected: &Live) -> Done<Vec<String>> {
    let mut problems = Vec::new();
    for (id, fields) in expected {
        let object = world.get(id)?;
        let Some(fields) = fields else {
            if object.is_some() {
                problems.push(format!("{id} is on the target"));
            }
            continue;
        };
        let Some(object) = object else {
            problems.push(format!("{id} is not on the target"));
            continue;
        };
        problems.extend(differing(id, fields, &object));
    }
    Ok(problems)
}

/// Compares the fields of one object.
pub(crate) fn differing(id: &Id, fields: &crate::steps::Fields, object: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for (pointer, wanted) in fields {
        let right = match pointer.get(object) {
            Some(found) => same_value(found, wanted),
            None => wanted.is_null(),
        };
        if !right {
            let found = pointer.get(object).map_or("nothing".to_owned(), Value::to_string);
            problems.push(format!("{id}: {} is {found}, not {wanted}", pointer.as_str()));
        }
    }
    problems
}

/// The UIDs of objects.
pub(crate) fn uids(world: &World<'_>, ids: &[Id]) -> Done<BTreeMap<Id, Option<String>>> {
    let mut uids = BTreeMap::new();
    for id in ids {
        let object = world.get(id)?;
        let uid = object.as_ref().and_then(|object| object.pointer("/metadata/uid")).and_then(Value::as_str);
        uids.insert(id.clone(), uid.map(str::to_owned));
    }
    Ok(uids)
}

/// Fails for each object whose UID is not the one before, or that had none.
pub(crate) fn same_uids(before: &BTreeMap<Id, Option<String>>, now: &BTreeMap<Id, Option<String>>) -> Vec<String> {
    before
        .iter()
        .filter(|(id, uid)| uid.is_none() || now.get(*id) != Some(*uid))
        .map(|(id, uid)| format!("{id}: the UID was {uid:?} and is {:?}", now.get(id).and_then(Option::as_ref)))
        .collect()
}

/// Tells that values which must all be one are not.
pub(crate) fn mixed(found: &[Value]) -> Vec<String> {
    let different: Vec<&Value> = found.iter().filter(|value| Some(*value) != found.first()).collect();
    if different.is_empty() { Vec::new() } else { vec![format!("a mix of values: {found:?}")] }
}
