//! An inventory's serial rises when its rows come to say something else, and with nothing less.

use crate::lab::{Lab, Repo};

fn config(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: \"{value}\"}}\n")
}

fn lab() -> (Lab, Repo) {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", config("a", "1"));
    repo.commit("first");
    lab.configure(&[
        repo.source("web", "  namespaces: [shop]\n  prune: true\n  pruneBudget: {objects: 9, percent: 100}")
    ]);
    lab.put("bank", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    (lab, repo)
}

fn serial(lab: &Lab) -> u64 {
    lab.run(&["source", "list", "-o", "json"]).ok().json()["sources"][0]["serial"].as_u64().unwrap()
}

#[test]
fn rows_that_come_change_and_go_raise_it_and_repairs_renames_and_empty_commits_do_not() {
    let (lab, repo) = lab();
    lab.apply(&[]);
    assert_eq!(serial(&lab), 1);
    repo.commit("nothing");
    lab.apply(&[]);
    assert_eq!(serial(&lab), 1);
    // Somebody's change is taken back: the row says what it said.
    lab.by_hand("hand", "ConfigMap/shop/a", |object| object["data"]["v"] = "drift".into());
    assert_eq!(lab.apply(&[])["summary"]["update"], 1);
    assert_eq!(serial(&lab), 1);
    lab.run(&["source", "rename", "web", "w2"]).ok();
    lab.run(&["source", "rename", "w2", "web"]).ok();
    assert_eq!(serial(&lab), 1);
    // Deleted by somebody and made again it has another UID.
    lab.run(&["object", "delete", "ConfigMap/shop/a"]).ok();
    lab.apply(&[]);
    assert_eq!(serial(&lab), 2);
    repo.write("a.yaml", config("a", "2"));
    repo.commit("another value");
    lab.apply(&[]);
    assert_eq!(serial(&lab), 3);
    repo.write("b.yaml", config("b", "1"));
    repo.commit("one more");
    lab.apply(&[]);
    assert_eq!(serial(&lab), 4);
    repo.remove("a.yaml");
    repo.commit("one less");
    lab.apply(&[]);
    assert_eq!(serial(&lab), 5);
}

#[test]
fn a_plan_that_was_saved_before_the_rows_moved_on_is_stale_and_says_so() {
    let (lab, repo) = lab();
    lab.apply(&[]);
    repo.write("b.yaml", config("b", "1"));
    let commit = repo.commit("second");
    let out = lab.path().join("p.json");
    let out = out.to_str().unwrap();
    lab.run(&["plan", "--out", out]).ok();
    // Somebody was faster with another commit.
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.write("c.yaml", config("c", "1"));
    repo.commit("another");
    lab.apply(&[]);
    repo.git(&["reset", "-q", "--hard", &commit]);
    let refused = lab.run(&["apply", out, "-o", "json"]).exits(4).json();
    let texts = refused["refusals"].to_string();
    assert!(texts.contains("its inventory has serial 2 by now, the plan was made at 1"), "{texts}");
}
