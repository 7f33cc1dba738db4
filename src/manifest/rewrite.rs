//! Manifests changed in their files: what is asked for is changed, and every other byte stays.

use serde_json::Value;

use super::document::{Document, SourceFile};
use super::edit::{Splice, edit};
use super::file::{FileReading, read_file};
use super::limits::Limits;
use super::spans::{Node, What, spans};
use super::text::Text;
use crate::base::pointer::Pointer;

/// What becomes of one object of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The YAML document in the file, from 0.
    pub index: usize,
    /// The item of a flattened list.
    pub item: Option<Pointer>,
    /// The object as it will be read; `None` takes its document out.
    pub becomes: Option<Value>,
}

/// A file with its changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    /// Its bytes; `None` if no document is left.
    pub text: Option<Vec<u8>>,
    /// The changes that could not be made, by their place in what was asked, with the reason.
    pub failed: Vec<(usize, String)>,
}

/// Reads the objects of a file again, as they are written: what was declared is a form of that.
pub fn as_written(file: &SourceFile, limits: &Limits) -> FileReading {
    read_file(&file.path, file.text.clone(), limits)
}

/// Makes changes in a file's text. Whether the result says exactly what was asked is read back before it counts.
pub fn rewrite(file: &SourceFile, changes: &[Change], limits: &Limits) -> Rewritten {
    let reading = as_written(file, limits);
    let Ok(decoded) = Text::decode(&file.text) else {
        let failed = (0..changes.len()).map(|at| (at, "the file is no text".to_owned())).collect();
        return Rewritten { text: Some(file.text.clone()), failed };
    };
    let (mut wanted, mut failed) = (Vec::new(), Vec::new());
    for (at, change) in changes.iter().enumerate() {
        match possible(&decoded, &reading, change) {
            Ok(()) => wanted.push(at),
            Err(reason) => failed.push((at, reason)),
        }
    }
    // If one of them is in the way, those that can be made still are: it is looked for in halves.
    let (mut text, mut made) = (Some(file.text.clone()), Vec::new());
    let mut batches = vec![wanted];
    while let Some(batch) = batches.pop() {
        let both: Vec<usize> = made.iter().chain(&batch).copied().collect();
        match attempt((file, &decoded), &reading, changes, &both, limits) {
            Ok(changed) => (text, made) = (changed, both),
            Err(reason) if batch.len() < 2 || failed.len() >= MOST_FAILED => {
                failed.extend(batch.into_iter().map(|at| (at, reason.clone())));
            }
            Err(_) => {
                let (first, second) = batch.split_at(batch.len() / 2);
                batches.extend([second.to_vec(), first.to_vec()]);
            }
        }
    }
    failed.sort();
    Rewritten { text, failed }
}

/// After so many failures in one file no more are looked for one by one.
const MOST_FAILED: usize = 32;

/// Whether a change has a place in the text at all.
fn possible(text: &Text<'_>, reading: &FileReading, change: &Change) -> Result<(), String> {
    let document = reading.documents.iter().find(|d| d.index == change.index && d.item == change.item);
    let document = document.ok_or("the document isn't there")?;
    match &change.becomes {
        Some(new) => edits(text, document, new).map(drop),
        None => Ok(()),
    }
}

fn attempt(
    (file, text): (&SourceFile, &Text<'_>),
    reading: &FileReading,
    changes: &[Change],
    made: &[usize],
    limits: &Limits,
) -> Result<Option<Vec<u8>>, String> {
    let (mut splices, mut expected) = (Vec::new(), Vec::new());
    let of = |document: &Document| {
        let is_it = |change: &Change| change.index == document.index && change.item == document.item;
        made.iter().map(|at| &changes[*at]).find(|change| is_it(change))
    };
    let goes = |document: &Document| of(document).is_some_and(|change| change.becomes.is_none());
    if !reading.documents.is_empty() && reading.documents.iter().all(goes) {
        return Ok(None);
    }
    for document in &reading.documents {
        match of(document).map(|change| &change.becomes) {
            None => expected.push(&document.value),
            Some(Some(new)) => {
                splices.extend(edits(text, document, new)?);
                expected.push(new);
            }
            Some(None) => splices.push(removal(text, document)?),
        }
    }
    let bytes = encoded(&file.text, &spliced(text.whole(), splices)?)?;
    let again = read_file(&file.path, bytes.clone(), limits);
    let same = again.faults.len() == reading.faults.len() && again.documents.iter().map(|d| &d.value).eq(expected);
    if same {
        Ok(Some(bytes))
    } else {
        Err("it can't be written in place: the file would say something else".to_owned())
    }
}

fn edits(text: &Text<'_>, document: &Document, new: &Value) -> Result<Vec<Splice>, String> {
    let lost = || "its place in the file can't be found".to_owned();
    let chunk = text.chunk(&document.home).ok_or_else(lost)?;
    let root = spans(&chunk, document.home.skip).ok_or_else(lost)?;
    let node = match &document.item {
        None => Some(&root),
        Some(item) => below(&root, item),
    };
    let node = node.ok_or_else(lost)?;
    let mut found =
        edit(chunk.text, chunk.is_stream(), node, &document.value, new).map_err(|unfit| unfit.0.to_owned())?;
    for splice in &mut found {
        splice.from += chunk.from();
        splice.to += chunk.from();
    }
    Ok(found)
}

fn below<'n>(root: &'n Node, item: &Pointer) -> Option<&'n Node> {
    item.segments().try_fold(root, |node, segment| match &node.what {
        What::Map(entries) => entries.iter().find(|entry| entry.key.as_deref() == Some(&segment)).map(|e| &e.value),
        What::List(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Takes a document out, with one of the separators beside it.
fn removal(text: &Text<'_>, document: &Document) -> Result<Splice, String> {
    if document.item.is_some() {
        return Err("it is an entry of a List: take it out by hand".to_owned());
    }
    let chunk = text.chunk(&document.home).ok_or("its place in the file can't be found")?;
    if chunk.is_stream() {
        return Err("it stands in a stream of JSON: take it out by hand".to_owned());
    }
    let (from, to, whole) = (chunk.from(), chunk.from() + chunk.text.len(), text.whole());
    // Up to the next document, or from the separator above.
    let next = whole[to..].find('\n').map(|end| to + end + 1).filter(|_| to < whole.len());
    let above = || whole[..from.saturating_sub(1)].rfind('\n').map_or(0, |end| end + 1);
    let (from, to) = match next {
        Some(next) => (from, next),
        None => (above(), to),
    };
    Ok(Splice { from, to, text: String::new() })
}

fn spliced(text: &str, mut splices: Vec<Splice>) -> Result<String, String> {
    // What is put in at the same place stays in the order in which it was found: what lies deeper first.
    splices.sort_by_key(|splice| splice.from);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for splice in splices {
        let between = text.get(at..splice.from).ok_or("two changes meet in one place")?;
        out.push_str(between);
        out.push_str(&splice.text);
        at = splice.to;
    }
    out.push_str(text.get(at..).ok_or("two changes meet in one place")?);
    Ok(out)
}

/// The text in the file's own line ends, byte order mark and end.
fn encoded(original: &[u8], text: &str) -> Result<Vec<u8>, String> {
    let Ok(before) = std::str::from_utf8(original) else { return Err("the file is in UTF-16".to_owned()) };
    let (crlf, lines) = (before.matches("\r\n").count(), before.matches('\n').count());
    if crlf > 0 && crlf != lines {
        return Err("the file has two kinds of line ends".to_owned());
    }
    let mut text = text.to_owned();
    if !before.ends_with('\n') && text.ends_with('\n') {
        text.pop();
    }
    if crlf > 0 && !text.contains("\r\n") {
        text = text.replace('\n', "\r\n");
    }
    let mark = if before.starts_with('\u{feff}') && !text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    Ok(format!("{mark}{text}").into_bytes())
}
