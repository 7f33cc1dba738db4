//! Criterion benches of the parts: reading, checking, merging, digests, the plan of a set.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, unreachable_pub, missing_docs)]

#[allow(dead_code, reason = "the texts alone are used here")]
mod repository;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use holdfast::admission::{self, CheckedSet};
use holdfast::apply::observe;
use holdfast::base::clock::Moment;
use holdfast::base::digest;
use holdfast::base::ids::{CommitId, Manager, SourceId, SourceName};
use holdfast::base::path::RepoPath;
use holdfast::inventory::{Binding, Inventory};
use holdfast::manifest::{Limits, ManifestSet, read_file};
use holdfast::merge::{self, Ask};
use holdfast::plan::document::Purpose;
use holdfast::plan::{CommitFacts, FIELD_MANAGER, Grants, SourceInput, draft};
use holdfast::source::scope::Namespaces;
use holdfast::source::spec::SourceSpec;
use holdfast::source::url::RepositoryUrl;
use holdfast::target::sqlite::{Access, Embedded, Options};
use holdfast::target::{Reader, Target, TargetKind};

/// Files of one Deployment and one ConfigMap each.
const FILES: usize = 500;

fn texts() -> Vec<(RepoPath, Vec<u8>)> {
    let file = |n: usize| (RepoPath::new(format!("app-{n:05}.yaml").as_bytes()), repository::app(n).into_bytes());
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: bench\n";
    (0..FILES).map(file).chain([(RepoPath::new(b"namespace.yaml"), namespace.as_bytes().to_vec())]).collect()
}

fn read(files: Vec<(RepoPath, Vec<u8>)>) -> ManifestSet {
    let limits = Limits::default();
    ManifestSet::join(files.into_iter().map(|(path, text)| read_file(&path, text, &limits)).collect(), &limits)
}

fn spec() -> SourceSpec {
    let url = RepositoryUrl::parse("https://git.example/bench.git", Path::new("/")).unwrap();
    let namespaces = Namespaces::Some(BTreeSet::from(["bench".to_owned()]));
    let mut spec = SourceSpec::new(SourceName::parse("bench").unwrap(), url, namespaces);
    spec.cluster_kinds = holdfast::source::scope::ClusterKinds::Any;
    spec
}

fn check(spec: &SourceSpec, set: ManifestSet) -> CheckedSet {
    admission::check(spec, set, &holdfast::target::Definitions::default(), &[])
        .map_err(|refused| refused.faults().cloned().collect::<Vec<_>>())
        .unwrap()
}

/// From the checked set to the sealed plan, against a target that has nothing of it.
fn plan(spec: &SourceSpec, set: &CheckedSet, reader: &dyn Reader) {
    let id = SourceId::derive(&reader.identity().unwrap(), &spec.name, 0);
    let inventory = Inventory::empty(id.clone());
    let commit = CommitId::parse(&"0a".repeat(20)).unwrap();
    let binding = Binding { repository: String::new(), root_commits: Vec::new(), path: String::new() };
    let facts = CommitFacts { commit, preview: false, rewind: false };
    let inputs = [SourceInput {
        spec,
        id,
        purpose: Purpose::Apply,
        record: None,
        inventory: &inventory,
        set,
        facts,
        binding,
        rebinds: false,
        emergencies: Default::default(),
    }];
    let observed = observe(reader, TargetKind::Embedded, &[], &inputs).unwrap();
    let grants = Grants::default();
    let drafted = draft(&inputs, &[], &observed, &grants);
    let facts = admission::facts(reader, &drafted).unwrap();
    let plan = admission::judge(drafted, &facts, None).unwrap().map_err(|_| "refused").unwrap();
    drop(black_box(plan.seal(String::new()).unwrap()));
}

fn parts(c: &mut Criterion) {
    let files = texts();
    let spec = spec();
    let mut group = c.benchmark_group("parts");
    group.throughput(Throughput::Elements(2 * FILES as u64 + 1));
    group.bench_function("parse", |b| b.iter_batched(|| files.clone(), read, BatchSize::LargeInput));
    group.bench_function("check", |b| {
        b.iter_batched(|| read(files.clone()), |set| check(&spec, set), BatchSize::LargeInput);
    });
    let set = check(&spec, read(files));
    group.bench_function("digest", |b| {
        b.iter(|| set.manifests().iter().for_each(|one| drop(black_box(digest::of_value(one.declared())))));
    });
    let manager = Manager::new(FIELD_MANAGER);
    let now = Moment::from_millis(0);
    let applied = |one: &admission::Checked| {
        merge::apply(one.schema(), None, one.declared(), &manager, &one.gvk().api_version(), now).unwrap()
    };
    let live: Vec<_> = set.manifests().iter().map(applied).collect();
    group.bench_function("merge", |b| {
        b.iter(|| {
            for (one, live) in set.manifests().iter().zip(&live) {
                let ask = Ask {
                    schema: one.schema(),
                    live: Some(live),
                    declared: one.declared(),
                    declared_before: Some(one.fields()),
                    manager: &manager,
                    left_alone: &[],
                };
                black_box(merge::merge(&ask).unwrap());
            }
        });
    });
    let folder = tempfile::tempdir().unwrap();
    let options = Options { access: Access::Create, wait: Duration::from_secs(1), now };
    let target = Embedded::open(&folder.path().join("target.db"), options).unwrap();
    let reader = target.reader().unwrap();
    group.bench_function("plan", |b| b.iter(|| plan(&spec, &set, reader.as_ref())));
    group.finish();
}

criterion_group!(benches, parts);
criterion_main!(benches);
