//! A collective of a forward step: which operation, over which ranks, how many elements.
//!
//! `elements` of a call, whatever the algorithm that carries it out:
//!
//! | op | elements |
//! |---|---|
//! | all-reduce | the whole tensor (equal on all ranks) |
//! | all-gather | the gathered whole, `ranks` times what one rank gives |
//! | reduce-scatter | the whole input, `ranks` times what one rank keeps |
//! | all-to-all | what one rank sends, the part that it sends to itself included |
//! | send-recv | what one rank sends to its counterpart in the next stage |

use crate::group::GroupKind;
use crate::layout::Layout;
use crate::machine::Op;
use crate::model::Moe;
use crate::units::Bytes;

/// What a step processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Step {
    /// Tokens of one data-parallel group: of the fullest.
    pub tokens: u64,
    /// Tokens of one group that logits are wanted for.
    pub sampled: u64,
    /// Copies of tokens that one rank sends to experts in a layer (form `Dispatch` only).
    pub dispatched: u64,
    /// Copies that it gets, and so sends back (form `Dispatch` only).
    pub returned: u64,
}

/// Copies of one token that a dispatch sends on average when all experts are equally likely: one to
/// each rank of every expert group that holds one of its `k` experts.
///
/// `moe_tp * ep * (1 - C(E - n, k) / C(E, k))` with `n = E / ep`: 5.28 for 8 of 384 over 8 ranks.
pub fn expected_copies(moe: &Moe, layout: &Layout) -> f64 {
    let (experts, ep) = (f64::from(moe.n_routed_experts), f64::from(layout.ep()));
    let missed: f64 = (0..moe.num_experts_per_tok)
        .map(|chosen| {
            let left = experts - f64::from(chosen);
            ((left - experts / ep) / left).max(0.0)
        })
        .product();
    f64::from(layout.moe_tp()) * ep * (1.0 - missed)
}

/// What the size of a call is a multiple of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rows {
    /// One, whatever the step.
    Once,
    /// [`Step::tokens`].
    Tokens,
    /// [`Step::tokens`], padded to a multiple of `tp` to be cut over it.
    TokensPadded,
    /// [`Step::sampled`].
    Sampled,
    /// [`Step::sampled`], padded to a multiple of `tp`.
    SampledPadded,
    /// [`Step::dispatched`].
    Dispatched,
    /// [`Step::returned`].
    Returned,
}

/// A collective but for the size of the step: `rows * per_row` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The operation.
    pub op: Op,
    /// Over which ranks.
    pub group: GroupKind,
    /// How many those are; 2 for a send to the next stage.
    pub ranks: u32,
    /// What the size is a multiple of.
    pub rows: Rows,
    /// Elements of one row.
    pub per_row: u64,
    /// Bytes of one element.
    pub element_bytes: u32,
}

impl Call {
    /// The elements of this call in `step`.
    pub fn elements(&self, layout: &Layout, step: &Step) -> u64 {
        let tp = u64::from(layout.tp());
        let rows = match self.rows {
            Rows::Once => 1,
            Rows::Tokens => step.tokens,
            Rows::TokensPadded => step.tokens.next_multiple_of(tp),
            Rows::Sampled => step.sampled,
            Rows::SampledPadded => step.sampled.next_multiple_of(tp),
            Rows::Dispatched => step.dispatched,
            Rows::Returned => step.returned,
        };
        rows * self.per_row
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> Bytes {
        Bytes(self.per_row as f64 * f64::from(self.element_bytes))
    }
}

/// Where in the step a collective is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// Summing the parts of the embedding; first stage.
    Embedding,
    /// Completing what came from the stage before.
    StageEntry,
    /// Inside the attention of a layer (decode context parallelism).
    InAttention(u32),
    /// Between the attention of a layer and its MLP.
    AfterAttention(u32),
    /// After the MLP of a layer.
    AfterMlp(u32),
    /// From this stage to the next.
    StageBoundary,
    /// Gathering logits; last stage.
    Logits,
}

/// One call of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Where it is.
    pub position: Position,
    /// The operation.
    pub op: Op,
    /// Over which ranks.
    pub group: GroupKind,
    /// How many those are.
    pub ranks: u32,
    /// Elements, as the table above has it.
    pub elements: u64,
    /// Bytes of one element.
    pub element_bytes: u32,
}

impl Collective {
    /// Bytes of all elements.
    pub fn payload(&self) -> Bytes {
        Bytes(self.elements as f64 * f64::from(self.element_bytes))
    }

    /// Bytes that one rank sends when rings (all-to-all: pairs) carry it out.
    pub fn sent(&self) -> Bytes {
        let others = f64::from(self.ranks - 1) / f64::from(self.ranks);
        self.payload()
            * match self.op {
                Op::AllReduce => 2.0 * others,
                Op::AllGather | Op::ReduceScatter | Op::AllToAll => others,
                Op::SendRecv => 1.0,
            }
    }
}

/// Distinct calls of a step, and how often each is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepComm {
    /// Each call once, with its count.
    pub calls: Vec<(Call, u32)>,
}

impl StepComm {
    /// `count` more of `call`.
    pub fn add(&mut self, call: Call, count: u32) {
        match self.calls.iter_mut().find(|(known, _)| *known == call) {
            Some((_, total)) => *total += count,
            None => self.calls.push((call, count)),
        }
    }
}
