//! Repositories that ask for too much, or hide in a terminal: each ends soon, within little memory, and leaves nothing.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use holdfast::base::text::is_unsafe;
use serde_json::Value;

use crate::lab::{Lab, Repo, Said, hermetic};

const SPEC: &str = "  namespaces: [shop]\n  clusterKinds: [Namespace]";
/// Far more than any of these takes, in a debug build on a busy machine too: what has no bound takes longer.
const LONG: Duration = Duration::from_secs(400);

struct Stage {
    lab: Lab,
    repo: Repo,
    before: Value,
}

impl Stage {
    /// A Source of an empty repository, and a target with somebody's Namespace in it.
    fn new() -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        lab.configure(&[repo.source("shop", SPEC)]);
        lab.put("admin", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        let before = lab.dump();
        Self { lab, repo, before }
    }

    fn with(file: &str, text: impl AsRef<[u8]>) -> Self {
        let stage = Self::new();
        stage.repo.write(file, text);
        stage.repo.commit("hostile");
        stage
    }

    /// Runs a command that may take so many MiB at its peak.
    #[track_caller]
    fn bounded(&self, args: &[&str], mib: u64) -> Said {
        let [out, err] = ["stdout", "stderr"].map(|name| self.lab.path().join(name));
        let mut command = self.lab.command(args);
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let begun = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut peak = 0;
        let status = loop {
            peak = peak.max(high_water(child.id()).unwrap_or(0));
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > LONG || peak > mib {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{args:?} takes more than {LONG:?} or {mib} MiB: {peak} MiB after {:?}", begun.elapsed());
            }
            thread::park_timeout(Duration::from_millis(1));
        };
        println!("hostile: {args:?}: {peak} MiB, {:.1} s", begun.elapsed().as_secs_f64());
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Said { code: status.code().unwrap_or(-1), stdout: read(&out), stderr: read(&err) }
    }

    /// An apply is refused by this rule, at this place, and nothing is written.
    #[track_caller]
    fn refused(&self, rule: &str, place: &str, mib: u64) -> String {
        let said = self.bounded(&["apply", "--yes"], mib).exits(1);
        let text = said.all();
        assert!(text.lines().any(|line| line.contains(place) && line.contains(rule)), "no {place} {rule} in {text}");
        assert!(text.contains("othing was written"), "{text}");
        assert!(text.len() < 200_000, "{} bytes of report", text.len());
        is_plain(&text);
        assert_eq!(self.lab.dump(), self.before);
        text
    }

    #[track_caller]
    fn planned(&self, creates: u64, mib: u64) {
        let said = self.bounded(&["plan", "-o", "json", "--out", "a.plan.json"], mib).ok();
        assert_eq!(said.json()["summary"]["create"], creates);
        assert_eq!(self.lab.dump(), self.before);
    }
}

/// The most memory that a process has had, in MiB; it only grows, so the last look counts.
fn high_water(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// What a terminal is shown can't move its cursor, reorder a line or hide in it.
#[track_caller]
fn is_plain(text: &str) {
    let found = text.chars().find(|&c| is_unsafe(c) && c != '\n' && c != '\t');
    assert!(found.is_none(), "{found:?} in {text:?}");
}

fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: \"1\"}}\n")
}

#[test]
fn fifty_thousand_files_are_planned() {
    let stage = Stage::new();
    let mut import = String::from("commit refs/heads/main\ncommitter lab <lab@example.com> 0 +0000\ndata 1\nm\n");
    for n in 0..50_000 {
        let text = config(&format!("c-{n}"));
        write!(import, "M 644 inline {}/{n}.yaml\ndata {}\n{text}\n", n % 250, text.len()).unwrap();
    }
    let mut command = Command::new("git");
    hermetic(&mut command, &stage.repo.folder);
    command.args(["fast-import", "--quiet"]).current_dir(&stage.repo.folder).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(import.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    stage.planned(50_000, 1500);
}

#[test]
fn a_file_of_a_hundred_megabytes_is_refused_by_name_and_beside_the_manifests_it_is_no_matter() {
    let stage = Stage::with("big.yaml", vec![b'#'; 100 << 20]);
    let text = stage.refused("size-limit", "big.yaml", 600);
    assert!(text.contains("104857600"), "{text}");
    stage.repo.git(&["mv", "big.yaml", "big.bin"]);
    stage.repo.write("a.yaml", config("a"));
    stage.repo.commit("it is no manifest");
    stage.planned(1, 600);
}

#[test]
fn ten_thousand_documents_in_a_file_are_planned_and_more_than_the_limit_are_refused_where_it_is_hit() {
    let documents = |count: usize| (0..count).map(|n| config(&format!("c-{n}"))).collect::<Vec<_>>().join("---\n");
    Stage::with("many.yaml", documents(10_000)).planned(10_000, 600);
    let stage = Stage::with("many.yaml", documents(30_000));
    // Five lines each with their separator: the one after 20,000 begins at 100,001.
    stage.refused("size-limit", "many.yaml:100001:1", 600);
}

#[test]
fn a_thousand_aliases_are_written_out_and_a_thousand_that_multiply_are_refused_at_their_place() {
    let mut text = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: &a value\n");
    for n in 0..1000 {
        writeln!(text, "  k{n}: *a").unwrap();
    }
    Stage::with("aliases.yaml", text).planned(1, 400);
    let mut text = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx0: &a0 [v, v]\n");
    for n in 1..=1000 {
        writeln!(text, "x{n}: &a{n} [*a{}, *a{}]", n - 1, n - 1).unwrap();
    }
    // As deep as they are many, and flat but a thousand entries each.
    let wide = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\nx: &a [{}]\ny: [{}]\n",
        "v, ".repeat(1000),
        "*a, ".repeat(1000)
    );
    for (text, line) in [(text, ""), (wide, "5:")] {
        let said = Stage::with("bomb.yaml", text).refused("size-limit", &format!("bomb.yaml:{line}"), 400);
        assert!(said.contains("alias"), "{said}");
    }
}

#[test]
fn nesting_without_end_is_refused_at_its_place_in_every_style() {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: ";
    let block: String = (0..3000).fold(String::new(), |mut text, n| {
        write!(text, "\n{}a:", " ".repeat(n + 1)).unwrap();
        text
    });
    let json = |n: usize| format!("{{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {}", "[".repeat(n));
    for (file, text) in [
        ("flow.yaml", format!("{head}{}", "[".repeat(100_000))),
        ("closed.yaml", format!("{head}{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("maps.yaml", format!("{head}{}", "{a: ".repeat(50_000))),
        ("block.yaml", format!("{head}{block}")),
        ("dashes.yaml", format!("{head}\n{}", "- ".repeat(50_000))),
        ("questions.yaml", format!("{head}\n{}", "? ".repeat(50_000))),
        ("text.json", json(100_000)),
    ] {
        Stage::with(file, text).refused("size-limit", &format!("{file}:"), 400);
    }
}

#[test]
fn a_line_of_ten_thousand_columns_is_read_and_a_fault_at_its_end_is_shown_in_a_short_piece_of_it() {
    let long = "w ".repeat(5000);
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    Stage::with("long.yaml", format!("{head}data: {{v: \"{long}\"}}\n")).planned(1, 400);
    let stage = Stage::with("long.yaml", format!("{head}data: {{v: \"{long}\", w: {{not: text}}}}\n"));
    let text = stage.refused("type-mismatch", "long.yaml:4:", 400);
    assert!(text.contains("long.yaml:4:100"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 400), "{text}");
}

/// Moves the cursor, turns the line around, hides, ends a code block, looks like a link.
const EVIL: &str = "a\u{1b}[2J\u{202e}lmay\u{2066}\u{200b}b\u{9b}31m";

#[test]
fn names_that_a_terminal_would_obey_are_shown_as_escapes_everywhere() {
    let stage = Stage::new();
    let repo = &stage.repo;
    let branch = "ma\u{202e}in\u{200b}";
    for (key, value) in [("user.name", EVIL), ("user.email", "a\u{202e}@example.com")] {
        repo.git(&["config", key, value]);
    }
    repo.write("good.yaml", config("good").replace("{v:", "{\"\\e[31m\\u202e\": x, v:"));
    let named = |bytes: &[u8]| std::path::PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
    fs::write(repo.folder.join(format!("{EVIL}.yaml")), config("evil")).unwrap();
    fs::write(repo.folder.join(named(b"\xff\x1b]0;t\x07.yaml")), config("no-text")).unwrap();
    repo.git(&["checkout", "-q", "-b", branch]);
    repo.commit(&format!("subject {EVIL}"));
    let spec = |name: &str| {
        format!(
            "apiVersion: holdfast.dev/v1\nkind: Source\nmetadata: {{name: shop}}\nspec:\n  repository: {}\n  ref: {name}\n{SPEC}\n",
            repo.folder.display()
        )
    };
    stage.lab.configure(&[spec(branch)]);
    // The key of good.yaml is no name that a control plane takes: every kind of report shows it.
    for output in ["table", "diff", "json", "markdown"] {
        let said = stage.bounded(&["plan", "-o", output], 400);
        assert_eq!(said.code, 1, "{said:?}");
        is_plain(&said.all());
    }
    stage.refused("bad-name", "good.yaml:4:", 400);
    repo.write("good.yaml", config("good"));
    repo.write("name.yaml", config("\"\\e[31m\\u202ename\""));
    repo.write("kind.yaml", "apiVersion: \"v1\\e\"\nkind: \"Con\\u202e\"\nmetadata: {name: x, \"\\x9b\": y}\n");
    repo.write("broken.yaml", format!("a: [{EVIL}\n"));
    repo.write("tag.yaml", format!("{}extra: !\u{202e}x y\n", config("tag")));
    repo.commit(EVIL);
    stage.refused("bad-name", "name.yaml:3:", 400);
    for file in ["name.yaml", "kind.yaml", "broken.yaml", "tag.yaml"] {
        repo.remove(file);
    }
    repo.commit(EVIL);
    for args in [
        &["plan", "-o", "table", "--out", "p.plan.json"][..],
        &["plan", "-o", "diff"],
        &["plan", "-o", "markdown"],
        &["render"],
        &["apply", "p.plan.json"],
        &["apply", "--yes", "-o", "json"],
        &["status"],
        &["status", "-o", "json"],
        &["drift"],
        &["history"],
        &["history", "-o", "json"],
        &["source", "list"],
        &["source", "pause", "shop", "--reason", EVIL, "--as", "ev\u{202e}e"],
        &["source", "resume", "shop", "--as", "ev\u{202e}e"],
        &["object", "list"],
        &["run", "--once"],
        &["history"],
    ] {
        let said = stage.bounded(args, 400);
        is_plain(&said.all());
        let quoted = said.code == 1 && said.all().contains("--as");
        assert!(said.code == 0 || quoted, "{args:?}: {said:?}");
    }
    is_plain(&fs::read_to_string(stage.lab.path().join("p.plan.json")).unwrap());
    // And a branch that isn't there, under such a name.
    stage.lab.configure(&[spec("\"x\\e[2J\\u202e\"")]);
    let said = stage.bounded(&["plan"], 400);
    assert_eq!(said.code, 1, "{said:?}");
    is_plain(&said.all());
}
