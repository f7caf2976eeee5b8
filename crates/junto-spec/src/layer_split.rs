//! Which decoder layers each pipeline stage holds.

use std::ops::Range;

/// How layers are shared out over pipeline stages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitRule<'a> {
    /// SGLang's default: the remainder goes to the last stages, which also hold the head.
    Sglang,
    /// vLLM's default: the remainder goes backward from the last stage but one.
    Vllm,
    /// The split with the cheapest dearest stage: the native engine's, and what junto passes to
    /// the others (`SGLANG_PP_LAYER_PARTITION`, `VLLM_PP_LAYER_PARTITION`).
    Balanced(&'a StageCosts),
}

/// What layers cost, in any one unit (bytes to read, seconds).
#[derive(Clone, Debug, PartialEq)]
pub struct StageCosts {
    /// Cost of each layer.
    pub layers: Vec<f64>,
    /// What the first stage does besides (embedding).
    pub first: f64,
    /// What the last stage does besides (norm, head, sampling).
    pub last: f64,
}

/// The layers of each of `pp` stages: consecutive, in order, all of `0..layers`.
///
/// Stages are empty where there are more stages than layers.
pub fn layer_split(layers: u32, pp: u32, rule: SplitRule<'_>) -> Vec<Range<u32>> {
    assert!(0 < pp);
    let (base, rest) = (layers / pp, layers % pp);
    let sizes = match rule {
        SplitRule::Sglang => (0..pp).map(|stage| base + u32::from(pp - rest <= stage)).collect(),
        // The last stage gets none of the rest: `rest` < `pp` stages end just before it.
        SplitRule::Vllm => (0..pp)
            .map(|stage| base + u32::from(pp - 1 - rest <= stage && stage < pp - 1))
            .collect(),
        SplitRule::Balanced(costs) => {
            assert_eq!(costs.layers.len(), layers as usize, "one cost for each layer");
            balanced(costs, pp as usize)
        }
    };
    let mut start = 0;
    let stage = |size: u32| {
        start += size;
        start - size..start
    };
    sizes.into_iter().map(stage).collect()
}

/// The sizes of stages that minimize the dearest stage; among those, the sum of squared costs;
/// among those, the one with more layers in earlier stages.
fn balanced(costs: &StageCosts, pp: usize) -> Vec<u32> {
    let mut before = vec![0.0];
    for cost in &costs.layers {
        before.push(before[before.len() - 1] + cost);
    }
    let cost = |stage: usize, from: usize, to: usize| {
        let first = if stage == 0 { costs.first } else { 0.0 };
        let last = if stage == pp - 1 { costs.last } else { 0.0 };
        before[to] - before[from] + first + last
    };
    let (_, dearest) = best_split(costs.layers.len(), pp, |stage, from, to, rest: f64| {
        rest.max(cost(stage, from, to))
    });
    let bound = dearest * (1.0 + 1e-9);
    best_split(costs.layers.len(), pp, |stage, from, to, rest| {
        let cost = cost(stage, from, to);
        if cost <= bound { rest + cost * cost } else { f64::INFINITY }
    })
    .0
}

/// Dynamic program over the first layer of each stage, from the last stage back. `join` is the
/// score of a stage `from..to` followed by stages that score `rest`.
fn best_split(
    layers: usize,
    pp: usize,
    join: impl Fn(usize, usize, usize, f64) -> f64,
) -> (Vec<u32>, f64) {
    // best[from] = score of the stages so far when they hold layers from.. ; ends[stage][from].
    let mut best: Vec<f64> = (0..=layers).map(|from| join(pp - 1, from, layers, 0.0)).collect();
    let mut ends = vec![vec![layers; layers + 1]; pp];
    for stage in (0..pp - 1).rev() {
        let rest = best.clone();
        for from in 0..=layers {
            best[from] = f64::INFINITY;
            // Longest first, and a shorter one only if clearly better: ties keep early stages full.
            for to in (from..=layers).rev() {
                let score = join(stage, from, to, rest[to]);
                if score < best[from] * (1.0 - 1e-12) || best[from].is_infinite() {
                    (best[from], ends[stage][from]) = (score, to);
                }
            }
        }
    }
    let mut from = 0;
    let sizes = ends
        .iter()
        .map(|end| {
            let size = end[from] - from;
            from = end[from];
            size as u32
        })
        .collect();
    (sizes, best[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(layers: u32, pp: u32, rule: SplitRule<'_>) -> Vec<u32> {
        layer_split(layers, pp, rule).iter().map(ExactSizeIterator::len).map(|n| n as u32).collect()
    }

    #[test]
    fn sixty_one_layers_over_eight_stages() {
        assert_eq!(sizes(61, 8, SplitRule::Sglang), [7, 7, 7, 8, 8, 8, 8, 8]);
        assert_eq!(sizes(61, 8, SplitRule::Vllm), [7, 7, 8, 8, 8, 8, 8, 7]);
        // Kimi K2.6 in GB: layer 0 is dense, the head 2.35 GB.
        let mut layers = vec![9.8; 61];
        layers[0] = 1.0;
        let costs = StageCosts { layers, first: 0.0, last: 2.35 };
        assert_eq!(sizes(61, 8, SplitRule::Balanced(&costs)), [8, 8, 8, 8, 8, 7, 7, 7]);
    }

    #[test]
    fn an_even_split_is_the_same_by_every_rule() {
        let costs = StageCosts { layers: vec![0.1; 48], first: 0.0, last: 0.05 };
        for rule in [SplitRule::Sglang, SplitRule::Vllm, SplitRule::Balanced(&costs)] {
            assert_eq!(sizes(48, 4, rule), [12; 4]);
            assert_eq!(sizes(48, 1, rule), [48]);
        }
    }

    #[test]
    fn a_dear_head_takes_layers_from_its_stage() {
        let costs = StageCosts { layers: vec![1.0; 8], first: 0.0, last: 2.0 };
        assert_eq!(sizes(8, 2, SplitRule::Balanced(&costs)), [5, 3]);
    }

    proptest! {
        #[test]
        fn every_layer_has_one_stage(layers in 0u32..90, pp in 1u32..17, last in 0.0..5.0) {
            let costs = StageCosts { layers: vec![1.0; layers as usize], first: 0.0, last };
            for rule in [SplitRule::Sglang, SplitRule::Vllm, SplitRule::Balanced(&costs)] {
                let stages = layer_split(layers, pp, rule);
                prop_assert_eq!(stages.len(), pp as usize);
                prop_assert_eq!(stages.iter().flat_map(Clone::clone).collect::<Vec<_>>(),
                    (0..layers).collect::<Vec<_>>());
            }
        }
    }
}
