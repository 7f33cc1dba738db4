//! What must hold of any bytes, for each of the four readers of what comes from outside. The fuzzer runs them, and
//! `tests/fuzzed.rs` on what it found.

pub mod config;
pub mod manifest;
pub mod plan;
pub mod tree;

use holdfast::base::fault::{At, Fault};

/// Every fault stands at a place of the text, and `explain` knows its rule.
pub fn are_placed(faults: &[Fault], text: &[u8]) {
    for fault in faults {
        assert!(holdfast::admission::catalogue::find(fault.rule.as_str()).is_some(), "nobody describes {fault:?}");
        for at in fault.at.iter().chain(&fault.also) {
            is_inside(at, text);
        }
    }
}

/// A place is one of the text, if it is one at all: a fault of a whole file has none.
pub fn is_inside(at: &At, text: &[u8]) {
    // A lone carriage return, U+0085, U+2028 and U+2029 end lines too, as YAML 1.1 has it; UTF-16 has a line end in two bytes.
    let lines = 1 + text.iter().filter(|&&b| matches!(b, b'\n' | b'\r' | 0x85 | 0xa8 | 0xa9)).count();
    assert!(at.line as usize <= lines, "line {} of {lines}", at.line);
    assert!(at.column as usize <= text.len() + 1, "column {} of {} bytes", at.column, text.len());
    assert_eq!(at.line == 0, at.column == 0, "half a place: {at:?}");
}
