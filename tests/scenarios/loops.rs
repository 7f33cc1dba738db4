//! What the loop does when the target says no for a while, and when an object moves between two repositories.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::lab::{Lab, Repo};
use crate::reconcile::{Running, events, lines};

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";

fn quota(maps: u32) -> String {
    format!(
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q, namespace: shop}}\nspec: {{hard: {{count/configmaps: \"{maps}\"}}}}\n"
    )
}

fn config(name: &str, annotations: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop{annotations}}}\ndata: {{v: \"1\"}}\n"
    )
}

/// The loop's record of the one Source there is.
fn record(lab: &Lab) -> Value {
    let conn = Connection::open(lab.database()).unwrap();
    let text: String = conn.query_row("SELECT record FROM looped", (), |row| row.get(0)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Lets the time of the next try come, as if it had passed.
pub fn let_time_pass(lab: &Lab) {
    let mut record = record(lab);
    record["refusal"]["nextTry"] = json!(1_577_836_800_000_i64);
    let conn = Connection::open(lab.database()).unwrap();
    assert_eq!(conn.execute("UPDATE looped SET record = ?1", [record.to_string()]).unwrap(), 1);
}

fn seconds(moment: &Value) -> i64 {
    moment.as_i64().unwrap() / 1000
}

fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

#[test]
fn what_the_target_refuses_is_tried_five_times_ever_later_then_told_and_left_until_somebody_asks() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", config("a", ""));
    repo.commit("one more than the quota");
    lab.configure(&[repo.source("shop", "  namespaces: [shop]\n  interval: 1s")]);
    lab.put("admin", NAMESPACE);
    lab.put("admin", &quota(0));
    let tick = |code| lines(&lab.run(&["run", "--once", "--log-format", "json"]).exits(code));
    let mut waits = Vec::new();
    for n in 1..=5 {
        let before = now();
        let told = tick(1);
        let refused = events(&told, "refused");
        assert_eq!((refused.len(), &refused[0]["class"]), (1, &json!("target")), "try {n}: {told:?}");
        assert_eq!(record(&lab)["refusal"]["tries"], n);
        let next = &record(&lab)["refusal"]["nextTry"];
        if n < 5 {
            waits.push(seconds(next) - before);
            // It isn't tried before that.
            let still = tick(1);
            assert!(events(&still, "refused")[0]["message"].as_str().unwrap().starts_with("still "), "{still:?}");
            assert_eq!(record(&lab)["refusal"]["tries"], n);
            let_time_pass(&lab);
        } else {
            assert_eq!(next, &Value::Null, "the fifth was the last by itself");
        }
    }
    for (wait, least) in waits.iter().zip([10, 20, 40, 80]) {
        assert!((least..least + 60).contains(wait), "{waits:?}");
    }
    let noted = || {
        let history = lab.run(&["history", "-o", "json"]).ok().json();
        history["entries"].as_array().unwrap().iter().filter(|entry| entry["operation"] == "refused").count()
    };
    assert_eq!(noted(), 2, "the first and the last");
    let status = lab.run(&["status", "-o", "json"]).ok();
    assert!(status.stdout.contains("quota"), "{status:?}");
    // Nothing by itself any more.
    assert!(events(&tick(1), "refused")[0]["message"].as_str().unwrap().starts_with("still "));
    assert_eq!(record(&lab)["refusal"]["tries"], 5);
    // Somebody asks: it is judged again, once.
    lab.run(&["source", "retry", "shop"]).ok();
    let told = tick(1);
    assert!(!events(&told, "refused")[0]["message"].as_str().unwrap().starts_with("still "), "{told:?}");
    assert!(events(&tick(1), "refused")[0]["message"].as_str().unwrap().starts_with("still "));
    assert!(lab.live("ConfigMap/shop/a").is_none());
    // And once there is room, the next one who asks is served.
    lab.put("admin", &quota(1));
    lab.run(&["source", "retry", "shop"]).ok();
    assert_eq!(events(&tick(0), "applied").len(), 1);
    assert!(lab.live("ConfigMap/shop/a").is_some());
    assert_eq!(record(&lab)["refusal"], Value::Null);
}

/// Two repositories with a Source each; x is a's.
struct Two {
    lab: Lab,
    a: Repo,
    b: Repo,
    uid: Value,
}

impl Two {
    fn new(annotations: &str) -> Self {
        let lab = Lab::new();
        let (a, b) = (lab.repo("repo-a"), lab.repo("repo-b"));
        a.write("own.yaml", config("of-a", ""));
        a.write("x.yaml", config("x", annotations));
        a.commit("first");
        b.write("own.yaml", config("of-b", ""));
        b.commit("first");
        let spec = "  namespaces: [shop]\n  prune: true\n  pruneBudget: {objects: 100, percent: 100}\n  interval: 1s";
        lab.configure(&[a.source("a", spec), b.source("b", spec)]);
        lab.put("admin", NAMESPACE);
        lab.run(&["run", "--once"]).ok();
        let uid = lab.live("ConfigMap/shop/x").unwrap()["metadata"]["uid"].clone();
        Self { lab, a, b, uid }
    }

    /// One tick each; what is refused meanwhile says so and changes nothing.
    #[track_caller]
    fn ticks(&self, order: [&str; 2], when: &str) {
        for source in order {
            let said = self.lab.run(&["run", "--once", source]);
            assert!([0, 1].contains(&said.code), "{when}: {said:?}");
            self.is_there(when);
        }
    }

    #[track_caller]
    fn is_there(&self, when: &str) {
        let live = self.lab.live("ConfigMap/shop/x").unwrap_or_else(|| panic!("{when}: a gap"));
        assert_eq!(live["metadata"]["uid"], self.uid, "{when}");
    }

    fn leaves(&self) {
        self.a.remove("x.yaml");
        self.a.commit("x leaves");
    }

    fn comes(&self) {
        self.b.write("x.yaml", config("x", ""));
        self.b.commit("x comes");
    }

    fn owner(&self) -> String {
        let list = self.lab.run(&["source", "list", "-o", "json"]).ok().json();
        let live = self.lab.live("ConfigMap/shop/x").unwrap();
        let mark = live["metadata"]["annotations"]["holdfast.dev/owner"].as_str().unwrap().to_owned();
        let all = list["sources"].as_array().unwrap();
        let of = all.iter().find(|source| mark.starts_with(source["id"].as_str().unwrap())).unwrap();
        of["name"].as_str().unwrap().to_owned()
    }

    /// b has it, and in all its time nobody deleted it.
    #[track_caller]
    fn is_moved(&self, when: &str) {
        self.is_there(when);
        assert_eq!(self.owner(), "b", "{when}");
        assert_eq!(self.lab.plan(&[])["changes"], json!([]), "{when}");
        let conn = Connection::open(self.lab.database()).unwrap();
        let sql =
            "SELECT count(DISTINCT line.uid) FROM line JOIN resource ON resource.key = line.resource WHERE name = 'x'";
        let uids: i64 = conn.query_row(sql, (), |row| row.get(0)).unwrap();
        assert_eq!(uids, 1, "{when}: another object stood there meanwhile");
    }
}

const RELEASE: &str = ", annotations: {holdfast.dev/release-to: b}";

#[test]
fn an_object_moves_between_two_repositories_in_both_orders_of_ticks_and_merges_without_a_gap() {
    for order in [["a", "b"], ["b", "a"]] {
        // b's commit comes first: it waits for a to let go. Then a's: both are planned together.
        let when = format!("b merges first, {order:?}");
        let two = Two::new("");
        two.comes();
        two.ticks(order, &when);
        assert_eq!(two.owner(), "a", "{when}");
        two.leaves();
        two.ticks(order, &when);
        two.ticks(order, &when);
        two.is_moved(&when);
        // a's comes first: it said whose it will be, so it stays until b comes.
        let when = format!("a merges first, {order:?}");
        let two = Two::new(RELEASE);
        two.leaves();
        two.ticks(order, &when);
        two.comes();
        two.ticks(order, &when);
        two.ticks(order, &when);
        two.is_moved(&when);
        // Both between two ticks.
        let when = format!("both at once, {order:?}");
        let two = Two::new("");
        two.leaves();
        two.comes();
        two.ticks(order, &when);
        two.ticks(order, &when);
        two.is_moved(&when);
    }
}

#[test]
fn an_object_moves_between_two_repositories_under_a_running_loop_in_both_orders_of_merges_without_a_gap() {
    for a_first in [false, true] {
        let when = format!("a merges first: {a_first}");
        let two = Two::new(if a_first { RELEASE } else { "" });
        let running = Running::start(&two.lab, &[]);
        running.until("started");
        if a_first {
            two.leaves();
            running.until("applied");
            two.is_there(&when);
            two.comes();
        } else {
            two.comes();
            running.until("refused");
            two.is_there(&when);
            two.leaves();
        }
        let begun = std::time::Instant::now();
        while two.owner() != "b" {
            two.is_there(&when);
            assert!(begun.elapsed() < std::time::Duration::from_secs(120), "{when}: it never moved");
        }
        assert_eq!(running.stop(), 0);
        two.is_moved(&when);
    }
}
