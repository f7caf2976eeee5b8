//! What a GPU holds in a layout: weights and KV cache to the byte, the rest by rule of thumb.

pub mod kv;
pub mod model_bytes;
pub mod slots;

use crate::case::Case;
use crate::options::{Exchange, Graphs};
use junto_spec::engine::{Family, MemoryRule};
use junto_spec::model::Mlp;
use junto_spec::units::Bytes;
use kv::KvCost;
use model_bytes::KINDS;

/// Length of the request that a count of KV tokens refers to. Only sliding windows and linear
/// attention make a difference between requests.
pub const NOMINAL_TOKENS: f64 = 4096.0;

const MIB: f64 = 1024.0 * 1024.0;

/// Memory of one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights on the fullest GPU.
    pub weights: Bytes,
    /// Weights on the fullest GPU of the lightest stage.
    pub weights_min: Bytes,
    /// KV cache, on the stage where it holds the fewest tokens; below 0, what is missing for one.
    pub kv: Bytes,
    /// Tokens that the KV cache of one attention group holds.
    pub kv_tokens: f64,
    /// What a request holds in that cache.
    pub kv_cost: KvCost,
    /// Activations and logits of the largest pass.
    pub activations: Bytes,
    /// Captured CUDA graphs.
    pub graphs: Bytes,
    /// Buffers of NCCL and of dispatch.
    pub communication: Bytes,
    /// The part of the GPU's memory that the memory fraction stands for.
    pub limit: Bytes,
    /// All of the GPU's memory that a process can have.
    pub card: Bytes,
}

impl Memory {
    /// The memory of a layout.
    pub fn of(case: &Case<'_>) -> Self {
        let bytes = case.bytes;
        let drafts = case.options.speculation.is_some();
        let per_layout = bytes.per_layout(case.layout, case.dense(), drafts);
        let mut kinds = [KvCost::default(); KINDS];
        for (cost, layer) in kinds.iter_mut().zip(bytes.layer_kinds()) {
            *cost = KvCost::of_layer(&layer.attention, case.layout, case.options);
        }
        let card = case.machine.gpu.memory;
        let mut memory = Self {
            weights: Bytes(0.0),
            weights_min: Bytes(f64::INFINITY),
            kv: Bytes(0.0),
            kv_tokens: f64::INFINITY,
            kv_cost: KvCost::default(),
            activations: activations(case),
            graphs: graphs(case),
            communication: communication(case),
            limit: card * case.memory_fraction(),
            card,
        };
        let stages = bytes.stages(case.layout.pp());
        for (index, layers) in stages.iter().enumerate() {
            let counts = bytes.counts(layers);
            let weights = per_layout.stage(&counts, index, stages.len());
            let cost = KvCost::of_stage(&kinds, &counts);
            let kv = memory.budget(case.engine.defaults.memory_rule, weights);
            let tokens = kv / cost.request(NOMINAL_TOKENS) * NOMINAL_TOKENS;
            memory.weights = Bytes(memory.weights.0.max(weights.0));
            memory.weights_min = Bytes(memory.weights_min.0.min(weights.0));
            if tokens < memory.kv_tokens {
                (memory.kv, memory.kv_tokens, memory.kv_cost) = (kv, tokens, cost);
            }
        }
        memory.kv_tokens = memory.kv_tokens.max(0.0);
        memory
    }

    /// What a GPU with these weights has for its KV cache.
    fn budget(&self, rule: MemoryRule, weights: Bytes) -> Bytes {
        let workspace = self.activations + self.communication;
        match rule {
            MemoryRule::FractionOfFree => self.limit - weights,
            MemoryRule::FractionOfTotal => self.limit - weights - workspace,
            MemoryRule::FractionAfterLoad => {
                (self.card - weights - workspace) * (self.limit / self.card)
            }
            MemoryRule::AsAsked => self.limit - weights - workspace - self.graphs,
        }
    }

    /// Memory outside what the fraction covers.
    pub fn outside(&self, rule: MemoryRule) -> Bytes {
        match rule {
            MemoryRule::FractionOfFree | MemoryRule::FractionOfTotal => self.card - self.limit,
            MemoryRule::FractionAfterLoad => {
                let workspace = self.activations + self.communication;
                self.card - self.weights - workspace - self.kv
            }
            MemoryRule::AsAsked => Bytes(0.0),
        }
    }

    /// Workspace that has to fit there.
    pub fn uncovered(&self, rule: MemoryRule) -> Bytes {
        match rule {
            MemoryRule::FractionOfFree => self.activations + self.graphs + self.communication,
            MemoryRule::FractionOfTotal | MemoryRule::FractionAfterLoad => self.graphs,
            MemoryRule::AsAsked => Bytes(0.0),
        }
    }
}

/// Routed tokens of a pass are worked on in parts of at most this many (vLLM
/// `fused_moe_chunk_size`, SGLang `CHUNK_SIZE`).
const MOE_CHUNK: f64 = 32_768.0;

/// Activations of the largest prefill pass, and the logits of the largest decode batch.
///
/// Six tensors of the hidden size per token of a group; per routed token and expert the outputs of
/// gate and up (or of down, in the same buffer) and their product; logits in bf16 and f32.
fn activations(case: &Case<'_>) -> Bytes {
    let dp = f64::from(case.layout.dp());
    let chunk = f64::from(case.chunked_prefill());
    // SGLang shares a chunk out over the groups; vLLM's groups have one each.
    let (own, all) = match case.engine.family {
        Family::Sglang => (chunk / dp, chunk),
        _ => (chunk, chunk * dp),
    };
    let hidden = case.model.hidden_size as f64;
    let moe_tp = f64::from(case.layout.moe_tp());
    let per_routed_token = case
        .bytes
        .layer_kinds()
        .map(|layer| match &layer.mlp {
            Mlp::Moe(moe) => {
                let width = f64::from(moe.moe_intermediate_size) / moe_tp;
                f64::from(moe.num_experts_per_tok) * (width + hidden.max(2.0 * width))
            }
            Mlp::Dense { .. } => 0.0,
        })
        .fold(0.0, f64::max);
    let passing = 2.0 * (own * 6.0 * hidden + all.min(MOE_CHUNK) * per_routed_token);
    let sampled = f64::from(case.engine.defaults.cuda_graph_max_bs).min(512.0);
    Bytes(passing + sampled * case.model.vocab_size as f64 * 6.0)
}

/// SGLang sets 2 MiB aside for each sequence of the largest captured batch (0.5.11,
/// `server_args.py`); others are taken to be like it.
fn graphs(case: &Case<'_>) -> Bytes {
    match case.options.graphs {
        Graphs::On if case.engine.can.cuda_graphs => {
            Bytes(2.0 * MIB * f64::from(case.engine.defaults.cuda_graph_max_bs))
        }
        _ => Bytes(0.0),
    }
}

/// SGLang sets 1 GiB aside for each eight ranks (0.5.11, `server_args.py`). Low-latency dispatch
/// sends and receives 128 bf16 tokens for each expert, double-buffered.
fn communication(case: &Case<'_>) -> Bytes {
    let ranks = match (case.engine.family, case.layout.ranks()) {
        // Ranks on a CPU share memory; llama.cpp's GPUs belong to one process.
        (Family::Native | Family::LlamaCpp, _) | (_, 1) => 0.0,
        (_, ranks) => f64::from(ranks),
    };
    let experts = case.bytes.layer_kinds().find_map(|layer| match &layer.mlp {
        Mlp::Moe(moe) => Some(f64::from(moe.n_routed_experts)),
        Mlp::Dense { .. } => None,
    });
    let buffers = match case.options.exchange {
        Exchange::AllToAll => {
            4.0 * 128.0 * experts.unwrap_or(0.0) * case.model.hidden_size as f64 * 2.0
        }
        Exchange::GatherScatter => 0.0,
    };
    Bytes(ranks * 128.0 * MIB + buffers)
}

#[cfg(test)]
mod tests;
