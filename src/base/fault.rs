//! Faults and warnings: what is wrong, where, and what to do. Every stage adds to the one report.

use std::fmt;

use super::ids::SourceName;
use super::path::RepoPath;
use super::pointer::Pointer;
use super::resource::ResourceId;

/// Names a rule; `holdfast explain RULE` describes each.
///
/// The constants stand beside the code that judges; the catalogue in `admission` lists them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(&'static str);

impl RuleId {
    /// Names a rule.
    pub const fn new(id: &'static str) -> Self {
        Self(id)
    }

    /// The name as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What a refusal waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Class {
    /// A change of the commit, of the rules or of the target's objects.
    #[default]
    Commit,
    /// The target: a time-out, a quota, a webhook. Worth another try.
    Target,
}

impl Class {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Target => "target",
        }
    }
}

/// A place in a file of a commit. Lines and columns count from 1, in characters; 0 is "not known".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct At {
    /// The file, from the repository's root.
    pub file: RepoPath,
    /// The YAML document in the file, from 0.
    pub document: usize,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl At {
    /// A file as a whole.
    pub fn file(file: &RepoPath) -> Self {
        Self { file: file.clone(), document: 0, line: 0, column: 0 }
    }
}

/// One thing that is wrong, of a rule, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule that refuses.
    pub rule: RuleId,
    /// Where; `None` where no file is at fault (an empty set, a quota of the target).
    pub at: Option<At>,
    /// The field, as a key was written.
    pub path: Option<Pointer>,
    /// The resource.
    pub id: Option<ResourceId>,
    /// Other places that belong to it.
    pub also: Vec<At>,
    /// One sentence; never a sensitive value.
    pub text: String,
    /// What was probably meant, or what to do.
    pub hint: Option<String>,
    /// What it waits for.
    pub class: Class,
    /// The Source that owns what was asked for.
    pub owner: Option<SourceName>,
    /// Resources that stand in the way.
    pub holds: Vec<ResourceId>,
}

impl Fault {
    /// A fault of a rule.
    pub fn new(rule: RuleId, text: impl Into<String>) -> Self {
        Self {
            rule,
            at: None,
            path: None,
            id: None,
            also: Vec::new(),
            text: text.into(),
            hint: None,
            class: Class::Commit,
            owner: None,
            holds: Vec::new(),
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, at: At) -> Self {
        self.at = Some(at);
        self
    }

    /// Sets the field.
    #[must_use]
    pub fn path(mut self, path: Pointer) -> Self {
        self.path = Some(path);
        self
    }

    /// Sets the resource.
    #[must_use]
    pub fn id(mut self, id: ResourceId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn also(mut self, at: At) -> Self {
        self.also.push(at);
        self
    }

    /// Sets the class.
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Sets the owning Source.
    #[must_use]
    pub fn owner(mut self, owner: SourceName) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Sets the resources that stand in the way.
    #[must_use]
    pub fn holds(mut self, holds: Vec<ResourceId>) -> Self {
        self.holds = holds;
        self
    }
}

/// Something that a reader should know and that refuses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The rule that warns.
    pub rule: RuleId,
    /// Where.
    pub at: Option<At>,
    /// The field.
    pub path: Option<Pointer>,
    /// The resource.
    pub id: Option<ResourceId>,
    /// The text as it stands in the file, where its reading surprises.
    pub raw: Option<String>,
    /// One sentence; never a sensitive value.
    pub text: String,
}

impl Warning {
    /// A warning of a rule.
    pub fn new(rule: RuleId, text: impl Into<String>) -> Self {
        Self { rule, at: None, path: None, id: None, raw: None, text: text.into() }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, at: At) -> Self {
        self.at = Some(at);
        self
    }

    /// Sets the field.
    #[must_use]
    pub fn path(mut self, path: Pointer) -> Self {
        self.path = Some(path);
        self
    }

    /// Sets the resource.
    #[must_use]
    pub fn id(mut self, id: ResourceId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the text as written.
    #[must_use]
    pub fn raw(mut self, raw: impl Into<String>) -> Self {
        self.raw = Some(raw.into());
        self
    }
}
