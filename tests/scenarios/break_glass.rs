//! Break-glass: what is changed by hand while a Source is paused survives until it is in git or given up.

use serde_json::{Value, json};

use crate::lab::{Lab, Repo, Said, change, changes};

const SPEC: &str =
    "  namespaces: [shop]\n  clusterKinds: [Namespace]\n  prune: true\n  pruneBudget: {objects: 100, percent: 100}";
const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";

fn config(name: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata: {data}\n")
}

fn web(replicas: u32, images: [&str; 2]) -> String {
    let [web, proxy] = images;
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\nspec:\n  replicas: {replicas}\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      \
         containers:\n      - {{name: web, image: \"{web}\"}}\n      - {{name: proxy, image: \"{proxy}\"}}\n"
    )
}

const WEB: &str = "Deployment.apps/shop/web";

struct Shop {
    lab: Lab,
    repo: Repo,
}

impl Shop {
    fn new() -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.write("namespace.yaml", NAMESPACE);
        repo.write("a.yaml", config("a", "{v: '1', w: '1'}"));
        repo.write("web.yaml", web(2, ["web:1", "proxy:1"]));
        repo.commit("first");
        lab.configure(&[repo.source("shop", SPEC)]);
        lab.apply(&[]);
        Self { lab, repo }
    }

    #[track_caller]
    fn pause(&self) {
        self.lab.run(&["source", "pause", "shop", "--reason", "incident 7"]).ok();
    }

    #[track_caller]
    fn resume(&self) -> Said {
        self.lab.run(&["source", "resume", "shop"]).ok()
    }

    /// Changes a live object by hand.
    #[track_caller]
    fn by_hand(&self, id: &str, change: impl FnOnce(&mut Value)) {
        self.lab.by_hand("bob", id, change);
    }

    fn commit(&self, file: &str, text: &str) {
        self.repo.write(file, text);
        self.repo.commit(file);
    }
}

fn pending(plan: &Value) -> Vec<String> {
    let of_changes =
        plan["changes"].as_array().unwrap().iter().flat_map(|c| c["warnings"].as_array().into_iter().flatten());
    let all = plan["warnings"].as_array().into_iter().flatten().chain(of_changes);
    let mut found: Vec<String> = all
        .filter(|w| w["rule"] == "emergency-pending")
        .map(|w| format!("{} {}", w["id"]["name"].as_str().unwrap_or_default(), w["path"].as_str().unwrap_or_default()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_paused_source_is_applied_only_with_a_reason_and_others_are_named() {
    let shop = Shop::new();
    let other = shop.lab.repo("other");
    other.write("b.yaml", config("b", "{v: '1'}"));
    other.commit("first");
    shop.lab.configure(&[shop.repo.source("shop", SPEC), other.source("other", "  namespaces: [shop]")]);
    shop.pause();
    shop.commit("a.yaml", &config("a", "{v: '2', w: '1'}"));
    let note = shop.lab.run(&["plan", "shop"]).ok();
    assert!(note.stderr.contains("Source shop is paused since"), "{note:?}");
    let refused = shop.lab.run(&["apply", "--yes"]).exits(1);
    for text in ["paused: Source shop is paused since", "incident 7", "Source other is not held", "Nothing was written"]
    {
        assert!(refused.stderr.contains(text), "{text}: {refused:?}");
    }
    assert!(shop.lab.live("ConfigMap/shop/b").is_none(), "nothing of the request was written");
    shop.lab.apply(&["other"]);
    shop.lab.run(&["apply", "--yes", "shop", "--while-paused"]).exits(2);
    let receipt = shop.lab.apply(&["shop", "--while-paused", "--reason", "the fix"]);
    assert_eq!((&receipt["whilePaused"], &receipt["reason"]), (&json!(true), &json!("the fix")));
    assert_eq!(shop.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"], "2");
}

#[test]
fn a_saved_plan_is_held_back_too() {
    let shop = Shop::new();
    shop.commit("a.yaml", &config("a", "{v: '2', w: '1'}"));
    shop.lab.run(&["plan", "shop", "--out", "shop.plan.json"]).ok();
    shop.pause();
    let refused = shop.lab.run(&["apply", "shop.plan.json"]).exits(1);
    assert!(refused.stderr.contains("paused: "), "{refused:?}");
    let verified = shop.lab.run(&["verify", "shop.plan.json"]).exits(1);
    assert!(verified.stderr.contains("paused: "), "{verified:?}");
    shop.resume();
    shop.lab.run(&["apply", "shop.plan.json"]).ok();
}

#[test]
fn an_emergency_change_survives_the_end_of_the_pause_until_it_is_in_git() {
    let shop = Shop::new();
    shop.pause();
    shop.by_hand(WEB, |web| web["spec"]["replicas"] = 10.into());
    let said = shop.resume();
    assert!(said.stdout.contains("Emergency changes of 1 objects stay"), "{said:?}");
    let plan = shop.lab.plan(&[]);
    assert_eq!(plan["changes"], json!([]), "nothing would be reverted");
    assert_eq!(pending(&plan), ["web /spec/replicas"]);
    // Another commit is applied around it.
    shop.commit("web.yaml", &web(3, ["web:2", "proxy:1"]));
    let plan = shop.lab.plan(&[]);
    assert_eq!(pending(&plan), ["web /spec/replicas"]);
    let fields = &change(&plan, WEB)["fields"];
    assert_eq!(fields.as_array().unwrap().len(), 1, "{fields}");
    shop.lab.apply(&[]);
    let live = shop.lab.live(WEB).unwrap();
    assert_eq!(live["spec"]["replicas"], 10);
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "web:2");
    assert_eq!(pending(&shop.lab.plan(&[])), ["web /spec/replicas"], "still");
    // In git it is no emergency change any more, and what comes after is drift as any other.
    shop.commit("web.yaml", &web(10, ["web:2", "proxy:1"]));
    assert_eq!(pending(&shop.lab.plan(&[])), [""; 0]);
    shop.lab.apply(&[]);
    shop.by_hand(WEB, |web| web["spec"]["replicas"] = 1.into());
    let plan = shop.lab.plan(&[]);
    assert_eq!((pending(&plan).len(), changes(&plan, "update")), (0, vec![WEB.to_owned()]));
}

#[test]
fn an_emergency_change_survives_a_pause_that_expires_and_goes_when_it_is_given_up() {
    let shop = Shop::new();
    shop.pause();
    shop.by_hand("ConfigMap/shop/a", |a| a["data"]["v"] = "by hand".into());
    // The second pause takes the place of the first, and ends by itself.
    shop.lab.run(&["source", "pause", "shop", "--reason", "incident 7", "--until", "1ms"]).ok();
    let begun = std::time::Instant::now();
    while shop.lab.run(&["apply", "--yes"]).code != 0 {
        assert!(begun.elapsed().as_secs() < 60);
    }
    assert_eq!(shop.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"], "by hand");
    assert_eq!(pending(&shop.lab.plan(&[])), ["a /data/v"]);
    let said = shop.lab.run(&["source", "resume", "shop", "--revert"]).ok();
    assert!(said.stdout.contains("given up"), "{said:?}");
    let plan = shop.lab.plan(&[]);
    assert_eq!((pending(&plan).len(), changes(&plan, "update")), (0, vec!["ConfigMap/shop/a".to_owned()]));
    shop.lab.apply(&[]);
    assert_eq!(shop.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"], "1");
}

#[test]
fn what_was_changed_by_hand_before_or_after_the_pause_is_drift_as_ever() {
    let shop = Shop::new();
    shop.by_hand("ConfigMap/shop/a", |a| a["data"]["v"] = "before".into());
    shop.pause();
    shop.resume();
    shop.by_hand(WEB, |web| web["spec"]["replicas"] = 9.into());
    let plan = shop.lab.plan(&[]);
    assert_eq!((pending(&plan).len(), changes(&plan, "update").len()), (0, 2));
}

#[test]
fn what_was_deleted_in_a_pause_stays_deleted_until_that_is_given_up() {
    let shop = Shop::new();
    shop.pause();
    shop.lab.run(&["object", "delete", "ConfigMap/shop/a", "--as", "bob"]).ok();
    shop.resume();
    let plan = shop.lab.plan(&[]);
    assert_eq!((plan["changes"].as_array().unwrap().len(), pending(&plan)), (0, vec!["a ".to_owned()]));
    // Another commit doesn't bring it back either, though it changes that very manifest.
    shop.commit("a.yaml", &config("a", "{v: '2', w: '1'}"));
    shop.lab.apply(&[]);
    assert!(shop.lab.live("ConfigMap/shop/a").is_none());
    shop.lab.run(&["source", "resume", "shop", "--revert"]).ok();
    assert_eq!(changes(&shop.lab.plan(&[]), "create"), ["ConfigMap/shop/a"]);
    shop.lab.apply(&[]);
    assert_eq!(shop.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"], "2");
}

#[test]
fn what_was_made_in_a_pause_is_nobodys_and_adopted_only_when_asked() {
    let shop = Shop::new();
    shop.pause();
    shop.lab.put("bob", &config("hotfix", "{v: 'by hand'}"));
    shop.resume();
    assert_eq!(shop.lab.plan(&[])["changes"], json!([]));
    shop.commit("hotfix.yaml", &config("hotfix", "{v: 'by hand'}"));
    let refused = shop.lab.run(&["plan"]).exits(1);
    assert!(refused.stderr.contains("exists-unowned"), "{refused:?}");
    shop.lab.apply(&["--adopt", "ConfigMap/shop/hotfix"]);
}

#[test]
fn entries_of_lists_are_left_alone_by_what_they_are() {
    let shop = Shop::new();
    shop.pause();
    shop.by_hand(WEB, |web| web["spec"]["template"]["spec"]["containers"][1]["image"] = "proxy:hotfix".into());
    shop.resume();
    // In git the containers are in another order now, and the other one is new.
    let swapped = web(2, ["web:2", "proxy:1"]).replace(
        "      - {name: web, image: \"web:2\"}\n      - {name: proxy, image: \"proxy:1\"}\n",
        "      - {name: proxy, image: \"proxy:1\"}\n      - {name: web, image: \"web:2\"}\n",
    );
    shop.commit("web.yaml", &swapped);
    let plan = shop.lab.plan(&[]);
    assert_eq!(pending(&plan).len(), 1, "{plan:#}");
    shop.lab.apply(&[]);
    let live = shop.lab.live(WEB).unwrap();
    let images: Vec<&str> = live["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|container| container["image"].as_str().unwrap())
        .collect();
    assert!(images.contains(&"proxy:hotfix"), "{images:?}");
}

#[test]
fn a_container_that_was_taken_out_in_a_pause_stays_out() {
    let shop = Shop::new();
    shop.pause();
    shop.by_hand(WEB, |web| {
        web["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().remove(1);
    });
    shop.resume();
    let plan = shop.lab.plan(&[]);
    assert_eq!((plan["changes"].as_array().unwrap().len(), pending(&plan).len()), (0, 1), "{plan:#}");
    shop.commit("web.yaml", &web(4, ["web:1", "proxy:1"]));
    shop.lab.apply(&[]);
    let live = shop.lab.live(WEB).unwrap();
    assert_eq!(live["spec"]["template"]["spec"]["containers"].as_array().unwrap().len(), 1);
    assert_eq!(live["spec"]["replicas"], 4);
}

#[test]
fn what_git_takes_away_is_not_deleted_while_an_emergency_change_in_it_is_pending() {
    let shop = Shop::new();
    shop.pause();
    shop.by_hand("ConfigMap/shop/a", |a| a["data"]["v"] = "by hand".into());
    shop.resume();
    shop.repo.remove("a.yaml");
    shop.repo.commit("without a");
    let plan = shop.lab.plan(&[]);
    assert_eq!(changes(&plan, "keep"), ["ConfigMap/shop/a"]);
    assert_eq!(change(&plan, "ConfigMap/shop/a")["rule"], "emergency-pending");
    shop.lab.apply(&[]);
    assert!(shop.lab.live("ConfigMap/shop/a").is_some());
    shop.lab.run(&["source", "resume", "shop", "--revert"]).ok();
    assert_eq!(changes(&shop.lab.plan(&[]), "delete"), ["ConfigMap/shop/a"]);
}

#[test]
fn a_pinned_source_is_planned_at_its_commit_and_at_no_other_applied() {
    let shop = Shop::new();
    let first = shop.repo.git(&["rev-parse", "HEAD"]);
    shop.commit("a.yaml", &config("a", "{v: '2', w: '1'}"));
    shop.lab.run(&["plan", "--out", "second.plan.json"]).ok();
    shop.lab.run(&["source", "pin", "shop", "--reason", "until the fix is in", "--as", "ada"]).ok();
    let plan = shop.lab.plan(&[]);
    assert_eq!((&plan["sources"][0]["commit"], &plan["changes"]), (&json!(first), &json!([])));
    let other = shop.lab.run(&["plan", "--ref", "main"]).ok();
    assert!(other.stderr.contains("Source shop is pinned to commit"), "{other:?}");
    for apply in [&["apply", "second.plan.json"][..], &["apply", "--yes", "--ref", "main"]] {
        let refused = shop.lab.run(apply).exits(1);
        assert!(refused.stderr.contains("pinned: Source shop is pinned to commit"), "{refused:?}");
        assert!(refused.stderr.contains("claims to be ada") && refused.stderr.contains("until the fix is in"));
    }
    // What drifted is brought back to the pinned commit, while the git host is down too.
    shop.by_hand("ConfigMap/shop/a", |a| a["data"]["v"] = "by hand".into());
    std::fs::rename(&shop.repo.folder, shop.lab.path().join("away")).unwrap();
    shop.lab.apply(&[]);
    assert_eq!(shop.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"], "1");
    std::fs::rename(shop.lab.path().join("away"), &shop.repo.folder).unwrap();
    shop.lab.run(&["source", "unpin", "shop"]).ok();
    // What it was made on is there again.
    shop.lab.run(&["apply", "second.plan.json"]).ok();
    assert_eq!(shop.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"], "2");
}

#[test]
fn a_source_is_pinned_to_an_older_commit_and_goes_back_to_it() {
    let shop = Shop::new();
    let first = shop.repo.git(&["rev-parse", "HEAD"]);
    shop.commit("a.yaml", &config("a", "{v: '2', w: '1'}"));
    shop.lab.apply(&[]);
    shop.lab.run(&["source", "pin", "shop", &first, "--reason", "the last good one"]).ok();
    let plan = shop.lab.plan(&[]);
    assert_eq!((&plan["sources"][0]["rewind"], changes(&plan, "update").len()), (&json!(true), 1));
    shop.lab.apply(&[]);
    assert_eq!(shop.lab.live("ConfigMap/shop/a").unwrap()["data"]["v"], "1");
}
