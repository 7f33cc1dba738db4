//! What the loop tells at objects that drifted.

use crate::apply::tell;
use crate::base::ids::CommitId;
use crate::plan::document::{Action, PlanDocument};
use crate::source::spec::SourceSpec;
use crate::target::{About, Notice};

use super::engine::Engine;

/// So many objects are told of at a time.
const MOST: usize = 40;
/// So many fields of one.
const FIELDS: usize = 5;

impl Engine {
    /// Tells at each object that a plan back to what is applied would change that it drifted, and what becomes of it.
    pub(super) fn tell_drift(&self, spec: &SourceSpec, plan: &PlanDocument, then: &str) {
        let commit = plan.sources.iter().find(|source| source.name == spec.name).map(|source| &source.commit);
        let drifted = plan
            .changes
            .iter()
            .filter(|change| change.source == spec.name && matches!(change.action, Action::Create | Action::Update));
        let mut notices: Vec<Notice> = Vec::new();
        for change in drifted.clone().take(MOST) {
            let what = if change.action == Action::Create {
                "somebody deleted it".to_owned()
            } else {
                let paths: Vec<&str> = change.fields.iter().take(FIELDS).map(|field| field.path.as_str()).collect();
                let more = change.fields.len() - paths.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("fields differ from what is applied: {}{more}", paths.join(", "))
            };
            let about = About { id: change.id.clone(), uid: change.uid.clone(), account: spec.service_account.clone() };
            notices.push(observed(spec, format!("{what}; {then}"), commit).about(about));
        }
        if !notices.is_empty() {
            notices.push(observed(spec, format!("{} objects drifted; {then}", drifted.count()), commit));
        }
        tell(&self.context, &notices);
    }
}

fn observed(spec: &SourceSpec, text: String, commit: Option<&CommitId>) -> Notice {
    Notice::new(&spec.name, "Drifted", "Observe", text).warning().at(commit, None)
}
