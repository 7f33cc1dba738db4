//! What a plan is called, and what is not in it.

use serde_json::{Value, json};

use crate::world::*;

fn secret(value: &str) -> Value {
    manifest("v1", "Secret", Some("shop"), "s", json!({"stringData": {"token": value}}))
}

fn world(objects: impl IntoIterator<Item = Value>) -> World {
    let source = Source::new("shop").declare([config("a", "1"), config("b", "1")]);
    World::of(source.clone()).applied().now([source.at(2, objects)])
}

fn two() -> [Value; 2] {
    [config("a", "2"), config("b", "1")]
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (one, other) = (world(two()).plan(), world(two()).plan());
    let bytes = |plan| holdfast::plan::stored::write(plan).unwrap();
    assert_eq!(bytes(&one), bytes(&other));
}

#[test]
fn a_commit_a_serial_and_places_move_the_plan_id_and_not_the_content_id() {
    let plan = world(two()).plan();
    let mut squashed = world(two());
    squashed.sources[0].commit = commit(7);
    squashed.sources[0].rewind = true;
    let mut renamed = world(two());
    renamed.sources[0].files[0].0 = "zzz.yaml".to_owned();
    renamed.sources[0].files[1].1.insert_str(0, "# moved\n\n");
    let mut serial = world(two());
    let of = serial.sources[0].id();
    serial.target.inventories.get_mut(&of).unwrap().serial += 3;
    for other in [squashed, renamed, serial] {
        let other = other.plan();
        assert_eq!(other.content_id, plan.content_id);
        assert_ne!(other.plan_id, plan.plan_id);
    }
}

#[test]
fn another_value_another_live_object_and_another_permission_move_the_content_id() {
    let plan = world(two()).plan();
    let value = world([config("a", "3"), config("b", "1")]);
    let mut live = world(two());
    live.target.edit(&id("ConfigMap/shop/b"), "somebody", |o| o["data"]["v"] = "9".into());
    let fewer = world([config("a", "2")]);
    let mut spec = world(two());
    spec.sources[0].spec.prune_budget.objects = 3;
    for other in [value, live, fewer, spec] {
        assert_ne!(other.plan().content_id, plan.content_id);
    }
}

#[test]
fn warnings_that_change_places_among_each_other_move_no_content_id() {
    let with = |places: [(u32, &str); 2]| {
        let mut plan = world(two()).plan();
        let warning = |(line, path): (u32, &str)| json!({"rule": "r", "text": "the same", "file": "a.yaml", "line": line, "path": path});
        let warnings = places.map(|place| serde_json::from_value(warning(place)).unwrap());
        plan.changes[0].warnings.extend(warnings);
        plan.changes[0].warnings.sort();
        holdfast::plan::identity::name(&plan).unwrap()
    };
    let (one, other) = (with([(1, "/a"), (2, "/b")]), with([(2, "/a"), (1, "/b")]));
    assert_eq!(one.1, other.1);
    assert_ne!(one.0, other.0);
}

#[test]
fn a_sensitive_value_to_be_written_binds_its_commit_and_file() {
    let with = |value: &str, number: u8| {
        let mut world = world(two().into_iter().chain([secret(value)]));
        world.sources[0].commit = commit(number);
        world
    };
    let plan = with("one", 2).plan();
    assert_eq!(with("two", 2).plan().content_id, plan.content_id, "a value of the same length is in no digest");
    assert_ne!(with("one", 3).plan().content_id, plan.content_id);
    let mut moved = with("one", 2);
    moved.sources[0].files[2].0 = "zzz.yaml".to_owned();
    assert_ne!(moved.plan().content_id, plan.content_id);
    // Once it is written and unchanged, nothing binds them any more.
    let after = with("one", 2).applied();
    let mut later = after.clone();
    later.sources[0].commit = commit(8);
    assert_eq!(later.plan().content_id, after.plan().content_id);
}

#[test]
fn a_changed_sensitive_value_is_an_update_though_its_digest_is_the_same() {
    let source = Source::new("shop").declare([secret("one")]);
    let before = World::of(source.clone()).applied();
    let plan = before.now([source.at(2, [secret("two")])]).plan();
    assert_eq!(fields(&plan, "Secret/shop/s"), ["/data/token"]);
    let text = serde_json::to_string(&plan).unwrap();
    for value in ["one", "two", "b25l", "dHdv"] {
        assert!(!text.contains(&format!("\"{value}\"")), "{value} is in {text}");
    }
    // In the same commit, but from another file: a Source whose path moved.
    let mut elsewhere = source.at(1, [secret("two")]);
    elsewhere.files[0].0 = "other.yaml".to_owned();
    assert_eq!(fields(&before.now([elsewhere]).plan(), "Secret/shop/s"), ["/data/token"]);
}

/// Entries of a list stand at other places before and after: a value is masked by where it comes from.
#[test]
fn a_sensitive_value_is_masked_wherever_it_stands_in_its_list() {
    let env = |entries: Value| {
        deployment(
            "web",
            json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "main:1", "env": entries}]}}}}),
        )
    };
    let entry = |name: &str, value: &str| json!({"name": name, "value": value});
    let (plain, token) = (entry("PLAIN", "1"), |value: &str| entry("TOKEN", value));
    let cases = [
        (json!([plain, token("s3cret-one")]), json!([token("s3cret-two")])),
        (json!([token("s3cret-one"), plain]), json!([plain, token("s3cret-two")])),
        (json!([plain, token("s3cret-one")]), json!([plain])),
        (json!([plain]), json!([token("s3cret-two"), plain])),
        (
            json!([entry("A", "1"), entry("B", "1"), token("s3cret-one")]),
            json!([entry("B", "2"), token("s3cret-two"), entry("C", "1")]),
        ),
    ];
    for (before, after) in cases {
        let source = Source::new("shop").declare([env(before.clone())]);
        let plan = World::of(source.clone()).applied().now([source.at(2, [env(after.clone())])]).plan();
        let text = serde_json::to_string(&plan).unwrap();
        assert!(!text.contains("s3cret"), "{before} to {after}: {text}");
        assert!(text.contains("(sensitive, 10 bytes)"));
    }
    // A container that moves takes its list with it.
    let both = |names: [&str; 2], value: &str| {
        let args = |name: &str| if name == "b" { json!(["--token", value]) } else { json!(["run", "fast", "safe"]) };
        let containers: Vec<Value> =
            names.iter().map(|n| json!({"name": n, "image": "i:1", "args": args(n)})).collect();
        deployment("web", json!({"spec": {"template": {"spec": {"containers": containers}}}}))
    };
    for (first, second) in
        [(["a", "b"], ["b", "a"]), (["b", "a"], ["a", "b"]), (["a", "b"], ["b", "c"]), (["c", "b"], ["b", "a"])]
    {
        let source = Source::new("shop").declare([both(first, "s3cret-one")]);
        let plan = World::of(source.clone()).applied().now([source.at(2, [both(second, "s3cret-two")])]).plan();
        assert!(!serde_json::to_string(&plan).unwrap().contains("s3cret"), "{first:?} to {second:?}");
    }
}
