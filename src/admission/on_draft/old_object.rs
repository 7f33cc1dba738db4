//! Policies that read the live object.

use super::{Considered, declared_place};
use crate::admission::rules::Finding;
use crate::admission::rules::policies::{Policies, Said};
use crate::base::fault::{Fault, Warning};
use crate::plan::document::Waiver;

/// What the rule found.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Of policies that deny.
    pub faults: Vec<Fault>,
    /// Of policies that warn.
    pub warnings: Vec<Warning>,
    /// Waivers without which it would have been refused.
    pub waived: Vec<Waiver>,
}

/// Judges one Change that writes, by the object as it would be.
pub fn judge(considered: &Considered<'_>, policies: &Policies) -> Verdict {
    let (Some(checked), true) = (considered.checked, considered.is_written()) else { return Verdict::default() };
    let mut said = Said::default();
    let object = considered.after.unwrap_or(checked.declared());
    policies.old_object(object, considered.live, checked.schema(), &mut said);
    let place = |finding: &Finding| declared_place(checked, &finding.path);
    let id = considered.id;
    Verdict {
        faults: said
            .findings
            .faults
            .into_iter()
            .map(|finding| {
                let (_, at) = place(&finding);
                let fault = Fault::new(finding.rule, finding.text).at(at).id(id.clone());
                match finding.hint {
                    Some(hint) => fault.hint(hint),
                    None => fault,
                }
            })
            .collect(),
        warnings: said
            .findings
            .warnings
            .into_iter()
            .map(|finding| {
                let (_, at) = place(&finding);
                Warning::new(finding.rule, finding.text).at(at).id(id.clone())
            })
            .collect(),
        waived: said.waived,
    }
}
