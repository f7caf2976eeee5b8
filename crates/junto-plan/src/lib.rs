//! From specification to cost, memory, ranking, refusals and reasons. No I/O, no async, no clocks.
