//! What four measured points of a campaign are worth on the rest of it.

use super::case::Case;
use super::score::Scored;
use junto_plan::calibrate::{Known, calibrate};
use junto_plan::constants::Constants;
use std::collections::{BTreeMap, BTreeSet};

/// Draws of calibration points per group.
const DRAWS: u64 = 5;

/// Scores of the cases that were not drawn, after calibrating with `points` drawn ones, over several
/// draws; groups with fewer than `points + 2` cases are left out.
///
/// `start` gives, for each group, constants that have not seen it.
pub(super) fn calibrated(
    cases: &[Case],
    start: &BTreeMap<String, Constants>,
    points: usize,
) -> Vec<(usize, Scored)> {
    let groups: BTreeSet<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    let mut scored = Vec::new();
    for group in groups {
        let members: Vec<usize> =
            (0..cases.len()).filter(|index| cases[*index].group == group).collect();
        if members.len() < points + 2 {
            continue;
        }
        for draw in 0..DRAWS {
            let drawn = sample(&members, points, draw);
            let known: Vec<Known> = drawn.iter().map(|index| cases[*index].known()).collect();
            let constants = calibrate(&start[group], &known);
            let rest = members.iter().filter(|index| !drawn.contains(index));
            scored.extend(rest.map(|index| (*index, cases[*index].score(&constants))));
        }
    }
    scored
}

/// `count` of `members`, by a seeded shuffle (splitmix64).
fn sample(members: &[usize], count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed.wrapping_add(members.len() as u64);
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut pool = members.to_vec();
    (0..count).map(|_| pool.swap_remove((next() % pool.len() as u64) as usize)).collect()
}
