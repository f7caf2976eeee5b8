//! An inference engine in one version: what it can express and what it does by default.

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
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
