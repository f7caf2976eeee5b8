//! The `junto` binary: arguments in, text out.

fn main() {}
