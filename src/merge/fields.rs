//! The fields that an object declares, worked out when they are first asked for.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::fieldset::FieldSet;
use crate::schema::KindSchema;

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
        FieldSet::deserialize(from).map(Self::from)
    }
}
