//! `junto models`: the models of the catalog.

use crate::args::ListArgs;
use crate::exit::{Exit, misuse};
use crate::json;
use crate::number::short;
use crate::table::{Align, Table};
use junto_spec::catalog;
use junto_spec::model::{Attention, Mlp, ModelSpec};
use serde::Serialize;
use std::io::Write;

/// One model, as `--json` prints it.
#[derive(Debug, Serialize)]
struct ModelJson {
    name: &'static str,
    architecture: String,
    parameters: u64,
    active_parameters: u64,
    layers: usize,
    attention: &'static str,
    n_routed_experts: Option<u32>,
    num_experts_per_tok: Option<u32>,
    routed_experts_format: String,
    weights_gib: f64,
    max_position_embeddings: u64,
}

/// Lists the catalog.
pub(crate) fn list(args: &ListArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let names = catalog::names("models").into_iter();
    let models = names.map(row).collect::<anyhow::Result<Vec<_>>>()?;
    if args.json {
        json::write(out, &models)?;
    } else {
        table(&models).write(out)?;
    }
    Ok(Exit::Done)
}

fn row(name: &'static str) -> anyhow::Result<ModelJson> {
    let model =
        ModelSpec::catalog(name).map_err(|error| misuse(&error).maybe_hint(error.hint()))?;
    let parameters = model.parameters();
    let moe = model.layers.iter().find_map(|layer| match layer.mlp {
        Mlp::Moe(moe) => Some(moe),
        Mlp::Dense { .. } => None,
    });
    let format = if moe.is_some() {
        model.quantization.routed_experts
    } else {
        model.quantization.dense_mlp
    };
    Ok(ModelJson {
        name,
        parameters: parameters.total,
        active_parameters: parameters.active,
        layers: model.layers.len(),
        attention: attention(&model),
        n_routed_experts: moe.map(|moe| moe.n_routed_experts),
        num_experts_per_tok: moe.map(|moe| moe.num_experts_per_tok),
        routed_experts_format: format.to_string(),
        weights_gib: model.bytes_by_module().values().map(|bytes| bytes.gib()).sum(),
        max_position_embeddings: model.max_position_embeddings,
        architecture: model.architecture,
    })
}

/// Its kinds of attention.
fn attention(model: &ModelSpec) -> &'static str {
    let has =
        |kind: fn(&Attention) -> bool| model.layers.iter().any(|layer| kind(&layer.attention));
    let linear = has(|attention| matches!(attention, Attention::Linear(_)));
    let latent = has(|attention| matches!(attention, Attention::Mla(_)));
    let windowed = has(|attention| attention.sliding_window().is_some());
    match (latent, linear, windowed) {
        (true, true, _) => "MLA + linear",
        (true, false, _) => "MLA",
        (false, true, _) => "GQA + linear",
        (false, false, true) => "GQA + windowed",
        (false, false, false) => "GQA",
    }
}

fn table(models: &[ModelJson]) -> Table {
    let mut table = Table::default();
    table.column("", "Model", Align::Left);
    for heading in ["Params", "Active", "Layers", "Experts"] {
        table.column("", heading, Align::Right);
    }
    table.column("", "Attention", Align::Left);
    table.column("", "Format", Align::Left);
    table.column("", "GiB", Align::Right);
    table.column("", "Context", Align::Right);
    for model in models {
        let experts = match (model.num_experts_per_tok, model.n_routed_experts) {
            (Some(few), Some(all)) => format!("{few}/{all}"),
            _ => "dense".to_owned(),
        };
        table.row(vec![
            model.name.to_owned(),
            parameters(model.parameters),
            parameters(model.active_parameters),
            model.layers.to_string(),
            experts,
            model.attention.to_owned(),
            model.routed_experts_format.clone(),
            short(model.weights_gib),
            short(model.max_position_embeddings as f64),
        ]);
    }
    table
}

/// `1.03T`, `32.9B`, as vendors write them.
fn parameters(number: u64) -> String {
    let billions = number as f64 / 1e9;
    if billions < 999.5 {
        format!("{}B", short(billions))
    } else {
        format!("{:.2}T", billions / 1e3)
    }
}
