//! The text of a machine file, from what was found.

use super::{Figures, Found, FoundGpu, Near, Written};
use junto_spec::catalog;
use junto_spec::machine::{Gpu, Link, LinkKind, MachineSpec};
use std::fmt::Write as _;

/// Memory of a known card may differ by this share, by driver and error correction.
const SAME_MEMORY: f64 = 0.08;
/// Raw PCIe rate of one lane by generation, GB/s one way.
const PCIE_LANE_GB_S: [f64; 7] = [0.0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563];

/// The file being written.
struct Text {
    toml: String,
    asked: Vec<&'static str>,
}

impl Text {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.toml, "{line}").expect("a string takes all");
    }

    /// A figure, or a comment that asks for it.
    fn figure(&mut self, key: &'static str, figure: Option<f64>) {
        if let Some(figure) = figure {
            self.line(format_args!("{key} = {}", (figure * 1e3).round() / 1e3));
        } else {
            self.line(format_args!("# {key} = ? not told by the machine: see its datasheet"));
            self.asked.push(key);
        }
    }
}

/// The machine file of what was found.
pub(super) fn machine(found: &Found, figures: &Figures) -> Written {
    let mut text = Text { toml: String::new(), asked: Vec::new() };
    match found.gpus.first() {
        Some(gpu) => gpu_machine(found, gpu, figures, &mut text),
        None => cpu_machine(found, figures, &mut text),
    }
    Written { toml: text.toml, asked: text.asked }
}

fn gpu_machine(found: &Found, gpu: &FoundGpu, figures: &Figures, text: &mut Text) {
    let others = found.gpus.iter().filter(|other| other.name != gpu.name).count();
    if 0 < others {
        text.line(format_args!(
            "# {others} GPUs are of another kind; this file takes all as the first."
        ));
    }
    let count = found.gpus.len();
    text.line(format_args!(
        "description = {}",
        quoted(&format!("{count}x {}, {}", gpu.name, found.host.cpu))
    ));
    let known = known(gpu);
    if let Some(known) = known {
        text.line(format_args!("gpu = {}", quoted(known)));
    }
    text.line(format_args!("gpus_per_host = {count}"));
    let levels = levels(found);
    let nvlink = levels.iter().any(|(near, _)| *near == Near::Nvlink);
    let tables = known.map(|known| format!("{known}-nvlink"));
    if let Some(tables) = tables.filter(|name| catalog::text("collectives", name, "toml").is_some())
        && nvlink
    {
        text.line(format_args!("collectives = [{}]", quoted(&tables)));
        text.line(format_args!("collectives_source = \"fitted\" # not measured on this host"));
    }
    if known.is_none() {
        unknown_gpu(gpu, figures, text);
    }
    for (near, domains) in levels {
        link(found, near, &domains, known, figures, text);
    }
}

/// The catalog's name of a GPU, if it has one of this name and this memory.
fn known(gpu: &FoundGpu) -> Option<&'static str> {
    let same = |name: &&'static str| {
        let Ok(known) = Gpu::catalog(name) else { return false };
        let rest = gpu.name.strip_prefix(known.name.as_str());
        let whole_words = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        let memory = gpu.memory.map_or(known.memory.0, |(total, _)| total as f64);
        whole_words && (memory / known.memory.0 - 1.0).abs() < SAME_MEMORY
    };
    Gpu::names().into_iter().find(same)
}

fn unknown_gpu(gpu: &FoundGpu, figures: &Figures, text: &mut Text) {
    text.line(format_args!("\n[gpu]\nname = {}", quoted(&gpu.name)));
    if let Some(generation) = gpu.capability.and_then(generation) {
        text.line(format_args!("generation = \"{generation}\""));
    } else {
        text.line(format_args!("# generation = ? the nearest that `junto machines` lists"));
        text.asked.push("generation");
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    text.figure("memory_gib", gpu.memory.map(|(_, free)| gib(free)));
    text.figure("memory_bandwidth_gb_s", figures.memory_bandwidth_gb_s);
    text.figure("bf16_tflops", figures.bf16_tflops);
    text.figure("l2_mib", figures.l2_mib);
    text.line(format_args!("source = \"read from the driver, or given by the user\""));
}

fn generation((major, minor): (i32, i32)) -> Option<&'static str> {
    Some(match (major, minor) {
        (8, 0) => "sm80",
        (8, 6) => "sm86",
        (8, 9) => "sm89",
        (9, 0) => "sm90",
        (10, _) => "sm100",
        (12, 0) => "sm120",
        (12, 1) => "sm121",
        _ => return None,
    })
}

/// The sets of GPUs that each level of nearness joins, where it joins more than the one before.
fn levels(found: &Found) -> Vec<(Near, Vec<Vec<usize>>)> {
    let mut levels = Vec::new();
    let mut before: Vec<Vec<usize>> = (0..found.gpus.len()).map(|gpu| vec![gpu]).collect();
    for near in [Near::Nvlink, Near::Switch, Near::Socket, Near::Host] {
        let mut domains: Vec<Vec<usize>> = Vec::new();
        for gpu in 0..found.gpus.len() {
            let joins = |domain: &Vec<usize>| {
                near == Near::Host
                    || domain.iter().any(|&other| found.joints[gpu][other].near <= near)
            };
            // A GPU may join sets that were apart until now.
            let (together, mut apart): (Vec<_>, Vec<_>) = domains.into_iter().partition(joins);
            let mut domain: Vec<usize> = together.into_iter().flatten().chain([gpu]).collect();
            domain.sort_unstable();
            apart.push(domain);
            domains = apart;
        }
        domains.sort();
        if domains != before {
            levels.push((near, domains.clone()));
            before = domains;
        }
    }
    levels
}

fn link(
    found: &Found,
    near: Near,
    domains: &[Vec<usize>],
    known: Option<&str>,
    figures: &Figures,
    text: &mut Text,
) {
    let pairs = domains.iter().flat_map(|domain| {
        domain.iter().flat_map(|&gpu| {
            domain.iter().filter(move |&&other| other < gpu).map(move |&other| (gpu, other))
        })
    });
    let p2p =
        near == Near::Nvlink || pairs.into_iter().all(|(gpu, other)| found.joints[gpu][other].p2p);
    let (model, of) = model_link(near, p2p, known);
    let bandwidth = match (near, &model) {
        (Near::Nvlink, model) => {
            figures.nvlink_gb_s.or(model.as_ref().map(|link| link.bandwidth.0 / 1e9))
        }
        (_, Some(model)) => {
            found.gpus[0].pcie.map(|slot| model.bandwidth.0 / 1e9 * pcie_share(slot, p2p))
        }
        (_, None) => None,
    };
    let kind = match near {
        Near::Nvlink => LinkKind::Nvlink,
        Near::Switch => LinkKind::PcieSwitch,
        Near::Socket => LinkKind::Socket,
        Near::Host => LinkKind::Host,
    };
    text.line(format_args!("\n[[link]]\nkind = \"{kind}\"\ndomains = {domains:?}"));
    text.figure("bandwidth_gb_s", bandwidth);
    text.figure("latency_us", model.as_ref().map(|link| link.latency.us()));
    text.figure("launch_us", model.as_ref().map(|link| link.launch.us()));
    text.line(format_args!("p2p = {p2p}\nsource = \"fitted\""));
    text.line(format_args!(
        "reference = {}",
        quoted(&format!("as {of} of the catalog, not measured here"))
    ));
}

/// A link of the catalog to take figures from, and the machine it is of.
fn model_link(near: Near, p2p: bool, known: Option<&str>) -> (Option<Link>, String) {
    let name = match (near, p2p) {
        (Near::Nvlink, _) => format!("8x-{}", known.unwrap_or("h200")),
        (Near::Switch, true) => "8x-rtx-pro-6000-switched".to_owned(),
        (_, true) => "8x-rtx-pro-6000".to_owned(),
        (_, false) => "8x-4090".to_owned(),
    };
    let links = MachineSpec::catalog(&name).map(|machine| machine.links).unwrap_or_default();
    let mut links = links.into_iter().rev();
    // The widest stands for the host; a nearer set takes the tightest.
    let link = if near == Near::Host { links.next() } else { links.next_back() };
    // Latency of NVLink hardly differs between GPUs, its bandwidth does.
    (link.filter(|_| near != Near::Nvlink || known.is_some()), format!("`{name}`"))
}

/// A slot's rate as a share of the one that the model link was measured with.
fn pcie_share((generation, width): (u32, u32), p2p: bool) -> f64 {
    let lane = |generation: usize| PCIE_LANE_GB_S[generation.min(PCIE_LANE_GB_S.len() - 1)];
    let modelled = if p2p { lane(5) } else { lane(4) } * 16.0;
    lane(generation as usize) * f64::from(width) / modelled
}

fn cpu_machine(found: &Found, figures: &Figures, text: &mut Text) {
    let host = &found.host;
    let ranks = host.cores.min(1024);
    text.line(format_args!(
        "description = {}",
        quoted(&format!("{ranks} cores of {}, a rank is a thread", host.cpu))
    ));
    text.line(format_args!("gpus_per_host = {ranks}"));
    text.line(format_args!(
        "\n[gpu]\nname = {}\ngeneration = \"x86\"",
        quoted(&format!("one core of {}", host.cpu))
    ));
    let gib = |kib: u64| kib as f64 / f64::from(1 << 20);
    text.figure(
        "memory_gib",
        Some(gib(host.available_kib) / f64::from(ranks)).filter(|&gib| 0.001 <= gib),
    );
    text.figure("memory_bandwidth_gb_s", figures.memory_bandwidth_gb_s);
    text.figure("bf16_tflops", figures.bf16_tflops);
    text.figure("l2_mib", figures.l2_mib.or(host.cache_kib.map(|kib| kib as f64 / 1024.0)));
    text.line(format_args!("source = \"read from the kernel, or given by the user\""));
    if ranks < 2 {
        return;
    }
    let model = MachineSpec::catalog("cpu").ok().and_then(|cpu| cpu.links.into_iter().next());
    let per_node = ranks / host.nodes;
    let mut levels = vec![("host", ranks)];
    if 1 < host.nodes && 1 < per_node && ranks.is_multiple_of(host.nodes) {
        levels.insert(0, ("socket", per_node));
    }
    for (kind, domain) in levels {
        text.line(format_args!("\n[[link]]\nkind = \"{kind}\"\ndomain = {domain}"));
        text.figure("bandwidth_gb_s", model.as_ref().map(|link| link.bandwidth.0 / 1e9));
        text.figure("latency_us", model.as_ref().map(|link| link.latency.us()));
        text.figure("launch_us", model.as_ref().map(|link| link.launch.us()));
        text.line(format_args!("p2p = true\nsource = \"fitted\""));
        text.line(format_args!("reference = \"as `cpu` of the catalog, not measured here\""));
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}
