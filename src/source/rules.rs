//! The IDs of the rules that this room judges.

use crate::base::fault::RuleId;

/// The file is no YAML.
pub const YAML_SYNTAX: RuleId = RuleId::new("yaml-syntax");
/// A key stands twice in one mapping.
pub const DUPLICATE_KEY: RuleId = RuleId::new("duplicate-key");
/// A field that the kind doesn't have.
pub const UNKNOWN_FIELD: RuleId = RuleId::new("unknown-field");
/// A value of another type, or none of the words that the field takes.
pub const TYPE_MISMATCH: RuleId = RuleId::new("type-mismatch");
/// A number outside its bounds.
pub const OUT_OF_RANGE: RuleId = RuleId::new("out-of-range");
/// A field that must be there.
pub const MISSING_FIELD: RuleId = RuleId::new("missing-field");
/// A kind that the configuration doesn't know.
pub const UNKNOWN_KIND: RuleId = RuleId::new("unknown-kind");
/// A name that is none.
pub const BAD_NAME: RuleId = RuleId::new("bad-name");
/// Two Sources or Targets of one name, or defaults given twice.
pub const DUPLICATE_OBJECT: RuleId = RuleId::new("duplicate-object");
/// A repository's URL that is refused.
pub const REPOSITORY_URL: RuleId = RuleId::new("repository-url");
/// More than a limit allows.
pub const SIZE_LIMIT: RuleId = RuleId::new("size-limit");
/// The Source's path isn't in the commit, or nothing is under it.
pub const EMPTY_SOURCE: RuleId = RuleId::new("empty-source");
/// A submodule under the Source's path.
pub const SUBMODULE: RuleId = RuleId::new("submodule");
/// A Git LFS pointer instead of a manifest.
pub const LFS_POINTER: RuleId = RuleId::new("lfs-pointer");
/// A symbolic link that leaves the Source's path.
pub const LINK_OUTSIDE: RuleId = RuleId::new("link-outside");
/// A symbolic link that leads back to itself.
pub const LINK_LOOP: RuleId = RuleId::new("link-loop");
/// A symbolic link to nothing.
pub const LINK_DANGLING: RuleId = RuleId::new("link-dangling");
/// A symbolic link to a folder.
pub const LINK_FOLDER: RuleId = RuleId::new("link-folder");
/// The commit is in no branch, no tag and no mirror any more.
pub const COMMIT_GONE: RuleId = RuleId::new("commit-gone");
/// Uncommitted changes of a local repository, which no plan has.
pub const UNCOMMITTED: RuleId = RuleId::new("uncommitted");
/// The commit is in the mirror, but no branch or tag of the repository reaches it.
pub const COMMIT_UNREACHABLE: RuleId = RuleId::new("commit-unreachable");
/// The repository can't be read, or isn't whole.
pub const REPOSITORY: RuleId = RuleId::new("repository");
