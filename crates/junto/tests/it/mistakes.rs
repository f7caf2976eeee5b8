//! Bad usage and bad input: one sentence, a hint where there is one, exit code 2.

use crate::junto::{Scratch, block, command, stdout};
use std::fs::File;

const CASE: [&str; 4] = ["plan", "--machine", "8x-h200", "--engine=sglang"];

/// The block of a plan with these arguments, and nothing on stdout.
#[track_caller]
fn mistake(args: &[&str]) -> String {
    let mut all = CASE.to_vec();
    if !args.contains(&"--model") {
        all.extend(["--model", "kimi-k2.6"]);
    }
    all.extend(args);
    let block = block(&all);
    let story = block.strip_prefix("exit 2\n--- stderr\n").unwrap_or_else(|| panic!("{block}"));
    assert!(story.lines().count() <= 2, "{story}");
    story.to_owned()
}

#[test]
fn numbers_and_times() {
    insta::assert_snapshot!(mistake(&["--concurrency", "0"]), @r#"error: --concurrency is "0"; it must be a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(mistake(&["--concurrency", "NaN"]), @r#"error: --concurrency is "NaN"; it must be a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(mistake(&["--concurrency", "1,1e99"]), @r#"error: --concurrency is "1e99"; it must be a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(mistake(&["--concurrency", "-1"]), @r#"error: --concurrency is "-1"; it must be a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(mistake(&["--concurrency", ""]), @r#"error: --concurrency is ""; it must be a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(mistake(&["--memory-fraction", "88"]), @r#"error: --memory-fraction is "88"; it must be a number above 0 and at most 1"#);
    insta::assert_snapshot!(mistake(&["--max-running", "0.5"]), @r#"error: --max-running is "0.5"; it must be a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(mistake(&["--slo", "ttft=fast"]), @r#"
        error: --slo: ttft is "fast", which is no time above 0
        hint: write it as ttft=2s,tpot=50ms
        "#);
    insta::assert_snapshot!(mistake(&["--slo", "ttft=2s,p99=1s"]), @r#"
        error: --slo: "p99=1s" names none of ttft, tpot and e2el
        hint: write it as ttft=2s,tpot=50ms
        "#);
    insta::assert_snapshot!(mistake(&["--slo", "tpot=inf"]), @r#"
        error: --slo: tpot is "inf", which is no time above 0
        hint: write it as ttft=2s,tpot=50ms
        "#);
    insta::assert_snapshot!(mistake(&["--input-len", "300000"]), @"
        error: --input-len 300000 and --output-len 1024 make 301024 tokens, kimi-k2.6 allows 262144
        hint: shorten the request
        ");
}

#[test]
fn layouts_and_options() {
    insta::assert_snapshot!(mistake(&["--layouts", "tp3"]), @"
        error: tp3: tp3 does not divide the 64 attention heads (while loading, S19)
        hint: tp can be 1, 2, 4, 8, 16, 32 or 64
        ");
    insta::assert_snapshot!(mistake(&["--layouts", "tp16"]), @"
        error: tp16: needs 16 GPUs, the machine has 8 (while forming process groups, G1)
        hint: tp8 is as wide as they allow
        ");
    insta::assert_snapshot!(mistake(&["--layouts", "tp2+ep4"]), @"error: --layouts: ep4 does not divide the 2 ranks of a stage");
    insta::assert_snapshot!(mistake(&["--layouts", "8"]), @r#"
        error: --layouts: "8" in layout "8" is not one of pp, tp, dp, ep, dcp followed by a number
        hint: layouts are written tp8, tp8+ep4, pp2+tp4 or 2x tp4
        "#);
    insta::assert_snapshot!(mistake(&["--layouts", "tp99999999999"]), @r#"
        error: --layouts: "tp99999999999" in layout "tp99999999999" is not one of pp, tp, dp, ep, dcp followed by a number
        hint: layouts are written tp8, tp8+ep4, pp2+tp4 or 2x tp4
        "#);
    insta::assert_snapshot!(mistake(&["--what-if", "graphs=off"]), @r#"
        error: --what-if: there is no option "graphs" to change
        hint: the options are cuda_graphs, all_reduce, exchange, eplb, kv_dtype, memory_fraction, max_running, context_length, chunked_prefill, micro_batch, speculation
        "#);
    insta::assert_snapshot!(mistake(&["--what-if", "all_reduce=fast"]), @r#"error: --what-if: all_reduce is "fast"; it must be auto, nccl or one-shot"#);
    insta::assert_snapshot!(mistake(&["--quant", "int3"]), @r#"
        error: --quant: "int3" is no quantization to choose
        hint: choose bf16, fp8, int4, awq, mxfp4 or nvfp4
        "#);
}

#[test]
fn names() {
    insta::assert_snapshot!(mistake(&["--model", "kimi-k2.7"]), @r#"
        error: no model "kimi-k2.7" in the catalog
        hint: did you mean kimi-k2.5 or kimi-k2.6? `junto models` lists all
        "#);
    insta::assert_snapshot!(mistake(&["--model", "deepseek-ai/DeepSeek-V3"]), @r#"
        error: no model config at "deepseek-ai/DeepSeek-V3"; looked for deepseek-ai/DeepSeek-V3, deepseek-ai/DeepSeek-V3/config.json, nowhere/.cache/huggingface/hub/models--deepseek-ai--DeepSeek-V3/refs/main
        hint: the catalog has it as `deepseek-v3`
        "#);
    insta::assert_snapshot!(mistake(&["--model", "no/such"]), @r#"
        error: no model config at "no/such"; looked for no/such, no/such/config.json, nowhere/.cache/huggingface/hub/models--no--such/refs/main
        hint: `hf download no/such config.json` fetches it into the cache
        "#);
    insta::assert_snapshot!(block(&["plan", "--machine", "8x-h2000"]), @"
        exit 2
        --- stderr
        error: no machine of the catalog is called `8x-h2000`
        hint: did you mean `8x-h200`?
        ");
    insta::assert_snapshot!(block(&["plan", "--machine", "h200"]), @"
        exit 2
        --- stderr
        error: `h200` is a kind of machine and needs a count of GPUs
        hint: there are 1x-h200, 2x-h200, 4x-h200, 8x-h200, 16x-h200, 24x-h200, 32x-h200, 48x-h200, 64x-h200, 96x-h200, 128x-h200, 256x-h200, 512x-h200, 1024x-h200
        ");
    insta::assert_snapshot!(block(&["plan", "--machine", "8x-h200", "--engine", "sglan"]), @"
        exit 2
        --- stderr
        error: no engine of the catalog is called `sglan`
        hint: the catalog has llama.cpp, native, sglang-0.5.11, sglang-0.5.23, sglang-0.5.6, tensorrt-llm-1.0, tensorrt-llm-1.2, vllm-0.10, vllm-0.33
        ");
}

#[test]
fn model_files() {
    let config = |from: &str, to: &str| {
        let text = junto_spec::catalog::text("models", "qwen3-30b-a3b", "json").unwrap();
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed);
        let file = Scratch::new("config.json", changed.as_bytes());
        file.block(&["plan", "--machine", "8x-h200", "--engine", "vllm", "--model"])
    };
    insta::assert_snapshot!(config("\"hidden_size\"", "\"hidden\""), @"
        exit 2
        --- stderr
        error: FILE has no hidden_size
        hint: add hidden_size with the value that the model's publisher gives
        ");
    insta::assert_snapshot!(config("\"hidden_size\": ", "\"hidden_size\": -"), @"
        exit 2
        --- stderr
        error: FILE: hidden_size is -2048; it must be a whole number from 1 to 1048576
        ");
    insta::assert_snapshot!(config("\"hidden_size\": ", "\"hidden_size\": 999999999"), @"
        exit 2
        --- stderr
        error: FILE: hidden_size is 9999999992048; it must be a whole number from 1 to 1048576
        ");
    insta::assert_snapshot!(config("{", "["), @"
        exit 2
        --- stderr
        error: FILE is not JSON: expected `,` or `]` at line 2 column 18
        hint: give the config.json of a Hugging Face model
        ");
    insta::assert_snapshot!(config("{", "{\"quantization_config\": {\"quant_method\": \"zip\"},"), @r#"
        exit 2
        --- stderr
        error: FILE: quantization "zip" is not supported
        hint: supported: fp8, compressed-tensors, awq, gptq, mxfp4, modelopt (NVFP4, FP8); or state the format with --quant
        "#);
    let zipped = "{\"quantization_config\": {\"quant_method\": \"zip\"},";
    let text = junto_spec::catalog::text("models", "qwen3-30b-a3b", "json").unwrap();
    let file = Scratch::new("zipped.json", text.replacen('{', zipped, 1).as_bytes());
    stdout(&["plan", "--machine", "8x-h200", "--quant", "fp8", "--model", file.path()], 0);
    let file = Scratch::new("latin.json", b"{\"name\": \"caf\xe9\"}");
    insta::assert_snapshot!(file.block(&["plan", "--machine", "8x-h200", "--model"]), @"
        exit 2
        --- stderr
        error: FILE is not a text file: its byte 13 is no UTF-8
        hint: give the config.json beside the weights, or its directory
        ");
}

#[test]
fn machine_files() {
    let machine = |text: &str| {
        let file = Scratch::new("machine.toml", text.as_bytes());
        file.block(&["plan", "--model", "qwen3-8b", "--engine", "vllm", "--machine"])
    };
    let link = "[[link]]\nkind = \"nvlink\"\ndomains = [[0, 9]]\nbandwidth_gb_s = 100\nlatency_us = 1\n\
                launch_us = 1\np2p = true\nsource = \"fitted\"\nreference = \"none\"\n";
    let head = "description = \"two\"\ngpu = \"h200\"\ngpus_per_host = 2\n";
    insta::assert_snapshot!(machine(&format!("{head}color = \"red\"\n")), @"
        exit 2
        --- stderr
        error: FILE, line 4: unknown key `color`
        hint: keys that may stand here: description, gpu, gpus_per_host, hosts, counts, collectives, collectives_source, link, collective
        ");
    insta::assert_snapshot!(machine(&format!("{head}{link}")), @"
        exit 2
        --- stderr
        error: FILE: link 1 joins GPU 9, but the machine has GPUs 0 to 1
        ");
    insta::assert_snapshot!(machine(&head.replace("h200", "h2000")), @"
        exit 2
        --- stderr
        error: FILE: gpu is `h2000`, which the catalog does not have
        hint: did you mean `h200`?
        ");
    insta::assert_snapshot!(machine("gpus_per_host = "), @"
        exit 2
        --- stderr
        error: FILE, line 1: string values must be quoted, expected literal string
        ");
    insta::assert_snapshot!(block(&["plan", "--machine", "no/such.toml"]), @"
        exit 2
        --- stderr
        error: cannot read no/such.toml: No such file or directory (os error 2)
        ");
}

#[test]
fn files_that_are_too_large() {
    let scratch = Scratch::new("large.toml", b"");
    // Sparse: it takes no room.
    File::options().write(true).open(scratch.path()).unwrap().set_len(2 << 30).unwrap();
    insta::assert_snapshot!(scratch.block(&["plan", "--machine"]), @"
        exit 2
        --- stderr
        error: a machine file is a few KiB; FILE has 2.0 GiB
        ");
    insta::assert_snapshot!(scratch.block(&["plan", "--machine", "8x-h200", "--model"]), @"
        exit 2
        --- stderr
        error: a config.json is a few KiB; FILE has 2.0 GiB
        hint: give the config.json beside the weights, or its directory
        ");
    insta::assert_snapshot!(scratch.block(&["plan", "--machine", "8x-h200", "--constants"]), @"
        exit 2
        --- stderr
        error: a file of constants is a few KiB; FILE has 2.0 GiB
        ");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let output = command(&["plan", "--model"]).arg(OsStr::from_bytes(b"caf\xe9")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
