//! A bare mirror per repository: fetched under a lock with a deadline, read without one.

mod cache;
mod collapse;
mod credentials;
mod error;
mod fetch;
mod history;
mod packs;
mod renew;
mod ssh;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use git2::Repository;

use crate::base::clock::Moment;
use crate::base::ids::{CommitId, Digest};
use crate::base::path::RepoPath;
pub use crate::base::progress::{NoProgress, Progress};

use super::checkout::{Checkout, CheckoutError};
use super::limits::Limits;
use super::refs::RefSpec;
use super::url::RepositoryUrl;
use cache::Place;
pub use cache::private_folder;
pub use credentials::Credentials;
pub use error::MirrorError;
use history::History;
pub use ssh::Ssh;

/// When the last fetch ended, in milliseconds since 1970.
const FETCHED: &str = "holdfast-fetched";

/// A repository's mirror in the cache.
///
/// Objects are only ever added to it, so a reader needs no lock; a ref that the repository lost is lost here too, and
/// what was applied stays under `refs/holdfast/applied/`.
pub struct Mirror {
    place: Place,
    url: RepositoryUrl,
    credentials: Credentials,
    ssh: Ssh,
    /// Opened once; dropped by a fetch, which brings packs and refs.
    opened: Mutex<Option<Repository>>,
}

/// What a fetch found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The commit that the asked ref stands for on the remote now.
    pub commit: CommitId,
    /// When.
    pub at: Moment,
}

impl Mirror {
    /// Finds or makes the mirror of a repository. Nothing is fetched.
    ///
    /// # Errors
    /// If the cache can be read by others or can't be written, or if the mirror holds alternates, grafts or replace refs.
    pub fn open(cache: &Path, url: &RepositoryUrl, credentials: Credentials) -> Result<Self, MirrorError> {
        let place = cache::prepare(cache, url, credentials)?;
        Ok(Self { place, url: url.clone(), credentials, ssh: Ssh::default(), opened: Mutex::new(None) })
    }

    /// Lets its fetches take hosts and keys from the user's ssh configuration.
    #[must_use]
    pub fn with_ssh(self, ssh: &Ssh) -> Self {
        Self { ssh: ssh.clone(), ..self }
    }

    /// The repository it mirrors.
    pub fn url(&self) -> &RepositoryUrl {
        &self.url
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// Brings all branches and tags, and tells the commit of one ref.
    ///
    /// A ref that the remote doesn't have (any more) is an error, never an older commit.
    ///
    /// # Errors
    /// If the repository can't be read in full before the deadline and within the limits, or has no such ref.
    pub fn fetch(
        &self,
        ref_: &RefSpec,
        limits: &Limits,
        progress: &dyn Progress,
        now: Moment,
    ) -> Result<Fetched, MirrorError> {
        let result = fetch::run(self.job(limits), progress);
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
        result?;
        self.note_fetch(now)?;
        Ok(Fetched { commit: self.resolve(ref_)?, at: now })
    }

    /// What the remote advertises for a ref, as a digest: while it is the same as before the last fetch, a fetch would bring
    /// nothing new for it. Nothing is written.
    ///
    /// # Errors
    /// If the remote doesn't answer before the deadline or can't be read.
    pub fn advertised(&self, ref_: &RefSpec, limits: &Limits) -> Result<Digest, MirrorError> {
        fetch::look(self.job(limits), ref_.clone())
    }

    fn job(&self, limits: &Limits) -> fetch::Job {
        fetch::Job {
            place: self.place.clone(),
            url: self.url.clone(),
            credentials: self.credentials,
            ssh: self.ssh.clone(),
            limits: *limits,
        }
    }

    /// Others read the note while it is written: it is put in place whole.
    fn note_fetch(&self, now: Moment) -> Result<(), MirrorError> {
        let path = self.place.folder.join(FETCHED);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.place.folder)?;
            file.write_all(now.as_millis().to_string().as_bytes())?;
            file.persist(&path).map(|_| ()).map_err(|error| error.error)
        };
        write().map_err(|error| MirrorError::Cache { path: path.clone(), error })
    }

    /// When it was last fetched; `None` if never.
    pub fn fetched_at(&self) -> Option<Moment> {
        let text = fs::read_to_string(self.place.folder.join(FETCHED)).ok()?;
        text.parse().ok().map(Moment::from_millis)
    }

    /// The commit of a ref as of the last fetch, for work offline too.
    ///
    /// # Errors
    /// If nothing was fetched yet, the ref isn't there, or a named commit is gone or reached by no branch or tag.
    pub fn resolve(&self, ref_: &RefSpec) -> Result<CommitId, MirrorError> {
        if self.fetched_at().is_none() {
            return Err(MirrorError::NeverFetched(self.url.to_string()));
        }
        self.history(|history| history.resolve(ref_))
    }

    /// Makes sure that a commit is there, whoever reaches it.
    ///
    /// # Errors
    /// [`MirrorError::CommitGone`] if it is not.
    pub fn has_commit(&self, commit: &CommitId) -> Result<(), MirrorError> {
        self.history(|history| history.exists(commit))
    }

    /// Whether a branch or tag reaches a commit.
    ///
    /// # Errors
    /// If the mirror can't be read.
    pub fn is_reachable(&self, commit: &CommitId) -> Result<bool, MirrorError> {
        self.history(|history| history.is_reachable(commit))
    }

    /// Whether a commit is another one or descends from it; if not, it's a rewind.
    ///
    /// # Errors
    /// If one of the two is gone.
    pub fn descends_from(&self, commit: &CommitId, ancestor: &CommitId) -> Result<bool, MirrorError> {
        self.history(|history| history.descends_from(commit, ancestor))
    }

    /// The commits without parents in a commit's history: what tells one repository from an unrelated one.
    ///
    /// # Errors
    /// If the commit is gone or its history isn't whole.
    pub fn root_commits(&self, commit: &CommitId) -> Result<BTreeSet<CommitId>, MirrorError> {
        self.history(|history| history.root_commits(commit))
    }

    /// Keeps an applied commit, whatever becomes of the branch that brought it.
    ///
    /// # Errors
    /// If the commit is gone or the ref can't be written.
    pub fn keep_applied(&self, commit: &CommitId) -> Result<(), MirrorError> {
        let _lock = cache::lock(&self.place.lock)?;
        self.history(|history| {
            history.exists(commit)?;
            let write = || {
                let name = format!("{}/{commit}", renew::APPLIED);
                history.repository.reference(&name, history::oid(commit)?, true, "applied").map(|_| ())
            };
            write().map_err(|e| MirrorError::Damaged { path: self.place.folder.clone(), text: e.message().to_owned() })
        })
    }

    /// Lists a commit's files under a path. Contents are read later ([`Checkout::map_blobs`]).
    ///
    /// # Errors
    /// If the commit has no such path, or more than the limits allow.
    pub fn checkout(&self, commit: &CommitId, path: &RepoPath, limits: &Limits) -> Result<Checkout, CheckoutError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = self.reopen(&mut opened)?;
        let listed = Checkout::list(repository, self.place.folder.clone(), commit, path, limits);
        listed.inspect_err(|error| error.distrust(&self.place.folder))
    }

    /// Whether something in it could not be read: the next fetch makes it anew.
    pub fn is_distrusted(&self) -> bool {
        renew::is_distrusted(&self.place.folder)
    }

    fn reopen<'a>(&self, opened: &'a mut Option<Repository>) -> Result<&'a Repository, MirrorError> {
        match opened {
            Some(repository) => Ok(repository),
            none => {
                let open = packs::verify(&self.place.folder).and_then(|()| cache::open(&self.place.folder));
                Ok(none.insert(self.judged(open)?))
            }
        }
    }

    fn history<T>(&self, ask: impl FnOnce(&History<'_>) -> Result<T, MirrorError>) -> Result<T, MirrorError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = self.reopen(&mut opened)?;
        self.judged(ask(&History { repository, folder: &self.place.folder, url: self.url.to_string() }))
    }

    fn judged<T>(&self, read: Result<T, MirrorError>) -> Result<T, MirrorError> {
        read.inspect_err(|error| {
            if matches!(error, MirrorError::Damaged { .. }) {
                renew::distrust(&self.place.folder);
            }
        })
    }
}

/// Notes that something in a mirror's folder could not be read.
pub(super) fn distrust(folder: &Path) {
    renew::distrust(folder);
}

/// Opens a mirror's folder again, for a reader of its own.
pub(super) fn open_reader(folder: &Path) -> Result<Repository, MirrorError> {
    cache::open(folder)
}
