//! A model, as its Hugging Face `config.json` describes it. Field names are Hugging Face's own.

use crate::format::Format;
use crate::units::Bytes;

pub mod count;
pub mod error;
mod fields;
mod names;
mod parse;
pub mod quantization;
mod vision;
mod weights;

#[cfg(test)]
mod tests;

/// A decoder-only language model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// Name in the catalog, or the file it was read from.
    pub name: String,
    /// First entry of `architectures`.
    pub architecture: String,
    /// `model_type` of the text model.
    pub model_type: String,
    /// Width of the residual stream.
    pub hidden_size: u64,
    /// Rows of the embedding.
    pub vocab_size: u64,
    /// Longest context the config allows.
    pub max_position_embeddings: u64,
    /// Whether the head shares the embedding.
    pub tie_word_embeddings: bool,
    /// Multi-token-prediction layers in the checkpoint.
    pub num_nextn_predict_layers: u32,
    /// The decoder layer inside each of them.
    pub nextn_layer: Option<Layer>,
    /// Whether a vision tower comes with it.
    pub multimodal: bool,
    /// Parameters of the vision tower and projector, where the config tells its shape.
    pub vision_parameters: Option<u64>,
    /// One entry per decoder layer, in order.
    pub layers: Vec<Layer>,
    /// Format of each kind of module.
    pub quantization: Quantization,
}

/// One decoder layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layer {
    /// Its token mixer.
    pub attention: Attention,
    /// Its channel mixer.
    pub mlp: Mlp,
}

/// The token mixer of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attention {
    /// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).
    Mla(Mla),
    /// Multi-head attention with grouped queries.
    Gqa(Gqa),
    /// Linear attention: a fixed state per sequence instead of a growing cache.
    Linear(Linear),
}

/// Multi-head latent attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mla {
    /// Query heads.
    pub num_attention_heads: u32,
    /// Rank of the query's low-rank projection; `None`: a full `q_proj`.
    pub q_lora_rank: Option<u32>,
    /// Width of the cached latent.
    pub kv_lora_rank: u32,
    /// Head width without position.
    pub qk_nope_head_dim: u32,
    /// Head width with rotary position, shared by all heads in the cache.
    pub qk_rope_head_dim: u32,
    /// Width of a value head.
    pub v_head_dim: u32,
    /// Sparse-attention indexer (DeepSeek-V3.2, GLM-5), if any.
    pub indexer: Option<Indexer>,
}

/// The lightning indexer of DeepSeek sparse attention: each query attends to `index_topk` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Indexer {
    /// Indexer heads.
    pub index_n_heads: u32,
    /// Width of an indexer head; one key of this width is cached per token.
    pub index_head_dim: u32,
    /// Keys kept per query.
    pub index_topk: u32,
}

/// Grouped-query attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gqa {
    /// Query heads.
    pub num_attention_heads: u32,
    /// Key-value heads.
    pub num_key_value_heads: u32,
    /// Width of a query and key head.
    pub head_dim: u32,
    /// Width of a value head (`head_dim` in most models).
    pub v_head_dim: u32,
    /// Tokens a query looks back at (the chunk, in Llama 4's chunked attention); `None`: all.
    pub sliding_window: Option<u32>,
    /// Biases on q, k, v (and o, where the architecture has one).
    pub bias: Bias,
    /// Learned norms of q and k.
    pub qk_norm: QkNorm,
    /// Output gate computed beside q: `q_proj` (or a `g_proj`) has as many more outputs.
    pub output_gate: OutputGate,
    /// Learned attention sinks, one per head (gpt-oss).
    pub sinks: bool,
}

/// Learned norms of queries and keys. Llama 4's has no weight, so it counts as `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QkNorm {
    /// None.
    None,
    /// One weight of `head_dim`, shared by all heads (Qwen3, GLM-4.5).
    PerHead,
    /// A weight over all heads at once (MiniMax-M2).
    FullWidth,
}

/// Which attention projections have a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bias {
    /// None has.
    None,
    /// q, k and v.
    Qkv,
    /// q, k, v and o.
    Qkvo,
}

/// An attention output gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputGate {
    /// None.
    None,
    /// One gate per element: `q_proj` has twice the outputs (Qwen3-Next).
    PerElement,
    /// One gate per head (Step-3.5 `g_proj`).
    PerHead,
}

/// Linear attention (gated delta net, KDA, lightning).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Linear {
    /// Which recurrence.
    pub kind: LinearKind,
    /// Key (and query) heads.
    pub num_key_heads: u32,
    /// Value heads.
    pub num_value_heads: u32,
    /// Width of a key head.
    pub key_head_dim: u32,
    /// Width of a value head.
    pub value_head_dim: u32,
    /// Taps of the short convolution before it.
    pub conv_kernel_dim: u32,
}

/// The recurrence of a linear attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinearKind {
    /// Gated delta net (Qwen3-Next, Qwen3.5).
    GatedDeltaNet,
    /// Kimi delta attention (Kimi-Linear).
    Kda,
}

/// The channel mixer of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mlp {
    /// One gated MLP of this width.
    Dense {
        /// Inner width.
        intermediate_size: u32,
    },
    /// Routed experts.
    Moe(Moe),
}

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moe {
    /// Experts to choose from.
    pub n_routed_experts: u32,
    /// Experts per token.
    pub num_experts_per_tok: u32,
    /// Inner width of a routed expert.
    pub moe_intermediate_size: u32,
    /// Total inner width of the shared experts; 0 when there is none.
    pub shared_intermediate_size: u32,
    /// Whether the shared expert has a scalar gate (Qwen).
    pub shared_expert_gate: bool,
    /// Groups of experts for group-limited routing.
    pub n_group: u32,
    /// Groups a token may use.
    pub topk_group: u32,
    /// Whether router and experts carry biases (gpt-oss), or the router a correction bias.
    pub router_bias: bool,
    /// Biases on the experts' projections (gpt-oss).
    pub expert_bias: bool,
}

/// The format of each kind of module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// What the checkpoint calls it (`compressed-tensors`, `fp8`, `awq`, `mxfp4`, `nvfp4`, `none`).
    pub method: String,
    /// Attention projections other than the output's.
    pub attention: Format,
    /// Attention output projection; NVIDIA's NVFP4 DeepSeek checkpoints quantize it alone.
    pub attention_output: Format,
    /// Routed experts.
    pub routed_experts: Format,
    /// Shared experts.
    pub shared_experts: Format,
    /// Dense MLPs.
    pub dense_mlp: Format,
    /// Output head.
    pub head: Format,
    /// Everything that is never quantized (embedding, norms, router).
    pub base: Format,
}

impl ModelSpec {
    /// A model of the catalog that ships inside the binary.
    pub fn catalog(name: &str) -> Result<Self, error::ModelError> {
        match crate::catalog::text("models", name, "json") {
            Some(text) => Self::from_json(text, name),
            None => Err(error::ModelError::unknown_name(name)),
        }
    }
}

impl Layer {
    /// Whether this layer mixes tokens by full or windowed attention, and so has a KV cache.
    pub fn has_kv_cache(&self) -> bool {
        !matches!(self.attention, Attention::Linear(_))
    }
}

impl Attention {
    /// Numbers that the cache keeps per token: MLA the latent, the rotary key and the indexer's
    /// key; GQA a key and a value per key-value head; linear attention none.
    ///
    /// With a sliding window, the caller caps the tokens.
    pub fn kv_numbers_per_token(&self) -> u64 {
        match self {
            Self::Mla(mla) => {
                let indexer = mla.indexer.map_or(0, |indexer| u64::from(indexer.index_head_dim));
                u64::from(mla.kv_lora_rank) + u64::from(mla.qk_rope_head_dim) + indexer
            }
            Self::Gqa(gqa) => {
                u64::from(gqa.num_key_value_heads)
                    * (u64::from(gqa.head_dim) + u64::from(gqa.v_head_dim))
            }
            Self::Linear(_) => 0,
        }
    }

    /// Bytes of the fixed state of one sequence: zero unless the attention is linear.
    ///
    /// The recurrent state is kept in f32 (`mamba_ssm_dtype`), the last inputs of the short
    /// convolution over q, k and v in bf16.
    pub fn state_bytes(&self) -> Bytes {
        let Self::Linear(linear) = self else { return Bytes(0.0) };
        let keys = f64::from(linear.num_key_heads) * f64::from(linear.key_head_dim);
        let values = f64::from(linear.num_value_heads) * f64::from(linear.value_head_dim);
        let recurrent = values * f64::from(linear.key_head_dim) * 4.0;
        let taps = f64::from(linear.conv_kernel_dim) - 1.0;
        Bytes(recurrent + taps * (2.0 * keys + values) * 2.0)
    }

    /// Tokens a query looks back at; `None`: all of them (or, in linear attention, a state).
    pub fn sliding_window(&self) -> Option<u32> {
        match self {
            Self::Gqa(gqa) => gqa.sliding_window,
            Self::Mla(_) | Self::Linear(_) => None,
        }
    }
}
