//! The target's own word on everything that would be written.

use std::collections::BTreeSet;

use super::on_draft::{RULE_QUOTA, placed, placed_warning};
use super::{Checked, DEAF_WEBHOOK, MISSING_RIGHT, REFUSED_BY_TARGET, TARGET_WARNING};
use crate::base::fault::{Class, Fault, Warning};
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;
use crate::base::text::escape;
use crate::plan::Draft;
use crate::target::{DryRunner, Lacking, TargetError, Verdict, Write};

/// What the target said.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Warning>,
}

/// Asks the target about every write of the Draft, and notes in it what was admitted there.
///
/// Of an object that a rule refuses already the target's word isn't repeated.
pub(super) fn judge(draft: &mut Draft<'_>, target: &dyn DryRunner, known: &[Fault]) -> Result<Said, TargetError> {
    let refused: BTreeSet<&ResourceId> = known.iter().filter_map(|fault| fault.id.as_ref()).collect();
    let full: BTreeSet<Option<&str>> = known
        .iter()
        .filter(|f| f.rule == RULE_QUOTA)
        .map(|f| f.id.as_ref().and_then(|id| id.namespace.as_deref()))
        .collect();
    let mut said = Said::default();
    let deeds = draft.deeds();
    if deeds.is_empty() {
        return Ok(said);
    }
    let mut forbidden: BTreeSet<ResourceId> = BTreeSet::new();
    for Lacking { right, account, ids } in target.lacking(&deeds)? {
        let who = account.map_or("the account that writes".to_owned(), |a| format!("{}/{}", a.namespace, a.name));
        let text = format!("{who} may not {right}");
        let hint = "holdfast rbac prints the least roles of a Source";
        forbidden.extend(ids.iter().cloned());
        said.faults.push(Fault::new(MISSING_RIGHT, text).class(Class::Target).holds(ids).hint(hint));
    }
    // What the account may not do the target would only say once more.
    let asks = draft.asks().into_iter().filter(|(_, asked)| !forbidden.contains(asked.write.id()));
    let (places, asked): (Vec<usize>, Vec<_>) = asks.unzip();
    let mut answers = Vec::new();
    let verdicts = target.dry_run(&asked)?;
    for ((place, asked), verdict) in places.into_iter().zip(&asked).zip(verdicts) {
        let id = asked.write.id();
        let Some(checked) = draft.checked_at(place) else { continue };
        match verdict {
            Verdict::Unreached => {}
            Verdict::Deaf { webhooks } => {
                let others = draft.waive_dry_run(webhooks);
                said.faults
                    .extend(others.into_iter().filter(|_| !refused.contains(id)).map(|name| deaf(&name, checked)));
            }
            Verdict::Admitted { warnings, object, whole } => {
                if whole {
                    draft.admitted_by_target(place);
                }
                if let Some(declared) = asked.write.declared() {
                    draft.rewritten(place, declared, &object);
                }
                if matches!(asked.write, Write::Apply { .. }) {
                    answers.push((place, object));
                }
                let warning =
                    |text: String| placed_warning(Warning::new(TARGET_WARNING, text), checked, &Pointer::root());
                said.warnings.extend(warnings.into_iter().map(warning));
            }
            Verdict::Refused { .. } if refused.contains(id) => {}
            Verdict::Refused { reasons, retry } => {
                for (path, text) in reasons {
                    let quota = text.contains("exceeded quota");
                    if quota && (full.contains(&None) || full.contains(&id.namespace.as_deref())) {
                        continue;
                    }
                    let rule = if quota { RULE_QUOTA } else { REFUSED_BY_TARGET };
                    let fault = Fault::new(rule, format!("the target refuses it: {text}"));
                    let fault = if retry || quota { fault.class(Class::Target) } else { fault };
                    said.faults.push(placed(fault, checked, &path.unwrap_or_default()));
                }
            }
        }
    }
    // What the target would leave as it is needs no write, whatever the merge made of it.
    draft.nothing_to_do(answers);
    Ok(said)
}

/// That a webhook prevents the dry run of an object.
fn deaf(webhook: &str, checked: &Checked) -> Fault {
    let text = format!("the target can't be asked about it: its webhook {} takes no dry run", escape(webhook));
    let hint =
        format!("to have it admitted offline, and judged at the apply alone: --waive-dry-run {}", escape(webhook));
    placed(Fault::new(DEAF_WEBHOOK, text).hint(hint), checked, &Pointer::root())
}
