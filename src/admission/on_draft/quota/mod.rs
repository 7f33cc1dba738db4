//! ResourceQuotas, as a sum over the plan.
//!
//! What is used is counted from the live objects: workloads count with all pods that they ask for (whether these run
//! or not), and pods with a counted controller don't count again. Asked is what all Changes of the plan together add. So:
//!
//! - Deletes free nothing: they come last, after everything else was written and waited for. A replace frees what it
//!   deletes, and an update what it lowers.
//! - A quota that the plan itself writes counts as it will be.
//! - A DaemonSet counts as one pod, since the nodes aren't known; a CronJob as none; pods that a rolling update starts
//!   beside the old ones aren't counted.
//! - A usage that is over the limit already, and that the plan doesn't raise, is not this plan's fault.

mod pods;
mod scopes;
mod usage;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Considered, Facts, RULE_QUOTA, placed, placed_warning};
use crate::base::fault::{Class, Fault, Warning};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::schema::quantity::Quantity;

use usage::World;

/// Resources named in one fault.
const MOST_ASKERS: usize = 100;

/// What the rule found.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Sums over a limit, and pods that a quota would refuse.
    pub faults: Vec<Fault>,
    /// Workloads whose pods a quota would refuse.
    pub warnings: Vec<Warning>,
}

/// A ResourceQuota as it will be.
struct Quota<'a> {
    id: &'a ResourceId,
    object: &'a Value,
}

impl Quota<'_> {
    fn limits(&self) -> impl Iterator<Item = (&str, Quantity)> {
        let hard = self.object.pointer("/spec/hard").and_then(Value::as_object);
        hard.into_iter().flatten().filter_map(|(name, limit)| Some((name.as_str(), Quantity::of_value(limit).ok()?)))
    }
}

/// Judges all Changes together.
pub fn judge(considered: &[Considered<'_>], facts: &Facts<'_>) -> Verdict {
    let is_quota = |id: &ResourceId| id.is("", "ResourceQuota");
    if facts.contents.is_empty() && !considered.iter().any(|change| is_quota(change.id)) {
        return Verdict::default();
    }
    let before: BTreeMap<&ResourceId, &Value> = facts.contents.iter().map(|l| (&l.head.id, &l.object)).collect();
    let mut after = before.clone();
    for change in considered.iter().filter(|c| c.is_written()) {
        if let Some(object) = change.after {
            after.insert(change.id, object);
        }
    }
    let quotas: Vec<Quota<'_>> =
        after.iter().filter(|(id, _)| is_quota(id)).map(|(id, object)| Quota { id, object }).collect();
    let mut verdict = Verdict::default();
    let mut worlds: BTreeMap<&str, (World<'_>, World<'_>)> = BTreeMap::new();
    for quota in &quotas {
        let Some(namespace) = quota.id.namespace.as_deref() else { continue };
        let (old, new) = worlds.entry(namespace).or_insert_with(|| {
            (World::new(&before, namespace, facts.catalog), World::new(&after, namespace, facts.catalog))
        });
        sums(quota, old, new, &mut verdict.faults);
        unsaid(quota, considered, new, &mut verdict);
    }
    verdict
}

fn sums(quota: &Quota<'_>, old: &World<'_>, new: &World<'_>, faults: &mut Vec<Fault>) {
    let names: BTreeSet<&str> = quota.limits().map(|(name, _)| name).collect();
    let (was, will) = (old.usage(quota.object, &names), new.usage(quota.object, &names));
    for (name, limit) in quota.limits() {
        let used = was.total(name);
        let total = will.total(name);
        if total <= limit || total <= used {
            continue;
        }
        let asked = total.checked_sub(used).unwrap_or(total);
        let mut askers: Vec<ResourceId> =
            will.by_object(name).filter(|(id, amount)| *amount > was.of(name, id)).map(|(id, _)| id.clone()).collect();
        let more = askers.len().saturating_sub(MOST_ASKERS);
        askers.truncate(MOST_ASKERS);
        let mut text = format!(
            "{} allows {limit} of {name}: {used} is used and the plan asks for {asked} more, {total} in all",
            quota.id
        );
        if more > 0 {
            text.push_str(&format!(" ({more} more objects ask than are listed)"));
        }
        faults.push(
            Fault::new(RULE_QUOTA, text)
                .id(quota.id.clone())
                .class(Class::Target)
                .hint("ask for less, or have the quota raised; what the plan deletes is freed only after its writes")
                .holds(askers),
        );
    }
}

/// Pods have to say what a quota counts, else the API server refuses them.
fn unsaid(quota: &Quota<'_>, considered: &[Considered<'_>], world: &World<'_>, verdict: &mut Verdict) {
    let counted: Vec<&str> = quota.limits().map(|(name, _)| name).filter(|name| pods::must_be_said(name)).collect();
    if counted.is_empty() {
        return;
    }
    for change in considered.iter().filter(|c| c.is_written() && c.id.namespace == quota.id.namespace) {
        let (Some(checked), Some(after)) = (change.checked, change.after) else { continue };
        if change.live.is_some_and(|live| live.get("spec") == after.get("spec")) {
            continue;
        }
        let Some((path, spec)) = pods::template(change.id, after) else { continue };
        if !scopes::has_pod(quota.object, spec) {
            continue;
        }
        for (container, name) in world.unsaid(spec, &counted) {
            let pointer = Pointer::parse(&format!("{path}/containers/{container}/resources")).unwrap_or_default();
            let text = format!("the pods don't say {name}, and {} refuses pods that don't", quota.id);
            if change.id.is("", "Pod") {
                verdict.faults.push(placed(Fault::new(RULE_QUOTA, text), checked, &pointer));
            } else {
                verdict.warnings.push(placed_warning(Warning::new(RULE_QUOTA, text), checked, &pointer));
            }
        }
    }
}
