//! Layouts by engine, with its defaults.

use super::said;

#[test]
fn kimi_in_sglang_on_eight_cards() {
    let said = said(
        "kimi-k2.6",
        "8x-rtx-pro-6000",
        "sglang-0.5.11",
        &[
            "tp8+ep4",
            "tp4+ep2",
            "tp16",
            "2x tp8",
            "tp8+dcp8",
            "tp3",
            "pp9",
            "tp5",
            "tp8+dp8+ep64",
            "dp8+ep8",
        ],
    );
    insta::assert_snapshot!(said, @r"
    tp8+ep4: runs
    tp4+ep2: weights need 141.0 GiB per GPU, the card has 94.9 GiB (M1, while loading)
      hint: tp8+ep2 fits on 8 GPUs: 71.9 GiB of weights per GPU and 177k tokens of KV cache
    tp16: needs 16 GPUs, the machine has 8 (G1, while forming process groups)
      hint: tp8 is as wide as they allow
    2x tp8: needs 16 GPUs, the machine has 8 (G1, while forming process groups)
      hint: tp8 is as wide as they allow
    tp8+dcp8: SGLang 0.5.11 cannot share a KV cache over ranks, so there is no dcp8 (C3, at argument parsing)
      hint: vLLM 0.33 and SGLang 0.5.23 can
    tp3: tp3 does not divide the 64 attention heads (S19, while loading)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    pp9: needs 9 GPUs, the machine has 8 (G1, while forming process groups)
    tp5: tp5 does not divide the 64 attention heads (S19, while loading)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    tp8+dp8+ep64: needs 64 GPUs, the machine has 8 (G1, while forming process groups)
      hint: dp8+ep8 is as wide as they allow
    dp8+ep8: runs
    ");
}

#[test]
fn kimi_in_vllm_on_eight_cards() {
    let said = said(
        "kimi-k2.6",
        "8x-rtx-pro-6000",
        "vllm-0.33",
        &["tp8+ep8", "tp8+ep4", "dp8+ep8", "tp16", "tp4+dp2", "tp2+dp4+ep8", "pp2+tp4+ep2", "tp7"],
    );
    insta::assert_snapshot!(said, @r"
    tp8+ep8: runs
    tp8+ep4: vLLM has no number for ep: expert parallelism is on or off, here ep8 or ep1 (C5, at argument parsing)
      hint: tp8+ep8 or tp8, or SGLang for ep4
    dp8+ep8: weights need 90.1 GiB per GPU and 0.92 of the card's 94.9 GiB is 87.3 GiB, so no KV cache is left (M2, while sizing the KV cache)
      hint: tp8+ep8 fits on the same 8 GPUs: 71.9 GiB of weights per GPU and 185k tokens of KV cache
    tp16: needs 16 GPUs, the machine has 8 (V1, at argument parsing)
      hint: tp8 is as wide as they allow
    tp4+dp2: runs
    tp2+dp4+ep8: weights take 82.2 GiB per GPU, activations and communication 6.6 GiB; 0.92 of the card's 94.9 GiB is 87.3 GiB, so no KV cache is left (M2, while sizing the KV cache)
      hint: a memory fraction of 0.95 leaves room for 20k tokens of KV cache
    pp2+tp4+ep2: vLLM has no number for ep: expert parallelism is on or off, here ep4 or ep1 (C5, at argument parsing)
      hint: pp2+tp4+ep4 or pp2+tp4, or SGLang for ep2
    tp7: tp7 does not divide the 64 attention heads (V2, at argument parsing)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    ");
}

#[test]
fn many_hosts_in_sglang() {
    let said =
        said("kimi-k2.6", "16x-h200", "sglang-0.5.11", &["tp16", "tp12", "pp3+tp4", "pp3+tp8"]);
    insta::assert_snapshot!(said, @r"
    tp16: runs
    tp12: tp12 does not divide the 64 attention heads (S19, while loading)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    pp3+tp4: 3 stages over 2 hosts: some stage would straddle hosts (S1, at argument parsing)
      hint: let pp be a multiple or a divisor of the number of hosts
    pp3+tp8: needs 24 GPUs, the machine has 16 (G1, while forming process groups)
      hint: pp3+tp4 is as wide as they allow
    ");
}

#[test]
fn many_hosts_in_vllm() {
    let said = said("kimi-k2.6", "16x-h200", "vllm-0.33", &["tp16+ep16", "dp9"]);
    insta::assert_snapshot!(said, @r"
    tp16+ep16: runs
    dp9: 9 ranks cannot be spread evenly over 2 hosts (V7, at argument parsing)
      hint: fill the hosts: 16 ranks
    ");
}

#[test]
fn kimi_in_tensorrt_llm() {
    let said = said(
        "kimi-k2.6",
        "8x-h200",
        "tensorrt-llm-1.2",
        &["tp8+ep4", "tp4+dp2", "dp8+ep8", "tp8+dcp2", "tp6+ep6"],
    );
    insta::assert_snapshot!(said, @r"
    tp8+ep4: runs
    tp4+dp2: TensorRT-LLM's attention data parallelism is all or nothing: each of the 8 ranks has requests of its own, or all share them (T1, at argument parsing)
      hint: dp8 gives each its own
    dp8+ep8: runs
    tp8+dcp2: TensorRT-LLM 1.2 cannot share a KV cache over ranks, so there is no dcp2 (C3, at argument parsing)
      hint: vLLM 0.33 and SGLang 0.5.23 can
    tp6+ep6: tp6 does not divide the 64 attention heads (H1, while loading)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    ");
}

#[test]
fn kimi_in_llama_cpp() {
    let said = said(
        "kimi-k2.6",
        "8x-h200",
        "llama.cpp",
        &["pp8", "tp8", "tp8+ep8", "dp8", "pp2+tp4", "tp8+dcp2"],
    );
    insta::assert_snapshot!(said, @r"
    pp8: runs
    tp8: runs
    tp8+ep8: llama.cpp does not spread experts over GPUs by owner (C4, at argument parsing)
      hint: tp8 is the layout without expert parallelism
    dp8: llama.cpp has no attention data parallelism (C2, at argument parsing)
    pp2+tp4: llama.cpp cuts a model by layer or by row, not both (K1, at argument parsing)
      hint: pp8 or tp8 on the same 8 GPUs
    tp8+dcp2: llama.cpp cannot share a KV cache over ranks, so there is no dcp2 (C3, at argument parsing)
      hint: vLLM 0.33 and SGLang 0.5.23 can
    ");
}

#[test]
fn kimi_in_the_native_engine() {
    let said = said("kimi-k2.6", "8x-h200", "native", &["tp8+ep4", "tp8+dcp2", "tp5+ep5"]);
    insta::assert_snapshot!(said, @r"
    tp8+ep4: runs
    tp8+dcp2: junto's engine cannot share a KV cache over ranks, so there is no dcp2 (C3, at argument parsing)
      hint: vLLM 0.33 and SGLang 0.5.23 can
    tp5+ep5: tp5 does not divide the 64 attention heads (H1, at argument parsing)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    ");
}

#[test]
fn qwen_fp8_in_sglang() {
    let said = said(
        "qwen3-235b-a22b:fp8",
        "8x-h200",
        "sglang-0.5.11",
        &["tp8", "tp8+ep2", "tp4", "tp8+ep8"],
    );
    insta::assert_snapshot!(said, @r"
    tp8: an expert 1536 wide cut into 8 leaves 192 columns, which splits the 128-wide tiles of its FP8 scales (Q1, while loading)
      hint: tp8+ep2 cuts an expert into 4 parts
    tp8+ep2: runs
    tp4: runs
    tp8+ep8: runs
    ");
}

#[test]
fn qwen_fp8_in_vllm() {
    let said = said(
        "qwen3-235b-a22b:fp8",
        "8x-h200",
        "vllm-0.33",
        &["tp8", "tp8+dcp2", "tp8+dcp4", "tp8+ep8"],
    );
    insta::assert_snapshot!(said, @r"
    tp8: an expert 1536 wide cut into 8 leaves 192 columns, which splits the 128-wide tiles of its FP8 scales (Q1, while loading)
      hint: tp8+ep8 cuts an expert into 1 part
    tp8+dcp2: an expert 1536 wide cut into 8 leaves 192 columns, which splits the 128-wide tiles of its FP8 scales (Q1, while loading)
      hint: tp8+ep8+dcp2 cuts an expert into 1 part
    tp8+dcp4: dcp4 shares out copies of a key-value head, and tp8 has 2 of each: the model has 4 key-value heads (V5, at argument parsing)
      hint: dcp can be at most 2
    tp8+ep8: runs
    ");
}

#[test]
fn a_dense_model() {
    let said = said("qwen3-32b", "8x-h200", "sglang-0.5.11", &["tp8+ep2", "tp8", "tp6"]);
    insta::assert_snapshot!(said, @r"
    tp8+ep2: qwen3-32b has no experts to be parallel with (E1, while loading)
      hint: tp8 is the layout without
    tp8: runs
    tp6: tp6 does not divide the 64 attention heads (S19, while loading)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    ");
}

#[test]
fn a_dense_model_in_vllm() {
    let said = said("qwen3-32b", "8x-h200", "vllm-0.33", &["tp8+ep8"]);
    insta::assert_snapshot!(said, @r"
    tp8+ep8: qwen3-32b has no experts to be parallel with (V3, at argument parsing)
      hint: tp8 is the layout without
    ");
}

#[test]
fn one_card() {
    let said = said("kimi-k2.6", "1x-rtx-pro-6000", "sglang-0.5.11", &["tp1"]);
    insta::assert_snapshot!(said, @r"
    tp1: weights need 555.2 GiB per GPU, the card has 94.9 GiB (M1, while loading)
      hint: tp8 would fit on 8 GPUs: 71.9 GiB of weights per GPU and 177k tokens of KV cache
    ");
}

#[test]
fn four_cards() {
    let said = said("deepseek-v3", "4x-h200", "vllm-0.33", &["tp4"]);
    insta::assert_snapshot!(said, @r"
    tp4: weights need 158.0 GiB per GPU, the card has 139.8 GiB (M1, while loading)
      hint: tp8 would fit on 8 GPUs: 79.5 GiB of weights per GPU and 705k tokens of KV cache
    ");
}

#[test]
fn gpt_oss() {
    let said = said("gpt-oss-120b", "8x-h200", "sglang-0.5.11", &["tp8", "tp3", "tp2"]);
    insta::assert_snapshot!(said, @r"
    tp8: runs
    tp3: tp3 does not divide the 64 attention heads (S19, while loading)
      hint: tp can be 1, 2, 4, 8, 16, 32 or 64
    tp2: runs
    ");
}

#[test]
fn linear_attention() {
    let said = said("qwen3-next-80b-a3b", "8x-h200", "vllm-0.33", &["tp8", "tp32"]);
    insta::assert_snapshot!(said, @r"
    tp8: runs
    tp32: needs 32 GPUs, the machine has 8 (V1, at argument parsing)
      hint: tp8 is as wide as they allow
    ");
}

#[test]
fn awq_in_sglang() {
    let said = said("qwen3-235b-a22b:awq", "8x-h200", "sglang-0.5.11", &["tp8", "tp4"]);
    insta::assert_snapshot!(said, @r"
    tp8: an expert 1536 wide cut into 8 leaves 192 columns, which splits groups of 128 that share an INT4 scale (S22, while loading)
      hint: tp8+ep2 cuts an expert into 4 parts
    tp4: runs
    ");
}

#[test]
fn awq_in_vllm() {
    let said = said("qwen3-235b-a22b:awq", "8x-h200", "vllm-0.33", &["tp8", "tp4+dp2+ep8"]);
    insta::assert_snapshot!(said, @r"
    tp8: an expert 1536 wide cut into 8 leaves 192 columns, which splits groups of 128 that share an INT4 scale (V12, while loading)
      hint: tp8+ep8 cuts an expert into 1 part
    tp4+dp2+ep8: runs
    ");
}

#[test]
fn marlin_in_sglang() {
    let said = said("kimi-k2.6", "64x-h200", "sglang-0.5.11", &["tp64"]);
    insta::assert_snapshot!(said, @r"
    tp64: an expert 2048 wide cut into 64 leaves 32 columns, and Marlin works in multiples of 64 (S22, while loading)
      hint: tp64+ep2 cuts an expert into 32 parts
    ");
}

#[test]
fn marlin_in_vllm() {
    let said = said("kimi-k2.6", "64x-h200", "vllm-0.33", &["tp64"]);
    insta::assert_snapshot!(said, @"tp64: runs");
}
