//! The YAML of a configuration as a tree in which every node has its place.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{Event, EventData, Mark, Parser, ScalarStyle};

use crate::base::fault::{At, Fault};
use crate::base::map::HashMap;

use super::super::rules;
use super::cursor::Report;

/// Deepest nesting read.
const MAX_DEPTH: usize = 32;
/// Most nodes of one file, aliases counted as what they stand for.
const MAX_NODES: usize = 100_000;

/// A place in the file, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// One node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) data: Data,
}

/// What a node holds.
#[derive(Debug, Clone)]
pub(super) enum Data {
    Scalar { text: String, plain: bool },
    List(Vec<Node>),
    Map(Vec<(String, Place, Node)>),
}

impl Node {
    /// Whether it is a plain null.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.data, Data::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What it is, for a report.
    pub(super) fn what(&self) -> &'static str {
        match &self.data {
            Data::Map(_) => "a mapping",
            Data::List(_) => "a list",
            Data::Scalar { .. } if self.is_null() => "null",
            Data::Scalar { text, plain: true } => match text.as_str() {
                "true" | "false" | "True" | "False" | "TRUE" | "FALSE" => "a boolean",
                text if looks_numeric(text) => "a number",
                _ => "text",
            },
            Data::Scalar { .. } => "text",
        }
    }

    fn nodes(&self) -> usize {
        1 + match &self.data {
            Data::Scalar { .. } => 0,
            Data::List(list) => list.iter().map(Self::nodes).sum(),
            Data::Map(map) => map.iter().map(|(_, _, value)| 1 + value.nodes()).sum(),
        }
    }
}

/// Whether a plain scalar would be read as a number by some YAML reader or other.
pub(super) fn looks_numeric(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    body.starts_with(|c: char| c.is_ascii_digit())
        && (body.replace('_', "").parse::<f64>().is_ok()
            || body.strip_prefix("0x").is_some_and(|hex| !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit()))
            || body.strip_prefix("0o").is_some_and(|oct| !oct.is_empty() && oct.chars().all(|c| c.is_digit(8))))
}

/// A reason to stop reading: places after it would be guesses.
struct Stop(Box<Fault>);

/// Reads all documents up to the first place that is no YAML, which becomes a fault.
pub(super) fn read(text: &str, report: &mut Report) -> Vec<Node> {
    let mut bytes = text.as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut reader = Reader {
        parser,
        report,
        anchors: HashMap::default(),
        nodes: 0,
        end: end(text),
        last: Place { line: 1, column: 1 },
    };
    let mut documents = Vec::new();
    loop {
        reader.report.document = documents.len();
        match reader.document() {
            Ok(Some(node)) => documents.push(node),
            Ok(None) => return documents,
            Err(Stop(fault)) => {
                reader.report.faults.push(*fault);
                return documents;
            }
        }
    }
}

struct Reader<'a, R> {
    parser: Parser<R>,
    report: &'a mut Report,
    anchors: HashMap<String, Node>,
    nodes: usize,
    /// What is wrong at the end the parser puts on a line after it: it is told here.
    end: Place,
    /// Where the last event begins.
    last: Place,
}

/// Where a text ends, in lines as YAML 1.1 has them.
fn end(text: &str) -> Place {
    let breaks = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
    let one = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    let crlf = text.matches("\r\n").count();
    let last = text.rsplit(breaks).next().unwrap_or_default();
    Place { line: one(text.matches(breaks).count() - crlf), column: one(last.chars().count()) }
}

fn place(mark: Mark) -> Place {
    let from_one = |n: u64| u32::try_from(n + 1).unwrap_or(u32::MAX);
    Place { line: from_one(mark.line), column: from_one(mark.column) }
}

impl<R: std::io::BufRead> Reader<'_, R> {
    fn event(&mut self) -> Result<Event, Stop> {
        // It panics on a few malformed texts (a tag right before a comma). Nothing is read after a stop.
        let parsed = catch_unwind(AssertUnwindSafe(|| self.parser.parse()));
        let parsed =
            parsed.map_err(|_| self.stop(rules::YAML_SYNTAX, self.last, "the YAML after this can't be read"))?;
        let event = parsed.map_err(|error| {
            let place = place(error.problem_mark().unwrap_or_default()).min(self.end);
            let text = match error.context() {
                Some(context) => format!("{}, {context}", error.problem()),
                None => error.problem().to_owned(),
            };
            self.stop(rules::YAML_SYNTAX, place, text)
        })?;
        self.last = place(event.start_mark).min(self.end);
        Ok(event)
    }

    fn stop(&self, rule: crate::base::fault::RuleId, place: Place, text: impl Into<String>) -> Stop {
        Stop(Box::new(Fault::new(rule, text).at(self.at(place))))
    }

    fn at(&self, place: Place) -> At {
        At { file: self.report.file.clone(), document: self.report.document, line: place.line, column: place.column }
    }

    fn document(&mut self) -> Result<Option<Node>, Stop> {
        loop {
            let event = self.event()?;
            match event.data {
                EventData::StreamEnd => return Ok(None),
                EventData::DocumentStart { .. } => {
                    self.anchors.clear();
                    let first = self.event()?;
                    return self.node(first, 0).map(Some);
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event, depth: usize) -> Result<Node, Stop> {
        let start = place(event.start_mark);
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            let text =
                format!("the configuration is nested deeper than {MAX_DEPTH} or has more than {MAX_NODES} nodes");
            return Err(self.stop(rules::SIZE_LIMIT, start, text));
        }
        let (anchor, data) = match event.data {
            EventData::Scalar { anchor, tag, value, style, .. } => {
                self.refuse_tag(tag.as_deref(), start)?;
                (anchor, Data::Scalar { text: value, plain: style == ScalarStyle::Plain })
            }
            EventData::SequenceStart { anchor, tag, .. } => {
                self.refuse_tag(tag.as_deref(), start)?;
                (anchor, Data::List(self.list(depth)?))
            }
            EventData::MappingStart { anchor, tag, .. } => {
                self.refuse_tag(tag.as_deref(), start)?;
                (anchor, Data::Map(self.map(depth)?))
            }
            EventData::Alias { anchor } => return self.alias(&anchor, start),
            _ => return Err(self.stop(rules::YAML_SYNTAX, start, "a value is expected here")),
        };
        let node = Node { place: start, data };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn refuse_tag(&self, tag: Option<&str>, start: Place) -> Result<(), Stop> {
        match tag {
            None | Some("!") => Ok(()),
            Some(tag) if tag.starts_with("tag:yaml.org,2002:") => Ok(()),
            Some(tag) => Err(self.stop(rules::TYPE_MISMATCH, start, format!("the tag {tag:?} is not read here"))),
        }
    }

    fn alias(&mut self, anchor: &str, start: Place) -> Result<Node, Stop> {
        let Some(node) = self.anchors.get(anchor) else {
            return Err(self.stop(
                rules::YAML_SYNTAX,
                start,
                format!("the anchor {anchor:?} is not defined before it"),
            ));
        };
        // Counted before it is copied: aliases of aliases grow without bounds.
        self.nodes += node.nodes();
        if self.nodes > MAX_NODES {
            return Err(self.stop(rules::SIZE_LIMIT, start, format!("aliases expand to more than {MAX_NODES} nodes")));
        }
        Ok(Node { place: start, data: node.data.clone() })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Stop> {
        let mut list = Vec::new();
        loop {
            let event = self.event()?;
            if matches!(event.data, EventData::SequenceEnd) {
                return Ok(list);
            }
            list.push(self.node(event, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(String, Place, Node)>, Stop> {
        let mut map: Vec<(String, Place, Node)> = Vec::new();
        loop {
            let event = self.event()?;
            let at = place(event.start_mark);
            let key = match event.data {
                EventData::MappingEnd => return Ok(map),
                EventData::Scalar { value, .. } => value,
                _ => return Err(self.stop(rules::TYPE_MISMATCH, at, "a key is text here")),
            };
            let value = self.event()?;
            let value = self.node(value, depth + 1)?;
            match map.iter().find(|(other, _, _)| *other == key) {
                Some((_, first, _)) => {
                    let fault = Fault::new(rules::DUPLICATE_KEY, format!("the key {key:?} stands twice"));
                    let fault = fault.at(self.at(at)).also(self.at(*first));
                    self.report.faults.push(fault);
                }
                None => map.push((key, at, value)),
            }
        }
    }
}
