//! Finds the place of a field by reading its document once more: values carry no places.

use super::event::{Broken, Sink, Style};
use super::text::Chunk;
use crate::base::map::{HashMap, HashSet};
use crate::base::pointer::Pointer;

/// The bytes at which the keys or entries of some fields start, in the chunk's text; for a field that isn't there, its
/// nearest parent's, or of the `<<` that brought it. Of a repeated key the first.
pub(super) fn find(chunk: &Chunk<'_>, skip: usize, wanted: &[Pointer]) -> Vec<usize> {
    let mut found = HashMap::default();
    let mut names = HashSet::default();
    for pointer in wanted {
        let mut above = Some(pointer.clone());
        while let Some(pointer) = above {
            above = pointer.parent();
            // What is known already, its parents are too.
            if !names.insert(pointer) {
                break;
            }
        }
    }
    let mut walk = Walk { names: &names, found: &mut found, frames: Vec::new() };
    // A document that can't be read on has no more places: its end is a fault of its own.
    let _ = chunk.events(skip).document(&mut walk);
    wanted.iter().map(|pointer| nearest(pointer, &found)).collect()
}

fn nearest(pointer: &Pointer, found: &HashMap<Pointer, usize>) -> usize {
    let mut at = Some(pointer.clone());
    while let Some(pointer) = at {
        if let Some(&byte) = found.get(&pointer) {
            return byte;
        }
        at = pointer.parent();
        if let Some(&byte) = at.as_ref().and_then(|parent| found.get(&parent.key("<<"))) {
            return byte;
        }
    }
    0
}

struct Frame {
    /// Where we are, if anything wanted lies here or below.
    path: Option<Pointer>,
    is_map: bool,
    /// In a mapping: the key whose value comes next. Else the number of entries so far.
    key: Option<String>,
    awaits_key: bool,
    entries: usize,
}

struct Walk<'w> {
    names: &'w HashSet<Pointer>,
    found: &'w mut HashMap<Pointer, usize>,
    frames: Vec<Frame>,
}

impl Walk<'_> {
    /// Notes the place of a value that starts here, and where it stands.
    fn enter(&mut self, at: usize) -> Option<Pointer> {
        let path = match self.frames.last() {
            None => Some(Pointer::root()),
            Some(frame) if frame.awaits_key => None,
            Some(frame) => frame.path.as_ref().and_then(|path| match &frame.key {
                Some(key) => Some(path.key(key)),
                None if frame.is_map => None,
                None => Some(path.index(frame.entries)),
            }),
        }?;
        if !self.names.contains(&path) {
            return None;
        }
        // A key's own place was noted when it was read.
        self.found.entry(path.clone()).or_insert(at);
        Some(path)
    }

    fn open(&mut self, is_map: bool, at: usize) {
        let path = self.enter(at);
        self.frames.push(Frame { path, is_map, key: None, awaits_key: is_map, entries: 0 });
    }

    fn leaf(&mut self, text: Option<String>, at: usize) {
        let key_of = match self.frames.last() {
            Some(frame) if frame.awaits_key => Some(frame.path.clone()),
            _ => None,
        };
        let Some(path) = key_of else {
            self.enter(at);
            self.after_value();
            return;
        };
        if let (Some(path), Some(text)) = (path, &text) {
            let below = path.key(text);
            if text == "<<" || self.names.contains(&below) {
                self.found.entry(below).or_insert(at);
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.key = text;
            frame.awaits_key = false;
        }
    }

    fn after_value(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            // After a key comes its value, and the other way round; a key may be a collection (refused elsewhere).
            frame.awaits_key = frame.is_map && !frame.awaits_key;
            frame.entries += 1;
        }
    }
}

impl Sink for Walk<'_> {
    type Stop = ();

    fn document(&mut self, _: usize) {}

    fn scalar(&mut self, text: String, _: Style, _: Option<String>, _: Option<String>, at: usize) -> Result<(), ()> {
        self.leaf(Some(text), at);
        Ok(())
    }

    fn map(&mut self, _: Option<String>, at: usize) -> Result<(), ()> {
        self.open(true, at);
        Ok(())
    }

    fn list(&mut self, _: Option<String>, at: usize) -> Result<(), ()> {
        self.open(false, at);
        Ok(())
    }

    fn close(&mut self) -> Result<(), ()> {
        self.frames.pop();
        self.after_value();
        Ok(())
    }

    fn alias(&mut self, _: String, at: usize) -> Result<(), ()> {
        self.leaf(None, at);
        Ok(())
    }

    fn broken(&mut self, _: Broken) {}
}
