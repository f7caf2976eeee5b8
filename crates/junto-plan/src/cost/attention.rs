//! Time of attention over the KV cache of one layer.

use crate::constants::Efficiency;
use crate::cost::pass::Pass;
use crate::cost::roofline::{TILE_ROWS, roofline};
use crate::cost::term::Bound;
use junto_spec::format::KvFormat;
use junto_spec::layout::Layout;
use junto_spec::machine::Gpu;
use junto_spec::model::{Attention, Gqa, Linear, Mla};
use junto_spec::units::{Bytes, Flops, Seconds};

/// Bytes and operations of the attention kernel of one layer on one rank.
struct Work {
    bytes: f64,
    flops: f64,
    /// Independent blocks of work: sequences, and key-value heads where there are several.
    blocks: f64,
    /// Index into the `[mla, gqa]` constants.
    kind: usize,
}

/// Attention of one layer on one rank, projections not included.
pub(crate) fn attention_time(
    attention: &Attention,
    pass: &Pass,
    layout: &Layout,
    kv: KvFormat,
    gpu: &Gpu,
    efficiency: &Efficiency,
) -> (Seconds, Bound) {
    let work = match attention {
        Attention::Mla(mla) => mla_work(mla, pass, layout, kv),
        Attention::Gqa(gqa) => gqa_work(gqa, pass, layout, kv),
        Attention::Linear(linear) => linear_work(linear, pass, layout),
    };
    let saturation = if pass.prefills() {
        1.0
    } else {
        work.blocks / (work.blocks + efficiency.attention_half_batch[work.kind])
    };
    let compute = if pass.prefills() {
        efficiency.prefill_attention[work.kind]
    } else {
        efficiency.attention_compute[work.kind]
    };
    roofline(
        Bytes(work.bytes),
        gpu.memory_bandwidth * (efficiency.attention_memory[work.kind] * saturation),
        Flops(work.flops),
        gpu.bf16 * compute,
    )
}

/// Keys that a query of the pass sees on average.
fn seen(pass: &Pass, limit: Option<u32>) -> f64 {
    let keys = pass.context + pass.prompt / 2.0;
    limit.map_or(keys, |limit| keys.min(f64::from(limit)))
}

/// MLA: every rank reads the whole latent of its sequences, cut only by `dcp`; decode works in the
/// absorbed form (latent width twice per head), prefill in the expanded form.
fn mla_work(mla: &Mla, pass: &Pass, layout: &Layout, kv: KvFormat) -> Work {
    let heads = f64::from(mla.num_attention_heads) / f64::from(layout.tp());
    let dcp = f64::from(layout.dcp());
    let latent = f64::from(mla.kv_lora_rank + mla.qk_rope_head_dim);
    let keys = seen(pass, mla.indexer.map(|indexer| indexer.index_topk));
    let cached = if pass.prefills() { keys + pass.prompt / 2.0 } else { keys };
    let mut bytes = pass.sequences * cached * latent * kv.bytes() / dcp;
    let mut flops = if pass.prefills() {
        let width = mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim;
        2.0 * pass.tokens * heads * keys * f64::from(width)
    } else {
        // All heads of a sequence share keys: a tile of the matrix unit holds 16 of them, and context
        // parallelism gathers those of its ranks over a share of the keys.
        let rows = heads * dcp * pass.tokens / pass.sequences;
        let padded = (rows / TILE_ROWS).ceil() * TILE_ROWS;
        2.0 * pass.sequences * padded * keys / dcp * (latent + f64::from(mla.kv_lora_rank))
    };
    if let Some(indexer) = mla.indexer {
        // Every key is scored by the indexer before the best are attended to; its cache is fp8.
        let all = seen(pass, None);
        let width = f64::from(indexer.index_head_dim);
        bytes += pass.sequences * all * width;
        flops += 2.0 * pass.tokens * f64::from(indexer.index_n_heads) * all * width;
    }
    Work { bytes, flops, blocks: pass.sequences, kind: 0 }
}

/// GQA: key-value heads are cut by `tp` until each rank has one.
fn gqa_work(gqa: &Gqa, pass: &Pass, layout: &Layout, kv: KvFormat) -> Work {
    let heads = f64::from(gqa.num_attention_heads) / f64::from(layout.tp());
    let kv_heads = f64::from(gqa.num_key_value_heads.div_ceil(layout.tp()));
    let keys = seen(pass, gqa.sliding_window);
    let width = f64::from(gqa.head_dim + gqa.v_head_dim);
    let bytes = pass.sequences * keys * kv_heads * width * kv.bytes() / f64::from(layout.dcp());
    let flops = 2.0 * pass.tokens * heads * keys * width;
    Work { bytes, flops, blocks: pass.sequences * kv_heads, kind: 1 }
}

/// Linear attention: the f32 state of every sequence is read and written once per step.
fn linear_work(linear: &Linear, pass: &Pass, layout: &Layout) -> Work {
    let heads = f64::from(linear.num_value_heads) / f64::from(layout.tp());
    let state = heads * f64::from(linear.key_head_dim) * f64::from(linear.value_head_dim);
    let bytes = pass.sequences * state * 4.0 * 2.0;
    // Update and read-out of the state per token; prefill works in chunks at about twice that.
    let per_token = if pass.prefills() { 8.0 } else { 4.0 };
    Work { bytes, flops: pass.tokens * state * per_token, blocks: pass.sequences * heads, kind: 1 }
}
