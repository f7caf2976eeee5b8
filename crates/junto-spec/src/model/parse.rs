//! `config.json` to [`ModelSpec`]: every field is read, and a missing one is refused.
//!
//! A default stands only where the configuration class of `transformers` documents it and real
//! checkpoints leave the field out; each names its class.

use crate::model::error::ModelError;
use crate::model::fields::{Fields, most};
use crate::model::quantization;
use crate::model::vision;
use crate::model::{Layer, Mlp, ModelSpec, Quantization};
use serde_json::{Map, Value};

mod attention;
mod mlp;

/// `model_type` of the text model, and the `architectures` that carry it.
const SUPPORTED: &[(&str, &[&str])] = &[
    ("deepseek_v2", &["DeepseekV2ForCausalLM"]),
    ("deepseek_v3", &["DeepseekV3ForCausalLM"]),
    ("deepseek_v32", &["DeepseekV32ForCausalLM"]),
    ("glm4_moe", &["Glm4MoeForCausalLM"]),
    ("glm_moe_dsa", &["GlmMoeDsaForCausalLM"]),
    ("gpt_oss", &["GptOssForCausalLM"]),
    ("kimi_k2", &["DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration"]),
    ("kimi_linear", &["KimiLinearForCausalLM"]),
    ("llama", &["LlamaForCausalLM"]),
    ("llama4_text", &["Llama4ForCausalLM", "Llama4ForConditionalGeneration"]),
    ("minimax_m2", &["MiniMaxM2ForCausalLM"]),
    ("mistral", &["MistralForCausalLM"]),
    ("mixtral", &["MixtralForCausalLM"]),
    ("qwen2", &["Qwen2ForCausalLM"]),
    ("qwen3", &["Qwen3ForCausalLM"]),
    ("qwen3_5_moe_text", &["Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"]),
    ("qwen3_moe", &["Qwen3MoeForCausalLM"]),
    ("qwen3_next", &["Qwen3NextForCausalLM"]),
    ("step3p5", &["Step3p5ForCausalLM"]),
];

/// The supported `model_type`s, for a hint.
pub(crate) fn supported() -> String {
    SUPPORTED.iter().map(|(model_type, _)| *model_type).collect::<Vec<_>>().join(", ")
}

impl ModelSpec {
    /// Reads a Hugging Face `config.json`; `name` is what messages call it.
    ///
    /// The text model may be the whole config or stand in `text_config`.
    pub fn from_json(text: &str, name: &str) -> Result<Self, ModelError> {
        let file = || name.to_string();
        let value: Value = serde_json::from_str(text)
            .map_err(|error| ModelError::NotJson { file: file(), message: error.to_string() })?;
        let Value::Object(map) = &value else {
            let found = match value {
                Value::Array(_) => "a list",
                Value::String(_) => "a text",
                _ => "a single value",
            };
            return Err(ModelError::NotAnObject { file: file(), found: found.to_string() });
        };
        read(name, map)
    }
}

fn read(name: &str, map: &Map<String, Value>) -> Result<ModelSpec, ModelError> {
    let top = Fields::new(name, "", map);
    let text = top.object("text_config", "text_config.")?;
    let fields = text.unwrap_or(top);
    let (architecture, model_type) = architecture(&top, &fields)?;
    let count = fields.size("num_hidden_layers", most::LAYERS)?;
    let layers = (0..count).map(|index| layer(&fields, model_type, index, count));
    let layers = layers.collect::<Result<Vec<_>, _>>()?;
    let (num_nextn_predict_layers, nextn_layer) = nextn(&fields, model_type, &layers)?;
    let vision = top.object("vision_config", "vision_config.")?;
    let hidden_size = fields.size("hidden_size", most::WIDTH)?;
    // All supported configuration classes default to false, and Llama 4's config leaves it out.
    let tied = top.flag("tie_word_embeddings", fields.flag("tie_word_embeddings", false)?)?;
    let mut model = ModelSpec {
        name: name.to_string(),
        architecture: architecture.to_string(),
        model_type: model_type.to_string(),
        hidden_size,
        vocab_size: fields.size("vocab_size", most::VOCABULARY)?,
        max_position_embeddings: context(&fields)?,
        tie_word_embeddings: tied,
        num_nextn_predict_layers,
        nextn_layer,
        multimodal: vision.is_some(),
        vision_parameters: match vision {
            Some(vision) => vision::parameters(&vision, hidden_size)?,
            None => None,
        },
        layers,
        quantization: Quantization::unquantized(),
    };
    let config = match fields.object("quantization_config", "quantization_config.")? {
        Some(config) => Some(config),
        None => top.object("quantization_config", "quantization_config.")?,
    };
    if let Some(config) = config {
        model.quantization = quantization::read(&config, &model)?;
    }
    Ok(model)
}

/// `architectures[0]` of the whole and `model_type` of the text model, both known.
fn architecture<'a>(top: &Fields<'a>, text: &Fields<'a>) -> Result<(&'a str, &'a str), ModelError> {
    let architectures = top.texts("architectures")?;
    let architecture = *architectures.first().ok_or_else(|| top.missing("architectures"))?;
    let model_type = text.text("model_type")?;
    let known = SUPPORTED
        .iter()
        .any(|(name, carriers)| *name == model_type && carriers.contains(&architecture));
    if known {
        return Ok((architecture, model_type));
    }
    Err(ModelError::UnknownArchitecture {
        file: top.file.to_string(),
        architecture: architecture.chars().take(80).collect(),
        model_type: model_type.chars().take(80).collect(),
    })
}

/// Longest context. Kimi-Linear calls it `model_max_length`.
fn context(fields: &Fields<'_>) -> Result<u64, ModelError> {
    if fields.value("max_position_embeddings").is_none()
        && fields.value("model_max_length").is_some()
    {
        return fields.size("model_max_length", most::TOKENS);
    }
    fields.size("max_position_embeddings", most::TOKENS)
}

fn layer(
    fields: &Fields<'_>,
    model_type: &str,
    index: u64,
    count: u64,
) -> Result<Layer, ModelError> {
    Ok(Layer {
        attention: attention::read(fields, model_type, index, count)?,
        mlp: mlp::read(fields, model_type, index, count)?,
    })
}

/// Multi-token-prediction layers: how many the checkpoint has, and what is in one.
fn nextn(
    fields: &Fields<'_>,
    model_type: &str,
    layers: &[Layer],
) -> Result<(u32, Option<Layer>), ModelError> {
    let field = match model_type {
        "qwen3_5_moe_text" => "mtp_num_hidden_layers",
        // MiniMax-M2 announces `num_mtp_modules`, but publishes no weights for them.
        "minimax_m2" => return Ok((0, None)),
        _ => "num_nextn_predict_layers",
    };
    let count = fields.count_or_zero(field, most::EXTRA_LAYERS)?;
    let Some(last) = layers.last().filter(|_| count != 0) else { return Ok((0, None)) };
    if model_type != "step3p5" {
        return Ok((count, Some(*last)));
    }
    // Step-3.5's are dense, and its `layer_types` goes on to describe their attention.
    let index = layers.len() as u64;
    let attention = attention::read(fields, model_type, index, index + 1)?;
    let mlp = Mlp::Dense { intermediate_size: fields.count("intermediate_size", most::WIDTH)? };
    Ok((count, Some(Layer { attention, mlp })))
}
