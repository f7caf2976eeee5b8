//! `junto models`, `junto machines`, `junto machine detect`.

use crate::junto::{Scratch, output, stdout};
use serde_json::Value;

#[test]
fn every_name_that_is_listed_can_be_planned_for() {
    let machines: Value = serde_json::from_str(&stdout(&["machines", "--json"], 0)).unwrap();
    let models: Value = serde_json::from_str(&stdout(&["models", "--json"], 0)).unwrap();
    assert!(10 < machines.as_array().unwrap().len());
    assert!(10 < models.as_array().unwrap().len());
    for machine in machines.as_array().unwrap() {
        let smallest = machine["machines"][0].as_str().unwrap();
        let args = ["plan", "--model", "qwen3-8b", "--machine", smallest];
        assert!(output(&args).status.code().is_some_and(|code| code < 2), "{args:?}");
    }
    for model in models.as_array().unwrap() {
        let name = model["name"].as_str().unwrap();
        stdout(&["plan", "--machine", "16x-b300", "--model", name], 0);
    }
}

#[test]
fn the_tables_list_what_the_json_lists() {
    let table = stdout(&["machines"], 0);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let table = stdout(&["models"], 0);
    assert!(table.contains("kimi-k2.6"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

#[test]
fn the_machine_under_us_is_a_machine_file() {
    let args = ["machine", "detect", "--memory-bandwidth", "100", "--bf16", "10", "--l2", "30"];
    let file = Scratch::new(
        "detected.toml",
        stdout(&[&args[..], &["--nvlink", "450"]].concat(), 0).as_bytes(),
    );
    let args = ["plan", "--model", "qwen3-8b", "--engine", "native", "--machine", file.path()];
    assert!(output(&args).status.code().is_some_and(|code| code < 2), "{args:?}");
}
