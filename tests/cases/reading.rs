//! How the tool's JSON is read. Everything that CLI.md leaves open about its shape stands here and nowhere else.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::ids::Id;
use crate::pointer::Reported;

fn list<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// One change of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Change<'a> {
    /// The action: `create`, `update` and so on.
    pub(crate) action: &'a str,
    /// The object.
    pub(crate) id: Id,
    /// All of it.
    pub(crate) json: &'a Value,
}

impl Change<'_> {
    /// The fields that change.
    pub(crate) fn fields(&self) -> Vec<Reported> {
        let whole_list =
            |field: &Value| ["before", "after"].iter().any(|side| field.get(side).is_some_and(Value::is_array));
        list(self.json, "fields")
            .iter()
            .map(|field| Reported { path: text(field, "path").to_owned(), list: whole_list(field) })
            .collect()
    }

    /// The rule IDs that it gives as its reason: `reason`, `reason.rule` or `rule`.
    pub(crate) fn reasons(&self) -> BTreeSet<String> {
        ["/reason", "/reason/rule", "/rule"]
            .iter()
            .filter_map(|pointer| self.json.pointer(pointer).and_then(Value::as_str))
            .map(str::to_owned)
            .collect()
    }

    /// Tells whether something would be done: `keep` and `own` leave the object as it is.
    pub(crate) fn is_pending(&self) -> bool {
        !matches!(self.action, "keep" | "own")
    }
}

/// The changes of a plan, in order.
pub(crate) fn changes(plan: &Value) -> Result<Vec<Change<'_>>, String> {
    let changes = plan.get("changes").and_then(Value::as_array).ok_or("the plan has no changes[]")?;
    changes
        .iter()
        .map(|json| {
            let id = json.get("id").and_then(Id::from_json).ok_or_else(|| format!("a change without an id: {json}"))?;
            Ok(Change { action: text(json, "action"), id, json })
        })
        .collect()
}

/// The IDs of the objects that a plan lists as unchanged; `None` if it lists none at all.
pub(crate) fn unchanged(plan: &Value) -> Option<BTreeSet<Id>> {
    let entries = plan.get("unchanged")?.as_array()?;
    Some(entries.iter().filter_map(|entry| Id::from_json(entry.get("id").unwrap_or(entry))).collect())
}

/// How many objects a plan calls unchanged.
pub(crate) fn unchanged_count(plan: &Value) -> Option<u64> {
    let summary = plan.pointer("/summary/unchanged").and_then(Value::as_u64);
    summary.or_else(|| u64::try_from(plan.get("unchanged")?.as_array()?.len()).ok())
}

/// All warnings of a plan, its own and those of its changes. What stands in both places, word for word, is one.
pub(crate) fn warnings(plan: &Value) -> Vec<&Value> {
    let mut all: Vec<&Value> = list(plan, "warnings").iter().collect();
    for change in list(plan, "changes") {
        for warning in list(change, "warnings") {
            if !list(plan, "warnings").contains(warning) {
                all.push(warning);
            }
        }
    }
    all
}

/// The refusals of a refused command.
pub(crate) fn refusals(document: &Value) -> &[Value] {
    list(document, "refusals")
}

/// The rule of a refusal.
pub(crate) fn rule(refusal: &Value) -> &str {
    text(refusal, "rule")
}

/// A number of a receipt, by its key; what was not done at all may be left out of a refusal.
pub(crate) fn count(receipt: &Value, key: &str) -> Option<u64> {
    receipt.get(key).and_then(Value::as_u64)
}

/// What a receipt calls its result.
pub(crate) fn result(receipt: &Value) -> &str {
    text(receipt, "result")
}

/// The deletes that wait, with their rules, by the receipt.
pub(crate) fn pending(receipt: &Value) -> Vec<(Option<Id>, String)> {
    let entries = list(receipt, "pending");
    entries.iter().map(|entry| (entry.get("id").and_then(Id::from_json), rule(entry).to_owned())).collect()
}

/// What could not be put back, by the receipt.
pub(crate) fn left_over(receipt: &Value) -> BTreeSet<Option<Id>> {
    list(receipt, "leftOver").iter().map(|entry| Id::from_json(entry.get("id").unwrap_or(entry))).collect()
}

/// The commit applied of a Source, by `status` (`appliedCommit`) or `source list` (`commit`).
pub(crate) fn applied_commit(document: &Value, source: &str) -> Option<String> {
    let entry = list(document, "sources").iter().find(|entry| text(entry, "name") == source)?;
    ["appliedCommit", "commit"].iter().map(|key| text(entry, key)).find(|id| !id.is_empty()).map(str::to_owned)
}

/// The drifted objects of a Source with their fields.
pub(crate) fn drifted(document: &Value, source: &str) -> Result<Vec<(Id, Vec<Reported>)>, String> {
    let entry = list(document, "sources").iter().find(|entry| text(entry, "name") == source);
    let entry = entry.ok_or_else(|| format!("drift does not name source {source}"))?;
    let drifted = entry.get("drifted").and_then(Value::as_array).ok_or("the source has no drifted[]")?;
    drifted
        .iter()
        .map(|object| {
            let id = object.get("id").and_then(Id::from_json).ok_or_else(|| format!("no id: {object}"))?;
            let change = Change { action: "", id: id.clone(), json: object };
            Ok((id, change.fields()))
        })
        .collect()
}

/// The IDs of the entries of a history.
pub(crate) fn history_ids(document: &Value) -> Vec<String> {
    let lists = document.as_object().into_iter().flat_map(|map| map.values()).filter_map(Value::as_array).flatten();
    lists.filter_map(|entry| entry.get("id").and_then(Value::as_str)).map(str::to_owned).collect()
}

/// The items of a List.
pub(crate) fn items(document: &Value) -> Result<&[Value], String> {
    document.get("items").and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| "no items[]".to_owned())
}
