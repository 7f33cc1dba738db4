//! Compares what is with what the model says.

use std::collections::{BTreeMap, BTreeSet};

use holdfast::admission::Rejection;
use holdfast::base::ids::{ObjectUid, SourceId};
use holdfast::base::resource::ResourceId;
use holdfast::plan::document::{Action, PlanDocument};

use super::engine::{Dump, Refusal, values};
use super::reference::{Act, Mark, Outcome, World};
use super::step::{Res, Side, Who};

/// Which UID stands for which birth; one birth has one UID for ever.
#[derive(Debug, Clone, Default)]
pub struct Uids(BTreeMap<u64, ObjectUid>);

impl Uids {
    fn is(&mut self, birth: u64, uid: &ObjectUid) -> Result<(), String> {
        if let Some((other, _)) = self.0.iter().find(|(other, known)| **other != birth && *known == uid) {
            return Err(format!("UID {uid} of birth {birth} is that of birth {other}"));
        }
        match self.0.entry(birth).or_insert_with(|| uid.clone()) {
            known if known == uid => Ok(()),
            known => Err(format!("birth {birth} had UID {known}, and now {uid}")),
        }
    }
}

pub fn res_of(id: &ResourceId) -> Option<Res> {
    Res::ALL.into_iter().find(|res| ResourceId::parse(&res.id()).as_ref() == Ok(id))
}

/// Whether the store is what the model says.
pub fn same(world: &World, dump: &Dump, uids: &mut Uids, ids: &BTreeMap<Side, SourceId>) -> Result<(), String> {
    let live: BTreeSet<ResourceId> = dump.objects.keys().cloned().collect();
    let wanted: BTreeSet<ResourceId> = world.live.keys().map(|res| ResourceId::parse(&res.id()).unwrap()).collect();
    if live != wanted {
        return Err(format!("live are {live:?}, and the model has {wanted:?}"));
    }
    for (id, object) in &dump.objects {
        let res = res_of(id).ok_or_else(|| format!("{id} is no object of this world"))?;
        let thing = &world.live[&res];
        uids.is(thing.birth, &object.head.uid).map_err(|why| format!("{id}: {why}"))?;
        let mark = match &object.head.mark {
            Err(_) => Mark::Garbage,
            Ok(None) => Mark::None,
            Ok(Some(mark)) => {
                let side = ids.iter().find(|(_, id)| **id == mark.source).map(|(side, _)| *side);
                let made_for = res_of(&mark.resource);
                Mark::Of(side.ok_or("a mark of nobody")?, made_for.ok_or("a mark of nothing")?)
            }
        };
        if mark != thing.mark {
            return Err(format!("{id}: the mark is {mark:?}, and the model has {:?}", thing.mark));
        }
        let is = values(&object.object, res);
        let should: BTreeMap<char, u8> = thing.data.iter().map(|(key, (value, _))| (*key, *value)).collect();
        if is != should {
            return Err(format!("{id} has {is:?}, and the model has {should:?}"));
        }
    }
    for (side, inventory) in &dump.inventories {
        let rows = &world.sources[side].rows;
        let is: BTreeSet<Res> = inventory.rows.keys().filter_map(res_of).collect();
        let should: BTreeSet<Res> = rows.keys().copied().collect();
        if is != should || is.len() != inventory.rows.len() {
            return Err(format!("{} owns {is:?}, and the model has {should:?}", side.name()));
        }
        for (id, row) in &inventory.rows {
            let res = res_of(id).ok_or("a row of nothing")?;
            uids.is(rows[&res].birth, &row.uid).map_err(|why| format!("{}'s row of {id}: {why}", side.name()))?;
        }
    }
    at_most_one_owner(dump)
}

/// No object may be proven to be two Sources'.
fn at_most_one_owner(dump: &Dump) -> Result<(), String> {
    for (id, object) in &dump.objects {
        let Ok(Some(mark)) = &object.head.mark else { continue };
        let owners = dump.inventories.values().filter(|inventory| {
            mark.source == inventory.source
                && mark.resource == *id
                && inventory.rows.get(id).is_some_and(|row| row.uid == object.head.uid)
        });
        if owners.count() > 1 {
            return Err(format!("{id} has two owners"));
        }
    }
    Ok(())
}

/// Whether a plan is what the model says.
pub fn plan(who: Who, plan: &PlanDocument, expected: &Outcome) -> Result<(), String> {
    let Outcome::Planned(expected) = expected else {
        return Err(format!("it is planned, and should be refused: {expected:?}"));
    };
    let mut found: BTreeMap<(Side, Res), Act> = BTreeMap::new();
    let side_of = |name: &str| Side::BOTH.into_iter().find(|side| side.name() == name).unwrap();
    for change in &plan.changes {
        let act = match change.action {
            Action::Create => Act::Create,
            Action::Update => Act::Update,
            Action::Own => Act::Own,
            Action::Adopt => Act::Adopt,
            Action::Transfer => Act::Transfer,
            Action::Delete => Act::Delete,
            Action::Keep => match change.rule.as_deref() {
                Some("uid-mismatch" | "owner-mismatch") => Act::Disown,
                _ => Act::Keep,
            },
            Action::Release => Act::Gone,
            Action::Replace => return Err(format!("{} is replaced", change.id)),
        };
        let res = res_of(&change.id).ok_or_else(|| format!("{} is planned", change.id))?;
        if found.insert((side_of(change.source.as_str()), res), act).is_some() {
            return Err(format!("{} has two Changes", change.id));
        }
    }
    for unchanged in &plan.unchanged {
        let res = res_of(&unchanged.id).ok_or_else(|| format!("{} is unchanged", unchanged.id))?;
        if found.insert((side_of(unchanged.source.as_str()), res), Act::Unchanged).is_some() {
            return Err(format!("{} is changed and unchanged", unchanged.id));
        }
    }
    // A row that ends in silence stands beside the other Source's entry for the same object.
    let silent = |key: &(Side, Res), act: &Act| {
        who == Who::Both
            && matches!(act, Act::Disown | Act::Gone)
            && found.contains_key(&(key.0.other(), key.1))
            && !found.contains_key(key)
    };
    let expected: BTreeMap<_, _> =
        expected.iter().filter(|(key, act)| !silent(key, act)).map(|(key, act)| (*key, *act)).collect();
    if found == expected { Ok(()) } else { Err(format!("the plan is {found:?}, and the model's {expected:?}")) }
}

/// Whether a refusal is the one that the model says.
pub fn refusal(refusal: &Refusal, expected: &Outcome) -> Result<(), String> {
    let rejection = match refusal {
        Refusal::Rejected(rejection) => rejection,
        Refusal::Failed(why) => return Err(format!("it failed: {why}")),
    };
    let Outcome::Refused(expected) = expected else {
        return Err(format!("it is refused, and should be planned as {expected:?}: {}", texts(rejection)));
    };
    let found: BTreeSet<Option<Res>> = rejection.faults().map(|fault| fault.id.as_ref().and_then(res_of)).collect();
    if found == *expected {
        Ok(())
    } else {
        Err(format!("refused are {expected:?} by the model, and: {}", texts(rejection)))
    }
}

pub fn texts(rejection: &Rejection) -> String {
    rejection.faults().map(|fault| format!("{}: {}; ", fault.rule.as_str(), fault.text)).collect()
}
