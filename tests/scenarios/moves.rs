//! One object moves from Source a to Source b, with prune on: the same UID in every order, and never a moment without it.

use std::path::Path;

use serde_json::Value;

use crate::lab::{Lab, Repo, Said, change, changes};

const X: &str = "ConfigMap/shop/x";
const SPEC: &str = "  namespaces: [shop]\n  prune: true\n  permitInGit: [adopt, adopt-from]";

fn config(name: &str, annotations: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{annotations}}}\ndata: {{v: \"1\"}}\n")
}

fn noted(key: &str, value: &str) -> String {
    format!(", annotations: {{holdfast.dev/{key}: \"{value}\"}}")
}

/// Two Sources of one target, each with a repository of its own, in one configuration or in two.
struct Two {
    lab: Lab,
    a: Repo,
    b: Repo,
    apart: bool,
    uid: String,
}

impl Two {
    /// `a` applied x, with these annotations; `b` applied what is its own.
    fn new(apart: bool, annotations: &str) -> Self {
        let lab = Lab::new();
        let (a, b) = (lab.repo("repo-a"), lab.repo("repo-b"));
        a.write("own.yaml", config("of-a", ""));
        a.write("x.yaml", config("x", annotations));
        a.commit("first");
        b.write("own.yaml", config("of-b", ""));
        b.commit("first");
        let sources = [a.source("a", SPEC), b.source("b", SPEC)];
        if apart {
            for (name, source) in ["a", "b"].iter().zip(&sources) {
                lab.configure(std::slice::from_ref(source));
                std::fs::copy(lab.path().join("holdfast.yaml"), lab.path().join(format!("{name}.yaml"))).unwrap();
            }
        } else {
            lab.configure(&sources);
        }
        let mut two = Self { lab, a, b, apart, uid: String::new() };
        two.lab.put("bank", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        two.tick("a").ok();
        two.tick("b").ok();
        two.uid = two.live_uid();
        two
    }

    fn files(&self, source: &str) -> Vec<String> {
        let name = if self.apart { format!("{source}.yaml") } else { "holdfast.yaml".to_owned() };
        vec!["-f".to_owned(), name]
    }

    fn holdfast(&self, source: &str, args: &[&str]) -> Said {
        let files = self.files(source);
        let mut all: Vec<&str> = args.to_vec();
        all.extend(files.iter().map(String::as_str));
        self.lab.run(&all)
    }

    /// What the loop does for one Source: plan and apply, whatever comes of it. With one configuration the loop plans Sources
    /// that want each other's objects together, as `together` does.
    fn tick(&self, source: &str) -> Said {
        let said = self.holdfast(source, &["apply", source, "--yes", "-o", "json"]);
        assert!([0, 1].contains(&said.code), "{said:?}");
        self.is_there(source);
        said
    }

    fn together(&self) -> Said {
        let said = self.lab.run(&["apply", "--yes", "-o", "json"]);
        assert!([0, 1].contains(&said.code), "{said:?}");
        self.is_there("both");
        said
    }

    fn live_uid(&self) -> String {
        self.object()["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    fn object(&self) -> Value {
        let files = self.files("a");
        let said = self.lab.run(&["object", "get", X, "-o", "json", &files[0], &files[1]]).ok();
        said.json()
    }

    /// No gap: the object is there and is the same one.
    #[track_caller]
    fn is_there(&self, after: &str) {
        if !self.uid.is_empty() {
            assert_eq!(self.live_uid(), self.uid, "after a tick of {after}");
        }
    }

    fn a_leaves(&self) {
        self.a.remove("x.yaml");
        self.a.commit("x leaves");
    }

    fn b_takes(&self, annotations: &str) {
        self.b.write("x.yaml", config("x", annotations));
        self.b.commit("x comes");
    }

    /// Both are at rest, and b alone owns x.
    #[track_caller]
    fn is_moved(&self) {
        for source in ["a", "b"] {
            let plan = self.holdfast(source, &["plan", source, "-o", "json"]).ok().json();
            assert_eq!(plan["changes"], serde_json::json!([]), "{source}");
        }
        let list = self.holdfast("a", &["source", "list", "-o", "json"]).ok().json();
        let objects: Vec<u64> =
            list["sources"].as_array().unwrap().iter().map(|s| s["objects"].as_u64().unwrap()).collect();
        assert_eq!(objects, [1, 2], "a lost its row and b has one");
        let owner = self.object()["metadata"]["annotations"]["holdfast.dev/owner"].as_str().unwrap().to_owned();
        let b = list["sources"].as_array().unwrap().iter().find(|s| s["name"] == "b").unwrap();
        assert!(owner.starts_with(b["id"].as_str().unwrap()), "{owner}");
        // Now it is b's to delete, and nothing of a's stands in the way.
        self.b.remove("x.yaml");
        self.b.commit("x goes");
        let said = self.holdfast("b", &["apply", "b", "--yes", "-o", "json"]).ok().json();
        assert_eq!(said["deletes"], 1, "{said:#}");
    }
}

#[test]
fn within_one_configuration_an_object_moves_in_every_order_of_merges_and_ticks_with_its_uid() {
    // One commit for both, as in one repository: nobody waits. Every order of single ticks before the common one.
    for first in [&[][..], &["a"], &["b"], &["a", "b"], &["b", "a"]] {
        let two = Two::new(false, "");
        two.a_leaves();
        two.b_takes("");
        for source in first {
            let said = two.tick(source);
            // Alone neither takes nor deletes.
            assert_eq!(said.code, i32::from(*source == "b"), "{first:?}: {said:?}");
        }
        let receipt = two.together().ok().json();
        assert_eq!(receipt["summary"]["transfer"], 1, "{receipt:#}");
        two.is_moved();
    }
    // b's commit is merged first: both claim it, and the refusal names both places.
    for ticks in [["a", "b"], ["b", "a"]] {
        let two = Two::new(false, "");
        two.b_takes("");
        for source in ticks {
            two.tick(source);
        }
        let refused = two.together().exits(1).json();
        let fault = &refused["refusals"][0];
        assert_eq!((&fault["rule"], &fault["owner"]), (&"owned-by-other".into(), &"a".into()), "{refused:#}");
        assert_eq!((&fault["file"], &fault["line"]), (&"x.yaml".into(), &1.into()));
        assert_eq!((&fault["also"][0]["file"], &fault["also"][0]["line"]), (&"x.yaml".into(), &1.into()));
        two.a_leaves();
        for source in ticks {
            two.tick(source);
        }
        assert_eq!(two.together().ok().json()["summary"]["transfer"], 1);
        two.is_moved();
    }
    // a's commit is merged first: release-to keeps the object until b comes for it.
    for ticks in [["a", "b"], ["b", "a"]] {
        let two = Two::new(false, &noted("release-to", "b"));
        two.a_leaves();
        for source in ticks {
            two.tick(source).ok();
        }
        let plan = two.lab.plan(&[]);
        assert_eq!((&change(&plan, X)["action"], &change(&plan, X)["rule"]), (&"keep".into(), &"released-to".into()));
        two.together().ok();
        two.b_takes("");
        for source in ticks {
            two.tick(source);
        }
        assert_eq!(two.together().ok().json()["summary"]["transfer"], 1);
        two.is_moved();
    }
}

#[test]
fn across_two_configurations_an_object_moves_in_every_order_of_merges_and_ticks_with_its_uid() {
    for b_merges_first in [false, true] {
        for ticks in [["a", "b"], ["b", "a"]] {
            let two = Two::new(true, &noted("release-to", "b"));
            let merges: [&dyn Fn(); 2] = [&|| two.a_leaves(), &|| two.b_takes(&noted("adopt-from", "a"))];
            let order = if b_merges_first { [1, 0] } else { [0, 1] };
            for merge in order {
                merges[merge]();
                for source in ticks {
                    two.tick(source).ok();
                }
            }
            for source in ticks {
                two.tick(source).ok();
            }
            two.is_moved();
        }
    }
}

#[test]
fn across_two_configurations_nothing_moves_without_the_consent_of_both() {
    // b says so and a doesn't.
    let two = Two::new(true, "");
    two.b_takes(&noted("adopt-from", "a"));
    let fault = two.tick("b").exits(1).json()["refusals"][0].clone();
    assert_eq!((&fault["rule"], &fault["owner"]), (&"owned-by-other".into(), &"a".into()));
    assert_eq!((&fault["also"][0]["file"], &fault["also"][0]["line"]), (&"x.yaml".into(), &1.into()));
    // a lets it go by hand: what it let go, b has.
    two.a_leaves();
    two.holdfast("a", &["apply", "a", "--yes", "--release", X]).ok();
    two.is_there("a");
    let plan = two.holdfast("b", &["plan", "b", "-o", "json"]).ok().json();
    assert_eq!((&change(&plan, X)["action"], &change(&plan, X)["from"]), (&"adopt".into(), &"a".into()));
    two.tick("b").ok();
    two.is_moved();

    // a says so and b doesn't; then b says so on the command line, in the plan and again at the apply.
    let two = Two::new(true, &noted("release-to", "b"));
    two.b_takes("");
    two.tick("b").exits(1);
    let out = two.lab.path().join("b.plan.json");
    let out = out.to_str().unwrap();
    let plan = two.holdfast("b", &["plan", "b", "--adopt-from", "a", "--out", out, "-o", "json"]).ok().json();
    assert_eq!(
        (changes(&plan, "transfer"), &plan["allowances"]["adoptFrom"]),
        (vec![X.to_owned()], &serde_json::json!(["a"]))
    );
    two.holdfast("b", &["apply", out]).exits(1);
    two.is_there("b");
    two.holdfast("b", &["apply", out, "--adopt-from", "a"]).ok();
    two.is_there("b");
    two.tick("a").ok();
    two.a_leaves();
    two.tick("a").ok();
    two.is_moved();
}

#[test]
fn nothing_is_taken_from_a_paused_source_or_one_that_changed_its_mind() {
    let two = Two::new(true, &noted("release-to", "b"));
    two.b_takes(&noted("adopt-from", "a"));
    let out = two.lab.path().join("b.plan.json");
    let out = out.to_str().unwrap();
    two.holdfast("b", &["plan", "b", "--out", out]).ok();
    two.holdfast("a", &["source", "pause", "a", "--reason", "incident"]).ok();
    let refused = two.holdfast("b", &["apply", out, "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "paused", "{refused:#}");
    two.holdfast("a", &["source", "resume", "a"]).ok();
    // Applied once more without the release, x is a's alone; the reviewed plan doesn't hold any more.
    two.a.write("x.yaml", config("x", ""));
    two.a.commit("mine after all");
    two.tick("a").ok();
    let refused = two.holdfast("b", &["apply", out, "-o", "json"]).exits(1).json();
    assert_eq!(refused["refusals"][0]["rule"], "owned-by-other", "{refused:#}");
    two.is_there("b");
}

#[test]
fn the_important_cells_of_the_ownership_table_hold_through_the_binary() {
    let two = Two::new(true, "");
    let object = two.object();
    let a_id = object["metadata"]["annotations"]["holdfast.dev/owner"].as_str().unwrap().to_owned();
    let put = |mark: Option<&str>| {
        let mut object = two.object();
        let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
        match mark {
            Some(mark) => annotations.insert("holdfast.dev/owner".to_owned(), mark.into()),
            None => annotations.remove("holdfast.dev/owner"),
        };
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        let file = two.lab.path().join("hand.json");
        std::fs::write(&file, object.to_string()).unwrap();
        two.holdfast("a", &["object", "put", file.to_str().unwrap(), "--as", "hand"]).ok();
    };
    let unknown = a_id.replacen(a_id.split(' ').next().unwrap(), "6d0d3a6e-5f0b-5c47-9d0e-0b8f5b0e57ce", 1);
    let copied = a_id.replacen(X, "ConfigMap/shop/of-a", 1);
    let b_id = two.lab.run(&["object", "get", "ConfigMap/shop/of-b", "-o", "json", "-f", "b.yaml"]).ok().json();
    let b_id = b_id["metadata"]["annotations"]["holdfast.dev/owner"].as_str().unwrap().replacen("of-b", "x", 1);
    for (mark, rule, adopted) in [
        (None, "exists-unowned", true),
        (Some(copied.as_str()), "exists-unowned", true),
        (Some(b_id.as_str()), "owned-by-other", false),
        (Some(unknown.as_str()), "owned-by-other", false),
        (Some("nonsense"), "owner-mismatch", false),
    ] {
        put(mark);
        let refused = two.holdfast("a", &["plan", "a", "-o", "json"]).exits(1).json();
        assert_eq!(refused["refusals"][0]["rule"], rule, "{mark:?}");
        let asked = two.holdfast("a", &["plan", "a", "--adopt", X, "-o", "json"]);
        if adopted {
            assert_eq!(changes(&asked.ok().json(), "adopt"), [X], "{mark:?}");
        } else {
            assert_eq!(asked.exits(1).json()["refusals"][0]["rule"], rule, "{mark:?}");
        }
    }
    put(None);
    two.holdfast("a", &["apply", "a", "--yes", "--adopt", "ConfigMap/shop/*", "--allow-adoptions", "0"]).exits(1);
    two.holdfast("a", &["apply", "a", "--yes", "--adopt", "ConfigMap/shop/*", "--allow-adoptions", "1"]).ok();
    two.is_there("a");
    // Gone from git, an object whose mark isn't a's is kept and let go, prune or not.
    put(Some(&unknown));
    two.a_leaves();
    let plan = two.holdfast("a", &["plan", "a", "-o", "json"]).ok().json();
    assert_eq!((&change(&plan, X)["action"], &change(&plan, X)["rule"]), (&"keep".into(), &"owner-mismatch".into()));
    two.tick("a").ok();
    assert!(Path::new(&two.lab.database()).exists());
}

#[test]
fn what_the_control_plane_or_a_controller_owns_is_never_adopted_by_name_or_pattern() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write(
        "a.yaml",
        config("controlled", "") + "---\n" + &config("bootstrapped", "") + "---\n" + &config("free", ""),
    );
    repo.write("b.yaml", config("system", ", namespace: kube-public"));
    repo.commit("first");
    lab.configure(&[repo.source("shop", "  namespaces: [default, kube-public]\n  defaultNamespace: default")]);
    lab.put("hand", &config("system", ", namespace: kube-public"));
    lab.put("hand", &config("free", ""));
    lab.put("hand", &config("bootstrapped", ", labels: {kubernetes.io/bootstrapping: rbac-defaults}"));
    let owner = ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: free, uid: UID, controller: true}]";
    let uid = lab.live("ConfigMap/default/free").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    lab.put("hand", &config("controlled", &owner.replace("UID", &uid)));
    let patterns = ["--adopt", "ConfigMap/default/*", "--adopt", "ConfigMap/kube-public/*", "--allow-adoptions", "9"];
    let mut args = vec!["plan", "-o", "json"];
    args.extend(patterns);
    let refused = lab.run(&args).exits(1).json();
    let mut found: Vec<String> = refused["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| format!("{} {}", r["rule"].as_str().unwrap(), r["id"]["name"].as_str().unwrap()))
        .collect();
    found.sort();
    assert_eq!(found, ["controlled-object bootstrapped", "controlled-object controlled", "controlled-object system"]);
}
