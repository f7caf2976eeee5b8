//! The format of each kind of module, from configurations as they are published.

use crate::catalog;
use crate::format::Format;
use crate::model::{ModelSpec, Quantization};
use serde_json::{Value, json};

const INT4: Format = Format::Int4 { group: 32, zero_points: false };
const BLOCK: Format = Format::Fp8Block { block: 128 };

fn quantized(name: &str, config: Value) -> Quantization {
    let text = catalog::text("models", name, "json").unwrap();
    let mut model: Value = serde_json::from_str(text).unwrap();
    model["quantization_config"] = config;
    if let Some(text) = model.get_mut("text_config").and_then(Value::as_object_mut) {
        text.remove("quantization_config");
    }
    ModelSpec::from_json(&model.to_string(), name).unwrap().quantization
}

#[test]
fn only_kimis_routed_experts_are_int4() {
    let kimi = ModelSpec::catalog("kimi-k2.6").unwrap().quantization;
    let plain = Quantization::unquantized();
    let method = "compressed-tensors".to_string();
    assert_eq!(kimi, Quantization { method, routed_experts: INT4, ..plain });
}

#[test]
fn deepseek_is_fp8_but_for_head_and_embedding() {
    let deepseek = ModelSpec::catalog("deepseek-v3").unwrap().quantization;
    let fp8 = Quantization { method: "fp8".to_string(), ..Quantization::named("fp8").unwrap() };
    assert_eq!(deepseek, fp8);
    assert_eq!((deepseek.attention, deepseek.head), (BLOCK, Format::Bf16));
}

#[test]
fn nvfp4_leaves_out_what_its_list_says() {
    let nvfp4 = |name, ignore: &[&str]| {
        let config = json!({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ignore});
        quantized(name, config)
    };
    let mut ignore = vec!["language_model.lm_head".to_string(), "vision_tower*".to_string()];
    ignore.push("language_model.model.layers.0*".to_string());
    for layer in 1..61 {
        ignore.push(format!("language_model.model.layers.{layer}.self_attn*"));
        ignore.push(format!("language_model.model.layers.{layer}.mlp.shared_experts*"));
    }
    let ignore: Vec<&str> = ignore.iter().map(String::as_str).collect();
    let kimi = nvfp4("kimi-k2.6", &ignore);
    let found = [kimi.attention, kimi.shared_experts, kimi.head, kimi.dense_mlp];
    assert_eq!(found, [Format::Bf16; 4]);
    assert_eq!(kimi.routed_experts, Format::Nvfp4);
    // nvidia/DeepSeek-V3.1-NVFP4 quantizes, of attention, o_proj alone.
    let lists: Vec<String> = (0..61)
        .flat_map(|layer| {
            ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"]
                .map(|name| format!("model.layers.{layer}.self_attn.{name}"))
        })
        .collect();
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let deepseek = nvfp4("deepseek-v3.1", &lists);
    let found = (deepseek.attention, deepseek.attention_output);
    assert_eq!(found, (Format::Bf16, Format::Nvfp4));
    // nvidia/Qwen3-235B-A22B-NVFP4 quantizes attention as well.
    let qwen = nvfp4("qwen3-235b-a22b", &["lm_head", "model.layers.47.mlp.gate"]);
    assert_eq!((qwen.attention, qwen.routed_experts), (Format::Nvfp4, Format::Nvfp4));
}

#[test]
fn a_list_of_modules_means_whole_parts_of_names() {
    // MiniMax-M2's "gate" is the router, and not what has gate in its name.
    let config = json!({"quant_method": "fp8", "weight_block_size": [128, 128],
        "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]});
    assert_eq!(quantized("qwen3-30b-a3b", config).routed_experts, BLOCK);
    let config = json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true,
        "modules_to_not_convert": ["self_attn", "block_sparse_moe.gate", "model.layers.0."]});
    let minimax = quantized("minimax-m2.5", config);
    assert_eq!(minimax.attention, Format::Bf16);
    assert_eq!(minimax.routed_experts, Format::Int4 { group: 128, zero_points: true });
    let gpt_oss = ModelSpec::catalog("gpt-oss-120b").unwrap().quantization;
    assert_eq!((gpt_oss.attention, gpt_oss.routed_experts), (Format::Bf16, Format::Mxfp4));
}

#[test]
fn a_format_chosen_by_name_goes_where_checkpoints_have_it() {
    let named = |name| Quantization::named(name).unwrap();
    assert_eq!(named("bf16"), Quantization::unquantized());
    assert_eq!((named("int4").attention, named("int4").routed_experts), (Format::Bf16, INT4));
    assert_eq!(named("fp8").shared_experts, BLOCK);
    assert_eq!(named("awq").attention, Format::Int4 { group: 128, zero_points: true });
    assert_eq!(named("mxfp4").routed_experts, Format::Mxfp4);
    let nvfp4 = named("nvfp4");
    assert_eq!((nvfp4.shared_experts, nvfp4.dense_mlp), (Format::Bf16, Format::Nvfp4));
    for name in ["fp8", "int4", "awq", "mxfp4", "nvfp4"] {
        assert_eq!((named(name).head, named(name).base), (Format::Bf16, Format::Bf16), "{name}");
    }
}
