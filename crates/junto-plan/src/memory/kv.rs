//! Bytes of the KV cache.

use crate::memory::model_bytes::KINDS;
use crate::options::Options;
use junto_spec::layout::Layout;
use junto_spec::model::Attention;
use junto_spec::units::Bytes;

/// What one running request holds in the KV cache of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct KvCost {
    /// Per token, however long the request.
    pub per_token: Bytes,
    /// Per token, up to `window` tokens.
    pub per_windowed_token: Bytes,
    /// The widest sliding window.
    pub window: u32,
    /// However short the request: states of linear attention.
    pub per_sequence: Bytes,
}

impl KvCost {
    /// Of one layer on one rank.
    ///
    /// MLA: every rank of `tp` has the whole latent. GQA: key-value heads are cut until each rank
    /// has one. `dcp` shares out tokens. The indexer's keys are FP8 with one f32 scale.
    pub(crate) fn of_layer(attention: &Attention, layout: &Layout, options: &Options) -> Self {
        let number = options.kv.bytes();
        let dcp = f64::from(layout.dcp());
        let per_token = match attention {
            Attention::Mla(mla) => {
                let indexer = mla.indexer.map_or(0.0, |it| f64::from(it.index_head_dim + 4));
                f64::from(mla.kv_lora_rank + mla.qk_rope_head_dim) * number + indexer
            }
            Attention::Gqa(gqa) => {
                let heads = gqa.num_key_value_heads.div_ceil(layout.tp());
                f64::from(heads) * f64::from(gqa.head_dim + gqa.v_head_dim) * number
            }
            Attention::Linear(_) => {
                let state = attention.state_bytes() / f64::from(layout.tp());
                return Self { per_sequence: state, ..Self::default() };
            }
        };
        let per_token = Bytes(per_token / dcp);
        match attention.sliding_window() {
            Some(window) => Self { per_windowed_token: per_token, window, ..Self::default() },
            None => Self { per_token, ..Self::default() },
        }
    }

    /// Of a stage: `counts` layers of each kind.
    pub(crate) fn of_stage(kinds: &[Self; KINDS], counts: &[u32; KINDS]) -> Self {
        let mut sum = Self::default();
        for (kind, count) in kinds.iter().zip(counts) {
            let count = f64::from(*count);
            sum.per_token += kind.per_token * count;
            sum.per_windowed_token += kind.per_windowed_token * count;
            sum.per_sequence += kind.per_sequence * count;
            sum.window = sum.window.max(if count > 0.0 { kind.window } else { 0 });
        }
        sum
    }

    /// Of a request of `tokens` tokens.
    pub fn request(&self, tokens: f64) -> Bytes {
        let windowed = tokens.min(f64::from(self.window));
        self.per_token * tokens + self.per_windowed_token * windowed + self.per_sequence
    }
}
