//! Figures, printed on demand: `cargo test --release --test sources figures -- --ignored --nocapture`.

use std::fmt::Write;
use std::time::Instant;

use holdfast::base::path::RepoPath;
use holdfast::source::refs::RefSpec;
use holdfast::source::worktree;

use super::support::*;

fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text[text.rfind(')').unwrap() + 2..].split(' ').collect();
    // User and system time, in ticks of 10 ms.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) * 10.0
}

/// The least of 15 runs: what else runs on the machine only adds to it.
fn least(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[0]
}

#[test]
#[ignore = "measures"]
fn five_thousand_files() {
    let repo = Repo::new();
    for i in 0..5000 {
        let mut text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{i}\ndata:\n");
        while text.len() < 800 {
            let at = text.len();
            writeln!(text, "  k{at}: v{}", i * 7919 + at).unwrap();
        }
        repo.write(format!("d{}/f{i}.yaml", i % 50), text);
    }
    let commit = repo.commit("many");
    let m = Mirrored::of(&repo);
    let started = Instant::now();
    m.fetch(&RefSpec::Head).unwrap();
    println!("figure first-fetch {:.1} ms", started.elapsed().as_secs_f64() * 1000.0);
    println!("figure fetch-nothing-new {:.1} ms", least(|| drop(m.fetch(&RefSpec::Head).unwrap())));
    let list = || m.mirror.checkout(&commit, &RepoPath::default(), &limits()).unwrap();
    println!("figure list {:.1} ms", least(|| drop(list())));
    let checkout = list();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let read = || {
        let read = pool.install(|| checkout.map_blobs(|f| f.counted, |_, bytes| bytes.len())).unwrap().read;
        assert_eq!(read.len(), 5000);
    };
    println!("figure read-all-2-threads {:.1} ms", least(read));
    let before = cpu_ms();
    (0..50).for_each(|_| read());
    println!("figure read-all-cpu {:.1} ms", (cpu_ms() - before) / 50.0);
    git2::opts::strict_hash_verification(false);
    println!("figure read-all-2-threads-hashes-unchecked {:.1} ms", least(read));
    let before = cpu_ms();
    (0..50).for_each(|_| read());
    println!("figure read-all-cpu-hashes-unchecked {:.1} ms", (cpu_ms() - before) / 50.0);
    println!("figure list-hashes-unchecked {:.1} ms", least(|| drop(list())));
    git2::opts::strict_hash_verification(true);
    println!("figure root-commits {:.2} ms", least(|| drop(m.mirror.root_commits(&commit).unwrap())));
    println!(
        "figure uncommitted {:.1} ms",
        least(|| drop(worktree::uncommitted(repo.path(), &RepoPath::default()).unwrap()))
    );
}
