//! The examples of docs/formats.md.

use crate::junto::{Scratch, stdout};

const FORMATS: &str = include_str!("../../../../docs/formats.md");

/// The one example in a language, as a file.
#[track_caller]
fn example(language: &str) -> Scratch {
    let opening = format!("```{language}\n");
    let mut blocks = FORMATS.split(&opening).skip(1);
    let block = blocks.next().unwrap().split("```").next().unwrap();
    assert!(blocks.next().is_none());
    Scratch::new(&format!("example.{language}"), block.as_bytes())
}

#[test]
fn the_machine_file_is_read() {
    let machine = example("toml");
    let args = ["plan", "--model", "qwen3-30b-a3b", "--engine", "vllm", "--machine"];
    let text = stdout(&[&args[..], &[machine.path()]].concat(), 0);
    assert!(text.contains("Layout"), "{text}");
}

#[test]
fn the_points_are_read() {
    let points = example("json");
    let args = ["plan", "--model", "kimi-k2.6", "--machine", "8x-rtx-pro-6000", "--calibrate"];
    let text = stdout(&[&args[..], &[points.path(), "--engine", "sglang-0.5.11"]].concat(), 0);
    assert!(text.contains("(calibrated with 3 points)"), "{text}");
}
