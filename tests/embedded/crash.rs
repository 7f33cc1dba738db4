//! kill -9 at every sync point and at other moments: all old or all new, and the next run works unaided.

use std::path::Path;
use std::time::Duration;

use holdfast::base::failpoint;
use holdfast::target::sqlite::{Access, Embedded};
use holdfast::target::{Contents, History, Target};
use serde_json::{Value, json};

use crate::conformance::build::{Shop, WAIT, config, id};
use crate::support::{Store, child, options, task, wait_for};

const COUNT: usize = 300;

fn objects(value: &str) -> Vec<Value> {
    (0..COUNT).map(|n| config(&format!("c{n:03}"), value)).collect()
}

/// Old: `old` everywhere and two rows to go. New: `new` everywhere.
fn state(target: &Embedded, shop: &Shop) -> &'static str {
    let reader = target.reader().unwrap();
    let heads = reader.list(&Contents::Namespace("shop".into())).unwrap();
    let ids: Vec<_> = heads.iter().map(|head| &head.id).collect();
    let live = reader.objects(&ids).unwrap();
    let values: Vec<&str> = live.values().map(|live| live.object["data"]["v"].as_str().unwrap()).collect();
    let inventory = reader.inventory(&shop.source).unwrap();
    let applies = reader.history(&History { limit: 100 }).unwrap().iter().filter(|e| e.operation == "apply").count();
    for row in inventory.rows.values() {
        let id = &row.id;
        assert_eq!((&row.uid, &row.version), (&live[id].head.uid, &live[id].head.version), "{id}");
    }
    let all = |value: &str| values.iter().all(|v| *v == value);
    match (values.len(), inventory.rows.len(), inventory.serial, applies) {
        (302, 302, 1, 1) if all("old") => "old",
        (300, 300, 2, 2) if all("new") => "new",
        other => panic!("between: {other:?}"),
    }
}

/// A store with 302 objects, of which the second apply updates 300 and deletes two.
fn prepared() -> (Store, Shop) {
    let store = Store::new();
    let mut shop = Shop::new(&store.target, "shop");
    let mut all = objects("old");
    all.extend([config("gone-1", "old"), config("gone-2", "old")]);
    shop.apply(&store.target, &all).unwrap();
    (store, shop)
}

fn second(target: &Embedded, shop: &mut Shop) {
    let writer = target.writer(std::slice::from_ref(&shop.source), WAIT).unwrap();
    let mut batch = shop.batch(writer.reader());
    for object in objects("new") {
        shop.declare(&mut batch, writer.reader(), &object);
    }
    for gone in ["ConfigMap/shop/gone-1", "ConfigMap/shop/gone-2"] {
        shop.remove(&mut batch, writer.reader(), &id(gone), &[]);
    }
    writer.commit(batch.into()).unwrap();
}

fn settle(store: &Store, shop: &mut Shop, expected: Option<&str>) {
    let target = store.reopen(Access::Write).unwrap();
    let now = state(&target, shop);
    assert!(expected.is_none_or(|expected| expected == now), "{now}");
    if now == "old" {
        second(&target, shop);
    }
    assert_eq!(state(&target, shop), "new");
}

#[test]
fn a_crash_at_any_sync_point_leaves_all_old_or_all_new() {
    for name in failpoint::NAMES {
        let times: &[usize] = match name {
            failpoint::STORE_MADE | failpoint::STORE_PLACED => continue,
            failpoint::AFTER_OBJECT => &[1, 2, 150, 256, 257, 300],
            failpoint::AFTER_DELETE => &[1, 2],
            _ => &[1],
        };
        for nth in times {
            let (store, mut shop) = prepared();
            let task = json!({"failpoint": name, "nth": nth});
            let output = child("crash::child_that_applies", store.folder.path(), &task).output().unwrap();
            assert!(!output.status.success(), "{name} {nth} was not reached");
            assert!(!String::from_utf8_lossy(&output.stdout).contains("applied"), "{name} {nth}");
            let expected = if name == failpoint::AFTER_COMMIT { "new" } else { "old" };
            settle(&store, &mut shop, Some(expected));
        }
    }
}

#[test]
fn a_kill_at_any_moment_leaves_all_old_or_all_new() {
    let (mut old, mut new) = (0, 0);
    // Moments spread over the length of one whole run.
    let (store, _) = prepared();
    let started = std::time::Instant::now();
    let mut whole = child("crash::child_that_applies", store.folder.path(), &json!({})).spawn().unwrap();
    wait_for(&mut whole, "applied");
    let length = started.elapsed();
    whole.wait().unwrap();
    for moment in 0..25_u32 {
        let (store, mut shop) = prepared();
        let mut victim = child("crash::child_that_applies", store.folder.path(), &json!({})).spawn().unwrap();
        wait_for(&mut victim, "ready");
        let until = std::time::Instant::now() + length * moment / 25;
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        match state(&store.reopen(Access::Write).unwrap(), &shop) {
            "old" => old += 1,
            _ => new += 1,
        }
        settle(&store, &mut shop, None);
    }
    println!("{old} old, {new} new");
    assert!(old > 0);
}

#[test]
#[ignore = "a child of another test"]
fn child_that_applies() {
    let Some(task) = task() else { return };
    let target = Embedded::open(Path::new("db/cp.db"), options(Access::Write)).unwrap();
    let mut shop = Shop::new(&target, "shop");
    if let Some(name) = task["failpoint"].as_str() {
        failpoint::arm(name, usize::try_from(task["nth"].as_u64().unwrap()).unwrap(), failpoint::Act::Abort).unwrap();
    }
    println!("ready");
    second(&target, &mut shop);
    println!("applied");
}

#[test]
fn a_crash_while_the_store_is_made_leaves_none_or_a_whole_one() {
    for name in [failpoint::STORE_MADE, failpoint::STORE_PLACED] {
        let folder = tempfile::tempdir().unwrap();
        let output =
            child("crash::child_that_makes_a_store", folder.path(), &json!({"failpoint": name})).output().unwrap();
        assert!(!output.status.success(), "{name} was not reached");
        assert_eq!(folder.path().join("db/cp.db").exists(), name == failpoint::STORE_PLACED);
        let target = Embedded::open(&folder.path().join("db/cp.db"), options(Access::Create)).unwrap();
        assert!(target.reader().unwrap().identity().is_ok());
    }
}

#[test]
#[ignore = "a child of another test"]
fn child_that_makes_a_store() {
    let Some(task) = task() else { return };
    failpoint::arm(task["failpoint"].as_str().unwrap(), 1, failpoint::Act::Abort).unwrap();
    let _ = Embedded::open(
        Path::new("db/cp.db"),
        holdfast::target::sqlite::Options {
            access: Access::Create,
            wait: Duration::from_secs(1),
            now: crate::conformance::build::at(0),
        },
    );
}

#[test]
fn a_failpoint_of_no_name_is_refused() {
    assert!(failpoint::arm("nowhere", 1, failpoint::Act::Abort).is_err());
}
