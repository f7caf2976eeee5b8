//! `junto why`.

use crate::junto::{block, stdout};
use serde_json::Value;

const CASE: [&str; 6] =
    ["--model", "kimi-k2.6", "--machine", "8x-rtx-pro-6000", "--engine", "sglang-0.5.11"];

fn why<'a>(args: &[&'a str]) -> Vec<&'a str> {
    ["why"].iter().chain(args).chain(&CASE).copied().collect()
}

#[test]
fn a_gap_that_is_cuda_graphs_is_not_called_the_layouts() {
    let text = stdout(&why(&["tp8@cuda_graphs=off", "tp8+ep8"]), 0).replace('\n', " ");
    assert!(text.contains("ms are CUDA graphs and"), "{text}");
    assert!(text.contains("the gap is CUDA graphs"), "{text}");
}

#[test]
fn a_difference_that_the_model_cannot_tell_is_called_a_tie() {
    for (sides, tied) in [(["tp8", "tp8+ep2"], true), (["tp8", "pp8"], false)] {
        let text = stdout(&why(&sides), 0).replace('\n', " ");
        assert_eq!(text.contains("take the two as tied, and measure them"), tied, "{text}");
        let json: Value =
            serde_json::from_str(&stdout(&why(&[&sides[..], &["--json"]].concat()), 0)).unwrap();
        assert_eq!(json["tied"], tied);
    }
}

#[test]
fn layouts_that_are_tied_are_not_ordered_behind_an_option() {
    let text = stdout(&why(&["tp8@cuda_graphs=off", "tp8+ep2"]), 0).replace('\n', " ");
    assert!(text.contains("with equal options the layouts are tied"), "{text}");
    assert!(!text.contains("would be the slower"), "{text}");
}

#[test]
fn the_shares_sum_to_the_difference() {
    let args =
        why(&["tp8@cuda_graphs=off,kv_dtype=fp8", "tp8+ep4", "--concurrency", "4", "--json"]);
    let why: Value = serde_json::from_str(&stdout(&args, 0)).unwrap();
    let tpot = |side: usize| why["sides"][side]["points"][0]["tpot_ms"].as_f64().unwrap();
    let sum = |list: &str| -> f64 {
        let list = why[list].as_array().unwrap().iter();
        list.map(|each| each["delta_ms"].as_f64().unwrap()).sum()
    };
    let difference = tpot(1) - tpot(0);
    assert!((sum("deltas") - difference).abs() < 1e-9);
    assert!((sum("shares") - difference).abs() < 1e-9);
    assert_eq!(why["shares"].as_array().unwrap().len(), 3);
}

#[test]
fn every_line_fits_100_columns() {
    for sides in [["tp8@cuda_graphs=off", "pp8"], ["dp8+ep8", "tp4+dp2+ep4@kv_dtype=fp8,eplb=on"]] {
        for concurrency in ["1", "4096"] {
            let text = stdout(&why(&[sides[0], sides[1], "--concurrency", concurrency]), 0);
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }
}

#[test]
fn equal_sides_differ_in_nothing() {
    let text = stdout(&why(&["tp8", "tp8"]), 0);
    assert!(text.ends_with("Nothing differs between the two.\n"), "{text}");
}

#[test]
fn a_side_that_does_not_run_says_why() {
    insta::assert_snapshot!(block(&why(&["tp4", "tp8"])), @"
        exit 1
        --- stdout
        tp4 does not run: weights need 141.0 GiB per GPU, the card has 94.9 GiB; tp8 fits on 8 GPUs: 71.9
        GiB of weights per GPU and 177k tokens of KV cache.
        ");
    insta::assert_snapshot!(block(&why(&["tp8", "tp8@cuda_graphs=maybe"])), @r#"
        exit 2
        --- stderr
        error: tp8@cuda_graphs=maybe: cuda_graphs is "maybe"; it must be on or off
        "#);
    insta::assert_snapshot!(block(&why(&["tp8", "tp8+dcp2"])), @"
        exit 2
        --- stderr
        error: tp8+dcp2: SGLang 0.5.11 cannot share a KV cache over ranks, so there is no dcp2 (at argument parsing, C3)
        hint: vLLM 0.33 and SGLang 0.5.23 can
        ");
}
