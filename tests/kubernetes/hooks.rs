//! Admission webhooks: those that take no dry run, and those that the plan itself writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
        on_cluster("a_webhook_that_refuses_the_third_object_at_the_apply_alone_has_everything_taken_back", third),
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

/// Everything of an object but what moves with every write, and what controllers say of it.
fn whole(place: &Place, url: &str) -> Value {
    let mut live = place.on.hand().get(&format!("{}{url}", url_of(place, url))).unwrap();
    live.as_object_mut().unwrap().remove("status");
    let metadata = live["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    metadata.remove("generation");
    let owners = metadata["managedFields"].as_array_mut().unwrap();
    owners.retain(|entry| entry["manager"] != "kube-controller-manager");
    for entry in owners.iter_mut().filter(|entry| entry["manager"] == "holdfast") {
        // An API server takes no change of an entry's time alone.
        entry.as_object_mut().unwrap().remove("time");
    }
    live
}

/// The Namespace's part of the API that serves a kind.
fn url_of(place: &Place, url: &str) -> String {
    let group = if url.starts_with("/deployments") { "/apis/apps/v1" } else { "/api/v1" };
    format!("{group}/namespaces/{}", place.namespace)
}

/// A ConfigMap, a Service and a Deployment, written one after the other.
fn three(n: u16, more: &str) -> String {
    let metadata = |name: &str| {
        format!(
            "metadata:\n  name: {name}\n  labels: {{app: x, step: \"{n}\"{more}}}\n  annotations: {{note: \"{n}\"}}"
        )
    };
    let (map, service, deployment) = (metadata("a"), metadata("b"), metadata("c"));
    format!(
        "apiVersion: v1\nkind: ConfigMap\n{map}\ndata: {{v: \"{n}\"}}\n---\n\
         apiVersion: v1\nkind: Service\n{service}\nspec:\n  selector: {{app: x}}\n  ports: [{{name: web, port: {port}}}]\n---\n\
         apiVersion: apps/v1\nkind: Deployment\n{deployment}\nspec:\n  replicas: 0\n  minReadySeconds: {n}\n  \
         selector: {{matchLabels: {{app: x}}}}\n  template:\n    metadata: {{labels: {{app: x}}}}\n    spec:\n      containers: [{{name: c, image: \"i:1\"}}]\n",
        port = 80 + n
    )
}

fn third() {
    let place = Place::new("thirdhook");
    place.make_namespace();
    place.declare("all", &three(1, ""));
    place.lab.apply(&[]);
    let urls = ["/configmaps/a", "/services/b", "/deployments/c"];
    let hand = place.on.hand();
    // Somebody else holds a label that the next commit takes, and something that it doesn't.
    let mut held = place.live("configmaps", "a").unwrap();
    held["metadata"]["labels"]["mine"] = "theirs".into();
    held["data"]["other"] = "theirs".into();
    hand.put("kubectl-edit", "/api/v1/namespaces/thirdhook/configmaps", &held);
    let (count, probed) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = probed.clone();
    let hook = Webhook::new(move |request| {
        seen.fetch_add(1, Ordering::SeqCst);
        let counts = request["dryRun"] != true && request["options"]["fieldManager"] == "holdfast";
        if counts && count.fetch_add(1, Ordering::SeqCst) == 2 {
            return Err("the third is one too many".to_owned());
        }
        Ok(Vec::new())
    });
    let mut object = configuration(&place, "Validating", "thirdhook", &hook);
    object["webhooks"][0]["rules"][0]["apiGroups"] = json!(["", "apps"]);
    object["webhooks"][0]["rules"][0]["operations"] = json!(["UPDATE"]);
    object["webhooks"][0]["rules"][0]["resources"] = json!(["configmaps", "services", "deployments"]);
    hand.put("admin", &format!("{GROUP}/validatingwebhookconfigurations"), &object);
    hand.until("the webhook is called", || {
        let (url, probe) = ("/api/v1/namespaces/thirdhook/configmaps/a?dryRun=All", json!({"data": {"probe": "x"}}));
        hand.ask(Method::PATCH, url, "application/merge-patch+json", Some(&probe)).unwrap();
        probed.load(Ordering::SeqCst) > 0
    });
    hand.until("the controller has noted its revision", || {
        let noted = whole(&place, urls[2])["metadata"]["annotations"]["deployment.kubernetes.io/revision"].is_string();
        noted || !place.on.has_controllers
    });
    let before = urls.map(|url| whole(&place, url));
    let sources = place.lab.run(&["source", "list", "-o", "json"]).ok().json();

    place.declare("all", &three(2, ", mine: ours"));
    assert_eq!(place.lab.plan(&[])["summary"]["update"], 3);
    let said = place.lab.run(&["apply", "--yes", "-o", "json"]).exits(1);
    let refusals = said.json()["refusals"].clone();
    assert_eq!(refusals[0]["id"]["kind"], "Deployment", "{refusals}");
    assert!(refusals[0]["text"].as_str().unwrap().contains("the third is one too many"), "{refusals}");
    for (url, before) in urls.iter().zip(&before) {
        assert_eq!(whole(&place, url), *before, "{url}");
    }
    assert_eq!(place.lab.run(&["source", "list", "-o", "json"]).ok().json(), sources);
    // Who owns what really is as before: what git drops goes, and what others hold stays.
    hand.delete(&format!("{GROUP}/validatingwebhookconfigurations/thirdhook"));
    place.declare("all", &three(3, ""));
    let said = place.lab.run(&["apply", "--yes"]).ok();
    assert!(said.stdout.contains("3 to update"), "{}", said.all());
    let live = place.live("configmaps", "a").unwrap();
    assert_eq!(live["metadata"]["labels"], json!({"app": "x", "step": "3", "mine": "theirs"}));
    assert_eq!(live["data"], json!({"v": "3", "other": "theirs"}));
}
