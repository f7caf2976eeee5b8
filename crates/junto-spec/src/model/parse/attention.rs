//! The token mixer of each layer, from the config.

use crate::model::error::ModelError;
use crate::model::fields::{Fields, most};
use crate::model::{Attention, Bias, Gqa, Indexer, Linear, LinearKind, Mla, OutputGate, QkNorm};

pub(crate) fn read(
    fields: &Fields<'_>,
    model_type: &str,
    index: u64,
    count: u64,
) -> Result<Attention, ModelError> {
    match model_type {
        "deepseek_v2" | "deepseek_v3" | "deepseek_v32" | "glm_moe_dsa" | "kimi_k2" => {
            mla(fields).map(Attention::Mla)
        }
        "kimi_linear" => kimi_linear(fields, index),
        "qwen3_next" | "qwen3_5_moe_text" => hybrid(fields, index, count),
        "step3p5" => step(fields, index).map(Attention::Gqa),
        _ => gqa_of(fields, model_type, index, count).map(Attention::Gqa),
    }
}

fn gqa_of(
    fields: &Fields<'_>,
    model_type: &str,
    index: u64,
    count: u64,
) -> Result<Gqa, ModelError> {
    let plain = gqa(fields)?;
    Ok(match model_type {
        // Qwen2Attention has biases on q, k and v whatever the config says.
        "qwen2" => Gqa { bias: Bias::Qkv, ..plain },
        "qwen3" | "qwen3_moe" => {
            Gqa { qk_norm: QkNorm::PerHead, bias: bias(fields, Bias::Qkvo)?, ..plain }
        }
        "glm4_moe" => {
            // Glm4MoeConfig: `attention_bias` puts none on o_proj; `use_qk_norm` defaults to false.
            let normed = fields.flag("use_qk_norm", false)?;
            let qk_norm = if normed { QkNorm::PerHead } else { QkNorm::None };
            Gqa { qk_norm, bias: bias(fields, Bias::Qkv)?, ..plain }
        }
        "gpt_oss" => Gqa {
            bias: bias(fields, Bias::Qkvo)?,
            sinks: true,
            sliding_window: window(fields, index, count)?,
            ..plain
        },
        "minimax_m2" => {
            let normed = fields.flag("use_qk_norm", false)?;
            Gqa { qk_norm: if normed { QkNorm::FullWidth } else { QkNorm::None }, ..plain }
        }
        "llama4_text" => {
            Gqa { bias: bias(fields, Bias::Qkvo)?, sliding_window: chunk(fields, index)?, ..plain }
        }
        "mistral" | "mixtral" => {
            Gqa { sliding_window: fields.optional_count("sliding_window", most::TOKENS)?, ..plain }
        }
        _ => Gqa { bias: bias(fields, Bias::Qkvo)?, ..plain },
    })
}

/// Heads and widths, without what families add.
fn gqa(fields: &Fields<'_>) -> Result<Gqa, ModelError> {
    let heads = fields.count("num_attention_heads", most::HEADS)?;
    let kv_heads = fields.count("num_key_value_heads", most::HEADS)?;
    groups(fields, "num_key_value_heads", heads, kv_heads)?;
    let head_dim = fields.optional_count("head_dim", most::HEAD_DIM)?;
    let head_dim = head_dim.map_or_else(|| implied_head_dim(fields, heads), Ok)?;
    Ok(Gqa {
        num_attention_heads: heads,
        num_key_value_heads: kv_heads,
        head_dim,
        v_head_dim: head_dim,
        sliding_window: None,
        bias: Bias::None,
        qk_norm: QkNorm::None,
        output_gate: OutputGate::None,
        sinks: false,
    })
}

/// `LlamaConfig`, `MixtralConfig`: `head_dim` defaults to `hidden_size / num_attention_heads`.
fn implied_head_dim(fields: &Fields<'_>, heads: u32) -> Result<u32, ModelError> {
    let hidden = fields.count("hidden_size", most::WIDTH)?;
    if !hidden.is_multiple_of(heads) || most::HEAD_DIM < u64::from(hidden / heads) {
        let expected = format!("a divisor of hidden_size {hidden}, as head_dim is not given");
        return Err(fields.bad("num_attention_heads", &heads, &expected));
    }
    Ok(hidden / heads)
}

fn groups(fields: &Fields<'_>, field: &str, heads: u32, kv_heads: u32) -> Result<(), ModelError> {
    if heads.is_multiple_of(kv_heads) {
        return Ok(());
    }
    Err(fields.bad(field, &kv_heads, &format!("a divisor of the {heads} attention heads")))
}

/// `attention_bias`; false by default in every configuration class that has it.
fn bias(fields: &Fields<'_>, when_set: Bias) -> Result<Bias, ModelError> {
    Ok(if fields.flag("attention_bias", false)? { when_set } else { Bias::None })
}

/// Name of the layer's kind in `layer_types`, which must cover `count` layers when it is there.
fn layer_type<'a>(
    fields: &Fields<'a>,
    index: u64,
    count: u64,
) -> Result<Option<&'a str>, ModelError> {
    let types = fields.list("layer_types", most::ENTRIES)?;
    if types.is_empty() {
        return Ok(None);
    }
    let kind = types.get(index as usize).map(|kind| kind.as_str().unwrap_or("no text"));
    match kind {
        Some("full_attention" | "sliding_attention" | "linear_attention") => Ok(kind),
        Some(other) => {
            let expected = "full_attention, sliding_attention or linear_attention";
            Err(fields.bad(&format!("layer_types[{index}]"), &other, expected))
        }
        None => {
            let found = format!("a list of {}", types.len());
            Err(fields.bad("layer_types", &found, &format!("one entry for each of {count} layers")))
        }
    }
}

fn window(fields: &Fields<'_>, index: u64, count: u64) -> Result<Option<u32>, ModelError> {
    match layer_type(fields, index, count)? {
        Some("sliding_attention") => fields.count("sliding_window", most::TOKENS).map(Some),
        Some("full_attention") => Ok(None),
        Some(other) => {
            Err(fields.bad("layer_types", &other, "full_attention or sliding_attention"))
        }
        None => Err(fields.missing("layer_types")),
    }
}

/// Llama 4 attends within chunks where it uses rotary positions, and to all where it does not.
///
/// `Llama4TextConfig`: every fourth layer has none (`no_rope_layer_interval`) unless
/// `no_rope_layers`, 1 where positions are used, says otherwise.
fn chunk(fields: &Fields<'_>, index: u64) -> Result<Option<u32>, ModelError> {
    let listed = fields.indices("no_rope_layers")?;
    let interval = fields.optional_count("no_rope_layer_interval", most::LAYERS)?.unwrap_or(4);
    let usual = !(index + 1).is_multiple_of(u64::from(interval));
    let rotary = listed.get(index as usize).map_or(usual, |rotary| *rotary != 0);
    Ok(if rotary { Some(fields.count("attention_chunk_size", most::TOKENS)?) } else { None })
}

fn mla(fields: &Fields<'_>) -> Result<Mla, ModelError> {
    let q_lora_rank = fields.optional_count("q_lora_rank", most::WIDTH)?;
    let indexer = match fields.optional_count("index_n_heads", most::HEADS)? {
        None => None,
        Some(_) if q_lora_rank.is_none() => return Err(fields.missing("q_lora_rank")),
        Some(index_n_heads) => Some(Indexer {
            index_n_heads,
            index_head_dim: fields.count("index_head_dim", most::HEAD_DIM)?,
            index_topk: fields.count("index_topk", most::TOKENS)?,
        }),
    };
    Ok(Mla {
        num_attention_heads: fields.count("num_attention_heads", most::HEADS)?,
        q_lora_rank,
        kv_lora_rank: fields.count("kv_lora_rank", most::WIDTH)?,
        qk_nope_head_dim: fields.count("qk_nope_head_dim", most::HEAD_DIM)?,
        qk_rope_head_dim: fields.count("qk_rope_head_dim", most::HEAD_DIM)?,
        v_head_dim: fields.count("v_head_dim", most::HEAD_DIM)?,
        indexer,
    })
}

/// Kimi-Linear counts the layers in its lists from 1.
fn kimi_linear(fields: &Fields<'_>, index: u64) -> Result<Attention, ModelError> {
    let field = "linear_attn_config";
    let linear = fields.object(field, "linear_attn_config.")?;
    let linear = linear.ok_or_else(|| fields.missing(field))?;
    let number = index + 1;
    let is_kda = linear.indices("kda_layers")?.contains(&number);
    let is_mla = linear.indices("full_attn_layers")?.contains(&number);
    if is_kda == is_mla {
        let expected = "in exactly one of kda_layers and full_attn_layers";
        return Err(linear.bad("kda_layers", &format!("unclear on layer {number}"), expected));
    }
    if is_mla {
        return mla(fields).map(Attention::Mla);
    }
    let heads = linear.count("num_heads", most::HEADS)?;
    let head_dim = linear.count("head_dim", most::HEAD_DIM)?;
    Ok(Attention::Linear(Linear {
        kind: LinearKind::Kda,
        num_key_heads: heads,
        num_value_heads: heads,
        key_head_dim: head_dim,
        value_head_dim: head_dim,
        conv_kernel_dim: linear.count("short_conv_kernel_size", 256)?,
    }))
}

/// Qwen3-Next and Qwen3.5: gated delta nets with gated attention in between.
fn hybrid(fields: &Fields<'_>, index: u64, count: u64) -> Result<Attention, ModelError> {
    let full = match layer_type(fields, index, count)? {
        Some("full_attention") => true,
        Some("linear_attention") => false,
        Some(other) => {
            return Err(fields.bad("layer_types", &other, "full_attention or linear_attention"));
        }
        None => {
            // Qwen3NextConfig: `full_attention_interval` defaults to 4.
            let interval = fields.optional_count("full_attention_interval", most::LAYERS)?;
            (index + 1).is_multiple_of(u64::from(interval.unwrap_or(4)))
        }
    };
    if full {
        // Both classes gate the output always; Qwen3.5 says so in `attn_output_gate`.
        let gated = fields.flag("attn_output_gate", true)?;
        let output_gate = if gated { OutputGate::PerElement } else { OutputGate::None };
        let bias = bias(fields, Bias::Qkvo)?;
        return Ok(Attention::Gqa(Gqa {
            qk_norm: QkNorm::PerHead,
            output_gate,
            bias,
            ..gqa(fields)?
        }));
    }
    let num_key_heads = fields.count("linear_num_key_heads", most::HEADS)?;
    let num_value_heads = fields.count("linear_num_value_heads", most::HEADS)?;
    groups(fields, "linear_num_key_heads", num_value_heads, num_key_heads)?;
    Ok(Attention::Linear(Linear {
        kind: LinearKind::GatedDeltaNet,
        num_key_heads,
        num_value_heads,
        key_head_dim: fields.count("linear_key_head_dim", most::HEAD_DIM)?,
        value_head_dim: fields.count("linear_value_head_dim", most::HEAD_DIM)?,
        conv_kernel_dim: fields.count("linear_conv_kernel_dim", 256)?,
    }))
}

/// Step-3.5: sliding layers have heads of their own, in `attention_other_setting`.
fn step(fields: &Fields<'_>, index: u64) -> Result<Gqa, ModelError> {
    let sliding_window = window(fields, index, index + 1)?;
    let other = fields.object("attention_other_setting", "attention_other_setting.")?;
    let heads_from = match (sliding_window, other) {
        (Some(_), Some(other)) => other,
        (Some(_), None) => return Err(fields.missing("attention_other_setting")),
        (None, _) => *fields,
    };
    let heads = heads_from.count("num_attention_heads", most::HEADS)?;
    let kv_heads = heads_from.count("num_attention_groups", most::HEADS)?;
    groups(&heads_from, "num_attention_groups", heads, kv_heads)?;
    let head_dim = heads_from.count("head_dim", most::HEAD_DIM)?;
    let normed = fields.flag("use_qk_norm", true)?;
    let gated = fields.flag("use_head_wise_attn_gate", false)?;
    Ok(Gqa {
        num_attention_heads: heads,
        num_key_value_heads: kv_heads,
        head_dim,
        v_head_dim: head_dim,
        sliding_window,
        bias: Bias::None,
        qk_norm: if normed { QkNorm::PerHead } else { QkNorm::None },
        output_gate: if gated { OutputGate::PerHead } else { OutputGate::None },
        sinks: false,
    })
}
