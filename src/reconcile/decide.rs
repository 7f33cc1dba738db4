//! What the loop does with a plan. Pure.

use crate::source::spec::{ApplyMode, DriftMode};

/// What is known when it is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is one independent answer")]
pub struct Facts {
    /// The Source's `apply`.
    pub apply: ApplyMode,
    /// The Source's `drift`.
    pub drift: DriftMode,
    /// The Source's `allowRewind`, or it is pinned to that very commit.
    pub may_rewind: bool,
    /// Somebody paused it.
    pub paused: bool,
    /// The plan is of another commit or of other rules than those that were last applied.
    pub is_new: bool,
    /// The commit doesn't descend from the applied one.
    pub rewind: bool,
    /// The commit is not on the Source's ref.
    pub preview: bool,
    /// The plan would change something.
    pub pending: bool,
    /// All that it would change is what others did to owned objects.
    pub only_drift: bool,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// There is nothing to do.
    Nothing,
    /// The plan is applied: it brings something new.
    Apply,
    /// The plan is applied: it brings back what was applied.
    Repair,
    /// It is left to people, for this reason.
    Wait(&'static str),
}

/// Decides.
pub fn decide(facts: &Facts) -> Decision {
    let Facts { is_new, pending, .. } = *facts;
    if !is_new && !pending {
        return Decision::Nothing;
    }
    if facts.paused {
        return Decision::Wait("paused");
    }
    if !is_new && facts.only_drift {
        return match facts.drift {
            DriftMode::AutoRevert => Decision::Repair,
            DriftMode::Warn => Decision::Wait("drift"),
        };
    }
    match facts.apply {
        ApplyMode::Reviewed => Decision::Wait("reviewed"),
        ApplyMode::Never => Decision::Wait("never"),
        ApplyMode::Auto if is_new && facts.rewind && !facts.may_rewind => Decision::Wait("rewind"),
        ApplyMode::Auto if facts.preview => Decision::Wait("unmerged"),
        ApplyMode::Auto => Decision::Apply,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Facts = Facts {
        apply: ApplyMode::Auto,
        drift: DriftMode::AutoRevert,
        may_rewind: false,
        paused: false,
        is_new: true,
        rewind: false,
        preview: false,
        pending: true,
        only_drift: false,
    };
    const DRIFT: Facts = Facts { is_new: false, only_drift: true, ..NEW };

    #[test]
    fn a_new_commit_is_applied_or_left_to_people_as_the_source_says() {
        for (apply, decision) in [
            (ApplyMode::Auto, Decision::Apply),
            (ApplyMode::Reviewed, Decision::Wait("reviewed")),
            (ApplyMode::Never, Decision::Wait("never")),
        ] {
            assert_eq!(decide(&Facts { apply, ..NEW }), decision);
            // One without Changes is recorded as well.
            assert_eq!(decide(&Facts { apply, pending: false, ..NEW }), decision);
        }
    }

    #[test]
    fn a_rewind_waits_unless_it_is_allowed_or_pinned_to() {
        assert_eq!(decide(&Facts { rewind: true, ..NEW }), Decision::Wait("rewind"));
        assert_eq!(decide(&Facts { rewind: true, may_rewind: true, ..NEW }), Decision::Apply);
    }

    #[test]
    fn drift_is_repaired_whatever_the_source_does_with_new_commits_but_what_more_is_pending_is_not() {
        for apply in [ApplyMode::Auto, ApplyMode::Reviewed, ApplyMode::Never] {
            assert_eq!(decide(&Facts { apply, ..DRIFT }), Decision::Repair);
            assert_eq!(decide(&Facts { apply, drift: DriftMode::Warn, ..DRIFT }), Decision::Wait("drift"));
            assert_eq!(decide(&Facts { apply, pending: false, ..DRIFT }), Decision::Nothing);
        }
        assert_eq!(decide(&Facts { apply: ApplyMode::Never, only_drift: false, ..DRIFT }), Decision::Wait("never"));
    }

    #[test]
    fn a_paused_source_is_left_alone_whatever_is_pending() {
        assert_eq!(decide(&Facts { paused: true, ..NEW }), Decision::Wait("paused"));
        assert_eq!(decide(&Facts { paused: true, ..DRIFT }), Decision::Wait("paused"));
        assert_eq!(decide(&Facts { paused: true, pending: false, ..DRIFT }), Decision::Nothing);
    }
}
