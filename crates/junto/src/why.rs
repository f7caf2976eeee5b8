//! `junto why A B`: what makes one run faster than another, term by term.

use crate::args::WhyArgs;
use crate::bars;
use crate::basis::factor;
use crate::exit::{Exit, Misuse};
use crate::json::{self, WhyJson};
use crate::number::{change, short, whole};
use crate::plan::ranked::kv_tokens;
use crate::plan::refused;
use crate::question::{self, Kind, Meant};
use crate::table::{WIDTH, wrapped};
use junto_plan::options::Options;
use junto_plan::refusal::Refusal;
use junto_plan::search::{Candidate, Question};
use junto_plan::why::{self, Cause, Delta, Share, Side};
use std::io::{self, Write};

/// Share of the difference below which the layout is not what makes it.
const MINOR: f64 = 0.25;

/// Two runs and what differs between them.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// As the user wrote them.
    pub(crate) names: [String; 2],
    pub(crate) runs: [Candidate; 2],
    /// Of the second against the first, largest first.
    pub(crate) deltas: Vec<Delta>,
    /// Of the second against the first; `None`: a run between them is refused.
    pub(crate) shares: Option<Vec<Share>>,
    /// How near two runs are, in ln, that only a measurement tells apart.
    pub(crate) ratio: f64,
}

impl Comparison {
    /// Whether the whole difference is too small to trust.
    pub(crate) fn is_tied(&self) -> bool {
        let [first, second] = [&self.runs[0].points[0], &self.runs[1].points[0]];
        let speed = (second.output_tok_s / first.output_tok_s).ln();
        speed.abs().max((second.tpot / first.tpot).ln().abs()) <= self.ratio
    }

    /// Whether what the layout alone changes is too small to trust.
    fn are_layouts_tied(&self, shares: &[Share]) -> bool {
        let mut before = self.runs[0].points[0].tpot;
        for Share { cause, time } in shares {
            let after = before + *time;
            if *cause == Cause::Layout {
                return (after / before).ln().abs() <= self.ratio;
            }
            before = after;
        }
        true
    }
}

/// Runs the command.
pub(crate) fn run(
    args: &WhyArgs,
    out: &mut dyn Write,
    story: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let concurrency =
        question::number("--concurrency", &args.concurrency, Kind::Whole, question::MOST_REQUESTS)?;
    let meant = Meant::new(&args.case, story)?;
    let question = meant.question(vec![concurrency]);
    let sides = [side(&args.a, &meant.options)?, side(&args.b, &meant.options)?];
    let mut runs = Vec::new();
    for side in &sides {
        match why::run(&question, side) {
            Ok(run) => runs.push(run),
            Err(refusal) => return refuse(&refusal, out),
        }
    }
    let [a, b] = [runs.swap_remove(0), runs.swap_remove(0)];
    let comparison = Comparison {
        names: [args.a.clone(), args.b.clone()],
        deltas: why::deltas(&a.points[0], &b.points[0]),
        shares: why::shares(&question, &sides[0], &sides[1]),
        runs: [a, b],
        ratio: question.uncertainty.ratio,
    };
    let basis = meant.basis(&question);
    if args.json {
        json::write(out, &WhyJson::new(&question, basis, &comparison))?;
    } else {
        write(out, &question, &comparison)?;
    }
    Ok(Exit::Done)
}

/// `tp8`, `tp8@cuda_graphs=off,kv_dtype=fp8`.
fn side(text: &str, options: &Options) -> Result<Side, Misuse> {
    let (layout, changes) = match text.split_once('@') {
        Some((layout, changes)) => (layout, vec![changes.to_owned()]),
        None => (text, Vec::new()),
    };
    let mut side = Side { layout: question::layout(text, layout)?, options: *options };
    for change in question::changes(text, &changes)?.into_iter().flatten() {
        change.apply(&mut side.options);
    }
    Ok(side)
}

/// A layout that does not run cannot be compared.
fn refuse(refusal: &Refusal, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if refusal.lacking.is_none() {
        return Err(refused::misuse_of(refusal).into());
    }
    let text = format!("{} does not run: {}.", refusal.layout, refused::story(refusal));
    writeln!(out, "{}", wrapped("", &text, WIDTH))?;
    Ok(Exit::No)
}

fn write(out: &mut dyn Write, question: &Question, comparison: &Comparison) -> io::Result<()> {
    let Comparison { names, runs, deltas, .. } = comparison;
    writeln!(out, "{}, C={}\n", crate::plan::heading(question), question.concurrency[0])?;
    let points = [&runs[0].points[0], &runs[1].points[0]];
    bars::write(out, [&names[0], &names[1]], points, deltas)?;
    writeln!(out, "\n{}", wrapped("", &sentences(comparison).join(" "), WIDTH))
}

fn sentences(comparison: &Comparison) -> Vec<String> {
    let Comparison { names: [a, b], runs, deltas, shares, ratio } = comparison;
    let [first, second] = [&runs[0].points[0], &runs[1].points[0]];
    let total = (second.tpot - first.tpot).ms();
    if a == b || deltas.iter().all(|delta| delta.time().0 == 0.0) {
        return vec!["Nothing differs between the two.".to_owned()];
    }
    let mut sentences = vec![format!(
        "{b} gives {} tok/s where {a} gives {} ({}).",
        short(second.output_tok_s),
        short(first.output_tok_s),
        change(first.output_tok_s, second.output_tok_s)
    )];
    if comparison.is_tied() {
        sentences.push(format!(
            "That is nearer than the model can tell ({}): take the two as tied, and measure them.",
            factor(*ratio)
        ));
    }
    sentences.push(largest(b, total, deltas));
    match shares {
        Some(shares) => sentences.extend(confound(comparison, shares, total)),
        None => sentences.push(
            "How much of it is the options' and how much the layout's cannot be told, because \
             the runs between them are refused."
                .to_owned(),
        ),
    }
    sentences.extend(capacity(comparison));
    sentences
}

/// The terms that make the most of it.
fn largest(b: &str, total: f64, deltas: &[Delta]) -> String {
    let clause = |delta: &Delta| {
        let ms = delta.time().ms();
        let direction = if ms < 0.0 { "less" } else { "more" };
        format!("{} ms {direction} for {}", short(ms.abs()), delta.term.name())
    };
    let told = deltas.iter().take(2).filter(|delta| 0.1 * total.abs() < delta.time().ms().abs());
    let clauses: Vec<String> = told.map(clause).collect();
    format!("A token of {b} takes {}.", clauses.join(" and "))
}

/// How much is the options', where the runs differ in more than the layout.
fn confound(comparison: &Comparison, shares: &[Share], total: f64) -> Option<String> {
    let [a, b] = &comparison.names;
    let options: Vec<&Share> =
        shares.iter().filter(|share| matches!(share.cause, Cause::Option(_))).collect();
    let layout = shares.iter().find(|share| share.cause == Cause::Layout);
    if options.is_empty() {
        return None;
    }
    let subjects: Vec<&str> = options
        .iter()
        .filter_map(|share| match share.cause {
            Cause::Option(change) => Some(change.subject()),
            Cause::Layout => None,
        })
        .collect();
    let subjects = subjects.join(" and ");
    let Some(layout) = layout.map(|share| share.time.ms()) else {
        return Some(format!("The layout is the same: all of it is {subjects}."));
    };
    let parts: Vec<String> = options
        .iter()
        .filter_map(|share| match share.cause {
            Cause::Option(change) => {
                Some(format!("{} ms are {}", signed(share.time.ms(), total), change.subject()))
            }
            Cause::Layout => None,
        })
        .collect();
    let split = format!(
        "Of the {} ms between them, {} and {} ms the layout",
        short(total.abs()),
        parts.join(", "),
        signed(layout, total)
    );
    let slower_by_layout = if layout < 0.0 { a } else { b };
    let is_opposed = layout * total < 0.0 && 0.01 * total.abs() < layout.abs();
    let is_minor = is_opposed || layout.abs() < MINOR * total.abs();
    let are_tied = comparison.are_layouts_tied(shares);
    Some(match (is_minor, are_tied) {
        _ if comparison.is_tied() => format!("{split}."),
        (true, true) => {
            format!("{split}: the gap is {subjects}, and with equal options the layouts are tied.")
        }
        (true, false) if is_opposed => {
            let name = slower_by_layout.split('@').next().unwrap_or_default();
            format!(
                "{split}: the gap is {subjects}, and with equal options {name} would be the slower."
            )
        }
        (true, false) => format!("{split}: the gap is {subjects}, not the layout."),
        (false, true) => format!(
            "{split}: a comparison of the layouts must leave {subjects} equal, and would then find \
             them tied."
        ),
        (false, false) => {
            format!("{split}: a comparison of the layouts must leave {subjects} equal.")
        }
    })
}

/// A part of `total`: below 0 where it works against it.
fn signed(part: f64, total: f64) -> String {
    let part = if total < 0.0 { -part } else { part };
    if part < 0.0 { format!("-{}", short(-part)) } else { short(part) }
}

/// How many requests run, where the one keeps more than the other.
fn capacity(comparison: &Comparison) -> Option<String> {
    let [a, b] = &comparison.names;
    let [first, second] = &comparison.runs;
    let running = [first, second].map(|run| run.points[0].running.floor());
    (1.0 <= (running[0] - running[1]).abs()).then(|| {
        format!(
            "{a} runs {} requests at once, {b} {}: their KV caches hold {} and {} tokens.",
            whole(running[0]),
            whole(running[1]),
            short(kv_tokens(first)),
            short(kv_tokens(second))
        )
    })
}
