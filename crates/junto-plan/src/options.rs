//! What a person may change between two otherwise equal runs: the what-ifs.

use junto_spec::format::KvFormat;

/// Whether decode steps replay captured CUDA graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Graphs {
    /// Captured and replayed up to the engine's largest captured batch.
    On,
    /// Every kernel is issued by the host.
    Off,
}

/// Which all-reduce runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllReduce {
    /// The engine's own choice.
    Auto,
    /// NCCL always.
    Nccl,
    /// The engine's own kernel wherever its size limit allows.
    OneShot,
}

/// How tokens reach the experts of other data-parallel groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// All-gather before, reduce-scatter after (no all-to-all backend).
    GatherScatter,
    /// Dispatch and combine by all-to-all (DeepEP and its like).
    AllToAll,
}

/// How experts are placed on ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// By number.
    Contiguous,
    /// By load (EPLB), without redundant experts.
    Balanced,
}

/// Speculative decoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speculation {
    /// Draft tokens per step.
    pub draft_tokens: u32,
    /// Mean tokens accepted per step, the bonus token included; between 1 and `draft_tokens + 1`.
    pub acceptance_length: f64,
}

/// Everything about a run that is neither model, machine, engine, layout nor load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// KV cache format.
    pub kv: KvFormat,
    /// CUDA graphs.
    pub graphs: Graphs,
    /// All-reduce choice.
    pub all_reduce: AllReduce,
    /// Expert exchange under data-parallel attention.
    pub exchange: Exchange,
    /// Expert placement.
    pub placement: Placement,
    /// Memory fraction; `None`: the engine's default.
    pub memory_fraction: Option<f64>,
    /// Most running requests of a replica, all its attention groups together; `None`: the engine's
    /// default.
    pub max_running: Option<u32>,
    /// Most tokens of a request, prompt and output; `None`: what the model was made for.
    pub max_context: Option<u32>,
    /// Longest prefill chunk; `None`: the engine's default.
    pub chunked_prefill: Option<u32>,
    /// Most requests of a pipeline micro-batch; `None`: spread evenly over the stages.
    pub micro_batch: Option<u32>,
    /// Speculative decoding.
    pub speculation: Option<Speculation>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kv: KvFormat::Bf16,
            graphs: Graphs::On,
            all_reduce: AllReduce::Auto,
            exchange: Exchange::GatherScatter,
            placement: Placement::Contiguous,
            memory_fraction: None,
            max_running: None,
            max_context: None,
            chunked_prefill: None,
            micro_batch: None,
            speculation: None,
        }
    }
}
