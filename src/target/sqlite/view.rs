//! What a connection's open transaction sees.

use std::sync::Arc;

use rayon::prelude::*;
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, params};
use serde_json::Value;

use super::failure::Name;
use super::object;
use super::remembered::Remembered;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{GroupKind, ResourceId};
use crate::schema::Catalog;
use crate::schema::crd::Crd;
use crate::target::{Contents, Head, Live, TargetError};

/// The kind of definitions.
const CRD: (&str, &str) = ("apiextensions.k8s.io", "CustomResourceDefinition");

/// A connection with an open transaction: everything that is asked of it is of one moment.
pub(super) struct View {
    pub(super) conn: Connection,
    pub(super) name: Name,
    pub(super) remembered: Option<Arc<Remembered>>,
}

/// What identities are read from, in this order.
const HEAD: &str = "r.grp, r.kind, r.namespace, r.name, r.uid, r.version, r.mark, r.owners";

/// Which resources have an object.
const PRESENT: &str = "r.uid IS NOT NULL";

/// An object as it is stored.
pub(super) struct Stored {
    pub(super) key: i64,
    pub(super) uid: String,
    pub(super) version: i64,
    pub(super) body: String,
}

impl Stored {
    /// The object; `None` if the body can't be read.
    pub(super) fn object(&self) -> Option<Value> {
        parse(&self.body, self.version)
    }
}

fn parse(body: &str, version: i64) -> Option<Value> {
    let mut object: Value = crate::base::json::read(body.as_bytes()).ok()?;
    object::set_version(&mut object, version);
    object.is_object().then_some(object)
}

fn resource(row: &SqlRow<'_>) -> rusqlite::Result<ResourceId> {
    let namespace: String = row.get(2)?;
    Ok(ResourceId {
        group: row.get(0)?,
        kind: row.get(1)?,
        namespace: if namespace.is_empty() { None } else { Some(namespace) },
        name: row.get(3)?,
    })
}

/// A resource's namespace as its column has it.
pub(super) fn namespace(id: &ResourceId) -> &str {
    id.namespace.as_deref().unwrap_or_default()
}

impl View {
    fn head(&self, row: &SqlRow<'_>) -> Result<Head, TargetError> {
        let read = || -> rusqlite::Result<Option<Head>> {
            let uid = row.get_ref(4)?.as_str()?;
            let mark = row.get_ref(6)?.as_str_or_null()?;
            let owners = row.get_ref(7)?.as_str_or_null()?;
            Ok(object::head(resource(row)?, uid, row.get(5)?, mark, owners))
        };
        read().map_err(|e| self.name.reading(e))?.ok_or_else(|| self.name.damaged("an identity can't be read"))
    }

    /// Hands over every row of those resources that `which` takes, read by a query that selects [`HEAD`] first. Many are found by reading the
    /// whole table, few one by one.
    fn each(
        &self,
        (columns, from, which): (&str, &str, &str),
        ids: &[&ResourceId],
        mut take: impl FnMut(&SqlRow<'_>) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let sql = |e| self.name.reading(e);
        let ask = format!("SELECT {columns} FROM {from} WHERE {which}");
        if i64::try_from(ids.len()).unwrap_or(i64::MAX).saturating_mul(4) >= self.bound()? {
            let asked: HashSet<[&str; 4]> =
                ids.iter().map(|id| [&id.kind, namespace(id), &id.name, &id.group]).collect();
            let mut statement = self.conn.prepare_cached(&ask).map_err(sql)?;
            let mut rows = statement.query(()).map_err(sql)?;
            while let Some(row) = rows.next().map_err(sql)? {
                let text =
                    |at: usize| row.get_ref(at).and_then(|value| value.as_str().map_err(Into::into)).map_err(sql);
                if asked.contains(&[text(1)?, text(2)?, text(3)?, text(0)?]) {
                    take(row)?;
                }
            }
            return Ok(());
        }
        let ask = format!("{ask} AND r.grp = ?1 AND r.kind = ?2 AND r.namespace = ?3 AND r.name = ?4");
        let mut statement = self.conn.prepare_cached(&ask).map_err(sql)?;
        for id in ids {
            let mut rows = statement.query(params![id.group, id.kind, namespace(id), id.name]).map_err(sql)?;
            if let Some(row) = rows.next().map_err(sql)? {
                take(row)?;
            }
        }
        Ok(())
    }

    /// The greatest key of any resource: an upper bound of their number.
    fn bound(&self) -> Result<i64, TargetError> {
        let ask = "SELECT coalesce(max(key), 0) FROM resource";
        self.conn.query_row(ask, (), |row| row.get(0)).map_err(|e| self.name.reading(e))
    }

    /// The identities of those that exist.
    pub(super) fn find_heads(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Head>, TargetError> {
        let mut found = HashMap::with_capacity_and_hasher(ids.len(), Default::default());
        self.each((HEAD, "resource r", PRESENT), ids, |row| {
            let head = self.head(row)?;
            found.insert(head.id.clone(), head);
            Ok(())
        })?;
        Ok(found)
    }

    /// The keys of those that were there once and aren't now.
    pub(super) fn former(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, i64>, TargetError> {
        let mut found = HashMap::default();
        let columns = "r.grp, r.kind, r.namespace, r.name, r.key";
        self.each((columns, "resource r", "r.uid IS NULL"), ids, |row| {
            let read = || -> rusqlite::Result<(ResourceId, i64)> { Ok((resource(row)?, row.get(4)?)) };
            let (id, key) = read().map_err(|e| self.name.reading(e))?;
            found.insert(id, key);
            Ok(())
        })?;
        Ok(found)
    }

    /// An object as it is stored.
    pub(super) fn stored(&self, id: &ResourceId) -> Result<Option<Stored>, TargetError> {
        let ask = "SELECT r.key, r.uid, r.version, b.body FROM resource r JOIN body b USING (key)
             WHERE grp = ?1 AND kind = ?2 AND namespace = ?3 AND name = ?4 AND uid IS NOT NULL";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        statement
            .query_row(params![id.group, id.kind, namespace(id), id.name], |row| {
                Ok(Stored { key: row.get(0)?, uid: row.get(1)?, version: row.get(2)?, body: row.get(3)? })
            })
            .optional()
            .map_err(|e| self.name.reading(e))
    }

    /// Those that exist, whole. Bodies are parsed on all cores.
    pub(super) fn find_objects(&self, ids: &[&ResourceId]) -> Result<HashMap<ResourceId, Live>, TargetError> {
        let mut found: Vec<(Head, i64, String)> = Vec::with_capacity(ids.len());
        let columns = format!("{HEAD}, b.body");
        self.each((&columns, "resource r LEFT JOIN body b USING (key)", PRESENT), ids, |row| {
            let sql = |e| self.name.reading(e);
            found.push((self.head(row)?, row.get(5).map_err(sql)?, row.get(8).map_err(sql)?));
            Ok(())
        })?;
        let name = &self.name;
        found
            .into_par_iter()
            .map(|(head, version, body)| match parse(&body, version) {
                Some(object) => Ok((head.id.clone(), Live { head, object })),
                None => Err(damaged(name, &head.id)),
            })
            .collect()
    }

    /// The identities of a namespace or of a kind, sorted.
    pub(super) fn list_heads(&self, contents: &Contents) -> Result<Vec<Head>, TargetError> {
        let sql = |e| self.name.reading(e);
        let by_kind = format!("SELECT {HEAD} FROM resource r WHERE grp = ?1 AND kind = ?2 AND uid IS NOT NULL");
        let by_namespace = format!("SELECT {HEAD} FROM resource r WHERE namespace = ?1 AND uid IS NOT NULL");
        let within = format!("{by_kind} AND namespace = ?3");
        let (ask, arguments): (&str, Vec<&str>) = match contents {
            Contents::Kind(GroupKind { group, kind }) => (&by_kind, vec![group, kind]),
            Contents::KindIn(GroupKind { group, kind }, namespace) => (&within, vec![group, kind, namespace]),
            Contents::Namespace(namespace) => (&by_namespace, vec![namespace]),
        };
        let mut statement = self.conn.prepare_cached(ask).map_err(sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(arguments)).map_err(sql)?;
        let mut heads = Vec::new();
        while let Some(row) = rows.next().map_err(sql)? {
            heads.push(self.head(row)?);
        }
        heads.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(heads)
    }

    /// Which of the objects are the target's own.
    pub(super) fn system(&self) -> Result<HashSet<ResourceId>, TargetError> {
        let ask = "SELECT grp, kind, namespace, name FROM resource WHERE system = 1 AND uid IS NOT NULL";
        let mut statement = self.conn.prepare_cached(ask).map_err(|e| self.name.reading(e))?;
        let rows = statement.query_map((), resource).map_err(|e| self.name.reading(e))?;
        rows.collect::<Result<_, _>>().map_err(|e| self.name.reading(e))
    }

    /// The identities of all objects, sorted.
    pub(super) fn all_heads(&self) -> Result<Vec<Head>, TargetError> {
        let sql = |e| self.name.reading(e);
        let ask = format!("SELECT {HEAD} FROM resource r WHERE uid IS NOT NULL");
        let mut statement = self.conn.prepare_cached(&ask).map_err(sql)?;
        let mut rows = statement.query(()).map_err(sql)?;
        let mut heads = Vec::new();
        while let Some(row) = rows.next().map_err(sql)? {
            heads.push(self.head(row)?);
        }
        heads.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(heads)
    }

    /// All CustomResourceDefinitions.
    pub(super) fn crds(&self) -> Result<Vec<Live>, TargetError> {
        let heads = self.list_heads(&Contents::Kind(GroupKind::new(CRD.0, CRD.1)))?;
        let ids: Vec<&ResourceId> = heads.iter().map(|head| &head.id).collect();
        let mut all: Vec<Live> = self.find_objects(&ids)?.into_values().collect();
        all.sort_by(|a, b| a.head.id.cmp(&b.head.id));
        Ok(all)
    }

    /// The kinds that this target serves.
    pub(super) fn catalog(&self) -> Result<Catalog, TargetError> {
        let mut crds = Vec::new();
        for live in self.crds()? {
            let crd = Crd::read(&live.object);
            crds.push(crd.map_err(|_| damaged(&self.name, &live.head.id))?);
        }
        Ok(Catalog::builtin().with_crds(crds))
    }
}

fn damaged(name: &Name, id: &ResourceId) -> TargetError {
    name.damaged(format!("the stored object {id} can't be read"))
}
