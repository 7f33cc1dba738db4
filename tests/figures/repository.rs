//! Generated repositories: one Deployment and one ConfigMap per file.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Clone)]
pub struct Repository {
    pub folder: PathBuf,
}

impl Repository {
    /// Makes a repository with so many objects, half of them Deployments, and the Namespace `bench`.
    pub fn generate(folder: &Path, objects: usize) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        git(folder, &["init", "-q", "-b", "main"]);
        let mut stream = Vec::new();
        writeln!(stream, "commit refs/heads/main\ncommitter bench <bench@example.com> 1767225600 +0000\ndata 5\nbench")
            .expect("memory");
        let mut file = |path: &str, text: &str| {
            writeln!(stream, "M 644 inline deploy/{path}\ndata {}\n{text}", text.len()).expect("memory");
        };
        file("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: bench\n");
        for n in 0..objects / 2 {
            file(&format!("app-{n:05}.yaml"), &app(n));
        }
        let mut import = Command::new("git")
            .args(["fast-import", "--quiet"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .spawn()
            .expect("git fast-import");
        import.stdin.take().expect("stdin").write_all(&stream).expect("the stream");
        assert!(import.wait().expect("git fast-import").success());
        git(folder, &["checkout", "-q", "-f", "main"]);
        Self { folder: folder.to_owned() }
    }
}

impl Repository {
    /// Commits another image in one of the files.
    pub fn commit_one_file(&self, n: usize) {
        let path = self.folder.join("deploy/app-00007.yaml");
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, text.replacen("replicas: ", &format!("replicas: {}", n + 1), 1)).expect("a file");
        git(&self.folder, &["-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-qam", "one"]);
    }
}

fn git(folder: &Path, args: &[&str]) {
    let status = Command::new("git").args(args).current_dir(folder).status().expect("git");
    assert!(status.success(), "git {args:?}");
}

pub fn app(n: usize) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n:05}
  namespace: bench
  labels:
    app: app-{n:05}
    team: team-{}
spec:
  replicas: {}
  selector:
    matchLabels:
      app: app-{n:05}
  template:
    metadata:
      labels:
        app: app-{n:05}
    spec:
      containers:
        - name: app
          image: registry.example/app-{n:05}:1.{n}
          ports:
            - name: http
              containerPort: 8080
          envFrom:
            - configMapRef:
                name: app-{n:05}
          resources:
            requests:
              cpu: 100m
              memory: 128Mi
            limits:
              memory: 256Mi
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-{n:05}
  namespace: bench
data:
  LISTEN: \":8080\"
  GREETING: hello from {n}
  config.ini: |
    [app]
    number = {n}
    verbose = false
",
        n % 40,
        n % 5
    );
    text
}
