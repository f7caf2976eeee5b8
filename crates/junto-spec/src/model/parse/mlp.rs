//! The channel mixer of each layer, from the config.

use crate::model::error::ModelError;
use crate::model::fields::{Fields, most};
use crate::model::{Mlp, Moe};

pub(crate) fn read(
    fields: &Fields<'_>,
    model_type: &str,
    index: u64,
    count: u64,
) -> Result<Mlp, ModelError> {
    if !has_experts(fields, model_type, index, count)? {
        let field = match model_type {
            "llama4_text" => "intermediate_size_mlp",
            _ => "intermediate_size",
        };
        return Ok(Mlp::Dense { intermediate_size: fields.count(field, most::WIDTH)? });
    }
    let moe = match model_type {
        "kimi_linear" => kimi_linear(fields)?,
        "step3p5" => step(fields)?,
        "gpt_oss" | "llama4_text" | "minimax_m2" | "mixtral" => local(fields, model_type)?,
        "qwen3_moe" | "qwen3_next" | "qwen3_5_moe_text" => qwen(fields)?,
        _ => deepseek(fields, model_type)?,
    };
    check_routing(fields, &moe)?;
    Ok(Mlp::Moe(moe))
}

fn has_experts(
    fields: &Fields<'_>,
    model_type: &str,
    index: u64,
    count: u64,
) -> Result<bool, ModelError> {
    match model_type {
        "llama" | "mistral" | "qwen2" | "qwen3" => Ok(false),
        "gpt_oss" | "minimax_m2" | "mixtral" => Ok(true),
        "llama4_text" => {
            let step = fields.size("interleave_moe_layer_step", most::LAYERS)?;
            Ok((index + 1).is_multiple_of(step))
        }
        "step3p5" => step_layers(fields).map(|layers| layers.contains(&index)),
        "qwen3_moe" | "qwen3_next" | "qwen3_5_moe_text" => {
            // Qwen3MoeConfig: `decoder_sparse_step` defaults to 1, `mlp_only_layers` to none.
            let step = fields.optional_count("decoder_sparse_step", most::LAYERS)?;
            let dense = fields.indices("mlp_only_layers")?.contains(&index);
            Ok(!dense && (index + 1).is_multiple_of(u64::from(step.unwrap_or(1))))
        }
        _ => {
            let field = "first_k_dense_replace";
            if fields.value(field).is_none() {
                return Err(fields.missing(field));
            }
            let dense = fields.count_or_zero(field, count)?;
            // DeepseekV2Config: `moe_layer_freq` defaults to 1; GLM-4.5 leaves it out.
            let every = fields.optional_count("moe_layer_freq", most::LAYERS)?;
            Ok(u64::from(dense) <= index && index.is_multiple_of(u64::from(every.unwrap_or(1))))
        }
    }
}

/// `moe_layers_enum`: the layers with experts, as a text of numbers between commas.
fn step_layers(fields: &Fields<'_>) -> Result<Vec<u64>, ModelError> {
    let field = "moe_layers_enum";
    let text = fields.text(field)?;
    if 16_384 < text.len() {
        return Err(fields.bad(field, &text, "shorter than 16 KiB"));
    }
    text.split(',')
        .map(|part| part.trim().parse::<u64>())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| fields.bad(field, &text, "layer numbers between commas"))
}

/// An expert count, a width and how many a token takes; the rest plain.
fn experts(
    fields: &Fields<'_>,
    experts: &str,
    per_token: &str,
    width: &str,
) -> Result<Moe, ModelError> {
    let n_routed_experts = fields.count(experts, most::EXPERTS)?;
    let num_experts_per_tok = fields.count(per_token, most::EXPERTS)?;
    if n_routed_experts < num_experts_per_tok {
        let expected = format!("at most the {n_routed_experts} of {experts}");
        return Err(fields.bad(per_token, &num_experts_per_tok, &expected));
    }
    Ok(Moe {
        n_routed_experts,
        num_experts_per_tok,
        moe_intermediate_size: fields.count(width, most::WIDTH)?,
        shared_intermediate_size: 0,
        shared_expert_gate: false,
        n_group: 1,
        topk_group: 1,
        router_bias: false,
        expert_bias: false,
    })
}

fn deepseek(fields: &Fields<'_>, model_type: &str) -> Result<Moe, ModelError> {
    let moe = experts(fields, "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size")?;
    let shared = fields.count_or_zero("n_shared_experts", 64)?;
    Ok(Moe {
        shared_intermediate_size: shared_width(fields, "n_shared_experts", shared, &moe)?,
        // DeepseekV2Config, Glm4MoeConfig: one group when not given.
        n_group: fields.optional_count("n_group", most::EXPERTS)?.unwrap_or(1),
        topk_group: fields.optional_count("topk_group", most::EXPERTS)?.unwrap_or(1),
        // `e_score_correction_bias`: everywhere since DeepSeek-V3.
        router_bias: model_type != "deepseek_v2",
        ..moe
    })
}

fn kimi_linear(fields: &Fields<'_>) -> Result<Moe, ModelError> {
    let moe = experts(fields, "num_experts", "num_experts_per_token", "moe_intermediate_size")?;
    let shared = fields.count_or_zero("num_shared_experts", 64)?;
    Ok(Moe {
        shared_intermediate_size: shared_width(fields, "num_shared_experts", shared, &moe)?,
        n_group: fields.count("num_expert_group", most::EXPERTS)?,
        topk_group: fields.count("topk_group", most::EXPERTS)?,
        router_bias: true,
        ..moe
    })
}

fn shared_width(
    fields: &Fields<'_>,
    field: &str,
    shared: u32,
    moe: &Moe,
) -> Result<u32, ModelError> {
    let width = u64::from(shared) * u64::from(moe.moe_intermediate_size);
    if most::WIDTH < width {
        return Err(fields.bad(field, &shared, &format!("such that {width} is a sane width")));
    }
    Ok(width as u32)
}

fn qwen(fields: &Fields<'_>) -> Result<Moe, ModelError> {
    let moe = experts(fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size")?;
    // Qwen3-MoE has no shared expert; Qwen3-Coder says so with a zero.
    let shared = fields.count_or_zero("shared_expert_intermediate_size", most::WIDTH)?;
    Ok(Moe { shared_intermediate_size: shared, shared_expert_gate: shared != 0, ..moe })
}

/// The families that count their experts in `num_local_experts`.
fn local(fields: &Fields<'_>, model_type: &str) -> Result<Moe, ModelError> {
    let moe = experts(fields, "num_local_experts", "num_experts_per_tok", "intermediate_size")?;
    Ok(match model_type {
        "gpt_oss" => Moe { router_bias: true, expert_bias: true, ..moe },
        "minimax_m2" => Moe {
            router_bias: fields.flag("use_routing_bias", false)?,
            shared_intermediate_size: fields
                .count_or_zero("shared_intermediate_size", most::WIDTH)?,
            ..moe
        },
        // Llama 4 has one shared expert, as wide as a routed one (Llama4TextMoe).
        "llama4_text" => Moe { shared_intermediate_size: moe.moe_intermediate_size, ..moe },
        _ => moe,
    })
}

fn step(fields: &Fields<'_>) -> Result<Moe, ModelError> {
    let moe = experts(fields, "moe_num_experts", "moe_top_k", "moe_intermediate_size")?;
    Ok(Moe {
        shared_intermediate_size: fields.count("share_expert_dim", most::WIDTH)?,
        router_bias: fields.flag("use_moe_router_bias", false)?,
        ..moe
    })
}

fn check_routing(fields: &Fields<'_>, moe: &Moe) -> Result<(), ModelError> {
    if !moe.n_routed_experts.is_multiple_of(moe.n_group) {
        let expected = format!("a divisor of the {} experts", moe.n_routed_experts);
        return Err(fields.bad("n_group", &moe.n_group, &expected));
    }
    if moe.n_group < moe.topk_group {
        let expected = format!("at most n_group, which is {}", moe.n_group);
        return Err(fields.bad("topk_group", &moe.topk_group, &expected));
    }
    let reachable = moe.n_routed_experts / moe.n_group * moe.topk_group;
    if reachable < moe.num_experts_per_tok {
        let expected = format!("at most the {reachable} experts of topk_group groups");
        return Err(fields.bad("num_experts_per_tok", &moe.num_experts_per_tok, &expected));
    }
    Ok(())
}
