//! JSON, one value after another, as the events that YAML gives too. A file that begins with `{` is read so, as kubectl does.

use super::event::{Broken, Sink, Step, Style};

/// One thing that stands in the text.
enum What {
    Scalar { text: String, style: Style },
    List,
    Map,
    Close,
    Document,
    DocumentEnd,
    End,
}

/// One thing and the byte at which it starts.
struct Event {
    what: What,
    at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a value of the stream.
    Top,
    /// After a value of the stream.
    Closed,
    /// Before a value.
    Value,
    /// After `[`.
    FirstEntry,
    /// After `{`.
    FirstKey,
    /// After a comma in an object.
    Key,
    /// After a value.
    After,
}

/// The events of a JSON text.
pub(super) struct JsonEvents<'t> {
    text: &'t str,
    at: usize,
    state: State,
    /// Open objects (`true`) and lists.
    open: Vec<bool>,
}

impl<'t> JsonEvents<'t> {
    /// Reads a text from a byte on.
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self { text, at, state: State::Top, open: Vec::new() }
    }

    /// Gives the next event to a sink.
    pub(super) fn step<S: Sink>(&mut self, sink: &mut S) -> Result<Step, S::Stop> {
        let Event { what, at } = match self.next() {
            Ok(event) => event,
            Err(broken) => return Err(sink.broken(broken)),
        };
        match what {
            What::Scalar { text, style } => {
                sink.scalar(text, style, None, None, at)?;
                sink.ended(self.at);
            }
            What::List => sink.list(None, at)?,
            What::Map => sink.map(None, at)?,
            What::Close => {
                sink.close()?;
                sink.ended(self.at);
            }
            What::Document => sink.document(at),
            What::DocumentEnd => return Ok(Step::DocumentEnd),
            What::End => return Ok(Step::End),
        }
        Ok(Step::More)
    }

    fn next(&mut self) -> Result<Event, Broken> {
        loop {
            self.skip_space();
            let at = self.at;
            match self.state {
                State::Top => {
                    self.state = State::Value;
                    let what = if at == self.text.len() { What::End } else { What::Document };
                    return Ok(Event { what, at });
                }
                State::Closed => {
                    self.state = State::Top;
                    return Ok(Event { what: What::DocumentEnd, at });
                }
                State::Value => return self.value(),
                State::FirstEntry if self.peek() == Some(b']') => return self.close(),
                State::FirstEntry => self.state = State::Value,
                State::FirstKey if self.peek() == Some(b'}') => return self.close(),
                State::FirstKey | State::Key => return self.key(),
                State::After => match (self.peek(), self.open.last()) {
                    (Some(b','), Some(&object)) => {
                        self.at += 1;
                        self.state = if object { State::Key } else { State::Value };
                    }
                    (Some(b'}'), Some(true)) | (Some(b']'), Some(false)) => return self.close(),
                    (_, Some(true)) => return self.broken("did not find expected ',' or '}'"),
                    (_, _) => return self.broken("did not find expected ',' or ']'"),
                },
            }
        }
    }

    /// Where the reader stands, as a fault.
    pub(super) fn lost(&self) -> Broken {
        Broken { at: self.at, text: "the text after this is not understood" }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn broken<T>(&self, text: &'static str) -> Result<T, Broken> {
        Err(Broken { at: self.at, text })
    }

    fn after(&self) -> State {
        if self.open.is_empty() { State::Closed } else { State::After }
    }

    fn close(&mut self) -> Result<Event, Broken> {
        let at = self.at;
        self.at += 1;
        self.open.pop();
        self.state = self.after();
        Ok(Event { what: What::Close, at })
    }

    fn key(&mut self) -> Result<Event, Broken> {
        let at = self.at;
        if self.peek() != Some(b'"') {
            return self.broken("did not find expected key in double quotes");
        }
        let text = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.broken("did not find expected ':'");
        }
        self.at += 1;
        self.state = State::Value;
        Ok(Event { what: What::Scalar { text, style: Style::Text }, at })
    }

    fn value(&mut self) -> Result<Event, Broken> {
        let at = self.at;
        let (text, style) = match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.open.push(true);
                self.state = State::FirstKey;
                return Ok(Event { what: What::Map, at });
            }
            Some(b'[') => {
                self.at += 1;
                self.open.push(false);
                self.state = State::FirstEntry;
                return Ok(Event { what: What::List, at });
            }
            Some(b'"') => (self.string()?, Style::Text),
            Some(b'-' | b'0'..=b'9') => (self.number()?.to_owned(), Style::JsonNumber),
            _ => {
                let rest = &self.text[self.at..];
                let Some(word) = ["true", "false", "null"].into_iter().find(|w| rest.starts_with(w)) else {
                    return self.broken("did not find expected JSON value");
                };
                self.at += word.len();
                (word.to_owned(), Style::Plain)
            }
        };
        self.state = self.after();
        Ok(Event { what: What::Scalar { text, style }, at })
    }

    fn number(&mut self) -> Result<&'t str, Broken> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.broken("did not find expected digit"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.need_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.need_digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn need_digits(&mut self) -> Result<(), Broken> {
        let start = self.at;
        self.digits();
        if self.at == start { self.broken("did not find expected digit") } else { Ok(()) }
    }

    /// A string, the opening quote not yet read.
    fn string(&mut self) -> Result<String, Broken> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(stop) = rest.bytes().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)) else {
                self.at = self.text.len();
                return self.broken("found unexpected end of stream in a string");
            };
            out.push_str(&rest[..stop]);
            self.at += stop;
            match rest.as_bytes()[stop] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.push(self.escape()?),
                _ => return self.broken("found a control character in a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Broken> {
        let c = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return self.broken("found unknown escape character"),
        };
        self.at += 2;
        Ok(c)
    }

    /// `\uXXXX`, two of them for a surrogate pair; a lone surrogate is U+FFFD, as Go reads it.
    fn unicode(&mut self) -> Result<char, Broken> {
        let Some(first) = self.hex(self.at) else { return self.broken("did not find expected hexadecimal number") };
        self.at += 6;
        if (0xd800..0xdc00).contains(&first)
            && let Some(second) = self.hex(self.at)
            && (0xdc00..0xe000).contains(&second)
        {
            self.at += 6;
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The number in a `\uXXXX` at this place.
    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |n, &b| char::from(b).to_digit(16).map(|d| n * 16 + d))
    }
}
