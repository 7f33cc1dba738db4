//! What an apply leaves.

use std::collections::{BTreeMap, BTreeSet};

use super::super::step::{Job, Manifest, Res, Side};
use super::hands::made;
use super::{Act, Acts, Commit, MARK, Mark, Owner, Row, World};

impl World {
    /// What an apply of a plan leaves.
    pub fn apply(&mut self, job: Job, commits: &BTreeMap<Side, Commit>, acts: &Acts) {
        self.applies += 1;
        for ((side, res), act) in acts {
            let declared = commits.get(side).and_then(|commit| commit.tree.get(res)).cloned();
            match act {
                Act::Keep => {}
                Act::Disown | Act::Gone => self.let_go(*side, *res),
                Act::Release => {
                    self.let_go(*side, *res);
                    self.live.entry(*res).and_modify(|thing| (thing.mark, thing.stamp) = (Mark::None, 0));
                }
                Act::Delete => {
                    self.live.remove(res);
                    self.note(*res, true, (true, true), BTreeSet::new());
                    self.source(*side).rows.remove(res);
                }
                Act::TakeBack => self.take_back(*side, *res, declared),
                Act::Create | Act::Update | Act::Own | Act::Adopt | Act::Transfer | Act::Unchanged => {
                    let manifest = declared.expect("what is written is declared");
                    self.write(*side, *res, *act, &manifest);
                }
            }
        }
        for side in job.who.sides() {
            if job.what.removes() {
                self.remove(side);
            } else {
                let source = self.source(side);
                source.applied = commits.get(&side).cloned();
                source.configured = Some(source.configuration());
            }
        }
    }

    /// A Source is there no more; one of the same name would be another.
    fn remove(&mut self, side: Side) {
        let token = self.token(side);
        let source = self.source(side);
        assert!(source.rows.is_empty(), "a removed Source owns nothing");
        (source.applied, source.pause, source.pin) = (None, None, None);
        source.generation += 1;
        let name = source.name;
        self.removed.insert(token, name);
    }

    fn let_go(&mut self, side: Side, res: Res) {
        let token = self.token(side);
        if let Some(row) = self.source(side).rows.remove(&res) {
            let when = (self.now == i64::MAX, self.applies);
            let last = self.let_go.entry((res, row.birth)).or_default().entry(token).or_insert(when);
            *last = when.max(*last);
        }
    }

    fn take_back(&mut self, side: Side, res: Res, declared: Option<Manifest>) {
        let token = self.token(side);
        let thing = &self.live[&res];
        let (birth, emergency) = (thing.birth, thing.apart.get(&token).cloned().unwrap_or_default());
        let row = match (declared, self.sources[&side].rows.get(&res)) {
            (Some(manifest), _) => {
                let keys = manifest.data.keys().copied().collect();
                Row { birth, manifest, keys, emergency, deleted: false, rebuilt: true }
            }
            (None, Some(row)) => Row { birth, emergency, deleted: false, rebuilt: true, ..row.clone() },
            (None, None) => return,
        };
        self.source(side).rows.insert(res, row);
    }

    fn write(&mut self, side: Side, res: Res, act: Act, manifest: &Manifest) {
        let data = &manifest.data;
        let left = self.left_alone(side, res, data);
        let row = self.sources[&side].rows.get(&res).cloned();
        let token = self.token(side);
        if act == Act::Transfer {
            self.source(side.other()).rows.remove(&res);
        }
        if act == Act::Unchanged && row.as_ref().is_some_and(|row| row.deleted) {
            return;
        }
        let next_birth = self.births + 1;
        let before = self.live.get(&res).map(|thing| thing.data.clone());
        let thing = self.live.entry(res).or_insert_with(|| made(next_birth));
        self.births = self.births.max(thing.birth);
        if act != Act::Unchanged {
            self.stamps += 1;
            (thing.mark, thing.stamp, thing.marked) = (Mark::Of(token, res), self.stamps, true);
            thing.data.retain(|key, (_, owners)| {
                if data.contains_key(key) || !owners.contains(&Owner::Holdfast) {
                    return true;
                }
                owners.remove(&Owner::Holdfast);
                // Nobody's any more.
                !owners.is_empty()
            });
            for (key, value) in data.iter().filter(|(key, _)| !left.contains(key)) {
                let entry = thing.data.entry(*key).or_insert((*value, BTreeSet::new()));
                if entry.0 != *value {
                    *entry = (*value, BTreeSet::new());
                }
                entry.1.insert(Owner::Holdfast);
            }
        }
        let birth = thing.birth;
        let value = |data: &BTreeMap<char, (u8, BTreeSet<Owner>)>, key: &char| data.get(key).map(|(value, _)| *value);
        let keys: BTreeSet<char> = before.iter().chain([&thing.data]).flat_map(BTreeMap::keys).copied().collect();
        let changed = before.as_ref().map_or_else(BTreeSet::new, |before| {
            keys.into_iter().filter(|key| value(before, key) != value(&thing.data, key)).collect()
        });
        // Nothing is left of what a hand wrote in a pause and an apply wrote over, the mark among it.
        let mut over = changed.clone();
        over.extend((act != Act::Unchanged).then_some(MARK));
        for row in self.sources.values_mut().filter_map(|source| source.rows.get_mut(&res)) {
            if row.birth == birth {
                row.emergency.retain(|key| !over.contains(key));
            }
        }
        let row = row.map(|mut row| {
            row.emergency.retain(|key| row.birth != birth || !over.contains(key));
            row
        });
        if let Some(thing) = self.live.get_mut(&res) {
            thing.apart.values_mut().for_each(|keys| keys.retain(|key| !over.contains(key)));
        }
        self.note(res, true, (before.is_none(), false), changed);
        // What was written in a pause is in git once an apply has declared it.
        let emergency = match row.filter(|row| row.birth == birth) {
            None => BTreeSet::new(),
            Some(row) if act == Act::Unchanged && row.manifest_stays(manifest) => return,
            Some(_) if left.is_empty() => BTreeSet::new(),
            Some(row) => {
                row.emergency.into_iter().filter(|key| left.contains(key) || !data.contains_key(key)).collect()
            }
        };
        let keys = data.keys().filter(|key| !left.contains(key)).copied().collect();
        let row = Row { birth, manifest: manifest.clone(), keys, emergency, deleted: false, rebuilt: false };
        self.source(side).rows.insert(res, row);
        if act == Act::Create {
            self.made(res);
        }
    }
}

impl Row {
    /// Whether an apply that changes nothing leaves the row as it is.
    fn manifest_stays(&self, manifest: &Manifest) -> bool {
        let says = |manifest: &Manifest| (manifest.data.clone(), manifest.wave, manifest.release);
        !self.rebuilt && says(&self.manifest) == says(manifest)
    }
}
