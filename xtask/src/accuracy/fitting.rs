//! The fit of the constants to all cases, and the same fit without each group.

use super::case::Case;
use junto_plan::constants::{Constants, Key, PRIORS, engine_key};
use junto_plan::fit::{Effort, Parameter, Scope, fit};
use std::collections::BTreeSet;

/// Width of the prior on a factor, ln: engines bring attention kernels of their own, and count small
/// kernels differently; bandwidth and matrix rates they share.
fn factor_width(key: Key) -> f64 {
    match key {
        Key::AttentionMemory | Key::AttentionHalfBatch | Key::AttentionCompute => 0.4,
        Key::KernelUs | Key::IssueUs => 0.3,
        Key::DenseMemory | Key::ExpertMemory => 0.12,
        _ => 0.2,
    }
}
/// Expected error of a good row, ln.
const NOISE: f64 = 0.10;
/// A campaign of `n` rows weighs `n` to this power: a large one leads but does not rule.
const CAMPAIGN_EXPONENT: f64 = 0.7;
/// Most Gauss-Newton steps of a fit.
const STEPS: u32 = 40;

/// Weight of a time to first token beside a throughput.
const TTFT_WEIGHT: f64 = 0.3;

/// Which scopes a constant may have factors in: GPU generation, engine, kernel family.
fn scopes(key: Key) -> (bool, bool, &'static [&'static str]) {
    use Key::{
        AttentionCompute, AttentionHalfBatch, AttentionMemory, CollectiveScale, DenseCompute,
        DenseMemory, DraftUs, ExpertCompute, ExpertMemory, HopUs, IssueUs, KernelUs,
        PrefillAttention, RequestUs, SequenceUs, Skew, StepUs, SyncUs, Tail,
    };
    const FORMATS: &[&str] = &["bf16", "fp8", "int4", "mxfp4", "nvfp4"];
    const ATTENTION: &[&str] = &["mla", "gqa"];
    match key {
        DenseMemory | PrefillAttention => (true, false, &[]),
        ExpertMemory | ExpertCompute => (true, true, FORMATS),
        DenseCompute => (true, true, &["fp8", "nvfp4"]),
        AttentionMemory | AttentionHalfBatch | AttentionCompute => (true, true, ATTENTION),
        KernelUs => (true, true, &["mla", "gqa", "linear", "mlp", "quantize"]),
        IssueUs | CollectiveScale | SyncUs => (true, true, &[]),
        StepUs | SequenceUs | RequestUs | HopUs => (false, true, &[]),
        DraftUs | Skew | Tail => (false, false, &[]),
    }
}

/// The parameters that some case can speak of.
pub(super) fn parameters(cases: &[Case]) -> Vec<Parameter> {
    let gpus: BTreeSet<&str> =
        cases.iter().map(|case| case.machine.gpu.generation.as_str()).collect();
    let families = cases.iter().map(|case| engine_key(case.engine.family));
    let versions = cases.iter().map(|case| case.engine.name.as_str());
    let engines: BTreeSet<&str> = families.chain(versions).collect();
    let mut parameters = Vec::new();
    for (key, _, base, width) in PRIORS {
        parameters.push(Parameter { key, scope: Scope::Base, mean: base.ln(), width });
        let (by_gpu, by_engine, families) = scopes(key);
        let mut factor =
            |scope| parameters.push(Parameter { key, scope, mean: 0.0, width: factor_width(key) });
        if by_gpu {
            for gpu in &gpus {
                factor(Scope::Gpu((*gpu).to_string()));
            }
        }
        if by_engine {
            for engine in &engines {
                factor(Scope::Engine((*engine).to_string()));
            }
        }
        for family in families {
            factor(Scope::Family((*family).to_string()));
        }
    }
    parameters
}

/// Fits the constants to some cases, from the priors.
pub(super) fn fit_cases(cases: &[&Case], parameters: &[Parameter]) -> Constants {
    let rows_of = |group: &str| cases.iter().filter(|case| case.group == group).count() as f64;
    // A residual is squared, so a row counts as the square of its weight.
    let weight = |case: &&Case| rows_of(&case.group).powf((CAMPAIGN_EXPONENT - 1.0) / 2.0);
    let weights: Vec<f64> = cases.iter().map(weight).collect();
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let weights: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
    let part = |range: std::ops::Range<usize>, constants: &Constants, only: Option<&Parameter>| {
        let touched = range.filter(|index| only.is_none_or(|moved| touches(moved, cases[*index])));
        let residuals =
            touched.map(|index| (index, residuals_of(cases[index], constants, weights[index])));
        residuals.collect::<Vec<_>>()
    };
    let first_of = first_residuals(cases);
    let residuals = |constants: &Constants, only: Option<(&Parameter, &[f64])>| {
        let moved = only.map(|(parameter, _)| parameter);
        let half = cases.len() / 2;
        let parts = std::thread::scope(|scope| {
            let first = scope.spawn(|| part(0..half, constants, moved));
            let mut second = part(half..cases.len(), constants, moved);
            second.extend(first.join().expect("a prediction panicked"));
            second
        });
        let count = first_of.last().copied().unwrap_or(0);
        let mut all = only.map_or_else(|| vec![0.0; count], |(_, before)| before.to_vec());
        for (index, residuals) in parts {
            all[first_of[index]..first_of[index + 1]].copy_from_slice(&residuals);
        }
        all
    };
    fit(&Constants::priors(), parameters, Effort { steps: STEPS, noise: NOISE }, &residuals)
}

/// Whether a parameter can change the prediction of a case.
fn touches(parameter: &Parameter, case: &Case) -> bool {
    match &parameter.scope {
        Scope::Gpu(generation) => *generation == case.machine.gpu.generation,
        Scope::Engine(engine) => {
            *engine == case.engine.name || *engine == engine_key(case.engine.family)
        }
        Scope::Base | Scope::Family(_) => true,
    }
}

/// Whether the time to first token of a case is fitted: at low load, where it is a few passes.
fn fits_ttft(case: &Case) -> Option<f64> {
    case.ttft_ms.filter(|ms| case.load.concurrency < 17.0 && *ms < 1000.0)
}

fn residuals_of(case: &Case, constants: &Constants, weight: f64) -> Vec<f64> {
    let steady = case.known().predict(constants);
    let pairs = [
        (case.output_tok_s, steady.output_tok_s, 1.0),
        (case.tpot_ms, steady.tpot.ms(), 1.0),
        // Few passes, often one cold: it speaks, but softly.
        (fits_ttft(case), steady.ttft.ms(), TTFT_WEIGHT),
    ];
    let residual = |(measured, predicted, share): (Option<f64>, f64, f64)| {
        measured.map(|measured| (predicted / measured).ln() * weight * share)
    };
    pairs.into_iter().filter_map(residual).collect()
}

/// Where the residuals of each case start in the vector of all, and its length at the end.
fn first_residuals(cases: &[&Case]) -> Vec<usize> {
    let count =
        |case: &&Case| [case.output_tok_s, case.tpot_ms, fits_ttft(case)].iter().flatten().count();
    let ends = cases.iter().map(count).scan(0, |end, count| {
        *end += count;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Writes into each constant what it means, and what it was fitted to.
pub(super) fn describe(constants: &mut Constants, cases: &[Case]) {
    let groups: BTreeSet<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    for (key, _, prior, width) in PRIORS {
        let entry = constants.entry_mut(key);
        entry.meaning = key.meaning().to_string();
        entry.source = format!(
            "fitted to {} published rows of {} campaigns; prior {prior} within a factor {:.2}",
            cases.len(),
            groups.len(),
            width.exp()
        );
    }
}
