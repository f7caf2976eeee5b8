//! How many requests run at once.

use crate::case::Case;
use crate::memory::Memory;
use junto_spec::engine::Family;
use junto_spec::workload::Workload;

/// vLLM's block: a request wastes half of one on average.
const VLLM_BLOCK: f64 = 16.0;

/// SGLang reserves for at most this much output (`CLIP_MAX_NEW_TOKENS`).
const SGLANG_CLIP: f64 = 4096.0;

/// `new_token_ratio` falls to this share of its start (`SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR`).
const SGLANG_DECAY: f64 = 0.14;

/// What keeps more requests from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cap {
    /// The KV cache is full.
    Memory,
    /// The engine's limit of running requests, as asked or by default.
    Limit,
}

/// How many requests one replica keeps running at most, over all its attention groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// Requests; 0 means that not even one fits.
    pub requests: f64,
    /// What keeps it from more.
    pub cap: Cap,
}

/// The requests that one replica keeps running in the steady state, by its KV cache and by its limit
/// of running requests.
pub fn slots(case: &Case<'_>, memory: &Memory, workload: &Workload) -> Slots {
    let by_memory = (memory.kv / memory.kv_cost.request(held(case, workload))).floor();
    let limit = limit(case, memory);
    let cap = if by_memory < limit { Cap::Memory } else { Cap::Limit };
    Slots { requests: by_memory.min(limit).max(0.0) * f64::from(case.layout.dp()), cap }
}

/// Tokens that a running request takes out of the pool.
fn held(case: &Case<'_>, workload: &Workload) -> f64 {
    let Workload { input_len, output_len } = *workload;
    let live = input_len + output_len / 2.0;
    match case.engine.family {
        // A new request must find `new_token_ratio` of its output free; the ratio decays to 0.14 of
        // its start within 600 steps, so that in the steady state the tokens themselves decide.
        Family::Sglang => {
            let ratio = case.engine.defaults.new_token_ratio.unwrap_or(0.0) * SGLANG_DECAY;
            live.max(input_len + ratio * output_len.min(SGLANG_CLIP))
        }
        Family::Vllm => live + VLLM_BLOCK / 2.0,
        // Nothing is evicted: room for the whole output is kept from the start.
        Family::TensorrtLlm | Family::LlamaCpp => input_len + output_len,
        Family::Native => live,
    }
}

/// Most running requests of one attention group.
fn limit(case: &Case<'_>, memory: &Memory) -> f64 {
    let dp = f64::from(case.layout.dp());
    let asked = case.options.max_running.map(|most| (f64::from(most) / dp).floor().max(1.0));
    let limit = if case.engine.family == Family::Sglang {
        let pool = memory.kv_tokens / case.max_context() as f64 * 512.0;
        asked.unwrap_or(memory.kv_tokens / 2.0).min(pool.clamp(2048.0, 4096.0))
    } else {
        asked.unwrap_or(f64::from(case.engine.defaults.max_running))
    };
    match case.options.micro_batch {
        Some(most) if 1 < case.layout.pp() => limit.min(f64::from(most * case.layout.pp())),
        _ => limit,
    }
}
