//! Manifests that passed every rule that needs no live object.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::declared::Folded;
use super::quotes::Quotes;
use super::rules::policies::Policies;
use crate::base::fault::{At, Warning};
use crate::base::ids::{Digest, SourceName};
use crate::base::map::HashMap;
use crate::base::path::RepoPath;
use crate::base::pointer::Pointer;
use crate::base::resource::{GroupVersionKind, ResourceId};
use crate::inventory::PrunePermission;
use crate::manifest::Document;
use crate::merge::{DeclaredFields, FieldSet};
use crate::plan::document::Waiver;
use crate::schema::{Catalog, KindSchema};

/// What a manifest asks for beside its content; permissions only where the Source lets manifests give them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wants {
    /// When it is written: lower waves first.
    pub wave: i32,
    /// What is written before it.
    pub depends_on: Vec<ResourceId>,
    /// Whether an object of nobody's may be taken on.
    pub adopt: bool,
    /// The Source that gives it up.
    pub adopt_from: Option<SourceName>,
    /// The Source that it is given to.
    pub release_to: Option<SourceName>,
    /// Whether it must exist and is never written.
    pub use_: bool,
    /// Whether it may be deleted and made anew where a field can't change.
    pub replace: bool,
    /// What becomes of it once its manifest is gone.
    pub prune: PrunePermission,
}

/// One manifest that passed.
#[derive(Debug, Clone)]
pub struct Checked {
    pub(super) id: Arc<ResourceId>,
    pub(super) schema: Arc<KindSchema>,
    pub(super) declared: Arc<Value>,
    pub(super) document: Document,
    pub(super) wants: Wants,
    pub(super) sensitive: Arc<[Pointer]>,
    pub(super) digest: Digest,
    pub(super) fields: DeclaredFields,
    pub(super) has_sensitive: bool,
    pub(super) folded: Folded,
}

impl Checked {
    /// The resource.
    pub fn id(&self) -> &ResourceId {
        &self.id
    }

    /// Group, version and kind, as declared.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.schema.gvk
    }

    /// The shape of its kind.
    pub fn schema(&self) -> &Arc<KindSchema> {
        &self.schema
    }

    /// What is declared, in the form that is compared and sent: the namespace filled in, `stringData` folded into `data`,
    /// without nulls, what the server owns and Holdfast's own annotations.
    pub fn declared(&self) -> &Value {
        &self.declared
    }

    /// The same, shared: what an apply sends is not copied while it is planned.
    pub fn shared(&self) -> Arc<Value> {
        Arc::clone(&self.declared)
    }

    /// Its document, without the object: that is [`Checked::declared`] by now.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The file that declares it.
    pub fn file(&self) -> &RepoPath {
        &self.document.file.path
    }

    /// The file as shown.
    pub fn file_text(&self) -> Cow<'_, str> {
        match std::str::from_utf8(self.file().as_bytes()) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(self.file().to_string()),
        }
    }

    /// Where its document starts.
    pub fn at(&self) -> At {
        self.document.at()
    }

    /// The line where its document starts.
    pub fn line(&self) -> u32 {
        self.document.line
    }

    /// What it asks for beside its content.
    pub fn wants(&self) -> &Wants {
        &self.wants
    }

    /// What the Source's `sensitive` names in objects of this kind.
    pub fn sensitive(&self) -> &[Pointer] {
        &self.sensitive
    }

    /// Digest of what is declared; of sensitive values only that they are there.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The fields that are declared.
    pub fn fields(&self) -> &FieldSet {
        &self.fields
    }

    /// The same, shared with the inventory row that is made of them.
    pub fn shared_fields(&self) -> DeclaredFields {
        self.fields.clone()
    }

    /// Whether sensitive values are declared.
    pub fn has_sensitive(&self) -> bool {
        self.has_sensitive
    }

    /// The pointer of a declared field as the file has it (`/stringData/x` for `/data/x`).
    pub fn as_written(&self, path: &Pointer) -> Pointer {
        self.folded.as_written(path)
    }

    /// The place of a field, by its pointer as the file has it; of one that isn't there its nearest parent. Reads the file.
    pub fn locate(&self, path: &Pointer) -> At {
        self.document.locate(path)
    }
}

/// All manifests of one commit, checked; [`super::check`] alone makes one.
#[derive(Debug, Clone)]
pub struct CheckedSet {
    pub(super) manifests: Vec<Checked>,
    /// Where each stands.
    pub(super) places: HashMap<Arc<ResourceId>, usize>,
    /// Which of them are autoscalers.
    pub(super) autoscalers: Vec<usize>,
    pub(super) warnings: Vec<Warning>,
    pub(super) catalog: Catalog,
    pub(super) waived: Vec<Waiver>,
    pub(super) quotes: Quotes,
    pub(super) policies: Arc<Policies>,
    /// Bytes of memory that the values took when they were read, by estimate.
    pub(super) memory: usize,
}

impl CheckedSet {
    /// The manifests, sorted by resource.
    pub fn manifests(&self) -> &[Checked] {
        &self.manifests
    }

    /// The HorizontalPodAutoscalers among them.
    pub(super) fn autoscalers(&self) -> impl Iterator<Item = &Checked> {
        self.autoscalers.iter().filter_map(|index| self.manifests.get(*index))
    }

    /// The manifest of a resource.
    pub fn get(&self, id: &ResourceId) -> Option<&Checked> {
        self.manifests.get(*self.places.get(id)?)
    }

    /// What the authors should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// All kinds that are known: built-in, of the target, of the commit (which come first).
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The waivers without which the commit would have been refused.
    pub fn waived(&self) -> &[Waiver] {
        &self.waived
    }

    /// The Source's policies, for those that read the live object.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The source lines, for a report.
    pub fn quotes(&self) -> &Quotes {
        &self.quotes
    }
}
