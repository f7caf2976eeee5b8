//! The format of each kind of module, from `quantization_config` or chosen by name.

use crate::format::Format;
use crate::model::error::ModelError;
use crate::model::fields::Fields;
use crate::model::names::{self, Experts};
use crate::model::{Attention, Mlp, ModelSpec, Quantization};

mod ignore;

use ignore::{Ignore, Pattern};

/// Every `quant_method` that is understood.
pub const METHODS: &[&str] =
    &["fp8", "compressed-tensors", "awq", "gptq", "mxfp4", "modelopt (NVFP4, FP8)"];

impl Quantization {
    /// A checkpoint in bf16.
    pub fn unquantized() -> Self {
        let all = Format::Bf16;
        Self {
            method: "none".to_string(),
            attention: all,
            attention_output: all,
            routed_experts: all,
            shared_experts: all,
            dense_mlp: all,
            head: all,
            base: all,
        }
    }

    /// A format chosen by the user, put where published checkpoints of that kind have it.
    /// Embedding, head, router and norms stay in bf16 in all of them.
    ///
    /// - `fp8`: every projection of the layers, blocks of 128 (DeepSeek-V3, Qwen3-*-FP8).
    /// - `int4`: routed experts, group 32 (Kimi K2.6); a dense model's MLP in their place.
    /// - `awq`: every projection of the layers, group 128 with zero points (`AutoAWQ`).
    /// - `mxfp4`: routed experts (gpt-oss); a dense model's MLP in their place.
    /// - `nvfp4`: routed experts and dense MLP; attention and shared experts stay in bf16, as in
    ///   nvidia/Kimi-K2.6-NVFP4, Qwen3.5-397B-A17B-NVFP4 and MiniMax-M2.5-NVFP4. Older ones
    ///   (nvidia/Qwen3-235B-A22B-NVFP4) quantize attention too: read their own config for that.
    pub fn named(name: &str) -> Result<Self, ModelError> {
        let plain = Self::unquantized();
        let method = name.to_string();
        let layers = |format| Self {
            attention: format,
            attention_output: format,
            routed_experts: format,
            shared_experts: format,
            dense_mlp: format,
            ..Self::unquantized()
        };
        let experts = |format| Self { routed_experts: format, dense_mlp: format, ..plain.clone() };
        match name {
            "bf16" => Ok(plain),
            "fp8" => Ok(Self { method, ..layers(Format::Fp8Block { block: 128 }) }),
            "int4" => {
                let format = Format::Int4 { group: 32, zero_points: false };
                Ok(Self { method, ..experts(format) })
            }
            "awq" => Ok(Self { method, ..layers(Format::Int4 { group: 128, zero_points: true }) }),
            "mxfp4" => Ok(Self { method, ..experts(Format::Mxfp4) }),
            "nvfp4" => Ok(Self { method, ..experts(Format::Nvfp4) }),
            _ => Err(ModelError::UnknownFormat { name: name.to_string() }),
        }
    }
}

/// Reads a `quantization_config` for a model whose layers are known.
pub(crate) fn read(config: &Fields<'_>, model: &ModelSpec) -> Result<Quantization, ModelError> {
    let method = config.text("quant_method")?;
    let rules = match method {
        "fp8" => fp8(config)?,
        "compressed-tensors" => compressed_tensors(config)?,
        "awq" => awq(config)?,
        "gptq" => gptq(config)?,
        "mxfp4" => Rules {
            ignore: Ignore::parts(config.texts("modules_to_not_convert")?),
            ..all(Format::Mxfp4)
        },
        "modelopt" | "modelopt_fp4" => modelopt(config)?,
        other => return Err(unknown(config, other)),
    };
    let of = |names: &[String]| {
        let first = names.first()?;
        rules
            .groups
            .iter()
            .find(|(targets, _)| {
                targets.is_empty() || targets.iter().any(|target| target.matches(first))
            })
            .filter(|_| !names.iter().any(|name| rules.ignore.matches(name)))
            .map(|(_, format)| *format)
    };
    let base = Format::Bf16;
    let names = representatives(model);
    // Only experts are ever stored in gpt-oss's mxfp4, and fp8, awq and gptq leave the head alone
    // unless they say otherwise.
    let layers = method != "mxfp4";
    let pick = |names: &[String], may: bool| of(names).filter(|_| may).unwrap_or(base);
    Ok(Quantization {
        method: method.to_string(),
        attention: pick(&names.attention, layers),
        attention_output: pick(&names.attention_output, layers),
        routed_experts: pick(&names.routed_experts, true),
        shared_experts: pick(&names.shared_experts, layers),
        dense_mlp: pick(&names.dense_mlp, layers),
        head: pick(&["lm_head".to_string()], rules.head),
        base,
    })
}

/// What a `quantization_config` says: a format for each group of targets, and what it leaves out.
struct Rules {
    /// No targets: every linear module.
    groups: Vec<(Vec<Pattern>, Format)>,
    ignore: Ignore,
    /// Whether the head is quantized unless ignored.
    head: bool,
}

fn all(format: Format) -> Rules {
    Rules { groups: vec![(Vec::new(), format)], ignore: Ignore::parts(Vec::new()), head: false }
}

fn unknown(config: &Fields<'_>, method: &str) -> ModelError {
    let method = method.chars().take(80).collect();
    ModelError::UnknownQuantization { file: config.file.to_string(), method }
}

/// `weight_block_size`, which must be square; without it there is one scale per tensor.
fn fp8(config: &Fields<'_>) -> Result<Rules, ModelError> {
    let format = block_format(config, "weight_block_size")?;
    Ok(Rules { ignore: Ignore::parts(config.texts("modules_to_not_convert")?), ..all(format) })
}

fn block_format(config: &Fields<'_>, field: &str) -> Result<Format, ModelError> {
    let sides = config.indices(field)?;
    match (config.value(field), sides.as_slice()) {
        (None, _) => Ok(Format::Fp8),
        (Some(_), [rows, cols]) if rows == cols && (1..=65_536).contains(rows) => {
            Ok(Format::Fp8Block { block: *rows as u32 })
        }
        (Some(value), _) => Err(config.bad(field, value, "two equal sides of a block")),
    }
}

fn awq(config: &Fields<'_>) -> Result<Rules, ModelError> {
    // AwqConfig: `zero_point` defaults to true.
    let format = packed(config, config.flag("zero_point", true)?)?;
    Ok(Rules { ignore: Ignore::parts(config.texts("modules_to_not_convert")?), ..all(format) })
}

/// GPTQ stores zero points even when they are all the same.
fn gptq(config: &Fields<'_>) -> Result<Rules, ModelError> {
    let format = packed(config, true)?;
    let ignore = Ignore::parts(config.texts("modules_to_not_convert")?);
    Ok(Rules { ignore, head: config.flag("lm_head", false)?, ..all(format) })
}

fn packed(config: &Fields<'_>, zero_points: bool) -> Result<Format, ModelError> {
    match config.count("bits", 64)? {
        4 => Ok(Format::Int4 { group: config.count("group_size", 65_536)?, zero_points }),
        8 => Ok(Format::Int8),
        bits => Err(config.bad("bits", &bits, "4 or 8")),
    }
}

/// NVIDIA's `ModelOpt`. `exclude_modules` is the older name of `ignore`.
fn modelopt(config: &Fields<'_>) -> Result<Rules, ModelError> {
    let format = match config.text("quant_algo")? {
        "NVFP4" => Format::Nvfp4,
        "FP8" => Format::Fp8,
        other => return Err(unknown(config, &format!("modelopt {other}"))),
    };
    let mut ignore = config.texts("ignore")?;
    ignore.extend(config.texts("exclude_modules")?);
    Ok(Rules { ignore: Ignore::parts(ignore), head: true, ..all(format) })
}

fn compressed_tensors(config: &Fields<'_>) -> Result<Rules, ModelError> {
    let groups = config.object("config_groups", "config_groups.")?;
    let groups = groups.ok_or_else(|| config.missing("config_groups"))?;
    let mut read = Vec::new();
    for group in groups.objects("config_groups.") {
        let weights = group.object("weights", "config_groups.weights.")?;
        let weights = weights.ok_or_else(|| group.missing("weights"))?;
        let targets = group.texts("targets")?;
        let everything = targets.is_empty() || targets.contains(&"Linear");
        let targets = if everything { Vec::new() } else { targets };
        let targets = targets.into_iter().map(Pattern::exact_or_regex).collect();
        read.push((targets, compressed_format(&weights)?));
    }
    if read.is_empty() {
        return Err(config.missing("config_groups.group_0"));
    }
    Ok(Rules { groups: read, ignore: Ignore::exact_or_regex(config.texts("ignore")?), head: true })
}

fn compressed_format(weights: &Fields<'_>) -> Result<Format, ModelError> {
    let bits = weights.count("num_bits", 64)?;
    let kind = weights.text("type")?;
    match (kind, bits) {
        ("int", 4) => {
            // QuantizationArgs: `symmetric` defaults to true.
            let zero_points = !weights.flag("symmetric", true)?;
            Ok(Format::Int4 { group: weights.count("group_size", 65_536)?, zero_points })
        }
        ("int", 8) => Ok(Format::Int8),
        ("float", 8) => block_format(weights, "block_structure"),
        ("float", 4) => match weights.count("group_size", 65_536)? {
            16 => Ok(Format::Nvfp4),
            32 => Ok(Format::Mxfp4),
            other => Err(weights.bad("group_size", &other, "16 (nvfp4) or 32 (mxfp4)")),
        },
        _ => Err(unknown(weights, &format!("compressed-tensors {kind} of {bits} bits"))),
    }
}

/// A module of each kind that a configuration's lists are asked about, by full name.
struct Representatives {
    attention: Vec<String>,
    attention_output: Vec<String>,
    routed_experts: Vec<String>,
    shared_experts: Vec<String>,
    dense_mlp: Vec<String>,
}

/// Layers from the middle of the model: first and last ones are often left unquantized.
fn representatives(model: &ModelSpec) -> Representatives {
    let middle = model.layers.len() / 2;
    let from_middle = || (middle..model.layers.len()).chain((0..middle).rev());
    let sparse = from_middle().find(|&index| matches!(model.layers[index].mlp, Mlp::Moe(_)));
    let dense = from_middle().find(|&index| matches!(model.layers[index].mlp, Mlp::Dense { .. }));
    let mixer = from_middle()
        .find(|&index| !matches!(model.layers[index].attention, Attention::Linear(_)))
        .unwrap_or(middle);
    let names = names::of(&model.model_type);
    let full = |layer: usize, name: &str| {
        let module = name.strip_suffix(".weight").unwrap_or(name).replace("{e}", "0");
        format!("model.layers.{layer}.{module}")
    };
    let expert = match names.experts {
        Experts::Apart([gate, _, _]) => gate,
        // Engines see fused experts as one module.
        Experts::Fused([gate_up, _]) => gate_up,
    };
    let query = match model.layers[mixer].attention {
        Attention::Mla(mla) if mla.q_lora_rank.is_some() => "self_attn.q_b_proj",
        _ => "self_attn.q_proj",
    };
    Representatives {
        attention: vec![full(mixer, query)],
        attention_output: vec![full(mixer, "self_attn.o_proj")],
        routed_experts: sparse.map(|layer| full(layer, expert)).into_iter().collect(),
        shared_experts: sparse.map(|layer| full(layer, names.shared[0])).into_iter().collect(),
        dense_mlp: dense.map(|layer| full(layer, names.dense[0])).into_iter().collect(),
    }
}
