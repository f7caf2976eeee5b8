//! What each rank owns: layers, heads, experts, columns, vocabulary rows; and in bytes.
//!
//! Everything is cut into consecutive pieces in rank order. Where a number does not divide, the
//! first pieces are one larger: so does vLLM with experts; engines refuse the rest, and saying so is
//! the planner's matter.

use crate::comm_rules::DenseRule;
use crate::format::Format;
use crate::group::Coordinates;
use crate::layout::Layout;
use crate::model::{Attention, Mlp, ModelSpec};
use crate::placement::Placement;
use crate::units::Bytes;
use crate::weight::{Module, Split, Weight};
use std::ops::Range;

/// Vocabularies are padded to a multiple of this (SGLang and vLLM `DEFAULT_VOCAB_PADDING_SIZE`).
pub const VOCABULARY_PADDING: u64 = 64;

/// Piece `index` of `0..total` cut into `pieces`, the first `total % pieces` one larger.
pub fn piece(total: u64, pieces: u32, index: u32) -> Range<u64> {
    assert!(index < pieces);
    let (pieces, index) = (u64::from(pieces), u64::from(index));
    let start = |index: u64| total / pieces * index + index.min(total % pieces);
    start(index)..start(index + 1)
}

/// A piece whose bounds are multiples of `unit` (but for the end of `total`).
fn piece_of_units(total: u64, unit: u64, pieces: u32, index: u32) -> Range<u64> {
    let units = piece(total.div_ceil(unit), pieces, index);
    (units.start * unit).min(total)..(units.end * unit).min(total)
}

fn narrow(range: &Range<u64>) -> Range<u32> {
    range.start as u32..range.end as u32
}

/// Inputs that share a scale: a column cut keeps them together, and so the cut of the rows that
/// feed those columns.
pub fn column_unit(format: Format) -> u64 {
    match format {
        Format::F32 | Format::Bf16 | Format::Fp8 | Format::Int8 | Format::Mixed { .. } => 1,
        Format::Fp8Block { block } => u64::from(block),
        Format::Int4 { group, .. } => u64::from(group),
        Format::Mxfp4 => 32,
        Format::Nvfp4 => 16,
    }
}

/// Rows of a vocabulary cut `ways`: padded so that every piece is equal.
pub fn padded_vocabulary(vocab_size: u64, ways: u32) -> u64 {
    let ways = u64::from(ways);
    let (mut a, mut b) = (VOCABULARY_PADDING, ways);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    vocab_size.next_multiple_of(VOCABULARY_PADDING / a * ways)
}

/// What one rank owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    /// Where the rank is.
    pub coordinates: Coordinates,
    /// Its decoder layers, in order.
    pub layers: Vec<LayerShard>,
    /// Rows of the embedding, padding included; on the first stage, and wherever a tied head is.
    pub embedding: Option<Range<u64>>,
    /// Rows of the head, padding included; on the last stage. A tied head is the embedding.
    pub head: Option<Range<u64>>,
}

/// What one rank owns of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerShard {
    /// Index of the layer in the model.
    pub layer: u32,
    /// Query heads (linear attention: value heads).
    pub heads: Range<u32>,
    /// Key-value heads that those read (linear attention: key heads). Ranks share one where there
    /// are fewer than `tp`; MLA has a single latent one, on every rank.
    pub kv_heads: Range<u32>,
    /// Its share of the MLP.
    pub mlp: MlpShard,
}

/// What one rank owns of an MLP. Columns are inner ones, `0..intermediate_size`: outputs of gate and
/// up, inputs of down.
#[derive(Clone, Debug, PartialEq)]
pub enum MlpShard {
    /// A layer without experts.
    Dense {
        /// Inner columns.
        columns: Range<u32>,
    },
    /// A layer with experts.
    Moe {
        /// Logical expert of each of its slots; all ranks of a `moe_tp` group have the same.
        experts: Vec<u32>,
        /// Inner columns of each of these experts.
        columns: Range<u32>,
        /// Inner columns of the shared expert.
        shared_columns: Range<u32>,
    },
}

/// What the cut depends on besides model and layout.
#[derive(Clone, Copy, Debug)]
pub struct ShardRules<'a> {
    /// Layers of each stage, from [`crate::layer_split::layer_split`].
    pub stages: &'a [Range<u32>],
    /// How the dense parts are cut.
    pub dense: DenseRule,
    /// Which experts each of the `ep` groups holds.
    pub placement: &'a Placement,
}

impl Shard {
    /// What `rank` owns.
    pub fn of(model: &ModelSpec, layout: &Layout, rank: u32, rules: ShardRules<'_>) -> Self {
        assert_eq!(rules.stages.len(), layout.pp() as usize, "one range of layers for each stage");
        assert_eq!(
            rules.placement.ranks(),
            layout.ep(),
            "one part of the placement for each group"
        );
        let at = Coordinates::of(layout, rank);
        let stage = rules.stages[at.pp_rank as usize].clone();
        let is_moe = |layer: &&crate::model::Layer| matches!(layer.mlp, Mlp::Moe(_));
        let moe_before = model.layers[..stage.start as usize].iter().filter(is_moe).count();
        let mut moe_index = moe_before..;
        let layers = stage
            .map(|index| {
                let layer = &model.layers[index as usize];
                let (heads, kv_heads) = heads(&layer.attention, layout.tp(), at.tp_rank);
                let next_moe = || moe_index.next().unwrap_or_default();
                let mlp = mlp_shard(model, layout, &at, rules, &layer.mlp, next_moe);
                LayerShard { layer: index, heads, kv_heads, mlp }
            })
            .collect();
        let embedding_rows =
            piece(padded_vocabulary(model.vocab_size, layout.tp()), layout.tp(), at.tp_rank);
        let is_last = at.pp_rank == layout.pp() - 1;
        let head = if model.tie_word_embeddings {
            embedding_rows.clone()
        } else {
            let ways = rules.dense.head.ways(layout);
            piece(padded_vocabulary(model.vocab_size, ways), ways, at.stage_rank % ways)
        };
        Self {
            coordinates: at,
            layers,
            embedding: (at.pp_rank == 0 || is_last && model.tie_word_embeddings)
                .then_some(embedding_rows),
            head: is_last.then_some(head),
        }
    }
}

/// Query and key-value heads of `tp_rank`: the latter are those whose queries it has.
fn heads(attention: &Attention, tp: u32, tp_rank: u32) -> (Range<u32>, Range<u32>) {
    let (heads, kv_heads) = match attention {
        Attention::Mla(mla) => (mla.num_attention_heads, 1),
        Attention::Gqa(gqa) => (gqa.num_attention_heads, gqa.num_key_value_heads),
        Attention::Linear(linear) => (linear.num_value_heads, linear.num_key_heads),
    };
    let mine = narrow(&piece(u64::from(heads), tp, tp_rank));
    let queries = (heads / kv_heads).max(1);
    (mine.clone(), mine.start / queries..mine.end.div_ceil(queries))
}

fn mlp_shard(
    model: &ModelSpec,
    layout: &Layout,
    at: &Coordinates,
    rules: ShardRules<'_>,
    mlp: &Mlp,
    next_moe: impl FnOnce() -> usize,
) -> MlpShard {
    let formats = &model.quantization;
    let cut = |inner: u32, format, ways: u32, index| {
        narrow(&piece_of_units(u64::from(inner), column_unit(format), ways, index))
    };
    // Blocks of `tp` are innermost, so a stage rank modulo the ways is the rank in any cut.
    let dense = |inner, format, ways| cut(inner, format, ways, at.stage_rank % ways);
    match mlp {
        Mlp::Dense { intermediate_size } => {
            let ways = rules.dense.dense.ways(layout);
            MlpShard::Dense { columns: dense(*intermediate_size, formats.dense_mlp, ways) }
        }
        Mlp::Moe(moe) => MlpShard::Moe {
            experts: rules.placement.layers()[next_moe()].experts(at.ep_rank).to_vec(),
            columns: cut(
                moe.moe_intermediate_size,
                formats.routed_experts,
                layout.moe_tp(),
                at.moe_tp_rank,
            ),
            shared_columns: dense(
                moe.shared_intermediate_size,
                formats.shared_experts,
                rules.dense.shared.ways(layout),
            ),
        },
    }
}

/// Bytes of `weight` on one rank of a stage that has it: on the fullest rank, where pieces differ.
///
/// A cut never divides a quantization group: columns, and the rows that feed cut columns, are cut at
/// whole groups, and each piece has the scales of its own groups. A scale for each output channel
/// stays whole under a column cut. With redundant experts, `weight.copies` is the number of slots.
pub fn rank_bytes(weight: &Weight, layout: &Layout, dense: DenseRule) -> Bytes {
    let (rows, cols) = (weight.rows, weight.cols);
    let copies = f64::from(weight.copies);
    let unit = column_unit(weight.format);
    let fullest = |total: u64, ways: u32| piece(total, ways, 0).end;
    let fullest_units = |total: u64, ways: u32| piece_of_units(total, unit, ways, 0).end;
    let mlp = if weight.module == Module::SharedExperts { dense.shared } else { dense.dense };
    let experts = f64::from(weight.copies.div_ceil(layout.ep()));
    let (copies, rows, cols) = match weight.split {
        Split::Replicated => (copies, rows, cols),
        Split::AttentionRows => (copies, fullest(rows, layout.tp()), cols),
        Split::KvHeads { heads } => {
            let heads = u64::from(heads);
            (copies, rows / heads * heads.div_ceil(u64::from(layout.tp())), cols)
        }
        Split::AttentionCols => (copies, rows, fullest_units(cols, layout.tp())),
        Split::ExpertRows => (experts, fullest_units(rows, layout.moe_tp()), cols),
        Split::ExpertCols => (experts, rows, fullest_units(cols, layout.moe_tp())),
        Split::MlpRows => (copies, fullest_units(rows, mlp.ways(layout)), cols),
        Split::MlpCols => (copies, rows, fullest_units(cols, mlp.ways(layout))),
        Split::Vocabulary => {
            let ways = match weight.module {
                Module::Head => dense.head.ways(layout),
                _ => layout.tp(),
            };
            (copies, padded_vocabulary(rows, ways) / u64::from(ways), cols)
        }
    };
    weight.format.bytes(rows, cols) * copies
}

#[cfg(test)]
mod tests;
