//! SGLang, from the code of 0.5.11 and 0.5.23.
//!
//! Its asserts are often empty and some mistakes it repairs in silence, so the texts here are ours.
//! Rules of its own that no layout of junto can break:
//!
//! | id | rule | why it cannot break |
//! |---|---|---|
//! | S2, S3 | `ep` divides the ranks of a stage | `Layout` has no others |
//! | S4 | `moe_dp_size` | never passed |
//! | S5 | `dp` divides `--tp-size` | junto passes `tp * dp` as `--tp-size` |
//! | S6, S7 | replicas with attention data parallelism, or over hosts | every replica is a server of its own |
//! | S8 | `dp` 1 turns attention data parallelism off in silence | passed for `dp` above 1 only |
//! | S9, S14, S15, S16 | `moe_dense_tp_size`, MoE runners, two-batch overlap | never passed |
//! | S13 | `deepep_mode normal` turns CUDA graphs off | the mode is left at `auto` |
//! | S18 | balancing without all-to-all must not choose replicas per rank | no redundant experts |
//! | S26 | other processes on the GPUs | not a matter of layout: found when launching |
//! | S27 | prefill chunks are whole pages | pages of one token unless asked |
//! | S29, S30 | names with a colon; `trtllm_mla` | the launcher's matter; never passed |

use super::common::{self, changed, hosts};
use super::{Rule, Said, engine_name, formats};
use crate::case::Case;
use crate::options::Exchange;
use crate::refusal::When::{Arguments, GroupInit, Load};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "O1", when: Arguments, check: common::memory_fraction },
    Rule { id: "S11", when: Arguments, check: common::counts },
    Rule { id: "C1", when: Arguments, check: common::pipeline },
    Rule { id: "C2", when: Arguments, check: common::attention_dp },
    Rule { id: "C3", when: Arguments, check: common::dcp },
    Rule { id: "S1", when: Arguments, check: common::hosts_are_equal },
    Rule { id: "S1", when: Arguments, check: whole_stages_per_host },
    Rule { id: "S10", when: Arguments, check: no_draft_in_stages },
    Rule { id: "S12", when: Arguments, check: deepep_sets_ep },
    Rule { id: "S17", when: Arguments, check: common::balancing_has_ep },
    Rule { id: "G1", when: GroupInit, check: common::gpus },
    Rule { id: "E1", when: Load, check: common::experts_exist },
    Rule { id: "L1", when: Load, check: common::stages },
    Rule { id: "S19", when: Load, check: common::heads },
    Rule { id: "S20", when: Load, check: ranks_at_most_experts },
    Rule { id: "S21", when: Load, check: common::experts_divide },
    Rule { id: "S21", when: Load, check: common::expert_columns_divide },
    Rule { id: "Q1", when: Load, check: formats::fp8_tiles },
    Rule { id: "S22", when: Load, check: formats::marlin_hidden },
    Rule { id: "S22", when: Load, check: formats::int4_marlin },
    Rule { id: "S23", when: Load, check: formats::int4_by_deepep },
    Rule { id: "A2", when: Load, check: common::exchange_has_links },
];

/// `pp_size_per_node`, `nnodes_per_tp_group`: stages are whole hosts, or hosts whole stages.
fn whole_stages_per_host(case: &Case<'_>) -> Option<Said> {
    let (pp, hosts) = (case.layout.pp(), hosts(case));
    (!pp.is_multiple_of(hosts) && !hosts.is_multiple_of(pp)).then(|| {
        Said::new(format!("{pp} stages over {hosts} hosts: some stage would straddle hosts"))
            .hint("let pp be a multiple or a divisor of the number of hosts")
    })
}

fn no_draft_in_stages(case: &Case<'_>) -> Option<Said> {
    (1 < case.layout.pp() && case.options.speculation.is_some()).then(|| {
        Said::new(format!("{} does not speculate over pipeline stages", engine_name(case)))
            .hint("turn speculation off, or use tp")
    })
}

/// With an all-to-all backend, `ep_size` becomes `tp_size` with no more than a warning.
fn deepep_sets_ep(case: &Case<'_>) -> Option<Said> {
    let (ep, ranks) = (case.layout.ep(), case.layout.stage_ranks());
    (case.options.exchange == Exchange::AllToAll && ep != ranks).then(|| {
        let said =
            Said::new(format!("DeepEP sets ep to the {ranks} ranks of a stage, whatever is asked"));
        match changed(case.layout, |sizes| sizes.ep = ranks) {
            Some(layout) => said.hint(format!("ask for {layout}")),
            None => said,
        }
    })
}

fn ranks_at_most_experts(case: &Case<'_>) -> Option<Said> {
    let ranks = case.layout.stage_ranks();
    let few = common::moes(case).find(|moe| moe.n_routed_experts < ranks)?;
    let experts = few.n_routed_experts;
    Some(
        Said::new(format!("a stage of {ranks} ranks is wider than the {experts} experts"))
            .hint("use more stages"),
    )
}
