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
        let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: bench\n".to_owned();
        let files = (0..objects / 2).map(|n| (format!("app-{n:05}.yaml"), app(n)));
        Self::of(folder, std::iter::once(("namespace.yaml".to_owned(), namespace)).chain(files))
    }

    /// The same for a Namespace that is there, the Deployments without replicas.
    pub fn scaled_down(folder: &Path, objects: usize, namespace: &str) -> Self {
        Self::of(folder, (0..objects / 2).map(|n| (format!("app-{n:05}.yaml"), app_in(n, namespace, Some(0)))))
    }

    fn of(folder: &Path, files: impl Iterator<Item = (String, String)>) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        git(folder, &["init", "-q", "-b", "main"]);
        let mut stream = Vec::new();
        writeln!(stream, "commit refs/heads/main\ncommitter bench <bench@example.com> 1767225600 +0000\ndata 5\nbench")
            .expect("memory");
        for (path, text) in files {
            writeln!(stream, "M 644 inline deploy/{path}\ndata {}\n{text}", text.len()).expect("memory");
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
    /// Commits another image in so many of the files.
    pub fn commit_files(&self, count: usize) {
        for n in 0..count {
            let path = self.folder.join(format!("deploy/app-{n:05}.yaml"));
            let text = std::fs::read_to_string(&path).expect("a file");
            std::fs::write(&path, text.replacen("image: registry", "image: other", 1)).expect("a file");
        }
        git(&self.folder, &["-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-qam", "some"]);
    }

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
    app_in(n, "bench", None)
}

/// A Deployment and a ConfigMap in a Namespace; some replicas unless it is said how many.
pub fn app_in(n: usize, namespace: &str, replicas: Option<usize>) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n:05}
  namespace: {namespace}
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
  namespace: {namespace}
data:
  LISTEN: \":8080\"
  GREETING: hello from {n}
  config.ini: |
    [app]
    number = {n}
    verbose = false
",
        n % 40,
        replicas.unwrap_or(n % 5)
    );
    text
}
