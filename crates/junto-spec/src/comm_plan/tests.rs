//! The collectives of known layouts, and list against summary.

use super::*;
use crate::collective::expected_copies;
use crate::layer_split::{SplitRule, layer_split};
use crate::test_models::{any_layout, kimi, qwen};
use crate::units::Bytes;
use proptest::prelude::*;

const H: u64 = 7168;
const V: u64 = 163_840;
const DECODE: Step = Step { tokens: 1, sampled: 1, dispatched: 5, returned: 5 };

fn rules(family: Family, form: CommForm) -> CommRules {
    CommRules { family, form, activation_bytes: 2, dispatch: DispatchFormat::Activations }
}

/// The calls of all stages of Kimi K2.6, one after another.
fn calls(layout: &str, rules: CommRules, step: Step) -> Vec<Collective> {
    let (model, layout): (_, Layout) = (kimi(), layout.parse().unwrap());
    let stages = layer_split(61, layout.pp(), SplitRule::Sglang);
    let plan = CommPlan::new(&model, layout, rules, &stages);
    (0..layout.pp()).flat_map(|stage| plan.collectives(stage, &step)).collect()
}

fn default(layout: &str, family: Family) -> Vec<Collective> {
    let rules = CommRules::default_for(family, &layout.parse().unwrap());
    calls(layout, rules, DECODE)
}

/// `op(group x ranks) elements x bytes` of the calls at layer `layer`.
fn at_layer(calls: &[Collective], layer: u32) -> Vec<String> {
    let here = |call: &&Collective| match call.position {
        Position::InAttention(at) | Position::AfterAttention(at) | Position::AfterMlp(at) => {
            at == layer
        }
        _ => false,
    };
    calls.iter().filter(here).map(text).collect()
}

fn text(call: &Collective) -> String {
    let Collective { op, group, ranks, elements, element_bytes, .. } = call;
    format!("{op:?}({group:?} x {ranks}) {elements} x {element_bytes}")
}

fn count(calls: &[Collective], op: Op, elements: u64) -> usize {
    calls.iter().filter(|call| call.op == op && call.elements == elements).count()
}

#[test]
fn kimi_tp8_makes_122_all_reduces_one_for_the_embedding_and_one_gather() {
    for family in [Family::Sglang, Family::Vllm, Family::Native] {
        let tp8 = default("tp8", family);
        assert_eq!(count(&tp8, Op::AllReduce, H), 122 + 1);
        assert_eq!(count(&tp8, Op::AllGather, V), 1);
        assert_eq!(tp8.len(), 124);
        assert_eq!(tp8[0].position, Position::Embedding);
        assert_eq!(tp8[123].position, Position::Logits);
        // The same calls, groups and bytes whatever ep is.
        assert_eq!(default("tp8+ep8", family), tp8);
        assert_eq!(default("tp8+ep4", family), tp8);
    }
}

#[test]
fn a_step_of_64_tokens_sends_196_mb_by_ring() {
    let tp8 = CommRules::default_for(Family::Sglang, &"tp8".parse().unwrap());
    let calls = calls("tp8", tp8, Step { tokens: 64, ..DECODE });
    let layers: Vec<_> =
        calls.iter().filter(|call| !matches!(call.position, Position::Embedding)).collect();
    let sums = layers.iter().filter(|call| call.op == Op::AllReduce);
    assert!(sums.clone().all(|call| call.payload() == Bytes(896.0 * 1024.0)));
    let sent: Bytes = sums.map(|call| call.sent()).sum();
    assert!((sent.0 - 122.0 * 917_504.0 * 1.75).abs() < 1.0, "{sent}");
}

#[test]
fn a_pipeline_of_single_ranks_only_hands_over() {
    let sglang = default("pp8", Family::Sglang);
    assert_eq!(sglang.len(), 7 * 2, "hidden_states and residual over seven boundaries");
    assert_eq!(count(&sglang, Op::SendRecv, H), 14);
    assert_eq!(count(&default("pp8", Family::Native), Op::SendRecv, H), 7);
    assert_eq!(default("tp1", Family::Sglang), []);
}

#[test]
fn with_tp_a_hop_is_sent_in_parts_and_gathered() {
    let calls = default("pp2+tp4+ep4", Family::Vllm);
    assert_eq!(count(&calls, Op::SendRecv, H / 4), 2);
    let entry: Vec<_> =
        calls.iter().filter(|call| call.position == Position::StageEntry).map(text).collect();
    assert_eq!(entry, ["AllGather(Tp x 4) 7168 x 2", "AllGather(Tp x 4) 7168 x 2"]);
    assert_eq!(count(&calls, Op::AllReduce, H), 123);
}

#[test]
fn dp8_ep8_gathers_and_scatters() {
    // SGLang: every layer, the dense one too; the head is cut over the stage.
    let sglang = default("dp8+ep8", Family::Sglang);
    let layer = ["AllGather(Stage x 8) 57344 x 2", "ReduceScatter(Stage x 8) 57344 x 2"];
    assert_eq!(at_layer(&sglang, 0), layer);
    assert_eq!(at_layer(&sglang, 60), layer);
    assert_eq!(
        sglang[122..].iter().map(text).collect::<Vec<_>>(),
        ["AllGather(Stage x 8) 57344 x 2", "AllGather(Stage x 8) 1310720 x 2"]
    );
    // vLLM: expert ids and weights as well; dense layer and head are whole on every rank.
    let vllm = default("dp8+ep8", Family::Vllm);
    assert_eq!(at_layer(&vllm, 0), [""; 0]);
    let routes = "AllGather(Stage x 8) 64 x 4";
    assert_eq!(at_layer(&vllm, 1), [layer[0], routes, routes, layer[1]]);
    assert_eq!(vllm.len(), 60 * 4);
}

#[test]
fn attention_groups_of_several_ranks_share_out_their_tokens() {
    // One token, padded to the four ranks of its group.
    let layer = [
        "ReduceScatter(Tp x 4) 28672 x 2",
        "AllGather(Stage x 8) 57344 x 2",
        "ReduceScatter(Stage x 8) 57344 x 2",
        "AllGather(Tp x 4) 28672 x 2",
    ];
    let sglang = default("tp4+dp2+ep8", Family::Sglang);
    assert_eq!(at_layer(&sglang, 1), layer);
    let vllm = default("tp4+dp2+ep8", Family::Vllm);
    let sum = "AllReduce(Tp x 4) 7168 x 2";
    assert_eq!(at_layer(&vllm, 0), [sum, sum]);
    let routes = "AllGather(Stage x 8) 64 x 4";
    assert_eq!(at_layer(&vllm, 1), [layer[0], layer[1], routes, routes, layer[2], layer[3]]);
    // Without expert parallelism the groups' counterparts gather.
    assert_eq!(
        at_layer(&default("tp4+dp2", Family::Vllm), 1),
        [
            sum,
            "AllGather(Dp x 2) 14336 x 2",
            "AllGather(Dp x 2) 16 x 4",
            "AllGather(Dp x 2) 16 x 4",
            "ReduceScatter(Dp x 2) 14336 x 2",
            sum
        ]
    );
}

#[test]
fn a_dispatch_sends_copies_there_and_back() {
    let deepep = rules(Family::Sglang, CommForm::Dispatch);
    let there_and_back = ["AllToAll(Stage x 8) 35840 x 2"; 2];
    assert_eq!(at_layer(&calls("dp8+ep8", deepep, DECODE), 1), there_and_back);
    let fp8 = CommRules { dispatch: DispatchFormat::Fp8Block128, ..deepep };
    let first = &at_layer(&calls("dp8+ep8", fp8, DECODE), 1)[0];
    assert_eq!(first, "AllToAll(Stage x 8) 36960 x 1");
    assert_eq!(
        at_layer(&calls("tp2+dp4+ep8", rules(Family::Native, CommForm::Dispatch), DECODE), 1),
        [
            "ReduceScatter(Tp x 2) 14336 x 2",
            "AllToAll(Stage x 8) 8 x 4",
            "AllToAll(Stage x 8) 35840 x 2",
            "AllToAll(Stage x 8) 80 x 4",
            "AllToAll(Stage x 8) 35840 x 2",
            "AllGather(Tp x 2) 14336 x 2"
        ]
    );
    let Mlp::Moe(moe) = kimi().layers[1].mlp else { panic!("layer 1 has experts") };
    let copies = |layout: &str| expected_copies(&moe, &layout.parse().unwrap());
    assert!((copies("dp8+ep8") - 5.28).abs() < 0.01, "{}", copies("dp8+ep8"));
    assert!((copies("dp8") - 8.0).abs() < 1e-9, "every rank has a part of every expert");
}

#[test]
fn the_invariant_form_leaves_nine_slots_unsummed() {
    let layer = ["AllReduce(Stage x 8) 7168 x 4", "AllReduce(Stage x 8) 64512 x 4"];
    for layout in ["tp8", "tp8+ep8", "tp8+ep4"] {
        let calls = calls(layout, CommRules::invariant(), DECODE);
        assert_eq!(at_layer(&calls, 1), layer);
        assert_eq!(at_layer(&calls, 0), [layer[0]; 2]);
    }
    let dp = calls("tp4+dp2+ep8", CommRules::invariant(), DECODE);
    assert_eq!(at_layer(&dp, 1)[1], "AllReduce(Stage x 8) 129024 x 4");
    assert_eq!(text(&dp[dp.len() - 1]), "AllGather(Tp x 4) 163840 x 4");
}

#[test]
fn context_parallel_attention_gathers_queries_and_scatters_outputs() {
    let calls = default("tp8+dcp4", Family::Vllm);
    assert_eq!(
        at_layer(&calls, 1),
        [
            "AllGather(Dcp x 4) 18432 x 2",     // 32 heads x 576
            "AllGather(Dcp x 4) 128 x 4",       // 32 heads x 4 ranks
            "ReduceScatter(Dcp x 4) 16384 x 2", // 32 heads x 512
            "AllReduce(Stage x 8) 7168 x 2",
            "AllReduce(Stage x 8) 7168 x 2"
        ]
    );
}

#[test]
fn a_chunk_without_sampled_tokens_gathers_no_logits() {
    let tp8 = CommRules::default_for(Family::Sglang, &"tp8".parse().unwrap());
    assert_eq!(calls("tp8", tp8, Step { tokens: 512, ..Step::default() }).len(), 123);
}

fn any_rules() -> impl Strategy<Value = CommRules> {
    let family = prop::sample::select(vec![Family::Sglang, Family::Vllm, Family::Native]);
    let form = prop::sample::select(vec![
        CommForm::Summed,
        CommForm::AllGatherReduceScatter,
        CommForm::Dispatch,
        CommForm::Invariant,
    ]);
    (family, form).prop_map(|(family, form)| rules(family, form))
}

/// The calls of a list by what the planner prices, with counts.
fn tally(keys: impl Iterator<Item = (Op, GroupKind, u32, u64, u32, u32)>) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::new();
    for (op, group, ranks, elements, bytes, count) in keys.filter(|key| key.3 != 0) {
        *counts.entry((op, group, ranks, elements, bytes)).or_insert(0) += count;
    }
    counts.into_iter().map(|entry| format!("{entry:?}")).collect()
}

proptest! {
    #[test]
    fn the_summary_is_the_list_counted(layout in any_layout(), rules in any_rules(),
            tokens in 0u64..70, sampled in 0u64..70, gqa: bool) {
        let model = if gqa { qwen() } else { kimi() };
        let stages = layer_split(model.layers.len() as u32, layout.pp(), SplitRule::Vllm);
        let plan = CommPlan::new(&model, layout, rules, &stages);
        let step = Step { tokens, sampled, dispatched: 5 * tokens, returned: 4 * tokens };
        let list = (0..layout.pp()).flat_map(|stage| plan.collectives(stage, &step));
        let listed = tally(list.map(|call| {
            (call.op, call.group, call.ranks, call.elements, call.element_bytes, 1)
        }));
        let summary = plan.step();
        let priced = |calls: &[(Call, u32)]| tally(calls.iter().map(|(call, count)| {
            let elements = call.elements(&layout, &step);
            (call.op, call.group, call.ranks, elements, call.element_bytes, *count)
        }));
        prop_assert_eq!(&listed, &priced(&summary.calls));
        prop_assert!(summary.calls.len() <= 16, "{summary:?}");
        let stages = (0..layout.pp()).flat_map(|stage| plan.stage(stage).calls);
        prop_assert_eq!(&listed, &priced(&stages.collect::<Vec<_>>()));
    }

    #[test]
    fn parts_are_whole(layout in any_layout(), rules in any_rules(), tokens in 1u64..70) {
        let model = qwen();
        let stages = layer_split(48, layout.pp(), SplitRule::Vllm);
        let plan = CommPlan::new(&model, layout, rules, &stages);
        let step = Step { tokens, sampled: 3, dispatched: 5, returned: 5 };
        for call in (0..layout.pp()).flat_map(|stage| plan.collectives(stage, &step)) {
            prop_assert!(1 < call.ranks);
            if matches!(call.op, Op::AllGather | Op::ReduceScatter) {
                prop_assert!(call.elements.is_multiple_of(call.ranks.into()), "{call:?}");
            }
        }
    }
}
