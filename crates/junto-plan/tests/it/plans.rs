//! What the planner says of any model, machine and engine that can be read: a refusal, or figures
//! that could be true.

use crate::mutation::{file, mistakes, toml_with_mistakes, with_mistakes};
use junto_plan::calibrate::{Setup, calibrate_points, points as points_of, refused_point};
use junto_plan::constants::Constants;
use junto_plan::options::{AllReduce, Exchange, Graphs, Options, Placement, Speculation};
use junto_plan::search::{Candidate, Plan, Question, layouts, plan};
use junto_plan::steady::Steady;
use junto_spec::catalog;
use junto_spec::engine::EngineProfile;
use junto_spec::format::KvFormat;
use junto_spec::layout::Layout;
use junto_spec::machine::MachineSpec;
use junto_spec::model::ModelSpec;
use junto_spec::workload::Workload;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Most layouts planned in one case; every so-manieth of a longer list.
const MOST_LAYOUTS: usize = 40;

static CONSTANTS: LazyLock<Constants> = LazyLock::new(Constants::catalog);

/// Every layout is ranked or refused, once, and what is ranked has figures that could be true.
#[track_caller]
pub(crate) fn check(question: &Question, all: &[Layout], plan: &Plan) {
    let what = || {
        let Question { model, machine, engine, .. } = question;
        format!("{} on {} by {}", model.name, machine.name, engine.name)
    };
    let ranked = plan.ranked.iter().map(|candidate| candidate.layout);
    let told: Vec<String> =
        ranked.chain(plan.refused.iter().map(|it| it.layout)).map(|it| it.to_string()).collect();
    assert_eq!(told.len(), all.len(), "{}", what());
    let told: BTreeSet<String> = told.into_iter().collect();
    let asked: BTreeSet<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(told, asked, "{}", what());
    for refusal in &plan.refused {
        assert!(!refusal.reason.is_empty(), "{} {}", what(), refusal.layout);
    }
    for candidate in &plan.ranked {
        check_candidate(question, candidate, &what());
    }
}

fn check_candidate(question: &Question, candidate: &Candidate, what: &str) {
    let (memory, slots) = (candidate.memory, candidate.slots);
    let what = format!("{what}, {}: {slots} slots", candidate.layout);
    let held = [memory.weights, memory.kv, memory.activations, memory.graphs, memory.communication];
    assert!(held.iter().all(|bytes| bytes.0.is_finite() && 0.0 <= bytes.0), "{what} {memory:?}");
    assert!(memory.kv_tokens.is_finite() && 1.0 <= slots, "{what} {memory:?}");
    assert_eq!(candidate.points.len(), question.concurrency.len(), "{what}");
    for point in &candidate.points {
        let Steady { running, output_tok_s, total_tok_s, tpot, ttft, .. } = *point;
        let figures = [running, output_tok_s, total_tok_s, tpot.0];
        let what = format!("{what}, {figures:?}, TTFT {ttft}");
        assert!(figures.iter().all(|figure| figure.is_finite() && 0.0 < *figure), "{what}");
        assert!(ttft.0.is_finite() && 0.0 <= ttft.0, "{what}");
        assert!(running <= point.concurrency.min(slots) * (1.0 + 1e-12), "{what}");
        assert!(output_tok_s <= total_tok_s, "{what}");
        let times: Vec<f64> = point.terms.terms().map(|(_, part)| part.time.0).collect();
        assert!((times.iter().sum::<f64>() / tpot.0 - 1.0).abs() < 1e-9, "{what} {times:?}");
    }
}

fn any_options() -> impl Strategy<Value = Options> {
    let number = |range: std::ops::Range<u32>| prop::option::of(range);
    let speculation = (1_u32..8, 0.0..1.0).prop_map(|(draft_tokens, accepted)| Speculation {
        draft_tokens,
        acceptance_length: 1.0 + accepted * f64::from(draft_tokens),
    });
    let choices = (
        prop::sample::select(vec![KvFormat::Bf16, KvFormat::Fp8]),
        prop::sample::select(vec![Graphs::On, Graphs::Off]),
        prop::sample::select(vec![AllReduce::Auto, AllReduce::Nccl, AllReduce::OneShot]),
        prop::sample::select(vec![Exchange::GatherScatter, Exchange::AllToAll]),
        prop::sample::select(vec![Placement::Contiguous, Placement::Balanced]),
    );
    let numbers = (
        prop::option::of(0.01..1.0),
        number(1..1_000_000),
        number(1..100_000_000),
        number(1..10_000_000),
        number(1..1_000_000),
        prop::option::weighted(0.3, speculation),
    );
    (choices, numbers).prop_map(|((kv, graphs, all_reduce, exchange, placement), numbers)| {
        let (memory_fraction, max_running, max_context, chunked_prefill, micro_batch, speculation) =
            numbers;
        Options {
            kv,
            graphs,
            all_reduce,
            exchange,
            placement,
            memory_fraction,
            max_running,
            max_context,
            chunked_prefill,
            micro_batch,
            speculation,
        }
    })
}

/// Lengths and concurrencies that the program takes.
fn any_load() -> impl Strategy<Value = (Workload, Vec<f64>)> {
    let tokens = || prop_oneof![1_u32..5000, 1_u32..100_000_000];
    let concurrency = prop::collection::vec(prop_oneof![1_u32..300, 1_u32..1_000_000], 1..3);
    (tokens(), tokens(), concurrency).prop_map(|(input, output, concurrency)| {
        let workload = Workload { input_len: input.into(), output_len: output.into() };
        (workload, concurrency.into_iter().map(f64::from).collect())
    })
}

const MACHINES: [&str; 7] =
    ["1x-h200", "8x-h200", "8x-rtx-pro-6000", "4x-4090", "72x-gb200", "64x-h100", "cpu"];

/// A name of the catalog; failures then print the name, not the whole.
fn any_model() -> impl Strategy<Value = &'static str> {
    prop::sample::select(catalog::names("models"))
}

fn any_machine() -> impl Strategy<Value = &'static str> {
    prop::sample::select(MACHINES.to_vec())
}

fn any_engine() -> impl Strategy<Value = &'static str> {
    prop::sample::select(EngineProfile::names())
}

/// Plans some layouts and checks what is said of them.
fn check_some(question: &Question) {
    let all = layouts(question.model, question.engine, question.machine.gpus());
    let step = all.len().div_ceil(MOST_LAYOUTS).max(1);
    let some: Vec<Layout> = all.into_iter().step_by(step).collect();
    check(question, &some, &plan(question, &some));
}

/// What a person asks with options and lengths of their own.
#[derive(Clone, Debug)]
struct Asked {
    options: Options,
    workload: Workload,
    concurrency: Vec<f64>,
}

fn any_asked() -> impl Strategy<Value = Asked> {
    (any_options(), any_load()).prop_map(|(options, (workload, concurrency))| Asked {
        options,
        workload,
        concurrency,
    })
}

impl Asked {
    fn of<'a>(
        self,
        model: &'a ModelSpec,
        machine: &'a MachineSpec,
        engine: &'a EngineProfile,
    ) -> Question<'a> {
        let Self { options, workload, concurrency } = self;
        let question = Question::new(model, machine, engine, &CONSTANTS);
        Question { options, workload, concurrency, ..question }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 65_536, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn any_model_that_reads_can_be_planned(
        (name, text) in file("models"), mistakes in mistakes(),
        machine in any_machine(), engine in any_engine(), asked in any_asked(),
    ) {
        let config = with_mistakes(serde_json::from_str(text).unwrap(), &mistakes);
        let model = ModelSpec::from_json(&config.to_string(), name);
        prop_assume!(model.is_ok());
        let machine = MachineSpec::catalog(machine).unwrap();
        let engine = EngineProfile::catalog(engine).unwrap();
        check_some(&asked.of(&model.unwrap(), &machine, &engine));
    }

    #[test]
    fn any_machine_that_reads_can_be_planned(
        (name, text) in file("machines"), mistakes in mistakes(),
        model in any_model(), engine in any_engine(), asked in any_asked(),
    ) {
        let machine = MachineSpec::from_toml(&toml_with_mistakes(text, &mistakes), name);
        prop_assume!(machine.as_ref().is_ok_and(|machine| machine.gpus() <= 4096));
        let model = ModelSpec::catalog(model).unwrap();
        let engine = EngineProfile::catalog(engine).unwrap();
        check_some(&asked.of(&model, &machine.unwrap(), &engine));
    }

    #[test]
    fn any_engine_that_reads_can_be_planned(
        (name, text) in file("engines"), mistakes in mistakes(),
        model in any_model(), machine in any_machine(), asked in any_asked(),
    ) {
        let engine = EngineProfile::from_toml(&toml_with_mistakes(text, &mistakes), name);
        prop_assume!(engine.is_ok());
        let model = ModelSpec::catalog(model).unwrap();
        let machine = MachineSpec::catalog(machine).unwrap();
        check_some(&asked.of(&model, &machine, &engine.unwrap()));
    }

    #[test]
    fn any_constants_that_read_can_be_planned_with(
        mistakes in mistakes(), model in any_model(), machine in any_machine(), engine in any_engine(),
    ) {
        let text = catalog::file("constants.toml").unwrap();
        let constants = Constants::from_toml(&toml_with_mistakes(text, &mistakes), "any.toml");
        prop_assume!(constants.is_ok());
        let model = ModelSpec::catalog(model).unwrap();
        let machine = MachineSpec::catalog(machine).unwrap();
        let engine = EngineProfile::catalog(engine).unwrap();
        check_some(&Question::new(&model, &machine, &engine, &constants.unwrap()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_points_that_read_calibrate_to_constants_that_read(
        points in prop::collection::vec(any_point(), 1..4), model in any_model(), engine in any_engine(),
    ) {
        let text = Value::from(points).to_string();
        let model = ModelSpec::catalog(model).unwrap();
        let machine = MachineSpec::catalog("8x-h200").unwrap();
        let engine = EngineProfile::catalog(engine).unwrap();
        let options = Options::default();
        let setup = Setup { model: &model, machine: &machine, engine: &engine, options: &options };
        let points = points_of(&text, "any.json").unwrap();
        prop_assume!(refused_point(&setup, &points).is_none());
        let calibrated = calibrate_points(&CONSTANTS, &setup, &points);
        let text = calibrated.to_toml();
        prop_assert!(Constants::from_toml(&text, "calibrated.toml").is_ok(), "{}", text);
    }
}

/// A measured point, however unlikely.
fn any_point() -> impl Strategy<Value = Value> {
    let layout = prop::sample::select(vec!["tp8", "tp8+ep8", "pp2+tp4", "pp8", "2x tp4", "8x tp1"]);
    let speed = || prop_oneof![1e-3..1e6, Just(f64::MIN_POSITIVE), Just(1e11)];
    let load = (1_u32..100_000, 1_u32..100_000, 1_u32..100_000);
    (layout, load, speed(), speed()).prop_map(|(layout, load, output_tok_s, tpot_ms)| {
        let (concurrency, input_len, output_len) = load;
        json!({"layout": layout, "concurrency": concurrency, "input_len": input_len,
            "output_len": output_len, "output_tok_s": output_tok_s, "tpot_ms": tpot_ms})
    })
}
