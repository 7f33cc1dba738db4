//! Ranges, lengths and patterns of a schema.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde_json::Number;

/// Bytes that a compiled pattern may take; a pattern over it can't be checked and refuses.
const PATTERN_SIZE: usize = 1 << 20;

/// Ranges, lengths and patterns (JSON Schema's validation keywords of the same names).
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The least number.
    pub minimum: Option<Number>,
    /// The largest number.
    pub maximum: Option<Number>,
    /// Whether the least number itself is refused.
    pub exclusive_minimum: bool,
    /// Whether the largest number itself is refused.
    pub exclusive_maximum: bool,
    /// What a number must be a multiple of.
    pub multiple_of: Option<Number>,
    /// The fewest characters.
    pub min_length: Option<u64>,
    /// The most characters.
    pub max_length: Option<u64>,
    /// What a text must match somewhere.
    pub pattern: Option<Pattern>,
    /// The fewest entries of a list.
    pub min_items: Option<u64>,
    /// The most entries of a list.
    pub max_items: Option<u64>,
    /// Whether no two entries of a list may be equal.
    pub unique_items: bool,
    /// The fewest fields of a map.
    pub min_properties: Option<u64>,
    /// The most fields of a map.
    pub max_properties: Option<u64>,
}

/// A regular expression, compiled when first used.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern from its text, not yet compiled.
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: OnceLock::new() }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether some part of a text matches; `None` if the pattern can't be compiled or is too large.
    pub fn is_match(&self, text: &str) -> Option<bool> {
        self.compiled().map(|regex| regex.is_match(text))
    }

    /// Whether it can be used at all.
    pub fn is_usable(&self) -> bool {
        self.compiled().is_some()
    }

    fn compiled(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| RegexBuilder::new(&self.text).size_limit(PATTERN_SIZE).build().ok()).as_ref()
    }
}
