//! Sources that are removed leave nothing behind that is nobody's unsaid; one that is rebuilt takes only what it marked.

use super::{Beside, is_write};
use crate::plan::document::{Action, ChangeEntry, Purpose};
use crate::plan::input::SourceInput;

pub(super) fn ends_as_asked(
    beside: &Beside<'_>,
    change: &ChangeEntry,
    input: &SourceInput<'_>,
    broken: &mut Vec<String>,
) {
    let id = &change.id;
    let mut say = |text: &str| broken.push(format!("{id} {text}"));
    let proven = beside.is_proven(id, input);
    if is_write(change.action) {
        say("would be written though its Source is removed");
    }
    let released = beside.plan.allowances.release.iter().any(|given| *given == id.to_string());
    match (input.purpose, change.action) {
        (Purpose::Orphan, Action::Delete) => say("would be deleted though it is to be let go"),
        (Purpose::Prune, Action::Keep) if proven => say("would stay though its Source is removed with its objects"),
        (Purpose::Prune, Action::Release) if proven && !released => say("would stay though nobody let it go"),
        (Purpose::Orphan, Action::Keep) if proven => say("would stay marked though its Source is removed"),
        _ => {}
    }
}

pub(super) fn takes_back_only_what_it_marked(
    beside: &Beside<'_>,
    change: &ChangeEntry,
    input: &SourceInput<'_>,
    broken: &mut Vec<String>,
) {
    let id = &change.id;
    let head = beside.head(id);
    let marked = head.is_some_and(
        |head| matches!(&head.mark, Ok(Some(mark)) if mark.source == input.id && mark.resource == *id && head.id == *id),
    );
    let same = change.uid.as_ref() == head.map(|head| &head.uid);
    if change.action != Action::Adopt || !marked || !same || beside.is_proven(id, input) || !change.fields.is_empty() {
        broken
            .push(format!("{id} would be taken back though it doesn't bear the Source's mark, or is its own already"));
    }
}
