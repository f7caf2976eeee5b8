//! The fitted constants of the cost model: few, physical, each a base value with factors by GPU
//! generation, engine and kernel family.
//!
//! The value that holds for a case is `base * gpu factor * engine factor * family factor`; a factor
//! that is not listed is 1. `catalog/constants.toml` holds the values and their sources;
//! `docs/cost-model.md` says where each enters.

use junto_spec::catalog;
use junto_spec::engine::{EngineProfile, Family};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// The quantity that a constant stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Key {
    /// Share of the memory bandwidth that a dense GEMM reaches when memory-bound.
    DenseMemory,
    /// The same for grouped expert GEMMs.
    ExpertMemory,
    /// Share of the matrix rate that a large dense GEMM reaches.
    DenseCompute,
    /// The same for grouped expert GEMMs, tile padding counted as work.
    ExpertCompute,
    /// Share of the bandwidth that decode attention reaches over many sequences.
    AttentionMemory,
    /// Sequences at which decode attention reaches half of that.
    AttentionHalfBatch,
    /// Share of the bf16 rate that decode attention reaches when compute-bound.
    AttentionCompute,
    /// Share of the bf16 rate that prefill attention reaches.
    PrefillAttention,
    /// Time of one small kernel in a captured graph, µs, beyond its bytes and flops.
    KernelUs,
    /// Processor time to issue one kernel without a graph, µs.
    IssueUs,
    /// Host time per step that the GPU waits for, µs.
    StepUs,
    /// Host and sampling time per sequence and step, µs.
    SequenceUs,
    /// Factor on tabulated collective times.
    CollectiveScale,
    /// Waiting for the slowest rank at each collective, µs.
    SyncUs,
    /// Handing over from one pipeline stage to the next, µs.
    HopUs,
    /// One draft token of speculative decoding, µs.
    DraftUs,
    /// Zipf exponent of expert popularity.
    Skew,
    /// Requests' worth of time that a finite run loses in its tail, per slot.
    Tail,
    /// Host time per request before its first token (tokenizer, HTTP, scheduling), µs.
    RequestUs,
}

impl Key {
    /// What the constant means, with its unit.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::DenseMemory => {
                "Share of the memory bandwidth that a dense GEMM reaches when memory-bound"
            }
            Self::ExpertMemory => "The same for grouped expert GEMMs",
            Self::DenseCompute => "Share of the matrix rate that a large dense GEMM reaches",
            Self::ExpertCompute => {
                "The same for grouped expert GEMMs, tile padding counted as work"
            }
            Self::AttentionMemory => {
                "Share of the bandwidth that decode attention reaches over many sequences"
            }
            Self::AttentionHalfBatch => "Sequences at which decode attention reaches half of that",
            Self::AttentionCompute => {
                "Share of the bf16 rate that decode attention reaches when compute-bound"
            }
            Self::PrefillAttention => "Share of the bf16 rate that prefill attention reaches",
            Self::KernelUs => {
                "Time of one small kernel in a captured graph, µs, beyond its bytes and flops"
            }
            Self::IssueUs => "Processor time to issue one kernel without a graph, µs",
            Self::StepUs => "Host time per step that the GPU waits for, µs",
            Self::SequenceUs => "Host and sampling time per sequence and step, µs",
            Self::CollectiveScale => "Factor on tabulated collective times",
            Self::SyncUs => "Waiting for the slowest rank at each collective, µs",
            Self::HopUs => "Handing over from one pipeline stage to the next, µs",
            Self::DraftUs => "One draft token of speculative decoding, µs",
            Self::Skew => "Zipf exponent of expert popularity",
            Self::Tail => "Requests' worth of time that a finite run loses in its tail, per slot",
            Self::RequestUs => {
                "Host time per request before its first token (tokenizer, HTTP, scheduling), µs"
            }
        }
    }
}

/// Number of keys.
pub const KEYS: usize = 19;

/// All keys with their name in the file, prior value, prior width (σ of ln) and meaning.
///
/// The priors are physical guesses from microbenchmarks; the fit moves them only as far as the
/// measurements insist.
pub const PRIORS: [(Key, &str, f64, f64); KEYS] = [
    (Key::DenseMemory, "dense_memory_fraction", 0.75, 0.1),
    (Key::ExpertMemory, "expert_memory_fraction", 0.75, 0.1),
    (Key::DenseCompute, "dense_compute_fraction", 0.50, 0.3),
    (Key::ExpertCompute, "expert_compute_fraction", 0.40, 0.3),
    (Key::AttentionMemory, "attention_memory_fraction", 0.70, 0.25),
    (Key::AttentionHalfBatch, "attention_half_batch", 1.0, 0.5),
    (Key::AttentionCompute, "attention_compute_fraction", 0.15, 0.4),
    (Key::PrefillAttention, "prefill_attention_fraction", 0.35, 0.4),
    (Key::KernelUs, "kernel_us", 3.0, 0.4),
    (Key::IssueUs, "issue_us", 9.0, 0.4),
    (Key::StepUs, "step_us", 500.0, 0.7),
    (Key::SequenceUs, "sequence_us", 12.0, 0.7),
    (Key::CollectiveScale, "collective_scale", 1.0, 0.25),
    (Key::SyncUs, "sync_us", 3.0, 0.5),
    (Key::HopUs, "hop_us", 100.0, 0.7),
    (Key::DraftUs, "draft_us", 500.0, 0.5),
    (Key::Skew, "skew", 0.8, 0.5),
    (Key::Tail, "tail", 0.5, 0.4),
    (Key::RequestUs, "request_us", 20_000.0, 0.7),
];

/// Constants and factors are at least this.
const LEAST: f64 = 1e-6;
/// Constants and factors are at most this.
const MOST: f64 = 1e6;
/// The steepest popularity of experts: beyond, the rare ones' is nothing.
const MOST_SKEW: f64 = 4.0;

/// The kernel families by weight format, in the order of [`Efficiency::expert_memory`].
pub const FAMILIES: [&str; 7] = ["bf16", "fp8", "int4", "int8", "mxfp4", "nvfp4", "gguf"];

/// The kinds of small kernel, in the order of [`Efficiency::kernel_us`].
pub const KERNEL_KINDS: [&str; 5] = ["mla", "gqa", "linear", "mlp", "quantize"];

/// The index of a kernel family in [`FAMILIES`].
pub fn family_index(family: &str) -> usize {
    FAMILIES.iter().position(|name| *name == family).unwrap_or(0)
}

/// The name under which an engine's factors are listed.
pub fn engine_key(family: Family) -> &'static str {
    match family {
        Family::Sglang => "sglang",
        Family::Vllm => "vllm",
        Family::TensorrtLlm => "tensorrt-llm",
        Family::LlamaCpp => "llama.cpp",
        Family::Native => "native",
    }
}

/// One constant as the file holds it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The value when no factor applies.
    pub base: f64,
    /// What it means, with its unit.
    pub meaning: String,
    /// Where the value comes from.
    pub source: String,
    /// Factors by GPU generation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gpu: BTreeMap<String, f64>,
    /// Factors by engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub engine: BTreeMap<String, f64>,
    /// Factors by kernel family (weight format, or `mla`/`gqa` for attention).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub family: BTreeMap<String, f64>,
}

/// All constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    entries: [Entry; KEYS],
}

/// Why the constants could not be read.
#[derive(Debug, Error)]
pub enum ConstantsError {
    /// Not TOML, or of another shape.
    #[error("{file}: {message}")]
    Parse {
        /// The file.
        file: String,
        /// What the parser says.
        message: String,
    },
    /// A constant that the model needs is not there, or one that it does not know is.
    #[error("{file}: constant {name:?} is {problem}")]
    Name {
        /// The file.
        file: String,
        /// The constant.
        name: String,
        /// `missing` or `unknown`.
        problem: &'static str,
    },
    /// A value that no physical constant has.
    #[error("{file}: {name} = {value} must be from {LEAST} to {MOST}")]
    Value {
        /// The file.
        file: String,
        /// The constant, with its factor.
        name: String,
        /// The value.
        value: f64,
    },
}

impl Constants {
    /// The constants that ship with junto.
    pub fn catalog() -> Self {
        let text = catalog::file("constants.toml").unwrap_or_default();
        match Self::from_toml(text, "catalog/constants.toml") {
            Ok(constants) => constants,
            Err(error) => panic!("the built-in constants are broken: {error}"),
        }
    }

    /// From the text of a constants file.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, ConstantsError> {
        let mut table: BTreeMap<String, Entry> = toml::from_str(text).map_err(|error| {
            ConstantsError::Parse { file: file.to_string(), message: error.to_string() }
        })?;
        let mut entries: [Entry; KEYS] = Default::default();
        for (key, name, _, _) in PRIORS {
            let entry = table.remove(name).ok_or_else(|| ConstantsError::Name {
                file: file.to_string(),
                name: name.to_string(),
                problem: "missing",
            })?;
            let factors = entry.gpu.iter().chain(&entry.engine).chain(&entry.family);
            let values = factors.map(|(factor, value)| (format!("{name}.{factor}"), *value));
            for (name, value) in values.chain([(name.to_string(), entry.base)]) {
                if !(LEAST..=MOST).contains(&value) {
                    return Err(ConstantsError::Value { file: file.to_string(), name, value });
                }
            }
            entries[key as usize] = entry;
        }
        match table.into_keys().next() {
            Some(name) => {
                Err(ConstantsError::Name { file: file.to_string(), name, problem: "unknown" })
            }
            None => Ok(Self { entries }),
        }
    }

    /// The constants before any fit: the priors alone.
    pub fn priors() -> Self {
        let mut entries: [Entry; KEYS] = Default::default();
        for (key, name, base, _) in PRIORS {
            let source = "prior".to_string();
            entries[key as usize] =
                Entry { base, meaning: name.to_string(), source, ..Entry::default() };
        }
        Self { entries }
    }

    /// As the text of a constants file.
    pub fn to_toml(&self) -> String {
        let table: BTreeMap<&str, &Entry> =
            PRIORS.iter().map(|(key, name, _, _)| (*name, &self.entries[*key as usize])).collect();
        toml::to_string(&table).unwrap_or_default()
    }

    /// One constant.
    pub fn entry(&self, key: Key) -> &Entry {
        &self.entries[key as usize]
    }

    /// One constant, to change it.
    pub fn entry_mut(&mut self, key: Key) -> &mut Entry {
        &mut self.entries[key as usize]
    }

    /// The values that hold for one GPU generation and one version of an engine. An engine's factors
    /// are listed under its family (`sglang`) and, where versions differ, its profile
    /// (`sglang-0.5.11`); both apply.
    pub fn resolve(&self, generation: &str, engine: &EngineProfile) -> Efficiency {
        let of = |key: Key, family: &str| {
            let entry = self.entry(key);
            let factor =
                |map: &BTreeMap<String, f64>, name: &str| map.get(name).copied().unwrap_or(1.0);
            entry.base
                * factor(&entry.gpu, generation)
                * factor(&entry.engine, engine_key(engine.family))
                * factor(&entry.engine, &engine.name)
                * factor(&entry.family, family)
        };
        let plain = |key| of(key, "");
        let families = |key: Key| FAMILIES.map(|family| of(key, family));
        let attention = |key: Key| [of(key, "mla"), of(key, "gqa")];
        Efficiency {
            dense_memory: families(Key::DenseMemory).map(|share| share.min(1.0)),
            expert_memory: families(Key::ExpertMemory).map(|share| share.min(1.0)),
            dense_compute: families(Key::DenseCompute).map(|share| share.min(1.0)),
            expert_compute: families(Key::ExpertCompute).map(|share| share.min(1.0)),
            attention_memory: attention(Key::AttentionMemory).map(|share| share.min(1.0)),
            attention_half_batch: attention(Key::AttentionHalfBatch),
            attention_compute: attention(Key::AttentionCompute).map(|share| share.min(1.0)),
            prefill_attention: attention(Key::PrefillAttention).map(|share| share.min(1.0)),
            kernel_us: KERNEL_KINDS.map(|kind| of(Key::KernelUs, kind)),
            issue_us: plain(Key::IssueUs),
            step_us: plain(Key::StepUs),
            sequence_us: plain(Key::SequenceUs),
            collective_scale: plain(Key::CollectiveScale),
            sync_us: plain(Key::SyncUs),
            hop_us: plain(Key::HopUs),
            draft_us: plain(Key::DraftUs),
            skew: plain(Key::Skew).min(MOST_SKEW),
            tail: plain(Key::Tail),
            request_us: plain(Key::RequestUs),
        }
    }
}

/// The constants of one GPU generation and engine, resolved. Fields as in [`Key`]; arrays by
/// [`FAMILIES`], or `[mla, gqa]` for attention.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is the Key of the same name")]
pub struct Efficiency {
    pub dense_memory: [f64; 7],
    pub expert_memory: [f64; 7],
    pub dense_compute: [f64; 7],
    pub expert_compute: [f64; 7],
    pub attention_memory: [f64; 2],
    pub attention_half_batch: [f64; 2],
    pub attention_compute: [f64; 2],
    pub prefill_attention: [f64; 2],
    pub kernel_us: [f64; KERNEL_KINDS.len()],
    pub issue_us: f64,
    pub step_us: f64,
    pub sequence_us: f64,
    pub collective_scale: f64,
    pub sync_us: f64,
    pub hop_us: f64,
    pub draft_us: f64,
    pub skew: f64,
    pub tail: f64,
    pub request_us: f64,
}
