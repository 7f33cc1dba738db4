//! The newest commit of a Source: looked for without a fetch, and read beside the one before.

use std::sync::Arc;

use super::engine::Engine;
use crate::admission::Rejection;
use crate::apply::{Context, Reading, Ready, Wanted};
use crate::base::ids::CommitId;
use crate::inventory::{Pin, SourceRecord};
use crate::source::mirror::MirrorError;
use crate::source::spec::SourceSpec;
use crate::target::Definitions;

/// What was found.
pub(super) enum Newest {
    /// It was read and passed.
    Ready(Arc<Ready<'static>>),
    /// Its commit can't be found.
    Unreachable(Rejection),
    /// The commit is known, and something is wrong with it.
    Refused(CommitId, Rejection),
    /// The commit is known, and it was refused before.
    StillRefused(CommitId),
}

impl Engine {
    /// Finds and reads the newest commit. `stands` says whether a commit was refused before and would be again.
    pub(super) fn newest(
        &self,
        spec: &'static SourceSpec,
        pin: Option<&Pin>,
        definitions: &Definitions,
        stands: impl Fn(&CommitId) -> bool,
    ) -> Newest {
        let commit = match self.find(spec, pin) {
            Ok(commit) => commit,
            Err(error) => return Newest::Unreachable(Rejection::of(error.fault())),
        };
        let slot = self.slot(&spec.name);
        if let Some(ready) = slot.ready.as_ref().filter(|r| *r.commit() == commit && r.knows(definitions)) {
            return Newest::Ready(Arc::clone(ready));
        }
        if stands(&commit) {
            return Newest::StillRefused(commit);
        }
        let wanted = pin.map(|pin| Wanted::Pinned(&pin.commit));
        match self.read(spec, wanted, definitions, slot.ready.as_deref()) {
            Ok(ready) => {
                self.update(&spec.name, |slot| slot.ready = Some(Arc::clone(&ready)));
                Newest::Ready(ready)
            }
            Err(rejection) => Newest::Refused(commit, rejection),
        }
    }

    /// The commit, fetched if the remote has something new.
    fn find(&self, spec: &'static SourceSpec, pin: Option<&Pin>) -> Result<CommitId, MirrorError> {
        let context = &self.context;
        let mirror = context.mirror(spec)?;
        if let Some(pin) = pin {
            if mirror.has_commit(&pin.commit).is_err() && !context.offline {
                mirror.fetch(&spec.ref_, context.fetch, context.progress, self.now())?;
            }
            return mirror.has_commit(&pin.commit).map(|()| pin.commit.clone());
        }
        if context.offline {
            return mirror.resolve(&spec.ref_);
        }
        let now = self.now();
        let advertised = mirror.advertised(&spec.ref_, context.fetch)?;
        if self.slot(&spec.name).advertised.as_ref() != Some(&advertised) {
            mirror.fetch(&spec.ref_, context.fetch, context.progress, now)?;
        }
        let commit = mirror.resolve(&spec.ref_)?;
        self.update(&spec.name, |slot| {
            slot.advertised = Some(advertised);
            slot.looked_at = Some(now);
        });
        Ok(commit)
    }

    /// Reads a commit from the mirror as it is.
    fn read(
        &self,
        spec: &'static SourceSpec,
        wanted: Option<Wanted<'_>>,
        definitions: &Definitions,
        before: Option<&Ready<'static>>,
    ) -> Result<Arc<Ready<'static>>, Rejection> {
        let context = Context { offline: true, ..self.context };
        let by = Reading { wanted, definitions, waivers: &[], uncommitted: false };
        let ready = match before {
            Some(before) => before.next(&context, spec, &by),
            None => Ready::read(&context, spec, &by),
        };
        ready.map(Arc::new)
    }

    /// What is applied, read again: the way back leads there. Read from the mirror.
    pub(super) fn applied(
        &self,
        spec: &'static SourceSpec,
        record: &SourceRecord,
        definitions: &Definitions,
    ) -> Result<Arc<Ready<'static>>, Rejection> {
        let slot = self.slot(&spec.name);
        let known = [slot.ready.as_ref(), slot.applied.as_ref()].into_iter().flatten();
        let mut known = known.filter(|ready| *ready.commit() == record.commit && ready.knows(definitions));
        if let Some(ready) = known.next() {
            return Ok(Arc::clone(ready));
        }
        let ready = self.read(spec, Some(Wanted::Applied(&record.commit)), definitions, slot.ready.as_deref())?;
        self.update(&spec.name, |slot| slot.applied = Some(Arc::clone(&ready)));
        Ok(ready)
    }

    /// The newest commit of another Source as the mirror has it, for one of the same repository that was just fetched.
    pub(super) fn mirrored(
        &self,
        spec: &'static SourceSpec,
        definitions: &Definitions,
    ) -> Result<Arc<Ready<'static>>, Rejection> {
        let unreadable = |error: MirrorError| Rejection::of(error.fault());
        let commit = self.context.mirror(spec).and_then(|mirror| mirror.resolve(&spec.ref_)).map_err(unreadable)?;
        let slot = self.slot(&spec.name);
        if let Some(ready) = slot.ready.as_ref().filter(|r| *r.commit() == commit && r.knows(definitions)) {
            return Ok(Arc::clone(ready));
        }
        let ready = self.read(spec, None, definitions, slot.ready.as_deref())?;
        self.update(&spec.name, |slot| slot.ready = Some(Arc::clone(&ready)));
        Ok(ready)
    }
}
