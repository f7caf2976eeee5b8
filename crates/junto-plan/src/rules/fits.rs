//! Whether weights, KV cache and workspace fit.

use super::{Said, hint, refusal};
use crate::case::Case;
use crate::memory::Memory;
use crate::refusal::{Refusal, When};
use junto_spec::engine::{Family, MemoryRule};
use junto_spec::units::Bytes;

type Check = fn(&Case<'_>, &Memory) -> Option<Bytes>;

/// In the order in which an engine would notice; each says how much is missing.
const CHECKS: [(&str, Check); 4] =
    [("M1", weights), ("M2", kv_cache), ("M3", workspace), ("M4", longest_request)];

/// Whether everything fits.
pub(super) fn fits(case: &Case<'_>, memory: &Memory) -> bool {
    CHECKS.iter().all(|(_, check)| check(case, memory).is_none())
}

pub(super) fn refuse(case: &Case<'_>, memory: &Memory) -> Option<Refusal> {
    let (rule, lacking) =
        CHECKS.iter().find_map(|(rule, check)| Some((*rule, check(case, memory)?)))?;
    let (when, reason) = match rule {
        "M1" => (When::Load, weights_reason(memory)),
        "M2" => (When::KvSizing, kv_reason(case, memory)),
        "M3" => (When::GraphCapture, workspace_reason(case, memory)),
        _ => {
            let late = case.engine.family == Family::Sglang;
            let when = if late { When::FirstRequest } else { When::KvSizing };
            (when, request_reason(case, memory))
        }
    };
    let hint = hint::for_memory(case, rule);
    Some(refusal(case, rule, when, Said { reason, hint, lacking: Some(lacking) }))
}

fn missing(bytes: Bytes) -> Option<Bytes> {
    (bytes.0 > 0.0).then_some(bytes)
}

fn weights(_: &Case<'_>, memory: &Memory) -> Option<Bytes> {
    missing(memory.weights - memory.card)
}

fn kv_cache(_: &Case<'_>, memory: &Memory) -> Option<Bytes> {
    missing(memory.kv_cost.request(1.0) - memory.kv)
}

fn workspace(case: &Case<'_>, memory: &Memory) -> Option<Bytes> {
    let rule = case.engine.defaults.memory_rule;
    missing(memory.uncovered(rule) - memory.outside(rule))
}

fn longest_request(case: &Case<'_>, memory: &Memory) -> Option<Bytes> {
    let tokens = f64::from(case.options.max_context?);
    missing(memory.kv_cost.request(tokens) - memory.kv)
}

fn weights_reason(memory: &Memory) -> String {
    format!("weights need {} per GPU, the card has {}", memory.weights, memory.card)
}

/// `0.92 of the card's 94.9 GiB is 87.3 GiB`.
fn share(case: &Case<'_>, memory: &Memory) -> String {
    let fraction = case.memory_fraction();
    if fraction < 1.0 {
        format!("{fraction} of the card's {} is {}", memory.card, memory.limit)
    } else {
        format!("the card has {}", memory.card)
    }
}

fn kv_reason(case: &Case<'_>, memory: &Memory) -> String {
    let share = share(case, memory);
    let weights = memory.weights;
    if memory.limit.0 < weights.0 {
        return format!("weights need {weights} per GPU and {share}, so no KV cache is left");
    }
    match case.engine.defaults.memory_rule {
        MemoryRule::FractionOfFree => {
            format!("weights take {weights} per GPU and {share}, so no KV cache is left")
        }
        _ => format!(
            "weights take {weights} per GPU, activations and communication {}; {share}, \
             so no KV cache is left",
            memory.activations + memory.communication
        ),
    }
}

fn workspace_reason(case: &Case<'_>, memory: &Memory) -> String {
    let rule = case.engine.defaults.memory_rule;
    format!(
        "a memory fraction of {} leaves {} for activations, graphs and communication, \
         which need about {}",
        case.memory_fraction(),
        memory.outside(rule),
        memory.uncovered(rule)
    )
}

fn request_reason(case: &Case<'_>, memory: &Memory) -> String {
    let tokens = f64::from(case.options.max_context.unwrap_or(0));
    format!(
        "a request of {} tokens needs {} of KV cache, there is {} per GPU",
        hint::thousands(tokens),
        memory.kv_cost.request(tokens),
        memory.kv
    )
}
