//! A real API server behind the port. Where there is none, each test is counted as ignored and printed with the reason.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, unreachable_pub)]

mod accounts;
mod applying;
mod commands;
#[path = "../conformance/mod.rs"]
mod conformance;
mod conforming;
#[path = "../support/control_plane.rs"]
mod control_plane;
mod events;
mod faults;
mod forged;
#[path = "../support/hand.rs"]
mod hand;
mod hooks;
#[path = "../scenarios/lab.rs"]
#[allow(dead_code)]
mod lab;
mod outages;
mod place;
mod planning;
#[path = "../support/proxy.rs"]
mod proxy;
mod real_sets;
mod rewritten;
mod rights;
mod secrets;
mod taking_over;
mod watching;
mod waves;
#[path = "../support/webhook.rs"]
mod webhook;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

/// A test that needs a control plane.
pub fn on_cluster(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || match control_plane::missing() {
        Some(why) => Ok(Completion::ignored_with(why)),
        None => {
            test();
            Ok(Completion::Completed)
        }
    })
}

/// A test that needs controllers too, which are not among envtest's own programs.
pub fn on_controllers(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || match control_plane::missing() {
        Some(why) => Ok(Completion::ignored_with(why)),
        None if !control_plane::shared().has_controllers => {
            Ok(Completion::ignored_with("no kube-controller-manager beside the API server"))
        }
        None => {
            test();
            Ok(Completion::Completed)
        }
    })
}

/// A test that needs nothing.
pub fn anywhere(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = [
        accounts::trials(),
        planning::trials(),
        applying::trials(),
        commands::trials(),
        conforming::trials(),
        rights::trials(),
        faults::trials(),
        taking_over::trials(),
        watching::trials(),
        waves::trials(),
        events::trials(),
        secrets::trials(),
        outages::trials(),
        forged::trials(),
        hooks::trials(),
        real_sets::trials(),
        rewritten::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    println!(
        "kubernetes: {} passed, {} failed, {} skipped",
        conclusion.num_passed, conclusion.num_failed, conclusion.num_ignored
    );
    conclusion.exit_code()
}
