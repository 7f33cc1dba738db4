//! The embedded control plane: one SQLite file that keeps objects as an API server does, without controllers.
//!
//! **Invariant:** all that one apply writes is in one transaction. Whoever reads the file, after whatever crash, sees it
//! before or after an apply, never between.

mod cascade;
mod control;
mod failure;
mod hand;
mod journal;
mod layout;
mod lock;
mod object;
mod open;
mod prepare;
mod reader;
mod records;
mod remembered;
mod store;
mod strict;
mod view;
mod work;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use self::failure::Name;
use self::open::Purpose;
use self::remembered::Remembered;
use self::view::View;
use self::work::Work;
use self::writer::Transaction;
use super::error::TargetError;
use super::port::{Atomicity, ControlWrite, DryRunner, HistoryEntry, LoopWrite, Reader, Target, TargetKind, Writer};
use super::write::{Batch, Staged};
use crate::base::clock::Moment;
use crate::base::failpoint;
use crate::base::ids::SourceId;
use crate::base::text;

pub use hand::{Ask, Hand, Put, PutResult};
pub use strict::{CONFLICT, GENERATE_NAME, MISSING_NAMESPACE, NOT_A_MANIFEST, NOT_FOUND, SCOPE, SYSTEM_OBJECT};

/// What may be done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It must be there, and is only read.
    Read,
    /// It must be there.
    Write,
    /// It is made if it isn't there.
    Create,
}

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What may be done with it.
    pub access: Access,
    /// How long reads, and writes that aren't applies, wait for another process.
    pub wait: Duration,
    /// The present moment: a new database's Namespaces bear it.
    pub now: Moment,
}

/// An embedded control plane.
#[derive(Debug)]
pub struct Embedded {
    name: Name,
    access: Access,
    wait: Duration,
    remembered: Option<Arc<Remembered>>,
}

impl Embedded {
    /// Opens the database at a path, and makes it there (0600, in a folder of 0700) if that is asked for.
    ///
    /// # Errors
    /// If it isn't there, is damaged or none of ours, or is of a newer format. What is there is never written over.
    pub fn open(path: &Path, options: Options) -> Result<Self, TargetError> {
        let shown = text::escape(&path.to_string_lossy()).into_owned();
        let target = Self {
            name: Name { shown, path: path.to_owned() },
            access: options.access,
            wait: options.wait,
            remembered: None,
        };
        if !open::is_there(&target.name)? && options.access == Access::Create {
            open::make(&target.name, options.now)?;
        }
        if options.access != Access::Read && target.name.path.exists() {
            open::forward(&target.name, options.wait)?;
        }
        // Reads its format.
        open::connect(&target.name, Purpose::Read, options.wait)?;
        Ok(target)
    }

    /// Keeps the inventories that it reads in memory, for whoever reads them again and again: rows that stand as they were
    /// aren't parsed anew.
    #[must_use]
    pub fn remembering(self) -> Self {
        Self { remembered: Some(Arc::default()), ..self }
    }

    /// The hand of somebody outside, under a name for the operation log and the field owners.
    pub fn hand(&self, actor: &str) -> Hand<'_> {
        Hand { target: self, actor: actor.to_owned(), claimed: false, wait: self.wait }
    }

    fn view(&self) -> Result<View, TargetError> {
        let conn = open::connect(&self.name, Purpose::Read, self.wait)?;
        let begun = conn.execute_batch("BEGIN; SELECT revision FROM meta");
        begun.map_err(|e| self.name.reading(e))?;
        Ok(View { conn, name: self.name.clone(), remembered: self.remembered.clone() })
    }

    /// Takes the write lock.
    fn begin(&self, wait: Duration) -> Result<View, TargetError> {
        if self.access == Access::Read {
            return Err(self.name.write_failed("it was opened for reading only"));
        }
        let conn = open::connect(&self.name, Purpose::Write, wait)?;
        match conn.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => Ok(View { conn, name: self.name.clone(), remembered: None }),
            Err(error) if failure::is_busy(&error) => Err(self.name.locked(Some(wait))),
            Err(error) => Err(self.name.writing(error)),
        }
    }
}

impl Target for Embedded {
    fn kind(&self) -> TargetKind {
        TargetKind::Embedded
    }

    fn describe(&self) -> String {
        self.name.shown.clone()
    }

    fn atomicity(&self) -> Atomicity {
        Atomicity::Atomic
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>, TargetError> {
        Ok(Box::new(self.view()?))
    }

    fn dry_runner(&self) -> Result<Option<Box<dyn DryRunner + '_>>, TargetError> {
        // No webhooks, no policies.
        Ok(None)
    }

    fn stage(&self, batch: Batch) -> Result<Staged, TargetError> {
        let view = self.view()?;
        let mut batch = batch;
        let work = Work::make(&view, &mut batch)?;
        Ok(Staged { batch, work: Some(Box::new(work)) })
    }

    fn writer(&self, _sources: &[SourceId], wait: Duration) -> Result<Box<dyn Writer + '_>, TargetError> {
        failpoint::hit(failpoint::BEFORE_BEGIN);
        let view = self.begin(wait)?;
        failpoint::hit(failpoint::AFTER_BEGIN);
        Ok(Box::new(Transaction { target: self, view, since: Instant::now() }))
    }

    fn note(&self, entry: HistoryEntry, details: Value) -> Result<(), TargetError> {
        let view = self.begin(self.wait)?;
        let at = entry.at;
        let id = view.put_entry(view.next_entry()?, entry, &details.to_string())?;
        writer::finish(self, view, &id, at).map(drop)
    }

    fn control(&self, write: ControlWrite) -> Result<bool, TargetError> {
        control::control(self, write)
    }

    fn note_loop(&self, write: LoopWrite) -> Result<bool, TargetError> {
        control::note_loop(self, write)
    }
}
