//! The best layout under service levels.

use crate::basis::{factor, named};
use crate::number::short;
use crate::table::{Align, Table, WIDTH, wrapped};
use junto_plan::search::Question;
use junto_plan::slo::{Carried, Slo};
use std::io::{self, Write};

/// Layouts that are shown unless all are asked for.
const SHOWN: usize = 5;

/// Whether a layout keeps the promise.
pub(crate) fn is_kept(carried: &[Carried]) -> bool {
    carried.first().is_some_and(|best| best.strain <= 1.0)
}

/// Writes the layouts that keep the promise, or how near the nearest comes.
pub(crate) fn write(
    out: &mut dyn Write,
    question: &Question,
    slo: &Slo,
    carried: &[Carried],
    all: bool,
) -> io::Result<()> {
    let Some(best) = carried.first() else { return Ok(()) };
    let output_len = question.workload.output_len;
    if !is_kept(carried) {
        let text = format!(
            "No layout keeps a mean {slo}. The nearest is {} at C={}: TTFT {}, TPOT {}, E2EL {}.",
            best.layout,
            best.point.concurrency,
            best.point.ttft,
            best.point.tpot,
            Slo::e2el(&best.point, output_len)
        );
        return writeln!(out, "\n{}", wrapped("", &text, WIDTH));
    }
    let kept = carried.iter().filter(|carried| carried.strain <= 1.0);
    let shown = if all { carried.len() } else { SHOWN };
    let mut table = Table::default();
    table.column("", "Layout", Align::Left);
    for heading in ["highest C", "output tok/s", "TPOT, ms", "TTFT, s", "E2EL, s"] {
        table.column("", heading, Align::Right);
    }
    for Carried { layout, point, .. } in kept.take(shown) {
        table.row(vec![
            layout.to_string(),
            point.concurrency.to_string(),
            short(point.output_tok_s),
            short(point.tpot.ms()),
            short(point.ttft.0),
            short(Slo::e2el(point, output_len).0),
        ]);
    }
    writeln!(out, "\nWithin a mean {slo}:")?;
    table.write_best_first(out)?;
    let ratio = question.uncertainty.ratio;
    let near = |other: &&Carried| {
        other.strain <= 1.0 && (best.point.output_tok_s / other.point.output_tok_s).ln() <= ratio
    };
    let tied: Vec<String> =
        carried.iter().skip(1).filter(near).map(|other| other.layout.to_string()).collect();
    let tied = named(&tied).map_or(String::new(), |others| {
        format!(", but is tied with {others} (nearer than {}): measure them", factor(ratio))
    });
    let text = format!(
        "{} carries {}{} tok/s for {} requests at once{tied}.",
        best.layout,
        if tied.is_empty() { "the most: " } else { "" },
        short(best.point.output_tok_s),
        best.point.concurrency
    );
    writeln!(out, "{}", wrapped("", &text, WIDTH))
}
