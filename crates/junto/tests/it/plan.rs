//! `junto plan`.

use crate::junto::{block, command, output, stdout, without_figures};
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;

const CASE: [&str; 7] =
    ["plan", "--model", "kimi-k2.6", "--machine", "8x-rtx-pro-6000", "--engine", "sglang-0.5.11"];

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    CASE.iter().chain(args).copied().collect()
}

#[test]
fn the_table_and_those_refused() {
    let text =
        without_figures(&block(&with(&["--layouts", "tp8,2x tp4,tp3", "--concurrency", "1,256"])));
    // The sentences about the winner are the fit's.
    let shown = text.split("\ntp8 gives").next().unwrap();
    insta::assert_snapshot!(shown, @"
        exit #
        --- stdout
        kimi-k2.6 on 8x-rtx-pro-6000 by sglang-0.5.11, # tokens in and # out

        output tok/s TPOT, ms TTFT, s
        Layout GiB/GPU KV tokens C=1 C=256 C=1 C=256 C=1 C=256
        tp8 # # # # # # # # # run
        # % of measured speeds lie within # of these figures (learned from # campaigns of sglang on
        sm120).

        Refused: # layouts
        # tp4: weights need # GiB per GPU, the card has # GiB; # tp8 would fit on # GPUs: #
        GiB of weights per GPU and # tokens of KV cache (while loading, M1)
        tp3: tp3 does not divide the # attention heads; tp can be # # # # # # or # (while
        loading, S19)
        ");
}

#[test]
fn where_nothing_fits_the_nearest_miss_is_told() {
    insta::assert_snapshot!(block(&["plan", "--model", "kimi-k2.6", "--machine", "2x-h200", "--engine", "vllm"]), @"
        exit 1
        --- stdout
        kimi-k2.6 on 2x-h200 by vllm-0.33, 1024 tokens in and 1024 out

        Refused: 8 layouts
          pp2: weights need 278.5 GiB per GPU, the card has 139.8 GiB; pp2+tp4 would fit on 8 GPUs: 71.1 GiB
          of weights per GPU and 1.6M tokens of KV cache (while loading, M1). So too dp2, dp2+ep2, tp2,
          tp2+dcp2, tp2+ep2, tp2+ep2+dcp2 and 1 more

        Nothing runs. The nearest miss is pp2: weights need 278.5 GiB per GPU, the card has 139.8 GiB;
        pp2+tp4 would fit on 8 GPUs: 71.1 GiB of weights per GPU and 1.6M tokens of KV cache.
        ");
}

#[test]
fn the_first_case_has_a_winner_explained_in_three_sentences() {
    let text = stdout(&CASE, 0);
    let last = text.split("\n\n").last().unwrap().replace('\n', " ");
    assert_eq!(last.trim_end().matches(". ").count(), 2, "{last}");
}

#[test]
fn ties_are_marked_and_no_order_among_them_is_claimed() {
    let plan: Value = serde_json::from_str(&stdout(&with(&["--json"]), 0)).unwrap();
    let ranked = plan["ranked"].as_array().unwrap();
    let tied = ranked.iter().take_while(|layout| layout["tied"] == true).count();
    assert!(1 < tied && ranked[tied..].iter().all(|layout| layout["tied"] == false), "{tied}");
    let text = stdout(&with(&["--all"]), 0);
    assert_eq!(text.lines().filter(|line| line.starts_with("~ ")).count(), tied);
    let names = |layout: &Value| layout["layout"].as_str().unwrap().to_owned();
    let last = text.split("\n\n").last().unwrap().replace('\n', " ");
    assert!(last.contains(&format!("but is tied with {}", names(&ranked[1]))), "{last}");
    let compared = last.split(". ").nth(1).unwrap();
    for layout in &ranked[1..tied] {
        assert!(!compared.contains(&format!(" {} ", names(layout))), "{compared}");
    }
}

#[test]
fn a_layout_alone_at_the_top_is_not_called_tied() {
    let text = stdout(&with(&["--layouts", "tp8,pp8"]), 0);
    assert!(!text.contains('~') && !text.contains("tied"), "{text}");
    assert!(text.replace('\n', " ").contains("against pp8. It spends"), "{text}");
}

#[test]
fn a_band_lies_around_each_figure() {
    let plan: Value = serde_json::from_str(&stdout(&with(&["--json"]), 0)).unwrap();
    let factor = plan["uncertainty"]["speed_factor"].as_f64().unwrap();
    assert!(1.0 < factor && 1.0 < plan["uncertainty"]["ratio_factor"].as_f64().unwrap());
    assert!(0 < plan["uncertainty"]["campaigns"].as_u64().unwrap());
    let point = &plan["ranked"][0]["points"][0];
    for figure in ["output_tok_s", "tpot_ms"] {
        let value = point[figure].as_f64().unwrap();
        let [low, high] = ["low", "high"].map(|end| point["band"][figure][end].as_f64().unwrap());
        assert!((value / low / factor - 1.0).abs() < 1e-9, "{point}");
        assert!((high / value / factor - 1.0).abs() < 1e-9, "{point}");
    }
}

#[test]
fn without_arguments_a_case_is_chosen_and_named() {
    let output = output(&["plan"]);
    let story = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(story, @"note: there is no GPU here; chosen for you: model kimi-k2.6, machine 8x-rtx-pro-6000, engine sglang-0.5.11");
}

#[test]
fn a_what_if_is_told_against_the_base() {
    let args =
        with(&["--layouts", "tp8,tp8+ep8", "--what-if", "eplb=on", "--what-if", "kv_dtype=fp8"]);
    let text = stdout(&args, 0).replace('\n', " ");
    assert!(text.contains("What if eplb=on"), "{text}");
    assert!(text.contains("What if kv_dtype=fp8"), "{text}");
    assert!(
        text.contains("1 layout that ran would be refused: tp8: there is nothing to balance"),
        "{text}"
    );
}

#[test]
fn a_service_level_is_kept_at_the_highest_load_or_missed() {
    let args = with(&["--slo", "tpot=60ms,ttft=5s", "--json"]);
    let plan: Value = serde_json::from_str(&stdout(&args, 0)).unwrap();
    let kept = plan["slo"]["layouts"].as_array().unwrap();
    let kept = kept.iter().filter(|layout| layout["kept"] == true);
    let speeds: Vec<f64> = kept
        .map(|layout| {
            assert!(layout["point"]["tpot_ms"].as_f64().unwrap() <= 60.0, "{layout}");
            assert!(layout["point"]["ttft_ms"].as_f64().unwrap() <= 5000.0, "{layout}");
            layout["point"]["output_tok_s"].as_f64().unwrap()
        })
        .collect();
    assert!(!speeds.is_empty() && speeds.is_sorted_by(|a, b| a >= b), "{speeds:?}");
    let text = stdout(&with(&["--slo", "tpot=1us"]), 1);
    assert!(text.contains("No layout keeps a mean TPOT <= 1.0 µs."), "{text}");
}

#[test]
fn one_more_request_would_break_the_service_level() {
    let args = with(&["--layouts", "tp8", "--slo", "tpot=40ms", "--json"]);
    let plan: Value = serde_json::from_str(&stdout(&args, 0)).unwrap();
    let most = plan["slo"]["layouts"][0]["point"]["concurrency"].as_f64().unwrap();
    let around = format!("{most},{}", most + 1.0);
    let args = with(&["--layouts", "tp8", "--concurrency", &around, "--json"]);
    let plan: Value = serde_json::from_str(&stdout(&args, 0)).unwrap();
    let tpot = |point: usize| plan["ranked"][0]["points"][point]["tpot_ms"].as_f64().unwrap();
    assert!(tpot(0) <= 40.0 && 40.0 < tpot(1), "{} {}", tpot(0), tpot(1));
}

#[test]
fn options_have_two_spellings_and_one_meaning() {
    let set = stdout(&with(&["--json", "--set", "max_running=8,memory_fraction=0.9"]), 0);
    let flags = stdout(&with(&["--json", "--max-running", "8", "--memory-fraction", "0.9"]), 0);
    assert_eq!(set, flags);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = command(&with(&["--all", "--json"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut story = String::new();
    child.stderr.take().unwrap().read_to_string(&mut story).unwrap();
    assert_eq!((child.wait().unwrap().code(), story.as_str()), (Some(0), ""));
}
