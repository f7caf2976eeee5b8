//! An inference engine in one version: what it can express and what it does by default.

use crate::toml_file::TomlError;
use crate::{catalog, toml_file};
use serde::Deserialize;

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
    /// TensorRT-LLM.
    TensorrtLlm,
    /// llama.cpp.
    LlamaCpp,
    /// junto's own engine.
    Native,
}

/// One engine in one version.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineProfile {
    /// Name in the catalog, e.g. `sglang-0.5.11`.
    pub name: String,
    /// Which engine.
    pub family: Family,
    /// Its version.
    pub version: String,
    /// What it can express.
    pub can: Capabilities,
    /// What it does unless told otherwise.
    pub defaults: Defaults,
}

/// Layout axes and features of an engine version.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each read by its name")]
pub struct Capabilities {
    /// Pipeline stages.
    pub pipeline: bool,
    /// Experts cut by both `ep` and `moe_tp`.
    pub hybrid_ep: bool,
    /// Attention data parallelism inside a stage.
    pub attention_dp: bool,
    /// Decode context parallelism.
    pub dcp: bool,
    /// CUDA graphs for decode.
    pub cuda_graphs: bool,
    /// CPU work hidden behind the GPU's (overlap or async scheduling).
    pub overlap_schedule: bool,
}

/// How the engine turns its memory fraction into a KV budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRule {
    /// SGLang: weights and KV get `fraction` of the memory free before load; the rest is workspace.
    FractionOfFree,
    /// vLLM: everything gets `fraction` of the total memory, activations profiled.
    FractionOfTotal,
    /// TensorRT-LLM: KV gets `fraction` of the memory free after load.
    FractionAfterLoad,
    /// KV is what the context asks for (llama.cpp, native).
    AsAsked,
}

/// What an engine does unless told otherwise.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// How the memory fraction is meant.
    pub memory_rule: MemoryRule,
    /// The fraction.
    pub memory_fraction: f64,
    /// Longest prefill chunk, tokens.
    pub chunked_prefill: u32,
    /// Most requests running at once.
    pub max_running: u32,
    /// Largest batch with a captured decode graph.
    pub cuda_graph_max_bs: u32,
    /// Whether its own all-reduce kernel is used on PCIe boxes with more than two GPUs.
    pub custom_all_reduce_on_pcie: bool,
    /// Largest payload of its own all-reduce kernel, bytes.
    pub custom_all_reduce_max_bytes: u64,
    /// Share of the output length reserved at admission (SGLang `new_token_ratio`); `None`: blocks
    /// are taken as they are needed.
    pub new_token_ratio: Option<f64>,
}

/// Why an engine profile could not be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum EngineError {
    #[error(transparent)]
    Toml(#[from] TomlError),
    #[error("no engine of the catalog is called `{name}`")]
    UnknownEngine { name: String, near: Option<String> },
    #[error("{file}: {field} is {value}, but must be above 0 and at most {most}")]
    OutOfRange { file: String, field: &'static str, value: f64, most: f64 },
}

impl EngineError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Toml(error) => error.hint(),
            Self::UnknownEngine { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::UnknownEngine { .. } => {
                Some(format!("the catalog has {}", EngineProfile::names().join(", ")))
            }
            Self::OutOfRange { .. } => None,
        }
    }
}

/// A profile as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    family: Family,
    version: String,
    can: Capabilities,
    defaults: Defaults,
}

impl EngineProfile {
    /// A profile of the catalog, e.g. `sglang-0.5.11`.
    pub fn catalog(name: &str) -> Result<Self, EngineError> {
        let Some(text) = catalog::text("engines", name, "toml") else {
            let near = toml_file::nearest(name, Self::names().into_iter());
            return Err(EngineError::UnknownEngine { name: name.to_owned(), near });
        };
        Self::from_toml(text, name)
    }

    /// Every name that [`EngineProfile::catalog`] knows.
    pub fn names() -> Vec<&'static str> {
        catalog::names("engines")
    }

    /// A profile from the text of a file called `name`.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, EngineError> {
        let RawProfile { family, version, can, defaults } = toml_file::parse(text, name)?;
        let in_range = |field, value: f64, most| {
            let file = name.to_owned();
            let fits = 0.0 < value && value <= most;
            if fits { Ok(()) } else { Err(EngineError::OutOfRange { file, field, value, most }) }
        };
        in_range("defaults.memory_fraction", defaults.memory_fraction, 1.0)?;
        in_range("defaults.chunked_prefill", f64::from(defaults.chunked_prefill), 1e7)?;
        in_range("defaults.max_running", f64::from(defaults.max_running), 1e7)?;
        if let Some(ratio) = defaults.new_token_ratio {
            in_range("defaults.new_token_ratio", ratio, 1.0)?;
        }
        Ok(Self { name: name.to_owned(), family, version, can, defaults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_of_the_catalog_reads() {
        for name in EngineProfile::names() {
            let profile = EngineProfile::catalog(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(
                name.contains(profile.version.trim_end_matches(".0")) || name.len() < 10,
                "{name}"
            );
        }
    }

    #[test]
    fn what_the_engines_differ_in() {
        let can = |name| EngineProfile::catalog(name).unwrap().can;
        assert!(can("sglang-0.5.11").hybrid_ep && !can("sglang-0.5.11").dcp);
        assert!(can("sglang-0.5.23").dcp);
        assert!(!can("vllm-0.33").hybrid_ep && can("vllm-0.33").dcp);
    }

    #[test]
    fn a_mistake_is_named() {
        let text = catalog::text("engines", "native", "toml").unwrap();
        let refusal = |from, to| {
            let error =
                EngineProfile::from_toml(&text.replacen(from, to, 1), "native").unwrap_err();
            format!("{error}; {}", error.hint().unwrap_or_default())
        };
        insta::assert_snapshot!(refusal("fraction = 1.0", "fraction = 1.1"), @"native: defaults.memory_fraction is 1.1, but must be above 0 and at most 1;");
        insta::assert_snapshot!(refusal("hybrid_ep", "hybrid_eq"), @"native, line 7: unknown key `hybrid_eq`; did you mean `hybrid_ep`?");
        insta::assert_snapshot!(EngineProfile::catalog("sglang-0.5.12").unwrap_err().hint().unwrap(), @"did you mean `sglang-0.5.11`?");
    }
}
