//! What a person reads when a layout will not run.

mod layouts;
mod options;

use super::*;
use crate::options::Options;
use crate::test_cases::Owned;
use junto_spec::layout::Layout;

/// What is said of each layout, a line each, with its hint on a line of its own.
fn said(model: &str, machine: &str, engine: &str, layouts: &[&str]) -> String {
    with(Options::default(), model, machine, engine, layouts)
}

fn with(options: Options, model: &str, machine: &str, engine: &str, layouts: &[&str]) -> String {
    let owned = Owned { options, ..Owned::new(model, machine, engine) };
    let mut lines = Vec::new();
    for text in layouts {
        let layout: Layout = text.parse().unwrap();
        let Some(refusal) = refuse(&owned.case(&layout)) else {
            lines.push(format!("{text}: runs"));
            continue;
        };
        lines.push(format!("{refusal} ({}, {})", refusal.rule, refusal.when));
        lines.extend(refusal.hint.map(|hint| format!("  hint: {hint}")));
    }
    lines.join("\n")
}

/// The lists are in the order in which an engine starts.
#[test]
fn rules_are_listed_in_the_order_of_failing() {
    let families =
        [Family::Sglang, Family::Vllm, Family::TensorrtLlm, Family::LlamaCpp, Family::Native];
    for family in families {
        assert!(rules_of(family).is_sorted_by_key(|rule| rule.when), "{family:?}");
    }
}
