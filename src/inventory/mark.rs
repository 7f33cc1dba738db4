//! The owner mark: the one annotation that Holdfast writes on a live object.

use std::fmt;

use serde_json::Value;

use crate::base::ids::{ApplyId, SourceId};
use crate::base::resource::ResourceId;

/// The annotation's key.
pub const OWNER_ANNOTATION: &str = "holdfast.dev/owner";

/// Who owns a live object: the Source, the resource that the mark was made for, and the apply that last wrote it.
///
/// The resource is in it so that a mark which was copied to another object proves nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerMark {
    /// The owning Source.
    pub source: SourceId,
    /// The resource that the mark was made for.
    pub resource: ResourceId,
    /// The apply that last wrote the object.
    pub apply: ApplyId,
}

/// An owner mark that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the annotation {OWNER_ANNOTATION} is no owner mark")]
pub struct BadMark;

impl OwnerMark {
    /// Reads the mark of a live object; `None` if it bears none.
    ///
    /// # Errors
    /// If it bears one that can't be read: that is not the same as none.
    pub fn of(object: &Value) -> Result<Option<Self>, BadMark> {
        match object.pointer("/metadata/annotations").and_then(|a| a.get(OWNER_ANNOTATION)) {
            None => Ok(None),
            Some(Value::String(text)) => Self::parse(text).map(Some),
            Some(_) => Err(BadMark),
        }
    }

    /// Puts the mark on an object that is declared.
    pub fn put_on(&self, declared: &mut Value) {
        let Some(metadata) = declared.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if !annotations.is_object() {
            *annotations = Value::Object(serde_json::Map::new());
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(OWNER_ANNOTATION.to_owned(), Value::String(self.to_string()));
        }
    }

    /// Reads a mark's text.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, BadMark> {
        let mut parts = text.split(' ');
        let (Some(source), Some(resource), Some(apply), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(BadMark);
        };
        Ok(Self {
            source: SourceId::parse(source).map_err(|_| BadMark)?,
            resource: ResourceId::parse(resource).map_err(|_| BadMark)?,
            apply: ApplyId::parse(apply).map_err(|_| BadMark)?,
        })
    }
}

impl fmt::Display for OwnerMark {
    /// Writes what [`OwnerMark::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.source, self.resource, self.apply)
    }
}
