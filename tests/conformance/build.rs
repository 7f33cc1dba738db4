//! Builds what the cases hand to a target.

use std::time::Duration;

use holdfast::base::clock::Moment;
use holdfast::base::digest;
use holdfast::base::ids::{ApplyId, CommitId, Digest, ObjectUid, PlanId, SourceId, SourceName};
use holdfast::base::resource::{GroupVersionKind, ResourceId};
use holdfast::inventory::{
    Binding, LiveIdentity, OWNER_ANNOTATION, OwnerMark, Permissions, PruneWarrant, Row, SourceRecord,
};
use holdfast::merge::FieldSet;
use holdfast::schema::Catalog;
use holdfast::schema::crd::Crd;
use holdfast::target::{Batch, Head, Live, Operation, Reader, SourceCommit, Target, TargetError, Write, Written};
use serde_json::{Value, json};

pub(crate) const WAIT: Duration = Duration::from_secs(20);

pub(crate) fn at(second: i64) -> Moment {
    Moment::from_millis(1_800_000_000_000 + second * 1000)
}

pub(crate) fn id(text: &str) -> ResourceId {
    ResourceId::parse(text).unwrap()
}

pub(crate) fn id_of(object: &Value) -> ResourceId {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let gvk = GroupVersionKind::new(&text("/apiVersion"), &text("/kind"));
    let namespace = Some(text("/metadata/namespace")).filter(|n| !n.is_empty());
    ResourceId { group: gvk.group, kind: gvk.kind, namespace, name: text("/metadata/name") }
}

pub(crate) fn config(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}, "data": {"v": value}})
}

pub(crate) fn secret(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"}, "data": {"pass": value}})
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn crd() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

pub(crate) fn widget(name: &str, size: i64) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "namespace": "shop"}, "spec": {"size": size}})
}

/// One Source and its applies.
pub(crate) struct Shop {
    pub(crate) source: SourceId,
    pub(crate) name: SourceName,
    next: i64,
}

impl Shop {
    pub(crate) fn new(target: &dyn Target, name: &str) -> Self {
        let identity = target.reader().unwrap().identity().unwrap();
        let name = SourceName::parse(name).unwrap();
        Self { source: SourceId::derive(&identity, &name, 0), name, next: 1 }
    }

    /// The object as an apply declares it.
    pub(crate) fn marked(&self, object: &Value, apply: &ApplyId) -> Value {
        let mut object = object.clone();
        let mark =
            OwnerMark { source: self.source.clone(), resource: id_of(&object), apply: apply.clone() }.to_string();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.entry("annotations").or_insert_with(|| json!({}))[OWNER_ANNOTATION] = mark.into();
        object
    }

    pub(crate) fn row(&self, object: &Value) -> Row {
        Row {
            id: id_of(object),
            uid: ObjectUid::parse("none-yet").unwrap(),
            api_version: object["apiVersion"].as_str().unwrap().to_owned(),
            file: "deploy/all.yaml".into(),
            line: 1,
            wave: 0,
            commit: commit(),
            declared: digest::of_value(object),
            fields: fields(object).into(),
            version: String::new(),
            seen: zero(),
            left_alone: false,
            sensitive: Vec::new(),
            permissions: Permissions::default(),
            answers: Vec::new(),
        }
    }

    /// An apply without writes yet.
    pub(crate) fn batch(&mut self, reader: &dyn Reader) -> Batch {
        let apply = ApplyId::parse(&uuid::Uuid::now_v7().to_string()).unwrap();
        let serial = reader.inventory(&self.source).unwrap().serial;
        let plan = PlanId::new(&digest::sha256(apply.as_str().as_bytes()));
        self.next += 1;
        let record = SourceRecord {
            id: self.source.clone(),
            name: self.name.clone(),
            former_names: Vec::new(),
            binding: Binding { repository: "file:///shop".into(), root_commits: vec![commit()], path: "deploy".into() },
            commit: commit(),
            plan: plan.clone(),
            apply: apply.clone(),
            applied_at: at(self.next),
            spec: zero(),
            serial: serial + 1,
            removed_at: None,
        };
        let commit = SourceCommit {
            record,
            serial_before: serial,
            upserts: Vec::new(),
            removed: Vec::new(),
            released: Vec::new(),
        };
        Batch {
            apply,
            at: at(self.next),
            actor: "alice".into(),
            operation: Operation::Apply,
            plan: Some(plan),
            single_use: true,
            writes: Vec::new(),
            accounts: Vec::new(),
            gates: Vec::new(),
            interrupt: holdfast::base::interrupt::Interrupt::default(),
            sources: vec![commit],
            receipt: json!({"changes": []}),
        }
    }

    /// Declares an object: a create if it isn't there, else an apply.
    pub(crate) fn declare(&self, batch: &mut Batch, reader: &dyn Reader, object: &Value) {
        let id = id_of(object);
        let declared = self.marked(object, &batch.apply);
        let write = match head(reader, &id) {
            None => Write::Create { id: id.clone(), declared },
            Some(Head { uid, version, .. }) => {
                Write::Apply { id: id.clone(), uid, version, declared, relieves: Vec::new() }
            }
        };
        batch.writes.push(write);
        batch.sources[0].upserts.push(self.row(object));
        batch.receipt["changes"].as_array_mut().unwrap().push(json!({"action": "create", "id": id, "uid": null}));
    }

    /// Deletes an object that is ours.
    pub(crate) fn remove(&self, batch: &mut Batch, reader: &dyn Reader, id: &ResourceId, cascade: &[&str]) {
        let cascade = cascade.iter().map(|text| self::id(text)).collect();
        let head = head(reader, id).unwrap();
        let warrant = self.warrant(reader, id);
        batch.writes.push(Write::Delete { warrant, version: head.version, cascade });
        batch.sources[0].removed.push(id.clone());
    }

    pub(crate) fn warrant(&self, reader: &dyn Reader, id: &ResourceId) -> PruneWarrant {
        let inventory = reader.inventory(&self.source).unwrap();
        let head = head(reader, id).unwrap();
        let live = LiveIdentity { id, uid: &head.uid, mark: &head.mark };
        PruneWarrant::issue(&self.source, inventory.row(id).unwrap(), &live).unwrap()
    }

    /// Declares these objects in one apply.
    pub(crate) fn apply(&mut self, target: &dyn Target, objects: &[Value]) -> Result<Written, TargetError> {
        let writer = target.writer(std::slice::from_ref(&self.source), WAIT)?;
        let mut batch = self.batch(writer.reader());
        for object in objects {
            self.declare(&mut batch, writer.reader(), object);
        }
        // Half of all applies are staged before the lock is had, half are worked out within it.
        if self.next % 2 == 0 {
            return writer.commit(batch.into());
        }
        drop(writer);
        let staged = target.stage(batch)?;
        target.writer(std::slice::from_ref(&self.source), WAIT)?.commit(staged)
    }
}

pub(crate) fn commit() -> CommitId {
    CommitId::parse(&"a".repeat(40)).unwrap()
}

pub(crate) fn zero() -> Digest {
    Digest::parse(&"0".repeat(64)).unwrap()
}

pub(crate) fn fields(object: &Value) -> FieldSet {
    let catalog = Catalog::builtin().with_crds(vec![Crd::read(&crd()).unwrap()]);
    let text = |key: &str| object[key].as_str().unwrap().to_owned();
    let schema = catalog.resolve(&GroupVersionKind::new(&text("apiVersion"), &text("kind"))).unwrap();
    FieldSet::of_object(schema.root(), object)
}

pub(crate) fn head(reader: &dyn Reader, id: &ResourceId) -> Option<Head> {
    reader.heads(&[id]).unwrap().remove(id)
}

pub(crate) fn live(target: &dyn Target, id: &ResourceId) -> Option<Live> {
    target.reader().unwrap().objects(&[id]).unwrap().remove(id)
}

/// An apply that writes nothing but the row of an object as it is: `keys` of its data are declared, the rest left alone.
pub(crate) fn row_as_it_is(shop: &mut Shop, target: &dyn Target, object: &Value, keys: &[&str], left_alone: bool) {
    let found = live(target, &id_of(object)).unwrap();
    let mut declared = object.clone();
    declared["data"] = keys.iter().map(|key| ((*key).to_owned(), "x".into())).collect::<serde_json::Map<_, _>>().into();
    let writer = target.writer(std::slice::from_ref(&shop.source), WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    let row = Row {
        uid: found.head.uid,
        version: found.head.version,
        fields: fields(&declared).into(),
        left_alone,
        ..shop.row(object)
    };
    batch.sources[0].upserts.push(row);
    writer.commit(batch.into()).unwrap();
}
