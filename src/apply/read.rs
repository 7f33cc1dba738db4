//! From a Source to the manifests of one commit: fetch, resolve, list, read.

use super::context::Context;
use super::rules::SOURCE_UNREADABLE;
use crate::admission::Rejection;
use crate::base::clock::Moment;
use crate::base::fault::{At, Class, Fault, RuleId, Warning};
use crate::base::ids::CommitId;
use crate::base::map::{HashMap, HashSet};
use crate::base::path::RepoPath;
use crate::base::progress::{Counter, Stage};
use crate::inventory::Binding;
use crate::manifest::{self, Counted, IgnoreRules, ManifestSet};
use crate::plan::CommitFacts;
use crate::source::checkout::{Checkout, TreeFile};
use crate::source::mirror::{Mirror, MirrorError};
use crate::source::refs::RefSpec;
use crate::source::spec::SourceSpec;
use crate::source::worktree;

/// A file that looks like a manifest with another ending; it is not read, and that is said.
pub(super) const NOT_COUNTED: RuleId = RuleId::new("not-counted");

/// A Source at one commit.
pub struct SourceRead<'a> {
    /// Its specification.
    pub spec: &'a SourceSpec,
    /// The commit.
    pub commit: CommitId,
    /// What the Source would be bound to.
    pub binding: Binding,
    /// What people should know of it.
    pub warnings: Vec<Warning>,
    preview: bool,
    mirror: Mirror,
}

/// Which commit of a Source is wanted.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// The one that a reviewed plan names; it may outlive its branch.
    Commit(&'a CommitId),
    /// The one that is applied already, which is no news: no git host is needed where the mirror has it, and no branch.
    Applied(&'a CommitId),
    /// The one that another ref than the Source's own names.
    Ref(&'a RefSpec),
    /// The one that the Source is pinned to: the git host isn't needed where the mirror has it.
    Pinned(&'a CommitId),
}

/// The files of a Source at one commit; none is read yet.
pub(crate) struct Listing<'a> {
    /// The Source.
    pub(crate) read: SourceRead<'a>,
    checkout: Checkout,
    /// Which of its files are manifests.
    counted: Vec<bool>,
    /// What is wrong with how they are listed.
    pub(crate) faults: Vec<Fault>,
}

impl Listing<'_> {
    fn manifests(&self) -> impl Iterator<Item = &TreeFile> {
        self.checkout.files.iter().zip(&self.counted).filter(|(_, counted)| **counted).map(|(file, _)| file)
    }

    /// The manifest files, each with the ID of its content.
    pub(crate) fn contents(&self) -> HashMap<RepoPath, String> {
        self.manifests().map(|file| (file.path.clone(), file.blob_id())).collect()
    }
}

/// Reads once more if the mirror turned out to be damaged: the fetch then makes it anew. Offline the damage is all there is.
pub(super) fn healing<T>(
    context: &Context<'_>,
    spec: &SourceSpec,
    read: impl Fn() -> Result<T, Rejection>,
) -> Result<T, Rejection> {
    read().or_else(|refused| {
        let damaged = !context.offline && context.mirror(spec).is_ok_and(|mirror| mirror.is_distrusted());
        if damaged { read() } else { Err(refused) }
    })
}

/// Fetches, unless offline, and lists one Source, at its own ref if nothing else is wanted.
///
/// # Errors
/// Everything that is wrong with how the commit is found.
pub(crate) fn list_source<'a>(
    context: &Context<'_>,
    spec: &'a SourceSpec,
    wanted: Option<Wanted<'_>>,
    look_for_uncommitted: bool,
) -> Result<Listing<'a>, Rejection> {
    let unreadable = |error: MirrorError| Rejection::of(error.fault());
    let mirror = context.mirror(spec).map_err(unreadable)?;
    let mut warnings = Vec::new();
    let is_there = matches!(wanted, Some(Wanted::Applied(commit)) if mirror.has_commit(commit).is_ok());
    let is_there = is_there && !mirror.is_distrusted();
    if !context.offline && !is_there {
        let ref_ = if let Some(Wanted::Ref(ref_)) = wanted { ref_ } else { &spec.ref_ };
        let fetched = mirror.fetch(ref_, context.fetch, context.progress, context.clock.now());
        match (fetched, wanted) {
            // A reviewed commit may outlive its branch; whether it does is judged below.
            (Err(error), Some(Wanted::Commit(_) | Wanted::Applied(_) | Wanted::Pinned(_)))
                if error.is_missing_ref() => {}
            (Err(error), Some(Wanted::Pinned(commit))) if mirror.has_commit(commit).is_ok() => {
                let text = format!("Source {}: {error}; the mirror has the commit that it is pinned to", spec.name);
                warnings.push(Warning::new(SOURCE_UNREADABLE, text));
            }
            (Err(error), _) => return Err(unreadable(error)),
            (Ok(_), _) => {}
        }
    }
    let (commit, preview) = find(&mirror, spec, wanted).map_err(unreadable)?;
    let looks = look_for_uncommitted && !matches!(wanted, Some(Wanted::Applied(_)));
    let limits = context.fetch;
    let (checkout, uncommitted) = rayon::join(
        || mirror.checkout(&commit, &spec.path, limits),
        || if looks { uncommitted(spec) } else { Vec::new() },
    );
    let checkout = checkout.map_err(|error| Rejection::of(error.fault()))?;
    let roots = mirror.root_commits(&commit).map_err(unreadable)?;
    warnings.extend(uncommitted);
    let (counted, faults) = counted(spec, &checkout, &mut warnings)?;
    let binding = Binding {
        repository: spec.repository.normalised().to_owned(),
        root_commits: roots.into_iter().collect(),
        path: spec.path.to_string(),
    };
    let read = SourceRead { spec, commit, binding, warnings, preview, mirror };
    Ok(Listing { read, checkout, counted, faults })
}

/// Reads those manifest files of a listing that are asked for.
///
/// # Errors
/// If one can't be read at all. Faults inside the files are in the set.
pub(crate) fn read_files(
    context: &Context<'_>,
    listing: &Listing<'_>,
    asked: impl Fn(&RepoPath) -> bool,
) -> Result<(ManifestSet, Vec<Fault>), Rejection> {
    let manifests: HashSet<&RepoPath> = listing.manifests().map(|file| &file.path).filter(|path| asked(path)).collect();
    blobs(context, &listing.checkout, |file| manifests.contains(&file.path))
}

/// Reads what was last applied of a Source, from the mirror as it is: the git host is asked only where the mirror lacks
/// the commit, and not offline. `spec.path` must be the path that was applied.
///
/// # Errors
/// If the commit or its files can't be read. Faults inside the files are in the set.
pub(crate) fn read_applied(
    context: &Context<'_>,
    spec: &SourceSpec,
    commit: &CommitId,
) -> Result<(ManifestSet, Vec<Fault>), Rejection> {
    healing(context, spec, || read_applied_once(context, spec, commit))
}

fn read_applied_once(
    context: &Context<'_>,
    spec: &SourceSpec,
    commit: &CommitId,
) -> Result<(ManifestSet, Vec<Fault>), Rejection> {
    let unreadable = |error: MirrorError| Rejection::of(error.fault());
    let mirror = context.mirror(spec).map_err(unreadable)?;
    let known = mirror.has_commit(commit);
    let lacks = known.as_ref().is_err_and(|error| error.is_gone());
    if (lacks || mirror.is_distrusted()) && !context.offline {
        match mirror.fetch(&spec.ref_, context.fetch, context.progress, context.clock.now()) {
            // The ref may be gone while the commit came.
            Err(error) if !error.is_missing_ref() => return Err(unreadable(error)),
            _ => mirror.has_commit(commit).map_err(unreadable)?,
        }
    } else {
        known.map_err(unreadable)?;
    }
    let checkout = mirror.checkout(commit, &spec.path, context.fetch).map_err(|error| Rejection::of(error.fault()))?;
    let (counted, mut faults) = counted(spec, &checkout, &mut Vec::new())?;
    let wanted: HashSet<&RepoPath> =
        checkout.files.iter().zip(&counted).filter(|(_, counted)| **counted).map(|(file, _)| &file.path).collect();
    let (set, more) = blobs(context, &checkout, |file| wanted.contains(&file.path))?;
    faults.extend(more);
    Ok((set, faults))
}

/// The newest commit of a Source's ref that the mirror has, and when it was fetched. Nothing is fetched.
///
/// # Errors
/// If the mirror can't be read, or never was fetched.
pub fn seen_commit(context: &Context<'_>, spec: &SourceSpec) -> Result<(CommitId, Option<Moment>), MirrorError> {
    let mirror = context.mirror(spec)?;
    Ok((mirror.resolve(&spec.ref_)?, mirror.fetched_at()))
}

/// The commit, and whether its Source's ref doesn't reach it.
fn find(mirror: &Mirror, spec: &SourceSpec, wanted: Option<Wanted<'_>>) -> Result<(CommitId, bool), MirrorError> {
    let reached = |commit: &CommitId| match mirror.resolve(&spec.ref_) {
        Ok(head) => mirror.descends_from(&head, commit),
        Err(error) if error.is_missing_ref() => Ok(false),
        Err(error) => Err(error),
    };
    match wanted {
        Some(Wanted::Applied(commit)) => {
            mirror.has_commit(commit)?;
            Ok((commit.clone(), false))
        }
        Some(Wanted::Commit(commit) | Wanted::Pinned(commit)) => {
            mirror.has_commit(commit)?;
            Ok((commit.clone(), !reached(commit)?))
        }
        None => Ok((mirror.resolve(&spec.ref_)?, false)),
        Some(Wanted::Ref(at)) => {
            let commit = mirror.resolve(at)?;
            let preview = !reached(&commit)?;
            Ok((commit, preview))
        }
    }
}

fn uncommitted(spec: &SourceSpec) -> Vec<Warning> {
    let Some(path) = spec.repository.local_path() else { return Vec::new() };
    match worktree::uncommitted(path, &spec.path) {
        Ok(paths) => worktree::warning(&paths).into_iter().collect(),
        Err(error) => {
            let text = format!("whether there are uncommitted changes could not be read: {error}");
            vec![Warning::new(crate::source::rules::UNCOMMITTED, text)]
        }
    }
}

/// Which files of a commit are manifests, and what is wrong with its list of files.
fn counted(
    spec: &SourceSpec,
    checkout: &Checkout,
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<bool>, Vec<Fault>), Rejection> {
    let mut rules = IgnoreRules::new(&spec.path, &spec.ignore)
        .map_err(|bad| Rejection::of(Fault::new(manifest::rules::IGNORE_PATTERN, bad.to_string())))?;
    let mut faults = Vec::new();
    for (folder, text) in &checkout.ignore_files {
        faults.extend(rules.add_file(&folder.join(manifest::IGNORE_FILE.as_bytes()), text));
    }
    let excluded = |path: &_| matches!(rules.classify(path), Counted::Excluded(_) | Counted::Hidden);
    faults.extend(checkout.faults.iter().filter(|f| !f.at.as_ref().is_some_and(|at| excluded(&at.file))).cloned());
    for file in checkout.files.iter().filter(|f| !f.counted && manifest::is_near_miss(&f.path)) {
        let text = format!("{} is not read: its name ends neither in .yaml, .yml nor .json", file.path);
        warnings.push(Warning::new(NOT_COUNTED, text).at(At::file(&file.path)));
    }
    // A Source whose path is one file reads that file, whatever its name.
    let wanted =
        |file: &TreeFile| file.counted && (file.path == spec.path || rules.classify(&file.path) == Counted::Manifest);
    Ok((checkout.files.iter().map(wanted).collect(), faults))
}

fn blobs(
    context: &Context<'_>,
    checkout: &Checkout,
    wanted: impl Fn(&TreeFile) -> bool,
) -> Result<(ManifestSet, Vec<Fault>), Rejection> {
    let counter = Counter::begin(context.progress, Stage::Reading, checkout.files.iter().filter(|f| wanted(f)).count());
    let read = |file: &TreeFile, bytes: &[u8]| {
        let read = manifest::read_file(&file.path, bytes.to_vec(), context.manifests);
        counter.one();
        read
    };
    let blobs = checkout.map_blobs(wanted, read).map_err(|error| Rejection::of(error.fault()))?;
    Ok((ManifestSet::join(blobs.read, context.manifests), blobs.faults))
}

impl SourceRead<'_> {
    /// Whether a Source is bound to this repository, path and history.
    pub fn is_same_binding(&self, bound: &Binding) -> bool {
        let related = bound.root_commits.iter().any(|root| self.binding.root_commits.contains(root));
        bound.repository == self.binding.repository && bound.path == self.binding.path && related
    }

    /// What git says of the commit, next to the one that is applied.
    pub(crate) fn facts(&self, applied: Option<&CommitId>) -> Result<CommitFacts, Box<Fault>> {
        let rewind = match applied {
            None => false,
            Some(applied) => match self.mirror.descends_from(&self.commit, applied) {
                Ok(descends) => !descends,
                // The applied commit is no longer anywhere: this one can't descend from it.
                Err(error) if error.is_gone() => true,
                Err(error) => {
                    return Err(Box::new(Fault::new(SOURCE_UNREADABLE, error.to_string()).class(Class::Target)));
                }
            },
        };
        Ok(CommitFacts { commit: self.commit.clone(), preview: self.preview, rewind })
    }

    /// Keeps the commit in the mirror, whatever becomes of its branch: it is applied now.
    ///
    /// # Errors
    /// If the mirror can't be written. The apply itself took place.
    pub fn keep(&self) -> Result<(), MirrorError> {
        self.mirror.keep_applied(&self.commit)
    }
}
