//! The price of a layout's collectives: `junto-spec`'s comm plan, call by call.

use crate::case::Case;
use crate::cost::pass::{Coster, Pass};
use crate::cost::term::{Bound, StepCost, Term};
use crate::options::AllReduce;
use junto_spec::collective::{Rows, expected_copies};
use junto_spec::comm_plan::CommPlan;
use junto_spec::comm_rules::{CommForm, CommRules, DenseRule};
use junto_spec::engine::Family;
use junto_spec::group::GroupKind;
use junto_spec::layout::Layout;
use junto_spec::machine::{Algorithm, Group, LinkKind, MachineSpec, Op};
use junto_spec::model::Mlp;
use junto_spec::source::Source;
use junto_spec::units::{Bytes, Seconds};
use std::ops::Range;

/// Payload from which a collective is told to be bound by the link rather than by latency, bytes.
const LINK_BOUND: f64 = 262_144.0;

/// A collective of every step of a layout, but for the size of the batch.
#[derive(Clone, Copy, Debug)]
struct Priced {
    term: Term,
    op: Op,
    group: Group,
    rows: Rows,
    row_bytes: f64,
    count: f64,
}

/// A layout with what all of its passes share: stages, cuts, collectives.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The layout.
    pub layout: Layout,
    /// Layers of each stage.
    pub stages: Vec<Range<u32>>,
    /// How dense parts are cut in decode.
    pub dense: DenseRule,
    decode: Vec<Priced>,
    prefill: Vec<Priced>,
    /// Copies of a token that a dispatch sends.
    copies: f64,
}

impl Prepared {
    /// Prepares the layout of a case.
    pub fn new(case: &Case<'_>) -> Self {
        let Case { model, machine, engine, layout, .. } = *case;
        let layout = *layout;
        let stages = case.bytes.stages(layout.pp()).into_owned();
        let rules = case.comm_rules();
        let calls = |rules, prefill: bool| {
            let comm = CommPlan::new(model, layout, rules, &stages).step();
            let calls = comm.calls.into_iter().filter(|(call, _)| {
                // The cache that context parallelism cuts is read by decode only.
                !(prefill && call.group == GroupKind::Dcp)
            });
            let priced = calls.map(|(call, count)| Priced {
                term: term(call.op, call.group, call.rows),
                op: call.op,
                group: group(machine, &layout, call.group),
                rows: call.rows,
                row_bytes: call.row_bytes().0,
                count: f64::from(count),
            });
            priced.collect()
        };
        // SGLang gathers prompts of unequal groups by zero-filled sums (`SUM_LEN` padding).
        let sums = engine.family == Family::Sglang && rules.form != CommForm::Dispatch;
        let form = if sums { CommForm::Summed } else { rules.form };
        let moe = model.layers.iter().find_map(|layer| match &layer.mlp {
            Mlp::Moe(moe) => Some(moe),
            Mlp::Dense { .. } => None,
        });
        let copies = moe.map_or(0.0, |moe| expected_copies(moe, &layout));
        Self {
            layout,
            dense: DenseRule::of(&rules, &layout),
            decode: calls(rules, false),
            prefill: calls(CommRules { form, ..rules }, true),
            copies,
            stages,
        }
    }

    /// Adds the collectives of a pass, all stages together; returns how many there are.
    pub(crate) fn collectives(&self, coster: &Coster, pass: &Pass, cost: &mut StepCost) -> f64 {
        let mut calls = 0.0;
        let sync = Seconds::from_us(coster.efficiency.sync_us);
        for call in if pass.prefills() { &self.prefill } else { &self.decode } {
            let rows = self.rows(call.rows, pass);
            if rows == 0.0 {
                continue;
            }
            let payload = call.row_bytes * rows;
            let algorithm = match call.op {
                Op::AllReduce => coster.all_reduce(payload, &call.group),
                _ => Algorithm::Nccl,
            };
            let (time, source) =
                coster.machine.collective_time(call.op, algorithm, call.group, Bytes(payload));
            let bound = if payload < LINK_BOUND { Bound::Latency } else { Bound::Link };
            let time = time * coster.efficiency.collective_scale + sync;
            // A measured table times a fitted scale is fitted.
            cost.add(call.term, time * call.count, bound, source.max(Source::Fitted));
            calls += call.count;
        }
        calls
    }

    fn rows(&self, rows: Rows, pass: &Pass) -> f64 {
        let tp = f64::from(self.layout.tp());
        match rows {
            Rows::Once => 1.0,
            Rows::Tokens => pass.tokens,
            Rows::TokensPadded => pass.tokens.max(tp),
            Rows::Sampled => pass.sampled,
            Rows::SampledPadded => pass.sampled.max(tp),
            Rows::Dispatched | Rows::Returned => pass.tokens / tp * self.copies,
        }
    }
}

impl Coster<'_> {
    /// The algorithm of an all-reduce: the engine's own kernel on NVLink, on two GPUs, or where it is
    /// asked for, up to its size limit; NCCL otherwise and across hosts.
    fn all_reduce(&self, payload: f64, group: &Group) -> Algorithm {
        let defaults = &self.engine.defaults;
        let fits = payload <= defaults.custom_all_reduce_max_bytes as f64;
        let own = match self.options.all_reduce {
            AllReduce::Nccl => false,
            AllReduce::OneShot => true,
            AllReduce::Auto => {
                let pcie = defaults.custom_all_reduce_on_pcie || group.ranks == 2;
                group.span == LinkKind::Nvlink
                    || pcie && self.machine.links.iter().all(|link| link.p2p)
            }
        };
        if own && fits && group.span != LinkKind::Network {
            Algorithm::Custom
        } else {
            Algorithm::Nccl
        }
    }
}

/// Where a call belongs among the terms of a step.
fn term(op: Op, group: GroupKind, rows: Rows) -> Term {
    match (op, group, rows) {
        (_, _, Rows::Sampled | Rows::SampledPadded) => Term::Head,
        (_, GroupKind::Dcp, _) => Term::ContextParallel,
        (Op::SendRecv, _, _) | (_, GroupKind::Pp, _) => Term::PipelineHops,
        (Op::AllReduce, _, _) => Term::AllReduce,
        _ => Term::Exchange,
    }
}

/// The ranks of a communicator as GPUs of a machine: rank = GPU, groups aligned to their size.
fn group(machine: &MachineSpec, layout: &Layout, kind: GroupKind) -> Group {
    let (ranks, stride) = match kind {
        GroupKind::Stage => (layout.stage_ranks(), 1),
        GroupKind::Tp => (layout.tp(), 1),
        GroupKind::Dp => (layout.dp(), layout.tp()),
        GroupKind::Ep => (layout.ep(), layout.moe_tp()),
        GroupKind::MoeTp => (layout.moe_tp(), 1),
        GroupKind::Dcp => (layout.dcp(), 1),
        GroupKind::Pp => (2, layout.stage_ranks()),
    };
    let extent = (ranks - 1) * stride + 1;
    let link = machine.links.iter().find(|link| extent <= link.width()).or(machine.links.last());
    let span = link.map_or(LinkKind::Nvlink, |link| link.kind);
    Group { ranks, per_host: (machine.gpus_per_host / stride).clamp(1, ranks), span }
}
