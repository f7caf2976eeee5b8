//! What holds whatever is asked.

use crate::junto::{output, stdout};
use junto_spec::catalog;
use junto_spec::engine::EngineProfile;
use junto_spec::machine::MachineSpec;
use junto_spec::machine::kinds;
use junto_spec::model::ModelSpec;
use serde_json::Value;
use std::collections::BTreeSet;

/// Machines with more GPUs have thousands of layouts.
const MOST_GPUS: u32 = 16;

/// Every model on one machine, every machine with one model.
fn cases() -> impl Iterator<Item = [String; 3]> {
    let models = catalog::names("models").into_iter();
    let models = models.map(|model| [model, "8x-h200", "sglang-0.5.11"].map(str::to_owned));
    let gpus = |name: &String| MachineSpec::catalog(name).unwrap().gpus();
    let largest = kinds::all()
        .into_iter()
        .filter_map(move |kind| kind.machines().into_iter().rfind(|name| gpus(name) <= MOST_GPUS));
    let machines =
        largest.map(|machine| ["gpt-oss-120b".to_owned(), machine, "vllm-0.33".to_owned()]);
    models.chain(machines)
}

fn numbers<'a>(value: &'a Value, of: &'a str, field: &'a str) -> impl Iterator<Item = f64> + 'a {
    value[of].as_array().unwrap().iter().map(move |each| each[field].as_f64().unwrap())
}

#[test]
fn the_best_comes_first_terms_sum_and_every_layout_appears_once() {
    for [model, machine, engine] in cases() {
        let args =
            ["plan", "--json", "--model", &model, "--machine", &machine, "--engine", &engine];
        let output = output(&args);
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ranked = plan["ranked"].as_array().unwrap();
        let exit = i32::from(ranked.is_empty());
        assert_eq!(output.status.code(), Some(exit), "{args:?}");
        let mut best = f64::INFINITY;
        for candidate in ranked {
            let score: f64 = numbers(candidate, "points", "output_tok_s").map(f64::ln).sum();
            assert!(score <= best + 1e-9, "{args:?} {}", candidate["layout"]);
            best = score;
            for point in candidate["points"].as_array().unwrap() {
                let terms: f64 = numbers(point, "terms", "ms").sum();
                let tpot = point["tpot_ms"].as_f64().unwrap();
                assert!((terms / tpot - 1.0).abs() < 1e-9, "{args:?} {}", candidate["layout"]);
                assert!(
                    point["running"].as_f64().unwrap()
                        <= candidate["max_running"].as_f64().unwrap()
                );
            }
        }
        let refused = plan["refused"].as_array().unwrap();
        let all: Vec<&str> =
            ranked.iter().chain(refused).map(|each| each["layout"].as_str().unwrap()).collect();
        let expected = junto_plan::search::layouts(
            &ModelSpec::catalog(&model).unwrap(),
            &EngineProfile::catalog(&engine).unwrap(),
            MachineSpec::catalog(&machine).unwrap().gpus(),
        );
        assert_eq!(all.len(), expected.len(), "{args:?}");
        let distinct: BTreeSet<&str> = all.iter().copied().collect();
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert!(distinct.into_iter().eq(expected.iter().map(String::as_str)), "{args:?}");
    }
}

#[track_caller]
fn check_width(args: &[&str]) {
    let output = output(args);
    assert!(output.status.code().is_some_and(|code| code <= 2), "{args:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{args:?}\n{line}");
    }
}

#[test]
fn every_line_fits_100_columns() {
    let many = "1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768";
    for [model, machine, engine] in cases() {
        let case = ["plan", "--model", &model, "--machine", &machine, "--engine", &engine];
        let few = ["--all", "--concurrency", "1,32,4096", "--what-if", "kv_dtype=fp8"];
        check_width(&[&case[..], &few].concat());
        let one = ["--layouts", "tp8", "--concurrency", many, "--slo", "tpot=80ms,ttft=60s"];
        if machine.starts_with("8x") {
            check_width(&[&case[..], &one].concat());
        }
    }
}

#[test]
fn what_is_printed_without_a_terminal_has_no_color() {
    for args in [&["plan", "--machine", "8x-h200"][..], &["why", "tp8", "pp8"], &["models"]] {
        assert!(!stdout(args, 0).contains('\u{1b}'), "{args:?}");
    }
}
