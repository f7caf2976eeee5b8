//! What to do where memory is short: found by trying.

use super::common::{changed, count};
use super::runs;
use crate::case::Case;
use crate::memory::Memory;
use crate::options::Options;
use junto_spec::format::KvFormat;
use junto_spec::layout::{Layout, Sizes};

/// Fewer KV tokens than this are no advice.
const WORTHWHILE_TOKENS: f64 = 8192.0;

/// What would fit: a larger fraction or an FP8 cache where that is enough, the same GPUs in another
/// layout, or more GPUs.
pub(super) fn for_memory(case: &Case<'_>, rule: &str) -> Option<String> {
    let by_options = match rule {
        "M1" => None,
        "M3" => smaller_fraction(case),
        "M4" => eight_bit_cache(case).or_else(|| larger_fraction(case)),
        _ => larger_fraction(case),
    };
    by_options.or_else(|| same_gpus(case)).or_else(|| more_gpus(case))
}

/// `4,700`, `177k`, `1.2M`.
pub(super) fn thousands(number: f64) -> String {
    match number {
        small if small < 1e3 => format!("{small:.0}"),
        small if small < 1e4 => format!("{:.1}k", small / 1e3),
        medium if medium < 1e6 => format!("{:.0}k", medium / 1e3),
        large => format!("{:.1}M", large / 1e6),
    }
}

fn with<'a>(case: &Case<'a>, options: &'a Options) -> Option<Memory> {
    runs(&Case { options, ..*case }).filter(|memory| WORTHWHILE_TOKENS <= memory.kv_tokens)
}

fn fraction_hint(case: &Case<'_>, percent: u32) -> Option<String> {
    let fraction = f64::from(percent) / 100.0;
    let options = Options { memory_fraction: Some(fraction), ..*case.options };
    let memory = with(case, &options)?;
    let tokens = thousands(memory.kv_tokens);
    Some(format!("a memory fraction of {fraction} leaves room for {tokens} tokens of KV cache"))
}

fn larger_fraction(case: &Case<'_>) -> Option<String> {
    let percent = (case.memory_fraction() * 100.0).floor() as u32;
    let default = (case.engine.defaults.memory_fraction * 100.0).round() as u32;
    [default]
        .into_iter()
        .filter(|default| percent < *default)
        .chain(percent + 1..=97)
        .find_map(|percent| fraction_hint(case, percent))
}

fn smaller_fraction(case: &Case<'_>) -> Option<String> {
    let percent = (case.memory_fraction() * 100.0).ceil() as u32;
    (50..percent).rev().find_map(|percent| fraction_hint(case, percent))
}

fn eight_bit_cache(case: &Case<'_>) -> Option<String> {
    let options = Options { kv: KvFormat::Fp8, ..*case.options };
    let memory = with(case, &options).filter(|_| case.options.kv == KvFormat::Bf16)?;
    Some(format!("an FP8 KV cache holds {} tokens", thousands(memory.kv_tokens)))
}

/// Whether every rank has experts of its own.
fn is_full(layout: &Layout) -> bool {
    1 < layout.ep() && layout.ep() == layout.stage_ranks()
}

/// `tp` ranks a stage and `pp` stages, with full expert parallelism where the layout has it.
fn shape(layout: &Layout, pp: u32, tp: u32) -> Option<Layout> {
    let Sizes { ep, replicas, .. } = layout.sizes();
    let ep = if is_full(layout) { tp } else { ep };
    let plain = Sizes { pp, tp, ep, replicas, ..Sizes::default() };
    Layout::new(plain).or_else(|_| Layout::new(Sizes { ep: 1, ..plain })).ok()
}

fn fitting(case: &Case<'_>, layout: &Layout) -> Option<String> {
    let memory =
        runs(&Case { layout, ..*case }).filter(|memory| WORTHWHILE_TOKENS <= memory.kv_tokens)?;
    let tokens = thousands(memory.kv_tokens);
    Some(format!("{} of weights per GPU and {tokens} tokens of KV cache", memory.weights))
}

fn same_gpus(case: &Case<'_>) -> Option<String> {
    let ranks = case.layout.ranks();
    let shapes = [1, 2, 4, 8].into_iter().filter(|pp| ranks.is_multiple_of(*pp));
    let layouts = shapes.filter_map(|pp| shape(case.layout, pp, ranks / pp));
    layouts.filter(|layout| layout != case.layout).find_map(|layout| {
        let gpus = count(layout.gpus(), "GPU");
        Some(format!("{layout} fits on the same {gpus}: {}", fitting(case, &layout)?))
    })
}

fn more_gpus(case: &Case<'_>) -> Option<String> {
    let Sizes { pp, dp, tp, ep, .. } = case.layout.sizes();
    let wider = |factor: u32| {
        let ep = if is_full(case.layout) { ep * factor } else { ep };
        changed(case.layout, |sizes| (sizes.tp, sizes.ep) = (tp * factor, ep))
    };
    let plain = |factor: u32| shape(case.layout, pp, tp * dp * factor);
    let longer = |factor: u32| changed(case.layout, |sizes| sizes.pp = pp * factor);
    let layouts = [2, 4, 8, 16]
        .into_iter()
        .flat_map(|factor| [wider(factor), plain(factor), longer(factor)].into_iter().flatten());
    layouts.into_iter().find_map(|layout| {
        let what = fitting(case, &layout)?;
        let there = layout.gpus() <= case.machine.gpus();
        let verb = if there { "fits" } else { "would fit" };
        Some(format!("{layout} {verb} on {}: {what}", count(layout.gpus(), "GPU")))
    })
}
