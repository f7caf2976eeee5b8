//! Calibration: the constants moved by a few points measured on the user's own machine.
//!
//! The same maximum-a-posteriori fit that made the constants, with the shipped values as prior and
//! widths that say how far one machine, engine build and model stray from them.

use crate::case::Case;
use crate::constants::{Constants, Key};
use crate::cost::comm::Prepared;
use crate::cost::pass::Coster;
use crate::cost::work::ModelWork;
use crate::fit::{Effort, Parameter, Scope, fit};
use crate::memory::Memory;
use crate::memory::model_bytes::ModelBytes;
use crate::memory::slots::slots;
use crate::options::Options;
use crate::refusal::Refusal;
use crate::rules::refuse;
use crate::steady::{Load, Steady};
use junto_spec::engine::EngineProfile;
use junto_spec::layout::Layout;
use junto_spec::machine::MachineSpec;
use junto_spec::model::ModelSpec;
use junto_spec::workload::Workload;
use serde::Deserialize;
use thiserror::Error;

/// How far a machine strays from the shipped constants: σ of ln, for each constant that a
/// calibration may move. From the spread of the fitted factors over GPU generations and engines.
const WIDTHS: [(Key, f64); 14] = [
    (Key::KernelUs, 0.20),
    (Key::ExpertMemory, 0.15),
    (Key::ExpertCompute, 0.30),
    (Key::DenseMemory, 0.10),
    (Key::DenseCompute, 0.20),
    (Key::AttentionMemory, 0.25),
    (Key::AttentionHalfBatch, 0.30),
    (Key::CollectiveScale, 0.25),
    (Key::SyncUs, 0.40),
    (Key::IssueUs, 0.30),
    (Key::SequenceUs, 0.60),
    (Key::StepUs, 0.60),
    (Key::DraftUs, 0.40),
    (Key::HopUs, 0.50),
];

/// Expected error of a measured point that the model fits well, in ln.
const NOISE: f64 = 0.04;

/// One measured point.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Layout, in text form.
    pub layout: String,
    /// Clients of the closed loop.
    pub concurrency: f64,
    /// Mean prompt tokens (`output_len` absent: the resident context).
    pub input_len: f64,
    /// Mean generated tokens; absent: decode only.
    pub output_len: Option<f64>,
    /// Measured output tokens per second, all users.
    pub output_tok_s: Option<f64>,
    /// Measured mean time per output token, ms.
    pub tpot_ms: Option<f64>,
}

/// Why points cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PointsError {
    /// Not JSON, or of another shape.
    #[error("{file} is no file of points: {message}")]
    Parse {
        /// The file.
        file: String,
        /// What the parser says.
        message: String,
    },
    /// A value that no measurement has.
    #[error("{file}: point {index}: {field} is {value}, which no measurement gives")]
    Value {
        /// The file.
        file: String,
        /// Which point, from 1.
        index: usize,
        /// The field.
        field: &'static str,
        /// The value.
        value: String,
    },
    /// No speed in a point.
    #[error("{file}: point {index} has neither output_tok_s nor tpot_ms")]
    Nothing {
        /// The file.
        file: String,
        /// Which point, from 1.
        index: usize,
    },
    /// No point at all.
    #[error("{file} holds no points")]
    Empty {
        /// The file.
        file: String,
    },
}

/// Reads points: a JSON array of [`Point`].
pub fn points(text: &str, file: &str) -> Result<Vec<Point>, PointsError> {
    let file = file.to_string();
    let points: Vec<Point> = serde_json::from_str(text)
        .map_err(|error| PointsError::Parse { file: file.clone(), message: error.to_string() })?;
    if points.is_empty() {
        return Err(PointsError::Empty { file });
    }
    for (index, point) in points.iter().enumerate() {
        let index = index + 1;
        let bad = |field, value| PointsError::Value { file: file.clone(), index, field, value };
        if let Err(error) = point.layout.parse::<Layout>() {
            return Err(bad("layout", format!("{:?} ({error})", point.layout)));
        }
        let fields = [
            ("concurrency", Some(point.concurrency), 1.0),
            ("input_len", Some(point.input_len), 0.0),
            ("output_len", point.output_len, 1.0),
            ("output_tok_s", point.output_tok_s, f64::MIN_POSITIVE),
            ("tpot_ms", point.tpot_ms, f64::MIN_POSITIVE),
        ];
        for (field, value, least) in fields {
            if let Some(value) = value.filter(|value| !(least..1e12).contains(value)) {
                return Err(bad(field, value.to_string()));
            }
        }
        if point.output_tok_s.is_none() && point.tpot_ms.is_none() {
            return Err(PointsError::Nothing { file, index });
        }
    }
    Ok(points)
}

/// A measured point with all that predicts it.
#[derive(Clone, Debug)]
pub struct Known<'a> {
    /// The model, prepared.
    pub work: &'a ModelWork<'a>,
    /// The machine.
    pub machine: &'a MachineSpec,
    /// The engine.
    pub engine: &'a EngineProfile,
    /// The layout, prepared.
    pub prepared: &'a Prepared,
    /// Options of the run.
    pub options: &'a Options,
    /// The load.
    pub load: Load,
    /// Requests that one replica keeps running at most.
    pub slots: f64,
    /// Measured output tokens per second.
    pub output_tok_s: Option<f64>,
    /// Measured mean time per output token, ms.
    pub tpot_ms: Option<f64>,
}

impl Point {
    /// How far a prediction is off, in ln: above 0 where it is too fast. Of throughput and time the
    /// one that is farther off.
    pub fn error(&self, predicted: &Steady) -> f64 {
        let speed = self.output_tok_s.map(|measured| (predicted.output_tok_s / measured).ln());
        let time = self.tpot_ms.map(|measured| (measured / predicted.tpot.ms()).ln());
        let errors = speed.into_iter().chain(time);
        errors.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0)
    }
}

impl Known<'_> {
    /// What constants say of this point.
    pub fn predict(&self, constants: &Constants) -> Steady {
        let efficiency = constants.resolve(&self.machine.gpu.generation, self.engine);
        let skewed;
        let work = if efficiency.skew.to_bits() == self.work.skew.to_bits() {
            self.work
        } else {
            skewed = self.work.with_skew(efficiency.skew);
            &skewed
        };
        let coster = Coster {
            work,
            machine: self.machine,
            engine: self.engine,
            efficiency: &efficiency,
            options: self.options,
        };
        coster.steady(self.prepared, &self.load, self.slots)
    }
}

/// The constants after some points were seen.
pub fn calibrate(constants: &Constants, known: &[Known<'_>]) -> Constants {
    let parameter = |(key, width): &(Key, f64)| {
        let mean = constants.entry(*key).base.ln();
        Parameter { key: *key, scope: Scope::Base, mean, width: *width }
    };
    let parameters: Vec<Parameter> = WIDTHS.iter().map(parameter).collect();
    let residuals = |constants: &Constants, _: Option<(&Parameter, &[f64])>| {
        let mut residuals = Vec::with_capacity(2 * known.len());
        for point in known {
            let steady = point.predict(constants);
            let pairs =
                [(point.output_tok_s, steady.output_tok_s), (point.tpot_ms, steady.tpot.ms())];
            let residual =
                |(measured, predicted): (Option<f64>, f64)| Some((predicted / measured?).ln());
            residuals.extend(pairs.into_iter().filter_map(residual));
        }
        residuals
    };
    fit(constants, &parameters, Effort { steps: 12, noise: NOISE }, &residuals)
}

/// What all points of a file have in common.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The model.
    pub model: &'a ModelSpec,
    /// The machine.
    pub machine: &'a MachineSpec,
    /// The engine.
    pub engine: &'a EngineProfile,
    /// Options of the runs.
    pub options: &'a Options,
}

/// Calibrates with points of one setup, whose layouts can run there ([`refused_point`]).
pub fn calibrate_points(constants: &Constants, setup: &Setup<'_>, points: &[Point]) -> Constants {
    with_known(constants, setup, points, |known| calibrate(constants, known))
}

/// What constants say of each point.
pub fn predict_points(constants: &Constants, setup: &Setup<'_>, points: &[Point]) -> Vec<Steady> {
    let predict = |known: &[Known<'_>]| known.iter().map(|it| it.predict(constants)).collect();
    with_known(constants, setup, points, predict)
}

/// The first point, counted from 0, that the setup cannot have given.
pub fn refused_point(setup: &Setup<'_>, points: &[Point]) -> Option<(usize, Refusal)> {
    let Setup { model, machine, engine, options } = *setup;
    let bytes = ModelBytes::new(model, engine.family);
    points.iter().enumerate().find_map(|(index, point)| {
        let layout = &point.layout.parse().ok()?;
        // Whatever the context may be, the requests of the point had to fit.
        let longest = (point.input_len + point.output_len.unwrap_or(0.0)) as u32;
        let max_context = options.max_context.or(Some(longest));
        let options = &Options { max_context, ..*options };
        let case = Case { model, bytes: &bytes, machine, engine, layout, options };
        Some((index, refuse(&case)?))
    })
}

/// The points with all that predicts them, for as long as `then` takes.
fn with_known<T>(
    constants: &Constants,
    setup: &Setup<'_>,
    points: &[Point],
    then: impl FnOnce(&[Known<'_>]) -> T,
) -> T {
    let Setup { model, machine, engine, options } = *setup;
    let bytes = ModelBytes::new(model, engine.family);
    let skew = constants.resolve(&machine.gpu.generation, engine).skew;
    let work = ModelWork::new(model, skew);
    let layouts: Vec<Layout> =
        points.iter().filter_map(|point| point.layout.parse().ok()).collect();
    let case = |layout| Case { model, bytes: &bytes, machine, engine, layout, options };
    let prepared: Vec<Prepared> =
        layouts.iter().map(|layout| Prepared::new(&case(layout))).collect();
    let known: Vec<Known> = points
        .iter()
        .zip(&prepared)
        .map(|(point, prepared)| {
            let case = case(&prepared.layout);
            let (input_len, output_len) = (point.input_len, point.output_len);
            let workload = Workload { input_len, output_len: output_len.unwrap_or(0.0) };
            Known {
                work: &work,
                machine,
                engine,
                prepared,
                options,
                load: Load {
                    concurrency: point.concurrency,
                    input_len,
                    output_len,
                    requests: None,
                },
                // A point that was measured ran, whatever the memory model thinks.
                slots: slots(&case, &Memory::of(&case), &workload).requests.max(1.0),
                output_tok_s: point.output_tok_s,
                tpot_ms: point.tpot_ms,
            }
        })
        .collect();
    then(&known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refusal(text: &str) -> String {
        points(text, "points.json").unwrap_err().to_string()
    }

    #[test]
    fn bad_points_are_refused_by_field_and_value() {
        insta::assert_snapshot!(refusal("[]"), @"points.json holds no points");
        insta::assert_snapshot!(
            refusal(r#"[{"layout":"tp2+ep4","concurrency":1,"input_len":10}]"#),
            @r#"points.json: point 1: layout is "tp2+ep4" (ep4 does not divide the 2 ranks of a stage), which no measurement gives"#
        );
        insta::assert_snapshot!(
            refusal(r#"[{"layout":"tp8","concurrency":0,"input_len":10,"tpot_ms":9}]"#),
            @"points.json: point 1: concurrency is 0, which no measurement gives"
        );
        insta::assert_snapshot!(
            refusal(r#"[{"layout":"tp8","concurrency":1,"input_len":10}]"#),
            @"points.json: point 1 has neither output_tok_s nor tpot_ms"
        );
    }

    #[test]
    fn four_points_move_the_rest_toward_what_was_measured() {
        let model = ModelSpec::catalog("kimi-k2.6").unwrap();
        let machine = MachineSpec::catalog("8x-rtx-pro-6000").unwrap();
        let engine = EngineProfile::catalog("sglang-0.5.11").unwrap();
        let options = Options::default();
        let shipped = Constants::catalog();
        // A machine whose kernels and links are slower than the shipped constants have them.
        let mut truth = shipped.clone();
        truth.entry_mut(Key::KernelUs).base *= 1.4;
        truth.entry_mut(Key::CollectiveScale).base *= 1.3;
        let measured = |constants: &Constants, layout: &str, concurrency: f64| {
            let work = ModelWork::new(&model, constants.entry(Key::Skew).base);
            let bytes = ModelBytes::new(&model, engine.family);
            let (model, machine, engine) = (&model, &machine, &engine);
            let (layout, options) = (&layout.parse().unwrap(), &options);
            let case = Case { model, bytes: &bytes, machine, engine, layout, options };
            let prepared = Prepared::new(&case);
            let load =
                Load { concurrency, input_len: 512.0, output_len: Some(512.0), requests: None };
            let known = Known {
                work: &work,
                machine,
                engine,
                prepared: &prepared,
                options,
                load,
                slots: 256.0,
                output_tok_s: None,
                tpot_ms: None,
            };
            known.predict(constants).output_tok_s
        };
        let point = |layout: &str, concurrency| Point {
            layout: layout.to_string(),
            concurrency,
            input_len: 512.0,
            output_len: Some(512.0),
            output_tok_s: Some(measured(&truth, layout, concurrency)),
            tpot_ms: None,
        };
        let points =
            [point("tp8", 1.0), point("tp8", 16.0), point("tp8+ep8", 1.0), point("tp8", 64.0)];
        let setup = Setup { model: &model, machine: &machine, engine: &engine, options: &options };
        let calibrated = calibrate_points(&shipped, &setup, &points);
        for (layout, concurrency) in [("tp8+ep4", 1.0), ("tp8+ep8", 32.0), ("tp8", 4.0)] {
            let error = |constants: &Constants| {
                (measured(constants, layout, concurrency) / measured(&truth, layout, concurrency))
                    .ln()
                    .abs()
            };
            assert!(error(&calibrated) < 0.03, "{layout} {concurrency}: {}", error(&calibrated));
            assert!(error(&calibrated) < error(&shipped) / 2.0);
        }
    }
}
