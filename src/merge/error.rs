//! Why a merge is not possible.

use super::fields_v1::BadFields;
use crate::base::pointer::Pointer;

/// Why a merge is not possible. No text has a value of the object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The live object says who holds its fields in a form that can't be read. Reading it as "nobody" would take fields
    /// from others without a word.
    #[error("the field owners of the live object can't be read: managedFields entry {entry}: {reason}")]
    ManagedFields {
        /// Which entry, from 0.
        entry: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The live object's field owners are no list at all.
    #[error("the field owners of the live object can't be read: managedFields is no list")]
    NoManagedFields,
    /// An entry of a keyed list or a set is declared twice.
    #[error("the entry {path} is declared twice")]
    RepeatedEntry {
        /// The later entry.
        path: Pointer,
    },
    /// What should be an object is none.
    #[error("the {0} object is no map")]
    NoObject(&'static str),
}

impl MergeError {
    pub(super) fn fields(entry: usize, bad: BadFields) -> Self {
        Self::ManagedFields { entry, reason: bad.to_string() }
    }

    /// The same from the parent's point of view.
    pub(super) fn below(self, key: &str) -> Self {
        match self {
            Self::RepeatedEntry { path } => {
                let segments = std::iter::once(key.to_owned()).chain(path.segments());
                Self::RepeatedEntry { path: Pointer::of(segments) }
            }
            other => other,
        }
    }

    pub(super) fn entry(entry: usize, reason: &str) -> Self {
        Self::ManagedFields { entry, reason: reason.to_owned() }
    }
}
