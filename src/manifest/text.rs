//! From a file's bytes to the pieces of text that hold one document each, as kubectl cuts them.

use std::borrow::Cow;
use std::cell::Cell;

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
    /// How much of it stands in the file: where the last line has no end it is given one.
    own: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Yaml,
    Json,
}

/// One piece: a YAML document, or a whole JSON file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'t> {
    pub(super) text: &'t str,
    /// The line in the file of the text's first, from 1.
    first_line: u32,
    /// Where it begins in the whole text.
    from: usize,
    kind: Kind,
    /// kubectl keeps the separator above it, so that a byte order mark does not begin its text.
    after_dashes: bool,
    /// Where it ends in the file: no place is after that.
    end: usize,
    /// The separator that ends it has something after the dashes: where, in the text.
    pub(super) bad_separator: Option<usize>,
}

/// Where a document is found again, in the text of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Home {
    from: usize,
    to: usize,
    first_line: u32,
    after_dashes: bool,
    /// In a stream of documents: where it begins in the piece.
    pub(super) skip: usize,
}

/// The last place that was counted out, so that the next one goes on from there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    at: usize,
    lines: u32,
    column: u32,
}

impl<'b> Text<'b> {
    /// Decodes a file. The lines of the text are those of the file.
    pub(super) fn decode(bytes: &'b [u8]) -> Result<Self, NoText> {
        let mut text = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            let text = utf16(&bytes[2..], bytes[0] == 0xfe);
            Cow::Owned(text.ok_or(NoText { at: 0, text: "the file begins with the mark of UTF-16 and is not UTF-16" })?)
        } else {
            let text = std::str::from_utf8(bytes).map_err(|e| NoText {
                at: e.valid_up_to(),
                text: "the file is not UTF-8: kubectl would put U+FFFD in place of these bytes",
            })?;
            Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text))
        };
        let kind = if begins_json(&text) { Kind::Json } else { Kind::Yaml };
        let mut own = text.len();
        if kind == Kind::Yaml {
            // kubectl reads by lines: it takes the \r of each \r\n away and ends the last line.
            if text.contains('\r') {
                text = Cow::Owned(text.replace("\r\n", "\n"));
            }
            own = text.len();
            if !text.ends_with('\n') && !text.is_empty() {
                text.to_mut().push('\n');
            }
        }
        Ok(Self { text, kind, own })
    }

    /// The pieces in order.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        let mut rest = Some(&*self.text);
        let (kind, mut from, mut first_line, mut after_dashes) = (self.kind, 0, 1, false);
        std::iter::from_fn(move || {
            let text = rest?;
            let cut = if kind == Kind::Yaml { separator(text) } else { None };
            let end = text.len().min(self.own.saturating_sub(from));
            let mut chunk = Chunk { text, first_line, from, kind, after_dashes, end, bad_separator: None };
            rest = None;
            if let Some(Cut { start, end, lines }) = cut {
                chunk.text = &text[..start];
                chunk.end = start;
                after_dashes = start == 0 && !after_dashes;
                if separates(&text[start + 3..end], after_dashes) {
                    rest = Some(&text[end..]);
                    first_line += lines;
                    from += end;
                } else {
                    // What comes after a bad separator belongs to no document.
                    chunk.bad_separator = Some(start);
                }
            }
            Some(chunk)
        })
    }

    /// All of it.
    pub(super) fn whole(&self) -> &str {
        &self.text
    }

    /// A piece, once more.
    pub(super) fn chunk(&self, home: &Home) -> Option<Chunk<'_>> {
        let Home { from, to, first_line, after_dashes, .. } = *home;
        let text = self.text.get(from..to)?;
        let end = text.len().min(self.own.saturating_sub(from));
        Some(Chunk { text, first_line, from, kind: self.kind, after_dashes, end, bad_separator: None })
    }
}

impl<'t> Chunk<'t> {
    /// Where it is found again; `skip` is where a document of a stream begins.
    pub(super) fn home(&self, skip: usize) -> Home {
        let skip = if self.is_stream() { skip } else { 0 };
        let Self { from, first_line, after_dashes, .. } = *self;
        Home { from, to: from + self.text.len(), first_line, after_dashes, skip }
    }

    /// Where it begins in the whole text.
    pub(super) fn from(&self) -> usize {
        self.from
    }

    /// Its events from the byte at which a document begins.
    pub(super) fn events(&self, skip: usize) -> Events<'t> {
        match self.kind {
            Kind::Json => Events::Json(JsonEvents::new(self.text, skip)),
            Kind::Yaml => Events::Yaml(YamlEvents::new(self.text, !self.after_dashes)),
        }
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

    /// Line and column in the file of a byte of the text, both from 1, in characters. It counts from the place counted
    /// last, so that places near each other are cheap.
    pub(super) fn place(&self, at: usize, counted: &Cell<Counted>) -> (u32, u32) {
        let at = self.boundary(at);
        let last = counted.get();
        let (low, high) = (at.min(last.at), at.max(last.at));
        let between = &self.text[low..high];
        let mut now = Counted { at, ..last };
        if at >= last.at {
            now.lines += newlines(between);
            match between.rfind('\n') {
                Some(end) => now.column = width(&between[end + 1..]),
                None => now.column += width(between),
            }
        } else if between.contains('\n') {
            now.lines -= newlines(between);
            now.column = width(self.text[..at].rsplit('\n').next().unwrap_or_default());
        } else {
            now.column -= width(between);
        }
        counted.set(now);
        (self.first_line + now.lines, now.column + 1)
    }

    fn boundary(&self, at: usize) -> usize {
        let mut at = at.min(self.end);
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// The line of text that a byte stands in, and the one before it.
    pub(super) fn lines_at(&self, at: usize) -> &'t str {
        let at = self.boundary(at);
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

/// Whether a line of three dashes and this is a separator. A `kept` one is read as YAML too.
fn separates(trailing: &str, kept: bool) -> bool {
    let (blanks, rest) = if kept {
        (trailing.starts_with([' ', '\t', '\n']) || trailing.is_empty(), trailing.trim_matches([' ', '\t', '\n']))
    } else {
        (true, trailing.trim())
    };
    blanks && (rest.is_empty() || rest.starts_with('#'))
}

/// A separator: its line's first byte, that line's end, and the lines up to there.
struct Cut {
    start: usize,
    end: usize,
    lines: u32,
}

/// The first line that begins with three dashes.
fn separator(text: &str) -> Option<Cut> {
    let bytes = text.as_bytes();
    // Of three dashes one lies at every third byte.
    let mut at = 2;
    while at < bytes.len() {
        if bytes[at] == b'-' {
            for start in at - 2..=at {
                let begins_line = start == 0 || bytes[start - 1] == b'\n';
                if begins_line && bytes[start..].starts_with(b"---") {
                    let end = text[start..].find('\n').map_or(text.len(), |i| start + i + 1);
                    return Some(Cut { start, end, lines: newlines(&text[..end]) });
                }
            }
        }
        at += 3;
    }
    None
}

/// Characters; a byte order mark has no width.
fn width(text: &str) -> u32 {
    let chars =
        if text.contains('\u{feff}') { text.replace('\u{feff}', "").chars().count() } else { text.chars().count() };
    u32::try_from(chars).unwrap_or(u32::MAX - 1)
}

fn newlines(text: &str) -> u32 {
    // Counted in bytes first: that is what the compiler makes vectors of.
    let count = |part: &[u8]| u32::from(part.iter().map(|&b| u8::from(b == b'\n')).sum::<u8>());
    text.as_bytes().chunks(255).map(count).sum()
}

fn utf16(bytes: &[u8], big_endian: bool) -> Option<String> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|&pair| if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) });
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}
