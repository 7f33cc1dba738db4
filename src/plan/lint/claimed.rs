//! Nothing is taken over from another tool that claims it unless somebody was told, and each tool is named.

use std::collections::BTreeMap;

use super::Beside;
use crate::inventory::{Keeper, keepers};
use crate::plan::document::{Action, ChangeEntry, Purpose};

pub(super) fn takes_over_what_was_told(beside: &Beside<'_>, broken: &mut Vec<String>) {
    let mut claims: BTreeMap<String, usize> = BTreeMap::new();
    for change in &beside.plan.changes {
        let found = if is_adopted(beside, change) { found(beside, change) } else { Some(Vec::new()) };
        if found.as_ref() != Some(&change.keepers) {
            broken.push(format!("{} names other tools than its marks", change.id));
        }
        for keeper in found.into_iter().flatten().filter(|keeper| keeper.tool.as_str() != "kubectl") {
            *claims.entry(keeper.to_string()).or_default() += 1;
        }
    }
    for (claim, objects) in claims {
        let told = beside.plan.allowances.take_over.iter().filter_map(|told| told.split_once('='));
        let told = told.filter(|(of, _)| *of == claim).find_map(|(_, n)| n.parse::<usize>().ok());
        if told.unwrap_or_default() < objects {
            broken.push(format!("{objects} objects of {claim} would be taken over untold"));
        }
    }
}

fn is_adopted(beside: &Beside<'_>, change: &ChangeEntry) -> bool {
    change.action == Action::Adopt && beside.input(change).is_some_and(|input| input.purpose != Purpose::Rebuild)
}

fn found(beside: &Beside<'_>, change: &ChangeEntry) -> Option<Vec<Keeper>> {
    keepers(&beside.observed.objects.get(&change.id)?.object).ok()
}
