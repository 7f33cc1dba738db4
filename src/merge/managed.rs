//! Who holds which fields of a live object: `metadata.managedFields`.

use serde_json::{Map, Value, json};

use super::error::MergeError;
use super::fieldset::FieldSet;
use crate::base::clock::Moment;
use crate::base::ids::Manager;

/// How a manager came to hold its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// It declared them: what it no longer declares goes.
    Apply,
    /// It wrote them.
    Update,
}

impl Operation {
    /// The name in managedFields.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The fields of one manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who.
    pub manager: Manager,
    /// How.
    pub operation: Operation,
    /// The version of the kind whose field names these are.
    pub api_version: String,
    /// When it last changed; not every server says.
    pub time: Option<Moment>,
    /// The subresource it wrote through, such as `status`; empty for none.
    pub subresource: String,
    /// What it holds.
    pub fields: FieldSet,
}

/// All managers of an object's fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedFields {
    /// One entry for each manager, operation and subresource, and for updates each version too.
    pub entries: Vec<Entry>,
}

impl ManagedFields {
    /// Reads the managers of a live object; none where it names none.
    ///
    /// # Errors
    /// If they can't be read in full: half of them would read as "nobody holds the rest".
    pub fn of(object: &Value) -> Result<Self, MergeError> {
        match object.get("metadata").and_then(|metadata| metadata.get("managedFields")) {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(Value::Array(list)) => {
                let entries = list.iter().enumerate().filter_map(|(at, raw)| match raw {
                    // What is left of owners that somebody cleared.
                    Value::Object(map) if map.is_empty() => None,
                    raw => Some(read(at, raw)),
                });
                Ok(Self { entries: entries.collect::<Result<_, _>>()? })
            }
            Some(_) => Err(MergeError::NoManagedFields),
        }
    }

    /// Writes them into an object, sorted as the API server does; none at all takes the key away.
    pub fn write(&self, object: &mut Value) {
        let Value::Object(map) = object else { return };
        let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(metadata) = metadata else { return };
        if self.entries.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), self.to_value());
        }
    }

    /// The list as it stands in an object.
    pub fn to_value(&self) -> Value {
        let mut sorted: Vec<&Entry> = self.entries.iter().collect();
        let second = |entry: &Entry| entry.time.map(|time| time.as_millis().div_euclid(1000));
        sorted.sort_by(|a, b| {
            (a.operation, second(a), &a.manager, &a.api_version, &a.subresource).cmp(&(
                b.operation,
                second(b),
                &b.manager,
                &b.api_version,
                &b.subresource,
            ))
        });
        Value::Array(sorted.into_iter().map(write).collect())
    }

    /// What a manager last declared by an apply of the whole object.
    pub fn applied_by(&self, manager: &Manager) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is_apply_of(manager))
    }

    /// Everybody who holds at least one of these fields.
    pub fn holders<'a>(&'a self, fields: &'a FieldSet) -> impl Iterator<Item = &'a Manager> {
        self.entries.iter().filter(|e| !e.fields.intersection(fields).is_empty()).map(|e| &e.manager)
    }
}

impl Entry {
    /// Whether it is a manager's apply of the whole object.
    pub fn is_apply_of(&self, manager: &Manager) -> bool {
        self.operation == Operation::Apply && self.subresource.is_empty() && self.manager == *manager
    }

    /// Whether it stands for the same writer as another: such there is but one of among the owners of an object.
    pub fn is_of_the_same(&self, other: &Entry) -> bool {
        let key = |e: &Self| (e.manager.clone(), e.operation, e.api_version.clone(), e.subresource.clone());
        key(self) == key(other)
    }

    /// Whether one of these managers wrote it, not through a subresource.
    pub fn is_held_by(&self, managers: &[Manager]) -> bool {
        self.subresource.is_empty() && managers.contains(&self.manager)
    }
}

/// Ends the hold of these managers, by whatever operation, on what `ours` declares by its apply; so that what it no longer
/// declares goes. What they hold beside that, and what they wrote through subresources, stays theirs: had it no holder at
/// all, it would go with the last declared field around it.
///
/// # Errors
/// If the object's field owners can't be read.
pub fn relieve(object: &mut Value, of: &[Manager], ours: &Manager) -> Result<(), MergeError> {
    if of.is_empty() {
        return Ok(());
    }
    let mut managers = ManagedFields::of(object)?;
    let Some(declared) = managers.applied_by(ours).map(|entry| entry.fields.clone()) else { return Ok(()) };
    for entry in managers.entries.iter_mut().filter(|entry| entry.is_held_by(of)) {
        entry.fields = entry.fields.without_declared(&declared);
    }
    managers.entries.retain(|entry| !entry.fields.is_empty());
    managers.write(object);
    Ok(())
}

fn read(at: usize, raw: &Value) -> Result<Entry, MergeError> {
    let Value::Object(map) = raw else {
        return Err(MergeError::entry(at, "it is no map"));
    };
    let text = |key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(MergeError::entry(at, &format!("`{key}` is no text"))),
    };
    let operation = match text("operation")? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(MergeError::entry(at, "its operation is neither Apply nor Update")),
    };
    if !matches!(text("fieldsType")?, "" | "FieldsV1") {
        return Err(MergeError::entry(at, "its fieldsType is not FieldsV1"));
    }
    let time = match text("time")? {
        "" => None,
        time => match Moment::parse(time) {
            None => return Err(MergeError::entry(at, "its time is no RFC 3339")),
            time => time,
        },
    };
    let fields = match map.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::default(),
        Some(fields) => FieldSet::from_fields_v1(fields).map_err(|bad| MergeError::fields(at, bad))?,
    };
    Ok(Entry {
        manager: Manager::new(text("manager")?),
        operation,
        api_version: text("apiVersion")?.to_owned(),
        time,
        subresource: text("subresource")?.to_owned(),
        fields,
    })
}

fn write(entry: &Entry) -> Value {
    let mut raw = json!({
        "manager": entry.manager.as_str(),
        "operation": entry.operation.as_str(),
        "apiVersion": entry.api_version,
        "fieldsType": "FieldsV1",
    });
    // The macro would copy them.
    raw["fieldsV1"] = entry.fields.to_fields_v1();
    if let Some(time) = entry.time {
        raw["time"] = time.rfc3339().into();
    }
    if !entry.subresource.is_empty() {
        raw["subresource"] = entry.subresource.as_str().into();
    }
    raw
}
