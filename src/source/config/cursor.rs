//! Walks over the fields of one mapping: what is read is known, what is left over is a fault.

use crate::base::fault::{At, Fault, RuleId};
use crate::base::path::RepoPath;
use crate::base::pointer::Pointer;

use super::super::rules;
use super::yaml::{Data, Node, Place, looks_numeric};

/// The faults found so far, and where the reader stands.
#[derive(Default)]
pub(super) struct Report {
    pub(super) faults: Vec<Fault>,
    pub(super) file: RepoPath,
    pub(super) document: usize,
    /// The pointer to the mapping or list entry being read.
    pub(super) under: Pointer,
}

impl Report {
    pub(super) fn at(&self, node: &Node) -> At {
        self.place(node.place)
    }

    pub(super) fn place(&self, place: Place) -> At {
        At { file: self.file.clone(), document: self.document, line: place.line, column: place.column }
    }

    /// Adds a fault at a field below the present mapping.
    pub(super) fn add(&mut self, rule: RuleId, place: Place, below: &str, text: impl Into<String>) -> &mut Fault {
        let path = Pointer::parse(&format!("{}{below}", self.under)).unwrap_or_default();
        self.faults.push(Fault::new(rule, text).at(self.place(place)).path(path));
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    /// Adds a fault at the value being read.
    pub(super) fn here(&mut self, rule: RuleId, node: &Node, text: impl Into<String>) -> &mut Fault {
        self.add(rule, node.place, "", text)
    }

    pub(super) fn mismatch(&mut self, node: &Node, wanted: &str) {
        let text = format!("{wanted} is expected, not {}", node.what());
        let quote = matches!(&node.data, Data::Scalar { plain: true, .. }) && wanted.starts_with("text");
        let fault = self.here(rules::TYPE_MISMATCH, node, text);
        if quote {
            fault.hint = Some("quote it if text is meant".to_owned());
        }
    }

    /// Reads something below a key.
    pub(super) fn key<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let under = self.under.clone();
        self.under.push_key(key);
        let out = read(self);
        self.under = under;
        out
    }

    /// Reads something below a list entry.
    pub(super) fn index<T>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let under = self.under.clone();
        self.under.push_index(index);
        let out = read(self);
        self.under = under;
        out
    }
}

/// The fields of one mapping.
pub(super) struct Cursor<'a> {
    node: &'a Node,
    fields: &'a [(String, Place, Node)],
    asked: Vec<&'static str>,
}

impl<'a> Cursor<'a> {
    /// Opens a mapping; anything else is a fault.
    pub(super) fn open(node: &'a Node, report: &mut Report) -> Option<Self> {
        match &node.data {
            Data::Map(fields) => Some(Self { node, fields, asked: Vec::new() }),
            _ => {
                report.mismatch(node, "a mapping");
                None
            }
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(name, _, _)| name == key)
    }

    /// Where a key stands; of a missing one, where the mapping starts.
    pub(super) fn place(&self, key: &str) -> Place {
        self.fields.iter().find(|(name, _, _)| name == key).map_or(self.node.place, |(_, place, _)| *place)
    }

    /// A field's value; a null is as if the field were not there.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'a Node> {
        self.asked.push(key);
        self.fields.iter().find(|(name, _, value)| name == key && !value.is_null()).map(|(_, _, value)| value)
    }

    pub(super) fn missing(&self, key: &str, report: &mut Report) {
        report.add(rules::MISSING_FIELD, self.node.place, "", format!("the field {key:?} must be there"));
    }

    pub(super) fn required(&mut self, key: &'static str, report: &mut Report) -> Option<&'a Node> {
        let value = self.get(key);
        if value.is_none() {
            self.missing(key, report);
        }
        value
    }

    /// Reads a field by a reader of its value.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        report: &mut Report,
        read: impl FnOnce(&Node, &mut Report) -> Option<T>,
    ) -> Option<T> {
        let node = self.get(key)?;
        report.key(key, |report| read(node, report))
    }

    pub(super) fn text(&mut self, key: &'static str, report: &mut Report) -> Option<String> {
        self.read(key, report, text)
    }

    /// `metadata.name`, which must be a DNS label.
    pub(super) fn object_name(&mut self, report: &mut Report) -> Option<String> {
        if self.get("metadata").is_none() {
            self.missing("metadata", report);
            return None;
        }
        self.name(true, report)
    }

    /// `metadata.name`, where the object needs none.
    pub(super) fn optional_name(&mut self, report: &mut Report) -> Option<String> {
        self.name(false, report)
    }

    fn name(&mut self, must: bool, report: &mut Report) -> Option<String> {
        self.read("metadata", report, |node, report| {
            let mut metadata = Cursor::open(node, report)?;
            let name = metadata.read("name", report, dns_label);
            if must && !metadata.has("name") {
                metadata.missing("name", report);
            }
            metadata.close(report);
            name
        })
    }

    /// Reports every field that nobody asked for.
    pub(super) fn close(self, report: &mut Report) {
        for (name, place, _) in self.fields {
            if self.asked.iter().any(|asked| asked == name) {
                continue;
            }
            let mut below = Pointer::root();
            below.push_key(name);
            let known = nearest(name, &self.asked);
            let fault = report.add(rules::UNKNOWN_FIELD, *place, below.as_str(), format!("unknown field {name:?}"));
            fault.hint = Some(match known {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known here: {}", self.asked.join(", ")),
            });
        }
    }
}

/// Reads text. What looks like a number, a boolean or a null must be quoted, as the API server would demand.
pub(super) fn text(node: &Node, report: &mut Report) -> Option<String> {
    match &node.data {
        Data::Scalar { text, plain } if !plain || (node.what() == "text" && !looks_numeric(text)) => Some(text.clone()),
        _ => {
            report.mismatch(node, "text");
            None
        }
    }
}

/// Reads text that isn't empty.
pub(super) fn some_text(node: &Node, report: &mut Report) -> Option<String> {
    let found = text(node, report)?;
    if found.is_empty() {
        report.here(rules::TYPE_MISMATCH, node, "the text is empty");
        return None;
    }
    Some(found)
}

/// Reads a DNS label.
pub(super) fn dns_label(node: &Node, report: &mut Report) -> Option<String> {
    let found = text(node, report)?;
    if is_dns_label(&found) {
        return Some(found);
    }
    let text = format!("{found:?} is no name: lower-case letters, digits and -, at most 63, no - at either end");
    report.here(rules::BAD_NAME, node, text);
    None
}

pub(super) fn is_dns_label(text: &str) -> bool {
    crate::base::ids::SourceName::parse(text).is_ok()
}

/// Reads `true` or `false`.
pub(super) fn boolean(node: &Node, report: &mut Report) -> Option<bool> {
    if let Data::Scalar { text, plain: true } = &node.data {
        match text.as_str() {
            "true" | "True" | "TRUE" => return Some(true),
            "false" | "False" | "FALSE" => return Some(false),
            _ => {}
        }
    }
    report.mismatch(node, "true or false");
    None
}

/// Reads a whole number within bounds.
pub(super) fn number(node: &Node, report: &mut Report, max: u64) -> Option<u64> {
    let read = match &node.data {
        Data::Scalar { text, plain: true } if text == "0" || !text.starts_with(['0', '+']) => text.parse::<i128>().ok(),
        _ => None,
    };
    match read {
        Some(n) => match u64::try_from(n).ok().filter(|n| *n <= max) {
            Some(n) => Some(n),
            None => {
                report.here(rules::OUT_OF_RANGE, node, format!("{n} is not between 0 and {max}"));
                None
            }
        },
        None => {
            report.mismatch(node, "a whole number");
            None
        }
    }
}

/// Reads one of some words.
pub(super) fn word<T: Copy>(node: &Node, report: &mut Report, words: &[(&'static str, T)]) -> Option<T> {
    let found = text(node, report)?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == found) {
        return Some(*value);
    }
    let names: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
    let fault = report.here(rules::TYPE_MISMATCH, node, format!("{found:?} is none of: {}", names.join(", ")));
    fault.hint = nearest(&found, &names).map(|near| format!("did you mean {near}?"));
    None
}

/// Reads a list, entry by entry; entries with faults are left out.
pub(super) fn list<T>(
    node: &Node,
    report: &mut Report,
    mut read: impl FnMut(&Node, &mut Report) -> Option<T>,
) -> Option<Vec<T>> {
    let Data::List(entries) = &node.data else {
        report.mismatch(node, "a list");
        return None;
    };
    let read_entry = |(i, entry)| report.index(i, |report| read(entry, report));
    Some(entries.iter().enumerate().filter_map(read_entry).collect())
}

/// The known word that was probably meant: at most two letters away, or equal but for case.
fn nearest(text: &str, known: &[&'static str]) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let distance = |word: &&&'static str| edits(&lower, &word.to_lowercase());
    let best = known.iter().min_by_key(distance)?;
    (distance(&best) <= 2 && distance(&best) < best.len().max(2)).then_some(best)
}

fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
