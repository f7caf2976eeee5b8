//! llama.cpp: `--split-mode layer` is pp, `--split-mode row` is tp.

use super::common::{self, changed, count};
use super::{Rule, Said};
use crate::case::Case;
use crate::options::Exchange;
use crate::refusal::When::{Arguments, Load};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "O1", when: Arguments, check: common::memory_fraction },
    Rule { id: "O2", when: Arguments, check: common::counts },
    Rule { id: "C1", when: Arguments, check: common::pipeline },
    Rule { id: "C2", when: Arguments, check: common::attention_dp },
    Rule { id: "C3", when: Arguments, check: common::dcp },
    Rule { id: "C4", when: Arguments, check: no_ep },
    Rule { id: "K1", when: Arguments, check: one_split_mode },
    Rule { id: "A1", when: Arguments, check: no_exchange },
    Rule { id: "G1", when: Load, check: common::gpus },
    Rule { id: "L1", when: Load, check: common::stages },
];

fn no_ep(case: &Case<'_>) -> Option<Said> {
    let plain = changed(case.layout, |sizes| sizes.ep = 1)?;
    (1 < case.layout.ep()).then(|| {
        Said::new("llama.cpp does not spread experts over GPUs by owner")
            .hint(format!("{plain} is the layout without expert parallelism"))
    })
}

fn one_split_mode(case: &Case<'_>) -> Option<Said> {
    let (pp, tp) = (case.layout.pp(), case.layout.tp());
    (1 < pp && 1 < tp).then(|| {
        let gpus = count(pp * tp, "GPU");
        Said::new("llama.cpp cuts a model by layer or by row, not both").hint(format!(
            "pp{} or tp{} on the same {gpus}",
            pp * tp,
            pp * tp
        ))
    })
}

fn no_exchange(case: &Case<'_>) -> Option<Said> {
    (case.options.exchange == Exchange::AllToAll).then(|| Said::new("llama.cpp has no all-to-all"))
}
