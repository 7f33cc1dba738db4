//! When an object that left the commit is deleted, and when it is kept.

use serde_json::{Value, json};

use crate::world::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    No,
    ByOther,
    Unknown,
}

fn stateful(delete: bool) -> Value {
    let when = if delete { "Delete" } else { "Retain" };
    let labels = json!({"app": "x"});
    manifest(
        "apps/v1",
        "StatefulSet",
        Some("shop"),
        "x",
        json!({"spec": {"serviceName": "x", "selector": {"matchLabels": labels},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": when},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}}}}),
    )
}

fn account() -> Value {
    manifest("v1", "ServiceAccount", Some("shop"), "y", json!({}))
}

/// Every combination of what decides about one owned object that nobody else holds back.
#[test]
fn a_delete_needs_prune_scope_no_other_wish_and_a_permission_for_what_is_protected() {
    let volume = manifest(
        "v1",
        "PersistentVolume",
        None,
        "x",
        json!({"spec": {"capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}),
    );
    let kinds = [config("x", "1"), claim("x"), volume, stateful(true), stateful(false)];
    let mut cases = 0;
    for object in kinds {
        let of = crate::target::id_of(&object);
        let protected =
            matches!(of.kind.as_str(), "PersistentVolumeClaim" | "PersistentVolume") || object == stateful(true);
        for said in ["", "keep", "allow"] {
            let asked = if said.is_empty() { object.clone() } else { asking(object.clone(), &[("prune", said)]) };
            let source = Source::new("shop").declare([asked, account()]);
            let applied = World::of(source.clone()).applied();
            for bits in 0..32_u32 {
                let flag = |bit: u32| bits >> bit & 1 == 1;
                let (prune, in_scope, allowed, release, permit) = (flag(0), flag(1), flag(2), flag(3), flag(4));
                for wanted in [Wanted::No, Wanted::ByOther, Wanted::Unknown] {
                    let mut next = source.at(2, [account()]);
                    next.spec.prune = prune;
                    if !in_scope {
                        next.spec.kinds.deny.insert(of.group_kind());
                    }
                    if !permit {
                        next.spec.permit_in_git.clear();
                    }
                    let mut world = applied.now([next]);
                    world = match wanted {
                        Wanted::No => world.with_other("other", Ok(vec![])),
                        Wanted::ByOther => world.with_other("other", Ok(vec![&of.to_string()])),
                        Wanted::Unknown => world.with_other("other", Err("gone")),
                    };
                    if allowed {
                        world = world.allow(&of.to_string());
                    }
                    if release {
                        world = world.grant(|a| a.release.push(of.to_string()));
                    }
                    let needs_word = (protected && !(said == "allow" && permit)) || said == "keep";
                    let expected = if release {
                        ("release", "released")
                    } else if wanted == Wanted::ByOther {
                        ("keep", "wanted-by-other")
                    } else if wanted == Wanted::Unknown {
                        ("keep", "others-unknown")
                    } else if !in_scope {
                        ("keep", "out-of-scope")
                    } else if !prune {
                        ("keep", "prune-off")
                    } else if needs_word && !allowed {
                        ("keep", if said == "keep" { "prune-keep" } else { "protected-delete" })
                    } else {
                        ("delete", "")
                    };
                    let plan = world.plan();
                    assert_eq!(verdict(&plan, &of.to_string()), expected, "{of} {said} {bits:05b} {wanted:?}");
                    let used = plan.allowances.allow.len() + plan.allowances.release.len();
                    assert!(used <= 1 && (used == 1) == (release || (allowed && expected.0 == "delete")));
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 5 * 3 * 32 * 3);
}

#[test]
fn a_kept_row_stays_and_says_so_at_every_plan() {
    let source = Source::new("shop").declare([claim("data"), config("y", "1")]);
    let world = World::of(source.clone()).applied().now([source.at(2, [config("y", "1")])]);
    let mut world = world;
    for _ in 0..3 {
        let plan = world.plan();
        assert_eq!(verdict(&plan, "PersistentVolumeClaim/shop/data"), ("keep", "protected-delete"));
        assert!(plan.changes.iter().all(|c| !c.action.is_pending()));
        world = world.applied();
    }
    let gone = world.allow("PersistentVolumeClaim/shop/data").applied();
    assert!(!gone.target.objects.contains_key(&id("PersistentVolumeClaim/shop/data")));
}

#[test]
fn a_permission_in_git_counts_only_as_the_last_applied_commit_had_it() {
    let source = Source::new("shop").declare([claim("data"), config("y", "1")]);
    let applied = World::of(source.clone()).applied();
    // The commit that says so must have been applied before the one that drops the manifest.
    let said = applied.now([source.at(2, [asking(claim("data"), &[("prune", "allow")]), config("y", "1")])]);
    let straight = said.now([source.at(3, [config("y", "1")])]);
    assert_eq!(verdict(&straight.plan(), "PersistentVolumeClaim/shop/data"), ("keep", "protected-delete"));
    let after = said.applied().now([source.at(3, [config("y", "1")])]);
    assert_eq!(verdict(&after.plan(), "PersistentVolumeClaim/shop/data"), ("delete", ""));
}

#[test]
fn the_namespaces_of_the_control_plane_are_never_deleted() {
    let source = Source::new("shop").declare([namespace("default"), config("y", "1")]);
    let world = World::of(source.clone()).applied().now([source.at(2, [config("y", "1")])]);
    let world = world.allow("Namespace/default=9");
    assert_eq!(verdict(&world.plan(), "Namespace/default"), ("keep", "protected-delete"));
}

#[test]
fn a_namespace_goes_only_with_everything_in_it() {
    let source = Source::new("shop").declare([
        namespace("team"),
        manifest("v1", "ConfigMap", Some("team"), "a", json!({})),
        config("y", "1"),
    ]);
    let mut source = source;
    source.spec.namespaces = holdfast::source::scope::Namespaces::Any;
    let mut world = World::of(source.clone()).applied();
    world.target.put(manifest("v1", "Secret", Some("team"), "by-hand", json!({})), "somebody");
    world.target.put(manifest("v1", "ConfigMap", Some("team"), "kube-root-ca.crt", json!({})), "control-plane");
    world.target.put(manifest("v1", "ServiceAccount", Some("team"), "default", json!({})), "control-plane");

    let still =
        world.now([source.at(2, [manifest("v1", "ConfigMap", Some("team"), "a", json!({})), config("y", "1")])]);
    let kept = still.plan();
    assert_eq!(verdict(&kept, "Namespace/team"), ("keep", "protected-delete"));
    assert_eq!(change(&kept, "Namespace/team").holds, [id("ConfigMap/team/a"), id("Secret/team/by-hand")]);

    let gone = world.now([source.at(2, [config("y", "1")])]).grant(|a| a.deletes = Some(2));
    assert_eq!(change(&gone.plan(), "Namespace/team").holds, [id("Secret/team/by-hand")]);
    assert_eq!(acts(&gone.clone().allow("Namespace/team=0").plan())[0], "delete ConfigMap/team/a");
    assert_eq!(verdict(&gone.clone().allow("Namespace/team=0").plan(), "Namespace/team").0, "keep");
    let allowed = gone.allow("Namespace/team=1");
    let plan = allowed.plan();
    assert_eq!(acts(&plan), ["delete ConfigMap/team/a", "delete Namespace/team"]);
    let along = ["ConfigMap/team/kube-root-ca.crt", "Secret/team/by-hand", "ServiceAccount/team/default"].map(id);
    assert_eq!(change(&plan, "Namespace/team").holds, along);
    assert_eq!(change(&plan, "Namespace/team").undo, holdfast::plan::document::Undo::None);
    assert!(allowed.applied().target.objects.keys().all(|id| id.namespace.as_deref() != Some("team")));
}

#[test]
fn no_permission_covers_what_another_source_owns_or_names() {
    let mut source = Source::new("shop").declare([namespace("team"), config("y", "1")]);
    source.spec.namespaces = holdfast::source::scope::Namespaces::Any;
    let base = World::of(source.clone()).applied();
    let theirs = || manifest("v1", "ConfigMap", Some("team"), "theirs", json!({}));
    let gone = |world: &World| world.now([source.at(2, [config("y", "1")])]).allow("Namespace/team=9");
    // Owned by another Source that isn't planned.
    let mut other = Source::new("other").declare([theirs()]);
    other.spec.namespaces = holdfast::source::scope::Namespaces::Any;
    let mut owned = World { sources: vec![other.clone()], ..base.clone() }.applied();
    owned.sources = base.sources.clone();
    assert_eq!(change(&gone(&owned).plan(), "Namespace/team").holds, [id("ConfigMap/team/theirs")]);
    // Of nobody's, and named by another Source of the configuration.
    let mut named = base.clone();
    named.target.put(theirs(), "somebody");
    assert_eq!(verdict(&gone(&named).plan(), "Namespace/team").0, "delete");
    let named = gone(&named).with_other("other", Ok(vec!["ConfigMap/team/theirs"]));
    assert_eq!(change(&named.plan(), "Namespace/team").holds, [id("ConfigMap/team/theirs")]);
    // Declared by a Source of the same plan, and not there yet.
    let planned = World::new(base.target.clone(), [source.at(2, [config("y", "1")]), other.clone()]);
    let plan = planned.allow("Namespace/team=9").plan();
    assert_eq!(acts(&plan), ["create ConfigMap/team/theirs", "keep Namespace/team"]);
    // An unreadable mark may be anybody's.
    let mut bad = base.clone();
    bad.target.put(theirs(), "somebody");
    bad.target.mark(&id("ConfigMap/team/theirs"), Some("?"));
    assert_eq!(verdict(&gone(&bad).plan(), "Namespace/team"), ("keep", "protected-delete"));
}

#[test]
fn a_definition_goes_only_with_every_object_of_its_kind_and_what_they_own() {
    let source = Source::new("shop").declare([definition(), config("y", "1")]);
    let first = World::of(source.clone()).applied();
    let with = source.at(2, [definition(), config("y", "1"), widget("shop", "w1", 1)]);
    let mut world = first.now([with]).applied();
    world.target.put(namespace("far"), "somebody");
    world.target.put(widget("far", "w2", 1), "somebody");
    let owner = world.target.objects[&id("Widget.example.com/far/w2")].clone();
    let mut data = claim("data");
    data["metadata"]["namespace"] = "far".into();
    world.target.put(owned_by(data, &owner, true), "somebody");
    let gone = world.now([source.at(3, [config("y", "1")])]).grant(|a| a.deletes = Some(5));
    let crd = "CustomResourceDefinition.apiextensions.k8s.io/widgets.example.com";
    let plan = gone.plan();
    assert_eq!(change(&plan, crd).holds, [id("PersistentVolumeClaim/far/data"), id("Widget.example.com/far/w2")]);
    assert_eq!(verdict(&gone.clone().allow(&format!("{crd}=1")).plan(), crd).0, "keep");
    let plan = gone.allow(&format!("{crd}=2")).plan();
    assert_eq!(acts(&plan), ["delete Widget.example.com/shop/w1".to_owned(), format!("delete {crd}")]);
    // An object of the kind that is declared and not there yet holds it, too.
    let made = first.now([source.at(2, [config("y", "1"), widget("shop", "w1", 1)])]);
    assert_eq!(acts(&made.plan()), ["create Widget.example.com/shop/w1".to_owned(), format!("keep {crd}")]);
}

#[test]
fn what_a_controller_chain_leads_back_to_us_goes_along_but_claims_count() {
    let source = Source::new("shop").declare([deployment("web", json!({})), config("y", "1")]);
    let mut world = World::of(source.clone()).applied();
    let owner = world.target.objects[&id("Deployment.apps/shop/web")].clone();
    let set = owned_by(manifest("v1", "ConfigMap", Some("shop"), "set", json!({})), &owner, true);
    let set = world.target.put(set, "controller");
    let set = world.target.objects[&set].clone();
    world.target.put(owned_by(manifest("v1", "ConfigMap", Some("shop"), "pod", json!({})), &set, true), "controller");
    let gone = world.now([source.at(2, [config("y", "1")])]);
    let plan = gone.plan();
    assert_eq!(change(&plan, "Deployment.apps/shop/web").holds, [id("ConfigMap/shop/pod"), id("ConfigMap/shop/set")]);
    world.target.put(owned_by(claim("data"), &set, true), "controller");
    let gone = world.now([source.at(2, [config("y", "1")])]);
    assert_eq!(verdict(&gone.plan(), "Deployment.apps/shop/web"), ("keep", "protected-delete"));
    assert_eq!(change(&gone.plan(), "Deployment.apps/shop/web").holds, [id("PersistentVolumeClaim/shop/data")]);
    assert_eq!(gone.allow("Deployment.apps/shop/web=1").plan().summary.delete, 1);
}

#[test]
fn what_has_another_owner_that_stays_goes_along_with_nothing() {
    let source = Source::new("shop").declare([config("owner", "1"), config("second", "1"), config("y", "1")]);
    let mut world = World::of(source.clone()).applied();
    let live = |world: &World, of: &str| world.target.objects[&id(of)].clone();
    let (first, second) = (live(&world, "ConfigMap/shop/owner"), live(&world, "ConfigMap/shop/second"));
    // A cluster-scoped owner is in no list of a Namespace.
    let role =
        world.target.put(manifest("rbac.authorization.k8s.io/v1", "ClusterRole", None, "r", json!({})), "somebody");
    let role = world.target.objects[&role].clone();
    world.target.put(owned_by(owned_by(config("by-role", "1"), &first, false), &role, false), "somebody");
    world.target.put(owned_by(owned_by(config("by-both", "1"), &first, false), &second, false), "somebody");
    let one = world.now([source.at(2, [config("second", "1"), config("y", "1")])]).plan();
    assert_eq!(change(&one, "ConfigMap/shop/owner").holds, []);
    // Of two owners that both go, it goes with the later one.
    let both = world.now([source.at(2, [config("y", "1")])]).plan();
    assert_eq!(acts(&both), ["delete ConfigMap/shop/second", "delete ConfigMap/shop/owner"]);
    assert_eq!(change(&both, "ConfigMap/shop/owner").holds, [id("ConfigMap/shop/by-both")]);
    assert_eq!(change(&both, "ConfigMap/shop/second").holds, []);
}

#[test]
fn a_dependent_that_a_source_owns_holds_its_owner_back() {
    let (a, b) = (
        Source::new("a").declare([config("owner", "1"), config("y", "1")]),
        Source::new("b").declare([config("child", "1")]),
    );
    let mut world = World::new(World::of(a.clone()).target, [a.clone(), b]).applied();
    let owner = world.target.objects[&id("ConfigMap/shop/owner")].clone();
    world.target.edit(&id("ConfigMap/shop/child"), "somebody", |o| *o = owned_by(o.clone(), &owner, false));
    let plan = world.now([a.at(2, [config("y", "1")])]).allow("ConfigMap/shop/owner=9").plan();
    assert_eq!(verdict(&plan, "ConfigMap/shop/owner"), ("keep", "protected-delete"));
    assert_eq!(change(&plan, "ConfigMap/shop/owner").holds, [id("ConfigMap/shop/child")]);
}

fn many(n: usize) -> Vec<Value> {
    (0..n).map(|i| config(&format!("c{i:03}"), "1")).collect()
}

#[test]
fn the_budget_is_exceeded_only_by_more_than_both_its_numbers() {
    for (owned, deleted, fits) in [
        (60, 10, true),
        (60, 11, true),
        (60, 12, true),
        (60, 13, false),
        (20, 10, true),
        (20, 11, false),
        (55, 11, true),
        (54, 11, false),
    ] {
        let source = Source::new("shop").declare(many(owned));
        let world = World::of(source.clone()).applied();
        let next = world.now([source.at(2, many(owned).into_iter().skip(deleted))]);
        match next.try_plan() {
            Ok(plan) => assert!(
                fits && plan.summary.delete == deleted && plan.allowances.deletes.is_none(),
                "{owned} {deleted}"
            ),
            Err(refused) => assert!(!fits && refused.rules() == ["delete-budget"], "{owned} {deleted}"),
        }
        let allowed = |n: usize| next.clone().grant(|a| a.deletes = Some(n));
        assert_eq!(allowed(deleted).plan().allowances.deletes, Some(deleted).filter(|_| !fits), "{owned} {deleted}");
        assert_eq!(allowed(deleted - 1).refused(), ["delete-budget"]);
    }
}

#[test]
fn the_allowance_counts_over_all_sources_and_the_budget_for_each() {
    let (a, b) = (
        Source::new("a").declare(many(40)),
        Source::new("b").declare([manifest("v1", "ConfigMap", Some("lab"), "b", json!({}))]),
    );
    let world = World::new(World::of(a.clone()).target, [a.clone(), b.clone()]).applied();
    let next = world.now([
        a.at(2, many(40).into_iter().skip(11)),
        b.at(2, [manifest("v1", "ConfigMap", Some("lab"), "c", json!({}))]),
    ]);
    let faults = next.try_plan().unwrap_err().0;
    assert_eq!(faults.len(), 1);
    assert_eq!((faults[0].rule.as_str(), faults[0].holds.len()), ("delete-budget", 11));
    assert_eq!(next.clone().grant(|g| g.deletes = Some(11)).refused(), ["delete-budget"]);
    assert_eq!(next.grant(|g| g.deletes = Some(12)).plan().summary.delete, 12);
}

#[test]
fn an_empty_set_is_refused_even_if_nothing_would_be_deleted() {
    let source = Source::new("shop").declare(many(3));
    let mut world = World::of(source.clone()).applied().now([source.at(2, [])]);
    assert_eq!(world.refused(), ["empty-source"]);
    assert_eq!(world.clone().grant(|a| a.deletes = Some(2)).refused(), ["delete-budget"]);
    assert_eq!(world.clone().grant(|a| a.deletes = Some(3)).plan().summary.delete, 3);
    world.sources[0].spec.prune = false;
    assert_eq!(world.refused(), ["empty-source"]);
    assert_eq!(World::of(source.at(2, [])).plan().summary, Default::default());
}

#[test]
fn a_source_that_is_bound_anew_deletes_only_with_a_count() {
    let source = Source::new("shop").declare(many(3));
    let world = World::of(source.clone()).applied();
    let mut moved = source.at(2, many(2));
    moved.rebinds = true;
    let world = world.now([moved]).allow("source/shop");
    assert_eq!(world.refused(), ["delete-budget"]);
    let plan = world.grant(|a| a.deletes = Some(1)).plan();
    assert_eq!((plan.summary.delete, plan.sources[0].rebinds), (1, true));
    assert_eq!(plan.allowances.allow, ["source/shop"]);
}

#[test]
fn deletes_come_last_in_the_reverse_of_the_order_of_applying() {
    let mut source = Source::new("shop").declare([
        namespace("team"),
        manifest("v1", "ConfigMap", Some("team"), "a", json!({})),
        asking(manifest("v1", "ConfigMap", Some("team"), "late", json!({})), &[("wave", "5")]),
        manifest("v1", "Service", Some("team"), "s", json!({"spec": {"ports": [{"port": 80}]}})),
    ]);
    source.spec.namespaces = holdfast::source::scope::Namespaces::Any;
    let world = World::of(source.clone()).applied();
    let plan = world.now([source.at(2, [config("new", "1")])]).grant(|a| a.deletes = Some(4)).plan();
    assert_eq!(
        acts(&plan),
        [
            "create ConfigMap/shop/new",
            "delete ConfigMap/team/late",
            "delete Service/team/s",
            "delete ConfigMap/team/a",
            "delete Namespace/team"
        ]
    );
}
