//! `holdfast source pause`, `resume`, `pin`, `unpin` and `retry`. None of them needs the git host.

use serde_json::{Value, json};

use crate::apply::{emergencies, known_commit, source_id};
use crate::base::clock::Moment;
use crate::base::ids::{CommitId, SourceId, SourceName};
use crate::base::text::escape;
use crate::cli::args::{Fetching, Format, Global, HoldArgs, Named, duration};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::report::status::{described_pause, described_pin};
use crate::cli::session::Session;
use crate::inventory::{Actor, Controls, LoopRecord, Pause, Pin, ending, present};
use crate::target::sqlite::Access;
use crate::target::{ControlWrite, HistoryEntry, LoopWrite};

/// So often a change is made anew because somebody else was faster.
const TRIES: usize = 20;

/// Holds back every apply of a Source.
pub(crate) fn pause(hold: &HoldArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let held = Held::open(&hold.named, global, env, output)?;
    let reason = held.reason(hold)?;
    let now = held.session.now();
    let until = until(hold.until.as_deref(), now)?;
    let pause = Pause { by: held.actor.clone(), reason: reason.clone(), at: now, until };
    let what = ending(until);
    let after = held.change("pause", &what, json!({"reason": reason}), now, |was| was.begin_pause(pause.clone()))?;
    let text = format!("Source {} is paused {what}. Nothing is applied but with --while-paused.", held.name);
    held.say(&text, &after)
}

/// Ends a pause, and with `revert` gives the emergency changes up.
pub(crate) fn resume(named: &Named, revert: bool, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let held = Held::open(named, global, env, output)?;
    let now = held.session.now();
    let before = held.controls()?;
    let was_paused = before.paused(now).is_some();
    if !revert && before.pause.is_none() {
        let text = format!("Source {} is not paused; nothing was written.", held.name);
        return held.say(&text, &before);
    }
    let pending = held.pending(&before)?;
    let result = if revert { format!("{pending} emergency changes given up") } else { String::new() };
    let after = held.change("resume", &result, json!({"revert": revert}), now, |was| {
        if revert { was.give_up(now) } else { was.end_pause(now) }
    })?;
    let mut text = if was_paused {
        format!("Source {} is no longer paused.", held.name)
    } else {
        format!("Source {} was not paused (any more).", held.name)
    };
    match (revert, pending) {
        (_, 0) => {}
        (true, n) => text.push_str(&format!(" The changes of {n} objects are given up: the next apply reverts them.")),
        (false, n) => text.push_str(&format!(
            " Emergency changes of {n} objects stay until they are in git, or given up with holdfast source resume {} \
             --revert.",
            held.name
        )),
    }
    held.say(&text, &after)
}

/// Holds a Source at a commit.
pub(crate) fn pin(
    hold: &HoldArgs,
    commit: Option<&str>,
    global: &Global,
    env: &Env,
    output: &Output,
) -> Result<Exit, Stop> {
    let commit = commit.map(CommitId::parse).transpose().map_err(|e| Failure::usage(format!("COMMIT: {e}")))?;
    let held = Held::open(&hold.named, global, env, output)?;
    let reason = held.reason(hold)?;
    let now = held.session.now();
    let until = until(hold.until.as_deref(), now)?;
    let (named, applied) = (commit.is_some(), held.applied()?);
    let mut commit = match (commit, applied) {
        (None, None) => {
            return Err(Failure::refused(format!("Source {} was never applied: name the commit", held.name)).into());
        }
        (None, Some(applied)) => applied,
        (Some(commit), Some(applied)) if commit == applied => commit,
        (Some(commit), _) => {
            let found = held.session.chosen(std::slice::from_ref(&hold.named.name))?;
            if let Some(spec) = found.first() {
                known_commit(&held.session.context(), spec, &commit)?;
            }
            commit
        }
    };
    let after = loop {
        let pin = Pin { commit: commit.clone(), by: held.actor.clone(), reason: reason.clone(), at: now, until };
        let what = format!("at {}, {}", commit.short(), ending(until));
        let details = json!({"reason": reason, "commit": commit});
        let after = held.change("pin", &what, details, now, |was| Controls { pin: Some(pin.clone()), ..was })?;
        match held.applied()?.filter(|applied| !named && *applied != commit) {
            // Another commit was applied meanwhile, before the pin was there; none can be any more.
            Some(applied) => commit = applied,
            None => break after,
        }
    };
    held.say(&format!("Source {} is pinned to commit {commit}, {}.", held.name, ending(until)), &after)
}

/// Ends a pin.
pub(crate) fn unpin(named: &Named, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let held = Held::open(named, global, env, output)?;
    let now = held.session.now();
    let before = held.controls()?;
    if before.pin.is_none() {
        return held.say(&format!("Source {} is not pinned; nothing was written.", held.name), &before);
    }
    let after = held.change("unpin", "", json!({}), now, |was| Controls { pin: None, ..was })?;
    held.say(&format!("Source {} is no longer pinned; it follows its ref again.", held.name), &after)
}

/// Asks whichever loop looks at a Source to try at once.
pub(crate) fn retry(named: &Named, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    let held = Held::open(named, global, env, output)?;
    let now = held.session.now();
    for _ in 0..TRIES {
        let was = held.session.target().reader()?.loop_record(&held.id)?;
        let becomes = LoopRecord { retry_asked: Some(now), ..was.clone() };
        let entry = (held.entry("retry", "", now), json!({"by": held.actor}));
        let write = LoopWrite { source: held.id.clone(), was: was.clone(), becomes, entry: Some(entry) };
        if held.session.target().note_loop(write)? {
            let refusal = was.refusal.map(|r| format!(" It was refused since {}: {}: {}", r.since, r.rule, r.text));
            let text = format!(
                "A running loop tries Source {} within a second; else the next holdfast run does.{}",
                held.name,
                refusal.unwrap_or_default()
            );
            return held.say(&text, &held.controls()?);
        }
        held.is_still_there()?;
    }
    Err(busy().into())
}

/// A Source that somebody holds or lets go.
struct Held<'a> {
    session: Session,
    output: &'a Output,
    name: SourceName,
    id: SourceId,
    actor: Actor,
}

impl<'a> Held<'a> {
    /// The Source may be the configuration's, or one that the target alone knows.
    fn open(Named { name, actor }: &Named, global: &Global, env: &Env, output: &'a Output) -> Result<Self, Stop> {
        output.format(&[Format::Table, Format::Json])?;
        let session = Session::open(global, &Fetching::default(), Access::Create, env, output)?;
        let parsed = SourceName::parse(name).map_err(|e| Failure::usage(e.to_string()))?;
        let (identity, known) = {
            let reader = session.target().reader()?;
            (reader.identity()?, reader.sources()?)
        };
        if present(&known, &parsed).is_none() {
            session.chosen(std::slice::from_ref(name))?;
        }
        let actor = Actor { proven: env.user.clone(), claimed: actor.clone() };
        Ok(Self { id: source_id(&identity, &parsed, &known), session, output, name: parsed, actor })
    }

    fn controls(&self) -> Result<Controls, Stop> {
        Ok(self.session.target().reader()?.controls(&self.id)?)
    }

    fn applied(&self) -> Result<Option<CommitId>, Stop> {
        let known = self.session.target().reader()?.sources()?;
        Ok(known.into_iter().find(|record| record.id == self.id).map(|record| record.commit))
    }

    /// How many objects have emergency changes.
    fn pending(&self, controls: &Controls) -> Result<usize, Stop> {
        let reader = self.session.target().reader()?;
        let inventory = reader.inventory(&self.id)?;
        Ok(emergencies(reader.as_ref(), controls, &inventory)?.len())
    }

    fn reason(&self, hold: &HoldArgs) -> Result<String, Failure> {
        match hold.reason.trim() {
            "" => Err(Failure::usage("--reason is empty: say why")),
            reason => Ok(reason.to_owned()),
        }
    }

    fn entry(&self, operation: &str, result: &str, now: Moment) -> HistoryEntry {
        HistoryEntry {
            id: String::new(),
            at: now,
            actor: self.actor.to_string(),
            claimed: false,
            operation: operation.to_owned(),
            sources: vec![self.name.to_string()],
            commits: Vec::new(),
            plan: None,
            result: result.to_owned(),
            objects: Vec::new(),
        }
    }

    /// Writes a change, made anew on what somebody else wrote meanwhile.
    fn change(
        &self,
        operation: &str,
        result: &str,
        details: Value,
        now: Moment,
        change: impl Fn(Controls) -> Controls,
    ) -> Result<Controls, Stop> {
        for _ in 0..TRIES {
            let was = self.controls()?;
            let becomes = change(was.clone());
            let entry = self.entry(operation, result, now);
            let mut details = details.clone();
            if let Some(map) = details.as_object_mut() {
                map.insert("by".to_owned(), serde_json::to_value(&self.actor)?);
                map.insert("controls".to_owned(), serde_json::to_value(&becomes)?);
            }
            let write = ControlWrite { source: self.id.clone(), was, becomes: becomes.clone(), entry, details };
            if self.session.target().control(write)? {
                return Ok(becomes);
            }
            self.is_still_there()?;
        }
        Err(busy().into())
    }

    /// Refuses what is said of a Source that somebody removed meanwhile: nobody would heed it.
    fn is_still_there(&self) -> Result<(), Stop> {
        let known = self.session.target().reader()?.sources()?;
        if known.iter().any(|record| record.id == self.id && record.removed_at.is_some()) {
            let text = format!("Source {} was removed meanwhile; nothing was written", self.name);
            return Err(Failure::refused(text).into());
        }
        Ok(())
    }

    fn say(&self, text: &str, controls: &Controls) -> Result<Exit, Stop> {
        if self.output.format(&[Format::Table, Format::Json])? == Format::Json {
            let now = self.session.now();
            self.output.json(&json!({
                "formatVersion": 1,
                "source": self.name,
                "id": self.id,
                "paused": controls.paused(now).map(described_pause),
                "pinned": controls.pinned(now).map(described_pin),
                "emergencies": self.pending(controls)?,
            }))?;
        } else {
            self.output.data(&format!("{}\n", escape(text)))?;
        }
        Ok(Exit::Done)
    }
}

fn busy() -> Failure {
    Failure::refused("other processes keep changing this Source; nothing was written").hint("try again")
}

/// A moment, or a time from now.
fn until(text: Option<&str>, now: Moment) -> Result<Option<Moment>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let moment = match (duration(text), text.parse::<jiff::Timestamp>()) {
        (Ok(time), _) => {
            let millis = i64::try_from(time.as_millis()).ok().and_then(|millis| now.as_millis().checked_add(millis));
            millis.map(Moment::from_millis)
        }
        (_, Ok(at)) => Some(Moment::from_millis(at.as_millisecond())),
        (Err(_), Err(_)) => None,
    };
    let moment = moment.ok_or_else(|| {
        Failure::usage(format!(
            "--until: {text:?} is neither a moment such as 2026-12-01T08:00:00Z nor a time such as 2h"
        ))
    })?;
    if moment <= now {
        return Err(Failure::usage(format!("--until: {moment} is in the past")));
    }
    Ok(Some(moment))
}
