//! `expected.json`, read in full: a key that these types don't know is an error. FORMAT.md says what each means.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::steps::Step;

/// One entry or a list of them, any of which is right.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOf<T> {
    /// A single entry.
    One(T),
    /// Alternatives.
    Any(Vec<T>),
}

impl<T> OneOf<T> {
    /// All alternatives.
    pub(crate) fn all(&self) -> &[T] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Any(entries) => entries,
        }
    }

    /// Tells whether there is a choice.
    pub(crate) fn is_choice(&self) -> bool {
        self.all().len() > 1
    }
}

/// What a case needs of a target beyond plain storage with schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Need {
    /// Defaults that nobody wrote are stored.
    ServerDefaults,
    /// Something goes on by itself.
    Controllers,
    /// Writes can be refused although their dry run passed.
    Webhooks,
    /// Values of the server's own choice.
    AllocatedFields,
    /// Kinds of CRDs are served and stored.
    Crd,
    /// ResourceQuotas are counted.
    Quota,
    /// Workloads become healthy.
    Health,
}

impl Need {
    /// As the bank spells it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ServerDefaults => "server-defaults",
            Self::Controllers => "controllers",
            Self::Webhooks => "webhooks",
            Self::AllocatedFields => "allocated-fields",
            Self::Crd => "crd",
            Self::Quota => "quota",
            Self::Health => "health",
        }
    }

    /// Tells whether the embedded target has it.
    pub(crate) fn is_embedded(self) -> bool {
        matches!(self, Self::Crd | Self::Quota)
    }
}

/// A kind of digest in which a text may not occur either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DigestKind {
    /// SHA-256.
    Sha256,
    /// SHA-1.
    Sha1,
    /// MD5.
    Md5,
}

/// How many deletes need no permission.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneBudget {
    objects: u64,
    percent: u64,
}

/// The `spec` of a Source document, key for key.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SourceSpec {
    /// A folder of the case whose commits are this Source's own repository.
    #[serde(skip_serializing)]
    pub(crate) repository: Option<String>,
    /// The path inside the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespaces: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_kinds: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prune: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prune_budget: Option<PruneBudget>,
}

impl SourceSpec {
    /// This with the fields of `with` in place of its own.
    pub(crate) fn replaced(&self, with: &Self) -> Self {
        let (a, b) = (with.clone(), self.clone());
        Self {
            repository: a.repository.or(b.repository),
            path: a.path.or(b.path),
            namespaces: a.namespaces.or(b.namespaces),
            default_namespace: a.default_namespace.or(b.default_namespace),
            cluster_kinds: a.cluster_kinds.or(b.cluster_kinds),
            ignore: a.ignore.or(b.ignore),
            prune: a.prune.or(b.prune),
            prune_budget: a.prune_budget.or(b.prune_budget),
        }
    }
}

/// An alternative course of a case, on a fresh target with a fresh repository.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// What is different in it.
    pub(crate) name: String,
    /// Its steps.
    pub(crate) steps: Vec<Step>,
}

/// A whole `expected.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The folder's name.
    pub(crate) case: String,
    /// What the target must have.
    pub(crate) needs: Vec<Need>,
    /// Namespaces that are there before anything else.
    pub(crate) namespaces: Vec<String>,
    /// The Sources.
    pub(crate) sources: BTreeMap<String, SourceSpec>,
    #[serde(default)]
    setup: Vec<Step>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    runs: Vec<Run>,
    repeat: Option<usize>,
    /// Texts that may stand in no output.
    #[serde(default)]
    pub(crate) never: Vec<String>,
    /// Kinds of digests of those texts that may stand in no output.
    #[serde(default)]
    pub(crate) never_digests: Vec<DigestKind>,
    /// Objects that no plan may change.
    #[serde(default)]
    pub(crate) never_changed: Vec<super::ids::Id>,
}

impl Case {
    /// Reads an `expected.json` of the folder `name`.
    pub(crate) fn read(name: &str, text: &str) -> Result<Self, String> {
        let case: Self = serde_json::from_str(text).map_err(|error| format!("expected.json: {error}"))?;
        if case.case != name {
            return Err(format!("expected.json: it says case {:?}", case.case));
        }
        if case.steps.is_empty() == case.runs.is_empty() {
            return Err("expected.json: either steps or runs".to_owned());
        }
        if case.repeat == Some(0) {
            return Err("expected.json: repeat must be at least 1".to_owned());
        }
        if case.sources.is_empty() {
            return Err("expected.json: sources must not be empty".to_owned());
        }
        for (source, spec) in &case.sources {
            if spec.namespaces.is_none() || spec.prune.is_none() {
                return Err(format!("expected.json: source {source} needs namespaces and prune"));
            }
        }
        for step in case.setup.iter().chain(&case.steps).chain(case.runs.iter().flat_map(|run| &run.steps)) {
            step.check(&case.sources).map_err(|why| format!("expected.json: {why}"))?;
        }
        Ok(case)
    }

    /// The courses of the case, each with the setup before it.
    pub(crate) fn courses(&self) -> Vec<Run> {
        let with_setup = |steps: &[Step]| self.setup.iter().chain(steps).cloned().collect();
        if self.runs.is_empty() {
            vec![Run { name: String::new(), steps: with_setup(&self.steps) }]
        } else {
            self.runs.iter().map(|run| Run { name: run.name.clone(), steps: with_setup(&run.steps) }).collect()
        }
    }

    /// How many times the whole case is performed.
    pub(crate) fn rounds(&self) -> usize {
        self.repeat.unwrap_or(1)
    }

    /// The targets that steps name, in lower case; none if the case has but one.
    pub(crate) fn targets(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.courses().iter().flat_map(|run| &run.steps).filter_map(Step::target).map(str::to_lowercase).collect();
        names.sort();
        names.dedup();
        names
    }
}
