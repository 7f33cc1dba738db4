//! Asks the API server what it would say to each write: server-side apply as a dry run, fields strictly validated.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::Value;

use super::answered::Answered;
use super::connection::Connection;
use super::discovery::{Discovery, Served};
use super::hooks::{self, Labels, Planned, Subject};
use super::objects::{self, Depth};
use super::request::{APPLY, Answer, Ask, Failed, MANAGER, METADATA, escaped};
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::{GroupKind, GroupVersionKind, ResourceId};
use crate::base::{sensitive, text};
use crate::schema::crd::defined_kind;
use crate::target::{Asked, Deed, DryRunner, Lacking, TargetError, Verdict, Write};

/// How many dry runs are under way at once.
const IN_FLIGHT: usize = 32;

/// The dry runner of a cluster.
pub(super) struct Asker<'c> {
    pub(super) on: &'c Connection,
    pub(super) answered: &'c Answered,
}

impl DryRunner for Asker<'_> {
    fn dry_run(&self, writes: &[Asked]) -> Result<Vec<Verdict>, TargetError> {
        self.on.wait(async {
            let discovery = self.on.discover().await?;
            let makes = Makes::of(writes.iter().map(|asked| &asked.write));
            let hooks = Planned::of(writes);
            let (on, answered, discovery, makes, hooks) = (self.on, self.answered, &discovery, &makes, &hooks);
            let by = Beside { on, answered, discovery, makes, hooks };
            let each = writes.iter().enumerate().map(|(place, asked)| by.ask(place, asked));
            let verdicts: Vec<Result<Verdict, TargetError>> = stream::iter(each).buffered(IN_FLIGHT).collect().await;
            let mut verdicts: Vec<Verdict> = verdicts.into_iter().collect::<Result<_, _>>()?;
            by.name_all_deaf(writes, &mut verdicts).await?;
            Ok(verdicts)
        })
    }

    fn lacking(&self, deeds: &[Deed]) -> Result<Vec<Lacking>, TargetError> {
        self.on.wait(super::rights::lacking(self.on, deeds))
    }
}

/// What the writes of a plan make that others of them need.
struct Makes {
    namespaces: HashSet<String>,
    kinds: HashSet<GroupKind>,
}

impl Makes {
    fn of<'a>(writes: impl Iterator<Item = &'a Write>) -> Self {
        let (mut namespaces, mut kinds) = (HashSet::default(), HashSet::default());
        for write in writes {
            let id = write.id();
            if id.is_namespace() && !matches!(write, Write::Apply { .. }) {
                namespaces.insert(id.name.clone());
            }
            if id.is_definition() {
                kinds.extend(write.declared().and_then(defined_kind));
            }
        }
        Self { namespaces, kinds }
    }

    /// Whether a dry run of this would judge it by what is there now and not by what will be.
    fn concerns(&self, id: &ResourceId) -> bool {
        self.kinds.contains(&id.group_kind()) || id.namespace.as_ref().is_some_and(|ns| self.namespaces.contains(ns))
    }
}

/// The kind of an object, in the version that it is declared in.
pub(super) fn served<'d>(discovery: &'d Discovery, declared: &Value) -> Option<&'d Served> {
    let kind = GroupVersionKind::of(declared);
    discovery.exactly(&kind.group_kind(), &kind.api_version())
}

/// What one write is asked with.
struct Beside<'b> {
    on: &'b Connection,
    answered: &'b Answered,
    discovery: &'b Discovery,
    makes: &'b Makes,
    hooks: &'b Planned<'b>,
}

impl Beside<'_> {
    async fn ask(&self, place: usize, asked: &Asked) -> Result<Verdict, TargetError> {
        let Self { on, answered: _, discovery, makes, hooks } = *self;
        let write = &asked.write;
        // Made anew, it can't be asked about while the old one is there.
        let (id, declared, force) = match write {
            Write::Create { id, declared } => (id, declared, false),
            Write::Apply { id, declared, .. } => (id, declared, true),
            Write::Replace { .. } | Write::Unmark { .. } | Write::Delete { .. } => return Ok(Verdict::Unreached),
        };
        if id.namespace.as_ref() == Some(&on.state_namespace) || (id.is_namespace() && id.name == on.state_namespace) {
            let text =
                format!("the Namespace {} holds Holdfast's own state, and no Source writes there", on.state_namespace);
            return Ok(Verdict::Refused { reasons: vec![(None, text)], retry: false });
        }
        if makes.concerns(id) {
            return Ok(Verdict::Unreached);
        }
        let Some(served) = served(discovery, declared) else {
            let text = format!("it doesn't serve {} {}", text_of(declared, "apiVersion"), id.kind);
            return Ok(Verdict::Refused { reasons: vec![(None, text)], retry: false });
        };
        let mut body = declared.clone();
        let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
        if let (Write::Apply { uid, .. }, Some(metadata)) = (write, metadata) {
            metadata.insert("uid".to_owned(), uid.as_str().into());
        }
        let url = format!("{}?fieldManager={MANAGER}&force={force}&fieldValidation=Strict&dryRun=All", served.url(id));
        let ask = Ask::send(Method::PATCH, url, APPLY, &body).acting(asked.account.as_ref());
        match self.send(write, &ask).await {
            Ok(answer) => {
                let mut object: Value = serde_json::from_slice(&answer.body).map_err(|e| on.damaged(e.to_string()))?;
                if let (Write::Create { .. }, Some(metadata)) =
                    (write, object.get_mut("metadata").and_then(Value::as_object_mut))
                {
                    // Long, and of a new object nobody asks who owns what.
                    metadata.remove("managedFields");
                }
                let warnings = answer.warnings.iter().map(|warning| super::status::shown(warning)).collect();
                let namespace = id.namespace.as_deref().map(|name| hooks.namespace(name));
                let whole = !hooks.guard(&Subject { write, served, namespace: namespace.as_ref() });
                Ok(Verdict::Admitted { object, warnings, whole })
            }
            // The same plan changes that webhook before it comes to this object.
            Err(Failed::Status(status)) if status.webhook().is_some_and(|name| hooks.change(name, place)) => {
                Ok(Verdict::Unreached)
            }
            Err(Failed::Status(status)) => Ok(match status.deaf_webhook() {
                Some(name) => Verdict::Deaf { webhooks: vec![name.to_owned()] },
                None => {
                    let reasons = status.faults(&hidden(declared, &asked.sensitive));
                    Verdict::Refused { reasons, retry: status.may_pass() }
                }
            }),
            Err(Failed::Lost(reason)) => {
                let reasons = vec![(None, format!("it could not be asked: {}", text::escape(&reason)))];
                Ok(Verdict::Refused { reasons, retry: true })
            }
        }
    }

    /// Sends it, unless the same was answered a moment ago.
    async fn send(&self, write: &Write, ask: &Ask) -> Result<Arc<Answer>, Failed> {
        let version = if let Write::Apply { version, .. } = write { version.as_str() } else { "" };
        let asked = ask.digest(version);
        let now = self.on.clock.now();
        if let Some(answer) = self.answered.get(&asked, now) {
            return Ok(answer);
        }
        let answer = Arc::new(self.on.send(ask).await?);
        self.answered.keep(asked, now, &answer);
        Ok(answer)
    }

    /// The server names one webhook at a time, and of several any. Who may list their configurations learns of all.
    async fn name_all_deaf(&self, writes: &[Asked], verdicts: &mut [Verdict]) -> Result<(), TargetError> {
        if !verdicts.iter().any(|verdict| matches!(verdict, Verdict::Deaf { .. })) {
            return Ok(());
        }
        let mut configurations = Vec::new();
        for kind in hooks::KINDS {
            let kind = GroupKind::new(hooks::GROUP, kind);
            let Some(served) = self.discovery.find(&kind, None) else { continue };
            // Without the right to read them, the server's word is what there is.
            drop(objects::list(self.on, served, None, (Depth::Whole, None), |found| configurations.push(found)).await);
        }
        let mut namespaces: HashMap<&str, Labels> = HashMap::default();
        for (Asked { write, .. }, verdict) in writes.iter().zip(verdicts) {
            let Verdict::Deaf { webhooks } = verdict else { continue };
            let Some(served) = write.declared().and_then(|declared| served(self.discovery, declared)) else { continue };
            let namespace = write.id().namespace.as_deref();
            if let Some(name) = namespace.filter(|name| !namespaces.contains_key(name)) {
                namespaces.insert(name, self.labels(name).await);
            }
            let namespace = namespace.and_then(|name| namespaces.get(name));
            let subject = Subject { write, served, namespace };
            let all = configurations.iter().flat_map(|found| hooks::deaf(found, &subject));
            webhooks.extend(all.map(str::to_owned));
            webhooks.sort();
            webhooks.dedup();
        }
        Ok(())
    }

    /// The labels of a live Namespace, as far as they can be read.
    async fn labels(&self, name: &str) -> Labels {
        let url = format!("/api/v1/namespaces/{}", escaped(name));
        let live = self.on.send(&Ask::get(url, METADATA)).await.ok();
        let live = live.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
        live.map_or_else(|| self.hooks.namespace(name), |live| Labels::of(&live))
    }
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The sensitive values of an object as texts that no message may show, of Secrets decoded too.
pub(super) fn hidden(object: &Value, extra: &[crate::base::pointer::Pointer]) -> Vec<String> {
    let mut all = Vec::new();
    for pointer in sensitive::pointers(object, extra) {
        texts(object.pointer(pointer.as_str()), &mut all);
    }
    if sensitive::is_secret(object) {
        let decoded: Vec<String> =
            all.iter().filter_map(|text| String::from_utf8(BASE64.decode(text).ok()?).ok()).collect();
        all.extend(decoded);
        // Even without a value of its own, a Secret is never quoted.
        all.push(String::new());
    }
    all
}

fn texts(value: Option<&Value>, all: &mut Vec<String>) {
    match value {
        Some(Value::String(text)) => all.push(text.clone()),
        Some(Value::Array(list)) => list.iter().for_each(|value| texts(Some(value), all)),
        Some(Value::Object(map)) => map.values().for_each(|value| texts(Some(value), all)),
        Some(Value::Number(number)) => all.push(number.to_string()),
        _ => {}
    }
}
