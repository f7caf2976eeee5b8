//! Which form of communication an engine uses in a layout, and how it cuts its dense parts: the two
//! go together, since what is not cut needs no sum.

use crate::engine::Family;
use crate::layout::Layout;

/// How the ranks of a stage bring tokens to experts and results back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommForm {
    /// Every rank has every token of the stage, adds up what its own weights give, and two
    /// all-reduces a layer over the stage add the ranks. The same for any `ep`: `tp8`, `tp8+ep4` and
    /// `tp8+ep8` do not differ (SGLang `moe_a2a_backend none`, vLLM with one data-parallel rank).
    /// With `dp` > 1 it is what SGLang does in prefill (zero-filled gather, `SUM_LEN` padding).
    Summed,
    /// With `dp` > 1: tokens are gathered over the stage before the experts and the sums scattered
    /// after (SGLang attention data parallelism in decode, vLLM `allgather_reducescatter`).
    /// With `dp` = 1 there is nothing to gather and it is `Summed`.
    AllGatherReduceScatter,
    /// An all-to-all takes each token to the ranks of its experts and another one back (DeepEP and
    /// its like).
    Dispatch,
    /// The native engine's reference, bit-identical in every layout: the calls of `Summed`, in f32 and
    /// by a balanced pairwise tree over the ranks, with the experts' outputs left unsummed: after the
    /// MLP a token has `num_experts_per_tok` slots, each already times its weight, and one more for
    /// the shared expert if there is one. What a rank does not compute it leaves zero.
    ///
    /// A slot is not zero only on the ranks of one `moe_tp` (shared: stage) group, an attention
    /// output only on those of one `tp` group: aligned blocks, so the tree first joins the canonical
    /// column chunks as a single rank would, then adds zeros, which is exact if every accumulation
    /// starts from +0. Each rank then adds the slots in order. Needs the ranks of the
    /// stage to be a power of two that divides the number of chunks.
    Invariant,
}

/// The numbers in which a dispatched token travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DispatchFormat {
    /// As the activations are.
    Activations,
    /// FP8 with one f32 scale per 128 numbers (DeepEP with `DeepGEMM`).
    Fp8Block128,
}

/// Everything besides model and layout that the collectives of a step depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommRules {
    /// Whose habits: engines differ in what surrounds the experts.
    pub family: Family,
    /// The form of communication.
    pub form: CommForm,
    /// Bytes of an activation between ranks: 2 in bf16; 4 in the native engine's f32.
    pub activation_bytes: u32,
    /// How dispatched tokens travel; matters to `Dispatch` only.
    pub dispatch: DispatchFormat,
}

impl CommRules {
    /// What `family` does in `layout` in decode, with no all-to-all backend asked for.
    pub fn default_for(family: Family, layout: &Layout) -> Self {
        let form =
            if layout.dp() == 1 { CommForm::Summed } else { CommForm::AllGatherReduceScatter };
        Self { family, form, activation_bytes: 2, dispatch: DispatchFormat::Activations }
    }

    /// The native engine's bit-identical form.
    pub fn invariant() -> Self {
        Self {
            family: Family::Native,
            form: CommForm::Invariant,
            activation_bytes: 4,
            dispatch: DispatchFormat::Activations,
        }
    }
}

/// The ranks over which a dense part is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cut {
    /// All `tp * dp` ranks of the stage.
    Stage,
    /// The `tp` ranks of an attention group; each of the `dp` groups has a copy.
    AttentionTp,
    /// None: every rank has all of it.
    Replicated,
}

impl Cut {
    /// Pieces it is cut into.
    pub fn ways(self, layout: &Layout) -> u32 {
        match self {
            Self::Stage => layout.stage_ranks(),
            Self::AttentionTp => layout.tp(),
            Self::Replicated => 1,
        }
    }
}

/// How the dense parts are cut. With `dp` = 1 `Stage` and `AttentionTp` are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DenseRule {
    /// Shared experts.
    pub shared: Cut,
    /// MLPs of layers without experts.
    pub dense: Cut,
    /// Output head. The embedding is always over the attention's `tp`.
    pub head: Cut,
}

impl DenseRule {
    /// How an engine cuts them:
    ///
    /// | form | engine | shared | dense | head |
    /// |---|---|---|---|---|
    /// | summed, invariant | SGLang | stage | stage | stage |
    /// | | others | stage | stage | tp |
    /// | gather and scatter | SGLang | stage | stage | stage |
    /// | | native | stage | stage | tp |
    /// | | vLLM, TensorRT-LLM | tp | tp | tp |
    /// | | vLLM, sequence parallelism (`dp`, `ep`, `tp` > 1) | replicated | tp | tp |
    /// | dispatch | SGLang | replicated | stage | stage |
    /// | | others | replicated | tp | tp |
    ///
    /// SGLang gathers the sampled rows of all groups for a head cut over the stage
    /// (`enable_dp_lm_head` off, the default).
    /// Sources: SGLang 0.5.11 `models/deepseek_v2.py`, `layers/communicator.py`
    /// (`moe_dense_tp_size` unset), `layers/logits_processor.py`; vLLM 0.33
    /// `models/deepseek_v2.py`, `config/parallel.py`.
    pub fn of(rules: &CommRules, layout: &Layout) -> Self {
        let dense = match (rules.form, rules.family) {
            (CommForm::Summed | CommForm::Invariant, _)
            | (_, Family::Sglang)
            | (CommForm::AllGatherReduceScatter, Family::Native) => Cut::Stage,
            _ => Cut::AttentionTp,
        };
        let shared = match rules.form {
            CommForm::Dispatch => Cut::Replicated,
            _ if sequence_parallel_moe(rules, layout) => Cut::Replicated,
            _ => dense,
        };
        let head = match rules.family {
            Family::Sglang => Cut::Stage,
            Family::Native | Family::Vllm | Family::TensorrtLlm | Family::LlamaCpp => {
                Cut::AttentionTp
            }
        };
        Self { shared, dense, head }
    }
}

/// Whether vLLM cuts the tokens of a group over its `tp` ranks around the experts
/// (`use_sequence_parallel_moe`).
pub fn sequence_parallel_moe(rules: &CommRules, layout: &Layout) -> bool {
    let gathers = rules.form == CommForm::AllGatherReduceScatter;
    gathers && rules.family == Family::Vllm && 1 < layout.dp() && 1 < layout.tp() && 1 < layout.ep()
}
