//! Captured texts give machine files that read back.

use super::{Figures, Found, FoundGpu, Host, Joint, Near, gpus, host, machine_file};
use junto_spec::machine::{LinkKind, MachineSpec};

const CPUINFO: &str = "\
processor\t: 0
model name\t: AMD EPYC 9355 32-Core Processor
physical id\t: 0
core id\t\t: 0

processor\t: 1
model name\t: AMD EPYC 9355 32-Core Processor
physical id\t: 0
core id\t\t: 1

processor\t: 2
model name\t: AMD EPYC 9355 32-Core Processor
physical id\t: 0
core id\t\t: 0
";
const MEMINFO: &str = "MemTotal:       16384000 kB\nMemAvailable:    8388608 kB\n";

fn epyc() -> Host {
    host::parse(CPUINFO, MEMINFO, "0\n", "32768K\n")
}

pub(crate) fn box_of(name: &str, count: usize, joint: impl Fn(usize, usize) -> Joint) -> Found {
    let gpu = FoundGpu {
        name: name.to_owned(),
        memory: Some((102_000_000_000, 101_500_000_000)),
        capability: Some((12, 0)),
        pcie: Some((5, 16)),
    };
    let joints = (0..count).map(|i| (0..i).map(|j| joint(i, j)).collect()).collect();
    Found { host: epyc(), gpus: vec![gpu; count], joints }
}

pub(crate) fn two_sockets(i: usize, j: usize) -> Joint {
    Joint { near: if i / 4 == j / 4 { Near::Socket } else { Near::Host }, p2p: true }
}

#[test]
fn threads_of_a_core_count_once() {
    let host = epyc();
    assert_eq!((host.cores, host.nodes, host.available_kib), (2, 1, 8_388_608));
    assert_eq!(host.cache_kib, Some(32_768));
    assert_eq!(host::parse("processor : 0\nprocessor : 1\n", "", "0-1,3", "").nodes, 3);
}

#[test]
fn a_known_card_needs_no_figures() {
    let found = box_of("NVIDIA RTX PRO 6000 Blackwell Server Edition", 8, two_sockets);
    let written = machine_file(&found, &Figures::default());
    assert_eq!(written.asked, Vec::<&str>::new());
    let machine = MachineSpec::from_toml(&written.toml, "here.toml").unwrap();
    assert_eq!((machine.gpus(), machine.gpu.generation.as_str()), (8, "sm120"));
    let kinds: Vec<_> = machine.links.iter().map(|link| (link.kind, link.width())).collect();
    assert_eq!(kinds, [(LinkKind::Socket, 4), (LinkKind::Host, 8)]);
}

#[test]
fn nvlink_joins_all() {
    let joint = |_, _| Joint { near: Near::Nvlink, p2p: true };
    let mut found = box_of("NVIDIA H200", 8, joint);
    for gpu in &mut found.gpus {
        gpu.memory = Some((150_754_820_096, 150_000_000_000));
    }
    let written = machine_file(&found, &Figures::default());
    let machine = MachineSpec::from_toml(&written.toml, "here.toml").unwrap();
    assert_eq!(machine.links.len(), 1);
    assert_eq!(machine.link(LinkKind::Nvlink).unwrap().width(), 8);
    assert!(!machine.collectives.is_empty());
}

#[test]
fn an_unknown_card_is_asked_for_its_figures() {
    // A variant of a known name with other memory is another card.
    let found = box_of("NVIDIA H20-3e", 2, two_sockets);
    let written = machine_file(&found, &Figures::default());
    assert_eq!(written.asked, ["memory_bandwidth_gb_s", "bf16_tflops", "l2_mib"]);
    insta::assert_snapshot!(MachineSpec::from_toml(&written.toml, "here.toml").unwrap_err(), @"here.toml, line 4: missing field `memory_bandwidth_gb_s`");
    let figures = Figures {
        memory_bandwidth_gb_s: Some(4800.0),
        bf16_tflops: Some(148.0),
        l2_mib: Some(60.0),
        ..Figures::default()
    };
    let written = machine_file(&found, &figures);
    assert!(MachineSpec::from_toml(&written.toml, "here.toml").is_ok(), "{}", written.toml);
}

#[test]
fn without_a_gpu_the_cores_are_the_machine() {
    let found = Found { host: epyc(), gpus: Vec::new(), joints: Vec::new() };
    assert_eq!(
        machine_file(&found, &Figures::default()).asked,
        ["memory_bandwidth_gb_s", "bf16_tflops"]
    );
    let figures = Figures {
        memory_bandwidth_gb_s: Some(13.9),
        bf16_tflops: Some(0.168),
        ..Figures::default()
    };
    insta::assert_snapshot!(machine_file(&found, &figures).toml, @r#"description = "2 cores of AMD EPYC 9355 32-Core Processor, a rank is a thread"
gpus_per_host = 2

[gpu]
name = "one core of AMD EPYC 9355 32-Core Processor"
generation = "x86"
memory_gib = 4
memory_bandwidth_gb_s = 13.9
bf16_tflops = 0.168
l2_mib = 32
source = "read from the kernel, or given by the user"

[[link]]
kind = "host"
domain = 2
bandwidth_gb_s = 11
latency_us = 0.5
launch_us = 0.5
p2p = true
source = "fitted"
reference = "as `cpu` of the catalog, not measured here""#);
    let toml = machine_file(&found, &figures).toml;
    assert_eq!(MachineSpec::from_toml(&toml, "here.toml").unwrap().gpus(), 2);
}

#[test]
fn the_driver_files_tell_names_and_nodes() {
    let slot = |node: &str| {
        let information = "Model: \t\t NVIDIA L40S\nIRQ:   \t\t 101\nBus Type: \t PCIe\n";
        (information.to_owned(), format!("{node}\n"))
    };
    let (gpus, joints) = gpus::from_texts(&[slot("0"), slot("0"), slot("1"), slot("-1")]);
    assert_eq!(gpus[0].name, "NVIDIA L40S");
    let near: Vec<Vec<_>> =
        joints.iter().map(|row| row.iter().map(|joint| joint.near).collect()).collect();
    assert_eq!(near[1], [Near::Socket]);
    assert_eq!(near[2], [Near::Host, Near::Host]);
    assert_eq!(near[3], [Near::Host, Near::Host, Near::Host]);
}

#[test]
fn only_the_gpus_that_an_engine_would_see_count() {
    let uuids = ["GPU-0a1b", "GPU-0a2c", "GPU-3d4e"].map(str::to_owned);
    let seen = |list| gpus::visible(list, &uuids);
    assert_eq!(seen(None), [0, 1, 2]);
    assert_eq!(seen(Some("2,0")), [2, 0]);
    assert_eq!(seen(Some("GPU-3d4e, GPU-0a2")), [2, 1]);
    assert_eq!(seen(Some("1,7,0")), [1]);
    for none in ["", "-1", "NoDevFiles", "void"] {
        assert_eq!(seen(Some(none)), [0_usize; 0], "{none}");
    }
}
