//! One test a family of checks; a failure lists every place and what to do there.

use xtask::tidy::{File, Finding, arrows, readme, text, tracked_files};

fn files() -> Vec<File> {
    tracked_files(xtask::root()).expect("git lists the files of the tree")
}

#[track_caller]
fn assert_none(findings: &[Finding]) {
    let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(list.is_empty(), "{} findings:\n{}", list.len(), list.join("\n"));
}

#[test]
fn every_file_keeps_the_rules_of_one_file() {
    let findings: Vec<Finding> = files().iter().flat_map(text::check).collect();
    assert_none(&findings);
}

#[test]
fn every_crate_keeps_to_its_arrows_and_is_on_the_map() {
    assert_none(&arrows::check(&files()).unwrap());
}

#[test]
fn the_examples_in_the_readme_are_real() {
    assert_none(&readme::check(xtask::root()).unwrap());
}
