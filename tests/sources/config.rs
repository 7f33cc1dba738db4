use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast::base::fault::Fault;
use holdfast::base::resource::GroupKind;
use holdfast::source::config::{Config, ConfigFile, read_config, read_config_files};
use holdfast::source::refs::RefSpec;
use holdfast::source::scope::Namespaces;
use holdfast::source::spec::{ApplyMode, DriftMode, Effect, GitPermission, Policy, PruneBudget};
use holdfast::source::target::TargetKind;

const FULL: &str = r#"apiVersion: holdfast.dev/v1
kind: Source
metadata:
  name: shop
spec:
  repository: https://git.example/team/shop.git   # or a path
  ref: main
  path: deploy
  target: local
  namespaces: [shop]
  clusterKinds:
    - Namespace
    - {kind: ClusterRole.rbac.authorization.k8s.io, names: ["shop-*"]}
  kinds: {allow: [], deny: []}
  ignore: []
  permitInGit: []
  prune: false
  pruneBudget: {objects: 10, percent: 20}
  drift: autoRevert
  ignoreDrift: []
  sensitive: []
  ambiguousScalars: warn
  policies:
    - {rule: image-digest, effect: deny}
    - {name: few-replicas, kinds: [Deployment.apps], cel: "object.spec.replicas <= 20", message: "at most 20", effect: warn}
  interval: 60s
  apply: auto
  healthTimeout: 5m
  allowRewind: false
  serviceAccount: shop/deployer
---
apiVersion: holdfast.dev/v1
kind: Target
metadata:
  name: local
spec:
  embedded: {path: .holdfast/control-plane.db}
"#;

fn read(text: &str) -> Result<Config, Vec<Fault>> {
    read_config(text, "holdfast.yaml", Path::new("/conf"))
}

fn source(spec: &str) -> String {
    format!("apiVersion: holdfast.dev/v1\nkind: Source\nmetadata: {{name: shop}}\nspec:\n{spec}")
}

const LEAST: &str = "  repository: .\n  namespaces: [shop]\n";

/// Each fault as rule, line, column.
fn places(text: &str) -> Vec<(String, u32, u32)> {
    let mut all: Vec<_> = read(text)
        .unwrap_err()
        .iter()
        .map(|f| (f.rule.to_string(), f.at.as_ref().unwrap().line, f.at.as_ref().unwrap().column))
        .collect();
    all.sort_by_key(|(_, line, column)| (*line, *column));
    all
}

fn fault(rule: &str, line: u32, column: u32) -> (String, u32, u32) {
    (rule.to_owned(), line, column)
}

#[test]
fn the_documented_file_is_read_as_documented() {
    let config = read(FULL).unwrap();
    let spec = &config.sources[0];
    assert_eq!(spec.name.as_str(), "shop");
    assert_eq!(spec.ref_, RefSpec::Branch("main".to_owned()));
    assert_eq!(spec.path.to_string(), "deploy");
    assert_eq!(spec.default_namespace.as_deref(), Some("shop"));
    assert!(spec.may_write_namespace("shop") && !spec.may_write_namespace("other"));
    let role = GroupKind::new("rbac.authorization.k8s.io", "ClusterRole");
    assert!(spec.may_write_cluster(&role, "shop-reader") && !spec.may_write_cluster(&role, "other"));
    assert!(spec.may_write_cluster(&GroupKind::new("", "Namespace"), "any"));
    assert!(!spec.may_write_cluster(&GroupKind::new("other.example", "Namespace"), "any"));
    assert!(matches!(&spec.policies[0], Policy::Named { rule: "image-digest", effect: Effect::Deny }));
    assert!(matches!(&spec.policies[1], Policy::Cel { effect: Effect::Warn, kinds, .. } if kinds.len() == 1));
    assert_eq!(spec.health_timeout, Duration::from_secs(300));
    let path = PathBuf::from("/conf/.holdfast/control-plane.db");
    assert_eq!(config.targets[0].kind, TargetKind::Embedded { path });
}

#[test]
fn what_is_not_written_has_the_documented_default() {
    let config = read(&source(LEAST)).unwrap();
    let spec = &config.sources[0];
    assert_eq!(spec.ref_, RefSpec::Head);
    assert_eq!(spec.repository.local_path(), Some(Path::new("/conf")));
    assert!(!spec.prune && !spec.allow_rewind && spec.policies.is_empty() && spec.service_account.is_none());
    assert_eq!(spec.prune_budget, PruneBudget { objects: 10, percent: 20 });
    assert_eq!((spec.drift, spec.apply), (DriftMode::AutoRevert, ApplyMode::Auto));
    assert_eq!((spec.ambiguous_scalars, spec.interval), (Effect::Warn, Duration::from_secs(60)));
    assert!(spec.allows_kind(&GroupKind::new("apps", "Deployment")));
    assert!(!spec.may_write_cluster(&GroupKind::new("", "Namespace"), "shop"));
}

#[test]
fn every_fault_of_a_file_is_reported_with_its_place() {
    let text = source(
        "  repository: https://me:S3CRET@git.example/x\n  namespace: [shop]\n  prune: yes\n  pruneBudget: {objects: -1, percent: 101}\n  drift: autorevert\n  interval: 60\n  policies:\n    - {rule: image-digst}\n    - {name: x, cel: \"true\", effekt: deny}\n  path: ../x\n  ref: refs/heads/main\n  clusterKinds: [namespace]\n",
    ) + "bogus: 1\n---\nkind: Sauce\n---\napiVersion: holdfast.dev/v2\nkind: Target\nmetadata: {name: A_b}\nspec: {embedded: {path: x}, kubernetes: {}}\n";
    let found = places(&text);
    let expected = [
        fault("missing-field", 1, 1),
        fault("repository-url", 5, 15),
        fault("unknown-field", 6, 3),
        fault("type-mismatch", 7, 10),
        fault("out-of-range", 8, 26),
        fault("out-of-range", 8, 39),
        fault("type-mismatch", 9, 10),
        fault("type-mismatch", 10, 13),
        fault("type-mismatch", 12, 14),
        fault("unknown-field", 13, 30),
        fault("type-mismatch", 14, 9),
        fault("type-mismatch", 15, 8),
        fault("type-mismatch", 16, 18),
        fault("unknown-field", 17, 1),
        fault("missing-field", 19, 1),
        fault("unknown-kind", 19, 1),
        fault("unknown-kind", 21, 1),
        fault("bad-name", 23, 18),
        fault("type-mismatch", 24, 7),
    ];
    assert_eq!(found, expected);
    let all = format!("{:?}", read(&text).unwrap_err());
    assert!(!all.contains("S3CRET"), "{all}");
}

#[test]
fn an_unknown_field_is_told_with_what_was_probably_meant() {
    let faults = read(&source(&format!("{LEAST}  defaultNamespce: shop\n"))).unwrap_err();
    assert_eq!(faults[0].hint.as_deref(), Some("did you mean defaultNamespace?"));
    assert_eq!(faults[0].path.as_ref().unwrap().as_str(), "/spec/defaultNamespce");
}

#[test]
fn every_namespace_must_be_said() {
    let faults = read(&source("  repository: .\n")).unwrap_err();
    assert!(faults[0].text.contains("[\"*\"]"));
    let any = read(&source("  repository: .\n  namespaces: [\"*\"]\n")).unwrap();
    assert_eq!(any.sources[0].namespaces, Namespaces::Any);
    assert_eq!(any.sources[0].default_namespace, None);
    assert_eq!(places(&source("  repository: .\n  namespaces: [\"*\", shop]\n")), [fault("type-mismatch", 6, 15)]);
}

#[test]
fn a_sources_own_key_replaces_the_shared_one_whole() {
    let shared = "---\napiVersion: holdfast.dev/v1\nkind: SourceDefaults\nspec:\n  repository: ../fleet\n  namespaces: [a, b]\n  prune: true\n  kinds: {deny: [Secret]}\n  pruneBudget: {objects: 1}\n";
    let text = source("  namespaces: [shop]\n  kinds: {allow: [ConfigMap]}\n") + shared;
    let spec = read(&text).unwrap().sources.remove(0);
    assert!(spec.prune);
    assert_eq!(spec.repository.local_path(), Some(Path::new("/fleet")));
    assert_eq!(spec.namespaces.only(), Some("shop"));
    assert!(spec.kinds.deny.is_empty() && spec.kinds.allow.len() == 1);
    assert_eq!(spec.prune_budget, PruneBudget { objects: 1, percent: 20 });
}

#[test]
fn a_fault_in_the_shared_defaults_is_reported_once_and_there() {
    let two = source("  path: a\n") + "---\n" + &source("  path: b\n").replace("shop", "web");
    let text = two
        + "---\napiVersion: holdfast.dev/v1\nkind: SourceDefaults\nspec:\n  repository: .\n  namespaces: [shop]\n  defaultNamespace: other\n  prun: true\n";
    let found = places(&text);
    assert_eq!(found.iter().filter(|(rule, ..)| rule == "unknown-field").count(), 1, "{found:?}");
    assert!(found.iter().all(|(_, line, _)| *line > 12), "{found:?}");
}

#[test]
fn names_are_unique_over_all_files_and_targets_must_exist() {
    let a = source(&format!("{LEAST}  target: nowhere\n"));
    let b = source(LEAST);
    let files = [
        ConfigFile { name: "a.yaml", text: &a, base: Path::new("/conf") },
        ConfigFile { name: "b.yaml", text: &b, base: Path::new("/conf") },
    ];
    let faults = read_config_files(&files).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults.iter().any(|f| f.rule.as_str() == "duplicate-object" && f.also[0].file.to_string() == "a.yaml"));
    let target = |n: &str| {
        format!(
            "---\napiVersion: holdfast.dev/v1\nkind: Target\nmetadata: {{name: {n}}}\nspec: {{embedded: {{path: {n}}}}}\n"
        )
    };
    let faults = read(&(source(LEAST) + &target("a") + &target("b"))).unwrap_err();
    assert!(faults[0].text.contains("target"), "{faults:?}");
}

#[test]
fn yaml_that_is_none_is_a_fault_with_its_place() {
    assert_eq!(places("a: [1\nb: 2\n")[0].0, "yaml-syntax");
    assert_eq!(places("a: 1\na: 2\n")[0], fault("missing-field", 1, 1));
    assert!(places("a: 1\na: 2\n").contains(&fault("duplicate-key", 2, 1)));
    assert_eq!(places("- a\n")[0], fault("type-mismatch", 1, 1));
    let deep = "[".repeat(5000);
    assert!(read(&deep).is_err());
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    assert!(places(bomb).iter().any(|(rule, ..)| rule == "size-limit"));
}

#[test]
fn text_that_looks_like_a_number_must_be_quoted() {
    let faults = read(&source(&format!("{LEAST}  ref: 1e5\n"))).unwrap_err();
    assert_eq!(faults[0].hint.as_deref(), Some("quote it if text is meant"));
    let spec = read(&source(&format!("{LEAST}  ref: \"1e5\"\n"))).unwrap().sources.remove(0);
    assert_eq!(spec.ref_, RefSpec::Branch("1e5".to_owned()));
}

#[test]
fn the_digest_changes_with_what_decides_a_plan_and_with_nothing_else() {
    let base = read(&source(LEAST)).unwrap().sources.remove(0);
    let with = |extra: &str| read(&source(&format!("{LEAST}{extra}"))).unwrap().sources.remove(0).digest();
    for same in [
        "  interval: 5m\n",
        "  apply: never\n",
        "  healthTimeout: 1s\n",
        "  drift: warn\n",
        "  allowRewind: true\n",
        "  ref: x\n",
    ] {
        assert_eq!(with(same), base.digest(), "{same}");
    }
    let deciding = [
        "  path: x\n",
        "  prune: true\n",
        "  pruneBudget: {objects: 1}\n",
        "  clusterKinds: [Namespace]\n",
        "  clusterKinds: [\"*\"]\n",
        "  kinds: {deny: [Secret]}\n",
        "  ignore: [x]\n",
        "  permitInGit: [adopt]\n",
        "  ignoreDrift: [{kind: Secret, pointers: [/data]}]\n",
        "  sensitive: [{kind: ConfigMap, pointers: [/data]}]\n",
        "  ambiguousScalars: deny\n",
        "  policies: [{rule: probes}]\n",
        "  serviceAccount: a/b\n",
    ];
    let mut digests: Vec<_> = deciding.iter().map(|extra| with(extra)).collect();
    digests.push(base.digest());
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), deciding.len() + 1);
}

#[test]
fn permissions_and_documents_of_nothing_are_read() {
    let text = format!(
        "# only a comment\n---\n{}",
        source(&format!("{LEAST}  permitInGit: [adopt, adopt-from, replace, prune]\n"))
    );
    let spec = read(&text).unwrap().sources.remove(0);
    assert!(GitPermission::ALL.iter().all(|p| spec.permits_in_git(*p)));
    assert!(read("").unwrap().sources.is_empty());
}
