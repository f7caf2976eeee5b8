//! What a model asks of the hardware, independent of layout: its weights grouped by how they are cut
//! and which kernel multiplies by them, for each kind of layer.

use crate::constants::{KERNEL_KINDS, family_index};
use crate::cost::pass::MAX_KINDS;
use crate::cost::term::Term;
use crate::experts::Routing;
use junto_spec::format::Format;
use junto_spec::model::{Attention, Layer, Mlp, ModelSpec, OutputGate, QkNorm, Quantization};
use junto_spec::weight::{Module, Split, Weight};

/// Equal-cut matrices of one layer that one kernel family multiplies by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm {
    pub(crate) term: Term,
    /// Index into `constants::FAMILIES`.
    pub(crate) family: usize,
    pub(crate) split: Split,
    /// Bytes of the whole, all ranks together.
    pub(crate) bytes: f64,
    /// Parameters of the whole; one token costs two operations each.
    pub(crate) parameters: f64,
}

/// The routed experts of one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experts {
    pub(crate) family: usize,
    /// Bytes of one expert.
    pub(crate) bytes: f64,
    /// Parameters of one expert.
    pub(crate) parameters: f64,
    /// Index into `ModelWork::routings`.
    pub(crate) routing: usize,
}

/// One kind of layer.
#[derive(Clone, Debug)]
pub(crate) struct LayerWork {
    pub(crate) layer: Layer,
    pub(crate) gemms: Vec<Gemm>,
    pub(crate) experts: Option<Experts>,
    /// Kernels launched per forward of the layer by `KERNEL_KINDS`, collectives not counted.
    pub(crate) kernels: [f64; KERNEL_KINDS.len()],
    /// How many more a prefill pass launches.
    pub(crate) prefill_kernels: f64,
    /// Layers of this kind in the model.
    pub(crate) count: f64,
}

/// A model, prepared for costing.
#[derive(Clone, Debug)]
pub struct ModelWork<'a> {
    /// The model.
    pub spec: &'a ModelSpec,
    /// Zipf exponent that the routers are tabulated for.
    pub skew: f64,
    pub(crate) kinds: Vec<LayerWork>,
    /// Kind of each layer, an index into `kinds`.
    pub(crate) kind_of: Vec<usize>,
    pub(crate) head: Gemm,
    routers: Vec<(u32, u32)>,
    pub(crate) routings: Vec<Routing>,
}

impl<'a> ModelWork<'a> {
    /// Groups the layers of a model by kind. Expert popularity is Zipf with exponent `skew`.
    pub fn new(spec: &'a ModelSpec, skew: f64) -> Self {
        let mut work = Self {
            spec,
            skew,
            kinds: Vec::new(),
            kind_of: Vec::with_capacity(spec.layers.len()),
            head: head(spec),
            routers: Vec::new(),
            routings: Vec::new(),
        };
        for (index, layer) in spec.layers.iter().enumerate() {
            if let Some(kind) = work.kinds.iter().position(|known| known.layer == *layer) {
                work.kind_of.push(kind);
                work.kinds[kind].count += 1.0;
                continue;
            }
            let weights = spec.layer_weights(index);
            let mut experts = None;
            if let Mlp::Moe(moe) = layer.mlp {
                let router = (moe.n_routed_experts, moe.num_experts_per_tok);
                let known = work.routers.iter().position(|known| *known == router);
                let routing = known.unwrap_or_else(|| {
                    work.routers.push(router);
                    work.routers.len() - 1
                });
                experts = Some(routed(&weights, routing));
            }
            work.kind_of.push(work.kinds.len());
            let gemms = gemms(&weights);
            let (kernels, prefill_kernels) = kernels(layer, &spec.quantization);
            let layer = *layer;
            let count = 1.0;
            work.kinds.push(LayerWork { layer, gemms, experts, kernels, prefill_kernels, count });
        }
        assert!(work.kinds.len() <= MAX_KINDS, "{} kinds of layer", work.kinds.len());
        work.set_skew(skew);
        work
    }

    /// The same model with another Zipf exponent of expert popularity.
    #[must_use]
    pub fn with_skew(&self, skew: f64) -> Self {
        let mut work = self.clone();
        work.set_skew(skew);
        work
    }

    /// Tabulates the routers anew for another Zipf exponent of expert popularity.
    pub fn set_skew(&mut self, skew: f64) {
        let table = |(experts, top_k): &(u32, u32)| Routing::new(*experts, *top_k, skew);
        self.routings = self.routers.iter().map(table).collect();
        self.skew = skew;
    }
}

fn gemms(weights: &[Weight]) -> Vec<Gemm> {
    let mut gemms: Vec<Gemm> = Vec::new();
    for weight in weights.iter().filter(|weight| weight.cols > 1) {
        let term = match weight.module {
            Module::Attention => Term::AttentionProjections,
            Module::Router => Term::Router,
            Module::SharedExperts => Term::SharedExperts,
            Module::DenseMlp => Term::DenseMlp,
            _ => continue,
        };
        let family = family_index(weight.format.family());
        let (bytes, parameters) = (weight.bytes().0, weight.parameters() as f64);
        let same = |gemm: &&mut Gemm| {
            gemm.term == term && gemm.family == family && gemm.split == weight.split
        };
        match gemms.iter_mut().find(same) {
            Some(gemm) => {
                gemm.bytes += bytes;
                gemm.parameters += parameters;
            }
            None => gemms.push(Gemm { term, family, split: weight.split, bytes, parameters }),
        }
    }
    gemms
}

fn routed(weights: &[Weight], routing: usize) -> Experts {
    let mut experts = Experts { family: 0, bytes: 0.0, parameters: 0.0, routing };
    for weight in weights.iter().filter(|weight| weight.module == Module::RoutedExperts) {
        experts.bytes += weight.format.bytes(weight.rows, weight.cols).0;
        experts.parameters += (weight.rows * weight.cols) as f64;
        if weight.cols > 1 {
            experts.family = family_index(weight.format.family());
        }
    }
    experts
}

fn head(spec: &ModelSpec) -> Gemm {
    let format = spec.quantization.head;
    Gemm {
        term: Term::Head,
        family: family_index(format.family()),
        split: Split::Vocabulary,
        bytes: format.bytes(spec.vocab_size, spec.hidden_size).0,
        parameters: (spec.vocab_size * spec.hidden_size) as f64,
    }
}

/// Kernels per layer of a decode step, by [`KERNEL_KINDS`], and how many more a prefill pass has;
/// counted from the SGLang and vLLM code paths (docs/cost-model.md, "Kernels").
fn kernels(layer: &Layer, quantization: &Quantization) -> ([f64; KERNEL_KINDS.len()], f64) {
    // Activations are quantized by a kernel of their own before each GEMM in fp8 or fp4.
    let quantizes = |format: Format, gemms: f64| match format {
        Format::Fp8Block { .. } | Format::Fp8 | Format::Nvfp4 => gemms,
        _ => 0.0,
    };
    let (mut mla_kernels, mut gqa_kernels, mut linear_kernels, mut prefill) = (0.0, 0.0, 0.0, 0.0);
    let mut quantizing = match layer.attention {
        // norm, fused q_a/kv_a, two latent norms, q_b, absorb, rope, cache write, attention, merge,
        // value up-projection, o
        Attention::Mla(mla) => {
            mla_kernels = if mla.indexer.is_some() { 18.0 } else { 12.0 };
            quantizes(quantization.attention, 3.0)
        }
        // norm, qkv, (q and k norms), rope, cache write, attention, merge, o, (gate)
        Attention::Gqa(gqa) => {
            gqa_kernels = 7.0
                + if gqa.qk_norm == QkNorm::None { 0.0 } else { 1.0 }
                + if gqa.output_gate == OutputGate::None { 0.0 } else { 2.0 };
            quantizes(quantization.attention, 2.0)
        }
        // norm, two input projections, convolution, gates, recurrence, gated norm, output; a prefill
        // chunk solves its recurrence in about ten more
        Attention::Linear(_) => {
            (linear_kernels, prefill) = (9.0, 10.0);
            quantizes(quantization.attention, 2.0)
        }
    };
    let channel_kernels = match layer.mlp {
        Mlp::Dense { .. } => {
            quantizing += quantizes(quantization.dense_mlp, 2.0);
            4.0
        }
        Mlp::Moe(moe) => {
            quantizing += quantizes(quantization.routed_experts, 2.0);
            // norm, gate, top-k, align, two grouped GEMMs, activation, sum; MXFP4 kernels fuse the
            // last five into two
            let routed = if quantization.routed_experts == Format::Mxfp4 { 5.0 } else { 8.0 };
            let gate = if moe.shared_expert_gate { 2.0 } else { 0.0 };
            if moe.shared_intermediate_size > 0 {
                quantizing += quantizes(quantization.shared_experts, 2.0);
                routed + 4.0 + gate
            } else {
                routed
            }
        }
    };
    ([mla_kernels, gqa_kernels, linear_kernels, channel_kernels, quantizing], prefill)
}
