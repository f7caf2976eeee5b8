//! The catalog reads, mistakes are named, and prices follow the tables and the formulas.

use super::*;
use crate::catalog;
use crate::units::Bytes;
use proptest::prelude::*;

const BOX: &str = r#"
description = "eight cards on two sockets"
gpu = "rtx-pro-6000"
gpus_per_host = 8

[[link]]
kind = "socket"
domains = [[0, 1, 2, 3], [4, 5, 6, 7]]
bandwidth_gb_s = 50
latency_us = 1
launch_us = 5
p2p = true
source = "fitted"
reference = "test"

[[link]]
kind = "host"
domain = 8
bandwidth_gb_s = 20
latency_us = 2
launch_us = 5
p2p = true
source = "datasheet"
reference = "test"

[[collective]]
op = "all_reduce"
algorithm = "nccl"
ranks = 8
bytes = [1024, 16384, 1048576]
us = [24, 26, 132]
source = "measured"
reference = "test"
"#;

fn machine() -> MachineSpec {
    MachineSpec::from_toml(BOX, "box.toml").unwrap()
}

/// The message and the hint for `BOX` with `from` replaced by `to`.
fn refusal(from: &str, to: &str) -> String {
    assert!(BOX.contains(from), "{from}");
    let error = MachineSpec::from_toml(&BOX.replacen(from, to, 1), "box.toml").unwrap_err();
    let hint = error.hint().map(|hint| format!("; hint: {hint}"));
    format!("{error}{}", hint.unwrap_or_default())
}

#[test]
fn every_machine_of_the_catalog_reads() {
    assert_eq!(kinds::all().len(), catalog::names("machines").len());
    for kind in kinds::all() {
        for name in kind.machines() {
            let machine = MachineSpec::catalog(&name).unwrap_or_else(|error| panic!("{error}"));
            let all: Vec<u32> = (0..machine.gpus()).collect();
            assert_eq!(machine.group(&all).ranks, machine.gpus(), "{name}");
            assert_eq!(machine.links.is_empty(), machine.gpus() == 1, "{name}");
        }
    }
    for name in Gpu::names() {
        Gpu::catalog(name).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_count_makes_a_machine_of_a_kind() {
    #[track_caller]
    fn check(name: &str, gpus_per_host: u32, hosts: u32, links: &[LinkKind]) {
        let machine = MachineSpec::catalog(name).unwrap();
        assert_eq!((machine.gpus_per_host, machine.hosts), (gpus_per_host, hosts), "{name}");
        assert_eq!(machine.links.iter().map(|link| link.kind).collect::<Vec<_>>(), links, "{name}");
    }
    use LinkKind::{Host, Network, Nvlink, Socket};
    check("8x-rtx-pro-6000", 8, 1, &[Socket, Host]);
    check("4x-rtx-pro-6000", 4, 1, &[Socket]);
    check("1x-h100", 1, 1, &[]);
    check("8x-mi300x", 8, 1, &[Nvlink]);
    check("1024x-h200", 8, 128, &[Nvlink, Network]);
    check("72x-gb200", 4, 18, &[Nvlink]);
    check("2x-gb10", 1, 2, &[Network]);
    check("cpu", 2, 1, &[Socket]);
}

#[test]
fn a_name_that_is_not_there_finds_the_one_that_is() {
    let hint = |name| MachineSpec::catalog(name).unwrap_err().hint().unwrap();
    insta::assert_snapshot!(hint("8x-rtx-6000-pro"), @"did you mean `8x-rtx-pro-6000`?");
    insta::assert_snapshot!(hint("8xh200"), @"did you mean `8x-h200`?");
    insta::assert_snapshot!(hint("3x-4090"), @"there are 1x-4090, 2x-4090, 4x-4090, 8x-4090");
    insta::assert_snapshot!(hint("l40s"), @"there are 1x-l40s, 2x-l40s, 4x-l40s, 8x-l40s");
}

#[test]
fn a_mistake_is_named_with_file_field_and_value() {
    insta::assert_snapshot!(refusal("gpus_per_host", "gpu_per_host"), @"box.toml, line 4: unknown key `gpu_per_host`; hint: did you mean `gpus_per_host`?");
    insta::assert_snapshot!(refusal("[4, 5, 6, 7]", "[4, 5, 6, 9]"), @"box.toml: link 1 joins GPU 9, but the machine has GPUs 0 to 7");
    insta::assert_snapshot!(refusal("[4, 5, 6, 7]", "[4, 5, 6, 3]"), @"box.toml: link 1 joins GPU 3 twice");
    insta::assert_snapshot!(refusal("gb_s = 50", "gb_s = -50"), @"box.toml: link 1, bandwidth_gb_s is -50, but must be above 0 and at most 1000000");
    insta::assert_snapshot!(refusal("gb_s = 50", "gb_s = nan"), @"box.toml: link 1, bandwidth_gb_s is NaN, but must be above 0 and at most 1000000");
    insta::assert_snapshot!(refusal("host = 8", "host = 0"), @"box.toml: gpus_per_host is 0, but must be a whole number from 1 to 1024");
    insta::assert_snapshot!(refusal("domain = 8", "domain = 4"), @r#"box.toml: no link joins all 8 GPUs, the widest joins 4; hint: add a link of kind "host" or "network" over all of them"#);
    insta::assert_snapshot!(refusal("domain = 8", ""), @"box.toml: link 2 needs either domain or domains; hint: domain = 4 makes sets of four neighbours, domains = [[0, 1], [2, 3]] names them");
    insta::assert_snapshot!(refusal("\"host\"", "\"socket\""), @"box.toml: two links are of kind socket");
    insta::assert_snapshot!(refusal("16384, 1048576]", "1024, 1048576]"), @"box.toml: collective 1: bytes must ascend, but 1024 follows 1024");
    insta::assert_snapshot!(refusal("[24, 26, 132]", "[24, 26]"), @"box.toml: collective 1 has 3 sizes in bytes and 2 times in us");
    insta::assert_snapshot!(refusal("[24, 26, 132]", "[24, 26, 25]"), @"box.toml: collective 1: us must ascend, but 25 follows 26; hint: a larger payload is never faster: give the larger figure, or leave the point out");
    insta::assert_snapshot!(refusal("rtx-pro-6000", "rtx-6000-pro"), @"box.toml: gpu is `rtx-6000-pro`, which the catalog does not have; hint: did you mean `rtx-pro-6000`?");
    insta::assert_snapshot!(refusal("\"socket\"", "\"sockets\""), @"box.toml, line 7: unknown variant `sockets`, expected one of `nvlink`, `pcie_switch`, `socket`, `host`, `network`");
    insta::assert_snapshot!(refusal("\"rtx-pro-6000\"", "{ name = \"X\", memory = 3 }"), @"box.toml, line 3: unknown key `memory`; hint: keys that may stand here: name, generation, memory_gib, memory_bandwidth_gb_s, bf16_tflops, fp8_tflops, fp4_tflops, l2_mib, source");
}

#[test]
fn a_group_spans_the_tightest_link_that_joins_it() {
    let group = |members: &[u32]| machine().group(members);
    let expected = |ranks, span| Group { ranks, per_host: ranks, span };
    assert_eq!(group(&[4, 5]), expected(2, LinkKind::Socket));
    assert_eq!(group(&[0, 4]), expected(2, LinkKind::Host));
    let hosts = MachineSpec::catalog("16x-h100").unwrap();
    let across = hosts.group(&[0, 8]);
    assert_eq!(across, Group { ranks: 2, per_host: 1, span: LinkKind::Network });
}

#[test]
fn a_table_is_taken_as_it_is() {
    let all = machine().group(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let time = |payload: f64| {
        let (time, source) =
            machine().collective_time(Op::AllReduce, Algorithm::Nccl, all, Bytes(payload));
        assert_eq!(source, Source::Measured);
        time.us()
    };
    assert!((time(16384.0) - 26.0).abs() < 1e-9);
    assert!((time(1.0) - 24.0).abs() < 1e-9);
    // Halfway in the logarithm of the size is halfway in the logarithm of the time.
    assert!((time(4096.0) - (24.0_f64 * 26.0).sqrt()).abs() < 1e-9);
    // Beyond: 106 us for each further 1008 KiB.
    assert!((time(2_080_768.0) - 238.0).abs() < 1e-6);
}

#[test]
fn without_a_table_the_link_serves() {
    let (machine, mib) = (machine(), Bytes(1_000_000.0));
    let (pair, across) = (machine.group(&[0, 1, 2, 3]), machine.group(&[0, 4]));
    let us = |op, algorithm, group| machine.collective_time(op, algorithm, group, mib).0.us();
    // launch 5, three hops of 1, three quarters of 20 us
    assert!((us(Op::AllGather, Algorithm::Nccl, pair) - 23.0).abs() < 1e-9);
    assert!((us(Op::AllToAll, Algorithm::Nccl, pair) - 22.0).abs() < 1e-9);
    assert!((us(Op::AllToAll, Algorithm::Custom, pair) - 21.0).abs() < 1e-9);
    // two-shot: 5 + 2 + 1.5 * 20
    assert!((us(Op::AllReduce, Algorithm::Custom, pair) - 37.0).abs() < 1e-9);
    assert!((us(Op::SendRecv, Algorithm::Nccl, across) - 57.0).abs() < 1e-9);
    let (_, source) = machine.collective_time(Op::SendRecv, Algorithm::Nccl, across, mib);
    assert_eq!(source, Source::Datasheet);
}

#[test]
fn a_group_over_hosts_pays_the_network_once() {
    let machine = MachineSpec::catalog("16x-h100").unwrap();
    let all: Vec<u32> = (0..16).collect();
    let time = |members: &[u32], payload| {
        let group = machine.group(members);
        machine.collective_time(Op::AllReduce, Algorithm::Nccl, group, Bytes(payload)).0.us()
    };
    assert!(time(&all[..8], 14336.0) < time(&all, 14336.0));
    assert!(time(&all, 14336.0) < 3.0 * time(&all[..8], 14336.0));
    // The network carries an eighth of what it carries without a first sum inside the hosts.
    assert!(time(&all, 1e9) < 2.0 * time(&all[..8], 1e9));
}

fn any_op() -> impl Strategy<Value = Op> {
    use Op::{AllGather, AllReduce, AllToAll, ReduceScatter, SendRecv};
    prop::sample::select(vec![AllReduce, AllGather, ReduceScatter, AllToAll, SendRecv])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn more_bytes_never_take_less(
        name in prop::sample::select(vec!["8x-rtx-pro-6000", "8x-h200", "16x-h100", "4x-4090", "72x-gb200", "cpu"]),
        op in any_op(), custom: bool, width in 1_u32..=16, small in 0.0..1e9, more in 0.0..1e9,
    ) {
        let machine = MachineSpec::catalog(name).unwrap();
        let members: Vec<u32> = (0..width.min(machine.gpus())).collect();
        let group = machine.group(&members);
        let algorithm = if custom { Algorithm::Custom } else { Algorithm::Nccl };
        let time = |payload| machine.collective_time(op, algorithm, group, Bytes(payload)).0.0;
        prop_assert!(time(small).is_finite() && 0.0 <= time(small));
        prop_assert!(time(small) <= time(small + more) * (1.0 + 1e-12));
    }

    #[test]
    fn no_text_breaks_the_parser(text in "[a-z_0-9\\[\\]{}=\",.\n -]{0,200}") {
        let _ = MachineSpec::from_toml(&text, "any.toml");
    }

    #[test]
    fn no_mutation_of_a_file_breaks_the_parser(
        name in prop::sample::select(catalog::names("machines")),
        at in 0.0..1.0, cut in 0_usize..20, put in "[-0-9a-z\\[\\]\"=. \n]{0,8}",
    ) {
        let text = catalog::text("machines", name, "toml").unwrap();
        let mut mutated: Vec<char> = text.chars().collect();
        let start = (at * mutated.len() as f64) as usize;
        let end = (start + cut).min(mutated.len());
        mutated.splice(start..end, put.chars());
        let text: String = mutated.into_iter().collect();
        if let Err(error) = MachineSpec::from_toml(&text, "mutated.toml") {
            prop_assert!(!error.to_string().is_empty());
            let _ = error.hint();
        }
    }
}
