//! What a plan comes to.

use std::collections::{BTreeMap, BTreeSet};

use super::super::step::{Data, Given, Job, Manifest, Name, Res, Side, Tree, What};
use super::{Act, Acts, BUDGET, Commit, Mark, Outcome, Owner, Source, Thing, Token, World};

/// How one live object stands to a Source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    /// Nobody's, and whether it bears no mark at all.
    Nobodys(bool),
    Theirs(Token),
    Unreadable,
}

/// A plan in the making.
struct Planning<'w> {
    world: &'w World,
    job: Job,
    given: Given,
    commits: &'w BTreeMap<Side, Commit>,
}

impl World {
    /// What a plan comes to.
    pub fn plan(&self, job: Job, given: Given) -> Outcome {
        match self.commits_of(job) {
            Some(commits) => self.plan_of(job, given, &commits),
            None => Outcome::whole(),
        }
    }

    /// What a plan of these commits comes to.
    pub fn plan_of(&self, job: Job, given: Given, commits: &BTreeMap<Side, Commit>) -> Outcome {
        let known = job.who.sides().iter().all(|side| self.sources[side].applied.is_some());
        if !known && (job.what.removes() || job.what == What::Rebuild) {
            return Outcome::whole();
        }
        let planning = Planning { world: self, job, given, commits };
        match job.what {
            What::Rebuild => Outcome::Planned(planning.taken_back()),
            _ => planning.planned(),
        }
    }

    /// Whether a pause or a pin, or that a commit is on no branch, holds back an apply of what is planned. Of a kept plan
    /// and of a repair it matters not on which branch the applied commit is.
    pub fn is_held(&self, job: Job, kept: bool, commits: &BTreeMap<Side, Commit>, acts: &Acts) -> bool {
        let holds = |(side, commit): (&Side, &Commit)| {
            let source = &self.sources[side];
            let elsewhere = source.pinned(self.now).is_some_and(|pin| pin.number != commit.number);
            let is_applied = source.applied.as_ref().is_some_and(|applied| applied.number == commit.number);
            let off_branch = match job.what {
                What::Apply => !(source.on_branch(commit) || (kept && is_applied)),
                What::Repair => !(source.on_branch(commit) || is_applied),
                What::Orphan | What::Prune | What::Rebuild => false,
            };
            source.paused(self.now) || elsewhere || off_branch
        };
        // Who takes objects from a paused Source is held back, too.
        let takes = |((side, _), act): (&(Side, Res), &Act)| {
            let giver = side.other();
            *act == Act::Transfer && !job.who.has(giver) && self.sources[&giver].paused(self.now)
        };
        commits.iter().any(holds) || acts.iter().any(takes)
    }

    /// What an apply of these Sources comes to.
    pub fn applied(&self, job: Job, given: Given) -> Outcome {
        let outcome = self.plan(job, given);
        match (&outcome, self.commits_of(job)) {
            (Outcome::Planned(acts), Some(commits)) if self.is_held(job, false, &commits, acts) => Outcome::whole(),
            _ => outcome,
        }
    }

    fn whose(&self, side: Side, res: Res, thing: &Thing) -> Whose {
        let row = self.sources[&side].rows.get(&res);
        match thing.mark {
            Mark::Garbage => Whose::Unreadable,
            Mark::None => Whose::Nobodys(true),
            Mark::Of(_, made_for) if made_for != res => Whose::Nobodys(false),
            Mark::Of(of, _) if of != self.token(side) => Whose::Theirs(of),
            Mark::Of(..) if row.is_some_and(|row| row.birth == thing.birth) => Whose::Ours,
            Mark::Of(..) => Whose::Nobodys(false),
        }
    }

    /// Keys whose emergency change an apply would undo: they are left alone.
    pub(super) fn left_alone(&self, side: Side, res: Res, data: &Data) -> BTreeSet<char> {
        let (Some(thing), Some(row)) = (self.live.get(&res), self.sources[&side].rows.get(&res)) else {
            return BTreeSet::new();
        };
        let differs =
            |key: &&char| data.get(key).is_some_and(|v| thing.data.get(key).is_none_or(|(live, _)| live != v));
        if row.birth == thing.birth { row.emergency.iter().filter(differs).copied().collect() } else { BTreeSet::new() }
    }

    /// The values of its own object that an apply would change.
    pub(super) fn changed(&self, side: Side, res: Res, data: &Data) -> BTreeSet<char> {
        let Some(thing) = self.live.get(&res) else { return BTreeSet::new() };
        let left = self.left_alone(side, res, data);
        let differs = |key: &char, value: &u8| thing.data.get(key).is_none_or(|(live, _)| live != value);
        let set = data.iter().filter(|(key, value)| !left.contains(key) && differs(key, value)).map(|(key, _)| *key);
        let alone = |owners: &BTreeSet<Owner>| owners.contains(&Owner::Holdfast) && owners.len() == 1;
        let declared = |key: &char| data.contains_key(key) && !left.contains(key);
        let dropped = thing.data.iter().filter(|(key, (_, owners))| !declared(key) && alone(owners));
        set.chain(dropped.map(|(key, _)| *key)).collect()
    }

    fn compare(&self, side: Side, res: Res, thing: &Thing, data: &Data) -> Act {
        let row = &self.sources[&side].rows[&res];
        let left = self.left_alone(side, res, data);
        let before: BTreeSet<char> = row.keys.difference(&left).copied().collect();
        let changed = self.changed(side, res, data);
        let data: &Data = &data.iter().filter(|(key, _)| !left.contains(key)).map(|(k, v)| (*k, *v)).collect();
        let is_ours = |key: &char| thing.data.get(key).is_some_and(|(_, owners)| owners.contains(&Owner::Holdfast));
        let dropped =
            || thing.data.keys().filter(|key| !data.contains_key(key) && (before.contains(key) || is_ours(key)));
        if !changed.is_empty() {
            Act::Update
        } else if !thing.marked || data.keys().any(|key| !is_ours(key)) || dropped().next().is_some() {
            Act::Own
        } else {
            Act::Unchanged
        }
    }
}

impl Planning<'_> {
    /// What is planned of a Source: nothing of one that leaves.
    fn tree(&self, side: Side) -> Option<&Tree> {
        (!self.job.what.removes()).then(|| self.commits.get(&side).map(|commit| &commit.tree)).flatten()
    }

    fn source(&self, side: Side) -> &Source {
        &self.world.sources[&side]
    }

    fn planned(&self) -> Outcome {
        let mut acts = Acts::new();
        let mut refused = BTreeSet::new();
        for side in self.job.who.sides() {
            for (res, manifest) in self.tree(side).into_iter().flatten() {
                match self.wanted(side, *res, manifest) {
                    Ok(act) => acts.extend(act.map(|act| ((side, *res), act))),
                    Err(()) => drop(refused.insert(Some(*res))),
                }
            }
        }
        refused.extend(self.claimed_twice().into_iter().map(Some));
        for side in self.job.who.sides() {
            self.removals(side, &mut acts);
        }
        if self.job.what == What::Prune {
            // None of its objects may stay; what isn't its own may be let go.
            let stays = |act: &Act| *act == Act::Keep || (*act == Act::Disown && !self.given.release);
            refused.extend(acts.iter().filter(|(_, act)| stays(act)).map(|((_, res), _)| Some(*res)));
        }
        if !self.given.deletes && !self.job.what.removes() {
            let deletes = |side: Side| acts.iter().filter(|((s, _), act)| *s == side && **act == Act::Delete).count();
            for side in self.job.who.sides() {
                let rows = self.source(side).rows.len();
                let over = deletes(side) > BUDGET.0 && deletes(side) * 100 > BUDGET.1 * rows;
                let empty = self.tree(side).is_some_and(Tree::is_empty);
                if over || (empty && rows > 0) {
                    refused.insert(None);
                }
            }
        }
        if refused.is_empty() { Outcome::Planned(acts) } else { Outcome::Refused(refused) }
    }

    /// Whether the other Source of the plan declares a resource.
    fn other_declares(&self, side: Side, res: Res) -> bool {
        self.tree(side.other()).is_some_and(|tree| tree.contains_key(&res))
    }

    /// Whether a manifest counts for nothing: it gives its resource to a Source that has it or declares it, too.
    fn given_away(&self, side: Side, res: Res, manifest: &Manifest) -> bool {
        let other = self.source(side.other());
        if manifest.release != Some(other.name) {
            return false;
        }
        let has = self.world.live.get(&res).is_some_and(|thing| {
            let theirs = thing.mark == Mark::Of(self.world.token(side.other()), res);
            theirs && other.applied.is_some()
        });
        has || self.other_declares(side, res)
    }

    fn claimed_twice(&self) -> BTreeSet<Res> {
        let claims = |side: Side| -> BTreeSet<Res> {
            let tree = self.tree(side).into_iter().flatten();
            tree.filter(|(res, manifest)| !self.given_away(side, **res, manifest)).map(|(res, _)| *res).collect()
        };
        claims(Side::Alpha).intersection(&claims(Side::Beta)).copied().collect()
    }

    fn takes_from(&self, manifest: &Manifest, name: Name) -> bool {
        self.given.from || manifest.from == Some(name)
    }

    /// What becomes of a declared resource; nothing of one that is given away.
    fn wanted(&self, side: Side, res: Res, manifest: &Manifest) -> Result<Option<Act>, ()> {
        if self.given_away(side, res, manifest) {
            return Ok(None);
        }
        let world = self.world;
        let Some(thing) = world.live.get(&res) else {
            let stays = self.source(side).rows.get(&res).is_some_and(|row| row.deleted);
            return Ok(Some(if stays { Act::Unchanged } else { Act::Create }));
        };
        match world.whose(side, res, thing) {
            Whose::Ours => Ok(Some(world.compare(side, res, thing, &manifest.data))),
            Whose::Nobodys(_) if self.given.adopt => Ok(Some(Act::Adopt)),
            Whose::Nobodys(true) if self.was_let_go(side, res, manifest, thing) => Ok(Some(Act::Adopt)),
            Whose::Nobodys(_) | Whose::Unreadable => Err(()),
            Whose::Theirs(of) => self.given_up(side, res, manifest, thing, of).map(|()| Some(Act::Transfer)),
        }
    }

    /// Whether the one that let this very object go last is one from whom this Source takes.
    fn was_let_go(&self, side: Side, res: Res, manifest: &Manifest, thing: &Thing) -> bool {
        let world = self.world;
        let name = |token: &Token| match world.removed.get(token) {
            Some(name) => *name,
            None => world.sources[&token.0].name,
        };
        let Some(let_go) = world.let_go.get(&(res, thing.birth)) else { return false };
        let last = let_go.values().max();
        let gives = |(token, when)| Some(when) == last && self.takes_from(manifest, name(token));
        !world.sources[&side].rows.contains_key(&res) && let_go.iter().any(gives)
    }

    /// Whether the Source that an object's mark names gives it up to this one.
    fn given_up(&self, side: Side, res: Res, manifest: &Manifest, thing: &Thing, of: Token) -> Result<(), ()> {
        let giver = of.0;
        let source = self.source(giver);
        let row = source.rows.get(&res).filter(|row| row.birth == thing.birth);
        let row = row.filter(|_| of == self.world.token(giver) && giver != side);
        let row = row.filter(|row| row.emergency.is_empty() && !row.deleted).ok_or(())?;
        // It may have been this Source's before, and changed in its own pause.
        let own = self.source(side).rows.get(&res).filter(|own| own.birth == thing.birth);
        if own.is_some_and(|own| !own.emergency.is_empty()) {
            return Err(());
        }
        let agrees = if self.job.who.has(giver) {
            // Whoever still declares it says whom it is for.
            self.tree(giver)
                .and_then(|tree| tree.get(&res))
                .is_none_or(|theirs| theirs.release == Some(self.source(side).name))
        } else {
            row.manifest.release == Some(self.source(side).name) && self.takes_from(manifest, source.name)
        };
        if agrees { Ok(()) } else { Err(()) }
    }

    fn removals(&self, side: Side, acts: &mut Acts) {
        let (world, source, other) = (self.world, self.source(side), side.other());
        for (res, row) in &source.rows {
            let manifest = self.tree(side).and_then(|tree| tree.get(res));
            let declared = manifest.is_some_and(|manifest| !self.given_away(side, *res, manifest));
            if declared || (self.job.who.has(other) && acts.get(&(other, *res)) == Some(&Act::Transfer)) {
                continue;
            }
            let wanted = self.other_declares(side, *res)
                || (self.job.who.others().contains(&other) && world.sources[&other].newest().tree.contains_key(res));
            let prune = source.prune || self.job.what == What::Prune;
            let act = match world.live.get(res) {
                None => Act::Gone,
                Some(thing) if world.whose(side, *res, thing) != Whose::Ours => Act::Disown,
                Some(_) if self.given.release || self.job.what == What::Orphan => Act::Release,
                Some(_) if wanted => Act::Keep,
                Some(_) if row.manifest.release.is_some() && !(res.is_claim() && self.given.allow) => Act::Keep,
                Some(_) if !prune => Act::Keep,
                Some(_) if res.is_claim() && !self.given.allow => Act::Keep,
                Some(_) if !row.emergency.is_empty() => Act::Keep,
                Some(_) => Act::Delete,
            };
            acts.insert((side, *res), act);
        }
    }

    /// What a Source takes back: whatever bears its mark and was made again, or stands in no row.
    fn taken_back(&self) -> Acts {
        let mut acts = Acts::new();
        for side in self.job.who.sides() {
            let token = self.world.token(side);
            let source = self.source(side);
            let declared = self.tree(side).into_iter().flat_map(|tree| tree.keys());
            for res in declared.chain(source.rows.keys()) {
                let Some(thing) = self.world.live.get(res) else { continue };
                let known = source.rows.get(res).is_some_and(|row| row.birth == thing.birth);
                if thing.mark == Mark::Of(token, *res) && !known {
                    acts.insert((side, *res), Act::TakeBack);
                }
            }
        }
        acts
    }
}
