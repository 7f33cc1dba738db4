//! What becomes of each resource, action by action.

use serde_json::{Value, json};

use crate::world::*;

fn shop() -> Source {
    Source::new("shop")
}

fn none() -> [&'static str; 0] {
    []
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
    let plan = World::of(shop().declare([config("a", "1"), namespace("more")])).applied().plan();
    assert_eq!(acts(&plan), none());
    assert_eq!(plan.summary.unchanged, 2);
}

#[test]
fn a_changed_value_is_an_update_of_that_field_alone() {
    let before = World::of(shop().declare([config("a", "1"), config("b", "1")])).applied();
    let world = before.now([shop().at(2, [config("a", "2"), config("b", "1")])]);
    let plan = world.plan();
    assert_eq!(acts(&plan), ["update ConfigMap/shop/a"]);
    assert_eq!(fields(&plan, "ConfigMap/shop/a"), ["/data/v"]);
    assert_eq!(acts(&world.applied().plan()), none());
}

#[test]
fn a_hand_that_changed_a_declared_value_is_overruled_and_named() {
    let mut world = World::of(shop().declare([config("a", "1")])).applied();
    world.target.edit(&id("ConfigMap/shop/a"), "kubectl-edit", |o| o["data"]["v"] = "9".into());
    let plan = world.plan();
    assert_eq!(acts(&plan), ["update ConfigMap/shop/a"]);
    let taken = &change(&plan, "ConfigMap/shop/a").taken;
    assert_eq!((taken.len(), taken[0].path.as_str(), taken[0].manager.as_str()), (1, "/data/v", "kubectl-edit"));
}

#[test]
fn a_field_that_git_drops_goes_and_one_that_somebody_took_stays() {
    let two = json!({"data": {"mine": "1", "theirs": "1"}});
    let object = |rest| manifest("v1", "ConfigMap", Some("shop"), "a", rest);
    let mut world = World::of(shop().declare([object(two)])).applied();
    world.target.edit(&id("ConfigMap/shop/a"), "somebody", |o| o["data"]["theirs"] = "2".into());
    let plan = world.now([shop().at(2, [object(json!({"data": {}}))])]).plan();
    assert_eq!(fields(&plan, "ConfigMap/shop/a"), ["/data/mine"]);
    let left = &change(&plan, "ConfigMap/shop/a").left;
    assert_eq!((left.len(), left[0].path.as_str(), left[0].manager.as_str()), (1, "/data/theirs", "somebody"));
}

#[test]
fn a_value_that_is_there_and_newly_declared_is_owned_without_a_pending_change() {
    let mut world = World::of(shop().declare([config("a", "1")])).applied();
    world.target.edit(&id("ConfigMap/shop/a"), "somebody", |o| o["data"]["w"] = "2".into());
    let more = manifest("v1", "ConfigMap", Some("shop"), "a", json!({"data": {"v": "1", "w": "2"}}));
    let world = world.now([shop().at(2, [more])]);
    let plan = world.plan();
    assert_eq!(acts(&plan), ["own ConfigMap/shop/a"]);
    assert!(plan.changes.iter().all(|c| !c.action.is_pending()));
    let after = world.applied();
    assert_eq!(acts(&after.plan()), none());
    let gone = after.now([shop().at(3, [config("a", "1")])]).plan();
    assert_eq!(acts(&gone), ["own ConfigMap/shop/a"]);
    assert_eq!(change(&gone, "ConfigMap/shop/a").left[0].manager.as_str(), "somebody");
}

#[test]
fn others_fields_are_no_change() {
    let mut world = World::of(shop().declare([config("a", "1")])).applied();
    world.target.edit(&id("ConfigMap/shop/a"), "somebody", |o| o["data"]["other"] = "x".into());
    assert_eq!(acts(&world.plan()), none());
}

#[test]
fn what_left_the_commit_is_deleted_with_its_fields_shown() {
    let world = World::of(shop().declare([config("a", "1"), config("b", "1")])).applied();
    let plan = world.now([shop().at(2, [config("b", "1")])]).plan();
    assert_eq!(acts(&plan), ["delete ConfigMap/shop/a"]);
    let entry = change(&plan, "ConfigMap/shop/a");
    assert_eq!(entry.fields[0].before.as_ref().unwrap()["data"], json!({"v": "1"}));
    assert!(entry.seen.is_some() && entry.uid.is_some());
}

#[test]
fn what_was_deleted_by_hand_is_created_again_if_declared_and_released_if_not() {
    let mut world = World::of(shop().declare([config("a", "1"), config("b", "1")])).applied();
    world.target.objects.remove(&id("ConfigMap/shop/a"));
    let plan = world.plan();
    assert_eq!(acts(&plan), ["create ConfigMap/shop/a"]);
    assert!(change(&plan, "ConfigMap/shop/a").reason.is_some());
    let gone = world.now([shop().at(2, [config("b", "1")])]);
    assert_eq!(verdict(&gone.plan(), "ConfigMap/shop/a"), ("release", "already-gone"));
    assert_eq!(acts(&gone.applied().plan()), none());
}

#[test]
fn an_object_of_nobodys_is_refused_until_its_adoption_is_asked_for() {
    let mut world = World::of(shop().declare([config("a", "1")]));
    world.target.put(config("a", "0"), "somebody");
    assert_eq!(world.refused(), ["exists-unowned ConfigMap/shop/a"]);
    let adopting = world.clone().grant(|a| a.adopt.push("ConfigMap/shop/a".to_owned()));
    let plan = adopting.plan();
    assert_eq!(acts(&plan), ["adopt ConfigMap/shop/a"]);
    assert_eq!(fields(&plan, "ConfigMap/shop/a"), ["/data/v"]);
    let uid = adopting.target.head(&id("ConfigMap/shop/a")).unwrap().uid;
    let after = adopting.applied();
    assert_eq!(after.target.head(&id("ConfigMap/shop/a")).unwrap().uid, uid);
    assert_eq!(acts(&after.plan()), none());
}

#[test]
fn a_manifest_may_ask_for_adoption_only_where_the_source_permits_it() {
    let mut world = World::of(shop().declare([asking(config("a", "1"), &[("adopt", "true")])]));
    world.target.put(config("a", "1"), "somebody");
    assert_eq!(acts(&world.plan()), ["adopt ConfigMap/shop/a"]);
    assert_eq!(world.plan().allowances, Default::default());
    world.sources[0].spec.permit_in_git.clear();
    assert_eq!(world.refused(), ["exists-unowned ConfigMap/shop/a"]);
}

#[test]
fn what_a_controller_or_the_control_plane_owns_is_never_adopted() {
    let owner = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u-n"}});
    let labelled = json!({"metadata": {"labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}});
    for object in [owned_by(config("a", "1"), &owner, true), manifest("v1", "ConfigMap", Some("shop"), "a", labelled)] {
        let mut world =
            World::of(shop().declare([config("a", "1")])).grant(|a| a.adopt.push("ConfigMap/shop/a".to_owned()));
        world.target.put(object, "somebody");
        assert_eq!(world.refused(), ["controlled-object ConfigMap/shop/a"]);
    }
    let mut world =
        World::of(shop().declare([namespace("kube-x")])).grant(|a| a.adopt.push("Namespace/kube-x".to_owned()));
    world.target.put(namespace("kube-x"), "somebody");
    assert_eq!(world.refused(), ["controlled-object Namespace/kube-x"]);
}

#[test]
fn a_pattern_adopts_no_more_objects_than_it_was_allowed_and_names_count_apart() {
    let objects = || [config("a", "1"), config("b", "1"), config("c", "1")];
    let mut world = World::of(shop().declare(objects()));
    objects().into_iter().for_each(|object| drop(world.target.put(object, "somebody")));
    let by = |n: usize, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        world.clone().grant(|a| {
            a.adopt = names;
            a.adoptions = Some(n);
        })
    };
    assert_eq!(by(2, &["ConfigMap/shop/*"]).refused(), ["adoption-count"]);
    assert_eq!(by(3, &["ConfigMap/shop/*"]).plan().summary.adopt, 3);
    assert_eq!(by(2, &["ConfigMap/shop/*", "ConfigMap/shop/b"]).plan().summary.adopt, 3);
    assert_eq!(by(3, &["ConfigMap/lab/*"]).refused().len(), 3);
}

#[test]
fn what_another_tool_claims_is_adopted_only_when_told_by_claim_and_count_and_kubectls_at_once() {
    let made_by = |name: &str, labels: Value, annotations: Value| {
        let mut object = config(name, "0");
        object["metadata"]["labels"] = labels;
        object["metadata"]["annotations"] = annotations;
        object
    };
    let helm = json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"});
    let flux = json!({"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "fs"});
    let kubectl = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let mut world = World::of(shop().declare(["a", "b", "c", "k"].map(|name| config(name, "1"))));
    for object in [
        made_by("a", json!({}), helm.clone()),
        made_by("b", json!({}), helm),
        made_by("c", flux, json!({})),
        made_by("k", json!({}), kubectl),
    ] {
        world.target.put(object, "somebody");
    }
    let told = |claims: &[&str]| {
        let claims: Vec<String> = claims.iter().map(|n| (*n).to_owned()).collect();
        world.clone().grant(|a| {
            (a.adopt, a.adoptions) = (vec!["ConfigMap/shop/*".to_owned()], Some(4));
            a.take_over = claims;
        })
    };
    assert_eq!(told(&[]).refused(), ["claimed-by-tool", "claimed-by-tool"]);
    assert_eq!(told(&["helm/shop/web=2"]).refused(), ["claimed-by-tool"]);
    let all = "flux/Kustomization/fs/apps=1";
    assert_eq!(told(&["helm/shop/web=1", all]).refused(), ["claimed-by-tool"]);
    assert_eq!(told(&["helm/shop/other=2", all]).refused(), ["claimed-by-tool"]);
    let plan = told(&["helm/shop/web=2", all, "argocd/x=1"]).plan();
    assert_eq!(plan.summary.adopt, 4);
    assert_eq!(plan.allowances.take_over, [all, "helm/shop/web=2"]);
    let keepers = |name: &str| change(&plan, name).keepers.iter().map(|k| k.shown()).collect::<Vec<_>>();
    assert_eq!(keepers("ConfigMap/shop/k"), ["kubectl (client-side apply)"]);
    assert_eq!(keepers("ConfigMap/shop/a"), ["Helm (release shop/web)"]);
    assert_eq!(keepers("ConfigMap/shop/c"), ["Flux (Kustomization fs/apps)"]);
}

#[test]
fn an_object_that_left_one_source_for_another_of_the_plan_is_transferred_with_its_uid() {
    let (a, b) =
        (Source::new("a").declare([config("x", "1"), config("y", "1")]), Source::new("b").declare([config("z", "1")]));
    let world = World::new(World::of(shop()).target, [a.clone(), b.clone()]).applied();
    let uid = world.target.head(&id("ConfigMap/shop/x")).unwrap().uid;
    let moved = world.now([a.at(2, [config("y", "1")]), b.at(2, [config("z", "1"), config("x", "2")])]);
    let plan = moved.plan();
    assert_eq!(acts(&plan), ["transfer ConfigMap/shop/x"]);
    let entry = change(&plan, "ConfigMap/shop/x");
    assert_eq!((entry.source.as_str(), entry.from.as_ref().unwrap().as_str()), ("b", "a"));
    assert_eq!(fields(&plan, "ConfigMap/shop/x"), ["/data/v"]);
    let after = moved.applied();
    assert_eq!(after.target.head(&id("ConfigMap/shop/x")).unwrap().uid, uid);
    assert_eq!(acts(&after.plan()), none());
    let rows = |source: &Source| after.target.inventories[&source.id()].rows.contains_key(&id("ConfigMap/shop/x"));
    assert!(!rows(&a) && rows(&b));
}

#[test]
fn an_object_that_its_owner_only_uses_from_now_on_is_transferred_too() {
    let (a, b) = (Source::new("a").declare([config("x", "1")]), Source::new("b"));
    let world = World::new(World::of(shop()).target, [a.clone(), b.clone()]).applied();
    let moved = world.now([a.at(2, [asking(config("x", "1"), &[("use", "true")])]), b.at(2, [config("x", "1")])]);
    assert_eq!(acts(&moved.plan()), ["transfer ConfigMap/shop/x"]);
    assert_eq!(acts(&moved.applied().plan()), none());
}

#[test]
fn one_resource_in_two_sources_is_one_fault() {
    let (a, b) = (Source::new("a").declare([config("x", "1")]), Source::new("b").declare([config("x", "1")]));
    let world = World::new(World::of(shop()).target, [a.clone(), b.clone()]);
    assert_eq!(world.refused(), ["duplicate-object ConfigMap/shop/x"]);
    let owned = World::new(World::of(shop()).target, [a]).applied().now([b]);
    assert_eq!(owned.refused(), ["owned-by-other ConfigMap/shop/x"]);
}

#[test]
fn an_object_of_another_source_that_is_not_planned_is_refused_with_its_owner() {
    let a = Source::new("a").declare([config("x", "1")]);
    let mut world = World::new(World::of(shop()).target, [a]).applied();
    world.sources = vec![Source::new("b").declare([config("x", "1")])];
    let faults = world.try_plan().unwrap_err().0;
    assert_eq!(faults[0].rule.as_str(), "owned-by-other");
    assert_eq!(faults[0].owner.as_ref().unwrap().as_str(), "a");
}

#[test]
fn a_row_of_one_source_ends_beside_the_object_that_another_has_now() {
    let (a, b) = (Source::new("a").declare([config("x", "1"), config("y", "1")]), Source::new("b"));
    let base = World::new(World::of(shop()).target, [a.clone(), b.clone()]).applied();
    let sources = || [a.at(2, [config("y", "1")]), b.at(2, [config("x", "1")])];
    // It is gone: B makes it.
    let mut gone = base.now(sources());
    gone.target.objects.remove(&id("ConfigMap/shop/x"));
    // It is B's by now, as a mark and B's row say.
    let mut taken = base.now(sources());
    taken.target.objects.remove(&id("ConfigMap/shop/x"));
    let taken = World { sources: vec![taken.sources[1].clone()], ..taken }.applied().now(sources());
    // Somebody made it again, and B adopts it.
    let mut again = base.now(sources()).grant(|g| g.adopt.push("ConfigMap/shop/x".to_owned()));
    again.target.objects.remove(&id("ConfigMap/shop/x"));
    again.target.put(config("x", "1"), "somebody");
    // Both let it go, and only one of them owned it.
    let both = taken.now([a.at(3, [config("y", "1")]), b.at(3, [config("z", "1")])]);
    for (world, expected) in [
        (both, vec!["create ConfigMap/shop/z", "delete ConfigMap/shop/x"]),
        (gone, vec!["create ConfigMap/shop/x"]),
        (taken, vec![]),
        (again, vec!["adopt ConfigMap/shop/x"]),
    ] {
        let plan = world.plan();
        assert_eq!(acts(&plan), expected);
        assert!(
            plan.warnings
                .iter()
                .any(|w| w.id == Some(id("ConfigMap/shop/x")) && w.text.contains("inventory of Source a"))
        );
        assert_eq!(acts(&world.applied().plan()), none());
    }
}

#[test]
fn what_is_only_used_must_exist_and_is_never_written_or_deleted() {
    let used = || asking(config("a", "9"), &[("use", "true")]);
    let mut world = World::of(shop().declare([used()]));
    assert_eq!(world.refused(), ["used-object ConfigMap/shop/a"]);
    world.target.put(config("a", "1"), "somebody");
    assert_eq!(acts(&world.plan()), none());
    assert_eq!(world.plan().summary.unchanged, 0);
    // One that was its own is neither written nor deleted, nor forgotten.
    let own = World::of(shop().declare([config("a", "1"), config("b", "1")])).applied();
    let own = own.now([shop().at(2, [used(), config("b", "1")])]);
    assert_eq!(verdict(&own.plan(), "ConfigMap/shop/a"), ("keep", "used-object"));
    let own = own.applied();
    assert_eq!(verdict(&own.plan(), "ConfigMap/shop/a"), ("keep", "used-object"));
    let released = own.grant(|a| a.release.push("ConfigMap/shop/a".to_owned()));
    assert_eq!(verdict(&released.plan(), "ConfigMap/shop/a"), ("release", "released"));
    assert_eq!(acts(&released.applied().now([]).plan()), none());
}

#[test]
fn what_another_source_of_the_plan_makes_may_be_used() {
    let (a, b) = (
        Source::new("a").declare([config("x", "1")]),
        Source::new("b").declare([asking(config("x", "1"), &[("use", "true")])]),
    );
    let world = World::new(World::of(shop()).target, [a.clone(), b]);
    assert_eq!(acts(&world.plan()), ["create ConfigMap/shop/x"]);
    // And what one uses, the other doesn't delete.
    let gone = world.applied().now([a.at(2, [config("z", "1")])]);
    assert_eq!(verdict(&gone.plan(), "ConfigMap/shop/x"), ("keep", "wanted-by-other"));
}

#[test]
fn an_immutable_field_is_refused_and_a_replace_only_on_request() {
    let before = World::of(shop().declare([deployment("web", json!({}))])).applied();
    let other = || {
        deployment(
            "web",
            json!({"spec": {"selector": {"matchLabels": {"app": "web", "tier": "x"}},
        "template": {"metadata": {"labels": {"app": "web", "tier": "x"}}}}}),
        )
    };
    let world = before.now([shop().at(2, [other()])]);
    assert_eq!(world.refused(), ["immutable-field Deployment.apps/shop/web"]);
    let allowed = world.clone().allow("Deployment.apps/shop/web");
    let plan = allowed.plan();
    assert_eq!(acts(&plan), ["replace Deployment.apps/shop/web"]);
    assert_eq!(plan.allowances.allow, ["Deployment.apps/shop/web"]);
    let uid = allowed.target.head(&id("Deployment.apps/shop/web")).unwrap().uid;
    let after = allowed.applied();
    assert_ne!(after.target.head(&id("Deployment.apps/shop/web")).unwrap().uid, uid);
    assert_eq!(acts(&after.plan()), none());
    let in_git = before.now([shop().at(2, [asking(other(), &[("replace", "true")])])]);
    assert_eq!(acts(&in_git.plan()), ["replace Deployment.apps/shop/web"]);
}

#[test]
fn data_is_not_replaced_on_the_word_of_a_manifest_that_allows_no_prune() {
    let before = World::of(shop().declare([claim("data")])).applied();
    let mut other = claim("data");
    other["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    let asked = |annotations: &[(&str, &str)]| before.now([shop().at(2, [asking(other.clone(), annotations)])]);
    assert_eq!(asked(&[("replace", "true")]).refused(), ["immutable-field PersistentVolumeClaim/shop/data"]);
    assert_eq!(asked(&[("replace", "true"), ("prune", "allow")]).plan().summary.replace, 1);
    assert_eq!(asked(&[]).allow("PersistentVolumeClaim/shop/data").plan().summary.replace, 1);
}

#[test]
fn replicas_are_left_alone_while_an_autoscaler_targets_the_object() {
    let scaler = manifest(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        Some("shop"),
        "web",
        json!({"spec": {"maxReplicas": 9,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
    );
    let web = |n: i64| deployment("web", json!({"spec": {"replicas": n}}));
    let mut world = World::of(shop().declare([web(2), scaler.clone()])).applied();
    world.target.edit(&id("Deployment.apps/shop/web"), "hpa", |o| o["spec"]["replicas"] = 5.into());
    let plan = world.plan();
    assert_eq!(acts(&plan), none());
    assert!(
        plan.warnings.iter().any(|w| w.rule == "left-alone" && w.path.as_ref().unwrap().as_str() == "/spec/replicas")
    );
    // What the autoscaler does meanwhile makes no plan stale.
    let before = plan.clone();
    world.target.edit(&id("Deployment.apps/shop/web"), "hpa", |o| o["spec"]["replicas"] = 7.into());
    assert_eq!(holdfast::plan::binding::moved(&before, &world.plan()), []);
    // A line that moves moves the row; it mustn't forget that something is left alone.
    let mut moved = world.sources[0].clone();
    moved.files[0].1 = format!("# a comment\n{}", moved.files[0].1);
    let world = world.now([moved]).applied();
    // While the autoscaler is there it would only turn the replicas back: they follow once it is gone.
    let without = world.now([shop().at(3, [web(2)])]);
    assert_eq!(acts(&without.plan()), ["delete HorizontalPodAutoscaler.autoscaling/shop/web"]);
    let without = without.applied();
    assert_eq!(fields(&without.plan(), "Deployment.apps/shop/web"), ["/spec/replicas"]);
}

#[test]
fn a_job_that_its_ttl_removed_is_reported_and_not_run_again() {
    let job = |image: &str| {
        manifest(
            "batch/v1",
            "Job",
            Some("shop"),
            "once",
            json!({"spec": {"ttlSecondsAfterFinished": 60,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}}}}),
        )
    };
    let mut world = World::of(shop().declare([job("a:1")])).applied();
    world.target.objects.remove(&id("Job.batch/shop/once"));
    let plan = world.plan();
    assert_eq!((acts(&plan).len(), plan.summary.unchanged), (0, 1));
    assert!(plan.warnings.iter().any(|w| w.rule == "left-alone" && w.id == Some(id("Job.batch/shop/once"))));
    assert_eq!(acts(&world.applied().plan()), none());
    assert_eq!(acts(&world.now([shop().at(2, [job("a:2")])]).plan()), ["create Job.batch/shop/once"]);
}

#[test]
fn a_row_moves_with_its_file_without_a_change() {
    let world = World::of(shop().declare([config("a", "1"), config("b", "1")])).applied();
    let mut moved = shop().at(2, [config("b", "1"), config("a", "1")]);
    moved.files[1].1.insert(0, '\n');
    let world = world.now([moved]);
    let plan = world.plan();
    assert_eq!(acts(&plan), none());
    let after = world.applied();
    let row = &after.target.inventories[&after.sources[0].id()].row(&id("ConfigMap/shop/a")).unwrap();
    assert_eq!((row.file.as_str(), row.line), ("001.yaml", 2));
}
