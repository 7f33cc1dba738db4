//! Everything of a Source's life beside plan and apply, on a cluster.

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::on_cluster;
use crate::place::{Place, config};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("drift_is_told_with_its_manager_and_repaired", drift),
        on_cluster("the_loop_applies_heals_and_prunes", the_loop),
        on_cluster("a_paused_source_is_left_alone_and_a_pinned_one_held", paused),
        on_cluster("a_source_is_renamed_rebuilt_and_removed", removed),
        on_cluster("a_loop_in_a_pod_writes_as_one_account_only_where_that_is_said", one_account),
    ]
}

fn namespace(name: &str) -> String {
    format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n")
}

fn begun(name: &str) -> Place {
    let place = Place::new(name);
    place.declare("ns", &namespace(name));
    place.declare("a", &config("a"));
    place.declare("b", &config("b"));
    place
}

/// Somebody else changes the value of a ConfigMap.
fn by_hand(place: &Place, name: &str, value: &str) {
    let mut live = place.live("configmaps", name).unwrap();
    live["data"]["v"] = value.into();
    place.on.hand().put("kubectl-edit", &format!("/api/v1/namespaces/{}/configmaps", place.namespace), &live);
}

fn value(place: &Place, name: &str) -> Value {
    place.live("configmaps", name).map_or(Value::Null, |live| live["data"]["v"].clone())
}

fn drift() {
    let place = begun("drifted");
    place.lab.apply(&[]);
    place.lab.run(&["drift", "--exit-code"]).ok();
    by_hand(&place, "a", "2");
    let said = place.lab.run(&["drift", "--exit-code"]).exits(3);
    assert!(said.stdout.contains("kubectl-edit") && said.stdout.contains("/data/v"), "{}", said.stdout);
    let status = place.lab.run(&["status", "-o", "json"]).ok().json();
    assert_eq!(status["sources"][0]["synced"]["status"], "False", "{status}");
    let patch = place.lab.run(&["export-drift", "shop"]).ok();
    assert!(patch.stdout.contains("+  v: \"2\""), "{}", patch.stdout);
    place.lab.run(&["repair", "--yes"]).ok();
    assert_eq!(value(&place, "a"), "1");
    place.lab.run(&["drift", "--exit-code"]).ok();
}

fn the_loop() {
    let place = begun("looped");
    place.lab.run(&["run", "--once"]).ok();
    assert_eq!((value(&place, "a"), value(&place, "b")), (json!("1"), json!("1")));
    by_hand(&place, "a", "2");
    place.lab.run(&["run", "--once"]).ok();
    assert_eq!(value(&place, "a"), "1", "drift is taken back");
    place.repo.remove("deploy/b.yaml");
    place.declare("a", &config("a").replace("\"1\"", "\"3\""));
    place.lab.run(&["run", "--once"]).ok();
    assert_eq!((value(&place, "a"), place.live("configmaps", "b")), (json!("3"), None));
    let said = place.lab.run(&["run", "--once", "-v"]).ok();
    assert!(!said.stderr.contains("applied"), "{}", said.stderr);
    // A commit that is refused changes nothing, and what is applied is kept as it is.
    place.declare("a", &config("a").replace("data:", "dada:"));
    by_hand(&place, "a", "4");
    place.lab.run(&["run", "--once"]).exits(1);
    assert_eq!(value(&place, "a"), "3");
}

fn paused() {
    let place = begun("held");
    place.lab.apply(&[]);
    place.lab.run(&["source", "pause", "shop", "--reason", "incident"]).ok();
    by_hand(&place, "a", "2");
    place.declare("b", &config("b").replace("\"1\"", "\"5\""));
    place.lab.run(&["apply", "--yes"]).exits(1);
    place.lab.run(&["run", "--once"]);
    assert_eq!((value(&place, "a"), value(&place, "b")), (json!("2"), json!("1")));
    place.lab.run(&["source", "resume", "shop"]).ok();
    place.lab.run(&["run", "--once"]).ok();
    // Git goes on; what was changed in the pause waits until it is given up.
    assert_eq!((value(&place, "a"), value(&place, "b")), (json!("2"), json!("5")));
    place.lab.run(&["source", "resume", "shop", "--revert"]).ok();
    place.lab.run(&["run", "--once"]).ok();
    assert_eq!(value(&place, "a"), "1");
    place.lab.run(&["source", "pin", "shop", "--reason", "known good"]).ok();
    place.declare("b", &config("b").replace("\"1\"", "\"6\""));
    place.lab.run(&["run", "--once"]).ok();
    assert_eq!(value(&place, "b"), "5");
    place.lab.run(&["source", "unpin", "shop"]).ok();
    place.lab.run(&["run", "--once"]).ok();
    assert_eq!(value(&place, "b"), "6");
}

fn removed() {
    let place = begun("leaving");
    place.lab.apply(&[]);
    let uid = place.live("configmaps", "a").unwrap()["metadata"]["uid"].clone();
    place.lab.run(&["source", "rename", "shop", "store"]).ok();
    let file = place.lab.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("name: shop", "name: store")).unwrap();
    assert_eq!(place.lab.plan(&[])["changes"], json!([]));
    // A restore gave an object a new UID: it bears the mark, and is taken back without being written.
    let mut live = place.live("configmaps", "b").unwrap();
    let hand = place.on.hand();
    let collection = "/api/v1/namespaces/leaving/configmaps";
    hand.delete(&format!("{collection}/b"));
    live["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    hand.put("velero", collection, &live);
    place.lab.run(&["source", "rebuild", "store", "--yes"]).ok();
    assert_eq!(place.lab.plan(&[])["summary"]["delete"], 0);
    place.lab.run(&["source", "remove", "store", "--orphan", "--yes"]).ok();
    let left = place.live("configmaps", "a").unwrap();
    assert_eq!(left["metadata"]["uid"], uid);
    assert!(left["metadata"]["annotations"].get("holdfast.dev/owner").is_none(), "{left}");
    let known = place.lab.run(&["source", "list", "-o", "json"]).ok().json();
    assert!(known["sources"][0]["removedAt"].is_string() || known["sources"] == json!([]), "{known}");
}

fn one_account() {
    let place = begun("unready");
    let mut command = place.lab.command(&["run", "--once"]);
    let said = crate::lab::Said::of(command.env("KUBERNETES_SERVICE_HOST", "127.0.0.1").output().unwrap()).exits(1);
    assert!(said.stderr.contains("serviceAccount") && said.stderr.contains("singleTenant"), "{}", said.all());
    assert!(place.on.hand().get("/api/v1/namespaces/unready").is_none());
}
