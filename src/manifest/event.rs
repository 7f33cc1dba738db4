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

/// The text can't be read on from here.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) at: usize,
    pub(super) text: &'static str,
}

/// What takes the events. It is called, and not handed values: moving those costs more than what is done with them.
pub(super) trait Sink {
    /// The reason to read no further.
    type Stop;

    /// A document begins.
    fn document(&mut self, at: usize);
    /// A scalar.
    fn scalar(
        &mut self,
        text: String,
        style: Style,
        tag: Option<String>,
        anchor: Option<String>,
        at: usize,
    ) -> Result<(), Self::Stop>;
    /// A mapping begins.
    fn map(&mut self, anchor: Option<String>, at: usize) -> Result<(), Self::Stop>;
    /// A list begins.
    fn list(&mut self, anchor: Option<String>, at: usize) -> Result<(), Self::Stop>;
    /// The innermost mapping or list ends.
    fn close(&mut self) -> Result<(), Self::Stop>;
    /// The scalar, alias or closed collection that was told last ends before this byte; of a collection in block style it is
    /// not known.
    fn ended(&mut self, _at: usize) {}
    /// An alias.
    fn alias(&mut self, name: String, at: usize) -> Result<(), Self::Stop>;
    /// The text can't be read on.
    fn broken(&mut self, broken: Broken) -> Self::Stop;
}

/// How far one step led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    More,
    DocumentEnd,
    End,
}

/// The events of one piece of text.
pub(super) enum Events<'t> {
    Yaml(YamlEvents<'t>),
    Json(JsonEvents<'t>),
}

impl Events<'_> {
    /// Gives events to a sink up to the end of a document or of the text.
    ///
    /// The YAML parser panics on a few malformed texts (a tag right before a comma); to the sink that is a text that
    /// can't be read on.
    pub(super) fn document<S: Sink>(&mut self, sink: &mut S) -> Result<Step, S::Stop> {
        let read = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let step = match self {
                    Self::Yaml(events) => events.step(sink)?,
                    Self::Json(events) => events.step(sink)?,
                };
                if step != Step::More {
                    return Ok(step);
                }
            }
        }));
        read.unwrap_or_else(|_| {
            let broken = match self {
                Self::Yaml(events) => events.lost(),
                Self::Json(events) => events.lost(),
            };
            Err(sink.broken(broken))
        })
    }
}
