//! Which files are manifests.

use holdfast::base::path::RepoPath;
use holdfast::manifest::{Counted, IgnoreRules, is_lfs_pointer, is_near_miss};

fn rules(patterns: &[&str]) -> IgnoreRules {
    IgnoreRules::new(&RepoPath::default(), patterns).unwrap()
}

fn classify(rules: &IgnoreRules, path: &str) -> Counted {
    rules.classify(&RepoPath::from(path))
}

fn excluded(rules: &IgnoreRules, path: &str) -> bool {
    matches!(classify(rules, path), Counted::Excluded(_))
}

#[test]
fn the_ending_makes_a_manifest_in_any_case_and_with_any_name() {
    let none = rules(&[]);
    for path in ["web config.yaml", "café.yml", "-x.yaml", "UPPER.YAML", "a/b/obj.json", ".sops.yaml"] {
        assert_eq!(classify(&none, path), Counted::Manifest, "{path}");
    }
    for path in ["README.md", "web.yaml.BAK", ".yaml", "Makefile", "yaml"] {
        assert_eq!(classify(&none, path), Counted::NotCounted, "{path}");
    }
}

#[test]
fn a_folder_that_begins_with_a_dot_is_outside() {
    let none = rules(&[]);
    assert_eq!(classify(&none, ".github/workflows/ci.yaml"), Counted::Hidden);
    assert_eq!(classify(&none, "a/.archive/old.yaml"), Counted::Hidden);
    let below = IgnoreRules::new(&RepoPath::from(".deploy"), &[] as &[&str]).unwrap();
    assert_eq!(classify(&below, ".deploy/a.yaml"), Counted::Manifest);
    assert_eq!(classify(&below, "elsewhere/a.yaml"), Counted::NotCounted);
}

#[test]
fn patterns_of_the_source_count_from_its_path() {
    let rules = IgnoreRules::new(&RepoPath::from("deploy"), &["/values.yaml", "chart/**", "*.tmpl.yaml"]).unwrap();
    assert!(excluded(&rules, "deploy/values.yaml"));
    assert!(!excluded(&rules, "deploy/a/values.yaml"));
    assert!(excluded(&rules, "deploy/chart/templates/a.yaml"));
    assert!(excluded(&rules, "deploy/x/a.tmpl.yaml"));
    assert_eq!(classify(&rules, "deploy/values.yaml"), Counted::Excluded("ignore: /values.yaml".to_owned()));
}

#[test]
fn an_ignore_file_applies_below_its_folder_and_the_deepest_has_the_last_word() {
    let mut rules = rules(&[]);
    assert_eq!(rules.add_file(&RepoPath::from(".holdfastignore"), b"values.yaml\n# comment\n"), []);
    assert_eq!(rules.add_file(&RepoPath::from("a/.holdfastignore"), b"!values.yaml\n/top.yaml\n"), []);
    assert!(excluded(&rules, "values.yaml") && excluded(&rules, "b/values.yaml"));
    assert!(!excluded(&rules, "a/values.yaml") && !excluded(&rules, "a/deep/values.yaml"));
    assert!(excluded(&rules, "a/top.yaml") && !excluded(&rules, "a/b/top.yaml") && !excluded(&rules, "top.yaml"));
    assert_eq!(classify(&rules, "b/values.yaml"), Counted::Excluded(".holdfastignore: values.yaml".to_owned()));
}

#[test]
fn the_commit_takes_nothing_back_in_that_the_source_leaves_out() {
    let mut rules = rules(&["secret.yaml", "out/"]);
    rules.add_file(&RepoPath::from(".holdfastignore"), b"!secret.yaml\n!out/a.yaml\n");
    assert!(excluded(&rules, "secret.yaml") && excluded(&rules, "out/a.yaml"));
}

#[test]
fn a_bad_pattern_is_a_fault_with_its_line() {
    let mut rules = rules(&[]);
    let faults = rules.add_file(&RepoPath::from("a/.holdfastignore"), b"ok.yaml\n[z-a]\n");
    assert_eq!(faults.len(), 1);
    let at = faults[0].at.as_ref().unwrap();
    assert_eq!(
        (faults[0].rule.as_str(), at.line, at.file.to_string()),
        ("ignore-pattern", 2, "a/.holdfastignore".to_owned())
    );
    assert!(excluded(&rules, "a/ok.yaml"));
    assert!(IgnoreRules::new(&RepoPath::default(), &["[z-a]"]).is_err());
}

#[test]
fn a_name_that_is_switched_off_is_a_near_miss() {
    for path in ["deployment.yaml.BAK", "a/web.yml~", "x.json.off", "web.yaml.disabled"] {
        assert!(is_near_miss(&RepoPath::from(path)), "{path}");
    }
    for path in ["a.yaml", "README.md", "notes.yamlish", ".yaml.bak", "yaml.txt"] {
        assert!(!is_near_miss(&RepoPath::from(path)), "{path}");
    }
}

#[test]
fn pointers_of_lfs_are_told_from_text() {
    assert!(is_lfs_pointer(b"version https://git-lfs.github.com/spec/v1\noid sha256:x\nsize 1\n"));
    assert!(!is_lfs_pointer(b"version: https://git-lfs.github.com/spec/v1\n"));
}
