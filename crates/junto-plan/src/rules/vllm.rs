//! vLLM, from the code of 0.33.
//!
//! Rules of its own that no layout of junto can break:
//!
//! | id | rule | why it cannot break |
//! |---|---|---|
//! | V4 | pipeline stages need `SupportsPP` | every architecture of the catalog has it |
//! | V8, V9 | removed all-to-all backends, `max_parallel_loading_workers` | never passed |
//! | V10 | memory free at start | not a matter of layout: found when launching |
//! | V13, V14 | Marlin with two-sided `FlashInfer`; `moonep` in BF16 only | never passed |
//!
//! `V6` (redundant experts only with EPLB) leaves one case: balancing without expert parallelism.
//! `V11` is `M2` and `M4`. Expert counts need not divide: the remainder is spread.

use super::common::{self, changed, count};
use super::{Rule, Said, formats};
use crate::case::Case;
use crate::options::Exchange;
use crate::refusal::When::{Arguments, Load};
use junto_spec::model::Attention;

pub(super) const RULES: &[Rule] = &[
    Rule { id: "O1", when: Arguments, check: common::memory_fraction },
    Rule { id: "O2", when: Arguments, check: common::counts },
    Rule { id: "C1", when: Arguments, check: common::pipeline },
    Rule { id: "C2", when: Arguments, check: common::attention_dp },
    Rule { id: "C3", when: Arguments, check: common::dcp },
    Rule { id: "C5", when: Arguments, check: expert_parallelism_is_a_switch },
    Rule { id: "V1", when: Arguments, check: common::gpus },
    Rule { id: "V7", when: Arguments, check: common::hosts_are_equal },
    Rule { id: "V2", when: Arguments, check: common::heads },
    Rule { id: "V3", when: Arguments, check: common::experts_exist },
    Rule { id: "L1", when: Arguments, check: common::stages },
    Rule { id: "V5", when: Arguments, check: dcp_has_copies },
    Rule { id: "V6", when: Arguments, check: common::balancing_has_ep },
    Rule { id: "A1", when: Arguments, check: all_to_all_has_groups },
    Rule { id: "X1", when: Load, check: common::ranks_have_experts },
    Rule { id: "X1", when: Load, check: common::expert_columns_divide },
    Rule { id: "Q1", when: Load, check: formats::fp8_tiles },
    Rule { id: "V12", when: Load, check: formats::int4_groups },
    Rule { id: "A2", when: Load, check: common::exchange_has_links },
];

/// `--enable-expert-parallel`: `ep` is `tp * dp` or 1.
fn expert_parallelism_is_a_switch(case: &Case<'_>) -> Option<Said> {
    let (ep, ranks) = (case.layout.ep(), case.layout.stage_ranks());
    (ep != 1 && ep != ranks && !case.engine.can.hybrid_ep).then(|| {
        let said = Said::new(format!(
            "vLLM has no number for ep: expert parallelism is on or off, here ep{ranks} or ep1"
        ));
        let [on, off] = [ranks, 1].map(|ep| changed(case.layout, |sizes| sizes.ep = ep));
        match (on, off) {
            (Some(on), Some(off)) => said.hint(format!("{on} or {off}, or SGLang for ep{ep}")),
            _ => said,
        }
    })
}

/// Key-value heads are cut before the cache is: `dcp` shares out the copies of a head.
fn dcp_has_copies(case: &Case<'_>) -> Option<Said> {
    let (tp, dcp) = (case.layout.tp(), case.layout.dcp());
    case.bytes.layer_kinds().find_map(|layer| {
        let Attention::Gqa(gqa) = &layer.attention else { return None };
        let copies = (tp / gqa.num_key_value_heads).max(1);
        (1 < dcp && copies < dcp).then(|| {
            let heads = count(gqa.num_key_value_heads, "key-value head");
            Said::new(format!(
                "dcp{dcp} shares out copies of a key-value head, and tp{tp} has {copies} of each: \
                 the model has {heads}"
            ))
            .hint(if copies == 1 {
                "leave dcp out".to_owned()
            } else {
                format!("dcp can be at most {copies}")
            })
        })
    })
}

/// An all-to-all backend is used between data-parallel ranks only.
fn all_to_all_has_groups(case: &Case<'_>) -> Option<Said> {
    let dispatches = case.options.exchange == Exchange::AllToAll;
    (dispatches && (case.layout.dp() == 1 || case.layout.ep() == 1)).then(|| {
        Said::new("vLLM uses its all-to-all only with both data and expert parallelism")
            .hint("leave the exchange at gather and scatter")
    })
}
