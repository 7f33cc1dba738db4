//! Sources, a target in memory, and plans of the one against the other, through the public API.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use holdfast::admission::{self, CheckedSet};
use holdfast::apply::observe;
use holdfast::base::ids::{ApplyId, CommitId, Digest, PlanId, SourceId, SourceName};
use holdfast::base::map::HashSet;
use holdfast::base::path::RepoPath;
use holdfast::base::resource::{GroupKind, ResourceId};
use holdfast::inventory::{Binding, Inventory, OwnerMark, Permissions, Released, Row, SourceRecord, seen_digest};
use holdfast::manifest::{Limits, ManifestSet, read_file};
use holdfast::merge;
use holdfast::plan::document::{Action, Allowances, ChangeEntry, PlanDocument, Purpose};
use holdfast::plan::{CommitFacts, Grants, Observed, OtherSource, SourceInput, draft};
use holdfast::source::scope::{ClusterKinds, Namespaces};
use holdfast::source::spec::{GitPermission, SourceSpec};
use holdfast::source::url::RepositoryUrl;
use holdfast::target::{Reader, TargetKind};
use serde_json::{Value, json};

use crate::target::{Model, identity, now};

/// One Source of a world.
#[derive(Debug, Clone)]
pub struct Source {
    pub spec: SourceSpec,
    pub files: Vec<(String, String)>,
    pub commit: CommitId,
    pub rewind: bool,
    pub rebinds: bool,
    pub purpose: Purpose,
}

impl Source {
    /// One that may write everything in `shop` and `lab`, and cluster-scoped objects, and prunes.
    pub fn new(name: &str) -> Self {
        let url = RepositoryUrl::parse(&format!("https://git.example/{name}.git"), Path::new("/")).unwrap();
        let namespaces = Namespaces::Some(BTreeSet::from(["lab".to_owned(), "shop".to_owned()]));
        let mut spec = SourceSpec::new(SourceName::parse(name).unwrap(), url, namespaces);
        spec.default_namespace = Some("shop".to_owned());
        spec.cluster_kinds = ClusterKinds::Any;
        spec.prune = true;
        spec.permit_in_git = GitPermission::ALL.into_iter().collect();
        Self { spec, files: Vec::new(), commit: commit(1), rewind: false, rebinds: false, purpose: Purpose::Apply }
    }

    /// Declares objects, one file each.
    pub fn declare(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        for object in objects {
            let file = format!("{:03}.yaml", self.files.len());
            self.files.push((file, object.to_string()));
        }
        self
    }

    /// The same Source at another commit that declares this.
    pub fn at(&self, number: u8, objects: impl IntoIterator<Item = Value>) -> Self {
        let next = Self { files: Vec::new(), commit: commit(number), ..self.clone() };
        next.declare(objects)
    }

    pub fn id(&self) -> SourceId {
        SourceId::derive(&identity(), &self.spec.name, 0)
    }

    pub fn check(&self, reader: &dyn Reader) -> CheckedSet {
        let limits = Limits::default();
        let read = |(name, text): &(String, String)| {
            read_file(&RepoPath::new(name.as_bytes()), text.clone().into_bytes(), &limits)
        };
        let set = ManifestSet::join(self.files.iter().map(read).collect(), &limits);
        match admission::check(&self.spec, set, &reader.definitions().unwrap(), &[]) {
            Ok(set) => set,
            Err(refused) => panic!("{:?}", refused.faults().collect::<Vec<_>>()),
        }
    }

    pub fn input<'a>(
        &'a self,
        set: &'a CheckedSet,
        inventory: &'a Inventory,
        known: &'a [SourceRecord],
    ) -> SourceInput<'a> {
        SourceInput {
            spec: &self.spec,
            purpose: self.purpose,
            id: self.id(),
            record: known.iter().find(|r| r.id == self.id()),
            inventory,
            set,
            facts: CommitFacts { commit: self.commit.clone(), preview: false, rewind: self.rewind },
            binding: binding_of(self),
            rebinds: self.rebinds,
            emergencies: BTreeMap::new(),
        }
    }

    pub fn mark(&self, resource: &ResourceId) -> OwnerMark {
        OwnerMark { source: self.id(), resource: resource.clone(), apply: apply_id() }
    }
}

pub fn apply_id() -> ApplyId {
    ApplyId::parse("01890a5d-ac96-774b-bcce-b302099a8057").unwrap()
}

pub fn commit(number: u8) -> CommitId {
    CommitId::parse(&format!("{number:02x}").repeat(20)).unwrap()
}

/// Why there is no plan.
#[derive(Debug)]
pub struct Refused(pub Vec<holdfast::base::fault::Fault>);

impl Refused {
    /// The rules, each with its resource.
    pub fn rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = self
            .0
            .iter()
            .map(|f| f.id.as_ref().map_or_else(|| f.rule.as_str().to_owned(), |id| format!("{} {id}", f.rule.as_str())))
            .collect();
        rules.sort();
        rules
    }
}

/// Everything that a plan is a function of.
#[derive(Debug, Clone, Default)]
pub struct World {
    pub target: Model,
    pub sources: Vec<Source>,
    pub others: Vec<OtherSource>,
    pub allowances: Allowances,
}

/// What a plan was made of, beside it.
pub struct Made<'a> {
    pub plan: PlanDocument,
    pub inputs: &'a [SourceInput<'a>],
    pub observed: &'a Observed,
}

impl World {
    pub fn new(target: Model, sources: impl IntoIterator<Item = Source>) -> Self {
        let mut sources: Vec<Source> = sources.into_iter().collect();
        sources.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
        Self { target, sources, ..Self::default() }
    }

    /// One Source in an empty target with its Namespaces.
    pub fn of(source: Source) -> Self {
        Self::new(Model::with_namespaces(&["shop", "lab"]), [source])
    }

    pub fn grant(mut self, change: impl FnOnce(&mut Allowances)) -> Self {
        change(&mut self.allowances);
        self
    }

    pub fn allow(self, text: &str) -> Self {
        self.grant(|a| a.allow.push(text.to_owned()))
    }

    pub fn with_other(mut self, name: &str, wanted: Result<Vec<&str>, &str>) -> Self {
        let wanted: Result<HashSet<ResourceId>, String> = match wanted {
            Ok(ids) => Ok(ids.into_iter().map(id).collect()),
            Err(text) => Err(text.to_owned()),
        };
        self.others.push(OtherSource { name: SourceName::parse(name).unwrap(), wanted });
        self
    }

    /// Puts Sources in the place of those of the same names.
    pub fn now(&self, sources: impl IntoIterator<Item = Source>) -> Self {
        let mut next = self.clone();
        next.allowances = Allowances::default();
        for source in sources {
            match next.sources.iter_mut().find(|s| s.spec.name == source.spec.name) {
                Some(slot) => *slot = source,
                None => next.sources.push(source),
            }
        }
        next.sources.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
        next
    }

    /// Plans, and hands over what the plan was made of.
    pub fn with<R>(&self, then: impl FnOnce(Made<'_>) -> R) -> Result<R, Refused> {
        let reader: &dyn Reader = &self.target;
        let known = reader.sources().unwrap();
        let sets: Vec<CheckedSet> = self.sources.iter().map(|s| s.check(reader)).collect();
        let inventories: Vec<Arc<Inventory>> =
            self.sources.iter().map(|s| reader.inventory(&s.id()).unwrap()).collect();
        let inputs: Vec<SourceInput<'_>> = self
            .sources
            .iter()
            .zip(&sets)
            .zip(&inventories)
            .map(|((source, set), inventory)| source.input(set, inventory, &known))
            .collect();
        let observed = observe(reader, TargetKind::Embedded, &known, &inputs).unwrap();
        let grants = Grants::new(self.allowances.clone()).unwrap();
        let drafted = draft(&inputs, &self.others, &observed, &grants);
        let facts = admission::facts(reader, &drafted).unwrap();
        let plan = match admission::judge(drafted, &facts, None).unwrap() {
            Ok(plan) => plan,
            Err(refused) => return Err(Refused(refused.faults().cloned().collect())),
        };
        let sealed = plan.seal("2026-01-02T03:04:05Z".to_owned()).unwrap_or_else(|broken| panic!("{broken}"));
        let plan = sealed.document().clone();
        Ok(then(Made { plan, inputs: &inputs, observed: &observed }))
    }

    pub fn try_plan(&self) -> Result<PlanDocument, Refused> {
        self.with(|made| made.plan)
    }

    pub fn plan(&self) -> PlanDocument {
        self.try_plan().unwrap_or_else(|refused| panic!("{:#?}", refused.0))
    }

    pub fn refused(&self) -> Vec<String> {
        match self.try_plan() {
            Ok(plan) => panic!("planned: {:?}", acts(&plan)),
            Err(refused) => refused.rules(),
        }
    }

    /// Plans, applies, and is the world after it.
    pub fn applied(&self) -> Self {
        let mut next = self.clone();
        next.apply();
        next
    }

    /// Plans and applies as a target does that writes everything or nothing: a simple model.
    pub fn apply(&mut self) -> PlanDocument {
        let plan = self.plan();
        let sets: Vec<CheckedSet> = self.sources.iter().map(|s| s.check(&self.target)).collect();
        let mut left: Vec<(ResourceId, Vec<holdfast::base::pointer::Pointer>)> = Vec::new();
        let hpas = self
            .target
            .list(&holdfast::target::Contents::Kind(GroupKind::new("autoscaling", "HorizontalPodAutoscaler")))
            .unwrap();
        let hpas: Vec<_> =
            self.target.objects(&hpas.iter().map(|h| &h.id).collect::<Vec<_>>()).unwrap().into_values().collect();
        for change in &plan.changes {
            let at = self.sources.iter().position(|s| s.spec.name == change.source).unwrap();
            let (source, set) = (self.sources[at].clone(), &sets[at]);
            let checked = set.get(&change.id);
            match change.action {
                Action::Create => {
                    drop(self.target.apply(checked.unwrap().declared(), &source.mark(&change.id)).clone())
                }
                Action::Update | Action::Own | Action::Adopt | Action::Transfer => {
                    let checked = checked.unwrap();
                    let alone = admission::left_alone(
                        checked,
                        &self.target.objects[&change.id],
                        &source.spec.ignore_drift,
                        set,
                        &hpas,
                    );
                    let alone: Vec<_> = alone.into_iter().map(|(pointer, _)| pointer).collect();
                    let mut declared = checked.declared().clone();
                    for pointer in &alone {
                        take_out(&mut declared, pointer.as_str());
                    }
                    if !alone.is_empty() {
                        left.push((change.id.clone(), alone));
                    }
                    self.target.apply(&declared, &source.mark(&change.id));
                }
                Action::Replace => {
                    self.target.objects.remove(&change.id);
                    self.target.apply(checked.unwrap().declared(), &source.mark(&change.id));
                }
                Action::Delete => {
                    let along: Vec<ResourceId> = self.target.delete(&change.id).into_iter().collect();
                    assert_eq!(along, change.holds, "a delete of {} takes others along than planned", change.id);
                }
                Action::Release if change.rule.as_deref() == Some("released") => {
                    self.target.mark(&change.id, None);
                    let released = Released {
                        id: change.id.clone(),
                        uid: change.uid.clone().unwrap(),
                        reason: "released as asked".to_owned(),
                        apply: apply_id(),
                        at: now(),
                    };
                    self.target.released.push((source.id(), released));
                }
                Action::Release | Action::Keep => {}
            }
        }
        for change in plan.changes.iter().filter(|c| c.action == Action::Transfer) {
            let giver =
                self.target.sources.values().find(|r| Some(&r.name) == change.from.as_ref()).unwrap().id.clone();
            self.target.inventories.get_mut(&giver).unwrap().rows.remove(&change.id);
        }
        for (source, set) in self.sources.clone().iter().zip(&sets) {
            self.record(source, set, &plan, &left);
        }
        plan
    }

    fn record(
        &mut self,
        source: &Source,
        set: &CheckedSet,
        plan: &PlanDocument,
        left: &[(ResourceId, Vec<holdfast::base::pointer::Pointer>)],
    ) {
        let before = self.target.inventory(&source.id()).unwrap();
        let mut after = Inventory::clone(&before);
        // What it gives away is declared and stands in no list.
        let listed = |id: &ResourceId| {
            let changes = plan.changes.iter().map(|c| (&c.id, &c.source));
            let mut all = changes.chain(plan.unchanged.iter().map(|u| (&u.id, &u.source)));
            all.any(|(other, owner)| other == id && *owner == source.spec.name)
        };
        let mine = |id: &ResourceId| set.get(id).is_some_and(|c| !c.wants().use_) && listed(id);
        let elsewhere = |id: &ResourceId| {
            let entries = plan
                .changes
                .iter()
                .map(|c| (&c.id, &c.source))
                .chain(plan.unchanged.iter().map(|u| (&u.id, &u.source)));
            entries.into_iter().any(|(other, owner)| other == id && *owner != source.spec.name)
        };
        after.rows = after.rows.values().filter(|row| !elsewhere(&row.id)).cloned().collect();
        for change in plan.changes.iter().filter(|c| c.source == source.spec.name) {
            let ends = match change.action {
                Action::Delete | Action::Release => true,
                Action::Keep => matches!(change.rule.as_deref(), Some("uid-mismatch" | "owner-mismatch")),
                _ => false,
            };
            if ends {
                after.rows.remove(&change.id);
            }
        }
        for checked in set.manifests().iter().filter(|c| mine(c.id())) {
            let id = checked.id();
            let Some(object) = self.target.objects.get(id) else { continue };
            let head = self.target.head(id).unwrap();
            let written = plan.changes.iter().any(|c| c.id == *id);
            let alone =
                left.iter().find(|(other, _)| other == id).map(|(_, pointers)| pointers.clone()).unwrap_or_default();
            let fields = if alone.is_empty() {
                checked.fields().clone()
            } else {
                merge::counted(checked.schema(), checked.declared(), &alone)
            };
            let old = before.rows.get(id);
            let row = Row {
                id: id.clone(),
                uid: head.uid.clone(),
                api_version: checked.gvk().api_version(),
                file: checked.file_text().into_owned(),
                line: checked.line(),
                wave: checked.wants().wave,
                commit: source.commit.clone(),
                declared: checked.digest().clone(),
                fields: fields.clone().into(),
                version: head.version.clone(),
                seen: seen_digest(Some(checked.schema()), object, &fields, checked.sensitive()),
                left_alone: !alone.is_empty(),
                sensitive: checked.sensitive().to_vec(),
                permissions: Permissions {
                    prune: checked.wants().prune,
                    release_to: checked.wants().release_to.clone(),
                },
                answers: Vec::new(),
            };
            match old {
                // What stays as it is keeps its row but for where it stands.
                Some(old) if !written => {
                    let Row { file, line, wave, declared, permissions, .. } = row;
                    let row = Row { file, line, wave, declared, permissions, ..Row::clone(old) };
                    after.rows.insert(Arc::new(row));
                }
                _ => after.rows.insert(Arc::new(row)),
            }
        }
        if after.rows != before.rows {
            after.serial += 1;
        }
        let record = SourceRecord {
            id: source.id(),
            name: source.spec.name.clone(),
            former_names: Vec::new(),
            binding: binding_of(source),
            commit: source.commit.clone(),
            plan: PlanId::new(&digest()),
            apply: apply_id(),
            applied_at: now(),
            spec: source.spec.digest(),
            serial: after.serial,
            removed_at: None,
        };
        self.target.sources.insert(source.id(), record);
        self.target.inventories.insert(source.id(), after);
    }
}

fn take_out(object: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    if let Some(map) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        map.remove(key);
    }
}

pub fn digest() -> Digest {
    Digest::parse(&"0".repeat(64)).unwrap()
}

fn binding_of(source: &Source) -> Binding {
    Binding {
        repository: source.spec.repository.normalised().to_owned(),
        root_commits: vec![commit(0)],
        path: source.spec.path.to_string(),
    }
}

pub fn id(text: &str) -> ResourceId {
    ResourceId::parse(text).unwrap()
}

/// A plan's Changes as lines of action and resource, in order.
pub fn acts(plan: &PlanDocument) -> Vec<String> {
    plan.changes.iter().map(|c| format!("{} {}", c.action.as_str(), c.id)).collect()
}

pub fn change<'p>(plan: &'p PlanDocument, of: &str) -> &'p ChangeEntry {
    let of = id(of);
    plan.changes.iter().find(|c| c.id == of).unwrap_or_else(|| panic!("no change of {of} in {:?}", acts(plan)))
}

/// Action and rule of a Change.
pub fn verdict<'p>(plan: &'p PlanDocument, of: &str) -> (&'static str, &'p str) {
    let change = change(plan, of);
    (change.action.as_str(), change.rule.as_deref().unwrap_or(""))
}

pub fn fields(plan: &PlanDocument, of: &str) -> Vec<String> {
    change(plan, of).fields.iter().map(|f| f.path.to_string()).collect()
}

/// A manifest; `rest` is put over it.
pub fn manifest(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = namespace.into();
    }
    over(&mut object, rest);
    object
}

fn over(object: &mut Value, rest: Value) {
    match (object, rest) {
        (Value::Object(map), Value::Object(rest)) => {
            for (key, value) in rest {
                over(map.entry(key).or_insert(Value::Null), value);
            }
        }
        (object, rest) => *object = rest,
    }
}

pub fn config(name: &str, value: &str) -> Value {
    manifest("v1", "ConfigMap", Some("shop"), name, json!({"data": {"v": value}}))
}

/// The same with annotations of Holdfast.
pub fn asking(mut object: Value, annotations: &[(&str, &str)]) -> Value {
    for (key, value) in annotations {
        let key = if key.contains('/') { (*key).to_owned() } else { format!("holdfast.dev/{key}") };
        over(&mut object, json!({"metadata": {"annotations": {key: value}}}));
    }
    object
}

pub fn namespace(name: &str) -> Value {
    manifest("v1", "Namespace", None, name, json!({}))
}

pub fn deployment(name: &str, rest: Value) -> Value {
    let mut object = manifest(
        "apps/v1",
        "Deployment",
        Some("shop"),
        name,
        json!({"spec": {"selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}}}}),
    );
    over(&mut object, rest);
    object
}

pub fn claim(name: &str) -> Value {
    manifest(
        "v1",
        "PersistentVolumeClaim",
        Some("shop"),
        name,
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    )
}

pub fn definition() -> Value {
    manifest(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        None,
        "widgets.example.com",
        json!({"spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]}}),
    )
}

pub fn widget(namespace: &str, name: &str, size: i64) -> Value {
    manifest("example.com/v1", "Widget", Some(namespace), name, json!({"spec": {"size": size}}))
}

/// An owner reference to a live object.
pub fn owned_by(mut object: Value, owner: &Value, controller: bool) -> Value {
    let reference = json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": controller});
    let mut all = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    all.push(reference);
    object["metadata"]["ownerReferences"] = all.into();
    object
}
