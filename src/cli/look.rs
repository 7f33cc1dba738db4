//! What `status` and `drift` look at: Sources as they are now, and again whenever something changed.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::args::{Fetching, Format, Global};
use super::env::Env;
use super::exit::{Failure, Stop};
use super::output::Output;
use super::session::Session;
use crate::apply::{seen_commit, source_id};
use crate::base::clock::Moment;
use crate::base::ids::{CommitId, TargetIdentity};
use crate::base::resource::ResourceId;
use crate::drift::{Inspection, Refusal, inspect, last_refusal, recent};
use crate::inventory::{LoopRecord, Pause, Pin, present};
use crate::source::spec::SourceSpec;
use crate::target::sqlite::Access;
use crate::target::{Reader, TargetKind};

/// One look at the target.
pub(crate) struct Look<'s> {
    /// What stands behind.
    pub kind: TargetKind,
    /// Which target.
    pub identity: TargetIdentity,
    /// Its version: another after every commit to it.
    pub version: Option<String>,
    /// The Sources, in the configuration's order.
    pub sources: Vec<Seen<'s>>,
}

/// One Source as it was seen.
pub(crate) struct Seen<'s> {
    /// Its specification.
    pub spec: &'s SourceSpec,
    /// What was found; `None` if it never was applied here.
    pub found: Option<Inspection>,
    /// The newest commit that is known of its ref, and when it was fetched; or why none is.
    pub seen: Result<(CommitId, Option<Moment>), String>,
    /// What was refused of it last, if nothing was applied since.
    pub refusal: Option<Refusal>,
    /// The pause that holds.
    pub pause: Option<Pause>,
    /// The pin that holds.
    pub pin: Option<Pin>,
    /// What the loop remembers.
    pub record: LoopRecord,
}

/// Looks again and again, if that was asked for.
pub(crate) struct Watcher<'a> {
    session: Session,
    names: Vec<String>,
    ids: Vec<ResourceId>,
    /// How often; without it there is one look.
    interval: Option<Duration>,
    output: &'a Output,
}

/// What tells two looks apart without reading objects.
type Key = (Option<String>, Vec<SourceKey>);

/// What of one Source changes without the target's revision.
#[derive(PartialEq)]
struct SourceKey {
    seen: Option<CommitId>,
    paused: bool,
    pinned: bool,
    record: LoopRecord,
}

impl<'a> Watcher<'a> {
    /// Opens the target for reading, for one look at Sources and resources or for one in each interval.
    pub(crate) fn open(
        (what, interval): (&[String], Option<Duration>),
        fetching: &Fetching,
        (global, env, output): (&Global, &Env, &'a Output),
    ) -> Result<Self, Stop> {
        let session = Session::open(global, fetching, Access::Read, env, output)?;
        let (ids, names): (Vec<String>, Vec<String>) = what.iter().cloned().partition(|word| word.contains('/'));
        let parsed = ids.iter().map(|id| ResourceId::parse(id).map_err(|e| Failure::usage(e.to_string())));
        let ids = parsed.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { session, names, ids, interval, output })
    }

    /// The resources that were named; none is all.
    pub(crate) fn is_shown(&self, id: &ResourceId) -> bool {
        self.ids.is_empty() || self.ids.contains(id)
    }

    /// Whether resources were named.
    pub(crate) fn has_ids(&self) -> bool {
        !self.ids.is_empty()
    }

    /// Shows one look, or one after every change until somebody asks to stop. `show` tells what the exit code is of.
    pub(crate) fn run(&self, mut show: impl FnMut(&Look<'_>) -> Result<bool, Stop>) -> Result<bool, Stop> {
        let Some(interval) = self.interval else {
            let reader = self.session.target().reader()?;
            return show(&self.look(reader.as_ref(), &self.session.chosen(&self.names)?)?);
        };
        let (mut last, mut pending): (Option<Key>, bool) = (None, false);
        loop {
            let reader = self.session.target().reader()?;
            let specs = self.session.chosen(&self.names)?;
            let key = self.key(reader.as_ref(), &specs)?;
            // A target that can't say whether it changed is looked at every time.
            if key.0.is_none() || last.as_ref() != Some(&key) {
                pending = show(&self.look(reader.as_ref(), &specs)?)?;
                last = Some(key);
            }
            drop(reader);
            if !self.wait(interval) {
                return Ok(pending);
            }
        }
    }

    /// Prints one look; of JSON one document a line where more follow.
    pub(crate) fn print(
        &self,
        format: Format,
        document: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), Stop> {
        match format {
            Format::Json if self.interval.is_some() => self.output.json_line(&document())?,
            Format::Json => self.output.json(&document())?,
            Format::Yaml => self.output.yaml(&document())?,
            _ => self.output.data(&text())?,
        }
        Ok(())
    }

    fn key(&self, reader: &dyn Reader, specs: &[&SourceSpec]) -> Result<Key, Stop> {
        let context = self.session.context();
        let (identity, known, now) = (reader.identity()?, reader.sources()?, self.session.now());
        let one = |spec: &&SourceSpec| -> Result<SourceKey, Stop> {
            let id = source_id(&identity, &spec.name, &known);
            let controls = reader.controls(&id)?;
            Ok(SourceKey {
                seen: seen_commit(&context, spec).ok().map(|(commit, _)| commit),
                paused: controls.paused(now).is_some(),
                pinned: controls.pinned(now).is_some(),
                record: reader.loop_record(&id)?,
            })
        };
        Ok((reader.revision()?, specs.iter().map(one).collect::<Result<_, _>>()?))
    }

    fn look<'s>(&'s self, reader: &dyn Reader, specs: &[&'s SourceSpec]) -> Result<Look<'s>, Stop> {
        let context = self.session.context();
        let (identity, known, now) = (reader.identity()?, reader.sources()?, self.session.now());
        let entries = recent(reader)?;
        let mut sources = Vec::new();
        for spec in specs {
            let found = present(&known, &spec.name)
                .map(|record| inspect(&context, spec, record, &known, reader))
                .transpose()?;
            let id = source_id(&identity, &spec.name, &known);
            let (controls, record) = (reader.controls(&id)?, reader.loop_record(&id)?);
            let refusals = [last_refusal(reader, &entries, &spec.name)?, record.refusal.as_ref().map(Refusal::of_loop)];
            sources.push(Seen {
                spec,
                found,
                seen: seen_commit(&context, spec).map_err(|error| error.to_string()),
                refusal: refusals.into_iter().flatten().max_by_key(|refusal| refusal.at),
                pause: controls.paused(now).cloned(),
                pin: controls.pinned(now).cloned(),
                record,
            });
        }
        self.session.quiet();
        let unknown: Vec<&ResourceId> = self.ids.iter().filter(|id| !sources.iter().any(|s| s.has(id))).collect();
        if let Some(first) = unknown.first() {
            return Err(Failure::refused(format!("none of these Sources declares or owns {first}"))
                .hint("holdfast source list names all Sources of the target; holdfast object get shows any object")
                .into());
        }
        Ok(Look { kind: context.target.kind(), identity, version: reader.revision()?, sources })
    }

    /// Waits one interval; whether to go on.
    fn wait(&self, interval: Duration) -> bool {
        const STEP: Duration = Duration::from_millis(50);
        let began = Instant::now();
        while !self.session.is_interrupted() {
            let rest = interval.saturating_sub(began.elapsed());
            if rest.is_zero() {
                return true;
            }
            std::thread::sleep(rest.min(STEP));
        }
        false
    }
}

impl Seen<'_> {
    /// Whether the Source declares or owns a resource.
    fn has(&self, id: &ResourceId) -> bool {
        self.found.as_ref().is_some_and(|found| {
            found.inventory.rows.contains_key(id)
                || found.declared.as_ref().is_ok_and(|declared| declared.binary_search(id).is_ok())
        })
    }
}
