//! What would change with other options.

use super::refused;
use crate::number::{change, count, short};
use crate::table::{Align, Table, WIDTH, wrapped};
use junto_plan::refusal::Refusal;
use junto_plan::search::{self, Candidate, Plan, Question};
use junto_plan::whatif::Change;
use junto_spec::layout::Layout;
use std::io::{self, Write};

/// Layouts that are shown unless all are asked for.
const SHOWN: usize = 6;
/// Concurrencies that are shown.
const POINTS: usize = 3;

/// A plan with some options changed.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The changes, all of them at once.
    pub(crate) changes: Vec<Change>,
    /// The plan with them.
    pub(crate) plan: Plan,
}

impl Changed {
    /// Plans the same layouts with other options.
    pub(crate) fn new(question: &Question, layouts: &[Layout], changes: Vec<Change>) -> Self {
        let mut question = question.clone();
        for change in &changes {
            change.apply(&mut question.options);
        }
        Self { changes, plan: search::plan(&question, layouts) }
    }

    /// As it was written.
    pub(crate) fn name(&self) -> String {
        let changes: Vec<String> = self.changes.iter().map(Change::to_string).collect();
        changes.join(",")
    }

    /// Writes the change against `base`.
    pub(crate) fn write(&self, out: &mut dyn Write, base: &Plan, all: bool) -> io::Result<()> {
        writeln!(out, "\nWhat if {}: before, then, change of output tok/s", self.name())?;
        let shown = if all { usize::MAX } else { SHOWN };
        let rows: Vec<(&Candidate, Option<&Candidate>)> = self
            .plan
            .ranked
            .iter()
            .map(|then| (then, find(&base.ranked, &then.layout)))
            .take(shown)
            .collect();
        if !rows.is_empty() {
            table(&rows).write_best_first(out)?;
        }
        writeln!(out, "{}", wrapped("", &self.sentences(base).join(" "), WIDTH))
    }

    fn sentences(&self, base: &Plan) -> Vec<String> {
        let mut sentences = Vec::new();
        sentences.push(match (base.ranked.first(), self.plan.ranked.first()) {
            (Some(before), Some(then)) if before.layout == then.layout => {
                format!("{} stays the best.", then.layout)
            }
            (Some(before), Some(then)) if self.is_tied(&before.layout) => {
                format!(
                    "{} comes first in place of {}, but the two are tied.",
                    then.layout, before.layout
                )
            }
            (Some(before), Some(then)) => {
                format!("{} becomes the best, in place of {}.", then.layout, before.layout)
            }
            (None, Some(then)) => format!("{} is the best, where nothing ran before.", then.layout),
            (_, None) => "Nothing runs.".to_owned(),
        });
        let lost: Vec<&Refusal> = self
            .plan
            .refused
            .iter()
            .filter(|refusal| find(&base.ranked, &refusal.layout).is_some())
            .collect();
        if let Some(first) = lost.first() {
            sentences.push(format!(
                "{} that ran would be refused: {}: {}.",
                count(lost.len(), "layout"),
                first.layout,
                refused::story(first)
            ));
        }
        let is_new = |then: &&Candidate| find(&base.ranked, &then.layout).is_none();
        let gained = self.plan.ranked.iter().filter(is_new).count();
        if 0 < gained {
            sentences.push(format!("{} that did not run would run.", count(gained, "layout")));
        }
        sentences
    }
}

impl Changed {
    /// Whether a layout is tied with the best.
    fn is_tied(&self, layout: &Layout) -> bool {
        find(&self.plan.ranked, layout).is_some_and(|candidate| candidate.tied)
    }
}

fn find<'a>(ranked: &'a [Candidate], layout: &Layout) -> Option<&'a Candidate> {
    ranked.iter().find(|candidate| candidate.layout == *layout)
}

/// Three columns for each concurrency: before, then and the change.
fn table(rows: &[(&Candidate, Option<&Candidate>)]) -> Table {
    let mut table = Table::default();
    table.column("", "Layout", Align::Left);
    let points = &rows[0].0.points;
    let last = points.len() - 1;
    // The first, the middle and the last where there are more.
    let mut shown: Vec<usize> =
        if points.len() <= POINTS { (0..=last).collect() } else { vec![0, last / 2, last] };
    shown.dedup();
    for &index in &shown {
        let group = format!("C={}", points[index].concurrency);
        for heading in ["before", "then", "change"] {
            table.column(&group, heading, Align::Right);
        }
    }
    for (then, before) in rows {
        let mut cells = vec![then.layout.to_string()];
        for &index in &shown {
            let then = then.points[index].output_tok_s;
            let before = before.map(|before| before.points[index].output_tok_s);
            cells.push(before.map_or("refused".to_owned(), short));
            cells.push(short(then));
            cells.push(before.map_or(String::new(), |before| change(before, then)));
        }
        table.row(cells);
    }
    table
}
