//! One file: from bytes to documents, every fault of it at once.

use std::cell::Cell;
use std::sync::Arc;

use super::anchor::Spent;
use super::compose::{Composer, Stopped};
use super::document::{Document, SourceFile};
use super::limits::Limits;
use super::reader::{Piece, Reader};
use super::text::Text;
use super::{lfs, rules};
use crate::base::fault::{At, Fault, Warning};
use crate::base::path::RepoPath;

const AFTER_END: &str = "text after the document's end (`...`): kubectl would drop it silently";
const BAD_SEPARATOR: &str = "only blanks or a comment may follow the three dashes of a separator";

/// What one file holds.
#[derive(Debug)]
pub struct FileReading {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Its objects, in order, the items of lists too.
    pub documents: Vec<Document>,
    /// Objects whose text has a fault that makes their content unsure: good for telling what was meant to exist, not to
    /// be judged.
    pub damaged: Vec<Document>,
    /// What is wrong with it, in the order of the file.
    pub faults: Vec<Fault>,
    /// What its author should know.
    pub warnings: Vec<Warning>,
    /// Bytes of memory that the values take, by estimate.
    pub(super) memory: usize,
}

/// Reads a manifest file, YAML or JSON. Nothing in it can make this panic or run long.
pub fn read_file(path: &RepoPath, text: Vec<u8>, limits: &Limits) -> FileReading {
    let file = Arc::new(SourceFile { path: path.clone(), text });
    read(&file, limits, Reader::new(&file, limits))
}

/// Reads a file of whole objects, those fields included that a server owns: for writes by hand, never for a commit.
pub fn read_objects(path: &RepoPath, text: Vec<u8>, limits: &Limits) -> FileReading {
    let file = Arc::new(SourceFile { path: path.clone(), text });
    read(&file, limits, Reader::new(&file, limits).whole())
}

fn read<'r>(file: &'r Arc<SourceFile>, limits: &'r Limits, mut reader: Reader<'r>) -> FileReading {
    match text_of(file, limits) {
        Ok(text) => read_text(&text, limits, &mut reader),
        Err(fault) => reader.fault(*fault),
    }
    reader.finish()
}

/// The text of a file, if it is one that can hold manifests.
fn text_of<'f>(file: &'f SourceFile, limits: &Limits) -> Result<Text<'f>, Box<Fault>> {
    let bytes = &file.text;
    if bytes.len() > limits.file_bytes {
        let text = format!("the file has {} bytes, more than the {} allowed", bytes.len(), limits.file_bytes);
        return Err(Box::new(Fault::new(rules::SIZE_LIMIT, text).at(At::file(&file.path))));
    }
    if lfs::is_lfs_pointer(bytes) {
        let text = format!("a Git LFS pointer stands here, not its content ({})", lfs::content(bytes));
        let at = At { line: 1, column: 1, ..At::file(&file.path) };
        let hint = "commit the manifest itself: take it out of Git LFS";
        return Err(Box::new(Fault::new(rules::LFS_POINTER, text).at(at).hint(hint)));
    }
    Text::decode(bytes).map_err(|no_text| {
        let (line, column) = byte_place(bytes, no_text.at);
        let at = At { line, column, ..At::file(&file.path) };
        Box::new(Fault::new(rules::ENCODING, no_text.text).at(at))
    })
}

/// Line and column of the first byte that is no text.
fn byte_place(bytes: &[u8], at: usize) -> (u32, u32) {
    let before = String::from_utf8_lossy(&bytes[..at.min(bytes.len())]);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX - 1) + 1;
    (count(before.matches('\n').count()), count(line.chars().count()))
}

fn read_text(text: &Text<'_>, limits: &Limits, reader: &mut Reader<'_>) {
    let mut spent = Spent::default();
    let mut index = 0;
    // After a document that broke off, the rest may be the other half of a text with a separator in it.
    let mut breaks = false;
    for (number, chunk) in text.chunks().enumerate() {
        let torn = std::mem::take(&mut breaks);
        if chunk.text.is_empty() && chunk.bad_separator.is_none() {
            index += usize::from(number > 0);
            continue;
        }
        let counted = Cell::default();
        let mut events = chunk.events(0);
        let mut composer = Composer::new(limits, &mut spent);
        let mut documents = 0;
        loop {
            let read = composer.read(&mut events);
            let flaws = std::mem::take(&mut composer.flaws);
            let piece = Piece::new(&chunk, &counted, composer.began(), index + documents);
            match read {
                Ok(Some(document)) if documents > 0 && !chunk.is_stream() => {
                    reader.fault(reader.fault_at(&piece, rules::YAML_SYNTAX, AFTER_END, document.at));
                    break;
                }
                Ok(Some(document)) if reader.is_full(index + documents) => {
                    reader.fault(reader.fault_at(&piece, rules::SIZE_LIMIT, reader.too_many(), document.at));
                    return;
                }
                Ok(Some(document)) if torn && !document.value.is_object() => {}
                Ok(Some(document)) => reader.document(&piece, document, flaws),
                Ok(None) => break,
                Err(Stopped) => {
                    breaks = true;
                    reader.flaws(&piece, flaws);
                    break;
                }
            }
            documents += 1;
        }
        drop(composer);
        reader.memory = spent.memory;
        if let Some(at) = chunk.bad_separator {
            let piece = Piece::new(&chunk, &counted, 0, index + 1);
            reader.fault(reader.fault_at(&piece, rules::YAML_SYNTAX, BAD_SEPARATOR, at));
        }
        // A comment above the first separator is no document.
        if number > 0 || !chunk.is_blank() {
            index += documents.max(1);
        }
    }
}
