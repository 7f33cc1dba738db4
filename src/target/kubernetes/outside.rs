//! What a live object says of writes by others: its managed fields name who, what and when, as far as they may be believed.

use serde_json::Value;

use super::objects::head;
use super::request::MANAGER;
use crate::base::clock::Moment;
use crate::base::ids::Manager;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::base::sensitive;
use crate::inventory::{LogLine, MOST_FIELDS};
use crate::merge::ManagedFields;

/// The version of a write that our last apply came after.
pub(super) const BEFORE: &str = "0";

/// The writes by others of what they hold still, newest first. Who it was is a claim: a manager's name is free text.
///
/// A cluster keeps the last write of each manager alone, its time by the second, and no version of it: one that is no older
/// than our last apply bears the object's present one, an older one the least.
pub(super) fn lines(id: &ResourceId, live: &Value) -> Vec<LogLine> {
    let Ok(managers) = ManagedFields::of(live) else { return Vec::new() };
    let Some(head) = head(id.clone(), live) else { return Vec::new() };
    let ours = Manager::new(MANAGER);
    let last = managers.applied_by(&ours).and_then(|entry| entry.time);
    let cut = sensitive::pointers(live, &[]);
    let mut found = Vec::new();
    for entry in managers.entries.iter().filter(|entry| entry.manager != ours && entry.subresource != "status") {
        let Some(at) = entry.time else { continue };
        let version = if last.is_none_or(|last| at >= last) { head.version.clone() } else { BEFORE.to_owned() };
        let mut fields: Vec<Pointer> = Vec::new();
        for pointer in entry.fields.leaves().pointers(live) {
            // Below a sensitive place nothing is named: keys can be telling too.
            let parent = cut.iter().find(|cut| pointer.is_within(cut)).cloned();
            fields.push(parent.unwrap_or(pointer));
        }
        fields.dedup();
        fields.truncate(MOST_FIELDS);
        found.push(LogLine {
            entry: String::new(),
            at: Moment::from_millis(at.as_millis()),
            until: Moment::from_millis(at.as_millis() + 999),
            actor: entry.manager.as_str().to_owned(),
            claimed: true,
            applied: false,
            operation: "updated".to_owned(),
            uid: head.uid.clone(),
            version,
            fields,
        });
    }
    found.sort_by_key(|line| std::cmp::Reverse(line.at));
    found
}
