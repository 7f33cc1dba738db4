//! Prints `figure NAME VALUE UNIT` lines: times of whole `holdfast` processes, as ratios against bare work in one run.
//!
//! The ratios are what counts: the two sides take turns, and each figure is the median of all rounds.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub)]

mod bare;
mod cluster;
#[path = "../support/control_plane.rs"]
mod control_plane;
#[path = "../support/hand.rs"]
mod hand;
mod process;
mod repository;
mod standing;

use std::path::Path;
use std::time::Duration;

use process::{Holdfast, Measured};
use repository::Repository;

/// Rounds of each comparison.
const ROUNDS: usize = 15;
/// Rounds on an API server, where one takes much longer.
const ON_CLUSTER: usize = 5;

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    match args.next().as_deref() {
        Some("bare-parse") => bare::parse(Path::new(&args.next().expect("a folder"))),
        Some("bare-upserts") => {
            bare::upserts(Path::new(&args.next().expect("a database")), Path::new(&args.next().expect("a copy")))
        }
        Some("standing") => {
            let scratch = tempfile::tempdir().expect("a temporary folder");
            let ten = Holdfast::new(Repository::generate(&scratch.path().join("ten"), 10_000));
            ten.warm();
            still(&ten, &ten.applied_copy());
        }
        Some("kubernetes") => cluster::cluster(rounds(ON_CLUSTER)),
        _ => embedded(),
    }
}

/// The figures of the loop, on 10,000 objects that are applied.
fn still(ten: &Holdfast, applied: &Holdfast) {
    let cold = ten.cold_cpu();
    figure("plan-cold-10000-cpu", cold.as_secs_f64() * 1e3, "ms");
    standing::standing(applied, cold);
}

fn embedded() {
    let rounds = rounds(ROUNDS);
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let ten = Repository::generate(&scratch.path().join("ten"), 10_000);
    let fifty = Repository::generate(&scratch.path().join("fifty"), 50_000);
    let (ten, fifty) = (Holdfast::new(ten), Holdfast::new(fifty));
    ten.warm();
    fifty.warm();

    let (mut cold, mut parse, mut idle, mut large) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut saved = Vec::new();
    let applied = ten.applied_copy();
    for _ in 0..rounds {
        parse.push(bare::parse_process(&ten.tree()));
        ten.forget_target();
        cold.push(ten.plan());
        ten.forget_target();
        saved.push(ten.saved_plan());
        idle.push(applied.plan());
    }
    for _ in 0..rounds.div_ceil(3) {
        fifty.forget_target();
        large.push(fifty.plan());
    }
    let (parse, cold, idle, large) = (median(&parse), median(&cold), median(&idle), median(&large));
    let saved = median(&saved);
    figure("bare-parse-10000", parse.wall.as_secs_f64() * 1e3, "ms");
    figure("plan-cold-10000", cold.wall.as_secs_f64() * 1e3, "ms");
    figure("plan-cold-to-bare-parse", ratio(cold.wall, parse.wall), "times (at most 1.5)");
    figure("plan-cold-saved-10000", saved.wall.as_secs_f64() * 1e3, "ms");
    figure("plan-cold-saved-peak-memory", saved.peak_mib, "MiB (at most 200)");
    figure("plan-cold-peak-memory", cold.peak_mib, "MiB (at most 200)");
    figure("plan-50000-to-10000", ratio(large.wall, cold.wall), "times (at most 5.5)");
    figure("plan-idle-to-cold", ratio(idle.wall, cold.wall), "times (at most 1.2)");

    let (mut whole, mut inside, mut upserts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        ten.forget_target();
        let (measured, transaction) = ten.apply();
        whole.push(measured);
        inside.push(Measured { wall: transaction, peak_mib: 0.0 });
        upserts.push(bare::upserts_process(&ten.database(), &scratch.path().join("bare.db")));
    }
    let (whole, inside, upserts) = (median(&whole), median(&inside), median(&upserts));
    figure("apply-transaction-10000", inside.wall.as_secs_f64() * 1e3, "ms");
    figure("bare-upserts-10000", upserts.wall.as_secs_f64() * 1e3, "ms");
    figure("apply-transaction-to-bare-upserts", ratio(inside.wall, upserts.wall), "times (at most 2.5)");
    figure("apply-to-plan-and-transaction", ratio(whole.wall, cold.wall + inside.wall), "times (at most 1.3)");
    still(&ten, &applied);
}

fn rounds(default: usize) -> usize {
    std::env::var("HOLDFAST_BENCH_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn figure(name: &str, value: f64, unit: &str) {
    println!("figure {name} {value:.3} {unit}");
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn median(all: &[Measured]) -> Measured {
    let mut walls: Vec<Duration> = all.iter().map(|m| m.wall).collect();
    walls.sort();
    let peak_mib = all.iter().map(|m| m.peak_mib).fold(0.0, f64::max);
    Measured { wall: walls[walls.len() / 2], peak_mib }
}
