//! Hash maps for the many small keys of a plan.
//!
//! A plan looks up each resource several times. Foldhash costs a fifth of the standard library's SipHash on such keys; its
//! seed is drawn anew in each process, so names that a repository chose can't be made to collide beforehand.

use foldhash::quality::RandomState;

/// A hash map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
/// A hash set.
pub type HashSet<K> = std::collections::HashSet<K, RandomState>;
