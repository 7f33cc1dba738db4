//! Gathers what the documents of one file give: objects, faults, warnings, each with its place.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::anchor::Surprise;
use super::compose::{Composed, Flaw, relative};
use super::document::{Document, Home, SourceFile};
use super::file::FileReading;
use super::judge::{Object, judge};
use super::limits::Limits;
use super::locate::find;
use super::rules;
use super::server_owned::drop_server_owned;
use super::template::{TEMPLATE_HINT, looks_like_template};
use super::text::Chunk;
use crate::base::fault::{At, Fault, RuleId, Warning};
use crate::base::pointer::Pointer;

/// The piece of the file that is being read.
pub(super) struct Piece<'p> {
    pub(super) chunk: &'p Chunk<'p>,
    pub(super) home: Home,
    pub(super) index: usize,
}

/// What was gathered so far.
pub(super) struct Reader<'r> {
    file: &'r Arc<SourceFile>,
    limits: &'r Limits,
    documents: Vec<Document>,
    damaged: Vec<Document>,
    faults: Vec<Fault>,
    warnings: Vec<Warning>,
    /// Faults over the limit.
    more: usize,
}

impl<'r> Reader<'r> {
    pub(super) fn new(file: &'r Arc<SourceFile>, limits: &'r Limits) -> Self {
        Self {
            file,
            limits,
            documents: Vec::new(),
            damaged: Vec::new(),
            faults: Vec::new(),
            warnings: Vec::new(),
            more: 0,
        }
    }

    pub(super) fn finish(mut self) -> FileReading {
        self.faults.sort_by_key(|fault| fault.at.as_ref().map(|at| (at.line, at.column)));
        if self.more > 0 {
            let text = format!("{} more faults of this file are not listed", self.more);
            self.faults.push(Fault::new(rules::SIZE_LIMIT, text).at(At::file(&self.file.path)));
        }
        FileReading {
            file: Arc::clone(self.file),
            documents: self.documents,
            damaged: self.damaged,
            faults: self.faults,
            warnings: self.warnings,
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        if self.faults.len() < self.limits.faults_per_file { self.faults.push(fault) } else { self.more += 1 }
    }

    fn at(&self, piece: &Piece<'_>, byte: usize) -> At {
        let (line, column) = piece.chunk.place(byte);
        At { file: self.file.path.clone(), document: piece.index, line, column }
    }

    /// A fault at a byte of the piece.
    pub(super) fn fault_at(&self, piece: &Piece<'_>, rule: RuleId, text: impl Into<String>, byte: usize) -> Fault {
        let fault = Fault::new(rule, text).at(self.at(piece, byte));
        if rule == rules::YAML_SYNTAX && looks_like_template(piece.chunk.lines_at(byte)) {
            return fault.hint(TEMPLATE_HINT);
        }
        fault
    }

    /// Flaws of the text become faults.
    pub(super) fn flaws(&mut self, piece: &Piece<'_>, flaws: Vec<Flaw>) {
        let others: Vec<Pointer> = flaws.iter().filter_map(|flaw| flaw.also.clone()).collect();
        let mut others =
            if others.is_empty() { Vec::new() } else { find(piece.chunk, piece.home.nth, &others) }.into_iter();
        for flaw in flaws {
            let mut fault = self.fault_at(piece, flaw.rule, flaw.text, flaw.at);
            if flaw.also.is_some()
                && let Some(byte) = others.next()
            {
                fault = fault.also(self.at(piece, byte));
            }
            if let Some(path) = flaw.path {
                fault = fault.path(path);
            }
            self.fault(fault);
        }
    }

    /// Takes one document: nothing, an object, a list of them, or something else.
    pub(super) fn document(&mut self, piece: &Piece<'_>, document: Composed, flaws: Vec<Flaw>) {
        // A key that stands twice leaves an object that can be judged further; other flaws leave holes.
        let sound = flaws
            .iter()
            .all(|f| [rules::DUPLICATE_KEY, rules::AMBIGUOUS_MERGE, rules::AMBIGUOUS_KEY].contains(&f.rule));
        let flawed = !flaws.is_empty();
        if flawed {
            self.flaws(piece, flaws);
        }
        let Composed { value, at, surprises, encrypted } = document;
        if value.is_null() {
            return;
        }
        let room = self.limits.documents_per_file.saturating_sub(self.documents.len() + self.damaged.len());
        let (objects, misfits) = judge(value, encrypted, room);
        if !misfits.is_empty() && (sound || !flawed) {
            let paths: Vec<Pointer> = misfits.iter().map(|m| m.path.clone()).collect();
            let bytes = if paths.iter().all(Pointer::is_root) {
                vec![at; paths.len()]
            } else {
                find(piece.chunk, piece.home.nth, &paths)
            };
            for (misfit, byte) in misfits.into_iter().zip(bytes) {
                let mut fault = self.fault_at(piece, misfit.rule, misfit.text, byte);
                fault.hint = misfit.hint;
                if !misfit.path.is_root() {
                    fault = fault.path(misfit.path);
                }
                self.fault(fault);
            }
        }
        self.objects(piece, at, objects, surprises, sound);
    }

    fn objects(&mut self, piece: &Piece<'_>, at: usize, objects: Vec<Object>, surprises: Vec<Surprise>, sound: bool) {
        let items: Vec<Pointer> = objects.iter().filter_map(|object| object.item.clone()).collect();
        let mut surprises = by_item(&items, surprises);
        let mut starts =
            if items.is_empty() { Vec::new() } else { find(piece.chunk, piece.home.nth, &items) }.into_iter();
        for Object { item, mut value } in objects {
            let start = if item.is_some() { starts.next().unwrap_or(at) } else { at };
            let mut surprising = surprises.remove(&item).unwrap_or_default();
            let dropped = drop_server_owned(&mut value);
            surprising.retain(|s| !dropped.iter().any(|path| s.pointer.is_within(path)));
            if value.get("kind").is_some_and(|kind| kind == "Secret") {
                surprising.iter_mut().for_each(|s| s.raw = None);
            }
            let (line, column) = piece.chunk.place(start);
            let document = Document {
                file: Arc::clone(self.file),
                index: piece.index,
                item,
                line,
                column,
                value: Value::Object(value),
                surprising,
                home: piece.home,
            };
            if !dropped.is_empty() && sound {
                self.warn_dropped(&document, dropped);
            }
            if sound { self.documents.push(document) } else { self.damaged.push(document) }
        }
    }

    fn warn_dropped(&mut self, document: &Document, dropped: Vec<Pointer>) {
        for (path, at) in dropped.iter().zip(document.locate_all(&dropped)) {
            let text = format!("{path} is the server's to write: it is left out");
            self.warnings.push(Warning::new(rules::SERVER_OWNED, text).at(at).path(path.clone()));
        }
    }
}

/// Sorts the surprises of a document by the list item that they lie in, and names them as seen from there.
fn by_item(items: &[Pointer], surprises: Vec<Surprise>) -> HashMap<Option<Pointer>, Vec<Surprise>> {
    let mut sorted: HashMap<Option<Pointer>, Vec<Surprise>> = HashMap::new();
    if surprises.is_empty() {
        return sorted;
    }
    if items.is_empty() {
        sorted.insert(None, surprises);
        return sorted;
    }
    let items: std::collections::HashSet<&Pointer> = items.iter().collect();
    for surprise in surprises {
        let mut above = surprise.pointer.parent();
        while let Some(pointer) = above {
            if items.contains(&pointer) {
                let moved = Surprise { pointer: relative(&surprise.pointer, &pointer), ..surprise };
                sorted.entry(Some(pointer)).or_default().push(moved);
                break;
            }
            above = pointer.parent();
        }
    }
    sorted
}
