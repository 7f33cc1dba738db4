//! Who holds the write lock of a database, where the system tells: SQLite itself doesn't know.

use std::fs;
use std::path::Path;

/// Where in the shared-memory file SQLite locks for a write (`UNIX_SHM_BASE` of its `os_unix.c`).
const WRITE_LOCK: &str = "120";

/// The holder of the write lock, such as `process 1234 (holdfast)`; `None` where that can't be found out.
pub(super) fn holder(database: &Path) -> Option<String> {
    let mut shared = database.as_os_str().to_owned();
    shared.push("-shm");
    let inode = inode(Path::new(&shared))?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let pid = locks.lines().find_map(|line| writer_in(line, inode))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = crate::base::text::escape(name.trim()).into_owned();
    Some(if name.is_empty() { format!("process {pid}") } else { format!("process {pid} ({name})") })
}

/// The process of a line of `/proc/locks`, if it is the write lock of this file.
/// Such a line is `1: POSIX  ADVISORY  WRITE 1234 fe:01:5678 120 120`.
fn writer_in(line: &str, inode: u64) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, "WRITE", pid, file, first, _] = fields.as_slice() else { return None };
    let same = file.rsplit(':').next()? == inode.to_string();
    if same && *first == WRITE_LOCK { pid.parse().ok() } else { None }
}

#[cfg(unix)]
fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|m| m.ino())
}

#[cfg(not(unix))]
fn inode(_: &Path) -> Option<u64> {
    None
}
