//! NVIDIA GPUs: from the driver's library if it is there, else from /proc.

use super::{FoundGpu, Joint, Near};
use nvml_wrapper::Nvml;
use nvml_wrapper::device::Device;
use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus, TopologyLevel};
use nvml_wrapper::error::NvmlError;
use std::env;
use std::fs;
use std::path::Path;

/// The GPUs that an engine would see, and what joins each to those before it.
pub(super) fn read() -> (Vec<FoundGpu>, Vec<Vec<Joint>>) {
    let visible = env::var("CUDA_VISIBLE_DEVICES").ok();
    library(visible.as_deref()).unwrap_or_else(|_| proc(visible.as_deref()))
}

/// Which GPUs a value of `CUDA_VISIBLE_DEVICES` leaves, by index or by the start of their UUID; as
/// CUDA does, it stops at the first that is not there.
pub(super) fn visible(list: Option<&str>, uuids: &[String]) -> Vec<usize> {
    let Some(list) = list else { return (0..uuids.len()).collect() };
    let index = |name: &str| match name.parse::<usize>() {
        Ok(index) => Some(index).filter(|&index| index < uuids.len()),
        Err(_) if name.is_empty() => None,
        Err(_) => uuids.iter().position(|uuid| uuid.starts_with(name)),
    };
    list.split(',').map_while(|name| index(name.trim())).collect()
}

fn library(list: Option<&str>) -> Result<(Vec<FoundGpu>, Vec<Vec<Joint>>), NvmlError> {
    let nvml = Nvml::init()?;
    let devices: Vec<Device<'_>> =
        (0..nvml.device_count()?).map(|i| nvml.device_by_index(i)).collect::<Result<_, _>>()?;
    let uuid = |device: &Device<'_>| device.uuid().unwrap_or_default();
    let seen = visible(list, &devices.iter().map(uuid).collect::<Vec<_>>());
    let devices: Vec<&Device<'_>> = seen.iter().map(|&index| &devices[index]).collect();
    let gpus = devices.iter().map(|device| gpu(device)).collect::<Result<_, _>>()?;
    let row = |i: usize| (0..i).map(|j| joint(&nvml, devices[i], seen[j] as u32)).collect();
    let joints = (0..devices.len()).map(row).collect::<Result<_, _>>()?;
    Ok((gpus, joints))
}

fn gpu(device: &Device<'_>) -> Result<FoundGpu, NvmlError> {
    let memory = device.memory_info().ok().map(|memory| (memory.total, memory.free));
    let capability = device.cuda_compute_capability().ok();
    let pcie = device.max_pcie_link_gen().ok().zip(device.max_pcie_link_width().ok());
    Ok(FoundGpu {
        name: device.name()?,
        memory,
        capability: capability.map(|capability| (capability.major, capability.minor)),
        pcie,
    })
}

/// What joins `device` to GPU `other`.
fn joint(nvml: &Nvml, device: &Device<'_>, other: u32) -> Result<Joint, NvmlError> {
    let other = nvml.device_by_index(other)?;
    let can = |what| device.p2p_status(&other, what).is_ok_and(|status| status == P2pStatus::Ok);
    let p2p = can(P2pCapabilitiesIndex::Read);
    if can(P2pCapabilitiesIndex::NvLink) {
        return Ok(Joint { near: Near::Nvlink, p2p });
    }
    let near = match device.topology_common_ancestor(other) {
        Ok(TopologyLevel::Internal | TopologyLevel::Single | TopologyLevel::Multiple) => {
            Near::Switch
        }
        Ok(TopologyLevel::HostBridge | TopologyLevel::Node) => Near::Socket,
        Ok(TopologyLevel::System) | Err(_) => Near::Host,
    };
    Ok(Joint { near, p2p })
}

/// Without the library: names from the driver, nearness from the kernel's NUMA nodes.
fn proc(list: Option<&str>) -> (Vec<FoundGpu>, Vec<Vec<Joint>>) {
    let Ok(folder) = fs::read_dir("/proc/driver/nvidia/gpus") else { return Default::default() };
    let mut slots: Vec<_> = folder.flatten().map(|entry| entry.path()).collect();
    slots.sort();
    let texts: Vec<_> = slots.iter().map(|slot| slot_texts(slot)).collect();
    let uuid = |(information, _): &(String, String)| value(information, "GPU UUID:");
    let seen = visible(list, &texts.iter().map(uuid).collect::<Vec<_>>());
    let texts: Vec<_> = seen.iter().map(|&index| texts[index].clone()).collect();
    from_texts(&texts)
}

fn slot_texts(slot: &Path) -> (String, String) {
    let device = Path::new("/sys/bus/pci/devices").join(slot.file_name().unwrap_or_default());
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    (text(slot.join("information")), text(device.join("numa_node")))
}

/// What follows a key in the driver's `information`; nothing without it.
fn value(information: &str, key: &str) -> String {
    let line = information.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_default().trim().to_owned()
}

/// GPUs by their texts: `information` of the driver and `numa_node` of the kernel.
pub(super) fn from_texts(texts: &[(String, String)]) -> (Vec<FoundGpu>, Vec<Vec<Joint>>) {
    let model = |information: &str| {
        let model = value(information, "Model:");
        if model.is_empty() { "NVIDIA GPU".to_owned() } else { model }
    };
    let gpu = |(information, _): &(String, String)| FoundGpu {
        name: model(information),
        memory: None,
        capability: None,
        pcie: None,
    };
    let joint = |a: &str, b: &str| {
        // -1 is the kernel's "not known"; then only the host is sure.
        let together = a.trim() == b.trim() && !a.trim().is_empty() && a.trim() != "-1";
        Joint { near: if together { Near::Socket } else { Near::Host }, p2p: false }
    };
    let row = |i: usize| texts[..i].iter().map(|(_, node)| joint(&texts[i].1, node)).collect();
    (texts.iter().map(gpu).collect(), (0..texts.len()).map(row).collect())
}
