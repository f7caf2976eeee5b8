//! The binary as a user runs it: exit code, stdout and stderr.

#![expect(clippy::unwrap_used, reason = "a test fails by panic")]

mod calibrate;
mod formats;
mod junto;
mod kimi;
mod laws;
mod lists;
mod mistakes;
mod plan;
mod values;
mod why;
