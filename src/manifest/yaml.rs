//! The one place that knows the YAML parser: its events in our words, and what kubectl's parser would not have taken.

use std::cell::Cell;
use std::io::{BufRead, Read};
use std::rc::Rc;

use libyaml_safer::{ErrorKind, EventData, MappingStyle, Parser, ScalarStyle, SequenceStyle};

use super::event::{Broken, Sink, Step, Style};

/// The text as the parser takes it in: a copy, so that the parser can outlive it, and a piece at a time, so that the
/// parser's queue of characters stays small.
struct Feed {
    bytes: Rc<Vec<u8>>,
    at: usize,
}

const WINDOW: usize = 4096;
const MARK: char = '\u{feff}';

impl Read for Feed {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let taken = (&self.bytes[self.at..]).read(out)?;
        self.at += taken;
        Ok(taken)
    }
}

impl BufRead for Feed {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        let rest = &self.bytes[self.at..];
        Ok(&rest[..rest.len().min(WINDOW)])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.bytes.len());
    }
}

/// A parser and a buffer for its text.
struct Tools {
    parser: Box<Parser<Feed>>,
    bytes: Rc<Vec<u8>>,
}

thread_local! {
    /// Used again and again: new ones for each file would cost more than the parsing.
    static SPARE: Cell<Option<Tools>> = const { Cell::new(None) };
}

/// A buffer that grew over this is not kept.
const KEPT_BYTES: usize = 1 << 20;

/// The events of one YAML text.
pub(super) struct YamlEvents<'t> {
    /// `None` once the parser panicked: then its state can't be trusted.
    tools: Option<Tools>,
    text: &'t str,
    /// Bytes of the byte order mark before the text that the parser sees.
    skipped: usize,
    /// Where the last event ended.
    last: usize,
    /// A byte order mark that begins another line than the first: our parser skips it, kubectl's does not.
    stray_mark: Option<usize>,
    /// Open collections in flow style.
    flow: usize,
}

impl Drop for YamlEvents<'_> {
    fn drop(&mut self) {
        if let Some(mut tools) = self.tools.take() {
            tools.parser.reset();
            if tools.bytes.capacity() <= KEPT_BYTES {
                SPARE.set(Some(tools));
            }
        }
    }
}

impl<'t> YamlEvents<'t> {
    /// Reads a text; it must end with a line end, and may begin with a byte order mark where `marked` says so.
    pub(super) fn new(text: &'t str, marked: bool) -> Self {
        let bare = if marked { text.strip_prefix(MARK).unwrap_or(text) } else { text };
        let begins_line = |at: &usize| {
            bare[..*at]
                .chars()
                .next_back()
                .is_none_or(|c| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'))
        };
        let stray_mark = bare.match_indices(MARK).map(|(at, _)| at).find(begins_line);
        let mut tools = SPARE.take().unwrap_or_else(|| Tools { parser: Box::new(Parser::new()), bytes: Rc::default() });
        // The parser gave its share back when it was reset.
        let bytes = Rc::make_mut(&mut tools.bytes);
        bytes.clear();
        bytes.extend_from_slice(bare.as_bytes());
        tools.parser.set_input(Feed { bytes: Rc::clone(&tools.bytes), at: 0 });
        let skipped = text.len() - bare.len();
        Self { tools: Some(tools), text: bare, skipped, last: 0, stray_mark, flow: 0 }
    }

    /// Gives the next event to a sink.
    pub(super) fn step<S: Sink>(&mut self, sink: &mut S) -> Result<Step, S::Stop> {
        if let Some(at) = self.stray_mark {
            let at = at + self.skipped;
            return Err(sink.broken(Broken { at, text: "found a byte order mark inside the text" }));
        }
        let Some(Tools { parser, .. }) = &mut self.tools else { return Err(sink.broken(self.lost())) };
        let event = match parser.parse() {
            Ok(event) => event,
            Err(error) => return Err(sink.broken(self.broken(&error))),
        };
        #[allow(clippy::cast_possible_truncation, reason = "an index into a text in memory")]
        let (start, end) = (event.start_mark.index as usize, event.end_mark.index as usize);
        let at = start + self.skipped;
        self.last = end + self.skipped;
        match event.data {
            EventData::Scalar { anchor, tag, value, style, .. } => {
                if style == ScalarStyle::DoubleQuoted && self.escapes_slash(start, end) {
                    return Err(sink.broken(Broken { at, text: "found unknown escape character \\/" }));
                }
                // kubectl's parser ends a plain scalar in flow style there.
                if self.flow > 0 && style == ScalarStyle::Plain && value.contains('?') {
                    return Err(sink.broken(Broken { at, text: "did not find expected ',' before '?'" }));
                }
                let style = if style == ScalarStyle::Plain { Style::Plain } else { Style::Text };
                sink.scalar(value, style, tag, anchor, at)?;
                sink.ended(self.last);
            }
            EventData::MappingStart { anchor, style, .. } => {
                self.flow += usize::from(self.flow > 0 || style == MappingStyle::Flow);
                sink.map(anchor, at)?;
            }
            EventData::SequenceStart { anchor, style, .. } => {
                self.flow += usize::from(self.flow > 0 || style == SequenceStyle::Flow);
                sink.list(anchor, at)?;
            }
            EventData::MappingEnd | EventData::SequenceEnd => {
                self.flow = self.flow.saturating_sub(1);
                sink.close()?;
                sink.ended(self.last);
            }
            EventData::Alias { anchor } => {
                sink.alias(anchor, at)?;
                sink.ended(self.last);
            }
            EventData::DocumentStart { .. } => sink.document(at),
            EventData::DocumentEnd { .. } => return Ok(Step::DocumentEnd),
            EventData::StreamEnd => return Ok(Step::End),
            EventData::StreamStart { .. } => {}
        }
        Ok(Step::More)
    }

    /// The parser panicked on what follows.
    pub(super) fn lost(&mut self) -> Broken {
        self.tools = None;
        Broken { at: self.last, text: "the text after this is not understood" }
    }

    /// `"\/"` is YAML 1.2 and unknown to kubectl's parser.
    fn escapes_slash(&self, start: usize, end: usize) -> bool {
        let raw = self.text.as_bytes().get(start..end).unwrap_or_default();
        let mut bytes = raw.iter();
        while let Some(byte) = bytes.next() {
            if *byte == b'\\' && bytes.next() == Some(&b'/') {
                return true;
            }
        }
        false
    }

    fn broken(&self, error: &libyaml_safer::Error) -> Broken {
        let at = match (error.kind(), error.problem_mark()) {
            (ErrorKind::Reader, _) => self.control_character(),
            #[allow(clippy::cast_possible_truncation, reason = "an index into a text in memory")]
            (_, Some(mark)) => mark.index as usize,
            (_, None) => self.last.saturating_sub(self.skipped),
        };
        Broken { at: at.min(self.text.len()) + self.skipped, text: error.problem() }
    }

    /// The parser doesn't tell where; these are the characters that YAML forbids.
    fn control_character(&self) -> usize {
        let forbidden = |c: char| {
            !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}'
                | '\u{10000}'..)
        };
        self.text.find(forbidden).unwrap_or(0)
    }
}
