//! Where every node of a document begins and ends in its text: what an edit in place needs.

use super::event::{Broken, Sink, Style};
use super::text::Chunk;

/// A node, with the bytes of the chunk's text that it takes.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) start: usize,
    /// Of a collection in block style the end of its last entry.
    pub(super) end: usize,
    pub(super) what: What,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum What {
    Scalar,
    /// An alias, or what bears an anchor: it is not only here.
    Shared,
    Map(Vec<Entry>),
    List(Vec<Node>),
}

/// One entry of a mapping.
#[derive(Debug)]
pub(super) struct Entry {
    /// The key's text; `None` where the key is no text.
    pub(super) key: Option<String>,
    pub(super) start: usize,
    pub(super) key_end: usize,
    pub(super) value: Node,
}

/// The nodes of the document that begins at `skip`; `None` if it can't be read.
pub(super) fn spans(chunk: &Chunk<'_>, skip: usize) -> Option<Node> {
    let mut walk = Walk { text: chunk.text, open: Vec::new(), done: None, last_key: None };
    chunk.events(skip).document(&mut walk).ok()?;
    walk.done
}

/// An open mapping or list.
struct Open {
    start: usize,
    shared: bool,
    is_map: bool,
    entries: Vec<Entry>,
    items: Vec<Node>,
    /// The key whose value comes next.
    key: Option<(Option<String>, usize, usize)>,
}

struct Walk<'t> {
    text: &'t str,
    open: Vec<Open>,
    done: Option<Node>,
    /// A leaf that was told and whose end comes next.
    last_key: Option<(Option<String>, usize, bool)>,
}

impl Walk<'_> {
    fn put(&mut self, node: Node, text: Option<String>) {
        let Some(open) = self.open.last_mut() else {
            self.done.get_or_insert(node);
            return;
        };
        if !open.is_map {
            open.items.push(node);
        } else if let Some((key, start, key_end)) = open.key.take() {
            open.entries.push(Entry { key, start, key_end, value: node });
        } else {
            open.key = Some((text, node.start, node.end));
        }
    }

    fn leaf(&mut self, text: Option<String>, at: usize, shared: bool) {
        self.last_key = Some((text, at, shared));
    }
}

impl Sink for Walk<'_> {
    type Stop = ();

    fn document(&mut self, _: usize) {}

    fn scalar(
        &mut self,
        text: String,
        _: Style,
        _: Option<String>,
        anchor: Option<String>,
        at: usize,
    ) -> Result<(), ()> {
        self.leaf(Some(text), at, anchor.is_some());
        Ok(())
    }

    fn map(&mut self, anchor: Option<String>, at: usize) -> Result<(), ()> {
        let (entries, items) = (Vec::new(), Vec::new());
        self.open.push(Open { start: at, shared: anchor.is_some(), is_map: true, entries, items, key: None });
        Ok(())
    }

    fn list(&mut self, anchor: Option<String>, at: usize) -> Result<(), ()> {
        let (entries, items) = (Vec::new(), Vec::new());
        self.open.push(Open { start: at, shared: anchor.is_some(), is_map: false, entries, items, key: None });
        Ok(())
    }

    fn close(&mut self) -> Result<(), ()> {
        Ok(())
    }

    fn alias(&mut self, _: String, at: usize) -> Result<(), ()> {
        self.leaf(None, at, true);
        Ok(())
    }

    fn ended(&mut self, end: usize) {
        if let Some((text, start, shared)) = self.last_key.take() {
            // A block text ends before its line ends, which no edit of it touches.
            let is_block = self.text[start..].starts_with(['|', '>']);
            let end = if is_block { start + self.text[start..end].trim_end_matches(['\n', ' ']).len() } else { end };
            let what = if shared { What::Shared } else { What::Scalar };
            self.put(Node { start, end, what }, text);
            return;
        }
        let Some(open) = self.open.pop() else { return };
        let is_flow = self.text[open.start..].starts_with(['{', '[']);
        let last = open.entries.last().map(|entry| entry.value.end).or(open.items.last().map(|item| item.end));
        let end = if is_flow { end } else { last.unwrap_or(open.start) };
        let what = match (open.shared, open.is_map) {
            (true, _) => What::Shared,
            (false, true) => What::Map(open.entries),
            (false, false) => What::List(open.items),
        };
        self.put(Node { start: open.start, end, what }, None);
    }

    fn broken(&mut self, _: Broken) {}
}
