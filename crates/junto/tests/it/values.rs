//! No value of any flag makes the program panic.

use crate::junto::output;

const VALUES: [&str; 20] = [
    "",
    " ",
    "0",
    "-1",
    "1",
    "1.5",
    "1e9",
    "1e308",
    "1e999",
    "NaN",
    "inf",
    "18446744073709551616",
    "١",
    "=",
    ",",
    "tp8,",
    "+",
    "tp",
    "ttft=-0s",
    "speculation=3:NaN",
];

#[track_caller]
fn check(args: &[&str]) {
    let output = output(args);
    let story = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code <= 2), "{args:?}\n{story}");
    assert!(!(output.stdout.is_empty() && story.is_empty()), "{args:?} says nothing");
}

#[test]
fn no_value_of_a_flag_makes_it_panic() {
    let of_a_case = [
        "--model",
        "--quant",
        "--machine",
        "--engine",
        "--input-len",
        "--output-len",
        "--set",
        "--max-running",
        "--memory-fraction",
        "--context-length",
        "--chunked-prefill",
        "--constants",
    ];
    let of_a_plan = ["--concurrency", "--layouts", "--slo", "--what-if"];
    for value in VALUES {
        for flag in of_a_case.into_iter().chain(of_a_plan) {
            // The flag itself takes the place of one of these; all else is fast on one GPU.
            let all = [("--machine", "1x-h200"), ("--model", "gpt-oss-20b")];
            let rest = all.into_iter().filter(|(given, _)| *given != flag);
            let rest: Vec<&str> = rest.flat_map(|(given, value)| [given, value]).collect();
            check(&[&["plan", flag, value], &rest[..]].concat());
        }
        for flag in ["--memory-bandwidth", "--bf16", "--l2", "--nvlink"] {
            check(&["machine", "detect", flag, value]);
        }
        check(&["why", "--machine", "1x-h200", "--model", "gpt-oss-20b", value, "tp1"]);
        check(&["why", "--machine", "1x-h200", "--model", "gpt-oss-20b", "tp1", value]);
    }
}
