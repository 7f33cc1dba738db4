//! From a file's bytes to the pieces of text that hold one document each, as kubectl cuts them.

use std::borrow::Cow;

use super::event::Events;
use super::json::JsonEvents;
use super::yaml::YamlEvents;

/// Bytes that are no text; `at` is the first bad one.
#[derive(Debug)]
pub(super) struct NoText {
    pub(super) at: usize,
    pub(super) text: &'static str,
}

/// The text of a file, ready to be cut.
#[derive(Debug)]
pub(super) struct Text<'b> {
    text: Cow<'b, str>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Yaml,
    Json,
    /// Decoded from UTF-16, where kubectl sees no separators.
    Utf16,
}

/// One piece: a YAML document, or a whole JSON file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'t> {
    pub(super) text: &'t str,
    /// The line in the file of the text's first, from 1.
    first_line: u32,
    kind: Kind,
    /// The separator that ends it has something after the dashes: where, in the text.
    pub(super) bad_separator: Option<usize>,
}

impl<'b> Text<'b> {
    /// Decodes a file. The lines of the text are those of the file.
    pub(super) fn decode(bytes: &'b [u8]) -> Result<Self, NoText> {
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            let text = utf16(&bytes[2..], bytes[0] == 0xfe)
                .ok_or(NoText { at: 0, text: "the file begins with the mark of UTF-16 and is not valid UTF-16" })?;
            return Ok(Self { text: Cow::Owned(text), kind: Kind::Utf16 });
        }
        let text = std::str::from_utf8(bytes).map_err(|e| NoText {
            at: e.valid_up_to(),
            text: "the file is not UTF-8: kubectl would put U+FFFD in place of these bytes",
        })?;
        let kind = if begins_json(text) { Kind::Json } else { Kind::Yaml };
        let mut text = Cow::Borrowed(text);
        if kind == Kind::Yaml {
            // kubectl reads by lines: it takes the \r of each \r\n away and ends the last line.
            if text.contains('\r') {
                text = Cow::Owned(text.replace("\r\n", "\n"));
            }
            if !text.ends_with('\n') && !text.is_empty() {
                text.to_mut().push('\n');
            }
        }
        Ok(Self { text, kind })
    }

    /// The pieces in order.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        let mut rest = Some(&*self.text);
        let (kind, mut line) = (self.kind, 1);
        std::iter::from_fn(move || {
            let text = rest?;
            let cut = if kind == Kind::Yaml { separator(text) } else { None };
            let end = cut.map_or(text.len(), |(start, _)| start);
            let after = cut.map(|(start, len)| (&text[start..start + len], &text[start + len..]));
            let bad = after.is_some_and(|(dashes, _)| {
                let trailing = dashes[3..].trim();
                !trailing.is_empty() && !trailing.starts_with('#')
            });
            let chunk = Chunk { text: &text[..end], first_line: line, kind, bad_separator: bad.then_some(end) };
            line += newlines(&text[..end]) + 1;
            // What comes after a bad separator belongs to no document.
            rest = after.filter(|_| !bad).map(|(_, rest)| rest);
            Some(chunk)
        })
    }
}

impl<'t> Chunk<'t> {
    /// Its events.
    pub(super) fn events(&self) -> Events<'t> {
        match self.kind {
            Kind::Json => Events::Json(JsonEvents::new(self.text)),
            _ => Events::Yaml(YamlEvents::new(self.text)),
        }
    }

    /// Its events, from a reader that is used again where it can be.
    pub(super) fn events_in<'e>(&self, reader: &'e mut Option<Events<'t>>) -> &'e mut Events<'t> {
        match reader {
            Some(Events::Yaml(events)) if self.kind != Kind::Json => events.restart(self.text),
            _ => *reader = None,
        }
        reader.get_or_insert_with(|| self.events())
    }

    /// Whether several documents may stand in it, one after another.
    pub(super) fn is_stream(&self) -> bool {
        self.kind == Kind::Json
    }

    /// Whether nothing but blanks and comments stands in it.
    pub(super) fn is_blank(&self) -> bool {
        self.kind == Kind::Yaml
            && self.text.lines().all(|line| {
                let line = line.trim_start_matches([' ', '\u{feff}']);
                line.is_empty() || line.starts_with('#')
            })
    }

    /// Line and column in the file of a byte of the text, both from 1, in characters.
    pub(super) fn place(&self, at: usize) -> (u32, u32) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before[start..].trim_start_matches('\u{feff}');
        (self.first_line + newlines(before), u32::try_from(line.chars().count()).unwrap_or(u32::MAX - 1) + 1)
    }

    /// The line of text that a byte stands in, and the one before it.
    pub(super) fn lines_at(&self, at: usize) -> &'t str {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let start = self.text[..at].rfind('\n').unwrap_or(0);
        let start = self.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let end = self.text[at..].find('\n').map_or(self.text.len(), |i| at + i);
        &self.text[start..end]
    }
}

/// kubectl takes a file for JSON if its first character is a brace; it looks at 4096 bytes.
fn begins_json(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with('{') && text.len() - start.len() < 4096
}

/// The first line that begins with three dashes: where, and its length with the line end.
fn separator(text: &str) -> Option<(usize, usize)> {
    let start = if text.starts_with("---") { 0 } else { text.find("\n---")? + 1 };
    let len = text[start..].find('\n').map_or(text.len() - start, |i| i + 1);
    Some((start, len))
}

fn newlines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|&b| b == b'\n').count()).unwrap_or(u32::MAX)
}

fn utf16(bytes: &[u8], big_endian: bool) -> Option<String> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|&pair| if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) });
    let mut text = char::decode_utf16(units).collect::<Result<String, _>>().ok()?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(text)
}
