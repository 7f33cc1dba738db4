//! Schedules of CronJobs: five fields, or `@daily` and the like (robfig/cron, `ParseStandard`).

const FIELDS: [(&str, u32, u32); 5] =
    [("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12), ("day of the week", 0, 6)];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

pub(super) fn check(text: &str) -> Result<(), String> {
    if text.contains("TZ") {
        return Err("the time zone stands in timeZone".to_owned());
    }
    if let Some(word) = text.strip_prefix('@') {
        let known = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"].contains(&word);
        let every = word.strip_prefix("every ").is_some_and(crate::schema::formats::is_go_duration);
        return if known || every { Ok(()) } else { Err(format!("there is no @{word}")) };
    }
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("it has {} fields and needs 5", fields.len()));
    }
    for (field, (name, from, to)) in fields.into_iter().zip(FIELDS) {
        for part in field.split(',') {
            if !range(part, from, to) {
                return Err(format!("{part:?} is no {name} from {from} to {to}"));
            }
        }
    }
    Ok(())
}

/// `*`, `?`, `N`, `N-M`, each with `/STEP` or without.
fn range(part: &str, from: u32, to: u32) -> bool {
    let (span, step) = match part.split_once('/') {
        Some((span, step)) => (span, step),
        None => (part, "1"),
    };
    if !step.parse::<u32>().is_ok_and(|step| step > 0) {
        return false;
    }
    if span == "*" || span == "?" {
        return true;
    }
    let (low, high) = span.split_once('-').unwrap_or((span, span));
    match (number(low, to), number(high, to)) {
        (Some(low), Some(high)) => from <= low && low <= high && high <= to,
        _ => false,
    }
}

fn number(text: &str, to: u32) -> Option<u32> {
    let low = text.to_ascii_lowercase();
    let place = |names: &[&str]| names.iter().position(|n| *n == low).and_then(|i| u32::try_from(i).ok());
    match to {
        12 => place(&MONTHS).map(|i| i + 1).or_else(|| text.parse().ok()),
        6 => place(&DAYS).or_else(|| text.parse().ok()),
        _ => text.parse().ok(),
    }
}
