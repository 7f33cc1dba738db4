//! A measurement, not a promise: `cargo test --release --test admission speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use holdfast::admission;
use holdfast::base::path::RepoPath;
use holdfast::manifest::{Limits, assemble};

use crate::support::spec;

const PAIRS: usize = 5_000;
const ROUNDS: usize = 15;

fn files() -> Vec<(RepoPath, Vec<u8>)> {
    let one = |n: usize| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{n}\n  namespace: shop\n  labels: {{app: app-{n}, team: \
             shop}}\nspec:\n  replicas: 3\n  selector:\n    matchLabels: {{app: app-{n}}}\n  template:\n    metadata:\n      labels: \
             {{app: app-{n}}}\n    spec:\n      containers:\n      - name: app\n        image: registry.example/app:{n}\n        \
             ports: [{{containerPort: 8080}}]\n        env: [{{name: MODE, value: \"a\"}}, {{name: LEVEL, value: \"{n}\"}}]\n        \
             resources: {{requests: {{cpu: 100m, memory: 64Mi}}, limits: {{memory: 128Mi}}}}\n---\napiVersion: v1\nkind: \
             ConfigMap\nmetadata: {{name: app-{n}, namespace: shop}}\ndata:\n  conf: |\n    a={n}\n    b=2\n  mode: \"x\"\n"
        )
    };
    (0..PAIRS).map(|n| (RepoPath::from(format!("app-{n}.yaml").as_str()), one(n).into_bytes())).collect()
}

#[test]
#[ignore = "a measurement"]
fn checking_ten_thousand_manifests() {
    let files = files();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let set = assemble(files.clone(), &Limits::default());
            let start = Instant::now();
            let checked = admission::check(&spec(), set, &[], &[]).unwrap();
            let took = start.elapsed();
            assert_eq!(checked.manifests().len(), 2 * PAIRS);
            took
        })
        .collect();
    times.sort();
    println!("check of {} manifests: median {:?}, least {:?}", 2 * PAIRS, times[ROUNDS / 2], times[0]);
}
