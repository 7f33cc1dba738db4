//! Which rights the account that writes has: asked before anything is sent.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use http::Method;
use serde_json::{Value, json};

use super::connection::Connection;
use super::discovery::Discovery;
use super::request::{Ask, Failed, JSON};
use crate::base::resource::ResourceId;
use crate::source::spec::ServiceAccount;
use crate::target::{Act, Deed, Lacking, TargetError};

/// How many questions are under way at once.
const IN_FLIGHT: usize = 16;
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// One right; of every object that needs it, or of one by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    /// The account that needs it; `None` is our own.
    account: Option<ServiceAccount>,
    verb: &'static str,
    group: String,
    plural: String,
    namespace: Option<String>,
}

impl Right {
    /// For people: `delete deployments.apps in Namespace shop`.
    fn text(&self) -> String {
        let Self { verb, group, plural, namespace, .. } = self;
        let dot = if group.is_empty() { "" } else { "." };
        let place = namespace.as_ref().map(|ns| format!(" in Namespace {ns}")).unwrap_or_default();
        format!("{verb} {plural}{dot}{group}{place}")
    }
}

/// What a deed asks of the API server: a server-side apply is a patch, and a create too where it makes the object.
fn verbs(act: Act) -> &'static [&'static str] {
    match act {
        Act::Make | Act::Remake => &["create", "patch", "delete"],
        Act::Change => &["patch"],
        // Should a part of the prune be taken up again, nothing more is needed: it goes forward only.
        Act::Delete => &["delete"],
    }
}

/// The rights that the connection's account lacks. A right for the whole kind is asked for first; only where that is
/// lacking, for each object by its name.
pub(super) async fn lacking(on: &Connection, deeds: &[Deed]) -> Result<Vec<Lacking>, TargetError> {
    let discovery = on.discovery().await?;
    let mut needed: BTreeMap<Right, Vec<&ResourceId>> = BTreeMap::new();
    for Deed { act, id, account } in deeds {
        for right in rights(&discovery, *act, id, account.as_ref()) {
            needed.entry(right).or_default().push(id);
        }
    }
    let each = needed.into_iter().map(|(right, ids)| async move {
        if is_allowed(on, &right, None).await? {
            return Ok(None);
        }
        let by_name = stream::iter(ids.into_iter().map(|id| {
            let right = &right;
            async move { Ok::<_, TargetError>((id, is_allowed(on, right, Some(&id.name)).await?)) }
        }));
        let answers: Vec<(&ResourceId, bool)> = by_name.buffered(IN_FLIGHT).try_collect().await?;
        let ids: Vec<ResourceId> = answers.into_iter().filter(|(_, may)| !may).map(|(id, _)| id.clone()).collect();
        Ok((!ids.is_empty()).then(|| Lacking { right: right.text(), account: right.account.clone(), ids }))
    });
    let found: Vec<Option<Lacking>> = stream::iter(each).buffered(IN_FLIGHT).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// A kind that isn't served yet is made by the same plan: nobody can say who may write it.
fn rights<'d>(
    discovery: &'d Discovery,
    act: Act,
    id: &'d ResourceId,
    account: Option<&'d ServiceAccount>,
) -> impl Iterator<Item = Right> + 'd {
    let served = discovery.find(&id.group_kind(), None);
    served.into_iter().flat_map(move |served| {
        verbs(act).iter().map(move |verb| Right {
            account: account.cloned(),
            verb,
            group: served.group.clone(),
            plural: served.plural.clone(),
            namespace: id.namespace.clone(),
        })
    })
}

async fn is_allowed(on: &Connection, right: &Right, name: Option<&str>) -> Result<bool, TargetError> {
    let mut attributes = json!({"verb": right.verb, "group": right.group, "resource": right.plural});
    if let Some(namespace) = &right.namespace {
        attributes["namespace"] = namespace.as_str().into();
    }
    if let Some(name) = name {
        attributes["name"] = name.into();
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    match on.send(&Ask::question(Method::POST, REVIEWS, JSON, &review).acting(right.account.as_ref())).await {
        Ok(answer) => {
            let answer: Value = serde_json::from_slice(&answer.body).map_err(|e| on.damaged(e.to_string()))?;
            Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false))
        }
        // Who may not even ask learns it from the dry runs and, where there is none, from the write itself.
        Err(Failed::Status(status)) if status.code == 403 => Ok(true),
        Err(failed) => Err(on.unavailable("what the account may do can't be asked", &failed)),
    }
}
