//! Compares what is with what the model says.

use std::collections::{BTreeMap, BTreeSet};

use holdfast::admission::Rejection;
use holdfast::base::ids::{ObjectUid, SourceId};
use holdfast::base::resource::ResourceId;
use holdfast::plan::document::{Action, ChangeEntry, PlanDocument};

use super::engine::{Dump, Engine, Refusal, values};
use super::reference::{Act, Acts, Commit, Mark, Outcome, Token, World};
use super::step::{Job, Res, Side};

/// What stands for what: one birth has one UID for ever, and one Source one ID.
#[derive(Debug, Clone, Default)]
pub struct Known {
    uids: BTreeMap<u64, ObjectUid>,
    ids: BTreeMap<Token, SourceId>,
}

pub fn res_of(id: &ResourceId) -> Option<Res> {
    let res = Res::ALL.into_iter().find(|res| res.name() == id.name)?;
    (ResourceId::parse(&res.id()).as_ref() == Ok(id)).then_some(res)
}

impl Known {
    fn is_uid(&mut self, birth: u64, uid: &ObjectUid) -> Result<(), String> {
        if let Some((other, _)) = self.uids.iter().find(|(other, known)| **other != birth && *known == uid) {
            return Err(format!("UID {uid} of birth {birth} is that of birth {other}"));
        }
        match self.uids.entry(birth).or_insert_with(|| uid.clone()) {
            known if known == uid => Ok(()),
            known => Err(format!("birth {birth} had UID {known}, and now {uid}")),
        }
    }

    fn is_id(&mut self, token: Token, id: &SourceId) -> Result<(), String> {
        if let Some((other, _)) = self.ids.iter().find(|(other, known)| **other != token && *known == id) {
            return Err(format!("{token:?} has the ID of {other:?}"));
        }
        match self.ids.entry(token).or_insert_with(|| id.clone()) {
            known if known == id => Ok(()),
            known => Err(format!("{token:?} had ID {known}, and now {id}")),
        }
    }

    fn token_of(&self, id: &SourceId) -> Option<Token> {
        self.ids.iter().find(|(_, known)| *known == id).map(|(token, _)| *token)
    }

    /// Whether the store is what the model says.
    pub fn same(&mut self, world: &World, dump: &Dump, engine: &Engine) -> Result<(), String> {
        self.same_sources(world, dump, engine)?;
        let live: BTreeSet<Res> = dump.objects.keys().filter_map(res_of).collect();
        let wanted: BTreeSet<Res> = world.live.keys().copied().collect();
        if live != wanted || dump.objects.len() != live.len() {
            return Err(format!("live are {live:?}, and the model has {wanted:?}"));
        }
        for (id, object) in &dump.objects {
            let res = res_of(id).ok_or_else(|| format!("{id} is no object of this world"))?;
            let thing = &world.live[&res];
            self.is_uid(thing.birth, &object.head.uid).map_err(|why| format!("{id}: {why}"))?;
            let mark = match &object.head.mark {
                Err(_) => Mark::Garbage,
                Ok(None) => Mark::None,
                Ok(Some(mark)) => {
                    let made_for = res_of(&mark.resource).ok_or("a mark of nothing")?;
                    Mark::Of(self.token_of(&mark.source).ok_or("a mark of nobody")?, made_for)
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
        at_most_one_owner(dump)
    }

    fn same_sources(&mut self, world: &World, dump: &Dump, engine: &Engine) -> Result<(), String> {
        let mut present = 0;
        for (side, source) in &world.sources {
            let found = dump
                .sources
                .iter()
                .find(|(record, _)| record.name.as_str() == source.name.text() && record.removed_at.is_none());
            let (Some(applied), Some((record, inventory))) = (&source.applied, found) else {
                if source.applied.is_some() == found.is_some() {
                    continue;
                }
                return Err(format!("whether the target knows {} differs", source.name.text()));
            };
            present += 1;
            self.is_id(world.token(*side), &record.id)?;
            if record.commit != *engine.commit_id(applied.number) {
                return Err(format!("{}: another commit is applied than in the model", source.name.text()));
            }
            let is: BTreeSet<Res> = inventory.rows.keys().filter_map(res_of).collect();
            let should: BTreeSet<Res> = source.rows.keys().copied().collect();
            if is != should || is.len() != inventory.rows.len() {
                return Err(format!("{} owns {is:?}, and the model has {should:?}", source.name.text()));
            }
            for row in inventory.rows.values() {
                let id = &row.id;
                let res = res_of(id).ok_or("a row of nothing")?;
                let birth = source.rows[&res].birth;
                self.is_uid(birth, &row.uid).map_err(|why| format!("{side:?}'s row of {id}: {why}"))?;
            }
        }
        let removed: Vec<_> = dump.sources.iter().filter(|(record, _)| record.removed_at.is_some()).collect();
        if let Some((record, _)) = removed.iter().find(|(_, inventory)| !inventory.rows.is_empty()) {
            return Err(format!("{} is removed and owns something", record.name));
        }
        if removed.len() != world.removed.len() || removed.len() + present != dump.sources.len() {
            return Err(format!("{} Sources are removed, and in the model {}", removed.len(), world.removed.len()));
        }
        Ok(())
    }
}

/// No object may be proven to be two Sources'.
fn at_most_one_owner(dump: &Dump) -> Result<(), String> {
    for (id, object) in &dump.objects {
        let Ok(Some(mark)) = &object.head.mark else { continue };
        let owners = dump.sources.iter().filter(|(_, inventory)| {
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

fn act_of(change: &ChangeEntry) -> Result<Act, String> {
    Ok(match (change.action, change.rule.as_deref()) {
        (Action::Create, _) => Act::Create,
        (Action::Update, _) => Act::Update,
        (Action::Own, _) => Act::Own,
        (Action::Adopt, Some("rebuilt")) => Act::TakeBack,
        (Action::Adopt, _) => Act::Adopt,
        (Action::Transfer, _) => Act::Transfer,
        (Action::Delete, _) => Act::Delete,
        (Action::Keep, Some("uid-mismatch" | "owner-mismatch")) => Act::Disown,
        (Action::Keep, _) => Act::Keep,
        (Action::Release, Some("already-gone")) => Act::Gone,
        (Action::Release, _) => Act::Release,
        (Action::Replace, _) => return Err(format!("{} is replaced", change.id)),
    })
}

/// Whether a plan is what the model says.
pub fn plan(job: Job, plan: &PlanDocument, expected: &Outcome) -> Result<(), String> {
    let Outcome::Planned(expected) = expected else {
        return Err(format!("it is planned, and should be refused: {expected:?}"));
    };
    let mut found = Acts::new();
    let side_of =
        |name: &str| Side::BOTH.into_iter().find(|side| side.names().iter().any(|known| known.text() == name)).unwrap();
    for change in &plan.changes {
        let act = act_of(change)?;
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
        job.who.sides().len() > 1
            && matches!(act, Act::Disown | Act::Gone)
            && found.contains_key(&(key.0.other(), key.1))
            && !found.contains_key(key)
    };
    let expected: Acts =
        expected.iter().filter(|(key, act)| !silent(key, act)).map(|(key, act)| (*key, *act)).collect();
    if found == expected { Ok(()) } else { Err(format!("the plan is {found:?}, and the model's {expected:?}")) }
}

/// Whether a plan's Changes are in order: writes by wave and name, deletes in reverse, then what is only noted.
pub fn order(plan: &PlanDocument, world: &World, commits: &BTreeMap<Side, Commit>) -> Result<(), String> {
    let side_of = |name: &str| Side::BOTH.into_iter().find(|side| world.sources[side].name.text() == name);
    let mut places = Vec::new();
    for change in &plan.changes {
        let (side, res) = (side_of(change.source.as_str()).ok_or("a Source of no name")?, res_of(&change.id));
        let res = res.ok_or("a Change of nothing")?;
        let declared = commits.get(&side).and_then(|commit| commit.tree.get(&res));
        let act = act_of(change)?;
        let (rank, wave) = match act {
            Act::Create | Act::Update | Act::Own | Act::Adopt | Act::Transfer => {
                (0, declared.map(|manifest| i32::from(manifest.wave)))
            }
            Act::Delete => (1, world.sources[&side].rows.get(&res).map(|row| i32::from(row.manifest.wave))),
            _ => (2, None),
        };
        if wave.is_some_and(|wave| wave != change.wave) {
            return Err(format!("{} is in wave {}, and should be in {wave:?}", change.id, change.wave));
        }
        let wave = wave.unwrap_or_default();
        places.push((rank, if rank == 1 { -wave } else { wave }, res));
    }
    for pair in places.windows(2) {
        let [(rank, wave, res), (next_rank, next_wave, next_res)] = [pair[0], pair[1]];
        let by_name =
            res.is_claim() || next_res.is_claim() || (if rank == 1 { next_res < res } else { res < next_res });
        if (rank, wave) > (next_rank, next_wave) || ((rank, wave) == (next_rank, next_wave) && !by_name) {
            return Err(format!("{} stands before {} in the plan", res.name(), next_res.name()));
        }
    }
    Ok(())
}

/// Whether a refusal is the one that the model says.
pub fn refusal(refusal: &Refusal, expected: &Outcome) -> Result<(), String> {
    let (found, texts): (BTreeSet<Option<Res>>, String) = match refusal {
        Refusal::Rejected(rejection) => {
            (rejection.faults().map(|fault| fault.id.as_ref().and_then(res_of)).collect(), texts(rejection))
        }
        Refusal::Asked(why) => (BTreeSet::from([None]), (*why).to_owned()),
        Refusal::Failed(why) => return Err(format!("it failed: {why}")),
    };
    let Outcome::Refused(expected) = expected else {
        return Err(format!("it is refused, and should be planned as {expected:?}: {texts}"));
    };
    if found == *expected { Ok(()) } else { Err(format!("refused are {expected:?} by the model, and: {texts}")) }
}

/// The rules that refuse, each once.
pub fn rules(refusal: &Refusal) -> BTreeSet<String> {
    match refusal {
        Refusal::Rejected(rejection) => rejection.faults().map(|fault| fault.rule.as_str().to_owned()).collect(),
        Refusal::Asked(why) => BTreeSet::from([(*why).to_owned()]),
        Refusal::Failed(why) => BTreeSet::from([why.clone()]),
    }
}

pub fn texts(rejection: &Rejection) -> String {
    rejection.faults().map(|fault| format!("{}: {}; ", fault.rule.as_str(), fault.text)).collect()
}
