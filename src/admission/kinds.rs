//! The kinds that a commit can use: built-in ones, those of the target, and those that the commit itself defines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::quotes::Quotes;
use crate::base::fault::Fault;
use crate::base::resource::{GroupKind, GroupVersionKind};
use crate::manifest::Document;
use crate::schema::crd::{Crd, defined_kind};
use crate::schema::{Catalog, KindSchema, SchemaFault};
use crate::target::{Definitions, Live};

/// All kinds, and what stands between them and the commit.
pub(super) struct Kinds {
    catalog: Catalog,
    /// What is wrong with a definition of the commit, by the document's index.
    broken: BTreeMap<usize, Vec<SchemaFault>>,
    /// Kinds whose definition in the commit has a fault of its own: their objects can't be judged.
    doubtful: BTreeSet<GroupKind>,
    /// Files that couldn't be read and that may define kinds.
    unread: Vec<String>,
    /// Why a definition of the target can't be used.
    unusable: BTreeMap<GroupKind, String>,
}

fn is_definition(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
        && object.get("apiVersion").and_then(Value::as_str) == Some("apiextensions.k8s.io/v1")
}

impl Kinds {
    /// Reads the definitions. Of the target's only those in groups that the commit uses: a cluster may have hundreds.
    pub(super) fn gather(
        documents: &[Document],
        damaged: &[Document],
        faults: &[Fault],
        quotes: &Quotes,
        definitions: &Definitions,
    ) -> Self {
        let of_commit: Vec<(usize, Result<Crd, Vec<SchemaFault>>)> = documents
            .par_iter()
            .enumerate()
            .with_min_len(64)
            .filter(|(_, document)| is_definition(&document.value))
            .map(|(index, document)| (index, Crd::read(&document.value)))
            .collect();
        let mut doubtful: BTreeSet<GroupKind> =
            damaged.iter().filter(|d| is_definition(&d.value)).filter_map(|d| defined_kind(&d.value)).collect();
        let (mut crds, mut broken) = (Vec::new(), BTreeMap::new());
        for (index, read) in of_commit {
            match read {
                Ok(crd) => crds.push(crd),
                Err(faults) => {
                    doubtful.extend(defined_kind(&documents[index].value));
                    broken.insert(index, faults);
                }
            }
        }
        let (of_target, unusable) = read_target(documents, definitions);
        let mut unread = BTreeSet::new();
        for at in faults.iter().filter_map(|fault| fault.at.as_ref()) {
            unread.insert(&at.file);
        }
        let unread = unread.into_iter().filter_map(|file| quotes.text(file)).map(String::from_utf8_lossy);
        let unread = unread.filter(|text| text.contains("CustomResourceDefinition")).map(|t| t.into_owned()).collect();
        let catalog = definitions.catalog().with_crds(of_target).with_crds(crds);
        Self { catalog, broken, doubtful, unread, unusable }
    }

    /// Those that were gathered before, where nothing stood between them and the commit.
    pub(super) fn known_before(catalog: Catalog) -> Self {
        Self {
            catalog,
            broken: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            unread: Vec::new(),
            unusable: BTreeMap::new(),
        }
    }

    /// What is wrong with the definition that a document is.
    pub(super) fn faults_of(&self, index: usize) -> impl Iterator<Item = SchemaFault> + '_ {
        self.broken.get(&index).into_iter().flatten().cloned()
    }

    /// The schema of a kind; without one the fault, or none where another fault explains it.
    pub(super) fn resolve(&self, gvk: &GroupVersionKind) -> Result<Arc<KindSchema>, Option<SchemaFault>> {
        let unknown = match self.catalog.resolve(gvk) {
            Ok(schema) if self.doubtful.is_empty() || !self.doubtful.contains(&gvk.group_kind()) => return Ok(schema),
            Ok(_) => return Err(None),
            Err(unknown) => unknown,
        };
        let kind = gvk.group_kind();
        let explained = self.doubtful.contains(&kind)
            || (!gvk.group.is_empty()
                && self.unread.iter().any(|text| text.contains(&gvk.group) && text.contains(&gvk.kind)));
        if explained {
            return Err(None);
        }
        let mut fault = SchemaFault::from(unknown);
        if let Some(why) = self.unusable.get(&kind) {
            fault.hint = Some(format!("the target's CustomResourceDefinition can't be used: {why}"));
        }
        Err(Some(fault))
    }

    /// The kinds.
    pub(super) fn into_catalog(self) -> Catalog {
        self.catalog
    }
}

/// The schema of a kind if it is known at all, in whatever version.
pub(super) fn known(kinds: &Kinds, gvk: &GroupVersionKind) -> Option<Arc<KindSchema>> {
    kinds.catalog.resolve(gvk).ok().or_else(|| kinds.catalog.by_group_kind(&gvk.group_kind()).into_iter().next())
}

fn read_target(documents: &[Document], definitions: &Definitions) -> (Vec<Crd>, BTreeMap<GroupKind, String>) {
    if definitions.is_empty() {
        return (Vec::new(), BTreeMap::new());
    }
    let mut groups: BTreeSet<&str> = BTreeSet::new();
    for document in documents {
        if let Some((group, _)) =
            document.value.get("apiVersion").and_then(Value::as_str).and_then(|v| v.split_once('/'))
        {
            groups.insert(group);
        }
    }
    let used =
        |live: &&Live| live.object.pointer("/spec/group").and_then(Value::as_str).is_some_and(|g| groups.contains(g));
    let used: Vec<&Live> = definitions.iter().filter(used).collect();
    let read: Vec<(&Live, Result<Crd, Vec<SchemaFault>>)> =
        used.into_par_iter().map(|live| (live, Crd::read(&live.object))).collect();
    let (mut crds, mut unusable) = (Vec::new(), BTreeMap::new());
    for (live, read) in read {
        match (read, defined_kind(&live.object)) {
            (Ok(crd), _) => crds.push(crd),
            (Err(faults), Some(kind)) => {
                let why = faults.first().map_or_else(String::new, |fault| format!("{} at {}", fault.text, fault.path));
                unusable.insert(kind, why);
            }
            (Err(_), None) => {}
        }
    }
    (crds, unusable)
}
