//! What becomes of each resource.

use serde_json::json;

use crate::target::id_of;
use crate::world::*;

fn shop() -> Source {
    Source::new("shop")
}

#[test]
fn what_is_declared_and_absent_is_created() {
    let world = World::of(shop().declare([config("a", "1")]));
    let plan = world.plan();
    assert_eq!(acts(&plan), ["create ConfigMap/shop/a"]);
    let entry = change(&plan, "ConfigMap/shop/a");
    assert_eq!((entry.file.as_deref(), entry.line, &entry.uid), (Some("000.yaml"), Some(1), &None));
    assert_eq!(entry.fields[0].after.as_ref().unwrap()["data"], json!({"v": "1"}));
    assert_eq!(plan.summary.create, 1);
}

#[test]
fn what_was_applied_is_unchanged() {
    let world = World::of(shop().declare([config("a", "1"), namespace("more")])).applied();
    let plan = world.plan();
    assert_eq!(acts(&plan), [] as [&str; 0]);
    assert_eq!(plan.summary.unchanged, 2);
}
