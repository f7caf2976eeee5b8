//! The widths of the bands, from errors on left-out groups.

use super::case::Case;
use super::score::{Scored, quantile};
use junto_plan::band::{Bands, Support, campaign_key};
use std::collections::{BTreeMap, BTreeSet};

/// The share of rows that a band should hold.
const SHARE: f64 = 0.9;

/// Campaigns of each engine and GPU generation.
pub(super) fn campaigns(cases: &[Case]) -> BTreeMap<String, usize> {
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for case in cases {
        groups.entry(key(case)).or_default().insert(&case.group);
    }
    groups.into_iter().map(|(key, groups)| (key, groups.len())).collect()
}

fn key(case: &Case) -> String {
    campaign_key(case.engine.family, &case.machine.gpu.generation)
}

/// What support a left-out case had: its own campaign does not count.
pub(super) fn support(case: &Case, campaigns: &BTreeMap<String, usize>) -> Support {
    Support::of(campaigns[&key(case)] - 1)
}

/// The widths by support, from the errors of left-out cases; `skip` names a group that must not
/// judge itself.
pub(super) fn by_support(cases: &[Case], left: &[(usize, Scored)], skip: Option<&str>) -> [f64; 3] {
    let campaigns = campaigns(cases);
    [Support::Unseen, Support::Few, Support::Many].map(|wanted| {
        let chosen = left.iter().filter(|(index, _)| {
            let case = &cases[*index];
            support(case, &campaigns) == wanted && skip != Some(case.group.as_str())
        });
        width(chosen.flat_map(|(_, scored)| scored.log_errors()))
    })
}

/// The 90th percentile of |error|; widened for small samples as a conformal band is,
/// `⌈0.9 (n + 1)⌉ / n`.
pub(super) fn width(errors: impl Iterator<Item = f64>) -> f64 {
    let mut errors: Vec<f64> = errors.map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    let n = errors.len() as f64;
    if errors.is_empty() { 1.0 } else { quantile(&errors, (SHARE * (n + 1.0) / n).min(1.0)) }
}

/// Share of left-out rows inside bands whose widths their own group had no part in.
pub(super) fn coverage(cases: &[Case], left: &[(usize, Scored)]) -> f64 {
    let campaigns = campaigns(cases);
    let mut inside = 0.0;
    let mut all = 0.0;
    let mut widths: BTreeMap<&str, [f64; 3]> = BTreeMap::new();
    for (index, scored) in left {
        let case = &cases[*index];
        let widths =
            widths.entry(&case.group).or_insert_with(|| by_support(cases, left, Some(&case.group)));
        let width = widths[support(case, &campaigns) as usize];
        for error in scored.log_errors() {
            all += 1.0;
            inside += f64::from(u8::from(error.abs() <= width));
        }
    }
    inside / f64::max(all, 1.0)
}

/// Share of rows inside a band of one width.
pub(super) fn inside(scored: &[(usize, Scored)], bands: &Bands, cases: &[Case]) -> f64 {
    let held = scored.iter().flat_map(|(index, scored)| {
        let case = &cases[*index];
        let width = bands.width(case.engine.family, &case.machine.gpu.generation);
        scored.log_errors().map(move |error| f64::from(u8::from(error.abs() <= width)))
    });
    let held: Vec<f64> = held.collect();
    held.iter().sum::<f64>() / held.len().max(1) as f64
}
