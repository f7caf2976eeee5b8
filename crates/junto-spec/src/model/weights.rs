//! Every tensor of a checkpoint: name, shape, format, and how a layout cuts it.

use crate::format::Format;
use crate::model::names::{self, Experts, Names};
use crate::model::{
    Attention, Bias, Gqa, Layer, Linear, LinearKind, Mla, Mlp, ModelSpec, Moe, OutputGate, QkNorm,
};
use crate::weight::{Module, Split, Weight};

/// Projection, norm of the token, norm of the state, last norm of a prediction layer.
const NEXTN: [&str; 4] =
    ["eh_proj.weight", "enorm.weight", "hnorm.weight", "shared_head.norm.weight"];
const QWEN_NEXTN: [&str; 4] = [
    "mtp.fc.weight",
    "mtp.pre_fc_norm_embedding.weight",
    "mtp.pre_fc_norm_hidden.weight",
    "mtp.norm.weight",
];

impl ModelSpec {
    /// The tensors of decoder layer `index`. Panics when there is no such layer.
    pub fn layer_weights(&self, index: usize) -> Vec<Weight> {
        self.weights_of(&self.layers[index])
    }

    /// The tensors outside the decoder layers: embedding, final norm, head (unless tied), the
    /// multi-token-prediction layers and the vision tower (as one weight).
    pub fn outer_weights(&self) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let base = self.quantization.base;
        let table = |name, module, format| {
            weight(name, module, Split::Vocabulary, format, (self.vocab_size, hidden))
        };
        let mut weights = vec![
            table("model.embed_tokens.weight", Module::Embedding, base),
            vector("model.norm.weight", Module::Norm, base, hidden),
        ];
        if !self.tie_word_embeddings {
            weights.push(table("lm_head.weight", Module::Head, self.quantization.head));
        }
        if let Some(layer) = &self.nextn_layer {
            for _ in 0..self.num_nextn_predict_layers {
                weights.extend(self.nextn_weights(layer));
            }
        }
        if let Some(parameters) = self.vision_parameters {
            weights.push(vector("vision_tower", Module::Vision, base, parameters));
        }
        weights
    }

    /// One multi-token-prediction layer: a projection of token and state, and a decoder layer.
    ///
    /// DeepSeek's and GLM-4.5's checkpoints repeat the embedding and the head in it, Step-3.5's
    /// has a head of its own; an engine that shares them leaves the `Vocabulary` weights out.
    fn nextn_weights(&self, layer: &Layer) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let base = self.quantization.base;
        let mut weights = self.weights_of(layer);
        for weight in &mut weights {
            weight.module = Module::Mtp;
        }
        let ([join, token, state, last], tables): (_, &[&'static str]) =
            match self.model_type.as_str() {
                "qwen3_next" | "qwen3_5_moe_text" => (QWEN_NEXTN, &[]),
                "step3p5" => (NEXTN, &["transformer.shared_head.output.weight"]),
                "glm_moe_dsa" => (NEXTN, &[]),
                _ => (NEXTN, &["embed_tokens.weight", "shared_head.head.weight"]),
            };
        weights.push(weight(join, Module::Mtp, Split::Replicated, base, (hidden, 2 * hidden)));
        weights.extend([token, state, last].map(|name| vector(name, Module::Mtp, base, hidden)));
        for name in tables {
            let shape = (self.vocab_size, hidden);
            weights.push(weight(name, Module::Mtp, Split::Vocabulary, base, shape));
        }
        weights
    }

    fn weights_of(&self, layer: &Layer) -> Vec<Weight> {
        let names = names::of(&self.model_type);
        let base = self.quantization.base;
        let mut weights =
            vec![vector("input_layernorm.weight", Module::Norm, base, self.hidden_size)];
        weights.extend(match &layer.attention {
            Attention::Mla(mla) => self.mla(mla),
            Attention::Gqa(gqa) => self.gqa(gqa),
            Attention::Linear(linear) => match linear.kind {
                LinearKind::GatedDeltaNet => self.gated_delta_net(linear),
                LinearKind::Kda => self.kda(linear),
            },
        });
        weights.push(vector(
            "post_attention_layernorm.weight",
            Module::Norm,
            base,
            self.hidden_size,
        ));
        match &layer.mlp {
            Mlp::Dense { intermediate_size } => {
                let format = self.quantization.dense_mlp;
                let width = u64::from(*intermediate_size);
                weights.extend(self.gated_mlp(names.dense, Module::DenseMlp, format, width));
            }
            Mlp::Moe(moe) => weights.extend(self.moe(moe, &names)),
        }
        weights
    }

    fn mla(&self, mla: &Mla) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let (format, output) = (self.quantization.attention, self.quantization.attention_output);
        let base = self.quantization.base;
        let heads = u64::from(mla.num_attention_heads);
        let [nope, rope, value, latent] =
            [mla.qk_nope_head_dim, mla.qk_rope_head_dim, mla.v_head_dim, mla.kv_lora_rank]
                .map(u64::from);
        let whole = |name, shape| attention(name, Split::Replicated, format, shape);
        let rows = |name, shape| attention(name, Split::AttentionRows, format, shape);
        let norm = |name, width| vector(name, Module::Attention, base, width);
        let mut weights = Vec::new();
        if let Some(rank) = mla.q_lora_rank.map(u64::from) {
            weights.push(whole("self_attn.q_a_proj.weight", (rank, hidden)));
            weights.push(norm("self_attn.q_a_layernorm.weight", rank));
            weights.push(rows("self_attn.q_b_proj.weight", (heads * (nope + rope), rank)));
        } else {
            weights.push(rows("self_attn.q_proj.weight", (heads * (nope + rope), hidden)));
        }
        weights.push(whole("self_attn.kv_a_proj_with_mqa.weight", (latent + rope, hidden)));
        weights.push(norm("self_attn.kv_a_layernorm.weight", latent));
        weights.push(rows("self_attn.kv_b_proj.weight", (heads * (nope + value), latent)));
        let shape = (hidden, heads * value);
        weights.push(attention("self_attn.o_proj.weight", Split::AttentionCols, output, shape));
        if let (Some(indexer), Some(rank)) = (mla.indexer, mla.q_lora_rank) {
            let (n, dim) = (u64::from(indexer.index_n_heads), u64::from(indexer.index_head_dim));
            weights.push(whole("self_attn.indexer.wq_b.weight", (n * dim, u64::from(rank))));
            weights.push(whole("self_attn.indexer.wk.weight", (dim, hidden)));
            let name = "self_attn.indexer.weights_proj.weight";
            weights.push(attention(name, Split::Replicated, base, (n, hidden)));
            weights.push(norm("self_attn.indexer.k_norm.weight", dim));
            weights.push(norm("self_attn.indexer.k_norm.bias", dim));
        }
        weights
    }

    fn gqa(&self, gqa: &Gqa) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let (format, base) = (self.quantization.attention, self.quantization.base);
        let heads = u64::from(gqa.num_attention_heads);
        let kv_heads = u64::from(gqa.num_key_value_heads);
        let (dim, value) = (u64::from(gqa.head_dim), u64::from(gqa.v_head_dim));
        let gated = gqa.output_gate == OutputGate::PerElement;
        let q = heads * dim * if gated { 2 } else { 1 };
        let kv_split = Split::KvHeads { heads: gqa.num_key_value_heads };
        let parts = [
            ("self_attn.q_proj.weight", "self_attn.q_proj.bias", Split::AttentionRows, q),
            ("self_attn.k_proj.weight", "self_attn.k_proj.bias", kv_split, kv_heads * dim),
            ("self_attn.v_proj.weight", "self_attn.v_proj.bias", kv_split, kv_heads * value),
        ];
        let mut weights = Vec::new();
        for (name, bias, split, rows) in parts {
            weights.push(attention(name, split, format, (rows, hidden)));
            if gqa.bias != Bias::None {
                weights.push(attention(bias, split, base, (rows, 1)));
            }
        }
        let output = self.quantization.attention_output;
        let shape = (hidden, heads * value);
        weights.push(attention("self_attn.o_proj.weight", Split::AttentionCols, output, shape));
        if gqa.bias == Bias::Qkvo {
            weights.push(vector("self_attn.o_proj.bias", Module::Attention, base, hidden));
        }
        let (q_norm, k_norm) = ("self_attn.q_norm.weight", "self_attn.k_norm.weight");
        match gqa.qk_norm {
            QkNorm::None => {}
            QkNorm::PerHead => {
                weights.extend(
                    [q_norm, k_norm].map(|name| vector(name, Module::Attention, base, dim)),
                );
            }
            QkNorm::FullWidth => {
                weights.push(attention(q_norm, Split::AttentionRows, base, (heads * dim, 1)));
                weights.push(attention(k_norm, kv_split, base, (kv_heads * dim, 1)));
            }
        }
        if gqa.output_gate == OutputGate::PerHead {
            let name = "self_attn.g_proj.weight";
            weights.push(attention(name, Split::AttentionRows, base, (heads, hidden)));
        }
        if gqa.sinks {
            weights.push(attention("self_attn.sinks", Split::AttentionRows, base, (heads, 1)));
        }
        weights
    }

    fn gated_delta_net(&self, linear: &Linear) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let (format, base) = (self.quantization.attention, self.quantization.base);
        let keys = u64::from(linear.num_key_heads) * u64::from(linear.key_head_dim);
        let value_heads = u64::from(linear.num_value_heads);
        let values = value_heads * u64::from(linear.value_head_dim);
        let rows = |name, format, shape| attention(name, Split::AttentionRows, format, shape);
        let (qkv, z) = ((2 * keys + values, hidden), (values, hidden));
        let mut weights = if self.model_type == "qwen3_next" {
            vec![
                rows("linear_attn.in_proj_qkvz.weight", format, (qkv.0 + z.0, hidden)),
                rows("linear_attn.in_proj_ba.weight", base, (2 * value_heads, hidden)),
            ]
        } else {
            vec![
                rows("linear_attn.in_proj_qkv.weight", format, qkv),
                rows("linear_attn.in_proj_z.weight", format, z),
                rows("linear_attn.in_proj_b.weight", base, (value_heads, hidden)),
                rows("linear_attn.in_proj_a.weight", base, (value_heads, hidden)),
            ]
        };
        let taps = u64::from(linear.conv_kernel_dim);
        weights.push(rows("linear_attn.conv1d.weight", base, (2 * keys + values, taps)));
        weights.push(rows("linear_attn.dt_bias", base, (value_heads, 1)));
        weights.push(rows("linear_attn.A_log", base, (value_heads, 1)));
        let dim = u64::from(linear.value_head_dim);
        weights.push(vector("linear_attn.norm.weight", Module::Attention, base, dim));
        let (name, output) = ("linear_attn.out_proj.weight", self.quantization.attention_output);
        weights.push(attention(name, Split::AttentionCols, output, (hidden, values)));
        weights
    }

    fn kda(&self, linear: &Linear) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let (format, base) = (self.quantization.attention, self.quantization.base);
        let (heads, dim) = (u64::from(linear.num_value_heads), u64::from(linear.value_head_dim));
        let (width, taps) = (heads * dim, u64::from(linear.conv_kernel_dim));
        let rows = |name, format, shape| attention(name, Split::AttentionRows, format, shape);
        let whole = |name| attention(name, Split::Replicated, format, (dim, hidden));
        let output = self.quantization.attention_output;
        vec![
            rows("self_attn.q_proj.weight", format, (width, hidden)),
            rows("self_attn.k_proj.weight", format, (width, hidden)),
            rows("self_attn.v_proj.weight", format, (width, hidden)),
            rows("self_attn.q_conv1d.weight", base, (width, taps)),
            rows("self_attn.k_conv1d.weight", base, (width, taps)),
            rows("self_attn.v_conv1d.weight", base, (width, taps)),
            rows("self_attn.A_log", Format::F32, (heads, 1)),
            whole("self_attn.f_a_proj.weight"),
            rows("self_attn.f_b_proj.weight", format, (width, dim)),
            rows("self_attn.dt_bias", Format::F32, (width, 1)),
            rows("self_attn.b_proj.weight", format, (heads, hidden)),
            whole("self_attn.g_a_proj.weight"),
            rows("self_attn.g_b_proj.weight", format, (width, dim)),
            vector("self_attn.o_norm.weight", Module::Attention, base, dim),
            attention("self_attn.o_proj.weight", Split::AttentionCols, output, (hidden, width)),
        ]
    }

    fn gated_mlp(
        &self,
        [gate, up, down]: [&'static str; 3],
        module: Module,
        format: Format,
        width: u64,
    ) -> [Weight; 3] {
        let hidden = self.hidden_size;
        [
            weight(gate, module, Split::MlpRows, format, (width, hidden)),
            weight(up, module, Split::MlpRows, format, (width, hidden)),
            weight(down, module, Split::MlpCols, format, (hidden, width)),
        ]
    }

    fn moe(&self, moe: &Moe, names: &Names) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let base = self.quantization.base;
        let experts = u64::from(moe.n_routed_experts);
        let shape = (experts, hidden);
        let mut weights =
            vec![weight(names.router, Module::Router, Split::Replicated, base, shape)];
        if moe.router_bias {
            // The correction bias is kept in f32; gpt-oss's is a plain bias.
            let format = if moe.expert_bias { base } else { Format::F32 };
            weights.push(vector(names.router_bias, Module::Router, format, experts));
        }
        weights.extend(self.experts(moe, &names.experts));
        if moe.shared_intermediate_size != 0 {
            let format = self.quantization.shared_experts;
            let width = u64::from(moe.shared_intermediate_size);
            weights.extend(self.gated_mlp(names.shared, Module::SharedExperts, format, width));
        }
        if moe.shared_expert_gate {
            let name = "mlp.shared_expert_gate.weight";
            weights.push(weight(name, Module::SharedExperts, Split::Replicated, base, (1, hidden)));
        }
        weights
    }

    fn experts(&self, moe: &Moe, names: &Experts) -> Vec<Weight> {
        let hidden = self.hidden_size;
        let width = u64::from(moe.moe_intermediate_size);
        let format = self.quantization.routed_experts;
        let expert = |name, split, format, shape| Weight {
            copies: moe.n_routed_experts,
            ..weight(name, Module::RoutedExperts, split, format, shape)
        };
        let (rows, cols) = (Split::ExpertRows, Split::ExpertCols);
        let mut weights = match names {
            Experts::Apart([gate, up, down]) => vec![
                expert(*gate, rows, format, (width, hidden)),
                expert(*up, rows, format, (width, hidden)),
                expert(*down, cols, format, (hidden, width)),
            ],
            Experts::Fused([gate_up, down]) => vec![
                expert(*gate_up, rows, format, (2 * width, hidden)),
                expert(*down, cols, format, (hidden, width)),
            ],
        };
        if moe.expert_bias {
            let base = self.quantization.base;
            weights.push(expert("mlp.experts.gate_up_proj_bias", rows, base, (2 * width, 1)));
            // A vector of outputs has no columns to cut: every rank of the expert holds it.
            weights.push(expert("mlp.experts.down_proj_bias", cols, base, (hidden, 1)));
        }
        weights
    }
}

fn weight(
    name: &'static str,
    module: Module,
    split: Split,
    format: Format,
    (rows, cols): (u64, u64),
) -> Weight {
    Weight { name, module, copies: 1, rows, cols, format, split }
}

fn attention(name: &'static str, split: Split, format: Format, shape: (u64, u64)) -> Weight {
    weight(name, Module::Attention, split, format, shape)
}

/// A vector that every rank holds.
fn vector(name: &'static str, module: Module, format: Format, rows: u64) -> Weight {
    weight(name, module, Split::Replicated, format, (rows, 1))
}
