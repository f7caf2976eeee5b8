//! The catalog against what its publishers print, and what a bad config is told.

use super::*;
use crate::weight::{Module, Split, Weight};

mod formats;
mod refusals;

/// Billions, and how far off a model may be.
type Figure = (f64, f64);

/// Name, published total and active in billions, tolerance of each, and where it is printed.
///
/// A total with two decimals is the safetensors count of the model's page (less the parts named);
/// a round one is all that the publisher prints, and its tolerance is the rounding.
const PUBLISHED: &[(&str, Figure, Figure, &str)] = &[
    ("deepseek-r1", (671.03, 0.05), (37.0, 0.6), "as DeepSeek-V3"),
    ("deepseek-v3", (671.03, 0.05), (37.0, 0.6), "arXiv 2412.19437; 684.53 B with its MTP layer"),
    ("deepseek-v3.1", (671.03, 0.05), (37.0, 0.6), "as DeepSeek-V3"),
    ("deepseek-v3.2", (671.88, 0.05), (37.0, 1.5), "685.40 B on its page, 13.5 B of it MTP"),
    ("glm-4.5", (352.8, 0.1), (32.0, 1.7), "358 B on its page, 5.5 B of it MTP; card: 355 B, 32 B"),
    ("glm-4.5-air", (106.85, 0.05), (12.0, 1.5), "110 B on its page, 3.6 B of it MTP; card: 106 B"),
    ("glm-4.6", (352.8, 0.1), (32.0, 1.7), "as GLM-4.5"),
    ("glm-5", (744.0, 0.5), (40.0, 2.0), "card, rounded: 744 B, 40 B"),
    ("gpt-oss-120b", (116.83, 0.005), (5.13, 0.005), "model card, table 1"),
    ("gpt-oss-20b", (20.91, 0.005), (3.61, 0.005), "model card, table 1"),
    ("kimi-k2-instruct", (1026.41, 0.05), (32.9, 0.05), "page: 1026 B; card: 1 T, 32 B"),
    ("kimi-k2-thinking", (1026.41, 0.05), (32.9, 0.05), "as Kimi K2"),
    ("kimi-k2.5", (1026.41, 0.05), (32.9, 0.05), "as Kimi K2"),
    ("kimi-k2.6", (1026.41, 0.05), (32.9, 0.05), "as Kimi K2"),
    ("kimi-linear-48b-a3b", (49.12, 0.01), (3.0, 0.5), "page: 49.12 B; card: 48 B, 3 B"),
    ("llama-3.1-70b", (70.55, 0.005), (70.55, 0.005), "page"),
    ("llama-3.1-8b", (8.03, 0.005), (8.03, 0.005), "page"),
    ("llama-4-maverick", (400.71, 0.05), (17.0, 0.2), "page: 401.58 B, 0.87 B of it vision"),
    ("llama-4-scout", (107.77, 0.05), (17.0, 0.2), "page: 108.64 B, 0.87 B of it vision"),
    ("minimax-m2", (228.69, 0.02), (10.0, 1.1), "page: 229 B; card: 230 B, 10 B"),
    ("minimax-m2.5", (228.69, 0.02), (10.0, 1.1), "as MiniMax-M2"),
    ("mixtral-8x22b", (140.62, 0.01), (39.1, 0.1), "page; announcement: 141 B, 39 B"),
    ("mixtral-8x7b", (46.70, 0.01), (12.9, 0.05), "arXiv 2401.04088: 46.7 B, 12.9 B"),
    ("qwen3-235b-a22b", (235.09, 0.01), (22.0, 0.3), "page; card: 235 B, 22 B"),
    ("qwen3-30b-a3b", (30.53, 0.005), (3.3, 0.06), "page; card: 30.5 B, 3.3 B"),
    ("qwen3-32b", (32.76, 0.005), (32.76, 0.005), "page; card: 32.8 B"),
    ("qwen3-8b", (8.19, 0.005), (8.19, 0.005), "page; card: 8.2 B"),
    ("qwen3-coder-480b-a35b", (480.15, 0.01), (35.0, 0.5), "page; card: 480 B, 35 B"),
    ("qwen3-coder-next", (79.67, 0.01), (3.0, 0.9), "page; card: 80 B, 3 B"),
    ("qwen3-next-80b-a3b", (79.67, 0.01), (3.0, 0.9), "81.32 B on its page, the rest is MTP"),
    ("qwen3.5-397b-a17b", (396.8, 0.5), (17.0, 0.5), "card, rounded: 397 B with vision, 17 B"),
    ("qwen3.6-35b-a3b", (34.66, 0.05), (3.0, 0.5), "35.95 B on its page, 1.29 B MTP and vision"),
    ("step-3.5-flash", (196.81, 0.2), (11.0, 1.0), "card: 196.81 B, 11 B"),
];

/// The safetensors count of the model's page, in billions: with multi-token prediction and vision,
/// and with the scales of fp8 blocks (one in 16,384 parameters), which are within the tolerance.
const CHECKPOINTS: &[(&str, f64)] = &[
    ("deepseek-v3", 684.53),
    ("deepseek-v3.2", 685.40),
    ("glm-4.5", 358.34),
    ("glm-4.5-air", 110.47),
    ("glm-5", 753.86),
    ("llama-4-maverick", 401.58),
    ("llama-4-scout", 108.64),
    ("minimax-m2", 228.70),
    ("qwen3.5-397b-a17b", 403.40),
    ("qwen3.6-35b-a3b", 35.95),
    ("step-3.5-flash", 199.38),
];

#[test]
fn multi_token_prediction_and_vision_make_up_the_checkpoint() {
    for (name, published) in CHECKPOINTS {
        let by_module = ModelSpec::catalog(name).unwrap().parameters().by_module;
        let found = billions(by_module.values().sum());
        let off = (found - published).abs() / published;
        assert!(off < 2e-4, "{name}: {found:.3} B, published {published}");
    }
}

fn billions(parameters: u64) -> f64 {
    parameters as f64 / 1e9
}

#[test]
fn every_model_of_the_catalog_has_the_parameters_its_publisher_prints() {
    let listed: Vec<&str> = PUBLISHED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(crate::catalog::names("models"), listed, "each model of the catalog is checked");
    for (name, total, active, source) in PUBLISHED {
        let parameters = ModelSpec::catalog(name).unwrap().parameters();
        for (found, (published, tolerance)) in
            [(billions(parameters.total), total), (billions(parameters.active), active)]
        {
            let off = (found - published).abs();
            assert!(off <= *tolerance, "{name}: {found:.3} B, published {published} ({source})");
        }
        assert!(total.1 / total.0 < 0.005, "{name}: a tolerance of more than 0.5 % checks nothing");
    }
}

#[test]
fn kimi_k2_6_has_the_bytes_of_its_checkpoint() {
    let kimi = ModelSpec::catalog("kimi-k2.6").unwrap();
    let attention = |index: usize| -> u64 {
        let weights = kimi.layer_weights(index);
        let attention = weights.iter().filter(|weight| weight.module == Module::Attention);
        attention.map(Weight::parameters).sum()
    };
    assert_eq!(attention(5) / 100_000, 1011, "101.1 M a layer");
    assert!(matches!(kimi.layers[0].mlp, Mlp::Dense { intermediate_size: 18432 }));
    assert!(kimi.layers[1..].iter().all(|layer| matches!(layer.mlp, Mlp::Moe(_))));
    let expert: f64 = kimi
        .layer_weights(1)
        .iter()
        .filter(|weight| weight.module == Module::RoutedExperts)
        .map(|weight| weight.bytes().0 / 384.0)
        .sum();
    assert!((expert - 24_772_608.0).abs() < 0.5, "{expert}");
    let bytes = kimi.bytes_by_module();
    let routed = bytes[&Module::RoutedExperts].0 / 1e9;
    let vision = bytes[&Module::Vision].0 / 1e9;
    let all = bytes.values().copied().sum::<Bytes>().0 / 1e9;
    assert!((routed - 570.8).abs() < 0.05, "{routed}");
    assert!((all - vision - 594.2).abs() < 0.05, "{all} less {vision}");
    assert!((all - 595.15).abs() < 0.05, "{all}: 595.1 GB with the vision tower");
}

#[test]
fn each_weight_is_cut_as_the_engines_cut_it() {
    let kimi = ModelSpec::catalog("kimi-k2.6").unwrap();
    let qwen = ModelSpec::catalog("qwen3-235b-a22b").unwrap();
    let split = |model: &ModelSpec, name: &str| {
        model.weights().find(|weight| weight.name == name).map(|weight| weight.split)
    };
    assert_eq!(split(&kimi, "self_attn.q_a_proj.weight"), Some(Split::Replicated));
    assert_eq!(split(&kimi, "self_attn.q_b_proj.weight"), Some(Split::AttentionRows));
    assert_eq!(split(&kimi, "self_attn.kv_b_proj.weight"), Some(Split::AttentionRows));
    assert_eq!(split(&kimi, "self_attn.o_proj.weight"), Some(Split::AttentionCols));
    assert_eq!(split(&kimi, "mlp.gate.weight"), Some(Split::Replicated));
    assert_eq!(split(&kimi, "mlp.experts.{e}.down_proj.weight"), Some(Split::ExpertCols));
    assert_eq!(split(&kimi, "mlp.shared_experts.up_proj.weight"), Some(Split::MlpRows));
    assert_eq!(split(&kimi, "lm_head.weight"), Some(Split::Vocabulary));
    assert_eq!(split(&qwen, "self_attn.k_proj.weight"), Some(Split::KvHeads { heads: 4 }));
}

#[test]
fn a_token_leaves_in_the_cache_what_the_papers_say() {
    let first = |name: &str| ModelSpec::catalog(name).unwrap().layers[0].attention;
    assert_eq!(first("kimi-k2.6").kv_numbers_per_token(), 576);
    assert_eq!(first("deepseek-v3.2").kv_numbers_per_token(), 576 + 128);
    assert_eq!(first("qwen3-235b-a22b").kv_numbers_per_token(), 2 * 4 * 128);
    let linear = first("qwen3-next-80b-a3b");
    assert_eq!(linear.kv_numbers_per_token(), 0);
    // 32 heads of 128 x 128 in f32, and 3 inputs of 8192 channels in bf16.
    assert_eq!(linear.state_bytes(), Bytes(f64::from(32 * 128 * 128 * 4 + 3 * 8192 * 2)));
    assert_eq!(first("kimi-k2.6").state_bytes(), Bytes(0.0));
}

#[test]
fn layers_that_differ_are_told_apart() {
    let windows = |name: &str| -> Vec<Option<u32>> {
        let model = ModelSpec::catalog(name).unwrap();
        model.layers[..5].iter().map(|layer| layer.attention.sliding_window()).collect()
    };
    assert_eq!(windows("gpt-oss-20b"), [Some(128), None, Some(128), None, Some(128)]);
    assert_eq!(windows("step-3.5-flash"), [None, Some(512), Some(512), Some(512), None]);
    let chunk = Some(8192);
    assert_eq!(windows("llama-4-scout"), [chunk, chunk, chunk, None, chunk]);
    let sparse = |name: &str| {
        let model = ModelSpec::catalog(name).unwrap();
        model.layers.iter().filter(|layer| matches!(layer.mlp, Mlp::Moe(_))).count()
    };
    assert_eq!(sparse("llama-4-maverick"), 24);
    assert_eq!(sparse("step-3.5-flash"), 42);
    assert_eq!(sparse("glm-4.5"), 89);
    let cached = |name: &str| {
        let model = ModelSpec::catalog(name).unwrap();
        model.layers.iter().filter(|layer| layer.has_kv_cache()).count()
    };
    assert_eq!(cached("kimi-linear-48b-a3b"), 7);
    assert_eq!(cached("qwen3.5-397b-a17b"), 15);
}
