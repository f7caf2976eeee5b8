//! What is given: model, machine, engine profile, layout, workload and units; which rank owns
//! which layers, heads and experts; which collectives a layer needs.
//!
//! No I/O other than parsing, no async, no clocks.

pub mod catalog;
pub mod collective;
pub mod comm_plan;
pub mod comm_rules;
pub mod engine;
pub mod format;
pub mod group;
pub mod layer_split;
pub mod layout;
pub mod locate;
pub mod machine;
pub mod model;
pub mod placement;
pub mod shard;
pub mod source;
pub mod toml_file;
pub mod units;
pub mod weight;
pub mod workload;

#[cfg(test)]
mod test_models;
