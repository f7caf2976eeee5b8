//! Every model on every kind of machine by every engine.

use crate::plans::check;
use junto_plan::constants::Constants;
use junto_plan::cost::term::Term;
use junto_plan::search::{Plan, Question, layouts, plan};
use junto_plan::steady::Steady;
use junto_spec::catalog;
use junto_spec::engine::EngineProfile;
use junto_spec::layout::Layout;
use junto_spec::machine::{MachineSpec, kinds};
use junto_spec::model::ModelSpec;
use std::collections::HashSet;

/// Layouts planned for one model, machine and engine, spread over all of them.
const SOME: usize = 6;

/// Loads, rising.
const CONCURRENCY: [f64; 5] = [1.0, 8.0, 64.0, 256.0, 1024.0];

/// What throughput may lose when the load rises and everything still runs.
const MOST_LOST: f64 = 0.05;

/// The largest machine of each kind.
fn machines() -> Vec<MachineSpec> {
    let names = kinds::all().into_iter().filter_map(|kind| kind.machines().into_iter().next_back());
    names.map(|name| MachineSpec::catalog(&name).unwrap()).collect()
}

fn engines() -> Vec<EngineProfile> {
    let names = EngineProfile::names().into_iter();
    names.map(|name| EngineProfile::catalog(name).unwrap()).collect()
}

#[test]
fn every_model_plans_on_every_machine_by_every_engine() {
    let (constants, machines, engines) = (Constants::catalog(), machines(), engines());
    let mut falls = Vec::new();
    for (index, name) in catalog::names("models").into_iter().enumerate() {
        let model = ModelSpec::catalog(name).unwrap();
        for machine in &machines {
            for engine in &engines {
                let all = layouts(&model, engine, machine.gpus());
                // Each model begins elsewhere, so that together they try nearly all.
                let step = all.len().div_ceil(SOME).max(1);
                let some: Vec<Layout> = all.into_iter().skip(index % step).step_by(step).collect();
                let question = Question::new(&model, machine, engine, &constants);
                let question = Question { concurrency: CONCURRENCY.to_vec(), ..question };
                let plan = plan(&question, &some);
                check(&question, &some, &plan);
                falls.extend(falls_of(&question, &plan));
            }
        }
    }
    assert!(falls.is_empty(), "{} falls\n{}", falls.len(), falls.join("\n"));
}

/// Where throughput falls although the load rises and all of it runs.
fn falls_of(question: &Question, plan: &Plan) -> Vec<String> {
    let mut falls = Vec::new();
    for candidate in &plan.ranked {
        for pair in candidate.points.windows(2) {
            let [before, after] = pair else { continue };
            let whole = after.concurrency <= after.running;
            let lost = 1.0 - after.output_tok_s / before.output_tok_s;
            if whole && MOST_LOST < lost && !is_excused(before, after) {
                let Question { model, machine, engine, .. } = question;
                let (model, machine, engine) = (&model.name, &machine.name, &engine.name);
                let (layout, load) = (candidate.layout, after.concurrency);
                falls.push(format!(
                    "{model} on {machine} by {engine}, {layout}: {lost:.2} lost at {load}"
                ));
            }
        }
    }
    falls
}

/// A larger batch may be slower where no captured graph replays it, and where the collectives take
/// more time for each token (L40S: 4 MiB were measured at six times 1 MiB).
fn is_excused(before: &Steady, after: &Steady) -> bool {
    let launch = |point: &Steady| point.terms.time(Term::Launch).0;
    let sent = [Term::AllReduce, Term::Exchange, Term::ContextParallel];
    let sent = |point: &Steady| sent.map(|term| point.terms.time(term).0).iter().sum::<f64>();
    let (loss, growth) = (sent(after) / sent(before), after.running / before.running);
    launch(before) == 0.0 && 0.0 < launch(after) || growth < loss
}

#[test]
fn no_layout_is_listed_twice() {
    let model = ModelSpec::catalog("kimi-k2.6").unwrap();
    for engine in engines() {
        for machine in machines() {
            let all = layouts(&model, &engine, machine.gpus());
            let distinct: HashSet<Layout> = all.iter().copied().collect();
            assert_eq!(distinct.len(), all.len(), "{} {}", machine.name, engine.name);
            assert!(all.iter().all(|layout| layout.gpus() == machine.gpus()));
        }
    }
}
