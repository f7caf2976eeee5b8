//! Why the best layout is the best, in three sentences.

use super::ranked::kv_tokens;
use crate::basis::{is_apart, tied_with_first};
use crate::number::{change, count, short, whole};
use junto_plan::cost::term::Bound;
use junto_plan::memory::slots::Cap;
use junto_plan::search::{Candidate, Plan, Question};
use junto_plan::steady::Steady;
use junto_plan::why;
use junto_spec::layout::{Layout, Sizes};

/// Share of what one term saves from which on another that costs is worth saying.
const WORTH_SAYING: f64 = 0.3;

/// The sentences about `best`, the first of the plan.
pub(crate) fn sentences(question: &Question, plan: &Plan, best: &Candidate) -> Vec<String> {
    let mut sentences = vec![first(question, plan, best)];
    sentences.extend(against(plan, best));
    sentences.push(limit(best));
    sentences
}

fn first(question: &Question, plan: &Plan, best: &Candidate) -> String {
    let speeds: Vec<String> = best.points.iter().map(|point| short(point.output_tok_s)).collect();
    let loads: Vec<String> = question.concurrency.iter().map(|load| format!("C={load}")).collect();
    let over = if loads.len() == 1 { "" } else { " (geometric mean)" };
    if let Some(others) = tied_with_first(plan) {
        return format!(
            "{} comes first in output{over}, {} tok/s at {}, but is tied with {others}: measure them.",
            best.layout,
            listed(&speeds),
            listed(&loads)
        );
    }
    let ahead = plan.ranked.get(1).map_or(String::new(), |second| {
        let ratio = (best.score() - second.score()).exp();
        format!(", {} against {}", change(1.0, ratio), second.layout)
    });
    format!(
        "{} gives the most output{over}: {} tok/s at {}{ahead}.",
        best.layout,
        listed(&speeds),
        listed(&loads)
    )
}

/// `1`, `1 and 2`, `1, 2 and 3`.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What separates it from the best layouts of other kinds, among those that it is surely ahead of.
fn against(plan: &Plan, best: &Candidate) -> Option<String> {
    let mut kinds = vec![kind(&best.layout)];
    let mut clauses = Vec::new();
    let rivals = plan.ranked.iter().skip(1).filter(|rival| is_apart(plan, rival));
    for (place, rival) in rivals.enumerate() {
        if clauses.len() == 2 || (kinds.contains(&kind(&rival.layout)) && 0 < place) {
            continue;
        }
        kinds.push(kind(&rival.layout));
        clauses.extend(advantage(best, rival));
    }
    (!clauses.is_empty()).then(|| format!("It {}.", clauses.join(", and it ")))
}

/// Which axes a layout uses.
fn kind(layout: &Layout) -> [bool; 6] {
    let Sizes { pp, tp, dp, ep, dcp, replicas } = layout.sizes();
    [pp, tp, dp, ep, dcp, replicas].map(|size| 1 < size)
}

/// Where `best` is most ahead of `rival`, and by what.
fn advantage(best: &Candidate, rival: &Candidate) -> Option<String> {
    let ahead = |(ours, theirs): &(&Steady, &Steady)| ours.output_tok_s / theirs.output_tok_s;
    let pairs = best.points.iter().zip(&rival.points);
    let (ours, theirs) = pairs.max_by(|x, y| ahead(x).total_cmp(&ahead(y)))?;
    let load = ours.concurrency;
    let rival = rival.layout;
    if theirs.running * 1.05 < ours.running {
        let [more, fewer] = [ours, theirs].map(|point| whole(point.running.floor()));
        return Some(format!("runs {more} requests at C={load}, where {rival} keeps {fewer}"));
    }
    let deltas = why::deltas(ours, theirs);
    let saved = deltas.iter().find(|delta| delta.time().0 > 0.0)?;
    let in_return = |delta: &&why::Delta| delta.time().0 < -WORTH_SAYING * saved.time().0;
    let spent = deltas.iter().find(in_return).map_or(String::new(), |delta| {
        format!(", which in return saves {} ms of {}", short(-delta.time().ms()), delta.term.name())
    });
    Some(format!(
        "spends {} ms a token less than {rival} on {} at C={load} ({} against {} ms){spent}",
        short(saved.time().ms()),
        saved.term.name(),
        short(saved.a.time.ms()),
        short(saved.b.time.ms())
    ))
}

/// What limits it at the highest concurrency.
fn limit(best: &Candidate) -> String {
    let Some(point) = best.points.last() else { return String::new() };
    let load = point.concurrency;
    let terms = point.terms.terms();
    let largest = terms.max_by(|(_, a), (_, b)| a.time.0.total_cmp(&b.time.0));
    let (tokens, most) = (short(kv_tokens(best)), count(best.slots as usize, "request"));
    let (limit, keeps) = match best.cap {
        Cap::Memory => {
            ("memory", format!("its KV cache of {tokens} tokens keeps at most {most} running"))
        }
        Cap::Limit => {
            let room = format!("though its KV cache of {tokens} tokens has room for more");
            ("the engine's setting", format!("at most {most} may run, {room}"))
        }
    };
    if point.running + 0.5 < load {
        let running = whole(point.running.floor());
        return format!(
            "At C={load} {limit} is the limit: {keeps}, so {running} run and the rest wait."
        );
    }
    let Some((term, part)) = largest else { return format!("{keeps}.") };
    format!(
        "At C={load} the largest part of a token is {} ({} of {} ms, bound by {}); {keeps}.",
        term.name(),
        short(part.time.ms()),
        short(point.tpot.ms()),
        bound(part.bound)
    )
}

/// What bounds a term, inside a sentence.
pub(crate) fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Memory => "memory bandwidth",
        Bound::Compute => "the matrix units",
        Bound::Latency => "latency",
        Bound::Link => "the link",
        Bound::Host => "the host",
    }
}
