//! The size of a vision tower and its projector, where the config tells the shape.

use crate::model::error::ModelError;
use crate::model::fields::{Fields, most};

/// Parameters of tower and projector; `None` for a tower of a kind that is not known here.
pub(crate) fn parameters(vision: &Fields<'_>, text_hidden: u64) -> Result<Option<u64>, ModelError> {
    if vision.value("vt_hidden_size").is_some() {
        moonvit(vision, text_hidden).map(Some)
    } else if vision.value("out_hidden_size").is_some() {
        qwen(vision).map(Some)
    } else if vision.value("projector_input_dim").is_some() {
        llama4(vision, text_hidden).map(Some)
    } else {
        Ok(None)
    }
}

/// A transformer block with biases everywhere: q, k, v, o; a two-matrix MLP; two layer norms.
fn block(hidden: u64, inner: u64) -> u64 {
    let attention = 4 * (hidden * hidden + hidden);
    let mlp = 2 * hidden * inner + inner + hidden;
    attention + mlp + 4 * hidden
}

/// `MoonViT` of Kimi K2.5, its patch merger and projector.
fn moonvit(vision: &Fields<'_>, text_hidden: u64) -> Result<u64, ModelError> {
    let hidden = vision.size("vt_hidden_size", most::WIDTH)?;
    let inner = vision.size("vt_intermediate_size", most::WIDTH)?;
    let layers = vision.size("vt_num_hidden_layers", most::LAYERS)?;
    let patch = vision.size("patch_size", 256)?;
    let height = vision.size("init_pos_emb_height", 4096)?;
    let width = vision.size("init_pos_emb_width", 4096)?;
    let merge = match vision.indices("merge_kernel_size")?.as_slice() {
        [rows, cols] if (1..=16).contains(rows) && (1..=16).contains(cols) => rows * cols,
        _ => return Err(vision.missing("merge_kernel_size of two sides")),
    };
    let embedding = 3 * patch * patch * hidden + hidden + height * width * hidden;
    let merged = hidden * merge;
    let projector = 2 * hidden + merged * merged + merged + merged * text_hidden + text_hidden;
    Ok(layers * block(hidden, inner) + embedding + 2 * hidden + projector)
}

/// Qwen3.5's tower with its patch merger; `deepstack_visual_indexes` each add one more.
fn qwen(vision: &Fields<'_>) -> Result<u64, ModelError> {
    let hidden = vision.size("hidden_size", most::WIDTH)?;
    let inner = vision.size("intermediate_size", most::WIDTH)?;
    let layers = vision.size("depth", most::LAYERS)?;
    let patch = vision.size("patch_size", 256)?;
    let frames = vision.size("temporal_patch_size", 256)?;
    let channels = vision.size("in_channels", 256)?;
    let positions = vision.size("num_position_embeddings", most::WIDTH)?;
    let side = vision.size("spatial_merge_size", 16)?;
    let out = vision.size("out_hidden_size", most::WIDTH)?;
    let deepstack = vision.indices("deepstack_visual_indexes")?.len().min(16) as u64;
    let embedding = channels * frames * patch * patch * hidden + hidden + positions * hidden;
    let merged = hidden * side * side;
    let projector = merged * merged + merged + merged * out + out;
    let norms = 2 * hidden + deepstack * 2 * merged;
    Ok(layers * block(hidden, inner) + embedding + (1 + deepstack) * projector + norms)
}

/// Llama 4's tower, pixel-shuffle adapter and projector, which have no biases.
fn llama4(vision: &Fields<'_>, text_hidden: u64) -> Result<u64, ModelError> {
    let hidden = vision.size("hidden_size", most::WIDTH)?;
    let inner = vision.size("intermediate_size", most::WIDTH)?;
    let layers = vision.size("num_hidden_layers", most::LAYERS)?;
    let patch = vision.size("patch_size", 256)?;
    let image = vision.size("image_size", 1 << 16)?;
    let channels = vision.size("num_channels", 256)?;
    let middle = vision.size("projector_input_dim", most::WIDTH)?;
    let out = vision.size("projector_output_dim", most::WIDTH)?;
    let patches = (image / patch) * (image / patch) + 1;
    let embedding = channels * patch * patch * hidden + hidden + patches * hidden;
    let adapter = inner * middle + middle * out + out * text_hidden;
    Ok(layers * block(hidden, inner) + embedding + 4 * hidden + adapter)
}
