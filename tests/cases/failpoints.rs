//! Sync points at which a test build of the tool can be told to abort. How they are asked for stands here alone.

use crate::command;
use crate::lab::Lab;
use crate::verdict::Done;

/// The environment variable: `list` names the points, `NAME:N` aborts at the n-th passing of one.
const VARIABLE: &str = "HOLDFAST_FAILPOINT";

/// No apply of a case passes one point more often.
pub(crate) const MOST_PASSINGS: u32 = 64;

/// The names of the points, one a line; none in a build that knows no points.
pub(crate) fn names(lab: &Lab) -> Done<Vec<String>> {
    let folder = lab.folder("failpoints")?;
    let version = |value: Option<&str>| -> Done<String> {
        let mut command = command::hermetic(lab.binary(), folder.path(), folder.path());
        command.arg("--version");
        if let Some(value) = value {
            command.env(VARIABLE, value);
        }
        Ok(command::run(&mut command, folder.path(), "version")?.stdout)
    };
    let (plain, listed) = (version(None)?, version(Some("list"))?);
    let is_name = |line: &str| {
        !line.is_empty() && line.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let known: Vec<&str> = plain.lines().collect();
    Ok(listed.lines().filter(|line| is_name(line) && !known.contains(line)).map(str::to_owned).collect())
}

/// The point at its n-th passing.
pub(crate) fn at(name: &str, nth: u32) -> String {
    format!("{name}:{nth}")
}

/// What makes the tool abort there.
pub(crate) fn environment(point: &str) -> (&'static str, &str) {
    (VARIABLE, point)
}
