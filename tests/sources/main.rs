//! Sources: what people write, mirrors, and checkouts of real git repositories.
//!
//! Needs the `git` program; what needs more stands in `tests/machine`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod checkout;
mod config;
mod damage;
mod figures;
mod history;
mod hostile;
mod http;
mod links;
mod mirror;
mod server;
mod support;
mod urls;
