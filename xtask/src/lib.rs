//! Chores in the language of the house: what a developer and CI run, and how the tree is kept tidy.

pub mod accuracy;
pub mod ci;
pub mod tidy;

use std::path::Path;

/// The root of the workspace, whatever folder a chore is started from.
pub fn root() -> &'static Path {
    let manifest_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest_dir.parent().expect("xtask lies in the workspace")
}

/// The cargo that started us, so that a chore never mixes two toolchains.
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
