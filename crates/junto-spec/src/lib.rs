//! What is given: model, machine, engine profile, layout, workload and units; which rank owns
//! which layers, heads and experts; which collectives a layer needs.
//!
//! No I/O other than parsing, no async, no clocks.

pub mod catalog;
pub mod engine;
pub mod format;
pub mod layout;
pub mod machine;
pub mod model;
pub mod source;
pub mod units;
pub mod weight;
pub mod workload;
