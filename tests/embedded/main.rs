//! The embedded target: the conformance suite, and what only a file can do.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../conformance/mod.rs"]
mod conformance;
mod crash;
mod files;
mod hand;
mod support;

use holdfast::base::resource::ResourceId;
use holdfast::target::Target;
use serde_json::Value;

use support::Store;

struct Fresh(Store);

impl conformance::Fixture for Fresh {
    fn target(&self) -> &dyn Target {
        &self.0.target
    }

    fn put(&self, actor: &str, object: &Value) {
        self.0.put(actor, object).unwrap();
    }

    fn delete(&self, actor: &str, id: &ResourceId) {
        self.0.target.hand(actor).delete(std::slice::from_ref(id), conformance::build::at(0)).unwrap();
    }
}

#[test]
fn the_embedded_target_holds_what_every_target_must() {
    let mut failed = Vec::new();
    for (name, case) in conformance::ALL {
        let run = std::panic::catch_unwind(|| case(&Fresh(Store::new())));
        if run.is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn a_view_sees_one_moment_for_as_long_as_it_lives() {
    let store = Store::new();
    let mut shop = conformance::build::Shop::new(&store.target, "shop");
    let view = store.target.reader().unwrap();
    let revision = view.revision().unwrap();
    shop.apply(&store.target, &[conformance::build::config("a", "1")]).unwrap();
    let id = conformance::build::id("ConfigMap/shop/a");
    assert!(conformance::build::head(&*view, &id).is_none());
    assert_eq!(view.inventory(&shop.source).unwrap().serial, 0);
    assert_eq!(view.revision().unwrap(), revision);
    let later = store.target.reader().unwrap();
    assert!(conformance::build::head(&*later, &id).is_some());
    assert_ne!(later.revision().unwrap(), revision);
}

#[test]
fn no_sensitive_value_is_in_the_tables_of_the_log() {
    const VALUE: &str = "aHVudGVyMjIyMg==";
    let store = Store::new();
    let mut shop = conformance::build::Shop::new(&store.target, "shop");
    let secret = |value: &str| conformance::build::secret("b", value);
    shop.apply(&store.target, &[secret(VALUE)]).unwrap();
    shop.apply(&store.target, &[secret("b3RoZXI=")]).unwrap();
    store.put("bob", &secret(VALUE)).unwrap();
    let bad = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c", "namespace": "shop"},
        "data": {"pass": {"hunter2222": "hunter2222"}}, "hunter2222x": 1});
    let refused = store.put("bob", &bad).unwrap_err().to_string();
    assert!(!refused.contains("hunter2222:"), "{refused}");
    let conn = rusqlite::Connection::open(store.path()).unwrap();
    for table in ["entry", "line", "released", "inventory", "source"] {
        let mut statement = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query(()).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                let text = format!("{:?}", row.get_ref(column).unwrap());
                let text = text + &row.get::<_, String>(column).unwrap_or_default();
                assert!(!text.contains(VALUE) && !text.contains("hunter2222"), "{table}: {text}");
            }
        }
    }
}
