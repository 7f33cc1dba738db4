//! All files of a commit together.

use holdfast::base::path::RepoPath;
use holdfast::manifest::{Limits, assemble};

use crate::config_map;

fn files(names: &[&str]) -> Vec<(RepoPath, Vec<u8>)> {
    names.iter().map(|name| (RepoPath::from(*name), config_map(&name.replace(['.', '/'], "-")).into_bytes())).collect()
}

#[test]
fn the_order_is_that_of_the_paths_bytes_whatever_order_they_come_in() {
    let mut names = vec!["b.yaml", "a/z.yaml", "a.yaml", "é.yaml", "-x.yaml"];
    let first = assemble(files(&names), &Limits::default());
    names.reverse();
    let second = assemble(files(&names), &Limits::default());
    let paths = |set: &holdfast::manifest::ManifestSet| -> Vec<String> {
        set.documents().iter().map(|d| d.file.path.to_string()).collect()
    };
    assert_eq!(paths(&first), ["-x.yaml", "a.yaml", "a/z.yaml", "b.yaml", "é.yaml"]);
    assert_eq!(paths(&first), paths(&second));
    assert!(first.file(&RepoPath::from("b.yaml")).is_some() && first.file(&RepoPath::from("c.yaml")).is_none());
}

#[test]
fn faults_of_all_files_are_in_one_report() {
    let bad = vec![
        (RepoPath::from("b.yaml"), b"knid: x\n".to_vec()),
        (RepoPath::from("a.yaml"), b"a: [\n".to_vec()),
        (RepoPath::from("c.yaml"), config_map("c").into_bytes()),
    ];
    let set = assemble(bad, &Limits::default());
    let faults: Vec<String> =
        set.faults().iter().map(|f| format!("{} {}", f.at.as_ref().unwrap().file, f.rule)).collect();
    assert_eq!(faults, ["a.yaml yaml-syntax", "b.yaml not-a-manifest"]);
    assert_eq!(set.documents().len(), 1);
}

#[test]
fn a_commit_has_limits_too() {
    let base = Limits::default();
    for (limits, word) in [
        (Limits { files: 1, ..base }, "files"),
        (Limits { documents: 1, ..base }, "objects"),
        (Limits { total_bytes: 70, ..base }, "bytes"),
    ] {
        let set = assemble(files(&["a.yaml", "b.yaml"]), &limits);
        assert_eq!(set.faults().len(), 1, "{word}");
        assert!(set.faults()[0].rule.as_str() == "size-limit" && set.faults()[0].text.contains(word));
    }
}
