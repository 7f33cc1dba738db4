//! Where an apply waits until what it wrote is healthy.
//!
//! An apply says where: between waves, and before it deletes anything. A target that writes one by one looks at the live
//! objects until a gate opens; one that writes in a transaction has nothing to wait for.

use std::time::Duration;

use serde_json::Value;

use crate::base::fault::{Class, Fault, RuleId};
use crate::base::resource::ResourceId;
use crate::health::{Health, State, health};

/// Something that was written doesn't become healthy.
pub const UNHEALTHY: RuleId = RuleId::new("unhealthy");

/// A place in a batch that is passed only when what was written before it is healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// So many writes of the batch come before it.
    pub after: usize,
    /// What must be healthy.
    pub waits: Vec<Wait>,
}

/// One object that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The resource.
    pub id: ResourceId,
    /// How long it may take.
    pub patience: Duration,
}

/// What a look at a gate came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Passing {
    /// Everything is healthy.
    Open,
    /// These are on their way: look again.
    Waiting(Vec<Wait>),
    /// These won't get there, or not in time.
    Shut(Vec<Fault>),
}

impl Gate {
    /// Judges the objects as they are, so long after they were begun to be waited for.
    pub fn judge<'v>(waits: &[Wait], waited: Duration, live: impl Fn(&ResourceId) -> Option<&'v Value>) -> Passing {
        let (mut waiting, mut faults) = (Vec::new(), Vec::new());
        for wait in waits {
            let fault = |text: String| Fault::new(UNHEALTHY, text).id(wait.id.clone()).class(Class::Target);
            let Some(object) = live(&wait.id) else {
                faults.push(fault("somebody deleted it while it was waited for".to_owned()));
                continue;
            };
            let found = observed(object).unwrap_or_else(|| health(object));
            match found.state {
                State::Current => {}
                State::InProgress | State::Terminating if waited < wait.patience => waiting.push(wait.clone()),
                State::InProgress | State::Terminating => {
                    let time = wait.patience.as_secs();
                    faults
                        .push(fault(format!("it is not healthy after {time} s: {}: {}", found.reason, found.message)));
                }
                State::Failed => faults.push(fault(format!("it failed: {}: {}", found.reason, found.message))),
            }
        }
        match (faults.is_empty(), waiting.is_empty()) {
            (false, _) => Passing::Shut(faults),
            (true, true) => Passing::Open,
            (true, false) => Passing::Waiting(waiting),
        }
    }
}

/// A workload that no controller has looked at yet says nothing of itself: that is not the health of the old one.
fn observed(object: &Value) -> Option<Health> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let observes = matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "PodDisruptionBudget");
    let builtin = matches!(object.get("apiVersion").and_then(Value::as_str), Some("apps/v1" | "policy/v1"));
    let unseen = object.pointer("/status/observedGeneration").is_none();
    (observes && builtin && unseen).then(|| Health {
        state: State::InProgress,
        reason: "NotObserved".to_owned(),
        message: "no controller has looked at it yet".to_owned(),
        since: None,
    })
}
