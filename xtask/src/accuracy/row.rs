//! One published measurement, as a line of a `measurements.jsonl` file has it.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// A row of the file. Fields that sources write in several ways stay `Value`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Row {
    /// Unique name.
    pub id: String,
    /// Model as the source names it.
    pub model: String,
    /// Quantisation as the source names it.
    pub quant: Option<String>,
    /// GPU as the source names it.
    pub gpu: Option<String>,
    /// GPUs used.
    pub n_gpus: Option<u32>,
    /// Links, free text.
    pub interconnect: Option<String>,
    /// Engine.
    pub engine: Option<String>,
    /// Engine version, free text.
    pub engine_version: Option<String>,
    /// When the source appeared, as far as it says.
    pub source_date: Option<String>,
    /// Sizes by the engine's own names.
    pub layout: RowLayout,
    /// Whether CUDA graphs were on; `None`: not stated.
    pub cuda_graphs: Option<bool>,
    /// Speculative decoding, free text.
    pub spec_decode: Option<String>,
    /// Mean prompt tokens, or text.
    pub input_len: Value,
    /// Mean generated tokens, or text.
    pub output_len: Value,
    /// Clients, or text.
    pub concurrency: Value,
    /// Requests a second of an open loop.
    pub request_rate: Value,
    /// Requests of the run.
    pub n_requests: Option<f64>,
    /// What was measured.
    pub metrics: Metrics,
    /// The campaign that the row belongs to.
    pub comparable_group: String,
    /// `high`, `medium` or `low`.
    pub reliability: String,
    /// Caveats, free text.
    pub notes: Option<String>,
}

/// Sizes by the engine's own names.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RowLayout {
    /// Tensor-parallel width (SGLang, TensorRT-LLM: the width of a stage).
    pub tp: Option<u32>,
    /// Pipeline stages.
    pub pp: Option<u32>,
    /// Expert-parallel groups.
    pub ep: Option<u32>,
    /// Data-parallel groups.
    pub dp: Option<u32>,
    /// Whether attention is data-parallel.
    pub dp_attention: Option<bool>,
    /// Decode context parallelism.
    pub dcp: Option<u32>,
    /// Communication stack, free text.
    pub comm: Option<String>,
    /// Disaggregated role.
    pub disagg: Option<String>,
}

/// What was measured.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Metrics {
    /// Output tokens a second, all users.
    pub output_tok_s: Option<f64>,
    /// Mean time per output token, ms.
    pub tpot_ms_mean: Option<f64>,
    /// Median time per output token, ms.
    pub tpot_ms_median: Option<f64>,
    /// Mean time to first token, ms.
    pub ttft_ms_mean: Option<f64>,
    /// Output tokens a second of one user.
    pub per_user_tok_s: Option<f64>,
}

/// Reads a file of one row a line.
pub(super) fn read(text: &str) -> Result<Vec<Row>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).with_context(|| format!("line {}", index + 1))
        })
        .collect()
}

/// Drops rows that repeat another's measurement: the same figures at the same load on the same GPUs,
/// whatever the model is called. Returns the kept rows and the number dropped.
pub(super) fn deduplicate(rows: Vec<Row>) -> (Vec<Row>, usize) {
    let mut seen = std::collections::HashSet::new();
    let before = rows.len();
    let kept: Vec<Row> = rows
        .into_iter()
        .filter(|row| {
            let m = &row.metrics;
            let figures = [m.output_tok_s, m.tpot_ms_mean, m.ttft_ms_mean, m.per_user_tok_s];
            let key = format!(
                "{:?} {:?} {:?} {} {} {} {:?} {:?}",
                row.gpu,
                row.n_gpus,
                row.engine,
                row.input_len,
                row.output_len,
                row.concurrency,
                row.layout,
                figures
            );
            seen.insert(key)
        })
        .collect();
    let dropped = before - kept.len();
    (kept, dropped)
}
