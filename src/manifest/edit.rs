//! The smallest changes of a document's text that make its value another: everything else, comments too, stays as it is.

use serde_json::{Map, Value};

use super::spans::{Entry, Node, What};
use crate::base::yaml;

/// A piece of text that takes the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) text: String,
}

/// Why a place can't be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unfit(pub(super) &'static str);

const SHARED: Unfit = Unfit("the place has an anchor or is an alias: it stands for others too");
const MERGED: Unfit = Unfit("the value comes from a merge key (`<<`)");
const OTHER: Unfit = Unfit("the text doesn't say what was read of it");

/// Finds the changes that make `old`, which is written as `root`, to `new`.
pub(super) fn edit(text: &str, is_json: bool, root: &Node, old: &Value, new: &Value) -> Result<Vec<Splice>, Unfit> {
    let mut edit = Edit { text, is_json, splices: Vec::new() };
    let place = Place { value: root, slot: Slot::Root };
    edit.reconcile(&place, old, new)?;
    Ok(edit.splices)
}

/// A node and what it stands in.
struct Place<'n> {
    value: &'n Node,
    slot: Slot<'n>,
}

#[derive(Clone, Copy)]
enum Slot<'n> {
    Root,
    /// The value of a key of a mapping in block style.
    Entry(&'n Entry),
    /// An entry of a list in block style; where its dash is.
    Item {
        dash: usize,
    },
    Flow,
}

struct Edit<'t> {
    text: &'t str,
    is_json: bool,
    splices: Vec<Splice>,
}

impl Edit<'_> {
    fn splice(&mut self, from: usize, to: usize, text: impl Into<String>) {
        self.splices.push(Splice { from, to, text: text.into() });
    }

    fn reconcile(&mut self, place: &Place<'_>, old: &Value, new: &Value) -> Result<(), Unfit> {
        if old == new {
            return Ok(());
        }
        match (&place.value.what, old, new) {
            (What::Shared, ..) => Err(SHARED),
            (What::Map(entries), Value::Object(before), Value::Object(after)) if !entries.is_empty() => {
                self.map(place, entries, before, after)
            }
            (What::List(items), Value::Array(before), Value::Array(after))
                if !items.is_empty() && !after.is_empty() =>
            {
                if items.len() != before.len() {
                    return Err(OTHER);
                }
                self.list(place, items, before, after)
            }
            _ => self.set(place, new),
        }
    }

    fn map(
        &mut self,
        place: &Place<'_>,
        entries: &[Entry],
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) -> Result<(), Unfit> {
        let is_flow = self.is_flow(place.value);
        let find = |key: &str| entries.iter().position(|entry| entry.key.as_deref() == Some(key));
        let place_of = |at: usize| {
            let entry = &entries[at];
            Place { value: &entry.value, slot: if is_flow { Slot::Flow } else { Slot::Entry(entry) } }
        };
        let mut gone = vec![false; entries.len()];
        let mut added = Map::new();
        for (key, old) in before {
            let Some(at) = find(key) else {
                if after.get(key) == Some(old) {
                    continue;
                }
                return Err(if find("<<").is_some() { MERGED } else { OTHER });
            };
            match after.get(key) {
                Some(new) => self.reconcile(&place_of(at), old, new)?,
                None => gone[at] = true,
            }
        }
        for (key, new) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
            // What was read as nothing may stand there all the same.
            match find(key) {
                Some(at) => self.set(&place_of(at), new)?,
                None => {
                    added.insert(key.clone(), new.clone());
                }
            }
        }
        if gone.iter().all(|gone| *gone) {
            return self.set(place, &Value::Object(added));
        }
        if is_flow {
            self.remove_flow(&gone, |at| (entries[at].start, entries[at].value.end));
            return self.insert_flow(place.value, entries, &added);
        }
        self.remove_entries(entries, &gone)?;
        let indent = self.column(entries[0].start);
        let last = gone.iter().rposition(|gone| !gone).ok_or(OTHER)?;
        let last = self.line_end(entries[last].value.end);
        let mut text = String::new();
        for (key, value) in &added {
            text.push('\n');
            yaml::pad(indent, &mut text);
            yaml::write_key(key, &mut text);
            yaml::after_key(value, indent, &mut text);
            text.truncate(text.trim_end_matches('\n').len());
        }
        if !text.is_empty() {
            self.splice(last, last, text);
        }
        Ok(())
    }

    fn list(&mut self, place: &Place<'_>, items: &[Node], before: &[Value], after: &[Value]) -> Result<(), Unfit> {
        let is_flow = self.is_flow(place.value);
        let most = before.len().min(after.len());
        let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let tail = before.iter().rev().zip(after.iter().rev()).take(most - same).take_while(|(a, b)| a == b).count();
        let (old, new) = (&before[same..before.len() - tail], &after[same..after.len() - tail]);
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            let node = &items[same + at];
            let slot = if is_flow { Slot::Flow } else { Slot::Item { dash: self.dash(node)? } };
            self.reconcile(&Place { value: node, slot }, old, new)?;
        }
        let mut gone = vec![false; items.len()];
        gone[same..same + old.len()].iter_mut().skip(new.len()).for_each(|gone| *gone = true);
        if is_flow {
            self.remove_flow(&gone, |at| (items[at].start, items[at].end));
            for value in new.iter().skip(old.len()) {
                let text = self.flow(value);
                // After the ones before, or before the first.
                match (same + old.len()).checked_sub(1) {
                    Some(last) => self.splice(items[last].end, items[last].end, format!(", {text}")),
                    None => self.splice(items[0].start, items[0].start, format!("{text}, ")),
                }
            }
            return Ok(());
        }
        for (at, _) in gone.iter().enumerate().filter(|(_, gone)| **gone) {
            let dash = self.dash(&items[at])?;
            let line = self.line_start(dash);
            if !self.text[line..dash].trim().is_empty() {
                return Err(Unfit("the list begins on a line that is not its own"));
            }
            self.splice(line, self.next_line(items[at].end), "");
        }
        let indent = self.column(self.dash(&items[0])?);
        let mut text = String::new();
        for value in new.iter().skip(old.len()) {
            yaml::pad(indent, &mut text);
            text.push('-');
            yaml::after_dash(value, indent, &mut text);
        }
        if !text.is_empty() {
            match (same + old.len()).checked_sub(1) {
                Some(last) => {
                    let at = self.line_end(items[last].end);
                    self.splice(at, at, format!("\n{}", text.trim_end_matches('\n')));
                }
                None => {
                    let at = self.line_start(self.dash(&items[0])?);
                    self.splice(at, at, text);
                }
            }
        }
        Ok(())
    }

    /// Writes a whole new value where another stands.
    fn set(&mut self, place: &Place<'_>, new: &Value) -> Result<(), Unfit> {
        let node = place.value;
        if matches!(node.what, What::Shared) {
            return Err(SHARED);
        }
        let on_one_line = match new {
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::String(text) => !yaml::is_block(text) || !self.text[node.start..].starts_with(['|', '>']),
            _ => true,
        };
        let comment = !self.text[node.end..self.line_end(node.end)].trim().is_empty();
        match place.slot {
            Slot::Flow => self.splice(node.start, node.end, self.flow(new)),
            Slot::Root => return Err(OTHER),
            Slot::Entry(entry) if on_one_line || comment => {
                let colon = self.after_colon(entry)?;
                let text = if on_one_line { self.scalar(node, new) } else { self.flow(new) };
                self.one_line(colon, node, &text);
            }
            Slot::Item { dash } if on_one_line || comment => {
                let text = if on_one_line { self.scalar(node, new) } else { self.flow(new) };
                self.one_line(dash + 1, node, &text);
            }
            Slot::Entry(entry) => {
                let mut text = String::new();
                yaml::after_key(new, self.column(entry.start), &mut text);
                let text = text.trim_end_matches('\n').to_owned();
                self.splice(self.after_colon(entry)?, node.end, text);
            }
            Slot::Item { dash } => {
                let mut text = String::new();
                yaml::after_dash(new, self.column(dash), &mut text);
                let text = text.trim_end_matches('\n').to_owned();
                self.splice(dash + 1, node.end, text);
            }
        }
        Ok(())
    }

    /// A value on one line: where the old one stood on the line of its key, or right after the key.
    fn one_line(&mut self, after: usize, node: &Node, text: &str) {
        let between = &self.text[after..node.start];
        if node.start > after && !between.contains('\n') {
            self.splice(node.start, node.end, text);
        } else {
            self.splice(after, node.end.max(after), format!(" {text}"));
        }
    }

    /// A scalar, in the quotes that the old one has where the new one is a text too.
    fn scalar(&self, node: &Node, new: &Value) -> String {
        if let Value::String(text) = new {
            let plain = !text.chars().any(|c| c.is_control() || crate::base::text::is_unsafe(c));
            match self.text[node.start..].chars().next() {
                Some('"') if plain => return Value::from(text.as_str()).to_string(),
                Some('\'') if plain => return format!("'{}'", text.replace('\'', "''")),
                _ => {}
            }
        }
        let mut out = String::new();
        yaml::inline(new, &mut out);
        out
    }

    /// A value in flow style.
    fn flow(&self, value: &Value) -> String {
        if self.is_json {
            return value.to_string();
        }
        match value {
            Value::Object(map) => {
                let entries = map
                    .iter()
                    .map(|(key, value)| format!("{}: {}", self.flow(&Value::from(key.as_str())), self.flow(value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Value::Array(list) => {
                format!("[{}]", list.iter().map(|value| self.flow(value)).collect::<Vec<_>>().join(", "))
            }
            scalar => {
                let mut out = String::new();
                yaml::inline(scalar, &mut out);
                let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./+\"".contains(c);
                if out.starts_with('"') || out.chars().all(is_safe) { out } else { Value::from(out).to_string() }
            }
        }
    }

    fn remove_flow(&mut self, gone: &[bool], span: impl Fn(usize) -> (usize, usize)) {
        let first_kept = gone.iter().position(|gone| !gone).unwrap_or(gone.len());
        if first_kept > 0 && first_kept < gone.len() {
            self.splice(span(0).0, span(first_kept).0, "");
        }
        for (at, _) in gone.iter().enumerate().skip(first_kept + 1).filter(|(_, gone)| **gone) {
            self.splice(span(at - 1).1, span(at).1, "");
        }
    }

    fn insert_flow(&mut self, node: &Node, entries: &[Entry], added: &Map<String, Value>) -> Result<(), Unfit> {
        let Some(last) = entries.last() else { return Err(OTHER) };
        // Where each entry has a line of its own, so has the new one.
        let line = self.line_start(last.start);
        let own_line = self.text[line..last.start].trim().is_empty() && line > node.start;
        let between = if own_line { format!(",\n{}", &self.text[line..last.start]) } else { ", ".to_owned() };
        let mut text = String::new();
        for (key, value) in added {
            let key = self.flow(&Value::from(key.as_str()));
            text.push_str(&format!("{between}{key}: {}", self.flow(value)));
        }
        if !text.is_empty() {
            self.splice(last.value.end, last.value.end, text);
        }
        Ok(())
    }

    fn remove_entries(&mut self, entries: &[Entry], gone: &[bool]) -> Result<(), Unfit> {
        let mut from = 0;
        let line = self.line_start(entries[0].start);
        if gone[0] && !self.text[line..entries[0].start].trim().is_empty() {
            // The first key stands behind a dash: the next one that stays takes its place.
            let kept = gone.iter().position(|gone| !gone).ok_or(OTHER)?;
            self.splice(entries[0].start, entries[kept].start, "");
            from = kept;
        }
        for (_, entry) in entries.iter().enumerate().skip(from).filter(|(at, _)| gone[*at]) {
            self.splice(self.line_start(entry.start), self.next_line(entry.value.end), "");
        }
        Ok(())
    }

    fn is_flow(&self, node: &Node) -> bool {
        self.is_json || self.text[node.start..].starts_with(['{', '['])
    }

    /// The byte after the colon of an entry's key.
    fn after_colon(&self, entry: &Entry) -> Result<usize, Unfit> {
        let rest = self.text.get(entry.key_end..).ok_or(OTHER)?;
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if rest[blank..].starts_with(':') { Ok(entry.key_end + blank + 1) } else { Err(OTHER) }
    }

    /// The dash of an entry of a list in block style.
    fn dash(&self, item: &Node) -> Result<usize, Unfit> {
        let before = self.text[..item.start].trim_end_matches([' ', '\t', '\n']);
        if before.ends_with('-') {
            Ok(before.len() - 1)
        } else {
            Err(Unfit("a comment stands between a dash and its entry"))
        }
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// The end of the line that a byte stands in, without the line end.
    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |end| at + end)
    }

    fn next_line(&self, at: usize) -> usize {
        (self.line_end(at) + 1).min(self.text.len())
    }

    fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }
}
