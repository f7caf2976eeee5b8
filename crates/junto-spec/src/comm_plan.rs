//! The collectives of one forward step, in the order in which every rank of a stage enters them.
//!
//! The planner prices them ([`CommPlan::step`]); the native engine's ledger must equal them call for
//! call and byte for byte ([`CommPlan::collectives`]). Both come from the same few functions.
//!
//! Calls over one rank and calls without elements do not appear. The tokens of all data-parallel
//! groups are taken as equal: engines pad to the fullest group, and an empty group enters every
//! call. Not listed: control messages on the CPU (request broadcast, batch sizes, tokens back to the
//! first stage), the vision tower, multi-token prediction, and the gather of cached latents that a
//! prefill chunk behind a `dcp`-sharded cache needs.

use crate::collective::{Call, Collective, Position, Rows, Step, StepComm};
use crate::comm_rules::{CommForm, CommRules, Cut, DenseRule, DispatchFormat};
use crate::engine::Family;
use crate::format::Format;
use crate::group::GroupKind;
use crate::layout::Layout;
use crate::machine::Op;
use crate::model::{Attention, Layer, Mlp, ModelSpec, Moe};
use std::ops::Range;

/// The collectives of a model in a layout.
#[derive(Clone, Copy, Debug)]
pub struct CommPlan<'a> {
    model: &'a ModelSpec,
    layout: Layout,
    rules: CommRules,
    dense: DenseRule,
    stages: &'a [Range<u32>],
}

impl<'a> CommPlan<'a> {
    /// `stages` are the layers of each of the `pp` stages.
    pub fn new(
        model: &'a ModelSpec,
        layout: Layout,
        rules: CommRules,
        stages: &'a [Range<u32>],
    ) -> Self {
        assert_eq!(stages.len(), layout.pp() as usize, "one range of layers for each stage");
        Self { model, layout, rules, dense: DenseRule::of(&rules, &layout), stages }
    }

    /// Every call of `step` that the ranks of `stage` make, in order. A hop is in the list of the
    /// stage that sends.
    pub fn collectives(&self, stage: u32, step: &Step) -> Vec<Collective> {
        let mut list = Vec::new();
        let mut emit = |position, call: Call| {
            let elements = call.elements(&self.layout, step);
            if elements != 0 {
                let Call { op, group, ranks, element_bytes, .. } = call;
                list.push(Collective { position, op, group, ranks, elements, element_bytes });
            }
        };
        self.entry(stage, &mut emit);
        for layer in self.stages[stage as usize].clone() {
            self.layer(layer, &mut emit);
        }
        self.exit(stage, &mut emit);
        list
    }

    /// The distinct calls of one stage. Some have no elements in some steps (no sampled rows).
    pub fn stage(&self, stage: u32) -> StepComm {
        let mut sum = StepComm::default();
        self.sum_stage(stage, &mut sum);
        sum
    }

    /// The distinct calls of all stages, one after another: what one token waits for.
    pub fn step(&self) -> StepComm {
        let mut sum = StepComm::default();
        for stage in 0..self.layout.pp() {
            self.sum_stage(stage, &mut sum);
        }
        sum
    }

    fn sum_stage(&self, stage: u32, sum: &mut StepComm) {
        self.entry(stage, &mut |_, call| sum.add(call, 1));
        let range = self.stages[stage as usize].clone();
        let layers = &self.model.layers[range.start as usize..range.end as usize];
        let mut index = range.start;
        for run in layers.chunk_by(|a, b| a == b) {
            self.layer(index, &mut |_, call| sum.add(call, run.len() as u32));
            index += run.len() as u32;
        }
        self.exit(stage, &mut |_, call| sum.add(call, 1));
    }

    fn call(&self, op: Op, group: GroupKind, rows: Rows, per_row: u64) -> Call {
        let ranks = if op == Op::SendRecv { 2 } else { group.size(&self.layout) };
        Call { op, group, ranks, rows, per_row, element_bytes: self.rules.activation_bytes }
    }

    fn hidden(&self) -> u64 {
        self.model.hidden_size
    }

    /// Elements of one token of each group of a stage.
    fn stage_hidden(&self) -> u64 {
        u64::from(self.layout.dp()) * self.hidden()
    }

    /// Tensors that cross a stage boundary: `hidden_states` and `residual`, but for engines that add
    /// them first.
    fn hop_tensors(&self) -> u32 {
        match self.rules.family {
            Family::Sglang | Family::Vllm | Family::TensorrtLlm => 2,
            Family::LlamaCpp | Family::Native => 1,
        }
    }

    /// Whether each rank sends `1/tp` of a hop, which the receivers gather (SGLang and vLLM
    /// `send_tensor_dict`), rather than all of it.
    fn hop_is_cut(&self) -> bool {
        let engine = matches!(self.rules.family, Family::Sglang | Family::Vllm);
        engine && 1 < self.layout.tp() && self.hidden().is_multiple_of(self.layout.tp().into())
    }

    fn entry(&self, stage: u32, emit: &mut impl FnMut(Position, Call)) {
        if stage == 0 {
            let sum = self.call(Op::AllReduce, GroupKind::Tp, Rows::Tokens, self.hidden());
            emit_shared(emit, Position::Embedding, sum);
        } else if self.hop_is_cut() {
            let gather = self.call(Op::AllGather, GroupKind::Tp, Rows::Tokens, self.hidden());
            for _ in 0..self.hop_tensors() {
                emit_shared(emit, Position::StageEntry, gather);
            }
        }
    }

    fn exit(&self, stage: u32, emit: &mut impl FnMut(Position, Call)) {
        if stage == self.layout.pp() - 1 {
            return self.logits(emit);
        }
        let pieces = if self.hop_is_cut() { u64::from(self.layout.tp()) } else { 1 };
        let hop = self.call(Op::SendRecv, GroupKind::Pp, Rows::Tokens, self.hidden() / pieces);
        for _ in 0..self.hop_tensors() {
            emit_shared(emit, Position::StageBoundary, hop);
        }
    }

    fn logits(&self, emit: &mut impl FnMut(Position, Call)) {
        let at = Position::Logits;
        let dp = u64::from(self.layout.dp());
        let over_stage = self.dense.head == Cut::Stage && !self.model.tie_word_embeddings;
        let padded = |ways| crate::shard::padded_vocabulary(self.model.vocab_size, ways);
        if !over_stage || dp == 1 {
            let vocabulary = padded(self.layout.tp());
            let gather = self.call(Op::AllGather, GroupKind::Tp, Rows::Sampled, vocabulary);
            return emit_shared(emit, at, gather);
        }
        let vocabulary = padded(self.layout.stage_ranks());
        let rows = if self.rules.form == CommForm::Summed {
            let rows = Rows::Sampled;
            let sum = self.call(Op::AllReduce, GroupKind::Stage, rows, self.stage_hidden());
            emit_shared(emit, at, sum);
            rows
        } else {
            let rows = Rows::SampledPadded;
            self.gather_stage(rows, &mut |call| emit_shared(emit, at, call));
            rows
        };
        emit_shared(emit, at, self.call(Op::AllGather, GroupKind::Stage, rows, dp * vocabulary));
    }

    fn layer(&self, index: u32, emit: &mut impl FnMut(Position, Call)) {
        let Layer { attention, mlp } = self.model.layers[index as usize];
        self.context_parallel(&attention, &mut |call| {
            emit_shared(emit, Position::InAttention(index), call);
        });
        let mut emit = |after: After, call| {
            let position = match after {
                After::Attention => Position::AfterAttention(index),
                After::Mlp => Position::AfterMlp(index),
            };
            emit_shared(emit, position, call);
        };
        match (mlp, self.rules.form) {
            (Mlp::Dense { .. }, CommForm::Summed | CommForm::Invariant) => {
                self.summed(1, &mut emit);
            }
            (Mlp::Dense { .. }, _) if self.dense.dense == Cut::AttentionTp => {
                self.summed_in_groups(&mut emit);
            }
            (Mlp::Dense { .. }, CommForm::Dispatch) if self.layout.dp() == 1 => {
                self.summed(1, &mut emit);
            }
            (Mlp::Dense { .. }, _) => self.gathered(&mut emit),
            (Mlp::Moe(_), CommForm::Summed) => self.summed(1, &mut emit),
            (Mlp::Moe(moe), CommForm::Invariant) => self.summed(slots(&moe), &mut emit),
            (Mlp::Moe(moe), CommForm::Dispatch) => self.dispatched(&moe, &mut emit),
            (Mlp::Moe(moe), CommForm::AllGatherReduceScatter) => match self.rules.family {
                _ if self.layout.dp() == 1 => self.summed(1, &mut emit),
                Family::Sglang | Family::Native => self.gathered(&mut emit),
                _ => self.gathered_with_routes(&moe, &mut emit),
            },
        }
    }

    /// vLLM `cp_lse_ag_out_rs`: gather the queries (MLA: absorbed ones) of all heads of the group,
    /// attend to the own part of the cache, gather the log-sum-exps in f32, scatter the sums of the
    /// outputs (MLA: in the latent) back to the heads' owners.
    fn context_parallel(&self, attention: &Attention, emit: &mut impl FnMut(Call)) {
        let (heads, query, output) = match attention {
            Attention::Mla(mla) => {
                (mla.num_attention_heads, mla.kv_lora_rank + mla.qk_rope_head_dim, mla.kv_lora_rank)
            }
            Attention::Gqa(gqa) => (gqa.num_attention_heads, gqa.head_dim, gqa.v_head_dim),
            Attention::Linear(_) => return,
        };
        let dcp = u64::from(self.layout.dcp());
        let heads = u64::from(heads.div_ceil(self.layout.tp())) * dcp;
        let call = |op, width| self.call(op, GroupKind::Dcp, Rows::Tokens, width);
        emit(call(Op::AllGather, heads * u64::from(query)));
        emit(Call { element_bytes: 4, ..call(Op::AllGather, heads * dcp) });
        emit(call(Op::ReduceScatter, heads * u64::from(output)));
    }

    /// Two sums over the stage of the tokens of all groups, of `slots` rows each after the MLP.
    fn summed(&self, slots: u64, emit: &mut impl FnMut(After, Call)) {
        let sum = self.call(Op::AllReduce, GroupKind::Stage, Rows::Tokens, self.stage_hidden());
        emit(After::Attention, sum);
        emit(After::Mlp, Call { per_row: slots * sum.per_row, ..sum });
    }

    /// Two sums inside each attention group.
    fn summed_in_groups(&self, emit: &mut impl FnMut(After, Call)) {
        let sum = self.call(Op::AllReduce, GroupKind::Tp, Rows::Tokens, self.hidden());
        emit(After::Attention, sum);
        emit(After::Mlp, sum);
    }

    /// SGLang `dp_gather` and `dp_reduce_scatter`, padded to equal groups (`MAX_LEN`).
    fn gathered(&self, emit: &mut impl FnMut(After, Call)) {
        self.gather_stage(Rows::TokensPadded, &mut |call| emit(After::Attention, call));
        let rows = Rows::TokensPadded;
        let stage = self.stage_hidden();
        emit(After::Mlp, self.call(Op::ReduceScatter, GroupKind::Stage, rows, stage));
        emit(After::Mlp, self.call(Op::AllGather, GroupKind::Tp, rows, self.hidden()));
    }

    /// The rows of all groups to all ranks of the stage: each rank first sums its `1/tp` of them.
    fn gather_stage(&self, rows: Rows, emit: &mut impl FnMut(Call)) {
        emit(self.call(Op::ReduceScatter, GroupKind::Tp, rows, self.hidden()));
        emit(self.call(Op::AllGather, GroupKind::Stage, rows, self.stage_hidden()));
    }

    /// vLLM `allgather_reducescatter`: hidden states, weights (f32) and ids (i32) of the experts are
    /// gathered. With experts cut over `ep` by ranks that share tokens out over `tp`
    /// (sequence parallelism); with `ep` = 1 between counterparts of the groups.
    fn gathered_with_routes(&self, moe: &Moe, emit: &mut impl FnMut(After, Call)) {
        let in_stage = 1 < self.layout.ep();
        let (group, rows) = match (in_stage, self.layout.tp()) {
            (true, 1) => (GroupKind::Stage, Rows::Tokens),
            (true, _) => (GroupKind::Stage, Rows::TokensPadded),
            (false, _) => (GroupKind::Dp, Rows::Tokens),
        };
        let routes = u64::from(self.layout.dp()) * u64::from(moe.num_experts_per_tok);
        let hidden = self.stage_hidden();
        let sum = if in_stage { Op::ReduceScatter } else { Op::AllReduce };
        emit(After::Attention, self.call(sum, GroupKind::Tp, rows, self.hidden()));
        let gather = self.call(Op::AllGather, group, rows, hidden);
        emit(After::Attention, self.quantized(gather));
        for _weights_then_ids in 0..2 {
            let gather = self.call(Op::AllGather, group, rows, routes);
            emit(After::Attention, Call { element_bytes: 4, ..gather });
        }
        emit(After::Mlp, self.call(Op::ReduceScatter, group, rows, hidden));
        let back = if in_stage { Op::AllGather } else { Op::AllReduce };
        emit(After::Mlp, self.call(back, GroupKind::Tp, rows, self.hidden()));
    }

    /// TensorRT-LLM quantizes hidden states before it gathers them where the experts compute in fp8
    /// or NVFP4 with a static scale (`fused_moe_cutlass.py`, post-quantization all-gather).
    fn quantized(&self, call: Call) -> Call {
        let bytes = match (self.rules.family, self.model.quantization.routed_experts) {
            (Family::TensorrtLlm, Format::Fp8) => call.per_row,
            (Family::TensorrtLlm, Format::Nvfp4) => call.per_row / 2 + call.per_row / 16,
            _ => return call,
        };
        Call { per_row: bytes, element_bytes: 1, ..call }
    }

    /// Each rank dispatches its `1/tp` of the group's tokens over the stage. The native engine sends
    /// counts (i32, one for each rank) before, and ids and weights (4 bytes each, all of the token's)
    /// after the rows; DeepEP does it in one.
    fn dispatched(&self, moe: &Moe, emit: &mut impl FnMut(After, Call)) {
        let hidden = self.hidden();
        let native = self.rules.family == Family::Native;
        let padded = Rows::TokensPadded;
        let to_experts = |rows, per_row| self.call(Op::AllToAll, GroupKind::Stage, rows, per_row);
        let rows = to_experts(Rows::Dispatched, hidden);
        emit(After::Attention, self.call(Op::ReduceScatter, GroupKind::Tp, padded, hidden));
        if native {
            let counts = to_experts(Rows::Once, self.layout.stage_ranks().into());
            emit(After::Attention, Call { element_bytes: 4, ..counts });
        }
        emit(
            After::Attention,
            match self.rules.dispatch {
                DispatchFormat::Activations => rows,
                DispatchFormat::Fp8Block128 => {
                    Call { per_row: hidden + 4 * hidden.div_ceil(128), element_bytes: 1, ..rows }
                }
            },
        );
        if native {
            let routes = to_experts(Rows::Dispatched, 2 * u64::from(moe.num_experts_per_tok));
            emit(After::Attention, Call { element_bytes: 4, ..routes });
        }
        emit(After::Mlp, to_experts(Rows::Returned, hidden));
        emit(After::Mlp, self.call(Op::AllGather, GroupKind::Tp, padded, hidden));
    }
}

#[derive(Clone, Copy)]
enum After {
    Attention,
    Mlp,
}

/// A group of one rank has nothing to exchange.
fn emit_shared(emit: &mut impl FnMut(Position, Call), position: Position, call: Call) {
    if 1 < call.ranks {
        emit(position, call);
    }
}

/// Rows for one token in the invariant form: one for each of its experts, weighted, and one for the
/// shared expert; every rank adds them up in this order.
fn slots(moe: &Moe) -> u64 {
    u64::from(moe.num_experts_per_tok) + u64::from(0 < moe.shared_intermediate_size)
}

#[cfg(test)]
mod tests;
