//! The fields that an object declares, worked out when they are first asked for.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fieldset::FieldSet;
use crate::base::json;
use crate::base::map::HashMap;
use crate::schema::KindSchema;

/// Sets that each thread has at hand while it reads many.
const MOST_KNOWN: usize = 1024;
/// The longest text of a set that is kept for that, in bytes.
const LONGEST_KNOWN: usize = 16 << 10;

thread_local! {
    /// Objects of one shape declare the same fields: of thousands of rows only some differ in them. The same text is the same
    /// set, so nothing here can be out of date.
    static KNOWN: RefCell<HashMap<Box<str>, DeclaredFields>> = RefCell::default();
}

/// The fields that an object declares. A plan that only makes objects never asks for them, an apply asks on all cores.
#[derive(Clone)]
pub struct DeclaredFields(Arc<Lazy>);

struct Lazy {
    set: OnceLock<FieldSet>,
    of: Option<(Arc<KindSchema>, Arc<Value>)>,
}

impl DeclaredFields {
    /// Those of an object, by its schema.
    pub fn of(schema: Arc<KindSchema>, object: Arc<Value>) -> Self {
        Self(Arc::new(Lazy { set: OnceLock::new(), of: Some((schema, object)) }))
    }
}

impl From<FieldSet> for DeclaredFields {
    fn from(set: FieldSet) -> Self {
        Self(Arc::new(Lazy { set: OnceLock::from(set), of: None }))
    }
}

impl Deref for DeclaredFields {
    type Target = FieldSet;

    fn deref(&self) -> &FieldSet {
        self.0.set.get_or_init(|| match &self.0.of {
            Some((schema, object)) => FieldSet::of_object(schema.root(), object),
            None => FieldSet::new(),
        })
    }
}

impl fmt::Debug for DeclaredFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for DeclaredFields {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl Eq for DeclaredFields {}

impl Serialize for DeclaredFields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(to)
    }
}

impl<'de> Deserialize<'de> for DeclaredFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <Box<RawValue>>::deserialize(from)?;
        let text: Box<str> = text.into();
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&text).cloned()) {
            return Ok(known);
        }
        let set: FieldSet = json::read(text.as_bytes()).map_err(D::Error::custom)?;
        let fields = Self::from(set);
        if text.len() <= LONGEST_KNOWN {
            KNOWN.with_borrow_mut(|known| {
                if known.len() >= MOST_KNOWN {
                    known.clear();
                }
                known.insert(text, fields.clone());
            });
        }
        Ok(fields)
    }
}
