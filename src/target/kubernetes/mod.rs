//! A Kubernetes cluster behind the port.
//!
//! Objects are read by get and list, and judged by the API server's own dry run. Holdfast's state lives in one namespace
//! of the cluster. Nothing here runs before a configuration names a cluster: the runtime and the connection are made when
//! one is opened.

mod answered;
mod apply;
mod connection;
mod discovery;
mod dry_run;
mod events;
mod follow;
mod hooks;
mod kubeconfig;
mod objects;
mod openapi;
mod outside;
mod request;
mod rights;
mod roles;
mod state;
mod status;
mod told;
mod view;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::answered::Answered;
use self::apply::{Transaction, recover_all};
use self::connection::Connection;
use self::dry_run::Asker;
use self::state::Store;
use self::view::View;
use super::error::TargetError;
use super::follow::Followed;
use super::notice::Notice;
use super::port::{Atomicity, ControlWrite, DryRunner, HistoryEntry, LoopWrite, Reader, Target, TargetKind, Writer};
use super::write::Recovered;
use crate::base::clock::Clock;
use crate::base::ids::SourceId;
use crate::source::spec::SourceSpec;

pub use kubeconfig::{Place, Reach, reaches};
pub use roles::{Roles, UnknownKind, roles};

/// How a cluster is opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where the connection's settings come from.
    pub place: Place,
    /// The kubeconfig's context; `None` is its current one.
    pub context: Option<String>,
    /// The namespace of Holdfast's own state.
    pub state_namespace: String,
    /// A folder where what a cluster publishes of itself is kept; `None` keeps nothing.
    pub cache: Option<std::path::PathBuf>,
    /// How long a Source stays locked after its holder was last heard of; `None` is half a minute.
    pub lease: Option<Duration>,
    /// The configuration's Sources: what an interrupted apply left is put back within their scopes alone.
    pub sources: Vec<SourceSpec>,
}

/// A Kubernetes cluster.
pub struct Kubernetes {
    on: Connection,
    answered: Answered,
}

impl Kubernetes {
    /// Reads the connection's settings; nothing is sent before something is asked.
    ///
    /// # Errors
    /// If the settings can't be read or used.
    pub fn open(options: &Options, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        Ok(Self { on: Connection::open(options, clock)?, answered: Answered::default() })
    }
}

impl Target for Kubernetes {
    fn kind(&self) -> TargetKind {
        TargetKind::Kubernetes
    }

    fn describe(&self) -> String {
        self.on.shown.clone()
    }

    fn atomicity(&self) -> Atomicity {
        Atomicity::Journaled
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>, TargetError> {
        Ok(Box::new(View::new(&self.on)))
    }

    fn dry_runner(&self) -> Result<Option<Box<dyn DryRunner + '_>>, TargetError> {
        Ok(Some(Box::new(Asker { on: &self.on, answered: &self.answered })))
    }

    fn writer(&self, sources: &[SourceId], wait: Duration) -> Result<Box<dyn Writer + '_>, TargetError> {
        Ok(Box::new(Transaction::open(&self.on, sources, wait)?))
    }

    fn recover(&self, wait: Duration) -> Result<Vec<Recovered>, TargetError> {
        self.on.wait(recover_all(&self.on, wait))
    }

    fn can_be_followed(&self) -> bool {
        true
    }

    fn follow(&self, followed: &Followed) {
        self.on.wait(follow::follow(&self.on, followed));
    }

    fn note(&self, entry: HistoryEntry, details: Value) -> Result<(), TargetError> {
        self.on.wait(async {
            // Without a state namespace there is no log yet; a refusal makes none.
            if view::namespace_uid(&self.on, &self.on.state_namespace).await?.is_none() {
                return Ok(());
            }
            Store { on: &self.on }.write_entry(entry, &json!({ "receipt": details })).await
        })
    }

    fn tell(&self, notices: &[Notice]) -> Vec<String> {
        self.on.wait(events::tell(&self.on, notices))
    }

    fn control(&self, write: ControlWrite) -> Result<bool, TargetError> {
        self.on.wait(told::control(&self.on, write))
    }

    fn note_loop(&self, write: LoopWrite) -> Result<bool, TargetError> {
        self.on.wait(told::note_loop(&self.on, write))
    }
}
