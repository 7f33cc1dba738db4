//! The `holdfast` binary.

use std::process::ExitCode;

/// A plan of 10,000 objects makes millions of small allocations on all cores at once: measured, this one takes less time
/// for them than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    holdfast::cli::main()
}
