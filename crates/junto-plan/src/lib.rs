//! From specification to cost, memory, ranking, refusals and reasons. No I/O, no async, no clocks.

pub mod band;
pub mod calibrate;
pub mod case;
pub mod constants;
pub mod cost;
pub mod experts;
pub mod fit;
pub mod memory;
pub mod options;
pub mod refusal;
pub mod rules;
pub mod search;
pub mod slo;
pub mod steady;
pub mod whatif;
pub mod why;

#[cfg(test)]
mod test_cases;
