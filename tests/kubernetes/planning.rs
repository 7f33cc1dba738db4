//! Plans against a cluster: what is read, what the API server's own admission says, and what can't be asked yet.

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::lab::Lab;
use crate::place::{Place, config};
use crate::{anywhere, on_cluster};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster(
            "no_source_writes_into_the_namespace_of_the_state",
            no_source_writes_into_the_namespace_of_the_state,
        ),
        on_cluster(
            "a_plan_is_admitted_by_the_server_and_writes_nothing",
            a_plan_is_admitted_by_the_server_and_writes_nothing,
        ),
        on_cluster("what_the_plan_itself_makes_is_admitted_offline", what_the_plan_itself_makes_is_admitted_offline),
        on_cluster(
            "refusals_of_the_server_stand_in_the_one_report_with_file_and_line",
            refusals_of_the_server_stand_in_the_one_report_with_file_and_line,
        ),
        on_cluster(
            "the_value_of_a_secret_that_the_server_refuses_is_in_no_output",
            the_value_of_a_secret_that_the_server_refuses_is_in_no_output,
        ),
        on_cluster("the_kinds_that_the_server_itself_publishes_are_judged_by_its_schemas", published_kinds),
        on_cluster("an_object_of_nobodys_is_seen_and_refused", an_object_of_nobodys_is_seen_and_refused),
        anywhere(
            "a_cluster_that_does_not_answer_is_an_error_and_no_empty_one",
            a_cluster_that_does_not_answer_is_an_error_and_no_empty_one,
        ),
        anywhere(
            "a_kubeconfig_of_the_work_tree_that_runs_programs_is_refused_until_it_is_trusted",
            a_kubeconfig_of_the_work_tree_that_runs_programs_is_refused_until_it_is_trusted,
        ),
    ]
}

fn admitted(plan: &Value, kind: &str) -> Value {
    plan["changes"].as_array().unwrap().iter().find(|c| c["id"]["kind"] == kind).unwrap()["admitted"].clone()
}

fn a_plan_is_admitted_by_the_server_and_writes_nothing() {
    let place = Place::new("planned");
    place.make_namespace();
    place.declare("conf", &config("conf"));
    let plan = place.lab.plan(&[]);
    assert_eq!((&plan["target"]["kind"], &plan["summary"]["create"]), (&json!("kubernetes"), &json!(1)));
    assert_eq!(admitted(&plan, "ConfigMap"), "server");
    assert!(place.on.hand().get("/api/v1/namespaces/planned/configmaps/conf").is_none());
    assert!(place.on.hand().get("/api/v1/namespaces/state-planned").is_none());
}

fn what_the_plan_itself_makes_is_admitted_offline() {
    let place = Place::new("fresh");
    place
        .declare("all", &format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: fresh\n---\n{}", config("conf")));
    let plan = place.lab.plan(&[]);
    assert_eq!((admitted(&plan, "Namespace"), admitted(&plan, "ConfigMap")), (json!("server"), json!("offline")));
}

fn refusals_of_the_server_stand_in_the_one_report_with_file_and_line() {
    let place = Place::new("ruled");
    place.make_namespace();
    let hand = place.on.hand();
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "ruled"},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": "!has(object.data.bad)", "message": "no bad data"}]}});
    hand.put("admin", policies, &policy);
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "ruled"},
        "spec": {"policyName": "ruled", "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ruled"}}}}});
    hand.put("admin", &format!("{policies}bindings").replace("policiesbindings", "policybindings"), &binding);
    let bad = config("probe").replace("v: \"1\"", "bad: x");
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}, "data": {"bad": "x"}});
    hand.until("the policy is in force", || {
        let url = "/api/v1/namespaces/ruled/configmaps?dryRun=All";
        hand.ask(http::Method::POST, url, "application/json", Some(&probe)).unwrap().0 == 422
    });
    place.declare("a", &config("fine"));
    place.declare("b", &bad);
    place.declare("c", &bad.replace("probe", "other"));
    let said = place.lab.run(&["plan", "-o", "json", "--out", "p.json"]).exits(1);
    let refusals = said.json()["refusals"].clone();
    let told: Vec<_> = refusals
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["rule"].clone(), r["file"].clone(), r["line"].clone()))
        .collect();
    let rule = json!("refused-by-target");
    assert_eq!(told, [(rule.clone(), json!("deploy/b.yaml"), json!(1)), (rule, json!("deploy/c.yaml"), json!(1))]);
    assert!(refusals[0]["text"].as_str().unwrap().contains("no bad data"), "{refusals}");
    assert!(!place.lab.path().join("p.json").exists());
}

fn the_value_of_a_secret_that_the_server_refuses_is_in_no_output() {
    let place = Place::new("secretive");
    place.make_namespace();
    // The name of the key is one that only the API server judges by its length.
    let text =
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ntype: kubernetes.io/tls\ndata:\n  tls.key: aHVudGVyMg==\n";
    place.declare("s", text);
    let said = place.lab.run(&["plan", "-v"]).exits(1);
    assert!(!said.all().contains("aHVudGVyMg") && !said.all().contains("hunter2"), "{}", said.all());
}

fn no_source_writes_into_the_namespace_of_the_state() {
    let place = Place::new("stately");
    let spec = "  path: deploy\n  namespaces: [\"*\"]\n  defaultNamespace: state-stately";
    let source = place.repo.source("shop", spec);
    let file = place.lab.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let target = text.split_once("---\n").unwrap().1;
    std::fs::write(&file, format!("{source}---\n{target}")).unwrap();
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "state-stately"}});
    place.on.hand().put("admin", "/api/v1/namespaces", &object);
    place.declare("conf", &config("conf"));
    let said = place.lab.run(&["plan"]).exits(1);
    assert!(said.stderr.contains("no Source writes there"), "{}", said.all());
}

fn published_kinds() {
    let place = Place::new("published");
    place.make_namespace();
    let candidate = "apiVersion: coordination.k8s.io/v1beta1\nkind: LeaseCandidate\nmetadata:\n  name: c\nspec:\n  leaseName: l\n  \
                     binaryVersion: 1.36.0\n  emulationVersion: 1.36.0\n  strategy: OldestEmulationVersion\n";
    place.declare("c", candidate);
    // A server that doesn't serve the kind knows nothing of it.
    let said = place.lab.run(&["plan", "-o", "json"]).exits(1);
    assert_eq!(said.json()["refusals"][0]["rule"], "unknown-kind", "{}", said.stdout);
    let other = ControlPlane::start_with(&["--runtime-config=coordination.k8s.io/v1beta1=true"]).unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "published"}});
    other.hand().put("admin", "/api/v1/namespaces", &namespace);
    let file = place.lab.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let here = place.on.kubeconfig.display().to_string();
    std::fs::write(&file, text.replace(&here, &other.kubeconfig.display().to_string())).unwrap();
    assert_eq!(admitted(&place.lab.plan(&[]), "LeaseCandidate"), "server");
    let kept = || std::fs::read_dir(place.lab.path().join("cache/holdfast/openapi")).unwrap().count();
    assert_eq!(kept(), 2, "one for each server");
    place.declare("c", &format!("{candidate}  lesaName: l\n"));
    let said = place.lab.run(&["plan", "-o", "json"]).exits(1);
    let refusal = said.json()["refusals"][0].clone();
    assert_eq!((&refusal["rule"], &refusal["line"]), (&json!("unknown-field"), &json!(10)), "{refusal}");
    assert_eq!(kept(), 2, "what is known is not read again");
}

fn an_object_of_nobodys_is_seen_and_refused() {
    let place = Place::new("taken");
    place.make_namespace();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"v": "2"}});
    place.on.hand().put("kubectl", "/api/v1/namespaces/taken/configmaps", &object);
    place.declare("conf", &config("conf"));
    let said = place.lab.run(&["plan", "-o", "json"]).exits(1);
    assert_eq!(said.json()["refusals"][0]["rule"], "exists-unowned");
    let plan = place.lab.plan(&["--adopt", "ConfigMap/taken/conf"]);
    assert_eq!((&plan["summary"]["adopt"], admitted(&plan, "ConfigMap")), (&json!(1), json!("server")));
}

fn a_cluster_that_does_not_answer_is_an_error_and_no_empty_one() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    let kubeconfig = lab.path().join("kubeconfig");
    std::fs::write(&kubeconfig, crate::control_plane::config("https://127.0.0.1:1", "", "t")).unwrap();
    let source = repo.source("shop", "  path: deploy\n  namespaces: [shop]");
    let target = "apiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: c\nspec:\n  kubernetes: {kubeconfig: kubeconfig}\n";
    std::fs::write(lab.path().join("holdfast.yaml"), format!("{source}---\n{target}")).unwrap();
    repo.write("deploy/a.yaml", config("a"));
    repo.commit("a");
    lab.run(&["plan", "--out", "p.json"]).exits(1);
    assert!(!lab.path().join("p.json").exists());
}

fn a_kubeconfig_of_the_work_tree_that_runs_programs_is_refused_until_it_is_trusted() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("deploy/a.yaml", config("a"));
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "t",
        "clusters": [{"name": "t", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "t", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": ["ran"]}}}],
        "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t"}}]});
    repo.write("kubeconfig", config.to_string());
    let source = repo.source("shop", "  path: deploy\n  namespaces: [shop]");
    let target = "apiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: c\nspec:\n  kubernetes: {kubeconfig: kubeconfig}\n";
    repo.write("holdfast.yaml", format!("{source}---\n{target}"));
    repo.commit("a");
    let file = repo.folder.join("holdfast.yaml");
    let run = |trust: &[&str]| {
        let mut args = vec!["plan", "-f", file.to_str().unwrap()];
        args.extend(trust);
        lab.run(&args).exits(1)
    };
    let said = run(&[]);
    assert!(said.stderr.contains("runs a program") && said.stderr.contains("--trust-kubeconfig"), "{}", said.stderr);
    assert!(!lab.path().join("ran").exists());
    assert!(!run(&["--trust-kubeconfig"]).stderr.contains("runs a program"));
    assert!(lab.path().join("ran").exists());
}
