//! From events to a value, in one pass. Places are not kept: only the byte of the key that is being read.

use std::cell::Cell;

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::anchor::{Anchors, BadAlias, MAP_MEMORY, SCALAR_MEMORY, Spent, Surprise};
use super::event::{Broken, Events, Sink, Step, Style};
use super::limits::Limits;
use super::merge::{Merged, merge};
use super::rules;
use super::scalar::{self, Odd, Unreadable};
use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;
use crate::base::text::{escape, shorten};

/// A fault whose place is a byte of the chunk.
#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) rule: RuleId,
    pub(super) at: usize,
    pub(super) path: Option<Pointer>,
    pub(super) text: String,
    /// Another field or the first of two, whose place belongs to the fault.
    pub(super) also: Option<Pointer>,
}

/// A document as it was read.
#[derive(Debug, Default)]
pub(super) struct Composed {
    pub(super) value: Value,
    pub(super) at: usize,
    pub(super) surprises: Vec<Surprise>,
    /// The first value that SOPS or eyaml encrypted.
    pub(super) encrypted: Option<Pointer>,
}

enum Key {
    /// The next scalar is a key.
    Awaited,
    Text(String),
    /// `<<`
    Merge,
    /// It was refused; its value is read and dropped.
    Refused,
}

enum Kind {
    List(Vec<Value>),
    Map { map: Map<String, Value>, key: Key, key_at: usize, merged: Option<Box<Merged>> },
}

struct Frame {
    kind: Kind,
    at: usize,
    /// The anchor's name, and the number of surprises before it.
    anchor: Option<Box<(String, usize)>>,
}

thread_local! {
    /// The room for frames, used again for each document.
    static FRAMES: Cell<Vec<Frame>> = const { Cell::new(Vec::new()) };
}

impl Drop for Composer<'_> {
    fn drop(&mut self) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        FRAMES.set(frames);
    }
}

/// Composes the documents of one chunk.
pub(super) struct Composer<'c> {
    limits: &'c Limits,
    spent: &'c mut Spent,
    /// Taken out after each document.
    pub(super) flaws: Vec<Flaw>,
    frames: Vec<Frame>,
    anchors: Anchors,
    nodes: usize,
    began: usize,
    done: Composed,
}

/// Nothing more can be read of this chunk; the flaw is recorded.
pub(super) struct Stopped;

impl<'c> Composer<'c> {
    pub(super) fn new(limits: &'c Limits, spent: &'c mut Spent) -> Self {
        Self {
            limits,
            spent,
            flaws: Vec::new(),
            frames: FRAMES.take(),
            anchors: Anchors::default(),
            nodes: 0,
            began: 0,
            done: Composed::default(),
        }
    }

    /// Where the last document began.
    pub(super) fn began(&self) -> usize {
        self.began
    }

    /// Reads the next document; `None` at the end.
    pub(super) fn read(&mut self, events: &mut Events<'_>) -> Result<Option<Composed>, Stopped> {
        match events.document(self)? {
            Step::DocumentEnd => Ok(Some(std::mem::take(&mut self.done))),
            Step::More | Step::End => Ok(None),
        }
    }

    fn flaw(&mut self, rule: RuleId, at: usize, path: Option<Pointer>, text: impl Into<String>) {
        self.push(Flaw { rule, at, path, text: text.into(), also: None });
    }

    fn push(&mut self, flaw: Flaw) {
        // Far over what is listed: they are counted, but a hostile file may not fill the memory with them.
        if self.flaws.len() <= self.limits.faults_per_file {
            self.flaws.push(flaw);
        }
    }

    /// The pointer to the value that is being read.
    fn path(&self) -> Pointer {
        let mut path = Pointer::root();
        for frame in &self.frames {
            match &frame.kind {
                Kind::List(list) => path.push_index(list.len()),
                Kind::Map { key: Key::Text(key), .. } => path.push_key(key),
                Kind::Map { key: Key::Merge, .. } => path.push_key("<<"),
                Kind::Map { .. } => {}
            }
        }
        path
    }

    fn awaits_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { kind: Kind::Map { key: Key::Awaited, .. }, .. }))
    }

    fn open(&mut self, kind: Kind, anchor: Option<String>, at: usize) -> Result<(), Stopped> {
        self.nodes += 1;
        if self.frames.len() >= self.limits.depth {
            let text = format!("mappings and lists lie more than {} deep inside each other", self.limits.depth);
            self.flaw(rules::SIZE_LIMIT, at, None, text);
            return Err(Stopped);
        }
        self.take(if matches!(kind, Kind::Map { .. }) { MAP_MEMORY } else { SCALAR_MEMORY }, at)?;
        let anchor = anchor.map(|name| {
            self.anchors.open(&name);
            Box::new((name, self.done.surprises.len()))
        });
        self.frames.push(Frame { kind, at, anchor });
        Ok(())
    }

    /// Counts memory.
    fn take(&mut self, bytes: usize, at: usize) -> Result<(), Stopped> {
        self.spent.memory += bytes;
        if self.spent.memory <= self.limits.file_memory {
            return Ok(());
        }
        let text = format!("the file would take more than the {} bytes of memory allowed", self.limits.file_memory);
        self.flaw(rules::SIZE_LIMIT, at, None, text);
        Err(Stopped)
    }

    /// Keeps a copy of an anchored value, with the surprises in it.
    fn anchored(&mut self, name: String, before: usize, value: &Value, at: usize) -> Result<(), Stopped> {
        let base = self.path();
        let surprises = self.done.surprises[before..]
            .iter()
            .map(|s| Surprise { pointer: relative(&s.pointer, &base), ..s.clone() })
            .collect();
        self.anchors.close(name, value, surprises, self.limits, self.spent).map_err(|bad| self.bad_alias(bad, at))
    }

    fn bad_alias(&mut self, bad: BadAlias, at: usize) -> Stopped {
        let (rule, text) = match bad {
            BadAlias::Unknown => (rules::YAML_SYNTAX, "the alias names no anchor of this document".to_owned()),
            BadAlias::Itself => (rules::YAML_SYNTAX, "the value of the anchor contains itself".to_owned()),
            BadAlias::TooDeep => {
                (rules::SIZE_LIMIT, format!("the alias leads more than {} levels deep", self.limits.depth))
            }
            BadAlias::TooMuch => (
                rules::SIZE_LIMIT,
                format!(
                    "aliases expand to more than is allowed ({} nodes, {} bytes, 99 % of the document)",
                    self.limits.alias_nodes, self.limits.alias_bytes
                ),
            ),
        };
        self.flaw(rule, at, None, text);
        Stopped
    }

    fn resolve(&mut self, text: String, style: Style, tag: Option<&str>) -> Result<Value, Unreadable> {
        if let Some(tag) = tag {
            return scalar::tagged(tag, text);
        }
        let (value, odd) = if style == Style::JsonNumber { scalar::json(text)? } else { scalar::plain(text)? };
        if let Some(Odd { raw, precision_lost }) = odd {
            let pointer = self.path();
            self.done.surprises.push(Surprise { pointer, raw: Some(raw), precision_lost });
        }
        Ok(value)
    }

    fn key(
        &mut self,
        text: String,
        style: Style,
        tag: Option<&str>,
        anchor: Option<String>,
        at: usize,
    ) -> Result<(), Stopped> {
        // To kubectl the tag `!` makes any text plain.
        let is_plain = style == Style::Plain && tag.is_none() || tag == Some("!");
        if text == "<<" && (is_plain || tag == Some("tag:yaml.org,2002:merge")) {
            if let Some(name) = anchor {
                self.anchored(name, self.done.surprises.len(), &Value::String(text), at)?;
            }
            self.set_key(Key::Merge, at);
            return Ok(());
        }
        let same = match tag {
            None => style != Style::Plain || scalar::plain_key(&text),
            Some(tag) => scalar::tagged(tag, text.clone()).is_ok_and(|value| match value {
                Value::String(read) => read == text,
                Value::Number(n) => n.is_i64() && n.to_string() == text,
                _ => false,
            }),
        };
        if let Some(name) = anchor {
            let value = match self.resolve(text.clone(), style, tag) {
                Ok(value) => value,
                Err(_) => Value::Null,
            };
            self.anchored(name, self.done.surprises.len(), &value, at)?;
        }
        if !same {
            let path = self.path().key(&text);
            let text =
                format!("the key {} changes its text when it is read; put it in quotes", escape(&shorten(&text, 60)));
            self.flaw(rules::AMBIGUOUS_KEY, at, Some(path), text);
        }
        self.set_key(Key::Text(text), at);
        Ok(())
    }

    fn refuse_key(&mut self, at: usize, why: &'static str) {
        let path = self.path();
        self.flaw(rules::YAML_SYNTAX, at, Some(path), why);
        self.set_key(Key::Refused, at);
    }

    fn set_key(&mut self, new: Key, at: usize) {
        if let Some(Frame { kind: Kind::Map { key, key_at, .. }, .. }) = self.frames.last_mut() {
            *key = new;
            *key_at = at;
        }
    }

    /// A value is complete: it goes where it belongs.
    fn put(&mut self, value: Value, by_alias: bool, at: usize) {
        let Some(frame) = self.frames.last_mut() else {
            self.done.at = at;
            self.done.value = value;
            return;
        };
        match &mut frame.kind {
            Kind::List(list) => list.push(value),
            Kind::Map { map, key, key_at, merged } => {
                let key_at = *key_at;
                match std::mem::replace(key, Key::Awaited) {
                    Key::Text(key) => match map.entry(key) {
                        Entry::Vacant(free) => {
                            free.insert(value);
                        }
                        Entry::Occupied(mut taken) => {
                            taken.insert(value);
                            let overrides = merged.as_mut().is_some_and(|m| m.remove(taken.key()));
                            if !overrides {
                                let key = taken.key().clone();
                                self.twice(&key, key_at);
                            }
                        }
                    },
                    Key::Merge => {
                        let merged = merged.get_or_insert_default();
                        let listed = value.is_array();
                        match merge(map, merged, value, by_alias) {
                            Ok(clashes) => {
                                clashes.iter().for_each(|key| self.merge_clash(key, key_at));
                                self.lift_surprises(listed);
                            }
                            Err(why) => {
                                let path = self.path().key("<<");
                                self.flaw(rules::YAML_SYNTAX, key_at, Some(path), why);
                            }
                        }
                    }
                    Key::Awaited | Key::Refused => {}
                }
            }
        }
    }

    /// What was read below `<<` stands in the mapping itself now.
    fn lift_surprises(&mut self, listed: bool) {
        if self.done.surprises.is_empty() {
            return;
        }
        let base = self.path();
        let merge = base.key("<<");
        for surprise in &mut self.done.surprises {
            if surprise.pointer.is_within(&merge) {
                let below = relative(&surprise.pointer, &merge);
                let below = if listed { Pointer::of(below.segments().skip(1)) } else { below };
                surprise.pointer = joined(&base, &below);
            }
        }
    }

    fn twice(&mut self, key: &str, at: usize) {
        let path = self.path().key(key);
        self.push(Flaw {
            rule: rules::DUPLICATE_KEY,
            at,
            path: Some(path.clone()),
            text: format!("the key {} is there twice", escape(&shorten(key, 60))),
            also: Some(path),
        });
    }

    fn merge_clash(&mut self, key: &str, at: usize) {
        let path = self.path().key(key);
        let key = escape(&shorten(key, 60)).into_owned();
        self.push(Flaw {
            rule: rules::AMBIGUOUS_MERGE,
            at,
            path: Some(path.clone()),
            text: format!("<< comes after {key} and sets it too: kubectl lets the merge win, others the key"),
            also: Some(path),
        });
    }
}

impl Sink for Composer<'_> {
    type Stop = Stopped;

    fn document(&mut self, at: usize) {
        self.began = at;
        self.nodes = 0;
        self.anchors = Anchors::default();
    }

    fn map(&mut self, anchor: Option<String>, at: usize) -> Result<(), Stopped> {
        self.open(Kind::Map { map: Map::new(), key: Key::Awaited, key_at: at, merged: None }, anchor, at)
    }

    fn list(&mut self, anchor: Option<String>, at: usize) -> Result<(), Stopped> {
        self.open(Kind::List(Vec::new()), anchor, at)
    }

    fn close(&mut self) -> Result<(), Stopped> {
        let Some(Frame { kind, at, anchor }) = self.frames.pop() else { return Ok(()) };
        let value = match kind {
            Kind::List(list) => Value::Array(list),
            Kind::Map { map, .. } => Value::Object(map),
        };
        if let Some(anchor) = anchor {
            let (name, before) = *anchor;
            self.anchored(name, before, &value, at)?;
        }
        if self.awaits_key() {
            self.refuse_key(at, "a mapping or list is no key: JSON could not carry it");
        } else {
            self.put(value, false, at);
        }
        Ok(())
    }

    fn alias(&mut self, name: String, at: usize) -> Result<(), Stopped> {
        self.nodes += 1;
        let depth = self.frames.len();
        let anchored = self
            .anchors
            .resolve(&name, self.nodes, depth, self.limits, self.spent)
            .map_err(|bad| self.bad_alias(bad, at))?;
        if self.awaits_key() {
            match anchored.value {
                Value::String(text) => self.set_key(Key::Text(text), at),
                // Its spelling is not kept: only an integer's is sure to be the same.
                Value::Number(n) if n.is_i64() && anchored.surprises.is_empty() => {
                    self.set_key(Key::Text(n.to_string()), at);
                }
                _ => self.refuse_key(at, "the alias stands for something that is no text"),
            }
            return Ok(());
        }
        if !anchored.surprises.is_empty() {
            let base = self.path();
            let moved = |s: Surprise| Surprise { pointer: joined(&base, &s.pointer), ..s };
            self.done.surprises.extend(anchored.surprises.into_iter().map(moved));
        }
        self.put(anchored.value, true, at);
        Ok(())
    }

    fn scalar(
        &mut self,
        text: String,
        style: Style,
        tag: Option<String>,
        anchor: Option<String>,
        at: usize,
    ) -> Result<(), Stopped> {
        self.nodes += 1;
        self.take(SCALAR_MEMORY + text.len(), at)?;
        if self.awaits_key() {
            return self.key(text, style, tag.as_deref(), anchor, at);
        }
        let before = self.done.surprises.len();
        let value = if style == Style::Text && tag.is_none() {
            Ok(Value::String(text))
        } else {
            self.resolve(text, style, tag.as_deref())
        };
        let value = value.unwrap_or_else(|Unreadable(rule, why)| {
            let path = self.path();
            self.flaw(rule, at, Some(path), why);
            Value::Null
        });
        if let Value::String(text) = &value
            && text.starts_with("ENC[")
            && text.ends_with(']')
            && self.done.encrypted.is_none()
        {
            self.done.encrypted = Some(self.path());
        }
        if let Some(name) = anchor {
            self.anchored(name, before, &value, at)?;
        }
        self.put(value, false, at);
        Ok(())
    }

    fn broken(&mut self, broken: Broken) -> Stopped {
        self.flaw(rules::YAML_SYNTAX, broken.at, None, broken.text);
        Stopped
    }
}

/// A pointer as seen from one above it.
pub(super) fn relative(pointer: &Pointer, base: &Pointer) -> Pointer {
    let text = pointer.as_str().strip_prefix(base.as_str()).unwrap_or_default();
    Pointer::parse(text).unwrap_or_default()
}

/// A pointer below another.
pub(super) fn joined(base: &Pointer, below: &Pointer) -> Pointer {
    Pointer::parse(&format!("{base}{below}")).unwrap_or_default()
}
