//! JSON Pointers (RFC 6901): how a field is named in reports, plans and configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A JSON Pointer in its text form; the empty text is the whole document.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Pointer(String);

/// A text that is no JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no JSON Pointer: it starts with / and writes ~ as ~0 and / as ~1")]
pub struct BadPointer(String);

impl Pointer {
    /// The whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads a pointer.
    ///
    /// # Errors
    /// If it neither is empty nor starts with `/`, or if a `~` is followed by neither 0 nor 1.
    pub fn parse(text: &str) -> Result<Self, BadPointer> {
        let bad_escape = text.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1']));
        if (!text.is_empty() && !text.starts_with('/')) || bad_escape {
            return Err(BadPointer(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Joins unescaped segments.
    pub fn of<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> Self {
        let mut pointer = Self::root();
        for segment in segments {
            pointer.push_key(segment.as_ref());
        }
        pointer
    }

    /// The pointer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Goes down into the value of a key, in place.
    pub fn push_key(&mut self, key: &str) {
        self.0.push('/');
        if !key.contains(['~', '/']) {
            self.0.push_str(key);
            return;
        }
        for c in key.chars() {
            match c {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                c => self.0.push(c),
            }
        }
    }

    /// Goes down into a list entry, in place.
    pub fn push_index(&mut self, index: usize) {
        use fmt::Write;
        // Writing into a String can't fail.
        let _ = write!(self.0, "/{index}");
    }

    /// Goes up to the parent, in place; of the root it does nothing.
    pub fn pop(&mut self) {
        let end = self.0.rfind('/').unwrap_or(0);
        self.0.truncate(end);
    }

    /// The pointer to a key below this one.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut below = self.clone();
        below.push_key(key);
        below
    }

    /// The pointer to a list entry below this one.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut below = self.clone();
        below.push_index(index);
        below
    }

    /// The parent; `None` of the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.rfind('/').map(|end| Self(self.0[..end].to_owned()))
    }

    /// The unescaped segments from the root down.
    pub fn segments(&self) -> impl Iterator<Item = String> + '_ {
        self.0.split('/').skip(1).map(|s| s.replace("~1", "/").replace("~0", "~"))
    }

    /// Whether this is `other` or lies below it.
    pub fn is_within(&self, other: &Pointer) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether one of the two places lies within the other.
    pub fn overlaps(&self, other: &Pointer) -> bool {
        self.is_within(other) || other.is_within(self)
    }
}

impl TryFrom<String> for Pointer {
    type Error = BadPointer;

    fn try_from(text: String) -> Result<Self, BadPointer> {
        Self::parse(&text)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
