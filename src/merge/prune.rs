//! Takes away what a manager declared before and no longer does.

use std::borrow::Cow;

use serde_json::Value;

use super::element::Element;
use super::fieldset::FieldSet;
use super::remove::without;
use crate::schema::Node;

/// A merged object without the fields of `last` that are neither declared any more (`declared`, whose fields are `ours`) nor held by others.
///
/// The API server's rule, step by step (structured merge's `prune`): first all that was declared goes, with what is
/// below it; then what somebody holds comes back; then what was never declared comes back, unless a whole struct of which
/// we declared something has no holder left: what the server filled in there goes with it.
pub(super) fn prune<'v>(
    node: &Node,
    merged: Cow<'v, Value>,
    last: &FieldSet,
    declared: &Value,
    ours: &FieldSet,
    others: &FieldSet,
) -> Cow<'v, Value> {
    if ours.contains(last) {
        return merged;
    }
    let mut last = last.with_named(node);
    // What the object is called stands there too, which no set has.
    last.descend(&Element::Field("metadata".into())).member = false;
    let places = &FieldSet::places_of(node, declared);
    let held = places.union(others).with_named(node);
    let all = FieldSet::places_of(node, &merged).with_named(node);
    let set_of = |value: &Value| FieldSet::places_of(node, value).with_named(node);

    let pruned = without(node, &merged, &last, places);
    let unheld = all.difference(&set_of(&pruned).union(&held));
    let pruned = without(node, &merged, &unheld, places);
    let gone = all.difference(&set_of(&pruned)).intersection(&last);
    if gone.is_empty() {
        return merged;
    }
    Cow::Owned(without(node, &merged, &gone, places).into_owned())
}
