//! The receipt: what an apply did.

use std::time::Duration;

use serde_json::{Value, json};

use crate::base::clock::Moment;
use crate::base::ids::{ApplyId, PlanId};
use crate::plan::document::{Action, PlanDocument, Purpose};

/// The version of the receipt's format.
pub const RECEIPT_VERSION: u32 = 1;

/// What an apply did, as it is stored in the operation log and printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    pub(crate) json: Value,
    pub(crate) held: Duration,
}

impl Receipt {
    /// The receipt as JSON.
    pub fn as_json(&self) -> &Value {
        &self.json
    }

    /// How long the target's write lock was held.
    pub fn held(&self) -> Duration {
        self.held
    }
}

/// In the past tense: it has happened.
fn done(action: Action) -> &'static str {
    match action {
        Action::Create => "created",
        Action::Update => "updated",
        Action::Own => "owned",
        Action::Replace => "replaced",
        Action::Delete => "deleted",
        Action::Adopt => "adopted",
        Action::Transfer => "transferred",
        Action::Release => "released",
        Action::Keep => "kept",
    }
}

/// Writes the receipt of a plan that is about to be applied whole.
pub(crate) fn receipt(
    plan: &PlanDocument,
    reviewed: &PlanId,
    apply: &ApplyId,
    actor: &str,
    at: Moment,
    unmerged: bool,
    reason: Option<&str>,
) -> Value {
    let s = &plan.summary;
    let changes: Vec<Value> = plan
        .changes
        .iter()
        .map(|c| {
            let mut entry = json!({ "result": done(c.action), "id": c.id, "source": c.source });
            if let (Some(map), Some(from)) = (entry.as_object_mut(), &c.from) {
                map.insert("from".to_owned(), json!(from));
            }
            if let (Some(map), Some(reason)) = (entry.as_object_mut(), &c.reason) {
                map.insert("reason".to_owned(), json!(reason));
            }
            if let (Some(map), false) = (entry.as_object_mut(), c.holds.is_empty()) {
                map.insert("holds".to_owned(), json!(c.holds));
            }
            entry
        })
        .collect();
    let sources: Vec<Value> = plan
        .sources
        .iter()
        .map(|s| {
            let mut entry = json!({ "name": s.name, "id": s.id, "commit": s.commit, "before": s.applied });
            if let (Some(map), false) = (entry.as_object_mut(), s.purpose.is_apply()) {
                map.insert("purpose".to_owned(), json!(s.purpose));
            }
            entry
        })
        .collect();
    // A rebuild writes rows and no object.
    let rebuilt = plan.sources.iter().any(|s| s.purpose == Purpose::Rebuild);
    let writes = if rebuilt { 0 } else { s.create + s.update + s.own + s.replace + s.adopt + s.transfer };
    let mut receipt = json!({
        "formatVersion": RECEIPT_VERSION,
        "result": "applied",
        "applyId": apply,
        "planId": reviewed,
        "contentId": plan.content_id,
        "actor": actor,
        "at": at.rfc3339(),
        "target": plan.target,
        "sources": sources,
        "writes": writes,
        "deletes": s.delete,
        "summary": s,
        "allowances": plan.allowances,
        "waivers": plan.waivers,
    });
    if let Some(map) = receipt.as_object_mut() {
        // The macro would copy them.
        map.insert("changes".to_owned(), Value::Array(changes));
        if unmerged {
            map.insert("unmerged".to_owned(), json!(true));
        }
        if let Some(reason) = reason {
            map.insert("reason".to_owned(), json!(reason));
        }
    }
    receipt
}
