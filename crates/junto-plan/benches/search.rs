//! What a search costs: on eight GPUs, on a thousand, of one layout, and before the first layout.
//! `cargo bench -p junto-plan`; figures are kept in docs/benchmarks/search.md.

use criterion::Criterion;
use junto_plan::band::Bands;
use junto_plan::constants::Constants;
use junto_plan::search::{Question, layouts, plan};
use junto_spec::engine::EngineProfile;
use junto_spec::layout::Layout;
use junto_spec::machine::MachineSpec;
use junto_spec::model::ModelSpec;
use std::hint::black_box;

const MODEL: &str = "kimi-k2.6";
const ENGINE: &str = "sglang-0.5.11";
/// With decode context parallelism, which has the most layouts.
const WIDEST_ENGINE: &str = "sglang-0.5.23";
const SMALL: &str = "8x-rtx-pro-6000";
const LARGE: &str = "1024x-h200";
const CONCURRENCY: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

/// Everything that a question borrows.
struct Catalog {
    model: ModelSpec,
    machine: MachineSpec,
    engine: EngineProfile,
    constants: Constants,
}

impl Catalog {
    fn read(machine: &str, engine: &str) -> Self {
        Self {
            model: ModelSpec::catalog(MODEL).expect("in the catalog"),
            machine: MachineSpec::catalog(machine).expect("in the catalog"),
            engine: EngineProfile::catalog(engine).expect("in the catalog"),
            constants: Constants::catalog(),
        }
    }

    fn question(&self, concurrency: &[f64]) -> Question<'_> {
        let question = Question::new(&self.model, &self.machine, &self.engine, &self.constants);
        Question { concurrency: concurrency.to_vec(), ..question }
    }
}

fn search(criterion: &mut Criterion, machine: &str, engine: &str) {
    let catalog = Catalog::read(machine, engine);
    let question = catalog.question(&CONCURRENCY);
    let gpus = catalog.machine.gpus();
    let count = layouts(&catalog.model, &catalog.engine, gpus).len();
    criterion.bench_function(
        &format!("{machine}, {engine}, {count} layouts, 8 concurrencies"),
        |bencher| {
            bencher.iter(|| {
                plan(black_box(&question), &layouts(&catalog.model, &catalog.engine, gpus))
            });
        },
    );
}

fn one_layout(criterion: &mut Criterion) {
    let catalog = Catalog::read(SMALL, ENGINE);
    let question = catalog.question(&[64.0]);
    let layout: Layout = "tp8+ep4".parse().expect("a layout");
    criterion.bench_function("one layout at one concurrency", |bencher| {
        bencher.iter(|| plan(black_box(&question), &[layout]));
    });
}

fn start(criterion: &mut Criterion) {
    criterion.bench_function("start: model, machine, engine, constants, bands", |bencher| {
        bencher.iter(|| (Catalog::read(black_box(SMALL), ENGINE), Bands::catalog()));
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    search(&mut criterion, SMALL, ENGINE);
    search(&mut criterion, LARGE, ENGINE);
    search(&mut criterion, LARGE, WIDEST_ENGINE);
    one_layout(&mut criterion);
    start(&mut criterion);
    criterion.final_summary();
}
