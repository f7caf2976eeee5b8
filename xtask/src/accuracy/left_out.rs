//! What the model says of a campaign that its constants never saw.

use super::case::Case;
use super::fitting::{fit_cases, parameters};
use junto_plan::constants::Constants;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Gauss-Newton steps from the full fit; a left-out group moves few constants far.
const STEPS: u32 = 6;

/// Constants fitted without each group, by group.
pub(super) fn leave_one_group_out(
    fitted: &Constants,
    cases: &[Case],
    story: &mut impl Write,
) -> std::io::Result<BTreeMap<String, Constants>> {
    let parameters = parameters(cases);
    let groups: BTreeSet<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    let total = groups.len();
    let mut constants = BTreeMap::new();
    for (index, group) in groups.into_iter().enumerate() {
        writeln!(story, "[{:2}/{total}] refit without {group}", index + 1)?;
        let rest: Vec<&Case> = cases.iter().filter(|case| case.group != group).collect();
        constants.insert(group.to_string(), fit_cases(fitted, &rest, &parameters, STEPS));
    }
    Ok(constants)
}
