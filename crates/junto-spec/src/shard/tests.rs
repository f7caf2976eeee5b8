//! Shards partition the model; bytes of a rank.

use super::*;
use crate::comm_rules::{CommForm, CommRules, Cut, DispatchFormat};
use crate::engine::Family;
use crate::layer_split::{SplitRule, layer_split};
use crate::model::Moe;
use crate::test_models::{any_layout, kimi, qwen};
use proptest::prelude::*;

const INT4: Format = Format::Int4 { group: 32, zero_points: false };
const IN_TP: DenseRule =
    DenseRule { shared: Cut::AttentionTp, dense: Cut::AttentionTp, head: Cut::AttentionTp };

fn dense_rule(layout: &Layout, form: CommForm) -> DenseRule {
    let dispatch = DispatchFormat::Activations;
    let rules = CommRules { family: Family::Sglang, form, activation_bytes: 2, dispatch };
    DenseRule::of(&rules, layout)
}

fn shards(model: &ModelSpec, layout: &Layout, dense: DenseRule) -> Vec<Shard> {
    let placement = Placement::contiguous(model, layout.ep());
    let stages = layer_split(model.layers.len() as u32, layout.pp(), SplitRule::Sglang);
    let rules = ShardRules { stages: &stages, dense, placement: &placement };
    (0..layout.ranks()).map(|rank| Shard::of(model, layout, rank, rules)).collect()
}

#[test]
fn kimi_tp8_ep4_rank_3() {
    let layout = "tp8+ep4".parse().unwrap();
    let shards = shards(&kimi(), &layout, dense_rule(&layout, CommForm::Summed));
    let rank = &shards[3];
    assert_eq!(rank.embedding, Some(61_440..81_920));
    assert_eq!(rank.head, rank.embedding);
    assert_eq!(rank.layers.len(), 61);
    assert_eq!((rank.layers[0].heads.clone(), rank.layers[0].kv_heads.clone()), (24..32, 0..1));
    assert_eq!(rank.layers[0].mlp, MlpShard::Dense { columns: 6912..9216 });
    // Second pair of ranks, second half of each of its experts.
    let experts = (96..192).collect();
    let mlp = MlpShard::Moe { experts, columns: 1024..2048, shared_columns: 768..1024 };
    assert_eq!(rank.layers[60].mlp, mlp);
}

#[test]
fn ranks_share_a_key_value_head_when_there_are_too_few() {
    let layout = "tp8".parse().unwrap();
    let shards = shards(&qwen(), &layout, IN_TP);
    let kv: Vec<_> = shards.iter().map(|shard| shard.layers[0].kv_heads.clone()).collect();
    assert_eq!(kv, [0..1, 0..1, 1..2, 1..2, 2..3, 2..3, 3..4, 3..4]);
}

#[test]
fn only_the_ends_of_a_pipeline_have_vocabulary() {
    let layout = "pp2+dp2".parse().unwrap();
    let mut model = qwen();
    let ends = |model: &ModelSpec| -> Vec<_> {
        let shards = shards(model, &layout, dense_rule(&layout, CommForm::Summed));
        shards.into_iter().map(|shard| (shard.embedding, shard.head)).collect()
    };
    let (all, half) = (151_936, 75_968);
    let first = (Some(0..all), None);
    assert_eq!(
        ends(&model),
        [first.clone(), first.clone(), (None, Some(0..half)), (None, Some(half..all))]
    );
    model.tie_word_embeddings = true;
    let last = (Some(0..all), Some(0..all));
    assert_eq!(ends(&model), [first.clone(), first, last.clone(), last]);
}

#[test]
fn a_vocabulary_is_padded_to_equal_pieces() {
    assert_eq!(padded_vocabulary(163_840, 8), 163_840);
    assert_eq!(padded_vocabulary(151_937, 8), 152_000);
    assert_eq!(padded_vocabulary(100, 3), 192);
}

fn weight(module: Module, copies: u32, shape: (u64, u64), format: Format, split: Split) -> Weight {
    Weight { name: "w", module, copies, rows: shape.0, cols: shape.1, format, split }
}

#[track_caller]
fn check_bytes(weight: &Weight, layout: &str, dense: DenseRule, bytes: f64) {
    let found = rank_bytes(weight, &layout.parse().unwrap(), dense).0;
    assert!((found - bytes).abs() < 0.5, "{layout} {:?}: {found} is not {bytes}", weight.split);
}

#[test]
fn experts_on_a_rank_to_the_byte() {
    let up = weight(Module::RoutedExperts, 384, (2048, 7168), INT4, Split::ExpertRows);
    let down = weight(Module::RoutedExperts, 384, (7168, 2048), INT4, Split::ExpertCols);
    // One matrix is 7,340,032 bytes of nibbles and 917,504 of scales; a rank has an eighth of all.
    for layout in ["tp8", "tp8+ep4", "tp8+ep8", "dp8+ep8"] {
        check_bytes(&up, layout, IN_TP, 48.0 * 8_257_536.0);
        check_bytes(&down, layout, IN_TP, 48.0 * 8_257_536.0);
    }
    // 2048 = 64 groups over 3 ranks: the fullest has 22, which is 704 columns.
    check_bytes(&down, "tp3", IN_TP, 384.0 * 7168.0 * (352.0 + 44.0));
    check_bytes(&up, "tp3", IN_TP, 384.0 * 704.0 * (3584.0 + 448.0));
    // 384 over 5 groups: the fullest has 77.
    check_bytes(&up, "tp5+ep5", IN_TP, 77.0 * 8_257_536.0);
}

#[test]
fn scales_follow_the_cut() {
    let fp8 = Format::Fp8Block { block: 128 };
    let cols = |format| weight(Module::Attention, 1, (512, 1024), format, Split::AttentionCols);
    check_bytes(&cols(fp8), "tp4", IN_TP, 512.0 * 256.0 + 4.0 * 4.0 * 2.0);
    // A scale per output channel is on every rank.
    check_bytes(&cols(Format::Int8), "tp4", IN_TP, 512.0 * 256.0 + 4.0 * 512.0);
    // 1536 = 12 tiles over 8 ranks: the fullest has two.
    let expert = weight(Module::RoutedExperts, 1, (1536, 4096), fp8, Split::ExpertRows);
    check_bytes(&expert, "tp8", IN_TP, 256.0 * 4096.0 + 4.0 * 2.0 * 32.0);
}

#[test]
fn key_value_heads_are_never_cut_finer_than_one() {
    let split = Split::KvHeads { heads: 4 };
    let k_proj = weight(Module::Attention, 1, (512, 2048), Format::Bf16, split);
    check_bytes(&k_proj, "tp2", IN_TP, 256.0 * 4096.0);
    check_bytes(&k_proj, "tp8", IN_TP, 128.0 * 4096.0);
}

#[test]
fn the_shared_expert_is_cut_as_the_engine_cuts_it() {
    let layout = "dp8+ep8".parse().unwrap();
    let shared = weight(Module::SharedExperts, 1, (2048, 7168), Format::Bf16, Split::MlpRows);
    let all = 2048.0 * 7168.0 * 2.0;
    let gathers = dense_rule(&layout, CommForm::AllGatherReduceScatter);
    check_bytes(&shared, "dp8+ep8", gathers, all / 8.0);
    check_bytes(&shared, "dp8+ep8", dense_rule(&layout, CommForm::Dispatch), all);
    let head = weight(Module::Head, 1, (163_840, 7168), Format::Bf16, Split::Vocabulary);
    check_bytes(&head, "dp8+ep8", gathers, 163_840.0 * 7168.0 * 2.0 / 8.0);
    check_bytes(&head, "dp8+ep8", IN_TP, 163_840.0 * 7168.0 * 2.0);
    check_bytes(&head, "tp4+dp2+ep8", IN_TP, 163_840.0 * 7168.0 * 2.0 / 4.0);
}

/// Every one of `0..total` is in exactly `copies` of the ranges.
fn covers(ranges: impl Iterator<Item = Range<u32>>, total: u32, copies: usize) -> bool {
    let mut seen = vec![0; total as usize];
    ranges.flatten().for_each(|index| seen[index as usize] += 1);
    seen.iter().all(|count| *count == copies)
}

/// Every inner column of every expert is on one rank, and every column of the shared expert.
fn covers_experts(layers: &[LayerShard], moe: &Moe) -> bool {
    let (mut cells, mut shared) = (Vec::new(), Vec::new());
    for layer in layers {
        let MlpShard::Moe { experts, columns, shared_columns } = &layer.mlp else { return false };
        let first = |expert| expert * moe.moe_intermediate_size;
        cells.extend(experts.iter().map(|e| first(*e) + columns.start..first(*e) + columns.end));
        shared.push(shared_columns.clone());
    }
    let total = moe.n_routed_experts * moe.moe_intermediate_size;
    covers(cells.into_iter(), total, 1)
        && covers(shared.into_iter(), moe.shared_intermediate_size, 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn heads_experts_and_columns_are_cut_exactly(layout in any_layout(), gqa: bool) {
        let mut model = if gqa { qwen() } else { kimi() };
        model.layers.truncate(5);
        let dense = dense_rule(&layout, CommForm::AllGatherReduceScatter);
        let shards = shards(&model, &layout, dense);
        for ranks in shards.chunks(layout.stage_ranks() as usize) {
            for at in 0..ranks[0].layers.len() {
                let layers: Vec<_> = ranks.iter().map(|rank| rank.layers[at].clone()).collect();
                let heads = layers.iter().map(|layer| layer.heads.clone());
                let all = if gqa { 32 } else { 64 };
                prop_assert!(covers(heads, all, layout.dp() as usize));
                if let Mlp::Moe(moe) = model.layers[layers[0].layer as usize].mlp {
                    prop_assert!(covers_experts(&layers, &moe));
                }
            }
        }
    }

    #[test]
    fn the_fullest_rank_has_at_least_its_share(layout in any_layout(), rows in 1u64..3000,
            cols in 1u64..3000, copies in 1u32..400) {
        for (split, ways) in [(Split::ExpertRows, layout.stage_ranks()),
                (Split::ExpertCols, layout.stage_ranks()), (Split::AttentionCols, layout.tp())] {
            let weight = weight(Module::RoutedExperts, copies, (rows, cols), INT4, split);
            let bytes = rank_bytes(&weight, &layout, IN_TP).0;
            prop_assert!(weight.bytes().0 / f64::from(ways) <= bytes + 1e-6);
            prop_assert!(bytes <= weight.bytes().0);
        }
    }
}
