//! A Source's fields as one document gives them, before the shared defaults fill the gaps.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::base::fault::{At, Fault};
use crate::base::ids::SourceName;
use crate::base::path::RepoPath;

use super::super::refs::RefSpec;
use super::super::rules;
use super::super::scope::{ClusterKinds, Kinds, Namespaces};
use super::super::spec::{
    ApplyMode, DriftMode, Effect, GitPermission, IgnoreDrift, Policy, PruneBudget, Sensitive, ServiceAccount,
    SourceSpec,
};
use super::super::url::RepositoryUrl;
use super::cursor::{Cursor, Report, boolean, dns_label, list, some_text, text, word};
use super::durations::{duration, duration_or_none};
use super::entries;
use super::yaml::Node;

/// A value with the place of its key's value.
type Placed<T> = Option<(At, T)>;

/// The fields that one document gives.
#[derive(Default)]
pub(super) struct PartialSource {
    /// Keys that are there, readable or not: a fault in one is not a missing field too.
    given: BTreeSet<String>,
    repository: Option<RepositoryUrl>,
    ref_: Option<RefSpec>,
    path: Option<RepoPath>,
    target: Placed<String>,
    namespaces: Option<Namespaces>,
    default_namespace: Placed<String>,
    cluster_kinds: Option<ClusterKinds>,
    kinds: Option<Kinds>,
    ignore: Option<Vec<String>>,
    permit_in_git: Option<BTreeSet<GitPermission>>,
    prune: Option<bool>,
    prune_budget: Option<PruneBudget>,
    drift: Option<DriftMode>,
    ignore_drift: Option<Vec<IgnoreDrift>>,
    sensitive: Option<Vec<Sensitive>>,
    ambiguous_scalars: Option<Effect>,
    policies: Option<Vec<Policy>>,
    interval: Option<Duration>,
    apply: Option<ApplyMode>,
    health_timeout: Option<Duration>,
    allow_rewind: Option<bool>,
    service_account: Option<ServiceAccount>,
}

impl PartialSource {
    /// Reads the `spec` of a Source or of SourceDefaults; paths start at `base`.
    pub(super) fn read(node: &Node, base: &Path, report: &mut Report) -> Self {
        report.key("spec", |report| Self::fields(node, base, report)).unwrap_or_default()
    }

    fn fields(node: &Node, base: &Path, report: &mut Report) -> Option<Self> {
        let mut f = Cursor::open(node, report)?;
        let r = report;
        let permissions = GitPermission::ALL.map(|p| (p.as_str(), p));
        let out = Self {
            given: ["repository", "namespaces"].iter().filter(|k| f.has(k)).map(|k| (*k).to_owned()).collect(),
            repository: f.read("repository", r, |n, r| repository(n, base, r)),
            ref_: f.read("ref", r, git_ref),
            path: f.read("path", r, repo_path),
            target: f.read("target", r, |n, r| Some((r.at(n), dns_label(n, r)?))),
            namespaces: f.read("namespaces", r, entries::namespaces),
            default_namespace: f.read("defaultNamespace", r, |n, r| Some((r.at(n), dns_label(n, r)?))),
            cluster_kinds: f.read("clusterKinds", r, entries::cluster_kinds),
            kinds: f.read("kinds", r, entries::kinds),
            ignore: f.read("ignore", r, |n, r| list(n, r, pattern)),
            permit_in_git: f
                .read("permitInGit", r, |n, r| list(n, r, |n, r| word(n, r, &permissions)))
                .map(|all| all.into_iter().collect()),
            prune: f.read("prune", r, boolean),
            prune_budget: f.read("pruneBudget", r, entries::prune_budget),
            drift: f.read("drift", r, |n, r| {
                word(n, r, &[("autoRevert", DriftMode::AutoRevert), ("warn", DriftMode::Warn)])
            }),
            ignore_drift: f.read("ignoreDrift", r, |n, r| list(n, r, entries::ignore_drift)),
            sensitive: f.read("sensitive", r, |n, r| list(n, r, entries::sensitive)),
            ambiguous_scalars: f.read("ambiguousScalars", r, entries::effect),
            policies: f.read("policies", r, policies),
            interval: f.read("interval", r, duration),
            apply: f.read("apply", r, |n, r| {
                let words = [("auto", ApplyMode::Auto), ("reviewed", ApplyMode::Reviewed), ("never", ApplyMode::Never)];
                word(n, r, &words)
            }),
            health_timeout: f.read("healthTimeout", r, duration_or_none),
            allow_rewind: f.read("allowRewind", r, boolean),
            service_account: f.read("serviceAccount", r, entries::service_account),
        };
        f.close(r);
        Some(out)
    }

    /// Fills the gaps from the shared defaults (a Source's own key replaces theirs whole), then from the standard ones.
    pub(super) fn finish(
        &self,
        name: &str,
        at: &At,
        defaults: Option<&Self>,
        targets: &[&str],
        report: &mut Report,
    ) -> Option<SourceSpec> {
        let none = Self::default();
        let shared = defaults.unwrap_or(&none);
        for (key, text) in [
            ("repository", "the field \"repository\" must be there".to_owned()),
            ("namespaces", "the field \"namespaces\" must be there; [\"*\"] is every one, and must be said".to_owned()),
        ] {
            if !self.given.contains(key) && !shared.given.contains(key) {
                report.faults.push(Fault::new(rules::MISSING_FIELD, format!("Source {name}: {text}")).at(at.clone()));
            }
        }
        let target = self.target.as_ref().or(shared.target.as_ref());
        self.judge_target(name, at, target, targets, report);
        let name = SourceName::parse(name).ok()?;
        let repository = either(&self.repository, &shared.repository)?;
        let namespaces = either(&self.namespaces, &shared.namespaces)?;
        let default_namespace = self.default_namespace.as_ref().or(shared.default_namespace.as_ref());
        if let Some((at, namespace)) = default_namespace.filter(|(_, n)| !namespaces.contains(n)) {
            let text = format!("{namespace:?} is none of the namespaces that Source {name} may write");
            report.faults.push(Fault::new(rules::TYPE_MISMATCH, text).at(at.clone()));
        }
        let mut spec = SourceSpec::new(name, repository, namespaces);
        spec.target = target.map(|(_, target)| target.clone());
        if let Some((_, namespace)) = default_namespace {
            spec.default_namespace = Some(namespace.clone());
        }
        spec.service_account = either(&self.service_account, &shared.service_account);
        set(&mut spec.ref_, &self.ref_, &shared.ref_);
        set(&mut spec.path, &self.path, &shared.path);
        set(&mut spec.cluster_kinds, &self.cluster_kinds, &shared.cluster_kinds);
        set(&mut spec.kinds, &self.kinds, &shared.kinds);
        set(&mut spec.ignore, &self.ignore, &shared.ignore);
        set(&mut spec.permit_in_git, &self.permit_in_git, &shared.permit_in_git);
        set(&mut spec.prune, &self.prune, &shared.prune);
        set(&mut spec.prune_budget, &self.prune_budget, &shared.prune_budget);
        set(&mut spec.drift, &self.drift, &shared.drift);
        set(&mut spec.ignore_drift, &self.ignore_drift, &shared.ignore_drift);
        set(&mut spec.sensitive, &self.sensitive, &shared.sensitive);
        set(&mut spec.ambiguous_scalars, &self.ambiguous_scalars, &shared.ambiguous_scalars);
        set(&mut spec.policies, &self.policies, &shared.policies);
        set(&mut spec.interval, &self.interval, &shared.interval);
        set(&mut spec.apply, &self.apply, &shared.apply);
        set(&mut spec.health_timeout, &self.health_timeout, &shared.health_timeout);
        set(&mut spec.allow_rewind, &self.allow_rewind, &shared.allow_rewind);
        Some(spec)
    }

    fn judge_target(&self, name: &str, at: &At, target: Option<&(At, String)>, known: &[&str], report: &mut Report) {
        match target {
            // With no Target in the file, a name has nothing to stand for.
            Some((at, target)) if !known.contains(&target.as_str()) => {
                let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let text = format!("there is no Target of the name {target:?} (there is: {list})");
                report.faults.push(Fault::new(rules::MISSING_FIELD, text).at(at.clone()));
            }
            None if known.len() > 1 => {
                let text = format!("Source {name}: \"target\" must be there, as there are {} Targets", known.len());
                report.faults.push(Fault::new(rules::MISSING_FIELD, text).at(at.clone()));
            }
            _ => {}
        }
    }
}

fn either<T: Clone>(own: &Option<T>, shared: &Option<T>) -> Option<T> {
    own.as_ref().or(shared.as_ref()).cloned()
}

fn set<T: Clone>(field: &mut T, own: &Option<T>, shared: &Option<T>) {
    if let Some(value) = either(own, shared) {
        *field = value;
    }
}

fn repository(node: &Node, base: &Path, report: &mut Report) -> Option<RepositoryUrl> {
    let found = some_text(node, report)?;
    RepositoryUrl::parse(&found, base)
        .map_err(|error| {
            report.here(rules::REPOSITORY_URL, node, error.to_string());
        })
        .ok()
}

fn git_ref(node: &Node, report: &mut Report) -> Option<RefSpec> {
    let found = some_text(node, report)?;
    RefSpec::parse(&found)
        .map_err(|error| {
            report.here(rules::TYPE_MISMATCH, node, error.to_string());
        })
        .ok()
}

/// A path inside the commit: `.` and slashes at the ends are forgiven, `..` is not.
fn repo_path(node: &Node, report: &mut Report) -> Option<RepoPath> {
    let found = text(node, report)?;
    match parse_repo_path(&found) {
        Some(path) => Some(path),
        None => {
            let text = format!("{found:?} leads out of the repository: the path starts at its top");
            report.here(rules::TYPE_MISMATCH, node, text);
            None
        }
    }
}

/// Reads a Source's path; `None` if it leaves the repository.
pub fn parse_repo_path(text: &str) -> Option<RepoPath> {
    if text.starts_with('/') || text.contains('\0') {
        return None;
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.contains(&"..")).then(|| RepoPath::from(parts.join("/").as_str()))
}

/// A pattern as in a gitignore file, one line.
fn pattern(node: &Node, report: &mut Report) -> Option<String> {
    let found = some_text(node, report)?;
    if found.contains(['\n', '\0']) {
        report.here(rules::TYPE_MISMATCH, node, "a pattern is one line");
        return None;
    }
    Some(found)
}

fn policies(node: &Node, report: &mut Report) -> Option<Vec<Policy>> {
    let all = list(node, report, entries::policy)?;
    let mut names = BTreeSet::new();
    for policy in &all {
        let name = match policy {
            Policy::Named { rule, .. } => *rule,
            Policy::Cel { name, .. } => name.as_str(),
        };
        if !names.insert(name) {
            report.here(rules::DUPLICATE_OBJECT, node, format!("there are two policies of the name {name:?}"));
        }
    }
    Some(all)
}
