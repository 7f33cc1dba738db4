//! The rows of one inventory, in the order of their resources and found by a hash.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::row::Row;
use crate::base::map::HashSet;
use crate::base::resource::ResourceId;

/// A row by the resource that it is of, which stands in it alone.
#[derive(Clone)]
struct ById(Arc<Row>);

impl Borrow<ResourceId> for ById {
    fn borrow(&self) -> &ResourceId {
        &self.0.id
    }
}

impl Hash for ById {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.0.id.hash(to);
    }
}

impl PartialEq for ById {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for ById {}

/// One row for every resource. A plan walks through them in order, and asks several times for each.
#[derive(Clone, Default)]
pub struct Rows {
    sorted: Vec<Arc<Row>>,
    by_id: HashSet<ById>,
}

impl Rows {
    /// The row of a resource.
    pub fn get(&self, id: &ResourceId) -> Option<&Arc<Row>> {
        self.by_id.get(id).map(|found| &found.0)
    }

    /// Whether there is a row of a resource.
    pub fn contains_key(&self, id: &ResourceId) -> bool {
        self.by_id.contains(id)
    }

    /// The resources, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &ResourceId> {
        self.sorted.iter().map(|row| &row.id)
    }

    /// The rows, in the order of their resources.
    pub fn values(&self) -> std::slice::Iter<'_, Arc<Row>> {
        self.sorted.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Puts a row in the place of the one that its resource had.
    pub fn insert(&mut self, row: Arc<Row>) {
        match self.sorted.binary_search_by(|old| old.id.cmp(&row.id)) {
            Ok(at) => self.sorted[at] = Arc::clone(&row),
            Err(at) => self.sorted.insert(at, Arc::clone(&row)),
        }
        self.by_id.replace(ById(row));
    }

    /// Takes a row out.
    pub fn remove(&mut self, id: &ResourceId) -> Option<Arc<Row>> {
        let at = self.sorted.binary_search_by(|row| row.id.cmp(id)).ok()?;
        self.by_id.remove(id);
        Some(self.sorted.remove(at))
    }
}

impl FromIterator<Arc<Row>> for Rows {
    /// Of several of one resource the last one counts.
    #[expect(clippy::mutable_key_type, reason = "a row's resource, by which it is hashed, never changes")]
    fn from_iter<I: IntoIterator<Item = Arc<Row>>>(rows: I) -> Self {
        let mut sorted: Vec<Arc<Row>> = rows.into_iter().collect();
        sorted.sort_by(|a, b| a.id.cmp(&b.id));
        sorted.dedup_by(|later, earlier| {
            let same = later.id == earlier.id;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        let by_id = sorted.iter().map(|row| ById(Arc::clone(row))).collect();
        Self { sorted, by_id }
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.sorted).finish()
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        self.sorted == other.sorted
    }
}

impl Eq for Rows {}
