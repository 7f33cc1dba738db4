//! What the loop reports, as lines of a log.

use serde_json::{Map, Value, json};

use crate::base::clock::Moment;
use crate::base::ids::{CommitId, PlanId, SourceName};

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every tick, for those who ask.
    Debug,
    /// Something was done, or is waited for.
    Info,
    /// Something differs and is left so.
    Warn,
    /// Something was refused or failed.
    Error,
}

impl Level {
    /// The name in a line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One line. No value of an object is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub at: Moment,
    /// How much it matters.
    pub level: Level,
    /// What it is about, for machines: `applied`, `repaired`, `unchanged`, `drift`, `waiting`, `refused`, `unreachable`,
    /// `contested`, `recovered`, `noticed`, `unwatched`, `watched`, `started`, `stopped`.
    pub event: &'static str,
    /// The Source.
    pub source: Option<SourceName>,
    /// The commit.
    pub commit: Option<CommitId>,
    /// The plan.
    pub plan: Option<PlanId>,
    /// For people.
    pub message: String,
    /// More for machines.
    pub more: Map<String, Value>,
}

impl Event {
    /// A line.
    pub fn new(at: Moment, level: Level, event: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { at, level, event, source: None, commit: None, plan: None, message, more: Map::new() }
    }

    /// About a Source.
    #[must_use]
    pub fn source(mut self, name: &SourceName) -> Self {
        self.source = Some(name.clone());
        self
    }

    /// At a commit.
    #[must_use]
    pub fn commit(mut self, commit: Option<&CommitId>) -> Self {
        self.commit = commit.cloned();
        self
    }

    /// Of a plan.
    #[must_use]
    pub fn plan(mut self, plan: Option<&PlanId>) -> Self {
        self.plan = plan.cloned();
        self
    }

    /// With something more.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.more.insert(key.to_owned(), value);
        self
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let mut line = json!({
            "at": self.at.rfc3339(),
            "level": self.level.as_str(),
            "event": self.event,
            "source": self.source,
            "commit": self.commit,
            "plan": self.plan,
            "message": self.message,
        });
        if let Some(map) = line.as_object_mut() {
            map.extend(self.more.clone());
        }
        line
    }

    /// As a line for people; not escaped yet.
    pub fn to_text(&self) -> String {
        let source = self.source.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let commit = self.commit.as_ref().map(|commit| format!(" {}", commit.short())).unwrap_or_default();
        let plan = self.plan.as_ref().and_then(|plan| plan.as_str().get(..12)).map(|plan| format!(" (plan {plan})"));
        let plan = plan.unwrap_or_default();
        format!("{} {}{source}{commit}: {}{plan}", self.at, self.event, self.message)
    }
}

/// Who is told.
pub trait Report: Send + Sync {
    /// One line.
    fn event(&self, event: &Event);
}
