//! What another tool still claims is adopted only by those who were told of it: else the two would write, and the tool could
//! delete, by turns.

use std::collections::BTreeMap;

use super::change::Change;
use super::draft::Draft;
use crate::base::fault::{Fault, RuleId};
use crate::base::resource::ResourceId;
use crate::inventory::{Keeper, Tool};

/// An object to be adopted that Helm, Argo CD or Flux still claims.
pub(super) const CLAIMED_BY_TOOL: RuleId = RuleId::new("claimed-by-tool");

impl<'a> Draft<'a> {
    /// The claims of other tools on what is adopted, as permissions name them.
    pub(super) fn claims(&self) -> BTreeMap<String, Vec<(&Keeper, &Change<'a>)>> {
        let mut claims: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for change in &self.changes {
            for keeper in change.entry.keepers.iter().filter(|keeper| keeper.claims()) {
                claims.entry(keeper.to_string()).or_default().push((keeper, &**change));
            }
        }
        claims
    }

    /// Refuses more adoptions from another tool than were allowed: one fault for each claim, at its first object.
    pub(super) fn refuse_claimed(&mut self) {
        let mut faults = Vec::new();
        for (claim, on) in self.claims() {
            let allowed = self.grants.taken_over(&claim);
            let Some((keeper, first)) = on.first().filter(|_| on.len() > allowed) else { continue };
            let ids: Vec<ResourceId> = on.iter().map(|(_, change)| change.entry.id.clone()).collect();
            let (who, first) = (keeper.shown(), first.checked.map(|checked| checked.at()));
            let text = match ids.as_slice() {
                [one] => format!("{who} still claims {one}: it would write or delete it again"),
                all => format!(
                    "{who} still claims {} of the objects to be adopted: it would write or delete them again",
                    all.len()
                ),
            };
            let mut fault = Fault::new(CLAIMED_BY_TOOL, text).holds(ids);
            fault.at = first;
            faults.push(fault.hint(format!("{}; then --take-over {claim}={}", how_to_stop(keeper), on.len())));
        }
        self.faults.extend(faults);
    }
}

/// What to do before.
fn how_to_stop(keeper: &Keeper) -> &'static str {
    match keeper.tool {
        Tool::Helm => "let Helm forget the release without an uninstall: delete its Secrets (owner=helm,name=RELEASE)",
        Tool::Argocd => "delete the Application without a cascade (argocd app delete APPLICATION --cascade=false)",
        Tool::Flux => "suspend it and then delete it: what is suspended deletes nothing",
        Tool::Kubectl => "stop applying it",
    }
}
