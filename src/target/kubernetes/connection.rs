//! The one connection to a cluster, with the runtime that drives it.

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::Options;
use super::apply::Timing;
use super::discovery::Discovery;
use super::kubeconfig::{self, Place, chain};
use super::request::{Answer, Ask, Failed, send};
use crate::base::clock::Clock;
use crate::base::text;
use crate::schema::Catalog;
use crate::source::spec::SourceSpec;
use crate::target::TargetError;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// A connection.
pub(super) struct Connection {
    runtime: Runtime,
    client: kube::Client,
    /// The cluster as messages name it.
    pub(super) shown: String,
    /// The namespace of Holdfast's own state.
    pub(super) state_namespace: String,
    discovery: Mutex<Option<Arc<Discovery>>>,
    /// Where what the cluster publishes of itself is kept.
    pub(super) cache: Option<PathBuf>,
    /// The schemas that were read last, with what they were read by.
    schemas: Mutex<Option<(String, Catalog)>>,
    /// The configuration's Sources.
    pub(super) sources: Vec<SourceSpec>,
    /// How leases are held.
    pub(super) timing: Timing,
    /// The wall clock.
    pub(super) clock: Arc<dyn Clock>,
}

impl Connection {
    /// Reads the settings; nothing is sent yet.
    pub(super) fn open(options: &Options, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        let (place, context) = (&options.place, options.context.as_deref());
        let shown = match (place, context) {
            (Place::InCluster, _) => "kubernetes (this Pod's cluster)".to_owned(),
            (Place::Files(_), Some(context)) => format!("kubernetes:{}", text::escape(context)),
            (Place::Files(files), None) => format!("kubernetes ({})", text::escape(&kubeconfig::display_files(files))),
        };
        let failed = |reason: String| TargetError::Unavailable {
            target: shown.clone(),
            reason: text::escape(&reason).into_owned(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("holdfast-kubernetes")
            .enable_all()
            .build()
            .map_err(|e| failed(format!("no threads for the connection: {e}")))?;
        let client = runtime.block_on(async {
            let mut config = kubeconfig::config(place, context).await?;
            config.connect_timeout = Some(CONNECT);
            // What may be tried again is decided here, request by request.
            config.default_retry = false;
            kube::Client::try_from(config).map_err(|e| chain(&e))
        });
        let client = client.map_err(failed)?;
        let timing = options.lease.map(Timing::of).unwrap_or_default();
        let state_namespace = options.state_namespace.clone();
        let (cache, discovery, schemas) = (options.cache.clone(), Mutex::default(), Mutex::default());
        let sources = options.sources.clone();
        Ok(Self { runtime, client, shown, state_namespace, discovery, cache, schemas, sources, timing, clock })
    }

    /// For whoever outlives a borrow of the connection.
    pub(super) fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Waits for something on the connection's own threads.
    pub(super) fn wait<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(work)
    }

    /// Sends one request.
    pub(super) async fn send(&self, ask: &Ask) -> Result<Answer, Failed> {
        send(&self.client, ask, self.timing.write).await
    }

    /// What the server serves, as last asked.
    pub(super) async fn discovery(&self) -> Result<Arc<Discovery>, TargetError> {
        let known = self.discovery.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(known) => Ok(known),
            None => self.discover().await,
        }
    }

    /// Asks anew what the server serves.
    pub(super) async fn discover(&self) -> Result<Arc<Discovery>, TargetError> {
        let found = Discovery::read(&self.client).await.map_err(|e| self.unavailable("what it serves", &e))?;
        let found = Arc::new(found);
        *self.discovery.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        Ok(found)
    }

    /// The schemas that were read by this key, if they were the last.
    pub(super) fn schemas(&self, key: &str) -> Option<Catalog> {
        let known = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(by, _)| by == key).map(|(_, catalog)| catalog.clone())
    }

    /// Remembers the schemas that were read by a key.
    pub(super) fn keep_schemas(&self, key: String, catalog: Catalog) {
        *self.schemas.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, catalog));
    }

    /// A failure to read something.
    pub(super) fn unavailable(&self, what: &str, failed: &Failed) -> TargetError {
        let reason = format!("{what}: {}", text::escape(&failed.text()));
        TargetError::Unavailable { target: self.shown.clone(), reason }
    }

    /// A piece of state that can't be understood.
    pub(super) fn damaged(&self, reason: impl Into<String>) -> TargetError {
        TargetError::Damaged { target: self.shown.clone(), reason: reason.into() }
    }

    /// A failure to write, after which nothing of the transaction is there.
    pub(super) fn write_failed(&self, reason: impl Into<String>) -> TargetError {
        TargetError::WriteFailed { target: self.shown.clone(), reason: reason.into() }
    }
}
