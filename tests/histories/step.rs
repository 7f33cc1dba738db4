//! What can happen in a world, one line each.

use std::collections::BTreeMap;

use proptest::prelude::*;

/// A Source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    Alpha,
    Beta,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Alpha, Self::Beta];

    pub fn name(self) -> &'static str {
        self.names()[0].text()
    }

    /// The names that its Source goes by, the first one first.
    pub fn names(self) -> [Name; 2] {
        match self {
            Self::Alpha => [Name::Alpha, Name::Alma],
            Self::Beta => [Name::Beta, Name::Bella],
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::Alpha => Self::Beta,
            Self::Beta => Self::Alpha,
        }
    }
}

/// A Source's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Alpha,
    Alma,
    Beta,
    Bella,
}

impl Name {
    pub const ALL: [Self; 4] = [Self::Alpha, Self::Alma, Self::Beta, Self::Bella];

    pub fn text(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Alma => "alma",
            Self::Beta => "beta",
            Self::Bella => "bella",
        }
    }

    /// The name that its Source takes next.
    pub fn next(self) -> Self {
        match self {
            Self::Alpha => Self::Alma,
            Self::Alma => Self::Alpha,
            Self::Beta => Self::Bella,
            Self::Bella => Self::Beta,
        }
    }
}

/// A resource: three ConfigMaps and a claim, which no prune takes without a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Res {
    X,
    Y,
    Z,
    Claim,
}

impl Res {
    pub const ALL: [Self; 4] = [Self::X, Self::Y, Self::Z, Self::Claim];

    pub fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
            Self::Claim => "claim",
        }
    }

    pub fn is_claim(self) -> bool {
        self == Self::Claim
    }

    /// As it is named on the command line.
    pub fn id(self) -> String {
        let kind = if self.is_claim() { "PersistentVolumeClaim" } else { "ConfigMap" };
        format!("{kind}/shop/{}", self.name())
    }
}

/// Named values: `data` of a ConfigMap, labels of a claim.
pub type Data = BTreeMap<char, u8>;

/// What a commit declares of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    pub data: Data,
    pub wave: i8,
    /// `holdfast.dev/release-to`
    pub release: Option<Name>,
    /// `holdfast.dev/adopt-from`
    pub from: Option<Name>,
}

/// What a commit declares.
pub type Tree = BTreeMap<Res, Manifest>;

/// Permissions given to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Given {
    /// `--allow-deletes`, for everything.
    pub deletes: bool,
    /// `--adopt`, for everything.
    pub adopt: bool,
    /// `--allow` of the claim.
    pub allow: bool,
    /// `--release`, for everything.
    pub release: bool,
    /// `--adopt-from`, every Source.
    pub from: bool,
}

/// The Sources of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    One(Side),
    /// By a configuration that has no other.
    Alone(Side),
    Both,
}

impl Who {
    pub fn sides(self) -> Vec<Side> {
        match self {
            Self::One(side) | Self::Alone(side) => vec![side],
            Self::Both => Side::BOTH.to_vec(),
        }
    }

    pub fn has(self, side: Side) -> bool {
        self.sides().contains(&side)
    }

    /// The configuration's other Sources.
    pub fn others(self) -> Vec<Side> {
        match self {
            Self::One(side) => vec![side.other()],
            Self::Alone(_) | Self::Both => Vec::new(),
        }
    }
}

/// What is planned of Sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Apply,
    /// Back to the applied commit.
    Repair,
    /// The Source is removed, and its objects stay.
    Orphan,
    /// The Source is removed with its objects.
    Prune,
    /// The Source takes back what bears its mark.
    Rebuild,
}

impl What {
    pub fn removes(self) -> bool {
        matches!(self, Self::Orphan | Self::Prune)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    pub what: What,
    pub who: Who,
}

/// What a hand does with the owner mark of what it puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkEdit {
    /// It stays.
    Keep,
    /// It goes.
    Off,
    /// That of another object of the same name space is copied over.
    Copy(Res),
    /// A text that is none.
    Garbage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A commit that declares a resource.
    Declare(Side, Res, Manifest),
    /// A commit that no longer declares it.
    Withdraw(Side, Res),
    /// The branch goes back to the commit before.
    Rewind(Side),
    /// The Source's `prune` in holdfast.yaml.
    Prune(Side, bool),
    /// Plans and applies.
    Apply(Job, Given),
    /// Plans and keeps the plan.
    Save(u8, Job, Given),
    /// Applies a kept plan.
    ApplySaved(u8),
    /// An apply that ends right before its commit.
    Cut(Job, Given),
    /// An apply by a process that dies at a place.
    Kill(Job, &'static str),
    /// Somebody outside sets or takes off one value; makes the object if there is none.
    Put(u8, Res, char, Option<u8>, MarkEdit),
    /// Somebody outside deletes it.
    Delete(u8, Res),
    /// Somebody outside deletes it and makes it anew just so, mark included.
    Remake(u8, Res),
    /// A person pauses the Source, for so many seconds or until somebody ends it.
    Pause(Side, Option<u8>),
    /// A person ends the pause; `true` gives up what was written in pauses.
    Resume(Side, bool),
    /// A person pins the Source to the applied commit, or to one so many behind the newest; for so many seconds.
    Pin(Side, Option<u8>, Option<u8>),
    /// A person ends the pin.
    Unpin(Side),
    /// The Source takes its next name, on the target and in the configuration.
    Rename(Side),
    /// The loop looks at the Source once, in a process of its own.
    Tick(Side),
    /// So many seconds pass.
    Wait(u8),
}

/// Places where a process can die.
pub const DEATHS: [&str; 8] = [
    "before-begin",
    "after-begin",
    "after-checks",
    "after-object",
    "after-inventory",
    "after-log",
    "before-commit",
    "after-commit",
];

fn side() -> impl Strategy<Value = Side> {
    prop::sample::select(Side::BOTH.to_vec())
}

fn res() -> impl Strategy<Value = Res> {
    prop::sample::select(Res::ALL.to_vec())
}

/// What a Source mostly declares: two that want the same all the time would come to nothing.
fn res_of(side: Side) -> impl Strategy<Value = Res> {
    let (more, less) = match side {
        Side::Alpha => ([Res::X, Res::Y, Res::Claim], Res::Z),
        Side::Beta => ([Res::Z, Res::Z, Res::Claim], Res::Y),
    };
    prop_oneof![4 => prop::sample::select(more.to_vec()), 1 => Just(less), 1 => res()]
}

fn one(side: Side, alone: bool) -> Who {
    if alone { Who::Alone(side) } else { Who::One(side) }
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        5 => side().prop_map(Who::One),
        2 => side().prop_map(Who::Alone),
        3 => Just(Who::Both),
    ]
}

fn job() -> impl Strategy<Value = Job> {
    let single = (side(), any::<bool>()).prop_map(|(side, alone)| one(side, alone));
    let own = prop::sample::select(vec![What::Orphan, What::Prune, What::Rebuild, What::Rebuild]);
    prop_oneof![
        16 => who().prop_map(|who| Job { what: What::Apply, who }),
        3 => who().prop_map(|who| Job { what: What::Repair, who }),
        2 => (own, single).prop_map(|(what, who)| Job { what, who }),
    ]
}

fn key() -> impl Strategy<Value = char> {
    prop::sample::select(vec!['a', 'b', 'c'])
}

/// A name of a Source's other side, mostly the first.
fn name_of(side: Side) -> impl Strategy<Value = Name> {
    let [first, second] = side.names();
    prop_oneof![5 => Just(first), 1 => Just(second)]
}

fn manifest(side: Side) -> impl Strategy<Value = Manifest> {
    let data = prop::collection::btree_map(key(), 0u8..3, 0..3);
    let wave = prop_oneof![4 => Just(0i8), 1 => Just(-1i8), 1 => Just(1i8)];
    let named = || prop::option::weighted(0.2, name_of(side.other()));
    (data, wave, named(), named()).prop_map(|(data, wave, release, from)| Manifest { data, wave, release, from })
}

fn given() -> impl Strategy<Value = Given> {
    let often = || proptest::bool::weighted(0.65);
    (often(), often(), any::<bool>(), proptest::bool::weighted(0.1), proptest::bool::weighted(0.3))
        .prop_map(|(deletes, adopt, allow, release, from)| Given { deletes, adopt, allow, release, from })
}

fn mark() -> impl Strategy<Value = MarkEdit> {
    prop_oneof![
        20 => Just(MarkEdit::Keep),
        5 => Just(MarkEdit::Off),
        2 => res().prop_map(MarkEdit::Copy),
        1 => Just(MarkEdit::Garbage),
    ]
}

fn seconds() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![3, 8, 20])
}

/// Any step
pub fn step() -> impl Strategy<Value = Step> {
    let hand = 0u8..2;
    let declare = side().prop_flat_map(|side| (Just(side), res_of(side), manifest(side)));
    let killed = job().prop_map(|job| Job { who: job.who.sides().first().map_or(job.who, |s| one(*s, false)), ..job });
    let killed = (killed, any::<bool>()).prop_map(|(job, both)| match (job.what, both) {
        (What::Apply | What::Repair, true) => Job { who: Who::Both, ..job },
        _ => job,
    });
    prop_oneof![
        40 => declare.prop_map(|(side, res, manifest)| Step::Declare(side, res, manifest)),
        36 => (side(), res()).prop_map(|(side, res)| Step::Withdraw(side, res)),
        6 => side().prop_map(Step::Rewind),
        8 => (side(), proptest::bool::weighted(0.8)).prop_map(|(side, on)| Step::Prune(side, on)),
        76 => (job(), given()).prop_map(|(job, given)| Step::Apply(job, given)),
        8 => (0u8..2, job(), given()).prop_map(|(slot, job, given)| Step::Save(slot, job, given)),
        12 => (0u8..2).prop_map(Step::ApplySaved),
        4 => (job(), given()).prop_map(|(job, given)| Step::Cut(job, given)),
        1 => (killed, prop::sample::select(DEATHS.to_vec())).prop_map(|(job, at)| Step::Kill(job, at)),
        2 => side().prop_map(Step::Tick),
        24 => (hand.clone(), res(), key(), prop::option::of(0u8..3), mark())
            .prop_map(|(hand, res, key, value, mark)| Step::Put(hand, res, key, value, mark)),
        6 => (hand.clone(), res()).prop_map(|(hand, res)| Step::Delete(hand, res)),
        7 => (hand, res()).prop_map(|(hand, res)| Step::Remake(hand, res)),
        6 => (side(), prop::option::weighted(0.7, seconds())).prop_map(|(side, until)| Step::Pause(side, until)),
        10 => (side(), any::<bool>()).prop_map(|(side, revert)| Step::Resume(side, revert)),
        3 => (side(), prop::option::of(0u8..3), prop::option::weighted(0.7, seconds()))
            .prop_map(|(side, back, until)| Step::Pin(side, back, until)),
        5 => side().prop_map(Step::Unpin),
        3 => side().prop_map(Step::Rename),
        5 => seconds().prop_map(Step::Wait),
    ]
}
