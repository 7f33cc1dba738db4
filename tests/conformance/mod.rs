//! What every target must hold, whatever control plane stands behind it. Each target's test calls [`all`].

pub(crate) mod build;
mod controls;

use holdfast::base::clock::Moment;
use holdfast::base::resource::{GroupKind, ResourceId};
use holdfast::inventory::{Released, seen_digest};
use holdfast::schema::Catalog;
use holdfast::target::{Contents, History, HistoryEntry, Target, TargetError, Write};
use serde_json::{Value, json};

use build::{Shop, WAIT, config, crd, fields, head, id, live, namespace, secret, widget};

/// A fresh target with a Namespace `shop`, and somebody outside.
pub(crate) trait Fixture {
    fn target(&self) -> &dyn Target;
    fn put(&self, actor: &str, object: &Value);
    fn delete(&self, actor: &str, id: &ResourceId);
    /// Whether the control plane remembers who deleted what.
    fn remembers_deletes(&self) -> bool {
        true
    }
    /// Waits until something is so that the control plane does by itself after a write.
    fn settles(&self, what: &str, is_so: &dyn Fn() -> bool) {
        assert!(is_so(), "{what}");
    }
}

type Case = fn(&dyn Fixture);

/// Every case with its name.
pub(crate) const ALL: &[(&str, Case)] = &[
    ("an_apply_writes_objects_rows_record_and_receipt", an_apply_writes_objects_rows_record_and_receipt),
    ("an_update_keeps_the_uid_and_others_fields", an_update_keeps_the_uid_and_others_fields),
    ("a_write_that_does_not_meet_what_was_planned_writes_nothing", a_write_that_does_not_meet_what_was_planned),
    ("another_serial_writes_nothing", another_serial_writes_nothing),
    ("a_plan_for_one_use_is_applied_once", a_plan_for_one_use_is_applied_once),
    ("a_writer_that_is_dropped_wrote_nothing", a_writer_that_is_dropped_wrote_nothing),
    ("a_delete_takes_exactly_what_it_names", a_delete_takes_exactly_what_it_names),
    ("a_definition_serves_its_kind_in_the_same_apply_and_takes_its_objects_along", a_definition_and_its_objects),
    ("what_only_a_deleted_object_owned_goes_along", what_only_a_deleted_object_owned_goes_along),
    ("a_replace_makes_a_new_uid", a_replace_makes_a_new_uid),
    ("an_object_made_again_by_hand_is_not_deleted", an_object_made_again_by_hand_is_not_deleted),
    ("an_unmark_leaves_everything_else", an_unmark_leaves_everything_else),
    ("released_rows_stay_readable", released_rows_stay_readable),
    ("absent_is_told_apart", absent_is_told_apart),
    ("history_has_applies_refusals_and_receipts", history_has_applies_refusals_and_receipts),
    ("controls_stand_with_their_line_of_the_log_or_not_at_all", controls::controls_stand_with_their_line_of_the_log),
    ("controls_that_somebody_else_changed_are_not_written_over", controls::controls_that_somebody_else_changed),
    ("what_is_told_of_a_removed_source_is_not_kept", controls::what_is_told_of_a_removed_source),
    ("a_pause_moves_the_revision_and_the_loops_record_does_not", controls::a_pause_moves_the_revision),
    ("what_the_loop_remembers_is_not_written_over", controls::what_the_loop_remembers_is_not_written_over),
    ("the_log_tells_applies_from_other_hands", controls::the_log_tells_applies_from_other_hands),
    ("what_was_written_in_a_pause_is_an_emergency_change_until_it_is_in_git", controls::emergency_until_it_is_in_git),
    ("an_emergency_delete_is_told_and_a_thing_made_anew_is_not_ours", controls::an_emergency_delete_is_told),
    ("the_log_names_nothing_below_a_sensitive_place", the_log_names_nothing_below_a_sensitive_place),
    ("seen_moves_with_declared_fields_alone", seen_moves_with_declared_fields_alone),
    ("seen_of_a_secret_moves_with_any_write", seen_of_a_secret_moves_with_any_write),
    ("an_apply_that_changes_nothing_moves_no_version", an_apply_that_changes_nothing_moves_no_version),
];

fn an_apply_writes_objects_rows_record_and_receipt(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    let written = shop.apply(on.target(), &[config("a", "1"), secret("b", "cGFzcw==")]).unwrap();
    let reader = on.target().reader().unwrap();
    let inventory = reader.inventory(&shop.source).unwrap();
    assert_eq!((inventory.serial, inventory.rows.len(), written.objects.len()), (1, 2, 2));
    for (id, uid, version) in &written.objects {
        let live = live(on.target(), id).unwrap();
        let row = inventory.row(id).unwrap();
        assert_eq!((&live.head.uid, &live.head.version), (uid, version));
        assert_eq!((&row.uid, &row.version), (uid, version));
        let mark = live.head.mark.clone().unwrap().unwrap();
        assert_eq!((&mark.source, &mark.resource), (&shop.source, id));
        for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            assert!(live.object["metadata"].get(key).is_some(), "{key}");
        }
        assert_eq!(live.object["metadata"]["resourceVersion"], json!(version));
        let schema = Catalog::builtin();
        let gvk = holdfast::base::resource::GroupVersionKind::new("v1", &id.kind);
        let seen = seen_digest(Some(&schema.resolve(&gvk).unwrap()), &live.object, &row.fields, &row.sensitive);
        assert_eq!(seen, row.seen);
    }
    assert_eq!(reader.sources().unwrap()[0].serial, 1);
    assert!(written.receipt["changes"].as_array().unwrap().iter().all(|change| change["uid"].is_string()));
}

fn an_update_keeps_the_uid_and_others_fields(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let before = live(on.target(), &id("ConfigMap/shop/a")).unwrap();
    let mut changed = before.object.clone();
    changed["data"]["theirs"] = "x".into();
    on.put("bob", &changed);
    shop.apply(on.target(), &[config("a", "2")]).unwrap();
    let after = live(on.target(), &id("ConfigMap/shop/a")).unwrap();
    assert_eq!(after.head.uid, before.head.uid);
    assert_ne!(after.head.version, before.head.version);
    assert_eq!(after.object["data"], json!({"v": "2", "theirs": "x"}));
    let managers = after.object["metadata"]["managedFields"].as_array().unwrap();
    let of = |name: &str| managers.iter().find(|m| m["manager"] == name).unwrap();
    assert_eq!(of("holdfast")["operation"], "Apply");
    assert_eq!(
        (of("bob")["operation"].clone(), of("bob")["fieldsV1"].clone()),
        ("Update".into(), json!({"f:data": {"f:theirs": {}}}))
    );
    // What is declared no longer goes; what is others' stays.
    let mut none = config("a", "2");
    none["data"] = json!({"w": "3"});
    shop.apply(on.target(), &[none]).unwrap();
    assert_eq!(live(on.target(), &id("ConfigMap/shop/a")).unwrap().object["data"], json!({"w": "3", "theirs": "x"}));
}

/// Everything that a failed apply must leave as it was.
fn state(on: &dyn Fixture, shop: &Shop) -> String {
    let reader = on.target().reader().unwrap();
    let heads = reader.list(&Contents::Namespace("shop".into())).unwrap();
    let inventory = reader.inventory(&shop.source).unwrap();
    let history = reader.history(&History { limit: 1000 }).unwrap();
    format!("{heads:?} {inventory:?} {history:?} {:?}", reader.sources().unwrap())
}

fn a_write_that_does_not_meet_what_was_planned(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1"), config("z", "1")]).unwrap();
    let reader = on.target().reader().unwrap();
    let old = head(&*reader, &id("ConfigMap/shop/a")).unwrap();
    let warrant = shop.warrant(&*reader, &id("ConfigMap/shop/a"));
    drop(reader);
    let mut object = live(on.target(), &id("ConfigMap/shop/a")).unwrap().object;
    object["data"]["v"] = "other".into();
    on.put("bob", &object);
    let declared = || config("a", "2");
    let named = || id("ConfigMap/shop/a");
    let new = head(&*on.target().reader().unwrap(), &named()).unwrap();
    let other = holdfast::base::ids::ObjectUid::parse("11111111-1111-4111-8111-111111111111").unwrap();
    let (uid, version) = (old.uid, old.version);
    let wrong = vec![
        Write::Create { id: named(), declared: declared() },
        Write::Apply {
            id: named(),
            uid: uid.clone(),
            version: version.clone(),
            declared: declared(),
            relieves: Vec::new(),
        },
        Write::Apply {
            id: named(),
            uid: other.clone(),
            version: new.version.clone(),
            declared: declared(),
            relieves: Vec::new(),
        },
        Write::Replace { id: named(), uid: uid.clone(), version: version.clone(), declared: declared() },
        Write::Unmark { id: named(), uid: uid.clone(), version: version.clone() },
        Write::Delete { warrant, version: version.clone(), cascade: vec![] },
        Write::Apply {
            id: id("ConfigMap/shop/none"),
            uid,
            version,
            declared: config("none", "1"),
            relieves: Vec::new(),
        },
    ];
    let was = state(on, &shop);
    for write in wrong {
        let writer = on.target().writer(&[], WAIT).unwrap();
        let mut batch = shop.batch(writer.reader());
        // Something that could be written stands before it and after it.
        shop.declare(&mut batch, writer.reader(), &config("first", "1"));
        let shown = format!("{write:?}");
        let about = write.id().clone();
        batch.writes.push(write);
        shop.declare(&mut batch, writer.reader(), &config("last", "1"));
        match writer.commit(batch.into()).unwrap_err() {
            TargetError::Precondition { id, .. } => assert_eq!(id, about),
            other => panic!("{shown}: {other}"),
        }
        assert_eq!(state(on, &shop), was, "{shown}");
    }
}

fn another_serial_writes_nothing(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let was = state(on, &shop);
    let writer = on.target().writer(&[], WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    shop.declare(&mut batch, writer.reader(), &config("b", "1"));
    batch.sources[0].serial_before = 0;
    writer.commit(batch.into()).unwrap_err();
    assert_eq!(state(on, &shop), was);
}

fn a_plan_for_one_use_is_applied_once(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    let writer = on.target().writer(&[], WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    shop.declare(&mut batch, writer.reader(), &config("a", "1"));
    let plan = batch.plan.clone().unwrap();
    assert!(!writer.reader().was_applied(&plan).unwrap());
    writer.commit(batch.into()).unwrap();
    let again = |single_use: bool, shop: &mut Shop| {
        let writer = on.target().writer(&[], WAIT).unwrap();
        assert!(writer.reader().was_applied(&plan).unwrap());
        let mut batch = shop.batch(writer.reader());
        (batch.plan, batch.single_use) = (Some(plan.clone()), single_use);
        writer.commit(batch.into())
    };
    again(true, &mut shop).unwrap_err();
    again(false, &mut shop).unwrap();
}

fn a_writer_that_is_dropped_wrote_nothing(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    let was = state(on, &shop);
    drop(on.target().writer(std::slice::from_ref(&shop.source), WAIT).unwrap());
    assert_eq!(state(on, &shop), was);
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
}

fn a_delete_takes_exactly_what_it_names(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    let inside =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "gone"}});
    shop.apply(on.target(), &[namespace("gone"), inside("ours")]).unwrap();
    on.put("bob", &inside("theirs"));
    let attempt = |shop: &mut Shop, cascade: &[&str]| {
        let writer = on.target().writer(&[], WAIT).unwrap();
        let mut batch = shop.batch(writer.reader());
        shop.remove(&mut batch, writer.reader(), &id("ConfigMap/gone/ours"), &[]);
        shop.remove(&mut batch, writer.reader(), &id("Namespace/gone"), cascade);
        writer.commit(batch.into())
    };
    for wrong in [&[][..], &["ConfigMap/gone/theirs", "ConfigMap/gone/more"], &["ConfigMap/gone/ours"]] {
        assert!(matches!(attempt(&mut shop, wrong), Err(TargetError::Precondition { .. })), "{wrong:?}");
    }
    attempt(&mut shop, &["ConfigMap/gone/theirs"]).unwrap();
    let reader = on.target().reader().unwrap();
    assert!(head(&*reader, &id("Namespace/gone")).is_none());
    assert!(reader.list(&Contents::Namespace("gone".into())).unwrap().is_empty());
    assert!(reader.inventory(&shop.source).unwrap().rows.is_empty());
}

fn a_definition_and_its_objects(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[widget("w", 1)]).unwrap_err();
    shop.apply(on.target(), &[crd(), widget("w", 1)]).unwrap();
    let served = on.target().reader().unwrap().definitions().unwrap();
    assert!(served.iter().any(|definition| definition.head.id.name == "widgets.example.com"));
    let writer = on.target().writer(&[], WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    let definition = id("CustomResourceDefinition.apiextensions.k8s.io/widgets.example.com");
    shop.remove(&mut batch, writer.reader(), &id("Widget.example.com/shop/w"), &[]);
    shop.remove(&mut batch, writer.reader(), &definition, &[]);
    writer.commit(batch.into()).unwrap();
    assert!(
        on.target()
            .reader()
            .unwrap()
            .list(&Contents::Kind(GroupKind::new("example.com", "Widget")))
            .unwrap()
            .is_empty()
    );
}

fn what_only_a_deleted_object_owned_goes_along(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("owner", "1"), config("other", "1")]).unwrap();
    let owned_by = |name: &str, owners: &[&str]| {
        let mut object = config(name, "x");
        let owners: Vec<Value> = owners
            .iter()
            .map(|owner| {
                let uid = live(on.target(), &id(&format!("ConfigMap/shop/{owner}"))).unwrap().head.uid;
                json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid.as_str()})
            })
            .collect();
        object["metadata"]["ownerReferences"] = owners.into();
        on.put("controller", &object);
    };
    owned_by("child", &["owner"]);
    owned_by("grandchild", &["child"]);
    owned_by("shared", &["owner", "other"]);
    let attempt = |shop: &mut Shop, cascade: &[&str]| {
        let writer = on.target().writer(&[], WAIT).unwrap();
        let mut batch = shop.batch(writer.reader());
        shop.remove(&mut batch, writer.reader(), &id("ConfigMap/shop/owner"), cascade);
        writer.commit(batch.into())
    };
    attempt(&mut shop, &[]).unwrap_err();
    attempt(&mut shop, &["ConfigMap/shop/child", "ConfigMap/shop/grandchild"]).unwrap();
    on.settles("only what has another owner is left", &|| {
        let left = on.target().reader().unwrap().list(&Contents::Namespace("shop".into())).unwrap();
        // What a control plane puts into every Namespace is there besides.
        let left = left.iter().filter(|h| h.id.kind == "ConfigMap" && h.id.name != "kube-root-ca.crt");
        left.map(|h| h.id.name.as_str()).collect::<Vec<_>>() == ["other", "shared"]
    });
}

fn a_replace_makes_a_new_uid(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let writer = on.target().writer(&[], WAIT).unwrap();
    let old = head(writer.reader(), &id("ConfigMap/shop/a")).unwrap();
    let mut batch = shop.batch(writer.reader());
    let declared = shop.marked(&config("a", "2"), &batch.apply);
    batch.sources[0].upserts.push(shop.row(&declared));
    batch.writes.push(Write::Replace { id: old.id.clone(), uid: old.uid.clone(), version: old.version, declared });
    let written = writer.commit(batch.into()).unwrap();
    let new = live(on.target(), &id("ConfigMap/shop/a")).unwrap();
    assert_ne!(new.head.uid, old.uid);
    assert_eq!((&written.objects[0].1, &new.object["data"]["v"]), (&new.head.uid, &json!("2")));
    assert_eq!(on.target().reader().unwrap().inventory(&shop.source).unwrap().row(&old.id).unwrap().uid, new.head.uid);
}

fn an_object_made_again_by_hand_is_not_deleted(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let named = id("ConfigMap/shop/a");
    let before = live(on.target(), &named).unwrap();
    let warrant = shop.warrant(&*on.target().reader().unwrap(), &named);
    on.delete("bob", &named);
    let mut again = config("a", "1");
    again["metadata"]["annotations"] = before.object["metadata"]["annotations"].clone();
    on.put("bob", &again);
    let writer = on.target().writer(&[], WAIT).unwrap();
    let version = head(writer.reader(), &named).unwrap().version;
    let mut batch = shop.batch(writer.reader());
    batch.writes.push(Write::Delete { warrant, version, cascade: vec![] });
    batch.sources[0].removed.push(named.clone());
    assert!(matches!(writer.commit(batch.into()), Err(TargetError::Precondition { .. })));
    assert_ne!(live(on.target(), &named).unwrap().head.uid, before.head.uid);
}

fn an_unmark_leaves_everything_else(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let writer = on.target().writer(&[], WAIT).unwrap();
    let old = head(writer.reader(), &id("ConfigMap/shop/a")).unwrap();
    let mut batch = shop.batch(writer.reader());
    batch.writes.push(Write::Unmark { id: old.id.clone(), uid: old.uid.clone(), version: old.version });
    batch.sources[0].removed.push(old.id.clone());
    writer.commit(batch.into()).unwrap();
    let new = live(on.target(), &old.id).unwrap();
    assert_eq!((new.head.uid, new.head.mark), (old.uid, Ok(None)));
    assert_eq!(new.object["data"], json!({"v": "1"}));
}

fn released_rows_stay_readable(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let writer = on.target().writer(&[], WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    let row = writer.reader().inventory(&shop.source).unwrap().row(&id("ConfigMap/shop/a")).unwrap().clone();
    let released = Released {
        id: row.id.clone(),
        uid: row.uid.clone(),
        reason: "made again by hand".into(),
        apply: batch.apply.clone(),
        at: batch.at,
    };
    batch.sources[0].released.push(released.clone());
    writer.commit(batch.into()).unwrap();
    let reader = on.target().reader().unwrap();
    assert!(reader.inventory(&shop.source).unwrap().rows.is_empty());
    assert_eq!(reader.released(&shop.source).unwrap(), [released]);
    assert!(head(&*reader, &id("ConfigMap/shop/a")).is_some());
}

fn absent_is_told_apart(on: &dyn Fixture) {
    let shop = Shop::new(on.target(), "shop");
    let reader = on.target().reader().unwrap();
    assert!(reader.heads(&[&id("ConfigMap/shop/none"), &id("Widget.example.com/shop/w")]).unwrap().is_empty());
    assert!(reader.objects(&[&id("ConfigMap/none/none")]).unwrap().is_empty());
    assert!(reader.list(&Contents::Namespace("none".into())).unwrap().is_empty());
    assert_eq!(reader.inventory(&shop.source).unwrap().serial, 0);
    assert_eq!(reader.receipt("nothing").unwrap(), None);
    assert!(head(&*reader, &id("Namespace/shop")).is_some());
}

fn history_has_applies_refusals_and_receipts(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    let first = shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let refused = HistoryEntry {
        id: String::new(),
        at: Moment::from_millis(1_900_000_000_000),
        actor: "alice".into(),
        claimed: false,
        operation: "refused".into(),
        sources: vec!["shop".into()],
        commits: vec![],
        plan: None,
        result: "2 refusals".into(),
        objects: vec![],
    };
    on.target().note(refused.clone(), json!({"refusals": [1, 2]})).unwrap();
    let reader = on.target().reader().unwrap();
    let history = reader.history(&History { limit: 2 }).unwrap();
    let operations: Vec<&str> = history.iter().map(|entry| entry.operation.as_str()).collect();
    assert_eq!(operations, ["refused", "apply"]);
    assert_eq!((history[1].actor.as_str(), history[1].sources.as_slice()), ("alice", &["shop".to_owned()][..]));
    let (entry, receipt) = reader.receipt(&history[1].id[..30]).unwrap().unwrap();
    assert_eq!((entry, receipt), (history[1].clone(), first.receipt));
    assert_eq!(reader.receipt(&history[0].id).unwrap().unwrap().1, json!({"refusals": [1, 2]}));
    shop.apply(on.target(), &[config("a", "2")]).unwrap();
    let reader = on.target().reader().unwrap();
    assert!(matches!(reader.receipt("0"), Err(TargetError::Ambiguous { count: 2, .. })));
    let lines = reader.log(&id("ConfigMap/shop/a")).unwrap();
    let told: Vec<(&str, &str)> = lines.iter().map(|line| (line.operation.as_str(), line.actor.as_str())).collect();
    assert_eq!(told, [("updated", "alice"), ("created", "alice")]);
    assert!(lines[0].fields.iter().any(|field| field.as_str() == "/data/v"));
}

fn the_log_names_nothing_below_a_sensitive_place(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let mut object = config("a", "2");
    object["data"]["telling-key"] = "x".into();
    let writer = on.target().writer(&[], WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    shop.declare(&mut batch, writer.reader(), &object);
    batch.sources[0].upserts[0].sensitive = vec![holdfast::base::pointer::Pointer::of(["data"])];
    writer.commit(batch.into()).unwrap();
    let lines = on.target().reader().unwrap().log(&id("ConfigMap/shop/a")).unwrap();
    let fields: Vec<&str> = lines[0].fields.iter().map(|field| field.as_str()).collect();
    assert_eq!(fields, ["/data", "/metadata/annotations/holdfast.dev~1owner"]);
}

fn seen(on: &dyn Fixture, object: &Value) -> String {
    let live = live(on.target(), &build::id_of(object)).unwrap().object;
    let kind = object["kind"].as_str().unwrap();
    let schema = Catalog::builtin().resolve(&holdfast::base::resource::GroupVersionKind::new("v1", kind)).unwrap();
    // The mark is declared too.
    let mut declared = object.clone();
    declared["metadata"]["annotations"] = json!({ "holdfast.dev/owner": "mark" });
    seen_digest(Some(&schema), &live, &fields(&declared), &[]).to_string()
}

fn put_changed(on: &dyn Fixture, named: &str, change: impl FnOnce(&mut Value)) {
    let mut object = live(on.target(), &id(named)).unwrap().object;
    change(&mut object);
    on.put("bob", &object);
}

fn seen_moves_with_declared_fields_alone(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    let object = config("a", "1");
    shop.apply(on.target(), std::slice::from_ref(&object)).unwrap();
    let first = seen(on, &object);
    put_changed(on, "ConfigMap/shop/a", |live| live["data"]["theirs"] = "x".into());
    assert_eq!(seen(on, &object), first);
    shop.apply(on.target(), std::slice::from_ref(&object)).unwrap();
    assert_eq!(seen(on, &object), first, "another apply of the same");
    put_changed(on, "ConfigMap/shop/a", |live| live["data"]["v"] = "2".into());
    assert_ne!(seen(on, &object), first);
    put_changed(on, "ConfigMap/shop/a", |live| live["data"]["v"] = "1".into());
    assert_eq!(seen(on, &object), first);
    put_changed(on, "ConfigMap/shop/a", |live| {
        live["metadata"]["annotations"].as_object_mut().unwrap().remove("holdfast.dev/owner");
    });
    assert_ne!(seen(on, &object), first, "the mark counts");
}

fn seen_of_a_secret_moves_with_any_write(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    let object = secret("b", "b25l");
    shop.apply(on.target(), std::slice::from_ref(&object)).unwrap();
    let first = seen(on, &object);
    put_changed(on, "Secret/shop/b", |live| live["data"]["theirs"] = "eA==".into());
    assert_ne!(seen(on, &object), first);
}

fn an_apply_that_changes_nothing_moves_no_version(on: &dyn Fixture) {
    let mut shop = Shop::new(on.target(), "shop");
    shop.apply(on.target(), &[config("a", "1")]).unwrap();
    let before = live(on.target(), &id("ConfigMap/shop/a")).unwrap();
    let writer = on.target().writer(&[], WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    // With the mark of the apply before.
    let mut declared = config("a", "1");
    declared["metadata"]["annotations"] = before.object["metadata"]["annotations"].clone();
    let (uid, version) = (before.head.uid.clone(), before.head.version.clone());
    batch.sources[0].upserts.push(shop.row(&config("a", "1")));
    batch.writes.push(Write::Apply { id: before.head.id.clone(), uid, version, declared, relieves: Vec::new() });
    writer.commit(batch.into()).unwrap();
    assert_eq!(live(on.target(), &id("ConfigMap/shop/a")).unwrap(), before);
}
