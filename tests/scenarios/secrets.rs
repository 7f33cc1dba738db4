//! Sensitive values appear nowhere: marked ones are planted in every place, and all that is said, saved and logged is searched.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use holdfast::base::digest;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::json;

use crate::lab::{Lab, Repo, Said, changes};

const SPEC: &str = "  namespaces: [shop]
  clusterKinds: [Namespace]
  prune: true
  pruneBudget: {objects: 100, percent: 100}
  sensitive:
    - {kind: ConfigMap, pointers: [/data/hidden]}
  policies:
    - {rule: no-latest-tag, effect: warn}
    - name: plain
      kinds: [Secret, ConfigMap]
      cel: \"!has(object.data) || size(object.data) > 90\"
      message: too few keys
      effect: warn";

/// The planted values, by where they were planted.
#[derive(Default)]
struct Marks {
    planted: BTreeMap<String, String>,
    /// Where they were seen: all in one report.
    seen: RefCell<Vec<String>>,
}

impl Drop for Marks {
    fn drop(&mut self) {
        let seen = self.seen.borrow();
        if !seen.is_empty() && !thread::panicking() {
            panic!("{} sightings:\n{}", seen.len(), seen.join("\n"));
        }
    }
}

impl Marks {
    /// A new value, which looks random and is nowhere else.
    fn plant(&mut self, place: &str) -> String {
        let value = format!("mk{}", &digest::sha256(format!("marked {place}").as_bytes()).as_str()[..22]);
        self.know(place, &value);
        value
    }

    /// One of digits alone.
    fn number(&mut self, place: &str) -> String {
        let digits: String =
            digest::sha256(place.as_bytes()).as_str().bytes().map(|b| char::from(b'1' + b % 9)).take(14).collect();
        self.know(place, &digits);
        digits
    }

    fn know(&mut self, place: &str, value: &str) {
        assert!(self.planted.insert(place.to_owned(), value.to_owned()).is_none(), "{place} twice");
    }

    /// Every form that gives a value away.
    fn forms(value: &str) -> Vec<String> {
        let encoded = base64(value.as_bytes());
        let digests = [value, &encoded, &json!(value).to_string(), &json!(encoded).to_string()];
        let mut forms: Vec<String> = digests.iter().map(|v| digest::sha256(v.as_bytes()).as_str().to_owned()).collect();
        // The padding may be cut, and the last letter depends on what follows.
        let stem = encoded.trim_end_matches('=');
        forms.push(stem[..stem.len() - 1].to_owned());
        forms.push(value.to_owned());
        // Cut short is told as well.
        forms.push(value[..12].to_owned());
        forms
    }

    #[track_caller]
    fn absent(&self, what: &str, text: &str) {
        for (place, value) in &self.planted {
            for form in Self::forms(value) {
                if let Some(at) = text.find(&form) {
                    let from = text[..at].char_indices().rev().nth(200).map_or(0, |(i, _)| i);
                    let shown = &text[from..at + form.len()];
                    self.seen.borrow_mut().push(format!("{what} shows the value of {place} ({form}):\n{shown}"));
                    break;
                }
            }
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for n in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * n) & 63) as usize]);
            out.push(if n > chunk.len() { '=' } else { letter });
        }
    }
    out
}

/// Commands whose output is searched, one and all.
struct Watch {
    lab: Lab,
    marks: Marks,
    said: usize,
}

impl Watch {
    fn new() -> Self {
        Self { lab: Lab::new(), marks: Marks::default(), said: 0 }
    }

    #[track_caller]
    fn run(&mut self, args: &[&str]) -> Said {
        let said = self.lab.run(args);
        assert!(said.code != 101 && said.code != 2 && said.code != 255, "{args:?}: {said:?}");
        self.marks.absent(&format!("{args:?}"), &said.all());
        self.said += 1;
        said
    }

    /// Everything that reads, of a plan that is pending.
    #[track_caller]
    fn look(&mut self) {
        for format in ["table", "diff", "json", "markdown"] {
            self.run(&["plan", "-v", "-o", format, "--out", "a.plan.json"]).ok();
            let file = fs::read_to_string(self.lab.path().join("a.plan.json")).unwrap();
            self.marks.absent("the plan file", &file);
            self.run(&["show", "a.plan.json", "-o", format]).ok();
        }
        self.run(&["verify", "-v", "a.plan.json"]).ok();
        self.run(&["render", "-o", "yaml"]).ok();
        self.run(&["render", "-o", "json"]).ok();
    }

    /// Everything that reads what is there.
    #[track_caller]
    fn look_back(&mut self, ids: &[&str]) {
        for args in [["history"].as_slice(), &["source", "list"], &["object", "list"]] {
            self.run(args).ok();
            let mut json = args.to_vec();
            json.extend(["-o", "json"]);
            self.run(&json).ok();
        }
        let history = self.run(&["history", "-o", "json"]).json();
        let entries = history["entries"].as_array().unwrap_or_else(|| panic!("{history:#}"));
        for entry in entries {
            let id = entry["id"].as_str().unwrap();
            self.run(&["history", "show", id]).ok();
            self.run(&["history", "show", id, "-o", "json"]).ok();
        }
        for id in ids {
            self.run(&["object", "get", id, "-o", "yaml"]).ok();
        }
        self.database();
    }

    /// Every table but that of the objects' bodies.
    #[track_caller]
    fn database(&self) {
        let conn = Connection::open(self.lab.database()).unwrap();
        let mut statement = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let tables: Vec<String> = statement.query_map((), |r| r.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(tables.iter().any(|t| t == "body") && tables.len() > 5, "{tables:?}");
        for table in tables.iter().filter(|t| *t != "body") {
            let mut statement = conn.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query(()).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for column in 0..columns {
                    let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(column).unwrap() else {
                        continue;
                    };
                    self.marks.absent(&format!("table {table}"), &String::from_utf8_lossy(bytes));
                }
            }
        }
    }

    /// A commit that is refused, by every command that reads it.
    #[track_caller]
    fn refused(&mut self, rule: &str) {
        for format in ["table", "diff", "json", "markdown"] {
            self.run(&["plan", "-v", "-o", format]).exits(1);
        }
        let said = self.run(&["apply", "-v", "--yes", "-o", "json"]).exits(1);
        assert!(said.stdout.contains(&format!("\"{rule}\"")), "no {rule} in {said:?}");
        self.run(&["apply", "-v", "--yes"]).exits(1);
        self.run(&["render", "-o", "yaml"]);
        self.run(&["render", "-o", "json"]);
    }
}

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
const IDS: &[&str] =
    &["Secret/shop/keys", "Deployment.apps/shop/web", "ConfigMap/shop/settings", "ConfigMap/shop/copied"];

/// Objects with a marked value in every sensitive place; `round` makes them others.
fn write(repo: &Repo, marks: &mut Marks, round: &str) {
    let mut plant = |place: &str| marks.plant(&format!("{place} {round}"));
    repo.write("namespace.yaml", NAMESPACE);
    repo.write(
        "secret.yaml",
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: keys}}\ntype: Opaque\ndata:\n  first: {}\n  \"{round}\": {}\n\
             stringData:\n  second: {}\n  lines: |\n    {}\n    {}\n",
            base64(plant("data").as_bytes()),
            base64(plant("data of a key that goes").as_bytes()),
            plant("stringData"),
            plant("first line of stringData"),
            plant("second line of stringData"),
        ),
    );
    repo.write(
        "web.yaml",
        format!(
            "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      initContainers:
      - {{name: init, image: registry.example/web:latest, command: [run, \"--api-key={}\"]}}
      containers:
      - name: web
        image: registry.example/web:1
        args: [\"--password={}\", --token, {}]
        env:
        - {{name: DB_PASSWORD, value: {}}}
        - {{name: AWS_SECRET_ACCESS_KEY, value: {}}}
        - {{name: PLAIN, value: plain-{round}}}
",
            plant("command"),
            plant("args"),
            plant("args by two"),
            plant("env"),
            plant("env of a second name"),
        ),
    );
    repo.write(
        "settings.yaml",
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata:\n  shown: text-{round}\n  hidden: {}\n",
            plant("the Source's sensitive")
        ),
    );
    repo.write(
        "copied.yaml",
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: copied}}\ndata: {{round: \"{round}\"}}\n"),
    );
}

#[test]
fn sensitive_values_are_in_no_output_plan_file_or_log_of_what_is_planned_and_applied() {
    let mut watch = Watch::new();
    let repo = watch.lab.repo("repo");
    watch.lab.configure(&[repo.source("shop", SPEC)]);

    write(&repo, &mut watch.marks, "one");
    repo.commit("one");
    watch.look();
    watch.run(&["apply", "-v", "a.plan.json"]).ok();
    watch.look_back(IDS);

    // By hand: other values, and a copy of an earlier object as kubectl keeps it.
    let by_hand = |watch: &mut Watch, id: &str, change: &dyn Fn(&mut serde_json::Value, String)| {
        let mut object = watch.lab.live(id).unwrap();
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        let value = watch.marks.plant(&format!("{id} by hand"));
        change(&mut object, value);
        fs::write(watch.lab.path().join("hand.json"), object.to_string()).unwrap();
        watch.run(&["object", "put", "hand.json", "--as", "somebody"]).ok();
    };
    by_hand(&mut watch, "Secret/shop/keys", &|o, v| o["data"]["first"] = base64(v.as_bytes()).into());
    by_hand(&mut watch, "ConfigMap/shop/settings", &|o, v| o["data"]["hidden"] = v.into());
    by_hand(&mut watch, "ConfigMap/shop/copied", &|o, v| {
        o["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
            json!({"data": v}).to_string().into();
    });
    by_hand(&mut watch, "Deployment.apps/shop/web", &|o, v| {
        o["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = v.into();
    });
    watch.look();
    watch.look_back(IDS);

    write(&repo, &mut watch.marks, "two");
    repo.commit("two");
    watch.look();
    let plan = watch.run(&["plan", "-o", "json"]).json();
    assert_eq!(changes(&plan, "update").len(), 4, "{plan:#}");
    watch.run(&["apply", "-v", "--yes", "-o", "json"]).ok();
    watch.look_back(IDS);

    // A stale plan, a plan that is applied as text, and the end of all.
    write(&repo, &mut watch.marks, "three");
    repo.commit("three");
    watch.look();
    watch.run(&["apply", "-v", "--yes"]).ok();
    for file in ["secret.yaml", "web.yaml", "settings.yaml", "copied.yaml"] {
        repo.remove(file);
    }
    repo.commit("none");
    watch.look();
    watch.run(&["apply", "-v", "--yes", "--allow-deletes", "9"]).ok();
    watch.look_back(&[]);
    println!("secrets: {} marked values, {} commands", watch.marks.planted.len(), watch.said);
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A ConfigMap with annotations that hold a copy of a Secret in clear.
fn copied(marks: &mut Marks, place: &str, annotations: impl Fn(&str) -> String) -> String {
    let value = marks.plant(&format!("a copy {place}"));
    let copy = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"k": value}}).to_string();
    let annotations = annotations(&copy);
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations:\n{annotations}")
}

#[test]
fn a_copy_that_kubectl_keeps_in_a_manifest_is_left_out_and_shown_nowhere() {
    let mut watch = Watch::new();
    let repo = watch.lab.repo("repo");
    watch.lab.configure(&[repo.source("shop", SPEC)]);
    repo.write("namespace.yaml", NAMESPACE);
    for round in ["one", "two"] {
        let text =
            copied(&mut watch.marks, round, |copy| format!("    {LAST_APPLIED}: '{copy}'\n    round: {round}\n"));
        repo.write("c.yaml", text);
        let secret = copied(&mut watch.marks, &format!("{round} of a Secret"), |copy| {
            format!("    {LAST_APPLIED}: |\n      {copy}\n")
        });
        repo.write("secret.yaml", secret.replace("kind: ConfigMap", "kind: Secret"));
        repo.commit(round);
        watch.look();
        let plan = watch.run(&["plan", "-o", "json"]).json();
        assert!(plan["warnings"].to_string().contains("last-applied-configuration"), "{plan:#}");
        watch.run(&["apply", "-v", "--yes"]).ok();
        watch.look_back(&["ConfigMap/shop/c", "Secret/shop/c"]);
        let live = watch.lab.live("ConfigMap/shop/c").unwrap();
        assert_eq!(live["metadata"]["annotations"].get(LAST_APPLIED), None);
    }
}

#[test]
fn sensitive_values_are_in_no_refusal() {
    let mut watch = Watch::new();
    let repo = watch.lab.repo("repo");
    watch.lab.configure(&[repo.source("shop", SPEC)]);
    let m = &mut watch.marks;
    let secret = |rest: String| format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: keys}}\n{rest}");
    let pod = |entry: String| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers:\n  - name: web\n    image: \
             registry.example/web:1\n{entry}"
        )
    };
    let refused: Vec<(&str, String)> = vec![
        ("type-mismatch", secret(format!("data:\n  first: \"{}!\"\n", m.plant("bad base64")))),
        ("yaml-syntax", secret(format!("stringData:\n  first: \"{}\n  second: x\n", m.plant("open quote")))),
        ("yaml-syntax", secret(format!("stringData:\n  first: {}: x: y\n", m.plant("two colons")))),
        ("yaml-syntax", secret(format!("stringData:\n  first: x\n {}: [\n", m.plant("bad indent")))),
        ("duplicate-key", secret(format!("stringData:\n  a: {}\n  a: {}\n", m.plant("key"), m.plant("key again")))),
        ("type-mismatch", secret(format!("stringData:\n  a: [{}]\n", m.plant("a list")))),
        ("type-mismatch", secret(format!("stringData:\n  a: {}\n", m.number("a number")))),
        ("type-mismatch", secret(format!("stringData: {}\n", m.plant("no map")))),
        ("type-mismatch", secret(format!("data: [{}]\n", m.plant("a list for data")))),
        ("unknown-field", secret(format!("stringdata: {{a: {}}}\n", m.plant("misspelt field")))),
        ("type-mismatch", pod(format!("    env:\n    - {{name: PASSWORD, value: {}}}\n", m.number("env number")))),
        ("type-mismatch", pod(format!("    env:\n    - {{name: PASSWORD, value: [{}]}}\n", m.plant("env list")))),
        ("duplicate-key", pod(format!("    env:\n    - {{name: TOKEN, value: {}, value: x}}\n", m.plant("env twice")))),
        ("unknown-field", pod(format!("    env:\n    - {{name: TOKEN, valeu: {}}}\n", m.plant("env misspelt")))),
        ("type-mismatch", pod(format!("    args: [[\"--password={}\"]]\n", m.plant("args nested")))),
        ("type-mismatch", pod(format!("    args: \"--password={}\"\n", m.plant("args a text")))),
        // A copy that kubectl keeps, with a Secret in clear in it, in a manifest of another kind.
        ("duplicate-key", copied(m, "twice", |copy| format!("    {LAST_APPLIED}: '{copy}'\n    {LAST_APPLIED}: x\n"))),
        ("yaml-syntax", copied(m, "an open quote", |copy| format!("    {LAST_APPLIED}: '{copy}\n"))),
        ("yaml-syntax", copied(m, "a bad indent", |copy| format!("    {LAST_APPLIED}: |\n      {copy}\n   {copy}\n"))),
        ("yaml-syntax", copied(m, "after its end", |copy| format!("    {LAST_APPLIED}: '{copy}' x\n"))),
        ("type-mismatch", copied(m, "beside another", |copy| format!("    {LAST_APPLIED}: '{copy}'\n    b: 7\n"))),
        ("unknown-field", copied(m, "before another", |copy| format!("    {LAST_APPLIED}: '{copy}'\nspecc: 7\n"))),
        ("type-mismatch", copied(m, "on one line", |copy| format!("    {{{LAST_APPLIED}: '{copy}', b: 7}}\n"))),
        (
            "type-mismatch",
            format!(
                "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {{name: keys}}\n  stringData: {{a: [{}]}}\n",
                m.plant("a list of Secrets")
            ),
        ),
        ("yaml-syntax", secret(format!("stringData:\n  a: |\n    x\n   {}\n", m.plant("a block's bad indent")))),
        (
            "type-mismatch",
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  hidden: [{}]\n",
                m.plant("hidden list")
            ),
        ),
        (
            "type-mismatch",
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  hidden: {}\n",
                m.number("hidden number")
            ),
        ),
    ];
    repo.write("namespace.yaml", NAMESPACE);
    let mut missing = Vec::new();
    for (n, (rule, text)) in refused.iter().enumerate() {
        repo.write("bad.yaml", text);
        repo.commit(&format!("bad {n}"));
        let said = watch.run(&["plan", "-o", "json"]);
        if said.code != 1 || !said.stdout.contains(&format!("\"{rule}\"")) {
            missing.push(format!("{rule} of:\n{text}\n{}", said.stdout));
            continue;
        }
        watch.refused(rule);
    }
    assert!(missing.is_empty(), "{}", missing.join("\n---\n"));
    watch.look_back(&[]);
    println!("secrets: {} marked values, {} commands", watch.marks.planted.len(), watch.said);
}

#[test]
fn sensitive_values_are_in_no_message_of_a_policy() {
    let mut watch = Watch::new();
    let repo = watch.lab.repo("repo");
    let one = watch.marks.plant("a policy's object");
    let two = watch.marks.plant("a policy's ConfigMap");
    repo.write("namespace.yaml", NAMESPACE);
    repo.write(
        "secret.yaml",
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: keys}}\nstringData: {{pw: {one}}}\ndata: {{b: {}}}\n",
            base64(one.as_bytes())
        ),
    );
    repo.write("c.yaml", format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{hidden: {two}}}\n"));
    repo.commit("one");
    // Of these some fail, and some can't be evaluated: an error of CEL names what it fell over.
    let pw = "(has(object.stringData) ? object.stringData.pw : object.data.hidden)";
    for cel in [
        format!("{pw} == 'x'"),
        format!("int({pw}) > 3"),
        format!("timestamp({pw}) > timestamp('2026-01-01T00:00:00Z')"),
        format!("{{'a': 1}}[{pw}] == 1"),
        format!("{pw}.matches('[')"),
        format!("'x'.matches({pw} + '[')"),
        format!("{pw} + 1 == 2"),
        pw.to_owned(),
    ] {
        for effect in ["deny", "warn"] {
            let policy = format!(
                "  namespaces: [shop]\n  clusterKinds: [Namespace]\n  sensitive: [{{kind: ConfigMap, pointers: [/data/hidden]}}]\n  \
                 policies:\n    - {{name: odd, kinds: [Secret, ConfigMap], cel: {}, message: no good, effect: {effect}}}",
                json!(cel)
            );
            watch.lab.configure(&[repo.source("shop", &policy)]);
            let mut codes = Vec::new();
            for format in ["table", "diff", "json", "markdown"] {
                codes.push(watch.run(&["plan", "-v", "-o", format]).code);
            }
            codes.push(watch.run(&["apply", "-v", "--expect", &"0".repeat(64)]).code);
            if effect == "deny" {
                assert_eq!(codes, [1; 5], "{cel}");
            }
        }
    }
    watch.look_back(&[]);
    println!("secrets: {} marked values, {} commands", watch.marks.planted.len(), watch.said);
}

#[test]
fn credentials_in_a_repository_url_are_refused_and_not_shown() {
    let mut watch = Watch::new();
    let repo = watch.lab.repo("repo");
    let (user, query) = (watch.marks.plant("user information"), watch.marks.plant("query"));
    let urls = [
        format!("https://ada:{user}@git.example/shop.git"),
        format!("https://{user}@git.example/shop.git"),
        format!("https://git.example/shop.git?access_token={query}"),
        format!("https://git.example/shop.git?{query}"),
        format!("ssh://ada:{user}@git.example/shop.git"),
        format!("ftp://ada:{user}@git.example/shop.git"),
        format!("http://ada:{user}@git.example/shop.git"),
    ];
    for url in &urls {
        let source = repo.source("shop", SPEC).replace(&repo.folder.display().to_string(), &json!(url).to_string());
        watch.lab.configure(&[source]);
        for args in [["plan", "-v"], ["render", "-v"], ["plan", "-ojson"], ["apply", "--yes"]] {
            watch.run(&args).exits(1);
        }
        let said = watch.lab.run(&["plan", "-v", "--repository", url, "--source", "shop", "--namespace", "shop"]);
        assert!([1, 2].contains(&said.code), "{url}: {said:?}");
        watch.marks.absent(url.split(':').next().unwrap(), &said.all());
    }
}

/// Answers every request with 401, and repeats what it was sent, as a hostile or careless server may.
fn refusing_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = vec![0; 8192];
            let length = stream.read(&mut request).unwrap_or(0);
            let asked = String::from_utf8_lossy(&request[..length]).into_owned();
            let sent = asked.lines().find(|l| l.to_ascii_lowercase().starts_with("authorization")).unwrap_or("none");
            let body = format!("refused: {sent}\n");
            let _ = write!(
                stream,
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Type: text/plain\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}

fn helper(folder: &Path, password: &str) -> String {
    let file = folder.join("helper.sh");
    fs::write(
        &file,
        format!("#!/bin/sh\ntouch {0}/asked\necho trouble with {password} >&2\necho username=ada\necho password={password}\n", folder.display()),
    )
    .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.display().to_string()
}

#[test]
fn what_a_credential_helper_says_is_not_shown_when_the_server_refuses() {
    let mut watch = Watch::new();
    let password = watch.marks.plant("a helper's password");
    watch.marks.know("a helper's basic authentication", &base64(format!("ada:{password}").as_bytes()));
    let repo = watch.lab.repo("repo");
    let port = refusing_server();
    let url = format!("http://127.0.0.1:{port}/shop.git");
    watch.lab.configure(&[repo.source("shop", SPEC).replace(&repo.folder.display().to_string(), &url)]);
    let config = watch.lab.path().join("gitconfig");
    fs::write(&config, format!("[credential]\n\thelper = {}\n", helper(watch.lab.path(), &password))).unwrap();
    fs::copy(&config, watch.lab.path().join(".gitconfig")).unwrap();
    for args in [["plan", "-v"], ["plan", "-ojson"], ["plan", "-vv"], ["apply", "--yes"], ["render", "-v"]] {
        let mut command = watch.lab.command(&args);
        let said = Said::of(command.env("GIT_CONFIG_GLOBAL", &config).output().unwrap()).exits(1);
        watch.marks.absent(&format!("{args:?}"), &said.all());
        assert!(said.all().contains("127.0.0.1"), "{said:?}");
    }
    assert!(watch.lab.path().join("asked").exists(), "the helper was never asked");
    watch.look_back(&[]);
}
