//! The answer to the question: every layout that the machine can hold, kept with what it gives, or
//! refused with the reason.

use crate::band::Bands;
use crate::case::Case;
use crate::constants::{Constants, Efficiency};
use crate::cost::comm::Prepared;
use crate::cost::pass::Coster;
use crate::cost::work::ModelWork;
use crate::memory::Memory;
use crate::memory::model_bytes::ModelBytes;
use crate::memory::slots::{Cap, slots};
use crate::options::Options;
use crate::refusal::Refusal;
use crate::rules::refuse;
use crate::steady::{Load, Steady};
use junto_spec::engine::EngineProfile;
use junto_spec::layout::{Layout, Sizes};
use junto_spec::machine::MachineSpec;
use junto_spec::model::{Mlp, ModelSpec};
use junto_spec::workload::Workload;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The model.
    pub model: &'a ModelSpec,
    /// The machine.
    pub machine: &'a MachineSpec,
    /// The engine.
    pub engine: &'a EngineProfile,
    /// The constants that hold for this machine and engine.
    pub efficiency: Efficiency,
    /// Options of the run.
    pub options: Options,
    /// Mean lengths of a request.
    pub workload: Workload,
    /// Concurrencies of interest.
    pub concurrency: Vec<f64>,
    /// How far predictions may be off.
    pub uncertainty: Uncertainty,
}

/// Half-widths of 90 % bands, in ln: a figure lies between `value / e^w` and `value * e^w`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertainty {
    /// Of a speed.
    pub speed: f64,
    /// Separation, in ln, below which two layouts are tied.
    pub ratio: f64,
}

impl<'a> Question<'a> {
    /// The question with the constants of the catalog.
    pub fn new(
        model: &'a ModelSpec,
        machine: &'a MachineSpec,
        engine: &'a EngineProfile,
        constants: &Constants,
    ) -> Self {
        Self {
            model,
            machine,
            engine,
            efficiency: constants.resolve(&machine.gpu.generation, engine),
            options: Options::default(),
            workload: Workload { input_len: 1024.0, output_len: 1024.0 },
            concurrency: vec![1.0, 64.0],
            uncertainty: Uncertainty::shipped(machine, engine),
        }
    }
}

impl Uncertainty {
    /// Of the constants of the catalog, by how much they have seen of the engine on the GPU.
    pub fn shipped(machine: &MachineSpec, engine: &EngineProfile) -> Self {
        let bands = Bands::catalog();
        let speed = bands.width(engine.family, &machine.gpu.generation);
        Self { speed, ratio: bands.ratio }
    }

    /// After calibration with points of the case itself.
    pub fn calibrated(machine: &MachineSpec, engine: &EngineProfile) -> Self {
        let Self { speed, ratio } = Self::shipped(machine, engine);
        let calibrated = Bands::catalog().calibrated;
        Self { speed: speed.min(calibrated), ratio: ratio.min(calibrated) }
    }
}

/// A layout that runs.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The layout.
    pub layout: Layout,
    /// Memory of one GPU.
    pub memory: Memory,
    /// Requests that all replicas together can keep running.
    pub slots: f64,
    /// What keeps it from more.
    pub cap: Cap,
    /// What it gives at each concurrency asked for, in that order.
    pub points: Vec<Steady>,
    /// Whether another layout is so near that only a measurement tells which is the better: its
    /// score and the best one's are within the band of a ratio.
    pub tied: bool,
}

/// Every layout asked about.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Those that run, best first.
    pub ranked: Vec<Candidate>,
    /// Those that do not.
    pub refused: Vec<Refusal>,
}

/// Plans the layouts given, or every layout that uses all GPUs of the machine.
///
/// Best is the highest geometric mean of output throughput over the concurrencies asked for: a
/// layout that is twice as fast for one user and half as fast for many is as good.
pub fn plan(question: &Question, layouts: &[Layout]) -> Plan {
    let bytes = ModelBytes::new(question.model, question.engine.family);
    let work = ModelWork::new(question.model, question.efficiency.skew);
    let mut plan = Plan { ranked: Vec::new(), refused: Vec::new() };
    // Whatever the context may be, a request of the workload has to fit.
    let Workload { input_len, output_len } = question.workload;
    let longest = question.options.max_context.unwrap_or(0).max((input_len + output_len) as u32);
    let admitting = Options { max_context: Some(longest), ..question.options };
    for layout in layouts {
        let case = Case {
            model: question.model,
            bytes: &bytes,
            machine: question.machine,
            engine: question.engine,
            layout,
            options: &question.options,
        };
        match refuse(&Case { options: &admitting, ..case }) {
            Some(refusal) => plan.refused.push(refusal),
            None => plan.ranked.push(candidate(question, &case, &work)),
        }
    }
    let keyed = |candidate: Candidate| (candidate.score(), candidate);
    let mut keyed: Vec<_> = plan.ranked.into_iter().map(keyed).collect();
    keyed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let best = keyed.first().map_or(0.0, |(score, _)| *score);
    let near = |score: f64| best - score <= question.uncertainty.ratio;
    let several = keyed.get(1).is_some_and(|(score, _)| near(*score));
    let mark = |(score, candidate)| Candidate { tied: several && near(score), ..candidate };
    plan.ranked = keyed.into_iter().map(mark).collect();
    plan
}

fn candidate(question: &Question, case: &Case, work: &ModelWork) -> Candidate {
    let memory = Memory::of(case);
    let coster = Coster {
        work,
        machine: question.machine,
        engine: question.engine,
        efficiency: &question.efficiency,
        options: &question.options,
    };
    let prepared = Prepared::new(case);
    let slots = slots(case, &memory, &question.workload);
    let load = |concurrency: &f64| Load {
        concurrency: *concurrency,
        input_len: question.workload.input_len,
        output_len: Some(question.workload.output_len),
        requests: None,
    };
    let points = question
        .concurrency
        .iter()
        .map(|concurrency| coster.steady(&prepared, &load(concurrency), slots.requests))
        .collect();
    Candidate {
        layout: *case.layout,
        memory,
        slots: slots.requests * f64::from(case.layout.replicas()),
        cap: slots.cap,
        points,
        tied: false,
    }
}

impl Candidate {
    /// What it is ranked by: the mean logarithm of output throughput over the points.
    pub fn score(&self) -> f64 {
        let sum: f64 = self.points.iter().map(|point| point.output_tok_s.ln()).sum();
        sum / self.points.len().max(1) as f64
    }
}

/// Every layout that uses all `gpus` GPUs, in the axes that the engine has: `pp` up to the layers,
/// `ep` up to the experts, `dp` and `dcp` where the engine knows them. Which of them run is for the
/// rules to say.
pub fn layouts(model: &ModelSpec, engine: &EngineProfile, gpus: u32) -> Vec<Layout> {
    let experts = model.layers.iter().filter_map(|layer| match layer.mlp {
        Mlp::Moe(moe) => Some(moe.n_routed_experts),
        Mlp::Dense { .. } => None,
    });
    let most_ep = experts.min().unwrap_or(1);
    let divisors = |n: u32| (1..=n).filter(move |divisor| n.is_multiple_of(*divisor));
    let mut found = Vec::new();
    for replicas in divisors(gpus) {
        for pp in divisors(gpus / replicas).filter(|pp| *pp as usize <= model.layers.len()) {
            let ranks = gpus / replicas / pp;
            for tp in divisors(ranks).filter(|tp| *tp == ranks || engine.can.attention_dp) {
                let dp = ranks / tp;
                let most_dcp = if engine.can.dcp { tp } else { 1 };
                for ep in divisors(ranks).filter(|ep| *ep <= most_ep) {
                    for dcp in divisors(most_dcp) {
                        found.extend(Layout::new(Sizes { pp, tp, dp, ep, dcp, replicas }));
                    }
                }
            }
        }
    }
    found
}
