//! What people and hands do outside of plans.

use std::collections::{BTreeMap, BTreeSet};

use super::super::step::{MarkEdit, Res, Side};
use super::{MARK, Mark, Owner, Thing, World};

impl World {
    /// Somebody outside sets or takes off a value.
    pub fn put(&mut self, hand: u8, res: Res, key: char, value: Option<u8>, edit: MarkEdit) {
        let (mark, stamp) = self.edited(res, edit);
        let births = self.births;
        let there = self.live.contains_key(&res);
        let remarked = self.live.get(&res).is_some_and(|thing| (thing.mark, thing.stamp) != (mark, stamp));
        let written = self.live.get(&res).is_some_and(|t| t.data.get(&key).map(|(live, _)| *live) != value);
        let thing = self.live.entry(res).or_insert_with(|| made(births + 1));
        self.births = self.births.max(thing.birth);
        (thing.mark, thing.stamp) = (mark, stamp);
        thing.marked &= !remarked;
        let birth = thing.birth;
        match value {
            None => drop(thing.data.remove(&key)),
            Some(value) if thing.data.get(&key).is_some_and(|(live, _)| *live == value) => {}
            Some(value) => drop(thing.data.insert(key, (value, BTreeSet::from([Owner::Hand(hand)])))),
        }
        if there {
            let keys = written.then_some(key).into_iter().chain(remarked.then_some(MARK)).collect();
            self.written(res, birth, &keys);
            self.note(res, false, (false, false), keys);
        } else {
            self.note(res, false, (true, false), BTreeSet::new());
            self.made(res);
        }
    }

    /// Notes for the Sources that are paused now what of an object was written.
    fn written(&mut self, res: Res, birth: u64, keys: &BTreeSet<char>) {
        for side in Side::BOTH {
            let (now, token) = (self.now, self.token(side));
            let source = self.source(side);
            if !source.paused(now) {
                continue;
            }
            if let Some(row) = source.rows.get_mut(&res).filter(|row| row.birth == birth) {
                row.emergency.extend(keys);
            } else if let Some(thing) = self.live.get_mut(&res) {
                thing.apart.entry(token).or_default().extend(keys);
            }
        }
    }

    /// An object is there: no row's pause deleted it.
    pub(super) fn made(&mut self, res: Res) {
        for row in self.sources.values_mut().filter_map(|source| source.rows.get_mut(&res)) {
            row.deleted = false;
        }
    }

    /// Somebody outside deletes an object.
    pub fn delete(&mut self, res: Res) {
        self.live.remove(&res);
        self.note(res, false, (true, true), BTreeSet::new());
        let now = self.now;
        for source in self.sources.values_mut() {
            let paused = source.paused(now);
            if let Some(row) = source.rows.get_mut(&res) {
                row.deleted = paused;
            }
        }
    }

    /// Somebody outside deletes an object and makes it anew.
    pub fn remake(&mut self, hand: u8, res: Res) {
        if let Some(thing) = self.live.get_mut(&res) {
            self.births += 1;
            thing.birth = self.births;
            thing.apart.clear();
            thing.marked = false;
            for (_, owners) in thing.data.values_mut() {
                *owners = BTreeSet::from([Owner::Hand(hand)]);
            }
            self.note(res, false, (true, true), BTreeSet::new());
            self.note(res, false, (true, false), BTreeSet::new());
            self.made(res);
        }
    }

    /// The mark that an edit leaves on an object, and which apply it names.
    fn edited(&self, res: Res, edit: MarkEdit) -> (Mark, u64) {
        let mark_of = |res: &Res| self.live.get(res).map_or((Mark::None, 0), |thing| (thing.mark, thing.stamp));
        match edit {
            MarkEdit::Keep => mark_of(&res),
            MarkEdit::Off => (Mark::None, 0),
            MarkEdit::Garbage => (Mark::Garbage, 0),
            MarkEdit::Copy(from) => mark_of(&from),
        }
    }

    /// A person pauses a Source.
    pub fn pause(&mut self, side: Side, seconds: Option<u8>) {
        let until = self.until(seconds);
        self.source(side).pause = Some(until);
    }

    /// A person ends a pause.
    pub fn resume(&mut self, side: Side, revert: bool) {
        let token = self.token(side);
        let source = self.source(side);
        source.pause = None;
        if revert {
            for row in source.rows.values_mut() {
                row.emergency.clear();
                row.deleted = false;
            }
            for thing in self.live.values_mut() {
                thing.apart.remove(&token);
            }
        }
    }

    /// A person renames a Source; whether the target knows it.
    pub fn rename(&mut self, side: Side) -> bool {
        let source = self.source(side);
        let known = source.applied.is_some();
        if known {
            source.name = source.name.next();
        }
        known
    }
}

pub(super) fn made(birth: u64) -> Thing {
    Thing { birth, mark: Mark::None, stamp: 0, marked: false, data: BTreeMap::new(), apart: BTreeMap::new() }
}
