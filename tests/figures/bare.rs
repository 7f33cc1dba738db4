//! The bare work that figures are compared with.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{Measured, run};

/// Parses every file of a folder into libyaml events, on one thread, and throws them away.
pub fn parse(folder: &Path) {
    let mut events = 0usize;
    for path in files(folder) {
        let mut bytes = Vec::new();
        std::fs::File::open(&path).and_then(|mut f| f.read_to_end(&mut bytes)).expect("a file");
        let mut input = bytes.as_slice();
        let mut parser = libyaml_safer::Parser::new();
        parser.set_input(&mut input);
        loop {
            let event = parser.parse().expect("an event");
            events += 1;
            if matches!(event.data, libyaml_safer::EventData::StreamEnd) {
                break;
            }
        }
    }
    assert!(events > 0, "nothing was parsed");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    found.sort();
    found
}

/// A new process that does [`parse`].
pub fn parse_process(folder: &Path) -> Measured {
    run(Command::new(std::env::current_exe().expect("this program")).arg("bare-parse").arg(folder)).0
}

/// Upserts all rows of all tables of a database into a copy of its schema, in one transaction with prepared statements, and
/// prints how long BEGIN to COMMIT took.
pub fn upserts(database: &Path, copy: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", copy.display()));
    }
    let from = rusqlite::Connection::open(database).expect("the database");
    let to = rusqlite::Connection::open(copy).expect("the copy");
    to.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;").expect("pragmas");
    let mut statement = from
        .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC")
        .expect("the schema");
    let schema: Vec<String> = statement.query_map([], |r| r.get(0)).expect("rows").map(|r| r.expect("a row")).collect();
    for sql in schema {
        to.execute_batch(&sql).expect("a table or index");
    }
    let mut tables = from
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        .expect("the tables");
    let names: Vec<String> = tables.query_map([], |r| r.get(0)).expect("rows").map(|r| r.expect("a row")).collect();
    let mut rows: Vec<(String, Vec<Vec<rusqlite::types::Value>>)> = Vec::new();
    for name in names {
        let mut select = from.prepare(&format!("SELECT * FROM \"{name}\"")).expect("a table");
        let columns = select.column_count();
        let marks = vec!["?"; columns].join(", ");
        let all = select
            .query_map([], |r| (0..columns).map(|i| r.get(i)).collect::<Result<Vec<rusqlite::types::Value>, _>>())
            .expect("rows")
            .map(|r| r.expect("a row"))
            .collect();
        rows.push((format!("INSERT OR REPLACE INTO \"{name}\" VALUES ({marks})"), all));
    }
    let start = std::time::Instant::now();
    to.execute_batch("BEGIN IMMEDIATE").expect("begin");
    for (sql, all) in &rows {
        let mut insert = to.prepare_cached(sql).expect("an insert");
        for row in all {
            insert.execute(rusqlite::params_from_iter(row)).expect("a row");
        }
    }
    to.execute_batch("COMMIT").expect("commit");
    println!("transaction {}", start.elapsed().as_micros());
}

/// A new process that does [`upserts`].
pub fn upserts_process(database: &Path, copy: &Path) -> Measured {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let (measured, output) = run(command.arg("bare-upserts").arg(database).arg(copy));
    let micros = output.lines().find_map(|line| line.strip_prefix("transaction ")).expect("a time");
    Measured { wall: Duration::from_micros(micros.parse().expect("a number")), ..measured }
}
