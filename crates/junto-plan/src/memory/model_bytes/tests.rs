//! The quick sums against sums of every weight.

use super::*;
use crate::memory::Memory;
use crate::options::{Exchange, Options, Speculation};
use crate::test_cases::Owned;
use junto_spec::layout::Sizes;

/// Layouts of every shape of stage up to 64 ranks, and some odd ones.
fn layouts() -> Vec<Layout> {
    let mut layouts = Vec::new();
    for shape in 0..64u32 {
        let [pp, tp, dp] = [0, 2, 4].map(|bits| 1 << (shape >> bits & 3));
        for ep in [1, 2, 3, 8, 16, 64] {
            layouts.extend(Layout::new(Sizes { pp, tp, dp, ep, ..Sizes::default() }));
        }
    }
    layouts
        .extend(["pp3+tp6", "pp61", "pp17+tp2", "tp5"].map(|text| text.parse::<Layout>().unwrap()));
    layouts
}

/// Every weight that a rank of `stage` holds, one by one.
fn one_by_one(owned: &Owned, layout: &Layout, stage: usize) -> f64 {
    let (model, family) = (&owned.model, owned.engine.family);
    let dense = owned.case(layout).dense();
    let stages = owned.bytes.stages(layout.pp());
    let layers = stages[stage].clone();
    let is_last = stage + 1 == stages.len();
    let mut weights: Vec<Weight> =
        layers.flat_map(|index| held_in_layer(model, index as usize, family)).collect();
    for weight in model.outer_weights() {
        let tied_head = model.tie_word_embeddings && weight.module == Module::Embedding;
        if stage == 0 && held_first(&weight, family)
            || is_last && held_last(&weight)
            || is_last && owned.options.speculation.is_some() && held_for_draft(&weight)
            || is_last && stage != 0 && tied_head
        {
            weights.push(weight);
        }
    }
    weights.iter().map(|weight| rank_bytes(weight, layout, dense).0).sum()
}

#[track_caller]
fn check(model: &str, engine: &str, options: Options) {
    let owned = Owned { options, ..Owned::new(model, "8x-h200", engine) };
    for layout in layouts() {
        if owned.bytes.layers() < layout.pp() {
            continue;
        }
        let stages: Vec<f64> =
            (0..layout.pp() as usize).map(|stage| one_by_one(&owned, &layout, stage)).collect();
        let memory = Memory::of(&owned.case(&layout));
        let most = stages.iter().copied().fold(0.0, f64::max);
        let least = stages.iter().copied().fold(f64::INFINITY, f64::min);
        let found = (memory.weights.0 as u64, memory.weights_min.0 as u64);
        assert_eq!(found, (most as u64, least as u64), "{model} {engine} {layout}");
    }
}

#[test]
fn the_quick_sum_is_the_sum_of_every_weight() {
    check("kimi-k2.6", "sglang-0.5.11", Options::default());
    check("kimi-k2.6", "native", Options::default());
    check("qwen3.6-35b-a3b", "vllm-0.33", Options::default());
    check("gpt-oss-120b", "sglang-0.5.11", Options::default());
    let speculation = Some(Speculation { draft_tokens: 1, acceptance_length: 1.8 });
    check("deepseek-v3", "vllm-0.33", Options { speculation, ..Options::default() });
    let exchange = Exchange::AllToAll;
    check("deepseek-v3", "sglang-0.5.11", Options { exchange, ..Options::default() });
    check("qwen3-8b", "llama.cpp", Options::default());
}

#[test]
fn a_pipeline_stage_has_the_layers_that_its_engine_gives_it() {
    let sizes = |engine: &str| -> Vec<u32> {
        let owned = Owned::kimi(engine);
        owned.bytes.stages(8).iter().map(|layers| layers.end - layers.start).collect()
    };
    assert_eq!(sizes("sglang-0.5.11"), [7, 7, 7, 8, 8, 8, 8, 8]);
    assert_eq!(sizes("vllm-0.33"), [7, 7, 8, 8, 8, 8, 8, 7]);
    assert_eq!(sizes("tensorrt-llm-1.2"), [8, 8, 8, 8, 8, 7, 7, 7]);
    assert_eq!(sizes("native"), [8, 8, 8, 8, 8, 7, 7, 7]);
}
