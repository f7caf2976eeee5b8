//! junto's own engine: every layout but decode context parallelism.

use super::common;
use super::{Rule, Said, formats};
use crate::case::Case;
use crate::refusal::When::{Arguments, Load};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "O1", when: Arguments, check: common::memory_fraction },
    Rule { id: "O2", when: Arguments, check: common::counts },
    Rule { id: "C1", when: Arguments, check: common::pipeline },
    Rule { id: "C2", when: Arguments, check: common::attention_dp },
    Rule { id: "G1", when: Arguments, check: common::gpus },
    Rule { id: "C3", when: Arguments, check: common::dcp },
    Rule { id: "L1", when: Arguments, check: common::stages },
    Rule { id: "E1", when: Arguments, check: common::experts_exist },
    Rule { id: "H1", when: Arguments, check: common::heads },
    Rule { id: "X1", when: Arguments, check: common::experts_divide },
    Rule { id: "X1", when: Arguments, check: common::expert_columns_divide },
    Rule { id: "Q1", when: Arguments, check: formats::fp8_tiles },
    Rule { id: "Q2", when: Arguments, check: formats::int4_groups },
    Rule { id: "E2", when: Arguments, check: common::balancing_has_ep },
    Rule { id: "A1", when: Arguments, check: common::exchange_has_ep },
    Rule { id: "O2", when: Load, check: no_draft },
];

fn no_draft(case: &Case<'_>) -> Option<Said> {
    let speculates = case.options.speculation.is_some();
    speculates.then(|| Said::new("junto's engine does not speculate").hint("turn speculation off"))
}
