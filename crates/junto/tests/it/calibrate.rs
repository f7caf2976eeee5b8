//! `--calibrate` and `--save-constants`.

use crate::junto::{Scratch, output, stdout};
use serde_json::{Value, json};
use std::fs::File;

const CASE: [&str; 6] =
    ["--model", "kimi-k2.6", "--machine", "8x-rtx-pro-6000", "--engine", "sglang-0.5.11"];
const PLAN: [&str; 4] = ["plan", "--json", "--layouts", "tp8,tp8+ep8,pp8"];

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().chain(&CASE).copied().collect()
}

fn plan(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&with(&[&PLAN[..], args].concat()), 0)).unwrap()
}

/// What a machine would measure that is `slower` than the constants, in some places of a plan.
fn points(plan: &Value, slower: f64) -> Vec<Value> {
    let mut points = Vec::new();
    for (index, layout) in plan["ranked"].as_array().unwrap().iter().enumerate() {
        let point = &layout["points"][index % 2];
        points.push(json!({
            "layout": layout["layout"],
            "concurrency": point["concurrency"],
            "input_len": 1024,
            "output_len": 1024,
            "output_tok_s": point["output_tok_s"].as_f64().unwrap() / slower,
        }));
    }
    points
}

fn scratch(name: &str, points: &[Value]) -> Scratch {
    Scratch::new(name, serde_json::to_string(points).unwrap().as_bytes())
}

/// What a run tells on stderr; it must end with 0.
#[track_caller]
fn story(args: &[&str]) -> String {
    let output = output(&with(args));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_error_falls_and_the_band_narrows() {
    let shipped = plan(&[]);
    let file = scratch("slower.json", &points(&shipped, 1.25));
    let story = story(&["plan", "--calibrate", file.path()]);
    let figures = story.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let figures: Vec<f64> = figures.filter_map(|word| word.parse().ok()).collect();
    let [points, before, after] = figures[..] else { panic!("{story}") };
    assert!((points - 3.0).abs() < 1e-9, "{story}");
    assert!((before - 25.0).abs() < 0.1 && after < before / 2.0, "{story}");
    let calibrated = plan(&["--calibrate", file.path()]);
    let factor = |plan: &Value| plan["uncertainty"]["speed_factor"].as_f64().unwrap();
    assert!(factor(&calibrated) < factor(&shipped));
    assert_eq!(calibrated["uncertainty"]["calibration_points"], 3);
    let speed = |plan: &Value| plan["ranked"][0]["points"][0]["output_tok_s"].as_f64().unwrap();
    assert!(speed(&calibrated) < 0.95 * speed(&shipped));
}

#[test]
fn saved_constants_give_the_same_figures() {
    let file = scratch("measured.json", &points(&plan(&[]), 1.2));
    let saved = Scratch::new("constants.toml", b"");
    let figures = |args: &[&str]| {
        let plan = plan(args);
        let layouts = plan["ranked"].as_array().unwrap().iter();
        let terms = layouts.flat_map(|layout| layout["points"].as_array().unwrap().clone());
        terms.map(|point| point["terms"].clone()).collect::<Vec<_>>()
    };
    let calibrated = figures(&["--calibrate", file.path(), "--save-constants", saved.path()]);
    assert_eq!(figures(&["--constants", saved.path()]), calibrated);
    assert_ne!(figures(&[]), calibrated);
    // `why` takes the same flags.
    stdout(&with(&["why", "tp8", "pp8", "--calibrate", file.path()]), 0);
}

#[test]
fn a_run_without_graphs_is_named() {
    let mut points = points(&plan(&[]), 1.0);
    let off = plan(&["--set", "cuda_graphs=off"]);
    let ranked = off["ranked"].as_array().unwrap();
    let eager = ranked.iter().find(|layout| layout["layout"] == "tp8+ep8").unwrap();
    points.push(json!({
        "layout": "tp8+ep8",
        "concurrency": 1,
        "input_len": 1024,
        "output_len": 1024,
        "tpot_ms": eager["points"][0]["tpot_ms"],
    }));
    let file = scratch("eager.json", &points);
    let story = story(&["plan", "--calibrate", file.path()]);
    let warnings: Vec<&str> = story.lines().filter(|line| line.starts_with("warning")).collect();
    let [warning] = warnings[..] else { panic!("{story}") };
    assert!(warning.starts_with("warning: point 4 (tp8+ep8 at C=1) stays x"), "{story}");
    assert!(warning.ends_with("; cuda_graphs=off would explain it"), "{story}");
    assert!(story.contains("hint: something else differs in such a run: CUDA graphs off?"));
}

/// What is said of a file of points; it must be a mistake.
#[track_caller]
fn mistake(text: &[u8]) -> String {
    let file = Scratch::new("points.json", text);
    let output = output(&with(&["plan", "--calibrate", file.path()]));
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    let story = String::from_utf8(output.stderr).unwrap().replace(file.path(), "FILE");
    let (story, example) = match story.split_once("hint: points are written [{") {
        Some((story, _)) => (story.to_owned(), "hint: (an example)"),
        None => (story, ""),
    };
    story + example
}

#[test]
fn a_file_that_holds_no_points() {
    insta::assert_snapshot!(mistake(b"[]"), @"
        error: FILE holds no points
        hint: (an example)
        ");
    insta::assert_snapshot!(mistake(b"layout,tok/s\n"), @"
        error: FILE is no file of points: expected value at line 1 column 1
        hint: (an example)
        ");
    insta::assert_snapshot!(mistake(b"[{\"layout\": \"\xe9\"}]"), @"
        error: FILE is not a text file: its byte 13 is no UTF-8
        hint: (an example)
        ");
    insta::assert_snapshot!(mistake(br#"[{"layout": "tp8"}]"#), @"
        error: FILE is no file of points: missing field `concurrency` at line 1 column 18
        hint: (an example)
        ");
    insta::assert_snapshot!(mistake(br#"[{"layout": "tp8", "tok_s": 3}]"#), @"
        error: FILE is no file of points: unknown field `tok_s`, expected one of `layout`, `concurrency`, `input_len`, `output_len`, `output_tok_s`, `tpot_ms` at line 1 column 26
        hint: (an example)
        ");
    insta::assert_snapshot!(mistake(br#"[{"layout": "tp8", "concurrency": 1, "input_len": 9}]"#), @"
        error: FILE: point 1 has neither output_tok_s nor tpot_ms
        hint: (an example)
        ");
    let file = Scratch::new("weights.json", b"");
    // Sparse: it takes no room.
    File::options().write(true).open(file.path()).unwrap().set_len(2 << 30).unwrap();
    let text = file.block(&[&["plan"], &CASE[..], &["--calibrate"]].concat());
    insta::assert_snapshot!(text, @r#"
        exit 2
        --- stderr
        error: a file of points is a few KiB; FILE has 2.0 GiB
        hint: points are written [{"layout": "tp8", "concurrency": 1, "input_len": 1024, "output_len": 1024, "output_tok_s": 65.3}], or with tpot_ms; three or four are enough
        "#);
}

#[test]
fn points_that_were_not_measured_here() {
    let point = |layout: &str, input_len: u32| {
        let point = json!([{
            "layout": layout,
            "concurrency": 1,
            "input_len": input_len,
            "output_len": 64,
            "tpot_ms": 20,
        }]);
        mistake(point.to_string().as_bytes())
    };
    insta::assert_snapshot!(point("tp2+ep4", 64), @r#"
        error: FILE: point 1: layout is "tp2+ep4" (ep4 does not divide the 2 ranks of a stage), which no measurement gives
        hint: (an example)
        "#);
    insta::assert_snapshot!(point("tp16", 64), @"
        error: FILE: point 1, tp16: needs 16 GPUs, the machine has 8, so it cannot have been measured here
        hint: points must be of this model, machine and engine; give what else was set with --quant and --set
        ");
    insta::assert_snapshot!(point("tp3", 64), @"
        error: FILE: point 1, tp3: tp3 does not divide the 64 attention heads, so it cannot have been measured here
        hint: points must be of this model, machine and engine; give what else was set with --quant and --set
        ");
    insta::assert_snapshot!(point("tp4", 64), @"
        error: FILE: point 1, tp4: weights need 141.0 GiB per GPU, the card has 94.9 GiB, so it cannot have been measured here
        hint: points must be of this model, machine and engine; give what else was set with --quant and --set
        ");
    insta::assert_snapshot!(point("tp8", 1_000_000), @"
        error: FILE: point 1, tp8: a request of 1.0M tokens needs 65.5 GiB of KV cache, there is 11.6 GiB per GPU, so it cannot have been measured here
        hint: points must be of this model, machine and engine; give what else was set with --quant and --set
        ");
    let many =
        vec![json!({"layout": "tp8", "concurrency": 1, "input_len": 9, "tpot_ms": 20}); 1001];
    insta::assert_snapshot!(mistake(Value::from(many).to_string().as_bytes()), @"
        error: FILE holds 1001 points, 1000 are the most
        hint: take a few that differ in layout and concurrency
        ");
}
