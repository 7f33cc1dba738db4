//! The lint finds every plan that breaks a promise. Each case breaks a true plan in one way, by its file's form.

use holdfast::plan::document::PlanDocument;
use holdfast::plan::lint::lint;
use holdfast::source::scope::{ClusterKind, ClusterKinds};
use serde_json::{Value, json};

use crate::world::*;

/// A world whose plan has every action in it.
fn world() -> World {
    let mut shop = Source::new("shop").declare([
        config("stays", "1"),
        config("changes", "1"),
        config("goes", "1"),
        config("let-go", "1"),
        claim("data"),
        manifest("v1", "Secret", Some("shop"), "s", json!({"stringData": {"token": "one"}})),
        deployment("web", json!({})),
        config("given", "1"),
        namespace("team"),
        asking(config("kept", "1"), &[("prune", "keep")]),
    ]);
    shop.spec.permit_in_git.clear();
    let other = Source::new("other").declare([config("other", "1")]);
    let mut base = World::new(World::of(shop.clone()).target, [shop.clone(), other.clone()]).applied();
    let mut found = config("found", "0");
    found["metadata"]["labels"] = json!({"argocd.argoproj.io/instance": "old"});
    base.target.put(found, "somebody");
    base.target.put(manifest("v1", "ConfigMap", Some("team"), "by-hand", json!({})), "somebody");
    base.target.edit(&id("ConfigMap/shop/stays"), "somebody", |o| o["data"]["w"] = "2".into());
    let web = deployment(
        "web",
        json!({"spec": {"selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}}}}),
    );
    let after =
        asking(config("new", "1"), &[("config.kubernetes.io/depends-on", "/namespaces/shop/ConfigMap/changes")]);
    base.now([
        shop.at(
            2,
            [
                config("changes", "2"),
                after,
                config("found", "1"),
                web,
                asking(namespace("fresh"), &[("wave", "1")]),
                manifest("v1", "ConfigMap", Some("shop"), "stays", json!({"data": {"v": "1", "w": "2"}})),
                manifest("v1", "Secret", Some("shop"), "s", json!({"stringData": {"token": "two"}})),
            ],
        ),
        other.at(2, [config("other", "1"), config("given", "1")]),
    ])
    .grant(|a| {
        a.allow = ["Deployment.apps/shop/web", "Namespace/team=1"].map(str::to_owned).to_vec();
        a.adopt = vec!["ConfigMap/shop/found".to_owned()];
        a.take_over = vec!["argocd/old=1".to_owned()];
        a.release = vec!["ConfigMap/shop/let-go".to_owned()];
    })
}

fn linted(world: &World, edit: impl FnOnce(&mut Value)) -> Vec<String> {
    world
        .with(|made| {
            let mut value = serde_json::to_value(&made.plan).unwrap();
            edit(&mut value);
            let plan: PlanDocument = serde_json::from_value(value).unwrap();
            lint(&plan, made.inputs, &world.others, made.observed)
        })
        .unwrap()
}

fn entry<'v>(plan: &'v mut Value, of: &str) -> &'v mut Value {
    let of = serde_json::to_value(id(of)).unwrap();
    plan["changes"].as_array_mut().unwrap().iter_mut().find(|c| c["id"] == of).unwrap()
}

fn count(plan: &mut Value) {
    let count = |plan: &Value, action: &str| {
        plan["changes"].as_array().unwrap().iter().filter(|c| c["action"] == action).count()
    };
    for action in ["create", "update", "own", "replace", "delete", "adopt", "transfer", "release", "keep"] {
        plan["summary"][action] = count(plan, action).into();
    }
    plan["summary"]["unchanged"] = plan["unchanged"].as_array().unwrap().len().into();
}

#[test]
fn a_true_plan_with_every_action_in_it_breaks_nothing() {
    let plan = world().plan();
    for action in holdfast::plan::document::Action::ALL {
        assert!(plan.changes.iter().any(|c| c.action == action), "no {action:?} in {:?}", acts(&plan));
    }
    assert_eq!(linted(&world(), |_| {}), [] as [&str; 0]);
}

type Edit = fn(&mut Value);

/// What is done to the plan, and what the lint must say of it.
const BROKEN: &[(&str, Edit, &str)] = &[
    (
        "a change twice",
        |p| {
            let c = p["changes"][0].clone();
            p["changes"].as_array_mut().unwrap().insert(0, c);
            count(p);
        },
        "stands in the plan twice",
    ),
    (
        "a change and unchanged",
        |p| {
            let id = entry(p, "ConfigMap/shop/changes")["id"].clone();
            p["unchanged"][0]["id"] = id;
        },
        "stands in the plan twice",
    ),
    (
        "a declared one dropped",
        |p| {
            p["changes"].as_array_mut().unwrap().retain(|c| c["id"]["name"] != "new");
            count(p);
        },
        "ConfigMap/shop/new of Source shop is in no list",
    ),
    (
        "an owned one dropped",
        |p| {
            p["changes"].as_array_mut().unwrap().retain(|c| c["id"]["name"] != "data");
            count(p);
        },
        "PersistentVolumeClaim/shop/data of Source shop is in no list",
    ),
    (
        "an unchanged one dropped",
        |p| {
            p["unchanged"] = json!([]);
            count(p);
        },
        "is in no list",
    ),
    (
        "something of nobody's",
        |p| {
            let mut c = entry(p, "ConfigMap/shop/goes").clone();
            c["id"]["name"] = "found-too".into();
            p["changes"].as_array_mut().unwrap().push(c);
            count(p);
        },
        "neither declared nor owned",
    ),
    (
        "a Source that isn't planned",
        |p| entry(p, "ConfigMap/shop/new")["source"] = "stranger".into(),
        "which isn't planned",
    ),
    ("another commit", |p| p["sources"][0]["commit"] = "9".repeat(40).into(), "doesn't name the Sources"),
    ("another origin", |p| p["sources"][1]["origin"] = "a".repeat(64).into(), "doesn't name the Sources"),
    ("another serial", |p| p["sources"][1]["inventorySerial"] = 77.into(), "doesn't name the Sources"),
    ("a Source bound anew unasked", |p| p["sources"][1]["rebinds"] = true.into(), "would be bound anew unasked"),
    ("another target", |p| p["target"]["identity"] = "x".into(), "another format or target"),
    (
        "a create of what exists",
        |p| {
            entry(p, "ConfigMap/shop/changes")["action"] = "create".into();
            count(p);
        },
        "would be created although it exists",
    ),
    (
        "an update of what isn't its own",
        |p| {
            entry(p, "ConfigMap/shop/found")["action"] = "update".into();
            count(p);
        },
        "can't prove that it owns it",
    ),
    (
        "a write by another Source",
        |p| entry(p, "ConfigMap/shop/changes")["source"] = "other".into(),
        "doesn't declare it",
    ),
    (
        "a write of something else",
        |p| entry(p, "ConfigMap/shop/changes")["declared"] = "0".repeat(64).into(),
        "otherwise than declared",
    ),
    ("another UID", |p| entry(p, "ConfigMap/shop/changes")["uid"] = "x".into(), "another UID than was read"),
    (
        "an update bound to nothing",
        |p| drop(entry(p, "ConfigMap/shop/changes").as_object_mut().unwrap().remove("seen")),
        "bound to nothing that was seen",
    ),
    (
        "a replace unasked",
        |p| p["allowances"]["allow"] = json!(["Namespace/team=1"]),
        "Deployment.apps/shop/web would be made anew unasked",
    ),
    (
        "a transfer from the wrong one",
        |p| entry(p, "ConfigMap/shop/given")["from"] = "other".into(),
        "transferred from a Source that doesn't own it",
    ),
    (
        "a transfer of what its owner declares",
        |p| {
            let c = entry(p, "ConfigMap/shop/changes");
            c["action"] = "transfer".into();
            c["source"] = "other".into();
            c["from"] = "shop".into();
            count(p);
        },
        "doesn't own it or doesn't give it up",
    ),
    ("an adoption unasked", |p| p["allowances"]["adopt"] = json!([]), "would be adopted unasked"),
    (
        "an adoption from its owner",
        |p| {
            let c = entry(p, "ConfigMap/shop/given");
            c["action"] = "adopt".into();
            p["allowances"]["adopt"] = json!(["ConfigMap/shop/found", "ConfigMap/shop/given"]);
            count(p);
        },
        "would be adopted from its owner",
    ),
    (
        "more adoptions than allowed",
        |p| p["allowances"]["adopt"] = json!(["ConfigMap/shop/*"]),
        "adopted by patterns, more than allowed",
    ),
    ("a take-over untold", |p| p["allowances"]["takeOver"] = json!([]), "taken over untold"),
    ("more taken over than told", |p| p["allowances"]["takeOver"] = json!(["argocd/old=0"]), "taken over untold"),
    (
        "a tool that isn't named",
        |p| entry(p, "ConfigMap/shop/found")["keepers"] = json!([]),
        "names other tools than its marks",
    ),
    ("a release unasked", |p| p["allowances"]["release"] = json!([]), "let go unasked"),
    (
        "a release of what exists as gone",
        |p| entry(p, "ConfigMap/shop/let-go")["rule"] = "already-gone".into(),
        "let go as gone although it exists",
    ),
    (
        "a delete of what is declared",
        |p| {
            entry(p, "ConfigMap/shop/changes")["action"] = "delete".into();
            count(p);
        },
        "a manifest names it",
    ),
    (
        "a delete of what isn't its own",
        |p| {
            entry(p, "ConfigMap/shop/found")["action"] = "delete".into();
            count(p);
        },
        "name, UID and owner mark don't agree",
    ),
    (
        "a delete for another Source",
        |p| entry(p, "ConfigMap/shop/goes")["source"] = "other".into(),
        "name, UID and owner mark don't agree",
    ),
    (
        "a delete of data",
        |p| {
            entry(p, "PersistentVolumeClaim/shop/data")["action"] = "delete".into();
            count(p);
        },
        "data could go with it",
    ),
    (
        "a delete of what says keep",
        |p| {
            entry(p, "ConfigMap/shop/kept")["action"] = "delete".into();
            count(p);
        },
        "its manifest said to keep it",
    ),
    (
        "contents that aren't shown",
        |p| entry(p, "Namespace/team")["holds"] = json!([]),
        "would go along with Namespace/team and isn't shown",
    ),
    (
        "contents that aren't allowed",
        |p| p["allowances"]["allow"] = json!(["Deployment.apps/shop/web"]),
        "objects of nobody's along, more than allowed",
    ),
    (
        "a keep without a reason",
        |p| drop(entry(p, "ConfigMap/shop/kept").as_object_mut().unwrap().remove("reason")),
        "has no reason",
    ),
    (
        "a keep that changes something",
        |p| {
            let f = entry(p, "ConfigMap/shop/changes")["fields"].clone();
            entry(p, "ConfigMap/shop/kept")["fields"] = f;
        },
        "would change although nothing is written",
    ),
    (
        "a secret in clear",
        |p| entry(p, "Secret/shop/s")["fields"][0]["after"] = "dHdv".into(),
        "would show a sensitive value",
    ),
    (
        "a whole secret in clear",
        |p| entry(p, "Secret/shop/s")["fields"] = json!([{"path": "", "before": {"data": {"token": "b25l"}}}]),
        "would show a sensitive value",
    ),
    (
        "a secret's data as one",
        |p| entry(p, "Secret/shop/s")["fields"] = json!([{"path": "/data", "before": {"token": "b25l"}}]),
        "would show a sensitive value",
    ),
    ("a delete before a write", |p| p["changes"].as_array_mut().unwrap().reverse(), "a delete comes before a write"),
    ("waves out of order", |p| entry(p, "ConfigMap/shop/changes")["wave"] = 9.into(), "the waves are out of order"),
    (
        "a dependency that comes after",
        |p| {
            let a = p["changes"].as_array_mut().unwrap();
            let at = a.iter().position(|c| c["id"]["name"] == "new").unwrap();
            let c = a.remove(at);
            a.insert(0, c);
        },
        "on which it depends",
    ),
    ("wrong counts", |p| p["summary"]["delete"] = 0.into(), "counts are wrong"),
    ("more deletes than allowed", |p| p["allowances"]["deletes"] = 1.into(), "deletes, and 1 are allowed"),
    (
        "warnings twice",
        |p| p["warnings"] = json!([{"rule": "r", "text": "t"}, {"rule": "r", "text": "t"}]),
        "the warnings are out of order",
    ),
    ("an unchanged one with another UID", |p| p["unchanged"][0]["uid"] = "x".into(), "count as unchanged although"),
    (
        "an unchanged one of another Source",
        |p| p["unchanged"][0]["source"] = "shop".into(),
        "count as unchanged although",
    ),
];

#[test]
fn every_plan_that_breaks_a_promise_is_found_out() {
    let world = world();
    for (name, edit, expected) in BROKEN {
        let found = linted(&world, edit);
        assert!(found.iter().any(|line| line.contains(expected)), "{name}: {found:?}");
    }
}

#[test]
fn a_plan_made_for_other_rules_is_found_out() {
    let base = world();
    let check = |change: &dyn Fn(&mut World), expected: &str| {
        let mut other = base.clone();
        change(&mut other);
        // The plan of one world against what another has.
        let plan = base.plan();
        let reader: &dyn holdfast::target::Reader = &base.target;
        let known = reader.sources().unwrap();
        let sets: Vec<_> = other.sources.iter().map(|s| s.check(reader)).collect();
        let inventories: Vec<_> = other.sources.iter().map(|s| reader.inventory(&s.id()).unwrap()).collect();
        let inputs: Vec<_> =
            other.sources.iter().zip(&sets).zip(&inventories).map(|((s, set), i)| s.input(set, i, &known)).collect();
        let observed =
            holdfast::apply::observe(reader, holdfast::target::TargetKind::Embedded, &known, &inputs).unwrap();
        let found = lint(&plan, &inputs, &other.others, &observed);
        assert!(found.iter().any(|line| line.contains(expected)), "{expected}: {found:?}");
    };
    check(&|w| w.sources[1].spec.prune = false, "prune is off");
    check(&|w| *w = w.clone().with_other("more", Ok(vec!["ConfigMap/shop/goes"])), "another Source wants it");
    check(&|w| *w = w.clone().with_other("more", Err("gone")), "could want it");
    check(
        &|w| w.sources[1].spec.prune_budget = holdfast::source::spec::PruneBudget { objects: 0, percent: 0 },
        "more than its budget",
    );
    let fresh = || ClusterKind { kind: id("Namespace/fresh").group_kind(), names: Some(vec!["fresh".to_owned()]) };
    check(&|w| w.sources[1].spec.cluster_kinds = ClusterKinds::Some(vec![fresh()]), "outside the scope");
    check(&|w| w.sources[1] = w.sources[1].at(2, [config("goes", "1")]), "a manifest names it");
    check(&|w| w.sources[1] = w.sources[1].at(2, []), "declares nothing although it owns");
}
