//! What the arguments mean. They are converted here, once.

use crate::args::CaseArgs;
use crate::basis::Basis;
use crate::calibration;
use crate::exit::{Misuse, misuse};
use crate::given::{self, MachineFrom};
use junto_plan::calibrate::Setup;
use junto_plan::constants::Constants;
use junto_plan::options::Options;
use junto_plan::search::Question;
use junto_plan::slo::{Slo, SloError};
use junto_plan::whatif::Change;
use junto_spec::engine::EngineProfile;
use junto_spec::layout::{Layout, LayoutError};
use junto_spec::machine::MachineSpec;
use junto_spec::model::ModelSpec;
use junto_spec::workload::Workload;
use std::io::Write;

/// The most requests in a system at once.
pub(crate) const MOST_REQUESTS: f64 = 1e6;
/// The most tokens of anything.
const MOST_TOKENS: f64 = 1e8;
/// The most concurrencies of one table.
const MOST_POINTS: usize = 64;

/// Model, machine, engine and all that is common to their layouts.
#[derive(Debug)]
pub(crate) struct Meant {
    pub(crate) model: ModelSpec,
    pub(crate) machine: MachineSpec,
    pub(crate) engine: EngineProfile,
    pub(crate) options: Options,
    pub(crate) workload: Workload,
    constants: Constants,
    /// `None`: the catalog.
    basis: Option<Basis>,
}

impl Meant {
    /// What `args` mean; `story` hears what was chosen for the user.
    pub(crate) fn new(args: &CaseArgs, story: &mut dyn Write) -> anyhow::Result<Self> {
        let (machine, from) = given::machine(args.machine.as_deref())?;
        let model =
            given::model(args.model.as_deref().unwrap_or(given::MODEL), args.quant.as_deref())?;
        let engine = given::engine(args.engine.as_deref().unwrap_or(given::ENGINE))?;
        let mut options = Options::default();
        for change in changes("--set", &args.set)?.into_iter().flatten() {
            change.apply(&mut options);
        }
        let whole = |flag, text: &Option<String>, most| -> Result<Option<u32>, Misuse> {
            let number = text.as_deref().map(|text| number(flag, text, Kind::Whole, most));
            Ok(number.transpose()?.map(|number| number as u32))
        };
        let asked = Options {
            max_running: whole("--max-running", &args.max_running, MOST_REQUESTS)?,
            max_context: whole("--context-length", &args.context_length, MOST_TOKENS)?,
            chunked_prefill: whole("--chunked-prefill", &args.chunked_prefill, 1e7)?,
            memory_fraction: args
                .memory_fraction
                .as_deref()
                .map(|text| number("--memory-fraction", text, Kind::Real, 1.0))
                .transpose()?,
            ..options
        };
        options.max_running = asked.max_running.or(options.max_running);
        options.max_context = asked.max_context.or(options.max_context);
        options.chunked_prefill = asked.chunked_prefill.or(options.chunked_prefill);
        options.memory_fraction = asked.memory_fraction.or(options.memory_fraction);
        let workload = Workload {
            input_len: number("--input-len", &args.input_len, Kind::Whole, MOST_TOKENS)?,
            output_len: number("--output-len", &args.output_len, Kind::Whole, MOST_TOKENS)?,
        };
        let constants = given::constants(args.constants.as_deref())?;
        let basis = args.constants.is_some().then_some(Basis::File);
        tell(args, from, &model, &machine, &engine, story)?;
        let mut meant = Self { model, machine, engine, options, workload, constants, basis };
        meant.check_context()?;
        meant.calibrate(args, story)?;
        Ok(meant)
    }

    /// Moves the constants by the points that the user measured, if there are any.
    fn calibrate(&mut self, args: &CaseArgs, story: &mut dyn Write) -> anyhow::Result<()> {
        let Some(file) = &args.calibrate else { return Ok(()) };
        let Self { model, machine, engine, options, .. } = &*self;
        let setup = Setup { model, machine, engine, options };
        let calibrated = calibration::calibrated(file, &self.constants, &setup, story)?;
        if let Some(file) = &args.save_constants {
            calibration::save(file, &calibrated.constants, &setup)?;
        }
        self.basis = Some(Basis::Points(calibrated.points));
        self.constants = calibrated.constants;
        Ok(())
    }

    /// A request must fit into the context.
    fn check_context(&self) -> Result<(), Misuse> {
        let Workload { input_len, output_len } = self.workload;
        let tokens = input_len + output_len;
        let (most, whose) = match self.options.max_context {
            Some(most) => (f64::from(most), "--context-length".to_owned()),
            None => (self.model.max_position_embeddings as f64, self.model.name.clone()),
        };
        if tokens <= most {
            return Ok(());
        }
        let what = format!(
            "--input-len {input_len} and --output-len {output_len} make {tokens} tokens, \
             {whose} allows {most}"
        );
        Err(misuse(what).hint("shorten the request"))
    }

    /// The planner's question, at these concurrencies.
    pub(crate) fn question(&self, concurrency: Vec<f64>) -> Question<'_> {
        let question = Question {
            options: self.options,
            workload: self.workload,
            concurrency,
            ..Question::new(&self.model, &self.machine, &self.engine, &self.constants)
        };
        Question { uncertainty: self.basis(&question).uncertainty(&question), ..question }
    }

    /// What the figures rest on.
    pub(crate) fn basis(&self, question: &Question) -> Basis {
        self.basis.unwrap_or_else(|| Basis::catalog(question))
    }
}

/// Says what was chosen for the user.
fn tell(
    args: &CaseArgs,
    from: MachineFrom,
    model: &ModelSpec,
    machine: &MachineSpec,
    engine: &EngineProfile,
    story: &mut dyn Write,
) -> std::io::Result<()> {
    let mut chosen = Vec::new();
    if args.model.is_none() {
        chosen.push(format!("model {}", model.name));
    }
    if from == MachineFrom::Example {
        chosen.push(format!("machine {}", machine.name));
    }
    if args.engine.is_none() {
        chosen.push(format!("engine {}", engine.name));
    }
    if from == MachineFrom::Detected {
        writeln!(story, "note: the machine is this one, {}", machine.description)?;
    }
    if !chosen.is_empty() {
        let reason = if from == MachineFrom::Example { "there is no GPU here; " } else { "" };
        writeln!(story, "note: {reason}chosen for you: {}", chosen.join(", "))?;
    }
    Ok(())
}

/// Which numbers a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whole numbers from 1.
    Whole,
    /// Numbers above 0.
    Real,
}

/// The number that `text` means for `flag`.
pub(crate) fn number(flag: &str, text: &str, kind: Kind, most: f64) -> Result<f64, Misuse> {
    let number: Option<f64> = text.trim().parse().ok();
    let fits = |number: &f64| {
        0.0 < *number && *number <= most && (kind == Kind::Real || number.fract() == 0.0)
    };
    let expected = match kind {
        Kind::Whole => format!("a whole number from 1 to {most}"),
        Kind::Real => format!("a number above 0 and at most {most}"),
    };
    number
        .filter(fits)
        .ok_or_else(|| misuse(format_args!("{flag} is {text:?}; it must be {expected}")))
}

/// Concurrencies: `1,32,64`.
pub(crate) fn concurrencies(text: &str) -> Result<Vec<f64>, Misuse> {
    let parts = text.split(',');
    let mut found: Vec<f64> = Vec::new();
    for part in parts {
        let concurrency = number("--concurrency", part, Kind::Whole, MOST_REQUESTS)?;
        if !found.contains(&concurrency) {
            found.push(concurrency);
        }
    }
    if MOST_POINTS < found.len() {
        let what = format!("--concurrency has {} values, {MOST_POINTS} are the most", found.len());
        return Err(misuse(what));
    }
    found.sort_by(f64::total_cmp);
    Ok(found)
}

/// One layout.
pub(crate) fn layout(flag: &str, text: &str) -> Result<Layout, Misuse> {
    text.parse().map_err(|error: LayoutError| {
        let mistake = misuse(format_args!("{flag}: {error}"));
        match error {
            LayoutError::BadPart { .. } => {
                mistake.hint("layouts are written tp8, tp8+ep4, pp2+tp4 or 2x tp4")
            }
            _ => mistake,
        }
    })
}

/// Layouts: `tp8,tp8+ep4`.
pub(crate) fn layouts(text: &str) -> Result<Vec<Layout>, Misuse> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let layout = layout("--layouts", part)?;
        if !found.contains(&layout) {
            found.push(layout);
        }
    }
    Ok(found)
}

/// Service levels, from all places where they are given.
pub(crate) fn slo(texts: &[String]) -> Result<Option<Slo>, Misuse> {
    if texts.is_empty() {
        return Ok(None);
    }
    let slo = texts.join(",").parse().map_err(|error: SloError| {
        misuse(format_args!("--slo: {error}")).hint("write it as ttft=2s,tpot=50ms")
    })?;
    Ok(Some(slo))
}

/// Changes of options: one list for each text, at its commas.
pub(crate) fn changes(flag: &str, texts: &[String]) -> Result<Vec<Vec<Change>>, Misuse> {
    let change = |text: &str| {
        text.parse::<Change>()
            .map_err(|error| misuse(format_args!("{flag}: {error}")).maybe_hint(error.hint()))
    };
    texts.iter().map(|text| text.split(',').map(change).collect()).collect()
}
