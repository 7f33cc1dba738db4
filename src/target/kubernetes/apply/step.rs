//! One write of an apply, and its undo.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};

use super::check::moved;
use super::journal::{Act, Step, mark, uid, version};
use super::judge::{Found, is_made_by_us, judge};
use super::undo;
use super::writer::Session;
use crate::base::failpoint;
use crate::base::fault::{Class, Fault, RuleId};
use crate::base::ids::Manager;
use crate::base::interrupt::Interrupt;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::ResourceId;
use crate::inventory::OWNER_ANNOTATION;
use crate::merge;
use crate::target::kubernetes::discovery::Served;
use crate::target::kubernetes::objects::{self, Depth};
use crate::target::kubernetes::request;
use crate::target::kubernetes::request::{APPLY, Ask, Failed, JSON, JSON_PATCH, MANAGER};
use crate::target::{Gate, TargetError};

/// How many writes are under way at once.
const IN_FLIGHT: usize = 16;
/// How often a write is tried anew: after its answer got lost, or after somebody else's write of the same object that
/// doesn't matter.
const TRIES: usize = 6;
/// How long a definition may take until its kind is served, and a replaced object until it is gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// The target's own admission refused a write that its dry run had let through.
const REFUSED: RuleId = RuleId::new("refused-by-target");

impl Session<'_> {
    /// Writes all but the deletes, group by group, and waits at the gates. What was written is in the order of the steps; a
    /// delete has none.
    pub(super) async fn write_all(
        &self,
        steps: &[Step],
        gates: &[Gate],
        interrupt: &Interrupt,
    ) -> Result<Vec<Option<Value>>, TargetError> {
        let mut gates = gates.iter().peekable();
        let mut written: Vec<Option<Value>> = vec![None; steps.len()];
        let places: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].act != Act::Delete).collect();
        for group in places.chunk_by(|a, b| steps[*a].group == steps[*b].group) {
            while let Some(gate) = gates.next_if(|gate| group.first().is_some_and(|first| gate.after <= *first)) {
                self.pass(gate, steps, interrupt).await?;
            }
            let failed = std::sync::atomic::AtomicBool::new(false);
            let work = group.iter().map(|at| {
                let (step, failed) = (&steps[*at], &failed);
                async move {
                    // What is under way when one fails is waited for; nothing more begins.
                    if failed.load(std::sync::atomic::Ordering::SeqCst) {
                        return (*at, None);
                    }
                    let result = self.write(step).await;
                    failed.fetch_or(result.is_err(), std::sync::atomic::Ordering::SeqCst);
                    (*at, Some(result))
                }
            });
            let results: Vec<_> = stream::iter(work).buffer_unordered(IN_FLIGHT).collect().await;
            let mut errors = Vec::new();
            for (at, result) in results {
                match result {
                    Some(Ok(object)) => written[at] = Some(object),
                    Some(Err(error)) => errors.push((at, error)),
                    None => {}
                }
            }
            errors.sort_by_key(|(at, _)| *at);
            if let Some(error) = joined(errors.into_iter().map(|(_, error)| error)) {
                return Err(error);
            }
            for at in group {
                self.served(&steps[*at]).await?;
            }
        }
        // Those before the deletes.
        for gate in gates {
            self.pass(gate, steps, interrupt).await?;
        }
        Ok(written)
    }

    async fn write(&self, step: &Step) -> Result<Value, TargetError> {
        self.may_write()?;
        let object = match step.act {
            Act::Create => self.create(step).await,
            Act::Apply => match self.apply(step).await {
                Ok(object) => self.relieve(step, object).await,
                error => error,
            },
            Act::Replace => self.replace(step).await,
            Act::Unmark => self.unmark(step).await,
            Act::Delete => Ok(Value::Null),
        }?;
        failpoint::hit(failpoint::AFTER_OBJECT);
        Ok(object)
    }

    /// The kind of a step's object, in the version that it is declared in.
    pub(super) async fn kind(&self, step: &Step) -> Result<Served, TargetError> {
        let version = step.api_version().unwrap_or_default();
        let kind = step.id.group_kind();
        for fresh in [false, true] {
            let discovery = if fresh { self.on.discover().await? } else { self.on.discovery().await? };
            if let Some(served) = discovery.exactly(&kind, version) {
                return Ok(served.clone());
            }
        }
        Err(self.refused(step, &format!("the target doesn't serve {version} {}", step.id.kind), None))
    }

    fn refused(&self, step: &Step, text: &str, path: Option<crate::base::pointer::Pointer>) -> TargetError {
        let fault = Fault::new(REFUSED, format!("the target refused it: {text}")).id(step.id.clone());
        let fault = match path {
            Some(path) => fault.path(path),
            None => fault,
        };
        TargetError::Refused { faults: vec![fault] }
    }

    /// What a failure of a write comes to.
    fn failure(&self, step: &Step, failed: &Failed) -> TargetError {
        match failed {
            Failed::Status(status) if status.may_pass() => {
                let text =
                    status.faults(&step.hidden()).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("; ");
                let fault = Fault::new(REFUSED, format!("the target failed: {text} (HTTP {})", status.code));
                TargetError::Refused { faults: vec![fault.id(step.id.clone()).class(Class::Target)] }
            }
            Failed::Status(status) => {
                let faults = status.faults(&step.hidden()).into_iter().map(|(path, text)| {
                    let fault = Fault::new(REFUSED, format!("the target refused it: {text}")).id(step.id.clone());
                    match path {
                        Some(path) => fault.path(path),
                        None => fault,
                    }
                });
                TargetError::Refused { faults: faults.collect() }
            }
            Failed::Lost(text) => self.on.write_failed(format!("{}: {}", step.id, crate::base::text::escape(text))),
        }
    }

    async fn live(&self, served: &Served, step: &Step) -> Result<Option<Value>, TargetError> {
        objects::get(self.on, served, &step.id, (Depth::Whole, step.account.as_ref())).await
    }

    async fn create(&self, step: &Step) -> Result<Value, TargetError> {
        let served = self.kind(step).await?;
        let declared = step.declared.clone().unwrap_or_default();
        let url = format!("{}?fieldManager={MANAGER}&force=false&fieldValidation=Strict", served.url(&step.id));
        let mut last = None;
        for _ in 0..TRIES {
            self.may_write()?;
            let answer = self
                .on
                .send(&Ask::send(Method::PATCH, url.clone(), APPLY, &declared).acting(step.account.as_ref()))
                .await;
            match answer {
                Ok(answer) if answer.code == 201 => return self.parse(&answer.body),
                // Somebody was faster, with the same values: our fields joined theirs. They are taken away again.
                Ok(answer) => {
                    self.leave(&served, step, &self.parse(&answer.body)?).await?;
                    return Err(moved(&step.id, "somebody else made it meanwhile"));
                }
                Err(Failed::Lost(text)) => match self.live(&served, step).await? {
                    Some(live) if mark(&live).is_some() && mark(&live) == mark(&declared) && is_made_by_us(&live) => {
                        return Ok(live);
                    }
                    Some(live) => {
                        if mark(&live) == mark(&declared) {
                            self.leave(&served, step, &live).await?;
                        }
                        return Err(moved(&step.id, "somebody else made it meanwhile"));
                    }
                    None => last = Some(Failed::Lost(text)),
                },
                Err(failed) if failed.code() == Some(409) => {
                    return Err(moved(&step.id, "somebody else made it meanwhile"));
                }
                Err(failed) => return Err(self.failure(step, &failed)),
            }
        }
        Err(self.failure(step, &last.unwrap_or_else(|| Failed::Lost("no answer".to_owned()))))
    }

    /// Takes our fields off exactly this object, which isn't ours.
    async fn leave(&self, served: &Served, step: &Step, live: &Value) -> Result<(), TargetError> {
        let declared = step.declared.as_ref();
        let of = |at: &str| declared.and_then(|d| d.pointer(at)).cloned().unwrap_or_default();
        let mut bare = json!({"apiVersion": of("/apiVersion"), "kind": of("/kind"), "metadata": {"name": of("/metadata/name"), "uid": uid(live)}});
        if let Some(namespace) = &step.id.namespace {
            bare["metadata"]["namespace"] = namespace.as_str().into();
        }
        let url = format!("{}?fieldManager={MANAGER}&force=false", served.url(&step.id));
        match self.on.send(&Ask::send(Method::PATCH, url, APPLY, &bare).acting(step.account.as_ref())).await {
            // Gone, or made anew: nothing of ours is there.
            Err(failed) if failed.code() != Some(409) => Err(self.failure(step, &failed)),
            _ => Ok(()),
        }
    }

    async fn apply(&self, step: &Step) -> Result<Value, TargetError> {
        let served = self.kind(step).await?;
        let (Some(before), Some(declared)) = (&step.before, &step.declared) else {
            return Err(moved(&step.id, "it isn't there"));
        };
        let url = format!("{}?fieldManager={MANAGER}&force=true&fieldValidation=Strict", served.url(&step.id));
        let mut at = version(before).to_owned();
        let mut last = Failed::Lost("no answer".to_owned());
        for _ in 0..TRIES {
            self.may_write()?;
            let mut body = declared.clone();
            if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("uid".to_owned(), uid(before).into());
                metadata.insert("resourceVersion".to_owned(), at.clone().into());
            }
            match self.on.send(&Ask::send(Method::PATCH, url.clone(), APPLY, &body).acting(step.account.as_ref())).await
            {
                Ok(answer) => return self.parse(&answer.body),
                Err(failed) if failed.code() == Some(409) || failed.code().is_none() => {
                    let live = self.live(&served, step).await?;
                    let live = live.ok_or_else(|| moved(&step.id, "it isn't there any more"))?;
                    if judge(step, Some(&live)) == Found::Written {
                        return Ok(live);
                    }
                    if !self.is_same(&step.id, Some(declared), before, &live) {
                        return Err(moved(&step.id, "it was written since"));
                    }
                    at = version(&live).to_owned();
                    last = failed;
                }
                Err(failed) => return Err(self.failure(step, &failed)),
            }
        }
        Err(self.failure(step, &last))
    }

    /// Ends what those hold of the declared fields whom the object is taken over from, in a write of its own: an apply
    /// can't. Values stay.
    async fn relieve(&self, step: &Step, written: Value) -> Result<Value, TargetError> {
        if step.relieves.is_empty() {
            return Ok(written);
        }
        failpoint::hit(failpoint::BEFORE_OWNERS);
        let served = self.kind(step).await?;
        let unread = |e| self.on.damaged(format!("the owners of {} can't be read: {e}", step.id));
        let (mut live, mut last) = (written, Failed::Lost("no answer".to_owned()));
        for _ in 0..TRIES {
            let mut after = live.clone();
            merge::relieve(&mut after, &step.relieves, &Manager::new(MANAGER)).map_err(unread)?;
            let owners = after.pointer("/metadata/managedFields").cloned().unwrap_or_default();
            if live.pointer("/metadata/managedFields") == Some(&owners) {
                return Ok(live);
            }
            self.may_write()?;
            let url = format!("{}?fieldManager={MANAGER}", served.url(&step.id));
            let patch = undo::owners_patch(&owners, &live);
            match self.on.send(&Ask::send(Method::PATCH, url, JSON_PATCH, &patch).acting(step.account.as_ref())).await {
                Ok(answer) => return self.parse(&answer.body),
                Err(failed) if matches!(failed.code(), Some(409 | 422) | None) => last = failed,
                Err(failed) => return Err(self.failure(step, &failed)),
            }
            live = self.live(&served, step).await?.ok_or_else(|| moved(&step.id, "it isn't there any more"))?;
            if judge(step, Some(&live)) != Found::Written {
                return Err(moved(&step.id, "it was written since"));
            }
        }
        Err(self.failure(step, &last))
    }

    async fn replace(&self, step: &Step) -> Result<Value, TargetError> {
        let served = self.kind(step).await?;
        let before = step.before.as_ref().ok_or_else(|| moved(&step.id, "it isn't there"))?;
        if step.id.is_namespace() || step.id.is_definition() {
            let mut cache = HashMap::default();
            if let Some(held) = self.along(&step.id, uid(before).unwrap_or_default(), &mut cache).await?.first() {
                return Err(moved(&step.id, format!("{held} would go along with it")));
            }
        }
        self.delete_exactly(&served, step, before).await?;
        self.create(step).await
    }

    /// Deletes exactly this object, and waits until it is gone.
    async fn delete_exactly(&self, served: &Served, step: &Step, object: &Value) -> Result<(), TargetError> {
        let mut at = version(object).to_owned();
        let mut accepted = false;
        for _ in 0..TRIES {
            self.may_write()?;
            let body = delete_options(uid(object).unwrap_or_default(), &at);
            match self
                .on
                .send(&Ask::send(Method::DELETE, served.url(&step.id), JSON, &body).acting(step.account.as_ref()))
                .await
            {
                Ok(_) => accepted = true,
                Err(failed) if failed.code() == Some(404) => accepted = true,
                Err(failed) if failed.code() == Some(409) || failed.code().is_none() => {
                    match self.live(served, step).await? {
                        None => accepted = true,
                        Some(live) if uid(&live) != uid(object) => return Err(moved(&step.id, "it was made anew")),
                        Some(live) if live.pointer("/metadata/deletionTimestamp").is_some() => accepted = true,
                        Some(live) if mark(&live) != mark(object) => {
                            return Err(moved(&step.id, "its owner mark is another"));
                        }
                        Some(live) => at = version(&live).to_owned(),
                    }
                }
                Err(failed) => return Err(self.failure(step, &failed)),
            }
            if accepted {
                break;
            }
        }
        if accepted && self.is_gone(served, step, uid(object).unwrap_or_default(), PATIENCE).await? {
            return Ok(());
        }
        Err(self.on.write_failed(format!("{} could not be deleted in {} s", step.id, PATIENCE.as_secs())))
    }

    /// Waits until an object of this UID is gone; whether it is.
    pub(super) async fn is_gone(
        &self,
        served: &Served,
        step: &Step,
        uid: &str,
        patience: Duration,
    ) -> Result<bool, TargetError> {
        let until = Instant::now() + patience;
        loop {
            let live = objects::get(self.on, served, &step.id, (Depth::Head, step.account.as_ref())).await?;
            if live.as_ref().and_then(super::journal::uid) != Some(uid) {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn unmark(&self, step: &Step) -> Result<Value, TargetError> {
        let served = self.kind(step).await?;
        let path = format!("/metadata/annotations/{}", OWNER_ANNOTATION.replace('/', "~1"));
        let before = step.before.as_ref().ok_or_else(|| moved(&step.id, "it isn't there"))?;
        let mut at = version(before).to_owned();
        for _ in 0..TRIES {
            self.may_write()?;
            let patch = json!([
                {"op": "test", "path": "/metadata/uid", "value": uid(before)},
                {"op": "replace", "path": "/metadata/resourceVersion", "value": at},
                {"op": "test", "path": path, "value": mark(before)},
                {"op": "remove", "path": path},
            ]);
            let url = format!("{}?fieldManager={MANAGER}", served.url(&step.id));
            match self.on.send(&Ask::send(Method::PATCH, url, JSON_PATCH, &patch).acting(step.account.as_ref())).await {
                Ok(answer) => return self.parse(&answer.body),
                Err(failed) if matches!(failed.code(), Some(409 | 422) | None) => {
                    let live = self.live(&served, step).await?;
                    match judge(step, live.as_ref()) {
                        Found::Written => return Ok(live.unwrap_or_default()),
                        Found::NotWritten => at = live.as_ref().map(version).unwrap_or_default().to_owned(),
                        _ => return Err(moved(&step.id, "it was written since")),
                    }
                }
                Err(failed) => return Err(self.failure(step, &failed)),
            }
        }
        Err(self.on.write_failed(format!("{} could not be written", step.id)))
    }

    /// After a definition was written: waits until its kind is served.
    async fn served(&self, step: &Step) -> Result<(), TargetError> {
        if !step.id.is_definition() || step.act == Act::Unmark {
            return Ok(());
        }
        let declared = step.declared.clone().unwrap_or_default();
        let text = |at: &str| declared.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let kind = crate::base::resource::GroupKind::new(text("/spec/group"), text("/spec/names/kind"));
        let versions = declared.pointer("/spec/versions").and_then(Value::as_array).cloned().unwrap_or_default();
        let wanted: HashSet<String> = versions
            .iter()
            .filter(|v| v.get("served").and_then(Value::as_bool).unwrap_or(false))
            .filter_map(|v| Some(format!("{}/{}", kind.group, v.get("name")?.as_str()?)))
            .collect();
        let until = Instant::now() + PATIENCE;
        loop {
            let discovery = self.on.discover().await?;
            if wanted.iter().all(|version| discovery.exactly(&kind, version).is_some()) {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(self
                    .on
                    .write_failed(format!("{kind} is not served {} s after its definition", PATIENCE.as_secs())));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(super) fn parse(&self, body: &[u8]) -> Result<Value, TargetError> {
        request::object(body).map_err(|e| self.on.damaged(format!("an answer can't be read: {e}")))
    }

    /// Takes one step back as far as it is ours to take back; why not, if it isn't.
    pub(super) async fn take_back(&self, step: &Step) -> Result<Option<String>, TargetError> {
        if step.act == Act::Delete {
            return Ok(None);
        }
        let Ok(served) = self.kind(step).await else {
            // Its kind isn't served: the definition came with this apply, and nothing of it is there.
            return Ok(None);
        };
        for _ in 0..TRIES {
            let live = self.live(&served, step).await?;
            let found = judge(step, live.as_ref());
            let live = live.unwrap_or_default();
            let done = match (found, step.act) {
                (Found::NotWritten, _) => return Ok(None),
                (Found::Foreign(why), _) => {
                    if step.act == Act::Create
                        && mark(&live).is_some()
                        && mark(&live) == step.declared.as_ref().and_then(mark)
                    {
                        self.leave(&served, step, &live).await?;
                    }
                    return Ok(Some(why.to_owned()));
                }
                (Found::Written, Act::Create) => match self.unmake(&served, step, &live).await? {
                    None => return Ok(None),
                    Some(why) => return Ok(Some(why)),
                },
                (Found::Written, Act::Replace) => {
                    self.delete_exactly(&served, step, &live).await?;
                    false
                }
                (Found::Between, _) => self.make_anew(&served, step).await?,
                (Found::Written, Act::Unmark) => self.mark_again(&served, step, &live).await?,
                (Found::Written, _) => {
                    self.values_back(&served, step, &live).await?;
                    false
                }
                (Found::ValuesBack, _) => self.owners_back(&served, step, &live).await?,
            };
            if done {
                return Ok(None);
            }
        }
        Ok(Some("it is written by others all the time".to_owned()))
    }

    /// Deletes what was created, unless something of others would go along.
    async fn unmake(&self, served: &Served, step: &Step, live: &Value) -> Result<Option<String>, TargetError> {
        let id = &step.id;
        let until = Instant::now() + PATIENCE;
        while id.is_namespace() || id.is_definition() {
            let mut cache = HashMap::default();
            let along = self.along(id, uid(live).unwrap_or_default(), &mut cache).await?;
            let Some(first) = along.first() else { break };
            // What controllers made for what was just taken back goes by itself, a little later.
            let goes = |id: &&ResourceId| {
                cache.values().flatten().any(|head| head.id == **id && head.controlled && !head.owners.is_empty())
            };
            let stays = along.iter().find(|id| !goes(id));
            if stays.is_some() || Instant::now() >= until {
                return Ok(Some(format!("{} is in it and would go along", stays.unwrap_or(first))));
            }
            self.may_write()?;
            tokio::time::sleep(LOOK).await;
        }
        self.delete_exactly(served, step, live).await.map(|()| None)
    }

    async fn make_anew(&self, served: &Served, step: &Step) -> Result<bool, TargetError> {
        let Some(before) = &step.before else { return Ok(true) };
        let object = undo::to_be_made_anew(before);
        let url = format!("{}?fieldManager={MANAGER}", served.list_url(step.id.namespace.as_deref()));
        self.may_write()?;
        match self.on.send(&Ask::send(Method::POST, url, JSON, &object).acting(step.account.as_ref())).await {
            Ok(answer) => {
                let live = self.parse(&answer.body)?;
                let owners = before.pointer("/metadata/managedFields").cloned().unwrap_or_default();
                self.patch(served, step, &undo::owners_patch(&owners, &live)).await?;
                Ok(true)
            }
            Err(failed) if matches!(failed.code(), Some(409) | None) => Ok(false),
            Err(failed) => Err(self.failure(step, &failed)),
        }
    }

    async fn mark_again(&self, served: &Served, step: &Step, live: &Value) -> Result<bool, TargetError> {
        let Some(before) = &step.before else { return Ok(true) };
        let mut patch = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": uid(live)}),
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version(live)}),
        ];
        if live.pointer("/metadata/annotations").is_none() {
            patch.push(json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
        }
        let path = format!("/metadata/annotations/{}", OWNER_ANNOTATION.replace('/', "~1"));
        patch.push(json!({"op": "add", "path": path, "value": mark(before)}));
        self.patch(served, step, &Value::Array(patch)).await
    }

    async fn values_back(&self, served: &Served, step: &Step, live: &Value) -> Result<(), TargetError> {
        let schema = self.schema(step.before.as_ref().unwrap_or(&Value::Null));
        let body = undo::values_back(schema.as_deref(), step, live)
            .map_err(|e| self.on.damaged(format!("the owners of {} can't be read: {e}", step.id)))?;
        let url = format!("{}?fieldManager={MANAGER}&force=false", served.url(&step.id));
        self.may_write()?;
        match self.on.send(&Ask::send(Method::PATCH, url, APPLY, &body).acting(step.account.as_ref())).await {
            Ok(_) => Ok(()),
            // Somebody wrote meanwhile, or the answer got lost: the next look says.
            Err(failed) if matches!(failed.code(), Some(409) | None) => Ok(()),
            Err(failed) => Err(self.failure(step, &failed)),
        }
    }

    async fn owners_back(&self, served: &Served, step: &Step, live: &Value) -> Result<bool, TargetError> {
        let schema = self.schema(step.before.as_ref().unwrap_or(&Value::Null));
        let owners = undo::owners_back(schema.as_deref(), step, live)
            .map_err(|e| self.on.damaged(format!("the owners of {} can't be read: {e}", step.id)))?;
        match owners {
            None => Ok(true),
            Some(owners) => self.patch(served, step, &undo::owners_patch(&owners, live)).await,
        }
    }

    /// Sends a JSON patch; whether it was taken. Not taken, it is looked at and tried again.
    async fn patch(&self, served: &Served, step: &Step, patch: &Value) -> Result<bool, TargetError> {
        self.may_write()?;
        let url = format!("{}?fieldManager={MANAGER}", served.url(&step.id));
        match self.on.send(&Ask::send(Method::PATCH, url, JSON_PATCH, patch).acting(step.account.as_ref())).await {
            Ok(_) => Ok(true),
            Err(failed) if matches!(failed.code(), Some(409 | 422) | None) => Ok(false),
            Err(failed) => Err(self.failure(step, &failed)),
        }
    }
}

/// A delete of exactly this version of exactly this object.
pub(super) fn delete_options(uid: &str, version: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        "preconditions": {"uid": uid, "resourceVersion": version}})
}

/// Several failures as one: all refusals together, else the first.
fn joined(errors: impl Iterator<Item = TargetError>) -> Option<TargetError> {
    let mut refused = Vec::new();
    let mut first = None;
    for error in errors {
        match error {
            TargetError::Refused { faults } => refused.extend(faults),
            other => first = first.or(Some(other)),
        }
    }
    first.or((!refused.is_empty()).then_some(TargetError::Refused { faults: refused }))
}
