//! The JSON that `--json` prints. Fields are added, never renamed or removed.

use crate::basis::Basis;
use crate::plan::Answer;
use crate::plan::promise;
use crate::plan::ranked::kv_tokens;
use crate::plan::what_if::Changed;
use crate::why::Comparison;
use junto_plan::memory::Memory;
use junto_plan::refusal::Refusal;
use junto_plan::search::{Candidate, Plan, Question, Uncertainty};
use junto_plan::slo::{Carried, Slo};
use junto_plan::steady::Steady;
use junto_plan::whatif;
use junto_plan::why::{Cause, Delta, Share};
use junto_spec::source::Source;
use junto_spec::units::{Bytes, Seconds};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Grows when a field changes its meaning.
const FORMAT_VERSION: u32 = 1;

/// Writes a value and a line end.
pub(crate) fn write(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// What `junto plan --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct PlanJson {
    format_version: u32,
    model: String,
    machine: String,
    engine: String,
    workload: WorkloadJson,
    options: BTreeMap<&'static str, String>,
    uncertainty: UncertaintyJson,
    ranked: Vec<CandidateJson>,
    refused: Vec<RefusalJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slo: Option<SloJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    what_if: Vec<WhatIfJson>,
}

/// 90 % of measured values lie between the figure divided by the factor and times it.
#[derive(Debug, Serialize)]
struct UncertaintyJson {
    /// Of a speed.
    speed_factor: f64,
    /// Of the ratio of two layouts' speeds: what is nearer is tied.
    ratio_factor: f64,
    /// Campaigns of this engine on this GPU generation that the constants have seen.
    campaigns: Option<usize>,
    /// Points of the user that they were calibrated with.
    calibration_points: Option<usize>,
}

#[derive(Debug, Serialize)]
struct SloJson {
    ttft_ms: Option<f64>,
    tpot_ms: Option<f64>,
    e2el_ms: Option<f64>,
    kept: bool,
    layouts: Vec<CarriedJson>,
}

#[derive(Debug, Serialize)]
struct CarriedJson {
    layout: String,
    kept: bool,
    point: PointJson,
}

#[derive(Debug, Serialize)]
struct WhatIfJson {
    change: String,
    ranked: Vec<CandidateJson>,
    refused: Vec<RefusalJson>,
}

#[derive(Debug, Serialize)]
struct WorkloadJson {
    input_len: f64,
    output_len: f64,
    concurrency: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct CandidateJson {
    layout: String,
    /// Whether only a measurement tells it from the best; in a comparison that is said of the pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    tied: Option<bool>,
    gpus: u32,
    max_running: f64,
    memory: MemoryJson,
    points: Vec<PointJson>,
}

#[derive(Debug, Serialize)]
struct MemoryJson {
    weights_gib: f64,
    kv_gib: f64,
    kv_tokens: f64,
    activations_gib: f64,
    graphs_gib: f64,
    communication_gib: f64,
    card_gib: f64,
}

/// A layout at a concurrency.
#[derive(Debug, Serialize)]
pub(crate) struct PointJson {
    concurrency: f64,
    running: f64,
    output_tok_s: f64,
    total_tok_s: f64,
    ttft_ms: f64,
    tpot_ms: f64,
    /// Between which 90 % of measured values lie.
    band: BandJson,
    source: Option<Source>,
    terms: Vec<TermJson>,
}

#[derive(Debug, Serialize)]
struct BandJson {
    output_tok_s: RangeJson,
    tpot_ms: RangeJson,
}

#[derive(Debug, Serialize)]
struct RangeJson {
    low: f64,
    high: f64,
}

#[derive(Debug, Serialize)]
struct TermJson {
    name: &'static str,
    ms: f64,
    bound: &'static str,
    source: Source,
}

#[derive(Debug, Serialize)]
struct RefusalJson {
    layout: String,
    rule: &'static str,
    when: String,
    reason: String,
    hint: Option<String>,
    lacking_gib: Option<f64>,
}

/// What `junto why --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct WhyJson {
    format_version: u32,
    model: String,
    machine: String,
    engine: String,
    workload: WorkloadJson,
    uncertainty: UncertaintyJson,
    /// Whether the difference is too small to trust.
    tied: bool,
    sides: Vec<SideJson>,
    deltas: Vec<DeltaJson>,
    shares: Option<Vec<ShareJson>>,
}

#[derive(Debug, Serialize)]
struct SideJson {
    name: String,
    #[serde(flatten)]
    run: CandidateJson,
}

#[derive(Debug, Serialize)]
struct DeltaJson {
    name: &'static str,
    ms: [f64; 2],
    delta_ms: f64,
}

#[derive(Debug, Serialize)]
struct ShareJson {
    cause: String,
    delta_ms: f64,
}

impl WhyJson {
    /// Of a comparison.
    pub(crate) fn new(question: &Question, basis: Basis, comparison: &Comparison) -> Self {
        let speed = question.uncertainty.speed;
        let sides = comparison.names.iter().zip(&comparison.runs);
        let side = |(name, run): (&String, &Candidate)| SideJson {
            name: name.clone(),
            run: CandidateJson { tied: None, ..CandidateJson::new(run, speed) },
        };
        let delta = |delta: &Delta| DeltaJson {
            name: delta.term.name(),
            ms: [delta.a.time.ms(), delta.b.time.ms()],
            delta_ms: delta.time().ms(),
        };
        let share = |share: &Share| ShareJson {
            cause: match share.cause {
                Cause::Option(change) => change.to_string(),
                Cause::Layout => "layout".to_owned(),
            },
            delta_ms: share.time.ms(),
        };
        let shares = comparison.shares.as_ref();
        Self {
            format_version: FORMAT_VERSION,
            model: question.model.name.clone(),
            machine: question.machine.name.clone(),
            engine: question.engine.name.clone(),
            workload: WorkloadJson::new(question),
            uncertainty: UncertaintyJson::new(&question.uncertainty, basis),
            tied: comparison.is_tied(),
            sides: sides.map(side).collect(),
            deltas: comparison.deltas.iter().map(delta).collect(),
            shares: shares.map(|shares| shares.iter().map(share).collect()),
        }
    }
}

impl WorkloadJson {
    fn new(question: &Question) -> Self {
        Self {
            input_len: question.workload.input_len,
            output_len: question.workload.output_len,
            concurrency: question.concurrency.clone(),
        }
    }
}

impl PlanJson {
    /// Of an answer.
    pub(crate) fn new(question: &Question, answer: &Answer) -> Self {
        let Answer { basis, plan, promise, what_ifs } = answer;
        let speed = question.uncertainty.speed;
        let options = whatif::settings(&question.options);
        let value = |change: &whatif::Change| {
            let text = change.to_string();
            (change.key(), text[change.key().len() + 1..].to_owned())
        };
        Self {
            format_version: FORMAT_VERSION,
            model: question.model.name.clone(),
            machine: question.machine.name.clone(),
            engine: question.engine.name.clone(),
            workload: WorkloadJson::new(question),
            options: options.iter().map(value).collect(),
            uncertainty: UncertaintyJson::new(&question.uncertainty, *basis),
            ranked: candidates(&plan.ranked, speed),
            refused: plan.refused.iter().map(RefusalJson::new).collect(),
            slo: promise.as_ref().map(|(slo, carried)| SloJson::new(slo, carried, speed)),
            what_if: what_ifs.iter().map(|changed| WhatIfJson::new(changed, speed)).collect(),
        }
    }
}

impl UncertaintyJson {
    fn new(uncertainty: &Uncertainty, basis: Basis) -> Self {
        let (campaigns, calibration_points) = match basis {
            Basis::Campaigns(campaigns) => (Some(campaigns), None),
            Basis::Points(points) => (None, Some(points)),
            Basis::File => (None, None),
        };
        Self {
            speed_factor: uncertainty.speed.exp(),
            ratio_factor: uncertainty.ratio.exp(),
            campaigns,
            calibration_points,
        }
    }
}

impl SloJson {
    fn new(slo: &Slo, carried: &[Carried], speed: f64) -> Self {
        let layout = |carried: &Carried| CarriedJson {
            layout: carried.layout.to_string(),
            kept: carried.strain <= 1.0,
            point: PointJson::new(&carried.point, speed),
        };
        Self {
            ttft_ms: slo.ttft.map(Seconds::ms),
            tpot_ms: slo.tpot.map(Seconds::ms),
            e2el_ms: slo.e2el.map(Seconds::ms),
            kept: promise::is_kept(carried),
            layouts: carried.iter().map(layout).collect(),
        }
    }
}

impl WhatIfJson {
    fn new(changed: &Changed, speed: f64) -> Self {
        let Plan { ranked, refused } = &changed.plan;
        Self {
            change: changed.name(),
            ranked: candidates(ranked, speed),
            refused: refused.iter().map(RefusalJson::new).collect(),
        }
    }
}

fn candidates(ranked: &[Candidate], speed: f64) -> Vec<CandidateJson> {
    ranked.iter().map(|candidate| CandidateJson::new(candidate, speed)).collect()
}

impl CandidateJson {
    /// `speed` is the half-width of a speed's band, in ln.
    fn new(candidate: &Candidate, speed: f64) -> Self {
        let point = |point| PointJson::new(point, speed);
        Self {
            layout: candidate.layout.to_string(),
            tied: Some(candidate.tied),
            gpus: candidate.layout.gpus(),
            max_running: candidate.slots,
            memory: MemoryJson::new(&candidate.memory, kv_tokens(candidate)),
            points: candidate.points.iter().map(point).collect(),
        }
    }
}

impl MemoryJson {
    fn new(memory: &Memory, kv_tokens: f64) -> Self {
        Self {
            weights_gib: memory.weights.gib(),
            kv_gib: memory.kv.gib(),
            kv_tokens: kv_tokens.floor(),
            activations_gib: memory.activations.gib(),
            graphs_gib: memory.graphs.gib(),
            communication_gib: memory.communication.gib(),
            card_gib: memory.card.gib(),
        }
    }
}

impl PointJson {
    /// Of a steady state.
    pub(crate) fn new(point: &Steady, speed: f64) -> Self {
        let range = |value: f64| RangeJson { low: value / speed.exp(), high: value * speed.exp() };
        let term =
            |(term, part): (junto_plan::cost::term::Term, junto_plan::cost::term::Part)| TermJson {
                name: term.name(),
                ms: part.time.ms(),
                bound: part.bound.name(),
                source: part.source,
            };
        Self {
            concurrency: point.concurrency,
            running: point.running,
            output_tok_s: point.output_tok_s,
            total_tok_s: point.total_tok_s,
            ttft_ms: point.ttft.ms(),
            tpot_ms: point.tpot.ms(),
            band: BandJson {
                output_tok_s: range(point.output_tok_s),
                tpot_ms: range(point.tpot.ms()),
            },
            source: point.terms.source(),
            terms: point.terms.terms().map(term).collect(),
        }
    }
}

impl RefusalJson {
    fn new(refusal: &Refusal) -> Self {
        Self {
            layout: refusal.layout.to_string(),
            rule: refusal.rule,
            when: refusal.when.to_string(),
            reason: refusal.reason.clone(),
            hint: refusal.hint.clone(),
            lacking_gib: refusal.lacking.map(Bytes::gib),
        }
    }
}
