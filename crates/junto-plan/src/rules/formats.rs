//! Rules about quantized weights: a cut must keep scaling tiles and groups whole.

use super::Said;
use super::common::{changed, count, divisors, moes};
use crate::case::Case;
use crate::options::Exchange;
use junto_spec::format::Format;
use junto_spec::model::{Attention, Mlp};
use junto_spec::shard::column_unit;

/// FP8 tiles: `Fp8MoEMethod` and `Fp8LinearMethod` of SGLang and vLLM raise a `ValueError` for a part
/// that is no multiple of `weight_block_size`.
pub(super) fn fp8_tiles(case: &Case<'_>) -> Option<Said> {
    let formats = &case.model.quantization;
    let dense = case.dense();
    case.bytes.layer_kinds().find_map(|layer| {
        let mlp = match &layer.mlp {
            Mlp::Dense { intermediate_size } => {
                let ways = dense.dense.ways(case.layout);
                tiles(formats.dense_mlp, *intermediate_size, ways, "the dense MLP")
            }
            Mlp::Moe(moe) => {
                let (width, ways) = (moe.moe_intermediate_size, case.layout.moe_tp());
                let shared = dense.shared.ways(case.layout);
                let routed = tiles(formats.routed_experts, width, ways, "an expert");
                let unit = column_unit(formats.routed_experts) as u32;
                routed.map(|said| hint_ep(case, width, unit, said)).or_else(|| {
                    let width = moe.shared_intermediate_size;
                    tiles(formats.shared_experts, width, shared, "the shared expert")
                })
            }
        };
        mlp.or_else(|| {
            let tp = case.layout.tp();
            let (queries, values) = match &layer.attention {
                Attention::Mla(mla) => (
                    mla.num_attention_heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim),
                    mla.num_attention_heads * mla.v_head_dim,
                ),
                Attention::Gqa(gqa) => (
                    gqa.num_attention_heads * gqa.head_dim,
                    gqa.num_attention_heads * gqa.v_head_dim,
                ),
                Attention::Linear(_) => return None,
            };
            tiles(formats.attention, queries, tp, "the query projection")
                .or_else(|| tiles(formats.attention_output, values, tp, "the output projection"))
        })
    })
}

/// A width cut into parts that split an FP8 tile.
fn tiles(format: Format, width: u32, ways: u32, what: &str) -> Option<Said> {
    let Format::Fp8Block { block } = format else { return None };
    let part = width / ways;
    (1 < ways && !part.is_multiple_of(block)).then(|| {
        let said = Said::new(format!(
            "{what} {width} wide cut into {ways} leaves {part} columns, \
             which splits the {block}-wide tiles of its FP8 scales"
        ));
        match (1..ways).rev().find(|ways| width.is_multiple_of(ways * block)) {
            Some(1) => said.hint("it cannot be cut at all"),
            Some(most) => said.hint(format!("it can be cut into {most}")),
            None => said,
        }
    })
}

/// Says which `ep` makes parts of experts that are multiples of `unit`.
fn hint_ep(case: &Case<'_>, width: u32, unit: u32, said: Said) -> Said {
    let ranks = case.layout.stage_ranks();
    let fits = |ep: &u32| width.is_multiple_of(ranks / ep * unit);
    let can = |ep: &u32| case.engine.can.hybrid_ep || *ep == ranks;
    let ep = divisors(ranks).filter(can).find(fits);
    match ep.and_then(|ep| changed(case.layout, |sizes| sizes.ep = ep)) {
        Some(layout) => {
            let ways = count(layout.moe_tp(), "part");
            said.hint(format!("{layout} cuts an expert into {ways}"))
        }
        None => said,
    }
}

/// INT4 groups, for kernels that take parts of any whole number of groups (vLLM pads the rest).
pub(super) fn int4_groups(case: &Case<'_>) -> Option<Said> {
    int4(case, 1)
}

/// INT4 in Marlin: parts are multiples of 64 and of the group; nothing is padded.
pub(super) fn int4_marlin(case: &Case<'_>) -> Option<Said> {
    int4(case, 64)
}

fn int4(case: &Case<'_>, kernel: u32) -> Option<Said> {
    let Format::Int4 { group, .. } = case.model.quantization.routed_experts else { return None };
    let (unit, moe_tp) = (group.max(kernel), case.layout.moe_tp());
    moes(case).find_map(|moe| {
        let width = moe.moe_intermediate_size;
        let part = width / moe_tp;
        (!part.is_multiple_of(unit)).then(|| {
            let why = if part.is_multiple_of(group) {
                format!("and Marlin works in multiples of {unit}")
            } else {
                format!("which splits groups of {group} that share an INT4 scale")
            };
            let said = Said::new(format!(
                "an expert {width} wide cut into {moe_tp} leaves {part} columns, {why}"
            ));
            hint_ep(case, width, unit, said)
        })
    })
}

/// Marlin's other condition.
pub(super) fn marlin_hidden(case: &Case<'_>) -> Option<Said> {
    let Format::Int4 { .. } = case.model.quantization.routed_experts else { return None };
    let hidden = case.model.hidden_size;
    (!hidden.is_multiple_of(128)).then(|| {
        Said::new(format!("Marlin needs a hidden size that is a multiple of 128, not {hidden}"))
    })
}

/// SGLang registers no DeepEP kernel for INT4 experts: `ep_moe/layer.py` ends in an assertion.
pub(super) fn int4_by_deepep(case: &Case<'_>) -> Option<Said> {
    let format = case.model.quantization.routed_experts;
    let dispatches = case.options.exchange == Exchange::AllToAll;
    (dispatches && matches!(format, Format::Int4 { .. })).then(|| {
        Said::new("SGLang has no DeepEP kernel for INT4 experts, only DeepGEMM's for FP8")
            .hint("leave the exchange at gather and scatter, or use an FP8 checkpoint")
    })
}
