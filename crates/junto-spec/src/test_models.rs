//! Models and layouts for tests.

use crate::format::Format;
use crate::layout::{Layout, Sizes};
use crate::model::{
    Attention, Bias, Gqa, Layer, Mla, Mlp, ModelSpec, Moe, OutputGate, QkNorm, Quantization,
};
use proptest::prelude::*;

const INT4: Format = Format::Int4 { group: 32, zero_points: false };

fn model(name: &str, hidden: u64, vocab: u64, layers: Vec<Layer>, experts: Format) -> ModelSpec {
    ModelSpec {
        name: name.into(),
        architecture: String::new(),
        model_type: String::new(),
        hidden_size: hidden,
        vocab_size: vocab,
        max_position_embeddings: 262_144,
        tie_word_embeddings: false,
        num_nextn_predict_layers: 0,
        nextn_layer: None,
        multimodal: false,
        vision_parameters: None,
        layers,
        quantization: Quantization {
            method: String::new(),
            attention: Format::Bf16,
            attention_output: Format::Bf16,
            routed_experts: experts,
            shared_experts: Format::Bf16,
            dense_mlp: Format::Bf16,
            head: Format::Bf16,
            base: Format::Bf16,
        },
    }
}

fn moe(experts: u32, top_k: u32, inner: u32, shared: u32) -> Mlp {
    Mlp::Moe(Moe {
        n_routed_experts: experts,
        num_experts_per_tok: top_k,
        moe_intermediate_size: inner,
        shared_intermediate_size: shared,
        shared_expert_gate: false,
        n_group: 1,
        topk_group: 1,
        router_bias: false,
        expert_bias: false,
    })
}

/// Kimi K2.6: 61 layers, the first dense, MLA.
pub(crate) fn kimi() -> ModelSpec {
    let attention = Attention::Mla(Mla {
        num_attention_heads: 64,
        q_lora_rank: Some(1536),
        kv_lora_rank: 512,
        qk_nope_head_dim: 128,
        qk_rope_head_dim: 64,
        v_head_dim: 128,
        indexer: None,
    });
    let mut layers = vec![Layer { attention, mlp: moe(384, 8, 2048, 2048) }; 61];
    layers[0].mlp = Mlp::Dense { intermediate_size: 18_432 };
    model("kimi", 7168, 163_840, layers, INT4)
}

/// Qwen3-30B-A3B: 48 layers, GQA with 4 key-value heads, no shared expert.
pub(crate) fn qwen() -> ModelSpec {
    let attention = Attention::Gqa(Gqa {
        num_attention_heads: 32,
        num_key_value_heads: 4,
        head_dim: 128,
        v_head_dim: 128,
        sliding_window: None,
        bias: Bias::None,
        qk_norm: QkNorm::PerHead,
        output_gate: OutputGate::None,
        sinks: false,
    });
    let layers = vec![Layer { attention, mlp: moe(128, 8, 768, 0) }; 48];
    model("qwen", 2048, 151_936, layers, Format::Bf16)
}

/// Any legal layout of moderate size, one replica.
pub(crate) fn any_layout() -> impl Strategy<Value = Layout> {
    (1u32..5, 1u32..9, 1u32..9, any::<prop::sample::Index>(), any::<prop::sample::Index>())
        .prop_map(|(pp, tp, dp, ep, dcp)| {
            let divisors = |n: u32| (1..=n).filter(|d| n.is_multiple_of(*d)).collect::<Vec<_>>();
            let ep = *ep.get(&divisors(tp * dp));
            let dcp = *dcp.get(&divisors(tp));
            Layout::new(Sizes { pp, tp, dp, ep, dcp, replicas: 1 }).unwrap()
        })
}
