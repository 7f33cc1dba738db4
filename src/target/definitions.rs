//! The kinds that a target serves: what it publishes of itself, and its CustomResourceDefinitions.

use std::ops::Deref;

use super::port::Live;
use crate::schema::Catalog;

/// What a target serves; in itself the list of its CustomResourceDefinitions.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    catalog: Catalog,
    live: Vec<Live>,
}

impl Definitions {
    /// The definitions of a target that publishes the schemas of all other kinds itself.
    pub fn new(catalog: Catalog, live: Vec<Live>) -> Self {
        Self { catalog, live }
    }

    /// The kinds that no CustomResourceDefinition defines.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Of a target that serves the built-in kinds.
impl From<Vec<Live>> for Definitions {
    fn from(live: Vec<Live>) -> Self {
        Self { catalog: Catalog::builtin(), live }
    }
}

impl Deref for Definitions {
    type Target = [Live];

    fn deref(&self) -> &[Live] {
        &self.live
    }
}
