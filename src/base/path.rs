//! Paths inside a repository: bytes, as git keeps them.

use std::fmt;
use std::sync::Arc;

/// A path inside a commit's tree, parts joined by `/`, without a leading one. Any bytes but NUL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RepoPath(Arc<[u8]>);

impl RepoPath {
    /// Wraps the bytes of a path.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The bytes, as git keeps them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path to an entry of this folder.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        if self.0.is_empty() {
            return Self::new(name);
        }
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        bytes.push(b'/');
        bytes.extend_from_slice(name);
        Self(bytes.into())
    }

    /// The last part.
    pub fn file_name(&self) -> &[u8] {
        self.0.rsplit(|&b| b == b'/').next().unwrap_or_default()
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

impl fmt::Display for RepoPath {
    /// Writes the path; bytes that are no UTF-8 as `\xNN`. Control characters are the caller's to escape
    /// ([`crate::base::text::escape`]).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}
