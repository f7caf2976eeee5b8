//! Rebuilds the crate when a file is added to the catalog, which `include_dir` does not notice.

fn main() {
    println!("cargo:rerun-if-changed=../../catalog");
}
