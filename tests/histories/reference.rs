//! The model: what a world is, and what Holdfast promises to do with it. It knows nothing of the engine's code.

use std::collections::{BTreeMap, BTreeSet};

use super::step::{Data, Given, MarkEdit, Res, Side, Who};

/// Who holds a value of a live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    Holdfast,
    Hand(u8),
}

/// The owner mark of a live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    None,
    /// Made for a resource by a Source.
    Of(Side, Res),
    Garbage,
}

/// A live object.
#[derive(Debug, Clone, PartialEq)]
pub struct Thing {
    /// Which making of the object this is: stands for its UID.
    pub birth: u64,
    pub mark: Mark,
    pub data: BTreeMap<char, (u8, BTreeSet<Owner>)>,
}

/// What a Source owns, as the inventory has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub birth: u64,
    /// What was declared.
    pub data: Data,
    /// The declared keys that were not left alone.
    pub keys: BTreeSet<char>,
    /// Keys that somebody outside wrote while the Source was paused ([`MARK`] stands for the mark), neither in git nor
    /// given up.
    pub emergency: BTreeSet<char>,
    /// The object was deleted in a pause.
    pub deleted: bool,
}

/// Stands for the owner mark among the keys that somebody wrote.
pub const MARK: char = '@';

/// A Source: its branch and its inventory.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// What each commit of the branch declares, the newest last.
    pub branch: Vec<BTreeMap<Res, Data>>,
    pub prune: bool,
    pub paused: bool,
    pub rows: BTreeMap<Res, Row>,
}

impl Source {
    pub fn declared(&self) -> &BTreeMap<Res, Data> {
        self.branch.last().expect("a branch has a commit")
    }
}

/// The budget of both Sources: more than so many deletes and more than so many per cent need a permission.
pub const BUDGET: (usize, usize) = (2, 50);

/// What is planned for one resource of one Source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    Create,
    Update,
    Own,
    Adopt,
    Transfer,
    Delete,
    /// Kept; the row stays.
    Keep,
    /// Kept, and the row ends: the live object isn't this Source's.
    Disown,
    /// The row of an object that is gone ends.
    Gone,
    Unchanged,
}

/// What a plan comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every resource that is declared or owned, with what becomes of it.
    Planned(BTreeMap<(Side, Res), Act>),
    /// These stand in the way; `None` is for what is wrong with a Source as a whole.
    Refused(BTreeSet<Option<Res>>),
}

/// A world.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    pub sources: BTreeMap<Side, Source>,
    pub live: BTreeMap<Res, Thing>,
    pub births: u64,
}

/// How one live object stands to a Source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    Nobodys,
    Theirs(Side),
    Unreadable,
}

impl World {
    pub fn new() -> Self {
        let source = || Source { branch: vec![BTreeMap::new()], prune: true, paused: false, rows: BTreeMap::new() };
        Self {
            sources: Side::BOTH.into_iter().map(|side| (side, source())).collect(),
            live: BTreeMap::new(),
            births: 0,
        }
    }

    fn whose(&self, side: Side, res: Res, thing: &Thing) -> Whose {
        let row = self.sources[&side].rows.get(&res);
        match thing.mark {
            Mark::Garbage => Whose::Unreadable,
            Mark::None => Whose::Nobodys,
            Mark::Of(_, made_for) if made_for != res => Whose::Nobodys,
            Mark::Of(of, _) if of != side => Whose::Theirs(of),
            Mark::Of(..) if row.is_some_and(|row| row.birth == thing.birth) => Whose::Ours,
            Mark::Of(..) => Whose::Nobodys,
        }
    }

    /// What a plan of these Sources comes to.
    pub fn plan(&self, who: Who, given: Given) -> Outcome {
        let mut acts = BTreeMap::new();
        let mut refused = BTreeSet::new();
        for side in who.sides() {
            for (res, data) in self.sources[&side].declared() {
                match self.wanted(who, given, side, *res, data) {
                    Ok(act) => {
                        acts.insert((side, *res), act);
                    }
                    Err(()) => {
                        refused.insert(Some(*res));
                    }
                }
            }
        }
        for side in who.sides() {
            self.removals(given, side, &mut acts);
        }
        let deletes = |side: Side| acts.iter().filter(|((s, _), act)| *s == side && **act == Act::Delete).count();
        if !given.deletes {
            for side in who.sides() {
                let source = &self.sources[&side];
                let over = deletes(side) > BUDGET.0 && deletes(side) * 100 > BUDGET.1 * source.rows.len();
                if over || (source.declared().is_empty() && !source.rows.is_empty()) {
                    refused.insert(None);
                }
            }
        }
        if refused.is_empty() { Outcome::Planned(acts) } else { Outcome::Refused(refused) }
    }

    /// Whether a pause holds back an apply of these.
    pub fn is_paused(&self, who: Who) -> bool {
        who.sides().iter().any(|side| self.sources[side].paused)
    }

    /// What an apply of these Sources comes to.
    pub fn applied(&self, who: Who, given: Given) -> Outcome {
        match self.plan(who, given) {
            Outcome::Planned(_) if self.is_paused(who) => Outcome::Refused(BTreeSet::from([None])),
            outcome => outcome,
        }
    }

    fn wanted(&self, who: Who, given: Given, side: Side, res: Res, data: &Data) -> Result<Act, ()> {
        // Both claim it in one plan.
        if who == Who::Both && self.sources[&side.other()].declared().contains_key(&res) {
            let owner = self.live.get(&res).map(|thing| self.whose(side, res, thing));
            let second = match owner {
                Some(Whose::Ours) => false,
                Some(Whose::Theirs(_)) => true,
                _ => side == Side::Beta,
            };
            if second {
                return Err(());
            }
        }
        let Some(thing) = self.live.get(&res) else {
            let stays = self.sources[&side].rows.get(&res).is_some_and(|row| row.deleted);
            return Ok(if stays { Act::Unchanged } else { Act::Create });
        };
        match self.whose(side, res, thing) {
            Whose::Ours => Ok(self.compare(side, res, thing, data)),
            Whose::Nobodys if given.adopt => Ok(Act::Adopt),
            Whose::Nobodys | Whose::Unreadable => Err(()),
            Whose::Theirs(of) => {
                let giver = &self.sources[&of];
                let owned = giver.rows.get(&res).is_some_and(|row| row.birth == thing.birth);
                let settled = giver.rows.get(&res).is_some_and(|row| row.emergency.is_empty());
                let given = who.has(of) && !giver.declared().contains_key(&res) && owned && settled;
                if given { Ok(Act::Transfer) } else { Err(()) }
            }
        }
    }

    /// Keys whose emergency change an apply would undo: they are left alone.
    fn left_alone(&self, side: Side, res: Res, data: &Data) -> BTreeSet<char> {
        let (Some(thing), Some(row)) = (self.live.get(&res), self.sources[&side].rows.get(&res)) else {
            return BTreeSet::new();
        };
        let differs =
            |key: &&char| data.get(key).is_some_and(|v| thing.data.get(key).is_none_or(|(live, _)| live != v));
        if row.birth == thing.birth { row.emergency.iter().filter(differs).copied().collect() } else { BTreeSet::new() }
    }

    fn compare(&self, side: Side, res: Res, thing: &Thing, data: &Data) -> Act {
        let row = &self.sources[&side].rows[&res];
        let left = self.left_alone(side, res, data);
        let before: BTreeSet<char> = row.keys.difference(&left).copied().collect();
        let data: &Data = &data.iter().filter(|(key, _)| !left.contains(key)).map(|(k, v)| (*k, *v)).collect();
        let is_ours = |key: &char| thing.data.get(key).is_some_and(|(_, owners)| owners.contains(&Owner::Holdfast));
        let is_shared = |key: &char| thing.data.get(key).is_some_and(|(_, owners)| owners.len() > 1);
        let dropped =
            || thing.data.keys().filter(|key| !data.contains_key(key) && (before.contains(key) || is_ours(key)));
        if data.iter().any(|(key, value)| thing.data.get(key).is_none_or(|(live, _)| live != value))
            || dropped().any(|key| is_ours(key) && !is_shared(key))
        {
            Act::Update
        } else if data.keys().any(|key| !is_ours(key)) || dropped().next().is_some() {
            Act::Own
        } else {
            Act::Unchanged
        }
    }

    fn removals(&self, given: Given, side: Side, acts: &mut BTreeMap<(Side, Res), Act>) {
        let source = &self.sources[&side];
        let other = &self.sources[&side.other()];
        for res in source.rows.keys().filter(|res| !source.declared().contains_key(res)) {
            let act = match self.live.get(res) {
                None => Act::Gone,
                Some(thing) if self.whose(side, *res, thing) != Whose::Ours => Act::Disown,
                Some(_) if acts.get(&(side.other(), *res)) == Some(&Act::Transfer) => continue,
                Some(_) if other.declared().contains_key(res) => Act::Keep,
                Some(_) if !source.prune => Act::Keep,
                Some(_) if res.is_claim() && !given.allow => Act::Keep,
                Some(_) if !source.rows[res].emergency.is_empty() => Act::Keep,
                Some(_) => Act::Delete,
            };
            acts.insert((side, *res), act);
        }
    }

    /// What an apply leaves.
    pub fn apply(&mut self, acts: &BTreeMap<(Side, Res), Act>) {
        for ((side, res), act) in acts {
            let declared = self.sources[side].declared().get(res).cloned();
            match act {
                Act::Keep => {}
                Act::Disown | Act::Gone => {
                    self.rows(*side).remove(res);
                }
                Act::Delete => {
                    self.live.remove(res);
                    self.rows(*side).remove(res);
                }
                Act::Create | Act::Update | Act::Own | Act::Adopt | Act::Transfer | Act::Unchanged => {
                    let data = declared.expect("what is written is declared");
                    self.write(*side, *res, *act, &data);
                }
            }
        }
    }

    fn rows(&mut self, side: Side) -> &mut BTreeMap<Res, Row> {
        &mut self.sources.get_mut(&side).expect("both Sources are there").rows
    }

    fn write(&mut self, side: Side, res: Res, act: Act, data: &Data) {
        let left = self.left_alone(side, res, data);
        let row = self.sources[&side].rows.get(&res).cloned();
        if act == Act::Transfer {
            self.rows(side.other()).remove(&res);
        }
        if act == Act::Unchanged && row.as_ref().is_some_and(|row| row.deleted) {
            return;
        }
        let next_birth = self.births + 1;
        let thing = self.live.entry(res).or_insert_with(|| Thing {
            birth: next_birth,
            mark: Mark::None,
            data: BTreeMap::new(),
        });
        self.births = self.births.max(thing.birth);
        if act != Act::Unchanged {
            thing.mark = Mark::Of(side, res);
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
        // What was written in a pause is in git once an apply has declared it.
        let emergency = match row.filter(|row| row.birth == birth) {
            None => BTreeSet::new(),
            Some(row) if act == Act::Unchanged && row.data == *data => return,
            Some(_) if left.is_empty() => BTreeSet::new(),
            Some(row) => {
                row.emergency.into_iter().filter(|key| left.contains(key) || !data.contains_key(key)).collect()
            }
        };
        let keys = data.keys().filter(|key| !left.contains(key)).copied().collect();
        self.rows(side).insert(res, Row { birth, data: data.clone(), keys, emergency, deleted: false });
    }

    /// Somebody outside sets or takes off a value.
    pub fn put(&mut self, hand: u8, res: Res, key: char, value: Option<u8>, edit: MarkEdit) {
        let mark = self.edited(res, edit);
        let births = self.births;
        let remarked = self.live.get(&res).is_some_and(|thing| thing.mark != mark);
        let written = self.live.get(&res).is_some_and(|t| t.data.get(&key).map(|(live, _)| *live) != value);
        let thing = self.live.entry(res).or_insert_with(|| Thing {
            birth: births + 1,
            mark: Mark::None,
            data: BTreeMap::new(),
        });
        self.births = self.births.max(thing.birth);
        thing.mark = mark;
        let birth = thing.birth;
        match value {
            None => {
                thing.data.remove(&key);
            }
            Some(value) if thing.data.get(&key).is_some_and(|(live, _)| *live == value) => {}
            Some(value) => {
                thing.data.insert(key, (value, BTreeSet::from([Owner::Hand(hand)])));
            }
        }
        for source in self.sources.values_mut().filter(|source| source.paused) {
            if let Some(row) = source.rows.get_mut(&res).filter(|row| row.birth == birth) {
                row.emergency.extend(written.then_some(key).into_iter().chain(remarked.then_some(MARK)));
            }
        }
        self.made(res);
    }

    /// An object is there: no row's pause deleted it.
    fn made(&mut self, res: Res) {
        for row in self.sources.values_mut().filter_map(|source| source.rows.get_mut(&res)) {
            row.deleted = false;
        }
    }

    /// Somebody outside deletes an object.
    pub fn delete(&mut self, res: Res) {
        self.live.remove(&res);
        for source in self.sources.values_mut() {
            let paused = source.paused;
            if let Some(row) = source.rows.get_mut(&res) {
                row.deleted = paused;
            }
        }
    }

    /// A person ends a pause.
    pub fn resume(&mut self, side: Side, revert: bool) {
        let source = self.sources.get_mut(&side).expect("both Sources are there");
        source.paused = false;
        if revert {
            for row in source.rows.values_mut() {
                row.emergency.clear();
                row.deleted = false;
            }
        }
    }

    /// The mark that an edit leaves on an object.
    pub fn edited(&self, res: Res, edit: MarkEdit) -> Mark {
        let mark_of = |res: &Res| self.live.get(res).map_or(Mark::None, |thing| thing.mark);
        match edit {
            MarkEdit::Keep => mark_of(&res),
            MarkEdit::Off => Mark::None,
            MarkEdit::Garbage => Mark::Garbage,
            MarkEdit::Copy(from) => mark_of(&from),
        }
    }

    /// Somebody outside deletes an object and makes it anew.
    pub fn remake(&mut self, hand: u8, res: Res) {
        if let Some(thing) = self.live.get_mut(&res) {
            self.births += 1;
            thing.birth = self.births;
            for (_, owners) in thing.data.values_mut() {
                *owners = BTreeSet::from([Owner::Hand(hand)]);
            }
        }
    }
}
