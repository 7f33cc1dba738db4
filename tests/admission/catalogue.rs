use std::collections::BTreeSet;
use std::path::Path;

use holdfast::admission::catalogue;

fn sources(folder: &Path, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_rule_is_described_and_every_description_is_of_a_rule() {
    let mut texts = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
    let rules: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split("RuleId::new(\"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let described: BTreeSet<&str> = catalogue::all().map(|rule| rule.id).collect();
    let missing: Vec<_> = rules.difference(&described).collect();
    assert!(missing.is_empty(), "rules without a description: {missing:?}");
    let stale: Vec<_> = described.difference(&rules).collect();
    assert!(stale.is_empty(), "descriptions without a rule: {stale:?}");
}

#[test]
fn descriptions_are_whole_and_unique() {
    let mut seen = BTreeSet::new();
    for rule in catalogue::all() {
        assert!(seen.insert(rule.id), "{} is described twice", rule.id);
        assert_eq!(catalogue::find(rule.id), Some(rule));
        for text in [rule.summary, rule.explanation, rule.example] {
            assert!(!text.is_empty(), "{} says too little", rule.id);
        }
        assert!(rule.summary.ends_with('.') && rule.explanation.ends_with('.'), "{}", rule.id);
    }
    assert_eq!(catalogue::find("no-such-rule"), None);
}
