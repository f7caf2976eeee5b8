//! The case that junto began with: Kimi K2.6 on eight GPUs that PCIe joins.

use crate::junto::{block, stdout};
use serde_json::Value;

const CASE: [&str; 4] = ["--model", "kimi-k2.6", "--machine", "8x-rtx-pro-6000"];

fn args<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let engine: &[&str] =
        if args.contains(&"--engine") { &[] } else { &["--engine", "sglang-0.5.11"] };
    args.iter().chain(&CASE).chain(engine).copied().collect()
}

/// The one layout that is asked for, as a refusal of the JSON.
#[track_caller]
fn refusal(layout: &str, more: &[&str]) -> Value {
    let asked = [&["plan", "--layouts", layout, "--json"], more].concat();
    let plan: Value = serde_json::from_str(&stdout(&args(&asked), 1)).unwrap();
    assert_eq!(plan["ranked"].as_array().unwrap().len(), 0, "{plan}");
    plan["refused"][0].clone()
}

#[test]
fn with_graphs_tensor_parallelism_is_ahead_for_one_user() {
    let asked = ["plan", "--layouts", "tp8,tp8+ep8", "--concurrency", "1", "--json"];
    let plan: Value = serde_json::from_str(&stdout(&args(&asked), 0)).unwrap();
    let ranked = plan["ranked"].as_array().unwrap();
    let layouts: Vec<&str> = ranked.iter().map(|each| each["layout"].as_str().unwrap()).collect();
    assert_eq!(layouts, ["tp8", "tp8+ep8"]);
}

#[test]
fn the_gap_of_the_campaign_is_cuda_graphs() {
    let asked = ["why", "tp8@cuda_graphs=off", "tp8+ep8", "--json"];
    let why: Value = serde_json::from_str(&stdout(&args(&asked), 0)).unwrap();
    let share = |cause: &str| {
        let shares = why["shares"].as_array().unwrap();
        let share = shares.iter().find(|share| share["cause"] == cause).unwrap();
        share["delta_ms"].as_f64().unwrap()
    };
    let [graphs, layout] = ["cuda_graphs=on", "layout"].map(share);
    assert!(graphs < -10.0 * layout.abs(), "{graphs} {layout}");
    let text = stdout(&args(&asked[..3]), 0).replace('\n', " ");
    assert!(text.contains("the gap is CUDA graphs"), "{text}");
}

#[test]
fn half_the_machine_does_not_hold_the_weights() {
    let refusal = refusal("tp4+ep2", &[]);
    assert_eq!(refusal["rule"], "M1");
    let reason = refusal["reason"].as_str().unwrap();
    assert_eq!(reason, "weights need 141.0 GiB per GPU, the card has 94.9 GiB");
}

#[test]
fn whole_attention_on_every_gpu_leaves_no_kv_cache() {
    let refusal = refusal("dp8+ep8", &["--engine", "vllm-0.33"]);
    assert_eq!(refusal["rule"], "M2");
    assert!(refusal["reason"].as_str().unwrap().starts_with("weights need 90.1 GiB per GPU"));
    assert!(0.0 < refusal["lacking_gib"].as_f64().unwrap());
}

#[test]
fn layouts_that_cannot_exist_are_mistakes() {
    insta::assert_snapshot!(block(&args(&["plan", "--layouts", "tp2+ep4"])), @"
        exit 2
        --- stderr
        error: --layouts: ep4 does not divide the 2 ranks of a stage
        ");
    insta::assert_snapshot!(block(&args(&["plan", "--layouts", "tp3"])), @"
        exit 2
        --- stderr
        error: tp3: tp3 does not divide the 64 attention heads (while loading, S19)
        hint: tp can be 1, 2, 4, 8, 16, 32 or 64
        ");
}

#[test]
fn the_limit_that_is_named_is_the_one_that_binds() {
    let text = |more: &[&str]| {
        let asked = [&["plan", "--layouts", "tp8", "--concurrency", "256"], more].concat();
        stdout(&args(&asked), 0).replace('\n', " ")
    };
    let full = text(&[]);
    assert!(full.contains("At C=256 memory is the limit"), "{full}");
    let set = text(&["--max-running", "16"]);
    assert!(
        set.contains("the engine's setting is the limit: at most 16 requests may run"),
        "{set}"
    );
}

#[test]
fn an_engine_that_cannot_cut_experts_says_so() {
    let asked = ["plan", "--engine", "vllm-0.33", "--json"];
    let plan: Value = serde_json::from_str(&stdout(&args(&asked), 0)).unwrap();
    let refused = plan["refused"].as_array().unwrap();
    let hybrid = refused.iter().find(|refusal| refusal["layout"] == "tp8+ep4").unwrap();
    assert_eq!(hybrid["rule"], "C5");
}

#[test]
fn the_answer_fits_a_terminal() {
    let text = stdout(&args(&["plan"]), 0);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.lines().count() <= 45, "{text}");
}
