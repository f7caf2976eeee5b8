//! From a row to a case that the planner can predict, or the reason why it cannot.

use super::row::Row;
use super::score::{Pair, Scored};
use junto_plan::calibrate::Known;
use junto_plan::case as planner;
use junto_plan::constants::Constants;
use junto_plan::cost::comm::Prepared;
use junto_plan::cost::work::ModelWork;
use junto_plan::memory::Memory;
use junto_plan::memory::model_bytes::ModelBytes;
use junto_plan::memory::slots::slots;
use junto_plan::options::{AllReduce, Graphs, Options, Speculation};
use junto_plan::steady::Load;
use junto_spec::catalog;
use junto_spec::engine::{EngineProfile, Family};
use junto_spec::format::KvFormat;
use junto_spec::layout::{Layout, Sizes};
use junto_spec::machine::MachineSpec;
use junto_spec::model::{ModelSpec, Quantization};
use junto_spec::workload::Workload;
use serde_json::Value;

/// Everything that the planner needs to predict a row.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// The row's name.
    pub id: String,
    /// Its campaign.
    pub group: String,
    /// The catalog model, with the row's quantisation, prepared.
    pub work: ModelWork<'static>,
    /// The machine.
    pub machine: MachineSpec,
    /// The engine.
    pub engine: EngineProfile,
    /// The layout, prepared.
    pub prepared: Prepared,
    /// Options of the run.
    pub options: Options,
    /// The load.
    pub load: Load,
    /// Requests that one replica keeps running at most.
    pub slots: f64,
    /// Measured output tokens a second.
    pub output_tok_s: Option<f64>,
    /// Measured mean (or, where that is all, median) time per output token, ms.
    pub tpot_ms: Option<f64>,
    /// Measured mean time to first token, ms.
    pub ttft_ms: Option<f64>,
}

/// Draft tokens where a source names EAGLE or MTP but no count: SGLang's and vLLM's usual three.
const USUAL_DRAFT_TOKENS: u32 = 3;
/// Share of draft tokens accepted by the Kimi EAGLE3 draft (rtx6kpro, k26-v4: "accept ~0.39").
const EAGLE3_ACCEPTANCE: f64 = 0.39;

impl Case {
    /// As a point for calibration and prediction.
    pub(super) fn known(&self) -> Known<'_> {
        Known {
            work: &self.work,
            machine: &self.machine,
            engine: &self.engine,
            prepared: &self.prepared,
            options: &self.options,
            load: self.load,
            slots: self.slots,
            output_tok_s: self.output_tok_s,
            tpot_ms: self.tpot_ms,
        }
    }

    /// The model family: the model's name up to its size or version.
    pub(super) fn family(&self) -> String {
        let name = &self.work.spec.name;
        let parts = name.split('-').take_while(|part| !part.ends_with('b') || part.len() > 5);
        let family: Vec<&str> = parts.take(2).collect();
        format!("family {}", family.join("-"))
    }

    /// Predicts the case and puts the figures beside the measured ones.
    pub(super) fn score(&self, constants: &Constants) -> Scored {
        let steady = self.known().predict(constants);
        let pair = |predicted: f64, measured: Option<f64>| {
            measured.map(|measured| Pair { predicted, measured })
        };
        Scored {
            output_tok_s: pair(steady.output_tok_s, self.output_tok_s),
            tpot_ms: pair(steady.tpot.ms(), self.tpot_ms),
            ttft_ms: pair(steady.ttft.ms(), self.ttft_ms),
        }
    }

    /// Reads a row, or says why it cannot be predicted.
    pub(super) fn from_row(row: &Row) -> Result<Self, String> {
        if row.layout.disagg.is_some() {
            return Err("disaggregated prefill or decode".to_string());
        }
        let metrics = &row.metrics;
        let tpot_ms = metrics.tpot_ms_mean.or(metrics.tpot_ms_median);
        if metrics.output_tok_s.is_none() && tpot_ms.is_none() {
            return Err("neither output throughput nor TPOT was measured".to_string());
        }
        if text(Some(&row.id)).contains("eplb") || text(row.notes.as_ref()).contains("eplb") {
            return Err("experts were moved during the run (EPLB)".to_string());
        }
        let n_gpus = row.n_gpus.ok_or("number of GPUs not stated")?;
        let mut engine = engine(row)?;
        if row.cuda_graphs == Some(true) {
            // The source says that its batches were captured, whatever the engine's default limit.
            engine.defaults.cuda_graph_max_bs = u32::MAX;
        }
        let layout = layout(row, engine.family, n_gpus)?;
        let load = load(row)?;
        let options = options(row)?;
        // A few hundred models, once a run.
        let model: &'static ModelSpec = Box::leak(Box::new(model(row)?));
        let machine = machine(row, n_gpus)?;
        let bytes = ModelBytes::new(model, engine.family);
        let case = planner::Case {
            model,
            bytes: &bytes,
            machine: &machine,
            engine: &engine,
            layout: &layout,
            options: &options,
        };
        let prepared = Prepared::new(&case);
        let slots = running_limit(&case, &load);
        Ok(Self {
            id: row.id.clone(),
            group: row.comparable_group.clone(),
            work: ModelWork::new(model, 0.0),
            prepared,
            machine,
            engine,
            options,
            load,
            slots,
            output_tok_s: metrics.output_tok_s,
            tpot_ms,
            ttft_ms: metrics.ttft_ms_mean,
        })
    }
}

fn text(value: Option<&String>) -> String {
    value.map(|text| text.to_lowercase()).unwrap_or_default()
}

fn model(row: &Row) -> Result<ModelSpec, String> {
    let wanted = row.model.to_lowercase().replace(' ', "-");
    let name = catalog::names("models")
        .into_iter()
        .filter(|name| wanted.starts_with(name))
        .max_by_key(|name| name.len())
        .ok_or_else(|| format!("model {:?} is not in the catalog", row.model))?;
    let mut model = ModelSpec::catalog(name).map_err(|error| error.to_string())?;
    let quant = text(row.quant.as_ref());
    let own = quant.is_empty() || quant.contains("native") || quant.contains("not stated");
    if quant.contains(" or ") {
        return Err(format!("quantisation {quant:?} is not stated"));
    }
    if !own {
        let name = ["nvfp4", "mxfp4", "awq", "int4", "fp8", "bf16"]
            .into_iter()
            .find(|name| quant.contains(name))
            .ok_or_else(|| format!("quantisation {quant:?} is not known"))?;
        if name != model.quantization.method && !(name == "int4" && quant.contains("gptq")) {
            model.quantization = Quantization::named(name).map_err(|error| error.to_string())?;
        }
        if name == "int4" {
            model.quantization = Quantization::named("awq").map_err(|error| error.to_string())?;
        }
    }
    Ok(model)
}

fn machine(row: &Row, n_gpus: u32) -> Result<MachineSpec, String> {
    let gpu = text(row.gpu.as_ref());
    let links = text(row.interconnect.as_ref()) + &text(row.layout.comm.as_ref());
    let kinds = [
        ("rtx pro 6000", "rtx-pro-6000"),
        ("gb200", "gb200"),
        ("gb300", "gb300"),
        ("b200", "b200"),
        ("b300", "b300"),
        ("h200", "h200"),
        ("h100", "h100"),
        ("h800", "h800"),
        ("h20", "h20"),
        ("a100", "a100"),
        ("l40s", "l40s"),
        ("4090", "4090"),
        ("3090", "3090"),
        ("5090", "5090"),
        ("mi300x", "mi300x"),
        ("mi350x", "mi350x"),
        ("gb10", "gb10"),
    ];
    let kind = kinds
        .iter()
        .find(|(key, _)| gpu.contains(key))
        .map(|(_, kind)| *kind)
        .ok_or_else(|| format!("GPU {gpu:?} is not in the catalog"))?;
    let mut name = format!("{n_gpus}x-{kind}");
    if kind == "rtx-pro-6000" {
        // The longest variant whose words the source uses.
        if links.contains("no p2p")
            || (links.contains("no forced p2p") && links.contains("custom ar on"))
        {
            name += "-no-p2p";
        } else if links.contains("turin") || links.contains("p2p") {
            name += "-dual-turin";
        } else if links.contains("switch") {
            name += "-switched";
        }
    } else if kind == "h100" && links.contains("not stated (no infiniband") {
        name += "-ethernet";
    }
    MachineSpec::catalog(&name)
        .or_else(|_| MachineSpec::catalog(&format!("{n_gpus}x-{kind}")))
        .map_err(|error| error.to_string())
}

fn engine(row: &Row) -> Result<EngineProfile, String> {
    let engine = text(row.engine.as_ref());
    let version = text(row.engine_version.as_ref());
    let name = match engine.as_str() {
        // Releases before 0.5.10 (2025, first 2026 builds); nightlies and branches of 2026 after.
        "sglang" if old_sglang(&version) => "sglang-0.5.6",
        "sglang" => "sglang-0.5.11",
        // The V1 engine of 2025; builds of 2026 after.
        "vllm" if !row.source_date.as_deref().is_some_and(|date| date.starts_with("2026")) => {
            "vllm-0.10"
        }
        "vllm" => "vllm-0.33",
        "tensorrt-llm" if version.starts_with("1.0") => "tensorrt-llm-1.0",
        "tensorrt-llm" => "tensorrt-llm-1.2",
        "llama.cpp" | "ik_llama.cpp" => "llama.cpp",
        "" => return Err("engine not stated".to_string()),
        other => return Err(format!("engine {other:?} is not in the catalog")),
    };
    EngineProfile::catalog(name).map_err(|error| error.to_string())
}

/// Whether a version text names a release before 0.5.10.
fn old_sglang(version: &str) -> bool {
    let Some(release) = version.split("0.").nth(1) else { return false };
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(minor)), Some(Ok(patch))) => minor < 5 || minor == 5 && patch < 10,
        (Some(Ok(minor)), _) => minor < 5,
        _ => false,
    }
}

/// The engines' own names: SGLang's and TensorRT-LLM's `tp` is the width of a stage, inside which
/// attention may be data-parallel; vLLM's `dp` multiplies it.
fn layout(row: &Row, family: Family, n_gpus: u32) -> Result<Layout, String> {
    let sizes = &row.layout;
    let (tp, pp) = (sizes.tp.unwrap_or(1), sizes.pp.unwrap_or(1));
    let ep = sizes.ep.unwrap_or(1);
    let dp = match (family, sizes.dp_attention) {
        // The option files of TensorRT-LLM 1.0's MoE runs have attention DP on (row notes).
        (Family::TensorrtLlm, Some(true) | None) => tp,
        (_, Some(true)) => sizes.dp.unwrap_or(1).max(1),
        _ => 1,
    };
    let inside = matches!(family, Family::Sglang | Family::TensorrtLlm) && tp.is_multiple_of(dp);
    let plain = if dp == 1 { sizes.dp.unwrap_or(1) } else { 1 };
    let tp = if inside { tp / dp } else { tp };
    let (dp, replicas) = if family == Family::Vllm { (dp * plain, 1) } else { (dp, plain) };
    let dcp = sizes.dcp.unwrap_or(1);
    let layout =
        Layout::new(Sizes { pp, tp, dp, ep, dcp, replicas }).map_err(|error| error.to_string())?;
    if layout.gpus() != n_gpus {
        return Err(format!("layout {layout} is of {} GPUs, the row of {n_gpus}", layout.gpus()));
    }
    Ok(layout)
}

/// Requests that the server can keep running. A row that was measured ran, so a layout that the
/// planner would not fit gets one.
fn running_limit(case: &planner::Case<'_>, load: &Load) -> f64 {
    let output_len = load.output_len.unwrap_or(0.0);
    let workload = Workload { input_len: load.input_len, output_len };
    slots(case, &Memory::of(case), &workload).requests.max(1.0)
}

fn load(row: &Row) -> Result<Load, String> {
    let notes = text(row.notes.as_ref());
    let input_len = match &row.input_len {
        Value::Number(number) => number.as_f64().unwrap_or(0.0),
        // The seeds' five questions, "<50 tok".
        Value::String(text) if text.starts_with("short prompts") => 40.0,
        other => return Err(format!("input length {other} is no number")),
    };
    let output_len = match &row.output_len {
        // llama-bench times the decode alone, behind a context of `input_len`.
        Value::Number(number) if row.engine.as_deref() != Some("llama.cpp") => {
            Some(number.as_f64().unwrap_or(1.0))
        }
        Value::Number(number) => number.as_f64().filter(|tokens| *tokens <= 1.0),
        Value::Null if notes.contains("decode") || decodes_only(row) => None,
        Value::Null => return Err("output length not stated".to_string()),
        other => return Err(format!("output length {other} is no number")),
    };
    if output_len.is_some_and(|tokens| tokens <= 1.0) {
        return Err("prefill only".to_string());
    }
    let concurrency = match &row.concurrency {
        Value::Number(number) => number.as_f64().unwrap_or(1.0),
        Value::String(text) if text.starts_with("max throughput") => {
            row.n_requests.ok_or("number of requests not stated")?
        }
        other => return Err(format!("concurrency {other} is no number")),
    };
    if !row.request_rate.is_null() && row.engine.as_deref() != Some("vllm") {
        return Err("open loop".to_string());
    }
    Ok(Load { concurrency, input_len, output_len, requests: row.n_requests })
}

/// Figures of the rtx6kpro lab are of decode alone, from the server's counters, behind a context of
/// `input_len` (the README of the data).
fn decodes_only(row: &Row) -> bool {
    row.comparable_group.starts_with("rtx6kpro-")
}

fn options(row: &Row) -> Result<Options, String> {
    let notes = text(row.notes.as_ref());
    let mut options = Options::default();
    if notes.contains("kv fp8") || row.comparable_group.starts_with("rtx6kpro-k26") {
        options.kv = KvFormat::Fp8;
    }
    let eager =
        row.cuda_graphs == Some(false) || notes.contains("very probably without cuda graphs");
    options.graphs = if eager { Graphs::Off } else { Graphs::On };
    let comm = text(row.layout.comm.as_ref()) + &text(row.interconnect.as_ref());
    let peerless = comm.contains("custom ar on") && comm.contains("no forced p2p");
    // An engine's kernel over peer memory that is not there goes through the host, as NCCL does.
    if peerless
        || comm.contains("pure nccl")
        || comm.contains("custom ar off")
        || comm.contains("all-reduce=nccl")
    {
        options.all_reduce = AllReduce::Nccl;
    } else if comm.contains("oneshot") || comm.contains("custom ar") {
        options.all_reduce = AllReduce::OneShot;
    }
    if notes.contains("override to 64") {
        options.micro_batch = Some(64);
    }
    if notes.contains("max-running-requests 64") || notes.contains("max-running 64") {
        options.max_running = Some(64);
    }
    if notes.contains("mem fraction 0.88") {
        options.memory_fraction = Some(0.88);
    }
    options.speculation = speculation(row)?;
    if options.speculation.is_some() && row.engine.as_deref() == Some("sglang") {
        // SGLang server_args: 48 running requests with speculative decoding unless told otherwise.
        options.max_running = options.max_running.or(Some(48));
    }
    let quant = text(row.quant.as_ref());
    if row.engine.as_deref() == Some("tensorrt-llm")
        && (quant.contains("fp8") || quant.contains("nvfp4"))
    {
        // NVIDIA's FP8 and NVFP4 checkpoints carry kv_cache_quant_algo FP8.
        options.kv = KvFormat::Fp8;
    }
    if notes.contains("max-num-seqs 1") {
        options.max_running = Some(1);
    }
    Ok(options)
}

fn speculation(row: &Row) -> Result<Option<Speculation>, String> {
    let text = text(row.spec_decode.as_ref());
    if text.is_empty() || text.contains("launch shows none") && !text.contains("accept length") {
        return Ok(None);
    }
    let number_after = |key: &str| {
        let rest = &text[text.find(key)? + key.len()..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].trim_end_matches('.').parse::<f64>().ok()
    };
    let draft_tokens =
        if text.contains('2') && text.contains("mtp 2") { 2 } else { USUAL_DRAFT_TOKENS };
    let acceptance_length = number_after("accept length ")
        .or_else(|| {
            text.contains("eagle3").then(|| 1.0 + EAGLE3_ACCEPTANCE * f64::from(draft_tokens))
        })
        .ok_or_else(|| format!("acceptance length of {text:?} not stated"))?;
    Ok(Some(Speculation { draft_tokens, acceptance_length }))
}
