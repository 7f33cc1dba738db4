//! The way back to the last applied commit goes through the same admission as any other apply.

use serde_json::{Value, json};

use crate::drift::{drift, drifted, set, shop, status};
use crate::lab::{change, changes};

#[test]
fn repair_writes_back_what_drifted_and_nothing_else() {
    let (lab, _repo, commit) = shop("");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    lab.run(&["object", "delete", "ConfigMap/shop/conf", "--as", "bob"]).ok();
    let receipt = lab.run(&["repair", "--yes", "-o", "json"]).ok().json();
    assert_eq!(receipt["writes"], 2);
    assert_eq!(receipt["sources"][0]["commit"], commit.as_str());
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 2);
    assert_eq!(lab.live("ConfigMap/shop/conf").unwrap()["data"]["a"], "1");
    assert_eq!(drifted(&drift(&lab)), Vec::<String>::new());
    assert_eq!(status(&lab)["synced"]["status"], "True");
}

#[test]
fn repair_goes_to_the_applied_commit_and_not_to_the_newest() {
    let (lab, repo, first) = shop("");
    repo.write("deploy/conf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: 'new'}\n");
    repo.commit("second");
    set(&lab, "ada", "ConfigMap/shop/conf", "/data/a", json!("hot"));
    let receipt = lab.run(&["repair", "shop", "--yes", "-o", "json"]).ok().json();
    assert_eq!(receipt["sources"][0]["commit"], first.as_str());
    assert_eq!(lab.live("ConfigMap/shop/conf").unwrap()["data"]["a"], "1");
}

#[test]
fn a_saved_repair_is_applied_once_and_made_anew_it_may_be_applied_again() {
    let (lab, _repo, _) = shop("");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    let said = lab.run(&["repair", "--out", "back.plan.json"]).ok();
    assert!(
        said.stdout.contains("holdfast apply ./back.plan.json")
            || said.stdout.contains("holdfast apply back.plan.json")
    );
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 5, "saving applies nothing");
    let shown: Value = lab.run(&["show", "./back.plan.json", "-o", "json"]).ok().json();
    assert_eq!(changes(&shown, "update"), ["Deployment.apps/shop/web"]);
    assert_eq!(change(&shown, "Deployment.apps/shop/web")["fields"][0]["path"], "/spec/replicas");
    lab.run(&["verify", "./back.plan.json"]).ok();
    lab.run(&["apply", "./back.plan.json"]).ok();
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 2);
    lab.run(&["apply", "./back.plan.json"]).exits(4);

    for _ in 0..2 {
        set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
        lab.run(&["repair", "--yes"]).ok();
        assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 2);
    }
}

#[test]
fn a_saved_repair_is_stale_once_the_live_state_moved() {
    let (lab, _repo, _) = shop("");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    lab.run(&["repair", "--out", "back.plan.json"]).ok();
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(6));
    lab.run(&["apply", "./back.plan.json"]).exits(4);
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 6);
}

#[test]
fn without_a_terminal_repair_asks_nobody_and_writes_nothing() {
    let (lab, _repo, _) = shop("");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    lab.run(&["repair"]).exits(1);
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 5);
    lab.run(&["repair", "--ref", "main", "--yes"]).exits(2);
    lab.run(&["repair", "back.plan.json", "--yes"]).exits(2);
}

#[test]
fn a_branch_that_was_rewritten_does_not_keep_the_applied_commit_from_being_restored() {
    let (lab, repo, _) = shop("");
    let conf = |a: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: conf}}\ndata: {{a: '{a}'}}\n");
    repo.write("deploy/conf.yaml", conf("second"));
    let second = repo.commit("second");
    lab.apply(&[]);
    repo.write("deploy/conf.yaml", conf("rewritten"));
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "--amend", "-m", "rewritten"]);
    lab.plan(&[]);
    set(&lab, "ada", "ConfigMap/shop/conf", "/data/a", json!("hot"));
    lab.run(&["repair", "--out", "back.plan.json"]).ok();
    let receipt = lab.run(&["apply", "./back.plan.json", "-o", "json"]).ok().json();
    assert_eq!(receipt["sources"][0]["commit"], second.as_str());
    assert_eq!(lab.live("ConfigMap/shop/conf").unwrap()["data"]["a"], "second");
}

#[test]
fn a_repair_that_todays_policy_refuses_leaves_the_live_state_and_status_says_by_which_rule() {
    let (lab, repo, commit) = shop("");
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(5));
    let before = lab.live("Deployment.apps/shop/web");
    let spec = "  path: deploy\n  namespaces: [shop]\n  clusterKinds: [Namespace]\n  policies:\n    - {rule: image-digest, effect: deny}";
    lab.configure(&[repo.source("shop", spec)]);
    let refused = lab.run(&["repair", "--yes", "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "image-digest");
    assert_eq!(lab.live("Deployment.apps/shop/web"), before, "the live state stays");

    let seen = status(&lab);
    assert_eq!(seen["synced"]["reason"], "RepairRefused", "{seen:#}");
    assert_eq!(seen["refused"]["rules"], json!(["image-digest"]));
    assert_eq!(seen["refused"]["commit"], commit.as_str());
    assert!(lab.run(&["status"]).ok().stdout.contains("RepairRefused"));

    lab.run(&["repair", "--yes", "--waive", "image-digest", "--reason", "incident 7"]).ok();
    let seen = status(&lab);
    assert_eq!((&seen["synced"]["status"], &seen["refused"]), (&json!("True"), &Value::Null), "applied since");
}

/// The chapter's open question: what happens when the quota was tightened between intent and restoration?
#[test]
fn quota_tightened_between_intent_and_restoration_refuses_the_repair_and_the_live_state_stays() {
    let quota = |pods: u32| {
        format!(
            "apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: pods, namespace: shop}}\nspec: {{hard: {{pods: '{pods}'}}}}\n"
        )
    };
    let (lab, _repo, commit) = shop("");
    lab.put("admin", &quota(5));
    // Somebody scales the Deployment down by hand, and the platform team tightens the quota to what is left.
    set(&lab, "ada", "Deployment.apps/shop/web", "/spec/replicas", json!(1));
    lab.put("admin", &quota(1));
    let before = lab.live("Deployment.apps/shop/web");

    let refused = lab.run(&["repair", "shop", "--yes", "-o", "json"]).exits(1).json();
    let all: Vec<&str> = refused["refusals"].as_array().unwrap().iter().map(|r| r["rule"].as_str().unwrap()).collect();
    assert_eq!(all, ["quota"]);
    assert_eq!(lab.live("Deployment.apps/shop/web"), before, "neither deleted nor changed");
    let seen = status(&lab);
    assert_eq!((&seen["synced"]["status"], &seen["synced"]["reason"]), (&json!("False"), &json!("RepairRefused")));
    assert_eq!(seen["refused"]["rules"], json!(["quota"]));
    assert_eq!((&seen["appliedCommit"], &seen["refused"]["commit"]), (&json!(commit), &json!(commit)));
    assert_eq!(drifted(&drift(&lab)), ["Deployment.apps/shop/web/spec/replicas"]);

    // Once there is room again the same command goes through.
    lab.put("admin", &quota(3));
    lab.run(&["repair", "shop", "--yes"]).ok();
    assert_eq!(lab.live("Deployment.apps/shop/web").unwrap()["spec"]["replicas"], 2);
    assert_eq!(status(&lab)["synced"]["status"], "True");
}
