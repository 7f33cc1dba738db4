//! The time, handed in: the library never reads the wall clock by itself.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment, in whole milliseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(i64);

impl Moment {
    /// A moment from milliseconds since 1970.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339, to the millisecond; `None` of anything else.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }

    /// RFC 3339 in UTC with seconds, as Kubernetes writes times (`2026-01-02T03:04:05Z`).
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0 - self.0.rem_euclid(1000))
            .map_or_else(|_| format!("{}ms", self.0), |t| t.to_string())
    }

    /// The same with six digits of a second, as Leases and Events have times.
    pub fn rfc3339_micros(self) -> String {
        let text = self.rfc3339();
        format!("{}.{:03}000Z", text.trim_end_matches('Z'), self.0.rem_euclid(1000))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// Where the time comes from.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Moment;
}
