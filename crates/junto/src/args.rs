//! Arguments as they are typed. `question.rs` says what they mean.

use clap::{Args, Parser, Subcommand};

const AFTER: &str = "Exit codes: 0 done; 1 done, and the answer is no (nothing fits, a service level is missed); \
2 bad usage or bad input; 70 a bug in junto.";

/// Finds the parallel layout that serves a mixture-of-experts model best on given GPUs.
#[derive(Debug, Parser)]
#[command(name = "junto", version, after_help = AFTER, max_term_width = 100)]
pub(crate) struct Typed {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Rank every layout: memory, throughput and latency, or why it will not run
    Plan(PlanArgs),
    /// Compare two layouts, term by term
    Why(WhyArgs),
    /// List the models of the catalog
    Models(ListArgs),
    /// List the machines of the catalog
    Machines(ListArgs),
    /// The machine under us
    #[command(subcommand)]
    Machine(MachineCommand),
}

/// What `plan` and `why` have in common.
#[derive(Debug, Args)]
pub(crate) struct CaseArgs {
    /// A name of `junto models`, a config.json, its directory, or a Hugging Face repo org/name
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Weights in another format: bf16, fp8, int4, awq, mxfp4 or nvfp4
    #[arg(long, value_name = "FORMAT")]
    pub(crate) quant: Option<String>,
    /// A name of `junto machines`, or a TOML file; the machine under us unless given
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// An engine, with its version or without: sglang-0.5.11, vllm; or a TOML file
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// Mean prompt tokens of a request
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true, default_value = "1024")]
    pub(crate) input_len: String,
    /// Mean generated tokens of a request
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true, default_value = "1024")]
    pub(crate) output_len: String,
    /// Set an option of the run, e.g. `kv_dtype=fp8` (keys as for --what-if)
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) set: Vec<String>,
    /// Most requests running at once
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) max_running: Option<String>,
    /// The engine's memory fraction
    #[arg(long, value_name = "0..1", allow_hyphen_values = true)]
    pub(crate) memory_fraction: Option<String>,
    /// Most tokens of one request, prompt and output
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) context_length: Option<String>,
    /// Longest prefill chunk
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) chunked_prefill: Option<String>,
    /// Constants of the cost model from a file instead of the catalog
    #[arg(long, value_name = "FILE")]
    pub(crate) constants: Option<String>,
    /// Calibrate the model with a few points that you measured on this machine, a JSON file:
    /// `[{"layout": "tp8", "concurrency": 1, "input_len": 1024, "output_len": 1024,
    /// "output_tok_s": 65.3}, ...]`, or with `tpot_ms`
    #[arg(long, value_name = "FILE")]
    pub(crate) calibrate: Option<String>,
    /// Write the calibrated constants to a file, for --constants
    #[arg(long, value_name = "FILE", requires = "calibrate")]
    pub(crate) save_constants: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) case: CaseArgs,
    /// Requests in the system at once
    #[arg(long, value_name = "C,...", allow_hyphen_values = true, default_value = "1,64")]
    pub(crate) concurrency: String,
    /// Only these layouts, e.g. tp8,tp8+ep4,2x tp4
    #[arg(long, value_name = "LAYOUT,...")]
    pub(crate) layouts: Option<String>,
    /// Service levels to meet on the mean, e.g. ttft=2s,tpot=50ms
    #[arg(long, value_name = "METRIC=TIME,...")]
    pub(crate) slo: Vec<String>,
    /// What would change with other options, e.g. `cuda_graphs=off`; with commas, all of them at once
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) what_if: Vec<String>,
    /// Show every layout, not only the best, and every refusal
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A layout, with options of its own after an @: `tp8`, `tp8@cuda_graphs=off`
    #[arg(value_name = "LAYOUT")]
    pub(crate) a: String,
    /// The layout to compare it with
    #[arg(value_name = "LAYOUT")]
    pub(crate) b: String,
    #[command(flatten)]
    pub(crate) case: CaseArgs,
    /// Requests in the system at once
    #[arg(long, value_name = "C", allow_hyphen_values = true, default_value = "1")]
    pub(crate) concurrency: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// Print the machine under us as a machine file
    Detect(DetectArgs),
}

/// Figures that no driver tells.
#[derive(Debug, Args)]
pub(crate) struct DetectArgs {
    /// Memory bandwidth of one GPU or core
    #[arg(long, value_name = "GB/s", allow_hyphen_values = true)]
    pub(crate) memory_bandwidth: Option<String>,
    /// Dense bf16 rate of one GPU or core
    #[arg(long, value_name = "TFLOP/s", allow_hyphen_values = true)]
    pub(crate) bf16: Option<String>,
    /// Last-level cache of one GPU or core
    #[arg(long, value_name = "MiB", allow_hyphen_values = true)]
    pub(crate) l2: Option<String>,
    /// NVLink bandwidth of one GPU, one way
    #[arg(long, value_name = "GB/s", allow_hyphen_values = true)]
    pub(crate) nvlink: Option<String>,
}
