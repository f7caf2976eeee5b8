//! The layouts that run, as a table that fits a terminal.

use crate::basis::TIED;
use crate::number::{count, short, whole};
use crate::table::{Align, Table, WIDTH};
use junto_plan::search::{Candidate, Plan, Question};
use junto_plan::steady::Steady;
use std::io::{self, Write};

/// Layouts that are shown unless all are asked for.
const SHOWN: usize = 12;

/// One column a concurrency.
#[derive(Clone, Copy, Debug)]
struct Metric {
    group: &'static str,
    value: fn(&Steady) -> f64,
}

const METRICS: [Metric; 3] = [
    Metric { group: "output tok/s", value: |point| point.output_tok_s },
    Metric { group: "TPOT, ms", value: |point| point.tpot.ms() },
    Metric { group: "TTFT, s", value: |point| point.ttft.0 },
];

/// Writes the table.
pub(crate) fn write(
    out: &mut dyn Write,
    question: &Question,
    plan: &Plan,
    all: bool,
) -> io::Result<()> {
    let shown = if all { plan.ranked.len() } else { plan.ranked.len().min(SHOWN) };
    let rows = &plan.ranked[..shown];
    for table in tables(&question.concurrency, rows) {
        table.write_best_first(out)?;
    }
    let hidden = plan.ranked.len() - shown;
    if 0 < hidden {
        writeln!(out, "and {} more that run (--all)", count(hidden, "layout"))?;
    }
    Ok(())
}

/// One table with as many metrics as fit; more tables where not even one metric fits.
fn tables(concurrency: &[f64], rows: &[Candidate]) -> Vec<Table> {
    let all: Vec<usize> = (0..concurrency.len()).collect();
    for metrics in (1..=METRICS.len()).rev() {
        let table = table(concurrency, &all, &METRICS[..metrics], rows);
        if table.width() <= WIDTH {
            return vec![table];
        }
    }
    let most = (1..=all.len()).rev().find(|most| {
        let mut parts = all.chunks(*most);
        parts.all(|part| table(concurrency, part, &METRICS[..1], rows).width() <= WIDTH)
    });
    let parts = all.chunks(most.unwrap_or(1));
    parts.map(|part| table(concurrency, part, &METRICS[..1], rows)).collect()
}

fn table(concurrency: &[f64], points: &[usize], metrics: &[Metric], rows: &[Candidate]) -> Table {
    let mut table = Table::default();
    let has_ties = rows.iter().any(|row| row.tied);
    table.column("", if has_ties { "  Layout" } else { "Layout" }, Align::Left);
    table.column("", "GiB/GPU", Align::Right);
    table.column("", "KV tokens", Align::Right);
    for metric in metrics {
        for &point in points {
            table.column(metric.group, format!("C={}", concurrency[point]), Align::Right);
        }
    }
    let remarks: Vec<String> = rows.iter().map(|row| remark(row, points)).collect();
    let has_remarks = remarks.iter().any(|remark| !remark.is_empty());
    if has_remarks {
        table.column("", "", Align::Left);
    }
    for (row, remark) in rows.iter().zip(remarks) {
        let layout = match (has_ties, row.tied) {
            (true, true) => format!("{TIED} {}", row.layout),
            (true, false) => format!("  {}", row.layout),
            (false, _) => row.layout.to_string(),
        };
        let mut cells = vec![layout, short(row.memory.weights.gib())];
        cells.push(short(kv_tokens(row)));
        for metric in metrics {
            cells.extend(points.iter().map(|&point| short((metric.value)(&row.points[point]))));
        }
        if has_remarks {
            cells.push(remark);
        }
        table.row(cells);
    }
    table
}

/// Tokens that the KV caches of all attention groups and replicas hold together.
pub(crate) fn kv_tokens(candidate: &Candidate) -> f64 {
    let layout = &candidate.layout;
    candidate.memory.kv_tokens * f64::from(layout.dp() * layout.replicas())
}

/// How many requests run at the highest concurrency, where that is fewer than asked for.
fn remark(candidate: &Candidate, points: &[usize]) -> String {
    let Some(point) = points.last().map(|&point| &candidate.points[point]) else {
        return String::new();
    };
    if point.running + 0.5 < point.concurrency {
        format!("{} run", whole(point.running.floor()))
    } else {
        String::new()
    }
}
