//! A Source at one commit, read and checked: it can be planned any number of times, and the next commit is read beside it.

use super::context::Context;
use super::read::{Listing, SourceRead, Wanted, healing, list_source, read_files};
use crate::admission::{self, CheckedSet, Rejection};
use crate::base::ids::CommitId;
use crate::base::map::{HashMap, HashSet};
use crate::base::path::RepoPath;
use crate::plan::document::Waiver;
use crate::source::spec::SourceSpec;
use crate::target::{Definitions, Live};

/// A Source that was read and checked.
pub struct Ready<'a> {
    pub(super) read: SourceRead<'a>,
    pub(super) set: CheckedSet,
    /// Its manifest files, each with the ID of its content.
    files: HashMap<RepoPath, String>,
    definitions: Vec<(String, String)>,
}

/// What a Source is read by.
pub struct Reading<'r> {
    /// The commit; the Source's own ref if nothing else is wanted.
    pub wanted: Option<Wanted<'r>>,
    /// The CustomResourceDefinitions of the target.
    pub definitions: &'r Definitions,
    /// Waivers of user policies.
    pub waivers: &'r [Waiver],
    /// Whether a work tree's uncommitted changes are looked for.
    pub uncommitted: bool,
}

impl<'a> Ready<'a> {
    /// Fetches, unless offline, reads and checks.
    ///
    /// # Errors
    /// Everything that is wrong with the Source.
    pub fn read(context: &Context<'_>, spec: &'a SourceSpec, by: &Reading<'_>) -> Result<Self, Rejection> {
        healing(context, spec, || {
            let listing = list_source(context, spec, by.wanted, by.uncommitted)?;
            let files = listing.contents();
            whole(context, spec, (listing, files), by)
        })
    }

    /// The same for another commit of the same Source, where `self` was read by the same rules: only files that differ
    /// are read and judged.
    ///
    /// # Errors
    /// Everything that is wrong with the Source.
    pub fn next(&self, context: &Context<'_>, spec: &'a SourceSpec, by: &Reading<'_>) -> Result<Ready<'a>, Rejection> {
        healing(context, spec, || self.next_once(context, spec, by))
    }

    fn next_once(&self, context: &Context<'_>, spec: &'a SourceSpec, by: &Reading<'_>) -> Result<Ready<'a>, Rejection> {
        let listing = list_source(context, spec, by.wanted, by.uncommitted)?;
        let files = listing.contents();
        let same = |path: &RepoPath| self.files.get(path).is_some_and(|id| files.get(path) == Some(id));
        let gone: HashSet<RepoPath> = self.files.keys().filter(|path| !same(path)).cloned().collect();
        // Where most differs there is nothing to gain.
        let is_worth = gone.len() * 2 <= self.files.len()
            && listing.faults.is_empty()
            && by.waivers.is_empty()
            && self.definitions == versions(by.definitions);
        if !is_worth {
            return whole(context, spec, (listing, files), by);
        }
        let (changed, faults) = read_files(context, &listing, |path| !same(path))?;
        if faults.is_empty()
            && let Some(set) = admission::check_again(spec, &self.set, changed, &gone, context.manifests)
        {
            return Ok(Ready { read: listing.read, set, files, definitions: self.definitions.clone() });
        }
        whole(context, spec, (listing, files), by)
    }

    /// The Source's specification.
    pub fn spec(&self) -> &'a SourceSpec {
        self.read.spec
    }

    /// The commit.
    pub fn commit(&self) -> &CommitId {
        &self.read.commit
    }

    /// Its checked manifests.
    pub fn set(&self) -> &CheckedSet {
        &self.set
    }

    /// Whether it was checked against these definitions of the target.
    pub fn knows(&self, definitions: &Definitions) -> bool {
        self.definitions == versions(definitions)
    }
}

fn whole<'a>(
    context: &Context<'_>,
    spec: &'a SourceSpec,
    (mut listing, files): (Listing<'a>, HashMap<RepoPath, String>),
    by: &Reading<'_>,
) -> Result<Ready<'a>, Rejection> {
    let (set, faults) = read_files(context, &listing, |_| true)?;
    let mut rejection = Rejection::default();
    for fault in std::mem::take(&mut listing.faults).into_iter().chain(faults) {
        rejection.push(fault);
    }
    match admission::check_telling(spec, set, by.definitions, by.waivers, context.progress) {
        Ok(set) if rejection.is_empty() => {
            Ok(Ready { read: listing.read, set, files, definitions: versions(by.definitions) })
        }
        Ok(_) => Err(rejection),
        Err(refused) => {
            rejection.join(refused);
            Err(rejection)
        }
    }
}

/// The definitions that a target serves, each with its version.
pub(super) fn versions(definitions: &Definitions) -> Vec<(String, String)> {
    let mut all: Vec<_> = definitions.iter().map(|d| (d.head.id.name.clone(), generation(d))).collect();
    all.push((String::new(), definitions.catalog().base().to_owned()));
    all.sort();
    all
}

/// What moves when a definition does; its status, which a control plane writes at any time, doesn't count.
fn generation(definition: &Live) -> String {
    let generation = definition.object.pointer("/metadata/generation");
    format!("{} {}", definition.head.uid, generation.map_or_else(|| definition.head.version.clone(), |g| g.to_string()))
}
