//! The tree itself, held to its rules.

mod tidy;
