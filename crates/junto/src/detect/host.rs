//! The CPU side, from /proc and /sys.

use super::Host;
use std::collections::HashSet;
use std::fs;

/// Reads this host; what cannot be read counts as not there.
pub(super) fn read() -> Host {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let caches = (0..8).rev().map(|index| {
        fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"))
    });
    let cache = caches.flatten().next().unwrap_or_default();
    let nodes = text("/sys/devices/system/node/online");
    parse(&text("/proc/cpuinfo"), &text("/proc/meminfo"), &nodes, &cache)
}

/// The host by its texts: cpuinfo, meminfo, the list of NUMA nodes (`0-1`) and the size of the
/// last-level cache (`32768K`).
pub(super) fn parse(cpuinfo: &str, meminfo: &str, nodes: &str, cache: &str) -> Host {
    let values = |key: &'static str| {
        let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        pairs.filter(move |(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    // One line of each per thread; a core is a pair of them. Some guests tell no core ids.
    let cores: HashSet<_> = values("physical id").zip(values("core id")).collect();
    let threads = values("processor").count();
    let cores = if cores.is_empty() { threads } else { cores.len() };
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    Host {
        cpu: values("model name").next().unwrap_or("CPU").to_owned(),
        cores: u32::try_from(cores.max(1)).unwrap_or(u32::MAX),
        nodes: count_list(nodes).max(1),
        available_kib: available.and_then(leading_number).unwrap_or(0),
        cache_kib: cache_kib(cache),
    }
}

/// Members of a kernel list such as `0-1,4`.
fn count_list(list: &str) -> u32 {
    let members = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        high.checked_sub(low)?.checked_add(1)
    };
    list.trim().split(',').filter_map(members).fold(0, u32::saturating_add)
}

fn cache_kib(text: &str) -> Option<u64> {
    let unit = if text.trim().ends_with('M') { 1024 } else { 1 };
    leading_number(text)?.checked_mul(unit)
}

fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}
