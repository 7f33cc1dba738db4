//! Admission webhooks: those that take no dry run, and those that the plan itself writes.

use http::Method;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::on_cluster;
use crate::place::{Place, config};
use crate::webhook::Webhook;

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("a_webhook_that_takes_no_dry_run_refuses_the_plan_until_it_is_waived_by_name", deaf),
        on_cluster("of_several_webhooks_that_take_no_dry_run_each_needs_its_waiver", deaf_twice),
        on_cluster("what_a_webhook_of_the_same_plan_guards_is_admitted_offline", own_webhook),
    ]
}

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A webhook that is called for ConfigMaps of the Namespace.
pub fn configuration(place: &Place, kind: &str, name: &str, hook: &Webhook) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"), "metadata": {"name": name},
        "webhooks": [{"name": format!("{name}.test.example"), "clientConfig": hook.client_config(), "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10,
            "objectSelector": {}, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps", "secrets"], "scope": "*"}]}]})
}

/// Stores a configuration whose webhook has side effects: an API server takes none any more, but keeps those of old.
fn store_deaf(place: &Place, name: &str, hook: &Webhook) {
    let mut object = configuration(place, "Validating", name, hook);
    object["webhooks"][0]["sideEffects"] = "Some".into();
    object["metadata"]["uid"] = uuid::Uuid::new_v4().to_string().into();
    object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    place.on.store(&format!("validatingwebhookconfigurations/{name}"), &object);
    let hand = place.on.hand();
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}});
    hand.until("the webhook is called", || {
        let url = format!("/api/v1/namespaces/{}/configmaps?dryRun=All", place.namespace);
        hand.ask(Method::POST, &url, "application/json", Some(&probe)).unwrap().0 == 400
    });
}

fn change<'p>(plan: &'p Value, name: &str) -> &'p Value {
    plan["changes"].as_array().unwrap().iter().find(|c| c["id"]["name"] == name).unwrap()
}

fn deaf() {
    let place = Place::new("deaf");
    place.make_namespace();
    let hook = Webhook::new(|request| {
        let bad = request["object"]["data"]["v"] == "bad";
        if bad { Err("bad is not good".to_owned()) } else { Ok(Vec::new()) }
    });
    store_deaf(&place, "deaf", &hook);
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: free\n";
    place.declare("a", &format!("{account}---\n{}", config("a")));
    let said = place.lab.run(&["plan", "-o", "json", "--out", "p.json"]).exits(1);
    let refusals = said.json()["refusals"].clone();
    assert_eq!(refusals.as_array().unwrap().len(), 1, "{refusals}");
    let refusal = &refusals[0];
    let place_of = (&refusal["rule"], &refusal["file"], &refusal["line"]);
    assert_eq!(place_of, (&json!("webhook-without-dry-run"), &json!("deploy/a.yaml"), &json!(6)), "{refusal}");
    assert!(refusal["text"].as_str().unwrap().contains("deaf.test.example"), "{refusal}");
    assert!(refusal["hint"].as_str().unwrap().contains("--waive-dry-run deaf.test.example"), "{refusal}");
    // The waiver of another is none, and counts for nothing.
    place.lab.run(&["plan", "--waive-dry-run", "other.test.example"]).exits(1);

    let waive = ["--waive-dry-run", "deaf.test.example"];
    let plan = place.lab.plan(&[waive[0], waive[1], "--waive-dry-run", "other.test.example"]);
    assert_eq!(plan["allowances"], json!({"waiveDryRun": ["deaf.test.example"]}));
    let admitted = (&change(&plan, "a")["admitted"], &change(&plan, "free")["admitted"]);
    assert_eq!(admitted, (&json!("offline"), &json!("server")));
    place.lab.run(&[&["plan", "--out", "p.json"][..], &waive].concat()).ok();
    let table = place.lab.run(&["show", "p.json"]).ok().stdout;
    assert!(table.contains("Permissions used: --waive-dry-run deaf.test.example"), "{table}");
    assert!(table.contains("admitted offline"), "{table}");
    let page = place.lab.run(&["show", "p.json", "-o", "markdown"]).ok().stdout;
    assert!(page.contains("**permission used** `--waive-dry-run deaf.test.example`"), "{page}");

    // A permission in a file is none; the applier gives it again.
    let said = place.lab.run(&["apply", "p.json", "-o", "json"]).exits(1);
    assert_eq!(said.json()["refusals"][0]["rule"], "permission-not-given", "{}", said.all());
    assert!(said.all().contains("--waive-dry-run deaf.test.example"), "{}", said.all());
    let receipt = place.lab.run(&[&["apply", "p.json", "-o", "json"][..], &waive].concat()).ok().json();
    assert_eq!((&receipt["writes"], &receipt["allowances"]), (&json!(2), &plan["allowances"]), "{receipt}");

    // A waiver that a plan needs none of isn't recorded, and what isn't recorded doesn't count at the apply.
    let url = format!("{GROUP}/validatingwebhookconfigurations/deaf");
    place.on.hand().delete(&url);
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    place.on.hand().until("the webhook is called no more", || place.lab.run(&["plan"]).code == 0);
    let plan = place.lab.run(&[&["plan", "-o", "json", "--out", "q.json"][..], &waive].concat()).ok().json();
    assert_eq!(plan["allowances"], json!({}));
    store_deaf(&place, "deaf", &hook);
    let said = place.lab.run(&[&["apply", "q.json", "-o", "json"][..], &waive].concat()).exits(1);
    assert_eq!(said.json()["refusals"][0]["rule"], "permission-not-given", "{}", said.all());
    // What only reads can't know which waivers are needed: it records those that are given, and such a plan can be applied.
    let read_only = ["plan", "--read-only", "-o", "json", "--out", "r.json"];
    let read = place.lab.run(&[&read_only[..], &waive].concat()).ok().json();
    assert_eq!(read["allowances"], place.lab.plan(&waive)["allowances"]);
    assert_eq!(read["contentId"], place.lab.plan(&waive)["contentId"]);
    place.lab.run(&[&["apply", "r.json"][..], &waive].concat()).ok();

    // What was admitted offline is judged at the apply, and then all is taken back.
    place.declare("a", &config("a").replace("\"1\"", "bad"));
    place.declare("c", "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: c\n");
    let said = place.lab.run(&[&["apply", "--yes", "-o", "json"][..], &waive].concat()).exits(1);
    assert!(said.stdout.contains("bad is not good"), "{}", said.all());
    assert_eq!(place.live("configmaps", "a").unwrap()["data"]["v"], "2");
    assert!(place.live("serviceaccounts", "c").is_none());
    place.on.hand().delete(&url);
}

fn deaf_twice() {
    let place = Place::new("deaftwice");
    place.make_namespace();
    let hook = Webhook::new(|_| Ok(Vec::new()));
    store_deaf(&place, "deafone", &hook);
    store_deaf(&place, "deaftwo", &hook);
    place.declare("a", &config("a"));
    let rules = |said: &Value| -> Vec<String> {
        let all = said["refusals"].as_array().unwrap().iter();
        all.map(|refusal| refusal["text"].as_str().unwrap().to_owned()).collect()
    };
    let said = rules(&place.lab.run(&["plan", "-o", "json"]).exits(1).json());
    assert_eq!(said.len(), 2, "{said:?}");
    for (waived, other) in [("deafone", "deaftwo"), ("deaftwo", "deafone")] {
        let waive = format!("{waived}.test.example");
        let said = rules(&place.lab.run(&["plan", "-o", "json", "--waive-dry-run", &waive]).exits(1).json());
        assert!(said.len() == 1 && said[0].contains(other), "{said:?}");
    }
    let both = ["--waive-dry-run", "deafone.test.example", "--waive-dry-run", "deaftwo.test.example"];
    let plan = place.lab.plan(&both);
    assert_eq!(plan["allowances"]["waiveDryRun"], json!(["deafone.test.example", "deaftwo.test.example"]));
    for name in ["deafone", "deaftwo"] {
        place.on.hand().delete(&format!("{GROUP}/validatingwebhookconfigurations/{name}"));
    }
}

fn own_webhook() {
    let place = Place::new("ownhook");
    place.make_namespace();
    let file = place.lab.path().join("holdfast.yaml");
    let source = std::fs::read_to_string(&file).unwrap();
    let kinds = "clusterKinds: [ValidatingWebhookConfiguration.admissionregistration.k8s.io, ";
    std::fs::write(&file, source.replace("clusterKinds: [", kinds)).unwrap();
    let strict = Webhook::new(|_| Err("never".to_owned()));
    let kind = Webhook::new(|_| Ok(Vec::new()));
    let first = |hook: &Webhook| {
        let mut object = configuration(&place, "Validating", "ownhook", hook);
        object["metadata"]["annotations"] = json!({"holdfast.dev/wave": "-1"});
        object.to_string()
    };
    place.repo.write("deploy/hook.json", first(&strict));
    place.declare("a", &format!("{}---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: free\n", config("a")));
    // The webhook isn't there yet: its word comes at the apply, which is taken back.
    let plan = place.lab.plan(&[]);
    let admitted =
        (&change(&plan, "a")["admitted"], &change(&plan, "free")["admitted"], &change(&plan, "ownhook")["admitted"]);
    assert_eq!(admitted, (&json!("offline"), &json!("server"), &json!("server")));
    // What the server refuses by itself is refused all the same.
    place.declare("b", &config("b").replace("v:", "\"no good\":"));
    place.lab.run(&["plan"]).exits(1);
    place.repo.remove("deploy/b.yaml");

    place.repo.write("deploy/hook.json", first(&kind));
    place.repo.commit("a kinder one");
    place.lab.apply(&[]);
    let hand = place.on.hand();
    let url = format!("{GROUP}/validatingwebhookconfigurations/ownhook");
    let mut live = hand.get(&url).unwrap();
    live["webhooks"][0]["clientConfig"] = strict.client_config();
    hand.put("somebody", &format!("{GROUP}/validatingwebhookconfigurations"), &live);
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}});
    hand.until("the strict one is called", || {
        let url = "/api/v1/namespaces/ownhook/configmaps?dryRun=All";
        hand.ask(Method::POST, url, "application/json", Some(&probe)).unwrap().0 >= 400
    });
    // The plan puts the kind one back before it comes to the object: what the strict one says to its dry run doesn't count.
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    let plan = place.lab.plan(&[]);
    let admitted = (&change(&plan, "a")["admitted"], &change(&plan, "ownhook")["action"]);
    assert_eq!(admitted, (&json!("offline"), &json!("update")), "{plan}");
    hand.delete(&url);
}
