//! The journaled apply, model-checked: every order of its steps, crashes, lost answers, sleeping holders, people and
//! controllers is explored. The properties are the promises of the README; mutants of the protocol must each break one.

#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

mod protocol;
mod world;

use stateright::{Checker, HasDiscoveries, Model};

use protocol::{Mutant, Protocol};
use world::Budget;

const BUDGET: Budget = Budget { crashes: 2, sleeps: 1, lost: 1, human: 1, controller: 1 };

fn explored(mutant: Option<Mutant>) -> impl Checker<Protocol> {
    let protocol = Protocol { recoveries: 2, budget: BUDGET, mutant };
    let finish = if mutant.is_some() { HasDiscoveries::AnyFailures } else { HasDiscoveries::AllFailures };
    protocol.checker().threads(2).finish_when(finish).spawn_bfs().join()
}

#[test]
fn every_order_of_steps_crashes_and_other_writers_ends_wholly_old_or_wholly_new() {
    let checker = explored(None);
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

fn is_caught(mutant: Mutant) {
    let found = explored(Some(mutant)).discoveries();
    let broken: Vec<&str> = protocol::PROMISES.into_iter().filter(|promise| found.contains_key(promise)).collect();
    assert!(!broken.is_empty(), "{mutant:?} breaks no promise");
}

#[test]
fn a_commit_point_after_the_prune_is_caught() {
    is_caught(Mutant::CommitAfterPrune);
}

#[test]
fn an_undo_without_compare_and_swap_is_caught() {
    is_caught(Mutant::UndoWithoutSwap);
}

#[test]
fn no_wait_at_a_takeover_is_caught() {
    is_caught(Mutant::NoWait);
}

#[test]
fn a_recovery_that_trusts_the_journal_is_caught() {
    is_caught(Mutant::TrustingRecovery);
}

#[test]
fn an_undo_that_leaves_the_journals_head_as_it_was_is_caught() {
    is_caught(Mutant::NoBeginUndo);
}

#[test]
fn a_takeover_that_moves_no_versions_is_caught() {
    is_caught(Mutant::NoFence);
}

#[test]
fn a_journal_that_loses_its_parts_before_it_says_so_is_caught() {
    is_caught(Mutant::PartsFirst);
}
