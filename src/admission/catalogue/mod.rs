//! Every rule of the program, described: what `holdfast explain RULE` prints.

mod manifests;
mod plans;
mod policies;
mod sources;
mod values;

/// A rule, described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDoc {
    /// Its ID.
    pub id: &'static str,
    /// What it asks, in one line.
    pub summary: &'static str,
    /// Why, and what to do.
    pub explanation: &'static str,
    /// An example.
    pub example: &'static str,
}

const fn rule(id: &'static str, summary: &'static str, explanation: &'static str, example: &'static str) -> RuleDoc {
    RuleDoc { id, summary, explanation, example }
}

/// All rules, by theme and then as they stand there.
pub fn all() -> impl Iterator<Item = &'static RuleDoc> {
    [sources::RULES, manifests::RULES, values::RULES, policies::RULES, plans::RULES].into_iter().flatten()
}

/// The rule of an ID.
pub fn find(id: &str) -> Option<&'static RuleDoc> {
    all().find(|rule| rule.id == id)
}
