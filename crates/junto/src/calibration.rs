//! `--calibrate`: the constants moved by points that the user measured, and how well they are met.

use crate::exit::{Misuse, misuse};
use crate::given;
use crate::number::{count, short};
use junto_plan::calibrate::{self, Point, Setup};
use junto_plan::constants::{Constants, PRIORS};
use junto_plan::options::{AllReduce, Graphs};
use junto_plan::search::Uncertainty;
use junto_plan::steady::Steady;
use junto_plan::whatif::Change;
use std::io::Write;
use std::path::Path;

/// Far more than a campaign has; a fit of them takes seconds.
const MOST_POINTS: usize = 1000;
/// A point that stays farther off than this factor ran otherwise than it is said to have.
const ANOMALY: f64 = 2.0;

/// What a run may have had without its owner knowing.
const SUSPECTS: [Change; 2] = [Change::Graphs(Graphs::Off), Change::AllReduce(AllReduce::Nccl)];

/// A file of points in short.
const EXAMPLE: &str = r#"points are written [{"layout": "tp8", "concurrency": 1, "input_len": 1024, "output_len": 1024, "output_tok_s": 65.3}], or with tpot_ms; three or four are enough"#;

/// Constants that have seen the user's points.
#[derive(Clone, Debug)]
pub(crate) struct Calibrated {
    pub(crate) constants: Constants,
    /// How many points they have seen.
    pub(crate) points: usize,
}

/// Moves `shipped` by the points of `file`, and tells `story` how well it meets them.
pub(crate) fn calibrated(
    file: &str,
    shipped: &Constants,
    setup: &Setup<'_>,
    story: &mut dyn Write,
) -> anyhow::Result<Calibrated> {
    let points = read(file)?;
    if let Some((index, refusal)) = calibrate::refused_point(setup, &points) {
        let what = format!(
            "{file}: point {}, {}: {}, so it cannot have been measured here",
            index + 1,
            refusal.layout,
            refusal.reason
        );
        let hint = "points must be of this model, machine and engine; give what else was set with \
                    --quant and --set";
        return Err(misuse(what).hint(hint).into());
    }
    let mut constants = calibrate::calibrate_points(shipped, setup, &points);
    for (key, ..) in PRIORS {
        let entry = constants.entry_mut(key);
        if entry.base.to_bits() != shipped.entry(key).base.to_bits() {
            entry.source = format!("calibrated with {}", count(points.len(), "point"));
        }
    }
    let predict = |constants| calibrate::predict_points(constants, setup, &points);
    let (before, after) = (predict(shipped), predict(&constants));
    writeln!(
        story,
        "note: calibrated with {}: mean error {} before, {} after",
        count(points.len(), "point"),
        mean_error(&points, &before),
        mean_error(&points, &after)
    )?;
    anomalies(&constants, setup, &points, story)?;
    Ok(Calibrated { constants, points: points.len() })
}

fn read(file: &str) -> Result<Vec<Point>, Misuse> {
    let text = given::text(file, "a file of points").map_err(|error| {
        let hint = error.hint.clone().unwrap_or_else(|| EXAMPLE.to_owned());
        error.hint(hint)
    })?;
    let points = calibrate::points(&text, file).map_err(|error| misuse(error).hint(EXAMPLE))?;
    if MOST_POINTS < points.len() {
        let what = format!("{file} holds {} points, {MOST_POINTS} are the most", points.len());
        return Err(misuse(what).hint("take a few that differ in layout and concurrency"));
    }
    Ok(points)
}

/// The geometric mean of how far predictions are off: `4.1 %`.
fn mean_error(points: &[Point], predicted: &[Steady]) -> String {
    let errors = points.iter().zip(predicted).map(|(point, steady)| point.error(steady).abs());
    let mean = errors.sum::<f64>() / points.len() as f64;
    format!("{} %", short(mean.exp_m1() * 100.0))
}

/// Names the points that no constants bring near, and what would.
fn anomalies(
    constants: &Constants,
    setup: &Setup<'_>,
    points: &[Point],
    story: &mut dyn Write,
) -> std::io::Result<()> {
    let predicted = calibrate::predict_points(constants, setup, points);
    let mut found = false;
    for (number, (point, steady)) in (1..).zip(points.iter().zip(&predicted)) {
        let error = point.error(steady);
        if error.abs() <= ANOMALY.ln() {
            continue;
        }
        found = true;
        let direction = if error < 0.0 { "faster" } else { "slower" };
        writeln!(
            story,
            "warning: point {number} ({} at C={}) stays x{} {direction} than predicted, {}{}",
            point.layout,
            point.concurrency,
            short(error.abs().exp()),
            sides(point, steady),
            suspect(constants, setup, point)
        )?;
    }
    if found {
        writeln!(
            story,
            "hint: something else differs in such a run: CUDA graphs off? P2P off? another version \
             or other flags? lower clocks? requests retracted or waiting?"
        )?;
    }
    Ok(())
}

/// The option with which the prediction would be near, if there is one.
fn suspect(constants: &Constants, setup: &Setup<'_>, point: &Point) -> String {
    let near = Uncertainty::calibrated(setup.machine, setup.engine).speed;
    for change in SUSPECTS {
        let mut options = *setup.options;
        change.apply(&mut options);
        let changed = Setup { options: &options, ..*setup };
        let points = std::slice::from_ref(point);
        let predicted = calibrate::predict_points(constants, &changed, points);
        if predicted.iter().any(|steady| point.error(steady).abs() <= near) {
            return format!("; {change} would explain it");
        }
    }
    String::new()
}

/// What was measured against what is predicted.
fn sides(point: &Point, steady: &Steady) -> String {
    let speed = point.output_tok_s.map(|measured| {
        format!("{} tok/s against {}", short(measured), short(steady.output_tok_s))
    });
    let time = point
        .tpot_ms
        .map(|measured| format!("TPOT {} ms against {}", short(measured), short(steady.tpot.ms())));
    speed.into_iter().chain(time).collect::<Vec<_>>().join(", ")
}

/// Writes constants into a file that `--constants` reads.
pub(crate) fn save(file: &str, constants: &Constants, setup: &Setup<'_>) -> Result<(), Misuse> {
    let Setup { model, machine, engine, .. } = setup;
    let text = format!(
        "# Calibrated on {:?} with {:?} by {:?}; for `junto plan --constants`.\n{}",
        machine.name,
        model.name,
        engine.name,
        constants.to_toml()
    );
    std::fs::write(Path::new(file), text)
        .map_err(|error| misuse(format_args!("cannot write {file}: {error}")))
}
