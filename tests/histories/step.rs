//! What can happen in a world, one line each.

use std::collections::BTreeMap;

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
