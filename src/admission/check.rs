//! All rules that need no live object, on all manifests of a commit.

mod again;

use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::checked::{Checked, CheckedSet};
use super::declared::{self, Declared};
use super::kinds::{self, Kinds};
use super::quotes::Quotes;
use super::rejection::Rejection;
use super::rules::policies::{Policies, Said};
use super::rules::{Finding, Findings, ambiguous, annotations, controlled, identity, scope, structure};
use crate::base::fault::{At, Fault, RuleId, Warning};
use crate::base::map::HashMap;
use crate::base::pointer::Pointer;
use crate::base::progress::{Counter, NoProgress, Progress, Stage};
use crate::base::resource::{GroupKind, GroupVersionKind, ResourceId};
use crate::base::sensitive;
use crate::manifest::{Document, ManifestSet};
use crate::merge::DeclaredFields;
use crate::plan::document::Waiver;
use crate::schema::{self, KindSchema};
use crate::source::spec::SourceSpec;
use crate::target::Definitions;

pub use again::check_again;

/// A key of a Secret that is given twice, in clear and as base64.
const STRING_DATA: RuleId = RuleId::new("string-data");

/// Documents that one task judges at least: a task of its own for each would cost more than the work.
const LEAST_PER_TASK: usize = 32;

/// Judges all manifests of a commit. `definitions` are the CustomResourceDefinitions of the target.
///
/// # Errors
/// Everything that is wrong, at once. Of a document whose kind nobody knows nothing else is judged.
pub fn check(
    spec: &SourceSpec,
    set: ManifestSet,
    definitions: &Definitions,
    waivers: &[Waiver],
) -> Result<CheckedSet, Rejection> {
    check_telling(spec, set, definitions, waivers, &NoProgress)
}

/// The same as [`check`], told to somebody who waits.
///
/// # Errors
/// As [`check`].
pub fn check_telling(
    spec: &SourceSpec,
    set: ManifestSet,
    definitions: &Definitions,
    waivers: &[Waiver],
    progress: &dyn Progress,
) -> Result<CheckedSet, Rejection> {
    let memory = set.memory();
    let (documents, damaged, mut faults, mut warnings, files) = set.into_parts();
    let mut quotes = Quotes::new(files, &faults, spec.sensitive.iter().map(|s| s.kind.kind.clone()).collect());
    let kinds = Kinds::gather(&documents, &damaged, &faults, &quotes, definitions);
    let policies = match Policies::compile(spec, waivers) {
        Ok(policies) => Some(Arc::new(policies)),
        Err(bad) => {
            faults.extend(bad);
            None
        }
    };
    let judge = Judge { spec, kinds: &kinds, policies: policies.as_deref(), sensitive: Patterns::new(spec) };
    let counter = Counter::begin(progress, Stage::Admission, documents.len());
    let verdicts = judge.all(documents, || counter.one());
    drop(counter);

    faults.extend(identity::judge(verdicts.iter().filter_map(|verdict| Some((verdict.id()?, verdict))), Verdict::at));
    name_resources(&mut warnings, &verdicts);
    let mut ids: Vec<ResourceId> = damaged.iter().filter_map(|document| judge.guess_id(&document.value)).collect();
    let mut manifests = Vec::with_capacity(verdicts.len());
    let mut waived: Vec<Waiver> = Vec::new();
    for verdict in verdicts {
        waived.extend(verdict.waived);
        warnings.extend(verdict.warnings);
        match verdict.outcome {
            Outcome::Passed(checked) => {
                if checked.has_sensitive {
                    quotes.hide(checked.file(), checked.document.index);
                }
                manifests.push(*checked);
            }
            Outcome::Failed(failed) => {
                if failed.hidden {
                    quotes.hide(&failed.at.file, failed.at.document);
                }
                ids.extend(failed.id);
                faults.extend(failed.faults);
            }
        }
    }
    for document in damaged.iter().filter(|document| judge.has_sensitive(&document.value)) {
        quotes.hide(&document.file.path, document.index);
    }
    sort_warnings(&mut warnings);
    waived.sort();
    waived.dedup();
    match policies {
        Some(policies) if faults.is_empty() => {
            manifests.par_sort_unstable_by(|a, b| a.id.cmp(&b.id));
            let autoscalers = autoscalers(&manifests);
            let catalog = kinds.into_catalog();
            let places = places(&manifests);
            Ok(CheckedSet { manifests, places, autoscalers, warnings, catalog, waived, quotes, policies, memory })
        }
        _ => {
            ids.extend(manifests.into_iter().map(|checked| Arc::unwrap_or_clone(checked.id)));
            let mut rejection = Rejection::new();
            rejection.quoted(faults, &quotes);
            rejection.warn(warnings);
            rejection.meant(ids);
            Err(rejection)
        }
    }
}

/// By their place first.
fn sort_warnings(warnings: &mut [Warning]) {
    warnings.sort_by(|a, b| (&a.at, &a.path, a.rule, &a.text).cmp(&(&b.at, &b.path, b.rule, &b.text)));
}

/// Where each of them stands.
fn places(manifests: &[Checked]) -> HashMap<Arc<ResourceId>, usize> {
    manifests.iter().enumerate().map(|(place, checked)| (Arc::clone(&checked.id), place)).collect()
}

/// Which manifests are autoscalers.
fn autoscalers(manifests: &[Checked]) -> Vec<usize> {
    let autoscaler = |(_, checked): &(usize, &Checked)| checked.id.is("autoscaling", "HorizontalPodAutoscaler");
    manifests.iter().enumerate().filter(autoscaler).map(|(index, _)| index).collect()
}

/// Warnings of the reader know file and document alone.
fn name_resources(warnings: &mut [Warning], verdicts: &[Verdict]) {
    for warning in warnings.iter_mut().filter(|warning| warning.id.is_none()) {
        let Some(at) = &warning.at else { continue };
        let from = verdicts.partition_point(|v| (v.file_and_document()) < (&at.file, at.document));
        let same: Vec<&Verdict> =
            verdicts[from..].iter().take_while(|v| v.file_and_document() == (&at.file, at.document)).collect();
        // Of several objects in one list it can't be told which one is meant.
        if let [only] = same.as_slice() {
            warning.id = only.id().cloned();
        }
    }
}

/// Fields that the Source calls sensitive, by kind.
struct Patterns {
    kinds: Vec<(GroupKind, Arc<[Pointer]>)>,
    none: Arc<[Pointer]>,
}

impl Patterns {
    fn new(spec: &SourceSpec) -> Self {
        let mut kinds: Vec<(GroupKind, Vec<Pointer>)> = Vec::new();
        for sensitive in &spec.sensitive {
            match kinds.iter_mut().find(|(kind, _)| *kind == sensitive.kind) {
                Some((_, pointers)) => pointers.extend(sensitive.pointers.iter().cloned()),
                None => kinds.push((sensitive.kind.clone(), sensitive.pointers.clone())),
            }
        }
        let kinds = kinds.into_iter().map(|(kind, pointers)| (kind, pointers.into())).collect();
        Self { kinds, none: Arc::new([]) }
    }

    fn of(&self, group: &str, kind: &str) -> &Arc<[Pointer]> {
        let found = self.kinds.iter().find(|(gk, _)| gk.group == group && gk.kind == kind);
        found.map_or(&self.none, |(_, pointers)| pointers)
    }
}

struct Judge<'a> {
    spec: &'a SourceSpec,
    kinds: &'a Kinds,
    policies: Option<&'a Policies>,
    sensitive: Patterns,
}

struct Verdict {
    warnings: Vec<Warning>,
    waived: Vec<Waiver>,
    outcome: Outcome,
}

enum Outcome {
    Passed(Box<Checked>),
    Failed(Failed),
}

struct Failed {
    id: Option<ResourceId>,
    at: At,
    faults: Vec<Fault>,
    /// Whether a line of it could show a sensitive value.
    hidden: bool,
}

impl Verdict {
    fn id(&self) -> Option<&ResourceId> {
        match &self.outcome {
            Outcome::Passed(checked) => Some(&checked.id),
            Outcome::Failed(failed) => failed.id.as_ref(),
        }
    }

    fn at(&self) -> At {
        match &self.outcome {
            Outcome::Passed(checked) => checked.at(),
            Outcome::Failed(failed) => failed.at.clone(),
        }
    }

    fn file_and_document(&self) -> (&crate::base::path::RepoPath, usize) {
        match &self.outcome {
            Outcome::Passed(checked) => (checked.file(), checked.document.index),
            Outcome::Failed(failed) => (&failed.at.file, failed.at.document),
        }
    }
}

impl Judge<'_> {
    /// Judges them in several threads; `done` is told of each.
    fn all(&self, documents: Vec<Document>, done: impl Fn() + Sync) -> Vec<Verdict> {
        let judged = documents.into_par_iter().enumerate().with_min_len(LEAST_PER_TASK).map(|(index, document)| {
            let verdict = self.document(index, document);
            done();
            verdict
        });
        judged.collect()
    }

    fn document(&self, index: usize, mut document: Document) -> Verdict {
        let mut findings = Findings::default();
        let Some(schema) = self.kind(&document, &mut findings) else {
            return self.failed(&document, None, findings, Vec::new());
        };
        structure::status(&mut document, &schema, &mut findings);
        let object = &document.value;
        let patterns = self.sensitive.of(&schema.gvk.group, &schema.gvk.kind);
        let name = structure::name(object, &schema, &mut findings);
        scope::kind(&schema, name.as_deref(), self.spec, &mut findings);
        let namespace = scope::namespace(object, &schema, self.spec, &mut findings);
        let wants = annotations::read(object, self.spec, &mut findings);
        controlled::judge(object, &mut findings);
        if !document.surprising.is_empty() {
            let secret = sensitive::pointers(object, patterns);
            let is_sensitive = |path: &Pointer| secret.iter().any(|pointer| path.is_within(pointer));
            let effect = self.spec.ambiguous_scalars;
            ambiguous::judge(&document.surprising, &schema, effect, is_sensitive, &mut findings);
        }
        let shape = schema::check(&schema, object);
        let well_formed = shape.is_empty();
        findings.faults.extend(shape.into_iter().map(Finding::from));
        if well_formed {
            // What a definition lacks to be served is a consequence where its shape is wrong.
            findings.faults.extend(self.kinds.faults_of(index).map(Finding::from));
        }
        let mut said = Said::default();
        if let Some(policies) = self.policies {
            policies.named(object, &schema, &mut said);
        }
        let id = match (name, &namespace) {
            (Some(name), Ok(namespace)) => Some(id_of(&schema.gvk, namespace.as_deref(), name)),
            _ => None,
        };
        let (Some(id), true, Ok(namespace)) = (id.clone(), well_formed, namespace) else {
            findings.join(said.findings);
            return self.failed(&document, id, findings, said.waived);
        };

        let value = std::mem::take(&mut document.value);
        let Declared { value, folded, beaten } = declared::declare(value, &schema, namespace.as_deref());
        for key in beaten {
            let text = "the key is in data too, with another value: stringData beats data";
            findings.warn(Finding::new(STRING_DATA, Pointer::of(["stringData", key.as_str()]), text));
        }
        if let Some(policies) = self.policies {
            policies.expressions(&value, &schema, &mut said);
        }
        findings.join(said.findings);
        if !findings.faults.is_empty() {
            document.value = value;
            return self.failed(&document, Some(id), findings, said.waived);
        }
        let (digest, has_sensitive) = declared::digest(&value, patterns);
        let declared = Arc::new(value);
        let fields = DeclaredFields::of(Arc::clone(&schema), Arc::clone(&declared));
        let (_, warnings) = placed(&document, Some(&id), findings);
        let sensitive = Arc::clone(patterns);
        let checked = Checked {
            id: Arc::new(id),
            schema,
            declared,
            document,
            wants,
            sensitive,
            digest,
            fields,
            has_sensitive,
            folded,
        };
        Verdict { warnings, waived: said.waived, outcome: Outcome::Passed(Box::new(checked)) }
    }

    /// The schema of a document's kind; without one nothing else can be judged.
    fn kind(&self, document: &Document, findings: &mut Findings) -> Option<Arc<KindSchema>> {
        let gvk = structure::kind_of(&document.value, findings)?;
        if scope::is_own_kind(&gvk, findings) {
            return None;
        }
        let schema = match self.kinds.resolve(&gvk) {
            Ok(schema) => schema,
            Err(fault) => {
                findings.faults.extend(fault.map(Finding::from));
                return None;
            }
        };
        structure::is_stored(&schema, findings).then_some(schema)
    }

    fn failed(&self, document: &Document, id: Option<ResourceId>, findings: Findings, waived: Vec<Waiver>) -> Verdict {
        let (faults, warnings) = placed(document, id.as_ref(), findings);
        let id = id.or_else(|| self.guess_id(&document.value));
        let hidden = self.has_sensitive(&document.value);
        Verdict { warnings, waived, outcome: Outcome::Failed(Failed { id, at: document.at(), faults, hidden }) }
    }

    fn has_sensitive(&self, object: &Value) -> bool {
        let gvk = GroupVersionKind::of(object);
        gvk.kind == "Secret" || !sensitive::pointers(object, self.sensitive.of(&gvk.group, &gvk.kind)).is_empty()
    }

    /// What a broken document was probably meant to be.
    fn guess_id(&self, object: &Value) -> Option<ResourceId> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|t| !t.is_empty()).map(str::to_owned);
        let (api_version, kind) = (text(object.get("apiVersion"))?, text(object.get("kind"))?);
        let name = text(object.pointer("/metadata/name"))?;
        let schema = kinds::known(self.kinds, &GroupVersionKind::new(&api_version, &kind))?;
        let namespace = schema
            .namespaced
            .then(|| text(object.pointer("/metadata/namespace")).or_else(|| self.spec.default_namespace.clone()));
        Some(id_of(&schema.gvk, namespace.flatten().as_deref(), name))
    }
}

fn id_of(gvk: &GroupVersionKind, namespace: Option<&str>, name: String) -> ResourceId {
    ResourceId { group: gvk.group.clone(), kind: gvk.kind.clone(), namespace: namespace.map(str::to_owned), name }
}

/// Findings with their places; the file is read again, once, if there are any.
fn placed(document: &Document, id: Option<&ResourceId>, findings: Findings) -> (Vec<Fault>, Vec<Warning>) {
    let Findings { faults, warnings } = findings;
    if faults.is_empty() && warnings.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let pointers: Vec<Pointer> = faults.iter().chain(&warnings).map(|finding| finding.path.clone()).collect();
    let mut places = document.locate_all(&pointers).into_iter();
    let mut place = |path: &Pointer| {
        let at = places.next().unwrap_or_else(|| document.at());
        if path.is_root() { document.at() } else { at }
    };
    let faults = faults.into_iter().map(|finding| {
        let at = place(&finding.path);
        let mut fault = Fault::new(finding.rule, finding.text).at(at);
        fault.path = Some(finding.path).filter(|path| !path.is_root());
        fault.hint = finding.hint;
        fault.id = id.cloned();
        fault
    });
    let faults = faults.collect();
    let warnings = warnings.into_iter().map(|finding| {
        let at = place(&finding.path);
        let mut warning = Warning::new(finding.rule, finding.text).at(at);
        warning.path = Some(finding.path).filter(|path| !path.is_root());
        warning.raw = finding.raw;
        warning.id = id.cloned();
        warning
    });
    let warnings = warnings.collect();
    (faults, warnings)
}
