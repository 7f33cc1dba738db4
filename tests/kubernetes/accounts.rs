//! Each Source is read, dry-run and written as its own account; state is ours.

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::lab::Said;
use crate::on_cluster;
use crate::place::{Place, config};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("everything_of_a_source_is_done_as_its_account", as_its_account),
        on_cluster("what_its_account_may_not_do_a_source_can_not_do", may_not),
        on_cluster("an_interrupted_apply_is_taken_back_as_its_account", taken_back),
        on_cluster("sources_that_are_planned_together_are_each_written_as_their_own_account", together),
    ]
}

/// A Namespace with an account that may write its ConfigMaps.
fn begun(name: &str) -> Place {
    let place = Place::new(name);
    place.make_namespace();
    account(&place, name);
    place.configure(&format!("  serviceAccount: {name}/deployer\n"));
    place
}

fn account(place: &Place, namespace: &str) {
    let hand = place.on.hand();
    let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "deployer"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "patch", "delete"]}]});
    hand.put("admin", &format!("{rbac}/roles"), &role);
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "deployer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": "deployer"}]});
    hand.put("admin", &format!("{rbac}/rolebindings"), &binding);
}

/// From now on nobody but the account writes ConfigMaps of the Namespace.
fn nobody_else(place: &Place) {
    let (hand, name) = (place.on.hand(), &place.namespace);
    let group = "/apis/admissionregistration.k8s.io/v1";
    let expression = format!("request.userInfo.username == 'system:serviceaccount:{name}:deployer'");
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": expression, "message": "only the deployer"}]}});
    hand.put("admin", &format!("{group}/validatingadmissionpolicies"), &policy);
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}}});
    hand.put("admin", &format!("{group}/validatingadmissionpolicybindings"), &binding);
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}});
    hand.until("the policy is in force", || {
        let url = format!("/api/v1/namespaces/{name}/configmaps?dryRun=All");
        hand.ask(http::Method::POST, &url, "application/json", Some(&probe)).unwrap().0 == 422
    });
}

fn value(place: &Place, name: &str) -> Value {
    place.live("configmaps", name).map_or(Value::Null, |live| live["data"]["v"].clone())
}

fn as_its_account() {
    let place = begun("tenant");
    nobody_else(&place);
    place.declare("a", &config("a"));
    place.declare("b", &config("b"));
    place.lab.apply(&[]);
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    place.repo.remove("deploy/b.yaml");
    place.repo.commit("less");
    place.lab.apply(&[]);
    assert_eq!((value(&place, "a"), place.live("configmaps", "b")), (json!("2"), None));
    place.lab.run(&["drift", "--exit-code"]).ok();
    // In a Pod the loop asks for no more than that.
    place.declare("a", &config("a").replace("\"1\"", "\"3\""));
    let mut command = place.lab.command(&["run", "--once"]);
    Said::of(command.env("KUBERNETES_SERVICE_HOST", "127.0.0.1").output().unwrap()).ok();
    assert_eq!(value(&place, "a"), "3");
    place.lab.run(&["source", "remove", "shop", "--orphan", "--yes"]).ok();
    let left = place.live("configmaps", "a").unwrap();
    assert!(left["metadata"]["annotations"].get("holdfast.dev/owner").is_none(), "{left}");
}

fn may_not() {
    let place = begun("bounded");
    place.declare("a", &config("a"));
    place.declare("s", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  pass: aHVudGVyMg==\n");
    let said = place.lab.run(&["plan", "--out", "p.json"]).exits(1);
    let text = "User \"system:serviceaccount:bounded:deployer\" cannot";
    assert!(said.all().contains(text) && said.all().contains("secrets"), "{}", said.all());
    place.lab.run(&["apply", "--yes"]).exits(1);
    assert_eq!((value(&place, "a"), place.live("secrets", "s")), (Value::Null, None));
}

fn taken_back() {
    let place = begun("halfway");
    place.declare("a", &config("a"));
    place.declare("b", &config("b"));
    place.lab.apply(&[]);
    nobody_else(&place);
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    place.declare("b", &config("b").replace("\"1\"", "\"2\""));
    place.dies("before-commit", &["apply", "--yes"]);
    assert_eq!((value(&place, "a"), value(&place, "b")), (json!("2"), json!("2")));
    let said = place.run(&["recover"]).ok();
    assert!(said.stdout.contains("undone"), "{}", said.all());
    assert_eq!((value(&place, "a"), value(&place, "b")), (json!("1"), json!("1")));
}

fn together() {
    let place = begun("first");
    let hand = place.on.hand();
    let second = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "second"}});
    hand.put("admin", "/api/v1/namespaces", &second);
    account(&place, "second");
    let file = place.lab.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (source, target) = text.split_once("---\n").unwrap();
    let other =
        source.replace("name: shop", "name: other").replace("first", "second").replace("path: deploy", "path: second");
    std::fs::write(&file, format!("{source}---\n{other}---\n{target}")).unwrap();
    place.declare("a", &config("a"));
    place.repo.write("second/b.yaml", config("b"));
    place.repo.commit("b");
    let receipt = place.lab.apply(&[]);
    assert_eq!(receipt["writes"], 2, "{receipt}");
    assert!(hand.get("/api/v1/namespaces/second/configmaps/b").is_some());
    // Neither may write in the other's Namespace.
    std::fs::write(&file, format!("{source}---\n{target}").replace("first/deployer", "second/deployer")).unwrap();
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    let said = place.lab.run(&["apply", "shop", "--yes"]).exits(1);
    assert!(said.all().contains("system:serviceaccount:second:deployer"), "{}", said.all());
    assert_eq!(value(&place, "a"), "1");
}
