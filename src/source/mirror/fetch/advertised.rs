//! What a remote advertises, without anything being brought: whether there is something to fetch.

use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Mutex, PoisonError, mpsc};

use super::{Job, NOT_STOPPED};
use crate::base::digest;
use crate::base::ids::Digest;
use crate::source::mirror::error::MirrorError;
use crate::source::mirror::{cache, packs};
use crate::source::refs::RefSpec;

/// Matches nothing: nothing is wanted, so nothing is sent.
const NOTHING: &str = "+refs/holdfast-nothing/*:refs/holdfast-nothing/*";

/// Asks what a ref stands for, as a digest: while it stays the same, a fetch would bring nothing for this ref. Gives up
/// at the deadline; the thread that is left behind writes nothing.
pub(in crate::source::mirror) fn look(job: Job, ref_: RefSpec) -> Result<Digest, MirrorError> {
    let (url, deadline) = (job.url.to_string(), job.limits.deadline);
    let (say, hear) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("look".to_owned())
        .spawn(move || {
            // Nobody hears it after the deadline.
            let _ = say.send(job.look(&ref_));
        })
        .map_err(|e| MirrorError::BrokeOff { url: url.clone(), text: e.to_string() })?;
    match hear.recv_timeout(deadline) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(MirrorError::Deadline { url, deadline }),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err(MirrorError::BrokeOff { url, text: "its thread ended early".to_owned() })
        }
    }
}

impl Job {
    fn look(&self, ref_: &RefSpec) -> Result<Digest, MirrorError> {
        if let Some(path) = self.url.local_path() {
            self.judge_local(path)?;
        }
        packs::verify(&self.place.folder)?;
        let repository = cache::open(&self.place.folder)?;
        let url = self.url.to_string();
        let route = self.ssh.route(&self.url)?;
        let host_key = Mutex::new(None);
        let failed = |e: git2::Error| {
            let key = host_key.lock().unwrap_or_else(PoisonError::into_inner).take();
            MirrorError::remote(&url, &e, key)
        };
        let (say, _hear) = mpsc::sync_channel(1);
        let (given_up, stopped) = (AtomicBool::new(false), AtomicU8::new(NOT_STOPPED));
        let mut remote = repository.remote_anonymous(&route.url).map_err(failed)?;
        let mut options = self.options(route, &host_key, &say, &given_up, &stopped);
        remote.download(&[NOTHING], Some(&mut options)).map_err(failed)?;
        let mut lines = Vec::new();
        for head in remote.list().map_err(failed)? {
            if counts(ref_, head.name()) {
                let target = head.symref_target().unwrap_or_default();
                lines.push(format!("{} {} {target}", head.name(), head.oid()));
            }
        }
        remote.disconnect().map_err(failed)?;
        lines.sort();
        Ok(digest::sha256(lines.join("\n").as_bytes()))
    }
}

/// Whether a ref has a say in what another one stands for. A named commit must be reached by any of them.
fn counts(ref_: &RefSpec, name: &str) -> bool {
    match ref_ {
        RefSpec::Head => name == "HEAD",
        RefSpec::Branch(branch) => name.strip_prefix("refs/heads/") == Some(branch),
        RefSpec::Tag(tag) => {
            name.strip_prefix("refs/tags/").is_some_and(|name| name == tag || name.strip_suffix("^{}") == Some(tag))
        }
        RefSpec::Commit(_) => ["refs/heads/", "refs/tags/"].iter().any(|place| name.starts_with(place)),
    }
}
