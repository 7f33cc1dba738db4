//! A plan file: read only with its own digests, written as it was read, shown without what could fool a terminal.

use holdfast::base::json;
use holdfast::base::text::is_unsafe;
use holdfast::plan::document::PlanDocument;
use holdfast::plan::render::{View, diff, json as as_json, markdown, table};
use holdfast::plan::{identity, stored};

/// Reads it as it stands, then with the digests that it should have: anybody can forge those.
pub fn holds(data: &[u8]) {
    match stored::read(data) {
        Ok(plan) => shown(&plan),
        Err(error) => assert!(!error.to_string().contains(|c: char| is_unsafe(c)), "{error}"),
    }
    let Ok(mut plan) = json::read::<PlanDocument>(data) else { return };
    let Ok((plan_id, content_id)) = identity::name(&plan) else { return };
    (plan.plan_id, plan.content_id) = (plan_id, content_id);
    let written = stored::write(&plan).expect("what was read can be written");
    match stored::read(&written) {
        Ok(again) => assert_eq!(again, plan),
        Err(stored::StoredError::OtherVersion { .. } | stored::StoredError::TooLarge) => {}
        Err(error) => panic!("what was written is not read: {error}"),
    }
    shown(&plan);
}

fn shown(plan: &PlanDocument) {
    let view = View::default();
    let all =
        [table(plan, &view), diff(plan, &view), markdown(plan, &view), as_json(plan, true).expect("it has a form")];
    for text in all {
        let found = text.chars().find(|&c| is_unsafe(c) && c != '\n' && c != '\t');
        assert!(found.is_none(), "{found:?} is shown as it stands");
    }
}
