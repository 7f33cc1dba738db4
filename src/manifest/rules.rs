//! The rules that the reader judges.

use crate::base::fault::RuleId;

/// The text is no YAML or JSON, or none that kubectl reads.
pub const YAML_SYNTAX: RuleId = RuleId::new("yaml-syntax");
/// The bytes are no UTF-8.
pub const ENCODING: RuleId = RuleId::new("encoding");
/// A mapping has one key twice; kubectl would keep the last, silently.
pub const DUPLICATE_KEY: RuleId = RuleId::new("duplicate-key");
/// A key's text changes when it is read (`on` becomes `true`).
pub const AMBIGUOUS_KEY: RuleId = RuleId::new("ambiguous-key");
/// A merge key sets what an earlier key of its mapping has set; readers disagree which wins.
pub const AMBIGUOUS_MERGE: RuleId = RuleId::new("ambiguous-merge");
/// A document holds something that is no Kubernetes object.
pub const NOT_A_MANIFEST: RuleId = RuleId::new("not-a-manifest");
/// A document is encrypted: decrypt it before it comes here.
pub const ENCRYPTED: RuleId = RuleId::new("encrypted");
/// A field that is not part of its kind.
pub const UNKNOWN_FIELD: RuleId = RuleId::new("unknown-field");
/// A limit of the reader was hit.
pub const SIZE_LIMIT: RuleId = RuleId::new("size-limit");
/// A file is a Git LFS pointer, not its content.
pub const LFS_POINTER: RuleId = RuleId::new("lfs-pointer");
/// A line of an ignore file is no gitignore pattern.
pub const IGNORE_PATTERN: RuleId = RuleId::new("ignore-pattern");
/// A field that the server owns was left out of what is declared.
pub const SERVER_OWNED: RuleId = RuleId::new("server-owned-field");
