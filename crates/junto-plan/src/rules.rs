//! The rules by which engines refuse layouts, checked before anything is launched.
//!
//! Every engine has a list of rules in the order in which it would fail. Rules known from an
//! engine's own code keep their numbers (`S1`..`S30` for SGLang, `V1`..`V14` for vLLM); the others:
//!
//! | id | rule |
//! |---|---|
//! | `G1` | a layout has at most the GPUs of the machine (vLLM `V1`) |
//! | `C1`..`C5` | the engine has pipeline stages, attention data parallelism, decode context parallelism, expert parallelism, and any size of it |
//! | `L1` | there are at most as many pipeline stages as layers |
//! | `E1`, `E2` | expert parallelism needs experts, and balancing them expert parallelism |
//! | `H1` | heads of every kind divide evenly, or are whole copies (`S19`, `V2`) |
//! | `X1` | experts and their columns divide evenly (`S21`) |
//! | `Q1`, `Q2` | a cut keeps FP8 scaling tiles and INT4 groups whole (`S22`, `V12`) |
//! | `A1`, `A2` | an all-to-all needs expert parallelism to serve, and links to run on |
//! | `O1`, `O2` | options mean something |
//! | `T1` | TensorRT-LLM's attention data parallelism is all or nothing |
//! | `K1` | llama.cpp cuts by layer or by row, not both |
//! | `M1`..`M3` | weights, KV cache and workspace fit (`S24`, `S25`, `S28`, `V11`) |
//! | `M4` | the longest request fits (`V11`) |

mod common;
mod fits;
mod formats;
mod hint;
mod llama_cpp;
mod native;
mod sglang;
mod tensorrt_llm;
mod vllm;

use crate::case::Case;
use crate::memory::Memory;
use crate::refusal::{Refusal, When};
use junto_spec::engine::Family;
use junto_spec::units::Bytes;

/// One rule of an engine.
struct Rule {
    id: &'static str,
    when: When,
    check: fn(&Case<'_>) -> Option<Said>,
}

/// What a rule says when it refuses.
struct Said {
    reason: String,
    hint: Option<String>,
    lacking: Option<Bytes>,
}

impl Said {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None, lacking: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl Rule {
    fn refuse(&self, case: &Case<'_>) -> Option<Refusal> {
        let said = (self.check)(case)?;
        Some(refusal(case, self.id, self.when, said))
    }

    /// Whether the rule is about the machine's number of GPUs.
    fn counts_gpus(&self) -> bool {
        matches!(self.id, "G1" | "V1")
    }
}

fn refusal(case: &Case<'_>, rule: &'static str, when: When, said: Said) -> Refusal {
    let Said { reason, hint, lacking } = said;
    Refusal { layout: *case.layout, rule, when, reason, hint, lacking }
}

/// The first rule by which the engine would refuse the layout; `None` when it would run.
///
/// Allocates only to refuse.
pub fn refuse(case: &Case<'_>) -> Option<Refusal> {
    let plain = rules_of(case.engine.family).iter().find_map(|rule| rule.refuse(case));
    plain.or_else(|| fits::refuse(case, &Memory::of(case)))
}

/// Whether the layout would run if only the machine had enough GPUs; its memory then.
fn runs(case: &Case<'_>) -> Option<Memory> {
    let mut rules = rules_of(case.engine.family).iter().filter(|rule| !rule.counts_gpus());
    if rules.any(|rule| (rule.check)(case).is_some()) {
        return None;
    }
    let memory = Memory::of(case);
    fits::fits(case, &memory).then_some(memory)
}

fn rules_of(family: Family) -> &'static [Rule] {
    match family {
        Family::Sglang => sglang::RULES,
        Family::Vllm => vllm::RULES,
        Family::TensorrtLlm => tensorrt_llm::RULES,
        Family::LlamaCpp => llama_cpp::RULES,
        Family::Native => native::RULES,
    }
}

/// The engine's name for a sentence.
fn engine_name(case: &Case<'_>) -> String {
    let name = match case.engine.family {
        Family::Sglang => "SGLang",
        Family::Vllm => "vLLM",
        Family::TensorrtLlm => "TensorRT-LLM",
        Family::LlamaCpp => return "llama.cpp".to_owned(),
        Family::Native => return "junto's engine".to_owned(),
    };
    format!("{name} {}", case.engine.version)
}

#[cfg(test)]
mod tests;
