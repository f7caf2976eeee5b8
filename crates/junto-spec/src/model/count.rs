//! How many parameters a model has, in all and per token.

use crate::model::{Layer, Mlp, ModelSpec};
use crate::units::Bytes;
use crate::weight::{Module, Weight};
use std::collections::BTreeMap;

/// Parameters of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The text model, without multi-token-prediction layers and vision tower: what vendors print.
    pub total: u64,
    /// Those that one token uses.
    ///
    /// All of attention, norms, router, shared and dense MLPs, embedding and head, and `top-k` of
    /// the routed experts: so Moonshot, Qwen and DeepSeek count. `OpenAI` leaves the embedding out
    /// (gpt-oss model card, table 1), and so does this for gpt-oss.
    pub active: u64,
    /// By part of the model, with multi-token prediction and vision.
    pub by_module: BTreeMap<Module, u64>,
}

impl ModelSpec {
    /// Counts the parameters; scales of quantized weights are not parameters.
    pub fn parameters(&self) -> Parameters {
        let mut by_module = BTreeMap::new();
        for weight in self.weights() {
            *by_module.entry(weight.module).or_insert(0) += weight.parameters();
        }
        let total = by_module.iter().filter(|(module, _)| is_text(**module)).map(|(_, n)| n).sum();
        let idle: u64 = (0..self.layers.len()).map(|index| self.idle(index)).sum();
        let embedding = by_module.get(&Module::Embedding).copied().unwrap_or(0);
        let uncounted = if self.model_type == "gpt_oss" { embedding } else { 0 };
        Parameters { total, active: total - idle - uncounted, by_module }
    }

    /// Bytes of the checkpoint by part of the model.
    pub fn bytes_by_module(&self) -> BTreeMap<Module, Bytes> {
        let mut by_module = BTreeMap::new();
        for weight in self.weights() {
            *by_module.entry(weight.module).or_insert(Bytes(0.0)) += weight.bytes();
        }
        by_module
    }

    /// Every tensor of the checkpoint, layer by layer, then the outer ones.
    pub fn weights(&self) -> impl Iterator<Item = Weight> {
        let layers = (0..self.layers.len()).flat_map(|index| self.layer_weights(index));
        layers.chain(self.outer_weights())
    }

    /// Parameters of a layer's experts that a token does not use.
    fn idle(&self, index: usize) -> u64 {
        let Layer { mlp: Mlp::Moe(moe), .. } = self.layers[index] else { return 0 };
        let unused = u64::from(moe.n_routed_experts - moe.num_experts_per_tok);
        let weights = self.layer_weights(index);
        let experts = weights.iter().filter(|weight| weight.module == Module::RoutedExperts);
        experts.map(|weight| weight.rows * weight.cols * unused).sum()
    }
}

/// Whether vendors count it: no multi-token prediction, no vision.
fn is_text(module: Module) -> bool {
    !matches!(module, Module::Mtp | Module::Vision)
}
