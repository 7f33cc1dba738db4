//! A commit that differs in a few files from one that was judged: only those files are judged.
//!
//! **Invariant:** where it gives an answer, it is the one that judging all would give.

use std::sync::Arc;

use rayon::prelude::*;

use super::{CheckedSet, Judge, Outcome, Patterns, name_resources, sort_warnings};
use crate::admission::kinds::Kinds;
use crate::base::map::HashSet;
use crate::base::path::RepoPath;
use crate::manifest::{Limits, ManifestSet};
use crate::source::spec::SourceSpec;

const CRD: &str = "CustomResourceDefinition";

/// Judges the files that changed, beside what was judged before with the same rules and the same kinds of the target.
///
/// `changed` are the files that are new or have another content, `gone` those that have another content or are there no
/// longer. `None` where only judging all of them can tell: something is wrong, or kinds are defined.
pub fn check_again(
    spec: &SourceSpec,
    before: &CheckedSet,
    changed: ManifestSet,
    gone: &HashSet<RepoPath>,
    limits: &Limits,
) -> Option<CheckedSet> {
    let memory = before.memory.saturating_add(changed.memory());
    let (documents, damaged, faults, mut warnings, files) = changed.into_parts();
    let is_sound = faults.is_empty()
        && damaged.is_empty()
        && before.waived.is_empty()
        && memory <= limits.total_memory
        && !documents.iter().any(|document| document.value.get("kind").is_some_and(|kind| kind == CRD))
        && !before.manifests.iter().any(|checked| checked.id.kind == CRD && gone.contains(checked.file()));
    if !is_sound {
        return None;
    }
    let mut before = before.clone();
    before.manifests.retain(|checked| !gone.contains(checked.file()));
    before.warnings.retain(|warning| warning.at.as_ref().is_none_or(|at| !gone.contains(&at.file)));
    let size = before.quotes.replace(files, gone);
    if before.manifests.len() + documents.len() > limits.documents
        || size.0 > limits.files
        || size.1 > limits.total_bytes
    {
        return None;
    }
    let kinds = Kinds::known_before(before.catalog.clone());
    let policies = Arc::clone(&before.policies);
    let judge = Judge { spec, kinds: &kinds, policies: Some(&policies), sensitive: Patterns::new(spec) };
    let verdicts = judge.all(documents, || {});
    name_resources(&mut warnings, &verdicts);
    for verdict in verdicts {
        let Outcome::Passed(checked) = verdict.outcome else { return None };
        if !verdict.waived.is_empty() {
            return None;
        }
        warnings.extend(verdict.warnings);
        if checked.has_sensitive {
            before.quotes.hide(checked.file(), checked.document.index);
        }
        before.manifests.push(*checked);
    }
    before.manifests.par_sort_unstable_by(|a, b| a.id.cmp(&b.id));
    if before.manifests.windows(2).any(|two| two[0].id == two[1].id) {
        return None;
    }
    before.warnings.extend(warnings);
    sort_warnings(&mut before.warnings);
    before.autoscalers = super::autoscalers(&before.manifests);
    before.places = super::places(&before.manifests);
    before.memory = memory;
    Some(before)
}
