//! Durations as Kubernetes writes them: `90s`, `5m`, `1h30m`, `500ms`.

use std::time::Duration;

use super::super::rules;
use super::cursor::{Report, text};
use super::yaml::Node;

/// Reads a duration that is more than nothing.
pub(super) fn duration(node: &Node, report: &mut Report) -> Option<Duration> {
    read(node, report, false)
}

/// The same, and `0s` for not at all.
pub(super) fn duration_or_none(node: &Node, report: &mut Report) -> Option<Duration> {
    read(node, report, true)
}

fn read(node: &Node, report: &mut Report, zero: bool) -> Option<Duration> {
    let found = text(node, report)?;
    let read = parse(&found).filter(|d| zero || !d.is_zero());
    if read.is_none() {
        let text = format!("{found:?} is no duration: write 90s, 5m or 1h30m");
        report.here(rules::TYPE_MISMATCH, node, text);
    }
    read
}

fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut millis: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        // `ms` before `m`: the longer unit first.
        let (unit, each) = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]
            .into_iter()
            .find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        millis = millis.checked_add(count.checked_mul(each)?)?;
    }
    // A year is longer than anybody waits; more would overflow sums later on.
    (millis <= 366 * 24 * 3_600_000).then_some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_exactly_or_refused() {
        assert_eq!(parse("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        for bad in ["", "5", "m", "5 m", "-5m", "1.5h", "99999999999999999999s", "9999999h", "5mm5"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
