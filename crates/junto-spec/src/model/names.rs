//! Tensor names of each family, as they stand in its checkpoints.

/// Names inside one decoder layer. `{e}` stands for the expert's number.
pub(crate) struct Names {
    /// Prefix of a dense MLP.
    pub(crate) dense: [&'static str; 3],
    pub(crate) router: &'static str,
    pub(crate) router_bias: &'static str,
    pub(crate) experts: Experts,
    /// Gate, up and down of the shared expert.
    pub(crate) shared: [&'static str; 3],
}

/// How the experts' projections are stored.
pub(crate) enum Experts {
    /// Gate and up apart: gate, up, down.
    Apart([&'static str; 3]),
    /// Gate and up in one tensor: gate-up, down.
    Fused([&'static str; 2]),
}

const MLP: [&str; 3] = ["mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"];

const MIXTRAL_EXPERTS: Experts = Experts::Apart([
    "block_sparse_moe.experts.{e}.w1.weight",
    "block_sparse_moe.experts.{e}.w3.weight",
    "block_sparse_moe.experts.{e}.w2.weight",
]);

const DEEPSEEK: Names = Names {
    dense: MLP,
    router: "mlp.gate.weight",
    router_bias: "mlp.gate.e_score_correction_bias",
    experts: Experts::Apart([
        "mlp.experts.{e}.gate_proj.weight",
        "mlp.experts.{e}.up_proj.weight",
        "mlp.experts.{e}.down_proj.weight",
    ]),
    shared: [
        "mlp.shared_experts.gate_proj.weight",
        "mlp.shared_experts.up_proj.weight",
        "mlp.shared_experts.down_proj.weight",
    ],
};

const QWEN: Names = Names {
    shared: [
        "mlp.shared_expert.gate_proj.weight",
        "mlp.shared_expert.up_proj.weight",
        "mlp.shared_expert.down_proj.weight",
    ],
    ..DEEPSEEK
};

const QWEN_FUSED: Names = Names {
    experts: Experts::Fused(["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]),
    ..QWEN
};

const GPT_OSS: Names =
    Names { router: "mlp.router.weight", router_bias: "mlp.router.bias", ..QWEN_FUSED };

const KIMI_LINEAR: Names = Names {
    router: "block_sparse_moe.gate.weight",
    router_bias: "block_sparse_moe.gate.e_score_correction_bias",
    experts: MIXTRAL_EXPERTS,
    shared: [
        "block_sparse_moe.shared_experts.gate_proj.weight",
        "block_sparse_moe.shared_experts.up_proj.weight",
        "block_sparse_moe.shared_experts.down_proj.weight",
    ],
    dense: MLP,
};

const MIXTRAL: Names =
    Names { router_bias: "block_sparse_moe.e_score_correction_bias", ..KIMI_LINEAR };

const LLAMA4: Names = Names {
    dense: [
        "feed_forward.gate_proj.weight",
        "feed_forward.up_proj.weight",
        "feed_forward.down_proj.weight",
    ],
    router: "feed_forward.router.weight",
    router_bias: "feed_forward.router.bias",
    experts: Experts::Fused([
        "feed_forward.experts.gate_up_proj",
        "feed_forward.experts.down_proj",
    ]),
    shared: [
        "feed_forward.shared_expert.gate_proj.weight",
        "feed_forward.shared_expert.up_proj.weight",
        "feed_forward.shared_expert.down_proj.weight",
    ],
};

const STEP: Names = Names {
    dense: MLP,
    router: "moe.gate.weight",
    router_bias: "moe.router_bias",
    experts: Experts::Apart(["moe.gate_proj.weight", "moe.up_proj.weight", "moe.down_proj.weight"]),
    shared: [
        "share_expert.gate_proj.weight",
        "share_expert.up_proj.weight",
        "share_expert.down_proj.weight",
    ],
};

pub(crate) fn of(model_type: &str) -> Names {
    match model_type {
        "gpt_oss" => GPT_OSS,
        "kimi_linear" => KIMI_LINEAR,
        "llama4_text" => LLAMA4,
        "minimax_m2" | "mixtral" => MIXTRAL,
        "qwen3_5_moe_text" => QWEN_FUSED,
        "qwen3_moe" | "qwen3_next" => QWEN,
        "step3p5" => STEP,
        _ => DEEPSEEK,
    }
}
