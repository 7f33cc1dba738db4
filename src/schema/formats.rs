//! Text formats: base64, times, durations and what else CRDs can ask for.

/// Standard base64 with padding, as Go's `encoding/base64` reads it: line ends are skipped.
pub(super) fn is_base64(text: &str) -> bool {
    let mut count = 0usize;
    let mut padding = 0usize;
    for byte in text.bytes() {
        match byte {
            b'\r' | b'\n' => continue,
            b'=' => padding += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => {}
            _ => return false,
        }
        count += 1;
    }
    count.is_multiple_of(4) && padding <= 2
}

/// RFC 3339 with a zone, as Go's `time.RFC3339` reads it.
pub(super) fn is_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    // jiff reads more than RFC 3339: lower case and blanks are refused here, and so is a missing zone.
    bytes.get(10) == Some(&b'T')
        && (text.ends_with('Z') || bytes.iter().rev().nth(5).is_some_and(|b| matches!(b, b'+' | b'-')))
        && text.parse::<jiff::Timestamp>().is_ok()
}

/// `2026-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// A duration in a custom resource: as Go reads it, or days and weeks (`3 days`; kube-openapi, `strfmt.ParseDuration`).
pub(super) fn is_duration(text: &str) -> bool {
    let long = || {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let units =
            ["d", "day", "days", "w", "week", "weeks", "hour", "hours", "minute", "minutes", "second", "seconds"];
        unit.len() < text.len() && units.contains(&unit.trim_start())
    };
    is_go_duration(text) || long()
}

/// What Go's `time.ParseDuration` reads: a sign, then numbers with units ns, us, ms, s, m, h; or 0.
pub(super) fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let digits = &rest[..number];
        if !digits.bytes().any(|b| b.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        rest = &rest[number..];
        let Some(unit) = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].iter().find(|u| rest.starts_with(**u)) else {
            return false;
        };
        rest = &rest[unit.len()..];
    }
    true
}

/// An address and the length of its prefix.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<std::net::IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    !length.starts_with('+') && length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// An absolute URI or a path, as Go's `url.ParseRequestURI` takes them.
pub(super) fn is_uri(text: &str) -> bool {
    text.starts_with('/') || url::Url::parse(text).is_ok()
}

/// One `@` with something around it.
pub(super) fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, host)| !user.is_empty() && is_hostname(host))
}

/// Labels of letters, digits and `-`, joined by dots.
pub(super) fn is_hostname(text: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}
