//! The weights of a model as an engine holds them, summed up so that a layout costs a few dozen
//! operations instead of one for each of a thousand tensors.

use junto_spec::comm_rules::DenseRule;
use junto_spec::engine::Family;
use junto_spec::format::Format;
use junto_spec::layer_split::{SplitRule, StageCosts, layer_split};
use junto_spec::layout::Layout;
use junto_spec::model::{Attention, Layer, ModelSpec};
use junto_spec::shard::{piece, rank_bytes};
use junto_spec::units::Bytes;
use junto_spec::weight::{Module, Split, Weight};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

/// Most kinds of layer of one model.
pub(crate) const KINDS: usize = 16;

/// A model's weights, prepared for one engine.
#[derive(Clone, Debug)]
pub struct ModelBytes {
    kinds: Vec<(Layer, Parts)>,
    /// Layers of each kind before each layer, and over all at the end.
    before: Vec<[u32; KINDS]>,
    first: Parts,
    last: Parts,
    tied: Parts,
    draft: Parts,
    rule: Rule,
    /// Stages for `pp` = 1, 2, ... up to the layers, each split when it is first asked for.
    splits: Vec<OnceLock<Vec<Range<u32>>>>,
}

/// How an engine shares out layers.
#[derive(Clone, Debug)]
enum Rule {
    Sglang,
    Vllm,
    Balanced(StageCosts),
    /// The first stages take the remainder: `torch.tensor_split`, llama.cpp's `--tensor-split`.
    FirstLonger,
}

/// Weights that are cut alike are one entry with a count; what is not cut is one sum.
#[derive(Clone, Debug, Default)]
struct Parts {
    whole: f64,
    cut: Vec<(Weight, f64)>,
}

impl Parts {
    fn new(weights: impl IntoIterator<Item = Weight>) -> Self {
        let mut parts = Self::default();
        for weight in weights {
            if weight.split == Split::Replicated {
                parts.whole += weight.bytes().0;
                continue;
            }
            let alike =
                |known: &&mut (Weight, f64)| known.0 == Weight { name: known.0.name, ..weight };
            match parts.cut.iter_mut().find(alike) {
                Some((_, times)) => *times += 1.0,
                None => parts.cut.push((weight, 1.0)),
            }
        }
        parts
    }

    fn on_rank(&self, layout: &Layout, dense: DenseRule) -> f64 {
        let cut =
            self.cut.iter().map(|(weight, times)| rank_bytes(weight, layout, dense).0 * times);
        self.whole + cut.sum::<f64>()
    }

    fn total(&self) -> f64 {
        self.whole + self.cut.iter().map(|(weight, times)| weight.bytes().0 * times).sum::<f64>()
    }
}

/// Weights of a layer as `family` holds them.
///
/// SGLang, vLLM and TensorRT-LLM keep `kv_b_proj` of MLA for prefill and beside it the two absorbed
/// halves of it for decode (`w_kc` and `w_vc`, `W_UK_T` and `W_UV`): 0.95 GiB in Kimi K2.
pub(crate) fn held_in_layer(model: &ModelSpec, index: usize, family: Family) -> Vec<Weight> {
    let mut weights = model.layer_weights(index);
    let absorbs = matches!(family, Family::Sglang | Family::Vllm | Family::TensorrtLlm);
    if absorbs && matches!(model.layers[index].attention, Attention::Mla(_)) {
        let kv_b = weights.iter().find(|weight| weight.name.contains("kv_b_proj"));
        let format = |format: Format| match format {
            Format::Fp8Block { .. } | Format::Fp8 if family != Family::Vllm => format,
            // vLLM dequantizes before it absorbs; INT4 attention has no absorbed kernel.
            _ => model.quantization.base,
        };
        let absorbed =
            kv_b.map(|weight| Weight { format: format(weight.format), ..weight.clone() });
        weights.extend(absorbed);
    }
    weights
}

/// Whether `weight`, which is in no decoder layer, is held by every rank that has the embedding.
///
/// llama.cpp reads vision towers from a file of their own, which junto does not ask for.
pub(crate) fn held_first(weight: &Weight, family: Family) -> bool {
    match weight.module {
        Module::Embedding => true,
        Module::Vision => family != Family::LlamaCpp,
        _ => false,
    }
}

/// Whether `weight` is held by the last stage: the head and its norm.
pub(crate) fn held_last(weight: &Weight) -> bool {
    matches!(weight.module, Module::Head | Module::Norm)
}

/// Whether `weight` comes with speculation: the multi-token-prediction layers, which share the
/// embedding and the head of the model.
pub(crate) fn held_for_draft(weight: &Weight) -> bool {
    weight.module == Module::Mtp && weight.split != Split::Vocabulary
}

impl ModelBytes {
    /// Sums up a model for an engine.
    pub fn new(model: &ModelSpec, family: Family) -> Self {
        let mut kinds: Vec<(Layer, Parts)> = Vec::new();
        let mut before = vec![[0; KINDS]];
        for (index, layer) in model.layers.iter().enumerate() {
            let kind = kinds.iter().position(|(known, _)| known == layer).unwrap_or_else(|| {
                kinds.push((*layer, Parts::new(held_in_layer(model, index, family))));
                kinds.len() - 1
            });
            assert!(kind < KINDS, "{} has more than {KINDS} kinds of layer", model.name);
            let mut counts = before[index];
            counts[kind] += 1;
            before.push(counts);
        }
        let outer = |held: &dyn Fn(&Weight) -> bool| {
            Parts::new(model.outer_weights().into_iter().filter(|weight| held(weight)))
        };
        let is_embedding = |weight: &Weight| weight.module == Module::Embedding;
        let tied = model.tie_word_embeddings;
        let mut bytes = Self {
            kinds,
            before,
            first: outer(&|weight| held_first(weight, family)),
            last: outer(&held_last),
            tied: outer(&|weight| tied && is_embedding(weight)),
            draft: outer(&held_for_draft),
            rule: Rule::FirstLonger,
            splits: vec![OnceLock::new(); model.layers.len()],
        };
        bytes.rule = match family {
            Family::Sglang => Rule::Sglang,
            Family::Vllm => Rule::Vllm,
            Family::Native => Rule::Balanced(bytes.stage_costs(model)),
            Family::TensorrtLlm | Family::LlamaCpp => Rule::FirstLonger,
        };
        bytes
    }

    fn stage_costs(&self, model: &ModelSpec) -> StageCosts {
        let cost = |layer: &Layer| {
            let kind = self.kinds.iter().find(|(known, _)| known == layer);
            kind.map_or(0.0, |(_, parts)| parts.total())
        };
        StageCosts {
            layers: model.layers.iter().map(cost).collect(),
            first: self.first.total(),
            last: self.last.total() + self.tied.total(),
        }
    }

    fn split(&self, pp: u32) -> Vec<Range<u32>> {
        let layers = self.layers();
        match &self.rule {
            Rule::Sglang => layer_split(layers, pp, SplitRule::Sglang),
            Rule::Vllm => layer_split(layers, pp, SplitRule::Vllm),
            Rule::Balanced(costs) => layer_split(layers, pp, SplitRule::Balanced(costs)),
            Rule::FirstLonger => (0..pp)
                .map(|stage| piece(u64::from(layers), pp, stage))
                .map(|range| range.start as u32..range.end as u32)
                .collect(),
        }
    }

    /// Number of decoder layers.
    pub fn layers(&self) -> u32 {
        self.before.len() as u32 - 1
    }

    /// One layer of each kind.
    pub fn layer_kinds(&self) -> impl Iterator<Item = &Layer> {
        self.kinds.iter().map(|(layer, _)| layer)
    }

    /// Layers of each of `pp` stages, as the engine shares them out unless told otherwise.
    pub fn stages(&self, pp: u32) -> Cow<'_, [Range<u32>]> {
        match self.splits.get(pp as usize - 1) {
            Some(stages) => Cow::Borrowed(stages.get_or_init(|| self.split(pp))),
            None => Cow::Owned(self.split(pp)),
        }
    }

    /// Layers of each kind, by the order of [`ModelBytes::layer_kinds`], in a range of layers.
    pub(crate) fn counts(&self, layers: &Range<u32>) -> [u32; KINDS] {
        let (from, to) = (&self.before[layers.start as usize], &self.before[layers.end as usize]);
        std::array::from_fn(|kind| to[kind] - from[kind])
    }

    /// Bytes on the fullest rank of a stage, for one layout.
    pub(crate) fn per_layout(&self, layout: &Layout, dense: DenseRule, drafts: bool) -> PerLayout {
        let mut kinds = [0.0; KINDS];
        for (bytes, (_, parts)) in kinds.iter_mut().zip(&self.kinds) {
            *bytes = parts.on_rank(layout, dense);
        }
        let mut last = self.last.on_rank(layout, dense);
        if 1 < layout.pp() {
            last += self.tied.on_rank(layout, dense);
        }
        if drafts {
            last += self.draft.on_rank(layout, dense);
        }
        PerLayout { kinds, first: self.first.on_rank(layout, dense), last }
    }
}

/// Bytes on one rank for one layout: of a layer of each kind, and of what the ends hold besides.
pub(crate) struct PerLayout {
    kinds: [f64; KINDS],
    first: f64,
    last: f64,
}

impl PerLayout {
    /// Bytes of a stage with these layers.
    pub(crate) fn stage(&self, counts: &[u32; KINDS], index: usize, stages: usize) -> Bytes {
        let layers = counts.iter().zip(&self.kinds).map(|(count, bytes)| f64::from(*count) * bytes);
        let first = if index == 0 { self.first } else { 0.0 };
        let last = if index + 1 == stages { self.last } else { 0.0 };
        Bytes(layers.sum::<f64>() + first + last)
    }
}

#[cfg(test)]
mod tests;
