//! The plan file, read back: a claim that is checked, never an instruction.

use std::io::{self, Write};

use serde::Deserialize;

use super::document::{FORMAT_VERSION, PlanDocument};
use super::identity::{self, NoForm};
use super::layout;
use crate::base::text::{escape, shorten};

/// The largest plan file that is read, in bytes: 64 MiB hold some 60,000 Changes.
pub const MAX_BYTES: usize = 64 << 20;

/// Why a plan file is not taken. Texts hold nothing of the file's values.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// It is larger than [`MAX_BYTES`].
    #[error("the plan file is larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// It ends before the document does.
    #[error("the plan file is cut off at line {line}")]
    Cut {
        /// Where it ends, from 1.
        line: usize,
    },
    /// It is no JSON.
    #[error("the plan file is no JSON: line {line}, column {column}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// It is JSON, but no plan.
    #[error("the file is no saved plan: it has no formatVersion")]
    NotAPlan,
    /// Another build wrote it.
    #[error("the plan file has format version {found}, and this holdfast reads version {FORMAT_VERSION}")]
    OtherVersion {
        /// The version found.
        found: u64,
    },
    /// It has not the form of a plan.
    #[error("the plan file has not the form of a plan, at line {line}, column {column}: {reason}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// Its digest is not the one of its contents.
    #[error("the plan file was edited or damaged: its {which} is not that of its contents")]
    Digest {
        /// `planId` or `contentId`.
        which: &'static str,
    },
    /// Its digest can't be taken.
    #[error(transparent)]
    NoForm(#[from] NoForm),
}

/// What every version of the format has; all else may differ in others.
#[derive(Deserialize)]
struct Versioned {
    #[serde(rename = "formatVersion")]
    format_version: Option<u64>,
}

/// Reads a plan file: its version first, then its form with nothing unknown in it, then its digests.
///
/// # Errors
/// If any of these fails; a plan that was read may be shown and compared, and never applied as it stands.
pub fn read(bytes: &[u8]) -> Result<PlanDocument, StoredError> {
    if bytes.len() > MAX_BYTES {
        return Err(StoredError::TooLarge);
    }
    let versioned: Versioned = crate::base::json::read(bytes).map_err(|error| unread(&error))?;
    match versioned.format_version {
        Some(found) if found == u64::from(FORMAT_VERSION) => {}
        Some(found) => return Err(StoredError::OtherVersion { found }),
        None => return Err(StoredError::NotAPlan),
    }
    let plan: PlanDocument = crate::base::json::read(bytes).map_err(|error| unread(&error))?;
    let (plan_id, content_id) = identity::name(&plan)?;
    if plan.plan_id != plan_id {
        return Err(StoredError::Digest { which: "planId" });
    }
    if plan.content_id != content_id {
        return Err(StoredError::Digest { which: "contentId" });
    }
    Ok(plan)
}

fn unread(error: &serde_json::Error) -> StoredError {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Eof => StoredError::Cut { line },
        serde_json::error::Category::Data => {
            StoredError::Malformed { line, column, reason: form_only(&error.to_string()) }
        }
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => StoredError::NotJson { line, column },
    }
}

/// So much of a field's name is shown.
const NAMED: usize = 100;

/// Keeps the kind of a form error and drops the value that it quotes: a plan file may be anybody's. A field's name is too.
fn form_only(text: &str) -> String {
    let text = text.rsplit_once(" at line ").map_or(text, |(before, _)| before);
    [
        "unknown field",
        "missing field",
        "duplicate field",
        "invalid type",
        "invalid value",
        "invalid length",
        "unknown variant",
    ]
    .iter()
    .find(|kind| text.starts_with(**kind))
    .map_or_else(
        || "a value is not of its form".to_owned(),
        |kind| match *kind {
            "missing field" => text.to_owned(),
            "unknown field" | "duplicate field" => {
                let named = text.split(", expected").next().unwrap_or(kind);
                escape(&shorten(named, NAMED)).into_owned()
            }
            kind => kind.to_owned(),
        },
    )
}

/// The bytes of a plan file: indented JSON with a final line end, safe to show as it stands.
///
/// # Errors
/// If a part of it has no JSON form.
pub fn write(plan: &PlanDocument) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_to(plan, &mut bytes)?;
    Ok(bytes)
}

/// Writes these bytes.
///
/// # Errors
/// If they can't be written, or a part of the plan has no JSON form.
pub fn write_to(plan: &PlanDocument, to: impl Write + Send) -> io::Result<()> {
    layout::write(plan, to)
}
