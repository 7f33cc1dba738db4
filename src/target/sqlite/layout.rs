//! The tables of a database file, and how files of earlier versions come to have them.

use rusqlite::Connection;

/// Says that an SQLite file is ours (`application_id`, the bytes `HFCP`).
pub(super) const APPLICATION_ID: i32 = 0x4846_4350;

/// The steps from an empty file to the present format; the format's number is how many were done. Steps that were
/// released are never changed: add another.
pub(super) const MIGRATIONS: &[&str] = &[FIRST, SECOND];

/// Format 1.
///
/// - `resource` has one row for every resource that ever was; `uid` is null while there is no such object. Bodies stand
///   apart, so that identities are read without them. A body has no resourceVersion: that is the column, as in etcd.
/// - `inventory.key` is the Source's key times 2^40 plus the resource's: one tree finds rows by Source and by both.
const FIRST: &str = "
CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  identity TEXT NOT NULL,
  revision INTEGER NOT NULL
) STRICT;
CREATE TABLE resource (
  key INTEGER PRIMARY KEY,
  grp TEXT NOT NULL,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  uid TEXT,
  version INTEGER NOT NULL DEFAULT 0,
  mark TEXT,
  owners TEXT,
  system INTEGER NOT NULL DEFAULT 0,
  UNIQUE (grp, kind, namespace, name)
) STRICT;
CREATE INDEX owned ON resource (key) WHERE owners IS NOT NULL;
CREATE TABLE body (
  key INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE source (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL
) STRICT;
CREATE TABLE inventory (
  key INTEGER PRIMARY KEY,
  row TEXT NOT NULL
) STRICT;
CREATE TABLE released (
  key INTEGER PRIMARY KEY,
  source INTEGER NOT NULL,
  row TEXT NOT NULL
) STRICT;
CREATE TABLE entry (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  operation TEXT NOT NULL,
  plan TEXT,
  entry TEXT NOT NULL,
  details TEXT NOT NULL
) STRICT;
CREATE INDEX applied ON entry (plan) WHERE operation = 'apply';
CREATE TABLE line (
  resource INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  operation TEXT NOT NULL,
  uid TEXT NOT NULL,
  version INTEGER NOT NULL,
  fields TEXT,
  PRIMARY KEY (resource, entry)
) STRICT, WITHOUT ROWID;
";

/// Format 2: what people told about Sources, and what the loop remembers of them. A Source may stand here that was never
/// applied.
const SECOND: &str = "
CREATE TABLE control (
  source TEXT PRIMARY KEY,
  controls TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE looped (
  source TEXT PRIMARY KEY,
  record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// The format that `migrations` lead to.
pub(super) fn format(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

/// Brings a file forward from format `from`, inside a transaction that the caller opened and commits.
pub(super) fn migrate(conn: &Connection, from: u32, migrations: &[&str]) -> rusqlite::Result<()> {
    for step in migrations.iter().skip(from as usize) {
        conn.execute_batch(step)?;
    }
    conn.pragma_update(None, "user_version", format(migrations))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(conn: &Connection) -> u32 {
        conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_file_gets_the_steps_that_it_lacks_and_no_others() {
        let conn = Connection::open_in_memory().unwrap();
        let old: &[&str] = &["CREATE TABLE a (x INTEGER)"];
        let new: &[&str] = &[old[0], "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 7", "UPDATE a SET x = x + 1"];
        migrate(&conn, 0, old).unwrap();
        conn.execute("INSERT INTO a VALUES (1)", ()).unwrap();
        assert_eq!(version(&conn), 1);
        migrate(&conn, 1, new).unwrap();
        migrate(&conn, version(&conn), new).unwrap();
        let row = conn.query_row("SELECT x, y FROM a", (), |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?))).unwrap();
        assert_eq!((version(&conn), row), (3, (2, 7)));
    }
}
