//! Plain scalars in untyped places, whose reading surprises (`1.10`, `0755`, `yes`).

use super::{Finding, Findings};
use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;
use crate::base::text::{escape, shorten};
use crate::manifest::Surprise;
use crate::schema::{Additional, Kind, KindSchema, Node};
use crate::source::spec::Effect;

/// A plain scalar whose value isn't what its text looks like, where no schema says what it must be.
const AMBIGUOUS: RuleId = RuleId::new("ambiguous-scalar");

/// Judges those that stand in untyped places: elsewhere the schema decides what they must be.
pub(in crate::admission) fn judge(
    surprises: &[Surprise],
    schema: &KindSchema,
    effect: Effect,
    is_sensitive: impl Fn(&Pointer) -> bool,
    findings: &mut Findings,
) {
    for surprise in surprises.iter().filter(|surprise| is_untyped(schema.root(), &surprise.pointer)) {
        let raw = surprise.raw.as_deref().filter(|_| !is_sensitive(&surprise.pointer));
        let what = raw.map_or_else(|| "this plain text".to_owned(), |raw| escape(&shorten(raw, 80)).into_owned());
        let text = if surprise.precision_lost {
            format!("{what} is read as a number and loses digits")
        } else {
            format!("{what} is read as another value than its text looks like")
        };
        let mut finding =
            Finding::new(AMBIGUOUS, surprise.pointer.clone(), text).hint("put it in quotes if a text is meant");
        finding.raw = raw.map(str::to_owned);
        match effect {
            Effect::Deny => findings.fault(finding),
            Effect::Warn => findings.warn(finding),
        }
    }
}

/// Whether nothing says what type a place has.
fn is_untyped(root: &Node, pointer: &Pointer) -> bool {
    let mut node = root;
    for segment in pointer.segments() {
        let below = if node.kind == Kind::List { node.items.as_deref() } else { node.below(&segment) };
        match below {
            Some(below) => node = below,
            // A closed map has no such field, and says so itself.
            None => return matches!(node.additional, Additional::Open) || node.kind == Kind::Any,
        }
    }
    node.kind == Kind::Any
}
