//! A document of a manifest file, and how its fields are found in the file again.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::Value;

use super::anchor::Surprise;
use super::compose::joined;
use super::locate::find;
use super::text::{Home, Text};
use crate::base::fault::At;
use crate::base::path::RepoPath;
use crate::base::pointer::Pointer;

/// A file of a commit, kept for places and for the source line under a fault.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The file, from the repository's root.
    pub path: RepoPath,
    /// Its bytes, as the commit has them.
    pub text: Vec<u8>,
}

/// A line of a file, from 1, without its line end; `None` if there is none, or if it is not UTF-8.
pub fn source_line(file: &SourceFile, line: u32) -> Option<&str> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let bytes = file.text.split(|&b| b == b'\n').nth(index)?;
    let text = std::str::from_utf8(bytes).ok()?;
    Some(text.strip_prefix('\u{feff}').unwrap_or(text).trim_end_matches('\r'))
}

/// One object of a manifest file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document {
    /// The file.
    pub file: Arc<SourceFile>,
    /// The YAML document in the file, from 0.
    pub index: usize,
    /// The item of a flattened list (`/items/3`); `None` if the object is the document.
    pub item: Option<Pointer>,
    /// The line at which it starts, from 1.
    pub line: u32,
    /// The column at which it starts, from 1.
    pub column: u32,
    /// The object, without the fields that the server owns.
    pub value: Value,
    /// Its `status`, set aside: whether the author may declare it is known with the kind.
    pub status: Option<Box<Value>>,
    /// Plain scalars whose JSON is not what the text looks like (`1.10`, `0755`, `yes`), in the order of the file.
    pub surprising: Vec<Surprise>,
    pub(super) home: Home,
}

impl Document {
    /// The place where the document starts.
    pub fn at(&self) -> At {
        At { file: self.file.path.clone(), document: self.index, line: self.line, column: self.column }
    }

    /// The place of the key or list entry at a pointer; of one that isn't there, its nearest parent.
    ///
    /// It reads the file once more: for many places ask [`Document::locate_all`].
    pub fn locate(&self, pointer: &Pointer) -> At {
        self.locate_all(std::slice::from_ref(pointer)).into_iter().next().unwrap_or_else(|| self.at())
    }

    /// The places of several pointers, in their order; the file is read once.
    pub fn locate_all(&self, pointers: &[Pointer]) -> Vec<At> {
        let text = Text::decode(&self.file.text).ok();
        let Some(chunk) = text.as_ref().and_then(|text| text.chunk(&self.home)) else {
            return vec![self.at(); pointers.len()];
        };
        let whole: Vec<Pointer> = match &self.item {
            None => pointers.to_vec(),
            Some(item) => pointers.iter().map(|pointer| joined(item, pointer)).collect(),
        };
        let counted = Cell::default();
        let place = |byte: usize| {
            let (line, column) = chunk.place(byte, &counted);
            At { line, column, ..self.at() }
        };
        find(&chunk, self.home.skip, &whole).into_iter().map(place).collect()
    }
}
