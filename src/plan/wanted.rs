//! What becomes of a resource that a Source declares.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::change::{Change, Giver, Intent, RowChange, Unchanged};
use super::claim::{Claim, RELEASED_TO, given_away};
use super::document::{Action, ChangeEntry, Field, TakenField, UnchangedEntry};
use super::emergency;
use super::input::{Grants, Observed, SourceInput};
use super::undo;
use super::warnings::entry as warning_entry;
use crate::admission::{Checked, LEFT_ALONE, left_alone};
use crate::base::fault::{Fault, RuleId, Warning};
use crate::base::ids::{Digest, Manager, ObjectUid};
use crate::base::pointer::Pointer;
use crate::base::sensitive;
use crate::inventory::{Answer, OWNER_ANNOTATION, Permissions, Row, keepers, managers_of, seen_digest};
use crate::merge::{self, FieldSet};
use crate::target::{Head, Live};

/// An object that a controller, the control plane or an operator made for itself: never adopted.
pub(super) const CONTROLLED_OBJECT: RuleId = RuleId::new("controlled-object");
/// A manifest marked `use` whose object doesn't exist.
pub(super) const USED_OBJECT: RuleId = RuleId::new("used-object");
/// A live object whose bookkeeping can't be read, so that it can't be merged.
pub(super) const UNREADABLE_OBJECT: RuleId = RuleId::new("unreadable-object");

/// The field manager of every Source; Sources are told apart by mark and inventory.
pub const FIELD_MANAGER: &str = "holdfast";

/// What planning one resource came to.
pub(crate) enum Considered<'a> {
    Unchanged(Unchanged),
    Change(Box<Change<'a>>),
    /// It is only used, never written.
    Used,
    Fault(Fault),
}

/// What stands beside one declared resource.
pub(crate) struct Beside<'a, 'b> {
    pub(crate) inputs: &'b [SourceInput<'a>],
    pub(crate) observed: &'a Observed,
    pub(crate) grants: &'b Grants,
}

impl<'a> Beside<'a, '_> {
    /// Plans one resource that `inputs[source]` declares, with what people should know of it though it stays unchanged.
    pub(crate) fn consider(&self, source: usize, checked: &'a Checked) -> (Considered<'a>, Vec<Warning>) {
        let input = &self.inputs[source];
        let row = input.inventory.row(checked.id());
        if let Some(to) = given_away(self.inputs, self.observed, source, checked) {
            let text = format!("Source {to} has it, as holdfast.dev/release-to says: this manifest counts for nothing");
            let warning = Warning::new(RELEASED_TO, text).at(checked.at()).id(checked.id().clone());
            return (Considered::Used, vec![warning]);
        }
        let considered = match self.observed.heads.get(checked.id()) {
            None => match (row.filter(|row| ran_and_went(row, checked)), self.deleted(source, checked)) {
                (Some(row), _) => return self.finished(source, checked, row),
                (None, Some(left)) => return left,
                (None, None) => self.absent(source, checked, row),
            },
            Some(_) if checked.wants().use_ => Considered::Used,
            Some(head) => match row.filter(|row| untouched(row, head, checked, input)) {
                Some(row) => {
                    let moved = self.moved_row(source, checked, row, head, &row.seen, Alone::default());
                    self.unchanged(source, checked, &row.uid, row.seen.clone(), moved)
                }
                None => match (self.claim(source, checked, head, row), self.observed.objects.get(checked.id())) {
                    (Ok(claim), Some(live)) => return self.compare(source, checked, live, row, claim),
                    (Ok(_), None) => Considered::Fault(self.fault(
                        checked,
                        UNREADABLE_OBJECT,
                        "the live object was not read, so it can't be compared",
                    )),
                    (Err(fault), _) => Considered::Fault(*fault),
                },
            },
        };
        (considered, Vec::new())
    }

    pub(super) fn fault(&self, checked: &Checked, rule: RuleId, text: impl Into<String>) -> Fault {
        Fault::new(rule, text).at(checked.at()).id(checked.id().clone())
    }

    fn unmerged(&self, checked: &Checked, error: &merge::MergeError) -> Fault {
        self.fault(checked, UNREADABLE_OBJECT, format!("the live object can't be merged: {error}"))
    }

    fn absent(&self, source: usize, checked: &'a Checked, row: Option<&Row>) -> Considered<'a> {
        if checked.wants().use_ {
            let planned = self.inputs.iter().any(|other| other.set.get(checked.id()).is_some_and(|c| !c.wants().use_));
            return if planned {
                Considered::Used
            } else {
                Considered::Fault(
                    self.fault(checked, USED_OBJECT, "the manifest says holdfast.dev/use, but no such object exists")
                        .hint("make it first, or take the annotation off to have it made"),
                )
            };
        }
        let mut entry = self.entry(source, checked, Action::Create);
        entry.reason = row.map(|_| "it was deleted by somebody else since the last apply".to_owned());
        entry.fields = vec![Field { path: Pointer::root(), before: None, after: Some(shown(checked)) }];
        entry.sensitive = checked.has_sensitive();
        entry.undo = undo::of_create(checked);
        Considered::Change(Box::new(Change {
            entry,
            source,
            from: None,
            intent: Intent::Create { declared: checked.shared() },
            row: RowChange::Upsert(Box::new(self.row(source, checked, row, Alone::default()))),
            checked: Some(checked),
            live: None,
            after: None,
        }))
    }

    /// A Job that ran: its TTL removed it, and it is not run again.
    fn finished(&self, source: usize, checked: &Checked, row: &Row) -> (Considered<'a>, Vec<Warning>) {
        let id = checked.id();
        let text =
            format!("{id} ran, and its ttlSecondsAfterFinished removed it: it is not run again unless it is changed");
        let warning = Warning::new(LEFT_ALONE, text).at(checked.at()).id(id.clone());
        (self.unchanged(source, checked, &row.uid, row.seen.clone(), None), vec![warning])
    }

    /// An object that was deleted while the Source was paused: it stays so.
    fn deleted(&self, source: usize, checked: &Checked) -> Option<(Considered<'a>, Vec<Warning>)> {
        let written = self.inputs[source].emergencies.get(checked.id())?.deleted.as_ref()?;
        let row = self.inputs[source].inventory.row(checked.id()).filter(|_| !checked.wants().use_)?;
        let unchanged = self.unchanged(source, checked, &row.uid, row.seen.clone(), None);
        Some((unchanged, vec![emergency::deleted(checked, written)]))
    }

    fn unchanged(
        &self,
        source: usize,
        checked: &Checked,
        uid: &ObjectUid,
        seen: Digest,
        row: Option<Box<Row>>,
    ) -> Considered<'a> {
        let entry = UnchangedEntry {
            id: checked.id().clone(),
            source: self.inputs[source].spec.name.clone(),
            uid: uid.clone(),
            seen,
            declared: checked.digest().clone(),
        };
        Considered::Unchanged(Unchanged { entry, source, row })
    }

    /// The row of an unchanged object, where its bookkeeping moves on.
    fn moved_row(
        &self,
        source: usize,
        checked: &Checked,
        row: &Row,
        head: &Head,
        seen: &Digest,
        alone: Alone,
    ) -> Option<Box<Row>> {
        let same = row.declared == *checked.digest()
            && row.line == checked.line()
            && row.wave == checked.wants().wave
            && row.permissions.prune == checked.wants().prune
            && row.permissions.release_to == checked.wants().release_to
            && row.sensitive == checked.sensitive()
            && row.api_version == checked.gvk().api_version()
            && row.file == checked.file_text()
            // One that was taken back has seen nothing yet.
            && !row.version.is_empty();
        if same {
            return None;
        }
        let next = self.row(source, checked, Some(row), alone);
        Some(Box::new(Row { version: head.version.clone(), seen: seen.clone(), ..next }))
    }

    /// Compares what is declared with what is live.
    fn compare(
        &self,
        source: usize,
        checked: &'a Checked,
        live: &'a Live,
        row: Option<&Row>,
        claim: Claim,
    ) -> (Considered<'a>, Vec<Warning>) {
        let (before, emergencies) = match claim {
            Claim::Transfer(Giver::Planned(giver)) => {
                let giver = &self.inputs[giver];
                (giver.inventory.row(checked.id()), &giver.emergencies)
            }
            Claim::Transfer(Giver::Outside(giver)) => {
                let giver = &self.observed.outside[giver];
                (giver.row(checked.id()), &giver.emergencies)
            }
            Claim::Ours => (row, &self.inputs[source].emergencies),
            Claim::Adopt(_) => (None, &self.inputs[source].emergencies),
        };
        let manager = Manager::new(FIELD_MANAGER);
        let alone = left_alone(
            checked,
            &live.object,
            &self.inputs[source].spec.ignore_drift,
            self.inputs[source].set,
            &self.observed.autoscalers,
        );
        let declared_before = before.map(|row| &*row.fields);
        let mut pointers: Vec<Pointer> = alone.iter().map(|(pointer, _)| pointer.clone()).collect();
        let marked = with_mark(checked.declared(), &live.object);
        let mut warnings: Vec<Warning> = alone.into_iter().map(|(_, warning)| warning).collect();
        let ask = merge::Ask {
            schema: checked.schema(),
            live: Some(&live.object),
            declared: &marked,
            declared_before: None,
            manager: &manager,
            left_alone: &[],
        };
        // It may have been this Source's before, and still have changes from its own pause.
        let own = self.inputs[source].emergencies.get(checked.id()).is_some_and(|e| emergency::kept(e).is_some());
        if matches!(claim, Claim::Transfer(_)) && (own || emergencies.contains_key(checked.id())) {
            return (Considered::Fault(emergency::refused(Some(checked), checked.id(), "transferred")), Vec::new());
        }
        if let Some(emergency) = emergencies.get(checked.id()) {
            let merged = |pointers: &[Pointer]| {
                let alone = Alone::of(checked, pointers);
                let counted = declared_before.map(|before| alone.leave_out(checked, before.clone()));
                let ask = merge::Ask { declared_before: counted.as_ref(), left_alone: pointers, ..ask };
                let outcome = merge::merge(&ask).map_err(|error| Box::new(self.unmerged(checked, &error)))?;
                Ok((outcome.changes, outcome.result.into_owned()))
            };
            match emergency::leave(checked, emergency, merged, (&live.object, &marked), &mut pointers) {
                Ok(more) => warnings.extend(more),
                Err(fault) => return (Considered::Fault(*fault), Vec::new()),
            }
        }
        // What is left alone is others' business: it is neither seen nor kept as ours.
        let alone_too = Alone::of(checked, &pointers);
        let counted_before = declared_before.map(|before| alone_too.leave_out(checked, before.clone()));
        let ask = merge::Ask { declared_before: counted_before.as_ref(), left_alone: &pointers, ..ask };
        let outcome = match merge::merge(&ask) {
            Ok(mut outcome) => {
                if let (Claim::Ours, Some(row)) = (&claim, same_declared(row, checked)) {
                    outcome.changes.retain(|change| !is_answer(change, &row.answers));
                    let same = is_same_declaration(row, checked, &self.inputs[source]);
                    let answered = if same { row.answers.as_slice() } else { &[] };
                    outcome.changes = unanswered(outcome.changes, checked, (&live.object, answered), &manager);
                }
                outcome
            }
            Err(error) => return (Considered::Fault(self.unmerged(checked, &error)), Vec::new()),
        };
        let fields = seen_fields(checked, declared_before, &alone_too);
        let seen = seen_digest(Some(checked.schema()), &live.object, &fields, checked.sensitive());

        let quiet = outcome.changes.is_empty()
            && outcome.taken.is_empty()
            && outcome.newly_owned.is_empty()
            && outcome.left.is_empty()
            && matches!(claim, Claim::Ours);
        if quiet {
            let moved = row.and_then(|row| self.moved_row(source, checked, row, &live.head, &seen, alone_too));
            return (self.unchanged(source, checked, &live.head.uid, seen, moved), warnings);
        }
        let action = match claim {
            Claim::Adopt(_) => Action::Adopt,
            Claim::Transfer(_) => Action::Transfer,
            Claim::Ours if !outcome.changes.is_empty() => Action::Update,
            Claim::Ours => Action::Own,
        };
        let mut entry = self.entry(source, checked, action);
        let hidden = sensitive::pointers(&live.object, checked.sensitive());
        let hidden_after = sensitive::pointers(&outcome.result, checked.sensitive());
        entry.sensitive = checked.has_sensitive();
        entry.fields = outcome
            .changes
            .iter()
            .map(|change| Field {
                path: change.path.clone(),
                before: change.before.as_ref().map(|v| Arc::new(masked(v, &change.before_path, &hidden))),
                after: change.after.as_ref().map(|v| Arc::new(masked(v, &change.path, &hidden_after))),
            })
            .collect();
        entry.taken =
            outcome.taken.iter().map(|t| TakenField { path: t.path.clone(), manager: t.manager.clone() }).collect();
        entry.left =
            outcome.left.iter().map(|t| TakenField { path: t.path.clone(), manager: t.manager.clone() }).collect();
        entry.dropped_defaults = outcome.dropped_defaults.clone();
        entry.uid = Some(live.head.uid.clone());
        entry.seen = Some(seen.clone());
        entry.undo = undo::of_update(checked, &live.object, &outcome.result);
        entry.warnings = warnings.iter().map(warning_entry).collect();
        entry.warnings.sort();
        let mut relieves = Vec::new();
        if matches!(claim, Claim::Adopt(_)) {
            let made_by = keepers(&live.object).and_then(|k| Ok((managers_of(&k, &live.object)?, k)));
            match made_by {
                Ok(made_by) => (relieves, entry.keepers) = made_by,
                Err(error) => return (Considered::Fault(self.unmerged(checked, &error)), Vec::new()),
            }
        }
        let from = if let Claim::Transfer(giver) = claim { Some(giver) } else { None };
        entry.from = match claim {
            Claim::Transfer(Giver::Planned(giver)) => Some(self.inputs[giver].spec.name.clone()),
            Claim::Transfer(Giver::Outside(giver)) => Some(self.observed.outside[giver].record.name.clone()),
            Claim::Adopt(from) => from,
            Claim::Ours => None,
        };
        let declared = Arc::new(outcome.declared.into_owned());
        let next = self.row(source, checked, row, alone_too);
        let change = Change {
            entry,
            source,
            from,
            intent: Intent::Apply {
                uid: live.head.uid.clone(),
                version: live.head.version.clone(),
                declared,
                relieves,
            },
            row: RowChange::Upsert(Box::new(next)),
            checked: Some(checked),
            live: Some(live),
            after: Some(Arc::new(outcome.result.into_owned())),
        };
        (Considered::Change(Box::new(change)), Vec::new())
    }

    fn entry(&self, source: usize, checked: &Checked, action: Action) -> ChangeEntry {
        ChangeEntry {
            file: Some(checked.file_text().into_owned()),
            line: Some(checked.line()),
            wave: checked.wants().wave,
            declared: Some(checked.digest().clone()),
            ..ChangeEntry::new(action, checked.id().clone(), self.inputs[source].spec.name.clone())
        }
    }

    /// The inventory row as it will be; the writer fills in UID, version and seen.
    pub(super) fn row(&self, source: usize, checked: &Checked, before: Option<&Row>, alone: Alone) -> Row {
        let input = &self.inputs[source];
        let same = before.filter(|row| row.declared == *checked.digest() && !checked.has_sensitive());
        Row {
            id: checked.id().clone(),
            uid: before.map_or_else(ObjectUid::unwritten, |row| row.uid.clone()),
            api_version: checked.gvk().api_version(),
            file: checked.file_text().into_owned(),
            line: checked.line(),
            wave: checked.wants().wave,
            commit: same.map_or_else(|| input.facts.commit.clone(), |row| row.commit.clone()),
            declared: checked.digest().clone(),
            version: String::new(),
            seen: checked.digest().clone(),
            left_alone: alone.counted.is_some(),
            fields: alone.counted.map_or_else(|| checked.shared_fields(), Into::into),
            sensitive: checked.sensitive().to_vec(),
            permissions: Permissions { prune: checked.wants().prune, release_to: checked.wants().release_to.clone() },
            answers: same_declared(before, checked).map(|row| row.answers.clone()).unwrap_or_default(),
        }
    }
}

/// The row, if the same was declared when it was written.
fn same_declared<'r>(row: Option<&'r Row>, checked: &Checked) -> Option<&'r Row> {
    row.filter(|row| row.declared == *checked.digest())
}

/// Whether what stands at a field is what the target made of the same declaration at the last apply.
fn is_answer(change: &merge::FieldChange, answers: &[Answer]) -> bool {
    let is = |answer: &Answer| !answer.hidden && answer.path == change.before_path && answer.value == change.before;
    answers.iter().any(is)
}

/// The changes without those at fields that we hold and that are declared as at the last apply: what stands there is what
/// the target made of it then (a default inside an atomic list, a webhook's word), for whoever writes a field takes it.
fn unanswered(
    changes: Vec<merge::FieldChange>,
    checked: &Checked,
    (live, answers): (&Value, &[Answer]),
    manager: &Manager,
) -> Vec<merge::FieldChange> {
    if changes.is_empty() {
        return changes;
    }
    let Ok(managers) = merge::ManagedFields::of(live) else { return changes };
    let held = managers.applied_by(manager).map(|entry| entry.fields.leaves().pointers(live)).unwrap_or_default();
    // Sensitive values are in no digest: whether they are declared as before is known of the same commit alone, and what the
    // target made of them then only by its place.
    let known = |path: &Pointer| answers.iter().any(|answer| answer.hidden && path.is_within(&answer.path));
    let sensitive = sensitive::pointers(checked.declared(), checked.sensitive());
    let answered = |change: &merge::FieldChange| {
        change.before.is_some()
            && held.iter().any(|held| change.before_path.is_within(held))
            && (known(&change.before_path) || !sensitive.iter().any(|at| at.overlaps(&change.path)))
    };
    changes.into_iter().filter(|change| !answered(change)).collect()
}

/// Whether nobody wrote the object since the last apply and the same is declared: then nothing needs to be read of it.
pub(crate) fn untouched(row: &Row, head: &Head, checked: &Checked, input: &SourceInput<'_>) -> bool {
    row.uid == head.uid
        && row.version == head.version
        && !row.left_alone
        && row.api_version == checked.gvk().api_version()
        && row.sensitive == checked.sensitive()
        && is_same_declaration(row, checked, input)
        && matches!(&head.mark, Ok(Some(mark)) if mark.source == input.id && mark.resource == row.id)
}

/// Whether exactly the same was declared at the last apply. Sensitive values are in no digest: those of another commit, or of
/// another place in it, have to be compared.
fn is_same_declaration(row: &Row, checked: &Checked, input: &SourceInput<'_>) -> bool {
    row.declared == *checked.digest()
        && (!checked.has_sensitive()
            || (input.record.is_some_and(|r| r.commit == input.facts.commit)
                && row.line == checked.line()
                && row.file == checked.file_text()))
}

/// What of a declared object is left alone.
#[derive(Default)]
pub(super) struct Alone {
    /// The declared fields that still count; `None` if nothing is left alone.
    counted: Option<FieldSet>,
}

impl Alone {
    fn of(checked: &Checked, pointers: &[Pointer]) -> Self {
        let counted = (!pointers.is_empty()).then(|| merge::counted(checked.schema(), checked.declared(), pointers));
        Self { counted }
    }

    /// The fields without what is left alone.
    fn leave_out(&self, checked: &Checked, fields: FieldSet) -> FieldSet {
        match &self.counted {
            None => fields,
            Some(counted) => fields.difference(&checked.fields().difference(counted)),
        }
    }
}

/// The fields that a plan looks at: declared now or before, without what is left alone.
fn seen_fields(checked: &Checked, before: Option<&FieldSet>, alone: &Alone) -> FieldSet {
    let all = before.map_or_else(|| checked.fields().clone(), |before| before.union(checked.fields()));
    alone.leave_out(checked, all)
}

/// Whether it is a Job that is gone because it ran, and that nobody changed since.
fn ran_and_went(row: &Row, checked: &Checked) -> bool {
    checked.id().is("batch", "Job")
        && row.declared == *checked.digest()
        && checked.declared().pointer("/spec/ttlSecondsAfterFinished").is_some_and(Value::is_number)
}

/// What is declared, as it may be shown: a copy only where something has to be masked.
fn shown(checked: &Checked) -> Arc<Value> {
    if checked.has_sensitive() {
        Arc::new(sensitive::mask(checked.declared(), checked.sensitive()))
    } else {
        checked.shared()
    }
}

/// A changed value with what is sensitive in it masked; `at` is its place in the object that it comes from.
pub(super) fn masked(value: &Value, at: &Pointer, hidden: &[Pointer]) -> Value {
    if hidden.iter().any(|h| at.is_within(h)) {
        return Value::String(sensitive::placeholder(value));
    }
    let below: Vec<Pointer> = hidden
        .iter()
        .filter(|h| h.is_within(at))
        .filter_map(|h| Pointer::parse(&h.as_str()[at.as_str().len()..]).ok())
        .collect();
    let mut copy = value.clone();
    sensitive::mask_at(&mut copy, &below);
    copy
}

/// Whether the body of a live resource has to be read to plan it.
pub fn needs_body(
    id: &crate::base::resource::ResourceId,
    heads: &crate::base::map::HashMap<crate::base::resource::ResourceId, Head>,
    inputs: &[SourceInput<'_>],
) -> bool {
    let Some(head) = heads.get(id) else { return false };
    let mut declared = inputs.iter().filter_map(|input| input.set.get(id).map(|checked| (input, checked))).peekable();
    if declared.peek().is_none() {
        // A removal: what is deleted is shown, and what is protected depends on its fields.
        return true;
    }
    declared.any(|(input, checked)| {
        !checked.wants().use_ && !input.inventory.row(id).is_some_and(|row| untouched(row, head, checked, input))
    })
}

/// What is declared with the live owner mark in it: the mark is ours, and no merge may take it for a field that git dropped.
fn with_mark<'v>(declared: &'v Value, live: &Value) -> Cow<'v, Value> {
    let Some(mark) = live.pointer("/metadata/annotations").and_then(|a| a.get(OWNER_ANNOTATION)) else {
        return Cow::Borrowed(declared);
    };
    let mut marked = declared.clone();
    if let Some(metadata) = marked.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(OWNER_ANNOTATION.to_owned(), mark.clone());
        }
    }
    Cow::Owned(marked)
}
