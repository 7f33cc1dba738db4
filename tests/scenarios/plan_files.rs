//! A saved plan: where it is put, and what it holds its applier to.

use std::fs;

use crate::lab::Lab;

const MANIFEST: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";

#[test]
fn a_plan_for_a_folder_that_is_not_there_names_the_folder_and_nothing_is_saved() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", MANIFEST);
    repo.commit("one");
    lab.configure(&[repo.source("shop", SPEC)]);
    let said = lab.run(&["plan", "--out", "nowhere/at/all/a.plan.json"]).exits(1);
    assert!(said.all().contains("there is no folder nowhere/at/all"), "{said:?}");
    assert!(!said.all().contains(".holdfast-plan-") && said.all().contains("nothing was saved"), "{said:?}");
    assert!(!lab.path().join("nowhere").exists());
    // In the place of a folder, and below a file.
    fs::create_dir(lab.path().join("taken")).unwrap();
    for path in ["taken", "repo/a.yaml/b.plan.json"] {
        let said = lab.run(&["plan", "--out", path]).exits(1);
        assert!(said.all().contains(path) && !said.all().contains(".holdfast-plan-"), "{said:?}");
    }
}

#[test]
fn a_first_apply_is_refused_where_the_repository_or_path_is_another_than_the_plans() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a/a.yaml", MANIFEST);
    repo.write("b/a.yaml", MANIFEST);
    repo.commit("one");
    let twin = lab.path().join("twin");
    repo.git(&["clone", "-q", ".", twin.to_str().unwrap()]);
    let configure = |repository: &str, path: &str| {
        let text = format!("{SPEC}\n  path: {path}");
        lab.configure(&[repo.source("shop", &text).replace(repo.folder.to_str().unwrap(), repository)]);
    };
    let own = repo.folder.to_str().unwrap();
    configure(own, "a");
    lab.run(&["plan", "--out", "a.plan.json"]).ok();
    let saved = fs::read_to_string(lab.path().join("a.plan.json")).unwrap();
    assert!(!saved.contains(own), "no URL or path of a repository is in a plan");
    let content = lab.plan(&[])["contentId"].as_str().unwrap().to_owned();

    for (repository, path, why) in [
        (twin.to_str().unwrap(), "a", "its repository or path is another"),
        (own, "b", "its repository or path is another"),
    ] {
        configure(repository, path);
        let said = lab.run(&["apply", "a.plan.json"]).exits(4);
        assert!(said.all().contains(why) && said.all().contains("othing was written"), "{said:?}");
        assert!(lab.run(&["verify", "a.plan.json"]).all().contains(why));
    }
    // Who reviews the content alone takes the repository of the configuration.
    configure(twin.to_str().unwrap(), "a");
    assert_eq!(lab.plan(&[])["contentId"], content.as_str());
    // Another spelling of the same is the same.
    configure(&format!("{own}/.git"), "a");
    lab.run(&["apply", "a.plan.json"]).ok();
}

#[test]
fn a_relative_repository_is_the_same_on_every_machine() {
    let labs = [Lab::new(), Lab::new()];
    let plans = labs.each_ref().map(|lab| {
        let repo = lab.repo("repo");
        repo.write("a.yaml", MANIFEST);
        repo.commit("one");
        lab.configure(&[repo.source("shop", SPEC).replace(repo.folder.to_str().unwrap(), "./repo")]);
        lab.plan(&[])
    });
    assert_eq!(plans[0]["sources"][0]["origin"], plans[1]["sources"][0]["origin"]);
}

#[test]
fn every_waiver_that_names_no_policy_is_said() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.commit("one");
    lab.configure(&[repo.source("shop", SPEC)]);
    let said = lab.run(&["plan", "--waive", "one-rule", "--waive", "unknown-field", "--reason", "x"]).exits(2);
    assert!(said.stderr.contains("no policy one-rule"), "{said:?}");
    assert!(said.stderr.contains("unknown-field is no policy of these Sources"), "{said:?}");
}
