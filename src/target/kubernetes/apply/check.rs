//! What must hold before the first write, and the pre-images that the journal keeps.

use std::collections::BTreeSet;

use serde_json::Value;

use super::journal::{Act, Step, mark, uid, version};
use super::writer::Session;
use crate::base::ids::SourceId;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{GroupKind, ResourceId};
use crate::merge;
use crate::schema::crd::defined_kind;
use crate::target::kubernetes::objects::{self, Depth, Manner, head};
use crate::target::{Batch, Head, TargetError, Write};

/// That something isn't as it was planned.
pub(super) fn moved(id: &ResourceId, reason: impl Into<String>) -> TargetError {
    TargetError::Precondition { id: id.clone(), reason: reason.into() }
}

/// Controllers above an object that are looked at: a Pod of a Job of a CronJob has two.
const LONGEST_CHAIN: usize = 16;

impl Session<'_> {
    /// Reads everything that is to be written anew, compares it with what was planned, and makes the steps.
    pub(super) async fn check(&self, batch: &Batch) -> Result<Vec<Step>, TargetError> {
        let mut seen = HashSet::with_capacity_and_hasher(batch.writes.len(), Default::default());
        if let Some(twice) = batch.writes.iter().map(Write::id).find(|id| !seen.insert(*id)) {
            return Err(moved(twice, "it is written twice in one apply"));
        }
        let versions = batch
            .writes
            .iter()
            .filter_map(|write| Some((write.id().clone(), write.declared()?.get("apiVersion")?.as_str()?.to_owned())))
            .chain(self.rows.iter().map(|(id, row)| (id.clone(), row.api_version.clone())))
            .collect();
        let account = |at: usize| batch.accounts.get(at).cloned().flatten();
        let accounts = batch
            .writes
            .iter()
            .enumerate()
            .filter_map(|(at, write)| Some((write.id().clone(), account(at)?)))
            .collect();
        let manner = Manner { versions, accounts };
        // Whoever is created must not be there: that is asked of the list alone, and the write itself says it again.
        let sure: HashSet<ResourceId> = batch
            .writes
            .iter()
            .filter(|write| !matches!(write, Write::Create { .. }))
            .map(|write| write.id().clone())
            .collect();
        let ids: Vec<&ResourceId> = batch.writes.iter().map(Write::id).collect();
        let mut live = objects::read(self.on, &ids, Depth::Whole, &manner, &sure).await?;
        let groups = groups(batch, &self.waves());
        let mut steps = Vec::with_capacity(batch.writes.len());
        for (at, (write, group)) in batch.writes.iter().zip(groups).enumerate() {
            let before = live.remove(write.id());
            self.holds(write, before.as_ref())?;
            let sensitive = self.rows.get(write.id()).map(|row| row.sensitive.clone()).unwrap_or_default();
            steps.push(Step { account: account(at), sensitive, ..step(write, before, group) });
        }
        self.cascades(batch).await?;
        Ok(steps)
    }

    fn holds(&self, write: &Write, live: Option<&Value>) -> Result<(), TargetError> {
        let id = write.id();
        let (expected, at) = match write {
            Write::Create { .. } => return if live.is_none() { Ok(()) } else { Err(moved(id, "it exists")) },
            Write::Apply { uid, version, .. }
            | Write::Replace { uid, version, .. }
            | Write::Unmark { uid, version, .. } => (uid, version),
            Write::Delete { warrant, version, .. } => (warrant.uid(), version),
        };
        let Some(live) = live else { return Err(moved(id, "it isn't there")) };
        let found = uid(live).unwrap_or_default();
        if found != expected.as_str() {
            return Err(moved(id, format!("it has UID {found} and not {expected}")));
        }
        if let Write::Delete { warrant, .. } = write
            && !is_marked(live, warrant.source(), id)
        {
            return Err(moved(id, "its owner mark is another"));
        }
        if version(live) != at {
            self.same_as_planned(write, live)?;
        }
        Ok(())
    }

    /// An object that was written since: by whom doesn't matter, if all that the plan looked at is as it was.
    pub(super) fn same_as_planned(&self, write: &Write, live: &Value) -> Result<(), TargetError> {
        let id = write.id();
        let written = || moved(id, format!("it was written since (resourceVersion {})", version(live)));
        let planned = self.view.shown(id).ok_or_else(written)?;
        if version(&planned)
            != match write {
                Write::Apply { version, .. } | Write::Replace { version, .. } | Write::Unmark { version, .. } => {
                    version
                }
                Write::Delete { version, .. } => version,
                Write::Create { .. } => return Err(written()),
            }
        {
            return Err(written());
        }
        if self.is_same(id, write.declared(), &planned, live) { Ok(()) } else { Err(written()) }
    }

    /// Whether two readings of an object agree in UID, mark, what is declared or was ours, and who holds that.
    pub(super) fn is_same(&self, id: &ResourceId, declared: Option<&Value>, a: &Value, b: &Value) -> bool {
        let schema = self.schema(a);
        let mut fields = declared.map(|d| self.fields(schema.as_deref(), d)).unwrap_or_default();
        if let Some(row) = self.rows.get(id) {
            fields = fields.union(&row.fields);
        }
        let seen = |object: &Value| merge::seen(schema.as_deref(), object, &fields, &[]);
        let holders = |object: &Value| {
            let managers = merge::ManagedFields::of(object).ok()?;
            let held = managers.entries.iter().map(|e| {
                (
                    e.manager.clone(),
                    e.operation,
                    e.subresource.clone(),
                    e.fields.intersection(&fields).to_fields_v1().to_string(),
                )
            });
            Some(held.filter(|(.., fields)| fields != "{}").collect::<BTreeSet<_>>())
        };
        uid(a) == uid(b) && mark(a) == mark(b) && seen(a) == seen(b) && holders(a).is_some() && holders(a) == holders(b)
    }

    /// Whether each delete takes exactly along what it names.
    async fn cascades(&self, batch: &Batch) -> Result<(), TargetError> {
        let deletes = batch.writes.iter().filter_map(|write| match write {
            Write::Delete { warrant, cascade, .. } => Some((warrant, cascade)),
            _ => None,
        });
        let deletes: Vec<_> = deletes.collect();
        if deletes.is_empty() {
            return Ok(());
        }
        let ours: HashSet<&ResourceId> = deletes.iter().map(|(warrant, _)| warrant.id()).collect();
        // What two of them would take along stands with one of them.
        let all_said: HashSet<&ResourceId> = deletes.iter().flat_map(|(_, cascade)| cascade.iter()).collect();
        let container = |id: &ResourceId| id.is_namespace() || id.is_definition();
        let roots = deletes.iter().filter(|(warrant, _)| !container(warrant.id()));
        let roots: HashSet<&str> = roots.map(|(warrant, _)| warrant.uid().as_str()).collect();
        let mut cache: HashMap<String, Vec<Head>> = HashMap::default();
        for (warrant, cascade) in &deletes {
            let along = self.along(warrant.id(), warrant.uid().as_str(), &mut cache).await?;
            let said: HashSet<&ResourceId> = cascade.iter().collect();
            let mut more = along.iter().filter(|id| !all_said.contains(id) && !ours.contains(id));
            if let Some(more) = more.find(|id| !is_made_for(id, &roots, &cache)) {
                return Err(moved(warrant.id(), format!("{more} would go along with it")));
            }
            let mut fewer = said.iter().filter(|id| !along.contains(**id) && !ours.contains(**id));
            if let Some(fewer) = fewer.find(|id| !is_control_planes_own(id)) {
                return Err(moved(warrant.id(), format!("{fewer} would not go along with it")));
            }
        }
        Ok(())
    }

    /// Everything that goes along with an object: contents of a Namespace, instances of a definition, and what only they
    /// own. What a control plane puts into every Namespace doesn't count.
    pub(super) async fn along(
        &self,
        id: &ResourceId,
        uid: &str,
        cache: &mut HashMap<String, Vec<Head>>,
    ) -> Result<BTreeSet<ResourceId>, TargetError> {
        let mut gone: HashSet<String> = std::iter::once(uid.to_owned()).collect();
        let mut along: Along = Along::new();
        let mut spaces: BTreeSet<String> = id.namespace.iter().cloned().collect();
        if id.is_namespace() {
            for head in self.in_namespace(&id.name, cache).await? {
                gone.insert(head.uid.as_str().to_owned());
                along.insert(head.id.clone(), ());
            }
            spaces.insert(id.name.clone());
        }
        if id.is_definition()
            && let Some(kind) = self.defined_kind(id).await?
        {
            for head in objects::of_kind(self.on, &kind, None).await? {
                gone.insert(head.uid.as_str().to_owned());
                spaces.extend(head.id.namespace.clone());
                along.insert(head.id, ());
            }
        }
        loop {
            let before = gone.len();
            for space in &spaces {
                for head in self.in_namespace(space, cache).await? {
                    let owned =
                        !head.owners.is_empty() && head.owners.iter().all(|owner| gone.contains(owner.as_str()));
                    if owned && gone.insert(head.uid.as_str().to_owned()) {
                        along.insert(head.id.clone(), ());
                    }
                }
            }
            if gone.len() == before {
                return Ok(along.into_keys().collect());
            }
        }
    }

    async fn in_namespace(&self, name: &str, cache: &mut HashMap<String, Vec<Head>>) -> Result<Vec<Head>, TargetError> {
        if !cache.contains_key(name) {
            let mut heads = objects::in_namespace(self.on, name).await?;
            heads.retain(|head| !is_control_planes_own(&head.id));
            cache.insert(name.to_owned(), heads);
        }
        Ok(cache.get(name).cloned().unwrap_or_default())
    }

    async fn defined_kind(&self, id: &ResourceId) -> Result<Option<GroupKind>, TargetError> {
        let found = objects::read(self.on, &[id], Depth::Whole, &Manner::default(), &HashSet::default()).await?;
        Ok(found.get(id).and_then(defined_kind))
    }
}

type Along = std::collections::BTreeMap<ResourceId, ()>;

/// What a control plane puts into every Namespace, and what only tells of other objects.
fn is_control_planes_own(id: &ResourceId) -> bool {
    (id.is("", "ConfigMap") && id.name == "kube-root-ca.crt")
        || (id.is("", "ServiceAccount") && id.name == "default")
        || id.is("", "Endpoints")
        || id.is("discovery.k8s.io", "EndpointSlice")
        || id.is("coordination.k8s.io", "Lease")
}

/// Whether controllers made an object for one that is deleted, by whatever chain of theirs: that comes and goes by itself.
/// Claims hold data, and a mark is a Source's word, unless a controller copied it.
fn is_made_for(id: &ResourceId, roots: &HashSet<&str>, cache: &HashMap<String, Vec<Head>>) -> bool {
    let mut all = cache.values().flatten();
    let mut at = all.find(|head| head.id == *id);
    for _ in 0..LONGEST_CHAIN {
        let Some(head) = at.filter(|head| head.controlled && !is_marked_head(head)) else { return false };
        let (Some(controller), false) = (head.owners.first(), head.id.is("", "PersistentVolumeClaim")) else {
            return false;
        };
        if roots.contains(controller.as_str()) {
            return true;
        }
        at = cache.values().flatten().find(|head| head.uid == *controller);
    }
    false
}

/// Whether an object bears a mark that was made for it, or one that can't be read.
fn is_marked_head(head: &Head) -> bool {
    match &head.mark {
        Ok(mark) => mark.as_ref().is_some_and(|mark| mark.resource == head.id),
        Err(_) => true,
    }
}

/// Whether an object bears the mark of this Source for this resource.
pub(super) fn is_marked(live: &Value, source: &SourceId, id: &ResourceId) -> bool {
    let head = head(id.clone(), live);
    head.is_some_and(|head| matches!(&head.mark, Ok(Some(mark)) if mark.source == *source && mark.resource == *id))
}

fn step(write: &Write, before: Option<Value>, group: usize) -> Step {
    let id = write.id().clone();
    let (act, source) = match write {
        Write::Create { .. } => (Act::Create, None),
        Write::Apply { .. } => (Act::Apply, None),
        Write::Replace { .. } => (Act::Replace, None),
        Write::Unmark { .. } => (Act::Unmark, None),
        Write::Delete { warrant, .. } => (Act::Delete, Some(warrant.source().clone())),
    };
    let relieves = if let Write::Apply { relieves, .. } = write { relieves.clone() } else { Vec::new() };
    Step {
        act,
        id,
        group,
        before,
        declared: write.declared().cloned(),
        source,
        relieves,
        sensitive: Vec::new(),
        account: None,
    }
}

/// Which writes may go at once: neighbours of one kind in one wave. The plan's order is kept between the groups, and an
/// object that says what it depends on begins a group of its own.
fn groups(batch: &Batch, waves: &HashMap<ResourceId, i32>) -> Vec<usize> {
    let mut groups = Vec::with_capacity(batch.writes.len());
    let (mut group, mut last) = (0, None);
    for write in &batch.writes {
        let id = write.id();
        let is_delete = matches!(write, Write::Delete { .. });
        let key = (is_delete, waves.get(id).copied().unwrap_or_default(), id.group_kind());
        let depends = write
            .declared()
            .and_then(|d| d.pointer("/metadata/annotations"))
            .is_some_and(|a| a.get("config.kubernetes.io/depends-on").is_some());
        if last.as_ref() != Some(&key) || depends || matches!(write, Write::Replace { .. }) {
            group += usize::from(last.is_some());
            last = Some(key);
        }
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::ObjectUid;
    use crate::inventory::BadMark;

    fn head(id: &str, uid: &str, owners: &[&str], controlled: bool) -> Head {
        let owners = owners.iter().map(|uid| ObjectUid::parse(uid).unwrap()).collect();
        let uid = ObjectUid::parse(uid).unwrap();
        Head { id: ResourceId::parse(id).unwrap(), uid, version: "1".into(), mark: Ok(None), owners, controlled }
    }

    #[test]
    fn only_what_a_chain_of_controllers_leads_back_to_a_delete_comes_and_goes_by_itself() {
        let mut marked = head("Pod/shop/marked", "marked", &["set"], true);
        marked.mark = Err(BadMark);
        let heads = vec![
            head("ReplicaSet.apps/shop/set", "set", &["deployment"], true),
            head("Pod/shop/pod", "pod", &["set"], true),
            head("Pod/shop/of-others", "of-others", &["elsewhere"], true),
            head("Pod/shop/loose", "loose", &["set"], false),
            head("PersistentVolumeClaim/shop/data", "data", &["set"], true),
            head("Pod/shop/round", "round", &["round"], true),
            marked,
        ];
        let cache = HashMap::from_iter([("shop".to_owned(), heads)]);
        let roots = HashSet::from_iter(["deployment"]);
        let is = |id: &str| is_made_for(&ResourceId::parse(id).unwrap(), &roots, &cache);
        assert!(is("ReplicaSet.apps/shop/set") && is("Pod/shop/pod"));
        for other in ["of-others", "loose", "round", "marked"] {
            assert!(!is(&format!("Pod/shop/{other}")), "{other}");
        }
        assert!(!is("PersistentVolumeClaim/shop/data"));
    }
}
