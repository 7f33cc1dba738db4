//! Gathers what the documents of one file give: objects, faults, warnings, each with its place.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::Value;

use super::anchor::Surprise;
use super::compose::{Composed, Flaw, joined, relative};
use super::document::{Document, SourceFile};
use super::file::FileReading;
use super::judge::{Object, judge};
use super::limits::Limits;
use super::locate::find;
use super::rules;
use super::server_owned::{drop_server_owned, take_status};
use super::template::{TEMPLATE_HINT, looks_like_template};
use super::text::{Chunk, Counted, Home};
use crate::base::fault::{At, Fault, RuleId, Warning};
use crate::base::map::HashMap;
use crate::base::pointer::Pointer;

/// The piece of the file that is being read.
pub(super) struct Piece<'p> {
    chunk: &'p Chunk<'p>,
    home: Home,
    index: usize,
    counted: &'p Cell<Counted>,
}

impl<'p> Piece<'p> {
    /// The document of a chunk that begins at a byte of it.
    pub(super) fn new(chunk: &'p Chunk<'p>, counted: &'p Cell<Counted>, skip: usize, index: usize) -> Self {
        Self { chunk, home: chunk.home(skip), index, counted }
    }

    fn find(&self, wanted: &[Pointer]) -> Vec<usize> {
        if wanted.is_empty() { Vec::new() } else { find(self.chunk, self.home.skip, wanted) }
    }
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
    /// Bytes of memory that the values take, by estimate.
    pub(super) memory: usize,
    /// Whether fields that the server owns stay.
    whole: bool,
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
            memory: 0,
            whole: false,
        }
    }

    /// Leaves fields that the server owns where they are.
    pub(super) fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    pub(super) fn finish(mut self) -> FileReading {
        self.faults.sort_by_key(|fault| fault.at.as_ref().map(|at| (at.line, at.column)));
        if self.more > 0 {
            let text = format!("{} faults of this file, or more, are not listed", self.more);
            self.faults.push(Fault::new(rules::SIZE_LIMIT, text).at(At::file(&self.file.path)));
        }
        FileReading {
            file: Arc::clone(self.file),
            documents: self.documents,
            damaged: self.damaged,
            faults: self.faults,
            warnings: self.warnings,
            memory: self.memory,
        }
    }

    fn room(&self) -> usize {
        self.limits.documents_per_file.saturating_sub(self.documents.len() + self.damaged.len())
    }

    /// Whether a file that had so many documents may have no more.
    pub(super) fn is_full(&self, documents: usize) -> bool {
        self.room() == 0 || documents >= self.limits.documents_per_file
    }

    /// The text for that.
    pub(super) fn too_many(&self) -> String {
        format!("the file has more than the {} documents allowed", self.limits.documents_per_file)
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        if self.faults.len() < self.limits.faults_per_file { self.faults.push(fault) } else { self.more += 1 }
    }

    fn at(&self, piece: &Piece<'_>, byte: usize) -> At {
        let (line, column) = piece.chunk.place(byte, piece.counted);
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
        let full = self.faults.len() >= self.limits.faults_per_file;
        let others: Vec<Pointer> = flaws.iter().filter(|_| !full).filter_map(|flaw| flaw.also.clone()).collect();
        let mut others = piece.find(&others).into_iter();
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
        let (objects, misfits) = judge(value, encrypted, self.room());
        if !misfits.is_empty() && (sound || !flawed) {
            let paths: Vec<Pointer> = misfits.iter().map(|m| m.path.clone()).collect();
            let bytes = if paths.iter().all(Pointer::is_root) { vec![at; paths.len()] } else { piece.find(&paths) };
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
        let mut starts = piece.find(&items).into_iter();
        let mut dropped = Vec::new();
        for Object { item, mut value } in objects {
            let start = if item.is_some() { starts.next().unwrap_or(at) } else { at };
            let mut surprising = surprises.remove(&item).unwrap_or_default();
            let status = if self.whole { None } else { take_status(&mut value) };
            let here = if self.whole { Vec::new() } else { drop_server_owned(&mut value) };
            surprising.retain(|s| !here.iter().any(|path| s.pointer.is_within(path)));
            if value.get("kind").is_some_and(|kind| kind == "Secret") {
                surprising.iter_mut().for_each(|s| s.raw = None);
            }
            let base = item.clone().unwrap_or_default();
            dropped.extend(here.into_iter().map(|path| (joined(&base, &path), path)));
            let At { line, column, .. } = self.at(piece, start);
            let (file, index, home) = (Arc::clone(self.file), piece.index, piece.home);
            let value = Value::Object(value);
            let document = Document { file, index, item, line, column, value, status, surprising, home };
            if sound { self.documents.push(document) } else { self.damaged.push(document) }
        }
        if sound && !dropped.is_empty() {
            self.warn_dropped(piece, dropped);
        }
    }

    /// Warns of fields left out; each is named as seen from the document and from its object.
    fn warn_dropped(&mut self, piece: &Piece<'_>, dropped: Vec<(Pointer, Pointer)>) {
        let (whole, own): (Vec<Pointer>, Vec<Pointer>) = dropped.into_iter().unzip();
        for (byte, path) in piece.find(&whole).into_iter().zip(own) {
            let text = format!("{path} is the server's to write: it is left out");
            self.warnings.push(Warning::new(rules::SERVER_OWNED, text).at(self.at(piece, byte)).path(path));
        }
    }
}

/// Sorts the surprises of a document by the list item that they lie in, and names them as seen from there.
fn by_item(items: &[Pointer], surprises: Vec<Surprise>) -> HashMap<Option<Pointer>, Vec<Surprise>> {
    let mut sorted: HashMap<Option<Pointer>, Vec<Surprise>> = HashMap::default();
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
