//! The report: errors by group, by model family and overall, as JSON or as a table.

use super::case::Case;
use super::layouts::Ranking;
use super::score::{Errors, Scored};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// Errors of one set of rows.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Section {
    /// Group or family; `overall`.
    pub name: String,
    /// Output throughput.
    pub output_tok_s: Errors,
    /// Time per output token.
    pub tpot_ms: Errors,
    /// Time to first token.
    pub ttft_ms: Errors,
}

/// Errors of one way of predicting: fitted, left out, or calibrated.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Errs {
    /// All rows.
    pub overall: Section,
    /// By campaign.
    pub groups: Vec<Section>,
    /// By model family.
    pub families: Vec<Section>,
    /// How layouts are ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layouts: Option<Ranking>,
    /// Share of rows inside their 90 % band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band_coverage: Option<f64>,
}

/// Rows without a prediction, by reason.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NotPredicted {
    /// Why.
    pub reason: String,
    /// Which.
    pub rows: Vec<String>,
}

/// Everything that was asked for.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// Rows of the file.
    pub rows: usize,
    /// Rows that repeat another.
    pub duplicates: usize,
    /// The shipped constants.
    #[serde(flatten)]
    pub shipped: Errs,
    /// Constants refitted without each group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave_one_group_out: Option<Errs>,
    /// The same after four points of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<Errs>,
    /// Rows without a prediction.
    pub not_predicted: Vec<NotPredicted>,
}

/// The errors of scored cases; `scored` names the case of each.
pub(super) fn errs(cases: &[Case], scored: &[(usize, Scored)]) -> Errs {
    let by = |key: &dyn Fn(&Case) -> String| {
        let mut sections: BTreeMap<String, Vec<&Scored>> = BTreeMap::new();
        for (index, scored) in scored {
            sections.entry(key(&cases[*index])).or_default().push(scored);
        }
        sections.into_iter().map(|(name, scored)| section(name, &scored)).collect()
    };
    let all: Vec<&Scored> = scored.iter().map(|(_, scored)| scored).collect();
    Errs {
        overall: section("overall".to_string(), &all),
        groups: by(&|case| case.group.clone()),
        families: by(&|case| case.family()),
        layouts: None,
        band_coverage: None,
    }
}

fn section(name: String, scored: &[&Scored]) -> Section {
    Section {
        name,
        output_tok_s: Errors::of(scored.iter().filter_map(|scored| scored.output_tok_s.as_ref())),
        tpot_ms: Errors::of(scored.iter().filter_map(|scored| scored.tpot_ms.as_ref())),
        ttft_ms: Errors::of(scored.iter().filter_map(|scored| scored.ttft_ms.as_ref())),
    }
}

/// Writes a report as text.
pub(super) fn write(report: &Report, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{} rows, {} of them duplicates", report.rows, report.duplicates)?;
    for NotPredicted { reason, rows } in &report.not_predicted {
        writeln!(out, "  {:3} not predicted: {reason} ({}, ...)", rows.len(), rows[0])?;
    }
    write_errs("shipped constants", &report.shipped, out)?;
    if let Some(errs) = &report.leave_one_group_out {
        write_errs("constants refitted without each group", errs, out)?;
    }
    if let Some(errs) = &report.calibrated {
        write_errs("the same, after 4 points of the group (5 draws)", errs, out)?;
    }
    Ok(())
}

fn write_errs(title: &str, errs: &Errs, out: &mut impl Write) -> Result<()> {
    writeln!(out, "\n== {title}; |error| in % of the measured value")?;
    writeln!(out, "{:44} output tok/s                    TPOT", "")?;
    let columns = "    n   mean median    p90   bias";
    writeln!(out, "{:40}{columns}{columns}", "group")?;
    for section in errs.groups.iter().chain(&errs.families).chain([&errs.overall]) {
        write!(out, "{:40}", section.name)?;
        for errors in [&section.output_tok_s, &section.tpot_ms] {
            if errors.n == 0 {
                write!(out, "{:>5}{:28}", "-", "")?;
            } else {
                let Errors { n, mape_mean, mape_median, p90, bias } = errors;
                let percent = [mape_mean, mape_median, p90, bias].map(|share| share * 100.0);
                let [mean, median, p90, bias] = percent;
                write!(out, "{n:5} {mean:6.1} {median:6.1} {p90:6.1} {bias:+6.1}")?;
            }
        }
        writeln!(out)?;
    }
    if let Some(coverage) = errs.band_coverage {
        writeln!(out, "90 % bands hold {:.1} % of the rows", coverage * 100.0)?;
    }
    if let Some(ranking) = errs.layouts {
        write_ranking(&ranking, out)?;
    }
    Ok(())
}

fn write_ranking(ranking: &Ranking, out: &mut impl Write) -> Result<()> {
    let Ranking { sets, pairs, .. } = ranking;
    let percent = |share: f64| share * 100.0;
    writeln!(
        out,
        "layouts: {sets} sets, {pairs} pairs, {:.0} % in the measured order, {:.1} % apart in the wrong one",
        percent(ranking.right),
        percent(ranking.false_order)
    )?;
    writeln!(
        out,
        "regret of taking the predicted best: {:.1} % over sets, {:.1} % over campaigns; the best is tied \
         in {:.0} % of the sets, and measuring the tied leaves {:.1} %",
        percent(ranking.regret),
        percent(ranking.regret_of_campaigns),
        percent(ranking.tied),
        percent(ranking.regret_measuring_ties)
    )
}
