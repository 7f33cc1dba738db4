//! What becomes of an object by a write: worked out on all cores, while others are being stored.

use serde_json::Value;

use super::object::{self, Stamp};
use super::store::Formed;
use super::strict;
use super::view::Stored;
use crate::base::clock::Moment;
use crate::base::ids::{Manager, ObjectUid};
use crate::base::pointer::Pointer;
use crate::base::resource::{GroupVersionKind, ResourceId};
use crate::base::sensitive;
use crate::inventory::{OWNER_ANNOTATION, Row, seen_digest};
use crate::merge;
use crate::schema::{Catalog, KindSchema};
use crate::target::paths;
use crate::target::{TargetError, Write};

/// Whose the fields are that an apply writes.
const MANAGER: &str = "holdfast";

/// What all writes of an apply share.
pub(super) struct Context<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) at: Moment,
}

/// A write, with the object that it meets and the version that it makes.
pub(super) struct Item {
    pub(super) write: Write,
    pub(super) live: Option<Stored>,
    pub(super) version: i64,
    /// The key of its resource, where it was there before and isn't now.
    pub(super) former: Option<i64>,
    /// Its inventory row, and the place of its Source in the batch.
    pub(super) row: Option<(usize, Row)>,
}

/// What is to be stored.
pub(super) struct Ready {
    pub(super) id: ResourceId,
    /// What the log calls it.
    pub(super) operation: &'static str,
    /// Key, UID and version of the object that it takes the place of.
    pub(super) before: Option<(i64, String, i64)>,
    /// The key of its resource, where it was there before and isn't now.
    pub(super) former: Option<i64>,
    /// The object; `None` if it stays as it is.
    pub(super) formed: Option<Formed>,
    /// The fields that changed, as JSON.
    pub(super) fields: Option<String>,
    /// The text of the inventory row, and the place of its Source in the batch.
    pub(super) row: Option<(usize, String)>,
}

impl Ready {
    /// UID and version of the object once it is stored.
    pub(super) fn after(&self) -> (&str, i64) {
        match (&self.formed, &self.before) {
            (Some(formed), _) => (&formed.uid, formed.version),
            (None, Some((_, uid, version))) => (uid, *version),
            (None, None) => ("", 0),
        }
    }
}

impl Context<'_> {
    /// Works out one write.
    pub(super) fn prepare(&self, item: Item) -> Result<Ready, TargetError> {
        let former = item.former;
        self.form(item).map(|ready| Ready { former, ..ready })
    }

    fn form(&self, item: Item) -> Result<Ready, TargetError> {
        let Item { write, live, version, row, .. } = item;
        let before = live.as_ref().map(|stored| (stored.key, stored.uid.clone(), stored.version));
        let old = match &live {
            None => None,
            Some(stored) => Some(stored.object().ok_or_else(|| bad(write.id(), "its stored object can't be read"))?),
        };
        match write {
            Write::Create { id, declared } => {
                let (schema, new) = self.declared(&id, declared, None)?;
                let uid = uuid::Uuid::new_v4().to_string();
                self.made(id, "created", &schema, (new, row), (&uid, version), before)
            }
            Write::Replace { id, declared, .. } => {
                let (schema, new) = self.declared(&id, declared, None)?;
                let uid = uuid::Uuid::new_v4().to_string();
                self.made(id, "replaced", &schema, (new, row), (&uid, version), before)
            }
            Write::Apply { id, declared, relieves, .. } => {
                let (Some(old), Some(before)) = (old, before) else { return Err(bad(&id, "it isn't there")) };
                let (schema, mut new) = self.declared(&id, declared, Some(&old))?;
                merge::relieve(&mut new, &relieves, &Manager::new(MANAGER)).map_err(|e| bad(&id, &e.to_string()))?;
                self.changed(id, "updated", Some(&schema), &old, (new, row), (version, before))
            }
            Write::Unmark { id, .. } => {
                let (Some(old), Some(before)) = (old, before) else { return Err(bad(&id, "it isn't there")) };
                let schema = strict::served(self.catalog, &GroupVersionKind::of(&old)).ok();
                let new = unmarked(&old);
                let manager = Manager::new(MANAGER);
                let new = merge::update(schema.as_deref(), Some(&old), &new, &manager, self.at)
                    .map_err(|e| bad(&id, &e.to_string()))?;
                self.changed(id, "released", schema.as_deref(), &old, (new, row), (version, before))
            }
            Write::Delete { warrant, .. } => Err(bad(warrant.id(), "a delete is not prepared")),
        }
    }

    /// The object that an apply of what is declared makes, judged.
    fn declared(
        &self,
        id: &ResourceId,
        mut declared: Value,
        live: Option<&Value>,
    ) -> Result<(std::sync::Arc<KindSchema>, Value), TargetError> {
        let refused = |faults| TargetError::Refused { faults };
        let schema = strict::served(self.catalog, &GroupVersionKind::of(&declared))
            .map_err(|f| refused(vec![f.id(id.clone())]))?;
        let (named, _) = strict::identify(self.catalog, &declared).map_err(refused)?;
        if named != *id {
            return Err(bad(id, &format!("what is declared for it is {named}")));
        }
        merge::normalize(&schema, &mut declared);
        let api_version = schema.gvk.api_version();
        let manager = Manager::new(MANAGER);
        let new = merge::apply(&schema, live, &declared, &manager, &api_version, self.at)
            .map_err(|e| bad(id, &e.to_string()))?;
        let faults = strict::judge(&schema, id, &new, live);
        if faults.is_empty() { Ok((schema, new)) } else { Err(refused(faults)) }
    }

    fn made(
        &self,
        id: ResourceId,
        operation: &'static str,
        schema: &KindSchema,
        (mut new, row): (Value, Option<(usize, Row)>),
        (uid, version): (&str, i64),
        before: Option<(i64, String, i64)>,
    ) -> Result<Ready, TargetError> {
        object::stamp(&mut new, &Stamp { uid, generation: 1, created: &self.at.rfc3339() });
        object::set_version(&mut new, version);
        let row = row_text(&id, row, Some(schema), &new, (uid, version))?;
        Ok(Ready {
            id,
            operation,
            before,
            former: None,
            formed: Some(Formed::new(&mut new, uid, version)),
            fields: None,
            row,
        })
    }

    fn changed(
        &self,
        id: ResourceId,
        operation: &'static str,
        schema: Option<&KindSchema>,
        old: &Value,
        (mut new, row): (Value, Option<(usize, Row)>),
        (version, before): (i64, (i64, String, i64)),
    ) -> Result<Ready, TargetError> {
        if new == *old {
            let row = row_text(&id, row, schema, old, (&before.1, before.2))?;
            return Ok(Ready { id, operation, before: Some(before), former: None, formed: None, fields: None, row });
        }
        let generation = object::generation(old, &new);
        if let Some(metadata) = object::metadata(&mut new) {
            metadata.insert("generation".into(), generation.into());
        }
        object::set_version(&mut new, version);
        // Below a sensitive place the log names nothing: keys can be telling too.
        let extra = row.as_ref().map_or(&[][..], |(_, row)| &row.sensitive);
        let cut: Vec<Pointer> = [old, &new].iter().flat_map(|object| sensitive::pointers(object, extra)).collect();
        let fields = paths::changed(old, &new, &cut);
        let fields = serde_json::to_string(&fields).map_err(|e| bad(&id, &e.to_string()))?;
        let row = row_text(&id, row, schema, &new, (&before.1, version))?;
        let formed = Formed::new(&mut new, &before.1, version);
        Ok(Ready { id, operation, before: Some(before), former: None, formed: Some(formed), fields: Some(fields), row })
    }
}

/// The inventory row, with what only the write can say.
fn row_text(
    id: &ResourceId,
    row: Option<(usize, Row)>,
    schema: Option<&KindSchema>,
    object: &Value,
    (uid, version): (&str, i64),
) -> Result<Option<(usize, String)>, TargetError> {
    let Some((source, mut row)) = row else { return Ok(None) };
    row.uid = ObjectUid::parse(uid).map_err(|e| bad(id, &e.to_string()))?;
    row.version = version.to_string();
    row.seen = seen_digest(schema, object, &row.fields, &row.sensitive);
    let text = serde_json::to_string(&row).map_err(|e| bad(id, &e.to_string()))?;
    Ok(Some((source, text)))
}

fn bad(id: &ResourceId, reason: &str) -> TargetError {
    TargetError::Precondition { id: id.clone(), reason: reason.to_owned() }
}

/// The object without its owner mark.
fn unmarked(object: &Value) -> Value {
    let mut new = object.clone();
    if let Some(metadata) = object::metadata(&mut new)
        && let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
    {
        annotations.remove(OWNER_ANNOTATION);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    new
}
