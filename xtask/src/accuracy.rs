//! `cargo xtask accuracy FILE`: predicts every row that has enough context, and says how wrong.
//! `cargo xtask fit FILE`: fits the constants to it, and writes them with their bands.

mod calibrated;
mod case;
mod fitting;
mod layouts;
mod left_out;
mod report;
mod row;
mod score;
mod widths;

use anyhow::{Context, Result, bail};
use case::Case;
use junto_plan::band::Bands;
use junto_plan::constants::{Constants, Key};
use report::{Errs, NotPredicted, Report, errs};
use score::Scored;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Points given to a calibration.
const POINTS: usize = 4;

/// What is asked of the accuracy chore.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Measurements, one JSON object a line
    pub file: PathBuf,
    /// Refit without each group and report the error on it, then on the rest of each group after
    /// four of its points; takes minutes
    #[arg(long)]
    pub leave_one_group_out: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Print every row, or the terms of the rows whose name contains this
    #[arg(long, value_name = "NAME")]
    pub rows: Option<Option<String>>,
}

/// The cases of a file, and what became of the other rows.
struct Sorted {
    rows: usize,
    duplicates: usize,
    predicted: Vec<Case>,
    not_predicted: Vec<NotPredicted>,
}

fn read(file: &Path) -> Result<Sorted> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let rows = row::read(&text).with_context(|| file.display().to_string())?;
    let all = rows.len();
    let (rows, duplicates) = row::deduplicate(rows);
    let mut predicted = Vec::new();
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in &rows {
        let case = match row.reliability.as_str() {
            "low" => Err("low reliability".to_string()),
            _ => Case::from_row(row),
        };
        match case {
            Ok(case) => predicted.push(case),
            Err(reason) => reasons.entry(reason).or_default().push(row.id.clone()),
        }
    }
    let not_predicted = reasons.into_iter().map(|(reason, rows)| NotPredicted { reason, rows });
    Ok(Sorted { rows: all, duplicates, predicted, not_predicted: not_predicted.collect() })
}

/// Tabulates routers for the skew of these constants, so that predictions need not.
fn set_skew(cases: &mut [Case], constants: &Constants) {
    for case in cases {
        case.work.set_skew(constants.entry(Key::Skew).base);
    }
}

fn scores(cases: &[Case], constants: &dyn Fn(&Case) -> Constants) -> Vec<(usize, Scored)> {
    cases.iter().enumerate().map(|(index, case)| (index, case.score(&constants(case)))).collect()
}

fn with_layouts(cases: &[Case], scored: &[(usize, Scored)], bands: &Bands) -> Errs {
    let mut errs = errs(cases, scored);
    errs.layouts = Some(layouts::rank(cases, &throughputs(cases, scored), bands.ratio));
    errs
}

/// Predicted throughput of each case, in order; 1 where none was measured.
fn throughputs(cases: &[Case], scored: &[(usize, Scored)]) -> Vec<f64> {
    let mut predicted = vec![1.0; cases.len()];
    for (index, scored) in scored {
        predicted[*index] = scored.output_tok_s.as_ref().map_or(1.0, |pair| pair.predicted);
    }
    predicted
}

/// Runs the accuracy chore.
pub fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode> {
    let sorted = read(&args.file)?;
    let mut cases = sorted.predicted;
    let constants = Constants::catalog();
    let bands = Bands::catalog();
    set_skew(&mut cases, &constants);
    let shipped = scores(&cases, &|_| constants.clone());
    match &args.rows {
        Some(Some(name)) => return terms(&cases, name, &constants, out),
        Some(None) => list(&cases, &shipped, out)?,
        None => {}
    }
    let left = if args.leave_one_group_out { Some(LeftOut::of(&cases)?) } else { None };
    let report = Report {
        rows: sorted.rows,
        duplicates: sorted.duplicates,
        shipped: with_bands(&cases, &shipped, &bands),
        leave_one_group_out: left.as_ref().map(|left| left.errs(&cases, &bands)),
        calibrated: left.as_ref().map(|left| errs(&cases, &left.calibrated)),
        not_predicted: sorted.not_predicted,
    };
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        report::write(&report, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn with_bands(cases: &[Case], scored: &[(usize, Scored)], bands: &Bands) -> Errs {
    let mut errs = with_layouts(cases, scored, bands);
    errs.band_coverage = Some(widths::inside(scored, bands, cases));
    errs
}

/// Predictions of each group by constants that have not seen it.
struct LeftOut {
    scored: Vec<(usize, Scored)>,
    /// The same after some points of the group, on its other cases.
    calibrated: Vec<(usize, Scored)>,
}

impl LeftOut {
    fn of(cases: &[Case]) -> Result<Self> {
        let without = left_out::leave_one_group_out(cases, &mut io::stderr())?;
        let scored = scores(cases, &|case| without[&case.group].clone());
        Ok(Self { scored, calibrated: calibrated::calibrated(cases, &without, POINTS) })
    }

    fn errs(&self, cases: &[Case], bands: &Bands) -> Errs {
        let mut errs = with_layouts(cases, &self.scored, bands);
        errs.band_coverage = Some(widths::coverage(cases, &self.scored));
        errs
    }

    fn bands(&self, cases: &[Case]) -> Bands {
        let [unseen, few, many] = widths::by_support(cases, &self.scored, None);
        let errors = self.calibrated.iter().flat_map(|(_, scored)| scored.log_errors());
        Bands {
            unseen,
            few,
            many,
            calibrated: widths::width(errors),
            ratio: layouts::trusted_separation(cases, &throughputs(cases, &self.scored)),
            source: BANDS_SOURCE.to_string(),
            campaigns: widths::campaigns(cases),
        }
    }
}

const BANDS_SOURCE: &str = "left-out campaigns: 90th percentile of |ln(predicted / measured)|; ratio: \
                            nine in ten pairs of layouts in the wrong order were predicted nearer";

/// Fits the constants to a file, writes them and their bands into the catalog, and reports how well
/// the same fit does on campaigns that it has not seen; takes a quarter of an hour.
pub fn fit(file: &Path, out: &mut impl Write) -> Result<ExitCode> {
    let sorted = read(file)?;
    let mut cases = sorted.predicted;
    if cases.is_empty() {
        bail!("{}: no row can be predicted", file.display());
    }
    let all: Vec<&Case> = cases.iter().collect();
    let parameters = fitting::parameters(&cases);
    writeln!(out, "fitting {} values to {} rows", parameters.len(), cases.len())?;
    let mut constants = fitting::fit_cases(&all, &parameters);
    fitting::describe(&mut constants, &cases);
    set_skew(&mut cases, &constants);
    let shipped = scores(&cases, &|_| constants.clone());
    let left = LeftOut::of(&cases)?;
    let bands = left.bands(&cases);
    let catalog = crate::root().join("catalog");
    std::fs::write(catalog.join("constants.toml"), constants.to_toml())?;
    std::fs::write(catalog.join("bands.toml"), toml::to_string(&bands)?)?;
    writeln!(out, "wrote catalog/constants.toml and catalog/bands.toml")?;
    let report = Report {
        rows: sorted.rows,
        duplicates: sorted.duplicates,
        shipped: with_bands(&cases, &shipped, &bands),
        leave_one_group_out: Some(left.errs(&cases, &bands)),
        calibrated: Some(errs(&cases, &left.calibrated)),
        not_predicted: sorted.not_predicted,
    };
    report::write(&report, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Every row with its errors.
fn list(cases: &[Case], scored: &[(usize, Scored)], out: &mut impl Write) -> Result<()> {
    for (index, scored) in scored {
        let case = &cases[*index];
        write!(out, "{:48} {:12}", case.id, case.prepared.layout)?;
        for (name, pair) in [("tok/s", &scored.output_tok_s), ("ms", &scored.tpot_ms)] {
            if let Some(pair) = pair {
                let error = pair.error() * 100.0;
                let (predicted, measured) = (pair.predicted, pair.measured);
                write!(out, " {predicted:8.1} for {measured:8.1} {name} {error:+5.0} %")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The terms of some rows.
fn terms(
    cases: &[Case],
    name: &str,
    constants: &Constants,
    out: &mut impl Write,
) -> Result<ExitCode> {
    for case in cases.iter().filter(|case| case.id.contains(name)) {
        let steady = case.known().predict(constants);
        writeln!(out, "{}: {} on {}", case.id, case.prepared.layout, case.machine.name)?;
        writeln!(
            out,
            "  {} requests running, {:.1} tok/s, TPOT {}, TTFT {}",
            steady.running, steady.output_tok_s, steady.tpot, steady.ttft
        )?;
        for (term, part) in steady.terms.terms() {
            let (ms, bound) = (part.time.ms(), part.bound.name());
            writeln!(out, "  {:28} {ms:8.3} ms  {bound}, {}", term.name(), part.source)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
