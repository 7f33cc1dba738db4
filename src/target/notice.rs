//! What an apply or the loop tells at the objects that it is about, for people who watch a target with its own tools.

use crate::base::ids::{CommitId, ObjectUid, PlanId, SourceName};
use crate::base::resource::ResourceId;
use crate::source::spec::ServiceAccount;

/// One thing to tell. No value of an object is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The Source whose affair it is.
    pub source: SourceName,
    /// The object that it is about; `None` is the Source as a whole.
    pub about: Option<About>,
    /// Whether something is wrong.
    pub warning: bool,
    /// Why, in one word for machines.
    pub reason: &'static str,
    /// What was done: `Apply`, `Admit` or `Observe`.
    pub action: &'static str,
    /// One sentence; outside text may stand in it.
    pub text: String,
    /// The commit.
    pub commit: Option<String>,
    /// The plan.
    pub plan: Option<PlanId>,
}

/// An object of a Source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The resource.
    pub id: ResourceId,
    /// Its UID, as far as it is known.
    pub uid: Option<ObjectUid>,
    /// As which account of the target it is written; `None` is our own.
    pub account: Option<ServiceAccount>,
}

impl Notice {
    /// Something that is as it should be, about a Source.
    pub fn new(source: &SourceName, reason: &'static str, action: &'static str, text: impl Into<String>) -> Self {
        let (source, text) = (source.clone(), text.into());
        Self { source, about: None, warning: false, reason, action, text, commit: None, plan: None }
    }

    /// Something that is wrong.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { warning: true, ..self }
    }

    /// About an object.
    #[must_use]
    pub fn about(self, about: About) -> Self {
        Self { about: Some(about), ..self }
    }

    /// At a commit, of a plan.
    #[must_use]
    pub fn at(self, commit: Option<&CommitId>, plan: Option<&PlanId>) -> Self {
        Self { commit: commit.map(ToString::to_string), plan: plan.cloned(), ..self }
    }
}
