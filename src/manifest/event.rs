//! The events that both readers give, YAML and JSON, and that a document is composed from.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::json::JsonEvents;
use super::yaml::YamlEvents;

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Without quotes: its text decides its type.
    Plain,
    /// In quotes or as block text.
    Text,
    /// A number of a JSON file.
    JsonNumber,
}

/// One thing that stands in the text.
#[derive(Debug)]
pub(super) enum What {
    Scalar { text: String, style: Style, tag: Option<String>, anchor: Option<String> },
    List { anchor: Option<String> },
    ListEnd,
    Map { anchor: Option<String> },
    MapEnd,
    Alias(String),
    Document,
    DocumentEnd,
    End,
}

/// One thing and the byte at which it starts.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) what: What,
    pub(super) at: usize,
}

/// The text can't be read on from here.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) at: usize,
    pub(super) text: &'static str,
}

/// The events of one piece of text.
pub(super) enum Events<'t> {
    Yaml(YamlEvents<'t>),
    Json(JsonEvents<'t>),
}

impl Events<'_> {
    /// The next event; after [`What::End`] or an error it must not be asked again.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Event, Broken> {
        match self {
            Self::Yaml(events) => events.next(),
            Self::Json(events) => events.next(),
        }
    }

    /// Runs what reads events. The YAML parser panics on a few malformed texts (a tag right before a comma); to the
    /// caller that is a text that can't be read on.
    pub(super) fn guard<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Result<T, Broken> {
        catch_unwind(AssertUnwindSafe(|| read(self))).map_err(|_| match self {
            Self::Yaml(events) => events.lost(),
            Self::Json(events) => events.lost(),
        })
    }
}
