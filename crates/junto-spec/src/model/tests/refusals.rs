//! What a config that cannot be read is told.

use crate::catalog;
use crate::model::{ModelSpec, Quantization};
use serde_json::{Value, json};

/// A model of the catalog with one field changed.
fn changed(name: &str, field: &str, value: Value) -> String {
    let text = catalog::text("models", name, "json").unwrap();
    let mut config: Value = serde_json::from_str(text).unwrap();
    config[field] = value;
    config.to_string()
}

#[track_caller]
fn refusal(text: &str) -> String {
    let error = ModelSpec::from_json(text, "config.json").unwrap_err();
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

fn deepseek(field: &str, value: Value) -> String {
    refusal(&changed("deepseek-v3", field, value))
}

#[test]
fn a_field_that_cannot_be_is_named_with_its_value() {
    insta::assert_snapshot!(deepseek("hidden_size", Value::Null), @r"
    config.json has no hidden_size
    hint: add hidden_size with the value that the model's publisher gives
    ");
    insta::assert_snapshot!(deepseek("hidden_size", json!(-7168)), @"config.json: hidden_size is -7168; it must be a whole number from 1 to 1048576");
    insta::assert_snapshot!(deepseek("vocab_size", json!(0)), @"config.json: vocab_size is 0; it must be a whole number from 1 to 16777216");
    insta::assert_snapshot!(deepseek("num_experts_per_tok", json!(300)), @"config.json: num_experts_per_tok is 300; it must be at most the 256 of n_routed_experts");
    insta::assert_snapshot!(deepseek("n_group", json!(7)), @"config.json: n_group is 7; it must be a divisor of the 256 experts");
    insta::assert_snapshot!(deepseek("q_lora_rank", json!("much")), @r#"config.json: q_lora_rank is "much"; it must be a whole number from 1 to 1048576"#);
    insta::assert_snapshot!(refusal(&changed("qwen3-8b", "num_key_value_heads", json!(5))), @"config.json: num_key_value_heads is 5; it must be a divisor of the 32 attention heads");
    insta::assert_snapshot!(refusal(&changed("gpt-oss-20b", "layer_types", json!(["full_attention"]))), @"config.json: layer_types is a list of 1; it must be one entry for each of 24 layers");
}

#[test]
fn what_is_not_known_here_is_refused_with_what_is() {
    let text = r#"{"architectures": ["Grok1"], "model_type": "grok-1"}"#;
    insta::assert_snapshot!(refusal(text), @r#"
    config.json: model_type "grok-1" (architecture "Grok1") is not supported
    hint: supported: deepseek_v2, deepseek_v3, deepseek_v32, glm4_moe, glm_moe_dsa, gpt_oss, kimi_k2, kimi_linear, llama, llama4_text, minimax_m2, mistral, mixtral, qwen2, qwen3, qwen3_5_moe_text, qwen3_moe, qwen3_next, step3p5
    "#);
    insta::assert_snapshot!(deepseek("quantization_config", json!({"quant_method": "bitsandbytes"})), @r#"
    config.json: quantization "bitsandbytes" is not supported
    hint: supported: fp8, compressed-tensors, awq, gptq, mxfp4, modelopt (NVFP4, FP8); or state the format with --quant
    "#);
    insta::assert_snapshot!(deepseek("quantization_config", json!({"quant_method": "awq", "bits": 3})), @"config.json: quantization_config.bits is 3; it must be 4 or 8");
    let unknown = ModelSpec::catalog("kimi-k26").unwrap_err();
    insta::assert_snapshot!(unknown, @r#"no model "kimi-k26" in the catalog"#);
    insta::assert_snapshot!(unknown.hint().unwrap(), @"did you mean kimi-k2.6 or kimi-k2.5? `junto models` lists all");
    let unknown = Quantization::named("q4_k_m").unwrap_err();
    insta::assert_snapshot!(unknown, @r#""q4_k_m" is no quantization to choose"#);
}

#[test]
fn what_is_no_config_is_told_so() {
    insta::assert_snapshot!(refusal("{"), @r"
    config.json is not JSON: EOF while parsing an object at line 1 column 1
    hint: give the config.json of a Hugging Face model
    ");
    insta::assert_snapshot!(refusal("[1]"), @r"
    config.json holds a list where a model's config is an object
    hint: give the config.json of a Hugging Face model
    ");
    insta::assert_snapshot!(refusal("{}"), @r"
    config.json has no architectures
    hint: is this the model's config.json, not its generation or tokenizer config?
    ");
}
