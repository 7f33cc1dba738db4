//! Holdfast brings a git commit to a control plane whole or not at all.
//!
//! A planner reads and admits every manifest of the commit into one complete diff plan; people review the plan; an
//! applier commits exactly that plan; nothing is deleted unless name, object ID and source ownership agree.
//!
//! # The promises
//!
//! 1. What was reviewed is what is applied, or nothing is.
//! 2. A refused or failed apply leaves the target as it was, and says why, everything at once, with file and line.
//! 3. Nothing is deleted, overwritten or taken over that this Source can't prove is its own.
//!
//! # The protocol is in the types
//!
//! ```text
//! Checkout -> ManifestSet -> CheckedSet -> Draft -> Plan | Rejection -> SealedPlan -> Transaction -> Receipt
//! ```
//!
//! Each step consumes or borrows the last; fields are private, and there is no other constructor.
//!
//! | type | what it proves | made by |
//! |---|---|---|
//! | [`source::checkout::Checkout`] | the files of one commit, read from git's objects | [`source::mirror::Mirror::checkout`] |
//! | [`manifest::ManifestSet`] | every counted file was read, or has a fault | [`manifest::ManifestSet::join`] |
//! | [`admission::CheckedSet`] | every manifest passed every rule that needs no live object | [`admission::check`] |
//! | [`plan::Draft`] | the pure diff, with order and ownership | [`plan::draft`] |
//! | [`plan::Plan`] | the Draft passed the rules that need a live object | [`admission::judge`] |
//! | [`plan::SealedPlan`] | an independent lint found no broken promise; it has its PlanId | [`plan::Plan::seal`] |
//! | [`apply::Transaction`] | the writer's lock is held, and the reviewed plan is what would be planned inside it | [`apply::Transaction::begin`] |
//! | [`apply::Receipt`] | it was committed | [`apply::Transaction::commit`] |
//!
//! **Architecture invariant:** what was not checked can't be planned, what is not sealed can't be applied, a transaction
//! can't commit twice: it doesn't compile.
//!
//! **Architecture invariant:** a delete carries an [`inventory::PruneWarrant`], issued in one leaf file after name, UID and
//! owner mark were compared.
//!
//! **Architecture invariant:** planning is given a [`target::Reader`], which has no write method, and is pure: the same
//! input gives the same bytes.
//!
//! **Architecture invariant:** no protocol type derives `Deserialize`. A plan file is a claim: it is shown and compared,
//! and what is applied is a plan made anew.
//!
//! # Whose an object is
//!
#![doc = include_str!("plan/ownership.md")]
//!
//! # The rooms
//!
//! Imports go down this list only; `tests/tidy.rs` holds it.
//!
//! | room | what it is |
//! |---|---|
//! | [`base`] | identifiers, digests, pointers, faults, the clock, safe text |
//! | [`source`], [`manifest`] | what people configure and commit: git, YAML and JSON |
//! | [`schema`], [`merge`] | what kinds look like, and how what is declared joins what is live |
//! | [`health`] | whether a live object is as it should be, by the rules of kstatus |
//! | [`inventory`] | what a Source owns: rows, marks, warrants |
//! | [`target`] | the port, and the control planes behind it |
//! | [`plan`], [`admission`] | the Draft, and the rules that judge manifests and Drafts |
//! | [`apply`] | reading, planning and committing against a target |
//! | [`drift`] | what differs on the target from what was applied; it only reads |
//! | [`cli`] | the command line: the only room that names adapters |
//!
//! The library never reads the environment or the wall clock, and never prints.

pub mod admission;
pub mod apply;
pub mod base;
pub mod cli;
pub mod drift;
pub mod health;
pub mod inventory;
pub mod manifest;
pub mod merge;
pub mod plan;
pub mod reconcile;
pub mod schema;
pub mod source;
pub mod target;
