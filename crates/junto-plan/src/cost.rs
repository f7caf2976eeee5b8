//! The time of one step: a forward pass of a batch through the layers of a layout.

pub mod attention;
pub mod comm;
pub mod pass;
pub mod roofline;
pub mod term;
pub mod work;
