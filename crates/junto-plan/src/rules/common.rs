//! Rules that engines share. Each speaks for itself; the lists say what an engine calls it and when
//! it notices.

use super::{Said, engine_name, runs};
use crate::case::Case;
use crate::options::{Exchange, Placement};
use junto_spec::layout::{Layout, Sizes};
use junto_spec::machine::LinkKind;
use junto_spec::model::{Attention, Mlp, Moe};

/// `1 GPU`, `8 GPUs`.
pub(super) fn count(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The expert layers of the model, one of each kind.
pub(super) fn moes<'a>(case: &'a Case<'_>) -> impl Iterator<Item = &'a Moe> {
    case.bytes.layer_kinds().filter_map(|layer| match &layer.mlp {
        Mlp::Moe(moe) => Some(moe),
        Mlp::Dense { .. } => None,
    })
}

/// A layout with other sizes, if there is one.
pub(super) fn changed(layout: &Layout, change: impl FnOnce(&mut Sizes)) -> Option<Layout> {
    let mut sizes = layout.sizes();
    change(&mut sizes);
    Layout::new(sizes).ok()
}

pub(super) fn gpus(case: &Case<'_>) -> Option<Said> {
    let (asked, there) = (case.layout.gpus(), case.machine.gpus());
    (there < asked).then(|| {
        let said = Said::new(format!("needs {}, the machine has {there}", count(asked, "GPU")));
        match smaller(case.layout, there) {
            Some(layout) => said.hint(format!("{layout} is as wide as they allow")),
            None => said,
        }
    })
}

/// The layout with fewer replicas, or with one axis divided, so that it has at most `gpus`.
fn smaller(layout: &Layout, gpus: u32) -> Option<Layout> {
    let replicas = gpus / layout.ranks();
    if 0 < replicas {
        return changed(layout, |sizes| sizes.replicas = replicas);
    }
    let factor = layout.ranks().div_ceil(gpus);
    let shrink = |axis: fn(&mut Sizes) -> &mut u32| {
        let whole = axis(&mut layout.sizes()).is_multiple_of(factor);
        let shrunk = changed(layout, |sizes| {
            *axis(sizes) /= factor;
            (sizes.ep, sizes.replicas) = (sizes.ep.min(sizes.tp * sizes.dp), 1);
        });
        shrunk.filter(|layout| whole && layout.gpus() <= gpus)
    };
    shrink(|sizes| &mut sizes.tp)
        .or_else(|| shrink(|sizes| &mut sizes.dp))
        .or_else(|| shrink(|sizes| &mut sizes.pp))
}

pub(super) fn memory_fraction(case: &Case<'_>) -> Option<Said> {
    let fraction = case.options.memory_fraction?;
    (!(0.0 < fraction && fraction <= 1.0)).then(|| {
        Said::new(format!("a memory fraction of {fraction} is no fraction"))
            .hint(format!("the default is {}", case.engine.defaults.memory_fraction))
    })
}

pub(super) fn counts(case: &Case<'_>) -> Option<Said> {
    let options = case.options;
    let zero = [
        ("running requests", options.max_running),
        ("tokens in a prefill chunk", options.chunked_prefill),
        ("requests in a micro-batch", options.micro_batch),
        ("tokens of context", options.max_context),
    ]
    .into_iter()
    .find(|(_, size)| *size == Some(0));
    zero.map(|(what, _)| Said::new(format!("at most 0 {what} is nothing to serve with")))
}

pub(super) fn pipeline(case: &Case<'_>) -> Option<Said> {
    (1 < case.layout.pp() && !case.engine.can.pipeline)
        .then(|| Said::new(format!("{} has no pipeline stages", engine_name(case))))
}

pub(super) fn attention_dp(case: &Case<'_>) -> Option<Said> {
    let Sizes { dp, replicas, .. } = case.layout.sizes();
    (1 < dp && !case.engine.can.attention_dp).then(|| {
        let said = Said::new(format!("{} has no attention data parallelism", engine_name(case)));
        let apart = changed(case.layout, |sizes| {
            *sizes = Sizes { dp: 1, ep: 1, replicas: replicas * dp, ..*sizes };
        });
        match apart.filter(|layout| runs(&Case { layout, ..*case }).is_some()) {
            Some(apart) => said.hint(format!("{apart} are independent replicas")),
            None => said,
        }
    })
}

pub(super) fn dcp(case: &Case<'_>) -> Option<Said> {
    let dcp = case.layout.dcp();
    (1 < dcp && !case.engine.can.dcp).then(|| {
        let name = engine_name(case);
        Said::new(format!("{name} cannot share a KV cache over ranks, so there is no dcp{dcp}"))
            .hint("vLLM 0.33 and SGLang 0.5.23 can")
    })
}

pub(super) fn stages(case: &Case<'_>) -> Option<Said> {
    let (stages, layers) = (case.layout.pp(), case.model.layers.len() as u32);
    (layers < stages).then(|| {
        Said::new(format!("{stages} stages, but the model has only {}", count(layers, "layer")))
    })
}

pub(super) fn experts_exist(case: &Case<'_>) -> Option<Said> {
    (1 < case.layout.ep() && moes(case).next().is_none()).then(|| {
        let said = Said::new(format!("{} has no experts to be parallel with", case.model.name));
        match changed(case.layout, |sizes| sizes.ep = 1) {
            Some(plain) => said.hint(format!("{plain} is the layout without")),
            None => said,
        }
    })
}

/// Query heads over `tp`, key-value heads over `tp` or `tp` over them, linear heads over `tp`.
pub(super) fn heads(case: &Case<'_>) -> Option<Said> {
    let tp = case.layout.tp();
    case.bytes.layer_kinds().find_map(|layer| match &layer.attention {
        Attention::Mla(mla) => whole(mla.num_attention_heads, "attention head", tp),
        Attention::Gqa(gqa) => whole(gqa.num_attention_heads, "attention head", tp)
            .or_else(|| key_value_heads(gqa.num_key_value_heads, tp)),
        Attention::Linear(linear) => whole(linear.num_key_heads, "linear-attention key head", tp)
            .or_else(|| whole(linear.num_value_heads, "linear-attention value head", tp)),
    })
}

fn whole(heads: u32, noun: &str, tp: u32) -> Option<Said> {
    (!heads.is_multiple_of(tp)).then(|| {
        Said::new(format!("tp{tp} does not divide the {}", count(heads, noun)))
            .hint(format!("tp can be {}", listed(divisors(heads))))
    })
}

fn key_value_heads(heads: u32, tp: u32) -> Option<Said> {
    (!heads.is_multiple_of(tp) && !tp.is_multiple_of(heads)).then(|| {
        let heads = count(heads, "key-value head");
        Said::new(format!("{heads} can neither be dealt out to tp{tp} nor copied to it evenly"))
    })
}

/// Numbers that divide `n`.
pub(super) fn divisors(n: u32) -> impl Iterator<Item = u32> {
    (1..=n).filter(move |divisor| n.is_multiple_of(*divisor))
}

/// `1, 2, 4 or 8`.
pub(super) fn listed(numbers: impl Iterator<Item = u32>) -> String {
    let mut texts: Vec<String> = numbers.map(|number| number.to_string()).collect();
    match texts.pop() {
        Some(last) if texts.is_empty() => last,
        Some(last) => format!("{} or {last}", texts.join(", ")),
        None => String::new(),
    }
}

pub(super) fn experts_divide(case: &Case<'_>) -> Option<Said> {
    let ep = case.layout.ep();
    let uneven = moes(case).find(|moe| !moe.n_routed_experts.is_multiple_of(ep))?;
    let experts = uneven.n_routed_experts;
    Some(
        Said::new(format!("ep{ep} does not divide the {experts} experts"))
            .hint(format!("ep can be {}", listed(divisors(experts)))),
    )
}

pub(super) fn expert_columns_divide(case: &Case<'_>) -> Option<Said> {
    let moe_tp = case.layout.moe_tp();
    let uneven = moes(case).find(|moe| !moe.moe_intermediate_size.is_multiple_of(moe_tp))?;
    let width = uneven.moe_intermediate_size;
    Some(Said::new(format!("an expert {width} wide cannot be cut into {moe_tp} equal parts")))
}

pub(super) fn ranks_have_experts(case: &Case<'_>) -> Option<Said> {
    let ep = case.layout.ep();
    let few = moes(case).find(|moe| moe.n_routed_experts < ep)?;
    Some(Said::new(format!(
        "ep{ep} leaves ranks without any of the {} experts",
        few.n_routed_experts
    )))
}

pub(super) fn balancing_has_ep(case: &Case<'_>) -> Option<Said> {
    let balances = case.options.placement == Placement::Balanced;
    (balances && case.layout.ep() == 1).then(|| {
        Said::new("there is nothing to balance: with ep1 every rank has a slice of every expert")
            .hint("balanced placement needs ep of 2 or more")
    })
}

pub(super) fn exchange_has_ep(case: &Case<'_>) -> Option<Said> {
    let dispatches = case.options.exchange == Exchange::AllToAll;
    (dispatches && case.layout.ep() == 1).then(|| {
        Said::new("an all-to-all has nowhere to send tokens: with ep1 every rank has every expert")
    })
}

/// DeepEP's kernels inside a host need `NVLink`, those between hosts RDMA; PCIe boxes have neither
/// (deepseek-ai/DeepEP issues 162, 216 and 462).
pub(super) fn exchange_has_links(case: &Case<'_>) -> Option<Said> {
    let dispatches = case.options.exchange == Exchange::AllToAll;
    (dispatches && case.machine.link(LinkKind::Nvlink).is_none()).then(|| {
        Said::new("DeepEP needs NVLink inside a host, and these GPUs are joined by PCIe")
            .hint("leave the exchange at gather and scatter")
    })
}

/// Hosts that one replica spans; what has too many ranks for the machine is another rule's matter.
pub(super) fn hosts(case: &Case<'_>) -> u32 {
    let hosts = case.layout.ranks().div_ceil(case.machine.gpus_per_host);
    if hosts <= case.machine.hosts { hosts } else { 1 }
}

pub(super) fn hosts_are_equal(case: &Case<'_>) -> Option<Said> {
    let (ranks, hosts) = (case.layout.ranks(), hosts(case));
    (!ranks.is_multiple_of(hosts)).then(|| {
        Said::new(format!("{ranks} ranks cannot be spread evenly over {hosts} hosts"))
            .hint(format!("fill the hosts: {} ranks", hosts * case.machine.gpus_per_host))
    })
}
