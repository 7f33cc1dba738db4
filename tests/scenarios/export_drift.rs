//! Live changes come into git as a patch: file and place are kept, comments and every other line are untouched.

use std::fs;

use serde_json::json;

use crate::drift::{SPEC, drift, drifted, set};
use crate::lab::{Lab, Repo, Said};

const ALL: &str = "# everything of the shop
apiVersion: v1
kind: Namespace
metadata: {name: shop}
--- # settings
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}   # settings
data:
  # how many
  limit: '10' # ten
  mode: slow
  text: |
    one
    two
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2   # two are enough
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      # the proxy comes first
      - name: proxy
        image: registry.example/proxy:1
        args: [--fast, --safe]
      - {name: web, image: \"registry.example/web:1\", resources: {limits: {cpu: 1, memory: 1Gi}}}
";

const JSON: &str = "{
  \"apiVersion\": \"v1\",
  \"kind\": \"ConfigMap\",
  \"metadata\": {\"name\": \"feature\"},
  \"data\": {
    \"on\": \"a\",
    \"off\": \"b\"
  }
}
";

const KEY: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pass: hunter2}\n";

fn shop() -> (Lab, Repo) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("deploy/all of it.yaml", ALL);
    repo.write("deploy/feature.json", JSON);
    repo.write("deploy/key.yaml", KEY);
    repo.commit("first");
    lab.configure(&[repo.source("shop", &format!("  path: deploy\n{SPEC}"))]);
    lab.apply(&[]);
    (lab, repo)
}

/// Applies a patch in the repository, commits, and asks for a plan: nothing may be pending.
#[track_caller]
fn brought_into_git(lab: &Lab, repo: &Repo, said: &Said) {
    fs::write(lab.path().join("drift.patch"), &said.stdout).unwrap();
    let patch = lab.path().join("drift.patch");
    repo.git(&["apply", "--check", patch.to_str().unwrap()]);
    repo.git(&["apply", patch.to_str().unwrap()]);
    repo.commit("as it is live");
    let plan = lab.run(&["plan", "--exit-code"]);
    assert_eq!(plan.code, 0, "{}\n{plan:?}", said.stdout);
}

#[test]
fn a_patch_keeps_file_place_and_comments_and_after_it_nothing_is_pending() {
    let (lab, repo) = shop();
    lab.by_hand("ada", "ConfigMap/shop/conf", |conf| {
        conf["data"]["limit"] = json!("25");
        conf["data"]["text"] = json!("one\nthree\n");
        conf["data"].as_object_mut().unwrap().remove("mode");
    });
    lab.by_hand("ada", "Deployment.apps/shop/web", |web| {
        web["spec"]["replicas"] = json!(5);
        let containers = &mut web["spec"]["template"]["spec"]["containers"];
        containers[0]["args"] = json!(["--safe"]);
        containers[1]["image"] = json!("registry.example/web:hot");
        containers[1]["resources"]["limits"].as_object_mut().unwrap().remove("cpu");
    });
    lab.by_hand("ada", "ConfigMap/shop/feature", |feature| {
        feature["data"]["on"] = json!("c");
        feature["data"].as_object_mut().unwrap().remove("off");
    });
    let before = lab.dump();
    let said = lab.run(&["export-drift", "shop"]).ok();
    assert_eq!(lab.dump(), before);
    brought_into_git(&lab, &repo, &said);
    let expected = ALL
        .replace("limit: '10' # ten", "limit: '25' # ten")
        .replace("  mode: slow\n", "")
        .replace("    two\n", "    three\n")
        .replace("replicas: 2   # two are enough", "replicas: 5   # two are enough")
        .replace("[--fast, --safe]", "[--safe]")
        .replace("web:1", "web:hot")
        .replace("{cpu: 1, memory: 1Gi}", "{memory: 1Gi}");
    assert_eq!(fs::read_to_string(repo.folder.join("deploy/all of it.yaml")).unwrap(), expected);
    let expected = JSON.replace("\"a\"", "\"c\"").replace(",\n    \"off\": \"b\"", "");
    assert_eq!(fs::read_to_string(repo.folder.join("deploy/feature.json")).unwrap(), expected);
    lab.apply(&[]);
    assert_eq!(drifted(&drift(&lab)), Vec::<String>::new());
    assert_eq!(lab.run(&["export-drift", "shop"]).ok().stdout, "", "nothing is left");
}

#[test]
fn what_was_deleted_by_hand_leaves_its_file_or_the_file_goes() {
    let (lab, repo) = shop();
    lab.run(&["object", "delete", "ConfigMap/shop/conf", "ConfigMap/shop/feature", "--as", "bob"]).ok();
    let said = lab.run(&["export-drift", "shop"]).ok();
    fs::write(lab.path().join("drift.patch"), &said.stdout).unwrap();
    repo.git(&["apply", lab.path().join("drift.patch").to_str().unwrap()]);
    repo.commit("as it is live");
    let plan = lab.plan(&[]);
    assert!(plan["changes"].as_array().unwrap().iter().all(|c| c["action"] == "release"), "{plan:#}");
    assert!(!repo.folder.join("deploy/feature.json").exists());
    let text = fs::read_to_string(repo.folder.join("deploy/all of it.yaml")).unwrap();
    assert!(!text.contains("settings") || text.contains("--- # settings"), "{text}");
    assert!(!text.contains("name: conf") && text.contains("# the proxy comes first"), "{text}");
}

#[test]
fn sensitive_values_are_not_exported_and_each_is_named_with_the_reason() {
    let (lab, _repo) = shop();
    set(&lab, "ada", "Secret/shop/key", "/data/pass", json!("bmV3LXNlY3JldA=="));
    set(&lab, "ada", "ConfigMap/shop/conf", "/data/limit", json!("25"));
    let said = lab.run(&["export-drift", "shop"]).exits(1);
    assert!(said.stdout.contains("+  limit: '25' # ten") && !said.stdout.contains("key.yaml"), "{said:?}");
    assert!(said.stderr.contains("Secret/shop/key/data/pass") && said.stderr.contains("sensitive"), "{said:?}");
    for text in ["hunter2", "new-secret", "bmV3LXNlY3JldA", "aHVudGVyMg"] {
        assert!(!said.all().contains(text), "{text} in {said:?}");
    }
    let json = lab.run(&["export-drift", "shop", "-o", "json"]).exits(1).json();
    assert_eq!(json["notExported"].as_array().unwrap().len(), 1);
    assert_eq!(json["exported"][0]["file"], "deploy/all of it.yaml");
}

#[test]
fn only_the_named_resources_are_exported() {
    let (lab, _repo) = shop();
    set(&lab, "ada", "ConfigMap/shop/conf", "/data/limit", json!("25"));
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    let said = lab.run(&["export-drift", "shop", "Deployment.apps/shop/web"]).ok();
    assert!(said.stdout.contains("+  replicas: 5   # two are enough") && !said.stdout.contains("25"), "{said:?}");
    lab.run(&["export-drift", "shop", "web"]).exits(2);
    lab.run(&["export-drift", "nobody"]).exits(1);
}

#[test]
fn what_others_added_is_exported_only_when_asked_for() {
    let (lab, repo) = shop();
    lab.by_hand("ada", "Deployment.apps/shop/web", |web| {
        let spec = &mut web["spec"]["template"]["spec"];
        spec["containers"].as_array_mut().unwrap().push(json!({"name": "debug", "image": "registry.example/debug:1"}));
        spec["nodeSelector"] = json!({"disk": "ssd"});
    });
    assert_eq!(lab.run(&["export-drift", "shop"]).ok().stdout, "");
    let said = lab.run(&["export-drift", "shop", "--added"]).ok();
    brought_into_git(&lab, &repo, &said);
    let text = fs::read_to_string(repo.folder.join("deploy/all of it.yaml")).unwrap();
    assert!(text.contains("      - image: registry.example/debug:1\n        name: debug\n"), "{text}");
    assert!(text.contains("      nodeSelector:\n        disk: ssd\n"), "{text}");
}

#[test]
fn an_object_that_is_no_longer_this_sources_is_not_exported() {
    let (lab, _repo) = shop();
    lab.by_hand("ada", "ConfigMap/shop/conf", |conf| {
        conf["metadata"]["annotations"].as_object_mut().unwrap().remove("holdfast.dev/owner");
        conf["data"]["limit"] = json!("25");
    });
    let said = lab.run(&["export-drift", "shop"]).exits(1);
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("owner mark was taken off"), "{said:?}");
}

#[test]
fn emergency_changes_are_exported_and_once_in_git_nothing_waits_for_anybody() {
    let (lab, repo) = shop();
    lab.run(&["source", "pause", "shop", "--reason", "incident 7"]).ok();
    set(&lab, "bob", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    lab.run(&["source", "resume", "shop"]).ok();
    let said = lab.run(&["export-drift", "shop"]).ok();
    brought_into_git(&lab, &repo, &said);
    lab.apply(&[]);
    let status = lab.run(&["status", "-o", "json"]).ok().json();
    assert_eq!(status["sources"][0]["synced"]["status"], "True", "{status:#}");
}
