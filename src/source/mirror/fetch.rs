//! One fetch: in a thread of its own, since a server that says nothing can only be left, not stopped.

mod advertised;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use git2::{
    AutotagOption, CertificateCheckStatus, FetchOptions, ProxyOptions, RemoteCallbacks, RemoteRedirect,
    RemoteUpdateFlags, Repository,
};

use crate::base::base64;
use crate::base::progress::Progress;

use super::super::limits::Limits;
use super::super::url::RepositoryUrl;
use super::cache::{self, Place};
use super::collapse::collapse;
use super::credentials::{Answers, Credentials};
use super::error::MirrorError;
use super::packs;
use super::renew::{self, Fresh};
use super::ssh::{Route, Ssh};

pub(super) use advertised::look;

/// Branches and tags alone: notes, pull requests and what else a server shows are no Source's history.
const REFSPECS: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];

const NOT_STOPPED: u8 = 0;
const TOO_MANY_BYTES: u8 = 1;
const TOO_MANY_OBJECTS: u8 = 2;

enum Said {
    Received { objects: u64, total: u64, bytes: u64 },
    Noted(String),
    Done(Result<(), MirrorError>),
}

pub(super) struct Job {
    pub(super) place: Place,
    pub(super) url: RepositoryUrl,
    pub(super) credentials: Credentials,
    pub(super) ssh: Ssh,
    pub(super) limits: Limits,
}

/// Runs a fetch and gives up at its deadline. A thread that is left behind keeps the mirror's lock until it ends, and
/// changes no ref any more.
pub(super) fn run(job: Job, progress: &dyn Progress) -> Result<(), MirrorError> {
    let (url, deadline) = (job.url.to_string(), job.limits.deadline);
    let until = Instant::now() + deadline;
    let given_up = Arc::new(AtomicBool::new(false));
    let (say, hear) = mpsc::sync_channel(16);
    let flag = Arc::clone(&given_up);
    std::thread::Builder::new()
        .name("fetch".to_owned())
        .spawn(move || {
            let result = job.run(&say, &flag);
            // Nobody hears it after the deadline.
            let _ = say.send(Said::Done(result));
        })
        .map_err(|e| MirrorError::BrokeOff { url: url.clone(), text: e.to_string() })?;
    loop {
        match hear.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Said::Received { objects, total, bytes }) => progress.received(objects, total, bytes),
            Ok(Said::Noted(text)) => progress.noted(&text),
            Ok(Said::Done(result)) => return result,
            Err(RecvTimeoutError::Timeout) => {
                given_up.store(true, Ordering::SeqCst);
                return Err(MirrorError::Deadline { url, deadline });
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(MirrorError::BrokeOff { url, text: "its thread ended early".to_owned() });
            }
        }
    }
}

impl Job {
    fn run(&self, say: &SyncSender<Said>, given_up: &AtomicBool) -> Result<(), MirrorError> {
        let _lock = cache::lock(&self.place.lock)?;
        if let Some(path) = self.url.local_path() {
            self.judge_local(path)?;
        }
        let folder = &self.place.folder;
        let why = match renew::sound(folder)? {
            Ok(repository) => match self.fetch_into(&repository, folder, say, given_up).and_then(|()| collapse(folder))
            {
                Err(MirrorError::Damaged { text, .. }) => text,
                result => return result,
            },
            Err(why) => why,
        };
        let fresh = Fresh::beside(&self.place)?;
        self.fetch_into(&cache::open(&fresh.folder())?, &fresh.folder(), say, given_up)?;
        let aside = fresh.take(&self.place)?;
        let text = format!(
            "{}: its mirror was damaged ({why}) and has been fetched anew; the damaged one is kept as {}",
            self.url,
            aside.display()
        );
        // Whoever gave up waiting hears nothing.
        let _ = say.send(Said::Noted(text));
        Ok(())
    }

    fn fetch_into(
        &self,
        repository: &Repository,
        folder: &Path,
        say: &SyncSender<Said>,
        given_up: &AtomicBool,
    ) -> Result<(), MirrorError> {
        cache::sweep(folder)?;
        let stopped = AtomicU8::new(NOT_STOPPED);
        let result = self.transfer(repository, say, given_up, &stopped);
        packs::record(folder)?;
        let url = self.url.to_string();
        match stopped.load(Ordering::SeqCst) {
            TOO_MANY_BYTES => return Err(MirrorError::TooLarge { url, limit: self.limits.bytes, what: "bytes" }),
            TOO_MANY_OBJECTS => return Err(MirrorError::TooLarge { url, limit: self.limits.objects, what: "objects" }),
            _ => result?,
        }
        if repository.is_shallow() {
            // The mirror may not keep it: whoever uses it next would take its border for a root.
            let path = folder.join("shallow");
            std::fs::remove_file(&path).map_err(|error| MirrorError::Cache { path, error })?;
            return Err(MirrorError::Shallow(url));
        }
        Ok(())
    }

    /// What only a repository on this machine can be asked before its objects are read.
    fn judge_local(&self, path: &Path) -> Result<(), MirrorError> {
        let local = Repository::open(path).map_err(|e| MirrorError::remote(&self.url.to_string(), &e, None))?;
        if local.is_shallow() {
            return Err(MirrorError::Shallow(self.url.to_string()));
        }
        if local.commondir().join("info/grafts").exists() {
            return Err(MirrorError::Grafts(self.url.to_string()));
        }
        Ok(())
    }

    fn transfer(
        &self,
        repository: &Repository,
        say: &SyncSender<Said>,
        given_up: &AtomicBool,
        stopped: &AtomicU8,
    ) -> Result<(), MirrorError> {
        let url = self.url.to_string();
        let route = self.ssh.route(&self.url)?;
        let host_key = Mutex::new(None);
        let failed = |e: git2::Error| {
            let key = host_key.lock().unwrap_or_else(PoisonError::into_inner).take();
            MirrorError::remote(&url, &e, key)
        };
        let mut remote = repository.remote_anonymous(&route.url).map_err(failed)?;
        let mut options = self.options(route, &host_key, say, given_up, stopped);
        remote.download(&REFSPECS, Some(&mut options)).map_err(failed)?;
        let head = match remote.default_branch() {
            Ok(name) => Some(name.to_vec()),
            Err(e) if e.code() == git2::ErrorCode::NotFound => None,
            Err(e) => return Err(failed(e)),
        };
        remote.disconnect().map_err(failed)?;
        if given_up.load(Ordering::SeqCst) {
            return Err(MirrorError::Deadline { url, deadline: self.limits.deadline });
        }
        let damaged =
            |e: git2::Error| MirrorError::Damaged { path: repository.path().to_owned(), text: e.message().to_owned() };
        // What is gone goes first: `a` may have become `a/b`.
        remote.prune(None).map_err(damaged)?;
        remote.update_tips(None, RemoteUpdateFlags::empty(), AutotagOption::None, None).map_err(damaged)?;
        match head {
            Some(name) if name.starts_with(b"refs/heads/") => repository.set_head_bytes(&name).map_err(damaged),
            _ => repository.set_head("refs/heads/holdfast-no-head").map_err(damaged),
        }
    }

    fn options<'a>(
        &'a self,
        route: Route,
        host_key: &'a Mutex<Option<String>>,
        say: &'a SyncSender<Said>,
        given_up: &'a AtomicBool,
        stopped: &'a AtomicU8,
    ) -> FetchOptions<'a> {
        let mut callbacks = RemoteCallbacks::new();
        let mut answers = Answers::new(self.credentials, route);
        callbacks.credentials(move |url, user, allowed| answers.answer(url, user, allowed));
        callbacks.certificate_check(move |certificate, host| {
            let found = certificate.as_hostkey().and_then(|key| key.hash_sha256().copied());
            *host_key.lock().unwrap_or_else(PoisonError::into_inner) = found.map(|hash| fingerprint(host, &hash));
            // The library has compared it with the user's known hosts, and its answer stands.
            Ok(CertificateCheckStatus::CertificatePassthrough)
        });
        callbacks.sideband_progress(move |_| !given_up.load(Ordering::SeqCst));
        callbacks.transfer_progress(move |stats| {
            let (objects, total) = (stats.received_objects() as u64, stats.total_objects() as u64);
            let bytes = stats.received_bytes() as u64;
            if bytes > self.limits.bytes {
                stopped.store(TOO_MANY_BYTES, Ordering::SeqCst);
                return false;
            }
            if total > self.limits.objects {
                stopped.store(TOO_MANY_OBJECTS, Ordering::SeqCst);
                return false;
            }
            // A slow listener misses some; a fetch never waits for it.
            let _ = say.try_send(Said::Received { objects, total, bytes });
            !given_up.load(Ordering::SeqCst)
        });
        let mut proxy = ProxyOptions::new();
        proxy.auto();
        let mut options = FetchOptions::new();
        options
            .remote_callbacks(callbacks)
            .proxy_options(proxy)
            .download_tags(AutotagOption::None)
            .update_fetchhead(false)
            // Only within one host: another would be given the credentials of the one that was named.
            .follow_redirects(RemoteRedirect::None);
        options
    }
}

/// A host's key as ssh shows it.
fn fingerprint(host: &str, hash: &[u8; 32]) -> String {
    format!("{host} has the key SHA256:{}", base64::encode(hash).trim_end_matches('='))
}
