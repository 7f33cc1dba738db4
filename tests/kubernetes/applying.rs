//! Applies to a cluster: whole or not at all, whatever fails, and whoever writes meanwhile.

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::on_cluster;
use crate::place::{Place, config};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("an_apply_writes_updates_and_prunes_and_then_nothing_is_left_to_do", applies),
        on_cluster("a_definition_and_its_objects_come_in_one_plan_from_an_empty_cluster", definition_and_objects),
        on_cluster("a_refusal_at_the_third_object_takes_everything_back", refused_midway),
        on_cluster("an_apply_killed_anywhere_is_finished_or_undone_by_the_next_command", killed),
        on_cluster("an_undo_leaves_what_others_wrote_meanwhile", undo_leaves_others),
        on_cluster("an_object_made_by_somebody_else_at_the_same_moment_is_not_taken", somebody_faster),
    ]
}

fn conf(name: &str, value: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {{app: x}}\ndata:\n  v: \"{value}\"\n{more}"
    )
}

/// A policy that refuses ConfigMaps of this name in the Namespace, at a real write alone.
pub fn refuse_at_apply(place: &Place, expression: &str) {
    let (hand, name) = (place.on.hand(), &place.namespace);
    let group = "/apis/admissionregistration.k8s.io/v1";
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": format!("request.dryRun || {expression}"), "message": "not this one"}]}});
    hand.put("admin", &format!("{group}/validatingadmissionpolicies"), &policy);
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}}});
    hand.put("admin", &format!("{group}/validatingadmissionpolicybindings"), &binding);
    let probe =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}, "data": {"v": "forbidden"}});
    hand.until("the policy is in force", || {
        let url = format!("/api/v1/namespaces/{name}/configmaps");
        let refused = hand.ask(http::Method::POST, &url, "application/json", Some(&probe)).unwrap().0 == 422;
        hand.ask(http::Method::DELETE, &format!("{url}/probe"), "application/json", None);
        refused
    });
}

/// Everything of an object but what moves with every write.
pub fn whole(place: &Place, name: &str) -> Value {
    let mut live = place.live("configmaps", name).unwrap_or(Value::Null);
    if let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        let entries = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten().filter(|entry| entry["manager"] == "holdfast") {
            // An API server takes no change of an entry's time alone.
            entry.as_object_mut().unwrap().remove("time");
        }
    }
    live
}

fn applies() {
    let place = Place::new("applied");
    place.declare("ns", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: applied\n");
    place.declare("a", &config("a"));
    place.declare("b", &config("b"));
    place.declare("s", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  pass: aHVudGVyMjIyMg==\n");
    place.lab.run(&["plan", "--out", "p.json"]).ok();
    let receipt = place.lab.run(&["apply", "p.json", "-o", "json"]).ok().json();
    assert_eq!((&receipt["writes"], &receipt["deletes"]), (&json!(4), &json!(0)), "{receipt}");
    assert_eq!(place.live("configmaps", "a").unwrap()["data"], json!({"v": "1"}));
    // Applied before: a plan is for one use.
    place.lab.run(&["apply", "p.json"]).exits(4);
    let again = place.lab.plan(&[]);
    assert_eq!((&again["changes"], &again["summary"]["unchanged"]), (&json!([]), &json!(4)), "{again}");
    place.repo.remove("deploy/b.yaml");
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    let receipt = place.lab.apply(&[]);
    assert_eq!(
        (&receipt["writes"], &receipt["deletes"], receipt.get("pending")),
        (&json!(1), &json!(1), None),
        "{receipt}"
    );
    assert_eq!(place.live("configmaps", "a").unwrap()["data"], json!({"v": "2"}));
    assert!(place.live("configmaps", "b").is_none());
    let history = place.lab.run(&["history"]).ok();
    assert_eq!(history.stdout.matches(" apply ").count(), 2, "{}", history.stdout);
    // The journal is gone, and no value of a Secret is in what is kept.
    let hand = place.on.hand();
    let secrets = hand.get("/api/v1/namespaces/state-applied/secrets").unwrap();
    assert_eq!(secrets["items"], json!([]));
    let kept = hand.get("/api/v1/namespaces/state-applied/configmaps").unwrap().to_string();
    assert!(!kept.contains("aHVudGVyMjIyMg") && !kept.contains("hunter2222"));
}

fn definition_and_objects() {
    let place = Place::new("defined");
    place.declare("ns", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: defined\n");
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: gadgets.test.example\nspec:\n  group: test.example\n  scope: Namespaced\n  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              size: {type: integer}\n";
    let gadget = "apiVersion: test.example/v1\nkind: Gadget\nmetadata:\n  name: g\nspec:\n  size: 1\n";
    place.declare("crd", crd);
    place.declare("g", gadget);
    let receipt = place.lab.apply(&[]);
    assert_eq!(receipt["writes"], json!(3), "{receipt}");
    // The definition gains a field, and an object uses it, in one plan.
    place.declare(
        "crd",
        &crd.replace("size: {type: integer}", "size: {type: integer}\n              colour: {type: string}"),
    );
    place.declare("g", &gadget.replace("size: 1", "size: 1\n  colour: red"));
    let receipt = place.lab.apply(&[]);
    assert_eq!(receipt["writes"], json!(2), "{receipt}");
    let live = place.on.hand().get("/apis/test.example/v1/namespaces/defined/gadgets/g").unwrap();
    assert_eq!(live["spec"], json!({"size": 1, "colour": "red"}));
    assert_eq!(place.lab.plan(&[])["changes"], json!([]));
    place.repo.remove("deploy/crd.yaml");
    place.repo.remove("deploy/g.yaml");
    place.repo.commit("gone");
    let receipt = place.lab.apply(&[]);
    assert_eq!(receipt["deletes"], json!(2), "{receipt}");
    assert!(
        place.on.hand().get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.test.example").is_none()
    );
}

fn refused_midway() {
    let place = Place::new("refused");
    place.make_namespace();
    place.declare("a", &conf("a", "1", ""));
    place.declare("b", &conf("b", "1", "  old: x\n"));
    place.lab.apply(&[]);
    // Somebody else holds a field that the next commit takes.
    let mut held = place.live("configmaps", "a").unwrap();
    held["data"]["w"] = "theirs".into();
    place.on.hand().put("kubectl-edit", "/api/v1/namespaces/refused/configmaps", &held);
    refuse_at_apply(&place, "!has(object.data.v) || object.data.v != 'forbidden'");
    place.declare("a", &conf("a", "2", "  w: ours\n"));
    place.declare("b", &conf("b", "2", "  new: fresh\n"));
    place.declare("c", &conf("c", "1", ""));
    place.declare("z", &conf("z", "forbidden", ""));
    let (a, b) = (whole(&place, "a"), whole(&place, "b"));
    let commit = place.lab.run(&["source", "list", "-o", "json"]).ok().json();
    let said = place.lab.run(&["apply", "--yes", "-o", "json"]).exits(1);
    assert!(said.stdout.contains("not this one"), "{}", said.all());
    assert_eq!(whole(&place, "a"), a);
    assert_eq!(whole(&place, "b"), b);
    assert!(place.live("configmaps", "c").is_none() && place.live("configmaps", "z").is_none());
    assert_eq!(place.lab.run(&["source", "list", "-o", "json"]).ok().json(), commit);
    // Ownership really is back: a field that git drops goes, the other's stays.
    place.repo.remove("deploy/z.yaml");
    place.declare("a", &conf("a", "3", ""));
    place.declare("b", &conf("b", "3", ""));
    place.lab.apply(&[]);
    assert_eq!(place.live("configmaps", "b").unwrap()["data"], json!({"v": "3"}));
    assert_eq!(place.live("configmaps", "a").unwrap()["data"], json!({"v": "3", "w": "theirs"}));
}

fn killed() {
    let place = Place::new("killed");
    place.make_namespace();
    let names = ["a", "b", "d"];
    for name in names {
        place.declare(name, &conf(name, "0", ""));
    }
    place.lab.apply(&[]);
    let points = [
        ("journal-opened", 1, false),
        ("journal-written", 1, false),
        ("after-object", 1, false),
        ("after-object", 3, false),
        ("before-commit", 1, false),
        ("after-commit", 1, true),
        ("after-delete", 1, true),
        ("after-inventory", 1, true),
        ("after-log", 1, true),
        ("journal-closing", 1, true),
    ];
    let mut value = "0".to_owned();
    for (round, (point, nth, committed)) in points.into_iter().enumerate() {
        let next = format!("{}", round + 1);
        for name in ["a", "b"] {
            place.repo.write(&format!("deploy/{name}.yaml"), conf(name, &next, ""));
        }
        // One object comes and one goes, each time another.
        place.repo.write(&format!("deploy/n{next}.yaml"), conf(&format!("n{next}"), &next, ""));
        let gone = if round == 0 { "d".to_owned() } else { format!("n{round}") };
        let stays = place.repo.folder.join(format!("deploy/{gone}.yaml")).exists();
        if stays {
            place.repo.remove(&format!("deploy/{gone}.yaml"));
        }
        place.repo.commit(&next);
        place.dies(&format!("{point}:{nth}"), &["apply", "--yes"]);
        let said = place.run(&["recover", "-o", "json"]).ok().json();
        let word = if committed { "finished" } else { "undone" };
        assert_eq!(said["recovered"][0]["result"], word, "{point}:{nth} {said}");
        let is = if committed { &next } else { &value };
        for name in ["a", "b"] {
            assert_eq!(place.live("configmaps", name).unwrap()["data"]["v"], **is, "{point}:{nth} {name}");
        }
        assert_eq!(place.live("configmaps", &format!("n{next}")).is_some(), committed, "{point}:{nth}");
        assert_eq!(place.run(&["recover"]).ok().stdout, "Nothing to recover.\n");
        let receipt = place.run(&["apply", "--yes", "-o", "json"]).ok().json();
        assert_eq!(receipt["writes"], json!(if committed { 0 } else { 3 }), "{point}:{nth} {receipt}");
        assert!(place.live("configmaps", &gone).is_none(), "{point}:{nth} {gone}");
        value = next;
    }
    let secrets = place.on.hand().get("/api/v1/namespaces/state-killed/secrets").unwrap();
    assert_eq!(secrets["items"], json!([]));
}

fn undo_leaves_others() {
    let place = Place::new("undone");
    place.make_namespace();
    place.declare("a", &conf("a", "1", "  x: one\n"));
    place.lab.apply(&[]);
    place.declare("a", &conf("a", "2", "  x: two\n"));
    place.declare("m", &conf("m", "2", ""));
    place.dies("before-commit", &["apply", "--yes"]);
    let mut live = place.live("configmaps", "a").unwrap();
    assert_eq!(live["data"], json!({"v": "2", "x": "two"}));
    live["data"]["x"] = "by hand".into();
    live["metadata"]["annotations"]["note"] = "by hand".into();
    place.on.hand().put("kubectl-edit", "/api/v1/namespaces/undone/configmaps", &live);
    place.run(&["recover"]).ok();
    let live = place.live("configmaps", "a").unwrap();
    assert_eq!(live["data"], json!({"v": "1", "x": "by hand"}));
    assert_eq!(live["metadata"]["annotations"]["note"], "by hand");
    assert!(place.live("configmaps", "m").is_none());
}

fn somebody_faster() {
    let place = Place::new("faster");
    place.make_namespace();
    place.declare("a", &conf("a", "1", ""));
    place.lab.run(&["plan", "--out", "p.json"]).ok();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"v": "1"}});
    place.on.hand().put("kubectl", "/api/v1/namespaces/faster/configmaps", &object);
    let before = whole(&place, "a");
    place.lab.run(&["apply", "p.json"]).exits(4);
    assert_eq!(whole(&place, "a"), before);
}
