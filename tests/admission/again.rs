//! A commit that is judged beside the one before gets the verdict that judging all of it would give.

use std::collections::BTreeMap;

use holdfast::admission::{self, Checked, CheckedSet};
use holdfast::base::map::HashSet;
use holdfast::base::path::RepoPath;
use holdfast::manifest::Limits;
use holdfast::source::config::read_config;
use holdfast::source::spec::SourceSpec;
use proptest::prelude::*;

use crate::support::{check, set};

const CONFIG: &str = r#"apiVersion: holdfast.dev/v1
kind: Source
metadata: {name: shop}
spec:
  repository: https://git.example/shop.git
  namespaces: [shop]
  clusterKinds: ["*"]
  permitInGit: [adopt, prune]
  sensitive: [{kind: ConfigMap, pointers: [/data/token]}]
  policies:
    - {rule: no-latest-tag, effect: warn}
    - {name: few, kinds: [Deployment.apps], cel: "object.spec.replicas <= 3", message: at most 3, effect: deny}
    - {name: some, kinds: [ConfigMap], cel: "object.data.v != '2'", message: not 2, effect: warn}
"#;

fn spec() -> SourceSpec {
    read_config(CONFIG, "holdfast.yaml", std::path::Path::new("/")).unwrap().sources.remove(0)
}

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: charts.lab.example.com}
spec:
  group: lab.example.com
  scope: Namespaced
  names: {kind: Chart, plural: charts, singular: chart, listKind: ChartList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {n: {type: integer}}}}}}}
";

fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    \
         spec: {{containers: [{{name: web, image: \"registry.example/web:latest\", env: [{{name: PASSWORD, value: x}}]}}]}}\n"
    )
}

/// One document: a few names, so that they meet; most of them sound.
fn document() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]);
    (name, 0..40u32, 0..4u32).prop_map(|(name, what, n)| {
        let head = |kind: &str| format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n");
        match what {
            0 => CRD.to_owned(),
            1 | 2 => format!("apiVersion: lab.example.com/v1\nkind: Chart\nmetadata: {{name: {name}}}\nspec: {{n: {n}}}\n"),
            3 => format!("{}stringData: {{k: \"{n}\"}}\n", head("Secret")),
            4 => format!("{}data: {{token: \"{n}\"}}\n", head("ConfigMap")),
            5 => format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"),
            6 => format!("{}datas: {{}}\n", head("ConfigMap")),
            7 => "a: [\n".to_owned(),
            8 => format!("# nothing but {n}\n"),
            9 => format!("{}data: {{v: {n}}}\n", head("ConfigMap")),
            10 => format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, uid: u, resourceVersion: \"{n}\"}}\n"),
            11 => format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, annotations: {{holdfast.dev/wave: \"{n}\", holdfast.dev/adopt: \"true\"}}}}\n"
            ),
            12 => format!(
                "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}}}\nspec:\n  maxReplicas: 5\n  \
                 scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n"
            ),
            13 | 14 => deployment(name, n + 1),
            15 => format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, annotations: {{x: 0755, y: yes}}}}\n"),
            _ => format!("{}data: {{v: \"{n}\"}}\n", head("ConfigMap")),
        }
    })
}

type Files = BTreeMap<String, String>;

fn file() -> impl Strategy<Value = String> {
    prop::collection::vec(document(), 1..3).prop_map(|documents| documents.join("---\n"))
}

/// A commit, and what the next one changes: a file's content, or that it is gone.
fn commits() -> impl Strategy<Value = (Files, Vec<(usize, Option<String>)>)> {
    let before = prop::collection::vec(file(), 2..6);
    let changes = prop::collection::vec((0..9usize, prop::option::weighted(0.8, file())), 1..4);
    (before, changes)
        .prop_map(|(files, changes)| (files.into_iter().enumerate().map(|(n, f)| (name(n), f)).collect(), changes))
}

fn name(n: usize) -> String {
    format!("{}/{n}.yaml", n % 2)
}

fn judge(spec: &SourceSpec, files: &Files) -> Result<CheckedSet, Vec<String>> {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    check(spec, &files).map_err(|rejection| rejection.faults().map(crate::support::short).collect())
}

/// All that is asked of a checked set.
fn all_of(set: &CheckedSet) -> String {
    let one = |c: &Checked| {
        assert_eq!(set.get(c.id()).map(Checked::at), Some(c.at()));
        let of_kind = format!("{:?}", c.schema());
        format!(
            "{} {:?} {} {} {:?} {:?} {:?} {} {:?} {of_kind}",
            c.id(),
            c.at(),
            c.declared(),
            c.digest(),
            c.wants(),
            c.sensitive(),
            c.fields(),
            c.file_text(),
            c.document().surprising
        )
    };
    let lines: Vec<String> = set.manifests().iter().map(one).collect();
    format!("{}\n{:#?}\n{:?}\n{:?}", lines.join("\n"), set.warnings(), set.waived(), set.quotes())
}

/// Whether judging the changed files alone gave an answer.
fn agrees(spec: &SourceSpec, before: &Files, changes: &[(usize, Option<String>)]) -> Result<bool, TestCaseError> {
    let Ok(old) = judge(spec, before) else { return Ok(false) };
    let mut after = before.clone();
    for (n, change) in changes {
        match change {
            Some(text) => drop(after.insert(name(*n), text.clone())),
            None => drop(after.remove(&name(*n))),
        }
    }
    let gone: HashSet<RepoPath> = before
        .iter()
        .filter(|(path, text)| after.get(*path) != Some(text))
        .map(|(path, _)| RepoPath::from(path.as_str()))
        .collect();
    let changed: Vec<(&str, &str)> = after
        .iter()
        .filter(|(path, text)| before.get(*path) != Some(text))
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let Some(again) = admission::check_again(spec, &old, set(&changed), &gone, &Limits::default()) else {
        return Ok(false);
    };
    let whole = judge(spec, &after);
    prop_assert!(whole.is_ok(), "judging all of it refuses: {:?}\n{after:#?}", whole.unwrap_err());
    prop_assert_eq!(all_of(&again), all_of(&whole.unwrap()));
    Ok(true)
}

#[test]
fn what_is_judged_beside_the_commit_before_is_judged_as_the_whole_commit_is() {
    let spec = spec();
    let config = ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let (sound, answered) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let run = runner.run(&commits(), |(before, changes)| {
        sound.set(sound.get() + u32::from(judge(&spec, &before).is_ok()));
        answered.set(answered.get() + u32::from(agrees(&spec, &before, &changes)?));
        Ok(())
    });
    println!("again: {} sound commits, {} answered from the changed files alone", sound.get(), answered.get());
    run.unwrap();
    assert!(answered.get() > 50, "too few say anything: {} of {}", answered.get(), sound.get());
}
