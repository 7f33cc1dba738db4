//! A record on the target of which one bit is wrong is an error: no part of it counts as absent.

use rusqlite::Connection;
use serde_json::Value;

use crate::lab::Lab;

const SPEC: &str = "  namespaces: [shop]\n  prune: true\n  permitInGit: [prune]";

/// Two Sources: one is paused and pinned, was refused, and owns what may not go; the other was renamed and removed.
fn lab() -> Lab {
    let lab = Lab::new();
    let (shop, gone) = (lab.repo("shop"), lab.repo("gone"));
    let config = |name: &str, more: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop{more}}}\ndata: {{v: \"1\"}}\n"
        )
    };
    shop.write("a.yaml", config("a", ", annotations: {holdfast.dev/prune: keep}"));
    shop.write("b.yaml", config("b", ", annotations: {holdfast.dev/release-to: other}"));
    shop.write("c.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: c, namespace: shop}\nstringData: {k: v}\n");
    shop.commit("first");
    gone.write("d.yaml", config("d", ""));
    gone.commit("first");
    lab.configure(&[shop.source("shop", SPEC), gone.source("gone", SPEC)]);
    lab.put("admin", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    lab.run(&["run", "--once"]).ok();
    shop.write("e.yaml", config("e", "").replace("data:", "datas:"));
    shop.commit("wrong");
    lab.run(&["run", "--once", "shop"]).exits(1);
    for hold in ["pause", "pin"] {
        lab.run(&["source", hold, "shop", "--reason", "incident", "--until", "2h", "--as", "ada"]).ok();
    }
    lab.run(&["source", "rename", "gone", "went"]).ok();
    lab.configure(&[shop.source("shop", SPEC), gone.source("went", SPEC)]);
    lab.run(&["source", "remove", "went", "--orphan", "--yes"]).ok();
    lab.configure(&[shop.source("shop", SPEC)]);
    lab
}

/// Each way to flip a bit of the last letter of one key, as the whole text again.
fn damages(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(end) = text[at..].find("\":").map(|i| at + i) {
        let start = text[..end].rfind('"').unwrap() + 1;
        let key = &text[start..end];
        // What is declared is a set of the object's own fields, in a form of its own.
        if key.bytes().all(|b| b.is_ascii_alphanumeric()) {
            let last = char::from(text.as_bytes()[end - 1] ^ 1);
            found.push((key.to_owned(), format!("{}{last}{}", &text[..end - 1], &text[end..])));
        }
        at = end + 2;
    }
    found
}

#[test]
fn a_flipped_bit_in_a_key_of_a_record_is_damage_and_never_a_default() {
    let lab = lab();
    let conn = Connection::open(lab.database()).unwrap();
    let mut tried = 0;
    for (table, key, column) in [
        ("source", "key", "record"),
        ("inventory", "key", "row"),
        ("control", "source", "controls"),
        ("looped", "source", "record"),
    ] {
        let mut statement = conn.prepare(&format!("SELECT CAST({key} AS TEXT), {column} FROM {table}")).unwrap();
        let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
        let rows: Vec<(String, String)> = rows.map(Result::unwrap).collect();
        // What the loop remembered of the Source that was removed nobody asks for.
        for (name, text) in rows.into_iter().filter(|(_, text)| table != "looped" || text.contains("refusal")) {
            let put = |text: &str| {
                let sql = format!("UPDATE {table} SET {column} = ?1 WHERE CAST({key} AS TEXT) = ?2");
                assert_eq!(conn.execute(&sql, [text, &name]).unwrap(), 1);
            };
            let whole: Value = serde_json::from_str(&text).unwrap();
            for (key, damaged) in damages(&text) {
                put(&damaged);
                // What the plan doesn't ask for may be damaged; `status` asks for all.
                for (args, asks) in [(["status"], true), (["plan"], table != "looped")] {
                    let said = lab.run(&args);
                    let is_told = said.code == 1 && said.all().contains("is damaged");
                    assert!(is_told || !asks, "{table} {key} of {whole}: {said:?}");
                }
                tried += 1;
            }
            put(&text);
        }
    }
    println!("damaged: {tried} keys");
    assert!(tried > 60, "{tried}");
}
