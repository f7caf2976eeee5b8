//! What the machine under us is, as a machine file.
//!
//! Nothing is measured and nothing is invented: names, sizes and joints are read; figures of a
//! known GPU come from the catalog; a figure that neither has is asked for.

mod gpus;
mod host;
#[cfg(test)]
pub(crate) mod tests;
mod write;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// The CPU side.
    pub(crate) host: Host,
    /// The GPUs, in the driver's order; empty: the CPU is the machine.
    pub(crate) gpus: Vec<FoundGpu>,
    /// What joins GPU `i` to GPU `j`, for `j < i`, in row `i`.
    pub(crate) joints: Vec<Vec<Joint>>,
}

/// The CPU side of a host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Host {
    /// Model name of the CPU.
    pub(crate) cpu: String,
    /// Cores that we may run on; threads of one core count once.
    pub(crate) cores: u32,
    /// NUMA nodes.
    pub(crate) nodes: u32,
    /// Memory free for a process, in KiB.
    pub(crate) available_kib: u64,
    /// Last-level cache in KiB, if the kernel tells.
    pub(crate) cache_kib: Option<u64>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundGpu {
    /// As the driver prints it.
    pub(crate) name: String,
    /// Total and free memory in bytes, if the driver tells.
    pub(crate) memory: Option<(u64, u64)>,
    /// CUDA compute capability, if the driver tells.
    pub(crate) capability: Option<(i32, i32)>,
    /// Generation and width of its PCIe slot, if the driver tells.
    pub(crate) pcie: Option<(u32, u32)>,
}

/// What joins two GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joint {
    /// How near they are.
    pub(crate) near: Near,
    /// Whether one reads the other's memory.
    pub(crate) p2p: bool,
}

/// How near two GPUs are, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Near {
    /// NVLink.
    Nvlink,
    /// PCIe switches only.
    Switch,
    /// One CPU socket.
    Socket,
    /// One host.
    Host,
}

/// Figures that the user gives because nothing on the machine tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Memory bandwidth of one GPU or core, GB/s.
    pub(crate) memory_bandwidth_gb_s: Option<f64>,
    /// Dense bf16 rate of one GPU or core, TFLOP/s.
    pub(crate) bf16_tflops: Option<f64>,
    /// Last-level cache of one GPU or core, MiB.
    pub(crate) l2_mib: Option<f64>,
    /// NVLink bandwidth of one GPU, one way, GB/s.
    pub(crate) nvlink_gb_s: Option<f64>,
}

/// A machine file, and what is missing from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written {
    /// The file. Complete if nothing is asked for; else each missing figure is a comment.
    pub(crate) toml: String,
    /// Keys whose figures are missing.
    pub(crate) asked: Vec<&'static str>,
}

/// Looks at the machine under us.
pub(crate) fn detect() -> Found {
    let (gpus, joints) = gpus::read();
    Found { host: host::read(), gpus, joints }
}

/// The machine file of what was found.
pub(crate) fn machine_file(found: &Found, figures: &Figures) -> Written {
    write::machine(found, figures)
}
