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
        self.compiled
            .get_or_init(|| RegexBuilder::new(&from_re2(&self.text)).size_limit(PATTERN_SIZE).build().ok())
            .as_ref()
    }
}

/// Writes a pattern of RE2, which CRDs are written for, so that the `regex` crate reads the same: there `\d`, `\w` and
/// `\s` are ASCII, and `[`, `&&`, `--` and `~~` mean nothing inside of a class.
fn from_re2(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    // Inside of a class, the characters of it so far.
    let mut class: Option<usize> = None;
    let mut last = '\0';
    while let Some(c) = chars.next() {
        let mut kept = c;
        match (c, class) {
            ('\\', _) => {
                let escaped = chars.next().unwrap_or('\\');
                kept = '\0';
                match escaped {
                    'd' => out.push_str("[0-9]"),
                    'D' => out.push_str("[^0-9]"),
                    'w' => out.push_str("[0-9A-Za-z_]"),
                    'W' => out.push_str("[^0-9A-Za-z_]"),
                    's' => out.push_str("[\\t\\n\\x0C\\r ]"),
                    'S' => out.push_str("[^\\t\\n\\x0C\\r ]"),
                    'b' if class.is_none() => out.push_str(r"(?-u:\b)"),
                    '<' | '>' | '_' => out.push(escaped),
                    _ => out.extend(['\\', escaped]),
                }
                class = class.map(|n| n + 1);
            }
            ('[', None) => {
                out.push('[');
                class = Some(0);
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            // The first one of a class is a character of it.
            (']', Some(0)) => {
                out.push_str(r"\]");
                class = Some(1);
            }
            (']', Some(_)) => {
                out.push(']');
                class = None;
            }
            ('[', Some(n)) if chars.peek() == Some(&':') => {
                // A named class such as [:alpha:] goes on to its own end.
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
                class = Some(n + 1);
            }
            ('[', Some(n)) => {
                out.push_str(r"\[");
                class = Some(n + 1);
            }
            ('&' | '-' | '~', Some(n)) if last == c => {
                out.extend(['\\', c]);
                kept = '\0';
                class = Some(n + 1);
            }
            (c, n) => {
                out.push(c);
                class = n.map(|n| n + 1);
            }
        }
        last = kept;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).is_match(text).unwrap_or_else(|| panic!("{pattern} can't be compiled"))
    }

    #[test]
    fn classes_are_ascii_as_in_re2() {
        assert!(matches(r"^\d+$", "12") && !matches(r"^\d+$", "\u{0661}"));
        assert!(matches(r"^[\w.-]{0,63}$", "a_b.c-9") && !matches(r"^\w$", "ä"));
        assert!(matches(r"^[^\s/]+$", "ä") && !matches(r"^\S$", " "));
        assert!(matches(r"^\w{0,253}(\.\w{1,253}){0,4}$", "a.b"));
    }

    #[test]
    fn signs_inside_of_a_class_are_characters_as_in_re2() {
        assert!(matches(r"^[^[]+$", "a]") && !matches(r"^[^[]+$", "["));
        assert!(matches(r"^[a&&b]+$", "a&b") && matches(r"^[~~x]+$", "x~"));
        assert!(matches(r"^[]a]+$", "a]") && matches(r"^[[:alpha:]_]+$", "a_"));
        assert!(matches(r"^[a-z0-9\-\_\/]+$", "a-_/"));
    }

    #[test]
    fn a_pattern_that_is_none_or_too_large_matches_nothing_and_says_so() {
        assert_eq!(Pattern::new("(").is_match(""), None);
        assert_eq!(Pattern::new(r"(\p{L}{1000}){1000}").is_match(""), None);
        assert!(!Pattern::new("(?=a)").is_usable());
    }
}
