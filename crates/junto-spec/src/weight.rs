//! A weight of the model: what it is, its shape and format, and how a layout cuts it.

use crate::format::Format;
use crate::units::Bytes;

/// Which part of the model a weight belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Module {
    /// Input embedding table.
    Embedding,
    /// Attention projections and their norms (linear attention too).
    Attention,
    /// Router (`gate`) and its bias.
    Router,
    /// Routed experts.
    RoutedExperts,
    /// Shared expert(s), with their gate if there is one.
    SharedExperts,
    /// Dense MLP of a layer without experts.
    DenseMlp,
    /// Layer norms.
    Norm,
    /// Output head (`lm_head`); absent when tied to the embedding.
    Head,
    /// Multi-token-prediction layers.
    Mtp,
    /// Vision tower and projector.
    Vision,
}

/// How a layout cuts a weight over the ranks of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Every rank holds all of it.
    Replicated,
    /// Rows (outputs) over the `tp` ranks of attention.
    AttentionRows,
    /// Rows over `tp`, but never finer than `heads` pieces: beyond that it is replicated.
    KvHeads {
        /// Key-value heads.
        heads: u32,
    },
    /// Columns (inputs) over the `tp` ranks of attention.
    AttentionCols,
    /// `copies` are experts over `ep`; rows of each over `moe_tp`.
    ExpertRows,
    /// `copies` are experts over `ep`; columns of each over `moe_tp`.
    ExpertCols,
    /// Rows of a dense or shared MLP, over the stage's `tp * dp` or the attention's `tp`.
    MlpRows,
    /// Columns of a dense or shared MLP.
    MlpCols,
    /// Vocabulary rows over `tp`.
    Vocabulary,
}

/// `copies` equal matrices of `rows x cols` (output x input).
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Name as in the checkpoint, without layer prefix, e.g. `self_attn.q_b_proj.weight`.
    pub name: &'static str,
    /// The part of the model.
    pub module: Module,
    /// Equal matrices: the number of experts, or 1.
    pub copies: u32,
    /// Outputs.
    pub rows: u64,
    /// Inputs (1 for a vector).
    pub cols: u64,
    /// Storage format.
    pub format: Format,
    /// How it is cut.
    pub split: Split,
}

impl Weight {
    /// Number of parameters, scales not counted.
    pub fn parameters(&self) -> u64 {
        u64::from(self.copies) * self.rows * self.cols
    }

    /// Bytes of the whole weight.
    pub fn bytes(&self) -> Bytes {
        self.format.bytes(self.rows, self.cols) * f64::from(self.copies)
    }
}
