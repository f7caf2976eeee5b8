//! Whether the model puts layouts in the right order, and what it costs when it does not.

use super::case::Case;
use super::score::quantile;
use serde::Serialize;
use std::collections::BTreeMap;

/// How well layouts are ranked: over sets of rows of one campaign that differ in the layout alone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Ranking {
    /// Sets with two layouts or more.
    pub sets: usize,
    /// Pairs of layouts in those sets.
    pub pairs: usize,
    /// Share of pairs in the measured order, or measured within the spread of repeated runs.
    pub right: f64,
    /// Share of pairs that are predicted apart by more than the ratio band and in the wrong order.
    pub false_order: f64,
    /// Mean share of speed lost by taking the layout predicted best, ties or not.
    pub regret: f64,
    /// Mean over campaigns of their mean regrets, so that one large campaign is one voice.
    pub regret_of_campaigns: f64,
    /// The same by taking the best measured of those tied with it, as the planner advises.
    pub regret_measuring_ties: f64,
    /// Share of sets in which something is tied with the best.
    pub tied: f64,
}

/// The sets: indexes of cases that share everything but the layout.
pub(super) fn sets(cases: &[Case]) -> Vec<Vec<usize>> {
    let mut sets: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        let key = format!(
            "{} {} {} {:?} {:?} {:?}",
            case.group,
            case.machine.name,
            case.engine.name,
            case.work.spec.quantization,
            case.options,
            case.load
        );
        sets.entry(key).or_default().push(index);
    }
    let several = |set: &Vec<usize>| {
        set.iter().any(|index| cases[*index].prepared.layout != cases[set[0]].prepared.layout)
    };
    sets.into_values().filter(several).collect()
}

/// Measured difference, in ln, up to which two layouts are equally fast: the spread of repeated runs.
const SPREAD: f64 = 0.02;
/// Share of wrong orders that the trusted separation keeps out.
const SHARE: f64 = 0.9;

/// The separation, in ln, below which nine in ten of the pairs lie that are predicted in the wrong
/// order.
pub(super) fn trusted_separation(cases: &[Case], predicted: &[f64]) -> f64 {
    let mut wrong: Vec<f64> = Vec::new();
    for set in sets(cases) {
        for (a, b) in pairs(&set) {
            if let (Some(x), Some(y)) = (cases[a].output_tok_s, cases[b].output_tok_s) {
                let (told, measured) = ((predicted[a] / predicted[b]).ln(), (x / y).ln());
                if told * measured < 0.0 && SPREAD < measured.abs() {
                    wrong.push(told.abs());
                }
            }
        }
    }
    wrong.sort_by(f64::total_cmp);
    if wrong.is_empty() { 0.0 } else { quantile(&wrong, SHARE) }
}

/// Ranks by predicted output throughput; pairs closer than `band` (in ln) are tied.
pub(super) fn rank(cases: &[Case], predicted: &[f64], band: f64) -> Ranking {
    let mut ranking = Ranking::default();
    let (mut right, mut wrong) = (0.0, 0.0);
    let mut campaigns: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for set in sets(cases) {
        let measured: Vec<(f64, f64)> = set
            .iter()
            .filter_map(|index| Some((predicted[*index], cases[*index].output_tok_s?)))
            .collect();
        let best = measured.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
        let taken = measured.iter().max_by(|(a, _), (b, _)| a.total_cmp(b));
        let Some((_, taken)) = taken else { continue };
        ranking.sets += 1;
        ranking.regret += 1.0 - taken / best;
        let (sum, sets) = campaigns.entry(cases[set[0]].group.as_str()).or_insert((0.0, 0.0));
        *sum += 1.0 - taken / best;
        *sets += 1.0;
        let top = measured.iter().map(|(predicted, _)| *predicted).fold(0.0, f64::max);
        let near: Vec<f64> = measured
            .iter()
            .filter(|(predicted, _)| (top / predicted).ln() <= band)
            .map(|(_, speed)| *speed)
            .collect();
        ranking.tied += f64::from(u8::from(near.len() > 1));
        ranking.regret_measuring_ties += 1.0 - near.into_iter().fold(0.0, f64::max) / best;
        for (a, b) in pairs(&(0..measured.len()).collect::<Vec<_>>()) {
            let predicted = (measured[a].0 / measured[b].0).ln();
            let measured = (measured[a].1 / measured[b].1).ln();
            let agrees = predicted * measured >= 0.0 || measured.abs() <= SPREAD;
            ranking.pairs += 1;
            right += f64::from(u8::from(agrees));
            wrong += f64::from(u8::from(!agrees && band < predicted.abs()));
        }
    }
    let means: Vec<f64> = campaigns.values().map(|(sum, sets)| sum / sets).collect();
    ranking.regret_of_campaigns = means.iter().sum::<f64>() / means.len().max(1) as f64;
    let sets = ranking.sets.max(1) as f64;
    ranking.regret /= sets;
    ranking.regret_measuring_ties /= sets;
    ranking.tied /= sets;
    ranking.right = right / ranking.pairs.max(1) as f64;
    ranking.false_order = wrong / ranking.pairs.max(1) as f64;
    ranking
}

fn pairs(set: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    set.iter().enumerate().flat_map(|(i, a)| set[i + 1..].iter().map(|b| (*a, *b)))
}
