//! TensorRT-LLM, `PyTorch` backend, from its documentation.

use super::common::{self, changed};
use super::{Rule, Said, formats};
use crate::case::Case;
use crate::refusal::When::{Arguments, Load};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "O1", when: Arguments, check: common::memory_fraction },
    Rule { id: "O2", when: Arguments, check: common::counts },
    Rule { id: "C2", when: Arguments, check: common::attention_dp },
    Rule { id: "C1", when: Arguments, check: common::pipeline },
    Rule { id: "C3", when: Arguments, check: common::dcp },
    Rule { id: "T1", when: Arguments, check: attention_dp_is_a_switch },
    Rule { id: "G1", when: Arguments, check: common::gpus },
    Rule { id: "E1", when: Arguments, check: common::experts_exist },
    Rule { id: "E2", when: Arguments, check: common::balancing_has_ep },
    Rule { id: "A1", when: Arguments, check: common::exchange_has_ep },
    Rule { id: "L1", when: Load, check: common::stages },
    Rule { id: "H1", when: Load, check: common::heads },
    Rule { id: "X1", when: Load, check: common::experts_divide },
    Rule { id: "X1", when: Load, check: common::expert_columns_divide },
    Rule { id: "Q1", when: Load, check: formats::fp8_tiles },
    Rule { id: "Q2", when: Load, check: formats::int4_groups },
    Rule { id: "A2", when: Load, check: common::exchange_has_links },
];

/// `enable_attention_dp`: every rank of a stage has its own requests, or none has.
fn attention_dp_is_a_switch(case: &Case<'_>) -> Option<Said> {
    let ranks = case.layout.stage_ranks();
    (1 < case.layout.dp() && case.layout.dp() != ranks).then(|| {
        let said = Said::new(format!(
            "TensorRT-LLM's attention data parallelism is all or nothing: \
             each of the {ranks} ranks has requests of its own, or all share them"
        ));
        let all = changed(case.layout, |sizes| (sizes.tp, sizes.dp, sizes.dcp) = (1, ranks, 1));
        match all {
            Some(all) => said.hint(format!("{all} gives each its own")),
            None => said,
        }
    })
}
