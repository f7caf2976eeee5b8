//! One forward pass of a batch through all layers in a layout: the sum over stages, and the slowest
//! stage.

use crate::constants::Efficiency;
use crate::cost::attention::attention_time;
use crate::cost::comm::Prepared;
use crate::cost::roofline::{TILE_ROWS, rate, roofline};
use crate::cost::term::{Bound, StepCost, Term};
use crate::cost::work::{Experts, Gemm, LayerWork, ModelWork};
use crate::options::{Graphs, Options, Placement};
use junto_spec::comm_rules::Cut;
use junto_spec::engine::EngineProfile;
use junto_spec::layout::Layout;
use junto_spec::machine::MachineSpec;
use junto_spec::source::Source;
use junto_spec::units::{Bytes, Flops, Seconds};
use junto_spec::weight::Split;

/// Most kinds of layer in one model (Llama-4 and Step-3.5 have four).
pub(crate) const MAX_KINDS: usize = 16;

/// A batch on its way through the layers. Counts are of one micro-batch; `per group` means per
/// attention data-parallel group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Tokens per group.
    pub tokens: f64,
    /// Tokens of all groups together: what the experts see.
    pub all_tokens: f64,
    /// Sequences per group.
    pub sequences: f64,
    /// Mean tokens in the cache before the pass, per sequence.
    pub context: f64,
    /// New prompt tokens per sequence; 0 in a decode pass.
    pub prompt: f64,
    /// Rows per group that go through the head.
    pub sampled: f64,
    /// Whether a captured graph replays the pass.
    pub graphs: Graphs,
}

impl Pass {
    /// Whether prompt tokens are in the pass.
    pub fn prefills(&self) -> bool {
        self.prompt > 0.0
    }
}

/// What a pass costs.
#[derive(Clone, Copy, Debug)]
pub struct PassCost {
    /// The terms, summed over all stages.
    pub sum: StepCost,
    /// Time of the slowest stage.
    pub slowest: Seconds,
}

/// Everything that is fixed while layouts and batches vary.
#[derive(Clone, Copy, Debug)]
pub struct Coster<'a> {
    /// The model.
    pub work: &'a ModelWork<'a>,
    /// The machine.
    pub machine: &'a MachineSpec,
    /// The engine.
    pub engine: &'a EngineProfile,
    /// The constants.
    pub efficiency: &'a Efficiency,
    /// The options of the run.
    pub options: &'a Options,
}

impl Coster<'_> {
    /// The cost of a pass.
    pub fn pass(&self, prepared: &Prepared, pass: &Pass) -> PassCost {
        let layout = &prepared.layout;
        let mut sum = StepCost::default();
        let mut kind_time = [Seconds(0.0); MAX_KINDS];
        let mut kernels = 0.0;
        for (index, kind) in self.work.kinds.iter().enumerate() {
            let layer = self.layer(kind, prepared, pass);
            kind_time[index] = layer.total();
            sum.add_scaled(&layer, kind.count);
            let more = if pass.prefills() { kind.prefill_kernels } else { 0.0 };
            kernels += (kind.kernels.iter().sum::<f64>() + more) * kind.count;
        }
        let mut comm = StepCost::default();
        let calls = prepared.collectives(self, pass, &mut comm);
        let layers = self.work.kind_of.len() as f64;
        let comm_a_layer = comm.total() / layers;
        sum.add_scaled(&comm, 1.0);
        let mut head = StepCost::default();
        if pass.sampled > 0.0 {
            let all_tokens = pass.sampled * f64::from(layout.dp());
            let sampled = Pass { tokens: pass.sampled, all_tokens, ..*pass };
            self.gemm(&self.work.head, prepared, &sampled, &mut head);
            sum.add_scaled(&head, 1.0);
        }
        let mut launch_a_layer = Seconds(0.0);
        if pass.graphs == Graphs::Off {
            let issue = Seconds::from_us(self.efficiency.issue_us) * (kernels + calls);
            // The host runs ahead of the GPU, but not always and not on every rank: neither hides the
            // other fully.
            let wait = Seconds(issue.0.hypot(sum.total().0)) - sum.total();
            sum.add(Term::Launch, wait, Bound::Host, Source::Fitted);
            launch_a_layer = wait / layers;
        }
        if layout.pp() == 1 {
            return PassCost { slowest: sum.total(), sum };
        }
        let mut slowest = Seconds(0.0);
        for (index, stage) in prepared.stages.iter().enumerate() {
            let kinds = &self.work.kind_of[stage.start as usize..stage.end as usize];
            let mut time: Seconds = kinds.iter().map(|kind| kind_time[*kind]).sum();
            time += (comm_a_layer + launch_a_layer) * kinds.len() as f64;
            if index + 1 == prepared.stages.len() {
                time += head.total();
            }
            slowest = slowest.max(time);
        }
        PassCost { sum, slowest }
    }

    /// One layer of a kind on the busiest rank, collectives not included.
    fn layer(&self, kind: &LayerWork, prepared: &Prepared, pass: &Pass) -> StepCost {
        let mut cost = StepCost::default();
        for gemm in &kind.gemms {
            self.gemm(gemm, prepared, pass, &mut cost);
        }
        let (time, bound) = attention_time(
            &kind.layer.attention,
            pass,
            &prepared.layout,
            self.options.kv,
            &self.machine.gpu,
            self.efficiency,
        );
        cost.add(Term::AttentionKv, time, bound, Source::Fitted);
        if let Some(experts) = &kind.experts {
            self.experts(experts, &prepared.layout, pass, &mut cost);
        }
        let timed = kind.kernels.iter().zip(self.efficiency.kernel_us);
        let kernels: f64 = timed.map(|(kernels, us)| kernels * us).sum();
        cost.add(Term::SmallKernels, Seconds::from_us(kernels), Bound::Latency, Source::Fitted);
        cost
    }

    fn gemm(&self, gemm: &Gemm, prepared: &Prepared, pass: &Pass, cost: &mut StepCost) {
        let (share, tokens) = cut(gemm, prepared, pass);
        let (time, bound) = roofline(
            Bytes(gemm.bytes * share),
            self.machine.gpu.memory_bandwidth * self.efficiency.dense_memory[gemm.family],
            Flops(2.0 * gemm.parameters * share * tokens),
            rate(&self.machine.gpu, gemm.family) * self.efficiency.dense_compute[gemm.family],
        );
        cost.add(gemm.term, time, bound, Source::Fitted);
    }

    fn experts(&self, experts: &Experts, layout: &Layout, pass: &Pass, cost: &mut StepCost) {
        let balanced = self.options.placement == Placement::Balanced;
        let hit = self.work.routings[experts.routing].hit(pass.all_tokens, layout.ep(), balanced);
        let width = 1.0 / f64::from(layout.moe_tp());
        // An expert with one token pays for a tile.
        let padded = hit.busiest * TILE_ROWS;
        let rows = padded.max(hit.busiest_pairs + padded / 2.0);
        let (time, bound) = roofline(
            Bytes(experts.bytes * width * hit.busiest),
            self.machine.gpu.memory_bandwidth * self.efficiency.expert_memory[experts.family],
            Flops(2.0 * experts.parameters * width * rows),
            rate(&self.machine.gpu, experts.family)
                * self.efficiency.expert_compute[experts.family],
        );
        cost.add(Term::RoutedExperts, time, bound, Source::Fitted);
    }
}

/// The share of a weight on one rank, and the tokens that it multiplies there.
fn cut(gemm: &Gemm, prepared: &Prepared, pass: &Pass) -> (f64, f64) {
    let layout = &prepared.layout;
    let tp = f64::from(layout.tp());
    let by_rule = |cut: Cut| match cut {
        Cut::Stage => (1.0 / f64::from(layout.stage_ranks()), pass.all_tokens),
        Cut::AttentionTp => (1.0 / tp, pass.tokens),
        // Tokens are cut instead of the weight.
        Cut::Replicated => (1.0, (pass.tokens / tp).max(1.0)),
    };
    match gemm.split {
        Split::AttentionRows | Split::AttentionCols => (1.0 / tp, pass.tokens),
        Split::KvHeads { heads } => (1.0 / f64::from(layout.tp().min(heads)), pass.tokens),
        Split::Vocabulary => by_rule(prepared.dense.head),
        Split::MlpRows | Split::MlpCols if gemm.term == Term::SharedExperts => {
            by_rule(prepared.dense.shared)
        }
        Split::MlpRows | Split::MlpCols => by_rule(prepared.dense.dense),
        Split::Replicated | Split::ExpertRows | Split::ExpertCols => (1.0, pass.tokens),
    }
}
