//! What makes a reviewed plan stale, and what doesn't.

use holdfast::base::ids::TargetIdentity;
use holdfast::plan::binding::{moved, not_given};
use holdfast::plan::document::{Allowances, PlanDocument};
use holdfast::plan::identity;
use serde_json::{Value, json};

use crate::world::*;

const A: &str = "ConfigMap/shop/a";
const B: &str = "ConfigMap/shop/b";

/// A world with a pending update of `a`, an unchanged `b`, a pending delete of `c` and a kept `d`.
fn world() -> World {
    let source = Source::new("shop").declare([
        config("a", "1"),
        config("b", "1"),
        config("c", "1"),
        claim("d"),
        config("e", "1"),
    ]);
    World::of(source.clone()).applied().now([source.at(2, [config("a", "2"), config("b", "1"), config("new", "1")])])
}

fn rules(before: &PlanDocument, after: &PlanDocument) -> Vec<String> {
    let mut rules: Vec<String> = moved(before, after)
        .into_iter()
        .map(|f| f.id.map_or_else(|| f.rule.as_str().to_owned(), |id| format!("{} {id}", f.rule.as_str())))
        .collect();
    rules.sort();
    rules
}

fn stale_after(change: impl FnOnce(&mut World)) -> Vec<String> {
    let mut world = world();
    let before = world.plan();
    change(&mut world);
    rules(&before, &world.plan())
}

fn set(of: &str, value: &str) -> impl FnOnce(&mut World) {
    move |w| w.target.edit(&id(of), "somebody", |o| o["data"]["v"] = value.into())
}

#[test]
fn a_change_of_what_was_seen_makes_it_stale_on_every_object_of_the_plan() {
    assert_eq!(stale_after(|_| {}), [] as [&str; 0]);
    assert_eq!(stale_after(set(A, "7")), ["stale-plan ConfigMap/shop/a"]);
    assert_eq!(stale_after(set(B, "7")), ["stale-plan ConfigMap/shop/b"]);
    assert_eq!(stale_after(set("ConfigMap/shop/c", "7")), ["stale-plan ConfigMap/shop/c"]);
    let grown = |w: &mut World| {
        w.target.edit(&id("PersistentVolumeClaim/shop/d"), "somebody", |o| {
            o["spec"]["resources"]["requests"]["storage"] = "2Gi".into()
        });
    };
    assert_eq!(stale_after(grown), ["stale-plan PersistentVolumeClaim/shop/d"]);
}

#[test]
fn what_others_do_to_their_own_fields_makes_nothing_stale() {
    for of in [A, B, "ConfigMap/shop/c"] {
        let theirs = |w: &mut World| {
            w.target.edit(&id(of), "somebody", |o| {
                o["data"]["theirs"] = "x".into();
                o["metadata"]["labels"] = json!({"x": "y"});
            });
        };
        assert_eq!(stale_after(theirs), [] as [&str; 0], "{of}");
    }
    // Set and set back.
    let back = |w: &mut World| {
        set(A, "7")(w);
        set(A, "1")(w);
    };
    let found = stale_after(back);
    // Its holder is another now, and a plan lists what it takes from whom.
    assert_eq!(found, ["stale-plan ConfigMap/shop/a"]);
}

#[test]
fn objects_that_come_go_or_are_made_again_make_it_stale() {
    let gone = |of: &'static str| move |w: &mut World| drop(w.target.objects.remove(&id(of)));
    for of in [A, B, "ConfigMap/shop/c", "ConfigMap/shop/e"] {
        assert_eq!(stale_after(gone(of)), [format!("stale-plan {of}")]);
    }
    assert_eq!(stale_after(|w| w.target.recreate(&id("ConfigMap/shop/c"))), ["stale-plan ConfigMap/shop/c"]);
    let mut came = world();
    came.target.put(config("new", "1"), "somebody");
    assert_eq!(came.refused(), ["exists-unowned ConfigMap/shop/new"]);
}

#[test]
fn a_mark_that_moves_makes_it_stale() {
    assert_eq!(stale_after(|w| w.target.mark(&id("ConfigMap/shop/c"), None)), ["stale-plan ConfigMap/shop/c"]);
}

#[test]
fn another_serial_commit_or_configuration_makes_it_stale() {
    let serial = |w: &mut World| {
        let source = w.sources[0].id();
        w.target.inventories.get_mut(&source).unwrap().serial += 1;
    };
    assert_eq!(stale_after(serial), ["stale-plan"]);
    assert_eq!(stale_after(|w| w.sources[0].commit = commit(9)), ["stale-plan"]);
    assert_eq!(stale_after(|w| w.sources[0].spec.ignore.push("x".to_owned())), ["stale-plan"]);
    assert_eq!(stale_after(|w| w.sources[0].rewind = true), ["stale-plan"]);
    let more = |w: &mut World| w.sources.push(Source::new("tail"));
    assert_eq!(stale_after(more), ["stale-plan"]);
}

#[test]
fn what_would_go_along_with_a_delete_is_bound_and_what_only_holds_back_is_not() {
    let mut source = Source::new("shop").declare([namespace("team"), config("y", "1")]);
    source.spec.namespaces = holdfast::source::scope::Namespaces::Any;
    let next = World::of(source.clone()).applied().now([source.at(2, [config("y", "1")])]);
    let put = |world: &World, name: &str| {
        let mut world = world.clone();
        world.target.put(manifest("v1", "ConfigMap", Some("team"), name, json!({})), "somebody");
        world
    };
    let one = put(&next, "one").allow("Namespace/team=5");
    assert_eq!(rules(&one.plan(), &put(&one, "two").plan()), ["stale-plan Namespace/team"]);
    let held = put(&next, "one");
    assert_eq!(rules(&held.plan(), &put(&held, "two").plan()), [] as [&str; 0]);
}

#[test]
fn the_holder_of_a_field_to_be_taken_is_bound() {
    let mut world = world();
    set(A, "7")(&mut world);
    let before = world.plan();
    world.target.edit(&id(A), "another", |o| o["data"]["v"] = "8".into());
    world.target.edit(&id(A), "another", |o| o["data"]["v"] = "7".into());
    assert_eq!(rules(&before, &world.plan()), ["stale-plan ConfigMap/shop/a"]);
}

#[test]
fn another_target_is_told_before_anything_else() {
    let (before, mut after) = (world().plan(), world().plan());
    after.target.identity = TargetIdentity::parse("another").unwrap();
    after.changes.clear();
    assert_eq!(rules(&before, &after), ["wrong-target"]);
}

#[test]
fn permissions_of_a_plan_must_be_given_again_and_needless_ones_count_for_nothing() {
    let world = world().allow("PersistentVolumeClaim/shop/d");
    let plan = world.plan();
    let given =
        |allow: &[&str]| Allowances { allow: allow.iter().map(|t| (*t).to_owned()).collect(), ..Allowances::default() };
    assert_eq!(not_given(&plan, &given(&["PersistentVolumeClaim/shop/d"])), []);
    assert_eq!(not_given(&plan, &given(&["PersistentVolumeClaim/shop/d", "ConfigMap/shop/zzz"])), []);
    assert_eq!(not_given(&plan, &given(&[]))[0].rule.as_str(), "permission-not-given");
    let needless = world.clone().allow("ConfigMap/shop/zzz").grant(|a| a.deletes = Some(50));
    assert_eq!(needless.plan(), plan);
    let mut forged = plan.clone();
    forged.allowances.deletes = Some(99);
    assert_eq!(not_given(&forged, &given(&["PersistentVolumeClaim/shop/d"])).len(), 1);
    assert_eq!(rules(&forged, &plan), ["permission-not-given"]);
}

/// A plan file that was edited and named anew: what it shows must be what it does.
#[test]
fn a_forged_report_is_refused() {
    let plan = world().plan();
    let at = |of: &str| plan.changes.iter().position(|c| c.id == id(of)).unwrap();
    let (a, new) = (at(A), at("ConfigMap/shop/new"));
    let forge = |pointer: String, value: Value| {
        let mut edited = serde_json::to_value(&plan).unwrap();
        *edited.pointer_mut(&pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        let mut plan: PlanDocument = serde_json::from_value(edited).unwrap();
        (plan.plan_id, plan.content_id) = identity::name(&plan).unwrap();
        plan
    };
    for (pointer, value) in [
        (format!("/changes/{a}/fields/0/after"), json!("3")),
        (format!("/changes/{a}/fields/0/path"), json!("/data/w")),
        (format!("/changes/{a}/fields"), json!([])),
        (format!("/changes/{a}/file"), json!("other.yaml")),
        (format!("/changes/{a}/wave"), json!(7)),
        (format!("/changes/{a}/undo"), json!("none")),
        (format!("/changes/{new}/fields/0/after/data"), json!({})),
    ] {
        assert_eq!(rules(&forge(pointer.clone(), value), &plan), ["plan-digest"], "{pointer}");
    }
    for (pointer, value, of) in [
        (format!("/changes/{a}/action"), json!("own"), A),
        (format!("/changes/{a}/id/name"), json!("aa"), A),
        (format!("/changes/{a}/declared"), json!("0".repeat(64)), A),
        ("/unchanged/0/uid".to_owned(), json!("another"), B),
    ] {
        assert!(rules(&forge(pointer.clone(), value), &plan).contains(&format!("stale-plan {of}")), "{pointer}");
    }
    let mut swapped = plan.clone();
    swapped.changes.swap(a, new);
    assert_eq!(rules(&swapped, &plan), ["plan-digest"]);
}
