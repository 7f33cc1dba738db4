//! Events: what an apply and the loop tell at the Source's record and at its objects, and nobody else does.

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::hooks::configuration;
use crate::on_cluster;
use crate::place::{Place, config};
use crate::webhook::Webhook;

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("an_apply_and_the_loop_tell_what_they_did_and_a_loop_at_rest_tells_nothing_more", told),
        on_cluster("an_object_that_fails_at_the_apply_is_told_of_and_no_secret_value_is", failing),
        on_cluster("what_a_source_calls_sensitive_is_quoted_by_no_refusal_of_a_write", called_sensitive),
        on_cluster("what_can_not_be_told_fails_no_apply", untold),
    ]
}

/// The Events of Holdfast in a Namespace, sorted by reason and object.
fn events(place: &Place, namespace: &str) -> Vec<Value> {
    let all = place.on.hand().get(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")).unwrap();
    let ours = |event: &&Value| event["reportingController"] == "holdfast.dev/holdfast";
    let mut found: Vec<Value> = all["items"].as_array().unwrap().iter().filter(ours).cloned().collect();
    found.sort_by_key(|event| (event["reason"].to_string(), event["regarding"]["name"].to_string()));
    found
}

fn short(event: &Value) -> (String, String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let regarding = &event["regarding"];
    (text(&event["type"]), text(&event["reason"]), text(&regarding["kind"]), text(&regarding["name"]))
}

fn of(words: (&str, &str, &str, &str)) -> (String, String, String, String) {
    (words.0.to_owned(), words.1.to_owned(), words.2.to_owned(), words.3.to_owned())
}

fn by_hand(place: &Place, value: &str) {
    let mut live = place.live("configmaps", "a").unwrap();
    live["data"]["v"] = value.into();
    place.on.hand().put("somebody", &format!("/api/v1/namespaces/{}/configmaps", place.namespace), &live);
}

fn told() {
    let place = Place::new("told");
    let state = "state-told";
    place.make_namespace();
    place.declare("a", &config("a"));
    let plan = place.lab.plan(&[]);
    place.lab.run(&["status"]).ok();
    place.lab.run(&["drift"]).ok();
    place.lab.run(&["apply", "--yes"]).ok();
    let source = format!("source.{}", plan_source(&place));
    let first = events(&place, state);
    assert_eq!(first.iter().map(short).collect::<Vec<_>>(), [of(("Normal", "Applied", "ConfigMap", &source))]);
    let record = place.on.hand().get(&format!("/api/v1/namespaces/{state}/configmaps/{source}")).unwrap();
    assert_eq!(first[0]["regarding"]["uid"], record["metadata"]["uid"]);
    let commit = &plan["sources"][0]["commit"];
    assert_eq!(first[0]["metadata"]["annotations"]["holdfast.dev/commit"], *commit);
    assert!(first[0]["metadata"]["annotations"]["holdfast.dev/plan"].is_string(), "{}", first[0]);
    let note = first[0]["note"].as_str().unwrap();
    assert!(note.contains("1 written, 0 deleted") && note.contains(&commit.as_str().unwrap()[..10]), "{note}");

    // Nothing to do, again and again, and whoever only reads.
    for command in ["run", "plan", "drift", "status", "run"] {
        let args: &[&str] = if command == "run" { &["run", "--once"] } else { &[command] };
        place.lab.run(args).ok();
        assert_eq!(events(&place, state), first, "{command}");
    }
    assert_eq!(events(&place, "told"), Vec::<Value>::new());

    by_hand(&place, "2");
    place.lab.run(&["drift"]).ok();
    assert_eq!(events(&place, "told"), Vec::<Value>::new());
    place.lab.run(&["run", "--once"]).ok();
    assert_eq!(place.live("configmaps", "a").unwrap()["data"]["v"], "1");
    let at_object = events(&place, "told");
    assert_eq!(at_object.iter().map(short).collect::<Vec<_>>(), [of(("Warning", "Drifted", "ConfigMap", "a"))]);
    let note = at_object[0]["note"].as_str().unwrap();
    assert!(note.contains("/data/v; it is put back"), "{note}");
    assert_eq!(at_object[0]["regarding"]["uid"], place.live("configmaps", "a").unwrap()["metadata"]["uid"]);
    // The same once more is counted.
    by_hand(&place, "3");
    place.lab.run(&["run", "--once"]).ok();
    let again = events(&place, "told");
    assert_eq!((again.len(), &again[0]["series"]["count"]), (1, &json!(2)), "{again:?}");

    place.declare("a", &config("a").replace("\ndata:", "\ndada:"));
    for _ in 0..2 {
        place.lab.run(&["run", "--once"]).exits(1);
        let refused: Vec<Value> = events(&place, state).into_iter().filter(|e| e["reason"] == "Refused").collect();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0]["note"].as_str().unwrap().contains("unknown-field"), "{refused:?}");
    }
}

fn plan_source(place: &Place) -> String {
    place.lab.plan(&[])["sources"][0]["id"].as_str().unwrap().to_owned()
}

/// Has a webhook called in the Namespace, which refuses this kind; the URL of its configuration.
fn call(place: &Place, hook: &Webhook, (kind, plural): (&str, &str)) -> String {
    let (hand, namespace) = (place.on.hand(), &place.namespace);
    let group = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    hand.put("admin", group, &configuration(place, "Validating", namespace, hook));
    let probe = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "probe"}});
    let url = format!("/api/v1/namespaces/{namespace}/{plural}");
    hand.until("the webhook is called", || {
        let code = hand.ask(http::Method::POST, &url, "application/json", Some(&probe)).unwrap().0;
        hand.ask(http::Method::DELETE, &format!("{url}/probe"), "application/json", None);
        code >= 400
    });
    format!("{group}/{namespace}")
}

fn failing() {
    let place = Place::new("failing");
    place.make_namespace();
    place.declare("s", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  pass: aHVudGVyMjIyMg==\n");
    place.lab.run(&["apply", "--yes"]).ok();
    // It quotes what it refuses, as some do.
    let hook = Webhook::new(|request| {
        let quoted = request["object"]["data"].to_string();
        if request["dryRun"] == true || request["object"]["kind"] != "Secret" || request["operation"] == "DELETE" {
            return Ok(Vec::new());
        }
        Err(format!("{quoted} or swordfish9 is too short"))
    });
    let configured = call(&place, &hook, ("Secret", "secrets"));
    place.declare("a", &config("a"));
    place.declare("s", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  pass: c3dvcmRmaXNoOQ==\n");
    let said = place.lab.run(&["apply", "--yes", "-v"]).exits(1);
    let (state, objects) = (events(&place, "state-failing"), events(&place, "failing"));
    let failed = |all: &[Value]| all.iter().filter(|e| e["reason"] == "ApplyFailed").map(short).collect::<Vec<_>>();
    assert_eq!(failed(&objects), [of(("Warning", "ApplyFailed", "Secret", "s"))], "{objects:?}");
    assert_eq!(failed(&state).len(), 1, "{state:?}");
    let all = format!("{state:?} {objects:?} {}", said.all());
    assert!(all.contains("failing.test.example"), "{all}");
    for value in ["aHVudGVyMjIyMg", "hunter2222", "c3dvcmRmaXNoOQ", "swordfish9"] {
        assert!(!all.contains(value), "{value} in {all}");
    }
    place.on.hand().delete(&configured);
}

fn called_sensitive() {
    let place = Place::new("called");
    place.make_namespace();
    place.configure("  sensitive:\n  - {kind: ConfigMap, pointers: [/data/v]}\n");
    place.declare("a", &config("a").replace("\"1\"", "opensesame77"));
    place.lab.run(&["apply", "--yes"]).ok();
    let hook = Webhook::new(|request| {
        if request["dryRun"] == true || request["object"]["kind"] != "ConfigMap" || request["operation"] == "DELETE" {
            return Ok(Vec::new());
        }
        Err(format!("{} after {}", request["object"]["data"]["v"], request["oldObject"]["data"]["v"]))
    });
    let configured = call(&place, &hook, ("ConfigMap", "configmaps"));
    place.declare("a", &config("a").replace("\"1\"", "swordfish11"));
    let said = place.lab.run(&["apply", "--yes", "-v"]).exits(1);
    let all = format!("{:?} {:?} {}", events(&place, "state-called"), events(&place, "called"), said.all());
    assert!(all.contains("called.test.example"), "{all}");
    for value in ["opensesame77", "swordfish11"] {
        assert!(!all.contains(value), "{value} in {all}");
    }
    place.on.hand().delete(&configured);
}

fn untold() {
    let place = Place::new("untold");
    place.make_namespace();
    let hand = place.on.hand();
    let group = "/apis/admissionregistration.k8s.io/v1";
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "untold"},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["events"]}]},
            "validations": [{"expression": "object.metadata.namespace != 'state-untold'", "message": "no events here"}]}});
    hand.put("admin", &format!("{group}/validatingadmissionpolicies"), &policy);
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "untold"},
        "spec": {"policyName": "untold", "validationActions": ["Deny"]}});
    hand.put("admin", &format!("{group}/validatingadmissionpolicybindings"), &binding);
    let mut n = 0;
    hand.until("Events are refused", || {
        n += 1;
        place.declare("a", &config("a").replace("\"1\"", &format!("\"{n}\"")));
        let said = place.lab.run(&["apply", "--yes"]).ok();
        assert_eq!(place.live("configmaps", "a").unwrap()["data"]["v"], n.to_string());
        said.stderr.contains("warning: an Event can't be written") && said.stderr.contains("no events here")
    });
    for kind in ["policies", "policybindings"] {
        hand.delete(&format!("{group}/validatingadmission{kind}/untold"));
    }
}
