//! What can happen in a world, one line each.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

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
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::Alpha => Self::Beta,
            Self::Beta => Self::Alpha,
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

/// Permissions given to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Given {
    /// `--allow-deletes`, for everything.
    pub deletes: bool,
    /// `--adopt`, for everything.
    pub adopt: bool,
    /// `--allow` of the claim.
    pub allow: bool,
}

/// The Sources of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    One(Side),
    Both,
}

impl Who {
    pub fn sides(self) -> Vec<Side> {
        match self {
            Self::One(side) => vec![side],
            Self::Both => Side::BOTH.to_vec(),
        }
    }

    pub fn has(self, side: Side) -> bool {
        self == Self::Both || self == Self::One(side)
    }
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
    Declare(Side, Res, Data),
    /// A commit that no longer declares it.
    Withdraw(Side, Res),
    /// The branch goes back to the commit before.
    Rewind(Side),
    /// The Source's `prune` in holdfast.yaml.
    Prune(Side, bool),
    /// Plans and applies.
    Apply(Who, Given),
    /// Plans and keeps the plan.
    Save(u8, Who, Given),
    /// Applies a kept plan.
    ApplySaved(u8),
    /// An apply that ends right before its commit.
    Cut(Who, Given),
    /// An apply by a process that dies at a place.
    Kill(Who, &'static str),
    /// Somebody outside sets or takes off one value; makes the object if there is none.
    Put(u8, Res, char, Option<u8>, MarkEdit),
    /// Somebody outside deletes it.
    Delete(u8, Res),
    /// Somebody outside deletes it and makes it anew just so, mark included.
    Remake(u8, Res),
    /// A person pauses the Source.
    Pause(Side),
    /// A person ends the pause; `true` gives up what was written in pauses.
    Resume(Side, bool),
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

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![2 => side().prop_map(Who::One), 1 => Just(Who::Both)]
}

fn key() -> impl Strategy<Value = char> {
    prop::sample::select(vec!['a', 'b', 'c'])
}

fn data() -> impl Strategy<Value = Data> {
    prop::collection::btree_map(key(), 0u8..3, 0..3)
}

fn given() -> impl Strategy<Value = Given> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(deletes, adopt, allow)| Given { deletes, adopt, allow })
}

fn mark() -> impl Strategy<Value = MarkEdit> {
    prop_oneof![
        8 => Just(MarkEdit::Keep),
        1 => Just(MarkEdit::Off),
        1 => res().prop_map(MarkEdit::Copy),
        1 => Just(MarkEdit::Garbage),
    ]
}

/// Any step
pub fn step() -> impl Strategy<Value = Step> {
    let hand = 0u8..2;
    prop_oneof![
        20 => (side(), res(), data()).prop_map(|(side, res, data)| Step::Declare(side, res, data)),
        10 => (side(), res()).prop_map(|(side, res)| Step::Withdraw(side, res)),
        3 => side().prop_map(Step::Rewind),
        4 => (side(), proptest::bool::weighted(0.75)).prop_map(|(side, on)| Step::Prune(side, on)),
        30 => (who(), given()).prop_map(|(who, given)| Step::Apply(who, given)),
        4 => (0u8..2, who(), given()).prop_map(|(slot, who, given)| Step::Save(slot, who, given)),
        6 => (0u8..2).prop_map(Step::ApplySaved),
        2 => (who(), given()).prop_map(|(who, given)| Step::Cut(who, given)),
        1 => (who(), prop::sample::select(DEATHS.to_vec())).prop_map(|(who, at)| Step::Kill(who, at)),
        12 => (hand.clone(), res(), key(), prop::option::of(0u8..3), mark())
            .prop_map(|(hand, res, key, value, mark)| Step::Put(hand, res, key, value, mark)),
        3 => (hand.clone(), res()).prop_map(|(hand, res)| Step::Delete(hand, res)),
        3 => (hand, res()).prop_map(|(hand, res)| Step::Remake(hand, res)),
        3 => side().prop_map(Step::Pause),
        6 => (side(), any::<bool>()).prop_map(|(side, revert)| Step::Resume(side, revert)),
    ]
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(side) => f.write_str(side.name()),
            Self::Both => f.write_str("both"),
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (given, word) in [(self.deletes, "deletes"), (self.adopt, "adopt"), (self.allow, "allow")] {
            if given {
                write!(f, " {word}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declare(side, res, data) => {
                write!(f, "declare {} {}", side.name(), res.name())?;
                data.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
            }
            Self::Withdraw(side, res) => write!(f, "withdraw {} {}", side.name(), res.name()),
            Self::Rewind(side) => write!(f, "rewind {}", side.name()),
            Self::Prune(side, on) => write!(f, "prune {} {on}", side.name()),
            Self::Apply(who, given) => write!(f, "apply {who}{given}"),
            Self::Save(slot, who, given) => write!(f, "save {slot} {who}{given}"),
            Self::ApplySaved(slot) => write!(f, "apply-saved {slot}"),
            Self::Cut(who, given) => write!(f, "cut {who}{given}"),
            Self::Kill(who, at) => write!(f, "kill {who} {at}"),
            Self::Put(hand, res, key, value, mark) => {
                let value = value.map_or_else(|| "none".to_owned(), |v| v.to_string());
                write!(f, "put {hand} {} {key} {value} ", res.name())?;
                match mark {
                    MarkEdit::Keep => f.write_str("keep"),
                    MarkEdit::Off => f.write_str("off"),
                    MarkEdit::Garbage => f.write_str("garbage"),
                    MarkEdit::Copy(res) => write!(f, "copy {}", res.name()),
                }
            }
            Self::Delete(hand, res) => write!(f, "delete {hand} {}", res.name()),
            Self::Remake(hand, res) => write!(f, "remake {hand} {}", res.name()),
            Self::Pause(side) => write!(f, "pause {}", side.name()),
            Self::Resume(side, revert) => write!(f, "resume {} {revert}", side.name()),
        }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let word = |at: usize| words.get(at).copied().ok_or_else(|| "a word is missing".to_owned());
        let side = |at| side_of(word(at)?);
        let res = |at| res_of(word(at)?);
        let small = |at| word(at)?.parse::<u8>().map_err(|e| e.to_string());
        let given = |from: usize| given_of(words.get(from..).unwrap_or_default());
        Ok(match word(0)? {
            "declare" => Self::Declare(side(1)?, res(2)?, data_of(&words[3..])?),
            "withdraw" => Self::Withdraw(side(1)?, res(2)?),
            "rewind" => Self::Rewind(side(1)?),
            "prune" => Self::Prune(side(1)?, word(2)? == "true"),
            "apply" => Self::Apply(who_of(word(1)?)?, given(2)?),
            "save" => Self::Save(small(1)?, who_of(word(2)?)?, given(3)?),
            "apply-saved" => Self::ApplySaved(small(1)?),
            "cut" => Self::Cut(who_of(word(1)?)?, given(2)?),
            "kill" => {
                let at = word(2)?;
                let at = DEATHS.iter().find(|known| **known == at).ok_or_else(|| format!("{at} is no place"))?;
                Self::Kill(who_of(word(1)?)?, at)
            }
            "put" => {
                let value = if word(4)? == "none" { None } else { Some(small(4)?) };
                let mark = match word(5)? {
                    "keep" => MarkEdit::Keep,
                    "off" => MarkEdit::Off,
                    "garbage" => MarkEdit::Garbage,
                    "copy" => MarkEdit::Copy(res(6)?),
                    other => return Err(format!("{other} is no edit of a mark")),
                };
                Self::Put(small(1)?, res(2)?, key_of(word(3)?)?, value, mark)
            }
            "delete" => Self::Delete(small(1)?, res(2)?),
            "remake" => Self::Remake(small(1)?, res(2)?),
            "pause" => Self::Pause(side(1)?),
            "resume" => Self::Resume(side(1)?, word(2)? == "true"),
            other => return Err(format!("{other} is no step")),
        })
    }
}

fn side_of(word: &str) -> Result<Side, String> {
    Side::BOTH.into_iter().find(|side| side.name() == word).ok_or_else(|| format!("{word} is no Source"))
}

fn who_of(word: &str) -> Result<Who, String> {
    if word == "both" { Ok(Who::Both) } else { side_of(word).map(Who::One) }
}

fn res_of(word: &str) -> Result<Res, String> {
    Res::ALL.into_iter().find(|res| res.name() == word).ok_or_else(|| format!("{word} is no resource"))
}

fn key_of(word: &str) -> Result<char, String> {
    word.chars().next().filter(|_| word.len() == 1).ok_or_else(|| format!("{word} is no key"))
}

fn given_of(words: &[&str]) -> Result<Given, String> {
    let mut given = Given::default();
    for word in words {
        match *word {
            "deletes" => given.deletes = true,
            "adopt" => given.adopt = true,
            "allow" => given.allow = true,
            other => return Err(format!("{other} is no permission")),
        }
    }
    Ok(given)
}

fn data_of(words: &[&str]) -> Result<Data, String> {
    let mut data = Data::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("{word} is no KEY=VALUE"))?;
        data.insert(key_of(key)?, value.parse().map_err(|_| format!("{value} is no number"))?);
    }
    Ok(data)
}
