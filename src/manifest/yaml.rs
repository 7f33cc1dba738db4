//! The one place that knows the YAML parser: its events in our words, and what kubectl's parser would not have taken.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{ErrorKind, EventData, Parser, ScalarStyle};

use super::event::{Broken, Event, Style, What};

/// The events of one YAML text.
pub(super) struct YamlEvents<'t> {
    parser: Parser<&'t [u8]>,
    text: &'t str,
    /// Bytes of the byte order mark before the text that the parser sees.
    skipped: usize,
    /// Where the last event ended.
    last: usize,
}

impl<'t> YamlEvents<'t> {
    /// Reads a text; it must end with a line end.
    pub(super) fn new(text: &'t str) -> Self {
        let mut events = Self { parser: Parser::new(), text: "", skipped: 0, last: 0 };
        events.restart(text);
        events
    }

    /// Starts anew with another text; cheaper than a new parser.
    pub(super) fn restart(&mut self, text: &'t str) {
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        self.parser.reset();
        self.parser.set_input(bare.as_bytes());
        self.skipped = text.len() - bare.len();
        self.text = bare;
        self.last = 0;
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<Event, Broken> {
        loop {
            // The parser panics on a few malformed texts (a tag right before a comma).
            let parsed = catch_unwind(AssertUnwindSafe(|| self.parser.parse()));
            let event = match parsed {
                Ok(Ok(event)) => event,
                Ok(Err(error)) => return Err(self.broken(&error)),
                Err(_) => {
                    self.parser = Parser::new();
                    return Err(Broken { at: self.last, text: "the text after this is not understood" });
                }
            };
            #[allow(clippy::cast_possible_truncation, reason = "an index into a text in memory")]
            let (start, end) = (event.start_mark.index as usize, event.end_mark.index as usize);
            self.last = end + self.skipped;
            let what = match event.data {
                EventData::Scalar { anchor, tag, value, style, .. } => {
                    if style == ScalarStyle::DoubleQuoted && self.escapes_slash(start, end) {
                        return Err(Broken { at: start + self.skipped, text: "found unknown escape character \\/" });
                    }
                    let style = if style == ScalarStyle::Plain { Style::Plain } else { Style::Text };
                    What::Scalar { text: value, style, tag, anchor }
                }
                EventData::MappingStart { anchor, .. } => What::Map { anchor },
                EventData::MappingEnd => What::MapEnd,
                EventData::SequenceStart { anchor, .. } => What::List { anchor },
                EventData::SequenceEnd => What::ListEnd,
                EventData::Alias { anchor } => What::Alias(anchor),
                EventData::DocumentStart { .. } => What::Document,
                EventData::DocumentEnd { .. } => What::DocumentEnd,
                EventData::StreamEnd => What::End,
                EventData::StreamStart { .. } => continue,
            };
            return Ok(Event { what, at: start + self.skipped });
        }
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
