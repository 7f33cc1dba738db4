//! Which commit of its repository a Source follows.

use std::fmt;

use crate::base::ids::CommitId;

/// A way to find a commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum RefSpec {
    /// The branch that the repository's HEAD names.
    #[default]
    Head,
    /// A branch, without `refs/heads/`.
    Branch(String),
    /// A tag, without `refs/tags/`; an annotated one stands for its commit.
    Tag(String),
    /// A full commit ID that a branch or tag must reach.
    Commit(CommitId),
}

/// A text that names no branch, tag or commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRef {
    /// `commit:` with something else than 40 lower-case hex digits.
    #[error("commit: needs the full commit ID, 40 lower-case hex digits")]
    Commit,
    /// No name that git would take.
    #[error("this is no name of a branch or tag: write a branch, tag:NAME or commit:FULL-ID")]
    Name,
    /// A full ref name.
    #[error("write the branch or tag without refs/: a branch by its name, tag:NAME, or commit:FULL-ID")]
    FullName,
}

impl RefSpec {
    /// Reads `main`, `tag:v1.2` or `commit:FULL-ID`; `HEAD` is the repository's own.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn parse(text: &str) -> Result<Self, BadRef> {
        if text == "HEAD" {
            return Ok(Self::Head);
        }
        if let Some(id) = text.strip_prefix("commit:") {
            return CommitId::parse(id).map(Self::Commit).map_err(|_| BadRef::Commit);
        }
        if text.starts_with("refs/") {
            return Err(BadRef::FullName);
        }
        if let Some(name) = text.strip_prefix("tag:") {
            return if git2::Reference::is_valid_name(&format!("refs/tags/{name}")) {
                Ok(Self::Tag(name.to_owned()))
            } else {
                Err(BadRef::Name)
            };
        }
        if git2::Reference::is_valid_name(&format!("refs/heads/{text}")) {
            Ok(Self::Branch(text.to_owned()))
        } else {
            Err(BadRef::Name)
        }
    }
}

impl fmt::Display for RefSpec {
    /// Writes what [`RefSpec::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("HEAD"),
            Self::Branch(name) => f.write_str(name),
            Self::Tag(name) => write!(f, "tag:{name}"),
            Self::Commit(id) => write!(f, "commit:{id}"),
        }
    }
}
