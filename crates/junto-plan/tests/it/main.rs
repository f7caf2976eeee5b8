//! Laws of the planner: over the whole catalog, and over files that nobody meant.

#![expect(clippy::unwrap_used, reason = "a test fails by panic")]

mod catalog;
mod files;
mod mutation;
mod plans;
