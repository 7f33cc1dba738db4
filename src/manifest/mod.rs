//! Manifest files of a commit: YAML and JSON read as kubectl reads them, or refused with file, line and column.
//!
//! **Invariant: no third meaning.** Whatever kubectl would read otherwise than it is written here, or silently in part, is a
//! fault. Values carry no places; [`Document::locate`] reads the file again when one is asked for.

mod anchor;
mod classify;
mod compose;
mod document;
mod edit;
mod event;
mod file;
mod json;
mod judge;
mod lfs;
mod limits;
mod locate;
mod merge;
mod reader;
mod rewrite;
pub mod rules;
mod scalar;
mod server_owned;
mod set;
mod spans;
mod template;
mod text;
mod yaml;

pub use anchor::Surprise;
pub use classify::{BadPattern, Counted, IGNORE_FILE, IgnoreRules, has_counted_ending, is_near_miss};
pub use document::{Document, SourceFile, source_line};
pub use file::{FileReading, read_file, read_objects};
pub use lfs::is_lfs_pointer;
pub use limits::Limits;
pub use rewrite::{Change, Rewritten, as_written, rewrite};
pub use set::{ManifestSet, assemble};
pub use template::{TEMPLATE_HINT, looks_like_template};
