//! The figures on a real API server: whole commands against bare requests of the same bodies, in one run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use holdfast::base::path::RepoPath;
use holdfast::manifest::{Limits, read_objects};
use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::process::{Holdfast, Measured, run};
use crate::repository::Repository;
use crate::{figure, median, ratio};

/// Half of them Deployments without replicas, half ConfigMaps.
const OBJECTS: usize = 2000;
/// So many of the files are changed in the commit that changes some.
const CHANGED: usize = 20;
/// How many bare requests are under way at once: the best of these counts.
const IN_FLIGHT: [usize; 5] = [4, 8, 16, 32, 64];
/// What the owner mark is as long as.
const MARK: &str =
    "0b8c6a52-3f0e-5f3a-9c1c-3b7f6c1d2e4f apps/Deployment/bench/app-00000 01890a5d-ac96-774b-bcce-b302099a8057";

/// A request as it is sent.
struct Bare {
    url: String,
    body: Vec<u8>,
}

/// Measures; `rounds` of each comparison.
pub fn cluster(rounds: usize) {
    let Some(plane) = ControlPlane::start() else {
        println!("skipped: {}", crate::control_plane::missing().unwrap_or_default());
        return;
    };
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let client = Client::new(&plane);
    let bodies = bodies("scratch");
    client.namespace("scratch");
    let dry = client.best(&requests(&bodies, "scratch", true));
    let live = client.best_of(|at| {
        let namespace = format!("live-{at}");
        client.namespace(&namespace);
        requests(&bodies, &namespace, false)
    });
    figure("bare-dry-runs-best-in-flight", dry as f64, "requests");
    figure("bare-writes-best-in-flight", live as f64, "requests");

    let mut all = Series::default();
    for round in 0..rounds {
        one(&plane, &client, scratch.path(), round, (dry, live), &mut all);
    }
    all.tell();
}

/// What was measured, one entry a round.
#[derive(Default)]
struct Series {
    creates: Vec<Measured>,
    first: Vec<Measured>,
    writes: Vec<Measured>,
    apply: Vec<Measured>,
    updates: Vec<Measured>,
    idle: Vec<Measured>,
    some: Vec<Measured>,
    diff: Vec<Measured>,
    kubectl: Vec<Measured>,
}

impl Series {
    fn tell(&self) {
        let ms = |name: &str, all: &[Measured]| figure(name, median(all).wall.as_secs_f64() * 1e3, "ms");
        let to = |a: &[Measured], b: &[Measured]| ratio(median(a).wall, median(b).wall);
        ms("bare-dry-creates-2000", &self.creates);
        ms("kubernetes-plan-first-2000", &self.first);
        figure("kubernetes-plan-first-to-bare-dry-runs", to(&self.first, &self.creates), "times (at most 1.3)");
        ms("bare-creates-2000", &self.writes);
        ms("kubernetes-apply-2000", &self.apply);
        figure("kubernetes-apply-to-bare-writes", to(&self.apply, &self.writes), "times (at most 2.5)");
        ms("bare-dry-updates-2000", &self.updates);
        ms("kubernetes-plan-idle-2000", &self.idle);
        figure("kubernetes-plan-idle-to-bare-dry-runs", to(&self.idle, &self.updates), "times (at most 0.3)");
        ms("kubernetes-plan-20-of-2000", &self.some);
        figure("kubernetes-plan-20-to-bare-dry-runs", to(&self.some, &self.updates), "times (at most 0.35)");
        let ours = [&self.first, &self.apply, &self.idle, &self.some];
        let peak = ours.iter().map(|all| median(all).peak_mib).fold(0.0, f64::max);
        figure("kubernetes-peak-memory", peak, "MiB (at most 143, which is 150 MB)");
        if !self.diff.is_empty() {
            ms("kubectl-diff-server-side-2000", &self.diff);
            ms("kubectl-apply-server-side-dry-run-2000", &self.kubectl);
        }
    }
}

/// One round, in Namespaces of its own.
fn one(
    plane: &ControlPlane,
    client: &Client,
    scratch: &Path,
    round: usize,
    (dry, live): (usize, usize),
    all: &mut Series,
) {
    let (ours, theirs) = (format!("ours-{round}"), format!("bare-{round}"));
    client.namespace(&ours);
    client.namespace(&theirs);
    let repository = Repository::scaled_down(&scratch.join(&ours), OBJECTS, &ours);
    let holdfast = Holdfast::on_cluster(repository, &plane.kubeconfig, &ours);
    holdfast.warm();

    all.creates.push(client.send(dry, &requests(&bodies(&ours), &ours, true)));
    all.first.push(holdfast.plan());
    all.writes.push(client.send(live, &requests(&bodies(&theirs), &theirs, false)));
    all.apply.push(run(holdfast.command().args(["apply", "--yes", "-q"])).0);
    let changed: Vec<Value> = bodies(&theirs).into_iter().map(changed).collect();
    all.updates.push(client.send(dry, &requests(&changed, &theirs, true)));
    all.idle.push(holdfast.plan());
    if round == 0 {
        for (args, into) in [
            (&["diff", "--server-side", "--force-conflicts", "-R", "-f"][..], &mut all.diff),
            (&["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-R", "-f"], &mut all.kubectl),
        ] {
            into.extend(kubectl(&plane.kubeconfig, args, &holdfast.tree()));
        }
    }
    holdfast.repository.commit_files(CHANGED);
    all.some.push(holdfast.plan());
}

/// The time of a command of kubectl, where there is one.
fn kubectl(kubeconfig: &Path, args: &[&str], folder: &PathBuf) -> Option<Measured> {
    let mut command = Command::new("kubectl");
    command.arg("--kubeconfig").arg(kubeconfig).args(args).arg(folder);
    let start = Instant::now();
    let output = command.output().ok()?;
    // A diff that finds something says so by its exit code.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    Some(Measured { wall: start.elapsed(), peak_mib: 0.0 })
}

/// The objects of the repository in a Namespace, each with an annotation as long as an owner mark.
fn bodies(namespace: &str) -> Vec<Value> {
    let limits = Limits::default();
    let files = (0..OBJECTS / 2).map(|n| crate::repository::app_in(n, namespace, Some(0)));
    let read = files.flat_map(|text| {
        let reading = read_objects(&RepoPath::from("app.yaml"), text.into_bytes(), &limits);
        reading.documents.into_iter().map(|document| document.value)
    });
    let marked = |mut object: Value| {
        object["metadata"]["annotations"] = json!({"holdfast.dev/owner": MARK});
        object
    };
    read.map(marked).collect()
}

fn changed(mut object: Value) -> Value {
    match object.pointer_mut("/spec/template/spec/containers/0/image") {
        Some(image) => *image = "registry.example/other:2".into(),
        None => object["data"]["GREETING"] = "changed".into(),
    }
    object
}

fn requests(objects: &[Value], namespace: &str, dry: bool) -> Vec<Bare> {
    let request = |object: &Value| {
        let mut object = object.clone();
        object["metadata"]["namespace"] = namespace.into();
        let (base, name) = match object["kind"].as_str() {
            Some("Deployment") => ("/apis/apps/v1", "deployments"),
            _ => ("/api/v1", "configmaps"),
        };
        let dry = if dry { "&dryRun=All" } else { "" };
        let url = format!(
            "{base}/namespaces/{namespace}/{name}/{}?fieldManager=bare&force=true&fieldValidation=Strict{dry}",
            object["metadata"]["name"].as_str().expect("a name")
        );
        Bare { url, body: object.to_string().into_bytes() }
    };
    objects.iter().map(request).collect()
}

/// Sends bare requests.
struct Client {
    runtime: tokio::runtime::Runtime,
    client: kube::Client,
    hand: crate::hand::Hand,
}

impl Client {
    fn new(plane: &ControlPlane) -> Self {
        let (runtime, client) = crate::hand::client(&plane.kubeconfig);
        Self { runtime, client, hand: plane.hand() }
    }

    fn namespace(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.hand.put("bench", "/api/v1/namespaces", &object);
    }

    /// Sends all, so many at once; each must succeed.
    fn send(&self, in_flight: usize, requests: &[Bare]) -> Measured {
        let each = requests.iter().map(|bare| async {
            let request = Request::builder()
                .method(Method::PATCH)
                .uri(&bare.url)
                .header("Content-Type", "application/apply-patch+yaml")
                .body(Body::from(bare.body.clone()))
                .expect("a request");
            let answer = self.client.send(request).await.expect("an answer");
            let status = answer.status();
            let body = answer.into_body().collect_bytes().await.expect("a body");
            assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
        });
        let start = Instant::now();
        self.runtime.block_on(stream::iter(each).buffer_unordered(in_flight).collect::<Vec<()>>());
        Measured { wall: start.elapsed(), peak_mib: 0.0 }
    }

    /// The number in flight at which these, which can be sent again, take the shortest.
    fn best(&self, requests: &[Bare]) -> usize {
        // The first ones of all find nothing in any cache of the server.
        self.send(IN_FLIGHT[0], &requests[..requests.len() / 4]);
        IN_FLIGHT.into_iter().min_by_key(|at| self.send(*at, requests).wall).expect("a number")
    }

    /// The same of requests that are made for each number.
    fn best_of(&self, requests: impl Fn(usize) -> Vec<Bare>) -> usize {
        let wall = |at: &usize| -> Duration {
            let requests = requests(*at);
            self.send(*at, &requests).wall
        };
        IN_FLIGHT.into_iter().min_by_key(wall).expect("a number")
    }
}
