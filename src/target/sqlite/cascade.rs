//! What goes along with a delete: the contents of a Namespace, the instances of a definition, and what only they own.

use std::collections::{BTreeMap, VecDeque};

use super::object::OwnerRef;
use super::view::{View, namespace};
use crate::base::map::HashSet;
use crate::base::resource::ResourceId;
use crate::schema::crd::defined_kind;
use crate::target::{Contents, Head, TargetError};

/// An object that has owners.
struct Dependent {
    head: Head,
    owners: Vec<OwnerRef>,
}

impl View {
    /// Everything that goes along with these objects, themselves left out, sorted.
    ///
    /// As a control plane's garbage collector has it, an object goes when the last of its owners is gone; an owner counts
    /// only with its UID.
    pub(super) fn cascade(&self, roots: &[Head]) -> Result<BTreeMap<ResourceId, Head>, TargetError> {
        let mut dependents = None;
        let mut gone: HashSet<String> = roots.iter().map(|head| head.uid.as_str().to_owned()).collect();
        let mut along: BTreeMap<ResourceId, Head> = BTreeMap::new();
        let mut todo: VecDeque<Head> = roots.to_vec().into();
        while let Some(head) = todo.pop_front() {
            let mut next = self.contents(&head.id)?;
            if dependents.is_none() {
                dependents = Some(self.dependents()?);
            }
            for dependent in dependents.iter().flatten() {
                let is_owner = |owner: &OwnerRef| owner.uid == head.uid.as_str();
                if dependent.owners.iter().any(is_owner) && self.is_orphan(dependent, &gone)? {
                    next.push(dependent.head.clone());
                }
            }
            for head in next {
                if gone.insert(head.uid.as_str().to_owned()) {
                    along.insert(head.id.clone(), head.clone());
                    todo.push_back(head);
                }
            }
        }
        Ok(along)
    }

    /// What a Namespace or a definition holds.
    fn contents(&self, id: &ResourceId) -> Result<Vec<Head>, TargetError> {
        if id.is_namespace() {
            return self.list_heads(&Contents::Namespace(id.name.clone()));
        }
        if !id.is_definition() {
            return Ok(Vec::new());
        }
        let Some(definition) = self.stored(id)?.and_then(|stored| stored.object()) else { return Ok(Vec::new()) };
        defined_kind(&definition).map_or(Ok(Vec::new()), |kind| self.list_heads(&Contents::Kind(kind)))
    }

    fn dependents(&self) -> Result<Vec<Dependent>, TargetError> {
        let ask =
            "SELECT grp, kind, namespace, name, owners FROM resource WHERE owners IS NOT NULL AND uid IS NOT NULL";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        let rows = statement
            .query_map((), |row| {
                let namespace: String = row.get(2)?;
                let namespace = if namespace.is_empty() { None } else { Some(namespace) };
                let id = ResourceId { group: row.get(0)?, kind: row.get(1)?, namespace, name: row.get(3)? };
                Ok((id, row.get::<_, String>(4)?))
            })
            .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
            .map_err(|e| self.name.reading(e))?;
        let ids: Vec<&ResourceId> = rows.iter().map(|(id, _)| id).collect();
        let mut heads = self.find_heads(&ids)?;
        let mut all = Vec::with_capacity(rows.len());
        for (id, owners) in &rows {
            let owners =
                serde_json::from_str(owners).map_err(|_| self.name.damaged("owner references can't be read"))?;
            if let Some(head) = heads.remove(id) {
                all.push(Dependent { head, owners });
            }
        }
        Ok(all)
    }

    /// Whether none of its owners is left. An owner is in the object's own namespace or cluster-scoped.
    fn is_orphan(&self, dependent: &Dependent, gone: &HashSet<String>) -> Result<bool, TargetError> {
        for owner in dependent.owners.iter().filter(|owner| !gone.contains(&owner.uid)) {
            let within = namespace(&dependent.head.id);
            for namespace in [Some(within), None] {
                let id = ResourceId {
                    group: owner.group.clone(),
                    kind: owner.kind.clone(),
                    namespace: namespace.filter(|n| !n.is_empty()).map(str::to_owned),
                    name: owner.name.clone(),
                };
                let found = self.find_heads(&[&id])?;
                if found.get(&id).is_some_and(|head| head.uid.as_str() == owner.uid) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
