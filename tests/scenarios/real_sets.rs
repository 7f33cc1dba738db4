//! Manifests of real projects: planned, applied, planned again with nothing to do.

use std::fs;

use crate::lab::{Lab, Repo, change, changes};

struct Set {
    name: &'static str,
    path: &'static str,
    spec: &'static str,
    /// A file, a text in it, what it becomes, the object and the field.
    edit: (&'static str, &'static str, &'static str, &'static str, &'static str),
    /// A file to remove, with the one object in it.
    removed: (&'static str, &'static str),
}

const SETS: [Set; 2] = [
    Set {
        name: "kube-prometheus",
        path: "manifests",
        spec: "  namespaces: [\"*\"]\n  clusterKinds: [\"*\"]\n  permitInGit: [adopt]",
        edit: (
            "manifests/alertmanager-service.yaml",
            "targetPort: web",
            "targetPort: reloader-web",
            "Service/monitoring/alertmanager-main",
            "/spec/ports/0/targetPort",
        ),
        removed: ("manifests/grafana-service.yaml", "Service/monitoring/grafana"),
    },
    Set {
        name: "microservices-demo",
        path: "release",
        spec: "  namespaces: [default]",
        edit: (
            "release/kubernetes-manifests.yaml",
            "value: \"8080\"",
            "value: \"8081\"",
            "Deployment.apps/default/frontend",
            "/spec/template/spec/containers/0/env/0/value",
        ),
        removed: ("", ""),
    },
];

fn source(repo: &Repo, set: &Set, prune: bool) -> String {
    repo.source("real", &format!("  path: {}\n{}\n  prune: {prune}", set.path, set.spec))
}

#[test]
fn a_real_set_is_applied_whole_and_then_there_is_nothing_to_do() {
    for set in &SETS {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.copy_real(set.name);
        repo.commit("as published");
        lab.configure(&[source(&repo, set, true)]);

        let plan = lab.plan(&[]);
        let created = plan["summary"]["create"].as_u64().unwrap();
        assert!(created > 30, "{}: {created}", set.name);
        let mut again = lab.plan(&[]);
        again["createdAt"] = plan["createdAt"].clone();
        assert_eq!(again, plan, "{}: two plans of the same differ", set.name);

        let receipt = lab.apply(&[]);
        assert_eq!(receipt["writes"].as_u64(), Some(created), "{}", set.name);
        let idle = lab.plan(&[]);
        assert_eq!(idle["changes"].as_array().unwrap().len(), 0, "{}: {:#}", set.name, idle["changes"]);
        assert_eq!(idle["summary"]["unchanged"].as_u64(), Some(created), "{}", set.name);
    }
}

#[test]
fn one_changed_value_of_a_real_set_is_one_update_with_the_field_named() {
    for set in &SETS {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        repo.copy_real(set.name);
        repo.commit("as published");
        lab.configure(&[source(&repo, set, true)]);
        lab.apply(&[]);

        let (file, from, to, object, field) = set.edit;
        let text = fs::read_to_string(repo.folder.join(file)).unwrap();
        assert!(text.contains(from), "{}: {file} has no {from:?}", set.name);
        repo.write(file, text.replacen(from, to, 1));
        repo.commit("one value");
        let plan = lab.plan(&[]);
        assert_eq!(changes(&plan, "update"), [object], "{}", set.name);
        assert_eq!(plan["changes"].as_array().unwrap().len(), 1, "{}", set.name);
        let fields = change(&plan, object)["fields"].as_array().unwrap();
        assert_eq!(fields.len(), 1, "{fields:#?}");
        assert_eq!(fields[0]["path"], field);
        assert_eq!(lab.apply(&[])["writes"], 1);
    }
}

#[test]
fn a_removed_file_of_a_real_set_is_one_delete_with_prune_and_a_keep_without() {
    let set = &SETS[0];
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.copy_real(set.name);
    repo.commit("as published");
    lab.configure(&[source(&repo, set, false)]);
    lab.apply(&[]);
    let (file, object) = set.removed;
    repo.remove(file);
    repo.commit("one file less");

    let kept = lab.plan(&[]);
    assert_eq!(changes(&kept, "keep"), [object]);
    assert_eq!(kept["changes"].as_array().unwrap().len(), 1);
    assert_eq!(change(&kept, object)["rule"], "prune-off");

    lab.configure(&[source(&repo, set, true)]);
    let plan = lab.plan(&[]);
    assert_eq!(changes(&plan, "delete"), [object]);
    assert_eq!(plan["changes"].as_array().unwrap().len(), 1);
    let receipt = lab.apply(&[]);
    assert_eq!(receipt["deletes"], 1);
    assert_eq!(lab.live(object), None);
}
