//! Identifiers, one newtype each, so that one can't stand where another is meant.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text that is no identifier of the asked kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} expected, found {found:?}")]
pub struct BadId {
    what: &'static str,
    found: String,
}

impl BadId {
    fn new(what: &'static str, found: &str) -> Self {
        Self { what, found: found.chars().take(80).collect() }
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl TryFrom<String> for $name {
            type Error = BadId;

            /// Checks what a file says: a stored identifier is no more trusted than a typed one.
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::parse(&text)
            }
        }

        impl $name {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

fn is_hex(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

text_id! {
    /// A full git commit ID: 40 lower-case hex digits. A branch is only ever a way to find one.
    CommitId
}
text_id! {
    /// The name of a Source, as its configuration gives it (a DNS label).
    SourceName
}
text_id! {
    /// The ID of a Source: UUIDv5 of the target's identity, its name and the number of earlier Sources of that name.
    SourceId
}
text_id! {
    /// The UID that the control plane gave a live object. Deleted and re-created means a new one.
    ObjectUid
}
text_id! {
    /// The identity of a target: a name is only what a configuration calls it.
    TargetIdentity
}
text_id! {
    /// The ID of one apply: UUIDv7.
    ApplyId
}
text_id! {
    /// SHA-256 over a plan's binding and report.
    PlanId
}
text_id! {
    /// SHA-256 over what a plan would do, whatever commit brought it.
    ContentId
}
text_id! {
    /// A SHA-256 digest as 64 lower-case hex digits.
    Digest
}
text_id! {
    /// Who holds a field of a live object (`managedFields[].manager`).
    Manager
}

impl CommitId {
    /// Reads a full commit ID.
    ///
    /// # Errors
    /// If `text` is not 40 lower-case hex digits: an abbreviation could come to mean another commit.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_hex(text, 40) { Ok(Self(text.to_owned())) } else { Err(BadId::new("a full commit ID", text)) }
    }

    /// The first ten digits, for tables.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl SourceName {
    /// Reads a Source's name: a DNS label, lower-case letters, digits and `-`, at most 63 characters.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = text.as_bytes();
        let ok = matches!((bytes.first(), bytes.last()), (Some(&a), Some(&z)) if edge(a) && edge(z))
            && bytes.len() <= 63
            && bytes.iter().all(|&b| edge(b) || b == b'-');
        if ok { Ok(Self(text.to_owned())) } else { Err(BadId::new("a Source's name (a DNS label)", text)) }
    }
}

impl SourceId {
    /// Derives the ID of the `earlier`-th Source (from 0) of this name on this target.
    ///
    /// It is known before the Source is bound, kept by a rename and never reused.
    pub fn derive(target: &TargetIdentity, name: &SourceName, earlier: u64) -> Self {
        const SPACE: uuid::Uuid = uuid::Uuid::from_u128(0x6d0d_3a6e_5f0b_4c47_9d0e_0b8f_5b0e_57ce);
        let text = format!("{target}\n{name}\n{earlier}");
        Self(uuid::Uuid::new_v5(&SPACE, text.as_bytes()).to_string())
    }

    /// Reads an ID.
    ///
    /// # Errors
    /// If it is no UUID.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        uuid_text(text, "a Source ID").map(Self)
    }
}

impl ObjectUid {
    /// Reads the UID of a live object.
    ///
    /// # Errors
    /// If it is empty or longer than 128 bytes.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if text.is_empty() || text.len() > 128 {
            return Err(BadId::new("an object's UID", text));
        }
        Ok(Self(text.to_owned()))
    }
}

impl ObjectUid {
    /// Stands where an object has no UID yet: the target gives it one when it is written.
    pub fn unwritten() -> Self {
        Self("-".to_owned())
    }
}

impl TargetIdentity {
    /// Reads a target's identity.
    ///
    /// # Errors
    /// If it is empty or longer than 200 bytes.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if text.is_empty() || text.len() > 200 {
            return Err(BadId::new("a target's identity", text));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TargetIdentity {
    /// Whether a target that is this now was `earlier` before it had any state: the first apply makes the state, and with
    /// it the second half of the identity.
    pub fn began_as(&self, earlier: &Self) -> bool {
        self.0.strip_prefix(earlier.as_str()).is_some_and(|rest| rest.starts_with('.'))
    }
}

impl ApplyId {
    /// Names an apply by a new UUIDv7.
    pub fn new(uuid: uuid::Uuid) -> Self {
        Self(uuid.to_string())
    }

    /// The ID of no apply: where one only asks what an apply would do.
    pub fn nobody() -> Self {
        Self(uuid::Uuid::nil().to_string())
    }

    /// Reads the ID of an apply.
    ///
    /// # Errors
    /// If it is no UUID.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        uuid_text(text, "an apply's ID").map(Self)
    }
}

impl Manager {
    /// Reads a field manager's name.
    ///
    /// # Errors
    /// If it is longer than 128 bytes.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if text.len() > 128 { Err(BadId::new("a field manager's name", text)) } else { Ok(Self(text.to_owned())) }
    }

    /// Names a field manager; free text, cut at 128 bytes as the API server demands.
    pub fn new(text: &str) -> Self {
        let mut end = text.len().min(128);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text[..end].to_owned())
    }
}

impl Digest {
    /// Wraps the hex digits of a SHA-256.
    ///
    /// # Errors
    /// If it is not 64 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_hex(text, 64) { Ok(Self(text.to_owned())) } else { Err(BadId::new("a SHA-256 digest", text)) }
    }

    pub(crate) fn from_hex(hex: String) -> Self {
        Self(hex)
    }
}

impl PlanId {
    /// Names a plan by its digest.
    pub fn new(digest: &Digest) -> Self {
        Self(digest.0.clone())
    }

    /// Reads a PlanId.
    ///
    /// # Errors
    /// If it is not 64 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_hex(text, 64) { Ok(Self(text.to_owned())) } else { Err(BadId::new("a PlanId", text)) }
    }
}

impl ContentId {
    /// Names a plan's content by its digest.
    pub fn new(digest: &Digest) -> Self {
        Self(digest.0.clone())
    }

    /// Reads a ContentId.
    ///
    /// # Errors
    /// If it is not 64 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_hex(text, 64) { Ok(Self(text.to_owned())) } else { Err(BadId::new("a ContentId", text)) }
    }
}

fn uuid_text(text: &str, what: &'static str) -> Result<String, BadId> {
    // Most are written as they are kept.
    let is_kept = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    };
    if text.len() == 36 && text.bytes().enumerate().all(is_kept) {
        return Ok(text.to_owned());
    }
    uuid::Uuid::try_parse(text).map(|u| u.to_string()).map_err(|_| BadId::new(what, text))
}
