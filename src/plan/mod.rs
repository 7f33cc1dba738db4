//! The planner: pure, the same input gives the same bytes.

pub mod document;
pub mod identity;
pub mod stored;
