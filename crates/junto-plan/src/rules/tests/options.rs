//! Options that change whether a layout runs.

use super::with;
use crate::options::{Exchange, Options, Placement, Speculation};

#[test]
fn kimi_by_deepep_in_sglang() {
    let options = Options { exchange: Exchange::AllToAll, ..Options::default() };
    let said = with(
        options,
        "kimi-k2.6",
        "8x-rtx-pro-6000",
        "sglang-0.5.11",
        &["tp8", "tp8+ep4", "dp8+ep8"],
    );
    insta::assert_snapshot!(said, @r"
    tp8: DeepEP sets ep to the 8 ranks of a stage, whatever is asked (S12, at argument parsing)
      hint: ask for tp8+ep8
    tp8+ep4: DeepEP sets ep to the 8 ranks of a stage, whatever is asked (S12, at argument parsing)
      hint: ask for tp8+ep8
    dp8+ep8: SGLang has no DeepEP kernel for INT4 experts, only DeepGEMM's for FP8 (S23, while loading)
      hint: leave the exchange at gather and scatter, or use an FP8 checkpoint
    ");
}

#[test]
fn kimi_by_all_to_all_in_vllm() {
    let options = Options { exchange: Exchange::AllToAll, ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "vllm-0.33", &["tp8+ep8", "dp8+ep8"]);
    insta::assert_snapshot!(said, @r"
    tp8+ep8: vLLM uses its all-to-all only with both data and expert parallelism (A1, at argument parsing)
      hint: leave the exchange at gather and scatter
    dp8+ep8: DeepEP needs NVLink inside a host, and these GPUs are joined by PCIe (A2, while loading)
      hint: leave the exchange at gather and scatter
    ");
}

#[test]
fn deepseek_by_deepep_over_pcie() {
    let options = Options { exchange: Exchange::AllToAll, ..Options::default() };
    let said = with(options, "deepseek-v3", "8x-rtx-pro-6000", "sglang-0.5.11", &["dp8+ep8"]);
    insta::assert_snapshot!(said, @r"
    dp8+ep8: DeepEP needs NVLink inside a host, and these GPUs are joined by PCIe (A2, while loading)
      hint: leave the exchange at gather and scatter
    ");
}

#[test]
fn deepseek_by_deepep_over_nvlink() {
    let options = Options { exchange: Exchange::AllToAll, ..Options::default() };
    let said = with(options, "deepseek-v3", "8x-h200", "sglang-0.5.11", &["dp8+ep8", "tp8+ep8"]);
    insta::assert_snapshot!(said, @r"
    dp8+ep8: runs
    tp8+ep8: runs
    ");
}

#[test]
fn balancing_in_sglang() {
    let options = Options { placement: Placement::Balanced, ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-h200", "sglang-0.5.11", &["tp8", "tp8+ep8"]);
    insta::assert_snapshot!(said, @r"
    tp8: there is nothing to balance: with ep1 every rank has a slice of every expert (S17, at argument parsing)
      hint: balanced placement needs ep of 2 or more
    tp8+ep8: runs
    ");
}

#[test]
fn balancing_in_vllm() {
    let options = Options { placement: Placement::Balanced, ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-h200", "vllm-0.33", &["tp8"]);
    insta::assert_snapshot!(said, @r"
    tp8: there is nothing to balance: with ep1 every rank has a slice of every expert (V6, at argument parsing)
      hint: balanced placement needs ep of 2 or more
    ");
}

#[test]
fn speculation_over_stages() {
    let options = Options {
        speculation: Some(Speculation { draft_tokens: 1, acceptance_length: 1.8 }),
        ..Options::default()
    };
    let said = with(options, "deepseek-v3", "8x-h200", "sglang-0.5.11", &["pp8", "tp8"]);
    insta::assert_snapshot!(said, @r"
    pp8: SGLang 0.5.11 does not speculate over pipeline stages (S10, at argument parsing)
      hint: turn speculation off, or use tp
    tp8: runs
    ");
}

#[test]
fn too_large_a_fraction() {
    let options = Options { memory_fraction: Some(0.97), ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "sglang-0.5.11", &["tp8"]);
    insta::assert_snapshot!(said, @r"
    tp8: a memory fraction of 0.97 leaves 2.8 GiB for activations, graphs and communication, which need about 4.0 GiB (M3, while capturing CUDA graphs)
      hint: a memory fraction of 0.95 leaves room for 278k tokens of KV cache
    ");
}

#[test]
fn no_fraction() {
    let options = Options { memory_fraction: Some(1.2), ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "sglang-0.5.11", &["tp8"]);
    insta::assert_snapshot!(said, @r"
    tp8: a memory fraction of 1.2 is no fraction (O1, at argument parsing)
      hint: the default is 0.88
    ");
}

#[test]
fn too_small_a_fraction() {
    let options = Options { memory_fraction: Some(0.75), ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "sglang-0.5.11", &["tp8"]);
    insta::assert_snapshot!(said, @r"
    tp8: weights need 71.9 GiB per GPU and 0.75 of the card's 94.9 GiB is 71.2 GiB, so no KV cache is left (M2, while sizing the KV cache)
      hint: a memory fraction of 0.88 leaves room for 177k tokens of KV cache
    ");
}

#[test]
fn too_small_a_fraction_in_vllm() {
    let options = Options { memory_fraction: Some(0.8), ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "vllm-0.33", &["tp8", "pp8"]);
    insta::assert_snapshot!(said, @r"
    tp8: runs
    pp8: weights take 73.2 GiB per GPU, activations and communication 3.2 GiB; 0.8 of the card's 94.9 GiB is 75.9 GiB, so no KV cache is left (M2, while sizing the KV cache)
      hint: a memory fraction of 0.92 leaves room for 1.3M tokens of KV cache
    ");
}

#[test]
fn a_long_context_in_sglang() {
    let options = Options { max_context: Some(262_144), ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "sglang-0.5.11", &["tp8", "tp4+dp2"]);
    insta::assert_snapshot!(said, @r"
    tp8: a request of 262k tokens needs 17.2 GiB of KV cache, there is 11.6 GiB per GPU (M4, at the first request)
      hint: an FP8 KV cache holds 353k tokens
    tp4+dp2: a request of 262k tokens needs 17.2 GiB of KV cache, there is 10.0 GiB per GPU (M4, at the first request)
      hint: an FP8 KV cache holds 304k tokens
    ");
}

#[test]
fn a_long_context_in_vllm() {
    let options = Options { max_context: Some(262_144), ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "vllm-0.33", &["tp8", "tp8+dcp2"]);
    insta::assert_snapshot!(said, @r"
    tp8: a request of 262k tokens needs 17.2 GiB of KV cache, there is 12.3 GiB per GPU (M4, while sizing the KV cache)
      hint: an FP8 KV cache holds 377k tokens
    tp8+dcp2: runs
    ");
}

#[test]
fn nothing_may_run() {
    let options = Options { max_running: Some(0), ..Options::default() };
    let said = with(options, "kimi-k2.6", "8x-rtx-pro-6000", "vllm-0.33", &["tp8"]);
    insta::assert_snapshot!(said, @"tp8: at most 0 running requests is nothing to serve with (O2, at argument parsing)");
}
