//! The model: what a world is, and what Holdfast promises to do with it. It knows nothing of the engine's code.

mod apply;
mod hands;
mod plan;
mod tick;

use std::collections::{BTreeMap, BTreeSet};

use super::step::{Job, Manifest, Name, Res, Side, Tree, What};

/// Who holds a value of a live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    Holdfast,
    Hand(u8),
}

/// A Source's ID: one of the same name that comes after a removed one has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub Side, pub u32);

/// The owner mark of a live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    None,
    /// Made for a resource by a Source.
    Of(Token, Res),
    Garbage,
}

/// A live object.
#[derive(Debug, Clone, PartialEq)]
pub struct Thing {
    /// Which making of the object this is: stands for its UID.
    pub birth: u64,
    pub mark: Mark,
    /// Which apply the mark names.
    pub stamp: u64,
    /// Whether an apply put the mark there.
    pub marked: bool,
    pub data: BTreeMap<char, (u8, BTreeSet<Owner>)>,
    /// What hands wrote since it was made, while a Source was paused that didn't own it then.
    pub apart: BTreeMap<Token, BTreeSet<char>>,
}

/// What a Source owns, as the inventory has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub birth: u64,
    /// What was declared, and what its manifest said of it.
    pub manifest: Manifest,
    /// The declared keys that were not left alone.
    pub keys: BTreeSet<char>,
    /// Keys that somebody outside wrote while the Source was paused ([`MARK`] stands for the mark), neither in git nor
    /// given up.
    pub emergency: BTreeSet<char>,
    /// The object was deleted in a pause.
    pub deleted: bool,
    /// It was taken back, and nothing was applied since.
    pub rebuilt: bool,
}

/// Stands for the owner mark among the keys that somebody wrote.
pub const MARK: char = '@';

/// A commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// Which one, of all commits of the world.
    pub number: usize,
    pub tree: Tree,
}

/// Something that holds until a moment, or without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until(pub Option<i64>);

impl Until {
    fn holds(self, now: i64) -> bool {
        self.0.is_none_or(|until| now < until)
    }
}

/// One write of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// When; `None` by the real clock.
    at: Option<i64>,
    applied: bool,
    /// It was made or deleted.
    whole: bool,
    /// It was deleted.
    gone: bool,
    keys: BTreeSet<char>,
}

/// A Source: its branch, and what the target knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub name: Name,
    /// How many Sources were removed before it.
    pub generation: u32,
    /// The commits of the branch, the newest last.
    pub branch: Vec<Commit>,
    pub prune: bool,
    /// The configuration that it was last applied with.
    pub configured: Option<(Name, bool)>,
    /// The commit that is applied; `None` if the target doesn't know the Source.
    pub applied: Option<Commit>,
    pub pause: Option<Until>,
    pub pin: Option<(Commit, Until)>,
    pub rows: BTreeMap<Res, Row>,
}

impl Source {
    pub fn newest(&self) -> &Commit {
        self.branch.last().expect("a branch has a commit")
    }

    fn configuration(&self) -> (Name, bool) {
        (self.name, self.prune)
    }

    fn pinned(&self, now: i64) -> Option<&Commit> {
        self.pin.as_ref().filter(|(_, until)| until.holds(now)).map(|(commit, _)| commit)
    }

    fn paused(&self, now: i64) -> bool {
        self.pause.is_some_and(|until| until.holds(now))
    }

    fn on_branch(&self, commit: &Commit) -> bool {
        self.branch.iter().any(|known| known.number == commit.number)
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
    /// The mark is taken off, and the row ends.
    Release,
    /// The row of an object that is gone ends.
    Gone,
    /// It is the Source's again as it is.
    TakeBack,
    Unchanged,
}

impl Act {
    /// Whether a plan that has it isn't empty.
    fn is_pending(self) -> bool {
        !matches!(self, Self::Keep | Self::Disown | Self::Own | Self::Unchanged)
    }
}

/// What a plan comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every resource that is declared or owned, with what becomes of it.
    Planned(Acts),
    /// These stand in the way; `None` is for what is wrong with a Source as a whole.
    Refused(BTreeSet<Option<Res>>),
}

impl Outcome {
    fn whole() -> Self {
        Self::Refused(BTreeSet::from([None]))
    }
}

/// What becomes of each resource of each Source.
pub type Acts = BTreeMap<(Side, Res), Act>;

/// A world.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// Seconds since it began.
    pub now: i64,
    pub sources: BTreeMap<Side, Source>,
    /// Which making of what Sources let go, removed ones too, and in which apply: those by the real clock count as later.
    pub let_go: BTreeMap<(Res, u64), BTreeMap<Token, (bool, u64)>>,
    /// Applies so far.
    pub applies: u64,
    /// The names of Sources that were removed.
    pub removed: BTreeMap<Token, Name>,
    pub live: BTreeMap<Res, Thing>,
    pub births: u64,
    /// Marks that were written.
    pub stamps: u64,
    /// Of each commit the one before.
    pub commits: Vec<Option<usize>>,
    /// All writes of each resource, the first one first.
    pub log: BTreeMap<Res, Vec<Line>>,
}

impl World {
    pub fn new() -> Self {
        let source = |(number, side): (usize, Side)| Source {
            name: side.names()[0],
            generation: 0,
            branch: vec![Commit { number, tree: Tree::new() }],
            prune: true,
            configured: None,
            applied: None,
            pause: None,
            pin: None,
            rows: BTreeMap::new(),
        };
        Self {
            now: 0,
            sources: Side::BOTH.into_iter().enumerate().map(|at| (at.1, source(at))).collect(),
            let_go: BTreeMap::new(),
            applies: 0,
            removed: BTreeMap::new(),
            live: BTreeMap::new(),
            births: 0,
            stamps: 0,
            commits: vec![None; Side::BOTH.len()],
            log: BTreeMap::new(),
        }
    }

    pub fn token(&self, side: Side) -> Token {
        Token(side, self.sources[&side].generation)
    }

    fn source(&mut self, side: Side) -> &mut Source {
        self.sources.get_mut(&side).expect("both Sources are there")
    }

    /// A commit on a Source's branch.
    pub fn commit(&mut self, side: Side, tree: Tree) {
        let number = self.commits.len();
        self.commits.push(Some(self.sources[&side].newest().number));
        self.source(side).branch.push(Commit { number, tree });
    }

    /// A person pins a Source: to the applied commit, or to one so many behind the newest. The commit, if there is one.
    pub fn pin(&mut self, side: Side, back: Option<u8>, seconds: Option<u8>) -> Option<usize> {
        let until = self.until(seconds);
        let source = self.source(side);
        let commit = match back {
            None => source.applied.clone()?,
            Some(back) => source.branch.iter().rev().nth(back.into())?.clone(),
        };
        let number = commit.number;
        source.pin = Some((commit, until));
        Some(number)
    }

    /// Whether a commit is another one or comes after it.
    fn descends(&self, commit: usize, from: usize) -> bool {
        commit == from || self.commits[commit].is_some_and(|before| self.descends(before, from))
    }

    /// Notes a write.
    fn note(&mut self, res: Res, applied: bool, (whole, gone): (bool, bool), keys: BTreeSet<char>) {
        let at = Some(self.now).filter(|now| *now < i64::MAX);
        if whole || !keys.is_empty() {
            self.log.entry(res).or_default().push(Line { at, applied, whole, gone, keys });
        }
    }

    fn until(&self, seconds: Option<u8>) -> Until {
        Until(seconds.map(|seconds| self.now + i64::from(seconds)))
    }

    /// The commits that a job is of, by Source: the applied ones, those that are pinned to, or the newest. `None` if the
    /// target doesn't know a Source that must be known.
    pub fn commits_of(&self, job: Job) -> Option<BTreeMap<Side, Commit>> {
        let commit = |side: Side| {
            let source = &self.sources[&side];
            let commit = match job.what {
                What::Apply => source.pinned(self.now).unwrap_or(source.newest()),
                _ => source.applied.as_ref()?,
            };
            Some((side, commit.clone()))
        };
        job.who.sides().into_iter().map(commit).collect()
    }
}
