//! Quantities of resources.
