//! What a mutating webhook makes of what is declared: shown in plan and status, and no drift while it stands.

use http::Method;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::hooks::configuration;
use crate::on_cluster;
use crate::place::{Place, config};
use crate::webhook::Webhook;

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("what_a_webhook_rewrites_is_shown_in_plan_and_status_and_is_no_drift", rewritten),
        on_cluster("what_a_webhook_makes_of_a_secret_is_kept_by_its_place_alone", secret),
    ]
}

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// Puts a webhook before the ConfigMaps and Secrets of the Namespace.
fn install(place: &Place, hook: &Webhook) {
    let name = &place.namespace;
    place.on.hand().put("admin", MUTATING, &configuration(place, "Mutating", name, hook));
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}, "data": {"v": "1"}});
    place.on.hand().until("the webhook is called", || {
        let url = format!("/api/v1/namespaces/{name}/configmaps?dryRun=All");
        let made = place.on.hand().ask(Method::POST, &url, "application/json", Some(&probe)).unwrap().1;
        made["metadata"]["labels"]["seen"] == "yes"
    });
}

/// Makes `one` of `1`, nothing of `gone`, another password of every password, and adds a label.
fn rewriter() -> Webhook {
    Webhook::new(|request| {
        let object = &request["object"];
        let mut patch = Vec::new();
        if object["metadata"]["labels"].is_null() {
            patch.push(json!({"op": "add", "path": "/metadata/labels", "value": {}}));
        }
        patch.push(json!({"op": "add", "path": "/metadata/labels/seen", "value": "yes"}));
        if object["data"]["v"] == "1" {
            patch.push(json!({"op": "replace", "path": "/data/v", "value": "one"}));
        }
        if object["data"]["gone"] == "x" {
            patch.push(json!({"op": "remove", "path": "/data/gone"}));
        }
        if object["data"]["pass"] == "aHVudGVyMjIyMg==" {
            patch.push(json!({"op": "replace", "path": "/data/pass", "value": "c3dvcmRmaXNoOQ=="}));
        }
        Ok(patch)
    })
}

/// Somebody notes something on an object, and so its resourceVersion moves.
fn note(place: &Place, plural: &str, name: &str) {
    let mut live = place.live(plural, name).unwrap();
    live["metadata"]["annotations"]["note"] = "seen".into();
    place.on.hand().put("somebody", &format!("/api/v1/namespaces/{}/{plural}", place.namespace), &live);
}

fn object(status: &Value) -> Value {
    status["sources"][0]["objects"][0].clone()
}

fn rewritten() {
    let place = Place::new("rewritten");
    place.make_namespace();
    let hook = rewriter();
    install(&place, &hook);
    place.declare("c", &format!("{}  gone: x\n", config("c")));
    let plan = place.lab.plan(&[]);
    let change = &plan["changes"][0];
    let both = json!([{"path": "/data/v", "before": "1", "after": "one"}, {"path": "/data/gone", "before": "x"}]);
    assert_eq!(change["rewritten"], both, "{change}");
    for form in ["table", "diff", "markdown"] {
        let shown = place.lab.run(&["plan", "-o", form]).ok().stdout;
        assert!(shown.contains("rewritten by the target: /data/v 1 -> one"), "{shown}");
    }
    // Who doesn't ask the target can't know; the content is the same.
    let read_only = place.lab.plan(&["--read-only"]);
    assert_eq!((read_only["changes"][0].get("rewritten"), &read_only["contentId"]), (None, &plan["contentId"]));
    place.lab.run(&["plan", "--out", "p.json"]).ok();
    place.lab.run(&["apply", "p.json"]).ok();
    assert_eq!(place.live("configmaps", "c").unwrap()["data"]["v"], "one");

    let in_sync = || {
        let plan = place.lab.plan(&[]);
        assert_eq!(plan["changes"], json!([]), "{plan}");
        let warning = &plan["warnings"][0];
        assert_eq!(warning["rule"], "rewritten-by-target", "{plan}");
        assert!(warning["text"].as_str().unwrap().contains("ConfigMap/rewritten/c (/data/v, /data/gone)"), "{warning}");
        place.lab.run(&["drift", "--exit-code"]).ok();
        let status = place.lab.run(&["status", "-o", "json", "--exit-code"]).ok().json();
        assert_eq!(object(&status)["rewritten"], json!(["/data/v", "/data/gone"]));
        let text = place.lab.run(&["status"]).ok().stdout;
        assert!(text.contains("ConfigMap/rewritten/c: rewritten by the target: /data/v"), "{text}");
    };
    in_sync();
    note(&place, "configmaps", "c");
    in_sync();
    // What somebody else makes of it is drift, and a repair asks the target anew.
    let mut live = place.live("configmaps", "c").unwrap();
    live["data"]["v"] = "two".into();
    place.on.hand().put("somebody", "/api/v1/namespaces/rewritten/configmaps", &live);
    place.lab.run(&["drift", "--exit-code"]).exits(3);
    let status = place.lab.run(&["status", "-o", "json"]).ok().json();
    assert_eq!(
        (&object(&status)["synced"]["status"], &object(&status)["rewritten"]),
        (&json!("False"), &json!(["/data/gone"]))
    );
    place.lab.run(&["repair", "--yes"]).ok();
    assert_eq!(place.live("configmaps", "c").unwrap()["data"]["v"], "one");
    in_sync();
    place.on.hand().delete(&format!("{MUTATING}/rewritten"));
    note(&place, "configmaps", "c");
    in_sync();
}

fn secret() {
    let place = Place::new("rewrittensecret");
    place.make_namespace();
    let hook = rewriter();
    install(&place, &hook);
    place.declare("s", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  pass: aHVudGVyMjIyMg==\n");
    let plan = place.lab.plan(&[]);
    assert_eq!(plan["changes"][0]["rewritten"][0]["path"], "/data/pass", "{plan}");
    let mut said = vec![plan.to_string()];
    for form in ["table", "diff", "markdown"] {
        said.push(place.lab.run(&["plan", "-v", "-o", form]).ok().all());
    }
    said.push(place.lab.run(&["apply", "--yes", "-v"]).ok().all());
    assert_eq!(place.live("secrets", "s").unwrap()["data"]["pass"], "c3dvcmRmaXNoOQ==");
    let in_sync = || {
        let drift = place.lab.run(&["drift", "--exit-code"]).ok().all();
        let status = place.lab.run(&["status", "-o", "json", "--exit-code"]).ok();
        assert_eq!(object(&status.json())["rewritten"], json!(["/data/pass"]), "{}", status.stdout);
        [drift, status.all(), place.lab.plan(&[]).to_string()]
    };
    said.extend(in_sync());
    note(&place, "secrets", "s");
    said.extend(in_sync());
    said.push(place.on.hand().get("/api/v1/namespaces/state-rewrittensecret/configmaps").unwrap().to_string());
    for text in said {
        for value in ["aHVudGVyMjIyMg", "hunter2222", "c3dvcmRmaXNoOQ", "swordfish9"] {
            assert!(!text.contains(value), "{value} in {text}");
        }
    }
    // Another commit says something new: then its values are compared, and the server has the last word.
    place.declare("s", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  pass: bmV3bmV3bmV3\n");
    place.lab.apply(&[]);
    assert_eq!(place.live("secrets", "s").unwrap()["data"]["pass"], "bmV3bmV3bmV3");
    place.on.hand().delete(&format!("{MUTATING}/rewrittensecret"));
}
