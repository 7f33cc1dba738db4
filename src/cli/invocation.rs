//! The exact next command, as a shell reads it.

use super::args::Global;
use crate::plan::document::PlanDocument;

/// `holdfast apply WHAT...` with the same configuration and the permissions that the plan used.
pub(crate) fn apply(global: &Global, plan: &PlanDocument, what: &[String], expect: Option<&str>) -> String {
    let mut words: Vec<String> = vec!["holdfast".to_owned(), "apply".to_owned()];
    words.extend(what.iter().cloned());
    let mut flag = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
    if let Some(expect) = expect {
        flag("--expect", expect);
    }
    let given = &plan.allowances;
    if let Some(n) = given.deletes {
        flag("--allow-deletes", &n.to_string());
    }
    given.allow.iter().for_each(|id| flag("--allow", id));
    given.adopt.iter().for_each(|id| flag("--adopt", id));
    if let Some(n) = given.adoptions {
        flag("--allow-adoptions", &n.to_string());
    }
    given.adopt_from.iter().for_each(|name| flag("--adopt-from", name));
    given.take_over.iter().for_each(|claim| flag("--take-over", claim));
    given.release.iter().for_each(|id| flag("--release", id));
    given.waive_dry_run.iter().for_each(|name| flag("--waive-dry-run", name));
    plan.waivers.iter().for_each(|waiver| flag("--waive", &waiver.rule));
    if let Some(waiver) = plan.waivers.first() {
        flag("--reason", &waiver.reason);
    }
    configuration(global, &mut words);
    if plan.sources.iter().any(|source| source.preview) {
        words.push("--allow-unmerged".to_owned());
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// What of the command line says which configuration and target.
fn configuration(global: &Global, words: &mut Vec<String>) {
    let pairs = [
        ("-f", &global.file),
        ("--target", &global.target),
        ("--repository", &global.repository),
        ("--source", &global.source),
        ("--ref", &global.reference),
        ("--path", &global.path),
    ];
    for (name, value) in pairs {
        if let Some(value) = value {
            words.extend([name.to_owned(), value.clone()]);
        }
    }
    for namespace in &global.namespace {
        words.extend(["--namespace".to_owned(), namespace.clone()]);
    }
}

/// A word that a shell reads back as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_reads_back_in_a_shell() {
        assert_eq!(quoted("ConfigMap/shop/a=3"), "ConfigMap/shop/a=3");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted("ConfigMap/shop/*"), "'ConfigMap/shop/*'");
        assert_eq!(quoted(""), "''");
    }
}
