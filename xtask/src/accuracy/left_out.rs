//! What the model says of a campaign that its constants never saw.

use super::case::Case;
use super::fitting::{fit_cases, parameters};
use junto_plan::constants::Constants;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Constants fitted without each group, by group.
///
/// Each fit starts from the priors, as the shipped one does: nothing of the group is in its start.
pub(super) fn leave_one_group_out(
    cases: &[Case],
    story: &mut impl Write,
) -> std::io::Result<BTreeMap<String, Constants>> {
    let parameters = parameters(cases);
    let groups: BTreeSet<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    let total = groups.len();
    let mut constants = BTreeMap::new();
    for (index, group) in groups.into_iter().enumerate() {
        writeln!(story, "[{:2}/{total}] fit without {group}", index + 1)?;
        let rest: Vec<&Case> = cases.iter().filter(|case| case.group != group).collect();
        constants.insert(group.to_string(), fit_cases(&rest, &parameters));
    }
    Ok(constants)
}
