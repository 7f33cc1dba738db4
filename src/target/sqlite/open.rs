//! Opening a database file, and making one: never half of one, and never over anything that is there.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::failure::{self, Name};
use super::layout::{self, APPLICATION_ID, MIGRATIONS};
use super::object::{self, Stamp};
use crate::base::clock::Moment;
use crate::base::failpoint;
use crate::target::TargetError;

/// The Namespaces of an empty cluster.
pub(super) const SYSTEM_NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Whether a file is there that could be a database of ours.
///
/// # Errors
/// If something is there that can't be one: it is left alone.
pub(super) fn is_there(name: &Name) -> Result<bool, TargetError> {
    let mut file = match fs::File::open(&name.path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return no_remains(name).map(|()| false),
        Err(error) => return Err(name.unavailable(error.to_string())),
    };
    if !file.metadata().map_err(|e| name.unavailable(e.to_string()))?.is_file() {
        return Err(name.unavailable("it is no file"));
    }
    let mut header = [0; 100];
    match file.read_exact(&mut header) {
        Ok(()) if header.starts_with(b"SQLite format 3\0") => {}
        Ok(()) => return Err(name.damaged("it is no SQLite database; it was left as it is")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(name.damaged("it is too short for a database; it was left as it is"));
        }
        Err(error) => return Err(name.unavailable(error.to_string())),
    }
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        page => page,
    };
    whole(name, page)?;
    // Set when the file was made, before it had its name, and never changed.
    if header[68..72] != APPLICATION_ID.to_be_bytes() {
        return Err(name.unavailable("it is an SQLite database, but none of Holdfast's; it was left as it is"));
    }
    Ok(true)
}

/// Looks whether the file is still there, without opening it: to close a file takes away all locks that the process has on
/// it, those of other connections too, and then another process could clear their log away under them.
fn stands(name: &Name) -> Result<(), TargetError> {
    match fs::metadata(&name.path) {
        Ok(found) if !found.is_file() => Err(name.unavailable("it is no file")),
        Ok(found) if found.len() < 100 => Err(name.damaged("it is too short for a database; it was left as it is")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(name.unavailable("there is no such file")),
        Err(error) => Err(name.unavailable(error.to_string())),
    }
}

/// Refuses a file that isn't made of whole pages. SQLite would read the rest of the last one as zeros. While a log is there
/// the file may be at any length in between; one may have come and gone between two looks.
fn whole(name: &Name, page: u64) -> Result<(), TargetError> {
    let is_cut = || {
        let length = fs::metadata(&name.path).map_or(0, |m| m.len());
        log_length(name) == 0 && (page < 512 || !length.is_multiple_of(page))
    };
    if is_cut() && is_cut() {
        return Err(name.damaged("it is cut off; it was left as it is"));
    }
    Ok(())
}

fn log_length(name: &Name) -> u64 {
    fs::metadata(beside(&name.path, "-wal")).map_or(0, |m| m.len())
}

/// A database that is gone while its log is still there can't be made anew: SQLite would play the log into it.
fn no_remains(name: &Name) -> Result<(), TargetError> {
    for ending in ["-wal", "-journal"] {
        let beside = beside(&name.path, ending);
        if beside.exists() {
            let reason =
                format!("the file is gone, but {} is still there: restore both or remove both", beside.display());
            return Err(name.damaged(reason));
        }
    }
    Ok(())
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(ending);
    beside.into()
}

/// Makes a database, unless another process made it meanwhile. It has its name only when it is whole.
pub(super) fn make(name: &Name, now: Moment) -> Result<(), TargetError> {
    let failed = |error: io::Error| name.write_failed(error.to_string());
    let folder = match name.path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    make_folder(&folder).map_err(failed)?;
    let place =
        tempfile::Builder::new().prefix(".holdfast-new-").tempfile_in(&folder).map_err(failed)?.into_temp_path();
    let conn = Connection::open(&place).map_err(|e| name.writing(e))?;
    fill(&conn, now).map_err(|e| name.writing(e))?;
    conn.close().map_err(|(_, e)| name.writing(e))?;
    fs::File::open(&place).and_then(|file| file.sync_all()).map_err(failed)?;
    failpoint::hit(failpoint::STORE_MADE);
    match place.persist_noclobber(&name.path) {
        Ok(()) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(failed(error.error)),
    }
    fs::File::open(&folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    failpoint::hit(failpoint::STORE_PLACED);
    Ok(())
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn fill(conn: &Connection, now: Moment) -> rusqlite::Result<()> {
    conn.pragma_update(None, "page_size", 8192)?;
    // Until it has its name nobody would miss it: it is synced once, when it is whole.
    conn.pragma_update(None, "synchronous", "OFF")?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    layout::migrate(conn, 0, MIGRATIONS)?;
    let mut counter = 0_i64;
    for namespace in SYSTEM_NAMESPACES {
        counter += 1;
        let uid = uuid::Uuid::new_v4().to_string();
        let mut value = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        object::stamp(&mut value, &Stamp { uid: &uid, generation: 1, created: &now.rfc3339() });
        let put = "INSERT INTO resource (key, grp, kind, namespace, name, uid, version, system)
             VALUES (?1, '', 'Namespace', '', ?2, ?3, ?1, 1)";
        conn.execute(put, (counter, namespace, &uid))?;
        conn.execute("INSERT INTO body VALUES (?1, ?2)", (counter, value.to_string()))?;
    }
    conn.execute("INSERT INTO meta VALUES (1, ?1, ?2)", (uuid::Uuid::new_v4().to_string(), counter))?;
    conn.execute_batch("COMMIT")?;
    conn.pragma_update(None, "journal_mode", "WAL")
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It writes nothing.
    Read,
    /// It writes.
    Write,
}

/// Opens a database that is there.
///
/// # Errors
/// If it is of another format than the present one: [`forward`] comes before.
pub(super) fn connect(name: &Name, purpose: Purpose, wait: Duration) -> Result<Connection, TargetError> {
    stands(name)?;
    let opened = open(&name.path, purpose, wait);
    let (conn, found) = match opened {
        Ok(opened) => opened,
        Err(error) if purpose == Purpose::Read && failure::is_no_access(&error) => immutable(name, &error)?,
        Err(error) if failure::is_no_access(&error) => {
            return Err(name.write_failed("the file, its folder or its file system is read-only"));
        }
        Err(error) => return Err(name.reading(error)),
    };
    let number =
        |pragma| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(|e| name.reading(e));
    whole(name, number("page_size")?.unsigned_abs())?;
    if number("application_id")? != i64::from(APPLICATION_ID) {
        return Err(name.unavailable("it is an SQLite database, but none of Holdfast's; it was left as it is"));
    }
    let known = layout::format(MIGRATIONS);
    if found > known {
        return Err(TargetError::Newer { target: name.shown.clone(), found, known });
    }
    if found == 0 {
        return Err(name.damaged("it has no format number"));
    }
    if found < known {
        let reason = format!("it has format {found} of an earlier holdfast: open it once where it can be written");
        return Err(name.unavailable(reason));
    }
    Ok(conn)
}

/// Opens the file and reads its format, which takes SQLite through the header, the file's length and its log.
fn open(path: &Path, purpose: Purpose, wait: Duration) -> rusqlite::Result<(Connection, u32)> {
    // Readers open it for writing too, where they may: else the last one couldn't clear the log away. `query_only`
    // holds them from more.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(wait)?;
    let found = settle(&conn, purpose)?;
    Ok((conn, found))
}

fn settle(conn: &Connection, purpose: Purpose) -> rusqlite::Result<u32> {
    conn.set_prepared_statement_cache_capacity(64);
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    match purpose {
        Purpose::Read => conn.pragma_update(None, "query_only", true)?,
        Purpose::Write => {
            conn.pragma_update(None, "synchronous", "FULL")?;
            conn.pragma_update(None, "cache_size", -32_768)?;
            // The log is written back after the commit, not within it.
            conn.pragma_update(None, "wal_autocheckpoint", 0)?;
        }
    }
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// A file in a folder that can't be written: SQLite can't make its shared memory there. With no log left over the file
/// alone is whole, and is read as one that nobody changes.
fn immutable(name: &Name, why: &rusqlite::Error) -> Result<(Connection, u32), TargetError> {
    if log_length(name) > 0 {
        let reason =
            format!("{why}; a log from an earlier write is still beside it: open it once where it can be written");
        return Err(name.unavailable(reason));
    }
    let mut uri = String::from("file:");
    for byte in path_bytes(&name.path) {
        match byte {
            b'/' | b'-' | b'_' | b'.' => uri.push(char::from(byte)),
            b if b.is_ascii_alphanumeric() => uri.push(char::from(b)),
            b => uri.push_str(&format!("%{b:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(uri, flags).map_err(|e| name.reading(e))?;
    let found = settle(&conn, Purpose::Read).map_err(|e| name.reading(e))?;
    Ok((conn, found))
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn path_bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}

/// Brings a database of an earlier format forward, in one transaction.
pub(super) fn forward(name: &Name, wait: Duration) -> Result<(), TargetError> {
    let (conn, found) = match open(&name.path, Purpose::Write, wait) {
        Ok(opened) => opened,
        // What can't be written may be read all the same.
        Err(error) if failure::is_no_access(&error) => return Ok(()),
        Err(error) => return Err(name.reading(error)),
    };
    let known = layout::format(MIGRATIONS);
    if found == 0 || found >= known {
        return Ok(());
    }
    let migrate = || -> rusqlite::Result<()> {
        conn.execute_batch("BEGIN IMMEDIATE")?;
        // Another process may have done it meanwhile.
        let found: u32 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found < known {
            layout::migrate(&conn, found, MIGRATIONS)?;
        }
        conn.execute_batch("COMMIT")
    };
    migrate().map_err(|e| name.writing(e))
}
