//! Rules that stand between a commit and its plan, and between a plan and its apply.

use crate::base::fault::RuleId;

/// A Source's repository, commit or files could not be read.
pub const SOURCE_UNREADABLE: RuleId = RuleId::new("source-unreadable");
/// A Source's name is bound to another repository, path or history on this target.
pub const SOURCE_BINDING: RuleId = RuleId::new("source-binding");
/// The plan's commit is no longer on its Source's ref.
pub const SOURCE_MOVED: RuleId = RuleId::new("source-moved");
/// A Source is paused: nothing is applied to it.
pub const PAUSED: RuleId = RuleId::new("paused");
/// A Source is pinned to another commit.
pub const PINNED: RuleId = RuleId::new("pinned");
/// What the target serves (its CustomResourceDefinitions) changed between reading and applying.
pub const TARGET_MOVED: RuleId = RuleId::new("target-moved");
/// The target knows no Source of this name.
pub const UNKNOWN_SOURCE: RuleId = RuleId::new("unknown-source");
/// A Source was to get a name that another one has.
pub const SOURCE_NAME_TAKEN: RuleId = RuleId::new("source-name-taken");
/// Another apply holds the target.
pub const LOCKED: RuleId = RuleId::new("locked");
/// An apply that was begun on the target and is neither finished nor undone.
pub const INTERRUPTED: RuleId = RuleId::new("interrupted-apply");
