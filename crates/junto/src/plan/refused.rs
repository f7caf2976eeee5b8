//! The layouts that will not run, grouped by reason.

use crate::exit::{Misuse, misuse};
use crate::number::count;
use crate::table::{WIDTH, wrapped};
use junto_plan::refusal::{Refusal, nearest_miss};
use std::io::{self, Write};

/// Reasons that are shown unless all are asked for.
const SHOWN: usize = 4;
/// Layouts that are named for each.
const NAMED: usize = 6;

/// Refusals for one reason; where memory is short, the numbers may differ.
struct Reason<'a> {
    refusals: Vec<&'a Refusal>,
}

/// Writes the reasons, or with `all` every refusal.
pub(crate) fn write(out: &mut dyn Write, refused: &[Refusal], all: bool) -> io::Result<()> {
    if refused.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nRefused: {}", count(refused.len(), "layout"))?;
    if all {
        for refusal in refused {
            let Refusal { layout, rule, when, .. } = refusal;
            let text = format!("{} ({when}, {rule})", story(refusal));
            writeln!(out, "{}", wrapped(&format!("  {layout}: "), &text, WIDTH))?;
        }
        return Ok(());
    }
    let reasons = by_reason(refused);
    for reason in reasons.iter().take(SHOWN) {
        writeln!(out, "{}", wrapped("  ", &reason.text(), WIDTH))?;
    }
    let hidden: usize = reasons.iter().skip(SHOWN).map(|reason| reason.refusals.len()).sum();
    if 0 < hidden {
        writeln!(out, "  and {} for other reasons (--all)", count(hidden, "layout"))?;
    }
    Ok(())
}

/// The reason and, where something helps, what.
pub(crate) fn story(refusal: &Refusal) -> String {
    match &refusal.hint {
        Some(hint) => format!("{}; {hint}", refusal.reason),
        None => refusal.reason.clone(),
    }
}

/// A layout that no memory would help, as a mistake of the one who asks for it.
pub(crate) fn misuse_of(refusal: &Refusal) -> Misuse {
    let Refusal { rule, when, hint, .. } = refusal;
    misuse(format_args!("{refusal} ({when}, {rule})")).maybe_hint(hint.clone())
}

/// The reasons, the one that most layouts fail by first.
fn by_reason(refused: &[Refusal]) -> Vec<Reason<'_>> {
    let mut reasons: Vec<Reason> = Vec::new();
    for refusal in refused {
        let same = |other: &&mut Reason| {
            let other = other.refusals[0];
            let numbers_alone_differ = refusal.lacking.is_some() && other.lacking.is_some();
            let is_same = numbers_alone_differ || refusal.reason == other.reason;
            (refusal.rule, refusal.when) == (other.rule, other.when) && is_same
        };
        match reasons.iter_mut().find(same) {
            Some(reason) => reason.refusals.push(refusal),
            None => reasons.push(Reason { refusals: vec![refusal] }),
        }
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.refusals.len()));
    reasons
}

impl Reason<'_> {
    fn text(&self) -> String {
        let owned: Vec<Refusal> = self.refusals.iter().map(|refusal| (*refusal).clone()).collect();
        let nearest = nearest_miss(&owned).expect("a reason has a refusal");
        let Refusal { layout, rule, when, .. } = nearest;
        let others = owned.iter().filter(|other| other.layout != *layout);
        let named: Vec<String> = others.take(NAMED).map(|other| other.layout.to_string()).collect();
        let unnamed = owned.len() - 1 - named.len();
        let others = match (named.is_empty(), unnamed) {
            (true, _) => String::new(),
            (false, 0) => format!(". So too {}", named.join(", ")),
            (false, more) => format!(". So too {} and {more} more", named.join(", ")),
        };
        format!("{layout}: {} ({when}, {rule}){others}", story(nearest))
    }
}
